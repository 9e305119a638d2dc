"""The search over constants: the product's ranking, chosen on one half and reported on the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arpm.experiments import scoring
from arpm.experiments.base import Result, file_digest
from arpm.experiments.locomo import memory_of, read_talks
from arpm.experiments.memories import VARIANTS, Laboratory
from tests.experiments import data_sets


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole conversations of ours, few settings, two corrections."""
    monkeypatch.setattr(scoring, "CORRECTIONS", (scoring.CORRECTIONS[0], scoring.CORRECTIONS[-1]))


def searched(data: Path, out: Path, **options: Any) -> Result:
    return scoring.run(data_sets.a_run("scoring", data, out, quick=True, **options))


def test_halves_are_disjoint_and_whole_and_depend_on_the_seed() -> None:
    assert scoring.halves(10, 0) == ([0, 1, 2, 3, 4], [5, 6, 7, 8, 9])
    for seed in range(1, 5):
        searched, reported = scoring.halves(10, seed)
        assert sorted(searched + reported) == list(range(10))
        assert (searched, reported) == scoring.halves(10, seed)
    assert scoring.halves(10, 1) != scoring.halves(10, 2)


def test_the_grids_hold_what_is_shipped() -> None:
    shipped = VARIANTS["default"].as_dict()
    assert {name: shipped[name] for name in scoring.DECAY} in scoring.grid(scoring.DECAY)
    tried = scoring.fusions(scoring.FUSIONS)
    assert {name: shipped[name] for name in tried[-1]} in tried


def test_the_ranking_is_that_of_the_product(tmp_path: Path) -> None:
    """Bug class: constants are tuned on a copy of the ranking that has drifted from the one people get."""
    run = data_sets.a_run("scoring", data_sets.locomo(tmp_path / "data"), tmp_path / "out")
    file = run.source("locomo", "locomo10.json", about="")
    talks = read_talks(file)
    with Laboratory(run) as laboratory:
        bench = scoring.Bench(run, laboratory, talks, file_digest(file))
        configs = [*VARIANTS.values(), VARIANTS["default"].changed({"history_rrf_k": 60.0})]
        for config in configs:
            for one in bench.asked(0):
                found = bench.candidates(one, config)
                looked = memory_of(laboratory, talks[0]).look(one.question.text, talks[0].asked_at, config)
                assert scoring.ranked(one, found, config) == list(looked.ranked)


def test_nothing_is_chosen_on_the_half_that_is_reported(tmp_path: Path) -> None:
    data = data_sets.locomo(tmp_path / "data")
    before = searched(data, tmp_path / "one").numbers["seed 0"]
    file = data / "locomo" / "locomo10.json"
    talks = json.loads(file.read_text("utf-8"))
    for question in talks[1]["qa"]:
        question["evidence"] = ["D1:1"]
    file.write_text(json.dumps(talks), "utf-8")
    after = searched(data, tmp_path / "two").numbers["seed 0"]
    assert before["searched on"] == ["conv-0"]
    for chosen in ("chosen", "fusion", "decay"):
        assert before[chosen] == after[chosen]
    assert before["held out"] != after["held out"]


def test_what_is_chosen_keeps_corrections_first() -> None:
    judged = [({"x": 1.0}, 0.9, 0.1), ({"x": 2.0}, 0.8, 0.8), ({"x": 3.0}, 0.7, 0.9), ({"x": 4.0}, 0.1, 1.0)]
    assert scoring._careful(judged, 0.8) == {"x": 2.0}
    assert scoring._careful(judged, 0.85) == {"x": 3.0}
    # Where nothing reaches the bar, what comes nearest.
    assert scoring._careful(judged[:2], 0.95) == {"x": 2.0}


def test_differences_are_paired_and_a_second_run_measures_nothing(tmp_path: Path) -> None:
    data = data_sets.locomo(tmp_path / "data")
    first = searched(data, tmp_path / "out", seeds=2)
    assert set(first.numbers) == {"seed 0", "seed 1"}
    differences = first.numbers["seed 0"]["difference from shipped"]
    assert {value["count"] for value in differences["shipped, decay off"].values()} == {5}
    said: list[str] = []
    again = searched(data, tmp_path / "out", seeds=2, progress=lambda what, done, of: said.append(what))
    assert again.numbers == first.numbers
    assert "loading the embedder" not in said
