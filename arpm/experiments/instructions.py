"""A standing instruction given in the first round, then many rounds about other things: is it shown, and is it kept?

Under every context policy, and in five states of instructional memory (IM), as in REA's figure 5 and table 4: what the
recogniser makes of it, perfect recognition, a false alarm beside it, a miss, and IM switched off. Every dialogue is
held by the product's own turns. Without a model a stand-in gives scripted replies that know nothing of instructions, so
that what is measured is the prompt; with one its own replies go on in the conversation, and are checked by code.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from arpm.audit.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, styled
from arpm.canonical import canonical, digest
from arpm.clock import FixedClock
from arpm.events import Event
from arpm.experiments.base import Failures, MissingDataError, Result, Run, Table, Target, file_digest
from arpm.experiments.instructions_oracle import NOT_STANDING, asked, tallies
from arpm.experiments.memories import code_digest
from arpm.experiments.retrieval_metrics import BOOTSTRAP_SEED, Estimate, bars, estimate
from arpm.experiments.stand_ins import StandIn, in_form
from arpm.experiments.throwaway import ThrowAway
from arpm.generation.base import GenerationRequest
from arpm.replayed_prompt import prompt_of_record
from arpm.timeline import Timeline
from arpm.turn import TurnFailedError
from governance.adherence import adherence
from governance.config import PRESETS, Policy
from governance.instructions import recognise
from retrieval.text import Language

LANGUAGES: tuple[Language, ...] = ("en", "zh")
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_APART = timedelta(minutes=3)
# Rounds after the one that gives the instruction, and instructions of each language that a seed takes.
ROUNDS, INSTRUCTIONS = 20, 4
# Of a run with a model, whose every round takes seconds.
MODEL_ROUNDS, MODEL_INSTRUCTIONS = 8, 1
QUICK_ROUNDS, QUICK_INSTRUCTIONS = 3, 1
# A scripted reply is as long as what models write: it goes on with so many of the pool's other replies.
_GOES_ON = 5
_SCRIPT = "script"

Condition = Literal["recogniser", "oracle", "false alarm", "missed", "IM off"]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
# What REA reports for a model of 7B on MT-Eval (figure 5 and table 4): adherence of ten, here as a share.
PUBLISHED: Mapping[Condition, float] = {"recogniser": 0.818, "false alarm": 0.77, "missed": 0.20, "IM off": 0.195}

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pool:
    """What is said in a language: instructions as (kind, words), and ordinary messages as (message, a reply)."""

    user: str
    character: str
    persona: str
    instructions: tuple[tuple[str, str], ...]
    messages: tuple[tuple[str, str], ...]


@cache
def pool(language: Language) -> Pool:
    """The pool of a language, of our own writing; kinds are those of MT-Eval and the commonest others."""
    found = json.loads(_data())[language]
    return Pool(
        user=found["user"],
        character=found["character"],
        persona=found["persona"],
        instructions=tuple((row["kind"], row["text"]) for row in found["instructions"]),
        messages=tuple((row["text"], row["reply"]) for row in found["messages"]),
    )


def _data() -> str:
    return files("arpm.experiments").joinpath("data", "instructions.json").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One dialogue to hold: the instruction of round 1, and what is said after it."""

    language: Language
    seed: int
    kind: str
    instruction: str
    messages: tuple[tuple[str, str], ...]
    alarm: str

    @property
    def name(self) -> str:
        return f"{self.language}-{self.seed}-{self.kind}"


def dialogues(language: Language, seed: int, rounds: int, instructions: int) -> list[Dialogue]:
    """The dialogues of a language and seed: the seed draws instructions, messages, their order, and the false alarm."""
    chance = random.Random(f"instructions {language} {seed}")
    known = pool(language)
    taken = chance.sample(known.instructions, len(known.instructions))[:instructions]
    found = []
    for kind, words in taken:
        said = [(words, _long(reply, chance, known)) for words, reply in chance.sample(known.messages, rounds)]
        # The message that is mistaken for an instruction is one of those that are said.
        found.append(Dialogue(language, seed, kind, words, tuple(said), said[0][0]))
    return found


