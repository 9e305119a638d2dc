"""The chat page says which standing instructions a reply kept, where a person looks for why it is as it is."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.support import ScriptedBackend, reply
from tests.web.browser import needs_chromium
from tests.web.conftest import Opener, Starter
from tests.web.test_accessibility import look
from tests.web.test_audit_page import drawn

pytestmark = needs_chromium


def test_a_reply_s_instructions_are_shown_with_what_was_found(serve: Starter, visit: Opener) -> None:
    site = serve(ScriptedBackend([reply("Of course: it stands in the cellar, I think.")]))
    timeline = site.timeline()
    held = site.service.timeline(timeline)
    held.add_instruction("From now on, start every reply with the letter O.")
    held.add_instruction("Never use commas. <img src=x onerror=\"document.title='hacked'\">")
    held.add_instruction("以后说话温柔一点。")
    site.send(timeline, "Where is the kettle?")
    page = visit(f"{site.url}#{timeline}").page
    page.get_by_role("tab", name="Analysis").click()
    rows = page.locator("#panel .adherence > li")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("kept From now on, start every reply with the letter O.")
    expect(rows.nth(1)).to_contain_text("broken Never use commas.")
    expect(rows.nth(1)).to_contain_text("no commas: broken, found 1: “,” at character 34")
    expect(rows.nth(2)).to_contain_text("unchecked 以后说话温柔一点。")
    expect(rows.nth(2)).to_contain_text("cannot be checked by code")
    assert "hacked" not in page.title()
    look(page, "chat, analysis of a turn with instructions")


def test_a_reply_without_instructions_has_no_such_part(serve: Starter, visit: Opener) -> None:
    site = serve()
    timeline = site.timeline()
    site.send(timeline, "Where is the kettle?")
    page = visit(f"{site.url}#{timeline}").page
    page.get_by_role("tab", name="Analysis").click()
    expect(page.locator("#panel")).to_contain_text("The reply followed the protocol.")
    expect(page.locator("#panel .adherence")).to_have_count(0)


def test_statistics_say_how_many_were_kept(serve: Starter, visit: Opener) -> None:
    site = serve(ScriptedBackend([reply("Of course."), reply("No.")]))
    timeline = site.timeline()
    site.service.timeline(timeline).add_instruction("Always start with the letter O.")
    site.send(timeline, "One.")
    site.send(timeline, "Two.")
    page = visit(f"{site.url}/audit?tab=statistics#{timeline}").page
    table = page.get_by_role("table", name="Behaviour by stage and model")
    expect(table).to_contain_text("Instructions kept")
    expect(table.get_by_role("row").nth(1)).to_contain_text("50")
    # The curve along the rounds stands there as well, with its numbers beside it, newest first.
    drawn(page, 3)
    curve = page.locator(".adherence-curves")
    expect(curve.locator("img")).to_have_attribute("alt", re.compile("2 replies; 50.0 percent at round 2"))
    rows = curve.get_by_role("row")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("0 of 1")
    expect(rows.nth(2)).to_contain_text("1 of 1")
    with page.expect_download() as saving:
        curve.get_by_role("link", name="PNG").click()
    assert saving.value.suggested_filename == "adherence.png"
    assert Path(saving.value.path()).read_bytes().startswith(b"\x89PNG")
    look(page, "statistics with instructions")


def test_without_instructions_there_is_no_curve(serve: Starter, visit: Opener) -> None:
    site = serve()
    timeline = site.timeline()
    site.send(timeline, "Where is the kettle?")
    page = visit(f"{site.url}/audit?tab=statistics#{timeline}").page
    drawn(page, 2)
    expect(page.locator(".adherence-curves")).to_have_count(0)
