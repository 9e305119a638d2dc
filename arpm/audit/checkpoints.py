"""The checkpoints of a logs folder: signing ledgers into files, finding those files again, and proofs about events.

What `arpm checkpoint` and the audit page do, each in its own words. The form of a checkpoint and what it proves are in
`arpm.audit.checkpoint`. Reads the logs folder without a lock and writes checkpoint files only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from arpm.audit.chain import Chain, read_chain
from arpm.audit.checkpoint import (
    CONSISTENCY_FORMAT,
    INCLUSION_FORMAT,
    SignedCheckpoint,
    against,
    consistency,
    from_document,
    inclusion,
    load,
    proof_problems,
    sign,
    write_new,
)
from arpm.catalogue import KNOWLEDGE
from arpm.errors import ArpmError, InputError, NotFoundError
from arpm.ids import is_id
from arpm.ledger import LEDGER_NAME

# Ledger, place and time, as `write_checkpoint` names a file.
FILE_NAME = re.compile(r"(?P<ledger>knowledge|t-[0-9a-f]{12})-(?P<seq>\d{6,12})-(?P<at>\d{8}T\d{6})(?:-\d{1,6})?\.json")

HeldKind = Literal["checkpoint", "inclusion", "consistency"]


@dataclass(frozen=True, slots=True)
class WrittenCheckpoint:
    """A checkpoint and the file it was written to."""

    file: Path
    checkpoint: SignedCheckpoint


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """A checkpoint file that is there; `problem` says why it cannot be read."""

    file: Path
    checkpoint: SignedCheckpoint | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class Unsigned:
    """A ledger that could not be signed, and why."""

    ledger: str
    error: str


@dataclass(frozen=True, slots=True)
class Held:
    """What a checkpoint or proof comes to. `problems` are why it does not hold; `events` is the ledger's size now, None
    for a proof, which needs no ledger. `event` is the event that an inclusion proof is about."""

    kind: HeldKind
    checkpoint: SignedCheckpoint
    problems: tuple[str, ...]
    events: int | None = None
    event: str | None = None


def ledger_names(logs: Path) -> list[str]:
    """The ledgers of a logs folder, by name. Raises NotFoundError when there is no such folder."""
    if not logs.is_dir():
        raise NotFoundError(f"There is no logs folder {logs}.")
    return sorted(
        folder.name for folder in logs.iterdir() if _is_ledger(folder.name) and (folder / LEDGER_NAME).exists()
    )


def chain_of(logs: Path, name: str) -> Chain:
    """A ledger, read and checked. Raises NotFoundError."""
    if not _is_ledger(name) or not (logs / name / LEDGER_NAME).exists():
        raise NotFoundError(f"there is no ledger {name!r} in {logs}; `arpm timelines` lists those there are")
    return read_chain(logs / name / LEDGER_NAME, name)


def sign_ledgers(
    logs: Path,
    names: Iterable[str],
    out: Path,
    key: Ed25519PrivateKey,
    now: Callable[[], datetime],
    *,
    tolerate_empty: bool,
) -> tuple[list[WrittenCheckpoint], list[Unsigned]]:
    """Sign each ledger into a file of its own; one that cannot be signed does not keep the others from it.

    With `tolerate_empty` a ledger without an event is passed over.
    """
    written: list[WrittenCheckpoint] = []
    failed: list[Unsigned] = []
    for name in names:
        try:
            chain = chain_of(logs, name)
            if tolerate_empty and not chain.hashes and not chain.damaged:
                continue
            signed = sign(chain, key, now())
            written.append(WrittenCheckpoint(write_checkpoint(out, signed, now()), signed))
        except ArpmError as error:
            failed.append(Unsigned(name, str(error)))
    return written, failed


def write_checkpoint(out: Path, signed: SignedCheckpoint, at: datetime) -> Path:
    """Write a checkpoint to a file of its own; no earlier one is ever replaced. Raises InputError."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        stem, number = f"{signed.timeline}-{signed.seq:06}-{at.astimezone(UTC):%Y%m%dT%H%M%S}", 1
        path = out / f"{stem}.json"
        while not write_new(path, signed.encoded()):
            number += 1
            path = out / f"{stem}-{number}.json"
    except OSError as error:
        raise InputError(f"no checkpoint can be written to {out}: {error.strerror or error}") from error
    return path


def saved_checkpoints(folder: Path) -> Iterator[SavedCheckpoint]:
    """The checkpoint files of a folder by the times in their names, newest first, each read when it is asked for."""
    names = [(found["at"], path) for path in _files(folder) if (found := FILE_NAME.fullmatch(path.name))]
    for _, path in sorted(names, key=lambda pair: (pair[0], pair[1].name), reverse=True):
        try:
            yield SavedCheckpoint(path, load(path), None)
        except ArpmError as error:
            yield SavedCheckpoint(path, None, str(error))


def prove_inclusion(
    logs: Path,
    names: Sequence[str],
    event: str,
    key: Ed25519PrivateKey,
    at: datetime,
    passed_over: Callable[[Chain], None] = lambda chain: None,
) -> dict[str, Any]:
    """A proof that an event is in one of the ledgers named, or in any; with the checkpoint that it rests on.

    A damaged or empty ledger is an error where it was named, and `passed_over` where all are searched.
    Raises NotFoundError and InputError.
    """
    for name in names or ledger_names(logs):
        chain = chain_of(logs, name)
        try:
            return inclusion(chain, event, sign(chain, key, at))
        except NotFoundError:
            continue
        except InputError:
            if names:
                raise
            passed_over(chain)
    raise NotFoundError(f"No ledger{' of those named' if names else ''} has an event {event!r}.")


def prove_consistency(logs: Path, old: SignedCheckpoint, key: Ed25519PrivateKey, at: datetime) -> dict[str, Any]:
    """A proof that a ledger still begins with all that an old checkpoint holds. Raises NotFoundError and InputError."""
    chain = chain_of(logs, old.timeline)
    return consistency(old, chain, sign(chain, key, at))


def held(logs: Path, document: Any, place: str, public_key: bytes | None = None) -> Held:
    """Hold a checkpoint against its ledger as it is now, or check a proof by itself.

    `document` is the JSON of the file that `place` names. Raises InputError for what is neither, or a checkpoint of a
    ledger that is not here.
    """
    kind = document.get("format") if isinstance(document, dict) else None
    if kind == INCLUSION_FORMAT:
        checkpoint = from_document(document.get("checkpoint"), f"{place}: the proof's checkpoint")
        problems = tuple(proof_problems(document, public_key))
        return Held("inclusion", checkpoint, problems, event=str(document["envelope"].get("id")))
    if kind == CONSISTENCY_FORMAT:
        checkpoint = from_document(document.get("new"), f"{place}: the proof's new checkpoint")
        return Held("consistency", checkpoint, tuple(proof_problems(document, public_key)))
    checkpoint = from_document(document, place)
    if not _is_ledger(checkpoint.timeline) or not (logs / checkpoint.timeline / LEDGER_NAME).exists():
        raise InputError(f"{place} is a checkpoint of {checkpoint.timeline!r}, and that ledger is not here.")
    chain = chain_of(logs, checkpoint.timeline)
    found = tuple(finding.text for finding in against(checkpoint, chain, public_key))
    return Held("checkpoint", checkpoint, found, len(chain.hashes))


def _files(folder: Path) -> list[Path]:
    return list(folder.glob("*.json")) if folder.is_dir() else []


def _is_ledger(name: str) -> bool:
    return name == KNOWLEDGE or is_id(name, "t")
