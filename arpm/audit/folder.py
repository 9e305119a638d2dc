"""A logs folder replayed as a whole: one job a timeline, on all cores, with the recorded vectors.

Reads the folder and writes nothing to it: the cache of vectors is copied first, so that a missing one can be added.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Protocol, TypeVar

from arpm.audit.past import Past
from arpm.audit.replay import Depth, TurnReplay, replayed
from arpm.errors import ArpmError, NotFoundError
from arpm.generation.registry import Models
from arpm.ids import is_id
from arpm.ledger import LEDGER_NAME
from arpm.settings import Settings
from retrieval.embedding import load_embedder
from retrieval.embedding.base import Embedder
from retrieval.embedding.cache import CachedEmbedder

CACHE = Path("cache") / "embeddings.sqlite"


@dataclass(frozen=True, slots=True)
class TimelineReplay:
    """A timeline replayed: its turns, and the damage that ended it early, if there was any."""

    timeline: str
    turns: tuple[TurnReplay, ...]
    error: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class ReplayJob:
    """How the timelines of a folder are replayed; can be sent to another process."""

    settings: Settings
    depth: Depth
    model: str | None = None

    def __call__(self, timeline: str, on_turn: Callable[[], None] = lambda: None) -> TimelineReplay:
        started, turns, error = time.perf_counter(), list[TurnReplay](), None
        with recorded_vectors(self.settings, needed=self.depth != "arithmetic") as embedder:
            backends = Models(self.settings).get if self.depth == "generation" else None
            try:
                past = Past(self.settings.logs, timeline, embedder)
                for turn in replayed(past, self.depth, embedder, backends, self.model):
                    turns.append(turn)
                    on_turn()
            except (ArpmError, OSError) as caught:
                error = str(caught)
        return TimelineReplay(timeline, tuple(turns), error, time.perf_counter() - started)


class HasTurns(Protocol):
    """What a job gives: something for every turn it went through."""

    @property
    def turns(self) -> Sequence[object]: ...


Result = TypeVar("Result", bound=HasTurns, covariant=True)


class Job(Protocol[Result]):
    """What is done for one timeline, here or in another process."""

    def __call__(self, timeline: str, on_turn: Callable[[], None] = ...) -> Result: ...


def timelines_of(logs: Path, wanted: Sequence[str] = ()) -> list[str]:
    """The timelines of a folder, or those wanted. Raises NotFoundError for one that is not there."""
    if not logs.is_dir():
        raise NotFoundError(f"{logs} is no folder; name one with --logs")
    there = sorted(path.name for path in logs.iterdir() if is_id(path.name, "t") and (path / LEDGER_NAME).exists())
    for name in wanted:
        if name not in there:
            raise NotFoundError(f"there is no timeline {name!r} in {logs}; there are {', '.join(there) or 'none'}")
    return list(wanted) or there


def done(job: Job[Result], timelines: Sequence[str], jobs: int, on_turn: Callable[[], None]) -> Iterator[Result]:
    """Do a job for every timeline, in up to `jobs` processes, and yield each result as it comes."""
    if min(jobs, len(timelines)) < 2:
        for timeline in timelines:
            yield job(timeline, on_turn)
        return
    # Spawned, not forked: the caller may have threads that hold locks.
    with ProcessPoolExecutor(min(jobs, len(timelines)), mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(job, timeline) for timeline in timelines]
        for future in as_completed(futures):
            result = future.result()
            for _ in result.turns:
                on_turn()
            yield result


def turns_in(logs: Path, timelines: Sequence[str]) -> int:
    """About how many turns the ledgers of some timelines hold, for a progress bar."""
    total = 0
    for name in timelines:
        with (logs / name / LEDGER_NAME).open("rb") as file:
            total += sum(b'"kind":"turn' in line for line in file)
    return total


def cores() -> int:
    """How many processes can run at once."""
    return len(os.sched_getaffinity(0))


@contextmanager
def recorded_vectors(settings: Settings, *, needed: bool, model: Embedder | None = None) -> Iterator[Embedder | None]:
    """The embedder on a copy of the folder's vectors, or None when none is needed. `model` may be loaded already."""
    if not needed:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="arpm-replay-") as work:
        copy, kept = Path(work) / CACHE.name, settings.logs / CACHE
        for suffix in ("", "-wal"):
            source = kept.with_name(kept.name + suffix)
            if source.exists():
                shutil.copyfile(source, copy.with_name(copy.name + suffix))
        yield CachedEmbedder(model or load_embedder(settings.embedder, Path(work)), copy)
