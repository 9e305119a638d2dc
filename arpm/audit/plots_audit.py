"""Plots of counterfactuals and of the life of memories. See `arpm.audit.plots` for the style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Literal

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from arpm.audit.counterfactual import Shift
from arpm.audit.memory_life import Sighting, shown
from arpm.audit.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, styled

# More lines than this in one plot cannot be told apart.
MOST_LINES = 8


def evidence_changes(turns: Sequence[Shift], title: str = "Evidence under the intervention") -> Figure:
    """Evidence gained (up) and lost (down) in every turn that could be done, over the turns in their order."""
    with styled(title, "Turn", "Evidence items") as (figure, axes):
        done = [turn for turn in turns if turn.skipped is None]
        places = range(1, len(done) + 1)
        axes.bar(places, [len(turn.gained) for turn in done], color=BLUE, label="gained")
        axes.bar(places, [-len(turn.lost) for turn in done], color=ORANGE, hatch="//", label="lost")
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        # Outside: bars may fill the whole of the plot.
        figure.legend(loc="outside lower center", ncols=2)
        return figure


Axis = Literal["rounds", "hours"]
_ACROSS = {"rounds": "Rounds since the memory", "hours": "Hours since the memory"}


def weights(
    lives: Mapping[str, Sequence[Sighting]], over: Axis = "rounds", title: str = "Temporal weight of memories"
) -> Figure:
    """How the weight of memories fell over rounds or hours; a dot where the prompt showed one, a star where a reply
    cited it. Of many memories those that were shown most often."""
    chosen = sorted(lives, key=lambda memory: (-len(shown(lives[memory])), memory))[:MOST_LINES]
    looks = cycle((color, dash) for dash in ("-", "--") for color in (BLUE, ORANGE, GREEN, PURPLE))
    with styled(title, _ACROSS[over], "Weight (equation 9, with its floor)") as (figure, axes):
        for memory, (color, dash) in zip(chosen, looks, strict=False):
            items = [item for item in lives[memory] if _age(item, over) is not None]
            seen = shown(items)
            axes.plot(*_points(items, over), color=color, linestyle=dash, label=memory)
            axes.plot(*_points(seen, over), "o", color=color, markersize=4)
            axes.plot(*_points([item for item in seen if item.cited], over), "*", color=color, markersize=11)
        axes.set_ylim(-0.02, 1.04)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if chosen:
            axes.legend(loc="best", fontsize=7)
        return figure


def _age(item: Sighting, over: Axis) -> float | None:
    return item.rounds_ago if over == "rounds" else item.hours_ago


def _points(items: Sequence[Sighting], over: Axis) -> tuple[list[float], list[float]]:
    return [_age(item, over) or 0.0 for item in items], [item.weight for item in items]
