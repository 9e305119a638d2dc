"""The experiment on standing instructions: a pool that code can check, conditions that differ, and a quick run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from arpm.experiments import instructions, throwaway
from arpm.experiments.base import Run, write
from arpm.experiments.instructions import LANGUAGES, dialogues, pool, shows
from arpm.experiments.instructions_oracle import asked, tallies
from arpm.settings import Settings
from governance.adherence import adherence, read
from governance.config import Policy
from retrieval.text import Language, language
from tests.experiments.data_sets import SHARED


@pytest.mark.parametrize("spoken", LANGUAGES)
class TestThePool:
    def test_every_instruction_is_wholly_read(self, spoken: Language) -> None:
        """Else a reply to it could never be called kept, and the rate would say nothing."""
        for _, words in pool(spoken).instructions:
            reading = read(words)
            assert reading.constraints, words
            assert not reading.scoped and not reading.unread, words

    def test_is_in_its_language_and_nothing_is_said_twice(self, spoken: Language) -> None:
        said = [words for words, _ in pool(spoken).messages]
        assert len(set(said)) == len(said) == 24
        assert len({kind for kind, _ in pool(spoken).instructions}) == len(pool(spoken).instructions) == 14
        assert all(language(words) == spoken for words in [*said, *(words for _, words in pool(spoken).instructions)])

    def test_scripted_replies_keep_hardly_any_instruction(self, spoken: Language) -> None:
        """They know nothing of instructions: else a stand-in would seem to adhere."""
        for one in dialogues(spoken, 0, 20, 14):
            if one.kind in ("no emoji", "address"):
                continue
            verdicts = [adherence(one.instruction, reply, words).verdict for words, reply in one.messages]
            assert verdicts.count("kept") < len(verdicts) / 2, one.kind

    def test_a_seed_draws_the_same_dialogues_again_and_another_seed_others(self, spoken: Language) -> None:
        assert dialogues(spoken, 0, 20, 4) == dialogues(spoken, 0, 20, 4) != dialogues(spoken, 1, 20, 4)


def test_an_instruction_is_looked_for_word_for_word() -> None:
    assert shows("Never use commas.", ["Always: never use commas. Answer."])
    assert not shows("Never use commas.", ["Never use … commas", "never"])


def quick(out: Path, **options: Any) -> Run:
    settings = Settings(embedder="e5")
    return Run("instructions", settings, out, out / "no-data", quick=True, **options)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("instructions")


@pytest.fixture(scope="module")
def found(out: Path) -> Any:
    run = quick(out)
    result = instructions.run(run)
    assert all(target.reached for target in result.targets) and len(result.targets) == 2
    return json.loads(write(result, run, {}).read_text("utf-8"))["numbers"]


def test_with_memory_for_instructions_every_policy_shows_them(found: Any) -> None:
    for policy in get_args(Policy):
        shown = found["instruction in prompt"][policy]
        assert shown["oracle"]["mean"] == shown["false alarm"]["mean"] == 1.0


def test_without_it_a_policy_that_shows_nothing_else_loses_them(found: Any) -> None:
    shown = found["instruction in prompt"]["stateless"]
    assert shown["missed"]["mean"] == shown["IM off"]["mean"] == 0.0
    assert found["instruction in prompt"]["full"]["IM off"]["mean"] == 1.0


def test_the_recogniser_is_measured_on_the_whole_pool(found: Any) -> None:
    for row in found["recogniser"]:
        assert (row["instructions"], row["ordinary messages"]) == (14, 24)
        assert row["recognised"] >= 12
        assert row["taken for instructions"] <= 1


def test_without_ifeval_its_table_is_left_out(found: Any) -> None:
    assert "reading" not in found


def test_a_second_run_does_no_step_again(out: Path, found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throwaway, "load_embedder", lambda *given: pytest.fail("something was held again"))
    again = instructions.run(quick(out))
    assert again.numbers["instruction in prompt"] == found["instruction in prompt"]
    assert set(again.figures) >= {"conditions-prompt", "rounds-prompt-en", "rounds-prompt-zh"}


def test_a_model_s_replies_are_checked_and_go_on_in_the_conversation(tmp_path: Path) -> None:
    run = quick(tmp_path, model="local")
    bench = instructions._Bench(run)
    (one,) = dialogues("en", 0, 2, 1)
    with bench:
        rows = bench.hold(one, "recent_k", "oracle")
        lost = bench.hold(one, "stateless", "IM off")
        (timeline, _) = bench.service.timelines()[::-1]
        turns = bench.service.catalogue.turns(timeline.id)
    assert [row["round"] for row in rows] == [2, 3]
    assert all(row["shown"] and row["verdict"] in ("kept", "broken", "unchecked") for row in rows)
    assert not any(row["shown"] for row in lost)
    assert [turn.message for turn in turns] == [one.instruction, *(words for words, _ in one.messages)]
    assert turns[1].response and turns[1].response != one.messages[0][1]


def test_ifeval_s_words_are_read_as_its_arguments_say() -> None:
    path = SHARED / "ifeval" / "input_data.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not there; it is IFEval's prompts")
    for held_out, share in ((False, 0.95), (True, 0.85)):
        found = tallies(asked(path, held_out=held_out)).values()
        assert sum(one.read for one in found) / sum(one.asked for one in found) >= share
        assert sum(one.spurious for one in found) < sum(one.asked for one in found) * 0.06
