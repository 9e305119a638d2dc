"""A process that is killed while it erases: either nothing has happened, or the next start finishes it.

The points are system calls, enumerated with strace's fault injection as in test_turn_crash.py: every call on the
ledger's own files, and calls spread over what the two caches write (`ARPM_TEST_EVERY_POINT=1` tries all of those too).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from arpm.erasure import What, erase, of_memories, reach
from arpm.ledger import LedgerWriteError, verify
from retrieval.embedding.cache import CachedEmbedder
from retrieval.embedding.hashing import HashingEmbedder
from tests.forks import Mother
from tests.support import open_service
from tests.test_erasure import assert_as_rebuilt, holding, memory_of, vectors
from tests.test_ledger_faults import needs_strace

SECRET = "My locker code is Zanzibar-4471. 密码是鹦鹉螺。"
# Where the ledger is written, and where the caches are; each with the calls that are tried.
LEDGER = {"{t}/ledger.rewrite": ("write", "fsync", "rename"), "{t}": ("fsync",), "{t}/ledger.torn-1": ("unlink",)}
CACHES = {
    f"cache/{name}{suffix}": ("pwrite64", "ftruncate")
    for name in ("embeddings.sqlite", "catalogue.sqlite")
    for suffix in ("", "-wal")
}
CALLS = ("write", "fsync", "rename", "unlink", "pwrite64", "ftruncate")
SPREAD = 3
pytestmark = needs_strace


def opened(logs: Path):  # type: ignore[no-untyped-def]
    return open_service(logs, embedder=CachedEmbedder(HashingEmbedder(), logs / "cache" / "embeddings.sqlite"))


def erase_it(logs: str, id: str) -> None:
    """What the child does: erase a memory or a document."""
    with opened(Path(logs)) as service:
        if id.startswith("d-"):
            what = What(document=id, replies="quoting")
        else:
            what = of_memories(service.catalogue, [id], replies="all")
        print("begun", flush=True)
        try:
            erase(service, what, reach(service, what).confirm)
            print("acknowledged", flush=True)
        except LedgerWriteError as error:
            print("refused:", error, flush=True)


@pytest.fixture(scope="module")
def mother() -> Iterator[Mother]:
    with Mother(__name__) as running:
        yield running


@dataclass(frozen=True)
class Prepared:
    """A folder in which something was said that is to be erased."""

    mother: Mother
    logs: Path
    timeline: str
    memory: str
    event: str
    text: str

    def copy(self, to: Path) -> Path:
        shutil.copytree(self.logs, to)
        return to

    def ledger(self, logs: Path) -> Path:
        return logs / self.timeline / "ledger.jsonl"

    def erase(self, logs: Path, *faults: str) -> str:
        """Run the child under strace, with its options for faults. Returns what it printed."""
        return run_child(self.mother, logs, self.memory, *faults)

    def calls(self, logs: Path) -> str:
        """Every call of a whole erasure, one a line, with the paths of its descriptors."""
        return all_calls(self.mother, logs, self.memory, logs.with_suffix(".calls"))


def run_child(mother: Mother, logs: Path, id: str, *faults: str) -> str:
    """Erase in a process of its own, with faults injected. Returns what it printed."""
    done = mother.run("erase_it", str(logs), id, trace=["-o", "/dev/null", *faults])
    assert done.errors == ""
    assert done.status in (0, -signal.SIGKILL)
    return done.output


def all_calls(mother: Mother, logs: Path, id: str, log: Path) -> str:
    """Every call of a whole erasure, one a line, with the paths of its descriptors."""
    assert "acknowledged" in run_child(mother, logs, id, "-y", "-e", f"trace={','.join(CALLS)}", "-o", str(log))
    return log.read_text("utf-8", "replace")


@pytest.fixture(scope="module")
def prepared(mother: Mother, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    logs = tmp_path_factory.mktemp("prepared") / "logs"
    with opened(logs) as service:
        timeline = service.create_timeline("Lin", "Mei").id
        service.turn(timeline, "The kettle is red.")
        told = service.turn(timeline, SECRET)
        # Goes along: it repeats the words and had them in view.
        service.turn(timeline, f"I said: {SECRET}")
        service.clear_context(timeline)
        service.intervene(timeline, {"history_enabled": False})
        service.turn(timeline, "The stove is blue.")
        text = service.catalogue.memory(memory_of(told)).text  # type: ignore[union-attr]
    (logs / timeline / "ledger.torn-1").write_bytes(b'{"body":{"message":"My locker code is Zanz')
    return Prepared(mother, logs, timeline, memory_of(told), told.id, text)


def points(prepared: Prepared, folder: Path, where: dict[str, tuple[str, ...]], most: int) -> Iterator[tuple[str, str]]:
    """(path, fault) of every call there is, at most so many of one kind on one file, evenly spread."""
    logs = prepared.copy(folder / "whole")
    made = prepared.calls(logs)
    for name, calls in where.items():
        path = name.format(t=prepared.timeline)
        for call in calls:
            count = len(re.findall(rf'^\d+ +{call}\((\d+<|"){re.escape(str(logs / path))}[>"]', made, re.MULTILINE))
            step = max(1, -(-count // most))
            yield from ((path, f"{call}:signal=SIGKILL:when={number}") for number in range(1, count + 1, step))


def injected(path: Path, fault: str) -> list[str]:
    return ["-P", str(path), "-e", f"trace={fault.partition(':')[0]}", "-e", f"inject={fault}"]


def assert_all_or_nothing(prepared: Prepared, logs: Path, done: bool) -> bool:
    """Whether it is erased, after a start that finishes what was begun."""
    ledger = prepared.ledger(logs)
    assert verify(ledger).torn_bytes == 0, "whatever happened, the ledger is whole"
    with opened(logs) as service:
        erased = service.catalogue.memory(prepared.memory) is None
        assert erased or not done, "an erasure that was acknowledged is undone"
        if erased:
            assert holding(logs, "Zanz", "鹦鹉螺") == []
            assert vectors(service, prepared.text, SECRET) == 0
            assert service.record(prepared.event).body is None
        else:
            assert ledger.read_bytes() == prepared.ledger(prepared.logs).read_bytes()
            assert holding(logs, "Zanz") and (ledger.parent / "ledger.torn-1").exists()
            assert vectors(service, prepared.text, SECRET) >= 2
        assert not (ledger.parent / "ledger.rewrite").exists()
        assert_as_rebuilt(service, prepared.timeline)
        event = service.turn(prepared.timeline, "And on it goes.")
        assert event.body is not None and event.body["round"] == 5
        service.embedder.close()
    return erased


@pytest.mark.parametrize(("where", "most"), [(LEDGER, 100), (CACHES, SPREAD)], ids=["ledger", "caches"])
def test_killed_at_every_point(
    prepared: Prepared, tmp_path: Path, where: dict[str, tuple[str, ...]], most: int
) -> None:
    if os.environ.get("ARPM_TEST_EVERY_POINT"):
        most = 10_000
    ends = []
    for number, (path, fault) in enumerate(list(points(prepared, tmp_path, where, most))):
        logs = prepared.copy(tmp_path / str(number))
        said = prepared.erase(logs, *injected(logs / path, fault))
        ends.append(assert_all_or_nothing(prepared, logs, "acknowledged" in said))
        shutil.rmtree(logs)
    assert ends.count(True) and (where is CACHES or ends.count(False) > 2)
    assert len(ends) > 6


@pytest.mark.parametrize("fault", ["write:error=ENOSPC:when=1", "fsync:error=EIO:when=1", "rename:error=EIO:when=1"])
def test_a_disk_that_fails(prepared: Prepared, tmp_path: Path, fault: str) -> None:
    """A clear error, and nothing has happened."""
    logs = prepared.copy(tmp_path / "logs")
    said = prepared.erase(logs, *injected(logs / prepared.timeline / "ledger.rewrite", fault))
    assert re.search("refused: .*could not be rewritten: (the disk is full|Input/output error)", said), said
    assert not assert_all_or_nothing(prepared, logs, False)


# Every call on what an erasure over several ledgers writes: the note of what is to be done, and each ledger.
SEVERAL = (
    "erasing.json",
    ".erasing.json.partial",
    "knowledge/ledger.rewrite",
    "{0}/ledger.rewrite",
    "{1}/ledger.rewrite",
)


def test_over_several_ledgers_killed_at_every_point(mother: Mother, tmp_path: Path) -> None:
    """A document and the replies that repeat it, on two timelines: all of it goes or nothing."""
    logs, timelines = tmp_path / "prepared", []
    with opened(logs) as service:
        document = service.ingest("lockers.md", SECRET.encode()).id
        for name in ("Lin", "Bo"):
            timelines.append(service.create_timeline(name, "Mei").id)
            service.turn(timelines[-1], f"Is it true that {SECRET}")
            service.turn(timelines[-1], "The stove is blue.")
    calls = all_calls(mother, shutil.copytree(logs, tmp_path / "whole"), document, tmp_path / "calls")
    ends = list[bool]()
    for name in (name.format(*timelines) for name in SEVERAL):
        for call in ("write", "fsync", "rename", "unlink"):
            path = tmp_path / "whole" / name
            count = len(re.findall(rf'^\d+ +{call}\((\d+<|"){re.escape(str(path))}[>"]', calls, re.MULTILINE))
            for number in range(1, count + 1):
                copy = shutil.copytree(logs, tmp_path / "killed")
                said = run_child(mother, copy, document, *injected(copy / name, f"{call}:signal=SIGKILL:when={number}"))
                ends.append(_all_or_nothing_of_several(copy, document, timelines, "acknowledged" in said))
                shutil.rmtree(copy)
    assert ends.count(True) > 5 and ends.count(False) > 2


def _all_or_nothing_of_several(logs: Path, document: str, timelines: list[str], done: bool) -> bool:
    with opened(logs) as service:
        assert service.damaged == [] and not (logs / "erasing.json").exists()
        gone = document not in service.library
        assert gone or not done
        for timeline in timelines:
            assert verify(logs / timeline / "ledger.jsonl").torn_bytes == 0
            turns = service.catalogue.turns(timeline)
            assert [turn.erased for turn in turns] == [gone, False]
            receipts = [event for event in service.timeline(timeline).events() if event.kind == "memory_erased"]
            assert len(receipts) == int(gone)
            assert_as_rebuilt(service, timeline)
        assert (holding(logs, "Zanz", "鹦鹉螺") == []) == gone
        service.embedder.close()
    return gone
