"""What the embedded model is given to continue, the grammar it continues under, and the analysis around its words.

Keeps the promise that its reply always follows the protocol: the analysis states what was measured, the model writes
the response and nothing else, and the grammar has no sign in it that could open a tag or cite a label. The analysis
copies nothing from a memory. Pure functions; knows nothing about models.

A question is answered by quoting: the model chooses which sentence of the best note to repeat, because what it writes
freely repeats the question or garbles the note (docs/decisions/0003-evidence-choice.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from arpm.generation.base import LabelledEvidence
from arpm.generation.evidence_excerpt import excerpt
from retrieval.text import Language, language, sentences, usable

CLOSING = "\n</response>"

# What a model this small adds to more than this repeats or contradicts it.
_TALK_SENTENCES = 3
_QUOTED_CHARACTERS = 200
_SENTENCE_CHARACTERS: dict[Language, int] = {"en": 200, "zh": 72}  # A Chinese character is about two tokens.


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands before, between and after quoted sentences."""

    before: str
    between: str
    after: str


_FRAMES = {
    ("en", "experience"): Frame('I remember: "', ". ", '".'),
    ("en", "knowledge"): Frame('My papers say: "', ". ", '".'),
    ("zh", "experience"): Frame("我记得：“", "。", "”。"),
    ("zh", "knowledge"): Frame("资料里写着：“", "。", "”。"),
}
_NOTED: dict[Language, Frame] = {
    "en": Frame('I will remember: "', ". ", '".'),
    "zh": Frame("我会记住：“", "。", "”。"),
}
_NO_MEMORY: dict[Language, tuple[str, ...]] = {
    "en": ("I have no memory of that.", "Nothing that I remember answers that."),
    "zh": ("我没有这方面的记忆。", "我的记忆里没有这件事。"),
}
_WELCOME: dict[Language, tuple[str, ...]] = {
    "en": ("Hello! Tell me something, and I will remember it.", "Hello! What shall I remember?"),
    "zh": ("你好！告诉我一件事，我会记住。", "你好！要我记住什么？"),
}
_EMPTY_REPLIES = frozenset(text for texts in (_NO_MEMORY, _WELCOME) for told in texts.values() for text in told)
_GREETING = re.compile(
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|你好|您好|嗨|早上好|下午好|晚上好|早安)\W*(?:\w+\W*)?",
    re.I,
)
_FIRST_PERSON = re.compile(
    r"\b(?:i|my|mine|we|our|ours|us|(?<!tell )(?<!show )(?<!give )(?<!help )me)\b", re.IGNORECASE
)
_REQUEST = re.compile(r"\W*(?:tell|remind|show|list|name|give|describe|explain|summari[sz]e)\b", re.IGNORECASE)
_ASKING = re.compile(
    r"^\W*(?:who|whose|what|where|when|why|which|how|do|does|did|is|are|was|were|can|could|will|would|have|has)\b"
    r"|^\W*(?:请|帮|告诉|讲讲|说说|介绍)|吗\W*$|呢\W*$|什么|怎么|哪[里儿个些天年]|谁|为何|几[个点岁月号次天年]|多少|多大|多久",
    re.IGNORECASE,
)
_SPEAKER = re.compile(r"^[^\n:：]{1,60}[:：] ", re.MULTILINE)

_TAGS_AND_LABELS = "<>＜＞[]【】()（）"
_ENDS = ".!?。！？；;"
_QUESTION_MARKS = "?？"
_BLANKS = " \u00a0\u3000"


def _all_but(signs: str) -> str:
    """A character class of the grammar: everything printable but `signs`.

    Written as ranges, because xgrammar lets signs beyond ASCII through a negated class.
    """
    left_out = sorted({*map(ord, signs), *range(0x7F, 0xA0), *range(0xD800, 0xE000), 0xFFFD})
    borders = zip([0x1F, *left_out], [*left_out, 0x110000], strict=True)
    return "[" + "".join(f"\\U{low + 1:08x}-\\U{high - 1:08x}" for low, high in borders if low + 1 < high) + "]"


_TO_BLANK = str.maketrans(dict.fromkeys([*_TAGS_AND_LABELS, *map(chr, range(32)), "\ufffd"], " "))
_FIRST = _all_but(_TAGS_AND_LABELS + _ENDS + _BLANKS)
_LATER = _all_but(_TAGS_AND_LABELS + _ENDS)


def response_grammar(question: str, best: LabelledEvidence | None) -> str:
    """EBNF for the response to `question`, for which `best` was chosen; None when there is no evidence.

    A question is answered from memory, and what a person tells of themselves is put down, both word for word: left
    free, the model repeats the question, garbles the note, or makes up even a quotation. Otherwise it may talk, in
    English; in Chinese it cannot.
    """
    spoken = language(question)
    bound = spoken == "zh" or bool(_FIRST_PERSON.search(question))
    if asks(question):
        quotable = _quotable(best, question, spoken) if best else []
        if best and quotable:
            return _quoting_grammar(quotable, _FRAMES[spoken, best.route])
        free = spoken == "en" and not bound and _REQUEST.match(question)
        return free_grammar(_TALK_SENTENCES) if free else _one_of(_NO_MEMORY[spoken])
    if _GREETING.fullmatch(question.strip()):
        return _one_of(_WELCOME[spoken])
    told = _telling(question, spoken) if bound else []
    return _quoting_grammar(told, _NOTED[spoken]) if told else free_grammar(_TALK_SENTENCES)


