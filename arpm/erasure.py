"""Erasing what was said, for good: what an erasure reaches, and doing it.

Keeps promise 5: after it the words are in no ledger body, index, cache or torn file of the logs folder, and no later
prompt that showed them can be rebuilt. The unit is the round: its replies and branches, its failed attempts, and the
instructions that were recognised in its words. What stays is a receipt that names everything by id, and a list of the
later replies that were made with it in view, for a person to decide on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from arpm.catalogue import KNOWLEDGE, Catalogue, UseRow
from arpm.errors import InputError, NotFoundError
from arpm.events import RECEIPT, Event
from arpm.exported import exported_files
from arpm.forgetting import Phrases, going, torn_with
from arpm.ids import is_id, source_digest
from arpm.ledger import LEDGER_NAME
from arpm.service import CACHE, Service
from arpm.timeline import Timeline
from retrieval.text import usable

EXCERPT = 160
REASON_LIMIT = 500
# What a later turn shows of a round word for word, and of the instructions: named beside the labels of its evidence.
WINDOW = "window"
INSTRUCTIONS = "instructions"
# The same for a round imported from the published ARPM's logs, whose record has what it was shown.
RECALLED = "recalled"

Scope = Literal["memories", "session", "timeline", "document"]


@dataclass(frozen=True, slots=True)
class What:
    """What is to be erased: memories or a session of a timeline, a whole timeline, or a document.

    A memory is named by its id; a turn that never became one by its event id or as TIMELINE:ROUND.
    """

    timeline: str | None = None
    memories: tuple[str, ...] = ()
    session: str | None = None
    document: str | None = None

    def __post_init__(self) -> None:
        if self.document is not None:
            fits = self.timeline is None and not self.memories and self.session is None
        else:
            fits = self.timeline is not None and not (self.memories and self.session is not None)
        if not fits:
            raise InputError(
                "Name what to erase in one way: memories or a session of a timeline, a whole timeline, or a document."
            )

    @property
    def scope(self) -> Scope:
        if self.document is not None:
            return "document"
        return "memories" if self.memories else "session" if self.session is not None else "timeline"


@dataclass(frozen=True, slots=True)
class ErasedMemory:
    """A memory that goes, and the beginning of what it says."""

    id: str
    text: str
    round: int | None
    at: datetime | None


@dataclass(frozen=True, slots=True)
class ErasedInstruction:
    """An instruction that goes, since its words are a copy."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class LosingPrompt:
    """A later turn whose prompt showed what goes, so that it cannot be rebuilt.

    `labels` are those of its evidence; "window" and "instructions" where these showed it, "recalled" where an imported
    log says so.
    """

    turn: str
    timeline: str
    round: int
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LaterReply:
    """A later reply that was made with it in view, or words of a failed turn that repeat it. It stays."""

    turn: str
    timeline: str
    round: int
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Reach:
    """What an erasure takes, and what it leaves. `confirm` is what a person types to go ahead."""

    confirm: str
    memories: tuple[ErasedMemory, ...]
    events: tuple[str, ...]
    instructions: tuple[ErasedInstruction, ...]
    prompts: tuple[LosingPrompt, ...]
    replies: tuple[LaterReply, ...]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the ledger says about an erasure from now on. `event` is the receipt's own event."""

    event: str
    timeline: str
    at: datetime
    memories: tuple[str, ...]
    events: tuple[str, ...]
    instructions: tuple[str, ...]
    reason: str
    by: str


def of_memories(catalogue: Catalogue, ids: Sequence[str]) -> What:
    """Memories and turns by id, whatever timeline they are on. Raises NotFoundError, and InputError for several."""
    homes = dict.fromkeys(_home(catalogue, id) for id in ids)
    if len(homes) != 1:
        raise InputError(f"They are on {len(homes)} timelines. Erase them one timeline at a time.")
    return What(timeline=next(iter(homes)), memories=tuple(ids))


def reach(service: Service, what: What) -> Reach:
    """What erasing would take and leave. Changes nothing.

    Raises NotFoundError for what is not there, and InputError for what was erased already.
    """
    return _plan(service, what).reach


