"""Strict grading of scripted replies by code: what must be said, what must not be said any more, and what went wrong.

Pure functions, the same for every model. A reply is right only if it says everything asked for, states nothing that was
corrected as if it still held, and keeps the protocol; what this gets wrong is what manual review is for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, get_args

from arpm.audit.gold import accepted
from retrieval.text import Language, sentences

Anomaly = Literal[
    "stale fact preferred",
    "correction lost",
    "time confused",
    "chain broken",
    "false claim accepted",
    "protocol broken",
    "not answered",
]
ANOMALIES: tuple[Anomaly, ...] = get_args(Anomaly)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a right reply says: one wording of each group in `required`, and nothing of `stale` as if it held.

    `stale_is` and `miss` are the anomalies of saying the one and of missing the other. `dated` says that the reply is
    a date: naming another one instead is a confusion of times.
    """

    required: tuple[tuple[str, ...], ...] = ()
    stale: tuple[str, ...] = ()
    stale_is: Anomaly = "stale fact preferred"
    miss: Anomaly = "not answered"
    dated: bool = False


@dataclass(frozen=True, slots=True)
class Grade:
    """Whether a reply is strictly right, and what went wrong with it otherwise."""

    right: bool
    anomaly: Anomaly | None


def grade(expected: Expected, response: str, *, broken: bool = False) -> Grade:
    """Grade a visible reply. `broken` says that it did not keep the protocol in the end, or that there is none."""
    if broken or not response.strip() or leaks(response):
        return Grade(False, "protocol broken")
    if affirmed(expected.stale, response):
        return Grade(False, expected.stale_is)
    if all(says(wordings, response) for wordings in expected.required):
        return Grade(True, None)
    return Grade(False, "time confused" if expected.dated and names_date(response) else expected.miss)


def says(wordings: Sequence[str], response: str) -> bool:
    """Whether a response says one of the accepted wordings."""
    return any(accepted(wording, response) for wording in wordings)


def affirmed(wordings: Sequence[str], response: str) -> bool:
    """Whether a response says one of the wordings in a sentence that does not take it back."""
    parts = (response[start:end] for start, end in sentences(response))
    return any(says(wordings, part) and not _TAKEN_BACK.search(part) for part in parts)


def leaks(response: str) -> bool:
    """Whether tags of the protocol stand in a visible reply."""
    return _TAG.search(response) is not None


def names_date(response: str) -> bool:
    """Whether a response names a day of a month."""
    return _DATE.search(response) is not None


def date_wordings(day: date, language: Language) -> tuple[str, ...]:
    """The ways to write a date that are accepted; the first is the script's own."""
    iso = day.isoformat()
    if language == "zh":
        chinese = f"{_chinese(day.month)}月{_chinese(day.day)}"
        return (
            f"{day.month}月{day.day}日",
            f"{day.month}月{day.day}号",
            f"{day.month:02}月{day.day:02}日",
            f"{chinese}日",
            f"{chinese}号",
            iso,
        )
    names = (_MONTHS[day.month - 1], _MONTHS[day.month - 1][:3])
    days = (str(day.day), f"{day.day}{_ordinal(day.day)}")
    plain = [f"{number} {name}" for name in names for number in days]
    turned = [f"{name} {number}" for name in names for number in days]
    return (*plain, *turned, *(f"{days[1]} of {name}" for name in names), iso)


_MONTHS = "January February March April May June July August September October November December".split()
_DIGITS = "零一二三四五六七八九十"
# Words by which a sentence takes back what it names.
_TAKEN_BACK = re.compile(
    r"\b(?:not|no|never|isn't|wasn't|instead|rather|first|formerly|previously|earlier|originally|initially|was|were|"
    r"wrong|mistake\w*|correct\w*|changed|moved|no longer)\b|不|没|原|之前|以前|先前|更正|改|纠正|错|而非",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?\s*(?:analysis|response|think)\b", re.IGNORECASE)
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{'|'.join(name[:3] for name in _MONTHS)})"
    rf"|\b(?:{'|'.join(name[:3] for name in _MONTHS)})[a-z]* \d{{1,2}}|\d{{4}}-\d{{2}}-\d{{2}}"
    r"|[\d一二三四五六七八九十]{1,3}月[\d一二三四五六七八九十]{1,3}[日号]",
    re.IGNORECASE,
)


def _ordinal(day: int) -> str:
    if 11 <= day <= 13:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _chinese(number: int) -> str:
    tens, ones = divmod(number, 10)
    if not tens:
        return _DIGITS[ones]
    return ("" if tens == 1 else _DIGITS[tens]) + "十" + (_DIGITS[ones] if ones else "")
