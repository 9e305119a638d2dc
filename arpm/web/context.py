"""What the handlers of one application share: the service and its running turns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from flask import Flask, current_app

from arpm.service import Service
from arpm.web.audits import Audits
from arpm.web.comparisons import Comparisons
from arpm.web.live import LiveTurns

_NAME = "arpm"


@dataclass(frozen=True, slots=True)
class Context:
    """The service behind an application, and the turns, comparisons and audits that it is running."""

    service: Service
    live: LiveTurns
    comparisons: Comparisons
    audits: Audits


def init(app: Flask, service: Service, home: Path) -> None:
    """Put `service` behind `app`. `home` is the folder that checkpoints and exports have theirs in."""
    app.extensions[_NAME] = Context(service, LiveTurns(service), Comparisons(service), Audits(service, home))


def context_of(app: Flask) -> Context:
    """The context of an application."""
    return cast(Context, app.extensions[_NAME])


def service() -> Service:
    """The service of the application that answers the present request."""
    return context_of(current_app).service


def live() -> LiveTurns:
    """The running turns of the application that answers the present request."""
    return context_of(current_app).live


def comparisons() -> Comparisons:
    """The running comparisons of the application that answers the present request."""
    return context_of(current_app).comparisons


def audits() -> Audits:
    """The audits of the application that answers the present request."""
    return context_of(current_app).audits
