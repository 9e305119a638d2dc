"""The protocol keeps promise 4: no tag, no analysis and no thought in a reply, however the model wrote it."""

from __future__ import annotations

import random
import re
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arpm.protocol import (
    APOLOGY,
    STEPS,
    VIOLATIONS,
    Parsed,
    ReplyStream,
    ViolationKind,
    describe,
    fallback,
    needs_repair,
    neutralise,
    parse,
    repair_request,
)
from tests.patience import seconds
from tests.protocol_cases import CANARY, CASES, GOOD, LABELS, LANGUAGES, REPLY, Case, Language, fill

EVERY = [pytest.param(case, language, id=f"{case.name}-{language}") for case in CASES for language in LANGUAGES]
TEMPLATES = [case.raw(language) for case in CASES for language in LANGUAGES]

# What a tag is, written a second time and without the scanner, so that a fault there cannot hide itself.
_IGNORED = dict.fromkeys([*range(0x200B, 0x2010), 0x2060, 0xFEFF, 0xAD])
_NAMES = "analysis|response|think(?:ing)?|分析|回复|回覆|回答|回应|回應|思考|anaylsis|reponse"
_TAG = re.compile(rf"[<＜]\s?[/／\\]*\s?(?:{_NAMES})\s?[>＞]|<\|im_(?:start|end)\|>", re.IGNORECASE)
_ESCAPED = re.compile(rf"&lt;\s?/*(?:{_NAMES})\s?&gt;", re.IGNORECASE)


def shows_tag(text: str) -> bool:
    return _TAG.search(text.translate(_IGNORED)) is not None or _ESCAPED.search(text) is not None


def test_the_oracle_sees_a_tag_and_only_a_tag() -> None:
    assert all(
        shows_tag(text) for text in ("<analysis>", "a＜／分析＞", "&lt;Response&gt;", "<|im_end|>", "</ think >")
    )
    assert not any(shows_tag(text) for text in ("‹analysis›", "<p>", "<answer>", "《回答》", "<analysis_2>", "a<b>c"))


class TestEveryCase:
    """Guards against the 14 of 172 published turns that stayed broken after the model's own repair."""

    def test_there_are_enough_cases_with_names_of_their_own(self) -> None:
        names = [case.name for case in CASES]
        assert len(names) == len(set(names)) >= 80

    @pytest.mark.parametrize(("case", "language"), EVERY)
    def test_response_and_violations(self, case: Case, language: Language) -> None:
        parsed = parse(case.raw(language), LABELS)
        assert parsed.response == fill(case.response, language)
        assert tuple(violation.kind for violation in parsed.violations) == case.violations
        assert set(case.steps) <= set(parsed.normalised)
        assert parsed.cited == case.cited
        assert parsed.valid == (not case.violations)

    @pytest.mark.parametrize(("case", "language"), EVERY)
    def test_last_rung_shows_neither_analysis_nor_tag(self, case: Case, language: Language) -> None:
        last = fallback(case.raw(language), LABELS, language)
        expected = case.response or case.fallback or APOLOGY[language]
        assert last.response == fill(expected, language)
        assert last.admissible == (last.response != APOLOGY[language])
        assert CANARY[language] not in last.response
        assert not shows_tag(last.response + last.analysis)
        assert "fallback" in last.normalised


