"""Ablation: the scripted dialogue of twenty rounds under the presets A to H, in English and Chinese.

What needs no model: every round is prepared under every preset on one and the same memory, which the script's own
replies fill, so that presets differ in nothing but what they show. Measured are whether the prompt shows the evidence
that the round needs, whether a corrected fact outranks the stale one, and what becomes of outputs that break the
protocol. The dialogue stands alone, as in the published test, or comes after earlier dialogues of the same two about
other events, where there is more to mix up. With a model it is held once per preset, alone, and replies are graded
strictly by code.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, get_args

from matplotlib.figure import Figure

from arpm.audit.plots import styled
from arpm.clock import FixedClock
from arpm.experiments.base import Result, Run, Table, Target, file_digest
from arpm.experiments.grading import ANOMALIES, grade, leaks
from arpm.experiments.memories import code_digest
from arpm.experiments.retrieval_metrics import BOOTSTRAP_SEED, Estimate, bars, estimate
from arpm.experiments.scripts import (
    LANGUAGES,
    VARIANTS,
    Corrected,
    Need,
    Round,
    Script,
    all_scripts,
    scripted,
    scripts_digest,
)
from arpm.experiments.stand_ins import StandIn, in_form, is_repair
from arpm.generation.base import GenerationRequest
from arpm.importers.atoms import Atom, write_atoms
from arpm.protocol import VIOLATIONS
from arpm.service import Column, Service
from arpm.turn import TurnFailedError
from governance.config import PRESETS, Policy, preset
from retrieval.embedding import load_embedder
from retrieval.embedding.cache import CachedEmbedder

BASE = "A"
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
# The dialogue goes on the next day after so many rounds.
_A_DAY = 10
# Every so many rounds the stand-in breaks the protocol and keeps it only when it is asked again.
_SLOPPY_EVERY = 4
# What the timeline has lived before: so many earlier dialogues, and how many days apart they were.
_EARLIER, _APART = 4, timedelta(days=9)
ALONE, AFTER = "alone", "after earlier dialogues"
# The name of the scripted stand-in among the models.
_SCRIPT = "script"

# One row of a step: what a preset made of a round.
Row = dict[str, Any]


def columns() -> dict[str, Column]:
    """What is compared: the presets A to H, and A under every other context policy that there is."""
    found = {name: Column(preset=name) for name in PRESETS if len(name) == 1}
    others = (policy for policy in get_args(Policy) if policy != preset(BASE).policy)
    return found | {f"{BASE}, {policy}": Column(preset=BASE, changes={"policy": policy}) for policy in others}


def run(run: Run) -> Result:
    """The experiment. With `quick` one variant in each language, alone, and a model only under preset A."""
    variants = range(1 if run.quick else VARIANTS)
    scripts = all_scripts(variants, range(run.seeds))
    compared = columns()
    answering = {BASE: compared[BASE]} if run.quick else compared
    with _Bench(run) as bench:
        alone = _prepared(run, bench, scripts, compared, 0)
        after = [] if run.quick else _prepared(run, bench, scripts, compared, _EARLIER)
        graded = _answered(run, bench, scripts, answering, run.model) if run.model else []
    found = _evidence_result(alone, tuple(compared), ALONE)
    if after:
        # The bars are set for the dialogue alone.
        found = _with(found, replace(_evidence_result(after, tuple(compared), AFTER), targets=()))
    if graded:
        found = _with(found, _answers_result(graded, tuple(answering)))
    about = {
        "scripts": len(scripts),
        "rounds": len(alone) // len(compared),
        "earlier_dialogues": _EARLIER if after else 0,
        "seeds": list(range(run.seeds)),
        "bootstrap_seed": BOOTSTRAP_SEED,
        "embedder": run.settings.embedder,
        "model": run.model,
    }
    return replace(found, numbers={**about, **found.numbers})


# -- holding the dialogues -------------------------------------------------------------------------------------------


class _Bench:
    """The embedder of a run and services on folders of their own. Loads nothing before it is needed."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._embedder: CachedEmbedder | None = None

    def __enter__(self) -> _Bench:
        return self

    def __exit__(self, *_: object) -> None:
        if self._embedder is not None:
            self._embedder.close()

    @contextmanager
    def service(self, stand_in: StandIn) -> Iterator[Service]:
        """The product's service with a stand-in among its models."""
        if self._embedder is None:
            self._run.progress("loading the embedder", 0, 1)
            inner = load_embedder(self._run.settings.embedder, self._run.out)
            self._embedder = CachedEmbedder(inner, self._run.out / "embeddings.sqlite")
        with tempfile.TemporaryDirectory(prefix="arpm-experiment-") as folder:
            settings = replace(self._run.settings, logs=Path(folder))
            with Service(settings, embedder=self._embedder, clock=FixedClock(START), backends=[stand_in]) as service:
                yield service


