"""Review sets as CSV files in the column layout of the published ones: UTF-8 with a byte order mark, 是 and 否.

Reading names every row that cannot be used by its line, and everything that a file says of itself and that does not
follow from its own rows. Writing guards cells that a spreadsheet would take for a formula; reading undoes that. Knows
nothing about ledgers.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from arpm.audit.review import Judged, Verdict, report
from arpm.errors import InputError

COLUMNS = (
    "snr_ratio",
    "round",
    "question",
    "original_answer",
    "prompt_knowledge_parent_ids",
    "top_parent_id",
    "AutoCorrect",
    "AutoSupport",
    "ManualSupport",
    "AnswerCorrect",
    "FinalCorrect",
    "EvidenceParentID",
    "EvidenceQuote",
    "CorrectionReason",
    "NeedHumanReview",
    "OriginalRollingAccuracy",
    "CorrectedRollingAccuracy",
)
SCORE = "EvidenceScore"
# The published curves are rounded to so many places.
PLACES = 4

_WORDS: dict[Verdict, str] = {"yes": "是", "no": "否", "unsure": "不确定"}
_VERDICTS: dict[str, Verdict] = {
    **dict.fromkeys(("是", "yes", "y", "true", "1", "1.0"), "yes"),
    **dict.fromkeys(("否", "no", "n", "false", "0", "0.0"), "no"),
    **dict.fromkeys(("不确定", "unsure", "?"), "unsure"),
}
# What makes a spreadsheet read a cell as a formula, also behind apostrophes that were there before.
_FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
_GUARDED = re.compile("'+[=+\\-@\t\r\n＝＋－＠]")
_ID = r"""\s*(?:'[^']*'|"[^"]*")\s*"""
_IDS = re.compile(rf"\s*\[(?:{_ID}(?:,{_ID})*)?\]\s*")
_ONE_ID = re.compile(r"""'([^']*)'|"([^"]*)\"""")


@dataclass(frozen=True, slots=True)
class Row:
    """One reviewed round. The two accuracies and `final` are what the file says, None where it says nothing."""

    round: int
    question: str
    answer: str
    support: Verdict
    correct: Verdict
    ratio: str = ""
    shown: tuple[str, ...] = ()
    top: str = ""
    auto_correct: bool | None = None
    auto_support: bool | None = None
    memory: str = ""
    quote: str = ""
    reason: str = ""
    pending: bool = False
    score: float | None = None
    line: int = 0
    final: bool | None = None
    original_accuracy: float | None = None
    corrected_accuracy: float | None = None

    def judged(self) -> Judged:
        """The row as the equations take it."""
        return Judged(self.round, self.support, self.correct, self.auto_correct, self.pending)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with a file: the line, from 1, and what."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class ReviewSet:
    """What a file holds: its rows, the rows that cannot be used, and what does not follow from its own rows."""

    rows: tuple[Row, ...]
    bad: tuple[Fault, ...]
    disagreements: tuple[Fault, ...]


# -- reading ----------------------------------------------------------------------------------------------------------


def read_reviews(name: str, data: bytes) -> ReviewSet:
    """The rows of a file, of which bad ones are named. Raises InputError when it is no such file at all."""
    text = _decoded(name, data)
    records = _records(text)
    header = next(records, None)
    if header is None:
        raise InputError(f"{name} is empty.")
    if isinstance(header, Fault):
        raise InputError(f"{name}, line {header.line}: {header.reason}.")
    names = [cell.strip() for cell in header[1]]
    missing = [column for column in COLUMNS if column not in names]
    if missing:
        raise InputError(f"{name} is no review file: the column {missing[0]} is missing from its first line.")
    if len(set(names)) != len(names):
        raise InputError(f"{name} has a column twice.")
    rows, bad = list[Row](), list[Fault]()
    lines = dict[int, int]()
    for record in records:
        try:
            if isinstance(record, Fault):
                raise _BadRowError(record.reason)
            row = _row(record[0], names, record[1])
            if row.round in lines:
                raise _BadRowError(f"round {row.round} is on line {lines[row.round]} already")
            lines[row.round] = row.line
            rows.append(row)
        except _BadRowError as error:
            bad.append(Fault(record.line if isinstance(record, Fault) else record[0], str(error)))
    rows.sort(key=lambda row: row.round)
    return ReviewSet(tuple(rows), tuple(bad), tuple(_disagreements(rows)))


class _BadRowError(Exception):
    """A row cannot be used."""


def _decoded(name: str, data: bytes) -> str:
    """UTF-8 as published, or what spreadsheets make of it: UTF-16 with a mark, or GB 18030."""
    encodings = ("utf-16",) if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "gb18030")
    for encoding in encodings:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise InputError(f"{name} is no text in UTF-8, UTF-16 or GB 18030.")


def _records(text: str) -> Iterator[tuple[int, list[str]] | Fault]:
    """The records of the text with the line each begins on; a record that is not CSV is a fault."""
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Fault(line, f"is not CSV ({error})")
            continue
        if any(cell.strip() for cell in cells):
            yield line, cells


