"""The instruments by which tests measure work without a clock, and the order in which files begin."""

from __future__ import annotations

import re

import pytest

from retrieval.chunking import split_document
from tests.patience import ROOT, lines_run, seconds, soon
from tests.slow import SLOWEST_FIRST


def test_lines_are_counted_anew_in_each_round_and_of_this_project_only() -> None:
    text = "The kettle is red. " * 50
    once = lines_run(lambda: split_document(text))
    assert once == lines_run(lambda: split_document(text)) > 50
    assert lines_run(lambda: [split_document(text) for _ in range(3)]) == 3 * once
    assert lines_run(lambda: [number for number in range(1000)]) == 0  # noqa: C416  (rounds of a loop)


def test_a_search_that_takes_the_square_is_not_soon() -> None:
    """What a pattern does is no line, so it has to be caught by its time."""
    trap = re.compile("(?:a+)+b")
    assert soon(lambda: trap.match("a" * 10)) is None
    with pytest.raises(AssertionError, match="of the processor"):
        soon(lambda: trap.match("a" * 24), limit=0.01)
    assert seconds(lambda: trap.match("a" * 24)) > 0.01


@pytest.mark.parametrize("name", SLOWEST_FIRST)
def test_files_that_begin_first_are_there(name: str) -> None:
    assert (ROOT / name).is_file()


def test_none_begins_twice() -> None:
    assert len(set(SLOWEST_FIRST)) == len(SLOWEST_FIRST)
