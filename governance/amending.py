"""What becomes of the active instructions when a person takes one back, changes it or says when it holds.

Which one is meant must be clear from the words: the same thing is spoken of (`SUBJECTS`, in either language) or the
same words are used, and no other value is named ("stop the French" never retires German). When nothing clearly
matches, nothing is retired: a guess would take away what the person still wants. What only the classifier takes for
taking back must match more clearly. Vectors have no say here, since two instructions are always near each other. Pure
functions.
"""

# ruff: noqa: E501 (a pattern a line: broken over several it cannot be read)
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from governance.adherence.languages import ANY_NAME, CODES
from governance.instruction_rules import plain
from governance.instructions import Instruction, Recognised
from retrieval.tokens import tokenize


@dataclass(frozen=True, slots=True)
class Amendment:
    """What to do: retire these, and put `text` in force (None: nothing new). With one retired it takes its place."""

    retired: tuple[Instruction, ...] = ()
    text: str | None = None


def amendment(asked: Recognised, active: Sequence[Instruction], round: int) -> Amendment:
    """What a recognised sentence of `round` does to the active instructions (oldest first)."""
    match asked.action:
        case "add":
            return Amendment(text=asked.text)
        case "retire":
            done = Amendment(retired_by(asked.text, active, by_rule=asked.rule is not None))
        case "replace":
            done = _replaced(asked.text, active)
        case "narrow":
            done = _narrowed(asked.text, active, round)
        case "refuse":
            return Amendment()
    if not done.retired and asked.or_add:
        return Amendment(text=asked.text)
    return done


# -- which one is meant -----------------------------------------------------------------------------------------------


def retired_by(sentence: str, active: Sequence[Instruction], by_rule: bool = True) -> tuple[Instruction, ...]:
    """The active instructions that a retiring `sentence` speaks of: all when it says so ("all my instructions"), else
    the one it clearly matches, the newest of equals.

    None when it matches nothing, so that nothing is retired by guessing. Without a rule's word for taking back "all the
    requirements" may be anybody's, and one shared word may be chance.
    """
    if by_rule and _ALL.search(sentence):
        return tuple(active)
    meant = meant_by(sentence, active, least=1 if by_rule else 2)
    return (meant,) if meant else ()


def meant_by(sentence: str, active: Sequence[Instruction], values: bool = True, least: int = 1) -> Instruction | None:
    """The active instruction that `sentence` speaks of; with `values` its values must not be others than it names.

    One speaks of the same subject, or shares at least so many words.
    """
    said = plain(sentence)
    words, subjects = set(tokenize(said)) - _GENERAL, subjects_of(said)
    best: tuple[int, int, int] = (0, 0, 0)
    meant = None
    for place, item in enumerate(active):
        text = plain(item.text)
        if values and _other_value(said, text, subjects):
            continue
        shared_subjects = len(subjects & subjects_of(text)) + _same_language(said, text)
        score = (shared_subjects, len(words & set(tokenize(text))), place)
        if (score[0] or score[1] >= least) and score > best:
            best, meant = score, item
    return meant


def subjects_of(text: str) -> frozenset[str]:
    """What an instruction, or a sentence about one, is about: names of `SUBJECTS`."""
    found = {name for name, pattern in SUBJECTS if pattern.search(text)}
    if _languages(text):
        found.add("language")
    return frozenset(found)


SUBJECTS = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("length", r"\b(?:length|words? limit|limit on (?:words|length)|(?:\d+|hundred|two|three|four|five|one) (?:words?|sentences?|characters?|paragraphs?)|brief|shorter|short|(?<!no )(?<!any )longer)\b|字数|长度|篇幅|句话|[\d一二两三四五六七八九十百]个?字|简短|长短|写长|短一点"),
        ("start", r"\b(?:start|begin|open)(?:s|ing)?\b.{0,20}\b(?:with|by)\b|\bstart(?:ing)? (?:all|every)|开头|开始都|以.{1,12}开"),
        ("end", r"\b(?:end|finish|close|sign off)(?:s|ing)?\b.{0,20}\b(?:with|by|on)\b|结尾|末尾|最后都"),
        ("emoji", r"\bemo(?:jis?|ticons?)\b|\bsmileys?\b|表情"),
        ("commas", r"\bcommas?\b|逗号"),
        ("exclamation", r"\bexclamation\b|感叹号"),
        ("bullets", r"\bbullets?\b|\bbullet points?\b|列表|要点|分点"),
        ("tables", r"\btables?\b|表格"),
        ("json", r"\bjson\b"),
        ("markdown", r"\bmarkdown\b"),
        ("case", r"\b(?:lower|upper)[ -]?case\b|\bcaps\b|\bcapital letters?\b|小写|大写"),
        ("language", r"\blanguage\b|语言"),
        ("address", r"\b(?:call|address|refer to)(?:ing)? me\b|\bnickname\b|\bmy (?:last |first |full )?name\b|叫我|称呼"),
        ("rhyme", r"\brhym\w+|押韵"),
        ("role", r"\b(?:act|talk|speak|pretend|play)(?:ing)? (?:like|as|to be)\b|\brole(?:-?play)?\b|扮演|角色|演"),
        ("sources", r"\bsources?\b|\bcit(?:e|ing|ations?)\b|出处|来源"),
        ("examples", r"\bexamples?\b|例子|举例"),
        ("question", r"\bquestions?\b|反问|以问题"),
        ("honorific", r"敬语|“?您”?(?=称呼)"),
        ("slang", r"\bslang\b|网络(?:流行)?用语|流行语"),
        ("tone", r"\btone\b|\b(?:in)?formal\b|\bcasual\b|\bpolite\b|语气|口吻|正式|口语化"),
        ("apology", r"\bapolog\w+|\bsorry\b|道歉|对不起|抱歉"),
        ("units", r"\b(?:metric|imperial|celsius|fahrenheit|units?)\b|公制|英制|摄氏|华氏|单位"),
    )
)  # fmt: skip

