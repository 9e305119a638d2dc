"""Which evidence answers the question, by the likelihood that the embedded model gives the question.

A model of 135 million parameters names a label no better than chance, but the probability it gives to the words of a
question rises when the right note stands before them; retrieval's own similarity errs on other questions, so the two
are added. Knows nothing about prompts or the protocol; docs/decisions/0003-evidence-choice.md has the figures and the
methods that lost.

Source of the idea: Sachan et al., "Improving Passage Retrieval with Zero-Shot Question Generation" (UPR), 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arpm.generation.base import LabelledEvidence
from arpm.generation.evidence_excerpt import excerpt
from arpm.generation.question_likelihood import QuestionLikelihood
from retrieval.text import language

# Tuned on the dev split of benchmarks/data/evidence_choice.jsonl.
GAIN_FLOOR, GAIN_CEILING = -1.0, 4.0
RECENCY_SPAN = 1.2
SIMILARITY_WEIGHT = 2.0

EXCERPT_CHARACTERS = 240
_BLANK = {"en": "user: Hello.", "zh": "user: 你好。"}

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Places of the evidence items, best first, and the score of each item in prompt order."""

    order: tuple[int, ...]
    scores: tuple[float, ...]


def rank(question: str, evidence: Sequence[LabelledEvidence], likelihood: QuestionLikelihood) -> Ranking:
    """Rank `evidence` (oldest first) by how well each item explains `question` and how similar retrieval found it.

    Long texts are judged by an excerpt.
    """
    shown = [excerpt(item.text, question, EXCERPT_CHARACTERS) for item in evidence]
    rows = likelihood.token_log_probabilities(question, [*shown, _BLANK[language(question)]])
    similarity = np.array([item.similarity for item in evidence])
    scores = combined(likelihood_gain(rows[:-1], rows[-1]), similarity)
    # Of equal scores the later memory is first: it may correct the earlier one.
    order = sorted(range(len(evidence)), key=lambda place: (-scores[place], -place))
    return Ranking(tuple(order), tuple(float(score) for score in scores))


def likelihood_gain(given: Scores, blank: Scores) -> Scores:
    """Sum over the question's tokens of clip(log P(token | note) − log P(token | blank note), floor, ceiling).

    `given` has shape (notes, tokens), `blank` (tokens,); returns (notes,), in nats. The ceiling keeps one copied name
    from outweighing the rest of the question.
    """
    gain: Scores = np.clip(given - blank, GAIN_FLOOR, GAIN_CEILING).sum(axis=1)
    return gain


def combined(gain: Scores, similarity: Scores) -> Scores:
    """Standardised gain, SIMILARITY_WEIGHT times standardised similarity, and up to RECENCY_SPAN for the latest item.

    All of shape (notes,), oldest first. A recent correction must beat an old fact.
    """
    if len(gain) < 2:
        return gain
    scores: Scores = _standardised(gain) + SIMILARITY_WEIGHT * _standardised(similarity)
    return scores + RECENCY_SPAN * np.linspace(0, 1, len(gain))


def _standardised(values: Scores) -> Scores:
    standardised: Scores = (values - values.mean()) / (values.std() + 1e-9)
    return standardised
