"""The catalogue: what the ledgers say, as tables (SQLite), so that nothing has to be read twice.

A cache and nothing more: `apply` folds one ledger event into the tables together with the ledger's tip, in one
transaction, and dropping the file loses nothing. Knows nothing about indexes, vectors or files of the ledger.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from arpm.errors import ArpmError, NotFoundError
from arpm.events import Event
from arpm.ledger import Checkpoint
from governance.instructions import Instruction
from retrieval.chunking import split_document
from retrieval.memories import Experience, KnowledgeChunk

# Raised whenever the tables or the fold change; a catalogue of another version is built anew.
VERSION = 2

_TABLES = """
create table ledgers (name text primary key, seq integer, hash text, size integer);
create table timelines (id text primary key, user text, character text, persona text, timezone text, at text);
create table sessions (
  id text primary key, timeline text, cause text, model text, preset text, config text, at text, number integer);
create table turns (
  event text primary key, timeline text, seq integer, kind text, round integer, session text, at text,
  message text, response text, model text);
create index turns_by_round on turns (timeline, kind, round);
create index turns_by_session on turns (session, kind, seq);
create table memories (
  id text primary key, timeline text, seq integer, session text, round integer, at text, user text, character text,
  message text, reply text, source text, model text, active integer);
create index memories_by_timeline on memories (timeline, seq);
create index memories_by_round on memories (timeline, round);
create table instructions (
  id text primary key, timeline text, seq integer, text text, round integer, kind text, rule text, at text,
  retired_at text, retired_reason text);
create table documents (
  id text primary key, seq integer, name text, media_type text, characters integer, digest text, at text,
  removed_at text);
create table chunks (
  id text primary key, document text, ordinal integer, headings text, text text, children text);
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
    """Where a turn stands in its ledger, and what was said; the whole record is in the ledger."""

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


@dataclass(frozen=True, slots=True)
class InstructionRow:
    """A standing instruction, active or retired, and where it came from."""

    id: str
    text: str
    round: int
    kind: str
    rule: str | None
    at: datetime
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

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
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
            if ledger == "knowledge":
                db.execute("delete from documents")
                db.execute("delete from chunks")
            else:
                for table in ("sessions", "turns", "memories", "instructions"):
                    db.execute(f"delete from {table} where timeline = ?", (ledger,))
                db.execute("delete from timelines where id = ?", (ledger,))
            db.execute("delete from ledgers where name = ?", (ledger,))

    def apply(self, events: Iterable[Event], ledger: str, end: Callable[[Event], int]) -> None:
        """Fold events of one ledger in, with its new tip, in one transaction. `end` gives an event's end in bytes."""
        last: Event | None = None
        with self._transaction() as db:
            for event in events:
                last = event
                if event.body is not None and event.kind in _FOLDS:
                    _FOLDS[event.kind](db, event, event.body)
            if last is not None:
                db.execute(
                    "insert or replace into ledgers values (?, ?, ?, ?)", (ledger, last.seq, last.hash, end(last))
                )

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

    def turns(self, timeline: str, last: int | None = None) -> list[TurnRow]:
        """Turns and failed turns of a timeline in ledger order; only the `last` ones if given."""
        limit = -1 if last is None else last
        rows = self._all("select * from turns where timeline = ? order by seq desc limit ?", timeline, limit)
        return [_turn(row) for row in reversed(rows)]

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

    def window(self, session: str, rounds: int) -> list[TurnRow]:
        """The last `rounds` committed turns of a session, oldest first."""
        rows = self._all(
            "select * from turns where session = ? and kind = 'turn' order by seq desc limit ?", session, rounds
        )
        return [_turn(row) for row in reversed(rows)]

    def session_rounds(self, session: str) -> int:
        """How many committed turns a session has."""
        row = self._one("select count(*) as rounds from turns where session = ? and kind = 'turn'", session)
        return int(row["rounds"]) if row else 0

    def round_times(self, timeline: str) -> list[tuple[int, datetime]]:
        """(round, time) of every turn and every dated memory of a timeline, by round."""
        rows = self._all(
            "select round, at from turns where timeline = ? and kind = 'turn'"
            " union select round, at from memories where timeline = ? and at is not null order by round, at",
            timeline,
            timeline,
        )
        return [(row["round"], datetime.fromisoformat(row["at"])) for row in rows]

    def experiences(self, timeline: str) -> list[Experience]:
        """The active memories of a timeline in the order they were lived."""
        return [
            _experience(row)
            for row in self._all("select * from memories where timeline = ? and active order by seq", timeline)
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
        row = self._one("select id from memories where timeline = ? and round = ? and source is null", timeline, round)
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
  coalesce((select max(round) from memories where timeline = t.id), 0)) as rounds
