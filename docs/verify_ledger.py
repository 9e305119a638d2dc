"""Verify ARPM ledgers, checkpoints and proofs without ARPM.

    python3 verify_ledger.py logs
    python3 verify_ledger.py logs/t-0123456789ab/ledger.jsonl --checkpoint FILE --public-key ed25519:...
    python3 verify_ledger.py --proof FILE --public-key ed25519:...

Written from docs/log-format.md alone: imports nothing of the project, only the standard library, and `cryptography`
where a signature is to be checked. Names the first thing that disagrees and everything after it.

Exit code 0: all of it holds. 1: something disagrees, or a last line is unfinished. 2: nothing disagrees, but something
could not be read or checked.

It does not hold bodies against the JSON Schemas of docs/schema; of these it only takes which kinds there are.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import sys
from datetime import datetime
from decimal import Decimal
from pathlib import Path

GENESIS = "sha256:" + "0" * 64
DIGEST = "sha256:[0-9a-f]{64}"
MEMBERS = {
    "schema": "urn:arpm:schema:[a-z_]+:[1-9][0-9]*",
    "id": "[A-Za-z0-9_.:-]{1,128}",
    "kind": "[a-z_]+",
    "timeline": "(?s:.{1,200})",
    "at": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.]\d{1,6})?[+-]\d\d:\d\d",
    "body_digest": DIGEST,
    "prev": DIGEST,
    "hash": DIGEST,
}
SCHEMAS = sorted((Path(__file__).resolve().parent / "schema").glob("*.v*.json"))
KNOWN = {"urn:arpm:schema:" + path.stem.replace(".v", ":") for path in SCHEMAS}


# -- canonical JSON (RFC 8785) ----------------------------------------------------------------------------------------


def canonical(value: object) -> bytes:
    """The one spelling of a value. Raises ValueError for what has none."""
    return _written(value).encode("utf-8")


def _written(value: object) -> str:
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{_written(name)}:{_written(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**53:
        raise ValueError("an integer that JSON does not keep exactly")
    return _number(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    """A number as ECMAScript writes it: the shortest digits, with an exponent only beyond 1e21 and below 1e-6."""
    if value == 0:
        return "0"
    if not math.isfinite(value):
        raise ValueError("not a finite number")
    _, figures, exponent = Decimal(repr(abs(value))).as_tuple()
    point = len(figures) + exponent
    digits = "".join(map(str, figures)).rstrip("0")
    sign = "-" if value < 0 else ""
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    fraction = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


# -- one line ---------------------------------------------------------------------------------------------------------


def check_line(line: bytes) -> tuple[dict | None, object, tuple[str, str] | None]:
    """The envelope (None if it cannot be relied on), the body, and what is wrong with the line by itself.

    In canonical form `body` comes second, only short members follow `body_digest`, and a quote inside a string is
    escaped. So the body lies between the first `,"body":` and the last `,"body_digest":`, and is checked apart.
    """
    start, end = line.find(b',"body":'), line.rfind(b',"body_digest":')
    if not 0 <= start < end:
        return None, None, ("damaged", "it is not an event")
    around, raw = line[:start] + line[end:], line[start + len(b',"body":') : end]
    try:
        envelope = json.loads(around)
        spelt = isinstance(envelope, dict) and canonical(envelope) == around
    except (ValueError, RecursionError):
        spelt = False
    if not spelt:
        return None, None, ("damaged", "its envelope is not canonical JSON")
    if envelope.get("hash") != sha256(canonical({name: envelope[name] for name in envelope if name != "hash"})):
        return None, None, ("damaged", "its hash is not the hash of its envelope")
    texts = all(isinstance(envelope.get(name), str) for name in ("id", "timeline"))
    if type(envelope.get("seq")) is not int or not texts or not _follows(envelope, "prev"):
        return None, None, ("schema", "its envelope does not follow its schema")
    if raw != b"null" and envelope.get("body_digest") != sha256(raw):
        return envelope, None, ("body", "its body does not match its body_digest")
    try:
        body = json.loads(raw)
        if canonical(body) != raw:
            raise ValueError
    except (ValueError, RecursionError):
        return envelope, None, ("body", "its body is not in canonical form")
    return envelope, body, _schema_problem(envelope, body)


def _schema_problem(envelope: dict, body: object) -> tuple[str, str] | None:
    if KNOWN and envelope.get("schema") not in KNOWN:
        return "unknown", f"it follows {envelope.get('schema')!r}, which is not in docs/schema"
    shape = set(envelope) == {*MEMBERS, "seq", "session"} and all(_follows(envelope, name) for name in MEMBERS)
    if not shape or envelope["seq"] < 1 or not _is_session(envelope["session"]) or not isinstance(body, dict | None):
        return "schema", "its envelope does not follow its schema"
    if envelope["schema"].split(":")[3] != envelope["kind"]:
        return "unknown", "its kind is not the one of its schema"
    try:
        datetime.fromisoformat(envelope["at"])
    except ValueError:
        return "schema", "its time is no date and time"
    if envelope["kind"] == "memory_erased" and body is not None and not isinstance(body.get("events"), list):
        return "schema", "it is a receipt that names no events"
    return None


def _follows(envelope: dict, name: str) -> bool:
    value = envelope.get(name)
    return isinstance(value, str) and re.fullmatch(MEMBERS[name], value) is not None


def _is_session(value: object) -> bool:
    return value is None or (isinstance(value, str) and 1 <= len(value) <= 200)


# -- a ledger ---------------------------------------------------------------------------------------------------------


class Ledger:
    """A ledger read to its end, whatever is wrong with it. `findings` are (line, byte, event, kind, text)."""

    def __init__(self, path: Path) -> None:
        self.path, self.timeline, self.hashes, self.findings = path, None, [], []
        self._ids, self._receipts, self._erased, self._whole = {}, {}, {}, {}
        self._due, self._prev, self._readable, offset = 1, GENESIS, True, 0
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                if raw.endswith(b"\n"):
                    self._take(number, offset, raw[:-1])
                else:
                    self._readable = False
                    text = f"the last {len(raw)} bytes are an unfinished line, as a crash leaves it"
                    self.findings.append((number, offset, None, "torn", text))
                offset += len(raw)
        if self._readable:
            self._hold_against_receipts()
        self.findings.sort(key=lambda finding: finding[0])

    def _take(self, number: int, offset: int, line: bytes) -> None:
        envelope, body, problem = check_line(line)
        found = [problem] if problem else []
        self._readable = self._readable and not problem
        if envelope is None:
            # What a damaged line says is not relied on: the next one is only held against the count.
            self._due, self._prev = self._due + 1, None
            self.hashes.append(None)
        else:
            found += self._links(number, envelope)
            self._due, self._prev = envelope["seq"] + 1, envelope["hash"]
            self.hashes.append(envelope["hash"])
            event = envelope["id"]
            if not problem:
                (self._erased if body is None else self._whole).setdefault(event, (number, offset, event))
            if isinstance(body, dict) and envelope.get("kind") == "memory_erased" and not problem:
                self._receipts.update({str(erased): number for erased in body["events"]})
        name = envelope["id"] if envelope else None
        self.findings += [(number, offset, name, kind, text) for kind, text in found]

    def _links(self, number: int, envelope: dict) -> list[tuple[str, str]]:
        found = []
        self.timeline = self.timeline or envelope["timeline"]
        if envelope["seq"] != self._due:
            found.append(("sequence", f"its seq is {envelope['seq']} where {self._due} is due"))
        if self._prev not in (None, envelope["prev"]):
            found.append(("link", f"its prev is not the hash of event {self._due - 1}"))
        if envelope["timeline"] != self.timeline:
            found.append(("timeline", f"it belongs to another timeline than {self.timeline!r}"))
        if self._ids.setdefault(envelope["id"], number) != number:
            found.append(("duplicate", f"its id is that of line {self._ids[envelope['id']]}"))
        return found

    def _hold_against_receipts(self) -> None:
        """Only where every line can be read: otherwise the receipt of an erasure may be the line that cannot."""
        for event, place in self._erased.items():
            if self._receipts.get(event, 0) <= place[0]:
                text = "its body is missing, and no receipt of an erasure names it"
                self.findings.append((*place, "erasure", text))
        for event in self._receipts.keys() & self._whole.keys():
            text = f"its body is still there although line {self._receipts[event]} says that it was erased"
            self.findings.append((*self._whole[event], "erasure", text))


# -- checkpoints and proofs -------------------------------------------------------------------------------------------


def leaf_hash(leaf: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def split(size: int) -> int:
    """The largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def root(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1."""
    if len(leaves) < 2:
        return leaf_hash(leaves[0]) if leaves else hashlib.sha256(b"").digest()
    k = split(len(leaves))
    return node_hash(root(leaves[:k]), root(leaves[k:]))


def root_by_path(leaf: bytes, index: int, size: int, path: list[bytes]) -> bytes:
    """The root that an inclusion proof leads to. Raises ValueError for a path of the wrong length."""
    if not 0 <= index < size or (size == 1) != (not path):
        raise ValueError("the path has the wrong length")
    if size == 1:
        return leaf_hash(leaf)
    k, sibling = split(size), path[-1]
    if index < k:
        return node_hash(root_by_path(leaf, index, k, path[:-1]), sibling)
    return node_hash(sibling, root_by_path(leaf, index - k, size - k, path[:-1]))


def roots_by_path(old: bytes | None, m: int, n: int, path: list[bytes]) -> tuple[bytes, bytes]:
    """Both roots that a consistency proof leads to. `old` is the old root as long as it is a subtree itself."""
    if m == n:
        if len(path) != (old is None):
            raise ValueError("the path has the wrong length")
        shared = path[0] if old is None else old
        return shared, shared
    if not path or not 0 < m < n:
        raise ValueError("the path has the wrong length")
    k, sibling = split(n), path[-1]
    if m <= k:
        before, after = roots_by_path(old, m, k, path[:-1])
        return before, node_hash(after, sibling)
    before, after = roots_by_path(None, m - k, n - k, path[:-1])
    return node_hash(sibling, before), node_hash(sibling, after)


class UncheckedError(Exception):
    """Something could not be read or checked."""


def signature_problems(document: dict, public_key: str | None) -> list[str]:
    """What is wrong with the signature of a checkpoint. Raises UncheckedError."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError as error:
        raise UncheckedError("no signature was checked: that needs the Python package cryptography") from error
    stated = document["public_key"].removeprefix("ed25519:")
    if public_key is not None and public_key.removeprefix("ed25519:").lower() != stated:
        return [f"the checkpoint was signed with another key, ed25519:{stated}"]
    key = bytes.fromhex(stated)
    if document["checkpoint"]["key"] != sha256(key):
        return ["the checkpoint names another key than the one in its file"]
    try:
        signed = canonical(document["checkpoint"])
        Ed25519PublicKey.from_public_bytes(key).verify(bytes.fromhex(document["signature"]), signed)
    except InvalidSignature:
        return ["the signature of the checkpoint is wrong"]
    return []


def against(document: dict, ledger: Ledger, public_key: str | None) -> list[str]:
    """What disagrees between a checkpoint and a ledger."""
    problems = signature_problems(document, public_key)
    if problems:
        return problems
    saved, hashes = document["checkpoint"], ledger.hashes
    said = f"the checkpoint of {saved['at']} says that event {saved['seq']} has the hash {saved['hash']}"
    if len(hashes) < saved["seq"]:
        return [f"{said}, but the ledger ends after event {len(hashes)}: it was cut short"]
    before = hashes[: saved["seq"]]
    if None in before:
        return [f"{said}, which cannot be compared: line {before.index(None) + 1} cannot be relied on"]
    if before[-1:] != [saved["hash"]]:
        return [f"{said}, but it has another: it or an event before it was rewritten"]
    if root([_raw(hash) for hash in before]) != _raw(saved["root"]):
        return [f"{said}, and it is there, but the events up to it have another Merkle root"]
    return []


def proof_problems(proof: dict, public_key: str | None) -> list[str]:
    """What is wrong with an inclusion or consistency proof; it needs no ledger."""
    path = [_raw(item) for item in proof["path"]]
    if proof["format"] == "urn:arpm:inclusion-proof:1":
        problems = signature_problems(proof["checkpoint"], public_key)
        saved, envelope = proof["checkpoint"]["checkpoint"], proof["envelope"]
        leaf = _raw(sha256(canonical(envelope)))
        try:
            holds = root_by_path(leaf, envelope["seq"] - 1, saved["seq"], path) == _raw(saved["root"])
        except ValueError:
            holds = False
        same = envelope["timeline"] == saved["timeline"]
    elif proof["format"] == "urn:arpm:consistency-proof:1":
        problems = [text for name in ("old", "new") for text in signature_problems(proof[name], public_key)]
        old, new = proof["old"]["checkpoint"], proof["new"]["checkpoint"]
        roots = _raw(old["root"]), _raw(new["root"])
        try:
            holds = roots_by_path(roots[0], old["seq"], new["seq"], path) == roots
        except ValueError:
            holds = False
        same = old["timeline"] == new["timeline"]
    else:
        raise UncheckedError(f"a proof of the unknown format {proof['format']!r}")
    return problems + ["it is of two timelines"] * (not same) + ["the path does not lead to the root"] * (not holds)


def _raw(text: str) -> bytes:
    raw = bytes.fromhex(text.removeprefix("sha256:"))
    if len(raw) != 32:
        raise ValueError("a hash has 64 digits")
    return raw


# -- the command ------------------------------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> int:
    """Check what was named, print what was found, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ledgers", nargs="*", type=Path, metavar="LEDGER", help="a ledger.jsonl, or a logs folder")
    parser.add_argument(
        "--checkpoint", action="append", default=[], type=Path, help="hold its ledger against this file"
    )
    parser.add_argument("--proof", action="append", default=[], type=Path, help="check a proof by itself")
    parser.add_argument("--public-key", help="the key that must have signed; without it the one in the file is taken")
    options = parser.parse_args(arguments)
    if not options.ledgers and not options.proof:
        parser.error("name a ledger, a logs folder, or a --proof")
    codes, timelines = set(), {}
    for path in [found for given in options.ledgers for found in _ledgers(given)]:
        codes.add(_tell(path, lambda path=path: _ledger_problems(path, timelines)))
    for file in options.checkpoint:
        codes.add(_tell(file, lambda file=file: _checkpoint_problems(_json(file), timelines, options.public_key)))
    for file in options.proof:
        codes.add(_tell(file, lambda file=file: proof_problems(_json(file), options.public_key)))
    if (options.checkpoint or options.proof) and options.public_key is None:
        print("without --public-key a signature shows that a file is whole, not who made it")
    return 1 if 1 in codes else max(codes, default=2)


def _ledgers(path: Path) -> list[Path]:
    """A ledger file as it is; of a folder its ledger, or those of the folders in it."""
    if not path.is_dir() or (path / "ledger.jsonl").exists():
        return [path / "ledger.jsonl" if path.is_dir() else path]
    return sorted(path.glob("*/ledger.jsonl")) or [path / "ledger.jsonl"]


def _ledger_problems(path: Path, timelines: dict[str | None, list[Ledger]]) -> list[str]:
    ledger = Ledger(path)
    twins = timelines.setdefault(ledger.timeline, [])
    problems = [f"{twin.path} claims the same timeline {ledger.timeline!r}" for twin in twins if ledger.timeline]
    twins.append(ledger)
    for line, offset, event, _, text in ledger.findings:
        problems.append(f"line {line} (byte {offset}){f', event {event}' if event else ''}: {text}")
    return problems


def _checkpoint_problems(document: dict, timelines: dict, public_key: str | None) -> list[str]:
    ledgers = timelines.get(document["checkpoint"]["timeline"])
    if not ledgers:
        raise UncheckedError(f"no ledger of the timeline {document['checkpoint']['timeline']!r} was given")
    return [text for ledger in ledgers for text in against(document, ledger, public_key)]


def _json(path: Path) -> dict:
    document = json.loads(path.read_bytes())
    if not isinstance(document, dict):
        raise UncheckedError("it is neither a checkpoint nor a proof")
    return document


def _tell(path: Path, check: object) -> int:
    """Run a check, print what it found, and return its exit code."""
    try:
        problems = check()
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        print(f"{path}: it is neither a ledger nor a checkpoint nor a proof ({type(error).__name__}: {error})")
        return 2
    except (OSError, UncheckedError) as error:
        print(f"{path}: {getattr(error, 'strerror', None) or error}")
        return 2
    for problem in problems:
        print(f"{path}: {problem}")
    if not problems:
        print(f"{path}: good")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
