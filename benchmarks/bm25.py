"""BM25: our inverted index against rank-bm25's own `get_scores`, on the same chunks with the same scores.

The chunks are parent chunks of the classical Chinese novels where ARPM_DATA has them, else texts of Zipf-distributed
words. Tokenising is not measured: both are given tokens.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from benchmarks.governance_time import ZipfTexts
from benchmarks.report import DataMissingError, data_folder, main, table, target
from retrieval.bm25 import BM25Index, idf
from retrieval.chunking import split_document
from retrieval.text import sentences
from retrieval.tokens import tokenize

SEED = 20260430
CHUNKS = 30_000
K1, B, DELTA = 1.5, 0.75, 0.5
# Chunks of about the size of a child, so that the novels give as many as are asked for.
SIZE = 150


class PaperBM25(BM25Okapi):  # type: ignore[misc]
    """rank-bm25's statistics and scoring with the paper's idf (below equation 2): the oracle of our index."""

    def __init__(self, corpus: Sequence[Sequence[str]], k1: float = K1, b: float = B, delta: float = DELTA) -> None:
        self._delta = delta
        super().__init__(corpus, k1=k1, b=b)

    def _calc_idf(self, nd: Mapping[str, int]) -> None:
        for token, containing in nd.items():
            self.idf[token] = idf(self.corpus_size, containing, self._delta)


def novel_chunks(count: int) -> list[str]:
    """The first `count` chunks of the novels. Raises DataMissingError."""
    chunks = (
        text[parent.span.start : parent.span.end]
        for path in sorted(data_folder("chinese-novel").glob("txt/*.txt"))
        for text in [path.read_text(encoding="utf-8")]
        for parent in split_document(text, SIZE, SIZE)
    )
    return list(islice(chunks, count))


def corpus(count: int) -> tuple[str, list[str]]:
    """Where the chunks come from, and the chunks."""
    try:
        chunks = novel_chunks(count)
    except DataMissingError:
        texts = ZipfTexts(np.random.default_rng(SEED))
        return "Zipf-distributed words", [texts.either(place) for place in range(count)]
    return "classical Chinese novels", chunks


def run(quick: bool = False) -> dict[str, Any]:
    """Score questions over 30,000 chunks (quick: 3,000) both ways and compare times and scores."""
    source, chunks = corpus(CHUNKS // 10 if quick else CHUNKS)
    tokens = [tokenize(chunk) for chunk in chunks]
    index = BM25Index()
    for key, document in enumerate(tokens):
        index.add(key, document)
    oracle = PaperBM25(tokens)
    questions = [tokenize(question) for question in _questions(chunks, 5 if quick else 20)]

    def ours(question: Sequence[str]) -> NDArray[np.float64]:
        hits = index.search(question, K1, B, DELTA)
        scores = np.zeros(len(chunks))
        scores[hits.keys] = hits.scores
        return scores

    fast, slow = _milliseconds(ours, questions), _milliseconds(oracle.get_scores, questions)
    difference = max(float(np.abs(ours(q) - oracle.get_scores(q)).max()) for q in questions)
    return {
        "seed": SEED,
        "corpus": source,
        "tables": [
            table(
                f"scoring one question over {len(chunks):,} chunks ({source})",
                ("scorer", "median ms"),
                [("rank-bm25 get_scores", slow), ("inverted index", fast)],
            )
        ],
        "targets": [
            target("times faster", slow / fast, 20, at_least=True),
            target("largest difference of scores", difference, 1e-9),
        ],
    }


def _questions(chunks: Sequence[str], count: int) -> list[str]:
    """First sentences of chunks drawn at random, as long as a person's question."""
    picks = np.random.default_rng(SEED).choice(len(chunks), count, replace=False)
    return [chunks[pick][slice(*next(sentences(chunks[pick])))][:40] for pick in picks]


def _milliseconds(score: Callable[[Sequence[str]], Any], questions: Sequence[Sequence[str]]) -> float:
    spent = []
    for question in questions:
        start = time.perf_counter()
        score(question)
        spent.append(1000 * (time.perf_counter() - start))
    return statistics.median(spent)


if __name__ == "__main__":
    main("bm25", run)
