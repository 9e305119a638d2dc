"""`arpm review`: people judge turns; lists, reports, agreement, and the CSV layout of the published review files.

Only `add` and `import` write, and open the service for it. The others read the logs folder without its lock; `export`
notes there what it writes, so that erasing reaches it.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arpm.cli.options import Options, is_timeline, json_option, read_file
from arpm.cli.output import emit, note, say, table
from arpm.errors import ArpmError, InputError, NotFoundError

if TYPE_CHECKING:
    from arpm.audit.agreement import Agreement
    from arpm.audit.gold import Gold
    from arpm.audit.review import Report
    from arpm.audit.review_csv import ReviewSet
    from arpm.audit.reviews import Folder
    from arpm.catalogue import ReviewRow, TurnRow

_VERDICT = click.Choice(["yes", "no", "unsure"])
_REASON = 60

gold_option = click.option(
    "--gold", type=click.Path(path_type=Path), metavar="FILE", help="Question set with labels; see docs/review.md."
)


@click.group("review")
def review_group() -> None:
    """Manual review: does the evidence support the answer, and is the answer correct. Edits append."""


@review_group.command("list")
@click.argument("timeline", required=False)
@click.option("--reviewer", metavar="NAME", help="Only this person's reviews.")
@click.option("--history", is_flag=True, help="Superseded reviews too.")
@click.option("--open", "only_open", is_flag=True, help="Instead: the replies not reviewed yet (by --reviewer).")
@json_option
@click.pass_context
def list_reviews(
    ctx: click.Context, timeline: str | None, reviewer: str | None, history: bool, only_open: bool, as_json: bool
) -> None:
    """List reviews, of TIMELINE or of all."""
    from arpm.audit.reviews import replies, standing

    folder = _folder(ctx, timeline)
    names = [timeline] if timeline else [row.id for row in folder.catalogue.timelines()]
    written = {name: _by(folder.catalogue.reviews(name), reviewer) for name in names}
    if only_open:
        done = {row.turn for rows in written.values() for row in rows}
        left = [turn for name in names for turn in replies(folder.catalogue, name) if turn.event not in done]
        _print_open(left, as_json)
    else:
        rows = [row for name in names for row in (written[name] if history else standing(written[name]))]
        _print_reviews(folder, rows, as_json)
    ctx.exit(1 if folder.damaged else 0)


@review_group.command("add")
@click.argument("turn")
@click.option("--reviewer", required=True, metavar="NAME", help="Who reviews.")
@click.option("--support", type=_VERDICT, required=True, help="Does the evidence in the prompt support the answer?")
@click.option("--correct", type=_VERDICT, required=True, help="Is the answer correct?")
@click.option("--reason", required=True, help="Why.")
@click.option("--memory", metavar="ID|LABEL", help="The memory that is quoted; an id, or its label such as E1.")
@click.option("--quote", metavar="TEXT", help="Its words that the verdict rests on; … marks a gap.")
@click.option("--pending", is_flag=True, help="Somebody should look again.")
@gold_option
@json_option
@click.pass_obj
def add(options: Options, /, turn: str, gold: Path | None, as_json: bool, **given: Any) -> None:
    """Review TURN: an event id, TIMELINE:ROUND, or TIMELINE for its last turn.

    A second review of the same turn by the same person supersedes the first, which stays in the ledger.
    """
    from arpm.audit.reviews import Opinion, Running, automatic_of, turn_named, write_review

    golds = _golds(options, gold)
    with options.service() as service:
        found = turn_named(service.catalogue, turn)
        automatic = automatic_of(Running(service), found, golds)
        row = write_review(service, found, Opinion(**given, automatic=automatic))
    if as_json:
        emit(row)
    else:
        instead = f", in the place of {row.supersedes}" if row.supersedes else ""
        say(f"Recorded {row.event} on round {found.round} of {found.timeline}{instead}.")


@review_group.command("export")
@click.argument("timeline")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--reviewer", metavar="NAME", help="Whose reviews; needed where there are several people's.")
@click.option("--scores", is_flag=True, help="Add the column EvidenceScore: the quoted memory's final score.")
@click.option("--ratio", default="", help="What stands in the column snr_ratio, such as 1:5.")
@gold_option
@click.pass_obj
def export(
    options: Options, timeline: str, file: Path, reviewer: str | None, scores: bool, ratio: str, gold: Path | None
) -> None:
    """Write one person's reviews of TIMELINE to FILE.csv (- for stdout) in the published column layout."""
    golds, logs = _golds(options, gold), options.settings().logs

    def made() -> tuple[bytes, str, int]:
        from arpm.audit.review_csv import write_reviews
        from arpm.audit.review_rows import csv_rows
        from arpm.audit.reviews import Folder

        folder = Folder(logs, [timeline])
        name = _one_reviewer(folder, timeline, reviewer)
        rows = csv_rows(folder, timeline, name, ratio, golds)
        return write_reviews(rows, scores=scores), name, len(rows)

    if str(file) == "-":
        data, _, _ = made()
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        from arpm.audit.reading import names_of_timelines
        from arpm.exported import noted

        path, _ = file.absolute(), names_of_timelines(logs, [timeline])
        # It holds questions, replies and evidence: an erasure must reach it as it does any export.
        with noted(logs, "reviews", [timeline, "knowledge"], path, datetime.now(UTC)) as export:
            data, name, rows = made()
            with export.open(path) as out:
                out.write(data)
            export.finish({path: hashlib.sha256(data).hexdigest()})
        note(f"{rows} reviews by {name} written to {file}.")


