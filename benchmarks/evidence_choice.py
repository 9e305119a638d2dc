"""The embedded model on a labelled set of our own: does it choose the right one of four notes, and is its answer right?

138 questions, half English and half Chinese: "plain" ones; "corrected" ones, where an older note says otherwise; and
some that no note answers. Gold notes are spread evenly over the four places, and over the ranks of length, because a
first version of the set could be solved by taking the longest note. The dev split was used for tuning.

An answer is right when the response holds one of the accepted strings. The rows without a model show what a shortcut
would reach, and what cosine of the default embedder reaches on the same notes.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from arpm.generation.base import GenerationRequest, Sampling
from arpm.generation.local import LocalBackend
from arpm.prompt import PromptParts, build, shown_evidence
from arpm.protocol import parse
from benchmarks.report import main as report_main
from benchmarks.report import table
from governance.decay import Moment
from governance.unfolding import Evidence
from retrieval.embedding import load_embedder
from retrieval.fusion import calibrated_similarity
from retrieval.tokens import tokenize

ITEMS = Path(__file__).parent / "data" / "evidence_choice.jsonl"
NOTES = 4
_NOW = Moment(251, datetime(2023, 10, 2, 9, tzinfo=UTC))
_QUICK = 8


@dataclass(frozen=True, slots=True)
class Item:
    """One question of the set. `gold` is the place of the note that answers it, None when none does."""

    id: str
    lang: str
    split: str
    kind: str
    question: str
    cues: tuple[str, ...]
    texts: tuple[str, ...]
    gold: int | None
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the model did with one item. `first` is the time the choice took, in seconds."""

    item: Item
    chosen: int | None
    answered: bool
    first: float
    seconds: float


def items() -> list[Item]:
    """Read the set."""
    return [_item(json.loads(line)) for line in ITEMS.read_text(encoding="utf-8").splitlines()]


def _item(row: dict[str, Any]) -> Item:
    notes = row["notes"]
    return Item(
        **{name: row[name] for name in ("id", "lang", "split", "kind", "question", "gold")},
        cues=tuple(note["cue"] for note in notes),
        texts=tuple(note["text"] for note in notes),
        answers=tuple(row["answers"]),
    )


def request(backend: LocalBackend, item: Item, similarities: Sequence[float]) -> GenerationRequest:
    """The request a turn would make: the compact prompt with all notes, the best one and the question last, greedy."""
    evidence = [
        Evidence(f"E{place}", item.id, "experience", "", text, cue, "FULL", 0, similarity)
        for place, (text, cue, similarity) in enumerate(zip(item.texts, item.cues, similarities, strict=True), 1)
    ]
    shown = shown_evidence(evidence)
    ranking = backend.rank(item.question, shown)
    parts = PromptParts(
        style="compact",
        user="user",
        character="Mei",
        persona="A calm friend who remembers.",
        instructions=(),
        moment=_NOW,
        last_at=_NOW.at - timedelta(days=1),
        timezone="UTC",
        time_cues=True,
        protocol=True,
        evidence=tuple(evidence),
        window=(),
        message=item.question,
        lead=ranking[0],
    )
    return GenerationRequest(build(parts), Sampling(temperature=0, timeout=600), item.question, shown, ranking)


def ask(backend: LocalBackend, item: Item, similarities: Sequence[float]) -> Outcome:
    """One item through the backend, as in a turn."""
    start = time.perf_counter()
    asked = request(backend, item, similarities)
    chosen = time.perf_counter() - start
    generation = backend.generate(asked, lambda piece: None, threading.Event())
    parsed = parse(generation.text, [f"E{place + 1}" for place in range(len(item.texts))])
    response = parsed.response.casefold()
    return Outcome(
        item,
        int(parsed.cited[0][1:]) - 1 if parsed.cited else None,
        any(answer.casefold() in response for answer in item.answers),
        chosen,
        chosen + generation.seconds,
    )


def _rate(values: Iterable[bool]) -> float:
    return round(statistics.fmean(values), 3)


