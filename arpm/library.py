"""The knowledge base: documents in their ledger, their chunks in the knowledge index.

Shared by every timeline of the service. Knows nothing about turns.
"""

from __future__ import annotations

from pathlib import Path

from arpm.canonical import digest
from arpm.catalogue import Catalogue, DocumentRow
from arpm.clock import Clock
from arpm.documents import Document
from arpm.errors import InputError, NotFoundError
from arpm.ids import new_id
from arpm.ledger import Checkpoint
from arpm.store import Store
from retrieval.embedding.base import Embedder
from retrieval.knowledge import KnowledgeIndex

KNOWLEDGE = "knowledge"
CHUNKING = {"child": 200, "parent": 600}


class Library:
    """Every document of one logs folder."""

    def __init__(self, logs: Path, catalogue: Catalogue, embedder: Embedder, clock: Clock) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._store = Store(logs / KNOWLEDGE, KNOWLEDGE, catalogue, clock)
        self.index = KnowledgeIndex(embedder)
        for document in self.documents():
            self.index.add(document.id, catalogue.chunks(document.id))

    @property
    def tip(self) -> Checkpoint:
        """Where the knowledge ledger stands, for the turn record."""
        return self._store.ledger.tip

    def documents(self) -> list[DocumentRow]:
        """The documents that are searched, oldest first."""
        return [row for row in self._catalogue.documents() if row.removed_at is None]

    def add(self, document: Document) -> DocumentRow:
        """Record a document, then index it. The same text under the same name is added once."""
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
            "bytes": document.bytes,
            "encoding": document.encoding,
        }
        self._store.append("document_added", body, at=self._clock.now())
        self.index.add(id, self._catalogue.chunks(id))
        return self.document(id)

    def remove(self, id: str, reason: str) -> None:
        """Take a document out of the indexes; its text stays in the ledger for replay. NotFoundError if absent."""
        document = self.document(id)
        if document.removed_at is not None:
            raise InputError(f"{document.name} ({id}) was already removed.")
        self._store.append("document_removed", {"document": id, "reason": reason}, at=self._clock.now())
        self.index.remove(id)

    def document(self, id: str) -> DocumentRow:
        """One document by id. Raises NotFoundError."""
        for row in self._catalogue.documents():
            if row.id == id:
                return row
        raise NotFoundError(f"there is no document {id!r}; `arpm documents` lists those there are")

    def close(self) -> None:
        self._store.close()
