"""axe-core finds nothing on any page: wide and narrow, light and dark, empty, streaming, failed, and long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from arpm.generation.base import GenerationError, GenerationRequest
from tests.patience import PATIENCE
from tests.support import ScriptedBackend, reply
from tests.web.browser import DESKTOP, PHONE, needs_chromium
from tests.web.conftest import Opener, Starter
from tests.web.support import GatedBackend, Site, serving

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text("utf-8")
TOKEN = "correct-horse-battery-staple"
LONG = 200

pytestmark = needs_chromium

# Target size is part of WCAG 2.2 AA and off by default.
ALL = {"rules": {"target-size": {"enabled": True}}}
# Nothing but colours changes with the colour scheme.
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}

_RUN = """async (options) => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"], ...options });
  return violations.map(({ id, help, nodes }) =>
    `${id}: ${help}: ` + nodes.slice(0, 5).map(({ target, html }) => `${target} ${html.slice(0, 160)}`).join(" | "));
}"""


_DRAW_EVERYTHING = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("* { content-visibility: visible !important; }");
  document.adoptedStyleSheets.push(sheet);
}"""


def violations(page: Page, options: dict[str, Any]) -> list[str]:
    """What axe finds wrong on a page as it stands."""
    if not page.evaluate("'axe' in window"):
        # Through the debugger, which the page's own policy does not concern.
        page.evaluate(AXE)
        # What is out of view has an estimated height until it is drawn, and would seem to overlap what follows.
        page.evaluate(_DRAW_EVERYTHING)
    found: list[str] = page.evaluate(_RUN, options)
    return found


def look(page: Page, where: str, sizes: tuple[tuple[int, int], ...] = (DESKTOP, PHONE)) -> None:
    """Assert that nothing is wrong in any width and colour scheme, and nothing wider than the screen."""
    found: list[str] = []
    for width, height in sizes:
        page.set_viewport_size({"width": width, "height": height})
        for scheme, options in (("light", ALL), ("dark", COLOURS)):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
            found += [f"{where}, {width} px, {scheme}: {fault}" for fault in violations(page, options)]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(f"{where}: wider than {width} px")
    page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
    page.emulate_media(color_scheme="light")
    assert not found, "\n".join(found)


class Furnished:
    """A server with something of every kind, and the timelines on it."""

    def __init__(self, site: Site) -> None:
        self.site = site
        site.upload("harbour.md", "# Boats\n\nAnn keeps her canoe in the boat house. 安的独木舟在船屋里。".encode())
        self.timeline = site.timeline(persona="A harbour master.", timezone="Europe/Berlin")
        path = f"/api/v1/timelines/{self.timeline}"
        site.send(self.timeline, "Where is my canoe?")
        site.send(self.timeline, "Are you there?")
        site.http.post(f"{path}/sessions")
        site.send(self.timeline, "Where is my canoe, in Chinese?")
        site.http.post(f"{path}/instructions", json={"text": "Always rhyme."})
        added = site.http.post(f"{path}/instructions", json={"text": "Never rhyme."}).json()["id"]
        site.http.post(f"{path}/instructions/{added}/retire", json={"reason": "it did not help"})
        site.send(self.timeline, "From now on, always answer briefly. Where is my canoe now?")
        self.long = site.timeline("Ann", "Long", timezone="Europe/Berlin")
        for number in range(LONG):
            site.service.turn(self.long, f"Number {number} of many.")


WORDS = (
    "In the **boat house**, as `E1` says:\n\n- by the door\n- on the left\n\n```python\nprint('canoe')\n```\n\n"
    "| what | where |\n|---|---|\n| canoe | boat house |\n\n> 安的独木舟在船屋里。 [more](https://example.org)"
)
BROKEN = "<analysis>need: none</analysis><response></response>"


