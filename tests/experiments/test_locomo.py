"""LoCoMo: its scoring by hand, evidence that is found and shown, answers that are asked once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from arpm.errors import ArpmError, InputError
from arpm.experiments import locomo
from arpm.experiments.base import MissingDataError, write
from arpm.experiments.locomo_score import abstains, answer_score, declines, token_f1
from tests.experiments import data_sets
from tests.generation.openai_server import Server, openai_server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with openai_server() as running:
        yield running


class TestScore:
    @pytest.mark.parametrize(
        ("reply", "answer", "score"),
        [
            ("Running the races", "race runs", 1.0),
            ("An apple, and a pear!", "apple pear", 1.0),
            ("on 7 May 2023", "7 May 2023", 2 * (3 / 4) * 1 / (3 / 4 + 1)),
            ("green green", "green", 2 * (1 / 2) * 1 / (1 / 2 + 1)),
            ("blue", "green", 0.0),
            ("", "green", 0.0),
            ("the", "the", 0.0),
        ],
    )
    def test_token_f1(self, reply: str, answer: str, score: float) -> None:
        assert token_f1(reply, answer) == pytest.approx(score)

    def test_a_multi_hop_answer_is_a_list(self) -> None:
        assert answer_score("Cremona, Porto", "Porto, Cremona", 1) == 1
        assert answer_score("Porto", "Porto, Cremona", 1) == 0.5

    def test_an_open_domain_answer_ends_at_its_semicolon(self) -> None:
        assert answer_score("yes", "Yes; because of tomatoes", 3) == 1
        assert answer_score("yes", "Yes; because of tomatoes", 4) < 1

    @pytest.mark.parametrize("reply", ["Not mentioned in the conversation.", "There is no information available"])
    def test_the_data_sets_words_of_abstention(self, reply: str) -> None:
        assert abstains(reply)
        assert answer_score(reply, "", 5) == 1

    def test_other_words_of_abstention_are_counted_apart(self) -> None:
        for reply in ("I have no memory of that.", "Nothing that I remember answers that.", "I don't know."):
            assert declines(reply)
            assert answer_score(reply, "", 5) == 0
        assert not declines("The lighthouse is green.")


class TestRun:
    def test_finds_and_shows_the_evidence(self, tmp_path: Path) -> None:
        run = data_sets.a_run("locomo", data_sets.locomo(tmp_path / "data"), tmp_path / "out")
        result = locomo.run(run)
        # The question whose evidence does not exist has no scores.
        assert result.numbers["questions"] == 10
        default = result.numbers["default"]
        assert default["all questions"]["hit@5"]["mean"] > 0.7
        assert default["all questions"]["evidence in prompt"]["mean"] > 0.7
        assert default["without audited label errors"]["recall@1"]["count"] == 9
        assert default["held-out conversations"] == {}
        assert set(result.numbers["by category"]) == set(locomo.CATEGORIES.values())
        assert "answers" not in result.numbers
        document = json.loads(write(result, run, {}).read_text("utf-8"))
        assert document["numbers"] == result.numbers

    def test_a_second_run_embeds_and_searches_nothing(self, tmp_path: Path) -> None:
        data = data_sets.locomo(tmp_path / "data")
        first = locomo.run(data_sets.a_run("locomo", data, tmp_path / "out", quick=True))
        said: list[str] = []
        again = data_sets.a_run(
            "locomo", data, tmp_path / "out", quick=True, progress=lambda what, done, of: said.append(what)
        )
        assert locomo.run(again).numbers == first.numbers
        assert "loading the embedder" not in said

    def test_a_changed_file_is_measured_again(self, tmp_path: Path) -> None:
        data = data_sets.locomo(tmp_path / "data")
        locomo.run(data_sets.a_run("locomo", data, tmp_path / "out", quick=True))
        before = len((tmp_path / "out" / "steps.jsonl").read_text("utf-8").splitlines())
        file = data / "locomo" / "locomo10.json"
        file.write_text(file.read_text("utf-8").replace("noon", "one o'clock"), "utf-8")
        locomo.run(data_sets.a_run("locomo", data, tmp_path / "out", quick=True))
        assert len((tmp_path / "out" / "steps.jsonl").read_text("utf-8").splitlines()) == 2 * before

    def test_missing_and_damaged_data_are_named(self, tmp_path: Path) -> None:
        with pytest.raises(MissingDataError, match=r"locomo10\.json is not there: LoCoMo .*snap-research"):
            locomo.run(data_sets.a_run("locomo", tmp_path, tmp_path / "out"))
        data = data_sets.locomo(tmp_path / "data")
        file = data / "locomo" / "locomo10.json"
        file.write_text(file.read_text("utf-8").replace('"category": 1', '"kind": 1', 1), "utf-8")
        with pytest.raises(InputError, match="question locomo_0_qa2: KeyError: 'category'"):
            locomo.run(data_sets.a_run("locomo", data, tmp_path / "out"))

    def test_on_the_public_data(self, tmp_path: Path) -> None:
        run = data_sets.a_run("locomo", data_sets.needs("locomo"), tmp_path / "out", quick=True)
        assert locomo.run(run).numbers["questions"] == 12


def test_usable_questions_of_the_public_data() -> None:
    talks = locomo.read_talks(data_sets.needs("locomo") / "locomo" / "locomo10.json")
    questions = [question for talk in talks for question in talk.questions]
    assert (len(talks), len(questions)) == (10, 1986)
    assert sum(bool(question.evidence) for question in questions) == 1981
    assert sum(question.flagged for question in questions) == 156


class TestAnswers:
    def test_are_scored_bound_and_asked_once(self, tmp_path: Path, server: Server) -> None:
        data = data_sets.locomo(tmp_path / "data")
        options = {"url": server.base_url, "model": "protocol"}
        result = locomo.run(data_sets.a_run("locomo", data, tmp_path / "out", **options))
        answers = result.numbers["answers"]
        assert answers["all"]["score"]["count"] == 12
        assert answers["all, without label errors"]["score"]["count"] == 11
        assert answers["all"]["failed"]["mean"] == 0
        asked = len(server.requests())
        again = locomo.run(data_sets.a_run("locomo", data, tmp_path / "out", **options))
        assert again.numbers == result.numbers
        assert len(server.requests()) == asked

    def test_a_reply_outside_the_protocol_is_counted_and_not_fatal(self, tmp_path: Path, server: Server) -> None:
        data = data_sets.locomo(tmp_path / "data", conversations=1)
        run = data_sets.a_run("locomo", data, tmp_path / "out", url=server.base_url, model="raw", quick=True)
        answers = locomo.run(run).numbers["answers"]
        assert answers["all"]["broken"]["mean"] == 1
        assert answers["all"]["failed"]["mean"] == 0

    def test_a_failed_call_is_counted_and_asked_again_by_the_next_run(self, tmp_path: Path, server: Server) -> None:
        data = data_sets.locomo(tmp_path / "data", conversations=1)
        refusing = {"url": server.base_url, "model": "status-400", "quick": True}
        answers = locomo.run(data_sets.a_run("locomo", data, tmp_path / "out", **refusing)).numbers["answers"]
        assert (answers["all"]["failed"]["mean"], answers["all"]["score"]["mean"]) == (1, 0)
        asked = len(server.requests())
        locomo.run(data_sets.a_run("locomo", data, tmp_path / "out", **refusing))
        assert len(server.requests()) == asked + locomo.ASKED_QUICK

    def test_a_model_that_is_not_there_ends_the_run_and_says_why(self, tmp_path: Path, server: Server) -> None:
        data = data_sets.locomo(tmp_path / "data")
        run = data_sets.a_run("locomo", data, tmp_path / "out", url=server.base_url, model="status-400")
        with pytest.raises(ArpmError, match=r"failed 5 times in a row: .*same command goes on"):
            locomo.run(run)

    @pytest.mark.parametrize("damaged", ["{", '[{"question": 1}]', "[1]"])
    def test_a_damaged_list_of_label_errors_is_named(self, tmp_path: Path, damaged: str) -> None:
        file = data_sets.locomo(tmp_path) / "locomo" / "audit_errors.json"
        file.write_text(damaged, "utf-8")
        with pytest.raises(InputError, match=r"audit_errors\.json: is no list of questions"):
            locomo.read_talks(file.with_name("locomo10.json"))

    def test_further_seeds_ask_further_questions(self, tmp_path: Path) -> None:
        talks = locomo.read_talks(data_sets.locomo(tmp_path) / "locomo" / "locomo10.json")
        first, more = ({q.id for _, q in locomo.sampled(talks, seeds, 3)} for seeds in (1, 2))
        assert first < more
        assert (len(first), len(more)) == (3, 6)
        assert len(locomo.sampled(talks, 10, 200)) == 12
