"""Equations (13) to (15) of the paper, corrections, and agreement between reviewers, against hand-computed values."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from arpm.audit.agreement import agreement, cohen_kappa, fleiss_kappa, pair_of
from arpm.audit.review import (
    VERDICTS,
    Judged,
    Verdict,
    auto_correct,
    csv_rolling_accuracy,
    final_correct,
    manual_rolling_accuracy,
    report,
)


def judged(round: int, verdicts: str, automatic: bool | None, *, pending: bool = False) -> Judged:
    """A round from two letters, support and correctness: y, n or u."""
    words: dict[str, Verdict] = {"y": "yes", "n": "no", "u": "unsure"}
    return Judged(round, words[verdicts[0]], words[verdicts[1]], automatic, pending)


class TestEquations:
    def test_final_correct_is_one_only_where_both_are(self) -> None:
        right = [pair for pair in product(VERDICTS, VERDICTS) if final_correct(*pair)]
        assert right == [("yes", "yes")]

    @pytest.mark.parametrize("rolling", [csv_rolling_accuracy, manual_rolling_accuracy])
    def test_rolling_accuracy(self, rolling: type) -> None:
        marks = [True, False, False, True, True]
        assert rolling(marks) == [1.0, 1 / 2, 1 / 3, 2 / 4, 3 / 5]
        assert rolling([]) == []

    def test_auto_correct_of_a_rule_with_one_side_or_two(self) -> None:
        assert [auto_correct(True, None), auto_correct(None, False), auto_correct(True, False)] == [True, False, False]
        assert auto_correct(True, True) is True
        assert auto_correct(None, None) is None


class TestReport:
    def test_corrections_go_both_ways(self) -> None:
        rows = [judged(4, "yn", True), judged(1, "yy", True), judged(3, "uy", False), judged(2, "yy", False)]
        found = report(rows)
        assert (found.rounds, found.judged) == (4, 4)
        assert (found.automatic_correct, found.automatic_accuracy) == (2, 0.5)
        assert (found.manual_correct, found.manual_accuracy) == (2, 0.5)
        assert (found.zero_to_one, found.one_to_zero, found.pending) == ((2,), (4,), (3,))
        assert [(p.round, p.automatic, p.manual) for p in found.curve] == [
            (1, 1.0, 1.0),
            (2, 0.5, 1.0),
            (3, 1 / 3, 2 / 3),
            (4, 0.5, 0.5),
        ]

    def test_rounds_without_an_automatic_judgement_are_not_counted_as_wrong(self) -> None:
        found = report([judged(1, "yy", None), judged(2, "yy", True), judged(5, "nn", None)])
        assert (found.rounds, found.judged, found.automatic_accuracy) == (3, 1, 1.0)
        assert [point.automatic for point in found.curve] == [None, 1.0, 1.0]
        assert (found.zero_to_one, found.one_to_zero) == ((), ())

    def test_nothing_reviewed(self) -> None:
        found = report([])
        assert (found.rounds, found.automatic_accuracy, found.manual_accuracy, found.curve) == (0, None, None, ())

    def test_pending_is_what_somebody_marked_or_is_unsure_of(self) -> None:
        rows = [judged(1, "yy", None, pending=True), judged(2, "yu", None), judged(3, "nn", None)]
        assert report(rows).pending == (1, 2)


class TestCohen:
    @pytest.mark.parametrize(
        ("table", "kappa"),
        [
            # p_o = 35/50, p_e = 1/2.
            ([[20, 5], [10, 15]], Fraction(2, 5)),
            # p_o = 60/100, p_e = 54/100.
            ([[45, 15], [25, 15]], Fraction(6, 46)),
            # p_o = 7/10, p_e = (9 + 16 + 9)/100.
            ([[2, 1, 0], [0, 3, 1], [1, 0, 2]], Fraction(36, 66)),
            ([[5, 0], [0, 5]], Fraction(1)),
            ([[0, 5], [5, 0]], Fraction(-1)),
            # One of them always says the same: no better than chance.
            ([[40, 0], [10, 0]], Fraction(0)),
        ],
    )
    def test_against_hand(self, table: list[list[int]], kappa: Fraction) -> None:
        assert cohen_kappa(table) == pytest.approx(float(kappa), abs=1e-15)

    def test_undefined_where_chance_alone_agrees_always(self) -> None:
        assert cohen_kappa([[50, 0], [0, 0]]) is None
        assert cohen_kappa([[0, 0], [0, 0]]) is None

    def test_only_what_both_rated_counts(self) -> None:
        ratings = {
            "Ada": {"1": "yes", "2": "no", "3": "yes", "4": "unsure"},
            "陈": {"1": "yes", "2": "yes", "3": "yes", "5": "no"},
        }
        pair = pair_of(ratings, "Ada", "陈", VERDICTS)
        assert (pair.items, pair.table) == (3, ((2, 0, 0), (1, 0, 0), (0, 0, 0)))
        assert (pair.observed, pair.kappa) == (2 / 3, 0.0)


class TestFleiss:
    def test_against_hand(self) -> None:
        # P = (1 + 1/3)/2 = 2/3; P_e = (4/6)² + (2/6)² = 5/9.
        assert fleiss_kappa([[3, 0], [1, 2]]) == pytest.approx(1 / 4, abs=1e-15)

    def test_the_example_of_his_article_as_it_is_usually_printed(self) -> None:
        counts = [
            [0, 0, 0, 0, 14],
            [0, 2, 6, 4, 2],
            [0, 0, 3, 5, 6],
            [0, 3, 9, 2, 0],
            [2, 2, 8, 1, 1],
            [7, 7, 0, 0, 0],
            [3, 2, 6, 3, 0],
            [2, 5, 3, 2, 2],
            [6, 5, 2, 1, 0],
            [0, 2, 2, 3, 7],
        ]
        assert fleiss_kappa(counts) == pytest.approx(0.20993, abs=5e-6)

    def test_undefined_and_impossible(self) -> None:
        assert fleiss_kappa([]) is None
        assert fleiss_kappa([[3, 0], [3, 0]]) is None
        with pytest.raises(ValueError, match="same number"):
            fleiss_kappa([[3, 0], [2, 0]])

    def test_three_raters_pairs_mean_and_fleiss(self) -> None:
        ratings = {
            "a": {"1": "yes", "2": "yes", "3": "no", "4": "no"},
            "b": {"1": "yes", "2": "yes", "3": "no", "4": "no"},
            "c": {"1": "yes", "2": "no", "3": "no", "4": "yes", "5": "yes"},
        }
        found = agreement(ratings, VERDICTS)
        assert found.raters == ("a", "b", "c")
        assert [(pair.first, pair.second, pair.kappa) for pair in found.pairs] == [
            ("a", "b", 1.0),
            ("a", "c", 0.0),
            ("b", "c", 0.0),
        ]
        assert found.mean_kappa == pytest.approx(1 / 3)
        # P = (1 + 1/3 + 1 + 1/3)/4 = 2/3; P_e = 1/2.
        assert (found.fleiss_items, found.fleiss_kappa) == (4, pytest.approx(1 / 3))
