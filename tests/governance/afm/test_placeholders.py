"""A stub says what it stands for, in the message's language, the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from governance.afm.placeholders import keywords, length, merged, placeholder
from governance.history import Message
from tests.governance.afm.support import HARD, talk

TRIP = "We take trains to Ghent and need a hotel near the castle for two nights."
ALLERGY = "我对花生严重过敏，吃一点就会休克。"


class TestOneMessage:
    def test_names_round_speaker_subject_and_length(self) -> None:
        stub = placeholder(Message("user", 12, TRIP))
        assert stub.startswith("[round 12, user: ") and stub.endswith(" — 15 words]")
        assert "Ghent" in stub and "hotel" in stub

    def test_is_in_the_language_of_the_message(self) -> None:
        assert placeholder(Message("assistant", 3, ALLERGY)) == "[第3轮，助手：对花生严重过敏、吃一点、会休克，共15字]"

    @pytest.mark.parametrize("text", ["🙂🙂", "…", "?!", "ok", "and the of"])
    def test_a_message_that_says_little_has_a_stub_without_keywords(self, text: str) -> None:
        assert placeholder(Message("user", 1, text)) == f"[round 1, user: {length(text)} words]"

    def test_prefers_names(self) -> None:
        assert "Ghent" in keywords("It rained hard all day, then old friends came over to eat with us in Ghent.")

    def test_is_shorter_than_a_long_message(self) -> None:
        assert len(placeholder(Message("user", 1, "word " * 5000))) < 100

    def test_every_hard_text_has_a_stub_on_one_line(self) -> None:
        assert all("\n" not in placeholder(Message("user", 1, text)) for text in HARD)


class TestKeywords:
    def test_are_in_the_order_of_the_text_and_few(self) -> None:
        assert keywords("The old lighthouse keeper of Sandvik collects glass bottles and brass lamps.") == (
            "old lighthouse keeper",
            "Sandvik collects glass bottles",
            "brass lamps",
        )

    def test_repeat_nothing(self) -> None:
        assert keywords("Ghent! Ghent? ghent. GHENT") == ("Ghent",)

    def test_chinese_runs_are_cut_at_function_characters(self) -> None:
        assert keywords("请帮我订一间靠近火车站的酒店") == ("订一间靠近火车站", "酒店")

    def test_mixed_text_keeps_both(self) -> None:
        assert keywords("我在用 PostgreSQL 数据库") == ("PostgreSQL", "数据库")


class TestSeveral:
    def test_names_rounds_and_the_best_subjects_once(self) -> None:
        messages = talk(TRIP, "Sure!", "Ok.", "The museum opens at ten.", TRIP, "Fine.")
        stub = merged(messages, [0.1, 0, 0, 0.3, 0.1, 0])
        assert stub == "[rounds 1–3, 6 messages: Ghent, museum opens]"

    def test_best_scores_are_named_first_to_be_named_at_all(self) -> None:
        messages = talk(*(f"Subject{chr(97 + place)} arrived." for place in range(20)))
        stub = merged(messages, [place / 20 for place in range(20)])
        assert "Subjectt" in stub and "Subjecta" not in stub

    def test_the_shortest_has_no_keywords(self) -> None:
        assert merged(talk(ALLERGY, ALLERGY)) == "[第1轮，2条]"
        assert merged(talk(ALLERGY, TRIP, TRIP), others=True) == "[others of rounds 1–2, 3 messages]"

    def test_one_message_keeps_its_own_stub(self) -> None:
        assert merged(talk(TRIP), [0.5]) == placeholder(talk(TRIP)[0])


def test_stubs_are_the_same_in_every_process() -> None:
    """Bug of the published code: a per-process hash, so that nothing replays."""
    code = (
        "from tests.governance.afm.support import HARD, talk\n"
        "from governance.afm.placeholders import merged, placeholder\n"
        "m = talk(*HARD)\n"
        "print([*map(placeholder, m), merged(m, [0.5] * len(m))])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[3])},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(outputs) == 1
