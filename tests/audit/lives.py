"""A timeline in which everything happens that a replay must get right, on a real service with scripted replies."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from arpm.generation.base import GenerationError
from arpm.quarantine import Scope
from arpm.service import Service
from arpm.turn import TurnFailedError
from tests.support import START, ScriptedBackend, SteppingClock, open_service, reply

GUIDE = """# Guide

The lantern by the door is lit at six. The cellar is locked.

# 指南

门边的灯笼六点点亮。地窖上锁了。
"""
RULES = "Quiet hours begin at ten. 十点以后请保持安静。\n"


class JumpingClock(SteppingClock):
    """Steps on by three hours, and once jumps a day back."""

    def __init__(self) -> None:
        super().__init__(START, timedelta(hours=3))
        self.looks = 0

    def now(self) -> datetime:
        self.looks += 1
        if self.looks == 40:
            self.at -= timedelta(days=1)
        return super().now()


def eventful(logs: Path) -> str:
    """Live through a timeline of every kind of event in `logs` and return its id. The folder is closed again."""
    backend = ScriptedBackend([reply("I see. 明白。", "E1", "experience", "E1 says so.")])
    other = ScriptedBackend([reply("Another voice.")])
    other.name = other.model = "other"
    with open_service(logs, backend, clock=JumpingClock(), others=[other]) as service:
        timeline = service.create_timeline("Ada", "Mia", "You are calm. 你很平静。", timezone="Asia/Shanghai").id
        _talk(service, timeline)
        guide = service.ingest("guide.md", GUIDE.encode())
        service.turn(timeline, "When is the lantern lit?")
        service.ingest("rules.txt", RULES.encode())
        service.intervene(timeline, {"window_rounds": 1})
        _broken(service, timeline, backend)
        service.intervene(timeline, {"window_rounds": 4})
        service.library.remove(guide.id, "outdated")
        service.intervene(timeline, {"history_k": 3, "chronological": False})
        service.turn(timeline, "灯笼几点点亮？")
        old = service.turn(timeline, "Where is the red kettle?")
        service.turn(timeline, "Where is the red kettle?", replaces=old.id)
        service.clear_context(timeline)
        service.quarantine(timeline, Scope("rounds", (1, 2)), "a test")
        service.turn(timeline, "Where is the red kettle now?")
        held = [row.memory.memory for row in service.catalogue.memory_rows(timeline, state="quarantined")]
        service.release(timeline, held[:1], "one is right")
        for preset in ("paper", "C", "E", "G", "H", "default"):
            service.intervene(timeline, {}, preset)
            service.turn(timeline, f"Under {preset}: where is the red kettle? 红色的水壶呢？")
        service.switch_model(timeline, "other")
        service.turn(timeline, "Who are you? 你是谁？")
        (first, *_) = service.timeline(timeline).active_instructions()
        service.timeline(timeline).replace_instruction(first.id, "Always answer in two languages.")
        service.turn(timeline, "And the quiet hours? 安静时间呢？")
        service.rename(timeline, "The kettle")
    return timeline


def _talk(service: Service, timeline: str) -> None:
    service.turn(timeline, "From now on, always answer in English and Chinese.")
    for message in (
        "The red kettle is in the cellar.",
        "红色的水壶现在在阁楼。",
        "Tea is at four.",
        "Tea is at five now.",
    ):
        service.turn(timeline, message)


def _broken(service: Service, timeline: str, backend: ScriptedBackend) -> None:
    """Replies that break the protocol in every rung of its ladder, and one that never came."""
    good = backend.script[-1]
    for output in (
        "<anaylsis>need: none\nevidence: none</analysis><response>Misspelt.</response>",
        "<analysis>need: both\nevidence: E1, E9\ncheck: x</analysis><response>Unknown label.</response>",
        "<analysis>only thoughts",
        "Plain words without any tag, and the repair is no better.",
    ):
        backend.script = [output, output, good]
        service.turn(timeline, "When is tea?")
    backend.script = [GenerationError("server_error", "The model answered 500.", "half"), good]
    with pytest.raises(TurnFailedError):
        service.turn(timeline, "Are you there?")
    backend.script = [good]
    service.turn(timeline, "Are you there?")
