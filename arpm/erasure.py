"""Erasing what was said, for good: what an erasure reaches, and doing it.

Keeps promise 5: after it the words are in no ledger body, index, cache or torn file of the logs folder, and no later
prompt that showed them can be rebuilt. What stays is a receipt that names everything by id. Later replies that were
made with the words in view, and what else repeats them, stay and are listed, or are taken along: see `arpm.sweep`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Literal, get_args

from arpm.catalogue import KNOWLEDGE, Catalogue, UseRow
from arpm.errors import InputError, NotFoundError
from arpm.events import Event
from arpm.exported import exported_files
from arpm.forgetting import going, torn_of
from arpm.ids import is_id
from arpm.ledger import LEDGER_NAME
from arpm.service import CACHE, Service
from arpm.sweep import Along, Chosen, Copy, LaterReply, LosingPrompt, Sweep, excerpt, swept
from arpm.timeline import Timeline
from arpm.unfinished import begun
from retrieval.text import usable

REASON_LIMIT = 500

Scope = Literal["memories", "session", "timeline", "document"]


@dataclass(frozen=True, slots=True)
class What:
    """What is to be erased: memories or a session of a timeline, a whole timeline, or a document.

    A memory is named by its id; a turn that never became one by its event id or as TIMELINE:ROUND. `replies` says which
    other replies are taken along: those that repeat its words ("quoting"), or these and all that were made with it in
    view, or with those in view in their turn ("all").
    """

    timeline: str | None = None
    memories: tuple[str, ...] = ()
    session: str | None = None
    document: str | None = None
    replies: Along | None = None

    def __post_init__(self) -> None:
        if self.document is not None:
            fits = self.timeline is None and not self.memories and self.session is None
        else:
            fits = self.timeline is not None and not (self.memories and self.session is not None)
        if not fits:
            raise InputError(
                "Name what to erase in one way: memories or a session of a timeline, a whole timeline, or a document."
            )
        if self.replies not in (None, *get_args(Along)):
            raise InputError(f"Replies that go along are quoting or all, not {self.replies!r}.")

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
class Reach:
    """What an erasure takes, and what it leaves. `confirm` is what a person types to go ahead.

    `memories`, `events` and `instructions` go, also those that are taken along; `replies` and `copies` stay unless they
    say that they go.
    """

    confirm: str
    memories: tuple[ErasedMemory, ...]
    events: tuple[str, ...]
    instructions: tuple[ErasedInstruction, ...]
    prompts: tuple[LosingPrompt, ...]
    replies: tuple[LaterReply, ...]
    copies: tuple[Copy, ...]
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


def of_memories(catalogue: Catalogue, ids: Sequence[str], replies: Along | None = None) -> What:
    """Memories and turns by id, whatever timeline they are on. Raises NotFoundError, and InputError for several."""
    homes = dict.fromkeys(_home(catalogue, id) for id in ids)
    if len(homes) != 1:
        raise InputError(f"They are on {len(homes)} timelines. Erase them one timeline at a time.")
    return What(timeline=next(iter(homes)), memories=tuple(ids), replies=replies)


def reach(service: Service, what: What) -> Reach:
    """What erasing would take and leave. Changes nothing.

    Raises NotFoundError for what is not there, and InputError for what was erased already.
    """
    return _plan(service, what).reach


def erase(service: Service, what: What, confirm: str, reason: str = "", by: str = "hand") -> tuple[Receipt, Reach]:
    """Erase for good. `confirm` must be the `Reach.confirm` of this moment; the reason stays in the ledger.

    Raises the errors of `reach`, InputError for other words (nothing was erased), BusyError while a turn runs,
    LedgerWriteError when there is no room for the new ledger (nothing was erased; of several ledgers, the next start
    finishes those that are left), and CatalogueError when a cache could not be cleaned (the next start finishes it).
    """
    reason = usable(reason).strip() or "erased by hand"
    if len(reason) > REASON_LIMIT:
        raise InputError(f"The reason has {len(reason):,} characters; the limit is {REASON_LIMIT}.")
    service.finish_erasing()
    with _held(service, what):
        plan = _plan(service, what)
        if not plan.reach.events:
            raise InputError("There is nothing left to erase here.")
        if confirm.strip() != plan.reach.confirm:
            raise InputError(f"Nothing was erased: to confirm, the words must be “{plan.reach.confirm}”.")
        receipts = {ledger: {**body, "reason": reason, "by": by} for ledger, body in plan.receipts.items()}
        with begun(service.logs, receipts) as done:
            for ledger, body in receipts.items():
                done.append(_eraser(service, ledger)(body))
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
            for timeline in _telling(service, what.document):
                service.timeline(timeline)
            for opened in service.open_timelines():
                stack.enter_context(opened.still())
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
        return _document_plan(service, what.document, what.replies)
    timeline = _timeline(service, what)
    chosen = _chosen(service.catalogue, timeline, what)
    sweep = swept(timeline.id, timeline.events, chosen, what.replies)
    return _timeline_plan(service, timeline, what, sweep)


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


def _chosen(catalogue: Catalogue, timeline: Timeline, what: What) -> Chosen:
    chosen = Chosen(everything=what.scope == "timeline")
    for id in what.memories:
        _choose(catalogue, timeline.id, id, chosen)
    if what.session is not None:
        _choose_session(catalogue, timeline, what.session, chosen)
    if chosen.everything:
        chosen.memories = {row.memory.memory for row in catalogue.memory_rows(timeline.id)}
    return chosen


def _choose(catalogue: Catalogue, timeline: str, id: str, chosen: Chosen) -> None:
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


def _choose_turns(id: str, erased: Sequence[bool], round: int | None, chosen: Chosen) -> None:
    if all(erased):
        raise InputError(f"{id} was erased already.")
    if round is not None:
        chosen.rounds.add(round)


def _choose_session(catalogue: Catalogue, timeline: Timeline, session: str, chosen: Chosen) -> None:
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


# -- what goes and what stays -----------------------------------------------------------------------------------------


def _timeline_plan(service: Service, timeline: Timeline, what: What, sweep: Sweep) -> _Plan:
    memories = _memories(service.catalogue, sweep)
    scope = {"by": what.scope, "value": what.session}
    replies = what.replies if what.scope != "timeline" else None
    body = _receipt(scope, [memory.id for memory in memories], sweep, timeline.info.rounds, replies)
    if what.scope == "timeline":
        # Nothing of it is left that a reader would have to put in its place.
        body |= {name: [] for name in ("turns", "retired", "sources")}
    reached = Reach(
        confirm=_confirm(what.scope, len(memories), len(sweep.taken)),
        memories=tuple(memories),
        events=tuple(sweep.taken),
        instructions=_instructions(sweep),
        prompts=tuple(sweep.prompts),
        replies=tuple(sweep.replies),
        copies=tuple(sweep.copies),
        files=_files(service, {timeline.id: body}) if sweep.taken else (),
    )
    return _Plan(reached, {timeline.id: body})


def _memories(catalogue: Catalogue, sweep: Sweep) -> list[ErasedMemory]:
    """The memories of a timeline that go, in the order they were lived."""
    rows = (row.memory for row in reversed(catalogue.memory_rows(sweep.timeline)))
    gone = sweep.chosen.memories
    return [ErasedMemory(one.memory, excerpt(one.text), one.round, one.at) for one in rows if one.memory in gone]


def _instructions(sweep: Sweep) -> tuple[ErasedInstruction, ...]:
    return tuple(ErasedInstruction(id, excerpt(text)) for id, text in sweep.instructions.items())


def _receipt(
    scope: dict[str, Any], memories: Sequence[str], sweep: Sweep, rounds: int, replies: Along | None
) -> dict[str, Any]:
    """The body of a timeline's receipt but for reason and person."""
    body = {
        "scope": scope,
        "memories": list(memories),
        "events": sweep.taken,
        "turns": sweep.turns,
        "rounds": rounds,
        "instructions": list(sweep.instructions),
        "retired": sweep.retired,
        "sources": sweep.sources,
    }
    return body if replies is None else body | {"along": {"which": replies, "turns": list(sweep.chosen.along)}}


