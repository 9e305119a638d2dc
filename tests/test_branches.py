"""Answering a round again: the earlier reply stays in the ledger and leaves memory when the new one is committed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from arpm.errors import InputError
from arpm.generation.base import GenerationError
from arpm.replayed_prompt import matches_record, prompt_of_record
from arpm.service import Service
from arpm.turn import TurnFailedError
from retrieval.candidates import Query
from tests.support import ScriptedBackend, open_service, reply


@pytest.fixture
def backend() -> ScriptedBackend:
    return ScriptedBackend([reply("First answer."), reply("Second answer."), reply("Third answer.")])


@pytest.fixture
def service(tmp_path: Path, backend: ScriptedBackend) -> Iterator[Service]:
    with open_service(tmp_path, backend) as opened:
        yield opened


def remembered(service: Service, timeline: str) -> list[str]:
    return [atom.reply for atom in service.timeline(timeline).index.atoms()]


@pytest.mark.parametrize("message", ["Where is the red kettle?", "红色的水壶在哪里？"])
def test_the_new_reply_takes_the_place_of_the_old_one(service: Service, message: str) -> None:
    timeline = service.create_timeline("Ada", "Mia").id
    service.turn(timeline, "The red kettle is in the cellar. 红色的水壶在地下室。")
    old = service.turn(timeline, message)
    new = service.turn(timeline, message, replaces=old.id)
    assert (new.body["round"], new.body["replaces"], new.body["session_round"]) == (2, old.id, 2)
    assert remembered(service, timeline) == ["First answer.", "Third answer."]
    assert service.timeline(timeline).info.rounds == 2
    assert [row.event for row in service.catalogue.turns(timeline)][1:] == [new.id]
    assert [row.event for row in service.catalogue.turns_of_round(timeline, 2)] == [old.id, new.id]
    assert service.catalogue.branches(new.id) == 1
    # Neither the round itself nor its earlier reply was searched, shown, or counted as the round before.
    assert [row["round"] for row in new.body["candidates"]["experience"]] == [1]
    assert new.body["window"] == old.body["window"] == [1]
    assert new.body["last_round_at"] == old.body["last_round_at"]
    assert matches_record(prompt_of_record(service.catalogue, new), new)
    assert matches_record(prompt_of_record(service.catalogue, old), old)


def test_a_restart_and_a_rebuild_find_the_same(service: Service, tmp_path: Path) -> None:
    timeline = service.create_timeline("Ada", "Mia").id
    service.turn(timeline, "The red kettle is in the cellar.")
    old = service.turn(timeline, "The green kettle is in the attic.")
    service.turn(timeline, "The green kettle is in the hall.", replaces=old.id)

    def found(of: Service) -> list[tuple[str, float, float]]:
        vector = of.embedder.encode_query(["kettle"])[0]
        index, config = of.timeline(timeline).index, of.timeline(timeline).config()
        return [(c.text, c.base, c.fused) for c in index.search(Query("kettle", "Ada", "Mia"), vector, config)]

    before = found(service)
    assert len(before) == 2
    assert not any("attic" in text for text, _, _ in before)
    service.rebuild()
    assert found(service) == before
    service.close()
    with open_service(tmp_path) as again:
        assert found(again) == before
        assert again.turn(timeline, "And now?").body["round"] == 3


def test_a_failed_attempt_leaves_the_earlier_reply_in_memory(service: Service, backend: ScriptedBackend) -> None:
    timeline = service.create_timeline("Ada", "Mia").id
    old = service.turn(timeline, "Where is the kettle?")
    backend.script = [GenerationError("server_error", "The model answered 500."), reply("At last.")]
    with pytest.raises(TurnFailedError):
        service.turn(timeline, "Where is the kettle?", replaces=old.id)
    assert remembered(service, timeline) == ["First answer."]
    assert [row.kind for row in service.catalogue.turns(timeline)] == ["turn", "turn_failed"]
    service.turn(timeline, "Where is the kettle?", replaces=old.id)
    assert remembered(service, timeline) == ["At last."]


def test_again_and_again(service: Service) -> None:
    timeline = service.create_timeline("Ada", "Mia").id
    event = service.turn(timeline, "Where is the kettle?")
    for _ in range(3):
        event = service.turn(timeline, "Where is the kettle?", replaces=event.id)
    assert service.catalogue.branches(event.id) == 3
    assert len(remembered(service, timeline)) == 1
    assert [row.event for row in service.catalogue.window(event.session or "", 9)] == [event.id]


def test_instructions_of_the_message_are_not_learned_twice(service: Service) -> None:
    timeline = service.create_timeline("Ada", "Mia").id
    old = service.turn(timeline, "From now on, always answer in French.")
    (given,) = service.timeline(timeline).active_instructions()
    service.timeline(timeline).retire_instruction(given.id, "no longer", by="hand")
    service.turn(timeline, "From now on, always answer in French.", replaces=old.id)
    assert service.timeline(timeline).active_instructions() == []


def test_only_the_reply_that_holds_in_the_newest_round(service: Service) -> None:
    timeline, other = service.create_timeline("Ada", "Mia").id, service.create_timeline("Bob", "Mia").id
    first = service.turn(timeline, "One.")
    second = service.turn(timeline, "Two.")
    elsewhere = service.turn(other, "Three.")
    third = service.turn(timeline, "Two again.", replaces=second.id)
    for replaced, why in ((first, "newest round"), (second, "no reply that holds"), (elsewhere, "no reply that holds")):
        with pytest.raises(InputError, match=why):
            service.turn(timeline, "Again.", replaces=replaced.id)
    with pytest.raises(InputError, match="no reply that holds"):
        service.turn(timeline, "Again.", replaces="0" * 32)
    assert [row.event for row in service.catalogue.turns(timeline)] == [first.id, third.id]


def test_a_reply_of_another_model_after_the_context_was_cleared(service: Service) -> None:
    timeline = service.create_timeline("Ada", "Mia").id
    service.turn(timeline, "The kettle is in the cellar.")
    old = service.turn(timeline, "Where is the kettle?")
    service.clear_context(timeline)
    new = service.turn(timeline, "Where is the kettle?", replaces=old.id)
    assert (new.body["window"], new.body["session_round"], new.body["round"]) == ([], 1, 2)
