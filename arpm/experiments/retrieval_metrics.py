"""Measures of retrieval, and how sure they are: recall, hit, reciprocal rank, nDCG, bootstrap intervals. Pure
functions.

Knows nothing about data sets. Ids are compared as they are; a ranking holds no id twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from arpm.audit.plots import BLUE, GREY, ORANGE, styled
from arpm.experiments.base import Table

CUTS = (1, 5, 10, 20)
# The seed and number of resamples of every interval: the same values give the same interval.
BOOTSTRAP_SEED = 20260430
RESAMPLES = 2000
_CONFIDENCE = 0.95
_CELLS = 1_000_000

Scores = dict[str, float]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its 95 % bootstrap interval, and of how many values."""

    mean: float
    low: float
    high: float
    count: int

    def as_dict(self) -> dict[str, Any]:
        return {"mean": self.mean, "low": self.low, "high": self.high, "count": self.count}

    def __str__(self) -> str:
        return f"{self.mean:.3f} ({self.low:.3f}–{self.high:.3f})"


def retrieval_scores(ranked: Sequence[str], gold: Collection[str], cuts: Sequence[int] = CUTS) -> Scores:
    """recall@k (share of the gold found), hit@k (any of it), nDCG@10, and the reciprocal rank of the first.

    Raises ValueError without gold, where none of them means anything.
    """
    wanted = frozenset(gold)
    if not wanted:
        raise ValueError("a question without gold has no retrieval scores")
    places = [place for place, id in enumerate(ranked, 1) if id in wanted]
    found = {f"recall@{k}": sum(place <= k for place in places) / len(wanted) for k in cuts}
    hits = {f"hit@{k}": float(any(place <= k for place in places)) for k in cuts}
    return {**found, **hits, "ndcg@10": _ndcg(places, len(wanted), 10), "mrr": 1 / places[0] if places else 0.0}


def _ndcg(places: Sequence[int], relevant: int, cut: int) -> float:
    """Binary gains, discounted by log2(place + 1), over what the best ranking would gain (Järvelin & Kekäläinen)."""
    gained = sum(1 / math.log2(place + 1) for place in places if place <= cut)
    return gained / sum(1 / math.log2(place + 1) for place in range(1, min(relevant, cut) + 1))


def prompt_scores(shown: Collection[str], gold: Collection[str]) -> Scores:
    """White-box rates of one question: whether any, and whether all, of its gold is in the prompt."""
    return {
        "evidence in prompt": float(any(id in shown for id in gold)),
        "all evidence in prompt": float(all(id in shown for id in gold)),
    }


def estimate(values: Sequence[float]) -> Estimate | None:
    """The mean of the values with its percentile bootstrap interval; None of nothing."""
    if not values:
        return None
    low, high = _interval(tuple(values))
    return Estimate(float(np.mean(values)), low, high, len(values))


def paired_difference(ours: Sequence[float], theirs: Sequence[float]) -> Estimate | None:
    """The mean of ours − theirs over the same questions, with an interval that resamples questions, not sides."""
    return estimate([a - b for a, b in zip(ours, theirs, strict=True)])


# The same values are asked for in numbers, tables and plots.
@lru_cache(maxsize=4096)
def _interval(values: tuple[float, ...]) -> tuple[float, float]:
    array = np.asarray(values, dtype=np.float64)
    draw = np.random.default_rng(BOOTSTRAP_SEED)
    # In parts: all resamples of a large data set at once would take gigabytes.
    part = max(_CELLS // len(array), 1)
    sizes = [min(part, RESAMPLES - start) for start in range(0, RESAMPLES, part)]
    means = np.concatenate([array[draw.integers(0, len(array), (size, len(array)))].mean(axis=1) for size in sizes])
    tail = (1 - _CONFIDENCE) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def estimates(rows: Sequence[Scores], measures: Iterable[str]) -> dict[str, Estimate]:
    """Every measure over the rows that have it; a measure that none has is left out."""
    found = ((measure, estimate([row[measure] for row in rows if measure in row])) for measure in measures)
    return {measure: value for measure, value in found if value is not None}


def as_numbers(groups: Mapping[str, Sequence[Scores]], measures: Sequence[str]) -> dict[str, Any]:
    """Every measure of every group as plain values, for a result's numbers."""
    return {
        name: {measure: value.as_dict() for measure, value in estimates(rows, measures).items()}
        for name, rows in groups.items()
    }


def measures_table(title: str, groups: Mapping[str, Sequence[Scores]], measures: Sequence[str]) -> Table:
    """One line for each group: how many questions, and every measure with its interval."""
    rows = []
    for name, group in groups.items():
        found = estimates(group, measures)
        rows.append((name, len(group), *(str(found[measure]) if measure in found else None for measure in measures)))
    return Table(title, ("", "questions", *measures), tuple(rows))


def grouped(rows: Iterable[Any], key: Callable[[Any], str]) -> dict[str, list[Any]]:
    """The rows by a key, in the order in which the keys first occur."""
    groups: dict[str, list[Any]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def bars(title: str, up: str, series: Mapping[str, Mapping[str, Estimate]]) -> Figure:
    """Bars with their intervals: one group of bars for each name, one bar in it for each series."""
    names = list(dict.fromkeys(name for values in series.values() for name in values))
    width = 0.8 / max(len(series), 1)
    with styled(title, "", up) as (figure, axes):
        for number, (label, values) in enumerate(series.items()):
            shown = [(place, values[name]) for place, name in enumerate(names) if name in values]
            means = [value.mean for _, value in shown]
            axes.bar(
                [place + (number - (len(series) - 1) / 2) * width for place, _ in shown],
                means,
                width * 0.92,
                label=label,
                color=(BLUE, ORANGE, GREY)[number % 3],
                hatch=("", "//", "..")[number % 3],
                edgecolor="white",
                yerr=[
                    [max(value.mean - value.low, 0.0) for _, value in shown],
                    [max(value.high - value.mean, 0.0) for _, value in shown],
                ],
                error_kw={"elinewidth": 1, "capsize": 3},
            )
        axes.set_xticks(range(len(names)), names)
        axes.set_ylim(0, 1.04)
        axes.grid(axis="x", visible=False)
        axes.set_axisbelow(True)
        if len(series) > 1:
            # Under the axes: bars may fill all of them.
            figure.legend(loc="outside lower center", ncols=len(series))
        return figure
