"""From which probability a trained classifier says yes: chosen on examples that it was not trained on."""

from __future__ import annotations

import numpy as np

from governance.softmax import Floats


def best_threshold(said: Floats, true: Floats, beta: float = 1.0) -> tuple[float, float]:
    """The best F_beta and its threshold, with what is not positive weighed up to nine tenths of all, as in use."""
    weight = 9 * true.sum() / (~true).sum()
    best = (-1.0, 0.5)
    for threshold in np.arange(0.2, 0.91, 0.05):
        hits = float(((said >= threshold) & true).sum())
        false = float(((said >= threshold) & ~true).sum()) * weight
        missed = float(((said < threshold) & true).sum())
        score = (1 + beta**2) * hits / ((1 + beta**2) * hits + beta**2 * missed + false)
        best = max(best, (score, float(round(threshold, 2))))
    return best


def threshold_of(said: Floats, true: Floats) -> float:
    """Missing an instruction loses it, a false one can be retired (REA, section 4.5): so the best F2."""
    score, threshold = best_threshold(said, true, 2.0)
    print(f"  threshold {threshold:.2f}: F2 {score:.4f}", flush=True)
    return threshold
