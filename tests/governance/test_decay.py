"""Temporal weights: the paper's values, the floor, and every time that is missing, odd or in the future."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.decay import Moment, clock_decay, hours_between, round_decay, rounds_between, temporal_weight

NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)


class TestPaperValues:
    def test_time_constants_are_not_half_lives(self) -> None:
        """λ = 20 rounds and 168 hours are time constants: half is left after 13.9 rounds or 4.85 days."""
        assert round_decay(20, 20) == pytest.approx(1 / math.e)
        assert round_decay(13.863, 20) == pytest.approx(0.5, abs=1e-4)
        assert clock_decay(24 * 4.852, 168) == pytest.approx(0.5, abs=1e-3)

    def test_the_joint_weight_is_the_product(self) -> None:
        assert temporal_weight(0.5, 0.4) == pytest.approx(0.2)

    @given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0.1, 1e6))
    def test_older_never_weighs_more(self, age: float, more: float, constant: float) -> None:
        """The sign of decay was wrong in a comparable system, so that a 90-day-old allergy lost to small talk."""
        assert 0 <= round_decay(age + more, constant) <= round_decay(age, constant) <= 1
        assert 0 <= clock_decay(age + more, constant) <= clock_decay(age, constant) <= 1


class TestFloor:
    @given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
    def test_weights_stay_between_the_floor_and_one(self, by_round: float, by_clock: float, floor: float) -> None:
        assert floor <= temporal_weight(by_round, by_clock, floor) <= 1 + 1e-12

    def test_what_was_said_long_ago_keeps_the_floor(self) -> None:
        old = temporal_weight(round_decay(10_000, 20), clock_decay(10_000, 168), 0.8)
        assert old == pytest.approx(0.8)
        assert temporal_weight(round_decay(50, 20), 1.0) < 0.1


class TestOddTimes:
    def test_trap_6_future_times_do_not_weigh_more_than_one(self) -> None:
        """Trap 6: a clock that jumped back gave exp(+…): memories dated in the future outweighed all others."""
        assert round_decay(-5, 20) == clock_decay(-5, 168) == 1.0
        assert hours_between(Moment(1, NOON), NOON + timedelta(days=3)) == 0
        assert rounds_between(Moment(5, NOON), 9) == 0

    def test_trap_6_times_with_a_zone_keep_their_decay(self) -> None:
        """Trap 6: subtracting a zoned from an unzoned time raised inside a bare except, and the decay was lost."""
        moment = Moment(1, NOON)
        assert hours_between(moment, datetime(2026, 3, 29, 18, tzinfo=ZoneInfo("Asia/Shanghai"))) == 2
        assert hours_between(moment, datetime(2026, 3, 29, 5, tzinfo=timezone(timedelta(hours=-5)))) == 2

    def test_a_day_with_a_clock_change_has_its_true_hours(self) -> None:
        berlin = ZoneInfo("Europe/Berlin")
        before, after = datetime(2026, 3, 28, 12, tzinfo=berlin), datetime(2026, 3, 29, 12, tzinfo=berlin)
        assert hours_between(Moment(1, after), before) == 23

    def test_a_memory_without_a_round_or_time_weighs_one_on_that_axis(self) -> None:
        assert round_decay(None, 20) == clock_decay(None, 168) == 1.0
        assert rounds_between(Moment(5, NOON), None) is None
        assert hours_between(Moment(5, NOON), None) is None

    def test_a_turn_without_a_zone_is_refused(self) -> None:
        """Trap 7: `now()` was read inside scoring and not logged. A turn is given its moment, with its zone."""
        with pytest.raises(ValueError, match="needs a timezone"):
            Moment(1, datetime(2026, 3, 29, 12))
