"""Words without which a pattern finds nothing: a cheap look before a search that takes longer.

Most sentences ask for nothing, and the rules spend most of their time on finding that out. Whatever `\\b(?:from now on|
henceforth)\\b` finds holds one of two words, which is quickly looked up. Pure functions. Knows nothing about the rules.

Source: Cox, "Regular Expression Matching with a Trigram Index", 2012; there an index is asked, here the text itself.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from retrieval.text import has_cjk

Words = frozenset[str]

# Other characters that a pattern in any case takes for an i, an s or a k.
_SAME = str.maketrans({"\u0130": "i", "\u0131": "i", "\u017f": "s", "\u212a": "k"})
# A Han character tells as much as so many letters.
_HAN = 3
# So many characters to choose from are no word.
_MANY = 4
# Looking up more words than these takes longer than the search.
_SOON = 30
# Under its old name, sre_parse, Python warns of it. What a later Python names otherwise is taken for anything.
_PARSER: Any = importlib.import_module("re._parser")


def folded(text: str) -> str:
    """The text in one case, as `needed` words are."""
    return text.lower() if text.isascii() else text.translate(_SAME).lower()


def needed(pattern: re.Pattern[str]) -> Words | None:
    """Words in one case of which at least one stands in all that the pattern finds; None where no such are known."""
    words = _of_sequence(_PARSER.parse(pattern.pattern, pattern.flags))
    return words and frozenset(word for word in words if not any(part in word for part in words - {word}))


def has_any(text: str, words: Words | None) -> bool:
    """Whether any of the words stands in a text in one case; True where none are known."""
    if words is None:
        return True
    for word in words:  # noqa: SIM110 (a generator takes three times as long)
        if word in text:
            return True
    return False


def _of_sequence(nodes: Iterable[Any]) -> Words | None:
    """The best that any part of a sequence needs: each has to be found."""
    found = [words for words in _parts(nodes) if words]
    return max(found, key=_worth, default=None)


def _parts(nodes: Iterable[Any]) -> Iterator[Words | None]:
    """What each part needs; letters behind one another are one word."""
    run = ""
    for code, given in nodes:
        if str(code) == "LITERAL":
            run += chr(given)
            continue
        yield _word(run)
        run = ""
        yield _of_node(str(code), given)
    yield _word(run)


def _of_node(code: str, given: Any) -> Words | None:
    if code == "BRANCH":
        return _either([_of_sequence(branch) for branch in given[1]])
    if code == "SUBPATTERN":
        return _of_sequence(given[-1])
    if code in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return _of_sequence(given[2]) if given[0] > 0 else None
    if code == "IN" and len(given) <= _MANY and all(str(item[0]) == "LITERAL" for item in given):
        return _either([_word(chr(item[1])) for item in given])
    return None


def _either(branches: Sequence[Words | None]) -> Words | None:
    """What stands in one branch or the other; nothing is known when it isn't of one of them."""
    known = [words for words in branches if words]
    return frozenset().union(*known) if len(known) == len(branches) else None


def _word(run: str) -> Words | None:
    return frozenset({folded(run)}) if run else None


def _worth(words: Words) -> tuple[bool, int, int]:
    """Whether they are soon looked up; how much the least telling of them tells; how few they are."""
    telling = min(sum(_HAN if has_cjk(character) else 1 for character in word) for word in words)
    return len(words) <= _SOON, telling, -len(words)
