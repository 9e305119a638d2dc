"""`arpm chat`: what a person types, sees and stops."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import time

import pytest

from tests.cli.conftest import Arpm
from tests.patience import PATIENCE


class TestOneMessage:
    def test_prints_the_reply_alone_on_stdout(self, arpm: Arpm) -> None:
        """Bug: a remark beside the reply made `arpm chat … > file` unusable."""
        result = arpm("chat", "--user", "Lin", "--character", "Mei", "Good morning!")
        assert result.stdout == "You said: Good morning!\n"
        assert "round 1" in result.stderr
        assert "remembered" in result.stderr

    @pytest.mark.parametrize(
        ("question", "word"),
        [("What does my grandmother grow on her balcony?", "tomatoes"), ("谁在青岛修理旧钟表？", "表哥")],
    )
    def test_tells_what_the_reply_rests_on(self, arpm: Arpm, timeline: str, question: str, word: str) -> None:
        arpm("chat", timeline, "Let us talk of something else.")
        # A new session: what is in the window is not shown a second time as evidence.
        arpm("chat", timeline, input="/clear\n")
        result = arpm("chat", timeline, question)
        assert re.search(rf"E\d .*{word}", result.stderr)
        assert f"arpm show {timeline}:4" in result.stderr

    def test_json_holds_the_reply_and_the_texts_of_its_evidence(self, arpm: Arpm, timeline: str) -> None:
        arpm("chat", timeline, input="/clear\n")
        turn = arpm.json("chat", timeline, "谁在青岛修理旧钟表？")
        assert turn["response"] == "You said: 谁在青岛修理旧钟表？"
        assert turn["round"] == 3
        assert any("表哥" in item["text"] for item in turn["evidence"])

    def test_reads_a_message_of_many_lines_from_stdin(self, arpm: Arpm, timeline: str) -> None:
        result = arpm("chat", timeline, "-", input="first line\nsecond line\n")
        assert result.stdout == "You said: first line\nsecond line\n"

    def test_without_a_timeline_goes_on_with_the_one_used_last(self, arpm: Arpm, timeline: str) -> None:
        arpm("chat", "--user", "Ann", "--character", "Mei", "Hello.")
        arpm("chat", timeline, "Back again.")
        result = arpm("chat", "And again.")
        assert f"{timeline}:4" in result.stderr
        assert "the one used last" in result.stderr

    def test_the_embedded_model_answers_from_the_evidence(self, arpm: Arpm, timeline: str) -> None:
        """From end to end with the model that is there out of the box, offline, under its grammar."""
        arpm("chat", timeline, input="/clear\n")
        turn = arpm.json("chat", timeline, "--model", "local", "What grows on my grandmother's balcony?")
        assert turn["model"] == "local"
        assert turn["response"]
        assert turn["violations"] == []
        assert "purple tomatoes" in " ".join(item["text"] for item in turn["evidence"])
        assert arpm.json("show", timeline)["prompt"]["matches"]


class TestTimelines:
    def test_a_pair_has_one_timeline_for_life(self, arpm: Arpm, timeline: str) -> None:
        """Bug: every `chat --user --character` began a timeline, and nothing was ever remembered."""
        arpm("chat", "--user", "Lin", "--character", " Mei ", "Hello.")
        assert [(row["id"], row["rounds"]) for row in arpm.json("timelines")] == [(timeline, 3)]

    def test_model_and_preset_hold_from_then_on(self, arpm: Arpm, timeline: str) -> None:
        arpm("chat", timeline, "--model", "second", "--preset", "paper", "Hello.")
        row = arpm.json("timelines")[0]
        assert (row["model"], row["preset"], row["sessions"]) == ("second", "paper", 2)

    def test_an_unknown_model_is_named_with_those_there_are(self, arpm: Arpm, timeline: str) -> None:
        result = arpm("chat", timeline, "--model", "missing", "Hello.", code=1)
        assert "missing" in result.stderr
        assert "second" in result.stderr


class TestConversation:
    def test_a_pipe_is_answered_line_by_line(self, arpm: Arpm, timeline: str) -> None:
        result = arpm("chat", timeline, input="One.\n\n二。\n/quit\nThree.\n")
        assert result.stdout == "You said: One.\nYou said: 二。\n"

    def test_json_gives_one_line_for_each_message(self, arpm: Arpm, timeline: str) -> None:
        result = arpm("chat", timeline, "--json", input="One.\n二。\n")
        assert [json.loads(line)["message"] for line in result.stdout.splitlines()] == ["One.", "二。"]

    def test_slash_commands(self, arpm: Arpm, timeline: str) -> None:
        result = arpm("chat", timeline, input="/clear\n/model second\n/show\n/what\n")
        assert "Session 2 begins" in result.stderr
        assert "Model second." in result.stderr
        assert "我的表哥在青岛修理旧钟表。" in result.stdout
        assert "/quit ends" in result.stderr

    def test_an_error_does_not_end_it(self, arpm: Arpm, timeline: str) -> None:
        result = arpm("chat", timeline, input=f"/model missing\n{'x' * 100_001}\nStill here.\n")
        assert "missing" in result.stderr
        assert "the limit is 100,000" in result.stderr
        assert result.stdout == "You said: Still here.\n"

    def test_bytes_that_are_no_text_do_not_end_it(self, arpm: Arpm, timeline: str) -> None:
        result = arpm("chat", timeline, input=b"caf\xe9 \xff\xfe\x00\nNext.\n")
        assert "Next." in result.stdout


class TestFailures:
    def test_a_model_that_is_down_costs_neither_message_nor_memory(self, arpm: Arpm, timeline: str) -> None:
        result = arpm("chat", timeline, "--model", "down", "Please remember this.", code=1)
        assert result.stderr.count("Error:") == 1
        assert result.stdout == ""
        told = arpm("show", timeline).stdout
        assert "(failed)" in told
        assert "Please remember this." in told
        assert arpm.json("timelines")[0]["rounds"] == 2

    def test_a_broken_reply_is_mended_and_said_to_be(self, arpm: Arpm, timeline: str) -> None:
        broken = "RAW:Analysis: need: none\nResponse: Mended."
        result = arpm("chat", timeline, "--model", "raw", broken)
        assert result.stdout == "Mended.\n"
        assert "repair: normalised" in result.stderr

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            (["--user", "Lin", "Hello."], "belong together"),
            (["--preset", "Z", "Hello."], "Invalid value for '--preset'"),
            (["t-0123456789ab", "--user", "Lin", "--character", "Mei", "Hi"], "not both"),
        ],
    )
    def test_wrong_use_is_code_2(self, arpm: Arpm, arguments: list[str], text: str) -> None:
        assert text in arpm("chat", *arguments, code=2).stderr

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            (["Hello."], "There is no timeline yet"),
            (["t-0123456789ab", "Hello."], "there is no timeline 't-0123456789ab'"),
            (["--user", " ", "--character", "Mei", "Hello."], "The user name is empty"),
            (["--user", "L" * 201, "--character", "Mei", "Hello."], "the limit is 200"),
        ],
    )
    def test_what_is_missing_is_one_line_and_code_1(self, arpm: Arpm, arguments: list[str], text: str) -> None:
        error = arpm("chat", *arguments, code=1).stderr
        assert text in error
        assert error.count("\n") == 1


class Terminal:
    """A process on a pseudo-terminal, as a person has it."""

    def __init__(self, arpm: Arpm, *arguments: str) -> None:
        self.seen = ""
        self._master, slave = pty.openpty()
        self.process = arpm.start(*arguments, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        """Ctrl-C: the signal that the terminal sends to its foreground process."""
        self.process.send_signal(2)

    def until(self, text: str, seconds: float = PATIENCE) -> None:
        """Read until `text` was printed since the last call."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            left = end - time.monotonic()
            assert left > 0, f"{text!r} did not come; this did: {self.seen!r}"
            if select.select([self._master], [], [], left)[0]:
                self.seen += os.read(self._master, 65536).decode(errors="replace")
        self.seen = self.seen.partition(text)[2]

    def close(self) -> int:
        os.close(self._master)
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


def test_ctrl_c_stops_the_reply_and_not_the_conversation(arpm: Arpm, timeline: str) -> None:
    """Streams to a terminal while the model speaks (it takes 20 s), stops on Ctrl-C, and answers the next message."""
    # Preset G has no protocol: this model writes no tags, and without them nothing may be shown while it comes.
    terminal = Terminal(arpm, "chat", timeline, "--model", "slow", "--preset", "G")
    terminal.until("Lin> ")
    terminal.type("Tell me a long story.\n")
    terminal.until("word2 ")
    terminal.interrupt()
    terminal.until("Stopped. The message is kept")
    terminal.type("/model second\n")
    terminal.until("Model second.")
    terminal.type("Short, please.\n")
    terminal.until("You said: Short, please.")
    terminal.type("/quit\n")
    terminal.until("\n")
    assert terminal.process.wait(PATIENCE) == 0
    terminal.close()
    kinds = [line["kind"] for line in map(json.loads, arpm.ledger(timeline).splitlines())]
    assert kinds.count("turn_failed") == 1
    assert kinds.count("turn") == 3
