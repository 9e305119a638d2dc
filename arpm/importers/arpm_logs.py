"""The logs of the published ARPM: its dialogue log, with what its recall and analysis logs say of the same rounds.

All three are JSON Lines; in the place of the dialogue log its chunk export will do, a JSON array of what it remembers,
with less in it. A `dialog_turn` is one round; a `dialog_regenerate` replaces the reply of the last one with
the same session and round. Those numbers begin again with every model and every clearing of the context, even within
one session, so a round is told by its number and its time. Analyses are joined by session, round and time; recalled
context by round, input and time. What cannot be read or joined is named with file and line. What a log does not hold
is null and listed as missing. Knows nothing about timelines.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import MAXYEAR, MINYEAR, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from arpm.errors import InputError
from arpm.importers.atoms import Atom, Skipped
from arpm.importers.recalled import Item, quoted, read_context
from arpm.importers.stage_table import Stages
from arpm.importers.suspect import suspect
from arpm.turn import MESSAGE_LIMIT
from retrieval.text import usable

TIMEZONE = "Asia/Shanghai"
# What our own turn record has and none of these logs: always missing.
NEVER_LOGGED = ("candidates", "scores", "prompt", "config", "sampling")

_NAME_LIMIT = 200
# Two logs write of the same round within seconds; generation lies between a recall and its reply.
_SAME_ROUND_SECONDS = 300
_DEEPEST = 60
_SAFE_INTEGER = 2**53 - 1


class _BadLineError(Exception):
    """A line cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log as it was read."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Talk:
    """The rounds of one user with one character, as atoms in the order of the log."""

    user: str
    character: str
    atoms: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class ArpmLogs:
    """What a set of logs holds, and the lines that could not be used or joined."""

    talks: tuple[Talk, ...]
    skipped: tuple[Skipped, ...]


@dataclass(slots=True)
class _Entry:
    """One line of a log."""

    line: int
    values: dict[str, Any]
    at: datetime | None
    logged: datetime | None


@dataclass(slots=True)
class _Round:
    """A round under way: its entries, the first a turn and the others its regenerations; the last one holds."""

    number: int
    session: str
    round: int | None
    entries: list[_Entry]
    analyses: list[_Entry] = field(default_factory=list)
    recalls: dict[int, _Entry] = field(default_factory=dict)
    source: str = ""

    @property
    def last(self) -> _Entry:
        return self.entries[-1]

    def text(self, member: str) -> str:
        return str(self.last.values.get(member) or "")


def read_arpm_logs(
    dialogue: LogFile,
    recall: LogFile | None = None,
    analysis: LogFile | None = None,
    stages: Stages | None = None,
    *,
    timezone: str = TIMEZONE,
    names: tuple[str | None, str | None] = (None, None),
) -> ArpmLogs:
    """Read logs whose times are local in `timezone`. `names` stand where a line names no user or character.

    Raises InputError when the dialogue log has no line that can be used, naming the first one's fault.
    """
    skipped: list[Skipped] = []
    reader = _Reader(_zone(timezone), skipped)
    rounds = _rounds(reader, dialogue)
    if not rounds:
        fault = f"{skipped[0].place}: {skipped[0].reason}" if skipped else "it is empty"
        raise InputError(
            f"{dialogue.name} has no line that can be imported ({fault}). A dialogue log of ARPM is JSON Lines with "
            "the events dialog_turn and dialog_regenerate, a chunk export a JSON array."
        )
    if analysis is not None:
        _join_analyses(reader, analysis, rounds)
    if recall is not None:
        _join_recalls(reader, recall, rounds)
    talks = _talks(rounds, stages or Stages(), names, dialogue.name)
    return ArpmLogs(tuple(talks), tuple(skipped))


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise InputError(f"{name!r} is no timezone; use a name such as Asia/Shanghai.") from None


# -- lines ------------------------------------------------------------------------------------------------------------


