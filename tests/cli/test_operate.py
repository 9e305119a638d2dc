"""Documents, the operator's commands, and every bad input that a person can bring to a terminal."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from arpm.settings import SETTINGS
from governance.config import PRESETS, GovernanceConfig
from tests.cli.conftest import Arpm
from tests.patience import PATIENCE

ENGLISH = "# Harbour notes\n\nThe lighthouse was painted green in 1974. The ferry leaves at nine.\n"
CHINESE = "港口笔记\n\n灯塔在一九七四年被漆成绿色。渡船九点开。\n"


def file(folder: Path, name: str, data: bytes) -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


class TestDocuments:
    def test_both_languages_are_added_once_and_found(self, arpm: Arpm, timeline: str, tmp_path: Path) -> None:
        paths = [
            file(tmp_path, "notes.md", ENGLISH.encode()),
            file(tmp_path, "笔记.txt", CHINESE.encode("gb18030")),
        ]
        added = arpm.json("ingest", *paths)["documents"]
        assert [row["name"] for row in added] == ["notes.md", "笔记.txt"]
        arpm("ingest", *paths)
        assert [row["id"] for row in arpm.json("documents")] == [row["id"] for row in added]
        assert "灯塔" in arpm.json("search", "灯塔在一九七四年被漆成什么颜色？")["evidence"][0]["text"]
        assert "笔记.txt" in arpm("documents").stdout

    @pytest.mark.parametrize(
        ("name", "data", "text"),
        [
            ("empty.txt", b"", "empty.txt holds no text"),
            ("blank.md", b" \n\t\n", "blank.md holds no text"),
            ("picture.png", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "picture.png is a binary file"),
            ("huge.txt", b"word " * 400_001, "2,000,005 bytes; the limit is 2,000,000 bytes"),
            ("odd.txt", b"\x81\x8d\x8f\x90\x9d" * 40, "odd.txt is in an encoding that could not be told"),
            ("half.txt", b"\xff\xfea", "damaged at byte"),
        ],
    )
    def test_a_bad_file_is_named_and_the_others_are_added(
        self, arpm: Arpm, tmp_path: Path, name: str, data: bytes, text: str
    ) -> None:
        good, bad = file(tmp_path, "notes.md", ENGLISH.encode()), file(tmp_path, name, data)
        result = arpm("ingest", bad, good, str(tmp_path), str(tmp_path / "missing.txt"), "--json", code=1)
        report = json.loads(result.stdout)
        assert [row["name"] for row in report["documents"]] == ["notes.md"]
        assert [Path(item["file"]).name for item in report["errors"]] == [name, tmp_path.name, "missing.txt"]
        assert text in report["errors"][0]["error"]
        assert text in result.stderr

    def test_surrogates_nul_and_no_sentence_break_are_text(self, arpm: Arpm, timeline: str, tmp_path: Path) -> None:
        words = "lighthouse" + "keeper" * 3000
        assert arpm.json("ingest", file(tmp_path, "long.txt", words.encode()))["documents"][0]["characters"] == 18_010


class TestFolder:
    def test_a_second_process_is_told_who_has_the_folder(self, arpm: Arpm, timeline: str) -> None:
        holder = arpm.start("chat", timeline)
        try:
            assert holder.stdin is not None and holder.stdout is not None
            holder.stdin.write("Are you there?\n")
            holder.stdin.flush()
            assert holder.stdout.readline() == "You said: Are you there?\n"
            error = arpm("timelines", code=1).stderr
            assert f"pid {holder.pid}" in error
            assert str(arpm.logs) in error
        finally:
            _, _ = holder.communicate(timeout=PATIENCE)
        assert holder.returncode == 0
        assert arpm.json("timelines")[0]["rounds"] == 3

    def test_a_damaged_ledger_is_named_and_the_others_go_on(self, arpm: Arpm, timeline: str) -> None:
        arpm("chat", "--user", "Ann", "--character", "Mei", "Hello.")
        path = arpm.logs / timeline / "ledger.jsonl"
        path.write_bytes(path.read_bytes().replace(b"purple", b"yellow", 1))
        result = arpm("rebuild", code=1)
        assert f"{path} is damaged at line " in result.stderr
        assert "Rebuilt 1 timelines" in result.stdout
        assert "is damaged" in arpm("show", timeline, code=1).stderr
        assert arpm("chat", "--user", "Ann", "--character", "Mei", "Hi.").stdout == "You said: Hi.\n"

    def test_rebuild_finds_everything_again(self, arpm: Arpm, timeline: str, tmp_path: Path) -> None:
        arpm("ingest", file(tmp_path, "notes.md", ENGLISH.encode()))
        before = arpm.json("search", "lighthouse tomatoes", "--at", "2030-01-01")
        (arpm.logs / "cache" / "catalogue.sqlite").write_bytes(b"no database at all" * 1000)
        assert arpm.json("rebuild") == {"timelines": 1, "documents": 1, "damaged": []}
        assert arpm.json("search", "lighthouse tomatoes", "--at", "2030-01-01") == before

    def test_a_folder_that_cannot_be_made_is_one_line(self, arpm: Arpm, tmp_path: Path) -> None:
        file(tmp_path, "taken", b"")
        error = arpm("--logs", str(tmp_path / "taken" / "logs"), "timelines", code=1).stderr
        assert error.startswith("Error: ")
        assert "taken" in error


class TestSettings:
    def test_an_unknown_key_is_refused_by_name(self, arpm: Arpm, tmp_path: Path) -> None:
        other = file(tmp_path, "other.toml", b'modle = "local"\n')
        error = arpm("--config", other, "timelines", code=1).stderr
        assert "unknown key 'modle'" in error
        assert "'model'" in error

    def test_an_unknown_embedder_is_refused_with_the_choices(self, arpm: Arpm, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ARPM_EMBEDDER", "e6")
        error = arpm("timelines", code=1).stderr
        assert "'e6'" in error
        assert "hashing" in error
        assert error.count("\n") == 1

    def test_help_needs_no_good_settings(self, arpm: Arpm, tmp_path: Path) -> None:
        other = file(tmp_path, "other.toml", b"= broken")
        assert "QUERY" in arpm("--config", other, "search", "--help").stdout
        assert "is not valid TOML" in arpm("--config", other, "config", code=1).stderr

    def test_logs_comes_before_the_file(self, arpm: Arpm, tmp_path: Path) -> None:
        arpm("--logs", str(tmp_path / "elsewhere"), "timelines")
        assert (tmp_path / "elsewhere").is_dir()
        assert not arpm.logs.exists()

    def test_config_lists_every_setting_preset_and_switch(self, arpm: Arpm) -> None:
        shown, told = arpm.json("config"), arpm("config").stdout
        assert shown["settings"]["model"] == "scripted"
        assert {row["name"] for row in shown["presets"]} == set(PRESETS)
        assert {row["name"]: row["default"] for row in shown["governance"]} == GovernanceConfig().as_dict()
        assert all(row["help"] for row in shown["governance"])
        for name in (*(setting.name for setting in SETTINGS), *PRESETS, *GovernanceConfig().as_dict()):
            assert f"\n{name} " in told

    def test_secrets_are_never_printed(self, arpm: Arpm, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ARPM_TOKEN", "very-secret-token")
        output = arpm("config").output + arpm("config", "--json").output
        assert "very-secret" not in output
        assert "(set)" in output

    def test_models_are_listed_without_loading_one(self, arpm: Arpm) -> None:
        rows = {row["name"]: row for row in arpm.json("models")}
        assert list(rows) == ["local", "scripted", "second", "large", "raw", "slow", "down"]
        assert [name for name, row in rows.items() if row["default"]] == ["scripted"]
        assert "the embedded model" in arpm("models").stdout


class TestServe:
    def test_serves_until_ctrl_c(self, arpm: Arpm, timeline: str) -> None:
        process = arpm.start("serve", "--port", "0")
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            url = line.split()[3]
            with urllib.request.urlopen(url, timeout=PATIENCE) as response:
                assert response.status == 200
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        assert process.returncode == 0
        assert errors == "Stopped. Every acknowledged turn is on the disk.\n"

    def test_a_port_in_use_is_named(self, arpm: Arpm) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            error = arpm("serve", "--port", str(port), code=1).stderr
        assert str(port) in error
        assert error.count("\n") == 1

    def test_a_public_address_needs_a_token(self, arpm: Arpm) -> None:
        assert "ARPM_TOKEN" in arpm("serve", "--host", "0.0.0.0", code=1).stderr


class TestDemo:
    def test_is_loaded_once_and_answers_its_questions_from_evidence(self, arpm: Arpm) -> None:
        loaded = arpm.json("demo")
        assert loaded["new"]
        again = arpm.json("demo")
        assert (again["new"], again["timeline"]) == (False, loaded["timeline"])
        assert len(arpm.json("documents")) == 5
        *answerable, unknown = loaded["questions"]
        turns = [arpm.json("chat", question) for question in (answerable[0], answerable[3], unknown)]
        assert "umbrella" in " ".join(item["text"] for item in turns[0]["evidence"])
        assert "1987年" in " ".join(item["text"] for item in turns[1]["evidence"])
        assert turns[2]["evidence"] == []

    def test_brings_nothing_back_that_was_removed(self, arpm: Arpm) -> None:
        arpm("demo")
        (row, *_) = arpm.json("instructions", arpm.json("timelines")[0]["id"])
        arpm("instructions", arpm.json("timelines")[0]["id"], "--retire", row["id"], "--reason", "Longer, please.")
        assert "is there already" in arpm("demo").stdout
        (row,) = arpm.json("instructions", arpm.json("timelines")[0]["id"])
        assert row["retired_reason"] == "Longer, please."


def test_python_m_arpm_is_the_same(arpm: Arpm) -> None:
    process = arpm.start("--version", stdin=subprocess.DEVNULL)
    output, _ = process.communicate(timeout=PATIENCE)
    assert output.startswith("arpm, version ")


def test_text_of_others_cannot_steer_the_terminal(arpm: Arpm, timeline: str) -> None:
    """Bug class: escape sequences in a model's reply or a document rewrite what a person sees."""
    arpm("chat", timeline, "--model", "raw", "RAW:Analysis: need: none\nResponse: \x1b[2Jred\x07")
    for output in (arpm("show", timeline).output, arpm("search", "red").output):
        assert "red" in output
        assert not {"\x1b", "\x07"} & set(output)


def test_a_narrow_terminal_shows_escapes_instead_of_failing(arpm: Arpm, timeline: str) -> None:
    narrow = subprocess.run(
        [sys.executable, "-m", "arpm", "show", timeline],
        env={**os.environ, **arpm.env, "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    assert narrow.returncode == 0, narrow.stderr
    assert rb"\u6211\u7684\u8868\u54e5" in narrow.stdout
