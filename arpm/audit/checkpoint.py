"""Signed checkpoints: what a ledger held at a time, in a form that its writer cannot take back.

Closes the gap that docs/log-format.md names: a ledger that was cut short or rewritten as a whole is a valid ledger, and
shows only against a checkpoint that was kept elsewhere. A checkpoint holds the last event's place and hash and the
Merkle root over all event hashes, signed with Ed25519. Erasing bodies changes none of these (only the size in bytes,
which is told and never compared). Proofs about single events can be checked without the log. Knows nothing about
turns, and nothing about where checkpoints are kept.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from arpm.audit import merkle
from arpm.audit.chain import Chain, Finding, FindingKind
from arpm.canonical import NotCanonicalError, canonical, digest
from arpm.errors import InputError, NotFoundError

FORMAT = "urn:arpm:checkpoint:1"
INCLUSION_FORMAT = "urn:arpm:inclusion-proof:1"
CONSISTENCY_FORMAT = "urn:arpm:consistency-proof:1"
_KEY_PREFIX = "ed25519:"
_SIGNED = {"format": str, "timeline": str, "seq": int, "hash": str, "size": int, "root": str, "at": str, "key": str}
# A proof of a ledger with 2**64 events takes some 9 KB.
LARGEST_FILE = 1 << 20


@dataclass(frozen=True, slots=True)
class SignedCheckpoint:
    """A checkpoint file. The signature covers everything above `public_key`; `key` is the digest of the public key.

    `root` is the Merkle root over the hashes of the events 1 to `seq`; `size` the ledger's bytes at that time.
    """

    timeline: str
    seq: int
    hash: str
    size: int
    root: str
    at: str
    key: str
    public_key: bytes
    signature: bytes

    def signed(self) -> dict[str, Any]:
        """What the signature covers, as canonical JSON."""
        return {"format": FORMAT, **{name: getattr(self, name) for name in _SIGNED if name != "format"}}

    def document(self) -> dict[str, Any]:
        """The checkpoint as plain JSON."""
        return {
            "checkpoint": self.signed(),
            "public_key": public_key_text(self.public_key),
            "signature": self.signature.hex(),
        }

    def encoded(self) -> bytes:
        """The content of a checkpoint file."""
        return canonical(self.document()) + b"\n"


# -- making and reading -----------------------------------------------------------------------------------------------


def sign(chain: Chain, key: Ed25519PrivateKey, at: datetime) -> SignedCheckpoint:
    """A checkpoint of a ledger as it is now. Raises InputError for one that is damaged or empty.

    An unfinished last line is left out: it never counted.
    """
    if chain.damaged:
        raise InputError(f"{chain.path} is not signed, since it is damaged: {chain.first}")
    if chain.timeline is None:
        raise InputError(f"{chain.path} holds no event yet, so there is nothing to sign")
    public = key.public_key().public_bytes_raw()
    unsigned = SignedCheckpoint(
        timeline=chain.timeline,
        seq=chain.tip.seq,
        hash=chain.tip.hash,
        size=chain.tip.size,
        root=_text(merkle.root(leaves(chain))),
        at=at.isoformat(),
        key=digest(public),
        public_key=public,
        signature=b"",
    )
    return _replaced_signature(unsigned, key.sign(canonical(unsigned.signed())))


def load(path: Path) -> SignedCheckpoint:
    """Read a checkpoint file; its signature is not checked yet. Raises NotFoundError and InputError."""
    return from_document(read_document(path), str(path))


def read_document(path: Path) -> Any:
    """The JSON of a checkpoint or proof file. Raises NotFoundError and InputError."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no file {path}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    return parse_document(data, str(path))


def parse_document(data: bytes | str, place: str) -> Any:
    """The JSON of a checkpoint or proof, from the content of the file that `place` names. Raises InputError."""
    if len(data) > LARGEST_FILE:
        raise InputError(f"{place} is no checkpoint: it is larger than {LARGEST_FILE:,} bytes")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is no checkpoint: it is not JSON") from error


