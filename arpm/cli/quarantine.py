"""`arpm quarantine`: take memories out of search, and bring them back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from arpm.cli.options import Options, json_option
from arpm.cli.output import emit, note, say, table

if TYPE_CHECKING:
    from arpm.catalogue import MemoryRow
    from arpm.quarantine import Scope

SHOWN = 20


@click.command()
@click.argument("timeline")
@click.argument("memories", nargs=-1, metavar="[MEMORY]...")
@click.option("--rounds", metavar="FIRST-LAST", help="Memories of a range of rounds, such as 21-40.")
@click.option("--model", help="Everything that a model said.")
@click.option("--session", help="Everything of a session.")
@click.option("--release", is_flag=True, help="Bring memories back into search instead; all of them without MEMORY.")
@click.option("--reason", default="", help="Why; part of the record.")
@click.option("--dry-run", is_flag=True, help="Only show which memories it would reach.")
@json_option
@click.pass_obj
def quarantine(
    options: Options,
    timeline: str,
    memories: tuple[str, ...],
    rounds: str | None,
    model: str | None,
    session: str | None,
    release: bool,
    reason: str,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Take memories of TIMELINE out of search, by id, range of rounds, model or session.

    What they say stays in the ledger, and no prompt shows it until it is released. Without anything named, lists what
    is in quarantine.
    """
    scope = _scope(memories, rounds, model, session)
    if release and (rounds or model or session):
        raise click.UsageError("--release takes memories by id, or all of them.")
    with options.service() as service:
        held = service.catalogue.memory_rows(service.timeline(timeline).id, state="quarantined")
        if release:
            ids = list(memories) or [row.memory.memory for row in held]
            rows = held if dry_run else service.release(timeline, ids, reason or "released by hand")
        elif scope is None:
            rows = held
        else:
            rows = service.quarantine(timeline, scope, reason or "put in quarantine by hand", dry_run=dry_run)
    if as_json:
        emit([{"memory": row.memory.memory, "round": row.memory.round, "text": row.memory.text} for row in rows])
        return
    _tell(rows)
    if scope is None and not release:
        note(f"{len(rows)} in quarantine.")
    else:
        verb = "released" if release else "put in quarantine"
        note(f"{len(rows)} {'would be ' if dry_run else ''}{verb}.")


def _scope(memories: Sequence[str], rounds: str | None, model: str | None, session: str | None) -> Scope | None:
    from arpm.quarantine import Scope

    if sum(map(bool, (memories, rounds, model, session))) > 1:
        raise click.UsageError("Name memories in one way: by id, --rounds, --model or --session.")
    if rounds is not None:
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", rounds)
        if match is None:
            raise click.BadParameter("write FIRST-LAST, such as 21-40.", param_hint="--rounds")
        return Scope("rounds", (int(match[1]), int(match[2] or match[1])))
    if model:
        return Scope("model", model)
    if session:
        return Scope("session", session)
    return Scope("memories", memories) if memories else None


def _tell(rows: Sequence[MemoryRow]) -> None:
    if rows:
        cells = [(row.memory.memory, row.memory.round, row.model or "–", row.memory.text[:70]) for row in rows[:SHOWN]]
        say(table(("memory", "round", "model", ""), cells))
    if len(rows) > SHOWN:
        say(f"… and {len(rows) - SHOWN} more; --json lists all")
