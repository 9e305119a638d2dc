"""The ledger when things go wrong: killed at any system call, a full or failing disk, cut, flipped and moved bytes.

The kills and the disk errors are real ones, injected by strace into a child process; every point is tried, none is
sampled. Without strace those tests are skipped and say so.
"""

from __future__ import annotations

import json
import os
import pkgutil
import random
import re
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from arpm.events import Draft
from arpm.ledger import DamagedLedgerError, Ledger, LedgerWriteError, verify
from tests.forks import Mother
from tests.test_ledger import feedback, open_ledger, rehashed, sha256


def append_some(folder: str, events: str) -> None:
    """What the child does: append events e-0 ... e-(n-1), saying of each on one write whether it was acknowledged."""
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    try:
        ledger = Ledger.open(Path(folder), "t-1", now=lambda: at)
    except LedgerWriteError as error:
        os.write(1, f"refused: {error}\n".encode())
        return
    for number in range(int(events)):
        try:
            ledger.append(Draft("feedback", {"round": 1, "rating": "up", "note": "好 good"}, None, at, f"e-{number}"))
            os.write(1, f"acknowledged e-{number}\n".encode())
        except LedgerWriteError as error:
            os.write(1, f"failed e-{number}: {error}\n".encode())


TORN = '{"at":"2026-01-02T03:04:05+00:00","body":{"note":"半'.encode()[:-1]


def _strace_problem() -> str | None:
    if shutil.which("strace") is None:
        return "strace is not installed: crashes and disk errors at each system call are not tried"
    probe = subprocess.run(["strace", "-qq", "-e", "trace=none", "true"], capture_output=True, text=True, check=False)
    return f"strace cannot trace here ({probe.stderr.strip()})" if probe.returncode else None


_PROBLEM = _strace_problem()
needs_strace = pytest.mark.skipif(_PROBLEM is not None, reason=_PROBLEM or "")


Traced = Callable[..., tuple[list[str], list[str]]]


@pytest.fixture(scope="module")
def traced() -> Iterator[Traced]:
    """Runs the child under strace with faults. Returns the lines it printed and the system calls it made."""
    with Mother(__name__) as mother:

        def run(folder: Path, events: int, *injections: str, only: Path | None = None) -> tuple[list[str], list[str]]:
            folder.parent.mkdir(exist_ok=True)
            log = folder.with_name("calls.txt")
            options = ["-o", str(log), "-e", "trace=write,fsync,ftruncate,rename"]
            options += [part for fault in injections for part in ("-e", f"inject={fault}")]
            options += ["-P", str(only)] if only else []
            done = mother.run("append_some", str(folder), str(events), trace=options)
            assert done.errors == ""
            assert done.status in (0, -signal.SIGKILL)
            calls = re.findall(r"^\d+ +(\w+)\(", log.read_text("utf-8", "replace"), re.MULTILINE)
            return done.output.splitlines(), calls

        yield run


def acknowledged(output: list[str]) -> list[str]:
    return [line.split()[1] for line in output if line.startswith("acknowledged")]


def ids(ledger: Ledger) -> list[str]:
    return [event.id for event in ledger.events()]


def torn_files(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.glob("ledger.torn-*"))]


def assert_whole_and_usable(folder: Path, kept: list[str]) -> None:
    """Every event of `kept` is there, the file holds whole events only, and the next append is kept."""
    with open_ledger(folder) as ledger:
        found = ids(ledger)
        assert [event for event in found if event in kept] == kept
        ledger.append(feedback(id="next"))
    assert verify(folder / "ledger.jsonl").torn_bytes == 0
    with open_ledger(folder) as ledger:
        assert ids(ledger) == [*found, "next"]


