"""The classifier behind the rules: what it adds to them, its bounds, and that its weights belong to what they say."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from importlib.resources import files

import pytest

from benchmarks.examples import FOLDER, digest, marked, read_examples
from governance import recogniser
from governance.instructions import recognise
from governance.rule_rates import counts, probability_of
from governance.softmax import load_softmax
from governance.word_grams import SIZE
from retrieval.embedding import load_embedder
from retrieval.embedding.base import Embedder, Vectors
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

    def test_words_and_rules_are_of_the_same_training(self) -> None:
        vector, words = load_softmax(recogniser.WEIGHTS), load_softmax(recogniser.WORDS)
        assert (words.kinds, words.cues, words.examples) == (vector.kinds, vector.cues, vector.examples)
        assert words.weights.shape[1] == SIZE + len(recogniser.CUES)
        held = json.loads((files("governance") / "weights" / "rules.json").read_text("utf-8"))
        assert held["examples"] == vector.examples

    def test_they_are_small(self) -> None:
        folder = files("governance") / "weights"
        assert sum(len(entry.read_bytes()) for entry in folder.iterdir()) < 300_000

    @pytest.mark.parametrize("name", ["test.tsv", "held_out.tsv"])
    def test_nothing_that_is_evaluated_is_among_the_examples(self, name: str) -> None:
        trained = {marked(example.message)[0].casefold() for example in read_examples(FOLDER / "examples.txt", 200)}
        lines = (FOLDER / name).read_text("utf-8").splitlines()
        evaluated = {line.split("\t")[2].casefold() for line in lines if line and not line.startswith("#")}
        # Counted, so that a failure shows no message.
        assert len(evaluated) > 150 and len(trained & evaluated) == 0


class TestRates:
    def test_a_rule_is_as_sure_as_it_was_right_on_the_examples(self) -> None:
        right, fired = counts()["from now on"]
        assert fired > 50 and abs(probability_of("from now on") - right / fired) < 0.03

    def test_a_rule_that_never_fired_is_as_sure_as_all_together(self) -> None:
        right, fired = (sum(column) for column in zip(*counts().values(), strict=True))
        assert probability_of("no such rule") == pytest.approx(right / fired, abs=0.01)

    def test_a_decision_tells_it(self) -> None:
        (found,) = recognise("From now on, answer in French.")
        assert found.probability == probability_of("from now on")


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

    @pytest.mark.parametrize(
        "message",
        [
            "以後都用廣東話回覆我，唔該。",
            "同我講嘢簡單啲，唔該。",
            "由而家開始，答我唔好用表情。",
            "pls dont use emojis w me",
            "以后reply都用English",
            "Thanks, useful! Could you keep all your answers under fifty words from now on? What else can I plant?",
        ],
    )
    def test_other_ways_of_writing_are_read(self, e5: Embedder, message: str) -> None:
        assert [one.action for one in recognise(message, e5)] == ["add"]

    @pytest.mark.parametrize(
        "message",
        [
            "Thanks for the advice, I'll give it a go.",
            "Great. I'll be back tomorrow with the numbers. Let's keep the momentum going!",
            "谢谢你的建议，我会去试试的。今天先聊到这里吧。",
            "Stop asking and show me the list now.",
        ],
    )
    def test_everyday_talk_with_an_assistant_is_left_alone(self, e5: Embedder, message: str) -> None:
        """One in nine Chinese messages of a public dialogue, and one in twenty English ones, became an instruction."""
        assert recognise(message, e5) == []

    def test_what_reads_like_taking_back_may_be_an_instruction_of_its_own(self, e5: Embedder) -> None:
        (found,) = recognise("You don't have to be so formal with me.", e5)
        assert found.action == "add" or found.or_add

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
        counting = Counting(e5)
        recognise("We always write to you in French. " * 500, counting)
        assert 0 < counting.texts <= 8

    def test_what_words_alone_tell_is_not_embedded(self, e5: Embedder) -> None:
        counting = Counting(e5)
        assert recognise("We moved to Ghent in May. The garden is small. My brother helped us a lot.", counting) == []
        assert counting.texts == 0

    def test_vectors_of_another_embedder_are_refused(self) -> None:
        with pytest.raises(ValueError, match="knows vectors of"):
            recogniser.read([recogniser.Sentence("Speak French with me.")], load_embedder("hashing"))

    @pytest.mark.parametrize(
        "message", ["Ｆｒｏｍ ｎｏｗ ｏｎ, answer in French.", "From\u200b now\u2060 on, answer in French."]
    )
    def test_odd_characters_hide_nothing(self, message: str) -> None:
        (found,) = recognise(message)
        assert found.rule == "from now on" and "\u200b" not in found.text

    def test_a_text_that_turns_round_is_kept_as_it_reads(self) -> None:
        (found,) = recognise("From now on, answer in \u202eFrench\u202c.")
        assert found.text == "From now on, answer in French."


class Counting:
    """An embedder that counts what it is asked for."""

    def __init__(self, inner: Embedder) -> None:
        self.inner, self.name, self.dimension, self.c0 = inner, inner.name, inner.dimension, inner.c0
        self.texts = 0

    def encode_query(self, texts: Sequence[str]) -> Vectors:
        self.texts += len(texts)
        return self.inner.encode_query(texts)

    encode_document = encode_query


def test_kinds_have_a_name() -> None:
    assert set(load_softmax(recogniser.WEIGHTS).kinds) == set(recogniser.NAMES)
