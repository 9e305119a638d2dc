"""Which model spoke in which rounds of a log that does not say: a CSV of ranges.

Takes `first_round,last_round,model`, and the layout of the published `analysis_stats_by_stage.csv` (模型, 索引范围).
Rounds are counted along the log, from 1: the log's own numbers begin again with every model.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from arpm.errors import InputError
from retrieval.text import usable

_RANGE = re.compile(r"\s*(\d{1,9})\s*(?:[-–—~～至]\s*(\d{1,9})\s*)?")


@dataclass(frozen=True, slots=True)
class Stage:
    """The rounds `first` to `last`, counted along the log, were spoken by `model`."""

    first: int
    last: int
    model: str


@dataclass(frozen=True, slots=True)
class Stages:
    """Ranges that do not overlap, in order."""

    stages: tuple[Stage, ...] = ()

    def model(self, number: int) -> str | None:
        """The model of the round with that number along the log; None when no range holds it."""
        return next((stage.model for stage in self.stages if stage.first <= number <= stage.last), None)


def read_stages(name: str, data: bytes) -> Stages:
    """The ranges of a CSV file. Raises InputError naming the line."""
    try:
        rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig")), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{name} is no CSV in UTF-8: {error}.") from error
    stages = sorted(_stages(name, rows), key=lambda stage: stage.first)
    if not stages:
        raise InputError(f"{name} names no range; it is a CSV with the columns first_round, last_round and model.")
    for one, next_one in pairwise(stages):
        if next_one.first <= one.last:
            raise InputError(
                f"{name}: the rounds {one.first} to {one.last} and {next_one.first} to {next_one.last} overlap."
            )
    return Stages(tuple(stages))


def _stages(name: str, rows: list[dict[str, str]]) -> Iterator[Stage]:
    for number, row in enumerate(rows, 2):
        cells = {(key or "").strip(): (value or "") for key, value in row.items() if isinstance(value, str | None)}
        model = usable(cells.get("model", cells.get("模型", ""))).strip()
        span = cells.get("索引范围") or f"{cells.get('first_round', '')}-{cells.get('last_round', '')}"
        found = _RANGE.fullmatch(span)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not model or not 1 <= first <= last:
            raise InputError(
                f"{name}, line {number}: needs first_round and last_round (from 1, in this order) and a model."
            )
        yield Stage(first, last, model[:200])
