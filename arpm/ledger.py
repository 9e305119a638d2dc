"""The ledger: an append-only file of hash-chained events, and the lock on the folder that holds ledgers.

Keeps promises 1 and 2: an append returns only after write and fsync, an event is wholly there or wholly absent, and a
changed byte is found and located. An event counts once its newline is on disk: a last line without one was never
acknowledged, so it is moved aside, byte for byte, and reported. Nothing else is ever repaired. Bodies are erased in one
step with the receipt that names them (promise 5). Knows nothing else about what events mean; that a ledger was cut
short or rewritten as a whole shows only against a saved `Checkpoint`.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import threading
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import filelock

from arpm.errors import ArpmError, BusyError, InputError, NotFoundError
from arpm.events import (
    GENESIS,
    BadLineError,
    Draft,
    Event,
    Line,
    Sealed,
    UnknownEventError,
    is_canonical_body,
    named_as_erased,
    read_line,
    seal,
    without_body,
    write_line,
)

LEDGER_NAME = "ledger.jsonl"
# A ledger that is being written anew; it takes the ledger's name once it is whole and on the disk.
REWRITE_NAME = "ledger.rewrite"
_CHUNK = 1 << 16
# As in the schema of the envelope: a longer name could be written but never be read again.
_LONGEST_NAME = 200


class DamagedLedgerError(ArpmError):
    """A ledger is not as it was written. `seq` and `line` count from 1, `offset` is in bytes; nothing was changed."""

    def __init__(self, path: Path, seq: int, offset: int, event_id: str | None, reason: str) -> None:
        name = f"event {seq}" + (f" ({event_id})" if event_id else "")
        super().__init__(
            f"{path} is damaged at line {seq} (byte {offset}), {name}: {reason}. Nothing was changed. Keep a copy of "
            "the file, then put back a good one from a backup or an export; `arpm verify` checks a file"
        )
        self.path, self.line, self.offset, self.seq, self.event_id, self.reason = (
            path,
            seq,
            offset,
            seq,
            event_id,
            reason,
        )


class LedgerWriteError(ArpmError):
    """An event could not be made durable and was not acknowledged; every event before it is kept."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A place in a ledger: its event `seq`, that event's `hash`, and the file's size in bytes just after it."""

    seq: int
    hash: str
    size: int


EMPTY = Checkpoint(0, GENESIS, 0)


@dataclass(frozen=True, slots=True)
class Placed:
    """A checked line and where it lies: `before` is the tip that it extends, `tip` the one it makes."""

    line: Line
    before: Checkpoint
    tip: Checkpoint

    @property
    def id(self) -> str:
        return str(self.line.envelope["id"])

    def event(self) -> Event:
        return self.line.event(self.before.size, self.tip.size - self.before.size)


@dataclass(frozen=True, slots=True)
class Verification:
    """What `verify` found: the last event that counts, and the bytes of an unfinished line after it (0 if none)."""

    tip: Checkpoint
    torn_bytes: int


def walk(
    path: Path, timeline: str | None = None, start: Checkpoint = EMPTY, end: int | None = None
) -> Iterator[Placed]:
    """Check and yield every whole line after `start`, which is trusted, up to byte `end` or an unfinished last line.

    With `timeline` None the first line says which timeline it is. Raises DamagedLedgerError, UnknownEventError and
    OSError.
    """
    with path.open("rb") as file:
        yield from _walk_file(file, path, timeline, start, end)


def verify(path: Path, timeline: str | None = None, checkpoint: Checkpoint | None = None) -> Verification:
    """Check every byte of a ledger without changing it; with `checkpoint`, also that it was not cut or rewritten.

    Raises DamagedLedgerError at the first thing that disagrees, UnknownEventError, and NotFoundError for no file.
    """
    tip = EMPTY
    try:
        for placed in _walk_whole(path, timeline, checkpoint):
            if placed.line.body != b"null" and not is_canonical_body(placed.line):
                raise _damage(path, placed, "its body is not in canonical form")
            tip = placed.tip
        return Verification(tip, path.stat().st_size - tip.size)
    except OSError as error:
        raise NotFoundError(f"the ledger {path} cannot be read: {error.strerror or error}") from error


class _Index:
    """Where each event after `after` begins, and which ids they have taken."""

    def __init__(self, after: Checkpoint) -> None:
        self.after = after
        self.ids: set[str] = set()
        self._offsets = array("Q")

    def add(self, offset: int, event_id: str) -> None:
        self._offsets.append(offset)
        self.ids.add(event_id)

    def offset(self, seq: int) -> int:
        return self._offsets[seq - self.after.seq - 1]


