"""The papers' high-noise experiment (ARPM, section 4.2): fifty rounds of questions over a knowledge base full of noise.

A question set of our own in each language (`noise_set`), asked at 0, 1:5, 0.5, 1, 2.5 and 5.1 million characters of
noise. Every question is a real turn, so retrieval, governance, memory and prompt are the product's; a stand-in gives
right replies, so memory is the same at every level and no model is needed to say whether the gold chunk was in the
prompt. With --model the same rounds are answered by it at 1:5 and at the most noise.

AutoCorrect of equation (13) is the published files' rule: the gold chunk is in the prompt. The reviewed curve, (14) and
(15), also asks for an accepted answer; it is the judgement of code, which a person can revise.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from arpm.audit.gold import accepted
from arpm.audit.plots import BLUE, GREEN, ORANGE, rolling_accuracy, styled
from arpm.audit.review import Judged, Report, csv_rolling_accuracy, report
from arpm.catalogue import DocumentRow
from arpm.events import Event
from arpm.experiments.base import Failures, Result, Run, Table, Target, file_digest
from arpm.experiments.memories import code_digest
from arpm.experiments.noise_set import (
    LANGUAGES,
    Document,
    Passage,
    Question,
    QuestionSet,
    Told,
    abstains,
    holding,
    read_set,
    right_reply,
    set_digest,
)
from arpm.experiments.noise_substrate import BEGIN, Noise, Substrate, dialogues, novels
from arpm.experiments.retrieval_metrics import Estimate, estimate
from arpm.experiments.stand_ins import StandIn, in_form
from arpm.generation.base import GenerationRequest
from arpm.timeline import Timeline
from arpm.turn import TurnFailedError
from governance.config import preset
from retrieval.text import Language

PRESET = "default"
FULL = 5_100_000
LEVELS = (500_000, 1_000_000, 2_500_000, FULL)
# Times the valid knowledge: the paper's low-noise condition.
LOW = 5
BARS = {"1:5": 0.95, "5.1 million": 0.85}
STAND_IN = "stand-in"
_NAMES: dict[Language, tuple[str, str, str]] = {
    "zh": ("小禾", "阿筝", "在资料室值班，只按资料回答。"),
    "en": ("Tamsin", "Ferrin", "Looks things up, and answers by what was found."),
}
_LABELS = {"zh": "Chinese", "en": "English"}


@dataclass(frozen=True, slots=True)
class Level:
    """One point of the curve: a language, a kind of noise, so many characters of it, and how much it is to 1 valid."""

    language: Language
    kind: str
    characters: int
    valid: int
    low: bool

    @property
    def ratio(self) -> float:
        return self.characters / self.valid

    @property
    def name(self) -> str:
        return f"{_LABELS[self.language]}, {self.kind}, {self.characters:,} characters (1:{self.ratio:.0f})"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question as it was asked, and what the turn's record says about it.

    `shown` is the gold being in the prompt (None where there is none), `lost` the gate's or the selection's reason when
    it is not; `fresh` and `stale` are the best final scores of the corrected fact and of what held before among what
    the prompt shows; `later` that the corrected fact stands behind the other. `empty` is a prompt without evidence,
    `no_document` one without evidence from documents. `correct` is None without a model.
    """

    round: int
    number: int
    sort: str
    near: bool
    shown: bool | None
    rank: int | None
    lost: str | None
    stale_shown: bool | None
    outranks: bool | None
    later: bool | None
    empty: bool
    no_document: bool
    tokens: int
    seconds: float
    reply: str
    correct: bool | None
    failed: bool


Rows = list[dict[str, Any]]


def run(run: Run) -> Result:
    """Every level, the questions asked at it once for each seed, and with a model also answered by it."""
    sets = {language: read_set(language) for language in LANGUAGES}
    kinds = [novels(run)]
    # English dialogues take another 5.1 million characters: left out of the quick form.
    other = None if run.quick else dialogues(run)
    if other:
        kinds.append(other)
    found: dict[Level, list[Rows]] = {}
    answered: dict[Level, list[Rows]] = {}
    costs: list[dict[str, Any]] = []
    for noise in kinds:
        spoken: tuple[Language, ...] = LANGUAGES if noise.kind == "novels" else ("en",)
        levels = _levels(noise, [sets[language] for language in spoken], run.quick)
        amounts = [level.characters for level in levels]
        with Substrate(run, noise, amounts, [StandIn(STAND_IN, _writer(sets.values()))]) as substrate:
            for number, level in enumerate(levels):
                run.progress(level.name, number, len(levels))
                costs.append(_cost(run, noise, level, substrate))
                conversation = Conversation(run, noise, level, sets[level.language], substrate)
                found[level] = [conversation.rows(seed, None) for seed in range(run.seeds)]
                if run.model and _with_model(level, levels):
                    answered[level] = [conversation.rows(seed, run.model) for seed in range(run.seeds)]
    return _result(run, sets, found, answered, costs, kinds)


