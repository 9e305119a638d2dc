"""Standing instructions: what is taken for one, what is not, and what retires one."""

from __future__ import annotations

import time

import pytest

from governance.amending import retired_by
from governance.instructions import Instruction, prefix, recognise

ADDED = (
    "Let's speak French.",
    "ok let's chat in Spanish please",
    "我们用英文聊吧。",
    "咱们说法语吧",
    "From now on, answer in French.",
    "Please always answer in two sentences.",
    "Always call me Captain.",
    "Never use emojis.",
    "Don't ever mention my ex.",
    "Do not ever use bullet points.",
    "In every reply, end with a question.",
    "In all your future replies, use metric units.",
    'Whenever you answer, start with "Aye".',
    "Every time you reply, cite a source.",
    "For the rest of this conversation, speak like a pirate.",
    "Going forward, keep it under 50 words.",
    "From here on, no jargon please.",
    "Henceforth you shall address me as Doctor.",
    "I want you to always check the date first.",
    "You must never reveal my address.",
    "I'd like you to always reply in English.",
    "I like tea. From now on, call me Sam.",
    "and never say sorry",
    "Please never call me by my last name again.",
    "From this point onward, use British spelling.",
    "You should always spell out numbers.",
    'Never again start with "As an AI".',
    "end every message with a haiku from now on",
    "From now on I want you to answer in German.",
    'From now on, when I say "go", reply with "gone".',
    "Remember to always use my nickname.",
    "Make sure you always answer in Spanish.",
    "Until I say otherwise, reply in lowercase.",
    "以后都用中文回答我。",
    "从现在开始，请叫我船长。",
    "请始终用英文回答。",
    "每次回答都要以问题结尾。",
    "以后不要用表情符号。",
    "以后请叫我小明",
    "从今往后你要称呼我为老师。",
    "今后回答不要超过五十个字。",
    "你必须永远保持礼貌。",
    "请一直用敬语。",
    "接下来的对话都用法语。",
    "始终用简体中文。",
    "永远不要提我的前任。",
    "以后别再叫我全名了。",
    "每条回复都加上日期。",
    "从现在起，回答控制在一百字以内。",
    "我喜欢茶。以后叫我小李。",
    "记住，以后回答都要简短。",
    "以后我希望你用英文回答。",
    "在我另行通知之前，请用小写字母回复。",
    "所有回答都要用中文。",
    "不要再用表情符号了。",
    "务必每次都先核对日期。",
    "If you don't know the answer, always say so.",
    "如果你不知道，请始终直说。",
    "From now on, call me Sam, okay?",
    "以后叫我小明，好吗？",
    "Do not ever mention my ex.",
    "1. From now on, write in French.",
    'Say "please" in every reply.',
    "Start every message with 'Ahoy' from now on.",
)

LEFT_ALONE = (
    "Let's talk in English about the rules when he comes.",
    "我们用英文聊了一下午。",
    "Should I always answer emails at once?",
    "From now on I will go to the gym.",
    "I always wanted a dog.",
    "My boss told me to always be on time.",
    'She said: "from now on, answer in French."',
    "If I say from now on use French, what happens?",
    "In this essay, always use the past tense.",
    "For the following story, never mention the dragon.",
    "He never calls me.",
    "We have never been to Rome.",
    "Can you always be honest?",
    "My mother always said never to lie.",
    'The manual says "always wear gloves".',
    "Suppose you must always lie.",
    "Always been a fan of jazz.",
    "I've never seen that film.",
    'What does "from now on" mean?',
    "Write a poem in French.",
    "Answer this one question in French.",
    "The teacher asked us to never use phones.",
    "I will always love you.",
    "Nobody should always work late.",
    "People should always wear helmets.",
    "Children must never play with matches.",
    "She should always have known.",
    "From now on she will live in Paris.",
    "Imagine that you always answer in Latin.",
    "Translate: 'From now on, answer in French.'",
    "You never answer my question.",
    "Never mind.",
    "Never heard of it.",
    "Always happy to help!",
    "I was told to always lock the door.",
    "You always say that.",
    "For the rest of this conversation he was silent.",
    "Please write the next paragraph in French.",
    "以后我要早睡。",
    "我以后想当医生。",
    "老师说以后不要迟到。",
    "他说：“从现在开始用英文。”",
    "如果我说以后都用中文，你会怎么做？",
    "以后会下雨吗？",
    "妈妈总是告诉我永远不要撒谎。",
    "这篇文章里不要用被动语态。",
    "我从来没去过北京。",
    "我一直想学钢琴。",
    "以后的事以后再说。",
    "从现在开始我每天跑步。",
    "“以后都用中文”是什么意思？",
    "假如你必须永远说谎，你会怎样？",
    "毕业以后他去了上海。",
    "毕业以后请假去旅行了。",
    "下面这个问题请用英文回答。",
    "翻译：“以后请叫我船长。”",
    "她以后不要再来了。",
    "我们以后都在一起。",
    "吃完饭以后都很困。",
    "请用英文写一首诗。",
    "大家以后都要小心。",
    "孩子必须永远听话吗？",
    "从今以后，他再也没有回来。",
    "接下来都是晴天。",
    'She said: "From now on, answer in French. Never use emojis." I laughed.',
    "他说：“以后都用英文。每次回答都要短。”真好笑。",
    "From now on the shop closes at five.",
    "From now on my sister lives here.",
    "以后都会好的。",
    "以后你会明白的。",
    "从现在开始，天气变冷了。",
    "Never say never.",
    "请问以后怎么走？",
    "Write a limerick. Your answer must contain a title.",
    "Is Mars cold? Your response should be in German.",
    "```\nAlways answer in French.\n```",
    "> Never use emojis.",
    "",
    "。",
)

