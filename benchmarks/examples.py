"""Examples that classifiers are trained on: read from text files of ours, with slots filled by a seeded draw.

A file holds sections [KIND LANGUAGE] and [KIND LANGUAGE dev] of one example a line, and [slot NAME LANGUAGE] with the
fillings of {NAME}, parted by |. Knows nothing about what is trained.
"""

from __future__ import annotations

import hashlib
import random
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "data" / "recogniser"
SEED = 20260517
_SLOT = re.compile(r"\{(\w+)\}")
_MARKED = re.compile("<<(.+?)>>")


@dataclass(frozen=True, slots=True)
class Example:
    """A message and what its marked sentences (all when none is marked) are. `line` tells examples of one line."""

    kind: str
    language: str
    message: str
    dev: bool
    line: int


def recogniser_files() -> list[Path]:
    """What the recogniser is trained on: examples with slots, and whole messages."""
    return [FOLDER / "examples.txt", *sorted((FOLDER / "messages").glob("*.txt"))]


def digest(*paths: Path) -> str:
    """By this the weights say which examples they were trained on."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def read_examples(path: Path, fillings: int = 4) -> list[Example]:
    """Every example of a file; a line with slots gives up to so many."""
    draw = random.Random(SEED)
    slots: dict[tuple[str, str], list[str]] = {}
    lines: list[tuple[list[str], str, int]] = []
    section: list[str] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            section = line[1:-1].split()
        elif section[0] == "slot":
            slots.setdefault((section[1], section[2]), []).extend(line.split("|"))
        else:
            lines.append((section, line, number))
    found = []
    for section, line, number in lines:
        kind, language, *dev = section
        messages = {_filled(line, language, slots, draw) for _ in range(fillings if "{" in line else 1)}
        found += [Example(kind, language, message, bool(dev), number) for message in sorted(messages)]
    return found


def _filled(line: str, language: str, slots: dict[tuple[str, str], list[str]], draw: random.Random) -> str:
    if "{" not in line:
        # A whole message is read as it was written, with or without a capital.
        return line
    filled = line
    # A filling may hold no slot, so that one pass is enough.
    filled = _SLOT.sub(lambda slot: draw.choice(slots[slot[1], language]), filled)
    # A filling that is a question needs no full stop behind it, which would keep the next sentence from being one.
    filled = re.sub(r"([?？])[.。]", r"\1", filled)
    return filled[:1].upper() + filled[1:]


def marked(message: str) -> tuple[str, list[tuple[int, int]]]:
    """The message without the marks << and >>, and where in it what stood between them begins and ends."""
    text, found, at = "", list[tuple[int, int]](), 0
    for mark in _MARKED.finditer(message):
        text += message[at : mark.start()]
        found.append((len(text), len(text) + len(mark[1])))
        text += mark[1]
        at = mark.end()
    return text + message[at:], found
