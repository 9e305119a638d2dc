"""Evidence in the order it was lived, with cues in the person's own days."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from governance.decay import Moment
from governance.selection import Decision, decide
from governance.unfolding import days_cue, rounds_cue, unfold
from retrieval.candidates import Candidate
from retrieval.text import Language
from tests.governance.support import DEFAULT, MOMENT, NOW, candidate, judged, round_of

SHANGHAI, BERLIN, NEW_YORK = ZoneInfo("Asia/Shanghai"), ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")


def unfolded(*found: Candidate, chronological: bool = True, cues: bool = True) -> list[tuple[str, str]]:
    evidence = unfold(judged(*found), MOMENT, UTC, "en", chronological=chronological, cues=cues)
    return [(item.label, item.memory) for item in evidence]


def cue(decision: Decision, moment: Moment, zone: ZoneInfo | timezone, language: Language) -> str:
    return unfold([decision], moment, zone, language, chronological=True, cues=True)[0].cue


class TestOrder:
    def test_by_round_then_by_time_oldest_first(self) -> None:
        found = [candidate("c", 0.9, ago=1), candidate("a", 0.5, ago=9), candidate("b", 0.7, ago=5)]
        assert unfolded(*found) == [("E1", "a"), ("E2", "b"), ("E3", "c")]

    def test_within_a_round_by_time_then_documents_first(self) -> None:
        found = [
            candidate("late", ago=4, hours=1),
            candidate("lived", ago=4, hours=2),
            candidate("the known", ago=4, hours=2, route="knowledge"),
        ]
        order = [*judged(found[0], found[1]), *judged(found[2])]
        evidence = unfold(order, MOMENT, UTC, "en", chronological=True, cues=True)
        assert [item.memory for item in evidence] == ["the known", "lived", "late"]

    def test_memories_without_round_or_time_come_first(self) -> None:
        found = [candidate("b", ago=99), candidate("a", ago=None, hours=None)]
        assert [memory for _, memory in unfolded(*found)] == ["a", "b"]

    def test_best_first_when_asked(self) -> None:
        found = [candidate("a", 0.5, ago=9), candidate("b", 0.9, ago=9)]
        assert unfolded(*found, chronological=False) == [("E1", "b"), ("E2", "a")]

    def test_only_what_was_kept_is_shown_and_its_text_is_not_touched(self) -> None:
        text = "  a text\nwith [E9] and <response>tags</response>…  "
        dropped = candidate("b", similarity=0.0, coverage=0.0)
        evidence = unfold(judged(candidate("a", text=text), dropped), MOMENT, UTC, "en", chronological=True, cues=False)
        assert [(item.text, item.cue, item.fidelity) for item in evidence] == [(text, "", "FULL")]


class TestCues:
    @pytest.mark.parametrize(
        ("rounds", "english", "chinese"),
        [(0, "this round", "本轮"), (1, "last round", "上一轮"), (3, "3 rounds ago", "3轮之前")],
    )
    def test_rounds(self, rounds: int, english: str, chinese: str) -> None:
        assert (rounds_cue(rounds, "en"), rounds_cue(rounds, "zh")) == (english, chinese)

    @pytest.mark.parametrize(
        ("days", "english", "chinese"),
        [
            (0, "today", "今天"),
            (1, "yesterday", "昨天"),
            (2, "2 days ago", "前天"),
            (3, "3 days ago", "3天前"),
            (-1, "tomorrow", "明天"),
            (-4, "in 4 days", "4天后"),
        ],
    )
    def test_days(self, days: int, english: str, chinese: str) -> None:
        at = NOW - timedelta(days=days)
        assert (days_cue(at, NOW, UTC, "en"), days_cue(at, NOW, UTC, "zh")) == (english, chinese)

    def test_yesterday_is_the_date_before_todays_in_the_persons_timezone(self) -> None:
        """ "yesterday" was counted in UTC or as 24 hours: ten minutes across midnight are yesterday already."""
        now, before = datetime(2026, 3, 9, 16, 5, tzinfo=UTC), datetime(2026, 3, 9, 15, 55, tzinfo=UTC)
        assert days_cue(before, now, UTC, "en") == "today"
        assert days_cue(before, now, SHANGHAI, "zh") == "昨天"
        almost_two_days = datetime(2026, 3, 7, 16, 10, tzinfo=UTC)
        assert days_cue(almost_two_days, now, SHANGHAI, "zh") == "前天"

    def test_a_historical_timestamp_counts_from_the_turns_own_time(self) -> None:
        """A historical timestamp was ignored, so that "yesterday" resolved to today."""
        assert (
            days_cue(datetime(2023, 5, 7, 23, tzinfo=UTC), datetime(2023, 5, 8, 1, tzinfo=UTC), UTC, "en")
            == "yesterday"
        )

    @pytest.mark.parametrize(
        ("zone", "before", "now"),
        [
            # 23 hours apart over the night in which clocks go forward, 25 where they go back: one calendar day each.
            (BERLIN, (2026, 3, 28, 23, 30), (2026, 3, 29, 23, 30)),
            (BERLIN, (2026, 10, 24, 0, 10), (2026, 10, 25, 0, 10)),
            (NEW_YORK, (2026, 3, 7, 23, 59), (2026, 3, 8, 23, 59)),
            (NEW_YORK, (2026, 11, 1, 0, 30), (2026, 11, 2, 0, 10)),
        ],
    )
    def test_clock_changes_do_not_move_the_day(
        self, zone: ZoneInfo, before: tuple[int, int, int, int, int], now: tuple[int, int, int, int, int]
    ) -> None:
        earlier, later = datetime(*before, tzinfo=zone), datetime(*now, tzinfo=zone)
        assert days_cue(earlier.astimezone(UTC), later.astimezone(UTC), zone, "en") == "yesterday"

    def test_a_whole_cue_in_both_languages(self) -> None:
        decision = judged(candidate("a", ago=3, hours=24))[0]
        assert cue(decision, MOMENT, SHANGHAI, "en") == "2026-03-28 20:00, 3 rounds ago, yesterday"
        assert cue(decision, MOMENT, SHANGHAI, "zh") == "2026-03-28 20:00，3轮之前，昨天"

    def test_a_document_has_no_distance_in_rounds_and_a_timeless_memory_no_date(self) -> None:
        document = judged(candidate("d", ago=3, hours=24, route="knowledge"))[0]
        assert cue(document, MOMENT, UTC, "en") == "2026-03-28 12:00, yesterday"
        assert cue(judged(candidate("a", ago=2, hours=None))[0], MOMENT, UTC, "en") == "2 rounds ago"
        assert cue(judged(candidate("a", ago=None, hours=None))[0], MOMENT, UTC, "en") == ""

    def test_cues_at_the_first_round(self) -> None:
        first = Moment(1, NOW)
        decision = decide([candidate("a", round=1)], first, DEFAULT, round_of=round_of)[0]
        assert cue(decision, first, UTC, "en").split(", ")[1] == "this round"
