"""Temporal weights: paper equations (7) to (9), with the floor we add. Pure functions.

Ages below zero (a clock that jumped back, a memory dated in the future) count as zero, and a memory without a round
or a time has weight 1 on that axis (bug: future times weighed more than one; missing zones lost their decay).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime


def round_decay(age: float | None, time_constant: float) -> float:
    """exp(-age / time_constant), `age` in rounds (paper equation 7); 1 when the age is unknown."""
    return 1.0 if age is None else math.exp(-max(age, 0.0) / time_constant)


def clock_decay(age: float | None, time_constant: float) -> float:
    """exp(-age / time_constant), `age` in hours (paper equation 8); 1 when the age is unknown."""
    return 1.0 if age is None else math.exp(-max(age, 0.0) / time_constant)


def temporal_weight(round_weight: float, clock_weight: float, floor: float = 0.0) -> float:
    """floor + (1 - floor) · round · clock. With `floor` 0 this is paper equation (9).

    The floor keeps what was said long ago reachable: with the paper's constants everything older than about fifty
    rounds weighs under 0.1.
    """
    return floor + (1.0 - floor) * round_weight * clock_weight


@dataclass(frozen=True, slots=True)
class Moment:
    """When a turn happens: its round and its timezone-aware time."""

    round: int
    at: datetime

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise ValueError("the time of a turn needs a timezone")


def rounds_between(moment: Moment, round: int | None) -> int | None:
    """Age in rounds, None when the memory has no round."""
    return None if round is None else max(moment.round - round, 0)


def hours_between(moment: Moment, at: datetime | None) -> float | None:
    """Age in hours, None when the memory has no time."""
    if at is None:
        return None
    # By timestamps: between two times of one zone Python subtracts clock faces, an hour off across a clock change.
    return max((moment.at.timestamp() - at.timestamp()) / 3600.0, 0.0)
