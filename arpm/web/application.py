"""The web application put together: one service, the cross-cutting rules, the areas. Nothing else happens here."""

from __future__ import annotations

from pathlib import Path

from flask import Flask

from arpm.service import Service
from arpm.web import (
    audit,
    body,
    clock,
    compare,
    config,
    context,
    csrf,
    documents,
    erasures,
    errors,
    headers,
    health,
    hosts,
    ids,
    instructions,
    junk,
    login,
    memories,
    messages,
    openapi,
    pages,
    reviews,
    timelines,
    turns,
)

AREAS = (
    pages,
    health,
    timelines,
    messages,
    turns,
    reviews,
    instructions,
    memories,
    config,
    clock,
    compare,
    documents,
    erasures,
    audit,
    openapi,
)

# Where `static` and `templates` are.
ROOT = Path(__file__).parents[2]


def create_app(service: Service) -> Flask:
    """The application that serves `service`: the chat page and the JSON API."""
    app = Flask(__name__, root_path=str(ROOT))
    app.config["MAX_CONTENT_LENGTH"] = body.JSON_LIMIT
    context.init(app, service)
    errors.init(app)
    headers.init(app)
    ids.init(app)
    # In this order: junk is refused before its text is looked at, and nobody is asked for a token from another site.
    junk.init(app)
    hosts.init(app, service.settings.host)
    csrf.init(app)
    login.init(app, service.settings.token)
    pages.init(app)
    for area in AREAS:
        app.register_blueprint(area.blueprint)
    return app
