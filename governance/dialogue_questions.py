"""Questions about the dialogue itself: sum it up, how often was something corrected, what was talked about.

Their words match no single memory well, and what they ask for is spread over many. So they pass the relevance gate
for past turns and get more places and tokens (`dialogue_k`, `dialogue_budget`). A small recogniser by rules; pure
functions that know nothing about memories.
"""

from __future__ import annotations

import re

from governance.config import GovernanceConfig

_SAID = (
    r"(?:correct|chang|tell|told|ask|mention|say|said|remind|repeat|talk|spoke|speak|discuss|br(?:ing|ought)\s+up"
    r"|apologi|disagree|contradict)\w*"
)
_TALK = r"(?:conversation|chat|dialogue|discussion|talk|exchange)s?"
_ENGLISH = re.compile(
    rf"""\bhow\s+(?:many\s+times|often)\s+(?:have|had|did|do)\s+(?:i|we|you)\s+(?:\w+\s+)?{_SAID}
    |\bhow\s+many\s+(?:\w+\s+){{1,3}}(?:have|had|did)\s+(?:i|we|you)\s+(?:\w+\s+)?{_SAID}
    |\b(?:sum(?:med)?\s+up|summari[sz]e|summary\s+of|recap|look\s+back\s+(?:on|at)|go\s+(?:back\s+)?over)\b[^.?!\n]{{0,40}}
        (?:\b(?:our|this|the|today['’]?s)\s+(?:\w+\s+)?{_TALK}\b|\bwe\s+(?:\w+\s+)?{_SAID}|\b(?:i|you)\s+(?:have\s+)?
        (?:told|said|asked|mentioned)\b|\bso\s+far\b)
    |\bwhat\s+(?:all\s+)?(?:have|did)\s+we\s+(?:\w+\s+)?(?:talk|discuss|sp[eo]a?k|cover)\w*
    |\b(?:everything|all\s+(?:that|the\s+\w+))\s+(?:that\s+)?(?:i|we|you)(?:['’]ve|\s+have)?\s+(?:told|said|asked|
        mentioned|corrected|discussed|talked)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_SAID_ZH = "(?:更正|纠正|改正|改口|说|讲|问|提|告诉|提醒|聊|谈|道歉|讨论)"
_CHINESE = re.compile(
    rf"""(?:我|你|咱)们?[^。？！?!\n]{{0,12}}{_SAID_ZH}(?:到|起)?过?(?:你|我)?[^。？！?!\n]{{0,6}}(?:几|多少)(?:次|回|遍|处|个|件)
    |(?:总结|概括|归纳|回顾|梳理|小结|复述)[^。？！?!\n]{{0,8}}(?:(?:我|咱)们?[^。？！?!\n]{{0,8}}(?:谈话|对话|聊天|讨论|交流|说|聊|谈)
        |(?:这次|今天|本次|这场|刚才|之前|前面|以上|上面)的?[^。？！?!\n]{{0,4}}(?:谈话|对话|聊天|讨论|交流))
    |(?:我|咱)们[^。？！?!\n]{{0,8}}(?:聊|谈|说|讨论)(?:到|起)?(?:过|了)[^。？！?!\n]{{0,2}}(?:什么|哪些|些)
    |我[^。？！?!\n]{{0,6}}(?:告诉|跟你说|对你说|问|提到)过你?[^。？！?!\n]{{0,2}}(?:什么|哪些)""",
    re.VERBOSE,
)
# A question is short; a long message is a text that may well tell of conversations.
_LONGEST = 600


def about_dialogue(message: str, config: GovernanceConfig) -> bool:
    """Whether a turn under `config` takes its message for a question about the dialogue itself."""
    return config.dialogue_k > 0 and asks_about_dialogue(message)


def asks_about_dialogue(message: str) -> bool:
    """Whether a message asks about the dialogue as a whole: to sum it up, to count in it, to list what it held."""
    return len(message) <= _LONGEST and bool(_ENGLISH.search(message) or _CHINESE.search(message))
