"""Every turn record says which standing instructions its reply kept; replay finds the same from the ledger alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from arpm.audit.past import Past
from arpm.audit.replay import TurnReplay, replayed
from arpm.erasure import erase, of_memories, reach
from arpm.events import read_line
from arpm.ledger import LEDGER_NAME
from arpm.story import tell
from tests.support import ScriptedBackend, open_service, reply


def lived(logs: Path) -> tuple[str, dict[str, Any]]:
    """Two rounds under three instructions; the second reply keeps one, breaks one, and one cannot be checked."""
    backend = ScriptedBackend([reply("Noted."), reply("Of course: it stands in the cellar, I think.")])
    with open_service(logs, backend) as service:
        timeline = service.create_timeline("Lin", "Mei").id
        held = service.timeline(timeline)
        held.add_instruction("From now on, start every reply with the letter O.")
        held.add_instruction("Never use commas.")
        held.add_instruction("Always be kind.")
        service.turn(timeline, "The kettle is in the cellar.")
        body = service.turn(timeline, "Where is the kettle?").body
    assert body is not None
    return timeline, body


def replays(logs: Path, timeline: str) -> list[TurnReplay]:
    return list(replayed(Past(logs, timeline, None), "arithmetic"))


class TestARecord:
    def test_says_what_the_reply_kept_and_broke_and_where(self, tmp_path: Path) -> None:
        _, body = lived(tmp_path)
        rows = body["adherence"]
        assert [row["instruction"] for row in rows] == body["instructions_shown"]
        assert [row["verdict"] for row in rows] == ["kept", "broken", "unchecked"]
        (commas,) = rows[1]["checks"]
        assert (commas["kind"], commas["verdict"]) == ("no_commas", "broken")
        at = commas["found"]["at"]
        assert commas["found"]["count"] == 1
        assert body["response"][at] == "," == commas["found"]["text"]
        assert [check["kind"] for check in rows[2]["checks"]] == ["unread"]

    def test_never_repeats_the_words_of_an_instruction(self, tmp_path: Path) -> None:
        """Whoever erases an instruction must not find its words in the records of later turns."""
        backend = ScriptedBackend([reply("Nothing of the kind.")])
        with open_service(tmp_path, backend) as service:
            timeline = service.create_timeline("Lin", "Mei").id
            service.timeline(timeline).add_instruction('Always include the word "heliotrope".')
            body = service.turn(timeline, "Hello.").body
        assert body is not None
        assert body["adherence"][0]["verdict"] == "broken"
        assert "heliotrope" not in str(body["adherence"])

    def test_has_no_rows_where_no_instruction_was_shown(self, tmp_path: Path) -> None:
        with open_service(tmp_path) as service:
            timeline = service.create_timeline("Lin", "Mei").id
            service.timeline(timeline).add_instruction("Never use commas.")
            service.intervene(timeline, {"instructions_enabled": False})
            body = service.turn(timeline, "Hello.").body
        assert body is not None and body["adherence"] == []

    def test_is_told_by_arpm_show(self, tmp_path: Path) -> None:
        timeline, _ = lived(tmp_path)
        with open_service(tmp_path) as service:
            story = tell(service.record(timeline + ":2"), service.catalogue)
        assert "broken: Never use commas." in story
        assert "no commas: broken, found 1: “,” at character 34" in story
        assert "unchecked: Always be kind." in story


class TestReplay:
    def test_finds_the_same(self, tmp_path: Path) -> None:
        timeline, _ = lived(tmp_path)
        assert all(turn.same for turn in replays(tmp_path, timeline))

    @pytest.mark.parametrize(
        ("change", "place"),
        [
            (lambda rows: rows[1].update(verdict="kept"), ".verdict"),
            (lambda rows: rows[1]["checks"][0]["found"].update(count=7), ".found.count"),
            (lambda rows: rows.pop(), "adherence (instructions)"),
        ],
    )
    def test_finds_a_record_that_says_something_else(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Any, place: str
    ) -> None:
        import arpm.turn

        inner = arpm.turn.adherence_rows

        def wrong(*given: Any) -> list[dict[str, Any]]:
            rows = inner(*given)
            change(rows)
            return rows

        monkeypatch.setattr(arpm.turn, "adherence_rows", wrong)
        timeline, _ = lived(tmp_path)
        found = [item for turn in replays(tmp_path, timeline) for item in turn.disagreements]
        assert found
        assert any(place in item.place for item in found)

    def test_an_older_record_was_not_checked_and_replays(self, tmp_path: Path) -> None:
        timeline, _ = lived(tmp_path)
        line = (tmp_path / timeline / LEDGER_NAME).read_bytes().splitlines()[-1]
        whole = orjson.loads(line)
        del whole["body"]["adherence"]
        event = read_line(line)
        older = type(event)(event.envelope, orjson.dumps(whole["body"])).event(0, 1)
        assert older.body is not None and older.body["adherence"] is None

    def test_goes_on_when_an_instruction_was_erased(self, tmp_path: Path) -> None:
        backend = ScriptedBackend([reply("As you wish."), reply("No commas here."), reply("It is, yes.")])
        with open_service(tmp_path, backend) as service:
            timeline = service.create_timeline("Lin", "Mei").id
            said = service.turn(timeline, "From now on, never use commas.")
            service.timeline(timeline).add_instruction("Always start with the letter N.")
            body = service.turn(timeline, "Hello.").body
            assert said.body is not None and body is not None
            assert [row["verdict"] for row in body["adherence"]] == ["kept", "kept"]
            what = of_memories(service.catalogue, [said.body["admission"]["memory"]])
            erase(service, what, reach(service, what).confirm)
            story = tell(service.record(timeline + ":2"), service.catalogue)
        turns = replays(tmp_path, timeline)
        assert not any(turn.disagreements for turn in turns)
        assert any("instruction" in reason for turn in turns for reason in turn.skipped)
        assert "never use commas" not in story
        assert "kept: (erased)" in story
