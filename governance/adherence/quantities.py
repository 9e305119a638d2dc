"""Numbers and bounds as instructions word them: "at least three", "under 100", 不超过五十, 两三.

`QUANTITY` is the pattern of a quantity in either language, `bounds` reads what it matched.
"""

# A pattern is easier to read whole than in pieces.
# ruff: noqa: E501

from __future__ import annotations

import re

_ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORDS = {word: number for number, word in enumerate(_ONES)}
_WORDS |= {word: 20 + 10 * place for place, word in enumerate(_TENS)}
_WORDS |= {f"{ten}-{one}": 20 + 10 * place + number
           for place, ten in enumerate(_TENS) for number, one in enumerate(_ONES[:10]) if number}  # fmt: skip
_WORDS |= {"a hundred": 100, "one hundred": 100, "two hundred": 200, "three hundred": 300, "five hundred": 500,
           "a thousand": 1000, "a couple of": 2, "a dozen": 12, "single": 1, "a single": 1, "a": 1, "an": 1}  # fmt: skip
_DIGITS = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_UNITS = {"十": 10, "百": 100, "千": 1000}

_ENGLISH = "|".join(sorted((re.escape(word) for word in _WORDS if word not in ("a", "an")), key=len, reverse=True))
NUMBER = rf"(?:\d[\d,]*(?!\d)|(?:{_ENGLISH})\b|[零〇一二两三四五六七八九十百千]+)"
# "About" is taken as a fifth more or less.
ABOUT = 0.2

_MORE = r"at least|no (?:less|fewer) than|not (?:less|fewer) than|a minimum of|minimum(?: of)?|至少|最少|不少于|不低于|起码|不得少于"
_OVER = r"more than|over|above|超过|多于|大于"
_LESS = (
    r"at most|no more than|not more than|up to|a maximum of|maximum(?: of)?|max\.?|within|no longer than|not exceed(?:ing)?"
    r"|(?:never |don't |do not )exceed|limit(?:ed)?(?: [\w ]{1,30})?? to|至多|最多|不超过|不多于|不要超过|别超过|不得超过|不能超过"
    r"|控制在|限制在|限"
)
_UNDER = r"less than|fewer than|under|below|shorter than|少于|小于|低于|不到|不足"
_EXACT = r"exactly|precisely|only|just|恰好|正好|刚好|只(?:用|有|能)?"
_CIRCA = r"about|around|approximately|roughly|some|大约|大概|约"
_AFTER_MORE = r"\+|\s*(?:(?:or|and) (?:more|above)|(?:at least|minimum|at minimum)(?!\s*\d))\b|(?:个|字|词|句|段|条|次)?(?:以上|或更多)"
_AFTER_LESS = r"\s*(?:or (?:less|fewer|under|below)|(?:at most|at max|max|maximum|tops)(?!\s*\d))\b|(?:个|字|词|句|段|条|次)?(?:以内|之内|以下|内)"
_AFTER_ABOUT = r"(?:个|字|词|句|段|条|次)?(?:左右|上下)"
_BEFORE = {"more": _MORE, "less": _LESS, "under": _UNDER, "exact": _EXACT, "circa": _CIRCA}


def quantity(name: str) -> str:
    """The pattern of a quantity, whose groups begin with `name`; `bounds` reads a match of it."""
    before = "|".join(f"(?P<{name}_{key}>{pattern})" for key, pattern in _BEFORE.items())
    # "不超过" before "超过": the longer word is another bound.
    before += f"|(?P<{name}_over>{_OVER})"
    return (
        rf"(?:(?:{before})(?:\s+|(?<=[^\x00-\x7f]))?(?:a total of |the |写|用|说|有|回答|包含|给出)?)?"
        rf"(?:(?:between |from |介于|在)?(?P<{name}_low>{NUMBER})\s*(?:-|–|—|~|to|and|or|到|至)\s*(?P<{name}_high>{NUMBER})"
        rf"|(?P<{name}_number>{NUMBER}))"
    )


def suffix(name: str) -> str:
    """The pattern of what may stand behind the unit of a quantity and bounds it: "or more", 以内."""
    return rf"(?:(?P<{name}_plus>{_AFTER_MORE})|(?P<{name}_atmost>{_AFTER_LESS})|(?P<{name}_near>{_AFTER_ABOUT}))?"


def bounds(match: re.Match[str], name: str) -> tuple[int, int | None] | None:
    """The least and the most (None: no limit) of a quantity that was matched; None when there is none."""
    said = {key.removeprefix(f"{name}_"): value for key, value in match.groupdict().items()
            if value is not None and key.startswith(f"{name}_")}  # fmt: skip
    if "low" in said:
        low, high = number(said["low"]), number(said["high"])
        return (min(low, high), max(low, high))
    if "number" not in said:
        return None
    value = number(said["number"])
    if "circa" in said or "near" in said:
        return (round(value * (1 - ABOUT)), round(value * (1 + ABOUT)))
    if "more" in said or "plus" in said:
        return (value, None)
    if "over" in said:
        return (value + 1, None)
    if "less" in said or "atmost" in said:
        return (0, value)
    if "under" in said:
        return (0, max(value - 1, 0))
    return (value, value)


def number(text: str) -> int:
    """A number in digits, English words or Chinese numerals."""
    text = text.strip().lower()
    if text in _WORDS:
        return _WORDS[text]
    if text[0].isdigit():
        # A limit of more digits than this is none that anybody means.
        return int(text.replace(",", "")[:9])
    return _chinese(text)


def _chinese(text: str) -> int:
    if not any(sign in _UNITS for sign in text):
        return int("".join(str(_DIGITS[sign]) for sign in text)[:9])
    total, digit = 0, 0
    for sign in text:
        if sign in _UNITS:
            total += (digit or 1) * _UNITS[sign]
            digit = 0
        else:
            digit = _DIGITS[sign]
    return total + digit
