"""Small data sets of our own writing in the formats of the public ones, and runs over them without the embedder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arpm.experiments.base import Run
from arpm.settings import ModelSettings, Settings

# The public data sets, where they lie beside the checkout.
SHARED = Path(__file__).parents[3] / "shared" / "data"

TOPICS = (
    ("lighthouse", "The lighthouse on the north cliff is green."),
    ("canary", "My canary Pip sings at six in the morning."),
    ("marathon", "I ran the Porto marathon in four hours."),
    ("violin", "My violin was made in Cremona in 1911."),
    ("garden", "We grow purple tomatoes in the garden."),
    ("ferry", "The ferry to the island leaves at noon."),
)


def a_run(name: str, data: Path, out: Path, *, url: str | None = None, model: str | None = None, **options: Any) -> Run:
    """A run with the hashing embedder. `url` is an endpoint at which `model` is asked."""
    named = model or "none"
    models = (ModelSettings("asked", "openai", base_url=url or "http://127.0.0.1:9/v1", model=named, tries=1),)
    settings = Settings(logs=out / "logs", model="asked", embedder="hashing", models=models)
    return Run(name, settings, out, data, model="asked" if model else None, **options)


def needs(folder: str) -> Path:
    """The folder of the public data sets, or a skip that says which is missing."""
    if not (SHARED / folder).is_dir():
        pytest.skip(f"{SHARED / folder} is not there")
    return SHARED


def locomo(folder: Path, conversations: int = 2) -> Path:
    """Conversations of three sessions; every topic is told in the second session of each."""
    talks = []
    for number in range(conversations):
        sessions: dict[str, Any] = {"speaker_a": f"Ada{number}", "speaker_b": "Ben"}
        for session in (1, 2, 3):
            sessions[f"session_{session}_date_time"] = f"1:56 pm on {8 + session} May, 2023"
            told = [text for _, text in TOPICS] if session == 2 else ["Good to see you.", "Likewise, see you soon."] * 3
            sessions[f"session_{session}"] = [
                {"speaker": "Ben" if place % 2 else f"Ada{number}", "dia_id": f"D{session}:{place + 1}", "text": text}
                for place, text in enumerate(told)
            ]
        talks.append({"sample_id": f"conv-{number}", "conversation": sessions, "qa": _questions()})
    (folder / "locomo").mkdir(parents=True, exist_ok=True)
    (folder / "locomo" / "locomo10.json").write_text(json.dumps(talks), "utf-8")
    flagged = [{"question_id": "locomo_0_qa1", "error_type": "AMBIGUOUS"}]
    (folder / "locomo" / "audit_errors.json").write_text(json.dumps(flagged), "utf-8")
    return folder


def _questions() -> list[dict[str, Any]]:
    return [
        {"question": "Which colour has the lighthouse?", "answer": "green", "evidence": ["D2:1"], "category": 4},
        {"question": "When does the canary Pip sing?", "answer": 6, "evidence": ["D2:2"], "category": 2},
        {
            "question": "Where were marathon and violin?",
            "answer": "Porto, Cremona",
            "evidence": ["D2:3; D2:4"],
            "category": 1,
        },
        {"question": "Would Ada like a garden?", "answer": "Yes; tomatoes", "evidence": ["D2:5"], "category": 3},
        {"question": "Who sold the ferry?", "adversarial_answer": "Pip", "evidence": ["D2:6"], "category": 5},
        {"question": "What is nowhere?", "answer": "nothing", "evidence": ["D9:9"], "category": 4},
    ]


def realmem(folder: Path) -> Path:
    """One user: three sessions that tell something, and two that ask; the file is not in the order of dates."""
    told = [
        _session(f"s{day}", day, [("User", TOPICS[day - 1][1], None), ("Assistant", "Noted.", None)])
        for day in (1, 2, 3)
    ]
    asking = [
        _session("s4", 4, [("User", "Tell me about the lighthouse.", ["s1"]), ("Assistant", "It is green.", None)]),
        # What comes later must not be found, whatever the labels say.
        _session("s5", 5, [("User", "And canary and violin?", ["s2", "s9"]), ("Assistant", "Pip sings.", None)]),
    ]
    late = _session("s9", 9, [("User", "The violin and the canary were sold.", None), ("Assistant", "Noted.", None)])
    (folder / "realmem").mkdir(parents=True, exist_ok=True)
    file = folder / "realmem" / "Ada_Lin_dialogues_256k.json"
    file.write_text(json.dumps({"_metadata": {}, "dialogues": [late, *told, *asking]}), "utf-8")
    return folder


def _session(id: str, day: int, turns: list[tuple[str, str, list[str] | None]]) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for place, (speaker, text, gold) in enumerate(turns):
        row: dict[str, Any] = {"speaker": speaker, "content": text, "is_query": gold is not None}
        if gold is not None:
            row["category_name"] = "Dynamic Updating"
        before = turns[place - 1][2] if place else None
        if before is not None:
            row["memory_session_uuids"] = before
        rows.append(row)
    return {"session_uuid": id, "current_time": f"2026-01-{day:02} (Monday)", "dialogue_turns": rows}


MADIAL = {
    "zh": (
        [("Bart在圣诞节晚会上跳舞，非常开心。", 1), ("Bart在海边放风筝。", 1), ("Lisa参加了科学展览。", 2)],
        [('<Bart>:"我想再去海边放风筝。"\n', 1, [2]), ('<Lisa>:"科学展览又要开始了！"\n', 2, [3])],
    ),
    "en": (
        [
            ("Bart danced at the Christmas party.", 1),
            ("Bart flew a kite at the beach.", 1),
            ("Lisa joined the science fair.", 2),
        ],
        [('<Bart>: "I want to fly a kite at the beach."\n', 1, [2]), ('<Lisa>: "The science fair is near!"\n', 2, [3])],
    ),
}


def madial(folder: Path) -> Path:
    """Three memories of two children and two dialogues, in both languages."""
    for language, (memories, dialogues) in MADIAL.items():
        place = folder / "madial-bench" / ("ch" if language == "zh" else "en")
        place.mkdir(parents=True, exist_ok=True)
        rows = []
        for number, (event, user) in enumerate(memories, 1):
            row: dict[str, Any] = {"time": f"2023-0{number}-07", "event": event}
            rows.append({str(number): row | ({"user-id": user} if language == "zh" else {})})
        _lines(place / f"MADial-Bench-{language}-memory.json", rows)
        asked = [
            {
                "dialogue": ["<BOD>\n", words, '<Assistant>: "…"\n', "<EOD>\n"],
                "test-turn": [2],
                "relevant-id": gold,
                "user-id": user,
            }
            for words, user, gold in dialogues
        ]
        _lines(place / f"MADial-Bench-{language}-dialogue.json", asked)
    return folder


def _lines(file: Path, rows: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def precision(folder: Path) -> Path:
    """Beliefs of two users and two scopes, one of them superseded, and four cases."""
    beliefs = [
        _belief("b-old", "editor", "Used the Vim editor.", superseded="b-new", month=1),
        _belief("b-new", "editor", "Uses the Helix editor.", month=5),
        _belief("b-red", "colour", "Likes red for the kitchen.", scope="domain:home", month=6),
        _belief("b-tone", "tone", "Wants short answers.", scope="user:universal", month=6),
        _belief("b-other", "editor", "Uses the Emacs editor.", user="other-user", month=6),
    ]
    cases = [
        _case("c1", "which editor do I use", {"relevantBeliefs": {"shouldOnlyInclude": ["b-new"]}}),
        _case("c2", "the Emacs editor", {"relevantBeliefs": {"mustExclude": ["b-other"]}}),
        _case("c3", "the Helix editor", {"pinnedFacts": {"mustInclude": ["b-new"]}}),
        _case("c4", "   ", {"relevantBeliefs": {"shouldOnlyInclude": []}}),
    ]
    place = folder / "precisionmembench"
    place.mkdir(parents=True, exist_ok=True)
    (place / "beliefs.seed.json").write_text(json.dumps(beliefs), "utf-8")
    (place / "retrieval.cases.json").write_text(json.dumps(cases), "utf-8")
    return folder


def _belief(
    id: str,
    name: str,
    content: str,
    *,
    user: str = "test-user",
    scope: str = "domain:code",
    superseded: str | None = None,
    month: int,
) -> dict[str, Any]:
    return {
        "_id": id,
        "user_id": user,
        "canonical_name": name,
        "aliases": [],
        "content": content,
        "scope": [scope],
        "epistemic_status": "superseded" if superseded else "active",
        "superseded_by": superseded,
        "resolved_at": None,
        "created_at": f"2026-0{month}-01T00:00:00Z",
    }


def _case(id: str, query: str, expect: dict[str, Any]) -> dict[str, Any]:
    return {"caseId": id, "category": "Ours", "scope": ["domain:code"], "query": query, "expect": expect}
