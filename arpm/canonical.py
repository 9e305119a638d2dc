"""One way to write a value as JSON bytes (RFC 8785), so that the same value always has the same digest.

Keeps the part of promise 2 that makes digests meaningful: two programs that agree on a value agree on its bytes.
`orjson` writes the bulk; the few values that it spells differently from RFC 8785 (integral floats, exponents, keys
outside ASCII) are replaced first, the hard ones by what `rfc8785` writes. Knows nothing about events or files.
"""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
import rfc8785

from arpm.errors import InputError

_MAX_INTEGER = 2**53 - 1
_MAX_DEPTH = 200
_OPTIONS = orjson.OPT_SORT_KEYS


class NotCanonicalError(InputError):
    """A value has no canonical JSON form; the text names its place as a path such as `$.body.message`."""


class _OddValueError(Exception):
    """Somewhere in the value is something JSON cannot say; `_explain` finds out where."""


def canonical(value: Any, path: str = "$") -> bytes:
    """Write `value` (dict, list, str, int, float, bool, None) as RFC 8785 canonical JSON.

    Integral floats are written as integers, as ECMAScript does, so 1.0 and 1 have the same bytes.
    Raises NotCanonicalError for NaN, infinities, lone surrogates, integers beyond 2**53 - 1, keys that are not
    strings, any other type (tuples and numpy scalars too) and nesting deeper than 200; its text names the place, with
    `path` as the path of `value` itself.
    """
    try:
        return orjson.dumps(_prepared(value, 0), option=_OPTIONS)
    except (_OddValueError, TypeError, UnicodeEncodeError, rfc8785.CanonicalizationError) as error:
        raise NotCanonicalError(_explain(value, path, 0) or f"{path} cannot be written as JSON: {error}") from error


def digest(data: bytes) -> str:
    """SHA-256 of `data` as `sha256:<64 hex digits>`; the prefix says which algorithm to check with."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _prepared(value: Any, depth: int) -> Any:
    """`value` with what orjson spells differently replaced. Containers are copied only where something changed."""
    kind = type(value)
    if kind is dict:
        return _prepared_dict(value, depth)
    if kind is list:
        return _prepared_list(value, depth)
    if kind is float:
        return _prepared_float(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is not int or abs(value) > _MAX_INTEGER:
        raise _OddValueError
    return value


def _prepared_dict(value: dict[str, Any], depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise _OddValueError
    result = value
    for key, item in value.items():
        # A turn holds a thousand scores and a few hundred names: those are decided here, without a call.
        kind = type(item)
        if kind is float:
            if item % 1.0 and 1e-5 <= item < 1e15:
                continue
        elif kind is str or kind is bool or item is None:
            continue
        prepared = _prepared(item, depth + 1)
        if prepared is not item:
            if result is value:
                result = value.copy()
            result[key] = prepared
    # RFC 8785 sorts keys by UTF-16 code units, orjson by code points: they differ only beyond ASCII.
    return result if "".join(value).isascii() else _sorted_by_utf16(result)


def _sorted_by_utf16(members: dict[str, Any]) -> orjson.Fragment:
    keys = sorted(members, key=lambda key: key.encode("utf-16-be"))
    written = (orjson.dumps(key) + b":" + orjson.dumps(members[key], option=_OPTIONS) for key in keys)
    return orjson.Fragment(b"{" + b",".join(written) + b"}")


def _prepared_list(value: list[Any], depth: int) -> list[Any]:
    if depth > _MAX_DEPTH:
        raise _OddValueError
    result = value
    for index, item in enumerate(value):
        prepared = _prepared(item, depth + 1)
        if prepared is not item:
            if result is value:
                result = value.copy()
            result[index] = prepared
    return result


def _prepared_float(value: float) -> Any:
    if value.is_integer() and abs(value) <= _MAX_INTEGER:
        return int(value)
    if 1e-5 <= abs(value) < 1e15:
        return value
    # Exponents, and the errors for NaN and infinities, are left to the reference implementation.
    return orjson.Fragment(rfc8785.dumps(value))


def _explain(value: Any, path: str, depth: int) -> str | None:
    """The first thing in `value` that JSON cannot say, with its path; None when there is none."""
    if depth > _MAX_DEPTH:
        return f"{path} is nested more than {_MAX_DEPTH} deep"
    if type(value) is dict:
        for key, item in value.items():
            if type(key) is not str:
                return f"{path} has the key {key!r}, which is not text"
            problem = _explain_text(key, f"{path} has a key that") or _explain(item, f"{path}.{key}", depth + 1)
            if problem:
                return problem
        return None
    if type(value) is list:
        problems = (_explain(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value))
        return next(filter(None, problems), None)
    if type(value) is str:
        return _explain_text(value, path)
    return _explain_scalar(value, path)


def _explain_text(text: str, subject: str) -> str | None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"{subject} holds half a character (lone surrogate U+{ord(text[error.start]):04X} at {error.start})"
    return None


def _explain_scalar(value: Any, path: str) -> str | None:
    if type(value) is float:
        return None if abs(value) < float("inf") else f"{path} is {value}, which JSON cannot say"
    if type(value) is int:
        return None if abs(value) <= _MAX_INTEGER else f"{path} is {value}, beyond the integers JSON keeps exactly"
    if type(value) is bool or value is None:
        return None
    return f"{path} is a {type(value).__module__}.{type(value).__qualname__}; only plain JSON types can be recorded"
