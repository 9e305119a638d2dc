"""What the importers make of a file, and that writing atoms neither loses nor doubles any."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from arpm.errors import BusyError, InputError
from arpm.importers.atoms import BATCH, Atom, write_atoms
from arpm.importers.locomo import read_locomo
from arpm.importers.messages import Messages, read_messages
from arpm.service import Service
from tests.support import open_service


def messages(*lines: object) -> Messages:
    texts = [line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode() for line in lines]
    return read_messages("m.jsonl", b"\n".join(texts), "Lin", "阿梅")


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "text": text, **more}


def reply(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "text": text, **more}


def locomo(**conversation: Any) -> bytes:
    return json.dumps(
        [{"sample_id": "c", "conversation": {"speaker_a": "A", "speaker_b": "B", **conversation}}]
    ).encode()


AT = "1:56 pm on 8 May, 2023"


class TestMessagesPairUp:
    def test_a_message_and_its_reply_are_one_atom(self) -> None:
        (atom,) = messages(
            user("Hi", id="a", time="2024-02-03T04:05:06Z", session="x"), reply("Hello", session="x")
        ).atoms
        assert atom == Atom("a", "x", datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC), "Hi", "Hello")

    def test_messages_without_counterpart_leave_a_side_empty(self) -> None:
        atoms = messages(reply("Welcome"), user("一"), user("二"), reply("三"), reply("四"), user("五")).atoms
        assert [(a.message, a.reply) for a in atoms] == [
            ("", "Welcome"),
            ("一", ""),
            ("二", "三"),
            ("", "四"),
            ("五", ""),
        ]

    def test_a_reply_in_another_session_answers_nothing(self) -> None:
        atoms = messages(user("Hi", session="x"), reply("Hello", session="y")).atoms
        assert [(a.session, a.message, a.reply) for a in atoms] == [("x", "Hi", ""), ("y", "", "Hello")]

    @pytest.mark.parametrize("speaker", ["Lin", "lin ", "human", "USER"])
    def test_a_speaker_is_a_name_or_a_role(self, speaker: str) -> None:
        assert messages({"speaker": speaker, "text": "x"}).atoms[0].message == "x"
        assert messages({"speaker": "阿梅", "text": "x"}).atoms[0].reply == "x"

    def test_lines_without_id_are_known_by_file_and_number(self) -> None:
        assert [atom.source for atom in messages(b"", user("a"), b"  ", user("b", id=12)).atoms] == ["m.jsonl:2", "12"]


class TestMessageTimes:
    @pytest.mark.parametrize(
        "time",
        [
            "2024-05-01T10:00:00+02:00",
            "2024-05-01T08:00",
            "2024-05-01 08:00:00Z",
            1714550400,
            1714550400.0,
            1714550400000,
        ],
    )
    def test_iso_seconds_and_milliseconds_mean_the_same(self, time: object) -> None:
        """Bug: milliseconds taken for seconds put every message into the year 56,301."""
        assert messages(user("x", time=time)).atoms[0].at == datetime(2024, 5, 1, 8, tzinfo=UTC)

    @pytest.mark.parametrize("time", [None, ""])
    def test_no_time_is_no_time(self, time: object) -> None:
        assert messages(user("x", time=time)).atoms[0].at is None

    @pytest.mark.parametrize(
        "time", ["soon", "0001-01-01T00:00+14:00", 1e300, float("nan"), float("inf"), True, [], 10**400, "２０２４年"]
    )
    def test_what_is_no_time_is_told(self, time: object) -> None:
        (skipped,) = messages(user("ok"), user("x", time=time)).skipped
        assert skipped.place == "line 2"
        assert "neither ISO 8601 nor seconds" in skipped.reason or "is not JSON" in skipped.reason


class TestBadLines:
    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            (b"{", "is not JSON"),
            (b"[" * 100_000, "is not JSON"),
            (b"[1]", "is not a JSON object"),
            (b'{"role": "user", "text": "caf\xe9"}', "is not UTF-8 (byte 29)"),
            ({"text": "x"}, "has neither a role nor a speaker"),
            ({"role": "tool", "text": "x"}, "its role 'tool' is neither the user nor the character"),
            ({"speaker": "Zoe", "text": "x"}, "its speaker 'Zoe' is neither"),
            ({"role": "user"}, "'text' is missing"),
            ({"role": "user", "text": " \n"}, "'text' is missing, empty"),
            ({"role": "user", "text": ["x"]}, "'text' is missing, empty or no text"),
            ({"role": "user", "text": "x" * 100_001}, "100,001 characters; the limit is 100,000"),
            ({"role": "user", "text": "x", "id": {}}, "'id' is neither text nor a whole number"),
            ({"role": "user", "text": "x", "session": "s" * 201}, "'session' has 201 characters"),
            ({"role": "user", "text": "x", "id": "1"}, "its id '1' is that of line 1"),
        ],
    )
    def test_are_told_with_number_and_reason_and_stop_nothing(self, line: object, reason: str) -> None:
        found = messages(user("first", id="1"), line, user("last"))
        assert [atom.message for atom in found.atoms] == ["first", "last"]
        (skipped,) = found.skipped
        assert skipped.place == "line 2"
        assert reason in skipped.reason

    @pytest.mark.parametrize("data", [b"", b"\n\n", b"\x00\x01\x02", b'{"role": "user"}'])
    def test_a_file_of_nothing_else_is_an_error(self, data: bytes) -> None:
        with pytest.raises(InputError, match=r"m\.jsonl has no line that can be imported"):
            read_messages("m.jsonl", data, "Lin", "Mei")

    def test_what_utf8_cannot_hold_is_replaced(self) -> None:
        """Bug class: half a character in an export made the ledger refuse the whole import."""
        (atom,) = messages(b'\xef\xbb\xbf{"role": "user", "text": "a\\ud800b\\u0000c", "id": "\\udfff"}').atoms
        assert (atom.message, atom.source) == ("a\ufffdb\ufffdc", "\ufffd")


class TestLocomo:
    def test_sessions_are_read_in_order_of_their_number(self) -> None:
        """Bug: session_10 came before session_2, and dates without a session began sessions of their own."""
        talk: dict[str, Any] = {"session_3_date_time": AT}
        for number in (10, 2, 1):
            talk |= {
                f"session_{number}_date_time": f"12:05 am on {number} June, 2023",
                f"session_{number}": [{"speaker": "A", "dia_id": f"D{number}:1", "text": "x"}],
            }
        (found,) = read_locomo("l.json", locomo(**talk))
        assert [(atom.source, atom.session) for atom in found.atoms] == [
            ("D1:1", "session_1"),
            ("D2:1", "session_2"),
            ("D10:1", "session_10"),
        ]
        assert found.atoms[0].at == datetime(2023, 6, 1, 0, 5, tzinfo=UTC)

    def test_speaker_a_is_the_user_and_images_are_told_by_their_caption(self) -> None:
        session = [
            {"speaker": "A", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a photo of a kite"},
            {"speaker": "B", "dia_id": "D1:2", "text": "Nice."},
        ]
        (found,) = read_locomo("l.json", locomo(session_1=session, session_1_date_time=AT))
        assert [(a.message, a.reply) for a in found.atoms] == [
            ("Look! [shared an image: a photo of a kite]", ""),
            ("", "Nice."),
        ]
        first, second = (atom.at for atom in found.atoms)
        assert first == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
        assert second is not None and first is not None and second > first

    @pytest.mark.parametrize(
        ("data", "place"),
        [
            (b"", "l.json is not JSON"),
            (b"\x89PNG\xff", "l.json is not JSON"),
            (b"[" * 100_000, "l.json is not JSON"),
            (b"{}", "l.json holds no list"),
            (b"[]", "l.json holds no list"),
            (b"[3]", "l.json, conversation 1: has no 'conversation' object"),
            (b'[{"conversation": {"speaker_a": "A"}}]', "conversation 1: 'speaker_b' is missing"),
            (locomo(session_1=[]), "conversation 1, session_1: the date None is not like"),
            (locomo(session_1=[], session_1_date_time="8 May"), "session_1: the date '8 May' is not like"),
            (locomo(session_1=3, session_1_date_time=AT), "session_1: is no list"),
            (locomo(session_1=[3], session_1_date_time=AT), "session_1, utterance 1: is no object"),
            (
                locomo(session_1=[{"speaker": "A", "text": "x"}], session_1_date_time=AT),
                "session_1, utterance 1: 'dia_id' is missing",
            ),
        ],
    )
    def test_a_bad_file_is_an_error_that_names_the_place(self, data: bytes, place: str) -> None:
        with pytest.raises(InputError) as error:
            read_locomo("l.json", data)
        assert place in str(error.value)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with open_service(tmp_path / "logs") as opened:
        yield opened


def atoms(count: int) -> list[Atom]:
    return [Atom(f"D1:{n}", "s", datetime(2024, 1, 1, tzinfo=UTC), f"Message {n} 你好", "") for n in range(count)]


class TestWriting:
    def test_stops_between_batches_and_goes_on(self, service: Service) -> None:
        timeline, stop, told = service.create_timeline("Lin", "Mei"), threading.Event(), list[int]()

        def progress(done: int) -> None:
            told.append(done)
            if sum(told) >= BATCH:
                stop.set()

        first = write_atoms(timeline, "f", atoms(2 * BATCH + 5), progress, stop)
        assert (first.imported, first.present, first.left) == (BATCH, 0, BATCH + 5)
        second = write_atoms(timeline, "f", atoms(2 * BATCH + 5))
        assert (second.imported, second.present, second.left) == (BATCH + 5, BATCH, 0)
        lived = service.catalogue.experiences(timeline.id)
        assert [atom.round for atom in lived] == list(range(1, 2 * BATCH + 6))
        assert [atom.message for atom in lived] == [atom.message for atom in atoms(2 * BATCH + 5)]

    def test_goes_on_from_the_ledger_after_a_kill_before_indexing(self, service: Service, tmp_path: Path) -> None:
        """A batch is on the disk before it is embedded; a process killed in between must not import it twice."""
        timeline = service.create_timeline("Lin", "Mei")
        write_atoms(timeline, "f", atoms(3))
        service.close()
        (tmp_path / "logs" / "cache" / "catalogue.sqlite").unlink()
        with open_service(tmp_path / "logs") as again:
            report = write_atoms(again.timeline(timeline.id), "f", atoms(4))
        assert (report.imported, report.present) == (1, 3)

    def test_rounds_go_on_after_turns(self, service: Service) -> None:
        timeline = service.create_timeline("Lin", "Mei")
        service.turn(timeline.id, "Hello.")
        write_atoms(timeline, "f", atoms(2))
        event = service.turn(timeline.id, "Message 1?")
        assert event.body is not None
        assert event.body["round"] == 4
        assert [atom.round for atom in service.catalogue.experiences(timeline.id)] == [1, 2, 3, 4]

    def test_an_id_with_other_words_is_told_and_not_overwritten(self, service: Service) -> None:
        """Bug: two files that both count their messages from 1 looked like one file imported twice."""
        timeline = service.create_timeline("Lin", "Mei")
        write_atoms(timeline, "f", atoms(2))
        report = write_atoms(timeline, "g", [Atom("D1:0", "s", None, "其他的话", "")])
        assert (report.imported, report.present) == (0, 0)
        assert report.skipped[0].place == "id D1:0"
        assert "other words" in report.skipped[0].reason

    def test_waits_for_no_running_turn(self, service: Service) -> None:
        timeline = service.create_timeline("Lin", "Mei")
        with timeline.exclusive(), pytest.raises(BusyError):
            write_atoms(timeline, "f", atoms(1))
        assert timeline.imported() == {}
