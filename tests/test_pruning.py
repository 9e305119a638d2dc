"""Which heads and neurons of an encoder are left."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.pruning import STEP, Importance, left, multiplications, taylor
from retrieval.embedding.adapter import Kept


class TestTaylor:
    def test_it_is_what_a_linear_loss_loses_with_the_mean_in_its_place(self) -> None:
        """Of a loss that is linear in the activations the first-order term is all there is."""
        torch.manual_seed(1)
        activation, slope = torch.randn(3, 5, 8) + 1, torch.randn(3, 5, 8)
        mean = activation.mean((0, 1))
        found = taylor((activation * slope).sum(1), slope.sum(1), mean, 4)
        for part in range(4):
            places, without = slice(2 * part, 2 * part + 2), activation.clone()
            without[..., places] = mean[places]
            lost = ((activation - without) * slope).sum((1, 2))
            assert found[part].item() == pytest.approx((lost**2).sum().item(), rel=1e-4)

    def test_what_is_large_for_one_token_is_not_let_go(self) -> None:
        """Bug class: a neuron that spoke for the mark of begin alone seemed to matter for nothing, since there the
        gradient is none; its mean in the place of it spoilt every other token."""
        activation, slope = torch.zeros(1, 10, 2), torch.ones(1, 10, 2)
        activation[0, 0] = torch.tensor([100.0, 1.0])
        slope[0, 0] = 0
        first, second = taylor((activation * slope).sum(1), slope.sum(1), activation.mean((0, 1)), 2).tolist()
        assert first == pytest.approx(10_000 * second) and second > 0


SIZES = 384, 32
WHOLE = (Kept.whole(12, 1536),) * 3


def importance(layers: int = 3) -> Importance:
    draw = np.random.default_rng(1)
    # So that heads, which take 64 times as long, are worth as much for their time.
    return Importance(list(draw.random((layers, 12)) * 64), list(draw.random((layers, 1536))))


class TestLeft:
    @pytest.mark.parametrize("share", [0.2, 0.4, 0.7, 1.0])
    def test_it_takes_its_share(self, share: float) -> None:
        whole = multiplications(WHOLE, *SIZES)
        assert whole == 3 * (4 * 384**2 + 2 * 384 * 1536)
        taken = multiplications(left(importance(), *SIZES, share * whole), *SIZES)
        # Neurons are rounded to steps: of each layer by half a step at most.
        assert taken / whole == pytest.approx(share, abs=0.02)

    def test_the_most_important_are_left_in_their_order(self) -> None:
        given = importance()
        for layer, kept in enumerate(left(given, *SIZES, 0.4 * multiplications(WHOLE, *SIZES))):
            for places, worth in ((kept.heads, given.heads[layer]), (kept.neurons, given.neurons[layer])):
                out = np.setdiff1d(np.arange(len(worth)), places)
                assert list(places) == sorted(places) and worth[places].min() >= worth[out].max()
            assert len(kept.neurons) % STEP == 0

    def test_what_matters_little_in_a_layer_is_taken_from_there(self) -> None:
        given = importance()
        given.neurons[0][:] *= 0.01
        first, *others = left(given, *SIZES, 0.4 * multiplications(WHOLE, *SIZES))
        assert all(len(first.neurons) < len(other.neurons) for other in others)

    def test_of_every_layer_something_is_left(self) -> None:
        given = importance(2)
        given.heads[1][:] = given.neurons[1][:] = 0
        kept = left(given, *SIZES, 0.3 * multiplications(WHOLE[:2], *SIZES))[1]
        assert len(kept.heads) == 1 and len(kept.neurons) == STEP

    def test_what_is_left_can_be_thinned_again(self) -> None:
        given = importance()
        first = left(given, *SIZES, 0.5 * multiplications(WHOLE, *SIZES))
        rest = Importance(
            [worth[kept.heads] for worth, kept in zip(given.heads, first, strict=True)],
            [worth[kept.neurons] for worth, kept in zip(given.neurons, first, strict=True)],
        )
        budget = 0.3 * multiplications(WHOLE, *SIZES)
        again = [had.among(kept) for had, kept in zip(first, left(rest, *SIZES, budget), strict=True)]
        for kept, at_once in zip(again, left(given, *SIZES, budget), strict=True):
            assert np.array_equal(kept.heads, at_once.heads) and np.array_equal(kept.neurons, at_once.neurons)
