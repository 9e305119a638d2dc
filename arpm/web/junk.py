"""Requests whose address holds bytes that no address of ours has are refused before any handler sees them.

So no handler, log line or error text meets control characters, invalid UTF-8 or a path that climbs.
"""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from flask import Flask, request

from arpm.web import strings
from arpm.web.errors import RequestError


def init(app: Flask) -> None:
    """Refuse junk addresses before anything else of `app` runs."""
    app.before_request(_check)


def _check() -> None:
    # WSGI hands the path over as Latin-1 whatever it was (PEP 3333).
    _refuse_junk("path", request.environ.get("PATH_INFO", "").encode("latin-1"))
    _refuse_junk("query", unquote_to_bytes(request.environ.get("QUERY_STRING", "").encode("latin-1")))


def _refuse_junk(part: str, data: bytes) -> None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise RequestError(400, "malformed", strings.JUNK.format(part=part, what="bytes that are not UTF-8")) from None
    # A line break may stand in a searched text, nothing else of the kind.
    allowed = "\t\n\r" if part == "query" else ""
    if any((character < " " and character not in allowed) or character == "\x7f" for character in text):
        raise RequestError(400, "malformed", strings.JUNK.format(part=part, what="control characters"))
    if part == "path" and (".." in text.split("/") or "\\" in text):
        raise RequestError(400, "malformed", strings.JUNK.format(part=part, what="steps to another folder"))
