"""IFEval as an oracle of the reader of constraints: its prompts are words, and its `kwargs` what those words ask for.

Half of its prompts (even keys) were looked at while the patterns were written; the other half is what is reported.
Knows nothing about replies.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from governance.adherence import Constraint, constraints
from governance.adherence.kinds import Count, Edge, Form, InLanguage, Mentions, OneOf, Parts

# Asked of one reply to one prompt; no standing instruction asks for it, and nothing here reads it.
NOT_STANDING = "combination:repeat_prompt"


@dataclass(frozen=True, slots=True)
class Asked:
    """One constraint of a prompt: IFEval's name of its kind, and the constraint that its arguments mean."""

    prompt: int
    kind: str
    words: str
    expected: tuple[Constraint, ...]


def asked(path: Path, *, held_out: bool) -> list[Asked]:
    """Every constraint of one half of IFEval's prompts."""
    rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return [
        Asked(row["key"], kind, row["prompt"], _EXPECTED[kind](arguments))
        for row in rows
        if row["key"] % 2 == held_out
        for kind, arguments in zip(row["instruction_id_list"], row["kwargs"], strict=True)
        if kind in _EXPECTED
    ]


@dataclass(frozen=True, slots=True)
class Tally:
    """Of one kind: constraints asked for, those read exactly, and prompts in which it was read though not asked for."""

    asked: int
    read: int
    spurious: int

    def as_dict(self) -> dict[str, int]:
        return {"asked": self.asked, "read": self.read, "spurious": self.spurious}


def tallies(rows: Iterable[Asked]) -> dict[str, Tally]:
    """How well each kind is read."""
    by_prompt: dict[int, list[Asked]] = {}
    for row in rows:
        by_prompt.setdefault(row.prompt, []).append(row)
    counts = {kind: [0, 0, 0] for kind in _EXPECTED}
    for several in by_prompt.values():
        found = {_plain(one) for one in constraints(several[0].words)}
        for row in several:
            counts[row.kind][0] += 1
            counts[row.kind][1] += any(_is_read(_plain(one), found) for one in row.expected)
        wanted = {row.kind for row in several}
        wanted |= {also for kind in wanted for also in _ALSO.get(kind, ())}
        for kind in {_kind_of(one) for one in found} - wanted - {None}:
            assert kind is not None
            counts[kind][2] += 1
    return {kind: Tally(*count) for kind, count in counts.items()}


def _relation(arguments: Mapping[str, Any], relation: str, number: str) -> tuple[int, int | None]:
    value: int = arguments[number]
    return (0, value - 1) if arguments[relation] == "less than" else (value, None)


def _counted(of: Any, relation: str, number: str) -> Callable[[Mapping[str, Any]], tuple[Constraint, ...]]:
    """Bounds as IFEval has them; where it has "at least", its prompts often name the number alone."""

    def expected(arguments: Mapping[str, Any]) -> tuple[Constraint, ...]:
        least, most = _relation(arguments, relation, number)
        exact = () if most is not None else (Count(of, least, least),)
        about = () if most is not None else (Count(of, round(least * 0.8), round(least * 1.2)),)
        return (Count(of, least, most), *exact, *about)

    return expected


def _exactly(of: Any, number: str) -> Callable[[Mapping[str, Any]], tuple[Constraint, ...]]:
    return lambda arguments: (Count(of, arguments[number], arguments[number]), Count(of, arguments[number]))


def _frequency(arguments: Mapping[str, Any]) -> tuple[Constraint, ...]:
    least, most = _relation(arguments, "relation", "frequency")
    return tuple(Mentions((arguments["keyword"],), *bounds) for bounds in ((least, most), (least, least)))


def _letters(arguments: Mapping[str, Any]) -> tuple[Constraint, ...]:
    least, most = _relation(arguments, "let_relation", "let_frequency")
    signs = {"!": "exclamation_marks", "#": "hashtags", ",": "commas", "?": "question_marks"}
    letter = arguments["letter"]
    found: list[Constraint] = [
        Mentions((letter,), least, most, letter=True),
        Mentions((letter,), least, least, letter=True),
    ]
    if letter in signs:
        found += [Count(signs[letter], least, most), Mentions((letter,), least, most)]  # type: ignore[arg-type]
    return tuple(found)


def _is_read(wanted: Constraint, found: Iterable[Constraint]) -> bool:
    """Whether a constraint was read; of a range, IFEval has each bound as a constraint of its own."""
    if isinstance(wanted, Count):
        counts = [one for one in found if isinstance(one, Count) and one.of == wanted.of]
        if wanted.most is None:
            return any(one.least == wanted.least for one in counts)
        if wanted.least == 0 < wanted.most:
            return any(one.most == wanted.most for one in counts)
    return wanted in set(found)


def _plain(one: Constraint) -> Constraint:
    """A constraint whose texts are in lower case and in order, without the mark at their end: the same is asked for."""
    match one:
        case Mentions():
            return replace(one, texts=tuple(sorted({text.casefold() for text in one.texts})))
        case Edge():
            return replace(one, texts=tuple(sorted(text.casefold().rstrip(".!?") for text in one.texts)))
        case OneOf():
            return replace(one, phrases=tuple(sorted(text.casefold().rstrip(".!?") for text in one.phrases)))
    return one


