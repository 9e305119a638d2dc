"""The catalogue: what the ledgers say, as tables (SQLite), so that nothing has to be read twice.

A cache and nothing more: `apply` folds one ledger event into the tables together with the ledger's tip, in one
transaction, and dropping the file loses nothing. Knows nothing about indexes, vectors or files of the ledger.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from arpm.errors import ArpmError, NotFoundError
from arpm.events import Event
from arpm.ledger import Checkpoint
from governance.instructions import Instruction
from retrieval.chunking import Parent, missing_headings, split_document, under_headings
from retrieval.memories import Experience, KnowledgeChunk

# Raised whenever the tables or the fold change; a catalogue of another version is built anew.
VERSION = 8

# The ledger of the knowledge base; every other one is a timeline's.
KNOWLEDGE = "knowledge"

_TABLES = """
create table ledgers (name text primary key, seq integer, hash text, size integer);
create table timelines (
  id text primary key, user text, character text, persona text, timezone text, at text, title text);
create table sessions (
  id text primary key, timeline text, cause text, model text, preset text, config text, at text, number integer);
create table turns (
  event text primary key, timeline text, seq integer, kind text, round integer, session text, at text,
  message text, response text, model text, replaces text, replaced_by text, request_key text);
create index turns_by_round on turns (timeline, kind, round);
create index turns_by_session on turns (session, kind, seq);
create index turns_by_timeline on turns (timeline, seq);
create index turns_by_key on turns (timeline, request_key);
create table memories (
  id text primary key, timeline text, seq integer, session text, round integer, at text, user text, character text,
  message text, reply text, source text, model text, turn text, state text);
create index memories_by_timeline on memories (timeline, seq);
create index memories_by_round on memories (timeline, round);
create table shown (
  memory text, timeline text, turn text, seq integer, round integer, at text, label text, cited integer, bound integer);
create index shown_by_memory on shown (memory, seq);
create index shown_by_turn on shown (turn);
create table quarantines (
  memory text, timeline text, seq integer, at text, reason text, by text, released_at text, released_reason text);
create index quarantines_by_memory on quarantines (memory, seq);
create table reviews (event text primary key, timeline text, seq integer, at text, turn text, reviewer text, body text);
create index reviews_by_timeline on reviews (timeline, seq);
create index reviews_by_turn on reviews (turn, seq);
create table compressions (event text primary key, timeline text, seq integer, key text, body text);
create index compressions_by_key on compressions (timeline, key);
create table erasures (event text primary key, ledger text, seq integer, at text, rounds integer);
create table erased (id text primary key, ledger text, event text);
create table erased_sources (ledger text, digest text, primary key (ledger, digest));
create table scrubbing (ledger text primary key);
create table instructions (
  id text primary key, timeline text, seq integer, text text, round integer, kind text, rule text, at text,
  probability real, reason text, replaces text, retired_at text, retired_reason text);
create table documents (
  id text primary key, seq integer, name text, media_type text, characters integer, digest text, at text,
  removed_at text);
create table chunks (
  id text primary key, document text, ordinal integer, headings text, above text, text text, children text);
create index chunks_by_document on chunks (document, ordinal);
"""


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A timeline: one user with one character, for life. `rounds` counts its turns and imported rounds."""

    id: str
    user: str
    character: str
    persona: str
    timezone: str
    at: datetime
    title: str
    rounds: int


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session of a timeline and the governance config that holds in it now."""

    id: str
    timeline: str
    cause: str
    model: str
    preset: str
    config: dict[str, Any]
    at: datetime
    number: int


@dataclass(frozen=True, slots=True)
class TurnRow:
    """Where a turn stands in its ledger, and what was said; the whole record is in the ledger.

    `replaces` and `replaced_by` are the turns of the same round before and after it: a reply that was asked for again.
    """

    event: str
    timeline: str
    seq: int
    kind: str
    round: int
    session: str
    at: datetime
    message: str
    response: str
    model: str
    replaces: str | None
    replaced_by: str | None
    request_key: str | None

    @property
    def erased(self) -> bool:
        """Whether its words were erased: there is no turn without a message."""
        return not self.message


Body = dict[str, Any]
MemoryState = Literal["active", "quarantined", "replaced"]


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """An experience with what became of it. `turn` is the event it came from, None when it was imported."""

    memory: Experience
    seq: int
    state: MemoryState
    model: str | None
    turn: str | None
    source: str | None
    uses: int


@dataclass(frozen=True, slots=True)
class UseRow:
    """A turn whose prompt showed a memory as evidence, and what the answer made of it."""

    turn: str
    timeline: str
    seq: int
    round: int
    at: datetime
    label: str
    cited: bool
    bound: bool
    message: str


@dataclass(frozen=True, slots=True)
class QuarantineRow:
    """A time a memory was kept out of search; `released_at` is None while it lasts."""

    at: datetime
    reason: str
    by: str
    released_at: datetime | None
    released_reason: str | None


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """A person's review of a turn (arpm.audit.review says what the verdicts mean). `event` is its own event.

    `supersedes` is the same person's review of the same turn before it. `automatic` holds `support`, `answer` and
    `correct` of an automatic judgement.
    """

    event: str
    timeline: str
    seq: int
    at: datetime
    turn: str
    reviewer: str
    support: Literal["yes", "no", "unsure"]
    correct: Literal["yes", "no", "unsure"]
    quote: str | None
    memory: str | None
    reason: str
    pending: bool
    automatic: dict[str, Any] | None
    supersedes: str | None


@dataclass(frozen=True, slots=True)
class ErasureRow:
    """A receipt: the event that says that something was erased, and when."""

    event: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Found:
    """A timeline that holds some words, and the newest turn they were said in, if they were said in one."""

    timeline: TimelineRow
    round: int | None
    text: str | None


@dataclass(frozen=True, slots=True)
class InstructionRow:
    """A standing instruction, active or retired, and where it came from.

    `probability` and `reason` are the recogniser's, None for one added by hand; `rule` is None where its classifier
    decided. `replaces` is the id of the instruction in whose place it was put.
    """

    id: str
    text: str
    round: int
    kind: str
    rule: str | None
    at: datetime
    probability: float | None
    reason: str | None
    replaces: str | None
    retired_at: datetime | None
    retired_reason: str | None


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document of the knowledge base; `removed_at` is set once it is out of the indexes."""

    id: str
    name: str
    media_type: str
    characters: int
    digest: str
    at: datetime
    removed_at: datetime | None


