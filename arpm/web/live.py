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
from dataclasses import dataclass
from typing import Any, Literal

from arpm.errors import BusyError, InputError
from arpm.service import Service
from arpm.turn import TurnFailedError, Watch, checked_message
from arpm.web import strings
from arpm.web.errors import problem_of
from arpm.web.views import turn_view

Name = Literal["stage", "text", "restart", "turn", "failed"]

# Turns answered at the same time; more wait for their turn.
WORKERS = 8
# A retry comes within seconds. A remembered turn holds its whole record, so there are few.
KEYS_KEPT = 64


@dataclass(frozen=True, slots=True)
class Happening:
    """Something a follower of a turn is told. "turn" and "failed" are the last."""

    name: Name
    data: Mapping[str, Any]


class LiveTurn:
    """One turn while it is being answered, and what has happened in it so far."""

    def __init__(self, timeline: str, message: str) -> None:
        self.timeline = timeline
        self.message = message
        self.cancel = threading.Event()
        self._happened: list[Happening] = []
        self._ended = False
        self._changed = threading.Condition()

    def watch(self) -> Watch:
        """What `arpm.turn.take_turn` tells while it works."""
        return Watch(
            stage=lambda name, seconds: self.tell("stage", {"name": name, "seconds": seconds}),
            text=lambda piece: self.tell("text", {"text": piece}),
            restart=lambda: self.tell("restart", {}),
            cancel=self.cancel,
        )

    def tell(self, name: Name, data: Mapping[str, Any]) -> None:
        """Let every follower know; `turn` and `failed` end the turn."""
        with self._changed:
            self._happened.append(Happening(name, data))
            self._ended = name in ("turn", "failed")
            self._changed.notify_all()

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


class LiveTurns:
    """The turns of one service that are being answered, and those of late that were sent under a key."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="turn")
        self._lock = threading.Lock()
        self._running: dict[str, tuple[LiveTurn, Future[Happening]]] = {}
        self._keyed: OrderedDict[tuple[str, str], LiveTurn] = OrderedDict()
        self._closed = False

    def start(self, timeline: str, message: str, key: str | None) -> LiveTurn:
        """Begin to answer a message, or find the turn that was begun under the same key.

        Raises NotFoundError and InputError at once, BusyError while the timeline answers another message.
        """
        message = checked_message(message)
        self._service.timeline(timeline)
        with self._lock:
            known = self._keyed.get((timeline, key)) if key else None
            if known is not None:
                if known.message != message:
                    raise InputError(strings.KEY_REUSED)
                return known
            if self._closed:
                raise BusyError(strings.STOPPING)
            if timeline in self._running:
                raise BusyError(strings.BUSY)
            turn = LiveTurn(timeline, message)
            self._remember(key, turn)
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

    def close(self, seconds: float) -> None:
        """Stop every turn and wait up to `seconds` for their records; no other begins."""
        with self._lock:
            self._closed = True
            pairs = list(self._running.values())
        for turn, _ in pairs:
            turn.cancel.set()
        wait([future for _, future in pairs], seconds)
        self._pool.shutdown(wait=False)

    def _remember(self, key: str | None, turn: LiveTurn) -> None:
        if key:
            self._keyed[turn.timeline, key] = turn
            if len(self._keyed) > KEYS_KEPT:
                self._keyed.popitem(last=False)

    def _answer(self, turn: LiveTurn) -> Happening:
        event = self._service.turn(turn.timeline, turn.message, turn.watch())
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
