"""What `allergy` and `tax` share: a constraint said once, early, and a question that it bears on, under every policy.

What needs no model: each dialogue is held once on the product's service, with the script's own replies, and its last
question is then rehearsed under every context policy and at several budgets. So policies differ in nothing but what
their prompt shows, and looked for in that prompt, word for word, is the constraint. Tokens are those of the whole
prompt, seconds those of the turn up to the model. With a model the same question is answered by it under every policy,
and its replies are graded strictly by code.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, get_args

from matplotlib.figure import Figure

from arpm.audit.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, styled
from arpm.clock import FixedClock
from arpm.experiments.base import Failures, Result, Run, Table, Target, file_digest
from arpm.experiments.constraint_grading import grade
from arpm.experiments.constraint_scripts import (
    FORMS,
    LANGUAGES,
    Form,
    Scenario,
    Script,
    all_scripts,
    scripts_digest,
)
from arpm.experiments.memories import code_digest
from arpm.experiments.retrieval_metrics import Estimate, bars, estimate
from arpm.experiments.stand_ins import StandIn, in_form
from arpm.experiments.throwaway import ThrowAway
from arpm.generation.base import GenerationRequest
from arpm.generation.token_estimate import estimated_tokens
from arpm.history_lines import history_lines
from arpm.protocol import VIOLATIONS
from arpm.service import Column
from governance.config import PRESETS, GovernanceConfig, Policy, preset
from governance.decay import Moment
from governance.history import Message, Placed
from retrieval.experience import text_in_context
from retrieval.memories import Experience

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_APART = timedelta(minutes=6)
# Tokens for what is remembered: the curve over budgets.
BUDGETS = (100, 200, 400, 800, 1600)
SHIPPED = "as shipped"
# The name of the scripted stand-in among the models.
_SCRIPT = "script"
# The policy whose parts are switched off.
_ABLATED = "afm"
# A label as wide as any in these prompts.
_LABEL = 50

Row = dict[str, Any]


def columns() -> dict[str, Column]:
    """What is compared: every policy as its preset has it, without standing instructions; then the two that have them.

    The papers' systems know no standing instructions, and with them every prompt would show an instruction anyhow.
    """
    found = {}
    for policy in get_args(Policy):
        name, without = _preset_of(policy), {"instructions_enabled": False}
        found[policy] = Column(name, {"policy": policy} | without if name == "default" else without)
    # Only instructions differ.
    return found | {f"{policy}, IM": Column(_preset_of(policy), {"policy": policy}) for policy in ("arpm", "afm")}


def ablations() -> dict[str, Column]:
    """Adaptive focus without one of its parts each: those of the paper's own ablation (section 4.9), then both other
    signals of its score."""
    off: dict[str, dict[str, Any]] = {
        "no importance": {"afm_importance": False},
        "no compression": {"afm_compression": False},
        "no stubs": {"afm_stubs": False},
        "no recency": {"afm_half_life": 1e6},
        "no similarity": {"afm_similarity": False},
    }
    whole = columns()[_ABLATED]
    return {f"{_ABLATED}, {name}": Column(whole.preset, {**whole.changes, **changes}) for name, changes in off.items()}


def _preset_of(policy: str) -> str:
    name = policy.replace("_", "-")
    return name if name in PRESETS else "default"


def at_budget(column: Column, budget: int) -> Column | None:
    """The same with `budget` tokens for what is remembered; None where a policy has no budget.

    Under `arpm` the window of recent rounds and the evidence share it as in the default preset.
    """
    config = preset(column.preset or "default").changed(column.changes)
    match config.policy:
        case "arpm":
            window = budget * config.window_budget // (config.window_budget + config.evidence_budget)
            limits = {"window_budget": window, "evidence_budget": budget - window}
        case "bm25":
            limits = {"evidence_budget": budget}
        case "stateless" | "full" | "recent_k":
            return None
        case _:
            limits = {"history_budget": budget}
    return Column(column.preset, {**column.changes, **limits})


def experiment(run: Run, scenario: Scenario) -> Result:
    """The whole experiment. With `quick`: one seed, one budget, and a model only under two policies."""
    seeds = range(1 if run.quick else run.seeds)
    scripts = all_scripts(scenario, seeds)
    compared, ablated = columns(), ablations()
    budgets = BUDGETS[2:3] if run.quick else BUDGETS
    answering = {name: compared[name] for name in ("afm", "stateless")} if run.quick else {**compared, **ablated}
    with _Bench(run) as bench:
        rows = _prompts(run, bench, scripts, {**compared, **ablated}, budgets)
        graded = _answers(run, bench, scripts, answering, run.model) if run.model else []
    found = _prompt_result([row for row in rows if row["policy"] in compared], tuple(compared), budgets)
    found = _with(found, _ablation_result(rows, (_ABLATED, *ablated), budgets))
    if graded:
        found = _with(found, _answer_result(graded, tuple(answering)))
    about = {
        "scenario": scenario,
        "scripts": len(scripts),
        "rounds": len(scripts[0].exchanges) + 1,
        "seeds": list(seeds),
        "embedder": run.settings.embedder,
        "model": run.model,
    }
    return replace(found, numbers={**about, **found.numbers})


# -- holding the dialogues -------------------------------------------------------------------------------------------


class _Actor:
    """What the stand-in writes, the reply it was given; and what it last read."""

    def __init__(self) -> None:
        self.reply = "All right."
        self.read: list[GenerationRequest] = []

    def __call__(self, request: GenerationRequest) -> str:
        self.read = [request]
        if "<analysis>" not in request.messages[0].content:
            return self.reply
        return in_form(self.reply, [item.label for item in request.evidence[:1]])


class _Bench(ThrowAway):
    """The service of a run, and the dialogues held on it."""

    def __init__(self, run: Run) -> None:
        self._held: dict[str, str] = {}
        self.actor = _Actor()
        super().__init__(run, clock=FixedClock(START), backends=[StandIn(_SCRIPT, self.actor)])

    def held(self, script: Script) -> str:
        """The timeline on which a dialogue was held up to its question, held now if it was not; the clock is there."""
        service = self.service
        if script.name not in self._held:
            timeline = service.create_timeline(
                script.user, script.character, script.persona, timezone="UTC", model=_SCRIPT
            )
            # In one go, which takes half as long as one by one.
            service.embedder.encode_document(embedded_texts(script))
            service.embedder.encode_query([*(exchange.message for exchange in script.exchanges), script.question])
            for number, exchange in enumerate(script.exchanges):
                service.clock.inner = FixedClock(START + number * _APART)
                self.actor.reply = exchange.reply
                service.turn(timeline.id, exchange.message)
            self._held[script.name] = timeline.id
        service.clock.inner = FixedClock(START + len(script.exchanges) * _APART)
        self.actor.reply = "All right."
        return self._held[script.name]


def embedded_texts(script: Script) -> list[str]:
    """What is embedded of a dialogue: each round alone and behind the one before; for adaptive focus each message.

    Adaptive focus embeds a message when it first sees it; in a talk that is not all of them before the last question.
    """
    atoms = [
        Experience("m", "s", number, None, script.user, script.character, exchange.message, exchange.reply)
        for number, exchange in enumerate(script.exchanges, 1)
    ]
    behind = [text_in_context(before, atom) for before, atom in zip([None, *atoms], atoms, strict=False)]
    said = [text for exchange in script.exchanges for text in (exchange.message, exchange.reply)]
    return [*(atom.text for atom in atoms), *behind, *said]


def _inputs(run: Run, script: Script, column: Column) -> dict[str, Any]:
    return {
        "script": script.name,
        "scripts": scripts_digest(script.scenario),
        "config": preset(column.preset or "default").changed(column.changes).as_dict(),
        "embedder": run.settings.embedder,
        "code": code_digest(),
        "measures": _measures(),
    }


@cache
def _measures() -> str:
    return file_digest(Path(__file__))


def _prompts(
    run: Run, bench: _Bench, scripts: Sequence[Script], compared: Mapping[str, Column], budgets: Sequence[int]
) -> list[Row]:
    """What the prompt of every question shows, under every policy and budget."""
    rows: list[Row] = []
    for done, script in enumerate(scripts):
        run.progress("preparing the question under every policy", done, len(scripts))
        for name, budget, column in _settings(compared, budgets):

            def compute(script: Script = script, column: Column = column) -> Row:
                return _prompt(bench, script, column)

            row = run.step(["prompt", script.name, name, budget], _inputs(run, script, column), compute)
            rows.append(_about(script, name) | {"budget": budget, "holds": _holds(script, name, budget)} | row)
    return rows


def _settings(compared: Mapping[str, Column], budgets: Sequence[int]) -> Iterator[tuple[str, int | None, Column]]:
    """Every policy as shipped (no budget given) and at every budget that it knows."""
    for name, column in compared.items():
        yield name, None, column
        for budget in budgets:
            limited = at_budget(column, budget)
            if limited is not None:
                yield name, budget, limited


def _prompt(bench: _Bench, script: Script, column: Column) -> Row:
    timeline = bench.held(script)
    start = time.perf_counter()
    body = bench.service.rehearse(timeline, script.question, column).body
    seconds = time.perf_counter() - start
    texts = [message.content for message in bench.actor.read[0].messages[:-1]]
    placed = Counter(row["fidelity"] or "left out" for row in body["history"])
    return {
        "shown": shows(script, texts),
        "tokens": body["prompt"]["tokens"],
        "seconds": round(seconds, 5),
        "placed": {kind: placed[kind] for kind in _FIDELITIES},
    }


# How messages may be shown, as the turn record has it.
_FIDELITIES = ("FULL", "COMPRESSED", "PLACEHOLDER", "left out")


def shows(script: Script, texts: Sequence[str]) -> bool:
    """Whether the texts of a prompt hold the constraint's own words."""
    return any(script.core.casefold() in text.casefold() for text in texts)


