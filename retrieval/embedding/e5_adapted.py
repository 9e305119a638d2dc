"""multilingual-e5-small changed by a small adapter: a vector for each sentence of a text, read beside the others.

What a sentence means often stands in its neighbours: the whole text goes through the encoder, and each sentence's
vector is the mean over its own tokens. An adapter holds low-rank changes of some of the encoder's matrices, which are
added to the packaged ones when it is opened. Knows nothing about what the vectors are for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from retrieval.embedding.adapter import Adapter
from retrieval.embedding.base import Vectors
from retrieval.embedding.e5 import QUERY_PREFIX, packaged_model
from retrieval.embedding.e5_graph import E5Graph
from retrieval.embedding.e5_inputs import E5Inputs, opened
from retrieval.embedding.e5s1 import E5File

# Nothing that is judged is said at such length, and attention costs by the square.
_SENTENCE_TOKENS = 200
_WINDOW_TOKENS = 380


class AdaptedWeights:
    """The tensors of a model file under an adapter."""

    def __init__(self, file: E5File, adapter: Adapter) -> None:
        self.shape = file.shape
        self._file = file
        self._adapter = adapter

    def floats(self, name: str) -> NDArray[np.float32]:
        """A vector: no adapter changes one."""
        return self._file.floats(name)

    def matrix(self, name: str, rows: int) -> NDArray[np.float32]:
        """A matrix with its change added, shape (rows, columns)."""
        return self._adapter.changed(name, self._file.matrix(name, rows))


@dataclass(frozen=True, slots=True)
class Window:
    """The tokens of neighbouring sentences, and for each sentence where its own begin and end."""

    ids: list[int]
    spans: tuple[tuple[int, int], ...]


def windows(texts: Sequence[str], inputs: E5Inputs) -> Iterator[Window]:
    """The sentences of one text in few windows, in order; what is too long of one is cut off.

    A window begins with the sentence before its first, where there is room, so that none is read without company.
    """
    start = inputs.token_ids([QUERY_PREFIX.strip()])[0]
    ids, spans, before = list(start), list[tuple[int, int]](), list[int]()
    for tokens in inputs.token_ids(texts):
        kept = tokens[:_SENTENCE_TOKENS]
        if spans and len(ids) + len(kept) > _WINDOW_TOKENS:
            yield Window(ids, tuple(spans))
            ids, spans = [*start, *before], []
            if len(ids) + len(kept) > _WINDOW_TOKENS:
                ids = list(start)
        spans.append((len(ids), len(ids) + len(kept)))
        ids += kept
        before = kept
    if spans:
        yield Window(ids, tuple(spans))


class AdaptedE5:
    """The encoder in OpenVINO with int8 weights, under an adapter. Safe between threads."""

    def __init__(self, adapter: Adapter, threads: int | None = None) -> None:
        """Open the packaged model. Raises MissingPackageError or ModelFileError."""
        self._inputs = opened(packaged_model())
        self._dimension = self._inputs.file.shape.hidden
        self._graph = E5Graph(AdaptedWeights(self._inputs.file, adapter), threads, pooled=False)

    def encode_sentences(self, texts: Sequence[str]) -> Vectors:
        """A vector for each sentence of one text, as long as it comes: float32 of shape (len(texts), 384).

        A sentence without tokens has a vector of zeros.
        """
        found = []
        for window in windows(texts, self._inputs):
            states = self._graph.run(*self._inputs.embedded([window.ids]))[0]
            # The begin mark stands before the tokens.
            found += [states[start + 1 : end + 1].sum(axis=0) / max(end - start, 1) for start, end in window.spans]
        return np.array(found, np.float32).reshape(len(texts), self._dimension)
