"""The rules by which a sentence is taken for a standing instruction, in English and Chinese.

Each rule is a name and a pattern over one sentence whose quotations are blanked out. Precision comes first: a rule
fires only on words that say the instruction is meant to last, and on nobody else's account. Knows nothing about what
is active.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

Rules = tuple[tuple[str, re.Pattern[str]], ...]


def _rules(*pairs: tuple[str, str]) -> Rules:
    return tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in pairs)


def first_match(rules: Rules, sentence: str) -> str | None:
    """The name of the first rule that fires on `sentence`."""
    return next((name for name, pattern in rules if pattern.search(sentence)), None)


def _either(words: Iterable[str]) -> str:
    return "|".join(words)


_REPLIES = r"(?:repl(?:y|ies)|answers?|responses?|messages?)"
_HOW_TO_ANSWER = "use|say|call|mention|write|start|end|answer|reply|respond|give|ask|include|speak|add|begin|make"
_PLEASE = r"(?:please |and |also |but |so |then )*"
# "Always happy to help", "always been a fan": always before these tells of a state.
_STATES = (
    r"\w+ing|\w*(?:wanted|loved|liked|been|had|thought|wondered)|happy|glad|ready|good|nice|great|fun|busy|late|there|"
    r"the|a|an|my|his|her|our|in|on|at"
)
_FROM_NOW = "从现在开始|从现在起|从今往后|从今以后|从此以后|今后|往后|以后"
# What may stand before 以后 when it begins a request; behind a verb or a noun it means "after" (毕业以后, 吃完饭以后).
_CLAUSE = r"(?:^|[，,；;：:、\s]|请你?|希望你|要你|让你|^你|那么?|记住|记得|麻烦你?|所以|但是?)"
# Behind 都 these describe what will be, not what to do (以后都会好的).
_DESCRIBED = "是|会|很|在|没|有|好|能"
_WISH = r"我(?:希望|要|想让|需要|要求)你"
_DIRECTIVES = _either(
    (
        "请",
        f"都(?!{_DESCRIBED})",
        r"你(?!会|才|能|可能|将|们|就(?!叫|用|别|不要|称))",
        "每(?:次|条|个|一)",
        "不要|不许|不准|别|一律|始终|必须|务必|尽量|保持|给我",
        "要(?:用|叫|称|先|回答|回复|记得|注意)",
        "回答|回复|说话|用(?!得|不)|使用|叫|称",
        "把|只|少|先|多(?:用|说|给|举)",
        _WISH,
    )
)

ADD = _rules(
    ("from now on", r"\b(?:from now on|from here on|henceforth|going forward|from this point on(?:wards?)?)\b"),
    ("until told otherwise", r"\buntil (?:further notice|i (?:say|tell you) otherwise)\b|另行通知之?前"),
    ("in every reply", rf"\bin (?:all|every|each)(?: of)?(?: your)?(?: future| later)? {_REPLIES}\b"),
    ("whenever you answer", r"\b(?:every time|each time|whenever) you (?:answer|reply|respond|write|speak)\b"),
    ("for the rest", r"\bfor the (?:rest|remainder) of (?:this|our|the) (?:conversation|chat|session|dialogue)\b"),
    ("always", rf"^(?:if\b.*, )?{_PLEASE}always (?!(?:{_STATES})\b)\w+"),
    ("never", rf"^(?:if\b.*, )?{_PLEASE}never (?!say never)(?:{_HOW_TO_ANSWER})\b"),
    (
        "please always",
        r"\b(?:please|you (?:must|should|have to|need to|are to)"
        r"|i(?:'d like| would like| want| need| expect) you to"
        r"|(?:remember|make sure|be sure)(?: that)?(?: you| to)) (?:always|never)\b",
    ),
    ("never again", r"^(?:please )?(?:don'?t|do not) ever\b|\bnever again\b"),
    (
        "not any more",
        rf"^(?:please )?(?:don'?t|do not) (?:{_HOW_TO_ANSWER})\b.*\b(?:any ?more|any longer|again)\b"
        r"|^请?(?:不要|别)再(?:用|使用|叫我|称呼我|称我)",
    ),
    ("以后", rf"{_CLAUSE}(?:{_FROM_NOW})[，,]?\s*(?:{_DIRECTIVES})"),
    (
        "每次回答",
        r"每(?:次|一次|条|个|一条|一个)(?:你)?(?:的)?(?:回答|回复|答复|消息)|(?:请|务必|记得|必须|你要)每次都",
    ),
    ("所有回答", r"(?:所有|全部|一切)(?:的)?(?:回答|回复|答复|消息)(?:里|中)?(?:都|一律|必须|要|请)"),
    (
        "始终",
        r"(?:请|你要|你必须|务必|必须)(?:始终|一直|永远|总是|一律)|^(?:始终|永远|一律)(?:用|不要|别|以|使用|称呼|叫|保持)",
    ),
    ("接下来都", rf"(?:接下来|之后)(?:的)?(?:对话|聊天|回答|回复)?(?:中|里)?，?请?(?:都|一律|始终)(?!{_DESCRIBED})"),
)

RETIRE = _rules(
    ("no longer", r"\byou (?:no longer|don'?t) (?:need|have) to\b|\bno need to\b.+\b(?:any ?more|any longer)\b"),
    (
        "forget the instruction",
        r"\b(?:forget|ignore|drop|cancel|disregard|lift|remove)\b.{0,40}"
        r"\b(?:instruction|rule|limit|request|requirement|constraint)s?\b",
    ),
    ("stop doing", r"^(?:please |ok,? |okay,? )?(?:you can |you may )?stop \w+ing\b"),
    ("may again", r"^(?:ok,? |okay,? )?(?:now )?you (?:can|may) .{1,60}\bagain\b"),
    ("不用再", r"(?:不用|不必|无需|不需要)再.+|以后(?:就)?(?:不用|不必|不需要)"),
    ("可以再", r"(?:现在|以后|又|重新)可以(?:再|继续)?(?:用|使用|叫|说|提|写|加).+了"),
    ("取消要求", r"(?:取消|忘掉|忘记|忽略|撤销|去掉).{0,20}(?:要求|指令|规则|限制|规定|指示)"),
)

_ANYBODY = r"(?:i|we|he|she|it|they|there|everyone|people|(?:my|our|his|her|their|the) (?!name|answers?|repl|respons))"
_TASK = r"(?:essay|poem|story|text|paragraph|email|letter|code|function|task|question|answer|reply|one)"
_OTHERS = "他|她|他们|她们|老师|老板|妈妈|爸爸|医生|朋友|同事"

# Sentences that look like instructions and are not: questions, hypotheticals, reports of others, one task only, plans.
NOT = _rules(
    ("question", r"[?？]\s*$|(?:吗|呢)[。.!！]?$"),
    (
        "hypothetical",
        r"^(?:suppose|imagine|pretend|what if)\b|^if\b(?!.*, (?:please )?(?:always|never)\b)"
        r"|^(?:如果|假如|假设|要是|倘若)(?!.*[，,](?:请|都|就)?(?:始终|一直|永远|总是|一律|务必|必须))",
    ),
    (
        "reported",
        r"\b(?:he|she|they|my \w+|the \w+|boss|teacher|mother|doctor) "
        r"(?:said|says|told|tells|asked|asks|wrote|always|never)\b|\b(?:was|were) (?:told|asked)\b"
        rf"|(?:{_OTHERS})(?:们)?(?:说|告诉|要求|让我|叫我|总是|从来|以后)",
    ),
    (
        "one task",
        rf"\b(?:in|for) (?:this|the following|the next) {_TASK}\b"
        r"|(?:这|下面)(?:篇|首|段|个|次|封)(?:文章|诗|故事|文字|邮件|信|代码|任务|问题|回答)(?:里|中|内)?",
    ),
    (
        "about others",
        r"\b(?:i|we)(?:'ve| have|'ll| will|'m| am)? (?:always|never)\b"
        rf"|\b(?:from now on|henceforth|going forward|for the (?:rest|remainder) of [\w ]{{1,30}}),? {_ANYBODY}\b"
        r"(?!(?:'d| would) like you| (?:want|need|expect|ask) you)",
    ),
    (
        "说自己或别人",
        rf"^(?:我|我们)(?:{_FROM_NOW})|(?:{_FROM_NOW})[，,]?(?!{_WISH})(?:我|咱|他|她|它|大家|孩子)|大家(?:{_FROM_NOW})",
    ),
)

# What makes a question of a request only for the sake of politeness.
COURTESY = re.compile(
    r"[,，]\s*(?:ok(?:ay)?|all ?right|please|will you|would you|好吗|好么|好不好|行吗|可以吗)\s*[?？]\s*$",
    re.IGNORECASE,
)
QUOTED = re.compile("[\"“「『][^\"”」』\n]{0,400}[\"”」』]|(?<!\\w)['‘][^'’\n]{0,400}['’](?!\\w)")
