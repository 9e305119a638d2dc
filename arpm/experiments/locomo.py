"""LoCoMo: whether the turns that hold an answer are found and shown, and with a model whether the answer is right.

Every question is asked an hour after the conversation's last turn, as its next round, under the shipped preset with
decay on. Evidence ids are those like D1:3 that exist (1,981 of 1,986 questions have any). Constants were chosen on
the first five conversations (docs/decisions/0004 and 0009); the last five are only reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from arpm.errors import InputError
from arpm.experiments.base import Failures, Result, Run, Table, Target, file_digest
from arpm.experiments.locomo_score import ADVERSARIAL, CATEGORIES, answer_score, declines
from arpm.experiments.memories import VARIANTS, Laboratory, Memory, basis
from arpm.experiments.retrieval_metrics import (
    CUTS,
    Scores,
    as_numbers,
    bars,
    estimates,
    grouped,
    measures_table,
    prompt_scores,
    retrieval_scores,
)
from arpm.importers.locomo import Conversation, read_locomo
from arpm.service import Column

TUNED = 5
RETRIEVAL = ("recall@1", "recall@5", "recall@10", "recall@20", "hit@5", "hit@10", "mrr")
WHITE_BOX = ("evidence in prompt", "all evidence in prompt")
BARS = {"recall@10": 0.75, "hit@10": 0.81, "mrr": 0.52}
# The embedded model needs some seconds for an answer. A seed asks this many questions, further seeds ask others.
ASKED_PER_SEED = 200
ASKED_QUICK = 2
# The data set asks for short phrases and for these words where nothing was said (its prompts for questions).
PERSONA = (
    "Answer with a short phrase, in the exact words of the conversation where possible. "
    "If the conversation does not say it, answer: Not mentioned in the conversation."
)
ABOUT = "LoCoMo (Maharana et al. 2024, CC BY-NC 4.0), locomo10.json of github.com/snap-research/locomo"

_EVIDENCE = re.compile(r"D\d+:\d+")
_QUICK_SESSIONS, _QUICK_QUESTIONS = 3, 12


@dataclass(frozen=True, slots=True)
class Question:
    """A question. `answer` is empty for an unanswerable one; `flagged` says that audit_errors.json names its label."""

    id: str
    text: str
    category: int
    answer: str
    evidence: tuple[str, ...]
    flagged: bool


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation, its place in the file, and its questions."""

    place: int
    conversation: Conversation
    questions: tuple[Question, ...]

    @property
    def held_out(self) -> bool:
        return self.place >= TUNED

    @property
    def asked_at(self) -> datetime:
        last = self.conversation.atoms[-1].at
        assert last is not None
        return last + timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A question and what was measured on it."""

    talk: Talk
    question: Question
    scores: Scores


class _FailedError(Exception):
    """The model gave no answer. Not remembered as a step, so that the next run asks again."""


def run(run: Run) -> Result:
    """Retrieval under every variant, white-box rates, and with a model its answers."""
    file = run.source("locomo", "locomo10.json", about=ABOUT)
    talks = read_talks(file, quick=run.quick)
    if not any(question.flagged for talk in talks for question in talk.questions) and not run.quick:
        run.left_out.append(
            "Figures without questions whose labels are wrong: there is no audit_errors.json beside it."
        )
    with Laboratory(run) as laboratory:
        found = {
            name: list(_retrieved(run, laboratory, talks, name, file_digest(file))) for name in _variants(run.quick)
        }
        answered = list(_answered(run, laboratory, talks, file_digest(file))) if run.model else []
    return _result(run, found, answered)


def read_talks(file: Path, *, quick: bool = False) -> list[Talk]:
    """The conversations with their questions; with `quick` the beginning of the first. Raises InputError."""
    data = file.read_bytes()
    conversations = read_locomo(file.name, data)
    flagged = flagged_in(file.with_name("audit_errors.json"))
    talks = []
    for place, (conversation, item) in enumerate(zip(conversations, json.loads(data), strict=True)):
        known = {atom.source for atom in conversation.atoms}
        rows = item.get("qa", ())
        talks.append(Talk(place, conversation, tuple(_questions(file.name, place, rows, known, flagged))))
    return [beginning(talks[0], _QUICK_SESSIONS, _QUICK_QUESTIONS)] if quick else talks


def flagged_in(file: Path) -> frozenset[str]:
    """The questions whose labels are known to be wrong; none without the file. Raises InputError for a damaged one."""
    if not file.exists():
        return frozenset()
    try:
        return frozenset(row["question_id"] for row in json.loads(file.read_text("utf-8")))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{file}: is no list of questions with label errors: {type(error).__name__}: {error}"
        ) from None


def _questions(
    file: str, place: int, rows: Sequence[Mapping[str, Any]], known: set[str], flagged: frozenset[str]
) -> Iterator[Question]:
    for number, row in enumerate(rows):
        id = f"locomo_{place}_qa{number}"
        try:
            cited = dict.fromkeys(_EVIDENCE.findall(" ".join(row.get("evidence", ()))))
            yield Question(
                id=id,
                text=row["question"],
                category=int(row["category"]),
                answer=str(row.get("answer", "")),
                evidence=tuple(turn for turn in cited if turn in known),
                flagged=id in flagged,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{file}, question {id}: {type(error).__name__}: {error}") from error


def beginning(talk: Talk, sessions: int, questions: int) -> Talk:
    """The first sessions, and the first questions that can be answered from them."""
    first = list(dict.fromkeys(atom.session for atom in talk.conversation.atoms))[:sessions]
    atoms = tuple(atom for atom in talk.conversation.atoms if atom.session in first)
    known = {atom.source for atom in atoms}
    asked = [q for q in talk.questions if q.evidence and known.issuperset(q.evidence)]
    return Talk(talk.place, replace(talk.conversation, atoms=atoms), tuple(asked[:questions]))


def _variants(quick: bool) -> Sequence[str]:
    return ("default", "paper, decay off") if quick else tuple(VARIANTS)


def memory_of(laboratory: Laboratory, talk: Talk) -> Memory:
    """The conversation as a timeline."""

    def fill() -> Memory:
        memory = laboratory.begin(talk.conversation.user, talk.conversation.character, PERSONA)
        memory.add(talk.conversation.atoms, "locomo10.json")
        return memory

    laboratory.set_clock(talk.asked_at)
    return laboratory.kept(talk.conversation.id, fill)


def _retrieved(run: Run, laboratory: Laboratory, talks: Sequence[Talk], variant: str, data: str) -> Iterator[Outcome]:
    for number, talk in enumerate(talks):
        asked = [question for question in talk.questions if question.evidence]
        run.progress(f"searching, {variant}", number, len(talks))
        rows = run.step(
            ["retrieval", variant, talk.conversation.id],
            basis(run, VARIANTS[variant], data=data, questions=[question.id for question in asked]),
            _search(laboratory, talk, asked, variant),
        )
        for question, row in zip(asked, rows, strict=True):
            scores = retrieval_scores(row["ranked"], question.evidence)
            yield Outcome(talk, question, scores | prompt_scores(row["shown"], question.evidence))
    run.progress(f"searching, {variant}", len(talks), len(talks))


def _search(
    laboratory: Laboratory, talk: Talk, asked: Sequence[Question], variant: str
) -> Callable[[], list[dict[str, list[str]]]]:
    def compute() -> list[dict[str, list[str]]]:
        memory = memory_of(laboratory, talk)
        found = [memory.look(question.text, talk.asked_at, VARIANTS[variant]) for question in asked]
        return [
            {"ranked": _looked_at(one.ranked, question.evidence), "shown": list(one.shown)}
            for one, question in zip(found, asked, strict=True)
        ]

    return compute


def _looked_at(ranked: Sequence[str], gold: Sequence[str]) -> list[str]:
    """As much of a ranking as any measure looks at: to the last cut, and to the last gold."""
    last = max((place for place, id in enumerate(ranked, 1) if id in gold), default=0)
    return list(ranked[: max(last, *CUTS)])


# -- answers -----------------------------------------------------------------------------------------------------------


def _answered(run: Run, laboratory: Laboratory, talks: Sequence[Talk], data: str) -> Iterator[Outcome]:
    """The questions that this many seeds ask, answered in the order of the file."""
    assert run.model is not None
    asked = sampled(talks, run.seeds, ASKED_QUICK if run.quick else ASKED_PER_SEED)
    failures = Failures(run.model)
    for number, (talk, question) in enumerate(asked):
        run.progress(f"answering with {run.model}", number, len(asked))
        inputs = basis(run, VARIANTS["default"], data=data, persona=PERSONA, quick=run.quick, table=_table(run))
        try:
            row = run.step(["answer", question.id], inputs, _ask(run.model, laboratory, talk, question))
            failures.note(None)
        except _FailedError as error:
            failures.note(f"{error}.")
            row = None
        yield Outcome(talk, question, _answer_scores(question, row))
    run.progress(f"answering with {run.model}", len(asked), len(asked))


def sampled(talks: Sequence[Talk], seeds: int, size: int) -> list[tuple[Talk, Question]]:
    """`size` questions for each seed, drawn without replacement from all: more seeds ask further questions."""
    everything = [(talk, question) for talk in talks for question in talk.questions]
    order = np.random.default_rng(0).permutation(len(everything))[: seeds * size]
    return [everything[place] for place in sorted(order.tolist())]


def _table(run: Run) -> dict[str, Any] | None:
    """What the settings say of the model, so that a changed table asks again."""
    return next((row for row in run.settings.public()["models"] if row["name"] == run.model), None)


def _ask(model: str, laboratory: Laboratory, talk: Talk, question: Question) -> Callable[[], dict[str, Any]]:
    def compute() -> dict[str, Any]:
        memory = memory_of(laboratory, talk)
        column = Column(preset="default", model=model)
        told = laboratory.service.rehearse(memory.timeline.id, question.text, column)
        if told.kind == "turn_failed":
            raise _FailedError(told.body["error"]["text"])
        body = told.body
        shown = {row["label"]: memory.name(row["memory"]) for row in body["evidence"]}
        return {
            "response": body["response"],
            "shown": list(shown.values()),
            "cited": [shown[label] for label in body["cited"] if label in shown],
            "bound": [shown[label] for label in body["bound"]],
            "admitted": body["admission"]["admitted"],
            "repairs": len(body["repairs"]),
        }

    return compute


def _answer_scores(question: Question, row: Mapping[str, Any] | None) -> Scores:
    """The data set's score and the published white-box rate of a reply; one that never came scores nothing."""
    if row is None:
        return {"score": 0.0, "declined": 0.0, "bound": 0.0, "bound to gold": 0.0, "failed": 1.0, "broken": 0.0}
    return {
        "score": answer_score(row["response"], question.answer, question.category),
        "declined": float(declines(row["response"])),
        "bound": float(bool(row["bound"])),
        "bound to gold": float(bool(set(row["bound"]) & set(question.evidence))),
        "failed": 0.0,
        "broken": float(not row["admitted"]),
    }


