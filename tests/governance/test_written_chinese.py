"""What the recogniser reads of words: grams in a hashed table, and Chinese in one kind of characters."""

from __future__ import annotations

import time

import numpy as np
import pytest

from governance.softmax import together
from governance.word_grams import SIZE, places, table
from governance.written_chinese import as_read


class TestGrams:
    def test_the_same_on_every_machine(self) -> None:
        assert places("no emojis") == sorted(set(places("No  EMOJIS"))) and places("ok") == places("ok ")
        assert places("\u597d") == [1294]

    def test_nothing_has_no_places(self) -> None:
        assert places("") == places(" \n") == []
        assert not table(["", "\ud800"])[0].any()

    def test_a_misspelled_word_shares_most_of_its_parts(self) -> None:
        right, wrong, other = (set(places(word)) for word in ("emojis", "emojjis", "kitchen"))
        assert len(right & wrong) >= 5 > len(right & other) + 3

    def test_rows_have_length_one(self) -> None:
        rows = table(["answer in French", "\u8bf7\u7528\u6cd5\u8bed\u56de\u7b54"])
        assert rows.shape == (2, SIZE) and np.allclose((rows**2).sum(axis=1), 1)

    def test_a_long_text_takes_no_time(self) -> None:
        start = time.process_time()
        places("a" * 1_000_000)
        assert time.process_time() - start < 1


class TestTogether:
    def test_the_geometric_mean(self) -> None:
        one, two = np.array([[0.9, 0.1]], np.float32), np.array([[0.1, 0.9]], np.float32)
        assert np.allclose(together(one, two), 0.5) and np.allclose(together(one, one), one, atol=1e-6)

    def test_a_kind_that_is_ruled_out_is_still_a_number(self) -> None:
        assert np.isfinite(together(np.array([[1.0, 0.0]], np.float32), np.array([[0.0, 1.0]], np.float32))).all()


class TestWrittenChinese:
    @pytest.mark.parametrize(
        ("written", "read"),
        [
            ("以後都用繁體中文回答。", "以后都用繁体中文回答。"),
            ("從而家開始，唔好用表情。", "从现在开始，不要用表情。"),
            ("成日道歉", "老是道歉"),
            ("语言改成日语。", "语言改成日语。"),
            ("以后都用中文。", "以后都用中文。"),
            ("Answer in French.", "Answer in French."),
            ("日本語で答えて", "日本語で答えて"),
            ("", ""),
        ],
    )
    def test_it_is_read_in_one_kind_of_characters(self, written: str, read: str) -> None:
        assert as_read(written) == read
