"""Vectors kept in SQLite, so that a restart never embeds twice.

Keeps the promises that vectors are recorded (a text has one vector under one embedder, whichever thread or process
asked first) and that an erased text leaves no vector behind. It is only a cache: a damaged or unwritable file costs
time, never a result. Knows nothing about models, and nothing about what a text is for.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from retrieval.embedding.base import Embedder, Vectors

_log = logging.getLogger(__name__)

Kind = Literal["query", "document"]

_VERSION = 1
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS vectors (
    digest BLOB NOT NULL, embedder TEXT NOT NULL, kind TEXT NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (digest, embedder, kind)
);
PRAGMA user_version = {_VERSION};
"""
# In WAL mode a kill of the process loses nothing that was committed; only a power cut may lose the newest vectors.
_SETTINGS = (
    "PRAGMA secure_delete = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;"
)
_LOOKUP = 500  # Digests in one SELECT.
_COMMIT = 256  # Texts embedded between two commits: what an interrupt may lose.
_BUSY_SECONDS = 5.0  # How long another process may hold the file before an operation gives up.
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


@dataclass(frozen=True, slots=True)
class CacheStats:
    """Texts answered from the cache, and texts that had to be embedded, since this cache was opened."""

    hits: int = 0
    misses: int = 0


class CachedEmbedder:
    """`inner` with a memory: the same name, dimension and c0, and each vector computed once. Safe between threads."""

    dimension: int
    c0: float

    def __init__(self, inner: Embedder, path: Path) -> None:
        """Open or create the cache file at `path`. A damaged file is moved aside and reported by logging."""
        self.inner = inner
        self.name = inner.name
        self.dimension = inner.dimension
        self.c0 = inner.c0
        self._table = _VectorTable(path, inner.name, inner.dimension)
        self._stats = CacheStats()
        self._counting = threading.Lock()

    @property
    def stats(self) -> CacheStats:
        """Hits and misses so far; a text that occurs twice in one call counts once."""
        return self._stats

    def encode_query(self, texts: Sequence[str]) -> Vectors:
        """Embed questions, or find them. Returns float32 unit rows of shape (len(texts), dimension)."""
        return self._encode(texts, "query", self.inner.encode_query)

    def encode_document(self, texts: Sequence[str]) -> Vectors:
        """Embed memories, or find them. Returns float32 unit rows of shape (len(texts), dimension)."""
        return self._encode(texts, "document", self.inner.encode_document)

    def forget(self, texts: Iterable[str]) -> int:
        """Erase the vectors of `texts`, of every kind and embedder; returns how many there were.

        The bytes are overwritten in the file before this returns, and damaged files that were moved aside are
        deleted. Raises sqlite3.Error or OSError when that is not possible: an erasure must not fail in silence.
        """
        return self._table.forget({_digest(text) for text in texts})

    def close(self) -> None:
        """Close the file. The embedder cannot be used afterwards."""
        self._table.close()

    def _encode(self, texts: Sequence[str], kind: Kind, encode: Callable[[Sequence[str]], Vectors]) -> Vectors:
        digests = [_digest(text) for text in texts]
        wanted = dict(zip(digests, texts, strict=True))
        found = self._table.find(wanted, kind)
        # Sorted by length before it is cut, so that the inner embedder's batches need little padding.
        missing = sorted((d for d in wanted if d not in found), key=lambda digest: len(wanted[digest]))
        self._count(len(found), len(missing))
        for batch in _chunks(missing, _COMMIT):
            rows = encode([wanted[digest] for digest in batch])
            found.update(self._table.keep(dict(zip(batch, rows, strict=True)), kind))
        rows = np.empty((len(texts), self.dimension), np.float32)
        for row, digest in zip(rows, digests, strict=True):
            row[:] = found[digest]
        return rows

    def _count(self, hits: int, misses: int) -> None:
        with self._counting:
            self._stats = CacheStats(self._stats.hits + hits, self._stats.misses + misses)


