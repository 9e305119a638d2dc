"""Text as it may enter a memory: usable, its language, its sentences."""

from __future__ import annotations

import pytest

from retrieval.text import has_cjk, language, sentences, usable
from tests.patience import soon


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


class TestUsable:
    def test_nul_and_unpaired_surrogates_become_replacement_characters(self) -> None:
        """A lone surrogate cannot be written as UTF-8; a NUL ends a C string."""
        cleaned = usable("a\x00b\ud800c")
        assert cleaned == "a\ufffdb\ufffdc"
        assert cleaned.encode("utf-8")

    @pytest.mark.parametrize("text", ["", "plain", "中文，全角。", "😀 is a pair in UTF-16"])
    def test_other_text_stays_as_it_is(self, text: str) -> None:
        assert usable(text) == text


class TestLanguage:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("What did I say?", "en"),
            ("我说了什么？", "zh"),
            ("请解释 Python 的 list", "zh"),
            ("The word 猫 means cat in this sentence", "en"),
            ("", "en"),
            ("1234 !?", "en"),
        ],
    )
    def test_a_fifth_of_han_letters_makes_chinese(self, text: str, expected: str) -> None:
        assert language(text) == expected

    def test_cjk_covers_japanese_and_korean(self) -> None:
        assert has_cjk("かな") and has_cjk("서울") and has_cjk("𠀀")
        assert not has_cjk("plain, naïve, Ωmega")


class TestSentences:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
            ("第一句。第二句！第三句？第四句；第五句", ["第一句。", "第二句！", "第三句？", "第四句；", "第五句"]),
            ("他说：“走吧！”然后走了。", ["他说：“走吧！”", "然后走了。"]),
            ("「行。」她点头。", ["「行。」", "她点头。"]),
            ("真的吗?是的!好", ["真的吗?", "是的!", "好"]),
            ("是吗？！好……走", ["是吗？！", "好……", "走"]),
            ("Really?! Yes...", ["Really?!", "Yes..."]),
            ("first line\nsecond line\n\nthird", ["first line", "second line", "third"]),
            ("windows\r\nlines", ["windows", "lines"]),
            ("She lives in the U.S. He does not.", ["She lives in the U.S.", "He does not."]),
            ("  spaced out.  \t Yes.  ", ["spaced out.", "Yes."]),
        ],
    )
    def test_borders_in_english_and_chinese(self, text: str, expected: list[str]) -> None:
        assert cut(text) == expected

    @pytest.mark.parametrize(
        "text",
        [
            "Pi is 3.14 and a version is 4.1.0 here",
            "See http://example.org/?a=1&b!c for more",
            "Ask Dr. Smith, Mrs. Jones or Prof. Li about it",
            "Some fruit, e.g. apples, is red",
            "Add a postscript starting with P.S. at the end",
            "We met at 9 a.m. on the U.S. border",
            'He said "Go!" and left',
            "没有句号的一句话",
        ],
    )
    def test_marks_inside_a_sentence_are_no_borders(self, text: str) -> None:
        """A question mark in an address, a dot of an abbreviation or number used to cut the sentence."""
        assert cut(text) == [text]

    def test_a_closing_quote_belongs_to_its_sentence(self) -> None:
        assert cut('She said "Stop." Then she left.') == ['She said "Stop."', "Then she left."]

    @pytest.mark.parametrize("text", ["", "   ", "\n\n\n"])
    def test_blank_text_has_no_sentence(self, text: str) -> None:
        assert cut(text) == []

    @pytest.mark.parametrize("text", ["." * 300_000, '."' * 150_000, "!" * 300_000, '."' + " " * 300_000 + "x"])
    def test_marks_without_end_take_linear_time(self, text: str) -> None:
        """A document of dots hung the server: every dot was tried as the start of the same run."""
        assert soon(lambda: list(sentences(text)))