def from_document(document: Any, place: str) -> SignedCheckpoint:
    """A checkpoint from plain JSON, as `SignedCheckpoint.document` gives it. Raises InputError naming `place`."""
    signed = document.get("checkpoint") if isinstance(document, dict) else None
    if not isinstance(signed, dict) or set(signed) != set(_SIGNED) or signed["format"] != FORMAT:
        raise InputError(f"{place} is no checkpoint, or one of another version; this version reads {FORMAT}")
    for name, kind in _SIGNED.items():
        if type(signed[name]) is not kind:
            raise InputError(f"{place}: {name} is no {'number' if kind is int else 'text'}")
    public_key = parse_public_key(document.get("public_key"), f"{place}: public_key")
    signature = _bytes(document.get("signature"), 64, f"{place}: signature")
    values = {name: value for name, value in signed.items() if name != "format"}
    return SignedCheckpoint(**values, public_key=public_key, signature=signature)


def _replaced_signature(checkpoint: SignedCheckpoint, signature: bytes) -> SignedCheckpoint:
    values = {name: getattr(checkpoint, name) for name in _SIGNED if name != "format"}
    return SignedCheckpoint(**values, public_key=checkpoint.public_key, signature=signature)


# -- comparing --------------------------------------------------------------------------------------------------------


def against(checkpoint: SignedCheckpoint, chain: Chain, public_key: bytes | None = None) -> tuple[Finding, ...]:
    """What disagrees between a checkpoint and the ledger as it is now; nothing if the ledger still holds it.

    Without `public_key` the signature is checked with the key in the file, which shows that the file is whole and not
    who made it. Later events and erased bodies are no disagreement.
    """
    wrong = signature_problem(checkpoint, public_key)
    if wrong:
        return (_finding("signature", 0, 0, wrong),)
    if chain.timeline is not None and checkpoint.timeline != chain.timeline:
        text = f"the checkpoint is of the timeline {checkpoint.timeline!r}, the ledger of {chain.timeline!r}"
        return (_finding("timeline", 0, 0, text),)
    if checkpoint.hash not in chain.hashes:
        return (_missing(checkpoint, chain),)
    line = chain.hashes.index(checkpoint.hash) + 1
    before = chain.hashes[:line]
    if line != checkpoint.seq or None in before:
        text = f"{_said(checkpoint)}, and it is there, but events before it are damaged, missing or too many"
        return (_finding("unprovable", line, _offset(chain, checkpoint.hash), text),)
    if _text(merkle.root(leaves(chain)[:line])) != checkpoint.root:
        text = f"{_said(checkpoint)}, and it is there, but the events up to it have another Merkle root"
        return (_finding("rewritten", line, _offset(chain, checkpoint.hash), text),)
    return ()


def signature_problem(checkpoint: SignedCheckpoint, public_key: bytes | None = None) -> str | None:
    """Why a checkpoint's signature cannot be relied on; None when it can."""
    if public_key is not None and public_key != checkpoint.public_key:
        return (
            f"the checkpoint was signed with the key {public_key_text(checkpoint.public_key)}, "
            f"not with {public_key_text(public_key)}"
        )
    if checkpoint.key != digest(checkpoint.public_key):
        return "the checkpoint names another key than the one in its file"
    try:
        Ed25519PublicKey.from_public_bytes(checkpoint.public_key).verify(
            checkpoint.signature, canonical(checkpoint.signed())
        )
    except (InvalidSignature, NotCanonicalError, ValueError):
        return "the signature of the checkpoint is wrong: the file was changed, or another key signed it"
    return None


def leaves(chain: Chain) -> list[bytes]:
    """The leaves of the Merkle tree: the raw bytes of each event's hash, up to a line that cannot be relied on."""
    return [_raw(hash) for hash in takewhile(lambda hash: hash is not None, chain.hashes) if hash is not None]


