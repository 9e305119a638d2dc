"""`arpm stats`: how models behaved, for each model and stage, from the ledgers alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from arpm.cli.options import Options, json_option
from arpm.cli.output import emit, note, say, table

if TYPE_CHECKING:
    from arpm.audit.statistics import Observation, Row, Stage

_HEADER = (
    *("", "stage", "model", "rounds", "replies", "failed", "mean", "median", "no analysis", "no response"),
    *("repaired", "broken", "cited", "unknown", "absent", "K/E/both/none/?", "admitted", "instructions kept"),
)


@click.command()
@click.argument("timelines", nargs=-1, metavar="[TIMELINE...]")
@click.option(
    "--stage",
    default="session",
    show_default=True,
    metavar="session|all|N",
    help="What is a stage: a session, everything, or N rounds.",
)
@click.option("--every-reply", "every", is_flag=True, help="Count replies that were asked for again too.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option(
    "--published", is_flag=True, help="Print CSV in the columns of the published analysis_stats_by_stage.csv."
)
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw protocol shares (.png or .svg).")
@click.option(
    "--plot-adherence", type=click.Path(path_type=Path, dir_okay=False), help="Draw instructions kept over the rounds."
)
@click.option("--plot-lengths", type=click.Path(path_type=Path, dir_okay=False), help="Draw lengths of analyses.")
@json_option
@click.pass_context
def stats(
    ctx: click.Context,
    timelines: tuple[str, ...],
    stage: str,
    every: bool,
    as_csv: bool,
    published: bool,
    plot: Path | None,
    plot_adherence: Path | None,
    plot_lengths: Path | None,
    as_json: bool,
) -> None:
    """Behaviour statistics for each model and stage: analyses, tags, repairs, citations, needs, instructions kept.

    Reads the ledgers of the logs folder, of all timelines or those named, without a lock: a copy or the folder of a
    running server will do. Ends with 1 when a ledger is damaged; it counts up to the damage.
    """
    from arpm.audit.exports.guard import csv_text
    from arpm.audit.reading import read_timelines
    from arpm.audit.statistics import PUBLISHED, columns, observed, published_rows, summarised

    if as_csv + published + as_json > 1:
        raise click.UsageError("Give one of --csv, --published and --json.")
    options: Options = ctx.obj
    kind = _stage(stage)
    ledgers = read_timelines(options.settings().logs, timelines)
    seen = [observed(ledger.events()) for ledger in ledgers]
    rows = summarised((one for timeline in seen for one in timeline.observations), kind, every=every)
    damaged = [ledger for ledger in ledgers if ledger.damage]
    if published:
        say(csv_text(PUBLISHED, published_rows(rows)), newline=False)
    elif as_csv:
        lines = [dict(columns(row)) for row in rows]
        say(csv_text(list(lines[0]) if lines else ["stage", "model"], (line.values() for line in lines)), newline=False)
    elif as_json:
        emit(
            {
                "stage": stage,
                "rows": rows,
                "erased": sum(one.erased for one in seen),
                "other_imports": sum(one.other for one in seen),
                "damaged": [{"timeline": ledger.name, "damage": ledger.damage} for ledger in damaged],
            }
        )
    elif rows:
        say(table(_HEADER, (_cells(number, row) for number, row in enumerate(rows, 1))))
    _draw(rows, plot, plot_lengths)
    _draw_adherence([one for timeline in seen for one in timeline.observations], plot_adherence)
    if not rows:
        note("No model has replied on these timelines yet.")
    if erased := sum(one.erased for one in seen):
        note(f"{erased} erased rounds are not counted.")
    for ledger in damaged:
        note(f"Damaged, counted up to there: {ledger.damage}")
    if damaged:
        ctx.exit(1)


def _draw(rows: list[Row], plot: Path | None, plot_lengths: Path | None) -> None:
    if plot is None and plot_lengths is None:
        return
    from arpm.audit.plots import check_format, save
    from arpm.audit.plots_statistics import analysis_lengths, protocol_shares

    for path in (plot, plot_lengths):
        if path is not None:
            check_format(path)
    if plot is not None:
        save(protocol_shares(rows), plot)
    if plot_lengths is not None:
        save(analysis_lengths(rows), plot_lengths)


def _draw_adherence(observations: list[Observation], path: Path | None) -> None:
    if path is None:
        return
    from arpm.audit.plots import check_format, save
    from arpm.audit.plots_statistics import rolling_adherence

    check_format(path)
    save(rolling_adherence(observations), path)


def _stage(text: str) -> Stage:
    if text == "session" or text == "all":
        return text  # type: ignore[return-value]
    if text.isascii() and text.isdigit() and 0 < int(text) < 10**9:
        return int(text)
    raise click.BadParameter("write session, all, or a number of rounds such as 20.", param_hint="--stage")


def _cells(number: int, row: Row) -> tuple[object, ...]:
    needs = row.needs
    return (
        number,
        row.stage,
        row.model,
        f"{row.first_round}–{row.last_round}",
        row.replies,
        row.failed,
        _place(row.analysis_mean),
        _place(row.analysis_median),
        _said(row.without_analysis),
        _said(row.without_response),
        f"{sum(row.repairs_fixed.values())}/{sum(row.repairs_tried.values())}",
        _said(row.turns_left_broken),
        _said(row.citations_valid),
        _said(row.citations_unknown),
        _said(row.citations_absent),
        "–" if needs is None else "/".join(str(count) for count in needs.values()),
        "–" if row.admission_rate is None else f"{row.admission_rate:.0%}",
        _kept(row),
    )


def _kept(row: Row) -> str:
    """Instructions kept, of those that code could check."""
    if row.adherence_rate is None:
        return "–"
    checked = (row.instructions_kept or 0) + (row.instructions_broken or 0)
    return f"{row.adherence_rate:.0%} of {checked}"


def _place(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _said(value: int | None) -> str:
    return "–" if value is None else str(value)
