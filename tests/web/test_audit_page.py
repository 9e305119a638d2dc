"""The audit page in a real browser: ledgers, replay, what if, review by the keyboard alone, statistics, getting around.

Checkpoints, comparing, the lives of memories and exports are in `test_audit_page_more`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from arpm.audit.arithmetic import Disagreement
from arpm.audit.replay import TurnReplay
from arpm.ledger import LEDGER_NAME
from tests.patience import PATIENCE
from tests.support import ScriptedBackend, reply
from tests.web.browser import PHONE, needs_chromium
from tests.web.conftest import Opener, Starter
from tests.web.support import Site
from tests.web.test_accessibility import look

HOSTILE = "<img src=x onerror=\"document.title='hacked'\">"
TABS = ("ledgers", "checkpoints", "replay", "whatif", "diff", "lives", "review", "statistics", "exports")

pytestmark = needs_chromium


@pytest.fixture
def told(serve: Starter) -> tuple[Site, str]:
    """A server with two timelines and a document; the first has three turns."""
    first = reply("In the boat house.", "E1", "knowledge", "E1 says so.")
    site = serve(ScriptedBackend([first, reply("好的。"), reply("Blue.")]))
    site.upload("harbour.md", "# Boats\n\nAnn keeps her canoe in the boat house. 安的独木舟在船屋里。".encode())
    site.timeline("Bo", "小雨")
    timeline = site.timeline("Ann", f"Mo {HOSTILE}")
    for message in ("Where is my canoe?", f"它是蓝色的。{HOSTILE}", "Which canoe is mine?"):
        site.send(timeline, message)
    return site, timeline


def opened(visit: Opener, site: Site, timeline: str, tab: str, *given: Any, more: str = "", **options: Any) -> Page:
    page = visit(f"{site.url}audit?tab={tab}{more}#{timeline}", *given, **options).page
    expect(page.locator(f"body[data-ready={tab}]")).to_be_visible()
    return page


def drawn(page: Page, count: int) -> None:
    """So many pictures are shown, each with words for whoever cannot see it."""
    pictures = page.locator(".plot img")
    expect(pictures).to_have_count(count)
    for picture in pictures.all():
        expect(picture).to_have_js_property("complete", True)
        assert picture.evaluate("node => node.naturalWidth") > 100
        assert len(picture.get_attribute("alt") or "") > 20


class TestEmpty:
    @pytest.mark.parametrize("tab", TABS)
    def test_every_tab_teaches(self, serve: Starter, visit: Opener, tab: str) -> None:
        page = visit(f"{serve().url}audit?tab={tab}").page
        expect(page.locator("#view .empty")).to_be_visible()
        look(page, f"{tab}, empty")

    def test_a_timeline_without_replies(self, serve: Starter, visit: Opener) -> None:
        site = serve()
        timeline = site.timeline()
        for tab, words in (
            ("review", "no reply yet"),
            ("statistics", "No model has replied"),
            ("lives", "No turn of this timeline had a memory"),
            ("diff", "Nothing is compared yet"),
            ("exports", "Nothing was exported yet"),
        ):
            expect(opened(visit, site, timeline, tab).locator("#view")).to_contain_text(words)


class TestLedgers:
    def test_verified_as_good_then_damaged_and_named(self, told: tuple[Site, str], visit: Opener) -> None:
        site, timeline = told
        page = opened(visit, site, timeline, "ledgers")
        expect(page.locator("tbody tr")).to_have_count(3)
        expect(page.locator("tbody")).to_contain_text("not verified yet")
        page.get_by_role("button", name="Verify all ledgers").click()
        expect(page.locator(".verdict")).to_have_text("3 ledgers are as written, to the last byte.")
        expect(page.locator("tbody .mark.strong")).to_have_count(3)
        path = site.service.logs / timeline / LEDGER_NAME
        path.write_bytes(path.read_bytes().replace(b"In the boat house.", b"In the goat house.", 1))
        page.reload()
        # What was verified last is still shown.
        expect(page.locator(".verdict")).to_contain_text("3 ledgers are as written")
        page.get_by_role("button", name="Verify all ledgers").click()
        expect(page.locator(".verdict")).to_have_text("1 ledger disagrees; 2 of 3 good.")
        expect(page.locator(".found details")).to_contain_text("its body does not match its body_digest")
        look(page, "damaged ledger")

    def test_events_open_and_lead_to_the_chat(self, told: tuple[Site, str], visit: Opener) -> None:
        site, timeline = told
        page = opened(visit, site, timeline, "ledgers")
        page.get_by_role("link", name=re.compile("^Ann with Mo")).click()
        expect(page.locator(".event-list > li")).to_have_count(5)
        page.locator("#event-kind").select_option("turn")
        expect(page.locator(".event-list > li")).to_have_count(3)
        page.locator(".event summary").last.click()
        expect(page.locator(".event pre")).to_contain_text('"message": "Where is my canoe?"')
        look(page, "events")
        page.get_by_role("link", name="round 1 in the chat").click()
        expect(page.locator("#log")).to_contain_text("In the boat house.")
        page.go_back()
        expect(page.locator(".event-list > li")).to_have_count(3)
        page.get_by_role("link", name="All ledgers").click()
        expect(page.locator("tbody tr")).to_have_count(3)


def ended(page: Page, button: str) -> None:
    """Wait for a run's end, after which what it told is not drawn anew: a person may have opened some of it."""
    expect(page.get_by_role("button", name=button, exact=True)).to_be_enabled()
    first = "document.querySelector('.outcome').firstElementChild"
    page.evaluate(f"{first}.dataset.drawn = 'once'")
    kept = page.evaluate(f"new Promise((say) => setTimeout(() => say({first}.dataset.drawn), 300))")
    assert kept == "once"


