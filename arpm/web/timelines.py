"""Timelines and their sessions: /api/v1/timelines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import Blueprint, request

from arpm.catalogue import TurnRow
from arpm.timeline import Timeline
from arpm.web.body import query_number, read_json
from arpm.web.context import live, service
from arpm.web.views import around, session_view, timeline_view, turn_row_view
from retrieval.text import usable

PAGE = 20
LONGEST_PAGE = 100
NEWEST = 2**53

blueprint = Blueprint("timelines", __name__, url_prefix="/api/v1/timelines")


@blueprint.get("")
def index() -> dict[str, Any]:
    """Every timeline, newest first, and the ledgers that could not be opened; with ?q= those that hold the words."""
    words = usable(request.args.get("q", "")).strip()
    return {
        "timelines": _found(words) if words else [timeline_view(row) for row in service().timelines()],
        "damaged": [{"name": damage.name, "message": damage.text} for damage in service().damaged],
    }


@blueprint.post("")
def create() -> tuple[dict[str, Any], int]:
    """Begin a timeline and its first session."""
    given = read_json({"user": str, "character": str}, {"persona": str, "timezone": str, "model": str, "preset": str})
    timeline = service().create_timeline(
        given["user"],
        given["character"],
        given["persona"] or "",
        timezone=given["timezone"],
        model=given["model"],
        preset_name=given["preset"] or "default",
    )
    return {"timeline": timeline_view(timeline.info), "session": session_view(timeline.session())}, 201


@blueprint.get("/<id('t'):timeline>")
def show(timeline: str) -> dict[str, Any]:
    """A timeline, its sessions and a page of its turns: the last ones, or those before the event ?before=SEQ."""
    before = query_number("before", NEWEST, 0, NEWEST)
    limit = query_number("limit", PAGE, 1, LONGEST_PAGE)
    opened = service().timeline(timeline)
    rows = service().catalogue.turns(timeline, limit + 1, before)
    running = live().running(timeline)
    return {
        "timeline": timeline_view(opened.info),
        "sessions": [session_view(row) for row in service().catalogue.sessions(timeline)],
        "turns": _turns(opened, rows[-limit:]),
        "more": len(rows) > limit,
        "running": {"message": running.asked.message, "replaces": running.asked.replaces} if running else None,
        "torn": opened.torn.name if opened.torn else None,
    }


@blueprint.patch("/<id('t'):timeline>")
def rename(timeline: str) -> dict[str, Any]:
    """Call the timeline something else."""
    return {"timeline": timeline_view(service().rename(timeline, read_json({"title": str})["title"]))}


@blueprint.get("/<id('t'):timeline>/rounds/<number:round>")
def show_round(timeline: str, round: int) -> dict[str, Any]:
    """Every reply and failed attempt of one round, in the order they were made."""
    opened = service().timeline(timeline)
    return {"turns": _turns(opened, service().catalogue.turns_of_round(timeline, round))}


@blueprint.post("/<id('t'):timeline>/sessions")
def begin_session(timeline: str) -> tuple[dict[str, Any], int]:
    """Clear the context, or go on with another model: either way a new session on the same timeline."""
    model = read_json({}, {"model": str})["model"]
    session = service().switch_model(timeline, model) if model is not None else service().clear_context(timeline)
    return {"session": session_view(session)}, 201


def _found(words: str) -> list[dict[str, Any]]:
    return [
        {
            **timeline_view(item.timeline),
            "match": {"round": item.round, "text": around(item.text, words)} if item.text else None,
        }
        for item in service().catalogue.found(words)
    ]


def _turns(timeline: Timeline, rows: Sequence[TurnRow]) -> list[dict[str, Any]]:
    return [turn_row_view(service(), row, timeline.record(row)) for row in rows]
