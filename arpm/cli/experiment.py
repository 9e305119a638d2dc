"""`arpm experiment`: the papers' experiments on models of one's own, each with one command that can be interrupted."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arpm import __version__
from arpm.cli.interrupts import INTERRUPTED
from arpm.cli.options import Options, json_option
from arpm.cli.output import clean, emit, note, say, table
from arpm.errors import InputError
from arpm.settings import Settings

if TYPE_CHECKING:
    from arpm.experiments.base import Progress, Result, Run

DATA = Path("..") / "shared" / "data"
OUT = Path("experiments")
LIST = "list"


@click.command()
@click.argument("name", default=LIST, metavar="[NAME]")
@click.option("--model", help="Also let this model answer, where the experiment has answers; `arpm models` lists them.")
@click.option("--seeds", type=click.IntRange(1, 1000), help="How many seeds, from 0; 1, or what the experiment is for.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder of the result.")
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), help="Folder of the data sets.")
@click.option("--quick", is_flag=True, help="A small run that shows that everything works; its numbers mean nothing.")
@json_option
@click.pass_context
def experiment(
    ctx: click.Context,
    name: str,
    model: str | None,
    seeds: int | None,
    out: Path | None,
    data: Path | None,
    quick: bool,
    as_json: bool,
) -> None:
    """Run one of the papers' experiments; without NAME, or with `list`, list them.

    Numbers, tables and plots go to --out (experiments/NAME, or experiments/NAME-quick; then all experiments share the
    vectors in experiments/embeddings.sqlite). Ctrl-C stops at any time; the same command goes on from there. Data sets
    are looked for in --data, else in the folder that ARPM_DATA or arpm.toml names, else in ../shared/data.
    """
    # Imported here: numpy and matplotlib take a second that --help need not wait for.
    from arpm.experiments.base import Run
    from arpm.experiments.catalogue import DEFAULT_SEEDS, EXPERIMENTS, SEEDS_WITH_MODEL
    from arpm.experiments.catalogue import experiment as found

    if name == LIST:
        _list(EXPERIMENTS, as_json)
        return
    if name not in EXPERIMENTS:
        raise click.UsageError(f"There is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}.")
    options: Options = ctx.obj
    settings = options.settings()
    _check_model(settings, model)
    # A quick run shows that everything works: one seed is enough for that.
    usual = SEEDS_WITH_MODEL if model else DEFAULT_SEEDS
    seeds = seeds or (1 if quick else usual.get(name, 1))
    # What one experiment has embedded no other embeds again: noise and handoff share five million characters.
    vectors = None if out else OUT / "embeddings.sqlite"
    out = out or OUT / (f"{name}-quick" if quick else name)
    with _bar() as told:
        try:
            run = Run(
                name,
                settings,
                out,
                data or settings.data or DATA,
                model=model,
                seeds=seeds,
                quick=quick,
                vectors=vectors,
                progress=told,
            )
        except (ValueError, KeyError, TypeError):
            # A last line that was cut off is repaired; this is a file that something else wrote into.
            raise InputError(
                f"{out / 'steps.jsonl'} is damaged. Delete it, or choose another folder with --out."
            ) from None
        before, start = _data_of(out), time.monotonic()
        try:
            result = found(name)(run)
        except KeyboardInterrupt:
            note(f"\nStopped. What was measured is kept in {out}; the same command goes on from there.")
            ctx.exit(INTERRUPTED)
    path = _written(result, run, time.monotonic() - start)
    if as_json:
        emit(json.loads(path.read_text("utf-8")))
        return
    _say(result)
    _remark(run, before)


def _remark(run: Run, before: dict[str, str]) -> None:
    """What a person should know of a result beside its numbers; `before` are the digests of the data it had."""
    for what in run.left_out:
        note(f"Left out: {what}")
    now = _data_of(run.out)
    for file in sorted(file for file in now if before.get(file, now[file]) != now[file]):
        note(f"{file} changed since the last run here: what rests on it was measured again.")
    note(f"Seeds {', '.join(map(str, range(run.seeds)))}. Numbers, tables and plots are in {run.out}.")
    if run.quick:
        note("This was a quick run, which shows that everything works; its numbers mean nothing.")


def _list(experiments: dict[str, str], as_json: bool) -> None:
    if as_json:
        emit([{"name": name, "about": about} for name, about in experiments.items()])
    else:
        say(table(("experiment", "what it measures"), experiments.items()))


def _check_model(settings: Settings, model: str | None) -> None:
    """Raise NotFoundError for an unknown model before hours are spent."""
    from arpm.generation.registry import Models

    Models(settings).sampling(model or settings.model)


def _written(result: Result, run: Run, seconds: float) -> Path:
    """Write the result with what it takes to repeat it."""
    from arpm.experiments.base import write

    words = ["arpm", "experiment", run.name]
    words += ["--model", run.model] if run.model else []
    words += ["--seeds", str(run.seeds)] if run.seeds > 1 else []
    words += ["--quick"] if run.quick else []
    about: dict[str, Any] = {
        "command": " ".join(words),
        "version": __version__,
        "model": run.model,
        "embedder": run.settings.embedder,
        "seeds": list(range(run.seeds)),
        "quick": run.quick,
        # Of this call: steps that an earlier one had done took no time.
        "seconds": round(seconds, 1),
        "peak_memory_mib": _peak_memory(),
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()},
    }
    try:
        return write(result, run, about)
    except OSError as error:
        raise InputError(f"{run.out}: the result cannot be written: {error.strerror}.") from error


def _data_of(out: Path) -> dict[str, str]:
    """The digests of the data files that the result in a folder rests on; none without a readable result."""
    try:
        found: dict[str, str] = json.loads((out / "result.json").read_text("utf-8"))["data"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return found


def _peak_memory() -> int | None:
    """The most memory this process has had, in MiB; None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts in KiB, macOS in bytes.
    return round(size / (2**20 if sys.platform == "darwin" else 2**10))


def _say(result: Result) -> None:
    for one in result.tables:
        say(f"\n{one.title}\n{table(one.columns, ([_cell(value) for value in row] for row in one.rows))}")
    if result.targets:
        rows = (
            (
                target.what,
                f"{target.measured:.3f}",
                f"at least {target.bar:g}",
                "reached" if target.reached else "MISSED",
            )
            for target in result.targets
        )
        say(f"\nBars\n{table(('', 'measured', 'bar', ''), rows)}")


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


@contextmanager
def _bar() -> Iterator[Progress]:
    """A line on stderr that says what is being done and how far it is; in a pipe one line for each new task."""
    shown = sys.stderr.isatty()
    last = ""

    def told(what: str, done: int, of: int) -> None:
        nonlocal last
        if shown:
            filled = 24 * done // max(of, 1)
            line = clean(f"[{'#' * filled}{'-' * (24 - filled)}] {done}/{of} {what}")
            # A line that wraps could not be written over.
            click.echo(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}", err=True, nl=False)
        elif what != last:
            note(f"{what} (of {of})")
        last = what

    try:
        yield told
    finally:
        if shown and last:
            click.echo("\r\x1b[K", err=True, nl=False)
