"""Which words and word parts a sentence has, as places in a small table: features beside its vector.

Words, runs of two and three words and parts of words, so that a misspelled word still shares most of its parts; of
Chinese single characters and runs of two to four. Each is hashed to one of `SIZE` places; the hash is CRC-32, the same
on every machine. Knows nothing about what the places mean.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SIZE = 4096
# A word, a number, one Chinese character, or any other mark.
_TOKEN = re.compile(r"[a-z']+|\d+|[^\sa-z\d]")
_LATIN = re.compile("[a-z]")
_LONGEST = 500


def places(text: str) -> list[int]:
    """The places of what is in `text`, sorted, each once; none for a text without characters."""
    tokens = _TOKEN.findall(text[:_LONGEST].lower())
    found = {
        f"{length}{' '.join(tokens[start : start + length])}"
        for length in (1, 2, 3, 4)
        for start in range(len(tokens) - length + 1)
        # Four words in a row hardly come twice; four Chinese characters do.
        if length < 4 or not _LATIN.match(tokens[start])
    }
    for token in tokens:
        if _LATIN.match(token):
            word = f"<{token}>"
            found.update(word[start : start + length] for length in (3, 4) for start in range(len(word) - length + 1))
    return sorted({zlib.crc32(gram.encode("utf-8", "surrogatepass")) % SIZE for gram in found})


def table(texts: Sequence[str]) -> NDArray[np.float32]:
    """Shape (len(texts), SIZE): the places of each text, each row of length 1 (0 for a text without characters)."""
    rows = np.zeros((len(texts), SIZE), np.float32)
    for row, text in zip(rows, texts, strict=True):
        if found := places(text):
            row[found] = len(found) ** -0.5
    return rows
