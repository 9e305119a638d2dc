"""Packing: which fidelity every past message gets under a token budget (AFM, section 3.3). Two packers, both pure.

`pack_as_published` is the paper's: strictly oldest first, so that a full budget drops the newest messages. It is here
to be compared with. `pack` is the one we ship: room is set aside first for what the prompt must hold, then for CRITICAL
messages and the newest round, and the rest goes to the best scores, in the order of the conversation.

Both keep two promises: what is shown never costs more than the budget, and every message has its line, dropped or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import attrgetter

from governance.afm.compress import LEAST, Compressor, target_tokens
from governance.afm.placeholders import merged, placeholder
from governance.history import Count, Fidelity, Focus, Message, Placed, Speaker, made

# Why a message is shown as it is.
CRITICAL = "critical"
CRITICAL_SHORT = "critical, over its share of the budget"
NEWEST = "newest round"
NEWEST_SHORT = "newest round, over what is left of the budget"
SCORE = "score"
SCORE_SHORT = "score, no room for more"
BRIEF = "score, short enough to be shown whole"
MERGED = "stands in the placeholder of round {round}"
NO_ROOM = "over the token budget"
EMPTY = "empty message"

# A compression of fewer tokens says nothing.
_USEFUL = 8
# The share of the room beside CRITICAL messages and the newest round that is set aside for placeholders.
_PLACEHOLDERS = 0.2


class BudgetTooSmallError(ValueError):
    """The budget does not hold what the prompt must show; `least` is the smallest budget that does."""

    def __init__(self, budget: int, least: int) -> None:
        super().__init__(
            f"a budget of {budget} tokens is too small: the message itself and what must stand with it need {least}; "
            f"set the budget to {least} or more"
        )
        self.budget = budget
        self.least = least


@dataclass(frozen=True, slots=True)
class Budget:
    """What a prompt may cost, in tokens.

    `overhead` is what the prompt adds to each message, and `stub_overhead` to a placeholder where that is something
    else. `reserved` is spent before any past message: the message that is answered, standing instructions, whatever
    else is always shown. Raises BudgetTooSmallError.
    """

    tokens: int
    overhead: int = 0
    reserved: int = 0
    stub_overhead: int | None = None

    @property
    def of_stub(self) -> int:
        """What the prompt adds to a placeholder."""
        return self.overhead if self.stub_overhead is None else self.stub_overhead

    def __post_init__(self) -> None:
        if self.overhead < 0 or self.reserved < 0 or self.of_stub < 0:
            raise ValueError(
                f"overhead and reserved tokens are not negative: {self.overhead}, {self.of_stub}, {self.reserved}"
            )
        if self.tokens < max(self.reserved, 1):
            raise BudgetTooSmallError(self.tokens, max(self.reserved, 1))


# Counts shown messages as the prompt joins them.
Joined = Callable[[Sequence[Placed]], int]


def pack_as_published(
    messages: Sequence[Message],
    focuses: Sequence[Focus],
    query: str,
    budget: Budget,
    count: Count,
    compressor: Compressor,
    *,
    joined: Joined | None = None,
    stubs: bool = True,
) -> list[Placed]:
    """One `Placed` for each message, packed as in the paper: oldest first, each in the best form that still fits.

    What comes late finds nothing left: with a small budget the newest messages are dropped (they have their line here;
    the published code left them out of its statistics too). `messages` are oldest first, `focuses` theirs; `joined` and
    `stubs` as in `pack`.
    """

    def packed(left: int) -> list[Placed]:
        placed = []
        for message, focus in zip(messages, focuses, strict=True):
            item = _best_form(message, focus, query, left, budget, count, compressor, stubs=stubs)
            left -= item.tokens
            placed.append(item)
        return placed

    return _within(budget, joined, packed)


def _within(budget: Budget, joined: Joined | None, packed: Callable[[int], list[Placed]]) -> list[Placed]:
    """What is packed for the budget's room, or for less until it fits as the prompt joins it."""
    room = budget.tokens - budget.reserved
    limit = room
    while True:
        placed = packed(limit)
        over = joined([item for item in placed if item.text]) - room if joined else 0
        if over <= 0:
            return placed
        if limit <= 0:
            raise BudgetTooSmallError(budget.tokens, budget.tokens + over)
        limit -= over


_LADDER: tuple[Fidelity, ...] = ("FULL", "COMPRESSED", "PLACEHOLDER")


def _best_form(
    message: Message,
    focus: Focus,
    query: str,
    left: int,
    budget: Budget,
    count: Count,
    compressor: Compressor,
    *,
    stubs: bool,
) -> Placed:
    """The highest form from the intended one downwards that fits, or none (the steps of section 3.3)."""
    if not message.text.strip():
        return Placed(message, None, "", 0, EMPTY, focus)
    note = None
    for fidelity in _LADDER[_LADDER.index(focus.intended) : None if stubs else -1]:
        text, overhead = message.text, budget.overhead
        if fidelity == "COMPRESSED":
            short = compressor.compress(text, query, target_tokens(count(text)))
            text, note = short.text, short.note
        elif fidelity == "PLACEHOLDER":
            text, overhead = placeholder(message), budget.of_stub
        cost = count(text) + overhead
        if text and cost <= left:
            reason = SCORE if fidelity == focus.intended else SCORE_SHORT
            return Placed(message, fidelity, text, cost, reason, focus, note)
    return Placed(message, None, "", 0, NO_ROOM, focus, note)


