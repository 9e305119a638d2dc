"""Ablation: the scripted dialogue of twenty rounds under the presets A to H, in English and Chinese.

What needs no model: every round is prepared under every preset on one and the same memory, which the script's own
replies fill, so that presets differ in nothing but what they show. Measured are whether the prompt shows the evidence
that the round needs, whether a corrected fact outranks the stale one and the newest statement the older ones, and what
becomes of outputs that break the protocol. What each part should be worth, and in which rounds, says `ablation_parts`.
The dialogue stands alone, as in the published test, or comes after earlier dialogues of the same two about
other events, where there is more to mix up. With a model it is held once per preset, alone, and replies are graded
strictly by code.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

from arpm.clock import FixedClock
from arpm.experiments import ablation_actor
from arpm.experiments.ablation_actor import Actor
from arpm.experiments.ablation_measures import Row
from arpm.experiments.ablation_parts import AFTER, ALONE, BASE, part_targets
from arpm.experiments.ablation_results import answers_result, evidence_result, joined
from arpm.experiments.base import Failures, Result, Run, file_digest
from arpm.experiments.grading import grade, leaks
from arpm.experiments.memories import code_digest
from arpm.experiments.retrieval_metrics import BOOTSTRAP_SEED
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
from arpm.experiments.stand_ins import StandIn
from arpm.importers.atoms import Atom, write_atoms
from arpm.protocol import VIOLATIONS
from arpm.service import Column, Service
from arpm.turn import TurnFailedError
from governance.config import PRESETS, Policy, preset
from retrieval.embedding import load_embedder
from retrieval.embedding.cache import CachedEmbedder

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
# The dialogue goes on the next day after so many rounds.
_A_DAY = 10
# What the timeline has lived before: so many earlier dialogues, and how many days apart they were.
_EARLIER, _APART = 4, timedelta(days=9)
# The name of the scripted stand-in among the models.
_SCRIPT = "script"
# The code that a prepared round depends on beside the product's.
_MEASURED = (__file__, ablation_actor.__file__)


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
        graded = _answered(run, bench, asked_of_a_model(run.seeds), answering, run.model) if run.model else []
    found = evidence_result(alone, tuple(compared), ALONE)
    if not run.quick:
        # Of two scripts nothing can be sure.
        found = replace(found, targets=(*found.targets, *part_targets(alone, ALONE)))
    if after:
        # The bars are set for the dialogue alone.
        found = joined(found, replace(evidence_result(after, tuple(compared), AFTER), targets=()))
    if graded:
        found = joined(found, answers_result(graded, tuple(answering)))
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


def asked_of_a_model(seeds: int) -> list[Script]:
    """The scripts that a model is held to: one of each language for each seed, whose every round takes seconds.

    Ten seeds hold every variant once.
    """
    return [scripted(language, seed % VARIANTS, seed) for seed in range(seeds) for language in LANGUAGES]


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
            self._embedder = CachedEmbedder(inner, self._run.vectors)
        with tempfile.TemporaryDirectory(prefix="arpm-experiment-") as folder:
            settings = replace(self._run.settings, logs=Path(folder))
            with Service(settings, embedder=self._embedder, clock=FixedClock(START), backends=[stand_in]) as service:
                yield service


def _inputs(run: Run, script: Script, compared: Mapping[str, Column]) -> dict[str, Any]:
    configs = {name: preset(BASE if col.preset is None else col.preset).changed(col.changes).as_dict()
               for name, col in compared.items()}  # fmt: skip
    return {
        "script": script.name,
        "scripts": scripts_digest(script.seed),
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
        inputs = _inputs(run, script, compared) | {
            "earlier": earlier,
            "measures": [file_digest(Path(file)) for file in _MEASURED],
        }

        def compute(script: Script = script) -> list[Row]:
            return _prepare(bench, script, compared, earlier)

        rows += run.step(["evidence", script.name, earlier], inputs, compute)
    return rows


def _prepare(bench: _Bench, script: Script, compared: Mapping[str, Column], earlier: int) -> list[Row]:
    actor = Actor()
    rows: list[Row] = []
    with bench.service(StandIn(_SCRIPT, actor)) as service:
        dialogue = _Dialogue(service, script, _SCRIPT, BASE)
        dialogue.live(earlier)
        for item in script.rounds:
            dialogue.at(item)
            for name, column in compared.items():
                actor.play(item, habits=True)
                body = service.rehearse(dialogue.timeline, item.message, column).body
                rows.append(dialogue.row(item, name, body) | {"kept_form": _kept_form(body), "cites": _cites(body)})
            actor.play(item, habits=False)
            dialogue.take(item)
    return rows


class _Dialogue:
    """A script as it is lived on a timeline: which memories its rounds became, and what prompts show of them."""

    def __init__(self, service: Service, script: Script, model: str, preset_name: str) -> None:
        self._service = service
        self._script = script
        chunks = [chunk for name, text in (*script.documents, *script.manuals)
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
        self._earlier = 0

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
        if not atoms:
            return
        timeline = self._service.timeline(self.timeline)
        write_atoms(timeline, _SCRIPT, atoms)
        memories = timeline.imported()
        # Rounds of earlier dialogues are counted backwards from this one's first.
        self._memories |= {
            place - len(atoms) + 1: frozenset([memories[atom.source]]) for place, atom in enumerate(atoms)
        }
        self._earlier = dialogues

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
        corrected = [fact for fact in item.corrected if not fact.retold]
        retold = [self._since_ever(fact) for fact in item.corrected if fact.retold]
        return {
            "script": self._script.name,
            "language": self._script.language,
            "round": item.number,
            "kind": item.kind,
            "preset": name,
            "needs": len(item.needs),
            "missing": [[list(group), self._why(group, body)] for group in missing],
            "reciprocal_ranks": [self._reciprocal_rank(group, body) for group in item.needs],
            "facts": [fact.name for fact in corrected],
            "outranks": [self._outranks(fact, shown, ranks) for fact in corrected],
            "last_word": [self._outranks(fact, shown, places) for fact in corrected],
            "first_hand": [self._outranks(_first_hand(fact), shown, ranks) for fact in corrected],
            "newest": [self._outranks(fact, shown, ranks) for fact in retold],
        }

    def _of(self, need: Need) -> frozenset[str]:
        return self._memories.get(need, frozenset())

    def _since_ever(self, fact: Corrected) -> Corrected:
        """A fact that is told again and again, with what earlier dialogues said of it: all that is stale by now."""
        told = (*fact.stale, *fact.fresh)
        length = len(self._script.rounds)
        earlier = tuple(number - length * back for back in range(1, self._earlier + 1) for number in told)
        return replace(fact, stale=(*earlier, *fact.stale))

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


def _cites(body: Mapping[str, Any]) -> bool | None:
    """Whether the reply cites some of the evidence that it was shown; None where it was shown none."""
    return bool(body.get("cited")) if body.get("evidence") else None


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
        inputs = _inputs(run, script, {name: compared[name]}) | {
            "model": model,
            "settings": repr(table),
            "measures": [file_digest(Path(file)) for file in _MEASURED],
        }

        def compute(script: Script = script, name: str = name) -> list[Row]:
            return _answer(bench, script, name, compared[name], model)

        answers = run.step(["answers", script.name, name, model], inputs, compute)
        rows += [_graded(item, row) for item, row in zip(script.rounds, answers, strict=True)]
    return rows


def _answer(bench: _Bench, script: Script, name: str, column: Column, model: str) -> list[Row]:
    """A dialogue with a model. Raises ArpmError when it is not there: then none of it is remembered."""
    rows: list[Row] = []
    failures = Failures(model)
    with bench.service(StandIn(_SCRIPT, Actor())) as service:
        dialogue = _Dialogue(service, script, model, column.preset or BASE)
        if column.changes:
            service.intervene(dialogue.timeline, column.changes)
        for item in script.rounds:
            dialogue.at(item)
            rows.append(_replied(dialogue, item, name))
            failures.note(rows[-1]["failed"])
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
