"""The rest of the API behind the pages: answering again, comparing, quarantine, the clock, titles, search."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.patience import PATIENCE
from tests.support import ScriptedBackend, reply
from tests.web.support import GatedBackend, Site, error_of, events, last, serving


class TestAnsweringAgain:
    def test_the_list_holds_the_new_reply_and_the_round_holds_both(self, logs: Path) -> None:
        backend = ScriptedBackend([reply("Old."), reply("New.")])
        with serving(logs, backend) as site:
            timeline = site.timeline()
            old = last(site.send(timeline, "Hello?"), "turn")["turn"]
            with site.http.stream(
                "POST", f"/api/v1/timelines/{timeline}/messages", json={"message": "Hello?", "replaces": old["id"]}
            ) as response:
                new = last(list(events(response)), "turn")
            assert (new["turn"]["replaces"], new["turn"]["branches"]) == (old["id"], 1)
            assert new["siblings"] == [old["id"], new["turn"]["id"]]
            assert [turn["response"] for turn in site.turns(timeline)] == ["New."]
            both = site.http.get(f"/api/v1/timelines/{timeline}/rounds/1").json()["turns"]
            assert [turn["response"] for turn in both] == ["Old.", "New."]
            assert [turn["replaced_by"] for turn in both] == [new["turn"]["id"], None]
            again = {"message": "Hello?", "replaces": old["id"]}
            refused = site.http.post(f"/api/v1/timelines/{timeline}/messages", json=again)
            assert "no reply that holds" in error_of(refused, 400, "input")["message"]

    def test_a_key_is_known_after_a_restart(self, logs: Path) -> None:
        """Keys were kept in memory only: sent again after a restart, a message was answered twice."""
        with serving(logs) as site:
            timeline = site.timeline()
            first = last(site.send(timeline, "Hello?", "key-1"), "turn")
        with serving(logs) as site:
            assert last(site.send(timeline, "Hello?", "key-1"), "turn") == first
            assert len(site.turns(timeline)) == 1
            other = site.http.post(
                f"/api/v1/timelines/{timeline}/messages", json={"message": "Else"}, headers={"Idempotency-Key": "key-1"}
            )
            assert "another message" in error_of(other, 400, "input")["message"]


class TestComparing:
    COLUMNS = ({}, {"preset": "C"}, {"changes": {"history_k": 0, "window_rounds": 0}})

    def compare(self, site: Site, timeline: str, message: str, columns: Any) -> list[tuple[str, dict[str, Any]]]:
        path = f"/api/v1/timelines/{timeline}/compare"
        with site.http.stream("POST", path, json={"message": message, "columns": list(columns)}) as response:
            assert response.status_code == 200, response.read()
            return list(events(response))

    def test_every_column_is_a_whole_turn_and_nothing_is_written(self, logs: Path) -> None:
        with serving(logs) as site:
            timeline = site.timeline()
            site.send(timeline, "The red kettle is in the cellar.")
            site.http.post(f"/api/v1/timelines/{timeline}/sessions", json={})
            ledger = logs / timeline / "ledger.jsonl"
            before, shown = ledger.read_bytes(), site.http.get(f"/api/v1/timelines/{timeline}").json()
            happened = self.compare(site, timeline, "Where is the red kettle?", self.COLUMNS)
            assert last(happened, "done") == {"stopped": False}
            columns = {data["column"]: data["result"] for name, data in happened if name == "column"}
            assert sorted(columns) == [0, 1, 2]
            assert [len(columns[n]["body"]["evidence"]) for n in range(3)] == [1, 0, 0]
            assert columns[1]["differences"] == {}
            assert columns[2]["differences"]["history_k"] == {"from": 10, "to": 0}
            for result in columns.values():
                assert "".join(part["text"] for part in result["prompt"][0]["parts"]) == result["prompt"][0]["content"]
                assert result["body"]["round"] == 2
            assert ledger.read_bytes() == before
            assert site.http.get(f"/api/v1/timelines/{timeline}").json() == shown
            assert last(site.send(timeline, "Go on."), "turn")["turn"]["round"] == 2

    @pytest.mark.parametrize(
        ("columns", "why"),
        [
            ([{}], "two to four"),
            ([{}] * 5, "two to four"),
            ([{}, 3], "two to four"),
            ([{}, {"preset": 3}], "two to four"),
            ([{}, {"colour": "red"}], "two to four"),
            ([{}, {"preset": "Z"}], "unknown preset"),
            ([{}, {"changes": {"history_k": 99}}], "between 0 and 50"),
            ([{}, {"changes": {"history": 9}}], "unknown setting"),
        ],
    )
    def test_what_makes_no_column(self, site: Site, columns: Any, why: str) -> None:
        sent = {"message": "Hello?", "columns": columns}
        refused = site.http.post(f"/api/v1/timelines/{site.timeline()}/compare", json=sent)
        assert why in error_of(refused, 400, "input")["message"]

    def test_one_at_a_time_and_it_can_be_stopped(self, logs: Path) -> None:
        backend = GatedBackend()
        with serving(logs, backend) as site:
            timeline = site.timeline()
            happened: list[tuple[str, dict[str, Any]]] = []
            work = threading.Thread(target=lambda: happened.extend(self.compare(site, timeline, "Hello?", [{}, {}])))
            work.start()
            assert backend.started.wait(PATIENCE)
            with httpx.Client(base_url=site.url, trust_env=False, timeout=PATIENCE) as other:
                path = f"/api/v1/timelines/{timeline}/compare"
                error_of(other.post(path, json={"message": "Hello?", "columns": [{}, {}]}), 409, "busy")
                assert other.post(f"{path}/stop", json={}).json() == {"stopped": True}
            work.join(PATIENCE)
            assert last(happened, "done") == {"stopped": True}
            assert [data["result"]["kind"] for name, data in happened if name == "column"] == ["turn_failed"]
            assert site.turns(timeline) == []


class TestQuarantine:
    def test_by_hand_and_back(self, site: Site) -> None:
        timeline = site.timeline()
        for words in ("The kettle is red.", "The kettle is blue."):
            site.send(timeline, words)
        path = f"/api/v1/timelines/{timeline}"
        dry = site.http.post(f"{path}/quarantine", json={"rounds": [2, 2], "dry_run": True}).json()
        assert (dry["rounds"], dry["count"]) == ([2], 1)
        done = site.http.post(f"{path}/quarantine", json={"rounds": [2, 2], "reason": "wrong"}).json()
        assert done == dry
        held = site.http.get(f"{path}/memories?state=quarantined").json()
        assert [item["message"] for item in held["memories"]] == ["The kettle is blue."]
        detail = site.http.get(f"/api/v1/memories/{done['memories'][0]}").json()
        assert [item["reason"] for item in detail["quarantines"]] == ["wrong"]
        assert site.http.post(f"{path}/release", json={"memories": done["memories"]}).json()["count"] == 1
        assert site.http.get(f"{path}/memories?state=active&limit=1").json()["more"]

    @pytest.mark.parametrize(
        ("body", "why"),
        [
            ({}, "exactly one"),
            ({"model": "x", "session": "s"}, "exactly one"),
            ({"memories": []}, "not empty"),
            ({"memories": [3]}, "list of ids"),
            ({"rounds": [1]}, "two whole numbers"),
            ({"rounds": [1, 2.5]}, "two whole numbers"),
            ({"rounds": [0, 2]}, "two whole numbers"),
            ({"rounds": [True, 2]}, "two whole numbers"),
        ],
    )
    def test_what_names_nothing(self, site: Site, body: Any, why: str) -> None:
        refused = site.http.post(f"/api/v1/timelines/{site.timeline()}/quarantine", json=body)
        assert why in error_of(refused, 400, "input")["message"]

    def test_the_list_says_which_sessions_and_models_there_are(self, site: Site) -> None:
        """A session that holds no memory, and a model that said none, are nothing to choose by."""
        timeline = site.timeline()
        path = f"/api/v1/timelines/{timeline}"
        site.send(timeline, "The kettle is red.")
        site.http.post(f"{path}/sessions", json={})
        for words in ("The kettle is blue.", "The kettle is green."):
            site.send(timeline, words)
        site.http.post(f"{path}/sessions", json={})
        listed = site.http.get(f"{path}/memories?limit=1").json()
        assert [item["count"] for item in listed["sessions"]] == [2, 1]
        assert listed["models"] == [{"name": "scripted-1", "count": 3}]
        for session in listed["sessions"]:
            assert site.http.get(f"{path}/memories?session={session['id']}").json()["count"] == session["count"]
        assert site.http.get(f"{path}/memories?model=scripted-1").json()["count"] == 3

    def test_a_memory_that_is_not_there(self, site: Site) -> None:
        timeline = site.timeline()
        path = f"/api/v1/timelines/{timeline}"
        error_of(site.http.post(f"{path}/quarantine", json={"memories": ["m-000000000000"]}), 404, "not_found")
        error_of(site.http.get("/api/v1/memories/m-000000000000"), 404, "not_found")
        error_of(site.http.get(f"{path}/memories?state=lost"), 400, "input")


class TestTheClock:
    def test_it_is_recorded_in_every_turn(self, logs: Path) -> None:
        with serving(logs) as site:
            timeline = site.timeline()
            assert site.http.get("/api/v1/clock").json()["kind"] == "stepping"
            fixed = site.http.put("/api/v1/clock", json={"kind": "fixed", "at": "2020-02-29T12:00:00+08:00"}).json()
            assert (fixed["kind"], fixed["now"]) == ("fixed", "2020-02-29T12:00:00+08:00")
            turn = last(site.send(timeline, "What day is it?"), "turn")["turn"]
            assert (turn["clock"], turn["at"]) == ("fixed", "2020-02-29T12:00:00+08:00")
            assert "experiment clock" in site.http.get("/").text
            moved = site.http.put("/api/v1/clock", json={"kind": "offset", "offset_seconds": -86400}).json()
            assert moved["name"] == "offset -86400 s"
            assert site.http.put("/api/v1/clock", json={"kind": "system"}).json()["offset_seconds"] is None
            assert "experiment clock" not in site.http.get("/").text

    @pytest.mark.parametrize(
        "body",
        [
            {"kind": "sundial"},
            {"kind": "fixed"},
            {"kind": "fixed", "at": "2020-02-29T12:00:00"},
            {"kind": "fixed", "at": "tomorrow"},
            {"kind": "fixed", "at": "0001-01-01T00:00:00+14:00"},
            {"kind": "offset"},
            {"kind": "offset", "offset_seconds": 1e300},
            {"kind": "offset", "offset_seconds": True},
            {"kind": "offset", "offset_seconds": "9"},
        ],
    )
    def test_what_is_no_clock(self, site: Site, body: Any) -> None:
        error_of(site.http.put("/api/v1/clock", json=body), 400, "input")


class TestTitlesAndSearch:
    def test_a_timeline_is_found_by_its_title_its_names_and_what_was_said(self, logs: Path) -> None:
        with serving(logs, ScriptedBackend([reply("银杏叶黄了。")])) as site:
            first, second = site.timeline("Ann", "Mo"), site.timeline("小林", "Mei")
            site.send(first, "My canoe is 100% green_ish.")
            renamed = site.http.patch(f"/api/v1/timelines/{second}", json={"title": "  The  garden "}).json()
            assert renamed["timeline"]["title"] == "The garden"

            def found(words: str) -> dict[str, Any]:
                known = site.http.get("/api/v1/timelines", params={"q": words}).json()["timelines"]
                return {item["id"]: item["match"] for item in known}

            assert found("GARDEN") == {second: None}
            assert found("小林") == {second: None}
            assert found("银杏") == {first: {"round": 1, "text": "银杏叶黄了。"}}
            assert found("100% green_") == {first: {"round": 1, "text": "My canoe is 100% green_ish."}}
            assert found("1000") == {}
            assert site.http.patch(f"/api/v1/timelines/{second}", json={"title": ""}).json()["timeline"]["title"] == ""
            long = site.http.patch(f"/api/v1/timelines/{second}", json={"title": "x" * 201})
            assert "201" in error_of(long, 400, "input")["message"]

    def test_an_instruction_is_put_in_other_words(self, site: Site) -> None:
        timeline = site.timeline()
        path = f"/api/v1/timelines/{timeline}/instructions"
        given = site.http.post(path, json={"text": "Be brief."}).json()["id"]
        changed = site.http.post(f"{path}/{given}/replace", json={"text": "Be very brief."}).json()
        assert [(item["text"], item["active"]) for item in changed["instructions"]] == [
            ("Be brief.", False),
            ("Be very brief.", True),
        ]
        assert changed["instructions"][0]["retired_reason"] == f"replaced by {changed['id']}"
        error_of(site.http.post(f"{path}/{given}/replace", json={"text": "Again."}), 404, "not_found")
        error_of(site.http.post(f"{path}/{changed['id']}/replace", json={"text": " "}), 400, "input")

    def test_a_document_is_read_in_pages(self, site: Site) -> None:
        text = "\n\n".join(f"# Part {n}\n\nLantern {n} hangs by the door. " + "It glows. " * 40 for n in range(5))
        document = site.upload("lanterns.md", text.encode()).json()["document"]["id"]
        first = site.http.get(f"/api/v1/documents/{document}?limit=2").json()
        rest = site.http.get(f"/api/v1/documents/{document}?after=2").json()
        assert (first["more"], rest["more"], first["count"]) == (True, False, 2 + len(rest["chunks"]))
        chunk = first["chunks"][0]["id"]
        detail = site.http.get(f"/api/v1/memories/{chunk}").json()
        assert (detail["origin"]["document"], detail["memory"]["uses"]) == (document, 0)
