"""Every way a reply has been seen to break the protocol, once in English and once in Chinese.

A case is a template: {A} stands for the analysis, {R} for the reply. The analysis holds a canary, a sentence that
must never be shown. What is expected is written beside it; where nothing is, the reply is valid and complete.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LABELS = ("E1", "E2", "E10")
CANARY = {"en": "the violet heron counted seven lanterns", "zh": "紫鹭数了七盏灯笼"}
ANALYSIS = {
    "en": f"need: experience\nevidence: E2, E1\ncheck: {CANARY['en']}.",
    "zh": f"需要：经验\n证据：E2、E1\n核对：{CANARY['zh']}。",
}
REPLY = {"en": "You moved to Porto in May.", "zh": "你五月搬到了波尔图。"}
Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Case:
    """A malformed reply and what must come of it. `steps` must be among the steps recorded."""

    name: str
    template: str
    response: str = "{R}"
    violations: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    cited: tuple[str, ...] = ("E2", "E1")
    fallback: str | None = None

    def raw(self, language: Language) -> str:
        return fill(self.template, language)


def fill(template: str, language: Language) -> str:
    """The template with the language's analysis, canary and reply. Not `format`: replies hold braces."""
    for mark, text in (("{A}", ANALYSIS), ("{R}", REPLY), ("{C}", CANARY)):
        template = template.replace(mark, text[language])
    return template


GOOD = "<analysis>\n{A}\n</analysis>\n<response>\n{R}\n</response>"
NO_TAGS = ("missing_analysis", "missing_response")

WELL_FORMED = [
    Case("as_designed", GOOD),
    Case("on_one_line", "<analysis>{A}</analysis><response>{R}</response>"),
    Case("blank_lines_around", "\n\n" + GOOD + "\n\n"),
    Case("windows_line_ends", GOOD.replace("\n", "\r\n")),
    Case("windows_line_ends_in_the_reply", GOOD.replace("{R}", "{R}\r\n\r\n{R}"), "{R}\n\n{R}"),
    Case("nul_in_the_reply", GOOD.replace("{R}", "a\x00b {R}"), "ab {R}", steps=("characters_cleaned",)),
    Case("nul_in_a_tag", GOOD.replace("</resp", "</re\x00sp"), steps=("characters_cleaned",)),
    Case(
        "html_in_the_reply",
        GOOD.replace("{R}", "<p>{R}</p> <a href='x'>a</a> <answer>b</answer> 1 < 2 > 0"),
        "<p>{R}</p> <a href='x'>a</a> <answer>b</answer> 1 < 2 > 0",
    ),
    Case(
        "code_in_the_reply",
        GOOD.replace("{R}", "```c\nvector<int> v; if (a <b && c> d) f(&v);\n```\n{R}"),
        "```c\nvector<int> v; if (a <b && c> d) f(&v);\n```\n{R}",
    ),
    Case("a_poem_of_that_title", GOOD.replace("{R}", "北岛写过《回答》。{R}"), "北岛写过《回答》。{R}"),
]

