"""PrecisionMemBench: what its measures count, and that users and scopes stay apart."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from arpm.errors import InputError
from arpm.experiments import precision
from arpm.experiments.precision import Belief, Case, case_scores
from tests.experiments import data_sets

AT = datetime(2026, 1, 1, tzinfo=UTC)
BELIEFS = [
    Belief("old", "u", ("code",), "", AT, True, "new"),
    Belief("new", "u", ("code",), "", AT, False, None),
    Belief("tone", "u", (precision.UNIVERSAL,), "", AT, False, None),
    Belief("home", "u", ("home",), "", AT, False, None),
    Belief("theirs", "v", ("code",), "", AT, False, None),
]
CASE = Case("c", "Ours", "u", "code", "editor", None, ("new",), (), ())


class TestMeasures:
    def test_exactly_what_is_relevant(self) -> None:
        scores = case_scores(CASE, BELIEFS, ["new"], ["new"])
        assert scores == {"must include": 1, "precision": 1, "no old fact": 1, "isolation": 1, "passed": 1}

    def test_noise_costs_precision_and_the_pass(self) -> None:
        scores = case_scores(CASE, BELIEFS, ["new", "tone"], ["new", "tone"])
        assert (scores["precision"], scores["must include"], scores["passed"]) == (0.5, 1, 0)

    def test_an_old_fact_is_seen_and_ranked_against_its_successor(self) -> None:
        scores = case_scores(CASE, BELIEFS, ["new", "old"], ["new", "old"])
        assert (scores["no old fact"], scores["current first"], scores["passed"]) == (0, 1, 0)
        assert case_scores(CASE, BELIEFS, ["old", "new"], ["new"])["current first"] == 0

    @pytest.mark.parametrize("foreign", ["home", "theirs"])
    def test_another_scope_or_user_breaks_isolation(self, foreign: str) -> None:
        assert case_scores(CASE, BELIEFS, [foreign], [foreign])["isolation"] == 0

    def test_nothing_allowed_wants_silence(self) -> None:
        empty = replace(CASE, relevant=())
        assert case_scores(empty, BELIEFS, ["tone"], []) == {"no old fact": 1, "isolation": 1, "silent": 1, "passed": 1}
        assert case_scores(empty, BELIEFS, ["tone"], ["tone"])["silent"] == 0

    def test_pinned_facts_must_be_shown_for_a_pass(self) -> None:
        pinned = replace(CASE, relevant=(), pinned=("new",))
        assert case_scores(pinned, BELIEFS, [], [])["passed"] == 0
        assert case_scores(pinned, BELIEFS, ["new"], ["new"])["passed"] == 1

    def test_what_must_be_excluded(self) -> None:
        excluding = replace(CASE, excluded=("tone",))
        assert case_scores(excluding, BELIEFS, ["new"], ["new"])["must exclude"] == 1
        assert case_scores(excluding, BELIEFS, ["new"], ["new", "tone"])["must exclude"] == 0


def test_old_beliefs_are_measured_both_left_in_and_put_away(tmp_path: Path) -> None:
    result = precision.run(data_sets.a_run("precision", data_sets.precision(tmp_path / "data"), tmp_path / "out"))
    # A case without words is not asked, and said so.
    assert (result.numbers["cases"], result.numbers["cases left out"]) == (3, 1)
    groups = result.numbers["groups"]
    assert groups["gate off, left among the others"]["no old fact"]["mean"] < 1
    assert groups["gate off, in quarantine"]["no old fact"]["mean"] == 1
    assert groups["gate off, in quarantine"]["must include"]["mean"] == 1
    assert {group["isolation"]["mean"] for group in groups.values()} == {1}


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    data = data_sets.precision(tmp_path / "data")
    file = data / "precisionmembench" / "retrieval.cases.json"
    file.write_text(file.read_text("utf-8").replace('"query"', '"asked"', 1), "utf-8")
    with pytest.raises(InputError, match="case 1: KeyError: 'query'"):
        precision.run(data_sets.a_run("precision", data, tmp_path / "out"))


def test_on_the_public_data(tmp_path: Path) -> None:
    data = data_sets.needs("precisionmembench")
    numbers = precision.run(data_sets.a_run("precision", data, tmp_path / "out", quick=True)).numbers
    assert numbers["cases left out"] >= 4
    assert {group["isolation"]["mean"] for group in numbers["groups"].values()} == {1}
