"""Manual review of turns: /api/v1/timelines/ID/reviews and /api/v1/turns/ID/reviews."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from flask import Blueprint, request

from arpm.audit.review import VERDICTS, Verdict
from arpm.audit.reviews import Opinion, Running, agreements, replies, report_of, standing, turn_named, write_review
from arpm.catalogue import ReviewRow
from arpm.web import strings
from arpm.web.body import query_number, read_json
from arpm.web.context import service
from arpm.web.errors import RequestError
from retrieval.text import usable

PAGE = 20
LONGEST_PAGE = 100
NEWEST = 2**53

blueprint = Blueprint("reviews", __name__, url_prefix="/api/v1")


@blueprint.get("/timelines/<id('t'):timeline>/reviews")
def index(timeline: str) -> dict[str, Any]:
    """A page of reviews, newest first, with every reviewer's report and how far they agree; ?reviewer= chooses one."""
    limit = query_number("limit", PAGE, 1, LONGEST_PAGE)
    before = query_number("before", NEWEST, 0, NEWEST)
    reviewer = usable(request.args["reviewer"]) if "reviewer" in request.args else None
    service().timeline(timeline)
    catalogue = service().catalogue
    everything = catalogue.reviews(timeline)
    rows = [row for row in everything if reviewer is None or row.reviewer == reviewer]
    page = [row for row in reversed(rows) if row.seq < before]
    done, last = {row.turn for row in rows}, standing(everything)
    names = sorted({row.reviewer for row in everything})
    return {
        "reviews": _views(page[:limit], last),
        "count": len(rows),
        "more": len(page) > limit,
        "reviewers": [{"name": name, "count": sum(row.reviewer == name for row in last)} for name in names],
        "open": sum(turn.event not in done for turn in replies(catalogue, timeline)),
        "reports": [
            {"reviewer": name, **asdict(report_of(Running(service()), timeline, name))}
            for name in names
            if reviewer in (None, name)
        ],
        "agreement": _agreement(timeline) if len(names) > 1 else None,
    }


@blueprint.get("/turns/<turn:reference>/reviews")
def show(reference: str) -> dict[str, Any]:
    """Every review of a turn, newest first."""
    rows = service().catalogue.reviews_of_turn(service().record(reference).id)
    return {"reviews": _views(rows[::-1], standing(rows))}


@blueprint.post("/turns/<turn:reference>/reviews")
def add(reference: str) -> tuple[dict[str, Any], int]:
    """Record a review; the same person's earlier one of this turn is superseded and stays in the ledger."""
    given = read_json(
        {"reviewer": str, "support": str, "correct": str, "reason": str},
        {"quote": str, "memory": str, "pending": bool},
    )
    opinion = Opinion(
        reviewer=given["reviewer"],
        support=_verdict(given, "support"),
        correct=_verdict(given, "correct"),
        reason=given["reason"],
        quote=given["quote"],
        memory=given["memory"],
        pending=bool(given["pending"]),
    )
    row = write_review(service(), turn_named(service().catalogue, reference), opinion)
    return {"review": _views([row], [row])[0]}, 201


def _verdict(given: dict[str, Any], name: str) -> Verdict:
    for verdict in VERDICTS:
        if given[name] == verdict:
            return verdict
    raise RequestError(400, "input", strings.BAD_VERDICT.format(name=name, given=given[name][:40]), f"body.{name}")


def _views(rows: Iterable[ReviewRow], last: Sequence[ReviewRow]) -> list[dict[str, Any]]:
    """Reviews as they were written, with the round of their turn and whether they stand."""
    stand = {row.event for row in last}
    return [
        {**asdict(row), "at": row.at.isoformat(), "round": _round(row), "standing": row.event in stand} for row in rows
    ]


def _round(row: ReviewRow) -> int | None:
    turn = service().catalogue.turn(row.turn)
    return turn.round if turn is not None and turn.round else None


def _agreement(timeline: str) -> dict[str, Any]:
    return {verdict: asdict(item) for verdict, item in agreements(service().catalogue, timeline).items()}
