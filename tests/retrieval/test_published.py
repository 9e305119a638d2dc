"""Our formulas on numbers of the published calculation log: what follows from its parts, and what does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.published import Row, rows

EXTRACT = json.loads((Path(__file__).parents[1] / "fixtures" / "published_extract.json").read_text(encoding="utf-8"))
# (kind, round, item) of the rows whose printed parts do not give the printed number.
STRAYS = {
    ("RRF", 4, "5fc40fbf"),
    ("RRF", 4, "9d61e736"),
    ("BM25 sum", 18, "656785d2"),
    ("RRF", 27, "4199444b"),
    ("RRF", 27, "8288babf"),
    ("RRF", 27, "97cfe7e8"),
}


@pytest.fixture(scope="module")
def found() -> list[Row]:
    return [row for entry in EXTRACT["rounds"] for row in rows(entry)]


class TestPublishedNumbers:
    @pytest.mark.parametrize(
        ("kind", "count"),
        [
            ("idf", 41),
            ("term weight", 41),
            ("token contribution", 41),
            ("BM25 sum", 3),
            ("RRF", 10),
            ("knowledge final", 5),
            ("round decay", 8),
            ("clock decay", 8),
            ("temporal weight", 8),
            ("history bonus", 8),
            ("history final", 8),
        ],
    )
    def test_every_row_that_follows_agrees_to_1e_5(self, found: list[Row], kind: str, count: int) -> None:
        of_kind = [row for row in found if row.kind == kind]
        assert len(of_kind) == count
        for row in of_kind:
            if (row.kind, row.round, row.item) not in STRAYS:
                assert row.recomputed == pytest.approx(row.printed, abs=1e-5), row

    def test_the_rows_that_do_not_follow_are_found(self, found: list[Row]) -> None:
        """An auditor must find exactly such rows: a printed vector rank that took no part, a sum without its parts."""
        assert {(row.kind, row.round, row.item) for row in found if not row.follows} == STRAYS

    def test_a_changed_digit_is_noticed(self) -> None:
        entry: dict[str, Any] = json.loads(json.dumps(EXTRACT["rounds"][0]))
        entry["history_final"][0]["final"] += 0.0001
        entry["bm25"][0]["tokens"][4]["tf_weight"] += 0.0001
        assert {row.kind for row in rows(entry) if not row.follows} == {
            "RRF",
            "history final",
            "term weight",
            "token contribution",
        }
