"""What standing instructions ask of a reply, as values: one small dataclass for each family of constraint.

`kind` is the name that a record, a table and a page know a constraint by; it never holds words of the instruction.
Values without behaviour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Countable = Literal[
    "words",
    "characters",
    "sentences",
    "paragraphs",
    "lines",
    "bullets",
    "numbered_items",
    "headings",
    "sections",
    "bold",
    "highlights",
    "tables",
    "code_blocks",
    "titles",
    "placeholders",
    "postscripts",
    "emojis",
    "questions",
    "question_marks",
    "exclamation_marks",
    "commas",
    "semicolons",
    "colons",
    "dashes",
    "brackets",
    "quotation_marks",
    "full_stops",
    "ellipses",
    "punctuation",
    "digits",
    "capital_words",
    "hashtags",
    "links",
]


@dataclass(frozen=True, slots=True)
class Edge:
    """How a reply begins or ends: with one of `texts`, or with anything of a sort (`any` an emoji, a question).

    `letter` says that the texts are single letters. `wanted` is False for what must not stand there. With `paragraph`
    (from 1, -1 is the last) it is that paragraph that begins so.
    """

    end: Literal["start", "end"]
    texts: tuple[str, ...] = ()
    any: Literal["emoji", "question"] | None = None
    letter: bool = False
    wanted: bool = True
    paragraph: int | None = None

    @property
    def kind(self) -> str:
        if self.paragraph is not None:
            return "paragraph_start"
        name = "starts_with" if self.end == "start" else "ends_with"
        return name if self.wanted else f"not_{name}"


@dataclass(frozen=True, slots=True)
class Count:
    """How many of something a reply holds: at least `least` and at most `most` (None: no limit)."""

    of: Countable
    least: int = 0
    most: int | None = None

    @property
    def kind(self) -> str:
        return f"no_{self.of}" if self.most == 0 else self.of


@dataclass(frozen=True, slots=True)
class Mentions:
    """How often each of `texts` (words or phrases; with `letter`, single characters) stands in a reply."""

    texts: tuple[str, ...]
    least: int = 1
    most: int | None = None
    letter: bool = False

    @property
    def kind(self) -> str:
        if self.letter:
            return "letter_frequency"
        if self.most == 0:
            return "forbidden_words"
        return "required_words" if self.most is None and self.least == 1 else "word_frequency"


@dataclass(frozen=True, slots=True)
class InLanguage:
    """The language of a reply, by ISO 639-1 code; None is the language of the message. Not it, unless `wanted`."""

    language: str | None
    wanted: bool = True

    @property
    def kind(self) -> str:
        return "language" if self.wanted else "not_language"


@dataclass(frozen=True, slots=True)
class Form:
    """What a reply is as a whole."""

    form: Literal["json", "quoted", "plain_text", "markdown", "lower_case", "upper_case"]

    @property
    def kind(self) -> str:
        return self.form


@dataclass(frozen=True, slots=True)
class Address:
    """What the person is called. Whoever is not addressed at all was not called wrongly, unless it is `always`."""

    names: tuple[str, ...]
    wanted: bool = True
    always: bool = False

    @property
    def kind(self) -> str:
        return "address" if self.wanted else "not_address"


@dataclass(frozen=True, slots=True)
class OneOf:
    """A reply holds one of these phrases; `alone` says that it holds nothing else."""

    phrases: tuple[str, ...]
    alone: bool = False

    @property
    def kind(self) -> str:
        return "one_of"


@dataclass(frozen=True, slots=True)
class Parts:
    """A reply is made of so many different parts, with a separator between them."""

    number: int
    separator: str

    @property
    def kind(self) -> str:
        return "parts"


Constraint = Edge | Count | Mentions | InLanguage | Form | Address | OneOf | Parts


@dataclass(frozen=True, slots=True)
class Scope:
    """When an instruction holds, where code can tell: messages in a language, questions, or messages with a word."""

    kind: Literal["message_language", "question", "mention"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in a reply, and where: an excerpt, a number, a character offset. None is what does not apply."""

    text: str | None = None
    count: int | None = None
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """A reply keeps a constraint."""

    found: Found = Found()


@dataclass(frozen=True, slots=True)
class Broken:
    """A reply breaks a constraint."""

    found: Found = Found()


@dataclass(frozen=True, slots=True)
class Unclear:
    """Code cannot tell whether a reply keeps a constraint: it is too short to have a language, say."""

    found: Found = Found()


Outcome = Kept | Broken | Unclear
