"""Every context policy on a real service: what its prompt shows, what its record says, and that it replays exactly."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from arpm import turn
from arpm.audit.arithmetic import disagreements
from arpm.audit.memory_life import lives
from arpm.audit.past import Past
from arpm.audit.replay import Depth, TurnReplay, replayed
from arpm.erasure import erase, of_memories, reach
from arpm.events import Event
from arpm.generation.base import GenerationError, GenerationRequest
from arpm.generation.token_estimate import estimated_tokens
from arpm.prompt import compact_evidence_line, evidence_line
from arpm.quarantine import Scope
from arpm.record import history_row
from arpm.replayed_messages import placed_again
from arpm.replayed_prompt import PromptLostError, matches_record, parts_of_record, prompt_of_record
from arpm.service import Column, Service
from arpm.story import tell
from arpm.web.views import rehearsal_view
from governance.config import PRESETS, Policy
from governance.history import Placed
from retrieval.embedding.hashing import HashingEmbedder
from tests.support import ScriptedBackend, open_service, reply

POLICIES: tuple[Policy, ...] = get_args(Policy)
KETTLE = "The red kettle is in the cellar, behind the old shelf with the jam."
ALLERGY = "我对花生严重过敏，吃了会休克，请记住。"
LINES = (
    KETTLE,
    ALLERGY,
    *(
        f"On day {day} it rained and we had soup and talked about the neighbours' dog for a while."
        for day in range(1, 5)
    ),
    *(f"第{day}天我们去市场买了蔬菜，然后一起做了晚饭，聊了很久。" for day in range(1, 5)),
)
ASKED = "Where is the red kettle? 红色的水壶在哪里？"


@pytest.fixture
def backend() -> ScriptedBackend:
    backend = ScriptedBackend([reply("I see. 明白了。")])
    backend.prompt_style = "full"
    return backend


@pytest.fixture
def service(tmp_path: Path, backend: ScriptedBackend) -> Iterator[Service]:
    with open_service(tmp_path / "logs", backend) as opened:
        yield opened


def lived(service: Service) -> str:
    timeline = service.create_timeline("Ada", "Mia", "You are calm.", timezone="Asia/Shanghai").id
    service.ingest("guide.md", b"# Guide\n\nThe lantern by the door is lit at six.\n")
    for line in LINES:
        service.turn(timeline, line)
    return timeline


def asked_under(service: Service, timeline: str, policy: str, **settings: Any) -> Event:
    service.intervene(timeline, {"policy": policy, "history_budget": 300, "policy_rounds": 3, **settings}, "default")
    return service.turn(timeline, ASKED)


def body_of(event: Event) -> dict[str, Any]:
    assert event.body is not None
    return event.body


def replay(service: Service, timeline: str, depth: Depth) -> list[TurnReplay]:
    past = Past(service.logs, timeline, HashingEmbedder() if depth == "retrieval" else None)
    return list(replayed(past, depth, HashingEmbedder() if depth == "retrieval" else None))


class TestWhatThePromptShows:
    @pytest.fixture
    def prompts(self, service: Service, backend: ScriptedBackend) -> dict[str, str]:
        timeline = lived(service)
        found = {}
        for policy in POLICIES:
            changes = {"policy": policy, "history_budget": 150, "policy_rounds": 3, "compressed_tokens": 12}
            service.rehearse(timeline, ASKED, Column("default", changes))
            found[policy] = "\n".join(message.content for message in backend.requests[-1].messages)
        return found

    def test_each_policy_shows_its_own_part_of_the_conversation(self, prompts: dict[str, str]) -> None:
        with_kettle = {policy for policy, prompt in prompts.items() if KETTLE in prompt}
        assert with_kettle >= {"arpm", "bm25", "full"}
        assert with_kettle.isdisjoint({"stateless", "recent_k", "truncated"})
        last = LINES[-1]
        assert {policy for policy, prompt in prompts.items() if last in prompt} >= {
            *("arpm", "afm", "full", "recent_k", "truncated", "recency_compressed", "summary")
        }
        assert last not in prompts["stateless"] and "Summary of earlier rounds" in prompts["summary"]

    def test_what_must_never_be_lost_is_whole_under_adaptive_focus(self, prompts: dict[str, str]) -> None:
        assert ALLERGY in prompts["afm"]

    def test_what_is_not_shown_has_a_stub_that_names_it(self, prompts: dict[str, str]) -> None:
        assert "[第" in prompts["afm"] or "[round" in prompts["afm"]

    def test_documents_are_found_under_every_policy(self, service: Service, backend: ScriptedBackend) -> None:
        timeline = lived(service)
        for policy in POLICIES:
            service.rehearse(timeline, "When is the lantern by the door lit?", Column("default", {"policy": policy}))
            assert "lit at six" in backend.system, policy


@pytest.mark.parametrize("policy", POLICIES)
class TestTheRecord:
    def test_replays_exactly_and_its_prompt_can_be_rebuilt(self, service: Service, policy: Policy) -> None:
        timeline = lived(service)
        events = [asked_under(service, timeline, policy), asked_under(service, timeline, policy, history_budget=90)]
        events.append(asked_under(service, timeline, policy, history_scope="timeline", chronological=False))
        service.clear_context(timeline)
        events.append(asked_under(service, timeline, policy))
        for depth in ("arithmetic", "retrieval"):
            results = replay(service, timeline, depth)
            assert [(r.round, r.disagreements, r.skipped) for r in results if not r.same] == []
        for event in events:
            assert matches_record(prompt_of_record(service.catalogue, event), event)

    def test_has_a_line_for_every_message_that_was_looked_at(self, service: Service, policy: Policy) -> None:
        timeline = lived(service)
        rows = body_of(asked_under(service, timeline, policy))["history"]
        expected = 0 if policy in ("arpm", "bm25", "stateless") else 2 * len(LINES)
        assert len(rows) == expected
        assert all(row["reason"] for row in rows) and [row["round"] for row in rows] == sorted(r["round"] for r in rows)

    def test_no_budget_is_exceeded(self, service: Service, policy: Policy) -> None:
        timeline = lived(service)
        for budget in (0, 10, 50, 200):
            rows = body_of(asked_under(service, timeline, policy, history_budget=budget))["history"]
            if policy not in ("full", "recent_k"):
                assert sum(row["tokens"] for row in rows) <= budget


ABLATIONS: tuple[dict[str, Any], ...] = (
    {"afm_importance": False},
    {"afm_similarity": False},
    {"afm_half_life": 1e6},
    {"afm_compression": False},
    {"afm_stubs": False},
    {"afm_whole_lines": False},
)


@pytest.mark.parametrize("policy", ["afm", "afm_paper"])
class TestAdaptiveFocus:
    def test_replays_with_every_part_switched_off(self, service: Service, policy: str) -> None:
        timeline = lived(service)
        events = [asked_under(service, timeline, policy, **off, history_budget=200) for off in ABLATIONS]
        for depth in ("arithmetic", "retrieval"):
            results = replay(service, timeline, depth)
            assert [(r.round, r.disagreements, r.skipped) for r in results if not r.same] == []
        for event in events:
            assert matches_record(prompt_of_record(service.catalogue, event), event)

    @pytest.mark.parametrize("style", ["full", "compact"])
    def test_the_prompt_s_own_lines_are_within_the_budget(
        self, service: Service, backend: ScriptedBackend, policy: str, style: Any
    ) -> None:
        """Bug class: labels and cues came on top of the budget, and were up to half of what was shown."""
        timeline, line = lived(service), evidence_line if style == "full" else compact_evidence_line
        backend.prompt_style = style
        for budget in (40, 100, 200, 400):
            event = asked_under(service, timeline, policy, history_budget=budget)
            evidence = [item for item in parts_of_record(service.catalogue, event).evidence if item.part is not None]
            lines = "".join(("\n\n" if style == "full" else "\n") + line(item) for item in evidence)
            prompt = prompt_of_record(service.catalogue, event)[0].content
            assert all(line(item) in prompt for item in evidence)
            assert backend.count_tokens(lines) <= budget
            assert evidence or budget == 40

    def test_a_record_from_before_the_setting_counts_words_alone(self, service: Service, policy: str) -> None:
        timeline = lived(service)
        old = asked_under(service, timeline, policy, history_budget=150, afm_whole_lines=False)
        body = copy.deepcopy(body_of(old))
        for name in ("afm_whole_lines", "afm_importance", "afm_similarity", "afm_compression", "afm_stubs"):
            del body["config"][name]
        placed = placed_again(service.catalogue, timeline, old.at, body, estimated_tokens)
        assert [history_row(item) for item in placed] == body["history"]


class TestImportance:
    def test_the_record_says_how_sure_a_decision_is_and_why(self, service: Service) -> None:
        rows = body_of(asked_under(service, lived(service), "afm"))["history"]
        allergy = next(row["focus"] for row in rows if row["round"] == 2 and row["part"] == "user")
        assert (allergy["importance"], allergy["reason"]) == ("CRITICAL", "rule: allergy")
        assert all(0 < row["focus"]["probability"] <= 1 and row["focus"]["reason"] for row in rows)

    def test_what_is_not_judged_has_no_reason(self, service: Service) -> None:
        rows = body_of(asked_under(service, lived(service), "afm", afm_importance=False))["history"]
        assert {(row["focus"]["importance"], row["focus"]["probability"], row["focus"]["reason"]) for row in rows} == {
            ("TRIVIAL", None, None)
        }

    def test_a_record_from_before_it_was_kept_is_told_and_replays(
        self, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def as_it_was(item: Placed) -> dict[str, Any]:
            row = history_row(item)
            del row["focus"]["probability"], row["focus"]["reason"]
            return row

        timeline = lived(service)
        with monkeypatch.context() as then:
            then.setattr(turn, "history_row", as_it_was)
            old = asked_under(service, timeline, "afm")
        new = asked_under(service, timeline, "afm")
        assert "reason" not in body_of(old)["history"][0]["focus"]
        for depth in ("arithmetic", "retrieval"):
            results = replay(service, timeline, depth)
            assert [(r.round, r.disagreements, r.skipped) for r in results if not r.same] == []
        assert "(CRITICAL, 98% sure (rule: allergy), similarity" in tell(new, service.catalogue)
        assert "(CRITICAL, similarity" in tell(old, service.catalogue)


def test_a_model_with_a_small_window_is_shown_less(service: Service, backend: ScriptedBackend) -> None:
    timeline = lived(service)
    backend.context_tokens = 3700
    few = body_of(asked_under(service, timeline, "full"))
    assert any(row["reason"] == "over the model's window" for row in few["history"]) and few["window"]
    assert few["context_tokens"] == 3700
    assert all(result.same for result in replay(service, timeline, "retrieval"))


def test_a_memory_in_quarantine_is_no_message(service: Service) -> None:
    timeline = lived(service)
    service.quarantine(timeline, Scope("rounds", (1, 1)), "a test")
    body = body_of(asked_under(service, timeline, "afm"))
    assert 1 not in {row["round"] for row in body["history"]}


def test_another_prompt_than_the_recorded_one_is_noticed_when_a_message_was_erased(service: Service) -> None:
    timeline = lived(service)
    event = asked_under(service, timeline, "afm")
    memory = service.timeline(timeline).memory_of_round(1)
    assert memory is not None
    what = of_memories(service.catalogue, [memory])
    erase(service, what, reach(service, what).confirm)
    with pytest.raises(PromptLostError, match="round 1"):
        prompt_of_record(service.catalogue, service.record(event.id))


Tamper = Callable[[dict[str, Any]], None]


def _focused(body: dict[str, Any], fidelity: str = "FULL") -> Any:
    return next(row for row in body["history"] if row["fidelity"] == fidelity)


TAMPERINGS: dict[str, Tamper] = {
    "another score": lambda body: _focused(body)["focus"].update(score=0.123),
    "another recency": lambda body: _focused(body)["focus"].update(recency=0.123),
    "another intention": lambda body: _focused(body, "PLACEHOLDER")["focus"].update(intended="FULL"),
    "other tokens": lambda body: _focused(body).update(tokens=1),
    "a message hidden": lambda body: body["evidence"].pop(),
    "a message shown that was not": lambda body: _focused(body, "PLACEHOLDER").update(fidelity="FULL", tokens=9),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_a_record_of_adaptive_focus_that_contradicts_itself_is_found(service: Service, name: str) -> None:
    timeline = lived(service)
    event = asked_under(service, timeline, "afm")
    assert disagreements(body_of(event), event.at, "Asia/Shanghai") == []
    body = copy.deepcopy(body_of(event))
    TAMPERINGS[name](body)
    assert disagreements(body, event.at, "Asia/Shanghai")


def test_the_life_of_a_memory_goes_on_under_adaptive_focus(service: Service) -> None:
    """Bug class: a view that reads candidates only. What was shown without a search was "never shown"."""
    timeline = lived(service)
    memory = service.timeline(timeline).memory_of_round(2)
    event = asked_under(service, timeline, "afm")
    assert memory is not None
    last = lives(service.timeline(timeline).events(), frozenset([memory]))[memory][-1]
    row = max((r for r in body_of(event)["history"] if r["memory"] == memory), key=lambda r: r["focus"]["score"])
    assert (last.turn, last.round, last.rounds_ago, last.final) == (event.id, 11, 9, row["focus"]["score"] == 1.0)
    assert last.label is not None and last.weight == row["focus"]["recency"]


def test_every_policy_has_a_preset(service: Service) -> None:
    assert {preset.config.policy for preset in PRESETS.values()} == set(POLICIES)


class TestAModelThatShortens:
    """The setting `compressor` "model": what a model made of a message is kept, used again, and erased with it."""

    @pytest.fixture
    def short(self, backend: ScriptedBackend) -> Iterator[list[str]]:
        """Prompts that asked to shorten; the model answers them with the first words of the message."""
        asked: list[str] = []

        def answer(request: GenerationRequest) -> str:
            if len(request.messages) > 1 or ("Shorten" not in request.question and "缩短" not in request.question):
                return reply("I see. 明白了。")
            asked.append(request.question)
            return self.written(request.question)

        backend.script = [answer]
        yield asked

    @staticmethod
    def written(question: str) -> str:
        return f"<think>short</think>Brief: {question.splitlines()[-1][:20]}"

    @staticmethod
    def under(service: Service, timeline: str, policy: str = "recency_compressed") -> Event:
        return asked_under(service, timeline, policy, compressor="model", compressed_tokens=14, policy_rounds=2)

    @pytest.mark.parametrize("policy", ["recency_compressed", "summary", "afm"])
    def test_is_asked_once_and_replays_without_it(
        self, service: Service, backend: ScriptedBackend, short: list[str], policy: str
    ) -> None:
        timeline = lived(service)
        event = self.under(service, timeline, policy)
        shown = "\n".join(message.content for message in backend.requests[-1].messages)
        if policy != "afm":
            assert short and "Brief: " in shown and "<think>" not in shown
        asked = len(short)
        self.under(service, timeline, policy)
        assert len(set(short)) == len(short) and len(short) - asked <= 4
        for depth in ("arithmetic", "retrieval"):
            results = replay(service, timeline, depth)
            assert [(r.round, r.disagreements, r.skipped) for r in results if not r.same] == []
        assert matches_record(prompt_of_record(service.catalogue, event), event)

    def test_its_faults_are_noted(self, service: Service, backend: ScriptedBackend, short: list[str]) -> None:
        timeline = lived(service)
        self.written = lambda question: "far too long " * 50  # type: ignore[method-assign]
        rows = [row for row in body_of(self.under(service, timeline))["history"] if row["fidelity"] == "COMPRESSED"]
        assert rows and all("cut" in row["note"] and row["tokens"] <= 14 for row in rows)

    def test_a_model_that_fails_is_replaced_by_rule_and_asked_again(
        self, service: Service, backend: ScriptedBackend, short: list[str]
    ) -> None:
        timeline = lived(service)

        def broken(question: str) -> str:
            raise GenerationError("timeout", "took too long")

        self.written = broken  # type: ignore[method-assign]
        rows = [row for row in body_of(self.under(service, timeline))["history"] if row["fidelity"] == "COMPRESSED"]
        assert rows and all("took too long" in row["note"] for row in rows)
        asked = len(short)
        del self.written
        again = body_of(self.under(service, timeline))
        assert len(short) > asked
        assert any(row["fidelity"] == "COMPRESSED" and row["note"] is None for row in again["history"])
        assert all(result.same for result in replay(service, timeline, "retrieval"))

    def test_a_rehearsal_leaves_no_trace_and_shows_its_prompt(self, service: Service, short: list[str]) -> None:
        timeline = lived(service)
        before = (service.logs / timeline / "ledger.jsonl").read_bytes()
        changes = {"policy": "recency_compressed", "compressor": "model", "compressed_tokens": 14, "policy_rounds": 2}
        rehearsal = service.rehearse(timeline, ASKED, Column("default", changes))
        assert short and (service.logs / timeline / "ledger.jsonl").read_bytes() == before
        assert "Brief: " in str(rehearsal_view(service, timeline, rehearsal)["prompt"])

    def test_what_was_made_of_a_message_goes_with_it(self, service: Service, short: list[str]) -> None:
        timeline = lived(service)
        self.written = lambda question: "Brief: zebra" if "soup" in question else "Brief."  # type: ignore[method-assign]
        self.under(service, timeline, "summary")
        ledger = service.logs / timeline / "ledger.jsonl"
        assert b"zebra" in ledger.read_bytes()
        memories = [memory for number in range(3, 7) if (memory := service.timeline(timeline).memory_of_round(number))]
        what = of_memories(service.catalogue, memories)
        erase(service, what, reach(service, what).confirm)
        files = [path for path in service.logs.rglob("*") if path.is_file()]
        assert [path.name for path in files if b"zebra" in path.read_bytes()] == []
