"""Writing atoms of another source into a timeline, batch by batch, so that an interrupted import can go on.

Keeps promise 1 for long work: every batch is on the disk before the next begins, what was imported before is known by
its source id, and stopping between batches loses nothing. Knows nothing about file formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Event
from typing import Any

from arpm.ids import new_id, source_digest
from arpm.importers.suspect import REASONS
from arpm.timeline import Imported, Timeline
from retrieval.memories import Experience

BATCH = 200


@dataclass(frozen=True, slots=True)
class Atom:
    """One round that happened elsewhere. `source` is its id there; one side may be empty; `at` may be unknown.

    `published` is what the source recorded beside the words (docs/schema/imported.v1.json); with a `suspect` in it the
    round goes into quarantine.
    """

    source: str
    session: str
    at: datetime | None
    message: str
    reply: str
    published: Mapping[str, Any] | None = None

    @property
    def doubt(self) -> str | None:
        """Why the reply must not be recalled; None when it may."""
        suspect = self.published["suspect"] if self.published else None
        return REASONS[suspect["kind"]] if suspect else None


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
    _quarantine_late(timeline, atoms)
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
    erased = timeline.erased_sources()
    missing, present, skipped = [], 0, []
    for atom in atoms:
        before = there.get(known.get(atom.source, ""))
        if erased and source_digest(timeline.id, atom.source) in erased:
            # What was erased must not come back with the next import of the same file.
            present += 1
        elif atom.source not in known:
            missing.append(atom)
        elif before is None or (before.message, before.reply) == (atom.message, atom.reply):
            # A memory that is no longer indexed is in quarantine.
            present += 1
        else:
            reason = "a round with this id and other words was imported before; give it another id"
            skipped.append(Skipped(f"id {atom.source}", reason))
    return missing, present, skipped


def _batches(atoms: Sequence[Atom]) -> Iterator[Sequence[Atom]]:
    return (atoms[start : start + BATCH] for start in range(0, len(atoms), BATCH))


def _placed(timeline: Timeline, file: str, batch: Sequence[Atom]) -> Iterator[Imported]:
    """The batch as memories of the timeline, with fresh ids and the rounds that come next, each with its source."""
    info, ids = timeline.info, timeline.imported()
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
        ids[atom.source] = memory.memory
        yield Imported(memory, {"file": file, "id": atom.source}, _with_ids(atom.published, ids), atom.doubt)


def _with_ids(published: Mapping[str, Any] | None, ids: Mapping[str, str]) -> dict[str, Any] | None:
    """What a source recorded, with the memories that its recalled items quote named by id instead of by source.

    One that was erased is named no more, and its words are not in the item.
    """
    if published is None:
        return None
    return {
        **published,
        "recalled": _recalled(published["recalled"], ids),
        "replaced": [{**one, "recalled": _recalled(one["recalled"], ids)} for one in published["replaced"]],
    }


def _recalled(items: Sequence[Mapping[str, Any]] | None, ids: Mapping[str, str]) -> list[dict[str, Any]] | None:
    return None if items is None else [{**item, "memory": ids.get(item["memory"] or "")} for item in items]


def _quarantine_late(timeline: Timeline, atoms: Sequence[Atom]) -> None:
    """Put suspects of an earlier run that was cut off into quarantine, but none that a person has released since."""
    known = timeline.imported()
    for atom in atoms:
        memory = known.get(atom.source)
        if atom.doubt and memory and memory in timeline.index and not timeline.catalogue.quarantines(memory):
            timeline.quarantine([memory], {"by": "memories", "value": None}, atom.doubt, "import")