def _long(reply: str, chance: random.Random, known: Pool) -> str:
    others = [other for _, other in chance.sample(known.messages, _GOES_ON + 1) if other != reply]
    return " ".join([reply, *others[:_GOES_ON]])


def run(run: Run) -> Result:
    """The experiment. With `quick`: few rounds and one instruction of each language."""
    rounds, taken = ROUNDS, INSTRUCTIONS
    if run.model:
        rounds, taken = MODEL_ROUNDS, MODEL_INSTRUCTIONS
    if run.quick:
        rounds, taken = QUICK_ROUNDS, QUICK_INSTRUCTIONS
    plan = [
        (one, policy, condition)
        for seed in range(1 if run.quick else run.seeds)
        for language in LANGUAGES
        for one in dialogues(language, seed, rounds, taken)
        for policy in get_args(Policy)
        for condition in CONDITIONS
    ]
    rows: list[Row] = []
    with _Bench(run) as bench:
        for done, (one, policy, condition) in enumerate(plan):
            run.progress(f"{one.language}, {policy}, {condition}", done, len(plan))

            def compute(one: Dialogue = one, policy: Policy = policy, condition: Condition = condition) -> Any:
                return bench.hold(one, policy, condition)

            held = run.step([one.name, policy, condition], _inputs(run, one, policy, condition), compute)
            about = {"language": one.language, "kind": one.kind, "policy": policy, "condition": condition}
            rows += [about | {"dialogue": one.name} | row for row in held]
        recognised = _recognised(run, bench)
    about = {
        "rounds": rounds,
        "dialogues": len({row["dialogue"] for row in rows}),
        "seeds": list(range(run.seeds)),
        "policies": list(get_args(Policy)),
        "model": run.model,
        "embedder": run.settings.embedder,
        "bootstrap_seed": BOOTSTRAP_SEED,
    }
    return _result(rows, about, recognised, _reading(run), with_model=run.model is not None)


def _inputs(run: Run, one: Dialogue, policy: Policy, condition: Condition) -> dict[str, Any]:
    return {
        "said": digest(canonical([one.instruction, [list(pair) for pair in one.messages], one.alarm])),
        "pool": digest(canonical([list(_about(one.language))])),
        "policy": policy,
        "condition": condition,
        "preset": PRESETS[_preset_of(policy)].config.as_dict(),
        "model": [repr(table) for table in run.settings.models if table.name == run.model] or run.model,
        "embedder": run.settings.embedder,
        "code": code_digest(),
        "measures": file_digest(Path(__file__)),
    }


def _about(language: Language) -> tuple[str, str, str]:
    known = pool(language)
    return known.user, known.character, known.persona


# -- holding the dialogues -------------------------------------------------------------------------------------------


class _Script:
    """What the stand-in writes: the reply it was given, in the form its prompt asks for."""

    def __init__(self) -> None:
        self.reply = ""

    def __call__(self, request: GenerationRequest) -> str:
        if "<analysis>" not in request.messages[0].content:
            return self.reply
        return in_form(self.reply, [item.label for item in request.evidence[:1]])


