"""Instruction adherence: what is read in an instruction's words, and what a reply keeps, breaks or leaves open."""

from __future__ import annotations

from typing import get_args

import pytest

from governance.adherence import Adherence, Broken, Kept, Unclear, adherence, check, constraints, read
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
    Scope,
)
from governance.adherence.quantities import number
from tests.patience import soon

READ: list[tuple[str, Constraint]] = [
    # How a reply begins and ends
    ("From now on, start every reply with the letter O.", Edge("start", ("O",), letter=True)),
    ("start all responses with O", Edge("start", ("O",), letter=True)),
    ('Begin each answer with the word "Well".', Edge("start", ("Well",))),
    ('Always start your replies with "Dear friend" or "Hello".', Edge("start", ("Dear friend", "Hello"))),
    ("Start every message with an emoji.", Edge("start", any="emoji")),
    ("Start every reply with 👋", Edge("start", ("👋",))),
    ('Never begin a reply with "Sure".', Edge("start", ("Sure",), wanted=False)),
    ('The first word of every reply must be "Aye".', Edge("start", ("Aye",))),
    ("请始终以“好的”开头", Edge("start", ("好的",))),
    ("从现在开始，每条回复的开头都要加上“船长”", Edge("start", ("船长",))),
    ("以后不要用“当然”开头", Edge("start", ("当然",), wanted=False)),
    ('Always end your replies with "Over and out."', Edge("end", ("Over and out.",))),
    ("From now on, end every answer with a question.", Edge("end", any="question")),
    ("Finish each reply with an emoji.", Edge("end", any="emoji")),
    ("以后每次回复都以“喵”结尾", Edge("end", ("喵",))),
    ("以后每条回复都以表情符号结尾", Edge("end", any="emoji")),
    ("以后都用问句结尾", Edge("end", any="question")),
    # Length
    ("Please keep all your answers under 50 words.", Count("words", 0, 49)),
    ("From now on, reply in no more than thirty words.", Count("words", 0, 30)),
    ("Always write at least 200 words.", Count("words", 200)),
    ("Every reply must be between 20 and 40 words.", Count("words", 20, 40)),
    ("Answer in about 100 words from now on.", Count("words", 80, 120)),
    ("Always answer in exactly two sentences.", Count("sentences", 2, 2)),
    ("Keep it to two sentences at most.", Count("sentences", 0, 2)),
    ("Use at most 280 characters in every reply.", Count("characters", 0, 280)),
    ("Always write three paragraphs.", Count("paragraphs", 3, 3)),
    ("以后的回答不要超过100字", Count("words", 0, 100)),
    ("以后回答控制在五十字以内", Count("words", 0, 50)),
    ("每次回答至少写两百字", Count("words", 200)),
    ("以后都用三句话回答", Count("sentences", 3, 3)),
    ("以后的回答分成两段", Count("paragraphs", 2, 2)),
    ("以后每次回答100字左右", Count("words", 80, 120)),
    # Language
    ("Always answer in French.", InLanguage("fr")),
    ("From now on only use German.", InLanguage("de")),
    ("Never reply in English.", InLanguage("en", wanted=False)),
    ("以后每次回答都用英文。", InLanguage("en")),
    ("以后回答不要用英语", InLanguage("en", wanted=False)),
    # Words
    ('Never say the word "sorry" again.', Mentions(("sorry",), 0, 0)),
    ("Never use the words very, really and just.", Mentions(("very", "really", "just"), 0, 0)),
    ('Always include the word "sunshine" in your reply.', Mentions(("sunshine",))),
    ('Use the word "indeed" at least twice in every reply.', Mentions(("indeed",), 2)),
    ("The letter e must not appear in your replies.", Mentions(("e",), 0, 0, letter=True)),
    ("回答里不要出现“可能”这个词", Mentions(("可能",), 0, 0)),
    ("以后每次回答都要包含“加油”", Mentions(("加油",))),
    # Form
    ("Always use bullet points.", Count("bullets", 1)),
    ("From now on, give exactly three bullet points.", Count("bullets", 3, 3)),
    ("Always answer with a numbered list.", Count("numbered_items", 1)),
    ("Format every answer as a table.", Count("tables", 1)),
    ("以后用Markdown表格回答", Count("tables", 1)),
    ("Never use bullet points.", Count("bullets", 0, 0)),
    ("Do not use any Markdown.", Form("plain_text")),
    ("以后不要使用markdown格式", Form("plain_text")),
    ("Always reply in JSON.", Form("json")),
    ("Always write in all lowercase letters.", Form("lower_case")),
    ("No capital letters from now on.", Form("lower_case")),
    ("WRITE IN ALL CAPS from now on.", Form("upper_case")),
    ("Wrap every reply in double quotation marks.", Form("quoted")),
    ("Always add a title in double angular brackets, i.e. <<title>>.", Count("titles", 1)),
    ("Always add a postscript starting with P.S.", Count("postscripts", 1)),
    ("Use at least 3 placeholders in square brackets, such as [name].", Count("placeholders", 3)),
    ("Never use commas.", Count("commas", 0, 0)),
    ("以后不要用感叹号。", Count("exclamation_marks", 0, 0)),
    ("Don't use emojis.", Count("emojis", 0, 0)),
    ("以后别用表情符号", Count("emojis", 0, 0)),
    ("Always use emojis.", Count("emojis", 1)),
    ("From now on don't ask me any questions.", Count("questions", 0, 0)),
    ('Always answer only with "yes" or "no".', OneOf(("yes", "no"), alone=True)),
    ("Give two different responses, separated by 6 asterisk symbols: ******.", Parts(2, "******")),
    # Address
    ("From now on call me Captain.", Address(("Captain",))),
    ("Address me as Dr. Li in every reply.", Address(("Dr. Li",), always=True)),
    ("Don't call me Bob.", Address(("Bob",), wanted=False)),
    ("以后请叫我船长。", Address(("船长",))),
    ("别再叫我老师", Address(("老师",), wanted=False)),
]