@review_group.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--timeline", required=True, metavar="ID", help="The timeline whose turns were reviewed.")
@click.option("--reviewer", required=True, metavar="NAME", help="Who reviewed; the layout does not say.")
@gold_option
@json_option
@click.pass_context
def import_reviews(
    ctx: click.Context, file: Path, timeline: str, reviewer: str, gold: Path | None, as_json: bool
) -> None:
    """Record the reviews of FILE.csv, in the published column layout, as events of the timeline.

    Rows are matched by round, question and answer. What says the same as this person's last review is left out, so an
    import can be repeated. A row that cannot be used is named by its line, and the exit code is then 1.
    """
    from arpm.audit.review_rows import record_rows

    options: Options = ctx.obj
    golds, reviews = _golds(options, gold), _read(options, file)
    _name_faults(file, reviews)
    with options.service() as service:
        outcome = record_rows(service, timeline, reviewer, reviews.rows, golds)
    for fault in outcome.refused:
        note(f"{file}, line {fault.line}: {fault.reason}")
    refused = len(outcome.refused) + len(reviews.bad)
    if as_json:
        faults = [*reviews.bad, *outcome.refused]
        emit({"recorded": outcome.recorded, "present": outcome.present, "refused": faults})
    else:
        say(f"{outcome.recorded} recorded, {outcome.present} there from before, {refused} refused.")
    ctx.exit(1 if refused else 0)


@review_group.command("report")
@click.argument("source", metavar="TIMELINE|FILE.csv")
@click.option("--reviewer", metavar="NAME", help="Only this person's reviews of the timeline.")
@click.option("--curve", is_flag=True, help="Also print both rolling accuracies round by round.")
@click.option(
    "--plot",
    "plots",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="Draw both curves as .png or .svg; can be given twice.",
)
@gold_option
@json_option
@click.pass_context
def report(
    ctx: click.Context,
    source: str,
    reviewer: str | None,
    curve: bool,
    plots: tuple[Path, ...],
    gold: Path | None,
    as_json: bool,
) -> None:
    """Automatic and corrected accuracy, both rolling curves, and what the review corrected."""
    options: Options = ctx.obj
    for path in plots:
        _check_plot(path)
    wrong = False
    if is_timeline(source):
        folder, golds = _folder(ctx, source), _golds(options, gold)
        reports = dict(_timeline_reports(folder, source, reviewer, golds))
        if plots and len(reports) != 1:
            raise click.UsageError("--plot draws one person's curves: say --reviewer.")
    else:
        if reviewer is not None or gold is not None:
            raise click.UsageError("--reviewer and --gold are for timelines; a file says it all.")
        file = Path(source)
        reviews = _read(options, file)
        wrong = _name_faults(file, reviews)
        reports = {file.name: _file_report(reviews)}
    for path in plots:
        _draw(next(iter(reports.values())), path)
    if as_json:
        emit([{"name": name, **asdict(item)} for name, item in reports.items()])
    else:
        say("\n\n".join(_report_text(name, item, curve) for name, item in reports.items()))
    ctx.exit(1 if wrong else 0)


