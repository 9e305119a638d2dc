"""`arpm chat`: one message or a conversation."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from arpm.cli.options import Options, found_timeline, is_timeline, json_option, preset_option, timeline_of_pair
from arpm.cli.output import emit, emit_line, note, say
from arpm.errors import ArpmError

if TYPE_CHECKING:
    from arpm.service import Service

_HELP = "/clear empties the context window, /show tells the last turn, /model NAME changes the model, /quit ends."


@click.command()
@click.argument("words", nargs=-1, metavar="[TIMELINE] [MESSAGE]")
@click.option("--user", help="Who talks; with --character, takes up their timeline or begins one.")
@click.option("--character", help="Who answers.")
@click.option("--model", help="Model to go on with, in a new session; `arpm models` lists them.")
@preset_option
@json_option
@click.pass_obj
def chat(
    options: Options,
    words: tuple[str, ...],
    user: str | None,
    character: str | None,
    model: str | None,
    preset_name: str | None,
    as_json: bool,
) -> None:
    """Send MESSAGE, or talk line by line where there is none ("-" reads one message from stdin).

    TIMELINE is an id; without one the timeline used last goes on. Ctrl-C stops a reply and keeps the message. What a
    reply rests on is printed on stderr.
    """
    if (user is None) != (character is None):
        raise click.UsageError("--user and --character belong together.")
    named = words[0] if words and is_timeline(words[0]) else None
    if named and user:
        raise click.UsageError("Give a TIMELINE, or --user and --character, not both.")
    message = " ".join(words[1:] if named else words)
    with options.service() as service:
        id = _timeline(service, named, user, character, model, preset_name)
        if message:
            text = sys.stdin.read() if message == "-" else message
            _one(service, id, text, as_json)
        else:
            _talk(service, id, as_json)


def _timeline(
    service: Service,
    named: str | None,
    user: str | None,
    character: str | None,
    model: str | None,
    preset_name: str | None,
) -> str:
    """The timeline to go on with, in the model and preset asked for; a new one for a new pair."""
    if user is not None and character is not None:
        named = timeline_of_pair(service, user, character)
        if named is None:
            new = service.create_timeline(user, character, model=model, preset_name=preset_name or "default")
            note(f"Timeline {new.id} begins: {user} with {character}.")
            return new.id
    id = found_timeline(service, named)
    if model:
        service.switch_model(id, model)
    if preset_name:
        service.intervene(id, {}, preset_name)
    return id


def _one(service: Service, id: str, message: str, as_json: bool) -> None:
    # Imported here, like the service: the parser and the model's grammar are not needed for --help.
    from arpm.cli.reply import Screen, answered, summarise, turn_data

    if as_json:
        emit(turn_data(answered(service, id, message, None), service))
        return
    screen = Screen()
    event = answered(service, id, message, screen)
    assert event.body is not None
    screen.finish(event.body["response"])
    summarise(event, service)


def _talk(service: Service, id: str, as_json: bool) -> None:
    """Answer line after line. An error is told and the next line taken."""
    from arpm.cli.reply import answered, turn_data

    info = service.timeline(id).info
    if sys.stdin.isatty():
        note(f"{info.user} with {info.character}, round {info.rounds + 1} next. {_HELP}")
    for line in _lines(f"{info.user}> "):
        try:
            if line.startswith("/"):
                if not _command(service, id, line.split()):
                    return
            elif as_json:
                emit_line(turn_data(answered(service, id, line, None), service))
            else:
                _one(service, id, line, as_json=False)
        except ArpmError as error:
            note(f"Error: {error}")


def _lines(prompt: str) -> Iterator[str]:
    """The lines a person types, or those of a pipe; empty ones are left out. Ctrl-C at the prompt begins anew."""
    terminal = sys.stdin.isatty()
    while True:
        try:
            line = input(prompt) if terminal else sys.stdin.readline()
        except KeyboardInterrupt:
            note("\n(Ctrl-D or /quit ends.)")
            continue
        except EOFError:
            note()
            return
        if not terminal and not line:
            return
        if line.strip():
            yield line.strip()


def _command(service: Service, id: str, words: Sequence[str]) -> bool:
    """Do a slash command; False ends the conversation."""
    from arpm.cli.show import turn_named
    from arpm.story import tell

    match list(words):
        case ["/quit" | "/exit"]:
            return False
        case ["/clear"]:
            note(f"Session {service.clear_context(id).number} begins with an empty context window.")
        case ["/model", name]:
            note(f"Model {service.switch_model(id, name).model}.")
        case ["/show"]:
            say(tell(turn_named(service, id), service.catalogue))
        case _:
            note(_HELP)
    return True
