"""Whether a reply of another system is one that must not be recalled as memory, and why. A pure function of its words.

Two failed calls of the published run were stored as replies and recalled in five later turns, and after one bad model
most recalls held leaked protocol tags. Errs on the side of naming too much: what it names is put in quarantine, where
a person can release it, and is never left out of the ledger.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from arpm.admission import goes_in_circles
from arpm.protocol.tags import find_tags

SuspectKind = Literal["empty", "error", "loop", "tags"]

REASONS: dict[SuspectKind, str] = {
    "empty": "the reply is empty",
    "error": "the reply is an error message",
    "loop": "the reply goes in circles",
    "tags": "the reply leaks protocol tags",
}

# Longer ones are prose that speaks of an error.
_LONGEST_ERROR = 400
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_ERROR = re.compile(
    r"\A[\s\[【(（*❌⚠️!！]{0,8}(?:"
    r"(?:error|exception|traceback|api[ _]?error|internal server error"
    r"|request (?:failed|timed out)|http(?: error)? [45]\d\d)\b"
    r"|(?:发生|出现|系统|请求|网络|接口|服务|调用|生成|模型|API|LLM)?\s?(?:错误|异常|失败|超时|出错)(?:[：:，,。!！\]】)）]|\Z)"
    r"|(?:抱歉|对不起)[^\n]{0,30}(?:未形成可见回复|调用失败|请求失败|生成失败|出现错误|发生错误|出错了|请重新生成|请稍后(?:再试|重试))"
    r"|(?:模型|接口|API|LLM|请求|服务)\s{0,2}(?:调用|请求|响应|生成)?\s{0,2}(?:失败|超时|异常|出错)"
    r")"
    r"|(?:Connection(?:Error| refused| reset)|ReadTimeout|Read timed out|HTTPSConnectionPool|Max retries exceeded"
    r"|(?:status[ _]?code|状态码)\s{0,2}[:=：]?\s{0,2}[45]\d\d)",
    re.IGNORECASE,
)
# What the tag finder leaves alone because in a reply under way it may still become something else.
_LOST_BRACKET = re.compile(
    r"(?:^|\n)\s{0,8}(?:analysis|response)\s{0,2}[>＞]|</\s{0,8}(?:>|\Z)|<(?:analysis|response)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Suspect:
    """Why a reply must not be recalled; `detail` is the place in it, for a person to read."""

    kind: SuspectKind
    detail: str


def suspect(reply: str) -> Suspect | None:
    """The first reason to keep a reply out of search, or None."""
    words = reply.strip()
    if not words:
        return Suspect("empty", "")
    if len(words) <= _LONGEST_ERROR and (found := _ERROR.search(words)):
        return Suspect("error", found[0].strip()[:80])
    if goes_in_circles(words):
        return Suspect("loop", words[-80:])
    leaked = _leak(_FENCED.sub("", words))
    return Suspect("tags", leaked) if leaked else None


def _leak(prose: str) -> str:
    """The first protocol tag in prose, or what is left of one; empty when there is none."""
    tag = next((tag for tag in find_tags(prose) if not tag.soft), None)
    lost = _LOST_BRACKET.search(prose)
    starts = [tag.start] if tag else []
    if lost:
        starts.append(lost.start())
    return prose[min(starts) : min(starts) + 80].strip() if starts else ""
