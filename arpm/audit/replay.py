"""Turns done again from the ledger, and what differs from their record.

Three depths. Arithmetic: the record follows from itself and from the events before it. Retrieval: both memories are
searched again as they were, under the recorded config and clock, and candidates, order, evidence and prompt are the
same. Generation: a model answers the same prompts again. Reads only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from arpm.admission import admission
from arpm.answer import Shown, answer
from arpm.audit.arithmetic import Disagreement, compared, disagreements
from arpm.audit.past import OtherKnowledgeError, Past, Step
from arpm.audit.recorded import RecordedBackend, RecordEndsError, sampling_of
from arpm.binding import bound_labels
from arpm.canonical import digest
from arpm.compression import NotCompressedError
from arpm.errors import NotFoundError
from arpm.generation.base import Backend, GenerationError, GenerationRequest
from arpm.ledger import Checkpoint
from arpm.lived import Lived
from arpm.prompt import build, prompt_digest, shown_evidence
from arpm.record import adherence_rows, answer_rows, history_row
from arpm.recorded_count import NoTokenizerError, counter_of
from arpm.replayed_messages import MessageLostError, placed_again
from arpm.replayed_prompt import PromptLostError, parts_of_body
from arpm.stages import Stopwatch
from arpm.turn import Asked, Prepared, Tools, Watch, compose, frame, prepare
from governance.config import GovernanceConfig
from governance.instructions import Instruction
from retrieval.embedding.base import Embedder
from retrieval.text import language

Depth = Literal["arithmetic", "retrieval", "generation"]
# Of one turn; a wrong constant makes every candidate differ.
MOST = 200


@dataclass(frozen=True, slots=True)
class TurnReplay:
    """One turn replayed: what disagrees (at most MOST), and what could not be done, with the reason."""

    timeline: str
    event: str
    seq: int
    round: int | None
    disagreements: tuple[Disagreement, ...]
    skipped: tuple[str, ...] = ()
    reply: str | None = None

    @property
    def same(self) -> bool:
        """Whether nothing disagrees and nothing was left out."""
        return not self.disagreements and not self.skipped


@dataclass(slots=True)
class _Notes:
    """What is found while a turn is replayed."""

    found: list[Disagreement] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    reply: str | None = None

    def add(self, found: Iterator[Disagreement] | list[Disagreement]) -> None:
        for item in found:
            if len(self.found) < MOST:
                self.found.append(item)


Backends = Callable[[str], Backend]


def replayed(
    past: Past,
    depth: Depth,
    embedder: Embedder | None = None,
    backends: Backends | None = None,
    model: str | None = None,
) -> Iterator[TurnReplay]:
    """Replay every turn of a timeline to a depth; deeper ones include the others.

    `embedder` is needed for retrieval, `backends` for generation, where `model` takes the place of the recorded ones.
    Raises DamagedLedgerError and UnknownEventError at an event that cannot be read.
    """
    for step in past.steps():
        event, notes = step.event, _Notes()
        if event.body is None:
            notes.skipped.append("the record was erased")
        else:
            try:
                notes.add(_against_the_past(step, event.body))
                if event.kind == "turn":
                    _replay(past, step, event.body, depth, embedder, backends, model, notes)
            except NotFoundError as error:
                # The timeline's first event was erased.
                notes.skipped.append(str(error))
        number = event.body["round"] if event.body else None
        yield TurnReplay(
            past.timeline, event.id, event.seq, number, tuple(notes.found), tuple(notes.skipped), notes.reply
        )


def _replay(
    past: Past,
    step: Step,
    body: dict[str, Any],
    depth: Depth,
    embedder: Embedder | None,
    backends: Backends | None,
    model: str | None,
    notes: _Notes,
) -> None:
    notes.add(disagreements(body, step.event.at, step.before.info.timezone))
    _prompt(past, step, body, notes)
    _protocol(past, step, body, notes)
    notes.add(_adherence(past, body))
    if depth == "arithmetic":
        return
    assert embedder is not None
    reason = other_embedder(body, embedder) or searched_more(past, step, body)
    if reason:
        notes.skipped.append(reason)
        return
    try:
        past.knowledge.at(Checkpoint(body["knowledge_tip"]["seq"], body["knowledge_tip"]["hash"], 0))
        if depth == "generation" and backends is not None:
            _generation(past, step, body, embedder, backends, model, notes)
        else:
            notes.add(_retrieval(prepared_again(past, step.before, body, embedder), body))
    except (OtherKnowledgeError, NoTokenizerError, GenerationError, NotFoundError) as error:
        notes.skipped.append(str(error))


# -- arithmetic ----------------------------------------------------------------------------------------------------


def _against_the_past(step: Step, body: Mapping[str, Any]) -> Iterator[Disagreement]:
    """What a record says of the timeline before it: round, session, config, names, and when the last round was."""
    before, event = step.before, step.event
    info, session = before.info, before.session()
    round = info.rounds if body["replaces"] else info.rounds + 1
    expected: dict[str, Any] = {"user": info.user, "preset": session.preset}
    # Of an import that was erased nobody knows which round it was, or when.
    dated = "imported" not in step.erased
    if dated:
        expected["round"] = round
    yield from compared("session", event.session, session.id)
    # Settings this version does not know were in force all the same.
    known = GovernanceConfig.of_record(body["config"]).as_dict()
    yield from compared("config", known, before.config().as_dict())
    if event.kind == "turn":
        expected |= {
            "character": info.character,
            "persona_digest": digest(info.persona.encode()),
            "session_round": before.session_rounds(round) + 1,
        }
        if dated:
            last = before.last_round_at(round)
            expected["last_round_at"] = last.isoformat() if last else None
            yield from _rounds_of_documents(before, body["candidates"]["knowledge"])
    for name, value in expected.items():
        yield from compared(name, body[name], value)


def _rounds_of_documents(before: Lived, rows: Sequence[Mapping[str, Any]]) -> Iterator[Disagreement]:
    """A document belongs to the round that was running when it was added."""
    for row in rows:
        memory = before.catalogue.memory(row["memory"])
        if memory is not None and memory.at is not None:
            place = f"candidates.knowledge[{row['memory']}].round"
            yield from compared(place, row["round"], before.round_at(memory.at))


def _prompt(past: Past, step: Step, body: Mapping[str, Any], notes: _Notes) -> None:
    """What became of earlier messages, and the prompt, put together again from the record, are as it says."""
    try:
        notes.add(_history(past, step, body))
        parts = parts_of_body(past.catalogue, past.timeline, step.event.at, body)
    except (PromptLostError, MessageLostError, NotCompressedError, NoTokenizerError) as error:
        notes.skipped.append(f"prompt: {error}")
        return
    notes.add(compared("prompt.digest", body["prompt"]["digest"], prompt_digest(build(parts))))


def _history(past: Past, step: Step, body: Mapping[str, Any]) -> Iterator[Disagreement]:
    """What the policy made of earlier messages, from what was judged of each."""
    if not body["history"]:
        return
    again = placed_again(past.catalogue, past.timeline, step.event.at, body, counter_of(body))
    yield from compared("history", body["history"], [history_row(item) for item in again])


def _protocol(past: Past, step: Step, body: Mapping[str, Any], notes: _Notes) -> None:
    """The raw attempts, parsed and repaired again, give the recorded answer, violations, repairs and admission."""
    config = GovernanceConfig.of_record(body["config"])
    backend = RecordedBackend(body, len)
    try:
        evidence = shown_evidence(parts_of_body(past.catalogue, past.timeline, step.event.at, body).evidence)
    except PromptLostError:
        return
    request = GenerationRequest((), sampling_of(body), body["message"], evidence, tuple(body["ranking"]))
    silent = Shown(lambda piece: None, lambda: None)
    try:
        reply = answer(backend, request, config, language(body["message"]), silent, threading.Event())
    except RecordEndsError as error:
        notes.add([Disagreement("attempts", len(body["attempts"]), str(error))])
        return
    if backend.left:
        notes.add([Disagreement("attempts", len(body["attempts"]), len(body["attempts"]) - backend.left)])
    rows = answer_rows(reply, bound_labels(reply.parsed, evidence, body["message"]))
    notes.add(compared("", {name: body[name] for name in rows}, rows))
    decision = asdict(admission(reply, config))
    notes.add(compared("admission", {name: body["admission"][name] for name in decision}, decision))


def _adherence(past: Past, body: Mapping[str, Any]) -> Iterator[Disagreement]:
    """Which instructions the reply kept, from their words, the reply and the message.

    Nothing of a record that was written before replies were checked. An instruction that was erased is passed over.
    """
    rows = body["adherence"]
    if rows is None:
        return
    named = [row["instruction"] for row in rows]
    yield from compared("adherence (instructions)", named, body["instructions_shown"])
    for row in rows:
        try:
            (text,) = past.catalogue.instruction_texts([row["instruction"]])
        except NotFoundError:
            continue
        shown = Instruction(row["instruction"], text, 0)
        (again,) = adherence_rows([shown], body["response"], body["message"])
        yield from compared(f"adherence[{shown.id}]", row, again)


# -- retrieval -----------------------------------------------------------------------------------------------------


def other_embedder(body: Mapping[str, Any], embedder: Embedder) -> str | None:
    """Why a turn's search cannot be done again with an embedder, or None when it can."""
    recorded = body["embedder"]
    if recorded["name"] == embedder.name and recorded["c0"] == embedder.c0:
        return None
    return (
        f"searched with the embedder {recorded['name']} (c0 {recorded['c0']}), and this one is {embedder.name} "
        f"(c0 {embedder.c0}): choose that one to replay the search"
    )


