"""What a timeline has lived up to a moment: sessions, rounds, instructions, and the index of its experience memory.

The same object stands behind a running timeline and behind the replay of its ledger: `absorb` takes in events that the
catalogue holds already, so that a replay is at every event where the service was. Reads only; knows nothing about
ledgers, models or prompts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from arpm.catalogue import Catalogue, InstructionRow, SessionRow, TimelineRow, TurnRow
from arpm.clock import Clock
from arpm.errors import InputError, NotFoundError
from arpm.events import Event
from governance.config import GovernanceConfig
from governance.decay import Moment
from governance.instructions import Instruction
from retrieval.embedding.base import Embedder
from retrieval.experience import ExperienceIndex
from retrieval.memories import Experience


class Lived:
    """One user with one character, as far as `catalogue` knows it."""

    def __init__(self, id: str, catalogue: Catalogue, embedder: Embedder | None, clock: Clock) -> None:
        """Index what `catalogue` holds of the timeline; without an embedder nothing, and nothing can be searched."""
        self.id = id
        self.clock = clock
        self.catalogue = catalogue
        self._embedder = embedder
        self._times: list[tuple[int, datetime]] | None = None
        self._index = self._indexed()

    @property
    def info(self) -> TimelineRow:
        return self.catalogue.timeline(self.id)

    @property
    def index(self) -> ExperienceIndex:
        """The experience memory as it is searched."""
        assert self._index is not None
        return self._index

    # -- taking in events --------------------------------------------------------------------------------------------

    def absorb(self, events: Sequence[Event]) -> None:
        """Take in events that the catalogue has folded in already, oldest first."""
        fresh: list[str] = []
        for event in events:
            body = event.body
            if body is None:
                # An erased turn was a round all the same.
                self._times = None
                continue
            if event.kind == "turn":
                self._leave_out(body["replaces"])
                self._note_time(event, body)
                if body["admission"]["memory"] is not None:
                    fresh.append(body["admission"]["memory"])
            elif event.kind == "imported":
                self._times = None
                fresh.append(body["memory"])
            elif event.kind in _CHANGES_SEARCH:
                return self._index_anew()
        if self._index is not None:
            atoms = (self.catalogue.memory(memory) for memory in fresh)
            self._index.add([atom for atom in atoms if isinstance(atom, Experience)])
        return None

    def _note_time(self, event: Event, body: dict[str, Any]) -> None:
        """Where every round is dated already, the newest is one more; reading them all takes as long as a search."""
        times = self._times
        if times is None or body["replaces"] is not None:
            self._times = None
        else:
            times.append((body["round"], max(event.at, times[-1][1]) if times else event.at))

    def _leave_out(self, turn: str | None) -> None:
        """Take the memory of a turn that was replaced out of search."""
        memory = self.catalogue.memory_of_turn(turn) if turn else None
        if memory is not None and self._index is not None and memory in self._index:
            self._index.remove(memory)

    def _index_anew(self) -> None:
        """The index as a restart would build it: neighbours and order are those of what is left.

        A search that runs meanwhile finishes on the old one.
        """
        self._index = self._indexed()
        self._times = None

    def _indexed(self) -> ExperienceIndex | None:
        if self._embedder is None:
            return None
        index = ExperienceIndex(self._embedder)
        index.add(self.catalogue.experiences(self.id))
        return index

    # -- sessions ----------------------------------------------------------------------------------------------------

    def session(self) -> SessionRow:
        """The running session. Raises NotFoundError before the first one."""
        sessions = self.catalogue.sessions(self.id)
        if not sessions:
            raise NotFoundError(f"timeline {self.id} has no session yet")
        return sessions[-1]

    def config(self) -> GovernanceConfig:
        """The governance config of the running session; settings this version no longer has are left out."""
        return GovernanceConfig.of_record(self.session().config)

    # -- rounds and turns --------------------------------------------------------------------------------------------

    def moment(self, now: datetime | None = None) -> Moment:
        """The next round and the clock's time."""
        return Moment(self.info.rounds + 1, now or self.clock.now())

    def last_round_at(self, before: int | None = None) -> datetime | None:
        """When the last round was; the last one below `before` if given."""
        times = reversed(self._lived_at())
        return next((at for round, at in times if before is None or round < before), None)

    def newest_turn(self, event: str) -> TurnRow:
        """The turn that can be answered again: the reply that holds in the newest round. Raises InputError."""
        row = self.catalogue.turn(event)
        if row is None or row.timeline != self.id or row.kind != "turn" or row.replaced_by or row.erased:
            raise InputError(f"{event!r} is no reply that holds on this timeline, so it cannot be answered again.")
        if row.round != self.info.rounds:
            raise InputError(
                f"Only the newest round can be answered again. That is round {self.info.rounds}, not {row.round}: "
                "later rounds rest on it."
            )
        return row

    def round_at(self, at: datetime) -> int:
        """How many rounds there had been at a time: the round that a document added then belongs to."""
        times = self._lived_at()
        place = bisect_right(times, at, key=lambda pair: pair[1])
        return times[place - 1][0] if place else 0

    def window(self, rounds: int, before: int | None = None) -> list[TurnRow]:
        """The last rounds of the running session; only those below `before` if given."""
        return self.catalogue.window(self.session().id, rounds, before) if rounds else []

    def session_rounds(self, before: int | None = None) -> int:
        """How many rounds the running session has; only those below `before` if given."""
        return self.catalogue.session_rounds(self.session().id, before)

    def experiences(self) -> list[Experience]:
        """Every active memory, in the order they were lived."""
        return self.catalogue.experiences(self.id)

    def memory_of_round(self, round: int) -> str | None:
        """The memory that a round became."""
        return self.catalogue.memory_of_round(self.id, round)

    # -- standing instructions ---------------------------------------------------------------------------------------

    def instructions(self) -> list[InstructionRow]:
        """Every instruction, retired ones too."""
        return self.catalogue.instructions(self.id)

    def active_instructions(self) -> list[Instruction]:
        """Those in force, in the order given."""
        return self.catalogue.active_instructions(self.id)

    def _lived_at(self) -> list[tuple[int, datetime]]:
        """(round, latest time so far), sorted by time even where a clock jumped back, so that it can be searched."""
        if self._times is None:
            self._times = _running_latest(self.catalogue.round_times(self.id))
        return self._times


# What takes memories out of search or brings them back in other places than the end.
_CHANGES_SEARCH = ("memory_quarantined", "memory_released", "memory_erased")


def _running_latest(times: Sequence[tuple[int, datetime]]) -> list[tuple[int, datetime]]:
    """(round, latest time so far): sorted by time even where a clock jumped back, so that it can be searched."""
    latest: list[tuple[int, datetime]] = []
    for round, at in times:
        latest.append((round, max(at, latest[-1][1]) if latest else at))
    return latest
