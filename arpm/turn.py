"""One turn, from the person's message to its record. Read `take_turn` from top to bottom.

Keeps promises 1 and 4: the turn record is written and fsynced before anything is acknowledged, and only the user's
words and the parsed response become memory. A failed or cancelled generation is recorded as a failed turn.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from arpm.admission import admission
from arpm.answer import Answer, Shown, answer
from arpm.binding import bound_labels
from arpm.canonical import digest
from arpm.clock import Clock
from arpm.compression import Compression, fresh_of, writing
from arpm.conversation import conversation, exchanges_of, room_for_messages, summary_of
from arpm.errors import ArpmError, InputError
from arpm.events import Event
from arpm.generation.base import Backend, GenerationError, GenerationRequest, Sampling
from arpm.history_lines import history_lines
from arpm.ids import new_id
from arpm.lived import Lived
from arpm.prompt import PromptParts, build, prompt_digest, shown_evidence
from arpm.recall import Recalled, Searched, recall
from arpm.record import (
    Framed,
    adherence_rows,
    answer_rows,
    candidate_row,
    evidence_row,
    failure_rows,
    history_row,
    stopped_rows,
    whole_rounds,
)
from arpm.stages import StageName, Stopwatch
from arpm.timeline import Timeline
from governance.config import GovernanceConfig
from governance.instructions import Instruction, Prefix, prefix, recognise
from governance.policy import Conversation, remembers, shows_messages_as_evidence
from retrieval.embedding.base import Embedder
from retrieval.text import language, usable

MESSAGE_LIMIT = 100_000


class TurnFailedError(ArpmError):
    """The model failed or was stopped. The turn is recorded as failed, nothing became memory, the words are kept."""

    def __init__(self, cause: GenerationError | None, event: Event) -> None:
        super().__init__(str(cause) if cause else "Stopped. The message is kept; send it again to try once more.")
        self.event = event
        self.cause = cause


@dataclass(frozen=True, slots=True)
class Watch:
    """How a caller follows a turn: stages as they end, visible text as it comes, and a way to stop it."""

    stage: Callable[[StageName, float], None] = lambda name, seconds: None
    text: Callable[[str], None] = lambda piece: None
    restart: Callable[[], None] = lambda: None
    cancel: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True)
class Tools:
    """What a turn works with besides its timeline. `recorded` is the past: no model is asked to shorten anything."""

    library: Searched
    embedder: Embedder
    backend: Backend
    sampling: Sampling
    clock: Clock
    recorded: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A message to answer. `replaces` is the event of the reply it is to replace, `key` what it was sent under."""

    message: str
    replaces: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Composed:
    """A turn before it is recorded: the kind and body of its event, and the messages that a model shortened for it.

    `cause` is the fault of a model that failed.
    """

    kind: Literal["turn", "turn_failed"]
    body: dict[str, Any]
    at: datetime
    compressions: tuple[Compression, ...] = ()
    cause: GenerationError | None = None


def take_turn(timeline: Timeline, asked: Asked, tools: Tools, watch: Watch) -> Event:
    """Answer a message on `timeline` and return the turn's ledger event, which is on the disk by then.

    Raises InputError for an empty or huge message or a reply that cannot be replaced, BusyError when another turn
    runs, TurnFailedError when the model failed or the turn was stopped.
    """
    asked = replace(asked, message=checked_message(asked.message))
    timer = Stopwatch(watch.stage)
    with timeline.exclusive():
        round = timeline.newest_turn(asked.replaces).round if asked.replaces else timeline.info.rounds + 1
        config = timeline.config()
        with timer.stage("recognised"):
            # Those of a message that is answered again were recognised the first time.
            if config.instructions_enabled and not asked.replaces:
                learn_instructions(timeline, asked.message, round, tools.embedder)
        composed = compose(timeline, asked, config, timeline.session().preset, tools, watch, timer)
        if composed.kind == "turn_failed":
            event = timeline.commit("turn_failed", composed.body, composed.at)
            raise TurnFailedError(composed.cause, event) from composed.cause
        with timer.stage("recorded"):
            event = timeline.commit("turn", composed.body, composed.at, composed.compressions)
    return event


