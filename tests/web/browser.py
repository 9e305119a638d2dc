"""A real browser for tests: Debian's Chromium without a window, driven by Playwright.

Nothing is downloaded: the browser is the one on the PATH. Every visit is watched: what the browser complains about
(errors, policy violations, dialogs) and where its requests go are kept, and a test ends with an assertion on both.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, expect, sync_playwright

from tests.patience import PATIENCE

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed: apt-get install chromium (`make test` does it where it can)"
)

DESKTOP = (1280, 800)
PHONE = (390, 844)

# Playwright's own limits are some seconds.
_PATIENCE = 1000 * PATIENCE
expect.set_options(timeout=_PATIENCE)

_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb")


@dataclass
class Visit:
    """An open page and what happened in it. `expected` are patterns of complaints that the test provokes."""

    page: Page
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def expect(self, *patterns: str) -> None:
        """Take complaints that match for part of the test; a refused request is one to the browser."""
        self.expected += patterns

    def unexpected(self) -> list[str]:
        """What the browser complained about and the test did not provoke."""
        return [text for text in self.problems if not any(re.search(pattern, text) for pattern in self.expected)]

    def strangers(self) -> list[str]:
        """Requests that left the origin of the page's server."""
        own = {urlsplit(url).netloc for url in self.requests[:1]}
        return [url for url in self.requests if urlsplit(url).scheme in _SENT and urlsplit(url).netloc not in own]


_SENT = ("http", "https", "ws", "wss", "ftp")


@contextmanager
def launched() -> Iterator[Browser]:
    """The browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_FLAGS), timeout=_PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visiting(
    browser: Browser,
    url: str,
    size: tuple[int, int] = DESKTOP,
    *,
    dark: bool = False,
    prepare: Callable[[BrowserContext], None] | None = None,
    **options: Any,
) -> Iterator[Visit]:
    """Open an address in a profile of its own, as a person who comes for the first time.

    `prepare` gets the profile before anything is opened in it; `options` are Playwright's for a new one.
    """
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        locale="en-GB",
        timezone_id="Europe/Berlin",
        **options,
    )
    context.set_default_timeout(_PATIENCE)
    if prepare:
        prepare(context)
    try:
        visit = watched(context)
        visit.page.goto(url)
        yield visit
    finally:
        context.close()


def watched(context: BrowserContext) -> Visit:
    """A new page of a context, watched from its first request on."""
    visit = Visit(context.new_page())

    def console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            visit.problems.append(f"{message.text} ({message.location.get('url', '')})")

    def dialog(shown: Dialog) -> None:
        # A question ("Remove this document?") is part of the page; an alert is nobody's but an injected script's.
        if shown.type not in ("confirm", "beforeunload"):
            visit.problems.append(f"dialog: {shown.message}")
        shown.accept()

    page = visit.page
    page.on("console", console)
    page.on("pageerror", lambda error: visit.problems.append(f"exception: {error}"))
    page.on("dialog", dialog)
    page.on("crash", lambda _: visit.problems.append("the page crashed"))
    page.on("popup", lambda other: visit.problems.append(f"a window opened: {other.url}"))
    page.on("request", lambda request: visit.requests.append(request.url))
    return visit
