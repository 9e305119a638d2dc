"""Replay: a timeline in which everything happens comes out the same, and whatever was tampered with is named."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arpm.audit.arithmetic import disagreements
from arpm.audit.past import Past
from arpm.audit.replay import Depth, TurnReplay, replayed
from arpm.erasure import What, erase, of_memories, reach
from arpm.events import Draft, Event, seal, write_line
from arpm.ledger import LEDGER_NAME, walk
from arpm.lived import Lived
from retrieval.embedding.base import Embedder
from retrieval.embedding.hashing import HashingEmbedder
from tests.audit.lives import eventful
from tests.support import open_service


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    logs = tmp_path_factory.mktemp("lived") / "logs"
    return logs, eventful(logs)


def replay(logs: Path, timeline: str, depth: Depth, embedder: Embedder | None = None) -> list[TurnReplay]:
    embedder = embedder or (HashingEmbedder() if depth != "arithmetic" else None)
    return list(replayed(Past(logs, timeline, embedder), depth, embedder))


def turns(logs: Path, timeline: str) -> list[Event]:
    return [placed.event() for placed in walk(logs / timeline / LEDGER_NAME) if placed.line.envelope["kind"] == "turn"]


@pytest.mark.parametrize("depth", ["arithmetic", "retrieval"])
def test_every_turn_comes_out_the_same(lived: tuple[Path, str], depth: Depth) -> None:
    results = replay(*lived, depth)
    assert len(results) == 24
    assert [(r.round, r.disagreements, r.skipped) for r in results if not r.same] == []


def test_nothing_is_written_and_no_lock_is_needed(lived: tuple[Path, str], tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(lived[0], logs)
    with open_service(logs):
        before = {path: path.read_bytes() for path in logs.rglob("*.jsonl")}
        assert all(result.same for result in replay(logs, lived[1], "retrieval"))
        assert {path: path.read_bytes() for path in logs.rglob("*.jsonl")} == before


def test_the_past_is_at_every_turn_where_the_service_was(lived: tuple[Path, str]) -> None:
    """Bug class: a state that is only right at the end. The last state must also be the one of a restart."""
    logs, timeline = lived
    past = Past(logs, timeline, HashingEmbedder())
    last: Lived | None = None
    for step in past.steps():
        last = step.before
    assert last is not None
    with open_service(logs) as service:
        now = service.timeline(timeline)
        assert [atom.memory for atom in last.index.atoms()] == [atom.memory for atom in now.index.atoms()]
        assert past.catalogue.round_times(timeline) == service.catalogue.round_times(timeline)


NUMBERS = (
    "cosine similarity bm25 coverage fused normalised base rounds_ago hours_ago round_weight clock_weight weight final"
    " rank relevance"
).split()
# What the record does not say how it came about; the search says it.
FREE = {"cosine", "bm25", "coverage"}


def rows(body: dict[str, Any], route: str = "experience") -> Any:
    return body["candidates"][route]


@pytest.mark.parametrize("name", [name for name in NUMBERS if name not in FREE])
def test_every_number_that_follows_from_others_is_checked(lived: tuple[Path, str], name: str) -> None:
    checked = 0
    for event in turns(*lived):
        for number, row in enumerate(rows(event.body)):
            if row[name] is None:
                continue
            body = copy.deepcopy(event.body)
            rows(body)[number][name] = row[name] + 1 if isinstance(row[name], int) else row[name] * 0.999 - 1e-9
            assert disagreements(body, event.at, "Asia/Shanghai"), (event.seq, number, name)
            checked += 1
    assert checked > 20


Tamper = Callable[[dict[str, Any]], None]


def _swap(body: dict[str, Any]) -> None:
    body["evidence"][0], body["evidence"][1] = body["evidence"][1], body["evidence"][0]


TAMPERINGS: dict[str, Tamper] = {
    "evidence left out": lambda body: body["evidence"].pop(),
    "evidence in another order": _swap,
    "another cue": lambda body: body["evidence"][0].update(cue="yesterday"),
    "other tokens": lambda body: body["evidence"][0].update(tokens=1),
    "another reason": lambda body: rows(body)[0].update(reason="irrelevant", kept=False),
    "kept without reason": lambda body: rows(body)[0].update(kept=not rows(body)[0]["kept"]),
    "a candidate left out": lambda body: rows(body).pop(0),
    "a bonus raised": lambda body: rows(body)[0]["bonuses"].update(user=0.2),
    "another rank": lambda body: rows(body)[0]["ranks"].update(vector=7),
    "another constant": lambda body: body["config"].update(history_floor=0.1),
    "another response": lambda body: body.update(response="Something else."),
    "a violation taken away": lambda body: body.update(violations=[]),
    "another citation": lambda body: body["analysis"].update(cited=["E2"]),
    "admitted all the same": lambda body: body["admission"].update(admitted=not body["admission"]["admitted"]),
    "another round": lambda body: body.update(round=body["round"] + 1),
    "another prompt": lambda body: body["prompt"].update(digest="sha256:" + "0" * 64),
    "another message": lambda body: body.update(message=body["message"] + "!"),
    "another window": lambda body: body.update(window=body["window"][1:]),
    "another last round": lambda body: body.update(last_round_at="2020-01-01T00:00:00+00:00"),
    "another preset": lambda body: body.update(preset="H"),
    "another session round": lambda body: body.update(session_round=77),
    "another user": lambda body: body.update(user="Eve"),
}


# Who stood beside a memory and lent it part of a score is not in the record.
ONLY_THE_SEARCH_KNOWS = ("another rank",)


@pytest.mark.parametrize("name", TAMPERINGS)
def test_a_ledger_that_was_rewritten_as_a_whole_is_found_out(
    lived: tuple[Path, str], tmp_path: Path, name: str
) -> None:
    """Whoever holds the file can chain it anew; the arithmetic still knows. One turn is changed, the rest is kept."""
    logs, timeline = tmp_path / "logs", lived[1]
    shutil.copytree(lived[0], logs)
    path = logs / timeline / LEDGER_NAME
    events = [placed.event() for placed in walk(path)]
    victim = next(
        event
        for event in events
        if event.kind == "turn"
        and len(event.body["evidence"]) > 1
        and event.body["violations"]
        and event.body["window"]
    )
    body = copy.deepcopy(victim.body)
    TAMPERINGS[name](body)
    _rewrite(path, events, victim.id, body)
    depth: Depth = "retrieval" if name in ONLY_THE_SEARCH_KNOWS else "arithmetic"
    found = [result for result in replay(logs, timeline, depth) if result.disagreements]
    assert victim.id in [result.event for result in found], name
    if name not in ("another response", "another round", "another message", "admitted all the same"):
        assert [result.event for result in found] == [victim.id]


def _rewrite(path: Path, events: list[Event], victim: str, body: dict[str, Any]) -> None:
    prev, offset, lines = events[0].prev, 0, []
    for seq, event in enumerate(events, 1):
        content = {k: v for k, v in (body if event.id == victim else event.body).items() if k != "salt"}
        draft = Draft(event.kind, content, event.session, event.at, event.id)
        written, line = write_line(seal(draft), seq, event.timeline, prev, offset)
        prev, offset = written.hash, written.end
        lines.append(line)
    path.write_bytes(b"".join(lines))


class _Renamed(HashingEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.name = "another"


def test_another_embedder_is_named_and_the_rest_is_replayed(lived: tuple[Path, str]) -> None:
    results = replay(*lived, "retrieval", _Renamed())
    answered = [result for result in results if result.skipped]
    assert len(answered) == 23
    assert all("searched with the embedder hashing" in " ".join(result.skipped) for result in answered)
    assert not any(result.disagreements for result in results)


def test_another_knowledge_ledger_is_named(lived: tuple[Path, str], tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(lived[0], logs)
    (logs / "knowledge" / LEDGER_NAME).unlink()
    results = replay(logs, lived[1], "retrieval")
    assert any("knowledge ledger ended at event" in " ".join(result.skipped) for result in results)


def test_the_summary_as_json(lived: tuple[Path, str]) -> None:
    """Every result can be written as JSON: disagreements hold plain values."""
    from dataclasses import asdict

    for result in replay(*lived, "arithmetic"):
        json.dumps(asdict(result))


def test_a_ledger_of_before_these_members_is_read(lived: tuple[Path, str], tmp_path: Path) -> None:
    """Records of before a turn said what it replaces raised KeyError in the fold; the service did not start."""
    logs, timeline = tmp_path / "logs", lived[1]
    shutil.copytree(lived[0], logs)
    path = logs / timeline / LEDGER_NAME
    events = [placed.event() for placed in walk(path)]
    victim = next(event for event in events if event.kind == "turn")
    assert victim.body is not None
    body = {name: value for name, value in victim.body.items() if name not in ("replaces", "clock", "request_key")}
    _rewrite(path, events, victim.id, body)
    shutil.rmtree(logs / "cache", ignore_errors=True)
    assert all(result.same for result in replay(logs, timeline, "retrieval"))
    with open_service(logs) as service:
        assert service.record(f"{timeline}:1").body["clock"] == "system"


class TestAfterAnErasure:
    """An erased turn was folded as round 0 until its receipt, and every round after it seemed wrong."""

    @pytest.fixture
    def erased(self, lived: tuple[Path, str], tmp_path: Path) -> tuple[Path, str]:
        logs = tmp_path / "logs"
        shutil.copytree(lived[0], logs)
        with open_service(logs) as service:
            rows = service.catalogue.memory_rows(lived[1])
            what = of_memories(service.catalogue, [rows[-2].memory.memory, rows[4].memory.memory])
            erase(service, what, reach(service, what).confirm)
            document = service.library.documents()[-1].id
            what = What(document=document)
            erase(service, what, reach(service, what).confirm)
        return logs, lived[1]

    @pytest.mark.parametrize("depth", ["arithmetic", "retrieval"])
    def test_what_is_left_still_follows(self, erased: tuple[Path, str], depth: Depth) -> None:
        results = replay(*erased, depth)
        assert [(r.round, r.disagreements) for r in results if r.disagreements] == []
        assert any(result.skipped for result in results)
        assert any(result.same for result in results)

    def test_a_whole_timeline(self, lived: tuple[Path, str], tmp_path: Path) -> None:
        logs = tmp_path / "logs"
        shutil.copytree(lived[0], logs)
        with open_service(logs) as service:
            what = What(timeline=lived[1])
            erase(service, what, reach(service, what).confirm)
        results = replay(logs, lived[1], "retrieval")
        assert len(results) == 24
        assert all(result.skipped and not result.disagreements for result in results)
