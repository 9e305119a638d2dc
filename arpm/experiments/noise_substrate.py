"""A knowledge base of noise that only grows: what is indexed for one amount of noise serves the next.

The documents of a question set come and go on top of it. All of it is the product's own library, on a folder that is
thrown away; only embeddings are kept. Knows nothing about questions.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from arpm.clock import FixedClock
from arpm.errors import InputError
from arpm.experiments.base import MissingDataError, Run, file_digest
from arpm.experiments.throwaway import ThrowAway
from arpm.generation.base import Backend

# In the order that data/README.md gives; the last is cut where the wanted size is reached.
NOVELS = "红楼梦 三国演义 水浒传 西游记 封神演义 东周列国志 隋唐演义 官场现形记 说岳全传 聊斋志异".split()
# Noise is added in documents of about this size, so that progress is seen.
_PIECE = 100_000
# Everything that is there from the start has the same age in every run, whatever was indexed before.
BEGIN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise of one kind: named texts, in order, and the digest of each."""

    kind: str
    texts: tuple[tuple[str, str], ...]
    digests: tuple[str, ...]

    @property
    def characters(self) -> int:
        return sum(len(text) for _, text in self.texts)

    def pieces(self, start: int, end: int) -> Iterator[tuple[str, str]]:
        """The characters from `start` to `end` of all texts, as named pieces that end with a line where they can."""
        begin = 0
        for name, text in self.texts:
            low, high = max(start - begin, 0), min(end - begin, len(text))
            while low < high:
                cut = min(low + _PIECE, high)
                line = text.rfind("\n", low, cut) + 1 if cut < high else 0
                cut = line if line > low else cut
                yield f"{name} {low}.txt", text[low:cut]
                low = cut
            begin += len(text)


def novels(run: Run) -> Noise:
    """The Chinese novels. Raises MissingDataError."""
    about = "the ten classical Chinese novels of github.com/luoxuhai/chinese-novel, the noise of this experiment"
    paths = [run.source("chinese-novel", "txt", f"{name}.txt", about=about) for name in NOVELS]
    return Noise(
        "novels",
        tuple((path.stem, _text(path.read_text("utf-8", "replace"))) for path in paths),
        tuple(map(file_digest, paths)),
    )


def dialogues(run: Run) -> Noise | None:
    """English dialogues of RealMem, since there are no English novels; None when they are not there."""
    try:
        folder = run.source("realmem", about="English dialogues, noise for the English questions")
    except MissingDataError:
        run.left_out.append("English questions in dialogues: the folder of the data sets has no realmem.")
        return None
    paths = sorted(folder.glob("*_dialogues_*.json"))
    texts = tuple((path.stem.split("_dialogues")[0].replace("_", " "), _text(_spoken(path))) for path in paths)
    return Noise("dialogues", texts, tuple(map(file_digest, paths))) if texts else None


def _spoken(path: Path) -> str:
    try:
        talks = json.loads(path.read_text("utf-8"))["dialogues"]
        return "\n\n".join("\n".join(turn["content"] for turn in talk["dialogue_turns"]) for talk in talks)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: is no file of RealMem's dialogues: {type(error).__name__}: {error}") from None


def _text(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


@dataclass(frozen=True, slots=True)
class Cost:
    """What it took to add noise up to `characters`: seconds, texts embedded anew, and the process's peak memory."""

    characters: int
    added: int
    documents: int
    seconds: float
    embedded: int
    peak_mib: float | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Substrate(ThrowAway):
    """A service whose knowledge base holds noise, with a clock that stands still.

    `amounts` are those it will be asked for. Documents end at each of them, also at one that is passed over because its
    steps are done, so that a resumed run has the same chunks.
    """

    def __init__(self, run: Run, noise: Noise, amounts: Iterable[int], backends: Sequence[Backend]) -> None:
        super().__init__(run, clock=FixedClock(BEGIN), backends=backends)
        self._noise = noise
        self._amounts = sorted(set(amounts))
        self._held = 0

    def grow(self, characters: int) -> Cost:
        """Add noise until there are so many characters of it. Noise is never taken away: ValueError for fewer."""
        if characters < self._held:
            raise ValueError(f"there are {self._held} characters of noise already, more than {characters}")
        service, embedder = self.service, self.embedder
        before, start, documents, added = embedder.stats, time.perf_counter(), 0, characters - self._held
        self.set_clock(BEGIN)
        for amount in [*(one for one in self._amounts if self._held < one < characters), characters]:
            for name, text in self._noise.pieces(self._held, amount):
                if text.strip():
                    service.ingest(name, text.encode())
                    documents += 1
                self._run.progress(f"indexing {self._noise.kind}", self._held, characters)
                self._held += len(text)
            self._held = amount
        return Cost(
            characters,
            added,
            documents,
            time.perf_counter() - start,
            embedder.stats.misses - before.misses,
            peak_mib(),
        )

    def set_clock(self, at: datetime) -> None:
        """Stop the clock at a time."""
        self.service.clock.inner = FixedClock(at)


def peak_mib() -> float | None:
    """The largest resident memory of this process so far, in MiB; None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    # Linux counts in KiB, macOS in bytes.
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10), 1)
