"""Reviews of turns as ledger events: written through the service, read from there or from a logs folder alone.

Keeps the promise that a review is never rewritten: an edit is a new event that supersedes the reviewer's earlier one.
What a review quotes must have been in the prompt it judges. Reading a folder takes no lock and writes nothing, so a
copy, or the folder of a running server, will do.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from arpm.audit.agreement import Agreement, Ratings, agreement
from arpm.audit.gold import Automatic, Gold, for_question, judged
from arpm.audit.review import VERDICTS, Judged, Report, Verdict, report
from arpm.catalogue import Catalogue, ReviewRow, TurnRow
from arpm.errors import ArpmError, InputError, NotFoundError
from arpm.events import Event
from arpm.ids import is_id
from arpm.ledger import LEDGER_NAME, walk
from arpm.library import KNOWLEDGE
from arpm.service import Service
from retrieval.memories import KnowledgeChunk
from retrieval.text import usable

REVIEWER_LIMIT = 200
TEXT_LIMIT = 20_000
# What an excerpt is cut with.
_GAP = re.compile(r"…+|\.{3,}")


@dataclass(frozen=True, slots=True)
class Opinion:
    """A review before it is written. `memory` may be the label that the evidence had in the prompt, such as E1."""

    reviewer: str
    support: Verdict
    correct: Verdict
    reason: str
    quote: str | None = None
    memory: str | None = None
    pending: bool = False
    automatic: Automatic | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What a review needs to know of a turn's record: the rounds in its window, the final score of each candidate."""

    window: tuple[int, ...]
    finals: Mapping[str, float]


class Source(Protocol):
    """Where turns and reviews are read."""

    @property
    def catalogue(self) -> Catalogue: ...

    def facts(self, turn: TurnRow) -> Facts: ...


class Running:
    """The turns and reviews of an open service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.catalogue = service.catalogue

    def facts(self, turn: TurnRow) -> Facts:
        return facts_of(self._service.timeline(turn.timeline).record(turn))


class Folder:
    """The turns and reviews of a logs folder, as far as its ledgers are whole; `damaged` says which are not."""

    def __init__(self, logs: Path, timelines: Sequence[str] | None = None) -> None:
        """Read these timelines, or all. Raises NotFoundError, and DamagedLedgerError for a timeline that was named."""
        self.catalogue = Catalogue(None)
        self.damaged: list[str] = []
        self._facts: dict[str, Facts] = {}
        for name in [KNOWLEDGE, *(timelines if timelines is not None else _timelines(logs))]:
            path = logs / name / LEDGER_NAME
            if timelines and name in timelines:
                if not is_id(name, "t") or not path.exists():
                    raise NotFoundError(f"there is no timeline {name!r} in {logs}")
                self._read(path, name)
            elif path.exists():
                try:
                    self._read(path, name)
                except ArpmError as error:
                    self.damaged.append(str(error))
                    self.catalogue.forget(name)

    def facts(self, turn: TurnRow) -> Facts:
        return self._facts[turn.event]

    def _read(self, path: Path, name: str) -> None:
        self.catalogue.apply(self._noted(path, name), name, lambda event: event.end)

    def _noted(self, path: Path, name: str) -> Iterator[Event]:
        for placed in walk(path, name):
            event = placed.event()
            if event.kind == "turn":
                self._facts[event.id] = facts_of(event)
            yield event


def _timelines(logs: Path) -> list[str]:
    if not logs.is_dir():
        raise NotFoundError(f"there is no folder {logs}")
    return sorted(path.name for path in logs.iterdir() if is_id(path.name, "t"))


def facts_of(event: Event) -> Facts:
    """The facts of a turn's record; none of an erased one."""
    if event.body is None:
        return Facts((), {})
    candidates = event.body["candidates"]
    rows = [row for route in candidates.values() for row in route]
    return Facts(tuple(event.body["window"]), {row["memory"]: row["final"] for row in rows if "final" in row})