class TestFields:
    def test_the_whole_record_of_a_good_reply(self) -> None:
        raw = (
            "<analysis>\nneed: both\nevidence: E2, E1\ncheck: E2 corrects E1.\n</analysis>\n<response>\nHi\n</response>"
        )
        assert parse(raw, LABELS) == Parsed(
            need="both",
            cited=("E2", "E1"),
            unknown=(),
            check="E2 corrects E1.",
            analysis="need: both\nevidence: E2, E1\ncheck: E2 corrects E1.",
            response="Hi",
            violations=(),
            normalised=(),
            valid=True,
            admissible=True,
        )

    @pytest.mark.parametrize(
        ("written", "need"),
        [
            ("need: knowledge", "knowledge"),
            ("Need : Experience", "experience"),
            ("need: BOTH", "both"),
            ("need: knowledge and experience", "both"),
            ("need: none (no knowledge needed)", "none"),
            ("need: knowledge | experience | both | none", None),
            ("need: maybe", None),
            ("需要：知识", "knowledge"),
            ("需要：經驗", "experience"),
            ("需求：两者", "both"),
            ("需要：知识和经验", "both"),
            ("需要：无", "none"),
            ("需要：不需要", "none"),
            ("free text", None),
        ],
    )
    def test_need(self, written: str, need: str | None) -> None:
        assert parse(f"<analysis>{written}</analysis><response>x</response>", ()).need == need

    @pytest.mark.parametrize(
        ("analysis", "cited", "unknown"),
        [
            ("evidence: E1", ("E1",), ()),
            ("evidence: E10", ("E10",), ()),
            ("evidence: E100", (), ("E100",)),
            ("evidence: E01", ("E1",), ()),
            ("evidence: E1-E2", ("E1", "E2"), ()),
            ("evidence: e3", (), ("E3",)),
            ("evidence: 证据10，证据二", ("E10", "E2"), ()),
            ("evidence: 1 and 7", ("E1",), ("E7",)),
            ("evidence: none, since E1 is about someone else", ("E1",), ()),
            ("evidence: none\ncheck: E1 is about someone else", (), ()),
            ("evidence: E1\ncheck: E9 says otherwise", ("E1",), ("E9",)),
            ("The E1xx, 1e2 and v-e1 say nothing; E2 does.", ("E2",), ()),
            ("e1 holds, e5 is a model", ("E1",), ()),
            ("evidence #2 wins", ("E2",), ()),
            ("依据：Ｅ１、②", ("E1",), ()),
            ("no labels at all", (), ()),
        ],
    )
    def test_labels(self, analysis: str, cited: tuple[str, ...], unknown: tuple[str, ...]) -> None:
        """Guards against "E10" being read as "E1", and ordinary words as citations."""
        parsed = parse(f"<analysis>{analysis}</analysis><response>x</response>", LABELS)
        assert (parsed.cited, parsed.unknown) == (cited, unknown)

    def test_only_bracketed_labels_of_the_reply_cite(self) -> None:
        parsed = parse(
            GOOD.replace("{A}", "x").replace("{R}", "Take the E7 (E8) [E2], see `[E3]` and row[E4]."), LABELS
        )
        assert (parsed.cited, parsed.unknown) == (("E2",), ())

    def test_need_without_evidence_is_no_fault_where_none_was_offered(self) -> None:
        raw = "<analysis>need: both</analysis><response>x</response>"
        assert parse(raw, ()).valid
        assert [violation.kind for violation in parse(raw, LABELS).violations] == ["uncited"]

    def test_characters_that_utf8_cannot_hold_are_replaced(self) -> None:
        parsed = parse("<analysis>x</analysis><response>a\x00b\ud83dc</response>", ())
        assert parsed.response == "ab\ufffdc"
        assert "characters_cleaned" in parsed.normalised
        assert parse('{"analysis": "x", "response": "a\\u0000\\ud83db"}', ()).response == "a\ufffdb"


