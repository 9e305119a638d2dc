"""A ledger together with the catalogue's view of it: appending writes the ledger first, then the cache.

Keeps the promise that the ledger is the only truth: whatever the catalogue missed (a crash or a full disk in between)
is folded in from the ledger. The catalogue also remembers where the ledger ended, so a ledger that was cut short or
exchanged since is reported as damaged; `arpm rebuild` takes it as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from arpm.catalogue import Catalogue
from arpm.clock import Clock
from arpm.events import Draft, Event
from arpm.ledger import Ledger


class Store:
    """One ledger and its rows in the catalogue."""

    def __init__(self, folder: Path, name: str, catalogue: Catalogue, clock: Clock) -> None:
        """Open `folder`'s ledger and bring the catalogue up to date. Raises DamagedLedgerError."""
        self.name = name
        self.catalogue = catalogue
        self.ledger = Ledger.open(folder, name, now=clock.now, checkpoint=catalogue.checkpoint(name))
        self.catch_up()

    def append(self, kind: str, body: dict[str, Any], *, at: datetime, session: str | None = None) -> Event:
        """Record one event. When this returns, it is on the disk.

        Raises CatalogueError when it is there but the catalogue could not take it in: `catch_up` before going on.
        """
        return self.append_many([Draft(kind=kind, body=body, session=session, at=at)])[0]

    def append_many(self, drafts: Sequence[Draft]) -> list[Event]:
        """Record events in one write."""
        events = self.ledger.append_many(drafts)
        self.catch_up()
        return events

    def events(self) -> Iterator[Event]:
        """Every event, oldest first."""
        return self.ledger.events()

    def close(self) -> None:
        self.ledger.close()

    @property
    def behind(self) -> bool:
        """Whether the ledger holds more than the catalogue: an append reached the disk and the catalogue's did not."""
        return self._known() < self.ledger.tip.seq

    def catch_up(self) -> None:
        """Fold what the catalogue missed in. Raises CatalogueError when that does not work."""
        known = self._known()
        if known < self.ledger.tip.seq:
            self.catalogue.apply(self.ledger.events(known + 1), self.name, lambda event: event.end)

    def _known(self) -> int:
        known = self.catalogue.checkpoint(self.name)
        return known.seq if known else 0
