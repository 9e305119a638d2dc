"""MADial: memories that should come to mind in a conversation where nobody asks for them; Chinese and English alike.

The memories of each of the two children are one timeline, oldest first, none beside another. What is searched for is
the child's last words before the reply that should recall something, which is what a turn searches for; and, to
compare, the whole dialogue up to there. Both languages are reported apart, on the same memories and dialogues.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, get_args

from arpm.errors import InputError
from arpm.experiments.base import Result, Run, file_digest
from arpm.experiments.memories import VARIANTS, Laboratory, Memory, basis
from arpm.experiments.retrieval_metrics import (
    Scores,
    as_numbers,
    bars,
    estimates,
    measures_table,
    paired_difference,
    prompt_scores,
    retrieval_scores,
)
from arpm.importers.atoms import Atom

ABOUT = "MADial-Bench (MIT), its ch and en folders of github.com/hejunqing/MADial-Bench"
Language = Literal["zh", "en"]
FOLDERS: dict[Language, str] = {"zh": "ch", "en": "en"}
QUERIES = ("last words", "dialogue so far")
MEASURES = ("recall@1", "recall@5", "recall@10", "recall@20", "hit@10", "ndcg@10", "mrr")
WHITE_BOX = ("evidence in prompt", "all evidence in prompt")
_NAMES = {1: "Bart", 2: "Lisa"}
_SPEAKER = re.compile(r"^\s*<([^>]*)>\s*[:：]\s*")
_QUOTES = '"“”'
_QUICK = 12


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A dialogue: whose it is, what was said before the reply that should recall something, and what it should."""

    place: int
    user: int
    said: tuple[tuple[str, str], ...]
    gold: tuple[str, ...]

    def query(self, kind: str) -> str:
        """What is searched for."""
        if kind == QUERIES[0]:
            return next(text for speaker, text in reversed(self.said) if speaker != "Assistant")
        return "\n".join(f"{speaker}: {text}" for speaker, text in self.said)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured on one dialogue under one variant and kind of query."""

    language: Language
    variant: str
    query: str
    place: int
    scores: Scores

    @property
    def group(self) -> str:
        return f"{self.language}, {self.variant}, {self.query}"


def run(run: Run) -> Result:
    """Both languages under every variant."""
    folder = run.source("madial-bench", about=ABOUT)
    outcomes: list[Outcome] = []
    with Laboratory(run) as laboratory:
        for language in get_args(Language):
            outcomes += _measured(run, laboratory, folder, language)
    return _result(outcomes)


def read_memories(file: Path) -> dict[int, list[Atom]]:
    """The memories of each child as atoms, oldest first. Raises InputError naming the line."""
    users: dict[int, list[Atom]] = {number: [] for number in _NAMES}
    for line, row in _rows(file):
        for id, memory in row.items():
            try:
                at = datetime.strptime(memory["time"], "%Y-%m-%d").replace(hour=12, tzinfo=UTC)
                # The English file does not say whose a memory is, but every one names its child.
                owners = [number for number, name in _NAMES.items() if name in memory["event"]]
                # A session of its own: what happened on other days lends it nothing.
                atom = Atom(id, f"memory {id}", at, memory["event"], "")
                users[int(memory.get("user-id") or owners[0])].append(atom)
            except (KeyError, TypeError, ValueError, IndexError) as error:
                raise InputError(f"{file}, line {line}: {type(error).__name__}: {error}") from error
    return {number: sorted(atoms, key=lambda atom: (atom.at, atom.source)) for number, atoms in users.items()}


def read_dialogues(file: Path) -> list[Dialogue]:
    """The dialogues up to the first reply that should recall something. Raises InputError naming the line."""
    dialogues = []
    for line, row in _rows(file):
        try:
            lines = row["dialogue"][: row["test-turn"][0]]
            said = tuple(_said(text) for text in lines if text.strip() and not text.startswith("<BOD>"))
            gold = tuple(dict.fromkeys(str(id) for id in row["relevant-id"]))
            dialogues.append(Dialogue(line - 1, int(row["user-id"]), said, gold))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"{file}, line {line}: {type(error).__name__}: {error}") from error
    return dialogues


def _rows(file: Path) -> list[tuple[int, dict[str, Any]]]:
    lines = [(number, line) for number, line in enumerate(file.read_text("utf-8").splitlines(), 1) if line.strip()]
    try:
        return [(number, json.loads(line)) for number, line in lines]
    except ValueError as error:
        raise InputError(f"{file}: is not JSON Lines: {error}") from error


def _said(line: str) -> tuple[str, str]:
    match = _SPEAKER.match(line)
    text = line[match.end() :] if match else line
    return match[1] if match else "Assistant", text.strip().strip(_QUOTES).strip()


def _measured(run: Run, laboratory: Laboratory, folder: Path, language: Language) -> list[Outcome]:
    files = [folder / FOLDERS[language] / f"MADial-Bench-{language}-{part}.json" for part in ("memory", "dialogue")]
    for file in files:
        run.source(*file.relative_to(run.data).parts, about=ABOUT)
    memories, dialogues = read_memories(files[0]), read_dialogues(files[1])
    if run.quick:
        dialogues = dialogues[:_QUICK]
    variants = ("default", "paper, decay off") if run.quick else tuple(VARIANTS)
    outcomes = []
    for number, variant in enumerate(variants):
        run.progress(f"searching in {language}, {variant}", number, len(variants))
        for kind in QUERIES:
            rows = run.step(
                [language, variant, kind],
                basis(run, VARIANTS[variant], data=[file_digest(file) for file in files], dialogues=len(dialogues)),
                _search(laboratory, language, memories, dialogues, variant, kind),
            )
            for dialogue, row in zip(dialogues, rows, strict=True):
                scores = retrieval_scores(row["ranked"], dialogue.gold) | prompt_scores(row["shown"], dialogue.gold)
                outcomes.append(Outcome(language, variant, kind, dialogue.place, scores))
    run.progress(f"searching in {language}", len(variants), len(variants))
    return outcomes


def _search(
    laboratory: Laboratory,
    language: Language,
    memories: Mapping[int, Sequence[Atom]],
    dialogues: Sequence[Dialogue],
    variant: str,
    kind: str,
) -> Callable[[], list[dict[str, list[str]]]]:
    def compute() -> list[dict[str, list[str]]]:
        found = []
        for dialogue in dialogues:
            atoms = memories[dialogue.user]
            memory = laboratory.kept(f"{language}-{dialogue.user}", _filling(laboratory, dialogue.user, atoms))
            found.append(memory.look(dialogue.query(kind), _day_after(atoms), VARIANTS[variant]).as_dict())
        return found

    return compute


def _filling(laboratory: Laboratory, user: int, atoms: Sequence[Atom]) -> Callable[[], Memory]:
    def fill() -> Memory:
        memory = laboratory.begin(_NAMES[user], "Assistant")
        memory.add(atoms, "madial-bench")
        return memory

    return fill


def _day_after(atoms: Sequence[Atom]) -> datetime:
    """Dialogues have no date: they are taken as held a day after the last memory."""
    assert atoms[-1].at is not None
    return atoms[-1].at + timedelta(days=1)


def _result(outcomes: Sequence[Outcome]) -> Result:
    groups: dict[str, list[Scores]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.group, []).append(outcome.scores)
    everything = MEASURES + WHITE_BOX
    difference = paired_difference(*(_values(outcomes, language, "recall@10") for language in get_args(Language)))
    main = [name for name in groups if ", default, " in name]
    numbers = {
        "groups": as_numbers(groups, everything),
        "recall@10, zh minus en": None if difference is None else difference.as_dict(),
    }
    figure = bars(
        "MADial, default preset",
        "share",
        {
            measure: {name.replace(", default, ", "\n"): estimates(groups[name], [measure])[measure] for name in main}
            for measure in ("recall@10", "evidence in prompt")
        },
    )
    tables = [
        measures_table(
            f"MADial, {'Chinese' if language == 'zh' else 'English'}",
            {name: rows for name, rows in groups.items() if name.startswith(language)},
            everything,
        )
        for language in get_args(Language)
    ]
    return Result(numbers, tuple(tables), {"madial": figure})


def _values(outcomes: Sequence[Outcome], language: Language, measure: str) -> list[float]:
    """One value for each dialogue, in order: both languages have the same dialogues."""
    chosen = [o for o in outcomes if (o.language, o.variant, o.query) == (language, "default", QUERIES[0])]
    return [outcome.scores[measure] for outcome in sorted(chosen, key=lambda outcome: outcome.place)]
