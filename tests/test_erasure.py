"""Erasure: the words are nowhere under the logs folder, the rest is as it was, and the receipt says what went."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arpm.canonical import canonical
from arpm.catalogue import CatalogueError
from arpm.erasure import Receipt, What, erase, of_memories, reach
from arpm.errors import BusyError, InputError, NotFoundError
from arpm.events import Event
from arpm.exported import noted
from arpm.forgetting import Going, torn_with
from arpm.generation.base import GenerationError
from arpm.importers.atoms import Atom, write_atoms
from arpm.ledger import LedgerWriteError, verify
from arpm.replayed_prompt import PromptLostError, matches_record, prompt_of_record
from arpm.service import Service
from arpm.turn import TurnFailedError
from retrieval.embedding.cache import CachedEmbedder
from retrieval.embedding.hashing import HashingEmbedder
from tests.patience import PATIENCE
from tests.support import START, ScriptedBackend, SteppingClock, open_service, reply

ENGLISH = "My locker code is Zanzibar-4471."
CHINESE = "我的储物柜密码是鹦鹉螺七七四九。"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return tmp_path / "logs"


@pytest.fixture
def backend() -> ScriptedBackend:
    return ScriptedBackend([reply("Understood.")])


Open = Callable[[], Service]


@pytest.fixture
def opened(logs: Path, backend: ScriptedBackend) -> Iterator[Open]:
    """Opens the folder; what is open is closed first, as a restart does."""
    now: list[Service] = []
    clock = SteppingClock()

    def start() -> Service:
        for service in now:
            _close(service)
        cache = CachedEmbedder(HashingEmbedder(), logs / "cache" / "embeddings.sqlite")
        now[:] = [open_service(logs, backend, embedder=cache, clock=clock)]
        return now[0]

    yield start
    for service in now:
        _close(service)


def before_and_after(service: Service, opened: Open) -> Iterator[Service]:
    """The service as it is, and after a restart."""
    yield service
    yield opened()


def _close(service: Service) -> None:
    service.close()
    assert isinstance(service.embedder, CachedEmbedder)
    service.embedder.close()


@pytest.fixture
def service(opened: Open) -> Service:
    return opened()


@pytest.fixture
def timeline(service: Service) -> str:
    return service.create_timeline("Lin", "Mei").id


# -- looking ----------------------------------------------------------------------------------------------------------


def holding(logs: Path, *words: str) -> list[str]:
    """The files under a folder that hold some of `words`, plain or as JSON writes them."""
    needles = [needle for word in words for needle in (word.encode(), canonical(word)[1:-1], json.dumps(word).encode())]
    files = (path for path in sorted(logs.rglob("*")) if path.is_file())
    return [path.name for path in files if any(needle in path.read_bytes() for needle in needles)]


def memory_of(event: Event) -> str:
    assert event.body is not None
    memory = event.body["admission"]["memory"]
    assert isinstance(memory, str)
    return memory


def forget(service: Service, *memories: str, **more: Any) -> Receipt:
    what = of_memories(service.catalogue, memories)
    return erase(service, what, reach(service, what).confirm, **more)[0]


def ledger_of(service: Service, timeline: str) -> Path:
    return service.logs / timeline / "ledger.jsonl"


def assert_as_rebuilt(service: Service, timeline: str) -> None:
    """Catalogue and index are those that a rebuild makes from the ledger."""
    before = _tables(service), service.timeline(timeline).index.atoms()
    service.rebuild()
    assert (_tables(service), service.timeline(timeline).index.atoms()) == before


def _tables(service: Service) -> dict[str, list[tuple[Any, ...]]]:
    with sqlite3.connect(service.logs / "cache" / "catalogue.sqlite") as db:
        names = [row[0] for row in db.execute("select name from sqlite_schema where type = 'table'")]
        return {name: sorted(db.execute(f"select * from {name}"), key=repr) for name in names}


def vectors(service: Service, *texts: str) -> int:
    """How many vectors of these texts the cache file holds."""
    digests = [hashlib.sha256(text.encode()).digest() for text in texts]
    with sqlite3.connect(service.logs / "cache" / "embeddings.sqlite") as db:
        return sum(db.execute("select count(*) from vectors where digest = ?", (d,)).fetchone()[0] for d in digests)


# -- the words are gone -----------------------------------------------------------------------------------------------


class TestTheWordsAreNowhere:
    @pytest.mark.parametrize(
        ("words", "secret"),
        [(ENGLISH, "Zanzibar-4471"), (CHINESE, "鹦鹉螺七七四九"), ('A "quoted\\ \n 好" one', '"quoted')],
    )
    def test_of_a_memory(
        self, service: Service, opened: Open, timeline: str, logs: Path, words: str, secret: str
    ) -> None:
        service.turn(timeline, "The kettle is red. 水壶是红色的。")
        told = service.turn(timeline, words)
        later = service.turn(timeline, "Something else 别的事")
        assert len(holding(logs, secret)) >= 2
        receipt = forget(service, memory_of(told), reason="asked to")
        assert holding(logs, secret) == []
        assert receipt.memories == (memory_of(told),)
        assert receipt.events == (told.id,)
        found = verify(ledger_of(service, timeline))
        assert found.tip.seq == service.timeline(timeline).record(service.catalogue.turn(later.id)).seq + 1  # type: ignore[arg-type]
        assert service.record(told.id).body is None
        assert service.record(told.id).hash == told.hash
        assert service.record(later.id).body == later.body
        assert_as_rebuilt(service, timeline)
        service = opened()
        assert holding(logs, secret) == []
        assert_as_rebuilt(service, timeline)
        next_one = service.turn(timeline, "And on it goes. 继续。")
        assert next_one.body is not None and next_one.body["round"] == 4
        assert memory_of(told) not in [row["memory"] for row in next_one.body["candidates"]["experience"]]

    def test_of_its_failed_attempts_and_earlier_replies(
        self, service: Service, backend: ScriptedBackend, timeline: str, logs: Path
    ) -> None:
        backend.script = [
            GenerationError("timeout", "Too slow.", "Zanzibar-4471, you say"),
            reply("So it is Zanzibar-4471."),
            reply("It is 4471-Zanzibar then."),
            reply("Noted."),
        ]
        with pytest.raises(TurnFailedError) as failed:
            service.turn(timeline, ENGLISH)
        first = service.turn(timeline, ENGLISH)
        second = service.turn(timeline, "My locker code is 4471-Zanzibar.", replaces=first.id)
        service.turn(timeline, "Thanks.")
        receipt = forget(service, memory_of(second))
        assert set(receipt.events) == {failed.value.event.id, first.id, second.id}
        assert set(receipt.memories) == {memory_of(first), memory_of(second)}
        assert holding(logs, "Zanzibar", "4471") == []
        # The branches keep their places: one reply holds in round 1, and it says nothing.
        rows = [row for row in service.catalogue.turns(timeline) if row.kind == "turn"]
        assert [(row.round, row.erased) for row in rows] == [(1, True), (2, False)]
        assert service.catalogue.branches(second.id) == 1
        assert_as_rebuilt(service, timeline)

    def test_of_a_failed_attempt_at_the_same_words_in_another_round(
        self, service: Service, backend: ScriptedBackend, timeline: str, logs: Path
    ) -> None:
        """The person gave up, asked something else, and came back to it: two rounds hold the words."""
        backend.script = [GenerationError("dropped", "Gone.", ""), reply("Hello."), reply("Noted.")]
        with pytest.raises(TurnFailedError):
            service.turn(timeline, f"From now on call me Zanzibar. {ENGLISH}")
        service.turn(timeline, "Hello.")
        told = service.turn(timeline, f"From now on call me Zanzibar. {ENGLISH}")
        found = reach(service, of_memories(service.catalogue, [memory_of(told)]))
        assert [item.text for item in found.instructions] == ["From now on call me Zanzibar."]
        forget(service, memory_of(told))
        assert holding(logs, "Zanzibar") == []
        assert [row.message for row in service.catalogue.turns(timeline)] == ["", "Hello.", ""]
        assert service.timeline(timeline).active_instructions() == []

    @pytest.mark.parametrize("kind", ["quarantined", "replaced"])
    def test_of_a_memory_that_is_not_searched(
        self, service: Service, opened: Open, timeline: str, logs: Path, kind: str
    ) -> None:
        before = service.turn(timeline, "The kettle is red.")
        told = service.turn(timeline, ENGLISH)
        if kind == "replaced":
            service.turn(timeline, "Forget what I began to say.", replaces=told.id)
        after = service.turn(timeline, "The stove is blue.")
        if kind == "quarantined":
            service.quarantine(timeline, _scope(memory_of(told)), "for now")
        receipt = forget(service, memory_of(told))
        assert memory_of(told) in receipt.memories
        assert holding(logs, "Zanzibar-4471") == []
        left = [atom.memory for atom in service.timeline(timeline).index.atoms()]
        assert left == [memory_of(before), memory_of(after)]
        assert_as_rebuilt(opened(), timeline)

    def test_of_a_turn_that_never_became_a_memory(
        self, service: Service, backend: ScriptedBackend, timeline: str, logs: Path
    ) -> None:
        backend.script = ["no tags at all", "still none", reply("Noted."), GenerationError("timeout", "Slow.", "")]
        service.intervene(timeline, {"admit_fallback": False})
        left_out = service.turn(timeline, ENGLISH)
        assert left_out.body is not None and not left_out.body["admission"]["admitted"]
        service.turn(timeline, "Something else.")
        with pytest.raises(TurnFailedError) as failed:
            service.turn(timeline, CHINESE)
        what = of_memories(service.catalogue, [f"{timeline}:1"])
        assert reach(service, what).confirm == "erase 1 record"
        forget(service, f"{timeline}:1")
        forget(service, failed.value.event.id)
        assert holding(logs, "Zanzibar", "鹦鹉螺") == []
        with pytest.raises(InputError, match="erased already"):
            reach(service, of_memories(service.catalogue, [left_out.id]))
        with pytest.raises(InputError, match="erased already"):
            reach(service, of_memories(service.catalogue, [f"{timeline}:1"]))

    def test_of_a_session(self, service: Service, timeline: str, logs: Path) -> None:
        kept = service.turn(timeline, "The kettle is red.")
        session = service.clear_context(timeline).id
        service.turn(timeline, ENGLISH)
        service.turn(timeline, CHINESE)
        service.clear_context(timeline)
        last = service.turn(timeline, "The stove is blue.")
        what = What(timeline, session=session)
        assert reach(service, what).confirm == "erase 2 memories"
        erase(service, what, "erase 2 memories")
        assert holding(logs, "Zanzibar", "鹦鹉螺") == []
        left = [atom.memory for atom in service.timeline(timeline).index.atoms()]
        assert left == [memory_of(kept), memory_of(last)]
        assert reach(service, what).events == ()
        with pytest.raises(InputError, match="nothing left to erase"):
            erase(service, what, reach(service, what).confirm)
        assert_as_rebuilt(service, timeline)

    def test_of_a_whole_timeline(self, service: Service, opened: Open, logs: Path) -> None:
        """Also names, persona, title and hand-written instructions: nothing of the person is left."""
        other = service.create_timeline("Bo", "Mei").id
        kept = service.turn(other, "The kettle is red.")
        id = service.create_timeline("Zanzibar Lin", "Mei", "Knows 鹦鹉螺.").id
        service.rename(id, "Zanzibar talks")
        service.timeline(id).add_instruction("Call me Zanzibar.")
        told = service.turn(id, ENGLISH)
        receipt, _ = erase(service, What(id), "erase the whole timeline", "asked to")
        assert set(receipt.memories) == {memory_of(told)}
        assert holding(logs, "Zanzibar", "鹦鹉螺") == []
        for again in before_and_after(service, opened):
            assert [row.id for row in again.timelines()] == [other]
            with pytest.raises(NotFoundError):
                again.timeline(id)
            with pytest.raises(InputError, match="was erased already, on 2026-03-01"):
                reach(again, What(id))
            with pytest.raises(InputError, match="was erased already"):
                reach(again, of_memories(again.catalogue, [memory_of(told)]))
            assert [atom.memory for atom in again.timeline(other).index.atoms()] == [memory_of(kept)]
            again.rebuild()
        kinds = [json.loads(line)["body"] is None for line in ledger_of(service, id).read_bytes().splitlines()]
        assert kinds == [True] * (len(kinds) - 1) + [False]
        verify(ledger_of(service, id))

    def test_of_imported_memories_which_do_not_come_back(self, service: Service, opened: Open, logs: Path) -> None:
        """A deleted memory returned with the next import of the same file."""
        timeline = service.create_timeline("Lin", "Mei").id
        atoms = [Atom(f"id {n}", "chat", START, text, "Yes.") for n, text in enumerate(["One.", ENGLISH, "Three."])]
        write_atoms(service.timeline(timeline), "chat.jsonl", atoms)
        rows = service.catalogue.experiences(timeline)
        # The last one: its round must not be counted again.
        forget(service, rows[1].memory, rows[2].memory)
        assert holding(logs, "Zanzibar") == []
        for again in before_and_after(service, opened):
            report = write_atoms(again.timeline(timeline), "chat.jsonl", atoms)
            assert (report.imported, report.present) == (0, 3)
            assert again.timeline(timeline).info.rounds == 3
        event = again.turn(timeline, "Hello.")
        assert event.body is not None and event.body["round"] == 4
        assert_as_rebuilt(again, timeline)

    def test_of_an_imported_session(self, service: Service, timeline: str, logs: Path) -> None:
        atoms = [Atom("a", "first", START, "One.", ""), Atom("b", "second", START, ENGLISH, "")]
        write_atoms(service.timeline(timeline), "chat.jsonl", atoms)
        erase(service, What(timeline, session="second"), "erase 1 memory")
        assert holding(logs, "Zanzibar") == []
        assert [atom.message for atom in service.catalogue.experiences(timeline)] == ["One."]
        with pytest.raises(InputError, match="second was erased already"):
            reach(service, What(timeline, session="second"))
        with pytest.raises(NotFoundError, match="no session 'third'"):
            reach(service, What(timeline, session="third"))

    def test_of_a_document(self, service: Service, opened: Open, timeline: str, logs: Path) -> None:
        text = f"# Lockers\n\n{ENGLISH} {CHINESE} The key hangs by the door."
        row = service.ingest("Zanzibar lockers.md", text.encode())
        kept = service.ingest("doors.md", b"The key hangs by the door.")
        shown = service.turn(timeline, "What is my locker code?")
        assert shown.body is not None and shown.body["evidence"]
        found = reach(service, What(document=row.id))
        assert found.confirm == "erase this document"
        assert [(item.turn, item.labels) for item in found.prompts] == [
            (shown.id, tuple(e["label"] for e in shown.body["evidence"] if e["memory"].startswith(row.id)))
        ]
        assert [item.text for item in found.replies] == ["Understood."]
        erase(service, What(document=row.id), found.confirm)
        assert holding(logs, "Zanzibar", "鹦鹉螺") == []
        assert row.id not in service.library
        for again in before_and_after(service, opened):
            assert [item.id for item in again.library.documents()] == [kept.id]
            with pytest.raises(PromptLostError):
                prompt_of_record(again.catalogue, again.record(shown.id))
            with pytest.raises(InputError, match="was erased already"):
                reach(again, What(document=row.id))
            assert again.look(timeline, "Where does the key hang?").governed.evidence
        verify(logs / "knowledge" / "ledger.jsonl")
        # What the other document says too keeps its vectors.
        assert vectors(again, "The key hangs by the door.") == 1
        # The same text can be added again.
        assert again.ingest("Zanzibar lockers.md", text.encode()).id != row.id

    def test_of_a_removed_document(self, service: Service, logs: Path) -> None:
        row = service.ingest("lockers.md", ENGLISH.encode())
        service.library.remove(row.id, "old")
        erase(service, What(document=row.id), "erase this document")
        assert holding(logs, "Zanzibar") == []


def _scope(*memories: str) -> Any:
    from arpm.quarantine import Scope

    return Scope("memories", memories)


class TestCopies:
    def test_instructions_recognised_in_the_words_go_with_them(
        self, service: Service, opened: Open, timeline: str, logs: Path
    ) -> None:
        by_hand = service.timeline(timeline).add_instruction("Always be brief.")
        told = service.turn(timeline, "From now on always call me Zanzibar. 以后都叫我鹦鹉螺。")
        later = service.turn(timeline, "How are you?")
        assert len(service.timeline(timeline).active_instructions()) == 3
        found = reach(service, of_memories(service.catalogue, [memory_of(told)]))
        assert len(found.instructions) == 2
        # The window showed the round word for word, and the instructions were shown.
        assert [item.labels for item in found.prompts] == [("window", "instructions")]
        forget(service, memory_of(told))
        assert holding(logs, "Zanzibar", "鹦鹉螺") == []
        for again in before_and_after(service, opened):
            assert again.timeline(timeline).active_instructions() == [by_hand]
            with pytest.raises(PromptLostError):
                prompt_of_record(again.catalogue, again.record(later.id))
        assert_as_rebuilt(again, timeline)

    def test_an_instruction_stays_retired_when_the_words_that_retired_it_go(
        self, service: Service, opened: Open, timeline: str, logs: Path
    ) -> None:
        """The event that retires it holds the words; without it a rebuild would bring the instruction back."""
        service.turn(timeline, "From now on always answer in French.")
        told = service.turn(timeline, f"Stop answering in French. {ENGLISH}")
        assert service.timeline(timeline).active_instructions() == []
        before = [row.retired_at for row in service.timeline(timeline).instructions()]
        receipt = forget(service, memory_of(told))
        assert len(receipt.events) == 2
        assert holding(logs, "Zanzibar", "Stop answering") == []
        for again in before_and_after(service, opened):
            assert again.timeline(timeline).active_instructions() == []
            assert [row.retired_at for row in again.timeline(timeline).instructions()] == before
        assert_as_rebuilt(again, timeline)

    def test_vectors_of_the_words_in_any_company_go(self, service: Service, timeline: str) -> None:
        said = ["The kettle is red.", ENGLISH, "The stove is blue.", "The cat is old."]
        service.look(timeline, ENGLISH, config=service.timeline(timeline).config().changed({"role_prefix": True}))
        events = [service.turn(timeline, text) for text in said]
        atoms = service.catalogue.experiences(timeline)
        service.quarantine(timeline, _scope(atoms[2].memory), "for now")
        texts = [
            atoms[1].text,
            f"{atoms[0].text}\n{atoms[1].text}",
            f"{atoms[1].text}\n{atoms[2].text}",
            # They met while the one between them was in quarantine.
            f"{atoms[1].text}\n{atoms[3].text}",
            ENGLISH,
            f"[User Lin][Assistant Mei] {ENGLISH}",
        ]
        assert vectors(service, *texts) == len(texts)
        forget(service, memory_of(events[1]))
        assert vectors(service, *texts) == 0
        assert vectors(service, atoms[0].text, said[0]) == 2

    def test_vectors_that_something_else_needs_stay(self, service: Service, timeline: str) -> None:
        """Erasing one of two copies of a conversation must not cost the other its embeddings."""
        other = service.create_timeline("Lin", "Mei").id
        for id in (timeline, other):
            service.turn(id, "The kettle is red.")
            service.turn(id, "The stove is blue.")
        a, b = service.catalogue.experiences(other)
        texts = [a.text, b.text, f"{a.text}\n{b.text}", "The stove is blue."]
        assert vectors(service, *texts) == 4
        erase(service, What(timeline), "erase the whole timeline")
        assert vectors(service, *texts) == 4
        erase(service, What(other), "erase the whole timeline")
        assert vectors(service, *texts) == 0

    def test_torn_files_that_hold_the_words_go(self, service: Service, timeline: str, logs: Path) -> None:
        told = service.turn(timeline, CHINESE)
        folder = logs / timeline
        line = canonical({"body": {"attempts": [], "message": CHINESE, "response": "Well."}})
        torn = {
            "ledger.torn-1": line,
            "ledger.torn-2": line[: line.index("密码".encode()) + 2],
            "ledger.torn-3": line[: line.index("储".encode())],
            "ledger.torn-4": b'{"body":{"attempts":[{"raw":"the model says something about it',
            "ledger.torn-5": b'{"body":{"attempts":[],"message":"quite another thing","resp',
        }
        for name, data in torn.items():
            (folder / name).write_bytes(data)
        found = reach(service, of_memories(service.catalogue, [memory_of(told)]))
        going = [f"{timeline}/ledger.torn-{number}" for number in (1, 2, 3, 4)]
        assert [name for name in found.files if "torn" in name] == going
        forget(service, memory_of(told))
        assert [path.name for path in sorted(folder.glob("*torn*"))] == ["ledger.torn-5"]

    def test_few_words_do_not_take_every_torn_file_along(self, tmp_path: Path) -> None:
        """ "ok" stands in "tokens"."""
        (tmp_path / "ledger.torn-1").write_bytes(b'{"body":{"message":"fine","tokens":3')
        (tmp_path / "ledger.torn-2").write_bytes(b'{"body":{"message":"ok","tokens":3')
        what = Going("t", (), (), ("ok",), (), everything=False, sure=False, answered=())
        assert [path.name for path in torn_with(tmp_path, what)] == ["ledger.torn-2"]

    def test_feedback_and_reviews_of_it_go(self, service: Service, timeline: str, logs: Path) -> None:
        told = service.turn(timeline, ENGLISH)
        later = service.turn(timeline, "What is my locker code?")
        store, at = service.timeline(timeline)._store, START
        store.append("feedback", {"round": 1, "rating": "up", "note": "Zanzibar is right"}, at=at)
        review = {
            "reviewer": "Ada",
            "support": "yes",
            "correct": "yes",
            "reason": "says so",
            "pending": False,
            "automatic": None,
            "supersedes": None,
        }
        quoting = {**review, "event": later.id, "quote": "Zanzibar-4471", "memory": memory_of(told)}
        store.append("review", quoting, at=at)
        store.append("review", {**review, "event": told.id, "quote": None, "memory": None, "reason": "Zanzibar"}, at=at)
        store.append("review", {**review, "event": later.id, "quote": None, "memory": None}, at=at)
        forget(service, memory_of(told))
        assert holding(logs, "Zanzibar") == []
        assert [row.reason for row in service.catalogue.reviews(timeline)] == ["says so"]

    def test_reviews_that_quote_a_document_go_with_it(self, service: Service, timeline: str, logs: Path) -> None:
        row = service.ingest("lockers.md", ENGLISH.encode())
        asked = service.turn(timeline, "What is my locker code?")
        review = {
            "event": asked.id,
            "reviewer": "Ada",
            "support": "yes",
            "correct": "yes",
            "quote": "Zanzibar-4471",
            "memory": f"{row.id}/0",
            "reason": "says so",
            "pending": False,
            "automatic": None,
            "supersedes": None,
        }
        service.timeline(timeline)._store.append("review", review, at=START)
        receipt, done = erase(service, What(document=row.id), "erase this document")
        assert (receipt.timeline, len(receipt.events)) == ("knowledge", 2)
        assert f"{timeline}/ledger.jsonl" in done.files
        assert holding(logs, "Zanzibar") == []
        assert_as_rebuilt(service, timeline)

    def test_exports_of_the_timeline_go(self, service: Service, timeline: str, logs: Path, tmp_path: Path) -> None:
        told = service.turn(timeline, ENGLISH)
        other = service.create_timeline("Bo", "Mei").id
        out = [tmp_path / "out" / name for name in ("mine.csv", "changed.csv", "other.csv")]
        for path, of in zip(out, (timeline, timeline, other), strict=True):
            path.parent.mkdir(exist_ok=True)
            with noted(logs, "csv", [of], path, START) as export:
                with export.open(path) as file:
                    file.write(ENGLISH.encode())
                export.finish({path: hashlib.sha256(ENGLISH.encode()).hexdigest()})
        out[1].write_text(f"{ENGLISH} A note.", "utf-8")
        found = reach(service, of_memories(service.catalogue, [memory_of(told)]))
        assert str(out[0]) in found.files and f"{out[1]} (not deleted: changed since it was exported)" in found.files
        forget(service, memory_of(told))
        assert [path.exists() for path in out] == [False, True, True]


class TestLaterTurns:
    def test_imported_rounds_that_were_shown_it_are_listed(self, service: Service, timeline: str) -> None:
        """The published ARPM's logs say what each round was shown, by id where the words are known."""
        item = {"n": 1, "source_type": "chat_history", "source": "s", "round": 1, "time": "", "shown": None}
        said: dict[str, Any] = {
            "m-00000000000a": (ENGLISH, []),
            "m-00000000000b": ("By id.", [{**item, "memory": "m-00000000000a", "text": None}]),
            "m-00000000000c": ("By words.", [{**item, "memory": None, "text": f"… {ENGLISH} …"}]),
            "m-00000000000d": ("Apart.", [{**item, "memory": "m-00000000000c", "text": None}]),
        }
        rest = dict.fromkeys(
            ("round", "session", "model", "logged_at", "analysis", "protocol", "regeneration", "unread", "suspect")
        )
        for number, (memory, (words, recalled)) in enumerate(said.items(), 1):
            published = {**rest, "number": number, "event": "dialog_turn", "replaced": [], "missing": []}
            body = {
                "memory": memory,
                "round": number,
                "at": None,
                "message": words,
                "reply": "Yes.",
                "user": "Lin",
                "character": "Mei",
                "source": {"file": "log.jsonl", "id": str(number)},
                "session": "s",
                "published": {**published, "recalled": recalled},
            }
            service.timeline(timeline)._store.append("imported", body, at=START, session="s")
        found = reach(service, of_memories(service.catalogue, ["m-00000000000a"]))
        assert [(item.round, item.labels) for item in found.prompts] == [(2, ("recalled",)), (3, ("recalled",))]
        assert [item.round for item in found.replies] == [2, 3]

    def test_prompts_that_showed_it_are_lost_and_replies_are_listed(
        self, service: Service, backend: ScriptedBackend, timeline: str
    ) -> None:
        told = service.turn(timeline, ENGLISH)
        service.turn(timeline, "The kettle is red.")
        service.clear_context(timeline)
        backend.script = [reply("It is on your note.", evidence="E1", need="experience"), reply("Nice.")]
        asked = service.turn(timeline, "What is my locker code?")
        service.clear_context(timeline)
        apart = service.turn(timeline, "你好")
        assert asked.body is not None and apart.body is not None
        label = next(item["label"] for item in asked.body["evidence"] if item["memory"] == memory_of(told))
        before = prompt_of_record(service.catalogue, apart)
        found = reach(service, of_memories(service.catalogue, [memory_of(told)]))
        # Round 2 showed it in its window, round 3 as evidence.
        labels = {item.round: item.labels for item in found.prompts}
        assert labels[3] == (label,) and "window" in labels[2] and 4 not in labels
        assert [(item.round, item.text) for item in found.replies if item.round == 3] == [(3, "It is on your note.")]
        forget(service, memory_of(told))
        with pytest.raises(PromptLostError, match=memory_of(told)):
            prompt_of_record(service.catalogue, service.record(asked.id))
        with pytest.raises(PromptLostError, match="round 1, which was erased"):
            prompt_of_record(service.catalogue, service.record(f"{timeline}:2"))
        again = prompt_of_record(service.catalogue, service.record(apart.id))
        assert again == before and matches_record(again, service.record(apart.id))

    def test_words_of_a_failed_turn_that_repeat_it_are_listed(
        self, service: Service, backend: ScriptedBackend, timeline: str
    ) -> None:
        """The record of a failed turn does not say what it was shown."""
        told = service.turn(timeline, ENGLISH)
        failures = ["You said: My locker code is Zanz", "Something unrelated to"]
        backend.script = [GenerationError("dropped", "Gone.", text) for text in failures]
        for _ in failures:
            with pytest.raises(TurnFailedError):
                service.turn(timeline, "What is my locker code?")
        found = reach(service, of_memories(service.catalogue, [memory_of(told)]))
        assert [item.text for item in found.replies] == failures[:1]

    def test_an_erased_round_is_in_no_window_and_is_not_counted_again(
        self, service: Service, backend: ScriptedBackend, timeline: str
    ) -> None:
        service.turn(timeline, "The kettle is red.")
        told = service.turn(timeline, ENGLISH)
        forget(service, memory_of(told))
        event = service.turn(timeline, "Hello.")
        assert event.body is not None
        assert (event.body["round"], event.body["window"]) == (3, [1])
        assert "Zanzibar" not in "".join(message.content for message in backend.requests[-1].messages)
        assert matches_record(prompt_of_record(service.catalogue, event), event)

    def test_an_erased_round_cannot_be_answered_again(self, service: Service, timeline: str) -> None:
        told = service.turn(timeline, ENGLISH)
        forget(service, memory_of(told))
        with pytest.raises(InputError, match="no reply that holds"):
            service.turn(timeline, "Once more.", replaces=told.id)


