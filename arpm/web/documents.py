"""The knowledge base: /api/v1/documents."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, request
from werkzeug.datastructures import FileStorage

from arpm.web import strings
from arpm.web.body import query_number, read_json
from arpm.web.context import service
from arpm.web.errors import RequestError
from arpm.web.views import document_view, memory_view

# What the form around a file takes besides the file.
FORM_ROOM = 64 * 2**10
PAGE = 50
LONGEST_PAGE = 200
MOST_CHUNKS = 10**9

blueprint = Blueprint("documents", __name__, url_prefix="/api/v1/documents")


@blueprint.get("")
def index() -> dict[str, Any]:
    """The documents that are searched, oldest first."""
    return {"documents": [document_view(row) for row in service().library.documents()]}


@blueprint.post("")
def upload() -> tuple[dict[str, Any], int]:
    """Add one text or Markdown file. Returns when it can be searched."""
    limit = service().settings.upload_limit
    _check_size(limit)
    file = _file()
    # One byte more than is allowed is enough to know.
    added = service().ingest(file.filename or "", file.stream.read(limit + 1))
    return {"document": document_view(added)}, 201


@blueprint.get("/<id('d'):document>")
def show(document: str) -> dict[str, Any]:
    """A document and a page of its chunks, after the first ?after= of them, with how often each was shown."""
    limit = query_number("limit", PAGE, 1, LONGEST_PAGE)
    after = query_number("after", 0, 0, MOST_CHUNKS)
    row = service().library.document(document)
    chunks = service().catalogue.chunks(document)
    page = chunks[after : after + limit]
    uses = service().catalogue.count_uses([chunk.memory for chunk in page])
    return {
        "document": document_view(row),
        "chunks": [
            {**memory_view(chunk), "ordinal": place, "uses": uses.get(chunk.memory, 0)}
            for place, chunk in enumerate(page, after)
        ],
        "count": len(chunks),
        "more": after + limit < len(chunks),
    }


@blueprint.delete("/<id('d'):document>")
def remove(document: str) -> dict[str, Any]:
    """Take a document out of the indexes. Its text stays in the ledger for replay."""
    reason = read_json({}, {"reason": str})["reason"]
    service().library.remove(document, reason or "removed by hand")
    return index()


def _check_size(limit: int) -> None:
    """Refuse an upload by its announced length, before any of it is read."""
    request.max_content_length = limit + FORM_ROOM
    size = request.content_length or 0
    if size > limit + FORM_ROOM:
        raise RequestError(413, "too_large", strings.UPLOAD_TOO_LARGE.format(size=size, limit=limit), "file")


def _file() -> FileStorage:
    files = request.files.getlist("file")
    if not files:
        raise RequestError(400, "input", strings.NO_FILE, "file")
    if len(files) > 1:
        raise RequestError(400, "input", strings.MANY_FILES.format(count=len(files)), "file")
    return files[0]
