"""RealMem: whether the sessions that a question in a long life with an assistant needs are found and shown.

Sessions come in the order of their dates. Every question is asked where it stands in its session, with all earlier
sessions remembered and none later; the running session is in the context window of a turn and is not searched. A
session ranks where its best round ranks. Measured on the five users there are, English only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from arpm.errors import InputError
from arpm.experiments.base import Result, Run, file_digest
from arpm.experiments.memories import VARIANTS, Laboratory, Memory, basis
from arpm.experiments.retrieval_metrics import (
    Scores,
    as_numbers,
    bars,
    estimates,
    grouped,
    measures_table,
    prompt_scores,
    retrieval_scores,
)
from arpm.importers.atoms import Atom

ABOUT = "RealMem (Apache-2.0), *_dialogues_256k.json of github.com/zhiyuan5986/RealMemBench"
MEASURES = ("recall@1", "recall@5", "recall@10", "recall@20", "hit@10", "mrr")
WHITE_BOX = ("evidence in prompt", "all evidence in prompt")
_QUICK_SESSIONS, _QUICK_QUESTIONS = 10, 8


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked in a session, what kind of memory it needs, and the earlier sessions that hold that."""

    id: str
    text: str
    category: str
    at: datetime
    gold: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Session:
    """A session's rounds and its questions."""

    id: str
    rounds: tuple[Atom, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A question of a user and what was measured on it."""

    user: str
    question: Question
    scores: Scores


def run(run: Run) -> Result:
    """Every user's life under every variant."""
    folder = run.source("realmem", about=ABOUT)
    files = sorted(folder.glob("*_dialogues_256k.json"))
    if not files:
        raise InputError(f"{folder} holds no *_dialogues_256k.json: {ABOUT}")
    if run.quick:
        files = files[:1]
    with Laboratory(run) as laboratory:
        outcomes = _measured(run, laboratory, files)
    return _result(outcomes)


def read_sessions(file: Path, *, quick: bool = False) -> list[Session]:
    """A user's sessions by date. Raises InputError naming the session that is not as expected."""
    try:
        dialogues = json.loads(file.read_text("utf-8"))["dialogues"]
        rows = sorted(dialogues, key=lambda row: row["current_time"][:10])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file}: is no RealMem file ({type(error).__name__}: {error})") from error
    sessions: list[Session] = []
    earlier: set[str] = set()
    for row in rows[: _QUICK_SESSIONS if quick else None]:
        try:
            sessions.append(_session(row, earlier))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{file}, session {row.get('session_uuid')}: {type(error).__name__}: {error}") from error
        earlier.add(sessions[-1].id)
    return sessions


def _session(row: Mapping[str, Any], earlier: set[str]) -> Session:
    id, turns = row["session_uuid"], row["dialogue_turns"]
    start = datetime.strptime(row["current_time"][:10], "%Y-%m-%d").replace(hour=9, tzinfo=UTC)
    rounds, questions = [], []
    message = ""
    for place, turn in enumerate(turns):
        at = start + timedelta(minutes=place)
        said = turn["content"].strip()
        if turn["speaker"] != "User":
            rounds.append(Atom(f"{id}:{place}", id, at, message, said))
            message = ""
            continue
        if message:
            rounds.append(Atom(f"{id}:{place}", id, at, message, ""))
        message = said
        used = turns[place + 1].get("memory_session_uuids", ()) if place + 1 < len(turns) else ()
        gold = tuple(dict.fromkeys(session for session in used if session in earlier))
        if turn["is_query"] and gold and said:
            questions.append(Question(f"{id}:{place}", said, turn["category_name"], at, gold))
    if message:
        rounds.append(Atom(f"{id}:end", id, start + timedelta(minutes=len(turns)), message, ""))
    return Session(id, tuple(rounds), tuple(questions))


