"""Standing instructions: /api/v1/timelines/ID/instructions."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Blueprint

from arpm.web.body import read_json
from arpm.web.context import service
from arpm.web.views import instruction_view
from governance.contradictions import contradictions

blueprint = Blueprint("instructions", __name__, url_prefix="/api/v1/timelines/<id('t'):timeline>/instructions")


@blueprint.get("")
def index(timeline: str) -> dict[str, Any]:
    """Every instruction in the order given, retired ones too, and which of those in force contradict each other."""
    opened = service().timeline(timeline)
    return {
        "instructions": [instruction_view(row) for row in opened.instructions()],
        "contradictions": [asdict(pair) for pair in contradictions(opened.active_instructions())],
    }


@blueprint.post("")
def add(timeline: str) -> tuple[dict[str, Any], int]:
    """Add an instruction by hand. The same words are in force only once."""
    text = read_json({"text": str})["text"]
    added = service().timeline(timeline).add_instruction(text)
    return {"id": added.id, **index(timeline)}, 201


@blueprint.post("/<id('i'):instruction>/retire")
def retire(timeline: str, instruction: str) -> dict[str, Any]:
    """Retire an instruction: no later prompt shows it."""
    reason = read_json({}, {"reason": str})["reason"]
    service().timeline(timeline).retire_instruction(instruction, reason or "retired by hand", by="hand")
    return index(timeline)


@blueprint.post("/<id('i'):instruction>/replace")
def replace(timeline: str, instruction: str) -> dict[str, Any]:
    """Put other words in the place of an instruction: the old ones are retired in the same write."""
    fresh = service().timeline(timeline).replace_instruction(instruction, read_json({"text": str})["text"])
    return {"id": fresh.id, **index(timeline)}