def asks(message: str) -> bool:
    """Whether a message asks something, with or without a question mark."""
    return message.rstrip().endswith(("?", "？")) or bool(_REQUEST.match(message)) or bool(_ASKING.search(message))


def tells(note: LabelledEvidence) -> bool:
    """Whether a note states anything; one that only asks, or says that nothing is known, has nothing to quote."""
    words = _words_of(note)
    spans = (words[span.start : span.end].rstrip() for span in sentences(words))
    return any(sentence and sentence[-1] not in _QUESTION_MARKS for sentence in spans)


def free_grammar(limit: int) -> str:
    """EBNF for a response of at most `limit` sentences in one paragraph, never empty."""
    # A full stop before a digit ends nothing. The blank between sentences is a piece of the next one: after an
    # optional blank of its own (`" "?`), xgrammar lets through a token of a blank and a sign that is left out.
    return f"""
root ::= {_FIRST} piece* end{" (piece+ end" * (limit - 1)}{")?" * (limit - 1)}
end ::= [{_ENDS}]
piece ::= {_LATER} | "." [0-9]
"""


def _quoting_grammar(quotable: Sequence[str], frame: Frame) -> str:
    runs = " | ".join(_run(quotable[first:], frame.between) for first in range(len(quotable)))
    return f"root ::= {_literal(frame.before)} ({runs}) {_literal(frame.after)}\n"


def _run(sentences: Sequence[str], between: str) -> str:
    """The first of `sentences`, and as many of those behind it as the model likes."""
    first, rest = _literal(sentences[0]), sentences[1:]
    return f"{first} ({_literal(between)} {_run(rest, between)})?" if rest else first


def _one_of(texts: Sequence[str]) -> str:
    return f"root ::= {' | '.join(map(_literal, texts))}\n"


def _literal(text: str) -> str:
    """`text` as a string of the grammar: every sign by its number, so that none can end the string."""
    return '"' + "".join(f"\\U{ord(sign):08x}" for sign in text) + '"'


def _quotable(best: LabelledEvidence, question: str, spoken: Language) -> list[str]:
    """The sentences of a note that may be quoted, each once, without speakers and signs a response may not hold."""
    return _telling(excerpt(_words_of(best), question, _QUOTED_CHARACTERS), spoken) if tells(best) else []


def _words_of(note: LabelledEvidence) -> str:
    return _own_words(note.text) if note.route == "experience" else note.text


def _own_words(memory: str) -> str:
    """A memory without speakers, and of the model's own replies what they quoted, or nothing when they said nothing."""
    lines = [_unframed(_SPEAKER.sub("", line)) for line in memory.splitlines()]
    return "\n".join(line for line in lines if line not in _EMPTY_REPLIES)


def _unframed(line: str) -> str:
    """A quotation of a quotation says the same with less."""
    for frame in (*_FRAMES.values(), *_NOTED.values()):
        if line.startswith(frame.before):
            return line.removeprefix(frame.before).removesuffix(frame.after)
    return line


def _telling(text: str, spoken: Language) -> list[str]:
    """The sentences of `text`, questions left out where there are others, each once and not too long."""
    note = usable(text).translate(_TO_BLANK)
    spans = list(sentences(note))
    telling = [span for span in spans if note[span.end - 1] not in _QUESTION_MARKS] or spans
    found = (note[span.start : span.end].strip(_ENDS + _BLANKS) for span in telling)
    return [_shortened(sentence, _SENTENCE_CHARACTERS[spoken]) for sentence in dict.fromkeys(found) if sentence]


def _shortened(sentence: str, limit: int) -> str:
    return sentence if len(sentence) <= limit else sentence[: limit - 1] + "…"


def best(evidence: Sequence[LabelledEvidence], ranking: Sequence[str]) -> LabelledEvidence | None:
    """The evidence that was ranked first; where nothing was ranked, what stands first; None where there is none."""
    return (
        next((item for item in evidence if item.label == ranking[0]), None) if ranking else next(iter(evidence), None)
    )


def opening(evidence: Sequence[LabelledEvidence], ranking: Sequence[str]) -> str:
    """The analysis and the opening of the response. `ranking` holds the labels of `evidence`, best first."""
    first = best(evidence, ranking)
    if first is None:
        return _analysis("none", "none", "nothing in memory matches this message.")
    if len(evidence) == 1:
        check = f"{first.label} is the only note there is."
    elif len(ranking) < 2:
        check = f"the notes were not ranked; {first.label} stands first."
    else:
        check = f"{first.label} makes the question most likely; {ranking[1]} comes second."
    return _analysis(first.route, first.label, check)


def _analysis(need: str, labels: str, check: str) -> str:
    return f"<analysis>\nneed: {need}\nevidence: {labels}\ncheck: {check}\n</analysis>\n<response>\n"
