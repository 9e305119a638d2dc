"""Low-rank changes of an encoder's matrices. Knows nothing about the encoder.

Source: Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2022 (equation 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Factors = tuple[NDArray[np.float32], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Adapter:
    """Low-rank changes by the name of the matrix: `factors[name]` is (A, B), of shape (r, columns) and (rows, r).

    The matrix W becomes W + scale · B A. A matrix without factors stays as it is.
    """

    scale: float
    factors: Mapping[str, Factors]

    def changed(self, name: str, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        """The matrix of that name with its change added."""
        if name not in self.factors:
            return matrix
        inner, outer = self.factors[name]
        found: NDArray[np.float32] = matrix + np.float32(self.scale) * (outer @ inner)
        return found
