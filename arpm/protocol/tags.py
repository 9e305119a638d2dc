"""Find protocol tags in text however badly they are written, and make them harmless.

Keeps the half of promise 4 that says no protocol tag reaches a reply, a memory or a prompt as a tag. One scanner
serves the parser, the stream and `neutralise`, so that the three cannot disagree about what a tag is. Every repeat
in the patterns is bounded and possessive where it can be, so that the time is linear in the text. Knows nothing
about which tag opens or closes what: that is `segment`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Kind = Literal["analysis", "response", "think", "turn"]

ENGLISH: dict[str, Kind] = {
    "analysis": "analysis",
    "response": "response",
    "think": "think",
    "thinking": "think",
    "thought": "think",
    "thoughts": "think",
    "reasoning": "think",
}
TRANSLATED: dict[str, Kind] = {
    **dict.fromkeys(("分析", "解析", "证据分析", "證據分析", "分析过程", "分析過程", "분석"), "analysis"),
    **dict.fromkeys(("回复", "回覆", "回復", "回答", "回应", "回應", "答复", "答覆", "答復"), "response"),
    **dict.fromkeys(("响应", "響應", "応答", "返答", "응답", "답변"), "response"),
    **dict.fromkeys(("思考", "思考过程", "思考過程", "推理", "推理过程", "推理過程"), "think"),
}
# Words that models use for the response, and that people use in ordinary markup: they count only where nothing
# better is found, and are left alone in memories.
SYNONYMS: dict[str, Kind] = {"answer": "response", "reply": "response", "答案": "response"}
# Real words within the edit distance of a tag name. `<thing>` and `<responses>` are ordinary markup.
_ORDINARY = frozenset(
    "analyst analysts analyses analytics analytic responses responsive respond responds responder responsible repose "
    "thing things thank thanks thick thin thins thine thinks think-tank chink shrink thinned thinner thinning "
    "through though thoughtful reasoned seasoning".split()
)

_ZERO_WIDTH = "\u200b-\u200f\u2060\ufeff\u00ad"
_LT = r"(?:(?:\\?[<＜﹤]){1,3}|&(?:lt|\#60|\#x3c);|\\u003c|[《〈])"
_GT = r"(?:\\?[>＞﹥]|&(?:gt|\#62|\#x3e);|\\u003e|[》〉])"
_GAP = rf"[\s{_ZERO_WIDTH}]{{0,8}}+"
_SLASH = rf"(?:[/／\\][{_ZERO_WIDTH}]{{0,4}}+){{0,8}}"
_NAME = rf"[^\W\d_](?:[^\W\d_]|[{_ZERO_WIDTH}]){{0,23}}+"
# A name that goes on (`<response-time>`, `<analysis_result>`, `<response.Body>`) is somebody else's.
_NAME_END = r"(?![\w.:-])"
_BARE_NAME = "|".join((*ENGLISH, *TRANSLATED))
# Markers of chat templates. F# and Haskell operators (`<|`, `|>`, `<|>`) are no markers: a name must touch both bars.
_TURN = (
    rf"[<＜][{_ZERO_WIDTH}]{{0,4}}[|｜][{_ZERO_WIDTH}]{{0,4}}[^\W\d_][\w▁.:{_ZERO_WIDTH}-]{{0,40}}+[|｜][{_ZERO_WIDTH}]{{0,4}}[>＞]"
    r"|\[/?(?:INST|SYSTEM_PROMPT)\]|<</?SYS>>|</?(?:start|end)_of_turn>|<(?:bos|eos)>"
)
_SCAN = re.compile(
    rf"(?P<turn>{_TURN})"
    rf"|(?P<lt>{_LT})(?P<gap>{_GAP})(?P<slash>{_SLASH}){_GAP}(?P<name>{_NAME}){_NAME_END}"
    # The opening bracket lost: `/response>`. Not part of a path or of another tag, not even a harmless one.
    rf"|(?<![\w<＜《/／\\.›\-])[/／](?P<bare>{_BARE_NAME})\s{{0,2}}[>＞]",
    re.IGNORECASE,
)
_ATTRIBUTES = (
    r"(?:\s{1,4}[\w:.-]{1,24}\s{0,4}=\s{0,4}"
    r"(?:\"[^\"<>‹›\n]{0,60}\"|'[^'<>‹›\n]{0,60}'|[^\s<>\"'＞‹›]{1,60})){0,3}"
)
# As many closing brackets as there were opening ones: the `>` of `<response>> quoted` belongs to the text.
_TAILS = tuple(
    re.compile(rf"(?P<attributes>{_ATTRIBUTES}){_GAP}(?P<self>[/／]?){_GAP}(?P<gt>{_GT}{{1,{count}}})", re.IGNORECASE)
    for count in (1, 2, 3)
)
_LINE_HEAD = re.compile(r"(?:^|\n)[\s`*_#>~-]{0,16}$")
_STRIKE = re.compile(r"<(/?)s>", re.IGNORECASE)
_ROLE = re.compile(
    r"(?m)(?P<open>^[ \t]{0,8})[<＜](?P<name>system|user|assistant|human|developer)[>＞]"
    r"|[<＜]/(?P<close>system|user|assistant|human|developer)[>＞]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag in a text: characters [start, end), what it is, and what had to be forgiven to read it.

    `soft` tags count only where no better one is found (`<answer>`; 《回答》, which may be a poem's title).
    `complete` is False when the closing bracket is missing. `at_line_start` ignores spaces and Markdown signs.
    `inner` is the text between the brackets, for `defuse`.
    """

    start: int
    end: int
    kind: Kind
    closing: bool
    self_closing: bool
    soft: bool
    complete: bool
    at_line_start: bool
    inner: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Meaning:
    kind: Kind
    soft: bool
    step: str | None


