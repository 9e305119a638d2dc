"""The kinds of export and how each is made: what `arpm export` and the audit page write.

Reads the ledgers; `arpm.audit.exports.write` puts the files where they belong and notes them. Knows nothing about who
asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, get_args

from arpm.audit.exports.croissant import About, as_croissant
from arpm.audit.exports.flat import as_csv, as_jsonl
from arpm.audit.exports.inspect_log import as_inspect
from arpm.audit.exports.source import Source, read_source
from arpm.audit.exports.write import MANIFEST, Content, Written, outside, write_export
from arpm.audit.reading import names_of_timelines
from arpm.catalogue import KNOWLEDGE
from arpm.exported import noted

Format = Literal["jsonl", "csv", "inspect", "croissant"]
FORMATS: tuple[Format, ...] = get_args(Format)

_Made = tuple[Mapping[str, Content], Mapping[str, Callable[[Sequence[Written]], str]]]


@dataclass(frozen=True, slots=True)
class Export:
    """An export that was written: what was read, and the files."""

    source: Source
    files: tuple[Written, ...]


def export(
    logs: Path,
    out: Path,
    format: Format,
    timelines: Sequence[str],
    at: datetime,
    *,
    about: About | None = None,
    force: bool = False,
) -> Export:
    """Read timelines, or all, and write them to a folder. `about` is what Croissant says of the data set.

    Raises what `read_source` and `write_export` raise.
    """
    manifest = outside(logs, out) / MANIFEST
    names = names_of_timelines(logs, timelines)
    # Noted first: an erasure that comes after this ends the export, whatever that has read by then.
    with noted(logs, format, [*names, KNOWLEDGE], manifest, at) as note:
        source = read_source(logs, names)
        contents, last = _made(format, source, about, at)
        files = write_export(logs, out, format, source, contents, at, force=force, last=last, noted=note)
    return Export(source, tuple(files))


def _made(format: Format, source: Source, about: About | None, at: datetime) -> _Made:
    if format == "croissant":
        return as_croissant(source, about or About(), at)
    plain: Mapping[Format, Callable[[Source], Mapping[str, Content]]] = {
        "jsonl": as_jsonl,
        "csv": as_csv,
        "inspect": as_inspect,
    }
    return plain[format](source), {}
