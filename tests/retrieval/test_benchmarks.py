"""The benchmarks of both rooms work, reach their bars on a small scale, and tell what they found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import bm25, governance_time, published
from benchmarks.__main__ import available, main
from benchmarks.report import DataMissingError, data_folder, execute, table, target
from governance.config import GovernanceConfig


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("ARPM_DATA", str(tmp_path))
    return tmp_path


class TestQuickRuns:
    def test_bm25_has_the_scores_of_rank_bm25_and_is_faster(self, no_data: Path) -> None:
        result = bm25.run(quick=True)
        assert result["corpus"] == "Zipf-distributed words"
        assert all(item["met"] for item in result["targets"]), result["targets"]

    def test_governance_time_measures_a_turn(self) -> None:
        result = governance_time.run(quick=True)
        row = result["sizes"][0]
        assert row["memories"] == 1_000
        assert 0 < row["median_ms"] <= row["p95_ms"]

    def test_a_measured_turn_keeps_evidence_of_both_routes(self) -> None:
        """A turn that kept nothing would be quick and prove nothing."""
        texts = governance_time.ZipfTexts(np.random.default_rng(1))
        memory = governance_time.filled(300, texts)
        assert (len(memory.knowledge), len(memory.experience)) == (30, 270)
        vector = governance_time.RandomVectors(2).encode_query([""])[0]
        config = GovernanceConfig(gate_enabled=False)
        governed = governance_time.turn(memory, texts.english(9), vector, config)
        assert {item.route for item in governed.evidence} == {"knowledge", "experience"}

    def test_published_recomputes_the_whole_log_it_is_given(self, no_data: Path) -> None:
        extract = json.loads((Path(__file__).parents[1] / "fixtures" / "published_extract.json").read_text("utf-8"))
        folder = no_data / "arpm_published"
        folder.mkdir()
        lines = [json.dumps(entry, ensure_ascii=False) for entry in extract["rounds"]]
        (folder / "calculation_log_snr5.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        result = published.run(quick=True)
        assert result["rounds"] == 3
        assert result["tables"][1]["rows"][0][:3] == ["RRF", 4, "5fc40fbf"]
        assert all(item["met"] for item in result["targets"])


class TestReport:
    def test_missing_data_is_a_clear_skip(self, no_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        result = execute("published", published.run, quick=False, results=no_data / "results")
        assert f"no data in {no_data / 'arpm_published'}; set ARPM_DATA" in result["skipped"]
        assert "skipped: no data in" in capsys.readouterr().out
        assert not (no_data / "results").exists()
        with pytest.raises(DataMissingError, match="set ARPM_DATA to the folder that holds locomo/"):
            data_folder("locomo")

    def test_a_result_is_printed_and_written_with_how_it_came_about(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def run(quick: bool) -> dict[str, Any]:
            return {
                "seed": 7,
                "tables": [table("words", ("language", "count"), [("English", 1.23456789), ("中文", 20)])],
                "targets": [target("speed", 30, 20, at_least=True, unit="x"), target("time", 3, 2, unit="ms")],
            }

        execute("sample", run, quick=False, results=tmp_path)
        written = json.loads((tmp_path / "sample.json").read_text("utf-8"))
        assert written["command"] == "python -m benchmarks sample"
        assert {"date", "seconds", "seed", "machine"} <= set(written)
        assert {"cores", "processor", "python"} <= set(written["machine"])
        printed = capsys.readouterr().out
        assert "English   1.235\n中文      20" in printed
        assert "MISSED" in printed and "reached" in printed

    def test_a_quick_run_is_not_kept(self, tmp_path: Path) -> None:
        execute("sample", lambda quick: {"figure": 1}, quick=True, results=tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_an_unknown_benchmark_names_those_there_are(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            main(["bm52"])
        assert "there is no benchmark 'bm52'; there are" in capsys.readouterr().err

    @pytest.mark.parametrize(("value", "code"), [(1, 0), (3, 1)])
    def test_a_missed_target_is_a_failure_of_the_command(
        self, value: float, code: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(published, "run", lambda quick: {"targets": [target("time", value, 2)]})
        assert main(["published", "--quick"]) == code

    def test_these_benchmarks_are_run_by_name(self) -> None:
        assert {"published", "bm25", "governance_time"} <= set(available())