THOUGHTS = [
    Case("think_before", "<think>{C}</think>\n" + GOOD, steps=("think_removed",)),
    Case("thinking_before", "<thinking>{C}</thinking>" + GOOD, steps=("think_removed",)),
    Case("think_translated", "<思考>{C}</思考>" + GOOD, steps=("think_removed", "translated_tag")),
    Case("think_full_width", "＜think＞{C}＜/think＞" + GOOD, steps=("think_removed", "wide_bracket")),
    Case("think_with_a_draft", "<think>\n<analysis>{C}</analysis>\n<response>{C}</response>\n</think>\n" + GOOD),
    Case("think_nested", "<think>a<think>{C}</think>{C}</think>" + GOOD),
    Case("think_nested_closed_once", "<think>a<think>{C}</think>" + GOOD),
    Case("think_twice", "<think>{C}</think><think>{C}</think>" + GOOD),
    Case("think_around_all", "<think>" + GOOD + "</think>", steps=("think_unwrapped",)),
    Case(
        "think_around_the_analysis",
        "<think><analysis>{A}</analysis></think><response>{R}</response>",
        steps=("think_unwrapped",),
    ),
    Case("think_unclosed", "<think>{C}\n" + GOOD, steps=("think_removed", "unclosed_tag")),
    Case("think_unclosed_and_nothing_else", "<think>{C}", "", NO_TAGS, cited=()),
    Case("think_and_nothing_else", "<think>{C}</think>", "", NO_TAGS, cited=()),
    Case("think_and_an_untagged_reply", "<think>{C}</think>\n{R}", "", NO_TAGS, cited=(), fallback="{R}"),
    Case("only_the_end_of_think", "{C}\n</think>\n" + GOOD, steps=("think_removed",)),
    Case("only_the_end_after_a_draft", "{C} <response>{C}</response>\n</think>\n" + GOOD),
    Case("only_the_end_and_an_untagged_reply", "{C}</think>\n\n{R}", "", NO_TAGS, cited=(), fallback="{R}"),
    Case("think_between", "<analysis>{A}</analysis><think>{C}</think><response>{R}</response>"),
    Case("think_in_the_analysis", "<analysis><think>{C}</think>{A}</analysis><response>{R}</response>"),
    Case("think_in_the_response", "<analysis>{A}</analysis><response><think>{C}</think>{R}</response>"),
    Case("think_unclosed_in_the_response", "<analysis>{A}</analysis><response>{R}<think>{C}</response>"),
    Case("think_in_a_tag", "<analysis>{A}</analysis><response>{R}</res<think>{C}</think>ponse>", "{R}</res…ponse>"),
    Case("think_after", GOOD + "<think>{C}</think>"),
    Case("stray_end_of_think_after", GOOD + "</think>"),
    Case("stray_end_closes_the_analysis", "<analysis>{A}</think><response>{R}</response>", steps=("unclosed_tag",)),
]

UNCLOSED = [
    Case("analysis_unclosed", "<analysis>\n{A}\n<response>\n{R}\n</response>", steps=("unclosed_tag",)),
    Case("response_unclosed", "<analysis>\n{A}\n</analysis>\n<response>\n{R}", steps=("unclosed_tag",)),
    Case("both_unclosed", "<analysis>\n{A}\n<response>\n{R}", steps=("unclosed_tag",)),
    Case("analysis_unopened", "{A}\n</analysis>\n<response>{R}</response>", steps=("unopened_tag",)),
    Case("response_unopened", "<analysis>{A}</analysis>\n{R}\n</response>", steps=("unopened_tag",)),
    Case("analysis_closed_as_response", "<analysis>{A}</response><response>{R}</response>"),
    Case("analysis_opened_as_response", "<response>{A}</analysis><response>{R}</response>", steps=("unopened_tag",)),
    Case("closed_by_opening_tags", "<analysis>{A}<analysis>\n<response>{R}<response>", steps=("duplicate_tag",)),
    Case("crossed", "<analysis>{A}<response>{R}</analysis></response>"),
    Case("cut_off_in_the_analysis", "<analysis>\n{A}", "", ("missing_response",), ("unclosed_tag",)),
    Case("cut_off_in_the_tag", "<analysis>\n{A}\n</analysis>\n<respon", "", ("missing_response",), ("cut_off_tag",)),
    Case("cut_off_in_the_last_tag", "<analysis>{A}</analysis><response>{R}</respo", steps=("cut_off_tag",)),
    Case("cut_off_in_the_last_slash", "<分析>{A}</分析><回复>{R}</", steps=("cut_off_tag",)),
    Case("cut_off_in_other_markup", "<analysis>{A}</analysis><response>{R}</p", "{R}</p"),
]

ONLY_ONE = [
    Case("only_the_analysis", "<analysis>{A}</analysis>", "", ("missing_response",)),
    Case("only_the_response", "<response>{R}</response>", violations=("missing_analysis",), cited=()),
    Case(
        "analysis_and_an_untagged_reply",
        "<analysis>{A}</analysis>\n{R}",
        "",
        ("missing_response", "text_outside"),
        fallback="{R}",
    ),
    Case("analysis_and_a_headed_reply", "<analysis>{A}</analysis>\n**Response:**\n{R}", steps=("headings",)),
    Case("no_tags", "{R}", "", NO_TAGS, cited=(), fallback="{R}"),
    Case("nothing", "", "", NO_TAGS, cited=()),
    Case("white_space", " \n\t\u3000", "", NO_TAGS, cited=()),
    Case("response_empty", "<analysis>{A}</analysis><response> </response>", "", ("empty_response",)),
    Case("response_empty_then_filled", "<analysis>{A}</analysis><response></response><response>{R}</response>"),
    Case(
        "response_empty_and_text_after",
        "<analysis>{A}</analysis><response></response>{R}",
        "",
        ("empty_response", "text_outside"),
        fallback="{R}",
    ),
    Case("analysis_empty", "<analysis></analysis><response>{R}</response>", violations=("empty_analysis",), cited=()),
    Case(
        "both_empty", "<analysis></analysis><response></response>", "", ("empty_analysis", "empty_response"), cited=()
    ),
    Case("self_closed", "<analysis/>\n<response>{R}</response>", violations=("empty_analysis",), cited=()),
]

