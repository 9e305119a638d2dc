"""What the encoder of multilingual-e5-small reads: texts as tokens, tokens as vectors of words and places.

Keeps the promise that the word matrix stays packed and mapped: unpacked it would fill 384 MB for the few rows that a
batch needs. Knows nothing about the encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrieval.embedding.e5_tokens import E5Tokenizer
from retrieval.embedding.e5s1 import E5File, dequantize

LENGTH_STEP = 8  # Padding to multiples of this lets lengths share the kernels that OpenVINO compiles per shape.


class E5Inputs:
    """The tokenizer and the embedding layer of one model file. Safe to share between threads."""

    def __init__(self, file: E5File) -> None:
        self.file = file
        self.window = file.shape.positions - 2
        """How many tokens the encoder takes at once, without the begin and end marks."""
        self._vocabulary = file.vocabulary
        self.tokenizer = E5Tokenizer(file.vocabulary)
        self._words = file.blocks("emb.word", file.shape.vocabulary)
        positions = file.floats("emb.pos").reshape(-1, file.shape.hidden)
        self._positions = positions + file.floats("emb.type")[: file.shape.hidden]

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without begin and end marks."""
        return self.tokenizer.token_ids(texts)

    def embedded(self, rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Token plus position embeddings (rows, tokens, hidden) and the mask (rows, tokens) of rows of ids.

        Begin and end marks are put round each row, behind it padding; a row may have `window` ids.
        """
        length = padded_length(max(map(len, rows)))
        ids = np.full((len(rows), length), self._vocabulary.pad)
        mask = np.zeros((len(rows), length), np.float32)
        for place, row in enumerate(rows):
            marked = [self._vocabulary.bos, *row, self._vocabulary.eos]
            ids[place, : len(marked)] = marked
            mask[place, : len(marked)] = 1
        return self.words(ids) + self._positions[:length], mask

    def glances(self, sentences: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Mean and maximum of each sentence's word vectors, shape (n, 2 * hidden); zeros where there are no tokens."""
        found = np.zeros((len(sentences), 2, self.file.shape.hidden), np.float32)
        words = self.words(np.array([token for tokens in sentences for token in tokens], np.int64))
        at = 0
        for place, tokens in enumerate(sentences):
            if tokens:
                own = words[at : at + len(tokens)]
                # The methods of arrays take twice as long on so few rows.
                np.add.reduce(own, axis=0, out=found[place, 0])
                np.maximum.reduce(own, axis=0, out=found[place, 1])
            at += len(tokens)
        found[:, 0] /= np.maximum([len(tokens) for tokens in sentences], 1)[:, None]
        return found.reshape(len(sentences), -1)

    def words(self, ids: NDArray[np.integer]) -> NDArray[np.float32]:
        """The word vectors of ids of any shape: one dimension more, hidden."""
        distinct, where = np.unique(ids, return_inverse=True)
        found: NDArray[np.float32] = dequantize(self._words[distinct])[where.reshape(ids.shape)]
        return found


@cache
def opened(path: Path) -> E5Inputs:
    """The inputs of a model file, opened once: the vocabulary alone has 250,000 pieces. Raises ModelFileError."""
    return E5Inputs(E5File(path))


def padded_length(tokens: int) -> int:
    """Tokens with both marks, rounded up to the step. 512, the most there are, is a multiple of it."""
    return -(-(tokens + 2) // LENGTH_STEP) * LENGTH_STEP