_LANGUAGE = re.compile(ANY_NAME, re.IGNORECASE)
_NUMBER = re.compile(r"\d+|[一二两三四五六七八九十百千]{1,6}(?=个?(?:字|句|段|条))")
_UNIT = re.compile(
    r"(?:\d+|\b(?:one|two|three|four|five|ten|hundred))[- ](words?|sentences?|characters?|paragraphs?|lines?)\b"
    r"|(?:\d+|[一二两三四五六七八九十百千]+)个?(字|句|段|条|行)",
    re.IGNORECASE,
)
_ARGUMENT = re.compile(
    r"\b(?:start|begin|end|finish)(?:s|ing)? (?:\w+ ){0,3}(?:with|on|in) (?:the (?:letter|words?|phrase) )?(?P<edge>.+?)[.!]?$"
    r"|\b(?:call|address)(?:ing)? me (?:as )?(?P<name>[\w' -]+?)(?: (?:any ?more|any longer|again|now|please))*[.!]?$"
    r"|(?:叫我|称呼我为?|喊我)(?P<zh>[^了吧，。！\s]+)|以(?P<zhedge>[^，。]+?)(?:开头|结尾)",
    re.IGNORECASE,
)


def _languages(text: str) -> set[str]:
    return {CODES[found.lower()] for found in _LANGUAGE.findall(text) if found.lower() in CODES}


def _same_language(said: str, text: str) -> int:
    """1 when the same language is named, be it by its English or its Chinese name."""
    return int(bool(_languages(said) & _languages(text)))


def _other_value(said: str, text: str, subjects: frozenset[str]) -> bool:
    """Whether the sentence names a value (a language, a number, a name) that is not the instruction's."""
    languages = _languages(said)
    if languages and _languages(text) and not languages & _languages(text):
        return True
    numbers, theirs = set(_NUMBER.findall(said)), set(_NUMBER.findall(text))
    if numbers and theirs and not numbers & theirs and "length" in subjects:
        return True
    for match in _ARGUMENT.finditer(said):
        argument = next(filter(None, match.groups()), "").strip("\"'“”「」 ").casefold()
        known = {"question", "a question", "questions", "问题", "it", "that"}
        words = set(tokenize(argument))
        if argument in known or not words or not subjects & subjects_of(text):
            continue
        if not words & set(tokenize(text)) and argument not in text.casefold():
            return True
    return False


_ALL = re.compile(
    r"\b(?:all|every one)(?: of)? (?:my |the |your |these |those )?(?:\w+ )?(?:instruction|rule|request|requirement)s\b"
    r"|(?:所有|全部|一切)(?:的)?.{0,8}(?:要求|指令|规则|限制|指示)",
    re.IGNORECASE,
)


# Words that any retiring or any instruction may hold: sharing only these means nothing.
_GENERAL = frozenset(
    tokenize(
        "stop forget ignore drop cancel instruction rule limit request requirement need longer earlier please always "
        "never every again anymore answer reply respond response message use using say call speak write start end "
        "talk tell told said make style future keep begin fine allowed enough back normal only instead want letter "
        "the a an to of in with my me you your i it that this is are be for on from now and all any no not do don't "
        "what who when whenever if as at by about have has can may must should will "
        "取消 忘掉 忘记 忽略 撤销 去掉 要求 指令 规则 限制 之前 不用 不必 需要 不要 再用 再叫 叫我 称呼我 请用 请叫 "
        "以后 现在 可以 每次 都用 始终 回答 回复 说话 使用 恢复 正常 原来 的 了 吧 我 你 请 用 叫 说 都 在 是 要 别 再 不 那 那个 那条 这 这个"
    )
)

