"""`arpm erase`: shows the reach, asks for the words, erases, and says so a second time."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.conftest import Arpm
from tests.test_erasure import holding

TOMATO, CLOCKS = "purple tomatoes", "青岛修理旧钟表"


def memories(arpm: Arpm, timeline: str) -> list[str]:
    """The ids of what the turns of a timeline became."""
    events = [json.loads(line) for line in arpm.ledger(timeline).splitlines()]
    return [event["body"]["admission"]["memory"] for event in events if event["kind"] == "turn" and event["body"]]


def erase(arpm: Arpm, *arguments: str, **options: Any) -> Any:
    return arpm("erase", *arguments, **options)


def test_a_dry_run_shows_the_reach_and_changes_nothing(arpm: Arpm, timeline: str) -> None:
    before = arpm.ledger(timeline)
    told = erase(arpm, memories(arpm, timeline)[0], "--dry-run").stdout
    assert TOMATO in told and "1 memory and 1 ledger record would go." in told
    assert f"{timeline}:2  " in told and "window" in told
    data = arpm.json("erase", f"{timeline}:2", "--dry-run")
    assert data["receipt"] is None and data["reach"]["confirm"] == "erase 1 memory"
    assert [item["round"] for item in data["reach"]["memories"]] == [2]
    assert arpm.ledger(timeline) == before


def test_the_words_are_asked_for(arpm: Arpm, timeline: str) -> None:
    before = arpm.ledger(timeline)
    memory = memories(arpm, timeline)[1]
    for words in ("\n", "yes\n", ""):
        refused = erase(arpm, memory, input=words, code=1)
        assert refused.stdout == ""
        assert CLOCKS in refused.stderr and "Type “erase 1 memory” to go ahead" in refused.stderr
    assert arpm.ledger(timeline) == before
    done = erase(arpm, memory, "--reason", "不再需要", input="erase 1 memory\n")
    assert done.stdout.startswith("Erased 1 memory and 1 ledger record. Receipt: ")
    assert holding(arpm.logs, CLOCKS) == []
    assert TOMATO.encode() in arpm.ledger(timeline)
    again = erase(arpm, memory, "--yes", code=1)
    assert f"{memory} was erased already" in again.stderr
    assert arpm("chat", timeline, "And on it goes.").exit_code == 0
    arpm("verify")


def test_what_stays_is_told_with_yes_too(arpm: Arpm, timeline: str) -> None:
    done = erase(arpm, memories(arpm, timeline)[0], "--yes")
    assert "1 other reply, made with it in view or repeating it, will stay; none of them repeats" in done.stderr
    assert holding(arpm.logs, TOMATO) == []


def test_a_session_a_document_and_a_whole_timeline(arpm: Arpm, timeline: str) -> None:
    (arpm.folder / "notes.md").write_text("The lighthouse is green.", "utf-8")
    arpm("ingest", str(arpm.folder / "notes.md"))
    document = arpm.json("documents")[0]["id"]
    data = arpm.json("erase", "--document", document, "--yes")
    assert data["receipt"]["timeline"] == "knowledge"
    assert holding(arpm.logs, "lighthouse") == []
    session = next(json.loads(line)["session"] for line in arpm.ledger(timeline).splitlines()[1:])
    data = arpm.json("erase", "--session", session, "--yes", "--reason", "asked to")
    assert len(data["receipt"]["memories"]) == 2 and data["receipt"]["reason"] == "asked to"
    assert holding(arpm.logs, TOMATO, CLOCKS) == []
    erase(arpm, "--timeline", timeline, "--yes")
    assert holding(arpm.logs, "Lin") == []
    assert arpm.json("timelines") == []
    assert "was erased already" in erase(arpm, "--timeline", timeline, "--yes", code=1).stderr


def test_used_wrongly(arpm: Arpm, timeline: str) -> None:
    assert "Name memories, --session, --timeline, --user or --document" in erase(arpm, code=2).stderr
    assert "in one way" in erase(arpm, "m-000000000000", "--session", "s", "--yes", code=1).stderr
    assert "in one way" in erase(arpm, "--document", "d-1", "--timeline", timeline, code=1).stderr
    assert "no memory and no turn" in erase(arpm, "m-000000000000", "--dry-run", code=1).stderr
    assert "no session" in erase(arpm, "--session", "s-000000000000", code=1).stderr
    assert "no document" in erase(arpm, "--document", "d-000000000000", code=1).stderr
    assert "no timeline" in erase(arpm, "--timeline", "t-000000000000", code=1).stderr


def test_everything_of_a_user(arpm: Arpm, timeline: str) -> None:
    user = next(row["user"] for row in arpm.json("timelines") if row["id"] == timeline)
    arpm("chat", "--user", user, "--character", "Another", "The purple tomatoes are ripe.")
    arpm("chat", "--user", "Somebody Else", "--character", "Mo", "I have purple tomatoes too.")
    assert len(arpm.json("erase", "--user", user, "--dry-run")) == 2
    assert "name nothing else" in erase(arpm, "--user", user, "--document", "d-0123456789ab", code=2).stderr
    assert "no timeline of a user" in erase(arpm, "--user", "Nobody", code=1).stderr
    done = arpm.json("erase", "--user", user, "--yes")
    assert all(item["receipt"] for item in done)
    assert arpm.json("verify")["ledgers"]
    # What somebody else said stays.
    assert holding(arpm.logs / timeline, TOMATO) == []
    assert holding(arpm.logs, TOMATO)
