"""A flat inner-product index (FAISS) over unit vectors, under keys that are given once and never reused.

Keys are explicit, so a second document, a removal or an addition in between can never shift another vector's key.
What it returns depends on the vectors and keys it holds and not on how they came in, which replay relies on. Knows
nothing about texts or embedders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import faiss
import numpy as np
from numpy.typing import NDArray

from retrieval.bm25 import top
from retrieval.embedding.base import Vectors

# From so many vectors on, searching several indexes side by side pays for the threads.
_SIDE_BY_SIDE = 20_000

# FAISS sums in single precision, in an order that differs between processors, and of equals keeps those it met first.
# So more hits than asked for are ranked anew in double precision, until the last one is out of rounding's reach.
_SLACK = 32
_ROUNDING = 1e-5


class VectorIndex:
    """Exact nearest neighbours by inner product (paper equation 1)."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._index = faiss.IndexFlatIP(dimension)
        self._keys = np.zeros(0, dtype=np.int64)  # the key of every row; always rising

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, keys: Sequence[int], vectors: Vectors) -> None:
        """Add vectors of shape (len(keys), dimension). ValueError unless the keys rise above all that are there."""
        if vectors.shape != (len(keys), self.dimension):
            raise ValueError(f"expected vectors of shape ({len(keys)}, {self.dimension}), got {vectors.shape}")
        grown = np.concatenate([self._keys, np.asarray(keys, dtype=np.int64)])
        if (np.diff(grown[max(len(self) - 1, 0) :]) <= 0).any():
            raise ValueError("vector keys must rise: a key is given once and never reused")
        if len(keys):
            self._index.add(np.ascontiguousarray(vectors, dtype=np.float32))
            self._keys = grown

    def replace(self, key: int, vector: Vectors) -> None:
        """Overwrite the vector of `key`, of shape (dimension,). KeyError if absent."""
        self._rows()[self._places([key])[0]] = vector

    def remove(self, keys: Sequence[int]) -> None:
        """Remove vectors. KeyError if one is absent; then nothing is removed."""
        if len(keys):
            places = self._places(keys)
            self._index.remove_ids(faiss.IDSelectorBatch(places))
            self._keys = np.delete(self._keys, places)

    def nearest(self, query: Vectors, depth: int) -> list[int]:
        """The keys of the `depth` vectors of largest inner product with `query` (shape (dimension,)), best first.

        Ranked by `cosines`; of equals the newer key comes first.
        """
        if not len(self):
            return []
        wanted = depth + _SLACK
        while True:
            with _one_thread():
                scores, places = self._index.search(query.reshape(1, -1), min(wanted, len(self)))
            if wanted >= len(self) or scores[0, depth - 1] - scores[0, -1] > _ROUNDING:
                break
            wanted *= 2
        keys = self._keys[places[0]]
        return top(keys, self.cosines(query, keys), depth)

    def cosines(self, query: Vectors, keys: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
        """Inner products of `query` with the vectors of `keys`, in that order and in double precision.

        FAISS's own sums depend on its blocking; these do not, so a replay gets the same numbers. KeyError if a key
        is absent.
        """
        if not len(keys):
            return np.zeros(0)
        rows = self._rows()[self._places(keys)].astype(np.float64)
        return np.asarray((rows * query.astype(np.float64)).sum(axis=1))

    def vector(self, key: int) -> Vectors:
        """A copy of the vector of `key`, of shape (dimension,). KeyError if absent."""
        row: Vectors = self._rows()[self._places([key])[0]]
        return row.copy()

    def _places(self, keys: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        wanted = np.asarray(keys, dtype=np.int64)
        places = np.searchsorted(self._keys, wanted)
        inside = places < len(self)
        if not inside.all() or (self._keys[places] != wanted).any():
            raise KeyError(f"no vector under one of the keys {wanted.tolist()}")
        return places

    def _rows(self) -> Vectors:
        """FAISS's own matrix, of shape (len(self), dimension): a view that the next addition or removal invalidates."""
        if not len(self):
            return np.zeros((0, self.dimension), dtype=np.float32)
        flat: Vectors = faiss.rev_swig_ptr(self._index.get_xb(), len(self) * self.dimension)
        return flat.reshape(len(self), self.dimension)


def nearest_in_each(indexes: Sequence[VectorIndex], query: Vectors, depth: int) -> list[list[int]]:
    """`nearest` of each index, on a thread each where they are large: FAISS searches without Python's lock."""
    if sum(map(len, indexes)) < _SIDE_BY_SIDE:
        return [index.nearest(query, depth) for index in indexes]
    with ThreadPoolExecutor(len(indexes)) as pool:
        return list(pool.map(lambda index: index.nearest(query, depth), indexes))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Search on this thread alone: beside a busy model, FAISS's threads wait for each other longer than they search."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