def _inputs(run: Run, script: Script, compared: Mapping[str, Column]) -> dict[str, Any]:
    configs = {name: preset(BASE if col.preset is None else col.preset).changed(col.changes).as_dict()
               for name, col in compared.items()}  # fmt: skip
    return {
        "script": script.name,
        "scripts": scripts_digest(),
        "configs": configs,
        "embedder": run.settings.embedder,
        "code": code_digest(),
    }


def _prepared(
    run: Run, bench: _Bench, scripts: Sequence[Script], compared: Mapping[str, Column], earlier: int
) -> list[Row]:
    """What every preset shows in every round of every script, after so many earlier dialogues."""
    rows: list[Row] = []
    for done, script in enumerate(scripts):
        run.progress(f"preparing rounds under every preset, {earlier} dialogues before", done, len(scripts))
        inputs = _inputs(run, script, compared) | {"earlier": earlier, "measures": file_digest(Path(__file__))}

        def compute(script: Script = script) -> list[Row]:
            return _prepare(bench, script, compared, earlier)

        rows += run.step(["evidence", script.name, earlier], inputs, compute)
    return rows


def _prepare(bench: _Bench, script: Script, compared: Mapping[str, Column], earlier: int) -> list[Row]:
    actor = _Actor()
    rows: list[Row] = []
    with bench.service(StandIn(_SCRIPT, actor)) as service:
        dialogue = _Dialogue(service, script, _SCRIPT, BASE)
        dialogue.live(earlier)
        for item in script.rounds:
            dialogue.at(item)
            for name, column in compared.items():
                actor.play(item, sloppy=item.number % _SLOPPY_EVERY == 0)
                rehearsal = service.rehearse(dialogue.timeline, item.message, column)
                rows.append(dialogue.row(item, name, rehearsal.body) | {"kept_form": _kept_form(rehearsal.body)})
            actor.play(item, sloppy=False)
            dialogue.take(item)
    return rows


class _Actor:
    """What the stand-in writes: the script's reply, in the form of the protocol unless it is sloppy at first."""

    def __init__(self) -> None:
        self._reply = ""
        self._sloppy = False

    def play(self, item: Round, *, sloppy: bool) -> None:
        """Get ready for a round."""
        self._reply, self._sloppy = item.reply, sloppy

    def __call__(self, request: GenerationRequest) -> str:
        if self._sloppy and not is_repair(request):
            return f"<analysis>\nI should look at the evidence first.\n\n{self._reply}"
        if "<analysis>" not in request.messages[0].content:
            return self._reply
        return in_form(self._reply, [item.label for item in request.evidence[:1]])


