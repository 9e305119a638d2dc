"""The web application put together: one service, the cross-cutting rules, the areas. Nothing else happens here."""

from __future__ import annotations

from pathlib import Path

from flask import Flask

from arpm.service import Service
from arpm.web import (
    audit,
    body,
    checkpoints,
    clock,
    compare,
    config,
    context,
    csrf,
    diffs,
    documents,
    erasures,
    errors,
    exports,
    headers,
    health,
    hosts,
    ids,
    instructions,
    junk,
    lives,
    login,
    memories,
    messages,
    openapi,
    pages,
    plots,
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
    diffs,
    lives,
    checkpoints,
    exports,
    plots,
    openapi,
)

# Where `static` and `templates` are.
ROOT = Path(__file__).parents[2]


def create_app(service: Service, home: Path = Path()) -> Flask:
    """The application that serves `service`: the pages and the JSON API.

    `home` is where the folders `checkpoints` and `exports` are: the one that the server was started in.
    """
    app = Flask(__name__, root_path=str(ROOT))
    app.config["MAX_CONTENT_LENGTH"] = body.JSON_LIMIT
    context.init(app, service, home)
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
