"""Sending messages: what a browser, two browsers, and a browser that goes away see of a turn."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from arpm.generation.base import GenerationError
from arpm.stages import STAGES
from arpm.web import sse
from tests.patience import PATIENCE, until
from tests.support import ScriptedBackend, reply
from tests.web.support import Events, GatedBackend, Site, error_in, error_of, events, last, serving

EXCHANGES = [
    (
        "Where do I keep my canoe?",
        "Your canoe is in the boat house.",
        "harbour.txt",
        "Ann keeps her canoe in the boat house.",
    ),
    ("我的独木舟放在哪里？", "你的独木舟放在船屋里。", "港口.md", "安的独木舟一直放在船屋里。"),
]


class TestAMessageIsAnswered:
    @pytest.mark.parametrize(("message", "answer", "name", "text"), EXCHANGES, ids=["English", "Chinese"])
    def test_streamed_recorded_and_explained(self, logs: Path, message: str, answer: str, name: str, text: str) -> None:
        backend = ScriptedBackend([reply(answer, "E1", "knowledge", "E1 says so.")])
        with serving(logs, backend) as site:
            assert site.upload(name, text.encode()).status_code == 201
            timeline = site.timeline()
            happened = site.send(timeline, message)
            assert [data["name"] for event, data in happened if event == "stage"] == list(STAGES)
            assert "".join(data["text"] for event, data in happened if event == "text").strip() == answer
            view = last(happened, "turn")
            assert view == site.http.get(f"/api/v1/turns/{view['turn']['id']}").json()
            assert view == site.http.get(f"/api/v1/turns/{timeline}:1").json()
        body = view["record"]["body"]
        assert (body["message"], body["response"]) == (message, answer)
        assert [item["label"] for item in body["evidence"]] == ["E1"]
        memory = view["memories"][body["evidence"][0]["memory"]]
        assert (memory["text"], memory["source"]) == (text, name)
        assert view["turn"]["cited"] == view["turn"]["bound"] == ["E1"]
        asked = {"role": "user", "content": message, "parts": [{"origin": "message", "text": message}]}
        assert view["prompt"][-1] == asked
        assert text in view["prompt"][0]["content"]

    def test_every_candidate_comes_with_its_scores(self, site: Site) -> None:
        timeline = site.timeline()
        site.send(timeline, "My sister lives in Lisbon.")
        view = last(site.send(timeline, "Where does my sister live?"), "turn")
        row = view["record"]["body"]["candidates"]["experience"][0]
        scores = {"cosine", "similarity", "bm25", "fused", "base", "weight", "final", "rank", "kept", "reason", "ranks"}
        assert scores <= set(row)
        assert view["memories"][row["memory"]]["round"] == 1

    def test_nothing_of_the_analysis_is_streamed(self, site: Site) -> None:
        happened = site.send(site.timeline(), "Hello.")
        streamed = "".join(data["text"] for name, data in happened if name == "text")
        assert streamed.strip() == "Understood."

    def test_a_repair_withdraws_what_was_shown(self, logs: Path) -> None:
        """Bug class: the broken first try stays on the page in front of the repaired one."""
        backend = ScriptedBackend(["<analysis>need: none</analysis><response></response>", reply("Better.")])
        with serving(logs, backend) as site:
            happened = site.send(site.timeline(), "Hello.")
        place = [name for name, _ in happened].index("restart")
        assert "".join(data["text"] for name, data in happened[place:] if name == "text").strip() == "Better."
        assert last(happened, "turn")["turn"]["repairs"] == ["asked"]


class TestAFailedTurnKeepsTheWords:
    def test_model_down_then_up(self, logs: Path) -> None:
        down = GenerationError("unreachable", "The model's server is not running.", partial="Perhaps")
        with serving(logs, ScriptedBackend([down, reply("Here again.")])) as site:
            timeline = site.timeline()
            failed = last(site.send(timeline, "Are you there?"), "failed")
            assert error_in({"error": failed["error"]}, "turn_failed")["detail"] == {"cause": "unreachable"}
            (turn,) = site.turns(timeline)
            assert (turn["id"], turn["kind"], turn["message"]) == (failed["turn"], "turn_failed", "Are you there?")
            assert turn["error"]["text"] == "The model's server is not running."
            assert site.http.get(f"/api/v1/timelines/{timeline}/memories").json()["memories"] == []
            assert last(site.send(timeline, "Are you there?"), "turn")["turn"]["response"] == "Here again."
            assert [turn["kind"] for turn in site.turns(timeline)] == ["turn_failed", "turn"]

    def test_stopped_by_the_person(self, logs: Path) -> None:
        with serving(logs, backend := GatedBackend()) as site:
            timeline = site.timeline()
            sending = _Sending(site, timeline, "Tell me a long story.", backend)
            assert site.http.post(f"/api/v1/timelines/{timeline}/stop").json() == {"stopped": True}
            failed = last(sending.result(), "failed")
            assert failed["error"]["detail"] == {"cause": "cancelled"}
            (turn,) = site.turns(timeline)
            assert (turn["kind"], turn["message"]) == ("turn_failed", "Tell me a long story.")
            record = site.http.get(f"/api/v1/turns/{failed['turn']}").json()["record"]["body"]
            assert "One moment." in record["partial"]
            assert site.http.post(f"/api/v1/timelines/{timeline}/stop").json() == {"stopped": False}

    def test_an_unforeseen_fault_ends_the_stream(self, logs: Path, caplog: pytest.LogCaptureFixture) -> None:
        """Bug class: a fault inside the turn's thread leaves the browser waiting for ever."""

        def fault(_request: object) -> str:
            raise RuntimeError("the secret inside")

        with serving(logs, ScriptedBackend([fault, reply("Well again.")])) as site:
            timeline = site.timeline()
            failed = last(site.send(timeline, "Hello."), "failed")
            error = error_in({"error": failed["error"]}, "internal")
            assert "secret" not in error["message"]
            assert failed["turn"] is None
            assert last(site.send(timeline, "Hello."), "turn")
        assert "the secret inside" in caplog.text


