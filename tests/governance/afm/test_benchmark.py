"""The benchmark of packing works on a small scale, and finds no budget exceeded."""

from __future__ import annotations

from benchmarks import afm_packing
from benchmarks.__main__ import available


def test_a_quick_run_measures_both_packers_and_every_budget_holds() -> None:
    result = afm_packing.run(quick=True)
    assert {row["packer"] for row in result["times"]} == {"as shipped", "as published"}
    shipped = result["times"][0]
    # A packing that showed nothing would be quick and prove nothing.
    assert shipped["full"] + shipped["compressed"] > 5 and shipped["dropped"] == 0
    assert 0 < shipped["median_ms"] <= shipped["p95_ms"]
    assert result["budgets"]["exceeded"] == {"as shipped": 0, "as published": 0}
    assert min(result["budgets"]["fullest"].values()) > 0.9
    assert result["lines"]["exceeded"] == {"afm": 0, "afm_paper": 0}
    assert min(result["lines"]["fullest"].values()) > 0.8
    assert all(item["met"] for item in result["targets"])
    assert "afm_packing" in available()
