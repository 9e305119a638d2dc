"""The papers' baselines as context windows: what they show, what they leave out and why, and that budgets hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.afm.compress import HeuristicCompressor
from governance.history import Message, Placed
from governance.windows import (
    COMPRESSED,
    OUTSIDE,
    OVER_BUDGET,
    OVER_ROOM,
    SHOWN,
    SUMMARISED,
    full,
    recency_compressed,
    recent,
    summary,
    truncated,
)

ROOM = 10_000


def words(text: str) -> int:
    """A token for each English word and each Chinese character."""
    return len(re.findall(r"[\u4e00-\u9fff]|[^\s\u4e00-\u9fff]+", text))


def talk(rounds: int, length: int = 6, chinese: bool = False) -> list[Message]:
    said = []
    for number in range(1, rounds + 1):
        filler = "茶" * (length - 1) if chinese else " ".join(["tea"] * (length - 1))
        said.append(Message("user", number, f"{number} {filler}", f"m{number}"))
        said.append(Message("assistant", number, f"{number}! {filler}", f"m{number}"))
    return said


BY_RULE = HeuristicCompressor(words)


def shown(placed: Sequence[Placed], fidelity: str | None = "FULL") -> list[int]:
    return list(dict.fromkeys(item.message.round for item in placed if item.fidelity == fidelity))


def tokens(placed: Sequence[Placed]) -> int:
    return sum(item.tokens for item in placed)


@pytest.mark.parametrize("chinese", [False, True])
class TestWhatIsShown:
    def test_full_shows_everything(self, chinese: bool) -> None:
        placed = full(talk(8, chinese=chinese), ROOM, words)
        assert shown(placed) == list(range(1, 9)) and {item.reason for item in placed} == {SHOWN}

    def test_full_ends_where_the_model_does(self, chinese: bool) -> None:
        placed = full(talk(8, chinese=chinese), 30, words)
        assert shown(placed) == [7, 8] and shown(placed, None) == list(range(1, 7))
        assert {item.reason for item in placed if item.fidelity is None} == {OVER_ROOM}

    def test_recent_shows_the_last_rounds(self, chinese: bool) -> None:
        placed = recent(talk(8, chinese=chinese), 3, ROOM, words)
        assert shown(placed) == [6, 7, 8]
        assert {item.reason for item in placed if item.fidelity is None} == {OUTSIDE}

    def test_truncated_shows_what_the_budget_holds(self, chinese: bool) -> None:
        placed = truncated(talk(8, chinese=chinese), 37, ROOM, words)
        assert shown(placed) == [6, 7, 8] and tokens(placed) == 36
        assert {item.reason for item in placed if item.fidelity is None} == {OVER_BUDGET}

    def test_older_messages_are_shortened(self, chinese: bool) -> None:
        placed = recency_compressed(talk(8, 30, chinese), 2, 10, 150, ROOM, words, BY_RULE)
        short = shown(placed, "COMPRESSED")
        assert shown(placed) == [7, 8] and short and short == list(range(short[0], 7))
        assert all(item.tokens <= 10 for item in placed if item.fidelity == "COMPRESSED")
        assert {item.reason for item in placed if item.fidelity == "COMPRESSED"} == {COMPRESSED}
        assert shown(placed, None) == list(range(1, short[0])) != []

    def test_a_summary_stands_for_all_before(self, chinese: bool) -> None:
        placed = summary(talk(8, 20, chinese), 2, 25, 200, ROOM, words, BY_RULE)
        assert shown(placed) == [7, 8] and shown(placed, "COMPRESSED") == [1, 2, 3, 4, 5, 6]
        texts = [item.text for item in placed if item.reason == SUMMARISED]
        assert texts[:-1] == [""] * 11 and 0 < words(texts[-1]) <= 25


def test_a_short_old_message_is_not_rewritten() -> None:
    placed = recency_compressed(talk(3, 4), 1, 10, 200, ROOM, words, BY_RULE)
    assert shown(placed) == [1, 2, 3]


def test_when_the_last_rounds_do_not_fit_nothing_older_is_shown() -> None:
    """Bug class: a gap in what a person sees as one stretch."""
    placed = recency_compressed(talk(8, 30), 3, 5, 130, ROOM, words, BY_RULE)
    assert shown(placed) == [7, 8] and shown(placed, "COMPRESSED") == []


def test_a_rolling_summary_is_the_same_however_it_came_about() -> None:
    """A replay folds the rounds from the first; a running service had folded them one by one."""
    for rounds in range(1, 7):
        once = summary(talk(rounds, 20), 0, 25, 200, ROOM, words, BY_RULE)
        assert once == summary(talk(rounds, 20), 0, 25, 200, ROOM, words, BY_RULE)
    assert "6" in once[-1].text or "…" in once[-1].text


Policy = Callable[[list[Message], int, int], list[Placed]]
POLICIES: dict[str, Policy] = {
    "full": lambda said, budget, room: full(said, room, words),
    "recent": lambda said, budget, room: recent(said, 3, room, words),
    "truncated": lambda said, budget, room: truncated(said, budget, room, words),
    "recency_compressed": lambda said, budget, room: recency_compressed(said, 2, 7, budget, room, words, BY_RULE),
    "summary": lambda said, budget, room: summary(said, 2, 20, budget, room, words, BY_RULE),
}


@pytest.mark.parametrize("name", POLICIES)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 40), st.booleans()), max_size=12),
    budget=st.integers(0, 200),
    room=st.integers(0, 200),
)
def test_every_message_has_its_line_and_no_budget_is_exceeded(
    name: str, lengths: list[tuple[int, bool]], budget: int, room: int
) -> None:
    said = [
        Message(speaker, number, ("茶" * length if chinese else "tea " * length).strip(), f"m{number}")
        for number, (length, chinese) in enumerate(lengths, 1)
        for speaker in ("user", "assistant")
    ]
    placed = POLICIES[name](said, budget, room)
    assert [item.message for item in placed] == said
    assert tokens(placed) <= room
    assert name in ("full", "recent") or tokens(placed) <= budget
    assert all(item.reason for item in placed)
    assert all(item.tokens == (words(item.text) if item.text else 0) for item in placed)


def test_no_messages_and_no_rounds() -> None:
    assert [policy([], 10, 10) for policy in POLICIES.values()] == [[]] * len(POLICIES)
    assert shown(recent(talk(3), 0, ROOM, words)) == []