@pytest.mark.parametrize(("instruction", "constraint"), READ, ids=[words for words, _ in READ])
def test_an_instruction_is_read(instruction: str, constraint: Constraint) -> None:
    reading = read(instruction)
    assert reading.constraints == (constraint,)
    assert not reading.scoped
    assert reading.unread == ()


# Instructions that no code here can check, or not wholly: none of them may ever be called kept.
UNREAD = [
    "Always be kind.",
    "Answer briefly.",
    "Be polite and answer in English.",
    "Start every reply with a joke.",
    "Begin each answer with my name.",
    "Use British spelling and never use commas.",
    "以后说话温柔一点",
    "请用简短的一句话回答",
    "Keep answers short, two sentences at most.",
    "Write like Hemingway, under 100 words.",
    "Always explain your reasoning before you answer in English.",
    "Never mention my ex.",
    "Don't use slang.",
    "Explain everything as if I were five.",
    "",
    "?!",
]
PERFECT = "Well, yes. It is here, I think."


@pytest.mark.parametrize("instruction", UNREAD)
def test_what_was_not_wholly_read_is_never_kept(instruction: str) -> None:
    assert adherence(instruction, PERFECT, "Where is it?").verdict != "kept"
    assert adherence(instruction, "好的。", "在哪里？").verdict != "kept"


SCOPED = [
    "For recipes, use a numbered list.",
    "Use a numbered list for recipes only.",
    "If I ask about code, never use commas.",
    "In all replies about cooking, never use commas.",
    "When you are unsure, answer in French.",
    "Never use commas unless it is a list.",
    "关于做菜的问题，以后都用三句话回答",
    "如果我心情不好，就以“抱抱”开头",
    "写代码的时候不要用感叹号",
]


@pytest.mark.parametrize("instruction", SCOPED)
def test_an_instruction_for_some_occasion_is_neither_kept_nor_broken(instruction: str) -> None:
    for reply in (PERFECT, "Nothing of the sort, no! ", "好的！", "1. Boil it.\n2. Eat it."):
        found = adherence(instruction, reply, "Where is it?")
        assert found.verdict == "unchecked"
        assert found.checks[0].kind == "scope"


class TestAnOccasionThatCodeCanTell:
    INSTRUCTION = "When I write in Chinese, answer in Chinese."

    def test_is_read(self) -> None:
        reading = read(self.INSTRUCTION)
        assert (reading.scope, reading.scoped) == (Scope("message_language", "zh"), False)
        assert reading.constraints == (InLanguage("zh"),)

    def test_counts_when_it_is_one(self) -> None:
        asked = "红色的茶壶放在什么地方？"
        assert adherence(self.INSTRUCTION, "茶壶放在地下室的架子上。", asked).verdict == "kept"
        assert adherence(self.INSTRUCTION, "It is in the cellar, on the shelf.", asked).verdict == "broken"

    def test_does_not_count_when_it_is_none(self) -> None:
        found = adherence(self.INSTRUCTION, "It is in the cellar.", "Where is the red kettle, please?")
        assert found.verdict == "unchecked"

    def test_may_be_a_word_of_the_message(self) -> None:
        instruction = 'Whenever I say "status", answer in exactly one sentence.'
        assert adherence(instruction, "All is well.", "Status, please.").verdict == "kept"
        assert adherence(instruction, "All is well. Really.", "Status, please.").verdict == "broken"
        assert adherence(instruction, "All is well. Really.", "How are you?").verdict == "unchecked"


