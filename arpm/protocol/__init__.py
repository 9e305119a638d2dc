"""The reply protocol: an analysis that cites evidence, then the response. Pure functions, no input or output.

`parse` reads a reply, `repair_request` asks once for a better one, `fallback` makes the best of what is left;
`ReplyStream` shows a reply while it is written; `neutralise` makes text safe to put into a prompt. Keeps promise 4.
"""

from arpm.protocol.analysis import Need
from arpm.protocol.parse import STEPS, Parsed, fallback, needs_repair, parse, repair_request
from arpm.protocol.stream import ReplyStream
from arpm.protocol.tags import neutralise
from arpm.protocol.violations import (
    APOLOGY,
    VIOLATIONS,
    Language,
    Violation,
    ViolationKind,
    describe,
    language_of,
)

__all__ = [
    "APOLOGY",
    "STEPS",
    "VIOLATIONS",
    "Language",
    "Need",
    "Parsed",
    "ReplyStream",
    "Violation",
    "ViolationKind",
    "describe",
    "fallback",
    "language_of",
    "needs_repair",
    "neutralise",
    "parse",
    "repair_request",
]
