"""Handoff: one life over several models, its context cleared at every stage, on a large knowledge base.

Facts are told in one stage and asked for in the next, where another model answers; when they were told is asked for
too, and every reply should show that it is still the same person. The same life is lived three times: by good models
alone, with a bad model in the second stage, and with that stage put into quarantine when it is over. Without a model,
stand-ins read their prompts mechanically, so that what they get right is what memory put in front of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from arpm.audit.plots import BLUE, GREEN, ORANGE, styled
from arpm.audit.review import csv_rolling_accuracy
from arpm.audit.statistics import observed, summarised
from arpm.canonical import canonical, digest
from arpm.experiments import handoff_readers, handoff_script
from arpm.experiments.base import Failures, Result, Run, Table, file_digest
from arpm.experiments.grading import leaks, says
from arpm.experiments.handoff_readers import misread, read
from arpm.experiments.handoff_script import (
    ADDRESS,
    BAD_STAGE,
    CHARACTER,
    OCCUPATION,
    PERSONA,
    TONE,
    USER,
    Step,
    plan,
)
from arpm.experiments.memories import code_digest
from arpm.experiments.noise_substrate import BEGIN, Noise, Substrate, novels
from arpm.experiments.retrieval_metrics import BOOTSTRAP_SEED, Estimate, estimate, paired_difference
from arpm.experiments.scripts import LANGUAGES, VARIANTS, Script, all_scripts, scripted
from arpm.experiments.stand_ins import StandIn
from arpm.protocol import VIOLATIONS
from arpm.quarantine import Scope
from arpm.service import Service
from arpm.turn import TurnFailedError
from retrieval.text import Language

CHARACTERS = 5_100_000
BAD = "bad"
STAND_INS = ("reader-1", "reader-2", "reader-3")
# Stages, and rounds in each before the context is cleared.
_STAGES, _ROUNDS = 5, 20
_QUICK_STAGES, _QUICK_ROUNDS = 3, 10
# The three lives.
GOOD, KEPT, QUARANTINED = "good models", "bad stage kept", "bad stage in quarantine"
LIVES = (GOOD, KEPT, QUARANTINED)
PAST, TIME, PERSONA_KEPT = "past content", "time relation", "persona markers"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Life:
    """One timeline to be lived: its language and seed, which of the three, and the model of every stage."""

    language: Language
    seed: int
    name: str
    models: tuple[str, ...]
    rounds: int

    @property
    def document(self) -> Script:
        """Whose document stands in the library among the noise."""
        return scripted(self.language, self.seed % VARIANTS, 0)

    @property
    def steps(self) -> tuple[Step, ...]:
        return plan(self.language, self.seed, len(self.models), self.rounds, self.document.rounds[0].message)


def run(run: Run) -> Result:
    """The experiment. `run.model` may name several models, with commas between; with `quick` there is no noise."""
    names = tuple(filter(None, (run.model or "").split(","))) or STAND_INS
    stages, rounds = (_QUICK_STAGES, _QUICK_ROUNDS) if run.quick else (max(_STAGES, len(names)), _ROUNDS)
    noise = Noise("none", (), ()) if run.quick else novels(run)
    characters = 0 if run.quick else CHARACTERS
    readers = [StandIn(name, read) for name in STAND_INS]
    found: list[dict[str, Any]] = []
    with Substrate(run, noise, (characters,), [*readers, StandIn(BAD, misread)]) as substrate:
        lives = [_life(language, seed, name, names, stages, rounds)
                 for seed in range(run.seeds) for language in LANGUAGES for name in LIVES]  # fmt: skip
        for done, life in enumerate(lives):
            run.progress(f"living: {life.language}, {life.name}", done, len(lives))

            def compute(life: Life = life) -> dict[str, Any]:
                substrate.grow(characters)
                return _live(substrate, life)

            inputs = _inputs(run, life, noise, characters)
            found.append(run.step([life.language, life.seed, life.name, *life.models], inputs, compute))
    rows = [row for item in found for row in item["rows"]]
    protocol = [row for item in found for row in item["protocol"]]
    about = {
        "models": list(names),
        "stages": stages,
        "rounds_per_stage": rounds,
        "seeds": list(range(run.seeds)),
        "noise_characters": characters,
        "bootstrap_seed": BOOTSTRAP_SEED,
        "embedder": run.settings.embedder,
    }
    return _result(rows, protocol, about)


def _life(language: Language, seed: int, name: str, names: Sequence[str], stages: int, rounds: int) -> Life:
    models = [names[stage % len(names)] for stage in range(stages)]
    if name != GOOD:
        models[BAD_STAGE] = BAD
    return Life(language, seed, name, tuple(models), rounds)


def _inputs(run: Run, life: Life, noise: Noise, characters: int) -> dict[str, Any]:
    tables = [repr(table) for table in run.settings.models if table.name in life.models]
    return {
        "plan": digest(canonical([asdict(step) for step in life.steps])),
        "models": list(life.models),
        "settings": tables,
        "noise": list(noise.digests),
        "characters": characters,
        "embedder": run.settings.embedder,
        "code": code_digest(),
        "own": [file_digest(Path(file)) for file in (__file__, handoff_readers.__file__, handoff_script.__file__)],
    }


# -- living ----------------------------------------------------------------------------------------------------------


def _live(substrate: Substrate, life: Life) -> dict[str, Any]:
    """Live a life to its end; a row for every round, and protocol statistics for every stage."""
    lived = _Lived(substrate, life)
    for stage, model in enumerate(life.models):
        lived.begin(stage, model)
        lived.rows += [lived.take(step) for step in life.steps if step.stage == stage]
        if stage == BAD_STAGE and life.name == QUARANTINED:
            lived.service.quarantine(lived.timeline, Scope("model", BAD), "The model was bad.")
    return {"rows": lived.rows, "protocol": lived.protocol()}


class _Lived:
    """A timeline as it is lived: which round and which memory every step became."""

    def __init__(self, substrate: Substrate, life: Life) -> None:
        self.service: Service = substrate.service
        self._substrate = substrate
        self._life = life
        self.rows: list[Row] = []
        self._substrate.set_clock(BEGIN)
        script = life.document
        # The documents of every script, whichever life comes first: a resumed run has the same library.
        for item in all_scripts(range(VARIANTS), [0]):
            for name, text in item.documents:
                self.service.ingest(f"{item.language} {name}", text.encode())
        documents = [row.id for row in self.service.library.documents() if row.name.startswith(f"{life.language} ")]
        chunks = [chunk for id in documents for chunk in self.service.catalogue.chunks(id)]
        self._passage = {c.memory for c in chunks if all(part in c.text for part in script.passages["definition"])}
        self._definition = script.rounds[0].expected.required[0]
        language = life.language
        self.timeline = self.service.create_timeline(
            USER[language], CHARACTER[language], PERSONA[language], timezone="UTC", model=life.models[0]
        ).id
        self._rounds: dict[int, int] = {}
        self._memories: dict[int, str] = {}
        self._bad: set[str] = set()
        self._failures = Failures(", ".join(dict.fromkeys(life.models)))

    def begin(self, stage: int, model: str) -> None:
        """Clear the context and go on with a model, on the next day."""
        self._substrate.set_clock(BEGIN + timedelta(days=stage))
        if stage and self.service.timeline(self.timeline).session().model == model:
            self.service.clear_context(self.timeline)
        elif stage:
            self.service.switch_model(self.timeline, model)

    def take(self, step: Step) -> Row:
        """Take a turn and judge it. A failed one counts as a broken protocol; ArpmError when the model is not there."""
        minutes = 5 * (step.number % self._life.rounds)
        self._substrate.set_clock(BEGIN + timedelta(days=step.stage, minutes=minutes))
        asked_in = self.service.timeline(self.timeline).info.rounds + 1
        failed = None
        try:
            body = self.service.turn(self.timeline, step.message).body or {}
        except TurnFailedError as error:
            body, failed = error.event.body or {}, str(error)
        else:
            self._remember(step, body)
        self._failures.note(failed)
        return self._judged(step, body, asked_in, failed)

    def _remember(self, step: Step, body: Mapping[str, Any]) -> None:
        self._rounds[step.number] = body["round"]
        memory = body["admission"]["memory"]
        if memory is not None:
            self._memories[step.number] = memory
            if self._life.models[step.stage] == BAD:
                self._bad.add(memory)

    def _judged(self, step: Step, body: Mapping[str, Any], asked_in: int, failed: str | None) -> Row:
        language, response = self._life.language, body.get("response", "")
        broken = failed is not None or any(VIOLATIONS[item["kind"]].repair for item in body.get("violations", ()))
        broken = broken or any(repair["rung"] == "fallback" for repair in body.get("repairs", ()))
        accepted = self._accepted(step, asked_in)
        shown = self._shown(body)
        wanted = self._wanted(step)
        evidence = [item["memory"] for item in body.get("evidence", ()) if item["route"] == "experience"]
        return {
            "language": language,
            "seed": self._life.seed,
            "life": self._life.name,
            "stage": step.stage + 1,
            "model": self._life.models[step.stage],
            "round": step.number + 1,
            "kind": step.kind,
            "right": None if accepted is None else not broken and says(accepted, response),
            "shown": None if wanted is None else bool(wanted & shown),
            "address": says(ADDRESS[language], response),
            "tone": says(TONE[language], response),
            "occupation": says(OCCUPATION[language], response) if step.kind == "persona" else None,
            "broken": broken,
            "leaks": leaks(response),
            "evidence": len(evidence),
            "from_bad": sum(memory in self._bad for memory in evidence),
            "failed": failed,
            "response": response,
        }

    def _accepted(self, step: Step, asked_in: int) -> tuple[str, ...] | None:
        """The right answers to a step; None where nothing is asked or the telling was not recorded."""
        if step.kind == "document":
            return self._definition
        if step.told_by is None:
            return None
        if step.kind in ("past", "past, told in the bad stage"):
            return (step.place,)
        if step.told_by not in self._rounds:
            return None
        if step.kind == "rounds ago":
            return _rounds_ago(asked_in - self._rounds[step.told_by], self._life.language)
        return _days_ago(step.stage - self._life.steps[step.told_by].stage, self._life.language)

    def _wanted(self, step: Step) -> set[str] | None:
        """The memories of which the prompt must show one."""
        if step.kind == "document":
            return self._passage
        if step.told_by is None:
            return None
        return {self._memories[step.told_by]} if step.told_by in self._memories else set()

    def _shown(self, body: Mapping[str, Any]) -> set[str]:
        window = set(body.get("window", ()))
        in_window = {self._memories[n] for n, round in self._rounds.items() if round in window and n in self._memories}
        return in_window | {item["memory"] for item in body.get("evidence", ())}

    def protocol(self) -> list[dict[str, Any]]:
        """The protocol statistics of every stage, as the statistics command counts them."""
        events = self.service.timeline(self.timeline).events()
        rows = summarised(observed(events).observations, "session")
        about = {"language": self._life.language, "seed": self._life.seed, "life": self._life.name}
        return [about | asdict(row) | {"stage": number} for number, row in enumerate(rows, 1)]


_NUMBERS = "zero one two three four five six seven eight nine ten".split()
_CHINESE = "零一两三四五六七八九十"


def _rounds_ago(rounds: int, language: Language) -> tuple[str, ...]:
    if language == "zh":
        numbers = [str(rounds), *(_CHINESE[rounds : rounds + 1])]
        said = [f"{number}轮{ago}" for number in numbers for ago in ("之前", "前", "以前")]
        return (*said, "上一轮") if rounds == 1 else tuple(said)
    numbers = [str(rounds), *_NUMBERS[rounds : rounds + 1]]
    said = [f"{number} {word} ago" for number in numbers for word in ("rounds", "round")]
    return (*said, "last round", "the previous round") if rounds == 1 else tuple(said)


def _days_ago(days: int, language: Language) -> tuple[str, ...]:
    if language == "zh":
        named = {0: ("今天",), 1: ("昨天",), 2: ("前天",)}.get(days, ())
        return (*named, f"{days}天前", f"{_CHINESE[days : days + 1]}天前", f"{days}天之前") if days else named
    named = {0: ("today",), 1: ("yesterday",), 2: ("the day before yesterday",)}.get(days, ())
    numbers = [str(days), *_NUMBERS[days : days + 1]]
    return (*named, *(f"{number} {word} ago" for number in numbers for word in ("days", "day"))) if days else named


# -- what it comes to ------------------------------------------------------------------------------------------------

# The measures of a stage: name, and the value of a row, None where it does not count.
_MEASURES: dict[str, Callable[[Row], Any]] = {
    PAST: lambda row: row["right"] if row["kind"] == "past" else None,
    "days": lambda row: row["right"] if row["kind"] == "day" else None,
    "rounds ago": lambda row: row["right"] if row["kind"] == "rounds ago" else None,
    "document": lambda row: row["right"] if row["kind"] == "document" else None,
    "needed evidence in prompt": lambda row: row["shown"],
    "form of address": lambda row: row["address"],
    "words of tone": lambda row: row["tone"],
    "occupation": lambda row: row["occupation"],
    "protocol kept": lambda row: not row["broken"],
}


def _curve_values(row: Row) -> dict[str, bool | None]:
    """What a round adds to each of the three curves."""
    marks = [row[name] for name in ("address", "tone", "occupation") if row[name] is not None]
    return {
        PAST: row["right"] if row["kind"] == "past" else None,
        TIME: row["right"] if row["kind"] in ("day", "rounds ago") else None,
        PERSONA_KEPT: all(marks),
    }


def _result(rows: Sequence[Row], protocol: Sequence[Row], about: dict[str, Any]) -> Result:
    tables, figures, numbers = [], {}, dict(about)
    for language, words in (("en", "English"), ("zh", "Chinese")):
        spoken = [row for row in rows if row["language"] == language]
        good = [row for row in spoken if row["life"] == GOOD]
        tables.append(_stage_table(f"Good models by stage, {words}", good))
        tables.append(_recovery_table(f"Recovery from a bad stage, {words}", spoken))
        stages = [row for row in protocol if row["language"] == language]
        for life, title in ((GOOD, "good models"), (KEPT, "with a bad one")):
            of_life = [row for row in stages if row["life"] == life]
            tables.append(_protocol_table(f"Protocol by stage, {title}, {words}", of_life))
        bad = [row for row in spoken if row["life"] == KEPT]
        tables.append(_stage_table(f"With a bad model by stage, {words}", bad))
        for lived, slug, which in ((good, "", "several models"), (bad, "-bad", "several models, one of them bad")):
            figures[f"curves{slug}-{language}"] = _curves(f"One life over {which}, {words}", lived)
            figures[f"stages{slug}-{language}"] = _heat(f"What each stage kept: {which}, {words}", lived)
        figures[f"recovery-{language}"] = _recovery_figure(f"Past content around a bad stage, {words}", spoken)
        numbers[language] = {
            "overall": {name: _dict(_estimate(good, value)) for name, value in _MEASURES.items()},
            "curves": {name: _mean(v for row in good if (v := _curve_values(row)[name]) is not None)
                       for name in (PAST, TIME, PERSONA_KEPT)},
            "recovery": _recovery(spoken),
            "tags leaked into replies": sum(row["leaks"] for row in spoken),
            "failed turns": sum(row["failed"] is not None for row in spoken),
            "protocol": stages,
        }  # fmt: skip
    return Result(numbers, tuple(tables), figures)


def _values(rows: Iterable[Row], value: Callable[[Row], Any]) -> list[float]:
    return [float(found) for row in rows if (found := value(row)) is not None]


def _mean(values: Iterable[Any]) -> float | None:
    found = [float(value) for value in values]
    return sum(found) / len(found) if found else None


def _estimate(rows: Iterable[Row], value: Callable[[Row], Any]) -> Estimate | None:
    return estimate(_values(rows, value))


def _dict(found: Estimate | None) -> dict[str, Any] | None:
    return None if found is None else found.as_dict()


def _stages(rows: Iterable[Row]) -> dict[tuple[int, str], list[Row]]:
    groups: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["stage"], row["model"]), []).append(row)
    return dict(sorted(groups.items()))


def _stage_table(title: str, rows: Sequence[Row]) -> Table:
    lines = [
        (stage, model, len(group), *(_mean(_values(group, value)) for value in _MEASURES.values()))
        for (stage, model), group in _stages(rows).items()
    ]
    overall = [_estimate(rows, value) for value in _MEASURES.values()]
    lines.append(("all", "", len(rows), *(None if found is None else str(found) for found in overall)))
    return Table(title, ("stage", "model", "rounds", *_MEASURES), tuple(lines))


def _after(rows: Iterable[Row], life: str, kind: str) -> dict[tuple[int, int], float]:
    """The rounds of a kind after the bad stage that have a judgement, by seed and round."""
    return {
        (row["seed"], row["round"]): float(row["right"])
        for row in rows
        if row["life"] == life and row["kind"] == kind and row["stage"] > BAD_STAGE + 1 and row["right"] is not None
    }


def _recovery(rows: Sequence[Row]) -> dict[str, Any]:
    """Each life after the bad stage, and what quarantine is worth there, over the same questions."""
    out: dict[str, Any] = {}
    for life in LIVES:
        later = [row for row in rows if row["life"] == life and row["stage"] > BAD_STAGE + 1]
        out[life] = {
            PAST: _dict(estimate(list(_after(rows, life, "past").values()))),
            "past content told in the bad stage": _dict(
                estimate(list(_after(rows, life, "past, told in the bad stage").values()))
            ),
            "share of evidence from the bad stage": _from_bad(later),
        }
    kept, quarantined = _after(rows, KEPT, "past"), _after(rows, QUARANTINED, "past")
    both = sorted(kept.keys() & quarantined.keys())
    gain = paired_difference([quarantined[key] for key in both], [kept[key] for key in both])
    out["quarantine minus kept"] = _dict(gain)
    return out


def _from_bad(rows: Sequence[Row]) -> float:
    """The share of experiences shown that the bad model left behind."""
    shown: int = sum(row["evidence"] for row in rows)
    return float(sum(row["from_bad"] for row in rows) / max(shown, 1))


def _recovery_table(title: str, rows: Sequence[Row]) -> Table:
    lines = []
    for life in LIVES:
        of_life = [row for row in rows if row["life"] == life]
        stages = [[row for row in of_life if place(row["stage"])] for place in _PLACES]
        later = [row for row in of_life if row["stage"] > BAD_STAGE + 1]
        lines.append((
            life,
            *(_mean(_values(group, _MEASURES[PAST])) for group in stages[:2]),
            _text(estimate(list(_after(rows, life, "past").values()))),
            _text(estimate(list(_after(rows, life, "past, told in the bad stage").values()))),
            _from_bad(later),
        ))  # fmt: skip
    gain = _recovery(rows)["quarantine minus kept"]
    shown = None if gain is None else f"{gain['mean']:+.3f} ({gain['low']:+.3f} to {gain['high']:+.3f})"
    lines.append(("quarantine minus kept", None, None, shown, None, None))
    heads = ("life", "past content before", "in the second stage", "after it", "told in that stage",
             "share of later evidence from a bad stage")  # fmt: skip
    return Table(title, heads, tuple(lines))


_PLACES: tuple[Callable[[int], bool], ...] = (lambda stage: stage <= BAD_STAGE, lambda stage: stage == BAD_STAGE + 1)


def _text(found: Estimate | None) -> str | None:
    return None if found is None else str(found)


def _protocol_table(title: str, rows: Sequence[Row]) -> Table:
    lines = []
    for row in sorted(rows, key=lambda row: (row["seed"], row["stage"])):
        lines.append((
            row["seed"], row["stage"], row["model"], row["replies"], row["failed"],
            sum((row["violations"] or {}).values()), row["turns_left_broken"],
            sum(row["repairs_tried"].values()), sum(row["repairs_fixed"].values()), row["admitted"],
        ))  # fmt: skip
    heads = ("seed", "stage", "model", "replies", "failed", "violations", "left broken", "repairs", "of these fixed",
             "admitted")  # fmt: skip
    return Table(title, heads, tuple(lines))


def _by_round(rows: Sequence[Row], name: str) -> dict[int, float]:
    """The mean over seeds of what each round adds to a curve."""
    found: dict[int, list[float]] = {}
    for row in rows:
        value = _curve_values(row)[name]
        if value is not None:
            found.setdefault(row["round"], []).append(float(value))
    return {round: sum(values) / len(values) for round, values in sorted(found.items())}


def _curves(title: str, rows: Sequence[Row]) -> Figure:
    """The three curves over the rounds, as shares so far."""
    with styled(title, "Round", "Share right so far (%)") as (figure, axes):
        looks = ((PAST, BLUE, "-", "o"), (TIME, ORANGE, "--", "s"), (PERSONA_KEPT, GREEN, ":", "^"))
        for name, colour, dash, mark in looks:
            points = _by_round(rows, name)
            shares = _rolling(list(points.values()))
            axes.plot(list(points), [100 * share for share in shares], color=colour, linestyle=dash, marker=mark,
                      markersize=3, label=name.capitalize())  # fmt: skip
        for (stage, model), group in _stages(rows).items():
            first = min(row["round"] for row in group)
            axes.axvline(first - 0.5, color="#AAAAAA", linewidth=0.8)
            axes.text(first, 103, f"{stage}: {model}", size=7)
        axes.set_ylim(-2, 110)
        axes.legend(loc="lower right")
        return figure


def _rolling(values: Sequence[float]) -> list[float]:
    """Equation (13) where every seed agrees; with several seeds its mean."""
    if all(value in (0.0, 1.0) for value in values):
        return csv_rolling_accuracy([bool(value) for value in values])
    return [sum(values[: count + 1]) / (count + 1) for count in range(len(values))]


def _heat(title: str, rows: Sequence[Row]) -> Figure:
    """Every measure of every stage."""
    stages = _stages(rows)
    shares = [[_mean(_values(group, value)) for value in _MEASURES.values()] for group in stages.values()]
    with styled(title, "", "Stage") as (figure, axes):
        drawn = [[float("nan") if share is None else share for share in line] for line in shares]
        image = axes.imshow(drawn, vmin=0, vmax=1, cmap="cividis", aspect="auto")
        axes.set_xticks(range(len(_MEASURES)), list(_MEASURES), rotation=30, ha="right", size=8)
        axes.set_yticks(range(len(stages)), [f"{stage}: {model}" for stage, model in stages])
        axes.grid(visible=False)
        for y, line in enumerate(shares):
            for x, share in enumerate(line):
                text, colour = ("–", "black") if share is None else (f"{100 * share:.0f}", _on(share))
                axes.text(x, y, text, ha="center", va="center", size=8, color=colour)
        figure.colorbar(image, ax=axes, label="Share of rounds")
        return figure


def _on(share: float) -> str:
    """The colour of a number that can be read on its cell."""
    return "black" if share > 0.5 else "white"


def _recovery_figure(title: str, rows: Sequence[Row]) -> Figure:
    with styled(title, "Stage", "Past content right (%)") as (figure, axes):
        looks = {GOOD: (BLUE, "-", "o"), KEPT: (ORANGE, "--", "s"), QUARANTINED: (GREEN, ":", "^")}
        for life, (colour, dash, mark) in looks.items():
            points = {}
            for (stage, _), group in _stages(row for row in rows if row["life"] == life).items():
                share = _mean(_values(group, _MEASURES[PAST]))
                if share is not None:
                    points[stage] = 100 * share
            axes.plot(list(points), list(points.values()), color=colour, linestyle=dash, marker=mark, label=life)
        axes.axvspan(BAD_STAGE + 0.5, BAD_STAGE + 1.5, color="#EEEEEE", label="Stage of the bad model")
        axes.set_xticks(sorted({row["stage"] for row in rows}))
        axes.set_ylim(-2, 104)
        axes.legend(loc="best", fontsize=8)
        return figure
