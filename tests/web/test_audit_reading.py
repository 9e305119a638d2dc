"""What the audit pages read beside the ledgers: runs side by side, the lives of memories, pictures, tables as files."""

from __future__ import annotations

import csv
import io
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from arpm.cli import main
from arpm.generation.base import Generation, GenerationRequest, OnText
from arpm.web.context import context_of
from tests.patience import PATIENCE
from tests.support import ScriptedBackend, reply
from tests.web.support import Site, error_of, last, serving
from tests.web.test_audit import AUDIT, flipped, ledger_of, named, run

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def told(tmp_path: Path) -> Iterator[tuple[Site, str, str]]:
    """A server with a document and two timelines: one of three turns, one of two."""
    script = [
        reply("In the boat house.", "E1", "knowledge"),
        reply("好的。"),
        reply("Blue.", "E1"),
        reply("There."),
        reply("好的。"),
    ]
    with serving(tmp_path / "logs", ScriptedBackend(script)) as site:
        site.upload("harbour.md", "# Boats\n\nAnn keeps her canoe in the boat house. 安的独木舟在船屋里。".encode())
        first, second = site.timeline(), site.timeline("Bo", "小雨")
        for message in ("Where is my canoe?", "它是蓝色的。", "Which canoe is mine?"):
            last(site.send(first, message), "turn")
        for message in ("Where is my canoe?", "它是蓝色的。"):
            last(site.send(second, message), "turn")
        yield site, first, second


def command(site: Site, *arguments: str) -> Any:
    """What the command line prints as JSON. It reads the logs of the running server where it needs no lock."""
    done = CliRunner().invoke(main, ["--logs", str(site.service.logs), *arguments])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


class TestTwoTurns:
    def test_both_replies_as_one_text_with_nothing_lost(self, told: tuple[Site, str, str]) -> None:
        site, first, second = told
        found = site.http.get(f"{AUDIT}/diff?first={first}:1&second={second}:1").json()
        for index, name in enumerate(("first", "second")):
            told_of = "".join(item["text"] for item in found["words"] if item["of"] in ("both", name))
            assert told_of == found["replies"][index]
        assert [side["timeline"] for side in found["sides"]] == [first, second]
        assert set(found["memories"]) == {item["memory"] for item in found["evidence"]}

    def test_a_failed_turn_cannot_be_compared_and_it_is_said(self, tmp_path: Path) -> None:
        from arpm.generation.base import GenerationError

        down = GenerationError("unreachable", "The model's server is not running.")
        with serving(tmp_path / "logs", ScriptedBackend([down, reply("Hello.")])) as site:
            timeline = site.timeline()
            failed = last(site.send(timeline, "Are you there?"), "failed")["turn"]
            last(site.send(timeline, "Hello?"), "turn")
            answer = site.http.get(f"{AUDIT}/diff?first={failed}&second={timeline}:1")
            assert answer.status_code in (400, 404)
            assert "Traceback" not in answer.text


class TestTwoRuns:
    def test_rounds_that_both_have_are_held_side_by_side(self, told: tuple[Site, str, str]) -> None:
        site, first, second = told
        found = site.http.get(f"{AUDIT}/diff/runs?first={first}&second={second}").json()
        assert (found["count"], found["only_first"], found["only_second"]) == (2, [3], [])
        assert [row["rounds"] for row in found["rows"]] == [[1, 1], [2, 2]]
        assert [row["same_reply"] for row in found["rows"]] == [False, True]
        one = site.http.get(f"{AUDIT}/diff?first={found['rows'][0]['turns'][0]}&second={second}:1").json()
        assert one["overlap"] == found["rows"][0]["overlap"]
        assert sorted(one["facts"]) == sorted(found["rows"][0]["facts"])

    def test_a_timeline_is_the_same_as_itself(self, told: tuple[Site, str, str]) -> None:
        site, first, _ = told
        found = site.http.get(f"{AUDIT}/diff/runs?first={first}&second={first}").json()
        assert (found["same"], found["count"], found["damaged"]) == (3, 3, [])
        assert all(row["overlap"] == 1 and not row["facts"] for row in found["rows"])

    def test_pages_meet(self, told: tuple[Site, str, str]) -> None:
        site, first, _ = told
        rounds: list[int] = []
        more = True
        while more:
            after = rounds[-1] if rounds else 0
            page = site.http.get(f"{AUDIT}/diff/runs?first={first}&second={first}&limit=2&after={after}").json()
            rounds += [row["rounds"][0] for row in page["rows"]]
            more = page["more"]
        assert rounds == [1, 2, 3]

    def test_damage_is_told_and_what_comes_before_it_compared(self, told: tuple[Site, str, str]) -> None:
        site, first, second = told
        flipped(ledger_of(site, first), "它是蓝色的".encode(), "它是绿色的".encode())
        found = site.http.get(f"{AUDIT}/diff/runs?first={first}&second={second}").json()
        assert [row["rounds"][0] for row in found["rows"]] == [1]
        assert [item["name"] for item in found["damaged"]] == [first]

    def test_unknown_and_missing_timelines(self, told: tuple[Site, str, str]) -> None:
        site, first, _ = told
        error_of(site.http.get(f"{AUDIT}/diff/runs?first={first}&second=t-000000000000"), 404, "not_found")
        error_of(site.http.get(f"{AUDIT}/diff/runs?first={first}&second=../x"), 404, "not_found")
        error_of(site.http.get(f"{AUDIT}/diff/runs?first={first}"), 400, "input")