class _Dialogue:
    """A script as it is lived on a timeline: which memories its rounds became, and what prompts show of them."""

    def __init__(self, service: Service, script: Script, model: str, preset_name: str) -> None:
        self._service = service
        self._script = script
        chunks = [chunk for name, text in script.documents
                  for chunk in service.catalogue.chunks(service.ingest(name, text.encode()).id)]  # fmt: skip
        self._memories: dict[Need, frozenset[str]] = {
            key: frozenset(chunk.memory for chunk in chunks if all(part in chunk.text for part in parts))
            for key, parts in script.passages.items()
        }
        timeline = service.create_timeline(
            script.user, script.character, script.persona, timezone="UTC", model=model, preset_name=preset_name
        )
        self.timeline = timeline.id
        self._rounds: dict[int, int] = {}

    def live(self, dialogues: int) -> None:
        """Let the two have had so many dialogues before, of other variants, each a session of its own."""
        atoms = []
        for number in range(dialogues):
            other = scripted(self._script.language, (self._script.variant + number + 1) % VARIANTS, self._script.seed)
            start = START - (dialogues - number) * _APART
            atoms += [
                Atom(f"{other.name}-{item.number}", other.name, start + timedelta(minutes=7 * item.number),
                     item.message, item.reply)
                for item in other.rounds
            ]  # fmt: skip
        if atoms:
            write_atoms(self._service.timeline(self.timeline), _SCRIPT, atoms)

    def at(self, item: Round) -> None:
        """Set the clock to a round's time: some minutes apart, with a night in between."""
        day, place = divmod(item.number - 1, _A_DAY)
        self._service.clock.inner = FixedClock(START + timedelta(days=day, minutes=7 * place))

    def take(self, item: Round) -> dict[str, Any]:
        """Take the turn and remember which memory it became; the body of its record. Raises TurnFailedError."""
        body = self._service.turn(self.timeline, item.message).body
        assert body is not None
        memory = body["admission"]["memory"]
        self._rounds[body["round"]] = item.number
        self._memories[item.number] = frozenset([memory] if memory else [])
        return body

    def row(self, item: Round, name: str, body: Mapping[str, Any]) -> Row:
        """What a prompt showed of what the round needs, and which of a corrected fact's statements came first."""
        window = {self._rounds[number] for number in body.get("window", ()) if number in self._rounds}
        shown = {evidence["memory"] for evidence in body.get("evidence", ())}
        shown |= {memory for number in window for memory in self._memories[number]}
        missing = [group for group in item.needs if not any(self._of(need) & shown for need in group)]
        ranks = {row["memory"]: row["rank"] for row in body.get("candidates", {}).get("experience", ())}
        order = [evidence["memory"] for evidence in body.get("evidence", ())]
        order += [memory for number in sorted(window) for memory in self._memories[number]]
        places = {memory: -place for place, memory in enumerate(order)}
        return {
            "script": self._script.name,
            "language": self._script.language,
            "round": item.number,
            "kind": item.kind,
            "preset": name,
            "needs": len(item.needs),
            "missing": [[list(group), self._why(group, body)] for group in missing],
            "reciprocal_ranks": [self._reciprocal_rank(group, body) for group in item.needs],
            "facts": [fact.name for fact in item.corrected],
            "outranks": [self._outranks(fact, shown, ranks) for fact in item.corrected],
            "last_word": [self._outranks(fact, shown, places) for fact in item.corrected],
            "first_hand": [self._outranks(_first_hand(fact), shown, ranks) for fact in item.corrected],
        }

    def _of(self, need: Need) -> frozenset[str]:
        return self._memories.get(need, frozenset())

    def _why(self, group: Collection[Need], body: Mapping[str, Any]) -> str:
        """Why nothing of a group is shown: the reason recorded for the best of its candidates."""
        wanted = frozenset[str]().union(*map(self._of, group))
        rows = [row for route in body.get("candidates", {}).values() for row in route if row["memory"] in wanted]
        return str(min(rows, key=lambda row: row["rank"])["reason"]) if rows else "not searched or not found"

    def _reciprocal_rank(self, group: Collection[Need], body: Mapping[str, Any]) -> float:
        """1 / place of the best of a group among the candidates of its route by final score; 0 when none was found."""
        wanted = frozenset[str]().union(*map(self._of, group))
        rows = [row for route in body.get("candidates", {}).values() for row in route if row["memory"] in wanted]
        return max((1 / (row["rank"] + 1) for row in rows), default=0.0)

    def _outranks(self, fact: Corrected, shown: Collection[str], ranks: Mapping[str, int]) -> bool:
        """Whether the corrected fact is in the prompt, with a better final score than the stale one if that is too.

        What only the window shows has no score; there the later round stands behind the earlier one.
        """
        fresh, stale = (
            [(number, memory) for number in numbers for memory in self._of(number) if memory in shown]
            for numbers in (fact.fresh, fact.stale)
        )
        if not fresh or not stale:
            return bool(fresh)
        best_fresh, best_stale = (
            min((ranks[memory] for _, memory in side if memory in ranks), default=None) for side in (fresh, stale)
        )
        if best_fresh is None or best_stale is None:
            return max(fresh)[0] > max(stale)[0]
        return best_fresh < best_stale


