"""The lines of a prompt that show earlier messages as evidence, so that their budget can cover all of what they cost.

The turn and its replay come through here: everything comes from the record or from what it names. A label's number is
the highest that it can have, as if every document stood before the messages. Knows nothing about packing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from zoneinfo import ZoneInfo

from arpm.generation.base import PromptStyle
from arpm.prompt import compact_evidence_line, evidence_line
from governance.config import GovernanceConfig
from governance.decay import Moment
from governance.focus import Lines
from governance.history import Placed
from governance.unfolding import unfold
from retrieval.text import language


def history_lines(style: PromptStyle, config: GovernanceConfig, moment: Moment, timezone: str, message: str) -> Lines:
    """How the prompt of a turn writes messages: each line behind what parts it from the one before."""
    zone, lang = ZoneInfo(timezone), language(message)
    line, between = (compact_evidence_line, "\n") if style == "compact" else (evidence_line, "\n\n")

    def lines(placed: Sequence[Placed], first: int) -> str:
        shown = unfold((), moment, zone, lang, chronological=config.chronological, cues=config.time_cues, placed=placed)
        numbered = (replace(item, label=f"{item.label[0]}{int(item.label[1:]) + first - 1}") for item in shown)
        return "".join(between + line(item) for item in numbered)

    return lines
