"""Writing atoms of another source into a timeline, batch by batch, so that an interrupted import can go on.

Keeps promise 1 for long work: every batch is on the disk before the next begins, what was imported before is known by
its source id, and stopping between batches loses nothing. Knows nothing about file formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Event
from typing import Any

from arpm.ids import new_id
from arpm.timeline import Timeline
from retrieval.memories import Experience

BATCH = 200


@dataclass(frozen=True, slots=True)
class Atom:
    """One round that happened elsewhere. `source` is its id there; one side may be empty; `at` may be unknown."""

    source: str
    session: str
    at: datetime | None
    message: str
    reply: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something of a file that was not imported: its place ("line 12") and why."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """What became of an import: atoms written now, atoms there from before, and atoms left because it was stopped."""

    timeline: str
    imported: int
    present: int
    left: int
    skipped: tuple[Skipped, ...] = ()


def write_atoms(
    timeline: Timeline,
    file: str,
    atoms: Sequence[Atom],
    progress: Callable[[int], None] = lambda atoms: None,
    stop: Event | None = None,
) -> Report:
    """Write the atoms that are not there yet, in order, as the next rounds of `timeline`.

    `progress` is told how many more atoms are done; setting `stop` ends the import after the running batch. Raises
    BusyError when a turn runs on the timeline.
    """
    missing, present, skipped = _sorted_out(timeline, atoms)
    progress(present + len(skipped))
    imported = 0
    for batch in _batches(missing):
        if stop is not None and stop.is_set():
            break
        with timeline.exclusive():
            timeline.import_atoms(list(_placed(timeline, file, batch)))
        imported += len(batch)
        progress(len(batch))
    return Report(timeline.id, imported, present, len(missing) - imported, tuple(skipped))


def _sorted_out(timeline: Timeline, atoms: Sequence[Atom]) -> tuple[list[Atom], int, list[Skipped]]:
    """The atoms that are to be written, how many are there already, and those whose id belongs to other words."""
    known, there = timeline.imported(), {atom.memory: atom for atom in timeline.index.atoms()}
    missing, present, skipped = [], 0, []
    for atom in atoms:
        before = there.get(known.get(atom.source, ""))
        if atom.source not in known:
            missing.append(atom)
        elif before is None or (before.message, before.reply) == (atom.message, atom.reply):
            # A memory that is no longer indexed was erased or quarantined: an import must not bring it back.
            present += 1
        else:
            reason = "a round with this id and other words was imported before; give it another id"
            skipped.append(Skipped(f"id {atom.source}", reason))
    return missing, present, skipped


def _batches(atoms: Sequence[Atom]) -> Iterator[Sequence[Atom]]:
    return (atoms[start : start + BATCH] for start in range(0, len(atoms), BATCH))


def _placed(timeline: Timeline, file: str, batch: Sequence[Atom]) -> Iterator[tuple[Experience, dict[str, Any]]]:
    """The batch as memories of the timeline, with fresh ids and the rounds that come next, each with its source."""
    info = timeline.info
    for round, atom in enumerate(batch, info.rounds + 1):
        memory = Experience(
            memory=new_id("m"),
            session=atom.session,
            round=round,
            at=atom.at,
            user=info.user,
            character=info.character,
            message=atom.message,
            reply=atom.reply,
        )
        yield memory, {"file": file, "id": atom.source}
