"""Tell whether a tag is quoted: in a code span, in a fence, or between quotation marks.

Keeps the answers to "how does the protocol work?" readable. Every question is answered by bisection over positions
found once, so that many tags on one long line cost no more than many lines.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

from arpm.protocol.tags import Tag

_PAIRS = frozenset({("`", "`"), ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("「", "」"), ("『", "』")})
OPENING_SIGNS = frozenset(opening for opening, _ in _PAIRS) | {"*"}
_FENCE = re.compile(r"(?m)^[ \t]{0,8}(?:`{3,16}|~{3,16})[^`\n]{0,40}$")
_TICKS = re.compile(r"`+")


def _count(positions: list[int], start: int, end: int) -> int:
    return bisect_left(positions, end) - bisect_left(positions, start)


class Quotes:
    """The quoting signs of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._newlines = [match.start() for match in re.finditer("\n", text)]
        self._fences = [match.start() for match in _FENCE.finditer(text)]
        self._ticks = [match.start() for match in _TICKS.finditer(text)]

    def wrapped(self, tag: Tag) -> bool:
        """Whether quotation marks or backticks touch the tag on both sides."""
        before, after = self._text[tag.start - 1 : tag.start], self._text[tag.end : tag.end + 1]
        return (before, after) in _PAIRS

    def dressing(self, tag: Tag) -> int:
        """How many signs of backticks (1) or bold (2) touch the tag on both sides; 0 for none."""
        for sign in ("`", "**"):
            before = self._text[max(0, tag.start - len(sign)) : tag.start]
            if before == sign == self._text[tag.end : tag.end + len(sign)]:
                return len(sign)
        return 0

    def in_span(self, tag: Tag, region: int) -> bool:
        """Whether the tag is in a closed code span of its line. Signs before `region` do not count."""
        line = bisect_right(self._newlines, tag.start)
        start = self._newlines[line - 1] + 1 if line else 0
        end = self._newlines[line] if line < len(self._newlines) else len(self._text)
        return _count(self._ticks, max(start, region), tag.start) % 2 == 1 and _count(self._ticks, tag.end, end) > 0

    def in_fence(self, tag: Tag, region: int) -> bool:
        """Whether the tag is in a closed code fence that began in the region."""
        later = len(self._fences) - bisect_left(self._fences, tag.end)
        return _count(self._fences, region, tag.start) % 2 == 1 and later > 0

    def quoted(self, tag: Tag, region: int) -> bool:
        """Whether the tag is quoted in any way inside the region that starts at `region`."""
        return self.wrapped(tag) or self.in_span(tag, region) or self.in_fence(tag, region)
