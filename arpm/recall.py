"""Steps 3 to 5 of a turn: augment the query, search both routes, govern. Reads memory and changes nothing.

The turn, the search command and later replay all come through here, so they can never disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol
from zoneinfo import ZoneInfo

from arpm.ledger import Checkpoint
from arpm.lived import Lived
from arpm.stages import Stopwatch
from governance.config import GovernanceConfig
from governance.decay import Moment
from governance.dialogue_questions import about_dialogue
from governance.policy import Conversation, Governed, Situation, decided_with, govern, searched_with
from retrieval.candidates import Candidate, Query
from retrieval.config import RetrievalConfig
from retrieval.embedding.base import Embedder, Vectors
from retrieval.text import language


class Searched(Protocol):
    """The knowledge base as a turn needs it: candidates, and where its ledger stood when they were found."""

    def search(self, query: Query, vector: Vectors, config: RetrievalConfig) -> tuple[Checkpoint, list[Candidate]]: ...


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a message brought back: the query as searched, where the knowledge ledger stood, and every decision.

    `about_dialogue` says that it was taken for a question about the dialogue itself.
    """

    query: str
    knowledge_tip: Checkpoint
    governed: Governed
    about_dialogue: bool = False


def recall(
    message: str,
    timeline: Lived,
    library: Searched,
    embedder: Embedder,
    config: GovernanceConfig,
    moment: Moment,
    *,
    conversation: Conversation | None = None,
    without: Collection[str] = (),
    count: Callable[[str], int],
    timer: Stopwatch,
) -> Recalled:
    """Search both routes for `message` at `moment` and decide what the prompt shows.

    `conversation` is what the context policy looks back on beside what is found; `count` counts tokens. `without` are
    memories of the round itself, which is answered again.
    """
    info = timeline.info
    session = timeline.session().id
    query = Query(message, info.user, info.character, session)
    text = query.augmented() if config.role_prefix else message
    asked = Query(text, info.user, info.character, session)
    with timer.stage("embedded"):
        vector = embedder.encode_query([text])[0]
    searched = searched_with(config)
    of_dialogue = about_dialogue(message, decided_with(config))

    def round_of(candidate: Candidate) -> int | None:
        if candidate.route == "experience" or candidate.at is None:
            return candidate.round
        return timeline.round_at(candidate.at)

    with timer.stage("searched"):
        tip, documents = library.search(asked, vector, searched)
        experiences = timeline.index.search(asked, vector, searched, without)
    with timer.stage("governed"):
        situation = Situation(
            moment=moment,
            zone=ZoneInfo(info.timezone),
            language=language(message),
            window=frozenset(),
            round_of=round_of,
            count=count,
            about_dialogue=of_dialogue,
        )
        governed = govern(documents, experiences, config, situation, conversation)
    return Recalled(text, tip, governed, of_dialogue)
