"""`arpm instructions`: see, add and retire the standing instructions of a timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from arpm.cli.options import Options, json_option
from arpm.cli.output import emit, note, say, table
from governance.contradictions import contradictions

if TYPE_CHECKING:
    from arpm.catalogue import InstructionRow


@click.command()
@click.argument("timeline")
@click.option("--add", "text", help="Words of a new instruction, in every prompt from now on.")
@click.option("--retire", "retired", metavar="ID", help="Instruction that no later prompt shows.")
@click.option("--reason", help="Why it is retired; part of the record.")
@json_option
@click.pass_obj
def instructions(
    options: Options, timeline: str, text: str | None, retired: str | None, reason: str | None, as_json: bool
) -> None:
    """List the standing instructions of TIMELINE, retired ones too; add or retire one."""
    if text is not None and retired is not None:
        raise click.UsageError("--add and --retire are two commands.")
    if (retired is None) != (reason is None):
        raise click.UsageError("--retire and --reason belong together.")
    with options.service() as service:
        opened = service.timeline(timeline)
        with opened.exclusive():
            if text is not None:
                opened.add_instruction(text)
            if retired is not None and reason is not None:
                opened.retire_instruction(retired, reason, by="hand")
        rows, pairs = opened.instructions(), contradictions(opened.active_instructions())
    if as_json:
        emit(rows)
    elif rows:
        say(table(("instruction", "round", "from", "sure", "state", "words"), map(_cells, rows)))
        for pair in pairs:
            note(
                f"{pair.older} and {pair.newer} contradict each other in {pair.about}: {pair.newer}, the newer, holds."
            )
    else:
        note(f"No standing instruction on {timeline}. --add TEXT adds one.")


def _cells(row: InstructionRow) -> tuple[object, ...]:
    state = "in force" if row.retired_at is None else f"retired: {row.retired_reason}"
    sure = "" if row.probability is None else f"{row.probability:.2f}"
    return row.id, row.round, row.rule or ("classifier" if row.kind == "rule" else row.kind), sure, state, row.text
