"""How long tests wait, and how they measure work without looking at a clock.

Promises that no test fails because a machine is slow or busy. What must happen some time is waited for up to
`PATIENCE`; who waits goes on at once when it is there. That work grows with its input and not with its square is shown
by counting the lines that run (`lines_run`), which is the same on every machine. What runs in C, as the search for a
regular expression does, cannot be counted: there the input is so large that a fault takes minutes, and `soon` is far
more than what is right needs.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")

ROOT = Path(__file__).resolve().parents[1]

# Seconds that are waited at most for what is there at once on a quiet machine.
PATIENCE = 120.0

_PAUSE = 0.02

_OURS = tuple(f"{ROOT / name}/" for name in ("arpm", "governance", "retrieval"))


def until(holds: Callable[[], object]) -> None:
    """Waits until `holds` gives something true."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never came true"
        time.sleep(_PAUSE)


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of this project's modules `work` runs in this thread; each round of a loop counts anew."""
    count = 0

    def in_ours(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return in_ours

    def called(frame: FrameType, _event: str, _argument: Any) -> Any:
        return in_ours if frame.f_code.co_filename.startswith(_OURS) else None

    before = sys.gettrace()
    sys.settrace(called)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def seconds(work: Callable[[], object]) -> float:
    """The time of the processor that `work` takes in this thread. What others take meanwhile does not count.

    Neither does the garbage collector, whose work grows with everything that earlier tests left behind.
    """
    collecting = gc.isenabled()
    gc.disable()
    started = time.thread_time()
    try:
        work()
        return time.thread_time() - started
    finally:
        if collecting:
            gc.enable()


def soon(work: Callable[[], Result], limit: float = 20.0) -> Result:
    """What `work` gives; fails if that takes more `seconds` than are thinkable for what is right."""
    results: list[Result] = []
    taken = seconds(lambda: results.append(work()))
    assert taken < limit, f"it took {taken:.1f} s of the processor"
    return results[0]
