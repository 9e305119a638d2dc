"""Measures of retrieval against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from arpm.experiments.retrieval_metrics import (
    bars,
    estimate,
    estimates,
    grouped,
    measures_table,
    paired_difference,
    prompt_scores,
    retrieval_scores,
)


class TestScores:
    def test_by_hand(self) -> None:
        scores = retrieval_scores(["x", "a", "y", "z", "w", "b"], {"a", "b", "c"})
        assert (scores["recall@1"], scores["hit@1"]) == (0, 0)
        assert scores["recall@5"] == pytest.approx(1 / 3)
        assert scores["recall@10"] == pytest.approx(2 / 3)
        assert scores["hit@5"] == 1
        assert scores["mrr"] == 1 / 2
        best = 1 + 1 / math.log2(3) + 1 / math.log2(4)
        assert scores["ndcg@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(7)) / best)

    def test_nothing_found_is_zero_and_everything_first_is_one(self) -> None:
        assert set(retrieval_scores([], {"a"}).values()) == {0.0}
        assert set(retrieval_scores(["a"], ["a", "a"]).values()) == {1.0}

    def test_without_gold_there_is_no_score(self) -> None:
        """Bug class: questions without evidence count as missed, or as found."""
        with pytest.raises(ValueError, match="gold"):
            retrieval_scores(["a"], ())

    @pytest.mark.parametrize(("shown", "any_of_it", "all_of_it"), [("", 0, 0), ("a", 1, 0), ("ba", 1, 1)])
    def test_in_the_prompt(self, shown: str, any_of_it: int, all_of_it: int) -> None:
        scores = prompt_scores(list(shown), ["a", "b"])
        assert list(scores.values()) == [any_of_it, all_of_it]


class TestIntervals:
    def test_the_same_values_give_the_same_interval_around_their_mean(self) -> None:
        values = [0.0, 1.0] * 50
        found = estimate(values)
        assert found is not None
        assert found == estimate(values)
        assert found.mean == 0.5
        # The normal approximation of a share of one half among a hundred.
        assert found.low == pytest.approx(0.5 - 1.96 * 0.05, abs=0.02)
        assert found.high == pytest.approx(0.5 + 1.96 * 0.05, abs=0.02)

    def test_of_one_value_and_of_none(self) -> None:
        found = estimate([0.3])
        assert found is not None
        assert (found.mean, found.low, found.high, found.count) == (0.3, 0.3, 0.3, 1)
        assert estimate([]) is None

    def test_pairs_see_a_small_difference_in_noisy_values(self) -> None:
        theirs = [place % 7 / 7 for place in range(70)]
        difference = paired_difference([value + 0.01 for value in theirs], theirs)
        assert difference is not None
        assert difference.low == pytest.approx(0.01)
        with pytest.raises(ValueError, match=r"shorter|longer"):
            paired_difference([1.0], [1.0, 2.0])

    def test_a_measure_counts_the_rows_that_have_it(self) -> None:
        found = estimates([{"a": 1.0}, {"a": 0.0, "b": 1.0}], ["a", "b", "c"])
        assert {name: value.count for name, value in found.items()} == {"a": 2, "b": 1}


def test_groups_keep_their_order_and_tables_show_empty_ones() -> None:
    assert grouped(["b1", "a1", "b2"], lambda word: word[0]) == {"b": ["b1", "b2"], "a": ["a1"]}
    table = measures_table("Title", {"some": [{"a": 1.0}], "none": []}, ["a"])
    assert table.rows == (("some", 1, "1.000 (1.000–1.000)"), ("none", 0, None))


def test_bars_leave_room_for_what_is_missing() -> None:
    found = estimates([{"a": 1.0}, {"a": 0.0}], ["a"])
    figure = bars("Title", "share", {"one": {"x": found["a"], "y": found["a"]}, "two": {"y": found["a"]}})
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["x", "y"]
    assert len(figure.axes[0].patches) == 3