class CatalogueError(ArpmError):
    """The catalogue could not take in what the ledger holds already (a full disk). Nothing is lost."""


class Catalogue:
    """Tables of one logs folder. Safe to use from several threads."""

    def __init__(self, path: Path | None) -> None:
        """Open the tables in the file `path`; with None in memory, for as long as this object lives."""
        self._lock = threading.RLock()
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path or Path(":memory:")
        self._db = self._opened()

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def clear(self) -> None:
        """Drop every row: the next `apply` of each ledger builds them anew."""
        with self._lock:
            self._db.close()
            _delete(self._path)
            self._db = self._opened()

    def _opened(self) -> sqlite3.Connection:
        """The database, made anew when it is of another version or damaged: it is only a cache."""
        db = _connect(self._path)
        try:
            version = db.execute("pragma user_version").fetchone()[0]
            if version == VERSION:
                _scrub(db)
                return db
        except sqlite3.DatabaseError:
            pass
        db.close()
        _delete(self._path)
        db = _connect(self._path)
        db.executescript(f"begin; {_TABLES} pragma user_version = {VERSION}; commit;")
        return db

    # -- folding ledgers in ------------------------------------------------------------------------------------------

    def checkpoint(self, ledger: str) -> Checkpoint | None:
        """How far `ledger` has been folded in; None when nothing of it has."""
        row = self._one("select seq, hash, size from ledgers where name = ?", ledger)
        return Checkpoint(row["seq"], row["hash"], row["size"]) if row else None

    def forget(self, ledger: str) -> None:
        """Drop everything that came from `ledger`, to fold it in again from its first event."""
        with self._transaction() as db:
            _forget(db, ledger)

    def apply(self, events: Iterable[Event], ledger: str, end: Callable[[Event], int]) -> None:
        """Fold events of one ledger in, with its new tip, in one transaction. `end` gives an event's end in bytes."""
        with self._transaction() as db:
            _apply(db, events, ledger, end)

    def apply_anew(self, events: Iterable[Event], ledger: str, end: Callable[[Event], int]) -> None:
        """Fold a ledger in from its first event, in the place of what was there, and leave no byte of that.

        For an erasure. What an interruption leaves undone of the second part is done when the file is next opened.
        """
        with self._transaction() as db:
            _forget(db, ledger)
            _apply(db, events, ledger, end)
            db.execute("insert or ignore into scrubbing values (?)", (ledger,))
        with self._lock:
            try:
                _scrub(self._db)
            except sqlite3.OperationalError as error:
                raise CatalogueError(
                    f"What was to be erased is gone from the ledger, but {self._path} still holds bytes of it: "
                    f"{error}. Free some space and restart: that finishes the erasure"
                ) from error

    def place_erased_turn(self, turn: Body) -> None:
        """Take from a receipt further on which round a turn without words was, as a replay needs to know at once."""
        with self._transaction() as db:
            _place_erased_turn(db, turn)

    # -- reading -----------------------------------------------------------------------------------------------------

    def timelines(self) -> list[TimelineRow]:
        """Every timeline, newest first."""
        return [self._timeline(row) for row in self._all(f"{_TIMELINES} order by t.at desc, t.id")]

    def timeline(self, id: str) -> TimelineRow:
        """One timeline. Raises NotFoundError."""
        row = self._one(f"{_TIMELINES} where t.id = ?", id)
        if row is None:
            raise NotFoundError(f"there is no timeline {id!r}; `arpm timelines` lists those there are")
        return self._timeline(row)

    def sessions(self, timeline: str) -> list[SessionRow]:
        """The sessions of a timeline, oldest first; the last one is running."""
        rows = self._all("select * from sessions where timeline = ? order by number", timeline)
        return [
            SessionRow(**{**dict(row), "config": json.loads(row["config"]), "at": _time(row["at"])}) for row in rows
        ]

    def found(self, words: str) -> list[Found]:
        """The timelines that hold `words` in a title, a name or what was said, newest first."""
        like = _like(words)
        found = []
        for row in self.timelines():
            said = self._one(
                "select round, message, response, message like ? escape '\\' as asked from turns where timeline = ?"
                " and replaced_by is null and (message like ? escape '\\' or response like ? escape '\\')"
                " order by seq desc limit 1",
                like,
                row.id,
                like,
                like,
            )
            if said is not None:
                found.append(Found(row, said["round"], said["message"] if said["asked"] else said["response"]))
            elif any(words.casefold() in name.casefold() for name in (row.title, row.user, row.character)):
                found.append(Found(row, None, None))
        return found

    def turns(self, timeline: str, last: int | None = None, before: int | None = None) -> list[TurnRow]:
        """Turns and failed turns of a timeline in ledger order, without replies that were replaced.

        With `last` only so many, the newest; with `before` only those before that place in the ledger.
        """
        rows = self._all(
            "select * from turns where timeline = ? and replaced_by is null and seq < ? order by seq desc limit ?",
            timeline,
            2**62 if before is None else before,
            -1 if last is None else last,
        )
        return [_turn(row) for row in reversed(rows)]

    def turns_of_round(self, timeline: str, round: int) -> list[TurnRow]:
        """Every reply and every failed attempt of a round, in ledger order; the last reply is the one that holds."""
        rows = self._all("select * from turns where timeline = ? and round = ? order by seq", timeline, round)
        return [_turn(row) for row in rows]

    def branches(self, event: str) -> int:
        """How many earlier replies a turn took the place of."""
        row = self._one(
            "with recursive earlier(event) as (select replaces from turns where event = ? union"
            " select t.replaces from turns t join earlier e on t.event = e.event)"
            " select count(event) as count from earlier",
            event,
        )
        return int(row["count"]) if row else 0

    def turn_of_key(self, timeline: str, key: str) -> TurnRow | None:
        """The turn that was sent under a key."""
        row = self._one(
            "select * from turns where timeline = ? and request_key = ? order by seq desc limit 1", timeline, key
        )
        return _turn(row) if row else None

    def turn(self, event: str) -> TurnRow | None:
        """A turn by its event id."""
        row = self._one("select * from turns where event = ?", event)
        return _turn(row) if row else None

    def turn_of_round(self, timeline: str, round: int) -> TurnRow | None:
        """The committed turn of a round, else the last failed one."""
        row = self._one(
            "select * from turns where timeline = ? and round = ? order by kind = 'turn' desc, seq desc limit 1",
            timeline,
            round,
        )
        return _turn(row) if row else None

    def window(self, session: str, rounds: int, before: int | None = None) -> list[TurnRow]:
        """The last `rounds` committed turns of a session, oldest first; only rounds below `before` if given."""
        rows = self._all(
            "select * from turns where session = ? and kind = 'turn' and replaced_by is null and round < ?"
            " and message != '' order by seq desc limit ?",
            session,
            2**62 if before is None else before,
            rounds,
        )
        return [_turn(row) for row in reversed(rows)]

    def session_rounds(self, session: str, before: int | None = None) -> int:
        """How many rounds a session has; only those below `before` if given."""
        row = self._one(
            "select count(distinct round) as rounds from turns where session = ? and kind = 'turn' and round < ?",
            session,
            2**62 if before is None else before,
        )
        return int(row["rounds"]) if row else 0

    def round_times(self, timeline: str) -> list[tuple[int, datetime]]:
        """(round, time) of every turn and every dated memory of a timeline, by round."""
        rows = self._all(
            "select round, at from turns where timeline = ? and kind = 'turn' and replaced_by is null"
            " union select round, at from memories where timeline = ? and at is not null order by round, at",
            timeline,
            timeline,
        )
        return [(row["round"], datetime.fromisoformat(row["at"])) for row in rows]

    def experiences(self, timeline: str) -> list[Experience]:
        """The active memories of a timeline in the order they were lived."""
        return [
            _experience(row)
            for row in self._all(
                "select * from memories where timeline = ? and state = 'active' order by seq", timeline
            )
        ]

    def memory_rows(
        self,
        timeline: str,
        *,
        state: MemoryState | None = None,
        session: str | None = None,
        model: str | None = None,
        rounds: tuple[int, int] | None = None,
        before: int | None = None,
        last: int | None = None,
    ) -> list[MemoryRow]:
        """The experiences of a timeline, newest first, by state, session, model and a closed range of rounds.

        `before` and `last` make a page of them.
        """
        chosen, values = _memories_where(timeline, state, session, model, rounds)
        rows = self._all(
            f"select m.*, (select count(*) from shown s where s.memory = m.id) as uses from memories m where {chosen}"
            " and m.seq < ? order by m.seq desc limit ?",
            *values,
            2**62 if before is None else before,
            -1 if last is None else last,
        )
        return [_memory(row) for row in rows]

    def count_memories(
        self,
        timeline: str,
        *,
        state: MemoryState | None = None,
        session: str | None = None,
        model: str | None = None,
    ) -> int:
        """How many experiences a timeline has, by state, session and model."""
        chosen, values = _memories_where(timeline, state, session, model, None)
        row = self._one(f"select count(*) as count from memories m where {chosen}", *values)
        return int(row["count"]) if row else 0

    def memory_sessions(self, timeline: str) -> list[tuple[str, int]]:
        """The sessions that experiences of a timeline come from, newest first, with how many each."""
        rows = self._all(
            "select session, count(*) as count from memories where timeline = ?"
            " group by session order by max(seq) desc",
            timeline,
        )
        return [(row["session"], row["count"]) for row in rows]

    def memory_models(self, timeline: str) -> list[tuple[str, int]]:
        """The models that said experiences of a timeline, newest first, with how many each."""
        rows = self._all(
            "select model, count(*) as count from memories where timeline = ? and model is not null"
            " group by model order by max(seq) desc",
            timeline,
        )
        return [(row["model"], row["count"]) for row in rows]

    def memory_row(self, id: str) -> tuple[str, MemoryRow] | None:
        """The timeline of an experience, and what became of it."""
        row = self._one(
            "select m.*, (select count(*) from shown s where s.memory = m.id) as uses from memories m where m.id = ?",
            id,
        )
        return (row["timeline"], _memory(row)) if row else None

    def uses(self, memory: str, last: int | None = None) -> list[UseRow]:
        """The turns whose prompt showed a memory of either kind, newest first."""
        rows = self._all(
            "select s.*, t.message from shown s join turns t on t.event = s.turn where s.memory = ?"
            " order by s.at desc, s.seq desc limit ?",
            memory,
            -1 if last is None else last,
        )
        return [_use(row) for row in rows]

    def count_uses(self, memories: Sequence[str]) -> dict[str, int]:
        """How many prompts showed each of some memories."""
        marks = ", ".join("?" * len(memories))
        rows = self._all(
            f"select memory, count(*) as count from shown where memory in ({marks}) group by memory", *memories
        )
        return {row["memory"]: row["count"] for row in rows}

    def quarantines(self, memory: str) -> list[QuarantineRow]:
        """When a memory was in quarantine, oldest first."""
        rows = self._all("select * from quarantines where memory = ? order by seq", memory)
        return [
            QuarantineRow(
                _time(row["at"]),
                row["reason"],
                row["by"],
                _time(row["released_at"]) if row["released_at"] else None,
                row["released_reason"],
            )
            for row in rows
        ]

    def memory(self, id: str) -> Experience | KnowledgeChunk | None:
        """A memory of either kind by its id, also one that is no longer searched (for replay)."""
        row = self._one("select * from memories where id = ?", id)
        if row is not None:
            return _experience(row)
        row = self._one(f"{_CHUNKS} where c.id = ?", id)
        return _chunk(row) if row is not None else None

    def memory_of_round(self, timeline: str, round: int) -> str | None:
        """The id of the memory that a round of a timeline became, if any."""
        row = self._one(
            "select id from memories where timeline = ? and round = ? and source is null and state != 'replaced'",
            timeline,
            round,
        )
        return str(row["id"]) if row else None

    def memory_of_turn(self, event: str) -> str | None:
        """The id of the memory that a turn became, if any."""
        row = self._one("select id from memories where turn = ?", event)
        return str(row["id"]) if row else None

    def sources(self, timeline: str) -> dict[str, str]:
        """External id → memory id of what was imported into a timeline, so that an import can be resumed."""
        rows = self._all(
            "select id, source from memories where timeline = ? and source is not null order by seq", timeline
        )
        return {row["source"]: row["id"] for row in rows}

    def instructions(self, timeline: str) -> list[InstructionRow]:
        """Every instruction of a timeline, in the order given, retired ones too."""
        rows = self._all("select * from instructions where timeline = ? order by seq", timeline)
        return [
            InstructionRow(
                row["id"],
                row["text"],
                row["round"],
                row["kind"],
                row["rule"],
                _time(row["at"]),
                row["probability"],
                row["reason"],
                row["replaces"],
                _time(row["retired_at"]) if row["retired_at"] else None,
                row["retired_reason"],
            )
            for row in rows
        ]

    def active_instructions(self, timeline: str) -> list[Instruction]:
        """The instructions that are in force, in the order given."""
        return [Instruction(i.id, i.text, i.round) for i in self.instructions(timeline) if i.retired_at is None]

    def instruction_texts(self, ids: Sequence[str]) -> list[str]:
        """The words of instructions by id, in that order; NotFoundError names one that is not there."""
        texts = []
        for id in ids:
            row = self._one("select text from instructions where id = ?", id)
            if row is None:
                raise NotFoundError(f"there is no instruction {id!r}")
            texts.append(str(row["text"]))
        return texts

    # -- reviews -----------------------------------------------------------------------------------------------------

    def compression(self, timeline: str, key: str) -> Body | None:
        """The body of the last event that keeps a compression under `key`."""
        row = self._one(
            "select body from compressions where timeline = ? and key = ? order by seq desc limit 1", timeline, key
        )
        return dict(json.loads(row["body"])) if row else None

    def reviews(self, timeline: str) -> list[ReviewRow]:
        """Every review on a timeline in the order they were written, superseded ones too."""
        return [_review(row) for row in self._all("select * from reviews where timeline = ? order by seq", timeline)]

    def reviews_of_turn(self, turn: str) -> list[ReviewRow]:
        """Every review of a turn in the order they were written, superseded ones too."""
        return [_review(row) for row in self._all("select * from reviews where turn = ? order by seq", turn)]

    def shown_in(self, turn: str) -> list[tuple[str, str]]:
        """(label, memory) of the evidence that a turn's prompt showed, in its order."""
        rows = self._all("select label, memory from shown where turn = ? order by rowid", turn)
        return [(row["label"], row["memory"]) for row in rows]

    # -- erasures ----------------------------------------------------------------------------------------------------

    def timeline_of_session(self, session: str) -> str:
        """The timeline that a session is of. Raises NotFoundError; names of imported sessions are not unique."""
        rows = self._all(
            "select timeline from sessions where id = ? union select timeline from memories where session = ?",
            session,
            session,
        )
        if len(rows) != 1:
            several = f"{len(rows)} timelines have a session {session!r}; name the timeline too"
            raise NotFoundError(several if rows else f"there is no session {session!r}")
        return str(rows[0]["timeline"])

    def erasure_of(self, id: str) -> ErasureRow | None:
        """The receipt of the erasure of a memory, session, timeline or document, by its id; the newest one."""
        row = self._one("select e.event, e.at from erased x join erasures e on e.event = x.event where x.id = ?", id)
        return ErasureRow(row["event"], _time(row["at"])) if row else None

    def erased_sources(self, timeline: str) -> set[str]:
        """Digests of the sources that were imported into a timeline and erased (see the schema of the receipt)."""
        return {row["digest"] for row in self._all("select digest from erased_sources where ledger = ?", timeline)}

    def left_search(self, timeline: str) -> set[str]:
        """The memories that are or were out of search once, replaced or in quarantine: their neighbours have met."""
        rows = self._all(
            "select id from memories where timeline = ? and state != 'active'"
            " union select memory from quarantines where timeline = ?",
            timeline,
            timeline,
        )
        return {row["id"] for row in rows}

    def everything_said(self) -> Iterator[tuple[str, bool, Experience]]:
        """(timeline, whether it is searched, memory) of every experience there is, in the order they were lived."""
        rows = self._all("select * from memories order by timeline, seq")
        return ((row["timeline"], row["state"] == "active", _experience(row)) for row in rows)

    def everything_asked(self) -> Iterator[tuple[str, str, str]]:
        """(timeline, event, message) of every turn and failed turn there is."""
        rows = self._all("select timeline, event, message from turns")
        return ((row["timeline"], row["event"], row["message"]) for row in rows)

    def documents(self) -> list[DocumentRow]:
        """Every document that was ever added, oldest first."""
        return [_document(row) for row in self._all("select * from documents order by seq")]

    def chunks(self, document: str) -> list[KnowledgeChunk]:
        """The parent chunks of a document, in its order."""
        return [_chunk(row) for row in self._all(f"{_CHUNKS} where c.document = ? order by c.ordinal", document)]

    def _timeline(self, row: sqlite3.Row) -> TimelineRow:
        return TimelineRow(**{**dict(row), "at": _time(row["at"])})

    def _one(self, sql: str, *values: Any) -> sqlite3.Row | None:
        with self._lock:
            row: sqlite3.Row | None = self._db.execute(sql, values).fetchone()
            return row

    def _all(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    @contextmanager
    def _transaction(self) -> Any:
        with self._lock:
            try:
                self._db.execute("begin immediate")
                yield self._db
                self._db.execute("commit")
            except BaseException as error:
                if self._db.in_transaction:
                    self._db.execute("rollback")
                if isinstance(error, sqlite3.OperationalError):
                    raise CatalogueError(_behind(self._path, error)) from error
                raise


def _behind(path: Path, error: sqlite3.OperationalError) -> str:
    return (
        f"{path} could not be brought up to date: {error}. What was recorded is safe in the ledger. Free some space, "
        "then look whether your last step is there before you take it again"
    )


_TIMELINES = """
select t.*, max(
  coalesce((select max(round) from turns where timeline = t.id and kind = 'turn'), 0),
  coalesce((select max(round) from memories where timeline = t.id), 0),
  coalesce((select max(rounds) from erasures where ledger = t.id), 0)) as rounds
from timelines t"""
_CHUNKS = "select c.*, d.name, d.at from chunks c join documents d on d.id = c.document"


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    db.row_factory = sqlite3.Row
    try:
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = normal")
        db.execute("pragma secure_delete = on")
        # Else a vacuum would leave a copy in a folder for temporary files.
        db.execute("pragma temp_store = memory")
    except sqlite3.DatabaseError:
        # Not a database: the caller finds out in the same way and makes a new one.
        return db
    return db


def _scrub(db: sqlite3.Connection) -> None:
    """Finish an erasure: write the file anew, without the pages that rows were deleted from, and empty its log."""
    if not db.execute("select count(*) from scrubbing").fetchone()[0]:
        return
    db.execute("vacuum")
    _empty_log(db)
    db.execute("delete from scrubbing")
    _empty_log(db)


def _empty_log(db: sqlite3.Connection) -> None:
    if db.execute("pragma wal_checkpoint(truncate)").fetchone()[0]:
        raise sqlite3.OperationalError("another program is reading it")


def _delete(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _turn(row: sqlite3.Row) -> TurnRow:
    return TurnRow(**{**dict(row), "at": _time(row["at"])})


def _memory(row: sqlite3.Row) -> MemoryRow:
    return MemoryRow(
        _experience(row), row["seq"], row["state"], row["model"], row["turn"], row["source"], int(row["uses"])
    )


def _review(row: sqlite3.Row) -> ReviewRow:
    return ReviewRow(row["event"], row["timeline"], row["seq"], _time(row["at"]), **json.loads(row["body"]))


def _use(row: sqlite3.Row) -> UseRow:
    return UseRow(
        row["turn"],
        row["timeline"],
        row["seq"],
        row["round"],
        _time(row["at"]),
        row["label"],
        bool(row["cited"]),
        bool(row["bound"]),
        row["message"],
    )


def _memories_where(
    timeline: str, state: str | None, session: str | None, model: str | None, rounds: tuple[int, int] | None
) -> tuple[str, list[Any]]:
    """The conditions on memories `m` and their values."""
    conditions: dict[str, Any] = {
        "m.timeline = ?": timeline,
        "m.state = ?": state,
        "m.session = ?": session,
        "m.model = ?": model,
    }
    if rounds is not None:
        conditions |= {"m.round >= ?": rounds[0], "m.round <= ?": rounds[1]}
    given = {condition: value for condition, value in conditions.items() if value is not None}
    return " and ".join(given), list(given.values())


def _like(words: str) -> str:
    """A LIKE pattern that contains `words` literally."""
    for sign in "\\%_":
        words = words.replace(sign, f"\\{sign}")
    return f"%{words}%"


def _experience(row: sqlite3.Row) -> Experience:
    return Experience(
        memory=row["id"],
        session=row["session"],
        round=row["round"],
        at=_time(row["at"]) if row["at"] else None,
        user=row["user"],
        character=row["character"],
        message=row["message"],
        reply=row["reply"],
    )


def _chunk(row: sqlite3.Row) -> KnowledgeChunk:
    return KnowledgeChunk(
        memory=row["id"],
        document=row["document"],
        name=row["name"],
        headings=tuple(json.loads(row["headings"])),
        text=row["text"],
        children=tuple(json.loads(row["children"])),
        at=_time(row["at"]),
        above=row["above"],
    )


def _document(row: sqlite3.Row) -> DocumentRow:
    removed = row["removed_at"]
    return DocumentRow(
        row["id"],
        row["name"],
        row["media_type"],
        row["characters"],
        row["digest"],
        _time(row["at"]),
        _time(removed) if removed else None,
    )


# -- the fold: one small function for each kind of event ------------------------------------------------------------

_TABLES_OF_TIMELINES = (
    *("sessions", "turns", "memories", "instructions", "shown", "quarantines", "reviews", "compressions"),
)
_TABLES_OF_LEDGERS = ("erasures", "erased", "erased_sources")


def _forget(db: sqlite3.Connection, ledger: str) -> None:
    if ledger == KNOWLEDGE:
        db.execute("delete from documents")
        db.execute("delete from chunks")
    else:
        for table in _TABLES_OF_TIMELINES:
            db.execute(f"delete from {table} where timeline = ?", (ledger,))
        db.execute("delete from timelines where id = ?", (ledger,))
    for table in _TABLES_OF_LEDGERS:
        db.execute(f"delete from {table} where ledger = ?", (ledger,))
    db.execute("delete from ledgers where name = ?", (ledger,))


def _apply(db: sqlite3.Connection, events: Iterable[Event], ledger: str, end: Callable[[Event], int]) -> None:
    last: Event | None = None
    for event in events:
        last = event
        if event.body is not None and event.kind in _FOLDS:
            _FOLDS[event.kind](db, event, event.body)
        elif event.body is None and event.kind in ("turn", "turn_failed"):
            _erased_turn(db, event)
    if last is not None:
        db.execute("insert or replace into ledgers values (?, ?, ?, ?)", (ledger, last.seq, last.hash, end(last)))


def _timeline_opened(db: sqlite3.Connection, event: Event, body: Body) -> None:
    db.execute(
        "insert into timelines values (?, ?, ?, ?, ?, ?, '')",
        (event.timeline, body["user"], body["character"], body["persona"], body["timezone"], event.at.isoformat()),
    )


def _timeline_renamed(db: sqlite3.Connection, event: Event, body: Body) -> None:
    db.execute("update timelines set title = ? where id = ?", (body["title"], event.timeline))


def _session_opened(db: sqlite3.Connection, event: Event, body: Body) -> None:
    number = db.execute("select count(*) from sessions where timeline = ?", (event.timeline,)).fetchone()[0]
    db.execute(
        "insert into sessions values (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            event.session,
            event.timeline,
            body["cause"],
            body["model"],
            body["preset"],
            json.dumps(body["config"]),
            event.at.isoformat(),
            number + 1,
        ),
    )


def _config_changed(db: sqlite3.Connection, event: Event, body: Body) -> None:
    row = db.execute("select config from sessions where id = ?", (event.session,)).fetchone()
    config = json.loads(row["config"]) | {key: change["to"] for key, change in body["changes"].items()}
    db.execute(
        "update sessions set config = ?, preset = ? where id = ?",
        (json.dumps(config), body["preset"], event.session),
    )


def _turn_committed(db: sqlite3.Connection, event: Event, body: Body) -> None:
    _insert_turn(db, event, body, body["response"])
    if body["replaces"] is not None:
        db.execute("update turns set replaced_by = ? where event = ?", (event.id, body["replaces"]))
        db.execute("update memories set state = 'replaced' where turn = ?", (body["replaces"],))
    db.executemany(
        "insert into shown values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                item["memory"],
                event.timeline,
                event.id,
                event.seq,
                body["round"],
                event.at.isoformat(),
                item["label"],
                item["label"] in body["cited"],
                item["label"] in body["bound"],
            )
            for item in body["evidence"]
        ),
    )
    admission = body["admission"]
    if admission["admitted"]:
        db.execute(
            "insert into memories values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, null, ?, ?, 'active')",
            (
                admission["memory"],
                event.timeline,
                event.seq,
                event.session,
                body["round"],
                event.at.isoformat(),
                body["user"],
                body["character"],
                body["message"],
                body["response"],
                body["backend"]["model"],
                event.id,
            ),
        )


