"""docs/command-line.md: every command it shows is run, and every command there is stands in it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click

from arpm.cli import main
from tests.cli.conftest import Arpm
from tests.cli.test_import import locomo, written

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text("utf-8")
COMMANDS = [
    line.removeprefix("$ ")
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]


def test_every_command_of_the_page_works(arpm: Arpm, tmp_path: Path) -> None:
    """Bug class: the page shows a command that was renamed long ago."""
    _prepare(tmp_path)
    arpm("demo")
    timeline = arpm.json("timelines")[0]["id"]
    instruction = arpm.json("instructions", timeline)[0]["id"]
    events = [json.loads(line) for line in arpm.ledger(timeline).splitlines()]
    ids = {
        "t-0123456789ab": timeline,
        "i-0123456789ab": instruction,
        "0123456789abcdef0123456789abcdef": events[0]["id"],
        "m-0123456789ab": next(event["body"]["memory"] for event in events if event["kind"] == "imported"),
        "s-0123456789ab": next(event["session"] for event in events if event["kind"] == "session_opened"),
        "d-0123456789ab": arpm.json("documents")[0]["id"],
    }
    for command in COMMANDS:
        words = command
        for printed, id in ids.items():
            words = words.replace(printed, id)
        # Named by the time they were made.
        for checkpoint in Path("checkpoints").glob(f"{timeline}*"):
            words = words.replace("checkpoints/old.json", str(checkpoint))
        program, *arguments = shlex.split(words)
        assert program == "arpm"
        if arguments[0] != "serve":
            arpm(*arguments, input="Hello.\n")


def test_every_command_and_option_stands_on_the_page() -> None:
    for name, command in main.commands.items():
        assert f"arpm {name}" in PAGE
        children = command.commands.items() if isinstance(command, click.Group) else ()
        for child, _ in children:
            assert f"arpm {name} {child}" in PAGE
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.name != "help":
                assert parameter.opts[0] in PAGE, f"{name} {parameter.opts[0]}"


def _prepare(folder: Path) -> None:
    """The files that the page's commands read."""
    (folder / "notes.md").write_text("# Notes\n\nThe lighthouse is green.\n", "utf-8")
    (folder / "茶单.txt").write_text("茉莉花茶，一壶五元。\n", "utf-8")
    (folder / "queries.txt").write_text("tea\n茶\n", "utf-8")
    (folder / "other.toml").write_text("", "utf-8")
    (folder / "messages.jsonl").write_text('{"id": "1", "role": "user", "text": "Hello."}\n', "utf-8")
    for log in (Path(__file__).parents[1] / "fixtures" / "arpm_logs").iterdir():
        (folder / log.name).write_bytes(log.read_bytes())
    talks = locomo()
    talks[0]["sample_id"] = "conv-26"
    written(folder, "locomo10.json", talks)
