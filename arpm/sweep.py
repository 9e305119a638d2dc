"""Going over a timeline's ledger for an erasure: what of it goes, what was shown of that later, and what repeats it.

The unit is the round: what goes with one is its replies and branches, failed attempts at the same words, instructions
recognised in them, feedback and reviews. Other rounds can be taken along: those that repeat the words, or all that
were made with them in view, and those made with these in view in their turn. Knows nothing about files and caches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from arpm.events import RECEIPT, Event
from arpm.ids import source_digest
from arpm.repeats import Words
from governance.windows import SUMMARISED

EXCERPT = 160
# What a later turn shows of a round word for word, in a shorter form, and of the instructions: named beside the labels
# of its evidence.
WINDOW = "window"
HISTORY = "history"
INSTRUCTIONS = "instructions"
# The same for a round imported from the published ARPM's logs, whose record has what it was shown.
RECALLED = "recalled"
# A failed turn after what goes: its record does not say what it was shown.
UNTOLD = "untold"

# Which other replies are taken along.
Along = Literal["quoting", "all"]


@dataclass(frozen=True, slots=True)
class LosingPrompt:
    """A later turn whose prompt showed what goes, so that it cannot be rebuilt.

    `labels` are those of its evidence; "window", "history" and "instructions" where these showed it, "recalled" where
    an imported log says so.
    """

    turn: str
    timeline: str
    round: int
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LaterReply:
    """A reply that was made with it in view, or a turn that repeats it. It stays unless it `goes` along.

    `shares` are the words that it repeats, the longest stretch of them; None when it repeats nothing.
    """

    turn: str
    timeline: str
    round: int
    at: datetime
    text: str
    shares: str | None
    goes: bool


@dataclass(frozen=True, slots=True)
class Copy:
    """A record beside the turns that repeats words of it, such as a title: its event, and whether it `goes` along."""

    event: str
    timeline: str
    kind: str
    at: datetime
    text: str
    shares: str
    goes: bool


@dataclass(slots=True)
class Chosen:
    """The rounds that go as a whole, failed turns that go by themselves, imported memories; or `everything`.

    `memories` are all that go. `said` and `replied` are the words that were asked to be erased, `attempts` what failed
    turns of other rounds were asked. `along` are the replies, and `copies` the other records, that were taken along.
    """

    everything: bool = False
    rounds: set[int] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    imported: set[str] = field(default_factory=set)
    memories: set[str] = field(default_factory=set)
    said: set[str] = field(default_factory=set)
    replied: set[str] = field(default_factory=set)
    attempts: dict[int, list[str]] = field(default_factory=dict)
    along: dict[str, LaterReply] = field(default_factory=dict)
    copies: dict[str, Copy] = field(default_factory=dict)

    def complete(self, events: Iterable[Event]) -> None:
        """Note what the chosen rounds say and became, and failed attempts at the same words in other rounds."""
        attempts: list[tuple[str, int, str]] = []
        asked, replied = set[str](), set[str]()
        for event in events:
            body = event.body
            if body is None:
                continue
            if event.kind == "turn" and body["round"] in self.rounds:
                asked.add(body["message"])
                replied.add(body["response"])
                if body["admission"]["memory"] is not None:
                    self.memories.add(body["admission"]["memory"])
            elif event.kind == "imported" and body["memory"] in self.imported:
                self.memories.add(body["memory"])
                asked.add(body["message"])
                replied.add(body["reply"])
            elif event.kind == "turn_failed":
                if body["round"] in self.rounds or event.id in self.failed:
                    asked.add(body["message"])
                attempts.append((event.id, body["round"], body["message"]))
        for id, round, message in attempts:
            if message in asked and round not in self.rounds:
                self.failed.add(id)
                self.attempts.setdefault(round, []).append(message)
        if not self.along:
            # What was asked for, and not what goes along with it.
            self.said |= asked
            self.replied |= replied

    def size(self) -> int:
        """Grows with everything that is chosen."""
        turns = len(self.rounds) + len(self.failed) + len(self.imported)
        return turns + len(self.memories) + len(self.copies)


@dataclass(slots=True)
class Sweep:
    """What one pass over a timeline's ledger found: what of it goes, and what stays and was shown it or repeats it."""

    timeline: str
    chosen: Chosen
    taking: Along | None
    taken: list[str] = field(default_factory=list)
    turns: list[dict[str, Any]] = field(default_factory=list)
    instructions: dict[str, str] = field(default_factory=dict)
    retired: list[dict[str, str]] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    prompts: list[LosingPrompt] = field(default_factory=list)
    replies: list[LaterReply] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    seqs: dict[str, int] = field(default_factory=dict)
    _said: Words = field(init=False)
    _words: Words = field(init=False)
    _began: bool = False

    def __post_init__(self) -> None:
        self._said = Words(self.chosen.said)
        self._words = Words(self.chosen.said | self.chosen.replied)

    def look(self, event: Event, body: Mapping[str, Any]) -> None:
        """Sort an event to what goes or what stays. Events come in the order of the ledger."""
        self.seqs[event.id] = event.seq
        if not self._goes(event, body):
            self._note_staying(event, body)
        if not self._goes(event, body):
            return
        self._began = True
        self.taken.append(event.id)
        if event.kind in ("turn", "turn_failed"):
            self.turns.append({"event": event.id, "round": body["round"], "replaces": body["replaces"]})
        elif event.kind == "imported" and body["source"]["id"] is not None:
            self.sources.append(source_digest(self.timeline, body["source"]["id"]))
        elif event.kind == "instruction_added":
            self.instructions[body["instruction"]] = body["text"]
        elif event.kind == "instruction_retired" and body["instruction"] not in self.instructions:
            self.retired.append({"instruction": body["instruction"], "at": event.at.isoformat()})

    # -- what goes ----------------------------------------------------------------------------------------------------

    def _goes(self, event: Event, body: Mapping[str, Any]) -> bool:
        chosen = self.chosen
        if chosen.everything or event.id in chosen.copies:
            return True
        match event.kind:
            case "turn" | "feedback":
                return body["round"] in chosen.rounds
            case "turn_failed":
                return body["round"] in chosen.rounds or event.id in chosen.failed
            case "imported":
                return body["memory"] in chosen.imported
            case "instruction_added":
                # One that was put in another's place by a rule holds its words.
                return body["kind"] == "rule" and (
                    body["replaces"] in self.instructions or self._copied(body["source_round"], body["text"])
                )
            case "instruction_retired":
                return body["by"] == "rule" and self._copied(body["source_round"], body["reason"])
            case "message_compressed":
                # A model wrote it from these words.
                return not chosen.rounds.isdisjoint(body["rounds"]) or not chosen.memories.isdisjoint(body["memories"])
            case "review":
                # It may quote what goes.
                return body["event"] in self.taken or body["memory"] in chosen.memories
        return False

    def _copied(self, round: int, text: str) -> bool:
        """Whether words that a rule recognised in a round were taken from what goes."""
        if round in self.chosen.rounds:
            return True
        return any(text in message for message in self.chosen.attempts.get(round, ()))

    # -- what stays, unless it is taken along -------------------------------------------------------------------------

    def _note_staying(self, event: Event, body: Mapping[str, Any]) -> None:
        match event.kind:
            case "turn" | "turn_failed":
                self._note_turn(event, body)
            case "imported":
                self._note_imported(event, body)
            case _:
                self._note_copy(event, body)

    def _note_turn(self, event: Event, body: Mapping[str, Any]) -> None:
        labels = self._shown(body) if event.kind == "turn" else []
        shares = self._shared(texts_of(body), event.kind == "turn_failed" or bool(labels))
        if event.kind == "turn_failed" and self.taking == "all" and self._began and any(_by_model(body)):
            labels = [UNTOLD]
        text = body["response"] if event.kind == "turn" else next(filter(None, _by_model(body)), body["message"])
        found = self._note(event, body["round"], text, labels, shares)
        if found is not None and found.goes:
            if event.kind == "turn_failed":
                self.chosen.failed.add(event.id)
            else:
                self.chosen.rounds.add(body["round"])
                self._add_memory(body["admission"]["memory"])

    def _note_imported(self, event: Event, body: Mapping[str, Any]) -> None:
        published = body.get("published") or {}
        labels = [RECALLED] if self._was_recalled(published) else []
        shares = self._shared([body["message"], body["reply"], *_strings(published)], bool(labels))
        found = self._note(event, body["round"], body["reply"] or body["message"], labels, shares)
        if found is not None and found.goes:
            self.chosen.imported.add(body["memory"])
            self._add_memory(body["memory"])

    def _note(self, event: Event, round: int, text: str, labels: list[str], shares: str | None) -> LaterReply | None:
        """List a turn that was shown what goes or repeats it, as staying or as going along."""
        if not labels and shares is None:
            return None
        goes = self.taking == "all" or (self.taking == "quoting" and shares is not None)
        reply = LaterReply(event.id, self.timeline, round, event.at, excerpt(text), shares, goes)
        if goes:
            self.chosen.along[event.id] = reply
            return reply
        if labels:
            self.prompts.append(LosingPrompt(event.id, self.timeline, round, tuple(labels)))
        self.replies.append(reply)
        return reply

    def _add_memory(self, memory: str | None) -> None:
        if memory is not None:
            self.chosen.memories.add(memory)

    def _shown(self, body: Mapping[str, Any]) -> list[str]:
        """By what a turn's prompt showed what goes."""
        chosen = self.chosen
        labels = [item["label"] for item in body["evidence"] if item["memory"] in chosen.memories]
        if chosen.rounds.intersection(body["window"]):
            labels.append(WINDOW)
        elif any(row["round"] in chosen.rounds and _in_prompt(row) for row in body.get("history", ())):
            labels.append(HISTORY)
        if self.instructions.keys() & body["instructions_shown"]:
            labels.append(INSTRUCTIONS)
        return labels

    def _was_recalled(self, published: Mapping[str, Any]) -> bool:
        replaced = published.get("replaced", ())
        recalls = [published.get("recalled"), *(one["recalled"] for one in replaced)]
        items = [item for recalled in recalls for item in recalled or ()]
        return any(
            item["memory"] in self.chosen.memories or self._words.shared(item["text"] or "") is not None
            for item in items
        )

    def _shared(self, texts: Iterable[str], in_view: bool) -> str | None:
        """The longest stretch of what goes that is in some texts.

        What a model said is looked for only where it can have come from there: models use the same phrases again.
        """
        words, best, seen = self._words if in_view else self._said, None, ""
        # What a model wrote has the reply and the analysis in it.
        for text in sorted(texts, key=len, reverse=True):
            if text in seen:
                continue
            seen = seen or text
            shared = words.shared(text)
            best = max(filter(None, (best, shared)), key=len, default=None)
        return best

    def _note_copy(self, event: Event, body: Mapping[str, Any]) -> None:
        telling = _COPIES.get(event.kind)
        if telling is None:
            return
        text = "\n".join(filter(None, telling(body)))
        shares = self._words.shared(text)
        if shares is not None:
            goes = self.taking is not None and event.kind not in _NEEDED
            copy = Copy(event.id, self.timeline, event.kind, event.at, excerpt(text), shares, goes)
            if goes:
                self.chosen.copies[event.id] = copy
            else:
                self.copies.append(copy)


