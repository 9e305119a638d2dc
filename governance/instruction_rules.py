"""The rules by which a sentence is taken for a standing instruction, in English and Chinese.

Each rule is a name and a pattern over one sentence whose quotations are blanked out. Precision comes first: a rule
fires only on words that say the instruction is meant to last, and on nobody else's account. What is fenced off as code,
quoted line by line or hidden in odd characters is undone first (`plain`). Knows nothing about what is active.
"""

# ruff: noqa: E501 (a pattern a line: broken over several it cannot be read)
from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from governance.adherence.languages import ANY_NAME
from governance.needed_words import Words, folded, has_any, needed
from governance.written_chinese import as_read


@dataclass(frozen=True, slots=True)
class Rule:
    """A name, a pattern, and words without which it finds nothing (None: not known)."""

    name: str
    pattern: re.Pattern[str]
    words: Words | None


Rules = tuple[Rule, ...]


def _rules(*pairs: tuple[str, str]) -> Rules:
    patterns = [(name, re.compile(pattern, re.IGNORECASE)) for name, pattern in pairs]
    return tuple(Rule(name, pattern, needed(pattern)) for name, pattern in patterns)


def first_match(rules: Rules, sentence: str) -> str | None:
    """The name of the first rule that fires on `sentence`."""
    text = folded(sentence)
    for rule in rules:
        if has_any(text, rule.words) and rule.pattern.search(sentence):
            return rule.name
    return None


def _either(words: Iterable[str]) -> str:
    return "|".join(words)


_REPLIES = r"(?:repl(?:y|ies)|answers?|responses?|messages?)"
_MANY_REPLIES = r"(?:repl(?:y|ies)|answers?|responses?|messages)"
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
    (
        # "Your answer must …" speaks of one reply, "your answers must …" of all.
        "all replies must",
        rf"^{_PLEASE}(?:(?:all|every|each|any|no|future|upcoming)(?: of)?(?: your| my)?(?: single| future| later| upcoming| other)* "
        rf"{_MANY_REPLIES}|your (?:replies|answers|messages))(?: of yours| in this (?:chat|conversation))? "
        r"(?:must|should|has to|have to|needs? to|may|shall|can(?:no|')t)\b",
    ),
    (
        "do all replies",
        rf"^{_PLEASE}(?:keep|start|begin|end|finish|make|wrap|write|give|open|close|format|phrase) (?:all|every|each)(?: one)?(?: of)?"
        rf"(?: your| single| the| future| later| upcoming| following)* {_MANY_REPLIES}\b",
    ),
    ("whenever you answer", r"\b(?:every time|each time|whenever) you (?:answer|reply|respond|write|speak)\b"),
    (
        "let us speak",
        r"^(?:(?:ok(?:ay)?|so|hi|hello|please),? )*let'?s (?:just |only )?(?:talk|speak|chat) (?:only )?(?:in )?"
        rf"(?:{ANY_NAME})(?:,? please| instead| together| only)*[.!?~ ]*$"
        r"|^(?:那|好[的吧]?[，, ]?|要不|不如)*(?:我们|咱们?|[咱我]俩)(?:就|还是|改|都)*(?:用|说|讲)"
        rf"(?:{ANY_NAME})(?:来)?"
        r"(?:聊天?|交流|对话|交谈|沟通|说话)?(?:吧|好吗|好不好)[。！!？?~ ]*$",
    ),
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
        "以后…都",
        rf"{_CLAUSE}(?:{_FROM_NOW})(?:的)?(?!会|是)[^，,。；;我咱他她它们]{{1,8}}(?:都|一律|统统|全部)"
        r"(?:用|要|写|押|以|不要|别|不用|按|换成|带|加|给|先|放|保留|避开)",
    ),
    (
        "每次回答",
        r"每(?:次|一次|条|个|一条|一个)(?:你)?(?:的)?(?:回答|回复|答复|消息)|(?:请|务必|记得|必须|你要)每次都",
    ),
    (
        "所有回答",
        r"(?:所有|全部|一切|任何)(?:的)?(?:回答|回复|答复|消息)(?:里|中)?(?:都|一律|必须|要|请|不能|不许|不得|不要|不准)",
    ),
    ("一律", r"^(?:你的)?(?:回答|回复|答复)(?:里|中)?(?:一律|统统|永远|始终|请?都)(?!是|会|很|没)"),
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
    ("stop doing", r"^(?:please |ok,? |okay,? )*(?:you can |you may )?(?:now )?(?:please )?(?:stop|quit) \w+ing\b"),
    (
        "drop what was said",
        r"\b(?:forget|ignore|drop|disregard|never ?mind|scrap|undo|take back)\b.{0,20}\b(?:what i (?:said|told you|asked)|(?:that|the|my) [\w -]{0,20}(?:rule|limit|style|tone|voice|requirement|thing))\b",
    ),
    (
        "fine again",
        r"^(?:ok,? |okay,? |now )*[\w -]{2,30} (?:is|are) (?:fine|ok(?:ay)?|allowed|welcome|permitted) (?:again|now)\b|\bit'?s (?:fine|ok(?:ay)?) to \w+ .{1,40}\bagain\b",
    ),
    (
        "go back to normal",
        r"\b(?:go|switch|change|get) back to (?:normal|your (?:normal|usual|old)|the (?:normal|usual|old))\b",
    ),
    (
        "no longer applies",
        r"\b(?:limit|rule|instruction|requirement|request)s? (?:no longer (?:applies|holds|counts)|(?:does|do)n'?t (?:apply|hold|count) (?:any ?more|any longer)|(?:is|are) off)\b",
    ),
    ("may again", r"^(?:ok,? |okay,? )?(?:now )?you (?:can|may) .{1,60}\bagain\b"),
    ("不用再", r"(?:不用|不必|无需|不需要)再.+|以后(?:就)?(?:不用|不必|不需要)"),
    ("可以再", r"(?:现在|以后|又|重新)可以(?:再|继续)?(?:用|使用|叫|说|提|写|加).+了"),
    ("取消要求", r"(?:取消|忘掉|忘记|忽略|撤销|去掉|撤了|收回).{0,20}(?:要求|指令|规则|限制|规定|指示|规矩)"),
    (
        "要求作废",
        r"(?:要求|指令|规则|限制|规定|指示|规矩|字数).{0,6}(?:取消|作废|不算了|就算了|不用管|不要了|撤了|不用遵守|不用守)",
    ),
    ("别再了", r"^(?:好了?[，,]?)?(?:别|不要|不用|不必)再.+了[^，,]{0,2}[，,](?:换回|恢复|改回|正常)"),
    ("恢复正常", r"^(?:可以)?(?:恢复|变回|换回|改回)(?:正常|原来|以前|平时)"),
)

