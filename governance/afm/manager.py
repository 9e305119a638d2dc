"""A conversation under adaptive focus, usable without the service: messages in, a packed chat prompt out (AFM, 3.6).

Each message is embedded, classified and counted once, when a context is first built after it came. Knows nothing about
ledgers, routes or models; what it needs of them is passed in. One conversation, one thread at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

import numpy as np

from governance.afm.compress import Compressor, HeuristicCompressor, cached_count
from governance.afm.packing import Budget, BudgetTooSmallError, pack, pack_as_published
from governance.afm.scoring import HALF_LIFE, TAU_HIGH, TAU_MID, focuses, similarities
from governance.history import Count, Importance, Message, Placed, Speaker
from governance.importance import Decision
from retrieval.embedding.base import Embedder, Vectors

Mode = Literal["shipped", "published"]
Role = Literal["system", "user", "assistant"]


class Judged(Protocol):
    """What a classifier says of a message, as far as it matters here."""

    @property
    def label(self) -> Importance: ...

    @property
    def probability(self) -> float: ...

    @property
    def reason(self) -> str: ...


class Classifier(Protocol):
    """Judges how important messages are; `governance.importance.classify` is one.

    `vectors` are the embedder's rows for the texts, shape (n, dimension); `embedder` is its name.
    """

    def __call__(self, texts: Sequence[str], vectors: Vectors, *, embedder: str) -> Sequence[Judged]: ...


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a chat prompt."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Statistics:
    """What became of the past messages, and what the whole prompt costs; `merged` stand in another's placeholder."""

    full: int
    compressed: int
    placeholder: int
    merged: int
    dropped: int
    tokens: int
    budget: int


@dataclass(frozen=True, slots=True)
class Context:
    """A packed prompt: its chat messages in order, the query last; one line for each past message; and the sums."""

    turns: tuple[Turn, ...]
    placed: tuple[Placed, ...]
    statistics: Statistics


class FocusManager:
    """Keeps a conversation's messages and packs them for the next query."""

    def __init__(
        self,
        embedder: Embedder,
        count: Count,
        compressor: Compressor | None = None,
        classifier: Classifier | None = None,
        *,
        budget: int,
        overhead: int = 0,
        half_life: float = HALF_LIFE,
        tau_high: float = TAU_HIGH,
        tau_mid: float = TAU_MID,
        mode: Mode = "shipped",
    ) -> None:
        """`budget` is in tokens by `count`, `overhead` what the chat template adds to each message.

        Without a compressor sentences are chosen by rule; without a classifier every message whose importance is not
        given is TRIVIAL, as published. The mode "published" packs as the paper does and takes cosines as they are.
        Raises BudgetTooSmallError for a budget below one token.
        """
        if half_life <= 0:
            raise ValueError(f"a half-life is above zero rounds, not {half_life}")
        self._budget = Budget(budget, overhead)
        self._embedder = embedder
        self._count = cached_count(count)
        self._compressor = compressor or HeuristicCompressor(self._count)
        self._classifier = classifier
        self._half_life, self._tau_high, self._tau_mid = half_life, tau_high, tau_mid
        self._mode = mode
        self._messages: list[Message] = []
        self._judgements: list[Judged | None] = []
        self._vectors: Vectors = np.zeros((0, embedder.dimension), np.float32)
        self._round, self._asked = 0, False

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, oldest first."""
        return tuple(self._messages)

    def add_message(
        self, speaker: Speaker, text: str, at: datetime | None = None, importance: Importance | None = None
    ) -> Message:
        """Append a message; a user's message begins a round and the replies after it belong to it.

        `importance`, when given, is not judged again. Raises ValueError for a message without text.
        """
        if not text.strip():
            raise ValueError("an empty message cannot be remembered; leave it out")
        if speaker == "user" or self._round == 0:
            # A greeting before the first question has a round of its own.
            self._round += 1
        message = Message(speaker, self._round, text, at=at)
        self._messages.append(message)
        self._judgements.append(Decision(importance, 1.0, "given with the message") if importance else None)
        return message

    def build_context(self, query: str, budget: int | None = None, preamble: str | None = None) -> Context:
        """The prompt for `query`: a preamble if there is one, what is kept of the conversation, and the query last.

        All of it costs at most `budget` tokens (default: the manager's). Raises BudgetTooSmallError when preamble and
        query alone cost more, naming the least that works, and ValueError for an empty query.
        """
        if not query.strip():
            raise ValueError("an empty query has no context")
        overhead = self._budget.overhead
        always = [text for text in (preamble, query) if text]
        reserved = sum(self._count(text) + overhead for text in always)
        asked = Budget(self._budget.tokens if budget is None else budget, overhead, reserved)
        judged = self._judged()
        related = similarities(
            self._vectors,
            self._embedder.encode_query([query])[0],
            0.0 if self._mode == "published" else self._embedder.c0,
        )
        ages = self._round + 1 - np.fromiter((message.round for message in self._messages), np.int64)
        focus = focuses(
            [item.label if item else "TRIVIAL" for item in judged],
            related,
            ages,
            [item.probability if item else None for item in judged],
            [item.reason if item else None for item in judged],
            half_life=self._half_life,
            tau_high=self._tau_high,
            tau_mid=self._tau_mid,
        )
        packer = pack_as_published if self._mode == "published" else pack
        placed = packer(self._messages, focus, query, asked, self._count, self._compressor)
        shown = [Turn(_role(item), item.text) for item in placed if item.text]
        before = [Turn("system", preamble)] if preamble else []
        return Context((*before, *shown, Turn("user", query)), tuple(placed), _statistics(placed, asked))

    def _judged(self) -> list[Judged | None]:
        """What is judged of every message, those that are new embedded and classified first; None if nobody judges."""
        known = len(self._vectors)
        new = [message.text for message in self._messages[known:]]
        if new:
            vectors = self._embedder.encode_document(new)
            unknown = [place for place in range(known, len(self._messages)) if self._judgements[place] is None]
            if unknown and self._classifier:
                texts = [self._messages[place].text for place in unknown]
                rows = vectors[[place - known for place in unknown]]
                judged = self._classifier(texts, rows, embedder=self._embedder.name)
                for place, judgement in zip(unknown, judged, strict=True):
                    self._judgements[place] = judgement
            self._vectors = np.concatenate([self._vectors, vectors])
        return self._judgements


def _role(item: Placed) -> Role:
    # A placeholder in the assistant's name would teach the model to write placeholders.
    return "user" if item.fidelity == "PLACEHOLDER" else item.message.speaker


def _statistics(placed: Sequence[Placed], budget: Budget) -> Statistics:
    kinds = Counter(item.fidelity for item in placed)
    merged = sum(item.fidelity == "PLACEHOLDER" and not item.text for item in placed)
    return Statistics(
        full=kinds["FULL"],
        compressed=kinds["COMPRESSED"],
        placeholder=kinds["PLACEHOLDER"],
        merged=merged,
        dropped=kinds[None],
        tokens=budget.reserved + sum(item.tokens for item in placed),
        budget=budget.tokens,
    )


__all__ = [
    "BudgetTooSmallError",
    "Classifier",
    "Context",
    "FocusManager",
    "Judged",
    "Mode",
    "Role",
    "Statistics",
    "Turn",
]
