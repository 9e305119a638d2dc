"""The scripted dialogues of `allergy` and `tax`: a constraint said once early, then long talk of other things, then a
question that it bears on.

Of our own writing, after the two benchmarks of the AFM paper (section 4.3), in English and Chinese. The seed draws the
wording of the constraint and of the question, where the constraint stands, and twenty-five other exchanges. In one form
the constraint is given as a standing instruction, in the other as a plain fact about the person.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from arpm.canonical import canonical, digest
from retrieval.text import Language

Scenario = Literal["allergy", "tax"]
Form = Literal["instruction", "fact"]
SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)
FORMS: tuple[Form, ...] = get_args(Form)
LANGUAGES: tuple[Language, ...] = ("en", "zh")
DISTRACTORS = 25
# The constraint comes after one to three other exchanges.
_BEFORE = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the person says and the script's own reply."""

    message: str
    reply: str


@dataclass(frozen=True, slots=True)
class Script:
    """A dialogue up to its graded question.

    `core` are the words of the constraint by which a prompt is known to show it; they hold a word that no list of
    keywords would, so that a placeholder that only names the subject is not taken for it. `place` is its round.
    """

    scenario: Scenario
    language: Language
    form: Form
    seed: int
    user: str
    character: str
    persona: str
    constraint: str
    core: str
    place: int
    exchanges: tuple[Exchange, ...]
    question: str

    @property
    def name(self) -> str:
        return f"{self.scenario}-{self.language}-{self.form}-{self.seed}"


def scripted(scenario: Scenario, language: Language, form: Form, seed: int) -> Script:
    """The dialogue of a seed."""
    told = _read(scenario)[language]
    chance = random.Random(f"{scenario} {language} {form} {seed}")
    chosen = chance.choice([item for item in told["constraints"] if item["form"] == form])
    others = [Exchange(item["message"], item["reply"]) for item in chance.sample(told["distractors"], DISTRACTORS)]
    before = chance.choice(_BEFORE)
    constraint = Exchange(chosen["text"], chance.choice(told["acknowledgements"]))
    return Script(
        scenario=scenario,
        language=language,
        form=form,
        seed=seed,
        user=told["user"],
        character=told["character"],
        persona=told["persona"],
        constraint=chosen["text"],
        core=chosen["core"],
        place=before + 1,
        exchanges=(*others[:before], constraint, *others[before:]),
        question=chance.choice(told["questions"]),
    )


def all_scripts(scenario: Scenario, seeds: Sequence[int]) -> list[Script]:
    """Every dialogue of these seeds, in both languages and both forms."""
    return [scripted(scenario, language, form, seed) for seed in seeds for language in LANGUAGES for form in FORMS]


@cache
def scripts_digest(scenario: Scenario) -> str:
    """The digest of everything that the dialogues are made of, so that a step notices when it changed."""
    return digest(canonical(_read(scenario)))


def distractors(scenario: Scenario, language: Language) -> list[Exchange]:
    """The pool that the other exchanges are drawn from."""
    return [Exchange(item["message"], item["reply"]) for item in _read(scenario)[language]["distractors"]]


@cache
def _read(scenario: Scenario) -> dict[str, Any]:
    text = files("arpm.experiments").joinpath("data", "constraint", f"{scenario}.json").read_text("utf-8")
    told: dict[str, Any] = json.loads(text)
    return told
