"""The patterns by which constraints are read from the words of an instruction, English and Chinese in one list.

Each is a regular expression over the folded text and a function from its match to constraints, or None when the words
turn out to say something else. The order matters: a stretch of text belongs to the first pattern that understands it.
"""

# A pattern is easier to read whole than in pieces.
# ruff: noqa: E501

from __future__ import annotations

import re
from collections.abc import Callable

from governance.adherence.kinds import (
    Address,
    Constraint,
    Count,
    Countable,
    Edge,
    Form,
    InLanguage,
    Mentions,
    OneOf,
    Parts,
)
from governance.adherence.languages import CODES
from governance.adherence.measure import emojis
from governance.adherence.quantities import bounds, number, quantity, suffix

Made = tuple[Constraint, ...] | None
Pattern = tuple[re.Pattern[str], Callable[[re.Match[str]], Made]]

_FOLD = str.maketrans(
    "“”„«»「」『』＂‘’，。；：！？（）０１２３４５６７８９",
    '""""""""""\'\'' + ",.;:!?()0123456789",
)


def fold(text: str) -> str:
    """A text with quotation marks, full-width signs and digits in their plain forms; every offset as it was."""
    return text.translate(_FOLD)


def _p(pattern: str, make: Callable[[re.Match[str]], Made]) -> Pattern:
    return re.compile(pattern, re.IGNORECASE), make


def _fixed(*made: Constraint) -> Callable[[re.Match[str]], Made]:
    return lambda match: made


# -- building blocks ---------------------------------------------------------------------------------------------------

_QUOTED = r"(?:\"[^\"\n]{1,200}\"|(?<!\w)'[^'\n]{1,80}'(?!\w))"
_JOIN = r"(?:\s*(?:,|、|/|;)?\s*(?:and|or|&|和|或者|或|以及|与|跟)\s*|\s*[,、/]\s*)"
# Atomic: what stands between two quotations looks like one itself, and trying both ways would take for ever.
_LIST = rf"(?>\[?{_QUOTED}(?:{_JOIN}{_QUOTED})*\]?)"
_BARE = r"[^\W_][\w'+#-]*"
_BARE_LIST = rf"{_BARE}(?:(?:\s*,\s*(?:and |or )?|\s+(?:and|or)\s+){_BARE})*"
_NOT = (
    r"(?:never|do not|don't|must not|mustn't|should not|shouldn't|should never|may not|cannot|can't|can not|avoid|"
    r"without|refrain from|stop|not allowed to|are not allowed to|not to|instead of|please no|no more|"
    r"(?:do not|don't) ever|wouldn't|not)"
)
_NO = rf"(?:{_NOT}|no|zero)"
_ZH_NOT = r"(?:不要再|不要|别再|别|不许|不准|不能|不得|不可以|不可|不应|不该|禁止|避免|切勿|请勿|勿|不再|不)"
_REPLY = r"(?:repl(?:y|ies)|answers?|responses?|messages?|outputs?|sentences?|texts?|it|them|each one|everything|posts?|emails?|letters?|stor(?:y|ies)|poems?|songs?|articles?)"
_YOUR = rf"(?:(?:all|every|each|any|your|a|the|of|my|entire|whole|future|later|this|single) )*(?:{_REPLY} |(?<=the )[a-z]+ |(?<=your )[a-z]+ )?"
_WHAT = r"(?:the |this |these |an? |exact |exactly |following |very |same |specific |capital |uppercase |lowercase |single )*"
_NOUN = r"(?:words?|phrases?|sentences?|expressions?|greetings?|texts?|keywords?|key words?|names?|terms?|lines?|titles?|questions?|characters?|signature|sign-off|prefix|suffix|tag)"
_EMOJI = r"[\U0001F000-\U0001FAFF\u2600-\u27BF\u2B50\u2764\uFE0F\u200D]+"


def _items(text: str) -> tuple[str, ...]:
    """The words or phrases that are listed in a stretch of text: the quoted ones, else those between commas."""
    quoted = re.findall(_QUOTED, text)
    if quoted:
        return tuple(item[1:-1].strip() for item in quoted if item[1:-1].strip())
    parts = re.split(r"\s*[,、]\s*(?:and |or )?|\s+(?:and|or)\s+|和|或者|或|以及", text)
    return tuple(part.strip() for part in parts if part.strip())


# -- how a reply begins and ends ---------------------------------------------------------------------------------------

# A word that stands bare behind "with" is a literal when nothing describes it: "with Hello", not "with a joke".
_DESCRIBES = re.compile(
    r"(?:an?|the|some|any|my|your|his|her|our|their|one|two|three|something|anything|what|which|how|it|this|that|no|more|"
    r"details?|care|caution|confidence|respect|humou?r|enthusiasm|examples?|answers?|bullets?|markdown|emojis?)\b",
    re.IGNORECASE,
)
_LITERAL = rf"(?:{_EMOJI}|[A-Z]\b(?!')|{_BARE}(?: {_BARE}){{0,3}}?[!:,]?(?=\s*(?:$|[.!?;,\n]|\band\b|\bin (?:all|every|each)\b|\bfrom now\b)))"
_TARGET = (
    rf"(?:(?P<letter>{_WHAT}(?:letter|character) (?P<letter_is>\"\S\"|'\S'|\S(?!\w)))"
    rf"|(?P<emoji>{_WHAT}(?:\w+ )?emojis?)(?:\s*[:(]?\s*(?P<emoji_is>{_EMOJI}))?"
    rf"|(?P<question>{_WHAT}(?:follow-up |clarifying |(?!the |this |exact )\w+ )?question(?! mark|:|\s*\"))"
    rf"|(?P<mark>{_WHAT}(?:question mark))"
    rf"|{_WHAT}(?:{_NOUN}(?: of)?\s*[:,]?\s*)?(?P<quoted>{_LIST})"
    rf"|(?:{_WHAT}{_NOUN})?\s*:\s*(?P<rest>[^\n:\"]{{2,120}}?[.!?]?)(?=\s*(?:$|\n)|(?<=[.!?])\s)"
    rf"|{_WHAT}{_NOUN}:?\s+(?P<word>(?!(?:of|that|which|in|for|to|you|i|about|and|or|on|from|with|we|is|as|like)\b){_BARE})"
    rf"|(?P<bare>{_LITERAL}))"
)
_ZH_TARGET = (
    rf"(?:(?:字母|大写字母)\s*(?P<letter_is>\"\S\"|'\S'|[A-Za-z])(?![A-Za-z])|(?:一个|某个)?(?P<emoji>表情符号|表情|emoji)"
    rf"(?:符号)?(?P<emoji_is>{_EMOJI})?|(?P<question>(?:一个)?(?:问题|问句|提问|反问))|(?P<mark>问号)"
    rf"|(?:这?个?(?:词|字|单词|短语|句子|一句|这句话?|称呼|问候语?)[::]?\s*)?(?P<quoted>{_LIST})|(?P<bare>{_EMOJI}|[A-Za-z](?![A-Za-z])))"
)


