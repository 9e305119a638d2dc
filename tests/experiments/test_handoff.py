"""The handoff: a plan that holds together, stand-ins that read only their prompt, and a quick run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arpm.experiments import handoff, throwaway
from arpm.experiments.base import MissingDataError, Run, write
from arpm.experiments.grading import says
from arpm.experiments.handoff_readers import misread, read
from arpm.experiments.handoff_script import BAD_STAGE, PERSONA, PLACES, THINGS, WRONG, plan
from arpm.experiments.scripts import LANGUAGES
from arpm.generation.base import ChatMessage, GenerationRequest, LabelledEvidence, Sampling
from arpm.protocol import needs_repair, parse
from arpm.settings import Settings
from retrieval.text import Language


@pytest.mark.parametrize("spoken", LANGUAGES)
def test_a_plan_asks_for_what_was_told_and_is_the_same_every_time(spoken: Language) -> None:
    steps = plan(spoken, 0, 5, 20, "?")
    assert steps == plan(spoken, 0, 5, 20, "?") != plan(spoken, 1, 5, 20, "?")
    assert [step.number for step in steps] == list(range(100))
    told = [step for step in steps if step.kind == "told"]
    assert len({step.thing for step in told}) == len(told)
    for step in steps:
        if step.told_by is not None:
            origin = steps[step.told_by]
            assert (origin.kind, origin.thing, origin.place) == ("told", step.thing, step.place)
            assert origin.number < step.number
            if step.kind in ("past", "day"):
                assert origin.stage != BAD_STAGE
                assert origin.stage < step.stage or step.stage == 0


def test_errors_of_a_stage_are_asked_for_again_in_the_next() -> None:
    steps = plan("en", 0, 4, 10, "?")
    for stage in range(1, 4):
        last = [step.thing for step in steps if step.stage == stage - 1 and step.kind == "past"][-1]
        first = next(step.thing for step in steps if step.stage == stage and step.kind == "past")
        assert first == last


def test_no_thing_or_place_is_part_of_another_and_none_is_the_wrong_one() -> None:
    for spoken in LANGUAGES:
        assert all(WRONG[spoken] not in place for place in PLACES[spoken])
        for names in (THINGS[spoken], PLACES[spoken]):
            assert not [(a, b) for a in names for b in names if a != b and says((a,), b)]


def test_more_facts_than_things_are_told_with_numbers() -> None:
    things = [step.thing for step in plan("en", 0, 20, 20, "?") if step.kind == "told"]
    assert len(set(things)) == len(things) > len(THINGS["en"])


# -- the stand-ins ---------------------------------------------------------------------------------------------------


def asked(question: str, *evidence: tuple[str, str], spoken: Language = "en", window: tuple[str, ...] = ()) -> Any:
    """A request whose prompt shows evidence as (cue, text)."""
    labelled = tuple(LabelledEvidence(f"E{n}", text) for n, (_, text) in enumerate(evidence, 1))
    lines = "\n\n".join(f"[E{n}] (conversation, {cue})\n{text}" for n, (cue, text) in enumerate(evidence, 1))
    system = f"You are Mira.\n{PERSONA[spoken]}\n\nEvidence:\n\n{lines}\n\n<analysis>"
    roles = ("user", "assistant")
    said = [ChatMessage(roles[place % 2], text) for place, text in enumerate(window)]  # type: ignore[arg-type]
    messages = (ChatMessage("system", system), *said, ChatMessage("user", question))
    return GenerationRequest(messages, Sampling(), question, labelled)


def test_the_reader_lets_the_latest_statement_hold_and_cites_it() -> None:
    old = ("2026-03-02 09:00, 9 rounds ago, yesterday", "Ren: Please note: the radio is in the attic.")
    new = ("2026-03-03 09:00, 2 rounds ago, today", "Mira: the radio is in the cellar.")
    out = parse(read(asked("Where is the radio?", old, new)), ["E1", "E2"])
    assert "the radio is in the cellar." in out.response and out.cited == ("E2",)
    assert out.response.startswith("skipper") and "steady as the light" in out.response


def test_the_reader_takes_times_from_the_cues_and_knows_nothing_else() -> None:
    old = ("2026-03-02 09:00, 9 rounds ago, yesterday", "Ren: Please note: the radio is in the attic.")
    for question, answer in (
        ("How many rounds ago did I tell you where the radio is?", "9 rounds ago"),
        ("On which day did I tell you where the radio is: today, yesterday, or how many days ago?", "yesterday"),
    ):
        assert answer in parse(read(asked(question, old)), ["E1"]).response
    assert "I do not know" in parse(read(asked("Where is the radio?")), []).response
    found = ("2026-03-02 09:00，9轮之前，昨天", "任远: 请记一下：收音机放在阁楼里。")
    reply = parse(read(asked("我是哪一天告诉你收音机放在哪里的：今天、昨天，还是几天前？", found, spoken="zh")), ["E1"])
    assert "昨天" in reply.response and "稳着呢" in reply.response


def test_the_reader_counts_rounds_that_are_shown_word_for_word() -> None:
    window = ("Please note: the radio is in the attic.", "the radio is in the attic.", "Hello.", "Hello.")
    question = "How many rounds ago did I tell you where the radio is?"
    assert "2 rounds ago" in parse(read(asked(question, window=window)), []).response


@pytest.mark.parametrize(
    ("spoken", "question", "novel", "occupation"),
    [
        ("en", "What is your work, and how is it going today?", "What work is it that is going today?", "lighthouse"),
        ("zh", "你是做什么工作的？今天怎么样？", "你是做什么工作的，今天不做工作了？", "灯塔"),
    ],
)
def test_the_reader_says_what_it_is_by_its_persona_and_not_by_a_novel(
    spoken: Language, question: str, novel: str, occupation: str
) -> None:
    request = asked(question, ("document", novel), spoken=spoken)
    shown = replace(request, evidence=(LabelledEvidence("E1", novel, "knowledge"),))
    reply = parse(read(shown), ["E1"])
    assert occupation in reply.response and reply.cited == ()


def test_the_bad_model_is_wrong_and_breaks_the_form_in_ways_that_can_and_cannot_be_repaired() -> None:
    outputs = [parse(misread(asked(f"Where is the {thing}?")), []) for thing in THINGS["en"]]
    assert {needs_repair(out) for out in outputs} == {True, False}
    assert all("in the attic" not in out.response for out in outputs)


# -- a run -----------------------------------------------------------------------------------------------------------


def quick(out: Path, **options: Any) -> Run:
    settings = Settings(embedder=options.pop("embedder", "e5"))
    return Run("handoff", settings, out, out / "no-data", quick=options.pop("quick", True), **options)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("handoff")


@pytest.fixture(scope="module")
def numbers(out: Path) -> dict[str, Any]:
    run = quick(out)
    found: dict[str, Any] = json.loads(write(handoff.run(run), run, {}).read_text("utf-8"))["numbers"]
    return found


@pytest.mark.parametrize("spoken", LANGUAGES)
def test_a_bad_stage_does_harm_and_quarantine_undoes_it(numbers: dict[str, Any], spoken: Language) -> None:
    good, kept, healed = (numbers[spoken]["recovery"][life] for life in handoff.LIVES)
    assert kept["past content"]["mean"] < good["past content"]["mean"]
    assert healed["past content"]["mean"] == good["past content"]["mean"]
    assert numbers[spoken]["recovery"]["quarantine minus kept"]["mean"] > 0
    shares = [life["share of evidence from the bad stage"] for life in (good, kept, healed)]
    assert shares[0] == shares[2] == 0 < shares[1]
    # The price of quarantine: what the person told the bad model is out of reach as well.
    assert healed["past content told in the bad stage"]["mean"] < good["past content told in the bad stage"]["mean"]


@pytest.mark.parametrize("spoken", LANGUAGES)
def test_one_life_goes_on_over_the_models(numbers: dict[str, Any], spoken: Language) -> None:
    assert numbers["models"] == list(handoff.STAND_INS)
    curves = numbers[spoken]["curves"]
    assert set(curves) == {"past content", "time relation", "persona markers"}
    assert min(curves.values()) > 0.9
    assert numbers[spoken]["tags leaked into replies"] == 0


FIGURES = ("curves", "curves-bad", "stages", "stages-bad", "recovery")


def test_tables_and_figures_are_there(out: Path, numbers: dict[str, Any]) -> None:
    assert numbers
    names = {path.name for path in out.glob("*.png")}
    assert names == {f"{what}-{spoken}.png" for what in FIGURES for spoken in LANGUAGES}
    tables = (out / "tables.md").read_text("utf-8")
    assert "Protocol by stage, good models, English" in tables
    assert "Protocol by stage, with a bad one, English" in tables and "Recovery from a bad stage, Chinese" in tables


def test_a_second_run_goes_on_from_the_steps_that_are_done(
    out: Path, numbers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throwaway, "load_embedder", lambda *_: pytest.fail("a finished step was done again"))
    assert json.loads(json.dumps(handoff.run(quick(out)).numbers)) == numbers


def test_the_whole_experiment_needs_the_novels_and_says_so(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="novel"):
        handoff.run(quick(tmp_path, quick=False))