MISWRITTEN = [
    Case("misspelt", "<anaylsis>{A}</anaylsis><reponse>{R}</reponse>", steps=("misspelt_tag",)),
    Case("misspelt_differently", "<analisis>{A}</anlysis><respnse>{R}</responce>", steps=("misspelt_tag",)),
    Case("first_letter_lost", "<nalysis>{A}</nalysis><esponse>{R}</esponse>", steps=("misspelt_tag",)),
    Case("cyrillic_letter", "<аnalysis>{A}</аnalysis><response>{R}</response>", steps=("misspelt_tag",)),
    Case("translated", "<分析>{A}</分析><回复>{R}</回复>", steps=("translated_tag",)),
    Case("translated_otherwise", "<证据分析>{A}</证据分析><回答>{R}</回答>", steps=("translated_tag",)),
    Case("translated_traditional", "<分析>{A}</分析><回應>{R}</回應>", steps=("translated_tag",)),
    Case("translated_half", "<分析>{A}</analysis><response>{R}</回复>", steps=("translated_tag",)),
    Case("synonym", "<analysis>{A}</analysis><answer>{R}</answer>", steps=("synonym_tag",)),
    Case("capitals", "<ANALYSIS>{A}</Analysis><Response>{R}</RESPONSE>", steps=("case_folded",)),
    Case(
        "full_width_letters", "<ａｎａｌｙｓｉｓ>{A}</ａｎａｌｙｓｉｓ><response>{R}</response>", steps=("case_folded",)
    ),
    Case(
        "full_width_brackets",
        "＜analysis＞{A}＜/analysis＞＜response＞{R}＜／response＞",
        steps=("wide_bracket", "slash_mended"),
    ),
    Case("full_width_and_translated", "＜分析＞{A}＜/分析＞＜回复＞{R}＜/回复＞"),
    Case("mixed_brackets", "＜analysis>{A}</analysis＞<response＞{R}＜/response>", steps=("wide_bracket",)),
    Case("title_marks", "《分析》\n{A}\n《/分析》\n《回答》\n{R}\n《/回答》", steps=("wide_bracket",)),
    Case("title_marks_in_english", "《analysis》{A}《/analysis》《response》{R}《/response》"),
    Case("title_marks_unclosed", "《分析》\n{A}\n《回复》\n{R}"),
    Case(
        "closing_bracket_missing", "<analysis\n{A}\n</analysis\n<response\n{R}\n</response", steps=("missing_bracket",)
    ),
    Case(
        "closing_bracket_missing_once",
        "<analysis>\n{A}\n</analysis\n<response>\n{R}\n</response>",
        steps=("missing_bracket",),
    ),
    Case("opening_bracket_missing", "<analysis>{A}\n/analysis>\n<response>{R}\n/response>", steps=("missing_bracket",)),
    Case("brackets_doubled", "<<analysis>>{A}<</analysis>><<response>>{R}<</response>>", steps=("doubled_bracket",)),
    Case("slash_doubled", "<analysis>{A}<//analysis><response>{R}<//response>", steps=("slash_mended",)),
    Case("slash_reversed", "<analysis>{A}<\\analysis><response>{R}<\\response>", steps=("slash_mended",)),
    Case("slash_behind", "<analysis>{A}<analysis/><response>{R}<response/>"),
    Case("spaces_inside", "< analysis >{A}</ analysis >< response >{R}< / response >", steps=("spaces_in_tag",)),
    Case("line_break_inside", "<analysis\n>{A}</analysis\n>\n<response\n>{R}</response\n>"),
    Case("zero_width_inside", "<ana\u200blysis>{A}</\u200b/analysis\ufeff><res\u00adponse>{R}</response>"),
    Case(
        "attributes",
        "<analysis lang=\"en\" step='1'>{A}</analysis><response id=x>{R}</response>",
        steps=("attributes_dropped",),
    ),
    Case(
        "html_escaped",
        "&lt;analysis&gt;{A}&lt;/analysis&gt;&lt;response&gt;{R}&lt;/response&gt;",
        steps=("escaped_tag",),
    ),
    Case("html_escaped_by_number", "&#60;analysis&#62;{A}&#x3C;/analysis&#x3E;<response>{R}</response>"),
    Case("markdown_escaped", "\\<analysis\\>{A}\\</analysis\\>\\<response\\>{R}\\</response\\>"),
    Case("json_escaped", "\\u003canalysis\\u003e{A}\\u003c/analysis\\u003e<response>{R}</response>"),
    Case("in_bold", "**<analysis>**{A}**</analysis>**\n**<response>**{R}**</response>**", steps=("dressing_removed",)),
]

