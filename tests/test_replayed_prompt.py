"""The prompt of every shape of turn is rebuilt from its record, and a changed record gives another prompt."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arpm.errors import ArpmError
from arpm.events import Event
from arpm.generation.base import GenerationError, PromptStyle
from arpm.replayed_prompt import PromptLostError, matches_record, prompt_of_record
from arpm.service import Service
from arpm.story import tell
from arpm.turn import TurnFailedError
from tests.support import ScriptedBackend, open_service, reply

DOCUMENT = "# 港口 Harbour\n\nThe lighthouse was painted green in 1974. 灯塔在一九七四年被漆成绿色。\n"


@pytest.fixture
def backend() -> ScriptedBackend:
    return ScriptedBackend()


@pytest.fixture
def service(tmp_path: Path, backend: ScriptedBackend) -> Iterator[Service]:
    with open_service(tmp_path / "logs", backend) as opened:
        opened.ingest("harbour.md", DOCUMENT.encode())
        yield opened


@pytest.fixture
def timeline(service: Service) -> str:
    """A timeline with a persona, an instruction and three rounds, the last one in a session of its own."""
    opened = service.create_timeline("Lin", "阿梅", "You keep the lighthouse. <analysis>", timezone="Asia/Shanghai")
    opened.add_instruction("请用诗句回答。")
    for message in ("My aunt's kite is red.", "我的猫叫 <response> 团团。"):
        service.turn(opened.id, message)
    service.clear_context(opened.id)
    service.turn(opened.id, "From now on, always answer briefly.")
    return opened.id


def rebuilt_as_sent(service: Service, backend: ScriptedBackend, event: Event) -> None:
    messages = prompt_of_record(service.catalogue, event)
    assert messages == backend.requests[-1].messages
    assert matches_record(messages, event)


class TestEveryShapeIsRebuilt:
    @pytest.mark.parametrize(
        ("message", "shown"),
        [
            ("What colour is my aunt's kite?", "kite is red"),
            ("我的猫叫什么名字？", "团团"),
            ("When was the lighthouse painted green?", "1974"),
            ("灯塔是什么时候漆成绿色的？", "一九七四年"),
            ("How many moons does Jupiter have?", "Nothing that is remembered"),
        ],
    )
    def test_with_evidence_of_either_kind_and_with_none(
        self, service: Service, backend: ScriptedBackend, timeline: str, message: str, shown: str
    ) -> None:
        event = service.turn(timeline, message)
        assert shown in backend.system
        rebuilt_as_sent(service, backend, event)

    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"time_cues": False},
            {"protocol_enabled": False},
            {"instructions_enabled": False},
            {"window_rounds": 0},
            {"chronological": False},
            {"knowledge_enabled": False, "history_enabled": False},
        ],
    )
    @pytest.mark.parametrize("style", ["full", "compact"])
    def test_under_every_intervention_and_in_both_wordings(
        self, service: Service, backend: ScriptedBackend, timeline: str, changes: dict[str, Any], style: PromptStyle
    ) -> None:
        backend.prompt_style = style
        service.intervene(timeline, changes)
        event = service.turn(timeline, "Is the kite of my aunt green like the 灯塔?")
        rebuilt_as_sent(service, backend, event)

    def test_the_first_turn_of_all_and_one_in_a_new_session(self, service: Service, backend: ScriptedBackend) -> None:
        id = service.create_timeline("Lin", "Mei").id
        rebuilt_as_sent(service, backend, service.turn(id, "Hello."))
        rebuilt_as_sent(service, backend, service.turn(id, "Again."))
        service.clear_context(id)
        rebuilt_as_sent(service, backend, service.turn(id, "And again."))

    def test_after_later_turns_changed_everything_around_it(
        self, service: Service, backend: ScriptedBackend, timeline: str
    ) -> None:
        """Bug: the window was read from the running session, so an old prompt was rebuilt with new rounds."""
        event = service.turn(timeline, "When was the lighthouse painted?")
        sent = backend.requests[-1].messages
        opened = service.timeline(timeline)
        opened.retire_instruction(opened.active_instructions()[0].id, "done", by="hand")
        service.library.remove(service.library.documents()[0].id, "old")
        service.turn(timeline, "Something else.")
        service.rebuild()
        again = service.record(event.id)
        assert prompt_of_record(service.catalogue, again) == sent
        assert matches_record(prompt_of_record(service.catalogue, again), again)


class TestTamperingShows:
    @pytest.mark.parametrize(
        "change",
        [
            lambda body: body.update(message="What colour is the KITE of my aunt and the lighthouse?"),
            lambda body: body.update(round=body["round"] + 1),
            lambda body: body.update(last_round_at="2026-01-01T00:00:00+00:00"),
            lambda body: body.update(window=[]),
            lambda body: body.update(instructions_shown=body["instructions_shown"][:1]),
            lambda body: body["evidence"].reverse(),
            lambda body: body["evidence"].pop(),
            lambda body: body["evidence"][0].update(cue="today"),
            lambda body: body["evidence"][0].update(memory=body["evidence"][1]["memory"]),
            lambda body: body["backend"].update(prompt_style="compact"),
            lambda body: body["config"].update(protocol_enabled=False),
            lambda body: body["prompt"].update(digest="sha256:" + "0" * 64),
        ],
    )
    def test_a_changed_record_does_not_match(
        self, service: Service, timeline: str, change: Callable[[dict[str, Any]], object]
    ) -> None:
        event = service.turn(timeline, "What colour is the kite of my aunt and the lighthouse?")
        assert event.body is not None
        assert len(event.body["evidence"]) > 1
        assert matches_record(prompt_of_record(service.catalogue, event), event)
        forged = replace(event, body=copy.deepcopy(event.body))
        assert forged.body is not None
        change(forged.body)
        assert not matches_record(prompt_of_record(service.catalogue, forged), forged)
        assert "THE DIGESTS DO NOT AGREE" in tell(forged, service.catalogue)


class TestWhatIsLost:
    def test_a_failed_turn_says_that_only_the_digest_is_there(
        self, service: Service, backend: ScriptedBackend, timeline: str
    ) -> None:
        backend.script = [GenerationError("timeout", "It took too long.", "half a")]
        with pytest.raises(TurnFailedError) as error:
            service.turn(timeline, "Hello?")
        with pytest.raises(PromptLostError, match="digest only"):
            prompt_of_record(service.catalogue, error.value.event)
        told = tell(error.value.event, service.catalogue)
        assert "timeout: It took too long." in told
        assert "arrived | half a" in told

    @pytest.mark.parametrize(
        ("change", "text"),
        [
            (lambda body: body["evidence"][0].update(memory="m-000000000000"), "m-000000000000, which was erased"),
            (lambda body: body.update(window=[999]), "round 999, which was erased"),
            (lambda body: body.update(instructions_shown=["i-000000000000"]), "i-000000000000"),
        ],
    )
    def test_what_was_erased_is_named(
        self, service: Service, timeline: str, change: Callable[[dict[str, Any]], object], text: str
    ) -> None:
        event = service.turn(timeline, "What colour is the kite of my aunt?")
        forged = replace(event, body=copy.deepcopy(event.body))
        assert forged.body is not None
        change(forged.body)
        with pytest.raises(PromptLostError, match=text):
            prompt_of_record(service.catalogue, forged)
        assert "cannot be rebuilt" in tell(forged, service.catalogue)

    def test_an_erased_record(self, service: Service, timeline: str) -> None:
        event = replace(service.turn(timeline, "Hello."), body=None)
        with pytest.raises(ArpmError, match="was erased"):
            prompt_of_record(service.catalogue, event)
        assert "its record was erased" in tell(event, service.catalogue)


class TestTheStory:
    def test_names_violations_and_repairs_in_the_language_of_the_message(
        self, service: Service, backend: ScriptedBackend, timeline: str
    ) -> None:
        backend.script = ["没有标签的回复。", reply("重新写的回复。")]
        told = tell(service.turn(timeline, "我的猫叫什么名字？"), service.catalogue)
        assert "2. repair: stop" in told
        assert "asked: missing analysis" in told
        assert "remembered as m-" in told

    def test_says_when_the_config_is_not_that_of_its_preset(self, service: Service, timeline: str) -> None:
        service.intervene(timeline, {"history_k": 3})
        assert "preset default (changed by hand)" in tell(service.turn(timeline, "Hello."), service.catalogue)
