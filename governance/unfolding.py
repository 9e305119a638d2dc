"""Temporal unfolding: evidence in the order it was lived, with labels, dates and relative cues.

The text of a memory is never shortened or rewritten here. Pure functions; times are shown in the person's timezone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Literal

from governance.decay import Moment
from governance.selection import Decision
from retrieval.text import Language

Fidelity = Literal["FULL", "COMPRESSED", "LATENT", "PLACEHOLDER"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A memory in the prompt: its label ("E1"), what is shown, and its cue ("2023-05-08, 3 rounds ago, yesterday")."""

    label: str
    memory: str
    route: Literal["knowledge", "experience"]
    source: str
    text: str
    cue: str
    fidelity: Fidelity
    tokens: int
    similarity: float = 0.0


def unfold(
    decisions: Sequence[Decision],
    moment: Moment,
    zone: tzinfo,
    language: Language,
    *,
    chronological: bool,
    cues: bool,
) -> list[Evidence]:
    """The kept decisions as labelled evidence: by round, then by time, oldest first (or best first).

    Documents come before experiences of the same round; the order of ties is by memory id, so a replay agrees.
    """
    kept = [d for d in decisions if d.kept]
    kept.sort(key=_lived if chronological else _score)
    return [_evidence(number, d, moment, zone, language, cues) for number, d in enumerate(kept, 1)]


def _lived(decision: Decision) -> tuple[int, float, int, str]:
    candidate = decision.weighed.candidate
    at = candidate.at.timestamp() if candidate.at else float("-inf")
    return (decision.weighed.round or 0, at, int(candidate.route == "experience"), candidate.memory)


def _score(decision: Decision) -> tuple[float, str]:
    return (-decision.weighed.final, decision.weighed.candidate.memory)


def _evidence(
    number: int, decision: Decision, moment: Moment, zone: tzinfo, language: Language, cues: bool
) -> Evidence:
    candidate = decision.weighed.candidate
    return Evidence(
        label=f"E{number}",
        memory=candidate.memory,
        route=candidate.route,
        source=candidate.source,
        text=candidate.text,
        cue=cue(decision, moment, zone, language) if cues else "",
        fidelity="FULL",
        tokens=decision.tokens or 0,
        similarity=candidate.similarity,
    )


def cue(decision: Decision, moment: Moment, zone: tzinfo, language: Language) -> str:
    """When a memory was lived: its date, and how far back in rounds (experience only) and days that is."""
    parts = []
    candidate, ago = decision.weighed.candidate, decision.weighed.rounds_ago
    if candidate.at is not None:
        parts.append(f"{candidate.at.astimezone(zone):%Y-%m-%d %H:%M}")
    if candidate.route == "experience" and ago is not None:
        parts.append(rounds_cue(ago, language))
    if candidate.at is not None:
        parts.append(days_cue(candidate.at, moment.at, zone, language))
    return ("，" if language == "zh" else ", ").join(parts)


def rounds_cue(rounds: int, language: Language) -> str:
    """A distance in rounds, in words."""
    if language == "zh":
        return "本轮" if rounds == 0 else "上一轮" if rounds == 1 else f"{rounds}轮之前"
    return "this round" if rounds == 0 else "last round" if rounds == 1 else f"{rounds} rounds ago"


_NEAR_DAYS = {
    "en": {-1: "tomorrow", 0: "today", 1: "yesterday"},
    "zh": {-1: "明天", 0: "今天", 1: "昨天", 2: "前天"},
}


def days_cue(at: datetime, now: datetime, zone: tzinfo, language: Language) -> str:
    """A distance in calendar days of `zone`, in words: "yesterday" is the date before today's, not 24 hours ago."""
    days = (now.astimezone(zone).date() - at.astimezone(zone).date()).days
    if days in _NEAR_DAYS[language]:
        return _NEAR_DAYS[language][days]
    if language == "zh":
        return f"{days}天前" if days > 0 else f"{-days}天后"
    return f"{days} days ago" if days > 0 else f"in {-days} days"
