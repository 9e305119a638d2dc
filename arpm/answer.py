"""Steps 7 and 8 of a turn: generate, parse the protocol, and climb the repair ladder. Every attempt is kept raw.

The rungs: deterministic normalisation (in the parser), one repair request to the model, a marked fallback. Knows
nothing about memories or the ledger.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from arpm.generation.base import Backend, ChatMessage, Finish, Generation, GenerationRequest
from arpm.protocol import Parsed, ReplyStream, Violation, fallback, needs_repair, parse, repair_request
from governance.config import GovernanceConfig
from retrieval.text import Language

Purpose = Literal["answer", "repair"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call of the model: why it was made, what it returned, and what was wrong with it."""

    purpose: Purpose
    generation: Generation
    violations: tuple[Violation, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """One rung that was climbed: its name, the steps taken, and whether the result follows the protocol."""

    rung: Literal["normalised", "asked", "fallback"]
    steps: tuple[str, ...]
    fixed: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """The reply of a turn and how it came about. `parsed.response` is what the person sees."""

    attempts: tuple[Attempt, ...]
    parsed: Parsed
    repairs: tuple[Repair, ...]

    @property
    def finish(self) -> Finish:
        return self.attempts[-1].generation.finish


@dataclass(frozen=True, slots=True)
class Shown:
    """Where the visible reply goes as it is made: `text` takes new pieces, `restart` withdraws them all."""

    text: Callable[[str], None]
    restart: Callable[[], None]


def answer(
    backend: Backend,
    request: GenerationRequest,
    config: GovernanceConfig,
    language: Language,
    shown: Shown,
    cancel: threading.Event,
) -> Answer:
    """Generate a reply and repair its protocol if needed. Raises GenerationError when the first call fails.

    A repair call that fails leaves the first reply to the last rung instead of losing the turn.
    """
    if not (config.protocol_enabled or backend.constrained):
        return _free_answer(backend, request, shown, cancel)
    labels = [item.label for item in request.evidence]
    attempts = [_attempt("answer", backend, request, labels, shown, cancel)]
    parsed = _judged(attempts[-1].generation.text, labels, config)
    repairs = _normalised(parsed)
    if not config.repair_enabled or attempts[-1].generation.finish == "cancelled":
        return Answer(tuple(attempts), parsed, repairs)
    for _ in range(config.repair_attempts):
        if not needs_repair(parsed) or backend.constrained or cancel.is_set():
            break
        shown.restart()
        attempts.append(
            _attempt("repair", backend, _repairing(request, attempts, parsed, labels, language), labels, shown, cancel)
        )
        candidate = _judged(attempts[-1].generation.text, labels, config)
        repairs += (Repair("asked", tuple(v.kind for v in parsed.violations), not needs_repair(candidate)),)
        if not needs_repair(candidate) or not parsed.response:
            parsed = candidate
    if needs_repair(parsed):
        parsed = fallback(attempts[0].generation.text, labels)
        repairs += (Repair("fallback", tuple(v.kind for v in parsed.violations), False),)
    return Answer(tuple(attempts), parsed, repairs)


def _attempt(
    purpose: Purpose,
    backend: Backend,
    request: GenerationRequest,
    labels: list[str],
    shown: Shown,
    cancel: threading.Event,
) -> Attempt:
    stream = ReplyStream()

    def on_text(piece: str) -> None:
        visible = stream.feed(piece)
        if visible:
            shown.text(visible)

    generation = backend.generate(request, on_text, cancel)
    rest = stream.close()
    if rest:
        shown.text(rest)
    return Attempt(purpose, generation, parse(generation.text, labels).violations)


def _free_answer(backend: Backend, request: GenerationRequest, shown: Shown, cancel: threading.Event) -> Answer:
    """A reply without the protocol (preset G): taken as it is, with any tags taken out."""
    generation = backend.generate(request, shown.text, cancel)
    parsed = replace(fallback(generation.text, []), violations=(), admissible=bool(generation.text.strip()))
    return Answer((Attempt("answer", generation, ()),), parsed, ())


def _judged(raw: str, labels: list[str], config: GovernanceConfig) -> Parsed:
    """The parsed output; with `citation_required`, an answer that cites nothing it was shown is a violation."""
    parsed = parse(raw, labels)
    if config.citation_required and labels and not parsed.cited and parsed.valid:
        missing = Violation("uncited", "the analysis cites none of the evidence that was shown")
        return replace(parsed, violations=(*parsed.violations, missing), valid=False)
    return parsed


def _normalised(parsed: Parsed) -> tuple[Repair, ...]:
    return (Repair("normalised", parsed.normalised, not needs_repair(parsed)),) if parsed.normalised else ()


def _repairing(
    request: GenerationRequest, attempts: list[Attempt], parsed: Parsed, labels: list[str], language: Language
) -> GenerationRequest:
    """The same request behind the broken reply and one message that names what is wrong with it."""
    raw = attempts[-1].generation.text
    asked = ChatMessage("user", repair_request(parsed, labels, language))
    return replace(request, messages=(*request.messages, ChatMessage("assistant", raw), asked))