from timelines t"""
_CHUNKS = "select c.*, d.name, d.at from chunks c join documents d on d.id = c.document"


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    db.row_factory = sqlite3.Row
    try:
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = normal")
        db.execute("pragma secure_delete = on")
    except sqlite3.DatabaseError:
        # Not a database: the caller finds out in the same way and makes a new one.
        return db
    return db


def _delete(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _turn(row: sqlite3.Row) -> TurnRow:
    return TurnRow(**{**dict(row), "at": _time(row["at"])})


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

Body = dict[str, Any]


def _timeline_opened(db: sqlite3.Connection, event: Event, body: Body) -> None:
    db.execute(
        "insert into timelines values (?, ?, ?, ?, ?, ?)",
        (event.timeline, body["user"], body["character"], body["persona"], body["timezone"], event.at.isoformat()),
    )


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
    admission = body["admission"]
    if admission["admitted"]:
        db.execute(
            "insert into memories values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, null, ?, 1)",
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
            ),
        )


def _turn_failed(db: sqlite3.Connection, event: Event, body: Body) -> None:
    _insert_turn(db, event, body, "")


def _insert_turn(db: sqlite3.Connection, event: Event, body: Body, response: str) -> None:
    db.execute(
        "insert into turns values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
        ),
    )


def _imported(db: sqlite3.Connection, event: Event, body: Body) -> None:
    db.execute(
        "insert into memories values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, null, 1)",
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
        ),
    )


def _instruction_added(db: sqlite3.Connection, event: Event, body: Body) -> None:
    db.execute(
        "insert into instructions values (?, ?, ?, ?, ?, ?, ?, ?, null, null)",
        (
            body["instruction"],
            event.timeline,
            event.seq,
            body["text"],
            body["source_round"],
            body["kind"],
            body["rule"],
            event.at.isoformat(),
        ),
    )


def _instruction_retired(db: sqlite3.Connection, event: Event, body: Body) -> None:
    db.execute(
        "update instructions set retired_at = ?, retired_reason = ? where id = ?",
        (event.at.isoformat(), body["reason"], body["instruction"]),
    )


def _document_added(db: sqlite3.Connection, event: Event, body: Body) -> None:
    document, text = body["document"], body["text"]
    db.execute(
        "insert into documents values (?, ?, ?, ?, ?, ?, ?, null)",
        (document, event.seq, body["name"], body["media_type"], len(text), body["text_digest"], event.at.isoformat()),
    )
    parents = split_document(text, **body["chunking"])
    db.executemany(
        "insert into chunks values (?, ?, ?, ?, ?, ?)",
        (
            (
                f"{document}/{ordinal}",
                document,
                ordinal,
                json.dumps(parent.headings, ensure_ascii=False),
                text[parent.span.start : parent.span.end],
                json.dumps([text[child.start : child.end] for child in parent.children], ensure_ascii=False),
            )
            for ordinal, parent in enumerate(parents)
        ),
    )


def _document_removed(db: sqlite3.Connection, event: Event, body: Body) -> None:
    db.execute("update documents set removed_at = ? where id = ?", (event.at.isoformat(), body["document"]))


_FOLDS: dict[str, Callable[[sqlite3.Connection, Event, Body], None]] = {
    "timeline_opened": _timeline_opened,
    "session_opened": _session_opened,
    "config_changed": _config_changed,
    "turn": _turn_committed,
    "turn_failed": _turn_failed,
    "imported": _imported,
    "instruction_added": _instruction_added,
    "instruction_retired": _instruction_retired,
    "document_added": _document_added,
    "document_removed": _document_removed,
}
