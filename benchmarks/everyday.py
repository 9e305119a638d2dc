"""What people say to an assistant when they ask for nothing to last: messages of public dialogues.

From RealMem (Apache-2.0) and the Chinese part of MemoryBank (MIT), read from the data folder and never copied. What
might be an instruction after all, by a rule or by its words, is told apart. Some users are kept back, for counting
false alarms; beside them MADial-Bench (MIT) and LoCoMo (CC BY-NC 4.0), since three users are few. Knows nothing about
training.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from arpm.experiments.madial import FOLDERS, read_dialogues
from arpm.importers.locomo import read_locomo
from benchmarks.report import data_folder
from governance.instruction_rules import ADD, CHANGE, NARROW, RETIRE, first_match
from governance.instructions import sentences_of

KEPT_BACK = ("Liam_O_Connor", "陆琳", "焦彦")
_LONGEST = 500
# RealMem holds seven times as many messages as MemoryBank: every so manieth is enough.
_EVERY = 5
# Of what is kept back as a whole: so that no source counts much more than another.
_EVERY_MADIAL = 5
_EVERY_LOCOMO = 15
# Words of names, roles, replies, turns and of how to talk with somebody.
_DOUBTFUL = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:call|address|refer to) me\b|\bmy name\b|\bpronouns\b|叫我|称呼我|喊我|取名",
        r"\b(?:act (?:as|like)|pretend|role|in character|you are (?:now |going to be )?(?:a|an|my)|play)\b"
        r"|扮演|角色|假装|口吻|身份|你(?:来|是|就是|当)",
        r"\b(?:your|every|each|all|any|no)\b.{0,20}\b(?:repl(?:y|ies)|answers?|responses?|messages?|outputs?)\b"
        r"|(?:你|每|所有|任何|一切).{0,6}(?:回答|回复|答复|消息)",
        r"\b(?:each|every) (?:turn|message|question)\b|\bone at a time\b|\b(?:only|just) (?:answer|output|reply)\b"
        r"|每一?轮|每(?:条|篇|句|个)只|每次发|只(?:需)?(?:回|要|输出)",
        r"^(?:please |and |also |but |so )*(?:answer|reply|respond|speak|talk|write to|use|be|keep|call|start|begin|"
        r"end|finish|format|give your|stick)\b.*\b(?:with|to|for|at) me\b",
        "^请?(?:用|别|不要|称呼|回答|回复|答复|跟我|和我|对我|保持).*(?:跟我|和我|对我|给我|我们)",
    )
)

# What a reader found asked for in the talk of the users kept back, which few would say in these words.
_ASKED = re.compile(
    r"no mucking around|^Now, stop tellin|i dont need lists|bits and pieces, yeah|take on the persona|tabular form",
    re.IGNORECASE,
)


def messages(kept_back: bool = False) -> Iterator[tuple[str, str]]:
    """Who said it, and the users' messages of moderate length. Raises DataMissingError without the data."""
    for path in sorted(data_folder("realmem").glob("*_dialogues_256k.json")):
        if path.name.startswith(KEPT_BACK) == kept_back:
            sessions = json.loads(path.read_text("utf-8"))["dialogues"]
            turns = [turn for session in sessions for turn in session["dialogue_turns"] if turn["speaker"] == "User"]
            said = [turn["content"] for turn in turns if len(turn["content"]) < _LONGEST]
            yield from ((path.name, text) for text in said[::_EVERY])
    bank = json.loads((data_folder("memorybank") / "cn" / "memory_bank_cn.json").read_text("utf-8"))
    for name, user in bank.items():
        if (name in KEPT_BACK) == kept_back:
            yield from ((name, turn["query"]) for day in user["history"].values() for turn in day)
    if kept_back:
        yield from _said_elsewhere()


def _said_elsewhere() -> Iterator[tuple[str, str]]:
    """What children say to an assistant (MADial-Bench, both languages) and people to one another (LoCoMo)."""
    for language, folder in FOLDERS.items():
        file = data_folder("madial-bench") / folder / f"MADial-Bench-{language}-dialogue.json"
        said = [
            (f"{language} {talk.user}", text)
            for talk in read_dialogues(file)
            for speaker, text in talk.said
            if speaker != "Assistant"
        ]
        yield from said[::_EVERY_MADIAL]
    file = data_folder("locomo") / "locomo10.json"
    talks = read_locomo(file.name, file.read_bytes())
    said = [(talk.id, atom.message) for talk in talks for atom in talk.atoms if atom.message]
    yield from said[::_EVERY_LOCOMO]


@dataclass(frozen=True, slots=True)
class Everyday:
    """A message by its sentences, and which of them ask for nothing lasting for sure."""

    speaker: str
    texts: list[str]
    nothing: list[bool]


def everyday_messages(kept_back: bool = False) -> Iterator[Everyday]:
    """What these users said. Raises DataMissingError without the data."""
    for speaker, message in messages(kept_back):
        texts = [text for _, text in sentences_of(message)]
        nothing = [not _doubtful(text) and not (kept_back and _ASKED.search(text)) for text in texts]
        yield Everyday(speaker, texts, nothing)


def _doubtful(text: str) -> bool:
    if any(first_match(rules, text) for rules in (ADD, RETIRE, CHANGE, NARROW)):
        return True
    return any(pattern.search(text) for pattern in _DOUBTFUL)
