"""Read a ledger offline and say everything that is wrong with it, not only the first thing.

Keeps promise 2 for a person with nothing but the log folder: every line is checked by itself and against the lines
around it, and reading goes on after damage. Reads without a lock, writes nothing, and never ends in a traceback
whatever the file holds. Knows nothing about what events mean but for receipts of erasures, and nothing about
checkpoints: that a ledger was cut short or rewritten as a whole is found by `arpm.audit.checkpoint`.

After a line that disagrees, the next one is held against what that line states of itself, so that one change is told
once and not for every line that follows. What a damaged line states is not relied on: the line after it is only held
against the count of lines.
"""

from __future__ import annotations

import io
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Literal

from arpm.errors import InputError, NotFoundError
from arpm.events import (
    GENESIS,
    RECEIPT,
    BadLineError,
    Event,
    Line,
    UnknownEventError,
    body_problem,
    intact_line,
    is_canonical_body,
    named_as_erased,
    read_line,
    without_body,
)
from arpm.ids import is_id
from arpm.ledger import EMPTY, LEDGER_NAME, REWRITE_NAME, Checkpoint

# How many findings are told one by one; the rest is counted.
MOST_FINDINGS = 100
# Longer lines are passed over in pieces and reported. Far above any event that fits into the default upload limit.
LONGEST_LINE = 1 << 30
_PIECE = 1 << 20
# As `arpm.library` calls it, whose import would load the indexes.
_KNOWLEDGE = "knowledge"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")