class Ledger:
    """One open ledger. Safe to use from several threads; a `FolderLock` keeps other processes out.

    `torn` is where an unfinished last line was moved when this ledger was opened (or repaired), else None.
    """

    def __init__(self, folder: Path, timeline: str, now: Callable[[], datetime], descriptor: int) -> None:
        self.path = folder / LEDGER_NAME
        self.timeline = timeline
        self.torn: Path | None = None
        self._now = now
        self._descriptor = descriptor
        self._identity = _identity(descriptor)
        self._lock = threading.RLock()
        self._tip = EMPTY
        self._index = _Index(EMPTY)
        self._suspect = False

    @classmethod
    def open(
        cls,
        folder: Path,
        timeline: str,
        *,
        now: Callable[[], datetime],
        checkpoint: Checkpoint | None = None,
        create: bool = True,
    ) -> Self:
        """Open `folder`/ledger.jsonl, checking it from `checkpoint` on, or all of it without one.

        A checkpoint is a `tip` that the caller saved. When the ledger no longer holds it, or is gone, that is
        damage, never a new start. `create` False refuses to start an empty ledger where there was none.
        Raises InputError, DamagedLedgerError, UnknownEventError, NotFoundError and LedgerWriteError.
        """
        if not 1 <= len(timeline) <= _LONGEST_NAME:
            raise InputError(f"a timeline's name has 1 to {_LONGEST_NAME} characters; got {len(timeline)}")
        path = folder / LEDGER_NAME
        saved = checkpoint if checkpoint != EMPTY else None
        if saved is not None and not path.exists():
            raise _lost(path, EMPTY, saved)
        if not create and not path.exists():
            raise NotFoundError(f"there is no ledger {path}")
        try:
            ledger = cls(folder, timeline, now, _open(path))
            with ExitStack() as on_error:
                on_error.callback(ledger.close)
                ledger._load(saved)
                on_error.pop_all()
        except OSError as error:
            raise LedgerWriteError(_failure(path, "opened", error)) from error
        return ledger

    @property
    def tip(self) -> Checkpoint:
        """The last acknowledged event; seq 0 when there is none. Save it to open the ledger quickly later."""
        return self._tip

    def append(self, draft: Draft | Sealed) -> Event:
        """Write one event and return it once it is durable. See `append_many` for the errors."""
        return self.append_many([draft])[0]

    def append_many(self, drafts: Sequence[Draft | Sealed]) -> list[Event]:
        """Write events with one write and one fsync, and return them once they are durable.

        A crash may leave the first few of them, never part of one. A draft is sealed before the lock is taken;
        passing `seal(draft)` moves that work elsewhere. Raises InvalidEventError and NotCanonicalError (nothing was
        written), LedgerWriteError (nothing was kept) and DamagedLedgerError (the file was changed by someone else).
        """
        sealed = [seal(draft) if isinstance(draft, Draft) else draft for draft in drafts]
        with self._lock:
            self._make_ready()
            self._check_new_ids(sealed)
            events, data = self._chained(sealed)
            if events:
                self._write(data)
                self._advance(events)
                self._suspect = False
        return events

    def erase(self, receipt: Draft, events: Collection[str]) -> Event:
        """Replace the bodies of `events` by null and append the `receipt` that names them, all in one step.

        The whole file is written anew beside the old one, checked, synced, and only then takes its place: a crash
        leaves the old file or the new one. Raises the errors of `append_many`, and NotFoundError for an id that is
        not there; nothing was changed then.
        """
        sealed = seal(receipt)
        with self._lock:
            self._make_ready()
            self._check_new_ids([sealed])
            event = self._rewrite(frozenset(events), sealed)
        assert event is not None
        return event

    def events(self, start_seq: int = 0) -> Iterator[Event]:
        """The events from `start_seq` on, up to the tip of this moment, each checked as it is read."""
        with self._lock, ExitStack() as on_error:
            # Place and file belong together: an erasure changes both, and this one goes on with what it opened.
            start, tip = self._before(start_seq), self._tip
            file = on_error.enter_context(self.path.open("rb"))
            on_error.pop_all()
        with file:
            for placed in _walk_file(file, self.path, self.timeline, start, tip.size):
                yield placed.event()

    def read(self, seq: int) -> Event:
        """The event at place `seq`, from 1. Raises NotFoundError and DamagedLedgerError."""
        with self._lock:
            if not 1 <= seq <= self._tip.seq:
                raise NotFoundError(f"{self.path} has no event {seq}; its events are 1 to {self._tip.seq}")
            if seq <= self._index.after.seq:
                self._index_whole()
            return self.event_at(self._index.offset(seq))

    def event_at(self, offset: int) -> Event:
        """The event whose line begins at byte `offset`. Raises NotFoundError and DamagedLedgerError."""
        with self._lock, self.path.open("rb") as file:
            file.seek(max(0, offset - 1))
            begins = 0 <= offset < self._tip.size and (offset == 0 or file.read(1) == b"\n")
            raw = file.readline()
        if not begins:
            raise NotFoundError(f"no event of {self.path} begins at byte {offset}")
        try:
            return read_line(raw.removesuffix(b"\n")).event(offset, len(raw))
        except BadLineError as error:
            seq, event_id = _stated(raw)
            raise DamagedLedgerError(self.path, seq, offset, event_id, str(error)) from error

    def verify(self) -> Verification:
        """Check every byte of the file, whatever was trusted when it was opened."""
        return verify(self.path, self.timeline, self._tip)

    def close(self) -> None:
        """Close the file. Appending afterwards raises LedgerWriteError."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- opening -----------------------------------------------------------------------------------------------------

    def _load(self, checkpoint: Checkpoint | None) -> None:
        if (unfinished := self.path.with_name(REWRITE_NAME)).exists():
            unfinished.unlink()
        named = set[str]()
        if checkpoint is not None and _ends_at(self.path, self.timeline, checkpoint):
            self._tip, self._index = checkpoint, _Index(checkpoint)
            places = walk(self.path, self.timeline, checkpoint)
        else:
            # Without a checkpoint, or since erasing a body moved what came after it.
            places = _walk_whole(self.path, self.timeline, checkpoint)
        for placed in places:
            self._index.add(placed.before.size, placed.id)
            self._tip = placed.tip
            named.update(named_as_erased(placed.line))
        self._quarantine()
        if named:
            self._finish_erasing(named)

    def _finish_erasing(self, named: Collection[str]) -> None:
        """Erase what a receipt names and is still there: by a writer that appends the receipt first, say."""
        places = walk(self.path, self.timeline, end=self._tip.size)
        left = {placed.id for placed in places if placed.id in named and placed.line.body != b"null"}
        if left:
            self._rewrite(left, None)

    def _index_whole(self) -> None:
        index = _Index(EMPTY)
        for placed in walk(self.path, self.timeline, end=self._tip.size):
            index.add(placed.before.size, placed.id)
        self._index = index

    def _quarantine(self) -> None:
        """Move what follows the tip to a `.torn` file: first written and synced there, only then cut off here."""
        size = os.fstat(self._descriptor).st_size
        if size == self._tip.size:
            return
        stamp = self._now().astimezone(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        try:
            rest = _read_between(self.path, self._tip.size, size)
            self.torn = _write_new(self.path.with_name(f"ledger.torn-{stamp}"), rest)
            os.ftruncate(self._descriptor, self._tip.size)
            os.fsync(self._descriptor)
        except OSError as error:
            raise LedgerWriteError(
                _failure(self.path, "repaired (its unfinished last line moved aside)", error)
            ) from error

    # -- writing -----------------------------------------------------------------------------------------------------

    def _make_ready(self) -> None:
        if self._descriptor < 0:
            raise LedgerWriteError(f"{self.path} is closed; nothing was written")
        if self._suspect:
            self._repair()
        there = _status(self.path)
        if there is None or (there.st_dev, there.st_ino) != self._identity:
            raise LedgerWriteError(
                f"{self.path} was removed or replaced while it was in use; nothing was written. Put it back, or restart"
            )
        if there.st_size != self._tip.size:
            reason = f"another program changed the file: it has {there.st_size} bytes where {self._tip.size} were left"
            raise DamagedLedgerError(self.path, self._tip.seq + 1, self._tip.size, None, reason)

    def _check_new_ids(self, sealed: Sequence[Sealed]) -> None:
        # Random ids cannot be older than this object; so a ledger opened at a checkpoint need not be read for them.
        if self._index.after.seq and any(item.draft.id is not None for item in sealed):
            self._index_whole()
        fresh = set[str]()
        for item in sealed:
            if item.id in fresh or item.id in self._index.ids:
                raise InputError(f"an event with the id {item.id!r} is in {self.path} already; nothing was written")
            fresh.add(item.id)

    def _chained(self, sealed: Sequence[Sealed]) -> tuple[list[Event], bytes]:
        events, lines, tip = list[Event](), list[bytes](), self._tip
        for item in sealed:
            event, line = write_line(item, tip.seq + 1, self.timeline, tip.hash, tip.size)
            tip = Checkpoint(event.seq, event.hash, event.end)
            events.append(event)
            lines.append(line)
        return events, b"".join(lines)

    def _write(self, data: bytes) -> None:
        # Until the new tip is known the file may hold anything after the old one, whatever interrupts us.
        self._suspect = True
        try:
            written = os.write(self._descriptor, data)
            if written != len(data):
                raise OSError(errno.ENOSPC, f"only {written} of {len(data)} bytes could be written")
        except OSError as error:
            self._suspect = not self._cut_back()
            raise LedgerWriteError(_failure(self.path, "written", error)) from error
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            # After a failed fsync the kernel may hold pages that never reach the disk: reopen before the next append.
            self._cut_back()
            raise LedgerWriteError(_failure(self.path, "written", error)) from error

    def _rewrite(self, erased: Collection[str], receipt: Sealed | None) -> Event | None:
        """Put a copy without the bodies of `erased` and with the receipt at its end in the place of the file."""
        new = self.path.with_name(REWRITE_NAME)
        descriptor = -1
        try:
            descriptor = os.open(new, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            _keep_access(self._descriptor, descriptor)
            index, tip = self._copied(descriptor, erased)
            event, line = (None, b"") if receipt is None else _after(tip, receipt, self.timeline)
            if event is not None:
                _write_all(descriptor, line)
                index.add(event.offset, event.id)
                tip = Checkpoint(event.seq, event.hash, event.end)
            # The old file holds the only other copy: the new one must be whole before it goes.
            if verify(new, self.timeline) != Verification(tip, 0):
                raise OSError(errno.EIO, "the copy that was written differs from what was meant")
            os.fsync(descriptor)
            new.replace(self.path)
        except BaseException as error:
            if descriptor >= 0:
                os.close(descriptor)
            new.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise LedgerWriteError(_failure(self.path, "rewritten", error)) from error
            raise
        stale, self._descriptor, self._identity = self._descriptor, descriptor, _identity(descriptor)
        self._index, self._tip, self._suspect = index, tip, False
        os.close(stale)
        try:
            sync_folder(self.path.parent)
        except OSError as error:
            raise LedgerWriteError(_failure(self.path, "rewritten for good", error)) from error
        return event

    def _copied(self, descriptor: int, erased: Collection[str]) -> tuple[_Index, Checkpoint]:
        """Write every line to `descriptor`, without the bodies of `erased`. Returns where the lines are now."""
        index, tip, missing = _Index(EMPTY), EMPTY, set(erased)
        with self.path.open("rb") as old, os.fdopen(os.dup(descriptor), "wb", 1 << 20) as copy:
            for placed in walk(self.path, self.timeline, end=self._tip.size):
                line = old.read(placed.tip.size - placed.before.size)
                if placed.id in missing:
                    missing.remove(placed.id)
                    line = without_body(line)
                copy.write(line)
                index.add(tip.size, placed.id)
                tip = Checkpoint(placed.tip.seq, placed.tip.hash, tip.size + len(line))
        if missing:
            raise NotFoundError(f"{self.path} has no event {min(missing)!r}; nothing was erased")
        return index, tip

    def _cut_back(self) -> bool:
        """Whether the file is again as it was before the failed write."""
        try:
            os.ftruncate(self._descriptor, self._tip.size)
            os.fsync(self._descriptor)
        except OSError:
            return False
        return True

    def _repair(self) -> None:
        """Reopen after a failed write, check that the tip is still there, and move anything after it aside."""
        try:
            stale, self._descriptor = self._descriptor, _open_existing(self.path)
            os.close(stale)
            self._identity = _identity(self._descriptor)
            if not _ends_at(self.path, self.timeline, self._tip):
                reason = "the last acknowledged event is no longer where it was written"
                raise DamagedLedgerError(self.path, self._tip.seq, self._tip.size, None, reason)
            self._quarantine()
            os.fsync(self._descriptor)
            self._index_whole()
        except OSError as error:
            raise LedgerWriteError(_failure(self.path, "reopened after a failed write", error)) from error
        self._suspect = False

    def _advance(self, events: Sequence[Event]) -> None:
        for event in events:
            self._index.add(event.offset, event.id)
        last = events[-1]
        self._tip = Checkpoint(last.seq, last.hash, last.end)

    def _before(self, seq: int) -> Checkpoint:
        """The place just before event `seq`."""
        tip, after = self._tip, self._index.after
        if seq <= 1:
            return EMPTY
        if seq > tip.seq:
            return tip
        if seq == after.seq + 1:
            return after
        event = self.read(seq - 1)
        return Checkpoint(event.seq, event.hash, event.end)


class FolderLock:
    """Keeps a folder of ledgers to one process. The system drops it when the process ends, however it ends.

    `folder`/.lock is locked; `folder`/.lock.json says who holds it, for the message to the second process.
    """

    def __init__(self, folder: Path, *, now: Callable[[], datetime]) -> None:
        self._holder = folder / ".lock.json"
        self._now = now
        # Taken in one thread, released in another: the lock is the process's, not a thread's.
        self._lock = filelock.FileLock(folder / ".lock", timeout=0, thread_local=False)

    def acquire(self) -> None:
        """Take the lock or raise BusyError naming the process that has it. Creates the folder."""
        folder = self._holder.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
            self._holder.write_text(json.dumps({"pid": os.getpid(), "since": self._now().isoformat()}), "utf-8")
        except filelock.Timeout as error:
            raise BusyError(
                f"another ARPM process ({self._describe_holder()}) uses the folder {folder}. Stop it, or give this one "
                "another folder"
            ) from error
        except OSError as error:
            self._lock.release()
            raise InputError(f"the folder {folder} cannot be used: {error.strerror or error}") from error

    def release(self) -> None:
        """Give the lock back; does nothing when it is not held."""
        if self._lock.is_locked:
            self._holder.unlink(missing_ok=True)
            self._lock.release()

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _describe_holder(self) -> str:
        try:
            holder = json.loads(self._holder.read_text("utf-8"))
            return f"pid {holder['pid']}, since {holder['since']}"
        except (OSError, ValueError, KeyError, TypeError):
            return "it has just started or is stopping"


# -- lines ------------------------------------------------------------------------------------------------------------


def _walk_file(
    file: BinaryIO, path: Path, timeline: str | None, start: Checkpoint, end: int | None
) -> Iterator[Placed]:
    tip = start
    file.seek(start.size)
    while tip.size != end and (raw := file.readline()).endswith(b"\n"):
        line = _checked(path, raw, tip, timeline)
        timeline = line.envelope["timeline"]
        placed = Placed(line, tip, Checkpoint(tip.seq + 1, line.envelope["hash"], tip.size + len(raw)))
        yield placed
        tip = placed.tip


def _after(tip: Checkpoint, sealed: Sealed, timeline: str) -> tuple[Event, bytes]:
    return write_line(sealed, tip.seq + 1, timeline, tip.hash, tip.size)


def _walk_whole(path: Path, timeline: str | None, checkpoint: Checkpoint | None) -> Iterator[Placed]:
    """Every whole line; also checks that no id comes twice and that the checkpoint's event is there."""
    ids, tip, reached = set[str](), EMPTY, checkpoint in (None, EMPTY)
    for placed in walk(path, timeline):
        if placed.id in ids:
            raise _damage(path, placed, "its id belongs to an earlier event")
        ids.add(placed.id)
        tip = placed.tip
        reached = reached or (checkpoint is not None and (tip.seq, tip.hash) == (checkpoint.seq, checkpoint.hash))
        yield placed
    if checkpoint is not None and not reached:
        raise _lost(path, tip, checkpoint)