def turn_named(catalogue: Catalogue, reference: str) -> TurnRow:
    """A turn by event id, TIMELINE:ROUND, or TIMELINE for its last one. Raises NotFoundError and InputError."""
    row = catalogue.turn(reference)
    timeline, colon, round = reference.rpartition(":")
    if row is None and colon and round.isdecimal() and len(round) < 16:
        row = catalogue.turn_of_round(timeline, int(round))
    if row is None and is_id(reference, "t"):
        row = next(iter(catalogue.turns(reference, last=1)), None)
    if row is None:
        raise NotFoundError(f"there is no turn {reference!r}; name it by its event id or as TIMELINE:ROUND")
    if row.erased:
        raise InputError(f"The words of turn {row.event} were erased: there is nothing left to review.")
    if row.kind != "turn":
        raise InputError(f"Turn {row.event} failed: it has no answer that could be reviewed.")
    return row


# -- writing ----------------------------------------------------------------------------------------------------------


def write_review(service: Service, turn: TurnRow, opinion: Opinion) -> ReviewRow:
    """Check a review and record it. Raises InputError saying what is wrong with it; nothing was written then."""
    body = checked(Running(service), turn, opinion)
    event = service.timeline(turn.timeline).review(turn, body)
    return next(row for row in service.catalogue.reviews_of_turn(turn.event) if row.event == event.id)


def checked(source: Source, turn: TurnRow, opinion: Opinion) -> dict[str, Any]:
    """The body of a review but for its turn and what it supersedes. Raises InputError."""
    for name, verdict in (("support", opinion.support), ("correct", opinion.correct)):
        if verdict not in VERDICTS:
            raise InputError(f"{name} is {verdict!r}; it must be {', '.join(VERDICTS)}.")
    quote, memory = _text("quote", opinion.quote), _memory(source, turn, opinion.memory)
    if (quote is None) != (memory is None):
        raise InputError("A quote and the memory that it is from belong together.")
    if quote is not None and memory is not None:
        _check_quote(source.catalogue, quote, memory)
    elif opinion.support == "yes":
        raise InputError("Support needs proof: the words of the evidence and the memory they are from.")
    reviewer = " ".join(usable(opinion.reviewer).split())
    if not reviewer or len(reviewer) > REVIEWER_LIMIT:
        raise InputError(f"The reviewer's name must have 1 to {REVIEWER_LIMIT} characters.")
    reason = _text("reason", opinion.reason)
    if reason is None:
        raise InputError("A review needs a reason.")
    return {
        "reviewer": reviewer,
        "support": opinion.support,
        "correct": opinion.correct,
        "quote": quote,
        "memory": memory,
        "reason": reason,
        # What somebody is unsure of is for somebody else to look at.
        "pending": opinion.pending or "unsure" in (opinion.support, opinion.correct),
        "automatic": asdict(opinion.automatic) if opinion.automatic else None,
    }


def says_the_same(row: ReviewRow, body: Mapping[str, Any]) -> bool:
    """Whether a review that was written says what a body would say."""
    return all(getattr(row, name) == value for name, value in body.items())


def _text(name: str, text: str | None) -> str | None:
    text = usable(text or "").strip()
    if len(text) > TEXT_LIMIT:
        raise InputError(f"The {name} has {len(text):,} characters; the limit is {TEXT_LIMIT:,}.")
    return text or None


def _memory(source: Source, turn: TurnRow, given: str | None) -> str | None:
    """The id of a memory that was in the prompt, named by id or label."""
    if not given:
        return None
    shown = source.catalogue.shown_in(turn.event)
    memory = dict(shown).get(given, given)
    if memory not in in_prompt(source, turn):
        labels = ", ".join(f"{label} ({id})" for label, id in shown) or "none"
        raise InputError(f"{given!r} was not in the prompt of this turn, so it cannot support it. Evidence: {labels}.")
    return memory


def _check_quote(catalogue: Catalogue, quote: str, memory: str) -> None:
    found = catalogue.memory(memory)
    if found is None:
        raise InputError(f"The memory {memory} was erased: nothing can be quoted from it.")
    if not quoted(quote, found.text):
        raise InputError(
            f"The memory {memory} does not say what is quoted from it. Quote it word for word; … marks a gap."
        )


