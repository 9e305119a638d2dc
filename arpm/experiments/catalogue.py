"""The experiments there are, by name, with one line on each. Imported one by one: some need heavy libraries."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from arpm.experiments.base import Result, Run

EXPERIMENTS: dict[str, str] = {}


def experiment(name: str) -> Callable[[Run], Result]:
    """The function that runs an experiment."""
    module = importlib.import_module(f"arpm.experiments.{name}")
    run: Callable[[Run], Result] = module.run
    return run