@needs_strace
class TestAKillAtAnySystemCall:
    def _every_point(
        self, traced: Traced, folder: Path, events: int, prepared: bytes = b""
    ) -> Iterator[tuple[Path, list[str]]]:
        """Run once whole to count its calls, then once for each call, killed there."""
        self._prepare(folder / "whole", prepared)
        output, calls = traced(folder / "whole" / "ledger", events)
        assert len(acknowledged(output)) == events
        for name in sorted(set(calls)):
            for number in range(1, calls.count(name) + 1):
                point = folder / f"{name}-{number}"
                self._prepare(point, prepared)
                output, made = traced(point / "ledger", events, f"{name}:signal=SIGKILL:when={number}")
                assert made.count(name) == number, "the kill came elsewhere"
                assert len(acknowledged(output)) < events or made[-1] == "write"
                yield point / "ledger", acknowledged(output)

    def _prepare(self, point: Path, content: bytes) -> None:
        (point / "ledger").mkdir(parents=True)
        if content:
            (point / "ledger" / "ledger.jsonl").write_bytes(content)

    def test_nothing_is_acknowledged_before_its_fsync(self, traced: Traced, tmp_path: Path) -> None:
        """No kill of the process can show a missing fsync (the kernel keeps its pages), only the order of calls can."""
        appended = ["write", "fsync", "write"]
        _, calls = traced(tmp_path / "new" / "ledger", 2)
        assert calls == ["fsync", "fsync", *appended, *appended]
        self._prepare(tmp_path / "torn", TORN)
        _, calls = traced(tmp_path / "torn" / "ledger", 1)
        assert calls == ["write", "fsync", "fsync", "ftruncate", "fsync", *appended]

    def test_of_an_append_to_a_new_ledger(self, traced: Traced, tmp_path: Path) -> None:
        """Acknowledged events survive; an event in the making is wholly there or wholly absent."""
        points = 0
        for folder, kept in self._every_point(traced, tmp_path, 2):
            points += 1
            assert_whole_and_usable(folder, kept)
            assert torn_files(folder) == []
        assert points >= 7

    def test_of_moving_a_torn_line_aside(self, traced: Traced, tmp_path: Path) -> None:
        """A crash during recovery: the torn bytes are always somewhere, in the ledger or in a torn file."""
        with open_ledger(tmp_path / "before") as ledger:
            ledger.append(feedback(id="old"))
        points = 0
        for folder, kept in self._every_point(traced, tmp_path, 1, ledger.path.read_bytes() + TORN):
            points += 1
            assert_whole_and_usable(folder, ["old", *kept])
            assert TORN in torn_files(folder)
        assert points >= 8