class _Bench(ThrowAway):
    """The service of a run, and what its scripted model says."""

    def __init__(self, run: Run) -> None:
        self._script = _Script()
        super().__init__(run, clock=FixedClock(START), backends=[StandIn(_SCRIPT, self._script)])

    def hold(self, one: Dialogue, policy: Policy, condition: Condition) -> list[Row]:
        """Hold a dialogue to its end; a row for every round after the one that gave the instruction."""
        timeline = self._begun(one, policy, condition)
        rows: list[Row] = []
        failures = Failures(self._run.model or _SCRIPT)
        for number, (message, reply) in enumerate(one.messages, 1):
            self._script.reply = reply
            self.service.clock.inner = FixedClock(START + number * _APART)
            rows.append(self._round(timeline, one, number + 1, message))
            failures.note(rows[-1]["failed"])
        self.service.leave(timeline.id)
        return rows

    def _begun(self, one: Dialogue, policy: Policy, condition: Condition) -> Timeline:
        """A timeline on which the instruction was given, with IM as the condition has it from then on."""
        service = self.service
        service.clock.inner = FixedClock(START)
        user, character, persona = _about(one.language)
        timeline = service.create_timeline(
            user,
            character,
            persona,
            timezone="UTC",
            model=self._run.model or _SCRIPT,
            preset_name=_preset_of(policy),
        )
        # Nothing is recognised in round 1 but by the recogniser's own condition: a miss is a miss from the start.
        recognises = condition == "recogniser"
        service.intervene(timeline.id, {"policy": policy, "instructions_enabled": recognises})
        self._script.reply = _AGREED[one.language]
        self._take(timeline, one.instruction)
        if condition in ("oracle", "false alarm"):
            timeline.add_instruction(one.instruction)
        if condition == "false alarm":
            timeline.add_instruction(one.alarm)
        service.intervene(timeline.id, {"instructions_enabled": condition != "IM off"})
        return timeline

    def _round(self, timeline: Timeline, one: Dialogue, number: int, message: str) -> Row:
        body, event, failed = self._take(timeline, message)
        row: Row = {"round": number, "failed": failed, "shown": None, "verdict": None}
        if body is None or event is None:
            return row
        texts = [item.content for item in prompt_of_record(self.service.catalogue, event)[:-1]]
        row["shown"] = shows(one.instruction, texts)
        row["tokens"] = body["prompt"]["tokens"]
        if self._run.model:
            row["verdict"] = adherence(one.instruction, body["response"], message).verdict
        return row

    def _take(self, timeline: Timeline, message: str) -> tuple[dict[str, Any] | None, Event | None, str | None]:
        """The record of a turn and its event, or why there is none."""
        try:
            event = self.service.turn(timeline.id, message)
        except TurnFailedError as error:
            return None, None, str(error)
        return event.body, event, None


_AGREED = {"en": "All right.", "zh": "明白了。"}


def _preset_of(policy: str) -> str:
    name = policy.replace("_", "-")
    return name if name in PRESETS else "default"


def shows(instruction: str, texts: Iterable[str]) -> bool:
    """Whether a prompt holds the instruction's own words, without the mark at their end."""
    words = instruction.rstrip(".。 ").casefold()
    return any(words in text.casefold() for text in texts)


def _recognised(run: Run, bench: _Bench) -> list[Row]:
    """What the recogniser makes of every instruction and every ordinary message of the pool."""
    found: list[Row] = []
    for language in LANGUAGES:

        def compute(language: Language = language) -> Row:
            known, embedder = pool(language), bench.service.embedder

            def added(words: str) -> bool:
                return any(one.action == "add" for one in recognise(words, embedder))

            return {
                "language": language,
                "instructions": len(known.instructions),
                "recognised": sum(added(words) for _, words in known.instructions),
                "ordinary messages": len(known.messages),
                "taken for instructions": sum(added(words) for words, _ in known.messages),
            }

        inputs = {"pool": digest(_data().encode()), "embedder": run.settings.embedder, "code": code_digest()}
        found.append(run.step(["recognising", language], inputs, compute))
    return found


# -- IFEval's words --------------------------------------------------------------------------------------------------

_IFEVAL = "IFEval's prompts with the arguments of their constraints, the oracle of the reader"


def _reading(run: Run) -> list[Row]:
    """How well constraints are read from the words of IFEval's prompts; nothing where the data set is not there."""
    try:
        path = run.source("ifeval", "input_data.jsonl", about=_IFEVAL)
    except MissingDataError:
        run.left_out.append(
            "How constraints are read from IFEval's prompts: the folder of the data sets has no ifeval."
        )
        return []

    def compute() -> list[Row]:
        halves = {"looked at": tallies(asked(path, held_out=False)), "held out": tallies(asked(path, held_out=True))}
        return [
            {"half": half, "kind": kind, **tally.as_dict()}
            for half, found in halves.items()
            for kind, tally in found.items()
        ]

    inputs = {"data": file_digest(path), "code": code_digest(), "oracle": file_digest(_oracle_file())}
    found: list[Row] = run.step(["reading IFEval"], inputs, compute)
    return found


def _oracle_file() -> Path:
    return Path(__file__).with_name("instructions_oracle.py")


