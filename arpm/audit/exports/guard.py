"""CSV that no spreadsheet runs: cells that begin like a formula stand behind an apostrophe.

Numbers are written as numbers, also negative ones; only text is guarded. Full-width signs count, since spreadsheets in
Chinese and Japanese take them for the narrow ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

_SIGNS = tuple("=+-@\t\r\n＝＋－＠")


def cell(value: Any) -> str:
    """A value as the text of a cell: null is empty, lists and objects are JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)
    # A text that begins with apostrophes before such a sign gets one more, so that `unguarded` gives it back.
    return "'" + text if text.lstrip("'").startswith(_SIGNS) else text


def unguarded(text: str) -> str:
    """The text that was guarded."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(_SIGNS) else text


def csv_line(values: Iterable[Any]) -> str:
    """One line of CSV (RFC 4180, but for the line feed alone at its end)."""
    return ",".join(_quoted(cell(value)) for value in values) + "\n"


def csv_text(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """A whole CSV file, with a byte order mark so that spreadsheets read it as UTF-8."""
    return "\ufeff" + csv_line(header) + "".join(map(csv_line, rows))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\r\n') else text