def _checked(path: Path, raw: bytes, tip: Checkpoint, timeline: str | None) -> Line:
    """The line after `tip`. One that cannot be read is named by the place it has."""
    try:
        line = read_line(raw[:-1])
        _check_link(line, tip, timeline)
    except BadLineError as error:
        raise DamagedLedgerError(path, tip.seq + 1, tip.size, _stated(raw)[1], str(error)) from error
    except UnknownEventError as error:
        raise UnknownEventError(f"{path}: {error}") from error
    return line


def _check_link(line: Line, tip: Checkpoint, timeline: str | None) -> None:
    envelope = line.envelope
    if envelope["seq"] != tip.seq + 1:
        raise BadLineError(f"its seq is {envelope['seq']} where {tip.seq + 1} is due")
    if envelope["prev"] != tip.hash:
        raise BadLineError(f"its prev is not the hash of event {tip.seq}")
    if timeline is not None and envelope["timeline"] != timeline:
        raise BadLineError(f"it belongs to the timeline {envelope['timeline']!r}, not to {timeline!r}")


def _ends_at(path: Path, timeline: str, checkpoint: Checkpoint) -> bool:
    """Whether the line that ends at the checkpoint's size is the checkpoint's event."""
    if checkpoint == EMPTY:
        return True
    raw = _line_before(path, checkpoint.size)
    if raw is None:
        return False
    try:
        envelope = read_line(raw[:-1]).envelope
    except BadLineError:
        return False
    return (envelope["seq"], envelope["hash"], envelope["timeline"]) == (checkpoint.seq, checkpoint.hash, timeline)


