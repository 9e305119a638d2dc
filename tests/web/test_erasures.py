"""Erasing through the API: the reach, the confirmation, the receipt, and that nothing of it is told any more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from tests.support import reply
from tests.test_erasure import CHINESE, ENGLISH, holding
from tests.web.support import GatedBackend, ScriptedBackend, Site, error_of, last, serving

SCHEMAS = json.loads((Path(__file__).parents[2] / "docs" / "openapi.json").read_text("utf-8"))["components"]["schemas"]


def said(site: Site, timeline: str, words: str, key: str | None = None) -> dict[str, Any]:
    """The turn that a message became."""
    return last(site.send(timeline, words, key), "turn")


def memory_of(turn: dict[str, Any]) -> str:
    return str(turn["record"]["body"]["admission"]["memory"])


def reach(site: Site, **what: Any) -> dict[str, Any]:
    answer = site.http.post("/api/v1/erasures/reach", json=what)
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["reach"])


def erased(site: Site, **what: Any) -> dict[str, Any]:
    confirm = reach(site, **what)["confirm"]
    answer = site.http.post("/api/v1/erasures", json={**what, "confirm": confirm, "reason": "asked to"})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_memory_is_looked_at_confirmed_and_gone(logs: Path) -> None:
    with serving(logs, ScriptedBackend([reply("Noted.")])) as site:
        timeline = site.timeline("Lin", "Mei")
        told = said(site, timeline, f"{ENGLISH} {CHINESE}", key="k-1")
        later = said(site, timeline, "What is my locker code?")
        memory = memory_of(told)
        found = reach(site, timeline=timeline, memories=[memory])
        assert set(found) == set(SCHEMAS["reach"]["properties"])
        assert found["confirm"] == "erase 1 memory" and found["events"] == 1
        assert found["memories"][0]["id"] == memory and "Zanzibar" in found["memories"][0]["text"]
        assert [item["turn"] for item in found["prompts"]] == [later["turn"]["id"]]
        assert found["replies"][0]["text"] == "Noted."
        what = {"timeline": timeline, "memories": [memory]}
        refused = site.http.post("/api/v1/erasures", json={**what, "confirm": "erase 2 memories"})
        assert "erase 1 memory" in error_of(refused, 400, "input")["message"]
        done = erased(site, **what)
        receipt = done["receipt"]
        assert (receipt["memories"], receipt["reason"], receipt["events"]) == (
            [memory],
            "asked to",
            [told["turn"]["id"]],
        )
        assert done["reach"]["memories"] == found["memories"]
        assert holding(logs, "Zanzibar", "鹦鹉螺") == []
        # Nothing that the server keeps in memory tells it either.
        shown = [
            site.http.get(f"/api/v1{path}").text
            for path in (
                f"/turns/{told['turn']['id']}",
                f"/turns/{later['turn']['id']}",
                f"/timelines/{timeline}",
                f"/timelines/{timeline}/memories",
                f"/timelines/{timeline}/rounds/1",
                f"/memories/{memory}",
                "/timelines?q=Zanzibar",
            )
        ]
        assert "Zanzibar" not in "".join(shown) and "鹦鹉螺" not in "".join(shown)
        assert [turn["erased"] for turn in site.turns(timeline)] == [True, False]
        assert json.loads(shown[1])["prompt"] is None
        # The key of an erased turn brings nothing back: the message is a new one.
        assert said(site, timeline, "Hello.", key="k-1")["turn"]["round"] == 3
        again = site.http.post("/api/v1/erasures/reach", json=what)
        assert "was erased already" in error_of(again, 400, "input")["message"]


def test_a_session_a_timeline_and_a_document(logs: Path) -> None:
    with serving(logs) as site:
        timeline = site.timeline("Lin", "Mei")
        session = said(site, timeline, ENGLISH)["turn"]["session"]
        site.http.post(f"/api/v1/timelines/{timeline}/sessions", json={})
        said(site, timeline, CHINESE)
        document = site.upload("lockers.md", ENGLISH.encode()).json()["document"]["id"]
        erased(site, document=document)
        assert site.http.get("/api/v1/documents").json()["documents"] == []
        erased(site, timeline=timeline, session=session)
        assert holding(logs, "Zanzibar") == []
        assert reach(site, timeline=timeline, session=session)["events"] == 0
        done = erased(site, timeline=timeline)
        assert done["receipt"]["timeline"] == timeline
        assert holding(logs, "鹦鹉螺") == []
        assert site.http.get("/api/v1/timelines").json()["timelines"] == []
        error_of(site.http.get(f"/api/v1/timelines/{timeline}"), 404, "not_found")
        error_of(site.http.post(f"/api/v1/timelines/{timeline}/messages", json={"message": "Hi"}), 404, "not_found")


def test_replies_that_repeat_it_go_along(logs: Path) -> None:
    script = [reply("Noted."), reply("You said that my locker code is Zanzibar-4471."), reply("A red kettle.")]
    with serving(logs, ScriptedBackend(script)) as site:
        timeline = site.timeline("Lin", "Mei")
        told = said(site, timeline, ENGLISH)
        quoting, apart = said(site, timeline, "What did I say?"), said(site, timeline, "The kettle is red.")
        what = {"timeline": timeline, "memories": [memory_of(told)]}
        found = reach(site, **what)
        assert set(found["replies"][0]) == set(SCHEMAS["reach"]["properties"]["replies"]["items"]["properties"])
        assert [(item["round"], item["shares"], item["goes"]) for item in found["replies"]] == [
            (2, "my locker code is zanzibar-4471.", False),
            (3, None, False),
        ]
        found = reach(site, **what, replies="quoting")
        assert [(item["round"], item["goes"]) for item in found["replies"]] == [(2, True), (3, False)]
        assert found["confirm"] == "erase 2 memories"
        # The words of the other choice confirm nothing.
        wrong = site.http.post("/api/v1/erasures", json={**what, "replies": "quoting", "confirm": "erase 1 memory"})
        error_of(wrong, 400, "input")
        done = erased(site, **what, replies="quoting")
        assert set(done["receipt"]["events"]) == {told["turn"]["id"], quoting["turn"]["id"]}
        assert holding(logs, "Zanzibar") == []
        assert "A red kettle." in site.http.get(f"/api/v1/turns/{apart['turn']['id']}").text
        everything = reach(site, timeline=timeline, memories=[memory_of(apart)], replies="all")
        assert everything["replies"] == [] and everything["copies"] == []


def test_not_while_a_reply_is_being_made(logs: Path) -> None:
    backend = GatedBackend()
    with serving(logs, backend) as site:
        timeline = site.timeline("Lin", "Mei")
        with site.http.stream("POST", f"/api/v1/timelines/{timeline}/messages", json={"message": ENGLISH}):
            assert backend.started.wait(PATIENCE)
            body = {"timeline": timeline, "confirm": "erase the whole timeline"}
            error_of(site.http.post("/api/v1/erasures", json=body), 409, "busy")
            backend.gate.set()


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({}, 400, "input"),
        ({"memories": ["m-000000000000"]}, 400, "input"),
        ({"timeline": "t-000000000000"}, 404, "not_found"),
        ({"timeline": "../x"}, 404, "not_found"),
        ({"timeline": "TIMELINE", "memories": []}, 400, "input"),
        ({"timeline": "TIMELINE", "memories": [1]}, 400, "input"),
        ({"timeline": "TIMELINE", "memories": ["m-000000000000"]}, 404, "not_found"),
        ({"timeline": "TIMELINE", "memories": ["m-1"], "session": "s"}, 400, "input"),
        ({"timeline": "TIMELINE", "session": ""}, 404, "not_found"),
        ({"timeline": "TIMELINE", "document": "d-000000000000"}, 400, "input"),
        ({"document": "d-000000000000"}, 404, "not_found"),
        ({"document": "\0"}, 404, "not_found"),
        ({"timeline": "TIMELINE", "replies": "some"}, 400, "input"),
        ({"timeline": "TIMELINE", "replies": True}, 400, "input"),
    ],
)
def test_bad_input(site: Site, body: dict[str, Any], status: int, kind: str) -> None:
    timeline = site.timeline()
    given = {name: timeline if value == "TIMELINE" else value for name, value in body.items()}
    for path, more in (("/reach", {}), ("", {"confirm": "yes"})):
        error_of(site.http.post(f"/api/v1/erasures{path}", json={**given, **more}), status, kind)
    if "timeline" in given:
        error_of(site.http.post("/api/v1/erasures", json=given), 400, "input")