class TestNobodyElseIsTouched:
    def test_the_same_words_of_another_user_stay(self, service: Service, timeline: str, logs: Path) -> None:
        """Deleting one user's memory deleted everyone's."""
        other = service.create_timeline("Bo", "Mei").id
        told, kept = service.turn(timeline, ENGLISH), service.turn(other, ENGLISH)
        data = ledger_of(service, other).read_bytes()
        forget(service, memory_of(told))
        assert ledger_of(service, other).read_bytes() == data
        assert [atom.memory for atom in service.timeline(other).index.atoms()] == [memory_of(kept)]
        assert service.record(kept.id).body == kept.body

    def test_a_memory_is_erased_on_its_own_timeline_only(self, service: Service, timeline: str) -> None:
        other = service.create_timeline("Bo", "Mei").id
        told = service.turn(timeline, ENGLISH)
        for id in (memory_of(told), told.id, f"{timeline}:1"):
            with pytest.raises(NotFoundError, match="on this timeline"):
                reach(service, What(other, (id,)))
        with pytest.raises(InputError, match="on 2 timelines"):
            of_memories(service.catalogue, [memory_of(told), memory_of(service.turn(other, "Hello."))])

    @pytest.mark.parametrize("id", ["m-000000000000", "0" * 32, "t-000000000000:1", "t-1", "", "鹦鹉螺", "d-1/x"])
    def test_what_is_not_there(self, service: Service, timeline: str, id: str) -> None:
        with pytest.raises(NotFoundError):
            reach(service, What(timeline, (id,)))

    def test_parts_of_documents_are_not_erased_by_themselves(self, service: Service, timeline: str) -> None:
        row = service.ingest("a.md", b"One.")
        for id in (f"{row.id}/0", row.id):
            with pytest.raises(InputError, match=f"name {row.id} as the document"):
                reach(service, What(timeline, (id,)))

    @pytest.mark.parametrize("what", [{}, {"memories": ("m-1",)}, {"timeline": "t", "document": "d"}])
    def test_it_is_named_in_one_way(self, what: dict[str, Any]) -> None:
        with pytest.raises(InputError, match="in one way"):
            What(**what)


