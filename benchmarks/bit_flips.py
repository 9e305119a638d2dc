"""Every single-bit flip over a ledger of 50 turns: found, and located at the line that was changed?

Complete: each bit of the file is flipped in turn and the whole file is read again in memory, as `arpm verify` reads it.
Lines that are as they were are remembered, so that only the changed one is checked anew; how lines follow each other is
held against every time. Then events are deleted, swapped, duplicated and inserted, and clean ledgers are read.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from typing import Any

from arpm.audit.chain import Chain, check_line, read_bytes
from arpm.events import GENESIS, RECEIPT, Draft, seal, without_body, write_line
from benchmarks.ledger import turn_body
from benchmarks.report import main, table, target

SEED = 20260502
TURNS = 50
CLEAN = 1000
_BATCH = 10_000
_AT = datetime(2026, 5, 2, 8, tzinfo=UTC)
_WORDS = (
    "umbrella tea 茶馆 旧书 garden key lighthouse 桂花乌龙 \U0001f600 naïve \u2028 \\ \" ' </analysis> 花园的钥匙 "
    ", {} : null 0.1 1e-7"
).split(" ")


@dataclass(frozen=True, slots=True)
class Flips:
    """How many flips were tried, how many were found, and how many were located at the changed line."""

    tried: int
    found: int
    located: int
    # Up to ten bits that were not.
    missed: tuple[int, ...] = ()

    def __add__(self, other: Flips) -> Flips:
        missed = (*self.missed, *other.missed)[:10]
        return Flips(self.tried + other.tried, self.found + other.found, self.located + other.located, missed)


class Flipper:
    """A ledger in memory whose bits can be flipped."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.data = b"".join(lines)
        self._known = {line[:-1]: check_line(line[:-1]) for line in lines}
        # For every byte the line that it belongs to; a line feed belongs to the line that it ends.
        self._line = [number for number, line in enumerate(lines, 1) for _ in line]

    @property
    def bits(self) -> int:
        return len(self.data) * 8

    def read(self, data: bytes) -> Chain:
        """Read a changed file, checking lines that were not changed from memory."""
        return read_bytes(data, check=lambda raw: self._known.get(raw) or check_line(raw))

    def flip(self, bits: Iterable[int]) -> Flips:
        """Flip each of `bits` by itself."""
        tried, found, located, missed = 0, 0, 0, list[int]()
        changed = bytearray(self.data)
        for bit in bits:
            place, mask = bit // 8, 1 << bit % 8
            changed[place] ^= mask
            first = self.read(bytes(changed)).first
            changed[place] ^= mask
            tried += 1
            found += first is not None
            if first is not None and first.line == self._line[place]:
                located += 1
            else:
                missed.append(bit)
        return Flips(tried, found, located, tuple(missed[:10]))


def turns(count: int = TURNS, seed: int = SEED) -> list[bytes]:
    """The lines of a ledger of turns with evidence, some of them erased, feedback between them."""
    rng = random.Random(seed)
    drafts: list[Draft] = [
        _draft("timeline_opened", {"user": "小明", "character": "Ada", "persona": "", "timezone": "UTC"})
    ]
    for number in range(count):
        body = turn_body(rng, number % 2)
        drafts.append(_draft("turn", {**body, "round": number + 1, "message": _text(rng, 12)}))
        if number % 10 == 9:
            drafts.append(_draft("feedback", {"round": number + 1, "rating": "up", "note": _text(rng, 3)}))
    return erased(drafts, {7, 8})


def clean(number: int) -> list[bytes]:
    """A small clean ledger, another one for each number: English and Chinese, odd characters, erased bodies."""
    rng = random.Random(number)
    drafts = [
        _draft(
            "timeline_opened", {"user": _text(rng, 1), "character": "Ada", "persona": _text(rng, 4), "timezone": "UTC"}
        )
    ]
    for _ in range(rng.randrange(6)):
        if rng.random() < 0.3:
            drafts.append(_draft("turn", {**turn_body(rng, rng.randrange(3)), "message": _text(rng, 20)}))
        else:
            note = None if rng.random() < 0.2 else _text(rng, rng.randrange(12))
            drafts.append(_draft("feedback", {"round": 1, "rating": rng.choice(("up", "down")), "note": note}))
    gone = {place for place in range(1, len(drafts)) if rng.random() < 0.3}
    return erased(drafts, gone)[: rng.choice((0, None, None, None))]


