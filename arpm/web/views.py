"""What the JSON API shows of the service's values: pure reading, one function for each kind of thing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from arpm.catalogue import (
    DocumentRow,
    InstructionRow,
    MemoryRow,
    QuarantineRow,
    SessionRow,
    TimelineRow,
    TurnRow,
    UseRow,
)
from arpm.events import Event
from arpm.prompt import PromptParts, passages
from arpm.replayed_prompt import PromptLostError, parts_of_body, parts_of_record
from arpm.service import Rehearsal, Service
from governance.config import PRESETS, GovernanceConfig
from retrieval.memories import Experience, KnowledgeChunk

# Enough of a candidate's text to recognise it by; evidence is shown whole.
EXCERPT = 300


def timeline_view(row: TimelineRow) -> dict[str, Any]:
    """A timeline."""
    return {**asdict(row), "at": row.at.isoformat()}


def session_view(row: SessionRow) -> dict[str, Any]:
    """A session, without its config."""
    return {
        "id": row.id,
        "number": row.number,
        "cause": row.cause,
        "model": row.model,
        "preset": row.preset,
        "at": row.at.isoformat(),
    }


def config_view(session: SessionRow, config: GovernanceConfig) -> dict[str, Any]:
    """The governance config that holds in a session, and how it differs from its preset (else from the default)."""
    return {
        "preset": session.preset,
        "config": config.as_dict(),
        "differences": _base(session.preset).differences(config),
    }


def instruction_view(row: InstructionRow) -> dict[str, Any]:
    """A standing instruction, active or retired."""
    retired = row.retired_at.isoformat() if row.retired_at else None
    return {**asdict(row), "at": row.at.isoformat(), "retired_at": retired, "active": row.retired_at is None}


def document_view(row: DocumentRow) -> dict[str, Any]:
    """A document of the knowledge base."""
    return {
        "id": row.id,
        "name": row.name,
        "media_type": row.media_type,
        "characters": row.characters,
        "at": row.at.isoformat(),
    }


def experience_view(row: MemoryRow) -> dict[str, Any]:
    """An experience, whole, with what became of it."""
    return {
        **memory_view(row.memory),
        "message": row.memory.message,
        "reply": row.memory.reply,
        "seq": row.seq,
        "state": row.state,
        "model": row.model,
        "turn": row.turn,
        "source": row.source,
        "uses": row.uses,
    }


def use_view(row: UseRow) -> dict[str, Any]:
    """A turn whose prompt showed a memory."""
    return {**asdict(row), "at": row.at.isoformat()}


def quarantine_view(row: QuarantineRow) -> dict[str, Any]:
    """A time that a memory was in quarantine."""
    released = row.released_at.isoformat() if row.released_at else None
    return {**asdict(row), "at": row.at.isoformat(), "released_at": released}


def memory_view(memory: Experience | KnowledgeChunk, limit: int | None = None) -> dict[str, Any]:
    """A memory of either kind, its text cut to `limit` characters."""
    view = {"id": memory.memory, "text": _cut(memory.text, limit), "at": memory.at.isoformat() if memory.at else None}
    if isinstance(memory, KnowledgeChunk):
        return {**view, "route": "knowledge", "source": memory.source, "document": memory.document}
    sides = {"message": _cut(memory.message, limit), "reply": _cut(memory.reply, limit)}
    return {**view, **sides, "route": "experience", "round": memory.round, "session": memory.session}


def _cut(text: str, limit: int | None) -> str:
    return text if limit is None or len(text) <= limit else text[: limit - 1] + "…"


def turn_row_view(service: Service, row: TurnRow, event: Event) -> dict[str, Any]:
    """A turn as the conversation shows it: what was said, and what is worth a word beside it."""
    return {
        "id": row.event,
        "seq": row.seq,
        "kind": row.kind,
        "round": row.round,
        "session": row.session,
        "at": row.at.isoformat(),
        "model": row.model,
        "message": row.message,
        "response": row.response,
        "replaces": row.replaces,
        "replaced_by": row.replaced_by,
        "branches": service.catalogue.branches(row.event) if row.replaces else 0,
        **_marks(event.body or {}),
    }


def turn_view(service: Service, event: Event) -> dict[str, Any]:
    """A turn as the conversation shows it, its whole record, and what the record only names by id.

    `prompt` is None for a failed turn and where something that it showed was erased. `shown` holds, by label, the words
    of evidence that is not a whole memory.
    """
    body = event.body or {}
    row = service.catalogue.turn(event.id)
    assert row is not None
    replies = service.catalogue.turns_of_round(event.timeline, row.round)
    return {
        "turn": turn_row_view(service, row, event),
        "record": record_view(event),
        "siblings": [reply.event for reply in replies if reply.kind == "turn"],
        "memories": memories_of(service, body),
        "instructions": instructions_of(service, body),
        **_prompt(service, event),
    }


def rehearsal_view(service: Service, timeline: str, rehearsal: Rehearsal) -> dict[str, Any]:
    """What a turn would have been, in the shape of a turn."""
    body, opened = rehearsal.body, service.timeline(timeline)
    prompt, made = _NO_PROMPT, rehearsal.compressions
    if rehearsal.kind == "turn":
        prompt = _of_parts(lambda: parts_of_body(service.catalogue, opened.id, rehearsal.at, body, made))
    return {
        "kind": rehearsal.kind,
        "preset": rehearsal.preset,
        "model": rehearsal.model,
        "differences": _base(rehearsal.preset).differences(rehearsal.config),
        "body": body,
        "memories": memories_of(service, body),
        "instructions": instructions_of(service, body),
        **prompt,
        "seconds": sum(body["timings"].values()),
    }


def _base(preset: str) -> GovernanceConfig:
    return PRESETS.get(preset, PRESETS["default"]).config


def around(text: str, words: str, room: int = 60) -> str:
    """The stretch of a text around some words that it holds."""
    place = max(text.casefold().find(words.casefold()), 0)
    start, end = max(place - room, 0), place + len(words) + room
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def record_view(event: Event) -> dict[str, Any]:
    """An event of a ledger, as it is written there."""
    return {
        "schema": event.schema,
        "seq": event.seq,
        "id": event.id,
        "kind": event.kind,
        "timeline": event.timeline,
        "session": event.session,
        "at": event.at.isoformat(),
        "body": event.body,
        "body_digest": event.body_digest,
        "prev": event.prev,
        "hash": event.hash,
    }


def _marks(body: Mapping[str, Any]) -> dict[str, Any]:
    """The small facts of a record that stand beside a turn."""
    return {
        "erased": not body,
        "timings": body.get("timings", {}),
        "clock": body.get("clock", "system"),
        "need": (body.get("analysis") or {}).get("need"),
        "evidence": len(body.get("evidence", [])),
        "cited": body.get("cited", []),
        "bound": body.get("bound", []),
        "unknown": (body.get("analysis") or {}).get("unknown", []),
        "violations": [item["kind"] for item in body.get("violations", [])],
        "faults": _faults(body),
        "repairs": [item["rung"] for item in body.get("repairs", [])],
        "admitted": body.get("admission", {}).get("admitted", False),
        "error": body.get("error"),
    }


def _faults(body: Mapping[str, Any]) -> list[str]:
    """What was wrong with the model's outputs, repaired since or not, each kind once."""
    found = (item["kind"] for attempt in body.get("attempts", []) for item in attempt.get("violations", []))
    return list(dict.fromkeys(found))


