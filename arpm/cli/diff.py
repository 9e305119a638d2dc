"""`arpm diff` and `arpm timeline`: turns and runs side by side, and the life of memories along a timeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arpm.cli.options import Options, is_timeline, json_option
from arpm.cli.output import emit, say, table
from arpm.errors import InputError

if TYPE_CHECKING:
    from arpm.audit.differences import RunDifference, TurnDifference
    from arpm.audit.memory_life import Sighting
    from arpm.audit.plots_audit import Axis
    from arpm.catalogue import Catalogue
    from arpm.events import Event
    from arpm.service import Service

SHOWN = 40


@click.command()
@click.argument("first")
@click.argument("second")
@json_option
@click.pass_obj
def diff(options: Options, first: str, second: str, as_json: bool) -> None:
    """Show two turns side by side, or two timelines round by round.

    FIRST and SECOND are both turns (an event id or TIMELINE:ROUND) or both timelines.
    """
    from arpm.audit.differences import run_difference, turn_difference

    if is_timeline(first) != is_timeline(second):
        raise click.UsageError("Give two turns or two timelines.")
    with options.service() as service:
        if is_timeline(first):
            runs = run_difference(list(service.timeline(first).events()), list(service.timeline(second).events()))
            emit(asdict(runs)) if as_json else _tell_runs(runs)
            return
        turns = [_committed(service, reference) for reference in (first, second)]
        difference = turn_difference(*turns)
        emit(asdict(difference)) if as_json else _tell_turns(difference, service.catalogue)


def _committed(service: Service, reference: str) -> Event:
    event = service.record(reference)
    if event.kind != "turn" or event.body is None:
        raise InputError(f"{reference} is no turn that was answered, or was erased; only such turns can be compared.")
    return event


def _tell_turns(difference: TurnDifference, catalogue: Catalogue) -> None:
    say(f"{difference.turns[0]}\n{difference.turns[1]}\n")
    if difference.facts:
        say(table(("", "first", "second"), [(name, *pair) for name, pair in difference.facts.items()]) + "\n")
    if difference.config:
        changes = [(name, change["from"], change["to"]) for name, change in difference.config.items()]
        say(table(("setting", "first", "second"), changes) + "\n")
    rows = [
        (
            *(label or "–" for label in item.labels),
            *("–" if final is None else f"{final:.3f}" for final in item.finals),
            item.change,
            item.memory,
            _text(catalogue, item.memory),
        )
        for item in difference.evidence
    ]
    if rows:
        say(table(("first", "second", "final", "final", "", "memory", ""), rows))
    rho = "–" if difference.correlation is None else f"{difference.correlation:.3f}"
    say(f"\noverlap of the evidence {difference.overlap:.2f}, rank correlation of the candidates {rho}")
    say("prompt tokens {} and {}, seconds {:.2f} and {:.2f}".format(*difference.tokens, *difference.seconds))
    say("\n" + _word_diff(*difference.replies))


def _text(catalogue: Catalogue, memory: str) -> str:
    found = catalogue.memory(memory)
    return "(erased)" if found is None else found.text[:60]


def _word_diff(first: str, second: str) -> str:
    """One text with the words of `first` alone as [-…-] and those of `second` alone as {+…+}."""
    from arpm.audit.differences import word_difference

    if first == second:
        return f"the same reply: {first}"
    signs = {"both": ("", ""), "first": ("[-", "-]"), "second": ("{+", "+}")}
    return "".join(item.text.join(signs[item.of]) for item in word_difference(first, second))


def _tell_runs(runs: RunDifference) -> None:
    rows = [
        (
            item.facts.get("round", ("", ""))[0] or number,
            "same" if item.same else "differs",
            f"{item.overlap:.2f}",
            sum(shown.change.startswith("only") for shown in item.evidence),
            sum(shown.change == "moved" for shown in item.evidence),
            "same" if item.replies[0] == item.replies[1] else "differs",
            ", ".join(item.facts) or "–",
        )
        for number, item in enumerate(runs.turns, 1)
    ]
    if rows:
        say(table(("turn", "", "overlap", "only one", "moved", "reply", "also differ"), rows))
    same = sum(item.same for item in runs.turns)
    say(f"\n{same} of {len(runs.turns)} rounds that both have are the same.")
    for name, rounds in (("first", runs.only_first), ("second", runs.only_second)):
        if rounds:
            say(f"Only the {name} has the rounds {', '.join(map(str, rounds))}.")


@click.command()
@click.argument("timeline")
@click.option("--memory", "memories", multiple=True, metavar="ID", help="Only this memory; may be given again.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Write a plot (.png or .svg).")
@click.option("--over", type=click.Choice(["rounds", "hours"]), default="rounds", help="What the plot runs over.")
@json_option
@click.pass_obj
def timeline(
    options: Options, timeline: str, memories: tuple[str, ...], plot: Path | None, over: Axis, as_json: bool
) -> None:
    """Show which memory of TIMELINE was shown when, how its weight fell, and which replies cited it."""
    from arpm.audit.memory_life import lives

    with options.service() as service:
        found = lives(service.timeline(timeline).events(), frozenset(memories) or None)
        if plot is not None:
            from arpm.audit.plots import save
            from arpm.audit.plots_audit import weights

            save(weights(found, over), plot)
        if as_json:
            emit({memory: [asdict(item) for item in sightings] for memory, sightings in found.items()})
        elif memories:
            for memory in memories:
                _tell_life(memory, found.get(memory, []), service.catalogue)
        else:
            _tell_lives(found, service.catalogue)


def _tell_life(memory: str, sightings: Sequence[Sighting], catalogue: Catalogue) -> None:
    say(f"{memory}: {_text(catalogue, memory)}")
    rows = [
        (
            item.round,
            f"{item.at:%Y-%m-%d %H:%M}",
            "–" if item.rounds_ago is None else item.rounds_ago,
            "–" if item.hours_ago is None else f"{item.hours_ago:.1f}",
            f"{item.round_weight:.3f}",
            f"{item.clock_weight:.3f}",
            f"{item.weight:.3f}",
            f"{item.base:.3f}",
            f"{item.final:.3f}",
            item.label or item.reason,
            "cited, repeated" if item.bound else "cited" if item.cited else "",
        )
        for item in sightings
    ]
    columns = ("round", "at", "rounds ago", "hours ago", "by round", "by clock", "weight", "base", "final", "", "")
    say(table(columns, rows) + "\n" if rows else "no turn had it among its candidates\n")


def _tell_lives(found: Mapping[str, Sequence[Sighting]], catalogue: Catalogue) -> None:
    from arpm.audit.memory_life import outlines

    used = [item for item in outlines(found) if item.shown]
    rows = [
        (
            item.memory,
            item.shown,
            item.cited,
            item.first_round,
            item.last_round,
            f"{item.first_weight:.3f}",
            f"{item.last_weight:.3f}",
            _text(catalogue, item.memory),
        )
        for item in used[:SHOWN]
    ]
    if rows:
        columns = ("memory", "shown", "cited", "first in", "last in", "weight", "weight", "")
        say(table(columns, rows))
    if len(used) > SHOWN:
        say(f"… and {len(used) - SHOWN} more; --json has them all")
    say(f"\n{len(used)} memories were shown, {len(found) - len(used)} more were candidates and never shown.")
