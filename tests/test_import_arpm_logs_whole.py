"""Whole runs of the published ARPM imported, whatever is wrong with the lines, and everything then done with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arpm.errors import InputError
from arpm.importers.arpm_logs import ArpmLogs, LogFile, read_arpm_logs
from arpm.importers.atoms import Atom, write_atoms
from arpm.importers.stage_table import read_stages
from tests.arpm_log_maker import SESSION, Logs, made
from tests.cli.conftest import Arpm, arpm, model_server
from tests.patience import lines_run
from tests.support import open_service
from tests.test_erasure import holding

__all__ = ["arpm", "model_server"]

SMALL = made((4, 3, 3))
WHOLE = made()


def read(logs: Logs, **other: bytes) -> ArpmLogs:
    """Read a run; `other` stands in the place of some of its files."""
    files = {name: other.get(name, getattr(logs, name)) for name in ("dialogue", "recall", "analysis")}
    stages = read_stages("stages.csv", logs.stages)
    return read_arpm_logs(*(LogFile(f"{name}.log", data) for name, data in files.items()), stages)


def atoms_of(found: ArpmLogs) -> list[Atom]:
    return [atom for talk in found.talks for atom in talk.atoms]


def assert_missing_is_marked(atom: Atom) -> None:
    """Null is missing, and missing is null."""
    published = atom.published
    assert published is not None
    missing = set(published["missing"])
    for name in ("round", "session", "model", "logged_at", "analysis", "protocol", "regeneration", "recalled"):
        assert (published[name] is None) == (name in missing), name
    assert (atom.at is None) == ("at" in missing)
    assert {"candidates", "scores", "prompt", "config", "sampling"} <= missing


class TestWholeRuns:
    def test_all_rounds_of_ten_stages_arrive(self) -> None:
        found = read(WHOLE)
        (talk,) = found.talks
        assert (WHOLE.events, len(talk.atoms), found.skipped) == (172, 170, ())
        models = [dict(atom.published or {})["model"] for atom in talk.atoms]
        assert [models.count(f"Model {stage}") for stage in range(10)] == [20, 20, 20, 20, 20, 20, 15, 5, 20, 10]
        assert sum(atom.doubt is not None for atom in talk.atoms) == WHOLE.suspects > 4
        for atom in talk.atoms:
            assert_missing_is_marked(atom)
        published = [dict(atom.published or {}) for atom in talk.atoms]
        assert [len(one["replaced"]) for one in published].count(1) == 2
        assert [one["number"] for one in published if one["analysis"] is None] == [143]
        recalls = [said["recalled"] for one in published for said in (one, *one["replaced"])]
        assert recalls.count(None) == 2
        quoted = [item for items in recalls for item in items or () if item["source_type"] == "chat_history"]
        assert len(quoted) > 600 and all(item["memory"] for item in quoted)
        # Words of a round are copied only where its reply was replaced since: all others are references.
        assert all(item["text"] is None for item in quoted)

    @pytest.mark.parametrize("left", [("recall",), ("analysis",), ("recall", "analysis")])
    def test_without_some_of_the_logs(self, left: tuple[str, ...]) -> None:
        names = [name for name in ("recall", "analysis") if name not in left]
        files = {name: LogFile(name, getattr(WHOLE, name)) for name in names}
        found = read_arpm_logs(LogFile("d", WHOLE.dialogue), files.get("recall"), files.get("analysis"))
        assert len(atoms_of(found)) == WHOLE.rounds
        for atom in atoms_of(found):
            assert_missing_is_marked(atom)
            assert "model" in (atom.published or {})["missing"]
            assert ("recall" in left) <= ("recalled" in (atom.published or {})["missing"])
            assert ("analysis" in left) <= ("protocol" in (atom.published or {})["missing"])

    def test_stages_with_the_published_labels(self) -> None:
        """The published table has a byte order mark, an en dash in its ranges and columns of its own."""
        table = "\ufeff阶段,模型,索引范围,样本数,平均分析长度\nS1,甲,1–100,100,166.6\nS2,乙,101–170,70,12\n"
        stages = read_stages("s.csv", table.encode())
        found = read_arpm_logs(LogFile("d", WHOLE.dialogue), stages=stages)
        models = [(atom.published or {})["model"] for atom in atoms_of(found)]
        assert (models.count("甲"), models.count("乙")) == (100, 70)


class TestChunkExport:
    def test_its_rounds_arrive_and_pieces_of_documents_are_named(self) -> None:
        found = read_arpm_logs(LogFile("chunks.json", WHOLE.chunks), stages=read_stages("s", WHOLE.stages))
        assert len(atoms_of(found)) == WHOLE.rounds
        (skipped,) = found.skipped
        assert skipped.place == "chunks.json, item 4" and "arpm ingest" in skipped.reason
        first = atoms_of(found)[0]
        assert first.session == SESSION and first.at is not None
        assert (first.published or {})["event"] == "chunk"
        for atom in atoms_of(found):
            assert_missing_is_marked(atom)
            assert {"round", "logged_at", "analysis", "recalled"} <= set((atom.published or {})["missing"])

    def test_suspects_are_doubted_here_too(self) -> None:
        found = read_arpm_logs(LogFile("chunks.json", WHOLE.chunks))
        assert sum(atom.doubt is not None for atom in atoms_of(found)) == WHOLE.suspects

    @pytest.mark.parametrize(
        ("data", "fault"),
        [
            (b"[", "is no JSON array"),
            (b"[" * 100_000, "is no JSON array"),
            (b"[\xff]", "is no JSON array"),
            (b"[]", "no line that can be imported"),
            (b"[1, null, []]", "item 1: is not a JSON object"),
            (b'[{"user_input": "", "assistant_reply": null}]', "has neither"),
            (b'[{"user_input": 7}]', "'user_input' is no text"),
        ],
    )
    def test_bad_ones_are_told(self, data: bytes, fault: str) -> None:
        with pytest.raises(InputError, match=fault):
            read_arpm_logs(LogFile("chunks.json", data))

    def test_it_becomes_a_timeline(self, tmp_path: Path) -> None:
        found = read_arpm_logs(LogFile("chunks.json", SMALL.chunks))
        with open_service(tmp_path / "logs") as service:
            timeline = service.create_timeline("阿澄", "白露")
            assert write_atoms(timeline, "chunks.json", found.talks[0].atoms).imported == SMALL.rounds


# -- damage -----------------------------------------------------------------------------------------------------------

JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True)
    | st.text(max_size=12)
    | st.sampled_from(
        ["0001-01-01T00:00", "9999-12-31T23:59:59", "2026-02-30", "dialog_regenerate", "一", "\ud800", "1e400"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = sorted({key for row in SMALL.dialogue.splitlines() for key in json.loads(row)} | {"analysis", "context"})


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """A log of which some lines lost members, hold other values, were cut, torn, doubled or moved."""
    lines = data.split(b"\n")
    for _ in range(draw(st.integers(0, 5))):
        place = draw(st.integers(0, len(lines) - 1))
        line = lines[place]
        match draw(st.integers(0, 6)):
            case 0:
                lines[place] = line[: draw(st.integers(0, len(line)))]
            case 1:
                at = draw(st.integers(0, len(line)))
                lines[place] = line[:at] + draw(st.binary(max_size=4)) + line[at:]
            case 2:
                lines.insert(place, line)
            case 3:
                lines.append(lines.pop(place))
            case 4:
                lines[place] = json.dumps(draw(JUNK)).encode()
            case _:
                try:
                    row = json.loads(line)
                    key = draw(st.sampled_from([*row, *KEYS]))
                    row.pop(key, None)
                    if draw(st.booleans()):
                        row[key] = draw(JUNK)
                    lines[place] = json.dumps(row).encode()
                except (ValueError, TypeError, AttributeError):
                    lines[place] = b""
    return b"\n".join(lines)


class Run:
    """The logs of a run, damaged. Too long to be shown: the blob that hypothesis prints makes it again."""

    def __init__(self, dialogue: bytes, recall: bytes, analysis: bytes) -> None:
        self.dialogue, self.recall, self.analysis = dialogue, recall, analysis

    def __repr__(self) -> str:
        return f"<{len(self.dialogue) + len(self.recall) + len(self.analysis)} bytes>"

    def read(self) -> ArpmLogs:
        return read(SMALL, dialogue=self.dialogue, recall=self.recall, analysis=self.analysis)


@st.composite
def damaged_runs(draw: st.DrawFn) -> Run:
    return Run(draw(damaged(SMALL.dialogue)), draw(damaged(SMALL.recall)), draw(damaged(SMALL.analysis)))


RUNS = damaged_runs()


class TestDamage:
    @settings(max_examples=400, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
    @given(RUNS)
    def test_gives_rounds_with_what_is_missing_marked_or_a_clear_error(self, run: Run) -> None:
        try:
            found = run.read()
        except InputError as error:
            assert "no line that can be imported" in str(error) or "is no JSON array" in str(error)
            return
        assert all(item.place.split(", ")[1].startswith(("line ", "item ")) and item.reason for item in found.skipped)
        atoms = atoms_of(found)
        assert len({atom.source for atom in atoms}) == len(atoms)
        for atom in atoms:
            assert_missing_is_marked(atom)

    @settings(max_examples=60, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck))
    @given(run=RUNS)
    def test_whatever_is_read_can_be_written_and_read_again(
        self, tmp_path_factory: pytest.TempPathFactory, run: Run
    ) -> None:
        try:
            found = run.read()
        except InputError:
            return
        with open_service(tmp_path_factory.mktemp("damage") / "logs") as service:
            for talk in found.talks:
                timeline = service.create_timeline(talk.user, talk.character, timezone="Asia/Shanghai")
                assert write_atoms(timeline, "d.log", talk.atoms).imported == len(talk.atoms)
                # Its times can be weighed, told and shown.
                assert service.turn(timeline.id, "茶园北坡第2排种的是什么？").body is not None
            service.rebuild()

    @settings(max_examples=200, deadline=None)
    @given(st.binary(max_size=400) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
    def test_any_bytes_at_all(self, data: bytes) -> None:
        for name in ("dialogue", "recall", "analysis"):
            try:
                read(SMALL, **{name: data})
            except InputError as error:
                assert name == "dialogue" and f"{name}.log" in str(error)


# -- afterwards -------------------------------------------------------------------------------------------------------


class TestTheSameAuditRunsOnIt:
    def imported(self, arpm: Arpm, logs: Logs) -> str:
        """The timeline of a run that was imported by the command."""
        options = []
        for name in ("dialogue", "recall", "analysis", "stages"):
            path = arpm.folder / f"{name}.log"
            path.write_bytes(getattr(logs, name))
            options += [f"--{name}", str(path)]
        done = arpm.json("import", "arpm-logs", *options)
        assert (done["imported"], done["skipped"]) == (logs.rounds, [])
        return str(done["timelines"][0]["timeline"])

    def test_every_round_takes_the_same_work(self, tmp_path: Path) -> None:
        """Ten stages in one session: seconds, not minutes."""

        def write(logs: Logs, folder: Path) -> None:
            with open_service(folder) as service:
                timeline = service.create_timeline("阿澄", "白露")
                assert write_atoms(timeline, "d.log", read(logs).talks[0].atoms).imported == logs.rounds

        forty = made((20, 20))
        some = lines_run(lambda: write(forty, tmp_path / "some"))
        whole = lines_run(lambda: write(WHOLE, tmp_path / "whole"))
        assert whole / WHOLE.rounds < 1.5 * some / forty.rounds

    def test_a_whole_run_by_every_command(self, arpm: Arpm, tmp_path: Path) -> None:
        timeline = self.imported(arpm, WHOLE)
        arpm("verify")
        assert arpm.json("timelines")[0]["rounds"] == WHOLE.rounds
        assert len(arpm.json("quarantine", timeline)) >= WHOLE.suspects
        rows = arpm.json("stats", timeline)["rows"]
        assert {row["model"] for row in rows} == {f"Model {stage}" for stage in range(10)}
        arpm("replay", "--depth", "arithmetic")
        arpm("replay")
        arpm("review", "list", timeline)
        for format in ("jsonl", "csv", "inspect", "croissant"):
            out = tmp_path / format
            arpm("export", format, "--out", str(out), "--timeline", timeline)
            assert len(list(out.iterdir())) > 1
        arpm("chat", timeline, "茶园北坡第30排种的是什么？")
        arpm("verify")

    def test_a_round_is_erased_with_the_replies_that_repeat_it(self, arpm: Arpm) -> None:
        timeline = self.imported(arpm, SMALL)
        found = arpm.json("erase", f"{timeline}:1", "--dry-run")["reach"]
        events = [json.loads(line) for line in arpm.ledger(timeline).splitlines()]
        words = next(event["body"]["message"] for event in events if event["kind"] == "imported")
        assert found["events"] == 1
        done = arpm.json("erase", f"{timeline}:1", "--with-replies", "all", "--yes")
        assert done["receipt"]["events"] and holding(arpm.logs, words) == []
        arpm("verify")
        # What was erased does not come back.
        data = arpm.folder / "dialogue.log"
        again = arpm.json("import", "arpm-logs", "--dialogue", str(data))
        assert (again["imported"], holding(arpm.logs, words)) == (0, [])

    def test_the_whole_of_it_is_erased(self, arpm: Arpm) -> None:
        timeline = self.imported(arpm, SMALL)
        arpm("erase", "--timeline", timeline, "--yes")
        assert holding(arpm.logs, "茶园", "box", "阿澄", "茶树") == []