def _row(line: int, names: Sequence[str], cells: Sequence[str]) -> Row:
    if len(cells) != len(names):
        raise _BadRowError(f"has {len(cells)} cells where the first line has {len(names)}")
    cell = dict(zip(names, map(unguarded, cells), strict=True))
    return Row(
        round=_round(cell["round"]),
        question=cell["question"],
        answer=cell["original_answer"],
        support=_verdict(cell, "ManualSupport"),
        correct=_verdict(cell, "AnswerCorrect"),
        ratio=cell["snr_ratio"],
        shown=_ids(cell["prompt_knowledge_parent_ids"]),
        top=cell["top_parent_id"].strip(),
        auto_correct=_mark(cell, "AutoCorrect"),
        auto_support=_mark(cell, "AutoSupport"),
        memory=cell["EvidenceParentID"].strip(),
        quote=cell["EvidenceQuote"],
        reason=cell["CorrectionReason"],
        pending=_mark(cell, "NeedHumanReview") or False,
        score=_number(cell, SCORE),
        line=line,
        final=_mark(cell, "FinalCorrect"),
        original_accuracy=_number(cell, "OriginalRollingAccuracy"),
        corrected_accuracy=_number(cell, "CorrectedRollingAccuracy"),
    )


def _round(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}(\.0+)?", text.strip(), re.ASCII) or not int(float(text)):
        raise _BadRowError(f"round is {_short(text)}, which is no whole number from 1")
    return int(float(text))


def _verdict(cell: dict[str, str], column: str) -> Verdict:
    verdict = _VERDICTS.get(cell[column].strip().casefold())
    if verdict is None:
        raise _BadRowError(f"{column} is {_short(cell[column])}; it must be 是, 否 or 不确定")
    return verdict


def _mark(cell: dict[str, str], column: str) -> bool | None:
    text = cell[column].strip().casefold()
    if not text:
        return None
    verdict = _VERDICTS.get(text)
    if verdict is None or verdict == "unsure":
        raise _BadRowError(f"{column} is {_short(text)}; it must be 1 or 0, 是 or 否, or empty")
    return verdict == "yes"


def _number(cell: dict[str, str], column: str) -> float | None:
    text = cell.get(column, "").strip()
    if not text:
        return None
    if not re.fullmatch(r"[+-]?[0-9]{1,15}(\.[0-9]{0,20})?(e[+-]?[0-9]{1,2})?", text, re.ASCII):
        raise _BadRowError(f"{column} is {_short(text)}, which is no number")
    return float(text)


def _ids(text: str) -> tuple[str, ...]:
    if not text.strip():
        return ()
    if not _IDS.fullmatch(text):
        raise _BadRowError(f"prompt_knowledge_parent_ids is {_short(text)}, which is no list of ids")
    return tuple(single or double for single, double in _ONE_ID.findall(text))


def _short(text: str) -> str:
    return ascii(text[:40]) if not text.isprintable() else repr(text[:40])


def _disagreements(rows: Sequence[Row]) -> Iterator[Fault]:
    """Where FinalCorrect is not equation (15), or a rolling accuracy not that of equation (13) or (14)."""
    judged = [row.judged() for row in rows]
    for row, own, point in zip(rows, judged, report(judged).curve, strict=True):
        if row.final is not None and row.final != own.final:
            yield Fault(row.line, f"FinalCorrect is {int(row.final)} and follows as {int(own.final)}")
        for column, stated, exact in (
            ("OriginalRollingAccuracy", row.original_accuracy, point.automatic),
            ("CorrectedRollingAccuracy", row.corrected_accuracy, point.manual),
        ):
            if stated is not None and exact is not None and stated != round(exact, PLACES):
                yield Fault(row.line, f"{column} is {stated:g} and follows as {round(exact, PLACES):g}")


# -- writing ----------------------------------------------------------------------------------------------------------


def write_reviews(rows: Iterable[Row], *, scores: bool = False) -> bytes:
    """A file of the rows, by round, with its rolling accuracies; with `scores` also the column EvidenceScore."""
    rows = sorted(rows, key=lambda row: row.round)
    lines = [",".join([*COLUMNS, SCORE] if scores else COLUMNS)]
    for row, point in zip(rows, report(row.judged() for row in rows).curve, strict=True):
        cells = [
            row.ratio,
            str(row.round),
            row.question,
            row.answer,
            str(list(row.shown)),
            row.top,
            "" if row.auto_correct is None else str(int(row.auto_correct)),
            "" if row.auto_support is None else _word(row.auto_support),
            _WORDS[row.support],
            _WORDS[row.correct],
            str(int(row.judged().final)),
            row.memory,
            row.quote,
            row.reason,
            _word(row.judged().open),
            "" if point.automatic is None else str(round(point.automatic, PLACES)),
            str(round(point.manual, PLACES)),
            *(["" if row.score is None else str(row.score)] if scores else []),
        ]
        lines.append(",".join(_quoted(guarded(cell)) for cell in cells))
    return b"\xef\xbb\xbf" + "".join(f"{line}\n" for line in lines).encode("utf-8")


def _quoted(cell: str) -> str:
    """A cell as CSV. Python's writer leaves a carriage return bare where lines end in a line feed alone."""
    return '"' + cell.replace('"', '""') + '"' if any(sign in cell for sign in ',"\r\n') else cell


def guarded(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: behind an apostrophe where it would."""
    return "'" + cell if _FORMULA.match(cell) else cell


def unguarded(cell: str) -> str:
    """The cell that was guarded."""
    return cell[1:] if _GUARDED.match(cell) else cell


def _word(mark: bool) -> str:
    return _WORDS["yes" if mark else "no"]
