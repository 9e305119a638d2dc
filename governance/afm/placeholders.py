"""Stubs that stand for a message that is not shown, or for a run of them, and say what they stand for.

Keywords are found as RAKE finds them (Rose et al., "Automatic Keyword Extraction from Individual Documents", 2010): the
runs between stop words and marks, scored by how often their words stand together. They depend on the message alone, so
a stub is the same in every round and every process. Pure functions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from governance.history import Message, Speaker
from retrieval.text import Language, language
from retrieval.tokens import STOP_WORDS

# Keywords of one message, and of a run at most.
_OF_ONE, _OF_RUN = 3, 12
# What is read of a message for its keywords; the longest phrase, in words and in Chinese characters.
_READ = 2000
_WORDS, _CHARACTERS = 4, 8

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_PIECE = re.compile(rf"(?P<han>[{_HAN}]+)|(?P<word>(?:(?![{_HAN}])[^\W_])+(?:['’.\-](?:(?![{_HAN}])[^\W_])+)*)")
# Characters that are rarely part of a longer word: cutting at more of them would cut words in two.
_STOP = re.compile("[的了吗呢吧呀啊嘛哦嗯我你他她它您们这那就都也还很和与及或但而因所被把给让请帮想在是]")
_SENTENCE_END = re.compile(r"[.!?:\n。！？：]")
# What a name is worth beside RAKE's score of a word, which is one for a word that stands alone.
_NAME = 3.0
_LETTER = re.compile(r"[^\W\d_]")
# Words that say nothing about a message's subject.
_EMPTY = STOP_WORDS | frozenset(
    """please thanks thank hello hi hey ok okay yes yeah well really like know think want need get got let us may might
    take took near fine two three much many lot also even still just maybe sure great good nice tell told said say
    going go one way thing things something anything everything i'm i've i'd it's that's don't can't""".split()
)


def placeholder(message: Message) -> str:
    """The stub of one message, in the message's language: "[round 12, user: hotel, Ghent, 85 words]"."""
    words = _STUB[language(message.text)]
    named = words.between.join(keywords(message.text))
    who, size = words.speakers[message.speaker], length(message.text)
    return (words.named if named else words.bare).format(round=message.round, who=who, named=named, size=size)


def merged(messages: Sequence[Message], scores: Sequence[float] | None = None, *, others: bool = False) -> str:
    """The stub of several messages: their rounds, how many, and keywords of those that score highest, oldest first.

    Without `scores` it is the shortest stub there is, without keywords. `others` says that messages between them are
    shown, so that they are not all of those rounds.
    """
    if len(messages) == 1 and scores is not None:
        return placeholder(messages[0])
    named = _named(messages, scores) if scores is not None else []
    words = _STUB[language(" ".join(named) or messages[-1].text)]
    first, last = messages[0].round, messages[-1].round
    rounds = (words.one_round if first == last else words.rounds).format(first=first, last=last)
    head = (words.others if others else words.all).format(rounds=rounds, count=len(messages))
    return words.stub.format(head=head, named=words.colon + words.between.join(named) if named else "")


def _named(messages: Sequence[Message], scores: Sequence[float]) -> list[str]:
    """The best keyword of those with the highest scores, in the order of the conversation, none twice."""
    most = min(_OF_RUN, max(_OF_ONE, math.isqrt(len(messages))))
    # A few more than are named: some have no keyword, and some have that of another. Of equals the oldest.
    best = np.argsort(-np.asarray(scores), kind="stable")[: 2 * most]
    found: dict[str, tuple[int, str]] = {}
    for place in best.tolist():
        for _, word in _ranked(messages[place].text)[:1]:
            found.setdefault(word.casefold(), (place, word))
        if len(found) == most:
            break
    return [word for _, word in sorted(found.values())]


def length(text: str) -> int:
    """How long a person would call a text: Chinese characters each, other words each."""
    return sum(len(piece["han"]) if piece["han"] else 1 for piece in _PIECE.finditer(text))


