"""Ledger appends against a bare write and fsync of the same bytes, taken in turns on the same disk.

An append is what happens under the ledger's lock: its place in the chain, two SHA-256 digests, one write, one fsync.
Sealing a draft (checking it against its schema, salting and encoding it) comes before and needs no lock; it is timed
apart, and `draft / bare` says what both cost together. Records are turns of about 2 KB and 20 KB, the larger one with
sixty candidates of both routes.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from arpm.canonical import canonical, digest
from arpm.events import GENESIS, Draft, Sealed, seal, write_line
from arpm.ledger import Ledger, verify
from benchmarks.report import main, table, target

SEED = 20260501
AT = datetime(2026, 5, 1, 8, tzinfo=UTC)
# On the disk that ledgers are kept on: a temporary folder is often in memory, where fsync costs nothing.
FOLDER = Path(__file__).parents[1] / "logs"
CANDIDATES = {"2 KB": 0, "20 KB": 60}
BAR = 1.5
# Sealed ahead in batches, so that neither side of the comparison runs on caches that encoding has just filled.
BATCH = 50


def turn_body(rng: random.Random, candidates: int) -> dict[str, Any]:
    """The body of a turn as the service records it, with `candidates` rows over both routes."""
    backend = {"name": "local", "model": "SmolLM2-135M-Instruct", "prompt_style": "compact"}
    reply = "你把花园的钥匙放在蓝色的盒子里。 You keep the key of the garden in the blue box. "
    fingerprint = digest(b"a digest")
    attempt: dict[str, Any] = {
        "raw": f"<analysis>\nneed: experience\nevidence: E2\n</analysis>\n<response>\n{reply}\n</response>",
        "finish": "stop",
        "reasoning": None,
        "prompt_tokens": 812,
        "completion_tokens": 64,
        "seconds": rng.random(),
        "first_token_seconds": rng.random(),
        "violations": [],
        "purpose": "answer",
    }
    return {
        "round": 812,
        "replaces": None,
        "clock": "system",
        "request_key": None,
        "message": "我把花园的钥匙放在哪里了? Where did I put the key?",
        "augmented_query": "[User Lin][Assistant Ada] 我把花园的钥匙放在哪里了? Where did I put the key?",
        "user": "Lin",
        "character": "Ada",
        "persona_digest": fingerprint,
        "session_round": 12,
        "last_round_at": AT.isoformat(),
        "backend": backend,
        "sampling": {"temperature": 0.7, "top_p": 0.9, "max_tokens": 200, "seed": 7, "timeout": 120.0},
        "preset": "default",
        "config": {f"constant_{number}": rng.random() for number in range(candidates and 40)},
        "embedder": {"name": "multilingual-e5-small/int8", "c0": 0.7134},
        "knowledge_tip": {"seq": 14, "hash": fingerprint},
        "instructions_shown": ["i-0123456789ab"],
        "window": [810, 811],
        "candidates": {
            route: [_candidate(rng, route, number) for number in range(candidates // 2)]
            for route in ("knowledge", "experience")
        },
        "evidence": [_evidence(number) for number in range(candidates and 8)],
        "prompt": {"digest": fingerprint, "tokens": 812, "approximate": False},
        "attempts": [attempt],
        "analysis": {"need": "experience", "cited": ["E2"], "unknown": [], "check": "it says so", "text": reply},
        "response": reply,
        "ranking": [],
        "cited": ["E2"],
        "bound": ["E2"],
        "violations": [],
        "repairs": [],
        "admission": {"admitted": True, "reason": "a finished turn", "memory": "m-0123456789ab"},
        "timings": {stage: rng.random() for stage in ("search", "govern", "prompt", "generate", "parse")},
    }


def _candidate(rng: random.Random, route: str, rank: int) -> dict[str, Any]:
    scores = ("cosine", "similarity", "coverage", "fused", "base", "final")
    return {
        "memory": f"m-{rng.getrandbits(48):012x}",
        "route": route,
        "kept": rank < 4,
        "reason": "kept" if rank < 4 else "beyond top-k",
        **{score: rng.random() for score in scores},
        "bm25": 9 * rng.random() if rank % 2 else None,
        "weight": 1.0,
        "rank": rank,
    }


def _evidence(number: int) -> dict[str, Any]:
    return {
        "label": f"E{number + 1}",
        "memory": f"m-{number:012x}",
        "route": "experience",
        "fidelity": "FULL",
        "tokens": 40,
        "cue": "2026-04-30 18:20, 3 rounds ago, yesterday",
    }


def timed(call: Callable[..., Any], *arguments: Any) -> float:
    """Microseconds of one call."""
    start = time.perf_counter()
    call(*arguments)
    return 1e6 * (time.perf_counter() - start)


def _encode(draft: Draft) -> str:
    return digest(canonical(draft.body))


def measured(size: str, rounds: int, folder: Path) -> dict[str, Any]:
    """Median microseconds of each step over `rounds` records, each appended and written bare, in alternating order."""
    rng = random.Random(SEED)
    spent: dict[str, list[float]] = {name: [] for name in ("seal", "encode", "append", "write", "fsync", "bare")}
    bare = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with Ledger.open(folder, "benchmark", now=lambda: AT) as ledger:
        for _ in range(rounds // BATCH):
            sealed = list[Sealed]()
            for _ in range(BATCH):
                draft = Draft("turn", turn_body(rng, CANDIDATES[size]), "s-1", AT)
                spent["seal"].append(timed(seal, draft))
                spent["encode"].append(timed(_encode, draft))
                sealed.append(seal(draft))
            lines = [write_line(item, number, "benchmark", GENESIS, 0)[1] for number, item in enumerate(sealed, 2)]
            for number, (item, line) in enumerate(zip(sealed, lines, strict=True)):
                if number % 2:
                    spent["append"].append(timed(ledger.append, item))
                spent["write"].append(timed(os.write, bare, line))
                spent["fsync"].append(timed(os.fsync, bare))
                spent["bare"].append(spent["write"][-1] + spent["fsync"][-1])
                if not number % 2:
                    spent["append"].append(timed(ledger.append, item))
        size_of_line = ledger.tip.size // ledger.tip.seq
    os.close(bare)
    verify(ledger.path, "benchmark", ledger.tip)
    median = {name: statistics.median(values) for name, values in spent.items()}
    return {
        "record": size,
        "bytes": size_of_line,
        "bare_us": round(median["bare"], 1),
        "write_us": round(median["write"], 1),
        "fsync_us": round(median["fsync"], 1),
        "append_us": round(median["append"], 1),
        "validate_us": round(median["seal"] - median["encode"], 1),
        "encode_us": round(median["encode"], 1),
        "append / bare": round(median["append"] / median["bare"], 3),
        "draft / bare": round((median["append"] + median["seal"]) / median["bare"], 3),
    }


def run(quick: bool = False) -> dict[str, Any]:
    """Measure both sizes (quick: with fewer records)."""
    rows = []
    for size in CANDIDATES:
        with tempfile.TemporaryDirectory(dir=FOLDER, prefix="benchmark-") as folder:
            rows.append(measured(size, 100 if quick else 1000, Path(folder)))
    return {
        "seed": SEED,
        "records": rows,
        "tables": [table("one append, median microseconds", list(rows[0]), [list(row.values()) for row in rows])],
        "targets": [target(f"append / bare at {row['record']}", row["append / bare"], BAR) for row in rows],
    }


if __name__ == "__main__":
    main("ledger", run)