HELD: list[tuple[Constraint, str, str]] = [
    (Edge("start", ("O",), letter=True), "Of course.", "Sure."),
    (Edge("start", ("O",), letter=True), "**Oh**, yes.", "No."),
    (Edge("start", ("Well",)), "well, it is.", "Wellness first."),
    (Edge("start", ("好的",)), "好的，马上。", "我马上来。"),
    (Edge("start", ("Sure",), wanted=False), "Yes.", "Sure, here."),
    (Edge("start", any="emoji"), "👍🏽 done", "done 👍🏽"),
    (Edge("end", any="emoji"), "done 👩‍👩‍👧", "👩‍👩‍👧 done"),
    (Edge("end", ("Over and out.",)), "It is so. over and out", "Over and out. It is so."),
    (Edge("end", ("喵",)), "我知道了喵。", "喵，我知道了。"),
    (Edge("end", any="question"), "It is here. Shall we go?", "Shall we go? It is here."),
    (Edge("end", any="question"), "在这里。要去吗？", "在这里。"),
    (Edge("start", ("Second",), paragraph=2), "One.\n\nSecond it is.", "Second.\n\nOne."),
    (Count("words", 0, 3), "one two three", "one two three four"),
    (Count("words", 0, 5), "我不知道。", "我真的不知道。"),
    (Count("words", 4, 6), "我有 2 GPU", "我 GPU"),
    (Count("sentences", 2, 2), "It is here. I think.", "It is here."),
    (Count("sentences", 3, 3), "一。二。三。", "一，二，三。"),
    (Count("paragraphs", 2, 2), "a\n\nb", "a b"),
    (Count("paragraphs", 3, 3), "a\n\n***\n\nb\n***\nc", "a\n\nb"),
    (Count("characters", 0, 5), " abcde ", "abcdef"),
    (Count("bullets", 2, 2), "So:\n* a\n- b", "* a\n* b\n* c"),
    (Count("bullets", 1), "- a", "***\nno list - really"),
    (Count("numbered_items", 2), "1. a\n2) b", "In 1. and 2. place"),
    (Count("numbered_items", 2), "1、甲\n2、乙", "一共 2、3 个"),
    (Count("tables", 1), "| a | b |\n|---|---|\n| 1 | 2 |", "a | b"),
    (Count("code_blocks", 1), "```py\nx\n```", "`x`"),
    (Count("emojis", 0, 0), "plain © text", "smile 😀"),
    (Count("commas", 0, 0), "no such sign", "yes, here"),
    (Count("commas", 0, 0), "没有", "有，这里"),
    (Count("questions", 0, 0), "So it is.", "Is it so? Yes."),
    (Count("titles", 1), "<<Kettles>>\nText", "<Kettles>"),
    (Count("placeholders", 2), "[name] and [place]", "[name](http://x)"),
    (Count("postscripts", 1), "Text.\n\nP.S. More.", "George P. Smith"),
    (Count("capital_words", 0, 1), "An NGO", "An NGO of the UN"),
    (Count("highlights", 2), "*one* and **two**", "* one\n* two"),
    (Mentions(("sorry",), 0, 0), "I regret it. Sorrye.", "I am Sorry."),
    (Mentions(("可能",), 0, 0), "也许吧", "有可能吧"),
    (Mentions(("sun", "moon")), "Sun and moon.", "Sunny moon."),
    (Mentions(("indeed",), 2), "Indeed, indeed.", "Indeed."),
    (Mentions(("e",), 0, 0, letter=True), "a big word", "here"),
    (Mentions(("C++",), 1, None), "I like C++.", "I like C."),
    (InLanguage("fr"), "La bouilloire rouge est dans la cave.", "The red kettle is in the cellar."),
    (InLanguage("zh"), "红色的茶壶在地下室。", "The red kettle is in the cellar."),
    (InLanguage("en", wanted=False), "La bouilloire rouge est dans la cave.", "The red kettle is in the cellar."),
    (Form("json"), '```json\n{"a": 1}\n```', "{a: 1}"),
    (Form("json"), "[1, 2]", "1"),
    (Form("quoted"), '"It is so."', 'It is "so".'),
    (Form("quoted"), "“是的。”", "是的。"),
    (Form("lower_case"), "all small, 1 b.", "All small."),
    (Form("lower_case"), "没有大写 ok", "有 OK"),
    (Form("upper_case"), "ALL BIG 1.", "ALL big."),
    (Form("plain_text"), "Just text, 2 * 3 = 6.", "Just **text**."),
    (Form("markdown"), "# Head", "Head"),
    (Address(("Captain",), wanted=False), "Aye.", "Aye, captain."),
    (Address(("船长",), always=True), "好的，船长。", "好的。"),
    (OneOf(("yes", "no"), alone=True), "Yes.", "Yes, it is."),
    (OneOf(("My answer is yes.", "My answer is no.")), "Hm. My answer is no.", "No."),
    (Parts(2, "******"), "a\n******\nb", "a\n******\na"),
]