class TestReplay:
    def test_recorded_turns_come_out_the_same(self, told: tuple[Site, str], visit: Opener) -> None:
        page = opened(visit, *told, "replay")
        expect(page.locator(".outcome")).to_contain_text("Nothing was replayed yet")
        page.get_by_label("Which timelines").select_option("all")
        page.get_by_role("button", name="Replay", exact=True).click()
        expect(page.locator(".verdict")).to_have_text("All 3 turns come out exactly as recorded.")
        expect(page.locator("tbody tr")).to_have_count(2)
        look(page, "replayed")

    def test_what_disagrees_is_listed_by_place_and_turn(
        self, told: tuple[Site, str], visit: Opener, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        site, timeline = told
        turn = site.turns(timeline)[0]
        found = (Disagreement("candidates.experience[m-1].final", 0.5, 0.25), Disagreement("round", 1, HOSTILE))

        def other(past: Any, *_: object) -> Iterator[TurnReplay]:
            if past.timeline == timeline:
                yield TurnReplay(timeline, turn["id"], turn["seq"], turn["round"], found)
                yield TurnReplay(timeline, "e" * 32, 9, None, (), ("the record was erased",))

        monkeypatch.setattr("arpm.web.audits.replayed", other)
        page = opened(visit, site, timeline, "replay")
        page.get_by_role("button", name="Replay", exact=True).click()
        outcome = page.locator(".outcome")
        expect(outcome).to_contain_text("1 of 2 turns differ from their records.")
        expect(outcome).to_contain_text("candidates.experience[…].final")
        expect(outcome.locator(".opened-turns")).to_contain_text(HOSTILE)
        expect(outcome).to_contain_text("1 turn: the record was erased")
        look(page, "disagreements")

    def test_a_model_answers_again_beside_what_was_recorded(self, told: tuple[Site, str], visit: Opener) -> None:
        page = opened(visit, *told, "replay")
        expect(page.get_by_label("Model")).to_be_hidden()
        page.get_by_label("How deep").select_option("generation")
        page.get_by_label("Model").select_option("scripted")
        page.get_by_role("button", name="Replay", exact=True).click()
        expect(page.locator(".outcome")).to_contain_text("Answered again: 3 turns")
        ended(page, "Replay")
        page.locator(".opened-turns details:has(.sides) > summary").first.click()
        sides = page.locator(".sides").first
        expect(sides.locator(".reply-side").first).to_contain_text("In the boat house.")
        expect(sides.locator(".reply-side").last).to_contain_text("Blue.")
        look(page, "answered again")
        page.reload()
        # The run is still there, and so is what it was asked with.
        expect(page.get_by_label("Model")).to_have_value("scripted")
        expect(page.locator(".outcome")).to_contain_text("Answered again: 3 turns")

    def test_progress_and_a_stop_by_the_escape_key(
        self, told: tuple[Site, str], visit: Opener, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        site, timeline = told
        first = threading.Event()

        def slow(past: Any, *_: object) -> Iterator[TurnReplay]:
            for number in range(1_000_000):
                first.set()
                yield TurnReplay(timeline, "e" * 32, number, number, ())
                threading.Event().wait(0.02)

        monkeypatch.setattr("arpm.web.audits.replayed", slow)
        page = opened(visit, site, timeline, "replay")
        page.get_by_role("button", name="Replay", exact=True).click()
        expect(page.locator(".run progress")).to_be_visible()
        assert first.wait(PATIENCE)
        page.reload()
        # Nobody lost it: the page that comes back follows the same run.
        expect(page.locator(".run")).to_contain_text(re.compile(r"\d+ of \d+ turns"))
        look(page, "running")
        page.keyboard.press("Escape")
        expect(page.locator(".run")).to_contain_text("Stopped.")
        expect(page.get_by_role("button", name="Replay", exact=True)).to_be_enabled()


class TestWhatIf:
    def test_a_setting_changed_and_what_it_would_have_done(self, told: tuple[Site, str], visit: Opener) -> None:
        page = opened(visit, *told, "whatif")
        page.get_by_role("button", name="Ask").click()
        expect(page.get_by_role("alert").filter(has_text="Nothing is changed")).to_be_visible()
        page.get_by_label("Change a setting").select_option("knowledge_enabled")
        page.get_by_role("button", name="Ask").click()
        expect(page.locator(".outcome")).to_contain_text("Turns with other evidence")
        expect(page.locator(".outcome")).to_contain_text("Where is my canoe?")
        ended(page, "Ask")
        page.locator(".which summary").first.click()
        expect(page.locator(".which a").first).to_have_attribute("href", re.compile("^/memory"))
        drawn(page, 1)
        look(page, "what if")
        page.reload()
        expect(page.locator("#view")).to_contain_text("Asked: knowledge_enabled = off")
        expect(page.locator(".outcome")).to_contain_text("Where is my canoe?")

    def test_another_model_answers_beside_the_recorded_reply(self, told: tuple[Site, str], visit: Opener) -> None:
        page = opened(visit, *told, "whatif")
        page.locator("#preset").select_option("G")
        page.get_by_label("Also answer with").select_option("scripted")
        page.get_by_role("button", name="Ask").click()
        expect(page.locator("#view")).to_contain_text("answered by scripted")
        ended(page, "Ask")
        page.get_by_text("Both replies").first.click()
        expect(page.locator(".reply-side").first).to_contain_text("In the boat house.")
        look(page, "what if, with a model")

    def test_a_value_that_cannot_be_used_is_pointed_at(self, told: tuple[Site, str], visit: Opener) -> None:
        page = opened(visit, *told, "whatif")
        page.get_by_label("Change a setting").select_option("history_k")
        page.get_by_label("history_k", exact=True).fill("many")
        page.get_by_role("button", name="Ask").click()
        expect(page.get_by_label("history_k", exact=True)).to_be_focused()
        expect(page.get_by_role("alert").filter(has_text="cannot be used")).to_be_visible()


class TestReview:
    def test_by_the_keyboard_alone(self, told: tuple[Site, str], visit: Opener) -> None:
        site, timeline = told
        page = opened(visit, site, timeline, "review")
        expect(page.locator(".queue")).to_contain_text("Write your name above")
        page.get_by_label("Your name").fill("Ada 王")
        page.keyboard.press("Tab")
        card = page.locator(".reply-card")
        expect(card).to_contain_text("Where is my canoe?")
        card.focus()
        page.keyboard.press("y")
        page.keyboard.press("y")
        # Support needs proof first.
        expect(page.locator("#quote")).to_be_focused()
        page.keyboard.insert_text("in the boat house")
        page.locator("#quote-from").select_option(label="E1")
        page.locator("#reason").focus()
        page.keyboard.insert_text("E1 says so. 证据如此。")
        page.keyboard.press("Control+Enter")
        expect(card).to_contain_text("它是蓝色的。")
        expect(card).to_be_focused()
        page.keyboard.press("n")
        page.keyboard.press("u")
        page.keyboard.insert_text("Nothing was shown.")
        page.keyboard.press("Control+Enter")
        expect(card).to_contain_text("Which canoe is mine?")
        page.keyboard.press("k")
        expect(card).to_contain_text("Your review: support no, correct unsure.")
        expect(page.locator(".queue")).to_contain_text("2 of 3 replies reviewed by you")
        expect(page.locator(".outcome")).to_contain_text("Reviews of Ada 王")
        expect(page.locator(".outcome svg")).to_be_visible()
        look(page, "review")
        rows = site.service.catalogue.reviews(timeline)
        assert [(row.reviewer, row.support, row.correct) for row in rows] == [
            ("Ada 王", "yes", "yes"),
            ("Ada 王", "no", "unsure"),
        ]
        assert rows[0].reason == "E1 says so. 证据如此。"

    def test_what_is_missing_and_what_the_server_refuses_is_said(self, told: tuple[Site, str], visit: Opener) -> None:
        site, timeline = told
        seen = visit(f"{site.url}audit?tab=review#{timeline}")
        seen.expect("400")
        page = seen.page
        page.get_by_label("Your name").fill("Ada")
        page.keyboard.press("Tab")
        page.get_by_role("button", name="Save and go on").click()
        alert = page.locator(".marking [role=alert]")
        expect(alert).to_have_text("Answer both questions and give a reason.")
        page.locator(".reply-card").focus()
        page.keyboard.press("y")
        page.keyboard.press("y")
        page.locator("#reason").fill("So.")
        page.get_by_role("button", name="Save and go on").click()
        expect(alert).to_contain_text("Nothing was written. Support needs proof")
        page.get_by_role("button", name=re.compile("^Quote E1")).click()
        expect(page.locator("#quote")).to_have_value(re.compile("boat house"))
        page.get_by_role("button", name="Save and go on").click()
        expect(page.locator(".queue")).to_contain_text("1 of 3 replies reviewed by you")

    def test_two_reviewers_and_how_far_they_agree(self, told: tuple[Site, str], visit: Opener) -> None:
        site, timeline = told
        for turn in site.turns(timeline):
            for reviewer, correct in (("Ada", "yes"), ("Bo", "no")):
                given = {"reviewer": reviewer, "support": "no", "correct": correct, "reason": "So."}
                assert site.http.post(f"/api/v1/turns/{turn['id']}/reviews", json=given).status_code == 201
        page = opened(visit, site, timeline, "review")
        expect(page.locator(".outcome")).to_contain_text("Agreement of the reviewers")
        expect(page.locator(".outcome")).to_contain_text("Ada and Bo")
        page.locator(".outcome summary").first.click()
        expect(page.locator(".outcome details table tbody tr")).to_have_count(6)
        look(page, "agreement")


class TestStatistics:
    def test_by_stage(self, told: tuple[Site, str], visit: Opener) -> None:
        page = opened(visit, *told, "statistics")
        expect(page.locator("#view table").first).to_contain_text("Session 1")
        page.get_by_label("Stages").select_option("all")
        expect(page.locator("#view table").first).to_contain_text("scripted-1")
        expect(page).to_have_url(re.compile("stage=all"))
        page.get_by_label("Which timelines").select_option("all")
        expect(page.locator("#view table").first).to_contain_text("scripted-1")
        drawn(page, 2)
        look(page, "statistics")

    def test_tables_are_saved_as_files(self, told: tuple[Site, str], visit: Opener) -> None:
        page = opened(visit, *told, "statistics")
        for name in ("Save the table as CSV", "Save it in the columns of the published table"):
            with page.expect_download() as saving:
                page.get_by_role("link", name=name).click()
            assert saving.value.suggested_filename == "statistics.csv"
            assert "scripted-1" in Path(saving.value.path()).read_text("utf-8-sig")


class TestGettingAround:
    def test_tabs_by_arrow_keys_and_back(self, told: tuple[Site, str], visit: Opener) -> None:
        page = opened(visit, *told, "ledgers")
        page.get_by_role("tab", name="Ledgers").focus()
        for tab in TABS[1:]:
            page.keyboard.press("ArrowRight")
            expect(page.locator(f"#tab-{tab}")).to_have_attribute("aria-selected", "true")
        page.go_back()
        expect(page.locator(f"#tab-{TABS[-2]}")).to_have_attribute("aria-selected", "true")

    def test_another_timeline_and_one_that_is_gone(self, told: tuple[Site, str], visit: Opener) -> None:
        site, timeline = told
        page = opened(visit, site, "t-000000000000", "statistics")
        expect(page.locator("#notices")).to_contain_text("The timeline in the address is not here.")
        page.locator("#timeline").select_option(timeline)
        expect(page).to_have_url(re.compile(f"#{timeline}$"))
        expect(page.get_by_role("link", name="Memory", exact=True)).to_have_attribute(
            "href", re.compile(f"/memory#{timeline}$")
        )

    def test_a_server_that_does_not_answer_is_said_in_words(self, told: tuple[Site, str], visit: Opener) -> None:
        site, timeline = told
        seen = visit(f"{site.url}audit?tab=ledgers#{timeline}")
        seen.expect("500")
        page = seen.page
        expect(page.locator("body[data-ready=ledgers]")).to_be_visible()
        page.route("**/audit/statistics**", lambda route: route.fulfill(status=500, body="{}"))
        page.get_by_role("tab", name="Statistics").click()
        expect(page.get_by_role("alert").filter(has_text="This could not be read.")).to_be_visible()
        page.unroute("**/audit/statistics**")
        page.get_by_role("button", name="Try again").click()
        expect(page.locator("#view table").first).to_be_visible()

    @pytest.mark.parametrize("tab", TABS)
    def test_narrow_and_dark(self, told: tuple[Site, str], visit: Opener, tab: str) -> None:
        page = opened(visit, *told, tab, (360, PHONE[1]), dark=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
