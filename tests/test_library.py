"""The knowledge base: the tip a search reports is that of the very documents it searched."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from arpm.errors import InputError, NotFoundError
from retrieval.candidates import Query
from retrieval.config import RetrievalConfig
from tests.support import open_service


def test_a_search_names_the_documents_it_searched(tmp_path: Path) -> None:
    """A tip read apart from the search named documents that the search had not seen, so no replay could agree."""
    with open_service(tmp_path) as service:
        library, config = service.library, RetrievalConfig()
        vector = service.embedder.encode_query(["lantern"])[0]
        seen: list[tuple[int, int]] = []
        done = threading.Event()

        def look() -> None:
            while not done.is_set():
                tip, found = library.search(Query("lantern", "Ada", "Mia"), vector, config)
                seen.append((tip.seq, len(found)))

        watcher = threading.Thread(target=look)
        watcher.start()
        for number in range(20):
            service.ingest(f"{number}.txt", f"Lantern number {number} hangs by the door.".encode())
        done.set()
        watcher.join()
        assert all(documents == seq for seq, documents in seen)
        assert len({seq for seq, _ in seen}) > 1


def test_a_removed_document_is_not_found_and_stays_for_replay(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        timeline = service.create_timeline("Ada", "Mia").id
        row = service.ingest("house.md", "The lantern hangs by the door. 灯笼挂在门边。".encode())
        (item,) = service.look(timeline, "Where is the lantern?").governed.evidence
        service.library.remove(row.id, "no longer true")
        assert service.look(timeline, "Where is the lantern?").governed.knowledge == ()
        assert service.catalogue.memory(item.memory) is not None
        with pytest.raises(InputError, match="already removed"):
            service.library.remove(row.id, "again")
        with pytest.raises(NotFoundError):
            service.library.remove("d-000000000000", "never there")


def test_the_same_document_is_added_once(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        first = service.ingest("a.txt", b"One text.")
        assert service.ingest("a.txt", b"One text.").id == first.id
        assert service.ingest("b.txt", b"One text.").id != first.id
        assert len(service.library.documents()) == 2
