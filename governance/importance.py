"""How much a past message matters: CRITICAL, RELEVANT or TRIVIAL (AFM paper, section 3.1).

CRITICAL is what must hold later whatever the talk is about: health, safety, law and hard limits, and what the person
asked for once and for all. TRIVIAL is small talk and acknowledgement. All else is RELEVANT. Clear rules first, then a
small classifier over the message's vector. Knows nothing about budgets or fidelity.
"""

# ruff: noqa: E501 (a pattern a line: broken over several it cannot be read)
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice

import numpy as np

from governance.history import Importance
from governance.instruction_rules import ADD, NOT, QUOTED, first_match
from governance.softmax import Floats, features_of, load_softmax
from retrieval.embedding.base import Vectors
from retrieval.text import sentences

WEIGHTS = "importance"
KINDS: dict[str, Importance] = {
    "health": "CRITICAL",
    "safety": "CRITICAL",
    "legal": "CRITICAL",
    "standing": "CRITICAL",
    "fact": "RELEVANT",
    "plan": "RELEVANT",
    "preference": "RELEVANT",
    "decision": "RELEVANT",
    "task": "RELEVANT",
    "social": "TRIVIAL",
    "reaction": "TRIVIAL",
}
_NAMES = {
    "health": "health",
    "safety": "safety",
    "legal": "law or a hard limit",
    "standing": "a standing requirement",
    "fact": "a fact",
    "plan": "a plan",
    "preference": "a preference",
    "decision": "a decision",
    "task": "a question or an answer",
    "social": "small talk",
    "reaction": "an acknowledgement",
}
# What a rule says is taken as this sure: the share that was right on the examples, see docs/instructions.md.
_RULE = 0.98
# A pasted page is judged by its first sentences: patterns run over no more.
_MOST_SENTENCES = 40
_LONGEST = 500

