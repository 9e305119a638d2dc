"""What a ledger holds: the kinds of event, their validation, and one event as one line of canonical JSON.

Keeps the part of promise 2 that concerns a single line: every byte of it is covered by `hash`, by `body_digest` or by
the canonical form, and nothing is written that its kind's JSON Schema (docs/schema) does not allow. Knows nothing
about files, nor about what comes before or after a line.
"""

from __future__ import annotations

import json
import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import orjson

from arpm.canonical import NotCanonicalError, canonical, digest
from arpm.errors import ArpmError, InputError

SCHEMA_FOLDER = Path(__file__).resolve().parent.parent / "docs" / "schema"
GENESIS = "sha256:" + "0" * 64

# The version of its schema that each kind is written in.
KINDS = {
    "timeline_opened": 1,
    "timeline_renamed": 1,
    "session_opened": 1,
    "turn": 1,
    "turn_failed": 1,
    "message_compressed": 1,
    "instruction_added": 1,
    "instruction_retired": 1,
    "memory_quarantined": 1,
    "memory_released": 1,
    "memory_erased": 1,
    "review": 1,
    "feedback": 1,
    "config_changed": 1,
    "imported": 1,
    "document_added": 1,
    "document_removed": 1,
}
# The receipt of an erasure: the only kind whose body a ledger looks into, and the only one that is never erased.
RECEIPT = "memory_erased"
# What a body that was written before the member existed is read as; its digest is that of what was written.
_LATER_MEMBERS: dict[str, dict[str, Any]] = {
    kind: {"replaces": None, "clock": "system", "request_key": None} for kind in ("turn", "turn_failed")
}
_LATER_MEMBERS["turn"] |= {
    "adherence": None,
    "history": [],
    "context_tokens": None,
    "about_dialogue": False,
    "instructions_omitted": [],
}
_LATER_MEMBERS["document_added"] = {"headings": False}
_LATER_MEMBERS["instruction_added"] = {"probability": None, "reason": None, "replaces": None}
_ENVELOPE_SCHEMA = "urn:arpm:schema:event:1"
_BODY = b',"body":'
_BODY_DIGEST = b',"body_digest":'


class InvalidEventError(InputError):
    """An event that its kind's schema does not allow; nothing was written."""


class UnknownEventError(ArpmError):
    """A ledger holds an event of a kind or schema version that this version of ARPM does not know."""


class BadLineError(Exception):
    """A line is not what was once written; the text says what disagrees. The ledger adds where."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An event before it is written. `at` must be timezone-aware; without an `id` it gets a random one."""

    kind: str
    body: dict[str, Any]
    session: str | None
    at: datetime
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Sealed:
    """A draft that was validated, salted and encoded: all that does not depend on its place in a ledger."""

    draft: Draft
    id: str
    body: dict[str, Any]
    encoded: bytes
    body_digest: str


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a ledger. `body` is None once erased; `offset` and `size` are the bytes of its line in the file."""

    schema: str
    seq: int
    id: str
    kind: str
    timeline: str
    session: str | None
    at: datetime
    body: dict[str, Any] | None
    body_digest: str
    prev: str
    hash: str
    offset: int
    size: int

    @property
    def end(self) -> int:
        """The offset just after the event's line: the size of the ledger when this was its last event."""
        return self.offset + self.size


@dataclass(frozen=True, slots=True)
class Line:
    """A line whose own digests hold: the envelope's members but `body`, and the body's bytes (`null` if erased)."""

    envelope: dict[str, Any]
    body: bytes

    def event(self, offset: int, size: int) -> Event:
        """The event of this line, which takes `size` bytes at `offset`."""
        envelope = {**self.envelope, "at": datetime.fromisoformat(self.envelope["at"])}
        body = orjson.loads(self.body)
        if body is not None and envelope["kind"] in _LATER_MEMBERS:
            body = {**_LATER_MEMBERS[envelope["kind"]], **body}
        return Event(**envelope, body=body, offset=offset, size=size)


