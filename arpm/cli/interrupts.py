"""Ctrl-C during long work: the first one asks for a stop at the next safe place, the second one stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

# Exit code of a command that was interrupted, as shells have it for SIGINT.
INTERRUPTED = 130


@contextmanager
def stoppable(asked: Callable[[], None] = lambda: None) -> Iterator[threading.Event]:
    """Give an event that the first Ctrl-C sets, after calling `asked`; the second raises KeyboardInterrupt."""
    stop = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        asked()

    before = signal.signal(signal.SIGINT, on_signal)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