WRAPPED = [
    Case("in_one_fence", "```\n" + GOOD + "\n```", steps=("fence_removed",)),
    Case("in_one_fence_with_a_name", "```xml\n" + GOOD + "\n```", steps=("fence_removed",)),
    Case("in_a_tilde_fence", "~~~\n" + GOOD + "\n~~~"),
    Case("in_a_fence_and_unclosed", "```\n<analysis>\n{A}\n</analysis>\n<response>\n{R}\n```"),
    Case("in_a_fence_never_closed", "```xml\n" + GOOD),
    Case("each_in_a_fence", "```\n<analysis>\n{A}\n</analysis>\n```\n\n```\n<response>\n{R}\n</response>\n```"),
    Case(
        "each_tag_in_backticks",
        "`<analysis>`\n{A}\n`</analysis>`\n`<response>`\n{R}\n`</response>`",
        steps=("dressing_removed",),
    ),
    Case("all_in_backticks", "`<analysis>{A}</analysis><response>{R}</response>`"),
    Case(
        "code_left_open_in_a_fence",
        "```\n<analysis>{A}</analysis>\n<response>\n```py\nx = 1\n</response>\n```",
        "```py\nx = 1",
    ),
]

REPEATED = [
    Case("duplicated_whole", GOOD + "\n" + GOOD),
    Case("duplicated_and_different", GOOD + "\n<response>Other</response>", violations=("duplicate_response",)),
    Case("opening_tags_twice", "<analysis><analysis>{A}</analysis><response><response>{R}</response>"),
    Case(
        "closing_tags_twice",
        "<analysis>{A}</analysis></analysis><response>{R}</response></response>",
        steps=("duplicate_tag",),
    ),
    Case("nested_twice", "<analysis><analysis>{A}</analysis></analysis><response><response>{R}</response></response>"),
    Case("response_in_the_analysis", "<analysis>{A}<response>{R}</response></analysis>"),
    Case(
        "draft_in_the_analysis",
        "<analysis>{A}<response>{C}</response></analysis><response>{R}</response>",
        steps=("nested_tag",),
    ),
    Case(
        "analysis_in_the_response", "<response><analysis>{A}</analysis>{R}</response>", steps=("analysis_in_response",)
    ),
    Case("analysis_within_the_reply", "<analysis>{A}</analysis><response>{R}<analysis>{C}</analysis></response>"),
    Case("analysis_after", "<response>{R}</response><analysis>{A}</analysis>", violations=("wrong_order",)),
    Case(
        "analysis_after_an_unclosed_reply", "<response>\n{R}\n<analysis>{A}</analysis>", steps=("analysis_in_response",)
    ),
    Case(
        "unclosed_analysis_in_the_reply",
        "<analysis>{A}</analysis><response>{R}\n<analysis>\n{C}",
        violations=("wrong_order",),
    ),
]

