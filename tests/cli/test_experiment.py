"""`arpm experiment`: one command for each experiment, which goes on after an interruption and says what is wrong."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path

import pytest

from arpm.experiments.catalogue import EXPERIMENTS, experiment
from tests.cli.conftest import Arpm
from tests.experiments import data_sets
from tests.patience import PATIENCE


def test_lists_every_experiment_with_what_it_measures(arpm: Arpm) -> None:
    for words in (("experiment",), ("experiment", "list")):
        assert all(name in arpm(*words).stdout for name in EXPERIMENTS)
    assert {row["name"] for row in arpm.json("experiment")} == set(EXPERIMENTS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_listed_experiment_is_there(name: str) -> None:
    assert callable(experiment(name))


def test_prints_tables_and_writes_the_result(arpm: Arpm, tmp_path: Path) -> None:
    data = data_sets.precision(tmp_path / "data")
    printed = arpm("experiment", "precision", "--data", str(data), "--quick")
    assert "PrecisionMemBench" in printed.stdout
    assert "must include" in printed.stdout
    assert "numbers mean nothing" in printed.stderr
    out = Path("experiments") / "precision-quick"
    document = json.loads((out / "result.json").read_text("utf-8"))
    assert document["command"] == "arpm experiment precision --quick"
    assert (document["seeds"], document["embedder"], document["model"]) == ([0], "hashing", None)
    assert {path.name for path in out.iterdir()} >= {"tables.md", "precision.png", "precision.svg", "steps.jsonl"}
    assert arpm.json("experiment", "precision", "--data", str(data), "--quick")["numbers"] == document["numbers"]
    # Experiments share what they have embedded; with --out a folder keeps its own.
    assert (out.parent / "embeddings.sqlite").exists() and not (out / "embeddings.sqlite").exists()
    # Memories of experiments are none of the person's.
    assert not arpm.json("timelines")


def test_the_folder_of_data_may_be_set(arpm: Arpm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data_sets.precision(tmp_path / "elsewhere")
    monkeypatch.setenv("ARPM_DATA", str(tmp_path / "elsewhere"))
    assert arpm.json("experiment", "precision", "--quick", "--out", str(tmp_path / "out"))["numbers"]["cases"] == 3
    assert (tmp_path / "out" / "result.json").exists()
    assert (tmp_path / "out" / "embeddings.sqlite").exists()


def test_a_changed_data_file_is_told(arpm: Arpm, tmp_path: Path) -> None:
    data = data_sets.precision(tmp_path / "data")
    words = ("experiment", "precision", "--data", str(data), "--quick")
    assert "changed since" not in arpm(*words).stderr
    assert "changed since" not in arpm(*words).stderr
    file = next(path for path in data.rglob("*.json*") if path.is_file())
    file.write_text(file.read_text("utf-8") + " \n", "utf-8")
    assert f"{file.relative_to(data)} changed since the last run here" in arpm(*words).stderr


def test_mistakes_end_in_one_line(arpm: Arpm, tmp_path: Path) -> None:
    unknown = arpm("experiment", "nois", code=2).stderr
    assert "There is no experiment 'nois'" in unknown
    assert "locomo" in unknown
    missing = arpm("experiment", "locomo", "--data", str(tmp_path / "nowhere"), code=1).stderr
    assert "locomo10.json is not there" in missing
    assert "--data" in missing
    assert "There is no model 'gpt'" in arpm("experiment", "locomo", "--model", "gpt", code=1).stderr
    arpm("experiment", "locomo", "--seeds", "0", code=2)
    (tmp_path / "file").write_text("", "utf-8")
    arpm("experiment", "locomo", "--out", str(tmp_path / "file"), code=2)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "steps.jsonl").write_text("{}\nnonsense\n", "utf-8")
    assert "steps.jsonl is damaged" in arpm("experiment", "locomo", "--out", str(tmp_path / "out"), code=1).stderr


def test_an_interrupted_run_goes_on_with_the_same_command(arpm: Arpm, tmp_path: Path) -> None:
    data = data_sets.locomo(tmp_path / "data", conversations=3)
    words = ("experiment", "locomo", "--data", str(data), "--model", "slow", "--out", str(tmp_path / "out"))
    steps = tmp_path / "out" / "steps.jsonl"
    process = arpm.start(*words)
    kill = threading.Timer(3 * PATIENCE, process.kill)
    kill.start()
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if line.startswith("answering"):
                break
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate()
    finally:
        kill.cancel()
    assert process.returncode == 130, rest
    assert "the same command goes on" in rest
    kept = steps.read_bytes()
    assert kept.endswith(b"\n")
    assert not (tmp_path / "out" / "result.json").exists()

    without_model = tuple(word for word in words if word not in ("--model", "slow"))
    arpm(*without_model)
    assert steps.read_bytes().startswith(kept)
    assert (tmp_path / "out" / "result.json").exists()
