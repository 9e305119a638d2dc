"""Bad input at the pages: each thing that goes wrong is visible, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, Route, expect

from arpm.turn import MESSAGE_LIMIT
from tests.patience import PATIENCE, until
from tests.support import ScriptedBackend, reply
from tests.web.browser import PHONE, needs_chromium
from tests.web.conftest import Opener, Starter
from tests.web.relay import relayed
from tests.web.support import GatedBackend, serving
from tests.web.test_browser import send

pytestmark = needs_chromium

MIXED = "👩‍👩‍👧‍👦 🇪🇺 مرحبا بالعالم שלום עולם 你好 e\u0301 \u202eevil\u202c ﷽"


class TestTwoTabs:
    def test_sending_at_once_loses_neither_message(self, serve: Starter, visit: Opener) -> None:
        site = serve(backend := GatedBackend())
        address = f"{site.url}#{(timeline := site.timeline())}"
        first, second = visit(address).page, visit(address)
        second.expect("409")
        for page in (first, second.page):
            expect(page.locator("#message")).to_be_focused()
        send(first, "From the first tab.")
        expect(first.locator("#live")).to_contain_text("One moment.")
        send(second.page, "From the second tab.")
        expect(second.page.locator("#notices")).to_contain_text("is answering another message")
        expect(second.page.locator("#message")).to_have_value("From the second tab.")
        # It follows what the first tab sent.
        expect(second.page.locator("#live")).to_contain_text("One moment.")
        backend.gate.set()
        for page in (first, second.page):
            expect(page.locator("#log")).to_contain_text("And here is the rest.")
        second.page.locator("#message").press("Enter")
        expect(second.page.locator("#log article")).to_have_count(2)
        assert [turn["message"] for turn in site.turns(timeline)] == ["From the first tab.", "From the second tab."]

    def test_a_turn_that_ends_before_it_can_be_followed_is_shown(self, serve: Starter, visit: Opener) -> None:
        site = serve(backend := GatedBackend())
        address = f"{site.url}#{(timeline := site.timeline())}"
        send(visit(address).page, "From the first tab.")
        assert backend.started.wait(PATIENCE)

        def too_late(route: Route) -> None:
            backend.gate.set()
            until(lambda: site.http.get(f"/api/v1/timelines/{timeline}").json()["running"] is None)
            route.continue_()

        second = visit(address, prepare=lambda context: context.route("**/messages/running", too_late))
        second.expect("404")
        expect(second.page.locator("#log article")).to_have_count(1)
        expect(second.page.locator("#log")).to_contain_text("And here is the rest.")
        expect(second.page.locator("#notices")).to_be_empty()
        assert any("404" in problem for problem in second.problems), "it was not too late"

    def test_a_round_that_was_answered_again_elsewhere(self, serve: Starter, visit: Opener) -> None:
        site = serve(ScriptedBackend([reply("First."), reply("Second."), reply("Third.")]))
        site.send(timeline := site.timeline(), "Say something.")
        first, second = visit(f"{site.url}#{timeline}").page, visit(f"{site.url}#{timeline}")
        second.expect("400")
        for page in (first, second.page):
            expect(page.locator("#log")).to_contain_text("First.")
        first.get_by_role("button", name="Answer again").click()
        expect(first.locator("#log")).to_contain_text("Second.")
        second.page.get_by_role("button", name="Answer again").click()
        expect(second.page.locator("#notices")).not_to_be_empty()
        expect(second.page.locator("#log")).to_contain_text("Second.")
        assert [turn["response"] for turn in site.turns(timeline)] == ["Second."]


class TestTheConnection:
    def test_lost_in_mid_stream_and_found_again(self, serve: Starter, visit: Opener) -> None:
        site = serve(backend := GatedBackend())
        with relayed(site.port) as relay:
            seen = visit(f"{relay.url}#{(timeline := site.timeline())}")
            seen.expect("ERR_", "404")
            page = seen.page
            send(page, "Hello?")
            expect(page.locator("#live")).to_contain_text("One moment.")
            relay.cut()
            expect(page.locator("#notices")).to_contain_text("The connection was lost.")
            relay.mend()
            backend.gate.set()
            expect(page.locator("#log")).to_contain_text("And here is the rest.")
        assert [turn["message"] for turn in site.turns(timeline)] == ["Hello?"]

    def test_never_there(self, serve: Starter, visit: Opener) -> None:
        site = serve()
        # With a clock of its own: the page tries again and again before it gives up.
        seen = visit(f"{site.url}#{(timeline := site.timeline())}", prepare=lambda context: context.clock.install())
        seen.expect("ERR_")
        page = seen.page
        expect(page.locator("#message")).to_be_focused()
        page.route("**/messages", lambda route: route.abort())
        send(page, "Is anybody there?")
        for _ in range(10):
            page.clock.fast_forward(10_000)
        expect(page.locator("#notices")).to_contain_text("cannot be reached")
        expect(page.locator("#message")).to_have_value("Is anybody there?")
        page.unroute("**/messages")
        page.locator("#message").press("Enter")
        expect(page.locator("#log article")).to_have_count(1)
        assert len(site.turns(timeline)) == 1

    def test_reload_while_a_reply_is_written(self, serve: Starter, visit: Opener) -> None:
        site = serve(backend := GatedBackend())
        page = visit(f"{site.url}#{(timeline := site.timeline())}").page
        send(page, "Hello?")
        expect(page.locator("#live")).to_contain_text("One moment.")
        page.locator("#message").fill("And another thing, not sent yet")
        page.reload()
        expect(page.locator("#live")).to_contain_text("One moment.")
        expect(page.locator("#message")).to_have_value("And another thing, not sent yet")
        backend.gate.set()
        expect(page.locator("#log")).to_contain_text("And here is the rest.")
        assert [turn["message"] for turn in site.turns(timeline)] == ["Hello?"]

    def test_a_stale_page_after_the_server_restarted(self, logs: Path, visit: Opener, tmp_path: Path) -> None:
        with serving(logs) as site:
            timeline, port = site.timeline(), site.port
            site.send(timeline, "Before.")
            seen = visit(f"{site.url}#{timeline}")
            seen.expect("ERR_", "404", "503", "400")
            page = seen.page
            expect(page.locator("#log")).to_contain_text("Before.")
        with serving(logs, port=port) as site:
            send(page, "After.")
            expect(page.locator("#log article")).to_have_count(2)
            assert [turn["message"] for turn in site.turns(timeline)] == ["Before.", "After."]
        with serving(tmp_path / "other", port=port) as site:
            site.timeline("Bo", "Else")
            send(page, "Into nothing.")
            expect(page.locator("#notices")).not_to_be_empty()
            expect(page.get_by_text("Into nothing.").or_(page.locator("#message"))).not_to_have_count(0)
            # The words are there to be copied, in the box or beside the notice.
            assert "Into nothing." in page.evaluate(_EVERYWHERE)
            expect(page.locator("#timelines")).to_contain_text("Else")
            page.goto("about:blank")


# All words that a page holds for the person: text, fields, and what it keeps for the next visit to a timeline.
_EVERYWHERE = """() => document.body.innerText + document.querySelector("#message").value
  + Object.values(sessionStorage).join()"""


class TestWords:
    def test_a_hundred_thousand_characters_and_one_more(self, serve: Starter, visit: Opener) -> None:
        site = serve()
        seen = visit(f"{site.url}#{(timeline := site.timeline())}")
        seen.expect("400")
        page = seen.page
        expect(page.locator("#message")).to_be_focused()
        page.locator("#message").fill("长" * (MESSAGE_LIMIT + 1))
        expect(page.locator("#message-count")).to_contain_text("100,001 of 100,000")
        page.locator("#message").press("Enter")
        expect(page.locator("#notices")).to_contain_text("100,000")
        assert len(page.locator("#message").input_value()) == MESSAGE_LIMIT + 1
        page.locator("#message").fill("长" * MESSAGE_LIMIT)
        page.locator("#message").press("Enter")
        expect(page.locator("#log article")).to_have_count(1)
        (turn,) = site.turns(timeline)
        assert turn["message"] == "长" * MESSAGE_LIMIT
        for size in ((1280, 800), PHONE):
            page.set_viewport_size({"width": size[0], "height": size[1]})
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0]

    def test_emoji_and_right_to_left(self, serve: Starter, visit: Opener) -> None:
        site = serve(ScriptedBackend([reply(f"{MIXED}\n\nمرحبا، هذا رد.")]))
        page = visit(f"{site.url}#{(timeline := site.timeline('עדי 🦜', 'ليلى'))}").page
        send(page, MIXED)
        expect(page.locator("#log .said.user .words")).to_have_text(MIXED)
        expect(page.locator("#log .said.character")).to_contain_text("مرحبا، هذا رد.")
        (turn,) = site.turns(timeline)
        assert turn["message"] == MIXED
        last = page.locator("#log .said.character .words > *").last
        assert last.evaluate("node => getComputedStyle(node).direction") == "rtl"

    def test_while_an_input_method_composes_enter_does_not_send(self, serve: Starter, visit: Opener) -> None:
        site = serve()
        page = visit(f"{site.url}#{(timeline := site.timeline())}").page
        expect(page.locator("#message")).to_be_focused()
        page.locator("#message").fill("你好")
        page.locator("#message").evaluate(
            "box => box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true }))"
        )
        expect(page.locator("#message")).to_have_value("你好")
        assert site.turns(timeline) == []


class TestAddresses:
    def test_the_back_button_goes_through_timelines(self, serve: Starter, visit: Opener) -> None:
        site = serve()
        one, two = site.timeline("Ann", "One"), site.timeline("Ann", "Two")
        page = visit(f"{site.url}#{one}").page
        expect(page.locator("#whom")).to_contain_text("One")
        page.locator("#message").fill("Not sent yet")
        page.locator("#timelines").get_by_role("link", name="Two").click()
        expect(page.locator("#whom")).to_contain_text("Two")
        expect(page.locator("#message")).to_have_value("")
        page.go_back()
        expect(page.locator("#whom")).to_contain_text("One")
        expect(page.locator("#message")).to_have_value("Not sent yet")
        page.go_forward()
        expect(page.locator("#whom")).to_contain_text("Two")
        assert page.url.endswith(two)

    def test_a_timeline_that_is_not_there(self, serve: Starter, visit: Opener) -> None:
        site = serve()
        site.timeline("Ann", "Mo")
        for path in ("", "memory", "panel"):
            page = visit(f"{site.url}{path}#t-000000000000").page
            expect(page.get_by_text("Mo", exact=False).first).to_be_attached()
            assert _is_usable(page)


def _is_usable(page: Page) -> bool:
    return page.get_by_role("button").first.is_enabled()


class TestThePanel:
    def test_values_out_of_range_are_told_at_the_field_and_kept(self, serve: Starter, visit: Opener) -> None:
        site = serve()
        page = visit(f"{site.url}panel#{(timeline := site.timeline())}").page
        before = site.http.get(f"/api/v1/timelines/{timeline}/config").json()
        field = page.get_by_label("history_k", exact=True)
        for given, words in (
            ("999", "too high"),
            ("-1", "too low"),
            ("1.5", "whole numbers"),
            ("many", "not a number"),
            ("", ""),
        ):
            field.fill(given)
            expect(field).to_have_attribute("aria-invalid", "true")
            expect(page.locator("#settings")).to_contain_text(words)
        field.fill("999")
        page.get_by_role("button", name="Apply 1 change").click()
        expect(page.locator("#apply")).to_contain_text("cannot be used as written")
        assert site.http.get(f"/api/v1/timelines/{timeline}/config").json() == before
        page.reload()
        expect(page.get_by_label("history_k", exact=True)).to_have_value("999")

    def test_what_the_server_refuses_is_told_and_kept(self, serve: Starter, visit: Opener) -> None:
        site = serve()
        seen = visit(f"{site.url}panel#{site.timeline()}")
        seen.expect("400")
        page = seen.page
        error = '{"error": {"kind": "input", "message": "history_k must be at most 2, got 3."}}'
        page.route(
            "**/config",
            lambda route: (
                route.continue_()
                if route.request.method == "GET"
                else route.fulfill(status=400, content_type="application/json", body=error)
            ),
        )
        page.get_by_label("history_k", exact=True).fill("3")
        page.get_by_role("button", name="Apply 1 change").click()
        expect(page.get_by_text("history_k must be at most 2").first).to_be_visible()
        expect(page.get_by_label("history_k", exact=True)).to_have_value("3")
