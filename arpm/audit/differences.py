"""Two recorded turns, or two runs of turns, side by side: what they were shown, under what, and what came of it.

Pure functions over the bodies of `turn` events.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from arpm.audit.counterfactual import moved, overlap, rank_correlation
from arpm.events import Event
from governance.config import GovernanceConfig
from retrieval.text import sentences

# Pieces of both texts together; comparing takes up to the square of that.
MOST_PIECES = 4000
# Chinese and Japanese have no spaces between words: each character is a piece. Korean has.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PIECES = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|\W")


@dataclass(frozen=True, slots=True)
class ShownDifference:
    """A memory of either turn's evidence: its label and final score in each, None where it was not shown."""

    memory: str
    labels: tuple[str | None, str | None]
    finals: tuple[float | None, float | None]
    change: str


@dataclass(frozen=True, slots=True)
class TurnDifference:
    """Two turns. Pairs hold the first turn's value, then the second's; `facts` only those that differ."""

    turns: tuple[str, str]
    facts: Mapping[str, tuple[Any, Any]]
    config: Mapping[str, Mapping[str, Any]]
    evidence: tuple[ShownDifference, ...]
    overlap: float
    correlation: float | None
    replies: tuple[str, str]
    cited: tuple[tuple[str, ...], tuple[str, ...]]
    tokens: tuple[int, int]
    seconds: tuple[float, float]

    @property
    def same(self) -> bool:
        """Whether both were shown the same evidence and answered the same."""
        return all(item.change == "same" for item in self.evidence) and self.replies[0] == self.replies[1]


def turn_difference(first: Event, second: Event) -> TurnDifference:
    """Compare two committed turns. Raises ValueError when one is not a committed turn or was erased."""
    one, two = _body(first), _body(second)
    mine, theirs = _evidence(one), _evidence(two)
    shifted = set(moved(list(mine), list(theirs)))
    finals = (_finals(one), _finals(two))
    shown = [
        ShownDifference(
            memory,
            (mine.get(memory), theirs.get(memory)),
            (finals[0].get(memory), finals[1].get(memory)),
            _change(memory, mine, theirs, shifted),
        )
        for memory in {**mine, **theirs}
    ]
    facts = {
        name: pair
        for name, pair in {
            "round": (one["round"], two["round"]),
            "message": (one["message"], two["message"]),
            "model": (one["backend"]["model"], two["backend"]["model"]),
            "preset": (one["preset"], two["preset"]),
            "embedder": (one["embedder"]["name"], two["embedder"]["name"]),
            "instructions": (one["instructions_shown"], two["instructions_shown"]),
            "window": (one["window"], two["window"]),
            "violations": (_kinds(one), _kinds(two)),
            "repairs": ([r["rung"] for r in one["repairs"]], [r["rung"] for r in two["repairs"]]),
            "admitted": (one["admission"]["admitted"], two["admission"]["admitted"]),
        }.items()
        if pair[0] != pair[1]
    }
    return TurnDifference(
        turns=(first.id, second.id),
        facts=facts,
        config=GovernanceConfig.of_record(one["config"]).differences(GovernanceConfig.of_record(two["config"])),
        evidence=tuple(shown),
        overlap=overlap(list(mine), list(theirs), max(len(mine), len(theirs), 1)),
        correlation=rank_correlation(*finals),
        replies=(one["response"], two["response"]),
        cited=(tuple(one["cited"]), tuple(two["cited"])),
        tokens=(one["prompt"]["tokens"], two["prompt"]["tokens"]),
        seconds=(sum(one["timings"].values()), sum(two["timings"].values())),
    )


@dataclass(frozen=True, slots=True)
class RunDifference:
    """Two runs by round: the rounds both have, and those only one has."""

    turns: tuple[TurnDifference, ...]
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]


def run_difference(first: Sequence[Event], second: Sequence[Event]) -> RunDifference:
    """Compare two runs round by round; of a round that was answered again, the reply that holds."""
    one, two = _by_round(first), _by_round(second)
    return RunDifference(
        tuple(turn_difference(one[round], two[round]) for round in sorted(one.keys() & two.keys())),
        tuple(sorted(one.keys() - two.keys())),
        tuple(sorted(two.keys() - one.keys())),
    )


def _by_round(events: Sequence[Event]) -> dict[int, Event]:
    return {event.body["round"]: event for event in events if event.kind == "turn" and event.body is not None}


def _body(event: Event) -> dict[str, Any]:
    if event.kind != "turn" or event.body is None:
        raise ValueError(f"event {event.id} is no committed turn, or was erased")
    return event.body


def _evidence(body: Mapping[str, Any]) -> dict[str, str]:
    """Label by memory, in prompt order."""
    return {item["memory"]: item["label"] for item in body["evidence"]}


def _finals(body: Mapping[str, Any]) -> dict[str, float]:
    return {row["memory"]: row["final"] for rows in body["candidates"].values() for row in rows}


def _kinds(body: Mapping[str, Any]) -> list[str]:
    return [violation["kind"] for violation in body["violations"]]


def _change(memory: str, mine: Mapping[str, str], theirs: Mapping[str, str], shifted: set[str]) -> str:
    if memory not in theirs:
        return "only the first"
    if memory not in mine:
        return "only the second"
    return "moved" if memory in shifted else "same"


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of two texts put into one: what both say, or the first alone, or the second alone."""

    of: Literal["both", "first", "second"]
    text: str


def word_difference(first: str, second: str) -> tuple[Stretch, ...]:
    """Two texts as one, word by word; sentence by sentence where they are long, as wholes where very long.

    The stretches of "both" and "first" together are the first text, those of "both" and "second" the second.
    """
    one, two = _PIECES.findall(first), _PIECES.findall(second)
    if len(one) + len(two) > MOST_PIECES:
        one, two = _sentences(first), _sentences(second)
    if len(one) + len(two) > MOST_PIECES:
        one, two = [first], [second]
    found: list[Stretch] = []
    for action, a, b, c, d in difflib.SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        if action == "equal":
            found.append(Stretch("both", "".join(one[a:b])))
            continue
        found += [Stretch("first", "".join(one[a:b]))] if a < b else []
        found += [Stretch("second", "".join(two[c:d]))] if c < d else []
    return tuple(found)


def _sentences(text: str) -> list[str]:
    """A text cut where its sentences begin, with nothing lost."""
    begins = [span.start for span in sentences(text)]
    # What stands before the first sentence is white space, and belongs to it.
    borders = [0, *begins[1:], len(text)]
    return [text[start:end] for start, end in pairwise(borders)]
