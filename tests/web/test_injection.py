"""Whatever anybody writes, nothing of it runs in a page, loads anything, or stands in for a part of the page.

Every payload of `tests.web.payloads` goes through each way that text has into a page: a reply, a user's message,
memory, a document's text and file name, a persona, names, a title, an instruction. What happens is watched from outside
of the pages: a function that scripts may call, dialogs, complaints of the browser, and every request that it makes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from arpm.generation.base import GenerationRequest
from tests.patience import PATIENCE
from tests.support import ScriptedBackend, reply
from tests.web.browser import Visit, needs_chromium, visiting
from tests.web.conftest import Opener
from tests.web.payloads import payloads
from tests.web.support import Site, serving
from tests.web.test_accessibility import other_pages, to_the_first

PAYLOADS = payloads()
NAME_LIMIT = 200
NO_SLASHES = str.maketrans("/\\", "\N{DIVISION SLASH}\N{SET MINUS}")
NO_CONTROLS = dict.fromkeys({*range(32)} - {9, 10})

pytestmark = needs_chromium

AUDIT = (Path(__file__).parent / "audit.js").read_text("utf-8")


class Echo(ScriptedBackend):
    """Answers with the words it is given beforehand."""

    def __init__(self) -> None:
        super().__init__([self._answer])
        self.words = ""

    def _answer(self, _request: GenerationRequest) -> str:
        return reply(self.words, "E1", "knowledge", self.words)


class Hostile:
    """A server on which everything that can be written was written by somebody hostile."""

    def __init__(self, site: Site, backend: Echo) -> None:
        self.site = site
        self.backend = backend
        service = site.service
        everything = "\n\n".join(PAYLOADS)
        self.timeline = site.timeline(PAYLOADS[0], PAYLOADS[1], persona=everything[:20_000])
        # Names and documents are shown as plain text, in which one payload cannot hide the next.
        some = ["\n".join(PAYLOADS[place : place + 3]) for place in range(0, len(PAYLOADS), 3)]
        for payload in some:
            # A slash in a file's name begins the name, and control characters would make the file a binary one.
            name, text = payload.translate(NO_SLASHES), payload.translate(NO_CONTROLS)
            service.ingest(f"{name}.md", f"# {text}\n\n{text}".encode())
        for payload in some:
            service.timeline(self.timeline).add_instruction(payload)
        for place in range(0, len(PAYLOADS), 3):
            user, character, title = (PAYLOADS + PAYLOADS[:3])[place : place + 3]
            made = site.timeline(user[:NAME_LIMIT], character[:NAME_LIMIT], persona=character)
            service.rename(made, title[:NAME_LIMIT])
        self.said = site.timeline("Ann", "Mo")
        for payload in PAYLOADS:
            self.say(payload)

    def say(self, payload: str) -> None:
        """One turn in which both sides say the payload."""
        self.backend.words = payload
        self.site.service.turn(self.said, payload)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    with serving(tmp_path_factory.mktemp("hostile") / "logs", backend := Echo()) as site:
        yield Hostile(site, backend)


@pytest.fixture
def hits() -> list[object]:
    """What scripts told the canary."""
    return []


@pytest.fixture
def look(visit: Opener, hostile: Hostile, hits: list[object]) -> Iterator[Opener]:
    """Opens pages of the hostile server that are watched, and finds nothing has happened at the end."""
    seen: list[Visit] = []

    def opened(path: str) -> Visit:
        seen.append(visit(f"{hostile.site.url}{path}", prepare=lambda context: _canary(context, hits)))
        # Images of this origin are loaded, and there is none called "x".
        seen[-1].expect("404")
        return seen[-1]

    yield opened
    for each in seen:
        audit(each.page)
        assert each.strangers() == []
    assert hits == []


def _canary(context: BrowserContext, hits: list[object]) -> None:
    context.expose_function("canary", lambda *told: hits.append(told))


def audit(page: Page) -> None:
    """Assert that nothing in a page could run, load from elsewhere or stand in for a part of it."""
    assert page.evaluate(AUDIT) == []


def test_there_are_at_least_500_and_they_are_alive(browser: Browser, hits: list[object]) -> None:
    """Bug class: payloads that would not do anything anywhere prove nothing."""
    assert len(PAYLOADS) >= 500
    with visiting(browser, "about:blank", prepare=lambda context: _canary(context, hits)) as seen:
        end = time.monotonic() + PATIENCE
        # Again where the browser was too slow for them: the next page takes the place of one that is still to run.
        while len(hits) <= 30 or len(_strange(seen)) <= 10:
            assert time.monotonic() < end, f"{len(hits)} ran and {len(_strange(seen))} asked a stranger"
            for payload in PAYLOADS[::3]:
                seen.page.set_content(payload, wait_until="commit")
            seen.page.wait_for_timeout(200)


def _strange(seen: Visit) -> list[str]:
    return [url for url in seen.requests if "stranger.example" in url]


class TestChat:
    def test_replies_and_messages(self, hostile: Hostile, look: Opener) -> None:
        page = look(f"#{hostile.said}").page
        expect(page.locator("#log [data-turn]").last).to_be_visible()
        to_the_first(page, PAYLOADS[0])
        assert page.locator("#log [data-turn]").count() == len(PAYLOADS)

    def test_while_it_is_written_and_every_tab(self, hostile: Hostile, look: Opener) -> None:
        page = look(f"#{hostile.said}").page
        expect(page.locator("#message")).to_be_focused()
        hostile.backend.words = "\n\n".join(PAYLOADS[::40])
        hostile.backend.pause = 0.002
        page.keyboard.insert_text(PAYLOADS[5].replace("\n", " "))
        page.keyboard.press("Enter")
        expect(page.locator("#live [aria-busy]")).to_be_visible()
        audit(page)
        expect(page.locator("#live [aria-busy]")).to_have_count(0)
        hostile.backend.pause = 0.0
        turns = page.locator("#log [data-turn]")
        for number in (0, 7, 13):
            turns.nth(number).get_by_role("heading").first.click()
            for tab in range(page.get_by_role("tab").count()):
                page.get_by_role("tab").nth(tab).click()
                page.wait_for_load_state("networkidle")
                audit(page)

    def test_names_titles_documents_and_instructions(self, hostile: Hostile, look: Opener) -> None:
        page = look(f"#{hostile.timeline}").page
        expect(page.locator("#timelines li").nth(len(PAYLOADS) // 3)).to_be_attached()
        page.get_by_role("tab", name="Instructions").click()
        expect(page.locator("#panel li").nth(len(PAYLOADS) // 3 - 1)).to_be_attached()
        audit(page)
        for number in (3, 40, 90):
            page.locator("#timelines li a").nth(number).click()
            page.wait_for_load_state("networkidle")
            audit(page)


class TestTheOtherPages:
    @pytest.mark.parametrize("tab", ["instructions", "experience", "knowledge"])
    def test_memory(self, hostile: Hostile, look: Opener, tab: str) -> None:
        timeline = hostile.said if tab == "experience" else hostile.timeline
        page = look(f"memory?tab={tab}#{timeline}").page
        expect(page.get_by_role("main")).to_contain_text("canary(")
        for _ in range(3):
            if (older := page.get_by_role("button", name="Show older")).is_visible():
                older.click()
        for fold in page.get_by_role("main").locator("details").all()[:6]:
            fold.evaluate("node => (node.open = true)")
        page.wait_for_load_state("networkidle")

    def test_the_reach_of_an_erasure(self, hostile: Hostile, look: Opener) -> None:
        page = look(f"memory?tab=experience#{hostile.said}").page
        page.locator(".counts").get_by_role("button", name="Erase …").click()
        page.get_by_role("dialog").get_by_role("button", name="See what it reaches").click()
        expect(page.locator("#confirm-words")).to_be_visible()
        page.get_by_role("dialog").locator("details").evaluate_all(
            "nodes => nodes.forEach((node) => (node.open = true))"
        )
        expect(page.get_by_role("dialog")).to_contain_text("canary(")

    def test_what_two_columns_answer(self, hostile: Hostile, look: Opener) -> None:
        page = look(f"panel#{hostile.said}").page
        hostile.backend.words = "\n\n".join(PAYLOADS[::25])
        page.get_by_role("tab", name="Compare").click()
        page.locator("#question").fill(PAYLOADS[0])
        page.locator("#run-compare").click()
        expect(page.get_by_text("Compared. Nothing was remembered or recorded.")).to_be_visible()
        expect(page.locator("#comparison")).to_contain_text("canary(")

    def test_every_page(self, hostile: Hostile, look: Opener) -> None:
        for path in other_pages(hostile.site):
            for timeline in (hostile.said, hostile.timeline):
                look(f"{path}#{timeline}").page.wait_for_load_state("networkidle")

    @pytest.mark.parametrize("tab", ["checkpoints", "diff", "lives", "statistics", "exports"])
    def test_audit(self, hostile: Hostile, look: Opener, tab: str) -> None:
        said = hostile.said
        more = f"&first={said}:1&second={said}:2" if tab == "diff" else ""
        page = look(f"audit?tab={tab}{more}#{said}").page
        expect(page.locator(f"body[data-ready={tab}]")).to_be_visible()
        page.wait_for_load_state("networkidle")
