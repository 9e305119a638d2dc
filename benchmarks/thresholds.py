"""From which probability a trained classifier says yes: chosen on examples that it was not trained on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from governance.softmax import Floats

# What is nearly six times likelier not to be one is not taken for one.
THRESHOLDS = np.round(np.arange(0.15, 0.91, 0.05), 2)
# Missing an instruction loses it, a false one can be retired (REA, section 4.5).
_BETA = 2.0
_RESAMPLES = 500
_SEED = 20261201


def f_scores(said: Floats, true: Floats, weights: Floats, beta: float) -> Floats:
    """F_beta at each of `THRESHOLDS`, every example counted with its weight."""
    yes = said[None] >= THRESHOLDS[:, None]
    hits = (yes & true) @ weights
    found = (1 + beta**2) * hits
    whole = found + beta**2 * ((~yes & true) @ weights) + (yes & ~true) @ weights
    # Nothing to find and nothing found is no merit: a draw may hold nobody who asks.
    scores: Floats = np.divide(found, whole, out=np.zeros_like(found), where=whole > 0)
    return scores


def best_threshold(said: Floats, true: Floats, beta: float = 1.0) -> tuple[float, float]:
    """The best F_beta and its threshold, with what is not positive weighed up to nine tenths of all, as in use."""
    scores = f_scores(said, true, np.where(true, 1.0, 9 * true.sum() / (~true).sum()), beta)
    # Of equals the highest.
    place = len(scores) - 1 - int(scores[::-1].argmax())
    return float(scores[place]), float(THRESHOLDS[place])


def threshold_of(said: Floats, true: Floats) -> float:
    """The threshold of the best F2."""
    score, threshold = best_threshold(said, true, _BETA)
    print(f"  threshold {threshold:.2f}: F2 {score:.4f}", flush=True)
    return threshold


def lowest_threshold(said: Floats, true: Floats, weights: Floats, groups: Sequence[str]) -> float:
    """The lowest threshold whose F2 is within one standard error of the best: what examples cannot tell apart is chosen
    so that less is missed. The rule is CART's (Breiman et al., 1984, section 3.4.3).

    The error is that of the difference, by the bootstrap (Efron, 1979) over `groups`: messages of one writer or speaker
    are alike and no independent draws (Field and Welsh, "Bootstrapping clustered data", 2007).
    """
    scores = f_scores(said, true, weights, _BETA)
    best, draw = int(scores.argmax()), np.random.default_rng(_SEED)
    names = np.array(groups)
    members = [np.flatnonzero(names == name) for name in dict.fromkeys(groups)]
    picked = (draw.integers(len(members), size=len(members)) for _ in range(_RESAMPLES))
    drawn = (np.concatenate([members[group] for group in picks]) for picks in picked)
    resampled = np.array([f_scores(said[rows], true[rows], weights[rows], _BETA) for rows in drawn])
    errors = (resampled[:, [best]] - resampled).std(axis=0)
    place = int(np.argmax(scores[best] - scores <= errors))
    print(
        f"  threshold {THRESHOLDS[place]:.2f}: F2 {scores[best] - scores[place]:.4f} ± {errors[place]:.4f} below the "
        f"best, {scores[best]:.4f} at {THRESHOLDS[best]:.2f}",
        flush=True,
    )
    return float(THRESHOLDS[place])
