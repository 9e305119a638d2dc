"""The classifier behind the rules: what it adds to them, its bounds, and that its weights belong to what they say."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

import pytest

from benchmarks.examples import FOLDER, digest, marked, read_examples, recogniser_files
from benchmarks.recogniser import BEFORE, DEVELOPMENT, HELD_OUT
from governance import recogniser
from governance.instructions import _told, recognise
from governance.rule_rates import counts, probability_of
from governance.softmax import load_softmax
from retrieval.embedding import e5_adapted, load_embedder
from retrieval.embedding.adapter import Adapter
from retrieval.embedding.base import Embedder, Vectors
from tests.governance.test_instructions import ADDED, LEFT_ALONE, RETIRED


@pytest.fixture(scope="module")
def e5() -> Embedder:
    return load_embedder("e5")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """For each time that the encoder is run the tokens of each sentence it reads."""
    found, encode = list[list[int]](), e5_adapted.AdaptedE5.encode

    def counted(encoder: e5_adapted.AdaptedE5, sentences: Sequence[list[int]]) -> Vectors:
        found.append([len(tokens) for tokens in sentences])
        return encode(encoder, sentences)

    monkeypatch.setattr(e5_adapted.AdaptedE5, "encode", counted)
    return found


@pytest.fixture(scope="module")
def trained() -> set[str]:
    """The messages of the examples, of a line with slots as many as there are likely to be."""
    read = [example for path in recogniser_files() for example in read_examples(path, 200)]
    return {marked(example.message)[0].casefold() for example in read}


class TestWeights:
    def test_importance_is_trained_on_the_examples_that_are_here_and_for_the_default_embedder(
        self, e5: Embedder
    ) -> None:
        model = load_softmax("importance")
        assert model.embedder == e5.name
        assert model.examples == digest(FOLDER / "importance.txt"), "run `python -m benchmarks.training importance`"
        assert len(model.cues) + e5.dimension == model.weights.shape[1]

    def test_so_is_the_recogniser(self, e5: Embedder) -> None:
        held = recogniser.weights().layer
        assert held.embedder == e5.name
        assert held.examples == digest(*recogniser_files()), "run `python -m benchmarks.training recogniser`"
        assert held.weights.shape == (len(recogniser.NAMES), e5.dimension) and held.bias.shape == (len(held.kinds),)
        assert set(held.kinds) == set(recogniser.NAMES) and 0 < held.threshold < 1
        rates = json.loads((files("governance") / "weights" / "rules.json").read_text("utf-8"))
        assert rates["examples"] == held.examples

    def test_they_are_small(self) -> None:
        folder = files("governance") / "weights"
        assert sum(len(entry.read_bytes()) for entry in folder.iterdir()) < 2_000_000

    @pytest.mark.parametrize("path", [*DEVELOPMENT.values(), *BEFORE.values(), HELD_OUT], ids=lambda path: path.stem)
    def test_nothing_that_is_evaluated_is_among_the_examples(self, trained: set[str], path: Path) -> None:
        lines = path.read_text("utf-8").splitlines()
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
        """What has words for lasting may take back as well ("don't call me that any more"), and is added otherwise."""
        for message in (*ADDED, *RETIRED):
            together = {one.text: one for one in recognise(message, e5)}
            for one in recognise(message):
                found = together[one.text]
                assert found.action == one.action or (found.action == "retire" and found.or_add)

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
            "和我聊天用英文就好。",
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

    @pytest.mark.parametrize(
        ("kind", "text", "action", "or_add"),
        [
            ("takeback", "表格我手机上看不了，别再发表格了哈", "retire", True),
            ("takeback", "No more tables, will you?", "retire", True),
            ("takeback", "表格又可以用了", "retire", False),
            ("takeback", "Tables are okay after all.", "retire", False),
            ("change", "Rate each of them from 1 to 5 then.", "replace", True),
            ("change", "That only goes for recipes.", "narrow", False),
        ],
    )
    def test_what_forbids_or_names_another_way_is_kept_where_nothing_matches(
        self, kind: str, text: str, action: str, or_add: bool
    ) -> None:
        """Bug class: what was taken for taking back and matched nothing was lost, though it says what is wanted."""
        decided = _told(recogniser.reading({**dict.fromkeys(recogniser.NAMES, 0.0), kind: 0.9}, 0.2), text)
        assert decided is not None and (decided[0], decided[-1]) == (action, or_add)

    @pytest.mark.parametrize("message", ["我们用英文聊吧", "Let's chat in Spanish", "说话直接一点", "No emojis please"])
    def test_a_full_stop_changes_nothing(self, e5: Embedder, message: str) -> None:
        """Bug class: with a full stop behind it a clear instruction was none."""
        for typed in (message, message + ("." if message.isascii() else "。")):
            assert [one.action for one in recognise(typed, e5)] == ["add"]

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

    @pytest.mark.parametrize("place", [0, 20, 39])
    @pytest.mark.parametrize(
        ("asked", "talk"),
        [
            ("Please speak Spanish with me.", "On day {} it rained and we had soup at the neighbours' house."),
            ("跟我说话用大白话。", "第{}天我们去市场买了蔬菜，然后一起做了晚饭。"),
        ],
    )
    def test_what_is_asked_in_the_middle_of_a_long_message_is_found(
        self, e5: Embedder, asked: str, talk: str, place: int
    ) -> None:
        """Bug class: the middle of a long message was never read."""
        said = [talk.format(day) for day in range(1, 40)]
        said.insert(place, asked)
        assert [one.text for one in recognise(" ".join(said), e5)] == [asked]

    def test_so_much_of_a_message_is_read_and_no_more(self, e5: Embedder, read: list[list[int]]) -> None:
        for message in ("We write to you in French. " * 500, "We never write to you " * 20 + ".", "好" * 499):
            recognise(message, e5)
        tokens = [sum(lengths) for lengths in read]
        assert 50 < tokens[0] < 62 and tokens[1:] == [58, 58]

    def test_however_many_rules_are_doubted_it_is_read_once(self, e5: Embedder, read: list[list[int]]) -> None:
        """Bug class: a text in which many rules fired on words that only look alike took a reading for each of them."""
        house_rules = " ".join(f"All visitors of house {n} have to sign in from now on." for n in (1, 2, 3))
        assert recognise(f"We moved to Ghent. {house_rules}", e5) == []
        assert [len(sentences) for sentences in read] == [4]

    def test_another_embedder_is_refused(self) -> None:
        with pytest.raises(ValueError, match="was trained on"):
            recogniser.read(["Speak French with me."], load_embedder("hashing"))

    def test_two_first_messages_at_once_open_the_encoder_once(
        self, monkeypatch: pytest.MonkeyPatch, e5: Embedder
    ) -> None:
        opened, real = list[Adapter](), e5_adapted.AdaptedE5
        monkeypatch.setattr(e5_adapted, "AdaptedE5", lambda adapter, threads: opened.append(adapter) or real(adapter))
        recogniser._opened.cache_clear()
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda text: recogniser.read([text], e5), ["Speak French with me."] * 2))
        assert len(opened) == 1 and found[0] == found[1]

    @pytest.mark.parametrize(
        "message", ["Ｆｒｏｍ ｎｏｗ ｏｎ, answer in French.", "From\u200b now\u2060 on, answer in French."]
    )
    def test_odd_characters_hide_nothing(self, message: str) -> None:
        (found,) = recognise(message)
        assert found.rule == "from now on" and "\u200b" not in found.text

    def test_a_text_that_turns_round_is_kept_as_it_reads(self) -> None:
        (found,) = recognise("From now on, answer in \u202eFrench\u202c.")
        assert found.text == "From now on, answer in French."


class TestReading:
    """What the probabilities of the kinds come to."""

    def test_kinds_of_standing_instructions_count_together(self) -> None:
        said = dict.fromkeys(recogniser.NAMES, 0.0) | {"standing": 0.3, "manner": 0.35, "task": 0.35}
        found = recogniser.reading(said, threshold=0.5)
        assert (found.kind, found.standing, found.probability) == ("manner", *[pytest.approx(0.65)] * 2)
        assert found.reason == "classifier: nearest to how to talk with the person; next: for this task only"

    def test_below_the_threshold_it_is_the_likeliest_of_the_others(self) -> None:
        said = dict.fromkeys(recogniser.NAMES, 0.0) | {"standing": 0.4, "task": 0.25, "takeback": 0.35}
        found = recogniser.reading(said, threshold=0.5)
        assert (found.kind, found.probability, found.asks) == ("takeback", 0.35, 0.75)


class TestContext:
    """A sentence is read beside the others of its message."""

    def test_a_constraint_beside_a_task_is_the_task_s(self, e5: Embedder) -> None:
        alone, beside = (
            "Keep it short with me, please.",
            "Write a poem about frogs for my niece. Keep it short, please.",
        )
        assert [one.action for one in recognise(alone, e5)] == ["add"]
        assert recognise(beside, e5) == []

    def test_what_is_taken_back_without_a_word_that_a_rule_knows(self, e5: Embedder) -> None:
        (found,) = recognise("The exam is over. You may talk in English with me again.", e5)
        assert (found.action, found.text) == ("retire", "You may talk in English with me again.")
