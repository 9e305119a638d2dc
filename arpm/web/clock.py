"""The experiment clock: /api/v1/clock. Where times come from until the server stops; every turn records its name."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from flask import Blueprint

from arpm.clock import Clock, FixedClock, OffsetClock, SystemClock
from arpm.web import strings
from arpm.web.body import read_json
from arpm.web.context import service
from arpm.web.errors import RequestError

# A hundred years either way: no date that follows can leave the range of the calendar.
_LIMIT = 100 * 366 * 86_400

blueprint = Blueprint("clock", __name__, url_prefix="/api/v1/clock")


@blueprint.get("")
def show() -> dict[str, Any]:
    """Which clock is used, and its time now."""
    clock = service().clock.inner
    kind = "fixed" if isinstance(clock, FixedClock) else "offset" if isinstance(clock, OffsetClock) else clock.name
    return {
        "kind": kind,
        "name": clock.name,
        "now": clock.now().isoformat(),
        "at": clock.at.isoformat() if isinstance(clock, FixedClock) else None,
        "offset_seconds": clock.offset.total_seconds() if isinstance(clock, OffsetClock) else None,
    }


@blueprint.put("")
def change() -> dict[str, Any]:
    """Take another clock: the system's, one that stands still, or the system's moved by an offset."""
    given = read_json({"kind": str}, {"at": str, "offset_seconds": None})
    service().clock.inner = _clock(given)
    return show()


def _clock(given: dict[str, Any]) -> Clock:
    if given["kind"] == "system":
        return SystemClock()
    if given["kind"] == "fixed":
        return FixedClock(_time(given["at"]))
    if given["kind"] == "offset":
        return OffsetClock(timedelta(seconds=_offset(given["offset_seconds"])))
    raise RequestError(400, "input", strings.BAD_CLOCK.format(given=given["kind"][:40]), "body.kind")


def _time(given: str | None) -> datetime:
    try:
        at = datetime.fromisoformat(given or "")
    except ValueError:
        at = datetime.min
    if at.utcoffset() is None or not 1900 <= at.year <= 2200:
        raise RequestError(400, "input", strings.BAD_TIME, "body.at")
    return at


def _offset(given: object) -> float:
    if not isinstance(given, int | float) or isinstance(given, bool) or not -_LIMIT <= given <= _LIMIT:
        raise RequestError(400, "input", strings.BAD_OFFSET.format(limit=_LIMIT), "body.offset_seconds")
    return float(given)
