"""How soon the page shows what there is: the first word of a reply, and a timeline of 500 turns.

A real server, Debian's Chromium, and a backend that says when it handed over the first word of its reply. What is
measured is ARPM and its page alone; how long a model thinks before its first word is not theirs.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from arpm.generation.base import Generation, GenerationRequest, OnText
from benchmarks.report import DataMissingError, main, table, target
from tests.support import ScriptedBackend, reply
from tests.web.browser import CHROMIUM, launched, visiting
from tests.web.support import Site, serving

TURNS = 20
LONG = 500
OPENINGS = 5
# What a model of a few billion parameters takes between two tokens.
PACE = 0.03

# Notes when the reply's first words are in the page, and when the frame with them is drawn.
_WATCH_REPLY = """() => {
  window.seen = null;
  const observer = new MutationObserver(() => {
    if (!document.querySelector("#live")?.textContent.includes("Word")) return;
    observer.disconnect();
    const inserted = performance.timeOrigin + performance.now();
    requestAnimationFrame(() => (window.seen = [inserted, performance.timeOrigin + performance.now()]));
  });
  observer.observe(document.querySelector("#live"), { childList: true, characterData: true, subtree: true });
}"""

# Notes when the last turn is on the screen, in milliseconds since the navigation began.
_WATCH_OPENING = """(() => {
  const look = () => {
    const turn = [...document.querySelectorAll("#log [data-turn]")].at(-1);
    const box = turn?.getBoundingClientRect();
    if (box && box.height > 0 && box.top < innerHeight && box.bottom > 0) window.opened = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})()"""

_WATCH_FRAMES = """() => {
  window.frames_ = [];
  window.tasks = [];
  new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: "longtask" });
  let before = performance.now();
  const look = (now) => {
    frames_.push(now - before);
    before = now;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""


class PunctualBackend(ScriptedBackend):
    """Speaks at a model's pace and notes when it handed over the first word of its reply."""

    def __init__(self) -> None:
        super().__init__([reply("")])
        self.words = 40
        self.pace = PACE
        self.first_at = 0.0

    def generate(self, request: GenerationRequest, on_text: OnText, cancel: threading.Event) -> Generation:
        text = reply("Word " * self.words)
        begin = text.index("Word")
        on_text(text[:begin])
        # As when a model goes on from its analysis to its reply.
        time.sleep(self.pace)
        self.first_at = time.time()
        for place in range(begin, len(text), 5):
            on_text(text[place : place + 5])
            time.sleep(self.pace)
        return Generation(text, "stop", None, None, 0.0, 0.0)


def run(quick: bool = False) -> dict[str, Any]:
    """Talk, then open and scroll the long timeline."""
    if CHROMIUM is None:
        raise DataMissingError("chromium is not installed: apt-get install chromium")
    turns, long = (3, 40) if quick else (TURNS, LONG)
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "logs", backend := PunctualBackend()) as site:
        with launched() as browser:
            inserted, drawn = _first_words(site, browser, backend, turns)
        timeline = _long_timeline(site, backend, long)
        # A browser of its own for what a person meets who comes back.
        with launched() as browser:
            openings = [_opening(site, browser, timeline) for _ in range(2 if quick else OPENINGS)]
            frames, tasks = _scrolling(site, browser, timeline)
    late = 100 * sum(frame > 50 for frame in frames) / len(frames)
    return {
        "tables": [
            table(
                f"first word of a reply, {turns} turns, after the backend's first word",
                ("until", "median ms", "p95 ms", "max ms"),
                [("in the page", *_spread(inserted)), ("drawn", *_spread(drawn))],
            ),
            table(
                f"a timeline of {long} turns",
                ("what", "median", "p95", "max"),
                [
                    ("opened, ms until the last turn is on the screen", *_spread(openings)),
                    ("frame while scrolling to the first turn, ms", *_spread(frames)),
                    ("long task while scrolling, ms", *(_spread(tasks) if tasks else (0.0, 0.0, 0.0))),
                ],
            ),
            table("scrolling", ("frames", "over 50 ms, %", "long tasks"), [(len(frames), round(late, 2), len(tasks))]),
        ],
        "targets": [
            target("first word drawn, median", statistics.median(drawn), 150, unit="ms"),
            target("first word drawn, p95", _p95(drawn), 150, unit="ms"),
            target(f"{long} turns opened, worst", max(openings), 1000, unit="ms"),
            target("frames over 50 ms while scrolling", late, 5, unit="%"),
        ],
    }


def _first_words(site: Site, browser: Browser, backend: PunctualBackend, turns: int) -> tuple[list[float], list[float]]:
    """Milliseconds from the backend's first word until it is in the page, and until it is drawn."""
    inserted, drawn = [], []
    with visiting(browser, f"{site.url}#{site.timeline()}") as visit:
        page = visit.page
        for number in range(turns):
            _awaited(page, "document.activeElement.id === 'message' && document.querySelector('#stop').hidden")
            page.evaluate(_WATCH_REPLY)
            page.locator("#message").fill(f"Question {number}?")
            page.locator("#message").press("Enter")
            seen = _awaited(page, "window.seen")
            inserted.append(seen[0] - backend.first_at * 1000)
            drawn.append(seen[1] - backend.first_at * 1000)
            _awaited(page, f"document.querySelectorAll('#log [data-turn]').length > {number}")
    return inserted, drawn


def _long_timeline(site: Site, backend: PunctualBackend, turns: int) -> str:
    backend.pace, backend.words = 0.0, 60
    timeline = site.timeline()
    for number in range(turns):
        site.service.turn(timeline, f"Question {number} of a long conversation?")
    return timeline


def _opening(site: Site, browser: Browser, timeline: str) -> float:
    with visiting(browser, "about:blank", prepare=lambda context: context.add_init_script(_WATCH_OPENING)) as visit:
        visit.page.goto(f"{site.url}#{timeline}", wait_until="commit")
        return float(_awaited(visit.page, "window.opened"))


def _scrolling(site: Site, browser: Browser, timeline: str) -> tuple[list[float], list[float]]:
    """Scroll with the wheel from the last turn to the first; the times of frames and of long tasks, in milliseconds."""
    with visiting(browser, f"{site.url}#{timeline}") as visit:
        page = visit.page
        _awaited(page, "document.querySelectorAll('#log [data-turn]').length")
        box = page.locator("#scroll").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.evaluate(_WATCH_FRAMES)
        for _ in range(4000):
            page.mouse.wheel(0, -600)
            if _at_the_first(page):
                break
        else:
            raise AssertionError("the first turn never came")
        return page.evaluate("frames_.slice(2)"), page.evaluate("tasks")


def _awaited(page: Page, expression: str) -> Any:
    """The value of an expression once it is true. Not by Playwright's own waiting, which the page's policy forbids."""
    look = f"const look = () => ({expression}) ? done({expression}) : setTimeout(look, 5)"
    return page.evaluate(f"() => new Promise((done) => {{ {look}; look(); }})")


def _at_the_first(page: Page) -> bool:
    return bool(
        page.evaluate("document.querySelector('#earlier').hidden && document.querySelector('#scroll').scrollTop < 5")
    )


def _spread(values: Sequence[float]) -> tuple[float, float, float]:
    return round(statistics.median(values), 1), round(_p95(values), 1), round(max(values), 1)


def _p95(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]


if __name__ == "__main__":
    main("first_token", run)