class TestLives:
    def test_all_in_short_are_those_of_the_single_lives(self, told: tuple[Site, str, str]) -> None:
        site, first, _ = told
        path = f"/api/v1/timelines/{first}/lives"
        found = site.http.get(f"{path}/summary").json()
        assert found["count"] == len(found["memories"]) > 1
        assert [row["shown"] for row in found["memories"]] == sorted(
            (r["shown"] for r in found["memories"]), reverse=True
        )
        for row in found["memories"]:
            life = site.http.get(path, params={"memory": row["memory"]}).json()
            assert life["count"] == row["candidate"]
            assert sum(item["label"] is not None for item in life["sightings"]) == row["shown"]
            assert sum(item["cited"] for item in life["sightings"]) == row["cited"]
        assert found["shown"] == sum(row["shown"] > 0 for row in found["memories"])

    def test_pages_meet_and_damage_is_told(self, told: tuple[Site, str, str]) -> None:
        site, first, _ = told
        path = f"/api/v1/timelines/{first}/lives/summary"
        whole = site.http.get(path).json()["memories"]
        seen: list[Any] = []
        more = True
        while more:
            page = site.http.get(f"{path}?limit=1&after={len(seen)}").json()
            seen += page["memories"]
            more = page["more"]
        assert seen == whole
        flipped(ledger_of(site, first), b"Which canoe is mine?", b"Which kanoe is mine?")
        assert "body" in site.http.get(path).json()["damage"]

    def test_an_unknown_timeline(self, told: tuple[Site, str, str]) -> None:
        error_of(told[0].http.get("/api/v1/timelines/t-000000000000/lives/summary"), 404, "not_found")


