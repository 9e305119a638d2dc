"""The ablation: scripts that hold together, strict grading, and a quick run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from arpm.errors import ArpmError
from arpm.experiments import ablation, scripts
from arpm.experiments.ablation_actor import HABITS, Actor
from arpm.experiments.ablation_measures import MEASURES, NEWEST, SHOWN, sign_test
from arpm.experiments.ablation_parts import ALONE, PARTS, worths
from arpm.experiments.base import Run, write
from arpm.experiments.grading import ANOMALIES, Expected, date_wordings, grade
from arpm.experiments.scripts import LANGUAGES, VARIANTS, Script, all_scripts, scripted
from arpm.experiments.stand_ins import StandIn
from arpm.generation.base import ChatMessage, GenerationError, GenerationRequest, LabelledEvidence, Sampling
from arpm.protocol import parse
from arpm.settings import Settings
from governance.config import preset
from retrieval.chunking import split_document
from retrieval.text import language
from tests.support import ScriptedBackend, reply

SCRIPTS = all_scripts(range(VARIANTS), [0, 1])


# -- the scripts -----------------------------------------------------------------------------------------------------


def test_there_are_ten_variants_in_both_languages_and_no_two_tell_the_same() -> None:
    for spoken in LANGUAGES:
        told = [scripted(spoken, variant, 0) for variant in range(VARIANTS)]
        assert len({item.rounds[2].message for item in told}) == VARIANTS
        assert len({item.user for item in told}) == VARIANTS
        assert all(len(item.rounds) == 20 for item in told)


def test_a_script_depends_on_its_seed_and_on_nothing_else() -> None:
    assert scripted("en", 3, 5) == scripted("en", 3, 5)
    assert scripted("en", 3, 5).rounds[2].message != scripted("en", 3, 6).rounds[2].message


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_holds_together(script: Script) -> None:
    own, *others = (one[1] + other[1] for one, other in zip(script.documents, script.manuals, strict=False))
    for number, item in enumerate(script.rounds, 1):
        assert item.number == number
        assert language(item.message) == script.language
        assert "{" not in item.message + item.reply
        # The script's own replies are strictly right: the grading asks for nothing that they do not say.
        assert grade(item.expected, item.reply).anomaly is None, item
        needed = [need for group in item.needs for need in group]
        assert all(need in script.passages if isinstance(need, str) else 0 < need < number for need in needed)
        for fact in item.corrected:
            assert max(fact.stale) < min(fact.fresh) < number
    for parts in script.passages.values():
        assert all(part in own for part in parts)
        assert not any(all(part in text for part in parts) for text in others)
    distractor = script.rounds[8].message
    assert (len(distractor.split()) if script.language == "en" else len(distractor) / 1.6) >= 500


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_an_order_and_an_error_can_be_told_from_others_by_their_number_alone(script: Script) -> None:
    """What BM25 is there for: the number that is asked about stands among many that look like it."""
    order, other = (re.findall(r"26041\d\d", script.rounds[place].message)[0] for place in (5, 10))
    assert order != other and order in script.rounds[13].message
    asked = script.rounds[18]
    assert order in asked.message and not any(wording in asked.message for wording in asked.expected.required[0])
    (head,) = script.passages["error"]
    assert re.sub(r"\D", "", head) in script.rounds[15].message
    # More pieces of the manual than a prompt has places for, and each number once in all of them.
    assert len(split_document(script.manuals[0][1])) > preset("A").knowledge_k
    assert sum(text.count(head) for _, text in script.manuals) == 1


def test_a_step_notices_when_the_code_that_makes_scripts_changed_but_not_when_grading_did(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = scripts.scripts_digest.__wrapped__(0)
    monkeypatch.setattr(scripts, "_expected", lambda *_: Expected())
    assert scripts.scripts_digest.__wrapped__(0) == before
    monkeypatch.setattr(scripts, "_ORDERS", range(100, 200))
    assert scripts.scripts_digest.__wrapped__(0) != before


def test_no_two_variants_have_an_order_or_an_error_in_common() -> None:
    for spoken in LANGUAGES:
        told = [scripted(spoken, variant, 0) for variant in range(VARIANTS)]
        orders = [n for item in told for place in (5, 10) for n in re.findall(r"26041\d\d", item.rounds[place].message)]
        errors = [number for item in told for number in re.findall(r"\d{5}", item.manuals[0][1])]
        assert len(orders) == len(set(orders)) == 2 * VARIANTS
        assert len(errors) == len(set(errors))


# -- what each part is for -------------------------------------------------------------------------------------------


def rounds_of(name: str, measure: str = SHOWN) -> frozenset[int]:
    return next(part.rounds for part in PARTS if part.preset == name and part.measure == measure)


def test_the_rounds_that_a_part_should_cost_follow_from_the_script() -> None:
    window = preset("A").window_rounds
    script = scripted("en", 0, 0)
    documents = {item.number for item in script.rounds if any(all_of(str, group) for group in item.needs)}
    looking_back = {
        item.number
        for item in script.rounds
        if any(all_of(int, group) and item.number - max(group) > window for group in item.needs)
    }
    assert rounds_of("B") == documents
    assert rounds_of("C") == looking_back
    assert rounds_of("G") == documents | looking_back
    assert rounds_of("D", NEWEST) == {r.number for r in script.rounds if any(fact.retold for fact in r.corrected)}
    # What is told again is told in the same words, and nobody calls it a correction.
    first, again = script.rounds[6].message, script.rounds[11].message
    assert first.replace("Milo", "Runa") == again


def all_of(kind: type, group: tuple[Any, ...]) -> bool:
    return all(isinstance(need, kind) for need in group)


def rows(name: str, shown: Callable[[int, int], bool]) -> list[dict[str, Any]]:
    return [
        {"preset": name, "language": "en", "script": f"en-{number}", "round": place, "needs": 1,
         "missing": [] if shown(number, place) else ["x"], "reciprocal_ranks": [1.0], "newest": [], "kept_form": True,
         "cites": None, "outranks": [], "last_word": [], "first_hand": []}
        for number in range(10) for place in range(1, 21)
    ]  # fmt: skip


def test_a_cost_is_found_where_it_is_and_not_where_it_is_not() -> None:
    full = rows("A", lambda number, place: True)
    # B loses its own rounds in every script; C gains; G loses in one script only, which may be chance.
    rest = [
        *rows("B", lambda number, place: place not in rounds_of("B")),
        *rows("C", lambda number, place: True),
        *rows("G", lambda number, place: number > 0),
    ]
    found = {(w.part.preset, w.expected): w for w in worths([*full, *rest], ALONE) if w.part.measure == SHOWN}
    own, others = found["B", True], found["B", False]
    assert own.found and own.difference.mean == -1.0 and own.at_least == 1.0 and own.p == 2 / 2**10
    assert not others.found and others.difference.mean == 0.0
    assert not found["C", True].found and not found["G", True].found and found["G", True].at_least == 0.0
    assert set(found["B", True].rounds) == rounds_of("B") and not set(others.rounds) & rounds_of("B")


def test_better_without_a_part_is_not_a_cost() -> None:
    worse = rows("A", lambda number, place: place not in rounds_of("B"))
    better = rows("B", lambda number, place: True)
    own = next(w for w in worths([*worse, *better], ALONE) if w.part.preset == "B" and w.expected)
    assert own.difference.mean == 1.0 and not own.found and own.at_least < 0


@pytest.mark.parametrize("values, p", [
    ([], 1.0), ([0.0] * 5, 1.0), ([-1.0] * 10 + [0.0] * 9, 2 / 1024), ([-1.0] * 5 + [2.0], 14 / 64), ([-1.0, 1.0], 1.0),
])  # fmt: skip
def test_the_sign_test_is_exact(values: list[float], p: float) -> None:
    assert sign_test(values) == pytest.approx(p)


def outputs(number: int, calls: int, habits: bool = True) -> list[tuple[bool, bool]]:
    """For so many calls in a round whether the stand-in kept the form, and whether it cited something."""
    actor = Actor()
    actor.play(scripted("en", 0, 0).rounds[number - 1], habits=habits)
    evidence = (LabelledEvidence("E1", "text"),)
    request = GenerationRequest((ChatMessage("system", "<analysis>"),), Sampling(), evidence=evidence)
    parsed = [parse(actor(request), ["E1"]) for _ in range(calls)]
    return [(item.valid, bool(item.cited)) for item in parsed]


@pytest.mark.parametrize("habit, expected", [
    ("careless", [(False, False), (True, True), (True, True)]),
    ("stubborn", [(False, False), (False, False), (True, True)]),
    ("silent", [(True, False), (True, True), (True, True)]),
    (None, [(True, True)] * 3),
])  # fmt: skip
def test_the_stand_in_keeps_its_habits(habit: str | None, expected: list[tuple[bool, bool]]) -> None:
    number = next(number for number in range(1, 21) if HABITS.get(number) == habit)
    assert outputs(number, 3) == expected
    assert outputs(number, 1, habits=False) == [(True, True)]


def test_what_earlier_dialogues_said_of_a_thing_that_is_told_again_is_stale(tmp_path: Path) -> None:
    script = scripted("en", 0, 0)
    (key,) = script.rounds[16].corrected
    with ablation._Bench(quick(tmp_path)) as bench, bench.service(StandIn("script", Actor())) as service:
        dialogue = ablation._Dialogue(service, script, "script", "A")
        assert dialogue._since_ever(key) == key
        dialogue.live(2)
        told = dialogue._since_ever(key)
        texts = {atom.memory: atom.text for atom in service.timeline(dialogue.timeline).index.atoms()}
        earlier = [number for number in told.stale if number not in key.stale]
        assert len(earlier) == 2 * 3 and all(number <= 0 for number in earlier) and told.fresh == key.fresh
        for number in earlier:
            (memory,) = dialogue._of(number)
            assert "key to the store room" in texts[memory]


# -- grading ---------------------------------------------------------------------------------------------------------

DATED = Expected((date_wordings(date(2026, 5, 21), "en"),), date_wordings(date(2026, 5, 14), "en"), dated=True)
CHINESE = replace(
    DATED, required=(date_wordings(date(2026, 5, 21), "zh"),), stale=date_wordings(date(2026, 5, 14), "zh")
)


@pytest.mark.parametrize("expected, response, anomaly", [
    (DATED, "It is on 21 May.", None),
    (DATED, "May 21st, 2026.", None),
    (DATED, "It takes place on the 21st of May, not on 14 May as you first said.", None),
    (DATED, "It is on 14 May.", "stale fact preferred"),
    (DATED, "It is on 14 May. Or on 21 May.", "stale fact preferred"),
    (DATED, "It is on 1 May.", "time confused"),
    (DATED, "I do not remember.", "not answered"),
    (DATED, "</analysis> It is on 21 May.", "protocol broken"),
    (DATED, "", "protocol broken"),
    (CHINESE, "在5月21日。", None),
    (CHINESE, "五月二十一号，不是5月14日。", None),
    (CHINESE, "5月14日。", "stale fact preferred"),
    (CHINESE, "5月1日。", "time confused"),
])  # fmt: skip
def test_grading_is_strict(expected: Expected, response: str, anomaly: str | None) -> None:
    mark = grade(expected, response)
    assert (mark.right, mark.anomaly) == (anomaly is None, anomaly)


def test_a_false_claim_is_accepted_by_repeating_it_and_not_by_denying_it() -> None:
    claim = scripted("en", 0, 0).rounds[14].expected
    assert grade(claim, "Yes, HarbourLog is at version 5.0.").anomaly == "false claim accepted"
    assert grade(claim, "It is not at 5.0; the papers say version 4.2.").right
    assert grade(claim, "I cannot tell.").anomaly == "not answered"


def test_what_does_not_keep_the_protocol_is_not_right_whatever_it_says() -> None:
    assert grade(DATED, "It is on 21 May.", broken=True).anomaly == "protocol broken"


@pytest.mark.parametrize("day, spelling", [(1, "一日"), (10, "十日"), (12, "十二日"), (20, "二十日"), (31, "三十一日")])
def test_chinese_numbers(day: int, spelling: str) -> None:
    assert f"三月{spelling}" in date_wordings(date(2026, 3, day), "zh")


# -- a run -----------------------------------------------------------------------------------------------------------


def quick(out: Path, **options: Any) -> Run:
    settings = Settings(embedder=options.pop("embedder", "hashing"))
    return Run("ablation", settings, out, out / "no-data", quick=options.pop("quick", True), **options)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ablation")


@pytest.fixture(scope="module")
def numbers(out: Path) -> dict[str, Any]:
    """A quick run as it is delivered, with the embedder of the product."""
    run = quick(out, embedder="e5")
    found: dict[str, Any] = json.loads(write(ablation.run(run), run, {}).read_text("utf-8"))["numbers"]
    return found


def test_a_quick_run_tells_what_each_part_is_worth(out: Path, numbers: dict[str, Any]) -> None:
    shown = numbers["alone"]["needed evidence in prompt"]
    assert shown["A"]["both"]["mean"] == 1.0
    # Without documents the four rounds that need one go without; without experience, those that look further back
    # than the window; with neither both. What costs nothing here must not be said to cost something.
    assert shown["B"]["both"]["mean"] < 1.0 and shown["C"]["both"]["mean"] < 1.0
    assert shown["G"]["both"]["mean"] < min(shown["B"]["both"]["mean"], shown["C"]["both"]["mean"])
    assert shown["F"] == shown["A"] and shown["H"] == shown["A"]
    form = numbers["alone"]["reply verified in the end"]
    # Of twenty outputs five break the form once and two break it twice.
    assert [form[name]["both"]["mean"] for name in "AFGH"] == [0.9, 0.65, 0.0, 1.0]
    assert form["F"]["both"]["differs"] and form["H"]["both"]["differs"]
    cites = numbers["alone"]["reply cites what it was shown"]
    assert cites["A"]["both"]["mean"] < cites["H"]["both"]["mean"] == 1.0 and not cites["G"]
    parts = {(p["preset"], p["measure"], p["should"]): p for p in numbers["alone"]["parts"]["both"]}
    assert parts["B", SHOWN, True]["difference"]["mean"] == parts["C", SHOWN, True]["difference"]["mean"] == -1.0
    assert parts["B", SHOWN, False]["difference"]["mean"] == parts["C", SHOWN, False]["difference"]["mean"] == 0.0
    # Of two scripts nothing is sure, and nothing is said to be.
    assert not any(p["does"] for p in parts.values())
    last = numbers["alone"]["corrected fact stands last in the prompt"]
    assert last["A"]["both"]["mean"] == 1.0
    assert set(numbers["alone"]) >= set(MEASURES)
    assert {"en", "zh", "both"} == set(shown["A"])
    assert {path.suffix for path in out.glob("evidence-alone.*")} == {".png", ".svg"}
    assert "What preset A did not show" in (out / "tables.md").read_text("utf-8")


def test_a_second_run_goes_on_from_the_steps_that_are_done(
    out: Path, numbers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ablation, "load_embedder", lambda *_: pytest.fail("a finished step was done again"))
    assert json.loads(json.dumps(ablation.run(quick(out, embedder="e5")).numbers)) == numbers


def test_a_model_is_held_to_one_script_of_each_language_for_each_seed_and_in_ten_to_every_variant() -> None:
    assert len(ablation.asked_of_a_model(1)) == len(LANGUAGES)
    assert {(one.language, one.variant) for one in ablation.asked_of_a_model(VARIANTS)} == {
        (language, variant) for language in LANGUAGES for variant in range(VARIANTS)
    }


def test_a_model_that_is_not_there_ends_the_run_and_none_of_its_rounds_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(request: GenerationRequest) -> str:
        raise GenerationError("timeout", "It took too long.")

    real = ablation.Service

    def service(settings: Settings, **options: Any) -> Any:
        return real(settings, **{**options, "backends": [*options["backends"], StandIn("broken", fails)]})

    monkeypatch.setattr(ablation, "Service", service)
    run = quick(tmp_path, model="broken")
    with ablation._Bench(run) as bench, pytest.raises(ArpmError, match="'broken' failed 5 times in a row"):
        ablation._answered(run, bench, ablation.asked_of_a_model(1), {"A": ablation.Column("A")}, "broken")
    assert not (tmp_path / "steps.jsonl").exists()


def test_after_earlier_dialogues_and_with_a_model_whose_broken_protocol_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ablation, "columns", lambda: {"A": ablation.Column("A"), "G": ablation.Column("G")})
    monkeypatch.setattr(ablation, "all_scripts", lambda *_: [scripted("en", 0, 0)])
    monkeypatch.setattr(ablation, "asked_of_a_model", lambda _: [scripted("en", 0, 0)])
    told = iter([item.reply for item in scripted("en", 0, 0).rounds])
    good = ScriptedBackend([lambda _: reply(next(told)) for _ in range(20)] + ["no form at all"])
    real = ablation.Service

    def service(settings: Settings, **options: Any) -> Any:
        return real(settings, **{**options, "backends": [*options["backends"], good]})

    monkeypatch.setattr(ablation, "Service", service)
    found = ablation.run(quick(tmp_path, quick=False, model="scripted")).numbers
    assert found["earlier_dialogues"] == 4
    # Of other events there are dates and places too; all that is asked for is found among them.
    assert found[ablation.AFTER]["needed evidence in prompt"]["A"]["en"]["mean"] > 0.8
    assert found[ablation.AFTER]["needed evidence in prompt"]["G"]["en"]["mean"] < 0.5
    assert found["strictly right"]["A"]["en"]["mean"] == 1.0
    assert all(rate["mean"] == 0.0 for rate in found["anomalies"]["A"].values())
    # Preset G comes second, when the script has run out: nothing that is said there is right.
    assert found["strictly right"]["G"]["en"]["mean"] < 0.2
    assert set(found["anomalies"]["G"]) == set(ANOMALIES)
