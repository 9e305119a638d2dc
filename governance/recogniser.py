"""What kind of sentence the words of a person are: a standing instruction, one for this task only, a report, talk …

The second stage of `governance.instructions`, for what no rule decides: a small classifier over the sentence's vector
and some cues of its words and of the message it stands in. Knows nothing about what is in force.
"""

# ruff: noqa: E501 (a pattern a line: broken over several it cannot be read)
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from governance.instruction_rules import ADD, NOT, QUOTED, RETIRE, first_match
from governance.softmax import Floats, Softmax, features_of, load_softmax
from retrieval.embedding.base import Embedder, Vectors
from retrieval.embedding.cache import CachedEmbedder

WEIGHTS = "recogniser"
# The kinds of example that are standing instructions, and what a record calls each kind.
STANDING = ("standing", "manner", "role", "address")
NAMES = {
    "standing": "a standing instruction",
    "manner": "how to talk with the person",
    "role": "a role to keep",
    "address": "how to address the person",
    "takeback": "taking an instruction back",
    "change": "changing an instruction",
    "task": "for this task only",
    "quoted": "quoted words",
    "hypothetical": "a supposition",
    "others": "for somebody else",
    "report": "a report",
    "question": "a question",
    "talk": "talk",
    "override": "an attempt to switch the service's own rules off",
}