def _holds(script: Script, name: str, budget: int | None) -> bool:
    """Whether the constraint's line fits into a budget at all: as a standing instruction it has a budget of its own."""
    if budget is None or (name.endswith(", IM") and script.form == "instruction"):
        return True
    moment = Moment(len(script.exchanges) + 1, START + len(script.exchanges) * _APART)
    at = START + (script.place - 1) * _APART
    message = Message("user", script.place, script.constraint, "m", at, script.user)
    lines = history_lines(StandIn.prompt_style, GovernanceConfig(), moment, "UTC", script.question)
    return estimated_tokens(lines([Placed(message, "FULL", script.constraint, 0, "")], _LABEL)) <= budget


def _about(script: Script, name: str) -> Row:
    return {
        "script": script.name,
        "language": script.language,
        "form": script.form,
        "policy": name,
    }


# -- with a model ----------------------------------------------------------------------------------------------------


def _answers(
    run: Run, bench: _Bench, scripts: Sequence[Script], compared: Mapping[str, Column], model: str
) -> list[Row]:
    """The graded replies of a model to every question under every policy."""
    rows: list[Row] = []
    failures = Failures(model)
    jobs = [(script, name) for script in scripts for name in compared]
    settings = next((repr(table) for table in run.settings.models if table.name == model), None)
    for done, (script, name) in enumerate(jobs):
        run.progress(f"asking {model}", done, len(jobs))
        inputs = _inputs(run, script, compared[name]) | {"model": model, "settings": settings}

        def compute(script: Script = script, name: str = name) -> Row:
            return _answer(bench, script, compared[name], model)

        try:
            row = run.step(["answer", script.name, name, model], inputs, compute)
            failures.note(None)
        except _FailedError as error:
            # Not remembered: the next run asks again.
            row = error.row
            failures.note(row["failed"])
        # Graded outside the step: a grade that changes must not cost a model's work again.
        mark = grade(script.scenario, row["response"], broken=row["broken"])
        judged = {"recalled": mark.recalled, "conditioned": mark.conditioned, "passed": mark.passed}
        rows.append(_about(script, name) | row | judged | {"faults": list(mark.faults)})
    return rows


