"""The knowledge base: documents in their ledger, their chunks in the knowledge index.

Shared by every timeline of the service. Knows nothing about turns.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arpm.canonical import digest
from arpm.catalogue import KNOWLEDGE as KNOWLEDGE
from arpm.catalogue import Catalogue, DocumentRow
from arpm.clock import Clock
from arpm.documents import Document
from arpm.errors import InputError, NotFoundError
from arpm.events import Event
from arpm.ids import new_id
from arpm.ledger import Checkpoint
from arpm.store import Store
from retrieval.candidates import Candidate, Query
from retrieval.config import RetrievalConfig
from retrieval.embedding.base import Embedder, Vectors
from retrieval.knowledge import KnowledgeIndex

CHUNKING = {"child": 200, "parent": 600}


class Library:
    """Every document of one logs folder."""

    def __init__(self, logs: Path, catalogue: Catalogue, embedder: Embedder, clock: Clock) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._store = Store(logs / KNOWLEDGE, KNOWLEDGE, catalogue, clock, embedder)
        self._embedder = embedder
        self._index = KnowledgeIndex(embedder)
        # Held while the index changes and while it is searched, so that a turn record names the very documents that
        # were searched. Embedding, which is slow, happens before it is taken.
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        for document in self.documents():
            self._index.add(document.id, catalogue.chunks(document.id))
        self._tip = self._store.ledger.tip

    def search(self, query: Query, vector: Vectors, config: RetrievalConfig) -> tuple[Checkpoint, list[Candidate]]:
        """Candidates of the knowledge route, and where the knowledge ledger stood when they were found."""
        self._catch_up()
        with self._lock:
            return self._tip, self._index.search(query, vector, config)

    def __contains__(self, document: str) -> bool:
        return document in self._index

    def documents(self) -> list[DocumentRow]:
        """The documents that are searched, oldest first."""
        return [row for row in self._catalogue.documents() if row.removed_at is None]

    def add(self, document: Document) -> DocumentRow:
        """Record a document, then index it. The same text under the same name is added once."""
        self._catch_up()
        with self._writing:
            return self._add(document)

    def _add(self, document: Document) -> DocumentRow:
        text_digest = digest(document.text.encode())
        for row in self.documents():
            if row.digest == text_digest and row.name == document.name:
                return row
        id = new_id("d")
        body = {
            "document": id,
            "name": document.name,
            "media_type": document.media_type,
            "text": document.text,
            "text_digest": text_digest,
            "chunking": CHUNKING,
            "headings": True,
            "bytes": document.bytes,
            "encoding": document.encoding,
        }
        event = self._store.append("document_added", body, at=self._clock.now())
        chunks = self._catalogue.chunks(id)
        self._embedder.encode_document([child for chunk in chunks for child in chunk.children])
        with self._lock:
            self._index.add(id, chunks)
            self._tip = Checkpoint(event.seq, event.hash, event.end)
        return self.document(id)

    def remove(self, id: str, reason: str) -> None:
        """Take a document out of the indexes; its text stays in the ledger for replay. NotFoundError if absent."""
        self._catch_up()
        with self._writing:
            self._remove(self.document(id), reason)

    def _remove(self, document: DocumentRow, reason: str) -> None:
        if document.removed_at is not None:
            raise InputError(f"{document.name} ({document.id}) was already removed.")
        event = self._store.append(
            "document_removed", {"document": document.id, "reason": reason}, at=self._clock.now()
        )
        with self._lock:
            self._index.remove(document.id)
            self._tip = Checkpoint(event.seq, event.hash, event.end)

    def events(self) -> Iterator[Event]:
        """Every event of the knowledge ledger, oldest first."""
        return self._store.events()

    @contextmanager
    def still(self) -> Iterator[None]:
        """Let nothing be written to the knowledge base meanwhile but by this thread. Searches go on."""
        self._catch_up()
        with self._writing, self._store.still():
            yield

    def erase(self, body: dict[str, Any]) -> Event:
        """Erase the document that a receipt names, within `still`: see `arpm.erasure`."""
        event = self._store.erase(body, at=self._clock.now())
        with self._lock:
            self._take_out_erased()
            self._tip = Checkpoint(event.seq, event.hash, event.end)
        return event

    def _take_out_erased(self) -> None:
        there = {row.id for row in self._catalogue.documents()}
        for id in self._index.documents():
            if id not in there:
                self._index.remove(id)

    def document(self, id: str) -> DocumentRow:
        """One document by id. Raises NotFoundError."""
        for row in self._catalogue.documents():
            if row.id == id:
                return row
        raise NotFoundError(f"there is no document {id!r}; `arpm documents` lists those there are")

    def close(self) -> None:
        self._store.close()

    def _catch_up(self) -> None:
        """Bring the catalogue and the index to where the ledger is, when an earlier step reached only the ledger."""
        if not self._store.behind:
            return
        with self._writing:
            self._store.catch_up()
            for row in self._catalogue.documents():
                if row.removed_at is None and row.id not in self._index:
                    self._index.add(row.id, self._catalogue.chunks(row.id))
                elif row.removed_at is not None and row.id in self._index:
                    self._index.remove(row.id)
            self._take_out_erased()
            with self._lock:
                self._tip = self._store.ledger.tip