def _levels(noise: Noise, sets: Sequence[QuestionSet], quick: bool) -> list[Level]:
    """The points of the curve that there is noise for, by size, so that each needs only more noise than the last."""
    levels = []
    for questions in sets:
        low = LOW * questions.characters
        sizes = {low} if quick else {0, low, *LEVELS}
        levels += [
            Level(questions.language, noise.kind, size, questions.characters, size == low)
            for size in sizes
            if size <= noise.characters
        ]
    return sorted(levels, key=lambda level: (level.characters, LANGUAGES.index(level.language)))


def _with_model(level: Level, levels: Iterable[Level]) -> bool:
    """Whether a model answers at a level: at the paper's two, 1:5 and the most noise."""
    return level.low or level.characters == max(one.characters for one in levels if one.language == level.language)


def _cost(run: Run, noise: Noise, level: Level, substrate: Substrate) -> dict[str, Any]:
    """What adding this level's noise took the first time, in this run's folder, with what was there before."""
    inputs = {"noise": list(noise.digests), "embedder": run.settings.embedder, "characters": level.characters}
    value: dict[str, Any] = run.step(
        ["index", noise.kind, level.language, level.characters],
        inputs,
        lambda: substrate.grow(level.characters).as_dict(),
    )
    return {"noise": noise.kind, **value}


def _writer(sets: Iterable[QuestionSet]) -> Callable[[GenerationRequest], str]:
    """What the stand-in writes: an accepted answer, whatever it was shown."""
    replies: dict[str, str] = {}
    for questions in sets:
        replies |= {question.text: right_reply(question, questions.language) for question in questions.questions}
        replies |= {told.message: told.reply for told in questions.told}
    return lambda request: in_form(replies[request.question], ())


