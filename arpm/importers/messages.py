"""Messages as JSON Lines: one message a line with role or speaker, text, and if known id, time and session.

A message of the user and the reply that follows it in the same session make one atom; a message without a counterpart
makes one with the other side empty. A line that cannot be used is reported with its number and stops nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from arpm.errors import InputError
from arpm.importers.atoms import Atom, Skipped
from arpm.turn import MESSAGE_LIMIT
from retrieval.text import usable

Side = Literal["user", "character"]

_ROLES: dict[str, Side] = {
    "user": "user",
    "human": "user",
    "assistant": "character",
    "character": "character",
    "model": "character",
    "ai": "character",
    "bot": "character",
}
# The year 5138 in seconds: what is larger counts milliseconds.
_MILLISECONDS = 1e11
_NAME_LIMIT = 200
_NO_SESSION = "imported"


class _BadLineError(Exception):
    """A line cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    source: str
    side: Side
    text: str
    at: datetime | None
    session: str


@dataclass(frozen=True, slots=True)
class Messages:
    """The atoms of a file in its order, and the lines that could not be used."""

    atoms: tuple[Atom, ...]
    skipped: tuple[Skipped, ...]


def read_messages(name: str, data: bytes, user: str, character: str) -> Messages:
    """Read messages between `user` and `character`, whose names a line's speaker may give.

    Times are ISO 8601 (UTC where they name no offset) or seconds or milliseconds since 1970. Raises InputError when
    no line can be used, naming the first one's fault.
    """
    speakers = _ROLES | {user.casefold(): "user", character.casefold(): "character"}
    lines, skipped, ids = list[_Line](), list[Skipped](), dict[str, int]()
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not raw.strip():
            continue
        try:
            line = _line(name, number, raw, speakers)
            _claim(ids, line)
        except _BadLineError as error:
            skipped.append(Skipped(f"line {number}", str(error)))
        else:
            lines.append(line)
    if not lines:
        fault = f"{skipped[0].place}: {skipped[0].reason}" if skipped else "it is empty"
        raise InputError(f"{name} has no line that can be imported ({fault}). See `arpm import messages --help`.")
    return Messages(tuple(_paired(lines)), tuple(skipped))


def _line(name: str, number: int, raw: bytes, speakers: dict[str, Side]) -> _Line:
    try:
        item = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _BadLineError(f"is not UTF-8 (byte {error.start})") from None
    except (ValueError, RecursionError) as error:
        raise _BadLineError(f"is not JSON ({error})") from None
    if not isinstance(item, dict):
        raise _BadLineError("is not a JSON object")
    return _Line(
        number=number,
        # Lines without an id are known by file and number, so that a second run finds them again.
        source=_name(item, "id") or f"{name}:{number}",
        side=_side(item, speakers),
        text=_words(item),
        at=_time(item.get("time")),
        session=_name(item, "session") or _NO_SESSION,
    )


def _claim(ids: dict[str, int], line: _Line) -> None:
    first = ids.setdefault(line.source, line.number)
    if first != line.number:
        raise _BadLineError(f"its id {line.source!r} is that of line {first}")


def _side(item: dict[str, Any], speakers: dict[str, Side]) -> Side:
    for key in ("role", "speaker"):
        value = item.get(key)
        if isinstance(value, str) and value.strip():
            side = speakers.get(" ".join(value.split()).casefold())
            if side is None:
                raise _BadLineError(f"its {key} {value[:80]!r} is neither the user nor the character")
            return side
    raise _BadLineError("has neither a role nor a speaker")


def _words(item: dict[str, Any]) -> str:
    text = item.get("text")
    if not isinstance(text, str) or not text.strip():
        raise _BadLineError("'text' is missing, empty or no text")
    if len(text) > MESSAGE_LIMIT:
        raise _BadLineError(f"its text has {len(text):,} characters; the limit is {MESSAGE_LIMIT:,}")
    return usable(text).strip()


def _name(item: dict[str, Any], key: str) -> str | None:
    value = item.get(key)
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _BadLineError(f"{key!r} is neither text nor a whole number")
    text = usable(str(value)).strip()
    if len(text) > _NAME_LIMIT:
        raise _BadLineError(f"{key!r} has {len(text)} characters; the limit is {_NAME_LIMIT}")
    return text or None


def _time(value: Any) -> datetime | None:
    if value is None or value == "":
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return datetime.fromtimestamp(value / 1000 if abs(value) >= _MILLISECONDS else value, UTC)
        if isinstance(value, str):
            at = datetime.fromisoformat(value.strip())
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise _BadLineError(f"its time {str(value)[:80]!r} is neither ISO 8601 nor seconds since 1970")


def _paired(lines: Sequence[_Line]) -> Iterator[Atom]:
    asked: _Line | None = None
    for line in lines:
        answers = asked is not None and line.side == "character" and line.session == asked.session
        if asked is not None:
            yield _atom(asked, line if answers else None)
            asked = None
        if line.side == "user":
            asked = line
        elif not answers:
            yield _atom(None, line)
    if asked is not None:
        yield _atom(asked, None)


def _atom(asked: _Line | None, answered: _Line | None) -> Atom:
    first = asked or answered
    assert first is not None
    at = first.at or (answered.at if answered else None)
    return Atom(first.source, first.session, at, asked.text if asked else "", answered.text if answered else "")
