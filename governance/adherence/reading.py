"""From the words of a standing instruction to what code can check of it, in English and Chinese.

Patterns read what they know and take it out of the sentence; what is left over must be words that ask for nothing
("from now on", 请), else a part of the instruction is unread, and nobody may call the whole of it kept. Words that
bind an instruction to some occasion make it scoped; few scopes can be decided by code. Precision comes first: what is
not understood is left unread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from governance.adherence import patterns
from governance.adherence.kinds import Constraint, Scope
from governance.adherence.patterns import Pattern, fold
from governance.adherence.scope import SCOPES, is_scoped, left_over

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read in an instruction.

    `scope` is when it holds, if code can tell; `scoped` says that it holds on some occasions only that code cannot
    tell. `unread` are the words that no constraint accounts for; empty when everything was understood.
    """

    constraints: tuple[Constraint, ...]
    scope: Scope | None = None
    scoped: bool = False
    unread: tuple[str, ...] = ()


# Nobody words a standing instruction at such length, and patterns take long over it: longer ones are not read.
_LONGEST = 500


def read(text: str) -> Reading:
    """Everything that code can tell of an instruction."""
    if len(text) > _LONGEST:
        return Reading((), unread=(f"{len(text)} characters",))
    return _read(text)


def _read(text: str) -> Reading:
    folded = fold(text)
    taken: list[tuple[int, int]] = []
    scopes = [scope for _, scope in _found(folded, SCOPES, taken)]
    found = sorted(_found(folded, patterns.PATTERNS, taken), key=lambda item: item[0])
    rest = _blanked(folded, taken)
    unread = left_over(rest)
    return Reading(
        constraints=tuple(dict.fromkeys(one for _, several in found for one in several)),
        scope=scopes[0] if len(scopes) == 1 else None,
        scoped=len(scopes) > 1 or is_scoped(rest),
        unread=unread,
    )


def constraints(text: str) -> tuple[Constraint, ...]:
    """What code can check of an instruction, in the order of its words; of a text of any length."""
    return _read(text).constraints


def _found(
    folded: str,
    known: Iterable[tuple[re.Pattern[str], Callable[[re.Match[str]], _Found | None]]],
    taken: list[tuple[int, int]],
) -> list[tuple[int, _Found]]:
    """What patterns read, and where; each stretch of the text is read once, by the first pattern that knows it."""
    found = []
    for pattern, make in known:
        for match in pattern.finditer(folded):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            made = make(match)
            if made is not None:
                found.append((match.start(), made))
                taken.append(match.span())
    return found


def _blanked(text: str, taken: Iterable[tuple[int, int]]) -> str:
    for start, end in taken:
        # A sign that is no word, so that what stood around it does not run together.
        text = text[:start] + "\x1f" * (end - start) + text[end:]
    return text


__all__ = ["Pattern", "Reading", "constraints", "read"]
