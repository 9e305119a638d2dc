"""A timeline: its ledger, its sessions, its standing instructions and its experience memory.

Gives a turn everything it reads and takes everything it writes. Knows nothing about models or prompts.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from arpm.catalogue import Catalogue, InstructionRow, SessionRow, TimelineRow, TurnRow
from arpm.clock import Clock
from arpm.errors import BusyError, InputError, NotFoundError
from arpm.events import Draft, Event
from arpm.ids import new_id
from arpm.store import Store
from governance.config import GovernanceConfig
from governance.decay import Moment
from governance.instructions import Instruction
from retrieval.embedding.base import Embedder
from retrieval.experience import ExperienceIndex
from retrieval.memories import Experience

Cause = Literal["start", "cleared", "model_changed", "import"]


@dataclass(frozen=True, slots=True)
class NewTimeline:
    """What a timeline is opened with."""

    user: str
    character: str
    persona: str
    timezone: str


class Timeline:
    """One user with one character, for life."""

    def __init__(self, folder: Path, catalogue: Catalogue, embedder: Embedder, clock: Clock) -> None:
        """Open an existing timeline. Raises DamagedLedgerError or NotFoundError."""
        self.id = folder.name
        self._catalogue = catalogue
        self._clock = clock
        self._embedder = embedder
        self._store = Store(folder, self.id, catalogue, clock)
        self._turn = threading.Lock()
        self.index = ExperienceIndex(embedder)
        self.index.add(catalogue.experiences(self.id))
        self._times = _running_latest(catalogue.round_times(self.id))

    @classmethod
    def create(cls, logs: Path, new: NewTimeline, catalogue: Catalogue, embedder: Embedder, clock: Clock) -> Timeline:
        """Open a new timeline with its first event."""
        id = new_id("t")
        store = Store(logs / id, id, catalogue, clock)
        body = {
            "user": new.user,
            "character": new.character,
            "persona": new.persona,
            "timezone": new.timezone,
        }
        store.append("timeline_opened", body, at=clock.now())
        store.close()
        return cls(logs / id, catalogue, embedder, clock)

    def close(self) -> None:
        self._store.close()

    def rename(self, title: str) -> None:
        """Call the timeline something else; an empty title takes it away."""
        if title != self.info.title:
            self._store.append("timeline_renamed", {"title": title}, at=self._clock.now())

    @property
    def info(self) -> TimelineRow:
        return self._catalogue.timeline(self.id)

    @property
    def torn(self) -> Path | None:
        """The file that holds a torn last line found when the ledger was opened, if there was one."""
        return self._store.ledger.torn

    @property
    def behind(self) -> bool:
        """Whether this object missed what its ledger holds: close it and open the timeline again."""
        return self._store.behind

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the timeline for one turn. Raises BusyError at once when another turn runs (two tabs sending)."""
        if not self._turn.acquire(blocking=False):
            raise BusyError("This timeline is answering another message. Wait for it, or stop it, and send again.")
        try:
            yield
        finally:
            self._turn.release()

    # -- sessions ----------------------------------------------------------------------------------------------------

    def session(self) -> SessionRow:
        """The running session. Raises NotFoundError before the first one."""
        sessions = self._catalogue.sessions(self.id)
        if not sessions:
            raise NotFoundError(f"timeline {self.id} has no session yet")
        return sessions[-1]

    def open_session(self, cause: Cause, model: str, config: GovernanceConfig, preset: str) -> SessionRow:
        """Begin a session: a new context window on the same timeline."""
        body = {"cause": cause, "model": model, "config": config.as_dict(), "preset": preset}
        self._store.append("session_opened", body, at=self._clock.now(), session=new_id("s"))
        return self.session()

    def configure(self, config: GovernanceConfig, preset: str) -> SessionRow:
        """Change the running session's governance config: an intervention, recorded."""
        session = self.session()
        changes = self.config().differences(config)
        if changes or preset != session.preset:
            body = {"changes": changes, "preset": preset}
            self._store.append("config_changed", body, at=self._clock.now(), session=session.id)
        return self.session()

    def config(self) -> GovernanceConfig:
        """The governance config of the running session; settings this version no longer has are left out."""
        return GovernanceConfig.of_record(self.session().config)

    # -- rounds and turns --------------------------------------------------------------------------------------------

    def moment(self, now: datetime | None = None) -> Moment:
        """The next round and the clock's time."""
        return Moment(self.info.rounds + 1, now or self._clock.now())

    def last_round_at(self, before: int | None = None) -> datetime | None:
        """When the last round was; the last one below `before` if given."""
        return next((at for round, at in reversed(self._times) if before is None or round < before), None)

    def newest_turn(self, event: str) -> TurnRow:
        """The turn that can be answered again: the reply that holds in the newest round. Raises InputError."""
        row = self._catalogue.turn(event)
        if row is None or row.timeline != self.id or row.kind != "turn" or row.replaced_by is not None:
            raise InputError(f"{event!r} is no reply that holds on this timeline, so it cannot be answered again.")
        if row.round != self.info.rounds:
            raise InputError(
                f"Only the newest round can be answered again. That is round {self.info.rounds}, not {row.round}: "
                "later rounds rest on it."
            )
        return row

    def round_at(self, at: datetime) -> int:
        """How many rounds there had been at a time: the round that a document added then belongs to."""
        place = bisect_right(self._times, at, key=lambda pair: pair[1])
        return self._times[place - 1][0] if place else 0

    def window(self, rounds: int, before: int | None = None) -> list[TurnRow]:
        """The last rounds of the running session; only those below `before` if given."""
        return self._catalogue.window(self.session().id, rounds, before) if rounds else []

    def session_rounds(self, before: int | None = None) -> int:
        """How many rounds the running session has; only those below `before` if given."""
        return self._catalogue.session_rounds(self.session().id, before)

    def memory_of_round(self, round: int) -> str | None:
        """The memory that a round became."""
        return self._catalogue.memory_of_round(self.id, round)

    def commit(self, kind: Literal["turn", "turn_failed"], body: dict[str, Any], at: datetime) -> Event:
        """Record a turn. When this returns, it is on the disk."""
        event = self._store.append(kind, body, at=at, session=self.session().id)
        if kind == "turn":
            if self._times and self._times[-1][0] == body["round"]:
                self._times.pop()
            self._times.append((body["round"], max(at, self._times[-1][1]) if self._times else at))
        return event

    def admit(self, event: Event) -> None:
        """Index the memory that a committed turn became, if it did, in the place of the one it replaces."""
        assert event.body is not None
        replaced = self._catalogue.memory_of_turn(event.body["replaces"]) if event.body["replaces"] else None
        if replaced is not None and replaced in self.index:
            self.index.remove(replaced)
        memory = event.body["admission"]["memory"]
        if memory is not None:
            atom = self._catalogue.memory(memory)
            assert isinstance(atom, Experience)
            self.index.add([atom])

    def events(self) -> Iterator[Event]:
        """Every event of the ledger, oldest first."""
        return self._store.events()

    def record(self, turn: TurnRow) -> Event:
        """The whole record of a turn."""
        return next(iter(self._store.ledger.events(turn.seq)))

    # -- standing instructions ---------------------------------------------------------------------------------------

    def instructions(self) -> list[InstructionRow]:
        """Every instruction, retired ones too."""
        return self._catalogue.instructions(self.id)

    def active_instructions(self) -> list[Instruction]:
        """Those in force, in the order given."""
        return self._catalogue.active_instructions(self.id)

    def add_instruction(self, text: str, *, rule: str | None = None, round: int | None = None) -> Instruction:
        """Add a standing instruction, by hand or by a rule. The same words are in force only once."""
        text = text.strip()
        if not text:
            raise InputError("An instruction needs at least one word.")
        for item in self.active_instructions():
            if item.text == text:
                return item
        body = {
            "instruction": new_id("i"),
            "text": text,
            "kind": "rule" if rule else "hand",
            "source_round": round if round is not None else self.info.rounds,
            "rule": rule,
        }
        self._store.append("instruction_added", body, at=self._clock.now(), session=self.session().id)
        return self.active_instructions()[-1]

    def retire_instruction(
        self, id: str, reason: str, *, by: Literal["rule", "hand"], round: int | None = None
    ) -> None:
        """Retire an instruction: no later prompt shows it. Raises NotFoundError unless it is in force."""
        if id not in {item.id for item in self.active_instructions()}:
            raise NotFoundError(f"no instruction {id!r} is in force on this timeline")
        body = {"instruction": id, "reason": reason, "by": by, "source_round": round}
        self._store.append("instruction_retired", body, at=self._clock.now(), session=self.session().id)

    def replace_instruction(self, id: str, text: str) -> Instruction:
        """Retire an instruction and put other words in its place, in one write. Raises NotFoundError and InputError."""
        text = text.strip()
        active = self.active_instructions()
        if id not in {item.id for item in active}:
            raise NotFoundError(f"no instruction {id!r} is in force on this timeline")
        if not text:
            raise InputError("An instruction needs at least one word. To be rid of it, retire it.")
        if any(item.text == text for item in active):
            raise InputError("These words are in force already.")
        fresh, now, session = new_id("i"), self._clock.now(), self.session().id
        retired = {"instruction": id, "reason": f"replaced by {fresh}", "by": "hand", "source_round": None}
        added = {"instruction": fresh, "text": text, "kind": "hand", "source_round": self.info.rounds, "rule": None}
        self._store.append_many(
            [
                Draft(kind="instruction_retired", body=retired, session=session, at=now),
                Draft(kind="instruction_added", body=added, session=session, at=now),
            ]
        )
        return self.active_instructions()[-1]

    # -- quarantine --------------------------------------------------------------------------------------------------

    def quarantine(self, memories: Sequence[str], scope: dict[str, Any], reason: str, by: str = "hand") -> None:
        """Take active memories out of search; what they say stays in the ledger. Nothing for none."""
        if memories:
            body = {"memories": list(memories), "scope": scope, "reason": reason, "by": by}
            self._store.append("memory_quarantined", body, at=self._clock.now())
            self._index_anew()

    def release(self, memories: Sequence[str], reason: str, by: str = "hand") -> None:
        """Bring memories in quarantine back into search, each in its place. Nothing for none."""
        if memories:
            body = {"memories": list(memories), "reason": reason, "by": by}
            self._store.append("memory_released", body, at=self._clock.now())
            self._index_anew()

    def _index_anew(self) -> None:
        """The index as a restart would build it: neighbours and order are those of what is left.

        A search that runs meanwhile finishes on the old one.
        """
        index = ExperienceIndex(self._embedder)
        index.add(self._catalogue.experiences(self.id))
        self.index = index

    # -- import ------------------------------------------------------------------------------------------------------

    def imported(self) -> dict[str, str]:
        """External id → memory id of what was imported before."""
        return self._catalogue.sources(self.id)

    def import_atoms(self, atoms: Sequence[tuple[Experience, dict[str, Any]]]) -> None:
        """Record and index imported atoms, each with its source {file, id}, in one write."""
        now = self._clock.now()
        drafts = [
            Draft(kind="imported", body=_imported_body(atom, source), session=atom.session, at=now)
            for atom, source in atoms
        ]
        self._store.append_many(drafts)
        self.index.add([atom for atom, _ in atoms])
        self._times = _running_latest(self._catalogue.round_times(self.id))


def _imported_body(atom: Experience, source: dict[str, Any]) -> dict[str, Any]:
    return {
        "memory": atom.memory,
        "round": atom.round,
        "at": atom.at.isoformat() if atom.at else None,
        "message": atom.message,
        "reply": atom.reply,
        "user": atom.user,
        "character": atom.character,
        "source": source,
        "session": atom.session,
    }


def _running_latest(times: Sequence[tuple[int, datetime]]) -> list[tuple[int, datetime]]:
    """(round, latest time so far): sorted by time even where a clock jumped back, so that it can be searched."""
    latest: list[tuple[int, datetime]] = []
    for round, at in times:
        latest.append((round, max(at, latest[-1][1]) if latest else at))
    return latest
