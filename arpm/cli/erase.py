"""`arpm erase`: what an erasure would reach, and erasing for good."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from arpm.cli.options import Options, json_option
from arpm.cli.output import emit, note, say
from arpm.errors import NotFoundError

if TYPE_CHECKING:
    from arpm.erasure import Reach, Receipt, What
    from arpm.service import Service
    from arpm.sweep import Along, Copy, LaterReply

# Items of each kind that are shown before the person confirms; --json shows all.
SHOWN = 10
# Characters of what something repeats.
SHARED = 40


@click.command()
@click.argument("memories", nargs=-1, metavar="[MEMORY]...")
@click.option("--session", help="Erase everything that was said in a session of a timeline.")
@click.option("--timeline", help="Erase everything of a user with a character; with --session, whose session it is.")
@click.option("--user", metavar="NAME", help="Erase every timeline of a user.")
@click.option("--document", help="Erase a document of the knowledge base.")
@click.option(
    "--with-replies",
    type=click.Choice(["quoting", "all"]),
    help="Take replies along: those that repeat its words, or also all that were made with it in view.",
)
@click.option("--dry-run", is_flag=True, help="Only show what it would reach.")
@click.option("--yes", is_flag=True, help="Do not ask for the words that confirm it.")
@click.option("--reason", default="", help="Why; part of the record, so never what is erased.")
@json_option
@click.pass_obj
def erase(
    options: Options,
    memories: tuple[str, ...],
    session: str | None,
    timeline: str | None,
    user: str | None,
    document: str | None,
    with_replies: Along | None,
    dry_run: bool,
    yes: bool,
    reason: str,
    as_json: bool,
) -> None:
    """Erase memories for good, a session, a whole timeline, everything of a user, or a document.

    A MEMORY is named by its id, a turn that never became one by its event id or as TIMELINE:ROUND. The words go from
    the ledger, the caches and the indexes; a receipt stays. Later replies that were made with them in view, and
    everything that repeats them, are listed and stay too, unless --with-replies takes them along.
    """
    with options.service() as service:
        if user is None:
            whats = [_named(service, memories, session, timeline, document, with_replies)]
        elif memories or session or timeline or document:
            raise click.UsageError("--user erases all timelines of a user: name nothing else with it.")
        else:
            whats = _all_of(service, user)
        results = [_one(service, what, dry_run, yes, reason, as_json) for what in whats]
    if as_json:
        data = [{"reach": reach_data(found), "receipt": receipt} for found, receipt in results]
        emit(data if user is not None else data[0])


def _one(
    service: Service, what: What, dry_run: bool, yes: bool, reason: str, as_json: bool
) -> tuple[Reach, Receipt | None]:
    """Show the reach of one erasure, ask, and erase."""
    from arpm.erasure import erase as erase_for_good
    from arpm.erasure import reach

    found = reach(service, what)
    if dry_run:
        if not as_json:
            say("\n".join(_told(found, "would go")))
        return found, None
    typed = found.confirm
    if not yes:
        for line in _told(found, "will go"):
            note(line)
        typed = click.prompt(f"This cannot be undone. Type “{found.confirm}” to go ahead", err=True, default="")
    receipt, done = erase_for_good(service, what, typed, reason)
    if not as_json:
        say(_receipt(receipt))
        for line in () if not yes else _left(done):
            note(line)
    return done, receipt


def _all_of(service: Service, user: str) -> list[What]:
    """Every timeline of a user. Raises NotFoundError when there is none."""
    from arpm.erasure import What

    rows = [row for row in service.timelines() if row.user == " ".join(user.split())]
    if not rows:
        raise NotFoundError(f"there is no timeline of a user {user!r}; `arpm timelines` lists those there are")
    return [What(timeline=row.id) for row in rows]


def reach_data(found: Reach) -> dict[str, Any]:
    """A reach as JSON has it: `events` is how many there are."""
    names = ("confirm", "memories", "instructions", "prompts", "replies", "copies", "files")
    return {**{name: getattr(found, name) for name in names}, "events": len(found.events)}


def _named(
    service: Service,
    memories: tuple[str, ...],
    session: str | None,
    timeline: str | None,
    document: str | None,
    replies: Along | None,
) -> What:
    from arpm.erasure import What, of_memories

    if memories and not (session or timeline or document):
        return of_memories(service.catalogue, memories, replies)
    if not (memories or session or timeline or document):
        raise click.UsageError("Name memories, --session, --timeline, --user or --document.")
    if session and not (memories or timeline or document):
        timeline = service.catalogue.timeline_of_session(session)
    return What(timeline, memories, session, document, replies)


def _told(found: Reach, verb: str) -> Iterator[str]:
    yield f"{_many(len(found.memories), 'memory', 'memories')} and {_records(len(found.events))} {verb}."
    yield from _listed(f"{item.id}  {_round(item.round)}{item.text}" for item in found.memories)
    if found.instructions:
        yield f"{_many(len(found.instructions), 'instruction', 'instructions')} along with it:"
        yield from _listed(f"{item.id}  {item.text}" for item in found.instructions)
    along = [item for item in found.replies if item.goes]
    if along:
        yield f"{_many(len(along), 'other reply goes', 'other replies go')} along:"
        yield from _listed(map(_reply, along))
    copies = [item for item in found.copies if item.goes]
    if copies:
        yield f"{_many(len(copies), 'other record repeats it and goes', 'other records repeat it and go')} along:"
        yield from _listed(map(_copy, copies))
    yield from _left(found)
    yield f"Files written anew or deleted: {', '.join(found.files) or 'none'}"


def _left(found: Reach) -> Iterator[str]:
    if found.prompts:
        prompts = _many(len(found.prompts), "later prompt", "later prompts")
        yield f"{prompts} showed it and cannot be rebuilt afterwards:"
        yield from _listed(f"{item.timeline}:{item.round}  {', '.join(item.labels)}" for item in found.prompts)
    replies = [item for item in found.replies if not item.goes]
    if replies:
        several = _many(len(replies), "other reply", "other replies")
        quoting = sum(item.shares is not None for item in replies)
        yield f"{several}, made with it in view or repeating it, will stay; {quoting or 'none'} of them " + (
            "repeats its words:" if quoting < 2 else "repeat its words:"
        )
        yield from _listed(map(_reply, sorted(replies, key=lambda item: item.shares is None)))
    copies = [item for item in found.copies if not item.goes]
    if copies:
        yield f"{_many(len(copies), 'other record repeats', 'other records repeat')} its words and will stay:"
        yield from _listed(map(_copy, copies))
    if any(item.shares is not None for item in replies):
        yield "--with-replies quoting takes those along that repeat its words, --with-replies all every one of them."


def _reply(item: LaterReply) -> str:
    return f"{item.timeline}:{item.round}  {_repeating(item.shares)}{item.text}"


def _copy(item: Copy) -> str:
    return f"{item.kind} {item.event}  {_repeating(item.shares)}{item.text}"


def _repeating(shares: str | None) -> str:
    """The words that something repeats."""
    if shares is None:
        return ""
    return f"[repeats “{shares if len(shares) <= SHARED else shares[: SHARED - 1] + '…'}”] "


def _listed(lines: Iterator[str]) -> Iterator[str]:
    everything = list(lines)
    yield from (f"  {line}" for line in everything[:SHOWN])
    if len(everything) > SHOWN:
        yield f"  … and {len(everything) - SHOWN} more; --json lists all"


def _round(round: int | None) -> str:
    return f"round {round}: " if round is not None else ""


def _receipt(receipt: Receipt) -> str:
    memories = _many(len(receipt.memories), "memory", "memories")
    return f"Erased {memories} and {_records(len(receipt.events))}. Receipt: {receipt.event}"


def _records(number: int) -> str:
    return _many(number, "ledger record", "ledger records")


def _many(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
