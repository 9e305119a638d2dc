"""Words for lexical search, the same in every language and on every machine."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.tokens import STOP_CHARACTERS, STOP_WORDS, tokenize


def shared(one: str, other: str) -> set[str]:
    return set(tokenize(one)) & set(tokenize(other))


class TestEnglish:
    def test_words_are_stemmed_and_stop_words_dropped(self) -> None:
        assert tokenize("I was running with the dogs") == ["run", "dog"]
        assert shared("painted several paintings", "she likes to paint") == {"paint"}

    @pytest.mark.parametrize("text", ["don't", "didn't", "won’t", "isn't", "I'm", "you're", "we'll", "they've", "it's"])
    def test_contractions_leave_nothing_behind(self, text: str) -> None:
        """ "didn't" left the token "didn", which matched every other "didn't"."""
        assert tokenize(text) == []

    def test_possessives_match_and_other_apostrophes_belong_to_the_word(self) -> None:
        assert tokenize("Caroline's") == tokenize("CAROLINE")
        assert tokenize("O’Brien") == ["o'brien"]

    @pytest.mark.parametrize("text", ["", "   ", "?!", "who are you and what is it", "_ - _"])
    def test_text_of_stop_words_and_marks_has_no_tokens(self, text: str) -> None:
        assert tokenize(text) == []


class TestChinese:
    def test_single_characters_are_kept(self) -> None:
        """Trap 10: single Chinese characters were dropped from the query, so 猫 found nothing."""
        assert tokenize("猫") == ["猫"]
        assert "猫" in shared("我养了一只猫", "猫叫什么名字？")

    def test_a_sentence_is_not_one_token(self) -> None:
        tokens = tokenize("我喜欢在北京吃烤鸭")
        assert "北京" in tokens and "烤鸭" in tokens
        assert len(tokens) > 6

    def test_function_characters_are_dropped_alone_and_kept_in_pairs(self) -> None:
        tokens = tokenize("目的")
        assert tokens == ["目", "目的"]
        assert not STOP_CHARACTERS & set(tokenize("我的天啊，你在哪"))

    def test_ten_different_questions_do_not_share_their_words(self) -> None:
        """Ten different Chinese questions returned mostly the same memories: they shared 什么 and 的."""
        questions = ["我的猫叫什么？", "他在哪里工作？", "生日是什么时候？", "你喜欢什么颜色？", "会议改到几点了？"]
        sets = [set(tokenize(question)) for question in questions]
        assert all(sets)
        assert not set.intersection(*sets)
        assert all(len(a & b) <= 1 for a in sets for b in sets if a is not b)


class TestOtherScripts:
    @pytest.mark.parametrize(
        ("text", "token"),
        [
            ("東京タワーへ行きました", "東京"),
            ("人々の時代", "人々"),
            ("二〇二六年", "〇二"),
            ("ﾊﾞｰｼﾞｮﾝ", "バー"),
            ("서울에서 만나요", "서울"),
            ("naïve café", "café"),
            ("Привет мир", "привет"),
        ],
    )
    def test_every_script_has_tokens(self, text: str, token: str) -> None:
        assert token in tokenize(text)

    def test_full_width_equals_half_width(self) -> None:
        assert tokenize("Ｐｙｔｈｏｎ　３．１１") == tokenize("python 3.11") == ["python", "3.11"]

    def test_scripts_side_by_side_are_told_apart(self) -> None:
        assert tokenize("版本v2.1发布") == ["版", "本", "版本", "2.1", "发", "布", "发布"]


class TestNumbers:
    def test_versions_stay_whole_with_or_without_their_v(self) -> None:
        assert tokenize("v4.1.0") == tokenize("4.1.0") == ["4.1.0"]
        assert not shared("version 4.1.0", "version 4.1.1") - {"version"}

    @pytest.mark.parametrize("date", ["2023-05-08", "2023/5/8", "2023.5.8", "2023年5月8日", "2023年05月08号"])
    def test_a_date_is_the_same_in_every_spelling_and_its_year_matches_alone(self, date: str) -> None:
        assert tokenize(date) == ["2023-5-8", "2023", "5", "8"]
        assert shared(date, "What happened in 2023?") == {"2023"}

    @pytest.mark.parametrize(
        ("text", "tokens"),
        [
            ("1,000,000", ["1000000"]),
            ("1,234.5", ["1234.5"]),
            ("3.14", ["3.14"]),
            ("08:30", ["08:30"]),
            ("1,2,3", ["1,2,3"]),
            ("12023-05-08", ["12023-05-08"]),
            ("2023.05.08.1", ["2023.05.08.1"]),
            ("42", ["42"]),
        ],
    )
    def test_other_numbers(self, text: str, tokens: list[str]) -> None:
        assert tokenize(text) == tokens


class TestStability:
    @given(st.text(max_size=200))
    def test_any_text_gives_tokens_that_are_not_stop_words(self, text: str) -> None:
        tokens = tokenize(text)
        assert all(tokens) and tokens == tokenize(text)
        assert not set(tokens) & STOP_CHARACTERS

    def test_stop_words_are_dropped_whatever_their_case(self) -> None:
        assert tokenize(" ".join(word.upper() for word in sorted(STOP_WORDS))) == []

    def test_every_process_gives_the_same_tokens(self) -> None:
        """A hashed set order or a salted hash would make replay depend on the process."""
        text = "Running dogs 在北京吃烤鸭 v2.1 2023-05-08"
        code = f"from retrieval.tokens import tokenize; print(tokenize({text!r}))"
        root = Path(__file__).parents[2]
        outputs = {
            subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
                cwd=root,
                capture_output=True,
                check=True,
                encoding="utf-8",
            ).stdout.strip()
            for seed in ("1", "2")
        }
        assert outputs == {str(tokenize(text))}

    def test_threads_do_not_disturb_each_other(self) -> None:
        """PyStemmer's objects are not safe to share between threads."""
        texts = [f"running{number} painted{number} houses{number} 北京{number}" for number in range(200)]
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(tokenize, texts)) == [tokenize(text) for text in texts]
