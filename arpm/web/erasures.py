"""Erasing for good: /api/v1/erasures. The reach is looked at first, then confirmed word for word."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, cast, get_args

from flask import Blueprint

from arpm.erasure import Reach, Receipt, What, erase, reach
from arpm.sweep import Along
from arpm.web import strings
from arpm.web.body import ids_field, read_json
from arpm.web.context import audits, live, service
from arpm.web.errors import RequestError

_TARGETS = {"timeline": str, "memories": list, "session": str, "document": str, "replies": str}

blueprint = Blueprint("erasures", __name__, url_prefix="/api/v1/erasures")


@blueprint.post("/reach")
def look() -> dict[str, Any]:
    """What an erasure would take and leave. Changes nothing."""
    return {"reach": reach_view(reach(service(), _what(read_json({}, _TARGETS))))}


@blueprint.post("")
def create() -> dict[str, Any]:
    """Erase, when `confirm` says what the reach says."""
    given = read_json({"confirm": str}, {**_TARGETS, "reason": str})
    what = _what(given)
    receipt, done = erase(service(), what, given["confirm"], given["reason"] or "")
    # A turn that is remembered under its key holds its whole record.
    live().forget(what.timeline)
    audits().forget()
    return {"receipt": receipt_view(receipt), "reach": reach_view(done)}


def reach_view(found: Reach) -> dict[str, Any]:
    """What an erasure takes and leaves."""
    return {
        "confirm": found.confirm,
        "memories": [{**asdict(item), "at": item.at.isoformat() if item.at else None} for item in found.memories],
        "events": len(found.events),
        "instructions": [asdict(item) for item in found.instructions],
        "prompts": [asdict(item) for item in found.prompts],
        "replies": [{**asdict(item), "at": item.at.isoformat()} for item in found.replies],
        "copies": [{**asdict(item), "at": item.at.isoformat()} for item in found.copies],
        "files": list(found.files),
    }


def receipt_view(receipt: Receipt) -> dict[str, Any]:
    """What the ledger says about an erasure."""
    return {**asdict(receipt), "at": receipt.at.isoformat()}


def _what(given: dict[str, Any]) -> What:
    memories = ids_field(given["memories"], "memories") if given["memories"] is not None else []
    replies = _replies(given["replies"])
    return What(given["timeline"], tuple(dict.fromkeys(memories)), given["session"], given["document"], replies)


def _replies(given: str | None) -> Along | None:
    """Which replies go along. Raises RequestError for another word than there are."""
    for along in get_args(Along):
        if given == along:
            return cast(Along, along)
    if given is None:
        return None
    raise RequestError(400, "input", strings.BAD_REPLIES.format(given=given[:40]), "body.replies")