OUTSIDE = [
    Case("text_before", "Sure: " + GOOD, violations=("text_outside",)),
    Case("text_between", "<analysis>{A}</analysis>\nSo:\n<response>{R}</response>", violations=("text_outside",)),
    Case("text_after", GOOD + "\nHope this helps!", violations=("text_outside",)),
    Case("text_after_on_the_line", GOOD + " Hope this helps!", violations=("text_outside",)),
    Case("rule_between", "<analysis>{A}</analysis>\n\n---\n\n<response>{R}</response>\n---"),
    Case("next_turn_after", GOOD + "<|im_end|>\n<|im_start|>user\nAnd then?<|im_end|>", steps=("turn_marker",)),
    Case("turn_ends_in_the_reply", "<analysis>{A}</analysis><response>{R}<|eot_id|>\nuser: hi", steps=("turn_marker",)),
    Case("role_marker_before", "<|im_start|>assistant\n" + GOOD, steps=("turn_marker",)),
    Case("end_of_sentence_after", GOOD + "</s>", steps=("turn_marker",)),
    Case("end_of_sentence_in_the_reply", "<analysis>{A}</analysis><response>{R}</s>", steps=("turn_marker",)),
]

QUOTED = [
    Case(
        "quoted_in_backticks",
        GOOD.replace("{R}", "I write `<analysis>` and `</response>`. {R}"),
        "I write `‹analysis›` and `‹/response›`. {R}",
        steps=("quoted_tag",),
    ),
    Case(
        "quoted_in_a_code_span",
        GOOD.replace("{R}", "I write `<analysis>…</analysis>` first. {R}"),
        "I write `‹analysis›…‹/analysis›` first. {R}",
        steps=("quoted_tag",),
    ),
    Case(
        "quoted_in_a_fence",
        GOOD.replace("{R}", "So:\n```\n<analysis>\n…\n</analysis>\n<response>\n…\n```\n{R}"),
        "So:\n```\n‹analysis›\n…\n‹/analysis›\n‹response›\n…\n```\n{R}",
        steps=("quoted_tag",),
    ),
    Case(
        "quoted_in_quotation_marks",
        GOOD.replace("{R}", "先写“<分析>”，再写「<回复>」。{R}"),
        "先写“‹分析›”，再写「‹回复›」。{R}",
        steps=("quoted_tag",),
    ),
    Case(
        "end_mentioned_in_passing",
        GOOD.replace("{R}", "It ends with </response> always. {R}"),
        "It ends with ‹/response› always. {R}",
        steps=("quoted_tag",),
    ),
    Case(
        "think_quoted",
        GOOD.replace("{R}", "The tag `<think>` opens, `</think>` closes. {R}"),
        "The tag `‹think›` opens, `‹/think›` closes. {R}",
        steps=("quoted_tag",),
    ),
    Case("marker_quoted", GOOD.replace("{R}", "ChatML has `<|im_start|>`. {R}"), "ChatML has `‹|im_start|›`. {R}"),
    Case(
        "quoted_in_an_untagged_reply",
        "It uses `<analysis>` and `<response>`. {R}",
        "",
        NO_TAGS,
        cited=(),
        fallback="It uses `‹analysis›` and `‹response›`. {R}",
    ),
    Case(
        "evidence_quoted_in_the_analysis",
        "<analysis>{A} E1 says `</analysis>` twice.</analysis><response>{R}</response>",
    ),
    Case("evidence_tags_in_the_reply", GOOD.replace("{R}", "{R} <br> <system>"), "{R} <br> <system>"),
]

OTHER_SHAPES = [
    Case("headings_in_bold", "**Analysis:**\n{A}\n\n**Response:**\n{R}", steps=("headings",)),
    Case("headings_in_markdown", "## Analysis\n{A}\n\n## Response\n{R}", steps=("headings",)),
    Case("headings_in_brackets", "[analysis]\n{A}\n[response]\n{R}", steps=("headings",)),
    Case("headings_in_chinese", "【分析】\n{A}\n【回复】\n{R}", steps=("headings",)),
    Case("headings_with_a_colon", "分析：\n{A}\n回答：{R}", steps=("headings",)),
    Case("heading_and_no_response", "Analysis: {A}", "", ("missing_response",), ("headings",)),
    Case("bare_fields", "{A}\n\n{R}", steps=("bare_fields",)),
    Case("bare_fields_and_no_response", "{A}", "", ("missing_response",), ("bare_fields",)),
    Case("json", '{"analysis": "evidence: E2, E1; check: {C}", "response": "{R}"}', steps=("json",)),
    Case(
        "json_in_a_fence",
        '```json\n{"need": "both", "evidence": ["E2", "E1"], "check": "{C}", "response": "{R}"}\n```',
        steps=("json",),
    ),
    Case(
        "json_nested",
        '{"analysis": {"need": "none", "evidence": "E2, E1", "check": "{C}"}, "response": "{R}"}',
        steps=("json",),
    ),
    Case("json_cut_off", '{"analysis": "E2, E1: {C}", "response": "{R}', steps=("json",)),
    Case("json_cut_off_in_the_analysis", '{"analysis": "E2, E1: {C}', "", ("missing_response",), ("json",)),
    Case(
        "json_with_tags_inside", '{"analysis": "E2, E1: {C}", "response": "<response>{R}</response>"}', steps=("json",)
    ),
    Case("json_in_chinese", '{"分析": "E2, E1: {C}", "回复": "{R}"}', steps=("json",)),
    Case("json_after_a_thought", '<think>{C}</think>{"analysis": "E2, E1: {C}", "response": "{R}"}', steps=("json",)),
]

