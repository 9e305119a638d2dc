"""What context policies share: past messages, and what became of each of them in a prompt. Values without behaviour.

What is made anew for every message of every prompt is a named tuple: a frozen dataclass takes several times as long to
make, and of ten thousand messages that is most of the time of a packing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

Fidelity = Literal["FULL", "COMPRESSED", "LATENT", "PLACEHOLDER"]
Speaker = Literal["user", "assistant"]
Importance = Literal["CRITICAL", "RELEVANT", "TRIVIAL"]

# Tokens of a text by the tokenizer of the model that will read it.
Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Message:
    """One past message of a conversation: whose it is, its round, and the memory that holds it (None: not admitted).

    `name` is what the speaker is called, where that is known.
    """

    speaker: Speaker
    round: int
    text: str
    memory: str | None = None
    at: datetime | None = None
    name: str = ""

    def said(self, text: str) -> str:
        """A form of the message's words behind its speaker's name."""
        return f"{self.name}: {text}" if self.name else text


class Focus(NamedTuple):
    """The numbers by which AFM chose a message's fidelity (AFM paper, section 3.2), and the fidelity they ask for.

    `probability` and `reason` are the classifier's for the importance; None where it was not asked.
    """

    importance: Importance
    similarity: float
    recency: float
    score: float
    intended: Fidelity
    probability: float | None = None
    reason: str | None = None


class Placed(NamedTuple):
    """What became of a past message: how it is shown and why.

    `fidelity` is None and `text` empty when the message is left out; `tokens` is what it costs in the prompt. `focus`
    holds AFM's numbers, `note` what went wrong on the way (a compressor that overran its budget or failed).
    """

    message: Message
    fidelity: Fidelity | None
    text: str
    tokens: int
    reason: str
    focus: Focus | None = None
    note: str | None = None


Row = TypeVar("Row", Focus, Placed)


def made(kind: type[Row], fields: Iterable[tuple[Any, ...]]) -> Iterator[Row]:
    """Named tuples of their fields, all of them in order: without a call of Python for each."""
    return map(partial(tuple.__new__, kind), fields)
