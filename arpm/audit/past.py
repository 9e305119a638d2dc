"""The past of a logs folder: its ledgers folded event by event into a catalogue in memory, read-only.

At every event the state is the one the service had just before it wrote that event, because both come about by the same
code (`Catalogue.apply`, `Lived.absorb`). Nothing is written to the folder and no lock is taken, so that a copy, or the
folder of a running server, can be replayed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arpm.catalogue import Catalogue
from arpm.clock import FixedClock, SwitchedClock, SystemClock
from arpm.errors import ArpmError
from arpm.events import RECEIPT, Event
from arpm.ledger import EMPTY, LEDGER_NAME, Checkpoint, walk
from arpm.library import KNOWLEDGE
from arpm.lived import Lived
from retrieval.candidates import Candidate, Query
from retrieval.config import RetrievalConfig
from retrieval.embedding.base import Embedder, Vectors
from retrieval.knowledge import KnowledgeIndex

_TURNS = ("turn", "turn_failed")
_RECEIPT = f'"kind":"{RECEIPT}"'.encode()


class OtherKnowledgeError(ArpmError):
    """A turn names a place of the knowledge ledger that this folder's does not have."""


@dataclass(frozen=True, slots=True)
class Step:
    """An event of a timeline, the timeline just before it, and the kinds of events before it that were erased."""

    event: Event
    before: Lived
    erased: frozenset[str]


class Past:
    """One timeline of a logs folder and the knowledge base, to be gone through once from the beginning.

    Without an embedder nothing is indexed and nothing can be searched.
    """

    def __init__(self, logs: Path, timeline: str, embedder: Embedder | None) -> None:
        """Read the knowledge ledger. Raises DamagedLedgerError, UnknownEventError and OSError."""
        self.timeline = timeline
        self.catalogue = Catalogue(None)
        self.knowledge = PastKnowledge(logs / KNOWLEDGE / LEDGER_NAME, self.catalogue, embedder)
        self.clock = SwitchedClock(SystemClock())
        self._ledger = logs / timeline / LEDGER_NAME
        self._embedder = embedder
        self._erased: set[str] = set()

    def steps(self) -> Iterator[Step]:
        """Every turn and failed turn, each with the timeline as it was before it; then everything is taken in.

        Raises DamagedLedgerError at the first damaged event, UnknownEventError and OSError.
        """
        lived: Lived | None = None
        waiting: list[Event] = []
        receipts = _erased_turns(self._ledger, self.timeline)
        for placed in walk(self._ledger, self.timeline):
            event = placed.event()
            if event.kind in _TURNS:
                lived = self._taken_in(lived, waiting, receipts)
                waiting = []
                self.clock.inner = FixedClock(event.at)
                yield Step(event, lived, frozenset(self._erased))
            waiting.append(event)
        self._taken_in(lived, waiting, receipts)

    def _taken_in(self, lived: Lived | None, events: Sequence[Event], receipts: Mapping[str, dict[str, Any]]) -> Lived:
        self.catalogue.apply(events, self.timeline, lambda event: event.end)
        for event in events:
            if event.body is None:
                self._erased.add(event.kind)
                if event.id in receipts:
                    self.catalogue.place_erased_turn(receipts[event.id])
        if lived is None:
            return Lived(self.timeline, self.catalogue, self._embedder, self.clock)
        lived.absorb(events)
        return lived


def _erased_turns(ledger: Path, timeline: str) -> dict[str, dict[str, Any]]:
    """What receipts anywhere in a ledger say of turns that were erased, by event id."""
    with ledger.open("rb") as file:
        if not any(_RECEIPT in line for line in file):
            return {}
    events = (placed.event() for placed in walk(ledger, timeline))
    bodies = (event.body for event in events if event.kind == RECEIPT and event.body is not None)
    return {turn["event"]: turn for body in bodies for turn in body["turns"]}


class PastKnowledge:
    """The knowledge base at any event of its ledger: `at` moves it there, `search` searches it."""

    def __init__(self, ledger: Path, catalogue: Catalogue, embedder: Embedder | None) -> None:
        self._events = [placed.event() for placed in walk(ledger)] if ledger.exists() else []
        self._catalogue = catalogue
        self._embedder = embedder
        self._tip = EMPTY
        self._index = KnowledgeIndex(embedder) if embedder else None
        self._first_erased = next((event.seq for event in self._events if event.body is None), None)
        # Texts and names by id, also of documents that come later: ids are never used twice.
        catalogue.apply(self._events, KNOWLEDGE, lambda event: event.end)

    def at(self, tip: Checkpoint) -> None:
        """Index the documents that were searched when the ledger ended at `tip`. Raises OtherKnowledgeError."""
        recorded = self._events[tip.seq - 1].hash if 0 < tip.seq <= len(self._events) else EMPTY.hash
        if tip.seq > len(self._events) or recorded != tip.hash:
            raise OtherKnowledgeError(
                f"the turn was made when the knowledge ledger ended at event {tip.seq} with the hash {tip.hash}; "
                f"the ledger of this folder has {len(self._events)} events and does not hold it"
            )
        if self._embedder is None or tip.seq == self._tip.seq:
            return
        if tip.seq < self._tip.seq:
            self._index, self._tip = KnowledgeIndex(self._embedder), EMPTY
        for event in self._events[self._tip.seq : tip.seq]:
            self._apply(event)
        self._tip = tip

    def lost_before(self, seq: int) -> bool:
        """Whether a document that was there at event `seq` has been erased since."""
        return self._first_erased is not None and self._first_erased <= seq

    def search(self, query: Query, vector: Vectors, config: RetrievalConfig) -> tuple[Checkpoint, list[Candidate]]:
        """Candidates of the knowledge route at the present place, and that place."""
        assert self._index is not None
        return self._tip, self._index.search(query, vector, config)

    def _apply(self, event: Event) -> None:
        assert self._index is not None
        if event.body is None:
            return
        if event.kind == "document_added":
            self._index.add(event.body["document"], self._catalogue.chunks(event.body["document"]))
        elif event.kind == "document_removed" and event.body["document"] in self._index:
            self._index.remove(event.body["document"])
