"""The timelines of a logs folder as their ledgers say, read offline: for statistics and exports.

A damaged ledger counts up to the first thing that is wrong with it, and says so: what comes after it may rest on what
is lost. Takes no lock and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from arpm.audit.chain import Chain, Finding, read_chain
from arpm.errors import ArpmError, NotFoundError
from arpm.events import Event
from arpm.ids import is_id
from arpm.ledger import LEDGER_NAME


@dataclass(frozen=True, slots=True)
class Readable:
    """A ledger, as far as it is good. `damage` says what ends it early; None when all of it is good."""

    name: str
    chain: Chain | None
    damage: str | None

    def events(self) -> Iterator[Event]:
        """Its good events, oldest first. Raises InputError when the file was changed meanwhile."""
        if self.chain is None:
            return
        end = self._end(self.chain)
        for event in self.chain.events():
            if end is not None and event.offset >= end:
                return
            yield event

    @staticmethod
    def _end(chain: Chain) -> int | None:
        first = _first_wrong(chain)
        return first.offset if first else None


def read_timelines(logs: Path, wanted: Sequence[str] = ()) -> list[Readable]:
    """The timelines of a folder, or those wanted. Raises NotFoundError for one that is not there."""
    return [read_ledger(logs, name) for name in names_of_timelines(logs, wanted)]


def names_of_timelines(logs: Path, wanted: Sequence[str] = ()) -> list[str]:
    """The ids of the timelines of a folder, or those wanted. Raises NotFoundError for one that is not there."""
    if not logs.is_dir():
        raise NotFoundError(f"{logs} is no folder; name one with --logs")
    there = sorted(path.name for path in logs.iterdir() if is_id(path.name, "t") and (path / LEDGER_NAME).exists())
    for name in wanted:
        if name not in there:
            raise NotFoundError(f"there is no timeline {name!r} in {logs}; there are {', '.join(there) or 'none'}")
    return list(dict.fromkeys(wanted or there))


def read_ledger(logs: Path, name: str) -> Readable:
    """One ledger of a folder; an empty one where there is none."""
    path = logs / name / LEDGER_NAME
    if not path.exists():
        return Readable(name, None, None)
    try:
        chain = read_chain(path, name)
    except (ArpmError, OSError) as error:
        return Readable(name, None, str(error))
    first = _first_wrong(chain)
    return Readable(name, chain, f"{path}, {first}" if first else None)


def _first_wrong(chain: Chain) -> Finding | None:
    """The first finding that is damage. An unfinished last line is none: it never counted."""
    return next((finding for finding in chain.findings if finding.kind != "torn"), None)