_REPLY = r"(?:repl(?:y|ies)|answers?|responses?|messages?|outputs?)"
_PIECE = (
    r"(?:essay|poem|story|e-?mail|letter|article|summary|speech|report|post|song|paragraph|resume|cv|review|riddle|"
    r"joke|list|title|limerick|haiku|rap|pitch|proposal|advertisement|ad|template|rubric|itinerary|code|section|stanza)"
)
_CUES: tuple[tuple[str, str], ...] = (
    (
        "lasting",
        r"\bfrom (?:now|here|this|today)\b|henceforth|going forward|\bin (?:the )?future\b|\bfuture\b|\bupcoming\b|"
        r"\buntil\b|\bas long as\b|\bthat follows\b|\bthroughout (?:this|our|the) (?:chat|conversation|talk)|\bstarting (?:now|with)\b|"
        r"以后|今后|往后|从现在|从今|从此|从这|打这|打今|打现在|接下来|之后|后面|后续|直到|期间|全程|长期|任何时候",
    ),
    (
        "conversation",
        r"\b(?:conversation|chat|talk|session|dialogue)s?\b|聊天|对话|说话|交流|会话",
    ),
    ("all replies", rf"\b(?:every|each|all|any|no)\b[^.]{{0,20}}\b{_REPLY}\b|(?:每|所有|任何|一切).{{0,6}}(?:回答|回复|答复|消息)"),
    ("everything you say", r"\b(?:everything|anything|nothing|whatever|all) (?:that )?(?:you|we|i) \w+|你(?:写|说|发|告诉)(?:给)?(?:我)?的(?:一切|任何|所有|每)|一切|统统"),
    ("your replies", r"\byour (?:replies|answers|responses|messages)\b|(?:你的|你所有的)(?:回答|回复|答复)"),
    ("this reply", r"\b(?:your|the|this|entire|whole) (?:entire |whole )?(?:reply|answer|response|output|message)\b|整个回答|这个回答|你的回答必须"),
    ("always", r"\b(?:always|never|ever|every time|each time|whenever|any time)\b|始终|一直|永远|总是|每次|每当|凡是|一律|都"),
    ("no matter", r"\bno matter\b|\bregardless\b|\bwhatever\b|不管|无论|凡是|只要"),
    ("with me", r"\b(?:with|to|for|at) me\b|\bmy\b|\bme\b|跟我|和我|对我|给我|回答我|回我|我们"),
    ("you", r"\byou\b|你|您"),
    ("first person starts", r"^(?:i|we|my|our)\b|^(?:我|我们|咱)"),
    ("wish", r"\bi(?:'d| would)? (?:like|want|need|prefer|rather|expect)\b|我(?:希望|想让|要|要求|需要|更?喜欢)"),
    ("you are to", r"\byou (?:must|should|have to|are to|need to|may not|can't|shall)\b|你(?:必须|要|得|应该|只能|只需|不许|一律)"),
    ("please", r"\bplease\b|\bthanks\b|\bkindly\b|请|麻烦|谢谢"),
    ("negative", r"\b(?:don'?t|do not|no|never|without|avoid|not|refrain|leave out|skip)\b|不要|别|不许|不准|禁止|避免|不能|不用"),
    (
        "manner word",
        r"^(?:please |and |also |but |so )*(?:answer|reply|respond|speak|talk|write to|use|be|keep|call|address|start|begin|end|finish|"
        r"format|explain things|give your|stick)\b|^请?(?:用|别|不要|叫|称呼|回答|回复|答复|跟我|和我|对我|保持)",
    ),
    (
        "task verb",
        r"^(?:please |can you |could you |will you |would you |help me |so |now |and )*(?:write|create|make|draft|compose|summari[sz]e|translate|"
        r"rewrite|explain|describe|list|generate|compare|tell|name|convert|remove|replace|check|proofread|continue|shorten|say|repeat|give|"
        r"draw|plan|remind|imagine|turn|fix|review|find|show|help|suggest|brainstorm|elaborate|expand|design|develop|craft|critique|"
        r"criticize|improve|invent|come up|provide|recommend|organi[sz]e|prepare|answer the|complete|rank)\b"
        r"|^i(?:'m| am)? (?:need|want|would like|'d like|looking for|hoping) (?:a|an|some|the|two|to know|to write|to start|to learn)\b"
        r"|^(?:we are|we're) looking for\b|^(?:here is|here's|given|take the|there (?:are|is))\b"
        r"|^请?(?:能|可以)?(?:帮我|帮忙|给我|写|翻译|概括|总结|解释|列出|改写|介绍|比较|制定|把|将|讲|继续|续写|检查|删|重写|再|想|问|取|提醒|设计|整理|策划|展开)"
        r"|^我(?:需要|想要)一|^想要一|^我想知道",
    ),
    ("piece", rf"\b{_PIECE}s?\b|文章|诗|故事|邮件|总结|演讲|报告|作文|歌词|段|标题|代码|简历|列表|通知|小说"),
    ("pointing", r"\b(?:this|that|these|following|below|above|next|last|attached|it)\b|这(?!样)|那|下面|上面|刚才|上次|下一"),
    ("length", r"\b(?:words?|sentences?|characters?|paragraphs?|lines?|short(?:er)?|brief|long(?:er)?)\b|字|句|段|简短|长|短"),
    (
        "language",
        r"\b(?:english|french|german|spanish|italian|japanese|korean|dutch|hindi|portuguese|swedish|arabic|turkish|chinese|"
        r"mandarin|polish|russian|latin|language)\b|[英法德日韩俄中粤汉]文|[法德日韩俄汉粤英]语|西班牙语|意大利语|文言文|白话|繁体|简体",
    ),
    ("form", r"\b(?:emojis?|bullet|tables?|commas?|json|markdown|caps|lowercase|capital|slang|jargon|headings?|quotation)\b|表情|表格|列表|标点|逗号|感叹号|格式|术语|用语"),
    ("tone", r"\b(?:formal|casual|polite|friendly|blunt|tone|style|honest|cheerful|dry|plain|simple)\b|语气|口吻|敬语|礼貌|幽默|简洁|正式|温柔|直接"),
    ("address", r"\b(?:call|address|refer to) me\b|\bmy name\b|\bpronouns\b|叫我|称呼我|喊我|取名"),
    ("role", r"\b(?:act (?:as|like)|pretend|role|in character|you are (?:now |going to be )?(?:a|an|my)|play)\b|扮演|角色|假装|口吻|身份|你(?:来|是|就是|当)"),
    ("each turn", r"\b(?:each|every) (?:turn|message|question)\b|\bone (?:at a time|word)\b|\b(?:only|just) (?:answer|output|reply)\b|每一?轮|每次发|只(?:需)?(?:回|要|输出)"),
    ("stop", r"\bstop\b|\bquit\b|\bno longer\b|\bany ?more\b|\bdrop\b|\bforget\b|\bignore\b|\bcancel\b|\benough\b|不用再|别再|不要再|取消|忘|忽略|作废|撤销|去掉|不必"),
    ("again", r"\bagain\b|\bback\b|\bnormal\b|\busual\b|恢复|又|重新|换回|变回|原来"),
    ("instead", r"\binstead\b|\brather\b|\bmake (?:that|it)\b|改成|改为|换成|改叫"),
    ("only for", r"\bonly (?:for|when|do|goes|applies)\b|只(?:在|针对|限|有)"),
    ("reported", r"\b(?:said|says|told|asked|asks|wants|made|wrote|insists?)\b|说[:：，]?|告诉|让我|要求|规定|转告"),
    (
        "third party",
        r"^(?:he|she|they|the|people|students|children|employees|everyone|nobody|all|each|every)\b(?!.*\byou)"
        r"|(?:他|她|老师|老板|妈妈|学生|员工|孩子|大家|公司|同事|妹妹|教练|邻居|奶奶|经理|护士)",
    ),
    ("tell them", r"^(?:please )?(?:tell|ask|let|have|remind) (?!me\b)|^(?:请)?(?:帮我)?(?:告诉|转告|让)(?!我)"),
    ("own plan", r"\bi(?:'ll| will|'m going to)\b|我(?:以后|要去|打算|得)"),
    ("question word", r"^(?:what|why|how|when|where|who|which|is|are|do|does|did|should|can|could|would|must|am|has|have)\b|怎么|为什么|什么|吗|哪|多少|谁"),
    ("asks politely", r"^(?:can|could|would|will) you\b|(?:能不能|可以|能否)"),
    ("question mark", r"[?？]"),
    ("if", r"^(?:if|suppose|imagine|what if|maybe|perhaps)\b|^(?:如果|假如|假设|要是|万一|说不定)"),
    ("when i", r"\b(?:when|whenever|if|any ?time|each time|every time) (?:i|you)\b|(?:只要|每当|凡是|遇到|涉及)"),
    ("quotes", "[\"“”「『《]"),
    ("past", r"\b(?:was|were|had|did|yesterday|last|used to)\b|昨天|以前|上次|过|了。?$"),
    ("allergy", r"\ballerg|\bvegan\b|\bblind\b|\bdyslexi|过敏|吃素|眼睛"),
)  # fmt: skip
_PATTERNS = tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _CUES)
_RULES = tuple(f"not: {name}" for name, _ in NOT)
_AROUND = ("alone", "task elsewhere", "question elsewhere", "follows", "lasting despite a task", "short", "long")
CUES = (*(name for name, _ in _CUES), "rule: add", "rule: retire", *_RULES, *_AROUND)
_TASK = re.compile(dict(_CUES)["task verb"], re.IGNORECASE)
_LASTING = re.compile(dict(_CUES)["lasting"], re.IGNORECASE)
_A_PIECE = re.compile(dict(_CUES)["piece"], re.IGNORECASE)
# Nobody says in so many characters how to be talked to: a text is shown, with a task or for its own sake.
_PASTED = 600
# An instruction about how replies are to be speaks of talking, of texts and their form, of a role or a name, or of what
# is to be told. A sentence without any of that is not worth an embedding, and mistaken for one now and then.
_SPEAKS_OF_REPLIES = re.compile(
    r"\b(?:answer|repl(?:y|ies)|respon[ds]|messages?|outputs?|speak|talk|write|wrote|say|tell|explain|chat|conversation|session|"
    r"word|sentence|paragraph|line|letter|spell|language|english|french|german|spanish|italian|japanese|korean|dutch|hindi|portuguese|"
    r"swedish|arabic|turkish|mandarin|chinese|cantonese|russian|polish|latin|emoji|smiley|bullet|table|list|comma|punctuation|exclamation|"
    r"hashtag|metaphor|heading|slang|jargon|swear|pun|json|markdown|caps|lowercase|capital|format|title|summar|conclusion|"
    r"short|long|brief|concise|detail|verbose|formal|casual|polite|friendly|blunt|tone|style|simple|plain|honest|rhym|verse|"
    r"cheerful|dry|playful|poetic|technical|call me|address|refer|name|pronoun|nickname|act (?:as|like)|pretend|role|character|"
    r"you are (?:now )?(?:a|an|my|going)|you're (?:now )?(?:a|an|my|going)|you(?:'ll| will) be|be (?:a|an|my)\b|play|become|tutor|interview|"
    r"source|cite|example|reason|question|ask|apolog|sorry|lecture|flatter|disclaimer|pleasantr|small talk|introduction|mistake|correct|"
    r"recommend|suggest|propose|mention|bring up|recipe|meal|units?|metric|celsius|kilomet|clock|numbers?|decimal|dates?|code|"
    r"translat|greet|be called|calls me|to you i|leave \w+ out|leave them out|don't use|used? fewer|describe|vocabulary|to the point|get to|switch to|stop \w+ing|everything you|anything you|whatever (?:i|you)|from now|no matter|rule|instruction|"
    r"(?:don't|do not|no) \w+,? (?:please|with me))"
    r"|回答|回复|答复|回我|说话|说|讲|聊|写|对话|会话|交流|语言|[英法德日韩俄中粤汉]文|[法德日韩俄汉粤英]语|西班牙语|意大利语|文言|白话|繁体|"
    r"简体|字|词|句|段|表情|标点|逗号|感叹号|句号|表格|列表|格式|标题|编号|简短|简洁|详细|啰嗦|长|短|语气|口吻|正式|官方|幽默|礼貌|敬语|"
    r"直接|直说|温柔|轻松|专业|口语|严肃|客气|叫我|喊我|称呼|名字|叫|扮演|角色|假装|身份|面试|陪练|老师|你(?:来|是|就是|做|当)|来源|出处|例|结论|提问|"
    r"道歉|说教|道理|马屁|纠正|推荐|提到|提|菜谱|单位|公制|摄氏|数字|日期|时间|代码|翻译|押韵|诗|发|换成|内容|输出|形容词|用语|术语|我的问题|解释|告诉|用|问|开头|结尾|末尾|每条|你现在|演",
    re.IGNORECASE,
)


