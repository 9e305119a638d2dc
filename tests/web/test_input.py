"""Bad input over HTTP: each piece a clear error that names the place, and nothing lost or changed."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest

from arpm.service import Service
from arpm.turn import MESSAGE_LIMIT
from arpm.web.body import JSON_LIMIT
from tests.web.support import Site, error_in, error_of, last

TIMELINES = "/api/v1/timelines"
GOOD = {"user": "Ann", "character": "Mo"}


class TestJsonBodies:
    FAULTS = (
        ({}, "body.user"),
        ({"user": "Ann"}, "body.character"),
        ({**GOOD, "personna": "x"}, "body.personna"),
        ({**GOOD, "user": 7}, "body.user"),
        ({**GOOD, "user": None}, "body.user"),
        ({**GOOD, "user": ["Ann"]}, "body.user"),
        ({**GOOD, "persona": True}, "body.persona"),
        ({**GOOD, "preset": 1.5}, "body.preset"),
        ({**GOOD, "x\ud800": 1}, "body.x\\ud800"),
    )

    @pytest.mark.parametrize(("given", "place"), FAULTS, ids=[place for _, place in FAULTS])
    def test_the_field_is_named(self, site: Site, given: dict[str, Any], place: str) -> None:
        response = site.http.post(TIMELINES, content=json.dumps(given), headers={"Content-Type": "application/json"})
        error = error_of(response, 400, "input")
        assert error["detail"] == {"place": place}
        assert error["message"].startswith(place)

    VALUES = (
        ({"user": " ", "character": "Mo"}, "user name is empty"),
        ({"user": "A" * 201, "character": "Mo"}, "200"),
        ({**GOOD, "persona": "x" * 20_001}, "20,000"),
        ({**GOOD, "timezone": "Mars/Base"}, "Mars/Base"),
        ({**GOOD, "timezone": "../../etc/passwd"}, "timezone"),
        ({**GOOD, "timezone": "UTC\x00"}, "timezone"),
        ({**GOOD, "preset": "Z"}, "there are default"),
    )

    @pytest.mark.parametrize(("given", "words"), VALUES, ids=[words for _, words in VALUES])
    def test_the_value_is_judged(self, site: Site, given: dict[str, Any], words: str) -> None:
        assert words in error_of(site.http.post(TIMELINES, json=given), 400, "input")["message"]

    def test_an_unknown_model_names_those_there_are(self, site: Site) -> None:
        response = site.http.post(TIMELINES, json={**GOOD, "model": "gpt\ud800".encode("utf-8", "replace").decode()})
        assert "scripted" in error_of(response, 404, "not_found")["message"]

    BROKEN = (
        b"",
        b"{",
        b"\xff\xfe",
        b'{"user": NaN}',
        b"[1]",
        b'"x"',
        b"null",
        b"[" * 100_000,
        b"1" * 5_000,
        b'{"a":"\xed\xa0\x80"}',
    )

    @pytest.mark.parametrize("data", BROKEN, ids=[repr(data[:12]) for data in BROKEN])
    def test_what_is_no_json_object(self, site: Site, data: bytes) -> None:
        response = site.http.post(TIMELINES, content=data, headers={"Content-Type": "application/json"})
        assert response.status_code == 400
        error_in(response.json(), response.json()["error"]["kind"])

    def test_a_body_over_the_limit(self, site: Site) -> None:
        response = site.http.post(
            TIMELINES, content=b" " * (JSON_LIMIT + 1), headers={"Content-Type": "application/json"}
        )
        assert f"{JSON_LIMIT:,}" in error_of(response, 413, "too_large")["message"]

    def test_unpaired_surrogates_and_nul_become_visible_marks(self, site: Site) -> None:
        """Bug class: text that cannot be stored as UTF-8 stops the ledger in the middle of a turn."""
        data = r'{"user": "A\ud800n", "character": "M\u0000o", "persona": "\udfff"}'
        made = site.http.post(TIMELINES, content=data, headers={"Content-Type": "application/json"}).json()["timeline"]
        assert (made["user"], made["character"], made["persona"]) == ("A�n", "M�o", "�")
        path = f"{TIMELINES}/{made['id']}"
        headers = {"Content-Type": "application/json"}
        added = site.http.post(f"{path}/instructions", content=r'{"text": "Always \udc00 rhyme"}', headers=headers)
        assert added.json()["instructions"][0]["text"] == "Always � rhyme"
        response = site.http.post(f"{path}/messages", content=r'{"message": "你\ud83d好"}', headers=headers)
        assert response.status_code == 200
        assert site.turns(made["id"])[0]["message"] == "你�好"

    def test_messages_empty_or_over_the_limit(self, site: Site) -> None:
        path = f"{TIMELINES}/{site.timeline()}/messages"
        error_of(site.http.post(path, json={"message": " \n"}), 400, "input")
        error = error_of(site.http.post(path, json={"message": "好" * (MESSAGE_LIMIT + 1)}), 400, "input")
        assert f"{MESSAGE_LIMIT:,}" in error["message"]

    def test_the_longest_message_fits_however_it_is_escaped(self, site: Site) -> None:
        timeline = site.timeline()
        data = json.dumps({"message": "😀" * MESSAGE_LIMIT})
        path = f"{TIMELINES}/{timeline}/messages"
        assert site.http.post(path, content=data, headers={"Content-Type": "application/json"}).status_code == 200


class TestConfig:
    def test_a_preset_and_changes_are_recorded(self, site: Site) -> None:
        path = f"{TIMELINES}/{site.timeline()}/config"
        changed = site.http.patch(path, json={"preset": "H", "changes": {"history_k": 3}}).json()
        assert changed["preset"] == "H"
        assert changed["differences"] == {"history_k": {"from": 10, "to": 3}}
        assert site.http.get(path).json() == changed

    FAULTS = (
        ({}, "preset"),
        ({"changes": {"histroy_k": 3}}, "history_k"),
        ({"changes": {"history_k": "3"}}, "history_k"),
        ({"changes": {"history_k": True}}, "history_k"),
        ({"changes": {"history_k": 1000}}, "50"),
        ({"changes": {"history_floor": 1e400}}, "history_floor"),
        ({"changes": [1]}, "body.changes"),
        ({"preset": "nope"}, "there are default"),
        ({"policy": "afm"}, "body.policy"),
    )

    @pytest.mark.parametrize(("given", "words"), FAULTS, ids=[str(given) for given, _ in FAULTS])
    def test_what_is_wrong_is_named_and_nothing_changes(self, site: Site, given: dict[str, Any], words: str) -> None:
        path = f"{TIMELINES}/{site.timeline()}/config"
        before = site.http.get(path).json()
        response = site.http.patch(
            path, content=json.dumps(given).replace("Infinity", "1e400"), headers={"Content-Type": "application/json"}
        )
        assert words in error_of(response, 400, "input")["message"]
        assert site.http.get(path).json() == before

    def test_presets_and_settings_explain_themselves(self, site: Site) -> None:
        given = site.http.get("/api/v1/presets").json()
        assert {"default", "paper", "A", "H"} <= {item["name"] for item in given["presets"]}
        assert all(item["help"] and item["type"] for item in given["settings"])


class TestUploads:
    def test_a_document_is_added_listed_and_removed(self, site: Site) -> None:
        added = site.upload("notes.md", b"# Harbour\n\nThe ferry leaves at nine.").json()["document"]
        assert (added["name"], added["media_type"]) == ("notes.md", "text/markdown")
        assert added["id"] in [item["id"] for item in site.http.get("/api/v1/documents").json()["documents"]]
        left = site.http.request("DELETE", f"/api/v1/documents/{added['id']}", json={"reason": "outdated"}).json()
        assert added["id"] not in [item["id"] for item in left["documents"]]
        error_of(site.http.delete(f"/api/v1/documents/{added['id']}"), 400, "input")

    def test_chinese_in_a_chinese_encoding(self, site: Site) -> None:
        text = "港口的渡轮每天早上九点出发，晚上六点返回。"
        added = site.upload("渡轮.txt", text.encode("gb18030")).json()["document"]
        assert (added["name"], added["characters"]) == ("渡轮.txt", len(text))

    FAULTS = (
        ("empty.txt", b"", "no text"),
        ("blank.txt", b" \n\t", "no text"),
        ("photo.txt", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "binary"),
        ("cut.txt", b"\xff\xfea", "damaged"),
        ("big.txt", b"x" * 200_001, "200,000 bytes"),
    )

    @pytest.mark.parametrize(("name", "data", "words"), FAULTS, ids=[name for name, _, _ in FAULTS])
    def test_what_cannot_be_read_is_told_by_name(self, site: Site, name: str, data: bytes, words: str) -> None:
        before = site.http.get("/api/v1/documents").json()
        error = error_of(site.upload(name, data), 400, "input")
        assert name in error["message"]
        assert words in error["message"]
        assert site.http.get("/api/v1/documents").json() == before

    def test_an_upload_over_the_limit_is_refused_before_it_is_read(self, site: Site) -> None:
        """Bug class: the whole file is taken in before its size is looked at."""
        head = (
            b"POST /api/v1/documents HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 3000000\r\n\r\n"
        )
        answer = site.raw(head + b"--b\r\n")
        assert answer.startswith(b"HTTP/1.1 413")
        error = error_of(site.upload("big.txt", b"x" * 300_000), 413, "too_large")
        assert "limit is 200,000 bytes" in error["message"]

    def test_forms_without_one_file(self, site: Site) -> None:
        for form in (
            {"data": {"file": "text"}},
            {"files": {"other": b"x"}},
            {"files": [("file", b"x"), ("file", b"y")]},
        ):
            error_of(site.http.post("/api/v1/documents", **form), 400, "input")
        error_of(site.http.post("/api/v1/documents", content=b"x"), 400, "input")

    @pytest.mark.parametrize("name", ["../../etc/passwd", "..\\..\\boot.ini", "/etc/passwd", "a/b/c.txt"])
    def test_a_file_name_is_never_a_path(self, site: Site, name: str) -> None:
        stored = site.upload(name, b"Nothing to see here.").json()["document"]["name"]
        assert "/" not in stored
        assert "\\" not in stored


class TestAddresses:
    IDS = (
        "t-000000000000", "t-00000000000g", "T-000000000000", "knowledge", "cache", ".lock", "t-0", "t-000000000000%00",
        "%2e%2e", "..%2f..%2fetc", "t-000000000000%2f..%2fknowledge", "%ff", "t-%F0%9F%98%80", "'; drop table turns;--",
    )  # fmt: skip
    PLACES = ("", "/messages/running", "/instructions", "/memories", "/config")

    @pytest.mark.parametrize("id", IDS)
    def test_hostile_ids_name_nothing(self, site: Site, id: str) -> None:
        for place in self.PLACES:
            response = site.http.get(f"{TIMELINES}/{id}{place}")
            assert response.status_code in (400, 404), (place, response.text)
            error_in(response.json(), response.json()["error"]["kind"])
        for path in (f"/api/v1/turns/{id}", f"/api/v1/turns/{id}:1", f"/static/{id}"):
            assert site.http.get(path).status_code in (400, 404)
        assert site.http.delete(f"/api/v1/documents/{id}").status_code in (400, 404, 405)

    def test_bytes_that_no_address_has(self, site: Site) -> None:
        for path in (
            b"/%00",
            b"/static/../app.py",
            b"/api/v1/turns/%80",
            b"/static/..%2f..%2fapp.py",
            b"/a%0d%0ab",
            b"/?q=%00",
            b"/?q=%ff",
            b"/static/..%5capp.py",
        ):
            answer = site.raw(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 400"), (path, answer[:200])

    def test_one_timelines_things_are_not_anothers(self, site: Site) -> None:
        mine, other = site.timeline(), site.timeline()
        path = f"{TIMELINES}/{mine}/instructions"
        instruction = site.http.post(path, json={"text": "Always rhyme."}).json()["id"]
        error_of(site.http.post(f"{TIMELINES}/{other}/instructions/{instruction}/retire"), 404, "not_found")
        assert site.http.post(f"{path}/{instruction}/retire").json()["instructions"][0]["active"] is False
        site.send(mine, "My sister lives in Lisbon.")
        found = site.http.get(f"{TIMELINES}/{other}/memories", params={"q": "Where does my sister live?"}).json()
        assert found["candidates"]["experience"] == []
        found = site.http.get(f"{TIMELINES}/{mine}/memories", params={"q": "Where does my sister live?"}).json()
        assert "Lisbon" in found["candidates"]["experience"][0]["text"]

    @pytest.mark.parametrize("given", ["0", "101", "-1", "1.0", "１", "9" * 30, "", "x"])
    def test_numbers_in_the_query(self, site: Site, given: str) -> None:
        response = site.http.get(f"{TIMELINES}/{site.timeline()}", params={"limit": given})
        assert error_of(response, 400, "input")["detail"] == {"place": "?limit"}

    def test_turns_come_in_pages(self, site: Site) -> None:
        timeline = site.timeline()
        for number in range(5):
            site.send(timeline, f"Number {number}.")
        seen: list[str] = []
        page = site.http.get(f"{TIMELINES}/{timeline}", params={"limit": 2}).json()
        while True:
            seen[:0] = [turn["message"] for turn in page["turns"]]
            if not page["more"]:
                break
            params = {"limit": 2, "before": page["turns"][0]["seq"]}
            page = site.http.get(f"{TIMELINES}/{timeline}", params=params).json()
        assert seen == [f"Number {number}." for number in range(5)]

    def test_methods_that_an_address_does_not_take(self, site: Site) -> None:
        response = site.http.put(TIMELINES, json={})
        error_of(response, 405, "method")
        assert "POST" in response.headers["Allow"]


class TestSessions:
    def test_clearing_and_switching_open_sessions(self, site: Site) -> None:
        timeline = site.timeline()
        path = f"{TIMELINES}/{timeline}"
        assert site.http.post(f"{path}/sessions").json()["session"]["cause"] == "cleared"
        assert site.http.post(f"{path}/sessions", json={"model": "scripted"}).json()["session"]["number"] == 2
        for unknown in ("none", ""):
            error_of(site.http.post(f"{path}/sessions", json={"model": unknown}), 404, "not_found")
        assert [item["cause"] for item in site.http.get(path).json()["sessions"]] == ["start", "cleared"]
        assert last(site.send(timeline, "Hello."), "turn")["turn"]["round"] == 1

    def test_models_name_the_default_first(self, site: Site) -> None:
        models = site.http.get("/api/v1/models").json()["models"]
        assert models[0] == {"name": "scripted", "default": True}
        assert "local" in [model["name"] for model in models]


class TestWhatNobodyForesaw:
    def test_a_fault_is_logged_and_its_text_is_not_shown(
        self, site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fault(_self: Service) -> None:
            raise RuntimeError("the secret inside")

        monkeypatch.setattr(Service, "timelines", fault)
        error = error_of(site.http.get(TIMELINES), 500, "internal")
        assert "secret" not in json.dumps(error)
        assert "the secret inside" in caplog.text

    def test_a_full_disk_is_told_and_nothing_is_sent(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        timeline = site.timeline()

        def full(_descriptor: int, _data: bytes) -> int:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            response = site.http.post(f"{TIMELINES}/{timeline}/instructions", json={"text": "Be brief."})
        assert "space" in error_of(response, 507, "storage")["message"]
        listed = site.http.get(f"{TIMELINES}/{timeline}/instructions").json()
        assert listed == {"instructions": [], "contradictions": []}

    def test_random_requests_never_break_it(self, site: Site) -> None:
        """300 requests from one seed: any address, any method, any body; never a 5xx."""
        chance = random.Random(20260301)
        timeline = site.timeline()
        rules = [rule.rule for rule in site.app.url_map.iter_rules()]
        for _ in range(300):
            path = _filled(chance.choice(rules), timeline, chance)
            method = chance.choice(["GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"])
            content = chance.choice([b"", b"{}", b"[]", json.dumps(_junk(chance, 3)).encode(), chance.randbytes(20)])
            kind = chance.choice(["application/json", "text/plain", "multipart/form-data; boundary=x"])
            response = site.http.request(method, path, content=content, headers={"Content-Type": kind})
            assert response.status_code < 500, (method, path, content, response.text)


def _filled(rule: str, timeline: str, chance: random.Random) -> str:
    """A rule's address with something in the place of its ids."""
    parts = [timeline if chance.random() < 0.7 else _text(chance) for _ in range(rule.count("<"))]
    for part in parts:
        begin, end = rule.index("<"), rule.index(">")
        rule = rule[:begin] + part + rule[end + 1 :]
    return rule + chance.choice(["", "", f"?limit={_text(chance)}", f"?q={_text(chance)}"])


def _text(chance: random.Random) -> str:
    return "".join(chance.choice("aé好%2e./\\:;'\"<> 0-") for _ in range(chance.randrange(1, 9)))


def _junk(chance: random.Random, depth: int) -> Any:
    kinds = [None, True, 0, -1.5, "x", "\ud800", "", "text"]
    if depth and chance.random() < 0.7:
        names = ["message", "text", "changes", "preset", "user", "character", "model", "reason", "\x00"]
        return {chance.choice(names): _junk(chance, depth - 1) for _ in range(chance.randrange(3))}
    return chance.choice(kinds)
