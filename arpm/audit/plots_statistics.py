"""Plots of behaviour statistics: how long analyses are, how often the protocol is broken, and instructions kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from arpm.audit.adherence_curves import MOST_CURVES, ROLLING, adherence_curves
from arpm.audit.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, styled
from arpm.audit.statistics import Observation, Row

_LONGEST = 28


def analysis_lengths(rows: Sequence[Row]) -> Figure:
    """Mean (bar) and median (mark) length of the analyses of each row."""
    with styled("Length of analyses", "Characters", "") as (figure, axes):
        places = range(len(rows))
        means = [row.analysis_mean or 0.0 for row in rows]
        axes.barh(places, means, color=BLUE, height=0.6, label="Mean")
        medians = [row.analysis_median or 0.0 for row in rows]
        axes.plot(medians, places, linestyle="", marker="D", markersize=5, color=ORANGE, label="Median", clip_on=False)
        _named(figure, axes, rows)
        return figure


def protocol_shares(rows: Sequence[Row]) -> Figure:
    """Of the replies of each row: without an analysis, without a response, still broken, cited nothing, kept out."""
    shares: tuple[tuple[str, str, str, Callable[[Row], int | None]], ...] = (
        ("No analysis tag", BLUE, "", lambda row: row.without_analysis),
        ("No response tag", ORANGE, "//", lambda row: row.without_response),
        ("Broken after repair", PURPLE, "..", lambda row: row.turns_left_broken),
        ("Evidence shown, none cited", GREEN, "xx", lambda row: row.citations_absent),
        (
            "Not admitted to memory",
            GREY,
            "--",
            lambda row: None if row.admitted is None else row.replies - row.admitted,
        ),
    )
    with styled("How often the protocol is broken", "Share of replies (%)", "") as (figure, axes):
        height = 0.8 / len(shares)
        for place, (name, colour, hatch, count) in enumerate(shares):
            values = [(count(row) or 0) / row.replies if row.replies else 0.0 for row in rows]
            at = [line + (place - (len(shares) - 1) / 2) * height for line in range(len(rows))]
            axes.barh(at, values, height=height, color=colour, hatch=hatch, edgecolor="white", linewidth=0, label=name)
        axes.set_xlim(0, 1)
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=""))
        _named(figure, axes, rows)
        return figure


def rolling_adherence(observations: Sequence[Observation], last: int = ROLLING) -> Figure:
    """The share of checked instructions kept over the `last` replies that had any, along the rounds, for each model.

    Of many curves the first are drawn, so that each can be told from the others.
    """
    looks = ((BLUE, "-", "o"), (ORANGE, "--", "s"), (GREEN, ":", "^"), (PURPLE, "-.", "D"), (GREY, "-", "x"))
    title = f"Standing instructions kept, over the last {last} replies"
    with styled(title, "Round", "Share of checked instructions (%)") as (figure, axes):
        for place, curve in enumerate(adherence_curves(observations, last)[:MOST_CURVES]):
            colour, dash, mark = looks[place % len(looks)]
            axes.plot(
                [point.round for point in curve.points],
                [point.share for point in curve.points],
                color=colour,
                linestyle=dash,
                marker=mark,
                markersize=3 if len(curve.points) <= 100 else 0,
                label=f"{_model(curve.model)} ({curve.timeline})" if curve.timeline else _model(curve.model),
            )
        axes.set_ylim(-0.02, 1.04)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=""))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if axes.lines:
            axes.legend(loc="best", fontsize=8)
        return figure


def _named(figure: Figure, axes: Axes, rows: Sequence[Row]) -> None:
    """Name the rows beside them, first on top, and make the figure as tall as they need."""
    axes.set_yticks(range(len(rows)), [_label(number, row) for number, row in enumerate(rows, 1)])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    figure.set_figheight(max(3.0, 1.6 + 0.45 * len(rows)))
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)


def _label(number: int, row: Row) -> str:
    """The row's place in the table and its model."""
    return f"{number}  {_model(row.model)}"


def _model(model: str) -> str:
    """A model's name as the font can write it; it has no Chinese characters, so such a name is left out."""
    name = model if model.isascii() and model.isprintable() else "model"
    # A dollar sign would begin a formula.
    name = name.replace("$", r"\$")
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
