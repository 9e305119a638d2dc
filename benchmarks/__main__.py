"""`python -m benchmarks [NAME…] [--quick]`: run the benchmarks that are here, print and store what they find."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.report import execute

# Cheap ones first, so that a fault shows early.
NAMES = (
    "published",
    "bm25",
    "ledger",
    "bit_flips",
    "governance_time",
    "recogniser",
    "afm_packing",
    "embedding",
    "startup",
    "first_token",
    "replay",
    "locomo",
    "knowledge_route",
    "evidence_choice",
)


def available() -> list[str]:
    """The benchmarks that are here, in the order they run."""
    return [name for name in NAMES if (Path(__file__).parent / f"{name}.py").exists()]


def main(arguments: list[str] | None = None) -> int:
    """Run what was named, or everything. Returns 1 when a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one or more of {', '.join(available())}")
    parser.add_argument("--quick", action="store_true", help="small runs that show the benchmarks work")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in available():
            parser.error(f"there is no benchmark {name!r}; there are {', '.join(available())}")
    results = [
        execute(name, import_module(f"benchmarks.{name}").run, options.quick) for name in options.names or available()
    ]
    return int(any(not target["met"] for result in results for target in result.get("targets", ())))


if __name__ == "__main__":
    sys.exit(main())