def _turn_failed(db: sqlite3.Connection, event: Event, body: Body) -> None:
    _insert_turn(db, event, body, "")


def _insert_turn(db: sqlite3.Connection, event: Event, body: Body, response: str) -> None:
    db.execute(
        "insert into turns values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, null, ?)",
        (
            event.id,
            event.timeline,
            event.seq,
            event.kind,
            body["round"],
            event.session,
            event.at.isoformat(),
            body["message"],
            response,
            body["backend"]["model"],
            body["replaces"],
            body["request_key"],
        ),
    )


def _imported(db: sqlite3.Connection, event: Event, body: Body) -> None:
    db.execute(
        "insert into memories values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, null, 'active')",
        (
            body["memory"],
            event.timeline,
            event.seq,
            body["session"],
            body["round"],
            body["at"],
            body["user"],
            body["character"],
            body["message"],
            body["reply"],
            body["source"]["id"],
            (body.get("published") or {}).get("model"),
        ),
    )


def _instruction_added(db: sqlite3.Connection, event: Event, body: Body) -> None:
    db.execute(
        "insert into instructions values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, null, null)",
        (
            body["instruction"],
            event.timeline,
            event.seq,
            body["text"],
            body["source_round"],
            body["kind"],
            body["rule"],
            event.at.isoformat(),
            body["probability"],
            body["reason"],
            body["replaces"],
        ),
    )


