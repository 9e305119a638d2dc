"""Exports hold what the ledgers say, are read by the programs they are for, and are known to whoever erases."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from arpm import exported as record
from arpm.audit.exports.guard import cell, csv_text, unguarded
from arpm.audit.exports.tables import TABLES
from arpm.erasure import erase, of_memories, reach
from arpm.importers.arpm_logs import LogFile, read_arpm_logs
from arpm.importers.atoms import write_atoms
from tests.audit.test_statistics import conversation
from tests.cli.conftest import Arpm, arpm, model_server
from tests.support import ScriptedBackend, open_service, reply

__all__ = ["arpm", "model_server"]

FIXTURES = Path(__file__).parents[1] / "fixtures"
TOMATOES = "purple tomatoes on her balcony"
WITHOUT_MLCROISSANT = importlib.util.find_spec("mlcroissant") is None


def lines(path: Path) -> list[dict[str, Any]]:
    """A file of JSON Lines, in which NaN is no value."""

    def refuse(word: str) -> float:
        raise AssertionError(f"{path} holds {word}")

    return [json.loads(line, parse_constant=refuse) for line in path.read_text("utf-8").splitlines()]


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def imported(logs: Path) -> str:
    files = {
        name: LogFile(name, (FIXTURES / "arpm_logs" / f"{name}.log").read_bytes())
        for name in ("dialogue", "recall", "analysis")
    }
    (talk,) = read_arpm_logs(files["dialogue"], files["recall"], files["analysis"]).talks
    with open_service(logs) as service:
        timeline = service.create_timeline("阿澄", "白露")
        write_atoms(timeline, "dialogue.log", talk.atoms)
    return timeline.id


def erased(logs: Path, id: str) -> None:
    with open_service(logs) as service:
        what = of_memories(service.catalogue, [id])
        erase(service, what, reach(service, what).confirm, "she asked")


class TestTables:
    def test_json_lines_hold_every_turn_with_its_evidence(self, arpm: Arpm, tmp_path: Path) -> None:
        timeline = conversation(arpm.logs)
        arpm("export", "jsonl", "--out", str(tmp_path / "out"))
        turns = lines(tmp_path / "out" / "turns.jsonl")
        assert [(row["round"], row["kind"]) for row in turns] == [
            *((round, "turn") for round in (1, 2, 3, 4, 5, 5)),
            (6, "turn_failed"),
            (6, "turn"),
        ]
        assert {row["timeline"] for row in turns} == {timeline}
        assert turns[1]["cited"] == ["E1"]
        assert turns[2]["first_violations"] == ["missing_analysis", "missing_response"]
        assert turns[4]["replaced_by"] == turns[5]["event"]
        assert turns[6]["error"] == "unreachable: boom"
        evidence = lines(tmp_path / "out" / "evidence.jsonl")
        assert any(TOMATOES in row["text"] for row in evidence if row["round"] == 2)
        memories = lines(tmp_path / "out" / "memories.jsonl")
        assert {row["state"] for row in memories} == {"active", "replaced"}

    def test_columns_are_those_that_are_documented(self, arpm: Arpm, tmp_path: Path) -> None:
        conversation(arpm.logs)
        imported(arpm.logs)
        arpm("export", "jsonl", "--out", str(tmp_path / "out"))
        page = (Path(__file__).parents[2] / "docs" / "exports.md").read_text("utf-8")
        for one in TABLES:
            for row in lines(tmp_path / "out" / f"{one.name}.jsonl"):
                assert list(row) == [column.name for column in one.columns]
            for column in one.columns:
                assert f"`{column.name}`" in page, column.name

    def test_csv_and_json_lines_say_the_same(self, arpm: Arpm, tmp_path: Path) -> None:
        conversation(arpm.logs)
        for format in ("csv", "jsonl"):
            arpm("export", format, "--out", str(tmp_path / format))
        for name in ("turns", "evidence", "memories"):
            plain = lines(tmp_path / "jsonl" / f"{name}.jsonl")
            for row, text in zip(plain, table(tmp_path / "csv" / f"{name}.csv"), strict=True):
                assert {key: unguarded(value) for key, value in text.items()} == {
                    key: unguarded(cell(value)) for key, value in row.items()
                }

    def test_no_cell_begins_like_a_formula(self, arpm: Arpm, tmp_path: Path) -> None:
        words = ["=1+1", "+cmd", "-2", "@SUM(A1)", "\t=1", "＝1+1", "'=1", "a\n=1", 'with "quotes", and commas']
        with open_service(arpm.logs, ScriptedBackend([reply('=HYPERLINK("http://x")')])) as service:
            timeline = service.create_timeline("=Lin", "@Mei").id
            for word in words:
                service.turn(timeline, word)
        arpm("export", "csv", "--out", str(tmp_path / "out"))
        rows = table(tmp_path / "out" / "turns.csv")
        for row in rows:
            for name, value in row.items():
                assert not value.startswith(tuple("=+-@\t\r＝＋－＠")), (name, value)
        assert [unguarded(row["message"]) for row in rows] == [word.strip() for word in words]

    @pytest.mark.parametrize(
        "value", [-1.5, 3, True, False, None, "", "plain", "'", "''=x", "=", [1, "a"], {"a": None}]
    )
    def test_guarding_is_undone_and_leaves_numbers_alone(self, value: Any) -> None:
        text = cell(value)
        assert unguarded(text) == (text if not isinstance(value, str) else value)
        (row,) = csv.reader(io.StringIO(csv_text(["a"], [[value]]).removeprefix("\ufeffa\n"))) if text else [[""]]
        assert row == [text]

    def test_not_a_number_is_refused(self) -> None:
        from arpm.audit.exports.write import as_json

        with pytest.raises(ValueError, match="not JSON compliant"):
            as_json({"a": math.nan})

    def test_rounds_of_the_published_logs_come_with_what_was_recalled(self, arpm: Arpm, tmp_path: Path) -> None:
        imported(arpm.logs)
        arpm("export", "jsonl", "--out", str(tmp_path / "out"))
        evidence = lines(tmp_path / "out" / "evidence.jsonl")
        assert '历史对话 阿澄: "晚上好..." -> 白露: "晚上好，阿澄。今天的茶摘完了吗？..."...' in [
            row["text"] for row in evidence
        ]
        states = [row["state"] for row in lines(tmp_path / "out" / "memories.jsonl")]
        assert states.count("quarantined") == 2


class TestErasure:
    def test_an_export_says_what_was_erased_and_holds_nothing_of_it(self, arpm: Arpm, tmp_path: Path) -> None:
        timeline = conversation(arpm.logs)
        erased(arpm.logs, f"{timeline}:1")
        for format in ("jsonl", "csv", "inspect", "croissant"):
            result = arpm("export", format, "--out", str(tmp_path / format))
            assert "was erased before the export" in result.stderr
            assert b"My grandmother grows" not in everything(tmp_path / format)
            (told,) = json.loads((tmp_path / format / "export.json").read_text("utf-8"))["timelines"]
            assert told["erased"][0]["receipt"] == told["receipts"][0]["event"]
            assert told["receipts"][0]["reason"] == "she asked"
        gone = [row for row in lines(tmp_path / "jsonl" / "turns.jsonl") if row["erased"]]
        assert gone
        assert all(row["message"] is None and row["receipt"] for row in gone)
        assert gone[0]["round"] == 1
        # Later evidence that showed it is there, without its words.
        shown = [row for row in lines(tmp_path / "jsonl" / "evidence.jsonl") if row["text"] is None]
        assert shown
        assert "was erased" in json.loads((tmp_path / "croissant" / "croissant.json").read_text("utf-8"))["description"]

    def test_a_whole_timeline_that_was_erased(self, arpm: Arpm, tmp_path: Path) -> None:
        from arpm.erasure import What

        timeline = conversation(arpm.logs)
        with open_service(arpm.logs) as service:
            what = What(timeline=timeline)
            erase(service, what, reach(service, what).confirm)
        arpm("export", "jsonl", "--out", str(tmp_path / "out"))
        turns = lines(tmp_path / "out" / "turns.jsonl")
        assert turns and all(row["erased"] for row in turns)

    def test_the_folder_knows_which_files_to_reach(self, arpm: Arpm, tmp_path: Path) -> None:
        timeline, other = conversation(arpm.logs), imported(arpm.logs)
        arpm("export", "jsonl", "--timeline", timeline, "--out", str(tmp_path / "one"))
        arpm("export", "csv", "--timeline", other, "--out", str(tmp_path / "two"))
        files = record.exported_files(arpm.logs, [timeline])
        assert {file.path.parent for file in files} == {tmp_path / "one"}
        assert {file.state for file in files} == {"unchanged"}
        assert len(record.exported_files(arpm.logs, ["knowledge"])) == 8
        (tmp_path / "one" / "turns.jsonl").write_text("mine now")
        deleted, left = record.remove_exported(arpm.logs, [timeline])
        assert left == [tmp_path / "one" / "turns.jsonl"]
        assert {path.name for path in deleted} == {"evidence.jsonl", "memories.jsonl", "export.json"}
        assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["turns.jsonl"]
        assert len(list((tmp_path / "two").iterdir())) == 4
        assert [file.path.name for file in record.exported_files(arpm.logs, [timeline])] == ["turns.jsonl"]


class TestWriting:
    def test_nothing_is_written_over_unless_asked(self, arpm: Arpm, tmp_path: Path) -> None:
        conversation(arpm.logs)
        out = tmp_path / "out"
        out.mkdir()
        (out / "turns.csv").write_text("mine")
        assert "is there already" in arpm("export", "csv", "--out", str(out), code=1).stderr
        assert [path.name for path in out.iterdir()] == ["turns.csv"]
        arpm("export", "csv", "--out", str(out), "--force")
        arpm("export", "csv", "--out", str(out), "--force")
        assert len(record.exported_files(arpm.logs)) == 4

    def test_a_failure_leaves_no_part_of_a_file(
        self, arpm: Arpm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        conversation(arpm.logs)
        noted: list[str] = []

        def full(source: Any) -> Iterator[dict[str, Any]]:
            noted.extend(file.state for file in record.exported_files(arpm.logs))
            raise OSError(28, "No space left on device", str(tmp_path))
            yield {}

        from dataclasses import replace

        from arpm.audit.exports import flat

        monkeypatch.setattr(flat, "TABLES", (*TABLES[:2], replace(TABLES[2], rows=full)))
        assert "No space left" in arpm("export", "jsonl", "--out", str(tmp_path / "out"), code=1).stderr
        assert list((tmp_path / "out").iterdir()) == []
        # It was noted before the first byte was written, so that a crash leaves nothing unknown.
        assert noted == ["unfinished"] * 4

    def test_not_into_the_logs_folder(self, arpm: Arpm) -> None:
        conversation(arpm.logs)
        assert "lies in the logs folder" in arpm("export", "csv", "--out", str(arpm.logs / "x"), code=1).stderr
        assert not (arpm.logs / "x").exists()

    def test_reads_without_the_lock_and_only_what_is_named(self, arpm: Arpm, tmp_path: Path) -> None:
        timeline = conversation(arpm.logs)
        imported(arpm.logs)
        with open_service(arpm.logs):
            found = arpm.json("export", "jsonl", "--timeline", timeline, "--out", str(tmp_path / "out"))
        assert found["timelines"] == [timeline]
        assert "there is no timeline" in arpm("export", "csv", "--timeline", "t-x", "--out", "out", code=1).stderr

    def test_damage_is_told_and_what_comes_before_it_exported(self, arpm: Arpm, tmp_path: Path) -> None:
        timeline = conversation(arpm.logs)
        path = arpm.logs / timeline / "ledger.jsonl"
        raw = path.read_bytes().splitlines(keepends=True)
        raw[5] = raw[5].replace(b"Lin", b"Lim", 1)
        path.write_bytes(b"".join(raw))
        result = arpm("export", "jsonl", "--out", str(tmp_path / "out"), code=1)
        assert "Damaged, exported up to there" in result.stderr
        assert 0 < len(lines(tmp_path / "out" / "turns.jsonl")) < 8
        assert timeline in json.loads((tmp_path / "out" / "export.json").read_text("utf-8"))["damage"]

    def test_a_damaged_record_stops_the_export(self, arpm: Arpm, tmp_path: Path) -> None:
        conversation(arpm.logs)
        (arpm.logs / record.NAME).write_text("{")
        assert "exports.json cannot be read" in arpm("export", "csv", "--out", str(tmp_path / "o"), code=1).stderr
        assert not (tmp_path / "o").exists()

    def test_an_empty_folder_is_told(self, arpm: Arpm, tmp_path: Path) -> None:
        arpm.logs.mkdir()
        assert "no timeline that can be exported" in arpm("export", "csv", "--out", "o", code=1).stderr


class TestInspect:
    def log(self, arpm: Arpm, tmp_path: Path) -> dict[str, Any]:
        arpm("export", "inspect", "--out", str(tmp_path / "out"))
        (path,) = (tmp_path / "out").glob("*_arpm_t-*.json")
        log: dict[str, Any] = json.loads(path.read_text("utf-8"))
        schema = json.loads((FIXTURES / "inspect_ai" / "eval_log.schema.json").read_text("utf-8"))
        jsonschema_rs.validator_for(schema).validate(log)
        if importlib.util.find_spec("inspect_ai") is not None:
            code = "import sys; from inspect_ai.log import read_eval_log; print(read_eval_log(sys.argv[1]).status)"
            assert subprocess.check_output([sys.executable, "-c", code, str(path)], text=True).strip() == "success"
        return log

    def test_a_sample_is_a_round_with_the_prompt_as_it_was_sent(self, arpm: Arpm, tmp_path: Path) -> None:
        conversation(arpm.logs)
        log = self.log(arpm, tmp_path)
        ids = [sample["id"] for sample in log["samples"]]
        assert len(set(ids)) == len(ids) == 7
        second = log["samples"][1]
        assert second["metadata"]["prompt"] == "as sent"
        assert second["input"][0]["role"] == "system"
        assert any(TOMATOES in message["content"] for message in second["input"])
        assert second["output"]["completion"] == "Purple tomatoes grow on her balcony."
        assert second["scores"]["cites_evidence"]["value"] == 1
        assert log["samples"][4]["output"]["completion"] == "Second try."

    def test_a_failed_turn_is_a_sample_with_an_error(self, arpm: Arpm, tmp_path: Path) -> None:
        conversation(arpm.logs)
        (failed,) = [sample for sample in self.log(arpm, tmp_path)["samples"] if "error" in sample]
        assert failed["error"]["message"] == "unreachable: boom"

    def test_a_prompt_that_showed_what_was_erased_is_lost(self, arpm: Arpm, tmp_path: Path) -> None:
        timeline = conversation(arpm.logs)
        erased(arpm.logs, f"{timeline}:1")
        log = self.log(arpm, tmp_path)
        assert log["samples"][0]["metadata"]["prompt"].startswith("lost: ")
        assert "was erased" in log["eval"]["metadata"]["erased"]

    def test_rounds_of_the_published_logs_are_samples(self, arpm: Arpm, tmp_path: Path) -> None:
        imported(arpm.logs)
        log = self.log(arpm, tmp_path)
        assert len(log["samples"]) == 6
        assert log["samples"][2]["metadata"]["published"]["replaced"][0]["reply"] == "三年左右。"


class TestCroissant:
    @pytest.mark.skipif(WITHOUT_MLCROISSANT, reason="mlcroissant is not installed: pip install -r requirements-dev.txt")
    def test_mlcroissant_accepts_it_and_reads_every_record(self, arpm: Arpm, tmp_path: Path) -> None:
        """In a process of its own: the package warns of itself and of pandas as it is imported."""
        conversation(arpm.logs)
        imported(arpm.logs)
        arpm("export", "croissant", "--out", str(tmp_path / "out"), "--name", "talks", "--license", "CC-BY-4.0")
        code = (
            "import json, sys, mlcroissant\n"
            "dataset = mlcroissant.Dataset(sys.argv[1])\n"
            "issues = dataset.metadata.ctx.issues\n"
            "counts = {name: sum(1 for _ in dataset.records(name)) for name in ('turns', 'evidence', 'memories')}\n"
            "print(json.dumps({'errors': len(issues.errors), 'counts': counts}))\n"
        )
        output = subprocess.check_output(
            [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "out" / "croissant.json")], text=True
        )
        found = json.loads(output.splitlines()[-1])
        assert found["errors"] == 0
        assert found["counts"] == {
            name: len(lines(tmp_path / "out" / f"{name}.jsonl")) for name in ("turns", "evidence", "memories")
        }

    def test_digests_are_those_of_the_files(self, arpm: Arpm, tmp_path: Path) -> None:
        import hashlib

        conversation(arpm.logs)
        arpm(
            "export", "croissant", "--out", str(tmp_path / "out"), "--creator", "Lin", "--url", "https://example.org/d"
        )
        found = json.loads((tmp_path / "out" / "croissant.json").read_text("utf-8"))
        assert found["conformsTo"] == "http://mlcommons.org/croissant/1.1"
        for file in found["distribution"]:
            data = (tmp_path / "out" / file["contentUrl"]).read_bytes()
            assert file["sha256"] == hashlib.sha256(data).hexdigest()
        described = {record["name"]: {field["name"] for field in record["field"]} for record in found["recordSet"]}
        assert described == {one.name: {column.name for column in one.columns} for one in TABLES}
