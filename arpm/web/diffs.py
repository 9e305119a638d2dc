"""Two turns, or two timelines round by round, side by side: /api/v1/audit/diff, as `arpm diff` shows them.

Reads records and changes nothing. Timelines are read from the logs folder without a lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from flask import Blueprint

from arpm.audit.differences import TurnDifference, run_difference, turn_difference, word_difference
from arpm.audit.folder import timelines_of
from arpm.audit.reading import read_timelines
from arpm.events import Event
from arpm.ledger import LEDGER_NAME
from arpm.web.body import query_number, query_text
from arpm.web.context import service
from arpm.web.errors import RequestError
from arpm.web.views import EXCERPT, memory_view

PAGE = 50
LONGEST_PAGE = 200
NEWEST = 2**53

blueprint = Blueprint("diffs", __name__, url_prefix="/api/v1/audit/diff")


@blueprint.get("")
def turns() -> dict[str, Any]:
    """Two committed turns side by side: ?first= and ?second= are event ids or TIMELINE:ROUND."""
    first, second = (service().record(query_text(name)) for name in ("first", "second"))
    try:
        found = turn_difference(first, second)
    except ValueError as error:
        raise RequestError(400, "input", str(error)) from None
    return {
        **asdict(found),
        "same": found.same,
        "sides": [_side(first), _side(second)],
        "words": [asdict(item) for item in word_difference(*found.replies)],
        "memories": _memories(found),
    }


@blueprint.get("/runs")
def runs() -> dict[str, Any]:
    """Two timelines round by round, the rounds after ?after= first to last; in short, without what was said."""
    after, limit = query_number("after", 0, 0, NEWEST), query_number("limit", PAGE, 1, LONGEST_PAGE)
    logs, names = service().logs, tuple(query_text(name) for name in ("first", "second"))
    found = _compared(logs, names, tuple(map(_state, _paths(logs, names))))
    page = [row for row in found.rows if row["rounds"][0] > after]
    return {
        "rows": page[:limit],
        "count": len(found.rows),
        "same": sum(row["same"] for row in found.rows),
        "more": len(page) > limit,
        "only_first": list(found.only_first),
        "only_second": list(found.only_second),
        "damaged": [dict(item) for item in found.damaged],
    }


@dataclass(frozen=True, slots=True)
class _Runs:
    """Two timelines round by round. Holds ids and numbers, and nothing that anybody said."""

    rows: tuple[Mapping[str, Any], ...]
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]
    damaged: tuple[Mapping[str, Any], ...]


def _paths(logs: Path, names: Sequence[str]) -> list[Path]:
    """The ledgers of timelines. Raises NotFoundError for one that is not there."""
    return [logs / name / LEDGER_NAME for name in timelines_of(logs, names)]


def _state(path: Path) -> tuple[int, int, int]:
    """What changes with a file's content: an erasure puts another file in its place, and a turn makes it longer."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


# The next page of the same comparison reads nothing again.
@lru_cache(maxsize=4)
def _compared(logs: Path, names: tuple[str, ...], _state: tuple[tuple[int, int, int], ...]) -> _Runs:
    read = {name: read_timelines(logs, [name])[0] for name in names}
    events = {name: list(ledger.events()) for name, ledger in read.items()}
    sides = [events[name] for name in names]
    found = run_difference(*sides)
    rounds = _rounds(sides)
    return _Runs(
        tuple(_row(rounds, item) for item in found.turns),
        found.only_first,
        found.only_second,
        tuple({"name": ledger.name, "message": ledger.damage} for ledger in read.values() if ledger.damage),
    )


def _side(event: Event) -> dict[str, Any]:
    """Whose turn it is, and when it was."""
    body = event.body or {}
    return {
        "turn": event.id,
        "timeline": event.timeline,
        "round": body["round"],
        "at": event.at.isoformat(),
        "message": body["message"],
        "model": body["backend"]["model"],
        "preset": body["preset"],
    }


def _memories(found: TurnDifference) -> dict[str, Any]:
    """The beginnings of the memories that either was shown, by id; an erased one is not there."""
    rows = ((item.memory, service().catalogue.memory(item.memory)) for item in found.evidence)
    return {id: memory_view(memory, EXCERPT) for id, memory in rows if memory is not None}


def _rounds(events: Sequence[Sequence[Event]]) -> Mapping[str, int]:
    """The round of every committed turn, by event id."""
    return {
        event.id: event.body["round"]
        for run in events
        for event in run
        if event.kind == "turn" and event.body is not None
    }


def _row(rounds: Mapping[str, int], item: TurnDifference) -> dict[str, Any]:
    return {
        "turns": list(item.turns),
        "rounds": [rounds[turn] for turn in item.turns],
        "same": item.same,
        "overlap": item.overlap,
        "correlation": item.correlation,
        "only_one": sum(shown.change.startswith("only") for shown in item.evidence),
        "moved": sum(shown.change == "moved" for shown in item.evidence),
        "same_reply": item.replies[0] == item.replies[1],
        "facts": list(item.facts),
        "settings": len(item.config),
    }
