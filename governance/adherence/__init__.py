"""Instruction adherence: which standing instructions a reply kept, broke, or code cannot check.

Two steps, both pure: `constraints` reads the words of an instruction into typed constraints, `check` holds a reply
against one. `adherence` does both for a whole instruction and never says "kept" of one that it did not wholly read.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal

from governance.adherence.checking import check
from governance.adherence.kinds import Broken, Constraint, Found, Kept, Outcome, Unclear
from governance.adherence.reading import Reading, constraints, read
from governance.adherence.scope import applies

Verdict = Literal["kept", "broken", "unchecked"]
# What stands in place of a constraint's kind for words that were not read, and for an occasion that decides.
UNREAD, SCOPE = "unread", "scope"

__all__ = [
    "SCOPE",
    "UNREAD",
    "Adherence",
    "Broken",
    "Check",
    "Constraint",
    "Found",
    "Kept",
    "Outcome",
    "Reading",
    "Unclear",
    "Verdict",
    "adherence",
    "check",
    "constraints",
    "read",
]


@dataclass(frozen=True, slots=True)
class Check:
    """One constraint held against a reply: its kind, the verdict, and what was found in the reply."""

    kind: str
    verdict: Verdict
    found: Found

    def as_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "verdict": self.verdict, "found": asdict(self.found)}


@dataclass(frozen=True, slots=True)
class Adherence:
    """Whether a reply kept one instruction, and the checks that say so."""

    verdict: Verdict
    checks: tuple[Check, ...]


def adherence(instruction: str, reply: str, message: str) -> Adherence:
    """Whether the visible `reply` to `message` kept an instruction.

    Broken when any part of it is; kept when all of it was read and every part is kept; unchecked otherwise. An
    instruction for some occasion counts only where code can tell that the message is one.
    """
    reading = _read(instruction)
    if not reading.constraints:
        return Adherence("unchecked", (_unchecked(UNREAD),))
    holds = None if reading.scoped else True if reading.scope is None else applies(reading.scope, message)
    if holds is not True:
        return Adherence("unchecked", (_unchecked(SCOPE), *(_unchecked(one.kind) for one in reading.constraints)))
    checks = [_checked(one, reply, message) for one in reading.constraints]
    if reading.unread:
        checks.append(_unchecked(UNREAD))
    return Adherence(_overall(checks), tuple(checks))


def _unchecked(kind: str) -> Check:
    return Check(kind, "unchecked", Found())


def _checked(constraint: Constraint, reply: str, message: str) -> Check:
    outcome = check(constraint, reply, message)
    verdict: Verdict = "kept" if isinstance(outcome, Kept) else "broken" if isinstance(outcome, Broken) else "unchecked"
    return Check(constraint.kind, verdict, outcome.found)


def _overall(checks: list[Check]) -> Verdict:
    verdicts = {check.verdict for check in checks}
    if "broken" in verdicts:
        return "broken"
    return "unchecked" if "unchecked" in verdicts else "kept"


# The same instructions are read in every round of a conversation.
_read = lru_cache(maxsize=512)(read)