def _document_plan(service: Service, document: str, replies: Along | None) -> _Plan:
    catalogue = service.catalogue
    _refuse_erased(catalogue, document)
    row, chunks = service.library.document(document), catalogue.chunks(document)
    scope = {"by": "document", "value": document}
    added = [
        event.id
        for event in service.library.events()
        if event.kind == "document_added" and event.body is not None and event.body["document"] == document
    ]
    sweeps, prompts = [], list[LosingPrompt]()
    for name, shown in _telling(service, document).items():
        timeline = service.timeline(name)
        # What no prompt showed nobody can have repeated from here.
        words = {chunk.text for chunk in chunks if chunk.memory in shown}
        chosen = Chosen(memories={chunk.memory for chunk in chunks}, replied=words)
        sweeps.append(swept(name, timeline.events, chosen, replies))
    prompts += _shown_by_damaged(service, [chunk.memory for chunk in chunks])
    gone = [memory for sweep in sweeps for memory in _memories(catalogue, sweep)]
    receipts = {
        sweep.timeline: _receipt(
            scope,
            [memory.id for memory in _memories(catalogue, sweep)],
            sweep,
            catalogue.timeline(sweep.timeline).rounds,
            replies,
        )
        for sweep in sweeps
        if sweep.taken
    }
    nothing: dict[str, Any] = {name: [] for name in ("memories", "turns", "instructions", "retired", "sources")}
    receipts[KNOWLEDGE] = {**nothing, "scope": scope, "events": added, "rounds": 0}
    along = sum(len(sweep.chosen.along) for sweep in sweeps)
    reached = Reach(
        confirm=_confirm("document", len(chunks), len(added), along),
        memories=(*(ErasedMemory(chunk.memory, excerpt(chunk.text), None, row.at) for chunk in chunks), *gone),
        events=tuple(event for body in receipts.values() for event in body["events"]),
        instructions=tuple(item for sweep in sweeps for item in _instructions(sweep)),
        prompts=(*(prompt for sweep in sweeps for prompt in sweep.prompts), *prompts),
        replies=tuple(reply for sweep in sweeps for reply in sweep.replies),
        copies=tuple(copy for sweep in sweeps for copy in sweep.copies),
        files=_files(service, receipts),
    )
    return _Plan(reached, receipts)


