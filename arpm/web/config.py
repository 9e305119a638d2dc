"""Models, presets and the governance config: /api/v1/models, /api/v1/presets, /api/v1/timelines/ID/config."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args, get_type_hints

from flask import Blueprint

from arpm.web import strings
from arpm.web.body import read_json
from arpm.web.context import service
from arpm.web.errors import RequestError
from arpm.web.views import config_view
from governance.config import PRESETS, GovernanceConfig

blueprint = Blueprint("config", __name__, url_prefix="/api/v1")


@blueprint.get("/models")
def models() -> dict[str, Any]:
    """The models there are, the default first."""
    known = service().models
    return {"models": [{"name": name, "default": name == known.default} for name in known.names()]}


@blueprint.get("/presets")
def presets() -> dict[str, Any]:
    """The named configs, and every setting with its help, place, type and range."""
    return {
        "presets": [
            {"name": item.name, "help": item.help, "differences": GovernanceConfig().differences(item.config)}
            for item in PRESETS.values()
        ],
        "settings": [_setting(item) for item in dataclasses.fields(GovernanceConfig)],
    }


@blueprint.get("/timelines/<id('t'):timeline>/config")
def show(timeline: str) -> dict[str, Any]:
    """The config of the running session."""
    opened = service().timeline(timeline)
    return config_view(opened.session(), opened.config())


@blueprint.patch("/timelines/<id('t'):timeline>/config")
def change(timeline: str) -> dict[str, Any]:
    """Take another preset, change single settings, or both; recorded as an intervention."""
    given = read_json({}, {"preset": str, "changes": dict})
    if given["preset"] is None and given["changes"] is None:
        raise RequestError(400, "input", strings.NO_CHANGE, "body")
    service().intervene(timeline, given["changes"] or {}, given["preset"])
    return show(timeline)


def _setting(item: dataclasses.Field[Any]) -> dict[str, Any]:
    kind = get_type_hints(GovernanceConfig)[item.name]
    choices = get_args(kind)
    return {
        "name": item.name,
        "help": item.metadata["help"],
        "stage": item.metadata["stage"],
        "group": item.metadata["group"],
        "type": "choice" if choices else kind.__name__,
        "default": item.default,
        "low": item.metadata["low"],
        "high": item.metadata["high"],
        "choices": list(choices),
    }
