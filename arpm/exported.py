"""`exports.json` of a logs folder: which files were exported from which timelines, so that an erasure can reach them.

An export is noted before it reads anything, and again when it is whole, each time in one step. An erasure meanwhile
strikes the note out, and then nothing of the export is kept: what it has read may hold erased words. Holds paths and
digests and nothing that was said.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal

import filelock

from arpm.errors import ArpmError
from arpm.ledger import sync_folder

NAME = "exports.json"
_LOCK = ".exports.lock"

State = Literal["unchanged", "changed", "missing", "unfinished"]


class ExportRecordError(ArpmError):
    """The record of exports cannot be read or written; nothing was exported."""


class ErasedMeanwhileError(ArpmError):
    """Something was erased while it was being exported; nothing was exported."""

    def __init__(self) -> None:
        super().__init__(
            "Something was erased from these timelines while they were being exported, so nothing was written. "
            "Export again"
        )


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file that was exported. `changed` is one that has other bytes now; `unfinished` one whose export broke off."""

    path: Path
    timelines: tuple[str, ...]
    at: datetime
    format: str
    state: State


@dataclass(frozen=True, slots=True)
class Noted:
    """An export under way, as the record of a logs folder has it, from before its first byte was read."""

    logs: Path
    format: str
    timelines: tuple[str, ...]
    at: datetime
    token: str

    def files(self, paths: Sequence[Path]) -> None:
        """Note which files are about to be written. Raises ErasedMeanwhileError."""
        with self._mine() as record:
            record[:] = [entry for entry in record if not self._made(entry)]
            record += [self._entry(path) for path in paths]

    def open(self, path: Path) -> BinaryIO:
        """A new file to be written beside the place of `path`. Raises ErasedMeanwhileError and OSError."""
        # Within the lock, so that an erasure either finds the file or has struck the export out before.
        with self._mine():
            return partial(path).open("wb")

    def finish(self, digests: Mapping[Path, str]) -> None:
        """Give whole files their names and note their SHA-256. Raises ErasedMeanwhileError and OSError."""
        by_path = {str(path): digest for path, digest in digests.items()}
        with self._mine() as record:
            mine = [entry for entry in record if self._made(entry)]
            for entry in mine:
                entry["sha256"] = by_path.get(entry["path"])
            # Until all have their names, a file is either what it was before or what it will be.
            _save(self.logs, record)
            for path in digests:
                partial(path).replace(path)
                sync_folder(path.parent)
            record[:] = [entry for entry in record if self._made(entry) or entry["path"] not in by_path]
            for entry in mine:
                del entry["export"]

    @contextmanager
    def _mine(self) -> Iterator[list[dict[str, Any]]]:
        with _changing(self.logs) as record:
            if not any(self._made(entry) for entry in record):
                raise ErasedMeanwhileError
            yield record

    def _made(self, entry: Mapping[str, Any]) -> bool:
        return entry.get("export") == self.token

    def _entry(self, path: Path) -> dict[str, Any]:
        return {
            "path": str(path),
            "format": self.format,
            "timelines": list(self.timelines),
            "at": self.at.isoformat(),
            "sha256": None,
            "export": self.token,
        }

    def _announce(self, path: Path) -> None:
        with _changing(self.logs) as record:
            record.append(self._entry(path))

    def _withdraw(self) -> None:
        """Strike out what was noted of an export that came to nothing, but for what it left behind."""
        with _changing(self.logs) as record:
            record[:] = [entry for entry in record if not self._made(entry) or _left_something(entry)]


def _left_something(entry: Mapping[str, Any]) -> bool:
    return entry["sha256"] is not None or partial(Path(entry["path"])).exists()


@contextmanager
def noted(logs: Path, format: str, timelines: Sequence[str], first: Path, at: datetime) -> Iterator[Noted]:
    """Note that an export of timelines (and, if it is named, of the knowledge base) begins, before anything is read.

    `first` is a file that it will write; `Noted.files` names all. Raises ExportRecordError.
    """
    export = Noted(logs, format, tuple(timelines), at, secrets.token_hex(8))
    export._announce(first)
    try:
        yield export
    finally:
        export._withdraw()


