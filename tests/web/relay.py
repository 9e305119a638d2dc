"""A line between the browser and the server that can be cut: what is on its way is lost, as when a network goes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Relay:
    """Passes bytes between its own port and another one of this machine. `cut` it and `mend` it."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/"
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._whole = True
        threading.Thread(target=self._accept, name="relay", daemon=True).start()

    def cut(self) -> None:
        """Drop every connection and take no other."""
        with self._lock:
            self._whole = False
            for end in self._open:
                _close(end)
            self._open.clear()

    def mend(self) -> None:
        """Take connections again."""
        with self._lock:
            self._whole = True

    def close(self) -> None:
        """End for good."""
        self.cut()
        _close(self._listening)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            with self._lock:
                if not self._whole:
                    _close(near)
                    continue
                far = socket.create_connection(("127.0.0.1", self._target))
                self._open |= {near, far}
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(source, sink), name="relay", daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with self._lock:
            self._open -= {source, sink}
        _close(source)
        _close(sink)


def _close(end: socket.socket) -> None:
    # Shut down first: a close alone does not wake a thread that reads.
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def relayed(port: int) -> Iterator[Relay]:
    """A relay to a port, closed at the end."""
    relay = Relay(port)
    try:
        yield relay
    finally:
        relay.close()
