"""How many standing instructions were kept, along the rounds: the numbers behind the rolling curve. Pure functions.

The share is that of REA's instruction adherence rate (section 4.1) over the last replies instead of over all. Knows
nothing about plots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arpm.audit.statistics import Observation, adherence_rate

# Replies that one point looks back on.
ROLLING = 10
# More curves than this in one plot cannot be told apart.
MOST_CURVES = 8


@dataclass(frozen=True, slots=True)
class Kept:
    """One reply with instructions that code could check: how many it kept, and the share over the last replies."""

    round: int
    kept: int
    checked: int
    share: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The points of one model on one timeline, by round; `timeline` is empty where there is only one."""

    model: str
    timeline: str
    points: tuple[Kept, ...]


def adherence_curves(observations: Sequence[Observation], last: int = ROLLING) -> list[Curve]:
    """One curve for each model and timeline, in the order they first appear.

    A reply without an instruction that could be checked has no point, and neither has one that was asked for again.
    """
    several = len({one.timeline for one in observations}) > 1
    groups: dict[tuple[str, str], list[Observation]] = {}
    for one in observations:
        if {"kept", "broken"} & set(one.instructions or ()) and not one.replaced:
            groups.setdefault((one.model, one.timeline if several else ""), []).append(one)
    return [Curve(*names, tuple(_points(group, last))) for names, group in groups.items()]


def _points(group: Sequence[Observation], last: int) -> list[Kept]:
    points = []
    for place, one in enumerate(group):
        verdicts = one.instructions or ()
        share = adherence_rate(other.instructions for other in group[max(0, place + 1 - last) : place + 1])
        assert share is not None
        kept = verdicts.count("kept")
        points.append(Kept(one.round, kept, kept + verdicts.count("broken"), share))
    return points
