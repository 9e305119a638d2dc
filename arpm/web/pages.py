"""The pages. Everything on them that changes comes from the JSON API."""

from __future__ import annotations

from types import SimpleNamespace

from flask import Blueprint, Flask, render_template
from jinja2 import StrictUndefined

from arpm.turn import MESSAGE_LIMIT
from arpm.web import strings
from arpm.web.context import service

blueprint = Blueprint("pages", __name__)


def init(app: Flask) -> None:
    """Give every template of `app` its words."""
    # A word that a template asks for and strings.py lacks is an error, not an empty label.
    app.jinja_env.undefined = StrictUndefined
    # Not the dict itself: `text.keys` would be its method.
    text = SimpleNamespace(**strings.PAGE)
    app.context_processor(lambda: {"text": text})


@blueprint.get("/")
def chat() -> str:
    """The conversation, and why each reply came out as it did."""
    return _page("chat.html")


@blueprint.get("/memory")
def memory() -> str:
    """What is remembered: instructions, experience, knowledge."""
    return _page("memory.html")


@blueprint.get("/panel")
def panel() -> str:
    """The intervention panel: presets, switches and constants, compare, the clock."""
    return _page("panel.html")


@blueprint.get("/audit")
def audit() -> str:
    """The record and whether it holds: ledgers, replays, reviews, statistics."""
    return _page("audit.html")


def _page(template: str) -> str:
    settings = service().settings
    return render_template(
        template,
        page=template.removesuffix(".html"),
        upload_limit=settings.upload_limit,
        upload_size=strings.size(settings.upload_limit),
        message_limit=MESSAGE_LIMIT,
        timezone=settings.timezone,
        clock=service().clock.name,
    )
