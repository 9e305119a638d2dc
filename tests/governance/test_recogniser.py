"""The classifier behind the rules: what it adds to them, its bounds, and that its weights belong to what they say."""

from __future__ import annotations

import time

import pytest

from benchmarks.examples import FOLDER, digest, marked, read_examples
from governance import recogniser
from governance.instructions import recognise
from governance.softmax import load_softmax
from retrieval.embedding import load_embedder
from retrieval.embedding.base import Embedder
from tests.governance.test_instructions import ADDED, LEFT_ALONE, RETIRED


@pytest.fixture(scope="module")
def e5() -> Embedder:
    return load_embedder("e5")


class TestWeights:
    @pytest.mark.parametrize(("name", "examples"), [("recogniser", "examples.txt"), ("importance", "importance.txt")])
    def test_they_are_trained_on_the_examples_that_are_here_and_for_the_default_embedder(
        self, e5: Embedder, name: str, examples: str
    ) -> None:
        model = load_softmax(name)
        assert model.embedder == e5.name
        assert model.examples == digest(FOLDER / examples), "run `python -m benchmarks.training`"
        assert len(model.cues) + e5.dimension == model.weights.shape[1]

    def test_nothing_of_the_held_out_set_is_among_the_examples(self) -> None:
        trained = {marked(example.message)[0].casefold() for example in read_examples(FOLDER / "examples.txt", 200)}
        held_out = [
            line.split("\t")[2].casefold()
            for line in (FOLDER / "test.tsv").read_text("utf-8").splitlines()
            if not line.startswith("#")
        ]
        assert len(held_out) > 150 and not trained.intersection(held_out)


class TestWithTheClassifier:
    def test_what_the_rules_do_stays(self, e5: Embedder) -> None:
        for message in (*ADDED, *RETIRED):
            assert [(one.action, one.text) for one in recognise(message, e5) if one.rule] == [
                (one.action, one.text) for one in recognise(message)
            ]

    def test_little_of_what_is_left_alone_is_taken(self, e5: Embedder) -> None:
        """These sentences are neither trained on nor held out: they show a fault of the whole, not its rate."""
        taken = [message for message in LEFT_ALONE if any(one.action == "add" for one in recognise(message, e5))]
        assert len(taken) <= len(LEFT_ALONE) * 0.05, taken

    @pytest.mark.parametrize(
        "message",
        [
            "Please speak Spanish with me.",
            "I'd rather have short answers.",
            "You are my French tutor now, correct me.",
            "跟我说话用大白话。",
            "我们用英文聊吧。",
            "你来当我的面试官。",
        ],
    )
    def test_it_finds_what_no_rule_does(self, e5: Embedder, message: str) -> None:
        assert recognise(message) == []
        (found,) = recognise(message, e5)
        assert (found.action, found.rule, found.text) == ("add", None, message)
        assert 0.3 < found.probability <= 1 and found.reason.startswith("classifier: nearest to ")

    def test_another_embedder_leaves_it_to_the_rules(self) -> None:
        hashing = load_embedder("hashing")
        for message in ("Please speak Spanish with me.", "From now on, answer in French.", "我们用英文聊吧。"):
            assert recognise(message, hashing) == recognise(message)

    def test_each_decision_says_how_sure_it_is_and_why_without_words_of_the_message(self, e5: Embedder) -> None:
        for message in ("From now on, call me Zanzibar.", "I'd like you to talk like Zanzibar with me."):
            for found in recognise(message, e5):
                assert 0 < found.probability <= 1 and found.reason and "anzibar" not in found.reason


class TestBadInput:
    @pytest.mark.parametrize(
        "message",
        [
            "",
            "\n\n\n",
            "\u200b\u200b",
            "```\nFrom now on, answer in French.\n```",
            "> From now on, answer in French.\n> Never use emojis.",
            "Look: `always answer in French`",
            "a" * 100_000,
            "\U0001f600" * 1_000,
        ],
    )
    def test_nothing_is_made_of_nothing_code_and_quoted_lines(self, e5: Embedder, message: str) -> None:
        """A prompt that was pasted as code to talk about was obeyed."""
        assert recognise(message, e5) == []

    def test_a_long_text_is_read_quickly_and_its_ends_count(self, e5: Embedder) -> None:
        text = "The ship left the harbour at dawn and nobody saw it again. " * 1_500
        start = time.process_time()
        found = recognise(f"{text}From now on, answer in French.", e5)
        assert time.process_time() - start < 5
        assert [one.text for one in found] == ["From now on, answer in French."]

    def test_no_more_than_eight_sentences_are_embedded(self, e5: Embedder) -> None:
        class Counting:
            name, dimension, c0 = e5.name, e5.dimension, e5.c0
            texts = 0

            def encode_query(self, texts):  # type: ignore[no-untyped-def]
                self.texts += len(texts)
                return e5.encode_query(texts)

            encode_document = encode_query

        counting = Counting()
        recognise("You write to me in short words. " * 500, counting)
        assert 0 < counting.texts <= 8

    @pytest.mark.parametrize(
        "message", ["Ｆｒｏｍ ｎｏｗ ｏｎ, answer in French.", "From\u200b now\u2060 on, answer in French."]
    )
    def test_odd_characters_hide_nothing(self, message: str) -> None:
        (found,) = recognise(message)
        assert found.rule == "from now on" and "\u200b" not in found.text

    def test_a_text_that_turns_round_is_kept_as_it_reads(self) -> None:
        (found,) = recognise("From now on, answer in \u202eFrench\u202c.")
        assert found.text == "From now on, answer in French."


def test_kinds_have_a_name() -> None:
    assert set(load_softmax(recogniser.WEIGHTS).kinds) == set(recogniser.NAMES)