class TestPictures:
    @pytest.mark.parametrize("kind", ["svg", "png"])
    @pytest.mark.parametrize("of", ["shares", "lengths"])
    def test_of_statistics(self, told: tuple[Site, str, str], kind: str, of: str) -> None:
        site, first, _ = told
        answer = site.http.get(f"{AUDIT}/plots/statistics.{kind}?of={of}&timeline={first}&stage=1")
        _is_picture(answer.content, answer.headers["Content-Type"], kind)

    @pytest.mark.parametrize("kind", ["svg", "png"])
    def test_of_instructions_kept_along_the_rounds(self, told: tuple[Site, str, str], kind: str) -> None:
        """The curve of `arpm stats --plot-adherence`, and the numbers that it is drawn from."""
        site, first, second = told
        path = f"{AUDIT}/plots/statistics.{kind}?of=adherence&timeline={first}"
        assert "could check" in error_of(site.http.get(path), 404, "not_found")["message"]
        site.service.timeline(first).add_instruction("Always start with the letter O.")
        for message in ("One.", "Two.", "Three."):
            last(site.send(first, message), "turn")
        answer = site.http.get(path)
        _is_picture(answer.content, answer.headers["Content-Type"], kind)
        saved = site.http.get(f"{path}&download=1").headers["Content-Disposition"]
        assert saved == f'attachment; filename="adherence.{kind}"'
        found = site.http.get(f"{AUDIT}/statistics?timeline={first}").json()
        (curve,) = found["adherence"]
        assert found["adherence_curves"] == 1 and curve["model"] == "scripted-1" and curve["timeline"] == ""
        assert [point["round"] for point in curve["points"]] == [4, 5, 6]
        kept = [point["kept"] for point in curve["points"]]
        assert [point["share"] for point in curve["points"]] == [
            pytest.approx(sum(kept[: place + 1]) / (place + 1)) for place in range(3)
        ]
        assert all(point["checked"] == 1 for point in curve["points"])
        described = json.loads((DOCS / "openapi.json").read_text("utf-8"))["components"]["schemas"]["statistics"]
        of_curve = described["properties"]["adherence"]["items"]
        assert set(curve) == set(of_curve["properties"])
        assert set(curve["points"][0]) == set(of_curve["properties"]["points"]["items"]["properties"])
        # Two timelines have a curve each, by name; one of them has nothing to check.
        both = site.http.get(f"{AUDIT}/statistics?timeline={first}&timeline={second}").json()["adherence"]
        assert [curve["timeline"] for curve in both] == [first]

    def test_of_weights_over_rounds_and_hours(self, told: tuple[Site, str, str]) -> None:
        site, first, _ = told
        memory = site.http.get(f"/api/v1/timelines/{first}/lives/summary").json()["memories"][0]["memory"]
        pictures = set()
        for query in ("", "&over=hours", f"&memory={memory}"):
            answer = site.http.get(f"{AUDIT}/plots/weights.svg?timeline={first}{query}")
            _is_picture(answer.content, answer.headers["Content-Type"], "svg")
            pictures.add(answer.content)
        assert len(pictures) == 3
        saved = site.http.get(f"{AUDIT}/plots/weights.png?timeline={first}&download=1")
        assert saved.headers["Content-Disposition"] == 'attachment; filename="weights.png"'

    def test_of_the_last_counterfactual_until_something_is_erased(self, told: tuple[Site, str, str]) -> None:
        """Bug class: an erased message lives on in what an earlier run is drawn from."""
        site, first, _ = told
        error_of(site.http.get(f"{AUDIT}/plots/counterfactual.svg"), 404, "not_found")
        run(site, "counterfactual", changes={"knowledge_enabled": False})
        answer = site.http.get(f"{AUDIT}/plots/counterfactual.svg")
        _is_picture(answer.content, answer.headers["Content-Type"], "svg")
        assert len(context_of(site.app).audits.shifts()) == 5
        memory = site.http.get(f"/api/v1/timelines/{first}/memories").json()["memories"][-1]["id"]
        what = {"timeline": first, "memories": [memory]}
        confirm = site.http.post("/api/v1/erasures/reach", json=what).json()["reach"]["confirm"]
        assert site.http.post("/api/v1/erasures", json={**what, "confirm": confirm}).status_code == 200
        assert context_of(site.app).audits.shifts() == []
        error_of(site.http.get(f"{AUDIT}/plots/counterfactual.svg"), 404, "not_found")

    def test_what_cannot_be_drawn_is_refused_in_words(self, told: tuple[Site, str, str]) -> None:
        site, first, _ = told
        for path, status, kind in (
            ("statistics.svg?of=all", 400, "input"),
            ("statistics.svg?stage=0", 400, "input"),
            ("statistics.svg?timeline=t-000000000000", 404, "not_found"),
            ("weights.svg", 400, "input"),
            (f"weights.svg?timeline={first}&over=days", 400, "input"),
            (f"weights.svg?timeline={first}&memory=m-000000000000", 404, "not_found"),
            ("weights.svg?timeline=t-000000000000", 404, "not_found"),
            (f"weights.gif?timeline={first}", 404, "not_found"),
        ):
            error_of(site.http.get(f"{AUDIT}/plots/{path}"), status, kind)

    def test_many_rows_do_not_make_a_picture_without_end(self, tmp_path: Path) -> None:
        with serving(tmp_path / "logs") as site:
            timeline = site.timeline()
            for number in range(60):
                site.service.turn(timeline, f"Number {number}.")
            data = site.http.get(f"{AUDIT}/plots/statistics.png?stage=1").content
            # The header of a PNG has its width and height.
            assert int.from_bytes(data[20:24]) < 4000


def _is_picture(data: bytes, media_type: str, kind: str) -> None:
    if kind == "png":
        assert data.startswith(b"\x89PNG")
        return
    assert media_type.startswith("image/svg+xml")
    text = data.decode()
    assert text.rstrip().endswith("</svg>")
    assert not re.search(r"<script|\son\w+=|javascript:|<foreignObject|<image", text)


class TestTables:
    def test_the_csv_is_what_the_command_line_prints(self, told: tuple[Site, str, str]) -> None:
        site, first, _ = told
        for query, options in (("", ["--csv"]), ("&published=1", ["--published"])):
            answer = site.http.get(f"{AUDIT}/statistics.csv?timeline={first}&stage=2{query}")
            arguments = ["--logs", str(site.service.logs), "stats", first, "--stage", "2", *options]
            done = CliRunner().invoke(main, arguments)
            assert done.exit_code == 0, done.output
            assert answer.content == done.stdout_bytes
            assert len(list(csv.reader(io.StringIO(answer.text)))) == 3

    def test_statistics_are_those_of_the_command_line(self, told: tuple[Site, str, str]) -> None:
        site, first, _ = told
        printed = command(site, "stats", first, "--stage", "all", "--json")
        assert site.http.get(f"{AUDIT}/statistics?timeline={first}&stage=all").json()["rows"] == printed["rows"]