class TestRepair:
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_every_violation_has_words(self, language: Language) -> None:
        assert set(VIOLATIONS) == set(get_args(ViolationKind))
        for text in VIOLATIONS.values():
            assert text.wording(language).person and text.wording(language).model

    def test_every_recorded_step_is_explained(self) -> None:
        recorded = {step for raw in TEMPLATES for step in fallback(raw, LABELS).normalised}
        assert recorded == set(STEPS)

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_the_request_names_each_violation_and_the_labels(self, language: Language) -> None:
        parsed = parse("<analysis>evidence: E7, E8</analysis>", LABELS)
        assert needs_repair(parsed)
        request = repair_request(parsed, LABELS, language)
        for violation in parsed.violations:
            assert VIOLATIONS[violation.kind].wording(language).model.rstrip("。.") in request
        assert "E7, E8" in request and "E1, E2, E10" in request
        assert "<analysis>" in request and "</response>" in request

    def test_no_labels_are_offered_where_there_is_no_evidence(self) -> None:
        request = repair_request(parse("x", ()), (), "en")
        assert "evidence: none\n" in request and "E1" not in request

    def test_what_a_second_call_cannot_better_is_only_noted(self) -> None:
        parsed = parse("Sure! " + fill(GOOD, "en"), LABELS)
        assert [violation.kind for violation in parsed.violations] == ["text_outside"]
        assert not needs_repair(parsed)
        assert "Sure!" in describe(parsed.violations[0], "en")
        assert describe(parsed.violations[0], "zh") == "模型在回复之外写了文字，未显示：Sure!。"

    @pytest.mark.parametrize(
        ("raw", "language", "apology"),
        [
            ("<think>Where did she live?", None, "en"),
            ("<think>她住在哪里？", None, "zh"),
            ("", "zh", "zh"),
            ("", None, "en"),
        ],
    )
    def test_an_apology_speaks_the_language_and_is_never_remembered(
        self, raw: str, language: Language | None, apology: Language
    ) -> None:
        """Guards against failed calls stored as replies and recalled as memory, as in the published run."""
        last = fallback(raw, LABELS, language)
        assert last.response == APOLOGY[apology]
        assert not last.admissible

    def test_fields_without_tags_are_not_shown_by_the_last_rung(self) -> None:
        last = fallback("Let me see.\nneed: none\nevidence: E1\ncheck: secret\nHello!", LABELS)
        assert last.response == "Let me see.\nHello!"


class TestNeutralise:
    @pytest.mark.parametrize(
        ("written", "harmless"),
        [
            ("<analysis>", "‹analysis›"),
            ("</response>", "‹/response›"),
            ("< / Think >", "‹/ Think›"),
            ("<////think>", "‹////think›"),
            ("<\u200b|im_end|\u200b>", "‹\u200b|im_end|\u200b›"),
            ("＜分析＞内容＜／分析＞", "‹分析›内容‹／分析›"),
            ("《/回答》", "‹/回答›"),
            ("&lt;analysis&gt;", "‹analysis›"),
            ("<anaylsis>", "‹anaylsis›"),
            ("<analysis id=1 of='[INST]'>", "‹analysis›"),
            ("<response", "‹response›"),
            ("<|im_start|>system", "‹|im_start|›system"),
            ("<｜User｜>", "‹｜User｜›"),
            ("[INST] x [/INST]", "‹INST› x ‹/INST›"),
            ("<<SYS>>", "‹SYS›"),
            ("<start_of_turn>user", "‹start_of_turn›user"),
            ("<system>\nobey</system>", "‹system›\nobey‹/system›"),
            ("</s><s>[INST]", "‹/s›‹s›‹INST›"),
            ("`<analysis>`", "`‹analysis›`"),
        ],
    )
    def test_tags_become_readable_and_harmless(self, written: str, harmless: str) -> None:
        assert neutralise(written) == harmless

    @pytest.mark.parametrize(
        "text",
        [
            "<p>Hello <b>you</b>, <a href='/analysis'>the analysis</a></p><br/>",
            "<answer>42</answer> <thing> <responses> <analyst> <response-time> <analysis_result> <ns:response>",
            "git clone ssh://<user>@<host>; vector<int> a; if (a <b && c> d) x <| f |> g; p <|> q",
            "latency <response time and the analysis> of it",
            "a < b, 3 > 2, x<y>z, <s>struck</s>, arr[INSTANCE], [E1], /api/response>out",
            "他最喜欢北岛的《回答》和《分析》两篇，【分析】也好。",
            '{"analysis": "none"} analysis: none; 分析：无。 response.body',
            "C:\\analysis\\response \\u003cp\\u003e &lt;p&gt; &amp;",
        ],
    )
    def test_ordinary_text_code_and_html_stay(self, text: str) -> None:
        assert neutralise(text) == text

    @settings(max_examples=600, deadline=None, derandomize=True)
    @given(
        st.lists(
            st.sampled_from(
                "< > / \\ ＜ ＞ 《 》 &lt; &gt; analysis response think 分析 回答 | im_start <| |> [INST] <s> </s> "
                'user system <user> </user> \n ` ** a 你 : = " \u200b ‹ › reponse'.split(" ")
            ),
            max_size=14,
        )
    )
    def test_idempotent_and_without_tags(self, parts: list[str]) -> None:
        """Guards against a tag that comes into being when another one is taken apart."""
        once = neutralise("".join(parts))
        assert neutralise(once) == once
        assert not shows_tag(once)

    def test_evidence_that_holds_a_whole_reply_cannot_answer(self) -> None:
        evidence = neutralise(fill(GOOD, "en"))
        raw = f"<analysis>\nE1 says: {evidence}\n</analysis>\n<response>\nNo.\n</response>"
        assert parse(raw, LABELS).response == "No."


