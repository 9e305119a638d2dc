"""Messages that a model shortened: each is an event of its own, so that a turn that showed one can be replayed.

The record of a turn copies no words. What a rule shortens follows from the words again; what a model wrote does not, so
it is kept as `message_compressed`, named by what it was made from and for, and erased with what it was made from.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from arpm.canonical import canonical, digest
from arpm.errors import NotFoundError
from arpm.generation.base import Backend, ChatMessage, GenerationError, GenerationRequest, Sampling
from arpm.protocol import fallback
from governance.afm.compress import SHORTENED_BY_RULE, Compressed, CompressionError, Compressor, ModelCompressor, Write
from governance.history import Count, Message

# A model that thinks before it writes needs room for that; what it writes is cut to the budget afterwards.
_REPLY_SHARE, _REPLY_LEAST = 4, 512


class NotCompressedError(NotFoundError):
    """A record says that a model shortened a text, and nothing says to what."""


@dataclass(frozen=True, slots=True)
class Compression:
    """A text that a model shortened, and the rounds and memories that its words come from.

    `key` names what was shortened, for which question, to how many tokens and by which model. `failed` says that a rule
    did it in the model's place, so that the model is asked again next time.
    """

    key: str
    rounds: tuple[int, ...]
    memories: tuple[str, ...]
    model: str
    budget: int
    text: str
    note: str | None
    failed: bool

    def as_dict(self) -> dict[str, Any]:
        """The body of its event."""
        return asdict(self) | {"rounds": list(self.rounds), "memories": list(self.memories)}

    @classmethod
    def of_body(cls, body: Mapping[str, Any]) -> Compression:
        """A compression as an event holds it."""
        return cls(
            key=body["key"],
            rounds=tuple(body["rounds"]),
            memories=tuple(body["memories"]),
            model=body["model"],
            budget=body["budget"],
            text=body["text"],
            note=body["note"],
            failed=body["failed"],
        )


Find = Callable[[str], Compression | None]


class KeptCompressor:
    """Shortens by a model, each text once for a question and a budget: what was kept before is used again.

    `fresh` are those that were made here. Without `write` no model is asked, and only what was kept can be shown, also
    where the model had failed: that is what a replay needs.
    """

    def __init__(
        self, messages: Sequence[Message], model: str, count: Count, find: Find, write: Write | None = None
    ) -> None:
        self._messages = messages
        self._model = model
        self._count = count
        self._find = find
        self._asked = ModelCompressor(write, count) if write else None
        self._sources: dict[str, frozenset[tuple[int, str | None]]] = {}
        self._used: dict[str, Compression] = {}
        self.fresh: list[Compression] = []

    def compress(self, text: str, query: str, budget: int) -> Compressed:
        """`text` in at most `budget` tokens. Raises NotCompressedError where nothing was kept and no model is there."""
        if budget < 1 or not text.strip():
            return Compressed("")
        if self._count(text) <= budget:
            return Compressed(text)
        made = self._kept(text, query, budget)
        self._sources[made.text] = self._sources_of(text)
        return Compressed(made.text, made.note)

    def _kept(self, text: str, query: str, budget: int) -> Compression:
        key = digest(canonical([self._model, text, query, budget]))
        kept = self._used.get(key) or self._find(key)
        if kept is None or (kept.failed and self._asked and key not in self._used):
            kept = self._made(key, text, query, budget)
            self.fresh.append(kept)
        self._used[key] = kept
        return kept

    def _made(self, key: str, text: str, query: str, budget: int) -> Compression:
        if self._asked is None:
            raise NotCompressedError(
                f"a text of the prompt was shortened by {self._model!r} and what it wrote is not there"
            )
        made = self._asked.compress(text, query, budget)
        sources = sorted(self._sources_of(text), key=lambda source: (source[0], source[1] or ""))
        return Compression(
            key=key,
            rounds=tuple(dict.fromkeys(round for round, _ in sources)),
            memories=tuple(dict.fromkeys(memory for _, memory in sources if memory)),
            model=self._model,
            budget=budget,
            text=made.text,
            note=made.note,
            failed=made.note is not None and made.note.endswith(SHORTENED_BY_RULE),
        )

    def _sources_of(self, text: str) -> frozenset[tuple[int, str | None]]:
        """The messages in a text, and those behind earlier compressions in it: a summary is made from summaries."""
        found = {(message.round, message.memory) for message in self._messages if message.text and message.text in text}
        for earlier, sources in self._sources.items():
            if earlier and earlier in text:
                found |= sources
        return frozenset(found)


def writing(backend: Backend, sampling: Sampling, cancel: threading.Event) -> Write | None:
    """How a model is asked to shorten a text; None for one that only answers in the protocol's form."""
    if backend.constrained:
        return None

    def write(prompt: str, budget: int) -> str:
        room = replace(sampling, temperature=0.0, max_tokens=max(_REPLY_SHARE * budget, _REPLY_LEAST))
        request = GenerationRequest((ChatMessage("user", prompt),), room, prompt)
        try:
            made = backend.generate(request, lambda piece: None, cancel)
        except GenerationError as error:
            raise CompressionError(str(error)) from error
        # What stands outside think blocks and tags; an apology means that nothing does.
        spoken = fallback(made.text, ())
        return spoken.response if spoken.admissible else ""

    return write


def fresh_of(compressor: Compressor) -> tuple[Compression, ...]:
    """The compressions that a turn made and that its ledger does not have yet."""
    return tuple(compressor.fresh) if isinstance(compressor, KeptCompressor) else ()


def finding(kept: Iterable[Compression], find: Find) -> Find:
    """Look among `kept` first: compressions of a rehearsal, which are written nowhere."""
    known = {item.key: item for item in kept}
    return lambda key: known.get(key) or find(key)
