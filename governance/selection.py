"""From candidates to decisions: relevance gate, temporal weights, top-k and token budget, each with its reason.

Pure functions. Every candidate that comes in goes out with a verdict, so that a turn record can say why it was kept
or dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from governance.config import GovernanceConfig
from governance.decay import Moment, clock_decay, hours_between, round_decay, rounds_between, temporal_weight
from retrieval.candidates import Candidate
from retrieval.identifiers import LANE

Verdict = Literal["passed", "irrelevant", "nothing matches"]
Reason = Literal[
    "kept",
    "nothing matches",
    "irrelevant",
    "in the window",
    "below the threshold",
    "beyond top-k",
    "over the token budget",
]


@dataclass(frozen=True, slots=True)
class Gated:
    """What the relevance gate saw of a candidate and decided."""

    relevance: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Weighed:
    """A candidate with its temporal weights and final score (paper equations 10 and 11).

    `gated` is the gate's verdict, taken before decay and normalisation. `round` is the candidate's round, or for a
    document the round that was running when it was added.
    """

    candidate: Candidate
    round: int | None
    rounds_ago: int | None
    hours_ago: float | None
    round_weight: float
    clock_weight: float
    weight: float
    final: float
    gated: Gated


@dataclass(frozen=True, slots=True)
class Decision:
    """A weighed candidate, its rank by final score within its route (from zero), and what became of it."""

    weighed: Weighed
    rank: int
    reason: Reason
    tokens: int | None = None

    @property
    def kept(self) -> bool:
        return self.reason == "kept"


def relevance(candidate: Candidate, config: GovernanceConfig) -> float:
    """How well the question itself matches the memory: similarity plus a share of the words' coverage.

    Taken before fusion, normalisation and decay: RRF divided by its maximum makes the best hit 1.0 however bad it is.
    """
    return candidate.similarity + config.gate_word_share * candidate.coverage


def gate(
    candidates: Sequence[Candidate], config: GovernanceConfig, *, about_dialogue: bool = False
) -> Mapping[str, Gated]:
    """The gate's verdict on the candidates of one route, by memory id.

    First the question: when even the best candidate is below `gate_question`, nothing matches and all are dropped.
    Then each candidate: those below `gate_item` are dropped, but a turn beside a passing turn, which lent it part of
    its score, passes with it, and so does a turn that corrects a passing one. What holds a number or code of the
    question word for word passes whatever the question's other words are. With `about_dialogue` the question is
    one about the dialogue itself, which every past turn is a part of.
    """
    values = {c.memory: relevance(c, config) for c in candidates}
    if not config.gate_enabled or about_dialogue:
        return {memory: Gated(value, "passed") for memory, value in values.items()}
    exact = {c.memory for c in candidates if LANE in c.ranks}
    if not exact and max(values.values(), default=0.0) < config.gate_question:
        return {memory: Gated(value, "nothing matches") for memory, value in values.items()}
    own = exact | {memory for memory, value in values.items() if value >= config.gate_item}
    own |= {c.superseded_by for c in candidates if c.memory in own and c.superseded_by is not None}
    return {
        c.memory: Gated(values[c.memory], "passed" if c.memory in own or c.lent_by in own else "irrelevant")
        for c in candidates
    }


def weigh(candidate: Candidate, moment: Moment, config: GovernanceConfig, round: int | None, gated: Gated) -> Weighed:
    """Apply the temporal weights of the candidate's route to its base score (paper equations 7-11)."""
    rounds_ago, hours_ago = rounds_between(moment, round), hours_between(moment, candidate.at)
    by_round = by_clock = weight = 1.0
    if config.temporal_enabled:
        of_rounds, of_hours, floor = _constants(candidate, config)
        by_round, by_clock = round_decay(rounds_ago, of_rounds), clock_decay(hours_ago, of_hours)
        weight = temporal_weight(by_round, by_clock, floor)
    return Weighed(candidate, round, rounds_ago, hours_ago, by_round, by_clock, weight, candidate.base * weight, gated)


