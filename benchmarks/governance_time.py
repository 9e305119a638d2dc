"""Time of one turn without embedding and generation: search on both routes, then governance.

Memories are random unit vectors under texts of Zipf-distributed words, half English and half Chinese: nine tenths
experience, one tenth knowledge chunks of three children each. Random vectors are the worst case for the search and say
nothing about its quality.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import main, table, target
from governance.config import GovernanceConfig
from governance.decay import Moment
from governance.policy import Governed, Situation, govern
from retrieval.candidates import Candidate, Query
from retrieval.embedding.base import Vectors
from retrieval.experience import ExperienceIndex
from retrieval.knowledge import KnowledgeIndex
from retrieval.memories import Experience, KnowledgeChunk

SEED = 20260430
DIMENSION = 384
START = datetime(2026, 1, 1, 8, tzinfo=UTC)
SIZES = (1_000, 10_000, 100_000)
BARS = {10_000: 10.0, 100_000: 60.0}


class RandomVectors:
    """An embedder that gives every text some unit vector: time does not depend on which."""

    name = "random"
    dimension = DIMENSION
    c0 = 0.0

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def encode_document(self, texts: Sequence[str]) -> Vectors:
        drawn = self._generator.standard_normal((len(texts), DIMENSION), dtype=np.float32)
        unit: Vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return unit

    encode_query = encode_document


class ZipfTexts:
    """Texts whose word frequencies fall as in a language: an English and a Chinese vocabulary of invented words."""

    def __init__(self, generator: np.random.Generator, words: int = 20_000) -> None:
        self._generator = generator
        self._english = _english_words(generator, words)
        self._characters = [chr(0x4E00 + place) for place in generator.permutation(4_000)]

    def english(self, length: int) -> str:
        return " ".join(self._english[place] for place in self._ranks(length, len(self._english)))

    def chinese(self, length: int) -> str:
        return "".join(self._characters[place] for place in self._ranks(length, len(self._characters)))

    def either(self, place: int) -> str:
        """An English sentence for even places, a Chinese one of about the same content for odd."""
        return self.english(22) if place % 2 == 0 else self.chinese(40)

    def _ranks(self, length: int, limit: int) -> NDArray[np.int64]:
        # The inverse of a Zipf law with exponent one: log-uniform ranks.
        return (limit ** self._generator.random(length)).astype(np.int64) - 1


def _english_words(generator: np.random.Generator, count: int) -> list[str]:
    syllables = [a + b for a in "bcdfghjklmnprstvw" for b in "aeiou"]
    picks = generator.integers(len(syllables), size=(count, 3))
    return ["".join(syllables[place] for place in row) for row in picks]


@dataclass(frozen=True, slots=True)
class Memory:
    """Both indexes of a benchmark, filled, with the rounds lived so far."""

    knowledge: KnowledgeIndex
    experience: ExperienceIndex
    rounds: int


def filled(size: int, texts: ZipfTexts) -> Memory:
    """Both routes with `size` memories in all."""
    chunks, rounds = size // 10, size - size // 10
    embedder = RandomVectors(SEED)
    knowledge, experience = KnowledgeIndex(embedder), ExperienceIndex(embedder)
    for start in range(0, chunks, 100):
        document = f"d{start}"
        knowledge.add(document, [_chunk(document, place, texts) for place in range(min(100, chunks - start))])
    experience.add(list(_atoms(rounds, texts)))
    return Memory(knowledge, experience, rounds)


def _chunk(document: str, place: int, texts: ZipfTexts) -> KnowledgeChunk:
    children = tuple(texts.either(place) for _ in range(3))
    return KnowledgeChunk(f"{document}-{place}", document, "notes.md", (), "\n".join(children), children, START)


def _atoms(rounds: int, texts: ZipfTexts) -> Iterator[Experience]:
    for number in range(1, rounds + 1):
        yield Experience(
            memory=f"m{number}",
            session=f"s{number // 20}",
            round=number,
            at=START + timedelta(minutes=10 * number),
            user="Mei",
            character="Ada",
            message=texts.either(number),
            reply=texts.either(number),
        )


def turn(memory: Memory, question: str, vector: Vectors, config: GovernanceConfig) -> Governed:
    """What a turn does between embedding the question and building the prompt."""

    def round_of(candidate: Candidate) -> int | None:
        return candidate.round if candidate.route == "experience" else 0

    query = Query(question, "Mei", "Ada", f"s{memory.rounds // 20}")
    situation = Situation(
        moment=Moment(memory.rounds + 1, START + timedelta(minutes=10 * memory.rounds + 10)),
        zone=UTC,
        language="en",
        window=frozenset({f"m{memory.rounds}"}),
        round_of=round_of,
        count=len,
    )
    return govern(
        memory.knowledge.search(query, vector, config),
        memory.experience.search(query, vector, config),
        config,
        situation,
    )


def measured(size: int, turns: int) -> dict[str, Any]:
    """Milliseconds of a turn at `size` memories: median and 95th percentile over `turns` questions.

    The mean of processor time beside it tells whether other programs held the turn up.
    """
    texts = ZipfTexts(np.random.default_rng(SEED))
    start = time.perf_counter()
    memory = filled(size, texts)
    built = time.perf_counter() - start
    # The gate off, so that every candidate goes the whole way; a question is as long as people's are.
    config = GovernanceConfig(gate_enabled=False)
    vectors = RandomVectors(SEED + 1).encode_query([""] * turns)
    questions = [texts.english(9) if place % 2 == 0 else texts.chinese(16) for place in range(turns)]
    turn(memory, questions[0], vectors[0], config)
    spent, busy = [], time.process_time()
    for question, vector in zip(questions, vectors, strict=True):
        start = time.perf_counter()
        turn(memory, question, vector, config)
        spent.append(1000 * (time.perf_counter() - start))
    busy = time.process_time() - busy
    return {
        "memories": size,
        "median_ms": round(statistics.median(spent), 3),
        "p95_ms": round(float(np.quantile(spent, 0.95)), 3),
        "mean_cpu_ms": round(1000 * busy / turns, 3),
        "build_s": round(built, 2),
    }


def run(quick: bool = False) -> dict[str, Any]:
    """Measure every size (quick: the smallest one, with fewer turns)."""
    rows = [measured(size, 20 if quick else 200) for size in (SIZES[:1] if quick else SIZES)]
    medians = {row["memories"]: row["median_ms"] for row in rows}
    return {
        "seed": SEED,
        "dimension": DIMENSION,
        "sizes": rows,
        "tables": [
            table("one turn without embedding and generation", list(rows[0]), [list(row.values()) for row in rows])
        ],
        "targets": [
            target(f"median at {size:,} memories", medians[size], bar, unit="ms")
            for size, bar in BARS.items()
            if size in medians
        ],
    }


if __name__ == "__main__":
    main("governance_time", run)
