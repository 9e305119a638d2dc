"""What an export reads: the ledgers of some timelines and of the knowledge base, folded into tables in memory.

Reads offline, without a lock, and writes nothing. What was erased is listed by id with the receipt that says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from arpm.audit.reading import Readable, read_ledger, read_timelines
from arpm.catalogue import KNOWLEDGE, Catalogue, TimelineRow
from arpm.errors import InputError
from arpm.events import RECEIPT, Event
from arpm.ledger import EMPTY, Checkpoint


@dataclass(frozen=True, slots=True)
class Erased:
    """An event whose body is gone. `receipt` is the event that says so; None when none is there."""

    timeline: str
    event: str
    seq: int
    kind: str
    at: datetime
    receipt: str | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was erased at once, and why. `by` and `value` are the scope."""

    timeline: str
    event: str
    at: datetime
    scope: dict[str, Any]
    reason: str
    by: str
    events: int


@dataclass(frozen=True, slots=True)
class TimelineSource:
    """One timeline of an export."""

    info: TimelineRow
    ledger: Readable
    tip: Checkpoint
    erased: tuple[Erased, ...]
    receipts: tuple[Receipt, ...]

    def events(self) -> Iterator[Event]:
        """Its events as far as they were folded in."""
        return (event for event in self.ledger.events() if event.seq <= self.tip.seq)


@dataclass(frozen=True, slots=True)
class Source:
    """All that is exported. `damage` names what could not be read, by timeline."""

    catalogue: Catalogue
    timelines: tuple[TimelineSource, ...]
    damage: dict[str, str]


def read_source(logs: Path, wanted: Sequence[str] = ()) -> Source:
    """Read timelines, or all there are. Raises NotFoundError, and InputError when nothing of them can be read."""
    catalogue, damage = Catalogue(None), dict[str, str]()
    knowledge = read_ledger(logs, KNOWLEDGE)
    if knowledge.damage:
        damage[KNOWLEDGE] = knowledge.damage
    events = list(knowledge.events())
    catalogue.apply(events, KNOWLEDGE, lambda event: event.end)
    timelines = []
    for ledger in read_timelines(logs, wanted):
        if ledger.damage:
            damage[ledger.name] = ledger.damage
        source = _folded(catalogue, ledger)
        if source is not None:
            timelines.append(source)
    if not timelines:
        raise InputError(f"{logs} has no timeline that can be exported{_why(damage)}.")
    return Source(catalogue, tuple(timelines), damage)


def _why(damage: dict[str, str]) -> str:
    return f": {next(iter(damage.values()))}" if damage else ""


def _folded(catalogue: Catalogue, ledger: Readable) -> TimelineSource | None:
    """Fold a ledger in; None when not even its first event is there."""
    tip, gone, named, receipts = EMPTY, list[Event](), dict[str, str](), list[Receipt]()

    def seen() -> Iterator[Event]:
        nonlocal tip
        for event in ledger.events():
            tip = Checkpoint(event.seq, event.hash, event.end)
            if event.body is None:
                gone.append(event)
            elif event.kind == RECEIPT:
                named.update(dict.fromkeys(event.body["events"], event.id))
                receipts.append(_receipt(event, event.body))
            yield event

    catalogue.apply(seen(), ledger.name, lambda event: event.end)
    found = [row for row in catalogue.timelines() if row.id == ledger.name]
    if not found and tip == EMPTY:
        return None
    erased = tuple(
        Erased(ledger.name, event.id, event.seq, event.kind, event.at, named.get(event.id)) for event in gone
    )
    info = found[0] if found else _nameless(ledger.name, erased)
    return TimelineSource(info, ledger, tip, erased, tuple(receipts))


def _nameless(id: str, erased: Sequence[Erased]) -> TimelineRow:
    """A timeline that was erased as a whole: even who talked is gone."""
    return TimelineRow(id, "", "", "", "UTC", erased[0].at, "", 0)


def _receipt(event: Event, body: dict[str, Any]) -> Receipt:
    return Receipt(event.timeline, event.id, event.at, body["scope"], body["reason"], body["by"], len(body["events"]))
