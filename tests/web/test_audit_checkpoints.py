"""Checkpoints and proofs over HTTP: signed with the operator's key, kept by a person, held against ledgers later."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from arpm.audit.checkpoint import load
from arpm.ledger import LEDGER_NAME
from tests.support import ScriptedBackend, reply
from tests.web.support import Site, error_of, last, serving

CHECKPOINTS = "/api/v1/audit/checkpoints"


@pytest.fixture
def told(tmp_path: Path) -> Iterator[tuple[Site, str]]:
    """A server with a timeline of two turns and a document."""
    with serving(tmp_path / "logs", ScriptedBackend([reply("In the boat house."), reply("好的。")])) as site:
        site.upload("harbour.md", b"# Boats\n\nAnn keeps her canoe in the boat house.")
        timeline = site.timeline()
        for message in ("Where is my canoe?", "它是蓝色的。"):
            last(site.send(timeline, message), "turn")
        yield site, timeline


def signed(site: Site, *names: str) -> list[dict[str, Any]]:
    """The checkpoints of ledgers, all or those named."""
    response = site.http.post(CHECKPOINTS, json={"ledgers": list(names)} if names else {})
    assert response.status_code == 201, response.text
    return list(response.json()["checkpoints"])


def kept(site: Site, file: str) -> str:
    """What a person downloads."""
    response = site.http.get(f"{CHECKPOINTS}/{file}")
    assert response.status_code == 200
    assert response.headers["Content-Disposition"] == f'attachment; filename="{file}"'
    return response.text


def held(site: Site, **given: Any) -> dict[str, Any]:
    """What a checkpoint or proof comes to."""
    response = site.http.post(f"{CHECKPOINTS}/check", json=given)
    assert response.status_code == 200, response.text
    return dict(response.json()["held"])


def key_of(site: Site) -> dict[str, Any]:
    return dict(site.http.get(CHECKPOINTS).json()["key"])


class TestSigning:
    def test_looking_makes_no_key_and_signing_does(self, told: tuple[Site, str]) -> None:
        """Bug class: a page that is only looked at writes a private key somewhere."""
        site, timeline = told
        path = site.service.settings.key
        assert path is not None
        assert key_of(site) == {"path": str(path), "there": False, "public_key": None, "problem": None}
        assert not path.exists()
        answer = site.http.post(CHECKPOINTS, json={}).json()
        assert answer["made_key"] is True
        assert answer["errors"] == []
        assert {item["ledger"] for item in answer["checkpoints"]} == {"knowledge", timeline}
        assert path.stat().st_mode & 0o077 == 0
        assert key_of(site)["public_key"] == answer["checkpoints"][0]["public_key"]
        assert site.http.post(CHECKPOINTS, json={}).json()["made_key"] is False

    def test_files_are_those_of_the_command_line(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        (row,) = signed(site, timeline)
        tip = site.service.catalogue.checkpoint(timeline)
        assert tip is not None
        assert (row["seq"], row["hash"]) == (tip.seq, tip.hash)
        path = site.service.logs.parent / "checkpoints" / row["file"]
        assert load(path).root == row["root"]
        assert path.read_text("utf-8") == kept(site, row["file"])

    def test_no_earlier_file_is_replaced_and_pages_meet(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        files = [signed(site, timeline)[0]["file"] for _ in range(5)]
        assert len(set(files)) == 5
        seen: list[str] = []
        more = True
        while more:
            page = site.http.get(f"{CHECKPOINTS}?limit=2&after={len(seen)}").json()
            seen += [item["file"] for item in page["checkpoints"]]
            more = page["more"]
        assert sorted(seen) == sorted(files)

    def test_a_key_that_others_can_read_signs_nothing(self, told: tuple[Site, str]) -> None:
        site, _ = told
        signed(site)
        path = site.service.settings.key
        assert path is not None
        path.chmod(0o644)
        assert "others can read the key" in key_of(site)["problem"]
        error = error_of(site.http.post(CHECKPOINTS, json={}), 400, "input")
        assert "chmod 600" in error["message"]

    def test_a_damaged_ledger_is_named_and_the_others_are_signed(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        path = site.service.logs / timeline / LEDGER_NAME
        path.write_bytes(path.read_bytes().replace(b"boat house.", b"goat house.", 1))
        answer = site.http.post(CHECKPOINTS, json={}).json()
        assert [item["ledger"] for item in answer["checkpoints"]] == ["knowledge"]
        assert [item["ledger"] for item in answer["errors"]] == [timeline]
        assert "damaged" in answer["errors"][0]["error"]

    def test_what_is_not_there_is_not_found(self, told: tuple[Site, str]) -> None:
        site, _ = told
        error_of(site.http.post(CHECKPOINTS, json={"ledgers": ["t-000000000000"]}), 404, "not_found")
        error_of(site.http.post(CHECKPOINTS, json={"ledgers": [7]}), 400, "input")
        for name in (
            "..%2fcheckpoint-key.pem",
            "knowledge-000001-20260101T000000.json",
            "checkpoint-key.pem",
            "x.json",
        ):
            assert site.http.get(f"{CHECKPOINTS}/{name}").status_code in (400, 404)

    def test_another_site_signs_nothing(self, told: tuple[Site, str]) -> None:
        site, _ = told
        for name in ("", "/inclusion", "/consistency"):
            answer = site.http.post(f"{CHECKPOINTS}{name}", json={}, headers={"Origin": "http://evil.example"})
            error_of(answer, 403, "cross_site")
        assert key_of(site)["there"] is False


class TestChecking:
    def test_a_ledger_that_goes_on_still_holds_it(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        (row,) = signed(site, timeline)
        last(site.send(timeline, "And now?"), "turn")
        found = held(site, text=kept(site, row["file"]), public_key=row["public_key"])
        assert (found["kind"], found["holds"], found["problems"]) == ("checkpoint", True, [])
        assert found["own_key"] is True
        assert found["events"] > found["seq"] == row["seq"]
        assert held(site, file=row["file"])["holds"] is True

    def test_a_ledger_that_was_cut_short_or_rewritten_does_not(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        (row,) = signed(site, timeline)
        path = site.service.logs / timeline / LEDGER_NAME
        whole = path.read_bytes()
        path.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
        found = held(site, text=kept(site, row["file"]))
        assert found["holds"] is False
        assert "it was cut short" in found["problems"][0]
        path.write_bytes(whole)
        assert held(site, file=row["file"])["holds"] is True

    def test_another_key_is_said(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        (row,) = signed(site, timeline)
        found = held(site, file=row["file"], public_key="ab" * 32)
        assert found["holds"] is False
        assert "signed with the key" in found["problems"][0]
        error_of(site.http.post(f"{CHECKPOINTS}/check", json={"file": row["file"], "public_key": "x"}), 400, "input")

    @pytest.mark.parametrize("field", ["seq", "hash", "root", "at", "timeline", "size", "key"])
    def test_a_changed_file_does_not_hold(self, told: tuple[Site, str], field: str) -> None:
        site, timeline = told
        (row,) = signed(site, timeline)
        document = json.loads(kept(site, row["file"]))
        value = document["checkpoint"][field]
        document["checkpoint"][field] = (
            value + 1 if isinstance(value, int) else "knowledge" if field == "timeline" else f"{value}0"
        )
        answer = site.http.post(f"{CHECKPOINTS}/check", json={"text": json.dumps(document)})
        assert answer.status_code == 400 or answer.json()["held"]["holds"] is False

    def test_a_ledger_that_is_not_here_is_said(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        (row,) = signed(site, timeline)
        text = kept(site, row["file"]).replace(timeline, "t-000000000000")
        error = error_of(site.http.post(f"{CHECKPOINTS}/check", json={"text": text}), 400, "input")
        assert error["message"].startswith("The uploaded file is a checkpoint of 't-000000000000'")

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "no",
            "{}",
            "[]",
            "null",
            '{"checkpoint": null}',
            '{"format": "urn:arpm:inclusion-proof:1"}',
            '{"format": "urn:arpm:consistency-proof:1", "old": {}, "new": 3}',
            "[" * 100_000,
            "9" * 5000,
            "\x00\ufffd" * 40,
            "{" + " " * 1_100_000 + "}",
        ],
        ids=lambda text: text[:24],
    )
    def test_what_is_no_checkpoint_is_refused_in_words(self, told: tuple[Site, str], text: str) -> None:
        for name in ("check", "consistency"):
            error = error_of(told[0].http.post(f"{CHECKPOINTS}/{name}", json={"text": text}), 400, "input")
            assert "checkpoint" in error["message"] or "proof" in error["message"]

    def test_exactly_one_of_file_and_text(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        (row,) = signed(site, timeline)
        for given in ({}, {"file": row["file"], "text": "{}"}):
            error_of(site.http.post(f"{CHECKPOINTS}/check", json=given), 400, "input")
        error_of(site.http.post(f"{CHECKPOINTS}/check", json={"file": "../logs"}), 404, "not_found")

    def test_damaged_files_of_the_folder_are_listed_as_such(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        (row,) = signed(site, timeline)
        path = site.service.logs.parent / "checkpoints" / row["file"]
        path.write_bytes(path.read_bytes()[:40])
        (listed,) = site.http.get(CHECKPOINTS).json()["checkpoints"]
        assert (listed["ledger"], listed["seq"]) == (timeline, None)
        assert "not JSON" in listed["problem"]

    def test_cut_and_garbled_files_never_end_in_a_fault(self, told: tuple[Site, str]) -> None:
        """Bug class: a number where a text belongs, or half a file, ends in a traceback."""
        site, timeline = told
        (row,) = signed(site, timeline)
        event = site.http.get(f"/api/v1/audit/ledgers/{timeline}/events?limit=1").json()["events"][0]["id"]
        proof = site.http.post(f"{CHECKPOINTS}/inclusion", json={"event": event}).json()["proof"]
        rng = random.Random(4)
        for text in (kept(site, row["file"]), json.dumps(proof)):
            for _ in range(120):
                garbled = list(text)
                for _ in range(rng.randint(1, 4)):
                    garbled[rng.randrange(len(garbled))] = rng.choice('0a"[{}:,\\-n ')
                answer = site.http.post(f"{CHECKPOINTS}/check", json={"text": "".join(garbled)})
                assert answer.status_code in (200, 400), ("".join(garbled), answer.text)
                # A change in white space or to the same character may leave it as it was.
                if answer.status_code == 200 and _data(garbled) != json.loads(text):
                    assert answer.json()["held"]["holds"] is False, "".join(garbled)


def _data(garbled: list[str]) -> Any:
    return json.loads("".join(garbled))


class TestProofs:
    def test_an_event_is_proved_to_be_there(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        events = site.http.get(f"/api/v1/audit/ledgers/{timeline}/events?bodies=0").json()["events"]
        for event in events:
            answer = site.http.post(f"{CHECKPOINTS}/inclusion", json={"event": event["id"]}).json()
            assert answer["problems"] == []
            assert (answer["held"]["kind"], answer["held"]["holds"]) == ("inclusion", True)
            assert (answer["held"]["ledger"], answer["held"]["event"]) == (timeline, event["id"])
            # A proof is about the envelope: what the event says is not in it.
            assert "Where is my canoe?" not in json.dumps(answer["proof"])
            assert held(site, text=json.dumps(answer["proof"]))["holds"] is True

    def test_a_proof_of_another_event_does_not_hold(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        first, second = site.http.get(f"/api/v1/audit/ledgers/{timeline}/events?limit=2").json()["events"]
        one, two = (
            site.http.post(f"{CHECKPOINTS}/inclusion", json={"event": item["id"]}).json()["proof"]
            for item in (first, second)
        )
        found = held(site, text=json.dumps({**one, "envelope": two["envelope"]}))
        assert (found["holds"], found["event"]) == (False, second["id"])

    def test_a_ledger_still_begins_with_what_it_held(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        (row,) = signed(site, timeline)
        last(site.send(timeline, "And now?"), "turn")
        answer = site.http.post(f"{CHECKPOINTS}/consistency", json={"file": row["file"]}).json()
        assert (answer["problems"], answer["held"]["kind"], answer["held"]["holds"]) == ([], "consistency", True)
        assert answer["held"]["seq"] > row["seq"]

    def test_of_a_ledger_that_was_cut_there_is_no_such_proof(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        (row,) = signed(site, timeline)
        path = site.service.logs / timeline / LEDGER_NAME
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
        error = error_of(site.http.post(f"{CHECKPOINTS}/consistency", json={"file": row["file"]}), 400, "input")
        assert "There is no such proof" in error["message"]

    def test_unknown_events_are_not_found_and_damaged_ledgers_are_told(self, told: tuple[Site, str]) -> None:
        site, timeline = told
        unknown = site.http.post(f"{CHECKPOINTS}/inclusion", json={"event": "e" * 32})
        error_of(unknown, 404, "not_found")
        path = site.service.logs / timeline / LEDGER_NAME
        path.write_bytes(path.read_bytes().replace(b"boat house.", b"goat house.", 1))
        document = site.http.get("/api/v1/audit/ledgers/knowledge/events").json()["events"][0]["id"]
        answer = site.http.post(f"{CHECKPOINTS}/inclusion", json={"event": document}).json()
        assert answer["held"]["ledger"] == "knowledge"
        named = site.http.post(f"{CHECKPOINTS}/inclusion", json={"event": "e" * 32, "ledgers": [timeline]})
        assert "damaged" in error_of(named, 400, "input")["message"]


def test_a_token_is_needed_as_everywhere(tmp_path: Path) -> None:
    with serving(tmp_path / "logs", token="correct-horse-battery-staple") as site:
        for method, path in (("GET", ""), ("POST", ""), ("POST", "/check"), ("POST", "/inclusion")):
            answer: httpx.Response = site.http.request(method, f"{CHECKPOINTS}{path}", json={})
            error_of(answer, 401, "unauthorised")