def _reading_table(rows: Sequence[Row]) -> Table:
    held = [row for row in rows if row["half"] == "held out"]
    lines = [
        (row["kind"], row["asked"], row["read"], row["read"] / row["asked"], row["spurious"])
        for row in held
        if row["asked"]
    ]
    lines.append(("all", *_totals(held)))
    lines.append(("all, the half that was looked at", *_totals([row for row in rows if row["half"] == "looked at"])))
    title = f"Constraints read from the words of IFEval's prompts, the half held out; without {NOT_STANDING}"
    return Table(title, ("kind", "asked", "read", "share", "read though not asked"), tuple(lines))


def _totals(rows: Sequence[Row]) -> tuple[int, int, float, int]:
    total, read, spurious = (sum(row[name] for row in rows) for name in ("asked", "read", "spurious"))
    return total, read, read / max(total, 1), spurious


# -- what it comes to ------------------------------------------------------------------------------------------------


def _shown(row: Row) -> float | None:
    return None if row["shown"] is None else float(row["shown"])


def _kept(row: Row) -> float | None:
    """1 for kept, 0 for broken; None where code cannot tell."""
    return {"kept": 1.0, "broken": 0.0}.get(row["verdict"])


Measure = Callable[[Row], float | None]


def _result(
    rows: Sequence[Row], about: dict[str, Any], recognised: Sequence[Row], reading: Sequence[Row], *, with_model: bool
) -> Result:
    measures: dict[str, Measure] = {"instruction in prompt": _shown}
    if with_model:
        measures["instruction kept"] = _kept
    tables: list[Table] = []
    figures: dict[str, Figure] = {}
    numbers: dict[str, Any] = dict(about)
    for name, measure in measures.items():
        slug = name.split()[-1]
        tables.append(_by_policy(f"Rounds with the {name}, by policy and IM", rows, measure))
        numbers[name] = {
            policy: {condition: _dict(_estimate(_of(rows, policy, condition), measure)) for condition in CONDITIONS}
            for policy in get_args(Policy)
        }
        figures[f"conditions-{slug}"] = _conditions_figure(name, rows, measure)
        for language in LANGUAGES:
            spoken = [row for row in rows if row["language"] == language]
            figures[f"rounds-{slug}-{language}"] = _rounds_figure(name, language, spoken, measure)
    tables.append(_beside_rea(rows, with_model))
    tables.append(_by_kind(rows, measures))
    tables.append(_recogniser_table(recognised))
    numbers["recogniser"] = list(recognised)
    if reading:
        tables.append(_reading_table(reading))
        numbers["reading"] = list(reading)
    numbers["failed turns"] = sum(row["failed"] is not None for row in rows)
    targets = [
        Target(f"instruction in the prompt of every round: {policy}, perfect recognition", value, 1.0)
        for policy in ("arpm", "afm")
        if (value := _mean(_values(_of(rows, policy, "oracle"), _shown))) is not None
    ]
    return Result(numbers, tuple(tables), figures, tuple(targets))


def _of(rows: Iterable[Row], policy: str, condition: str) -> list[Row]:
    return [row for row in rows if row["policy"] == policy and row["condition"] == condition]


def _values(rows: Iterable[Row], measure: Measure) -> list[float]:
    return [value for row in rows if (value := measure(row)) is not None]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _estimate(rows: Sequence[Row], measure: Measure) -> Estimate | None:
    """The mean over dialogues, whose rounds are not independent: an interval over dialogues, not over rounds."""
    by_dialogue: dict[str, list[float]] = {}
    for row in rows:
        value = measure(row)
        if value is not None:
            by_dialogue.setdefault(row["dialogue"], []).append(value)
    return estimate([sum(values) / len(values) for values in by_dialogue.values()])


def _dict(found: Estimate | None) -> dict[str, Any] | None:
    return None if found is None else found.as_dict()


def _text(found: Estimate | None) -> str | None:
    return None if found is None else str(found)


def _by_policy(title: str, rows: Sequence[Row], measure: Measure) -> Table:
    lines = [
        (policy, *(_text(_estimate(_of(rows, policy, condition), measure)) for condition in CONDITIONS))
        for policy in get_args(Policy)
    ]
    return Table(title, ("policy", *CONDITIONS), tuple(lines))