class _FailedError(Exception):
    """A call without a reply; `row` counts it as a broken protocol."""

    def __init__(self, row: Row) -> None:
        super().__init__(row["failed"])
        self.row = row


def _answer(bench: _Bench, script: Script, column: Column, model: str) -> Row:
    """One reply. Raises _FailedError."""
    timeline = bench.held(script)
    start = time.perf_counter()
    rehearsal = bench.service.rehearse(timeline, script.question, replace(column, model=model))
    seconds = time.perf_counter() - start
    body = rehearsal.body
    failed = body["error"]["text"] if rehearsal.kind == "turn_failed" else None
    broken = failed is not None or any(VIOLATIONS[item["kind"]].repair for item in body.get("violations", ()))
    broken = broken or any(repair["rung"] == "fallback" for repair in body.get("repairs", ()))
    row = {
        "response": body.get("response", ""),
        "broken": broken,
        "failed": failed,
        "tokens": (body.get("prompt") or {}).get("tokens"),
        "seconds": round(seconds, 3),
    }
    if failed is not None:
        raise _FailedError(row)
    return row


# -- what it comes to ------------------------------------------------------------------------------------------------


def _prompt_result(rows: Sequence[Row], names: Sequence[str], budgets: Sequence[int]) -> Result:
    shipped = [row for row in rows if row["budget"] is None]
    curve = {
        name: {budget: _rate(of) for budget in budgets if (of := _rows(rows, policy=name, budget=budget))}
        for name in names
    }
    return Result(
        numbers={
            "constraint in prompt": {
                name: {
                    f"{form}, {language}": _rate(_rows(shipped, policy=name, form=form, language=language)).as_dict()
                    for form in FORMS
                    for language in LANGUAGES
                }
                | {"all": _rate(_rows(shipped, policy=name)).as_dict()}
                for name in names
            },
            "by budget": {
                name: {str(budget): value.as_dict() for budget, value in values.items()}
                for name, values in curve.items()
            },
            "prompt tokens": {name: _spread(_rows(shipped, policy=name), "tokens") for name in names},
            "seconds before the model": {name: _spread(_rows(shipped, policy=name), "seconds") for name in names},
        },
        tables=(_shipped_table(shipped, names), _budget_table(rows, names, budgets), _missed_table(rows, names)),
        figures={
            "in-prompt": _bars(
                "Constraint in the prompt of the last question",
                "Share of dialogues",
                {
                    _FORM_WORDS[form]: {name: _rate(_rows(shipped, policy=name, form=form)) for name in names}
                    for form in FORMS
                },
            ),
            "budgets": _curves(curve),
        },
        targets=tuple(_targets(rows)),
    )


