"""What can be counted in a reply. Pure functions of a text; each gives the places, so that a finding can be shown.

Words are runs of letters and digits of scripts with spaces, and single characters of Chinese, Japanese and Korean: so
"words" and 字 are one measure, and both languages are counted alike. Markdown is read by its usual signs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import regex

from governance.adherence.kinds import Countable
from retrieval.text import CJK, Span, sentences

_WORD = re.compile(f"[{CJK}]|[^\\W{CJK}]+(?:['’\\-.,&/@][^\\W{CJK}]+)*")
_EMOJI = regex.compile(r"\p{RI}{2}|(?:\p{Emoji_Presentation}|\p{Extended_Pictographic})(?:\p{EMod}|\uFE0F|\u200D\X)*")
# Signs that are pictographs by the book and plain typography in a text.
_NO_EMOJI = frozenset("©®™‼⁉ℹ↔↕↖↗↘↙✔✖")
_FENCE = re.compile(r"^(`{3,}+|~{3,}+)[^\n]*+\n.*?(?:^\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]+`")
_BULLET = re.compile(r"^[ \t]*(?:[*+\-•·‣◦▪–—]|●|○)(?!\*)[ \t]+\S", re.MULTILINE)
_LINE = re.compile(r"[^\n]+")
_BLANK = re.compile(r"\n[ \t]*\n\s*")
_DELIMITERS = re.compile(r"[ \t]*+\|?[ \t]*+:?-[-:| \t]*")
_RULE = re.compile(r"^[ \t]*(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$", re.MULTILINE)
_HIGHLIGHT = re.compile(r"\*\*[^*\n]+\*\*|(?<!\*)\*(?![\s*])[^*\n]+(?<!\s)\*(?!\*)")
_LINK = re.compile(r"https?://[^\s)>\]，。]+|\bwww\.[^\s)>\]，。]+")


def words(text: str) -> list[Span]:
    """Words of scripts with spaces, and characters of those without."""
    return _spans(_WORD, text)


def emojis(text: str) -> list[Span]:
    """Emojis, a sequence of joined ones as one."""
    found = (Span(*match.span()) for match in _EMOJI.finditer(text))
    return [span for span in found if text[span.start : span.end] not in _NO_EMOJI]


def paragraphs(text: str) -> list[Span]:
    """Stretches between blank lines or between rules (***); of a text with neither, its lines."""
    bounds = [*_spans(_RULE, text), *_spans(_BLANK, text)]
    if not bounds:
        return lines(text)
    return _between(text, sorted(bounds))


def lines(text: str) -> list[Span]:
    """Lines that are not blank."""
    return [span for span in _spans(_LINE, text) if text[span.start : span.end].strip()]


def prose(text: str) -> str:
    """A text with its code blocks, links and inline code blanked out, every offset as it was."""
    for pattern in (_FENCE, _INLINE_CODE, _LINK):
        text = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return text


def bare(text: str) -> str:
    """A text without the white space, quotation marks and Markdown signs around it."""
    return text.strip(" \t\r\n*_#>`\"“”'‘’「」『』")


def count(of: Countable, text: str) -> list[Span]:
    """The places of everything of a sort in a reply, in order."""
    return _COUNTERS[of](text)


def _spans(pattern: re.Pattern[str], text: str) -> list[Span]:
    return [Span(*match.span()) for match in pattern.finditer(text)]


def _between(text: str, bounds: list[Span]) -> list[Span]:
    found, start = [], 0
    for low, high in [*bounds, Span(len(text), len(text))]:
        if low > start and text[start:low].strip():
            found.append(Span(start, low))
        start = max(start, high)
    return found


def _pattern(pattern: str, flags: re.RegexFlag = re.MULTILINE) -> Callable[[str], list[Span]]:
    compiled = re.compile(pattern, flags)
    return lambda text: _spans(compiled, text)


def _outside_code(pattern: str) -> Callable[[str], list[Span]]:
    find = _pattern(pattern)
    return lambda text: find(prose(text))


def _sentences(text: str) -> list[Span]:
    """Sentences that say something: a lone number of a list item or a mark is none."""
    return [span for span in sentences(text) if re.search(r"[^\W\d_]", text[span.start : span.end])]


def _questions(text: str) -> list[Span]:
    asked = [text[span.start : span.end].rstrip("\"”’'」』)）*_ ") for span in sentences(text)]
    return [span for span, words in zip(sentences(text), asked, strict=True) if words.endswith(("?", "？"))]


def _bullets(text: str) -> list[Span]:
    rules = {span.start for span in _spans(_RULE, text)}
    return [span for span in _spans(_BULLET, prose(text)) if span.start not in rules]


def _characters(text: str) -> list[Span]:
    """Characters, spaces between words too, as a message's limit counts them."""
    lead = len(text) - len(text.lstrip())
    return [Span(place, place + 1) for place in range(lead, len(text.rstrip()))]


