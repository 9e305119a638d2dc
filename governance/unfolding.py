"""Temporal unfolding: evidence in the order it was lived, with labels, dates and relative cues.

The text of a memory is never shortened or rewritten here. Pure functions; times are shown in the person's timezone.
What can be cited is labelled E1, E2 …; what only stands for something that is not shown, P1, P2 …
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Literal

from governance.decay import Moment, rounds_between
from governance.history import Fidelity, Placed, Speaker
from governance.selection import Decision
from retrieval.text import Language


@dataclass(frozen=True, slots=True)
class Evidence:
    """A memory in the prompt: its label ("E1"), what is shown, and its cue ("2023-05-08, 3 rounds ago, yesterday").

    `part` says whose words are shown where it is one side of a remembered round.
    """

    label: str
    memory: str
    route: Literal["knowledge", "experience"]
    source: str
    text: str
    cue: str
    fidelity: Fidelity
    tokens: int
    similarity: float = 0.0
    part: Speaker | None = None


def unfold(
    decisions: Sequence[Decision],
    moment: Moment,
    zone: tzinfo,
    language: Language,
    *,
    chronological: bool,
    cues: bool,
    placed: Sequence[Placed] = (),
) -> list[Evidence]:
    """The kept decisions and placed messages as labelled evidence: by round and time, oldest first (or best first).

    Documents come before experiences of the same round; the order of ties is by memory id, so a replay agrees.
    Messages stay in the order they were said in.
    """
    kept = sorted((d for d in decisions if d.kept), key=_lived if chronological else _score)
    found = [(_lived(d), _evidence(d, moment, zone, language, cues)) for d in kept]
    said = [(_said(item), _message(item, moment, zone, language, cues)) for item in placed if item.text]
    if placed and chronological:
        found = sorted([*found, *said], key=lambda pair: pair[0])
    else:
        found += said
    return _labelled([item for _, item in found])


_Lived = tuple[int, float, int, str]


def _lived(decision: Decision) -> _Lived:
    candidate = decision.weighed.candidate
    at = candidate.at.timestamp() if candidate.at else float("-inf")
    return (decision.weighed.round or 0, at, int(candidate.route == "experience"), candidate.memory)


def _said(item: Placed) -> _Lived:
    at = item.message.at.timestamp() if item.message.at else float("-inf")
    return (item.message.round, at, 1, item.message.memory or "")


def _score(decision: Decision) -> tuple[float, str]:
    return (-decision.weighed.final, decision.weighed.candidate.memory)


def _labelled(items: Sequence[Evidence]) -> list[Evidence]:
    """The items with their labels: those that show something and those that stand for something are counted apart."""
    labelled, numbers = [], {"E": 0, "P": 0}
    for item in items:
        letter = "P" if item.fidelity == "PLACEHOLDER" else "E"
        numbers[letter] += 1
        labelled.append(replace(item, label=f"{letter}{numbers[letter]}"))
    return labelled


def _evidence(decision: Decision, moment: Moment, zone: tzinfo, language: Language, cues: bool) -> Evidence:
    candidate = decision.weighed.candidate
    ago = decision.weighed.rounds_ago if candidate.route == "experience" else None
    return Evidence(
        label="",
        memory=candidate.memory,
        route=candidate.route,
        source=candidate.source,
        text=candidate.text,
        cue=cue(candidate.at, ago, moment, zone, language) if cues else "",
        fidelity="FULL",
        tokens=decision.tokens or 0,
        similarity=candidate.similarity,
    )


def _message(item: Placed, moment: Moment, zone: tzinfo, language: Language, cues: bool) -> Evidence:
    message, ago = item.message, rounds_between(moment, item.message.round)
    assert item.fidelity is not None and message.memory is not None
    stands_for = item.fidelity == "PLACEHOLDER"
    return Evidence(
        label="",
        memory=message.memory,
        route="experience",
        source="",
        text=item.text if stands_for else message.said(item.text),
        cue=cue(message.at, ago, moment, zone, language) if cues and not stands_for else "",
        fidelity=item.fidelity,
        tokens=item.tokens,
        similarity=item.focus.similarity if item.focus else 0.0,
        part=message.speaker,
    )


def cue(at: datetime | None, rounds_ago: int | None, moment: Moment, zone: tzinfo, language: Language) -> str:
    """When a memory was lived: its date, and how far back in rounds (experience only) and days that is."""
    parts = []
    if at is not None:
        parts.append(f"{at.astimezone(zone):%Y-%m-%d %H:%M}")
    if rounds_ago is not None:
        parts.append(rounds_cue(rounds_ago, language))
    if at is not None:
        parts.append(days_cue(at, moment.at, zone, language))
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
