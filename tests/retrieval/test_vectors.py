"""The vector index: exact, under keys of its own, the same however it came to be."""

from __future__ import annotations

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from retrieval.embedding.base import Vectors
from retrieval.vectors import VectorIndex, nearest_in_each

DIMENSION = 16


def unit(seed: int, rows: int) -> Vectors:
    drawn = np.random.default_rng(seed).standard_normal((rows, DIMENSION)).astype(np.float32)
    result: Vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return result


def filled(rows: int = 300) -> tuple[VectorIndex, Vectors]:
    index, vectors = VectorIndex(DIMENSION), unit(1, rows)
    index.add(range(rows), vectors)
    return index, vectors


class TestSearch:
    def test_nearest_are_the_largest_inner_products_in_order(self) -> None:
        index, vectors = filled()
        for query in unit(2, 10):
            expected = np.argsort(-(vectors.astype(np.float64) @ query.astype(np.float64)))[:20]
            assert index.nearest(query, 20) == expected.tolist()

    def test_cosines_come_in_the_order_asked_for_and_in_double_precision(self) -> None:
        index, vectors = filled()
        query = unit(2, 1)[0]
        keys = [7, 3, 250, 3]
        expected = (vectors[keys].astype(np.float64) * query.astype(np.float64)).sum(axis=1)
        assert_array_equal(index.cosines(query, keys), expected)

    def test_of_equal_vectors_the_newer_comes_first_wherever_the_border_lies(self) -> None:
        """FAISS keeps whichever of equals it met first, so the older of two identical memories won."""
        index = VectorIndex(DIMENSION)
        index.add(range(50), np.repeat(unit(3, 1), 50, axis=0))
        assert index.nearest(unit(3, 1)[0], 3) == [49, 48, 47]

    def test_an_empty_index_finds_nothing(self) -> None:
        assert VectorIndex(DIMENSION).nearest(unit(1, 1)[0], 5) == []
        assert VectorIndex(DIMENSION).cosines(unit(1, 1)[0], []).tolist() == []

    @pytest.mark.parametrize("rows", [100, 12_000])
    def test_several_indexes_are_searched_as_one_after_the_other(self, rows: int) -> None:
        indexes = [VectorIndex(DIMENSION), VectorIndex(DIMENSION)]
        for seed, index in enumerate(indexes):
            index.add(range(rows), unit(seed, rows))
        query = unit(9, 1)[0]
        assert nearest_in_each(indexes, query, 10) == [index.nearest(query, 10) for index in indexes]

    def test_searching_leaves_faiss_its_threads(self) -> None:
        before = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(2)
        filled()[0].nearest(unit(2, 1)[0], 5)
        assert faiss.omp_get_max_threads() == 2
        faiss.omp_set_num_threads(before)


class TestKeys:
    @settings(max_examples=40, deadline=None)
    @given(data=st.data())
    def test_any_history_of_changes_equals_a_fresh_index(self, data: st.DataObject) -> None:
        index, now = VectorIndex(DIMENSION), dict[int, Vectors]()
        key = 0
        for step in range(data.draw(st.integers(1, 8))):
            change = data.draw(st.sampled_from(["add", "remove", "replace"]))
            if change == "add":
                vectors = unit(step, data.draw(st.integers(0, 5)))
                index.add(range(key, key + len(vectors)), vectors)
                now |= dict(zip(range(key, key + len(vectors)), vectors, strict=True))
                key += len(vectors) + data.draw(st.integers(0, 2))
            elif now and change == "remove":
                gone = data.draw(st.sets(st.sampled_from(sorted(now)), min_size=1))
                index.remove(sorted(gone))
                now = {k: vector for k, vector in now.items() if k not in gone}
            elif now:
                chosen = data.draw(st.sampled_from(sorted(now)))
                now[chosen] = unit(100 + step, 1)[0]
                index.replace(chosen, now[chosen])
        fresh = VectorIndex(DIMENSION)
        fresh.add(list(now), np.array(list(now.values()), dtype=np.float32).reshape(-1, DIMENSION))
        query = unit(999, 1)[0]
        assert len(index) == len(now)
        assert index.nearest(query, 10) == fresh.nearest(query, 10)
        assert_array_equal(index.cosines(query, list(now)), fresh.cosines(query, list(now)))

    def test_keys_only_rise(self) -> None:
        index, _ = filled(10)
        for keys in ([9], [3], [11, 10], [12, 12]):
            with pytest.raises(ValueError, match="keys must rise"):
                index.add(keys, unit(5, len(keys)))
        assert len(index) == 10

    @pytest.mark.parametrize("keys", [[5000], [3, 5000], [-1]])
    def test_an_absent_key_is_an_error_and_changes_nothing(self, keys: list[int]) -> None:
        index, _ = filled(10)
        with pytest.raises(KeyError, match="no vector under one of the keys"):
            index.remove(keys)
        with pytest.raises(KeyError):
            index.cosines(unit(1, 1)[0], keys)
        assert len(index) == 10

    def test_vectors_of_another_shape_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"expected vectors of shape \(2, 16\)"):
            VectorIndex(DIMENSION).add([0, 1], unit(1, 3))
