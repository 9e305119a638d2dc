"""`arpm export`: timelines as files for research, written to a folder the person names."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arpm.cli.options import Options, json_option
from arpm.cli.output import emit, note, say

if TYPE_CHECKING:
    from arpm.audit.exports.croissant import About
    from arpm.audit.exports.formats import Format


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
    _export(ctx, "jsonl", **given)


@export_group.command("csv")
@_shared
def csv(ctx: click.Context, **given: Any) -> None:
    """The same tables as CSV; no cell begins like a formula."""
    _export(ctx, "csv", **given)


@export_group.command("inspect")
@_shared
def inspect(ctx: click.Context, **given: Any) -> None:
    """One eval log of inspect_ai for each timeline, one sample a round."""
    _export(ctx, "inspect", **given)


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
    from arpm.audit.exports.croissant import About

    _export(ctx, "croissant", about=About(name, license, url, creator), **given)


def _export(
    ctx: click.Context,
    format: Format,
    *,
    timelines: tuple[str, ...],
    out: Path,
    force: bool,
    as_json: bool,
    about: About | None = None,
) -> None:
    """Write an export, and end with 1 when something of it could not be read."""
    from arpm.audit.exports.formats import export
    from arpm.audit.exports.write import erased_in_words

    options: Options = ctx.obj
    done = export(options.settings().logs, out, format, timelines, datetime.now(UTC), about=about, force=force)
    source, files = done.source, done.files
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
