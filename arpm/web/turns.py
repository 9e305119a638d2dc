"""The record of a turn: /api/v1/turns/ID."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from arpm.web.context import service
from arpm.web.views import turn_view

blueprint = Blueprint("turns", __name__, url_prefix="/api/v1/turns")


@blueprint.get("/<turn:reference>")
def show(reference: str) -> dict[str, Any]:
    """Everything about one turn, by its event id or as TIMELINE:ROUND."""
    return turn_view(service(), service().record(reference))
