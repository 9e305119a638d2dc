"""Sending a message and following its turn: /api/v1/timelines/ID/messages and /stop."""

from __future__ import annotations

import re
from typing import Any

from flask import Blueprint, Response, request

from arpm.turn import Asked
from arpm.web import strings
from arpm.web.body import read_json
from arpm.web.context import live, service
from arpm.web.errors import RequestError
from arpm.web.sse import stream

_KEY = re.compile(r"[!-~]{1,128}")

blueprint = Blueprint("messages", __name__, url_prefix="/api/v1/timelines/<id('t'):timeline>")


@blueprint.post("/messages")
def send(timeline: str) -> Response:
    """Answer a message, or with `replaces` the newest round again; the response streams the turn.

    Under an Idempotency-Key it is sent at most once.
    """
    given = read_json({"message": str}, {"replaces": str})
    return stream(live().start(timeline, Asked(given["message"], given["replaces"], _key())))


@blueprint.get("/messages/running")
def follow(timeline: str) -> Response:
    """Follow the turn that is being answered from its beginning, after a reload for example."""
    service().timeline(timeline)
    running = live().running(timeline)
    if running is None:
        raise RequestError(404, "not_found", strings.NOT_RUNNING)
    return stream(running)


@blueprint.post("/stop")
def stop(timeline: str) -> dict[str, Any]:
    """Stop the turn that is being answered. It is recorded as failed, and the words are kept."""
    read_json({})
    service().timeline(timeline)
    running = live().running(timeline)
    if running is not None:
        running.cancel.set()
    return {"stopped": running is not None}


def _key() -> str | None:
    key = request.headers.get("Idempotency-Key")
    if key is not None and not _KEY.fullmatch(key):
        raise RequestError(400, "input", strings.BAD_KEY, "Idempotency-Key")
    return key