def _capital_words(text: str) -> list[Span]:
    return [span for span in words(text) if text[span.start : span.end].isupper() and span.end - span.start > 1]


def _tables(text: str) -> list[Span]:
    """Markdown tables: a row of cells over a row of dashes."""
    rows = _spans(_LINE, text)
    return [
        Span(head.start, dashes.end)
        for head, dashes in pairwise(rows)
        if dashes.start == head.end + 1
        and "|" in text[head.start : head.end]
        and _DELIMITERS.fullmatch(text, dashes.start, dashes.end)
    ]


def _highlights(text: str) -> list[Span]:
    """Stretches between single or double asterisks, as IFEval counts them."""
    return _spans(_HIGHLIGHT, text)


_DASHES = r"[—–―]|(?<=\s)--?(?=\s)|(?<=\w)--(?=\w)"
_COUNTERS: dict[Countable, Callable[[str], list[Span]]] = {
    "words": words,
    "characters": _characters,
    "sentences": _sentences,
    "paragraphs": paragraphs,
    "lines": lines,
    "bullets": _bullets,
    "numbered_items": _outside_code(r"^[ \t]*(?:\(?\d+[.)、．]|[一二三四五六七八九十]+、)(?=\s*\S)"),
    "headings": _outside_code(r"^#{1,6}[ \t]+\S"),
    "sections": _pattern(
        r"\b(?:section|part|paragraph|chapter|day)[ \t]+(?:\d+|[ivx]+)\b|第[一二三四五六七八九十\d]+[章节部]",
        re.IGNORECASE,
    ),
    "bold": _outside_code(r"\*\*[^*\n]+\*\*|__[^_\n]+__"),
    "highlights": _highlights,
    "tables": _tables,
    "code_blocks": lambda text: _spans(_FENCE, text),
    "titles": _pattern(r"<<[^\n<>]+>>"),
    "placeholders": _pattern(r"\[[^\[\]\n]+\](?!\()"),
    "postscripts": _pattern(r"(?:^|\s)(?:p\.[ ]?p\.[ ]?s|p\.[ ]?s|ps(?=[.: ]))(?![a-z])|附言|又及", re.IGNORECASE),
    "emojis": emojis,
    "questions": _questions,
    "question_marks": _pattern(r"[?？]"),
    "exclamation_marks": _pattern(r"[!！]"),
    "commas": _pattern(r"[,，]"),
    "semicolons": _pattern(r"[;；]"),
    "colons": _pattern(r"[:：]"),
    "dashes": _pattern(_DASHES),
    "brackets": _pattern(r"[()（）]"),
    "quotation_marks": _pattern(r"[\"“”「」『』]|(?<!\w)['‘]|['’](?!\w)"),
    "full_stops": _pattern(r"(?<!\.)\.(?!\.|\w)|。"),
    "ellipses": _pattern(r"\.{3,}|…+"),
    "punctuation": _pattern(r"[^\w\s]"),
    "digits": _pattern(r"\d+"),
    "capital_words": _capital_words,
    "hashtags": _pattern(r"(?<!\w)#\w+"),
    "links": _pattern(_LINK.pattern),
}
