"""Plots of behaviour statistics: how long analyses are, and how often the protocol is broken."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from arpm.audit.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, styled
from arpm.audit.statistics import Row

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


def _named(figure: Figure, axes: Axes, rows: Sequence[Row]) -> None:
    """Name the rows beside them, first on top, and make the figure as tall as they need."""
    axes.set_yticks(range(len(rows)), [_label(number, row) for number, row in enumerate(rows, 1)])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    figure.set_figheight(max(3.0, 1.6 + 0.45 * len(rows)))
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)


def _label(number: int, row: Row) -> str:
    """The row's place in the table and its model; the font has no Chinese characters, so such a name is left out."""
    name = row.model if row.model.isascii() and row.model.isprintable() else "model"
    # A dollar sign would begin a formula.
    name = name.replace("$", r"\$")
    return f"{number}  {name if len(name) <= _LONGEST else name[: _LONGEST - 1] + '…'}"
