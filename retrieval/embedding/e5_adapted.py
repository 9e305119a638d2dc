"""What an adapter leaves of multilingual-e5-small's lower layers, changed: a vector for each sentence of a short text.

What a sentence means often stands in its neighbours: the sentences of a text go through the encoder together, and each
one's vector is the mean over its own tokens. The adapter's changes are made to the packaged weights when it is opened.
Time grows with the tokens, so only so many go through at once; which of a longer text is the caller's choice, for which
there are `glances`. Knows nothing about what the vectors are for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from retrieval.embedding.adapter import Adapter, parts_of
from retrieval.embedding.base import Vectors
from retrieval.embedding.e5 import QUERY_PREFIX, packaged_model
from retrieval.embedding.e5_graph import E5Graph
from retrieval.embedding.e5_inputs import LENGTH_STEP, E5Inputs, opened
from retrieval.embedding.e5s1 import E5File

# Nothing that is judged is said at such length.
_SENTENCE_TOKENS = 58
# With the marks of begin and end that is 64, as long messages have to be read in 10 ms (docs/decisions/0015, 0016).
_WINDOW_TOKENS = 62


class AdaptedWeights:
    """The tensors of a model file under an adapter: of its lowest layers what the adapter keeps, changed."""

    def __init__(self, file: E5File, adapter: Adapter) -> None:
        self.shape = replace(file.shape, layers=len(adapter.layers))
        self._file = file
        self._adapter = adapter

    def widths(self, layer: int) -> tuple[int, int]:
        """How many attention heads and how many feed-forward neurons are left of a layer."""
        kept = self._adapter.layers[layer]
        return len(kept.heads), len(kept.neurons)

    def floats(self, name: str) -> NDArray[np.float32]:
        """A vector: of a layer what is left of it."""
        packaged = self._file.floats(name)
        return packaged if name.startswith("emb.") else self._adapter.bias(name, packaged, self.shape.head_size)

    def matrix(self, name: str, rows: int) -> NDArray[np.float32]:
        """What is left of a matrix, shape (rows, columns). Raises ValueError when it has not that many rows."""
        packaged = self.shape.feed_forward if parts_of(name)[1] == "fi" else self.shape.hidden
        found = self._adapter.matrix(name, self._file.matrix(name, packaged), self.shape.head_size)
        if len(found) != rows:
            raise ValueError(f"{name} has {len(found)} rows, not {rows}.")
        return np.ascontiguousarray(found)


@dataclass(frozen=True, slots=True)
class Window:
    """The tokens of sentences that go through the encoder together, and for each where its own begin and end."""

    ids: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]


def tokens_of(texts: Sequence[str], inputs: E5Inputs) -> list[list[int]]:
    """The ids of each sentence; what is too long of one is cut off."""
    return [ids[:_SENTENCE_TOKENS] for ids in inputs.token_ids(texts)]


def window_of(sentences: Sequence[list[int]], inputs: E5Inputs) -> Window:
    """A window of sentences by their ids, as long as they are."""
    ids, spans = [*_start(inputs)], list[tuple[int, int]]()
    for tokens in sentences:
        spans.append((len(ids), len(ids) + len(tokens)))
        ids += tokens
    return Window(tuple(ids), tuple(spans))


@cache
def _start(inputs: E5Inputs) -> list[int]:
    return inputs.token_ids([QUERY_PREFIX.strip()])[0]


class AdaptedE5:
    """The encoder in OpenVINO with int8 weights, under an adapter. Safe between threads."""

    def __init__(self, adapter: Adapter, threads: int | None = None) -> None:
        """Open the packaged model. Raises MissingPackageError or ModelFileError."""
        self._inputs = opened(packaged_model())
        self._dimension = self._inputs.file.shape.hidden
        self._graph = E5Graph(AdaptedWeights(self._inputs.file, adapter), threads, pooled=False)
        self.room = _WINDOW_TOKENS - len(_start(self._inputs))
        """How many tokens of sentences go through at once."""
        # OpenVINO compiles for every length anew, which takes several times as long as a run.
        for length in range(LENGTH_STEP, _WINDOW_TOKENS + 2 + 1, LENGTH_STEP):
            self._graph.run(np.zeros((1, length, self._dimension), np.float32), np.ones((1, length), np.float32))

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each sentence; what is too long of one is cut off."""
        return tokens_of(texts, self._inputs)

    def glances(self, sentences: Sequence[list[int]]) -> Vectors:
        """What can be seen of each sentence without the encoder, see `E5Inputs.glances`."""
        return self._inputs.glances(sentences)

    def encode(self, sentences: Sequence[list[int]]) -> Vectors:
        """A vector for each sentence of one text by its ids, as long as it comes: float32 of shape (n, 384).

        A sentence without tokens has a vector of zeros. Raises ValueError when there is no room for all of them.
        """
        window = window_of(sentences, self._inputs)
        if len(window.ids) > _WINDOW_TOKENS:
            raise ValueError(f"{len(window.ids)} tokens do not fit into a window of {_WINDOW_TOKENS}.")
        states = self._graph.run(*self._inputs.embedded([window.ids]))[0]
        # The begin mark stands before the tokens.
        found = [states[start + 1 : end + 1].sum(axis=0) / max(end - start, 1) for start, end in window.spans]
        return np.array(found, np.float32).reshape(len(sentences), self._dimension)
