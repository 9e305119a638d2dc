"""The scripted dialogue of the ablation: twenty rounds of our own writing, in English and Chinese, in ten variants.

A script is made from the files in `data/ablation`: the rounds with their places to fill, the variants that fill them,
the sentences of the long distractor and the words of the manuals. Dates, order numbers, the error that is asked about
and the distractor come from the seed. Which rounds and passages a prompt must show is part of the script, written
before anything was measured; which part of the system a round is there for says `ablation_parts`.
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
from itertools import product
from typing import Any

from arpm.canonical import digest
from arpm.experiments.grading import Anomaly, Expected, date_wordings
from retrieval.text import Language

LANGUAGES: tuple[Language, ...] = ("en", "zh")
VARIANTS = 10
# Words of the distractor; in Chinese characters, of which eight make five words.
_LENGTH = {"en": 500, "zh": 800}
# Documents and manuals of other variants that stand in the library beside the script's own.
_OTHERS, _OTHER_MANUALS = 4, 2
# Errors in a manual, out of so many numbers in a row: neighbours look alike, and a manual is longer than what a prompt
# has places for, in Chinese too.
_ERRORS, _NUMBERS, _FIRST_ERROR = 200, 400, 41_000
# Orders are numbered in a row as well, whoever gives them.
_ORDERS = range(2_604_100, 2_604_200)

# What a prompt must show: a round's memory by number, or a passage of the script's document by key.
Need = int | str


@dataclass(frozen=True, slots=True)
class Corrected:
    """A fact that changed: the rounds that state it as it was, and those that state it as it is.

    `retold`: nobody called it a correction. It was told anew in the same words, and only the later time says which
    holds; so do statements of earlier dialogues, which are all older.
    """

    name: str
    stale: tuple[int, ...]
    fresh: tuple[int, ...]
    retold: bool = False


@dataclass(frozen=True, slots=True)
class Round:
    """One round: what is said, a right reply, what the prompt needs (one of each group), and how replies are graded.

    `corrected` are the changed facts that the answer rests on.
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
    """A whole dialogue with its documents and manuals (name, text), its own first.

    `passages` are the texts by which a passage is known.
    """

    language: Language
    variant: int
    seed: int
    user: str
    character: str
    persona: str
    documents: tuple[tuple[str, str], ...]
    manuals: tuple[tuple[str, str], ...]
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
    slots["order_a"], slots["order_b"] = _orders(language, seed)[2 * variant : 2 * variant + 2]
    slots["error"], slots["remedy"] = chance.choice(
        [(error.number, error.remedy) for error in _errors(language, variant)]
    )
    beside = [(variant + step) % len(variants) for step in range(_OTHERS + 1)]
    return Script(
        language=language,
        variant=variant,
        seed=seed,
        user=slots["user"],
        character=slots["character"],
        persona=_PERSONA[language].format(**slots),
        documents=tuple((f"papers-{place + 1}.md", _document(language, variants[place])) for place in beside),
        manuals=tuple(
            (f"manual-{place + 1}.md", _manual(language, place, variants[place]))
            for place in beside[: _OTHER_MANUALS + 1]
        ),
        passages={
            "definition": (slots["definition"],),
            "part": (slots["part"],),
            "version": (slots["product"], slots["version"]),
            "error": (_ERROR[language].format(number=slots["error"]),),
        },
        rounds=tuple(_round(line, language, slots, days) for line in _lines("rounds.jsonl")),
    )


@cache
def scripts_digest(seed: int) -> str:
    """The digest of what all scripts of a seed say and need, so that a step notices when that changed.

    By what they say and not by files: the code that makes them counts too. How replies are graded does not, since
    grading is done outside the steps.
    """
    return digest(repr([_said(script) for script in all_scripts(range(VARIANTS), [seed])]).encode())


def _said(script: Script) -> tuple[object, ...]:
    rounds = [(item.kind, item.message, item.reply, item.needs, item.corrected) for item in script.rounds]
    about = (script.name, script.user, script.character, script.persona)
    return (*about, script.documents, script.manuals, sorted(script.passages.items()), rounds)


