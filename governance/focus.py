"""Adaptive focus as a context policy: every remembered message as a whole, shortened, as a stub or left out.

Between the policies, which know rounds and settings, and `governance.afm`, which scores and packs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from governance.afm.compress import LEAST, Compressor, NoCompressor
from governance.afm.packing import NO_ROOM, Budget, pack, pack_as_published
from governance.afm.scoring import focuses
from governance.config import GovernanceConfig
from governance.decay import Moment
from governance.history import Count, Focus, Importance, Message, Placed


@dataclass(frozen=True, slots=True)
class Judgement:
    """How near a message is to the question, in [0, 1], and how important it is: P of that, and why."""

    similarity: float
    importance: Importance
    probability: float | None = None
    reason: str | None = None


Judge = Callable[[Sequence[Message]], Sequence[Judgement]]
# The lines of a prompt that show messages, with labels, cues and what stands between them; the number of the first.
Lines = Callable[[Sequence[Placed], int], str]


def placed_by_focus(
    messages: Sequence[Message],
    query: str,
    config: GovernanceConfig,
    moment: Moment,
    budget: int,
    count: Count,
    compressor: Compressor,
    judge: Judge,
    lines: Lines | None = None,
) -> list[Placed]:
    """What becomes of every message for `query` in `budget` tokens.

    Counted are the `lines` of the prompt that show messages, all together; without them the words of each behind its
    speaker's name. `afm` packs as we ship it, `afm_paper` as published. With no budget at all every message is left
    out.
    """
    focus = scored(judge(messages), [moment.round - message.round for message in messages], config)
    if budget < 1:
        return [Placed(message, None, "", 0, NO_ROOM, item) for message, item in zip(messages, focus, strict=True)]
    first = 1 + (config.knowledge_k if config.knowledge_enabled else 0)
    return (pack if config.policy == "afm" else pack_as_published)(
        messages,
        focus,
        query,
        _room(messages, budget, count, lines, first),
        count,
        compressor if config.afm_compression else NoCompressor(),
        joined=(lambda shown: count(lines(shown, first))) if lines else None,
        stubs=config.afm_stubs,
    )


def scored(judged: Sequence[Judgement], rounds_ago: Sequence[int], config: GovernanceConfig) -> list[Focus]:
    """The focus of messages as the config wants it, with the parts that it switches off left out.

    What is not judged is the same for all: TRIVIAL without a reason, which is what the paper's classifier says without
    a model, or as near as can be. Without stubs nothing is meant to be one. Scoring what it gave again changes nothing.
    """
    return focuses(
        [item.importance if config.afm_importance else "TRIVIAL" for item in judged],
        [item.similarity if config.afm_similarity else 1.0 for item in judged],
        rounds_ago,
        [item.probability if config.afm_importance else None for item in judged],
        [item.reason if config.afm_importance else None for item in judged],
        half_life=config.afm_half_life,
        tau_high=config.afm_full,
        tau_mid=config.afm_compressed if config.afm_stubs else 0.0,
    )


def _room(messages: Sequence[Message], budget: int, count: Count, lines: Lines | None, first: int) -> Budget:
    """The budget, and what the prompt adds to the words of a message.

    Of lines that is an estimate from one with the longest name, the oldest date and the highest number that so small a
    budget leaves room for: lines are counted as they are once they are known, and less is shown if need be.
    """
    names = {message.name for message in messages if message.name}
    if lines is None or not messages:
        return Budget(budget, overhead=max((count(f"{name}: ") for name in names), default=0))
    # Sorted: of two names that cost the same a replay must find the same one.
    longest = max(sorted(names), key=lambda name: count(f"{name}: "), default="")
    oldest = messages[0]
    probe = Message(oldest.speaker, oldest.round, _WORD, oldest.memory, oldest.at, longest)
    last = first + min(len(messages), budget // LEAST)
    word = count(_WORD)
    whole = count(lines([Placed(probe, "COMPRESSED", _WORD, 0, "")], last))
    stub = count(lines([Placed(probe, "PLACEHOLDER", _WORD, 0, "")], last))
    return Budget(budget, overhead=max(whole - word, 0), stub_overhead=max(stub - word, 0))


_WORD = "word"