def _edge(end: str) -> Callable[[re.Match[str]], Made]:
    def make(match: re.Match[str]) -> Made:
        if _about_something(match.string[: match.start()]):
            return None
        said = match.groupdict()
        wanted = not said.get("neg") and not said.get("neg2")
        if letter := said.get("letter_is"):
            return (_at(end, (letter.strip("\"'"),), letter=True, wanted=wanted),)
        if said.get("emoji"):
            if said.get("emoji_is"):
                return (_at(end, (said["emoji_is"],), wanted=wanted),)
            return (Edge(end, any="emoji", wanted=wanted),)  # type: ignore[arg-type]
        if said.get("question") or said.get("mark"):
            if end == "start":
                return None
            return (Edge("end", any="question", wanted=wanted),)
        if said.get("quoted"):
            texts = _items(said["quoted"])
            joined = re.search(r"\band\b|和|以及", re.sub(_QUOTED, "", said["quoted"]))
            # Nothing begins with two phrases at once.
            return None if not texts or (joined and wanted) else (_at(end, texts, wanted=wanted),)
        if said.get("word") or said.get("rest"):
            return (_at(end, ((said.get("word") or said["rest"]).strip(),), wanted=wanted),)
        bare = (said.get("bare") or "").strip()
        if emojis(bare):
            return (_at(end, (bare,), wanted=wanted),)
        if not bare or _DESCRIBES.match(bare):
            return None
        if len(bare) == 1:
            return (_at(end, (bare,), letter=True, wanted=wanted),) if bare.isupper() else None
        return (_at(end, (bare,), wanted=wanted),)

    return make


def _at(end: str, texts: tuple[str, ...], *, letter: bool = False, wanted: bool = True) -> Edge:
    return Edge(end, texts, letter=letter, wanted=wanted)  # type: ignore[arg-type]


_BEGIN = r"(?:start(?:ing|s)?|begin(?:ning|s)?|open(?:ing|s)?|prefac(?:e|ing)|prefix(?:ing)?)"
_FINISH = r"(?:end(?:ing|s)?|finish(?:ing|es)?|clos(?:e|ing|es)|conclud(?:e|ing|es)|sign(?:ing)? off|wrap(?:ping)? up)"
_LINK = r"(?:off |out |up |it off |each off )?(?:(?:by (?:saying|writing|using)?|with|as|using|on)(?: (?:saying|writing))?(?: |(?=:)))"


