"""Turn a model's raw reply into a record: what it needed, cited and checked, and the text the person may see.

Keeps promise 4: the response holds no protocol tag, no analysis and no thought, however the reply is broken. The
ladder is here: `parse` is deterministic normalisation, `repair_request` the one request, `fallback` the marked last
rung. Every step that was needed is named in the record. Does no input or output and knows nothing about memories.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from arpm.protocol.analysis import Need, cited_labels, read_fields, read_need
from arpm.protocol.segment import Segments, segment, without_noise
from arpm.protocol.shapes import (
    Shape,
    after_heading,
    read_bare_fields,
    read_broken_json,
    read_headings,
    read_json,
)
from arpm.protocol.tags import Kind, Tag, defuse, find_tags, without_cut_off_tag
from arpm.protocol.violations import (
    APOLOGY,
    VIOLATIONS,
    Language,
    Violation,
    language_of,
    repair_text,
)

# Every normalisation step a record may name.
STEPS: dict[str, str] = {
    "characters_cleaned": "NUL and unpaired surrogates were taken out",
    "think_removed": "a think block, or a stray end of one, was taken out",
    "think_unwrapped": "the whole reply or its analysis stood inside a think block",
    "unclosed_tag": "a block was not closed",
    "cut_off_tag": "the beginning of a tag at the very end was taken off",
    "unopened_tag": "a block was closed that was not opened",
    "duplicate_tag": "a tag stood there twice",
    "nested_tag": "a block stood inside another",
    "analysis_in_response": "an analysis inside the response was taken out",
    "quoted_tag": "a tag that the response quotes was made harmless",
    "turn_marker": "a chat-template marker was taken out, with the turn after it",
    "case_folded": "a tag was in capitals or in full-width letters",
    "misspelt_tag": "a tag was misspelt",
    "translated_tag": "a tag was translated",
    "synonym_tag": "another word stood for the tag",
    "wide_bracket": "a tag had full-width brackets or title marks",
    "escaped_tag": "a tag was escaped",
    "doubled_bracket": "a tag had doubled brackets",
    "missing_bracket": "a bracket of a tag was missing",
    "slash_mended": "the slash of a tag was doubled, reversed or full-width",
    "spaces_in_tag": "there were spaces inside a tag",
    "attributes_dropped": "a tag had attributes",
    "fence_removed": "a code fence around the reply was taken off",
    "dressing_removed": "a tag stood in backticks or in bold",
    "json": "the reply was JSON",
    "headings": "the reply had headings for tags",
    "bare_fields": "the analysis had its fields but no tag",
    "fallback": "the last rung: the reply is taken as it is although it breaks the protocol",
    "outside_text": "there was no response: the text outside the tags is shown",
    "apology": "nothing could be shown: an apology takes the reply's place and never becomes memory",
}
_UNFIT = re.compile(r"[\x00\ud800-\udfff]")
_SHOWN_FIELD = re.compile(r"(?m)^[\s>*_\-]{0,8}(?:need|evidence|check)[*_]{0,2}\s{0,4}[:：][^\n]*\n?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A reply as the turn record keeps it.

    `cited` are labels that exist, best first, each once; `unknown` those that do not. `analysis` and `response` hold
    no tags. `normalised` names the steps of `STEPS` that were needed, in order. `valid` means no violation at all.
    `admissible` says whether the response is the model's own answer, so that it may become memory: an empty response
    or an apology may not.
    """

    need: Need | None
    cited: tuple[str, ...]
    unknown: tuple[str, ...]
    check: str
    analysis: str
    response: str
    violations: tuple[Violation, ...]
    normalised: tuple[str, ...]
    valid: bool
    admissible: bool


@dataclass(frozen=True, slots=True)
class _Reading:
    """A reply taken apart, before labels are looked at. None means that there was no such block."""

    analysis: str | None
    response: str | None
    others: tuple[str, ...]
    before: str
    after: str
    analysis_last: bool
    steps: tuple[str, ...]


def clean(text: str) -> str:
    """Text that UTF-8 can hold: NUL goes, an unpaired surrogate becomes U+FFFD, line ends become \\n."""
    text = text.replace("\r\n", "\n")
    return _UNFIT.sub(lambda match: "" if match[0] == "\x00" else "\ufffd", text)


