"""Adaptive focus as a context policy: every remembered message as a whole, shortened, as a stub or left out.

Between the policies, which know rounds and settings, and `governance.afm`, which scores and packs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from governance.afm.compress import Compressor
from governance.afm.packing import NO_ROOM, Budget, pack, pack_as_published
from governance.afm.scoring import focuses
from governance.config import GovernanceConfig
from governance.decay import Moment
from governance.history import Count, Importance, Message, Placed


@dataclass(frozen=True, slots=True)
class Judgement:
    """How near a message is to the question, in [0, 1], and how important it is."""

    similarity: float
    importance: Importance


Judge = Callable[[Sequence[Message]], Sequence[Judgement]]


def placed_by_focus(
    messages: Sequence[Message],
    query: str,
    config: GovernanceConfig,
    moment: Moment,
    budget: int,
    count: Count,
    compressor: Compressor,
    judge: Judge,
) -> list[Placed]:
    """What becomes of every message for `query` in `budget` tokens, each counted behind its speaker's name.

    `afm` packs as we ship it, `afm_paper` as published. With no budget at all every message is left out.
    """
    judged = judge(messages)
    focus = focuses(
        [item.importance for item in judged],
        [item.similarity for item in judged],
        [moment.round - message.round for message in messages],
        half_life=config.afm_half_life,
        tau_high=config.afm_full,
        tau_mid=config.afm_compressed,
    )
    if budget < 1:
        return [Placed(message, None, "", 0, NO_ROOM, item) for message, item in zip(messages, focus, strict=True)]
    names = {message.name for message in messages if message.name}
    room = Budget(budget, overhead=max((count(f"{name}: ") for name in names), default=0))
    packer = pack if config.policy == "afm" else pack_as_published
    return packer(messages, focus, query, room, count, compressor)