def _ablation_result(rows: Sequence[Row], names: Sequence[str], budgets: Sequence[int]) -> Result:
    """What each part of adaptive focus is good for: the paper's Table 2 without a model, at every budget."""
    lines = []
    for name in names:
        of = _rows(rows, policy=name, budget=None)
        shares = [_rate(_rows(rows, policy=name, budget=budget)).mean for budget in budgets]
        counts = [statistics.fmean(row["placed"][kind] for row in of) for kind in _FIDELITIES]
        lines.append((name, str(_rate(of)), *shares, _plus_minus(of, "tokens"), *counts))
    heads = ("whole", "compressed", "as stubs", "left out")
    return Result(
        numbers={
            "ablation": {
                name: {
                    str(budget or SHIPPED): {
                        "constraint in prompt": _rate(of).as_dict(),
                        "prompt tokens": _spread(of, "tokens"),
                        "messages": {kind: statistics.fmean(row["placed"][kind] for row in of) for kind in _FIDELITIES},
                    }
                    for budget in (None, *budgets)
                    for of in [_rows(rows, policy=name, budget=budget)]
                }
                for name in names
            }
        },
        tables=(
            Table(
                "Adaptive focus without one of its parts: constraint in the prompt, and its messages as shipped",
                ("variant", SHIPPED, *(f"{budget} tokens" for budget in budgets), "prompt tokens", *heads),
                tuple(lines),
            ),
        ),
    )


def _targets(rows: Sequence[Row]) -> Iterator[Target]:
    """The bars: always there, at every budget that can hold it, under `afm` and under `arpm` with instructions."""
    for name, forms in (("afm", FORMS), ("afm, IM", FORMS), ("arpm, IM", ("instruction",))):
        held = [row for row in _rows(rows, policy=name) if row["holds"] and row["form"] in forms]
        form = "" if len(forms) == 2 else f", said as an {forms[0]}"
        yield Target(f"constraint in prompt, {name}{form}, every budget that holds it", _rate(held).mean, 1.0)


_FORM_WORDS: Mapping[Form, str] = {"instruction": "said as an instruction", "fact": "said as a fact"}


def _rows(rows: Sequence[Row], **wanted: Any) -> list[Row]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def _rate(rows: Sequence[Row], key: str = "shown") -> Estimate:
    found = estimate([float(row[key]) for row in rows])
    assert found is not None, "every policy has rows"
    return found


def _spread(rows: Sequence[Row], key: str) -> dict[str, float | None]:
    """Mean and standard deviation over the dialogues, as the paper gives them."""
    values = [row[key] for row in rows if row[key] is not None]
    if not values:
        return {"mean": None, "std": None}
    return {"mean": statistics.fmean(values), "std": statistics.pstdev(values)}


def _plus_minus(rows: Sequence[Row], key: str, factor: float = 1, digits: int = 1) -> str | None:
    spread = _spread(rows, key)
    mean, std = spread["mean"], spread["std"]
    return None if mean is None or std is None else f"{factor * mean:.{digits}f} ± {factor * std:.{digits}f}"


def _shipped_table(rows: Sequence[Row], names: Sequence[str]) -> Table:
    lines = []
    for name in names:
        of = _rows(rows, policy=name)
        rates = [_rate(_rows(of, form=form, language=language)).mean for form in FORMS for language in LANGUAGES]
        lines.append((name, *rates, str(_rate(of)), _plus_minus(of, "tokens"), _plus_minus(of, "seconds", 1000)))
    heads = [f"{form}, {language}" for form in FORMS for language in LANGUAGES]
    return Table(
        "Constraint in the prompt of the last question, with the budgets as shipped",
        ("policy", *heads, "all", "prompt tokens", "ms before the model"),
        tuple(lines),
    )