def _first_hand(fact: Corrected) -> Corrected:
    """The correction itself against the first statement, without the rounds that repeat either."""
    return replace(fact, stale=fact.stale[:1], fresh=fact.fresh[:1])


def _kept_form(body: Mapping[str, Any]) -> bool:
    """Whether the reply was verified in the end: an analysis was made and nothing of the protocol is left broken."""
    broken = any(VIOLATIONS[item["kind"]].repair for item in body.get("violations", ()))
    verified = bool(body.get("analysis", {}).get("need"))
    return verified and not broken and body["admission"]["admitted"] and not leaks(body["response"])


# -- with a model ----------------------------------------------------------------------------------------------------


def _answered(
    run: Run, bench: _Bench, scripts: Sequence[Script], compared: Mapping[str, Column], model: str
) -> list[Row]:
    """The graded replies of a model to every script under every preset."""
    rows: list[Row] = []
    # Graded outside the step: a grade that changes must not cost a model's work again.
    jobs = [(script, name) for script in scripts for name in compared]
    for done, (script, name) in enumerate(jobs):
        run.progress(f"holding the dialogue with {model}", done, len(jobs))
        table = next((table for table in run.settings.models if table.name == model), None)
        inputs = _inputs(run, script, {name: compared[name]}) | {"model": model, "settings": repr(table)}

        def compute(script: Script = script, name: str = name) -> list[Row]:
            return _answer(bench, script, name, compared[name], model)

        answers = run.step(["answers", script.name, name, model], inputs, compute)
        rows += [_graded(item, row) for item, row in zip(script.rounds, answers, strict=True)]
    return rows


def _answer(bench: _Bench, script: Script, name: str, column: Column, model: str) -> list[Row]:
    rows: list[Row] = []
    with bench.service(StandIn(_SCRIPT, _Actor())) as service:
        dialogue = _Dialogue(service, script, model, column.preset or BASE)
        if column.changes:
            service.intervene(dialogue.timeline, column.changes)
        for item in script.rounds:
            dialogue.at(item)
            rows.append(_replied(dialogue, item, name))
    return rows


def _replied(dialogue: _Dialogue, item: Round, name: str) -> Row:
    """One round with a model. A failed turn counts as a broken protocol and never ends the experiment."""
    failed = None
    try:
        body = dialogue.take(item)
    except TurnFailedError as error:
        body, failed = error.event.body or {}, str(error)
    response = body.get("response", "")
    broken = failed is not None or any(VIOLATIONS[v["kind"]].repair for v in body.get("violations", ()))
    broken = broken or any(repair["rung"] == "fallback" for repair in body.get("repairs", ()))
    return dialogue.row(item, name, body) | {"response": response, "broken": broken, "failed": failed}


def _graded(item: Round, row: Row) -> Row:
    mark = grade(item.expected, row["response"], broken=row["broken"])
    return row | {"right": mark.right, "anomaly": mark.anomaly}


# -- what it comes to ------------------------------------------------------------------------------------------------


def _evidence_result(rows: Sequence[Row], names: Sequence[str], setting: str) -> Result:
    """The measures that need no model, of the rows of one setting."""
    shown = {name: _per_script(rows, name, _shown) for name in names}
    places = {name: _per_script(rows, name, lambda row: _mean(row["reciprocal_ranks"])) for name in names}
    outranks = {name: _per_script(rows, name, lambda row: _mean(row["outranks"])) for name in names}
    first = {name: _per_script(rows, name, lambda row: _mean(row["first_hand"])) for name in names}
    last = {name: _per_script(rows, name, lambda row: _mean(row["last_word"])) for name in names}
    form = {name: _per_script(rows, name, lambda row: float(row["kept_form"])) for name in names}
    measures = {
        "needed evidence in prompt": shown,
        "reciprocal rank of the needed evidence": places,
        "corrected fact outranks the stale one": outranks,
        "corrected fact stands last in the prompt": last,
        "correction outranks the first statement": first,
        "reply verified in the end": form,
    }
    tables = [_measure_table(f"{title}, {setting}", values) for title, values in measures.items()]
    slug = setting.replace(" ", "-")
    return Result(
        numbers={
            setting: {key: _numbers(values) for key, values in measures.items()} | {"missing": _missing(rows, BASE)}
        },
        tables=(
            *tables,
            _round_table(rows, names, setting),
            _fact_table(rows, names, setting),
            _missing_table(rows, setting),
        ),
        figures={
            f"evidence-{slug}": _bars(f"Needed evidence in the prompt, {setting}", shown),
            f"places-{slug}": _bars(f"Reciprocal rank of the needed evidence, {setting}", places),
            f"outranks-{slug}": _bars(f"Corrected fact outranks the stale one, {setting}", outranks),
            f"rounds-{slug}": _heat(rows, names, setting),
        },
        targets=(
            Target("needed evidence in prompt, preset A", _all(shown[BASE]), 1.0),
            Target("corrected fact outranks the stale one by score, preset A", _all(outranks[BASE]), 1.0),
            Target("corrected fact stands last in the prompt, preset A", _all(last[BASE]), 1.0),
        ),
    )


