"""`arpm checkpoint`: sign what the ledgers hold now, and prove things about single events. Reads without a lock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arpm.cli.options import json_option
from arpm.cli.output import emit, note, say
from arpm.clock import SystemClock
from arpm.errors import ArpmError, InputError, NotFoundError
from arpm.ids import is_id
from arpm.ledger import LEDGER_NAME

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from arpm.audit.chain import Chain
    from arpm.audit.checkpoint import SignedCheckpoint

_KNOWLEDGE = "knowledge"


@click.command()
@click.argument("timelines", nargs=-1, metavar="[TIMELINE]...")
@click.option("--all", "every", is_flag=True, help="Sign every ledger of the logs folder, knowledge too.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("checkpoints"),
    show_default=True,
    help="Folder to write checkpoints to; best on another machine.",
)
@click.option(
    "--key", type=click.Path(path_type=Path, dir_okay=False), help="Key file; made on first use where it is missing."
)
@click.option("--proof", "event", metavar="EVENT", help="Print a proof that this event is in its ledger.")
@click.option(
    "--consistency",
    "old",
    metavar="OLD",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Print a proof that the ledger still begins with all that the checkpoint file OLD holds.",
)
@json_option
@click.pass_context
def checkpoint(
    ctx: click.Context,
    timelines: tuple[str, ...],
    every: bool,
    out: Path,
    key: Path | None,
    event: str | None,
    old: Path | None,
    as_json: bool,
) -> None:
    """Sign what ledgers hold now, so that nobody can cut or rewrite them unseen.

    Writes one file for each TIMELINE (an id, or `knowledge`). The service may go on meanwhile. A proof is JSON on
    stdout with the signed checkpoint that it rests on, and can be checked without the log.
    """
    if event is not None and old is not None:
        raise click.UsageError("--proof and --consistency are two commands.")
    if every and timelines:
        raise click.UsageError("Name timelines or give --all, not both.")
    settings = ctx.obj.settings()
    # Imported here: --help need not wait for the cryptography.
    from arpm.audit.checkpoint import default_key, public_key_text

    path = key or settings.key or default_key()
    if event is not None:
        emit(_inclusion(settings.logs, timelines, event, path))
        return
    if old is not None:
        emit(_consistency(settings.logs, old, path))
        return
    if not every and not timelines:
        raise click.UsageError("Name one or more timelines (or knowledge), or give --all.")
    names = list(timelines) or list(_names(settings.logs))
    if not names:
        raise NotFoundError(f"There is no ledger in {settings.logs}.")
    signer, public = _signer(path)
    written, failed = _written(settings.logs, names, out, signer, tolerate_empty=every)
    if as_json:
        emit({"public_key": public_key_text(public), "checkpoints": written, "errors": failed})
    else:
        for row in written:
            say(f"{row['file']}: {row['timeline']}, {row['seq']:,} events")
        note(f"Public key, for whoever checks: {public_key_text(public)}")
    for row in failed:
        note(f"Error: {row['error']}")
    if out.resolve().is_relative_to(settings.logs.resolve()):
        note(
            "The checkpoints lie in the logs folder: whoever can rewrite a ledger can delete them. Keep them elsewhere."
        )
    ctx.exit(1 if failed else 0)


def _written(
    logs: Path, names: Sequence[str], out: Path, signer: Ed25519PrivateKey, *, tolerate_empty: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Sign each ledger; one that cannot be signed does not keep the others from it."""
    from arpm.audit.checkpoint import sign

    written: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    for name in names:
        try:
            chain = _chain(logs, name)
            if tolerate_empty and not chain.hashes and not chain.damaged:
                continue
            signed = sign(chain, signer, SystemClock().now())
        except ArpmError as error:
            failed.append({"timeline": name, "error": str(error)})
            continue
        file = _write(out, signed)
        written.append({"timeline": name, "seq": signed.seq, "hash": signed.hash, "root": signed.root, "file": file})
    return written, failed


def _write(out: Path, signed: SignedCheckpoint) -> str:
    """Write a checkpoint to a file of its own; no earlier one is ever replaced."""
    from arpm.audit.checkpoint import write_new

    out.mkdir(parents=True, exist_ok=True)
    stamp = SystemClock().now().astimezone(UTC).strftime("%Y%m%dT%H%M%S")
    stem, number = f"{signed.timeline}-{signed.seq:06}-{stamp}", 1
    path = out / f"{stem}.json"
    while not write_new(path, signed.encoded()):
        number += 1
        path = out / f"{stem}-{number}.json"
    return str(path)


def _inclusion(logs: Path, timelines: Sequence[str], event: str, key: Path) -> dict[str, Any]:
    from arpm.audit.checkpoint import inclusion, sign

    for name in timelines or _names(logs):
        chain = _chain(logs, name)
        try:
            signed = sign(chain, _signer(key)[0], SystemClock().now())
            return inclusion(chain, event, signed)
        except NotFoundError:
            continue
        except InputError:
            # One that is damaged or empty: an error where it was named, passed over where all are searched.
            if timelines:
                raise
            note(f"Not searched: {chain.path} is {'damaged' if chain.damaged else 'empty'}.")
    raise NotFoundError(f"No ledger{' of those named' if timelines else ''} has an event {event!r}.")


def _consistency(logs: Path, old: Path, key: Path) -> dict[str, Any]:
    from arpm.audit.checkpoint import consistency, load, sign

    before = load(old)
    chain = _chain(logs, before.timeline)
    return consistency(before, chain, sign(chain, _signer(key)[0], SystemClock().now()))


def _signer(path: Path) -> tuple[Ed25519PrivateKey, bytes]:
    """The signing key and its public half."""
    from arpm.audit.checkpoint import signing_key

    key, made = signing_key(path)
    if made:
        note(f"Made the key {path}. Keep a copy of it, and keep it from whoever can write the logs folder.")
    return key, key.public_key().public_bytes_raw()


def _names(logs: Path) -> Iterator[str]:
    """The ledgers of a logs folder, by name."""
    if not logs.is_dir():
        raise NotFoundError(f"There is no logs folder {logs}.")
    for folder in sorted(logs.iterdir()):
        if _is_ledger(folder.name) and (folder / LEDGER_NAME).exists():
            yield folder.name


def _is_ledger(name: str) -> bool:
    return name == _KNOWLEDGE or is_id(name, "t")


def _chain(logs: Path, name: str) -> Chain:
    from arpm.audit.chain import read_chain

    if not _is_ledger(name) or not (logs / name / LEDGER_NAME).exists():
        raise NotFoundError(f"there is no ledger {name!r} in {logs}; `arpm timelines` lists those there are")
    return read_chain(logs / name / LEDGER_NAME, name)