@review_group.command("agreement")
@click.argument("sources", nargs=-1, required=True, metavar="TIMELINE|FILE.csv...")
@json_option
@click.pass_context
def agreement(ctx: click.Context, sources: tuple[str, ...], as_json: bool) -> None:
    """How far reviewers agree beyond chance: those of a TIMELINE, or two or more files, one for each person."""
    from arpm.audit.reviews import agreements

    wrong = False
    if len(sources) == 1 and is_timeline(sources[0]):
        found = agreements(_folder(ctx, sources[0]).catalogue, sources[0])
    else:
        if len(set(sources)) < 2:
            raise click.UsageError("Agreement needs a timeline, or the files of at least two people.")
        found, wrong = _file_agreements(ctx.obj, sources)
    if len(found["support"].raters) < 2:
        raise NotFoundError("Only one person reviewed; agreement needs two.")
    if as_json:
        emit({verdict: asdict(item) for verdict, item in found.items()})
    else:
        say("\n\n".join(_agreement_text(verdict, item) for verdict, item in found.items()))
    ctx.exit(1 if wrong else 0)


# -- reading ----------------------------------------------------------------------------------------------------------


def _folder(ctx: click.Context, timeline: str | None) -> Folder:
    from arpm.audit.reviews import Folder

    options: Options = ctx.obj
    folder = Folder(options.settings().logs, None if timeline is None else [timeline])
    for text in folder.damaged:
        note(f"Not read: {text}")
    return folder


def _golds(options: Options, file: Path | None) -> list[Gold]:
    from arpm.audit.gold import read_gold

    return [] if file is None else read_gold(file.name, read_file(file, options.settings().upload_limit))


def _read(options: Options, file: Path) -> ReviewSet:
    from arpm.audit.review_csv import read_reviews

    return read_reviews(str(file), read_file(file, options.settings().upload_limit))


def _name_faults(file: Path, reviews: ReviewSet) -> bool:
    """Name every fault of a file on stderr; whether there were any."""
    for fault in reviews.bad:
        note(f"{file}, line {fault.line}: left out, {fault.reason}.")
    for fault in reviews.disagreements:
        note(f"{file}, line {fault.line}: {fault.reason}.")
    return bool(reviews.bad or reviews.disagreements)


def _by(rows: Sequence[ReviewRow], reviewer: str | None) -> list[ReviewRow]:
    return [row for row in rows if reviewer in (None, row.reviewer)]


def _one_reviewer(folder: Folder, timeline: str, given: str | None) -> str:
    from arpm.audit.reviews import reviewers

    names = reviewers(folder.catalogue.reviews(timeline))
    if not names:
        raise NotFoundError(f"Nobody reviewed {timeline} yet. `arpm review add` does.")
    if given is not None and given not in names:
        raise NotFoundError(f"{given!r} reviewed nothing on {timeline}; {', '.join(names)} did.")
    if given is None and len(names) > 1:
        raise InputError(f"{', '.join(names)} reviewed {timeline}: choose one with --reviewer.")
    return given or names[0]


def _timeline_reports(
    folder: Folder, timeline: str, reviewer: str | None, golds: Sequence[Gold]
) -> Iterator[tuple[str, Report]]:
    from arpm.audit.reviews import report_of, reviewers

    names = reviewers(folder.catalogue.reviews(timeline))
    chosen = names if names and reviewer is None else [_one_reviewer(folder, timeline, reviewer)]
    for name in chosen:
        yield name, report_of(folder, timeline, name, golds)


def _file_report(reviews: ReviewSet) -> Report:
    from arpm.audit.review import report as report_on

    return report_on(row.judged() for row in reviews.rows)


def _file_agreements(options: Options, sources: Sequence[str]) -> tuple[dict[str, Agreement], bool]:
    from arpm.audit.agreement import agreement as agreement_of
    from arpm.audit.review import VERDICTS

    paths = list(dict.fromkeys(map(Path, sources)))
    # By its name alone where that tells the files apart.
    plain = len({path.name for path in paths}) == len(paths)
    sets = {path.name if plain else str(path): _read(options, path) for path in paths}
    # Every file's faults are named, so this must not stop at the first.
    wrong = sum(_name_faults(Path(name), reviews) for name, reviews in sets.items()) > 0
    found = {
        verdict: agreement_of(
            {
                name: {str(row.round): getattr(row.judged(), verdict) for row in reviews.rows}
                for name, reviews in sets.items()
            },
            VERDICTS,
        )
        for verdict in ("support", "correct")
    }
    return found, wrong


