"""Where a turn's time comes from. The clock is injected, so that every ranking can be replayed (bug: `now()` was read
inside scoring and not logged)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Gives timezone-aware times. `name` is shown to the person when it is not the system's clock."""

    @property
    def name(self) -> str: ...

    def now(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The machine's clock, in UTC to the millisecond."""

    name: str = "system"

    def now(self) -> datetime:
        now = datetime.now(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)


@dataclass(frozen=True, slots=True)
class FixedClock:
    """Always the same time, for experiments and replay."""

    at: datetime
    name: str = "fixed"

    def now(self) -> datetime:
        return self.at


@dataclass(frozen=True, slots=True)
class OffsetClock:
    """The system's clock moved by `offset`, for experiments across days."""

    offset: timedelta

    @property
    def name(self) -> str:
        return f"offset {self.offset.total_seconds():+g} s"

    def now(self) -> datetime:
        return SystemClock().now() + self.offset


class SwitchedClock:
    """A clock that can be exchanged for another while everything goes on looking at this one."""

    def __init__(self, inner: Clock) -> None:
        self.inner = inner

    @property
    def name(self) -> str:
        return self.inner.name

    def now(self) -> datetime:
        return self.inner.now()
