"""Which message corrects which: words of correction, what is denied, and whether both are about the same thing.

"The ferry leaves from pier 5, not from pier 3" corrects whatever said pier 3; "Sorry, I mistyped: the parrot is called
Rico" corrects what was said of the parrot. A message that only asks, supposes or jokes corrects nothing. Pure
functions over texts, tokens and a similarity, in English and Chinese; what follows from a correction is decided by
governance.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from retrieval.text import sentences
from retrieval.tokens import tokenize

# A longer message is a text that tells of changes, and corrects nothing that was said before.
_LONGEST = 600
# Of the words of a denied value, the share that a memory must hold to have stated it; it may then be less akin by this.
_DENIED_SHARE, _DENIED_BONUS = 0.75, 0.25
# How much more akin a memory must be where the only word of correction is one like "actually".
_WEAK_EXTRA = 0.2
# Of several memories that a correction could mean, those that are so much less akin than the nearest are not meant.
_MARGIN = 0.12


@dataclass(frozen=True, slots=True)
class Correction:
    """A message that says it corrects something: by which words, its own tokens, and those of each denied value.

    `weak` says that its words are often said without correcting anything.
    """

    cue: str
    weak: bool
    tokens: frozenset[str]
    denied: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class Earlier:
    """What a correction may be about: the tokens of an earlier memory, and how similar its vector is (0 to 1)."""

    tokens: frozenset[str]
    similarity: float


def correction_in(message: str) -> Correction | None:
    """What a message corrects, by its own words; None when it corrects nothing."""
    if len(message) > _LONGEST or not (_STRONG.search(message) or _WEAK.search(message)) or _JOKE.search(message):
        return None
    stated = [said for start, end in sentences(message) if not _OPEN.search(said := message[start:end])]
    strong = next((found[0] for sentence in stated if (found := _STRONG.search(sentence))), None)
    weak = next((found[0] for sentence in stated if (found := _WEAK.search(sentence))), None)
    cue = strong or weak
    if cue is None:
        return None
    words = (tokens_of(_WEAK.sub(" ", _STRONG_WORDS.sub(" ", sentence))) for sentence in stated)
    denied = (tokens_of(value) for sentence in stated for value in _denied(sentence))
    return Correction(cue, strong is None, frozenset[str]().union(*words), tuple(value for value in denied if value))


def _denied(sentence: str) -> list[str]:
    """The values that a sentence says do not hold."""
    return [group for found in _DENIAL.finditer(sentence) for group in found.groups() if group]


@lru_cache(maxsize=4096)
def tokens_of(text: str) -> frozenset[str]:
    """The distinct lexical tokens of a text."""
    return frozenset(tokenize(text))


def kinship(correction: Correction, earlier: Earlier) -> float:
    """How near a correction and an earlier memory are: similarity plus the share of words they have in common.

    The share is of the words of the shorter side, so that a long reply does not hide what a memory is about.
    """
    fewer = min(len(correction.tokens), len(earlier.tokens))
    return earlier.similarity + (len(correction.tokens & earlier.tokens) / fewer if fewer else 0.0)


def corrected(correction: Correction, earlier: Mapping[int, Earlier], least: float) -> dict[int, float]:
    """Which earlier memories a correction is about, with their kinship, which is about `least` or more.

    Where it denies a value, those that state the value; else the nearest, and what is nearly as near.
    """
    kin = {key: kinship(correction, memory) for key, memory in earlier.items()}
    if correction.denied:
        stating = (key for key, memory in earlier.items() if _states(memory.tokens, correction.denied))
        return {key: kin[key] for key in stating if kin[key] >= least_kinship(least)}
    least = max(least + _WEAK_EXTRA * correction.weak, max(kin.values(), default=0.0) - _MARGIN)
    return {key: value for key, value in kin.items() if value >= least}


def least_kinship(least: float) -> float:
    """The least kinship of any correction: what states the very value that is denied may be less akin."""
    return least - _DENIED_BONUS


def _states(tokens: frozenset[str], denied: Sequence[frozenset[str]]) -> bool:
    return any(len(value & tokens) >= _DENIED_SHARE * len(value) for value in denied)


# -- the words --------------------------------------------------------------------------------------------------------

# Of these some tell what is corrected as well ("not X but"), and so stay among the words of a correction.
_WORDS_EN = r"""\b(?:
    correction | to\ correct\ myself | i\ (?:was|got\ (?:it|that|this))\ wrong | (?:was|were)\ (?:a\ mistake|mistaken)
    | my\ mistake | i\ made\ a\ mistake | i\ misspoke | i\ mis-?typed | a\ typo | i\ mixed\ (?:it|that|them|this|up)
    | scratch\ that | i\ meant | no\ longer | instead | rather\ than | brought\ forward | change\ of\ plans?
    | (?:moved|shifted|switched|changed|replaced|renamed|rescheduled|postponed)
    | (?:pushed|put)\ (?:back|off)\ (?:to|until)
    | changing\ (?:it|my\ mind|our\ mind|to|the)
    | from\ now\ on | turns\ out
    )\b"""
_WORDS_ZH = r"""
    更正 | 纠正一下 | 订正 | (?:记|说|打|写|弄|搞|看|听|算|填)错 | (?:地址|日期|时间|名字|号码|数字|人数)错了
    | 口误 | 笔误 | 改(?:成|到|为|在|期|叫|名|用|了|主意) | 换(?:成|到|了|地方) | 挪到 | 移到 | 调到 | 推迟 | 延期
    | 提前 | 不再 | 而不是
    | 变(?:成|更|了) | 有变 | 从现在(?:起|开始)
    """
_PAIRS = r"""
    \bnot\b[^.;!?]{1,60}(?:\b(?:any\ ?more|but)\b | ,\ (?:it|but)\b)
    | ,\ not\ \w
    | 不(?:是|在|叫|到|用)[^。；！？]{1,30}?[，,、]?(?:而?(?:是|在|叫|到|用)|改)
    """
_STRONG_WORDS = re.compile(f"{_WORDS_EN}|{_WORDS_ZH}", re.VERBOSE | re.IGNORECASE)
_STRONG = re.compile(f"{_WORDS_EN}|{_WORDS_ZH}|{_PAIRS}", re.VERBOSE | re.IGNORECASE)
_WEAK = re.compile(r"\b(?:actually|sorry|oops|in fact)\b|其实|不好意思|抱歉|不对", re.IGNORECASE)

# A value that does not hold: up to the next comma, or to what holds in its place.
_UP_TO = r"([^,.;:!?，。；！？、]{1,60}?)"
_DENIAL = re.compile(
    rf"""(?:\b(?:not|(?:is|are|was|wo)n['’]?t(?:\ be)?)\ (?!sure\b|only\b|yet\b|at\ all\b|know\b)|\binstead\ of\ |
        \brather\ than\ |\bno\ longer\ ){_UP_TO}(?=\s+(?:but|that|any\ ?more|it\ is|it['’]s)\b|[,.;:!?]|$)
    |(?<!是)不(?:是|在|叫|到|用){_UP_TO}(?=[，,。；！]|(?:而是|而在|改))
    |而不是{_UP_TO}(?=[，,。；！]|$)
    |不再{_UP_TO}(?=[，,。；！]|$)""",
    re.VERBOSE | re.IGNORECASE,
)

# Asked, supposed or wanted, and so not said.
_OPEN = re.compile(
    r"""[?？][”’"'」』）)]*$|[吗呢么][。！]?$|是不是|能不能|^\W*(?:if|whether|suppose|would|could|should|please|can|does|do|did|is
    |was|were|are|has|have|how|what|when|where|which|who|why)\b|^[\W]*(?:如果|要是|假如|假设|万一|请帮|请你|请把|帮我|能否|可否)
    |\b(?:not\ sure|don['’]t\ know|wonder|suppose)\b|不(?:确定|知道|清楚|晓得)|(?:问|想)(?:知道|问)""",
    re.VERBOSE | re.IGNORECASE,
)
_JOKE = re.compile(r"\b(?:just\ kidding|only\ joking|just\ joking|kidding!)|开(?:个)?玩笑|逗你|说着玩", re.IGNORECASE)