def swept(timeline: str, events: Callable[[], Iterator[Event]], chosen: Chosen, taking: Along | None) -> Sweep:
    """Go over a ledger until nothing more is taken along. `chosen` holds what is asked for, and then what goes.

    Later rounds are taken in the same pass, so that a few are enough however long the chain is.
    """
    if not chosen.everything:
        chosen.complete(events())
    while True:
        before, sweep = chosen.size(), Sweep(timeline, chosen, taking)
        for event in events():
            if event.body is not None and event.kind != RECEIPT:
                sweep.look(event, event.body)
        if not chosen.everything and chosen.along:
            chosen.complete(events())
        if chosen.size() == before:
            seqs = sweep.seqs
            sweep.replies = sorted([*sweep.replies, *chosen.along.values()], key=lambda reply: seqs[reply.turn])
            sweep.copies = sorted([*sweep.copies, *chosen.copies.values()], key=lambda copy: seqs[copy.event])
            return sweep


def texts_of(body: Mapping[str, Any]) -> Iterator[str]:
    """Everything that a turn or a failed turn says: the message, the reply, drafts, analysis, what was wrong."""
    yield body["message"]
    yield body.get("response", "")
    yield from _by_model(body)
    analysis = body.get("analysis") or {}
    yield analysis.get("text") or ""
    yield analysis.get("check") or ""
    for violation in body.get("violations", ()):
        yield violation["detail"] or ""
    yield (body.get("error") or {}).get("text") or ""


