"""The ablation: scripts that hold together, strict grading, and a quick run."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from arpm.experiments import ablation
from arpm.experiments.base import Run, write
from arpm.experiments.grading import ANOMALIES, Expected, date_wordings, grade
from arpm.experiments.scripts import LANGUAGES, VARIANTS, Script, all_scripts, scripted
from arpm.settings import Settings
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
    own = script.documents[0][1]
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
        assert not any(all(part in text for part in parts) for _, text in script.documents[1:])
    distractor = script.rounds[7].message
    assert (len(distractor.split()) if script.language == "en" else len(distractor) / 1.6) >= 500


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
    claim = scripted("en", 0, 0).rounds[10].expected
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
    assert [form[name]["both"]["mean"] for name in "AFGH"] == [1.0, 0.75, 0.0, 1.0]
    assert form["F"]["both"]["differs"] and not form["H"]["both"]["differs"]
    last = numbers["alone"]["corrected fact stands last in the prompt"]
    assert last["A"]["both"]["mean"] == 1.0
    assert {"en", "zh", "both"} == set(shown["A"])
    assert {path.suffix for path in out.glob("evidence-alone.*")} == {".png", ".svg"}
    assert "What preset A did not show" in (out / "tables.md").read_text("utf-8")


def test_a_second_run_goes_on_from_the_steps_that_are_done(
    out: Path, numbers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ablation, "load_embedder", lambda *_: pytest.fail("a finished step was done again"))
    assert json.loads(json.dumps(ablation.run(quick(out, embedder="e5")).numbers)) == numbers


def test_after_earlier_dialogues_and_with_a_model_whose_broken_protocol_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ablation, "columns", lambda: {"A": ablation.Column("A"), "G": ablation.Column("G")})
    monkeypatch.setattr(ablation, "all_scripts", lambda *_: [scripted("en", 0, 0)])
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
    assert sum(found["anomalies"]["A"].values()) == 0.0
    # Preset G comes second, when the script has run out: nothing that is said there is right.
    assert found["strictly right"]["G"]["en"]["mean"] < 0.2
    assert set(found["anomalies"]["G"]) == set(ANOMALIES)
