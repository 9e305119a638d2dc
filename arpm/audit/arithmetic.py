"""The arithmetic of one recorded turn, done again from the numbers in its own record.

Every score that follows from others in the record is computed with the same pure functions that a turn uses and
compared exactly: JSON keeps a double as it is. Needs no index, no embedder and no model. What the record alone cannot
settle (who stood beside a memory when it was lent a score) is left to the replay of the search. Knows nothing about
files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from arpm.record import judgement_of
from governance.config import GovernanceConfig
from governance.decay import Moment
from governance.dialogue_questions import about_dialogue
from governance.focus import scored
from governance.history import Message, Placed
from governance.policy import decided_with, searched_with, shows_messages_as_evidence
from governance.selection import Decision, decide, evidence_budget, within_budget
from governance.unfolding import unfold
from retrieval.candidates import Candidate, Route
from retrieval.corrections import least_kinship
from retrieval.fusion import (
    calibrated_similarity,
    convex_score,
    lowered_to_one,
    nearness_to_best,
    reciprocal_rank_fusion,
)
from retrieval.text import language

ROUTES: tuple[Route, ...] = ("knowledge", "experience")
# A sum of lent scores may have been added up in another order than here.
_CLOSE = 1e-12


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A number or word of a record that does not follow from the rest: where, what is there, what would follow."""

    place: str
    recorded: Any
    expected: Any


def disagreements(body: Mapping[str, Any], at: datetime, timezone: str) -> list[Disagreement]:
    """Everything in the body of a `turn` event that its other parts contradict. `at` is the event's time."""
    config = searched_with(GovernanceConfig.of_record(body["config"]))
    moment = Moment(body["round"], at)
    found: list[Disagreement] = []
    decisions: list[Decision] = []
    of_dialogue = about_dialogue(body["message"], decided_with(config))
    found += _same("about_dialogue", body["about_dialogue"], of_dialogue)
    for route in ROUTES:
        rows = body["candidates"][route]
        found += _base_scores(route, rows, config, body["embedder"]["c0"])
        if route == "experience":
            found += _corrections(rows, config)
        settings = decided_with(config) if route == "experience" else config
        decided = _decided(route, rows, moment, settings, of_dialogue)
        found += _decisions(route, rows, decided)
        decisions += decided
    return [*found, *_focus(body, config), *_evidence(body, decisions, moment, timezone, config)]


def _base_scores(
    route: Route, rows: Sequence[Mapping[str, Any]], config: GovernanceConfig, c0: float
) -> Iterator[Disagreement]:
    """Similarity, RRF, normalisation, bonuses and base score of every candidate (paper equations 1 and 3 to 6)."""
    k = config.knowledge_rrf_k if route == "knowledge" else config.history_rrf_k
    highest = max((row["fused"] for row in rows), default=0.0)
    by_words = route == "experience" and config.policy == "bm25"
    most = max((row["bm25"] for row in rows), default=0.0) if by_words else 0.0
    nearness = _nearness(rows, config, c0) if route == "experience" else {}
    own = {
        row["memory"]: reciprocal_rank_fusion(row["ranks"].values(), k)
        + config.convex_weight * nearness.get(row["memory"], 0.0)
        for row in rows
    }
    bases: dict[str, float] = {}
    for row in rows:
        place = f"candidates.{route}[{row['memory']}]"
        yield from _same(f"{place}.similarity", row["similarity"], calibrated_similarity(row["cosine"], c0))
        yield from _same(f"{place}.nearness", row.get("nearness"), nearness.get(row["memory"]))
        yield from _fusion(route, row, own, config)
        by_cosine = route == "experience" and config.experience_base == "cosine"
        expected = row["similarity"] if by_cosine else row["fused"] / highest if highest > 0 else 0.0
        if by_words:
            expected = row["bm25"] / most if most > 0 else 0.0
        yield from _same(f"{place}.normalised", row["normalised"], expected)
        for name, value in row["bonuses"].items():
            prefix = "knowledge" if route == "knowledge" else "history"
            yield from _same(f"{place}.bonuses.{name}", value, getattr(config, f"{prefix}_bonus_{name}", None))
        bases[row["memory"]] = row["normalised"] + sum(row["bonuses"].values())
    if route == "knowledge":
        bases = lowered_to_one(bases)
    for row in rows:
        yield from _same(f"candidates.{route}[{row['memory']}].base", row["base"], bases[row["memory"]])


