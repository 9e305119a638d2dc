"""The service with its real parts: the default embedder, the embedded model, a real endpoint on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from arpm.generation.base import GenerationError
from arpm.service import Service
from arpm.settings import ModelSettings, Settings
from arpm.turn import TurnFailedError, Watch
from tests.generation.openai_server import openai_server
from tests.network_guard import contacted, needs_strace
from tests.support import ScriptedBackend, reply

TALK = (
    ("I am allergic to peanuts; they give me a rash.", "I will remember that."),
    ("My sister Clara moved to Lisbon last spring.", "How does she like it there?"),
    ("The meeting with the architect is on Thursday.", "Noted, Thursday."),
    ("我上周六和妹妹去了杭州西湖，下雨了。", "下雨的西湖也很美。"),
    ("我的生日是三月五日。", "好的，我记住了。"),
    ("我们公司下个月搬到浦东。", "那通勤会变远吗？"),
)
ASKED = {
    "What am I allergic to?": "peanuts",
    "Where does Clara live now?": "Lisbon",
    "When do we see the architect?": "Thursday",
    "我的生日是哪天？": "三月五日",
    "公司要搬到哪里？": "浦东",
    "我和谁去了西湖？": "妹妹",
}
UNKNOWN = (
    "What is the boiling point of mercury?",
    "How do I configure an nginx reverse proxy?",
    "Explain the Krebs cycle.",
    "How many moons does Neptune have?",
    "水星的沸点是多少？",
    "如何配置数据库的主从复制？",
    "什么是量子纠缠？",
    "拜占庭帝国什么时候灭亡？",
)


@pytest.fixture(scope="module")
def remembered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, str]]:
    """A service with the default embedder that has lived through TALK."""
    backend = ScriptedBackend([reply(answer) for _, answer in TALK])
    settings = Settings(logs=tmp_path_factory.mktemp("logs"), model="scripted")
    with Service(settings, backends=[backend]) as service:
        timeline = service.create_timeline("Ada", "Mia").id
        for message, _ in TALK:
            service.turn(timeline, message)
        service.clear_context(timeline)
        yield service, timeline


class TestTheDefaultEmbedder:
    @pytest.mark.parametrize("question", ASKED)
    def test_finds_what_was_said(self, remembered: tuple[Service, str], question: str) -> None:
        service, timeline = remembered
        evidence = service.look(timeline, question).governed.evidence
        assert any(ASKED[question] in item.text for item in evidence)

    @pytest.mark.parametrize("question", UNKNOWN)
    def test_gives_no_evidence_when_nothing_matches(self, remembered: tuple[Service, str], question: str) -> None:
        """RRF divided by its maximum returned the top N for a nonsense phrase."""
        service, timeline = remembered
        governed = service.look(timeline, question).governed
        assert governed.evidence == ()
        assert {decision.reason for decision in governed.experience} == {"nothing matches"}


def test_the_embedded_model_answers_a_turn_in_form(tmp_path: Path) -> None:
    with Service(Settings(logs=tmp_path)) as service:
        timeline = service.create_timeline("Ada", "Mia", "Mia keeps a small tea house and is kind.").id
        service.ingest("house.md", b"# Tea house\n\nThe tea house opens at nine and closes at six.\n")
        shown: list[str] = []
        event = service.turn(timeline, "When does the tea house open?", Watch(text=shown.append))
        assert event.body is not None
        assert event.body["violations"] == []
        assert event.body["response"]
        assert "".join(shown).strip() == event.body["response"]
        assert [row["route"] for row in event.body["evidence"]] == ["knowledge"]
        assert event.body["admission"]["admitted"] is True


def test_an_endpoint_that_serves_the_embedded_model_answers_a_turn(tmp_path: Path) -> None:
    with openai_server() as server:
        model = ModelSettings(name="remote", backend="openai", base_url=server.base_url, model="local")
        with Service(Settings(logs=tmp_path, model="remote", models=(model,))) as service:
            timeline = service.create_timeline("小林", "阿梅").id
            event = service.turn(timeline, "你好！")
            assert event.body is not None
            assert event.body["backend"]["name"] == "remote"
            assert event.body["response"]
            assert "<" not in event.body["response"]


@pytest.mark.parametrize("behaviour", ["status-500", "drop-mid-stream", "status-401", "status-404"])
def test_an_endpoint_that_fails_leaves_a_failed_turn_and_no_memory(tmp_path: Path, behaviour: str) -> None:
    with openai_server() as server:
        model = ModelSettings(name="remote", backend="openai", base_url=server.base_url, model=behaviour, tries=1)
        with Service(Settings(logs=tmp_path, embedder="hashing", model="remote", models=(model,))) as service:
            timeline = service.create_timeline("Ada", "Mia").id
            with pytest.raises(TurnFailedError) as failed:
                service.turn(timeline, "Remember the blue door.")
            assert isinstance(failed.value.cause, GenerationError)
            (row,) = service.catalogue.turns(timeline)
            assert (row.kind, row.message) == ("turn_failed", "Remember the blue door.")
            assert service.timeline(timeline).index.atoms() == []


OFFLINE_TURN = """
import sys, tempfile
from pathlib import Path
from arpm.service import Service
from arpm.settings import Settings
with tempfile.TemporaryDirectory() as folder, Service(Settings(logs=Path(folder))) as service:
    timeline = service.create_timeline("Ada", "Mia").id
    service.ingest("house.md", b"The tea house opens at nine.")
    event = service.turn(timeline, "When does the tea house open?")
    print(event.kind, len(event.body["evidence"]))
"""


@needs_strace
def test_a_turn_contacts_nobody() -> None:
    """Telemetry of every dependency is off: no connection beyond loopback, nor a name looked up."""
    contacts = contacted(OFFLINE_TURN)
    assert contacts.returncode == 0, contacts.output
    assert "turn 1" in contacts.output
    assert contacts.beyond_loopback == []
