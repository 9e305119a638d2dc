"""A deterministic embedder without a model: words and characters hashed into a fixed number of buckets.

Keeps the promise that tests and the offline mode give the same vectors in every process and on every machine: the
hash is BLAKE2b, never Python's salted one. It knows which words texts share, not what they mean.

Source: Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", ICML 2009.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from retrieval.embedding.base import Vectors
from retrieval.embedding.calibration import c0_of
from retrieval.embedding.vectors import unit_rows
from retrieval.text import usable

# Scripts written without spaces give characters and their pairs; everything else gives words and their trigrams.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_RUNS = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+")
_FIRST_UNSPACED = re.compile(f"[{_UNSPACED}]")
_TRIGRAM_WEIGHT = 0.4
_CHARACTER_WEIGHT = 0.5


class HashingEmbedder:
    """Signed feature hashing of word and character n-grams into `dimension` buckets. Safe between threads."""

    dimension: int
    c0: float

    def __init__(self, dimension: int = 384) -> None:
        self.dimension = dimension
        self.name = f"hashing-1-{dimension}"
        self.c0 = c0_of(self)

    def encode_query(self, texts: Sequence[str]) -> Vectors:
        """Embed questions. Returns float32 unit rows of shape (len(texts), dimension)."""
        return self.encode_document(texts)

    def encode_document(self, texts: Sequence[str]) -> Vectors:
        """Embed memories, as questions are embedded. Returns float32 unit rows of shape (len(texts), dimension)."""
        rows = np.zeros((len(texts), self.dimension), np.float64)
        for row, text in zip(rows, texts, strict=True):
            self._fill(row, text)
        return unit_rows(rows)

    def _fill(self, row: NDArray[np.float64], text: str) -> None:
        for (feature, weight), count in Counter(_features(text)).items():
            number = _hash(feature)
            # The top bit is the sign, so that features that share a bucket cancel rather than add on average.
            row[number % self.dimension] += (1 if number >> 63 else -1) * weight * count**0.5
        if not row.any():
            row[_hash("") % self.dimension] = 1  # A text without a letter has to be a unit row too.


def _features(text: str) -> Iterator[tuple[str, float]]:
    """The n-grams of a text with their weights: rarer kinds of n-gram tell more and weigh more."""
    for run in _RUNS.findall(unicodedata.normalize("NFKC", usable(text)).casefold()):
        if _FIRST_UNSPACED.match(run):
            yield from ((character, _CHARACTER_WEIGHT) for character in run)
            yield from ((run[i : i + 2], 1.0) for i in range(len(run) - 1))
        else:
            marked = f"<{run}>"
            yield marked, 1.0
            yield from ((f"#{marked[i : i + 3]}", _TRIGRAM_WEIGHT) for i in range(len(marked) - 2))


@lru_cache(maxsize=1 << 16)
def _hash(feature: str) -> int:
    return int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "little")
