"""The ledger when nothing goes wrong: what is written, what is refused, what is found again, and who may write."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from arpm import events
from arpm.canonical import NotCanonicalError
from arpm.errors import BusyError, InputError, NotFoundError
from arpm.events import GENESIS, KINDS, SCHEMA_FOLDER, Draft, InvalidEventError, UnknownEventError, schema_id, seal
from arpm.ledger import EMPTY, Checkpoint, DamagedLedgerError, FolderLock, Ledger, LedgerWriteError, verify, walk

AT = datetime(2026, 3, 1, 9, 30, 0, 250000, tzinfo=timezone(timedelta(hours=8)))
SCHEMAS = {
    document["$id"]: document
    for document in (json.loads(path.read_text("utf-8")) for path in SCHEMA_FOLDER.glob("*.json"))
}
REGISTRY: Registry[Any] = Registry().with_resources((name, Resource.from_contents(d)) for name, d in SCHEMAS.items())
DIGEST = "sha256:" + "a" * 64


def clock() -> datetime:
    return AT


def open_ledger(folder: Path, **options: Any) -> Ledger:
    return Ledger.open(folder, "t-1", now=clock, **options)


def feedback(note: str | None = "很好, thanks", **options: Any) -> Draft:
    """The smallest draft: a few hundred bytes on disk."""
    return Draft("feedback", {"round": 1, "rating": "up", "note": note}, "s-1", AT, **options)


def rehashed(event: dict[str, Any]) -> bytes:
    """A line as someone would write who changes an event and computes its hash anew."""
    body_and_hash = {"body", "hash"}
    envelope = {name: value for name, value in event.items() if name not in body_and_hash}
    return rfc8785.dumps({**event, "hash": sha256(rfc8785.dumps(envelope))}) + b"\n"


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def sample_bodies() -> dict[str, dict[str, Any]]:
    """One body of every kind, as the service writes them."""
    backend = {"name": "local", "model": "SmolLM2-135M-Instruct", "prompt_style": "compact"}
    prompt = {"digest": DIGEST, "tokens": 900, "approximate": False}
    violation = {"kind": "unknown_label", "detail": "E9 was not shown"}
    attempt = {
        "raw": "<analysis>\nneed: experience\n</analysis>\n<response>\n你好\n</response>",
        "finish": "stop",
        "reasoning": None,
        "prompt_tokens": 900,
        "completion_tokens": None,
        "seconds": 1.5,
        "first_token_seconds": 0.25,
        "violations": [violation],
        "purpose": "reply",
    }
    sampling = {"temperature": 0.7, "top_p": 1.0, "max_tokens": 200, "seed": None, "timeout": 120.0}
    candidate = {
        "memory": "m-1",
        "route": "experience",
        "round": 2,
        "at": None,
        "cosine": 0.8312,
        "bm25": None,
        "ranks": {"vector": 3, "bm25": None},
        "bonuses": {"same_session": 0.1},
        "lent_by": "m-2",
        "final": 1.0,
        "relevant": True,
        "kept": False,
        "reason": "beyond top-k",
        "planner_score": 0.5,
    }
    turn = {
        "round": 3,
        "replaces": None,
        "clock": "system",
        "request_key": None,
        "message": "我住在哪里?",
        "augmented_query": "[User 小明][Assistant Ada] 我住在哪里?",
        "user": "小明",
        "character": "Ada",
        "persona_digest": DIGEST,
        "session_round": 2,
        "last_round_at": "2026-02-28T22:00:00+08:00",
        "backend": backend,
        "sampling": sampling,
        "preset": "default",
        "config": {"gate_enabled": True, "gate_similarity": 0.2},
        "embedder": {"name": "multilingual-e5-small/int8", "c0": 0.71},
        "knowledge_tip": {"seq": 0, "hash": GENESIS},
        "instructions_shown": ["i-1"],
        "window": [1, 2],
        "context_tokens": 8192,
        "history": [
            {
                "round": 1,
                "part": "user",
                "at": None,
                "memory": "m-1",
                "fidelity": "COMPRESSED",
                "tokens": 7,
                "reason": "score",
                "focus": {
                    "importance": "RELEVANT",
                    "similarity": 0.5,
                    "recency": 0.9,
                    "score": 0.38,
                    "intended": "COMPRESSED",
                    "probability": 0.81,
                    "reason": "classifier: nearest to a fact",
                },
                "note": None,
            }
        ],
        "about_dialogue": False,
        "instructions_omitted": ["i-2"],
        "adherence": None,
        "candidates": {"knowledge": [{**candidate, "route": "knowledge"}], "experience": [candidate]},
        "evidence": [
            {"label": "E1", "memory": "m-2", "route": "experience", "fidelity": "FULL", "tokens": 31, "cue": "昨天"}
        ],
        "prompt": prompt,
        "attempts": [attempt],
        "analysis": {"need": "both", "cited": ["E1"], "unknown": ["E9"], "check": None, "text": "need: both"},
        "response": "你住在上海。",
        "ranking": ["E1"],
        "cited": ["E1", "E9"],
        "bound": ["E1"],
        "violations": [violation],
        "repairs": [{"rung": "normalised", "steps": ["closed the response"], "fixed": True}],
        "admission": {"admitted": True, "reason": "a finished turn", "memory": "m-3"},
        "timings": {"search": 0.004, "generate": 1.5},
    }
    return {
        "timeline_opened": {"user": "小明", "character": "Ada", "persona": "Kind.", "timezone": "Asia/Shanghai"},
        "timeline_renamed": {"title": "花园"},
        "session_opened": {"cause": "start", "model": "local", "config": {"history_k": 5}, "preset": None},
        "turn": turn,
        "turn_failed": {
            "round": 4,
            "replaces": "e-7",
            "clock": "offset -86400 s",
            "request_key": "k-1",
            "message": "再说一次",
            "user": "小明",
            "error": {"kind": "timeout", "text": "the model did not answer within 120 s"},
            "partial": "<analysis>",
            "config": {},
            "preset": "default",
            "backend": backend,
            "sampling": sampling,
            "prompt": None,
            "attempts": [attempt],
            "timings": {},
        },
        "instruction_added": {
            "instruction": "i-1",
            "text": "以后都用中文回答",
            "kind": "rule",
            "source_round": 2,
            "rule": "以后都",
            "probability": 1.0,
            "reason": "rule 以后都",
            "replaces": None,
        },
        "instruction_retired": {
            "instruction": "i-1",
            "reason": "asked to stop",
            "by": "不用再",
            "source_round": None,
            "recognised": {"rule": None, "probability": 0.9, "reason": "classifier: nearest to talk"},
        },
        "memory_quarantined": {
            "memories": ["m-1"],
            "scope": {"by": "rounds", "value": [3, 4]},
            "reason": "an error string",
            "by": "hand",
        },
        "message_compressed": {
            "key": "sha256:" + "c" * 64,
            "rounds": [1],
            "memories": ["m-1"],
            "model": "large-1",
            "budget": 40,
            "text": "Brief.",
            "note": None,
            "failed": False,
        },
        "memory_released": {"memories": ["m-1"], "reason": "it was right", "by": "hand"},
        "memory_erased": {
            "scope": {"by": "session", "value": "s-1"},
            "memories": ["m-1"],
            "events": ["e-7"],
            "turns": [{"event": "e-7", "round": 2, "replaces": None}],
            "rounds": 2,
            "instructions": ["i-1"],
            "retired": [{"instruction": "i-2", "at": "2026-03-01T09:30:00+08:00"}],
            "sources": [DIGEST],
            "reason": "asked by the user",
            "by": "hand",
        },
        "review": {
            "event": "e-7",
            "reviewer": "陈",
            "support": "yes",
            "correct": "unsure",
            "quote": "我住在上海",
            "memory": "m-2",
            "reason": "The address may be an old one.",
            "pending": True,
            "automatic": {"support": True, "answer": None, "correct": True},
            "supersedes": None,
        },
        "feedback": {"round": 3, "rating": "down", "note": "not true"},
        "config_changed": {"changes": {"history_k": {"from": 5, "to": 8}}, "preset": None},
        "imported": {
            "memory": "m-9",
            "round": 1,
            "at": None,
            "message": "hello",
            "reply": "",
            "user": "小明",
            "character": "Ada",
            "source": {"file": "chat.jsonl", "id": None},
            "session": None,
        },
        "document_added": {
            "document": "d-1",
            "name": "手册.md",
            "media_type": "text/markdown",
            "text": "# 标题\n\n正文。",
            "text_digest": DIGEST,
            "chunking": {"child": 200, "parent": 600},
            "headings": True,
            "bytes": 25,
            "encoding": "utf-8",
        },
        "document_removed": {"document": "d-1", "reason": "outdated"},
    }


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path) as opened:
        yield opened


class TestEveryEventIsOneCanonicalLine:
    def test_an_independent_reader_finds_every_digest(self, ledger: Ledger) -> None:
        """Re-derives the chain from the file with json, hashlib and rfc8785 alone, as docs/log-format.md says."""
        for kind, body in sample_bodies().items():
            ledger.append(Draft(kind, body, None if kind == "timeline_opened" else "s-1", AT))
        prev, lines = GENESIS, ledger.path.read_bytes().splitlines(keepends=True)
        assert len(lines) == len(KINDS)
        for seq, line in enumerate(lines, 1):
            event = json.loads(line)
            assert line == rfc8785.dumps(event) + b"\n"
            assert (event["seq"], event["prev"], event["timeline"]) == (seq, prev, "t-1")
            assert event["at"] == "2026-03-01T09:30:00.250000+08:00"
            assert event["body_digest"] == sha256(rfc8785.dumps(event.pop("body")))
            prev = event.pop("hash")
            assert prev == sha256(rfc8785.dumps(event))

    def test_the_verifier_printed_in_the_docs(self, ledger: Ledger) -> None:
        """docs/log-format.md promises that its twenty lines are enough to check a ledger; so they are run."""
        page = (SCHEMA_FOLDER.parent / "log-format.md").read_text("utf-8")
        printed: dict[str, Any] = {}
        exec(page.partition("```python\n")[2].partition("```")[0], printed)
        ledger.append_many([feedback(str(number)) for number in range(3)])
        data = ledger.path.read_bytes()
        assert printed["verify"](ledger.path) == (ledger.tip.hash, None)
        with ledger.path.open("r+b", buffering=0) as file:
            for place in range(0, len(data) - 1, 7):
                os.pwrite(file.fileno(), bytes([data[place] ^ 4]), place)
                with pytest.raises((AssertionError, ValueError, KeyError)):
                    printed["verify"](ledger.path)
                os.pwrite(file.fileno(), data[place : place + 1], place)
            file.truncate(len(data) - 1)
        assert printed["verify"](ledger.path)[1] == "event 3 is unfinished"

    def test_what_is_returned_is_what_is_read_back(self, ledger: Ledger) -> None:
        written = [ledger.append(Draft(kind, body, "s-1", AT)) for kind, body in sample_bodies().items()]
        assert list(ledger.events()) == written
        assert [ledger.read(event.seq) for event in written] == written
        assert [ledger.event_at(event.offset) for event in written] == written

    def test_ids_and_salts_are_fresh(self, ledger: Ledger) -> None:
        """Without a salt, body_digest of an erased "yes" would still be the digest of "yes"."""
        first, second = ledger.append(feedback()), ledger.append(feedback())
        assert first.body is not None and second.body is not None
        assert len(bytes.fromhex(first.body["salt"])) == 16
        assert first.body["salt"] != second.body["salt"]
        assert first.body_digest != second.body_digest
        assert first.id != second.id

    def test_a_body_that_looks_like_an_envelope(self, ledger: Ledger) -> None:
        """Lines are cut at `"body":` and `"body_digest":`; a body that holds the same words must not mislead."""
        trap = 'x","body":{"body_digest":"y","body_digest":"sha256:'
        config = {"body": {"body_digest": trap, "zz": 1}, "body_digest": trap, "hash": trap, trap: trap}
        written = ledger.append(
            Draft("session_opened", {**sample_bodies()["session_opened"], "config": config}, trap, AT)
        )
        assert written.body is not None and written.body["config"] == config
        assert ledger.read(1) == written
        assert ledger.verify().tip == ledger.tip


class TestOnlyWhatTheSchemaAllowsIsWritten:
    @pytest.mark.parametrize(
        ("kind", "change", "complaint"),
        [
            ("turn", {"candidates": {"knowledge": [{"memory": "m"}], "experience": []}}, r"\$\.body\.candidates\.know"),
            ("turn", {"round": 0}, r"\$\.body\.round: 0 is less than the minimum of 1"),
            ("turn", {"mood": "good"}, r"'mood' was unexpected"),
            ("turn", {"prompt": {"digest": "md5:1", "tokens": 1, "approximate": True}}, r"\$\.body\.prompt\.digest"),
            ("feedback", {"rating": "meh"}, r"\$\.body\.rating: \"meh\" is not one of"),
            ("feedback", {"note": 5}, r"\$\.body\.note"),
            ("imported", {"source": {"file": "a"}}, r"\$\.body\.source: \"id\" is a required property"),
        ],
    )
    def test_the_wrong_member_is_named(self, ledger: Ledger, kind: str, change: dict[str, Any], complaint: str) -> None:
        with pytest.raises(InvalidEventError, match=complaint):
            ledger.append(Draft(kind, {**sample_bodies()[kind], **change}, None, AT))
        assert ledger.path.read_bytes() == b""

    @pytest.mark.parametrize(
        ("draft", "complaint"),
        [
            (Draft("dream", {}, None, AT), "no event kind 'dream'; the kinds are config_changed"),
            (Draft("feedback", sample_bodies()["feedback"], None, datetime(2026, 1, 1)), "no timezone"),
            (Draft("feedback", {**sample_bodies()["feedback"], "salt": "00" * 16}, None, AT), "written only once"),
            (feedback(id="a/b"), r"\$\.id: \"a/b\" does not match"),
            (feedback(id=""), r"\$\.id: \"\" does not match"),
            (Draft("feedback", sample_bodies()["feedback"], "", AT), r"\$\.session"),
        ],
    )
    def test_drafts_that_are_no_events(self, ledger: Ledger, draft: Draft, complaint: str) -> None:
        with pytest.raises(InvalidEventError, match=complaint):
            ledger.append(draft)
        assert ledger.path.read_bytes() == b""

    def test_half_a_character_is_refused_by_place(self, ledger: Ledger) -> None:
        """A lone surrogate used to make the line, and every later one, unreadable."""
        with pytest.raises(NotCanonicalError, match=r"\$\.body\.note holds half a character"):
            ledger.append(feedback("\ud83d"))
        with pytest.raises(InvalidEventError, match=r"\$\.body\.timings\.search"):
            ledger.append(Draft("turn", {**sample_bodies()["turn"], "timings": {"search": float("nan")}}, None, AT))
        assert ledger.append(feedback("\U0001f600")).seq == 1

    def test_long_values_do_not_flood_the_message(self, ledger: Ledger) -> None:
        with pytest.raises(InvalidEventError) as caught:
            ledger.append(Draft("feedback", {"round": "长" * 10_000, "rating": "up", "note": None}, None, AT))
        assert len(str(caught.value)) < 600


class TestSchemas:
    def test_one_for_the_envelope_and_one_for_each_kind(self) -> None:
        assert set(SCHEMAS) == {"urn:arpm:schema:event:1", *map(schema_id, KINDS)}
        assert set(sample_bodies()) == set(KINDS)

    @pytest.mark.parametrize("name", sorted(SCHEMAS))
    def test_is_valid_strict_and_explained(self, name: str) -> None:
        """A member without a description cannot be understood; an object without additionalProperties takes typos."""
        Draft202012Validator.check_schema(SCHEMAS[name])
        assert SCHEMAS[name]["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        for path, schema in _subschemas(SCHEMAS[name], name):
            described = "description" in schema or "$ref" in schema or schema == {"type": "null"}
            assert described, path
            if "properties" in schema and (not path.startswith("urn") or path == "urn:arpm:schema:event:1"):
                assert "additionalProperties" in schema and "required" in schema, path

    @pytest.mark.parametrize("kind", sorted(KINDS))
    def test_describes_the_whole_line(self, ledger: Ledger, kind: str) -> None:
        """A reader with nothing but the schema named in the line can validate the line, erased or not."""
        ledger.append(Draft(kind, sample_bodies()[kind], "s-1", AT))
        line = json.loads(ledger.path.read_bytes())
        validator = Draft202012Validator(SCHEMAS[line["schema"]], registry=REGISTRY)
        validator.validate(line)
        validator.validate({**line, "body": None})
        assert not validator.is_valid({**line, "kind": "other"})
        assert not validator.is_valid({**line, "body": {}})
        assert not validator.is_valid({**line, "extra": 1})

    def test_are_judged_as_by_jsonschema(self) -> None:
        """The fast validator and the reference one agree on mutated bodies of every kind."""
        rng, verdicts = random.Random(2), []
        for kind in KINDS:
            reference = f"{schema_id(kind)}#/$defs/body"
            oracle = Draft202012Validator({"$ref": reference}, registry=REGISTRY)
            for _ in range(60):
                body = json.loads(json.dumps({**sample_bodies()[kind], "salt": "0" * 32}))
                _mutate(body, rng)
                valid = oracle.is_valid(body)
                assert events._validator(reference).is_valid(body) == valid, body
                verdicts.append(valid)
        # Both verdicts must occur, else nothing was compared.
        assert 100 < sum(verdicts) < len(verdicts) - 100


def _subschemas(schema: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for group in ("properties", "$defs"):
        for name, member in schema.get(group, {}).items():
            yield from _subschemas(member, f"{name} in {path}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _subschemas(schema[key], f"{key} of {path}")
    for member in schema.get("anyOf", ()):
        yield from _subschemas(member, f"anyOf of {path}")


def _mutate(value: Any, rng: random.Random) -> None:
    """Change, drop or add one thing somewhere in `value`."""
    while True:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = rng.choice(keys) if keys else None
        if key is not None and isinstance(value[key], dict | list) and value[key] and rng.random() < 0.8:
            value = value[key]
            continue
        odd: Any = rng.choice([None, True, 0, 1, -1, 1.0, 0.5, "", "x", "E1", "FULL", DIGEST, [], {}, [[]], {"a": "b"}])
        if isinstance(value, list):
            value.insert(0, odd)
        elif key is None or rng.random() < 0.15:
            value["added"] = odd
        elif rng.random() < 0.2:
            del value[key]
        else:
            value[key] = odd
        return


class TestReadersRefuseWhatTheyDoNotKnow:
    @pytest.mark.parametrize(
        "change",
        [
            {"kind": "dream", "schema": "urn:arpm:schema:dream:1"},
            {"schema": "urn:arpm:schema:feedback:2"},
            {"kind": "dream", "schema": "urn:arpm:schema:dream:1", "new_member": 1},
        ],
    )
    def test_newer_events(self, tmp_path: Path, change: dict[str, Any]) -> None:
        """An event of a newer version is intact, so it is not damage, and guessing at it would corrupt what follows."""
        with open_ledger(tmp_path) as ledger:
            ledger.append(feedback())
        event = {**json.loads(ledger.path.read_bytes()), **change}
        ledger.path.write_bytes(rehashed(event))
        with pytest.raises(
            UnknownEventError, match=r"ledger\.jsonl: event 1 .* does not know; read this ledger with a"
        ):
            open_ledger(tmp_path)
        with pytest.raises(UnknownEventError):
            verify(ledger.path)

    def test_an_envelope_that_breaks_its_schema_is_damage(self, tmp_path: Path) -> None:
        with open_ledger(tmp_path) as ledger:
            ledger.append(feedback())
        event = json.loads(ledger.path.read_bytes())
        ledger.path.write_bytes(rehashed({**event, "session": 5}))
        with pytest.raises(DamagedLedgerError, match="its envelope does not follow its schema"):
            open_ledger(tmp_path)
        ledger.path.write_bytes(rehashed({**event, "at": "2026-02-30T00:00:00+00:00"}))
        with pytest.raises(DamagedLedgerError, match="its time 2026-02-30T00:00:00"):
            open_ledger(tmp_path)
        ledger.path.write_bytes(rehashed({**event, "kind": ["feedback"]}))
        with pytest.raises(UnknownEventError):
            open_ledger(tmp_path)


class TestErasedBodies:
    def _erase(self, path: Path, seq: int) -> None:
        lines = path.read_bytes().splitlines(keepends=True)
        lines[seq - 1] = rfc8785.dumps({**json.loads(lines[seq - 1]), "body": None}) + b"\n"
        path.write_bytes(b"".join(lines))

    def test_the_chain_still_verifies(self, tmp_path: Path) -> None:
        with open_ledger(tmp_path) as ledger:
            written = ledger.append_many([feedback() for _ in range(4)])
        saved = ledger.tip
        self._erase(ledger.path, 2)
        assert verify(ledger.path, "t-1", saved).tip.hash == saved.hash
        # What follows has moved, so the saved place no longer fits; the saved event is still there.
        with open_ledger(tmp_path, checkpoint=saved) as reopened:
            erased = reopened.read(2)
            assert (erased.body, erased.body_digest, erased.hash) == (None, written[1].body_digest, written[1].hash)
            assert [event.body is None for event in reopened.events()] == [False, True, False, False]
            assert reopened.append(feedback()).seq == 5

    def test_nothing_else_can_take_the_body_s_place(self, tmp_path: Path) -> None:
        with open_ledger(tmp_path) as ledger:
            ledger.append_many([feedback() for _ in range(2)])
        self._erase(ledger.path, 1)
        for other in (b"[]", b"{}", b"nulL", b"0", b""):
            line = ledger.path.read_bytes().replace(b'"body":null', b'"body":' + other)
            (tmp_path / "copy.jsonl").write_bytes(line)
            with pytest.raises(DamagedLedgerError) as caught:
                verify(tmp_path / "copy.jsonl")
            assert caught.value.seq == 1


class TestOpening:
    def test_a_new_ledger_is_private_and_empty(self, tmp_path: Path) -> None:
        with open_ledger(tmp_path / "logs" / "t-1") as ledger:
            assert ledger.tip == EMPTY
            assert list(ledger.events()) == []
            assert ledger.torn is None
            assert ledger.path.stat().st_mode & 0o777 == 0o600

    def test_goes_on_where_it_stopped(self, tmp_path: Path) -> None:
        with open_ledger(tmp_path) as ledger:
            first = ledger.append(feedback())
        with open_ledger(tmp_path) as ledger:
            second = ledger.append(feedback())
            assert (second.seq, second.prev) == (2, first.hash)
            assert ledger.tip == Checkpoint(2, second.hash, ledger.path.stat().st_size)

    def test_only_what_follows_a_checkpoint_is_read(self, tmp_path: Path) -> None:
        """A start must not take longer with every turn ever made. `verify` still reads everything."""
        with open_ledger(tmp_path) as ledger:
            ledger.append_many([feedback() for _ in range(3)])
            saved = ledger.tip
            later = [ledger.append(feedback()), ledger.append(feedback())]
        data = bytearray(ledger.path.read_bytes())
        data[100] ^= 1
        ledger.path.write_bytes(data)
        with open_ledger(tmp_path, checkpoint=saved) as reopened:
            assert list(reopened.events(4)) == later
            assert reopened.read(5) == later[1]
            assert reopened.append(feedback()).seq == 6
            with pytest.raises(DamagedLedgerError):
                reopened.verify()
            with pytest.raises(DamagedLedgerError):
                reopened.read(1)
        with pytest.raises(DamagedLedgerError):
            open_ledger(tmp_path)

    def test_every_place_can_be_a_checkpoint(self, tmp_path: Path) -> None:
        """Also with lines longer than one block of the search for the line before it."""
        with open_ledger(tmp_path) as ledger:
            places = [EMPTY]
            for length in (1, 70_000, 1, 200_000):
                ledger.append(feedback("字" * length))
                places.append(ledger.tip)
            for place in places:
                with open_ledger(tmp_path, checkpoint=place) as reopened:
                    assert reopened.tip == places[-1]
                    assert [event.seq for event in reopened.events(place.seq + 1)] == list(range(place.seq + 1, 5))

    @pytest.mark.parametrize("left", [0, 1, 2])
    def test_a_ledger_shorter_than_its_checkpoint_is_damage(self, tmp_path: Path, left: int) -> None:
        """A restored old copy, or an emptied file, would go on with rounds that were already used."""
        with open_ledger(tmp_path) as ledger:
            ledger.append_many([feedback() for _ in range(3)])
        lines = ledger.path.read_bytes().splitlines(keepends=True)
        ledger.path.write_bytes(b"".join(lines[:left]))
        with pytest.raises(DamagedLedgerError, match="a saved checkpoint says that event 3") as caught:
            open_ledger(tmp_path, checkpoint=ledger.tip)
        assert caught.value.seq == left + 1
        with pytest.raises(DamagedLedgerError):
            verify(ledger.path, checkpoint=ledger.tip)
        assert verify(ledger.path).tip.seq == left

    def test_a_rewritten_ledger_does_not_pass_for_its_checkpoint(self, tmp_path: Path) -> None:
        with open_ledger(tmp_path / "a") as ledger, open_ledger(tmp_path / "b") as other:
            ledger.append_many([feedback() for _ in range(3)])
            other.append_many([feedback() for _ in range(3)])
        with pytest.raises(DamagedLedgerError):
            open_ledger(tmp_path / "b", checkpoint=ledger.tip)

    def test_a_missing_ledger_is_never_started_anew(self, tmp_path: Path) -> None:
        with pytest.raises(DamagedLedgerError, match="cut short, rewritten or removed"):
            open_ledger(tmp_path, checkpoint=Checkpoint(3, DIGEST, 900))
        with pytest.raises(NotFoundError):
            open_ledger(tmp_path, create=False)
        with pytest.raises(NotFoundError):
            verify(tmp_path / "ledger.jsonl")
        assert list(tmp_path.iterdir()) == []

    def test_another_timeline_s_ledger(self, tmp_path: Path) -> None:
        """Two folders swapped by hand would show one user's memories to another."""
        with open_ledger(tmp_path) as ledger:
            ledger.append(feedback())
        with pytest.raises(DamagedLedgerError, match="belongs to the timeline 't-1', not to 't-2'"):
            Ledger.open(tmp_path, "t-2", now=clock)

    @pytest.mark.parametrize("length", [0, 1, 200, 201])
    def test_a_timeline_s_name_can_be_read_back(self, tmp_path: Path, length: int) -> None:
        """A name that the envelope's schema forbids would make a ledger that never opens again."""
        if length in (0, 201):
            with pytest.raises(InputError, match=f"1 to 200 characters; got {length}"):
                Ledger.open(tmp_path, "名" * length, now=clock)
            return
        with Ledger.open(tmp_path, "名" * length, now=clock) as ledger:
            ledger.append(feedback())
        assert verify(ledger.path, "名" * length).tip == ledger.tip

    def test_what_is_no_file(self, tmp_path: Path) -> None:
        (tmp_path / "ledger.jsonl").mkdir()
        with pytest.raises(LedgerWriteError, match="could not be opened"):
            open_ledger(tmp_path)


