"""`arpm export`: timelines as files for research, written to a folder the person names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arpm.cli.options import Options, json_option
from arpm.cli.output import emit, note, say

if TYPE_CHECKING:
    from arpm.audit.exports.source import Source
    from arpm.audit.exports.write import Content, Written

    Make = Callable[[Source, datetime], tuple[Mapping[str, Content], Mapping[str, Callable[[Sequence[Written]], str]]]]


@click.group("export")
def export_group() -> None:
    """Export timelines: JSON Lines, CSV, inspect_ai logs, Croissant. Reads the ledgers and needs no lock.

    Every export says what was erased, and is noted in the logs folder so that erasing reaches it.
    """


def _shared(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every export."""
    options = (
        click.option("--timeline", "timelines", metavar="ID", multiple=True, help="Only this one; may be repeated."),
        click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder."),
        click.option("--force", is_flag=True, help="Write over files of an earlier export."),
        json_option,
        click.pass_context,
    )
    for option in reversed(options):
        command = option(command)
    return command


@export_group.command("jsonl")
@_shared
def jsonl(ctx: click.Context, **given: Any) -> None:
    """Three tables as JSON Lines: turns, the evidence they showed, memories."""
    from arpm.audit.exports.flat import as_jsonl

    _export(ctx, "jsonl", lambda source, at: (as_jsonl(source), {}), **given)


@export_group.command("csv")
@_shared
def csv(ctx: click.Context, **given: Any) -> None:
    """The same tables as CSV; no cell begins like a formula."""
    from arpm.audit.exports.flat import as_csv

    _export(ctx, "csv", lambda source, at: (as_csv(source), {}), **given)


@export_group.command("inspect")
@_shared
def inspect(ctx: click.Context, **given: Any) -> None:
    """One eval log of inspect_ai for each timeline, one sample a round."""
    from arpm.audit.exports.inspect_log import as_inspect

    _export(ctx, "inspect", lambda source, at: (as_inspect(source), {}), **given)


@export_group.command("croissant")
@click.option("--name", default="arpm-export", show_default=True, help="Name of the data set.")
@click.option("--license", help="Licence of the data: a URL or an SPDX name.")
@click.option("--url", help="Where the data set will be found.")
@click.option("--creator", help="Who made it.")
@_shared
def croissant(
    ctx: click.Context, name: str, license: str | None, url: str | None, creator: str | None, **given: Any
) -> None:
    """The tables as JSON Lines with Croissant 1.1 metadata."""
    from arpm.audit.exports.croissant import About, as_croissant

    about = About(name, license, url, creator)
    _export(ctx, "croissant", lambda source, at: as_croissant(source, about, at), **given)


def _export(
    ctx: click.Context,
    format: str,
    make: Make,
    *,
    timelines: tuple[str, ...],
    out: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Write an export, and end with 1 when something of it could not be read."""
    from arpm.audit.exports.source import read_source
    from arpm.audit.exports.write import erased_in_words, write_export

    options: Options = ctx.obj
    logs = options.settings().logs
    source, at = read_source(logs, timelines), datetime.now(UTC)
    contents, last = make(source, at)
    files = write_export(logs, out, format, source, contents, at, force=force, last=last)
    if as_json:
        emit(
            {
                "format": format,
                "files": [{"path": file.path, "bytes": file.bytes, "sha256": file.sha256} for file in files],
                "timelines": [timeline.ledger.name for timeline in source.timelines],
                "erased": [one for timeline in source.timelines for one in timeline.erased],
                "damage": source.damage,
            }
        )
    else:
        for file in files:
            say(f"{file.path}  {file.bytes:,} bytes")
    note(erased_in_words(source.timelines))
    for text in source.damage.values():
        note(f"Damaged, exported up to there: {text}")
    if source.damage:
        ctx.exit(1)