# Other values in the place of an instruction's own: both are named, or what is changed is.
CHANGE = _rules(
    (
        "instead of",
        r"^(?:ok(?:ay)?,? |actually,? |please |no,? |and |but )*(?:make (?:that|it)|use|write|call me|let'?s (?:say|use|speak)|"
        r"answer in|reply in|speak|say|change (?:that|it) to|rather)\b.{1,60}(?:\b(?:instead of|rather than|and not)\b|, not\b).+",
    ),
    (
        "change the limit",
        r"\b(?:change|raise|lower|set|reduce|increase|extend|cut|relax|loosen|tighten|update|adjust|switch)\b.{0,40}"
        r"\b(?:limit|rule|language|tone|length|maximum|instruction|nickname)s?\b.{0,40}\b(?:to|from)\b",
    ),
    ("limit is now", r"\b(?:limit|maximum|language|rule) is now\b"),
    (
        "改成",
        r"(?:字数|长度|篇幅|上限|限制|要求|语言|称呼|语气|规则|句数)[^，。；]{0,12}"
        r"(?:改成|改为|换成|调整为|调到|调成|放宽到|缩短到|变成|提高到|降到|减到|增加到)",
    ),
    ("改叫", r"^(?:以后)?(?:请)?改(?:叫我|称呼我|用).+"),
    ("不是而是", r"^(?:是|改成|换成|用|要).{1,20}[，,]?(?:不是|不要|而不是|别用).{1,20}$"),
)

# When an instruction holds, said after it.
NARROW = _rules(
    (
        "only for",
        r"^(?:but |and |well,? |oh,? |i mean,? )*(?:that'?s )?(?:only|just) (?:for|when|if|in|about)\b(?!.*\b(?:a|one) (?:second|minute|moment)\b)",
    ),
    (
        "only applies to",
        r"\b(?:that|this|the|it)\b(?: [\w-]+){0,4} (?:only|just) (?:applies|apply|goes|holds|counts|is|matters)\b"
        r"|\bonly do (?:that|this|it)\b|\b(?:applies|apply) only (?:to|for|when|in)\b",
    ),
    (
        "只在",
        r"^(?:但是?|不过|我是说|这个?|那)?(?:只|仅)(?:是)?(?:有)?(?:在|针对|限于?|对|适用于)?.{1,30}(?:才|这样|如此|适用|这么|就行)",
    ),
    ("只针对", r"(?:要求|规则|限制|规定|这条|那条|这个|那个)[^，。]{0,6}(?:只|仅)(?:针对|适用于|限于|限|用于|在|对).+"),
)