def _telling(service: Service, document: str) -> dict[str, set[str]]:
    """By timeline that can be read, the chunks of a document that its prompts showed or its reviews quote."""
    catalogue, damaged = service.catalogue, {one.name for one in service.damaged}
    found: dict[str, set[str]] = {}
    for chunk in catalogue.chunks(document):
        for use in catalogue.uses(chunk.memory):
            found.setdefault(use.timeline, set()).add(chunk.memory)
    for row in service.timelines():
        for review in catalogue.reviews(row.id):
            if review.memory is not None and review.memory.partition("/")[0] == document:
                found.setdefault(row.id, set()).add(review.memory)
    return {name: found[name] for name in sorted(found) if name not in damaged}


def _shown_by_damaged(service: Service, chunks: Sequence[str]) -> list[LosingPrompt]:
    """The same for prompts of timelines whose ledgers are damaged, as far as the catalogue knows them."""
    damaged = {one.name for one in service.damaged}
    uses = (use for chunk in chunks for use in service.catalogue.uses(chunk) if use.timeline in damaged)
    prompts = []
    for _, group in groupby(sorted(uses, key=_place), key=lambda use: use.turn):
        first, *rest = group
        labels = (first.label, *(use.label for use in rest))
        prompts.append(LosingPrompt(first.turn, first.timeline, first.round, labels))
    return prompts


def _place(use: UseRow) -> tuple[str, int, int, str]:
    return use.timeline, use.seq, len(use.label), use.label


def _confirm(scope: Scope, memories: int, events: int, along: int = 0) -> str:
    if scope == "timeline":
        return "erase the whole timeline"
    if scope == "document":
        return "erase this document" + (f" and {_counted(along, 'reply', 'replies')}" if along else "")
    if memories:
        return f"erase {_counted(memories, 'memory', 'memories')}"
    return f"erase {_counted(events, 'record', 'records')}"


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _files(service: Service, receipts: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """The files that are written anew or deleted: those of the logs folder by their place in it, and exports."""
    torn = {
        path: None
        for ledger, body in receipts.items()
        for path in torn_of(service.logs, going(service.catalogue, ledger, body))
    }
    ledgers = [f"{ledger}/{LEDGER_NAME}" for ledger in receipts]
    caches = sorted((service.logs / CACHE).glob("*.sqlite"))
    exports = [file for file in exported_files(service.logs, receipts.keys()) if file.state != "missing"]
    return (
        *ledgers,
        *(str(path.relative_to(service.logs)) for path in (*torn, *caches)),
        *(f"{file.path}{_CHANGED if file.state == 'changed' else ''}" for file in exports),
    )


_CHANGED = " (not deleted: changed since it was exported)"