@needs_strace
class TestADiskThatFails:
    @pytest.mark.parametrize(("error", "told"), [("ENOSPC", "the disk is full"), ("EIO", "Input/output error")])
    @pytest.mark.parametrize("number", [1, 2, 3])
    def test_at_a_write(self, traced: Traced, tmp_path: Path, number: int, error: str, told: str) -> None:
        """A write error that was swallowed left a fragment that fused two records hours later."""
        folder = tmp_path / "ledger"
        output, _ = traced(folder, 3, f"write:error={error}:when={number}", only=folder / "ledger.jsonl")
        self._assert_only_one_failed(folder, output, number, told)

    @pytest.mark.parametrize("number", [1, 2, 3])
    def test_at_an_fsync(self, traced: Traced, tmp_path: Path, number: int) -> None:
        folder = tmp_path / "ledger"
        output, _ = traced(folder, 3, f"fsync:error=EIO:when={number}", only=folder / "ledger.jsonl")
        self._assert_only_one_failed(folder, output, number, "Input/output error")

    def test_at_an_fsync_and_at_undoing_the_write(self, traced: Traced, tmp_path: Path) -> None:
        """The whole line of an event that was reported as failed stays in the file: it must not come back to life."""
        folder = tmp_path / "ledger"
        faults = ("fsync:error=EIO:when=2", "ftruncate:error=EIO:when=1")
        output, _ = traced(folder, 3, *faults, only=folder / "ledger.jsonl")
        self._assert_only_one_failed(folder, output, 2, "Input/output error")
        assert [json.loads(torn)["id"] for torn in torn_files(folder)] == ["e-1"]

    def test_for_good(self, traced: Traced, tmp_path: Path) -> None:
        """As long as nothing can be synced nothing is acknowledged, and what was there stays."""
        folder = tmp_path / "ledger"
        output, _ = traced(folder, 3, "fsync:error=EIO:when=2+", only=folder / "ledger.jsonl")
        assert acknowledged(output) == ["e-0"]
        assert len([line for line in output if line.startswith("failed")]) == 2
        assert_whole_and_usable(folder, ["e-0"])

    @pytest.mark.parametrize(
        "fault", ["write:error=ENOSPC:when=1", "fsync:error=EIO:when=1", "ftruncate:error=EIO:when=1"]
    )
    def test_while_moving_a_torn_line_aside(self, traced: Traced, tmp_path: Path, fault: str) -> None:
        """Cutting the line off before its copy is safe would lose it."""
        folder = tmp_path / "ledger"
        with open_ledger(folder) as ledger:
            ledger.append(feedback(id="old"))
        ledger.path.write_bytes(before := ledger.path.read_bytes() + TORN)
        output, _ = traced(folder, 1, fault)
        assert len(output) == 1 and output[0].startswith(f"refused: {ledger.path} could not be repaired")
        assert "Everything in it is kept. " in output[0]
        assert ledger.path.read_bytes() == before
        assert_whole_and_usable(folder, ["old"])
        assert TORN in torn_files(folder)

    def _assert_only_one_failed(self, folder: Path, output: list[str], number: int, told: str) -> None:
        assert output[number - 1].startswith(
            f"failed e-{number - 1}: {folder}/ledger.jsonl could not be written: {told}"
        )
        assert "The new event is not kept, everything before it is. " in output[number - 1]
        others = [f"e-{other}" for other in range(3) if other != number - 1]
        assert acknowledged(output) == others
        with open_ledger(folder) as ledger:
            assert ids(ledger) == others
        assert_whole_and_usable(folder, others)


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """No file may grow beyond `size` bytes: a write across it is cut short, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class TestARunningLedger:
    @pytest.mark.parametrize("room", [0, 1, 200])
    def test_a_write_that_is_cut_short(self, tmp_path: Path, room: int) -> None:
        """`write` may return less than it was given; taking that for success fuses the next record to the fragment."""
        with open_ledger(tmp_path) as ledger:
            first = ledger.append(feedback())
            with file_size_limit(first.end + room), pytest.raises(LedgerWriteError, match="could not be written"):
                ledger.append(feedback("很长" * 500))
            assert ledger.path.stat().st_size == first.end == ledger.tip.size
            assert ledger.append(feedback()).seq == 2
        assert verify(ledger.path).tip.seq == 2
        assert torn_files(tmp_path) == []

    @pytest.mark.parametrize("place", ["arpm.ledger.os.fsync", "arpm.ledger._Index.add"])
    def test_an_interrupt_between_write_and_acknowledgement(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
    ) -> None:
        """Ctrl-C after the write: the event was not acknowledged, so the next append moves it aside."""
        original = pkgutil.resolve_name(place)

        def interrupted(*arguments: object) -> None:
            original(*arguments)
            raise KeyboardInterrupt

        with open_ledger(tmp_path) as ledger:
            ledger.append(feedback(id="a"))
            with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
                patch.setattr(place, interrupted)
                ledger.append(feedback(id="b"))
            ledger.append(feedback(id="c"))
            assert ids(ledger) == ["a", "c"]
            assert [json.loads(torn)["id"] for torn in torn_files(tmp_path)] == ["b"]
            assert ledger.read(2).id == "c"
            ledger.append(feedback(id="b"))

    @pytest.mark.parametrize("replaced", [True, False])
    def test_a_file_taken_away_underneath(self, tmp_path: Path, replaced: bool) -> None:
        """Writing on into a deleted file acknowledges turns that nobody can ever read."""
        with open_ledger(tmp_path) as ledger:
            ledger.append(feedback())
            ledger.path.rename(tmp_path / "moved")
            if replaced:
                shutil.copy(tmp_path / "moved", ledger.path)
            with pytest.raises(LedgerWriteError, match="was removed or replaced while it was in use"):
                ledger.append(feedback())

    def test_a_second_writer(self, tmp_path: Path) -> None:
        """Two writers each extend their own idea of the tip: a fork of the chain in one file."""
        with open_ledger(tmp_path) as ledger, open_ledger(tmp_path) as other:
            other.append(feedback())
            with pytest.raises(DamagedLedgerError, match="another program changed the file"):
                ledger.append(feedback())
        assert verify(ledger.path).tip.seq == 1


class TestATornLastLine:
    def test_cut_at_every_byte(self, tmp_path: Path) -> None:
        """All earlier records stay readable, the cut one is set aside byte for byte, the next append is kept."""
        with open_ledger(tmp_path / "whole") as ledger:
            ledger.append(feedback(id="a"))
            last = ledger.append(feedback("好", id="b"))
        data = ledger.path.read_bytes()
        for cut in range(last.offset, last.end):
            folder = tmp_path / str(cut)
            folder.mkdir()
            (folder / "ledger.jsonl").write_bytes(data[:cut])
            with open_ledger(folder) as cut_ledger:
                rest = data[last.offset : cut]
                assert ids(cut_ledger) == ["a"]
                assert torn_files(folder) == ([rest] if rest else [])
                assert (cut_ledger.torn is not None) == bool(rest)
                cut_ledger.append(feedback(id="next"))
            assert verify(folder / "ledger.jsonl").tip.seq == 2

    def test_a_whole_line_without_its_newline_does_not_count(self, tmp_path: Path) -> None:
        """The newline is the commit mark: without it the append never returned, and nobody was told it was saved."""
        with open_ledger(tmp_path) as ledger:
            ledger.append(feedback(id="a"))
            before = ledger.tip
            last = ledger.append(feedback(id="b"))
        ledger.path.write_bytes(ledger.path.read_bytes()[:-1])
        assert verify(ledger.path).torn_bytes == last.size - 1
        # Unless someone saved that it counted: then it is damage, and nothing is moved.
        with pytest.raises(DamagedLedgerError):
            open_ledger(tmp_path, checkpoint=ledger.tip)
        with open_ledger(tmp_path, checkpoint=before) as reopened:
            assert ids(reopened) == ["a"]
            assert reopened.torn is not None
            assert reopened.torn.name == "ledger.torn-20260301T013000.250000Z"

    def test_half_a_character(self, tmp_path: Path) -> None:
        """A reader that decodes the whole file fails on half a character, and every later append vanishes with it."""
        with open_ledger(tmp_path) as ledger:
            ledger.append(feedback(id="a"))
        ledger.path.write_bytes(ledger.path.read_bytes() + TORN)
        with open_ledger(tmp_path) as reopened:
            reopened.append(feedback(id="b"))
            assert ids(reopened) == ["a", "b"]
        assert torn_files(tmp_path) == [TORN]

    @pytest.mark.parametrize("rest", [b"\x00" * 4096, b"\xff", b"{", b" "])
    def test_what_a_crash_of_the_machine_can_leave(self, tmp_path: Path, rest: bytes) -> None:
        with open_ledger(tmp_path) as ledger:
            ledger.append(feedback(id="a"))
        for _ in range(2):
            with ledger.path.open("ab") as file:
                file.write(rest)
            with open_ledger(tmp_path) as reopened:
                assert ids(reopened) == ["a"]
        assert torn_files(tmp_path) == [rest, rest]

    def test_only_the_last_line_is_ever_moved(self, tmp_path: Path) -> None:
        """A broken line that is followed by anything is damage, and the file stays as it is."""
        with open_ledger(tmp_path) as ledger:
            ledger.append_many([feedback(), feedback()])
        good = ledger.path.read_bytes()
        for damaged in (good + TORN + b"\n", good[:300] + b"\n" + good[300:], good + b"\n", TORN + good):
            ledger.path.write_bytes(damaged)
            with pytest.raises(DamagedLedgerError):
                open_ledger(tmp_path)
            assert ledger.path.read_bytes() == damaged
        assert torn_files(tmp_path) == []


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The lines of a ledger of six events, in both languages."""
    with open_ledger(tmp_path_factory.mktemp("six")) as ledger:
        ledger.append_many([feedback(note) for note in ("很好", "good", None, 'a \\ "b"', "\U0001f600", "\n{}")])
    return ledger.path.read_bytes().splitlines(keepends=True)


