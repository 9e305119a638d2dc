"""Reading ledgers offline: everything that disagrees is told, at the right line, and nothing else ever is."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from arpm.audit import chain
from arpm.audit.chain import Chain, read_bytes, read_chain, read_folder
from arpm.errors import ArpmError, InputError, NotFoundError
from arpm.events import RECEIPT, Draft
from arpm.ledger import DamagedLedgerError, verify
from benchmarks import bit_flips
from benchmarks.bit_flips import Flipper, clean, first_difference, rearranged, turns
from tests.test_ledger import AT, feedback, open_ledger, rehashed, sample_bodies, sha256

ID = "t-0123456789ab"


def places(chain: Chain) -> list[tuple[int, str]]:
    return [(finding.line, finding.kind) for finding in chain.findings]


def changed(line: bytes, **members: Any) -> bytes:
    """A line as someone writes it who changes its envelope and computes the hash anew."""
    return rehashed({**json.loads(line), **members})


def with_body(line: bytes, body: Any) -> bytes:
    """A line as someone writes it who changes its body and computes both digests anew."""
    return changed(line, body=body, body_digest=sha256(rfc8785.dumps(body)))


@pytest.fixture(scope="module")
def fifty() -> list[bytes]:
    """A ledger of fifty turns in both languages, with feedback, and two turns erased."""
    return turns()


@pytest.fixture(scope="module")
def six(fifty: list[bytes]) -> list[bytes]:
    return fifty[:6]


@pytest.fixture(scope="module")
def flipper(fifty: list[bytes]) -> Flipper:
    return Flipper(fifty)


class TestEveryChangeIsFoundAndLocated:
    def test_twenty_thousand_flipped_bits(self, flipper: Flipper) -> None:
        """All bits: benchmarks/bit_flips.py."""
        flips = flipper.flip(random.Random(20).sample(range(flipper.bits), 20_000))
        assert (flips.found, flips.located, flips.missed) == (20_000, 20_000, ())

    def test_the_benchmark_reaches_its_bars_on_a_small_scale(self) -> None:
        result = bit_flips.run(quick=True)
        assert all(item["met"] for item in result["targets"]), result

    def test_every_bit_of_one_line(self, flipper: Flipper, fifty: list[bytes]) -> None:
        place = next(place for place, line in enumerate(fifty) if json.loads(line)["kind"] == "feedback")
        start = 8 * sum(map(len, fifty[:place]))
        flips = flipper.flip(range(start, start + 8 * len(fifty[place])))
        assert flips.tried == flips.located == 8 * len(fifty[place]) > 4000

    def test_deleted_swapped_duplicated_and_inserted_events(self, flipper: Flipper, fifty: list[bytes]) -> None:
        foreign = turns(5, seed=1)[1:]
        kinds = set()
        for kind, lines in rearranged(fifty, foreign):
            first = flipper.read(b"".join(lines)).first
            assert first is not None and first.line == first_difference(fifty, lines), kind
            kinds.add(kind)
        assert kinds == {"deleted", "swapped", "duplicated", "inserted"}

    def test_a_body_that_was_put_out_without_a_receipt(self, fifty: list[bytes]) -> None:
        """Erasing looks like that, but for the receipt."""
        lines = [*fifty[:20], changed(fifty[20], body=None), *fifty[21:]]
        assert places(read_bytes(b"".join(lines))) == [(21, "erasure")]

    def test_a_receipt_whose_body_is_gone_or_whose_word_was_not_kept(self, fifty: list[bytes]) -> None:
        *others, receipt = fifty
        assert json.loads(receipt)["kind"] == RECEIPT
        gone = read_bytes(b"".join([*others, changed(receipt, body=None)]))
        assert places(gone) == [(8, "erasure"), (9, "erasure"), (len(fifty), "erasure")]
        restored = [*others[:7], changed(others[5], seq=8, id="e-7", prev=json.loads(others[6])["hash"])]
        kept = read_bytes(b"".join([*restored, *others[8:], receipt]))
        assert (8, "erasure") in places(kept)

    def test_a_cut_after_an_erasure_shows_without_a_checkpoint(self, fifty: list[bytes]) -> None:
        """The receipt was cut off, so nothing says any more why the bodies are missing."""
        assert places(read_bytes(b"".join(fifty[:-1]))) == [(8, "erasure"), (9, "erasure")]


class TestReadingGoesOn:
    def test_one_damaged_line_is_one_finding(self, fifty: list[bytes]) -> None:
        lines = [*fifty[:4], fifty[4].replace(b'"seq":5', b'"seq":6'), *fifty[5:]]
        found = read_bytes(b"".join(lines))
        assert places(found) == [(5, "damaged")]
        assert found.first is not None
        assert (found.first.seq, found.first.event) == (5, "e-4")
        assert found.first.offset == sum(map(len, fifty[:4]))
        assert found.hashes[4] is None and None not in found.hashes[5:]
        assert found.tip.seq == len(fifty)

    def test_a_changed_body_does_not_shake_the_chain(self, fifty: list[bytes]) -> None:
        lines = [*fifty[:4], fifty[4].replace(b'"persona_digest"', b'"persona_Digest"'), *fifty[5:]]
        found = read_bytes(b"".join(lines))
        assert places(found) == [(5, "body")]
        assert None not in found.hashes

    def test_everything_after_the_first_is_told_too(self, fifty: list[bytes]) -> None:
        lines = [*fifty[:3], *fifty[4:10], b"{}\n", *fifty[10:20], fifty[21], fifty[20], *fifty[22:]]
        found = read_bytes(b"".join(lines))
        assert places(found) == [
            *[(4, "sequence"), (4, "link")],
            (10, "damaged"),
            (11, "sequence"),
            *[(21, "sequence"), (21, "link"), (22, "sequence"), (22, "link"), (23, "sequence"), (23, "link")],
        ]

    def test_an_event_rewritten_with_a_new_hash_breaks_the_next_link(self, fifty: list[bytes]) -> None:
        lines = [*fifty[:4], changed(fifty[4], session="s-other"), *fifty[5:]]
        assert places(read_bytes(b"".join(lines))) == [(6, "link")]

    def test_events_of_another_timeline(self, six: list[bytes]) -> None:
        foreign = changed(six[2], timeline="t-ffffffffffff")
        assert places(read_bytes(b"".join([*six[:2], foreign, *six[3:]])))[0] == (3, "timeline")
        assert places(read_bytes(b"".join(six), "t-ffffffffffff")) == [(1, "timeline")]

    def test_a_long_list_is_cut_and_counted(self) -> None:
        found = read_bytes(b"no event\n" * 250)
        assert (len(found.findings), found.more, found.damaged) == (100, 150, True)
        assert [finding.line for finding in found.findings] == list(range(1, 101))

    def test_what_comes_first_in_the_file_is_kept(self, tmp_path: Path, fifty: list[bytes]) -> None:
        """Erasures are only known at the end, and still come before what follows them."""
        lines = [line for line in fifty if json.loads(line)["kind"] != RECEIPT]
        lines = [*lines[:20], *lines[21:]]
        (tmp_path / "ledger.jsonl").write_bytes(b"".join(lines))
        found = read_chain(tmp_path / "ledger.jsonl", limit=2)
        assert (places(found), found.more) == ([(8, "erasure"), (9, "erasure")], 2)


class TestLinesByThemselves:
    @pytest.mark.parametrize(
        ("line", "kind", "text"),
        [
            (lambda line: with_body(line, {**json.loads(line)["body"], "mood": 1}), "schema", "'mood' was unexpected"),
            (lambda line: with_body(line, []), "schema", "its body does not follow"),
            (lambda line: changed(line, session=5), "schema", "its envelope does not follow its schema"),
            (lambda line: changed(line, at="2026-13-01T00:00:00+00:00"), "schema", "is no date and time"),
            (lambda line: changed(line, seq="2"), "schema", "its envelope does not follow its schema"),
            (lambda line: changed(line, kind="dream", schema="urn:arpm:schema:dream:1"), "unknown", "it is a 'dream'"),
            (lambda line: changed(line, schema="urn:arpm:schema:turn:9", more=1), "unknown", "urn:arpm:schema:turn:9"),
            (lambda line: changed(line, kind=["turn"]), "unknown", "does not know"),
            (lambda line: changed(line, kind={}, schema=None), "unknown", "does not know"),
            (lambda line: b"\n", "damaged", "it is not an event"),
            (lambda line: b"[1]\n", "damaged", "it is not an event"),
            (lambda line: b"{" * 100_000 + b"\n", "damaged", "it is not an event"),
            (lambda line: b'{"at":1,"body":' + b"[" * 100_000 + b',"body_digest":1}\n', "damaged", "its hash"),
            (lambda line: b'{"a":[],"body":null,"body_digest":NaN}\n', "damaged", "it is not JSON"),
            (lambda line: b"\xff\xfe" + line, "damaged", "it is not JSON"),
            (lambda line: line[:-1] + b"\r\n", "damaged", "canonical"),
        ],
    )
    def test_what_is_wrong(self, six: list[bytes], line: Callable[[bytes], bytes], kind: str, text: str) -> None:
        found = read_bytes(b"".join([six[0], line(six[1])]))
        assert found.first is not None
        assert (found.first.line, found.first.kind) == (2, kind)
        assert text in str(found.first)

    def test_the_links_of_newer_events_are_checked_all_the_same(self, six: list[bytes]) -> None:
        newer = changed(six[2], schema="urn:arpm:schema:turn:9")
        after = changed(six[3], prev=json.loads(newer)["hash"])
        found = read_bytes(b"".join([*six[:2], newer, after]))
        assert places(found) == [(3, "unknown")]
        assert len(found.good) == 3
        assert places(read_bytes(b"".join([*six[:2], newer, six[3]]))) == [(3, "unknown"), (4, "link")]

    def test_a_body_spelt_otherwise_with_digests_to_match(self, six: list[bytes]) -> None:
        event = json.loads(six[1])
        spaced = json.dumps(event["body"], ensure_ascii=False).encode()
        line = changed(six[1], body=None, body_digest=sha256(spaced)).replace(b'"body":null', b'"body":' + spaced)
        assert places(read_bytes(six[0] + line)) == [(2, "body")]


class TestAnyFile:
    @pytest.mark.parametrize(
        "data", [b"", b"\n", b"\0" * 10_000, b"\x89PNG\r\n\x1a\n\0\0", "茶".encode() * 99, b"\xff"]
    )
    def test_that_is_no_ledger(self, tmp_path: Path, data: bytes) -> None:
        path = tmp_path / "ledger.jsonl"
        path.write_bytes(data)
        found = read_chain(path)
        assert found.timeline is None and list(found.events()) == []
        assert bool(found.findings) == bool(data)

    def test_random_bytes_and_random_edits(self, six: list[bytes]) -> None:
        rng, data = random.Random(7), b"".join(six)
        for _ in range(300):
            changed = bytearray(data)
            for _ in range(rng.randrange(1, 9)):
                place = rng.randrange(len(changed))
                changed[place : place + rng.randrange(5)] = rng.randbytes(rng.randrange(5))
            if bytes(changed) != data:
                assert read_bytes(bytes(changed)).findings

    def test_a_torn_last_line(self, six: list[bytes]) -> None:
        data = b"".join(six)
        for size in (1, len(six[5]) // 2, len(six[5]) - 1):
            found = read_bytes(data[: len(data) - len(six[5]) + size])
            assert places(found) == [(6, "torn")]
            assert (found.torn_bytes, found.tip.seq, found.damaged) == (size, 5, False)

    def test_a_line_that_is_too_long_is_passed_over(
        self, tmp_path: Path, six: list[bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file without line feeds must not fill the memory."""
        monkeypatch.setattr(chain, "LONGEST_LINE", 20_000)
        monkeypatch.setattr(chain, "_PIECE", 1000)
        path = tmp_path / "ledger.jsonl"
        for filler, kind in ((b"x" * 50_000 + b"\n", "damaged"), (b"x" * 20_000 + b"\n", "damaged")):
            path.write_bytes(b"".join([*six[:2], filler, *six[3:]]))
            assert places(read_chain(path)) == [(3, kind)]
        for size in (50_000, 50_999, 51_000, 51_001, 20_001, 20_000):
            path.write_bytes(b"".join([*six[:2], b"x" * size]))
            found = read_chain(path)
            assert (places(found), found.torn_bytes) == ([(3, "torn")], size)

    def test_what_is_not_there_or_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(NotFoundError):
            read_chain(tmp_path / "missing")
        with pytest.raises(InputError, match="is not a file"):
            read_chain(tmp_path)
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InputError, match="is not a file"):
            read_chain(tmp_path / "pipe")


