"""`arpm import`: everything arrives once, whatever interrupts it."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

from tests.cli.conftest import Arpm
from tests.patience import PATIENCE


def locomo(conversations: int = 1, sessions: int = 2, utterances: int = 3) -> list[dict[str, Any]]:
    """Conversations in LoCoMo's format, of our own writing; the date of session 99 has no session."""
    return [
        {
            "sample_id": f"conv-{number}",
            "qa": [],
            "conversation": {
                "speaker_a": f"Ada{number}",
                "speaker_b": "Ben",
                "session_99_date_time": "9:00 am on 1 January, 2024",
                **{
                    key: value
                    for session in range(1, sessions + 1)
                    for key, value in (
                        (f"session_{session}_date_time", f"1:56 pm on {session % 28 + 1} May, 2023"),
                        (f"session_{session}", _session(number, session, utterances)),
                    )
                },
            },
        }
        for number in range(1, conversations + 1)
    ]


def _session(number: int, session: int, utterances: int) -> list[dict[str, str]]:
    return [
        {
            "speaker": "Ben" if place % 2 else f"Ada{number}",
            "dia_id": f"D{session}:{place + 1}",
            "text": f"Utterance {place} of session {session}, about lighthouses and 灯塔.",
        }
        for place in range(utterances)
    ]


def written(folder: Path, name: str, value: Any) -> str:
    path = folder / name
    path.write_text(json.dumps(value), "utf-8")
    return str(path)


class TestLocomo:
    def test_makes_a_timeline_of_each_conversation_that_can_be_asked_at_once(self, arpm: Arpm, tmp_path: Path) -> None:
        file = written(tmp_path, "locomo.json", locomo(conversations=2))
        report = arpm.json("import", "locomo", file)
        assert (report["imported"], report["left"], len(report["timelines"])) == (12, 0, 2)
        rows = arpm.json("timelines")
        assert {(row["user"], row["character"], row["rounds"]) for row in rows} == {
            ("Ada1", "Ben", 6),
            ("Ada2", "Ben", 6),
        }
        turn = arpm.json("chat", rows[0]["id"], "Who spoke of lighthouses?")
        assert turn["round"] == 7
        assert "灯塔" in turn["evidence"][0]["text"]

    def test_again_imports_nothing(self, arpm: Arpm, tmp_path: Path) -> None:
        file = written(tmp_path, "locomo.json", locomo())
        first = arpm.json("import", "locomo", file)
        again = arpm.json("import", "locomo", file, "--conversation", "conv-1")
        assert (again["imported"], again["present"]) == (0, 6)
        assert again["timelines"][0]["timeline"] == first["timelines"][0]["timeline"]
        assert "6 there from before" in arpm("import", "locomo", file).stdout

    def test_other_conversations_of_the_same_two_stay_apart(self, arpm: Arpm, tmp_path: Path) -> None:
        """Bug: utterance ids are the same in every conversation, so the second one looked imported already."""
        arpm("import", "locomo", written(tmp_path, "one.json", locomo()))
        arpm("chat", "--user", "Ada1", "--character", "Ben", "Hello.")
        report = arpm.json("import", "locomo", written(tmp_path, "two.json", locomo()))
        assert report["imported"] == 6
        assert sorted(row["rounds"] for row in arpm.json("timelines")) == [6, 7]

    def test_an_unknown_conversation_is_named_with_those_there_are(self, arpm: Arpm, tmp_path: Path) -> None:
        file = written(tmp_path, "locomo.json", locomo(conversations=2))
        assert "there are conv-1, conv-2" in arpm("import", "locomo", file, "--conversation", "x", code=1).stderr
        assert not arpm.logs.exists()

    def test_ctrl_c_keeps_what_was_written_and_the_next_run_goes_on(self, arpm: Arpm, tmp_path: Path) -> None:
        """A real process gets a real SIGINT in the middle; afterwards every utterance is there exactly once."""
        talk = locomo(sessions=40, utterances=75)
        file = written(tmp_path, "long.json", talk)
        process = arpm.start("import", "locomo", file, "--json")
        self._wait_for_a_batch(arpm)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130, errors
        report = json.loads(output)
        assert report["interrupted"]
        assert report["imported"] > 0
        assert report["left"] == 3_000 - report["imported"] > 0
        assert "Run the command again to go on." in errors
        rest = arpm.json("import", "locomo", file)
        assert (rest["present"], rest["imported"]) == (report["imported"], report["left"])
        self._check_complete(arpm, talk)

    def _wait_for_a_batch(self, arpm: Arpm) -> None:
        end = time.monotonic() + PATIENCE
        while not any(path.stat().st_size > 100_000 for path in arpm.logs.glob("t-*/ledger.jsonl")):
            assert time.monotonic() < end, "nothing was imported"
            time.sleep(0.005)

    def _check_complete(self, arpm: Arpm, talk: list[dict[str, Any]]) -> None:
        (row,) = arpm.json("timelines")
        events = map(json.loads, arpm.ledger(row["id"]).splitlines())
        bodies = [event["body"] for event in events if event["kind"] == "imported"]
        said = [item["dia_id"] for n in range(1, 41) for item in talk[0]["conversation"][f"session_{n}"]]
        assert [body["source"]["id"] for body in bodies] == said
        assert [body["round"] for body in bodies] == list(range(1, 3_001))


