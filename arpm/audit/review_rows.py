"""Between reviews in a ledger and rows of the published CSV layout: what an export says, what an import records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arpm.audit.gold import Automatic, Gold
from arpm.audit.review_csv import Fault, Row
from arpm.audit.reviews import (
    Opinion,
    Running,
    Source,
    automatic_of,
    checked,
    reviewed,
    says_the_same,
    standing,
    write_review,
)
from arpm.catalogue import Catalogue, ReviewRow, TurnRow
from arpm.errors import InputError
from arpm.service import Service


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an import: reviews recorded now, those that were there from before, and rows refused."""

    recorded: int
    present: int
    refused: tuple[Fault, ...]


def csv_rows(source: Source, timeline: str, reviewer: str, ratio: str = "", golds: Sequence[Gold] = ()) -> list[Row]:
    """One person's reviews of the replies that hold, by round."""
    return [_csv_row(source, turn, row, ratio, golds) for turn, row in reviewed(source.catalogue, timeline, reviewer)]


def _csv_row(source: Source, turn: TurnRow, row: ReviewRow, ratio: str, golds: Sequence[Gold]) -> Row:
    finals = source.facts(turn).finals
    shown = tuple(memory for _, memory in source.catalogue.shown_in(turn.event))
    automatic = Automatic(**row.automatic) if row.automatic else automatic_of(source, turn, golds)
    return Row(
        round=turn.round,
        question=turn.message,
        answer=turn.response,
        support=row.support,
        correct=row.correct,
        ratio=ratio,
        shown=shown,
        top=max(shown, key=lambda memory: finals.get(memory, 0.0), default=""),
        auto_correct=automatic.correct if automatic else None,
        auto_support=automatic.support if automatic else None,
        memory=row.memory or "",
        quote=row.quote or "",
        reason=row.reason,
        pending=row.pending,
        score=finals.get(row.memory or ""),
    )


def record_rows(
    service: Service, timeline: str, reviewer: str, rows: Sequence[Row], golds: Sequence[Gold] = ()
) -> Outcome:
    """Record the rows as one person's reviews of a timeline, but for those that say what their last one says.

    Raises NotFoundError for the timeline; a row that fits no turn, or is no review, is among the refused.
    """
    service.timeline(timeline)
    recorded, present, refused = 0, 0, list[Fault]()
    for row in rows:
        try:
            if _record(service, timeline, reviewer, row, golds):
                recorded += 1
            else:
                present += 1
        except InputError as error:
            refused.append(Fault(row.line, str(error)))
    return Outcome(recorded, present, tuple(refused))


def _record(service: Service, timeline: str, reviewer: str, row: Row, golds: Sequence[Gold]) -> bool:
    """Whether the row was new."""
    source, turn = Running(service), _turn_of(service.catalogue, timeline, row)
    opinion = Opinion(
        reviewer=reviewer,
        support=row.support,
        correct=row.correct,
        reason=row.reason,
        quote=row.quote or None,
        memory=row.memory or None,
        pending=row.pending,
        automatic=automatic_of(source, turn, golds) or _automatic_of_row(row),
    )
    body = checked(source, turn, opinion)
    earlier = standing(service.catalogue.reviews_of_turn(turn.event), body["reviewer"])
    if earlier and says_the_same(earlier[-1], _as_a_file_has_it(body, earlier[-1])):
        return False
    write_review(service, turn, opinion)
    return True


def _as_a_file_has_it(body: dict[str, object], earlier: ReviewRow) -> dict[str, object]:
    """The body with what the layout has no column for, where the rest agrees: the automatic look at the answer."""
    mine, theirs = body["automatic"], earlier.automatic
    if isinstance(mine, dict) and theirs is not None and {**mine, "answer": theirs["answer"]} == theirs:
        return {**body, "automatic": theirs}
    return body


def _automatic_of_row(row: Row) -> Automatic | None:
    return None if row.auto_correct is None else Automatic(row.auto_support, None, row.auto_correct)


def _turn_of(catalogue: Catalogue, timeline: str, row: Row) -> TurnRow:
    """The reply that a row is about, also one that was replaced since. Raises InputError."""
    turns = [turn for turn in catalogue.turns_of_round(timeline, row.round) if turn.kind == "turn" and not turn.erased]
    if not turns:
        raise InputError(f"Round {row.round} has no reply on {timeline}.")
    for turn in reversed(turns):
        if (turn.message.split(), turn.response.split()) == (row.question.split(), row.answer.split()):
            return turn
    raise InputError(f"Round {row.round} of {timeline} has another question or answer.")
