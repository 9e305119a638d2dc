"""The context policy `arpm`: candidates of both routes in, labelled evidence out. One call governs a turn.

Data flows one way: gate, weights and top-k per route, then one token budget over both, then unfolding.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from governance.config import GovernanceConfig
from governance.decay import Moment
from governance.selection import Decision, decide, within_budget
from governance.unfolding import Evidence, unfold
from retrieval.candidates import Candidate
from retrieval.text import Language


@dataclass(frozen=True, slots=True)
class Situation:
    """What governance must know besides candidates: when, where, in which language, and what is shown anyway.

    `round_of` gives a candidate's round (for a document, the round running when it was added), `count` the tokens of
    an item as the prompt shows it.
    """

    moment: Moment
    zone: tzinfo
    language: Language
    window: Collection[str]
    round_of: Callable[[Candidate], int | None]
    count: Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Governed:
    """Every decision of both routes, and the evidence that enters the prompt, in prompt order."""

    knowledge: tuple[Decision, ...]
    experience: tuple[Decision, ...]
    evidence: tuple[Evidence, ...]


def govern(
    knowledge: Sequence[Candidate],
    experience: Sequence[Candidate],
    config: GovernanceConfig,
    situation: Situation,
) -> Governed:
    """Decide on the candidates of both routes and unfold what is kept."""
    per_route = [
        decide(route, situation.moment, config, round_of=situation.round_of, window=situation.window)
        for route in (knowledge, experience)
    ]
    budgeted = within_budget([*per_route[0], *per_route[1]], config.evidence_budget, situation.count)
    evidence = unfold(
        budgeted,
        situation.moment,
        situation.zone,
        situation.language,
        chronological=config.chronological,
        cues=config.time_cues,
    )
    split = len(per_route[0])
    return Governed(tuple(budgeted[:split]), tuple(budgeted[split:]), tuple(evidence))
