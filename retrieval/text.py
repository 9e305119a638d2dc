"""Text as it may enter a memory: decodable, without NUL or unpaired surrogates; its language; its sentences.

Pure functions. Knows nothing about chunks or tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

Language = Literal["en", "zh"]

# Han, kana and Hangul: the scripts written without spaces between words, or (Korean) with long agglutinated words.
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_CJK = re.compile(f"[{CJK}]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")
_UNUSABLE = re.compile("[\x00\ud800-\udfff]")

# A sentence ends after 。！？；… and after ! ? before a CJK character; after . ! ? before white space, unless it is an
# abbreviation's or the sentence goes on in lower case behind a closing quote or initials ("P.S."); and at a line's end.
# Closing quotes and brackets belong to it. Possessive quantifiers: a megabyte of dots takes linear time.
_CLOSING = "”’\"'」』）)\\]"
_BORDER = re.compile(
    rf"""[。！？；…][。！？；…!?.]*[{_CLOSING}]*
    |(?<![.!?])[!?]++[{_CLOSING}]*+(?=[{CJK}])
    |(?<![.!?])(?<!\b(?:Mr|Ms|Dr|St|vs))(?<!\bMrs)(?<!\bProf)(?<!\be\.g)(?<!\bi\.e)
        (?!(?<=\b[A-Za-z]\.[A-Za-z])\.\s+[a-z])[.!?]++
        (?:(?=\s)|[{_CLOSING}]++(?=\s+[^\sa-z]|\s*\Z))
    |\n+""",
    re.VERBOSE,
)
# Every border begins with one of these, and a set of characters is found twenty times as fast.
_MAY_END = re.compile("[。！？；….!?\n]")


class Span(NamedTuple):
    """A half-open range of character offsets."""

    start: int
    end: int


def usable(text: str) -> str:
    """`text` with NUL and unpaired surrogates replaced by U+FFFD, so that it can be stored as UTF-8 JSON."""
    return _UNUSABLE.sub("\ufffd", text)


def language(text: str) -> Language:
    """ "zh" when at least a fifth of the letters are Han characters, else "en"."""
    letters = len(_LETTER.findall(text))
    return "zh" if letters and len(_HAN.findall(text)) * 5 >= letters else "en"


def has_cjk(text: str) -> bool:
    """Whether `text` holds any Han, kana or Hangul character."""
    return _CJK.search(text) is not None


def sentences(text: str) -> Iterator[Span]:
    """The spans of the sentences of `text` in order, without surrounding white space; blank ones are left out."""
    start = at = 0
    while found := _MAY_END.search(text, at):
        if border := _BORDER.match(text, found.start()):
            yield from _stripped(text, start, border.end())
            start = at = border.end()
        else:
            # Of several of . ! ? it is the first that may begin a border.
            at = found.end()
            while text[at : at + 1] in (".", "!", "?"):
                at += 1
    yield from _stripped(text, start, len(text))


def _stripped(text: str, start: int, end: int) -> Iterator[Span]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield Span(start, end)
