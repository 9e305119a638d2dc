"""The papers' baselines: which earlier messages a plain context window shows, and how. Pure functions.

Every function takes a conversation's earlier messages, oldest first, and returns one `Placed` for each in the same
order. A round is shown as a whole or not at all, and nothing is left out without its reason. `room` is what the model's
own window has left for them, in tokens: no policy shows more.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TypeVar

from governance.afm.compress import Compressed, Compressor
from governance.history import Count, Message, Placed

Item = TypeVar("Item")

SHOWN = "in the window"
OUTSIDE = "before the window"
OVER_BUDGET = "over the token budget"
OVER_ROOM = "over the model's window"
COMPRESSED = "compressed"
SUMMARISED = "in the summary"


def full(messages: Sequence[Message], room: int, count: Count) -> list[Placed]:
    """Every message word for word (`full`, the papers' vanilla prompt); the oldest yield where the model ends."""
    return _newest_first(_rounds(messages), room, count, OVER_ROOM)


def recent(messages: Sequence[Message], rounds: int, room: int, count: Count) -> list[Placed]:
    """The last `rounds` rounds word for word (`recent_k`; REA, section 4.1)."""
    older, newer = _split(messages, rounds)
    return [*_left_out(older, OUTSIDE), *_newest_first(newer, room, count, OVER_ROOM)]


def truncated(messages: Sequence[Message], budget: int, room: int, count: Count) -> list[Placed]:
    """As many of the last rounds as `budget` tokens hold (`truncated`; AFM paper, section 4.4: naive replay)."""
    over = OVER_BUDGET if budget <= room else OVER_ROOM
    return _newest_first(_rounds(messages), min(budget, room), count, over)


def recency_compressed(
    messages: Sequence[Message], rounds: int, each: int, budget: int, room: int, count: Count, compressor: Compressor
) -> list[Placed]:
    """The last `rounds` rounds word for word, older messages in at most `each` tokens each, all within `budget`
    (`recency_compressed`; AFM paper, section 4.4)."""
    over, limit = (OVER_BUDGET, budget) if budget <= room else (OVER_ROOM, room)
    older, newer = _split(messages, rounds)
    placed = _newest_first(newer, limit, count, over)
    left = limit - sum(item.tokens for item in placed)
    if any(item.fidelity is None for item in placed):
        return [*_left_out(older, over), *placed]
    shown: list[list[Placed]] = []
    for place in range(len(older) - 1, -1, -1):
        short = [_compressed(message, each, count, compressor) for message in older[place]]
        cost = sum(item.tokens for item in short)
        if cost > left or not all(item.text for item in short):
            return [*_left_out(older[: place + 1], over), *_flat(shown[::-1]), *placed]
        left -= cost
        shown.append(short)
    return [*_flat(shown[::-1]), *placed]


def summary(
    messages: Sequence[Message], rounds: int, each: int, budget: int, room: int, count: Count, compressor: Compressor
) -> list[Placed]:
    """The last `rounds` rounds word for word behind one rolling summary of all before, of at most `each` tokens.

    `summary` of the papers' baselines. The summary's text and tokens are those of the last message in it; the others
    are part of it and have none.
    """
    over, limit = (OVER_BUDGET, budget) if budget <= room else (OVER_ROOM, room)
    older, newer = _split(messages, rounds)
    told = rolled([_said(round) for round in older], min(each, limit), compressor)
    cost = count(told.text) if told.text else 0
    summed = [Placed(message, "COMPRESSED", "", 0, SUMMARISED) for message in _flat(older)]
    if summed:
        summed[-1] = summed[-1]._replace(text=told.text, tokens=cost, note=told.note)
    return [*summed, *_newest_first(newer, limit - cost, count, over)]


def rolled(rounds: Sequence[str], each: int, compressor: Compressor) -> Compressed:
    """The rolling summary of some rounds' texts: the summary so far and the next round, shortened again.

    Its note is that of the last step.
    """
    told = Compressed("")
    for text in rounds:
        told = compressor.compress(f"{told.text}\n{text}".strip(), "", each)
    return told


def _said(round: Sequence[Message]) -> str:
    return "\n".join(message.text for message in round)


def _rounds(messages: Sequence[Message]) -> list[list[Message]]:
    return [list(group) for _, group in groupby(messages, key=lambda message: message.round)]


def _split(messages: Sequence[Message], rounds: int) -> tuple[list[list[Message]], list[list[Message]]]:
    """The rounds before the last `rounds`, and those."""
    grouped = _rounds(messages)
    place = max(len(grouped) - rounds, 0)
    return grouped[:place], grouped[place:]


def _newest_first(rounds: Sequence[Sequence[Message]], budget: int, count: Count, over: str) -> list[Placed]:
    """Whole rounds from the newest back until the budget is spent."""
    shown: list[list[Placed]] = []
    left = budget
    for place in range(len(rounds) - 1, -1, -1):
        whole = [Placed(message, "FULL", message.text, count(message.text), SHOWN) for message in rounds[place]]
        cost = sum(item.tokens for item in whole)
        if cost > left:
            return [*_left_out(rounds[: place + 1], over), *_flat(shown[::-1])]
        left -= cost
        shown.append(whole)
    return _flat(shown[::-1])


def _compressed(message: Message, each: int, count: Count, compressor: Compressor) -> Placed:
    cost = count(message.text)
    if cost <= each:
        return Placed(message, "FULL", message.text, cost, SHOWN)
    short = compressor.compress(message.text, "", each)
    return Placed(message, "COMPRESSED", short.text, count(short.text), COMPRESSED, note=short.note)


def _left_out(rounds: Sequence[Sequence[Message]], reason: str) -> list[Placed]:
    return [Placed(message, None, "", 0, reason) for message in _flat(rounds)]


def _flat(groups: Sequence[Sequence[Item]]) -> list[Item]:
    return [item for group in groups for item in group]
