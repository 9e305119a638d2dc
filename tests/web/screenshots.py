"""The pictures of docs/screenshots, made anew: the demo, asked in a real browser and answered by the embedded model.

python -m tests.web.screenshots [QUESTION …]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from arpm.clock import SystemClock
from arpm.demo import QUESTIONS, load_demo
from retrieval.embedding import load_embedder
from tests.web.browser import launched, visiting
from tests.web.support import Site, last, serving

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "screenshots"


def main(questions: Sequence[str]) -> None:
    """Ask the demo's questions, then picture every page."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        embedder = load_embedder("e5", folder / "models")
        real: dict[str, Any] = {"model": "local", "embedder": embedder, "clock": SystemClock()}
        with serving(folder / "logs", **real) as site, launched() as browser:
            timeline = load_demo(site.service).timeline
            for question in questions:
                print(question, "→", last(site.send(timeline, question), "turn")["turn"]["response"])
            for picture, (path, arrange) in PICTURES.items():
                _picture(browser, site, f"{path}#{timeline}", arrange, FOLDER / f"{picture}.png")


def _picture(browser: Browser, site: Site, path: str, arrange: Callable[[Page], None], file: Path) -> None:
    with visiting(browser, f"{site.url}{path}", dark=file.stem.endswith("-dark")) as visit:
        arrange(visit.page)
        visit.page.wait_for_load_state("networkidle")
        visit.page.evaluate("document.activeElement.blur()")
        visit.page.screenshot(path=file)
        assert visit.problems == [], visit.problems


def _chat(page: Page) -> None:
    expect(page.locator("#panel").locator("li, .empty").first).to_be_visible()


def _candidates(page: Page) -> None:
    _chat(page)
    page.get_by_role("tab", name="Candidates").click()
    expect(page.locator("#panel table").first).to_be_visible()


def _decay(page: Page) -> None:
    _chat(page)
    page.get_by_role("tab", name="Decay").click()
    expect(page.locator("#panel svg").first).to_be_visible()


def _memory(page: Page) -> None:
    expect(page.locator(".memories li").first).to_be_visible()


def _panel(page: Page) -> None:
    expect(page.get_by_role("switch").first).to_be_visible()


def _audit(page: Page) -> None:
    expect(page.get_by_role("tab").first).to_be_visible()


def _compare(page: Page) -> None:
    page.get_by_role("tab", name="Compare").click()
    page.locator("#question").fill(QUESTIONS[0])
    page.locator("#run-compare").click()
    expect(page.get_by_text("Compared. Nothing was remembered or recorded.")).to_be_visible()
    page.locator("#comparison").scroll_into_view_if_needed()


# Name of the file, address, and what is done before the picture is taken.
PICTURES: dict[str, tuple[str, Callable[[Page], None]]] = {
    "chat": ("", _chat),
    "chat-dark": ("", _chat),
    "candidates": ("", _candidates),
    "decay": ("", _decay),
    "memory": ("memory?tab=experience", _memory),
    "panel": ("panel", _panel),
    "compare": ("panel", _compare),
    "audit": ("audit", _audit),
}


if __name__ == "__main__":
    main(sys.argv[1:] or QUESTIONS[:3])