class TestAppending:
    def test_many_at_once(self, ledger: Ledger) -> None:
        """An import of ten thousand turns must not wait for ten thousand disks."""
        ledger.append(feedback())
        written = ledger.append_many([feedback(str(number)) for number in range(50)])
        assert [event.seq for event in written] == list(range(2, 52))
        assert list(ledger.events(2)) == written
        assert ledger.append_many([]) == []
        assert ledger.verify().tip == ledger.tip

    def test_sealed_beforehand(self, ledger: Ledger) -> None:
        sealed = seal(feedback(id="e-1"))
        event = ledger.append(sealed)
        assert (event.id, event.body) == ("e-1", sealed.body)
        with pytest.raises(InputError, match=r"'e-1' is in .* already"):
            ledger.append(sealed)

    def test_an_id_is_used_once(self, tmp_path: Path) -> None:
        """A second event of the same id would make the ledger refuse to open."""
        with open_ledger(tmp_path) as ledger:
            ledger.append(feedback(id="e-1"))
            with pytest.raises(InputError):
                ledger.append_many([feedback(id="e-2"), feedback(id="e-2")])
            ledger.append(feedback(id="e-3"))
        with open_ledger(tmp_path, checkpoint=ledger.tip) as reopened:
            with pytest.raises(InputError, match="'e-1'"):
                reopened.append(feedback(id="e-1"))
            assert reopened.append(feedback(id="e-2")).seq == 3
        assert verify(ledger.path).tip.seq == 3

    def test_from_many_threads(self, ledger: Ledger) -> None:
        seqs: list[int] = []

        def work() -> None:
            for _ in range(15):
                seqs.append(ledger.append(feedback()).seq)
                assert [event.seq for event in ledger.events()][-1] >= seqs[-1] - 60

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(seqs) == list(range(1, 61))
        assert ledger.verify().tip == ledger.tip

    def test_after_closing(self, tmp_path: Path) -> None:
        ledger = open_ledger(tmp_path)
        ledger.close()
        ledger.close()
        with pytest.raises(LedgerWriteError, match="is closed"):
            ledger.append(feedback())


