"""PrecisionMemBench: whether what must be shown is, and what must not be shown is not: noise, old facts, other
people's.

A belief is a remembered round. Users and scopes are separate timelines, since that is how memory is kept apart here;
a belief for every scope is in each of its user's. There is no tier of pinned facts: they are found by search or not
at all. Measured twice: with superseded and resolved beliefs left among the others, and with them in quarantine, as a
person would put them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from arpm.errors import InputError
from arpm.experiments.base import Result, Run, Table, file_digest
from arpm.experiments.memories import VARIANTS, Laboratory, Memory, basis
from arpm.experiments.retrieval_metrics import Scores, as_numbers, bars, estimates, grouped
from arpm.importers.atoms import Atom
from arpm.quarantine import Scope

ABOUT = "PrecisionMemBench (MIT), its fixtures folder of github.com/tenurehq/precisionMemBench"
UNIVERSAL = "user:universal"
ARMS = ("left among the others", "in quarantine")
MEASURES = {
    "must include": "share of the relevant beliefs that are shown",
    "pinned shown": "share of pinned facts and open questions that are shown",
    "precision": "share of what is shown that the case allows",
    "must exclude": "cases that show nothing they name as excluded",
    "silent": "cases that allow nothing and show nothing",
    "no old fact": "cases that show no superseded or resolved belief",
    "current first": "current beliefs ranked above the ones they replaced",
    "isolation": "cases that show nothing of another user or scope",
    "passed": "cases right in all of the above, with everything shown that must be",
}
_QUICK = 25


@dataclass(frozen=True, slots=True)
class Belief:
    """Something known of a user."""

    id: str
    user: str
    scopes: tuple[str, ...]
    text: str
    at: datetime
    old: bool
    replaced_by: str | None


@dataclass(frozen=True, slots=True)
class Case:
    """A question, and what its answer may and must be made from. `most` is the case's own limit of beliefs."""

    id: str
    category: str
    user: str
    scope: str
    query: str
    most: int | None
    relevant: tuple[str, ...] | None
    pinned: tuple[str, ...]
    excluded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured on a case."""

    case: Case
    scores: Scores


def run(run: Run) -> Result:
    """Every case under every variant, with old beliefs left in and put away."""
    folder = run.source("precisionmembench", about=ABOUT)
    files = [folder / name for name in ("beliefs.seed.json", "retrieval.cases.json")]
    for file in files:
        run.source(*file.relative_to(run.data).parts, about=ABOUT)
    beliefs, cases = read_beliefs(files[0]), read_cases(files[1])
    asked = [case for case in cases if case.query.strip()][: _QUICK if run.quick else None]
    data = [file_digest(file) for file in files]
    variants = ("default",) if run.quick else tuple(VARIANTS)
    outcomes: dict[tuple[str, str], list[Outcome]] = {}
    with Laboratory(run) as laboratory:
        for number, (arm, variant) in enumerate((arm, variant) for arm in ARMS for variant in variants):
            run.progress(f"searching, {variant}, old beliefs {arm}", number, len(ARMS) * len(variants))
            found = run.step(
                [arm, variant],
                basis(run, VARIANTS[variant], data=data, cases=len(asked)),
                _search(laboratory, beliefs, asked, arm, variant),
            )
            outcomes[arm, variant] = [
                Outcome(case, case_scores(case, beliefs, row["ranked"], row["shown"]))
                for case, row in zip(asked, found, strict=True)
            ]
    return _result(outcomes, left_out=len(cases) - len(asked))


def read_beliefs(file: Path) -> list[Belief]:
    """The beliefs, oldest first. Raises InputError naming the one that is not as expected."""
    beliefs = []
    for row in _rows(file):
        try:
            names = ", ".join([row["canonical_name"].replace("_", " "), *row["aliases"]])
            beliefs.append(
                Belief(
                    id=row["_id"],
                    user=row["user_id"],
                    scopes=tuple(row["scope"]),
                    text=f"{names}: {row['content']}",
                    at=datetime.fromisoformat(row["created_at"]),
                    old=row["epistemic_status"] == "superseded" or row["resolved_at"] is not None,
                    replaced_by=row["superseded_by"],
                )
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{file}, belief {len(beliefs) + 1}: {type(error).__name__}: {error}") from error
    return sorted(beliefs, key=lambda belief: (belief.at, belief.id))


def read_cases(file: Path) -> list[Case]:
    """The cases. Raises InputError naming the one that is not as expected."""
    cases = []
    for row in _rows(file):
        try:
            expect = row["expect"]
            relevant = expect.get("relevantBeliefs", {}).get("shouldOnlyInclude")
            cases.append(
                Case(
                    id=row["caseId"],
                    category=row["category"],
                    user=row.get("userId", "test-user"),
                    scope=row["scope"][0],
                    query=row["query"],
                    most=row.get("budget", {}).get("maxBeliefs"),
                    relevant=None if relevant is None else tuple(relevant),
                    pinned=tuple(_named(expect, ("pinnedFacts", "openQuestions"), "mustInclude")),
                    excluded=tuple(_named(expect, ("pinnedFacts", "openQuestions", "relevantBeliefs"), "mustExclude")),
                )
            )
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise InputError(f"{file}, case {len(cases) + 1}: {type(error).__name__}: {error}") from error
    return cases


def _rows(file: Path) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{file}: is not JSON: {error}") from error
    return rows


def _named(expect: Mapping[str, Any], tiers: Sequence[str], key: str) -> Iterator[str]:
    for tier in tiers:
        yield from expect.get(tier, {}).get(key, ())


def case_scores(case: Case, beliefs: Sequence[Belief], ranked: Sequence[str], shown: Sequence[str]) -> Scores:
    """The measures that apply to a case. What its tiers keep apart (pinned, open) counts as allowed here.

    An id that is excluded from one tier and demanded in another is not excluded: there is one tier here.
    """
    known = {belief.id: belief for belief in beliefs}
    relevant = case.relevant or ()
    allowed, seen = {*relevant, *case.pinned}, set(shown)
    excluded = set(case.excluded) - allowed
    scores: Scores = {
        "no old fact": float(not any(known[id].old for id in seen)),
        "isolation": float(all(_visible(known[id], case) for id in seen)),
    }
    if relevant:
        scores["must include"] = len(seen & set(relevant)) / len(set(relevant))
    if case.pinned:
        scores["pinned shown"] = len(seen & set(case.pinned)) / len(set(case.pinned))
    if case.relevant is not None and seen:
        scores["precision"] = len(seen & allowed) / len(seen)
    if case.excluded:
        scores["must exclude"] = float(not seen & excluded)
    if case.relevant is not None and not allowed:
        scores["silent"] = float(not seen)
    pairs = [(id, known[id].replaced_by) for id in ranked if known[id].replaced_by in ranked]
    if pairs:
        before = [ranked.index(str(current)) < ranked.index(old) for old, current in pairs]
        scores["current first"] = sum(before) / len(before)
    right = allowed <= seen and not seen & excluded and scores["no old fact"] and scores["isolation"]
    scores["passed"] = float(bool(right) and (case.relevant is None or seen <= allowed))
    return scores


def _visible(belief: Belief, case: Case) -> bool:
    return belief.user == case.user and (case.scope in belief.scopes or UNIVERSAL in belief.scopes)


def _search(
    laboratory: Laboratory, beliefs: Sequence[Belief], cases: Sequence[Case], arm: str, variant: str
) -> Callable[[], list[dict[str, list[str]]]]:
    def compute() -> list[dict[str, list[str]]]:
        at = max(belief.at for belief in beliefs) + timedelta(hours=1)
        found = []
        for case in cases:
            key = f"{arm}/{case.user}/{case.scope}"
            memory = laboratory.kept(key, _filling(laboratory, beliefs, case, arm))
            config = VARIANTS[variant]
            if case.most is not None:
                config = config.changed({"history_k": min(case.most, config.history_k)})
            found.append(memory.look(case.query, at.astimezone(UTC), config).as_dict())
        return found

    return compute


def _filling(laboratory: Laboratory, beliefs: Sequence[Belief], case: Case, arm: str) -> Callable[[], Memory]:
    def fill() -> Memory:
        memory = laboratory.begin(case.user, case.scope)
        visible = [belief for belief in beliefs if _visible(belief, case)]
        # Each in a session of its own: beliefs are no conversation, and lend one another nothing.
        memory.add(
            [Atom(belief.id, f"belief {belief.id}", belief.at, belief.text, "") for belief in visible], "beliefs"
        )
        old = [memory.memory(belief.id) for belief in visible if belief.old]
        if old and arm == ARMS[1]:
            laboratory.service.quarantine(memory.timeline.id, Scope("memories", old), "It no longer holds.")
        return memory

    return fill


def _result(outcomes: Mapping[tuple[str, str], Sequence[Outcome]], left_out: int) -> Result:
    by_group = {f"{variant}, {arm}": [o.scores for o in rows] for (arm, variant), rows in outcomes.items()}
    default = outcomes[ARMS[1], "default"]
    categories = {
        name: [outcome.scores for outcome in rows]
        for name, rows in sorted(grouped(default, lambda outcome: str(outcome.case.category)).items())
    }
    of_arms = {arm: by_group[f"default, {arm}"] for arm in ARMS}
    return Result(
        numbers={
            "cases": len(default),
            # A turn has words: the product refuses an empty message, so cases without a query are not asked.
            "cases left out": left_out,
            "groups": as_numbers(by_group, list(MEASURES)),
            "by category": as_numbers(categories, list(MEASURES)),
        },
        tables=(
            *(_table(f"PrecisionMemBench, old beliefs {arm}", _of_arm(outcomes, arm)) for arm in ARMS),
            _table("Default preset by category, old beliefs in quarantine", categories),
        ),
        figures={
            "precision": bars(
                "PrecisionMemBench, default preset",
                "share",
                {
                    f"old beliefs {arm}": {
                        name.replace(" ", "\n"): value for name, value in estimates(rows, MEASURES).items()
                    }
                    for arm, rows in of_arms.items()
                },
            )
        },
    )


def _of_arm(outcomes: Mapping[tuple[str, str], Sequence[Outcome]], arm: str) -> dict[str, list[Scores]]:
    return {variant: [o.scores for o in rows] for (of, variant), rows in outcomes.items() if of == arm}


def _table(title: str, groups: Mapping[str, Sequence[Scores]]) -> Table:
    """One line for each measure, one column for each group, with how many cases a measure applies to."""
    found = {name: estimates(rows, MEASURES) for name, rows in groups.items()}
    rows = [
        (
            measure,
            meaning,
            *(
                f"{values[measure]} of {values[measure].count}" if measure in values else None
                for values in found.values()
            ),
        )
        for measure, meaning in MEASURES.items()
    ]
    return Table(title, ("", "what it counts", *groups), tuple(rows))
