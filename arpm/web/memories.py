"""Looking into memory without a turn: /api/v1/timelines/ID/memories."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, request

from arpm.record import candidate_row, evidence_row
from arpm.web.body import query_number
from arpm.web.context import service
from arpm.web.views import EXCERPT, memory_view
from governance.selection import Decision
from retrieval.text import usable

PAGE = 20
LONGEST_PAGE = 100

blueprint = Blueprint("memories", __name__, url_prefix="/api/v1/timelines/<id('t'):timeline>/memories")


@blueprint.get("")
def index(timeline: str) -> dict[str, Any]:
    """The newest memories of experience, or with ?q= what a message would bring back from both routes now."""
    limit = query_number("limit", PAGE, 1, LONGEST_PAGE)
    query = request.args.get("q")
    if query is not None:
        return _search(timeline, usable(query), limit)
    service().timeline(timeline)
    known = service().catalogue.experiences(timeline)
    return {"memories": [memory_view(memory) for memory in known[: -limit - 1 : -1]], "count": len(known)}


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