def _places(place: int, paragraphs: int) -> tuple[int, ...]:
    """A paragraph's number; the last one may be called that."""
    return (place, -1) if place == paragraphs else (place,)


def _texts(key: str, least: int, most: int | None) -> Callable[[Mapping[str, Any]], tuple[Constraint, ...]]:
    return lambda arguments: (Mentions(tuple(arguments[key]), least, most),)


_ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_EXPECTED: dict[str, Callable[[Mapping[str, Any]], tuple[Constraint, ...]]] = {
    "punctuation:no_comma": lambda arguments: (Count("commas", 0, 0),),
    "length_constraints:number_words": _counted("words", "relation", "num_words"),
    "length_constraints:number_sentences": _counted("sentences", "relation", "num_sentences"),
    "length_constraints:number_paragraphs": _exactly("paragraphs", "num_paragraphs"),
    "length_constraints:nth_paragraph_first_word": lambda arguments: tuple(
        Edge("start", (arguments["first_word"],), paragraph=place)
        for place in _places(arguments["nth_paragraph"], arguments["num_paragraphs"])
    ),
    "keywords:existence": _texts("keywords", 1, None),
    "keywords:forbidden_words": _texts("forbidden_words", 0, 0),
    "keywords:frequency": _frequency,
    "keywords:letter_frequency": _letters,
    "detectable_format:number_bullet_lists": _exactly("bullets", "num_bullets"),
    "detectable_format:number_highlighted_sections": _exactly("highlights", "num_highlights"),
    "detectable_format:multiple_sections": lambda arguments: (
        Count("sections", arguments["num_sections"], arguments["num_sections"]),
        Count("sections", arguments["num_sections"]),
    ),
    "detectable_format:title": lambda arguments: (Count("titles", 1),),
    "detectable_format:json_format": lambda arguments: (Form("json"),),
    "detectable_format:constrained_response": lambda arguments: tuple(
        OneOf(_ANSWERS, alone) for alone in (True, False)
    ),
    "detectable_content:number_placeholders": _exactly("placeholders", "num_placeholders"),
    "detectable_content:postscript": lambda arguments: (Count("postscripts", 1),),
    "startend:quotation": lambda arguments: (Form("quoted"),),
    "startend:end_checker": lambda arguments: (Edge("end", (arguments["end_phrase"].strip("\"'"),)),),
    "change_case:english_lowercase": lambda arguments: (Form("lower_case"),),
    "change_case:english_capital": lambda arguments: (Form("upper_case"),),
    "change_case:capital_word_frequency": lambda arguments: _capital(arguments),
    "combination:two_responses": lambda arguments: (Parts(2, "******"),),
    "language:response_language": lambda arguments: (InLanguage(arguments["language"]),),
}  # fmt: skip
# What prompts of a kind say as well, though IFEval has no constraint for it: "in English, and in all lowercase".
_ALSO = {
    "change_case:english_lowercase": ("language:response_language",),
    "change_case:english_capital": ("language:response_language",),
    "length_constraints:nth_paragraph_first_word": ("length_constraints:number_paragraphs",),
    "keywords:frequency": ("keywords:existence",),
}


def _capital(arguments: Mapping[str, Any]) -> tuple[Constraint, ...]:
    return _counted("capital_words", "capital_relation", "capital_frequency")(arguments)


def _kind_of(one: Constraint) -> str | None:
    """IFEval's name for what was read; None for what it has no kind of."""
    match one:
        case Count(of="commas", most=0):
            return "punctuation:no_comma"
        case Count(of="words"):
            return "length_constraints:number_words"
        case Count(of="sentences"):
            return "length_constraints:number_sentences"
        case Count(of="paragraphs"):
            return "length_constraints:number_paragraphs"
        case Count(of="titles"):
            return "detectable_format:title"
        case Count(of="placeholders"):
            return "detectable_content:number_placeholders"
        case Count(of="postscripts"):
            return "detectable_content:postscript"
        case Count(of="highlights"):
            return "detectable_format:number_highlighted_sections"
        case Count(of="bullets"):
            return "detectable_format:number_bullet_lists"
        case Count(of="sections"):
            return "detectable_format:multiple_sections"
        case Count(of="capital_words"):
            return "change_case:capital_word_frequency"
        case Edge(end="end", wanted=True):
            return "startend:end_checker"
        case Edge(paragraph=int()):
            return "length_constraints:nth_paragraph_first_word"
        case Form(form="json"):
            return "detectable_format:json_format"
        case Form(form="quoted"):
            return "startend:quotation"
        case Form(form="lower_case"):
            return "change_case:english_lowercase"
        case Form(form="upper_case"):
            return "change_case:english_capital"
        case InLanguage():
            return "language:response_language"
        case Parts():
            return "combination:two_responses"
        case OneOf():
            return "detectable_format:constrained_response"
        case Mentions(letter=True):
            return "keywords:letter_frequency"
        case Mentions(most=0):
            return "keywords:forbidden_words"
        case Mentions(least=1, most=None):
            return "keywords:existence"
        case Mentions():
            return "keywords:frequency"
    return None
