"""Context policies: which of a conversation the prompt shows, and as what. One call governs a turn.

Every policy takes the candidates of both routes and the earlier messages, and gives evidence in prompt order and what
became of every message it looked at. `arpm` shows what search found: gate, weights and top-k per route, then one token
budget over both, then unfolding. The others are those it is compared with: adaptive focus (AFM paper) and the papers'
baselines. Documents are found in the same way under all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import lru_cache

from governance.afm.compress import Compressor
from governance.config import GovernanceConfig
from governance.decay import Moment
from governance.focus import Judge, Lines, placed_by_focus
from governance.history import Count, Message, Placed
from governance.selection import Decision, decide, evidence_budget, within_budget
from governance.unfolding import Evidence, unfold
from governance.windows import full, recency_compressed, recent, summary, truncated
from retrieval.candidates import Candidate
from retrieval.fusion import normalised_by_maximum
from retrieval.text import Language

# A rolling summary holds so many times what one compressed message does.
SUMMARY_MESSAGES = 4


@dataclass(frozen=True, slots=True)
class Situation:
    """What governance must know besides candidates: when, where, in which language, and what is shown anyway.

    `round_of` gives a candidate's round (for a document, the round running when it was added), `count` the tokens of
    an item as the prompt shows it. `about_dialogue` says that the question is about the dialogue itself.
    """

    moment: Moment
    zone: tzinfo
    language: Language
    window: Collection[str]
    round_of: Callable[[Candidate], int | None]
    count: Callable[[str], int]
    about_dialogue: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """The earlier messages that a policy looks back on, oldest first, and what it needs to place them.

    `room` is what the model's own window has left for them, in tokens. `judge` says how near a message is to the
    question and how important it is; only adaptive focus asks. With `once`, evidence leaves out what is shown as turns.
    `lines` are those of the prompt that show messages as evidence.
    """

    messages: Sequence[Message]
    query: str
    room: int
    count: Count
    compressor: Compressor
    judge: Judge
    once: bool = True
    lines: Lines | None = None


@dataclass(frozen=True, slots=True)
class Governed:
    """Every decision of both routes, what became of earlier messages, and the evidence that enters the prompt, in
    prompt order. Messages that are not evidence are shown as turns of a chat, or as a summary."""

    knowledge: tuple[Decision, ...]
    experience: tuple[Decision, ...]
    evidence: tuple[Evidence, ...]
    placed: tuple[Placed, ...] = ()


def govern(
    knowledge: Sequence[Candidate],
    experience: Sequence[Candidate],
    config: GovernanceConfig,
    situation: Situation,
    conversation: Conversation | None = None,
) -> Governed:
    """Decide on the candidates of both routes and on earlier messages, and unfold what is kept as evidence."""
    placed = place(conversation, config, situation.moment) if conversation else []
    as_evidence = shows_messages_as_evidence(config)
    window = set(situation.window)
    if conversation and conversation.once and not as_evidence:
        window |= {item.message.memory for item in placed if item.fidelity == "FULL" and item.message.memory}
    if config.policy == "bm25":
        experience = ranked_by_words(experience)
    routes = ((knowledge, config), (experience, decided_with(config)))
    per_route = [
        decide(
            route,
            situation.moment,
            settings,
            round_of=situation.round_of,
            window=window,
            about_dialogue=situation.about_dialogue,
        )
        for route, settings in routes
    ]
    budget = evidence_budget(config, about_dialogue=situation.about_dialogue)
    budgeted = within_budget([*per_route[0], *per_route[1]], budget, situation.count)
    evidence = unfold(
        budgeted,
        situation.moment,
        situation.zone,
        situation.language,
        chronological=config.chronological,
        cues=config.time_cues,
        placed=placed if as_evidence else (),
    )
    split = len(per_route[0])
    return Governed(tuple(budgeted[:split]), tuple(budgeted[split:]), tuple(evidence), tuple(placed))


@lru_cache(maxsize=256)
def searched_with(config: GovernanceConfig) -> GovernanceConfig:
    """The settings with which a policy searches: only `arpm` and `bm25` look for past turns."""
    if config.policy == "arpm":
        return config
    if config.policy == "bm25":
        return config.changed(
            {
                "history_enabled": True,
                "history_bm25_enabled": True,
                "exact_lane": False,
                "neighbour_share": 0.0,
                "history_fusion": "rrf",
                "corrections_enabled": False,
            }
        )
    return config.changed({"history_enabled": False})


@lru_cache(maxsize=256)
def decided_with(config: GovernanceConfig) -> GovernanceConfig:
    """The settings with which a policy decides on past turns.

    `bm25` (REA, section 4.1) shows the best by their words; relevance, time and bonuses do not matter.
    """
    if config.policy != "bm25":
        return config
    return config.changed(
        {
            "gate_enabled": False,
            "temporal_enabled": False,
            "final_threshold": 0.0,
            "history_k": min(config.policy_rounds, 50),
            "dialogue_k": 0,
        }
    )


def ranked_by_words(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that share words with the question, their base score BM25 divided by its maximum."""
    found = {place: item.bm25 for place, item in enumerate(candidates) if item.bm25 is not None}
    scores = normalised_by_maximum(found)
    return [replace(candidates[place], normalised=score, bonuses={}, base=score) for place, score in scores.items()]


def shows_messages_as_evidence(config: GovernanceConfig) -> bool:
    """Whether a policy shows earlier messages as labelled evidence, and not as turns of a chat."""
    return config.policy in ("afm", "afm_paper")


def remembers(config: GovernanceConfig) -> bool:
    """Whether a policy looks for what was said in the past, and does not only show a window of it."""
    return shows_messages_as_evidence(config) or config.policy in ("arpm", "bm25")


def place(conversation: Conversation, config: GovernanceConfig, moment: Moment) -> list[Placed]:
    """What becomes of every earlier message under the config's policy, oldest first."""
    messages, room, count, compressor = (
        conversation.messages,
        conversation.room,
        conversation.count,
        conversation.compressor,
    )
    rounds, each, budget = config.policy_rounds, config.compressed_tokens, config.history_budget
    match config.policy:
        case "full":
            return full(messages, room, count)
        case "recent_k":
            return recent(messages, rounds, room, count)
        case "truncated":
            return truncated(messages, budget, room, count)
        case "recency_compressed":
            return recency_compressed(messages, rounds, each, budget, room, count, compressor)
        case "summary":
            return summary(messages, rounds, SUMMARY_MESSAGES * each, budget, room, count, compressor)
        case "afm" | "afm_paper":
            spend = min(budget, room)
            lines = conversation.lines if config.afm_whole_lines else None
            return placed_by_focus(
                messages, conversation.query, config, moment, spend, count, compressor, conversation.judge, lines
            )
        case "arpm":
            return recent(messages, config.window_rounds, min(config.window_budget, room), count)
        case "bm25" | "stateless":
            return []