def erase(service: Service, what: What, confirm: str, reason: str = "", by: str = "hand") -> tuple[Receipt, Reach]:
    """Erase for good. `confirm` must be the `Reach.confirm` of this moment; the reason stays in the ledger.

    Raises the errors of `reach`, InputError for other words (nothing was erased), BusyError while a turn runs,
    LedgerWriteError when there is no room for the new ledger (nothing was erased), and CatalogueError when a cache
    could not be cleaned (the next start finishes it).
    """
    reason = usable(reason).strip() or "erased by hand"
    if len(reason) > REASON_LIMIT:
        raise InputError(f"The reason has {len(reason):,} characters; the limit is {REASON_LIMIT}.")
    with _held(service, what):
        plan = _plan(service, what)
        if not plan.reach.events:
            raise InputError("There is nothing left to erase here.")
        if confirm.strip() != plan.reach.confirm:
            raise InputError(f"Nothing was erased: to confirm, the words must be “{plan.reach.confirm}”.")
        done = [
            _eraser(service, ledger)({**body, "reason": reason, "by": by}) for ledger, body in plan.receipts.items()
        ]
    if what.scope == "timeline" and what.timeline is not None:
        service.leave(what.timeline)
    last = done[-1]
    return Receipt(
        event=last.id,
        timeline=last.timeline,
        at=last.at,
        memories=tuple(memory.id for memory in plan.reach.memories),
        events=plan.reach.events,
        instructions=tuple(item.id for item in plan.reach.instructions),
        reason=reason,
        by=by,
    ), plan.reach


def _eraser(service: Service, ledger: str) -> Callable[[dict[str, Any]], Event]:
    return service.library.erase if ledger == KNOWLEDGE else service.timeline(ledger).erase


@contextmanager
def _held(service: Service, what: What) -> Iterator[None]:
    """Let nobody write meanwhile where something goes, nor answer from it."""
    with ExitStack() as stack:
        if what.document is not None:
            for timeline in _quoting(service, what.document):
                service.timeline(timeline)
            for opened in service.open_timelines():
                stack.enter_context(opened.exclusive())
            stack.enter_context(service.library.still())
        else:
            stack.enter_context(_timeline(service, what).still())
        yield


# -- planning ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Plan:
    """The reach, and for each ledger the body of its receipt but for reason and person. The last one is told."""

    reach: Reach
    receipts: dict[str, dict[str, Any]]


def _plan(service: Service, what: What) -> _Plan:
    if what.document is not None:
        return _document_plan(service, what.document)
    timeline = _timeline(service, what)
    chosen = _chosen(service.catalogue, timeline, what)
    sweep = _Sweep(timeline.id, chosen)
    for event in timeline.events():
        if event.body is not None and event.kind != RECEIPT:
            sweep.look(event, event.body)
    return _timeline_plan(service, timeline, what, chosen, sweep)


def _timeline(service: Service, what: What) -> Timeline:
    assert what.timeline is not None
    _refuse_erased(service.catalogue, what.timeline)
    return service.timeline(what.timeline)


def _refuse_erased(catalogue: Catalogue, id: str) -> None:
    before = catalogue.erasure_of(id)
    if before is not None:
        raise InputError(f"{id} was erased already, on {before.at:%Y-%m-%d %H:%M} UTC (receipt {before.event}).")


def _home(catalogue: Catalogue, id: str) -> str:
    """The timeline of a memory or turn."""
    memory, turn = catalogue.memory_row(id), catalogue.turn(id)
    if memory is not None:
        return memory[0]
    if turn is not None:
        return turn.timeline
    timeline, _, round = id.partition(":")
    if is_id(timeline, "t") and round.isdecimal():
        return timeline
    document, slash, _ = id.partition("/")
    if is_id(document, "d"):
        part = f"{id} is a part of a document" if slash else f"{id} is a document"
        raise InputError(f"{part}. Documents are erased as a whole: name {document} as the document to erase.")
    _refuse_erased(catalogue, id)
    raise NotFoundError(f"there is no memory and no turn {id!r}")


# -- which rounds -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Chosen:
    """The rounds that go as a whole, failed turns that go by themselves, imported memories; or `everything`.

    `memories` are all that go, `said` the words of rounds by number and what failed turns were asked.
    """

    everything: bool = False
    rounds: set[int] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    imported: set[str] = field(default_factory=set)
    memories: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    attempts: dict[int, list[str]] = field(default_factory=dict)