class TestMessages:
    LINES = (
        {"id": "1", "role": "user", "text": "Where do lighthouses stand?", "time": "2024-05-01T08:00:00+02:00"},
        {"id": "2", "role": "assistant", "text": "On cliffs."},
        {"id": "3", "speaker": "Lin", "text": "灯塔有多高？", "time": 1714550400, "session": "b"},
    )

    def write(self, folder: Path, *lines: object) -> str:
        path = folder / "messages.jsonl"
        texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
        path.write_text("\n".join(texts), "utf-8")
        return str(path)

    def test_begins_the_timeline_of_the_pair(self, arpm: Arpm, tmp_path: Path) -> None:
        file = self.write(tmp_path, *self.LINES)
        report = arpm.json("import", "messages", file, "--user", "Lin", "--character", "Mei")
        assert (report["imported"], report["skipped"]) == (2, [])
        assert arpm.json("timelines")[0]["rounds"] == 2
        best = arpm.json("search", "灯塔有多高？")["evidence"][-1]
        assert "2024-05-01" in best["cue"]

    def test_joins_a_timeline_as_its_next_rounds_and_only_once(self, arpm: Arpm, timeline: str, tmp_path: Path) -> None:
        file = self.write(tmp_path, *self.LINES)
        assert "2 imported" in arpm("import", "messages", file, "--timeline", timeline).stdout
        assert "0 imported, 2 there from before" in arpm("import", "messages", file, "--timeline", timeline).stdout
        assert arpm.json("timelines")[0]["rounds"] == 4

    def test_bad_lines_are_told_with_number_and_reason(self, arpm: Arpm, timeline: str, tmp_path: Path) -> None:
        file = self.write(tmp_path, *self.LINES[:2], "{", {"role": "system", "text": "x"}, self.LINES[2])
        result = arpm("import", "messages", file, "--timeline", timeline)
        assert "Skipped line 3: is not JSON" in result.stderr
        assert "Skipped line 4: its role 'system' is neither" in result.stderr
        assert "2 imported" in result.stdout

    def test_a_file_without_a_usable_line_changes_nothing(self, arpm: Arpm, tmp_path: Path) -> None:
        """Bug: the timeline was opened before the file was read, and an empty one stayed behind."""
        file = self.write(tmp_path, "not JSON")
        error = arpm("import", "messages", file, "--user", "Lin", "--character", "Mei", code=1).stderr
        assert "no line that can be imported (line 1: is not JSON" in error
        assert arpm.json("timelines") == []

    def test_wrong_use_is_code_2(self, arpm: Arpm, tmp_path: Path) -> None:
        file = self.write(tmp_path, *self.LINES)
        assert "Say where" in arpm("import", "messages", file, "--user", "Lin", code=2).stderr
        assert "not both" in arpm("import", "messages", file, "--timeline", "t", "--user", "Lin", code=2).stderr
