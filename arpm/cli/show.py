"""`arpm timelines` and `arpm show`: what there is, and the whole story of a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from arpm.cli.options import Options, is_timeline, json_option
from arpm.cli.output import emit, note, say, table
from arpm.errors import NotFoundError

if TYPE_CHECKING:
    from arpm.events import Event
    from arpm.service import Service


@click.command()
@json_option
@click.pass_obj
def timelines(options: Options, as_json: bool) -> None:
    """List the timelines, newest first."""
    with options.service() as service:
        rows = [(row, service.catalogue.sessions(row.id)) for row in service.timelines()]
    if as_json:
        emit(
            [
                {
                    "id": row.id,
                    "user": row.user,
                    "character": row.character,
                    "timezone": row.timezone,
                    "at": row.at,
                    "rounds": row.rounds,
                    "sessions": len(sessions),
                    "model": sessions[-1].model if sessions else None,
                    "preset": sessions[-1].preset if sessions else None,
                }
                for row, sessions in rows
            ]
        )
    elif rows:
        cells = [
            (row.id, row.user, row.character, row.rounds, len(sessions), sessions[-1].model if sessions else "–")
            for row, sessions in rows
        ]
        say(table(("timeline", "user", "character", "rounds", "sessions", "model"), cells))
    else:
        note("There is no timeline yet. `arpm chat --user NAME --character NAME` begins one.")


@click.command()
@click.argument("turn")
@click.option("--all", "every", is_flag=True, help="Show every candidate that was dropped, not only the best ten.")
@json_option
@click.pass_obj
def show(options: Options, turn: str, every: bool, as_json: bool) -> None:
    """Tell the whole story of TURN: an event id, TIMELINE:ROUND, or TIMELINE for its last turn."""
    from arpm.story import as_data, tell

    with options.service() as service:
        event = turn_named(service, turn)
        if as_json:
            emit(as_data(event, service.catalogue))
        else:
            say(tell(event, service.catalogue, every_candidate=every))


def turn_named(service: Service, reference: str) -> Event:
    """The record of a turn by event id, TIMELINE:ROUND or TIMELINE. Raises NotFoundError."""
    if not is_timeline(reference):
        return service.record(reference)
    last = service.catalogue.turns(service.timeline(reference).id, last=1)
    if not last:
        raise NotFoundError(f"Nothing was said on timeline {reference} yet.")
    return service.timeline(reference).record(last[0])