class TestNoFalseAlarms:
    def test_on_a_thousand_clean_ledgers(self) -> None:
        erased = 0
        for number in range(1000):
            found = read_bytes(b"".join(clean(number)))
            assert found.findings == (), number
            erased += found.erased
        assert erased > 100

    def test_on_every_kind_as_the_ledger_writes_it(self, tmp_path: Path) -> None:
        """With an erasure, and read while the ledger is open."""
        bodies = {kind: body for kind, body in sample_bodies().items() if kind != RECEIPT}
        with open_ledger(tmp_path) as ledger:
            written = [ledger.append(Draft(kind, body, "s-1", AT)) for kind, body in bodies.items()]
            erased = [written[1].id, written[3].id]
            ledger.erase(Draft(RECEIPT, {**sample_bodies()[RECEIPT], "events": erased}, None, AT), erased)
            found = read_chain(ledger.path, "t-1")
            assert (found.findings, found.tip, found.erased) == ((), ledger.tip, 2)
            assert list(found.events()) == list(ledger.events())


class TestGoodEvents:
    def test_are_read_around_the_damage(self, tmp_path: Path, fifty: list[bytes]) -> None:
        path = tmp_path / "ledger.jsonl"
        path.write_bytes(b"".join([*fifty[:3], b"{}\n", fifty[4], fifty[4], *fifty[5:], fifty[0][:50]]))
        assert [event.seq for event in read_chain(path).events()] == [1, 2, 3, *range(5, len(fifty) + 1)]

    def test_a_file_changed_meanwhile_is_said_to_be(self, tmp_path: Path) -> None:
        with open_ledger(tmp_path) as ledger:
            first = ledger.append_many([feedback("long " * 50), feedback()])[0]
            found = read_chain(ledger.path)
            ledger.erase(Draft(RECEIPT, {**sample_bodies()[RECEIPT], "events": [first.id]}, None, AT), [first.id])
            with pytest.raises(InputError, match="changed while it was being read"):
                list(found.events())


