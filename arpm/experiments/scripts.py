"""The scripted dialogue of the ablation: twenty rounds of our own writing, in English and Chinese, in ten variants.

A script is made from the files in `data/ablation`: the rounds with their places to fill, the variants that fill them,
and the sentences of the long distractor. Dates and the distractor come from the seed. Which rounds and passages a
prompt must show is part of the script, written before anything was measured.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from importlib.resources import files
from typing import Any

from arpm.canonical import canonical, digest
from arpm.experiments.grading import Anomaly, Expected, date_wordings
from retrieval.text import Language

LANGUAGES: tuple[Language, ...] = ("en", "zh")
VARIANTS = 10
# Words of the distractor; in Chinese characters, of which eight make five words.
_LENGTH = {"en": 500, "zh": 800}
# Documents of other variants that stand in the library beside the script's own.
_OTHERS = 4

# What a prompt must show: a round's memory by number, or a passage of the script's document by key.
Need = int | str


@dataclass(frozen=True, slots=True)
class Corrected:
    """A fact that was corrected: the rounds that state it as it was, and those that state it as it is."""

    name: str
    stale: tuple[int, ...]
    fresh: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Round:
    """One round: what is said, a right reply, what the prompt needs (one of each group), and how replies are graded.

    `corrected` are the corrected facts that the answer rests on.
    """

    number: int
    kind: str
    message: str
    reply: str
    needs: tuple[tuple[Need, ...], ...]
    corrected: tuple[Corrected, ...]
    expected: Expected


@dataclass(frozen=True, slots=True)
class Script:
    """A whole dialogue with its documents (name, text); `passages` are the texts by which a passage is known."""

    language: Language
    variant: int
    seed: int
    user: str
    character: str
    persona: str
    documents: tuple[tuple[str, str], ...]
    passages: Mapping[str, tuple[str, ...]]
    rounds: tuple[Round, ...]

    @property
    def name(self) -> str:
        return f"{self.language}-{self.variant}-{self.seed}"


def scripted(language: Language, variant: int, seed: int) -> Script:
    """The script of a variant, from zero, with the dates and the distractor of a seed."""
    variants = _lines(f"{language}.jsonl")
    slots = dict(variants[variant])
    chance = random.Random(f"{language} {variant} {seed}")
    days = _dates(chance)
    slots |= {name: date_wordings(day, language)[0] for name, day in days.items() if name != "stale_cleared"}
    slots["days"] = (days["cleared"] - days["date2"]).days
    slots["distractor"] = _distractor(language, chance)
    beside = [(variant + step) % len(variants) for step in range(_OTHERS + 1)]
    return Script(
        language=language,
        variant=variant,
        seed=seed,
        user=slots["user"],
        character=slots["character"],
        persona=_PERSONA[language].format(**slots),
        documents=tuple((f"papers-{place + 1}.md", _document(language, variants[place])) for place in beside),
        passages={
            "definition": (slots["definition"],),
            "part": (slots["part"],),
            "version": (slots["product"], slots["version"]),
        },
        rounds=tuple(_round(line, language, slots, days) for line in _lines("rounds.jsonl")),
    )


def scripts_digest() -> str:
    """The digest of everything that scripts are made of, so that a step notices when it changed."""
    names = ("rounds.jsonl", "distractors.jsonl", *(f"{language}.jsonl" for language in LANGUAGES))
    return digest(canonical([[name, _lines(name)] for name in names]))


@cache
def _lines(name: str) -> list[dict[str, Any]]:
    text = files("arpm.experiments").joinpath("data", "ablation", name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


_PERSONA = {
    "en": "You are the {character} and help {user} to prepare an event. You answer briefly from what you know.",
    "zh": "你是{character}，帮{user}筹备一次活动。你根据所知道的简短回答。",
}
_HEADING = {"en": "The papers of the {character}", "zh": "{character}的资料"}
_DATE, _PLACE = Corrected("date", (3, 5), (7, 9, 17)), Corrected("place", (6,), (12, 14, 17))
# The corrected facts that a round's answer rests on.
_CORRECTED: Mapping[int, tuple[Corrected, ...]] = {
    9: (_DATE,),
    10: (_DATE,),
    14: (_PLACE,),
    17: (_DATE, _PLACE),
    20: (_DATE, _PLACE),
}
_TWICE = {
    "en": ("twice", "two times", "2 times", "two", "both the date and the place"),
    "zh": ("两次", "二次", "2次", "两处", "2处", "两回"),
}
_METRE = {"en": ("metre", "meter"), "zh": ("一米长", "一米更长", "一米比较长", "米更长", "米长", "一米")}


def _dates(chance: random.Random) -> dict[str, date]:
    """The date told, the corrected one, and the days that follow from them; no two are the same."""
    told = date(2026, 5, 3) + timedelta(days=chance.randrange(120))
    shift, days = chance.sample(range(3, 20), 2)
    right = told + timedelta(days=shift)
    return {
        "date1": told,
        "date2": right,
        "cleared": right + timedelta(days=days),
        "stale_cleared": told + timedelta(days=days),
    }


def _distractor(language: Language, chance: random.Random) -> str:
    """About five hundred words of village stories, with dates of their own."""
    kept: list[str] = []
    length = 0
    for line in chance.sample(_lines("distractors.jsonl"), len(_lines("distractors.jsonl"))):
        sentence = line[language]
        kept.append(sentence)
        length += len(sentence.split()) if language == "en" else len(sentence)
        if length >= _LENGTH[language]:
            break
    return (" " if language == "en" else "").join(kept)


def _document(language: Language, slots: Mapping[str, Any]) -> str:
    paragraphs = [slots["definition_text"], *slots["other_texts"][:1], slots["part_text"], slots["version_text"]]
    heading = _HEADING[language].format(character=slots["character"])
    return "\n\n".join([f"# {heading}", *paragraphs, *slots["other_texts"][1:]]) + "\n"


def _round(line: Mapping[str, Any], language: Language, slots: Mapping[str, Any], days: Mapping[str, date]) -> Round:
    number, words = line["round"], line[language]
    return Round(
        number=number,
        kind=line["kind"],
        message=_filled(words["message"], slots),
        reply=_filled(words["reply"], slots),
        needs=tuple(tuple(group) for group in line["needs"]),
        corrected=_CORRECTED.get(number, ()),
        expected=_expected(line["kind"], language, slots, days),
    )


def _filled(template: str, slots: Mapping[str, Any]) -> str:
    return re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", template.format(**slots))


def _expected(kind: str, language: Language, slots: Mapping[str, Any], days: Mapping[str, date]) -> Expected:
    told, right, cleared, wrongly = (
        date_wordings(days[name], language) for name in ("date1", "date2", "cleared", "stale_cleared")
    )
    place, old_place = (slots["place2"],), (slots["place1"],)
    part, definition = tuple(slots["part_answers"]), tuple(slots["definition_answers"])
    lost: Anomaly = "correction lost"
    chain: Anomaly = "chain broken"
    return {
        "definition": Expected((definition,)),
        "follow-up": Expected((part,), miss=chain),
        "date told": Expected((told,), dated=True),
        "unrelated task": Expected(((slots["function"],),)),
        "date recalled": Expected((told,), miss=chain, dated=True),
        "place told": Expected((old_place,)),
        "date corrected": Expected((right,), told, miss=lost, dated=True),
        "distractor": Expected(),
        "corrected date recalled": Expected((right,), told, miss=lost, dated=True),
        "arithmetic": Expected((cleared,), wrongly, miss="time confused", dated=True),
        "false claim": Expected(((slots["version"],),), (slots["false_version"],), "false claim accepted"),
        "place corrected": Expected((place,), old_place, miss=lost),
        "general question": Expected((_METRE[language],)),
        "corrected place recalled": Expected((place,), old_place, miss=lost),
        "task recalled": Expected(((slots["function"],),), miss=chain),
        "guest told": Expected(((_bare(slots["item"]),),)),
        "put together": Expected((right, place, (_bare(slots["item"]),)), (*told, *old_place), miss=chain, dated=True),
        "corrections counted": Expected((_TWICE[language],), miss=lost),
        "definition recalled": Expected((part,), miss=chain),
        "summary": Expected(
            (definition, (slots["function"],), right, place, (slots["guest"],)), (*told, *old_place), miss=chain
        ),
    }[kind]


def _bare(item: str) -> str:
    """A thing without its article, so that "the ladder" is said by "a ladder" too."""
    return re.sub(r"^(?:an?|the) ", "", item)


def all_scripts(variants: Sequence[int], seeds: Sequence[int]) -> list[Script]:
    """Every script of these variants and seeds in both languages."""
    return [scripted(language, variant, seed) for seed in seeds for variant in variants for language in LANGUAGES]