def schema_id(kind: str) -> str:
    """The `$id` of the schema that new events of `kind` follow. Raises InvalidEventError for an unknown kind."""
    if kind not in KINDS:
        raise InvalidEventError(f"there is no event kind {kind!r}; the kinds are {', '.join(sorted(KINDS))}")
    return f"urn:arpm:schema:{kind}:{KINDS[kind]}"


def seal(draft: Draft) -> Sealed:
    """Validate, salt and encode a draft. Nearly all the work of an append, and it needs no lock.

    Raises InvalidEventError (naming the member that is wrong) and NotCanonicalError (naming its path).
    """
    if draft.at.utcoffset() is None:
        raise InvalidEventError(f"a {draft.kind} event has the time {draft.at}, which has no timezone")
    if "salt" in draft.body:
        raise InvalidEventError(f"the body of a {draft.kind} event has a salt already: an event is written only once")
    body = {**draft.body, "salt": secrets.token_hex(16)}
    _validate(body, schema_id(draft.kind) + "#/$defs/body", "$.body")
    encoded = canonical(body, "$.body")
    sealed = Sealed(draft, uuid.uuid4().hex if draft.id is None else draft.id, body, encoded, digest(encoded))
    _validate({**_envelope(sealed, 1, "any", GENESIS), "hash": GENESIS, "body": None}, _ENVELOPE_SCHEMA, "$")
    return sealed


def write_line(sealed: Sealed, seq: int, timeline: str, prev: str, offset: int) -> tuple[Event, bytes]:
    """The event at place `seq` after the event whose hash is `prev`, and its line with the newline."""
    envelope = _envelope(sealed, seq, timeline, prev)
    hashed = canonical(envelope)
    envelope["hash"] = digest(hashed)
    # In canonical order `at` comes first, then `body`, `body_digest` and `hash`: so the first match is the envelope's
    # own member, and both can be put in without encoding anything again.
    before = hashed.index(_BODY_DIGEST)
    after = before + len(_BODY_DIGEST) + len(GENESIS) + 2
    own_hash = b',"hash":"' + envelope["hash"].encode() + b'"'
    line = b"".join((hashed[:before], _BODY, sealed.encoded, hashed[before:after], own_hash, hashed[after:], b"\n"))
    return Event(**{**envelope, "at": sealed.draft.at}, body=sealed.body, offset=offset, size=len(line)), line


def _envelope(sealed: Sealed, seq: int, timeline: str, prev: str) -> dict[str, Any]:
    """What `hash` covers."""
    draft = sealed.draft
    return {
        "schema": schema_id(draft.kind),
        "seq": seq,
        "id": sealed.id,
        "kind": draft.kind,
        "timeline": timeline,
        "session": draft.session,
        "at": draft.at.isoformat(),
        "body_digest": sealed.body_digest,
        "prev": prev,
    }


def read_line(line: bytes) -> Line:
    """Check one line (without its newline) by itself: canonical form, `hash`, `body_digest`, schema.

    Raises BadLineError when any byte is not as it was written, and UnknownEventError for an event that was written
    by a newer version.
    """
    read = intact_line(line)
    _check_known(read.envelope)
    if not _validator(_ENVELOPE_SCHEMA).is_valid({**read.envelope, "body": None}):
        raise BadLineError("its envelope does not follow its schema")
    try:
        # The schema knows the form of a time, not how many days a month has.
        datetime.fromisoformat(read.envelope["at"])
    except ValueError as error:
        raise BadLineError(f"its time {read.envelope['at']} is no date and time") from error
    return read


def intact_line(line: bytes) -> Line:
    """The part of `read_line` that holds for lines of any version: canonical form, `hash`, `body_digest`.

    Raises BadLineError. The envelope's members may be of any type.
    """
    envelope, body = _split(line)
    hashed = {name: value for name, value in envelope.items() if name != "hash"}
    if envelope.get("hash") != digest(canonical(hashed)):
        raise BadLineError("its hash is not the hash of its envelope")
    if body != b"null" and envelope.get("body_digest") != digest(body):
        raise BadLineError("its body does not match its body_digest")
    return Line(envelope, body)


