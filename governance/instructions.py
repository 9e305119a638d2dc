"""Standing instructions: recognising them in a message by clear rules, and the prefix that shows them in every prompt.

Precision comes first: a rule fires only on words that say the instruction is meant to last ("from now on", 以后都).
Questions, quotations, hypotheticals and instructions for one task are left alone; the person can always add and retire
by hand. Pure functions; what is active is the caller's to keep.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from governance.instruction_rules import ADD, COURTESY, NOT, QUOTED, RETIRE, first_match
from retrieval.text import sentences
from retrieval.tokens import tokenize


@dataclass(frozen=True, slots=True)
class Instruction:
    """A standing instruction: its id, its words, and the round it was given in (0 when added by hand before any)."""

    id: str
    text: str
    round: int


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a sentence of the user asks of the instruction list: `text` to add, or to retire what it speaks of."""

    action: Literal["add", "retire"]
    text: str
    rule: str


# Nobody words a standing instruction at such length; a pasted text without sentence borders would take rules long.
_LONGEST = 500


def recognise(message: str) -> list[Recognised]:
    """The standing instructions in `message`, in order; by rules (REA section 3.3 defines what one is)."""
    found = []
    # What stands in quotation marks is spoken of, not asked for; but it may be an argument ('end with "yes"'). Blanked
    # before sentences are told apart, so that the second sentence of a quotation is not taken for the person's own.
    blanked = QUOTED.sub(_blank, message)
    for start, end in sentences(blanked):
        sentence = COURTESY.sub("", blanked[start:end])
        if len(sentence) > _LONGEST or first_match(NOT, sentence):
            continue
        if rule := first_match(RETIRE, sentence):
            found.append(Recognised("retire", message[start:end], rule))
        elif rule := first_match(ADD, sentence):
            found.append(Recognised("add", message[start:end], rule))
    return found


def _blank(quoted: re.Match[str]) -> str:
    """The quotation marks and as many underscores; a mark that ends a sentence before the closing one stays."""
    text = quoted[0]
    last = text[-2] if text[-2] in ".!?。！？" else "_"
    return text if len(text) < 3 else text[0] + "_" * (len(text) - 3) + last + text[-1]


def retired_by(sentence: str, active: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """The active instructions that a retiring `sentence` speaks of: all when it says so ("all my instructions"), else
    the one that shares most words, the newest of ties.

    None when it shares no word, so that nothing is retired by guessing.
    """
    if _ALL.search(sentence):
        return tuple(active)
    words = set(tokenize(sentence)) - _GENERAL
    shared = [(len(words & set(tokenize(item.text))), item.round, item) for item in active]
    best = max(shared, key=lambda row: row[:2], default=None)
    return (best[2],) if best and best[0] else ()


_ALL = re.compile(
    r"\b(?:all|every one)(?: of)? (?:my |the |your |these |those )?(?:\w+ )?(?:instruction|rule|request|requirement)s\b"
    r"|(?:所有|全部|一切)(?:的)?.{0,8}(?:要求|指令|规则|限制|指示)",
    re.IGNORECASE,
)


# Words that any retiring or any instruction may hold: sharing only these means nothing.
_GENERAL = frozenset(
    tokenize(
        "stop forget ignore drop cancel instruction rule limit request requirement need longer earlier please always "
        "never every again anymore answer reply respond response message use using say call speak write start end "
        "取消 忘掉 忘记 忽略 撤销 去掉 要求 指令 规则 限制 之前 不用 不必 需要 不要 再用 再叫 叫我 称呼我 请用 请叫 "
        "以后 现在 可以 每次 都用 始终 回答 回复 说话 使用"
    )
)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The instruction prefix of a prompt: what is shown and what the token cap left out, both newest last."""

    shown: tuple[Instruction, ...]
    omitted: tuple[Instruction, ...]


def prefix(active: Sequence[Instruction], budget: int, count: Callable[[str], int]) -> Prefix:
    """The active instructions that fit `budget` tokens, in the order they were given; the oldest yield first."""
    spent, shown, omitted = 0, [], []
    for item in reversed(active):
        cost = count(item.text)
        if spent + cost <= budget:
            spent += cost
            shown.append(item)
        else:
            omitted.append(item)
    return Prefix(tuple(reversed(shown)), tuple(reversed(omitted)))
