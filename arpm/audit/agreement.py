"""How far reviewers agree beyond chance: Cohen's kappa for two, Fleiss' kappa and the mean of pairs for more.

Pure functions over ratings. A kappa is None where it is not defined: without items, and where everybody used one and
the same category throughout, so that chance alone would agree as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

# Rater → item → category.
Ratings = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two raters over the items that both rated. `table[i][j]` counts items that `first` put into category i and
    `second` into category j; `observed` is the share that agrees."""

    first: str
    second: str
    items: int
    categories: tuple[str, ...]
    table: tuple[tuple[int, ...], ...]
    observed: float | None
    kappa: float | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Every pair, the mean of the kappas that are defined, and Fleiss' kappa over the items that everybody rated."""

    raters: tuple[str, ...]
    pairs: tuple[Pair, ...]
    mean_kappa: float | None
    fleiss_items: int
    fleiss_kappa: float | None


def agreement(ratings: Ratings, categories: Sequence[str]) -> Agreement:
    """The agreement of all raters, in the order of their names."""
    raters = tuple(sorted(ratings))
    pairs = tuple(pair_of(ratings, first, second, categories) for first, second in combinations(raters, 2))
    kappas = [pair.kappa for pair in pairs if pair.kappa is not None]
    common = [item for item in ratings[raters[0]] if all(item in ratings[rater] for rater in raters)] if raters else []
    counts = [Counter(ratings[rater][item] for rater in raters) for item in common]
    return Agreement(
        raters=raters,
        pairs=pairs,
        mean_kappa=sum(kappas) / len(kappas) if kappas else None,
        fleiss_items=len(common),
        fleiss_kappa=fleiss_kappa([[count[category] for category in categories] for count in counts]),
    )


def pair_of(ratings: Ratings, first: str, second: str, categories: Sequence[str]) -> Pair:
    """The confusion table of two raters and what follows from it."""
    common = [item for item in ratings[first] if item in ratings[second]]
    counts = Counter((ratings[first][item], ratings[second][item]) for item in common)
    table = tuple(tuple(counts[a, b] for b in categories) for a in categories)
    agreed = sum(table[place][place] for place in range(len(categories)))
    observed = agreed / len(common) if common else None
    return Pair(first, second, len(common), tuple(categories), table, observed, cohen_kappa(table))


def cohen_kappa(table: Sequence[Sequence[int]]) -> float | None:
    """κ = (p_o − p_e) / (1 − p_e), Cohen 1960: observed against chance agreement of the two raters' own habits."""
    total = sum(map(sum, table))
    if not total:
        return None
    agreed = sum(table[place][place] for place in range(len(table))) * total
    # In whole numbers as long as possible: total² · p_e and total² · p_o.
    chance = sum(sum(row) * sum(column) for row, column in zip(table, zip(*table, strict=True), strict=True))
    return None if chance == total * total else (agreed - chance) / (total * total - chance)


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> float | None:
    """κ = (P̄ − P̄_e) / (1 − P̄_e), Fleiss 1971. `counts[i][j]`: how many raters put item i into category j.

    Every item has the same number of ratings, at least two. Raises ValueError otherwise.
    """
    if not counts:
        return None
    raters = sum(counts[0])
    if raters < 2 or any(sum(row) != raters for row in counts):
        raise ValueError("every item needs the same number of ratings, at least two")
    items = len(counts)
    agreed = sum(sum(n * (n - 1) for n in row) for row in counts) / (items * raters * (raters - 1))
    shares: list[float] = [sum(column) / (items * raters) for column in zip(*counts, strict=True)]
    if any(share == 1 for share in shares):
        return None
    chance = sum(share * share for share in shares)
    return (agreed - chance) / (1 - chance)