def _chosen(catalogue: Catalogue, timeline: Timeline, what: What) -> _Chosen:
    chosen = _Chosen(everything=what.scope == "timeline")
    for id in what.memories:
        _choose(catalogue, timeline.id, id, chosen)
    if what.session is not None:
        _choose_session(catalogue, timeline, what.session, chosen)
    if chosen.everything:
        chosen.memories = {row.memory.memory for row in catalogue.memory_rows(timeline.id)}
    else:
        _complete(timeline.events(), chosen)
    return chosen


def _choose(catalogue: Catalogue, timeline: str, id: str, chosen: _Chosen) -> None:
    """Note a memory or turn by id. Raises NotFoundError when it is not on the timeline, InputError when erased."""
    found, turn = catalogue.memory_row(id), catalogue.turn(id)
    if _home(catalogue, id) != timeline:
        raise NotFoundError(f"there is no memory and no turn {id!r} on this timeline")
    if found is not None:
        row = found[1]
        if row.turn is None:
            chosen.imported.add(id)
        else:
            chosen.rounds.add(row.memory.round)
    elif turn is not None:
        _choose_turns(id, [turn.erased], turn.round if turn.kind == "turn" else None, chosen)
        chosen.failed.update({id} if turn.kind == "turn_failed" else ())
    else:
        round = int(id.partition(":")[2][:16])
        turns = catalogue.turns_of_round(timeline, round)
        imported = catalogue.memory_rows(timeline, rounds=(round, round))
        if not turns and not imported:
            raise NotFoundError(f"there is no round {round} on timeline {timeline}")
        if turns:
            _choose_turns(id, [item.erased for item in turns], round, chosen)
        chosen.imported.update(row.memory.memory for row in imported if row.turn is None)


def _choose_turns(id: str, erased: Sequence[bool], round: int | None, chosen: _Chosen) -> None:
    if all(erased):
        raise InputError(f"{id} was erased already.")
    if round is not None:
        chosen.rounds.add(round)


def _choose_session(catalogue: Catalogue, timeline: Timeline, session: str, chosen: _Chosen) -> None:
    known = session in {row.id for row in catalogue.sessions(timeline.id)}
    for event in timeline.events():
        body = event.body
        if body is None:
            continue
        if event.kind == "imported" and body["session"] == session:
            chosen.imported.add(body["memory"])
        elif event.session == session and event.kind == "turn":
            chosen.rounds.add(body["round"])
        elif event.session == session and event.kind == "turn_failed":
            chosen.failed.add(event.id)
    if not (known or chosen.imported):
        _refuse_erased(catalogue, session)
        raise NotFoundError(f"there is no session {session!r} on timeline {timeline.id}")


def _complete(events: Iterable[Event], chosen: _Chosen) -> None:
    """Note what the chosen rounds say and became, and failed attempts at the same words in other rounds."""
    attempts: list[tuple[str, int, str]] = []
    asked: set[str] = set()
    for event in events:
        body = event.body
        if body is None:
            continue
        if event.kind == "turn" and body["round"] in chosen.rounds:
            asked.add(body["message"])
            chosen.words.add(body["response"])
            if body["admission"]["memory"] is not None:
                chosen.memories.add(body["admission"]["memory"])
        elif event.kind == "imported" and body["memory"] in chosen.imported:
            chosen.memories.add(body["memory"])
            chosen.words.update((body["message"], body["reply"]))
        elif event.kind == "turn_failed":
            if body["round"] in chosen.rounds or event.id in chosen.failed:
                asked.add(body["message"])
            attempts.append((event.id, body["round"], body["message"]))
    chosen.words |= asked
    for id, round, message in attempts:
        if message in asked and round not in chosen.rounds:
            chosen.failed.add(id)
            chosen.attempts.setdefault(round, []).append(message)