# -- printing ---------------------------------------------------------------------------------------------------------


def _print_open(turns: Sequence[TurnRow], as_json: bool) -> None:
    if as_json:
        emit([{"turn": turn.event, "timeline": turn.timeline, "round": turn.round} for turn in turns])
    elif turns:
        cells = [(f"{turn.timeline}:{turn.round}", turn.event, _short(turn.message)) for turn in turns]
        say(table(("turn", "event", "message"), cells))
    else:
        note("Every reply was reviewed.")


def _print_reviews(folder: Folder, rows: Sequence[ReviewRow], as_json: bool) -> None:
    if as_json:
        emit(rows)
    elif rows:
        header = ("turn", "reviewer", "support", "correct", "automatic", "pending", "at", "memory", "reason")
        say(table(header, [_cells(folder, row) for row in rows]))
    else:
        note("There is no review yet. `arpm review add TURN` writes one.")


def _cells(folder: Folder, row: ReviewRow) -> tuple[object, ...]:
    turn = folder.catalogue.turn(row.turn)
    place = f"{row.timeline}:{turn.round}" if turn is not None and turn.round else row.turn
    automatic = "–" if row.automatic is None else str(int(row.automatic["correct"]))
    return (
        *(place, row.reviewer, row.support, row.correct, automatic, "yes" if row.pending else "–"),
        *(f"{row.at:%Y-%m-%d %H:%M}", row.memory or "–", _short(row.reason)),
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _REASON else line[: _REASON - 1] + "…"


def _report_text(name: str, item: Report, curve: bool) -> str:
    lines = [
        f"{name}: {item.rounds} rounds reviewed",
        f"  automatic (13)         {_share(item.automatic_correct, item.judged, item.automatic_accuracy)}",
        f"  after review (14, 15)  {_share(item.manual_correct, item.rounds, item.manual_accuracy)}",
        f"  corrected 0 → 1        {_rounds(item.zero_to_one)}",
        f"  corrected 1 → 0        {_rounds(item.one_to_zero)}",
        f"  pending further review {_rounds(item.pending)}",
    ]
    if curve:
        cells = [(point.round, _decimal(point.automatic), _decimal(point.manual)) for point in item.curve]
        lines += ["", table(("round", "automatic", "after review"), cells)]
    return "\n".join(lines)


def _share(right: int, of: int, accuracy: float | None) -> str:
    return "nothing was judged" if accuracy is None else f"{100 * accuracy:.1f} %  ({right} of {of})"


def _rounds(rounds: Sequence[int]) -> str:
    return f"{len(rounds)}: {', '.join(map(str, rounds))}" if rounds else "0"


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _agreement_text(verdict: str, item: Agreement) -> str:
    parts = [verdict.upper()]
    for pair in item.pairs:
        kappa = f"observed {_decimal(pair.observed)}, Cohen's kappa {_decimal(pair.kappa)}"
        parts.append(f"{pair.first} and {pair.second}: {pair.items} turns, {kappa}")
        cells = [(name, *row) for name, row in zip(pair.categories, pair.table, strict=True)]
        parts.append(table((f"{pair.first} ↓  {pair.second} →", *pair.categories), cells))
    if len(item.raters) > 2:
        parts.append(f"mean of the pairs {_decimal(item.mean_kappa)}")
        parts.append(f"Fleiss' kappa {_decimal(item.fleiss_kappa)} over the {item.fleiss_items} turns all reviewed")
    return "\n".join(parts)


def _check_plot(path: Path) -> None:
    from arpm.audit.plots import check_format

    check_format(path)


def _draw(item: Report, path: Path) -> None:
    # Imported here: matplotlib takes half a second.
    from arpm.audit.plots import rolling_accuracy, save

    if not item.curve:
        raise ArpmError("There is no reviewed round to draw.")
    save(rolling_accuracy(item.curve, f"Rolling accuracy over {item.rounds} reviewed rounds"), path)
    note(f"Drawn: {path}.")
