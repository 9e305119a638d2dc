"""The two kinds of memory as search sees them. Values only: where they are stored is not known here.

A time without a timezone is refused here, at the border, so that no age is ever computed from one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


def _check_zone(memory: str, at: datetime | None) -> None:
    if at is not None and at.tzinfo is None:
        raise ValueError(f"the time of memory {memory} needs a timezone, got {at.isoformat()}")


@dataclass(frozen=True, slots=True)
class Experience:
    """One atom of experience memory: the user's words and the reply of one round, nothing else.

    An imported message that has no counterpart leaves the other side empty.
    """

    memory: str
    session: str
    round: int
    at: datetime | None
    user: str
    character: str
    message: str
    reply: str

    def __post_init__(self) -> None:
        _check_zone(self.memory, self.at)

    @property
    def text(self) -> str:
        """The atom as it is embedded, tokenised and shown."""
        sides = ((self.user, self.message), (self.character, self.reply))
        return "\n".join(f"{name}: {words}" for name, words in sides if words)


@dataclass(frozen=True, slots=True)
class KnowledgeChunk:
    """One parent chunk of a document. `at` is when the document was added.

    `children` are the texts that are embedded, and `above` what word search reads before `text`: the headings that it
    lacks, or nothing for a document that was recorded when headings were not searched.
    """

    memory: str
    document: str
    name: str
    headings: tuple[str, ...]
    text: str
    children: tuple[str, ...]
    at: datetime | None
    above: str = ""

    def __post_init__(self) -> None:
        _check_zone(self.memory, self.at)

    @property
    def searched(self) -> str:
        """The text of word search."""
        return f"{self.above}\n{self.text}" if self.above else self.text

    @property
    def source(self) -> str:
        """File name and headings, as shown to the model and the person."""
        return " › ".join((self.name, *self.headings))
