"""`arpm verify`, `replay`, `counterfactual`, `diff` and `timeline`: a third person with nothing but the log folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Arpm
from tests.patience import PATIENCE


@pytest.fixture
def two(arpm: Arpm, timeline: str) -> str:
    """The timeline with one turn more, under another config."""
    arpm("chat", timeline, "Who grows tomatoes?", "--preset", "paper")
    return timeline


class TestVerify:
    def test_a_good_folder(self, arpm: Arpm, two: str) -> None:
        told = arpm("verify").stdout
        assert "good" in told
        assert "DISAGREES" not in told
        data = {item["ledger"]: item for item in arpm.json("verify")["ledgers"]}
        assert (data[two]["findings"], data[two]["turns_that_disagree"], data[two]["turns"]) == ([], [], 3)

    def test_a_changed_byte_is_named_with_its_line(self, arpm: Arpm, two: str) -> None:
        path = arpm.logs / two / "ledger.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        lines[2] = lines[2].replace(b"grandmother", b"grandfather", 1)
        path.write_bytes(b"".join(lines))
        told = arpm("verify", two, code=1).stdout
        assert "line 3" in told
        assert "DISAGREES" in told

    def test_a_ledger_cut_short_shows_against_a_checkpoint(self, arpm: Arpm, two: str) -> None:
        arpm("checkpoint", two, "--out", "kept", "--key", "key.pem")
        (file,) = Path("kept").iterdir()
        assert "good" in arpm("verify", two, "--checkpoint", str(file)).stdout
        path = arpm.logs / two / "ledger.jsonl"
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
        assert "good" in arpm("verify", two).stdout
        assert "cut short" in arpm("verify", two, "--checkpoint", str(file), code=1).stdout
        assert (
            "not with ed25519:"
            in arpm("verify", two, "--checkpoint", str(file), "--public-key", "ed25519:" + "0" * 64, code=1).stdout
        )

    def test_some_ledgers_damaged_and_the_others_checked(self, arpm: Arpm, two: str) -> None:
        arpm("chat", "--user", "Bob", "--character", "Mo", "Hello.")
        (other,) = {item["id"] for item in arpm.json("timelines")} - {two}
        (arpm.logs / other / "ledger.jsonl").write_bytes(b"\x00\xff nothing of ours\n")
        data = {item["ledger"]: item for item in arpm.json("verify", code=1)["ledgers"]}
        assert data[other]["findings"]
        assert (data[two]["findings"], data[two]["error"]) == ([], None)

    def test_what_is_not_there_is_one_line(self, arpm: Arpm, two: str) -> None:
        for arguments in (("verify", "t-0123456789ab"), ("--logs", "nowhere", "verify"), ("replay", "t-0123456789ab")):
            error = arpm(*arguments, code=1).stderr
            assert error.count("Error: ") == 1


class TestReplay:
    @pytest.mark.parametrize("depth", ["arithmetic", "retrieval"])
    def test_all_turns_are_the_same_on_a_folder_in_use(self, arpm: Arpm, two: str, depth: str) -> None:
        server = arpm.start("serve", "--port", "0")
        try:
            assert server.stdout is not None
            assert server.stdout.readline()
            data = arpm.json("replay", "--depth", depth)
            (found,) = data["timelines"]
            assert (found["turns"], found["same"], found["different"], found["error"]) == (3, 3, [], None)
        finally:
            server.terminate()
            server.communicate(timeout=PATIENCE)

    def test_several_timelines_in_several_processes(self, arpm: Arpm, two: str) -> None:
        arpm("chat", "--user", "Bob", "--character", "Mo", "你好，我的猫叫小白。")
        told = arpm("replay", "--jobs", "2").stdout
        assert told.count("t-") == 2
        data = arpm.json("replay", "--jobs", "2")["timelines"]
        assert sorted((item["turns"], item["same"]) for item in data) == [(1, 1), (3, 3)]

    def test_a_model_answers_again(self, arpm: Arpm, two: str) -> None:
        (found,) = arpm.json("replay", "--depth", "generation", "--model", "second")["timelines"]
        assert all(turn["reply"] for turn in found["different"])
        assert "--depth generation" in arpm("replay", "--model", "second", code=2).stderr


class TestCounterfactual:
    def test_what_would_have_been_shown(self, arpm: Arpm, two: str) -> None:
        data = arpm.json("counterfactual", "--set", "history_k=0", "--set", "knowledge_k=0")
        assert data["summary"]["turns"] == 3
        assert all(turn["after"] == [] for turn in data["turns"])
        told = arpm("counterfactual", "--preset", "default", "--plot", "change.svg").stdout
        assert "of 3 turns" in told
        assert Path("change.svg").read_text("utf-8").startswith("<?xml")

    @pytest.mark.parametrize(
        ("arguments", "why"),
        [
            ((), "Nothing is changed"),
            (("--set", "history=3"), "did you mean"),
            (("--set", "history_k=99"), "between 0 and 50"),
            (("--set", "history_k"), "KEY=VALUE"),
        ],
    )
    def test_what_is_no_intervention(self, arpm: Arpm, two: str, arguments: tuple[str, ...], why: str) -> None:
        assert why in arpm("counterfactual", *arguments, code=2).stderr


class TestSideBySide:
    def test_two_turns(self, arpm: Arpm, two: str) -> None:
        told = arpm("diff", f"{two}:2", f"{two}:3").stdout
        assert "preset" in told
        assert "overlap of the evidence" in told
        data = arpm.json("diff", f"{two}:3", f"{two}:3")
        assert data["overlap"] == 1.0
        assert data["facts"] == {}

    def test_two_timelines(self, arpm: Arpm, two: str) -> None:
        arpm("chat", "--user", "Bob", "--character", "Mo", "Hello.")
        (other,) = {item["id"] for item in arpm.json("timelines")} - {two}
        told = arpm("diff", two, other).stdout
        assert "Only the first has the rounds 2, 3" in told
        assert "two turns or two timelines" in arpm("diff", two, f"{other}:1", code=2).stderr

    def test_the_life_of_memories(self, arpm: Arpm, two: str) -> None:
        data = arpm.json("timeline", two)
        memory = next(iter(data))
        told = arpm("timeline", two, "--memory", memory, "--plot", "life.png", "--over", "hours").stdout
        assert memory in told
        assert Path("life.png").read_bytes().startswith(b"\x89PNG")
        assert "memories were shown" in arpm("timeline", two).stdout
        assert "no turn had it" in arpm("timeline", two, "--memory", "m-000000000000").stdout
        json.dumps(data)
