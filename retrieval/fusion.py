"""Formulas that turn ranks and cosines into base scores. Pure functions, one per published equation."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


def reciprocal_rank_fusion(ranks: Iterable[int], k: float) -> float:
    """Sum of 1 / (k + rank + 1) over the lanes that found a document, ranks from zero (paper equation 3)."""
    return sum(1.0 / (k + rank + 1) for rank in ranks)


def normalised_by_maximum(scores: Mapping[Key, float]) -> dict[Key, float]:
    """Scores divided by their maximum (norm of paper equation 4); all zero when the maximum is not positive."""
    best = max(scores.values(), default=0.0)
    return {key: score / best if best > 0 else 0.0 for key, score in scores.items()}


def lowered_to_one(scores: Mapping[Key, float]) -> dict[Key, float]:
    """Scores divided by their maximum where that is above 1: what bonuses raised (published implementation)."""
    limit = max(1.0, *scores.values()) if scores else 1.0
    return {key: score / limit for key, score in scores.items()}


def clipped(value: float, low: float = 0.0, high: float = 1.0) -> float:
    """`value` limited to [low, high] (clip of paper equation 5)."""
    return min(max(value, low), high)


def calibrated_similarity(cosine: float, c0: float) -> float:
    """Cosine above that of unrelated texts, clip((cos - c0) / (1 - c0), 0, 1). `c0` = 0 is paper equation 5."""
    return clipped((cosine - c0) / (1 - c0))


def lent_by_neighbours(
    scores: Mapping[int, float], neighbours: Mapping[int, Sequence[int]], share: float
) -> dict[int, float]:
    """Each score plus `share` of the scores of its neighbours. A neighbour nobody scored gets only what it is lent.

    In a conversation the answer often stands beside the turn that matches the question's words.
    """
    spread = dict(scores)
    if not share:
        return spread
    for key, score in scores.items():
        for neighbour in neighbours.get(key, ()):
            spread[neighbour] = spread.get(neighbour, 0.0) + share * score
    return spread


def convex_score(similarity: float, context: float, words: float, context_weight: float, words_weight: float) -> float:
    """Weighted sum of the scores of three lanes, each between 0 and 1; the turn's own similarity weighs 1.

    A convex combination of scores ranks better than a fusion of ranks and needs few examples to be tuned (Bruch, Gai
    and Ingber 2022, "An Analysis of Fusion Functions for Hybrid Retrieval", section 4).
    """
    return similarity + context_weight * context + words_weight * words


def nearness_to_best(scores: Mapping[Key, float], width: float) -> dict[Key, float]:
    """exp((score - best) / width): 1 for the best score, and what is far below it gets next to nothing."""
    best = max(scores.values(), default=0.0)
    return {key: math.exp((score - best) / width) for key, score in scores.items()}
