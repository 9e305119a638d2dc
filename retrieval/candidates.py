"""The values that cross from retrieval to governance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Route = Literal["knowledge", "experience"]


@dataclass(frozen=True, slots=True)
class Query:
    """One search: the text, who asks whom, and the running session."""

    text: str
    user: str
    character: str
    session: str | None = None

    def augmented(self) -> str:
        """The query behind the role prefix (paper, section 3.3)."""
        return f"[User {self.user}][Assistant {self.character}] {self.text}"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that search found, with every score up to its base score.

    `cosine` is the raw cosine of the query with the turn's own vector, or with the best child of a chunk, and
    `similarity` its calibrated form; `bm25` is None and `coverage` 0 where BM25 did not match. `ranks` are from zero
    per lane and hold only the lanes that found it. `fused` is the RRF sum after neighbours lent their share, `lent_by`
    the best of them. `similarity` and `coverage` are what the gate looks at, before fusion, decay and normalisation;
    `base` is paper equation (4) or (6).

    Only past turns have the last four. `context_cosine` is the raw cosine with the turn behind the one before it, and
    `nearness` what the convex combination of its scores gives (retrieval.fusion), None where they take no part.
    `superseded_by` is the later memory that corrects this one, and `kinship` how near the two are
    (retrieval.corrections).
    """

    memory: str
    route: Route
    text: str
    round: int | None
    at: datetime | None
    source: str
    cosine: float
    similarity: float
    bm25: float | None
    coverage: float
    ranks: Mapping[str, int]
    fused: float
    lent_by: str | None
    normalised: float
    bonuses: Mapping[str, float]
    base: float
    context_cosine: float | None = None
    nearness: float | None = None
    superseded_by: str | None = None
    kinship: float | None = None