def _line_before(path: Path, end: int) -> bytes | None:
    """The whole line that ends just before byte `end`, newline included; None when none ends there."""
    with path.open("rb") as file:
        raw = b""
        while len(raw) < end and b"\n" not in raw[:-1]:
            start = max(0, end - max(_CHUNK, 2 * len(raw)))
            file.seek(start)
            raw = file.read(end - start)
            if len(raw) != end - start or not raw.endswith(b"\n"):
                return None
    return raw[raw.rfind(b"\n", 0, -1) + 1 :] if raw else None


def _damage(path: Path, placed: Placed, reason: str) -> DamagedLedgerError:
    return DamagedLedgerError(path, placed.tip.seq, placed.before.size, placed.id, reason)


def _lost(path: Path, tip: Checkpoint, checkpoint: Checkpoint) -> DamagedLedgerError:
    """A checkpoint that does not hold: the first event that must be missing, or differ, is named."""
    reason = (
        f"a saved checkpoint says that event {checkpoint.seq} has the hash {checkpoint.hash}, but the file does not "
        "hold it: it was cut short, rewritten or removed"
    )
    return DamagedLedgerError(path, min(tip.seq + 1, checkpoint.seq), tip.size, None, reason)


def _stated(raw: bytes) -> tuple[int, str | None]:
    """The seq (0 if none) and id that a damaged line states, as far as they can still be read."""
    ids = re.findall(rb'"id":"([A-Za-z0-9_.:-]{1,128})"', raw[-1500:])
    places = re.findall(rb'"seq":([0-9]{1,15})', raw[-1500:])
    return int(places[-1]) if places else 0, ids[-1].decode() if ids else None


