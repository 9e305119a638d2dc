"""How LoCoMo scores an answer: token F1 over stemmed words, and words of abstention for what was never said.

After Maharana et al. 2024, task_eval/evaluation.py: lower case, no punctuation, no articles and no "and"; a multi-hop
answer is a list with commas, each part taken at its best; an open-domain answer ends at its first semicolon. Pure
functions. Its stemmer is NLTK's, ours is Porter's own, which differ in rare words.
"""

from __future__ import annotations

import re
import statistics
import string
import threading
from collections import Counter

import Stemmer

MULTI_HOP, TEMPORAL, OPEN_DOMAIN, SINGLE_HOP, ADVERSARIAL = 1, 2, 3, 4, 5
CATEGORIES = {
    MULTI_HOP: "multi-hop",
    TEMPORAL: "temporal",
    OPEN_DOMAIN: "open-domain",
    SINGLE_HOP: "single-hop",
    ADVERSARIAL: "adversarial",
}
ABSTENTIONS = ("no information available", "not mentioned")
# What people and models also say when they do not know; counted beside the data set's rule, never in its place.
_DECLINED = re.compile(
    r"no (information|memory|record|mention)|not mentioned|not (stated|specified)|"
    r"(do not|don't|does not|doesn't|cannot|can't) (know|remember|recall|say)|nothing that i remember",
    re.IGNORECASE,
)
_LEFT_OUT = re.compile(r"\b(a|an|the|and)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_local = threading.local()


def answer_score(reply: str, answer: str, category: int) -> float:
    """The score of a reply, from 0 to 1, as the data set counts that category."""
    if category == ADVERSARIAL:
        return float(abstains(reply))
    if category == MULTI_HOP:
        return _list_f1(reply, answer)
    return token_f1(reply, answer.split(";")[0] if category == OPEN_DOMAIN else answer)


def abstains(reply: str) -> bool:
    """Whether the reply says in the data set's words that it was never said."""
    return any(words in reply.lower() for words in ABSTENTIONS)


def declines(reply: str) -> bool:
    """Whether the reply says in any of the usual words that it does not know."""
    return bool(_DECLINED.search(reply))


def token_f1(reply: str, answer: str) -> float:
    """Harmonic mean of precision and recall over the stemmed words, each counted as often as it stands there."""
    said, wanted = _words(reply), _words(answer)
    shared = sum((Counter(said) & Counter(wanted)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(said), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


def _list_f1(reply: str, answer: str) -> float:
    return statistics.fmean(max(token_f1(said, wanted) for said in reply.split(",")) for wanted in answer.split(","))


def _words(text: str) -> list[str]:
    plain = _LEFT_OUT.sub(" ", text.lower().translate(_PUNCTUATION))
    if not hasattr(_local, "stemmer"):
        # PyStemmer's objects are not safe to share between threads.
        _local.stemmer = Stemmer.Stemmer("porter")
    words: list[str] = _local.stemmer.stemWords(plain.split())
    return words