class Conversation:
    """The rounds of one level: documents are added, questions asked, and the documents taken out again."""

    def __init__(self, run: Run, noise: Noise, level: Level, questions: QuestionSet, substrate: Substrate) -> None:
        self._run = run
        self._noise = noise
        self._level = level
        self._set = questions
        self._substrate = substrate
        self._failures = Failures(STAND_IN)

    def rows(self, seed: int, model: str | None) -> Rows:
        """The questions as asked in the order of a seed; answered by a model, or by the stand-in."""
        level = self._level
        inputs = {
            "set": set_digest(),
            "noise": list(self._noise.digests),
            "characters": level.characters,
            "embedder": self._run.settings.embedder,
            "config": preset(PRESET).as_dict(),
            "code": [code_digest(), file_digest(Path(__file__))],
            "seed": seed,
            "model": model,
        }
        key = ["rounds", level.kind, level.language, level.characters, seed, *([model] if model else [])]
        rows: Rows = self._run.step(key, inputs, lambda: [asdict(row) for row in self._asked(seed, model)])
        return rows

    def _asked(self, seed: int, model: str | None) -> list[Asked]:
        self._substrate.grow(self._level.characters)
        self._substrate.set_clock(BEGIN)
        self._failures = Failures(model or STAND_IN)
        added: dict[str, DocumentRow] = {}
        try:
            return list(self._rounds(seed, model, added))
        finally:
            for row in added.values():
                self._substrate.service.library.remove(row.id, "the rounds at this level are over")

    def _rounds(self, seed: int, model: str | None, added: dict[str, DocumentRow]) -> Iterable[Asked]:
        service = self._substrate.service
        user, character, persona = _NAMES[self._level.language]
        self._add((document for document in self._set.documents if not document.after), added)
        timeline = service.create_timeline(
            user, character, persona, timezone="UTC", model=model or STAND_IN, preset_name=PRESET
        )
        told: dict[str, str] = {}
        earlier: dict[str, str] = {}
        for place, question in enumerate(self._set.ordered(seed)):
            if place in self._set.late:
                self._tick(timeline)
                self._add((document for document in self._set.documents if document.after == place), added)
                told |= self._tell(timeline, [item for item in self._set.told if item.after == place])
            self._tick(timeline)
            event = self._turn(timeline, question.text)
            gold = [self._ids(item, added, told) for item in question.gold]
            stale = frozenset[str]().union(*(self._ids(item, added, told) for item in question.stale))
            if question.sort == "corrected" and question.fact in earlier:
                # What was said of the fact before it was corrected is stale as well.
                stale |= {earlier[question.fact]}
            yield _judged(question, gold, stale, event, timeline, answered=model is not None)
            memory = service.catalogue.memory_of_turn(event.id)
            if question.fact and memory:
                earlier[question.fact] = memory
            self._run.progress(self._level.name, place + 1, len(self._set.questions))

    def _tick(self, timeline: Timeline) -> None:
        """Ten minutes between rounds, the first an hour after the documents came in."""
        rounds = timeline.info.rounds
        self._substrate.set_clock(_time_of(rounds))

    def _add(self, documents: Iterable[Document], added: dict[str, DocumentRow]) -> None:
        for document in documents:
            added[document.name] = self._substrate.service.ingest(document.name, document.text.encode())

    def _tell(self, timeline: Timeline, items: Iterable[Told]) -> dict[str, str]:
        """Say what is to be told; the memory that each became, by its name."""
        memories = {}
        for item in items:
            self._tick(timeline)
            event = self._turn(timeline, item.message)
            memory = self._substrate.service.catalogue.memory_of_turn(event.id)
            if memory:
                memories[item.name] = memory
        return memories

    def _turn(self, timeline: Timeline, message: str) -> Event:
        """A turn's record; a failed one is counted. Raises ArpmError when the model failed too often in a row."""
        try:
            event = self._substrate.service.turn(timeline.id, message)
        except TurnFailedError as failed:
            self._failures.note(str(failed))
            return failed.event
        self._failures.note(None)
        return event

    def _ids(self, item: Passage, added: Mapping[str, DocumentRow], told: Mapping[str, str]) -> frozenset[str]:
        """The memories of which any holds a passage; none of something told that did not become a memory."""
        if item.source in added:
            text = next(document.text for document in self._set.documents if document.name == item.source)
            chunks = self._substrate.service.catalogue.chunks(added[item.source].id)
            return holding(chunks, text, item.passage)
        return frozenset({told[item.source]} if item.source in told else ())


def _time_of(rounds: int) -> datetime:
    return BEGIN + timedelta(hours=1, minutes=10 * rounds)


def _judged(
    question: Question,
    gold: Sequence[Collection[str]],
    stale: Collection[str],
    event: Event,
    timeline: Timeline,
    *,
    answered: bool,
) -> Asked:
    """What the record of a turn says about a question. A failed turn showed nothing and answered nothing."""
    body = event.body or {}
    failed = event.kind != "turn"
    evidence = [] if failed else body["evidence"]
    candidates = {} if failed else _candidates(body)
    shown = _shown(body, evidence, timeline)
    wanted = frozenset[str]().union(*gold)
    present = all(any(id in shown for id in ids) for ids in gold) if gold else None
    reply = "" if failed else body["response"]
    corrected = question.sort == "corrected"
    old = shown.keys() & stale
    return Asked(
        round=body["round"],
        number=question.number,
        sort=question.sort,
        near=question.near,
        shown=present,
        rank=min((candidates[id]["rank"] for id in wanted if id in candidates), default=None),
        lost=None if present in (True, None) else _reason(wanted, candidates, failed),
        stale_shown=bool(old) if corrected else None,
        outranks=_outranks(wanted, old, candidates, shown) if corrected else None,
        later=_later(wanted, old, shown) if corrected else None,
        empty=not evidence,
        no_document=all(row["route"] != "knowledge" for row in evidence),
        tokens=sum(row["tokens"] for row in evidence),
        seconds=sum(body["timings"].get(stage, 0.0) for stage in ("searched", "governed")),
        reply=reply,
        correct=_correct(question, reply) if answered else None,
        failed=failed,
    )


def _candidates(body: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["memory"]: row for route in ("knowledge", "experience") for row in body["candidates"][route]}