def pack(
    messages: Sequence[Message],
    focuses: Sequence[Focus],
    query: str,
    budget: Budget,
    count: Count,
    compressor: Compressor,
    *,
    joined: Joined | None = None,
    stubs: bool = True,
) -> list[Placed]:
    """One `Placed` for each message (oldest first, as `messages`), packed as we ship it.

    1. What the person said that is CRITICAL, whole. When it does not all fit, the room is shared out fairly: the short
       messages are whole, and the long ones are compressed to equal shares of what those leave (max-min fairness), so
       that a long message never crowds out a short one, however old. When shares would be too small to say anything,
       those yield that are least similar to the question.
    2. The newest round whole, else compressed to what is left, newest message first; then CRITICAL replies as in 1. The
       person sets what must hold, and a reply only repeats it: replies found CRITICAL by mistake take nobody's place.
    3. The others by score, best first and newer first among equals, in their intended form or the next one that fits,
       in four fifths of what is left.
    4. Placeholders: a run of neighbours is one line, held by its first message; the others refer to it at no tokens.
       Runs with the best scores have a line of their own, and when room ends one line stands for all others. Only when
       there is no room for that are messages dropped.

    `joined`, when given, counts the shown messages as the prompt joins them; should that be more than the parts, less
    is shown. Without `stubs` messages are dropped where they would be placeholders. Raises BudgetTooSmallError when
    even nothing is too much for `joined`.
    """

    def packed(limit: int) -> list[Placed]:
        return _Packer(messages, focuses, query, limit, budget, count, compressor, stubs=stubs).packed()

    return _within(budget, joined, packed)


