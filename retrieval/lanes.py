"""What both routes share: from ranked lanes to fused and cut scores. Pure functions over integer keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from retrieval.bm25 import BM25Hits, top
from retrieval.fusion import reciprocal_rank_fusion

# The most candidates of one route that governance sees and a turn record holds.
POOL = 48


@dataclass(frozen=True, slots=True)
class Lane:
    """One ranked list: its name and its keys, best first."""

    name: str
    keys: Sequence[int]


@dataclass(frozen=True, slots=True)
class Lexical:
    """BM25 of the documents that matched, by key."""

    scores: Mapping[int, float]
    coverage: Mapping[int, float]

    @classmethod
    def of(cls, hits: BM25Hits, keys: Sequence[int]) -> Lexical:
        """The scores of `keys` among `hits`; a search returns hits in order of key."""
        wanted = np.asarray(keys, dtype=np.int64)
        places = np.searchsorted(hits.keys, wanted)
        found = [
            (int(k), int(p)) for k, p in zip(wanted, places, strict=True) if p < len(hits.keys) and hits.keys[p] == k
        ]
        return cls(
            {key: float(hits.scores[place]) for key, place in found},
            {key: float(hits.coverage[place]) for key, place in found},
        )


def ranks_by_key(lanes: Sequence[Lane]) -> dict[int, dict[str, int]]:
    """For every key of any lane, its rank from zero in each lane that holds it."""
    ranks: dict[int, dict[str, int]] = {}
    for lane in lanes:
        for rank, key in enumerate(lane.keys):
            ranks.setdefault(key, {})[lane.name] = rank
    return ranks


def fused(ranks: Mapping[int, Mapping[str, int]], k: float) -> dict[int, float]:
    """The RRF score of every key (paper equation 3)."""
    return {key: reciprocal_rank_fusion(lanes.values(), k) for key, lanes in ranks.items()}


def best(scores: Mapping[int, float], size: int = POOL) -> dict[int, float]:
    """The `size` best scores, best first; of equal scores the newer (larger) key: recency wins ties."""
    keys = np.fromiter(scores.keys(), dtype=np.int64, count=len(scores))
    values = np.fromiter(scores.values(), dtype=np.float64, count=len(scores))
    return {key: scores[key] for key in top(keys, values, size)}
