"""Writing an export: every file whole or not at all, noted in the logs folder first, with a manifest."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from arpm import __version__
from arpm import exported as record
from arpm.audit.exports.source import Source, TimelineSource
from arpm.catalogue import KNOWLEDGE
from arpm.errors import InputError

MANIFEST = "export.json"

Content = Callable[[], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Written:
    """A file of an export."""

    path: Path
    bytes: int
    sha256: str


def write_export(
    logs: Path,
    out: Path,
    format: str,
    source: Source,
    contents: Mapping[str, Content],
    at: datetime,
    *,
    force: bool = False,
    last: Mapping[str, Callable[[Sequence[Written]], str]] | None = None,
    noted: record.Noted | None = None,
) -> list[Written]:
    """Write files and a manifest to a folder, and note them in the logs folder.

    `last` are files that describe the others and are made from their digests; `noted` is the note that was made before
    `source` was read. Raises InputError when files are there already and `force` is not given; ErasedMeanwhileError;
    ExportRecordError; OSError.
    """
    out = outside(logs, out)
    if noted is None:
        names = [*(timeline.ledger.name for timeline in source.timelines), KNOWLEDGE]
        with record.noted(logs, format, names, out / MANIFEST, at) as fresh:
            return write_export(logs, out, format, source, contents, at, force=force, last=last, noted=fresh)
    describing = dict(last or {})
    paths = [out / name for name in (*contents, *describing, MANIFEST)]
    if not force and (there := [path for path in paths if path.exists()]):
        raise InputError(f"{there[0]} is there already. Name another folder, or give --force to write it anew.")
    out.mkdir(parents=True, exist_ok=True)
    noted.files(paths)
    done: list[Written] = []
    try:
        for name, content in contents.items():
            done.append(_partial(noted, out / name, content()))
        for name, description in describing.items():
            done.append(_partial(noted, out / name, [description(list(done))]))
        done.append(_partial(noted, out / MANIFEST, [_manifest(format, source, done, at)]))
        noted.finish({written.path: written.sha256 for written in done})
    finally:
        for path in paths:
            record.partial(path).unlink(missing_ok=True)
    return done


def outside(logs: Path, out: Path) -> Path:
    """The folder to export to, in full. Raises InputError when it lies in the logs folder."""
    out = out.absolute()
    if out.resolve().is_relative_to(logs.resolve()):
        raise InputError(f"{out} lies in the logs folder, which holds ledgers only. Name another folder.")
    return out


def _partial(noted: record.Noted, path: Path, pieces: Iterable[str]) -> Written:
    """Write the pieces beside the file's final place."""
    digest, size = hashlib.sha256(), 0
    with noted.open(path) as file:
        for data in map(str.encode, pieces):
            file.write(data)
            digest.update(data)
            size += len(data)
        file.flush()
        os.fsync(file.fileno())
    return Written(path, size, digest.hexdigest())


def as_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON without NaN. Times are ISO 8601."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=_plain)


def json_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Rows as JSON Lines."""
    return (as_json(row) + "\n" for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def about(source: Source) -> list[dict[str, Any]]:
    """Each timeline of an export: whose, how far, what of it was erased, and what could not be read."""
    return [
        {
            "id": timeline.ledger.name,
            "user": timeline.info.user,
            "character": timeline.info.character,
            "timezone": timeline.info.timezone,
            "rounds": timeline.info.rounds,
            "events": timeline.tip.seq,
            "tip": timeline.tip.hash,
            "damage": timeline.ledger.damage,
            "erased": [asdict(one) for one in timeline.erased],
            "receipts": [asdict(one) for one in timeline.receipts],
        }
        for timeline in source.timelines
    ]


def _manifest(format: str, source: Source, files: Sequence[Written], at: datetime) -> str:
    value = {
        "format": format,
        "arpm": __version__,
        "at": at,
        "timelines": about(source),
        "damage": source.damage,
        "files": [{"name": one.path.name, "bytes": one.bytes, "sha256": one.sha256} for one in files],
    }
    return as_json(value, indent=1) + "\n"


def erased_in_words(timelines: Sequence[TimelineSource]) -> str:
    """One sentence on what was erased, for people who read no manifest."""
    erased = sum(len(timeline.erased) for timeline in timelines)
    receipts = sum(len(timeline.receipts) for timeline in timelines)
    if not erased:
        return "Nothing in it was erased."
    named = ", ".join(timeline.ledger.name for timeline in timelines if timeline.erased)
    return (
        f"The content of {erased} event{'s' * (erased > 1)} of {named} was erased before the export and is not in it; "
        f"{receipts} receipt{'s say' if receipts > 1 else ' says'} when and why."
    )
