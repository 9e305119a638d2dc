"""The description of the API for programs: docs/openapi.json, at /api/v1/openapi.json.

Knows nothing about what it says; tests/web/test_openapi.py holds it against the routes and their answers.
"""

from __future__ import annotations

from pathlib import Path

from flask import Blueprint, Response

FILE = Path(__file__).parents[2] / "docs" / "openapi.json"

blueprint = Blueprint("openapi", __name__, url_prefix="/api/v1")


@blueprint.get("/openapi.json")
def show() -> Response:
    """The OpenAPI 3.1 description of every address under /api/v1 and of the health checks."""
    return Response(FILE.read_bytes(), mimetype="application/json")