def memories_of(service: Service, body: Mapping[str, Any]) -> dict[str, Any]:
    """The memories a record names, by id; an erased one is not there."""
    shown = {item["memory"] for item in body.get("evidence", [])}
    candidates = body.get("candidates", {})
    looked_at = [row["memory"] for row in body.get("history", []) if row["memory"]]
    named = [*shown, *(row["memory"] for route in candidates.values() for row in route), *looked_at]
    found = ((id, service.catalogue.memory(id)) for id in dict.fromkeys(named))
    return {id: memory_view(memory, None if id in shown else EXCERPT) for id, memory in found if memory is not None}


def instructions_of(service: Service, body: Mapping[str, Any]) -> dict[str, str]:
    ids: Iterable[str] = body.get("instructions_shown", [])
    return {id: text for id in ids for text in service.catalogue.instruction_texts([id])}


def prompt_view(parts: PromptParts) -> list[dict[str, Any]]:
    """A prompt, message by message, each also in the stretches it was put together from."""
    return [
        {**asdict(item.message()), "parts": [asdict(passage) for passage in item.passages]} for item in passages(parts)
    ]


_NO_PROMPT: dict[str, Any] = {"prompt": None, "shown": {}}


def _prompt(service: Service, event: Event) -> dict[str, Any]:
    return _of_parts(lambda: parts_of_record(service.catalogue, event))


def _of_parts(parts_of: Callable[[], PromptParts]) -> dict[str, Any]:
    """A prompt and the words of what it shows in part; neither where it cannot be rebuilt."""
    try:
        parts = parts_of()
    except PromptLostError:
        return _NO_PROMPT
    shown = {item.label: item.text for item in parts.evidence if item.part is not None}
    return {"prompt": prompt_view(parts), "shown": shown}