# -- what goes and what stays -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Sweep:
    """One pass over a timeline's ledger: what of it goes, and what later turns were shown of that."""

    timeline: str
    chosen: _Chosen
    taken: list[str] = field(default_factory=list)
    turns: list[dict[str, Any]] = field(default_factory=list)
    instructions: dict[str, str] = field(default_factory=dict)
    retired: list[dict[str, str]] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    prompts: list[LosingPrompt] = field(default_factory=list)
    replies: list[LaterReply] = field(default_factory=list)
    _phrases: Phrases = field(init=False)

    def __post_init__(self) -> None:
        self._phrases = Phrases(self.chosen.words)

    def look(self, event: Event, body: Mapping[str, Any]) -> None:
        """Sort an event to what goes or what stays. Events come in the order of the ledger."""
        if not self._goes(event, body):
            self._note_shown(event, body)
            return
        self.taken.append(event.id)
        if event.kind in ("turn", "turn_failed"):
            self.turns.append({"event": event.id, "round": body["round"], "replaces": body["replaces"]})
        elif event.kind == "imported" and body["source"]["id"] is not None:
            self.sources.append(source_digest(self.timeline, body["source"]["id"]))
        elif event.kind == "instruction_added":
            self.instructions[body["instruction"]] = body["text"]
        elif event.kind == "instruction_retired" and body["instruction"] not in self.instructions:
            self.retired.append({"instruction": body["instruction"], "at": event.at.isoformat()})

    def _goes(self, event: Event, body: Mapping[str, Any]) -> bool:
        chosen = self.chosen
        if chosen.everything:
            return True
        match event.kind:
            case "turn" | "feedback":
                return body["round"] in chosen.rounds
            case "turn_failed":
                return body["round"] in chosen.rounds or event.id in chosen.failed
            case "imported":
                return body["memory"] in chosen.imported
            case "instruction_added":
                return body["kind"] == "rule" and self._copied(body["source_round"], body["text"])
            case "instruction_retired":
                return body["by"] == "rule" and self._copied(body["source_round"], body["reason"])
            case "review":
                # It may quote what goes.
                return body["event"] in self.taken or body["memory"] in chosen.memories
        return False

    def _copied(self, round: int, text: str) -> bool:
        """Whether words that a rule recognised in a round were taken from what goes."""
        if round in self.chosen.rounds:
            return True
        return any(text in message for message in self.chosen.attempts.get(round, ()))

    def _note_shown(self, event: Event, body: Mapping[str, Any]) -> None:
        chosen = self.chosen
        if event.kind == "turn":
            labels = [item["label"] for item in body["evidence"] if item["memory"] in chosen.memories]
            labels += [WINDOW] if chosen.rounds.intersection(body["window"]) else []
            labels += [INSTRUCTIONS] if self.instructions.keys() & body["instructions_shown"] else []
            if labels:
                self.prompts.append(LosingPrompt(event.id, self.timeline, body["round"], tuple(labels)))
                self._note_reply(event, body["round"], body["response"])
        elif event.kind == "turn_failed" and self.taken:
            # Its record does not say what it was shown; its words do.
            texts = (body["partial"] or "", *(attempt["raw"] for attempt in body["attempts"]))
            repeating = next(filter(self._phrases.in_text, texts), None)
            if repeating is not None:
                self._note_reply(event, body["round"], repeating)
        elif event.kind == "imported" and "published" in body:
            recalled = body["published"]["recalled"] or ()
            if any(item["memory"] in chosen.memories or self._phrases.in_text(item["text"] or "") for item in recalled):
                self.prompts.append(LosingPrompt(event.id, self.timeline, body["round"], (RECALLED,)))
                self._note_reply(event, body["round"], body["reply"])

    def _note_reply(self, event: Event, round: int, text: str) -> None:
        self.replies.append(LaterReply(event.id, self.timeline, round, event.at, excerpt(text)))


def _timeline_plan(service: Service, timeline: Timeline, what: What, chosen: _Chosen, sweep: _Sweep) -> _Plan:
    rows = reversed(service.catalogue.memory_rows(timeline.id))
    memories = [row.memory for row in rows if row.memory.memory in chosen.memories]
    body = {
        "scope": {"by": what.scope, "value": what.session},
        "memories": [memory.memory for memory in memories],
        "events": sweep.taken,
        "turns": [] if chosen.everything else sweep.turns,
        "rounds": timeline.info.rounds,
        "instructions": list(sweep.instructions),
        "retired": [] if chosen.everything else sweep.retired,
        "sources": [] if chosen.everything else sweep.sources,
    }
    reached = Reach(
        confirm=_confirm(what.scope, len(memories), len(sweep.taken)),
        memories=tuple(ErasedMemory(item.memory, excerpt(item.text), item.round, item.at) for item in memories),
        events=tuple(sweep.taken),
        instructions=tuple(ErasedInstruction(id, excerpt(text)) for id, text in sweep.instructions.items()),
        prompts=tuple(sweep.prompts),
        replies=tuple(sweep.replies),
        files=_files(service, {timeline.id: body}) if sweep.taken else (),
    )
    return _Plan(reached, {timeline.id: body})


