"""Questions about the dialogue itself, told from questions that only sound like it, in both languages."""

from __future__ import annotations

import pytest

from governance.config import GovernanceConfig, preset
from governance.dialogue_questions import about_dialogue, asks_about_dialogue

ABOUT = [
    "How many times have I corrected you about the trip?",
    "How often did I tell you that I hate coriander?",
    "How many corrections have I told you so far?",
    "Please sum up our conversation.",
    "Can you summarise what we talked about?",
    "Give me a recap of today's chat.",
    "Summarize everything I told you about the garden.",
    "What did we talk about last week?",
    "What have we discussed so far?",
    "List all that I have told you about my sister.",
    "Go over the whole conversation again, please.",
    "我一共更正过几次？",
    "关于旅行，我纠正过你多少次？",
    "我跟你说过几次我不吃香菜？",
    "请总结一下我们的谈话。",
    "帮我概括我们今天聊的内容。",
    "回顾一下这次对话。",
    "我们都聊过些什么？",
    "我们上周讨论了哪些事？",
    "我告诉过你哪些关于我妹妹的事？",
    "梳理一下前面的对话。",
]
OTHERS = [
    "Summarise this article: the river rose by two metres.",
    "How many times a week should I water the fern?",
    "How often does the bus run?",
    "How many people did I invite?",
    "What did the mayor talk about in her speech?",
    "Sum up these numbers: 3, 8, 12.",
    "What did I say the wifi password was?",
    "When did I move to Bergen?",
    "Write a conversation between a fox and a crow.",
    "Tell me everything about tide tables.",
    "请总结这篇文章。",
    "蕨类一周要浇几次水？",
    "他一共去过几次北京？",
    "公交车多久一班？",
    "我邀请了几个人？",
    "市长的演讲讲了什么？",
    "把这些数加起来：3、8、12。",
    "我说过的密码是什么？",
    "写一段狐狸和乌鸦的对话。",
    "我什么时候搬到卑尔根的？",
    "",
]


@pytest.mark.parametrize("message", ABOUT)
def test_a_question_about_the_dialogue(message: str) -> None:
    assert asks_about_dialogue(message)


@pytest.mark.parametrize("message", OTHERS)
def test_a_question_about_something_else(message: str) -> None:
    assert not asks_about_dialogue(message)


def test_a_long_text_is_no_question_about_the_dialogue() -> None:
    assert not asks_about_dialogue("What did we talk about? " * 40)


def test_it_is_a_switch_and_off_in_the_paper() -> None:
    assert about_dialogue(ABOUT[0], GovernanceConfig())
    assert not about_dialogue(ABOUT[0], GovernanceConfig(dialogue_k=0))
    assert not about_dialogue(ABOUT[0], preset("paper"))
