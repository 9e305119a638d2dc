"""Turns that are being answered now, each in a thread of its own.

A turn belongs to the server, not to the connection that asked for it: a browser that goes away loses nothing, one
that comes back follows the same turn from its beginning, and a request sent twice under one key is answered once.
Knows nothing about HTTP.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any, Literal

from arpm.catalogue import TurnRow
from arpm.errors import BusyError, InputError
from arpm.service import Service
from arpm.turn import Asked, TurnFailedError, Watch, checked_message
from arpm.web import strings
from arpm.web.errors import problem_of
from arpm.web.views import turn_view

TurnName = Literal["stage", "text", "restart", "turn", "failed", "column", "done"]
AuditName = Literal["progress", "ledger", "timeline", "shift", "summary"]
Name = TurnName | AuditName

# Turns answered at the same time; more wait for their turn.
WORKERS = 8
# A retry comes within seconds. A remembered turn holds its whole record, so there are few.
KEYS_KEPT = 64


@dataclass(frozen=True, slots=True)
class Happening:
    """Something a follower of a turn is told. "turn" and "failed" are the last."""

    name: Name
    data: Mapping[str, Any]


class Live:
    """Something that happens at the server, step by step, and whoever wants to can follow from its beginning."""

    def __init__(self, *last: Name) -> None:
        """`last` are the happenings that end it."""
        self.cancel = threading.Event()
        self._last = last
        self._happened: list[Happening] = []
        self._ended = False
        self._changed = threading.Condition()

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self._ended

    def tell(self, name: Name, data: Mapping[str, Any]) -> None:
        """Let every follower know."""
        with self._changed:
            self._happened.append(Happening(name, data))
            self._ended = name in self._last
            self._changed.notify_all()

    def watch(self, where: Mapping[str, Any] | None = None) -> Watch:
        """What a turn tells while it is answered; `where` is said with everything."""
        place = dict(where or {})
        return Watch(
            stage=lambda name, seconds: self.tell("stage", {**place, "name": name, "seconds": seconds}),
            text=lambda piece: self.tell("text", {**place, "text": piece}),
            restart=lambda: self.tell("restart", place),
            cancel=self.cancel,
        )

    def follow(self, patience: float) -> Iterator[Happening | None]:
        """Everything from the beginning until the end; None after each `patience` seconds of silence."""
        place = 0
        while True:
            fresh, ended = self._since(place, patience)
            place += len(fresh)
            yield from fresh
            if ended:
                return
            if not fresh:
                yield None

    def _since(self, place: int, patience: float) -> tuple[list[Happening], bool]:
        """What happened after the first `place` things, waiting for it up to `patience` seconds; whether it ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or len(self._happened) > place, patience)
            return self._happened[place:], self._ended


class LiveTurn(Live):
    """One turn while it is being answered."""

    def __init__(self, timeline: str, asked: Asked) -> None:
        super().__init__("turn", "failed")
        self.timeline = timeline
        self.asked = asked


class LiveTurns:
    """The turns of one service that are being answered, and those of late that were sent under a key."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="turn")
        self._lock = threading.Lock()
        self._running: dict[str, tuple[LiveTurn, Future[Happening]]] = {}
        self._keyed: OrderedDict[tuple[str, str], LiveTurn] = OrderedDict()
        self._closed = False

    def start(self, timeline: str, asked: Asked) -> LiveTurn:
        """Begin to answer a message, or find the turn that was begun under the same key.

        Raises NotFoundError and InputError at once, BusyError while the timeline answers another message.
        """
        asked = replace(asked, message=checked_message(asked.message))
        opened = self._service.timeline(timeline)
        with self._lock:
            known = self._known(timeline, asked.key) if asked.key else None
            if known is not None:
                if known.asked != asked:
                    raise InputError(strings.KEY_REUSED)
                return known
            if self._closed:
                raise BusyError(strings.STOPPING)
            if timeline in self._running:
                raise BusyError(strings.BUSY)
            if asked.replaces:
                opened.newest_turn(asked.replaces)
            turn = LiveTurn(timeline, asked)
            self._remember(turn)
            future = self._pool.submit(self._answer, turn)
            self._running[timeline] = (turn, future)
        future.add_done_callback(lambda done: self._end(turn, done))
        return turn

    @property
    def closed(self) -> bool:
        """Whether no further turn begins."""
        return self._closed

    def running(self, timeline: str) -> LiveTurn | None:
        """The turn that is being answered on a timeline, if one is."""
        with self._lock:
            pair = self._running.get(timeline)
        return pair[0] if pair else None

    def forget(self, timeline: str | None) -> None:
        """Remember nothing of a timeline's turns any more, or of any with None: something of them was erased."""
        with self._lock:
            for key in [key for key in self._keyed if timeline in (None, key[0])]:
                del self._keyed[key]

    def close(self, seconds: float) -> None:
        """Stop every turn and wait up to `seconds` for their records; no other begins."""
        with self._lock:
            self._closed = True
            pairs = list(self._running.values())
        for turn, _ in pairs:
            turn.cancel.set()
        wait([future for _, future in pairs], seconds)
        self._pool.shutdown(wait=False)

    def _known(self, timeline: str, key: str) -> LiveTurn | None:
        """The turn that was sent under a key: of late, or before a restart."""
        known = self._keyed.get((timeline, key))
        row = self._service.catalogue.turn_of_key(timeline, key) if known is None else None
        if row is not None:
            known = LiveTurn(timeline, Asked(row.message, row.replaces, key))
            known.tell(*self._ending(row))
            self._remember(known)
        return known

    def _ending(self, row: TurnRow) -> tuple[Name, dict[str, Any]]:
        event = self._service.record(row.event)
        if row.kind == "turn":
            return "turn", turn_view(self._service, event)
        error = event.body["error"] if event.body else {"kind": "erased", "text": strings.ERASED}
        detail = {"cause": error["kind"]}
        return "failed", {
            "error": {"kind": "turn_failed", "message": error["text"], "detail": detail},
            "turn": row.event,
        }

    def _remember(self, turn: LiveTurn) -> None:
        if turn.asked.key:
            self._keyed[turn.timeline, turn.asked.key] = turn
            if len(self._keyed) > KEYS_KEPT:
                self._keyed.popitem(last=False)

    def _answer(self, turn: LiveTurn) -> Happening:
        asked = turn.asked
        event = self._service.turn(turn.timeline, asked.message, turn.watch(), replaces=asked.replaces, key=asked.key)
        # Read back from the ledger: what is told is what was recorded.
        return Happening("turn", turn_view(self._service, self._service.record(event.id)))

    def _end(self, turn: LiveTurn, done: Future[Happening]) -> None:
        # First free the timeline: who is told of the end may send the next message at once.
        with self._lock:
            del self._running[turn.timeline]
        error = done.exception()
        last = done.result() if error is None else Happening("failed", _failure(error))
        turn.tell(last.name, last.data)


def _failure(error: BaseException) -> dict[str, Any]:
    event = error.event.id if isinstance(error, TurnFailedError) else None
    return {**problem_of(error).as_dict(), "turn": event}
