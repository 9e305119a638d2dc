"""From which probability a classifier says yes."""

from __future__ import annotations

import numpy as np

from benchmarks.thresholds import THRESHOLDS, best_threshold, f_scores, lowest_threshold


def test_the_best_is_where_the_two_part() -> None:
    said, true = np.array([0.1, 0.3, 0.62, 0.9]), np.array([False, False, True, True])
    assert best_threshold(said, true) == (1.0, 0.6)


def test_f_scores_by_hand() -> None:
    said, true, weights = np.array([0.9, 0.4, 0.9]), np.array([True, True, False]), np.array([1.0, 1.0, 0.5])
    # At .5: one hit, one missed, half a false one; F2 = 5 / (5 + 4 + 0.5).
    assert np.isclose(f_scores(said, true, weights, 2.0)[list(THRESHOLDS).index(0.5)], 5 / 9.5)


def test_what_examples_cannot_tell_apart_is_chosen_low() -> None:
    """Six false alarms of a thousand, against one miss, are within the error; a quarter of all is not."""
    chance = np.random.default_rng(1)
    asks, nothing = chance.uniform(0.6, 1, 300), chance.uniform(0, 0.2, 700)
    true, weights = np.array([True] * 300 + [False] * 700), np.ones(1000)
    asks[0] = 0.27
    few, many = nothing.copy(), nothing.copy()
    few[:6], many[:250] = 0.33, 0.33
    assert f_scores(np.concatenate([asks, few]), true, weights, 2.0).argmax() == list(THRESHOLDS).index(0.35)
    apart = [str(place) for place in range(1000)]
    assert lowest_threshold(np.concatenate([asks, few]), true, weights, apart) == 0.2
    assert lowest_threshold(np.concatenate([asks, many]), true, weights, apart) == 0.35


def test_the_messages_of_one_speaker_are_one_draw() -> None:
    """Bug class: the slang of one speaker of three decided, as if his messages were so many people."""
    chance = np.random.default_rng(2)
    asks, nothing = chance.uniform(0.6, 1, 300), chance.uniform(0, 0.2, 700)
    true, weights = np.array([True] * 300 + [False] * 700), np.ones(1000)
    nothing[:70] = 0.33
    said = np.concatenate([asks, nothing])
    assert lowest_threshold(said, true, weights, [str(place) for place in range(1000)]) == 0.35
    assert lowest_threshold(said, true, weights, [str(place // 100) for place in range(1000)]) == 0.2