@pytest.mark.parametrize(("constraint", "kept", "broken"), HELD, ids=[f"{c.kind}: {kept}" for c, kept, _ in HELD])
def test_a_reply_keeps_or_breaks_a_constraint(constraint: Constraint, kept: str, broken: str) -> None:
    assert isinstance(check(constraint, kept), Kept)
    assert isinstance(check(constraint, broken), Broken)


class TestWhatIsFound:
    def test_is_shown_where_it_is(self) -> None:
        reply = "Yes. I am sorry for that, sorry."
        found = check(Mentions(("sorry",), 0, 0), reply).found
        assert (found.text, found.count) == ("sorry", 2)
        assert found.at is not None and reply[found.at :].startswith("sorry")

    def test_of_a_reply_that_is_too_long_is_its_length(self) -> None:
        found = check(Count("words", 0, 2), "one two three four").found
        assert (found.text, found.count, found.at) == (None, 4, 8)

    def test_never_names_words_that_are_missing(self) -> None:
        assert "heliotrope" not in repr(check(Mentions(("heliotrope",)), "Nothing."))


class TestWhatCodeCannotTell:
    def test_the_language_of_a_reply_that_has_none(self) -> None:
        assert isinstance(check(InLanguage("fr"), "42!"), Unclear)
        assert isinstance(check(InLanguage("fr"), "Ok."), Unclear)

    def test_whether_somebody_who_is_not_addressed_is_called_rightly(self) -> None:
        assert isinstance(check(Address(("Captain",)), "It is in the cellar."), Unclear)

    def test_the_language_of_a_message_that_has_none(self) -> None:
        assert isinstance(check(InLanguage(None), "It is in the cellar.", "42"), Unclear)
        assert isinstance(check(InLanguage(None), "It is in the cellar now.", "Where is the red kettle?"), Kept)


def test_an_instruction_of_two_parts_is_kept_only_with_both() -> None:
    both = "From now on answer in at most three sentences and end with a question."
    assert adherence(both, "It is here. Shall we?", "").verdict == "kept"
    found = adherence(both, "It is here. It is.", "")
    assert found.verdict == "broken"
    assert [(one.kind, one.verdict) for one in found.checks] == [("sentences", "kept"), ("ends_with", "broken")]


def test_a_broken_part_breaks_an_instruction_that_was_not_wholly_read() -> None:
    found = adherence("Be polite and answer in French.", "The red kettle is in the cellar.", "")
    assert found == Adherence("broken", found.checks)
    assert [one.kind for one in found.checks] == ["language", "unread"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("1,200", 1200),
        ("three", 3),
        ("twenty-one", 21),
        ("a hundred", 100),
        ("十二", 12),
        ("一百五十", 150),
        ("两百", 200),
        ("两", 2),
        ("三千", 3000),
        ("9" * 40, 999_999_999),
    ],
)
def test_numbers_are_read(text: str, value: int) -> None:
    assert number(text) == value


class TestHostileText:
    """Instructions and replies are whatever a person and a model write: nothing raises, and nothing takes long."""

    RUNS = (
        '"a" or ', "the word ", "use all the ", "start your ", "at least ", "1 ", "如果", "“", "* ", "`", "|-", "[ ",
        "<<", "\n", " ", "a?", "part ", "https://", "\" ' ", "answer in ", "no ", "don't use the words ", "\x1f",
        "(?P<",
    )  # fmt: skip

    @pytest.mark.parametrize("run", RUNS)
    def test_an_instruction_is_read_in_a_moment(self, run: str) -> None:
        soon(lambda: read((run * 500)[:500]))

    @pytest.mark.parametrize("run", RUNS)
    def test_a_reply_is_checked_in_a_moment(self, run: str) -> None:
        every: list[Constraint] = [Count(of, 0, 3) for of in get_args(Countable)]
        every += [Form(form) for form in ("json", "quoted", "plain_text", "markdown", "lower_case", "upper_case")]  # type: ignore[arg-type]
        every += [Edge("end", any="question"), Edge("start", any="emoji"), Mentions(("a b",), 0, 0), InLanguage("fr")]
        every += [Address(("Bo",)), OneOf(("a", "b")), Parts(2, "******")]
        reply = (run * 20_000)[:20_000]
        soon(lambda: [check(one, reply) for one in every])

    def test_a_very_long_instruction_is_not_read(self) -> None:
        assert read("Never use commas. " * 100).constraints == ()
        assert constraints("Never use commas. " * 3) == (Count("commas", 0, 0),)
