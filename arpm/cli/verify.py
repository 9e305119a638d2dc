"""`arpm verify`: every byte of every ledger, and the arithmetic of every turn."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arpm.cli.options import Options, json_option
from arpm.cli.output import emit, note, progress, say, table
from arpm.errors import ArpmError, InputError, NotFoundError

if TYPE_CHECKING:
    from arpm.audit.chain import Finding, LedgerReport
    from arpm.audit.checkpoint import SignedCheckpoint
    from arpm.audit.folder import TimelineReplay

SHOWN = 20


@click.command()
@click.argument("ledgers", nargs=-1, metavar="[LEDGER...]")
@click.option(
    "--checkpoint",
    "checkpoints",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="A signed checkpoint file; may be given again.",
)
@click.option("--public-key", help="The key that checkpoints must be signed with; else the one in each file.")
@click.option("--chain-only", is_flag=True, help="Leave out the arithmetic of the turns.")
@json_option
@click.pass_context
def verify(
    ctx: click.Context,
    ledgers: tuple[str, ...],
    checkpoints: tuple[Path, ...],
    public_key: str | None,
    chain_only: bool,
    as_json: bool,
) -> None:
    """Check ledgers: chain, digests, schemas, sequence, and the arithmetic of every turn.

    LEDGER is a timeline's id or `knowledge`; without one, every ledger of the logs folder. Nothing is changed and no
    lock is taken. A checkpoint also shows whether a ledger was cut short or rewritten as a whole. Ends with 0 when all
    is as it was written, 1 when something disagrees, 2 when something cannot be read.
    """
    options: Options = ctx.obj
    settings = options.settings()
    reports = _reports(settings.logs, ledgers)
    signed = _against(reports, checkpoints, public_key)
    turns = {} if chain_only else _arithmetic(options, reports)
    if as_json:
        emit({"ledgers": [_data(report, signed.get(report.name, ()), turns.get(report.name)) for report in reports]})
    else:
        for report in reports:
            _tell(report, signed.get(report.name, ()), turns.get(report.name))
        _total(reports, signed, turns)
    ctx.exit(_code(reports, signed, turns))


def _reports(logs: Path, wanted: tuple[str, ...]) -> list[LedgerReport]:
    from arpm.audit.chain import read_folder

    reports = read_folder(logs)
    known = {report.name: report for report in reports}
    for name in wanted:
        if name not in known:
            raise NotFoundError(f"there is no ledger {name!r} in {logs}; there are {', '.join(known) or 'none'}")
    return [known[name] for name in wanted] or reports


def _against(
    reports: list[LedgerReport], files: tuple[Path, ...], public_key: str | None
) -> dict[str, tuple[Finding, ...]]:
    """What each checkpoint has to say, by ledger. Raises InputError for a file that is none, or of no ledger here."""
    from arpm.audit.checkpoint import against, load, parse_public_key

    key = parse_public_key(public_key, "--public-key") if public_key else None
    by_timeline = {report.chain.timeline: report for report in reports if report.chain is not None}
    found: dict[str, tuple[Finding, ...]] = {}
    for path in files:
        checkpoint: SignedCheckpoint = load(path)
        report = by_timeline.get(checkpoint.timeline)
        if report is None or report.chain is None:
            raise InputError(f"{path} is a checkpoint of {checkpoint.timeline!r}, and that ledger is not here.")
        found[report.name] = (*found.get(report.name, ()), *against(checkpoint, report.chain, key))
        if key is None:
            note(f"{path}: no --public-key was given, so it is held against the key in the file itself.")
    return found


def _arithmetic(options: Options, reports: list[LedgerReport]) -> dict[str, TimelineReplay]:
    """Replay the timelines that can be read; of a damaged ledger, the turns before the damage."""
    from arpm.audit.folder import ReplayJob, cores, done, turns_in
    from arpm.ids import is_id

    settings = options.settings()
    names = [report.name for report in reports if report.chain is not None and is_id(report.name, "t")]
    job = ReplayJob(settings, "arithmetic")
    with progress("Checking turns", turns_in(settings.logs, names)) as bar:
        return {result.timeline: result for result in done(job, names, cores(), lambda: bar.update(1))}


def _code(reports: list[LedgerReport], signed: dict[str, tuple[Finding, ...]], turns: dict[str, TimelineReplay]) -> int:
    if any(report.chain is None for report in reports):
        return 2
    # An unfinished last line too: a crash leaves it, but so does a change of the last byte.
    disagrees = any(report.findings or (report.chain and report.chain.more) for report in reports)
    wrong = any(turn.disagreements for result in turns.values() for turn in result.turns)
    return 1 if disagrees or wrong or any(signed.values()) or any(result.error for result in turns.values()) else 0


def _data(report: LedgerReport, signed: tuple[Finding, ...], turns: TimelineReplay | None) -> dict[str, Any]:
    chain = report.chain
    return {
        "ledger": report.name,
        "path": str(report.path),
        "events": len(chain.hashes) if chain else 0,
        "erased": chain.erased if chain else 0,
        "tip": asdict(chain.tip) if chain else None,
        "torn_bytes": chain.torn_bytes if chain else 0,
        "findings": [asdict(finding) for finding in (*report.findings, *signed)],
        "more": chain.more if chain else 0,
        "turns": len(turns.turns) if turns else None,
        "turns_that_disagree": [asdict(turn) for turn in turns.turns if turn.disagreements] if turns else [],
        "not_checked": sorted({reason for turn in turns.turns for reason in turn.skipped}) if turns else [],
        "error": turns.error if turns else None,
    }


def _tell(report: LedgerReport, signed: tuple[Finding, ...], turns: TimelineReplay | None) -> None:
    chain = report.chain
    findings = (*report.findings, *signed)
    for finding in findings:
        say(f"{report.name}: {finding}")
    if chain and chain.more:
        say(f"{report.name}: … and {chain.more} more")
    if turns is None:
        return
    if turns.error and not findings:
        say(f"{report.name}: {turns.error}")
    for turn in [turn for turn in turns.turns if turn.disagreements][:SHOWN]:
        say(
            f"{report.name}: event {turn.seq} ({turn.event}), round {turn.round}, does not follow from its own numbers:"
        )
        for item in turn.disagreements[:SHOWN]:
            say(f"  {item.place}: recorded {item.recorded!r}, would be {item.expected!r}")


def _total(
    reports: list[LedgerReport], signed: dict[str, tuple[Finding, ...]], turns: dict[str, TimelineReplay]
) -> None:
    rows = []
    for report in reports:
        chain, replay = report.chain, turns.get(report.name)
        wrong = sum(bool(turn.disagreements) for turn in replay.turns) if replay else 0
        clean = chain is not None and not report.findings and not signed.get(report.name)
        rows.append(
            (
                report.name,
                len(chain.hashes) if chain else "–",
                chain.erased if chain else "–",
                len(replay.turns) if replay else "–",
                wrong if replay else "–",
                "good" if clean and not wrong and not (replay and replay.error) else "DISAGREES",
                chain.tip.hash if chain else "–",
            )
        )
    if rows:
        say(table(("ledger", "events", "erased", "turns", "wrong", "", "hash of the last event"), rows))
    else:
        raise ArpmError("There is no ledger here.")
