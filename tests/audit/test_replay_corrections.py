"""Corrections, scores and questions about the dialogue in the record: replayed, checked, and found out when changed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arpm.audit.arithmetic import disagreements
from arpm.audit.past import Past
from arpm.audit.replay import Depth, TurnReplay, replayed
from arpm.events import Draft, Event, seal, write_line
from arpm.ledger import LEDGER_NAME, walk
from retrieval.embedding.hashing import HashingEmbedder
from tests.support import ScriptedBackend, open_service, reply

OLD = {"exact_lane": False, "history_fusion": "rrf", "corrections_enabled": False, "dialogue_k": 0}
LATER_SETTINGS = (*OLD, "convex_weight", "convex_context", "convex_words", "convex_width", "correction_kinship",
                  "superseded_share", "dialogue_budget")  # fmt: skip
LATER_MEMBERS = ("context_cosine", "nearness", "superseded_by", "kinship")


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    logs = tmp_path_factory.mktemp("corrected") / "logs"
    with open_service(logs, ScriptedBackend([reply("Noted. 记下了。")])) as service:
        timeline = service.create_timeline("Ada", "Mia", timezone="UTC").id
        service.intervene(timeline, {"window_rounds": 0})
        for message in (
            "The red kettle is in the cellar.",
            "The ferry leaves from pier 3. 渡轮从三号码头开。",
            "The red kettle is not in the cellar, it is in the attic.",
            "渡轮不是从三号码头开，而是从五号码头开。",
            "Where is the red kettle?",
            "渡轮从哪个码头开？",
            "How many times have I corrected you so far?",
            "The kettle's serial number is 4471930. 序列号是4471930。",
            "What has the number 4471930?",
        ):
            service.turn(timeline, message)
        service.intervene(timeline, OLD)
        service.turn(timeline, "Where is the red kettle now?")
    return logs, timeline


def turns(lived: tuple[Path, str]) -> list[Event]:
    events = [placed.event() for placed in walk(lived[0] / lived[1] / LEDGER_NAME)]
    return [event for event in events if event.kind == "turn"]


def replay(logs: Path, timeline: str, depth: Depth) -> list[TurnReplay]:
    embedder = HashingEmbedder() if depth == "retrieval" else None
    return list(replayed(Past(logs, timeline, embedder), depth, embedder))


def by_message(event: Event) -> dict[str, Any]:
    assert event.body is not None
    return {row["memory"]: row for row in event.body["candidates"]["experience"]}


@pytest.mark.parametrize("depth", ["arithmetic", "retrieval"])
def test_every_turn_comes_out_the_same(lived: tuple[Path, str], depth: Depth) -> None:
    results = replay(*lived, depth)
    assert [(r.round, r.disagreements, r.skipped) for r in results if not r.same] == []


@pytest.mark.parametrize(("asked", "told", "corrected"), [(4, 0, 2), (5, 1, 3)])
def test_the_record_says_which_memory_corrects_which(
    lived: tuple[Path, str], asked: int, told: int, corrected: int
) -> None:
    events = turns(lived)
    old, new = (events[place].body["admission"]["memory"] for place in (told, corrected))
    rows = by_message(events[asked])
    assert rows[old]["superseded_by"] == new
    assert rows[new]["rank"] < rows[old]["rank"] and rows[old]["final"] <= 0.95 * rows[new]["final"]


def test_the_record_says_that_a_question_was_about_the_dialogue(lived: tuple[Path, str]) -> None:
    said = [event.body["about_dialogue"] for event in turns(lived)]
    assert said == [False] * 6 + [True, False, False, False]
    assert sum(row["kept"] for row in by_message(turns(lived)[6]).values()) == 6


def test_the_record_says_what_holds_the_number_asked_for(lived: tuple[Path, str]) -> None:
    rows = by_message(turns(lived)[8])
    told = turns(lived)[7].body["admission"]["memory"]
    assert [row["memory"] for row in rows.values() if "exact" in row["ranks"]] == [told]


Tamper = Callable[[dict[str, Any]], None]


def _superseded(body: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = next(row for row in body["candidates"]["experience"] if row["superseded_by"])
    return row


TAMPERINGS: dict[str, Tamper] = {
    "a correction left out": lambda body: _superseded(body).update(superseded_by=None, kinship=None),
    "corrected by what is not there": lambda body: _superseded(body).update(superseded_by="m-nobody"),
    "corrected by itself": lambda body: _superseded(body).update(superseded_by=_superseded(body)["memory"]),
    "not near enough": lambda body: _superseded(body).update(kinship=0.1),
    "a higher final score": lambda body: _superseded(body).update(final=9.0),
    "another nearness": lambda body: body["candidates"]["experience"][1].update(nearness=0.9999),
    "another cosine in context": lambda body: body["candidates"]["experience"][1].update(context_cosine=0.999),
    "about the dialogue": lambda body: body.update(about_dialogue=True),
    "another share": lambda body: body["config"].update(superseded_share=0.5),
    "another weight": lambda body: body["config"].update(convex_weight=2.0),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_what_was_changed_is_found_from_the_record_alone(lived: tuple[Path, str], name: str) -> None:
    event = turns(lived)[4]
    assert event.body is not None and not disagreements(event.body, event.at, "UTC")
    body = copy.deepcopy(event.body)
    TAMPERINGS[name](body)
    assert disagreements(body, event.at, "UTC")


def test_a_correction_that_came_earlier_is_none(lived: tuple[Path, str]) -> None:
    event = turns(lived)[4]
    body = copy.deepcopy(event.body)
    assert body is not None
    new = _superseded(body)["superseded_by"]
    rows = {row["memory"]: row for row in body["candidates"]["experience"]}
    rows[new]["superseded_by"], rows[new]["kinship"] = _superseded(body)["memory"], 1.5
    assert any("superseded_by" in found.place for found in disagreements(body, event.at, "UTC"))


@pytest.mark.parametrize("depth", ["arithmetic", "retrieval"])
def test_a_record_of_before_these_settings_is_replayed_as_it_was(
    lived: tuple[Path, str], tmp_path: Path, depth: Depth
) -> None:
    """Bug class: a setting that came later is read with its new default, and every older turn seems wrong."""
    events = [placed.event() for placed in walk(lived[0] / lived[1] / LEDGER_NAME)]
    (tmp_path / lived[1]).mkdir()
    prev, offset, lines = events[0].prev, 0, []
    for seq, event in enumerate(events, 1):
        body = copy.deepcopy(event.body)
        assert body is not None
        if event is events[-1]:
            del body["about_dialogue"]
            body["config"] = {name: value for name, value in body["config"].items() if name not in LATER_SETTINGS}
            for row in [*body["candidates"]["experience"], *body["candidates"]["knowledge"]]:
                for name in LATER_MEMBERS:
                    del row[name]
        body.pop("salt")
        written, line = write_line(
            seal(Draft(event.kind, body, event.session, event.at, event.id)), seq, event.timeline, prev, offset
        )
        prev, offset = written.hash, written.end
        lines.append(line)
    (tmp_path / lived[1] / LEDGER_NAME).write_bytes(b"".join(lines))
    last = replay(tmp_path, lived[1], depth)[-1]
    assert (last.disagreements, last.skipped) == ((), ())