def _nth(text: str) -> int:
    known = {"very first": 1, "first": 1, "last": -1, "final": -1, "second": 2, "third": 3, "fourth": 4, "fifth": 5,
             "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10}  # fmt: skip
    text = text.lower()
    return known[text] if text in known else number(re.sub(r"(?:st|nd|rd|th)$", "", text))


_NTH = r"(?:very first|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|final|\d+(?:st|nd|rd|th)?)"


def _paragraph(match: re.Match[str]) -> Made:
    texts = _items(match["text"]) if match["text"][0] in "\"'" else (match["text"],)
    return (Edge("start", texts, paragraph=_nth(match["nth"])),) if texts else None


_EDGES: tuple[Pattern, ...] = (
    _p(
        rf"(?:the )?(?P<nth>{_NTH}) paragraph (?:must |should |has to |shall |will |to )?(?:start|begin)s? with {_WHAT}(?:{_NOUN}:?\s*)?(?P<text>{_QUOTED}|{_BARE})",
        _paragraph,
    ),
    _p(
        rf"(?:start|begin) (?:the )?(?P<nth>{_NTH}) paragraph with {_WHAT}(?:{_NOUN}:?\s*)?(?P<text>{_QUOTED}|{_BARE})",
        _paragraph,
    ),
    _p(
        rf"(?:start|begin) paragraph (?P<nth>\d+) with {_WHAT}(?:{_NOUN}:?\s*)?(?P<text>{_QUOTED}|{_BARE})",
        _paragraph,
    ),
    _p(
        rf"paragraph (?P<nth>\d+) (?:must |should )?(?:start|begin)s? with {_WHAT}(?:{_NOUN}:?\s*)?(?P<text>{_QUOTED}|{_BARE})",
        _paragraph,
    ),
    _p(rf"(?:(?P<neg>{_NOT})\s+)?\b{_BEGIN} {_YOUR}{_LINK}{_TARGET}", _edge("start")),
    _p(
        rf"(?:the )?(?:very )?(?:first|opening|initial) (?:word|letter|character|phrase|sentence|line|thing)(?: of {_YOUR.strip()})? ?(?:you (?:say|write) )?"
        rf"(?:(?:must|should|has to|shall|will)(?P<neg> not)? be|is|to be|should read|be) {_TARGET}",
        _edge("start"),
    ),
    _p(
        rf"\b(?:put|add|use|place|write|say|include) {_WHAT}(?:{_NOUN}\s+)?(?:(?P<quoted>{_LIST})|(?P<bare>{_EMOJI})|(?P<emoji>an? (?:\w+ )?emoji)) (?:at|in) the (?:very )?(?:beginning|start|front|top)(?: of {_YOUR.strip()})?",
        _edge("start"),
    ),
    _p(
        rf"(?:(?P<neg>{_NOT})\s+)?\b{_FINISH} {_YOUR}{_LINK}{_TARGET}",
        _edge("end"),
    ),
    _p(
        rf"(?:the )?(?:very )?(?:last|final|closing|ending|end)(?: (?:word|letter|character|phrase|sentence|line|thing|words))?(?: of {_YOUR.strip()})? ?(?:you (?:say|write) )?"
        rf"(?:(?:must|should|has to|shall|will)(?P<neg> not)? (?:be|read|say)(?: exactly)?(?: like)?|is|to be|be|reads?):? ?{_TARGET}",
        _edge("end"),
    ),
    _p(
        rf"\b(?:put|add|use|place|write|say|include|append) {_WHAT}(?:{_NOUN}\s+)?(?:(?P<quoted>{_LIST})|(?P<bare>{_EMOJI})|(?P<emoji>an? (?:\w+ )?emoji)|(?P<question>an? (?:\w+ )?question)) (?:at|in|to) the (?:very )?end(?: of {_YOUR.strip()})?",
        _edge("end"),
    ),
    _p(rf"\bsign {_YOUR}(?:off )?(?:as |with |by )?{_WHAT}(?:{_NOUN}\s+)?(?P<quoted>{_LIST})", _edge("end")),
    _p(
        rf"(?P<neg>{_ZH_NOT})?(?:都|一律|必须|要)?(?:请)?(?:用|以|由|拿)\s*{_ZH_TARGET}\s*(?:来)?(?:作为|做|为)?(?:回答|回复|消息)?(?:的)?(?:开头|开始|打头|起头|开场)",
        _edge("start"),
    ),
    _p(
        rf"(?:开头|开始|句首|第一个(?:字|词|字母)|首字母)(?P<neg>{_ZH_NOT})?(?:都|必须|一律|要|应该|先)*(?:加上?|写上?|是|为|用|说|放|写一?个?|带上?)\s*{_ZH_TARGET}",
        _edge("start"),
    ),
    _p(
        rf"(?P<neg>{_ZH_NOT})?(?:都|一律|必须|要)?(?:请)?(?:用|以|由|拿)\s*{_ZH_TARGET}\s*(?:来)?(?:作为|做|为)?(?:回答|回复|消息)?(?:的)?(?:结尾|结束|收尾|结束语|末尾)",
        _edge("end"),
    ),
    _p(
        rf"(?:结尾处?|末尾|最后一句话?|最后一个(?:字|词)|句末|最后)(?P<neg>{_ZH_NOT})?(?:都|必须|一律|要|应该|再)*(?:加上?|写上?|是|为|用|说|放|问|附上|带上?)(?:一句|一个)?\s*{_ZH_TARGET}",
        _edge("end"),
    ),
)


# -- numbers -----------------------------------------------------------------------------------------------------------

_UNITS: tuple[tuple[str, Countable], ...] = (
    (r"words?(?! with| in (?:all )?(?:capital|upper))|字(?!母|典)(?:符)?|个字(?!母)|个词|单词|汉字", "words"),
    (r"(?:characters?|chars)|个字符", "characters"),
    (r"sentences?|(?:个)?句(?:子|话)?", "sentences"),
    (r"paragraphs?|(?:个)?段(?:落|话|文字)?", "paragraphs"),
    (r"lines?|行", "lines"),
    (r"bullet[- ]?points?|bullets?|(?:个|条)?(?:要点|项目符号)", "bullets"),
    (r"numbered (?:items?|points?|steps?)|(?:个)?编号", "numbered_items"),
    (r"head(?:ing|er)s?|(?:个)?小?标题", "headings"),
    (r"(?:highlighted|emphasi[sz]ed|italic)(?: text)? (?:sections?|parts?|phrases?)|highlights?", "highlights"),
    (r"sections?|(?:个)?部分", "sections"),
    (
        r"placeholders?(?: (?:represented by|in|with) square brackets)?(?:,? (?:such as|like|e\.g\.) (?:\[[^\]\n]+\](?:,| and| or)? ?)+)?|(?:个)?占位符",
        "placeholders",
    ),
    (r"emojis?|emoticons?|(?:个)?表情(?:符号)?", "emojis"),
    (r"hashtags?|(?:个)?话题标签", "hashtags"),
    (r"(?:follow-up )?questions?(?! marks?)|(?:个)?问题", "questions"),
    (r"question marks?|(?:个)?问号", "question_marks"),
    (r"exclamation (?:marks?|points?)|(?:个)?感叹号|(?:个)?叹号", "exclamation_marks"),
    (r"commas?|(?:个)?逗号", "commas"),
    (r"code blocks?|(?:个)?代码块", "code_blocks"),
    (r"links?|urls?|(?:个)?链接", "links"),
    (r"tables?|(?:个)?表格", "tables"),
)
_UNIT = "(?:" + "|".join(f"(?P<u_{of}>{pattern})(?![a-z])" for pattern, of in _UNITS) + ")"


def _unit(match: re.Match[str]) -> Countable:
    return next(of for _, of in _UNITS if match[f"u_{of}"] is not None)


def _counted(match: re.Match[str]) -> Made:
    found = bounds(match, "n")
    if found is None:
        return None
    of, said = _unit(match), match.groupdict()
    exact = said.get("n_exact") is not None
    bare = said.get("n_number") is not None and not any(
        value for key, value in said.items() if key.startswith("n_") and key not in ("n_number", "n_low", "n_high")
    )
    # "A question" and "one emoji" without more are counted elsewhere or mean nothing to count.
    if bare and said["n_number"].lower() in ("a", "an"):
        return None
    least, most = found
    if of in ("words", "characters") and bare and not exact and least > 10:
        # Nobody who asks for a reply of 300 words counts them: about as many.
        least, most = round(least * 0.8), round(least * 1.2)
    if not re.match(r"\s*$", match.string[: match.start()]) and _about_something(match.string[: match.start()]):
        return None
    if least == 0 and most is None:
        return None
    if of == "sections":
        return _marked_sections(match.string, least, most)
    return (Count(of, least, most),)


def _marked_sections(text: str, least: int, most: int | None) -> Made:
    """Sections can be counted when the instruction says how they are marked, by a label or by a rule between them."""
    if re.search(r"\*\*\*|asterisk", text):
        return (Count("paragraphs", least, most),)
    if re.search(r"\b(?:section|part|chapter|day|paragraph)\s+(?:x|i|1)\b|第[一1x]", text, re.IGNORECASE):
        return (Count("sections", least, most),)
    return None


def _about_something(before: str) -> bool:
    """Whether what is counted is not the reply's: each sentence, a word's letters, the first paragraph."""
    return (
        re.search(
            r"\b(?:the (?:first|last|next|previous)|my|every|each|per|of these|those|after|every other|not)\s*$|\b(?:each|every) (?!repl|answ|resp|mess|outp|one\b)[a-z]+ (?:should|must|has|have|needs?|to|can|will|with|of|in|is|be|contain\w*|hav\w+|only|,| )*$|每(?:一)?$|第$|前$|每(?:个|一个)?(?:段落|句子|句话|段|要点)[^,.;]{0,6}$",
            before,
            re.IGNORECASE,
        )
        is not None
    )


def _capital_words(match: re.Match[str]) -> Made:
    found = bounds(match, "n")
    return None if found is None else (Count("capital_words", *found),)


_ADJECTIVES = r"(?:(?:very|short|long|brief|different|distinct|simple|full|complete|concise|markdown|single|small|numbered|unique|clear|well-written|english|chinese|pairs? of|square|text|total|such|or so|key|main|individual)\s+){0,3}"
_CAPITALS = r"(?:all[- ]?(?:capital(?:ized)?|caps|uppercase)|all capital letters|capital(?:ized)? letters|capitalized|uppercase)"
_CAPITAL_WORDS = rf"(?:(?:all[- ]caps?|such capitalized|stress) words|(?:all[- ])?(?:fully )?(?:capital(?:ized)?|uppercase|all[- ]caps?)(?: letters)? words?|words? (?:with|in|written in|that are|having|of) (?:all )?(?:the )?{_CAPITALS}(?: letters)?)"
_TIMES = rf"(?:for )?(?:{quantity('n')}(?:{suffix('n')})? times?{suffix('n2')}|(?P<once>(?:at (?:most|least) |no more than |more than |less than |fewer than |only |exactly )?(?:once|twice)(?: or (?:more|less|fewer))?))"


def _capital_times(match: re.Match[str]) -> Made:
    found = _times(match)
    return None if found is None else (Count("capital_words", *found),)


def _times(match: re.Match[str]) -> tuple[int, int | None] | None:
    """How often something is to stand in a reply, from the groups of `_TIMES`."""
    once = match["once"]
    if once:
        once = once.lower()
        value = 2 if "twice" in once else 1
        if "less than" in once or "fewer than" in once:
            return (0, value - 1)
        if "most" in once or "no more" in once or "or less" in once or "or fewer" in once:
            return (0, value)
        if "more than" in once:
            return (value + 1, None)
        return (value, value if "only" in once or "exactly" in once else None)
    found = bounds(match, "n")
    if found is None:
        return None
    least, most = found
    if match["n2_plus"]:
        return (least, None)
    if match["n2_atmost"]:
        return (0, most)
    # "Use it 3 times" asks for three, and a fourth would not be forgiven: as said.
    return (least, most)


_CAPITAL: tuple[Pattern, ...] = (
    _p(
        rf"{quantity('n')}\s+(?:or (?P<more>more)\s+)?(?:such |different )?{_CAPITAL_WORDS}{suffix('n3')}",
        _capital_words,
    ),
    _p(
        rf"{quantity('n')}\s+(?:or (?P<more>more)\s+)?words?(?: (?:should|must|to|that))? (?:be )?(?:in|with) {_CAPITALS}",
        _capital_words,
    ),
    _p(
        rf"{_CAPITAL_WORDS}(?: [\w' ]{{0,40}}?)?(?: (?:should|must|to|is|are|shall|need to|can|may))?(?: (?:only|be limited|limited|appear|occur|show up|be used|used|be|to))* {_TIMES}",
        _capital_times,
    ),
    _p(rf"(?:number of )?{_CAPITAL_WORDS}(?: [\w' ]{{0,30}}?)? (?:to|be) {quantity('n')}(?![\w-])", _capital_words),
    _p(
        rf"\b(?:use|using|with|include|add|have|put) (?:some |a few |several |stress )?{_CAPITAL_WORDS}",
        _fixed(Count("capital_words", 1)),
    ),
)
_NUMBERS: tuple[Pattern, ...] = (
    # "A 300-word summary", "three-sentence answers".
    _p(
        rf"{quantity('n')}(?P<plus>\+)?[- ](?P<of>word|sentence|paragraph|line|character|bullet[- ]point(?!s)|bullet(?!s?[- ]point))(?:s|-)?(?= \w)(?<!s)",
        lambda match: _compound(match),
    ),
    _p(
        rf"{quantity('n')}\s*{suffix('n')}\s*(?:的)?\s*{_ADJECTIVES}{_UNIT}{suffix('n3')}",
        lambda match: _suffixed(match),
    ),
    _p(
        rf"(?:total )?number of {_ADJECTIVES}{_UNIT}[\w ,]{{0,30}}? (?:should be|must be|to|is|be|of) {quantity('n')}{suffix('n3')}(?![\w-])",
        lambda match: _suffixed(match),
    ),
    _p(
        rf"(?:字数|篇幅|长度)(?:要|应|应该|必须|请|保持|都)?(?:控制)?(?:在)?\s*{quantity('n')}\s*(?:个)?(?:汉)?字?(?P<u_words>)(?:符)?{suffix('n3')}",
        lambda match: _zh_length(match),
    ),
    _p(
        r"\b(?:in|with|using|use|only|be|just)? ?(?:a |one |single )+(?P<of>word|sentence|paragraph|line)(?: answers?| replies?| repl(?:y|ies)| responses?)?(?: only| long)?(?! \w*(?:of|about|from|that|every|each)\b)",
        lambda match: (Count(_unit_named(match["of"]), 1, 1),) if _one(match) else None,
    ),
)


def _one(match: re.Match[str]) -> bool:
    if _about_something(match.string[: match.start()]):
        return False
    return (
        re.search(r"\b(?:one|single)\b", match[0], re.IGNORECASE) is not None
        or re.match(r"(?:in|with|using) a (?:word|sentence)", match[0], re.IGNORECASE) is not None
    )


def _unit_named(singular: str) -> Countable:
    names: dict[str, Countable] = {
        "word": "words",
        "sentence": "sentences",
        "paragraph": "paragraphs",
        "line": "lines",
        "character": "characters",
    }
    return names.get(singular.lower(), "bullets")


def _compound(match: re.Match[str]) -> Made:
    found = bounds(match, "n")
    if found is None:
        return None
    of = _unit_named(match["of"])
    least, most = found
    if match["plus"]:
        return (Count(of, least),)
    if least == most and of in ("words", "characters") and least > 10:
        return (Count(of, round(least * 0.8), round(least * 1.2)),)
    return (Count(of, least, most),)


def _suffixed(match: re.Match[str]) -> Made:
    said = match.groupdict()
    made = _counted(match)
    if made is None:
        return None
    (count,) = made
    assert isinstance(count, Count)
    value = said.get("n_number")
    if value is not None and said.get("n3_plus"):
        return (Count(count.of, number(value)),)
    if value is not None and said.get("n3_atmost"):
        return (Count(count.of, 0, number(value)),)
    if value is not None and said.get("n3_near"):
        return (Count(count.of, round(number(value) * 0.8), round(number(value) * 1.2)),)
    return made


def _zh_length(match: re.Match[str]) -> Made:
    found = bounds(match, "n")
    if found is None:
        return None
    least, most = found
    if match["n3_plus"]:
        return (Count("words", most or least),)
    if match["n3_atmost"]:
        return (Count("words", 0, most),)
    if match["n3_near"] or (least == most and least > 10):
        return (Count("words", round(least * 0.8), round((most or least) * 1.2)),)
    return (Count("words", least, most),)


# -- words -------------------------------------------------------------------------------------------------------------

_SAY = r"(?:us(?:es?|ing)|say(?:s|ing)?|mention(?:s|ing)?|includ(?:es?|ing)|contain(?:s|ing)?|writ(?:e|ing)|utter(?:ing)?|repeat(?:ing)?|add(?:ing)?|insert(?:ing)?|ha(?:ve|ving)|work in)"
_IN_REPLY = rf"(?: (?:anywhere )?(?:in|of|from|throughout|to) {_YOUR.strip()}?)?"
_WORDS_OF = (
    rf"{_WHAT}(?:key ?words?|words?|phrases?|terms?|expressions?|names?|emojis?|sentences?|characters?|greetings?)"
)
_PUNCTUATION: dict[str, str] = {
    "comma": ",", "period": ".", "question mark": "?", "exclamation mark": "!", "exclamation point": "!",
    "hash symbol": "#", "asterisk": "*",
}  # fmt: skip


def _forbidden(match: re.Match[str]) -> Made:
    texts = _items(match["list"])
    return (Mentions(texts, 0, 0),) if texts else None


def _required(match: re.Match[str]) -> Made:
    texts = _items(match["list"])
    if not texts:
        return None
    least, most = (_times(match) or (1, None)) if "once" in match.groupdict() else (1, None)
    return (Mentions(texts, least, most),)


def _letters(match: re.Match[str]) -> Made:
    found = _times(match)
    if found is None:
        return None
    letter = match["letter"].strip("\"'")
    return (Mentions((letter,), *found, letter=True),)


def _no_letter(match: re.Match[str]) -> Made:
    return (Mentions((match["letter"].strip("\"'"),), 0, 0, letter=True),)


_APPEARS = r"(?:should|must|shall|has to|have to|needs? to|to|is to|will|can|may|could)?(?: only)? ?(?:appear|occur|be used|be included|show up|be mentioned|be present|come up|used|appears|mentioned)"
_NOT_APPEARS = r"(?:(?:should|must|shall|may|can|do|does|are|is|will)(?: ?not|n't| never)|can't) (?:be )?(?:in (?:the|your) |appear|occur|used|be used|included|mentioned|show up|present|allowed|come up|contained)"
_LETTER = r"(?:\"[^\"\s]\"|'[^'\s]'|[a-z#!?&@%*](?!\w))"
_WORDS: tuple[Pattern, ...] = (
    _p(
        rf"{_WHAT}(?:letter|character|symbol) (?P<letter>{_LETTER})(?: only)? {_APPEARS}{_IN_REPLY},? ?{_TIMES}",
        _letters,
    ),
    _p(rf"\b{_SAY} {_WHAT}letter (?P<letter>{_LETTER}) {_TIMES}", _letters),
    _p(rf"(?:{_NOT}) {_SAY} {_WHAT}letter (?P<letter>{_LETTER})", _no_letter),
    _p(rf"{_WHAT}letter (?P<letter>{_LETTER}) {_NOT_APPEARS}", _no_letter),
    _p(rf"{_TIMES} (?:the )?letter (?P<letter>{_LETTER})", _letters),
    _p(rf"{_WORDS_OF}:? (?P<list>{_LIST}|{_BARE_LIST}) {_NOT_APPEARS}{_IN_REPLY}", _forbidden),
    _p(rf"(?P<list>{_LIST}) {_NOT_APPEARS}{_IN_REPLY}", _forbidden),
    _p(
        rf"(?:{_NOT})(?: (?:ever|to))? (?:{_SAY} )(?:any of )?{_WORDS_OF}:? (?P<list>{_LIST}|{_BARE_LIST}){_IN_REPLY}(?: again| anymore| any more)?",
        _forbidden,
    ),
    _p(
        rf"(?:{_NOT})(?: (?:ever|to))? (?:{_SAY} )(?P<list>{_LIST}){_IN_REPLY}(?: again| anymore| any more)?",
        _forbidden,
    ),
    _p(
        rf"(?:{_NOT})(?: ever)? say(?:ing)? (?P<list>(?!sorry for|things|anything|nothing|that|what|more|it\b|too){_BARE}(?: or {_BARE})*)(?=\s*(?:$|[.!?;,]|again|any ?more|to me|in |from ))(?: again| any ?more| to me)?",
        _forbidden,
    ),
    _p(
        rf"(?:avoid|without|exclude|ban|leave out|skip|drop|omit) {_WORDS_OF}:? (?P<list>{_LIST}|{_BARE_LIST}){_IN_REPLY}",
        _forbidden,
    ),
    _p(rf"(?:avoid|without|no) (?:{_SAY} )?(?:{_WORDS_OF}:? )?(?P<list>{_LIST})", _forbidden),
    _p(rf"(?:avoid|without|exclude|ban|leave out|omit) (?P<list>{_LIST})", _forbidden),
    _p(
        rf"{_WORDS_OF}:? (?P<list>{_LIST}|{_BARE}) (?:is|are) (?:forbidden|banned|prohibited|not allowed|off limits|taboo)",
        _forbidden,
    ),
    _p(rf"\b{_SAY} (?:all of |each of |both )?{_WORDS_OF}:? (?P<list>{_LIST}|{_BARE}),? {_TIMES}", _required),
    _p(rf"{_WORDS_OF} (?P<list>{_LIST}|{_BARE}) {_APPEARS}{_IN_REPLY},? ?{_TIMES}", _required),
    _p(rf"\b(?:{_SAY} )?(?P<list>{_QUOTED}),? {_TIMES}", _required),
    _p(rf"{_WORDS_OF} (?P<list>{_LIST}|{_BARE}),? {_TIMES}", _required),
    _p(rf"\b{_SAY} (?:all of |each of |both )?{_WORDS_OF}:? (?P<list>{_LIST}){_IN_REPLY}", _required),
    _p(rf"\b(?:{_SAY} )(?:all of |each of |both )?{_WHAT}(?:key ?word|word) (?P<list>{_BARE}){_IN_REPLY}", _required),
    _p(
        rf"\b{_SAY} (?:all of |each of |both )?{_WHAT}(?:key ?words|words):? (?P<list>{_BARE_LIST}){_IN_REPLY}",
        _required,
    ),
    _p(rf"{_WORDS_OF} (?P<list>{_LIST}|{_BARE_LIST}) {_APPEARS}{_IN_REPLY}", _required),
    _p(rf"\b(?:{_SAY}) (?P<list>{_LIST}) (?:somewhere )?(?:in|at least once in) {_YOUR.strip()}", _required),
    _p(
        rf"{_ZH_NOT}(?:再)?(?:出现|使用|用到|用|说|提到|提及|提|写|包含|含有|讲)(?:这个|这些|以下|下列|任何)?(?:词语?|字|单词|短语|字眼|话)?[::]?\s*(?P<list>{_LIST})(?:这个|这些|这几个|这两个)?(?:词语?|字|单词|短语|字眼|话)?",
        _forbidden,
    ),
    _p(
        rf"(?:必须|要|请|务必|都要|都|记得)?(?:包含|包括|出现|使用|用上|用到|提到|含有|带上|说|用)(?:这个|这些|以下|下列|关键)?(?:词语?|字|单词|短语|关键词)?[::]?\s*(?P<list>{_LIST})(?:这个|这些|这几个|这两个)?(?:词语?|字|单词|短语)?(?P<zh>{quantity('n')}次{suffix('n3')})?",
        lambda match: _zh_required(match),
    ),
)


def _zh_required(match: re.Match[str]) -> Made:
    texts = _items(match["list"])
    if not texts:
        return None
    found = bounds(match, "n") if match["zh"] else (1, None)
    if found is None:
        return None
    return (Mentions(texts, found[0], None if match["zh"] and match["n3_plus"] else found[1]),)


# -- things that must or must not be there -----------------------------------------------------------------------------

_THINGS: tuple[tuple[str, Countable], ...] = (
    (r"emojis?|emoticons?|smileys?|表情符号|表情|emoji", "emojis"),
    (r"exclamation (?:marks?|points?)|感叹号|叹号", "exclamation_marks"),
    (r"question marks?|问号", "question_marks"),
    (r"(?:follow-up |clarifying |more |any )?questions?|反问|问题|问句", "questions"),
    (r"commas?|逗号", "commas"),
    (r"semi-?colons?|分号", "semicolons"),
    (r"colons?|冒号", "colons"),
    (r"em[- ]?dash(?:es)?|dash(?:es)?|破折号", "dashes"),
    (r"parenthes[ei]s|brackets?|括号", "brackets"),
    (r"quotation marks?|quotes|引号", "quotation_marks"),
    (r"full stops?|periods?|句号", "full_stops"),
    (r"ellips[ei]s|省略号", "ellipses"),
    (r"punctuation(?: marks?)?|标点(?:符号)?", "punctuation"),
    (r"numbers|digits|numerals|数字", "digits"),
    (r"bullet(?:ed)?[- ]?(?:points?|lists?)|bullets?|项目符号|无序列表|要点(?:列表)?", "bullets"),
    (r"numbered (?:lists?|items|points|steps)|ordered lists?|编号列表|有序列表|编号", "numbered_items"),
    (r"tables?|表格", "tables"),
    (r"(?:markdown )?head(?:ing|er)s?|小?标题", "headings"),
    (r"bold(?:face)?(?: text| type| words| font)?|粗体|加粗", "bold"),
    (r"code[- ]?blocks?|代码块", "code_blocks"),
    (r"hashtags?|话题标签", "hashtags"),
    (r"links?|urls?|hyperlinks?|链接", "links"),
    (r"placeholders?|占位符", "placeholders"),
    (r"postscripts?|附言", "postscripts"),
)
_THING = "(?:" + "|".join(f"(?P<t_{of}>{pattern})(?![a-z])" for pattern, of in _THINGS) + ")"
_THING2 = _THING.replace("(?P<t_", "(?P<s_")


def _things(match: re.Match[str], prefix: str = "t") -> tuple[Countable, ...]:
    return tuple(of for _, of in _THINGS if match.groupdict().get(f"{prefix}_{of}") is not None)


def _none_of(match: re.Match[str]) -> Made:
    return tuple(Count(of, 0, 0) for of in (*_things(match), *_things(match, "s")))


def _some_of(match: re.Match[str]) -> Made:
    found = (*_things(match), *_things(match, "s"))
    # There is punctuation in every reply: whoever asks for it means something else.
    return None if "punctuation" in found else tuple(Count(of, 1) for of in found)


_ANY = r"(?:any |a single |a |an |the |too many |lots of |more |so many |even one )*"
_FORBID = r"(?:us(?:e|ing)|includ(?:e|ing)|contain(?:ing)?|hav(?:e|ing)|add(?:ing)?|put(?:ting)?|insert(?:ing)?|writ(?:e|ing)|ask(?:ing)?(?: me)?|employ(?:ing)?)"
_TWO = rf"{_THING}(?: (?:or|and|nor) {_ANY}{_THING2})?"
_PUT: tuple[Pattern, ...] = (
    _p(
        rf"(?:{_NOT})(?: (?:ever|to))? (?:{_FORBID} )?(?:in |as |with )?{_ANY}(?:use of )?{_TWO}(?: (?:at all|anymore|any more|anywhere|again))?",
        _none_of,
    ),
    _p(
        rf"\b(?:no|zero) {_TWO}(?: (?:at all|whatsoever|please|are allowed|allowed|should be used|may be used|should appear))?",
        _none_of,
    ),
    _p(rf"{_THING} (?:are|is) (?:forbidden|banned|prohibited|not allowed|not permitted)", _none_of),
    _p(rf"{_THING}[- ]free", _none_of),
    _p(
        rf"{_ZH_NOT}(?:再)?(?:使用|用|出现|加|添加|包含|有|带|问我?|提|向我提|写)(?:任何|一个|什么|太多)?{_THING}(?:(?:和|或|或者|、|以及){_THING2})?",
        _none_of,
    ),
    _p(rf"(?:无|没有|不含){_THING}", _none_of),
    _p(
        rf"(?:\b(?:use|using|include|including|add|adding|contain|containing|put|insert|with|ask|asking|answer|answering|reply|respond|format(?:ted)?|present(?:ed)?|give|write|make|structure|wrap)\b(?: me| it| them| everything| your \w+| the \w+| all \w+)?(?: (?:in|as|with|using))*|\b(?:in|as)) (?:an? |some |at least one |one |the |form of |a few |plenty of |lots of |short |clear |markdown |the form of |single |follow-up |relevant |follow-up )*{_TWO}(?: (?:format|form|style))?(?! should| must)",
        _some_of,
    ),
    _p(
        rf"(?:用|使用|以|加上?|带上?|包含|附上|列成|做成|整理成|写成)(?:一个|一些|至少一个|几个|适当的)?(?:markdown\s*)?{_THING}(?:的?(?:形式|格式|方式))?(?:来)?(?:回答|回复|列出|呈现|展示|表示|强调)?",
        _some_of,
    ),
    _p(r"(?:问我|提出?|反问我?)一个(?:后续)?(?P<t_questions>问题)", _some_of),
)

# -- the whole reply ---------------------------------------------------------------------------------------------------


def _form(form: str) -> Callable[[re.Match[str]], Made]:
    return lambda match: (Form(form),)  # type: ignore[arg-type]


def _case(form: str) -> Callable[[re.Match[str]], Made]:
    """The case of a whole reply; of one that is to be avoided, nothing is read ("not a word in lowercase")."""

    def make(match: re.Match[str]) -> Made:
        clause = re.split(r"[.;!?\n]", match.string[: match.start()])[-1]
        return None if re.search(rf"\b(?:{_NO})\b", clause, re.IGNORECASE) else (Form(form),)  # type: ignore[arg-type]

    return make


_LOWER = r"(?:lower[- ]?cases?d?|small letters|uncapitali[sz]ed)(?: english)?(?: letters?)?"
_UPPER = r"(?:upper[- ]?case(?:d)?|capital letters|all[- ]caps|capitals|caps|block capitals)\b(?: letters?)?"
_POSTSCRIPT: tuple[Pattern, ...] = (
    _p(
        r"(?:\b(?:add|include|with|write|put|have)\s+)?(?:an? |the )?(?:post ?scripts?|\bp\.\s?p\.\s?s\b\.?|\bp\.\s?s\b\.?)(?:,? (?:starting|beginning|that starts|start|which starts) with(?: the)? \"?(?:\w+ )?(?:p\.\s?)?p\.\s?s\b\.?\"?)?(?: at the (?:very )?end)?(?: of (?:your |the |every |each )*(?:reply|replies|responses?|answers?|letter|email|message)?)?",
        _fixed(Count("postscripts", 1)),
    ),
)
_CASE: tuple[Pattern, ...] = (
    _p(
        rf"(?:{_NO}) (?:{_FORBID} )?{_ANY}(?:upper[- ]?case|capital|capitali[sz]ed) (?:letters?|words?)(?: (?:at all|whatsoever|(?:are |is )?(?:allowed|permitted)))?|(?:without|no|avoid) capitali[sz]ation",
        _form("lower_case"),
    ),
    _p(
        rf"(?:{_NO}) (?:{_FORBID} )?{_ANY}(?:lower[- ]?case|small) letters?(?: (?:at all|(?:are |is )?(?:allowed|permitted)))?",
        _form("upper_case"),
    ),
    _p(
        r"\b(?:all|every|each)(?: of)?(?: the)? letters?(?: in (?:your |the )?(?:entire |whole )?\w+)? (?:should be |must be |are |is |be )(?:in )?lower[- ]?cased?",
        _form("lower_case"),
    ),
    _p(
        r"\b(?:all|every|each)(?: of)?(?: the)? letters?(?: in (?:your |the )?(?:entire |whole )?\w+)? (?:should be |must be |are |is |be )(?:in )?(?:upper[- ]?cased?|capitali[sz]ed|capitals?)",
        _form("upper_case"),
    ),
    _p(
        rf"\b(?:in |use |using |be |with |only |just |all |in all |entirely |completely |strictly |english |contain |and )+(?:only )?{_LOWER}(?: only)?",
        _case("lower_case"),
    ),
    _p(
        rf"\b(?:in |use |using |be |with |only |just |all |in all |entirely |completely |strictly |english |and )+(?:only )?{_UPPER}(?: only)?",
        _case("upper_case"),
    ),
    _p(r"(?:全部|全都|都|只|一律)?(?:用|使用|以)(?:英文)?(?:全)?小写(?:字母|英文)?", _form("lower_case")),
    _p(r"(?:全部|全都|都|只|一律)?(?:用|使用|以)(?:英文)?(?:全)?大写(?:字母|英文)?", _form("upper_case")),
)
_WHOLE: tuple[Pattern, ...] = (
    _p(
        r"(?:\bwrap(?:ped|ping)?(?: up)? |\bput |\benclosed? |\bsurround(?:ed)? |\bplace |\bbe )?(?:your |the |my |whole |entire |all |every |each |of |full |it |them |everything |reply |replies |answers? |responses? |outputs? |messages? |poem |song |story |letter |text |is |are |be |should |must |wrapped |enclosed |put )*(?:in|with|inside|between|within|by) (?:a pair of )?(?:double )?(?:quotation marks?|quotes|quote marks)",
        _form("quoted"),
    ),
    _p(
        r"(?:put |add |use )?(?:double )?quotation marks around (?:your |the |my |whole |entire |all |every |each )*(?:repl(?:y|ies)|answers?|responses?|it|messages?|outputs?)?",
        _form("quoted"),
    ),
    _p(
        r"(?:用|以)(?:双)?引号(?:把)?(?:整个)?(?:回答|回复)?(?:括起来|包起来|包住|括住|引起来)|(?:把|将)(?:整个)?(?:回答|回复)?(?:放在|用|置于)(?:双)?引号(?:里|中|内|括起来|包起来)",
        _form("quoted"),
    ),
    _p(
        r"(?:\b(?:as|in|into|with|using|use|only|valid|strictly|just|output|a|an|the|wrap\w*|format\w*|answer|respond|reply|contain)\s+)*\bjson\b(?: (?:format|object|output|block|only|form))*|(?:用|以|使用|只用|只输出|输出|返回)?\s*json\s*(?:格式|对象)?(?:来)?(?:输出|回答|回复)?",
        _form("json"),
    ),
    _p(
        rf"(?:{_NO}) (?:{_FORBID} )?{_ANY}markdown(?: (?:formatting|syntax|format))?(?: at all)?|(?:\b(?:in|use|using|as|only)\s+)*plain[- ]text(?: only)?|{_ZH_NOT}(?:使用|用)\s*markdown\s*(?:格式|语法)?|(?:用|使用|只用)?纯文本(?:格式)?",
        _form("plain_text"),
    ),
    _p(
        r"\b(?:use|using|in|with|as)(?: \w+)? markdown(?: (?:format|formatting|syntax))?(?! (?:head|table|list|title|bullet|code|bold))|(?:用|使用|以)\s*markdown\s*(?:格式|语法)?(?!\s*(?:表|标题|列表))",
        _form("markdown"),
    ),
    _p(
        r"(?:\b(?:contain|include|use|add|give|have|has|with|write|put)s?\s+)?(?:an? |the |your )?(?:\w+ )?titles?,? ?(?:must be |which is |that is |is |should be )?(?:\w+ )?(?:wrapped |enclosed |surrounded |put )?(?:in|inside|with|within|by) double angular brackets(?:,? ?(?:i\.e\.|such as|like|for example|e\.g\.)?:? ?<<[^>]*>>)?|<<[^>\n]*>>|(?:wrap|put|enclose)[\w ]{0,30} (?:in|with|inside) double angular brackets",
        _fixed(Count("titles", 1)),
    ),
    _p(
        rf"(?:\bhighlight(?:ing|/bold)?|\bemphasi[sz]e|\bitalici[sz]e|\bhave(?= [\w ]{1, 20}highlighted)) (?:\w+ )?{quantity('n')}\s*(?:or (?P<more>more)\s+)?(?:highlighted |different |key )?(?:\w+ )??(?:text )?(?:sections?|parts?|phrases?|words|titles|key \w+|important \w+|sentences|keywords)",
        lambda match: _highlights(match),
    ),
    _p(
        r"(?:two|2) (?:\w+ )?(?:different|distinct|separate)? ?(?:\w+ )?(?:responses?|answers?|versions?|\w+s)\b[^.\n]{0,80}?\.?\s*[^.\n]{0,60}separated? [^.\n]{0,60}?(?:with|by) (?:6|six) asterisk[^:*\n]{0,20}:? ?\(?(?:\*{6})?\)?",
        _fixed(Parts(2, "******")),
    ),
    _p(
        r"separated? [\w ]{0,50}?(?:with|by|using) (?:(?:6|six) asterisk(?: symbol)?s?:? ?\(?(?:\*{6})?\)?|\*{6})",
        _fixed(Parts(2, "******")),
    ),
    _p(
        rf"(?P<only>only |exactly |just )?one of (?:the )?following (?:exact )?(?:phrases|options|answers|words|sentences)?:?\s*\(?(?P<list>{_LIST})\)?",
        lambda match: _one_of(match),
    ),
    _p(
        r"(?P<only>(?:answer|reply|respond)[\w ]{0,20} )?(?:exactly )?one of (?:the )?following (?:exact )?(?:phrases|options|answers|words|sentences)?:\s*\n(?P<lines>(?:[^\n]{1,80}(?:\n|$)){2,8})",
        lambda match: _one_of_lines(match),
    ),
    _p(
        rf"\b(?P<only>(?:answer|reply|respond) (?:only |just |simply |either )?(?:with )?(?:only |just |either )?)(?P<list>(?>{_QUOTED}(?:{_JOIN}{_QUOTED})+))",
        lambda match: _one_of(match),
    ),
    _p(
        r"\b(?:answer|reply|respond) (?:only |just |simply )+(?:with )?(?P<a>yes) or (?P<b>no)\b",
        _fixed(OneOf(("yes", "no"), True)),
    ),
    _p(
        rf"(?P<only>只(?:能)?(?:用|回答|说))\s*(?P<list>(?>{_QUOTED}(?:{_JOIN}{_QUOTED})+))(?:回答|回复)?",
        lambda match: _one_of(match),
    ),
    _p(
        r"只(?:能)?(?:用|回答|说)\s*(?P<a>是|对)(?:或|或者|和)(?P<b>否|不是|不|不对)(?:回答)?",
        lambda match: (OneOf((match["a"], match["b"]), True),),
    ),
)


def _one_of(match: re.Match[str]) -> Made:
    texts = _items(match["list"])
    return (OneOf(texts, bool(match["only"])),) if len(texts) > 1 else None


def _one_of_lines(match: re.Match[str]) -> Made:
    texts = tuple(line.strip(" -*\t") for line in match["lines"].splitlines() if line.strip())
    return (OneOf(texts, bool(match["only"])),) if len(texts) > 1 else None


def _highlights(match: re.Match[str]) -> Made:
    found = bounds(match, "n")
    if found is None:
        return None
    # Highlighting more than was asked for is no fault: the number is the least, unless it is said to be the most.
    least, most = found
    return (Count("highlights", least, None if match["n_exact"] is None and least else most),)


# -- language ----------------------------------------------------------------------------------------------------------

_NAMES = "|".join(
    sorted((name for name in CODES if name.isascii() or name in ("español", "français")), key=len, reverse=True)
)
_ZH_NAMES = "|".join(
    sorted(
        (name for name in CODES if not name.isascii() and name not in ("español", "français")), key=len, reverse=True
    )
)
# What follows the name when it is the language that is meant, not an adjective ("English cuisine").
_NO_NOUN = (
    r"(?=\s*(?:$|[.,;:!?)\"\n\x1f]|(?:language|only|please|from|and|or|no|not|unless|instead|when|whenever|for|until|at|even|always|with|using|"
    r"without|if|but|to|regardless|every|all|from|while|then|in|is|too|also|as|about|by|entirely|exclusively|like)\b))"
)


def _language(match: re.Match[str]) -> Made:
    name = (match["language"] or match["language2"]).lower()
    return (InLanguage(CODES[name], wanted=not match.groupdict().get("neg")),)


_LANGUAGE: tuple[Pattern, ...] = (
    _p(
        r"\b(?:in|use) the (?:same )?language (?:that )?(?:of my (?:message|question)s?|as my (?:message|question)s?|as me|i (?:use|write(?: to you)?(?: in)?|speak|ask(?: in)?))|用(?:和|跟|与)?我(?:的)?(?:提问|消息|使用|说话|问题|所用)(?:相同|一样|同样)?的(?:语言)",
        _fixed(InLanguage(None)),
    ),
    _p(
        rf"(?P<neg>(?:{_NOT}) )(?:(?:ever )?(?:us(?:e|ing)|answer(?:ing)?|reply(?:ing)?|respond(?:ing)?|speak(?:ing)?|writ(?:e|ing)) )?(?:me |to me )?(?:in )?(?:any )?(?P<language>{_NAMES})\b{_NO_NOUN}",
        _language,
    ),
    _p(
        rf"\b(?:answer|reply|respond|write|writing|speak|talk|communicate|use|using|be|say|stick to|switch to|only|in|entirely|stay|chat)(?: (?:me|to me|with me|back|everything|it|only|to|in|all|always|entirely|exclusively|solely|use|using|just|your \w+|be|completely|fully|proper|plain|correct|standard|good|simple))*? (?:in )?(?:only )?(?:(?P<language>{_NAMES})|the (?P<language2>{_NAMES})(?= language))\b(?: language)?{_NO_NOUN}(?: only| exclusively)?",
        _language,
    ),
    _p(rf"\b(?P<language>{_NAMES}) only\b", _language),
    _p(
        rf"(?P<neg>{_ZH_NOT})(?:再)?(?:用|使用|说|讲|写|以)\s*(?P<language>{_ZH_NAMES}|{_NAMES})(?:来)?(?:回答|回复|说话|交流|写)?",
        _language,
    ),
    _p(
        rf"(?:只|都|一律|全部|改|请|始终)?(?:用|使用|说|讲|以|换成|改成)\s*(?:简体|标准)?(?P<language>{_ZH_NAMES}|{_NAMES})(?!名|歌|词|书|单词)(?:来)?(?:回答|回复|作答|说话|交流|写作|写|跟我说|和我说|跟我聊|和我聊|聊天|对话|沟通)?(?:我)?",
        _language,
    ),
)


# -- address -----------------------------------------------------------------------------------------------------------

_NAME = rf"(?:{_QUOTED}|(?:dr|mr|mrs|ms|prof)\.? {_BARE}|(?!a\b|an\b|the\b|by\b|my\b|back\b|when\b|if\b|out\b|later\b|tomorrow\b|anything\b|that\b|it\b|at\b){_BARE}(?: (?!in\b|from\b|and\b|when\b|please\b|instead\b|at\b|every\b|each\b|or\b|always\b|again\b|any\b|anymore\b|for\b|now\b|not\b|but\b){_BARE})?)"


def _address(match: re.Match[str]) -> Made:
    names = _items(match["name"])
    always = re.search(
        r"\b(?:in (?:every|each|all)|every (?:reply|answer|message|time))\b|每(?:次|句|条|个)(?:回答|回复|话|消息)?|every sentence",
        match.string,
        re.IGNORECASE,
    )
    wanted = not match["neg"]
    return (Address(names, wanted, bool(always) and wanted),) if names else None


_ADDRESS: tuple[Pattern, ...] = (
    _p(
        rf"(?:(?P<neg>{_NOT}) (?:ever )?)?\b(?:call(?:ing)? me|address(?:ing)? me (?:as|by|with)|refer(?:ring)? to me as)(?: by)?(?: my (?:name|nickname|title),?)? (?P<name>{_NAME})",
        _address,
    ),
    _p(
        rf"(?P<neg>{_ZH_NOT})?(?:再)?(?:都|就|要|一律|一直|始终)?(?:叫我(?:做|为|作)?|称呼我(?:为|作|叫)?|称我(?:为|作)?|喊我)\s*(?P<name>{_QUOTED}|(?!的|什么|一声|起床|怎么)[^\W\d_]{{1,6}}?)(?=$|[,.;!?、 ]|吧|就好|就行|好了|而|以后|不要|别|\x1f)",
        _address,
    ),
)

PATTERNS: tuple[Pattern, ...] = (
    *_POSTSCRIPT, *_EDGES, *_ADDRESS, *_CAPITAL, *_CASE, *_LANGUAGE, *_WORDS, *_WHOLE, *_NUMBERS, *_PUT,
)  # fmt: skip
