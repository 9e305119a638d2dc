"""What became of the earlier messages of a recorded turn, decided again from its record.

The record names every message by its round and memory and holds the numbers that were judged; packing, shortening and
stubs follow from these by the same pure functions as in the turn. Needs the tokenizer that counted, and no embedder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from arpm.catalogue import Catalogue
from arpm.compression import Compression, KeptCompressor, finding
from arpm.conversation import by_rule, finder, messages_of, room_for_messages
from arpm.errors import NotFoundError
from arpm.generation.base import Sampling
from arpm.history_lines import history_lines
from arpm.record import judgement_of
from arpm.recorded_count import LOCAL
from governance.afm.compress import Compressor
from governance.config import GovernanceConfig
from governance.decay import Moment
from governance.focus import Judgement
from governance.history import Count, Message, Placed, Speaker
from governance.policy import Conversation, place
from governance.windows import OUTSIDE
from retrieval.memories import Experience


class MessageLostError(NotFoundError):
    """An earlier message that a prompt was made from was erased."""


def placed_again(
    catalogue: Catalogue,
    timeline: str,
    at: datetime,
    body: Mapping[str, Any],
    count: Count,
    compressions: Sequence[Compression] = (),
) -> list[Placed]:
    """One `Placed` for every row of the record's `history`.

    `compressions` are those that no ledger holds, of a rehearsal. Raises MessageLostError when a message was erased
    whose words decided anything (what lies before a window did not), NotCompressedError when what a model made of it
    was.
    """
    config = GovernanceConfig.of_record(body["config"])
    rows = body["history"]
    messages = [_message(catalogue, timeline, row) for row in rows]
    room = room_for_messages(
        body["context_tokens"],
        Sampling(**body["sampling"]),
        config,
        catalogue.timeline(timeline).persona,
        body["message"],
        count,
    )
    judged = [judgement_of(row["focus"]) for row in rows if row["focus"]]

    def recorded(_: Sequence[Message]) -> Sequence[Judgement]:
        return judged

    compressor: Compressor = by_rule(count)
    if config.compressor == "model" and body["backend"]["name"] != LOCAL:
        find = finding(compressions, finder(catalogue, timeline))
        compressor = KeptCompressor(messages, body["backend"]["model"], count, find)
    moment, timezone = Moment(body["round"], at), catalogue.timeline(timeline).timezone
    lines = history_lines(body["backend"]["prompt_style"], config, moment, timezone, body["message"])
    talk = Conversation(messages, body["message"], room, count, compressor, recorded, lines=lines)
    return place(talk, config, moment)


def _message(catalogue: Catalogue, timeline: str, row: Mapping[str, Any]) -> Message:
    found = next((m for m in _said(catalogue, timeline, row) if m.speaker == row["part"]), None)
    if found is None and row["reason"] == OUTSIDE:
        at = datetime.fromisoformat(row["at"]) if row["at"] else None
        return Message(row["part"], row["round"], "", row["memory"], at)
    if found is None:
        raise MessageLostError(f"the prompt was made from round {row['round']}, which was erased")
    return found


def _said(catalogue: Catalogue, timeline: str, row: Mapping[str, Any]) -> Iterator[Message]:
    memory = catalogue.memory(row["memory"]) if row["memory"] else None
    if isinstance(memory, Experience):
        yield from messages_of(memory)
        return
    turn, info = catalogue.turn_of_round(timeline, row["round"]), catalogue.timeline(timeline)
    if turn is not None and turn.kind == "turn" and not turn.erased:
        sides: tuple[tuple[Speaker, str, str], ...] = (
            ("user", info.user, turn.message),
            ("assistant", info.character, turn.response),
        )
        yield from (Message(who, turn.round, words, row["memory"], turn.at, name) for who, name, words in sides)
