"""Stand-ins for the models of the handoff: one that reads its prompt mechanically, and one that is bad.

The reader finds the statements of its prompt about what it is asked, lets the latest hold, as the prompt says, and
takes times from the cues beside the evidence. So it is as right as its prompt. It knows nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from arpm.experiments.handoff_script import WRONG
from arpm.experiments.stand_ins import in_form, is_repair
from arpm.generation.base import GenerationRequest
from retrieval.text import Language, language, sentences


@dataclass(frozen=True, slots=True)
class _Shown:
    """Something said earlier, as the prompt shows it: its label if it is evidence, its text and when it was."""

    label: str | None
    text: str
    rounds: str
    day: str


def read(request: GenerationRequest) -> str:
    """What the reader writes."""
    asked: Language = language(request.question)
    response, cited = _found(request, asked)
    markers = re.findall(r"'([^']+)'|“([^”]+)”", request.messages[0].content.split("\n\n")[0])
    said = [one or other for one, other in markers]
    # A form of address begins the reply, a turn of phrase ends it.
    framed = "，".join([*said[:1], response]) if asked == "zh" else ", ".join([*said[:1], response])
    return in_form(" ".join([framed, *said[1:]]), cited)


def misread(request: GenerationRequest) -> str:
    """What the bad model writes: the same wrong place for everything; it leaks tags or keeps no form at all."""
    asked: Language = language(request.question)
    thing = _thing(request.question, asked)
    wrong = WRONG[asked]
    said = _said(thing, wrong, asked)
    # By the length of the message, so that it is the same in every run, and when it is asked to repair.
    manner = len(request.question) % 3
    if manner == 0:
        return f"need: experience</analysis> {said}"
    if manner == 1 and not is_repair(request):
        return in_form(f"<analysis>need: both\n{said}", [])
    return in_form(said, [])


def _found(request: GenerationRequest, asked: Language) -> tuple[str, list[str]]:
    thing = _thing(request.question, asked)
    if not thing:
        return _first_sentences(request, asked)
    noted = _places(request.question, thing, asked)
    if noted:
        return _said(thing, noted[0], asked), []
    hits = [(item, place) for item in _shown(request, asked) for place in _places(item.text, thing, asked)]
    if not hits:
        return _UNKNOWN[asked], []
    if _ROUNDS[asked] in request.question or _DAY[asked] in request.question:
        first = hits[0][0]
        when = first.rounds if _ROUNDS[asked] in request.question else first.day
        return _WHEN[asked].format(when=when), [first.label] if first.label else []
    last, place = hits[-1]
    return _said(thing, place, asked), [last.label] if last.label else []


def _said(thing: str, place: str, asked: Language) -> str:
    return f"the {thing} is {place}." if asked == "en" else f"{thing}放在{place}。"


_UNKNOWN = {"en": "I do not know.", "zh": "我不知道。"}
_WHEN = {"en": "you told me {when}.", "zh": "是{when}。"}
_ROUNDS = {"en": "How many rounds ago", "zh": "几轮之前"}
_DAY = {"en": "On which day", "zh": "哪一天"}
_THING = {
    "en": re.compile(r"(?:where the (.+?) is\b|Where is the (.+?)\?|note: the (.+?) is\b)"),
    "zh": re.compile(r"(?:告诉你(.+?)放在哪里|^(?!我是)(.+?)放在哪里|记一下：(.+?)放在)"),
}


def _thing(question: str, asked: Language) -> str:
    """What a message is about; "" when it is about no thing."""
    found = _THING[asked].search(question)
    return next((group for group in found.groups() if group), "") if found else ""


def _places(text: str, thing: str, asked: Language) -> list[str]:
    """Where a text says that a thing is."""
    name = re.escape(thing)
    if asked == "en":
        return re.findall(rf"\b[Tt]he {name} is ((?:in|on|under|behind|beside) [a-z ]+)\.", text)
    return re.findall(rf"(?<!号){name}放在((?!哪)[^。？，：]+)。", text)


_LABEL = re.compile(r"^\[(E\d+)\] \((conversation|document)(?:, (.*))?\)\n", re.MULTILINE)


def _shown(request: GenerationRequest, asked: Language) -> Iterator[_Shown]:
    """What was said before, oldest first: the evidence with its cues, then the rounds shown word for word."""
    cues = {label: cue for label, kind, cue in _LABEL.findall(request.messages[0].content) if kind == "conversation"}
    for item in request.evidence:
        if item.route == "experience":
            parts = re.split(r"[,，]\s*", cues.get(item.label, ""))
            rounds, day = (parts[1], parts[2]) if len(parts) == 3 else ("", "")
            yield _Shown(item.label, item.text, rounds, day)
    window = [message.content for message in request.messages[1:] if not is_repair(request)][:-1]
    pairs = list(zip(window[::2], window[1::2], strict=False))
    for place, (message, response) in enumerate(pairs):
        ago = len(pairs) - place
        rounds = f"{ago} rounds ago" if asked == "en" else f"{ago}轮之前"
        yield _Shown(None, f"{message}\n{response}", rounds, "today" if asked == "en" else "今天")


def _first_sentences(request: GenerationRequest, asked: Language) -> tuple[str, list[str]]:
    """For a question about oneself, the persona; else the sentence of a document that shares most words with it."""
    if _ONESELF[asked].search(request.question):
        persona = request.messages[0].content.split("\n\n")[0]
        # Behind who the reader is comes what it is: the prompt names the persona in its first sentence.
        lines = [persona[start:end] for start, end in sentences(persona)]
        return lines[1] if len(lines) > 1 else _UNKNOWN[asked], []
    texts = [(item.label, item.text) for item in request.evidence if item.route == "knowledge"]
    wanted = _words(request.question, asked)
    best: tuple[int, str, str | None] = (0, _UNKNOWN[asked], None)
    for label, text in texts:
        for start, end in sentences(text):
            shared = len(wanted & _words(text[start:end], asked))
            if shared > best[0]:
                best = (shared, text[start:end], label)
    return best[1], [best[2]] if best[2] else []


# What the reader is, no document knows better than its persona: a novel has many who say what they do.
_ONESELF = {"en": re.compile(r"\byour?\b", re.IGNORECASE), "zh": re.compile("你")}


_COMMON = frozenset("what is a an the your work and how it going today are you of".split())
_COMMON_PAIRS = frozenset("什么 么是 怎么 今天".split())


def _words(text: str, asked: Language) -> frozenset[str]:
    """Content words; of Chinese, pairs of characters."""
    if asked == "en":
        return frozenset(re.findall(r"[a-z]+", text.lower())) - _COMMON
    return frozenset(text[place : place + 2] for place in range(len(text) - 1)) - _COMMON_PAIRS
