"""`arpm search`: what a message would bring back, without a turn; one query or many."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arpm.cli.options import (
    Options,
    changed_config,
    found_timeline,
    json_option,
    preset_option,
    read_file,
    time_in,
)
from arpm.cli.output import emit, emit_line, note, progress, say
from arpm.errors import ArpmError, InputError

if TYPE_CHECKING:
    from arpm.recall import Recalled
    from arpm.service import Service
    from governance.config import GovernanceConfig

# More rounds than any timeline will have; ages beyond what a float holds would end in an error of arithmetic.
ROUND_LIMIT = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Asked:
    """One query: its words, and where and when it is asked. `key` is the id a query file gives it."""

    text: str
    at: str | None
    round: int | None
    key: Any = None


@dataclass(frozen=True, slots=True)
class Place:
    """What all queries of one command share."""

    timeline: str
    timezone: str
    config: GovernanceConfig
    every: bool


@click.command()
@click.argument("query", required=False)
@click.option("--timeline", metavar="ID", help="Timeline to ask on; the one used last if not given.")
@click.option("--at", metavar="ISO", help="Ask as if at this time (the timeline's timezone if it names none).")
@click.option("--round", "round_", type=click.IntRange(1, ROUND_LIMIT), metavar="N", help="Ask as if in this round.")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a governance setting; repeatable.")
@preset_option
@click.option("--queries", type=click.Path(path_type=Path), metavar="FILE", help="Many queries at once; see below.")
@click.option("--all", "every", is_flag=True, help="Show every candidate that was dropped, not only the best ten.")
@json_option
@click.pass_context
def search(
    ctx: click.Context,
    query: str | None,
    timeline: str | None,
    at: str | None,
    round_: int | None,
    changes: tuple[str, ...],
    preset_name: str | None,
    queries: Path | None,
    every: bool,
    as_json: bool,
) -> None:
    """Show the candidates and the evidence that QUERY would bring back. Nothing is recorded.

    A FILE of queries has one a line: plain words, or JSON Lines with query and, if wanted, id, at and round. With
    --json it gives one line of JSON for each query.
    """
    if (query is None) == (queries is None):
        raise click.UsageError("Give a QUERY, or --queries FILE.")
    options: Options = ctx.obj
    settings = options.settings()
    with options.service(settings) as service:
        opened = service.timeline(found_timeline(service, timeline))
        config = changed_config(opened.config(), preset_name, changes)
        place = Place(opened.id, opened.info.timezone, config, every)
        if query is not None:
            _show(service, place, Asked(query, at, round_), as_json)
        elif queries is not None:
            data = read_file(queries, settings.upload_limit)
            ctx.exit(_show_many(service, place, queries.name, data, Asked("", at, round_), as_json))


def _show(service: Service, place: Place, asked: Asked, as_json: bool) -> None:
    when, found = _found(service, place, asked)
    if as_json:
        emit(_data(service, place, asked, when, found))
    else:
        say(_text(service, place, asked, when, found))


def _show_many(service: Service, place: Place, name: str, data: bytes, defaults: Asked, as_json: bool) -> int:
    """Answer a file of queries; a bad line is told and the others go on. Returns the exit code."""
    lines = [(number, line) for number, line in enumerate(data.splitlines(), 1) if line.strip()]
    if not lines:
        raise InputError(f"{name} holds no query.")
    failed = 0
    with progress("Searching", len(lines)) as bar:
        for number, line in lines:
            try:
                asked = _asked(line, defaults)
                when, found = _found(service, place, asked)
            except ArpmError as error:
                note(f"Error: {name}, line {number}: {error}")
                failed += 1
            else:
                if as_json:
                    emit_line(_data(service, place, asked, when, found))
                else:
                    say(_text(service, place, asked, when, found) + "\n")
            bar.update(1)
    return 1 if failed else 0


def _asked(line: bytes, defaults: Asked) -> Asked:
    """A line of a query file: JSON when it begins with a brace, else plain words. Raises InputError."""
    try:
        text = line.decode("utf-8-sig").strip()
        item = json.loads(text) if text.startswith("{") else {"query": text}
    except (ValueError, RecursionError) as error:
        raise InputError(f"it is neither UTF-8 text nor a JSON object ({error})") from None
    words, at, round = item.get("query"), item.get("at", defaults.at), item.get("round", defaults.round)
    if not isinstance(words, str):
        raise InputError("'query' is missing or no text")
    if at is not None and not isinstance(at, str):
        raise InputError("'at' is no ISO 8601 time")
    if round is not None and (isinstance(round, bool) or not isinstance(round, int) or not 1 <= round <= ROUND_LIMIT):
        raise InputError(f"'round' is no whole number from 1 to {ROUND_LIMIT:,}")
    return Asked(words, at, round, item.get("id"))


@dataclass(frozen=True, slots=True)
class When:
    """The time and round a query was asked at."""

    at: datetime
    round: int


def _found(service: Service, place: Place, asked: Asked) -> tuple[When, Recalled]:
    at = time_in(asked.at, place.timezone) if asked.at else service.clock.now()
    round = asked.round or service.timeline(place.timeline).info.rounds + 1
    return When(at, round), service.look(place.timeline, asked.text, at=at, round=round, config=place.config)


def _rows(found: Recalled) -> dict[str, list[dict[str, Any]]]:
    from arpm.record import candidate_row

    governed = found.governed
    return {
        "knowledge": [candidate_row(decision) for decision in governed.knowledge],
        "experience": [candidate_row(decision) for decision in governed.experience],
    }


def _data(service: Service, place: Place, asked: Asked, when: When, found: Recalled) -> dict[str, Any]:
    from arpm.record import evidence_row
    from arpm.story import text_of

    return {
        "id": asked.key,
        "query": asked.text,
        "augmented_query": found.query,
        "timeline": place.timeline,
        "at": when.at,
        "round": when.round,
        "config": place.config.as_dict(),
        "candidates": {
            route: [{**row, "text": text_of(service.catalogue, row["memory"])} for row in rows]
            for route, rows in _rows(found).items()
        },
        "evidence": [{**evidence_row(item), "text": item.text} for item in found.governed.evidence],
    }


def _text(service: Service, place: Place, asked: Asked, when: When, found: Recalled) -> str:
    return "\n".join(_lines(service, place, asked, when, found))


def _lines(service: Service, place: Place, asked: Asked, when: When, found: Recalled) -> Iterator[str]:
    from arpm.prompt import evidence_line
    from arpm.story import DROPPED_SHOWN, candidate_lines

    yield f"{asked.text}  (round {when.round}, {when.at:%Y-%m-%d %H:%M %Z})"
    for route, rows in _rows(found).items():
        yield f"{route.upper()}: {_kept(rows)} of {len(rows)} candidates kept"
        for line in candidate_lines(rows, service.catalogue, None if place.every else DROPPED_SHOWN):
            yield f"  {line}"
    yield "EVIDENCE"
    if not found.governed.evidence:
        yield "  none: nothing that is remembered matches"
    for item in found.governed.evidence:
        for line in evidence_line(item).splitlines():
            yield f"  {line}"


def _kept(rows: Sequence[dict[str, Any]]) -> int:
    return sum(bool(row["kept"]) for row in rows)