# -- the result --------------------------------------------------------------------------------------------------------

_ANSWER = ("score", "declined", "bound", "bound to gold", "broken", "failed")


def _result(run: Run, found: Mapping[str, Sequence[Outcome]], answered: Sequence[Outcome]) -> Result:
    default = found["default"]
    held_out = [outcome for outcome in default if outcome.talk.held_out]
    sure = [outcome for outcome in default if not outcome.question.flagged]
    groups = {"all questions": default, "held-out conversations": held_out}
    if len(sure) < len(default):
        groups |= {
            "without audited label errors": sure,
            "held out, without label errors": [outcome for outcome in sure if outcome.talk.held_out],
        }
    numbers: dict[str, Any] = {
        "questions": len(default),
        "retrieval": as_numbers({name: _scores(rows) for name, rows in found.items()}, RETRIEVAL),
        "by category": as_numbers(_by_category(default), RETRIEVAL + WHITE_BOX),
        "by category, without label errors": as_numbers(_by_category(sure), RETRIEVAL + WHITE_BOX),
        "default": as_numbers({name: _scores(rows) for name, rows in groups.items()}, RETRIEVAL + WHITE_BOX),
    }
    tables = [
        measures_table("LoCoMo retrieval, all questions", _all(found), RETRIEVAL),
        measures_table("Default preset by category", _by_category(default), RETRIEVAL),
        measures_table("Default preset, parts of the data", {k: _scores(v) for k, v in groups.items()}, RETRIEVAL),
        measures_table("White box: evidence in the prompt (no model)", _all(found), WHITE_BOX),
        measures_table("White box by category, default preset", _by_category(default), WHITE_BOX),
        measures_table("Default preset by category, without label errors", _by_category(sure), RETRIEVAL + WHITE_BOX),
    ]
    figures = {"retrieval": bars("LoCoMo by category", "recall@10", _of_categories(found, "recall@10"))}
    if answered:
        numbers["answers"] = as_numbers(_answer_groups(answered), _ANSWER)
        tables += _answer_tables(run, answered)
        figures["answers"] = bars(
            f"LoCoMo answers of {run.model}", "score of the data set", _of_categories({"": answered}, "score")
        )
    targets = () if run.quick else tuple(_targets(held_out))
    return Result(numbers, tuple(tables), figures, targets)