class TestReading:
    def test_from_any_place(self, ledger: Ledger) -> None:
        written = ledger.append_many([feedback() for _ in range(4)])
        for start in range(7):
            assert list(ledger.events(start)) == written[max(0, start - 1) :]

    def test_events_appended_meanwhile_are_not_included(self, ledger: Ledger) -> None:
        ledger.append_many([feedback(), feedback()])
        reading = ledger.events()
        next(reading)
        ledger.append(feedback())
        assert [event.seq for event in reading] == [2]

    def test_places_that_hold_no_event(self, ledger: Ledger) -> None:
        event = ledger.append(feedback())
        for seq in (0, 2, -1):
            with pytest.raises(NotFoundError, match=f"has no event {seq}"):
                ledger.read(seq)
        for offset in (-1, 1, event.size - 1, event.size, 10**6):
            with pytest.raises(NotFoundError, match="no event of"):
                ledger.event_at(offset)

    def test_the_end_of_an_event_is_its_checkpoint(self, ledger: Ledger) -> None:
        event = ledger.append_many([feedback(), feedback()])[1]
        assert Checkpoint(event.seq, event.hash, event.end) == ledger.tip

    def test_walking_a_file_without_opening_it(self, ledger: Ledger) -> None:
        ledger.append_many([feedback(), feedback()])
        assert [placed.event() for placed in walk(ledger.path)] == list(ledger.events())


