"""`exports.json` of a logs folder: which files were exported from which timelines, so that an erasure can reach them.

Written before the first byte of an export is, and again when it is whole, each time in one step. Holds paths and
digests and nothing that was said.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import filelock

from arpm.errors import ArpmError
from arpm.ledger import sync_folder

NAME = "exports.json"
_LOCK = ".exports.lock"

State = Literal["unchanged", "changed", "missing", "unfinished"]


class ExportRecordError(ArpmError):
    """The record of exports cannot be read or written; nothing was exported."""


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file that was exported. `changed` is one that has other bytes now; `unfinished` one whose export broke off."""

    path: Path
    timelines: tuple[str, ...]
    at: datetime
    format: str
    state: State


def begin(logs: Path, format: str, timelines: Sequence[str], paths: Sequence[Path], at: datetime) -> None:
    """Note that files are about to be written from timelines (and, if it is named, the knowledge base)."""
    entries = [
        {"path": str(path), "format": format, "timelines": list(timelines), "at": at.isoformat(), "sha256": None}
        for path in paths
    ]
    with _changing(logs) as record:
        # A file of this name that is still there was exported from other timelines, and goes now.
        record[:] = [entry for entry in record if entry["path"] not in {str(path) for path in paths}] + entries


def finish(logs: Path, digests: Mapping[Path, str]) -> None:
    """Note that files are whole, with their SHA-256."""
    by_path = {str(path): digest for path, digest in digests.items()}
    with _changing(logs) as record:
        for entry in record:
            entry["sha256"] = by_path.get(entry["path"], entry["sha256"])


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
    deleted, left = [], []
    for file in exported_files(logs, timelines):
        if file.state == "changed":
            left.append(file.path)
            continue
        for path in (file.path, partial(file.path)):
            if path.exists():
                path.unlink()
                sync_folder(path.parent)
        if file.state != "missing":
            deleted.append(file.path)
    gone = {str(path) for path in deleted}
    with _changing(logs) as record:
        record[:] = [entry for entry in record if entry["path"] not in gone]
    return deleted, left


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
    """The record, to be changed inside the block and written when it ends."""
    path = logs / NAME
    try:
        with filelock.FileLock(logs / _LOCK, timeout=30):
            record = _read(logs)
            yield record
            data = json.dumps({"version": 1, "files": record}, ensure_ascii=False, indent=1).encode()
            with partial(path).open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            partial(path).replace(path)
            sync_folder(logs)
    except (OSError, filelock.Timeout) as error:
        raise ExportRecordError(
            f"{path} cannot be written ({error}). Exports are noted there so that erasing reaches them; "
            "export from a copy of the folder that can be written"
        ) from error


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
