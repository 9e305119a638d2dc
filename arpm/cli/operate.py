"""What the operator does: `serve`, `rebuild`, `models`, `config` and `demo`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from arpm.cli.options import Options, json_option
from arpm.cli.output import emit, note, progress, say, table
from arpm.settings import LOCAL_MODEL, SETTINGS, ModelSettings, Settings
from governance.config import PRESETS, GovernanceConfig


@click.command()
@click.option("--host", help="Address to listen on; anything but loopback needs ARPM_TOKEN.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 takes a free one.")
@click.pass_obj
def serve(options: Options, host: str | None, port: int | None) -> None:
    """Serve the chat page and the HTTP API until Ctrl-C."""
    # Imported here: only this command needs Flask.
    from arpm.web.server import serve as serve_web

    given = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    settings = dataclasses.replace(options.settings(), **given)  # type: ignore[arg-type]
    with options.service(settings) as service:
        serve_web(service, settings, lambda url: say(f"ARPM is at {url}  (Ctrl-C stops it)"))
    note("Stopped. Every acknowledged turn is on the disk.")


@click.command()
@json_option
@click.pass_context
def rebuild(ctx: click.Context, as_json: bool) -> None:
    """Make the catalogue and every index anew from the ledgers. Embeddings are kept.

    Can be interrupted: the next start goes on from there.
    """
    options: Options = ctx.obj
    with options.service() as service:
        ledgers = len(service.timelines()) + len(service.damaged) + 1
        with progress("Rebuilding", ledgers) as bar:
            damaged = service.rebuild(lambda name: bar.update(1))
        counts = {"timelines": len(service.timelines()), "documents": len(service.library.documents())}
    if as_json:
        emit({**counts, "damaged": damaged})
    else:
        say(f"Rebuilt {counts['timelines']} timelines and {counts['documents']} documents from their ledgers.")
    for damage in damaged:
        note(f"Error: {damage.text}")
    ctx.exit(1 if damaged else 0)


@click.command()
@json_option
@click.pass_obj
def models(options: Options, as_json: bool) -> None:
    """List the models a session can use. None of them is loaded or called."""
    settings = options.settings()
    rows = list(_models(settings))
    if as_json:
        emit(rows)
        return
    cells = [("*" if row["default"] else "", row["name"], row["backend"], row["runs"]) for row in rows]
    say(table(("", "model", "backend", "runs"), cells))
    note("* is the model of new sessions. Add others as [models.NAME] in arpm.toml; see docs/command-line.md.")


def _models(settings: Settings) -> Iterator[dict[str, Any]]:
    tables = {model.name: model for model in settings.models}
    if LOCAL_MODEL not in tables:
        tables = {LOCAL_MODEL: ModelSettings(LOCAL_MODEL, "local"), **tables}
    for model in tables.values():
        default = settings.model == model.name
        yield {"name": model.name, "backend": model.backend, "runs": _runs(model), "default": default}


def _runs(model: ModelSettings) -> str:
    """What a model's name stands for."""
    if model.backend == "openai":
        return f"{model.model} at {model.base_url}"
    return str(model.path) if model.path else "the embedded model, offline"


@click.command("config")
@json_option
@click.pass_obj
def config_command(options: Options, as_json: bool) -> None:
    """Show the settings in force, the presets, and every governance setting with default and range."""
    settings = options.settings()
    presets = [
        {
            "name": preset.name,
            "help": preset.help,
            "changes": {key: change["to"] for key, change in GovernanceConfig().differences(preset.config).items()},
        }
        for preset in PRESETS.values()
    ]
    governance = list(_governance())
    if as_json:
        emit({"settings": settings.public(), "presets": presets, "governance": governance})
    else:
        say("\n\n".join([_settings_text(settings), _presets_text(presets), _governance_text(governance)]))


def _governance() -> Iterator[dict[str, Any]]:
    """Every governance setting with its type, default, help and what it may be."""
    kinds = get_type_hints(GovernanceConfig)
    for field in dataclasses.fields(GovernanceConfig):
        kind = kinds[field.name]
        choices = list(get_args(kind)) if get_origin(kind) is Literal else None
        yield {
            "name": field.name,
            "type": "choice" if choices else kind.__name__,
            "default": field.default,
            "help": field.metadata["help"],
            "low": field.metadata["low"],
            "high": field.metadata["high"],
            "choices": choices,
        }


def _settings_text(settings: Settings) -> str:
    public = settings.public()
    cells = [(item.name, _word(public[item.name]), item.variable, item.help) for item in SETTINGS]
    return "SETTINGS (arpm.toml, then the environment)\n" + table(("setting", "value", "variable", "what it is"), cells)


def _presets_text(presets: list[dict[str, Any]]) -> str:
    cells = [
        (row["name"], row["help"], ", ".join(f"{key}={_word(value)}" for key, value in row["changes"].items()) or "–")
        for row in presets
    ]
    return "PRESETS (--preset)\n" + table(("preset", "what it is", "differs from default in"), cells)


def _governance_text(rows: list[dict[str, Any]]) -> str:
    cells = [(row["name"], _word(row["default"]), _range(row), row["help"]) for row in rows]
    return "GOVERNANCE (--set KEY=VALUE)\n" + table(("setting", "default", "allowed", "what it does"), cells)


def _range(row: dict[str, Any]) -> str:
    if row["choices"]:
        return ", ".join(row["choices"])
    if row["low"] is None:
        return "true, false" if row["type"] == "bool" else row["type"]
    return f"{row['low']:g} to {row['high']:g}"


def _word(value: Any) -> str:
    if value is None:
        return "(unset)"
    return str(value).lower() if isinstance(value, bool) else str(value)


@click.command()
@json_option
@click.pass_obj
def demo(options: Options, as_json: bool) -> None:
    """Load the demo: a tea house with a bookshop, in English and Chinese. Does nothing when it is there."""
    from arpm.demo import QUESTIONS, load_demo

    with options.service() as service:
        loaded = load_demo(service)
    if as_json:
        emit({**dataclasses.asdict(loaded), "questions": QUESTIONS})
        return
    say(f"The demo {'is loaded' if loaded.new else 'is there already'}: timeline {loaded.timeline}.")
    say("Ask, in the browser or with `arpm chat`:")
    for question in QUESTIONS:
        say(f"  {question}")
