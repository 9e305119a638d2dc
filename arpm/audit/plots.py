"""Plots of the audit: one function for each, all in one style, as PNG or SVG.

Drawn without a screen and one at a time, since matplotlib keeps its settings in one place: so a server may draw too.
Lines differ in dash and marker as well as in colour. Knows nothing about where numbers come from.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from arpm.audit.review import Point
from arpm.errors import InputError

FORMATS = ("png", "svg")
# Okabe and Ito's colours, which colour-blind people can tell apart, dark enough on white.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#007A5A", "#9C4F80", "#555555"
_STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    # The same numbers give the same file.
    "svg.hashsalt": "arpm",
    "svg.fonttype": "path",
}

_drawing = threading.RLock()


@contextmanager
def styled(title: str, across: str, up: str) -> Iterator[tuple[Figure, Axes]]:
    """A figure with one pair of axes in the common style; what is drawn inside the block has it too."""
    with _drawing, rc_context(_STYLE):
        figure = Figure(figsize=(7.2, 4.0), dpi=150, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.set_title(title)
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        yield figure, axes


def check_format(path: Path) -> str:
    """The format that a file's name asks for. Raises InputError unless it is PNG or SVG."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise InputError(f"{path}: a plot is a .png or an .svg file.")
    return kind


def save(figure: Figure, path: Path) -> None:
    """Write a figure to a file."""
    kind = check_format(path)
    path.write_bytes(drawn(figure, kind))


def drawn(figure: Figure, kind: str) -> bytes:
    """A figure as a file of one of FORMATS; the same numbers give the same bytes."""
    data = io.BytesIO()
    with _drawing, rc_context(_STYLE):
        figure.savefig(data, format=kind, metadata={"Date": None} if kind == "svg" else {"Software": None})
    return data.getvalue()


def rolling_accuracy(curve: Sequence[Point], title: str = "Rolling accuracy") -> Figure:
    """Both curves of the paper's figure 2 over the rounds: equation (13) dashed, equation (14) solid."""
    with styled(title, "Round", "Share of rounds right so far (%)") as (figure, axes):
        rounds = [point.round for point in curve]
        dots = 3 if len(curve) <= 100 else 0
        axes.plot(
            rounds,
            [point.manual for point in curve],
            color=BLUE,
            marker="o",
            markersize=dots,
            label=_label("After manual review (14)", curve[-1].manual if curve else None),
        )
        known = [(point.round, point.automatic) for point in curve if point.automatic is not None]
        if known:
            axes.plot(
                [round for round, _ in known],
                [accuracy for _, accuracy in known],
                color=ORANGE,
                linestyle="--",
                marker="s",
                markersize=dots,
                label=_label("Automatic (13)", known[-1][1]),
            )
        axes.set_ylim(-0.02, 1.04)
        axes.set_xlim(left=rounds[0] - 0.5 if rounds else None)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=""))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend(loc="best")
        return figure


def _label(name: str, value: float | None) -> str:
    return name if value is None else f"{name}: {100 * value:.1f} %"