def parse(raw: str, labels: Collection[str]) -> Parsed:
    """Read a reply to a prompt that showed evidence with these `labels` ("E1" …). Never raises; linear in `raw`."""
    return _record(_read(raw), labels)


def needs_repair(parsed: Parsed) -> bool:
    """Whether a violation is worth asking the model again."""
    return any(VIOLATIONS[violation.kind].repair for violation in parsed.violations)


def repair_request(parsed: Parsed, labels: Collection[str], language: Language) -> str:
    """The message that asks the model, once, to repair its reply: each violation, the labels and the form."""
    return repair_text(parsed.violations, labels, language)


def fallback(raw: str, labels: Collection[str], language: Language | None = None) -> Parsed:
    """The last rung: the response if there is one, else the text outside the tags, else an apology.

    `normalised` says which. The apology is in `language`, or in the language of `raw` when that is None.
    """
    reading = _read(raw)
    parsed = _record(reading, labels)
    steps = (*parsed.normalised, "fallback")
    if parsed.response:
        return replace(parsed, normalised=steps)
    shown = _presentable(reading.after) or _presentable(reading.before)
    if shown:
        return replace(parsed, response=shown, normalised=(*steps, "outside_text"), admissible=True)
    apology = APOLOGY[language or language_of(raw)]
    return replace(parsed, response=apology, normalised=(*steps, "apology"), admissible=False)


def _presentable(outside: str) -> str:
    """What may be shown of the text outside the tags: not the fields of an analysis that lost its tag."""
    text = defuse(_SHOWN_FIELD.sub("", outside)).strip()
    return text if without_noise(text) else ""


def _structural(text: str, tags: list[Tag]) -> list[Tag]:
    """The tags that count: soft ones (`<answer>`, 《回答》) where no better tag opens a block of their kind."""
    if not any(tag.soft for tag in tags):
        return tags
    opening = {tag.kind: tag.start for tag in reversed(tags) if not (tag.soft or tag.closing)}
    limits = dict.fromkeys(opening, 0) | {"analysis": opening.get("analysis", len(text))}
    response = opening.get("response", len(text))
    titles_close = any(text[tag.start] in "《〈" and tag.closing for tag in tags)
    counted: set[Kind] = set()
    previous_end = 0
    for tag in tags:
        alone = titles_close or text[tag.start] not in "《〈" or text[tag.end : tag.end + 1] in ("", "\n")
        led = tag.at_line_start or tag.start == previous_end
        early = tag.start < min(response, limits.get(tag.kind, len(text)))
        if tag.soft and not tag.closing and alone and led and early:
            counted.add(tag.kind)
        previous_end = tag.end
    return [tag for tag in tags if not tag.soft or tag.kind in counted]


def _read(raw: str) -> _Reading:
    text = clean(raw)
    cleaned = ("characters_cleaned",) if text != raw.replace("\r\n", "\n") else ()
    whole = text
    text = without_cut_off_tag(text)
    steps = cleaned + (() if text == whole else ("cut_off_tag",))
    tags = _structural(text, find_tags(text))
    found = segment(text, tags)
    tagged = found.opened_analysis or found.opened_response
    plain = found.after if tagged else found.before
    shape = read_json(text)
    if shape is None and not tagged:
        shape = read_json(plain) or read_broken_json(plain) or read_headings(plain) or read_bare_fields(plain)
    if shape is not None:
        return _from_shape(shape, found, steps)
    reading = _from_segments(_unwrapped(text, tags, found), steps)
    return _without_fence(reading, text)


def _from_shape(shape: Shape, found: Segments, cleaned: tuple[str, ...]) -> _Reading:
    """A reply in another shape. Its parts may hold tags themselves."""
    response = None if shape.response is None else clean(shape.response)
    if response is not None:
        inner = segment(response, [tag for tag in find_tags(response) if not tag.soft])
        response = inner.responses[0] if inner.responses else inner.after or inner.before
    steps = (*cleaned, *(step for step in found.steps if step == "think_removed"), shape.step)
    return _Reading(None if shape.analysis is None else clean(shape.analysis), response, (), "", "", False, steps)


