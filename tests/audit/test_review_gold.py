"""Automatic judgement from gold labels, in English and Chinese."""

from __future__ import annotations

import pytest

from arpm.audit.gold import Automatic, Gold, accepted, for_question, judged, read_gold
from arpm.errors import InputError


class TestAcceptedAnswers:
    @pytest.mark.parametrize(
        ("answer", "response"),
        [
            ("the boat house", "Your canoe is in the Boat House."),
            ("boat house", "in the boat-house, I think"),
            ("1,000", "It costs 1000 yen."),
            ("７ o'clock", "at 7 O’Clock"),
            ("n-1", "至少需要 **n-1** 条边"),
            ("n - 1", "that is n-1"),
            ("后进先出", "栈是“后进先出”（LIFO）的。"),
            ("1998年", "茶馆是1998年开的"),
            ("青岛", "他在青岛修钟表"),
            ("A", "A."),
            ("boat house!", "In the **boat** *house*."),
            ("a * b", "x = a*b"),
            ("2026-03-01", "On 2026-03-01."),
        ],
    )
    def test_said(self, answer: str, response: str) -> None:
        assert accepted(answer, response)

    @pytest.mark.parametrize(
        ("answer", "response"),
        [
            ("n+1", "需要 n-1 条边"),
            ("12", "there are 312"),
            ("3.5", "about 3.55"),
            ("rat", "a rather good idea"),
            ("A", "a cat, not B"),
            ("a+b", "a*b"),
            ("x != y", "x = y"),
            ("boat house", "the house of the boat"),
            ("先进先出", "后进先出"),
            ("!?", "!?"),
            ("", "anything"),
        ],
    )
    def test_not_said(self, answer: str, response: str) -> None:
        assert not accepted(answer, response)


class TestJudging:
    def test_all_of_the_evidence_and_one_of_each_alternative(self) -> None:
        gold = Gold("q", (frozenset({"d-1"}), frozenset({"m-1", "D1:3"})), ())
        assert judged(gold, {"d-1", "D1:3", "x"}, "") == Automatic(True, None, True)
        assert judged(gold, {"m-1", "D1:3"}, "") == Automatic(False, None, False)

    def test_answers_alone_and_both(self) -> None:
        assert judged(Gold("q", (), ("tea", "茶")), set(), "绿茶") == Automatic(None, True, True)
        both = Gold("q", (frozenset({"m-1"}),), ("tea",))
        assert judged(both, {"m-1"}, "coffee") == Automatic(True, False, False)
        assert judged(Gold("q", (), ()), {"m-1"}, "tea") is None

    def test_a_message_is_known_by_its_words(self) -> None:
        golds = [Gold("Where is it?", (), ("here",)), Gold("茶馆哪年开的？", (), ("1998",))]
        assert for_question(golds, "where is it") is golds[0]
        assert for_question(golds, "茶馆 哪年 开的?") is golds[1]
        assert for_question(golds, "Where was it?") is None


class TestReading:
    def test_a_question_set(self) -> None:
        text = '\ufeff{"id": "1", "question": "Q?", "evidence": ["a", ["b", "c"]], "answers": ["x"]}\n\n'
        assert read_gold("g", text.encode()) == [Gold("Q?", (frozenset("a"), frozenset("bc")), ("x",))]

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("", "holds no question"),
            ("[]", "line 1: is not a JSON object"),
            ("{", "line 1: "),
            ("[" * 100_000, "line 1: "),
            ('{"question": " "}', "needs a question"),
            ('{"question": "q"}', "neither evidence nor answers"),
            ('{"question": "q", "answers": "x"}', "has answers that is no list"),
            ('{"question": "q", "answers": [5]}', "has an answer that is no text"),
            ('{"question": "q", "evidence": [[]]}', "has evidence that is no text"),
            ('{"question": "q", "gold": ["x"]}', "unknown member 'gold'"),
        ],
    )
    def test_a_bad_line_is_named(self, line: str, reason: str) -> None:
        with pytest.raises(InputError, match=reason):
            read_gold("gold.jsonl", line.encode())
