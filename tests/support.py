"""What tests of whole turns share: a service on a temporary folder and a backend whose replies are scripted.

The scripted backend is for fault injection and for turns whose text does not matter; tests of the model use the model.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from arpm.generation.base import Generation, GenerationError, GenerationRequest, LabelledEvidence, OnText, PromptStyle
from arpm.generation.token_estimate import estimated_tokens
from arpm.service import Service
from arpm.settings import Settings
from retrieval.embedding.base import Embedder
from retrieval.embedding.hashing import HashingEmbedder
from tests.patience import PATIENCE

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


class SteppingClock:
    """A clock that moves on by a fixed step at every look."""

    name = "stepping"

    def __init__(self, start: datetime = START, step: timedelta = timedelta(minutes=1)) -> None:
        self.at = start
        self.step = step

    def now(self) -> datetime:
        self.at += self.step
        return self.at


def reply(text: str, evidence: str = "none", need: str = "none", check: str = "Nothing to check.") -> str:
    """A model output that follows the protocol."""
    return (
        f"<analysis>\nneed: {need}\nevidence: {evidence}\ncheck: {check}\n</analysis>\n<response>\n{text}\n</response>"
    )


Script = str | GenerationError | Callable[[GenerationRequest], str]


class ScriptedBackend:
    """Gives one scripted output after the other, the last one for ever; an error in the script is raised."""

    name = "scripted"
    model = "scripted-1"
    prompt_style: PromptStyle = "full"
    constrained = False
    context_tokens = 8192
    exact_tokens = False

    def __init__(self, script: Iterable[Script] = (reply("Understood."),), *, pause: float = 0.0) -> None:
        self.script = list(script)
        self.pause = pause
        # While this is set, the reply goes on after its first words; a test clears it to hold a turn where it is.
        self.go_on = threading.Event()
        self.go_on.set()
        self.requests: list[GenerationRequest] = []
        self.started = threading.Event()

    def rank(self, question: str, evidence: Sequence[LabelledEvidence]) -> tuple[str, ...]:
        return ()

    def generate(self, request: GenerationRequest, on_text: OnText, cancel: threading.Event) -> Generation:
        self.requests.append(request)
        item = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(item, GenerationError):
            raise item
        text = item if isinstance(item, str) else item(request)
        sent = ""
        self.started.set()
        for start in range(0, len(text), 7):
            if cancel.is_set():
                return Generation(sent, "cancelled", None, None, 0.0, None)
            on_text(text[start : start + 7])
            sent += text[start : start + 7]
            assert self.go_on.wait(PATIENCE)
            if self.pause:
                time.sleep(self.pause)
        return Generation(sent, "stop", None, None, 0.0, 0.0)

    def count_tokens(self, text: str) -> int:
        return estimated_tokens(text)

    @property
    def system(self) -> str:
        """The system message of the last call."""
        return self.requests[-1].messages[0].content


def open_service(
    logs: Path,
    backend: ScriptedBackend | None = None,
    *,
    embedder: Embedder | None = None,
    clock: SteppingClock | None = None,
    others: Sequence[ScriptedBackend] = (),
) -> Service:
    """A service on `logs` whose default model is the scripted backend; `others` are models beside it."""
    return Service(
        Settings(logs=logs, model="scripted"),
        clock=clock or SteppingClock(),
        embedder=embedder or HashingEmbedder(),
        backends=[backend or ScriptedBackend(), *others],
    )