# What a quotation was blanked out with means nothing to an embedder.
_BLANK = re.compile("_{2,}")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as it is judged: quotations blanked, with what stands around it in its message.

    `beside_a_task`: the message holds a task, a question, a piece of writing to be made, or is a long text.
    """

    text: str
    alone: bool = True
    first: bool = True
    task_elsewhere: bool = False
    question_elsewhere: bool = False
    beside_a_task: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What kind of sentence it is taken for, with P(standing instruction) and P(each kind)."""

    kind: str
    standing: float
    probabilities: dict[str, float]
    cues: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """What it was taken for, and the cues that spoke most for it; no words of the sentence."""
        told = f" ({', '.join(self.cues)})" if self.cues else ""
        return f"classifier: nearest to {NAMES[self.kind]}{told}"

    @property
    def probability(self) -> float:
        """P of the kind; for a standing instruction of whichever sort P(standing)."""
        return self.standing if self.kind in STANDING else self.probabilities[self.kind]


def in_context(texts: Sequence[str]) -> list[Sentence]:
    """The sentences of one message, each with what stands around it."""
    tasks = [_TASK.search(text) is not None for text in texts]
    asks = [text.rstrip(" ”\"'").endswith(("?", "？")) for text in texts]
    pieces = [tasks[place] or asks[place] or _A_PIECE.search(text) is not None for place, text in enumerate(texts)]
    pasted = sum(map(len, texts)) > _PASTED
    return [
        Sentence(
            text,
            alone=len(texts) == 1,
            first=place == 0,
            task_elsewhere=sum(tasks) > tasks[place],
            question_elsewhere=sum(asks) > asks[place],
            beside_a_task=pasted or sum(pieces) > pieces[place],
        )
        for place, text in enumerate(texts)
    ]


