"""A process that is killed at any write, sync or rename of a turn: the turn is wholly there or wholly absent.

Every such point is enumerated with strace's fault injection: the child takes one turn and is killed at the Nth system
call of one kind on one file, for every N until it survives.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from arpm.service import Service
from retrieval.memories import Experience
from tests.forks import Mother
from tests.support import open_service

STRACE = shutil.which("strace")
pytestmark = pytest.mark.skipif(STRACE is None, reason="strace is not installed: crash points cannot be enumerated")

CALLS = {"ledger.jsonl": ("write", "fsync"), "catalogue.sqlite-wal": ("pwrite64",)}
MOST_POINTS = 40


def take_turn(logs: str, timeline: str, message: str) -> None:
    """What the child does: one turn."""
    with open_service(Path(logs)) as service:
        event = service.turn(timeline, message)
        assert event.body is not None
        print("acknowledged", event.body["round"], flush=True)


@pytest.fixture(scope="module")
def mother() -> Iterator[Mother]:
    with Mother(__name__) as running:
        yield running


def killed(mother: Mother, asked: tuple[str, str, str], path: Path, call: str, number: int) -> tuple[int, bool]:
    """Run the child; returns its exit status and whether it acknowledged the turn."""
    options = ["-o", "/dev/null", "-P", str(path), "-e", f"trace={call}"]
    done = mother.run("take_turn", *asked, trace=[*options, "-e", f"inject={call}:signal=SIGKILL:when={number}"])
    assert done.errors == ""
    assert done.status in (0, -signal.SIGKILL)
    return done.status, "acknowledged" in done.output


def state(service: Service, timeline: str) -> tuple[list[str], list[Experience]]:
    """What a timeline holds: the messages of its turns, and its indexed memories."""
    rows = service.catalogue.turns(timeline)
    return [row.message for row in rows if row.kind == "turn"], service.timeline(timeline).index.atoms()


@pytest.mark.parametrize(("file", "call"), [(file, call) for file, calls in CALLS.items() for call in calls])
def test_a_turn_killed_at_every_point_is_whole_or_absent(mother: Mother, tmp_path: Path, file: str, call: str) -> None:
    logs = tmp_path / "logs"
    with open_service(logs) as service:
        timeline = service.create_timeline("Ada", "Mia").id
        service.turn(timeline, "The red kettle is in the cellar.")
    path = (logs / timeline if file == "ledger.jsonl" else logs / "cache") / file
    kept = ["The red kettle is in the cellar."]
    for number in range(1, MOST_POINTS):
        message = f"Message number {number}."
        status, acknowledged = killed(mother, (str(logs), timeline, message), path, call, number)
        with open_service(logs) as service:
            messages, atoms = state(service, timeline)
            whole = [*kept, message]
            assert messages in ([kept, whole] if not acknowledged else [whole]), f"killed at {call} {number}"
            service.rebuild()
            assert state(service, timeline) == (messages, atoms), "the indexes equal a rebuild"
        kept = messages
        if status == 0:
            assert number > 1, f"no {call} on {file} was reached"
            return
    pytest.fail(f"the child was still killed at {call} number {MOST_POINTS}")
