"""Every failure of a request as one JSON shape: {"error": {"kind", "message", "detail"?}}.

Keeps the web's half of promise 7: whatever a person or a program sends gives a result or a clear error, never a
traceback. What nobody foresaw is logged in full and answered with kind "internal".
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import HTTPException

from arpm.catalogue import CatalogueError
from arpm.errors import ArpmError, BusyError, InputError, NotFoundError
from arpm.generation.base import GenerationError
from arpm.ledger import DamagedLedgerError, LedgerWriteError
from arpm.turn import TurnFailedError
from arpm.web import strings

log = logging.getLogger(__name__)


class RequestError(ArpmError):
    """A request that is refused before it reaches the service. `place` names the part of it that is wrong."""

    def __init__(self, status: int, kind: str, message: str, place: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.place = place


@dataclass(frozen=True, slots=True)
class Problem:
    """A failure as it is told: HTTP status, a short kind for programs, a sentence for people."""

    status: int
    kind: str
    message: str
    detail: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The JSON shape."""
        error: dict[str, Any] = {"kind": self.kind, "message": self.message}
        if self.detail:
            error["detail"] = dict(self.detail)
        return {"error": error}


# The first class that fits decides, so a subclass stands before its base.
_KINDS: tuple[tuple[type[ArpmError], int, str], ...] = (
    (NotFoundError, 404, "not_found"),
    (BusyError, 409, "busy"),
    (InputError, 400, "input"),
    (LedgerWriteError, 507, "storage"),
    (CatalogueError, 507, "storage"),
    (DamagedLedgerError, 500, "damaged"),
)
_HTTP_KINDS = {404: "not_found", 405: "method", 413: "too_large", 415: "media_type"}


def problem_of(error: BaseException) -> Problem:
    """What an exception means to the one who asked. An unforeseen one is logged here."""
    if isinstance(error, RequestError):
        return Problem(error.status, error.kind, str(error), {"place": error.place} if error.place else None)
    if isinstance(error, TurnFailedError):
        cause = error.cause.kind if error.cause else "cancelled"
        return Problem(502, "turn_failed", str(error), {"cause": cause})
    if isinstance(error, GenerationError):
        return Problem(502, "model", str(error), {"cause": error.kind})
    if isinstance(error, ArpmError):
        status, kind = next(((s, k) for c, s, k in _KINDS if isinstance(error, c)), (500, "failed"))
        return Problem(status, kind, str(error))
    log.error("unforeseen error", exc_info=error)
    return Problem(500, "internal", strings.INTERNAL)


def init(app: Flask) -> None:
    """Answer every exception of `app` in the one shape."""
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, _answer)


def _answer(error: Exception) -> Response:
    return _response(problem_of(error))


def _http(error: HTTPException) -> Response | HTTPException:
    status = error.code or 500
    if status < 400:
        return error
    response = _response(Problem(status, _HTTP_KINDS.get(status, "malformed"), _words(status)))
    for name, value in error.get_headers():
        # 405 must name what is allowed; the content headers belong to the page that is not sent.
        if name == "Allow":
            response.headers[name] = value
    return response


def _words(status: int) -> str:
    if status == 404:
        return strings.NOTHING_HERE
    if status == 405:
        return strings.WRONG_METHOD.format(method=request.method)
    if status == 413:
        return strings.TOO_LARGE.format(limit=request.max_content_length or 0)
    return strings.MALFORMED


def _response(problem: Problem) -> Response:
    response = jsonify(problem.as_dict())
    response.status_code = problem.status
    if problem.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response