def _unwrapped(text: str, tags: list[Tag], found: Segments) -> Segments:
    """The same reply, with what a think block had swallowed: the whole of it, or the analysis alone."""
    thoughts = any(tag.kind == "think" for tag in tags)
    outside = without_noise(found.before) or without_noise(found.after)
    if not thoughts or (found.opened_response and found.opened_analysis) or (not found.opened_response and outside):
        return found
    inner = segment(text, tags, hide_thoughts=False)
    steps = tuple(dict.fromkeys((*found.steps, *inner.steps, "think_unwrapped")))
    if not found.opened_response and inner.opened_response:
        return replace(inner, before="", after="", steps=steps)
    if found.opened_response and inner.opened_analysis:
        return replace(found, analyses=inner.analyses, opened_analysis=True, steps=steps)
    return found


def _from_segments(found: Segments, cleaned: tuple[str, ...]) -> _Reading:
    responses = [text.strip() for text in found.responses if text.strip()]
    steps = [*cleaned, *found.steps]
    response = responses[0] if responses else ("" if found.opened_response else None)
    after = found.after
    if response is None and found.opened_analysis and (headed := after_heading(after)) is not None:
        response, after = headed, ""
        steps.append("headings")
    return _Reading(
        analysis="\n".join(text.strip() for text in dict.fromkeys(found.analyses)) if found.opened_analysis else None,
        response=response,
        others=tuple(text for text in responses[1:] if text != response),
        before=found.before,
        after=after,
        analysis_last=found.analysis_last,
        steps=tuple(steps),
    )


def _without_fence(reading: _Reading, text: str) -> _Reading:
    """Name the fence around the reply. An unclosed response still holds the fence's end: take it off."""
    if not text.lstrip().startswith(("```", "~~~")) or without_noise(reading.before):
        return reading
    response = reading.response
    if response and "unclosed_tag" in reading.steps and response.count("```") % 2 == 1:
        response = response.removesuffix("```").rstrip()
    return replace(reading, response=response, steps=(*reading.steps, "fence_removed"))


def _record(reading: _Reading, labels: Collection[str]) -> Parsed:
    analysis = defuse(reading.analysis or "").strip()
    response = defuse(reading.response or "").strip()
    fields = read_fields(analysis)
    need = read_need(fields.need_text) if fields.need_text is not None else None
    cited, unknown = cited_labels(analysis, fields, response, labels)
    violations = [*_shape_violations(reading, analysis, response)]
    if unknown:
        violations.append(Violation("unknown_label", ", ".join(unknown)))
    if fields.need_text is not None and need is None:
        violations.append(Violation("unclear_need", _snippet(fields.need_text)))
    # "evidence: none" is an honest finding; a need without that line is not.
    if labels and need not in (None, "none") and fields.evidence is None and not cited and not unknown:
        violations.append(Violation("uncited"))
    return Parsed(
        need=need,
        cited=tuple(cited),
        unknown=tuple(unknown),
        check=fields.check or "",
        analysis=analysis,
        response=response,
        violations=tuple(violations),
        normalised=tuple(dict.fromkeys(reading.steps)),
        valid=not violations,
        admissible=bool(response),
    )


def _shape_violations(reading: _Reading, analysis: str, response: str) -> list[Violation]:
    found = []
    if not analysis:
        found.append(Violation("missing_analysis" if reading.analysis is None else "empty_analysis"))
    if not response:
        found.append(Violation("missing_response" if reading.response is None else "empty_response"))
    outside = without_noise(reading.before) or without_noise(reading.after)
    if outside and (reading.analysis is not None or reading.response is not None):
        found.append(Violation("text_outside", _snippet(outside)))
    if reading.others:
        found.append(Violation("duplicate_response"))
    if reading.analysis_last:
        found.append(Violation("wrong_order"))
    return found


def _snippet(text: str) -> str:
    """The beginning of a text, on one line and without tags."""
    line = " ".join(defuse(text[:200]).split())
    return line if len(line) <= 60 else line[:59] + "…"