def _document_plan(service: Service, document: str) -> _Plan:
    catalogue = service.catalogue
    _refuse_erased(catalogue, document)
    row, chunks = service.library.document(document), catalogue.chunks(document)
    added = [
        event.id
        for event in service.library.events()
        if event.kind == "document_added" and event.body is not None and event.body["document"] == document
    ]
    receipts = {
        timeline: _document_receipt(document, events, catalogue.timeline(timeline).rounds)
        for timeline, events in _quoting(service, document).items()
    } | {KNOWLEDGE: _document_receipt(document, added, 0)}
    prompts, replies = _shown_chunks(catalogue, [chunk.memory for chunk in chunks])
    reached = Reach(
        confirm=_confirm("document", len(chunks), len(added)),
        memories=tuple(ErasedMemory(chunk.memory, excerpt(chunk.text), None, row.at) for chunk in chunks),
        events=tuple(event for body in receipts.values() for event in body["events"]),
        instructions=(),
        prompts=prompts,
        replies=replies,
        files=_files(service, receipts),
    )
    return _Plan(reached, receipts)


def _document_receipt(document: str, events: Sequence[str], rounds: int) -> dict[str, Any]:
    nothing: dict[str, Any] = {name: [] for name in ("memories", "turns", "instructions", "retired", "sources")}
    return {**nothing, "scope": {"by": "document", "value": document}, "events": list(events), "rounds": rounds}


def _quoting(service: Service, document: str) -> dict[str, list[str]]:
    """By timeline, the reviews that quote a document."""
    found: dict[str, list[str]] = {}
    for row in service.timelines():
        for review in service.catalogue.reviews(row.id):
            if review.memory is not None and review.memory.partition("/")[0] == document:
                found.setdefault(row.id, []).append(review.event)
    return found


def _shown_chunks(
    catalogue: Catalogue, chunks: Sequence[str]
) -> tuple[tuple[LosingPrompt, ...], tuple[LaterReply, ...]]:
    """The turns whose prompts showed chunks of a document, timeline by timeline in the order of their ledgers."""
    uses = sorted((use for chunk in chunks for use in catalogue.uses(chunk)), key=_place)
    prompts, replies = [], []
    for _, group in groupby(uses, key=lambda use: use.turn):
        first, *rest = group
        turn = catalogue.turn(first.turn)
        assert turn is not None
        labels = (first.label, *(use.label for use in rest))
        prompts.append(LosingPrompt(first.turn, first.timeline, first.round, labels))
        replies.append(LaterReply(first.turn, first.timeline, first.round, first.at, excerpt(turn.response)))
    return tuple(prompts), tuple(replies)


def _place(use: UseRow) -> tuple[str, int, int, str]:
    return use.timeline, use.seq, len(use.label), use.label


def _confirm(scope: Scope, memories: int, events: int) -> str:
    if scope == "timeline":
        return "erase the whole timeline"
    if scope == "document":
        return "erase this document"
    if memories:
        return f"erase {_counted(memories, 'memory', 'memories')}"
    return f"erase {_counted(events, 'record', 'records')}"


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _files(service: Service, receipts: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """The files that are written anew or deleted: those of the logs folder by their place in it, and exports."""
    ledgers, torn = [], list[Path]()
    for ledger, body in receipts.items():
        ledgers.append(f"{ledger}/{LEDGER_NAME}")
        torn += torn_with(service.logs / ledger, going(service.catalogue, ledger, body).words())
    caches = sorted((service.logs / CACHE).glob("*.sqlite"))
    exports = [file for file in exported_files(service.logs, receipts.keys()) if file.state != "missing"]
    return (
        *ledgers,
        *(str(path.relative_to(service.logs)) for path in (*torn, *caches)),
        *(f"{file.path}{_CHANGED if file.state == 'changed' else ''}" for file in exports),
    )


_CHANGED = " (not deleted: changed since it was exported)"


def excerpt(text: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else line[: EXCERPT - 1] + "…"
