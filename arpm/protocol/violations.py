"""What can be wrong with a reply, in words for the person and for the model, and the one request to repair it.

A closed set: the turn record stores these names, and the docs list them. English and Chinese are written side by side.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

Language = Literal["en", "zh"]
ViolationKind = Literal[
    "missing_analysis",
    "empty_analysis",
    "missing_response",
    "empty_response",
    "unknown_label",
    "uncited",
    "unclear_need",
    "text_outside",
    "duplicate_response",
    "wrong_order",
]


@dataclass(frozen=True, slots=True)
class Violation:
    """One breach of the protocol. `detail` names the place: labels, or the beginning of the text concerned."""

    kind: ViolationKind
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Wording:
    """How a violation reads in one language: to the person, and to the model that is asked to repair it."""

    person: str
    model: str


@dataclass(frozen=True, slots=True)
class ViolationText:
    """The words for a violation. `repair` says whether it is worth a second call of the model."""

    repair: bool
    en: Wording
    zh: Wording

    def wording(self, language: Language) -> Wording:
        return self.zh if language == "zh" else self.en


VIOLATIONS: dict[ViolationKind, ViolationText] = {
    "missing_analysis": ViolationText(
        True,
        Wording("The model did not check the evidence first.", "There is no <analysis> block."),
        Wording("模型没有先核对证据。", "缺少 <analysis> 部分。"),
    ),
    "empty_analysis": ViolationText(
        True,
        Wording("The model's check of the evidence is empty.", "The <analysis> block is empty."),
        Wording("模型对证据的核对是空的。", "<analysis> 部分是空的。"),
    ),
    "missing_response": ViolationText(
        True,
        Wording("The model did not mark its reply.", "There is no <response> block."),
        Wording("模型没有标出回复。", "缺少 <response> 部分。"),
    ),
    "empty_response": ViolationText(
        True,
        Wording("The model's reply is empty.", "The <response> block is empty."),
        Wording("模型的回复是空的。", "<response> 部分是空的。"),
    ),
    "unknown_label": ViolationText(
        True,
        Wording("The model cited evidence it was not given", "You cite evidence that you were not given"),
        Wording("模型引用了没有提供给它的证据", "你引用了没有提供给你的证据"),
    ),
    "uncited": ViolationText(
        True,
        Wording(
            "The model says it needs memory and does not say which.",
            "You say that memory is needed, but the line “evidence:” is missing.",
        ),
        Wording("模型说需要记忆，却没有说明用了哪一条。", "你说需要记忆，却缺少 “evidence:” 一行。"),
    ),
    "unclear_need": ViolationText(
        False,
        Wording("The model's “need” line is none of the four choices", "The “need” line is not one of the choices"),
        Wording("模型的 “need” 一行不是四个选项之一", "“need” 一行不是四个选项之一"),
    ),
    "text_outside": ViolationText(
        False,
        Wording(
            "The model wrote text outside its reply, which is not shown",
            "There is text outside the two blocks",
        ),
        Wording("模型在回复之外写了文字，未显示", "两个部分之外还有文字"),
    ),
    "duplicate_response": ViolationText(
        False,
        Wording(
            "The model replied more than once; the first reply is shown.",
            "There is more than one <response>.",
        ),
        Wording("模型回复了不止一次；显示的是第一次。", "有不止一个 <response>。"),
    ),
    "wrong_order": ViolationText(
        False,
        Wording("The model checked the evidence only after replying.", "<analysis> must come before <response>."),
        Wording("模型在回复之后才核对证据。", "<analysis> 必须在 <response> 之前。"),
    ),
}

_REPAIR = {
    "en": (
        "Your last reply does not follow the required form:\n{faults}\n"
        "Write the whole reply again, in exactly this form and with nothing before or after it:\n"
        "<analysis>\nneed: one of knowledge, experience, both, none\nevidence: {labels}\n"
        "check: one or two sentences on what the evidence supports or contradicts\n</analysis>\n"
        "<response>\nyour reply to the user, in the user's language\n</response>"
    ),
    "zh": (
        "你上一次的回复不符合要求的格式：\n{faults}\n"
        "请按照下面的格式重新写出完整的回复，前后不要有任何其他文字：\n"
        "<analysis>\nneed: knowledge、experience、both、none 之一\nevidence: {labels}\n"
        "check: 用一两句话说明证据支持或反驳了什么\n</analysis>\n"
        "<response>\n用用户的语言写给用户的回复\n</response>"
    ),
}
_LABELS = {
    "en": ("best first, only from {labels}; or none", "none"),
    "zh": ("按重要性排列，只能用 {labels}；没有则写 none", "none"),
}
APOLOGY: dict[Language, str] = {
    "en": "Sorry, I could not put my answer into words. Please ask me again.",
    "zh": "抱歉，我没能组织好这次的回答，请再问我一次。",
}


def describe(violation: Violation, language: Language) -> str:
    """The violation as one line for the person."""
    return _with_detail(VIOLATIONS[violation.kind].wording(language).person, violation.detail, language)


def _with_detail(text: str, detail: str, language: Language) -> str:
    if not detail or text[-1] in ".。":
        return text
    return f"{text}：{detail}。" if language == "zh" else f"{text}: {detail}."


def repair_text(violations: Iterable[Violation], labels: Collection[str], language: Language) -> str:
    """The one message that asks the model to repair its reply, naming each violation and the labels it may cite."""
    faults = "\n".join(
        "- " + _with_detail(VIOLATIONS[fault.kind].wording(language).model, fault.detail, language)
        for fault in violations
    )
    some, empty = _LABELS[language]
    offered = ", ".join(sorted(labels, key=lambda label: (len(label), label)))
    return _REPAIR[language].format(faults=faults, labels=some.format(labels=offered) if offered else empty)


def language_of(text: str) -> Language:
    """Chinese if a quarter of the letters at the beginning of `text` are Han characters, else English."""
    letters = [sign for sign in text[:4000] if sign.isalpha()]
    han = sum("\u4e00" <= sign <= "\u9fff" for sign in letters)
    return "zh" if han * 4 > len(letters) else "en"