class TestOneProcessOnAFolder:
    def test_the_second_is_told_who_has_it(self, tmp_path: Path) -> None:
        with FolderLock(tmp_path / "logs", now=clock):
            told = _try_lock(tmp_path / "logs")
            assert f"pid {os.getpid()}, since 2026-03-01T09:30:00" in told
            assert "Stop it, or give this one another folder" in told
        assert _try_lock(tmp_path / "logs") == "free"

    def test_a_second_lock_in_the_same_process(self, tmp_path: Path) -> None:
        with FolderLock(tmp_path, now=clock), pytest.raises(BusyError):
            FolderLock(tmp_path, now=clock).acquire()
        with FolderLock(tmp_path, now=clock) as lock:
            lock.release()
            lock.release()

    def test_a_killed_process_leaves_no_lock(self, tmp_path: Path) -> None:
        """A lock that is a file, rather than the system's, has to be deleted by hand after a crash."""
        script = (
            "import sys, time; from datetime import datetime, UTC; from pathlib import Path\n"
            "from arpm.ledger import FolderLock\n"
            "lock = FolderLock(Path(sys.argv[1]), now=lambda: datetime.now(UTC)); lock.acquire()\n"
            "print('held', flush=True); time.sleep(1000)\n"
        )
        with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
            with pytest.raises(BusyError, match=f"pid {holder.pid}"):
                FolderLock(tmp_path, now=clock).acquire()
            holder.send_signal(signal.SIGKILL)
        with FolderLock(tmp_path, now=clock):
            assert f"pid {os.getpid()}" in _try_lock(tmp_path)

    def test_a_folder_that_cannot_be_used(self, tmp_path: Path) -> None:
        (tmp_path / "logs").write_text("a file")
        with pytest.raises(InputError, match="cannot be used"):
            FolderLock(tmp_path / "logs", now=clock).acquire()


def _try_lock(folder: Path) -> str:
    """What a second process is told when it wants the folder."""
    script = (
        "import sys; from datetime import datetime, UTC; from pathlib import Path\n"
        "from arpm.errors import BusyError; from arpm.ledger import FolderLock\n"
        "try:\n    FolderLock(Path(sys.argv[1]), now=lambda: datetime.now(UTC)).acquire(); print('free')\n"
        "except BusyError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True, text=True, check=True)
    return done.stdout.strip()