def searched_more(past: Past, step: Step, body: Mapping[str, Any]) -> str | None:
    """Why a turn's search cannot be done again: something that was in search then has been erased since."""
    if step.erased & {"turn", "imported"} or past.knowledge.lost_before(body["knowledge_tip"]["seq"]):
        return "a memory that was searched then has been erased since"
    return None


def prepared_again(
    past: Past, before: Lived, body: Mapping[str, Any], embedder: Embedder, config: GovernanceConfig | None = None
) -> Prepared:
    """Search, govern and build the prompt of a recorded turn again, under its config or another.

    Raises NoTokenizerError and GenerationError when tokens cannot be counted as they were.
    """
    backend = RecordedBackend(body, counter_of(body))
    tools = Tools(past.knowledge, embedder, backend, sampling_of(body), past.clock, recorded=True)
    timer = Stopwatch()
    asked = Asked(body["message"], body["replaces"], body["request_key"])
    config = config or GovernanceConfig.of_record(body["config"])
    return prepare(before, frame(before, asked, config, body["preset"], tools, timer), tools, timer)


def _retrieval(prepared: Prepared, body: Mapping[str, Any]) -> Iterator[Disagreement]:
    yield from compared("prompt", body["prompt"], prepared.row)
    for name, value in prepared.context.items():
        yield from compared(name, body[name], _as_said(body[name], value) if name == "history" else value)


