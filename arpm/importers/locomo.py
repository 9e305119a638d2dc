"""LoCoMo: dated conversations of two people, one atom for each utterance.

Source: Maharana et al. 2024, `locomo10.json`. Iterates over `session_<n>`, since some files have dates of sessions that
are not there. Dates have no timezone and are taken as UTC. Knows nothing about questions and their evidence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from arpm.errors import InputError, NotFoundError
from arpm.importers.atoms import Atom
from arpm.service import Service
from arpm.timeline import Timeline
from retrieval.text import usable

_SESSION = re.compile(r"session_([1-9][0-9]{0,5})")
_DATE = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation. `speaker_a` of the file is the user, `speaker_b` the character."""

    id: str
    user: str
    character: str
    atoms: tuple[Atom, ...]


def read_locomo(name: str, data: bytes) -> list[Conversation]:
    """The conversations of a LoCoMo file. Raises InputError naming the conversation, session and utterance."""
    try:
        items = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not JSON: {error}. A LoCoMo file is a JSON list of conversations.") from error
    if not isinstance(items, list) or not items:
        raise InputError(f"{name} holds no list of conversations, which a LoCoMo file is.")
    return [_conversation(f"{name}, conversation {place}", item) for place, item in enumerate(items, 1)]


def chosen(conversations: list[Conversation], id: str | None) -> list[Conversation]:
    """The conversation of that id, or all of them. Raises NotFoundError naming the ids there are."""
    found = [conversation for conversation in conversations if id in (None, conversation.id)]
    if not found:
        ids = ", ".join(conversation.id for conversation in conversations)
        raise NotFoundError(f"there is no conversation {id!r} in the file; there are {ids}")
    return found


def timeline_of(service: Service, name: str, conversation: Conversation) -> tuple[Timeline, str]:
    """The timeline that an earlier import of this conversation began, or a new one; and the name of its source."""
    source = f"{name}#{conversation.id}"
    for row in service.timelines():
        if (row.user, row.character) == (conversation.user, conversation.character):
            timeline = service.timeline(row.id)
            if _first_source(timeline) in (None, source):
                return timeline, source
    return service.create_timeline(conversation.user, conversation.character, timezone="UTC"), source


def _first_source(timeline: Timeline) -> str | None:
    """The file that a timeline's first import came from; None when nothing at all has happened on it yet."""
    for event in timeline.events():
        if event.kind == "imported" and event.body is not None:
            return str(event.body["source"]["file"])
    return None if timeline.info.rounds == 0 else ""


def _conversation(place: str, item: Any) -> Conversation:
    talk = item.get("conversation") if isinstance(item, dict) else None
    if not isinstance(talk, dict):
        raise InputError(f"{place}: has no 'conversation' object.")
    user, character = (_text(place, talk, key) for key in ("speaker_a", "speaker_b"))
    id = str(item.get("sample_id") or place.rpartition(" ")[2])
    return Conversation(id, user, character, tuple(_atoms(place, talk, user)))


def _atoms(place: str, talk: Mapping[str, Any], user: str) -> Iterator[Atom]:
    numbers = sorted(int(match[1]) for key in talk if (match := _SESSION.fullmatch(key)))
    for session in (f"session_{number}" for number in numbers):
        at = _date(f"{place}, {session}", talk.get(f"{session}_date_time"))
        utterances = talk[session]
        if not isinstance(utterances, list):
            raise InputError(f"{place}, {session}: is no list of utterances.")
        for number, utterance in enumerate(utterances):
            # One date is given for the whole session; a second for each utterance keeps their order in time.
            moment = at + timedelta(seconds=number)
            yield _atom(f"{place}, {session}, utterance {number + 1}", utterance, session, moment, user)


def _atom(place: str, utterance: Any, session: str, at: datetime, user: str) -> Atom:
    if not isinstance(utterance, dict):
        raise InputError(f"{place}: is no object.")
    words = _text(place, utterance, "text", empty=True)
    caption = utterance.get("blip_caption")
    if isinstance(caption, str) and caption.strip():
        words = f"{words} [shared an image: {usable(caption).strip()}]".strip()
    said = _text(place, utterance, "speaker") == user
    return Atom(_text(place, utterance, "dia_id"), session, at, words if said else "", "" if said else words)


def _text(place: str, item: Mapping[str, Any], key: str, empty: bool = False) -> str:
    value = item.get(key)
    if not isinstance(value, str) or not (value.strip() or empty):
        raise InputError(f"{place}: {key!r} is missing or no text.")
    return usable(value).strip()


def _date(place: str, value: Any) -> datetime:
    try:
        return datetime.strptime(value, _DATE).replace(tzinfo=UTC)
    except (TypeError, ValueError):
        raise InputError(f"{place}: the date {value!r} is not like '1:56 pm on 8 May, 2023'.") from None
