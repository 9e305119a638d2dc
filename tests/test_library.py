"""The knowledge base: the tip a search reports is that of the very documents it searched."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from arpm.erasure import What, erase, reach
from arpm.errors import InputError, NotFoundError
from retrieval.candidates import Query
from retrieval.config import RetrievalConfig
from retrieval.embedding.cache import CachedEmbedder
from retrieval.embedding.hashing import HashingEmbedder
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


GUIDE = "# Steam museum\n\nA few words.\n\n## Prices\nGrown-ups pay two crowns.\n\n## 时间\n早上九点开。\n"


def test_search_reads_the_headings_above_a_chunk(tmp_path: Path) -> None:
    """A section was searched without the title that says what it is about."""
    with open_service(tmp_path) as service:
        row = service.ingest("guide.md", GUIDE.encode())
        chunks = service.catalogue.chunks(row.id)
        assert [(chunk.above, chunk.children[0]) for chunk in chunks] == [
            ("", "# Steam museum\n\nA few words."),
            ("Steam museum", "Steam museum\n## Prices\nGrown-ups pay two crowns."),
            ("Steam museum", "Steam museum\n## 时间\n早上九点开。"),
        ]
        assert chunks[1].text == "## Prices\nGrown-ups pay two crowns."
        assert [event.body["headings"] for event in service.library.events() if event.body] == [True]


def test_a_document_recorded_before_headings_were_searched_keeps_its_chunks(tmp_path: Path) -> None:
    """Turns of then would not replay: what search finds must be what the record of the document says."""
    with open_service(tmp_path) as service:
        new = service.ingest("guide.md", GUIDE.encode())
        (event,) = service.library.events()
        assert event.body is not None
        kept = {name: value for name, value in event.body.items() if name not in ("headings", "salt")}
        service.library._store.append("document_added", {**kept, "document": "d-old"}, at=event.at)
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    with open_service(tmp_path) as service:
        old, added = service.catalogue.chunks("d-old"), service.catalogue.chunks(new.id)
        assert [chunk.text for chunk in old] == [chunk.text for chunk in added]
        assert [chunk.children for chunk in old] == [(chunk.text,) for chunk in old]
        assert [chunk.above for chunk in old] == ["", "", ""]
        assert [chunk.above for chunk in added] == ["", "Steam museum", "Steam museum"]


def test_an_erased_document_leaves_no_vector_of_its_headings(tmp_path: Path) -> None:
    """What is embedded is more than the text that is erased: its vector would have stayed."""
    path = tmp_path / "vectors.sqlite"
    with open_service(tmp_path / "logs", embedder=CachedEmbedder(HashingEmbedder(), path)) as service:
        row = service.ingest("guide.md", GUIDE.encode())
        assert _vectors(path) == 3
        what = What(document=row.id)
        erase(service, what, reach(service, what).confirm)
        assert _vectors(path) == 0


def _vectors(path: Path) -> int:
    with closing(sqlite3.connect(path)) as cache:
        return int(cache.execute("select count(*) from vectors").fetchone()[0])
