"""Cutting a document into parent chunks (what the model reads) and child chunks (what search matches).

Every chunk is an exact slice of the document, so its offsets can be audited. Knows nothing about files or indexes.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from retrieval.text import Span, sentences

_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(r"```|~~~")
# So many characters of headings go before a chunk: a "heading" may be a whole page, and must not hide the chunk.
_HEADINGS = 200
# Where a sentence that is too long may be cut, best first: behind white space, behind a Chinese or Japanese comma.
_CUTS = (" \t\u3000", "，、：")


@dataclass(frozen=True, slots=True)
class Parent:
    """One parent chunk: its span in the document, the spans of its children, and the headings it stands under."""

    span: Span
    children: tuple[Span, ...]
    headings: tuple[str, ...]


def split_document(text: str, child: int = 200, parent: int = 600) -> list[Parent]:
    """Split `text` on sentence borders into parents of at most `parent` characters, each with children of at most
    `child` characters. Neighbouring chunks share one sentence where it takes at most a third of the chunk.

    A Markdown heading begins a new parent, unless only headings stand before it. A sentence longer than a chunk is
    cut, at white space or a comma where there is any. Raises ValueError unless 0 < child <= parent. Sizes: published
    ARPM defaults.
    """
    if not 0 < child <= parent:
        raise ValueError(f"child size must be between 1 and the parent size; got {child} and {parent}")
    parents = []
    for headings, section in _sections(text, sentences(text)):
        starts = [span.start for span in section]
        for span in _pack(_fitting(text, section, parent), parent):
            inner = section[bisect_right(starts, span.start) - 1 : bisect_left(starts, span.end)]
            clipped = [Span(max(s.start, span.start), min(s.end, span.end)) for s in inner]
            children = tuple(_pack(_fitting(text, clipped, child), child))
            parents.append(Parent(span, children, headings))
    return parents


def missing_headings(headings: Sequence[str], text: str) -> str:
    """The headings above a chunk that its `text` does not hold itself, outermost first; empty where it holds all."""
    return " › ".join(heading for heading in headings if heading not in text)[:_HEADINGS]


def under_headings(headings: Sequence[str], text: str) -> str:
    """A chunk as search sees it: its text behind the headings that it lacks.

    A section seldom names what its document is about; its headings do.
    """
    above = missing_headings(headings, text)
    return f"{above}\n{text}" if above else text


def _sections(text: str, spans: Iterator[Span]) -> Iterator[tuple[tuple[str, ...], list[Span]]]:
    """Group sentences by the Markdown headings above them. A # in a code fence is a comment, not a heading."""
    path: list[tuple[int, str]] = []
    section: list[Span] = []
    fenced = has_body = False
    for span in spans:
        begins_line = span.start == 0 or text[span.start - 1] == "\n"
        fenced ^= begins_line and _FENCE.match(text, span.start) is not None
        heading = _HEADING.match(text, span.start) if begins_line and not fenced else None
        if heading:
            if has_body:
                yield tuple(title for _, title in path), section
                section, has_body = [], False
            level = len(heading[1])
            path = [(above, title) for above, title in path if above < level]
            path.append((level, heading[2].rstrip("# \t\r")))
        has_body |= heading is None
        section.append(span)
    if section:
        yield tuple(title for _, title in path), section


def _fitting(text: str, spans: Sequence[Span], size: int) -> list[Span]:
    """The spans, with those longer than `size` cut into pieces that fit."""
    pieces = []
    for start, end in spans:
        while end - start > size:
            cut = _cut(text, start, size)
            pieces.append(Span(start, cut))
            start = cut
        pieces.append(Span(start, end))
    return pieces


def _cut(text: str, start: int, size: int) -> int:
    """Where to cut a piece of at most `size` characters: in its second half at a good place, else at its full size."""
    for marks in _CUTS:
        place = max(text.rfind(mark, start + size // 2, start + size) for mark in marks)
        if place >= 0:
            return place + 1
    return start + size


def _pack(spans: Sequence[Span], size: int) -> Iterator[Span]:
    """Join neighbouring spans into chunks of at most `size` characters, repeating a short last sentence."""
    first = 0
    for index in range(1, len(spans) + 1):
        if index < len(spans) and spans[index].end - spans[first].start <= size:
            continue
        yield Span(spans[first].start, spans[index - 1].end)
        last = spans[index - 1]
        repeat = (
            index < len(spans)
            and index - 1 > first
            and (last.end - last.start) * 3 <= size
            and spans[index].end - last.start <= size
        )
        first = index - 1 if repeat else index
