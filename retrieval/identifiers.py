"""Numbers and codes by which people name one thing: an order's number, a version, an error's code.

An embedding hardly tells 4471930 from 4471390, and in a long question the other words outweigh the one that decides.
So what holds an identifier of the question word for word has a lane of its own. Pure functions over tokens and an
inverted index.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from retrieval.bm25 import BM25Hits, BM25Index, top
from retrieval.lanes import Lane

LANE = "exact"
# Shorter ones are mostly amounts, ages and days.
_LEAST = 4
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
# What more documents hold than this names none of them.
_AT_MOST = 10


def is_identifier(token: str) -> bool:
    """Whether a token (`retrieval.tokens.tokenize`) names one thing: it has a digit, some length, and is no year."""
    return len(token) >= _LEAST and any(c.isdecimal() for c in token) and not _YEAR.fullmatch(token)


def exact_lane(tokens: Iterable[str], index: BM25Index, hits: BM25Hits, depth: int) -> Lane:
    """The documents that hold an identifier of the question, by their BM25 score among `hits`, best first."""
    found = {
        key
        for token in set(tokens)
        if is_identifier(token) and 0 < index.document_frequency(token) <= _AT_MOST
        for key in index.holding(token)
    }
    keys = np.array(sorted(found), dtype=np.int64)
    return Lane(LANE, top(keys, hits.scores[np.searchsorted(hits.keys, keys)], depth))