def _nearness(rows: Sequence[Mapping[str, Any]], config: GovernanceConfig, c0: float) -> dict[str, float]:
    """How near the scores of each candidate that a lane found are to the best, which is among them."""
    if config.history_fusion == "rrf":
        return {}
    found = [row for row in rows if row["ranks"]]
    most = max((row["bm25"] or 0.0 for row in found), default=0.0)
    scores = {
        row["memory"]: convex_score(
            row["similarity"],
            calibrated_similarity(row.get("context_cosine") or 0.0, c0),
            (row["bm25"] or 0.0) / most if most > 0 else 0.0,
            config.convex_context,
            config.convex_words,
        )
        for row in found
    }
    return nearness_to_best(scores, config.convex_width)


def _corrections(rows: Sequence[Mapping[str, Any]], config: GovernanceConfig) -> Iterator[Disagreement]:
    """A correction is another candidate, no earlier, and near enough. What it says the record does not repeat."""
    rounds = {row["memory"]: row["round"] for row in rows}
    least = least_kinship(config.correction_kinship)
    for row in rows:
        later, place = row.get("superseded_by"), f"candidates.experience[{row['memory']}]"
        if later is None:
            yield from _same(f"{place}.kinship", row.get("kinship"), None)
        elif not config.corrections_enabled or later not in rounds or later == row["memory"]:
            yield Disagreement(f"{place}.superseded_by", later, None)
        elif (rounds[later] or 0) < (row["round"] or 0):
            yield Disagreement(f"{place}.superseded_by", later, "a memory of a later round")
        elif row.get("kinship") is None or row["kinship"] < least:
            yield Disagreement(f"{place}.kinship", row.get("kinship"), f"{least} or more")


def _fusion(
    route: Route, row: Mapping[str, Any], own: Mapping[str, float], config: GovernanceConfig
) -> Iterator[Disagreement]:
    """The RRF sum. An experience may have been lent part of the scores of the one or two turns beside it.

    `lent_by` is the better of them; the other one is not named, so only the borders of what was lent are known.
    """
    lent = row["fused"] - own[row["memory"]]
    least = most = 0.0
    if route == "experience" and row["lent_by"] is not None:
        least = config.neighbour_share * own.get(row["lent_by"], 0.0)
        most = 2 * least if row["lent_by"] in own else math.inf
    if not least - _CLOSE <= lent <= most + _CLOSE:
        yield Disagreement(f"candidates.{route}[{row['memory']}].fused", row["fused"], own[row["memory"]] + least)


def _decided(
    route: Route, rows: Sequence[Mapping[str, Any]], moment: Moment, config: GovernanceConfig, of_dialogue: bool
) -> list[Decision]:
    """Gate, weights, order, threshold and top-k, from the recorded base scores."""
    rounds = {row["memory"]: row["round"] for row in rows}
    window = {row["memory"] for row in rows if row["reason"] == "in the window"}
    candidates = [_candidate(route, row) for row in rows]
    return decide(
        candidates,
        moment,
        config,
        round_of=lambda c: rounds[c.memory],
        window=window,
        about_dialogue=of_dialogue,
    )


def _candidate(route: Route, row: Mapping[str, Any]) -> Candidate:
    return Candidate(
        memory=row["memory"],
        route=route,
        text=row["memory"],
        round=row["round"],
        at=datetime.fromisoformat(row["at"]) if row["at"] else None,
        source="",
        cosine=row["cosine"],
        similarity=row["similarity"],
        bm25=row["bm25"],
        coverage=row["coverage"],
        ranks=row["ranks"],
        fused=row["fused"],
        lent_by=row["lent_by"],
        normalised=row["normalised"],
        bonuses=row["bonuses"],
        base=row["base"],
        superseded_by=row.get("superseded_by"),
    )


_WEIGHTS = ("rounds_ago", "hours_ago", "round_weight", "clock_weight", "weight", "final")


def _decisions(route: Route, rows: Sequence[Mapping[str, Any]], decided: Sequence[Decision]) -> Iterator[Disagreement]:
    """Weights and finals (paper equations 7 to 11), order, and the verdict on each, as far as the token budget."""
    order = [decision.weighed.candidate.memory for decision in decided]
    yield from _same(f"candidates.{route} (order)", [row["memory"] for row in rows], order)
    by_memory = {decision.weighed.candidate.memory: decision for decision in decided}
    for row in rows:
        decision, place = by_memory[row["memory"]], f"candidates.{route}[{row['memory']}]"
        for name in _WEIGHTS:
            yield from _same(f"{place}.{name}", row[name], getattr(decision.weighed, name))
        yield from _same(f"{place}.rank", row["rank"], decision.rank)
        yield from _same(f"{place}.relevance", row["relevance"], decision.weighed.gated.relevance)
        yield from _same(f"{place}.relevant", row["relevant"], decision.weighed.gated.verdict == "passed")
        yield from _same(f"{place}.kept", row["kept"], row["reason"] == "kept")
        if not (decision.kept and row["reason"] == "over the token budget"):
            yield from _same(f"{place}.reason", row["reason"], decision.reason)


