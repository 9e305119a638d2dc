"""The audit side of the API: ledgers, their events, verify, replay, counterfactual, diff, lives, statistics."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arpm.ledger import LEDGER_NAME
from arpm.web.audits import Audits
from arpm.web.context import context_of
from arpm.web.ledgers import Ledgers
from tests.patience import PATIENCE
from tests.support import ScriptedBackend, reply
from tests.web.support import Events, Site, error_of, events, last, serving

AUDIT = "/api/v1/audit"


@pytest.fixture
def told(tmp_path: Path) -> Iterator[tuple[Site, str]]:
    """A server with a timeline of three turns and a document."""
    script = [reply("In the boat house.", "E1", "knowledge", "E1 says so."), reply("Noted."), reply("The blue one.")]
    with serving(tmp_path / "logs", ScriptedBackend(script)) as site:
        site.upload("harbour.md", b"# Boats\n\nAnn keeps her canoe in the boat house.")
        timeline = site.timeline()
        for message in ("Where is my canoe?", "It is blue.", "Which canoe is mine?"):
            last(site.send(timeline, message), "turn")
        yield site, timeline


def run(site: Site, kind: str, **asked: Any) -> Events:
    """What a run tells."""
    with site.http.stream("POST", f"{AUDIT}/{kind}", json=asked) as response:
        assert response.status_code == 200, response.read()
        return list(events(response))


def named(happened: Events, name: str) -> list[dict[str, Any]]:
    return [data for each, data in happened if each == name]


def ledger_of(site: Site, name: str) -> Path:
    return site.service.logs / name / LEDGER_NAME


def flipped(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


class TestLedgers:
    def test_every_ledger_is_listed_with_what_it_holds(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        answer = site.http.get(f"{AUDIT}/ledgers").json()
        knowledge, conversation = answer["ledgers"]
        assert (knowledge["name"], knowledge["kind"]) == ("knowledge", "knowledge")
        assert (conversation["name"], conversation["user"], conversation["character"]) == (timeline, "Ann", "Mo")
        tip = site.service.catalogue.checkpoint(timeline)
        assert tip is not None
        assert (conversation["events"], conversation["tip"]) == (tip.seq, tip.hash)
        assert conversation["verified"] is conversation["checkpoint"] is None
        assert answer["runs"] == {"verify": None, "replay": None, "counterfactual": None}

    def test_events_come_newest_first_in_pages_that_meet(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        seen: list[dict[str, Any]] = []
        before = 2**49
        while True:
            page = site.http.get(f"{AUDIT}/ledgers/{timeline}/events?limit=2&before={before}").json()
            seen += page["events"]
            if not page["more"]:
                break
            before = page["events"][-1]["place"]
        assert [event["seq"] for event in seen] == list(range(page["count"], 0, -1))
        lines = [json.loads(line) for line in ledger_of(site, timeline).read_text("utf-8").splitlines()]
        assert [event["hash"] for event in reversed(seen)] == [line["hash"] for line in lines]
        assert [event["body"] for event in reversed(seen)] == [line["body"] for line in lines]

    def test_events_of_a_kind_without_what_they_say(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        page = site.http.get(f"{AUDIT}/ledgers/{timeline}/events?kind=turn&bodies=0").json()
        assert [event["round"] for event in page["events"]] == [3, 2, 1]
        assert page["kinds"]["turn"] == page["count"] == 3
        assert all(event["body"] is None and not event["erased"] for event in page["events"])
        assert site.http.get(f"{AUDIT}/ledgers/{timeline}/events?kind=nothing").json()["events"] == []

    def test_a_damaged_line_is_shown_with_what_is_wrong(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        flipped(ledger_of(site, timeline), b"Where is my canoe?", b"Where is my kanoe?")
        page = site.http.get(f"{AUDIT}/ledgers/{timeline}/events?kind=turn").json()
        assert [bool(event["problem"]) for event in page["events"]] == [False, False, True]
        assert "body" in page["events"][-1]["problem"]

    @pytest.mark.parametrize("name", ["t-000000000000", "knowledge/..", "cache", "%2e%2e"])
    def test_what_is_no_ledger_is_not_found(self, told: tuple[Site, str], name: str) -> None:
        response = told[0].http.get(f"{AUDIT}/ledgers/{name}/events")
        assert response.status_code in (400, 404), response.text


class TestTheIndexOfALedger:
    def test_grows_with_the_ledger_and_begins_anew_after_an_erasure(self, told: tuple[Site, str]) -> None:
        """Bug class: offsets of the old file are used for the new one, and pages show pieces of lines."""
        site, timeline = told
        ledgers = Ledgers(site.service.logs)
        first = ledgers.outline(timeline)
        last(site.send(timeline, "And now?"), "turn")
        assert ledgers.outline(timeline).events > first.events
        memory = site.http.get(f"/api/v1/timelines/{timeline}/memories").json()["memories"][-1]["id"]
        what = {"timeline": timeline, "memories": [memory]}
        confirm = site.http.post("/api/v1/erasures/reach", json=what).json()["reach"]["confirm"]
        assert site.http.post("/api/v1/erasures", json={**what, "confirm": confirm}).status_code == 200
        after = ledgers.outline(timeline)
        assert after.erased > 0
        page = ledgers.page(timeline, 2**49, 100)
        assert [event["problem"] for event in page.events] == [None] * after.events
        assert sum(event["erased"] for event in page.events) == after.erased

    def test_an_unfinished_last_line_does_not_count(self, tmp_path: Path, told: tuple[Site, str]) -> None:
        site, timeline = told
        copy = tmp_path / "copy" / timeline
        copy.mkdir(parents=True)
        data = ledger_of(site, timeline).read_bytes()
        (copy / LEDGER_NAME).write_bytes(data + b'{"at":')
        outline = Ledgers(copy.parent).outline(timeline)
        assert (outline.events, outline.torn_bytes) == (data.count(b"\n"), 6)

    def test_an_empty_ledger_has_no_last_line(self, tmp_path: Path) -> None:
        folder = tmp_path / "t-0123456789ab"
        folder.mkdir()
        (folder / LEDGER_NAME).touch()
        outline = Ledgers(tmp_path).outline(folder.name)
        assert (outline.events, outline.last, outline.torn_bytes) == (0, None, 0)


class TestVerify:
    def test_good_ledgers_are_good_and_remembered_as_such(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        happened = run(site, "verify")
        assert last(happened, "done") == {"stopped": False}
        rows = {row["name"]: row for row in named(happened, "ledger")}
        assert set(rows) == {"knowledge", timeline}
        assert all(row["state"] == "good" and not row["findings"] for row in rows.values())
        assert (rows[timeline]["turns"], rows[timeline]["wrong"]) == (3, 0)
        assert named(happened, "progress")[-1] == {"phase": "turns", "done": 3, "total": 3}
        listed = site.http.get(f"{AUDIT}/ledgers").json()
        assert [row["verified"]["state"] for row in listed["ledgers"]] == ["good", "good"]
        assert listed["runs"]["verify"]["running"] is False

    def test_damage_is_named(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        flipped(ledger_of(site, timeline), b"In the boat house.", b"In the goat house.")
        (row,) = named(run(site, "verify", ledgers=[timeline]), "ledger")
        assert row["state"] == "disagrees"
        assert row["findings"][0]["kind"] == "body"
        (state,) = [item for item in site.http.get(f"{AUDIT}/ledgers").json()["ledgers"] if item["name"] == timeline]
        assert state["verified"]["state"] == "disagrees"

    def test_a_ledger_that_was_cut_short_shows_against_its_checkpoint(
        self, told: tuple[Site, str], tmp_path: Path
    ) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        from arpm.audit.chain import read_chain
        from arpm.audit.checkpoint import sign, write_new
        from arpm.clock import SystemClock

        site, timeline = told
        path = ledger_of(site, timeline)
        signed = sign(read_chain(path), Ed25519PrivateKey.generate(), SystemClock().now())
        folder = tmp_path / "checkpoints"
        folder.mkdir()
        write_new(folder / f"{timeline}-{signed.seq:06}-20260101T000000.json", signed.encoded())
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
        audits = Audits(site.service, tmp_path)
        happened = [item for item in audits.verify([timeline]).follow(5) if item is not None]
        (row,) = [item.data for item in happened if item.name == "ledger"]
        assert row["state"] == "disagrees"
        assert row["checkpoint"]["seq"] == signed.seq
        assert "truncated" in [finding["kind"] for finding in row["findings"]]
        audits.close()

    def test_an_unknown_ledger_is_not_found(self, told: tuple[Site, str]) -> None:
        response = told[0].http.post(f"{AUDIT}/verify", json={"ledgers": ["t-000000000000"]})
        error_of(response, 404, "not_found")
        error_of(told[0].http.post(f"{AUDIT}/verify", json={"ledgers": [1]}), 400, "input")


class TestReplay:
    @pytest.mark.parametrize("depth", ["arithmetic", "retrieval"])
    def test_recorded_turns_come_out_the_same(self, told: tuple[Site, str], depth: str) -> None:
        site, timeline = told
        before = sorted(path for path in site.service.logs.rglob("*") if path.is_file())
        happened = run(site, "replay", timelines=[timeline], depth=depth)
        (row,) = named(happened, "timeline")
        assert (row["turns"], row["same"], row["error"]) == (3, 3, None)
        assert named(happened, "turn") == []
        assert sorted(path for path in site.service.logs.rglob("*") if path.is_file()) == before

    def test_bad_depths_and_timelines_are_refused(self, told: tuple[Site, str]) -> None:
        site, _ = told
        error_of(site.http.post(f"{AUDIT}/replay", json={"depth": "deep"}), 400, "input")
        error_of(site.http.post(f"{AUDIT}/replay", json={"timelines": ["t-000000000000"]}), 404, "not_found")


class TestCounterfactual:
    def test_what_would_change_is_told_turn_by_turn_and_in_all(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        happened = run(site, "counterfactual", timelines=[timeline], changes={"knowledge_enabled": False})
        (whole,) = named(happened, "summary")
        shown = named(happened, "shift")
        assert whole["turns"] == 3
        assert whole["changed"] == len(shown) > 0
        assert whole["lost"] == sum(len(shift["lost"]) for shift in shown) > 0
        assert set(whole["overlap"]) == {"1", "3", "5", "10"}
        assert all(shift["timeline"] == timeline for shift in shown)

    def test_nothing_changed_and_unknown_settings_are_refused(self, told: tuple[Site, str]) -> None:
        site, _ = told
        error_of(site.http.post(f"{AUDIT}/counterfactual", json={}), 400, "input")
        for asked in ({"preset": "none"}, {"changes": {"nothing": 1}}, {"changes": {"history_k": -1}}):
            error_of(site.http.post(f"{AUDIT}/counterfactual", json=asked), 400, "input")


class TestRuns:
    def test_the_last_run_can_be_followed_again(self, told: tuple[Site, str]) -> None:
        site, _ = told
        error_of(site.http.get(f"{AUDIT}/verify"), 404, "not_found")
        happened = run(site, "verify")
        with site.http.stream("GET", f"{AUDIT}/verify") as response:
            assert list(events(response)) == happened
        assert site.http.post(f"{AUDIT}/verify/stop").json() == {"stopped": False}

    def test_one_at_a_time_and_stopped_by_hand(self, told: tuple[Site, str], monkeypatch: pytest.MonkeyPatch) -> None:
        site, _ = told
        begun, go_on = threading.Event(), threading.Event()

        def slow(*_: object) -> int:
            begun.set()
            assert go_on.wait(PATIENCE)
            return 3

        monkeypatch.setattr("arpm.web.audits.turns_in", slow)
        with site.http.stream("POST", f"{AUDIT}/replay", json={"depth": "arithmetic"}) as response:
            assert begun.wait(PATIENCE)
            error_of(site.http.post(f"{AUDIT}/replay", json={}), 409, "busy")
            assert site.http.get(f"{AUDIT}/ledgers").json()["runs"]["replay"]["running"] is True
            assert site.http.post(f"{AUDIT}/replay/stop").json() == {"stopped": True}
            go_on.set()
            assert last(list(events(response)), "done") == {"stopped": True}
        assert last(run(site, "replay", depth="arithmetic"), "done") == {"stopped": False}

    def test_an_unforeseen_fault_ends_the_run_in_the_one_shape(
        self, told: tuple[Site, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        site, _ = told

        def broken(*_: object, **__: object) -> None:
            raise RuntimeError("no")

        monkeypatch.setattr("arpm.web.audits.read_folder", broken)
        assert last(run(site, "verify"), "failed")["error"]["kind"] == "internal"

    def test_after_an_erasure_nothing_of_a_run_is_left(self, told: tuple[Site, str]) -> None:
        """Bug class: an erased message lives on in what an earlier run told."""
        site, timeline = told
        run(site, "counterfactual", changes={"knowledge_enabled": False})
        memory = site.http.get(f"/api/v1/timelines/{timeline}/memories").json()["memories"][-1]["id"]
        what = {"timeline": timeline, "memories": [memory]}
        confirm = site.http.post("/api/v1/erasures/reach", json=what).json()["reach"]["confirm"]
        site.http.post("/api/v1/erasures", json={**what, "confirm": confirm})
        error_of(site.http.get(f"{AUDIT}/counterfactual"), 404, "not_found")
        assert all(context_of(site.app).audits.last(kind) is None for kind in ("verify", "replay", "counterfactual"))


class TestReading:
    def test_two_turns_side_by_side(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        found = site.http.get(f"{AUDIT}/diff?first={timeline}:1&second={timeline}:3").json()
        assert found["same"] is False
        assert found["facts"]["message"] == ["Where is my canoe?", "Which canoe is mine?"]
        assert found["replies"] == ["In the boat house.", "The blue one."]
        error_of(site.http.get(f"{AUDIT}/diff?first={timeline}:1"), 400, "input")
        error_of(site.http.get(f"{AUDIT}/diff?first={timeline}:1&second={timeline}:9"), 404, "not_found")

    def test_the_life_of_a_memory(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        memory = site.http.get(f"/api/v1/timelines/{timeline}/memories").json()["memories"][-1]["id"]
        found = site.http.get(f"/api/v1/timelines/{timeline}/lives?memory={memory}").json()
        assert [item["round"] for item in found["sightings"]] == [2, 3]
        assert found["count"] == 2
        error_of(site.http.get(f"/api/v1/timelines/{timeline}/lives"), 400, "input")
        error_of(site.http.get(f"/api/v1/timelines/t-000000000000/lives?memory={memory}"), 404, "not_found")

    def test_statistics_by_stage(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        found = site.http.get(f"{AUDIT}/statistics?timeline={timeline}&stage=2").json()
        assert [(row["stage"], row["replies"]) for row in found["rows"]] == [("1–2", 2), ("3–4", 1)]
        assert found["rows"][0]["model"] == "scripted-1"
        assert len(site.http.get(f"{AUDIT}/statistics?stage=all").json()["rows"]) == 1
        for stage in ("0", "-1", "x", "9" * 30):
            error_of(site.http.get(f"{AUDIT}/statistics?stage={stage}"), 400, "input")
        error_of(site.http.get(f"{AUDIT}/statistics?timeline=t-000000000000"), 404, "not_found")

    def test_what_can_be_reviewed_and_what_somebody_said(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        turns = site.turns(timeline)
        given = {"reviewer": "Ada 王", "support": "no", "correct": "yes", "reason": "It is so."}
        assert site.http.post(f"/api/v1/turns/{turns[1]['id']}/reviews", json=given).status_code == 201
        path = f"/api/v1/timelines/{timeline}/replies"
        mine = site.http.get(path, params={"reviewer": "Ada 王"}).json()["replies"]
        assert [row["turn"] for row in mine] == [turn["id"] for turn in turns]
        assert [(row["support"], row["correct"]) for row in mine] == [(None, None), ("no", "yes"), (None, None)]
        assert all(row["support"] is None for row in site.http.get(path).json()["replies"])
        error_of(site.http.get("/api/v1/timelines/t-000000000000/replies"), 404, "not_found")
