"""What the commands print: data on stdout, as text or JSON; diagnostics and progress on stderr."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol
from unicodedata import east_asian_width

import click

# All control characters but tab and line feed: text of models and documents must not steer a terminal.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(text: str) -> str:
    """`text` without what could steer a terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def say(text: str = "", *, newline: bool = True) -> None:
    """Print data on stdout."""
    click.echo(clean(text), nl=newline)


def note(text: str = "", *, newline: bool = True) -> None:
    """Print a diagnostic on stderr."""
    click.echo(clean(text), nl=newline, err=True)


def emit(value: Any) -> None:
    """Print one JSON document on stdout."""
    _write(value, indent=2)


def emit_line(value: Any) -> None:
    """Print one line of JSON Lines on stdout."""
    _write(value, indent=None)


def _write(value: Any, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=_plain)
    # JSON is UTF-8 whatever the terminal's encoding; half a character of a file name becomes its JSON escape.
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.buffer.flush()


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows under a header in aligned columns; Chinese characters count as two places."""
    cells = [tuple(header), *(tuple(" ".join(str(cell).split()) for cell in row) for row in rows)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    return "\n".join(_row(row, widths) for row in cells)


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()


def _width(text: str) -> int:
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


class Bar(Protocol):
    """A progress bar: `update` says how many more steps are done."""

    def update(self, n_steps: int) -> None: ...


@contextmanager
def progress(label: str, length: int) -> Iterator[Bar]:
    """A progress bar on stderr, which shows nothing but its label where stderr is no terminal."""
    with click.progressbar(length=length, label=label, file=sys.stderr, show_pos=True) as bar:
        yield bar
