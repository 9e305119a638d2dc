"""Standing instructions that cannot both be kept: two languages, two lengths, "use emojis" and "never use emojis".

The newer one holds and the older is marked; neither is retired by that, since the person did not ask for it. Only what
code can read of both (`governance.adherence`) is compared, and never two of which one is for some occasion only: a
contradiction that is shown is one. Pure functions.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

from governance.adherence import read
from governance.adherence.kinds import Address, Constraint, Count, Edge, Form, InLanguage, Mentions

if TYPE_CHECKING:
    from governance.instructions import Instruction


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Ids of two active instructions that cannot both be kept, and what they are about. The newer one holds."""

    older: str
    newer: str
    about: str


def contradictions(active: Sequence[Instruction]) -> list[Contradiction]:
    """Each active instruction (oldest first) that a newer one contradicts, with the newest that does.

    In the order of the older ones; at most one for each, however many say the same.
    """
    # Only instructions about the same thing are compared: a thousand of them are a thousand readings, not a million.
    by_topic: dict[str, list[tuple[int, _Claim]]] = defaultdict(list)
    for place, item in enumerate(active):
        for claim in _claims(item.text):
            by_topic[claim.topic].append((place, claim))
    found: dict[int, tuple[int, str]] = {}
    for topic, claims in by_topic.items():
        for (older, one), (newer, two) in combinations(claims[-_MOST:], 2):
            if older != newer and _clash(one, two) and newer >= found.get(older, (0, ""))[0]:
                found[older] = newer, _about(topic)
    return [Contradiction(active[older].id, active[newer].id, about) for older, (newer, about) in sorted(found.items())]


# Of more claims about one thing than that, only the newest are compared.
_MOST = 200


@dataclass(frozen=True, slots=True)
class _Claim:
    """What an instruction says of one topic: a value of which only one can hold, or bounds on a number."""

    topic: str
    value: str = ""
    wanted: bool = True
    least: int = 0
    most: int | None = None


def _clash(one: _Claim, two: _Claim) -> bool:
    if one.topic.startswith("count:"):
        low, high = max(one.least, two.least), min(_bound(one.most), _bound(two.most))
        return low > high
    if one.wanted and two.wanted:
        return one.value != two.value
    # "Not French" and "not German" go together; "French" and "not French" do not.
    return one.wanted != two.wanted and one.value == two.value


def _bound(most: int | None) -> float:
    return float("inf") if most is None else most


@lru_cache(maxsize=2048)
def _claims(text: str) -> tuple[_Claim, ...]:
    reading = read(text)
    claims = [] if _WHEN.search(text) else list(_tones(text))
    if not reading.scoped and reading.scope is None:
        claims += [claim for constraint in reading.constraints for claim in _of(constraint)]
    return tuple(dict.fromkeys(claims))


def _of(constraint: Constraint) -> Iterator[_Claim]:
    match constraint:
        case InLanguage(language=str(language), wanted=wanted):
            yield _Claim("language", language, wanted)
        case Edge(end=end, texts=texts, any=sort, wanted=wanted, paragraph=None):
            # One that allows several ways to begin is kept by any of them.
            if len(texts) == 1 or sort is not None:
                yield _Claim(f"edge:{end}", (sort or texts[0]).casefold(), wanted)
        case Count(of=of, least=least, most=most):
            yield _Claim(f"count:{of}", least=least, most=most)
        case Mentions(texts=texts, least=least, most=most):
            for text in texts:
                yield _Claim(f"count:the word {text.casefold()}", least=least, most=most)
        case Form(form=form):
            if form in ("lower_case", "upper_case"):
                yield _Claim("case", form)
            elif form in ("plain_text", "markdown", "json"):
                yield _Claim("form", form)
        case Address(names=names, wanted=wanted):
            if len(names) == 1:
                yield _Claim("address", names[0].casefold(), wanted)
        case _:
            return


_TONES = (
    (
        "length of replies in words",
        re.compile(r"\b(?:brief|short|concise|terse|to the point)\b|简短|简洁|精简|简明", re.IGNORECASE),
        re.compile(
            r"\b(?:long|detailed|in detail|elaborate|thorough|exhaustive)\b|详细|详尽|长一点|展开", re.IGNORECASE
        ),
    ),
    (
        "tone",
        re.compile(r"\bformal\b|正式|敬语", re.IGNORECASE),
        re.compile(r"\b(?:informal|casual|relaxed|chatty)\b|随意|口语|轻松|非正式", re.IGNORECASE),
    ),
)
_WHEN = re.compile(
    r"\b(?:if|when|whenever|unless|only|except|for|about|while)\b|如果|要是|除|只|针对|关于|的时候|时候|遇到|涉及",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:not?|never|don'?t|do not|too|less|avoid|without|stop|isn'?t)\b|不|别|太|无|非(?!常)", re.IGNORECASE
)


def _tones(text: str) -> Iterator[_Claim]:
    """Opposites of tone and length that no count says; none where something is negated: which one is unclear."""
    if _NEGATED.search(text):
        return
    for topic, one, other in _TONES:
        here, there = one.search(text) is not None, other.search(text) is not None
        if here != there:
            yield _Claim(topic, "one" if here else "other")


_ABOUT = {
    "language": "the language of replies",
    "edge:start": "how replies begin",
    "edge:end": "how replies end",
    "case": "upper and lower case",
    "form": "the form of replies",
    "address": "how the person is addressed",
}


def _about(topic: str) -> str:
    return _ABOUT.get(topic) or topic.removeprefix("count:").replace("_", " ")
