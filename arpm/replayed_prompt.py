"""The prompt of a recorded turn, rebuilt from the ids in its record.

Keeps the part of promise 3 that says a record is enough: the persona, the instructions, the evidence and the window are
named by id in the record, fetched here, and must give a prompt with the recorded digest. Knows nothing about search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from arpm.catalogue import Catalogue
from arpm.compression import Compression, NotCompressedError
from arpm.conversation import exchanges_of, summary_of
from arpm.errors import NotFoundError
from arpm.events import Event
from arpm.generation.base import ChatMessage
from arpm.prompt import Exchange, PromptParts, build, prompt_digest
from arpm.recorded_count import NoTokenizerError, counter_of
from arpm.replayed_messages import MessageLostError, placed_again
from governance.config import GovernanceConfig
from governance.decay import Moment
from governance.history import Placed, Speaker
from governance.policy import remembers
from governance.unfolding import Evidence
from retrieval.memories import Experience, KnowledgeChunk


class PromptLostError(NotFoundError):
    """A prompt cannot be rebuilt: the record does not name its parts, or one of them was erased."""


def prompt_of_record(catalogue: Catalogue, event: Event) -> tuple[ChatMessage, ...]:
    """The chat messages that the model was sent in a recorded turn.

    Raises PromptLostError for a failed turn (its record holds the prompt's digest and not its parts), for an erased
    record, and when a memory, instruction or round that it showed is no longer there.
    """
    return build(parts_of_record(catalogue, event))


def matches_record(messages: tuple[ChatMessage, ...], event: Event) -> bool:
    """Whether a rebuilt prompt is the one that the record of the turn is sealed with."""
    recorded: str = _body(event)["prompt"]["digest"]
    return prompt_digest(messages) == recorded


def parts_of_record(catalogue: Catalogue, event: Event) -> PromptParts:
    """What the prompt of a recorded turn was made of. Raises PromptLostError."""
    body = _body(event)
    if event.kind != "turn":
        raise PromptLostError("the turn failed, and the record of a failed turn holds its prompt's digest only")
    return parts_of_body(catalogue, event.timeline, event.at, body)


def parts_of_body(
    catalogue: Catalogue,
    timeline_id: str,
    at: datetime,
    body: Mapping[str, Any],
    compressions: Sequence[Compression] = (),
) -> PromptParts:
    """What the prompt of a turn was made of, from the body of its event. Raises PromptLostError.

    `compressions` are those that no ledger holds, of a rehearsal.
    """
    timeline, last = catalogue.timeline(timeline_id), body["last_round_at"]
    config = GovernanceConfig.of_record(body["config"])
    placed = _placed(catalogue, timeline_id, at, body, compressions)
    shown = {(item.message.memory, item.message.speaker): item for item in placed}
    return PromptParts(
        style=body["backend"]["prompt_style"],
        user=body["user"],
        character=body["character"],
        persona=timeline.persona,
        instructions=tuple(_instructions(catalogue, body)),
        moment=Moment(body["round"], at),
        last_at=datetime.fromisoformat(last) if last else None,
        timezone=timeline.timezone,
        time_cues=config.time_cues,
        protocol=config.protocol_enabled,
        evidence=tuple(_evidence(catalogue, row, shown) for row in body["evidence"]),
        summary=summary_of(placed),
        searched=remembers(config),
        window=(
            exchanges_of(placed, config)
            if placed
            else tuple(_exchange(catalogue, timeline_id, round) for round in body["window"])
        ),
        message=body["message"],
        lead=next(iter(body["ranking"]), None),
    )


def _body(event: Event) -> dict[str, Any]:
    if event.body is None:
        raise PromptLostError(f"the record of turn {event.id} was erased")
    return event.body


def _instructions(catalogue: Catalogue, body: Mapping[str, Any]) -> list[str]:
    try:
        return catalogue.instruction_texts(body["instructions_shown"])
    except NotFoundError as error:
        raise PromptLostError(f"{error}, which the prompt showed") from error


def _placed(
    catalogue: Catalogue,
    timeline: str,
    at: datetime,
    body: Mapping[str, Any],
    compressions: Sequence[Compression],
) -> list[Placed]:
    """What became of earlier messages; none where the policy keeps no record of each."""
    if not body["history"]:
        return []
    try:
        return placed_again(catalogue, timeline, at, body, counter_of(body), compressions)
    except (MessageLostError, NotCompressedError, NoTokenizerError) as error:
        raise PromptLostError(str(error)) from error


Shown = Mapping[tuple[str | None, Speaker], Placed]


def _evidence(catalogue: Catalogue, row: Mapping[str, Any], placed: Shown) -> Evidence:
    memory = catalogue.memory(row["memory"])
    if memory is None:
        raise PromptLostError(f"{row['label']} showed the memory {row['memory']}, which was erased")
    return Evidence(
        label=row["label"],
        memory=row["memory"],
        route=row["route"],
        source=memory.source if isinstance(memory, KnowledgeChunk) else memory.session,
        text=_words(memory, row, placed),
        cue=row["cue"] or "",
        fidelity=row["fidelity"],
        tokens=row["tokens"],
        part=row.get("part"),
    )


def _words(memory: Experience | KnowledgeChunk, row: Mapping[str, Any], placed: Shown) -> str:
    """What the prompt showed of a memory: the whole of it, or a form of one side."""
    if row.get("part") is None:
        return memory.text
    item = placed.get((row["memory"], row["part"]))
    if item is None:
        raise PromptLostError(f"the record shows {row['label']} and does not say what became of its words")
    return item.text if item.fidelity == "PLACEHOLDER" else item.message.said(item.text)


def _exchange(catalogue: Catalogue, timeline: str, round: int) -> Exchange:
    turn = catalogue.turn_of_round(timeline, round)
    if turn is None or turn.kind != "turn" or turn.erased:
        raise PromptLostError(f"the prompt showed round {round}, which was erased")
    return Exchange(round, turn.message, turn.response)
