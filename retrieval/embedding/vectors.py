"""Small operations on rows of vectors that every embedder ends with. Knows nothing about texts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from retrieval.embedding.base import Vectors


def unit_rows(rows: NDArray[np.floating]) -> Vectors:
    """Divide each row by its L2 norm. Takes shape (n, dimension), returns contiguous float32 of the same shape.

    The norm is taken in float64, so that a unit row stays one to the last bit of float32. Rows must not be zero.
    """
    wide = np.asarray(rows, dtype=np.float64)
    norms = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    return np.ascontiguousarray(wide / norms[:, None], dtype=np.float32)
