"""`arpm ingest` and `arpm documents`: the knowledge base."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from arpm.cli.interrupts import INTERRUPTED, stoppable
from arpm.cli.options import Options, json_option, read_file
from arpm.cli.output import emit, note, progress, say, table
from arpm.errors import ArpmError

if TYPE_CHECKING:
    from arpm.catalogue import DocumentRow
    from arpm.service import Service


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@json_option
@click.pass_context
def ingest(ctx: click.Context, files: tuple[Path, ...], as_json: bool) -> None:
    """Add text and Markdown files to the knowledge base.

    A file that cannot be used is reported and the others are added. Adding a file again changes nothing.
    """
    options: Options = ctx.obj
    added, failed = list["DocumentRow"](), list[dict[str, str]]()
    with options.service() as service, stoppable(_stopping) as stop, progress("Adding", len(files)) as bar:
        for path in files:
            if stop.is_set():
                break
            try:
                added.append(_added(service, path, options))
            except ArpmError as error:
                failed.append({"file": str(path), "error": str(error)})
            bar.update(1)
    if as_json:
        emit({"documents": added, "errors": failed, "interrupted": stop.is_set()})
    elif added:
        say(_listed(added))
    for item in failed:
        note(f"Error: {item['error']}")
    if stop.is_set():
        note(f"Interrupted: {len(added)} of {len(files)} files were added and kept. Run the command again to go on.")
        ctx.exit(INTERRUPTED)
    ctx.exit(1 if failed else 0)


def _stopping() -> None:
    note("\nStopping after this document; press Ctrl-C again to stop at once.")


def _added(service: Service, path: Path, options: Options) -> DocumentRow:
    return service.ingest(path.name, read_file(path, service.settings.upload_limit))


@click.command()
@json_option
@click.pass_obj
def documents(options: Options, as_json: bool) -> None:
    """List the documents that are searched, oldest first."""
    with options.service() as service:
        rows = service.library.documents()
    if as_json:
        emit(rows)
    elif rows:
        say(_listed(rows))
    else:
        note("There is no document yet. `arpm ingest FILE` adds one.")


def _listed(rows: list[DocumentRow]) -> str:
    cells = [(row.id, f"{row.characters:,}", f"{row.at:%Y-%m-%d %H:%M}", row.media_type, row.name) for row in rows]
    return table(("document", "characters", "added (UTC)", "type", "name"), cells)
