"""The formulas between ranks and base scores, and the shared steps of both routes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.bm25 import BM25Hits
from retrieval.fusion import (
    calibrated_similarity,
    convex_score,
    lent_by_neighbours,
    lowered_to_one,
    nearness_to_best,
    normalised_by_maximum,
    reciprocal_rank_fusion,
)
from retrieval.lanes import POOL, Lane, Lexical, best, fused, ranks_by_key


class TestReciprocalRankFusion:
    def test_ranks_count_from_zero(self) -> None:
        """Paper equation 3: the best of a lane scores 1/61 at k = 60."""
        assert reciprocal_rank_fusion([0], 60) == pytest.approx(1 / 61)
        assert reciprocal_rank_fusion([0, 2], 60) == pytest.approx(1 / 61 + 1 / 63)
        assert reciprocal_rank_fusion([], 60) == 0

    def test_lanes_are_joined_by_key(self) -> None:
        ranks = ranks_by_key([Lane("vector", [4, 2]), Lane("bm25", [2, 9])])
        assert ranks == {4: {"vector": 0}, 2: {"vector": 1, "bm25": 0}, 9: {"bm25": 1}}
        assert next(iter(best(fused(ranks, 60)))) == 2


class TestNormalising:
    def test_the_best_becomes_one(self) -> None:
        assert normalised_by_maximum({"a": 2.0, "b": 1.0}) == {"a": 1.0, "b": 0.5}

    @pytest.mark.parametrize("scores", [{}, {"a": 0.0}, {"a": -1.0}])
    def test_no_positive_maximum_gives_zeros(self, scores: dict[str, float]) -> None:
        assert normalised_by_maximum(scores) == dict.fromkeys(scores, 0.0)

    def test_bonuses_are_lowered_to_one_only_where_they_rise_above(self) -> None:
        assert lowered_to_one({"a": 0.5, "b": 0.9}) == {"a": 0.5, "b": 0.9}
        assert lowered_to_one({"a": 0.5, "b": 2.0}) == {"a": 0.25, "b": 1.0}
        assert lowered_to_one({}) == {}


class TestCalibration:
    def test_without_a_base_line_it_is_the_clipped_cosine(self) -> None:
        assert [calibrated_similarity(cosine, 0.0) for cosine in (-0.5, 0.4, 1.2)] == [0.0, 0.4, 1.0]

    def test_unrelated_texts_of_a_model_count_as_nothing(self) -> None:
        """Some models put unrelated texts at cosine 0.7, where a threshold of 0.5 means nothing."""
        assert calibrated_similarity(0.7, 0.7) == 0.0
        assert calibrated_similarity(0.85, 0.7) == pytest.approx(0.5)

    @given(st.floats(-1, 1), st.floats(0, 0.99))
    def test_it_stays_between_zero_and_one(self, cosine: float, c0: float) -> None:
        assert 0 <= calibrated_similarity(cosine, c0) <= 1


class TestNeighbours:
    def test_a_turn_lends_to_the_turns_beside_it(self) -> None:
        lent = lent_by_neighbours({1: 1.0, 2: 0.4}, {1: [0, 2], 2: [1, 3]}, 0.5)
        assert lent == pytest.approx({0: 0.5, 1: 1.2, 2: 0.9, 3: 0.2})

    def test_lending_is_not_passed_on(self) -> None:
        assert 2 not in lent_by_neighbours({0: 1.0}, {0: [1], 1: [0, 2]}, 0.5)

    def test_a_share_of_nothing_changes_nothing(self) -> None:
        assert lent_by_neighbours({1: 1.0}, {}, 0.0) == {1: 1.0}


class TestLanes:
    def test_the_pool_keeps_the_best_and_the_newer_of_equals(self) -> None:
        scores = best(dict.fromkeys(range(POOL + 10), 1.0) | {3: 2.0})
        assert list(scores)[:3] == [3, POOL + 9, POOL + 8]
        assert len(scores) == POOL and 0 not in scores

    def test_lexical_scores_are_found_by_key(self) -> None:
        hits = BM25Hits(np.array([2, 5, 9]), np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3]))
        lexical = Lexical.of(hits, [9, 4, 2, 11])
        assert lexical.scores == {9: 3.0, 2: 1.0}
        assert lexical.coverage == {9: 0.3, 2: 0.1}
        assert Lexical.of(hits, []).scores == {}


class TestConvexCombination:
    def test_scores_are_weighed_against_the_turns_own_similarity(self) -> None:
        assert convex_score(0.5, 0.4, 0.3, context_weight=2.0, words_weight=0.5) == pytest.approx(0.5 + 0.8 + 0.15)

    def test_nearness_is_one_for_the_best_and_falls_by_e_for_each_width(self) -> None:
        found = nearness_to_best({1: 2.0, 2: 1.7, 3: 1.4}, width=0.3)
        assert found == {1: 1.0, 2: pytest.approx(1 / np.e), 3: pytest.approx(1 / np.e**2)}
        assert nearness_to_best({}, 0.3) == {}

    @given(st.dictionaries(st.integers(), st.floats(-10, 10), max_size=20), st.floats(0.01, 10))
    def test_nearness_keeps_the_order_and_stays_between_zero_and_one(
        self, scores: dict[int, float], width: float
    ) -> None:
        near = nearness_to_best(scores, width)
        assert all(0 <= value <= 1 for value in near.values())
        assert all(near[a] >= near[b] for a in scores for b in scores if scores[a] >= scores[b])