def _distance(a: str, b: str) -> int:
    """Edits between two words, a swap of neighbours counting one (optimal string alignment)."""
    rows = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (x != y)))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                row[-1] = min(row[-1], rows[-2][j - 2] + 1)
        rows.append(row)
    return rows[-1][-1]


def _misspelt(word: str) -> Kind | None:
    """The kind whose name `word` misspells, if any.

    Two edits are forgiven in the eight-letter names when the first letter stands, otherwise one; in short ones
    one, and never a word of the dictionary.
    """
    if word in _ORDINARY or not 4 <= len(word) <= 12:
        return None
    for name, kind in ENGLISH.items():
        allowed = 2 if kind != "think" and word[0] == name[0] else 1
        if abs(len(word) - len(name)) <= allowed and _distance(word, name) <= allowed:
            return kind
    return None


@lru_cache(maxsize=4096)
def meaning(name: str) -> _Meaning | None:
    """What a tag of this name means, or None for ordinary markup. Case, width and zero-width signs are ignored."""
    word = re.sub(rf"[{_ZERO_WIDTH}]", "", unicodedata.normalize("NFKC", name)).casefold()
    if word in ENGLISH:
        return _Meaning(ENGLISH[word], False, None if name == word else "case_folded")
    if word in TRANSLATED:
        return _Meaning(TRANSLATED[word], False, "translated_tag")
    if word in SYNONYMS:
        return _Meaning(SYNONYMS[word], True, "synonym_tag")
    kind = _misspelt(word)
    return _Meaning(kind, False, "misspelt_tag") if kind else None


def _at_line_start(text: str, position: int) -> bool:
    return _LINE_HEAD.search(text[max(0, position - 17) : position]) is not None


def _turn_tag(text: str, start: int, end: int) -> Tag:
    inner = text[start:end].strip("<>＜＞[]")
    return Tag(start, end, "turn", False, False, False, True, _at_line_start(text, start), inner, ("turn_marker",))