def _evidence(
    body: Mapping[str, Any], decisions: Sequence[Decision], moment: Moment, timezone: str, config: GovernanceConfig
) -> Iterator[Disagreement]:
    """The token budget, and the evidence in its order with labels and cues."""
    rows = {row["memory"]: row for route in ROUTES for row in body["candidates"][route]}
    known = [decision for decision in decisions if not decision.kept or rows[_memory(decision)]["tokens"] is not None]
    if len(known) < len(decisions):
        yield Disagreement("candidates (tokens)", None, "the tokens of every candidate that passed the other rules")
        return
    # A candidate's text is its id here, so that its recorded tokens can be found.
    budget = evidence_budget(config, about_dialogue=about_dialogue(body["message"], decided_with(config)))
    budgeted = within_budget(decisions, budget, lambda memory: rows[memory]["tokens"])
    for decision in budgeted:
        row = rows[_memory(decision)]
        yield from _same(f"candidates[{row['memory']}].reason", row["reason"], decision.reason)
    zone, lang = ZoneInfo(timezone), language(body["message"])
    shown = unfold(
        budgeted,
        moment,
        zone,
        lang,
        chronological=config.chronological,
        cues=config.time_cues,
        placed=list(_shown_messages(body)) if shows_messages_as_evidence(config) else (),
    )
    names = ("label", "memory", "route", "part", "fidelity", "tokens", "cue")
    expected = [{name: getattr(item, name) for name in names} for item in shown]
    recorded = [{name: item.get(name) for name in names} for item in body["evidence"]]
    if recorded == expected:
        return
    yield from _same("evidence (labels)", [i["label"] for i in recorded], [i["label"] for i in expected])
    yield from _same("evidence (memories)", [i["memory"] for i in recorded], [i["memory"] for i in expected])
    for mine, theirs in zip(recorded, expected, strict=False):
        for name in ("route", "part", "fidelity", "tokens", "cue"):
            yield from _same(f"evidence[{mine['label']}].{name}", mine[name], theirs[name])


def _shown_messages(body: Mapping[str, Any]) -> Iterator[Placed]:
    """The earlier messages that have a line in the prompt, without their words."""
    for row in body["history"]:
        if row["fidelity"] is None or row["tokens"] == 0:
            continue
        at = datetime.fromisoformat(row["at"]) if row["at"] else None
        message = Message(row["part"], row["round"], row["memory"], row["memory"], at)
        yield Placed(message, row["fidelity"], row["memory"], row["tokens"], row["reason"])


def _focus(body: Mapping[str, Any], config: GovernanceConfig) -> Iterator[Disagreement]:
    """Recency, score and intended fidelity of every message (AFM paper, sections 3.2 and 3.3)."""
    for row in body["history"]:
        focus = row["focus"]
        if focus is None:
            continue
        expected = scored([judgement_of(focus)], [body["round"] - row["round"]], config)[0]
        yield from compared(f"history[{row['round']}, {row['part']}]", focus, expected._asdict())


def _memory(decision: Decision) -> str:
    return decision.weighed.candidate.memory


def _name(item: Any, number: int) -> Any:
    """What a row is called: its label or memory where it has one."""
    return (item.get("label") or item.get("memory") or number) if isinstance(item, Mapping) else number


def _same(place: str, recorded: Any, expected: Any) -> Iterator[Disagreement]:
    # 1.0 is written as 1, and read back as such.
    if recorded != expected:
        yield Disagreement(place, recorded, expected)


def compared(place: str, recorded: Any, expected: Any) -> Iterator[Disagreement]:
    """The parts of two JSON values that differ, each by its place."""
    if isinstance(recorded, Mapping) and isinstance(expected, Mapping):
        for key in {**recorded, **expected}:
            yield from compared(f"{place}.{key}" if place else key, recorded.get(key), expected.get(key))
    elif isinstance(recorded, list) and isinstance(expected, list) and len(recorded) == len(expected):
        for number, (mine, theirs) in enumerate(zip(recorded, expected, strict=True)):
            yield from compared(f"{place}[{_name(mine, number)}]", mine, theirs)
    else:
        yield from _same(place, recorded, expected)
