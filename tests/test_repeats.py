"""Which words of one text count as repeated by another: stretches and numbers, in both languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arpm.repeats import Words, stretches
from tests.patience import lines_run, soon

ENGLISH = "My locker code is Zanzibar-4471, and the key hangs by the door."
CHINESE = "我的储物柜密码是鹦鹉螺七七四九。"


@pytest.mark.parametrize(
    ("said", "text", "shared"),
    [
        (ENGLISH, "You said: My locker code is Zanzibar.", "my locker code is zanzibar"),
        (ENGLISH, "MY  LOCKER\nCODE is what?", "my locker code is"),
        (ENGLISH, "ｍｙ ｌｏｃｋｅｒ ｃｏｄｅ is it", "my locker code is"),
        (ENGLISH, "The code: 4471.", "4471"),
        (ENGLISH, "The code: 44-71.", "4471"),
        ("Call +49 170 1234567 now", "0170? No: 49 (170) 123-4567", "1234567"),
        ("Call +49 170 1234567 now", "You can reach me at 49-170-1234567!", "491701234567"),
        (CHINESE, "你说过储物柜密码是什么？", "储物柜密码是"),
        (CHINESE, "密码是7749吗？", "7749"),
        # Both scripts in one stretch.
        ("密码是Zanzibar", "密码是Zanz吗", None),
        ("密码是Zanzibar啊", "他的密码是Zanzibar啊", "密码是zanzibar啊"),
        # An accident, or nothing.
        (ENGLISH, "My locker is red.", None),
        (ENGLISH, "Zanzibar is an island.", None),
        (CHINESE, "我的密码是秘密。", None),
        ("I was born in 1984.", "In 1984 it rained.", None),
        ("我生于一九八四年。", "一九八四年下了雨。", None),
        ("Ok.", "Ok.", None),
        ("", ENGLISH, None),
        (ENGLISH, "", None),
    ],
)
def test_what_is_shared(said: str, text: str, shared: str | None) -> None:
    assert Words([said]).shared(text) == shared


def test_curly_quotes_make_no_chinese_of_english() -> None:
    """Texts with one character beyond ASCII were compared by six characters, as if they were Chinese."""
    assert Words(["It’s been a while since we spoke"]).shared("He has been ill") is None


def test_the_longest_of_several_stretches_is_told() -> None:
    words = Words(["the green lighthouse stands", "a boat with nine red sails lies at the pier"])
    assert (
        words.shared("the green lighthouse, and nine red sails lies at the pier") == "nine red sails lies at the pier"
    )


TEXT = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("我的储物柜密码 abc 4471 ")), max_size=80)


@given(TEXT, TEXT, TEXT)
def test_every_stretch_is_found_in_any_company(said: str, before: str, after: str) -> None:
    words = Words([said])
    plain = " ".join(said.split())
    for start, end in list(stretches(plain))[:5]:
        stretch = plain[start:end]
        if stretch.isascii() and stretch == stretch.strip():
            assert words.shared(f"{before} {stretch} {after}") is not None


@given(TEXT)
def test_stretches_depend_on_their_own_characters_alone(text: str) -> None:
    alone = {text[start:end] for start, end in stretches(text)}
    within = f"before 之前 {text} after 之后"
    assert alone <= {within[start:end] for start, end in stretches(within)}


def test_a_long_text_takes_linear_time() -> None:
    words = Words([ENGLISH, CHINESE])
    for long in ("the key does not hang here " * 20_000, "钥匙不在这里 " * 60_000, "1 2 3 " * 60_000):
        assert soon(lambda text=long: words.shared(text)) is None
        few, all = (lines_run(lambda text=long[:size]: words.shared(text)) for size in (10_000, 40_000))
        assert all < 5 * few