FindingKind = Literal[
    # What one line shows by itself.
    "damaged",  # bytes of the line are not as they were written
    "body",  # the envelope holds, but the body is another one, or spelt otherwise
    "schema",  # intact, but not what the schema of its kind allows
    "unknown",  # of a kind or version that this version of ARPM does not know
    # What lines show together.
    "sequence",
    "link",
    "timeline",
    "duplicate",
    "erasure",
    "torn",
    # What the folder shows.
    "missing",
    "unreadable",
    "place",
    "claimed",
    "leftover",
    # What a checkpoint shows.
    "signature",
    "truncated",
    "rewritten",
    "unprovable",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that disagrees. `seq` and `line` count from 1 and are 0 where no line is meant; `offset` is in bytes.

    `seq` is what the line states, or the place that it has when the line cannot be relied on.
    """

    seq: int
    line: int
    offset: int
    event: str | None
    kind: FindingKind
    text: str

    def __str__(self) -> str:
        if not self.line:
            return self.text
        name = f"event {self.seq}" + (f" ({self.event})" if self.event else "")
        return f"line {self.line} (byte {self.offset}), {name}: {self.text}"


@dataclass(frozen=True, slots=True)
class Stated:
    """What a line says of its place; covered by the line's own hash."""

    seq: int
    id: str
    timeline: str
    prev: str
    hash: str


@dataclass(frozen=True, slots=True)
class Checked:
    """A line by itself. `stated` is None when nothing it says can be relied on; `problem` is what is wrong with it.

    `names` are the events whose bodies it says are erased; `erased` is whether its own is.
    """

    stated: Stated | None
    event: str | None = None
    problem: tuple[FindingKind, str] | None = None
    receipt: bool = False
    erased: bool = False
    names: tuple[str, ...] = ()


Check = Callable[[bytes], Checked]
# The first four members of a finding.
_Where = tuple[int, int, int, str | None]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a good event lies in its file."""

    offset: int
    size: int
    hash: str


@dataclass(frozen=True, slots=True)
class Chain:
    """A ledger as it was read. `findings` are in the order of the file; `more` were found beyond them.

    `hashes` has one entry for each whole line, None where it cannot be relied on. `tip` is the last event that can be.
    """

    path: Path
    timeline: str | None
    findings: tuple[Finding, ...]
    more: int
    torn_bytes: int
    tip: Checkpoint
    hashes: tuple[str | None, ...]
    erased: int
    good: tuple[Place, ...] = field(repr=False)

    @property
    def first(self) -> Finding | None:
        """The first thing that is wrong."""
        return self.findings[0] if self.findings else None

    @property
    def damaged(self) -> bool:
        """Whether anything disagrees but an unfinished last line, which a crash leaves and which never counted."""
        return self.more > 0 or any(finding.kind != "torn" for finding in self.findings)

    def lines(self) -> Iterator[tuple[Line, Place]]:
        """The good lines, read again: intact, known, valid, of this timeline, and each id once.

        Raises InputError when the file was changed since it was read.
        """
        with _opened(self.path) as file:
            for place in self.good:
                file.seek(place.offset)
                line = _read_again(file.read(place.size))
                if line is None or line.envelope["hash"] != place.hash:
                    raise InputError(f"{self.path} was changed while it was being read. Read it again, or a copy of it")
                yield line, place

    def events(self) -> Iterator[Event]:
        """The events of the good lines. Raises InputError as `lines` does."""
        for line, place in self.lines():
            yield line.event(place.offset, place.size)


@dataclass(frozen=True, slots=True)
class LedgerReport:
    """One ledger of a logs folder. `chain` is None when there was nothing to read; `remarks` are about its place."""

    name: str
    path: Path
    chain: Chain | None
    remarks: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that is wrong with it."""
        return (*self.remarks, *(self.chain.findings if self.chain else ()))


def read_chain(path: Path, timeline: str | None = None, *, limit: int = MOST_FINDINGS) -> Chain:
    """Read a ledger from beginning to end, whatever is wrong with it.

    With `timeline` None the first line says which timeline it is. Raises NotFoundError when there is no file, and
    InputError when it cannot be read at all.
    """
    try:
        with _opened(path) as file:
            return _Reader(path, timeline, check_line, limit).read(file, LONGEST_LINE)
    except OSError as error:
        raise _unreadable(path, error) from error


def read_bytes(data: bytes, timeline: str | None = None, *, check: Check | None = None) -> Chain:
    """The same for the bytes of a ledger. `check` may stand in for `check_line`, to remember lines seen before."""
    return _Reader(Path(LEDGER_NAME), timeline, check or check_line, MOST_FINDINGS).read(io.BytesIO(data), len(data))


def read_folder(logs: Path, *, limit: int = MOST_FINDINGS) -> list[LedgerReport]:
    """Read every ledger of a logs folder, and say what is wrong with the folder itself. In the order of their names.

    Also finds ledgers in folders and files of other names, as an archive that was unpacked halfway leaves them. Given
    the folder of one ledger, or a ledger file, reads that one. Raises NotFoundError and InputError.
    """
    try:
        reports = [_report(path, limit) for path in _ledgers(logs)]
    except OSError as error:
        raise _unreadable(logs, error) from error
    return _with_twins(reports)


def check_line(raw: bytes) -> Checked:
    """Check one line, without its line feed, by itself: spelling, digests and schema."""
    try:
        line = read_line(raw)
    except UnknownEventError as error:
        return _checked(intact_line(raw), ("unknown", _without_place(error)))
    except BadLineError as error:
        return _bad_line(raw, str(error))
    problem = body_problem(line)
    if problem is None:
        return _checked(line, None)
    return _checked(line, ("schema" if is_canonical_body(line) else "body", problem))


def _bad_line(raw: bytes, text: str) -> Checked:
    """A line that `read_line` refuses, with what it still says where its hash covers that."""
    try:
        return _checked(intact_line(raw), ("schema", text))
    except BadLineError:
        pass
    try:
        return replace(_checked(intact_line(without_body(raw)), ("body", text)), erased=False)
    except BadLineError:
        ids = re.findall(rb'"id":"([A-Za-z0-9_.:-]{1,128})"', raw[-1500:])
        return Checked(None, ids[-1].decode() if ids else None, ("damaged", text))


def _checked(line: Line, problem: tuple[FindingKind, str] | None) -> Checked:
    envelope = line.envelope
    seq, id, timeline = (envelope.get(name) for name in ("seq", "id", "timeline"))
    prev, own = envelope.get("prev"), envelope.get("hash")
    if not (type(seq) is int and isinstance(id, str) and isinstance(timeline, str) and _is_digest(prev, own)):
        return Checked(None, None, ("schema", "its envelope does not follow its schema"))
    return Checked(
        stated=Stated(seq, id, timeline, str(prev), str(own)),
        event=id,
        problem=problem,
        receipt=envelope.get("kind") == RECEIPT,
        erased=line.body == b"null",
        names=() if problem else tuple(named_as_erased(line)),
    )


def _is_digest(*values: object) -> bool:
    return all(isinstance(value, str) and _DIGEST.fullmatch(value) for value in values)


def _without_place(error: UnknownEventError) -> str:
    """The text from where it says what the event is; the place is told by the finding."""
    return "it " + str(error).partition(") ")[2]


class _Reader:
    """One pass over a ledger: what is expected of the next line, and what was found so far."""

    def __init__(self, path: Path, timeline: str | None, check: Check, limit: int) -> None:
        self._path = path
        self._check = check
        self._limit = limit
        self._timeline = timeline
        self._own_timeline: str | None = None
        self._due = 1
        self._prev: str | None = GENESIS
        self._tip = EMPTY
        self._line = 0
        self._ids: dict[str, int] = {}
        self._hashes: list[str | None] = []
        self._good: list[Place] = []
        self._findings: list[Finding] = []
        self._more = 0
        # A line that cannot be read may have been the receipt of an erasure.
        self._receipt_lost = False
        self._erased: dict[str, _Where] = {}
        self._names: dict[str, int] = {}
        self._whole: dict[str, _Where] = {}

    def read(self, file: BinaryIO, longest: int) -> Chain:
        offset, torn = 0, 0
        while raw := file.readline(longest + 1):
            size = len(raw) if raw.endswith(b"\n") else len(raw) + _rest(file, len(raw) > longest)
            if not raw.endswith(b"\n") and not _ended_line(file, size > len(raw)):
                torn = size
                self._torn(offset, size)
            elif size > longest:
                self._too_long(offset, size, longest)
            else:
                self._take(raw, offset)
            offset += size
        self._hold_against_receipts()
        return Chain(
            path=self._path,
            timeline=self._own_timeline,
            findings=tuple(sorted(self._findings, key=lambda finding: finding.line)),
            more=self._more,
            torn_bytes=torn,
            tip=self._tip,
            hashes=tuple(self._hashes),
            erased=len(self._erased),
            good=tuple(self._good),
        )

    # -- lines -------------------------------------------------------------------------------------------------------

    def _take(self, raw: bytes, offset: int) -> None:
        self._line += 1
        checked = self._check(raw[:-1])
        stated = checked.stated
        where = (stated.seq if stated else self._due, self._line, offset, checked.event)
        found = [checked.problem] if checked.problem else []
        if stated is None:
            self._skip()
        else:
            found += self._held_against(stated)
            self._due, self._prev = stated.seq + 1, stated.hash
            self._tip = Checkpoint(stated.seq, stated.hash, offset + len(raw))
            self._hashes.append(stated.hash)
            self._remember(checked, stated, where)
            if not found or all(kind in ("sequence", "link") for kind, _ in found):
                self._good.append(Place(offset, len(raw), stated.hash))
        for kind, text in found:
            self._add(Finding(*where, kind, text))

    def _held_against(self, stated: Stated) -> list[tuple[FindingKind, str]]:
        """What disagrees with the lines before. Also remembers the line's id and timeline."""
        found: list[tuple[FindingKind, str]] = []
        if stated.seq != self._due:
            found.append(("sequence", f"its seq is {stated.seq} where {self._due} is due"))
        if self._prev is not None and stated.prev != self._prev:
            before = f"the hash of event {self._due - 1}" if self._prev != GENESIS else "that of a first event"
            found.append(("link", f"its prev is not {before}"))
        expected = self._timeline if self._own_timeline is None else self._own_timeline
        if self._own_timeline is None:
            self._own_timeline = stated.timeline
        if expected is not None and stated.timeline != expected:
            text = f"it belongs to the timeline {_named(stated.timeline)}, not to {_named(expected)}"
            found.append(("timeline", text))
        if stated.id in self._ids:
            found.append(("duplicate", f"its id is that of line {self._ids[stated.id]}"))
        self._ids.setdefault(stated.id, self._line)
        return found

    def _remember(self, checked: Checked, stated: Stated, where: _Where) -> None:
        """What receipts will be held against."""
        if checked.names:
            self._names.update(dict.fromkeys(checked.names, self._line))
        if checked.problem is not None:
            self._receipt_lost = True
        if checked.erased:
            self._erased.setdefault(stated.id, where)
        elif checked.problem is None:
            self._whole.setdefault(stated.id, where)

    def _skip(self) -> None:
        self._due += 1
        self._prev = None
        self._hashes.append(None)
        self._receipt_lost = True

    def _too_long(self, offset: int, size: int, longest: int) -> None:
        self._line += 1
        text = f"its {size:,} bytes were not checked: the longest line that is has {longest:,}"
        self._add(Finding(self._due, self._line, offset, None, "damaged", text))
        self._skip()

    def _torn(self, offset: int, size: int) -> None:
        self._receipt_lost = True
        text = (
            f"the last {size:,} bytes are an unfinished line, as a crash leaves it. It was never acknowledged, or its "
            "line feed is damaged"
        )
        if not self._line:
            text = f"the file holds no whole line, only {size:,} bytes without a line feed: is it a ledger?"
        self._add(Finding(self._due, self._line + 1, offset, None, "torn", text))

    # -- receipts ----------------------------------------------------------------------------------------------------

    def _hold_against_receipts(self) -> None:
        """An erased body must be named by a later receipt, and what a receipt names must be erased.

        Only where every line can be read: otherwise the receipt may be the line that cannot.
        """
        if self._receipt_lost:
            return
        for id, where in self._erased.items():
            if self._names.get(id, 0) <= where[1]:
                text = "its body is missing, and no receipt of an erasure names it"
                self._add(Finding(*where, "erasure", text))
        for id in self._names.keys() & self._whole.keys():
            text = f"its body is still there although line {self._names[id]} says that it was erased"
            self._add(Finding(*self._whole[id], "erasure", text))

    def _add(self, finding: Finding) -> None:
        """Keep the findings that come first in the file."""
        if len(self._findings) < self._limit:
            self._findings.append(finding)
            return
        self._more += 1
        last = max(range(self._limit), key=lambda place: self._findings[place].line, default=None)
        if last is not None and self._findings[last].line > finding.line:
            self._findings[last] = finding


def _rest(file: BinaryIO, more: bool) -> int:
    """Pass over what is left of a line that is too long. Returns how many bytes that were."""
    size = 0
    while more and (piece := file.readline(_PIECE)):
        size += len(piece)
        more = not piece.endswith(b"\n")
    return size


def _ended_line(file: BinaryIO, passed_over: bool) -> bool:
    """Whether the line just passed over ended in a line feed."""
    if not passed_over:
        return False
    file.seek(-1, io.SEEK_CUR)
    return file.read(1) == b"\n"


def _read_again(raw: bytes) -> Line | None:
    try:
        return read_line(raw.removesuffix(b"\n"))
    except (BadLineError, UnknownEventError):
        return None


def _named(name: str) -> str:
    return repr(name if len(name) <= 60 else name[:57] + "...")


# -- folders ----------------------------------------------------------------------------------------------------------


def _ledgers(logs: Path) -> list[Path]:
    """Every file that is a ledger, and every place where one is missing."""
    if not logs.exists():
        raise NotFoundError(f"there is no folder {logs}")
    if not logs.is_dir():
        return [logs]
    if (logs / LEDGER_NAME).is_file():
        return [logs / LEDGER_NAME, *_strays(logs)]
    found = _strays(logs)
    for folder in sorted(path for path in logs.iterdir() if path.is_dir() and not path.name.startswith(".")):
        strays = _strays(folder)
        if (folder / LEDGER_NAME).exists() or _is_ledger_name(folder.name) or (folder / REWRITE_NAME).exists():
            found.append(folder / LEDGER_NAME)
        found += strays
    return found


def _is_ledger_name(name: str) -> bool:
    return name == _KNOWLEDGE or is_id(name, "t")


def _strays(folder: Path) -> list[Path]:
    """Files of other names whose first line is an event."""
    files = sorted(path for path in folder.glob("*.jsonl") if path.name != LEDGER_NAME and path.is_file())
    return [path for path in files if _begins_as_ledger(path)]


def _begins_as_ledger(path: Path) -> bool:
    with path.open("rb") as file:
        raw = file.readline(_PIECE)
    return raw.endswith(b"\n") and check_line(raw[:-1]).stated is not None


def _report(path: Path, limit: int) -> LedgerReport:
    name, remarks = path.parent.name, []
    if path.with_name(REWRITE_NAME).exists() and path.name == LEDGER_NAME:
        text = f"{REWRITE_NAME} is left over from an erasure that was interrupted; the service removes it"
        remarks.append(_remark("leftover", text))
    if path.name != LEDGER_NAME:
        name = path.name
    try:
        chain = read_chain(path, limit=limit)
    except NotFoundError:
        return LedgerReport(name, path, None, (_remark("missing", f"there is no {LEDGER_NAME} in it"), *remarks))
    except InputError as error:
        return LedgerReport(name, path, None, (_remark("unreadable", str(error)), *remarks))
    if chain.timeline is not None and chain.timeline != name:
        text = f"its events belong to the timeline {_named(chain.timeline)}, so its place is another"
        remarks.append(_remark("place", text))
    return LedgerReport(name, path, chain, tuple(remarks))


def _with_twins(reports: Sequence[LedgerReport]) -> list[LedgerReport]:
    """Name every two files that claim one timeline: at most one of them is its ledger."""
    claims = Counter(report.chain.timeline for report in reports if report.chain)
    return [
        replace(report, remarks=(*report.remarks, *_claims(report, reports)))
        if report.chain and report.chain.timeline is not None and claims[report.chain.timeline] > 1
        else report
        for report in reports
    ]


def _claims(report: LedgerReport, reports: Sequence[LedgerReport]) -> Iterator[Finding]:
    assert report.chain is not None
    for other in reports:
        if other is report or other.chain is None or other.chain.timeline != report.chain.timeline:
            continue
        shared = _shared(report.chain.hashes, other.chain.hashes)
        sizes = len(report.chain.hashes), len(other.chain.hashes)
        if shared == max(sizes):
            how = "both hold the same events"
        elif shared == min(sizes):
            how = f"the first {shared} events are the same, and {'this' if sizes[0] > sizes[1] else 'that'} one goes on"
        else:
            how = f"the first {shared} events are the same, the next ones differ"
        yield _remark("claimed", f"{other.path} claims the same timeline: {how}")


def _shared(one: Sequence[str | None], other: Sequence[str | None]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def _remark(kind: FindingKind, text: str) -> Finding:
    return Finding(0, 0, 0, None, kind, text)


def _opened(path: Path) -> BinaryIO:
    """Open a regular file. Anything else is refused: opening a pipe would wait for ever."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise InputError(f"{path} is not a file")
    return path.open("rb")


def _unreadable(path: Path, error: OSError) -> NotFoundError | InputError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return NotFoundError(f"there is no file {path}")
    return InputError(f"{path} cannot be read: {error.strerror or error}")
