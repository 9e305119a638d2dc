"""Replies in other shapes than tags: a JSON object, headings, or the bare fields of an analysis.

Each reader returns (analysis, response) or None when the text has not that shape. They are tried only where no tag
was found (JSON also before). Knows nothing about tags but their names.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from arpm.protocol.tags import meaning

_FENCED = re.compile(r"\A\s*(?:`{3,16}|~{3,16})[ \t]{0,4}[A-Za-z]{0,12}\s*\n")
_KEY = re.compile(r"\"(?P<key>[^\W\d_]{2,12})\"\s{0,8}:\s{0,8}\"(?P<value>(?:[^\"\\]|\\.)*+)", re.DOTALL)
_HEADING = re.compile(
    r"[ \t]{0,8}(?P<sign>#{1,6}[ \t]{1,4}|\*\*|__|[\[【(（])?[ \t]{0,4}(?P<name>[^\W\d_]{2,12})"
    r"[ \t]{0,4}(?P<colon>[:：])?(?P<end>\*\*|__|[\]】)）])?[ \t]{0,4}(?P<late>[:：])?(?P<rest>[^\n]*)"
)
_FIELD_LINE = re.compile(
    r"[\s>*_\-]{0,8}(need|evidence|check|需要|需求|证据|證據|核对|核對|检查|檢查)[*_]{0,2}\s{0,4}[:：]",
    re.IGNORECASE,
)


class Shape(NamedTuple):
    """An analysis, a response (None when the shape has none) and the normalisation step that found them."""

    analysis: str | None
    response: str | None
    step: str


def _body(text: str) -> str:
    return _FENCED.sub("", text).lstrip()


def read_json(text: str) -> Shape | None:
    """A JSON object with the protocol's names as keys, fenced or not."""
    body = _body(text)
    if not body.startswith("{"):
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(body)
    except (ValueError, RecursionError):
        return None
    parts: dict[str, str] = {}
    for key, item in value.items():
        if (part := _part(key)) is not None:
            parts.setdefault(part, _as_text(item))
    fields = {key: item for key, item in value.items() if _FIELD_LINE.match(f"{key}:")}
    if fields and "analysis" not in parts:
        parts["analysis"] = _as_text(fields)
    return Shape(parts.get("analysis"), parts.get("response"), "json") if parts else None


def _part(key: str) -> str | None:
    found = meaning(key[:24])
    return found.kind if found is not None and found.kind in ("analysis", "response") else None


def _as_text(value: object) -> str:
    """A field's value as text. What is nested deeper than a protocol's fields is left out."""
    if isinstance(value, dict):
        return "\n".join(f"{key}: {_line(item)}" for key, item in value.items())
    return _line(value)


def _line(value: object) -> str:
    items = value if isinstance(value, list) else [value]
    return ", ".join(str(item) for item in items if isinstance(item, str | int | float))


def read_broken_json(text: str) -> Shape | None:
    """Broken JSON: only the string values of the two keys, so that nothing else of it is ever shown."""
    body = _body(text)
    if not body.startswith("{"):
        return None
    parts: dict[str, str] = {}
    for match in _KEY.finditer(body):
        if (part := _part(match["key"])) is not None:
            parts.setdefault(part, _unescaped(match["value"]))
    named = bool(parts) or '"need"' in body or '"analysis"' in body
    return Shape(parts.get("analysis"), parts.get("response"), "json") if named else None


def _unescaped(value: str) -> str:
    try:
        return str(json.loads(f'"{value}"', strict=False))
    except ValueError:
        return value


def _heading(line: str) -> tuple[str, str] | None:
    """The kind a heading line names and the text behind it; None for any other line."""
    match = _HEADING.match(line)
    if match is None or not (match["sign"] or match["colon"]):
        return None
    found = meaning(match["name"])
    if found is None or found.step == "misspelt_tag" or found.kind not in ("analysis", "response"):
        return None
    # "**Response** to the letter" and "(answer) yes" are sentences.
    if match["rest"].strip() and not (match["colon"] or match["late"]):
        return None
    return found.kind, match["rest"]


def read_headings(text: str) -> Shape | None:
    """`Analysis: …` and then `Response: …`, as Markdown headings, in bold, in brackets or bare."""
    lines = _FENCED.sub("", text).strip().split("\n")
    opening = _heading(lines[0])
    if opening is None or opening[0] != "analysis":
        return None
    for i, line in enumerate(lines[1:], 1):
        heading = _heading(line)
        if heading is not None and heading[0] == "response":
            analysis, response = [opening[1], *lines[1:i]], [heading[1], *lines[i + 1 :]]
            return Shape("\n".join(analysis), "\n".join(response), "headings")
    return Shape("\n".join([opening[1], *lines[1:]]), None, "headings")


def after_heading(text: str) -> str | None:
    """The text behind a response heading that opens it, for a reply whose analysis alone was tagged."""
    first, _, rest = text.strip().partition("\n")
    heading = _heading(first)
    return f"{heading[1]}\n{rest}" if heading is not None and heading[0] == "response" else None


def read_bare_fields(text: str) -> Shape | None:
    """The analysis's fields without a tag, a blank line, and the response. Without the blank line all is analysis."""
    head, _, rest = _FENCED.sub("", text).strip().partition("\n\n")
    fields = [line for line in head.split("\n") if _FIELD_LINE.match(line)]
    if len(fields) < 2 or _FIELD_LINE.match(head) is None:
        return None
    return Shape(head, rest or None, "bare_fields")
