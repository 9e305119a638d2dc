"""The three tables as JSON Lines or CSV files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from arpm.audit.exports.guard import csv_line
from arpm.audit.exports.source import Source
from arpm.audit.exports.tables import TABLES, Table
from arpm.audit.exports.write import Content, as_json, json_lines


def as_jsonl(source: Source, *, scalars: bool = False) -> dict[str, Content]:
    """File name → content: one JSON object a line. With `scalars` lists and objects are JSON text, as in CSV."""
    return {f"{table.name}.jsonl": partial(_json_lines, table, source, scalars) for table in TABLES}


def as_csv(source: Source) -> dict[str, Content]:
    """File name → content: guarded CSV with a header and a byte order mark."""
    return {f"{table.name}.csv": partial(_csv_lines, table, source) for table in TABLES}


def _json_lines(table: Table, source: Source, scalars: bool) -> Iterator[str]:
    rows = table.rows(source)
    if not scalars:
        return json_lines(rows)
    inner = [column.name for column in table.columns if column.type == "json"]
    return json_lines(
        {**row, **{name: None if row[name] is None else as_json(row[name]) for name in inner}} for row in rows
    )


def _csv_lines(table: Table, source: Source) -> Iterator[str]:
    names = [column.name for column in table.columns]
    yield "\ufeff" + csv_line(names)
    for row in table.rows(source):
        yield csv_line(row[name] for name in names)
