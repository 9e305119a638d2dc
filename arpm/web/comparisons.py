"""Comparisons that are running: one message under several configs, one after the other, each in a thread of its own.

Nothing of a comparison is written anywhere. Knows nothing about HTTP.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from arpm.errors import BusyError
from arpm.service import Column, Service
from arpm.web import strings
from arpm.web.errors import problem_of
from arpm.web.live import Live
from arpm.web.views import rehearsal_view


class Comparisons:
    """The comparisons of one service that are running, at most one a timeline."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._running: dict[str, Live] = {}
        self._lock = threading.Lock()

    def begin(self, timeline: str, message: str, columns: Sequence[Column]) -> Live:
        """Begin a comparison in a thread of its own. Raises BusyError while one is running."""
        running = Live("done")
        with self._lock:
            if timeline in self._running:
                raise BusyError(strings.COMPARING)
            self._running[timeline] = running
        work = threading.Thread(target=self._run, args=(timeline, message, columns, running), name="compare")
        work.start()
        return running

    def stop(self, timeline: str) -> bool:
        """Stop the comparison of a timeline; whether there was one."""
        with self._lock:
            running = self._running.get(timeline)
        if running is not None:
            running.cancel.set()
        return running is not None

    def close(self) -> None:
        """Stop every comparison."""
        with self._lock:
            for running in self._running.values():
                running.cancel.set()

    def _run(self, timeline: str, message: str, columns: Sequence[Column], running: Live) -> None:
        with ThreadPoolExecutor(1, thread_name_prefix="column") as pool:
            for place, column in enumerate(columns):
                if running.cancel.is_set():
                    break
                where = {"column": place}
                done = pool.submit(self._rehearsed, timeline, message, column, running, where)
                error = done.exception()
                # What one column could not do is told in its place, and the others go on.
                if error is None:
                    running.tell("column", {**where, "result": done.result()})
                else:
                    running.tell("failed", {**where, **problem_of(error).as_dict()})
        # First free the timeline: who is told of the end may compare again at once.
        with self._lock:
            del self._running[timeline]
        running.tell("done", {"stopped": running.cancel.is_set()})

    def _rehearsed(
        self, timeline: str, message: str, column: Column, running: Live, where: dict[str, Any]
    ) -> dict[str, Any]:
        rehearsal = self._service.rehearse(timeline, message, column, running.watch(where))
        return rehearsal_view(self._service, timeline, rehearsal)
