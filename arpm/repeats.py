"""Whether a text repeats words of another one: a stretch of them, or a number, that two texts do not share by accident.

A stretch is 16 characters in a row, or 6 of a script without spaces, which say more each. Of 1,000 pairs of utterances
of different people about 5 share one in English (LoCoMo) and about 8 in Chinese (MemoryBank). Case, width and white
space do not count. Shorter words, such as a name by itself, are not found. Pure functions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import accumulate

from retrieval.text import CJK

# 16 characters of 3 are as much as 6 of 8.
_ENOUGH, _NARROW, _WIDE = 48, 3, 8
_RUN = _ENOUGH // _NARROW
_IS_WIDE = re.compile(f"[{CJK}]")
_NUMBER = re.compile(r"\d(?:[ .,:/-]?\d){0,40}|[〇零一二三四五六七八九]{4,}")
_DIGITS = 4
_YEAR = re.compile(r"(?:19|20)\d\d")
_NUMERALS = str.maketrans("〇零一二三四五六七八九", "00123456789")


class _Weights(dict[str, int]):
    """How much a character tells, worked out once for each."""

    def __missing__(self, char: str) -> int:
        weight = self[char] = _WIDE if _IS_WIDE.match(char) else _NARROW
        return weight


_weights = _Weights()


def stretches(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of the shortest stretch that begins at each character and is long enough.

    Which one it is depends on its own characters alone, so the same words give the same stretches in any text.
    """
    if text.isascii():
        yield from ((start, start + _RUN) for start in range(len(text) - _RUN + 1))
        return
    sums = list(accumulate(map(_weights.__getitem__, text), initial=0))
    end = 0
    for start, before in enumerate(sums):
        while end < len(text) and sums[end] - before < _ENOUGH:
            end += 1
        if sums[end] - before < _ENOUGH:
            return
        yield start, end


def pieces(text: str) -> Iterator[str]:
    """The stretches of a text themselves."""
    if text.isascii():
        return (text[start : start + _RUN] for start in range(len(text) - _RUN + 1))
    return (text[start:end] for start, end in stretches(text))


class Words:
    """Words to look for in other texts."""

    def __init__(self, words: Iterable[str]) -> None:
        """Texts that are shorter than a stretch are found by their numbers only."""
        self._stretches: set[str] = set()
        self._numbers: set[str] = set()
        for text in words:
            folded = _folded(text)
            self._stretches.update(pieces(folded))
            self._numbers.update(_numbers(folded))

    def shared(self, text: str) -> str | None:
        """The longest stretch that a text repeats, else a number; None when it repeats nothing."""
        folded = _folded(text)
        if not self._stretches.isdisjoint(pieces(folded)):
            return self._longest(folded)
        return min(self._numbers.intersection(_numbers(folded)), default=None)

    def _longest(self, folded: str) -> str:
        longest = best = (0, 0)
        for start, end in stretches(folded):
            if folded[start:end] not in self._stretches:
                continue
            longest = (longest[0], end) if start <= longest[1] and longest[1] else (start, end)
            best = max(best, longest, key=lambda span: span[1] - span[0])
        return folded[slice(*best)].strip()


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _numbers(text: str) -> Iterator[str]:
    """The digits of every number of four and more that is no year."""
    for found in _NUMBER.finditer(text):
        # Two numbers with a space between them count as each and as both.
        for part in {found[0], *found[0].split()}:
            digits = "".join(filter(str.isdecimal, part.translate(_NUMERALS)))
            if len(digits) >= _DIGITS and not _YEAR.fullmatch(digits):
                yield digits
