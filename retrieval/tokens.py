"""Words for lexical search, in English, Chinese, Japanese and Korean, without configuration or dictionary.

Latin words are stemmed and stop words dropped; runs of CJK characters give every character and every pair of
neighbours, so that no segmentation error can hide a word and a single character still matches. Dates, versions and
grouped numbers stay whole, in one spelling. Pure functions; the same text gives the same tokens on every machine,
which replay relies on.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache
from itertools import pairwise

import Stemmer

from retrieval.text import CJK

_RUN = f"{CJK}々〇"
_TOKEN = re.compile(
    rf"""(?P<date>(?<!\d)\d{{4}}(?:年\d{{1,2}}月\d{{1,2}}[日号]|([-/.])\d{{1,2}}\2\d{{1,2}}(?!\d|[-/.]\d)))
    |v?(?P<number>\d+(?:[.,:/-]\d+)+)
    |(?P<cjk>[{_RUN}]+)
    |(?P<word>(?:(?![{_RUN}])[^\W_])+)(?P<ending>'[a-z]+)?""",
    re.VERBOSE,
)
_DIGITS = re.compile(r"\d+")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
# What an apostrophe may cut off; other apostrophes belong to the word (o'clock, O'Brien).
_ENDINGS = frozenset({"'s", "'t", "'ll", "'ve", "'re", "'d", "'m"})

STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are as at be because been before being below between
    both but by can could did do does doing down during each few for from further had has have having he her here hers
    herself him himself his how i if in into is it its itself just me more most my myself no nor not now of off on once
    only or other our ours ourselves out over own same she should so some such than that the their theirs them
    themselves then there these they this those through to too under until up very was we were what when where which
    while who whom why will with would you your yours yourself yourselves s t ll ve re d m don""".split()
)
# Function characters: as single tokens they match everything. They still take part in pairs.
STOP_CHARACTERS = frozenset(
    "的了吗呢啊吧呀是在我你他她它们这那个和与就都也还有不没很到说要去会着看好把被从对为以及或但而于之其什么怎哪谁几"
)
_STOP_PAIRS = frozenset(
    """什么 怎么 哪里 哪个 哪些 是什 么时 时候 的是 了吗 是谁 我的 你的 他的 她的 我们 你们 他们 这个 那个 一个
    是不 不是 有没 没有 请问 可以 多少""".split()
)

_local = threading.local()


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    # PyStemmer's objects are not safe to share between threads.
    if not hasattr(_local, "english"):
        _local.english = Stemmer.Stemmer("english")
    return str(_local.english.stemWord(word))


def tokenize(text: str) -> list[str]:
    """The lexical tokens of `text` in order, repeats included; empty for text of stop words and marks alone."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    tokens: list[str] = []
    for run in _TOKEN.finditer(folded):
        if word := run["word"]:
            tokens += _word_tokens(word, run["ending"])
        elif cjk := run["cjk"]:
            tokens += _cjk_tokens(cjk)
        elif date := run["date"]:
            tokens += _date_tokens(date)
        else:
            number = run["number"]
            tokens.append(number.replace(",", "") if _GROUPED.fullmatch(number) else number)
    return tokens


def _word_tokens(word: str, ending: str | None) -> list[str]:
    # "didn't", "won't": an auxiliary, whatever is left of it without its ending.
    if word in STOP_WORDS or (ending == "'t" and word.endswith("n")):
        return []
    return [_stem(word + ending if ending and ending not in _ENDINGS else word)]


def _date_tokens(date: str) -> list[str]:
    """One spelling for 2023-05-08, 2023/5/8 and 2023年5月8日, and its parts, so that the year alone matches too."""
    parts = [str(int(part)) for part in _DIGITS.findall(date)]
    return ["-".join(parts), *parts]


def _cjk_tokens(run: str) -> list[str]:
    singles = [character for character in run if character not in STOP_CHARACTERS]
    pairs = [a + b for a, b in pairwise(run) if a + b not in _STOP_PAIRS]
    return singles + pairs
