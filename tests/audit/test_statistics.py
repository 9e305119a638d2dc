"""Behaviour statistics count what is recorded, and nothing else; on the published logs' columns they agree."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from arpm.audit.adherence_curves import MOST_CURVES, adherence_curves
from arpm.audit.plots import save
from arpm.audit.plots_statistics import analysis_lengths, protocol_shares, rolling_adherence
from arpm.audit.reading import read_timelines
from arpm.audit.statistics import PUBLISHED, Observation, Row, columns, observed, published_rows, summarised
from arpm.erasure import erase, of_memories, reach
from arpm.generation.base import GenerationError
from arpm.importers.arpm_logs import LogFile, read_arpm_logs
from arpm.importers.atoms import write_atoms
from arpm.importers.stage_table import read_stages
from arpm.protocol import VIOLATIONS
from arpm.turn import TurnFailedError
from tests.cli.conftest import Arpm, arpm, model_server
from tests.support import ScriptedBackend, open_service, reply

__all__ = ["arpm", "model_server"]

SHARED = Path(__file__).parents[3] / "shared" / "data" / "arpm_published" / "analysis_stats_by_stage.csv"


def conversation(logs: Path) -> str:
    """Six rounds with one model in one session, one with another; every number of a row differs."""
    script: list[Any] = [
        reply("Noted, Lin.", check="Nothing."),
        reply("Purple tomatoes grow on her balcony.", "E1", "experience", "E1 says so."),
        "No tags at all here.",
        reply("Now with tags, Lin.", "none", "none"),
        reply("It is so.", "E9", "both"),
        reply("It is so indeed.", "E1", "both", "E1 supports it."),
        reply("First try."),
        reply("Second try."),
        GenerationError("unreachable", "boom"),
    ]
    backend, other = ScriptedBackend(script), ScriptedBackend([reply("Another voice.")])
    other.name = other.model = "other"
    with open_service(logs, backend, others=[other]) as service:
        timeline = service.create_timeline("Lin", "Mei").id
        service.intervene(timeline, {"gate_enabled": False, "window_rounds": 0})
        for message in (
            "My grandmother grows purple tomatoes on her balcony.",
            "What does my grandmother grow on her balcony?",
            "The lighthouse is painted green.",
            "Does my grandmother grow purple tomatoes on her balcony?",
        ):
            service.turn(timeline, message)
        first = service.turn(timeline, "我的表哥在青岛修理旧钟表。")
        service.turn(timeline, "我的表哥在青岛修理旧钟表。", replaces=first.id)
        with pytest.raises(TurnFailedError):
            service.turn(timeline, "Once more.")
        service.switch_model(timeline, "other")
        service.turn(timeline, "And you?")
    return timeline


def rows_of(logs: Path, stage: Any = "session", **options: Any) -> list[Row]:
    found = [observed(ledger.events()) for ledger in read_timelines(logs)]
    return summarised((one for timeline in found for one in timeline.observations), stage, **options)


class TestOfTurns:
    def test_a_session_is_a_stage(self, tmp_path: Path) -> None:
        conversation(tmp_path)
        first, second = rows_of(tmp_path)
        assert (first.model, second.model) == ("scripted-1", "other")
        assert (first.first_round, first.last_round, first.replies) == (1, 6, 5)
        assert (first.failed, first.failures, first.replaced) == (1, {"unreachable": 1}, 1)
        assert (second.replies, second.failed) == (1, 0)

    def test_violations_are_counted_before_and_after_repair(self, tmp_path: Path) -> None:
        conversation(tmp_path)
        row = rows_of(tmp_path)[0]
        assert row.violations is not None and row.violations_left is not None
        assert (row.without_analysis, row.without_response) == (1, 1)
        assert {kind: n for kind, n in row.violations.items() if n} == {
            "missing_analysis": 1,
            "missing_response": 1,
            "unknown_label": 1,
        }
        assert set(row.violations) == set(VIOLATIONS)
        assert not any(row.violations_left.values())
        assert (row.repairs_tried["asked"], row.repairs_fixed["asked"]) == (2, 2)
        assert row.turns_left_broken == 0

    def test_citations_needs_and_admission(self, tmp_path: Path) -> None:
        conversation(tmp_path)
        row = rows_of(tmp_path)[0]
        assert (row.citations_valid, row.citations_unknown, row.citations_absent) == (2, 0, 2)
        assert row.needs == {"knowledge": 0, "experience": 1, "both": 1, "none": 3, "unclear": 0}
        assert (row.admitted, row.admission_rate) == (5, 1.0)

    def test_instructions_kept_are_a_share_of_those_that_could_be_checked(self, tmp_path: Path) -> None:
        script = [reply("Oh."), reply("No."), reply("Of course, Lin."), reply("Once more.")]
        with open_service(tmp_path, ScriptedBackend(script)) as service:
            timeline = service.create_timeline("Lin", "Mei").id
            service.turn(timeline, "One.")
            service.timeline(timeline).add_instruction("Always start with the letter O.")
            service.timeline(timeline).add_instruction("Always be kind.")
            first = service.turn(timeline, "Two.")
            service.turn(timeline, "Two.", replaces=first.id)
            service.turn(timeline, "Three.")
        row = rows_of(tmp_path)[0]
        assert (row.instructions_kept, row.instructions_broken, row.instructions_unchecked) == (2, 0, 2)
        assert row.adherence_rate == 1.0
        every = rows_of(tmp_path, every=True)[0]
        assert (every.instructions_kept, every.instructions_broken, every.adherence_rate) == (2, 1, 0.6667)
        assert dict(columns(row))["adherence_rate"] == 1.0

    def test_no_instruction_gives_no_rate(self, tmp_path: Path) -> None:
        conversation(tmp_path)
        row = rows_of(tmp_path)[0]
        assert (row.instructions_kept, row.adherence_rate) == (0, None)

    def test_lengths_are_those_of_the_words_between_the_tags(self, tmp_path: Path) -> None:
        with open_service(tmp_path, ScriptedBackend([reply("a", check="x"), reply("b", check="x" * 41)])) as service:
            timeline = service.create_timeline("Lin", "Mei").id
            service.turn(timeline, "One.")
            service.turn(timeline, "Two.")
        shortest = len("need: none\nevidence: none\ncheck: x")
        row = rows_of(tmp_path)[0]
        assert (row.analysis_mean, row.analysis_median) == (shortest + 20, shortest + 20)

    def test_stages_of_rounds_and_of_everything(self, tmp_path: Path) -> None:
        conversation(tmp_path)
        labels = [(row.stage, row.model, row.replies) for row in rows_of(tmp_path, 3)]
        assert labels == [("1–3", "scripted-1", 3), ("4–6", "scripted-1", 2), ("4–6", "other", 1)]
        assert [(row.stage, row.model) for row in rows_of(tmp_path, "all")] == [("all", "scripted-1"), ("all", "other")]

    def test_replies_that_were_asked_for_again_count_on_request(self, tmp_path: Path) -> None:
        conversation(tmp_path)
        assert rows_of(tmp_path, every=True)[0].replies == 6

    def test_erased_rounds_are_counted_as_such_and_nowhere_else(self, tmp_path: Path) -> None:
        timeline = conversation(tmp_path)
        with open_service(tmp_path) as service:
            what = of_memories(service.catalogue, [f"{timeline}:3"])
            erase(service, what, reach(service, what).confirm)
        found = observed(read_timelines(tmp_path)[0].events())
        assert found.erased >= 1
        assert summarised(found.observations)[0].replies == 4


class TestOfPublishedLogs:
    """A log made so that its numbers are those of the published table, from the table alone."""

    TABLE = (
        # stage, model, rounds, mean, median, no analysis, no response, still broken
        ("S1", "DeepSeek-v4-pro", "1–20", "166.6", "168.0", 0, 0, 0),
        ("S2", "模型二", "21–24", "100.2", "100.5", 1, 2, 2),
        ("S3", "MiniMAX-M2-Her", "25–36", "45.2", "0.0", 8, 9, 9),
    )
    # Lengths as logged, with tags. The first are those of the 20 analyses of the published log's first stage.
    LENGTHS = (
        (55, 202, 255, 180, 147, 98, 155, 253, 118, 203, 167, 66, 204, 231, 124, 223, 177, 169, 164, 140),
        (0, 100, 101, 200),
        (0, 0, 0, 0, 0, 0, 0, 0, 64, 100, 178, 200),
    )

    def logs(self, tmp_path: Path) -> Path:
        dialogue, analysis = [], []
        number = 0
        for lengths, (_, _, _, _, _, bare, mute, broken) in zip(self.LENGTHS, self.TABLE, strict=True):
            for place, length in enumerate(lengths):
                # The log's rounds begin again with every model, in one session.
                at = f"2026-04-{number // 24 + 1:02d}T{number % 24:02d}:00:00.000000"
                shared = {"logged_at": at, "session_id": "s", "round": place + 1, "physical_time": at}
                dialogue.append(
                    {
                        **shared,
                        "event": "dialog_turn",
                        "user_name": "Lin",
                        "character_name": "Mei",
                        "user_input": f"Question {number}",
                        "assistant_reply": f"Answer {number}.",
                    }
                )
                protocol = {
                    "has_analysis_tag": place >= bare,
                    "has_response_tag": place >= mute,
                    "needs_repair": place < broken,
                    "was_repaired": place <= broken,
                }
                text = f"<analysis>{'字' * (length - 21)}</analysis>" if length > 21 else ""
                analysis.append(
                    {
                        **shared,
                        "event": "cot_analysis",
                        "analysis": text,
                        "protocol_info": protocol,
                        "regeneration_info": {},
                    }
                )
                number += 1
        table = "阶段,模型,索引范围\n" + "".join(f"{stage},{model},{span}\n" for stage, model, span, *_ in self.TABLE)
        files = [
            LogFile(f"{name}.log", "\n".join(map(json.dumps, rows)).encode())
            for name, rows in (("d", dialogue), ("a", analysis))
        ]
        (talk,) = read_arpm_logs(files[0], None, files[1], read_stages("s.csv", table.encode())).talks
        with open_service(tmp_path) as service:
            write_atoms(service.create_timeline("Lin", "Mei"), "d.log", talk.atoms)
        return tmp_path

    def test_the_columns_come_out_as_published(self, tmp_path: Path) -> None:
        found = published_rows(rows_of(self.logs(tmp_path), "all"))
        expected = [
            (stage, model, span, str(len(lengths)), mean, median, "", *map(str, counts))
            for lengths, (stage, model, span, mean, median, *counts) in zip(self.LENGTHS, self.TABLE, strict=True)
        ]
        assert found == expected

    def test_the_header_is_the_published_one(self) -> None:
        if not SHARED.exists():
            pytest.skip("the published table is not at hand")
        header, *lines = list(csv.reader(io.StringIO(SHARED.read_text("utf-8-sig"))))
        assert tuple(header) == PUBLISHED
        # 14 replies of 172 were still broken after the model's own repair: what the last column counts.
        assert (sum(int(line[3]) for line in lines), sum(int(line[9]) for line in lines)) == (172, 14)

    def test_what_the_logs_do_not_say_is_none(self, tmp_path: Path) -> None:
        row = rows_of(self.logs(tmp_path))[0]
        assert (row.citations_valid, row.citations_absent, row.needs) == (None, None, None)
        assert row.admission_rate == 1.0

    def test_a_round_without_an_analysis_log_has_no_length(self, tmp_path: Path) -> None:
        line = {"event": "dialog_turn", "session_id": "s", "round": 1, "user_input": "Hi", "assistant_reply": "Hello"}
        (talk,) = read_arpm_logs(LogFile("d.log", json.dumps(line).encode())).talks
        with open_service(tmp_path) as service:
            write_atoms(service.create_timeline("Lin", "Mei"), "d.log", talk.atoms)
        (row,) = rows_of(tmp_path)
        assert (row.replies, row.analyses, row.analysis_mean, row.without_analysis) == (1, 0, None, None)
        assert dict(columns(row))["violations_uncited"] is None


class TestDamage:
    def test_counts_up_to_the_damage_and_says_so(self, arpm: Arpm) -> None:
        timeline = conversation(arpm.logs)
        path = arpm.logs / timeline / "ledger.jsonl"
        raw = path.read_bytes().splitlines(keepends=True)
        raw[5] = raw[5].replace(b"Lin", b"Lim", 1)
        path.write_bytes(b"".join(raw))
        result = arpm("stats", "--json", code=1)
        report = json.loads(result.stdout)
        assert sum(row["replies"] for row in report["rows"]) < 5
        assert report["damaged"][0]["timeline"] == timeline
        assert "Damaged, counted up to there" in result.stderr


class TestCommandLine:
    def test_prints_a_table_json_and_csv(self, arpm: Arpm) -> None:
        conversation(arpm.logs)
        assert "scripted-1" in arpm("stats").stdout
        assert [row["replies"] for row in arpm.json("stats")["rows"]] == [5, 1]
        (first, _) = list(csv.DictReader(io.StringIO(arpm("stats", "--csv").stdout.lstrip("\ufeff"))))
        assert (first["replies"], first["repairs_tried_asked"], first["failures"]) == ("5", "2", "unreachable 1")
        assert arpm("stats", "--published", "--stage", "all").stdout.startswith("\ufeff阶段,模型")

    def test_needs_no_lock(self, arpm: Arpm) -> None:
        timeline = conversation(arpm.logs)
        with open_service(arpm.logs):
            assert arpm.json("stats", timeline)["rows"]

    def test_a_model_that_is_named_like_a_formula_stays_text(self, arpm: Arpm) -> None:
        backend = ScriptedBackend()
        backend.model = "=cmd|' /C calc'!A0"
        with open_service(arpm.logs, backend) as service:
            service.turn(service.create_timeline("Lin", "Mei").id, "Hi.")
        assert "'=cmd" in arpm("stats", "--csv").stdout

    def test_draws_both_plots(self, arpm: Arpm, tmp_path: Path) -> None:
        conversation(arpm.logs)
        arpm("stats", "--plot", str(tmp_path / "p.svg"), "--plot-lengths", str(tmp_path / "l.png"))
        assert (tmp_path / "p.svg").read_bytes().startswith(b"<?xml")
        assert (tmp_path / "l.png").read_bytes().startswith(b"\x89PNG")
        assert "a plot is a .png or an .svg" in arpm("stats", "--plot", str(tmp_path / "p.bmp"), code=1).stderr

    def test_wrong_use_is_told(self, arpm: Arpm) -> None:
        conversation(arpm.logs)
        assert "number of rounds" in arpm("stats", "--stage", "weekly", code=2).stderr
        assert "one of --csv" in arpm("stats", "--csv", "--json", code=2).stderr
        assert "there is no timeline 't-x'" in arpm("stats", "t-x", code=1).stderr
        assert "No model has replied" in arpm("--logs", str(arpm.folder), "stats").stderr

    def test_draws_instructions_kept(self, arpm: Arpm, tmp_path: Path) -> None:
        conversation(tmp_path / "logs")
        file = tmp_path / "kept.svg"
        arpm("--logs", str(tmp_path / "logs"), "stats", "--plot-adherence", str(file))
        assert "<svg" in file.read_text("utf-8")


def test_plots_bear_any_model_name(tmp_path: Path) -> None:
    """Bug class: a Chinese name or a dollar sign in a label is a warning or an error of the plotter."""
    names = ["模型", "a$b$c", "x" * 300, "plain"]
    observations = [one for name in names for one in _named(tmp_path / name[:1], name)]
    rows = summarised(observations, "all")
    assert len(rows) == 4
    figures = (protocol_shares(rows), analysis_lengths(rows), protocol_shares([]), rolling_adherence(observations))
    for number, figure in enumerate(figures):
        save(figure, tmp_path / f"{number}.png")


def test_the_curve_of_instructions_kept_looks_back_on_the_last_replies(tmp_path: Path) -> None:
    kept = [("kept",), ("broken", "kept"), ("unchecked",), (), ("broken",)]
    observations = [
        Observation("t", "s", round, "plain", instructions=verdicts) for round, verdicts in enumerate(kept, 1)
    ]
    observations.append(Observation("t", "s", 6, "other", instructions=("kept",)))
    observations.append(Observation("t", "s", 6, "other", replaced=True, instructions=("broken",)))
    plain, other = rolling_adherence(observations, last=2).axes[0].lines
    assert plain.get_xydata().tolist() == [[1, 1.0], [2, pytest.approx(2 / 3)], [5, pytest.approx(1 / 3)]]
    assert other.get_xydata().tolist() == [[6, 1.0]]


def test_of_many_curves_the_first_are_drawn() -> None:
    """Bug class: a legend of a hundred timelines fills the plot."""
    kept = [Observation(f"t{place}", "s", 1, "plain", instructions=("kept",)) for place in range(100)]
    assert len(adherence_curves(kept)) == 100
    assert len(rolling_adherence(kept).axes[0].lines) == MOST_CURVES


def _named(logs: Path, model: str) -> Any:
    backend = ScriptedBackend()
    backend.model = model
    with open_service(logs, backend) as service:
        service.turn(service.create_timeline("Lin", "Mei").id, "Hi.")
    return observed(read_timelines(logs)[0].events()).observations
