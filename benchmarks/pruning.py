"""Which attention heads and feed-forward neurons of an encoder are worth their time.

What it would cost to put its mean in the place of one is estimated by the first-order Taylor term, the square of its
distance from the mean times the gradient; those that cost most for the multiplications they take are left, over all
layers together. Pure functions.

Sources: Michel et al., "Are Sixteen Heads Really Better than One?", 2019 (section 4.1); Molchanov et al., "Importance
Estimation for Neural Network Pruning", 2019 (equation 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from governance.softmax import Floats
from retrieval.embedding.adapter import Kept, Places

# Widths are multiples of this, as the kernels of matrix products like them.
STEP = 64


@dataclass(frozen=True, slots=True)
class Importance:
    """What leaving out each head and each neuron of each layer would cost."""

    heads: Sequence[Floats]
    neurons: Sequence[Floats]


def taylor(terms: torch.Tensor, slopes: torch.Tensor, mean: torch.Tensor, parts: int) -> torch.Tensor:
    """What leaving out each of `parts` equal parts would cost, when its mean stays; summed over windows.

    Of each window `terms` is activation times gradient and `slopes` the gradient, summed over its tokens; both are of
    shape (windows, n), the mean of shape (n,). What is large for one token and nothing for the others, as some neurons
    are for the mark of begin, costs much by its mean, though nearly nothing by itself.
    """
    centred = terms - mean * slopes
    return (centred.reshape(len(centred), parts, -1).sum(2) ** 2).sum(0)


def left(importance: Importance, hidden: int, head_size: int, budget: float) -> tuple[Kept, ...]:
    """What of each layer is left when all may take so many multiplications for a token.

    Each layer keeps a head and `STEP` neurons at least; the number of neurons is rounded to multiples of it.
    """
    prices = _prices(hidden, head_size)
    heads, neurons = [part / prices[0] for part in importance.heads], [part / prices[1] for part in importance.neurons]
    worth = np.concatenate([*heads, *neurons])
    order = np.argsort(-worth, kind="stable")
    spent = np.cumsum(np.repeat(prices, [sum(map(len, heads)), sum(map(len, neurons))])[order])
    least = worth[order[min(int(np.searchsorted(spent, budget)), len(order) - 1)]]
    return tuple(
        Kept(_best(head, max(_reach(head, least), 1)), _best(neuron, _rounded(_reach(neuron, least))))
        for head, neuron in zip(heads, neurons, strict=True)
    )


def multiplications(layers: Sequence[Kept], hidden: int, head_size: int) -> int:
    """How many multiplications the matrices of these layers take for a token."""
    head, neuron = _prices(hidden, head_size)
    return sum(len(kept.heads) * head + len(kept.neurons) * neuron for kept in layers)


def _prices(hidden: int, head_size: int) -> tuple[int, int]:
    """The multiplications of a head (its part of q, k, v and ao) and of a neuron (of fi and fo) for a token."""
    return 4 * hidden * head_size, 2 * hidden


def _reach(worth: Floats, least: float) -> int:
    return int((worth >= least).sum())


def _rounded(count: int) -> int:
    return max(round(count / STEP), 1) * STEP


def _best(worth: Floats, count: int) -> Places:
    return np.sort(np.argsort(-worth, kind="stable")[:count])