def _scores(rows: Sequence[Outcome]) -> list[Scores]:
    return [row.scores for row in rows]


def _all(found: Mapping[str, Sequence[Outcome]]) -> dict[str, list[Scores]]:
    return {name: _scores(rows) for name, rows in found.items()}


def _by_category(rows: Sequence[Outcome]) -> dict[str, list[Scores]]:
    groups = grouped(rows, lambda row: CATEGORIES.get(row.question.category, str(row.question.category)))
    return {name: _scores(groups[name]) for name in sorted(groups)}


def _of_categories(found: Mapping[str, Sequence[Outcome]], measure: str) -> dict[str, Any]:
    shown = {name: rows for name, rows in found.items() if name in ("default", "paper, decay off", "")}
    return {
        name: {category: estimates(scores, [measure])[measure] for category, scores in _by_category(rows).items()}
        for name, rows in shown.items()
    }


def _answer_groups(answered: Sequence[Outcome]) -> dict[str, list[Scores]]:
    sure = [row for row in answered if not row.question.flagged]
    answerable = [row for row in answered if row.question.category != ADVERSARIAL]
    return {
        "all": _scores(answered),
        "answerable": _scores(answerable),
        "all, without label errors": _scores(sure),
        **_by_category(answered),
        **{f"{name}, without label errors": scores for name, scores in _by_category(sure).items()},
    }


def _answer_tables(run: Run, answered: Sequence[Outcome]) -> list[Table]:
    return [
        measures_table(
            f"Answers of {run.model}: token F1, and for adversarial questions abstention",
            _answer_groups(answered),
            _ANSWER,
        )
    ]


def _targets(held_out: Sequence[Outcome]) -> Iterator[Target]:
    found = estimates(_scores(held_out), BARS)
    for measure, bar in BARS.items():
        if measure in found:
            yield Target(f"{measure}, held-out conversations, default preset", found[measure].mean, bar)