def _answers_result(rows: Sequence[Row], names: Sequence[str]) -> Result:
    right = {name: _per_script(rows, name, lambda row: float(row["right"])) for name in names}
    shown = {name: _per_script(rows, name, _shown) for name in names}
    anomalies = {name: Counter(row["anomaly"] for row in rows if row["preset"] == name) for name in names}
    counts = {name: sum(row["preset"] == name for row in rows) for name in names}
    table = Table(
        "Anomaly rate by kind, with the model",
        ("preset", "rounds", *ANOMALIES),
        tuple((n, counts[n], *(anomalies[n][kind] / counts[n] for kind in ANOMALIES)) for n in names),
    )
    return Result(
        numbers={
            "strictly right": _numbers(right),
            "needed evidence in prompt, with the model": _numbers(shown),
            "anomalies": {n: {kind: anomalies[n][kind] / counts[n] for kind in ANOMALIES} for n in names},
            "failed turns": {n: sum(bool(r["failed"]) for r in rows if r["preset"] == n) for n in names},
        },
        tables=(_measure_table("strictly right, with the model", right), table),
        figures={"right": _bars("Strictly right replies", right)},
    )


def _with(one: Result, other: Result) -> Result:
    return Result(
        {**one.numbers, **other.numbers},
        (*one.tables, *other.tables),
        {**one.figures, **other.figures},
        (*one.targets, *other.targets),
    )


def _shown(row: Row) -> float | None:
    """1 when everything that a round needs is in the prompt; None where it needs nothing."""
    return float(not row["missing"]) if row["needs"] else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


# Means by script: language and name of the script, in one order for every preset, so that they pair up.
PerScript = dict[tuple[str, str], float]


def _per_script(rows: Sequence[Row], name: str, value: Callable[[Row], float | None]) -> PerScript:
    """The mean over the rounds of each script: scripts, not rounds, are what is drawn anew for an interval."""
    groups: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row["preset"] == name and (found := value(row)) is not None:
            groups.setdefault((row["language"], row["script"]), []).append(found)
    return {key: sum(values) / len(values) for key, values in groups.items()}


def _of_language(values: PerScript, language: str | None) -> list[float]:
    return [value for (spoken, _), value in values.items() if language in (None, spoken)]


def _all(values: PerScript) -> float:
    found = _of_language(values, None)
    return sum(found) / len(found)


def _estimated(values: Sequence[float]) -> Estimate | None:
    return _estimated_once(tuple(values))


@cache
def _estimated_once(values: tuple[float, ...]) -> Estimate | None:
    """An interval takes thousands of draws, and most presets have the values of another one."""
    return estimate(values)


def _difference(ours: Sequence[float], base: Sequence[float]) -> Estimate | None:
    """The paired difference over scripts."""
    return _estimated([mine - other for mine, other in zip(ours, base, strict=True)])


def _numbers(values: Mapping[str, PerScript]) -> dict[str, Any]:
    """Every preset's mean by language and over both, and its paired difference to A."""
    out: dict[str, Any] = {}
    for name, found in values.items():
        out[name] = {}
        for language in (*LANGUAGES, None):
            ours, base = _of_language(found, language), _of_language(values[BASE], language)
            mean, difference = _estimated(ours), _difference(ours, base)
            if mean is None or difference is None:
                continue
            out[name][language or "both"] = mean.as_dict() | {
                "minus_A": difference.as_dict(),
                "differs": not difference.low <= 0 <= difference.high,
            }
    return out