class Slow(ScriptedBackend):
    """Answers at once, until it is told to be slow: then each reply waits until it is stopped."""

    def __init__(self) -> None:
        super().__init__([reply("One."), reply("Two.")])
        self.slow = False
        self.begun = threading.Event()

    def generate(self, request: GenerationRequest, on_text: OnText, cancel: threading.Event) -> Generation:
        if self.slow:
            self.begun.set()
            assert cancel.wait(PATIENCE)
            return Generation("", "cancelled", None, None, 0.0, None)
        return super().generate(request, on_text, cancel)


class TestGeneration:
    def test_the_recorded_model_says_the_same(self, tmp_path: Path) -> None:
        with serving(tmp_path / "logs", ScriptedBackend([reply("Always this. 总是这样。")])) as site:
            timeline = site.timeline()
            for message in ("One?", "二？"):
                last(site.send(timeline, message), "turn")
            happened = run(site, "replay", timelines=[timeline], depth="generation")
            (row,) = named(happened, "timeline")
            assert (row["turns"], row["same"], row["error"]) == (2, 2, None)
            assert [turn["reply"] for turn in named(happened, "turn")] == ["Always this. 总是这样。"] * 2

    def test_another_reply_is_a_difference(self, told: tuple[Site, str, str]) -> None:
        site, first, _ = told
        happened = run(site, "replay", timelines=[first], depth="generation")
        assert named(happened, "timeline")[0]["different"] > 0
        places = {item["place"] for turn in named(happened, "turn") for item in turn["disagreements"]}
        assert "response" in places

    def test_another_model_answers_for_comparison_and_differs_from_nothing(self, told: tuple[Site, str, str]) -> None:
        site, first, _ = told
        happened = run(site, "replay", timelines=[first], depth="generation", model="scripted")
        assert named(happened, "timeline")[0]["different"] == 0
        assert len([turn for turn in named(happened, "turn") if turn["reply"]]) == 3
        assert site.http.get(f"{AUDIT}/ledgers").json()["runs"]["replay"]["asked"]["model"] == "scripted"

    def test_a_counterfactual_with_a_model_tells_both_replies(self, told: tuple[Site, str, str]) -> None:
        site, first, _ = told
        asked = {"timelines": [first], "changes": {"knowledge_enabled": False}, "model": "scripted"}
        happened = run(site, "counterfactual", **asked)
        assert last(happened, "done") == {"stopped": False}
        shown = named(happened, "shift")
        assert shown[0]["reply_before"] == "In the boat house."
        assert all(isinstance(shift["reply_after"], str) for shift in shown)
        (without, *_) = named(run(site, "counterfactual", timelines=[first], preset="G"), "shift")
        assert without["reply_before"] is without["reply_after"] is None

    @pytest.mark.parametrize("kind", ["replay", "counterfactual"])
    def test_a_stop_ends_the_reply_that_is_being_written(self, tmp_path: Path, kind: str) -> None:
        """Bug class: a stop waits for the model, which may take minutes."""
        backend = Slow()
        with serving(tmp_path / "logs", backend) as site:
            last(site.send(site.timeline(), "Hello."), "turn")
            backend.slow = True
            asked: dict[str, Any] = {"depth": "generation"} if kind == "replay" else {"model": "scripted"}
            with site.http.stream("POST", f"{AUDIT}/{kind}", json=asked) as response:
                assert backend.begun.wait(PATIENCE)
                assert site.http.post(f"{AUDIT}/{kind}/stop", json={}).json() == {"stopped": True}
                assert b'event: done\ndata: {"stopped": true}' in response.read()

    def test_models_are_refused_by_name(self, told: tuple[Site, str, str]) -> None:
        site, first, _ = told
        error_of(site.http.post(f"{AUDIT}/replay", json={"depth": "retrieval", "model": "scripted"}), 400, "input")
        error_of(site.http.post(f"{AUDIT}/replay", json={"depth": "generation", "model": "none"}), 404, "not_found")
        error_of(site.http.post(f"{AUDIT}/counterfactual", json={"model": "none"}), 404, "not_found")
        assert site.http.get(f"{AUDIT}/ledgers").json()["runs"]["replay"] is None
        assert first
