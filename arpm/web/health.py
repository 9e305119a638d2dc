"""Whether the server is alive, and whether it can answer. Both say nothing about anybody."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from arpm.web.context import live, service

blueprint = Blueprint("health", __name__)


@blueprint.get("/healthz")
def healthz() -> dict[str, Any]:
    """The process answers."""
    return {"status": "ok"}


@blueprint.get("/readyz")
def readyz() -> tuple[dict[str, Any], int]:
    """The ledgers are read and turns are taken; 503 while the server stops."""
    if live().closed:
        return {"status": "stopping"}, 503
    # Damage is told by number only: this address asks for no token.
    return {"status": "ready", "damaged_ledgers": len(service().damaged)}, 200
