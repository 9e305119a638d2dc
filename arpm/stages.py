"""The stages of a turn, how long each took, and telling a watcher as each ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, get_args

StageName = Literal["recognised", "embedded", "searched", "governed", "prompted", "answered", "recorded"]
STAGES: tuple[StageName, ...] = get_args(StageName)


class Stopwatch:
    """Seconds of each stage by name, in the order they ran."""

    def __init__(self, ended: Callable[[StageName, float], None] = lambda name, seconds: None) -> None:
        self.seconds: dict[str, float] = {}
        self._ended = ended

    @contextmanager
    def stage(self, name: StageName) -> Iterator[None]:
        """Time what runs inside. A stage that fails is not told."""
        start = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - start, 6)
        self._ended(name, self.seconds[name])
