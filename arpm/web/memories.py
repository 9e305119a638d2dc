"""Memories: browsing and searching them, where each came from and was used, keeping some out of search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from flask import Blueprint, request

from arpm.catalogue import MemoryRow, MemoryState
from arpm.errors import NotFoundError
from arpm.quarantine import Scope
from arpm.record import candidate_row, evidence_row
from arpm.web import strings
from arpm.web.body import ids_field, query_number, read_json
from arpm.web.context import service
from arpm.web.errors import RequestError
from arpm.web.views import EXCERPT, experience_view, memory_view, quarantine_view, use_view
from governance.selection import Decision
from retrieval.text import usable

PAGE = 20
LONGEST_PAGE = 100
USES = 100
NEWEST = 2**53

blueprint = Blueprint("memories", __name__, url_prefix="/api/v1")


@blueprint.get("/timelines/<id('t'):timeline>/memories")
def index(timeline: str) -> dict[str, Any]:
    """The memories of experience, newest first; or with ?q= what a message would bring back from both routes now."""
    limit = query_number("limit", PAGE, 1, LONGEST_PAGE)
    query = request.args.get("q")
    if query is not None:
        return _search(timeline, usable(query), limit)
    service().timeline(timeline)
    before = query_number("before", NEWEST, 0, NEWEST)
    state, session, model = _state(), request.args.get("session"), request.args.get("model")
    rows = service().catalogue.memory_rows(
        timeline, state=state, session=session, model=model, before=before, last=limit + 1
    )
    return {
        "memories": [experience_view(row) for row in rows[:limit]],
        "count": service().catalogue.count_memories(timeline, state=state, session=session, model=model),
        "more": len(rows) > limit,
        "sessions": [{"id": id, "count": count} for id, count in service().catalogue.memory_sessions(timeline)],
        "models": [{"name": name, "count": count} for name, count in service().catalogue.memory_models(timeline)],
    }


@blueprint.get("/memories/<memory:memory>")
def show(memory: str) -> dict[str, Any]:
    """One memory of either kind: where it came from, which turns were shown it, when it was in quarantine."""
    catalogue = service().catalogue
    uses = catalogue.uses(memory, USES + 1)
    found = catalogue.memory_row(memory)
    rest = {
        "uses": [use_view(row) for row in uses[:USES]],
        "more": len(uses) > USES,
        "quarantines": [quarantine_view(row) for row in catalogue.quarantines(memory)],
    }
    if found is not None:
        timeline, row = found
        return {"memory": experience_view(row), "timeline": timeline, "origin": _origin(row), **rest}
    chunk = catalogue.memory(memory)
    if chunk is None:
        raise NotFoundError(f"there is no memory {memory!r}; it may have been erased")
    view = {**memory_view(chunk), "uses": catalogue.count_uses([memory]).get(memory, 0)}
    origin = {"kind": "document", "turn": None, "document": view["document"], "name": view["source"]}
    return {"memory": view, "timeline": None, "origin": origin, **rest}


@blueprint.post("/timelines/<id('t'):timeline>/quarantine")
def quarantine(timeline: str) -> dict[str, Any]:
    """Take memories out of search, by id, range of rounds, model or session. With dry_run, only say which."""
    given = read_json(
        {}, {"memories": list, "rounds": list, "model": str, "session": str, "reason": str, "dry_run": bool}
    )
    rows = service().quarantine(
        timeline, _scope(given), given["reason"] or "put in quarantine by hand", dry_run=bool(given["dry_run"])
    )
    return _reached(rows)


@blueprint.post("/timelines/<id('t'):timeline>/release")
def release(timeline: str) -> dict[str, Any]:
    """Bring memories in quarantine back into search."""
    given = read_json({"memories": list}, {"reason": str})
    ids = ids_field(given["memories"], "memories")
    return _reached(service().release(timeline, ids, given["reason"] or "released by hand"))


def _reached(rows: Sequence[MemoryRow]) -> dict[str, Any]:
    return {
        "memories": [row.memory.memory for row in rows],
        "rounds": sorted({row.memory.round for row in rows}),
        "count": len(rows),
    }


def _scope(given: dict[str, Any]) -> Scope:
    names = ("memories", "rounds", "model", "session")
    chosen = [name for name in names if given[name] is not None]
    if len(chosen) != 1:
        raise RequestError(400, "input", strings.ONE_OF.format(names=", ".join(names)), "body")
    (name,) = chosen
    if name == "memories":
        return Scope("memories", ids_field(given[name], name))
    if name == "rounds":
        rounds = given[name]
        if len(rounds) != 2 or not all(type(item) is int and 1 <= item < 2**31 for item in rounds):
            raise RequestError(400, "input", strings.BAD_ROUNDS, "body.rounds")
        return Scope("rounds", (rounds[0], rounds[1]))
    return Scope("model", given[name]) if name == "model" else Scope("session", given[name])


def _state() -> MemoryState | None:
    given = request.args.get("state", "all")
    if given == "all":
        return None
    known: tuple[MemoryState, ...] = get_args(MemoryState)
    for state in known:
        if given == state:
            return state
    message = strings.BAD_STATE.format(states=", ".join(("all", *known)), given=given[:40])
    raise RequestError(400, "input", message, "?state")


def _origin(row: MemoryRow) -> dict[str, Any]:
    kind = "turn" if row.turn else "imported"
    return {"kind": kind, "turn": row.turn, "document": None, "name": row.source}


def _search(timeline: str, query: str, limit: int) -> dict[str, Any]:
    governed = service().look(timeline, query).governed
    return {
        "evidence": [{**evidence_row(item), "source": item.source, "text": item.text} for item in governed.evidence],
        "candidates": {
            "knowledge": [_found(decision) for decision in governed.knowledge[:limit]],
            "experience": [_found(decision) for decision in governed.experience[:limit]],
        },
    }


def _found(decision: Decision) -> dict[str, Any]:
    candidate = decision.weighed.candidate
    return {**candidate_row(decision), "source": candidate.source, "text": candidate.text[:EXCERPT]}
