"""What must be forgotten beside the ledger when words are erased: texts whose vectors are kept, and torn files.

Keeps the part of promise 5 that no cache remembers what the ledger no longer says. Asks the catalogue, which still
holds the words until it is folded anew; so the same answer is found again when an erasure was interrupted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arpm.canonical import canonical
from arpm.catalogue import KNOWLEDGE, Catalogue, TurnRow
from retrieval.candidates import Query
from retrieval.experience import text_in_context
from retrieval.memories import Experience, KnowledgeChunk

# So many characters in a row that two texts share are no accident; characters beyond ASCII say more each.
_RUN = 16
_WIDE_RUN = 6
# So many memories in a row that left search one by one are looked at for neighbours that met over them.
_FARTHEST = 500
_TORN = "ledger.torn-*"


@dataclass(frozen=True, slots=True)
class Going:
    """What an erasure takes, as the catalogue knows it: memories, turns, instructions' words and chunks."""

    timeline: str
    memories: tuple[Experience, ...]
    turns: tuple[TurnRow, ...]
    instructions: tuple[str, ...]
    chunks: tuple[KnowledgeChunk, ...]

    def words(self) -> list[str]:
        """Everything that was said in it."""
        said = [text for memory in self.memories for text in (memory.message, memory.reply)]
        said += [text for turn in self.turns for text in (turn.message, turn.response)]
        said += [*self.instructions, *(chunk.text for chunk in self.chunks)]
        return [text for text in dict.fromkeys(said) if text]


def going(catalogue: Catalogue, ledger: str, receipt: Mapping[str, Any]) -> Going:
    """What the body of a receipt names, as far as the catalogue still has it."""
    memories, instructions = set(receipt["memories"]), set(receipt["instructions"])
    document = receipt["scope"]["value"] if ledger == KNOWLEDGE else None
    turns = (catalogue.turn(event) for event in receipt["events"])
    return Going(
        timeline=ledger,
        memories=tuple(row.memory for row in catalogue.memory_rows(ledger) if row.memory.memory in memories),
        turns=tuple(turn for turn in turns if turn is not None and not turn.erased),
        instructions=tuple(item.text for item in catalogue.instructions(ledger) if item.id in instructions),
        chunks=tuple(catalogue.chunks(document)) if document else (),
    )


# -- vectors ----------------------------------------------------------------------------------------------------------


def embedded(catalogue: Catalogue, what: Going) -> set[str]:
    """The texts of `what` that were embedded, unless something that stays has the very same text."""
    texts = {child for chunk in what.chunks for child in chunk.children}
    texts.update(memory.text for memory in what.memories)
    texts.update(_contexts(catalogue, what))
    if what.turns:
        asker = _asker(catalogue, what.timeline)
        texts.update(text for turn in what.turns for text in asker(turn.message))
    for held in _held_elsewhere(catalogue, what):
        texts.discard(held)
    return texts


def _asker(catalogue: Catalogue, timeline: str) -> Callable[[str], tuple[str, str]]:
    """The two texts that a message can have been searched by."""
    info = catalogue.timeline(timeline)
    return lambda message: (message, Query(message, info.user, info.character).augmented())


def _contexts(catalogue: Catalogue, what: Going) -> Iterator[str]:
    """Every text in context that an erased memory is part of, or was: neighbours change when others leave search."""
    if not what.memories:
        return
    gone, met = {memory.memory for memory in what.memories}, catalogue.left_search(what.timeline)
    sessions: dict[str, list[Experience]] = {}
    for row in reversed(catalogue.memory_rows(what.timeline)):
        sessions.setdefault(row.memory.session, []).append(row.memory)
    for memories in sessions.values():
        for place, memory in enumerate(memories):
            for after in _met(memories[place + 1 : place + 1 + _FARTHEST], met):
                if memory.memory in gone or after.memory in gone:
                    yield text_in_context(memory, after)


def _met(following: Sequence[Experience], met: Collection[str]) -> Iterator[Experience]:
    """Those that have ever come right after a memory: the first that never left search, and all before it."""
    for memory in following:
        yield memory
        if memory.memory not in met:
            return


def _held_elsewhere(catalogue: Catalogue, what: Going) -> Iterator[str]:
    """Every embedded text of what stays."""
    if what.chunks:
        others = (row.id for row in catalogue.documents() if row.id != what.chunks[0].document)
        yield from (child for id in others for chunk in catalogue.chunks(id) for child in chunk.children)
    if what.memories:
        gone = {memory.memory for memory in what.memories}
        before: dict[tuple[str, str], Experience] = {}
        for timeline, searched, memory in catalogue.everything_said():
            if memory.memory in gone:
                continue
            yield memory.text
            if searched:
                yield text_in_context(before.get((timeline, memory.session)), memory)
                before[timeline, memory.session] = memory
    if what.turns:
        asked, askers = {turn.event for turn in what.turns}, dict[str, Callable[[str], tuple[str, str]]]()
        for timeline, event, message in catalogue.everything_asked():
            if event not in asked and message:
                if timeline not in askers:
                    askers[timeline] = _asker(catalogue, timeline)
                yield from askers[timeline](message)


# -- words in other texts ---------------------------------------------------------------------------------------------


class Phrases:
    """Words to look for in other texts: a stretch of them is enough."""

    def __init__(self, words: Iterable[str]) -> None:
        """Words shorter than a stretch are only found whole."""
        self._few: set[str] = set()
        self._runs: dict[int, set[str]] = {_RUN: set(), _WIDE_RUN: set()}
        for text in words:
            run = _RUN if text.isascii() else _WIDE_RUN
            if len(text) < run:
                self._few.add(text)
            else:
                self._runs[run].update(text[start : start + run] for start in range(len(text) - run + 1))

    def __bool__(self) -> bool:
        return bool(self._few) or any(self._runs.values())

    def in_text(self, text: str) -> bool:
        """Whether a text repeats a stretch of the words, or is one of those that are few."""
        return text.strip() in self._few or self._any_run(text)

    def in_line(self, fragment: str) -> bool:
        """The same for a piece of a ledger's line, where the few are whole strings of JSON."""
        return any(f'"{few}"' in fragment for few in self._few) or self._any_run(fragment)

    def _any_run(self, text: str) -> bool:
        return any(
            bool(runs) and any(text[start : start + run] in runs for start in range(len(text) - run + 1))
            for run, runs in self._runs.items()
        )


# -- torn files -------------------------------------------------------------------------------------------------------


def torn_with(folder: Path, words: Iterable[str]) -> list[Path]:
    """The files of unfinished lines in a ledger's folder that hold some of `words`.

    A line may have been cut off anywhere, so a stretch of the words is enough; and one that was cut off before the
    words it was about is counted in, since nobody can tell what the model was saying in it.
    """
    torn = sorted(folder.glob(_TORN))
    if not torn:
        return []
    written = [canonical(text).decode()[1:-1] for text in words]
    phrases = Phrases(written)
    return [path for path in torn if _holds(path.read_bytes().decode("utf-8", "ignore"), phrases, written)]


_OPEN_STRING = re.compile(r'"((?:[^"\\]|\\.)*)\Z')


def _holds(fragment: str, phrases: Phrases, written: Sequence[str]) -> bool:
    if '"attempts":' in fragment and '"message":' not in fragment:
        return True
    # The last string of a line that was cut off may be the first few characters of the words.
    cut = _OPEN_STRING.search(fragment)
    if cut is not None and cut[1] and any(text.startswith(cut[1]) for text in written):
        return True
    return phrases.in_line(fragment)