def _beside_rea(rows: Sequence[Row], with_model: bool) -> Table:
    """Our conditions under `arpm` beside REA's, which are those of another model on other dialogues."""
    lines = []
    for condition in CONDITIONS:
        of = _of(rows, "arpm", condition)
        kept = _text(_estimate(of, _kept)) if with_model else None
        tokens = _mean([float(row["tokens"]) for row in of if row.get("tokens") is not None])
        lines.append((condition, _text(_estimate(of, _shown)), kept, tokens, PUBLISHED.get(condition)))
    heads = ("IM", "in prompt", "kept", "tokens of the prompt", "REA: kept (IAR/10)")
    return Table("arpm in the conditions of REA's figure 5 and table 4", heads, tuple(lines))


def _by_kind(rows: Sequence[Row], measures: Mapping[str, Measure]) -> Table:
    kinds = list(dict.fromkeys((row["language"], row["kind"]) for row in rows))
    lines = []
    for language, kind in kinds:
        of = [row for row in rows if (row["language"], row["kind"]) == (language, kind) and row["policy"] == "arpm"]
        cells = [
            _mean(_values([row for row in of if row["condition"] == condition], measure))
            for measure in measures.values()
            for condition in ("recogniser", "oracle", "missed")
        ]
        lines.append((language, kind, *cells))
    heads = [f"{name}, {condition}" for name in measures for condition in ("recogniser", "oracle", "missed")]
    return Table("arpm by kind of instruction", ("language", "kind", *heads), tuple(lines))


def _recogniser_table(rows: Sequence[Row]) -> Table:
    heads = ("language", "instructions", "recognised", "ordinary messages", "taken for instructions")
    return Table("The recogniser on the whole pool", heads, tuple(tuple(row[head] for head in heads) for row in rows))


_LOOKS = (
    (BLUE, "-", "o"), (ORANGE, "--", "s"), (GREEN, ":", "^"), (PURPLE, "-.", "D"), (GREY, "-", "x"),
    (BLUE, ":", "v"), (ORANGE, "-.", "P"), (GREEN, "-", "*"), (PURPLE, "--", "<"), (GREY, ":", ">"),
)  # fmt: skip


def _conditions_figure(name: str, rows: Sequence[Row], measure: Measure) -> Figure:
    """REA's figure 5, for every policy."""
    series: dict[str, dict[str, Estimate]] = {}
    for condition in CONDITIONS:
        found = {policy: _estimate(_of(rows, policy, condition), measure) for policy in get_args(Policy)}
        series[condition] = {policy.replace("_", " "): one for policy, one in found.items() if one is not None}
    figure = bars(f"{name.capitalize()}, by policy and state of IM", "Share of rounds", series)
    figure.set_figwidth(11)
    for label in figure.axes[0].get_xticklabels():
        label.set(rotation=25, ha="right")
    return figure


def _rounds_figure(name: str, language: Language, rows: Sequence[Row], measure: Measure) -> Figure:
    """How a share goes over the rounds, without IM and with it: REA's figure 4, left."""
    words = {"en": "English", "zh": "Chinese"}[language]
    with styled(f"{name.capitalize()} over the rounds, without IM; {words}", "Round", "Share (%)") as (figure, axes):
        drawn = [(policy, _of(rows, policy, "IM off")) for policy in get_args(Policy)]
        drawn.append(("arpm with IM", _of(rows, "arpm", "recogniser")))
        for place, (label, of) in enumerate(drawn):
            rounds = sorted({row["round"] for row in of})
            shares = [_mean(_values([row for row in of if row["round"] == round], measure)) for round in rounds]
            points = [(round, 100 * share) for round, share in zip(rounds, shares, strict=True) if share is not None]
            colour, dash, mark = _LOOKS[place % len(_LOOKS)] if label != "arpm with IM" else ("black", "-", "o")
            axes.plot([x for x, _ in points], [y for _, y in points], color=colour, linestyle=dash, marker=mark,
                      markersize=3, label=label)  # fmt: skip
        axes.set_ylim(-3, 104)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        figure.set_figwidth(9)
        figure.legend(loc="outside right center", fontsize=8)
        return figure
