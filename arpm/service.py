"""The service: one logs folder, its timelines, its knowledge base, its embedder and its models. One way in for the
web side, the command line and tests.

Only one process may hold a logs folder: the ledger writer and the indexes are single-process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from arpm.catalogue import Catalogue, DocumentRow, SessionRow, TimelineRow, TurnRow
from arpm.clock import Clock, SystemClock
from arpm.documents import read_document
from arpm.errors import ArpmError, InputError, NotFoundError
from arpm.events import Event
from arpm.generation.base import Backend
from arpm.generation.registry import Models
from arpm.ids import is_id
from arpm.ledger import FolderLock
from arpm.library import KNOWLEDGE, Library
from arpm.recall import Recalled, recall
from arpm.settings import Settings
from arpm.stages import Stopwatch
from arpm.store import Store
from arpm.timeline import NewTimeline, Timeline
from arpm.turn import Tools, Watch, checked_message, take_turn
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
        self.clock: Clock = clock or SystemClock()
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
        except BaseException:
            self._lock.release()
            raise
        self._timelines: dict[str, Timeline] = {}
        self._opening = threading.Lock()

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
                self._timelines[id] = Timeline(self.logs / id, self.catalogue, self.embedder, self.clock)
            return self._timelines[id]

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
            base = _preset(preset_name) if preset_name else timeline.config()
            try:
                config = base.changed(changes)
            except ConfigError as error:
                raise InputError(str(error)) from None
            return timeline.configure(config, preset_name or timeline.session().preset)

    # -- turns -------------------------------------------------------------------------------------------------------

    def turn(self, id: str, message: str, watch: Watch | None = None) -> Event:
        """Answer a message: see `arpm.turn.take_turn`."""
        timeline = self.timeline(id)
        return take_turn(timeline, message, self._tools(timeline.session().model), watch or Watch())

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
        return Tools(self.library, self.embedder, self.models.get(model), self.models.sampling(model))

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
                Store(folder, folder.name, self.catalogue, self.clock).close()
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
