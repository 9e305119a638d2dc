"""Exports: /api/v1/audit/exports, what `arpm export` writes, to be downloaded.

Files go to the folder `exports` beside the server and are noted in the logs folder, so that an erasure reaches them
as it reaches those of the command line. What somebody has downloaded is beyond its reach.
"""

from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from flask import Blueprint, Response

from arpm.audit.exports.croissant import About
from arpm.audit.exports.formats import FORMATS, Format, export
from arpm.audit.exports.write import erased_in_words
from arpm.errors import InputError, NotFoundError
from arpm.exported import ExportedFile, exported_files
from arpm.web import strings
from arpm.web.body import names_field, query_number, read_json
from arpm.web.context import audits, service
from arpm.web.downloads import attachment
from arpm.web.errors import RequestError

PAGE = 20
LONGEST_PAGE = 100
MOST_EXPORTS = 10**6

blueprint = Blueprint("exports", __name__, url_prefix="/api/v1/audit/exports")

# Folders are named by the second; two at once would want the same name.
_writing = threading.Lock()


@blueprint.get("")
def index() -> dict[str, Any]:
    """A page of the exports that are noted in the logs folder, newest first; those made here can be downloaded."""
    after, limit = query_number("after", 0, 0, MOST_EXPORTS), query_number("limit", PAGE, 1, LONGEST_PAGE)
    rows = [_view(folder, files) for folder, files in _noted()]
    return {
        "folder": str(audits().exports),
        "exports": rows[after : after + limit],
        "count": len(rows),
        "more": after + limit < len(rows),
    }


@blueprint.post("")
def create() -> tuple[dict[str, Any], int]:
    """Write an export of timelines, all or those named. For Croissant, what is said of the data set may be given."""
    given = read_json({"format": str}, {"timelines": list, "name": str, "license": str, "url": str, "creator": str})
    format, at = _format(given["format"]), datetime.now(UTC)
    about = About(given["name"] or About().name, given["license"], given["url"], given["creator"])
    with _writing:
        out = _fresh(audits().exports, f"{format}-{at:%Y%m%dT%H%M%S}")
        try:
            done = export(service().logs, out, format, names_field(given["timelines"], "timelines"), at, about=about)
        except OSError as error:
            raise InputError(f"{out} cannot be written: {error.strerror or error}") from error
    (row,) = [_view(folder, files) for folder, files in _noted() if folder == out.absolute()]
    return {"export": row, "erased": erased_in_words(done.source.timelines), "damage": done.source.damage}, 201


@blueprint.get("/<string:export>.zip")
def archive(export: str) -> Response:
    """All files of an export as one archive."""
    folder, files = _mine(export)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in files:
            packed.writestr(f"{folder.name}/{file.path.name}", _read(folder, file.path.name))
    return attachment(data.getvalue(), f"{folder.name}.zip", "application/zip")


@blueprint.get("/<string:export>/<string:file>")
def download(export: str, file: str) -> Response:
    """A file of an export."""
    folder, files = _mine(export)
    if file not in [each.path.name for each in files]:
        raise NotFoundError(strings.NO_EXPORTED_FILE.format(export=folder.name, file=file[:80]))
    return attachment(_read(folder, file), file)


def _format(given: str) -> Format:
    for format in FORMATS:
        if given == format:
            return format
    message = strings.BAD_FORMAT.format(formats=", ".join(FORMATS), given=given[:40])
    raise RequestError(400, "input", message, "body.format")


def _fresh(folder: Path, stem: str) -> Path:
    """A folder of that name that is not there yet."""
    path, number = folder / stem, 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}"
    return path


def _noted() -> Iterator[tuple[Path, list[ExportedFile]]]:
    """Every export that is noted, newest first: its folder and its files."""
    known = sorted(exported_files(service().logs), key=lambda file: (file.at, file.path.parent), reverse=True)
    for (_, folder), files in groupby(known, key=lambda file: (file.at, file.path.parent)):
        yield folder, sorted(files, key=lambda file: file.path.name)


def _mine(export: str) -> tuple[Path, list[ExportedFile]]:
    """An export that lies here, with the files that are as they were written. Raises NotFoundError."""
    home = audits().exports
    for folder, files in _noted():
        whole = [file for file in files if file.state == "unchanged"]
        if folder.name == export and folder.parent == home.absolute() and whole:
            return folder, whole
    raise NotFoundError(strings.NO_EXPORT.format(export=export[:80], folder=home))


def _read(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        # An erasure may have been quicker.
        raise NotFoundError(strings.NO_EXPORTED_FILE.format(export=folder.name, file=name)) from error


def _view(folder: Path, files: list[ExportedFile]) -> dict[str, Any]:
    here = folder.parent == audits().exports.absolute() and any(file.state == "unchanged" for file in files)
    return {
        "id": folder.name if here else None,
        "folder": str(folder),
        "format": files[0].format,
        "at": files[0].at.isoformat(),
        "timelines": list(files[0].timelines),
        "files": [
            {
                "name": file.path.name,
                "state": file.state,
                "bytes": file.path.stat().st_size if file.path.exists() else None,
            }
            for file in files
        ],
    }
