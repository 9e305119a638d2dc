"""The chat page in a real browser, used by keyboard and mouse as a person does."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from arpm.generation.base import GenerationError
from tests.support import ScriptedBackend, reply
from tests.web.browser import PHONE, needs_chromium
from tests.web.conftest import Opener, Starter
from tests.web.support import GatedBackend

HOSTILE = "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"

pytestmark = needs_chromium


class TestAPersonAtThePage:
    def test_from_the_empty_page_to_an_explained_answer(self, serve: Starter, visit: Opener) -> None:
        down = GenerationError("unreachable", "The model's server is not running.")
        script = [reply("In the boat house.", "E1", "knowledge", "E1 says so."), down, reply("我在。")]
        site = serve(ScriptedBackend(script, pause=0.005))
        site.upload("harbour.md", b"# Boats\n\nAnn keeps her canoe in the boat house.")
        page = visit(site.url).page
        _create(page)
        send(page, "Where is my canoe?")
        expect(page.locator("#log")).to_contain_text("In the boat house.")
        _explained(page)
        _failed_and_retried(page)
        page.get_by_role("button", name="Clear context").click()
        expect(page.locator("#log")).to_contain_text("Context cleared")
        page.reload()
        expect(page.locator("#log")).to_contain_text("In the boat house.")
        expect(page.locator("#log")).to_contain_text("我在。")
        expect(page).to_have_title(re.compile(re.escape(f"Mo {HOSTILE[:10]}")))
        (timeline,) = site.service.timelines()
        kinds = [turn.kind for turn in site.service.catalogue.turns(timeline.id)]
        assert kinds == ["turn", "turn_failed", "turn"]

    def test_stop_by_the_escape_key(self, serve: Starter, visit: Opener) -> None:
        site = serve(GatedBackend())
        page = visit(f"{site.url}#{site.timeline()}").page
        send(page, "Tell me everything.")
        expect(page.locator("#live")).to_contain_text("One moment.")
        page.keyboard.press("Escape")
        expect(page.locator("#log")).to_contain_text("You stopped this reply.")
        expect(page.locator("#stop")).to_be_hidden()

    def test_on_a_phone_nothing_is_wider_than_the_screen(self, serve: Starter, visit: Opener) -> None:
        site = serve()
        timeline = site.timeline("Ann", "A" * 200)
        site.send(timeline, "w" * 500)
        page = visit(f"{site.url}#{timeline}", PHONE, dark=True).page
        expect(page.locator("#log")).to_contain_text("Understood.")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        page.locator("#show-why").click()
        expect(page.locator("#panel")).to_contain_text("no evidence")
        assert page.evaluate("document.querySelector('#why').getBoundingClientRect().right") <= PHONE[0]


def send(page: Page, message: str) -> None:
    """Write a message and send it by the keyboard alone."""
    # The box is there before its timeline is loaded; the focus comes with it.
    expect(page.locator("#message")).to_be_visible()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    expect(page.locator("#message")).to_be_focused()
    page.keyboard.insert_text(message)
    page.keyboard.press("Enter")


def _create(page: Page) -> None:
    page.locator("#log").get_by_role("button").click()
    sheet = page.get_by_role("dialog")
    for name, value in (("Your name", "Ann"), ("Character's name", f"Mo {HOSTILE}"), ("Persona", HOSTILE)):
        sheet.get_by_label(name, exact=True).fill(value)
    sheet.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator("#message")).to_be_focused()


def _explained(page: Page) -> None:
    panel = page.locator("#panel")
    expect(panel).to_contain_text("Ann keeps her canoe")
    expect(panel.get_by_text("cited and used").first).to_be_visible()
    page.get_by_role("tab", name="Candidates").click()
    expect(panel.locator("tbody tr.kept")).to_have_count(1)
    assert panel.locator("thead").first.locator("th").count() > 15
    panel.locator("thead button").first.click()
    expect(panel.locator("th[aria-sort]").first).to_be_visible()
    for tab, words in (("Analysis", "E1 says so."), ("Prompt", "boat house"), ("Record", "sha256:")):
        page.get_by_role("tab", name=tab).click()
        expect(panel).to_contain_text(words)
    page.get_by_role("tab", name="Instructions").click()
    panel.get_by_role("textbox").fill("Always answer briefly.")
    page.keyboard.press("Enter")
    expect(panel).to_contain_text("Always answer briefly.")
    panel.get_by_role("button", name="Retire").click()
    expect(panel.locator("details")).to_contain_text("Retired (1)")


def _failed_and_retried(page: Page) -> None:
    send(page, "你在吗？")
    expect(page.locator("#log")).to_contain_text("The model did not answer.")
    page.locator("#log .failed").get_by_role("button", name="Put the words back").click()
    expect(page.locator("#message")).to_have_value("你在吗？")
    page.keyboard.press("Enter")
    expect(page.locator("#log")).to_contain_text("我在。")