def _by_model(body: Mapping[str, Any]) -> Iterator[str]:
    yield body.get("partial") or ""
    for attempt in body["attempts"]:
        yield attempt["raw"] or ""
        yield attempt["reasoning"] or ""


def _in_prompt(row: Mapping[str, Any]) -> bool:
    """Whether a prompt held an earlier message in some form; a rolling summary has words of many."""
    return row["fidelity"] is not None or row["reason"] == SUMMARISED


def _strings(value: Any) -> Iterator[str]:
    """Every text inside what an import kept of another log."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


# Where other records hold a person's words.
_COPIES: dict[str, Callable[[Mapping[str, Any]], tuple[str | None, ...]]] = {
    "timeline_opened": lambda body: (body["persona"],),
    "timeline_renamed": lambda body: (body["title"],),
    "instruction_added": lambda body: (body["text"],),
    "instruction_retired": lambda body: (body["reason"],),
    "feedback": lambda body: (body["note"],),
    "review": lambda body: (body["quote"], body["reason"]),
    "memory_quarantined": lambda body: (body["reason"],),
    "memory_released": lambda body: (body["reason"],),
}
# Without their bodies a timeline would not be what it is: they go only with the whole of it.
_NEEDED = ("timeline_opened", "memory_quarantined", "memory_released")


def excerpt(text: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else line[: EXCERPT - 1] + "…"