def _instruction_retired(db: sqlite3.Connection, event: Event, body: Body) -> None:
    db.execute(
        "update instructions set retired_at = ?, retired_reason = ? where id = ?",
        (event.at.isoformat(), body["reason"], body["instruction"]),
    )


def _memory_quarantined(db: sqlite3.Connection, event: Event, body: Body) -> None:
    for memory in body["memories"]:
        db.execute("update memories set state = 'quarantined' where id = ?", (memory,))
        db.execute(
            "insert into quarantines values (?, ?, ?, ?, ?, ?, null, null)",
            (memory, event.timeline, event.seq, event.at.isoformat(), body["reason"], body["by"]),
        )


def _memory_released(db: sqlite3.Connection, event: Event, body: Body) -> None:
    for memory in body["memories"]:
        db.execute("update memories set state = 'active' where id = ? and state = 'quarantined'", (memory,))
        db.execute(
            "update quarantines set released_at = ?, released_reason = ? where memory = ? and released_at is null",
            (event.at.isoformat(), body["reason"], memory),
        )


def _message_compressed(db: sqlite3.Connection, event: Event, body: Body) -> None:
    db.execute(
        "insert into compressions values (?, ?, ?, ?, ?)",
        (event.id, event.timeline, event.seq, body["key"], json.dumps(body, ensure_ascii=False)),
    )


