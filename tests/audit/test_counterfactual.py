"""Counterfactuals: what each turn would have been shown otherwise, and the measures that say how much."""

from __future__ import annotations

from pathlib import Path

import pytest

from arpm.audit.counterfactual import Intervention, Shift, moved, overlap, rank_correlation, shifts, summary
from arpm.audit.past import Past
from arpm.generation.base import Backend
from governance.config import PRESETS
from retrieval.embedding.hashing import HashingEmbedder
from tests.audit.lives import eventful
from tests.support import ScriptedBackend, reply


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    logs = tmp_path_factory.mktemp("lived") / "logs"
    return logs, eventful(logs)


def asked(lived: tuple[Path, str], intervention: Intervention) -> list[Shift]:
    embedder = HashingEmbedder()
    return list(shifts(Past(lived[0], lived[1], embedder), intervention, embedder))


def test_nothing_changes_where_nothing_is_changed(lived: tuple[Path, str]) -> None:
    turns = asked(lived, Intervention(changes={"repair_attempts": 3}))
    assert len(turns) == 23
    assert not any(turn.changed or turn.skipped for turn in turns)
    whole = summary(turns)
    assert (whole.changed, whole.lost, whole.gained, whole.moved) == (0, 0, 0, 0)
    assert set(whole.overlap.values()) == {1.0}
    assert whole.tokens_before == whole.tokens_after


def test_without_experience_every_experience_is_lost_and_nothing_gained(lived: tuple[Path, str]) -> None:
    turns = asked(lived, Intervention(changes={"history_enabled": False}))
    for turn in turns:
        assert turn.lost == tuple(memory for memory in turn.before if memory.startswith("m-"))
        assert not turn.gained
        assert all(memory.startswith("d-") for memory in turn.after)
    assert any(turn.lost for turn in turns)


def test_a_preset_takes_the_place_of_every_turns_own_config(lived: tuple[Path, str]) -> None:
    turns = asked(lived, Intervention(PRESETS["G"].config))
    assert all(turn.after == () for turn in turns)


def test_best_first_moves_and_loses_nothing(lived: tuple[Path, str]) -> None:
    turns = asked(lived, Intervention(changes={"chronological": False}))
    assert any(turn.moved for turn in turns)
    assert all(not turn.lost and not turn.gained and turn.overlap[10] == 1.0 for turn in turns)


def test_another_model_answers_what_was_asked(lived: tuple[Path, str]) -> None:
    backend: Backend = ScriptedBackend([reply("Said by another model.")])
    embedder = HashingEmbedder()
    intervention = Intervention(model="scripted")
    turns = list(shifts(Past(lived[0], lived[1], embedder), intervention, embedder, lambda name: backend))
    assert {turn.reply_after for turn in turns} == {"Said by another model."}


class TestMeasures:
    @pytest.mark.parametrize(
        ("before", "after", "k", "share"),
        [
            ("abcd", "abcd", 3, 1.0),
            ("abcd", "badc", 2, 1.0),
            ("abcd", "acbd", 2, 0.5),
            ("ab", "", 5, 0.0),
            ("", "ab", 5, 1.0),
        ],
    )
    def test_overlap(self, before: str, after: str, k: int, share: float) -> None:
        assert overlap(before, after, k) == share

    @pytest.mark.parametrize(
        ("before", "after", "least"),
        [("abcd", "abcd", 0), ("abcd", "bcda", 1), ("abcd", "dcba", 3), ("abxcd", "abcyd", 0)],
    )
    def test_moved_is_the_least_that_must_be_moved(self, before: str, after: str, least: int) -> None:
        assert len(moved(before, after)) == least

    def test_rank_correlation(self) -> None:
        scores = {"a": 3.0, "b": 2.0, "c": 1.0}
        assert rank_correlation(scores, scores) == pytest.approx(1.0)
        assert rank_correlation(scores, {"a": 1.0, "b": 2.0, "c": 3.0}) == pytest.approx(-1.0)
        # With ties, by hand: ranks 3, 1.5, 1.5 against 3, 2, 1.
        assert rank_correlation({"a": 9.0, "b": 5.0, "c": 5.0}, scores) == pytest.approx(0.8660254)
        assert rank_correlation({"a": 1.0, "b": 1.0}, scores) is None
        assert rank_correlation(dict.fromkeys("abc", 1.0), scores) is None