def quoted(quote: str, text: str) -> bool:
    """Whether a text says the quote, whatever its line breaks and widths; … in the quote stands for anything."""
    place, text = 0, _compact(text)
    pieces = [piece for part in _GAP.split(quote) if (piece := _compact(part))]
    for piece in pieces:
        found = text.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    return bool(pieces)


def _compact(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split())


# -- reading ----------------------------------------------------------------------------------------------------------


def in_prompt(source: Source, turn: TurnRow) -> list[str]:
    """The memories that a prompt showed: its evidence in order, then what became of the rounds in its window."""
    memories = [memory for _, memory in source.catalogue.shown_in(turn.event)]
    rounds = (source.catalogue.memory_of_round(turn.timeline, round) for round in source.facts(turn).window)
    return list(dict.fromkeys([*memories, *(memory for memory in rounds if memory is not None)]))


def names_in_prompt(source: Source, turn: TurnRow) -> set[str]:
    """Every name by which a question set may know what a prompt showed."""
    names = set[str]()
    for memory in in_prompt(source, turn):
        names.add(memory)
        found, row = source.catalogue.memory(memory), source.catalogue.memory_row(memory)
        if isinstance(found, KnowledgeChunk):
            names |= {found.document, found.name}
        if row is not None and row[1].source is not None:
            names.add(row[1].source)
    return names


def automatic_of(source: Source, turn: TurnRow, golds: Iterable[Gold]) -> Automatic | None:
    """What the labels of a question set say of a turn; None when they say nothing."""
    gold = for_question(golds, turn.message)
    return None if gold is None else judged(gold, names_in_prompt(source, turn), turn.response)


def standing(rows: Iterable[ReviewRow], reviewer: str | None = None) -> list[ReviewRow]:
    """The last review of each person on each turn, in the order of the ledger; of one person if named."""
    last = {(row.turn, row.reviewer): row for row in rows if reviewer in (None, row.reviewer)}
    return sorted(last.values(), key=lambda row: row.seq)


def reviewers(rows: Iterable[ReviewRow]) -> list[str]:
    """Who reviewed, by name."""
    return sorted({row.reviewer for row in rows})


def replies(catalogue: Catalogue, timeline: str) -> list[TurnRow]:
    """The replies of a timeline that hold and whose words are there: what can be reviewed, by round."""
    rows = [row for row in catalogue.turns(timeline) if row.kind == "turn" and not row.erased]
    return sorted(rows, key=lambda row: row.round)


def reviewed(catalogue: Catalogue, timeline: str, reviewer: str) -> list[tuple[TurnRow, ReviewRow]]:
    """What one person says of the replies that hold, by round. Reviews of replaced and erased replies are left out."""
    rows = {row.turn: row for row in standing(catalogue.reviews(timeline), reviewer)}
    return [(turn, rows[turn.event]) for turn in replies(catalogue, timeline) if turn.event in rows]


def judgement(turn: TurnRow, row: ReviewRow, automatic: Automatic | None = None) -> Judged:
    """A review as the equations take it; `automatic` stands in where it recorded no automatic judgement."""
    mark = row.automatic["correct"] if row.automatic else automatic.correct if automatic else None
    return Judged(turn.round, row.support, row.correct, mark, row.pending)


def report_of(source: Source, timeline: str, reviewer: str, golds: Sequence[Gold] = ()) -> Report:
    """What one person's reviews of a timeline come to."""
    pairs = reviewed(source.catalogue, timeline, reviewer)
    return report(judgement(turn, row, automatic_of(source, turn, golds) if golds else None) for turn, row in pairs)


def agreements(catalogue: Catalogue, timeline: str) -> dict[str, Agreement]:
    """How far the reviewers of a timeline agree, on support and on correctness."""
    names = reviewers(catalogue.reviews(timeline))
    rows = {name: [row for _, row in reviewed(catalogue, timeline, name)] for name in names}

    def ratings(verdict: Callable[[ReviewRow], str]) -> Ratings:
        return {name: {row.turn: verdict(row) for row in rows[name]} for name in names}

    return {
        "support": agreement(ratings(lambda row: row.support), VERDICTS),
        "correct": agreement(ratings(lambda row: row.correct), VERDICTS),
    }