def _missing(checkpoint: SignedCheckpoint, chain: Chain) -> Finding:
    """The checkpoint's event is not there: cut off, behind damage, or another one."""
    count = len(chain.hashes)
    if count < checkpoint.seq:
        text = f"{_said(checkpoint)}, but the ledger ends after event {count}: it was cut short"
        return _finding("truncated", count + 1, chain.tip.size, text)
    found = chain.hashes[checkpoint.seq - 1] if checkpoint.seq > 0 else None
    if found is None:
        text = f"{_said(checkpoint)}, but line {checkpoint.seq} cannot be relied on"
        return _finding("unprovable", max(checkpoint.seq, 0), 0, text)
    text = f"{_said(checkpoint)}, but it has the hash {found}: it or an event before it was rewritten"
    return _finding("rewritten", checkpoint.seq, _offset(chain, found), text)


def _said(checkpoint: SignedCheckpoint) -> str:
    return f"the checkpoint of {checkpoint.at} says that event {checkpoint.seq} has the hash {checkpoint.hash}"


def _offset(chain: Chain, hash: str) -> int:
    return next((place.offset for place in chain.good if place.hash == hash), 0)


def _finding(kind: FindingKind, line: int, offset: int, text: str) -> Finding:
    return Finding(line, line, offset, None, kind, text)


# -- proofs -----------------------------------------------------------------------------------------------------------


def inclusion(chain: Chain, event: str, checkpoint: SignedCheckpoint) -> dict[str, Any]:
    """A proof that the ledger of `checkpoint`, made of this `chain`, holds the event. Tells nothing of its body.

    Raises NotFoundError.
    """
    for line, _ in chain.lines():
        if line.envelope["id"] == event:
            index = line.envelope["seq"] - 1
            path = merkle.inclusion_proof(leaves(chain)[: checkpoint.seq], index)
            envelope = {name: value for name, value in line.envelope.items() if name != "hash"}
            return {
                "format": INCLUSION_FORMAT,
                "envelope": envelope,
                "path": list(map(_text, path)),
                "checkpoint": checkpoint.document(),
            }
    raise NotFoundError(f"{chain.path} has no event {event!r}")


def consistency(old: SignedCheckpoint, chain: Chain, new: SignedCheckpoint) -> dict[str, Any]:
    """A proof that the ledger of `new`, made of this `chain`, begins with the whole ledger of `old`.

    Raises InputError when it does not, naming what disagrees.
    """
    found = against(old, chain)
    if found:
        raise InputError(f"There is no such proof: {found[0]}")
    path = merkle.consistency_proof(leaves(chain)[: new.seq], old.seq)
    return {
        "format": CONSISTENCY_FORMAT,
        "old": old.document(),
        "new": new.document(),
        "path": list(map(_text, path)),
    }


def proof_problems(document: Any, public_key: bytes | None = None) -> list[str]:
    """Why a proof does not hold; nothing if it does. Needs no log. Raises InputError for what is no proof."""
    kind = document.get("format") if isinstance(document, dict) else None
    if kind == INCLUSION_FORMAT:
        return _inclusion_problems(document, public_key)
    if kind == CONSISTENCY_FORMAT:
        return _consistency_problems(document, public_key)
    raise InputError(f"it is no proof, or one of another version; this version reads {INCLUSION_FORMAT}")


def _inclusion_problems(document: Mapping[str, Any], public_key: bytes | None) -> list[str]:
    checkpoint = from_document(document.get("checkpoint"), "the proof's checkpoint")
    envelope = document.get("envelope")
    if not isinstance(envelope, dict) or type(envelope.get("seq")) is not int:
        raise InputError("the proof holds no envelope of an event")
    try:
        leaf = _raw(digest(canonical(envelope)))
    except NotCanonicalError as error:
        raise InputError(f"the proof's envelope is no event: {error}") from error
    problems = _told(signature_problem(checkpoint, public_key))
    if envelope.get("timeline") != checkpoint.timeline:
        problems.append(f"the event is not of the checkpoint's timeline {checkpoint.timeline!r}")
    path, tree = _path(document), _raw(checkpoint.root)
    if not merkle.verify_inclusion(leaf, envelope["seq"] - 1, checkpoint.seq, path, tree):
        problems.append("the path does not lead from the event to the checkpoint's root")
    return problems