# Attempts to switch off what is not the person's to give: the service's own rules, or to have its prompt told. What a
# person asked for themselves is theirs to take back ("all my instructions"), and that is not among these.
_OWN_RULES = (
    r"(?:(?:your|the|all|any|every|of|previous|prior|above|earlier|preceding|original|initial|system|developer|safety|"
    r"hidden|internal|other|these|those) )*"
)
OVERRIDE = _rules(
    (
        "ignore the service's rules",
        r"\b(?:ignore|disregard|forget|override|bypass|disobey|overwrite|never follow|don'?t follow|do not follow|stop following|"
        rf"pay no attention to)\b (?:about )?{_OWN_RULES}"
        r"(?:(?:previous|prior|above|preceding|your|system|developer|safety|hidden|internal)(?: \w+)?) "
        r"(?:instructions?|prompts?|rules?|guidelines?|programming|protocols?|directives?|restrictions?|filters?|messages?)\b",
    ),
    (
        "reveal the prompt",
        r"\b(?:reveal|show|print|repeat|output|tell|give|display|leak|share|dump|quote|recite)\b.{0,40}"
        r"\b(?:(?:system|hidden|developer|initial|secret) (?:prompt|message|instructions?)|your (?:system |hidden |full |exact )*"
        r"(?:prompt|instructions)|(?:everything|all|the text|the words) above)\b",
    ),
    (
        "act without rules",
        r"\b(?:you (?:now )?have no |without (?:any )?|free (?:of|from) (?:all|any) )(?:more )?(?:rules|restrictions|limits|limitations|"
        r"guidelines|filters)\b|\b(?:developer|jailbreak|god|dan) mode\b|\bdo anything now\b",
    ),
    (
        "忽略系统规则",
        r"(?:忽略|无视|忘掉|忘记|绕过|覆盖|不要遵守|别遵守|不遵守|违反|停止遵守|不再遵守).{0,6}"
        r"(?:(?:之前|以上|上面|前面|先前)的?(?:所有|全部|一切|任何)?的?|(?:所有|全部|一切)的?(?:系统|内部|上面的|之前的)|你的(?:所有|全部|一切)?的?|系统(?:的)?)"
        r"(?:系统)?(?:指令|指示|提示词?|规则|设定|协议|限制|准则|编程)",
    ),
    (
        "泄露提示词",
        r"(?:告诉|输出|显示|重复|打印|泄露|透露|展示|说出|复述|公开).{0,12}(?:系统提示词?|系统消息|系统指令|提示词|你的(?:提示|指令|设定)|以上(?:所有|全部)?(?:的)?(?:内容|文字))"
        r"|把.{0,4}(?:系统提示词?|提示词|系统消息).{0,6}(?:输出|显示|告诉|写出|打印|说出)",
    ),
    (
        "没有限制",
        r"(?:你|您)?(?:没有|不受|不再受|摆脱)(?:了)?(?:任何|一切|所有)(?:的)?(?:限制|规则|约束)|开发者模式|越狱模式",
    ),
)

_ANYBODY = r"(?:i|we|he|she|it|they|there|everyone|people|(?:my|our|his|her|their|the) (?!name|answers?|repl|respons))"
_TASK = r"(?:essay|poem|story|text|paragraph|email|letter|code|function|task|question|answer|reply|one)"
_OTHERS = "他|她|他们|她们|老师|老板|妈妈|爸爸|医生|朋友|同事"

# Sentences that look like instructions and are not: questions, hypotheticals, reports of others, one task only, plans.
NOT = _rules(
    ("question", r"[?？]\s*$|(?:吗|呢)[。.!！]?$"),
    (
        "hypothetical",
        r"^(?:suppose|imagine|what if|i could ask|i wonder|maybe i)\b|^pretend\b(?! (?:to be|you(?:'re| are)))|^if\b(?!.*, (?:please )?(?:always|never)\b)"
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
        "once only",
        r"\b(?:just|only) (?:this once|this time|for this)\b|\bfor this (?:\w+ )?(?:question|answer|reply|message|one|task) only\b"
        r"|(?:就|只|仅)(?:这|此)一?次|这一次|这(?:个|道)(?:问题|题)",
    ),
    (
        "ask somebody else",
        r"^(?:please |can you |could you )?(?:tell|ask|remind|let) (?!me\b)\w+|^(?:请)?(?:帮我)?(?:告诉|转告|提醒)(?!我)",
    ),
    (
        "praise",
        r"^your (?:answers|replies|responses|messages) (?:are|were|have been) (?!too\b|all to\b|to\b|always to\b)",
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

# Formatting characters that show nothing: hidden between letters they keep a rule from firing; bidirectional ones turn
# a text round for whoever reads it.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]"
)
CODE = re.compile(r"```[\s\S]*?(?:```|\Z)|~~~[\s\S]*?(?:~~~|\Z)|`[^`\n]{1,300}`|^>.*$", re.MULTILINE)


def without_invisible(text: str) -> str:
    """`text` without formatting characters that show nothing."""
    return _INVISIBLE.sub("", text)


def plain(text: str) -> str:
    """`text` as rules read it: full-width and styled letters as the plain ones they look like, one kind of apostrophe,
    Chinese in simplified characters."""
    return as_read(unicodedata.normalize("NFKC", without_invisible(text)).replace("’", "'"))


# What makes a question of a request only for the sake of politeness.
COURTESY = re.compile(
    r"[,，]\s*(?:ok(?:ay)?|all ?right|please|will you|would you|好吗|好么|好不好|行吗|可以吗)\s*[?？]\s*$",
    re.IGNORECASE,
)
QUOTED = re.compile("[\"“「『][^\"”」』\n]{0,400}[\"”」』]|(?<!\\w)['‘][^'’\n]{0,400}['’](?!\\w)")
