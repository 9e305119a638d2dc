"""Erasing on the memory page in a real browser: replies that repeat the words are named, and go along when asked to."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support import ScriptedBackend, reply
from tests.test_erasure import ENGLISH, holding
from tests.web.browser import needs_chromium
from tests.web.conftest import Opener, Starter
from tests.web.support import Site
from tests.web.test_accessibility import look

pytestmark = needs_chromium


@pytest.fixture
def told(serve: Starter) -> tuple[Site, str]:
    """A secret, a reply that repeats it, one that only saw it, and a title that repeats it."""
    script = ["Noted.", "You said that my locker code is Zanzibar-4471.", "水壶是红色的。"]
    site = serve(ScriptedBackend([reply(text) for text in script]))
    timeline = site.timeline("Lin", "Mei")
    for message in (ENGLISH, "What did I say?", "The kettle is red."):
        site.send(timeline, message)
    site.service.rename(timeline, "About Zanzibar-4471")
    return site, timeline


def asked(visit: Opener, site: Site, timeline: str) -> Page:
    """The page with the reach of erasing the secret open."""
    page = visit(f"{site.url}memory?tab=experience#{timeline}").page
    page.get_by_role("checkbox", name="Choose: round 1,").check()
    page.get_by_role("group", name="What to do with the chosen memories").get_by_role("button", name="Erase").click()
    expect(page.get_by_role("dialog").locator("#confirm-words")).to_be_visible()
    return page


def test_what_repeats_it_is_named_and_goes_along(told: tuple[Site, str], visit: Opener) -> None:
    site, timeline = told
    logs = site.service.settings.logs
    page = asked(visit, site, timeline)
    sheet = page.get_by_role("dialog")
    expect(sheet).to_contain_text(
        "2 other replies, made with them in view or repeating them, stay; 1 repeats their words"
    )
    expect(sheet).to_contain_text("1 other record repeats their words and stays")
    sheet.get_by_text("2 other replies, made with them").click()
    expect(sheet).to_contain_text("repeats “my locker code is zanzibar-4471.”")
    look(page, "the reach with replies")
    sheet.get_by_label("Reason").fill("asked to")
    sheet.get_by_label("go along where they repeat the words").check()
    expect(sheet.locator("#confirm-words")).to_have_text("erase 2 memories")
    expect(sheet).to_contain_text("1 other reply goes along")
    expect(sheet).to_contain_text("1 other record repeats their words and goes along")
    # What was chosen and written is still there.
    expect(sheet.get_by_label("go along where they repeat the words")).to_be_focused()
    expect(sheet.get_by_label("Reason")).to_have_value("asked to")
    look(page, "the reach with replies going along")
    sheet.get_by_label("To erase, type").fill("erase 2 memories")
    sheet.get_by_role("button", name="Erase for good").click()
    expect(sheet).to_contain_text("This receipt is in the ledger.")
    expect(sheet).to_contain_text("They were not erased:")
    expect(sheet).to_contain_text("水壶是红色的。")
    assert holding(Path(logs), "Zanzibar") == []


def test_by_the_keyboard_all_of_them_and_back(told: tuple[Site, str], visit: Opener) -> None:
    site, timeline = told
    page = asked(visit, site, timeline)
    sheet = page.get_by_role("dialog")
    sheet.get_by_label("stay", exact=True).focus()
    page.keyboard.press("ArrowDown")
    expect(sheet.locator("#confirm-words")).to_have_text("erase 2 memories")
    expect(sheet.get_by_label("go along where they repeat the words")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(sheet.locator("#confirm-words")).to_have_text("erase 3 memories")
    expect(sheet.get_by_label("all go along")).to_be_focused()
    # Quicker than the server: the last choice holds.
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(sheet.locator("#confirm-words")).to_have_text("erase 1 memory")
    expect(sheet.get_by_label("stay", exact=True)).to_be_checked()
    assert holding(Path(site.service.settings.logs), "Zanzibar")


def test_with_no_other_replies_nothing_more_is_asked(serve: Starter, visit: Opener) -> None:
    site = serve(ScriptedBackend([reply("Noted.")]))
    timeline = site.timeline("Lin", "Mei")
    site.send(timeline, ENGLISH)
    sheet = asked(visit, site, timeline).get_by_role("dialog")
    expect(sheet.get_by_role("radio")).to_have_count(0)
