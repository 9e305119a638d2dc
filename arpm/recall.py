"""Steps 3 to 5 of a turn: augment the query, search both routes, govern. Reads memory and changes nothing.

The turn, the search command and later replay all come through here, so they can never disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol
from zoneinfo import ZoneInfo

from arpm.catalogue import TurnRow
from arpm.ledger import Checkpoint
from arpm.lived import Lived
from arpm.stages import Stopwatch
from governance.config import GovernanceConfig
from governance.decay import Moment
from governance.policy import Governed, Situation, govern
from retrieval.candidates import Candidate, Query
from retrieval.config import RetrievalConfig
from retrieval.embedding.base import Embedder, Vectors
from retrieval.text import language


class Searched(Protocol):
    """The knowledge base as a turn needs it: candidates, and where its ledger stood when they were found."""

    def search(self, query: Query, vector: Vectors, config: RetrievalConfig) -> tuple[Checkpoint, list[Candidate]]: ...


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a message brought back: the query as searched, where the knowledge ledger stood, and every decision."""

    query: str
    knowledge_tip: Checkpoint
    governed: Governed


def recall(
    message: str,
    timeline: Lived,
    library: Searched,
    embedder: Embedder,
    config: GovernanceConfig,
    moment: Moment,
    *,
    seen: Sequence[TurnRow] = (),
    without: Collection[str] = (),
    count: Callable[[str], int],
    timer: Stopwatch,
) -> Recalled:
    """Search both routes for `message` at `moment` and decide what the prompt shows.

    `seen` are the rounds that the prompt shows word for word, whose memories need not be shown twice; `count` counts
    tokens. `without` are memories of the round itself, which is answered again.
    """
    info = timeline.info
    session = timeline.session().id
    query = Query(message, info.user, info.character, session)
    text = query.augmented() if config.role_prefix else message
    asked = Query(text, info.user, info.character, session)
    with timer.stage("embedded"):
        vector = embedder.encode_query([text])[0]
    repeated = (timeline.memory_of_round(row.round) for row in seen)

    def round_of(candidate: Candidate) -> int | None:
        if candidate.route == "experience" or candidate.at is None:
            return candidate.round
        return timeline.round_at(candidate.at)

    with timer.stage("searched"):
        tip, documents = library.search(asked, vector, config)
        experiences = timeline.index.search(asked, vector, config, without)
    with timer.stage("governed"):
        situation = Situation(
            moment=moment,
            zone=ZoneInfo(info.timezone),
            language=language(message),
            window=frozenset(memory for memory in repeated if memory is not None),
            round_of=round_of,
            count=count,
        )
        governed = govern(documents, experiences, config, situation)
    return Recalled(text, tip, governed)