def exported_files(logs: Path, timelines: Collection[str] | None = None) -> list[ExportedFile]:
    """The files that were exported from some timelines, or from any, oldest first, and what became of them.

    A document of the knowledge base is in files exported from `knowledge`. Raises ExportRecordError.
    """
    entries = _read(logs)
    return [
        _file(entry)
        for entry in entries
        if timelines is None or any(timeline in timelines for timeline in entry["timelines"])
    ]


def remove_exported(logs: Path, timelines: Collection[str]) -> tuple[list[Path], list[Path]]:
    """Delete the files that were exported from timelines: (deleted, left because a person changed them since).

    For an erasure. An export with other timelines in it goes too: it can be made again. Raises OSError.
    """
    deleted, left = dict[Path, None](), dict[Path, None]()
    with _changing(logs) as record:
        known = {(entry["path"], entry["sha256"]) for entry in record}
        for entry in list(record):
            file = _file(entry)
            if not any(timeline in timelines for timeline in file.timelines) or file.state == "missing":
                continue
            if partial(file.path).exists():
                _unlink(partial(file.path))
            if file.state == "changed" and (entry["path"], _digest(file.path)) not in known:
                left[file.path] = None
                continue
            # What stands where an unfinished one would have come has a note of its own.
            if file.path.exists() and (file.state != "unfinished" or "export" not in entry):
                _unlink(file.path)
            deleted[file.path] = None
            record.remove(entry)
    return list(deleted), list(left)


def _unlink(path: Path) -> None:
    path.unlink()
    sync_folder(path.parent)


def partial(path: Path) -> Path:
    """Where a file is written until it is whole."""
    return path.with_name(f".{path.name}.partial")


def _file(entry: Mapping[str, Any]) -> ExportedFile:
    path = Path(entry["path"])
    state: State
    if entry["sha256"] is None:
        state = "unfinished"
    elif not path.exists():
        state = "missing"
    else:
        state = "unchanged" if _digest(path) == entry["sha256"] else "changed"
    return ExportedFile(path, tuple(entry["timelines"]), datetime.fromisoformat(entry["at"]), entry["format"], state)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _changing(logs: Path) -> Iterator[list[dict[str, Any]]]:
    """The record, to be changed inside the block and written when it ends well."""
    lock = filelock.FileLock(logs / _LOCK, timeout=30)
    try:
        lock.acquire()
    except (OSError, filelock.Timeout) as error:
        raise _unwritable(logs, error) from error
    try:
        record = _read(logs)
        yield record
        _save(logs, record)
    finally:
        lock.release()


def _save(logs: Path, record: Sequence[Mapping[str, Any]]) -> None:
    path = logs / NAME
    data = json.dumps({"version": 1, "files": record}, ensure_ascii=False, indent=1).encode()
    try:
        with partial(path).open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial(path).replace(path)
        sync_folder(logs)
    except OSError as error:
        raise _unwritable(logs, error) from error


def _unwritable(logs: Path, error: Exception) -> ExportRecordError:
    return ExportRecordError(
        f"{logs / NAME} cannot be written ({error}). Exports are noted there so that erasing reaches them; "
        "export from a copy of the folder that can be written"
    )


def _read(logs: Path) -> list[dict[str, Any]]:
    path = logs / NAME
    if not path.exists():
        return []
    try:
        record = json.loads(path.read_bytes())
        files = record["files"]
        if record["version"] != 1 or not all(_sound(entry) for entry in files):
            raise ValueError("it is not of a form that this version knows")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ExportRecordError(f"{path} cannot be read: {error}. Move it aside, and keep it") from error
    return list(files)


def _sound(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.keys() >= {"path", "format", "timelines", "at", "sha256"}