def _measure_table(title: str, values: Mapping[str, PerScript]) -> Table:
    rows = []
    for name, found in values.items():
        means = [_estimated(_of_language(found, language)) for language in (*LANGUAGES, None)]
        difference = _difference(_of_language(found, None), _of_language(values[BASE], None))
        surely = difference is not None and not difference.low <= 0 <= difference.high
        differs = "" if name == BASE else "yes" if surely else "no"
        what = PRESETS[name].help if name in PRESETS else ""
        rows.append((name, what, *map(str, means), str(difference), differs))
    heads = ("preset", "what", "English", "Chinese", "both", f"minus {BASE}", f"differs from {BASE}")
    return Table(title[0].upper() + title[1:], heads, tuple(rows))


def _needed(rows: Sequence[Row]) -> list[tuple[int, str]]:
    return sorted({(row["round"], row["kind"]) for row in rows if row["needs"]})


def _share(rows: Sequence[Row], name: str, number: int) -> float:
    found = [not row["missing"] for row in rows if row["preset"] == name and row["round"] == number]
    return sum(found) / len(found)


def _round_table(rows: Sequence[Row], names: Sequence[str], setting: str) -> Table:
    lines = [(number, kind, *(_share(rows, name, number) for name in names)) for number, kind in _needed(rows)]
    return Table(f"Needed evidence in prompt by round, {setting}", ("round", "kind", *names), tuple(lines))


def _fact_table(rows: Sequence[Row], names: Sequence[str], setting: str) -> Table:
    found: dict[tuple[int, str, str], dict[str, list[bool]]] = {}
    for row in rows:
        for fact, outranks in zip(row["facts"], row["outranks"], strict=True):
            key = (row["round"], row["kind"], fact)
            found.setdefault(key, {}).setdefault(row["preset"], []).append(outranks)
    lines = [(*key, *(_mean(by[name]) for name in names)) for key, by in sorted(found.items())]
    title = f"Corrected fact outranks the stale one by round, {setting}"
    return Table(title, ("round", "kind", "fact", *names), tuple(lines))


def _missing(rows: Sequence[Row], name: str) -> list[dict[str, Any]]:
    return [
        {"script": row["script"], "round": row["round"], "kind": row["kind"], "needs": group, "reason": reason}
        for row in rows
        if row["preset"] == name
        for group, reason in row["missing"]
    ]


def _missing_table(rows: Sequence[Row], setting: str) -> Table:
    lines = tuple(
        (item["script"], item["round"], item["kind"], ", ".join(map(str, item["needs"])), item["reason"])
        for item in _missing(rows, BASE)
    )
    title = f"What preset {BASE} did not show, and why, {setting}"
    return Table(title, ("script", "round", "kind", "needs one of", "why"), lines)


def _bars(title: str, values: Mapping[str, PerScript]) -> Figure:
    series = {
        words: {
            name: found for name, scripts in values.items() if (found := _estimated(_of_language(scripts, language)))
        }
        for language, words in (("en", "English"), ("zh", "Chinese"))
    }
    return bars(title, "Share of rounds", series)


def _heat(rows: Sequence[Row], names: Sequence[str], setting: str) -> Figure:
    needed = _needed(rows)
    shares = [[_share(rows, name, number) for number, _ in needed] for name in names]
    with styled(f"Needed evidence in the prompt, by preset and round, {setting}", "Round", "Preset") as (figure, axes):
        image = axes.imshow(shares, vmin=0, vmax=1, cmap="cividis", aspect="auto")
        axes.set_xticks(range(len(needed)), [str(number) for number, _ in needed])
        axes.set_yticks(range(len(names)), list(names))
        axes.grid(visible=False)
        for y, line in enumerate(shares):
            for x, value in enumerate(line):
                axes.text(x, y, f"{100 * value:.0f}", ha="center", va="center", size=8,
                          color="black" if value > 0.5 else "white")  # fmt: skip
        figure.colorbar(image, ax=axes, label="Share of scripts")
        return figure
