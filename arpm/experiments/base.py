"""What experiments share: steps that are done once and remembered, and results as numbers, tables and plots.

A run can be interrupted at any time: every finished step is a line on the disk, and the same command goes on from
there. A step belongs to the inputs that it was done with: another model, another seed or changed data does it anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from arpm.audit.plots import save
from arpm.canonical import canonical, digest
from arpm.errors import ArpmError, InputError
from arpm.settings import Settings


class MissingDataError(InputError):
    """A data set is not where it was looked for; the text says what it is and how to get it."""


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table of a result."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Target:
    """A bar that the experiment is held against, and whether the measured value reaches it."""

    what: str
    measured: float
    bar: float

    @property
    def reached(self) -> bool:
        return self.measured >= self.bar


@dataclass(frozen=True, slots=True)
class Result:
    """What an experiment found: plain JSON values in `numbers`, tables, figures by file name without ending."""

    numbers: dict[str, Any]
    tables: tuple[Table, ...] = ()
    figures: dict[str, Figure] = field(default_factory=dict)
    targets: tuple[Target, ...] = ()


Progress = Callable[[str, int, int], None]


class Run:
    """One run of an experiment: its options, its folder, and the steps that are done already."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        out: Path,
        data: Path,
        *,
        model: str | None = None,
        seeds: int = 1,
        quick: bool = False,
        vectors: Path | None = None,
        progress: Progress = lambda what, done, of: None,
    ) -> None:
        """`out` is made if it is missing. `vectors` is the file that keeps the vectors of what was embedded (in `out`
        if there is none); experiments may share it. `progress` is told what is being done, how much is done, and of
        how much.
        """
        self.name = name
        self.settings = settings
        self.out = out
        self.data = data
        self.model = model
        self.seeds = seeds
        self.quick = quick
        self.vectors = vectors or out / "embeddings.sqlite"
        self.progress = progress
        self.left_out: list[str] = []
        """What was not measured, and why, in words for the person."""
        self._sources: set[Path] = set()
        out.mkdir(parents=True, exist_ok=True)
        self._steps = out / "steps.jsonl"
        self._done = dict(_read_steps(self._steps))

    def step(self, key: Sequence[Any], inputs: Any, compute: Callable[[], Any]) -> Any:
        """The JSON value of a step: remembered when it was done with the same `inputs`, else computed and written down.

        `key` names the step for a person; `inputs` is everything its value depends on, as JSON values.
        """
        name = digest(canonical([self.name, list(key), inputs]))
        if name not in self._done:
            value = compute()
            line = json.dumps({"step": name, "key": list(key), "value": value}, ensure_ascii=False, allow_nan=False)
            with self._steps.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
            self._done[name] = json.loads(line)["value"]
        return self._done[name]

    def source(self, *parts: str, about: str) -> Path:
        """A file or folder of the data sets. Raises MissingDataError, which says `about` it."""
        path = self.data.joinpath(*parts)
        if not path.exists():
            raise MissingDataError(
                f"{path} is not there: {about}. Put it there, or name the folder of the data sets with --data DIR"
            )
        self._sources.add(path)
        return path

    def data_digests(self) -> dict[str, str]:
        """The digest of every data file that was asked for, by its path in the folder of the data sets."""
        found = [file for path in self._sources for file in ([path] if path.is_file() else path.rglob("*.json*"))]
        return {str(file.relative_to(self.data)): file_digest(file) for file in sorted(found)}


FAILURES_IN_A_ROW = 5


class Failures:
    """Tells a model that is not there from one that fails now and then: the latter's failures are counted as wrong."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._failed = 0

    def note(self, failure: str | None) -> None:
        """What came of one more call: None for a reply. Raises ArpmError when too many have failed in a row."""
        self._failed = 0 if failure is None else self._failed + 1
        if self._failed == FAILURES_IN_A_ROW:
            raise ArpmError(
                f"{self._model!r} failed {self._failed} times in a row: {failure} "
                "What was answered before is kept; the same command goes on from here."
            )


def file_digest(path: Path) -> str:
    """The digest of a data file, so that a step notices when it changed."""
    return digest(path.read_bytes())


def write(result: Result, run: Run, about: dict[str, Any]) -> Path:
    """Write `result.json`, one Markdown file with the tables, and every figure as PNG and SVG; the JSON's path."""
    document = {
        "experiment": run.name,
        **about,
        "data": run.data_digests(),
        "left_out": run.left_out,
        "numbers": result.numbers,
        "tables": [{"title": t.title, "columns": t.columns, "rows": t.rows} for t in result.tables],
        "targets": [
            {"what": t.what, "measured": t.measured, "bar": t.bar, "reached": t.reached} for t in result.targets
        ],
    }
    path = run.out / "result.json"
    path.write_text(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n", "utf-8")
    (run.out / "tables.md").write_text("\n".join(map(_markdown, result.tables)), "utf-8")
    for name, figure in result.figures.items():
        for kind in ("png", "svg"):
            save(figure, run.out / f"{name}.{kind}")
    return path


def _markdown(table: Table) -> str:
    rows = [table.columns, ["---"] * len(table.columns), *table.rows]
    lines = ("| " + " | ".join(_cell(value) for value in row) + " |" for row in rows)
    return f"### {table.title}\n\n" + "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    text = "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")


def _read_steps(path: Path) -> list[tuple[str, Any]]:
    """The finished steps; a last line that was cut off by an interruption counts as not done, and is cut off."""
    if not path.exists():
        return []
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        path.write_bytes(whole)
    rows = (json.loads(line) for line in whole.splitlines())
    return [(row["step"], row["value"]) for row in rows]