class TestAsking:
    def test_the_words_must_be_those_of_the_moment(self, service: Service, timeline: str, logs: Path) -> None:
        told = service.turn(timeline, ENGLISH)
        data = ledger_of(service, timeline).read_bytes()
        for words in ("", "yes", "erase 2 memories"):
            with pytest.raises(InputError, match=r"Nothing was erased: .*“erase 1 memory”"):
                erase(service, What(timeline, (memory_of(told),)), words)
        with pytest.raises(InputError, match="limit is 500"):
            erase(service, What(timeline, (memory_of(told),)), "erase 1 memory", "x" * 501)
        assert ledger_of(service, timeline).read_bytes() == data

    def test_a_second_time_it_says_so(self, service: Service, timeline: str) -> None:
        told = service.turn(timeline, ENGLISH)
        receipt = forget(service, memory_of(told))
        with pytest.raises(InputError, match=f"{memory_of(told)} was erased already, .*{receipt.event}"):
            forget(service, memory_of(told))

    def test_looking_changes_nothing(self, service: Service, timeline: str, logs: Path) -> None:
        told = service.turn(timeline, ENGLISH)
        before = {path: path.read_bytes() for path in logs.rglob("*.jsonl")}
        found = reach(service, of_memories(service.catalogue, [memory_of(told)]))
        assert [(item.id, item.round) for item in found.memories] == [(memory_of(told), 1)]
        assert found.files[0] == f"{timeline}/ledger.jsonl"
        assert {path: path.read_bytes() for path in logs.rglob("*.jsonl")} == before

    def test_the_receipt_names_and_does_not_tell(self, service: Service, timeline: str) -> None:
        told = service.turn(timeline, f"From now on always call me Zanzibar. {ENGLISH}")
        receipt = forget(service, memory_of(told), reason="asked by Lin", by="Ada")
        line = ledger_of(service, timeline).read_bytes().splitlines()[-1]
        body = json.loads(line)["body"]
        assert (body["reason"], body["by"]) == ("asked by Lin", "Ada")
        assert (body["memories"], tuple(body["events"])) == ([memory_of(told)], receipt.events)
        assert body["turns"] == [{"event": told.id, "round": 1, "replaces": None}]
        assert body["instructions"] == list(receipt.instructions) and len(receipt.instructions) == 1