def keywords(text: str) -> tuple[str, ...]:
    """Up to three phrases that say what a text is about, in the order of the text; fewer if it says little."""
    return tuple(name for _, name in sorted(_ranked(text)))


@lru_cache(maxsize=65536)
def _ranked(text: str) -> tuple[tuple[int, str], ...]:
    """The keywords of a text, best first, with their places in it."""
    phrases = list(_phrases(text[:_READ]))
    together: dict[str, int] = {}
    alone: dict[str, int] = {}
    for phrase in phrases:
        for word in phrase:
            alone[word.folded] = alone.get(word.folded, 0) + 1
            together[word.folded] = together.get(word.folded, 0) + len(phrase)
    shown: dict[str, tuple[float, int, str]] = {}
    for place, phrase in enumerate(phrases):
        score = sum(word.bonus + together[word.folded] / alone[word.folded] for word in phrase)
        name = " ".join(word.text for word in phrase)
        shown.setdefault(name.casefold(), (-score, place, name))
    return tuple((place, name) for _, place, name in sorted(shown.values())[:_OF_ONE])


class _Word(NamedTuple):
    """A word, or a run of Chinese characters; `bonus` is added to RAKE's score of it."""

    text: str
    folded: str
    bonus: float


def _phrases(text: str) -> Iterator[list[_Word]]:
    """The runs of words between stop words and marks, and of Chinese characters between function characters."""
    run: list[_Word] = []
    end = 0
    for piece in _PIECE.finditer(text):
        between = text[end : piece.start()].strip(" ")
        if run and (piece["han"] or between):
            yield from _phrase(run)
            run = []
        # A capital says nothing at the beginning of a sentence.
        begins = end == 0 or bool(_SENTENCE_END.search(between))
        end = piece.end()
        if piece["han"]:
            yield from _han_phrases(piece["han"])
            continue
        word = piece["word"]
        folded = word.casefold().replace("’", "'")
        if folded in _EMPTY:
            yield from _phrase(run)
            run = []
        else:
            run.append(_Word(word, folded, _NAME if word[0].isupper() and not begins else 0.0))
    yield from _phrase(run)


def _phrase(run: list[_Word]) -> Iterator[list[_Word]]:
    if any(_LETTER.search(word.text) for word in run):
        yield run[:_WORDS]


def _han_phrases(run: str) -> Iterator[list[_Word]]:
    """The parts of a run. Two characters are about a word, and a phrase of n words scores n² where each occurs once."""
    for part in _STOP.split(run):
        if len(part) >= 2:
            kept = part[:_CHARACTERS]
            yield [_Word(kept, kept, (len(kept) / 2) ** 2 - 1)]


@dataclass(frozen=True, slots=True)
class _Words:
    """How stubs read in one language."""

    speakers: Mapping[Speaker, str]
    between: str
    colon: str
    named: str
    bare: str
    one_round: str
    rounds: str
    all: str
    others: str
    stub: str = "[{head}{named}]"


_STUB: Mapping[Language, _Words] = {
    "en": _Words(
        speakers={"user": "user", "assistant": "assistant"},
        between=", ",
        colon=": ",
        named="[round {round}, {who}: {named} — {size} words]",
        bare="[round {round}, {who}: {size} words]",
        one_round="round {first}",
        rounds="rounds {first}–{last}",
        all="{rounds}, {count} messages",
        others="others of {rounds}, {count} messages",
    ),
    "zh": _Words(
        speakers={"user": "用户", "assistant": "助手"},
        between="、",
        colon="：",
        named="[第{round}轮，{who}：{named}，共{size}字]",
        bare="[第{round}轮，{who}：共{size}字]",
        one_round="第{first}轮",
        rounds="第{first}–{last}轮",
        all="{rounds}，{count}条",
        others="{rounds}其余{count}条",
    ),
}