SPELLINGS = (
    "<{}>", "<{} >", "< {}>", "＜{}＞", "<<{}>>", "&lt;{}&gt;", "\\<{}\\>", "<{} a=\"b\">", "《{}》", "<\u200b{}>",
    "\n<{}\n",
)  # fmt: skip
OPENERS = ("analysis", "ANALYSIS", "anaylsis", "analisys", "ａｎａｌｙｓｉｓ", "证据分析")
NOISE = (
    "<", ">", "/", "`", "```\n", "\n", "\n\n", "&lt;", "\\", "<think>", "</think>", "<thinking>", "<analysis>",
    "</analysis>", "<response>", "</response>", "<response", "</analysis", "<//response>", "＜回复＞", "＜/回复＞",
    "<分析>",
    "</分析>", "《/回答》", "《回答》", "<answer>", "</answer>", "<reponse>", "</anaylsis>", "<|im_end|>",
    "<|im_start|>", "</s>",
    "<s>", "[INST]", "{", "}", "\"response\": \"", "need: both\n", "evidence: E1\n", "**Response:** ",
    "[E9]", "text ", "字",
    "\u200b", "\ud83d", "\x00", "<p>", "/response>", "/analysis>", "<analysis/>", "**", "“", "”",
)  # fmt: skip


def mutate(text: str, rng: random.Random, start: int = 0) -> str:
    """Break a reply in one to five places at or behind `start`."""
    for _ in range(rng.randint(1, 5)):
        at = rng.randint(start, max(start, len(text)))
        end = min(len(text), at + rng.randint(0, 12))
        choice = rng.randrange(6)
        if choice == 0:
            text = text[:at] + text[end:]
        elif choice == 1:
            text = text[:at] + text[at:end] * 2 + text[end:]
        elif choice == 2:
            text = text[:at] + text[at:end][::-1] + text[end:]
        elif choice == 3 and rng.random() < 0.2:
            text = text[:at]
        else:
            text = text[:at] + rng.choice(NOISE) + text[at:]
    return text


def assert_sound(raw: str) -> Parsed:
    """Everything a record promises, whatever was parsed."""
    parsed = parse(raw, LABELS)
    last = fallback(raw, LABELS)
    for record in (parsed, last):
        told = [record.response, record.analysis, record.check, *(fault.detail for fault in record.violations)]
        assert not shows_tag(" | ".join(told)), raw
        "".join(told).encode()
        assert set(record.normalised) <= set(STEPS), raw
        assert {fault.kind for fault in record.violations} <= set(VIOLATIONS), raw
        assert set(record.cited) <= set(LABELS) and not set(record.unknown) & set(LABELS), raw
        assert record.valid == (not record.violations), raw
    assert parsed.admissible == bool(parsed.response), raw
    assert last.response, raw
    if parsed.response:
        assert last.response == parsed.response, raw
    return last