class TestChangedBytes:
    def test_every_flipped_bit_is_found_and_located(self, tmp_path: Path, six: list[bytes]) -> None:
        """Every bit of the third event, and 3,000 bits of the others drawn with a fixed seed."""
        path, data = tmp_path / "ledger.jsonl", b"".join(six)
        ends = [len(b"".join(six[: count + 1])) for count in range(6)]
        bits = list(range(ends[1] * 8, ends[2] * 8)) + random.Random(6).sample(range(len(data) * 8), 3000)
        path.write_bytes(data)
        with path.open("r+b", buffering=0) as file:
            for bit in bits:
                place, changed = bit // 8, data[bit // 8] ^ 1 << bit % 8
                os.pwrite(file.fileno(), bytes([changed]), place)
                seq = next(number for number, end in enumerate(ends, 1) if place < end)
                assert self._located(path, six) == seq, (bit, changed)
                os.pwrite(file.fileno(), data[place : place + 1], place)

    def _located(self, path: Path, six: list[bytes]) -> int:
        """The event that the check names; 0 for none."""
        try:
            found = verify(path)
        except DamagedLedgerError as error:
            assert f"event {error.seq}" in str(error)
            return error.seq
        # A change of the last newline looks like a crash: the whole line is reported as torn.
        return 6 if (found.tip.seq, found.torn_bytes) == (5, len(six[5])) else 0

    @pytest.mark.parametrize(
        ("change", "seq"),
        [
            ([1, 3, 4, 5, 6], 2),
            ([2, 3, 4, 5, 6], 1),
            ([1, 2, 3, 4, 6], 5),
            ([1, 3, 2, 4, 5, 6], 2),
            ([6, 5, 4, 3, 2, 1], 1),
            ([1, 2, 3, 4, 6, 5], 5),
            ([1, 1, 2, 3, 4, 5, 6], 2),
            ([1, 2, 3, 4, 5, 6, 6], 7),
            ([1, 2, 3, 1, 4, 5, 6], 4),
        ],
    )
    def test_deleted_swapped_and_duplicated_events(
        self, tmp_path: Path, six: list[bytes], change: list[int], seq: int
    ) -> None:
        (tmp_path / "ledger.jsonl").write_bytes(b"".join(six[number - 1] for number in change))
        for check in (lambda: verify(tmp_path / "ledger.jsonl"), lambda: open_ledger(tmp_path)):
            with pytest.raises(DamagedLedgerError) as caught:
                check()
            assert caught.value.seq == seq
            assert caught.value.event_id == json.loads(six[change[seq - 1] - 1])["id"]

    def test_an_event_of_another_ledger(self, tmp_path: Path, six: list[bytes]) -> None:
        """A line that is right in itself, at the right place, but of another chain."""
        with open_ledger(tmp_path) as ledger:
            ledger.append_many([feedback() for _ in range(6)])
        foreign = ledger.path.read_bytes().splitlines(keepends=True)
        for place in range(1, 6):
            ledger.path.write_bytes(b"".join([*six[:place], foreign[place], *six[place + 1 :]]))
            with pytest.raises(DamagedLedgerError, match="its prev is not the hash of event") as caught:
                verify(ledger.path)
            assert caught.value.seq == place + 1

    def test_a_gap_in_the_numbers(self, tmp_path: Path, six: list[bytes]) -> None:
        """Someone who can compute hashes skips a number, so that an event seems to be missing that never was."""
        skipping = rehashed({**json.loads(six[1]), "seq": 3})
        (tmp_path / "ledger.jsonl").write_bytes(six[0] + skipping)
        with pytest.raises(DamagedLedgerError, match="its seq is 3 where 2 is due"):
            verify(tmp_path / "ledger.jsonl")

    def test_an_event_written_twice_with_a_new_place(self, tmp_path: Path) -> None:
        """Someone who can compute hashes appends a copy under a new seq: the id gives it away."""
        with open_ledger(tmp_path) as ledger:
            first = ledger.append(feedback(id="e-1"))
        copy = {**json.loads(ledger.path.read_bytes()), "seq": 2, "prev": first.hash}
        ledger.path.write_bytes(ledger.path.read_bytes() + rehashed(copy))
        for check in (lambda: verify(ledger.path), lambda: open_ledger(tmp_path)):
            with pytest.raises(DamagedLedgerError, match="its id belongs to an earlier event"):
                check()

    def test_other_spellings_of_the_same_json(self, tmp_path: Path, six: list[bytes]) -> None:
        """White space, order, escapes and repeated keys do not change what a parser sees, but they change bytes."""
        path, event = tmp_path / "ledger.jsonl", json.loads(six[0])
        spellings = [
            json.dumps(event, ensure_ascii=False).encode(),
            json.dumps(dict(reversed(event.items())), ensure_ascii=False, separators=(",", ":")).encode(),
            six[0][:-1].replace("很".encode(), b"\\u5f88"),
            six[0][:-1].replace(b'"kind":"feedback"', b'"kind":"other","kind":"feedback"'),
            six[0][:-1] + b"\r",
            b"\xef\xbb\xbf" + six[0][:-1],
        ]
        for spelling in spellings:
            path.write_bytes(spelling + b"\n" + b"".join(six[1:]))
            with pytest.raises(DamagedLedgerError) as caught:
                verify(path)
            assert caught.value.seq == 1

    def test_a_body_that_only_one_reader_would_accept(self, tmp_path: Path, six: list[bytes]) -> None:
        """A body that is not canonical, with digests to match: readers that re-encode it would find other digests."""
        event = json.loads(six[0])
        spaced = json.dumps(event["body"], ensure_ascii=False).encode()
        line = rehashed({**event, "body": None, "body_digest": sha256(spaced)})
        (tmp_path / "ledger.jsonl").write_bytes(line.replace(b'"body":null', b'"body":' + spaced))
        with pytest.raises(DamagedLedgerError, match="its body is not in canonical form"):
            verify(tmp_path / "ledger.jsonl")

    def test_no_false_alarms(self, tmp_path: Path) -> None:
        """200 clean ledgers of random texts, checked, reopened whole and from a random place."""
        rng = random.Random(200)
        alphabet = 'aé中\U0001f600"\\\n\u2028\x00,{}:[]0'
        for number in range(200):
            folder = tmp_path / str(number)
            with open_ledger(folder) as ledger:
                places = [ledger.tip]
                for _ in range(rng.randrange(5)):
                    ledger.append(feedback("".join(rng.choices(alphabet, k=rng.randrange(30)))))
                    places.append(ledger.tip)
            assert verify(ledger.path, "t-1", places[-1]).torn_bytes == 0
            for checkpoint in (None, rng.choice(places)):
                with open_ledger(folder, checkpoint=checkpoint) as reopened:
                    assert reopened.tip == places[-1]
                    assert reopened.torn is None
