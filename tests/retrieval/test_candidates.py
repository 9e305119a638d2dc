"""The values that cross rooms say what they say."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from retrieval.candidates import Query
from tests.retrieval.support import atom, document


class TestQuery:
    def test_the_role_prefix_is_the_papers(self) -> None:
        assert Query("何时见面？", "Mei", "Ada").augmented() == "[User Mei][Assistant Ada] 何时见面？"

    def test_a_query_cannot_be_changed_on_its_way(self) -> None:
        with pytest.raises(FrozenInstanceError):
            Query("q", "u", "c").text = "other"  # type: ignore[misc]


class TestMemories:
    def test_an_atom_is_the_users_words_and_the_reply_and_nothing_else(self) -> None:
        assert atom(1, "Hello.", "Good day.").text == "Mei: Hello.\nAda: Good day."
        assert atom(1, "Hello.").text == "Mei: Hello."
        assert atom(1, "").text == ""

    def test_a_chunk_names_its_file_and_headings(self) -> None:
        assert [chunk.source for chunk in document("d", "# A\nx.\n## B\ny.")] == ["notes.md › A", "notes.md › A › B"]
