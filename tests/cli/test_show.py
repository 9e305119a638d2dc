"""`arpm show`, `timelines` and `instructions`: what a person can find out and decide."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Arpm

SECTIONS = (
    "MESSAGE",
    "INSTRUCTIONS",
    "QUERY AS SEARCHED",
    "CANDIDATES: KNOWLEDGE",
    "CANDIDATES: EXPERIENCE",
    "EVIDENCE AS SHOWN",
    "PROMPT",
    "ATTEMPTS, RAW",
    "ANALYSIS",
    "VIOLATIONS",
    "REPAIRS",
    "REPLY",
    "ADMISSION",
    "SECONDS",
)


class TestShow:
    def test_tells_the_whole_story_in_the_order_of_the_turn(self, arpm: Arpm, timeline: str) -> None:
        told = arpm("show", timeline).stdout
        places = [told.index(f"\n{section}") for section in SECTIONS]
        assert places == sorted(places)
        assert "the digests agree" in told
        assert "<response>" in told  # the raw attempt

    def test_a_turn_has_three_names(self, arpm: Arpm, timeline: str) -> None:
        event = arpm.json("show", timeline)["event"]
        assert arpm.json("show", f"{timeline}:2")["event"] == event
        assert arpm.json("show", event)["event"] == event
        assert arpm.json("show", f"{timeline}:1")["body"]["message"].startswith("My grandmother")

    def test_json_holds_record_memories_and_rebuilt_prompt(self, arpm: Arpm, timeline: str) -> None:
        arpm("chat", timeline, "Who grows tomatoes?")
        story = arpm.json("show", timeline)
        candidates = story["body"]["candidates"]["experience"]
        assert {row["memory"] for row in candidates} == set(story["memories"])
        assert story["prompt"]["matches"]
        assert story["prompt"]["messages"][-1] == {"role": "user", "content": "Who grows tomatoes?"}

    @pytest.mark.parametrize(
        "name", ["", "nothing", "t-0123456789ab", "t-0123456789ab:1", ":", "x:99999999999999999999"]
    )
    def test_a_turn_that_is_not_there_is_one_line(self, arpm: Arpm, timeline: str, name: str) -> None:
        """Bug: a round beyond 64 bits ended in a traceback of the database."""
        error = arpm("show", name, code=1).stderr
        assert error.startswith("Error: ")
        assert error.count("\n") == 1

    def test_a_timeline_without_turns_says_so(self, arpm: Arpm, tmp_path: object) -> None:
        arpm("demo")
        id = arpm.json("timelines")[0]["id"]
        assert "Nothing was said" in arpm("show", id, code=1).stderr


class TestTimelines:
    def test_none_yet_is_no_error(self, arpm: Arpm) -> None:
        assert arpm.json("timelines") == []
        assert "no timeline yet" in arpm("timelines").stderr

    def test_chinese_names_keep_their_columns(self, arpm: Arpm, timeline: str) -> None:
        arpm("chat", "--user", "林", "--character", "阿梅", "你好")
        lines = arpm("timelines").stdout.splitlines()
        assert lines[1].split() == [lines[1].split()[0], "林", "阿梅", "1", "1", "scripted"]
        # Two characters of two places each, then two spaces, as "character" has nine places.
        assert "阿梅       1" in lines[1]


class TestInstructions:
    @pytest.mark.parametrize("words", ["Please answer in verse.", "请用诗句回答。"])
    def test_what_is_added_is_in_every_later_prompt_until_it_is_retired(
        self, arpm: Arpm, timeline: str, words: str
    ) -> None:
        (row,) = arpm.json("instructions", timeline, "--add", words)
        arpm("chat", timeline, "Hello.")
        assert words in arpm.json("show", timeline)["prompt"]["messages"][0]["content"]
        assert f"{row['id']}  {words}" in arpm("show", timeline).stdout
        arpm("instructions", timeline, "--retire", row["id"], "--reason", "Enough of it.")
        arpm("chat", timeline, "Hello.")
        assert words not in arpm.json("show", timeline)["prompt"]["messages"][0]["content"]
        assert "retired: Enough of it." in arpm("instructions", timeline).stdout

    def test_wrong_use_and_wrong_names(self, arpm: Arpm, timeline: str) -> None:
        assert "belong together" in arpm("instructions", timeline, "--retire", "i-0", code=2).stderr
        assert "two commands" in arpm("instructions", timeline, "--retire", "i", "--add", "x", code=2).stderr
        assert (
            "no instruction 'i-0'" in arpm("instructions", timeline, "--retire", "i-0", "--reason", "x", code=1).stderr
        )
        assert "at least one word" in arpm("instructions", timeline, "--add", " ", code=1).stderr
        assert "none" in arpm("show", timeline).stdout
