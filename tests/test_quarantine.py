"""Quarantine: memories leave search at once, come back in their old place, and nothing is rewritten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from arpm.errors import InputError, NotFoundError
from arpm.quarantine import Scope
from arpm.service import Service
from retrieval.candidates import Query
from tests.support import ScriptedBackend, open_service, reply

TOLD = ("The red kettle is in the cellar.", "红色的水壶现在在阁楼。", "The red kettle is in the hall.", "Tea at four.")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    other = ScriptedBackend([reply("I am another model.")])
    other.name = other.model = "other"
    with open_service(tmp_path, ScriptedBackend([reply("Noted.")]), others=[other]) as opened:
        yield opened


@pytest.fixture
def timeline(service: Service) -> str:
    id = service.create_timeline("Ada", "Mia").id
    for message in TOLD[:2]:
        service.turn(id, message)
    service.switch_model(id, "other")
    for message in TOLD[2:]:
        service.turn(id, message)
    return id


def found(service: Service, timeline: str) -> list[tuple[str, float]]:
    vector = service.embedder.encode_query(["red kettle 水壶"])[0]
    opened = service.timeline(timeline)
    return [
        (c.text, c.base) for c in opened.index.search(Query("red kettle 水壶", "Ada", "Mia"), vector, opened.config())
    ]


@pytest.mark.parametrize(
    ("scope", "rounds"),
    [
        (Scope("rounds", (2, 3)), [2, 3]),
        (Scope("model", "other"), [3, 4]),
        (Scope("model", "nobody"), []),
        (Scope("rounds", (9, 10)), []),
    ],
)
def test_what_a_scope_names_leaves_search_and_comes_back_as_it_was(
    service: Service, timeline: str, scope: Scope, rounds: list[int]
) -> None:
    before = found(service, timeline)
    assert [row.memory.round for row in service.quarantine(timeline, scope, "a test", dry_run=True)] == rounds
    assert found(service, timeline) == before
    rows = service.quarantine(timeline, scope, "a bad stage")
    assert [row.memory.round for row in rows] == rounds
    gone = {TOLD[round - 1] for round in rounds}
    assert not any(words in text for words in gone for text, _ in found(service, timeline))
    service.rebuild()
    assert len(service.timeline(timeline).index) == 4 - len(rounds)
    assert [row.memory.round for row in service.catalogue.memory_rows(timeline, state="quarantined")][::-1] == rounds
    if rounds:
        ids = [row.memory.memory for row in rows]
        assert len(service.release(timeline, ids, "it was right")) == len(rounds)
        assert service.release(timeline, ids, "twice") == []
        (held,) = service.catalogue.quarantines(ids[0])
        assert (held.reason, held.released_reason) == ("a bad stage", "it was right")
    assert found(service, timeline) == before


def test_a_session_and_single_memories(service: Service, timeline: str) -> None:
    first, second = service.catalogue.sessions(timeline)
    (row,) = service.catalogue.memory_rows(timeline, rounds=(1, 1))
    service.quarantine(timeline, Scope("memories", [row.memory.memory]), "one")
    assert [r.memory.round for r in service.quarantine(timeline, Scope("session", first.id), "the rest")] == [2]
    assert [r.memory.round for r in service.quarantine(timeline, Scope("session", second.id), "all")] == [3, 4]
    event = service.turn(timeline, "Where is the red kettle?")
    assert event.body["candidates"]["experience"] == []


def test_nothing_of_another_timeline_is_reached(service: Service, timeline: str) -> None:
    other = service.create_timeline("Bob", "Mia").id
    service.turn(other, "Bob's kettle is blue.")
    (mine,) = service.catalogue.memory_rows(other)
    with pytest.raises(NotFoundError, match="on this timeline"):
        service.quarantine(timeline, Scope("memories", [mine.memory.memory]), "wrong")
    with pytest.raises(NotFoundError):
        service.release(timeline, [mine.memory.memory], "wrong")
    with pytest.raises(InputError, match="comes after"):
        service.quarantine(timeline, Scope("rounds", (3, 1)), "backwards")
    assert [row.state for row in service.catalogue.memory_rows(other)] == ["active"]


def test_a_replaced_reply_does_not_come_back_with_a_release(service: Service, timeline: str) -> None:
    newest = service.catalogue.turns(timeline)[-1]
    (row,) = service.catalogue.memory_rows(timeline, rounds=(4, 4))
    service.quarantine(timeline, Scope("rounds", (4, 4)), "doubtful")
    service.turn(timeline, newest.message, replaces=newest.event)
    assert service.release(timeline, [row.memory.memory], "undo") == []
    assert {r.memory.memory: r.state for r in service.catalogue.memory_rows(timeline)}[row.memory.memory] == "replaced"
    assert len(service.timeline(timeline).index) == 4


def test_where_a_memory_was_shown(service: Service, timeline: str) -> None:
    service.clear_context(timeline)
    event = service.turn(timeline, "Where is the red kettle?")
    for item in event.body["evidence"]:
        use = service.catalogue.uses(item["memory"])[0]
        assert (use.turn, use.round, use.label, use.message) == (event.id, 5, item["label"], "Where is the red kettle?")
    assert event.body["evidence"]
