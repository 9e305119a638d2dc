"""Checkpoints and proofs: /api/v1/audit/checkpoints, as `arpm checkpoint` and `arpm verify --checkpoint` have them.

Signs with the same key. The files lie in the folder `checkpoints` beside the server, where the command line writes too;
a person keeps copies elsewhere.
"""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from flask import Blueprint, Response

from arpm.audit.checkpoint import (
    default_key,
    from_document,
    parse_document,
    parse_public_key,
    proof_problems,
    public_key_text,
    read_document,
    signing_key,
)
from arpm.audit.checkpoints import (
    FILE_NAME,
    Held,
    SavedCheckpoint,
    WrittenCheckpoint,
    held,
    prove_consistency,
    prove_inclusion,
    saved_checkpoints,
    sign_ledgers,
)
from arpm.clock import SystemClock
from arpm.errors import ArpmError, NotFoundError
from arpm.web import strings
from arpm.web.body import names_field, query_number, read_json
from arpm.web.context import audits, service
from arpm.web.downloads import attachment
from arpm.web.errors import RequestError

PAGE = 20
LONGEST_PAGE = 100
MOST_FILES = 10**6

# What a checkpoint or a proof may be given as: a file that is there, or the content of one that a person has.
_GIVEN = {"file": str, "text": str, "public_key": str}

blueprint = Blueprint("checkpoints", __name__, url_prefix="/api/v1/audit/checkpoints")


@blueprint.get("")
def index() -> dict[str, Any]:
    """The key, and a page of the checkpoint files, newest first, after the first ?after= of them."""
    after, limit = query_number("after", 0, 0, MOST_FILES), query_number("limit", PAGE, 1, LONGEST_PAGE)
    page = list(islice(saved_checkpoints(audits().checkpoints), after, after + limit + 1))
    return {
        "folder": str(audits().checkpoints),
        "key": _key_view(),
        "checkpoints": [_saved_view(saved) for saved in page[:limit]],
        "more": len(page) > limit,
    }


@blueprint.post("")
def create() -> tuple[dict[str, Any], int]:
    """Sign what ledgers hold now, all or those named. The key is made where there is none."""
    names = names_field(read_json({}, {"ledgers": list})["ledgers"], "ledgers")
    known = audits().ledgers.names()
    for name in names:
        if name not in known:
            raise NotFoundError(f"there is no ledger {name!r}; there are {', '.join(known) or 'none'}")
    key, made = _signer()
    written, failed = sign_ledgers(
        service().logs, names or known, audits().checkpoints, key, SystemClock().now, tolerate_empty=not names
    )
    return {
        "checkpoints": [_written_view(item) for item in written],
        "errors": [asdict(item) for item in failed],
        "key": _key_view(),
        "made_key": made,
    }, 201


@blueprint.get("/<string:file>")
def download(file: str) -> Response:
    """A checkpoint file as it is."""
    path = _there(file)
    try:
        return attachment(path.read_bytes(), path.name)
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror or error}") from error


@blueprint.post("/check")
def check() -> dict[str, Any]:
    """Hold a checkpoint against its ledger as it is now, or check a proof: ?file= of those there, or its text."""
    given = read_json({}, _GIVEN)
    place, document = _document(given)
    return {"held": _held_view(held(service().logs, document, place, _public_key(given)))}


@blueprint.post("/inclusion")
def inclusion() -> dict[str, Any]:
    """A proof that an event is in its ledger, with the signed checkpoint that it rests on."""
    given = read_json({"event": str}, {"ledgers": list})
    names = names_field(given["ledgers"], "ledgers")
    key, made = _signer()
    passed_over: list[str] = []
    proof = prove_inclusion(
        service().logs,
        names,
        given["event"].strip(),
        key,
        SystemClock().now(),
        lambda chain: passed_over.append(str(chain.path)),
    )
    return {**_proof_view(proof), "not_searched": passed_over, "made_key": made}


@blueprint.post("/consistency")
def consistency() -> dict[str, Any]:
    """A proof that a ledger still begins with all that an old checkpoint holds."""
    place, document = _document(read_json({}, _GIVEN))
    old = from_document(document, place)
    key, made = _signer()
    proof = prove_consistency(service().logs, old, key, SystemClock().now())
    return {**_proof_view(proof), "not_searched": [], "made_key": made}


# -- keys and files ---------------------------------------------------------------------------------------------------


def _key_path() -> Path:
    return service().settings.key or default_key()


def _signer() -> tuple[Ed25519PrivateKey, bool]:
    """The key that signs, and whether it was made just now. Raises InputError."""
    return signing_key(_key_path())


def _key_view() -> dict[str, Any]:
    """Where the key is and what its public half is; `problem` says why it cannot sign. Makes none."""
    path = _key_path()
    row: dict[str, Any] = {"path": str(path), "there": path.exists(), "public_key": None, "problem": None}
    if row["there"]:
        try:
            row["public_key"] = public_key_text(signing_key(path)[0].public_key().public_bytes_raw())
        except ArpmError as error:
            row["problem"] = str(error)
    return row


def _there(file: str) -> Path:
    """A checkpoint file that is there. Raises NotFoundError."""
    folder = audits().checkpoints
    path = folder / file
    if not FILE_NAME.fullmatch(file) or not path.is_file():
        raise NotFoundError(strings.NO_CHECKPOINT.format(file=file[:80], folder=folder))
    return path


def _document(given: dict[str, Any]) -> tuple[str, Any]:
    """What a request gives: its name, and its JSON. Raises RequestError, NotFoundError and InputError."""
    if (given["file"] is None) == (given["text"] is None):
        raise RequestError(400, "input", strings.ONE_OF.format(names="file, text"), "body")
    if given["file"] is not None:
        path = _there(given["file"])
        return str(path), read_document(path)
    return strings.UPLOADED, parse_document(given["text"], strings.UPLOADED)


def _public_key(given: dict[str, Any]) -> bytes | None:
    text = (given["public_key"] or "").strip()
    return parse_public_key(text, "body.public_key") if text else None


# -- views ------------------------------------------------------------------------------------------------------------


def _saved_view(saved: SavedCheckpoint) -> dict[str, Any]:
    found, signed = FILE_NAME.fullmatch(saved.file.name), saved.checkpoint
    assert found is not None
    return {
        "file": saved.file.name,
        "ledger": signed.timeline if signed else found["ledger"],
        "seq": signed.seq if signed else None,
        "hash": signed.hash if signed else None,
        "root": signed.root if signed else None,
        "at": signed.at if signed else None,
        "public_key": public_key_text(signed.public_key) if signed else None,
        "problem": saved.problem,
    }


def _written_view(item: WrittenCheckpoint) -> dict[str, Any]:
    return _saved_view(SavedCheckpoint(item.file, item.checkpoint, None))


def _held_view(found: Held) -> dict[str, Any]:
    signed = found.checkpoint
    return {
        "kind": found.kind,
        "holds": not found.problems,
        "problems": list(found.problems),
        "ledger": signed.timeline,
        "seq": signed.seq,
        "hash": signed.hash,
        "root": signed.root,
        "at": signed.at,
        "public_key": public_key_text(signed.public_key),
        "own_key": _key_view()["public_key"] == public_key_text(signed.public_key),
        "events": found.events,
        "event": found.event,
    }


def _proof_view(proof: dict[str, Any]) -> dict[str, Any]:
    """A proof, checked at once without the log as whoever gets it will."""
    return {"proof": proof, "problems": proof_problems(proof), "held": _held_view(held(service().logs, proof, "proof"))}
