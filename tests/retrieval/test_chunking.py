"""Documents cut into parents and children, every one an exact slice."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.chunking import Parent, missing_headings, split_document, under_headings
from retrieval.text import Span
from tests.patience import lines_run, soon

ENGLISH = "The library opens at nine. It closes at six! Is it open on Sunday? No; only the café is. "
CHINESE = "图书馆九点开门。六点关门！星期天开吗？不开；只有咖啡馆开。他说：“明天见。”"


def slices(text: str, parents: list[Parent]) -> list[str]:
    return [text[slice(*parent.span)] for parent in parents]


def children(text: str, parents: list[Parent]) -> list[str]:
    return [text[slice(*child)] for parent in parents for child in parent.children]


class TestSizes:
    @pytest.mark.parametrize("text", [ENGLISH * 40, CHINESE * 60, (ENGLISH + CHINESE) * 30])
    def test_no_chunk_is_longer_than_asked_and_none_is_blank(self, text: str) -> None:
        parents = split_document(text)
        assert len(parents) > 3
        assert all(len(chunk.strip()) > 0 and len(chunk) <= 600 for chunk in slices(text, parents))
        assert all(len(chunk.strip()) > 0 and len(chunk) <= 200 for chunk in children(text, parents))

    @pytest.mark.parametrize("text", [ENGLISH * 40, CHINESE * 60])
    def test_chunks_end_on_sentence_borders(self, text: str) -> None:
        parents = split_document(text)
        assert all(chunk[-1] in ".!?;。！？；”" for chunk in [*slices(text, parents), *children(text, parents)])

    @pytest.mark.parametrize(("child", "parent"), [(0, 600), (-1, 5), (300, 200)])
    def test_impossible_sizes_are_refused(self, child: int, parent: int) -> None:
        with pytest.raises(ValueError, match="child size must be between 1 and the parent size"):
            split_document("text", child, parent)

    @pytest.mark.parametrize("text", ["", " \n\t\n "])
    def test_an_empty_document_has_no_chunks(self, text: str) -> None:
        assert split_document(text) == []


class TestNothingIsLost:
    @settings(max_examples=150, deadline=None)
    @given(
        text=st.text(alphabet="ab c.。！？；，”\n#`字词，1", max_size=400),
        child=st.integers(1, 30),
        extra=st.integers(0, 60),
    )
    def test_every_character_but_white_space_is_in_a_child_within_its_parent(
        self, text: str, child: int, extra: int
    ) -> None:
        parents = split_document(text, child, child + extra)
        covered: set[int] = set()
        for parent in parents:
            assert parent.span.end - parent.span.start <= child + extra
            for span in parent.children:
                assert parent.span.start <= span.start < span.end <= parent.span.end
                assert span.end - span.start <= child
                covered.update(range(*span))
        assert all(text[place].isspace() for place in range(len(text)) if place not in covered)

    @pytest.mark.parametrize("text", ["字" * 3000, "x" * 3000, "word " * 600, "词，" * 1000])
    def test_a_document_without_any_sentence_break_is_cut_all_the_same(self, text: str) -> None:
        parents = split_document(text)
        assert "".join(slices(text, parents)).replace(" ", "") == text.replace(" ", "")
        assert max(map(len, children(text, parents))) <= 200

    def test_a_long_sentence_is_cut_at_white_space_or_a_comma(self) -> None:
        english, chinese = "alpha beta gamma " * 100, "春天来了，花开满园，" * 100
        assert all(chunk.strip().split()[-1] in ("alpha", "beta", "gamma") for chunk in _cut(english))
        assert all(chunk.endswith("，") for chunk in _cut(chinese)[:-1])


def _cut(text: str) -> list[str]:
    return slices(text, split_document(text))


class TestOverlap:
    def test_neighbours_share_one_short_sentence(self) -> None:
        text = "".join(f"Sentence number {number} is here. " for number in range(100))
        spans = [parent.span for parent in split_document(text)]
        for before, after in itertools.pairwise(spans):
            shared = text[after.start : before.end]
            assert shared.startswith("Sentence number") and shared.count(".") == 1

    def test_a_long_last_sentence_is_not_repeated(self) -> None:
        text = ("长" * 59 + "。") * 4
        spans = [parent.span for parent in split_document(text, 70, 140)]
        assert len(spans) > 1
        assert all(after.start >= before.end for before, after in itertools.pairwise(spans))


class TestHeadings:
    TEXT = "# Guide\n\n## Opening hours\nNine to six.\n\n## 价格 ##\n成人十元。\n### Children\nFree.\n# Other\nEnd."

    def test_each_section_is_a_parent_under_its_headings(self) -> None:
        parents = split_document(self.TEXT)
        assert [parent.headings for parent in parents] == [
            ("Guide", "Opening hours"),
            ("Guide", "价格"),
            ("Guide", "价格", "Children"),
            ("Other",),
        ]
        assert slices(self.TEXT, parents)[1] == "## 价格 ##\n成人十元。"

    def test_a_heading_without_text_is_no_chunk_of_its_own(self) -> None:
        """Two words of a title came back as evidence that said nothing."""
        assert slices(self.TEXT, split_document(self.TEXT))[0].startswith("# Guide\n\n## Opening hours\nNine")

    @pytest.mark.parametrize("mark", ["```", "~~~"])
    def test_a_comment_in_a_code_fence_is_no_heading(self, mark: str) -> None:
        text = f"# Code\nRun this.\n{mark}python\n# a comment\nprint(1)\n{mark}\n# After\nDone."
        assert [parent.headings for parent in split_document(text)] == [("Code",), ("After",)]

    @pytest.mark.parametrize("text", ["#hashtag is here", "Number # 5 is alive", "  # indented", "####### seven"])
    def test_other_number_signs_are_no_headings(self, text: str) -> None:
        assert [parent.headings for parent in split_document(text)] == [()]

    def test_a_tab_after_the_mark_is_a_heading_of_its_level(self) -> None:
        text = "# A\nx.\n##\tB\ny.\n# C\nz."
        assert [parent.headings for parent in split_document(text)] == [("A",), ("A", "B"), ("C",)]


class TestMissingHeadings:
    TITLES = ("Guide", "Opening hours")

    def test_headings_that_the_text_holds_are_not_repeated(self) -> None:
        assert missing_headings(self.TITLES, "# Guide\n## Opening hours\nNine.") == ""
        assert missing_headings(self.TITLES, "## Opening hours\nNine.") == "Guide"
        assert missing_headings(self.TITLES, "Nine.") == "Guide › Opening hours"
        assert missing_headings((), "Nine.") == ""

    def test_search_reads_them_before_the_text(self) -> None:
        assert under_headings(self.TITLES, "Nine.") == "Guide › Opening hours\nNine."
        assert under_headings((), "九点。") == "九点。"
        assert under_headings(("指南",), "九点。") == "指南\n九点。"

    def test_a_page_for_a_heading_does_not_hide_the_text(self) -> None:
        """A line of 20,000 characters behind a # went before every chunk and into every vector."""
        assert len(under_headings(("长" * 20_000, "b"), "Nine.")) < 300


class TestSpeed:
    TEXTS = (ENGLISH * 2_850, CHINESE * 2_250, "字" * 85_000)

    @pytest.mark.parametrize("text", TEXTS)
    def test_four_times_the_text_takes_four_times_the_work(self, text: str) -> None:
        """Every parent looked through every sentence of its section: minutes for a book."""
        short, long = (lines_run(lambda times=times: split_document(text[:10_000] * times)) for times in (1, 4))
        assert 100 < long < 5 * short

    @pytest.mark.parametrize("text", TEXTS)
    def test_a_book_is_cut_soon(self, text: str) -> None:
        book = text * 4
        assert len(book.encode()) >= 1_000_000
        parents = soon(lambda: split_document(book))
        assert isinstance(parents[-1].span, Span) and parents[-1].span.end == len(book.rstrip())