def _consistency_problems(document: Mapping[str, Any], public_key: bytes | None) -> list[str]:
    old, new = (from_document(document.get(name), f"the proof's {name} checkpoint") for name in ("old", "new"))
    problems = [text for checkpoint in (old, new) for text in _told(signature_problem(checkpoint, public_key))]
    if old.timeline != new.timeline:
        problems.append(f"the checkpoints are of two timelines, {old.timeline!r} and {new.timeline!r}")
    if not merkle.verify_consistency(old.seq, _raw(old.root), new.seq, _raw(new.root), _path(document)):
        problems.append("the path does not lead from the old root to the new one")
    return problems


def _told(problem: str | None) -> list[str]:
    return [problem] if problem else []


def _path(document: Mapping[str, Any]) -> list[bytes]:
    path = document.get("path")
    if not isinstance(path, list):
        raise InputError("the proof holds no path")
    return [_raw(item) for item in path]


# -- keys -------------------------------------------------------------------------------------------------------------


def default_key() -> Path:
    """Where the signing key is kept unless the setting `key` names a file: in the user's configuration folder."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "arpm" / "checkpoint-key.pem"


def signing_key(path: Path) -> tuple[Ed25519PrivateKey, bool]:
    """The key in `path`, and whether it was made just now. A new file is readable by its owner alone.

    Raises InputError for a file that is no Ed25519 key in PEM, or that others can read.
    """
    made = not path.exists() and _make_key(path)
    try:
        with path.open("rb") as file:
            mode, data = os.fstat(file.fileno()).st_mode, file.read(LARGEST_FILE)
    except OSError as error:
        raise InputError(f"the key {path} cannot be read: {error.strerror or error}") from error
    if stat.S_IMODE(mode) & 0o077:
        raise InputError(f"others can read the key {path}, and so sign in your name. `chmod 600` it, or make a new one")
    try:
        key = serialization.load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise InputError(f"{path} is no private key in PEM without a password") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{path} is a key of another kind; checkpoints are signed with Ed25519")
    return key, made


def _make_key(path: Path) -> bool:
    """Write a new key. False when another process was quicker: its key is the one."""
    private = serialization.PrivateFormat.PKCS8
    data = Ed25519PrivateKey.generate().private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption())
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return write_new(path, data)
    except OSError as error:
        raise InputError(f"no key can be made in {path}: {error.strerror or error}") from error


def write_new(path: Path, data: bytes) -> bool:
    """Write a file that is there wholly or not at all, for its owner alone. False when there is one already."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # Unlike a rename, a link never replaces what is there.
        os.link(name, path)
    except FileExistsError:
        return False
    finally:
        Path(name).unlink()
    return True


def public_key_text(key: bytes) -> str:
    """A public key as it is printed and stored."""
    return _KEY_PREFIX + key.hex()


def parse_public_key(text: Any, place: str = "the public key") -> bytes:
    """The 32 bytes of a public key, written as `public_key_text` does, or as the 64 digits alone."""
    return _bytes(text.removeprefix(_KEY_PREFIX) if isinstance(text, str) else text, 32, place)


def _bytes(text: Any, length: int, place: str) -> bytes:
    try:
        data = bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        data = b""
    if len(data) != length:
        raise InputError(f"{place} must be {2 * length} hexadecimal digits")
    return data


def _text(raw: bytes) -> str:
    return f"sha256:{raw.hex()}"


def _raw(text: Any) -> bytes:
    return _bytes(text.removeprefix("sha256:") if isinstance(text, str) else text, 32, "a hash")
