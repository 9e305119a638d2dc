"""The context block of ARPM's recall log, item by item.

A block is `=== recalled_context_chronological ===` and items `[n] [source_type=…|source=…|round_num=…|physical_time=…|
formatted_time=…] text`, each text cut short. An item of the history quotes an earlier round of the same log: where it
can be written again from that round it is kept as a reference and not as a copy, so that erasing the round reaches it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

TITLE = "=== recalled_context_chronological ==="
# Every part is bounded, so that a hostile line takes no more time than it has characters.
_ITEM = re.compile(
    r"^\[(?P<n>\d{1,4})\] \[source_type=(?P<type>[^|\n]{0,64})\|source=(?P<source>[^\n]{0,500}?)"
    r"\|round_num=(?P<round>[^|\n]{0,32})\|physical_time=(?P<time>[^|\n]{0,64})\|formatted_time=[^\n]{0,64}?\] ?",
    re.MULTILINE,
)
_QUOTE = '历史对话 {user}: "{message}..." -> {character}: "{reply}..."...'


@dataclass(frozen=True, slots=True)
class Shown:
    """How many characters of a round's message and reply an item quotes."""

    message: int
    reply: int


@dataclass(frozen=True, slots=True)
class Item:
    """One item as the log has it. `text` is None once `shown` says how it is written from its round's words."""

    n: int
    source_type: str
    source: str
    round: int | None
    time: str
    text: str | None
    shown: Shown | None = None


def read_context(context: str) -> tuple[tuple[Item, ...], str]:
    """The items of a block, and whatever else stands in it besides the title."""
    marks = list(_ITEM.finditer(context))
    ends = [*(mark.start() for mark in marks), len(context)][1:]
    items = tuple(
        Item(
            int(mark["n"]),
            mark["type"],
            mark["source"],
            int(mark["round"]) if re.fullmatch(r"\d{1,9}", mark["round"]) else None,
            mark["time"],
            context[mark.end() : end].removesuffix("\n"),
        )
        for mark, end in zip(marks, ends, strict=True)
    )
    before = context[: marks[0].start()] if marks else context
    return items, before.replace(TITLE, "", 1).strip()


def quoted(item: Item, user: str, character: str, message: str, reply: str) -> Item:
    """The item without its text where that can be written again from the round's words; else as it is."""
    if item.text is None:
        return item
    head, middle, tail = _around(user, character)
    if not (item.text.startswith(head) and item.text.endswith(tail)):
        return item
    inside = item.text[len(head) : len(item.text) - len(tail)]
    at = inside.find(middle)
    while at >= 0:
        asked, answered = inside[:at], inside[at + len(middle) :]
        if message.startswith(asked) and reply.startswith(answered):
            return replace(item, text=None, shown=Shown(len(asked), len(answered)))
        at = inside.find(middle, at + 1)
    return item


def written(user: str, character: str, message: str, reply: str, shown: Shown) -> str:
    """The text of an item that quotes a round."""
    head, middle, tail = _around(user, character)
    return f"{head}{message[: shown.message]}{middle}{reply[: shown.reply]}{tail}"


def holds_copy_of(published: Mapping[str, Any], memories: Collection[str]) -> bool:
    """Whether a round's `published` member holds words of other rounds by value: an erasure of those must reach it.

    That is so where the quote in the log is not what the round says now, such as a reply that was replaced later.
    """
    recalls = [published["recalled"], *(one["recalled"] for one in published["replaced"])]
    return any(item["memory"] in memories and item["text"] is not None for items in recalls for item in items or ())


def _around(user: str, character: str) -> tuple[str, str, str]:
    """What stands before, between and after the two quotes."""
    head, rest = _QUOTE.format(user=user, character=character, message="\0", reply="\1").split("\0")
    middle, tail = rest.split("\1")
    return head, middle, tail