RETIRED = (
    "You no longer need to answer in French.",
    "Forget the instruction about emojis.",
    "You can stop answering in French.",
    "Stop ending with a question.",
    "Please drop the word limit rule.",
    "Cancel my request about bullet points.",
    "You don't have to call me Captain any more.",
    "Ignore the earlier rule about French.",
    "No need to cite sources anymore.",
    "You may use emojis again.",
    "以后不用叫我船长了。",
    "不用再用英文回答了。",
    "取消之前的要求。",
    "忘掉那条关于表情符号的规则。",
    "不必再以问题结尾。",
    "请去掉字数限制。",
    "现在可以用表情符号了。",
)


class TestRecognising:
    @pytest.mark.parametrize("message", ADDED)
    def test_what_is_meant_to_last_is_added_in_the_persons_words(self, message: str) -> None:
        added = [item.text for item in recognise(message) if item.action == "add"]
        assert len(added) == 1 and added[0] in message

    @pytest.mark.parametrize("message", LEFT_ALONE)
    def test_questions_quotations_reports_plans_and_single_tasks_are_left_alone(self, message: str) -> None:
        """A hypothetical was stored as a fact; text of a memory was obeyed as an instruction."""
        assert recognise(message) == []

    @pytest.mark.parametrize("message", RETIRED)
    def test_taking_back_is_recognised(self, message: str) -> None:
        assert [item.action for item in recognise(message)] == ["retire"]

    def test_only_the_sentence_that_instructs_is_taken(self) -> None:
        message = "I had a long day. From now on, call me Sam. What's for dinner? 以后都用中文回答。我累了。"
        assert [(item.text, item.rule) for item in recognise(message)] == [
            ("From now on, call me Sam.", "from now on"),
            ("以后都用中文回答。", "以后"),
        ]

    def test_a_quotation_stays_whole_as_an_argument(self) -> None:
        message = 'In every reply, end with "So it goes." and nothing else.'
        assert [item.text for item in recognise(message)] == [message]

    def test_a_message_may_add_and_retire(self) -> None:
        actions = [item.action for item in recognise("You no longer need to use French. Always answer in German.")]
        assert actions == ["retire", "add"]

    @pytest.mark.parametrize(
        "piece", ["no need to ", "from now on ", "forget ", "以后", "if always, ", '"', "'", "不用再"]
    )
    def test_a_long_message_of_any_words_is_read_quickly(self, piece: str) -> None:
        """Patterns with two open ends took minutes for a pasted page of one repeated phrase."""
        start = time.process_time()
        recognise(piece * (100_000 // len(piece)))
        recognise(f"{piece}. " * (30_000 // len(piece)))
        assert time.process_time() - start < 3


FRENCH = Instruction("i1", "From now on, answer in French.", 3)
SHORT = Instruction("i2", "Always answer in two sentences.", 5)
EMOJI = Instruction("i3", "以后不要用表情符号。", 7)
CAPTAIN = Instruction("i4", "以后请叫我船长。", 9)
ACTIVE = (FRENCH, SHORT, EMOJI, CAPTAIN)


class TestRetiring:
    @pytest.mark.parametrize(
        ("sentence", "meant"),
        [
            ("You no longer need to answer in French.", FRENCH),
            ("You can stop using two sentences.", SHORT),
            ("现在可以用表情符号了。", EMOJI),
            ("以后不用叫我船长了。", CAPTAIN),
            ("取消叫我船长的要求。", CAPTAIN),
        ],
    )
    def test_the_instruction_that_is_spoken_of_is_found(self, sentence: str, meant: Instruction) -> None:
        assert retired_by(sentence, ACTIVE) == (meant,)

    @pytest.mark.parametrize(
        "sentence", ["Forget all my instructions.", "Please drop all of the earlier rules.", "取消所有的要求。"]
    )
    def test_all_are_retired_when_all_are_named(self, sentence: str) -> None:
        assert [item.action for item in recognise(sentence)] == ["retire"]
        assert retired_by(sentence, ACTIVE) == ACTIVE

    @pytest.mark.parametrize(
        "sentence",
        [
            "Forget that rule.",
            "Stop answering so quickly.",
            "取消之前的要求。",
            "不用再叫我小明了。",
            "You no longer need to say please.",
        ],
    )
    def test_nothing_is_retired_by_guessing(self, sentence: str) -> None:
        """ "Stop answering so quickly" shared the word "answer" with a language instruction and retired it."""
        assert retired_by(sentence, ACTIVE) == ()

    def test_of_equals_the_newest_is_meant(self) -> None:
        again = Instruction("i9", "From now on, answer in French please.", 12)
        assert retired_by("Stop the French.", (FRENCH, again, SHORT)) == (again,)

    def test_nothing_is_active(self) -> None:
        assert retired_by("You no longer need to answer in French.", ()) == ()


class TestPrefix:
    def test_all_are_shown_in_the_order_given(self) -> None:
        assert prefix(ACTIVE, 1000, len).shown == ACTIVE

    def test_the_oldest_yield_and_are_told(self) -> None:
        shown = prefix(ACTIVE, len(EMOJI.text) + len(CAPTAIN.text), len)
        assert (shown.shown, shown.omitted) == ((EMOJI, CAPTAIN), (FRENCH, SHORT))

    def test_a_budget_of_nothing_shows_nothing(self) -> None:
        assert prefix(ACTIVE, 0, len).shown == () == prefix((), 100, len).shown
