"""Read an analysis: its three fields and the evidence labels it cites, in English or Chinese.

Knows nothing about tags. Accepts free text, in which it looks for labels only.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

Need = Literal["knowledge", "experience", "both", "none"]

_FIELDS = {
    **dict.fromkeys(("need", "needs", "需要", "需求", "所需"), "need"),
    **dict.fromkeys(("evidence", "证据", "證據", "依据", "依據"), "evidence"),
    **dict.fromkeys(("check", "核对", "核對", "检查", "檢查", "核验", "核驗", "验证", "驗證"), "check"),
}
# A field opens a line, or follows a separator where a model writes all three on one line.
_FIELD = re.compile(
    rf"(?:(?:^|(?<=\n))[\s>*_#•\-\d.)]{{0,8}}|(?<=[;；。,，|])\s{{0,4}}|(?<=\s))"
    rf"(?P<name>{'|'.join(_FIELDS)})[*_]{{0,2}}\s{{0,4}}[:：=][*_]{{0,2}}",
    re.IGNORECASE,
)
_NEED_WORDS: dict[str, tuple[str, ...]] = {
    "both": ("both", "两者", "兩者", "都需要", "二者"),
    "knowledge": ("knowledge", "document", "知识", "知識", "文档", "文檔"),
    "experience": ("experience", "经验", "經驗", "经历", "經歷"),
    "none": ("none", "nothing", "n/a", "无", "無", "没有", "沒有", "不需要", "不用", "否"),
}
_NO_EVIDENCE = re.compile(
    r"(?:none|nothing|no\b|n/a|null|nil|\[\s*\]|无|無|没有|沒有|不适用|[-—–]+\s*$)", re.IGNORECASE
)
_NUMERALS = {numeral: str(value) for value, numeral in enumerate("一二三四五六七八九十", 1)}
# "E10" is not "E1", "1e5" and "multilingual-e5-small" cite nothing, and neither does "evidence 2024".
_LABEL = re.compile(
    r"(?<![A-Za-z0-9_])(?<!(?-i:[a-z])-)(?:"
    r"(?P<letter>[Ee])\s?#?(?P<number>\d{1,4})"
    r"|(?P<word>evidence|证据|證據)\s{0,2}[#＃]?(?P<count>\d{1,3}|[一二三四五六七八九十])"
    r")(?![A-Za-z0-9_]|(?-i:-[a-z])|\.\d)",
    re.IGNORECASE,
)
_BARE_NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?![\w.]*\w)")
# In the visible reply only a label in square brackets cites: not "the E10 motorway", "exit (E10)" or `row[E2]`.
_IN_REPLY = re.compile(r"(?<![\w\])`])[\[【]\s?(E\d{1,4}(?:\s?[,，、;；]\s?E\d{1,4}){0,16})\s?[\]】](?!`)")

# Full-width signs and circled numbers, by table: Unicode normalisation takes quadratic time on hostile accents.
_NARROW: dict[int, int | str] = {0xFF01 + i: 0x21 + i for i in range(94)}
_NARROW |= {0x3000: " ", **{0x2460 + i: str(i + 1) for i in range(20)}}


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of an analysis; None where a field is not there. `need_text` is the field as written."""

    need_text: str | None
    evidence: str | None
    check: str | None

    @property
    def structured(self) -> bool:
        return self.need_text is not None or self.evidence is not None


def read_fields(analysis: str) -> Fields:
    """Split an analysis into its fields. The first of each name counts; a value runs to the next field."""
    marks: list[tuple[str, int, int]] = []
    seen: set[str] = set()
    for match in _FIELD.finditer(analysis):
        name = _FIELDS[match["name"].casefold()]
        if name not in seen:
            seen.add(name)
            marks.append((name, match.start(), match.end()))
    ends = [*(start for _, start, _ in marks), len(analysis)][1:]
    values = {
        name: analysis[begin:end].strip(" \t\r\n*;；,，|") for (name, _, begin), end in zip(marks, ends, strict=True)
    }
    return Fields(values.get("need"), values.get("evidence"), values.get("check"))


def read_need(value: str) -> Need | None:
    """The need a field names, or None when it names nothing or copies the whole list of choices."""
    text = value[:200].translate(_NARROW).casefold()
    if "|" not in text and text.startswith(_NEED_WORDS["none"]):
        return "none"
    named = {need for need, words in _NEED_WORDS.items() if any(word in text for word in words)}
    if named >= {"knowledge", "experience", "none"} or not named:
        return None
    if "both" in named or named >= {"knowledge", "experience"}:
        return "both"
    if "knowledge" in named:
        return "knowledge"
    return "experience" if "experience" in named else "none"


def says_none(evidence: str) -> bool:
    """Whether an evidence field says outright that nothing is cited."""
    return _NO_EVIDENCE.match(evidence.translate(_NARROW).strip(" *_`.。")) is not None


def _canonical(match: re.Match[str]) -> str:
    number = match["number"] or _NUMERALS.get(match["count"], match["count"])
    return f"E{int(number)}"


def _labels(text: str, known: Collection[str], strict: bool) -> list[str]:
    """Labels written in `text`. Not `strict`: an "e5" that is no known label is a word, not a citation."""
    found = []
    for match in _LABEL.finditer(text.translate(_NARROW)):
        label = _canonical(match)
        if strict or label in known or match["letter"] != "e":
            found.append(label)
    return found


def _listed(evidence: str, known: Collection[str]) -> list[str]:
    """Labels of an evidence field, which may be bare numbers ("1, 3")."""
    found = _labels(evidence, known, strict=True)
    if found or says_none(evidence):
        return found
    return [f"E{int(number)}" for number in _BARE_NUMBER.findall(evidence[:200].translate(_NARROW))]


def cited_labels(analysis: str, fields: Fields, response: str, known: Collection[str]) -> tuple[list[str], list[str]]:
    """Labels a reply cites: (those in `known`, those that are not), each once, in the order of citing.

    A structured analysis cites by its evidence field; what its check mentions must exist but is not thereby cited.
    Labels in brackets in the response are cited too.
    """
    if fields.evidence is not None:
        cited = _listed(fields.evidence, known)
        mentioned = _labels(fields.check or "", known, strict=False)
    else:
        cited, mentioned = _labels(analysis, known, strict=False), []
    for match in _IN_REPLY.finditer(response):
        cited += _labels(match[1], known, strict=True)
    known_labels = list(dict.fromkeys(label for label in cited if label in known))
    unknown = list(dict.fromkeys(label for label in cited + mentioned if label not in known))
    return known_labels, unknown
