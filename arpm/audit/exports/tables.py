"""The three tables of an export: turns, the evidence they showed, and memories.

Every cell is a plain JSON value; lists and objects stay such in JSON Lines and are JSON text in CSV. Erased rounds have
a row in `turns` that says so, with nothing but their place. A column never changes its meaning; new ones are added at
the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from arpm.audit.exports.source import Source, TimelineSource
from arpm.events import Event
from arpm.importers.recalled import Shown, written
from retrieval.memories import Experience, KnowledgeChunk

ColumnType = str  # "text", "integer", "number", "boolean", "json"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, what kind of value it holds, and what it means."""

    name: str
    type: ColumnType
    description: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its name, columns, and its rows in the order of the ledgers."""

    name: str
    description: str
    columns: tuple[Column, ...]
    rows: Callable[[Source], Iterator[dict[str, Any]]]


_WHERE = (
    Column("timeline", "text", "The timeline's id."),
    Column("session", "text", "The session's id."),
    Column("round", "integer", "The round along the timeline, from 1; empty when it was erased."),
    Column("event", "text", "The id of the ledger event."),
)
_TURNS = (
    *_WHERE,
    Column("seq", "integer", "Place of the event in its ledger, from 1."),
    Column("kind", "text", "turn, turn_failed or imported."),
    Column("at", "text", "When it happened, ISO 8601."),
    Column("erased", "boolean", "Whether its content was erased."),
    Column("receipt", "text", "The event that says that it was erased."),
    Column("user", "text", "Who talked."),
    Column("character", "text", "Who answered."),
    Column("message", "text", "The user's words."),
    Column("response", "text", "The reply that was shown."),
    Column("model", "text", "The model that replied."),
    Column("preset", "text", "The governance preset."),
    Column("config", "json", "The whole governance config."),
    Column("analysis", "text", "The model's analysis; of imported rounds as it was logged."),
    Column("need", "text", "What the analysis says is needed: knowledge, experience, both or none."),
    Column("check", "text", "What the analysis says of the evidence."),
    Column("cited", "json", "Labels of evidence that it cites."),
    Column("unknown", "json", "Labels that it cites and was not given."),
    Column("bound", "json", "Labels of evidence whose words are in the reply."),
    Column("violations", "json", "Ways in which the final reply breaks the protocol."),
    Column("first_violations", "json", "Ways in which the model's first output broke it."),
    Column("repairs", "json", "Rungs of the repair ladder that were climbed."),
    Column("attempts", "integer", "Calls of the model."),
    Column("admitted", "boolean", "Whether it became memory."),
    Column("admission", "text", "Why, or why not."),
    Column("memory", "text", "The memory that it became."),
    Column("replaces", "text", "The turn whose reply it took the place of."),
    Column("replaced_by", "text", "The turn that took its place."),
    Column("error", "text", "Why it failed."),
    Column("prompt_digest", "text", "SHA-256 of the prompt."),
    Column("prompt_tokens", "integer", "Length of the prompt in tokens."),
    Column("completion_tokens", "integer", "Length of all outputs in tokens, as counted by the endpoint."),
    Column("seconds", "number", "Seconds that all calls of the model took."),
    Column("published", "json", "Of rounds of the published ARPM's logs: what else they say."),
)
_EVIDENCE = (
    *_WHERE,
    Column("position", "integer", "Place in the prompt, from 1."),
    Column("label", "text", "The label in the prompt, such as E1."),
    Column("memory", "text", "The memory's id."),
    Column("route", "text", "knowledge or experience; of imported rounds the log's own word."),
    Column("fidelity", "text", "How it was shown."),
    Column("tokens", "integer", "Its length in the prompt."),
    Column("final", "number", "Its final score."),
    Column("cited", "boolean", "Whether the reply cites it."),
    Column("bound", "boolean", "Whether the reply uses its words."),
    Column("source", "text", "The document or session it is from."),
    Column("text", "text", "Its words; empty when they were erased."),
)
_MEMORIES = (
    Column("timeline", "text", "The timeline's id."),
    Column("memory", "text", "The memory's id."),
    Column("session", "text", "The session's id."),
    Column("round", "integer", "The round it is of."),
    Column("at", "text", "When it was lived; empty when unknown."),
    Column("user", "text", "Who talked."),
    Column("character", "text", "Who answered."),
    Column("message", "text", "The user's words."),
    Column("reply", "text", "The reply."),
    Column("state", "text", "active, quarantined or replaced."),
    Column("model", "text", "The model that replied; empty when unknown."),
    Column("turn", "text", "The event it came from; empty when it was imported."),
    Column("source", "text", "Its id where it was imported from."),
    Column("uses", "integer", "How many prompts showed it."),
)


def _turns(source: Source) -> Iterator[dict[str, Any]]:
    for timeline in source.timelines:
        gone = {one.event: one.receipt for one in timeline.erased}
        for event in timeline.events():
            if event.kind in _ROWS:
                row: dict[str, Any] = dict.fromkeys(column.name for column in _TURNS)
                row.update(_place(source, event), seq=event.seq, kind=event.kind, at=event.at.isoformat())
                row["erased"] = event.body is None
                if event.body is None:
                    row["receipt"] = gone.get(event.id)
                else:
                    row.update(_ROWS[event.kind](source, timeline, event, event.body))
                yield row


def _place(source: Source, event: Event) -> dict[str, Any]:
    round = event.body["round"] if event.body else None
    if round is None and event.kind != "imported":
        turn = source.catalogue.turn(event.id)
        round = (turn.round or None) if turn else None
    return {"timeline": event.timeline, "session": event.session, "round": round, "event": event.id}


def _turn(source: Source, timeline: TimelineSource, event: Event, body: Mapping[str, Any]) -> dict[str, Any]:
    turn = source.catalogue.turn(event.id)
    analysis, admission = body["analysis"] or {}, body["admission"]
    return {
        "user": body["user"],
        "character": body["character"],
        **_called(body),
        "response": body["response"],
        "analysis": analysis.get("text"),
        "need": analysis.get("need"),
        "check": analysis.get("check"),
        "cited": body["cited"],
        "unknown": analysis.get("unknown", []),
        "bound": body["bound"],
        "violations": [violation["kind"] for violation in body["violations"]],
        "first_violations": [violation["kind"] for violation in body["attempts"][0]["violations"]]
        if body["attempts"]
        else [],
        "repairs": body["repairs"],
        "admitted": admission["admitted"],
        "admission": admission["reason"],
        "memory": admission["memory"],
        "replaced_by": turn.replaced_by if turn else None,
    }


def _failed(source: Source, timeline: TimelineSource, event: Event, body: Mapping[str, Any]) -> dict[str, Any]:
    error = body["error"]
    return {
        "user": body["user"],
        "character": timeline.info.character,
        **_called(body),
        "admitted": False,
        "error": f"{error['kind']}: {error['text']}",
    }


def _called(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a turn and a failed turn say of the call."""
    prompt, attempts = body["prompt"] or {}, body["attempts"]
    counted = [attempt["completion_tokens"] for attempt in attempts if attempt["completion_tokens"] is not None]
    return {
        "message": body["message"],
        "model": body["backend"]["model"],
        "preset": body["preset"],
        "config": body["config"],
        "attempts": len(attempts),
        "replaces": body["replaces"],
        "prompt_digest": prompt.get("digest"),
        "prompt_tokens": prompt.get("tokens"),
        "completion_tokens": sum(counted) if counted else None,
        "seconds": round(sum(attempt["seconds"] for attempt in attempts), 6),
    }


