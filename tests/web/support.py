"""What the tests of the web side share: a real server on an ephemeral loopback port, and a client for it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from flask import Flask

from app import create_app
from arpm.clock import Clock
from arpm.generation.base import Generation, GenerationRequest, OnText
from arpm.service import Service
from arpm.settings import Settings
from arpm.web.server import Server
from retrieval.embedding.base import Embedder
from retrieval.embedding.hashing import HashingEmbedder
from tests.patience import PATIENCE
from tests.support import ScriptedBackend, SteppingClock, reply

Events = list[tuple[str, dict[str, Any]]]


class GatedBackend(ScriptedBackend):
    """Says the first words of its reply, then waits until `gate` opens or the turn is stopped."""

    def __init__(self, text: str = "One moment. And here is the rest.") -> None:
        super().__init__([reply(text)])
        self.gate = threading.Event()

    def generate(self, request: GenerationRequest, on_text: OnText, cancel: threading.Event) -> Generation:
        text = self.script[0]
        assert isinstance(text, str)
        half = text.index("One moment.") + len("One moment.")
        on_text(text[:half])
        self.started.set()
        while not self.gate.wait(0.01):
            if cancel.is_set():
                return Generation(text[:half], "cancelled", None, None, 0.0, None)
        on_text(text[half:])
        return Generation(text, "stop", None, None, 0.0, 0.0)


class Site:
    """A running server as a program outside sees it; `service` is what is behind it."""

    def __init__(self, app: Flask, server: Server, service: Service) -> None:
        self.app = app
        self.server = server
        self.service = service
        self.url = server.url
        self.port = int(server.url.rsplit(":", 1)[1].strip("/"))
        self.http = httpx.Client(base_url=server.url, trust_env=False, timeout=PATIENCE)

    def timeline(self, user: str = "Ann", character: str = "Mo", **more: str) -> str:
        """A new timeline's id."""
        made = self.http.post("/api/v1/timelines", json={"user": user, "character": character, **more})
        assert made.status_code == 201, made.text
        return str(made.json()["timeline"]["id"])

    def send(self, timeline: str, message: str, key: str | None = None) -> Events:
        """Send a message and return its turn's events."""
        headers = {"Idempotency-Key": key} if key else {}
        path = f"/api/v1/timelines/{timeline}/messages"
        with self.http.stream("POST", path, json={"message": message}, headers=headers) as response:
            assert response.status_code == 200, response.read()
            return list(events(response))

    def turns(self, timeline: str) -> list[dict[str, Any]]:
        """The turns of a timeline, oldest first."""
        return list(self.http.get(f"/api/v1/timelines/{timeline}").json()["turns"])

    def upload(self, name: str, data: bytes) -> httpx.Response:
        """Upload a document."""
        return self.http.post("/api/v1/documents", files={"file": (name, data)})

    def raw(self, request: bytes, timeout: float = PATIENCE) -> bytes:
        """What the server answers to these very bytes, until it closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as connection:
            connection.sendall(request)
            return b"".join(iter(lambda: connection.recv(65536), b""))


@contextmanager
def serving(
    logs: Path,
    backend: ScriptedBackend | None = None,
    *,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    **settings: Any,
) -> Iterator[Site]:
    """A server on a service of its own, stopped at the end. The default model is the scripted backend."""
    given = {"logs": logs, "model": "scripted", "port": 0, "key": logs.with_name("checkpoint-key.pem"), **settings}
    chosen = Settings(**given)
    backends = [backend or ScriptedBackend()]
    with Service(
        chosen, clock=clock or SteppingClock(), embedder=embedder or HashingEmbedder(), backends=backends
    ) as service:
        app = create_app(service, logs.parent)
        server = Server(app, chosen)
        thread = threading.Thread(target=server.run, name="server")
        thread.start()
        site = Site(app, server, service)
        try:
            yield site
        finally:
            site.http.close()
            server.stop()
            thread.join(PATIENCE)
            assert not thread.is_alive()


def events(response: httpx.Response) -> Iterator[tuple[str, dict[str, Any]]]:
    """The server-sent events of a response as (name, data)."""
    name = ""
    for line in response.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def last(happened: Events, name: str) -> dict[str, Any]:
    """The data of the last event, which must be of that name."""
    assert happened, "the stream was empty"
    assert happened[-1][0] == name, happened[-1]
    return happened[-1][1]


def error_of(response: httpx.Response, status: int, kind: str) -> dict[str, Any]:
    """The error of a response, which must have the one JSON shape, that status and that kind."""
    assert response.status_code == status, response.text
    return error_in(response.json(), kind)


def error_in(document: dict[str, Any], kind: str) -> dict[str, Any]:
    """The error in a document, which must have the one JSON shape and that kind."""
    assert set(document) == {"error"}, document
    error: dict[str, Any] = document["error"]
    assert {"kind", "message"} <= set(error) <= {"kind", "message", "detail"}, error
    assert error["kind"] == kind, error
    assert error["message"], error
    assert "Traceback" not in error["message"], error
    return error