class _Reader:
    """Reads the lines of logs and keeps account of those that cannot be used."""

    def __init__(self, zone: ZoneInfo, skipped: list[Skipped]) -> None:
        self._zone = zone
        self._skipped = skipped

    def entries(self, file: LogFile, events: Sequence[str], check: Callable[[dict[str, Any]], None]) -> list[_Entry]:
        """The usable lines of a file, in its order."""
        found = []
        for number, raw in enumerate(file.data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
            if not raw.strip():
                continue
            try:
                values = _object(raw)
                if values.get("event") not in events:
                    raise _BadLineError(f"its event is {str(values.get('event'))[:40]!r}, not {' or '.join(events)}")
                check(values)
            except _BadLineError as error:
                self.skip(file, number, str(error))
            else:
                _drop_times_that_are_none(values)
                logged = self._time(values.get("logged_at"))
                found.append(_Entry(number, values, self._time(values.get("physical_time")) or logged, logged))
        return found

    def chunks(self, file: LogFile) -> list[_Entry]:
        """The rounds in a chunk export, in its order; a knowledge chunk is none, and is named."""
        try:
            values = json.loads(file.data.removeprefix(b"\xef\xbb\xbf").decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{file.name} begins like a chunk export and is no JSON array in UTF-8: {error}."
            ) from None
        found = []
        for number, value in enumerate(values, 1):
            try:
                found.append(self._chunk(number, value))
            except _BadLineError as error:
                self._skipped.append(Skipped(f"{file.name}, item {number}", str(error)))
        return found

    def _chunk(self, number: int, value: Any) -> _Entry:
        if not isinstance(value, dict):
            raise _BadLineError("is not a JSON object")
        chunk: dict[str, Any] = _plain(value, 0)
        if str(chunk.get("source_type")).startswith("knowledge"):
            raise _BadLineError("is a piece of a document; add the document itself with `arpm ingest`")
        _check_dialogue(chunk)
        chunk["physical_time"] = chunk.get("timestamp")
        _drop_times_that_are_none(chunk)
        at = self._time(chunk.get("timestamp"))
        return _Entry(number, {**chunk, "event": "chunk"}, at, None)

    def skip(self, file: LogFile, line: int, reason: str) -> None:
        self._skipped.append(Skipped(f"{file.name}, line {line}", reason))

    def _time(self, value: Any) -> datetime | None:
        """A time of the log; None where it says none that can be read."""
        if not isinstance(value, str):
            return None
        try:
            at = datetime.fromisoformat(value.strip())
        except (ValueError, OverflowError):
            return None
        # The first and the last year there are have hours that other timezones cannot say.
        if not MINYEAR < at.year < MAXYEAR:
            return None
        return at if at.tzinfo else at.replace(tzinfo=self._zone)


def _drop_times_that_are_none(values: dict[str, Any]) -> None:
    """Rounds are told apart by times as they are written: a list or a number is none."""
    for member in ("physical_time", "logged_at"):
        if not isinstance(values.get(member), str):
            values.pop(member, None)


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _BadLineError(f"is not UTF-8 (byte {error.start})") from None
    except (ValueError, RecursionError) as error:
        raise _BadLineError(f"is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise _BadLineError("is not a JSON object")
    plain: dict[str, Any] = _plain(value, 0)
    return plain


def _plain(value: Any, depth: int) -> Any:
    """A value as the ledger can hold it: NaN and infinities become null, what is too large or too deep becomes text."""
    if isinstance(value, str):
        return usable(value)
    if isinstance(value, dict | list) and depth >= _DEEPEST:
        return usable(str(value)[:1000])
    if isinstance(value, dict):
        return {usable(str(key)): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _SAFE_INTEGER:
        return str(value) if abs(value) < 10**300 else None
    return value


def _check_dialogue(values: dict[str, Any]) -> None:
    for member in ("user_input", "assistant_reply"):
        text = values.get(member)
        if text is not None and not isinstance(text, str):
            raise _BadLineError(f"{member!r} is no text")
        if text is not None and len(text) > MESSAGE_LIMIT:
            raise _BadLineError(f"{member!r} has {len(text):,} characters; the limit is {MESSAGE_LIMIT:,}")
    if not str(values.get("user_input") or "").strip() and not str(values.get("assistant_reply") or "").strip():
        raise _BadLineError("has neither a user_input nor an assistant_reply")


def _check_analysis(values: dict[str, Any]) -> None:
    if not isinstance(values.get("analysis"), str | None):
        raise _BadLineError("'analysis' is no text")
    for member in ("protocol_info", "regeneration_info"):
        if not isinstance(values.get(member), dict | None):
            raise _BadLineError(f"{member!r} is no object")


def _check_recall(values: dict[str, Any]) -> None:
    if not isinstance(values.get("context"), str):
        raise _BadLineError("'context' is missing or no text")


def _number(value: Any) -> int | None:
    """A round number as logs write it."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) < 12:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _SAFE_INTEGER else None


def _name(value: Any) -> str:
    return " ".join(str(value).split())[:_NAME_LIMIT] if isinstance(value, str | int) and value is not True else ""


# -- joining ----------------------------------------------------------------------------------------------------------

Key = tuple[str, int | None]


def _key(values: dict[str, Any], round: str = "round") -> Key:
    return _name(values.get("session_id")), _number(values.get(round))


def _rounds(reader: _Reader, file: LogFile) -> list[_Round]:
    """The rounds of a dialogue log. The very same line twice is one."""
    rounds: list[_Round] = []
    latest: dict[Key, _Round] = {}
    seen: dict[str, int] = {}
    for entry in _entries(reader, file):
        fingerprint = json.dumps(entry.values, sort_keys=True)
        if (first := seen.setdefault(fingerprint, entry.line)) != entry.line:
            reader.skip(file, entry.line, f"is line {first} over again")
            continue
        key = _key(entry.values)
        if entry.values["event"] == "dialog_regenerate" and key in latest:
            before = latest[key].last.values.get("user_input")
            entry.values["user_input"] = entry.values.get("user_input") or before
            latest[key].entries.append(entry)
        else:
            rounds.append(_Round(len(rounds) + 1, *key, [entry]))
            latest[key] = rounds[-1]
    return rounds


def _entries(reader: _Reader, file: LogFile) -> list[_Entry]:
    if file.data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"[" and b"dialog_" not in file.data[:2000]:
        return reader.chunks(file)
    return reader.entries(file, ("dialog_turn", "dialog_regenerate"), _check_dialogue)


def _join_analyses(reader: _Reader, file: LogFile, rounds: Sequence[_Round]) -> None:
    """Give every analysis to the round with its session and number, and with its time or the nearest one."""
    groups: list[tuple[Key, list[_Entry]]] = []
    latest: dict[Key, list[_Entry]] = {}
    for entry in reader.entries(file, ("cot_analysis", "cot_regenerate"), _check_analysis):
        key = _key(entry.values)
        if entry.values["event"] == "cot_regenerate" and key in latest:
            latest[key].append(entry)
        else:
            latest[key] = [entry]
            groups.append((key, latest[key]))
    open_rounds = defaultdict[Key, list[_Round]](list)
    for item in rounds:
        open_rounds[item.session, item.round].append(item)
    left = [group for group in groups if not _take_exact(open_rounds[group[0]], group[1])]
    for key, entries in left:
        if not _take_nearest(open_rounds[key], entries):
            for entry in entries:
                reader.skip(file, entry.line, f"no round {key[1]} of session {key[0]!r} in the dialogue log is near it")


def _take_exact(rounds: list[_Round], entries: list[_Entry]) -> bool:
    times = {entry.values.get("physical_time") for entry in entries} - {None}
    for item in rounds:
        if not item.analyses and any(entry.values.get("physical_time") in times for entry in item.entries):
            item.analyses = entries
            return True
    return False


def _take_nearest(rounds: list[_Round], entries: list[_Entry]) -> bool:
    free = [item for item in rounds if not item.analyses]
    at = entries[0].at
    if at is not None:
        dated = [(abs((item.entries[0].at - at).total_seconds()), item) for item in free if item.entries[0].at]
        near = [pair for pair in dated if pair[0] <= _SAME_ROUND_SECONDS]
        free = [min(near, key=lambda pair: pair[0])[1]] if near else [item for item in free if not item.entries[0].at]
    for item in free[:1]:
        item.analyses = entries
    return bool(free)


def _join_recalls(reader: _Reader, file: LogFile, rounds: Sequence[_Round]) -> None:
    """Give every recalled context to the first reply of its round and input that was logged after it.

    A context that a failed call left behind is followed by another one for the same reply, which takes its place.
    """
    asked = defaultdict[tuple[int | None, str], list[tuple[_Round, int]]](list)
    for item in rounds:
        for place, entry in enumerate(item.entries):
            asked[item.round, _input(entry.values)].append((item, place))
    for recall in reader.entries(file, ("recall_context_injected",), _check_recall):
        round = _number(recall.values.get("current_round"))
        found = _first_after(recall, asked[round, _input(recall.values)])
        if found is None:
            reader.skip(file, recall.line, f"no reply to this input in round {round} of the dialogue log came after it")
            continue
        item, place = found
        if place in item.recalls:
            reader.skip(file, item.recalls[place].line, f"line {recall.line} recalled again for the same reply")
        item.recalls[place] = recall


def _input(values: dict[str, Any]) -> str:
    return str(values.get("user_input") or "").strip()


def _first_after(recall: _Entry, replies: Sequence[tuple[_Round, int]]) -> tuple[_Round, int] | None:
    for item, place in replies:
        logged = item.entries[place].logged or item.entries[place].at
        if logged is None or recall.logged is None:
            if place not in item.recalls:
                return item, place
        elif logged >= recall.logged:
            return item, place
    return None


# -- atoms ------------------------------------------------------------------------------------------------------------


def _talks(rounds: Sequence[_Round], stages: Stages, names: tuple[str | None, str | None], file: str) -> Iterator[Talk]:
    """The rounds of each pair as atoms, in the order in which the pairs first speak."""
    _give_sources(rounds, file)
    pairs = defaultdict[tuple[str, str], list[_Round]](list)
    for item in rounds:
        pairs[
            _name(item.last.values.get("user_name")) or names[0] or "User",
            _name(item.last.values.get("character_name")) or names[1] or "Assistant",
        ].append(item)
    for (user, character), theirs in pairs.items():
        quotes = _Quotes(theirs, user, character)
        yield Talk(user, character, tuple(_atom(item, stages.model(item.number), quotes) for item in theirs))


def _give_sources(rounds: Sequence[_Round], file: str) -> None:
    """A name for every round that stays the same when the log has grown: session, number and time."""
    taken: dict[str, int] = {}
    for item in rounds:
        first = item.entries[0]
        time = first.values.get("logged_at") or first.values.get("physical_time") or f"{file}:{first.line}"
        source = f"{item.session or 'arpm'}/{'' if item.round is None else item.round}@{str(time)[:40]}"
        taken[source] = taken.get(source, 0) + 1
        item.source = source if taken[source] == 1 else f"{source}#{taken[source]}"


class _Quotes:
    """Finds the earlier round that an item of recalled history quotes."""

    def __init__(self, rounds: Sequence[_Round], user: str, character: str) -> None:
        self._names = user, character
        self._rounds = {
            (item.session, item.round, entry.values.get("physical_time")): item
            for item in rounds
            for entry in item.entries
        }

    def item(self, item: Item, by: _Round) -> dict[str, Any]:
        """An item as the ledger has it; `memory` is the source of the round until that is placed."""
        found = self._rounds.get((item.source, item.round, item.time)) if item.source_type != "knowledge" else None
        if found is not None and found.number < by.number:
            item = quoted(item, *self._names, found.text("user_input").strip(), found.text("assistant_reply").strip())
        else:
            found = None
        return {
            "n": item.n,
            "source_type": item.source_type,
            "source": item.source,
            "round": item.round,
            "time": item.time,
            "memory": found.source if found else None,
            "text": item.text,
            "shown": {"message": item.shown.message, "reply": item.shown.reply} if item.shown else None,
        }


def _atom(item: _Round, model: str | None, quotes: _Quotes) -> Atom:
    reply = item.text("assistant_reply").strip()
    found = suspect(reply)
    published = _published(item, model, quotes)
    published["suspect"] = {"kind": found.kind, "detail": found.detail} if found else None
    return Atom(item.source, item.session or "arpm", item.last.at, item.text("user_input").strip(), reply, published)


def _published(item: _Round, model: str | None, quotes: _Quotes) -> dict[str, Any]:
    """What the logs say of a round beside its words; null is missing."""
    said = _said(item, len(item.entries) - 1, quotes)
    published = {"round": item.round, "session": item.session or None, "number": item.number, "model": model, **said}
    missing = [name for name in ("round", "session", "model") if published[name] is None]
    missing += [
        name for name in ("logged_at", "analysis", "protocol", "regeneration", "recalled") if said[name] is None
    ]
    if item.last.at is None:
        missing.append("at")
    return {
        **published,
        "replaced": [
            {"reply": str(entry.values.get("assistant_reply") or ""), **_said(item, place, quotes)}
            for place, entry in enumerate(item.entries[:-1])
        ],
        "missing": [*missing, *NEVER_LOGGED],
    }


def _said(item: _Round, place: int, quotes: _Quotes) -> dict[str, Any]:
    """What the logs say of one reply of a round. The last analysis belongs to the last reply."""
    from_end = len(item.entries) - place
    analysis = item.analyses[-from_end].values if from_end <= len(item.analyses) else {}
    recall = item.recalls.get(place)
    items, rest = read_context(recall.values["context"]) if recall else ((), "")
    entry = item.entries[place]
    return {
        "event": entry.values["event"],
        "logged_at": entry.logged.isoformat() if entry.logged else None,
        "analysis": analysis.get("analysis"),
        "protocol": analysis.get("protocol_info"),
        "regeneration": analysis.get("regeneration_info"),
        "recalled": [quotes.item(one, item) for one in items] if recall else None,
        "unread": rest or None,
    }