# -- other values, and occasions ----------------------------------------------------------------------------------------

# What comes before the old value when both are named; behind it the old value stands.
_OLD = re.compile(
    r"\b(?:instead of|rather than|and not)\b|, not\b|(?:[，,]\s*)?(?:而不是|不是|不要|别用)", re.IGNORECASE
)
_NEW = re.compile(
    r"\bto\b|\bis now\b|改成|改为|换成|调整为|调到|调成|放宽到|缩短到|变成|提高到|降到|减到|增加到|改用|改叫我|改称呼我",
    re.IGNORECASE,
)


def _replaced(sentence: str, active: Sequence[Instruction]) -> Amendment:
    """The instruction of the same subject with its value exchanged; nothing when none is clearly meant."""
    said = plain(sentence)
    new, old = _new_and_old(said)
    if old is not None:
        # The old value says which one is meant: "100 words instead of 200".
        meant = meant_by(old, [item for item in active if _names(item.text, old)])
    else:
        subjects = subjects_of(said) - {"tone"}
        meant = meant_by(said, [item for item in active if subjects & subjects_of(plain(item.text))], values=False)
    if meant is None:
        return Amendment()
    text = _exchanged(meant.text, new, old) or f"{_bare(meant.text)} ({_bare(sentence)})"
    # What is asked for holds already.
    return Amendment((meant,), text) if text != meant.text else Amendment()


def _new_and_old(said: str) -> tuple[str, str | None]:
    """The part of a sentence that names the new value, and the part that names the old one."""
    if match := _OLD.search(said):
        before, after = said[: match.start()], said[match.end() :]
        # 不是二十字，是一百字: the old value comes first.
        if not before.strip() and re.search(r"[，,]", after):
            after, before = re.split(r"[，,]", after, maxsplit=1)
        return before, after
    if match := _NEW.search(said):
        return said[match.end() :], None
    return said, None


def _names(text: str, old: str) -> bool:
    """Whether an instruction has the old value: its number, its language or its words."""
    numbers = set(_NUMBER.findall(old))
    if numbers:
        return bool(numbers & set(_NUMBER.findall(plain(text))))
    if languages := _languages(old):
        return bool(languages & _languages(plain(text)))
    return bool(set(tokenize(old)) - _GENERAL and set(tokenize(old)) - _GENERAL <= set(tokenize(plain(text))))


def _exchanged(text: str, new: str, old: str | None) -> str | None:
    """The instruction's words with its one number, language or name exchanged; None when there is not just one.

    None too when the numbers count different things: three sentences are not a hundred words.
    """
    counted, now = _units(text), _units(new)
    if counted and now and counted != now:
        return None
    for pattern in (_NUMBER, _LANGUAGE):
        theirs, fresh = pattern.findall(text), pattern.findall(new)
        if len(theirs) == 1 and len(fresh) == 1:
            return text if _same_language(fresh[0], theirs[0]) else text.replace(theirs[0], fresh[0], 1)
    named = re.search(r"\b(?:call|address) me (?:as )?(?P<name>[\w' -]+?)\s*[.!]?$", new, re.IGNORECASE)
    if named and old is not None and old.strip(" .!。").casefold() in text.casefold():
        return re.sub(re.escape(old.strip(" .!。")), lambda match: named["name"], text, count=1, flags=re.IGNORECASE)
    return None


def _units(text: str) -> set[str]:
    """What the numbers of a text count."""
    return {next(filter(None, found)).lower().rstrip("s") for found in _UNIT.findall(text)}


def _narrowed(sentence: str, active: Sequence[Instruction], round: int) -> Amendment:
    """The instruction that is spoken of with its occasion behind it; without a word on which, the one just given."""
    subjects = subjects_of(plain(sentence))
    meant = meant_by(sentence, active) if subjects or _SPEAKS_OF.search(sentence) else None
    if meant is None and not subjects and active and active[-1].round >= round - 1:
        meant = active[-1]
    if meant is None:
        return Amendment()
    return Amendment((meant,), f"{_bare(meant.text)} ({_bare(sentence)})")


# "That rule only applies to recipes" names no instruction, "the word limit only applies to recipes" does.
_SPEAKS_OF = re.compile(
    r"\b(?:limit|rule|language|tone|length|emojis?|tables?|call|english|french)\b|字数|语言|语气|表情|称呼",
    re.IGNORECASE,
)


def _bare(text: str) -> str:
    return text.strip().rstrip(".。!！")
