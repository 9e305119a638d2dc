"""What kind of sentence the words of a person are: a standing instruction, one for this task only, a report, talk …

The second stage of `governance.instructions`, for what no rule decides: two small classifiers that are wrong about
different sentences, one over the sentence's words and parts of words, one over its vector, both with some cues of what is
said and of the message it stands in. The first costs next to nothing; where it is sure that a sentence is none, no vector
is made. Knows nothing about what is in force.
"""

# ruff: noqa: E501 (a pattern a line: broken over several it cannot be read)
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from governance.instruction_rules import ADD, NOT, QUOTED, RETIRE, first_match
from governance.softmax import Floats, Softmax, features_of, load_softmax, together
from governance.word_grams import table
from retrieval.embedding.base import Embedder, Vectors
from retrieval.embedding.cache import CachedEmbedder

WEIGHTS = "recogniser"
WORDS = "recogniser_words"
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
    "other": "something else",
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
        r"\b(?:following|next|coming|later) (?:\w+ )?(?:turns|messages|rounds|questions)\b|\bnext time\b|\bone (?:by one|after another)\b|"
        r"以后|今后|往后|从现在|从今|从此|从这|打这|打今|打现在|接下来|之后|后面|后续|直到|期间|全程|长期|任何时候|下面几轮|一个一个|陆续",
    ),
    (
        "conversation",
        r"\b(?:conversation|chat|talk|session|dialogue)s?\b|聊天|对话|说话|交流|会话",
    ),
    ("all replies", rf"\b(?:every|each|all|any|no)\b[^.]{{0,20}}\b{_REPLY}\b|(?:每|所有|任何|一切).{{0,6}}(?:回答|回复|答复|消息)"),
    ("everything you say", r"\b(?:everything|anything|nothing|whatever|all) (?:that )?(?:you|we|i) \w+|你(?:写|说|发|告诉)(?:给)?(?:我)?的(?:一切|任何|所有|每)|一切|统统"),
    ("your replies", r"\byour (?:replies|answers|responses|messages)\b|(?:你的|你所有的)(?:回答|回复|答复)"),
    ("this reply", r"\b(?:your|the|this|entire|whole) (?:entire |whole )?(?:reply|answer|response|output|message)\b|整个回答|这个回答|你的回答必须"),
    ("all questions", r"\b(?:everything|anything|whatever|all|every|each)\b.{0,20}\b(?:questions?|asks?)\b|(?:所有|每|任何|一切).{0,8}问题|问什么"),
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
    ("each turn", r"\b(?:each|every) (?:turn|message|question)\b|\bone (?:at a time|word)\b|\b(?:only|just) (?:answer|output|reply)\b|每一?轮|每(?:条|篇|句|个)只|每次发|只(?:需)?(?:回|要|输出)"),
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
_AROUND = (
    "alone",
    "task elsewhere",
    "question elsewhere",
    "lasting elsewhere",
    "follows",
    "beside a task",
    "lasting despite a task",
    "short",
    "long",
)
CUES = (*(name for name, _ in _CUES), "rule: add", "rule: retire", *_RULES, *_AROUND)
_TASK = re.compile(dict(_CUES)["task verb"], re.IGNORECASE)
_LASTING = re.compile(dict(_CUES)["lasting"], re.IGNORECASE)
# A text that is to be made. Paragraphs, lists and titles are parts of any reply.
_WORK = re.compile(
    r"\b(?:essay|poem|story|e-?mail|letter|article|summary|speech|report|blog|song|resume|cv|riddle|joke|limerick|"
    r"haiku|rap|pitch|proposal|advertisement|ad|rubric|itinerary)s?\b|文章|诗|故事|邮件|总结|演讲|报告|作文|歌词|简历|通知|小说",
    re.IGNORECASE,
)
# What speaks of messages to come: the sentence behind it may say how to answer them.
_COMING = re.compile(rf"{dict(_CUES)['lasting']}|{dict(_CUES)['each turn']}", re.IGNORECASE)
# Nobody says in so many characters how to be talked to: a text is shown, with a task or for its own sake.
_PASTED = 600

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
    lasting_elsewhere: bool = False
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

    @property
    def asks(self) -> float:
        """P(it asks anything of the list of instructions): to add, to take back or to change."""
        return self.standing + self.probabilities["takeback"] + self.probabilities["change"]


