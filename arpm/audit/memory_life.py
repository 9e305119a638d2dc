"""The life of memories on a timeline: which turn was shown which, how its weight fell, and which replies cited it.

Read from the turn records alone. A memory that search did not bring back has no weight in that turn. Under adaptive
focus, which searches nothing, its weight is the recency of the better of its two messages, its score that message's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from arpm.events import Event
from governance.decay import Moment, hours_between


@dataclass(frozen=True, slots=True)
class Sighting:
    """A memory among the candidates of a turn: its weights, scores and what became of it there."""

    turn: str
    round: int
    at: datetime
    rounds_ago: int | None
    hours_ago: float | None
    round_weight: float
    clock_weight: float
    weight: float
    base: float
    final: float
    reason: str
    label: str | None
    cited: bool
    bound: bool


def lives(events: Iterable[Event], memories: frozenset[str] | None = None) -> dict[str, list[Sighting]]:
    """The sightings of every memory, or of some, by memory id, each in the order of the turns."""
    found: dict[str, list[Sighting]] = {}
    for event in events:
        body = event.body
        if event.kind != "turn" or body is None:
            continue
        labels = {item["memory"]: item["label"] for item in body["evidence"]}
        for memory, sighting in _focused(event, body):
            if memories is None or memory in memories:
                found.setdefault(memory, []).append(sighting)
        for rows in body["candidates"].values():
            for row in rows:
                memory = row["memory"]
                if memories is not None and memory not in memories:
                    continue
                label = labels.get(memory)
                found.setdefault(memory, []).append(
                    Sighting(
                        turn=event.id,
                        round=body["round"],
                        at=event.at,
                        rounds_ago=row["rounds_ago"],
                        hours_ago=row["hours_ago"],
                        round_weight=row["round_weight"],
                        clock_weight=row["clock_weight"],
                        weight=row["weight"],
                        base=row["base"],
                        final=row["final"],
                        reason=row["reason"],
                        label=label,
                        cited=label in body["cited"],
                        bound=label in body["bound"],
                    )
                )
    return found


def _focused(event: Event, body: Mapping[str, Any]) -> Iterator[tuple[str, Sighting]]:
    """The memories whose messages adaptive focus scored; shown is one of which more than a placeholder was shown."""
    best: dict[str, Mapping[str, Any]] = {}
    for row in body["history"]:
        memory = row["memory"]
        if row["focus"] and (memory not in best or row["focus"]["score"] > best[memory]["focus"]["score"]):
            best[memory] = row
    labels: dict[str, list[str]] = {}
    for item in body["evidence"]:
        if item["fidelity"] != "PLACEHOLDER":
            labels.setdefault(item["memory"], []).append(item["label"])
    for memory, row in best.items():
        at, focus = datetime.fromisoformat(row["at"]) if row["at"] else None, row["focus"]
        own = labels.get(memory, [])
        yield (
            memory,
            Sighting(
                turn=event.id,
                round=body["round"],
                at=event.at,
                rounds_ago=body["round"] - row["round"],
                hours_ago=hours_between(Moment(body["round"], event.at), at),
                round_weight=focus["recency"],
                clock_weight=1.0,
                weight=focus["recency"],
                base=focus["similarity"],
                final=focus["score"],
                reason=row["reason"],
                label=own[0] if own else None,
                cited=not set(own).isdisjoint(body["cited"]),
                bound=not set(own).isdisjoint(body["bound"]),
            ),
        )


def shown(sightings: Iterable[Sighting]) -> list[Sighting]:
    """Those in which the memory was in the prompt."""
    return [sighting for sighting in sightings if sighting.label is not None]


@dataclass(frozen=True, slots=True)
class Outline:
    """The life of a memory in one line: in how many turns it was a candidate, shown, and cited.

    Rounds and weights are of the first and the last turn that showed it; of one that was never shown, of the first and
    the last that had it among its candidates.
    """

    memory: str
    candidate: int
    shown: int
    cited: int
    first_round: int
    last_round: int
    first_weight: float
    last_weight: float


def outlines(found: Mapping[str, Sequence[Sighting]]) -> list[Outline]:
    """The lives of memories in short, those that were shown most often first, then as they first came up."""
    rows = [_outline(memory, sightings) for memory, sightings in found.items() if sightings]
    return sorted(rows, key=lambda row: -row.shown)


def _outline(memory: str, sightings: Sequence[Sighting]) -> Outline:
    seen = shown(sightings)
    told = seen or sightings
    return Outline(
        memory=memory,
        candidate=len(sightings),
        shown=len(seen),
        cited=sum(item.cited for item in seen),
        first_round=told[0].round,
        last_round=told[-1].round,
        first_weight=told[0].weight,
        last_weight=told[-1].weight,
    )
