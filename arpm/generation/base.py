"""What a model backend is: one blocking call that streams text and can be cancelled.

Keeps the promise that a backend never raises anything but `GenerationError`, so that every failure becomes a
`turn_failed` event. Knows nothing about memories, ledgers or the protocol's parser.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from arpm.errors import ArpmError

Role = Literal["system", "user", "assistant"]
PromptStyle = Literal["full", "compact"]
Finish = Literal["stop", "length", "cancelled"]
OnText = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a chat prompt."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a reply is sampled. `temperature` 0 is greedy; `timeout` is in seconds over the whole call."""

    temperature: float = 0.7
    top_p: float = 1.0
    max_tokens: int = 2000
    seed: int | None = None
    timeout: float = 120.0


@dataclass(frozen=True, slots=True)
class LabelledEvidence:
    """One evidence item a reply may cite: its label ("E1"), its text as the prompt shows it, where it is from, and how
    similar retrieval found it to the question (calibrated cosine)."""

    label: str
    text: str
    route: Literal["knowledge", "experience"] = "experience"
    similarity: float = 0.0


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """Everything a backend may use. `question` is the user's message alone; `evidence` is in prompt order.

    `ranking` holds its labels, best first, as the backend's own `rank` gave them.
    """

    messages: tuple[ChatMessage, ...]
    sampling: Sampling
    question: str = ""
    evidence: tuple[LabelledEvidence, ...] = ()
    ranking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Generation:
    """What a backend returned, raw. `reasoning` is text the endpoint sent beside the content, if any.

    `seconds` is the whole call, `first_token_seconds` the time to the first text; token counts are None when the
    endpoint does not report them.
    """

    text: str
    finish: Finish
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float
    first_token_seconds: float | None
    reasoning: str | None = None


GenerationErrorKind = Literal[
    "unauthorised",
    "not_found",
    "rate_limited",
    "server_error",
    "unreachable",
    "timeout",
    "dropped",
    "bad_reply",
    "load",
]


class GenerationError(ArpmError):
    """A model call failed. `partial` is the text that had arrived; it is recorded and never becomes memory."""

    def __init__(self, kind: GenerationErrorKind, message: str, partial: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.partial = partial


class Backend(Protocol):
    """A model. `constrained` says that its output is decoded under a grammar and always follows the protocol.

    `prompt_style` chooses the wording of the prompt; `context_tokens` is the window, prompt and reply together;
    `exact_tokens` says whether `count_tokens` is the model's own count.
    """

    name: str
    model: str
    prompt_style: PromptStyle
    constrained: bool
    context_tokens: int
    exact_tokens: bool

    def rank(self, question: str, evidence: Sequence[LabelledEvidence]) -> tuple[str, ...]:
        """The labels of `evidence`, best first, for a backend that judges evidence before it writes; else ().

        Raises GenerationError.
        """
        ...

    def generate(self, request: GenerationRequest, on_text: OnText, cancel: threading.Event) -> Generation:
        """Generate a reply, calling `on_text` with each piece as it arrives.

        When `cancel` is set the call returns soon with `finish="cancelled"` and what had arrived.
        Raises GenerationError, and nothing else, on failure.
        """
        ...

    def count_tokens(self, text: str) -> int:
        """Number of tokens of `text`: the model's own count where its tokenizer is at hand, else an estimate."""
        ...