def _measured(run: Run, laboratory: Laboratory, files: Sequence[Path]) -> dict[str, list[Outcome]]:
    variants = ("default",) if run.quick else tuple(VARIANTS)
    outcomes: dict[str, list[Outcome]] = {name: [] for name in variants}
    for number, file in enumerate(files):
        user = file.name.removesuffix("_dialogues_256k.json").replace("_", " ")
        run.progress(f"reading {user}'s sessions", number, len(files))
        sessions = read_sessions(file, quick=run.quick)
        questions = [question for session in sessions for question in session.questions]
        if run.quick:
            questions = questions[:_QUICK_QUESTIONS]
        wanted = frozenset(question.id for question in questions)
        found = run.step(
            ["life", user],
            basis(
                run,
                data=file_digest(file),
                questions=sorted(wanted),
                variants={name: VARIANTS[name].as_dict() for name in variants},
            ),
            _life(run, laboratory, user, sessions, wanted, variants),
        )
        for question in questions:
            for name in variants:
                outcomes[name].append(Outcome(user, question, _scores(question, found[question.id][name])))
    run.progress("reading sessions", len(files), len(files))
    return outcomes


def _scores(question: Question, row: Mapping[str, Sequence[str]]) -> Scores:
    return retrieval_scores(row["ranked"], question.gold) | prompt_scores(row["shown"], question.gold)


def _life(
    run: Run,
    laboratory: Laboratory,
    user: str,
    sessions: Sequence[Session],
    wanted: frozenset[str],
    variants: Sequence[str],
) -> Callable[[], dict[str, Any]]:
    """Live through the sessions: ask the questions of each, then remember it."""

    def compute() -> dict[str, Any]:
        memory = laboratory.begin(user, "Assistant")
        found: dict[str, Any] = {}
        for number, session in enumerate(sessions):
            run.progress(f"living {user}'s sessions", number, len(sessions))
            for question in session.questions:
                if question.id in wanted:
                    found[question.id] = {name: _looked(memory, question, name) for name in variants}
            memory.add(session.rounds, "realmem")
            if len(found) == len(wanted):
                break
        return found

    return compute


def _looked(memory: Memory, question: Question, variant: str) -> dict[str, list[str]]:
    found = memory.look(question.text, question.at, VARIANTS[variant])
    return {"ranked": list(_sessions(found.ranked)), "shown": list(_sessions(found.shown))}


def _sessions(rounds: Sequence[str]) -> Iterator[str]:
    """The sessions of the rounds, each where its first round stands."""
    yield from dict.fromkeys(name.rpartition(":")[0] for name in rounds)


def _result(outcomes: Mapping[str, Sequence[Outcome]]) -> Result:
    default = outcomes["default"]
    by_variant = {name: [row.scores for row in rows] for name, rows in outcomes.items()}
    by_category = _grouped(default, lambda row: str(row.question.category))
    by_user = _grouped(default, lambda row: str(row.user))
    everything = MEASURES + WHITE_BOX
    return Result(
        numbers={
            "questions": len(default),
            "variants": as_numbers(by_variant, everything),
            "by category": as_numbers(by_category, everything),
            "by user": as_numbers(by_user, everything),
        },
        tables=(
            measures_table("RealMem: sessions found", by_variant, MEASURES),
            measures_table("RealMem: needed sessions in the prompt", by_variant, WHITE_BOX),
            measures_table("Default preset by kind of question", by_category, everything),
            measures_table("Default preset by user", by_user, everything),
        ),
        figures={
            "realmem": bars(
                "RealMem by kind of question, default preset",
                "share",
                {
                    measure: {name: estimates(rows, [measure])[measure] for name, rows in by_category.items()}
                    for measure in ("recall@10", "evidence in prompt")
                },
            )
        },
    )


def _grouped(rows: Sequence[Outcome], key: Callable[[Outcome], str]) -> dict[str, list[Scores]]:
    return {name: [row.scores for row in group] for name, group in sorted(grouped(rows, key).items())}