def superseded(weighed: Sequence[Weighed], config: GovernanceConfig) -> list[Weighed]:
    """The same with final scores by which a correction comes before what it corrects, whatever their own scores are.

    Both are about the same thing: the correction gets the better of the two scores, and what it corrects keeps at most
    `superseded_share` of that. A correction may be corrected in its turn.
    """
    finals = {item.candidate.memory: item.final for item in weighed}
    later = {item.candidate.memory: item.candidate.superseded_by for item in weighed}
    chains = {memory: _corrections_of(memory, later) for memory in finals}
    if not any(chains.values()):
        return list(weighed)
    best = dict(finals)
    for memory, chain in chains.items():
        for correction in chain:
            best[correction] = max(best[correction], finals[memory])
    # The last correction first, so that each is held below one that is final already.
    for memory in sorted(chains, key=lambda memory: len(chains[memory])):
        if chains[memory]:
            best[memory] = min(best[memory], config.superseded_share * best[chains[memory][0]])
    return [replace(item, final=best[item.candidate.memory]) for item in weighed]


def _corrections_of(memory: str, later: Mapping[str, str | None]) -> list[str]:
    """What corrects a memory, what corrects that, and so on, as far as it is among the candidates."""
    chain: list[str] = []
    correction = later.get(memory)
    while correction is not None and correction in later and correction not in (memory, *chain):
        chain.append(correction)
        correction = later[correction]
    return chain


def _constants(candidate: Candidate, config: GovernanceConfig) -> tuple[float, float, float]:
    if candidate.route == "knowledge":
        return config.knowledge_lambda_round, config.knowledge_lambda_hours, config.knowledge_floor
    return config.history_lambda_round, config.history_lambda_hours, config.history_floor


def decide(
    candidates: Sequence[Candidate],
    moment: Moment,
    config: GovernanceConfig,
    *,
    round_of: Callable[[Candidate], int | None],
    window: Collection[str] = (),
    about_dialogue: bool = False,
) -> list[Decision]:
    """Decisions on the candidates of one route, best final score first; equal scores: the newer first, then by id.

    `window` holds the memories that the prompt shows word for word anyway. A question `about_dialogue` (past turns
    only) passes the gate and has `dialogue_k` places.
    """
    knowledge = bool(candidates) and candidates[0].route == "knowledge"
    about_dialogue = about_dialogue and not knowledge
    gated = gate(candidates, config, about_dialogue=about_dialogue)
    weighed = superseded([weigh(c, moment, config, round_of(c), gated[c.memory]) for c in candidates], config)
    weighed.sort(key=_order)
    places = config.knowledge_k if knowledge else config.history_k
    if about_dialogue:
        places = max(places, config.dialogue_k)
    decisions = []
    for rank, item in enumerate(weighed):
        reason: Reason = "kept"
        if item.gated.verdict != "passed":
            reason = item.gated.verdict
        elif item.candidate.memory in window:
            reason = "in the window"
        elif item.final < config.final_threshold:
            reason = "below the threshold"
        elif places == 0:
            reason = "beyond top-k"
        else:
            places -= 1
        decisions.append(Decision(item, rank, reason))
    return decisions


def _order(item: Weighed) -> tuple[float, float, float, str]:
    at = item.candidate.at.timestamp() if item.candidate.at else 0.0
    return (-item.final, -(item.round or 0), -at, item.candidate.memory)


def evidence_budget(config: GovernanceConfig, *, about_dialogue: bool) -> int:
    """Most tokens of evidence: more for a question about the dialogue itself, which many memories answer together."""
    return int(config.evidence_budget * config.dialogue_budget) if about_dialogue else config.evidence_budget


def within_budget(decisions: Sequence[Decision], budget: int, count: Callable[[str], int]) -> list[Decision]:
    """The decisions, with kept evidence dropped from the lowest final score on until `budget` tokens hold it.

    `count` gives the tokens of one item as the prompt shows it. An item too long for what is left is dropped and
    the next one tried. Order is unchanged. What is corrected by a dropped item is dropped with it: it would stand
    there as if it still held.
    """
    costs = {id(d): count(d.weighed.candidate.text) for d in decisions if d.kept}
    spent, fits = 0, set()
    dropped: set[str | None] = set()
    for decision in sorted((d for d in decisions if d.kept), key=lambda d: _order(d.weighed)):
        candidate = decision.weighed.candidate
        if spent + costs[id(decision)] <= budget and candidate.superseded_by not in dropped:
            spent += costs[id(decision)]
            fits.add(id(decision))
        else:
            dropped.add(candidate.memory)
    return [
        Decision(d.weighed, d.rank, d.reason if id(d) in fits else "over the token budget", costs[id(d)])
        if d.kept
        else d
        for d in decisions
    ]
