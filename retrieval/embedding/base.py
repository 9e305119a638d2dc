"""What an embedder is, behind the method names of sentence-transformers.

Knows nothing about indexes, caches or memories.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into unit vectors.

    `name` identifies model, weights and precision: vectors of different names are never compared or mixed.
    `c0` is the model's mean cosine of unrelated texts, which `retrieval.fusion.calibrated_similarity` subtracts.
    """

    name: str
    dimension: int
    c0: float

    def encode_query(self, texts: Sequence[str]) -> Vectors:
        """Embed questions. Returns float32 of shape (len(texts), dimension), each row of L2 norm 1."""
        ...

    def encode_document(self, texts: Sequence[str]) -> Vectors:
        """Embed memories. Returns float32 of shape (len(texts), dimension), each row of L2 norm 1."""
        ...