_BODY = r"(?:i|we|he|she|they|my \w+(?: \w+)?|our \w+|the baby)"
_CRITICAL = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("allergy", r"\ballerg(?:y|ies|ic)\b|\banaphyla|\bepi-?pen\b|过敏|肾上腺素笔"),
        (
            "illness",
            rf"\b{_BODY}(?:'m| am| is|'s| has| have|'ve| was| were)(?: \w+)?? ?(?:been )?(?:diagnosed with|diabetic|epileptic|pregnant|"
            r"breastfeeding|coeliac|celiac|asthmatic|haemophilia|hemophilia|diabetes|epilepsy|asthma)\b"
            r"|(?:我|女儿|儿子|妻子|丈夫|老婆|老公|妈妈|爸爸|他|她)(?:们)?.{0,4}(?:有|患|被诊断|确诊|怀孕|哺乳)"
            r"(?:出|了|有)?.{0,4}(?:癫痫|糖尿病|哮喘|心脏病|高血压|血友病|抑郁|肾病|个月|周)",
        ),
        (
            "danger to life",
            r"\b(?:kill(?:ing)? myself|suicid\w+|end(?:ing)? my life|self-harm|don'?t want to live)\b|自杀|不想活|轻生",
        ),
        ("gas or fire", r"\bgas leak\b|\bcarbon monoxide\b|煤气泄漏|煤气漏|一氧化碳|漏电"),
    )
)
_TRIVIAL = re.compile(
    r"^(?:(?:ok(?:ay)?|yes|yeah|yep|no|nope|sure|thanks?(?: you)?(?: so much| a lot)?|great|cool|nice|fine|right|lol|"
    r"(?:ha){2,}|hi|hello|hey|bye|goodbye|good (?:morning|night|evening)|wow|hmm+|oh|i see|got it|you'?re welcome|"
    r"好(?:的|吧|呀|啊)?|嗯+|哦+|谢谢(?:你|您)?|多谢|是的?|对|行|不客气|哈+|你好|您好|再见|晚安|早上好|早|知道了|明白了?)"
    r"[\s,，.。!！~～…、]*)+$",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"\b(?:what|how|which) (?:is|are|causes?) (?:an? )?\w*allerg|什么是.{0,6}过敏|过敏是什么", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Decision:
    """How much a message matters, P of that label from 0 to 1, and why: a rule's name or the nearest kind of example."""

    label: Importance
    probability: float
    reason: str


def classify(texts: Sequence[str], vectors: Vectors | None = None, *, embedder: str | None = None) -> list[Decision]:
    """Judge messages. `vectors` are their rows as memories (`Embedder.encode_document`), shape (len(texts), dimension).

    The weights belong to one embedder, by `Embedder.name`: with another one, or without vectors, the rules decide
    alone and what none fires on is RELEVANT. Raises ValueError when the vectors are not one for each text.
    """
    if vectors is not None and len(vectors) != len(texts):
        raise ValueError(f"{len(texts)} texts come with {len(vectors)} vectors; there must be one for each")
    decisions = [by_rule(text) for text in texts]
    open_places = [place for place, decision in enumerate(decisions) if decision is None]
    model = load_softmax(WEIGHTS)
    if vectors is None or embedder != model.embedder or not open_places:
        left = Decision("RELEVANT", 0.5, "no rule fired; the classifier knows another embedder")
        return [decision or left for decision in decisions]
    rows = model.probabilities(features([texts[place] for place in open_places], vectors[open_places]))
    for place, row in zip(open_places, rows, strict=True):
        decisions[place] = _decided(dict(zip(model.kinds, row.tolist(), strict=True)), model.threshold)
    return [decision for decision in decisions if decision is not None]


class RememberingClassifier:
    """`classify` that decides of each text once: most messages of a turn were judged a turn ago.

    Texts are remembered by digest alone, the last `most` of them. Safe between threads.
    """

    def __init__(self, embedder: str, most: int = 100_000) -> None:
        self._embedder = embedder
        self._most = most
        self._decided: dict[bytes, Decision] = {}

    def __call__(self, texts: Sequence[str], vectors: Vectors) -> list[Decision]:
        """As `classify` by the classifier of this embedder."""
        keys = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        known = self._decided
        new = [place for place, key in enumerate(keys) if key not in known]
        if new:
            found = classify([texts[place] for place in new], vectors[new], embedder=self._embedder)
            known = known | dict(zip((keys[place] for place in new), found, strict=True))
            # Replaced, not changed: another thread may be reading it.
            self._decided = dict(islice(known.items(), max(len(known) - self._most, 0), None))
        return [known[key] for key in keys]


def by_rule(text: str) -> Decision | None:
    """What a clear rule says of a message; None when none fires."""
    if not text.strip() or (_TRIVIAL.match(text[:200].strip()) and len(text) <= 200):
        return Decision("TRIVIAL", _RULE, "rule: nothing but an acknowledgement or a greeting")
    blanked = QUOTED.sub("“”", text[: _LONGEST * _MOST_SENTENCES])
    for start, end in islice(sentences(blanked), _MOST_SENTENCES):
        sentence = blanked[start:end][:_LONGEST]
        for name, pattern in _CRITICAL:
            if pattern.search(sentence) and not _OTHERS.search(sentence):
                return Decision("CRITICAL", _RULE, f"rule: {name}")
        if not first_match(NOT, sentence) and (rule := first_match(ADD, sentence)):
            return Decision("CRITICAL", _RULE, f"rule: standing instruction ({rule})")
    return None


def concerns_safety(text: str) -> bool:
    """Whether a clear rule says that a text is about health or danger."""
    return any(pattern.search(text[:_LONGEST]) for _, pattern in _CRITICAL)


_CUES = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("question", r"[?？]\s*$"),
        ("number", r"\d|[一二三四五六七八九十百千两]"),
        ("must", r"\b(?:must|never|always|can'?t|cannot|may not|not allowed|forbid\w*|no exceptions|under any)\b|必须|绝对|不得|不能|不许|千万|绝不|无论如何|一律"),
        ("body", r"\b(?:doctor|hospital|medic\w+|blood|heart|pills?|surgery|pain|hurts?|disease|condition|wheelchair|blind)\b|医|药|病|血|手术|疼|轮椅|怀孕|宝宝"),
        ("danger", r"\b(?:emergency|unsafe|violent|stalk\w*|danger\w*|leak\w*|bites?)\b|紧急|危险|暴力|跟踪|害怕|泄漏"),
        ("law", r"\b(?:court|contract|law|legal\w*|visa|deadline|budget|nda|lease|judge)\b|法院|合同|法律|签证|期限|预算|保密|法官"),
        ("diet", r"\b(?:vegan|vegetarian|kosher|halal|eat|drink|diet)\b|吃素|清真|不吃|戒"),
        ("i", r"\b(?:i|my|we|our)\b|我"),
        ("short", r"^.{0,18}$"),
        ("very short", r"^.{0,7}$"),
        ("long", r"^.{90,}"),
        ("thanks", r"\b(?:thanks?|cheers|welcome|sorry|please)\b|谢|不客气|抱歉"),
        ("exclaims", r"[!！~～]"),
        ("name or time", r"\b(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|june|july|august|september|october|november|december)\b|周[一二三四五六日末]|月|号"),
    )
)  # fmt: skip
CUES = tuple(name for name, _ in _CUES)


def features(texts: Sequence[str], vectors: Vectors) -> Floats:
    """What the classifier sees of n messages: shape (n, dimension + len(CUES))."""
    found = [[float(pattern.search(text[:2_000]) is not None) for _, pattern in _CUES] for text in texts]
    return features_of(vectors, np.array(found, np.float32).reshape(len(texts), len(CUES)))


def _decided(probabilities: dict[str, float], threshold: float) -> Decision:
    """CRITICAL from the threshold on, since what matters and is lost cannot be had again; else the likelier label."""
    labels: dict[Importance, float] = {"CRITICAL": 0.0, "RELEVANT": 0.0, "TRIVIAL": 0.0}
    for kind, probability in probabilities.items():
        labels[KINDS[kind]] += probability
    likeliest: Importance = "RELEVANT" if labels["RELEVANT"] >= labels["TRIVIAL"] else "TRIVIAL"
    label: Importance = "CRITICAL" if labels["CRITICAL"] >= threshold else likeliest
    kind = max((kind for kind in probabilities if KINDS[kind] == label), key=probabilities.__getitem__)
    return Decision(label, round(labels[label], 4), f"classifier: nearest to {_NAMES[kind]}")
