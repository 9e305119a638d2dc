"""Reviews as ledger events: what may be written, that nothing is rewritten, and what is read from a folder alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from arpm.audit.gold import Automatic, Gold
from arpm.audit.review_csv import read_reviews
from arpm.audit.reviews import (
    Folder,
    Opinion,
    Running,
    agreements,
    automatic_of,
    in_prompt,
    quoted,
    report_of,
    reviewed,
    standing,
    turn_named,
    write_review,
)
from arpm.catalogue import TurnRow
from arpm.cli import main
from arpm.erasure import erase, of_memories, reach
from arpm.errors import ArpmError, InputError, NotFoundError
from arpm.events import Draft
from arpm.generation.base import GenerationError
from arpm.service import Service
from tests.support import ScriptedBackend, open_service, reply

DOCUMENT = "# 茶馆\n\n茶馆开于1998年，在青岛。\n\nThe tea house opened in 1998.\n"
YES = Opinion("Ada", "yes", "yes", "The document says so.", "opened in … 1998", "E1")


class House:
    """A timeline with a question answered from a document, one from what was said, one in vain, and a failed turn."""

    def __init__(self, logs: Path) -> None:
        down = GenerationError("unreachable", "down")
        self.logs = logs
        self.backend = ScriptedBackend(
            [reply("It opened in 1998.", "E1", "knowledge"), reply("In 2001, =perhaps.", "E1"), reply("不知道。"), down]
        )
        self.service = open_service(logs, self.backend)
        self.document = self.service.ingest("house.md", DOCUMENT.encode()).id
        self.timeline = self.service.create_timeline("Lin", "Mei", preset_name="default").id
        for message in ("When did the tea house open?", "=When did the tea house open, again?", "月亮上有茶馆吗？"):
            self.service.turn(self.timeline, message)
        with pytest.raises(ArpmError):
            self.service.turn(self.timeline, "Are you there?")

    def turn(self, round: int = 1) -> TurnRow:
        return turn_named(self.service.catalogue, f"{self.timeline}:{round}")

    def lines(self) -> list[bytes]:
        return (self.logs / self.timeline / "ledger.jsonl").read_bytes().splitlines()

    def review(self, round: int = 1, **changes: Any) -> str:
        return write_review(self.service, self.turn(round), replace(YES, **changes)).event


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "logs")
    with house.service:
        yield house


class TestWriting:
    def test_a_review_is_an_event_that_names_turn_and_evidence(self, house: House) -> None:
        before = house.lines()
        row = write_review(house.service, house.turn(), YES)
        lines = house.lines()
        assert lines[:-1] == before
        event = json.loads(lines[-1])
        assert (event["kind"], event["id"], event["session"]) == ("review", row.event, house.turn().session)
        body = {name: value for name, value in event["body"].items() if name != "salt"}
        assert body == {
            "event": house.turn().event,
            "reviewer": "Ada",
            "support": "yes",
            "correct": "yes",
            "quote": "opened in … 1998",
            "memory": house.service.catalogue.shown_in(house.turn().event)[0][1],
            "reason": "The document says so.",
            "pending": False,
            "automatic": None,
            "supersedes": None,
        }

    def test_an_edit_appends_and_supersedes_the_same_persons_review_only(self, house: House) -> None:
        first = house.review()
        other = house.review(reviewer="陈", correct="no")
        line = house.lines()[-2]
        second = house.review(correct="unsure", reason="The year may be wrong.")
        rows = house.service.catalogue.reviews(house.timeline)
        assert [(row.event, row.supersedes) for row in rows] == [(first, None), (other, None), (second, first)]
        assert [row.event for row in standing(rows)] == [other, second]
        assert [row.event for row in standing(rows, "Ada")] == [second]
        assert rows[-1].pending, "what somebody is unsure of is pending"
        assert house.lines()[-3:-1] == [line, house.lines()[-2]]

    def test_two_tabs_of_one_person_make_one_chain(self, house: House) -> None:
        """Bug class: both look for the earlier review before either is written, and one is superseded by nobody."""
        turn = house.turn()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda n: write_review(house.service, turn, replace(YES, reason=f"{n}")), range(16)))
        rows = house.service.catalogue.reviews(house.timeline)
        assert [row.supersedes for row in rows] == [None, *(row.event for row in rows[:-1])]

    def test_a_review_that_runs_beside_a_turn_waits_for_nobody(self, house: House) -> None:
        with house.service.timeline(house.timeline).exclusive():
            assert house.review()

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"reviewer": "  "}, "reviewer's name"),
            ({"reviewer": "x" * 201}, "reviewer's name"),
            ({"support": "maybe"}, "support is 'maybe'; it must be yes, no, unsure"),
            ({"correct": ""}, "correct is ''"),
            ({"reason": " \n"}, "needs a reason"),
            ({"reason": "x" * 20_001}, "the limit is 20,000"),
            ({"quote": None}, "belong together"),
            ({"memory": None}, "belong together"),
            ({"quote": None, "memory": None}, "Support needs proof"),
            ({"memory": "m-0123456789ab"}, "was not in the prompt"),
            ({"memory": "E9"}, "was not in the prompt"),
            ({"quote": "opened in 1999"}, "does not say what is quoted"),
            ({"quote": "……"}, "does not say what is quoted"),
        ],
    )
    def test_what_is_refused_writes_nothing(self, house: House, changes: dict[str, Any], reason: str) -> None:
        before = house.lines()
        with pytest.raises(InputError, match=reason):
            house.review(**changes)
        assert house.lines() == before

    def test_without_support_nothing_need_be_quoted(self, house: House) -> None:
        house.review(3, support="no", quote=None, memory=None, reason="没有证据。")

    def test_only_answers_are_reviewed(self, house: House) -> None:
        with pytest.raises(InputError, match="failed"):
            house.turn(4)
        for reference in ("t-0123456789ab:1", f"{house.timeline}:9", "nonsense", f"{house.timeline}:x"):
            with pytest.raises(NotFoundError):
                turn_named(house.service.catalogue, reference)

    def test_what_stood_in_the_window_was_in_the_prompt(self, house: House) -> None:
        """An answer may rest on the round before, which is shown as it was and not as evidence."""
        source, third = Running(house.service), house.turn(3)
        assert source.facts(third).window == (1, 2)
        first = house.service.catalogue.memory_of_turn(house.turn(1).event)
        assert first in in_prompt(source, third)
        house.review(3, quote="It opened in 1998.", memory=first)

    @pytest.mark.parametrize(
        ("quote", "said"),
        [
            ("茶馆开于 1998 年", True),
            ("…茶馆开于...在青岛。", True),
            ("opened\nin 1998", True),
            ("在青岛……茶馆开于", False),
            ("青岛开于", False),
            ("", False),
        ],
    )
    def test_quotes(self, quote: str, said: bool) -> None:
        assert quoted(quote, DOCUMENT) is said


class TestAutomaticJudgement:
    @pytest.mark.parametrize("name", ["document", "name", "memory"])
    def test_gold_evidence_by_any_name_it_has(self, house: House, name: str) -> None:
        memory = house.service.catalogue.shown_in(house.turn().event)[0][1]
        gold = {"document": house.document, "name": "house.md", "memory": memory}[name]
        golds = [Gold("When did the tea house open?", (frozenset({gold}),), ("1998",))]
        source = Running(house.service)
        assert automatic_of(source, house.turn(), golds) == Automatic(True, True, True)
        assert automatic_of(source, house.turn(2), golds) is None

    def test_the_report_counts_it_and_the_corrections(self, house: House) -> None:
        golds = [
            Gold("When did the tea house open?", (frozenset({"other.md"}),), ()),
            Gold("=When did the tea house open, again?", (frozenset({"house.md"}),), ()),
            Gold("月亮上有茶馆吗？", (), ("没有",)),
        ]
        house.review(1)
        house.review(2, correct="no")
        house.review(3, support="no", correct="no", quote=None, memory=None)
        found = report_of(Running(house.service), house.timeline, "Ada", golds)
        assert (found.rounds, found.automatic_correct, found.manual_correct) == (3, 1, 1)
        assert (found.zero_to_one, found.one_to_zero) == ((1,), (2,))

    def test_what_a_review_recorded_comes_before_what_is_judged_now(self, house: House) -> None:
        house.review(1, automatic=Automatic(True, None, True))
        golds = [Gold("When did the tea house open?", (frozenset({"other.md"}),), ())]
        assert report_of(Running(house.service), house.timeline, "Ada", golds).automatic_accuracy == 1.0


class TestReadingAFolder:
    def test_a_copy_without_lock_and_cache_says_what_the_service_says(self, house: House, tmp_path: Path) -> None:
        house.review(1)
        house.review(2, reviewer="陈", support="no", correct="no", quote=None, memory=None)
        for name in ("knowledge", house.timeline):
            shutil.copytree(house.logs / name, tmp_path / "copy" / name)
        for folder in (Folder(tmp_path / "copy"), Folder(house.logs, [house.timeline])):
            assert folder.catalogue.reviews(house.timeline) == house.service.catalogue.reviews(house.timeline)
            assert report_of(folder, house.timeline, "Ada") == report_of(Running(house.service), house.timeline, "Ada")
            assert folder.facts(house.turn(2)) == Running(house.service).facts(house.turn(2))
        assert sorted(path.name for path in (tmp_path / "copy" / house.timeline).iterdir()) == ["ledger.jsonl"]

    def test_a_damaged_ledger_is_named_and_the_others_are_read(self, house: House, tmp_path: Path) -> None:
        house.review(1)
        shutil.copytree(house.logs, copy := tmp_path / "copy", ignore=shutil.ignore_patterns(".lock*", "cache"))
        bad = copy / "t-0123456789ab"
        bad.mkdir()
        (bad / "ledger.jsonl").write_bytes(b"{}\n")
        folder = Folder(copy)
        assert len(folder.damaged) == 1
        assert "damaged" in folder.damaged[0]
        assert len(folder.catalogue.reviews(house.timeline)) == 1
        with pytest.raises(ArpmError, match="damaged"):
            Folder(copy, ["t-0123456789ab"])
        with pytest.raises(NotFoundError):
            Folder(copy, ["t-abababababab"])

    def test_a_rebuilt_catalogue_has_them_again(self, house: House) -> None:
        house.review(1)
        rows = house.service.catalogue.reviews(house.timeline)
        assert house.service.rebuild() == []
        assert house.service.catalogue.reviews(house.timeline) == rows

    def test_reviews_of_replaced_replies_do_not_count(self, house: House) -> None:
        house.review(3, support="no", correct="no", quote=None, memory=None)
        house.backend.script = [reply("没有。")]
        service = house.service
        with pytest.raises(ArpmError):
            # The round that failed is the newest; only a reply that holds can be answered again.
            service.turn(house.timeline, "月亮上有茶馆吗？", replaces="nothing")
        last = service.turn(house.timeline, "星星上呢？")
        write_review(service, turn_named(service.catalogue, last.id), Opinion("Ada", "no", "yes", "Right by luck."))
        again = service.turn(house.timeline, "星星上呢？", replaces=last.id)
        rounds = [turn.round for turn, _ in reviewed(service.catalogue, house.timeline, "Ada")]
        assert rounds == [3]
        write_review(service, turn_named(service.catalogue, again.id), Opinion("Ada", "no", "yes", "Right by luck."))
        assert len(reviewed(service.catalogue, house.timeline, "Ada")) == 2

    def test_a_quote_goes_with_the_words_it_quotes(self, house: House) -> None:
        """Bug class: what was erased is still there, in the words of somebody who judged it."""
        catalogue = house.service.catalogue
        memory = catalogue.memory_of_turn(house.turn(1).event)
        assert memory is not None
        quoting = house.review(3, quote="It opened in 1998.", memory=memory)
        judging = house.review(1)
        other = house.review(2, support="no", quote=None, memory=None)
        what = of_memories(catalogue, [memory])
        erase(house.service, what, reach(house.service, what).confirm)
        assert [row.event for row in catalogue.reviews(house.timeline)] == [other]
        bodies = {event["id"]: event["body"] for event in map(json.loads, house.lines())}
        assert bodies[quoting] is None and bodies[judging] is None
        assert [row.event for row in Folder(house.logs).catalogue.reviews(house.timeline)] == [other]
        assert report_of(Running(house.service), house.timeline, "Ada").rounds == 1


def test_agreement_of_the_reviewers_of_a_timeline(house: House) -> None:
    unsupported: dict[str, Any] = {"support": "no", "quote": None, "memory": None}
    for reviewer, second in (("Ada", "yes"), ("陈", "no"), ("Bo", "yes")):
        house.review(1, reviewer=reviewer)
        house.review(2, reviewer=reviewer, correct=second)
        house.review(3, reviewer=reviewer, correct="no", **unsupported)
    found = agreements(house.service.catalogue, house.timeline)
    assert found["support"].raters == ("Ada", "Bo", "陈")
    assert found["support"].fleiss_kappa == pytest.approx(1.0)
    assert [pair.kappa for pair in found["correct"].pairs] == pytest.approx([1.0, 0.4, 0.4])


class Terminal:
    """`arpm` on the house's folder, once the service let it go."""

    def __init__(self, house: House, folder: Path) -> None:
        house.service.close()
        self.house, self.folder = house, folder
        (folder / "arpm.toml").write_text(f'logs = "{house.logs}"\nembedder = "hashing"\n', "utf-8")

    def __call__(self, *arguments: str, code: int = 0) -> Result:
        env = {"ARPM_CONFIG": str(self.folder / "arpm.toml")}
        result = CliRunner(env=env).invoke(main, ["review", *arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code).stdout)


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(House(tmp_path / "logs"), tmp_path)


