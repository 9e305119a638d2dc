"""Standing instructions: recognising them in a message, and the prefix that shows them in every prompt.

Clear rules come first ("from now on", 以后都); what none decides, and what they mistake, is told by a small classifier
(`governance.recogniser`), where its weights belong to the embedder. Questions, quotations, code, hypotheticals and
instructions for one task are left alone, and nothing that would switch the service's own rules off is taken for the
person's; the person can always add and retire by hand. Pure functions; what is active is the caller's to keep.

Source: REA, section 3.3 and appendix A.4: "a directive that affects all subsequent responses such as their style,
format, length, or language".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from governance import recogniser
from governance.contradictions import contradictions
from governance.importance import concerns_safety
from governance.instruction_rules import (
    ADD,
    CHANGE,
    CODE,
    COURTESY,
    NARROW,
    NOT,
    OVERRIDE,
    QUOTED,
    RETIRE,
    first_match,
    plain,
    without_invisible,
)
from governance.rule_rates import probability_of
from retrieval.embedding.base import Embedder
from retrieval.text import sentences


@dataclass(frozen=True, slots=True)
class Instruction:
    """A standing instruction: its id, its words, and the round it was given in (0 when added by hand before any)."""

    id: str
    text: str
    round: int


Action = Literal["add", "retire", "replace", "narrow", "refuse"]


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a sentence of the user asks of the instruction list, in its own words.

    `rule` is None when the classifier decided; `probability` is that of the decision and `reason` says what it rests
    on, without words of the message. A sentence that takes back or changes what was never said may be an instruction
    of its own (`or_add`: "stop using emojis"). "refuse" is what would switch the service's own rules off.
    """

    action: Action
    text: str
    rule: str | None
    probability: float
    reason: str
    or_add: bool = False


# Nobody words a standing instruction at such length; a pasted text without sentence borders would take rules long.
_LONGEST = 500
# Who pastes a long text asks for something before or behind it: only so many sentences at either end are looked at.
_EDGE = 40


def recognise(message: str, embedder: Embedder | None = None) -> list[Recognised]:
    """The standing instructions in `message`, in order (REA section 3.3 defines what one is).

    Without an embedder, or with one that the classifier was not trained on, the rules decide alone.
    """
    parts = sentences_of(message)
    texts = [text for _, text in parts]
    decided = [by_rule(text) for text in texts]
    if recogniser.trained_on(embedder):
        assert embedder is not None
        _classify(texts, decided, embedder)
    found = []
    for ((start, end), _), decision in zip(parts, decided, strict=True):
        if decision is not None:
            action, rule, probability, reason, or_add = decision
            # The quotation marks are the person's; characters that show nothing are not theirs to be obeyed.
            text = without_invisible(message[start:end])
            found.append(Recognised(action, text, rule, probability, reason, or_add))
    return found


def sentences_of(message: str) -> list[tuple[tuple[int, int], str]]:
    """Where each sentence of a message begins and ends, and how it is judged: quotations blanked, no code.

    What stands in quotation marks is spoken of, not asked for; but it may be an argument ('end with "yes"'). Blanked
    before sentences are told apart, so that the second sentence of a quotation is not taken for the person's own.
    """
    blanked = QUOTED.sub(blank, CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), message))
    spans = list(sentences(blanked))
    return [((start, end), plain(blanked[start:end]) if end - start <= _LONGEST else "") for start, end in spans]


_Decision = tuple[Action, str | None, float, str, bool]


def by_rule(text: str) -> _Decision | None:
    """What the rules say of one sentence; None when none decides."""
    sentence = COURTESY.sub("", text)
    if not sentence:
        return None
    if rule := first_match(OVERRIDE, sentence):
        return "refuse", rule, probability_of(rule), f"rule: {rule}", False
    lasting = first_match(ADD, sentence)
    actions: tuple[tuple[Action, str | None], ...] = (
        ("replace", first_match(CHANGE, sentence)),
        ("narrow", first_match(NARROW, sentence)),
        ("retire", first_match(RETIRE, sentence)),
        ("add", lasting),
    )
    for action, named in actions:
        if named is not None:
            # Last, since most sentences ask nothing and each list takes its time.
            if first_match(NOT, sentence):
                return None
            # "Stop using emojis" takes back that they be used, or asks for the first time that they are not.
            or_add = action != "add" and (lasting is not None or named == "stop doing")
            return action, named, probability_of(named), f"rule: {named}", or_add
    return None


def classified(texts: Sequence[str]) -> list[int]:
    """The places of the sentences of a message that the classifier looks at, all of them together."""
    edges = {*range(min(_EDGE, len(texts))), *range(max(len(texts) - _EDGE, 0), len(texts))}
    return [place for place in sorted(edges) if texts[place]]


