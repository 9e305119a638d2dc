"""What tests of both rooms share: memories in one line, and an embedder that costs nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from retrieval.candidates import Candidate, Query
from retrieval.chunking import Parent, missing_headings, split_document, under_headings
from retrieval.config import RetrievalConfig
from retrieval.embedding.base import Embedder, Vectors
from retrieval.embedding.hashing import HashingEmbedder
from retrieval.experience import ExperienceIndex
from retrieval.knowledge import KnowledgeIndex
from retrieval.memories import Experience, KnowledgeChunk
from retrieval.vectors import VectorIndex

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
EMBEDDER = HashingEmbedder()
CONFIG = RetrievalConfig()


def atom(number: int, message: str, reply: str = "", *, session: str = "s1", memory: str = "") -> Experience:
    """The memory of one round: rounds are ten minutes apart."""
    return Experience(
        memory=memory or f"m{number}",
        session=session,
        round=number,
        at=START + timedelta(minutes=10 * number),
        user="Mei",
        character="Ada",
        message=message,
        reply=reply,
    )


def document(id: str, text: str, name: str = "notes.md") -> list[KnowledgeChunk]:
    """The chunks of a document, as the service cuts it."""
    return [_chunk(id, name, place, text, parent) for place, parent in enumerate(split_document(text))]


def _chunk(id: str, name: str, place: int, text: str, parent: Parent) -> KnowledgeChunk:
    own = text[slice(*parent.span)]
    return KnowledgeChunk(
        memory=f"{id}-{place}",
        document=id,
        name=name,
        headings=parent.headings,
        text=own,
        children=tuple(under_headings(parent.headings, text[slice(*child)]) for child in parent.children),
        at=START,
        above=missing_headings(parent.headings, own),
    )


def search(
    index: ExperienceIndex | KnowledgeIndex,
    text: str,
    config: RetrievalConfig = CONFIG,
    *,
    session: str | None = None,
    embedder: Embedder = EMBEDDER,
) -> list[Candidate]:
    """The candidates of Mei's question to Ada."""
    vector = embedder.encode_query([text])[0]
    return index.search(Query(text, "Mei", "Ada", session), vector, config)


def memories(candidates: Sequence[Candidate]) -> list[str]:
    return [candidate.memory for candidate in candidates]


class FailingEmbedder:
    """Fails as long as `failing` is set, as an embedder does that runs out of memory."""

    def __init__(self) -> None:
        self.name, self.dimension, self.c0 = EMBEDDER.name, EMBEDDER.dimension, EMBEDDER.c0
        self.failing = False

    def encode_document(self, texts: Sequence[str]) -> Vectors:
        if self.failing:
            raise MemoryError("no memory for the embedding")
        return EMBEDDER.encode_document(texts)

    def encode_query(self, texts: Sequence[str]) -> Vectors:
        return self.encode_document(texts)


def dawdle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every change of vectors give way to other threads half-way, so that a half-done change would be seen."""
    for name in ("add", "remove"):
        monkeypatch.setattr(VectorIndex, name, _slowly(getattr(VectorIndex, name)))


def _slowly(change: Callable[..., None]) -> Callable[..., None]:
    def slow(*arguments: object) -> None:
        change(*arguments)
        time.sleep(0.001)

    return slow