def cues(sentence: Sentence) -> list[float]:
    """The cues of `CUES` in a sentence, 0 or 1 each."""
    text = QUOTED.sub(lambda quoted: quoted[0][0] + quoted[0][-1], sentence.text)
    found = [pattern.search(text) is not None for _, pattern in _PATTERNS]
    vetoes = [pattern.search(text) is not None for _, pattern in NOT]
    elsewhere = sentence.task_elsewhere or sentence.question_elsewhere
    lasting = _LASTING.search(text) is not None
    around = [
        sentence.alone,
        sentence.task_elsewhere,
        sentence.question_elsewhere,
        not sentence.first,
        elsewhere and lasting,
        len(text) < 20,
        len(text) > 120,
    ]
    rules = [first_match(ADD, text) is not None, first_match(RETIRE, text) is not None]
    return [float(value) for value in (*found, *rules, *vetoes, *around)]


def features(sentences: Sequence[Sentence], vectors: Vectors) -> Floats:
    """What the classifier sees of n sentences: shape (n, dimension + len(CUES))."""
    return features_of(vectors, np.array([cues(sentence) for sentence in sentences], np.float32))


def vectors_of(sentences: Sequence[Sentence], embedder: Embedder) -> Vectors:
    """The sentences as questions. Past any cache: no vector of a person's words is kept that an erasure must find."""
    inner = embedder.inner if isinstance(embedder, CachedEmbedder) else embedder
    return inner.encode_query([_BLANK.sub("…", sentence.text) for sentence in sentences])


