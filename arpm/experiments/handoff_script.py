"""The life that is handed from model to model: what is said in every round of every stage, in English and Chinese.

Facts are told, asked for in a later stage, and asked about in time ("yesterday", "two rounds ago"). All words are our
own. A plan depends on the language, the seed and its size, and is the same for every model.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

from retrieval.text import Language

Kind = Literal["told", "past", "past, told in the bad stage", "rounds ago", "day", "persona", "document"]

# The stage that a bad model takes in the timelines that have one.
BAD_STAGE = 1
# What happens in a stage, again and again.
_CYCLE = 10

USER = {"en": "Ren", "zh": "任远"}
CHARACTER = {"en": "Mira", "zh": "米拉"}
PERSONA = {
    "en": "You are the lighthouse keeper of Gull Rock. You always call Ren 'skipper', and in every reply you say "
    "'steady as the light'.",
    "zh": "你是鸥石岛的灯塔看守人。你总是称呼任远为“船长”，每次回答都要说“稳着呢”。",
}
# By what a reply shows that it is still the same person: form of address, words of tone, occupation.
ADDRESS = {"en": ("skipper",), "zh": ("船长",)}
TONE = {"en": ("steady as the light",), "zh": ("稳着呢",)}
OCCUPATION = {"en": ("lighthouse keeper", "keep the lighthouse", "lighthouse"), "zh": ("灯塔",)}
# What the bad model says of every place.
WRONG = {"en": "in the old well", "zh": "老井里"}

_LISTS = json.loads(files("arpm.experiments").joinpath("data", "handoff.json").read_text("utf-8"))
THINGS: Mapping[Language, Sequence[str]] = _LISTS["things"]
PLACES: Mapping[Language, Sequence[str]] = _LISTS["places"]
_WORDS: Mapping[Language, Mapping[Kind, str]] = {
    "en": {
        "told": "Please note: the {thing} is {place}.",
        "past": "Where is the {thing}?",
        "past, told in the bad stage": "Where is the {thing}?",
        "rounds ago": "How many rounds ago did I tell you where the {thing} is?",
        "day": "On which day did I tell you where the {thing} is: today, yesterday, or how many days ago?",
        "persona": "What is your work, and how is it going today?",
    },
    "zh": {
        "told": "请记一下：{thing}放在{place}。",
        "past": "{thing}放在哪里？",
        "past, told in the bad stage": "{thing}放在哪里？",
        "rounds ago": "我是几轮之前告诉你{thing}放在哪里的？",
        "day": "我是哪一天告诉你{thing}放在哪里的：今天、昨天，还是几天前？",
        "persona": "你是做什么工作的？今天怎么样？",
    },
}


@dataclass(frozen=True, slots=True)
class Step:
    """One round: what kind it is, what is said, and the fact (thing, place, and the step that told it) it is about."""

    number: int
    stage: int
    kind: Kind
    message: str
    thing: str = ""
    place: str = ""
    told_by: int | None = None


def plan(language: Language, seed: int, stages: int, rounds: int, document: str) -> tuple[Step, ...]:
    """Every round of every stage, numbered from zero. `document` is the question that a document answers."""
    return tuple(_Planner(language, seed, document).steps(stages, rounds))


class _Planner:
    def __init__(self, language: Language, seed: int, document: str) -> None:
        self._language = language
        self._document = document
        self._chance = random.Random(f"{language} {seed}")
        self._things = self._chance.sample(THINGS[language], len(THINGS[language]))
        self._steps: list[Step] = []

    def steps(self, stages: int, rounds: int) -> list[Step]:
        for stage in range(stages):
            for place in range(rounds):
                self._steps.append(self._step(stage, place, rounds))
        return self._steps

    def _step(self, stage: int, place: int, rounds: int) -> Step:
        turn = place % _CYCLE
        if turn in (0, 1, 5):
            return self._new("told", stage, thing=self._thing(), place=self._chance.choice(PLACES[self._language]))
        if turn == 4:
            return self._new("persona", stage)
        if turn == 7:
            return self._new("document", stage)
        if turn == 3:
            return self._about("rounds ago", stage, self._steps[-2])
        if turn == 6:
            return self._about("day", stage, self._good(stage, newest=True))
        if turn == 9 and stage == BAD_STAGE + 1:
            told = [step for step in self._steps if step.kind == "told" and step.stage == BAD_STAGE]
            return self._about("past, told in the bad stage", stage, self._chance.choice(told))
        if turn == 9:
            return self._about("rounds ago", stage, self._steps[-4])
        # What was asked last in the stage before is asked again: errors that were remembered come back.
        again = [step for step in self._steps if step.stage == stage - 1 and step.kind == "past"]
        if turn == 2 and again:
            return self._about("past", stage, self._told(again[-1 - place // _CYCLE % len(again)]))
        return self._about("past", stage, self._good(stage))

    def _good(self, stage: int, *, newest: bool = False) -> Step:
        """A fact told in an earlier stage, but not in the bad one; in the first stage, one told in it."""
        told = [step for step in self._steps if step.kind == "told" and step.stage != BAD_STAGE]
        before = [step for step in told if step.stage < stage] or told
        if newest:
            before = [step for step in before if step.stage == before[-1].stage]
        return self._chance.choice(before)

    def _told(self, step: Step) -> Step:
        assert step.told_by is not None
        return self._steps[step.told_by]

    def _thing(self) -> str:
        """A thing that was not spoken of. Beyond the list, things are numbered."""
        used = sum(step.kind == "told" for step in self._steps)
        again, place = divmod(used, len(self._things))
        thing = self._things[place]
        return thing if not again else f"{thing} {again + 1}" if self._language == "en" else f"{again + 1}号{thing}"

    def _about(self, kind: Kind, stage: int, told: Step) -> Step:
        return self._new(kind, stage, thing=told.thing, place=told.place, told_by=told.number)

    def _new(self, kind: Kind, stage: int, **fact: Any) -> Step:
        words = _WORDS[self._language].get(kind, self._document)
        message = words.format(thing=fact.get("thing", ""), place=fact.get("place", ""))
        return Step(len(self._steps), stage, kind, message, **fact)
