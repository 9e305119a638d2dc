"""Whether a reply keeps a constraint, and what was found. Pure functions of the constraint, the reply and the message.

Comparison is kind where people are: case, white space and the Markdown signs around a reply do not matter to how it
begins or ends. It is strict in numbers. IFEval's published checkers decide the same in nearly everything; where they do
not, docs/adherence.md says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from governance.adherence.kinds import (
    Address,
    Broken,
    Constraint,
    Count,
    Edge,
    Form,
    Found,
    InLanguage,
    Kept,
    Mentions,
    OneOf,
    Outcome,
    Parts,
    Unclear,
)
from governance.adherence.languages import language_of
from governance.adherence.measure import bare, count, emojis, paragraphs, prose
from retrieval.text import Span, has_cjk, sentences

_EXCERPT = 60


def check(constraint: Constraint, reply: str, message: str = "") -> Outcome:
    """Whether `reply` keeps `constraint`. `message` is what it answers: its language may be the one asked for."""
    match constraint:
        case Edge():
            return _edge(constraint, reply)
        case Count():
            return _count(constraint, reply)
        case Mentions():
            return _mentions(constraint, reply)
        case InLanguage():
            return _in_language(constraint, reply, message)
        case Form():
            return _form(constraint, reply)
        case Address():
            return _address(constraint, reply)
        case OneOf():
            return _one_of(constraint, reply)
        case Parts():
            return _parts(constraint, reply)


def occurrences(text: str, reply: str, *, letter: bool = False) -> list[Span]:
    """Where a word or phrase stands in a reply, whatever its case. Whole words, but for scripts without spaces."""
    words = r"\s+".join(map(re.escape, text.split()))
    if not letter and not has_cjk(text):
        # Only where the text itself begins or ends with a word character: "C++" has no border behind it.
        words = (r"(?<!\w)" if text[:1].isalnum() else "") + words + (r"(?!\w)" if text[-1:].isalnum() else "")
    return [Span(*match.span()) for match in re.finditer(words, reply.replace("’", "'"), re.IGNORECASE)]


def excerpt(text: str) -> str:
    """A stretch of a reply on one line, short enough for a record."""
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…"


def _outcome(kept: bool, found: Found) -> Outcome:
    return Kept(found) if kept else Broken(found)


# -- how a reply begins and ends ---------------------------------------------------------------------------------------


def _edge(asked: Edge, reply: str) -> Outcome:
    place, text = 0, reply
    if asked.paragraph is not None:
        found = paragraphs(reply)
        number = asked.paragraph - 1 if asked.paragraph > 0 else len(found) + asked.paragraph
        if not 0 <= number < len(found):
            return Broken(Found(count=len(found)))
        place, text = found[number].start, reply[found[number].start : found[number].end]
    if asked.any == "question":
        return _outcome(_asks(text) == asked.wanted, _last_sentence(reply))
    there = _any_emoji(asked, text) if asked.any == "emoji" else any(_at_edge(asked, one, text) for one in asked.texts)
    return _outcome(there == asked.wanted, _edge_found(asked.end, text, place))


def _any_emoji(asked: Edge, text: str) -> bool:
    stripped = text.strip(' \t\r\n*_#>"“”')
    found = emojis(stripped)
    if not found:
        return False
    return found[0].start == 0 if asked.end == "start" else found[-1].end == len(stripped)


def _at_edge(asked: Edge, text: str, reply: str) -> bool:
    said, wanted = _plain(reply), _plain(text)
    if not wanted or not said:
        return not wanted
    if asked.end == "start":
        if not said.startswith(wanted):
            return False
        return asked.letter or not _goes_on(wanted[-1], said[len(wanted) : len(wanted) + 1])
    # The mark that ends the sentence may be missing from the wording, or from the reply.
    for one, other in ((said, wanted), (said.rstrip(_MARKS), wanted.rstrip(_MARKS))):
        if other and one.endswith(other):
            before = one[: len(one) - len(other)][-1:]
            return asked.letter or not _goes_on(other[0], before)
    return False


_MARKS = ".!?。！？…~～ "


def _goes_on(edge: str, beyond: str) -> bool:
    """Whether a word goes on beyond the edge of a text, so that it is another word."""
    return bool(beyond) and (edge.isalnum() and beyond.isalnum()) and not has_cjk(edge + beyond)


def _plain(text: str) -> str:
    """A text for comparing: lower case, single spaces, straight apostrophes, without the signs around it."""
    return " ".join(bare(text).casefold().replace("’", "'").split())


def _asks(reply: str) -> bool:
    return bare(reply).endswith(("?", "？"))


def _edge_found(end: str, text: str, place: int) -> Found:
    lead = len(text) - len(text.lstrip())
    stripped = text.strip()
    if end == "start":
        return Found(text=excerpt(stripped[:_EXCERPT]), at=place + lead)
    tail = stripped[-(_EXCERPT - 10) :]
    return Found(text=excerpt(tail), at=place + lead + len(stripped) - len(tail))


def _last_sentence(reply: str) -> Found:
    *_, last = [Span(0, 0), *sentences(reply)]
    return Found(text=excerpt(reply[last.start : last.end]), at=last.start)


# -- counts and words --------------------------------------------------------------------------------------------------


def _count(asked: Count, reply: str) -> Outcome:
    places = count(asked.of, reply)
    number = len(places)
    kept = number >= asked.least and (asked.most is None or number <= asked.most)
    if kept or not places or asked.most is None or number <= asked.most:
        return _outcome(kept, Found(count=number))
    first = places[asked.most]
    # Of what must not be there at all, the first is shown; of what is too long, only how long it is.
    text = excerpt(reply[first.start : first.end]) if asked.most == 0 else None
    return Broken(Found(text=text, count=number, at=first.start))


def _mentions(asked: Mentions, reply: str) -> Outcome:
    total = 0
    for text in asked.texts:
        places = occurrences(text, reply, letter=asked.letter)
        total += len(places)
        if asked.most is not None and len(places) > asked.most:
            first = places[asked.most]
            return Broken(Found(excerpt(reply[first.start : first.end]), len(places), first.start))
        if len(places) < asked.least:
            # The words that are missing are the instruction's: a record does not repeat them.
            return Broken(Found(count=len(places)))
    return Kept(Found(count=total))


# -- the whole reply ---------------------------------------------------------------------------------------------------


def _in_language(asked: InLanguage, reply: str, message: str) -> Outcome:
    wanted = asked.language
    if wanted is None:
        spoken = language_of(message)
        if spoken is None or not spoken[1]:
            return Unclear()
        wanted = spoken[0]
    found = language_of(reply)
    if found is None:
        return Unclear()
    language, sure = found
    if (language == wanted) == asked.wanted and (language == wanted or sure):
        return Kept(Found(text=language))
    return Broken(Found(text=language)) if sure else Unclear(Found(text=language))


def _form(asked: Form, reply: str) -> Outcome:
    match asked.form:
        case "json":
            return _outcome(_is_json(reply), Found(text=excerpt(reply.strip()[:_EXCERPT])))
        case "quoted":
            stripped = reply.strip()
            pairs = (('"', '"'), ("“", "”"), ("「", "」"), ("『", "』"))
            kept = len(stripped) > 1 and any(stripped.startswith(a) and stripped.endswith(b) for a, b in pairs)
            return _outcome(kept, Found(text=excerpt(stripped[:_EXCERPT])))
        case "lower_case":
            return _first(_cased(reply, upper=True))
        case "upper_case":
            return _first(_cased(reply, upper=False))
        case "plain_text":
            return _first(_MARKDOWN.search(reply))
        case "markdown":
            found = _MARKDOWN.search(reply)
            return _outcome(found is not None, Found() if found is None else Found(excerpt(found[0]), at=found.start()))


_MARKDOWN = re.compile(
    r"^#{1,6}[ \t]+\S.*|\*\*[^*\n]+\*\*|__[^_\n]+__|^[ \t]*[*+\-][ \t]+\S.*|^[ \t]*\d+\.[ \t]+\S.*|`[^`\n]+`|^```.*"
    r"|^>[ \t].*|\[[^\[\]\n]+\]\([^()\n]+\)|^[ \t]*+\|?[ \t]*+:?-{2,}(?=[^\n]*\|)[-:| \t]*+$"
    r"|(?<!\*)\*(?![\s*])[^*\n]+(?<!\s)\*(?!\*)",
    re.MULTILINE,
)


def _cased(reply: str, *, upper: bool) -> re.Match[str] | None:
    """The first word with a letter of the wrong case. Scripts without case have none."""
    for match in re.finditer(r"[^\W_]+", reply):
        if any(sign.isupper() if upper else sign.islower() for sign in match[0]):
            return match
    return None


def _first(wrong: re.Match[str] | None) -> Outcome:
    return Kept() if wrong is None else Broken(Found(excerpt(wrong[0]), at=wrong.start()))


def _is_json(reply: str) -> bool:
    text = reply.strip()
    fenced = re.fullmatch(r"```(?:json)?[ \t]*\n(.*?)\n?```", text, re.IGNORECASE | re.DOTALL)
    try:
        # A bare word or number is JSON by the letter and nothing that "in JSON" means.
        return isinstance(json.loads(fenced[1] if fenced else text), dict | list)
    except (ValueError, RecursionError):
        return False


def _address(asked: Address, reply: str) -> Outcome:
    places = [span for name in asked.names for span in occurrences(name, prose(reply))]
    if places:
        first = min(places)
        found = Found(excerpt(reply[first.start : first.end]), len(places), first.start)
        return _outcome(asked.wanted, found)
    if not asked.wanted:
        return Kept()
    return Broken(Found(count=0)) if asked.always else Unclear(Found(count=0))


def _one_of(asked: OneOf, reply: str) -> Outcome:
    if asked.alone:
        said = _plain(reply).rstrip(_MARKS)
        kept = any(said == _plain(phrase).rstrip(_MARKS) for phrase in asked.phrases)
        return _outcome(kept, Found(text=excerpt(reply.strip())))
    for phrase in asked.phrases:
        if places := occurrences(phrase.rstrip(_MARKS), reply):
            return Kept(Found(excerpt(reply[places[0].start : places[0].end]), at=places[0].start))
    return Broken(Found(text=excerpt(reply.strip())))


def _parts(asked: Parts, reply: str) -> Outcome:
    parts: Sequence[str] = [part.strip() for part in reply.split(asked.separator)]
    said = [part for part in parts if part]
    return _outcome(len(said) == asked.number == len(set(said)), Found(count=len(said)))
