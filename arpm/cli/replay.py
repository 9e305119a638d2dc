"""`arpm replay` and `arpm counterfactual`: turns done again, as they were recorded or as they might have been."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arpm.cli.options import Options, json_option, preset_option
from arpm.cli.output import emit, note, progress, say, table
from governance.config import PRESETS, ConfigError, parse_setting

if TYPE_CHECKING:
    from arpm.audit.counterfactual import Intervention, Shift, Summary, TimelineShift
    from arpm.audit.folder import TimelineReplay

SHOWN = 20

jobs_option = click.option("--jobs", type=click.IntRange(1, 256), help="Processes at once; as many as there are cores.")


@click.command()
@click.argument("timelines", nargs=-1, metavar="[TIMELINE...]")
@click.option(
    "--depth",
    type=click.Choice(["arithmetic", "retrieval", "generation"]),
    default="retrieval",
    show_default=True,
    help="How much is done again; each includes the ones before it.",
)
@click.option("--model", help="With --depth generation: answer with this model in the place of the recorded ones.")
@jobs_option
@json_option
@click.pass_context
def replay(
    ctx: click.Context, timelines: tuple[str, ...], depth: str, model: str | None, jobs: int | None, as_json: bool
) -> None:
    """Do every recorded turn again and say what differs from its record.

    arithmetic: each record follows from itself and the events before it. retrieval: both memories are searched again as
    they were, under the recorded config and clock. generation: a model answers again. Nothing is written to the logs
    folder and no lock is taken, so a copy or the folder of a running server will do. Ends with 1 when anything differs.
    """
    from arpm.audit.folder import ReplayJob, cores, done, timelines_of, turns_in

    options: Options = ctx.obj
    settings = options.settings()
    names = timelines_of(settings.logs, timelines)
    if model and depth != "generation":
        raise click.UsageError("--model needs --depth generation.")
    # A model that generates is not shared between processes.
    count = 1 if depth == "generation" else jobs or cores()
    job = ReplayJob(settings, depth, model)  # type: ignore[arg-type]
    with progress("Replaying", turns_in(settings.logs, names)) as bar:
        results = sorted(done(job, names, count, lambda: bar.update(1)), key=lambda result: result.timeline)
    if as_json:
        emit({"depth": depth, "timelines": [_replay_data(result) for result in results]})
    else:
        _tell_replay(results, depth)
    ctx.exit(1 if any(result.error or any(turn.disagreements for turn in result.turns) for result in results) else 0)


def _replay_data(result: TimelineReplay) -> dict[str, Any]:
    return {
        "timeline": result.timeline,
        "turns": len(result.turns),
        "same": sum(turn.same for turn in result.turns),
        "error": result.error,
        "seconds": round(result.seconds, 3),
        "different": [asdict(turn) for turn in result.turns if not turn.same or turn.reply is not None],
    }


def _tell_replay(results: Sequence[TimelineReplay], depth: str) -> None:
    rows = [
        (
            result.timeline,
            len(result.turns),
            sum(turn.same for turn in result.turns),
            sum(bool(turn.disagreements) for turn in result.turns),
            sum(bool(turn.skipped) for turn in result.turns),
            f"{len(result.turns) / result.seconds:.0f}" if result.seconds else "–",
        )
        for result in results
    ]
    if not rows:
        note("There is no timeline in this folder.")
        return
    say(table(("timeline", "turns", "same", "different", "not done", "turns/s"), rows))
    for result in results:
        if result.error:
            say(f"\n{result.timeline}: {result.error}")
        for turn in [turn for turn in result.turns if turn.disagreements][:SHOWN]:
            say(f"\n{result.timeline}:{turn.round} (event {turn.seq}, {turn.event})")
            for item in turn.disagreements[:SHOWN]:
                say(f"  {item.place}: recorded {_short(item.recorded)}, would be {_short(item.expected)}")
            if len(turn.disagreements) > SHOWN:
                say(f"  … and {len(turn.disagreements) - SHOWN} more")
        reasons = Counter(reason for turn in result.turns for reason in turn.skipped)
        for reason, times in reasons.most_common(SHOWN):
            say(f"\n{result.timeline}: not done for {times} turns: {reason}")


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 120 else text[:119] + "…"


@click.command()
@click.argument("timelines", nargs=-1, metavar="[TIMELINE...]")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="A setting that would be otherwise.")
@preset_option
@click.option("--model", help="Also answer with this model.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Write a plot (.png or .svg).")
@jobs_option
@json_option
@click.pass_context
def counterfactual(
    ctx: click.Context,
    timelines: tuple[str, ...],
    changes: tuple[str, ...],
    preset_name: str | None,
    model: str | None,
    plot: Path | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Ask what each recorded turn would have been shown under another config.

    The memory of each turn is kept as it really was. Reports evidence lost, gained and moved, the overlap of the best
    k, and the rank correlation of the candidates. Nothing is written to the logs folder.
    """
    from arpm.audit.counterfactual import CounterfactualJob, summary
    from arpm.audit.folder import cores, done, timelines_of, turns_in

    options: Options = ctx.obj
    settings = options.settings()
    names = timelines_of(settings.logs, timelines)
    job = CounterfactualJob(settings, _intervention(preset_name, changes, model))
    with progress("Replaying", turns_in(settings.logs, names)) as bar:
        results = sorted(
            done(job, names, 1 if model else jobs or cores(), lambda: bar.update(1)), key=lambda result: result.timeline
        )
    turns = [turn for result in results for turn in result.turns]
    whole = summary(turns)
    if plot is not None:
        from arpm.audit.plots import save
        from arpm.audit.plots_audit import evidence_changes

        save(evidence_changes(turns), plot)
    if as_json:
        emit({"summary": asdict(whole), "errors": _errors(results), "turns": [asdict(turn) for turn in turns]})
    else:
        _tell_shifts(turns, whole)
        for name, error in _errors(results).items():
            note(f"{name}: {error}")
    ctx.exit(1 if _errors(results) else 0)


