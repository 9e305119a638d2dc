"""When an instruction holds, and which of its words are left over when everything that code understands is taken out.

Few occasions can be told by code: the language of a message, a question, a word in it. Every other one makes an
instruction scoped, and then no reply is said to have kept or broken it.
"""

# A pattern is easier to read whole than in pieces.
# ruff: noqa: E501

from __future__ import annotations

import re
from collections.abc import Callable

from governance.adherence.checking import occurrences
from governance.adherence.kinds import Scope
from governance.adherence.languages import CODES, language_of

_NAMES = "|".join(sorted(CODES, key=len, reverse=True))
_QUOTED = r"(?:\"[^\"\n]{1,80}\"|(?<!\w)'[^'\n]{1,80}'(?!\w))"


def _s(
    pattern: str, make: Callable[[re.Match[str]], Scope | None]
) -> tuple[re.Pattern[str], Callable[[re.Match[str]], Scope | None]]:
    return re.compile(pattern, re.IGNORECASE), make


def _language(match: re.Match[str]) -> Scope:
    return Scope("message_language", CODES[match["language"].lower()])


SCOPES = (
    _s(rf"\b(?:if|when|whenever|every time) i (?:write|ask|speak|talk|message)(?: to)?(?: you)?(?: (?:something|a question|questions))? in (?P<language>{_NAMES})\b", _language),
    _s(rf"\b(?:if|when|whenever) (?:my|a|the) (?:message|question)s? (?:is|are) in (?P<language>{_NAMES})\b", _language),
    _s(rf"(?:当|如果|要是|只要)?我(?:用|说|讲|写)\s*(?P<language>{_NAMES})(?:来)?(?:提问|问|说|写|发消息|聊)?(?:你)?(?:问题)?(?:的时候|时|的话)", _language),
    _s(r"\b(?:if|when|whenever|every time) i ask (?:you )?(?:a |any )?questions?\b|(?:当|如果|每当|每次)?我(?:问|提)(?:你)?问题(?:的时候|时|的话)", lambda match: Scope("question")),
    _s(rf"\b(?:if|when|whenever|every time) i (?:say|mention|write|type) (?:the word |the phrase )?(?P<text>{_QUOTED})", lambda match: Scope("mention", match["text"][1:-1].strip())),
    _s(rf"(?:当|如果|要是|每当|每次|只要)?我(?:说|提到|写|发)\s*(?P<text>{_QUOTED})(?:的时候|时|的话)", lambda match: Scope("mention", match["text"][1:-1].strip())),
)  # fmt: skip


def applies(scope: Scope, message: str) -> bool | None:
    """Whether an instruction of that scope holds for a message; None when code cannot tell."""
    match scope.kind:
        case "message_language":
            found = language_of(message)
            if found is None:
                return None
            return found[0] == scope.text if found[1] or found[0] == scope.text else None
        case "question":
            return re.search(r"[?？]|[吗呢][。.!！]?\s*$", message) is not None
        case "mention":
            return bool(occurrences(scope.text, message))


