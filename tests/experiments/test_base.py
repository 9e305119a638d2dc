"""Steps of experiments: done once, kept through every interruption, done anew when what they depend on changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arpm.audit.plots import styled
from arpm.errors import ArpmError
from arpm.experiments.base import Failures, MissingDataError, Result, Run, Table, Target, file_digest, write
from arpm.settings import Settings


def a_run(out: Path, name: str = "trial") -> Run:
    return Run(name, Settings(), out, out / "data")


class Counted:
    """A computation that counts how often it is made."""

    def __init__(self, value: Any = 1) -> None:
        self.value = value
        self.made = 0

    def __call__(self) -> Any:
        self.made += 1
        return self.value


class TestSteps:
    def test_a_finished_step_is_not_done_again(self, tmp_path: Path) -> None:
        compute = Counted({"recall": 0.5, "名": ["一", None]})
        assert a_run(tmp_path).step(["a"], {"data": "x"}, compute) == compute.value
        assert a_run(tmp_path).step(["a"], {"data": "x"}, compute) == compute.value
        assert compute.made == 1

    def test_the_value_is_the_same_before_and_after_an_interruption(self, tmp_path: Path) -> None:
        """Bug class: the first run sees a tuple or an int key, the resumed one a list or a string."""
        first = a_run(tmp_path).step(["a"], 1, lambda: {"pair": (1, 2), 3: "three"})
        assert first == a_run(tmp_path).step(["a"], 1, Counted()) == {"pair": [1, 2], "3": "three"}

    @pytest.mark.parametrize("inputs", [{"data": "other"}, {"data": "x", "seed": 1}, None, ["x"]])
    def test_changed_inputs_do_it_anew(self, tmp_path: Path, inputs: Any) -> None:
        compute = Counted()
        run = a_run(tmp_path)
        run.step(["a"], {"data": "x"}, compute)
        run.step(["a"], inputs, compute)
        assert compute.made == 2

    def test_another_key_or_experiment_is_another_step(self, tmp_path: Path) -> None:
        compute = Counted()
        a_run(tmp_path).step(["a", 1], None, compute)
        a_run(tmp_path).step(["a", 2], None, compute)
        a_run(tmp_path, "other").step(["a", 1], None, compute)
        assert compute.made == 3

    def test_an_interruption_keeps_what_was_finished(self, tmp_path: Path) -> None:
        def stopped() -> None:
            raise KeyboardInterrupt

        run, done = a_run(tmp_path), Counted()
        run.step(["a"], None, done)
        with pytest.raises(KeyboardInterrupt):
            run.step(["b"], None, stopped)
        again = a_run(tmp_path)
        again.step(["a"], None, done)
        assert again.step(["b"], None, Counted("b")) == "b"
        assert done.made == 1

    @pytest.mark.parametrize("kept", range(1, 40, 6))
    def test_a_last_line_that_was_cut_off_is_done_again(self, tmp_path: Path, kept: int) -> None:
        run = a_run(tmp_path)
        run.step(["a"], None, Counted("first"))
        whole = (tmp_path / "steps.jsonl").read_bytes()
        run.step(["b"], None, Counted("second"))
        torn = (tmp_path / "steps.jsonl").read_bytes()[: len(whole) + kept]
        (tmp_path / "steps.jsonl").write_bytes(torn)

        first, second = Counted("first"), Counted("second")
        again = a_run(tmp_path)
        assert (again.step(["a"], None, first), again.step(["b"], None, second)) == ("first", "second")
        assert (first.made, second.made) == (0, 1)
        lines = (tmp_path / "steps.jsonl").read_text("utf-8").splitlines()
        assert [json.loads(line)["value"] for line in lines] == ["first", "second"]

    def test_no_number_that_json_lacks_is_written(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="JSON"):
            a_run(tmp_path).step(["a"], None, lambda: float("nan"))
        compute = Counted()
        a_run(tmp_path).step(["a"], None, compute)
        assert compute.made == 1


class TestFailures:
    def test_some_are_counted_and_too_many_in_a_row_end_the_run(self) -> None:
        failures = Failures("mine")
        for failure in ("no", "no", "no", "no", None, "no", "no", "no", "no"):
            failures.note(failure)
        with pytest.raises(ArpmError, match=r"'mine' failed 5 times in a row: Nobody listens\. .*same command goes on"):
            failures.note("Nobody listens.")


class TestData:
    def test_a_result_says_by_digest_what_it_rests_on_and_what_was_left_out(self, tmp_path: Path) -> None:
        run = a_run(tmp_path / "out")
        (tmp_path / "out" / "data" / "set").mkdir(parents=True)
        (tmp_path / "out" / "data" / "one.json").write_text("[1]", "utf-8")
        (tmp_path / "out" / "data" / "set" / "two.jsonl").write_text("2", "utf-8")
        run.source("one.json", about="one")
        run.source("set", about="a folder")
        run.left_out.append("three: it is not there")
        written = json.loads(write(Result({}), run, {}).read_text("utf-8"))
        assert written["left_out"] == ["three: it is not there"]
        assert written["data"] == {
            "one.json": file_digest(run.data / "one.json"),
            "set/two.jsonl": file_digest(run.data / "set" / "two.jsonl"),
        }

    def test_missing_data_says_what_it_is_and_what_to_do(self, tmp_path: Path) -> None:
        with pytest.raises(MissingDataError) as error:
            a_run(tmp_path).source("locomo", "file.json", about="LoCoMo, from its page")
        for words in (str(tmp_path / "data" / "locomo" / "file.json"), "LoCoMo, from its page", "--data"):
            assert words in str(error.value)

    def test_a_changed_file_has_another_digest(self, tmp_path: Path) -> None:
        file = tmp_path / "data.json"
        file.write_text("[1]", "utf-8")
        before = file_digest(file)
        file.write_text("[2]", "utf-8")
        assert file_digest(file) != before


def test_a_result_is_written_as_json_tables_and_plots(tmp_path: Path) -> None:
    with styled("Title", "across", "up") as (figure, axes):
        axes.plot([1, 2], [3, 4])
    table = Table("Ranking", ("name", "recall"), (("a|b", 0.51249), ("没有", None)))
    result = Result({"recall": 0.5}, (table,), {"curve": figure}, (Target("recall", 0.5, 0.6),))
    path = write(result, a_run(tmp_path), {"command": "arpm experiment trial"})
    document = json.loads(path.read_text("utf-8"))
    assert (document["experiment"], document["command"]) == ("trial", "arpm experiment trial")
    assert document["numbers"] == {"recall": 0.5}
    assert document["targets"] == [{"what": "recall", "measured": 0.5, "bar": 0.6, "reached": False}]
    markdown = (tmp_path / "tables.md").read_text("utf-8")
    assert "| a\\|b | 0.512 |" in markdown
    assert "| 没有 | – |" in markdown
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "curve.svg").read_text("utf-8")