class Moody(ScriptedBackend):
    """Answers, breaks the protocol and mends it, cites what it was not given, or fails, as the message asks for."""

    def __init__(self) -> None:
        super().__init__([self._answer])
        self.mended = False

    def _answer(self, request: GenerationRequest) -> str:
        prompt = "".join(message.content for message in request.messages)
        message = next(item.content for item in reversed(request.messages) if item.role == "user")
        if "Are you there?" in message:
            raise GenerationError("unreachable", "The model's server is not running.")
        if "in Chinese" in prompt and not self.mended:
            self.mended = True
            return BROKEN
        if "Number" in message:
            return reply("Noted.")
        shown = "E1" if "E1" in prompt else "none"
        return reply(WORDS, f"{shown}, E9" if "now?" in message else shown, "knowledge", "E1 says so.")


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Furnished]:
    with serving(tmp_path_factory.mktemp("axe") / "logs", Moody()) as site:
        yield Furnished(site)


class TestChat:
    def test_empty_and_the_form_that_begins(self, serve: Starter, visit: Opener) -> None:
        page = visit(serve().url).page
        expect(page.locator("#log").get_by_role("button")).to_be_visible()
        look(page, "no timelines")
        page.locator("#log").get_by_role("button").first.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        look(page, "new timeline")

    def test_answered_failed_repaired_and_every_tab(self, furnished: Furnished, visit: Opener) -> None:
        page = visit(f"{furnished.site.url}#{furnished.timeline}").page
        expect(page.locator("#panel")).to_contain_text("boat house")
        for number in range(page.get_by_role("tab").count()):
            tab = page.get_by_role("tab").nth(number)
            tab.click()
            expect(tab).to_have_attribute("aria-selected", "true")
            page.wait_for_load_state("networkidle")
            look(page, f"tab {tab.inner_text()}", (DESKTOP,))
        page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        look(page, "conversation", (PHONE,))
        page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        page.locator("#show-why").click()
        look(page, "why on a phone", (PHONE,))

    def test_the_list_of_keys(self, furnished: Furnished, visit: Opener) -> None:
        page = visit(f"{furnished.site.url}#{furnished.timeline}").page
        expect(page.locator("#panel")).to_contain_text("boat house")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_be_visible()
        look(page, "keys")

    def test_while_a_reply_is_written(self, serve: Starter, visit: Opener) -> None:
        site = serve(backend := GatedBackend("One moment. And **here** is the rest."))
        page = visit(f"{site.url}#{site.timeline()}").page
        expect(page.locator("#message")).to_be_focused()
        page.keyboard.insert_text("Hello.")
        page.keyboard.press("Enter")
        expect(page.locator("#live")).to_contain_text("One moment.")
        look(page, "streaming")
        backend.gate.set()
        expect(page.locator("#log")).to_contain_text("the rest")

    def test_an_error_of_the_server(self, furnished: Furnished, visit: Opener) -> None:
        seen = visit(f"{furnished.site.url}#{furnished.timeline}")
        seen.expect("500")
        page = seen.page
        expect(page.locator("#panel")).to_contain_text("boat house")
        page.route("**/sessions", lambda route: route.fulfill(status=500, body="{}"))
        page.get_by_role("button", name="Clear context").click()
        expect(page.locator("#notices")).not_to_be_empty()
        look(page, "error")

    def test_two_hundred_turns(self, furnished: Furnished, visit: Opener) -> None:
        page = visit(f"{furnished.site.url}#{furnished.long}").page
        expect(page.locator("#log")).to_contain_text(f"Number {LONG - 1} of many.")
        look(page, "200 turns")
        to_the_first(page, "Number 0 of many.")
        look(page, "200 turns, all loaded", (DESKTOP,))


def to_the_first(page: Page, words: str) -> None:
    """Scroll up until the conversation's first turn is there; earlier ones come by themselves, and by the button."""
    first = page.locator("#log").get_by_text(words, exact=True)
    end = time.monotonic() + PATIENCE
    while not first.count():
        assert time.monotonic() < end, f"{words!r} never came"
        page.evaluate("document.querySelector('#scroll').scrollTop = 0")
        # Not by the mouse, under which it moves away as turns arrive.
        page.evaluate("document.querySelector('#earlier:not([hidden])')?.click()")
        page.wait_for_timeout(50)


def other_pages(site: Site) -> list[str]:
    """The addresses of every page but the chat."""
    rules = [rule for rule in site.app.url_map.iter_rules() if rule.endpoint.startswith("pages.")]
    return sorted(rule.rule.strip("/") for rule in rules if not rule.arguments and rule.rule != "/")


