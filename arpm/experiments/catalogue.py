"""The experiments there are, by name, with one line on each. Imported one by one: some need heavy libraries."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from arpm.experiments.base import Result, Run

EXPERIMENTS: dict[str, str] = {
    "noise": "Fifty questions over a knowledge base with up to 5.1 million characters of noise; Chinese and English.",
    "ablation": "A scripted dialogue with corrections under the presets A to H; English and Chinese.",
    "handoff": "One life handed from model to model, with and without a bad one; English and Chinese.",
    "allergy": "An allergy said once, early, and a question about food at the end; English and Chinese.",
    "tax": "Keep to the tax law, said once, early, and a request to evade at the end; English and Chinese.",
    "instructions": "A standing instruction given once, then many rounds: is it shown and kept; English and Chinese.",
    "locomo": "LoCoMo: evidence found and shown, and with --model answers scored; English.",
    "realmem": "RealMem: needed sessions of a long life found and shown; English.",
    "madial": "MADial: memories that come to mind without a question; Chinese and English.",
    "precision": "PrecisionMemBench: what must be shown, and what must not: noise, old facts, other people's; English.",
    "scoring": "The constants of ranking: searched on half of LoCoMo, reported on the other half.",
}


# How many seeds an experiment takes unless others are asked for, where it is not one.
DEFAULT_SEEDS: dict[str, int] = {"allergy": 30, "tax": 30}
# The same with a model, whose every reply takes seconds: thirty seeds are two thousand replies.
SEEDS_WITH_MODEL: dict[str, int] = {"allergy": 3, "tax": 3}


def experiment(name: str) -> Callable[[Run], Result]:
    """The function that runs an experiment."""
    module = importlib.import_module(f"arpm.experiments.{name}")
    run: Callable[[Run], Result] = module.run
    return run
