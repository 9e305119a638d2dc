"""Erasing other replies along: those that repeat the words, or all that were made with them in view.

Afterwards no sentence of what was erased is in any file under the logs folder.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from arpm.audit.chain import read_chain
from arpm.erasure import Reach, Receipt, What, erase, of_memories, reach
from arpm.errors import InputError
from arpm.events import Event
from arpm.generation.base import GenerationError, GenerationRequest
from arpm.ledger import LedgerWriteError, verify
from arpm.repeats import Words
from arpm.service import Service
from arpm.sweep import Along, texts_of
from arpm.turn import TurnFailedError
from arpm.unfinished import NAME
from retrieval.text import sentences
from tests.support import START, ScriptedBackend, reply
from tests.test_erasure import (
    Open,
    assert_as_rebuilt,
    backend,
    before_and_after,
    holding,
    ledger_of,
    logs,
    memory_of,
    opened,
    service,
    timeline,
    vectors,
)

__all__ = ["backend", "logs", "opened", "service", "timeline"]

SECRET = "My locker code is Zanzibar-4471. The key hangs behind the green lighthouse. 我的储物柜密码是鹦鹉螺七七四九。"
PARTS = [SECRET[span.start : span.end] for span in sentences(SECRET)]


def look(service: Service, *ids: str, replies: Along | None = None) -> Reach:
    return reach(service, of_memories(service.catalogue, ids, replies))


def forget(service: Service, *ids: str, replies: Along | None = None, **more: Any) -> tuple[Receipt, Reach]:
    what = of_memories(service.catalogue, ids, replies)
    return erase(service, what, reach(service, what).confirm, **more)


def body_of(service: Service, event: str) -> dict[str, Any] | None:
    body = service.record(event).body
    return dict(body) if body is not None else None


def rounds(found: Reach, goes: bool | None = None) -> list[int]:
    return [item.round for item in found.replies if goes is None or item.goes is goes]


def told(service: Service, timeline: str, backend: ScriptedBackend) -> dict[str, Event]:
    """A conversation in which the secret is repeated in every place that a turn has words in."""
    said: dict[str, Event] = {}

    def turn(name: str, message: str, *script: Any, fresh: bool = False) -> None:
        if fresh:
            service.clear_context(timeline)
        backend.script = [*script]
        said[name] = service.turn(timeline, message)

    turn("before", "The kettle is red.", reply("A red kettle."))
    turn("secret", SECRET, reply("I will keep it to myself."), fresh=True)
    turn("reply", "What did I say?", reply("You said: my locker code is Zanzibar-4471."))
    turn("apart", "The stove is blue.", reply("A blue stove."))
    draft = "The key hangs behind the green lighthouse, so"
    turn("draft", "And the cat?", draft, reply("The cat is old."), fresh=True)
    turn("check", "And the dog?", reply("The dog is young.", check="我的储物柜密码是鹦鹉螺七七四九 is not asked for."))
    turn("message", "密码是鹦鹉螺七七四九，对吗？", reply("Yes."), fresh=True)
    turn("number", "What was the number?", reply("44 71, I think."), fresh=True)
    return said


class TestLooking:
    def test_says_of_each_reply_whether_it_repeats_the_words_and_which(
        self, service: Service, timeline: str, backend: ScriptedBackend
    ) -> None:
        said = told(service, timeline, backend)
        found = look(service, memory_of(said["secret"]))
        shares = {item.turn: item.shares for item in found.replies}
        assert shares[said["reply"].id] == "my locker code is zanzibar-4471."
        assert shares[said["draft"].id] == "the key hangs behind the green lighthouse"
        assert shares[said["check"].id] == "我的储物柜密码是鹦鹉螺七七四九"
        assert shares[said["message"].id] == "密码是鹦鹉螺七七四九"
        assert shares[said["number"].id] == "4471"
        # Shown in its window, and repeating nothing.
        assert shares[said["apart"].id] is None
        assert said["before"].id not in shares
        assert not any(item.goes for item in found.replies)
        assert found.confirm == "erase 1 memory"

    def test_what_repeats_it_without_having_seen_it_is_listed_too(
        self, service: Service, timeline: str, backend: ScriptedBackend
    ) -> None:
        """Only what had been shown the words was listed, so that a second telling of them was overlooked."""
        first = service.turn(timeline, "By the way, the key hangs behind the green lighthouse.")
        service.clear_context(timeline)
        service.intervene(timeline, {"history_enabled": False})
        later = service.turn(timeline, SECRET)
        found = look(service, memory_of(later))
        assert [(item.turn, item.shares) for item in found.replies] == [
            (first.id, "the key hangs behind the green lighthouse.")
        ]
        assert found.prompts == ()

    def test_a_phrase_of_the_model_is_no_repetition_where_the_words_were_not_in_view(
        self, service: Service, timeline: str, backend: ScriptedBackend
    ) -> None:
        service.intervene(timeline, {"history_enabled": False})
        backend.script = [reply("I am afraid that I have no record of that.")]
        first = service.turn(timeline, "Where is my boat?")
        service.clear_context(timeline)
        second = service.turn(timeline, "Where is my horse?")
        assert look(service, memory_of(first)).replies == ()
        assert look(service, memory_of(second)).replies == ()


class TestQuoting:
    def test_takes_what_repeats_it_and_leaves_the_rest(
        self, service: Service, opened: Open, timeline: str, backend: ScriptedBackend, logs: Path
    ) -> None:
        said = told(service, timeline, backend)
        gone = ["secret", "reply", "draft", "check", "message", "number"]
        found = look(service, memory_of(said["secret"]), replies="quoting")
        assert found.confirm == f"erase {len(gone)} memories"
        assert {item.turn for item in found.replies if item.goes} == {said[name].id for name in gone[1:]}
        receipt, done = forget(service, memory_of(said["secret"]), replies="quoting")
        assert done == found
        assert set(receipt.events) == {said[name].id for name in gone}
        assert holding(logs, *PARTS, "Zanzibar", "鹦鹉螺", "lighthouse") == []
        for again in before_and_after(service, opened):
            for name, event in said.items():
                assert (body_of(again, event.id) is None) == (name in gone), name
            assert body_of(again, said["apart"].id) == said["apart"].body
            assert holding(logs, *PARTS) == []
            assert_as_rebuilt(again, timeline)
        assert verify(ledger_of(again, timeline)).torn_bytes == 0

    def test_the_receipt_says_which_went_along_by_id_only(
        self, service: Service, timeline: str, backend: ScriptedBackend
    ) -> None:
        said = told(service, timeline, backend)
        receipt, _ = forget(service, memory_of(said["secret"]), replies="quoting", reason="asked to")
        line = ledger_of(service, timeline).read_bytes().splitlines()[-1]
        body = json.loads(line)["body"]
        along = ["reply", "draft", "check", "message", "number"]
        assert body["along"] == {"which": "quoting", "turns": [said[name].id for name in along]}
        assert receipt.event == json.loads(line)["id"]
        assert Words([SECRET]).shared(line.decode()) is None
        assert not read_chain(ledger_of(service, timeline)).findings

    def test_a_whole_round_goes_with_its_replies_instructions_feedback_and_reviews(
        self, service: Service, timeline: str, backend: ScriptedBackend, logs: Path
    ) -> None:
        secret = service.turn(timeline, SECRET)
        backend.script = [reply("Right, my locker code is Zanzibar-4471."), reply("Noted, Captain Tangerine.")]
        first = service.turn(timeline, "From now on always call me Captain Tangerine.")
        service.turn(timeline, "From now on always call me Captain Tangerine.", replaces=first.id)
        backend.script = [reply("Yes.")]
        service.turn(timeline, "Fine.")
        store = service.timeline(timeline)._store
        store.append("feedback", {"round": 2, "rating": "up", "note": "Captain Tangerine it is"}, at=START)
        store.append("review", review(first.id, reason="calls him Captain Tangerine"), at=START)
        receipt, done = forget(service, memory_of(secret), replies="quoting")
        assert [item.text for item in done.instructions] == ["From now on always call me Captain Tangerine."]
        assert len(receipt.memories) == 3
        assert holding(logs, *PARTS, "Tangerine") == []
        assert service.timeline(timeline).active_instructions() == []
        assert_as_rebuilt(service, timeline)

    def test_other_records_that_repeat_it_go_too(
        self, service: Service, opened: Open, timeline: str, backend: ScriptedBackend, logs: Path
    ) -> None:
        """Titles, instructions by hand, notes on other rounds, reviews of them."""
        secret, other = service.turn(timeline, SECRET), service.turn(timeline, "The kettle is red.")
        copies(service, timeline, other.id)
        kinds = ["timeline_renamed", "instruction_added", "feedback", "review", "memory_quarantined"]
        stays = look(service, memory_of(secret))
        assert [(item.kind, item.goes) for item in stays.copies] == [(kind, False) for kind in kinds]
        assert stays.instructions == ()
        found = look(service, memory_of(secret), replies="quoting")
        # Quarantine would end with its record: only its reason repeats the words, and is for a person to see.
        assert {item.kind: item.goes for item in found.copies} == {kind: kind != "memory_quarantined" for kind in kinds}
        assert [item.text for item in found.instructions] == [
            "Remember that the key hangs behind the green lighthouse."
        ]
        forget(service, memory_of(secret), replies="quoting")
        for again in before_and_after(service, opened):
            info = again.timeline(timeline).info
            assert info.title == "Kettles"
            assert again.timeline(timeline).active_instructions() == []
            assert again.catalogue.count_memories(timeline, state="quarantined") == 1
            assert_as_rebuilt(again, timeline)
        left = [
            line for line in ledger_of(again, timeline).read_text("utf-8").splitlines() if "green lighthouse" in line
        ]
        assert [json.loads(line)["kind"] for line in left] == ["memory_quarantined"]

    def test_an_imported_round_goes_and_does_not_come_back(self, service: Service, timeline: str, logs: Path) -> None:
        from arpm.importers.atoms import Atom, write_atoms

        atoms = [
            Atom("a", "one", START, SECRET, "Yes."),
            Atom("b", "one", START, "Once more: the key hangs behind the green lighthouse.", "Yes."),
            Atom("c", "one", START, "The kettle is red.", "Yes."),
        ]
        write_atoms(service.timeline(timeline), "chat.jsonl", atoms)
        first, second, third = (atom.memory for atom in service.catalogue.experiences(timeline))
        receipt, _ = forget(service, first, replies="quoting")
        assert set(receipt.memories) == {first, second}
        assert holding(logs, *PARTS, "lighthouse") == []
        assert write_atoms(service.timeline(timeline), "chat.jsonl", atoms).imported == 0
        assert [atom.memory for atom in service.catalogue.experiences(timeline)] == [third]

    def test_vectors_of_what_went_along_go(self, service: Service, timeline: str, backend: ScriptedBackend) -> None:
        said = told(service, timeline, backend)
        # As adaptive focus looks at them: each side by itself.
        service.embedder.encode_document([SECRET, "I will keep it to myself."])
        texts = [SECRET, "I will keep it to myself.", "密码是鹦鹉螺七七四九，对吗？"]
        assert vectors(service, *texts) >= len(texts)
        forget(service, memory_of(said["secret"]), replies="quoting")
        assert vectors(service, *texts) == 0
        assert vectors(service, "The stove is blue.") == 1


class TestAll:
    def test_takes_everything_that_had_it_in_view_and_what_had_that_in_view(
        self, service: Service, opened: Open, timeline: str, backend: ScriptedBackend, logs: Path
    ) -> None:
        said = told(service, timeline, backend)
        backend.script = [reply("Somewhere by the sea.")]
        service.intervene(timeline, {"history_enabled": False})
        service.clear_context(timeline)
        said["unrelated"] = service.turn(timeline, "Guten Tag.")
        found = look(service, memory_of(said["secret"]), replies="all")
        receipt, _ = forget(service, memory_of(said["secret"]), replies="all")
        assert {"reply", "apart"} <= {name for name, event in said.items() if event.id in receipt.events}
        assert rounds(found, goes=False) == [] and found.prompts == ()
        assert holding(logs, *PARTS, "Zanzibar", "鹦鹉螺", "lighthouse") == []
        assert body_of(service, said["before"].id) is not None
        assert body_of(service, said["unrelated"].id) is not None
        for event in said.values():
            if (body := body_of(opened(), event.id)) is not None:
                assert not {row["memory"] for row in body["evidence"]} & set(receipt.memories)
        assert_as_rebuilt(opened(), timeline)

    def test_a_chain_of_views_is_followed_to_its_end(
        self, service: Service, timeline: str, backend: ScriptedBackend
    ) -> None:
        """Each round saw only the one before it, the last one nothing of the first."""
        service.intervene(timeline, {"history_enabled": False, "window_rounds": 1})
        events = [service.turn(timeline, SECRET)]
        events += [service.turn(timeline, f"And number {number}?") for number in range(6)]
        service.clear_context(timeline)
        last = service.turn(timeline, "Hello.")
        found = look(service, memory_of(events[0]), replies="all")
        assert rounds(found) == [2, 3, 4, 5, 6, 7]
        receipt, _ = forget(service, memory_of(events[0]), replies="all")
        assert set(receipt.events) == {event.id for event in events}
        assert body_of(service, last.id) == last.body

    def test_failed_turns_after_it_go_since_nobody_can_tell_what_they_saw(
        self, service: Service, timeline: str, backend: ScriptedBackend, logs: Path
    ) -> None:
        failures = ["Something that hangs by the sea", "You said: the key hangs behind the green light"]
        backend.script = [GenerationError("dropped", "Gone.", "Before it all"), reply("Noted.")]
        with pytest.raises(TurnFailedError):
            service.turn(timeline, "The kettle is red.")
        service.turn(timeline, "The kettle is red.")
        secret = service.turn(timeline, SECRET)
        backend.script = [GenerationError("dropped", "Gone.", text) for text in failures]
        for _ in failures:
            with pytest.raises(TurnFailedError):
                service.turn(timeline, "Where is my key?")
        assert len(look(service, memory_of(secret)).replies) == 1
        quoting = look(service, memory_of(secret), replies="quoting")
        assert [item.text for item in quoting.replies if item.goes] == failures[1:]
        found = look(service, memory_of(secret), replies="all")
        assert [item.text for item in found.replies if item.goes] == failures
        forget(service, memory_of(secret), replies="all")
        assert holding(logs, *PARTS, "hangs") == []
        assert holding(logs, "Before it all")

    @pytest.mark.parametrize("policy", ["truncated", "summary", "afm"])
    def test_other_ways_of_looking_back_are_views_too(
        self, service: Service, timeline: str, backend: ScriptedBackend, policy: str
    ) -> None:
        """A compressed message or a rolling summary has the words of the round as much as a window has."""
        service.intervene(timeline, {"policy": policy})
        secret = service.turn(timeline, SECRET)
        later = service.turn(timeline, "And now?")
        shown = " ".join(message.content for message in backend.requests[-1].messages)
        found = look(service, memory_of(secret), replies="all")
        assert Words([SECRET]).shared(shown) is not None
        assert [item.turn for item in found.replies] == [later.id]
        stays = look(service, memory_of(secret))
        assert [item.turn for item in stays.prompts] == [later.id]

    def test_of_a_session_and_of_a_failed_turn(self, service: Service, timeline: str, logs: Path) -> None:
        session = service.timeline(timeline).session().id
        service.turn(timeline, SECRET)
        service.clear_context(timeline)
        service.turn(timeline, "Does the key hang behind the green lighthouse?")
        what = What(timeline, session=session, replies="all")
        erase(service, what, reach(service, what).confirm)
        assert holding(logs, *PARTS, "lighthouse") == []

    def test_with_nothing_to_take_along_it_is_the_same_as_without(self, service: Service, timeline: str) -> None:
        secret = service.turn(timeline, SECRET)
        assert look(service, memory_of(secret), replies="all") == look(service, memory_of(secret))


class TestRandomConversations:
    """Whatever was said in whatever order: after "all" no stretch of the words is left in anything that was said."""

    @pytest.mark.parametrize("seed", range(12))
    def test_no_stretch_is_left(self, service: Service, timeline: str, backend: ScriptedBackend, seed: int) -> None:
        chance = random.Random(seed)
        words = [*PARTS, "The kettle is red.", "水壶是红色的。", "I see.", "好的。"]

        def scripted(request: GenerationRequest) -> str:
            if chance.random() < 0.1:
                raise GenerationError("dropped", "Gone.", chance.choice(words)[: chance.randrange(40)])
            piece = chance.choice(words)
            start = chance.randrange(len(piece))
            return reply(f"{piece[start:]} {chance.choice(words)[:30]}", check=chance.choice(words))

        backend.script = [scripted]
        events = []
        for _ in range(14):
            if chance.random() < 0.3:
                service.clear_context(timeline)
            try:
                events.append(service.turn(timeline, " ".join(chance.sample(words, 2))))
            except TurnFailedError:
                continue
        chosen = chance.choice(events)
        assert chosen.body is not None
        words_of_it = Words([chosen.body["message"]])
        others = [event for event in service.timeline(timeline).events() if event.kind in ("turn", "turn_failed")]
        assert any(words_of_it.shared(text) for event in others for text in texts_of(event.body or {}))
        forget(service, memory_of(chosen), replies="all")
        for event in service.timeline(timeline).events():
            if event.kind in ("turn", "turn_failed") and event.body is not None:
                assert not any(words_of_it.shared(text) for text in texts_of(event.body)), event.id
        assert_as_rebuilt(service, timeline)


class TestDocuments:
    TEXT = f"# Lockers\n\n{SECRET}\n\n# Boats\n\nThe third boat from the left belongs to the harbour master."

    @pytest.fixture
    def asked(self, service: Service, backend: ScriptedBackend) -> tuple[str, dict[str, Event]]:
        """A document, and replies on two timelines that repeat it."""
        document = service.ingest("lockers.md", self.TEXT.encode())
        said: dict[str, Event] = {}
        for name in ("Lin", "Bo"):
            id = service.create_timeline(name, "Mei").id
            backend.script = [reply("It is: my locker code is Zanzibar-4471.", evidence="E1", need="knowledge")]
            said[name] = service.turn(id, "What is my locker code?")
            backend.script = [reply("A red kettle.")]
            service.clear_context(id)
            said[f"{name} apart"] = service.turn(id, "你好")
        return document.id, said

    def test_replies_on_every_timeline_go(
        self, service: Service, opened: Open, asked: tuple[str, dict[str, Event]], logs: Path
    ) -> None:
        document, said = asked
        stays = reach(service, What(document=document))
        assert {item.turn: bool(item.shares) for item in stays.replies} == {said["Lin"].id: True, said["Bo"].id: True}
        what = What(document=document, replies="quoting")
        found = reach(service, what)
        assert found.confirm == "erase this document and 2 replies"
        receipt, _ = erase(service, what, found.confirm)
        assert holding(logs, *PARTS, "Zanzibar", "鹦鹉螺") == []
        assert not (logs / NAME).exists()
        for again in before_and_after(service, opened):
            for name, event in said.items():
                assert (body_of(again, event.id) is None) == ("apart" not in name)
                verify(ledger_of(again, event.timeline))
                assert_as_rebuilt(again, event.timeline)
        assert receipt.timeline == "knowledge"

    def test_what_people_say_by_themselves_stays(
        self, service: Service, asked: tuple[str, dict[str, Event]], logs: Path
    ) -> None:
        """The same words on a timeline that was never shown the document are not from it."""
        document, _ = asked
        service.library.remove(document, "for now")
        other = service.create_timeline("Ana", "Mei").id
        own = service.turn(other, "My locker code is Zanzibar-4471.")
        what = What(document=document, replies="all")
        erase(service, what, reach(service, what).confirm)
        assert body_of(service, own.id) == own.body

    def test_torn_files_of_any_timeline_that_hold_its_words_go(
        self, service: Service, asked: tuple[str, dict[str, Event]], logs: Path
    ) -> None:
        document, said = asked
        torn = [logs / said[name].timeline / "ledger.torn-1" for name in ("Lin", "Bo")]
        torn[0].write_bytes(b'{"body":{"attempts":[{"raw":"the key hangs behind the green li')
        torn[1].write_bytes(b'{"body":{"attempts":[{"raw":"nothing of the kind')
        what = What(document=document)
        found = reach(service, what)
        assert [name for name in found.files if "torn" in name] == [f"{said['Lin'].timeline}/ledger.torn-1"]
        erase(service, what, found.confirm)
        assert [path.exists() for path in torn] == [False, True]

    def test_interrupted_between_two_ledgers_it_is_finished_by_the_next_start(
        self,
        service: Service,
        opened: Open,
        asked: tuple[str, dict[str, Event]],
        logs: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        document, said = asked
        what = What(document=document, replies="quoting")
        with monkeypatch.context() as patch:
            patch.setattr("arpm.library.Library.erase", _no_room)
            with pytest.raises(LedgerWriteError):
                erase(service, what, reach(service, what).confirm, "asked to")
        assert body_of(service, said["Lin"].id) is None and document in service.library
        assert Words([SECRET]).shared((logs / NAME).read_text("utf-8")) is None
        service = opened()
        assert service.damaged == [] and not (logs / NAME).exists()
        assert document not in service.library
        assert holding(logs, *PARTS, "Zanzibar", "鹦鹉螺") == []
        receipts = [event for event in service.library.events() if event.kind == "memory_erased"]
        assert [event.body["reason"] for event in receipts if event.body] == ["asked to"]

    def test_when_the_first_ledger_cannot_be_written_nothing_was_begun(
        self, service: Service, opened: Open, asked: tuple[str, dict[str, Event]], logs: Path, monkeypatch: Any
    ) -> None:
        document, said = asked
        what = What(document=document, replies="quoting")
        with monkeypatch.context() as patch:
            patch.setattr("arpm.timeline.Timeline.erase", _no_room)
            with pytest.raises(LedgerWriteError):
                erase(service, what, reach(service, what).confirm)
        assert not (logs / NAME).exists()
        service = opened()
        assert body_of(service, said["Lin"].id) is not None and document in service.library

    @pytest.mark.parametrize("data", [b"{", b"[]", b'{"version":2,"receipts":{}}', b'{"version":1,"receipts":[1]}'])
    def test_a_note_that_cannot_be_read_is_told_and_stops_nothing(
        self, service: Service, opened: Open, timeline: str, logs: Path, data: bytes
    ) -> None:
        event = service.turn(timeline, SECRET)
        (logs / NAME).write_bytes(data)
        service = opened()
        (damage,) = service.damaged
        assert damage.name == NAME and "cannot be read" in damage.text
        assert service.turn(timeline, "Hello.").body is not None
        with pytest.raises(Exception, match="cannot be read"):
            forget(service, memory_of(event))
        assert (logs / NAME).read_bytes() == data

    def test_a_damaged_timeline_does_not_keep_the_document(
        self, service: Service, opened: Open, asked: tuple[str, dict[str, Event]]
    ) -> None:
        document, said = asked
        path = ledger_of(service, said["Lin"].timeline)
        service = opened()
        data = path.read_bytes()
        path.write_bytes(data.replace(b"A red kettle.", b"A red kottle.", 1))
        service.catalogue.forget(said["Lin"].timeline)
        service = opened()
        assert [damage.name for damage in service.damaged] == [said["Lin"].timeline]
        what = What(document=document, replies="quoting")
        erase(service, what, reach(service, what).confirm)
        assert document not in service.library
        assert body_of(service, said["Bo"].id) is None


def _no_room(*_: object) -> Event:
    raise LedgerWriteError("the disk is full")


class TestTornFiles:
    """An attempt that was cut off is one at what was answered next: the message is sent again."""

    def torn(self, service: Service, timeline: str, name: str, at: str, rest: str) -> None:
        folder = ledger_of(service, timeline).parent
        (folder / name).write_text(f'{{"at":"{at}","body":{{"attempts":[{{"raw":"{rest}', "utf-8")

    def left(self, service: Service, timeline: str) -> list[str]:
        return [path.name[-1] for path in sorted(ledger_of(service, timeline).parent.glob("ledger.torn-*"))]

    def test_only_those_that_hold_the_words_or_may_be_attempts_at_them_go(
        self, service: Service, timeline: str, backend: ScriptedBackend
    ) -> None:
        """Every attempt that was cut off before its message went with any erasure, whatever it was about."""
        events = [service.turn(timeline, text) for text in ("The kettle is red.", SECRET, "The stove is blue.")]
        times = [event.at.isoformat() for event in events]
        early = START.isoformat()
        self.torn(service, timeline, "ledger.torn-1", early, "So the kettle is")
        self.torn(service, timeline, "ledger.torn-2", times[0], "Hm, let me think about")
        self.torn(service, timeline, "ledger.torn-3", times[1], "The stove, you say")
        self.torn(service, timeline, "ledger.torn-4", times[2], "Something else, that")
        self.torn(service, timeline, "ledger.torn-5", times[2], "the key hangs behind the green")
        self.torn(service, timeline, "ledger.torn-6", "yesterday", "Who knows when")
        forget(service, memory_of(events[1]))
        assert self.left(service, timeline) == ["1", "3", "4"]

    def test_with_all_replies_those_after_it_go(self, service: Service, timeline: str) -> None:
        events = [service.turn(timeline, text) for text in ("The kettle is red.", SECRET)]
        service.intervene(timeline, {"history_enabled": False})
        service.clear_context(timeline)
        later = service.turn(timeline, "Hello.")
        self.torn(service, timeline, "ledger.torn-1", START.isoformat(), "So the kettle is")
        self.torn(service, timeline, "ledger.torn-2", events[1].at.isoformat(), "Hello to")
        self.torn(service, timeline, "ledger.torn-3", later.at.isoformat(), "By the sea")
        forget(service, memory_of(events[1]), replies="all")
        assert self.left(service, timeline) == ["1"]

    def test_all_of_a_whole_timeline(self, service: Service, timeline: str) -> None:
        """What was said in them was never acknowledged, and stayed when everything else was erased."""
        service.turn(timeline, "The kettle is red.")
        self.torn(service, timeline, "ledger.torn-1", START.isoformat(), "Quite another thing")
        folder = ledger_of(service, timeline).parent
        (folder / "ledger.torn-2").write_bytes(b'{"at":"2026-03-01T09:00:00+00:00","body":{"message":"Never answered')
        erase(service, What(timeline), "erase the whole timeline")
        assert self.left(service, timeline) == []

    def test_english_with_a_curly_quote_is_not_compared_by_six_characters(
        self, service: Service, timeline: str
    ) -> None:
        event = service.turn(timeline, "It’s the kettle that is red, isn’t it?")
        folder = ledger_of(service, timeline).parent
        (folder / "ledger.torn-1").write_bytes(b'{"body":{"attempts":[],"message":"What is that?","resp')
        forget(service, memory_of(event))
        assert self.left(service, timeline) == ["1"]


def test_another_word_is_refused(service: Service, timeline: str) -> None:
    told = service.turn(timeline, SECRET)
    with pytest.raises(InputError, match="quoting or all"):
        What(timeline, (memory_of(told),), replies="some")  # type: ignore[arg-type]


def review(event: str, **more: Any) -> dict[str, Any]:
    return {
        "event": event,
        "reviewer": "Ada",
        "support": "yes",
        "correct": "yes",
        "quote": None,
        "memory": None,
        "reason": "says so",
        "pending": False,
        "automatic": None,
        "supersedes": None,
        **more,
    }


def copies(service: Service, timeline: str, other: str) -> None:
    """Records beside the turns that repeat the secret."""
    opened = service.timeline(timeline)
    service.rename(timeline, "Kettles")
    service.rename(timeline, "Where the key hangs behind the green lighthouse")
    opened.add_instruction("Remember that the key hangs behind the green lighthouse.")
    store = opened._store
    store.append("feedback", {"round": 2, "rating": "up", "note": "nicer than Zanzibar-4471"}, at=START)
    store.append("review", review(other, reason="密码是鹦鹉螺七七四九, so no"), at=START)
    memory = service.catalogue.memory_of_turn(other)
    assert memory is not None
    opened.quarantine([memory], {"by": "memories", "value": None}, "The key hangs behind the green lighthouse", "hand")
