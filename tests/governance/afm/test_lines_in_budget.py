"""The budget of adaptive focus covers what the prompt really writes: words, names, labels, dates, cues, gaps.

Counted by the embedded model's own tokenizer over the lines as the prompt has them, in random cases of hard texts.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from arpm.generation.base import PromptStyle
from arpm.generation.local_model import LoadedTokenizer, load_tokenizer
from arpm.history_lines import history_lines
from governance.afm import HeuristicCompressor, cached_count
from governance.config import GovernanceConfig, Policy
from governance.decay import Moment
from governance.focus import Judgement, placed_by_focus
from governance.history import Count, Importance, Message
from tests.governance.afm.support import HARD

CASES = 150
NOW = datetime(2026, 3, 9, 18, 30, tzinfo=UTC)
KINDS: tuple[Importance, ...] = get_args(Importance)
NAMES = (("Ada", "Mo"), ("安娜", "小雨"), ("", ""), ("Maximilian von Hohenfels", "Mo"))


@pytest.fixture(scope="module")
def tokenizer() -> LoadedTokenizer:
    return load_tokenizer()


@pytest.fixture(scope="module")
def count(tokenizer: LoadedTokenizer) -> Count:
    return cached_count(tokenizer.count)


def talked(chance: random.Random) -> list[Message]:
    """A conversation over some days with names, the last message a while ago."""
    names, rounds = chance.choice(NAMES), chance.randrange(1, 15)
    at = NOW - timedelta(hours=chance.choice((0, 3, 40)))
    messages = []
    for number in range(rounds):
        when = at - timedelta(minutes=chance.choice((1, 600)) * (rounds - number))
        messages += [
            Message("user", number + 1, chance.choice(HARD), f"m{number + 1}", when, names[0]),
            Message("assistant", number + 1, chance.choice(HARD), f"m{number + 1}", when, names[1]),
        ]
    return messages


@pytest.mark.parametrize("policy", ["afm", "afm_paper"])
@pytest.mark.parametrize("style", get_args(PromptStyle))
def test_the_lines_of_a_random_prompt_are_within_the_budget(
    tokenizer: LoadedTokenizer, count: Count, policy: Policy, style: PromptStyle
) -> None:
    chance = random.Random(f"{policy} {style}")
    compressor = HeuristicCompressor(count)
    fullest, over = 0.0, 0
    for case in range(CASES):
        messages, asked = talked(chance), chance.choice(("Which dishes can I eat?", "我可以吃什么？"))
        judged = [Judgement(chance.random(), chance.choice(KINDS)) for _ in messages]
        moment = Moment(messages[-1].round + 1, NOW)
        config = GovernanceConfig(policy=policy, time_cues=chance.random() < 0.8, knowledge_k=chance.choice((0, 8, 50)))
        lines = history_lines(style, config, moment, "Asia/Shanghai", asked)
        budget = chance.choice((chance.randrange(1, 80), chance.randrange(80, 1500)))
        given = (messages, asked, config, moment, budget, count, compressor)
        placed = placed_by_focus(*given, lambda _, judged=judged: judged, lines)
        shown = [item for item in placed if item.text]
        assert len(placed) == len(messages)
        assert sum(item.tokens for item in placed) <= budget, case
        # As many documents as may be before them, or none.
        for first in (1, 1 + config.knowledge_k):
            assert tokenizer.count(lines(shown, first)) <= budget, (case, first)
        fullest = max(fullest, tokenizer.count(lines(shown, 1)) / budget)
        # What a budget of words alone would come to.
        before = placed_by_focus(*given, lambda _, judged=judged: judged)
        over += tokenizer.count(lines([item for item in before if item.text], 1)) > budget
    assert fullest > 0.9
    assert over > CASES // 3, "the cases are too easy to tell anything"


def test_lines_are_those_of_the_prompt(count: Count) -> None:
    message = Message("user", 2, "A\n\nB", "m1", NOW - timedelta(days=1), "Ada")
    judged = [Judgement(0.9, "CRITICAL")]
    found = {}
    for style in get_args(PromptStyle):
        config = GovernanceConfig(policy="afm")
        lines = history_lines(style, config, Moment(4, NOW), "UTC", "Hi?")
        compressor = HeuristicCompressor(count)
        placed = placed_by_focus(
            [message], "Hi?", config, Moment(4, NOW), 500, count, compressor, lambda _: judged, lines
        )
        found[style] = lines(placed, 9)
    cue = "2026-03-08 18:30, 2 rounds ago, yesterday"
    assert found["full"] == f"\n\n[E9] (conversation, {cue})\nAda: A\n\nB"
    assert found["compact"] == f"\n[E9] {cue}: Ada: A /  / B"


def test_parts_that_are_switched_off_are_the_same_for_all(count: Count) -> None:
    messages = [Message("user", place + 1, text, f"m{place}") for place, text in enumerate(HARD)]
    judged = [Judgement(place / 20, KINDS[place % 3]) for place in range(len(HARD))]
    config, moment = GovernanceConfig(policy="afm"), Moment(len(HARD) + 1, NOW)

    def focus_of(**off: bool | float) -> list[tuple[str, float, float, str]]:
        changed = replace(config, **off)  # type: ignore[arg-type]
        placed = placed_by_focus(
            messages, "x", changed, moment, 300, count, HeuristicCompressor(count), lambda _: judged
        )
        found = [item.focus for item in placed if item.focus]
        return [(item.importance, item.similarity, item.recency, item.intended) for item in found]

    assert {row[0] for row in focus_of(afm_importance=False)} == {"TRIVIAL"}
    assert {row[1] for row in focus_of(afm_similarity=False)} == {1.0}
    assert {round(row[2], 3) for row in focus_of(afm_half_life=1e6)} == {1.0}
    assert "PLACEHOLDER" not in {row[3] for row in focus_of(afm_stubs=False)}
    assert focus_of(afm_compression=False) == focus_of()
