"""`arpm import`: conversations that happened elsewhere become memories of a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arpm.cli.interrupts import INTERRUPTED, stoppable
from arpm.cli.options import Options, json_option, read_file, timeline_of_pair
from arpm.cli.output import emit, note, progress, say

if TYPE_CHECKING:
    from arpm.importers.arpm_logs import Talk
    from arpm.importers.atoms import Report, Skipped
    from arpm.service import Service
    from arpm.timeline import Timeline


@click.group("import")
def import_group() -> None:
    """Import conversations. Running an import again goes on where it stopped and never imports twice."""


@import_group.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--conversation", metavar="ID", help="Only this conversation, such as conv-26.")
@json_option
@click.pass_context
def locomo(ctx: click.Context, file: Path, conversation: str | None, as_json: bool) -> None:
    """Import a LoCoMo FILE: one timeline for each conversation, one memory for each utterance."""
    from arpm.importers.atoms import write_atoms
    from arpm.importers.locomo import chosen, read_locomo, timeline_of

    options: Options = ctx.obj
    settings = options.settings()
    talks = chosen(read_locomo(file.name, read_file(file, settings.upload_limit)), conversation)
    reports = []
    total = sum(len(talk.atoms) for talk in talks)
    with options.service(settings) as service, stoppable(_stopping) as stop, progress("Importing", total) as bar:
        for talk in talks:
            if stop.is_set():
                break
            timeline, source = timeline_of(service, file.name, talk)
            reports.append(write_atoms(timeline, source, talk.atoms, bar.update, stop))
    left = total - sum(report.imported + report.present + len(report.skipped) for report in reports)
    _finish(ctx, file, reports, left, stop.is_set(), as_json)


@import_group.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--timeline", metavar="ID", help="Timeline that the messages join, as its next rounds.")
@click.option("--user", help="Who talks; with --character, takes up their timeline or begins one.")
@click.option("--character", help="Who answers.")
@json_option
@click.pass_context
def messages(
    ctx: click.Context, file: Path, timeline: str | None, user: str | None, character: str | None, as_json: bool
) -> None:
    """Import FILE of JSON Lines, one message a line.

    \b
    {"id": "1", "role": "user", "text": "Hi", "time": "2026-03-01T09:00Z", "session": "a"}
    role     user or assistant (also human, ai, bot, model, character); or
    speaker  the user's or the character's name
    text     the words
    id       optional; what was imported is known by it
    time     optional; ISO 8601 (UTC without offset), or seconds or milliseconds since 1970
    session  optional; a reply belongs to the message before it in the same session
    """
    from arpm.importers.atoms import write_atoms
    from arpm.importers.messages import read_messages

    if timeline is None and (user is None or character is None):
        raise click.UsageError("Say where the messages go: --timeline ID, or --user NAME and --character NAME.")
    if timeline is not None and (user is not None or character is not None):
        raise click.UsageError("Give --timeline, or --user and --character, not both.")
    options: Options = ctx.obj
    settings = options.settings()
    data = read_file(file, settings.upload_limit)
    with options.service(settings) as service:
        names = _names(service, timeline, user, character)
        found = read_messages(file.name, data, *names)
        target = _target(service, timeline, *names)
        with stoppable(_stopping) as stop, progress("Importing", len(found.atoms)) as bar:
            report = write_atoms(target, file.name, found.atoms, bar.update, stop)
    _finish(ctx, file, [report], report.left, stop.is_set(), as_json, found.skipped)


@import_group.command("arpm-logs")
@click.option("--dialogue", type=click.Path(path_type=Path), required=True, help="The dialogue log.")
@click.option("--recall", type=click.Path(path_type=Path), help="The recall log of the same rounds.")
@click.option("--analysis", type=click.Path(path_type=Path), help="The analysis log of the same rounds.")
@click.option(
    "--stages",
    type=click.Path(path_type=Path),
    help="CSV with first_round,last_round,model; rounds are counted along the log.",
)
@click.option("--timeline", metavar="ID", help="Timeline that the rounds join; else one for each pair in the log.")
@click.option("--user", help="Who talks, where the log does not say.")
@click.option("--character", help="Who answers, where the log does not say.")
@click.option("--timezone", default="Asia/Shanghai", show_default=True, help="Timezone of the log's times.")
@json_option
@click.pass_context
def arpm_logs(
    ctx: click.Context,
    dialogue: Path,
    recall: Path | None,
    analysis: Path | None,
    stages: Path | None,
    timeline: str | None,
    user: str | None,
    character: str | None,
    timezone: str,
    as_json: bool,
) -> None:
    """Import the logs of the published ARPM: dialogue, and what recall and analysis logs say of the same rounds.

    A regenerated reply takes the place of the earlier one, which stays in the record. Replies that are error messages,
    empty, leak protocol tags or go in circles are imported and put in quarantine, where they can be released.
    """
    from arpm.importers.arpm_logs import LogFile, read_arpm_logs
    from arpm.importers.atoms import write_atoms
    from arpm.importers.stage_table import read_stages

    options: Options = ctx.obj
    settings = options.settings()

    def log(path: Path | None) -> LogFile | None:
        return LogFile(path.name, read_file(path, settings.upload_limit)) if path else None

    file = log(dialogue)
    assert file is not None
    table = read_stages(stages.name, read_file(stages, settings.upload_limit)) if stages else None
    found = read_arpm_logs(file, log(recall), log(analysis), table, timezone=timezone, names=(user, character))
    reports, doubted = [], 0
    total = sum(len(talk.atoms) for talk in found.talks)
    with options.service(settings) as service, stoppable(_stopping) as stop, progress("Importing", total) as bar:
        for talk in found.talks:
            if stop.is_set():
                break
            target = service.timeline(timeline) if timeline else _timeline_of_talk(service, talk, timezone)
            reports.append(write_atoms(target, file.name, talk.atoms, bar.update, stop))
            doubted += target.catalogue.count_memories(target.id, state="quarantined")
    if doubted:
        note(f"In quarantine: {doubted} of these timelines' rounds. Look at them in Memory, and release what is sound.")
    left = total - sum(report.imported + report.present + len(report.skipped) for report in reports)
    _finish(ctx, dialogue, reports, left, stop.is_set(), as_json, found.skipped)


def _timeline_of_talk(service: Service, talk: Talk, timezone: str) -> Timeline:
    """The timeline that rounds of this talk were imported into before, or a new one."""
    from arpm.ids import source_digest

    sources = [atom.source for atom in talk.atoms]
    for row in service.timelines():
        if (row.user, row.character) == (talk.user, talk.character):
            there = service.timeline(row.id)
            known, erased = there.imported(), there.erased_sources()
            if any(source in known or source_digest(row.id, source) in erased for source in sources):
                return there
    return service.create_timeline(talk.user, talk.character, timezone=timezone)


def _names(service: Service, timeline: str | None, user: str | None, character: str | None) -> tuple[str, str]:
    if timeline is None:
        assert user is not None and character is not None
        return user, character
    info = service.timeline(timeline).info
    return info.user, info.character


def _target(service: Service, timeline: str | None, user: str, character: str) -> Timeline:
    """The timeline named, else that of the pair, else a new one. Called once the file is known to be usable."""
    if timeline is not None:
        return service.timeline(timeline)
    there = timeline_of_pair(service, user, character)
    return service.timeline(there) if there else service.create_timeline(user, character)


def _stopping() -> None:
    note("\nStopping after this batch; press Ctrl-C again to stop at once.")


def _finish(
    ctx: click.Context,
    file: Path,
    reports: Sequence[Report],
    left: int,
    interrupted: bool,
    as_json: bool,
    skipped: Sequence[Skipped] = (),
) -> None:
    """Print what became of the import, and end with the exit code for it."""
    skipped = [*skipped, *(item for report in reports for item in report.skipped)]
    for item in skipped:
        note(f"Skipped {item.place}: {item.reason}.")
    imported = sum(report.imported for report in reports)
    if as_json:
        emit(
            {
                "file": file.name,
                "timelines": [
                    {"timeline": report.timeline, "imported": report.imported, "present": report.present}
                    for report in reports
                ],
                "imported": imported,
                "present": sum(report.present for report in reports),
                "left": left,
                "skipped": skipped,
                "interrupted": interrupted,
            }
        )
    else:
        for report in reports:
            before = f", {report.present} there from before" if report.present else ""
            say(f"{report.timeline}: {report.imported} imported{before}")
    if interrupted:
        note(f"Interrupted: {imported} were imported and are kept, {left} are left. Run the command again to go on.")
        ctx.exit(INTERRUPTED)