def _budget_table(rows: Sequence[Row], names: Sequence[str], budgets: Sequence[int]) -> Table:
    lines = []
    for name in names:
        found = [_rows(rows, policy=name, budget=budget) for budget in budgets]
        if any(found):
            lines.append((name, *(_rate(of).mean if of else None for of in found)))
    return Table(
        "Constraint in the prompt by tokens for what is remembered, both forms and languages",
        ("policy", *map(str, budgets)),
        tuple(lines),
    )


def _missed_table(rows: Sequence[Row], names: Sequence[str]) -> Table:
    """Where a constraint that its budget holds was not shown, for the policies that have a bar."""
    missed = [row for row in rows if row["holds"] and not row["shown"] and row["policy"] in ("afm", "afm, IM")]
    missed += [row for row in _rows(rows, policy="arpm, IM", form="instruction") if row["holds"] and not row["shown"]]
    lines = tuple((row["policy"], row["script"], row["budget"] or SHIPPED) for row in missed)
    return Table(
        "Constraints that the budget holds and the prompt does not show", ("policy", "script", "budget"), lines
    )


def _bars(title: str, up: str, series: Mapping[str, Mapping[str, Estimate]]) -> Figure:
    figure = bars(title, up, series)
    # A dozen names do not stand side by side.
    figure.axes[0].tick_params(axis="x", rotation=35)
    return figure


def _curves(curve: Mapping[str, Mapping[int, Estimate]]) -> Figure:
    with styled("Constraint in the prompt by budget", "Tokens for what is remembered", "Share of dialogues") as (
        figure,
        axes,
    ):
        drawn = [(name, values) for name, values in curve.items() if values]
        for number, (name, values) in enumerate(drawn):
            axes.plot(
                list(values),
                [value.mean for value in values.values()],
                label=name,
                color=(BLUE, ORANGE, GREEN, PURPLE, GREY)[number % 5],
                linestyle=("-", "--", ":", "-.")[number % 4],
                marker="osD^vx*P"[number % 8],
            )
        axes.set_xscale("log")
        budgets = sorted({budget for _, values in drawn for budget in values})
        axes.set_xticks(budgets, [str(budget) for budget in budgets])
        axes.minorticks_off()
        axes.set_ylim(-0.04, 1.04)
        figure.legend(loc="outside right center")
        return figure


def _answer_result(rows: Sequence[Row], names: Sequence[str]) -> Result:
    marks = ("passed", "recalled", "conditioned")
    lines = []
    for name in names:
        of = _rows(rows, policy=name)
        rates = [_rate(of, mark) for mark in marks]
        spoken = [_rate(_rows(of, language=language), "passed").mean for language in LANGUAGES]
        lines.append(
            (
                name,
                f"{sum(row['passed'] for row in of)}/{len(of)}",
                *map(str, rates),
                *spoken,
                _plus_minus(of, "tokens"),
                _plus_minus(of, "seconds", digits=2),
            )
        )
    faults = sorted({fault for row in rows for fault in row["faults"]})
    counted = tuple(
        (name, *(sum(fault in row["faults"] for row in _rows(rows, policy=name)) for fault in faults)) for name in names
    )
    return Result(
        numbers={
            "answers": {
                name: {
                    "runs": len(_rows(rows, policy=name)),
                    **{mark: _rate(_rows(rows, policy=name), mark).as_dict() for mark in marks},
                    "tokens": _spread(_rows(rows, policy=name), "tokens"),
                    "seconds": _spread(_rows(rows, policy=name), "seconds"),
                }
                for name in names
            },
            "replies": [
                {key: row[key] for key in ("script", "policy", "response", "passed", "faults", "failed")}
                for row in rows
            ],
        },
        tables=(
            Table(
                "Strictly graded replies to the last question",
                ("policy", "passes", *marks, *LANGUAGES, "prompt tokens", "seconds"),
                tuple(lines),
            ),
            Table("What is wrong with replies that fail, by policy", ("policy", *faults), counted),
        ),
        figures={
            "passes": _bars(
                "Strictly graded replies that pass",
                "Share of dialogues",
                {
                    words: {name: _rate(_rows(rows, policy=name, language=language), "passed") for name in names}
                    for language, words in (("en", "English"), ("zh", "Chinese"))
                },
            )
        },
    )


def _with(one: Result, other: Result) -> Result:
    return Result(
        {**one.numbers, **other.numbers},
        (*one.tables, *other.tables),
        {**one.figures, **other.figures},
        (*one.targets, *other.targets),
    )
