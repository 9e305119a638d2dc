"""Audits that are running: verify, replay and counterfactual, at most one of each, in a thread of its own.

All of them read the logs folder as it is on the disk, without a lock, and write nothing to it. The last one of each
kind can be followed again from its beginning, until something is erased. Knows nothing about HTTP.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, cast, get_args

from arpm.audit.chain import Finding, LedgerReport, read_folder
from arpm.audit.checkpoint import SignedCheckpoint, against, load
from arpm.audit.counterfactual import Intervention, Shift, shifts, summary
from arpm.audit.folder import recorded_vectors, timelines_of, turns_in
from arpm.audit.past import Past
from arpm.audit.replay import Depth, TurnReplay, replayed
from arpm.clock import SystemClock
from arpm.errors import ArpmError, BusyError, NotFoundError
from arpm.generation.base import Backend, Generation, GenerationRequest, OnText
from arpm.ids import is_id
from arpm.library import KNOWLEDGE
from arpm.service import Service
from arpm.web import strings
from arpm.web.errors import problem_of
from arpm.web.ledgers import Ledgers
from arpm.web.live import Live
from retrieval.embedding.base import Embedder
from retrieval.embedding.cache import CachedEmbedder

Kind = Literal["verify", "replay", "counterfactual"]
State = Literal["good", "disagrees", "unreadable"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# Where `arpm checkpoint` writes when it is not told otherwise, and the page what is exported: beside the server.
CHECKPOINTS, EXPORTS = "checkpoints", "exports"
# Of one run; what is beyond is counted.
MOST_TURNS = 500
MOST_DISAGREEMENTS = 50
_PATIENCE = 0.25
_END_SECONDS = 5.0


class _StoppedError(Exception):
    """Somebody stopped the run."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What the last verification said of a ledger: how many events it had then, and how many things disagreed."""

    state: State
    at: datetime
    events: int
    wrong: int


@dataclass(frozen=True, slots=True)
class Run:
    """One audit: what was asked, when it began, and what it tells."""

    live: Live
    at: datetime
    asked: Mapping[str, Any]
    work: Future[None]


