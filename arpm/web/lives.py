"""The lives of memories: /api/v1/timelines/ID/lives, as `arpm timeline` shows them.

Read from the ledger without a lock, up to the first damage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from flask import Blueprint

from arpm.audit.memory_life import Sighting, lives, outlines
from arpm.audit.reading import Readable, read_timelines
from arpm.web.body import query_number, query_text
from arpm.web.context import service
from arpm.web.views import EXCERPT, memory_view

PAGE = 20
LONGEST_PAGE = 100
NEWEST = 2**53
# Of one memory: a turn it was a candidate of is one.
MOST_SIGHTINGS = 2000

blueprint = Blueprint("lives", __name__, url_prefix="/api/v1/timelines/<id('t'):timeline>/lives")


@blueprint.get("")
def one(timeline: str) -> dict[str, Any]:
    """Every turn that ?memory= was a candidate of: its weights, its scores, and what became of it there."""
    memory = query_text("memory")
    read, found = lives_of(timeline, [memory])
    sightings = found.get(memory, [])
    shown = [{**asdict(item), "at": item.at.isoformat()} for item in sightings[-MOST_SIGHTINGS:]]
    return {
        "memory": memory,
        "text": _text(memory),
        "sightings": shown,
        "count": len(sightings),
        "damage": read.damage,
    }


@blueprint.get("/summary")
def summary(timeline: str) -> dict[str, Any]:
    """Every memory that was a candidate of any turn, each in one line, those that were shown most often first."""
    after, limit = query_number("after", 0, 0, NEWEST), query_number("limit", PAGE, 1, LONGEST_PAGE)
    read, found = lives_of(timeline)
    rows = outlines(found)
    return {
        "memories": [{**asdict(row), "text": _text(row.memory)} for row in rows[after : after + limit]],
        "count": len(rows),
        "shown": sum(row.shown > 0 for row in rows),
        "more": after + limit < len(rows),
        "damage": read.damage,
    }


def lives_of(timeline: str, memories: Sequence[str] = ()) -> tuple[Readable, dict[str, list[Sighting]]]:
    """A timeline as far as it can be read, and the lives on it of some memories or of all. Raises NotFoundError."""
    (read,) = read_timelines(service().logs, [timeline])
    return read, lives(read.events(), frozenset(memories) or None)


def _text(memory: str) -> str | None:
    """The beginning of a memory; None when it was erased."""
    found = service().catalogue.memory(memory)
    return None if found is None else str(memory_view(found, EXCERPT)["text"])