ADD = ("--reviewer", "Ada", "--reason", "The document says so.", "--correct", "yes")


class TestTheCommandLine:
    def test_from_a_review_to_a_report(self, terminal: Terminal, tmp_path: Path) -> None:
        timeline = terminal.house.timeline
        assert len(terminal.json("list", timeline, "--open")) == 3
        gold = tmp_path / "gold.jsonl"
        gold.write_text('{"question": "When did the tea house open?", "evidence": ["other.md"]}\n', "utf-8")
        proof = ("--support", "yes", "--memory", "E1", "--quote", "opened in 1998")
        added = terminal.json("add", f"{timeline}:1", *ADD, *proof, "--gold", str(gold))
        assert added["automatic"] == {"support": False, "answer": None, "correct": False}
        assert "Recorded" in terminal("add", f"{timeline}:2", *ADD, "--support", "no").stdout
        again = terminal("add", f"{timeline}:2", *ADD, "--support", "unsure").stdout
        assert "in the place of" in again
        assert [row["support"] for row in terminal.json("list", timeline)] == ["yes", "unsure"]
        assert [row["support"] for row in terminal.json("list", "--history")] == ["yes", "no", "unsure"]
        assert "The document says so." in terminal("list", timeline).stdout
        assert terminal.json("list", timeline, "--reviewer", "Bo") == []
        assert [row["round"] for row in terminal.json("list", timeline, "--open")] == [3]
        (report,) = terminal.json("report", timeline)
        assert (report["name"], report["rounds"], report["judged"]) == ("Ada", 2, 1)
        assert (report["zero_to_one"], report["pending"]) == ([1], [2])
        text = terminal("report", timeline, "--curve", "--plot", str(tmp_path / "a.svg")).stdout
        assert "after review (14, 15)  50.0 %  (1 of 2)" in text
        assert (tmp_path / "a.svg").stat().st_size > 5000

    def test_an_export_comes_back_as_the_same_reviews(self, terminal: Terminal, tmp_path: Path) -> None:
        timeline, file = terminal.house.timeline, tmp_path / "out.csv"
        proof = ("--support", "yes", "--memory", "E1", "--quote", "opened in 1998")
        gold = tmp_path / "gold.jsonl"
        gold.write_text('{"question": "When did the tea house open?", "answers": ["1998"]}\n', "utf-8")
        terminal("add", f"{timeline}:1", *ADD, *proof, "--gold", str(gold))
        terminal("add", f"{timeline}:2", *ADD, "--support", "unsure", "--pending")
        terminal("export", timeline, str(file), "--scores", "--ratio", "1:0")
        rows = read_reviews("out", file.read_bytes()).rows
        assert [(row.round, row.support, row.auto_correct, row.ratio) for row in rows] == [
            (1, "yes", True, "1:0"),
            (2, "unsure", None, "1:0"),
        ]
        assert rows[0].score is not None and rows[0].memory == rows[0].top == rows[0].shown[0]
        assert "'=When did" in file.read_text("utf-8-sig")
        assert terminal("export", timeline, "-").stdout_bytes.startswith(b"\xef\xbb\xbfsnr_ratio")
        take = ("import", str(file), "--timeline", timeline, "--reviewer")
        assert terminal.json(*take, "Ada") == {"recorded": 0, "present": 2, "refused": []}
        assert terminal.json(*take, "Bo") == {"recorded": 2, "present": 0, "refused": []}
        assert terminal.json(*take, "Bo")["present"] == 2
        terminal("export", timeline, str(file), code=1)
        assert terminal.json("agreement", timeline)["support"]["pairs"][0]["observed"] == 1.0
        assert "Cohen's kappa" in terminal("agreement", timeline).stdout

    def test_rows_that_fit_no_turn_are_named_and_the_others_recorded(self, terminal: Terminal, tmp_path: Path) -> None:
        timeline, file = terminal.house.timeline, tmp_path / "out.csv"
        for round in (1, 2, 3):
            terminal("add", f"{timeline}:{round}", *ADD, "--support", "no")
        terminal("export", timeline, str(file))
        text = file.read_text("utf-8").replace("It opened in 1998.", "It opened in 1999.")
        file.write_text(text.replace(",3,月亮", ",8,月亮") + "1,2\n", "utf-8")
        result = terminal("import", str(file), "--timeline", timeline, "--reviewer", "Bo", code=1)
        assert "1 recorded, 0 there from before, 3 refused." in result.stdout
        for words in ("line 2: Round 1 of", "line 4: Round 8 has no reply", "line 5: left out, has 2 cells"):
            assert words in result.stderr

    def test_files_alone(self, terminal: Terminal, tmp_path: Path) -> None:
        small = Path(__file__).parents[1] / "fixtures" / "review_small.csv"
        (report,) = terminal.json("report", str(small))
        assert (report["automatic_accuracy"], report["manual_accuracy"]) == (0.4, 0.6)
        other = tmp_path / "other.csv"
        other.write_bytes(small.read_bytes().replace(",是,否,0,p5".encode(), ",是,是,1,p5".encode()))
        found = terminal.json("agreement", str(small), str(other), code=1)
        assert found["support"]["pairs"][0]["kappa"] == 1.0
        assert found["correct"]["pairs"][0]["table"] == [[4, 1, 0], [0, 0, 0], [0, 0, 0]]
        assert "CorrectedRollingAccuracy is 0.5 and follows as 0.75" in terminal("report", str(other), code=1).stderr

    @pytest.mark.parametrize(
        ("words", "code", "complaint"),
        [
            (("report", "t-0123456789ab"), 1, "there is no timeline"),
            (("report", "missing.csv"), 1, "cannot be read"),
            (("report", "{timeline}"), 1, "Nobody reviewed"),
            (("export", "{timeline}", "x.csv"), 1, "Nobody reviewed"),
            (("agreement", "{timeline}"), 1, "agreement needs two"),
            (("agreement", "a.csv"), 2, "at least two"),
            (("report", "a.csv", "--reviewer", "Ada"), 2, "for timelines"),
            (("report", "{timeline}", "--plot", "a.pdf"), 1, "a plot is"),
            (("add", "{timeline}:4", *ADD, "--support", "no"), 1, "failed"),
            (("add", "{timeline}:1", *ADD, "--support", "yes"), 1, "Support needs proof"),
            (("add", "{timeline}:1", *ADD, "--support", "perhaps"), 2, "Invalid value"),
            (("import", "{csv}", "--timeline", "t-0123456789ab", "--reviewer", "x"), 1, "there is no timeline"),
        ],
    )
    def test_what_is_used_wrongly_is_explained(
        self, terminal: Terminal, words: tuple[str, ...], code: int, complaint: str
    ) -> None:
        small = str(Path(__file__).parents[1] / "fixtures" / "review_small.csv")
        given = [word.format(timeline=terminal.house.timeline, csv=small) for word in words]
        assert complaint in terminal(*given, code=code).stderr

    def test_reading_goes_on_beside_a_running_service(self, terminal: Terminal) -> None:
        """Only writing needs the folder's lock."""
        terminal("add", f"{terminal.house.timeline}:1", *ADD, "--support", "no")
        with open_service(terminal.house.logs):
            assert len(terminal.json("list")) == 1
            assert len(terminal.json("report", terminal.house.timeline)) == 1
            busy = terminal("add", f"{terminal.house.timeline}:1", *ADD, "--support", "no", code=1)
            assert "uses the folder" in busy.stderr


def test_a_timeline_is_told_only_what_it_knows(house: House) -> None:
    """A body that the schema does not allow is never written, whoever calls."""
    service: Service = house.service
    with pytest.raises(InputError):
        service.timeline(house.timeline).review(house.turn(), {"reviewer": "Ada"})
    assert Draft("review", {}, None, service.clock.now()).kind == "review"