def _as_said(recorded: Sequence[Mapping[str, Any]], again: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Earlier messages judged again, without what their record was written too early to say of a judgement."""
    if not recorded or any(row["focus"] and "reason" in row["focus"] for row in recorded):
        return list(again)
    return [{**row, "focus": {**row["focus"], **_UNSAID} if row["focus"] else None} for row in again]


_UNSAID = {"probability": None, "reason": None}


# -- generation ----------------------------------------------------------------------------------------------------


def _generation(
    past: Past,
    step: Step,
    body: Mapping[str, Any],
    embedder: Embedder,
    backends: Backends,
    model: str | None,
    notes: _Notes,
) -> None:
    """Let a model answer again; the recorded one must say the same where it was greedy."""
    backend = backends(model or body["backend"]["name"])
    tools = Tools(past.knowledge, embedder, backend, sampling_of(body), past.clock)
    asked = Asked(body["message"], body["replaces"], body["request_key"])
    config = GovernanceConfig.of_record(body["config"])
    composed = compose(step.before, asked, config, body["preset"], tools, Watch(), Stopwatch())
    if composed.kind == "turn_failed":
        notes.skipped.append(f"the model did not answer: {composed.cause or 'stopped'}")
        return
    notes.reply = composed.body["response"]
    if model is None:
        notes.add(compared("response", body["response"], composed.body["response"]))
        notes.add(compared("cited", body["cited"], composed.body["cited"]))
        notes.add(compared("prompt", body["prompt"], composed.body["prompt"]))
        notes.add(compared("candidates", body["candidates"], composed.body["candidates"]))