class Audits:
    """The audits of one service."""

    def __init__(self, service: Service, home: Path) -> None:
        """`home` is the folder in which checkpoints and exports have theirs."""
        self.ledgers = Ledgers(service.logs)
        self.checkpoints, self.exports = home / CHECKPOINTS, home / EXPORTS
        self._service = service
        self._shifts: list[Shift] = []
        self._runs: dict[Kind, Run] = {}
        self._verified: dict[str, Verified] = {}
        self._pool = ThreadPoolExecutor(len(KINDS), thread_name_prefix="audit")
        self._lock = threading.Lock()

    def verify(self, names: Sequence[str]) -> Live:
        """Check ledgers, all or those named, and the arithmetic of their turns. Raises BusyError and NotFoundError."""
        known = self.ledgers.names()
        for name in names:
            if name not in known:
                raise NotFoundError(f"there is no ledger {name!r}; there are {', '.join(known) or 'none'}")
        return self._begin("verify", {"ledgers": list(names)}, lambda live: self._verify(names, live))

    def replay(self, timelines: Sequence[str], depth: Depth, model: str | None = None) -> Live:
        """Do the turns of timelines again; at the depth of generation `model` may answer in the place of the recorded
        ones. Raises BusyError and NotFoundError.
        """
        names = timelines_of(self._service.logs, timelines)
        self._check_model(model)
        asked = {"timelines": list(timelines), "depth": depth, "model": model}
        return self._begin("replay", asked, lambda live: self._replay(names, depth, model, live))

    def counterfactual(self, timelines: Sequence[str], intervention: Intervention, preset: str | None) -> Live:
        """Ask what turns would have been shown under another config. Raises BusyError and NotFoundError."""
        names = timelines_of(self._service.logs, timelines)
        self._check_model(intervention.model)
        asked = {
            "timelines": list(timelines),
            "preset": preset,
            "changes": dict(intervention.changes),
            "model": intervention.model,
        }
        return self._begin("counterfactual", asked, lambda live: self._counterfactual(names, intervention, live))

    def last(self, kind: Kind) -> Run | None:
        """The run of a kind that is going on, or the last one."""
        with self._lock:
            return self._runs.get(kind)

    def stop(self, kind: Kind) -> bool:
        """Stop a run; whether one was going on."""
        run = self.last(kind)
        if run is None or run.live.ended:
            return False
        run.live.cancel.set()
        return True

    def shifts(self) -> list[Shift]:
        """The turns of the last counterfactual, as far as it has come."""
        with self._lock:
            return list(self._shifts)

    def verified(self, name: str) -> Verified | None:
        """What the last verification since the start of this server said of a ledger."""
        with self._lock:
            return self._verified.get(name)

    def checkpoint(self, name: str) -> tuple[str, SignedCheckpoint] | None:
        """The last checkpoint of a ledger in the folder that `arpm checkpoint` writes to, and its file."""
        # The name holds the place in the ledger and the time, so the last by name is the last.
        for path in sorted(self.checkpoints.glob(f"{name}-*.json"), reverse=True):
            try:
                return str(path), load(path)
            except ArpmError:
                continue
        return None

    def forget(self) -> None:
        """Something was erased: stop what is running and remember no run, since their findings quote records."""
        with self._lock:
            for run in self._runs.values():
                run.live.cancel.set()
            self._runs.clear()
            self._shifts = []

    def close(self) -> None:
        """Stop every run and wait a moment for them."""
        with self._lock:
            runs = list(self._runs.values())
        for run in runs:
            run.live.cancel.set()
        wait([run.work for run in runs], _END_SECONDS)
        self._pool.shutdown(wait=False)

    # -- running -----------------------------------------------------------------------------------------------------

    def _begin(self, kind: Kind, asked: Mapping[str, Any], work: Callable[[Live], None]) -> Live:
        live = Live("done", "failed")
        with self._lock:
            earlier = self._runs.get(kind)
            if earlier is not None and not earlier.live.ended:
                raise BusyError(strings.AUDITING)
            future = self._pool.submit(work, live)
            self._runs[kind] = Run(live, SystemClock().now(), asked, future)
        future.add_done_callback(lambda done: _end(live, done))
        return live

    def _verify(self, names: Sequence[str], live: Live) -> None:
        logs = self._service.logs
        live.tell("progress", {"phase": "ledgers", "done": 0, "total": 0})
        if names:
            reports = [report for name in names for report in read_folder(logs / name)]
        else:
            reports = read_folder(logs)
        progress = _Progress(live, turns_in(logs, [report.name for report in reports if _is_timeline(report)]))
        for report in reports:
            progress.check()
            turns, error = _arithmetic(logs, report, progress)
            row = self._row(report, turns, error)
            live.tell("ledger", row)
            if report.path.parent.name == report.name:
                told = Verified(row["state"], SystemClock().now(), row["events"], row["wrong"] + len(row["findings"]))
                with self._lock:
                    self._verified[report.name] = told
        progress.tell()

    def _row(self, report: LedgerReport, turns: Sequence[TurnReplay] | None, error: str | None) -> dict[str, Any]:
        """What a verification has to say of one ledger."""
        chain = report.chain
        known = self.checkpoint(report.name) if chain is not None else None
        signed = against(known[1], chain) if known and chain else ()
        findings = (*report.findings, *signed)
        wrong = [turn for turn in turns or () if turn.disagreements]
        return {
            "name": report.name,
            "path": str(report.path),
            "state": _state(report, findings, wrong, error),
            "events": len(chain.hashes) if chain else 0,
            "erased": chain.erased if chain else 0,
            "tip": asdict(chain.tip) if chain else None,
            "torn_bytes": chain.torn_bytes if chain else 0,
            "findings": [asdict(finding) for finding in findings],
            "more": chain.more if chain else 0,
            "turns": len(turns) if turns is not None else None,
            "wrong": len(wrong),
            "disagreeing": [_turn_row(turn) for turn in wrong[:MOST_TURNS]],
            "not_checked": sorted({reason for turn in turns or () for reason in turn.skipped}),
            "error": error,
            "checkpoint": {"file": known[0], "seq": known[1].seq, "at": known[1].at} if known else None,
        }

    def _replay(self, names: Sequence[str], depth: Depth, model: str | None, live: Live) -> None:
        progress = _Progress(live, turns_in(self._service.logs, names))
        told = 0
        backends = self._backends(live) if depth == "generation" else None
        with self._vectors(depth != "arithmetic") as embedder:
            for name in names:
                started, error, turns = time.perf_counter(), None, list[TurnReplay]()
                try:
                    past = Past(self._service.logs, name, embedder)
                    for turn in replayed(past, depth, embedder, backends, model):
                        turns.append(turn)
                        progress.one_more()
                        if (not turn.same or turn.reply is not None) and told < MOST_TURNS:
                            told += 1
                            live.tell("turn", _turn_row(turn))
                except (ArpmError, OSError) as caught:
                    error = str(caught)
                live.tell("timeline", _timeline_row(name, turns, error, time.perf_counter() - started))
        progress.tell()

    def _counterfactual(self, names: Sequence[str], intervention: Intervention, live: Live) -> None:
        progress = _Progress(live, turns_in(self._service.logs, names))
        every = list[Shift]()
        with self._lock:
            self._shifts = every
        told = 0
        backends = self._backends(live) if intervention.model else None
        with self._vectors(True) as embedder:
            assert embedder is not None
            for name in names:
                try:
                    past = Past(self._service.logs, name, embedder)
                    for shift in shifts(past, intervention, embedder, backends):
                        every.append(shift)
                        progress.one_more()
                        if (shift.changed or shift.skipped) and told < MOST_TURNS:
                            told += 1
                            live.tell("shift", _shift_row(shift))
                except (ArpmError, OSError) as caught:
                    live.tell("timeline", {"timeline": name, "error": str(caught)})
        progress.tell()
        live.tell("summary", _summary_row(every, told))

    def _check_model(self, model: str | None) -> None:
        """Raises NotFoundError for a model that is not there, before anything begins."""
        if model is not None:
            self._service.models.sampling(model)

    def _backends(self, live: Live) -> Callable[[str], Backend]:
        """The service's models, which end a reply when the run is stopped."""
        return lambda name: cast(Backend, _Stoppable(self._service.models.get(name), live.cancel))

    @contextmanager
    def _vectors(self, needed: bool) -> Iterator[Embedder | None]:
        """The service's own model on a copy of its vectors: it need not be loaded again, and nothing is added."""
        model = self._service.embedder
        inner = model.inner if isinstance(model, CachedEmbedder) else model
        with recorded_vectors(self._service.settings, needed=needed, model=inner) as embedder:
            yield embedder


