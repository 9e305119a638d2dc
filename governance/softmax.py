"""A multinomial logistic regression with its weights in a file: what the classifiers of governance have in common.

Weights belong to an embedder by name. They are plain arrays, read without pickle and trained by
`python -m benchmarks.training`. Knows nothing about texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Softmax:
    """Classes `kinds`, weights of shape (len(kinds), features), bias of shape (len(kinds),).

    `embedder` is the name of the embedder whose vectors it was trained on, `cues` the names
    of the features behind them, `examples` the digest of the examples, and `threshold` what was chosen by examples that
    it was not trained on.
    """

    embedder: str
    kinds: tuple[str, ...]
    cues: tuple[str, ...]
    weights: Floats
    bias: Floats
    threshold: float
    examples: str

    def probabilities(self, features: Floats) -> Floats:
        """P(kind | features), shape (n, len(kinds)), for features of shape (n, vector and cues)."""
        scores = features @ self.weights.T + self.bias
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities: Floats = powers / powers.sum(axis=1, keepdims=True)
        return probabilities


# Unit vectors have small members: weighed up, so that one penalty serves them and the cues, which are 0 or 1.
_VECTOR_SCALE = 8.0


def features_of(vectors: Floats, cues: Floats) -> Floats:
    """Features of n texts: vectors of shape (n, dimension) beside cues of shape (n, number of cues)."""
    features: Floats = np.concatenate([vectors * _VECTOR_SCALE, cues], axis=1, dtype=np.float32)
    return features


@cache
def load_softmax(name: str) -> Softmax:
    """The packaged weights `name`. Raises FileNotFoundError when the package lacks them."""
    with as_file(files("governance") / "weights" / f"{name}.npz") as path, np.load(path, allow_pickle=False) as held:
        return Softmax(
            embedder=str(held["embedder"]),
            kinds=tuple(str(kind) for kind in held["kinds"]),
            cues=tuple(str(cue) for cue in held["cues"]),
            weights=held["weights"].astype(np.float32),
            bias=held["bias"].astype(np.float32),
            threshold=float(held["threshold"]),
            examples=str(held["examples"]),
        )