def _reviewed(db: sqlite3.Connection, event: Event, body: Body) -> None:
    said = {"turn": body["event"], **{name: body[name] for name in body if name not in ("event", "salt")}}
    db.execute(
        "insert into reviews values (?, ?, ?, ?, ?, ?, ?)",
        (
            event.id,
            event.timeline,
            event.seq,
            event.at.isoformat(),
            body["event"],
            body["reviewer"],
            json.dumps(said, ensure_ascii=False),
        ),
    )


def _document_added(db: sqlite3.Connection, event: Event, body: Body) -> None:
    document, text = body["document"], body["text"]
    db.execute(
        "insert into documents values (?, ?, ?, ?, ?, ?, ?, null)",
        (document, event.seq, body["name"], body["media_type"], len(text), body["text_digest"], event.at.isoformat()),
    )
    db.executemany(
        "insert into chunks values (?, ?, ?, ?, ?, ?, ?)",
        (
            (f"{document}/{ordinal}", document, ordinal, *_chunk_columns(text, parent, headings=body["headings"]))
            for ordinal, parent in enumerate(split_document(text, **body["chunking"]))
        ),
    )


def _chunk_columns(text: str, parent: Parent, *, headings: bool) -> tuple[str, str, str, str]:
    """Headings, what search reads of them beside the text, the text, and the children as they are embedded."""
    own, searched = text[parent.span.start : parent.span.end], parent.headings if headings else ()
    children = [under_headings(searched, text[child.start : child.end]) for child in parent.children]
    return (
        json.dumps(parent.headings, ensure_ascii=False),
        missing_headings(searched, own),
        own,
        json.dumps(children, ensure_ascii=False),
    )