class _VectorTable:
    """The SQLite side: rows in, rows out, one connection behind a lock."""

    def __init__(self, path: Path, embedder: str, dimension: int) -> None:
        self._path = path
        self._embedder = embedder
        self._bytes = 4 * dimension
        self._lock = threading.Lock()
        self._connection = self._open()

    def find(self, digests: Iterable[bytes], kind: Kind) -> dict[bytes, Vectors]:
        """The vectors that are there and whole."""
        with self._lock:
            try:
                return self._select(digests, kind)
            except sqlite3.Error as error:
                self._survive(error)
                return {}

    def keep(self, rows: dict[bytes, Vectors], kind: Kind) -> dict[bytes, Vectors]:
        """Store vectors and return the recorded ones: where another thread was first, its vector holds."""
        with self._lock:
            try:
                self._insert(rows, kind)
                return rows | self._select(rows, kind)
            except sqlite3.Error as error:
                self._survive(error)
                return rows

    def forget(self, digests: set[bytes]) -> int:
        with self._lock:
            erased = self._delete(digests)
            # What was moved aside cannot be searched, so it goes as a whole.
            for damaged in self._path.parent.glob(f"{self._path.name}.damaged-*"):
                damaged.unlink()
            return erased

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _select(self, digests: Iterable[bytes], kind: Kind) -> dict[bytes, Vectors]:
        found = {}
        for chunk in _chunks(list(digests), _LOOKUP):
            marks = ",".join("?" * len(chunk))
            sql = f"SELECT digest, vector FROM vectors WHERE embedder = ? AND kind = ? AND digest IN ({marks})"
            for digest, vector in self._connection.execute(sql, (self._embedder, kind, *chunk)):
                if len(vector) == self._bytes:
                    found[digest] = np.frombuffer(vector, "<f4")
        return found

    def _insert(self, rows: dict[bytes, Vectors], kind: Kind) -> None:
        values = [(digest, self._embedder, kind, row.astype("<f4").tobytes()) for digest, row in rows.items()]
        with self._connection:
            self._connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?, ?)", values)

    def _delete(self, digests: set[bytes]) -> int:
        before = self._connection.total_changes
        try:
            with self._connection:
                self._connection.executemany("DELETE FROM vectors WHERE digest = ?", [(d,) for d in digests])
            erased = self._connection.total_changes - before
            # Overwriting alone leaves copies where rows have moved from page to page.
            self._connection.execute("VACUUM")
            # Without this the old pages would stay in the write-ahead log.
            (busy, *_) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            self._survive(error)
            return 0
        if busy:
            raise sqlite3.OperationalError(f"{self._path} is in use by another process; stop it and erase again")
        return erased

    def _open(self) -> sqlite3.Connection:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            return _connect(str(self._path))
        except (sqlite3.Error, OSError) as error:
            if not (_is_damage(error) and _move_aside(self._path, error)):
                _log.warning("%s: embeddings will not be kept (%s); check the folder", self._path, error)
                return _connect(":memory:")
        return self._open()

    def _survive(self, error: sqlite3.Error) -> None:
        """Go on without the vectors concerned. A damaged file makes way for a new one."""
        _log.warning("%s: embedding cache failed (%s); embedding again", self._path, error)
        if _is_damage(error):
            self._connection.close()
            _move_aside(self._path, error)
            self._connection = self._open()


class _ForeignFileError(sqlite3.DatabaseError):
    """The file is a database, but not one of this cache's version."""


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if version != _VERSION and (version or tables):
            raise _ForeignFileError(f"schema version {version}, expected {_VERSION}")
        connection.executescript(_SETTINGS + _SCHEMA)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _is_damage(error: Exception) -> bool:
    """Whether the file's content is at fault, rather than a full disk, a lock or a missing permission."""
    if isinstance(error, _ForeignFileError):
        return True
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _DAMAGED  # The low byte is the primary code.


def _move_aside(path: Path, error: Exception) -> bool:
    """Rename a damaged file and its companions, and say so. False when even that fails."""
    aside = _free_name(path)
    _log.warning("%s: damaged embedding cache (%s), moved to %s; texts are embedded again", path, error, aside.name)
    try:
        path.replace(aside)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _free_name(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    return aside


def _digest(text: str) -> bytes:
    """SHA-256 of the text; lone surrogates pass, so that two broken texts are not taken for one."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _chunks(items: Sequence[bytes], size: int) -> Iterator[Sequence[bytes]]:
    return (items[start : start + size] for start in range(0, len(items), size))
