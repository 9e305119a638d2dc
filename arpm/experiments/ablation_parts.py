"""What each part of the system is for: the rounds that its removal should cost, written down before measuring.

A part is worth something if taking it away costs what it is there for, surely, and nothing elsewhere. So every part is
held against A twice: in its own rounds, where a cost is expected, and in all others, where none is. Pure functions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from arpm.experiments.ablation_actor import HABITS
from arpm.experiments.ablation_measures import (
    CITES,
    MEASURES,
    NEWEST,
    PLACE,
    SHOWN,
    VERIFIED,
    Row,
    differences,
    estimated,
    per_script,
    sign_test,
)
from arpm.experiments.base import Table, Target
from arpm.experiments.retrieval_metrics import Estimate

BASE = "A"
ALONE, AFTER = "alone", "after earlier dialogues"
SETTINGS = (ALONE, AFTER)
# From which sign test on a difference counts.
_SURE = 0.05
# The least that a part must cost, at the near end of the interval, to be worth having.
_LEAST = 0.01


@dataclass(frozen=True, slots=True)
class Part:
    """What taking a part away (or adding strictness, `gains`) should change: one measure, in some rounds, and why."""

    preset: str
    measure: str
    rounds: frozenset[int]
    why: str
    gains: bool = False
    settings: tuple[str, ...] = SETTINGS


def _having(*habits: str) -> frozenset[int]:
    return frozenset(number for number, habit in HABITS.items() if habit in habits)


# A definition and a part of the thing, the version behind the false claim, an error of the manual.
_DOCUMENTS = frozenset({1, 2, 15, 16})
# What was said before the window: the key, a correction, the order, everything.
_LOOKING_BACK = frozenset({17, 18, 19, 20})
# Told from what is alike by a name or a number alone: a version of a program, an error of its manual, an order. (The
# first version of this list had 15 not at all and 19 after earlier dialogues only; half of the scripts showed better.)
_BY_NAME = frozenset({15, 16, 19})
# Resting on what was told again in the same words.
_RETOLD = frozenset({17, 20})

PARTS: tuple[Part, ...] = (
    Part("B", SHOWN, _DOCUMENTS, "only a document answers"),
    Part("C", SHOWN, _LOOKING_BACK, "said before the window"),
    Part("D", NEWEST, _RETOLD, "told again in the same words: only time tells which holds"),
    Part("D", SHOWN, frozenset({17}), "more like statements than places", settings=(AFTER,)),
    Part("E", SHOWN, _BY_NAME, "one name or number among many alike"),
    Part("E", PLACE, _BY_NAME, "one name or number among many alike"),
    Part("F", VERIFIED, _having("careless"), "the form is broken once"),
    Part("G", SHOWN, _DOCUMENTS | _LOOKING_BACK, "neither documents nor memory"),
    Part("G", VERIFIED, frozenset(range(1, 21)) - _having("stubborn"), "nothing is verified"),
    Part("H", VERIFIED, _having("stubborn"), "the form is broken twice", gains=True),
    Part("H", CITES, _having("silent", "stubborn"), "nothing is cited until it is asked for", gains=True),
)


@dataclass(frozen=True, slots=True)
class Worth:
    """A part held against A in some rounds: both means, the paired difference, and whether it was to be expected."""

    part: Part
    rounds: tuple[int, ...]
    base: Estimate
    without: Estimate
    difference: Estimate
    p: float
    expected: bool

    @property
    def found(self) -> bool:
        """Whether A is surely better (with `gains`: surely worse); where nothing is expected, whether they differ."""
        up, down = self.difference.low > 0, self.difference.high < 0
        surely = self.p < _SURE
        if not self.expected:
            return surely and (up or down)
        return surely and (up if self.part.gains else down)

    @property
    def at_least(self) -> float:
        """The near end of the interval of what the part is worth; 0 where the sign test is not sure."""
        near = self.difference.low if self.part.gains else -self.difference.high
        return near if self.p < _SURE else 0.0

    def as_dict(self) -> dict[str, Any]:
        return {
            "preset": self.part.preset,
            "measure": self.part.measure,
            "why": self.part.why,
            "rounds": list(self.rounds),
            "A": self.base.as_dict(),
            "without": self.without.as_dict(),
            "difference": self.difference.as_dict(),
            "p": self.p,
            "gain": self.part.gains,
            "should": self.expected,
            "does": self.found,
        }


def worths(rows: Sequence[Row], setting: str, language: str | None = None) -> list[Worth]:
    """Every part of a setting, in its own rounds and in the others that have its measure."""
    found: list[Worth] = []
    for part in PARTS:
        if setting not in part.settings:
            continue
        others = {row["round"] for row in rows} - part.rounds
        pair = (_worth(rows, part, part.rounds, True, language), _worth(rows, part, others, False, language))
        found += [worth for worth in pair if worth is not None]
    return found


def _worth(
    rows: Sequence[Row], part: Part, rounds: Collection[int], expected: bool, language: str | None
) -> Worth | None:
    """None where no round has the measure."""
    some = [row for row in rows if row["round"] in rounds and language in (None, row["language"])]
    value = MEASURES[part.measure]
    base, ours = per_script(some, BASE, value), per_script(some, part.preset, value)
    paired = [key for key in base if key in ours]
    means = [estimated([values[key] for key in paired]) for values in (base, ours)]
    deltas = differences(ours, base)
    difference = estimated(deltas)
    if means[0] is None or means[1] is None or difference is None:
        return None
    measured = tuple(sorted({row["round"] for row in some if value(row) is not None}))
    return Worth(part, measured, means[0], means[1], difference, sign_test(deltas), expected)


def parts_table(rows: Sequence[Row], setting: str) -> Table:
    """What each removed part costs in its own rounds and in the others, over both languages."""
    lines = [
        (
            worth.part.preset,
            worth.part.measure,
            ", ".join(map(str, worth.rounds)),
            worth.part.why if worth.expected else "the other rounds",
            str(worth.base),
            str(worth.without),
            str(worth.difference),
            f"{worth.p:.2g}",
            ("gain" if worth.part.gains else "cost") if worth.expected else "no",
            "yes" if worth.found else "no",
        )
        for worth in worths(rows, setting)
    ]
    heads = ("preset", "measure", "rounds", "why", BASE, "preset's", f"minus {BASE}", "sign test", "should", "does")
    return Table(f"What each part is worth, {setting}", heads, tuple(lines))


def part_targets(rows: Sequence[Row], setting: str) -> tuple[Target, ...]:
    """One bar for each part: the least that it is worth in its own rounds, with 95 % confidence."""
    return tuple(
        Target(
            f"{worth.part.preset} {'gains' if worth.part.gains else 'costs'} {worth.part.measure} in rounds "
            f"{', '.join(map(str, worth.rounds))}, at least",
            worth.at_least,
            _LEAST,
        )
        for worth in worths(rows, setting)
        if worth.expected
    )
