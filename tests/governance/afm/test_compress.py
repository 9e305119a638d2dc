"""Compressors keep what the question asks about, keep their budget whatever happens, and keep questions apart."""

from __future__ import annotations

import threading

import pytest

from governance.afm.compress import (
    CompressionError,
    HeuristicCompressor,
    ModelCompressor,
    cached_count,
    compression_prompt,
    target_tokens,
    truncated,
)
from tests.governance.afm.support import HARD, words

ENGLISH = (
    "We arrived late in Ghent on Friday. The hotel is near the castle and costs ninety euros. "
    "My aunt Clara cannot climb stairs since her operation. The weather was mild all week. "
    "On Sunday we rent bicycles by the canal."
)
CHINESE = (
    "我们周五很晚才到根特。酒店在城堡旁边，一晚九十欧元。姨妈克拉拉手术后不能爬楼梯。"
    "整个星期天气都很暖和。周日我们在运河边租自行车。"
)


def compressor() -> HeuristicCompressor:
    return HeuristicCompressor(words)


class TestHeuristic:
    @pytest.mark.parametrize(
        ("text", "query", "kept"),
        [
            (ENGLISH, "Can Clara take the stairs?", "cannot climb stairs"),
            (ENGLISH, "What does the hotel cost?", "ninety euros"),
            (CHINESE, "克拉拉能爬楼梯吗？", "不能爬楼梯"),
            (CHINESE, "酒店多少钱？", "九十欧元"),
        ],
    )
    def test_keeps_what_the_question_asks_about(self, text: str, query: str, kept: str) -> None:
        short = compressor().compress(text, query, 20)
        assert kept in short.text
        assert words(short.text) <= 20 < words(text)
        assert short.note is None

    def test_marks_what_is_left_out_and_keeps_the_order(self) -> None:
        short = compressor().compress(ENGLISH, "stairs bicycles", 24).text
        assert (
            short
            == "… My aunt Clara cannot climb stairs since her operation. … On Sunday we rent bicycles by the canal."
        )

    def test_a_text_that_fits_is_returned_as_it_is(self) -> None:
        assert compressor().compress("  Two words ", "x", 2).text == "  Two words "

    def test_without_any_shared_word_the_beginning_is_kept(self) -> None:
        assert compressor().compress(ENGLISH, "zebra", 10).text.startswith("We arrived late in Ghent on Friday.")

    def test_a_single_long_sentence_is_cut_at_a_word_or_character(self) -> None:
        english = compressor().compress("one two three four five six seven eight nine ten", "x", 4).text
        assert english == "one two three four…"
        chinese = compressor().compress("没有标点的一大段话没有标点的一大段话", "段", 6).text
        assert chinese.endswith("…") and "没有标点的一大段话".startswith(chinese[:-1])
        assert 5 <= words(chinese) <= 6

    @pytest.mark.parametrize("budget", [0, -3])
    def test_no_budget_gives_no_text(self, budget: int) -> None:
        assert compressor().compress(ENGLISH, "stairs", budget).text == ""

    @pytest.mark.parametrize("text", ["", "   ", "\n"])
    def test_an_empty_text_gives_no_text(self, text: str) -> None:
        assert compressor().compress(text, "x", 5).text == ""

    @pytest.mark.parametrize("budget", [1, 2, 3, 5, 8, 13, 40])
    def test_never_exceeds_its_budget(self, budget: int) -> None:
        for text in HARD:
            for query in ("花生 过敏", "when does the train leave", ""):
                assert words(compressor().compress(text, query, budget).text) <= budget

    def test_is_deterministic(self) -> None:
        assert {compressor().compress(ENGLISH, "hotel", 18).text for _ in range(5)} == {
            compressor().compress(ENGLISH, "hotel", 18).text
        }

    def test_one_question_does_not_get_the_compression_of_another(self) -> None:
        """Bug of the published code: a compression made for one query was cached for the next."""
        one = compressor()
        first = one.compress(ENGLISH, "What does the hotel cost?", 14).text
        assert one.compress(ENGLISH, "Can Clara take the stairs?", 14).text != first


class TestTruncation:
    def test_a_word_longer_than_the_budget_is_cut_inside(self) -> None:
        assert truncated("x" * 50, 6, len) == "xxxxx…"

    def test_nothing_fits_into_less_than_the_mark(self) -> None:
        assert truncated("hello there", 1, lambda text: 2 * len(text)) == ""

    def test_a_count_that_is_not_monotone_never_leads_over_the_budget(self) -> None:
        def odd(text: str) -> int:
            return len(text) if len(text) % 3 else len(text) // 2

        for budget in range(1, 30):
            assert odd(truncated("a b c d e f g h i j k l m n o p", budget, odd)) <= budget


class TestTarget:
    def test_a_third_within_bounds(self) -> None:
        assert [target_tokens(n) for n in (1, 72, 90, 300, 10_000)] == [24, 24, 30, 100, 160]