class TestWhileOthersWork:
    def test_a_turn_that_runs_is_not_disturbed(
        self, service: Service, backend: ScriptedBackend, timeline: str, logs: Path
    ) -> None:
        told = service.turn(timeline, ENGLISH)
        row = service.ingest("a.md", b"One.")
        backend.go_on.clear()
        backend.started.clear()
        running = threading.Thread(target=service.turn, args=(timeline, "A longer question."))
        running.start()
        assert backend.started.wait(PATIENCE)
        for what in (What(timeline, (memory_of(told),)), What(timeline), What(document=row.id)):
            with pytest.raises(BusyError):
                erase(service, what, reach(service, what).confirm)
        backend.go_on.set()
        running.join()
        forget(service, memory_of(told))
        assert holding(logs, "Zanzibar") == []

    def test_searches_and_readers_go_on_meanwhile(self, service: Service, timeline: str) -> None:
        """Bug class: a reader that opened the file before and reads places of after sees damage where there is none."""
        events = [service.turn(timeline, f"Fact {number}: the number is {number * 7}.") for number in range(30)]
        done, faults = threading.Event(), list[BaseException]()

        def look() -> None:
            while not done.is_set():
                try:
                    assert service.look(timeline, "Which number?").governed.experience
                    assert service.record(events[-1].id).body == events[-1].body
                    assert [event.seq for event in service.timeline(timeline).events()][:3] == [1, 2, 3]
                except BaseException as fault:  # noqa: BLE001  (told by the test)
                    faults.append(fault)
                    return

        readers = [threading.Thread(target=look) for _ in range(3)]
        for reader in readers:
            reader.start()
        for event in events[:12]:
            forget(service, memory_of(event))
        done.set()
        for reader in readers:
            reader.join()
        assert faults == []
        assert_as_rebuilt(service, timeline)

    def test_what_is_open_is_the_same_timeline_afterwards(self, service: Service, timeline: str) -> None:
        opened = service.timeline(timeline)
        told = service.turn(timeline, ENGLISH)
        forget(service, memory_of(told))
        assert service.timeline(timeline) is opened


