"""What people say to an assistant when they ask for nothing to last: sentences of public dialogues.

From RealMem (Apache-2.0) and the Chinese part of MemoryBank (MIT), read from the data folder and never copied. What
might be an instruction after all, by a rule or by its words, is left out. Some users are kept back, for counting false
alarms. Knows nothing about training.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from benchmarks.report import data_folder
from governance import recogniser
from governance.instruction_rules import ADD, CHANGE, CODE, NARROW, QUOTED, RETIRE, first_match, plain
from governance.instructions import blank
from retrieval.text import sentences

KIND = "other"
KEPT_BACK = ("Liam_O_Connor", "陆琳", "焦彦")
_LONGEST = 500
# RealMem holds seven times as many messages as MemoryBank: every so manieth is enough.
_EVERY = 5
_DOUBTFUL = {"address", "role", "all replies", "your replies", "each turn"}


def messages(kept_back: bool = False) -> Iterator[str]:
    """The users' messages of moderate length. Raises DataMissingError without the data."""
    for path in sorted(data_folder("realmem").glob("*_dialogues_256k.json")):
        if path.name.startswith(KEPT_BACK) == kept_back:
            sessions = json.loads(path.read_text("utf-8"))["dialogues"]
            turns = [turn for session in sessions for turn in session["dialogue_turns"] if turn["speaker"] == "User"]
            yield from [turn["content"] for turn in turns if len(turn["content"]) < _LONGEST][::_EVERY]
    bank = json.loads((data_folder("memorybank") / "cn" / "memory_bank_cn.json").read_text("utf-8"))
    for name, user in bank.items():
        if (name in KEPT_BACK) == kept_back:
            yield from (turn["query"] for day in user["history"].values() for turn in day)


def everyday_sentences() -> list[recogniser.Sentence]:
    """The sentences of the users that are not kept back, as the recogniser sees them; each text once."""
    found: dict[str, recogniser.Sentence] = {}
    for message in messages():
        blanked = QUOTED.sub(blank, CODE.sub(" ", message))
        texts = [plain(blanked[start:end]) for start, end in sentences(blanked)]
        for sentence in recogniser.in_context(texts):
            if not _doubtful(sentence):
                found.setdefault(sentence.text, sentence)
    return list(found.values())


def _doubtful(sentence: recogniser.Sentence) -> bool:
    if any(first_match(rules, sentence.text) for rules in (ADD, RETIRE, CHANGE, NARROW)):
        return True
    spoken = {name for name, value in zip(recogniser.CUES, recogniser.cues(sentence), strict=True) if value}
    return bool(spoken & _DOUBTFUL) or spoken >= {"with me", "manner word"}
