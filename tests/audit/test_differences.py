"""Two turns and two runs side by side, and the life of memories."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arpm.audit.differences import MOST_PIECES, run_difference, turn_difference, word_difference
from arpm.audit.memory_life import lives, outlines, shown
from arpm.events import Event
from arpm.ledger import LEDGER_NAME, walk
from tests.audit.lives import eventful


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    logs: Path = tmp_path_factory.mktemp("lived") / "logs"
    events = [placed.event() for placed in walk(logs / eventful(logs) / LEDGER_NAME)]
    return [event for event in events if event.kind == "turn"]


def test_a_turn_is_the_same_as_itself(turns: list[Event]) -> None:
    for event in turns:
        difference = turn_difference(event, event)
        assert difference.same
        assert (difference.facts, difference.config, difference.overlap) == ({}, {}, 1.0)


def test_what_differs_is_named(turns: list[Event]) -> None:
    by_message = {event.body["message"]: event for event in turns}
    paper, shipped = (
        by_message[f"Under {name}: where is the red kettle? 红色的水壶呢？"] for name in ("paper", "default")
    )
    difference = turn_difference(paper, shipped)
    assert difference.facts["preset"] == ("paper", "default")
    assert difference.config["final_threshold"] == {"from": 0.5, "to": 0.0}
    changes = {item.memory: item.change for item in difference.evidence}
    for item in shipped.body["evidence"]:
        in_both = any(row["memory"] == item["memory"] for row in paper.body["evidence"])
        assert (changes[item["memory"]] == "only the second") is not in_both


def test_an_erased_turn_and_a_failed_one_cannot_be_compared(turns: list[Event]) -> None:
    for event in (replace(turns[0], body=None), replace(turns[0], kind="turn_failed")):
        with pytest.raises(ValueError, match="no committed turn"):
            turn_difference(event, turns[1])


def test_runs_are_compared_round_by_round(turns: list[Event]) -> None:
    difference = run_difference(turns, turns[:-2])
    assert all(item.same for item in difference.turns)
    assert (difference.only_first, difference.only_second) == (
        tuple(event.body["round"] for event in turns[-2:]),
        (),
    )
    rounds = {event.body["round"] for event in turns}
    assert len(difference.turns) == len(rounds) - 2


def test_the_life_of_a_memory_is_what_the_records_say(turns: list[Event]) -> None:
    found = lives(turns)
    seen = sum(len(event.body["candidates"][route]) for event in turns for route in ("knowledge", "experience"))
    assert sum(map(len, found.values())) == seen
    assert sum(len(shown(items)) for items in found.values()) == sum(len(event.body["evidence"]) for event in turns)
    one = next(memory for memory, items in found.items() if shown(items))
    assert lives(turns, frozenset([one])) == {one: found[one]}
    assert [item.round for item in found[one]] == sorted(item.round for item in found[one])


def test_lives_in_short_count_what_the_lives_hold(turns: list[Event]) -> None:
    found = lives(turns)
    rows = outlines(found)
    assert {row.memory for row in rows} == set(found)
    assert [row.shown for row in rows] == sorted((row.shown for row in rows), reverse=True)
    for row in rows:
        seen = shown(found[row.memory])
        told = seen or found[row.memory]
        assert (row.candidate, row.shown) == (len(found[row.memory]), len(seen))
        assert row.cited == sum(item.cited for item in seen)
        assert (row.first_round, row.last_round) == (told[0].round, told[-1].round)
        assert (row.first_weight, row.last_weight) == (told[0].weight, told[-1].weight)


class TestWordDifference:
    @given(st.text("ab 。.船屋\n", max_size=80), st.text("ab 。.船屋\n", max_size=80))
    def test_nothing_is_lost_of_either_text(self, first: str, second: str) -> None:
        found = word_difference(first, second)
        assert "".join(item.text for item in found if item.of != "second") == first
        assert "".join(item.text for item in found if item.of != "first") == second

    def test_words_and_characters_of_chinese_are_told_apart(self) -> None:
        """Bug class: a Chinese sentence counts as one word, and one changed character marks all of it."""
        said = [(item.of, item.text) for item in word_difference("安的独木舟在船屋里", "安的独木舟在仓库里")]
        assert said == [("both", "安的独木舟在"), ("first", "船屋"), ("second", "仓库"), ("both", "里")]
        said = [(item.of, item.text) for item in word_difference("It is blue", "It was blue")]
        assert said == [("both", "It "), ("first", "is"), ("second", "was"), ("both", " blue")]

    def test_long_texts_are_compared_by_sentences_and_very_long_ones_as_wholes(self) -> None:
        """Bug class: comparing takes the square of the words, and a page waits for minutes."""
        sentence = "The canoe is in the boat house by the east gate. "
        first = sentence * (MOST_PIECES // 40)
        second = first + "Or was it? "
        found = word_difference(first, second)
        assert [(item.of, item.text.strip()) for item in found][-1] == ("second", "Or was it?")
        assert "".join(item.text for item in found if item.of != "first") == second
        many = "Ja. " * MOST_PIECES
        assert [item.of for item in word_difference(many, many + "Nein.")] == ["first", "second"]
