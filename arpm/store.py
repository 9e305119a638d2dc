"""A ledger together with the caches' view of it: appending writes the ledger first, then the catalogue.

Keeps the promise that the ledger is the only truth: whatever the catalogue missed (a crash or a full disk in between)
is folded in from the ledger. The catalogue also remembers where the ledger ended, so a ledger that was cut short or
exchanged since is reported as damaged; `arpm rebuild` takes it as it is. An erasure goes the same way: first the
ledger, then everything that remembers what it said; what was interrupted is finished when the ledger is next opened.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from arpm.catalogue import Catalogue, CatalogueError
from arpm.clock import Clock
from arpm.events import RECEIPT, Draft, Event
from arpm.exported import ExportRecordError, exported_files, remove_exported
from arpm.forgetting import embedded, going, torn_of
from arpm.ledger import Ledger, sync_folder
from retrieval.embedding.base import Embedder
from retrieval.embedding.cache import CachedEmbedder


class Store:
    """One ledger and what the caches hold of it."""

    def __init__(self, folder: Path, name: str, catalogue: Catalogue, clock: Clock, embedder: Embedder) -> None:
        """Open `folder`'s ledger and bring the caches up to date. Raises DamagedLedgerError and CatalogueError."""
        self.name = name
        self.catalogue = catalogue
        self._folder = folder
        self._embedder = embedder
        # Held while something is written and folded in.
        self._writing = threading.RLock()
        self.ledger = Ledger.open(folder, name, now=clock.now, checkpoint=catalogue.checkpoint(name))
        self.catch_up()

    def append(self, kind: str, body: dict[str, Any], *, at: datetime, session: str | None = None) -> Event:
        """Record one event. When this returns, it is on the disk.

        Raises CatalogueError when it is there but the catalogue could not take it in: `catch_up` before going on.
        """
        return self.append_many([Draft(kind=kind, body=body, session=session, at=at)])[0]

    def append_many(self, drafts: Sequence[Draft]) -> list[Event]:
        """Record events in one write."""
        with self._writing:
            events = self.ledger.append_many(drafts)
            self._fold()
        return events

    def erase(self, body: dict[str, Any], *, at: datetime) -> Event:
        """Record a receipt and erase what it names from the ledger and from every cache.

        Raises CatalogueError when it is gone from the ledger but not from a cache yet: `catch_up` before going on.
        """
        with self._writing:
            event = self.ledger.erase(Draft(kind=RECEIPT, body=body, session=None, at=at), body["events"])
            self.catch_up()
        return event

    def events(self) -> Iterator[Event]:
        """Every event, oldest first."""
        return self.ledger.events()

    @contextmanager
    def still(self) -> Iterator[None]:
        """Let nothing be written meanwhile but by this thread."""
        with self._writing:
            yield

    def close(self) -> None:
        self.ledger.close()

    @property
    def behind(self) -> bool:
        """Whether the ledger holds more than the catalogue: an append reached the disk and the catalogue's did not.

        Not while something is being written, which the writer itself folds in.
        """
        if not self._writing.acquire(blocking=False):
            return False
        try:
            return self._known() < self.ledger.tip.seq
        finally:
            self._writing.release()

    def catch_up(self) -> None:
        """Fold what the catalogue missed in. Raises CatalogueError when that does not work."""
        with self._writing:
            known = self._known()
            missed = self.ledger.events(known + 1) if 0 < known < self.ledger.tip.seq else ()
            receipts = [event.body for event in missed if event.kind == RECEIPT and event.body is not None]
            if receipts:
                self._forget(receipts)
                self.catalogue.apply_anew(self.ledger.events(), self.name, lambda event: event.end)
            else:
                self._fold()

    def _fold(self) -> None:
        known = self._known()
        if known < self.ledger.tip.seq:
            self.catalogue.apply(self.ledger.events(known + 1), self.name, lambda event: event.end)

    def _forget(self, receipts: Collection[dict[str, Any]]) -> None:
        """Erase vectors, torn files and exports. The catalogue must come last: only it still knows the words."""
        for receipt in receipts:
            what = going(self.catalogue, self.name, receipt)
            try:
                for path in torn_of(self._folder.parent, what):
                    path.unlink()
                    sync_folder(path.parent)
                if isinstance(self._embedder, CachedEmbedder):
                    self._embedder.forget(embedded(self.catalogue, what))
                if exported_files(self._folder.parent, [self.name]):
                    remove_exported(self._folder.parent, [self.name])
            except (OSError, sqlite3.Error, ExportRecordError) as error:
                raise CatalogueError(
                    f"What was to be erased is gone from {self.ledger.path}, but not yet from everything beside it: "
                    f"{error}. Put that right, then look at it again or restart: that finishes the erasure"
                ) from error

    def _known(self) -> int:
        known = self.catalogue.checkpoint(self.name)
        return known.seq if known else 0
