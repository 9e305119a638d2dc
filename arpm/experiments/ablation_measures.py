"""What the ablation measures of a prepared round, and means of it over scripts that pair up. Pure functions.

A row is what one preset made of one round of one script. Scripts, not rounds, are what is drawn anew for an interval:
the rounds of one dialogue are too much alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import comb
from typing import Any

from arpm.experiments.retrieval_metrics import Estimate, estimate

# One row of a step: what a preset made of a round.
Row = dict[str, Any]
# What one row is worth; None where the round does not ask for it.
Measure = Callable[[Row], float | None]
# Means by script: language and name of the script, in one order for every preset, so that they pair up.
PerScript = dict[tuple[str, str], float]

SHOWN = "needed evidence in prompt"
PLACE = "reciprocal rank of the needed evidence"
OUTRANKS = "corrected fact outranks the stale one"
LAST = "corrected fact stands last in the prompt"
FIRST_HAND = "correction outranks the first statement"
NEWEST = "newest statement outranks the older ones"
VERIFIED = "reply verified in the end"
CITES = "reply cites what it was shown"

MEASURES: Mapping[str, Measure] = {
    SHOWN: lambda row: float(not row["missing"]) if row["needs"] else None,
    PLACE: lambda row: _mean(row["reciprocal_ranks"]),
    OUTRANKS: lambda row: _mean(row["outranks"]),
    LAST: lambda row: _mean(row["last_word"]),
    FIRST_HAND: lambda row: _mean(row["first_hand"]),
    NEWEST: lambda row: _mean(row["newest"]),
    VERIFIED: lambda row: float(row["kept_form"]),
    CITES: lambda row: None if row["cites"] is None else float(row["cites"]),
}


def per_script(rows: Sequence[Row], name: str, value: Measure) -> PerScript:
    """The mean of a preset over the rounds of each script that have the measure."""
    groups: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row["preset"] == name and (found := value(row)) is not None:
            groups.setdefault((row["language"], row["script"]), []).append(found)
    return {key: sum(values) / len(values) for key, values in groups.items()}


def of_language(values: PerScript, language: str | None) -> list[float]:
    """The scripts of a language, or all of them."""
    return [value for (spoken, _), value in values.items() if language in (None, spoken)]


def overall(values: PerScript) -> float:
    """The mean over all scripts."""
    found = of_language(values, None)
    return sum(found) / len(found)


def estimated(values: Sequence[float]) -> Estimate | None:
    """The mean with its interval."""
    return _estimated_once(tuple(values))


@cache
def _estimated_once(values: tuple[float, ...]) -> Estimate | None:
    """An interval takes thousands of draws, and most presets have the values of another one."""
    return estimate(values)


def differences(ours: PerScript, base: PerScript, language: str | None = None) -> list[float]:
    """Ours − base, script by script. Scripts that only one of them has are left out."""
    return [ours[key] - base[key] for key in base if key in ours and language in (None, key[0])]


def sign_test(values: Sequence[float]) -> float:
    """The two-sided exact sign test: how probable it is that so many of the differences have one sign by chance.

    Differences of 0 say nothing. It stands beside the bootstrap, which is too sure of few scripts that all agree.
    """
    up, down = sum(value > 0 for value in values), sum(value < 0 for value in values)
    count = up + down
    tail: int = sum(comb(count, k) for k in range(min(up, down) + 1))
    return float(min(1.0, tail * 2.0 ** (1 - count)))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
