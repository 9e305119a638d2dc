"""Step 10 of a turn: whether it becomes experience memory, and why. Pure functions.

What could not be repaired, says nothing or goes in circles stays out: junk that is remembered comes back as evidence
(bug: after one bad model most recalls of the published run were polluted).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from arpm.answer import Answer
from governance.config import GovernanceConfig


@dataclass(frozen=True, slots=True)
class Admission:
    """The decision on a turn, and its reason."""

    admitted: bool
    reason: str


def admission(reply: Answer, config: GovernanceConfig) -> Admission:
    """Decide whether a turn becomes memory."""
    parsed = reply.parsed
    if not parsed.admissible or not parsed.response:
        return Admission(False, "no reply worth remembering")
    if goes_in_circles(parsed.response):
        return Admission(False, "the reply goes in circles")
    if any(repair.rung == "fallback" for repair in reply.repairs) and not config.admit_fallback:
        return Admission(False, "the protocol could not be repaired")
    return Admission(True, "repaired" if reply.repairs else "valid")


# Prose of any language deflates to some 40 to 70 % of its bytes, a loop to a few per cent.
_SHORTEST_LOOP = 120
_LOOP_RATIO = 0.2


def goes_in_circles(text: str) -> bool:
    """Whether a text says the same few words over and over, told by how far it deflates."""
    data = text.encode()
    return len(data) >= _SHORTEST_LOOP and len(zlib.compress(data)) / len(data) < _LOOP_RATIO
