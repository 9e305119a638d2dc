"""Reading what a request brings: JSON bodies and query numbers, each either as declared or refused by name.

Strings come out without NUL and unpaired surrogates, as they can be stored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from flask import request

from arpm.web import strings
from arpm.web.errors import RequestError
from retrieval.text import usable

# A field's type; None leaves the check to the reader.
Fields = Mapping[str, type | None]

# Room for the longest message with every character escaped.
JSON_LIMIT = 2 * 2**20

_NAMES: Mapping[type | None, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    dict: "an object",
    list: "a list",
    type(None): "null",
}


def read_json(required: Fields, optional: Fields | None = None) -> dict[str, Any]:
    """The fields of the request's JSON object; an optional one that is absent or null is None.

    Raises RequestError (400) naming the field that is unknown, missing or of the wrong type.
    """
    document = _document(bool(required))
    known = {**required, **(optional or {})}
    for name in document:
        if name not in known:
            _refuse(name, strings.UNKNOWN_FIELD, known=", ".join(known) or "an empty object")
    return {name: _field(document, name, kind, name in required) for name, kind in known.items()}


def ids_field(given: list[Any], name: str) -> list[str]:
    """A list of ids from a body, not empty. Raises RequestError (400)."""
    if not given or not all(isinstance(item, str) for item in given):
        raise RequestError(400, "input", strings.BAD_IDS.format(name=name), f"body.{name}")
    return [usable(item) for item in given]


def names_field(given: list[Any] | None, name: str) -> list[str]:
    """A list of names from a body, each once; where it is not given, none. Raises RequestError (400)."""
    if given is None:
        return []
    if not all(isinstance(item, str) for item in given):
        raise RequestError(400, "input", strings.BAD_IDS.format(name=name), f"body.{name}")
    return list(dict.fromkeys(usable(item) for item in given))


def query_number(name: str, default: int, low: int, high: int) -> int:
    """A whole number from the query string. Raises RequestError (400) naming it and its range."""
    given = request.args.get(name)
    if given is None:
        return default
    if not (given.isascii() and given.isdigit() and len(given) < 16 and low <= int(given) <= high):
        message = strings.NOT_A_NUMBER.format(name=name, low=low, high=high, given=given[:40])
        raise RequestError(400, "input", message, f"?{name}")
    return int(given)


def query_text(name: str) -> str:
    """A text from the query string that must be there. Raises RequestError (400)."""
    given = usable(request.args.get(name, ""))
    if not given:
        raise RequestError(400, "input", strings.MISSING_QUERY.format(name=name), f"?{name}")
    return given


def query_choice(name: str, default: str, choices: Sequence[str]) -> str:
    """One of some words from the query string. Raises RequestError (400) naming them."""
    given = request.args.get(name, default)
    if given not in choices:
        message = strings.BAD_CHOICE.format(name=name, choices=", ".join(choices), given=given[:40])
        raise RequestError(400, "input", message, f"?{name}")
    return given


def _document(needed: bool) -> dict[str, Any]:
    data = request.get_data(cache=False)
    if not data and not needed:
        return {}
    if request.mimetype != "application/json":
        raise RequestError(415, "media_type", strings.NOT_JSON_TYPE, "Content-Type")
    try:
        document = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except RecursionError:
        raise RequestError(400, "malformed", strings.NOT_JSON.format(why="it is nested too deep"), "body") from None
    except ValueError as error:
        raise RequestError(400, "malformed", strings.NOT_JSON.format(why=error), "body") from None
    if not isinstance(document, dict):
        raise RequestError(400, "input", strings.NOT_AN_OBJECT.format(kind=_kind(document)), "body")
    return document


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _field(document: Mapping[str, Any], name: str, kind: type | None, required: bool) -> Any:
    value = document.get(name)
    if value is None and not required:
        return None
    if name not in document:
        _refuse(name, strings.MISSING_FIELD, kind=_NAMES[kind])
    if kind is not None and type(value) is not kind:
        _refuse(name, strings.WRONG_TYPE, kind=_NAMES[kind], given=_kind(value))
    return usable(value) if isinstance(value, str) else value


def _kind(value: object) -> str:
    return _NAMES.get(type(value), "something else")


def _refuse(name: str, message: str, **words: str) -> NoReturn:
    place = ascii(name[:60])[1:-1]
    raise RequestError(400, "input", message.format(name=place, **words), f"body.{place}")
