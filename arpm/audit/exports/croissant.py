"""Croissant 1.1 metadata (`croissant.json`) of the three tables as JSON Lines, with the digest of every file.

Lists and objects are JSON text in these files, since readers of the metadata take columns of plain values only. Written
after the published vocabulary, without the package. Says who talked only where the tables do, and what was
erased. The licence of what people said is theirs to name: without one the metadata says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from arpm import __version__
from arpm.audit.exports.flat import as_jsonl
from arpm.audit.exports.source import Source
from arpm.audit.exports.tables import TABLES, Column, Table
from arpm.audit.exports.write import MANIFEST, Content, Written, as_json, erased_in_words

NAME = "croissant.json"
CONFORMS_TO = "http://mlcommons.org/croissant/1.1"

_TYPES = {"text": "sc:Text", "integer": "sc:Integer", "number": "sc:Float", "boolean": "sc:Boolean", "json": "sc:Text"}
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataBiases": "cr:dataBiases",
    "dataCollection": "cr:dataCollection",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "excludes": "cr:excludes",
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "personalSensitiveInformation": "cr:personalSensitiveInformation",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "readLines": "cr:readLines",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "sdVersion": "cr:sdVersion",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
    "unArchive": "cr:unArchive",
    "value": "cr:value",
}


@dataclass(frozen=True, slots=True)
class About:
    """What the person says of the data set; the rest follows from the tables."""

    name: str = "arpm-export"
    license: str | None = None
    url: str | None = None
    creator: str | None = None


def as_croissant(
    source: Source, about: About, at: datetime
) -> tuple[dict[str, Content], dict[str, Callable[[Sequence[Written]], str]]]:
    """The tables, and the metadata that is made from their digests."""

    def describe(files: Sequence[Written]) -> str:
        return as_json(metadata(source, about, files, at), indent=1) + "\n"

    return as_jsonl(source, scalars=True), {NAME: describe}


def metadata(source: Source, about: About, files: Sequence[Written], at: datetime) -> dict[str, Any]:
    """The metadata as plain values."""
    optional = {
        "license": about.license,
        "url": about.url,
        "creator": {"@type": "sc:Person", "name": about.creator} if about.creator else None,
    }
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": about.name,
        "description": (
            f"{len(source.timelines)} timelines of conversations with language models whose memory is recorded: "
            "messages, replies, the evidence that each prompt showed, and memories, exported from the ledgers of ARPM "
            f"{__version__}. {erased_in_words(source.timelines)} {MANIFEST} beside it names every timeline and what "
            "was erased."
        ),
        "datePublished": at.isoformat(timespec="seconds"),
        "version": "1.0.0",
        "isLiveDataset": False,
        "rai:personalSensitiveInformation": "Words of the people who talked; nothing was made anonymous.",
        **{name: value for name, value in optional.items() if value},
        "distribution": [_file(file) for file in files],
        "recordSet": [_records(table) for table in TABLES],
    }


def _file(file: Written) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.path.name,
        "name": file.path.name,
        "contentUrl": file.path.name,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": "application/jsonlines",
        "sha256": file.sha256,
    }


def _records(table: Table) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": table.description,
        "field": [_field(table, column) for column in table.columns],
    }


def _field(table: Table, column: Column) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{table.name}/{column.name}",
        "name": column.name,
        "description": column.description,
        "dataType": _TYPES[column.type],
        "source": {"fileObject": {"@id": f"{table.name}.jsonl"}, "extract": {"column": column.name}},
    }
