"""What a context policy looks back on: a timeline's earlier messages, and how near and how important each of them is.

Reads memory and changes nothing. The turn and its replay come through here, so they look back on the same messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from arpm.catalogue import Catalogue, TurnRow
from arpm.compression import Compression, Find, KeptCompressor
from arpm.generation.base import Sampling
from arpm.lived import Lived
from arpm.prompt import Exchange
from governance.afm.compress import HeuristicCompressor, Write, cached_count
from governance.config import GovernanceConfig
from governance.dialogue_questions import about_dialogue
from governance.focus import Judge, Judgement, Lines
from governance.history import Count, Message, Placed
from governance.importance import RememberingClassifier
from governance.policy import Conversation, decided_with, searched_with, shows_messages_as_evidence
from governance.selection import evidence_budget
from governance.windows import SUMMARISED
from retrieval.embedding.base import Embedder
from retrieval.fusion import calibrated_similarity
from retrieval.memories import Experience

# What a prompt needs beside what its settings limit: the protocol, the time frame, labels and cues of documents.
RESERVED = 700
# The most of a model's window that is kept free for the reply.
_REPLY_SHARE = 4
_EVERY_ROUND = 2**31


def earlier_messages(timeline: Lived, config: GovernanceConfig, round: int) -> list[Message]:
    """The messages before `round` that the config's policy looks back on, oldest first.

    Windows show the rounds of the running session, or with the scope "timeline" what all sessions remember; adaptive
    focus always looks at what is remembered.
    """
    if config.policy in ("stateless", "bm25"):
        return []
    if config.policy == "arpm":
        return _of_turns(timeline, timeline.window(config.window_rounds, round))
    if config.history_scope == "timeline" or shows_messages_as_evidence(config):
        return [m for atom in timeline.experiences() if atom.round < round for m in messages_of(atom)]
    return _of_turns(timeline, timeline.window(_EVERY_ROUND, round))


def messages_of(atom: Experience) -> tuple[Message, ...]:
    """The two sides of a remembered round; a side that is empty is none."""
    sides = (("user", atom.user, atom.message), ("assistant", atom.character, atom.reply))
    return tuple(
        Message("user" if side == "user" else "assistant", atom.round, words, atom.memory, atom.at, name)
        for side, name, words in sides
        if words
    )


def _of_turns(timeline: Lived, rows: Sequence[TurnRow]) -> list[Message]:
    info, messages = timeline.info, list[Message]()
    for row in rows:
        memory = timeline.memory_of_round(row.round)
        messages.append(Message("user", row.round, row.message, memory, row.at, info.user))
        messages.append(Message("assistant", row.round, row.response, memory, row.at, info.character))
    return messages


def conversation(
    timeline: Lived,
    message: str,
    config: GovernanceConfig,
    round: int,
    embedder: Embedder,
    count: Count,
    room: int,
    *,
    once: bool,
    lines: Lines | None = None,
    model: str | None = None,
    write: Write | None = None,
) -> Conversation:
    """Everything a policy needs to place the earlier messages of a turn.

    `model` is the one that shortens messages where the config says so, and `write` asks it; without a model rules do.
    """
    messages, count = earlier_messages(timeline, config, round), remembering(count)
    find = finder(timeline.catalogue, timeline.id)
    asks = config.compressor == "model" and model is not None
    return Conversation(
        messages=messages,
        query=message,
        room=room,
        count=count,
        compressor=KeptCompressor(messages, model, count, find, write) if asks and model else by_rule(count),
        judge=judging(message, embedder, calibrated=config.policy == "afm"),
        once=once,
        lines=lines,
    )


def exchanges_of(placed: Sequence[Placed], config: GovernanceConfig) -> tuple[Exchange, ...]:
    """The placed messages that are shown as turns of a chat, by round; none where the policy shows them as evidence."""
    if shows_messages_as_evidence(config):
        return ()
    sides: dict[int, dict[str, str]] = {}
    for item in placed:
        if item.text and item.reason != SUMMARISED:
            sides.setdefault(item.message.round, {})[item.message.speaker] = item.text
    return tuple(Exchange(round, said.get("user", ""), said.get("assistant", "")) for round, said in sides.items())


def summary_of(placed: Sequence[Placed]) -> str:
    """The rolling summary among the placed messages; empty without one."""
    return next((item.text for item in placed if item.reason == SUMMARISED and item.text), "")


def room_for_messages(
    context_tokens: int, sampling: Sampling, config: GovernanceConfig, persona: str, message: str, count: Count
) -> int:
    """The tokens that a model's window has left for earlier messages when everything else takes what it may."""
    reply = min(sampling.max_tokens, context_tokens // _REPLY_SHARE)
    searched = searched_with(config)
    spent = evidence_budget(config, about_dialogue=about_dialogue(message, decided_with(config)))
    evidence = spent if searched.knowledge_enabled or searched.history_enabled else 0
    prefix = config.instructions_budget if config.instructions_enabled else 0
    return max(context_tokens - reply - evidence - prefix - count(persona) - count(message) - RESERVED, 0)


@lru_cache(maxsize=16)
def finder(catalogue: Catalogue, timeline: str) -> Find:
    """Looks a compression of a timeline up by its key."""

    def find(key: str) -> Compression | None:
        body = catalogue.compression(timeline, key)
        return Compression.of_body(body) if body else None

    return find


@lru_cache(maxsize=16)
def remembering(count: Count) -> Count:
    """The count that remembers what it counted: most messages of a turn were counted a turn ago."""
    return cached_count(count)


@lru_cache(maxsize=16)
def by_rule(count: Count) -> HeuristicCompressor:
    """The compressor that keeps sentences, with what it has counted."""
    return HeuristicCompressor(count)


@lru_cache(maxsize=4)
def _classifier(embedder: str) -> RememberingClassifier:
    """The importance classifier of an embedder, with what it has decided."""
    return RememberingClassifier(embedder)


def judging(message: str, embedder: Embedder, *, calibrated: bool) -> Judge:
    """How near messages are to `message`, by their vectors, and how important they are.

    The published similarity is the cosine itself; calibrated, it is what is above that of unrelated texts.
    """
    c0 = embedder.c0 if calibrated else 0.0

    def judge(messages: Sequence[Message]) -> list[Judgement]:
        if not messages:
            return []
        texts = [item.text for item in messages]
        vectors = embedder.encode_document(texts)
        cosines = vectors @ embedder.encode_query([message])[0]
        decisions = _classifier(embedder.name)(texts, vectors)
        return [
            Judgement(calibrated_similarity(float(cosine), c0), decision.label, decision.probability, decision.reason)
            for cosine, decision in zip(cosines, decisions, strict=True)
        ]

    return judge
