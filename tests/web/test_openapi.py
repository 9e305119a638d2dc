"""docs/openapi.json says what the server does: the same addresses, and answers of the shapes that it gives."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from arpm.clock import SystemClock
from arpm.generation.base import GenerationError
from tests.patience import PATIENCE
from tests.support import ScriptedBackend, reply
from tests.web import contract, fuzz
from tests.web.support import GatedBackend, Site, last, serving

TIMELINES = "/api/v1/timelines"
# What is for browsers, not for programs.
PAGES = {"pages", "login", "static"}


class TestTheDescription:
    def test_has_every_address_and_no_other(self, site: Site) -> None:
        served = {
            (method, re.sub(r"<(?:[^:>]*:)?(\w+)>", r"{\1}", rule.rule))
            for rule in site.app.url_map.iter_rules()
            if rule.endpoint.partition(".")[0] not in PAGES
            for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        }
        described = set(contract.operations())
        assert described - served == set(), "described, not served"
        assert served - described == set(), "served, not described"

    def test_is_served_as_it_is_in_the_repository(self, site: Site) -> None:
        assert site.http.get("/api/v1/openapi.json").json() == contract.document()

    def test_every_reference_leads_somewhere_and_every_part_is_used(self) -> None:
        references = {node["$ref"] for node in _nodes(contract.document()) if "$ref" in node}
        for reference in references:
            contract.resolved({"$ref": reference})
        for kind, parts in contract.document()["components"].items():
            if kind != "securitySchemes":
                for name in parts:
                    used = f"#/components/{kind}/{name}"
                    assert any(reference.startswith(used) for reference in references), f"{used} is used nowhere"

    def test_every_schema_is_one(self) -> None:
        for name, schema in contract.document()["components"]["schemas"].items():
            Draft202012Validator.check_schema(schema)
            assert schema.get("description") or "$ref" in schema, name

    def test_every_operation_has_a_name_of_its_own_and_one_error_shape(self) -> None:
        names = [operation["operationId"] for operation in contract.operations().values()]
        assert len(names) == len(set(names))
        for where, operation in contract.operations().items():
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    schema = contract.resolved(response)["content"]["application/json"]["schema"]
                    assert schema == {"$ref": "#/components/schemas/error"}, (where, status)

    def test_parameters_are_those_of_the_path(self) -> None:
        for (method, path), operation in contract.operations().items():
            given = [contract.resolved(item) for item in operation.get("parameters", [])]
            in_path = {item["name"] for item in given if item["in"] == "path"}
            assert in_path == set(re.findall(r"\{(\w+)\}", path)), (method, path)


class TestRealAnswers:
    """Bug class: a field is renamed in the code, and every program that reads the description breaks."""

    def test_a_life_of_a_timeline_is_as_described(self, logs: Path) -> None:
        down = GenerationError("unreachable", "The model's server is not running.")
        script = [reply("In the boat house.", "E1", "knowledge", "E1 says so."), down, reply("Noted.", "E1, E9")]
        with serving(logs, ScriptedBackend(script), clock=SystemClock()) as site:
            seen = contract.watch(site.http)
            _reading(site)
            timeline = _talking(site)
            _governing(site, timeline)
            _refused(site, timeline)
            document = site.http.get("/api/v1/documents").json()["documents"][0]["id"]
            site.http.get(f"/api/v1/documents/{document}")
            _remembered(site, timeline)
            _reviewed(site, timeline)
            _audited(site, timeline)
            _erased(site, timeline)
            site.http.request("DELETE", f"/api/v1/documents/{document}", json={"reason": "outdated"})
        done = {(method, path) for method, path, status in seen if status < 400}
        missing = set(contract.operations()) - done - {("GET", f"{TIMELINES}/{{timeline}}/messages/running")}
        assert missing == set(), "the scenario does not reach these"

    def test_a_turn_that_is_followed_and_stopped(self, logs: Path) -> None:
        with serving(logs, backend := GatedBackend()) as site:
            timeline = site.timeline()
            path = f"{TIMELINES}/{timeline}"
            with site.http.stream("POST", f"{path}/messages", json={"message": "Hello."}) as response:
                next(response.iter_lines())
                assert backend.started.wait(PATIENCE)
                contract.check(site.http.get(path))
                contract.check(site.http.post(f"{path}/messages", json={"message": "Again."}))
                contract.check(site.http.post(f"{path}/stop"))
                contract.check(site.http.get(f"{path}/messages/running"))


def _reading(site: Site) -> None:
    for path in ("/healthz", "/readyz", "/api/v1/openapi.json", "/api/v1/models", "/api/v1/presets", "/api/v1/clock"):
        assert site.http.get(path).status_code == 200


def _talking(site: Site) -> str:
    """A timeline with an answered turn, a failed one, and one that was answered again."""
    site.upload("harbour.md", b"# Boats\n\nAnn keeps her canoe in the boat house.")
    timeline = site.timeline(persona="A harbour master.")
    path = f"{TIMELINES}/{timeline}"
    last(site.send(timeline, "Where is my canoe?"), "turn")
    last(site.send(timeline, "Are you there?"), "failed")
    turn = last(site.send(timeline, "From now on, always answer briefly. Where is my canoe?"), "turn")["turn"]
    site.http.post(f"{path}/messages", json={"message": "Where is it?", "replaces": turn["id"]})
    for address in ("", "?limit=1", "/rounds/1", "/rounds/2", "/instructions", "/config"):
        assert site.http.get(path + address).status_code == 200, address
    for reference in (turn["id"], f"{timeline}:1"):
        assert site.http.get(f"/api/v1/turns/{reference}").status_code == 200
    assert site.http.patch(path, json={"title": "Boats"}).status_code == 200
    for query in ("", "?q=canoe", "?q=Boats", "?q=nothing%20of%20the%20kind"):
        assert site.http.get(f"{TIMELINES}{query}").status_code == 200
    return timeline


def _governing(site: Site, timeline: str) -> None:
    path = f"{TIMELINES}/{timeline}"
    added = site.http.post(f"{path}/instructions", json={"text": "Always rhyme."}).json()
    replaced = site.http.post(f"{path}/instructions/{added['id']}/replace", json={"text": "Never rhyme."}).json()
    assert site.http.post(f"{path}/instructions/{replaced['id']}/retire", json={"reason": "done"}).status_code == 200
    assert site.http.patch(f"{path}/config", json={"preset": "H", "changes": {"history_k": 3}}).status_code == 200
    columns: list[dict[str, Any]] = [{}, {"preset": "G", "changes": {"history_k": 1}}]
    compared = site.http.post(f"{path}/compare", json={"message": "Where is my canoe?", "columns": columns})
    assert compared.status_code == 200
    for place in ("/compare/stop", "/stop"):
        assert site.http.post(path + place, json={}).status_code == 200
    for clock in (
        {"kind": "fixed", "at": "2027-01-01T00:00:00+00:00"},
        {"kind": "offset", "offset_seconds": 3600.0},
        {"kind": "system"},
    ):
        assert site.http.put("/api/v1/clock", json=clock).status_code == 200
    assert site.http.post(f"{path}/sessions").status_code == 201


def _refused(site: Site, timeline: str) -> None:
    """Refusals have their statuses in the description too."""
    path = f"{TIMELINES}/{timeline}"
    assert site.http.get(f"{TIMELINES}/t-000000000000").status_code == 404
    assert site.http.get(f"{path}?limit=0").status_code == 400
    assert site.http.get(f"{path}/messages/running").status_code == 404
    assert site.http.post(f"{path}/messages", json={"message": " "}).status_code == 400
    assert site.http.post(f"{path}/messages", json={"message": "x", "replaces": "0" * 32}).status_code == 400
    assert site.http.post(f"{path}/sessions", json={"model": "none"}).status_code == 404
    assert site.http.post(TIMELINES, content="x", headers={"Content-Type": "text/plain"}).status_code == 415
    assert site.http.post(TIMELINES, json={}, headers={"Origin": "http://evil.example"}).status_code == 403
    assert site.http.put("/api/v1/clock", json={"kind": "fixed", "at": "soon"}).status_code == 400
    assert site.http.patch(f"{path}/config", json={"changes": {"history_k": -1}}).status_code == 400
    assert site.http.post(f"{path}/compare", json={"message": "x", "columns": []}).status_code == 400


def _remembered(site: Site, timeline: str) -> None:
    path = f"{TIMELINES}/{timeline}"
    memories = site.http.get(f"{path}/memories").json()["memories"]
    assert memories
    for query in ("?q=canoe", "?state=all", "?state=replaced", "?limit=1", "?session=s-000000000000"):
        assert site.http.get(f"{path}/memories{query}").status_code == 200, query
    chunk = next(iter(site.http.get(f"/api/v1/turns/{timeline}:1").json()["record"]["body"]["evidence"]))["memory"]
    for memory in (memories[0]["id"], chunk):
        assert site.http.get(f"/api/v1/memories/{memory}").status_code == 200
    chosen = [memories[0]["id"]]
    for which in ({"rounds": [1, 9]}, {"model": memories[0]["model"]}, {"memories": chosen}):
        assert site.http.post(f"{path}/quarantine", json={**which, "dry_run": True}).status_code == 200, which
    assert site.http.post(f"{path}/quarantine", json={"memories": chosen, "reason": "doubtful"}).status_code == 200
    assert site.http.get(f"{path}/memories?state=quarantined").json()["count"] == 1
    assert site.http.get(f"/api/v1/memories/{chosen[0]}").status_code == 200
    assert site.http.post(f"{path}/release", json={"memories": chosen}).status_code == 200


def _reviewed(site: Site, timeline: str) -> None:
    address = f"/api/v1/turns/{timeline}:1/reviews"
    for reviewer, correct in (("Ann", "yes"), ("Bo", "unsure"), ("Ann", "no")):
        given = {"reviewer": reviewer, "support": "unsure", "correct": correct, "reason": "As it reads."}
        assert site.http.post(address, json=given).status_code == 201
    assert site.http.get(address).status_code == 200
    for query in ("", "?limit=1", "?reviewer=Ann"):
        assert site.http.get(f"{TIMELINES}/{timeline}/reviews{query}").status_code == 200
    assert site.http.post(address, json={"reviewer": "Ann"}).status_code == 400


def _audited(site: Site, timeline: str) -> None:
    memory = site.http.get(f"{TIMELINES}/{timeline}/memories").json()["memories"][0]["id"]
    for place in (
        "ledgers",
        "ledgers/knowledge/events",
        f"ledgers/{timeline}/events?limit=2&bodies=0",
        f"diff?first={timeline}:1&second={timeline}:2",
        "statistics?stage=all",
    ):
        assert site.http.get(f"/api/v1/audit/{place}").status_code == 200, place
    for place in (f"lives?memory={memory}", "replies", "replies?reviewer=Ann"):
        assert site.http.get(f"{TIMELINES}/{timeline}/{place}").status_code == 200, place
    _audited_on_pages(site, timeline)
    for kind, given in (("verify", {}), ("replay", {"depth": "arithmetic"}), ("counterfactual", {"preset": "G"})):
        assert site.http.post(f"/api/v1/audit/{kind}", json=given).status_code == 200, kind
        assert site.http.get(f"/api/v1/audit/{kind}").status_code == 200
        assert site.http.post(f"/api/v1/audit/{kind}/stop").status_code == 200
    assert site.http.get("/api/v1/audit/ledgers").status_code == 200
    assert site.http.get("/api/v1/audit/diff").status_code == 400


def _audited_on_pages(site: Site, timeline: str) -> None:
    """What the audit page has beside: runs and lives in short, checkpoints and proofs, exports, pictures."""
    audit = "/api/v1/audit"
    tables = (f"diff/runs?first={timeline}&second={timeline}&limit=1", "statistics.csv?stage=all&published=1")
    for place in (*tables, "checkpoints", "exports"):
        assert site.http.get(f"{audit}/{place}").status_code == 200, place
    (life,) = site.http.get(f"{TIMELINES}/{timeline}/lives/summary?limit=1").json()["memories"]
    signed = site.http.post(f"{audit}/checkpoints", json={}).json()["checkpoints"]
    file = next(item["file"] for item in signed if item["ledger"] == timeline)
    kept = site.http.get(f"{audit}/checkpoints/{file}")
    assert kept.status_code == 200
    event = site.http.get(f"{audit}/ledgers/{timeline}/events?limit=1").json()["events"][0]["id"]
    for name, given in (
        ("check", {"text": kept.text}),
        ("consistency", {"file": file}),
        ("inclusion", {"event": event}),
    ):
        assert site.http.post(f"{audit}/checkpoints/{name}", json=given).status_code == 200, name
    assert site.http.post(f"{audit}/checkpoints/check", json={"text": "no"}).status_code == 400
    export = site.http.post(f"{audit}/exports", json={"format": "croissant", "name": "boats"}).json()["export"]
    assert site.http.get(f"{audit}/exports").status_code == 200
    for place in (f"{export['id']}.zip", f"{export['id']}/export.json"):
        assert site.http.get(f"{audit}/exports/{place}").status_code == 200, place
    assert site.http.post(f"{audit}/counterfactual", json={"changes": {"knowledge_enabled": False}}).status_code == 200
    for place in (
        "statistics.svg?of=lengths",
        f"weights.png?timeline={timeline}&memory={life['memory']}",
        "counterfactual.svg",
    ):
        assert site.http.get(f"{audit}/plots/{place}").status_code == 200, place


def _erased(site: Site, timeline: str) -> None:
    chosen = [site.http.get(f"{TIMELINES}/{timeline}/memories").json()["memories"][-1]["id"]]
    what = {"timeline": timeline, "memories": chosen}
    reach = site.http.post("/api/v1/erasures/reach", json=what).json()["reach"]
    assert site.http.post("/api/v1/erasures", json={**what, "confirm": "yes"}).status_code == 400
    assert site.http.post("/api/v1/erasures", json={**what, "confirm": reach["confirm"]}).status_code == 200
    assert site.http.get(f"/api/v1/turns/{timeline}:1").status_code == 200
    assert site.http.get(f"{TIMELINES}/{timeline}").status_code == 200


class TestGeneratedRequests:
    def test_none_of_them_is_answered_by_a_fault(self, tmp_path: Path) -> None:
        """Bug class: a value that nobody thought of reaches a place that does not look. Longer: `tests.web.fuzz`."""
        outcome = fuzz.run(tmp_path, examples=8, seed=20260301)
        assert outcome.returncode == 0, outcome.stdout[-6000:] + outcome.stderr[-2000:]


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _nodes(value)
    elif isinstance(node, list):
        for item in node:
            yield from _nodes(item)


def test_the_file_is_written_evenly() -> None:
    text = contract.FILE.read_text("utf-8")
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=1) + "\n"
