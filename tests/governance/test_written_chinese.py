"""Chinese is read in one kind of characters, whichever it is written in."""

from __future__ import annotations

import pytest

from governance.written_chinese import as_read


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