def _document_removed(db: sqlite3.Connection, event: Event, body: Body) -> None:
    db.execute("update documents set removed_at = ? where id = ?", (event.at.isoformat(), body["document"]))


def _erased_turn(db: sqlite3.Connection, event: Event) -> None:
    """A turn without words, in its place; the receipt further on says which round it was."""
    db.execute(
        "insert into turns values (?, ?, ?, ?, 0, ?, ?, '', '', '', null, null, null)",
        (event.id, event.timeline, event.seq, event.kind, event.session, event.at.isoformat()),
    )


def _place_erased_turn(db: sqlite3.Connection, turn: Body) -> None:
    """Say of a turn without words which round it was, and which reply it replaced, as its receipt has it."""
    db.execute(
        "update turns set round = ?, replaces = ? where event = ?", (turn["round"], turn["replaces"], turn["event"])
    )
    db.execute(
        "update turns set replaced_by = ? where event = ?"
        " and exists (select 1 from turns where event = ? and kind = 'turn')",
        (turn["event"], turn["replaces"], turn["event"]),
    )


def _memory_erased(db: sqlite3.Connection, event: Event, body: Body) -> None:
    ledger, scope = event.timeline, body["scope"]
    db.execute(
        "insert into erasures values (?, ?, ?, ?, ?)",
        (event.id, ledger, event.seq, event.at.isoformat(), body["rounds"]),
    )
    named = list(body["memories"])
    # A timeline's receipt for a document is of what was quoted from it there; the document is erased in its own ledger.
    if scope["by"] == "session" or ledger == KNOWLEDGE:
        named.append(scope["value"])
    elif scope["by"] == "timeline":
        named.append(ledger)
    db.executemany("insert or replace into erased values (?, ?, ?)", ((id, ledger, event.id) for id in named))
    db.executemany(
        "insert or ignore into erased_sources values (?, ?)", ((ledger, digest) for digest in body["sources"])
    )
    for turn in body["turns"]:
        _place_erased_turn(db, turn)
    for item in body["retired"]:
        db.execute(
            "update instructions set retired_at = ?, retired_reason = '' where id = ?",
            (item["at"], item["instruction"]),
        )


_FOLDS: dict[str, Callable[[sqlite3.Connection, Event, Body], None]] = {
    "timeline_opened": _timeline_opened,
    "timeline_renamed": _timeline_renamed,
    "session_opened": _session_opened,
    "config_changed": _config_changed,
    "turn": _turn_committed,
    "turn_failed": _turn_failed,
    "imported": _imported,
    "instruction_added": _instruction_added,
    "instruction_retired": _instruction_retired,
    "memory_quarantined": _memory_quarantined,
    "memory_released": _memory_released,
    "message_compressed": _message_compressed,
    "memory_erased": _memory_erased,
    "review": _reviewed,
    "document_added": _document_added,
    "document_removed": _document_removed,
}