# -- files ------------------------------------------------------------------------------------------------------------


def _open(path: Path) -> int:
    """Open for appending. A new file is made durable together with the folders that were missing."""
    if path.exists():
        return _open_existing(path)
    missing = [folder for folder in path.parents if not folder.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_CREAT, 0o600)
    for folder in {path.parent, *(folder.parent for folder in missing)}:
        sync_folder(folder)
    return descriptor


def _open_existing(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)


def _keep_access(old: int, new: int) -> None:
    """Give a new file the mode and the owner of the old one; the owner only where that is allowed."""
    status = os.fstat(old)
    os.fchmod(new, stat.S_IMODE(status.st_mode))
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):
            os.fchown(new, status.st_uid, status.st_gid)


def _write_all(descriptor: int, data: bytes) -> None:
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(data)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable: files made, renamed and deleted in it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_new(path: Path, data: bytes) -> Path:
    """Write `data` durably to a file of its own: `path`, or `path` with a number when that is taken."""
    number, target = 0, path
    while target.exists():
        number += 1
        target = path.with_name(f"{path.name}-{number}")
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(target.parent)
    return target


def _read_between(path: Path, start: int, end: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(end - start)


def _identity(descriptor: int) -> tuple[int, int]:
    """What tells an open file from another one that takes its name."""
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _failure(path: Path, action: str, error: OSError) -> str:
    """What to tell the person about a failed write."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        cause, remedy = "the disk is full", "Free some space and try again"
    else:
        cause, remedy = error.strerror or str(error), "Check the disk and the folder's permissions, then try again"
    kept = "The new event is not kept, everything before it is" if action == "written" else "Everything in it is kept"
    return f"{path} could not be {action}: {cause}. {kept}. {remedy}"
