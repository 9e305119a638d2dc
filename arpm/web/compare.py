"""One message under two to four configs, side by side, without a trace: /api/v1/timelines/ID/compare."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response

from arpm.service import Column
from arpm.turn import checked_message
from arpm.web import strings
from arpm.web.body import read_json
from arpm.web.context import comparisons, service
from arpm.web.errors import RequestError
from arpm.web.sse import stream

FEWEST, MOST = 2, 4

blueprint = Blueprint("compare", __name__, url_prefix="/api/v1/timelines/<id('t'):timeline>/compare")


@blueprint.post("")
def begin(timeline: str) -> Response:
    """Answer the message under every column, one after the other; the response streams what happens in each."""
    given = read_json({"message": str, "columns": list})
    columns = [_column(item) for item in given["columns"]]
    if not FEWEST <= len(columns) <= MOST:
        raise RequestError(400, "input", strings.BAD_COLUMNS, "body.columns")
    message = checked_message(given["message"])
    for column in columns:
        service().check(timeline, column)
    return stream(comparisons().begin(timeline, message, columns))


@blueprint.post("/stop")
def stop(timeline: str) -> dict[str, Any]:
    """Stop the comparison that is running."""
    read_json({})
    service().timeline(timeline)
    return {"stopped": comparisons().stop(timeline)}


def _column(given: object) -> Column:
    known = {"preset": str, "changes": dict, "model": str}
    fits = isinstance(given, dict) and all(
        name in known and (value is None or type(value) is known[name]) for name, value in given.items()
    )
    if not fits:
        raise RequestError(400, "input", strings.BAD_COLUMNS, "body.columns")
    assert isinstance(given, dict)
    return Column(given.get("preset"), given.get("changes") or {}, given.get("model"))
