"""The server: waitress on one socket, with threads, that stops without losing a turn.

One process, since the ledger writer and the indexes are single-process. What waitress itself refuses (a body over the
limit, a request that is no HTTP) gets the same JSON shape and headers as everything else.
"""

from __future__ import annotations

import errno
import json
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from flask import Flask
from waitress.channel import HTTPChannel
from waitress.server import create_server
from waitress.task import ErrorTask

from arpm.errors import ArpmError
from arpm.service import Service
from arpm.settings import Settings
from arpm.web import strings
from arpm.web.application import create_app
from arpm.web.body import JSON_LIMIT
from arpm.web.context import context_of
from arpm.web.documents import FORM_ROOM
from arpm.web.headers import HEADERS

THREADS = 16
# How long a stop waits for running turns to be recorded, and then for their streams to end.
RECORD_SECONDS = 10.0
STREAM_SECONDS = 2.0
# On a busy machine a request waits a moment for a thread; that is nothing a person must be told of.
logging.getLogger("waitress.queue").setLevel(logging.ERROR)


def serve(service: Service, settings: Settings, on_ready: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM. `on_ready` gets the address once the socket is open.

    Raises ArpmError when it cannot listen there. The service is the caller's to close.
    """
    server = Server(create_app(service), settings)
    with _stopping(server):
        on_ready(server.url)
        server.run()


class Server:
    """A listening server for one application. `run` it in one thread, `stop` it from any."""

    def __init__(self, app: Flask, settings: Settings) -> None:
        """Listen on the settings' host and port. Raises ArpmError saying why that does not work."""
        self._app = app
        self._map: dict[int, Any] = {}
        self._stopped = threading.Event()
        self._ending = threading.Lock()
        self._ended = False
        listening = _listen(settings.host, settings.port)
        self.url = _url(settings.host, listening.getsockname()[1])
        self._waitress = create_server(
            app,
            map=self._map,
            sockets=[listening],
            threads=THREADS,
            ident=None,
            # Waitress refuses from this number of bytes on.
            max_request_body_size=max(settings.upload_limit + FORM_ROOM, JSON_LIMIT) + 1,
            max_request_header_size=64 * 2**10,
            log_socket_errors=False,
        )
        self._waitress.channel_class = _Channel

    def run(self) -> None:
        """Serve until `stop` is called."""
        try:
            while not self._stopped.is_set():
                self._loop(timeout=1.0)
            # What the last streams said is still to be sent.
            self._loop(timeout=0.1)
        finally:
            self._waitress.task_dispatcher.shutdown(timeout=STREAM_SECONDS)
            with self._ending:
                self._ended = True
                self._waitress.asyncore.close_all(self._map)

    def stop(self) -> None:
        """Stop running turns, wait for their records and their streams, and end `run`."""
        context = context_of(self._app)
        context.comparisons.close()
        context.audits.close()
        context.live.close(RECORD_SECONDS)
        self._waitress.task_dispatcher.shutdown(timeout=STREAM_SECONDS)
        with self._ending:
            self._stopped.set()
            # Wakes the loop, unless it has ended by itself and closed what would wake it.
            if not self._ended:
                self._waitress.pull_trigger()

    def _loop(self, timeout: float) -> None:
        self._waitress.asyncore.loop(timeout=timeout, map=self._map, use_poll=True, count=1)


class _ErrorTask(ErrorTask):  # type: ignore[misc]
    """Waitress's own refusals, in ARPM's words and shape."""

    def execute(self) -> None:
        error = self.request.error
        # Waitress's reasons are for developers of servers; only the limit matters to a person.
        limit = self.channel.adj.max_request_body_size - 1
        message = strings.TOO_LARGE.format(limit=limit) if error.code == 413 else strings.MALFORMED
        kind = {413: "too_large", 500: "internal"}.get(error.code, "malformed")
        body = json.dumps({"error": {"kind": kind, "message": message}}).encode()
        self.status = f"{error.code} {error.reason}"
        self.response_headers.extend(
            [*HEADERS.items(), ("Cache-Control", "no-store"), ("Content-Type", "application/json")]
        )
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)


class _Channel(HTTPChannel):  # type: ignore[misc]
    error_task_class = _ErrorTask


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket. Opened here rather than by waitress, so that a failure can be told in plain words."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=1024)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            text = strings.PORT_IN_USE.format(port=port, host=host, other=port + 1 if port < 65535 else 8787)
        elif error.errno == errno.EACCES:
            text = strings.PORT_FORBIDDEN.format(port=port)
        else:
            text = strings.HOST_UNKNOWN.format(host=host, why=error.strerror or error)
        raise ArpmError(text) from error


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host and not host.startswith("[") else f"http://{host}:{port}/"


@contextmanager
def _stopping(server: Server) -> Iterator[None]:
    """While this holds, the first Ctrl-C or SIGTERM stops the server in order; a second one acts as usual."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def stop(_number: int, _frame: FrameType | None) -> None:
        restore()
        # In a thread of its own: the loop must go on meanwhile, so that streams can end.
        threading.Thread(target=server.stop, name="stop").start()

    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        restore()
