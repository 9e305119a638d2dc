"""A process that is killed at any write, sync or rename of a turn: the turn is wholly there or wholly absent.

Every such point is enumerated with strace's fault injection: the child takes one turn and is killed at the Nth system
call of one kind on one file, for every N until it survives.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arpm.service import Service
from retrieval.memories import Experience
from tests.support import open_service

STRACE = shutil.which("strace")
pytestmark = pytest.mark.skipif(STRACE is None, reason="strace is not installed: crash points cannot be enumerated")

CHILD = """
import sys
from pathlib import Path
from tests.support import open_service
with open_service(Path(sys.argv[1])) as service:
    event = service.turn(sys.argv[2], sys.argv[3])
    print("acknowledged", event.body["round"], flush=True)
"""
CALLS = {"ledger.jsonl": ("write", "fsync"), "catalogue.sqlite-wal": ("pwrite64",)}
MOST_POINTS = 40


def take_turn(logs: Path, timeline: str, message: str, inject: tuple[Path, str, int] | None) -> tuple[int, bool]:
    """Run the child; returns its exit status and whether it acknowledged the turn."""
    command = [sys.executable, "-c", CHILD, str(logs), timeline, message]
    if inject is not None:
        path, call, number = inject
        command = [
            *(str(STRACE), "-f", "-qq", "-o", "/dev/null", "-P", str(path), "-e", f"trace={call}"),
            *("-e", f"inject={call}:signal=SIGKILL:when={number}"),
            *command,
        ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, "acknowledged" in done.stdout


def state(service: Service, timeline: str) -> tuple[list[str], list[Experience]]:
    """What a timeline holds: the messages of its turns, and its indexed memories."""
    rows = service.catalogue.turns(timeline)
    return [row.message for row in rows if row.kind == "turn"], service.timeline(timeline).index.atoms()


@pytest.mark.parametrize(("file", "call"), [(file, call) for file, calls in CALLS.items() for call in calls])
def test_a_turn_killed_at_every_point_is_whole_or_absent(tmp_path: Path, file: str, call: str) -> None:
    logs = tmp_path / "logs"
    with open_service(logs) as service:
        timeline = service.create_timeline("Ada", "Mia").id
        service.turn(timeline, "The red kettle is in the cellar.")
    path = (logs / timeline if file == "ledger.jsonl" else logs / "cache") / file
    kept = ["The red kettle is in the cellar."]
    for number in range(1, MOST_POINTS):
        message = f"Message number {number}."
        status, acknowledged = take_turn(logs, timeline, message, (path, call, number))
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