# Words that ask for nothing: when, for how long and how firmly an instruction holds, and whom it speaks of.
_NEUTRAL_PHRASES = re.compile(
    r"\b(?:from (?:now|here|this point|today) (?:on(?:wards?)?|forward)|until (?:further notice|i (?:say|tell you|ask you)(?: otherwise| to stop| differently)?)"
    r"|unless i (?:say|tell you|ask(?: you)?|specify)(?: otherwise| differently)?|for the (?:rest|remainder) of (?:this|our|the) (?:conversation|chat|session|dialogue|talk)"
    r"|in (?:all|every|each|any)(?: one)?(?: of)?(?: your| the)?(?: future| later| subsequent| following)? (?:repl(?:y|ies)|answers?|responses?|messages?|outputs?|turns?)"
    r"|(?:every time|each time|whenever|when) you (?:answer|reply|respond|write|speak|talk)(?: to me| back)?|when (?:answering|replying|responding|talking)(?: to me)?"
    r"|no matter what(?: i ask| i say| the (?:question|topic) is)?|regardless of (?:the |what )?(?:\w+ ){0,3}?(?:question|topic|language|i ask|i say|asked)"
    r"|no other (?:words?|languages?|text|format)(?: or \w+)?(?: should follow(?: this phrase)?| (?:is|are) (?:allowed|permitted)|s?)?(?: in your \w+)?|(?:and |or )?nothing (?:else|more)"
    r"|i(?:'d| would)? (?:like|want|need|expect|prefer|ask) (?:you to|that you|your \w+ to)|going forward|all the time|at all times|as (?:a|the) rule|without exception|one more thing"
    r"|(?:this|it) (?:applies|counts|holds|goes) (?:to|for) (?:all|every|each)(?: of)?(?: your)?(?: later| future)? (?:repl(?:y|ies)|answers?|responses?|messages?)"
    r"|make sure(?: that| to)?|be sure(?: that| to)?|keep in mind(?: that)?|(?:do not|don't) forget(?: to| that)?|let'?s (?:agree|say) that|for (?:me|now|good|ever)|thank you|thanks"
    r"|for (?:all|every|each|any)(?: of)?(?: your| the)?(?: future| later)? (?:repl(?:y|ies)|answers?|responses?|messages?|outputs?))",
    re.IGNORECASE,
)  # fmt: skip
_NEUTRAL = frozenset(
    "please always never ever everything anything me back really actually strictly a an the and also but so then that to of you your yours i me my we us our must should shall "
    "have has need needs will would can could may are is be being do make sure just only now on again every each all any "
    "both reply replies answer answers answering response responses respond responds responding message messages output "
    "outputs replying write writes writing written say saying give giving given keep keeping kept use using used it its "
    "them they this these in with by as from one ones entire whole text instruction instructions rule rules remember "
    "note henceforth onwards forward constantly consistently strictly whatever no exceptions exception ok okay hi hello "
    "hey well yes there strict ensure ensuring want wants like ask asks kindly limit limited length long word words "
    "sentence sentences language reader contain contains include includes including at up format formatted formatting "
    "least most than more less exactly total if possible single time times turn turns conversation chat where yourself "
    "speak talk future later subsequent appear start end letter letters".split()
)
_ZH_NEUTRAL = re.compile(
    "|".join(
        sorted(
            "从现在开始 从现在起 从今往后 从今以后 从此以后 以后 今后 往后 接下来 之后 现在 起 每次 每一次 每条 每个 每一条 每一个 "
            "每 所有 全部 整个 一切 任何 都 请你 请 麻烦你 麻烦 希望 想让 想要 要求 需要 记住 记得 务必 必须 一定 一律 始终 一直 永远 总是 "
            "尽量 保持 应该 应当 应 需 要 得 就 也 还 再 并且 并 而且 和 且 但 你 我 您 咱们 我们 的 地 了 吧 哦 啊 呀 呢 在 里 中 内 时候 时 "
            "回答 回复 答复 消息 输出 作答 说话 说 写 用 使用 给 给我 来 对话 聊天 这 那 这个 那个 它 为 是 个 条 句 不管 无论 我问什么 "
            "什么 问什么 直到 另行通知 为止 谢谢 另外 规则 指令 规定 长度 字数 篇幅 语言 格式 控制 限制 只 不 不要 别 只能 可以 能 好 "
            "分成 分为 分 开头 结尾 先 最后 一个 以 由 把 将 让 做 成 进行 方式 形式 以及 与 跟 或 或者 一下 超过 内容 文字 间".split(),
            key=len,
            reverse=True,
        )
    )
)
_OCCASION = re.compile(
    r"\b(?:if|when|whenever|unless|except(?:ing)?|while|once|only for|only when|as long as|in case|provided|depending|apart from|other than|outside of)\b"
    r"|\b(?:for|in|about|on|during|regarding|concerning|with|at|after|before|to|of|around|where)\s+(?!\x1f)(?!an? (?:[\w-]+ )?(?:tone|style|voice|manner|way|mood|accent|spirit))(?:(?:the|my|any|all|your|these|those|this|that|an?|other|some|our|every|each|questions?|answers?|repl(?:y|ies)|about) )*(?P<word>[a-z][\w'-]*)"
    r"|如果|要是|假如|倘若|除非|除了|除|对于|关于|针对|涉及|遇到|谈到|聊到|讲到|提到|问到|当(?!然)|的时候|时候?(?:[,，]|$)|的话|情况下|场合|只有|方面|类的?问题",
    re.IGNORECASE,
)  # fmt: skip


def is_scoped(rest: str) -> bool:
    """Whether what is left of an instruction binds it to some occasion that code cannot tell."""
    said = _NEUTRAL_PHRASES.sub(" \x1f ", rest)
    said = re.sub(
        r"(?:每(?:次|一次)|当你)?(?:你)?(?:回答|回复|说话|作答)(?:我)?(?:的时候|时候?)|(?:以后|今后|往后)的?时候",
        "\x1f",
        said,
    )
    for match in _OCCASION.finditer(said):
        word = match["word"]
        if word is None or word.lower() not in _NEUTRAL:
            return True
    return False


def left_over(rest: str) -> tuple[str, ...]:
    """The words of what is left of an instruction that are not known to ask for nothing."""
    said = _NEUTRAL_PHRASES.sub(" ", rest)
    words = [word for word in re.findall(r"[A-Za-z][\w'’-]*|\d[\d,.]*", said) if word.lower() not in _NEUTRAL]
    chinese = _ZH_NEUTRAL.sub(" ", re.sub(r"[^\u3400-\u4dbf\u4e00-\u9fff]+", " ", said))
    return (*words, *chinese.split(), *_other_signs(said))


def _other_signs(said: str) -> list[str]:
    """Runs of letters of further scripts."""
    return re.findall(r"[^\W\d_A-Za-z\u3400-\u4dbf\u4e00-\u9fff]+", said)