def _intervention(preset_name: str | None, changes: Sequence[str], model: str | None) -> Intervention:
    from arpm.audit.counterfactual import Intervention

    if not (preset_name or changes or model):
        raise click.UsageError("Nothing is changed: give --set KEY=VALUE, --preset or --model.")
    try:
        given = dict(map(parse_setting, changes))
        base = PRESETS[preset_name].config if preset_name else None
        intervention = Intervention(base, given, model)
        intervention.of(PRESETS["default"].config)
    except ConfigError as error:
        raise click.BadParameter(f"{error}.", param_hint="--set") from None
    return intervention


def _errors(results: Sequence[TimelineShift]) -> dict[str, str]:
    return {result.timeline: result.error for result in results if result.error}


def _tell_shifts(turns: Sequence[Shift], whole: Summary) -> None:
    changed = [turn for turn in turns if turn.skipped is None and turn.changed]
    if changed:
        rows = [
            (
                f"{turn.timeline}:{turn.round}",
                len(turn.before),
                len(turn.lost),
                len(turn.gained),
                len(turn.moved),
                f"{turn.overlap[5]:.2f}",
                "–" if turn.correlation is None else f"{turn.correlation:.2f}",
                turn.message[:40],
            )
            for turn in changed[: 2 * SHOWN]
        ]
        say(table(("turn", "shown", "lost", "gained", "moved", "overlap@5", "rho", "message"), rows))
        if len(changed) > 2 * SHOWN:
            say(f"… and {len(changed) - 2 * SHOWN} more turns that change; --json has them all")
        say()
    say(f"{whole.changed} of {whole.turns} turns would have been shown other evidence, or in another order.")
    say(f"Evidence lost {whole.lost}, gained {whole.gained}, moved {whole.moved}.")
    say("Mean overlap of the best k: " + ", ".join(f"{k}: {value:.3f}" for k, value in whole.overlap.items()) + ".")
    if whole.correlation is not None:
        say(f"Mean rank correlation of the candidates (Spearman): {whole.correlation:.3f}.")
    say(f"Prompt tokens a turn: {whole.tokens_before:.0f} recorded, {whole.tokens_after:.0f} then.")
    reasons = Counter(turn.skipped for turn in turns if turn.skipped)
    for reason, times in reasons.most_common(5):
        note(f"Not done for {times} turns: {reason}")