class TestTwoTabs:
    def test_the_second_message_is_refused_and_the_first_goes_on(self, logs: Path) -> None:
        with serving(logs, backend := GatedBackend()) as site:
            timeline, other = site.timeline(), site.timeline()
            sending = _Sending(site, timeline, "First.", backend)
            path = f"/api/v1/timelines/{timeline}"
            error_of(site.http.post(f"{path}/messages", json={"message": "Second."}), 409, "busy")
            error_of(site.http.post(f"{path}/sessions", json={}), 409, "busy")
            backend.gate.set()
            assert last(site.send(other, "Elsewhere."), "turn")
            assert last(sending.result(), "turn")["turn"]["message"] == "First."
            assert [turn["message"] for turn in site.turns(timeline)] == ["First."]

    def test_a_tab_opened_meanwhile_follows_from_the_beginning(self, logs: Path) -> None:
        with serving(logs, backend := GatedBackend()) as site:
            timeline = site.timeline()
            path = f"/api/v1/timelines/{timeline}"
            error_of(site.http.get(f"{path}/messages/running"), 404, "not_found")
            sending = _Sending(site, timeline, "Hello.", backend)
            assert site.http.get(path).json()["running"] == {"message": "Hello.", "replaces": None}
            with site.http.stream("GET", f"{path}/messages/running") as response:
                backend.gate.set()
                followed = list(events(response))
            assert followed == sending.result()


class TestADroppedConnection:
    def test_the_turn_is_committed_all_the_same(self, logs: Path) -> None:
        """Bug class: the turn ran inside the request, and closing the tab killed it half-way."""
        with serving(logs, backend := GatedBackend()) as site:
            timeline = site.timeline()
            path = f"/api/v1/timelines/{timeline}/messages"
            with site.http.stream("POST", path, json={"message": "Remember this."}) as response:
                assert any(line.startswith("event: text") for line in response.iter_lines())
            backend.gate.set()
            until(lambda: [turn["kind"] for turn in site.turns(timeline)] == ["turn"])
            assert site.http.get(f"/api/v1/timelines/{timeline}/memories").json()["count"] == 1

    def test_its_place_among_the_streams_is_free_again(self, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Bug class: each closed tab keeps one of the server's threads, until no page is answered any more."""
        monkeypatch.setattr(sse, "_free", threading.BoundedSemaphore(1))
        with serving(logs, backend := GatedBackend()) as site:
            timeline = site.timeline()
            path = f"/api/v1/timelines/{timeline}/messages"
            with site.http.stream("POST", path, json={"message": "Hello."}) as response:
                # Kept, since an iterator that is thrown away closes its connection, and the place is free at once.
                lines = response.iter_lines()
                assert next(lines)
                assert backend.started.wait(PATIENCE)
                error_of(site.http.get(f"{path}/running"), 503, "busy")
                assert site.http.get("/healthz").status_code == 200
            backend.gate.set()
            until(lambda: site.http.post(path, json={"message": "Again."}).status_code == 200)

    def test_a_retry_under_the_same_key_is_not_sent_twice(self, logs: Path) -> None:
        with serving(logs, backend := GatedBackend()) as site:
            timeline = site.timeline()
            first = _Sending(site, timeline, "Once only.", backend, key="k-1")
            retried = _Sending(site, timeline, "Once only.", backend, key="k-1")
            backend.gate.set()
            assert first.result() == retried.result() == site.send(timeline, "Once only.", key="k-1")
            assert len(site.turns(timeline)) == 1
            assert last(site.send(timeline, "Once only.", key="k-2"), "turn")["turn"]["round"] == 2

    def test_a_key_belongs_to_one_message_and_one_timeline(self, site: Site) -> None:
        timeline = site.timeline()
        site.send(timeline, "One.", key="same")
        path = f"/api/v1/timelines/{timeline}/messages"
        error_of(site.http.post(path, json={"message": "Two."}, headers={"Idempotency-Key": "same"}), 400, "input")
        assert last(site.send(site.timeline(), "One.", key="same"), "turn")
        for bad in ("", "k" * 129, "two words"):
            response = site.http.post(path, json={"message": "Two."}, headers={"Idempotency-Key": bad})
            assert error_of(response, 400, "input")["detail"] == {"place": "Idempotency-Key"}
        assert len(site.turns(timeline)) == 1


class TestStoppingTheServer:
    def test_a_running_turn_is_recorded_and_its_stream_ends(self, logs: Path) -> None:
        with serving(logs, backend := GatedBackend()) as site:
            timeline = site.timeline()
            sending = _Sending(site, timeline, "Cut short.", backend)
            site.server.stop()
            assert last(sending.result(), "failed")["error"]["detail"] == {"cause": "cancelled"}
            assert [turn.kind for turn in site.service.catalogue.turns(timeline)] == ["turn_failed"]


class _Sending:
    """A message sent from a thread, whose reply has begun."""

    def __init__(self, site: Site, timeline: str, message: str, backend: GatedBackend, key: str | None = None) -> None:
        self._happened: list[Events] = []
        self._thread = threading.Thread(target=lambda: self._happened.append(site.send(timeline, message, key)))
        self._thread.start()
        assert backend.started.wait(PATIENCE)

    def result(self) -> Events:
        self._thread.join(PATIENCE)
        return self._happened[0]
