"""The service: one logs folder, its timelines, its knowledge base, its embedder and its models. One way in for the
web side, the command line and tests.

Only one process may hold a logs folder: the ledger writer and the indexes are single-process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from arpm.catalogue import Catalogue, DocumentRow, MemoryRow, SessionRow, TimelineRow, TurnRow
from arpm.clock import Clock, SwitchedClock, SystemClock
from arpm.compression import Compression
from arpm.documents import read_document
from arpm.errors import ArpmError, InputError, NotFoundError
from arpm.events import Event
from arpm.generation.base import Backend
from arpm.generation.registry import Models
from arpm.ids import is_id
from arpm.ledger import FolderLock
from arpm.library import KNOWLEDGE, Library
from arpm.quarantine import Scope, chosen, reached
from arpm.recall import Recalled, recall
from arpm.settings import Settings
from arpm.stages import Stopwatch
from arpm.store import Store
from arpm.timeline import NewTimeline, Timeline
from arpm.turn import Asked, Tools, Watch, checked_message, compose, take_turn
from arpm.unfinished import NAME as ERASING
from arpm.unfinished import finish
from governance.config import ConfigError, GovernanceConfig, preset
from governance.decay import Moment
from retrieval.embedding import load_embedder
from retrieval.embedding.base import Embedder
from retrieval.embedding.cache import CachedEmbedder
from retrieval.text import usable

NAME_LIMIT = 200
PERSONA_LIMIT = 20_000
CACHE = "cache"


@dataclass(frozen=True, slots=True)
class Damage:
    """A ledger that could not be opened, and what was found."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Column:
    """A config and a model to try a message under; what is not given is as in the running session."""

    preset: str | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a turn would have been: the kind and body of an event that was not written.

    `compressions` are what a model shortened for it and no ledger holds.
    """

    preset: str
    model: str
    config: GovernanceConfig
    kind: Literal["turn", "turn_failed"]
    body: dict[str, Any]
    at: datetime
    compressions: tuple[Compression, ...] = ()


class Service:
    """An open logs folder. Close it to let another process have it."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock | None = None,
        embedder: Embedder | None = None,
        backends: Iterable[Backend] = (),
    ) -> None:
        """Take the folder's lock, read the ledgers and build the indexes. `backends` are models beside the settings'.

        Raises BusyError when another process holds the folder and DamagedLedgerError when the knowledge ledger is
        damaged; damaged timelines are listed in `damaged` and the others go on.
        """
        self.settings = settings
        self.clock = SwitchedClock(clock or SystemClock())
        self.logs = settings.logs
        self.logs.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(self.logs, now=self.clock.now)
        self._lock.acquire()
        try:
            cache = self.logs / CACHE
            self.catalogue = Catalogue(cache / "catalogue.sqlite")
            self.embedder = embedder or CachedEmbedder(
                load_embedder(settings.embedder, cache), cache / "embeddings.sqlite"
            )
            self.models = Models(settings, backends)
            self.library = Library(self.logs, self.catalogue, self.embedder, self.clock)
            self.damaged = self._read_ledgers()
            self._timelines: dict[str, Timeline] = {}
            self._opening = threading.Lock()
            self._finish_what_was_begun()
        except BaseException:
            self._lock.release()
            raise

    def close(self) -> None:
        """Release the folder. Nothing is lost by not calling this."""
        for timeline in self._timelines.values():
            timeline.close()
        self.library.close()
        self.catalogue.close()
        self._lock.release()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- timelines ---------------------------------------------------------------------------------------------------

    def timelines(self) -> list[TimelineRow]:
        """Every timeline, newest first."""
        return self.catalogue.timelines()

    def timeline(self, id: str) -> Timeline:
        """An open timeline. Raises NotFoundError, or DamagedLedgerError naming the event."""
        with self._opening:
            if id in self._timelines and self._timelines[id].behind:
                self._timelines.pop(id).close()
            if id not in self._timelines:
                if not is_id(id, "t") or not (self.logs / id / "ledger.jsonl").exists():
                    raise NotFoundError(f"there is no timeline {id!r}; `arpm timelines` lists those there are")
                self._timelines[id] = self._opened(id)
            return self._timelines[id]

    def _opened(self, id: str) -> Timeline:
        timeline = Timeline(self.logs / id, self.catalogue, self.embedder, self.clock)
        try:
            # The ledger of a timeline that was erased as a whole holds receipts and nothing else.
            self.catalogue.timeline(id)
        except NotFoundError:
            timeline.close()
            raise
        return timeline

    def open_timelines(self) -> list[Timeline]:
        """The timelines that are open, which are those that can be answering."""
        with self._opening:
            return list(self._timelines.values())

    def leave(self, id: str) -> None:
        """Close a timeline that was erased."""
        with self._opening:
            if id in self._timelines:
                self._timelines.pop(id).close()

    def create_timeline(
        self,
        user: str,
        character: str,
        persona: str = "",
        *,
        timezone: str | None = None,
        model: str | None = None,
        preset_name: str = "default",
    ) -> Timeline:
        """Begin a timeline and its first session. Raises InputError naming what is wrong."""
        new = NewTimeline(
            user=_named("user name", user, NAME_LIMIT),
            character=_named("character name", character, NAME_LIMIT),
            persona=_limited("persona", usable(persona).strip(), PERSONA_LIMIT),
            timezone=_zone(timezone or self.settings.timezone),
        )
        name = model or self.models.default
        self.models.get(name)
        config = _preset(preset_name)
        timeline = Timeline.create(self.logs, new, self.catalogue, self.embedder, self.clock)
        with self._opening:
            self._timelines[timeline.id] = timeline
        timeline.open_session("start", name, config, preset_name)
        return timeline

    def clear_context(self, id: str) -> SessionRow:
        """Begin a new session with an empty context window; memory goes on."""
        timeline = self.timeline(id)
        with timeline.exclusive():
            session = timeline.session()
            return timeline.open_session("cleared", session.model, timeline.config(), session.preset)

    def switch_model(self, id: str, model: str) -> SessionRow:
        """Go on with another model, in a new session. NotFoundError names the models there are."""
        self.models.get(model)
        timeline = self.timeline(id)
        with timeline.exclusive():
            session = timeline.session()
            if session.model == model:
                return session
            return timeline.open_session("model_changed", model, timeline.config(), session.preset)

    def intervene(self, id: str, changes: Mapping[str, Any], preset_name: str | None = None) -> SessionRow:
        """Change the running session's governance config, from a preset or from what holds now."""
        timeline = self.timeline(id)
        with timeline.exclusive():
            config = self._proposed(timeline, Column(preset_name, changes))
            return timeline.configure(config, preset_name or timeline.session().preset)

    def check(self, id: str, column: Column) -> None:
        """Raise InputError or NotFoundError when a column names what there is not, or a value out of range."""
        self._proposed(self.timeline(id), column)
        if column.model is not None:
            self.models.get(column.model)

    def _proposed(self, timeline: Timeline, column: Column) -> GovernanceConfig:
        base = _preset(column.preset) if column.preset else timeline.config()
        try:
            return base.changed(column.changes)
        except ConfigError as error:
            raise InputError(str(error)) from None

    def rename(self, id: str, title: str) -> TimelineRow:
        """Call a timeline something else; an empty title takes it away."""
        timeline = self.timeline(id)
        timeline.rename(_limited("title", " ".join(usable(title).split()), NAME_LIMIT))
        return timeline.info

    # -- turns -------------------------------------------------------------------------------------------------------

    def turn(
        self,
        id: str,
        message: str,
        watch: Watch | None = None,
        *,
        replaces: str | None = None,
        key: str | None = None,
    ) -> Event:
        """Answer a message, or with `replaces` the newest round again: see `arpm.turn.take_turn`."""
        timeline = self.timeline(id)
        tools = self._tools(timeline.session().model)
        return take_turn(timeline, Asked(message, replaces, key), tools, watch or Watch())

    def rehearse(self, id: str, message: str, column: Column, watch: Watch | None = None) -> Rehearsal:
        """Answer a message under another config or model, leaving no trace in memory, ledger or rounds.

        A failed or stopped rehearsal comes back as one of kind "turn_failed".
        """
        timeline = self.timeline(id)
        config = self._proposed(timeline, column)
        model = column.model or timeline.session().model
        watch = watch or Watch()
        timer = Stopwatch(watch.stage)
        name = column.preset or timeline.session().preset
        tools = self._tools(model)
        composed = compose(timeline, Asked(checked_message(message)), config, name, tools, watch, timer)
        return Rehearsal(name, model, config, composed.kind, composed.body, composed.at, composed.compressions)

    def look(
        self,
        id: str,
        query: str,
        *,
        at: datetime | None = None,
        round: int | None = None,
        config: GovernanceConfig | None = None,
    ) -> Recalled:
        """What a message would bring back, at a given time, round and config, without a turn."""
        timeline = self.timeline(id)
        now = timeline.moment(at)
        moment = Moment(now.round if round is None else round, now.at)
        return recall(
            checked_message(query),
            timeline,
            self.library,
            self.embedder,
            config or timeline.config(),
            moment,
            count=self.models.get(timeline.session().model).count_tokens,
            timer=Stopwatch(),
        )

    def record(self, reference: str) -> Event:
        """The record of a turn named by its event id or as TIMELINE:ROUND. Raises NotFoundError."""
        row = self._turn_row(reference)
        return self.timeline(row.timeline).record(row)

    def _turn_row(self, reference: str) -> TurnRow:
        row = self.catalogue.turn(reference)
        timeline, colon, round = reference.rpartition(":")
        if row is None and colon and round.isdecimal() and len(round) < 16:
            row = self.catalogue.turn_of_round(timeline, int(round))
        if row is None:
            raise NotFoundError(f"there is no turn {reference!r}; name it by its event id or as TIMELINE:ROUND")
        return row

    def _tools(self, model: str) -> Tools:
        return Tools(self.library, self.embedder, self.models.get(model), self.models.sampling(model), self.clock)

    # -- quarantine --------------------------------------------------------------------------------------------------

    def quarantine(self, id: str, scope: Scope, reason: str, *, dry_run: bool = False) -> list[MemoryRow]:
        """Take memories out of search and return them; with `dry_run` only say which. Waits for no turn: BusyError."""
        timeline = self.timeline(id)
        with timeline.exclusive():
            rows = reached(self.catalogue, id, scope)
            if not dry_run:
                timeline.quarantine([row.memory.memory for row in rows], scope.as_dict(), reason)
        return rows

    def release(self, id: str, memories: Sequence[str], reason: str) -> list[MemoryRow]:
        """Bring memories in quarantine back into search and return them."""
        timeline = self.timeline(id)
        with timeline.exclusive():
            rows = chosen(self.catalogue, id, memories, "quarantined")
            timeline.release([row.memory.memory for row in rows], reason)
        return rows

    # -- erasures ----------------------------------------------------------------------------------------------------

    def finish_erasing(self) -> None:
        """Go on with an erasure of several ledgers that was interrupted, if there is one.

        Raises UnfinishedErasureError and the errors of an erasure.
        """
        finish(self.logs, self._erase)

    def _erase(self, ledger: str, receipt: dict[str, Any]) -> None:
        if ledger == KNOWLEDGE:
            with self.library.still():
                self.library.erase(receipt)
        else:
            timeline = self.timeline(ledger)
            with timeline.still():
                timeline.erase(receipt)

    def _finish_what_was_begun(self) -> None:
        """The same at the start, where what cannot be finished is told beside what is damaged."""
        try:
            self.finish_erasing()
        except (ArpmError, OSError) as error:
            self.damaged.append(Damage(ERASING, str(error)))

    # -- documents ---------------------------------------------------------------------------------------------------

    def ingest(self, name: str, data: bytes) -> DocumentRow:
        """Add a text or Markdown document. Raises InputError saying what is wrong with it."""
        return self.library.add(read_document(name, data, self.settings.upload_limit))

    # -- the caches --------------------------------------------------------------------------------------------------

    def rebuild(self, progress: Callable[[str], None] = lambda name: None) -> list[Damage]:
        """Drop the catalogue and build it and every index anew from the ledgers; embeddings are kept.

        Returns the ledgers that could not be read.
        """
        with self._opening:
            for timeline in self._timelines.values():
                timeline.close()
            self._timelines.clear()
            self.library.close()
            self.catalogue.clear()
            progress(KNOWLEDGE)
            self.library = Library(self.logs, self.catalogue, self.embedder, self.clock)
            self.damaged = self._read_ledgers(progress)
        return self.damaged

    def _read_ledgers(self, progress: Callable[[str], None] = lambda name: None) -> list[Damage]:
        """Bring the catalogue up to date with every timeline's ledger."""
        damaged = []
        for folder in sorted(path for path in self.logs.iterdir() if is_id(path.name, "t")):
            progress(folder.name)
            try:
                Store(folder, folder.name, self.catalogue, self.clock, self.embedder).close()
            except ArpmError as error:
                damaged.append(Damage(folder.name, str(error)))
        return damaged


def _named(what: str, text: str, limit: int) -> str:
    text = " ".join(usable(text).split())
    if not text:
        raise InputError(f"The {what} is empty.")
    return _limited(what, text, limit)


def _limited(what: str, text: str, limit: int) -> str:
    if len(text) > limit:
        raise InputError(f"The {what} has {len(text):,} characters; the limit is {limit:,}.")
    return text


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise InputError(f"{name!r} is no timezone; use a name such as Europe/Berlin or Asia/Shanghai.") from None
    return name


def _preset(name: str) -> GovernanceConfig:
    try:
        return preset(name)
    except ConfigError as error:
        raise InputError(str(error)) from None