class TestTheOtherPages:
    def test_login(self, serve: Starter, visit: Opener) -> None:
        site = serve(token=TOKEN)
        seen = visit(f"{site.url}login")
        seen.expect("401")
        look(seen.page, "login")
        seen.page.get_by_label("Token").fill("wrong")
        seen.page.keyboard.press("Enter")
        expect(seen.page.get_by_role("alert")).to_be_visible()
        look(seen.page, "wrong token")

    def test_empty(self, serve: Starter, visit: Opener) -> None:
        site = serve()
        for path in other_pages(site):
            page = visit(f"{site.url}{path}").page
            page.wait_for_load_state("networkidle")
            look(page, f"{path}, no timelines")

    def test_any_other_page_with_something_on_it(self, furnished: Furnished, visit: Opener) -> None:
        for path in set(other_pages(furnished.site)) - {"memory", "panel"}:
            page = visit(f"{furnished.site.url}{path}#{furnished.timeline}").page
            page.wait_for_load_state("networkidle")
            for number in range(max(1, page.get_by_role("tab").count())):
                if page.get_by_role("tab").count():
                    page.get_by_role("tab").nth(number).click()
                    page.wait_for_load_state("networkidle")
                look(page, f"{path}, tab {number}")

    @pytest.mark.parametrize("tab", ["instructions", "experience", "knowledge"])
    def test_memory(self, furnished: Furnished, visit: Opener, tab: str) -> None:
        page = visit(f"{furnished.site.url}memory?tab={tab}#{furnished.timeline}").page
        words = {"instructions": "Always rhyme.", "experience": "boat house", "knowledge": "harbour.md"}[tab]
        expect(page.get_by_role("main")).to_contain_text(words)
        look(page, tab)

    def test_memory_of_two_hundred_turns(self, furnished: Furnished, visit: Opener) -> None:
        page = visit(f"{furnished.site.url}memory?tab=experience#{furnished.long}").page
        expect(page.get_by_role("main")).to_contain_text(f"Number {LONG - 1} of many.")
        look(page, "memory, 200 turns")

    def test_one_memory_opened_and_the_sheets(self, furnished: Furnished, visit: Opener) -> None:
        page = visit(f"{furnished.site.url}memory?tab=experience#{furnished.timeline}").page
        page.locator(".memories summary").first.click()
        expect(page.get_by_role("main")).to_contain_text("Shown to later replies")
        look(page, "an opened memory")
        for name in ("Quarantine …", "Erase …"):
            page.locator(".counts").get_by_role("button", name=name).click()
            expect(page.get_by_role("dialog")).to_be_visible()
            look(page, f"sheet {name}")
            page.keyboard.press("Escape")

    def test_panel(self, furnished: Furnished, visit: Opener) -> None:
        page = visit(f"{furnished.site.url}panel#{furnished.timeline}").page
        expect(page.get_by_role("switch").first).to_be_visible()
        look(page, "panel")
        page.get_by_label("history_k", exact=True).fill("999")
        expect(page.get_by_label("history_k", exact=True)).to_have_attribute("aria-invalid", "true")
        look(page, "panel, a value out of range")

    def test_compare_and_clock(self, furnished: Furnished, visit: Opener) -> None:
        page = visit(f"{furnished.site.url}panel#{furnished.timeline}").page
        page.get_by_role("tab", name="Clock").click()
        look(page, "clock")
        page.get_by_role("tab", name="Compare").click()
        page.locator("#question").fill("Where is my canoe?")
        page.locator("#run-compare").click()
        expect(page.get_by_text("Compared. Nothing was remembered or recorded.")).to_be_visible()
        look(page, "compared")


class TestTheBenchItself:
    def test_a_fault_is_found(self, furnished: Furnished, visit: Opener) -> None:
        """Bug class: a checker that never runs finds nothing, and everything looks accessible."""
        page = visit(f"{furnished.site.url}#{furnished.timeline}").page
        expect(page.locator("#panel")).to_contain_text("boat house")
        page.evaluate(
            "document.querySelector('#message').labels[0].remove(), document.querySelector('#message').placeholder = ''"
        )
        assert any(fault.startswith("label") for fault in violations(page, ALL))
