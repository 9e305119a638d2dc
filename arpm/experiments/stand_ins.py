"""Backends that stand in for a model where an experiment needs none: what they write is decided by a function.

They read nothing but the request, as a model does, and follow the protocol unless their function does not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from arpm.generation.base import Generation, GenerationRequest, LabelledEvidence, OnText, PromptStyle
from arpm.generation.token_estimate import estimated_tokens
from arpm.protocol import neutralise


class StandIn:
    """A backend whose output is a function of the request."""

    prompt_style: PromptStyle = "full"
    constrained = False
    context_tokens = 8192
    exact_tokens = False

    def __init__(self, name: str, write: Callable[[GenerationRequest], str]) -> None:
        self.name = name
        self.model = name
        self.write = write

    def rank(self, question: str, evidence: Sequence[LabelledEvidence]) -> tuple[str, ...]:
        return ()

    def generate(self, request: GenerationRequest, on_text: OnText, cancel: threading.Event) -> Generation:
        text = self.write(request)
        on_text(text)
        return Generation(text, "stop", None, None, 0.0, 0.0)

    def count_tokens(self, text: str) -> int:
        return estimated_tokens(text)


def in_form(response: str, cited: Sequence[str], check: str = "The evidence was compared with the message.") -> str:
    """A reply in the form that the protocol asks for."""
    labels = ", ".join(cited) or "none"
    need = "experience" if cited else "none"
    return (
        f"<analysis>\nneed: {need}\nevidence: {labels}\ncheck: {check}\n</analysis>\n"
        f"<response>\n{response}\n</response>"
    )


def is_repair(request: GenerationRequest) -> bool:
    """Whether a request asks to repair an earlier output, so that its last message is not the one to answer."""
    return request.messages[-1].content != neutralise(request.question)