# A rule that fires on what the classifier thinks so unlikely to ask anything fires on words that only look alike ("all
# visitors have to sign in from now on", "stop asking and show me").
_VETO = 0.2
# But a rule that the whole of a sentence has to match leaves nothing to doubt.
_WHOLE = frozenset({"let us speak"})
# What a rule takes for taking back or changing and is this likely an instruction of its own is one where nothing
# matches that was said ("you don't have to be so formal with me").
_OR_ADD = 0.5
# What a rule knows as a question, a supposition or a report is an instruction only if that is likelier than not.
_DESPITE = 0.5
# From this probability of taking back or changing what reads like an instruction may be that.
_DOUBT = 0.2
# "From now on you may use emojis again" has words for lasting and takes back, where there is something to take back.
_NO_ADD = 0.3


def _classify(texts: Sequence[str], decided: list[_Decision | None], embedder: Embedder) -> None:
    """Fill in what the classifier says where no rule decided, and take back what it is sure that a rule mistook."""
    places = classified(texts)
    for place, reading in zip(places, recogniser.read([texts[place] for place in places], embedder), strict=True):
        if reading is not None:
            decided[place] = _weighed(decided[place], reading, texts[place])


def _weighed(decision: _Decision | None, reading: recogniser.Reading, text: str) -> _Decision | None:
    """What a rule and the classifier say together of one sentence."""
    if decision is None:
        return _told(reading, text)
    if decision[0] == "refuse" or decision[1] in _WHOLE:
        return decision
    if reading.asks < _VETO:
        return None
    if decision[0] == "add" and reading.kind == "takeback" and reading.standing < _NO_ADD:
        return "retire", None, round(reading.probability, 4), reading.reason, True
    if decision[0] in ("retire", "replace") and reading.standing >= _OR_ADD:
        return (*decision[:4], True)
    return decision


def _told(reading: recogniser.Reading, text: str) -> _Decision | None:
    """What the classifier alone says of one sentence.

    "You can drop the short paragraphs" may be the one or the other, by what is in force: where it is in doubt it takes
    back or changes what it clearly speaks of, and is added where it speaks of nothing. So is what names another way, or
    forbids: it says by itself what is wanted.
    """
    back, change = reading.probabilities["takeback"], reading.probabilities["change"]
    stands = reading.kind in recogniser.STANDING
    if stands and reading.standing < _DESPITE and first_match(NOT, text):
        return None
    if stands and max(back, change) < _DOUBT:
        return "add", None, round(reading.standing, 4), reading.reason, False
    if not stands and max(back, change) < 0.5:
        return None
    action: Action = "retire" if back >= change else "narrow" if _LIMITS.search(text) else "replace"
    probability = reading.asks if stands else reading.probability
    or_add = stands or action == "replace" or (action == "retire" and _FORBIDS.search(text) is not None)
    return action, None, round(probability, 4), reading.reason, or_add


# Takes back that something be done or, where nobody asked for it, asks for the first time that it is not.
_FORBIDS = re.compile(
    r"\b(?:stop|quit|no more|enough (?:of|with))\b|(?:别|不要|不许|不准|不想)(?:老是?|总是?)?再", re.IGNORECASE
)


# What says when something holds, and not what holds in its place.
_LIMITS = re.compile(
    r"\bonly (?:for|when|if|in|on|at|with|to|appl\w+|counts?|holds?|goes)\b|\b(?:except|unless|apart from)\b"
    r"|(?:只|仅)(?:在|对|针对|限|有|管|用于)|除了|除非",
    re.IGNORECASE,
)


def blank(quoted: re.Match[str]) -> str:
    """The quotation marks and as many underscores; a mark that ends a sentence before the closing one stays."""
    text = quoted[0]
    last = text[-2] if text[-2] in ".!?。！？" else "_"
    return text if len(text) < 3 else text[0] + "_" * (len(text) - 3) + last + text[-1]


def would_override(text: str) -> str | None:
    """The rule by which an instruction would switch the service's own rules off; None when it would not."""
    return first_match(OVERRIDE, plain(text)[:10_000])


@dataclass(frozen=True, slots=True)
class Prefix:
    """The instruction prefix of a prompt: what is shown and what the token cap left out, both newest last."""

    shown: tuple[Instruction, ...]
    omitted: tuple[Instruction, ...]


def prefix(active: Sequence[Instruction], budget: int, count: Callable[[str], int]) -> Prefix:
    """The active instructions that fit `budget` tokens, in the order they were given.

    What yields first: one that a newer one contradicts, then the oldest; what concerns health or safety yields last.
    Nothing is cut, and one that does not fit makes room for none older than it, but for what is more pressing.
    """
    costs = {item.id: count(item.text) for item in active}
    if sum(costs.values()) <= budget:
        return Prefix(tuple(active), ())
    overruled = {pair.older for pair in contradictions(active)}
    places = range(len(active))
    pressing = [concerns_safety(item.text) for item in active]
    order = sorted(places, key=lambda place: (not pressing[place], active[place].id in overruled, -place))
    spent, shown = 0, set()
    for place in order:
        if spent + costs[active[place].id] <= budget:
            spent += costs[active[place].id]
            shown.add(place)
    return Prefix(
        tuple(active[place] for place in places if place in shown),
        tuple(active[place] for place in places if place not in shown),
    )
