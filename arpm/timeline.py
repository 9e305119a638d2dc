"""A timeline with its ledger: everything that is written to it, on top of what it has lived (arpm/lived.py).

An event is on the disk before it changes what is searched. Knows nothing about models or prompts.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from arpm.catalogue import Catalogue, SessionRow, TurnRow
from arpm.clock import Clock
from arpm.compression import Compression
from arpm.errors import BusyError, InputError, NotFoundError
from arpm.events import Draft, Event
from arpm.ids import new_id
from arpm.lived import Lived
from arpm.store import Store
from governance.amending import amendment
from governance.config import GovernanceConfig
from governance.instruction_rules import without_invisible
from governance.instructions import Instruction, Recognised, would_override
from retrieval.embedding.base import Embedder
from retrieval.memories import Experience

Cause = Literal["start", "cleared", "model_changed", "import"]


@dataclass(frozen=True, slots=True)
class NewTimeline:
    """What a timeline is opened with."""

    user: str
    character: str
    persona: str
    timezone: str


@dataclass(frozen=True, slots=True)
class Imported:
    """A round of another source, placed on a timeline: with its source {file, id} and what else that recorded.

    `doubt` is why it must not be recalled; None when it may.
    """

    memory: Experience
    source: dict[str, Any]
    published: dict[str, Any] | None = None
    doubt: str | None = None


class Timeline(Lived):
    """One user with one character, for life."""

    def __init__(self, folder: Path, catalogue: Catalogue, embedder: Embedder, clock: Clock) -> None:
        """Open an existing timeline. Raises DamagedLedgerError or NotFoundError."""
        self._store = Store(folder, folder.name, catalogue, clock, embedder)
        self._turn = threading.Lock()
        super().__init__(folder.name, catalogue, embedder, clock)

    @classmethod
    def create(cls, logs: Path, new: NewTimeline, catalogue: Catalogue, embedder: Embedder, clock: Clock) -> Timeline:
        """Open a new timeline with its first event."""
        id = new_id("t")
        store = Store(logs / id, id, catalogue, clock, embedder)
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
            self._store.append("timeline_renamed", {"title": title}, at=self.clock.now())

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

    def _record(self, drafts: Sequence[Draft]) -> list[Event]:
        """Write events and take them in."""
        events = self._store.append_many(drafts)
        self.absorb(events)
        return events

    # -- sessions ----------------------------------------------------------------------------------------------------

    def open_session(self, cause: Cause, model: str, config: GovernanceConfig, preset: str) -> SessionRow:
        """Begin a session: a new context window on the same timeline."""
        body = {"cause": cause, "model": model, "config": config.as_dict(), "preset": preset}
        self._store.append("session_opened", body, at=self.clock.now(), session=new_id("s"))
        return self.session()

    def configure(self, config: GovernanceConfig, preset: str) -> SessionRow:
        """Change the running session's governance config: an intervention, recorded."""
        session = self.session()
        changes = self.config().differences(config)
        if changes or preset != session.preset:
            body = {"changes": changes, "preset": preset}
            self._store.append("config_changed", body, at=self.clock.now(), session=session.id)
        return self.session()

    # -- turns -------------------------------------------------------------------------------------------------------

    def commit(
        self,
        kind: Literal["turn", "turn_failed"],
        body: dict[str, Any],
        at: datetime,
        compressions: Sequence[Compression] = (),
    ) -> Event:
        """Record a turn and index the memory that it became. When this returns, it is on the disk.

        What a model shortened for it comes before it, in the same write.
        """
        session = self.session().id
        drafts = [Draft("message_compressed", item.as_dict(), session, at) for item in compressions]
        return self._record([*drafts, Draft(kind, body, session, at)])[-1]

    def events(self) -> Iterator[Event]:
        """Every event of the ledger, oldest first."""
        return self._store.events()

    def record(self, turn: TurnRow) -> Event:
        """The whole record of a turn."""
        return next(iter(self._store.ledger.events(turn.seq)))

    # -- standing instructions ---------------------------------------------------------------------------------------

    def add_instruction(self, text: str) -> Instruction:
        """Add a standing instruction by hand. The same words are in force only once. Raises InputError."""
        text = _instructing(text)
        same = [item for item in self.active_instructions() if item.text == text]
        if not same:
            self._put_in_force(_added(text, self.info.rounds))
        return same[0] if same else self.active_instructions()[-1]

    def amend(self, asked: Recognised, round: int) -> None:
        """Do what a recognised sentence of a round's message asks: add, retire or replace, or nothing."""
        active = self.active_instructions()
        change = amendment(asked, active, round)
        recognised = {"rule": asked.rule, "probability": asked.probability, "reason": asked.reason}
        told = {"reason": asked.text, "by": "rule", "source_round": round, "recognised": recognised}
        bodies = [("instruction_retired", {"instruction": item.id} | told) for item in change.retired]
        staying = [item.text for item in active if item not in change.retired]
        if change.text is not None and change.text not in staying:
            replaced = change.retired[0].id if change.retired else None
            bodies.append(("instruction_added", _added(change.text, round, asked, replaced)))
        self._put_in_force(*(body for _, body in bodies), kinds=[kind for kind, _ in bodies])

    def _put_in_force(self, *bodies: dict[str, Any], kinds: Sequence[str] = ("instruction_added",)) -> None:
        """Record what changes the list of instructions, in one write. Nothing for none."""
        now = self.clock.now()
        drafts = [
            Draft(kind=kind, body=body, session=self.session().id, at=now)
            for kind, body in zip(kinds, bodies, strict=True)
        ]
        if drafts:
            self._store.append_many(drafts)

    def retire_instruction(
        self, id: str, reason: str, *, by: Literal["rule", "hand"], round: int | None = None
    ) -> None:
        """Retire an instruction: no later prompt shows it. Raises NotFoundError unless it is in force."""
        if id not in {item.id for item in self.active_instructions()}:
            raise NotFoundError(f"no instruction {id!r} is in force on this timeline")
        body = {"instruction": id, "reason": reason, "by": by, "source_round": round}
        self._store.append("instruction_retired", body, at=self.clock.now(), session=self.session().id)

    def replace_instruction(self, id: str, text: str) -> Instruction:
        """Retire an instruction and put other words in its place, in one write. Raises NotFoundError and InputError."""
        active = self.active_instructions()
        if id not in {item.id for item in active}:
            raise NotFoundError(f"no instruction {id!r} is in force on this timeline")
        if not text.strip():
            raise InputError("An instruction needs at least one word. To be rid of it, retire it.")
        text = _instructing(text)
        if any(item.text == text for item in active):
            raise InputError("These words are in force already.")
        added = _added(text, self.info.rounds, replaces=id)
        fresh = added["instruction"]
        retired = {"instruction": id, "reason": f"replaced by {fresh}", "by": "hand", "source_round": None}
        self._put_in_force(retired, added, kinds=("instruction_retired", "instruction_added"))
        return self.active_instructions()[-1]

    # -- quarantine --------------------------------------------------------------------------------------------------

    def quarantine(self, memories: Sequence[str], scope: dict[str, Any], reason: str, by: str = "hand") -> None:
        """Take active memories out of search; what they say stays in the ledger. Nothing for none."""
        if memories:
            body = {"memories": list(memories), "scope": scope, "reason": reason, "by": by}
            self._record([Draft(kind="memory_quarantined", body=body, session=None, at=self.clock.now())])

    def release(self, memories: Sequence[str], reason: str, by: str = "hand") -> None:
        """Bring memories in quarantine back into search, each in its place. Nothing for none."""
        if memories:
            body = {"memories": list(memories), "reason": reason, "by": by}
            self._record([Draft(kind="memory_released", body=body, session=None, at=self.clock.now())])

    # -- reviews -----------------------------------------------------------------------------------------------------

    def review(self, turn: TurnRow, body: dict[str, Any]) -> Event:
        """Record a person's review of a turn; it supersedes their earlier one, which stays as it was written."""
        with self._store.still():
            earlier = [row for row in self.catalogue.reviews_of_turn(turn.event) if row.reviewer == body["reviewer"]]
            linked = {"event": turn.event, **body, "supersedes": earlier[-1].event if earlier else None}
            return self._store.append("review", linked, at=self.clock.now(), session=turn.session)

    # -- erasure -----------------------------------------------------------------------------------------------------

    @contextmanager
    def still(self) -> Iterator[None]:
        """Hold the timeline as for a turn, and let nothing else be written either. Raises BusyError."""
        with self.exclusive(), self._store.still():
            yield

    def erase(self, body: dict[str, Any]) -> Event:
        """Erase what a receipt names from the ledger, the caches and the index: see `arpm.erasure`."""
        event = self._store.erase(body, at=self.clock.now())
        self.absorb([event])
        return event

    # -- import ------------------------------------------------------------------------------------------------------

    def imported(self) -> dict[str, str]:
        """External id → memory id of what was imported before."""
        return self.catalogue.sources(self.id)

    def erased_sources(self) -> set[str]:
        """Digests, as `arpm.ids.source_digest` makes them, of what was imported and erased."""
        return self.catalogue.erased_sources(self.id)

    def import_atoms(self, atoms: Sequence[Imported]) -> None:
        """Record and index imported atoms in one write; those in doubt go into quarantine with it."""
        now = self.clock.now()
        drafts = [
            Draft(kind="imported", body=_imported_body(atom), session=atom.memory.session, at=now) for atom in atoms
        ]
        for doubt in dict.fromkeys(atom.doubt for atom in atoms if atom.doubt):
            body = {
                "memories": [atom.memory.memory for atom in atoms if atom.doubt == doubt],
                "scope": {"by": "memories", "value": None},
                "reason": doubt,
                "by": "import",
            }
            drafts.append(Draft(kind="memory_quarantined", body=body, session=None, at=now))
        self._record(drafts)


