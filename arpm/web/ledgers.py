"""The ledgers of a logs folder as pages of events, read from the files without a lock.

Keeps where each line begins, so that a page costs its own lines and a ledger that grew only what was added. A damaged
line is shown as far as it can be read, with what is wrong with it. Holds no words of any event, and writes nothing.
Whether the lines fit together is for `arpm.audit.chain` to say.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from arpm.audit.chain import check_line
from arpm.errors import InputError, NotFoundError
from arpm.ids import is_id
from arpm.ledger import LEDGER_NAME
from arpm.library import KNOWLEDGE

# The members of an envelope after the body are short; the last `kind` is the envelope's own.
_END = 2048
_KIND = re.compile(rb'.*"kind":"([a-z_]{1,64})"', re.DOTALL)
# How much of what is known already must be there still for the rest to count as added.
_TAIL = 256


@dataclass(slots=True)
class _Index:
    """Where the whole lines of a ledger begin, of which kind each is, and how many bodies are gone."""

    identity: tuple[int, int] = (0, 0)
    size: int = 0
    tail: bytes = b""
    offsets: array[int] = field(default_factory=lambda: array("Q"))
    kinds: list[str] = field(default_factory=list)
    erased: int = 0

    def begins(self, place: int) -> int:
        return self.offsets[place - 1]

    def ends(self, place: int) -> int:
        return self.offsets[place] if place < len(self.offsets) else self.size


@dataclass(frozen=True, slots=True)
class Outline:
    """A ledger in short: whole lines, erased bodies, how many of each kind, its last line, bytes after that line."""

    events: int
    erased: int
    kinds: dict[str, int]
    last: dict[str, Any] | None
    torn_bytes: int


@dataclass(frozen=True, slots=True)
class Page:
    """Some events of a ledger, newest first; `count` is how many there are of that kind."""

    events: list[dict[str, Any]]
    count: int
    more: bool


class Ledgers:
    """The ledgers of one logs folder. Safe to use from several threads."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._lock = threading.Lock()
        self._known: dict[str, _Index] = {}

    def names(self) -> list[str]:
        """Every ledger that is there: the knowledge base's, then those of timelines."""
        there = sorted(path.name for path in self._logs.iterdir() if (path / LEDGER_NAME).is_file())
        return [KNOWLEDGE] * (KNOWLEDGE in there) + [name for name in there if is_id(name, "t")]

    def outline(self, name: str) -> Outline:
        """A ledger in short. Raises NotFoundError and InputError."""
        with self._opened(name) as file:
            index = self._indexed(name, file)
            places = len(index.offsets)
            last = _shown(places, _line(file, index, places), bodies=False) if places else None
            torn = os.fstat(file.fileno()).st_size - index.size
        return Outline(places, index.erased, dict(Counter(index.kinds)), last, torn)

    def page(self, name: str, before: int, limit: int, kind: str | None = None, *, bodies: bool = True) -> Page:
        """The newest events before a place, all or those of one kind. Raises NotFoundError and InputError."""
        with self._opened(name) as file:
            index = self._indexed(name, file)
            places = [place for place, each in enumerate(index.kinds, 1) if kind in (None, each)]
            chosen = [place for place in places if place < before][::-1][: limit + 1]
            events = [_shown(place, _line(file, index, place), bodies=bodies) for place in chosen[:limit]]
        return Page(events, len(places), len(chosen) > limit)

    def _opened(self, name: str) -> BinaryIO:
        path = self._logs / name / LEDGER_NAME
        if not (name == KNOWLEDGE or is_id(name, "t")) or not path.is_file():
            raise NotFoundError(f"there is no ledger {name!r}; there are {', '.join(self.names()) or 'none'}")
        try:
            return path.open("rb")
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}") from error

    def _indexed(self, name: str, file: BinaryIO) -> _Index:
        """The index as of now. An erasure puts another file in the place of the old one, which is read anew."""
        with self._lock:
            known = self._known.get(name, _Index())
            if not _goes_on(known, file):
                known = _Index(_identity(file))
            fresh = _extended(known, file)
            self._known[name] = fresh
            return fresh


def _identity(file: BinaryIO) -> tuple[int, int]:
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino


def _goes_on(known: _Index, file: BinaryIO) -> bool:
    """Whether a file still begins with what is known of it."""
    if known.identity != _identity(file):
        return False
    file.seek(known.size - len(known.tail))
    return file.read(len(known.tail)) == known.tail


def _extended(known: _Index, file: BinaryIO) -> _Index:
    """The index with the lines that were added. The one that is known stays as it is: others may be reading it."""
    added = list(_added(file, known.size))
    if not added:
        return known
    offsets, kinds = array("Q", known.offsets), list(known.kinds)
    offset, erased = known.size, known.erased
    for size, kind, is_erased in added:
        offsets.append(offset)
        kinds.append(kind)
        offset += size
        erased += is_erased
    file.seek(max(offset - _TAIL, 0))
    return _Index(known.identity, offset, file.read(min(offset, _TAIL)), offsets, kinds, erased)


def _added(file: BinaryIO, offset: int) -> Iterator[tuple[int, str, bool]]:
    """Size, kind and whether its body is gone, of each whole line from an offset on."""
    file.seek(offset)
    while (raw := file.readline()).endswith(b"\n"):
        found = _KIND.match(raw[-_END:])
        yield len(raw), sys.intern(found[1].decode()) if found else "", b'"body":null,"body_digest"' in raw[:_TAIL]


def _line(file: BinaryIO, index: _Index, place: int) -> bytes:
    begin = index.begins(place)
    file.seek(begin)
    return file.read(index.ends(place) - begin).removesuffix(b"\n")


def _shown(place: int, raw: bytes, *, bodies: bool) -> dict[str, Any]:
    """A line as far as it can be read, and what is wrong with it."""
    problem = check_line(raw).problem
    try:
        read = orjson.loads(raw)
    except orjson.JSONDecodeError:
        read = None
    given = read if isinstance(read, dict) else {}
    body = given.get("body")
    words = {name: value if isinstance(value := given.get(name), str) else None for name in _WORDS}
    return {
        "place": place,
        "seq": seq if type(seq := given.get("seq")) is int else None,
        **words,
        "round": body["round"] if isinstance(body, dict) and type(body.get("round")) is int else None,
        "size": len(raw) + 1,
        "erased": "body" in given and body is None,
        "problem": problem[1] if problem else None,
        "body": body if bodies and isinstance(body, dict) else None,
    }


_WORDS = ("id", "kind", "at", "session", "hash", "prev", "body_digest", "schema")