def _shown(body: Mapping[str, Any], evidence: Sequence[Mapping[str, Any]], timeline: Timeline) -> dict[str, int]:
    """Where each memory stands in the prompt: evidence in its order, behind it the rounds shown word for word."""
    shown = {row["memory"]: place for place, row in enumerate(evidence)}
    for round in body.get("window", ()):
        memory = timeline.memory_of_round(round)
        if memory is not None:
            shown.setdefault(memory, len(evidence) + round)
    return shown


def _reason(wanted: Collection[str], candidates: Mapping[str, Mapping[str, Any]], failed: bool) -> str:
    """Why the gold is not in the prompt: what became of its best candidate."""
    rows = [candidates[id] for id in wanted if id in candidates]
    if failed:
        return "the turn failed"
    return str(max(rows, key=lambda row: row["final"])["reason"]) if rows else "not found"


def _outranks(
    wanted: Collection[str],
    old: Collection[str],
    candidates: Mapping[str, Mapping[str, Any]],
    shown: Mapping[str, int],
) -> bool:
    """Whether the corrected fact is in the prompt, and nothing that held before is there with as high a score.

    A round that is shown word for word and was no candidate has no score: it counts as the lowest.
    """

    def best(ids: Iterable[str]) -> float:
        return max((candidates[id]["final"] if id in candidates else 0.0 for id in ids), default=-1.0)

    return best(wanted & shown.keys()) > best(old)


def _later(wanted: Collection[str], old: Collection[str], shown: Mapping[str, int]) -> bool:
    """Whether the corrected fact is in the prompt, behind all that held before: the later holds, says the prompt."""
    places = [shown[id] for id in wanted if id in shown]
    return bool(places) and max(places) > max((shown[id] for id in old), default=-1)


def _correct(question: Question, reply: str) -> bool:
    if question.sort == "unanswerable":
        return abstains(reply)
    return any(accepted(answer, reply) for answer in question.answers)


# -- what it comes to ------------------------------------------------------------------------------------------------


def _result(
    run: Run,
    sets: Mapping[Language, QuestionSet],
    found: Mapping[Level, list[Rows]],
    answered: Mapping[Level, list[Rows]],
    costs: list[dict[str, Any]],
    kinds: Sequence[Noise],
) -> Result:
    levels = sorted(found, key=lambda level: (level.language, level.kind != "novels", level.characters))
    rates = {level: _rate(found[level]) for level in levels}
    reports = {level: [_report(rows) for rows in repeated] for level, repeated in answered.items()}
    numbers = {
        "questions": {
            language: {
                sort: sum(question.sort == sort for question in questions.questions)
                for sort in ("plain", "corrected", "unanswerable")
            }
            for language, questions in sets.items()
        },
        "valid_characters": {language: questions.characters for language, questions in sets.items()},
        "noise_characters": {noise.kind: noise.characters for noise in kinds},
        "seeds": list(range(run.seeds)),
        "levels": [_level_numbers(level, found[level], rates[level]) for level in levels],
        "answered": [
            {**_level_head(level), "reports": [asdict(one) for one in reports[level]], "rounds": answered[level]}
            for level in reports
        ],
        "indexing": costs,
    }
    tables = [_evidence_table(levels, found, rates), _hard_table(levels, found), _missed_table(levels, found, sets)]
    if reports:
        tables.append(_answered_table(reports, answered))
    tables.append(_cost_table(costs))
    figures = {
        "evidence_in_prompt": _curve(rates),
        "rolling_automatic": _rolling({level: found[level] for level in levels}),
    }
    for level, (first, *_) in reports.items():
        title = f"Rolling accuracy, {level.name}"
        figures[f"rolling_{level.language}_{level.kind}_{level.characters}"] = rolling_accuracy(first.curve, title)
    return Result(numbers, tuple(tables), figures, tuple(_targets(levels, rates)))


def _rate(repeated: Sequence[Rows]) -> Estimate:
    """The evidence-in-prompt rate over questions with gold, each question's mean over the seeds."""
    found = estimate(_per_question(repeated, lambda row: row["shown"]))
    assert found is not None
    return found


def _per_question(repeated: Sequence[Rows], mark: Callable[[dict[str, Any]], bool | None]) -> list[float]:
    """Every question's mean over the seeds; questions without a mark are left out."""
    marks: dict[int, list[float]] = {}
    for rows in repeated:
        for row in rows:
            value = mark(row)
            if value is not None:
                marks.setdefault(row["number"], []).append(float(value))
    return [statistics.fmean(values) for values in marks.values()]


