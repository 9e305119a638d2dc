"""What is left of an encoder's lower layers, and how that is changed. Knows nothing about running it.

Of each layer some attention heads and some neurons of the feed-forward network are kept; what is left of a matrix has
low-rank changes added, and some biases are others.

Sources: Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2022 (equation 3); Michel et al., "Are Sixteen
Heads Really Better than One?", 2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Places = NDArray[np.int64]
Factors = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True)
class Kept:
    """What is left of a layer: the places of its attention heads and of its feed-forward neurons."""

    heads: Places
    neurons: Places

    @classmethod
    def whole(cls, heads: int, neurons: int) -> Kept:
        """All of a layer."""
        return cls(np.arange(heads), np.arange(neurons))

    def among(self, chosen: Kept) -> Kept:
        """What is left of the layer when of what was left so far these places are."""
        return Kept(self.heads[chosen.heads], self.neurons[chosen.neurons])

    def rows(self, part: str, head_size: int) -> Places | slice:
        """The rows that are left of a part's matrix, and of its bias: those of heads (q, k, v) or neurons (fi)."""
        if part in ("q", "k", "v"):
            return self._of_heads(head_size)
        return self.neurons if part == "fi" else slice(None)

    def columns(self, part: str, head_size: int) -> Places | slice:
        """The columns that are left of a part's matrix: what reads heads (ao) or neurons (fo)."""
        if part == "ao":
            return self._of_heads(head_size)
        return self.neurons if part == "fo" else slice(None)

    def _of_heads(self, size: int) -> Places:
        return (self.heads[:, None] * size + np.arange(size)).ravel()


@dataclass(frozen=True, slots=True)
class Adapter:
    """The lowest `len(layers)` layers, and changes by the name of the tensor.

    `factors[name]` is (A, B), of shape (r, columns) and (rows, r): what is left of a matrix W becomes W + scale · B A.
    `biases[name]` stands in the place of the packaged bias. What is named in neither stays as it is.
    """

    layers: tuple[Kept, ...]
    scale: float = 1.0
    factors: Mapping[str, Factors] = field(default_factory=dict)
    biases: Mapping[str, Floats] = field(default_factory=dict)

    def matrix(self, name: str, packaged: Floats, head_size: int) -> Floats:
        """What is left of the packaged matrix of that name, with its change added."""
        layer, part = parts_of(name)
        kept = self.layers[layer]
        left = packaged[kept.rows(part, head_size)][:, kept.columns(part, head_size)]
        if name not in self.factors:
            return left
        inner, outer = self.factors[name]
        found: Floats = left + np.float32(self.scale) * (outer @ inner)
        return found

    def bias(self, name: str, packaged: Floats, head_size: int) -> Floats:
        """What is left of the packaged vector of that name in a layer, or what stands in its place."""
        layer, part = parts_of(name)
        return self.biases[name] if name in self.biases else packaged[self.layers[layer].rows(part, head_size)]


def parts_of(name: str) -> tuple[int, str]:
    """Layer and part of a tensor's name: of "l3.fo.w" 3 and "fo"."""
    layer, part, _ = name.split(".")
    return int(layer[1:]), part
