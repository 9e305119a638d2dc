"""Sort a reply's text into analysis, responses and what lies outside, from its tags alone.

Keeps the half of promise 4 that says no analysis reaches a visible reply: whatever an analysis tag opened is analysis
until something certain ends it, and where two readings are possible the one that shows less is taken. Knows nothing
about fields, labels or violations.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from arpm.protocol.quotes import Quotes
from arpm.protocol.tags import Kind, Tag, ends_in_head, unfinished

_FENCE_LINE = re.compile(r"(?m)^[ \t]{0,8}(?:`{3,16}|~{3,16})[ \t]{0,4}[A-Za-z]{0,12}[ \t]{0,4}$")
_ROLE_NAME = re.compile(r"\s{0,4}(?:system|user|assistant|model|final|analysis|commentary)\b", re.IGNORECASE)
_NOISE = " \t\r\n\x0b\x0c\u00a0\u3000`*_#~-—\u200b\ufeff"


def without_noise(text: str) -> str:
    """The text without fence lines, backticks and Markdown signs around it: empty when it says nothing."""
    if "```" in text or "~~~" in text:
        text = _FENCE_LINE.sub("", text)
    return text.strip(_NOISE)


@dataclass(frozen=True, slots=True)
class Segments:
    """A reply taken apart. `before` and `after` are the text outside, before and after the last analysis.

    `opened_analysis` and `opened_response` say that such a tag was there, even around nothing.
    """

    analyses: tuple[str, ...]
    responses: tuple[str, ...]
    before: str
    after: str
    opened_analysis: bool
    opened_response: bool
    analysis_last: bool
    steps: tuple[str, ...]


class _Index:
    """Where the next tag of a kind is, by bisection; and which end belongs to which opening think tag."""

    def __init__(self, tags: list[Tag], quotes: Quotes) -> None:
        self._at: dict[tuple[Kind, bool], list[int]] = {}
        self.think_end: dict[int, int] = {}
        open_thoughts: list[int] = []
        for i, tag in enumerate(tags):
            if quotes.wrapped(tag):
                continue
            self._at.setdefault((tag.kind, tag.closing), []).append(i)
            if tag.kind == "think" and not tag.closing:
                open_thoughts.append(i)
            elif tag.kind == "think" and open_thoughts:
                self.think_end[open_thoughts.pop()] = i
        for i in open_thoughts:
            nearest = self.next("think", True, i)
            if nearest is not None:
                self.think_end[i] = nearest

    def next(self, kind: Kind, closing: bool, after: int) -> int | None:
        found = self._at.get((kind, closing), [])
        place = bisect_right(found, after)
        return found[place] if place < len(found) else None

    def last(self, kind: Kind, closing: bool) -> int:
        return self._at.get((kind, closing), [-1])[-1]

    def first(self, kind: Kind, closing: bool) -> int | None:
        return self.next(kind, closing, -1)


class _Sorter:
    """One walk over the tags. `_at` is the first character not sorted yet; `_region` is where the region began."""

    def __init__(self, text: str, tags: list[Tag], hide_thoughts: bool) -> None:
        self._text = text
        self._tags = tags
        self._quotes = Quotes(text)
        self._index = _Index(tags, self._quotes)
        self._hide_thoughts = hide_thoughts
        self._at = self._region = 0
        self._state = "outside"
        self._seen = 0
        self._filled = self._stop = False
        self._dressed = 0
        self._pieces: list[str] = []
        self._analyses: list[str] = []
        self._responses: list[str] = []
        self._before: list[str] = []
        self._after: list[str] = []
        self._opened: list[Kind] = []
        self._steps: dict[str, None] = {}

    # The walk

    def run(self) -> Segments:
        handlers: dict[str, Callable[[int, Tag], None]] = {
            "outside": self._outside,
            "thought": self._thought,
            "analysis": self._analysis,
            "response": self._response,
        }
        self._drop_headless_thought()
        for i, tag in enumerate(self._tags):
            if tag.start < self._at:
                continue
            handlers[self._state](i, tag)
            if self._stop:
                break
        if not self._stop:
            self._take(len(self._text))
            if self._state in ("analysis", "response"):
                self._note("unclosed_tag")
            self._close()
        return Segments(
            analyses=tuple(self._analyses),
            responses=tuple(self._responses),
            before="\n".join(self._before),
            after="\n".join(self._after),
            opened_analysis="analysis" in self._opened,
            opened_response="response" in self._opened,
            analysis_last="response" in self._opened and self._opened[-1] == "analysis",
            steps=tuple(self._steps),
        )

    def _note(self, *steps: str) -> None:
        self._steps.update(dict.fromkeys(steps))

    def _take(self, end: int) -> None:
        """Give the text up to `end` to the current region."""
        self._blank(end)
        self._pieces.append(self._text[self._at : end])
        self._at = end

    def _cut(self, start: int, end: int) -> None:
        """Leave out [start, end) of the current region."""
        begun = unfinished(self._text, self._at, start) < start
        self._take(start)
        if begun:  # `</resp` and `onse>` must not meet
            self._pieces.append("…")
        self._at = end

    def _finish(self, end: int) -> None:
        """Give the region its last text."""
        begun = ends_in_head(self._text, self._at, end)
        self._take(end)
        if begun:  # `<response` would be a tag if the line ended behind it
            self._pieces.append("…")

    def _blank(self, end: int) -> bool:
        """Whether the current region says nothing up to `end`. Looks at no character twice."""
        start = max(self._at, self._seen)
        self._filled = self._filled or bool(without_noise(self._text[start:end]))
        self._seen = max(end, self._seen)
        return not self._filled

    def _close(self) -> None:
        """File the current region and be outside again."""
        text = "".join(self._pieces)
        self._pieces = []
        if self._state == "analysis":
            self._analyses.append(text)
            self._before += self._after
            self._after = []
        elif self._state == "response":
            self._responses.append(text)
        elif self._state == "outside":
            (self._after if self._opened else self._before).append(text)
        self._state, self._dressed, self._filled = "outside", 0, False
        self._region = self._at

    def _enter(self, kind: Kind, tag: Tag) -> None:
        """End the current region at `tag` and begin one of its kind behind it."""
        self._finish(tag.start)
        self._close()
        self._note(*tag.steps)
        self._opened.append(kind)
        self._state, self._dressed = kind, self._quotes.dressing(tag)
        if self._dressed:
            self._note("dressing_removed")
        self._at = self._region = tag.end + self._dressed

    def _leave(self, tag: Tag) -> None:
        """End the current region at `tag`, which ends it."""
        self._finish(tag.start)
        self._note(*tag.steps)
        if dressing := self._quotes.dressing(tag):
            self._pieces[-1] = self._pieces[-1][:-dressing]
        self._at = tag.end
        self._close()

    def _drop(self, tag: Tag, step: str) -> None:
        """Take the tag out and leave the text around it where it is."""
        self._cut(tag.start, tag.end)
        self._note(step, *tag.steps)

    def _drop_headless_thought(self) -> None:
        """Some templates open the think block in the prompt, so that the reply has only its end."""
        end, start = self._index.first("think", True), self._index.first("think", False)
        if end is None or (start is not None and start < end) or not self._hide_thoughts:
            return
        structure = [tag for tag in self._tags[:end] if tag.kind in ("analysis", "response")]
        if structure and not without_noise(self._text[: structure[0].start]):
            return  # a reply that starts with its structure: the end of a thought is a stray sign
        self._note("think_removed", *self._tags[end].steps)
        self._at = self._region = self._tags[end].end

    def _skip_thought(self, i: int, tag: Tag) -> bool:
        """Take out a closed think block. False when it is not closed."""
        end = self._index.think_end.get(i)
        if end is None:
            return False
        self._cut(tag.start, self._tags[end].end)
        self._note("think_removed", *tag.steps)
        return True

    # One handler for each region

    def _outside(self, i: int, tag: Tag) -> None:
        first = tag.at_line_start or self._blank(tag.start)
        if self._quotes.wrapped(tag) and not (first and self._quotes.dressing(tag)):
            return  # an untagged reply that speaks about the tags
        ends = tag.closing or (tag.self_closing and tag.kind in self._opened)
        if tag.kind == "turn":
            self._turn(tag)
        elif tag.kind == "think":
            self._think_outside(i, tag)
        elif not ends:
            self._enter(tag.kind, tag)
        else:
            self._headless(tag)

    def _thought(self, i: int, tag: Tag) -> None:
        """Inside a think block that never ends: only a protocol tag gets out of it."""
        if tag.kind in ("analysis", "response") and not tag.closing and not self._quotes.wrapped(tag):
            self._at = tag.start
            self._enter(tag.kind, tag)

    def _think_outside(self, i: int, tag: Tag) -> None:
        if not self._hide_thoughts or tag.closing:
            self._drop(tag, "think_removed")
        elif not self._skip_thought(i, tag):
            self._take(tag.start)
            self._close()
            self._note("think_removed", "unclosed_tag", *tag.steps)
            self._state, self._at = "thought", tag.end

    def _headless(self, tag: Tag) -> None:
        """An end without its beginning: what stands before it, back to the last region, is what it ends."""
        if tag.kind in self._opened or self._blank(tag.start):
            self._drop(tag, "duplicate_tag")
            return
        self._note("unopened_tag")
        self._opened.append(tag.kind)
        self._state = tag.kind
        self._leave(tag)

    def _turn(self, tag: Tag) -> None:
        """A chat-template marker: after a response, what follows is another turn that nobody asked for."""
        self._drop(tag, "turn_marker")
        if self._responses:
            self._close()
            self._stop = True
        elif role := _ROLE_NAME.match(self._text, self._at):
            self._at = role.end()

    def _analysis(self, i: int, tag: Tag) -> None:
        if self._quotes.wrapped(tag) and not (self._dressed and self._quotes.dressing(tag)):
            return
        if tag.kind == "turn" or (tag.kind == "analysis" and (tag.closing or tag.self_closing)):
            self._leave(tag)
        elif tag.kind == "response" and not tag.closing:
            if self._nested(i):
                self._note("nested_tag")
            else:
                self._note("unclosed_tag")
                self._enter("response", tag)
        elif not (tag.kind == "think" and self._hide_thoughts and self._skip_thought(i, tag)):
            self._drop(tag, "think_removed" if tag.kind == "think" else "duplicate_tag")

    def _nested(self, i: int) -> bool:
        """Whether a response in an open analysis is part of it: the analysis ends later, and a response follows."""
        end = self._index.next("analysis", True, i)
        return end is not None and self._index.last("response", False) > end

    def _response(self, i: int, tag: Tag) -> None:
        quoted = self._quotes.quoted(tag, self._region) and not (self._dressed and self._quotes.dressing(tag))
        if quoted and not self._last_end(i, tag):
            self._note("quoted_tag")
        elif tag.kind == "response":
            self._response_again(i, tag)
        elif tag.kind == "analysis":
            self._analysis_inside(i, tag)
        elif tag.kind == "turn":
            self._leave(tag)
            self._stop = True
        elif tag.closing or not self._hide_thoughts:
            self._drop(tag, "think_removed")
        elif not self._skip_thought(i, tag):
            end = self._index.next("response", True, i)
            self._cut(tag.start, len(self._text) if end is None else self._tags[end].start)
            self._note("think_removed", "unclosed_tag", *tag.steps)

    def _response_again(self, i: int, tag: Tag) -> None:
        """A response tag inside a response: its end, a mention in passing, or a second beginning."""
        if tag.closing or tag.self_closing:
            if self._mentioned(i, tag):
                self._note("quoted_tag")
            else:
                self._leave(tag)
        elif self._blank(tag.start):
            self._drop(tag, "duplicate_tag")
        elif tag.at_line_start or not without_noise(self._text[tag.end : tag.end + 200]):
            self._note("duplicate_tag")
            self._enter("response", tag)
        else:
            self._note("quoted_tag")

    def _mentioned(self, i: int, tag: Tag) -> bool:
        """Whether a response goes on after `</response>`: on the same line, and with another end to come."""
        end = self._index.next("response", True, i)
        if end is None:
            return False
        openings = (self._index.next("response", False, i), self._index.next("analysis", False, i))
        if any(opening is not None and opening < end for opening in openings):
            return False
        rest = self._text[tag.end : min(self._tags[i + 1].start, tag.end + 200)].split("\n", 1)[0]
        return bool(without_noise(rest))

    def _last_end(self, i: int, tag: Tag) -> bool:
        """Whether a quoted `</response>` is the real one after all: the last tag, with nothing behind it.

        So it is when the model forgot to close a code fence and the whole reply stands in another one.
        """
        last = tag.kind == "response" and tag.closing and i == len(self._tags) - 1
        return last and not self._quotes.wrapped(tag) and not without_noise(self._text[tag.end :])

    def _analysis_inside(self, i: int, tag: Tag) -> None:
        """An analysis tag inside a response. Shown text must not hold analysis, so a doubtful passage is cut."""
        if tag.closing:
            if "analysis" in self._opened:
                self._drop(tag, "duplicate_tag")
            else:  # the model opened its analysis with the wrong tag
                self._opened[-1] = "analysis"
                self._state = "analysis"
                self._note("unopened_tag")
                self._leave(tag)
            return
        self._note("analysis_in_response")
        end = self._index.next("analysis", True, i)
        if end is None:
            self._enter("analysis", tag)
            return
        self._cut(tag.start, self._tags[end].end)
        self._note(*tag.steps)
        self._opened.insert(len(self._opened) - 1, "analysis")
        self._analyses.append(self._text[tag.end : self._tags[end].start])


def segment(text: str, tags: list[Tag], hide_thoughts: bool = True) -> Segments:
    """Take a reply apart at its tags. With `hide_thoughts` False, think tags go and what they enclose stays."""
    return _Sorter(text, tags, hide_thoughts).run()
