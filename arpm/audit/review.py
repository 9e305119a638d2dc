"""Manual review as the ARPM paper counts it, section 4.2: equations (13) to (15), rolling curves, corrections.

Pure functions over verdicts. Knows nothing about ledgers, files or people; where verdicts come from is
`arpm.audit.reviews` (ledger events) and `arpm.audit.review_csv` (files in the published layout).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Verdict = Literal["yes", "no", "unsure"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True, slots=True)
class Judged:
    """A reviewed round. `automatic` is the paper's AutoCorrect, None where nothing judged it automatically.

    `pending` says that someone should look again, whatever the verdicts are.
    """

    round: int
    support: Verdict
    correct: Verdict
    automatic: bool | None
    pending: bool = False

    @property
    def final(self) -> bool:
        """FinalCorrect."""
        return final_correct(self.support, self.correct)

    @property
    def open(self) -> bool:
        """Whether the round is pending further review."""
        return self.pending or "unsure" in (self.support, self.correct)


@dataclass(frozen=True, slots=True)
class Point:
    """Both curves at one reviewed round. `automatic` is None before the first round that was judged automatically."""

    round: int
    automatic: float | None
    manual: float


@dataclass(frozen=True, slots=True)
class Report:
    """What a set of reviews comes to.

    The automatic figures and the corrections count the `judged` rounds that have an automatic judgement; where every
    round has one, as in the paper, these are all. Accuracies are None where nothing was counted.
    """

    rounds: int
    judged: int
    automatic_correct: int
    automatic_accuracy: float | None
    manual_correct: int
    manual_accuracy: float | None
    zero_to_one: tuple[int, ...]
    one_to_zero: tuple[int, ...]
    pending: tuple[int, ...]
    curve: tuple[Point, ...]


def csv_rolling_accuracy(auto_correct: Sequence[bool]) -> list[float]:
    """CSV_RollingAccuracy(r) = 1/r · Σ_{i≤r} AutoCorrect_i for r = 1 … n, equation (13)."""
    return _rolling(auto_correct)


def manual_rolling_accuracy(final: Sequence[bool]) -> list[float]:
    """Manual_RollingAccuracy(r) = 1/r · Σ_{i≤r} FinalCorrect_i for r = 1 … n, equation (14)."""
    return _rolling(final)


def final_correct(support: Verdict, correct: Verdict) -> bool:
    """FinalCorrect_i = 1 if and only if ManualSupport_i = 1 and AnswerCorrect_i = 1, else 0: equation (15).

    What a reviewer is unsure of does not count as 1.
    """
    return support == "yes" and correct == "yes"


def auto_correct(support: bool | None, answer: bool | None) -> bool | None:
    """AutoCorrect_i of a rule that looks for gold evidence in the prompt, for an accepted answer, or for both.

    With gold evidence alone this is the rule of the published files, where AutoCorrect always equals AutoSupport.
    None where the rule had nothing to go by.
    """
    found = [mark for mark in (support, answer) if mark is not None]
    return all(found) if found else None


def report(rows: Iterable[Judged]) -> Report:
    """Both accuracies, both rolling curves in the order of rounds, and what the review corrected."""
    rows = sorted(rows, key=lambda row: row.round)
    judged = [row for row in rows if row.automatic is not None]
    automatic = [bool(row.automatic) for row in judged]
    manual = [row.final for row in rows]
    return Report(
        rounds=len(rows),
        judged=len(judged),
        automatic_correct=sum(automatic),
        automatic_accuracy=_last(csv_rolling_accuracy(automatic)),
        manual_correct=sum(manual),
        manual_accuracy=_last(manual_rolling_accuracy(manual)),
        zero_to_one=tuple(row.round for row in judged if row.final and not row.automatic),
        one_to_zero=tuple(row.round for row in judged if row.automatic and not row.final),
        pending=tuple(row.round for row in rows if row.open),
        curve=tuple(_curve(rows, csv_rolling_accuracy(automatic), manual_rolling_accuracy(manual))),
    )


def _curve(rows: Sequence[Judged], automatic: Sequence[float], manual: Sequence[float]) -> Iterable[Point]:
    """The automatic curve stays where it is at a round without an automatic judgement."""
    seen = 0
    for row, accuracy in zip(rows, manual, strict=True):
        seen += row.automatic is not None
        yield Point(row.round, automatic[seen - 1] if seen else None, accuracy)


def _rolling(marks: Sequence[bool]) -> list[float]:
    total, means = 0, []
    for count, mark in enumerate(marks, 1):
        total += mark
        means.append(total / count)
    return means


def _last(means: Sequence[float]) -> float | None:
    return means[-1] if means else None