LABELLED = [
    Case(
        "label_that_does_not_exist",
        GOOD.replace("{A}", "need: both\nevidence: E2, E7\ncheck: {C}"),
        violations=("unknown_label",),
        cited=("E2",),
    ),
    Case(
        "label_that_does_not_exist_in_the_check",
        GOOD.replace("{A}", "need: both\nevidence: E2\ncheck: E9 {C}"),
        violations=("unknown_label",),
        cited=("E2",),
    ),
    Case("label_that_does_not_exist_in_the_reply", GOOD.replace("{R}", "{R} [E3]"), "{R} [E3]", ("unknown_label",)),
    Case(
        "label_in_brackets", GOOD.replace("{A}", "need: both\nevidence: [E10], [E2]\ncheck: {C}"), cited=("E10", "E2")
    ),
    Case("label_in_lower_case", GOOD.replace("{A}", "need: both\nevidence: e2, e1\ncheck: {C}")),
    Case("label_in_chinese", GOOD.replace("{A}", "需要：两者\n证据：证据2、證據一\n核对：{C}")),
    Case("label_in_full_width", GOOD.replace("{A}", "need：both\nevidence：Ｅ２，Ｅ１\ncheck：{C}")),
    Case("label_as_a_number", GOOD.replace("{A}", "need: both\nevidence: 2, 1\ncheck: {C}")),
    Case("label_twice", GOOD.replace("{A}", "need: both\nevidence: E2, E1, E2\ncheck: {C}")),
    Case("label_ten_is_not_one", GOOD.replace("{A}", "need: both\nevidence: E10\ncheck: {C}"), cited=("E10",)),
    Case("fields_on_one_line", GOOD.replace("{A}", "need: both; evidence: E2, E1; check: {C}")),
    Case("fields_in_bold", GOOD.replace("{A}", "- **need:** both\n- **evidence:** E2, E1\n- **check:** {C}")),
    Case("free_text", GOOD.replace("{A}", "E2 is newer than (E1), so {C}")),
    Case("free_text_in_chinese", GOOD.replace("{A}", "证据2比E1新，所以{C}")),
    Case("free_text_names_a_model", GOOD.replace("{A}", "E2 and E1; multilingual-e5-small, e3 and 1e7: {C}")),
    Case("no_evidence", GOOD.replace("{A}", "need: none\nevidence: none\ncheck: {C}"), cited=()),
    Case("no_evidence_in_chinese", GOOD.replace("{A}", "需要：无\n证据：无\n核对：{C}"), cited=()),
    Case("nothing_found_and_said_so", GOOD.replace("{A}", "need: both\nevidence: none\ncheck: {C}"), cited=()),
    Case("need_without_evidence", GOOD.replace("{A}", "need: both\ncheck: {C}"), violations=("uncited",), cited=()),
    Case(
        "need_copied_from_the_form",
        GOOD.replace("{A}", "need: knowledge | experience | both | none\nevidence: E1\n{C}"),
        violations=("unclear_need",),
        cited=("E1",),
    ),
]

CASES = [
    *WELL_FORMED,
    *THOUGHTS,
    *UNCLOSED,
    *ONLY_ONE,
    *MISWRITTEN,
    *WRAPPED,
    *REPEATED,
    *OUTSIDE,
    *QUOTED,
    *OTHER_SHAPES,
    *LABELLED,
]