def _mean(repeated: Sequence[Rows], mark: Callable[[dict[str, Any]], bool | None]) -> Estimate | None:
    return estimate(_per_question(repeated, mark))


def _report(rows: Rows) -> Report:
    """Equations (13) to (15) over the rounds of one run. What has no answer is supported by a prompt without one."""
    return report(
        Judged(
            round=row["round"],
            support="no" if row["failed"] or row["shown"] is False else "yes",
            correct="yes" if row["correct"] else "no",
            automatic=row["shown"],
        )
        for row in rows
    )


def _level_head(level: Level) -> dict[str, Any]:
    return {
        "language": level.language,
        "noise": level.kind,
        "characters": level.characters,
        "ratio": round(level.ratio, 1),
    }


# What is told of corrected and of unanswerable questions, by name.
_HARD: dict[str, Callable[[dict[str, Any]], bool | None]] = {
    "new fact in prompt": lambda row: row["shown"] if row["sort"] == "corrected" else None,
    "old fact in prompt": lambda row: row["stale_shown"],
    "new outranks old": lambda row: row["outranks"],
    "new stands later": lambda row: row["later"],
    "unanswerable: empty evidence": lambda row: row["empty"] if row["sort"] == "unanswerable" else None,
    "unanswerable, far: empty": lambda row: row["empty"] if row["sort"] == "unanswerable" and not row["near"] else None,
    "unanswerable: no document": lambda row: row["no_document"] if row["sort"] == "unanswerable" else None,
}


def _level_numbers(level: Level, repeated: Sequence[Rows], rate: Estimate) -> dict[str, Any]:
    hard = {name: found.as_dict() if (found := _mean(repeated, mark)) else None for name, mark in _HARD.items()}
    curves = [csv_rolling_accuracy([row["shown"] for row in rows if row["shown"] is not None]) for rows in repeated]
    return {
        **_level_head(level),
        "evidence_in_prompt": rate.as_dict(),
        **hard,
        "automatic_rolling": curves,
        "search_seconds": statistics.median(row["seconds"] for rows in repeated for row in rows),
        "rounds": list(repeated),
    }


def _cells(level: Level) -> tuple[str, str, int, str]:
    return _LABELS[level.language], level.kind, level.characters, f"1:{level.ratio:.0f}"


_HEAD = ("questions", "noise", "characters", "ratio")


def _evidence_table(
    levels: Sequence[Level], found: Mapping[Level, list[Rows]], rates: Mapping[Level, Estimate]
) -> Table:
    rows = []
    for level in levels:
        asked = [row for rows_ in found[level] for row in rows_ if row["shown"] is not None]
        first = _mean(found[level], lambda row: None if row["shown"] is None else row["rank"] == 0)
        tokens = statistics.fmean(row["tokens"] for row in asked)
        seconds = 1000 * statistics.median(row["seconds"] for row in asked)
        rows.append((*_cells(level), rates[level].count, str(rates[level]), str(first), round(tokens), round(seconds)))
    columns = (*_HEAD, "with gold", "gold in prompt (95 %)", "gold first of its route", "evidence tokens", "search ms")
    return Table("Evidence in the prompt: automatic accuracy, equation (13)", columns, tuple(rows))


def _hard_table(levels: Sequence[Level], found: Mapping[Level, list[Rows]]) -> Table:
    rows = []
    for level in levels:
        values = (_mean(found[level], mark) for mark in _HARD.values())
        rows.append((*_cells(level), *(None if value is None else value.mean for value in values)))
    return Table("Corrected and unanswerable questions", (*_HEAD, *_HARD), tuple(rows))


def _missed_table(
    levels: Sequence[Level], found: Mapping[Level, list[Rows]], sets: Mapping[Language, QuestionSet]
) -> Table:
    """Every question whose gold was not in the prompt, in the order of the first seed, and why."""
    rows = []
    for level in levels:
        texts = {question.number: question.text for question in sets[level.language].questions}
        missed = [row for row in found[level][0] if row["shown"] is False]
        rows += [(*_cells(level), texts[row["number"]], row["rank"], row["lost"]) for row in missed]
    return Table("Gold that was not in the prompt (seed 0)", (*_HEAD, "question", "rank", "why"), tuple(rows))


