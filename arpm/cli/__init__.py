"""The command line: `arpm`, or `python -m arpm`.

Keeps promise 7 for a person at a terminal: data goes to stdout and everything else to stderr, and whatever goes wrong
ends in one line of text and an exit code: 0 done, 1 an error that the line explains, 2 a command used wrongly,
130 interrupted. Knows nothing about turns; every command is a thin layer over `arpm.service`.
"""

from __future__ import annotations

import sqlite3
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click

from arpm import __version__
from arpm.cli.chat import chat
from arpm.cli.checkpoint import checkpoint
from arpm.cli.diff import diff, timeline
from arpm.cli.erase import erase
from arpm.cli.experiment import experiment
from arpm.cli.export import export_group
from arpm.cli.import_command import import_group
from arpm.cli.instruct import instructions
from arpm.cli.interrupts import INTERRUPTED
from arpm.cli.knowledge import documents, ingest
from arpm.cli.operate import config_command, demo, models, rebuild, serve
from arpm.cli.options import Options
from arpm.cli.output import clean
from arpm.cli.quarantine import quarantine
from arpm.cli.replay import counterfactual, replay
from arpm.cli.review import review_group
from arpm.cli.search import search
from arpm.cli.show import show, timelines
from arpm.cli.stats import stats
from arpm.cli.verify import verify
from arpm.errors import ArpmError
from governance.config import ConfigError
from retrieval.embedding.errors import MissingPackageError, ModelFileError, UnknownEmbedderError

# Errors whose text is meant for the person. Those of the rooms below know nothing of ArpmError.
_TOLD = (ArpmError, ConfigError, UnknownEmbedderError, ModelFileError, MissingPackageError)


class Commands(click.Group):
    """A group whose commands end in a line of text, never in a traceback, where the cause is not a fault of ours."""

    def invoke(self, ctx: click.Context) -> Any:
        _accept_any_text()
        try:
            return super().invoke(ctx)
        except _TOLD as error:
            raise click.ClickException(_one_line(str(error))) from error
        except BrokenPipeError:
            # The reader of a pipe has seen enough (`arpm show … | head`); click ends quietly.
            raise
        except OSError as error:
            raise click.ClickException(_one_line(_os_error(error))) from error
        except sqlite3.Error as error:
            text = f"The cache in the logs folder cannot be used: {error}. `arpm rebuild` makes it anew."
            raise click.ClickException(_one_line(text)) from error
        except KeyboardInterrupt:
            click.echo("\nInterrupted. What was written is kept.", err=True)
            ctx.exit(INTERRUPTED)


def _accept_any_text() -> None:
    """Read and print whatever comes: no byte of a pipe and no Chinese character on a narrow terminal is an error."""
    for stream, errors in ((sys.stdin, "replace"), (sys.stdout, "backslashreplace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=errors)


def _one_line(text: str) -> str:
    return clean(" ".join(text.split()))


def _os_error(error: OSError) -> str:
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}."


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--logs", type=click.Path(path_type=Path, file_okay=False), help="Folder of the ledgers.")
@click.option(
    "--config", type=click.Path(path_type=Path, dir_okay=False), help="Settings file; ./arpm.toml if it is there."
)
@click.version_option(__version__, prog_name="arpm")
@click.pass_context
def main(ctx: click.Context, logs: Path | None, config: Path | None) -> None:
    """ARPM: conversations with language models whose memory can be audited."""
    ctx.obj = Options(logs, config)


for _command in (
    *(serve, chat, search, ingest, documents, timelines, import_group, show, instructions),
    *(rebuild, models, config_command, demo),
    review_group,
    checkpoint,
    *(verify, replay, counterfactual, diff, timeline, quarantine),
    *(stats, export_group),
    erase,
    experiment,
):
    main.add_command(_command)
