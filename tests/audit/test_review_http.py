"""Reviews over HTTP: written and read, and refused in the one shape of errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support import ScriptedBackend, reply
from tests.web.support import Site, error_of, last, serving

REVIEW = {"reviewer": "Ada", "support": "yes", "correct": "yes", "reason": "E1 says so."}
PROOF = {"memory": "E1", "quote": "in the boat house"}


@pytest.fixture
def spoken(tmp_path: Path) -> Any:
    """A site with a timeline and the event id of its answered turn."""
    with serving(tmp_path / "logs", ScriptedBackend([reply("In the boat house.", "E1", "knowledge")])) as site:
        site.upload("harbour.md", b"# Boats\n\nAnn keeps her canoe in the boat house.")
        timeline = site.timeline()
        turn = last(site.send(timeline, "Where is my canoe?"), "turn")["turn"]["id"]
        yield site, timeline, turn


def post(site: Site, turn: str, **changes: Any) -> Any:
    return site.http.post(f"/api/v1/turns/{turn}/reviews", json={**REVIEW, **PROOF, **changes})


def test_reviews_are_written_superseded_and_summed_up(spoken: Any) -> None:
    site, timeline, turn = spoken
    first = post(site, turn)
    assert first.status_code == 201
    review = first.json()["review"]
    assert (review["turn"], review["round"], review["standing"]) == (turn, 1, True)
    assert review["memory"].startswith("d-")
    second = post(site, f"{timeline}:1", correct="no", pending=True).json()["review"]
    assert second["supersedes"] == review["event"]
    post(site, turn, reviewer="陈", correct="unsure")
    page = site.http.get(f"/api/v1/timelines/{timeline}/reviews").json()
    assert [(row["reviewer"], row["standing"]) for row in page["reviews"]] == [
        ("陈", True),
        ("Ada", True),
        ("Ada", False),
    ]
    assert (page["count"], page["more"], page["open"]) == (3, False, 0)
    assert page["reviewers"] == [{"name": "Ada", "count": 1}, {"name": "陈", "count": 1}]
    assert [report["manual_accuracy"] for report in page["reports"]] == [0.0, 0.0]
    assert page["agreement"]["support"]["pairs"][0]["observed"] == 1.0
    assert page["agreement"]["correct"]["pairs"][0]["table"][1] == [0, 0, 1]
    one = site.http.get(f"/api/v1/timelines/{timeline}/reviews?reviewer=陈&limit=1").json()
    assert (one["count"], [row["reviewer"] for row in one["reports"]]) == (1, ["陈"])
    older = site.http.get(f"/api/v1/timelines/{timeline}/reviews?limit=1").json()
    assert older["more"]
    place = older["reviews"][0]["seq"]
    rest = site.http.get(f"/api/v1/timelines/{timeline}/reviews?before={place}").json()
    assert [row["event"] for row in rest["reviews"]] == [second["event"], review["event"]]
    assert len(site.http.get(f"/api/v1/turns/{turn}/reviews").json()["reviews"]) == 3


def test_nothing_reviewed_yet(spoken: Any) -> None:
    site, timeline, turn = spoken
    page = site.http.get(f"/api/v1/timelines/{timeline}/reviews").json()
    assert (page["reviews"], page["reports"], page["agreement"], page["open"]) == ([], [], None, 1)
    assert site.http.get(f"/api/v1/turns/{turn}/reviews").json() == {"reviews": []}


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"support": "maybe"}, "body.support"),
        ({"correct": 1}, "body.correct"),
        ({"reviewer": None}, "body.reviewer"),
        ({"pending": "yes"}, "body.pending"),
        ({"verdict": "yes"}, "body.verdict"),
        ({"quote": "in the attic"}, None),
        ({"memory": "E7"}, None),
        ({"reason": ""}, None),
        ({"quote": None, "memory": None}, None),
    ],
)
def test_refusals(spoken: Any, changes: dict[str, Any], place: str | None) -> None:
    site, timeline, turn = spoken
    error = error_of(post(site, turn, **changes), 400, "input")
    assert (error.get("detail") or {}).get("place") == place
    assert site.http.get(f"/api/v1/timelines/{timeline}/reviews").json()["count"] == 0


def test_addresses_that_do_not_exist(spoken: Any) -> None:
    site, timeline, _ = spoken
    error_of(post(site, f"{timeline}:9"), 404, "not_found")
    error_of(post(site, "0" * 32), 404, "not_found")
    error_of(site.http.get("/api/v1/timelines/t-0123456789ab/reviews"), 404, "not_found")
    error_of(site.http.get(f"/api/v1/timelines/{timeline}/reviews?limit=0"), 400, "input")
    error_of(site.http.get(f"/api/v1/turns/{'0' * 32}/reviews"), 404, "not_found")
