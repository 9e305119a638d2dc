"""`erasing.json` of a logs folder: an erasure that reaches several ledgers, so that all of it happens or none.

In one ledger an erasure is one step. Over several, what is to be recorded in each is written here first and the file is
deleted last; whoever opens the folder in between goes on with it. Holds ids, the person's reason and nothing that was
said.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arpm.errors import ArpmError
from arpm.events import Event
from arpm.ledger import LEDGER_NAME, LedgerWriteError, sync_folder, walk

NAME = "erasing.json"
_VERSION = 1

Receipts = Mapping[str, Mapping[str, Any]]


class UnfinishedErasureError(ArpmError):
    """What an erasure was to do cannot be read."""


@contextmanager
def begun(logs: Path, receipts: Receipts) -> Iterator[list[Event]]:
    """Note the receipts that an erasure will record, by ledger, and forget the note when the block has ended well.

    The block adds every receipt that is recorded to the list; when the first one cannot be, nothing was begun. Nothing
    is noted for one ledger. Raises LedgerWriteError when there is no room for the note; nothing was erased then.
    """
    done: list[Event] = []
    if len(receipts) > 1:
        _write(logs / NAME, receipts)
    try:
        yield done
    except LedgerWriteError:
        if not done:
            forget(logs)
        raise
    forget(logs)


def forget(logs: Path) -> None:
    """Nothing is left to be done."""
    path = logs / NAME
    if path.exists():
        path.unlink()
        sync_folder(logs)


def left(logs: Path) -> dict[str, dict[str, Any]]:
    """The receipts that an interrupted erasure was to record, by ledger; none where nothing was interrupted.

    Raises UnfinishedErasureError.
    """
    path = logs / NAME
    if not path.exists():
        return {}
    try:
        noted = json.loads(path.read_bytes())
        receipts = noted["receipts"]
        if noted["version"] != _VERSION or not all(isinstance(body["events"], list) for body in receipts.values()):
            raise ValueError("it is not of a form that this version knows")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnfinishedErasureError(
            f"{path} says how an interrupted erasure goes on, and cannot be read: {error}. Nothing was changed. Move "
            "the file aside, and erase again what was to be erased"
        ) from error
    return dict(receipts)


def finish(logs: Path, erase: Callable[[str, dict[str, Any]], None]) -> None:
    """Do what an interrupted erasure left undone. `erase` records a receipt in the ledger of that name.

    Raises UnfinishedErasureError, OSError and the errors of `erase`; what is left is tried again by the next start.
    """
    for ledger, body in left(logs).items():
        path = logs / ledger / LEDGER_NAME
        gone = {placed.id for placed in walk(path, ledger) if placed.line.body == b"null"}
        if not gone.issuperset(body["events"]):
            erase(ledger, body)
    forget(logs)


def _write(path: Path, receipts: Receipts) -> None:
    beside = path.with_name(f".{path.name}.partial")
    try:
        with beside.open("wb") as file:
            file.write(json.dumps({"version": _VERSION, "receipts": receipts}, ensure_ascii=False).encode())
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise LedgerWriteError(f"{path} could not be written ({error}). Nothing was erased") from error
