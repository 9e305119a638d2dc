"""Words without which a pattern finds nothing: never so many that a rule is passed over which would fire."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.examples import marked, read_examples, recogniser_files
from governance import instruction_rules
from governance.instruction_rules import ADD, CHANGE, NARROW, NOT, OVERRIDE, RETIRE, Rule, Rules, first_match
from governance.instructions import sentences_of
from governance.needed_words import has_any, needed

ALL: tuple[Rules, ...] = (ADD, RETIRE, CHANGE, NARROW, OVERRIDE, NOT)
RULES: tuple[Rule, ...] = tuple(rule for rules in ALL for rule in rules)


class TestNeeded:
    @pytest.mark.parametrize(
        ("pattern", "words"),
        [
            (r"\b(?:from now on|henceforth)\b", {"from now on", "henceforth"}),
            (r"(?:please )?always \w+", {"always "}),
            (r"in (?:all|every) repl(?:y|ies)", {" repl"}),
            # What need not be there is not needed, and neither is what must not be there.
            (r"(?:never)?(?!again)\w+x", {"x"}),
            (r"(?:ab|\d+)", None),
            (r"(?:only )+this", {"only "}),
            (r"[咱我]俩(?:就)?", {"俩"}),
            (r"[a-z]+", None),
            ("Stop", {"stop"}),
            # Of words one of which holds the other the shorter is enough.
            (r"answer|answers", {"answer"}),
        ],
    )
    def test_one_of_them_stands_in_all_that_is_found(self, pattern: str, words: set[str] | None) -> None:
        found = needed(re.compile(pattern, re.IGNORECASE))
        assert found == (words if words is None else frozenset(words))

    def test_of_every_rule_some_are_known(self) -> None:
        """Otherwise it is tried on every sentence, which takes as long as before."""
        assert [rule.name for rule in RULES if rule.words is None] == []

    def test_a_parser_of_another_python_costs_time_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Parser:
            @staticmethod
            def parse(_pattern: str, _flags: int) -> list[tuple[str, int]]:
                return [("AN_OP_TO_COME", 1)]

        monkeypatch.setattr("governance.needed_words._PARSER", Parser)
        assert needed(re.compile("stop")) is None and has_any("anything", None)


class TestRulesFireAsWithout:
    def test_on_every_example(self) -> None:
        texts = [
            text
            for path in recogniser_files()
            for example in read_examples(path, 1)[::20]
            for _, text in sentences_of(marked(example.message)[0])
        ]
        fired = 0
        for text in texts:
            for written in (text, text.upper()):
                for rules in ALL:
                    expected = without(rules, written)
                    assert first_match(rules, written) == expected, written
                    fired += expected is not None
        assert len(texts) > 2000 and fired > 500

    @pytest.mark.parametrize(
        "text",
        [
            "FROM NOW ON, bullets.",
            "Always be brief.",
            "from now on, no lıists",
            "PLEASE ALWAYS ANSWER İN ITALIAN",
            "neᴠer",
        ],
    )
    def test_in_whatever_case(self, text: str) -> None:
        assert [first_match(rules, text) for rules in ALL] == [without(rules, text) for rules in ALL]

    @given(
        st.lists(st.sampled_from([*"ıİſK 。，", *sorted({w for rule in RULES for w in rule.words or ()})]), max_size=8)
    )
    def test_on_their_own_words_in_any_order(self, words: list[str]) -> None:
        text = "".join(words)
        assert [first_match(rules, text) for rules in ALL] == [without(rules, text) for rules in ALL]


def without(rules: Rules, sentence: str) -> str | None:
    return next((rule.name for rule in rules if rule.pattern.search(sentence)), None)


def test_the_rules_are_all_looked_at_here() -> None:
    held = [name for name in vars(instruction_rules) if isinstance(getattr(instruction_rules, name), tuple)]
    assert sorted(held) == sorted(["ADD", "RETIRE", "CHANGE", "NARROW", "OVERRIDE", "NOT"])
