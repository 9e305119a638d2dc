"""The question set of the noise experiment: small documents of places that do not exist, and fifty questions each.

Every question has the passages that answer it and accepted answers; some facts are corrected in mid-run by a notice or
by what the person says, some questions have no answer. Gold is a text span, so that it holds for any chunking. Reads
arpm/experiments/data/noise.jsonl; knows nothing about retrieval.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal

from arpm.canonical import digest
from retrieval.memories import KnowledgeChunk
from retrieval.text import Language

Sort = Literal["plain", "corrected", "unanswerable"]
LANGUAGES: tuple[Language, ...] = ("zh", "en")
REPORTED = "noise.jsonl"
# Other documents and questions of the same kind: what the knowledge route is tuned on.
DEVELOPMENT = "noise_dev.jsonl"


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a document, or of something told, by the name of either."""

    source: str
    passage: str


@dataclass(frozen=True, slots=True)
class Document:
    """A document of the set. One that comes late comes when so many questions were asked."""

    name: str
    text: str
    after: int


@dataclass(frozen=True, slots=True)
class Told:
    """Something the person says when so many questions were asked, and a right reply to it."""

    name: str
    message: str
    reply: str
    after: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question. `fact` names a fact that is corrected in mid-run, `stale` is what held before.

    An unanswerable one is `near` when the documents are about its subject and only do not say this.
    """

    number: int
    sort: Sort
    text: str
    gold: tuple[Passage, ...]
    stale: tuple[Passage, ...]
    answers: tuple[str, ...]
    fact: str | None
    near: bool


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The set of one language."""

    language: Language
    documents: tuple[Document, ...]
    told: tuple[Told, ...]
    questions: tuple[Question, ...]

    @property
    def characters(self) -> int:
        """How much valid knowledge there is, late documents included: the 1 of the signal-to-noise ratio."""
        return sum(len(document.text) for document in self.documents)

    @property
    def late(self) -> tuple[int, ...]:
        """After how many questions something comes in."""
        times = {document.after for document in self.documents} | {told.after for told in self.told}
        return tuple(sorted(times - {0}))

    def ordered(self, seed: int) -> tuple[Question, ...]:
        """The questions in the order of a seed; 0 is the order as written.

        None is moved across a correction, so that what holds stays what holds.
        """
        if seed == 0:
            return self.questions
        borders = [0, *self.late, len(self.questions)]
        draw = random.Random(seed)
        ordered: list[Question] = []
        for start, end in pairwise(borders):
            part = list(self.questions[start:end])
            draw.shuffle(part)
            ordered += part
        return tuple(ordered)


def set_digest() -> str:
    """The digest of the data file, so that a step notices when it changed."""
    return digest(_file(REPORTED).read_bytes())


def read_set(language: Language, file: str = REPORTED) -> QuestionSet:
    """The set of a language: the one that the experiment reports, or the one for development."""
    lines = _file(file).read_text("utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["language"] == language]
    return QuestionSet(
        language,
        tuple(Document(row["name"], row["text"], row["after"]) for row in rows if row["kind"] == "document"),
        tuple(Told(row["name"], row["message"], row["reply"], row["after"]) for row in rows if row["kind"] == "told"),
        tuple(_question(row) for row in rows if row["kind"] == "question"),
    )


def _file(name: str) -> Any:
    return files("arpm.experiments") / "data" / name


def _question(row: dict[str, Any]) -> Question:
    return Question(
        number=row["number"],
        sort=row["sort"],
        text=row["question"],
        gold=tuple(Passage(**item) for item in row["gold"]),
        stale=tuple(Passage(**item) for item in row.get("stale", ())),
        answers=tuple(row["answers"]),
        fact=row.get("fact"),
        near=row.get("near", False),
    )


def holding(chunks: Iterable[KnowledgeChunk], text: str, passage: str) -> frozenset[str]:
    """The parent chunks of a document that hold the whole passage, or every one with a part of it where none does.

    `text` is the document; the passage stands in it once. Raises ValueError when it does not.
    """
    start = text.index(passage)
    end = start + len(passage)
    spans = list(_spans(chunks, text))
    whole = frozenset(chunk for chunk, low, high in spans if low <= start and end <= high)
    return whole or frozenset(chunk for chunk, low, high in spans if low < end and start < high)


def _spans(chunks: Iterable[KnowledgeChunk], text: str) -> Iterable[tuple[str, int, int]]:
    """Where every chunk stands: each is a slice of the document, and they come in its order."""
    at = 0
    for chunk in chunks:
        at = text.index(chunk.text, at)
        yield chunk.memory, at, at + len(chunk.text)


# That something is not known, said in the words a person would use. Purely lexical: what it gets wrong is what a
# review of the replies is for.
_ABSTAINS = re.compile(
    r"\b(?:do(?:es)? not|don't|doesn't|did not|didn't|cannot|can't|could not|couldn't|unable to)\s+(?:\w+\s+){0,2}"
    r"(?:know|say|mention|find|tell|contain|remember|recall|answer|state|specify|include|hold|have)\b"
    r"|\b(?:no|not any)\s+(?:\w+\s+){0,2}(?:information|evidence|record|mention|memory|note|details?)\b"
    r"|\b(?:not|isn't|is not|nothing)\s+(?:\w+\s+){0,3}"
    r"(?:mentioned|known|stated|recorded|specified|documented|provided|available|about (?:that|this|it)"
    r"|in (?:my |the )?(?:documents?|evidence|memory|notes))\b"
    r"|\bnot sure\b|\bnothing (?:that )?(?:i remember|is remembered|in memory)\b"
    r"|不知道|不清楚|不记得|没有?(?:这件事|这样的|印象|提到|提及|说明|写明|写|说|记录|记载|相关|找到|这方面|关于|任何|查到)|未(?:提及|提到|说明|记载|记录)"
    r"|无法(?:回答|确定|得知|确认)|无从(?:得知|知道)|查不到|找不到|并未",
    re.IGNORECASE,
)


def abstains(reply: str) -> bool:
    """Whether a reply says that the answer is not known."""
    return bool(_ABSTAINS.search(reply.replace("’", "'")))


def right_reply(question: Question, language: Language) -> str:
    """What a stand-in says: an accepted answer, or that nothing was found."""
    if question.answers:
        return question.answers[0] + ("。" if language == "zh" else ".")
    return "资料里没有提到。" if language == "zh" else "The documents do not say."