def read(sentences: Sequence[Sentence], embedder: Embedder) -> list[Reading | None]:
    """What kind each sentence is; None for one that cannot be about replies, or when the weights are another embedder's."""
    readings: list[Reading | None] = [None] * len(sentences)
    model = load_softmax(WEIGHTS)
    places = [place for place, sentence in enumerate(sentences) if _SPEAKS_OF_REPLIES.search(sentence.text)]
    if embedder.name != model.embedder or not places:
        return readings
    chosen = [sentences[place] for place in places]
    seen = features(chosen, vectors_of(chosen, embedder))
    for place, row, found in zip(places, model.probabilities(seen), seen, strict=True):
        readings[place] = _reading(model, dict(zip(model.kinds, row.tolist(), strict=True)), found)
    return readings


def _reading(model: Softmax, probabilities: dict[str, float], found: Floats) -> Reading:
    standing = sum(probabilities[kind] for kind in STANDING)
    among = [kind for kind in probabilities if (kind in STANDING) == (standing >= model.threshold)]
    kind = max(among, key=probabilities.__getitem__)
    # What each cue adds to this kind's score above the mean of all kinds.
    weights = model.weights[:, -len(CUES) :]
    adds = (weights[model.kinds.index(kind)] - weights.mean(axis=0)) * found[-len(CUES) :]
    telling = tuple(CUES[place] for place in np.argsort(-adds)[:2] if adds[place] > 0)
    return Reading(kind, standing, probabilities, telling)


# Cues by which a sentence says for itself that it holds beyond the task beside it.
_HOLDS = tuple(
    pattern
    for name, pattern in _PATTERNS
    if name
    in (
        "lasting",
        "conversation",
        "all replies",
        "your replies",
        "always",
        "no matter",
        "everything you say",
        "each turn",
        "when i",
    )
)
# Beside a task few instructions stand: one must be clear, and say that it holds longer, as a role or a name does.
_CLEAR = 0.8


def belongs_to_task(sentence: Sentence, reading: Reading) -> bool:
    """Whether what reads like an instruction is one for the task that stands beside it in the message."""
    holds = reading.kind in ("role", "address") or any(pattern.search(sentence.text) for pattern in _HOLDS)
    return sentence.beside_a_task and not (holds and reading.standing >= _CLEAR)


def trained_on(embedder: Embedder | None) -> bool:
    """Whether the packaged weights belong to this embedder."""
    return embedder is not None and embedder.name == load_softmax(WEIGHTS).embedder