class TestFaults:
    def test_without_room_nothing_happens(
        self, service: Service, timeline: str, logs: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told = service.turn(timeline, ENGLISH)
        data = ledger_of(service, timeline).read_bytes()

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch, pytest.raises(LedgerWriteError, match="the disk is full"):
            patch.setattr("arpm.ledger._write_all", full)
            forget(service, memory_of(told))
        assert ledger_of(service, timeline).read_bytes() == data
        assert [path.name for path in (logs / timeline).iterdir()] == ["ledger.jsonl"]
        forget(service, memory_of(told))
        assert holding(logs, "Zanzibar") == []

    @pytest.mark.parametrize("place", ["CachedEmbedder.forget", "Catalogue.apply_anew", "_scrub"])
    def test_a_cache_that_cannot_be_cleaned_is_told_and_finished_later(
        self, service: Service, opened: Open, timeline: str, logs: Path, monkeypatch: pytest.MonkeyPatch, place: str
    ) -> None:
        """It must not be served meanwhile: deletes that do not delete are worse than an error."""
        told = service.turn(timeline, ENGLISH)
        text = service.catalogue.experiences(timeline)[0].text
        name = f"retrieval.embedding.cache.{place}" if "Cached" in place else f"arpm.catalogue.{place}"

        def broken(*_: object) -> None:
            raise (
                sqlite3.OperationalError("database is locked")
                if place != "Catalogue.apply_anew"
                else CatalogueError("no")
            )

        with monkeypatch.context() as patch:
            patch.setattr(name, broken)
            with pytest.raises(CatalogueError):
                forget(service, memory_of(told))
            assert "ledger.jsonl" not in holding(logs, "Zanzibar")
            if place != "_scrub":
                with pytest.raises(CatalogueError):
                    service.timeline(timeline)
        service = opened()
        assert service.timeline(timeline).index.atoms() == []
        assert holding(logs, "Zanzibar") == []
        assert vectors(service, text) == 0
        assert_as_rebuilt(service, timeline)

    def test_a_receipt_whose_bodies_are_still_there_is_carried_out(
        self, service: Service, opened: Open, timeline: str, logs: Path
    ) -> None:
        """Another writer may append the receipt first; whoever opens the ledger finishes it."""
        told = service.turn(timeline, ENGLISH)
        service.turn(timeline, "Hello.")
        body = {
            "scope": {"by": "memories", "value": None},
            "memories": [memory_of(told)],
            "events": [told.id],
            "turns": [{"event": told.id, "round": 1, "replaces": None}],
            "rounds": 2,
            "instructions": [],
            "retired": [],
            "sources": [],
            "reason": "asked to",
            "by": "hand",
        }
        from arpm.events import Draft

        service.timeline(timeline)._store.ledger.append(Draft("memory_erased", body, None, START))
        assert "ledger.jsonl" in holding(logs, "Zanzibar")
        service = opened()
        assert holding(logs, "Zanzibar") == []
        assert verify(ledger_of(service, timeline)).torn_bytes == 0
        assert_as_rebuilt(service, timeline)

    def test_a_damaged_ledger_is_left_alone(self, service: Service, timeline: str) -> None:
        from arpm.ledger import DamagedLedgerError

        told = service.turn(timeline, ENGLISH)
        service.turn(timeline, "Hello.")
        path = ledger_of(service, timeline)
        data = path.read_bytes()
        path.write_bytes(data.replace(b"Hello.", b"Hallo.", 1))
        damaged = path.read_bytes()
        with pytest.raises(DamagedLedgerError):
            forget(service, memory_of(told))
        assert path.read_bytes() == damaged

    def test_the_file_keeps_its_mode_and_place_in_the_chain(self, service: Service, timeline: str) -> None:
        told = service.turn(timeline, ENGLISH)
        path = ledger_of(service, timeline)
        path.chmod(0o640)
        before = [re.sub(rb'"body":.*,"body_digest"', b"", line) for line in path.read_bytes().splitlines()]
        forget(service, memory_of(told))
        assert path.stat().st_mode & 0o777 == 0o640
        after = [re.sub(rb'"body":.*,"body_digest"', b"", line) for line in path.read_bytes().splitlines()]
        assert after[:-1] == before
