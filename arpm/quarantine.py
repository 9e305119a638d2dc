"""Quarantine: which memories are kept out of search, and how they were chosen.

What is in quarantine stays in the ledger and can be released; nothing of it enters a prompt meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from arpm.catalogue import Catalogue, MemoryRow, MemoryState
from arpm.errors import InputError, NotFoundError


@dataclass(frozen=True, slots=True)
class Scope:
    """How memories are chosen: ids, the first and last round, everything a model said, or a session."""

    by: Literal["memories", "rounds", "model", "session"]
    value: Sequence[str] | tuple[int, int] | str

    def as_dict(self) -> dict[str, Any]:
        """As the ledger has it; ids are in the event by themselves."""
        value = None if self.by == "memories" else self.value
        return {"by": self.by, "value": list(value) if isinstance(value, tuple) else value}


def reached(catalogue: Catalogue, timeline: str, scope: Scope) -> list[MemoryRow]:
    """The memories in search that a scope names, oldest first.

    Raises NotFoundError for an id that is not on this timeline and InputError when nothing is named.
    """
    if scope.by == "memories":
        return chosen(catalogue, timeline, list(map(str, scope.value)), "active")
    options: dict[str, Any] = {scope.by: scope.value}
    if isinstance(scope.value, tuple) and scope.value[0] > scope.value[1]:
        raise InputError(f"The first round, {scope.value[0]}, comes after the last, {scope.value[1]}.")
    return catalogue.memory_rows(timeline, state="active", **options)[::-1]


def chosen(catalogue: Catalogue, timeline: str, ids: Sequence[str], state: MemoryState) -> list[MemoryRow]:
    """The memories of a timeline by id that are in a state; others of it are left out. Raises NotFoundError."""
    rows = []
    for id in dict.fromkeys(ids):
        found = catalogue.memory_row(id)
        if found is None or found[0] != timeline:
            raise NotFoundError(f"there is no memory {id!r} on this timeline")
        rows.append(found[1])
    return [row for row in rows if row.state == state]
