"""How much focus a past message deserves: the formulas of AFM, section 3.2 and 3.3, one pure function each.

The paper's published code has another rule (one product, thresholds .55 and .30); the paper's piecewise rule is the
one here. Knows nothing about tokens or about how a fidelity is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from governance.history import Fidelity, Focus, Importance, made
from retrieval.embedding.calibration import calibrate

# The constants of the paper's experiments (sections 3.2 and 3.3). A turn is a round: a message and its reply.
HALF_LIFE = 12.0
TAU_HIGH = 0.45
TAU_MID = 0.25


def recency_weight(rounds_ago: float, half_life: float = HALF_LIFE) -> float:
    """0.5^(k/h) with k in rounds (AFM, "Recency weighting"); ages below zero count as zero.

    The paper counts k = t − i in turns since message i. Counted in messages, the same half-life would be half as long
    in conversation time, so k is the distance in rounds: a message and its reply are equally old.
    """
    return float(0.5 ** (max(rounds_ago, 0.0) / half_life))


def focus_score(importance: Importance, similarity: float, recency: float) -> float:
    """The piecewise score in [0, 1] (AFM, "Final scoring rule")."""
    related = max(0.0, similarity)
    if importance == "CRITICAL":
        return 1.0
    if importance == "RELEVANT":
        return related * (0.4 + 0.4 * recency)
    return related * (0.25 * recency)


def intended_fidelity(score: float, tau_high: float = TAU_HIGH, tau_mid: float = TAU_MID) -> Fidelity:
    """The fidelity that a score asks for before packing (AFM, section 3.3)."""
    if score >= tau_high:
        return "FULL"
    return "COMPRESSED" if score >= tau_mid else "PLACEHOLDER"


def similarities(vectors: NDArray[np.floating], query: NDArray[np.floating], c0: float = 0.0) -> NDArray[np.float64]:
    """max(0, cosine) of every row to the query; calibrated by `c0` where that is above zero.

    `vectors` holds unit rows of shape (n, dimension), `query` one of shape (dimension,). With `c0` 0 this is the paper.
    An embedder that gives unrelated texts a cosine of .8 would otherwise send every RELEVANT message over both
    thresholds; `c0` is the embedder's own constant for that (`Embedder.c0`).
    """
    cosines = (vectors @ query).astype(np.float64)
    return np.maximum(calibrate(cosines, c0) if c0 else np.minimum(cosines, 1.0), 0.0)


def focuses(
    importances: Sequence[Importance],
    similarities: NDArray[np.floating] | Sequence[float],
    rounds_ago: NDArray[np.number] | Sequence[float],
    probabilities: Sequence[float | None] = (),
    reasons: Sequence[str | None] = (),
    *,
    half_life: float = HALF_LIFE,
    tau_high: float = TAU_HIGH,
    tau_mid: float = TAU_MID,
) -> list[Focus]:
    """The focus of every message: the formulas above over whole conversations (arrays of length n, oldest first).

    `probabilities` and `reasons` are those of the importances, none of them or n.
    """
    related = np.maximum(np.asarray(similarities, np.float64), 0.0)
    recency = 0.5 ** (np.maximum(np.asarray(rounds_ago, np.float64), 0.0) / half_life)
    kinds = np.fromiter(map(_KINDS.__getitem__, importances), np.int8, len(importances))
    scores = np.select(
        [kinds == _KINDS["CRITICAL"], kinds == _KINDS["RELEVANT"]],
        [np.ones_like(related), related * (0.4 + 0.4 * recency)],
        related * (0.25 * recency),
    )
    tiers = np.where(scores >= tau_high, 0, np.where(scores >= tau_mid, 1, 2))
    intended = map(_TIERS.__getitem__, tiers.tolist())
    unknown = [None] * len(importances)
    numbers = (related.tolist(), recency.tolist(), scores.tolist(), intended)
    rows = zip(importances, *numbers, probabilities or unknown, reasons or unknown, strict=True)
    return list(made(Focus, rows))


_KINDS: dict[Importance, int] = {"CRITICAL": 0, "RELEVANT": 1, "TRIVIAL": 2}
_TIERS: tuple[Fidelity, ...] = ("FULL", "COMPRESSED", "PLACEHOLDER")