@cache
def _lines(name: str) -> list[dict[str, Any]]:
    text = files("arpm.experiments").joinpath("data", "ablation", name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


_PERSONA = {
    "en": "You are the {character} and help {user} to prepare an event. You answer briefly from what you know.",
    "zh": "你是{character}，帮{user}筹备一次活动。你根据所知道的简短回答。",
}
_HEADING = {"en": "The papers of the {character}", "zh": "{character}的资料"}
_ERRORS_OF = {"en": "Error codes of {product}", "zh": "{product}的错误代码"}
_ERROR = {"en": "Error {number}:", "zh": "错误{number}："}
_DATE, _ORDER = Corrected("date", (3, 5), (8, 10)), Corrected("order", (6,), (14, 19))
_KEY = Corrected("key", (7,), (12, 17), retold=True)
# The changed facts that a round's answer rests on.
_CORRECTED: Mapping[int, tuple[Corrected, ...]] = {
    10: (_DATE,),
    13: (_DATE,),
    17: (_KEY,),
    19: (_ORDER,),
    20: (_DATE, _ORDER, _KEY),
}
_TWICE = {
    "en": ("twice", "two times", "2 times", "two", "both the date and an order", "both the date and the order"),
    "zh": ("两次", "二次", "2次", "两处", "2处", "两回"),
}


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


def _orders(language: Language, seed: int) -> list[int]:
    """The order numbers of a seed, two for each variant; no two variants have the same."""
    return random.Random(f"orders {language} {seed}").sample(_ORDERS, 2 * VARIANTS)


@dataclass(frozen=True, slots=True)
class _Error:
    """One line of a manual."""

    number: int
    part: str
    fault: str
    remedy: str


@cache
def _errors(language: Language, variant: int) -> tuple[_Error, ...]:
    """What the manual of a variant lists, by number. It does not depend on the seed, and no two variants share one."""
    chance = random.Random(f"errors {language} {variant}")
    parts, faults, remedies = (
        [line[language] for line in _lines("faults.jsonl") if line["what"] == what]
        for what in ("part", "fault", "remedy")
    )
    first = _FIRST_ERROR + variant * _NUMBERS
    numbers = sorted(chance.sample(range(first, first + _NUMBERS), _ERRORS))
    lines = chance.sample(list(product(parts, faults, remedies)), _ERRORS)
    return tuple(_Error(number, *line) for number, line in zip(numbers, lines, strict=True))


def _manual(language: Language, variant: int, slots: Mapping[str, Any]) -> str:
    """The list of errors of a variant's program, one a line."""
    line = {"en": "{head} {part} {fault}; {remedy}.", "zh": "{head}{part}{fault}，{remedy}。"}[language]
    errors = (
        line.format(
            head=_ERROR[language].format(number=error.number), part=error.part, fault=error.fault, remedy=error.remedy
        )
        for error in _errors(language, variant)
    )
    return "\n".join([f"# {_ERRORS_OF[language].format(product=slots['product'])}\n", *errors]) + "\n"


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
    order, old_order = (slots["order_right"],), (slots["order_told"],)
    holder, old_holder = (slots["holder2"],), (slots["holder1"],)
    part, definition = tuple(slots["part_answers"]), tuple(slots["definition_answers"])
    lost: Anomaly = "correction lost"
    chain: Anomaly = "chain broken"
    return {
        "definition": Expected((definition,)),
        "follow-up": Expected((part,), miss=chain),
        "date told": Expected((told,), dated=True),
        "unrelated task": Expected(((slots["function"],),)),
        "date recalled": Expected((told,), miss=chain, dated=True),
        "order told": Expected((old_order,)),
        "key told": Expected((old_holder,)),
        "date corrected": Expected((right,), told, miss=lost, dated=True),
        "distractor": Expected(),
        "corrected date recalled": Expected((right,), told, miss=lost, dated=True),
        "second order told": Expected(((slots["order_other"],),)),
        "key told again": Expected((holder,), old_holder),
        "arithmetic": Expected((cleared,), wrongly, miss="time confused", dated=True),
        "order corrected": Expected((order,), old_order, miss=lost),
        "false claim": Expected(((slots["version"],),), (slots["false_version"],), "false claim accepted"),
        "code looked up": Expected(((slots["remedy"],),)),
        "key recalled": Expected((holder,), old_holder, miss=lost),
        "corrections counted": Expected((_TWICE[language],), miss=lost),
        "order recalled": Expected((order,), old_order, miss=lost),
        "summary": Expected(
            (definition, (slots["function"],), right, order, holder), (*told, *old_order, *old_holder), miss=chain
        ),
    }[kind]


def all_scripts(variants: Sequence[int], seeds: Sequence[int]) -> list[Script]:
    """Every script of these variants and seeds in both languages."""
    return [scripted(language, variant, seed) for seed in seeds for variant in variants for language in LANGUAGES]