class _Packer:
    """One packing: the room left, and what has been decided."""

    def __init__(
        self,
        messages: Sequence[Message],
        focuses: Sequence[Focus],
        query: str,
        limit: int,
        budget: Budget,
        count: Count,
        compressor: Compressor,
        *,
        stubs: bool,
    ) -> None:
        if len(messages) != len(focuses):
            raise ValueError(f"{len(messages)} messages have {len(focuses)} focuses")
        self._messages = messages
        self._focuses = focuses
        self._query = query
        self._left = limit
        self._overhead = budget.overhead
        self._stub_overhead = budget.of_stub
        self._stubs = stubs
        self._count = count
        self._compressor = compressor
        self._scores = list(map(attrgetter("score"), focuses))
        kinds = map(attrgetter("importance"), focuses)
        self._critical = [place for place, kind in enumerate(kinds) if kind == "CRITICAL"]
        self._placed: list[Placed | None] = [None] * len(messages)

    def packed(self) -> list[Placed]:
        """Every step in its order."""
        for place, text in enumerate(map(attrgetter("text"), self._messages)):
            if not text or text.isspace():
                self._drop(place, EMPTY)
        self._place_critical("user")
        self._place_newest()
        self._place_critical("assistant")
        self._place_by_score()
        self._place_placeholders()
        return [item for item in self._placed if item is not None]

    def _place_critical(self, speaker: Speaker) -> None:
        places = [
            place
            for place in self._critical
            if self._messages[place].speaker == speaker and self._placed[place] is None
        ]
        costs = {place: self._cost(self._messages[place].text) for place in places}
        places.sort(key=lambda place: (-self._focuses[place].similarity, -place))
        sharing = max(self._left // (LEAST + self._overhead), 1)
        if sum(costs.values()) <= self._left:
            sharing = len(places)
        fair = sorted(places[:sharing], key=lambda place: costs[place])
        for done, place in enumerate(fair):
            share = self._left // (len(fair) - done)
            if costs[place] <= share:
                self._show(place, "FULL", self._messages[place].text, costs[place], CRITICAL)
            else:
                self._show_short(place, share, CRITICAL_SHORT)
        for place in places[sharing:]:
            if costs[place] <= self._left:
                self._show(place, "FULL", self._messages[place].text, costs[place], CRITICAL)

    def _place_newest(self) -> None:
        if not self._messages:
            return
        newest = self._messages[-1].round
        for place in range(len(self._messages) - 1, -1, -1):
            if self._messages[place].round != newest:
                return
            if self._placed[place] is None:
                cost = self._cost(self._messages[place].text)
                if cost <= self._left:
                    self._show(place, "FULL", self._messages[place].text, cost, NEWEST)
                else:
                    self._show_short(place, self._left, NEWEST_SHORT)

    def _place_by_score(self) -> None:
        places = [p for p, f in enumerate(self._focuses) if f.intended != "PLACEHOLDER" and self._placed[p] is None]
        places.sort(key=lambda place: (-self._focuses[place].score, -place))
        waiting = self._placed.count(None)
        # With nothing left over there are no placeholders to keep room for.
        unneeded = not self._stubs or (waiting == len(places) and self._all_fit(places))
        aside = 0 if unneeded else int(self._left * _PLACEHOLDERS)
        for place in places:
            if self._left - aside < _USEFUL + self._overhead:
                return
            self._place_scored(place, self._left - aside)

    def _all_fit(self, places: Sequence[int]) -> bool:
        return sum(self._cost(self._messages[place].text) for place in places) <= self._left

    def _place_scored(self, place: int, room: int) -> None:
        """Show a message in its intended form, or compressed; leave it to the placeholders if neither fits."""
        text, intended = self._messages[place].text, self._focuses[place].intended
        tokens = self._count(text)
        cost, target = tokens + self._overhead, target_tokens(tokens)
        if cost <= room and intended == "FULL":
            self._show(place, "FULL", text, cost, SCORE)
        elif cost <= room and tokens <= target:
            self._show(place, "FULL", text, cost, BRIEF)
        else:
            as_asked = intended == "COMPRESSED" and target + self._overhead <= room
            self._show_short(place, min(room, target + self._overhead), SCORE if as_asked else SCORE_SHORT)

    def _place_placeholders(self) -> None:
        runs = list(self._runs())
        if not runs:
            return
        if not self._stubs:
            for place in (place for run in runs for place in run):
                self._drop(place, NO_ROOM)
            return
        best = [max(map(self._scores.__getitem__, run)) for run in runs]
        order = sorted(range(len(runs)), key=lambda number: (-best[number], -number))
        everything = [place for run in runs for place in run]
        rest_line = self._stub_cost(self._told(everything, named=False, others=len(runs) > 1))
        for done, number in enumerate(order):
            last = done == len(order) - 1
            told = self._told(runs[number])
            if self._stub_cost(told) > self._left - (0 if last else rest_line):
                self._place_rest([runs[other] for other in sorted(order[done:])])
                return
            self._stand_for(runs[number], told)

    def _place_rest(self, runs: Sequence[Sequence[int]]) -> None:
        """One line for all runs that have none of their own."""
        places = [place for run in runs for place in run]
        for named in (True, False):
            told = self._told(places, named=named, others=len(runs) > 1)
            if self._stub_cost(told) <= self._left:
                self._stand_for(places, told)
                return
        for place in places:
            self._drop(place, NO_ROOM)

    def _told(self, places: Sequence[int], *, named: bool = True, others: bool = False) -> str:
        messages = list(map(self._messages.__getitem__, places))
        scores = list(map(self._scores.__getitem__, places)) if named else None
        return merged(messages, scores, others=others)

    def _stand_for(self, places: Sequence[int], told: str) -> None:
        """Let the first of the messages hold the placeholder of them all."""
        first = places[0]
        self._show(first, "PLACEHOLDER", told, self._stub_cost(told), self._why(first))
        others = places[1:]
        rows = zip(
            map(self._messages.__getitem__, others),
            repeat("PLACEHOLDER"),
            repeat(""),
            repeat(0),
            repeat(MERGED.format(round=self._messages[first].round)),
            map(self._focuses.__getitem__, others),
            repeat(None),
        )
        # Nearly all messages of a long conversation are made here.
        for place, item in zip(others, made(Placed, rows), strict=True):
            self._placed[place] = item

    def _runs(self) -> Iterator[list[int]]:
        """The places of messages without a decision, in stretches that no shown message interrupts."""
        run: list[int] = []
        for place, item in enumerate(self._placed):
            if item is None:
                run.append(place)
            elif item.fidelity is not None and run:
                yield run
                run = []
        if run:
            yield run

    def _why(self, place: int) -> str:
        focus = self._focuses[place]
        if focus.importance == "CRITICAL":
            return CRITICAL_SHORT
        return SCORE if focus.intended == "PLACEHOLDER" else SCORE_SHORT

    def _show_short(self, place: int, room: int, reason: str) -> None:
        """Show a message compressed in `room` tokens, overhead included, if that is possible."""
        if room < _USEFUL + self._overhead:
            return
        short = self._compressor.compress(self._messages[place].text, self._query, room - self._overhead)
        cost = self._cost(short.text)
        if short.text and cost <= room:
            self._show(place, "COMPRESSED", short.text, cost, reason, short.note)

    def _show(self, place: int, fidelity: Fidelity, text: str, cost: int, reason: str, note: str | None = None) -> None:
        self._left -= cost
        self._placed[place] = Placed(self._messages[place], fidelity, text, cost, reason, self._focuses[place], note)

    def _drop(self, place: int, reason: str) -> None:
        self._placed[place] = Placed(self._messages[place], None, "", 0, reason, self._focuses[place])

    def _cost(self, text: str) -> int:
        return self._count(text) + self._overhead

    def _stub_cost(self, text: str) -> int:
        return self._count(text) + self._stub_overhead
