"""How models behaved: the numbers of the paper's protocol statistics, for each model and stage.

A stage is a session, a range of rounds along the timeline, or everything. Works on turn records and on rounds imported
from the published ARPM's logs; what those do not say is None and never counted as nothing. Pure functions of events:
`observed` reads, `summarised` counts. Knows nothing about files.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from arpm.events import RECEIPT, Event
from arpm.protocol import VIOLATIONS

NEEDS = ("knowledge", "experience", "both", "none", "unclear")
# The ladder of a turn record, and the one kind of repair that the published logs tell of.
RUNGS = ("normalised", "asked", "fallback", "published")
# "session", "all", or so many rounds.
Stage = Literal["session", "all"] | int

_TAGS = re.compile(r"</?analysis>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Observation:
    """One reply, or one attempt at one that failed. None is what the record does not say.

    `characters` is the length of the analysis without its tags, `logged` as the source has it (the published statistics
    count the tags). `violations` are those of the model's first output, `left` those of the reply; `broken` is a reply
    that still needs repair.
    """

    timeline: str
    session: str
    round: int
    model: str
    replaced: bool = False
    failed: str | None = None
    replied: bool = True
    characters: int | None = None
    logged: int | None = None
    violations: tuple[str, ...] | None = None
    left: tuple[str, ...] | None = None
    repairs: tuple[tuple[str, bool], ...] = ()
    need: str | None = None
    valid: int | None = None
    unknown: int | None = None
    absent: bool | None = None
    bound: int | None = None
    admitted: bool | None = None
    broken: bool | None = None
    # The verdict on every standing instruction that the prompt showed.
    instructions: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """What a timeline's events show. Erased turns and rounds imported without a model's doings are only counted."""

    observations: tuple[Observation, ...]
    erased: int
    other: int


@dataclass(frozen=True, slots=True)
class Row:
    """One model in one stage. Numbers are None where no record of the row says them."""

    stage: str
    model: str
    first_round: int
    last_round: int
    replies: int
    replaced: int
    failed: int
    failures: dict[str, int]
    analyses: int
    analysis_mean: float | None
    analysis_median: float | None
    logged_mean: float | None
    logged_median: float | None
    without_analysis: int | None
    without_response: int | None
    violations: dict[str, int] | None
    violations_left: dict[str, int] | None
    turns_left_broken: int | None
    repairs_tried: dict[str, int]
    repairs_fixed: dict[str, int]
    citations_valid: int | None
    citations_unknown: int | None
    citations_absent: int | None
    citations_bound: int | None
    needs: dict[str, int] | None
    admitted: int | None
    admission_rate: float | None
    instructions_kept: int | None
    instructions_broken: int | None
    instructions_unchecked: int | None
    adherence_rate: float | None


def observed(events: Iterable[Event]) -> Observed:
    """What the events of one timeline show, in their order."""
    found: list[Observation] = []
    places: dict[str, int] = {}
    erased, other = 0, 0
    for event in events:
        body = event.body
        if event.kind in ("turn", "turn_failed", "imported") and body is None:
            erased += 1
        elif body is None or event.kind == RECEIPT:
            continue
        elif event.kind == "turn":
            if body["replaces"] in places:
                place = places[body["replaces"]]
                found[place] = _as_replaced(found[place])
            places[event.id] = len(found)
            found.append(_of_turn(event, body))
        elif event.kind == "turn_failed":
            found.append(_of_failed(event, body))
        elif event.kind == "imported" and body.get("published"):
            found.append(_of_published(event, body, body["published"]))
        elif event.kind == "imported":
            other += 1
    return Observed(tuple(found), erased, other)


def _of_turn(event: Event, body: Mapping[str, Any]) -> Observation:
    analysis, first = body["analysis"] or {}, body["attempts"][0]["violations"] if body["attempts"] else []
    text = analysis.get("text", "")
    return Observation(
        timeline=event.timeline,
        session=event.session or "",
        round=body["round"],
        model=body["backend"]["model"],
        characters=len(text.strip()),
        logged=len(text),
        violations=tuple(violation["kind"] for violation in first),
        left=tuple(violation["kind"] for violation in body["violations"]),
        repairs=tuple((repair["rung"], repair["fixed"]) for repair in body["repairs"]),
        need=analysis.get("need") or "unclear",
        valid=len(body["cited"]),
        unknown=len(analysis.get("unknown", ())),
        absent=bool(body["evidence"]) and not body["cited"],
        bound=len(body["bound"]),
        admitted=body["admission"]["admitted"],
        broken=any(VIOLATIONS[violation["kind"]].repair for violation in body["violations"]),
        instructions=None if body["adherence"] is None else tuple(row["verdict"] for row in body["adherence"]),
    )


def _of_failed(event: Event, body: Mapping[str, Any]) -> Observation:
    return Observation(
        timeline=event.timeline,
        session=event.session or "",
        round=body["round"],
        model=body["backend"]["model"],
        failed=body["error"]["kind"],
        replied=False,
    )


def _of_published(event: Event, body: Mapping[str, Any], published: Mapping[str, Any]) -> Observation:
    """A round of the published logs. Its needs_repair is said after the repair: the reply is still broken then."""
    analysis, protocol = published["analysis"], published["protocol"]
    suspect = published["suspect"]["kind"] if published["suspect"] else None
    missing: tuple[str, ...] | None = None
    repairs: tuple[tuple[str, bool], ...] = ()
    broken: bool | None = None
    if protocol is not None:
        tags = {"missing_analysis": "has_analysis_tag", "missing_response": "has_response_tag"}
        missing = tuple(kind for kind, tag in tags.items() if protocol.get(tag) is False)
        broken = protocol.get("needs_repair") is True
        repairs = (("published", not broken),) if broken or protocol.get("was_repaired") is True else ()
    return Observation(
        timeline=event.timeline,
        session=event.session or "",
        round=body["round"],
        model=published["model"] or "unknown",
        failed="published" if suspect in ("error", "empty") else None,
        characters=None if analysis is None else len(_TAGS.sub("", analysis).strip()),
        logged=None if analysis is None else len(analysis),
        violations=missing,
        left=missing,
        repairs=repairs,
        admitted=suspect is None,
        broken=broken,
    )


def _as_replaced(one: Observation) -> Observation:
    return Observation(**{**{field.name: getattr(one, field.name) for field in fields(one)}, "replaced": True})


# -- counting ---------------------------------------------------------------------------------------------------------


def summarised(observations: Iterable[Observation], stage: Stage = "session", *, every: bool = False) -> list[Row]:
    """One row for each stage and model, in the order they first appear.

    Replies that were asked for again count only with `every`; how many there were is always said.
    """
    groups: dict[tuple[str, str, str], list[Observation]] = {}
    several = dict[str, None]()
    observations = list(observations)
    for one in observations:
        several.setdefault(one.timeline)
    for one in observations:
        label = _label(one, stage, many=len(several) > 1)
        groups.setdefault((one.timeline if stage != "all" else "", label, one.model), []).append(one)
    return [_row(label, model, group, every) for (_, label, model), group in groups.items()]


def _label(one: Observation, stage: Stage, *, many: bool) -> str:
    if stage == "all":
        return "all"
    if stage == "session":
        label = one.session
    else:
        first = (one.round - 1) // stage * stage + 1
        label = f"{first}–{first + stage - 1}"
    return f"{one.timeline} {label}" if many else label


def _row(stage: str, model: str, group: Sequence[Observation], every: bool) -> Row:
    rounds = [one.round for one in group]
    replies = [one for one in group if one.replied and (every or not one.replaced)]
    lengths = [one.characters for one in replies if one.characters is not None]
    logged = [one.logged for one in replies if one.logged is not None]
    failures = Counter(one.failed for one in group if one.failed and (every or not one.replaced))
    admitted = _total(replies, lambda one: one.admitted)
    told = sum(one.admitted is not None for one in replies)
    verdicts = {verdict: _verdicts(replies, verdict) for verdict in ("kept", "broken", "unchecked")}
    tried = Counter(rung for one in replies for rung in {rung for rung, _ in one.repairs})
    fixed = Counter(rung for one in replies for rung in {rung for rung, fixed in one.repairs if fixed})
    return Row(
        stage=stage,
        model=model,
        first_round=min(rounds),
        last_round=max(rounds),
        replies=len(replies),
        replaced=sum(one.replaced for one in group),
        failed=sum(failures.values()),
        failures=dict(sorted(failures.items())),
        analyses=len(lengths),
        analysis_mean=_rounded(statistics.mean(lengths) if lengths else None),
        analysis_median=_rounded(statistics.median(lengths) if lengths else None),
        logged_mean=_rounded(statistics.mean(logged) if logged else None),
        logged_median=_rounded(statistics.median(logged) if logged else None),
        without_analysis=_with(replies, "missing_analysis"),
        without_response=_with(replies, "missing_response"),
        violations=_kinds(one.violations for one in replies),
        violations_left=_kinds(one.left for one in replies),
        turns_left_broken=_total(replies, lambda one: one.broken),
        repairs_tried={rung: tried[rung] for rung in RUNGS},
        repairs_fixed={rung: fixed[rung] for rung in RUNGS},
        citations_valid=_total(replies, lambda one: one.valid),
        citations_unknown=_total(replies, lambda one: one.unknown),
        citations_absent=_total(replies, lambda one: one.absent),
        citations_bound=_total(replies, lambda one: one.bound),
        needs=_needs(replies),
        admitted=admitted,
        admission_rate=_rounded(admitted / told if admitted is not None else None),
        instructions_kept=verdicts["kept"],
        instructions_broken=verdicts["broken"],
        instructions_unchecked=verdicts["unchecked"],
        adherence_rate=_rounded(adherence_rate(one.instructions for one in replies)),
    )


def adherence_rate(verdicts: Iterable[Sequence[str] | None]) -> float | None:
    """The share of standing instructions kept, of all that code could check in all replies; None where it could none.

    This is REA's instruction adherence rate (section 4.1) as a share of 1; unchecked ones do not count.
    """
    told = Counter(verdict for several in verdicts for verdict in several or ())
    checked = told["kept"] + told["broken"]
    return told["kept"] / checked if checked else None


def _verdicts(replies: Sequence[Observation], verdict: str) -> int | None:
    return _total(replies, lambda one: None if one.instructions is None else one.instructions.count(verdict))


def _with(replies: Sequence[Observation], kind: str) -> int | None:
    return _total(replies, lambda one: None if one.violations is None else kind in one.violations)


def _total(replies: Sequence[Observation], number: Callable[[Observation], int | None]) -> int | None:
    """The sum over the replies whose record says it; None when none does."""
    told = [value for one in replies if (value := number(one)) is not None]
    return sum(told) if told else None


def _kinds(violations: Iterable[tuple[str, ...] | None]) -> dict[str, int] | None:
    """In how many replies each kind of violation occurs."""
    told = [set(kinds) for kinds in violations if kinds is not None]
    found = Counter(kind for kinds in told for kind in kinds)
    return {kind: found[kind] for kind in [*VIOLATIONS, *sorted(found.keys() - set(VIOLATIONS))]} if told else None


def _needs(replies: Sequence[Observation]) -> dict[str, int] | None:
    found = Counter(one.need for one in replies if one.need)
    return {need: found[need] for need in NEEDS} if found else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 4)


# -- layouts ----------------------------------------------------------------------------------------------------------


def columns(row: Row) -> Iterator[tuple[str, Any]]:
    """A row as flat columns, always the same ones in the same order but for kinds of failure."""
    parts: dict[str, tuple[str, ...]] = {
        "violations": tuple(VIOLATIONS),
        "violations_left": tuple(VIOLATIONS),
        "repairs_tried": RUNGS,
        "repairs_fixed": RUNGS,
        "needs": NEEDS,
    }
    for name in (field.name for field in fields(row)):
        value = getattr(row, name)
        if name == "failures":
            yield name, "; ".join(f"{kind} {count}" for kind, count in value.items())
        elif name in parts:
            yield from ((f"{name}_{part}", None if value is None else value[part]) for part in parts[name])
        else:
            yield name, value


# The columns of the published `analysis_stats_by_stage.csv`.
PUBLISHED = (
    "阶段",
    "模型",
    "索引范围",
    "样本数",
    "平均分析长度",
    "中位分析长度",
    "合理性评分",
    "analysis标签缺失",
    "response标签缺失",
    "repair触发次数",
)


def published_rows(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Rows in the published layout. Its rating of how reasonable analyses are is a person's and left empty.

    Lengths count an analysis as logged, with its tags, and one that is missing as 0; the last column counts replies
    that are still broken: so the published numbers come out (see docs/exports.md).
    """
    return [
        (
            f"S{number}",
            row.model,
            f"{row.first_round}–{row.last_round}",
            str(row.replies),
            _one_place(row.logged_mean),
            _one_place(row.logged_median),
            "",
            _said(row.without_analysis),
            _said(row.without_response),
            _said(row.turns_left_broken),
        )
        for number, row in enumerate(rows, 1)
    ]


def _one_place(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _said(value: int | None) -> str:
    return "" if value is None else str(value)