def _imported(source: Source, timeline: TimelineSource, event: Event, body: Mapping[str, Any]) -> dict[str, Any]:
    published = body.get("published")
    return {
        "at": body["at"],
        "user": body["user"],
        "character": body["character"],
        "message": body["message"],
        "response": body["reply"],
        "model": published["model"] if published else None,
        "analysis": published["analysis"] if published else None,
        "memory": body["memory"],
        "published": {name: value for name, value in published.items() if name not in ("analysis", "model", "recalled")}
        if published
        else None,
    }


_ROWS: dict[str, Callable[[Source, TimelineSource, Event, Mapping[str, Any]], dict[str, Any]]] = {
    "turn": _turn,
    "turn_failed": _failed,
    "imported": _imported,
}


def _evidence(source: Source) -> Iterator[dict[str, Any]]:
    for timeline in source.timelines:
        for event in timeline.events():
            if event.body is None:
                continue
            if event.kind == "turn":
                rows = _shown(source, event.body)
            elif event.kind == "imported" and (event.body.get("published") or {}).get("recalled"):
                rows = _recalled(source, event.body["published"]["recalled"])
            else:
                continue
            for position, row in enumerate(rows, 1):
                yield {**_place(source, event), "position": position, **row}


def _shown(source: Source, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    finals = {row["memory"]: row["final"] for rows in body["candidates"].values() for row in rows if "final" in row}
    for item in body["evidence"]:
        memory = source.catalogue.memory(item["memory"])
        yield {
            "label": item["label"],
            "memory": item["memory"],
            "route": item["route"],
            "fidelity": item["fidelity"],
            "tokens": item["tokens"],
            "final": finals.get(item["memory"]),
            "cited": item["label"] in body["cited"],
            "bound": item["label"] in body["bound"],
            "source": _origin(memory),
            "text": memory.text if memory else None,
        }


def _origin(memory: Experience | KnowledgeChunk | None) -> str | None:
    if memory is None:
        return None
    return memory.name if isinstance(memory, KnowledgeChunk) else memory.session


def _recalled(source: Source, items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Items of a published recall log. Its words were cut short, and whether they were cited is not known."""
    for item in items:
        yield {
            "label": str(item["n"]),
            "memory": item["memory"],
            "route": item["source_type"],
            "fidelity": None,
            "tokens": None,
            "final": None,
            "cited": None,
            "bound": None,
            "source": item["source"],
            "text": _words(source, item),
        }


def _words(source: Source, item: Mapping[str, Any]) -> str | None:
    if item["shown"] is None:
        return str(item["text"])
    found = source.catalogue.memory_row(item["memory"]) if item["memory"] else None
    if found is None:
        return None
    memory = found[1].memory
    return written(memory.user, memory.character, memory.message, memory.reply, Shown(**item["shown"]))


def _memories(source: Source) -> Iterator[dict[str, Any]]:
    for timeline in source.timelines:
        for row in reversed(source.catalogue.memory_rows(timeline.ledger.name)):
            memory = row.memory
            yield {
                "timeline": timeline.ledger.name,
                "memory": memory.memory,
                "session": memory.session,
                "round": memory.round,
                "at": memory.at.isoformat() if memory.at else None,
                "user": memory.user,
                "character": memory.character,
                "message": memory.message,
                "reply": memory.reply,
                "state": row.state,
                "model": row.model,
                "turn": row.turn,
                "source": row.source,
                "uses": row.uses,
            }


TABLES = (
    Table("turns", "One row for each turn, failed turn and imported round.", _TURNS, _turns),
    Table("evidence", "One row for each item of evidence that a prompt showed.", _EVIDENCE, _evidence),
    Table("memories", "One row for each experience memory that is not erased, with its state.", _MEMORIES, _memories),
)