def body_problem(line: Line) -> str | None:
    """What is wrong with the body of a line that `read_line` accepted: its spelling, or what its schema allows."""
    if line.body == b"null":
        return None
    if not is_canonical_body(line):
        return "its body is not in canonical form"
    validator = _validator(f"{line.envelope['schema']}#/$defs/body")
    body = orjson.loads(line.body)
    if validator.is_valid(body):
        return None
    error = next(iter(validator.iter_errors(body)))
    return f"its body does not follow its schema: {_place('$.body', error.instance_path)}: {_shortened(error.message)}"


def without_body(line: bytes) -> bytes:
    """A checked line with `null` for its body. Nothing else changes, so its hash and the whole chain stay."""
    start, end = _body_span(line)
    return line[:start] + b"null" + line[end:]


def named_as_erased(line: Line) -> list[str]:
    """The ids of the events whose bodies a receipt says are erased; none for any other event."""
    if line.envelope["kind"] != RECEIPT or line.body == b"null":
        return []
    return list(orjson.loads(line.body)["events"])


def is_canonical_body(line: Line) -> bool:
    """Whether the body is canonical JSON, so that a reader that parses and re-encodes it finds the same digest."""
    try:
        return canonical(orjson.loads(line.body)) == line.body
    except (orjson.JSONDecodeError, NotCanonicalError):
        return False


def _split(line: bytes) -> tuple[dict[str, Any], bytes]:
    """The envelope without its body, and the body's bytes."""
    start, end = _body_span(line)
    around = line[: start - len(_BODY)] + line[end:]
    try:
        envelope = orjson.loads(around)
        canonical_form = canonical(envelope)
    except (orjson.JSONDecodeError, NotCanonicalError) as error:
        raise BadLineError(f"it is not JSON ({error})") from error
    if canonical_form != around or not isinstance(envelope, dict):
        raise BadLineError("its envelope is not in canonical form")
    return envelope, line[start:end]


def _body_span(line: bytes) -> tuple[int, int]:
    """Where the body begins and ends.

    A quote inside a JSON string is always escaped, so the marks can only be members: the first `body` follows `at`,
    and the last `body_digest` is the envelope's, since only short strings come after it.
    """
    start, end = line.find(_BODY), line.rfind(_BODY_DIGEST)
    if not 0 <= start < end:
        raise BadLineError("it is not an event: the body is not where canonical JSON has it")
    return start + len(_BODY), end


def _check_known(envelope: dict[str, Any]) -> None:
    kind = envelope.get("kind")
    if not isinstance(kind, str) or kind not in KINDS or envelope.get("schema") != schema_id(kind):
        raise UnknownEventError(
            f"event {envelope.get('seq')} ({envelope.get('id')}) is a {kind!r} of schema {envelope.get('schema')!r}, "
            "which this version of ARPM does not know; read this ledger with a newer version"
        )


# -- validation ----------------------------------------------------------------------------------------------------
#
# By jsonschema-rs: for a turn with sixty candidates the pure Python validator takes a hundred times a durable write.


def _validate(value: Any, schema: str, path: str) -> None:
    validator = _validator(schema)
    if validator.is_valid(value):
        return
    error = next(iter(validator.iter_errors(value)))
    raise InvalidEventError(
        f"{_place(path, error.instance_path)}: {_shortened(error.message)} (rule {error.kind.name!r} of {schema}). "
        "Nothing was written"
    )


def _place(path: str, steps: Sequence[str | int]) -> str:
    return path + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _shortened(message: str) -> str:
    return message if len(message) <= 300 else f"{message[:200]} … {message[-90:]}"


@cache
def _documents() -> dict[str, dict[str, Any]]:
    """Every schema of docs/schema by its `$id`."""
    documents = (json.loads(path.read_text("utf-8")) for path in sorted(SCHEMA_FOLDER.glob("*.json")))
    return {document["$id"]: document for document in documents}


@cache
def _validator(reference: str) -> jsonschema_rs.Draft202012Validator:
    """The validator for the schema at `reference`, such as `urn:arpm:schema:turn:1#/$defs/body`."""
    registry = jsonschema_rs.Registry(list(_documents().items()))
    return jsonschema_rs.Draft202012Validator({"$ref": reference}, registry=registry)