# Longer ones would leave no room for any other in the prompt.
_LONGEST_INSTRUCTION = 2_000


def _instructing(text: str) -> str:
    """The words of an instruction as they are kept. Raises InputError for what is none."""
    text = without_invisible(text).strip()
    if not text:
        raise InputError("An instruction needs at least one word.")
    if len(text) > _LONGEST_INSTRUCTION:
        raise InputError(
            f"An instruction has at most {_LONGEST_INSTRUCTION:,} characters, this one {len(text):,}. "
            "Longer texts can be added as documents."
        )
    if rule := would_override(text):
        raise InputError(
            f"This would switch the service's own rules off or have its prompt told ({rule}), which no instruction "
            "can. Say what replies should be like instead."
        )
    return text


def _added(text: str, round: int, asked: Recognised | None = None, replaces: str | None = None) -> dict[str, Any]:
    return {
        "instruction": new_id("i"),
        "text": text,
        "kind": "rule" if asked else "hand",
        "source_round": round,
        "rule": asked.rule if asked else None,
        "probability": asked.probability if asked else None,
        "reason": asked.reason if asked else None,
        "replaces": replaces,
    }


def _imported_body(imported: Imported) -> dict[str, Any]:
    atom = imported.memory
    body = {
        "memory": atom.memory,
        "round": atom.round,
        "at": atom.at.isoformat() if atom.at else None,
        "message": atom.message,
        "reply": atom.reply,
        "user": atom.user,
        "character": atom.character,
        "source": imported.source,
        "session": atom.session,
    }
    return body if imported.published is None else {**body, "published": imported.published}
