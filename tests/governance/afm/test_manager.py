"""The library without a service: messages in, a packed prompt out, in both modes and both languages."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from governance.afm import BudgetTooSmallError, FocusManager, Turn
from governance.history import Importance
from retrieval.embedding.base import Vectors
from retrieval.embedding.hashing import HashingEmbedder
from tests.governance.afm.support import words

ALLERGY = "I am severely allergic to peanuts; even a trace is dangerous."
CHINESE_ALLERGY = "我对花生严重过敏，吃一点就会休克。"
EMBEDDER = HashingEmbedder()


class Embedder(HashingEmbedder):
    """Counts what it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.embedded: list[str] = []

    def encode_document(self, texts: Sequence[str]) -> Vectors:
        self.embedded.extend(texts)
        return super().encode_document(texts)

    def encode_query(self, texts: Sequence[str]) -> Vectors:
        return super().encode_document(texts)


@dataclass(frozen=True)
class Judgement:
    label: Importance
    probability: float = 0.9
    reason: str = "for the test"


class Classifier:
    """Finds allergies, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str], vectors: Vectors, *, embedder: str) -> list[Judgement]:
        assert vectors.shape == (len(texts), EMBEDDER.dimension) and embedder == EMBEDDER.name
        self.asked.extend(texts)
        return [Judgement("CRITICAL" if "allergic" in t or "过敏" in t else "TRIVIAL") for t in texts]


def manager(*messages: str, budget: int = 120, classifier: Any = None, **more: Any) -> FocusManager:
    made = FocusManager(EMBEDDER, words, classifier=classifier, budget=budget, **more)
    for place, text in enumerate(messages):
        made.add_message("assistant" if place % 2 else "user", text)
    return made


DISTRACTORS = [
    part
    for place in range(25)
    for part in (f"Question {place} about trains, hotels and museums in Ghent.", f"Answer {place}: they open at ten.")
]


class TestContext:
    @pytest.mark.parametrize("allergy", [ALLERGY, CHINESE_ALLERGY])
    def test_an_early_constraint_survives_many_distractors(self, allergy: str) -> None:
        context = manager(allergy, "Noted.", *DISTRACTORS, classifier=Classifier()).build_context("What can I eat?")
        assert Turn("user", allergy) in context.turns
        assert context.turns[-1] == Turn("user", "What can I eat?")
        assert len(context.placed) == 52
        assert context.statistics.tokens <= 120

    def test_without_a_classifier_everything_is_trivial_and_the_constraint_degrades(self) -> None:
        """As published: the ablation without importance classification."""
        context = manager(ALLERGY, "Noted.", *DISTRACTORS).build_context("What can I eat?")
        assert {item.focus.importance for item in context.placed if item.focus} == {"TRIVIAL"}
        assert Turn("user", ALLERGY) not in context.turns

    def test_a_given_importance_is_not_judged_again(self) -> None:
        classifier = Classifier()
        made = manager(classifier=classifier)
        made.add_message("user", "Call me at noon.", importance="CRITICAL")
        made.add_message("assistant", "Gladly.")
        context = made.build_context("When?")
        assert classifier.asked == ["Gladly."]
        assert [(f.importance, f.probability, f.reason) for f in (item.focus for item in context.placed) if f] == [
            ("CRITICAL", 1.0, "given with the message"),
            ("TRIVIAL", 0.9, "for the test"),
        ]

    def test_each_message_is_embedded_judged_and_counted_once(self) -> None:
        embedder, classifier, counted = Embedder(), Classifier(), []

        def count(text: str) -> int:
            counted.append(text)
            return words(text)

        made = FocusManager(embedder, count, classifier=classifier, budget=500)
        for text in ("One thing.", "Another thing."):
            made.add_message("user", text)
            made.build_context("And?")
            made.build_context("And?")
        assert embedder.embedded == classifier.asked == ["One thing.", "Another thing."]
        assert len(counted) == len(set(counted))

    def test_rounds_begin_with_the_user(self) -> None:
        made = FocusManager(EMBEDDER, words, budget=50)
        for speaker, text in (("assistant", "Welcome!"), ("user", "Hi"), ("assistant", "Hello"), ("user", "So")):
            made.add_message(speaker, text)  # type: ignore[arg-type]
        assert [message.round for message in made.messages] == [1, 2, 2, 3]

    def test_older_messages_weigh_less(self) -> None:
        made = manager(*(["The same words again."] * 49))
        context = made.build_context("The same words again.")
        recencies = [item.focus.recency for item in context.placed if item.focus]
        assert recencies == sorted(recencies)
        assert recencies[-1] == pytest.approx(0.5 ** (1 / 12))
        assert recencies[1] == pytest.approx(0.5 ** (25 / 12))

    def test_the_first_query_has_a_context_too(self) -> None:
        context = manager().build_context("你好")
        assert context.turns == (Turn("user", "你好"),)
        assert context.placed == ()

    def test_a_preamble_comes_first_and_counts(self) -> None:
        context = manager(ALLERGY, classifier=Classifier()).build_context("Eat?", preamble="You are a cook.")
        assert context.turns[0] == Turn("system", "You are a cook.")
        assert context.statistics.tokens == words("You are a cook. " + ALLERGY + " Eat?")

    def test_statistics_account_for_every_message(self) -> None:
        made = manager(ALLERGY, "Noted.", *DISTRACTORS, classifier=Classifier(), budget=90)
        for query in ("What can I eat?", "When does the museum open?"):
            sums = made.build_context(query).statistics
            assert sums.full + sums.compressed + sums.placeholder + sums.dropped == 52
            assert sums.merged <= sums.placeholder
            assert sums.budget == 90

    def test_dropped_messages_are_counted_as_published_too(self) -> None:
        """Bug of the published code: dropped messages were left out of the statistics."""
        sums = manager(*DISTRACTORS, mode="published", budget=40).build_context("And?").statistics
        assert sums.dropped > 40 and sums.full + sums.compressed + sums.placeholder + sums.dropped == 50

    def test_the_published_mode_takes_cosines_as_they_are(self) -> None:
        text, query = "trains in Ghent", "trains in Bruges"
        cosine = float(EMBEDDER.encode_document([text])[0] @ EMBEDDER.encode_query([query])[0])
        as_is = manager(text, mode="published").build_context(query).placed[0].focus
        ours = manager(text).build_context(query).placed[0].focus
        assert as_is and ours
        assert as_is.similarity == pytest.approx(cosine)
        assert ours.similarity == pytest.approx((cosine - EMBEDDER.c0) / (1 - EMBEDDER.c0))


class TestBadInput:
    @pytest.mark.parametrize("text", ["", " ", "\n\t"])
    def test_an_empty_message_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match="empty message"):
            manager().add_message("user", text)
        with pytest.raises(ValueError, match="empty query"):
            manager("Hi").build_context(text)

    @pytest.mark.parametrize("budget", [0, -7])
    def test_no_budget_is_refused(self, budget: int) -> None:
        with pytest.raises(BudgetTooSmallError):
            manager(budget=budget)
        with pytest.raises(BudgetTooSmallError):
            manager("Hi").build_context("So?", budget=budget)

    def test_a_query_over_the_budget_names_the_least_that_works(self) -> None:
        made = manager(ALLERGY, overhead=3)
        with pytest.raises(BudgetTooSmallError) as error:
            made.build_context("one two three four five", budget=7)
        assert error.value.least == 8
        context = made.build_context("one two three four five", budget=8)
        assert context.turns == (Turn("user", "one two three four five"),)

    def test_a_half_life_of_nothing_is_refused(self) -> None:
        with pytest.raises(ValueError, match="half-life"):
            manager(half_life=0)


def test_contexts_are_the_same_in_every_process() -> None:
    """Bug of the published code: its embedder hashed by Python's salted hash, so nothing replayed."""
    code = (
        "from tests.governance.afm.test_manager import *\n"
        "made = manager(CHINESE_ALLERGY, '好的。', *DISTRACTORS, classifier=Classifier(), budget=150)\n"
        "print(made.build_context('museum 火车'))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[3])},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1