def _bare_tag(text: str, match: re.Match[str]) -> Tag | None:
    found = meaning(match["bare"])
    if found is None:
        return None
    start, end = match.span()
    inner = "/" + match["bare"]
    return Tag(
        start,
        end,
        found.kind,
        True,
        False,
        False,
        True,
        _at_line_start(text, start),
        inner,
        ("missing_bracket",),
    )


def _forgiven(head: re.Match[str], tail: re.Match[str] | None, found: _Meaning) -> tuple[str, ...]:
    """The names of the normalisation steps that a tag needed."""
    if tail is not None and head[0] + tail[0] in (f"<{head['name']}>", f"</{head['name']}>"):
        return (found.step,) if found.step else ()
    lt, gt = head["lt"], tail["gt"] if tail else ""
    steps = {
        found.step or "": found.step is not None,
        "wide_bracket": bool(set(lt + gt) & set("＜＞﹤﹥《》〈〉")),
        "escaped_tag": "&" in lt + gt or "\\" in lt + gt,
        "doubled_bracket": len(lt) > 1 and lt.count(lt[0]) > 1,
        "slash_mended": head["slash"] not in ("", "/"),
        "attributes_dropped": bool(tail and tail["attributes"]),
        "missing_bracket": tail is None,
        "spaces_in_tag": bool(head["gap"]) or bool(tail and gt and tail[0] != tail["attributes"] + tail["self"] + gt),
    }
    return tuple(step for step, used in steps.items() if used)


def _named_tag(text: str, head: re.Match[str], previous_end: int) -> Tag | None:
    found = meaning(head["name"])
    if found is None:
        return None
    lt, start, at_line_start = head["lt"], head.start(), _at_line_start(text, head.start())
    count = min(3, max(1, sum(sign in "<＜﹤" for sign in lt)))
    tail = _TAILS[count - 1].match(text, head.end())
    title = lt in "《〈"
    if tail is None:
        # Without its bracket a tag is believed only where it cannot be a comparison (`time <response`).
        opens = at_line_start or _LINE_HEAD.match("\n" + text[max(previous_end, start - 17) : start]) is not None
        if found.step == "misspelt_tag":
            opens = opens and text[head.end() : head.end() + 1] in ("", "\n")
        if title or head["gap"] or not (head["slash"] or opens) or found.soft:
            return None
    elif title != (tail["gt"] in "》〉"):
        return None
    soft = found.soft or (title and found.step == "translated_tag" and not head["slash"])
    end = tail.end() if tail else head.end()
    # Attributes are left out: they may hold tags of their own.
    inner = text[start + len(lt) : head.end()] + (tail["self"] if tail else "")
    return Tag(
        start=start,
        end=end,
        kind=found.kind,
        closing=bool(head["slash"]),
        self_closing=bool(tail and tail["self"]) and not head["slash"],
        soft=soft,
        complete=tail is not None,
        at_line_start=at_line_start,
        inner=inner,
        steps=_forgiven(head, tail, found),
    )


def scan(text: str, position: int = 0) -> Iterator[Tag]:
    """Yield the tags of `text` from `position` on, in order, hard and soft. Linear in the text."""
    previous_end = position
    while (match := _SCAN.search(text, position)) is not None:
        position = match.end()
        if match["turn"]:
            tag: Tag | None = _turn_tag(text, *match.span())
        elif match["bare"]:
            tag = _bare_tag(text, match)
        else:
            tag = _named_tag(text, match, previous_end)
        if tag is not None:
            position = previous_end = tag.end
            yield tag


def _strikes(text: str) -> list[Tag]:
    """`<s>` and `</s>` as turn markers, unless they pair up as HTML's strike-through does."""
    found = list(_STRIKE.finditer(text))
    depth = 0
    for match in found:
        depth += -1 if match[1] else 1
        if depth < 0:
            break
    return [_turn_tag(text, *match.span()) for match in found] if depth else []


def find_tags(text: str) -> list[Tag]:
    """All tags of a whole text, in order, including the sentence markers of Llama-like templates."""
    strikes = _strikes(text)
    tags = list(scan(text))
    return sorted([*tags, *strikes], key=lambda tag: tag.start) if strikes else tags