class TestCachedCount:
    def test_a_text_is_counted_once(self) -> None:
        calls = []

        def count(text: str) -> int:
            calls.append(text)
            return len(text)

        cached = cached_count(count)
        assert [cached("ab"), cached("ab"), cached("c")] == [2, 2, 1]
        assert calls == ["ab", "c"]


class Model:
    """What a model writes, and what it was asked."""

    def __init__(self, *replies: str | Exception) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[str, int]] = []

    def __call__(self, prompt: str, budget: int) -> str:
        self.asked.append((prompt, budget))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        return reply


class TestModel:
    def test_shows_what_the_model_wrote(self) -> None:
        model = Model(" Clara cannot climb stairs. ")
        short = ModelCompressor(model, words).compress(ENGLISH, "stairs?", 10)
        assert (short.text, short.note) == ("Clara cannot climb stairs.", None)
        assert model.asked[0][1] == 10
        assert ENGLISH in model.asked[0][0] and "stairs?" in model.asked[0][0]

    def test_asks_in_the_language_of_the_message(self) -> None:
        assert "请把" in compression_prompt(CHINESE, "酒店？", 10)
        assert "{" not in compression_prompt("Braces {like} these", "{x}", 10).replace("{like}", "").replace("{x}", "")

    def test_an_overrun_is_cut_at_a_sentence_and_noted(self) -> None:
        model = Model("Clara cannot climb stairs. The hotel is dear and far from everything else in town.")
        short = ModelCompressor(model, words).compress(ENGLISH, "stairs?", 8)
        assert short.text == "Clara cannot climb stairs."
        assert short.note == "the model wrote 15 tokens for a budget of 8; cut"

    def test_an_overrun_of_one_sentence_is_cut_at_a_word_and_noted(self) -> None:
        short = ModelCompressor(Model("一二三四五六七八九十一二三四五六七八九十"), words).compress(CHINESE, "楼梯", 8)
        assert 7 <= words(short.text) <= 8
        assert short.text.endswith("…")
        assert short.note and "cut" in short.note

    @pytest.mark.parametrize("nothing", ["", "  \n"])
    def test_no_reply_falls_back_to_the_rule_and_is_noted(self, nothing: str) -> None:
        short = ModelCompressor(Model(nothing), words).compress(ENGLISH, "stairs", 12)
        assert short.text == compressor().compress(ENGLISH, "stairs", 12).text
        assert short.note == "the model returned nothing; shortened by rule"

    def test_a_failure_falls_back_and_the_next_call_tries_again(self) -> None:
        model = Model(CompressionError("no connection"), "Clara cannot climb.")
        one = ModelCompressor(model, words)
        first = one.compress(ENGLISH, "stairs", 12)
        assert first.text == compressor().compress(ENGLISH, "stairs", 12).text
        assert first.note == "the model failed (no connection); shortened by rule"
        assert one.compress(ENGLISH, "stairs", 12).text == "Clara cannot climb."

    def test_other_failures_are_named_by_the_caller_and_faults_are_not_hidden(self) -> None:
        named = ModelCompressor(Model(ConnectionError("gone")), words, failures=(ConnectionError,))
        assert named.compress(ENGLISH, "stairs", 12).note == "the model failed (gone); shortened by rule"
        with pytest.raises(ZeroDivisionError):
            ModelCompressor(Model(ZeroDivisionError()), words).compress(ENGLISH, "stairs", 12)

    def test_is_asked_once_for_text_question_and_budget(self) -> None:
        model = Model("first.", "second.", "third.", "fourth.")
        one = ModelCompressor(model, words)
        told = [
            one.compress(text, query, budget).text
            for text, query, budget in (
                (ENGLISH, "a", 9),
                (ENGLISH, "a", 9),
                (ENGLISH, "b", 9),
                (ENGLISH, "a", 8),
                (CHINESE, "a", 9),
            )
        ]
        assert told == ["first.", "first.", "second.", "third.", "fourth."]

    def test_forgets_the_oldest_beyond_its_size(self) -> None:
        model = Model("first.", "second.", "third.")
        one = ModelCompressor(model, words, size=1)
        assert [one.compress(ENGLISH, query, 9).text for query in "aba"] == ["first.", "second.", "third."]

    def test_a_text_that_fits_needs_no_model(self) -> None:
        model = Model("never")
        assert ModelCompressor(model, words).compress("Short enough.", "x", 5).text == "Short enough."
        assert ModelCompressor(model, words).compress("   ", "x", 5).text == ""
        assert model.asked == []

    def test_unusable_characters_are_replaced(self) -> None:
        assert ModelCompressor(Model("a\x00b \ud800"), words).compress(ENGLISH, "x", 9).text == "a\ufffdb \ufffd"

    def test_many_threads_ask_for_the_same(self) -> None:
        one = ModelCompressor(Model("Clara cannot climb stairs."), words, size=3)
        told: list[str] = []

        def ask(number: int) -> None:
            told.extend(one.compress(ENGLISH, f"q{place % 5}", 9).text for place in range(number, number + 50))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(told) == {"Clara cannot climb stairs."} and len(told) == 300
