"""`arpm checkpoint`: sign what the ledgers hold now, and prove things about single events. Reads without a lock."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arpm.cli.options import json_option
from arpm.cli.output import emit, note, say
from arpm.clock import SystemClock
from arpm.errors import NotFoundError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from arpm.audit.chain import Chain


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
    from arpm.audit.checkpoints import ledger_names

    path = key or settings.key or default_key()
    if event is not None:
        emit(_inclusion(settings.logs, timelines, event, path))
        return
    if old is not None:
        emit(_consistency(settings.logs, old, path))
        return
    if not every and not timelines:
        raise click.UsageError("Name one or more timelines (or knowledge), or give --all.")
    names = list(timelines) or ledger_names(settings.logs)
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
    """Sign each ledger; what was written and what could not be signed, as rows."""
    from arpm.audit.checkpoints import sign_ledgers

    done, failed = sign_ledgers(logs, names, out, signer, SystemClock().now, tolerate_empty=tolerate_empty)
    rows = [
        {
            "timeline": item.checkpoint.timeline,
            "seq": item.checkpoint.seq,
            "hash": item.checkpoint.hash,
            "root": item.checkpoint.root,
            "file": str(item.file),
        }
        for item in done
    ]
    return rows, [{"timeline": item.ledger, "error": item.error} for item in failed]


def _inclusion(logs: Path, timelines: Sequence[str], event: str, key: Path) -> dict[str, Any]:
    from arpm.audit.checkpoints import prove_inclusion

    def passed_over(chain: Chain) -> None:
        note(f"Not searched: {chain.path} is {'damaged' if chain.damaged else 'empty'}.")

    return prove_inclusion(logs, timelines, event, _signer(key)[0], SystemClock().now(), passed_over)


def _consistency(logs: Path, old: Path, key: Path) -> dict[str, Any]:
    from arpm.audit.checkpoint import load
    from arpm.audit.checkpoints import prove_consistency

    return prove_consistency(logs, load(old), _signer(key)[0], SystemClock().now())


def _signer(path: Path) -> tuple[Ed25519PrivateKey, bytes]:
    """The signing key and its public half."""
    from arpm.audit.checkpoint import signing_key

    key, made = signing_key(path)
    if made:
        note(f"Made the key {path}. Keep a copy of it, and keep it from whoever can write the logs folder.")
    return key, key.public_key().public_bytes_raw()
