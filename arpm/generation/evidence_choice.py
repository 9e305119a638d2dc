"""Which evidence answers the question, by the likelihood that the embedded model gives the question.

A model of 135 million parameters names a label no better than chance, but the probability it gives to the words of a
question rises when the right note stands before them. Knows nothing about prompts, the protocol or retrieval scores;
docs/decisions/0003-evidence-choice.md has the figures and the methods that lost.

Source of the idea: Sachan et al., "Improving Passage Retrieval with Zero-Shot Question Generation" (UPR), 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arpm.generation.evidence_excerpt import excerpt
from arpm.generation.question_likelihood import QuestionLikelihood
from retrieval.text import language

# Tuned on the dev split of benchmarks/data/evidence_choice.jsonl.
GAIN_FLOOR, GAIN_CEILING = -1.0, 4.0
RECENCY_SPAN = 1.2

EXCERPT_CHARACTERS = 240
_BLANK = {"en": "user: Hello.", "zh": "user: 你好。"}

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Places of the evidence items, best first, and the score of each item in prompt order."""

    order: tuple[int, ...]
    scores: tuple[float, ...]


def rank(question: str, texts: Sequence[str], likelihood: QuestionLikelihood) -> Ranking:
    """Rank `texts` (oldest first) by how well each explains `question`. Long texts are judged by an excerpt."""
    shown = [excerpt(text, question, EXCERPT_CHARACTERS) for text in texts]
    rows = likelihood.token_log_probabilities(question, [*shown, _BLANK[language(question)]])
    scores = with_recency(likelihood_gain(rows[:-1], rows[-1]))
    # Of equal scores the later memory is first: it may correct the earlier one.
    order = sorted(range(len(texts)), key=lambda place: (-scores[place], -place))
    return Ranking(tuple(order), tuple(float(score) for score in scores))


def likelihood_gain(given: Scores, blank: Scores) -> Scores:
    """Sum over the question's tokens of clip(log P(token | note) − log P(token | blank note), floor, ceiling).

    `given` has shape (notes, tokens), `blank` (tokens,); returns (notes,), in nats. The ceiling keeps one copied name
    from outweighing the rest of the question.
    """
    gain: Scores = np.clip(given - blank, GAIN_FLOOR, GAIN_CEILING).sum(axis=1)
    return gain


def with_recency(gain: Scores) -> Scores:
    """Standardised gain plus up to RECENCY_SPAN for the latest item: a recent correction must beat an old fact."""
    if len(gain) < 2:
        return gain
    standardised: Scores = (gain - gain.mean()) / (gain.std() + 1e-9)
    return standardised + RECENCY_SPAN * np.linspace(0, 1, len(gain))
