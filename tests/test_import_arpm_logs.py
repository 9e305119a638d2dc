"""The logs of the published ARPM become a timeline: nothing lost, nothing doubled, nothing polluted.

The fixtures are of our own writing, in the shapes of the published files: rounds that begin again within one session,
a regenerated reply, analyses with their tags, recalled items that quote earlier rounds, an error and leaked tags stored
as replies.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arpm.errors import InputError
from arpm.importers.arpm_logs import ArpmLogs, LogFile, read_arpm_logs
from arpm.importers.atoms import Atom, write_atoms
from arpm.importers.recalled import Shown, holds_copy_of, read_context, written
from arpm.importers.stage_table import Stage, read_stages
from arpm.importers.suspect import suspect
from arpm.service import Service
from tests.cli.conftest import Arpm, arpm, model_server, timeline
from tests.support import open_service

__all__ = ["arpm", "model_server", "timeline"]

LOGS = Path(__file__).parent / "fixtures" / "arpm_logs"
SESSION = "session-1700000000000-0a1b2c3d"


def log(name: str) -> LogFile:
    return LogFile(name, (LOGS / name).read_bytes())


def fixtures(**options: Any) -> ArpmLogs:
    stages = read_stages("stages.csv", (LOGS / "stages.csv").read_bytes())
    return read_arpm_logs(log("dialogue.log"), log("recall.log"), log("analysis.log"), stages, **options)


def lines(*rows: object) -> LogFile:
    data = [row if isinstance(row, bytes) else json.dumps(row, ensure_ascii=False).encode() for row in rows]
    return LogFile("d.log", b"\n".join(data))


def said(round: int = 1, reply: str = "Hello", **more: Any) -> dict[str, Any]:
    return {
        "logged_at": f"2026-02-03T20:{round:02d}:09",
        "event": "dialog_turn",
        "session_id": "s",
        "round": round,
        "physical_time": f"2026-02-03T20:{round:02d}:09",
        "user_name": "Lin",
        "character_name": "Mei",
        "user_input": f"Question {round}",
        "assistant_reply": reply,
        **more,
    }


def published(atom: Atom) -> dict[str, Any]:
    assert atom.published is not None
    return dict(atom.published)


class TestRounds:
    def test_all_rounds_arrive_in_their_order_with_local_times(self) -> None:
        (talk,) = fixtures().talks
        assert (talk.user, talk.character) == ("阿澄", "白露")
        assert [published(atom)["round"] for atom in talk.atoms] == [1, 2, 3, 1, 2, 3]
        assert talk.atoms[0].at is not None
        assert talk.atoms[0].at.isoformat() == "2026-02-03T20:00:09+08:00"
        assert fixtures().skipped == ()

    def test_another_timezone_can_be_named(self) -> None:
        at = fixtures(timezone="UTC").talks[0].atoms[0].at
        assert at is not None
        assert at.isoformat() == "2026-02-03T20:00:09+00:00"
        with pytest.raises(InputError, match="no timezone"):
            fixtures(timezone="Mars")

    def test_numbers_that_begin_again_in_one_session_are_other_rounds(self) -> None:
        """Trap: the published run has rounds 1 to 20 ten times in one session, once for each model."""
        atoms = fixtures().talks[0].atoms
        assert atoms[0].message == atoms[3].message == "晚上好"
        assert len({atom.source for atom in atoms}) == 6

    def test_a_regenerated_reply_takes_the_place_of_the_earlier_one_which_is_kept(self) -> None:
        atom = fixtures().talks[0].atoms[2]
        assert atom.reply.startswith("手册没有写")
        (earlier,) = published(atom)["replaced"]
        assert (earlier["reply"], earlier["analysis"]) == ("三年左右。", "<analysis>手册没有写年限。</analysis>")
        assert published(atom)["analysis"] == "<analysis>没有证据，应当说明。</analysis>"
        assert published(atom)["regeneration"]["attempts"] == 1
        assert len(earlier["recalled"]) == 2
        assert len(published(atom)["recalled"]) == 1

    def test_a_regeneration_without_its_turn_is_a_round(self) -> None:
        (talk,) = read_arpm_logs(lines(said(event="dialog_regenerate"))).talks
        assert [atom.reply for atom in talk.atoms] == ["Hello"]

    def test_models_come_from_the_stage_table_by_place_in_the_log(self) -> None:
        models = [published(atom)["model"] for atom in fixtures().talks[0].atoms]
        assert models == ["Model One"] * 3 + ["模型二"] * 3

    def test_each_pair_is_a_talk_of_its_own(self) -> None:
        found = read_arpm_logs(lines(said(1), said(2, user_name="Ana"), said(3, user_name=None), said(4)))
        assert [(talk.user, len(talk.atoms)) for talk in found.talks] == [("Lin", 2), ("Ana", 1), ("User", 1)]
        named = read_arpm_logs(lines(said(user_name=None, character_name="")), names=("Zoe", "Bot"))
        assert (named.talks[0].user, named.talks[0].character) == ("Zoe", "Bot")


class TestWhatIsMissing:
    def test_is_null_and_listed(self) -> None:
        (talk,) = read_arpm_logs(log("dialogue.log")).talks
        what = published(talk.atoms[0])
        for name in ("model", "analysis", "protocol", "regeneration", "recalled"):
            assert what[name] is None
            assert name in what["missing"]
        assert {"candidates", "scores", "prompt", "config", "sampling"} <= set(what["missing"])

    def test_an_analysis_that_is_empty_is_not_missing(self) -> None:
        what = published(fixtures().talks[0].atoms[3])
        assert what["analysis"] == ""
        assert "analysis" not in what["missing"]

    def test_a_round_without_number_session_or_time_is_kept(self) -> None:
        row = said(round=1) | {"round": "one", "session_id": None, "physical_time": "soon", "logged_at": None}
        (atom,) = read_arpm_logs(lines(row)).talks[0].atoms
        assert atom.at is None
        assert {"round", "session", "at", "logged_at"} <= set(published(atom)["missing"])


class TestRecalled:
    def test_a_quote_of_an_earlier_round_is_a_reference(self) -> None:
        """Erasing the round then reaches the quote: nothing of its words is copied."""
        atoms = fixtures().talks[0].atoms
        quote = published(atoms[1])["recalled"][1]
        assert (quote["text"], quote["memory"]) == (None, atoms[0].source)
        again = written("阿澄", "白露", atoms[0].message, atoms[0].reply, Shown(**quote["shown"]))
        context = json.loads((LOGS / "recall.log").read_text("utf-8").splitlines()[1])["context"]
        assert again in context

    def test_a_quote_that_was_cut_short_comes_out_as_it_was(self) -> None:
        earlier = published(fixtures().talks[0].atoms[2])["replaced"][0]
        assert earlier["recalled"][1]["shown"] == {"message": 8, "reply": 12}

    def test_a_quote_of_a_reply_that_was_replaced_keeps_its_words_and_says_whose_they_are(self) -> None:
        atoms = fixtures().talks[0].atoms
        what = published(atoms[3])
        assert "三年左右" in what["recalled"][1]["text"]
        assert holds_copy_of(what, {atoms[2].source})
        assert not holds_copy_of(what, {atoms[0].source})

    def test_documents_are_kept_word_for_word(self) -> None:
        item = published(fixtures().talks[0].atoms[0])["recalled"][0]
        assert item["source"] == "种茶手册.txt"
        assert item["text"] == "茶树喜欢酸性土壤，雨后三天再施肥。..."

    @pytest.mark.parametrize("context", ["", "nothing", "[1] [source_type=x|source=y] z", "[1] [source_type=" * 5000])
    def test_a_block_of_another_form_is_kept_as_it_is(self, context: str) -> None:
        assert read_context(context) == ((), context.strip())

    def test_text_of_several_lines_belongs_to_its_item(self) -> None:
        block = (
            "=== recalled_context_chronological ===\n"
            "[1] [source_type=knowledge|source=a]b.txt|round_num=x|physical_time=t|formatted_time=f] one\n\ntwo\n"
            "[2] [source_type=knowledge|source=c|round_num=2|physical_time=|formatted_time=] three"
        )
        items, rest = read_context(block)
        assert [(item.source, item.round, item.text) for item in items] == [
            ("a]b.txt", None, "one\n\ntwo"),
            ("c", 2, "three"),
        ]
        assert rest == ""


class TestBadLines:
    @pytest.mark.parametrize(
        ("row", "reason"),
        [
            (b"{", "is not JSON"),
            (b"[" * 100_000, "is not JSON"),
            (b"\xff\xfe", "is not UTF-8"),
            ([1], "is not a JSON object"),
            (said(event="other"), "its event is 'other'"),
            (said(user_input="", assistant_reply=" "), "has neither"),
            (said(user_input=7), "'user_input' is no text"),
            (said(assistant_reply="x" * 100_001), "100,001 characters; the limit is 100,000"),
            (said(1), "is line 1 over again"),
        ],
    )
    def test_are_named_with_file_and_line_and_stop_nothing(self, row: object, reason: str) -> None:
        found = read_arpm_logs(lines(said(1), row, b"", said(3)))
        assert len(found.talks[0].atoms) == 2
        (skipped,) = found.skipped
        assert skipped.place == "d.log, line 2"
        assert reason in skipped.reason

    def test_a_log_of_nothing_else_is_an_error(self) -> None:
        with pytest.raises(InputError, match=r"d\.log has no line that can be imported \(d\.log, line 1: is not JSON"):
            read_arpm_logs(lines(b"{"))

    def test_what_no_round_was_found_for_is_named(self) -> None:
        stray = {"event": "cot_analysis", "session_id": "s", "round": 9, "analysis": "x"}
        recall = {"event": "recall_context_injected", "current_round": 1, "user_input": "Another", "context": ""}
        found = read_arpm_logs(
            lines(said(1)), LogFile("r.log", json.dumps(recall).encode()), LogFile("a.log", json.dumps(stray).encode())
        )
        assert [item.place for item in found.skipped] == ["a.log, line 1", "r.log, line 1"]

    def test_what_a_ledger_cannot_hold_is_made_plain(self, tmp_path: Path) -> None:
        """NaN, huge numbers, half characters and bottomless nesting in protocol_info must not refuse the import."""
        deep: Any = "end"
        for _ in range(150):
            deep = [deep]
        raw = json.dumps(
            {
                "event": "cot_analysis",
                "session_id": "s",
                "round": 1,
                "analysis": "a\ud800",
                "protocol_info": {"n": float("nan"), "big": 10**30, "deep": deep},
            }
        )
        found = read_arpm_logs(lines(said(1)), None, LogFile("a.log", raw.encode()))
        with open_service(tmp_path / "logs") as service:
            timeline = service.create_timeline("Lin", "Mei")
            assert write_atoms(timeline, "d.log", found.talks[0].atoms).imported == 1
            body = next(event.body for event in timeline.events() if event.kind == "imported")
        assert body is not None
        assert body["published"]["protocol"]["n"] is None
        assert body["published"]["protocol"]["big"] == str(10**30)


class TestStageTable:
    def test_takes_the_published_layout_too(self) -> None:
        table = "\ufeff阶段,模型,索引范围,样本数\nS1,甲,1–20,20\nS2,乙,21–40,20\n"
        assert read_stages("s.csv", table.encode()).stages == (Stage(1, 20, "甲"), Stage(21, 40, "乙"))

    @pytest.mark.parametrize(
        ("text", "fault"),
        [
            ("first_round,last_round,model\n", "names no range"),
            ("first_round,last_round,model\n1,3,a\n3,4,b\n", "overlap"),
            ("first_round,last_round,model\n1,3,a\n9,4,b\n", "line 3"),
            ("first_round,last_round,model\n0,4,b\n", "line 2"),
            ("first_round,last_round,model\n1,4,\n", "line 2"),
            ("a,b\n1,2,3\n", "line 2"),
        ],
    )
    def test_faults_are_named(self, text: str, fault: str) -> None:
        with pytest.raises(InputError, match=fault):
            read_stages("s.csv", text.encode())


class TestSuspects:
    @pytest.mark.parametrize(
        ("reply", "kind"),
        [
            ("抱歉，上一条输出未形成可见回复，请重新生成。", "error"),
            ("Error: Connection refused", "error"),
            ("[API错误] status code: 502", "error"),
            ("请求超时", "error"),
            ("", "empty"),
            ("<analysis>>\n他问的是茶树。\n</>\n\n<response>\n你种了茶树。", "tags"),
            ("好的。</", "tags"),
            ('<response"我理解你的意思"</response>', "tags"),
            ("我记得。\nresponse> 是晚上。", "tags"),
            ("最后再说一次。" + "</ai\n>\n" * 60, "loop"),
        ],
    )
    def test_errors_and_leaked_tags_are_found(self, reply: str, kind: str) -> None:
        """Traps 1 and 2: both were stored as replies in the published run and recalled later."""
        found = suspect(reply)
        assert found is not None
        assert found.kind == kind

    @pytest.mark.parametrize(
        "reply",
        [
            "晚上好，柒君。",
            "那次请求失败以后，我们改用了更小的批次，结果就好多了。",
            "An error in the recipe: it takes two eggs, not three.",
            "错误往往比正确更有意思，你觉得呢？",
            "Use a `<section>` and close it:\n```html\n<response></response>\n```",
            "a < b and b > c, so the analysis holds.",
            "抱歉，我没有记住那天的日期。",
        ],
    )
    def test_prose_is_left_alone(self, reply: str) -> None:
        assert suspect(reply) is None


class TestOnATimeline:
    def imported(self, service: Service) -> Any:
        timeline = service.create_timeline("阿澄", "白露", timezone="Asia/Shanghai")
        report = write_atoms(timeline, "dialogue.log", fixtures().talks[0].atoms)
        assert (report.imported, report.present, report.skipped) == (6, 0, ())
        return timeline

    def test_suspects_are_in_the_ledger_and_in_quarantine(self, tmp_path: Path) -> None:
        with open_service(tmp_path / "logs") as service:
            timeline = self.imported(service)
            rows = service.catalogue.memory_rows(timeline.id)
            assert {row.memory.round: row.state for row in rows} == {
                **dict.fromkeys((1, 2, 3, 6), "active"),
                **dict.fromkeys((4, 5), "quarantined"),
            }
            searched = {atom.round for atom in timeline.index.atoms()}
            assert searched == {1, 2, 3, 6}
            assert {row.model for row in rows} == {"Model One", "模型二"}

    def test_quotes_name_memories_by_id(self, tmp_path: Path) -> None:
        with open_service(tmp_path / "logs") as service:
            timeline = self.imported(service)
            bodies = [event.body for event in timeline.events() if event.kind == "imported"]
            assert bodies[1]["published"]["recalled"][1]["memory"] == bodies[0]["memory"]
            assert bodies[2]["published"]["replaced"][0]["recalled"][1]["memory"] == bodies[1]["memory"]

    def test_a_second_run_changes_nothing_and_brings_nothing_back_that_was_released(self, tmp_path: Path) -> None:
        with open_service(tmp_path / "logs") as service:
            timeline = self.imported(service)
            row = next(row for row in service.catalogue.memory_rows(timeline.id) if row.memory.round == 5)
            timeline.release([row.memory.memory], "it is fine")
            before = len(list(timeline.events()))
            report = write_atoms(timeline, "dialogue.log", fixtures().talks[0].atoms)
            assert (report.imported, report.present) == (0, 6)
            assert len(list(timeline.events())) == before
            assert row.memory.memory in timeline.index

    def test_a_log_that_has_grown_goes_on_where_it_stopped(self, tmp_path: Path) -> None:
        data = (LOGS / "dialogue.log").read_bytes().splitlines(keepends=True)
        with open_service(tmp_path / "logs") as service:
            timeline = service.create_timeline("阿澄", "白露")
            first = read_arpm_logs(LogFile("dialogue.log", b"".join(data[:5])))
            assert write_atoms(timeline, "dialogue.log", first.talks[0].atoms).imported == 4
            assert write_atoms(timeline, "new.log", fixtures().talks[0].atoms).imported == 2

    def test_a_round_that_was_cut_off_before_its_quarantine_gets_it_with_the_next_run(self, tmp_path: Path) -> None:
        from dataclasses import replace

        atoms = fixtures().talks[0].atoms
        sound = [replace(atom, published={**published(atom), "suspect": None}) for atom in atoms]
        with open_service(tmp_path / "logs") as service:
            timeline = service.create_timeline("阿澄", "白露")
            write_atoms(timeline, "dialogue.log", sound)
            assert len(timeline.index.atoms()) == 6
            write_atoms(timeline, "dialogue.log", atoms)
            assert {atom.round for atom in timeline.index.atoms()} == {1, 2, 3, 6}

    def test_it_can_be_talked_on_and_replayed(self, tmp_path: Path) -> None:
        with open_service(tmp_path / "logs") as service:
            timeline = self.imported(service)
            event = service.turn(timeline.id, "我种了什么？")
            assert event.body is not None
            assert event.body["round"] == 7


class TestCommandLine:
    def run(self, arpm: Arpm, *more: str) -> Any:
        options = [
            word for name in ("dialogue", "recall", "analysis") for word in (f"--{name}", str(LOGS / f"{name}.log"))
        ]
        return arpm("import", "arpm-logs", *options, "--stages", str(LOGS / "stages.csv"), *more)

    def test_makes_a_timeline_once(self, arpm: Arpm) -> None:
        assert "6 imported" in self.run(arpm).stdout
        again = self.run(arpm)
        assert "0 imported, 6 there from before" in again.stdout
        assert "In quarantine: 2" in again.stderr
        (row,) = arpm.json("timelines")
        assert (row["user"], row["character"], row["timezone"], row["rounds"]) == ("阿澄", "白露", "Asia/Shanghai", 6)

    def test_joins_a_timeline_that_is_named(self, arpm: Arpm, timeline: str) -> None:
        self.run(arpm, "--timeline", timeline)
        assert arpm.json("timelines")[0]["rounds"] == 8

    def test_bad_files_are_told_before_anything_is_written(self, arpm: Arpm, tmp_path: Path) -> None:
        empty = tmp_path / "empty.log"
        empty.write_text("")
        assert "no line that can be imported" in arpm("import", "arpm-logs", "--dialogue", str(empty), code=1).stderr
        assert "cannot be read" in arpm("import", "arpm-logs", "--dialogue", "nowhere", code=1).stderr
        assert not arpm.logs.exists()