def has_strike(text: str) -> re.Match[str] | None:
    """The first `<s>` or `</s>`, which only the whole text can tell from HTML."""
    return _STRIKE.search(text)


def defuse(text: str) -> str:
    """Write every tag and turn marker of a text as ‹name›, which reads the same and acts as nothing."""
    pieces, at = [], 0
    for tag in find_tags(text):
        if not tag.soft:
            pieces += [text[at : tag.start], "‹", tag.inner.replace("\\", "/").strip(), "›"]
            at = tag.end
    return "".join([*pieces, text[at:]])


def neutralise(text: str) -> str:
    """Make protocol, think, role and chat-template tags in a memory, document or message harmless in a prompt.

    `<analysis>` becomes ‹analysis›, `<|im_start|>` becomes ‹|im_start|›; so do their full-width, translated,
    misspelt and escaped forms. Everything else, HTML and code too, stays as it is. Idempotent.
    """
    return _ROLE.sub(_defused_role, defuse(text))


def _defused_role(match: re.Match[str]) -> str:
    return f"{match['open']}‹{match['name']}›" if match["name"] else f"‹/{match['close']}›"


_CUT_OFF = re.compile(r"[<＜](?:[/／](?P<end>[^\W\d_]{0,10})|(?P<name>[^\W\d_]{2,10}))\Z")


def without_cut_off_tag(text: str) -> str:
    """The text without the beginning of a tag at its very end, which a token limit leaves there (`</respon`)."""
    match = _CUT_OFF.search(text, max(0, len(text) - 16))
    if match is None:
        return text
    begun = (match["end"] or match["name"] or "").casefold()
    known = any(name.startswith(begun) for name in (*ENGLISH, *TRANSLATED))
    return text[: match.start()] if known else text


_HEAD_AT_END = re.compile(rf"{_LT}{_GAP}{_SLASH}{_GAP}(?P<name>{_NAME})\Z", re.IGNORECASE)


def ends_in_head(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] ends in a tag without its closing bracket, which it would be if nothing followed."""
    match = _HEAD_AT_END.search(text, max(start, end - 64), end)
    return match is not None and meaning(match["name"]) is not None


# What may still grow into a tag when more text arrives: a bracket being spelled, a head without its name's end, a
# known name whose closing bracket is not there yet.
_PARTIAL = re.compile(
    rf"(?:\\(?:u(?:0(?:0(?:3)?)?)?)?|&(?:l(?:t)?|\#(?:6(?:0)?|x(?:3(?:c)?)?)?)?)\Z"
    rf"|{_LT}{_GAP}{_SLASH}{_GAP}[\w{_ZERO_WIDTH}]{{0,24}}+\Z"
    rf"|{_LT}{_GAP}{_SLASH}{_GAP}(?P<name>{_NAME}){_NAME_END}[^<>＜＞]{{0,320}}+\Z"
    rf"|[<＜][{_ZERO_WIDTH}]{{0,4}}[|｜][\w▁.:{_ZERO_WIDTH}-]{{0,45}}[|｜]?[{_ZERO_WIDTH}]{{0,4}}\Z"
    rf"|\[/?[A-Za-z_]{{0,16}}\Z"
    rf"|(?<![\w<＜《/／\\.›\-])[/／][^\W\d_]{{0,10}}\s{{0,2}}\Z",
    re.IGNORECASE,
)
_LONGEST = 400  # more than the longest match of _PARTIAL


def unfinished(text: str, position: int = 0, end: int | None = None) -> int:
    """The first index from `position` on where text[:end] may end in an unfinished tag, else `end`."""
    end = len(text) if end is None else end
    position = max(position, end - _LONGEST)
    while (match := _PARTIAL.search(text, position, end)) is not None:
        name = match["name"]
        open_end = name is not None and meaning(name) and not _TAILS[0].match(text, match.end("name"), end)
        if name is None or open_end:
            return match.start()
        position = match.start() + 1
    return end