class TestFolders:
    def _logs(self, folder: Path, **ledgers: Sequence[bytes]) -> Path:
        for name, lines in ledgers.items():
            (folder / name.replace("_", "-")).mkdir(parents=True)
            (folder / name.replace("_", "-") / "ledger.jsonl").write_bytes(b"".join(lines))
        return folder

    def test_as_the_service_leaves_one(self, tmp_path: Path, fifty: list[bytes]) -> None:
        logs = self._logs(tmp_path, t_0123456789ab=fifty, knowledge=[])
        (logs / "cache").mkdir()
        (logs / ".lock").touch()
        (logs / ID / "ledger.torn-20260101T000000.000000Z").write_bytes(b"{")
        reports = read_folder(logs)
        assert [(report.name, report.findings) for report in reports] == [("knowledge", ()), (ID, ())]
        assert [report.name for report in read_folder(logs / ID)] == [ID]

    def test_two_files_that_claim_one_timeline(self, tmp_path: Path, fifty: list[bytes]) -> None:
        copy = [*fifty[:4], changed(fifty[4], session="s-other")]
        logs = self._logs(tmp_path, t_0123456789ab=fifty, t_0123456789ac=fifty[:10], other=copy)
        (logs / f"{ID} (1).jsonl").write_bytes(b"".join(fifty))
        (logs / "notes.jsonl").write_bytes(b'{"note": "no ledger"}\n')
        told = {report.name: [str(finding) for finding in report.remarks] for report in read_folder(logs)}
        assert set(told) == {ID, "t-0123456789ac", "other", f"{ID} (1).jsonl"}
        claims = " ".join(told[ID])
        assert "both hold the same events" in claims
        assert "the first 10 events are the same, and this one goes on" in claims
        assert "the first 4 events are the same, the next ones differ" in claims
        assert "its events belong to the timeline 't-0123456789ab'" in told["other"][0]

    def test_an_archive_unpacked_halfway(self, tmp_path: Path, fifty: list[bytes]) -> None:
        logs = self._logs(tmp_path, t_0123456789ab=fifty)
        (logs / "t-00000000000a").mkdir()
        (logs / "t-00000000000b" / "ledger.jsonl").mkdir(parents=True)
        (logs / ID / "ledger.rewrite").touch()
        told = {report.name: [finding.kind for finding in report.findings] for report in read_folder(logs)}
        assert told == {ID: ["leftover"], "t-00000000000a": ["missing"], "t-00000000000b": ["unreadable"]}

    def test_no_folder_and_an_empty_one(self, tmp_path: Path) -> None:
        assert read_folder(tmp_path) == []
        with pytest.raises(NotFoundError, match="there is no folder"):
            read_folder(tmp_path / "missing")

    def test_reading_changes_nothing(self, tmp_path: Path, fifty: list[bytes]) -> None:
        """Offline means offline: no lock, no repair, no cache; also on a folder that cannot be written."""
        logs = self._logs(tmp_path, t_0123456789ab=[*fifty[:5], b"{}\n", fifty[5][:9]])
        before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in logs.rglob("*")}
        read_folder(logs)
        assert {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in logs.rglob("*")} == before


def test_agrees_with_the_check_on_opening(tmp_path: Path, fifty: list[bytes]) -> None:
    """The service and the auditor name the same first wrong event."""
    path, rng = tmp_path / "ledger.jsonl", random.Random(3)
    for _, lines in random.Random(4).sample(list(rearranged(fifty[:12], turns(5, seed=1)[1:])), 60):
        data = bytearray(b"".join(lines))
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        first = read_chain(path).first
        assert first is not None
        try:
            verify(path)
        except DamagedLedgerError as error:
            if first.kind != "erasure":
                assert error.line == first.line
        except ArpmError:
            assert first.kind == "unknown"
