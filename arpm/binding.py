"""Whether an answer is bound to the evidence it cites. Pure functions over words.

A citation is bound when the reply repeats something the evidence says and the question did not: a number, two words,
or one word of a reply that has no more than two. This is a lexical lower bound, the same for every model; review can
overrule it.
"""

from __future__ import annotations

from collections.abc import Sequence

from arpm.generation.base import LabelledEvidence
from arpm.protocol import Parsed
from retrieval.tokens import tokenize


def bound_labels(parsed: Parsed, evidence: Sequence[LabelledEvidence], question: str) -> list[str]:
    """The cited labels whose evidence the response repeats, in the order they were cited."""
    texts = {item.label: item.text for item in evidence}
    asked = set(tokenize(question))
    said = set(tokenize(parsed.response)) - asked
    return [label for label in parsed.cited if label in texts and _repeats(said, set(tokenize(texts[label])) - asked)]


def _repeats(said: set[str], known: set[str]) -> bool:
    shared = said & known
    return any(word[0].isdigit() for word in shared) or len(shared) >= 2 or (bool(shared) and len(said) <= 2)
