"""What a turn record says: pure functions from a turn's values to the body of its ledger event (docs/schema).

Everything that shaped the answer is here by value or by id; evidence is named by memory id, never copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from arpm.answer import Answer
from arpm.generation.base import Backend, GenerationError, Sampling
from governance.adherence import adherence
from governance.config import GovernanceConfig
from governance.decay import Moment
from governance.focus import Judgement
from governance.history import Placed
from governance.instructions import Instruction
from governance.selection import Decision
from governance.unfolding import Evidence


@dataclass(frozen=True, slots=True)
class Framed:
    """What is known of a turn before the model is called: all that both kinds of turn record share.

    `prompt` is None until it is built.
    """

    moment: Moment
    clock: str
    replaces: str | None
    request_key: str | None
    user: str
    message: str
    backend: Backend
    sampling: Sampling
    preset: str
    config: GovernanceConfig
    prompt: Mapping[str, Any] | None
    timings: dict[str, float]

    def body(self) -> dict[str, Any]:
        return {
            "round": self.moment.round,
            "replaces": self.replaces,
            "clock": self.clock,
            "request_key": self.request_key,
            "user": self.user,
            "message": self.message,
            "backend": {
                "name": self.backend.name,
                "model": self.backend.model,
                "prompt_style": self.backend.prompt_style,
            },
            "sampling": asdict(self.sampling),
            "preset": self.preset,
            "config": self.config.as_dict(),
            "prompt": dict(self.prompt) if self.prompt is not None else None,
            "timings": dict(self.timings),
        }


def candidate_row(decision: Decision) -> dict[str, Any]:
    """A candidate with its rank and score at every stage, and why it was kept or dropped."""
    weighed, candidate = decision.weighed, decision.weighed.candidate
    return {
        "memory": candidate.memory,
        "round": weighed.round,
        "at": candidate.at.isoformat() if candidate.at else None,
        "cosine": candidate.cosine,
        "similarity": candidate.similarity,
        "bm25": candidate.bm25,
        "coverage": candidate.coverage,
        "ranks": dict(candidate.ranks),
        "fused": candidate.fused,
        "lent_by": candidate.lent_by,
        "context_cosine": candidate.context_cosine,
        "nearness": candidate.nearness,
        "superseded_by": candidate.superseded_by,
        "kinship": candidate.kinship,
        "normalised": candidate.normalised,
        "bonuses": dict(candidate.bonuses),
        "base": candidate.base,
        "rounds_ago": weighed.rounds_ago,
        "hours_ago": weighed.hours_ago,
        "round_weight": weighed.round_weight,
        "clock_weight": weighed.clock_weight,
        "weight": weighed.weight,
        "final": weighed.final,
        "rank": decision.rank,
        "relevance": weighed.gated.relevance,
        "relevant": weighed.gated.verdict == "passed",
        "tokens": decision.tokens,
        "kept": decision.kept,
        "reason": decision.reason,
    }


def history_row(item: Placed) -> dict[str, Any]:
    """What became of an earlier message, and why; its words are named by round and memory, never copied."""
    message, focus = item.message, item.focus
    return {
        "round": message.round,
        "part": message.speaker,
        "at": message.at.isoformat() if message.at else None,
        "memory": message.memory,
        "fidelity": item.fidelity,
        "tokens": item.tokens,
        "reason": item.reason,
        "focus": focus._asdict() if focus else None,
        "note": item.note,
    }


def judgement_of(focus: Mapping[str, Any]) -> Judgement:
    """What was judged of a message, from the `focus` of its row; older records do not say how surely nor why."""
    return Judgement(focus["similarity"], focus["importance"], focus.get("probability"), focus.get("reason"))


def whole_rounds(placed: Sequence[Placed]) -> list[int]:
    """The rounds of which every message is shown word for word."""
    shown = {item.message.round: True for item in placed}
    for item in placed:
        shown[item.message.round] &= item.fidelity == "FULL"
    return [round for round, whole in shown.items() if whole]


def evidence_row(item: Evidence) -> dict[str, Any]:
    """An evidence item in prompt order, by memory id."""
    return {
        "label": item.label,
        "memory": item.memory,
        "route": item.route,
        "part": item.part,
        "fidelity": item.fidelity,
        "tokens": item.tokens,
        "cue": item.cue,
    }


def answer_rows(answer: Answer, bound: Sequence[str]) -> dict[str, Any]:
    """Every attempt raw, the parsed analysis and response, citations, violations and repairs."""
    parsed = answer.parsed
    return {
        "attempts": attempt_rows(answer),
        "analysis": {
            "need": parsed.need,
            "cited": list(parsed.cited),
            "unknown": list(parsed.unknown),
            "check": parsed.check,
            "text": parsed.analysis,
        },
        "response": parsed.response,
        "cited": list(parsed.cited),
        "bound": list(bound),
        "violations": [asdict(violation) for violation in parsed.violations],
        "repairs": [
            {"rung": repair.rung, "steps": list(repair.steps), "fixed": repair.fixed} for repair in answer.repairs
        ],
    }


def adherence_rows(instructions: Sequence[Instruction], response: str, message: str) -> list[dict[str, Any]]:
    """Which of the instructions shown the reply kept, broke or left unchecked; they are named by id, never quoted."""
    rows = []
    for item in instructions:
        found = adherence(item.text, response, message)
        checks = [check.as_dict() for check in found.checks]
        rows.append({"instruction": item.id, "verdict": found.verdict, "checks": checks})
    return rows


def attempt_rows(answer: Answer) -> list[dict[str, Any]]:
    """Every call of the model that returned, raw."""
    return [
        {
            "purpose": attempt.purpose,
            "raw": attempt.generation.text,
            "finish": attempt.generation.finish,
            "reasoning": attempt.generation.reasoning,
            "prompt_tokens": attempt.generation.prompt_tokens,
            "completion_tokens": attempt.generation.completion_tokens,
            "seconds": attempt.generation.seconds,
            "first_token_seconds": attempt.generation.first_token_seconds,
            "violations": [asdict(violation) for violation in attempt.violations],
        }
        for attempt in answer.attempts
    ]


def failure_rows(error: GenerationError) -> dict[str, Any]:
    """What went wrong in a failed turn, and the text that had arrived."""
    return {"error": {"kind": error.kind, "text": str(error)}, "partial": error.partial, "attempts": []}


def stopped_rows(answer: Answer) -> dict[str, Any]:
    """A turn that the person stopped."""
    return {
        "error": {"kind": "cancelled", "text": "Stopped by the person."},
        "partial": answer.attempts[-1].generation.text,
        "attempts": attempt_rows(answer),
    }
