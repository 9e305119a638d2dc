"""What must be forgotten beside the ledger when words are erased: texts whose vectors are kept, and torn files.

Keeps the part of promise 5 that no cache remembers what the ledger no longer says. Asks the catalogue, which still
holds the words until it is folded anew; so the same answer is found again when an erasure was interrupted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from arpm.canonical import canonical
from arpm.catalogue import KNOWLEDGE, Catalogue, TurnRow
from arpm.repeats import pieces
from retrieval.candidates import Query
from retrieval.experience import text_in_context
from retrieval.memories import Experience, KnowledgeChunk

# So many memories in a row that left search one by one are looked at for neighbours that met over them.
_FARTHEST = 500
_TORN = "ledger.torn-*"


@dataclass(frozen=True, slots=True)
class Going:
    """What an erasure takes, as the catalogue knows it: memories, turns, instructions' words and chunks.

    `everything` of a timeline, or `sure`: with all replies that were made with it in view. `answered` are the times of
    the timeline's turns and failed turns, each with whether it goes.
    """

    timeline: str
    memories: tuple[Experience, ...]
    turns: tuple[TurnRow, ...]
    instructions: tuple[str, ...]
    chunks: tuple[KnowledgeChunk, ...]
    everything: bool
    sure: bool
    answered: tuple[tuple[datetime, bool], ...]

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
    named = set(receipt["events"])
    turns = (catalogue.turn(event) for event in receipt["events"])
    known = () if ledger == KNOWLEDGE else catalogue.turns(ledger)
    return Going(
        timeline=ledger,
        memories=tuple(row.memory for row in catalogue.memory_rows(ledger) if row.memory.memory in memories),
        turns=tuple(turn for turn in turns if turn is not None and not turn.erased),
        instructions=tuple(item.text for item in catalogue.instructions(ledger) if item.id in instructions),
        chunks=tuple(catalogue.chunks(document)) if document else (),
        everything=receipt["scope"]["by"] == "timeline",
        sure=receipt.get("along", {}).get("which") == "all",
        answered=tuple((turn.at, turn.event in named) for turn in known),
    )


# -- vectors ----------------------------------------------------------------------------------------------------------


def embedded(catalogue: Catalogue, what: Going) -> set[str]:
    """The texts of `what` that were embedded, unless something that stays has the very same text."""
    texts = {child for chunk in what.chunks for child in chunk.children}
    texts.update(memory.text for memory in what.memories)
    # Context policies look at each side of a round by itself.
    texts.update(side for memory in what.memories for side in (memory.message, memory.reply))
    texts.update(_contexts(catalogue, what))
    if what.turns:
        asker = _asker(catalogue, what.timeline)
        texts.update(text for turn in what.turns for text in asker(turn.message))
        texts.update(side for turn in what.turns for side in (turn.message, turn.response))
    texts.discard("")
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
            yield from (memory.message, memory.reply)
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


# -- torn files -------------------------------------------------------------------------------------------------------


def torn_of(logs: Path, what: Going) -> list[Path]:
    """The files of unfinished lines that an erasure takes: those of its ledger, of every ledger for a document."""
    if what.chunks:
        return [path for folder in sorted(logs.iterdir()) if folder.is_dir() for path in torn_with(folder, what)]
    return torn_with(logs / what.timeline, what)


def torn_with(folder: Path, what: Going) -> list[Path]:
    """The files of unfinished lines in a ledger's folder that hold words of `what`, or of which nobody can tell.

    A line may have been cut off anywhere, so a stretch of the words is enough. One that was cut off before the message
    that it answers may be an attempt at what goes: see `_unclear`.
    """
    torn = sorted(folder.glob(_TORN))
    if not torn or what.everything:
        return torn
    written = [canonical(text).decode()[1:-1] for text in what.words()]
    phrases = _Phrases(written)
    own = folder.name == what.timeline
    texts = ((path, path.read_bytes().decode("utf-8", "ignore")) for path in torn)
    return [path for path, text in texts if (own and _unclear(text, what)) or _holds(text, phrases, written)]


_WRITTEN_AT = re.compile(r'\A\{"at":"([^"]{1,40})"')


def _unclear(fragment: str, what: Going) -> bool:
    """Whether a line without its message may be an attempt at a message that goes, or a reply that saw it.

    Members are in alphabetical order: what the model said comes before the message. Whoever was cut off sends the
    message again, so an attempt is one at what was answered next.
    """
    if '"attempts":' not in fragment or '"message":' in fragment:
        return False
    found = _WRITTEN_AT.match(fragment)
    try:
        at = datetime.fromisoformat(found[1]) if found else None
    except ValueError:
        at = None
    if at is None:
        return True
    if what.sure and any(goes and time <= at for time, goes in what.answered):
        return True
    return next((goes for time, goes in what.answered if time > at), False)


class _Phrases:
    """Words to look for in pieces of lines, as JSON writes them: a stretch of them is enough."""

    def __init__(self, words: Iterable[str]) -> None:
        """Words shorter than a stretch are only found as whole strings of JSON."""
        self._few: set[str] = set()
        self._stretches: set[str] = set()
        for text in words:
            found = set(pieces(text))
            self._stretches |= found
            self._few.update(() if found else (text,))

    def in_line(self, fragment: str) -> bool:
        """Whether a piece of a line repeats a stretch of the words, or holds one of those that are few."""
        if any(f'"{few}"' in fragment for few in self._few):
            return True
        return not self._stretches.isdisjoint(pieces(fragment))


# A string that was cut off, and is no member's name.
_OPEN_STRING = re.compile(r'[:\[]"((?:[^"\\]|\\.)*)\Z')


def _holds(fragment: str, phrases: _Phrases, written: Sequence[str]) -> bool:
    # The last string of a line that was cut off may be the first few characters of the words.
    cut = _OPEN_STRING.search(fragment)
    if cut is not None and cut[1] and any(text.startswith(cut[1]) for text in written):
        return True
    return phrases.in_line(fragment)
