"""`arpm quarantine`: by id, rounds, model or session, and back."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Arpm


def test_a_range_of_rounds_and_back(arpm: Arpm, timeline: str) -> None:
    assert "1 would be put in quarantine" in arpm("quarantine", timeline, "--rounds", "1", "--dry-run").stderr
    (row,) = arpm.json("quarantine", timeline, "--rounds", "1-1", "--reason", "wrong")
    assert row["round"] == 1
    assert arpm.json("quarantine", timeline) == [row]
    found = arpm.json("search", "Who grows tomatoes?")
    assert row["memory"] not in str(found)
    assert arpm.json("quarantine", timeline, "--release", row["memory"]) == [row]
    assert arpm.json("quarantine", timeline) == []
    arpm("verify")
    arpm("replay", "--depth", "retrieval")


def test_a_model_a_session_and_all_of_them_back(arpm: Arpm, timeline: str) -> None:
    everything = arpm.json("quarantine", timeline, "--model", "protocol")
    assert len(everything) == 2
    assert "2 released" in arpm("quarantine", timeline, "--release").stderr
    session = arpm.json("show", timeline)["session"]
    assert len(arpm.json("quarantine", timeline, "--session", session, "--dry-run")) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("--rounds", "x"), 2, "FIRST-LAST"),
        (("--rounds", "3-1"), 1, "comes after"),
        (("--rounds", "1", "--model", "m"), 2, "in one way"),
        (("--release", "--model", "m"), 2, "by id"),
        (("m-000000000000",), 1, "no memory"),
    ],
)
def test_what_names_nothing(arpm: Arpm, timeline: str, arguments: tuple[str, ...], code: int, why: str) -> None:
    assert why in arpm("quarantine", timeline, *arguments, code=code).stderr
