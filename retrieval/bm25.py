"""BM25 with positively biased idf (paper equation 2) over an inverted index.

Scoring touches only the documents that hold a query token. Scores equal those of rank-bm25's statistics with the
paper's idf, which a test uses as its oracle. Knows nothing about texts: it is given tokens.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


def idf(total: int, containing: int, delta: float) -> float:
    """Positively biased inverse document frequency (paper, below equation 2); 0 for a token in no document."""
    if containing == 0:
        return 0.0
    return max(0.0, math.log((total - containing + 0.5) / (containing + 0.5))) + delta


def term_weight(tf: float, length: float, mean_length: float, k1: float, b: float) -> float:
    """Saturated term frequency of one token in one document (the bracket of paper equation 2)."""
    return tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean_length))


_NO_KEYS = np.zeros(0, dtype=np.int64)
_NO_SCORES = np.zeros(0)


@dataclass(frozen=True, slots=True)
class BM25Hits:
    """Documents with at least one query token: their keys, scores and the share of the query's idf they match.

    `coverage` is the sum of the idf of the distinct query tokens a document holds over that of all of them, with
    tokens in no document counted as the rarest possible: a question of unknown words is covered by nothing.
    """

    keys: NDArray[np.int64]
    scores: NDArray[np.float64]
    coverage: NDArray[np.float64]


class BM25Index:
    """An inverted index from token to (document key, term frequency). Keys are integers that are never reused."""

    def __init__(self) -> None:
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        self._tokens: dict[int, tuple[str, ...]] = {}
        self._lengths = np.zeros(0, dtype=np.float64)
        self._total_length = 0

    def __len__(self) -> int:
        return len(self._tokens)

    @property
    def mean_length(self) -> float:
        """Mean number of tokens of a document (avgdl); 0 when there is none."""
        return self._total_length / len(self._tokens) if self._tokens else 0.0

    def add(self, key: int, tokens: Sequence[str]) -> None:
        """Add one document. Raises ValueError if `key` is already there."""
        if key in self._tokens:
            raise ValueError(f"BM25 key {key} is already in the index")
        counts = Counter(tokens)
        for token, count in counts.items():
            postings = self._postings.get(token)
            if postings is None:
                postings = self._postings[token] = (array("q"), array("i"))
            postings[0].append(key)
            postings[1].append(count)
        self._tokens[key] = tuple(counts)
        self._reserve(key)
        self._lengths[key] = len(tokens)
        self._total_length += len(tokens)

    def remove(self, key: int) -> None:
        """Remove one document, so that document frequencies and the mean length are those without it."""
        for token in self._tokens.pop(key):
            keys, frequencies = self._postings[token]
            place = keys.index(key)
            del keys[place], frequencies[place]
            if not keys:
                del self._postings[token]
        self._total_length -= int(self._lengths[key])

    def search(self, tokens: Sequence[str], k1: float, b: float, delta: float) -> BM25Hits:
        """Score every document that holds a query token (paper equation 2; repeated query tokens count again)."""
        if not self._tokens:
            return BM25Hits(_NO_KEYS, _NO_SCORES, _NO_SCORES)
        norms = k1 * (1 - b + b * self._lengths / (self.mean_length or 1.0))
        query_idf = 0.0
        matched = [_NO_KEYS]
        scored, covering = [_NO_SCORES], [_NO_SCORES]
        for token, repeats in Counter(tokens).items():
            containing = self.document_frequency(token)
            # A token of no document weighs as one of a single document would: it is information nobody has.
            query_idf += idf(len(self), containing or 1, delta)
            if containing:
                weight = idf(len(self), containing, delta)
                keys, frequencies = self._arrays(token)
                matched.append(keys)
                scored.append(repeats * weight * (frequencies * (k1 + 1) / (frequencies + norms[keys])))
                covering.append(np.full(len(keys), weight))
        return self._summed(np.concatenate(matched), np.concatenate(scored), np.concatenate(covering), query_idf)

    def _summed(
        self, keys: NDArray[np.int64], scores: NDArray[np.float64], weights: NDArray[np.float64], query_idf: float
    ) -> BM25Hits:
        """Sum what every (token, document) pair contributes, by document."""
        size = len(self._lengths)
        touched = np.zeros(size, dtype=bool)
        touched[keys] = True
        found = np.flatnonzero(touched)
        total = np.bincount(keys, weights=scores, minlength=size)[found]
        covered = np.bincount(keys, weights=weights, minlength=size)[found]
        return BM25Hits(found, np.asarray(total, dtype=np.float64), covered / (query_idf or 1.0))

    def document_frequency(self, token: str) -> int:
        """Number of documents that hold `token`."""
        return len(self._postings[token][0]) if token in self._postings else 0

    def holding(self, token: str) -> list[int]:
        """The keys of the documents that hold `token`."""
        return list(self._postings[token][0]) if token in self._postings else []

    def _arrays(self, token: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        # Copies: a view would forbid the arrays to grow while it lives.
        keys, frequencies = self._postings[token]
        return np.array(keys, dtype=np.int64), np.array(frequencies, dtype=np.float64)

    def _reserve(self, key: int) -> None:
        if key >= len(self._lengths):
            grown = np.zeros(max(key + 1, 2 * len(self._lengths), 1024))
            grown[: len(self._lengths)] = self._lengths
            self._lengths = grown


def top(keys: NDArray[np.int64], scores: NDArray[np.float64], depth: int) -> list[int]:
    """The `depth` keys of highest score, best first; of equal scores the newer (larger) key, so that a rerun agrees."""
    if 0 < depth < len(keys):
        border = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        inside = scores >= border
        keys, scores = keys[inside], scores[inside]
    order = np.lexsort((-keys, -scores))[:depth]
    return [int(key) for key in keys[order]]