def in_context(texts: Sequence[str]) -> list[Sentence]:
    """The sentences of one message, each with what stands around it."""
    tasks = [_TASK.search(text) is not None for text in texts]
    asks = [text.rstrip(" ”\"'").endswith(("?", "？")) for text in texts]
    pieces = [tasks[place] or asks[place] or _WORK.search(text) is not None for place, text in enumerate(texts)]
    lasting = [_COMING.search(text) is not None for text in texts]
    pasted = sum(map(len, texts)) > _PASTED
    return [
        Sentence(
            text,
            alone=len(texts) == 1,
            first=place == 0,
            task_elsewhere=sum(tasks) > tasks[place],
            question_elsewhere=sum(asks) > asks[place],
            lasting_elsewhere=sum(lasting) > lasting[place],
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
        sentence.lasting_elsewhere,
        not sentence.first,
        sentence.beside_a_task,
        (elsewhere or sentence.beside_a_task) and lasting,
        len(text) < 20,
        len(text) > 120,
    ]
    rules = [first_match(ADD, text) is not None, first_match(RETIRE, text) is not None]
    return [float(value) for value in (*found, *rules, *vetoes, *around)]


def cue_rows(sentences: Sequence[Sentence]) -> Floats:
    """The cues of n sentences: shape (n, len(CUES))."""
    return np.array([cues(sentence) for sentence in sentences], np.float32).reshape(len(sentences), len(CUES))


# A row of grams has length 1, so its members are small: weighed up, so that one penalty serves them and the cues.
_WORDS_SCALE = 4.0


def word_features(sentences: Sequence[Sentence], found: Floats) -> Floats:
    """What the classifier of words sees of n sentences with these cues: shape (n, SIZE + len(CUES))."""
    seen: Floats = np.concatenate([table([_shown(one) for one in sentences]) * _WORDS_SCALE, found], axis=1)
    return seen


def _shown(sentence: Sentence) -> str:
    """The text as classifiers see it: no blanks, and no full stop, which some write and some don't."""
    return _BLANK.sub("…", sentence.text).rstrip(" .。")


def vectors_of(sentences: Sequence[Sentence], embedder: Embedder) -> Vectors:
    """The sentences as questions. Past any cache: no vector of a person's words is kept that an erasure must find."""
    inner = embedder.inner if isinstance(embedder, CachedEmbedder) else embedder
    return inner.encode_query([_shown(sentence) for sentence in sentences])


# By their words alone these are decided. Under cross-validation over lines the vector then never changes a decision that
# was right (docs/instructions.md).
_SURELY_NONE = 0.08
_SURELY = 0.95


def read(sentences: Sequence[Sentence], embedder: Embedder) -> list[Reading]:
    """What kind each sentence is. Raises ValueError with an embedder that the weights do not belong to."""
    model, words = load_softmax(WEIGHTS), load_softmax(WORDS)
    if embedder.name != model.embedder:
        raise ValueError(f"The recogniser knows vectors of {model.embedder}, not of {embedder.name}.")
    if not sentences:
        return []
    found = cue_rows(sentences)
    said = words.probabilities(word_features(sentences, found))
    open_places = [place for place, sentence in enumerate(sentences) if _is_open(words, sentence, said[place])]
    if open_places:
        vectors = vectors_of([sentences[place] for place in open_places], embedder)
        by_vector = model.probabilities(features_of(vectors, found[open_places]))
        said[open_places] = together(said[open_places], by_vector)
    return [_reading(row, cue_row) for row, cue_row in zip(said, found, strict=True)]


def _is_open(words: Softmax, sentence: Sentence, said: Floats) -> bool:
    """Whether a sentence's vector could still change what is done about it."""
    by_kind: dict[str, float] = dict(zip(words.kinds, said.tolist(), strict=True))
    standing = sum(by_kind[kind] for kind in STANDING)
    if standing > _SURELY:
        return False
    if sentence.beside_a_task and not _holds(sentence):
        # Belongs to the task, unless it gives a role or a name.
        standing = by_kind["role"] + by_kind["address"]
    return standing > _SURELY_NONE or by_kind["takeback"] > _SURELY_NONE


def _reading(said: Floats, found: Floats) -> Reading:
    model, words = load_softmax(WEIGHTS), load_softmax(WORDS)
    probabilities = dict(zip(model.kinds, said.tolist(), strict=True))
    standing = sum(probabilities[kind] for kind in STANDING)
    among = [kind for kind in probabilities if (kind in STANDING) == (standing >= model.threshold)]
    kind = max(among, key=probabilities.__getitem__)
    # What each cue adds to this kind's score above the mean of all kinds.
    weights = model.weights[:, -len(CUES) :] + words.weights[:, -len(CUES) :]
    adds = (weights[model.kinds.index(kind)] - weights.mean(axis=0)) * found
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
        "all questions",
    )
)
# Beside a task few instructions stand: one must be clear, and say that it holds longer, as a role or a name does.
_CLEAR = 0.7


def _holds(sentence: Sentence) -> bool:
    return any(pattern.search(sentence.text) for pattern in _HOLDS)


def belongs_to_task(sentence: Sentence, reading: Reading) -> bool:
    """Whether what reads like an instruction is one for the task that stands beside it in the message."""
    holds = reading.kind in ("role", "address") or _holds(sentence)
    return sentence.beside_a_task and not (holds and reading.standing >= _CLEAR)


def trained_on(embedder: Embedder | None) -> bool:
    """Whether the packaged weights belong to this embedder."""
    return embedder is not None and embedder.name == load_softmax(WEIGHTS).embedder