def _model_rows(outcomes: Sequence[Outcome]) -> list[list[Any]]:
    groups: dict[tuple[str, str, str], list[Outcome]] = {}
    for outcome in outcomes:
        item = outcome.item
        if item.gold is not None:
            for kind in ("all", item.kind):
                groups.setdefault((item.split, item.lang, kind), []).append(outcome)
                groups.setdefault((item.split, "both", kind), []).append(outcome)
    return [
        [
            *group,
            len(members),
            1 / NOTES,
            _rate(outcome.chosen == outcome.item.gold for outcome in members),
            _rate(outcome.answered for outcome in members),
        ]
        for group, members in sorted(groups.items())
    ]


def similarities_of(chosen: Sequence[Item]) -> dict[str, list[float]]:
    """The calibrated similarity of each item's notes to its question, by the default embedder."""
    embedder = load_embedder("e5")
    queries = embedder.encode_query([item.question for item in chosen])
    notes = embedder.encode_document([text for item in chosen for text in item.texts])
    return {
        item.id: [
            calibrated_similarity(float(cosine), embedder.c0)
            for cosine in notes[number * NOTES : (number + 1) * NOTES] @ queries[number]
        ]
        for number, item in enumerate(chosen)
    }


def _shared_words(item: Item) -> int:
    asked = set(tokenize(item.question))
    return max(range(NOTES), key=lambda place: (len(asked & set(tokenize(item.texts[place]))), place))


def _baseline_rows(answerable: Sequence[Item], similar: Mapping[str, Sequence[float]]) -> list[list[Any]]:
    rules: dict[str, Callable[[Item], int]] = {
        "longest note": lambda item: max(range(NOTES), key=lambda place: len(item.texts[place])),
        "latest note": lambda item: NOTES - 1,
        "most shared words": _shared_words,
        "cosine of the embedder": lambda item: int(np.argmax(similar[item.id])),
    }
    rows = []
    for split in ("dev", "test"):
        for name, rule in rules.items():
            right = {
                lang: [rule(i) == i.gold for i in answerable if (i.split, i.lang) == (split, lang)] for lang in LANGS
            }
            rows.append([split, name, *(_rate(right[lang]) if right[lang] else "-" for lang in LANGS)])
    return rows


LANGS = ("en", "zh")


def run(quick: bool = False) -> dict[str, Any]:
    """Ask every item once. `quick` asks the first few of the dev split of each language."""
    chosen = items()
    if quick:
        chosen = [i for lang in LANGS for i in [i for i in chosen if (i.split, i.lang) == ("dev", lang)][:_QUICK]]
    backend = LocalBackend()
    start = time.perf_counter()
    similar = similarities_of(chosen)
    ask(backend, chosen[0], similar[chosen[0].id])
    load_seconds = time.perf_counter() - start
    outcomes = [ask(backend, item, similar[item.id]) for item in chosen]
    answerable = [item for item in chosen if item.gold is not None]
    times = [[name, statistics.median(value), max(value)] for name, value in _times(outcomes).items()]
    return {
        "tables": [
            table(
                "embedded model, greedy",
                ("split", "language", "kind", "n", "chance", "right evidence", "right answer"),
                _model_rows(outcomes),
            ),
            table("without the model: right evidence", ("split", "rule", *LANGS), _baseline_rows(answerable, similar)),
            table(f"seconds a turn (load and first turn: {load_seconds:.1f})", ("until", "median", "longest"), times),
        ],
        "unanswerable": {
            "n": len(chosen) - len(answerable),
            "cited_something": sum(o.chosen is not None for o in outcomes if o.item.gold is None),
        },
    }


def _times(outcomes: Sequence[Outcome]) -> dict[str, list[float]]:
    return {
        "evidence chosen": [outcome.first for outcome in outcomes],
        "reply complete": [outcome.seconds for outcome in outcomes],
    }


def main() -> None:
    report_main("evidence_choice", run)


if __name__ == "__main__":
    main()
