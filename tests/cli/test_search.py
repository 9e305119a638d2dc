"""`arpm search`: what a message would bring back, without a turn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Arpm


class TestOneQuery:
    @pytest.mark.parametrize(
        ("query", "word"), [("Who grows purple tomatoes?", "grandmother"), ("谁修理旧钟表？", "表哥")]
    )
    def test_shows_candidates_with_scores_and_the_evidence(
        self, arpm: Arpm, timeline: str, query: str, word: str
    ) -> None:
        found = arpm.json("search", query)
        best = found["candidates"]["experience"][0]
        assert word in best["text"]
        assert best["kept"]
        assert best["final"] == pytest.approx(best["base"] * best["weight"])
        assert best["memory"] in {item["memory"] for item in found["evidence"]}
        told = arpm("search", query).stdout
        assert best["memory"] in told
        assert f"{best['final']:.3f}" in told

    @pytest.mark.parametrize("query", ["How many moons does Jupiter have?", "木星有几颗卫星？"])
    def test_what_nothing_matches_gets_no_evidence(self, arpm: Arpm, timeline: str, query: str) -> None:
        assert arpm.json("search", query)["evidence"] == []
        assert "nothing that is remembered matches" in arpm("search", query).stdout

    def test_records_nothing(self, arpm: Arpm, timeline: str) -> None:
        before = arpm.ledger(timeline)
        arpm("search", "tomatoes", "--set", "history_k=1")
        assert arpm.ledger(timeline) == before

    def test_time_and_round_move_the_search(self, arpm: Arpm, timeline: str) -> None:
        now = arpm.json("search", "tomatoes")["candidates"]["experience"][0]
        later = arpm.json("search", "tomatoes", "--at", "2099-01-01T00:00+08:00", "--round", "400")
        then = later["candidates"]["experience"][0]
        assert (now["rounds_ago"], then["rounds_ago"]) == (2, 399)
        assert later["at"] == "2099-01-01T00:00:00+08:00"
        assert then["weight"] < now["weight"]

    def test_preset_and_changes_hold_for_this_search_only(self, arpm: Arpm, timeline: str) -> None:
        found = arpm.json("search", "tomatoes", "--preset", "paper", "--set", "history_k=0", "--set", "time_cues=off")
        assert found["config"]["experience_base"] == "cosine"
        assert found["config"]["history_k"] == 0
        assert found["config"]["time_cues"] is False
        assert found["evidence"] == []
        assert arpm.json("search", "tomatoes")["config"]["history_k"] == 10


class TestWrongUse:
    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            (["x", "--set", "histroy_k=3"], "did you mean 'history_k'"),
            (["x", "--set", "history_k"], "expected KEY=VALUE"),
            (["x", "--set", "history_k=many"], "history_k is a number"),
            (["x", "--set", "history_k=51"], "between 0 and 50"),
            (["x", "--round", "0"], "0 is not in the range"),
            (["x", "--preset", "best"], "'best' is not one of"),
            ([], "Give a QUERY"),
            (["x", "--queries", "f"], "Give a QUERY"),
        ],
    )
    def test_is_code_2_and_named(self, arpm: Arpm, timeline: str, arguments: list[str], text: str) -> None:
        assert text in arpm("search", *arguments, code=2).stderr

    @pytest.mark.parametrize("at", ["yesterday", "2026-13-01", "12:00"])
    def test_a_time_that_is_none_is_an_error(self, arpm: Arpm, timeline: str, at: str) -> None:
        assert "is no ISO 8601 time" in arpm("search", "x", "--at", at, code=1).stderr


class TestManyQueries:
    def test_text_and_json_lines_are_answered_in_order(self, arpm: Arpm, timeline: str, tmp_path: Path) -> None:
        asked = tmp_path / "queries.jsonl"
        asked.write_text('tomatoes\n\n{"query": "谁修理旧钟表？", "id": 7, "round": 90}\n', "utf-8")
        result = arpm("search", "--queries", str(asked), "--json")
        first, second = map(json.loads, result.stdout.splitlines())
        assert (first["query"], first["id"], first["round"]) == ("tomatoes", None, 3)
        assert (second["query"], second["id"], second["round"]) == ("谁修理旧钟表？", 7, 90)
        assert any("表哥" in item["text"] for item in second["evidence"])

    def test_bad_lines_are_named_and_stop_nothing(self, arpm: Arpm, timeline: str, tmp_path: Path) -> None:
        """Bug class: one bad line out of two thousand lost the answers to all that came after it."""
        asked = tmp_path / "queries"
        lines = [
            b"{broken",
            b"\xff\xfe\xfd",
            b'{"q": "x"}',
            b'{"query": "x", "round": "2"}',
            b'{"query": "x", "at": "no"}',
        ]
        asked.write_bytes(b"\n".join([*lines, b"tomatoes"]))
        result = arpm("search", "--queries", str(asked), "--json", code=1)
        assert [json.loads(line)["query"] for line in result.stdout.splitlines()] == ["tomatoes"]
        for number in range(1, 6):
            assert f"queries, line {number}: " in result.stderr

    def test_a_file_without_a_query_is_an_error(self, arpm: Arpm, timeline: str, tmp_path: Path) -> None:
        (tmp_path / "none.txt").write_bytes(b"\n \n")
        assert "holds no query" in arpm("search", "--queries", str(tmp_path / "none.txt"), code=1).stderr
