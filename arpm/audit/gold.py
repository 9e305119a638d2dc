"""Automatic judgement from a question set with gold labels: was the evidence in the prompt, was the answer accepted.

A question set is JSON Lines, one question a line:
  {"question": "Where is my canoe?", "evidence": ["d-0123456789ab/0", ["m-…", "D1:3"]], "answers": ["the boat house"]}
`evidence` lists what the prompt must show, all of it; a list within names alternatives, of which one is enough. Each is
the id of a memory or document, the name of a document, or the id that an imported memory had at its source. `answers`
are accepted wordings. Either may be missing; then that side is not judged. Purely lexical and the same for every
model: what it gets wrong is what manual review is for.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from arpm.audit.review import auto_correct
from arpm.errors import InputError
from retrieval.text import CJK


@dataclass(frozen=True, slots=True)
class Gold:
    """What is known to be right about a question. `evidence` is what must be shown: one of each set."""

    question: str
    evidence: tuple[frozenset[str], ...]
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Automatic:
    """An automatic judgement: the rule's AutoSupport, its look at the answer, and AutoCorrect of equation (13)."""

    support: bool | None
    answer: bool | None
    correct: bool


def judged(gold: Gold, shown: Collection[str], response: str) -> Automatic | None:
    """Judge a reply. `shown` holds every name of every memory in the prompt. None when the labels say nothing."""
    support = all(not names.isdisjoint(shown) for names in gold.evidence) if gold.evidence else None
    answer = any(accepted(answer, response) for answer in gold.answers) if gold.answers else None
    correct = auto_correct(support, answer)
    return None if correct is None else Automatic(support, answer, correct)


def accepted(answer: str, response: str) -> bool:
    """Whether a response says an accepted answer: the same words in the same order, whatever stands around them."""
    wanted, said = _words(answer), _words(response)
    meaning = [word for word in wanted if word not in _ARTICLES]
    if not meaning:
        return bool(wanted) and wanted == said
    said = [word for word in said if word not in _ARTICLES]
    return any(said[start : start + len(meaning)] == meaning for start in range(len(said) - len(meaning) + 1))


def same_question(one: str, other: str) -> bool:
    """Whether two questions have the same words."""
    return _words(one) == _words(other)


def for_question(golds: Iterable[Gold], message: str) -> Gold | None:
    """The labels of a message."""
    return next((gold for gold in golds if same_question(gold.question, message)), None)


def read_gold(name: str, data: bytes) -> list[Gold]:
    """The questions of a set. Raises InputError naming the first line that cannot be used."""
    golds = []
    for number, line in enumerate(data.decode("utf-8-sig", "replace").splitlines(), 1):
        if line.strip():
            try:
                golds.append(_gold(json.loads(line)))
            except (_BadLineError, ValueError, RecursionError) as error:
                raise InputError(f"{name}, line {number}: {error}.") from None
    if not golds:
        raise InputError(f"{name} holds no question.")
    return golds


_ARTICLES = frozenset({"a", "an", "the"})
# Numbers stay whole, every CJK character is a word, and so is every sign of a formula: "n-1" and "n+1" differ, while
# a hyphen between words and the asterisks of Markdown are none.
_WORD = re.compile(
    rf"""\d+(?:[.,:]\d+)*
    |[{CJK}々〇]
    |(?:(?![{CJK}々〇\d])[^\W_])+
    |!=|[+/=<>%^×÷√≤≥≠&|$€£¥]|(?<=\w)\*(?=\w)|(?<=[^\S\n])\*(?=\s)
    |(?<=\d)-|(?<=\d\s)-|-(?=\s?\d)""",
    re.VERBOSE,
)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_APOSTROPHES = re.compile(r"(?<=\w)['’](?=\w)")


def _words(text: str) -> list[str]:
    """The words of a text in one spelling: full-width and upper-case letters folded, punctuation left out."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = _APOSTROPHES.sub("", folded).replace("−", "-").replace("**", "")
    words = _WORD.findall(folded)
    return [word.replace(",", "") if _GROUPED.fullmatch(word) else word for word in words]


class _BadLineError(Exception):
    """A line is no question with labels."""


def _gold(line: Any) -> Gold:
    if not isinstance(line, dict):
        raise _BadLineError("is not a JSON object")
    unknown = set(line) - {"question", "evidence", "answers", "id"}
    if unknown:
        raise _BadLineError(f"has the unknown member {min(unknown)!r}; it takes question, evidence, answers and id")
    question = line.get("question")
    if not isinstance(question, str) or not question.strip():
        raise _BadLineError("needs a question")
    evidence = tuple(_alternatives(item) for item in _listed(line, "evidence"))
    answers = tuple(_text(item, "an answer") for item in _listed(line, "answers"))
    if not evidence and not answers:
        raise _BadLineError("has neither evidence nor answers")
    return Gold(question, evidence, answers)


def _alternatives(item: Any) -> frozenset[str]:
    names: Sequence[Any] = item if isinstance(item, list) and item else [item]
    return frozenset(_text(name, "evidence") for name in names)


def _listed(line: dict[str, Any], member: str) -> list[Any]:
    value = line.get(member)
    if value is None:
        return []
    if not isinstance(value, list):
        raise _BadLineError(f"has {member} that is no list")
    return value


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _BadLineError(f"has {what} that is no text")
    return value.strip()