def _answered_table(reports: Mapping[Level, list[Report]], answered: Mapping[Level, list[Rows]]) -> Table:
    rows = []
    for level, repeated in reports.items():
        for seed, (one, asked) in enumerate(zip(repeated, answered[level], strict=True)):
            refused = [row["correct"] for row in asked if row["sort"] == "unanswerable"]
            rows.append(
                (
                    *_cells(level),
                    seed,
                    one.rounds,
                    f"{one.automatic_correct} of {one.judged}",
                    one.automatic_accuracy,
                    one.manual_correct,
                    one.manual_accuracy,
                    len(one.zero_to_one),
                    len(one.one_to_zero),
                    f"{sum(refused)} of {len(refused)}",
                    sum(row["failed"] for row in asked),
                )
            )
    columns = (
        *_HEAD,
        "seed",
        "rounds",
        "automatic correct",
        "automatic accuracy (13)",
        "reviewed correct",
        "reviewed accuracy (14)",
        "0 to 1",
        "1 to 0",
        "abstained",
        "failed turns",
    )
    return Table("Answered by the model, judged by code: equations (13) to (15)", columns, tuple(rows))


def _cost_table(costs: Sequence[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (
            cost["noise"],
            cost["characters"],
            cost["added"],
            cost["documents"],
            cost["seconds"],
            cost["embedded"],
            cost["peak_mib"],
        )
        for cost in costs
        if cost["added"]
    )
    columns = ("noise", "characters", "added", "documents", "seconds", "texts embedded", "peak memory MiB")
    return Table("Indexing, step by step, as first measured in this folder", columns, rows)


def _series(levels: Iterable[Level]) -> dict[tuple[Language, str], list[Level]]:
    groups: dict[tuple[Language, str], list[Level]] = {}
    for level in levels:
        groups.setdefault((level.language, level.kind), []).append(level)
    return groups


_STYLES = ((BLUE, "-", "o"), (ORANGE, "--", "s"), (GREEN, ":", "^"))


def _curve(rates: Mapping[Level, Estimate]) -> Figure:
    """The evidence-in-prompt rate over the amount of noise, a line for each language and kind of noise."""
    with styled("Evidence in the prompt", "Characters of noise", "Gold chunk in the prompt (%)") as (figure, axes):
        for (colour, dash, marker), ((language, kind), levels) in zip(_STYLES, _series(rates).items(), strict=False):
            values = [rates[level] for level in levels]
            axes.errorbar(
                [level.characters for level in levels],
                [value.mean for value in values],
                yerr=[
                    [max(value.mean - value.low, 0.0) for value in values],
                    [max(value.high - value.mean, 0.0) for value in values],
                ],
                color=colour,
                linestyle=dash,
                marker=marker,
                capsize=3,
                label=f"{_LABELS[language]} questions, {kind}",
            )
        # No noise is a point of the curve too, which a plain logarithm has no place for.
        axes.set_xscale("symlog", linthresh=10_000)
        axes.set_xlim(left=-500)
        axes.set_ylim(-0.02, 1.04)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=""))
        axes.legend(loc="best")
        return figure


def _rolling(found: Mapping[Level, list[Rows]]) -> Figure:
    """Equation (13) over the rounds with gold, at the least noise above none and at the most, for every line."""
    with styled("Automatic rolling accuracy (13)", "Round", "Gold in the prompt so far (%)") as (figure, axes):
        for (colour, _, marker), ((language, kind), levels) in zip(_STYLES, _series(found).items(), strict=False):
            noisy = [level for level in levels if level.characters] or levels
            for level, dash in {noisy[0]: "-", noisy[-1]: "--"}.items():
                judged = [row for row in found[level][0] if row["shown"] is not None]
                axes.plot(
                    [row["round"] for row in judged],
                    csv_rolling_accuracy([row["shown"] for row in judged]),
                    color=colour,
                    linestyle=dash,
                    marker=marker,
                    markersize=3,
                    label=f"{_LABELS[language]}, {kind}, 1:{level.ratio:.0f}",
                )
        axes.set_ylim(-0.02, 1.04)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=""))
        axes.legend(loc="best")
        return figure


def _targets(levels: Iterable[Level], rates: Mapping[Level, Estimate]) -> Iterable[Target]:
    for level in levels:
        name = "1:5" if level.low else "5.1 million" if level.characters == FULL else None
        if name:
            what = f"gold in prompt at {name}, {_LABELS[level.language]} questions in {level.kind}"
            yield Target(what, rates[level].mean, BARS[name])
