"""How a benchmark is told: printed as tables, and written as JSON with command, seed, duration, machine and date.

Knows nothing about what is measured. A result may hold "tables" (see `table`), "targets" (see `target`), "seed",
and "skipped" (why nothing was measured); whatever else it holds is written as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

RESULTS = Path(__file__).parent / "results"
DATA = Path(__file__).parents[2] / "shared" / "data"

Run = Callable[[bool], dict[str, Any]]


class DataMissingError(Exception):
    """A data folder that a benchmark needs is not there; the text says where it was looked for."""


def data_folder(name: str) -> Path:
    """The folder of one data set, under ARPM_DATA (default: ../shared/data). Raises DataMissingError."""
    folder = Path(os.environ.get("ARPM_DATA") or DATA) / name
    if not folder.is_dir():
        raise DataMissingError(f"no data in {folder}; set ARPM_DATA to the folder that holds {name}/")
    return folder


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """A table of a result."""
    return {"title": title, "columns": list(columns), "rows": [list(row) for row in rows]}


def target(what: str, value: float, bar: float, *, at_least: bool = False, unit: str = "") -> dict[str, Any]:
    """A figure that has a bar to reach: at most `bar`, or at least."""
    met = value >= bar if at_least else value <= bar
    sign = ">=" if at_least else "<="
    return {"what": what, "value": round(value, 6), "bar": f"{sign} {bar:g}{unit and ' ' + unit}", "met": met}


def execute(name: str, run: Run, quick: bool, results: Path = RESULTS) -> dict[str, Any]:
    """Run a benchmark, print what it found, and write it to `results`/NAME.json.

    Returns what was written. Nothing is written by a quick run, which only shows that the benchmark works, nor by one
    whose data is missing, which is reported as skipped.
    """
    start = time.perf_counter()
    try:
        found = run(quick)
    except DataMissingError as missing:
        found = {"skipped": str(missing)}
    seconds = round(time.perf_counter() - start, 1)
    command = f"python -m benchmarks {name}" + (" --quick" if quick else "")
    result = {
        "benchmark": name,
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": seconds,
        "machine": machine(),
        **found,
    }
    print(text(result))
    if not quick and "skipped" not in result:
        _write(results / f"{name}.json", result)
    return result


def main(name: str, run: Run) -> None:
    """The command line of one benchmark."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}")
    parser.add_argument("--quick", action="store_true", help="a small run that shows the benchmark works")
    execute(name, run, parser.parse_args().quick)


def machine() -> dict[str, Any]:
    """What a figure was measured on: cores this process may use, processor, memory, Python."""
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "processor": _processor(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def text(result: Mapping[str, Any]) -> str:
    """A result as a person reads it."""
    head = f"== {result['benchmark']} ({result['command']}; {result['seconds']} s, seed {result.get('seed', 'none')})"
    if "skipped" in result:
        return f"{head}\nskipped: {result['skipped']}\n"
    parts = [head]
    parts += [drawn(item) for item in result.get("tables", ())]
    if not result.get("tables"):
        parts.append(drawn(table("", ("figure", "value"), _figures(result))))
    rows = [(t["what"], t["value"], t["bar"], "reached" if t["met"] else "MISSED") for t in result.get("targets", ())]
    if rows:
        parts.append(drawn(table("targets", ("what", "measured", "bar", ""), rows)))
    return "\n\n".join(parts) + "\n"


def drawn(item: Mapping[str, Any]) -> str:
    """A table as aligned text; a Chinese character is two columns wide."""
    rows = [item["columns"], *item["rows"]]
    cells = [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    widths = [max(_width(row[place]) for row in cells) for place in range(len(item["columns"]))]
    lines = [
        "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*([item["title"]] if item["title"] else []), *lines])


def _width(cell: str) -> int:
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in cell)


def _figures(result: Mapping[str, Any], path: str = "") -> list[tuple[str, Any]]:
    """Every number and string of a result that brings no table, by dotted name."""
    rows: list[tuple[str, Any]] = []
    for key, value in result.items():
        if isinstance(value, Mapping):
            rows += _figures(value, f"{path}{key}.")
        elif isinstance(value, int | float | str):
            rows.append((f"{path}{key}", value))
    return rows


def _write(path: Path, result: Mapping[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    written = json.dumps(result, ensure_ascii=False, indent=1, allow_nan=False)
    path.write_text(written + "\n", encoding="utf-8")
