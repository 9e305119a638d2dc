"""Candidates in one line, and the moment at which they are judged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from governance.config import GovernanceConfig
from governance.decay import Moment
from governance.selection import Decision, decide
from retrieval.candidates import Candidate

NOW = datetime(2026, 3, 29, 12, tzinfo=UTC)
MOMENT = Moment(100, NOW)
DEFAULT = GovernanceConfig()


def candidate(
    memory: str, base: float = 1.0, *, ago: int | None = 10, hours: float | None = 5, **more: Any
) -> Candidate:
    """A relevant memory, `ago` rounds and `hours` hours before `MOMENT`."""
    fields: dict[str, Any] = {
        "memory": memory,
        "route": "experience",
        "text": f"the text of {memory}",
        "round": None if ago is None else MOMENT.round - ago,
        "at": None if hours is None else NOW - timedelta(hours=hours),
        "source": "s1",
        "cosine": 0.8,
        "similarity": 0.8,
        "bm25": 3.0,
        "coverage": 1.0,
        "ranks": {"vector": 0},
        "fused": 0.1,
        "lent_by": None,
        "normalised": base,
        "bonuses": {},
        "base": base,
    }
    return Candidate(**(fields | more))


def round_of(found: Candidate) -> int | None:
    return found.round


def judged(*found: Candidate, config: GovernanceConfig = DEFAULT, window: tuple[str, ...] = ()) -> list[Decision]:
    return decide(found, MOMENT, config, round_of=round_of, window=window)


def reasons(decisions: list[Decision]) -> dict[str, str]:
    return {decision.weighed.candidate.memory: decision.reason for decision in decisions}