def compose(
    timeline: Lived,
    asked: Asked,
    config: GovernanceConfig,
    preset: str,
    tools: Tools,
    watch: Watch,
    timer: Stopwatch,
) -> Composed:
    """A whole turn up to its record, or a rehearsal of one: nothing is written."""
    framed = frame(timeline, asked, config, preset, tools, timer)
    at = framed.moment.at
    try:
        prepared = prepare(timeline, framed, tools, timer, watch.cancel)
        framed = replace(framed, prompt=prepared.row)
        with timer.stage("answered"):
            shown = Shown(watch.text, watch.restart)
            reply = answer(tools.backend, prepared.request, config, language(asked.message), shown, watch.cancel)
    except GenerationError as error:
        return Composed("turn_failed", framed.body() | failure_rows(error), at, cause=error)
    if reply.finish == "cancelled":
        return Composed("turn_failed", framed.body() | stopped_rows(reply), at)
    outcome = _outcome(reply, prepared.request, prepared.instructions, config)
    body = framed.body() | prepared.context | outcome
    return Composed("turn", body, at, prepared.compressions)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A turn before the model is called: the request, its row in the record, and what was shown and why."""

    request: GenerationRequest
    row: dict[str, Any]
    context: dict[str, Any]
    instructions: tuple[Instruction, ...]
    compressions: tuple[Compression, ...]


def prepare(
    timeline: Lived, framed: Framed, tools: Tools, timer: Stopwatch, cancel: threading.Event | None = None
) -> Prepared:
    """Search both memories, govern what they bring back, and build the prompt. Raises GenerationError."""
    talk = _conversation(timeline, framed, tools, cancel or threading.Event())
    recalled = recall(
        framed.message,
        timeline,
        tools.library,
        tools.embedder,
        framed.config,
        framed.moment,
        conversation=talk,
        without=_own_memory(timeline, framed),
        count=tools.backend.count_tokens,
        timer=timer,
    )
    with timer.stage("prompted"):
        instructions = _instructions(timeline, framed.config, tools.backend)
        request = _request(timeline, framed, tools, recalled, instructions.shown)
        row = _prompt_row(request, tools.backend)
    context = _context(timeline, framed, tools, recalled, instructions)
    return Prepared(request, row, context, instructions.shown, fresh_of(talk.compressor))


def checked_message(message: str) -> str:
    """The message as it can be stored. Raises InputError when it is empty or over the limit."""
    message = usable(message).strip()
    if not message:
        raise InputError("The message is empty.")
    if len(message) > MESSAGE_LIMIT:
        raise InputError(
            f"The message has {len(message):,} characters; the limit is {MESSAGE_LIMIT:,}. "
            "Add long texts as a document."
        )
    return message


def learn_instructions(timeline: Timeline, message: str, round: int, embedder: Embedder | None = None) -> None:
    """Add, retire and change standing instructions as the message asks, before it is answered."""
    for asked in recognise(message, embedder):
        timeline.amend(asked, round)


def _conversation(timeline: Lived, framed: Framed, tools: Tools, cancel: threading.Event) -> Conversation:
    """What the context policy looks back on.

    Evidence need not show again what the window shows. But a very small model answers from evidence only, and quotes
    it: what it was told a moment ago must be there too.
    """
    backend, config = tools.backend, framed.config
    room = room_for_messages(
        backend.context_tokens,
        framed.sampling,
        config,
        timeline.info.persona,
        framed.message,
        backend.count_tokens,
    )
    return conversation(
        timeline,
        framed.message,
        config,
        framed.moment.round,
        tools.embedder,
        backend.count_tokens,
        room,
        once=backend.prompt_style == "full",
        lines=history_lines(backend.prompt_style, config, framed.moment, timeline.info.timezone, framed.message),
        model=None if backend.constrained else backend.model,
        write=None if tools.recorded else writing(backend, framed.sampling, cancel),
    )


def _own_memory(timeline: Lived, framed: Framed) -> tuple[str, ...]:
    """The memory that the round has already, when it is answered again."""
    own = timeline.memory_of_round(framed.moment.round) if framed.replaces else None
    return (own,) if own else ()


def _instructions(timeline: Lived, config: GovernanceConfig, backend: Backend) -> Prefix:
    if not config.instructions_enabled:
        return Prefix((), ())
    return prefix(timeline.active_instructions(), config.instructions_budget, backend.count_tokens)


def frame(
    timeline: Lived, asked: Asked, config: GovernanceConfig, preset: str, tools: Tools, timer: Stopwatch
) -> Framed:
    """What is known of a turn before anything is searched."""
    moment = timeline.moment()
    if asked.replaces:
        moment = replace(moment, round=moment.round - 1)
    return Framed(
        moment=moment,
        clock=tools.clock.name,
        replaces=asked.replaces,
        request_key=asked.key,
        user=timeline.info.user,
        message=asked.message,
        backend=tools.backend,
        sampling=tools.sampling,
        preset=preset,
        config=config,
        prompt=None,
        timings=timer.seconds,
    )


def _request(
    timeline: Lived,
    framed: Framed,
    tools: Tools,
    recalled: Recalled,
    instructions: Sequence[Instruction],
) -> GenerationRequest:
    info, evidence = timeline.info, recalled.governed.evidence
    shown = shown_evidence(evidence)
    ranking = tools.backend.rank(framed.message, shown)
    parts = PromptParts(
        style=tools.backend.prompt_style,
        user=info.user,
        character=info.character,
        persona=info.persona,
        instructions=tuple(item.text for item in instructions),
        moment=framed.moment,
        last_at=timeline.last_round_at(framed.moment.round),
        timezone=info.timezone,
        time_cues=framed.config.time_cues,
        protocol=framed.config.protocol_enabled,
        evidence=evidence,
        summary=summary_of(recalled.governed.placed),
        searched=remembers(framed.config),
        window=exchanges_of(recalled.governed.placed, framed.config),
        message=framed.message,
        lead=ranking[0] if ranking else None,
    )
    return GenerationRequest(build(parts), tools.sampling, framed.message, shown, ranking)


def _prompt_row(request: GenerationRequest, backend: Backend) -> dict[str, Any]:
    return {
        "digest": prompt_digest(request.messages),
        "tokens": sum(backend.count_tokens(item.content) for item in request.messages),
        "approximate": not backend.exact_tokens,
    }


def _context(
    timeline: Lived,
    framed: Framed,
    tools: Tools,
    recalled: Recalled,
    instructions: Prefix,
) -> dict[str, Any]:
    """The part of the record that says what was shown to the model and why."""
    info, tip, governed = timeline.info, recalled.knowledge_tip, recalled.governed
    as_evidence = shows_messages_as_evidence(framed.config)
    round = framed.moment.round
    last = timeline.last_round_at(round)
    return {
        "character": info.character,
        "persona_digest": digest(info.persona.encode()),
        "augmented_query": recalled.query,
        "about_dialogue": recalled.about_dialogue,
        "session_round": timeline.session_rounds(round) + 1,
        "last_round_at": last.isoformat() if last else None,
        "context_tokens": tools.backend.context_tokens,
        "embedder": {"name": tools.embedder.name, "c0": tools.embedder.c0},
        "knowledge_tip": {"seq": tip.seq, "hash": tip.hash},
        "instructions_shown": [item.id for item in instructions.shown],
        "instructions_omitted": [item.id for item in instructions.omitted],
        "window": [] if as_evidence else whole_rounds(governed.placed),
        "history": [history_row(item) for item in governed.placed] if framed.config.policy != "arpm" else [],
        "candidates": {
            "knowledge": [candidate_row(decision) for decision in governed.knowledge],
            "experience": [candidate_row(decision) for decision in governed.experience],
        },
        "evidence": [evidence_row(item) for item in governed.evidence],
    }


def _outcome(
    reply: Answer, request: GenerationRequest, instructions: Sequence[Instruction], config: GovernanceConfig
) -> dict[str, Any]:
    """The part of the record that says what the model did and what became of it."""
    bound = bound_labels(reply.parsed, request.evidence, request.question)
    decision = admission(reply, config)
    return answer_rows(reply, bound) | {
        "ranking": list(request.ranking),
        "adherence": adherence_rows(instructions, reply.parsed.response, request.question),
        "admission": asdict(decision) | {"memory": new_id("m") if decision.admitted else None},
    }