def erased(drafts: Sequence[Draft], gone: set[int]) -> list[bytes]:
    """The lines of a ledger of `drafts` in which those at the places `gone` were erased with a receipt."""
    lines, ids, prev, offset = list[bytes](), list[str](), GENESIS, 0
    receipts = [_receipt] if gone else []
    for draft in [*drafts, *(make([f"e-{place}" for place in sorted(gone)]) for make in receipts)]:
        sealed = seal(Draft(draft.kind, draft.body, draft.session, draft.at, f"e-{len(ids)}"))
        event, line = write_line(sealed, len(lines) + 1, "t-0123456789ab", prev, offset)
        lines.append(line)
        ids.append(event.id)
        prev, offset = event.hash, event.end
    return [without_body(line[:-1]) + b"\n" if place in gone else line for place, line in enumerate(lines)]


def _receipt(events: list[str]) -> Draft:
    empty: dict[str, Any] = {name: [] for name in ("turns", "instructions", "retired", "sources")}
    scope = {"by": "memories", "value": None}
    body = {
        **empty,
        "scope": scope,
        "memories": ["m-1"],
        "events": events,
        "rounds": 50,
        "reason": "asked",
        "by": "hand",
    }
    return _draft(RECEIPT, body)


def _draft(kind: str, body: dict[str, Any]) -> Draft:
    return Draft(
        kind, body, None if kind == "timeline_opened" else "s-0123456789ab", _AT + timedelta(seconds=len(body))
    )


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=words)) or "x"


def rearranged(lines: Sequence[bytes], foreign: Sequence[bytes]) -> Iterator[tuple[str, list[bytes]]]:
    """Each event deleted (but the last, whose loss only a checkpoint shows), every two swapped, each duplicated at
    every tenth place, and events of another ledger inserted everywhere."""
    original = list(lines)
    for place in range(len(lines) - 1):
        yield "deleted", original[:place] + original[place + 1 :]
    for first in range(len(lines)):
        for second in range(first + 1, len(lines)):
            swapped = original.copy()
            swapped[first], swapped[second] = swapped[second], swapped[first]
            yield "swapped", swapped
    for place in range(len(lines)):
        for at in {*range(0, len(lines), 10), place, len(lines)}:
            yield "duplicated", [*original[:at], original[place], *original[at:]]
    for at in range(len(lines) + 1):
        yield "inserted", [*original[:at], foreign[at % len(foreign)], *original[at:]]


def first_difference(lines: Sequence[bytes], changed: Sequence[bytes]) -> int:
    """The first line, from 1, that is not what it was."""
    pairs = enumerate(zip(lines, changed, strict=False), 1)
    return next((number for number, (before, after) in pairs if before != after), min(len(lines), len(changed)) + 1)


_flipper: Flipper | None = None


def _prepare(lines: Sequence[bytes]) -> None:
    """Give a process the ledger whose bits it will flip."""
    global _flipper
    _flipper = Flipper(lines)


def _batch(bits: range) -> Flips:
    assert _flipper is not None
    return _flipper.flip(bits)


def run(quick: bool) -> dict[str, Any]:
    """Flip every bit (quick: 1,000 of them), rearrange, and read clean ledgers."""
    lines = turns()
    flipper = Flipper(lines)
    began = time.perf_counter()
    if quick:
        flips = flipper.flip(random.Random(SEED).sample(range(flipper.bits), 1000))
    else:
        batches = [range(start, min(start + _BATCH, flipper.bits)) for start in range(0, flipper.bits, _BATCH)]
        cores = len(os.sched_getaffinity(0))
        with ProcessPoolExecutor(cores, get_context("spawn"), _prepare, (lines,)) as pool:
            flips = sum(pool.map(_batch, batches), Flips(0, 0, 0))
    seconds = time.perf_counter() - began
    lines, counts = turns(10) if quick else lines, dict[str, list[int]]()
    whole = Flipper(lines)
    for kind, changed in rearranged(lines, turns(5, SEED + 1)[1:]):
        first = whole.read(b"".join(changed)).first
        count = counts.setdefault(kind, [0, 0, 0])
        count[0] += 1
        count[1] += first is not None
        count[2] += first is not None and first.line == first_difference(lines, changed)
    alarms = sum(bool(read_bytes(b"".join(clean(number))).findings) for number in range(100 if quick else CLEAN))
    rows = [("bit flipped", flips.tried, flips.found, flips.located)]
    rows += [(f"event {kind}", *count) for kind, count in counts.items()]
    tried, located = (sum(row[place] for row in rows) for place in (1, 3))
    return {
        "seed": SEED,
        "turns": TURNS,
        "bytes": len(flipper.data),
        "flips_per_second": round(flips.tried / seconds),
        "missed_bits": list(flips.missed),
        "tables": [table("changes", ("change", "tried", "found", "located"), rows)],
        "targets": [
            target("share of changes found and located", located / tried, 1, at_least=True),
            target("false alarms over clean ledgers", alarms, 0),
        ],
    }


if __name__ == "__main__":
    main("bit_flips", run)
