"""Show a reply while it is written, and nothing that is not certainly part of it.

Keeps promise 4 while the text is still arriving: only a closed analysis followed by a response tag opens the stream,
and the first sign of another tag stops it until the end, when `parse` decides. So whatever was shown is the beginning
of what `parse` returns. Holds the raw text; each piece is looked at once.
"""

from __future__ import annotations

from collections.abc import Callable

from arpm.protocol.parse import clean, parse
from arpm.protocol.quotes import OPENING_SIGNS
from arpm.protocol.tags import Tag, has_strike, scan, unfinished

_CONTEXT = 32  # characters kept before the point of reading: what the scanner looks back at


class ReplyStream:
    """An incremental filter from the model's raw text to the visible reply.

    `feed` returns the text that has newly become visible, `close` the rest. In a broken reply `close` returns only
    what continues the text already shown: the turn shows the final reply itself.
    """

    def __init__(self) -> None:
        self._raw: list[str] = []
        self._pending = self._carried = ""
        self._at = 0
        self._state = "start"
        self._depth = 0
        self._shown: list[str] = []
        self._space: list[str] = []
        self._steps: dict[str, Callable[[Tag | None, int], None]] = {
            "start": self._start,
            "think": self._think,
            "analysis": self._analysis,
            "between": self._between,
            "response": self._response,
        }

    def feed(self, piece: str) -> str:
        """Take the next piece of raw text and return the reply text that is now certain."""
        self._raw.append(piece)
        if self._state == "silent":
            return ""
        before = len(self._shown)
        piece = self._carried + piece
        self._carried = "\r" if piece.endswith("\r") else ""  # it may be half a line end
        self._pending += clean(piece.removesuffix(self._carried))
        certain = unfinished(self._pending, self._at)
        while self._state != "silent":
            tag = self._next(certain)
            self._steps[self._state](tag, max(certain, self._at) if tag is None else tag.start)
            if tag is None:
                break
        self._trim()
        return "".join(self._shown[before:])

    def close(self) -> str:
        """Say that no more text comes, and return the rest of the reply, if it continues what was shown."""
        self._state = "silent"
        parsed = parse("".join(self._raw), ())
        shown = "".join(self._shown)
        broken = {"missing_analysis", "missing_response", "empty_analysis", "empty_response"}
        sound = shown or not broken.intersection(violation.kind for violation in parsed.violations)
        if not sound or not parsed.response.startswith(shown):
            return ""
        rest = parsed.response[len(shown) :]
        self._shown.append(rest)
        return rest

    def _next(self, certain: int) -> Tag | None:
        """The next tag that begins before `certain`, behind which text may still turn into another tag."""
        for tag in scan(self._pending, self._at):
            if not tag.soft:
                return tag if tag.start < certain else None
        return None

    def _trim(self) -> None:
        cut = max(0, self._at - _CONTEXT) if self._state != "silent" else len(self._pending)
        self._pending, self._at = self._pending[cut:], self._at - cut

    def _plain(self, tag: Tag) -> bool:
        """Whether `parse` will surely read this tag as structure: whole, and not in quotation marks."""
        before = self._pending[tag.start - 1 : tag.start]
        doubled = "doubled_bracket" in tag.steps
        return tag.complete and not tag.self_closing and not doubled and before not in OPENING_SIGNS

    def _silence(self) -> None:
        self._state = "silent"

    def _expect(self, tag: Tag | None, end: int, kinds: tuple[str, ...]) -> bool:
        """Move over white space to `end`; True when an opening tag of one of `kinds` is there. Else be silent."""
        between = self._pending[self._at : end]
        if between.strip(" \t\r\n\ufeff"):
            self._silence()
            return False
        self._at = end
        if tag is None:
            return False
        if tag.kind not in kinds or tag.closing or not self._plain(tag):
            self._silence()
            return False
        self._at = tag.end
        return True

    def _start(self, tag: Tag | None, end: int) -> None:
        if self._expect(tag, end, ("think", "analysis")) and tag is not None:
            self._state, self._depth = tag.kind, 1

    def _think(self, tag: Tag | None, end: int) -> None:
        self._at = end if tag is None else tag.end
        if tag is None or tag.kind != "think":
            return
        if not self._plain(tag):
            self._silence()
            return
        self._depth += -1 if tag.closing else 1
        if self._depth == 0:
            self._state = "start"

    def _analysis(self, tag: Tag | None, end: int) -> None:
        self._at = end if tag is None else tag.end
        if tag is None:
            return
        if tag.kind == "analysis" and tag.closing and self._plain(tag):
            self._state = "between"
        else:
            self._silence()

    def _between(self, tag: Tag | None, end: int) -> None:
        if self._expect(tag, end, ("response",)):
            self._state = "response"

    def _response(self, tag: Tag | None, end: int) -> None:
        text = self._pending[self._at : end]
        strike = has_strike(text)
        self._at = end
        self._show(text if strike is None else text[: strike.start()])
        if tag is not None or strike is not None:
            self._silence()

    def _show(self, text: str) -> None:
        """Make text visible, without white space at the beginning or, until more follows, at the end."""
        visible = text.rstrip() if self._shown else text.strip()
        if visible:
            self._shown += [*self._space, visible]
            self._space.clear()
        if self._shown:
            self._space.append(text[len(text.rstrip()) :])