class _Stoppable:
    """A model whose reply ends, and with it the run, when somebody stops the run."""

    def __init__(self, inner: Backend, stop: threading.Event) -> None:
        self._inner = inner
        self._stop = stop

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def generate(self, request: GenerationRequest, on_text: OnText, cancel: threading.Event) -> Generation:
        done = self._inner.generate(request, on_text, self._stop)
        # What was cut off says nothing about the turn.
        if self._stop.is_set():
            raise _StoppedError
        return done


class _Progress:
    """How far a run is, told a few times a second; also the place where it notices that it was stopped."""

    def __init__(self, live: Live, total: int) -> None:
        self._live = live
        self._total = total
        self._turns = 0
        self._last = 0.0
        self.tell()

    def one_more(self) -> None:
        """Another turn is done."""
        self._turns += 1
        self.check()
        if time.monotonic() - self._last >= _PATIENCE:
            self.tell()

    def check(self) -> None:
        """Raises _StoppedError when the run was stopped."""
        if self._live.cancel.is_set():
            raise _StoppedError

    def tell(self) -> None:
        self._last = time.monotonic()
        # The total is counted without reading the turns, and may be a little off.
        done, total = self._turns, max(self._total, self._turns)
        self._live.tell("progress", {"phase": "turns", "done": done, "total": total})


def _end(live: Live, done: Future[None]) -> None:
    error = done.exception()
    if error is None or isinstance(error, _StoppedError):
        live.tell("done", {"stopped": error is not None})
    else:
        live.tell("failed", problem_of(error).as_dict())


def _is_timeline(report: LedgerReport) -> bool:
    return report.chain is not None and is_id(report.name, "t")


def _arithmetic(logs: Path, report: LedgerReport, progress: _Progress) -> tuple[list[TurnReplay] | None, str | None]:
    """The turns of a timeline, as far as its ledger can be read, and what ended them early."""
    if not _is_timeline(report):
        return None, None
    turns, error = list[TurnReplay](), None
    try:
        for turn in replayed(Past(logs, report.name, None), "arithmetic"):
            turns.append(turn)
            progress.one_more()
    except (ArpmError, OSError) as caught:
        error = str(caught)
    return turns, error


def _state(report: LedgerReport, findings: Sequence[Finding], wrong: Sequence[TurnReplay], error: str | None) -> State:
    if report.chain is None:
        return "unreadable"
    damage = report.chain.damaged or any(finding.kind != "torn" for finding in findings)
    return "disagrees" if damage or wrong or error else "good"


def _turn_row(turn: TurnReplay) -> dict[str, Any]:
    return {
        "timeline": turn.timeline,
        "event": turn.event,
        "seq": turn.seq,
        "round": turn.round,
        "disagreements": [asdict(item) for item in turn.disagreements[:MOST_DISAGREEMENTS]],
        "more": max(len(turn.disagreements) - MOST_DISAGREEMENTS, 0),
        "skipped": list(turn.skipped),
        "reply": turn.reply,
    }


def _timeline_row(name: str, turns: Sequence[TurnReplay], error: str | None, seconds: float) -> dict[str, Any]:
    return {
        "timeline": name,
        "turns": len(turns),
        "same": sum(turn.same for turn in turns),
        "different": sum(bool(turn.disagreements) for turn in turns),
        "skipped": sum(bool(turn.skipped) for turn in turns),
        "error": error,
        "seconds": round(seconds, 3),
    }


def _shift_row(shift: Shift) -> dict[str, Any]:
    row = asdict(shift)
    if shift.reply_after is None:
        # Nobody answered again, so there is nothing to hold the recorded reply against.
        row["reply_before"] = None
    return {**row, "overlap": _by_cut(shift.overlap), "changed": shift.changed}


def _summary_row(every: Sequence[Shift], told: int) -> dict[str, Any]:
    whole = summary(every)
    of_interest = sum(bool(shift.changed or shift.skipped) for shift in every)
    return {**asdict(whole), "overlap": _by_cut(whole.overlap), "untold": of_interest - told}


def _by_cut(overlap: Mapping[int, float]) -> dict[str, float]:
    return {str(cut): share for cut, share in overlap.items()}


def ledger_kind(name: str) -> Literal["knowledge", "timeline"]:
    """What a ledger is about."""
    return "knowledge" if name == KNOWLEDGE else "timeline"