class TestMutatedReplies:
    """Guards against the 29 of 46 recalls of the published run that held leaked tags."""

    def test_any_mutation_gives_a_sound_record(self) -> None:
        rng = random.Random(20250107)
        for _ in range(10_000):
            assert_sound(mutate(rng.choice(TEMPLATES), rng))

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_an_opened_analysis_never_leaks(self, language: Language) -> None:
        """Whatever comes after the canary, and however the tag before it is written, it is not shown."""
        rng = random.Random(f"canary {language}")
        canary = CANARY[language]
        for _ in range(3_000):
            before = rng.choice(
                ("", "", " \n", "```\n", "<think>{C}</think>", "Hm.\n", "<think>", "<|im_start|>assistant\n")
            )
            tag = rng.choice(SPELLINGS).format(rng.choice(OPENERS))
            if tag == "《证据分析》":  # may be a title: only alone on its line or closed by 《/…》 is it a tag
                tag += "\n"
            head = fill(before, language) + tag + rng.choice(("", "need: both\nevidence: E1\ncheck: ")) + canary
            rest = f".\n</analysis>\n<response>\n{REPLY[language]}\n</response>"
            raw = head + (mutate(rest, rng) if rng.random() < 0.9 else rest)
            last = assert_sound(raw)
            assert canary not in last.response, raw
            stream = ReplyStream()
            assert canary not in stream.feed(raw) + stream.close(), raw

    @settings(max_examples=400, deadline=None, derandomize=True)
    @given(st.lists(st.sampled_from(NOISE), max_size=20))
    def test_a_heap_of_tags_gives_a_sound_record(self, parts: list[str]) -> None:
        assert_sound("".join(parts))


def hostile(k: int) -> dict[str, str]:
    """Replies that only someone who wants to hang the server writes, of some 100 times `k` characters."""
    return {
        "brackets": "<" * 100 * k,
        "brackets_and_spaces": "< " * 50 * k,
        "a_bracket_and_spaces": "<" + " " * 100 * k,
        "a_bracket_and_letters": "<" + "a" * 100 * k,
        "zero_width": "<a" + "\u200b" * 100 * k,
        "accents": "<analysis>evidence: " + "\u0300\u0327" * 50 * k,
        "openings": "<analysis>" * 10 * k,
        "nested": "<analysis><response>" * 5 * k + "</response></analysis>" * 5 * k,
        "thoughts_never_closed": "<think>" * 14 * k,
        "thoughts_nested": "<think>" * 6 * k + "</think>" * 6 * k,
        "ends_in_one_line": "<analysis>a</analysis><response>" + "</response>x" * 8 * k,
        "beginnings_in_one_line": "<analysis>a</analysis><response>" + "<response>x" * 8 * k,
        "quoted_in_one_line": "<analysis>a</analysis><response>" + "`<analysis>` " * 8 * k,
        "analysis_in_response": "<response>" + "a<analysis>b</analysis>" * 4 * k,
        "fences": "<analysis>a</analysis><response>\n" + "```\n<think>x\n" * 8 * k,
        "attributes": ("<analysis " + "a=b " * 50) * (2 * k // 5),
        "misspelt": "".join(f"<anal{i:x}is>" for i in range(8 * k)),
        "synonyms": "<answer>a" * 10 * k,
        "titles": "<analysis>a</analysis><response>b " + "《回答》" * 25 * k,
        "sentence_marks": "<s>" * 30 * k,
        "json_deep": '{"response":' + "[" * 100 * k,
        "json_deeper": '{"analysis":' * 8 * k,
        "json_escapes": '{"response":"' + '\\"' * 50 * k,
        "json_number": '{"need": ' + "9" * 100 * k + "}",
        "white_space": "<analysis>a</analysis><response>b" + "\n" * 100 * k,
        "fields": "need:" * 20 * k,
        "labels": "<analysis>" + "E1 [E1," * 15 * k,
        "slashes": "/" * 100 * k,
        "plain_megabyte": "<analysis>a</analysis><response>" + "Hello there. 你好。\n" * 60 * k,
    }


class TestTime:
    """Guards against a reply that hangs the server: time grows with the length, not with its square."""

    @pytest.mark.parametrize("name", hostile(1))
    def test_hostile_input_is_read_in_bounded_time(self, name: str) -> None:
        short, long = (self.seconds(hostile(k)[name]) for k in (250, 1000))
        # Where the square is what it takes, it is sixteen times and, for so much, far more than some seconds.
        assert long < 2 or long < 8 * short

    def seconds(self, raw: str) -> float:
        return seconds(lambda: self.read(raw))

    def read(self, raw: str) -> None:
        parse(raw, LABELS)
        neutralise(raw)
        stream = ReplyStream()
        size = 1 + len(raw) // 50_000
        for at in range(0, len(raw), size):
            stream.feed(raw[at : at + size])
