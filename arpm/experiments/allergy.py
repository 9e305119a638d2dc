"""`allergy`: an allergy said once, early in a talk about a journey, and a question about food at its end (AFM, 4.3)."""

from __future__ import annotations

from arpm.experiments import constraint
from arpm.experiments.base import Result, Run


def run(run: Run) -> Result:
    """The experiment: see `constraint`."""
    return constraint.experiment(run, "allergy")
