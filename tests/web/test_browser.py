"""The page in a real browser, used by keyboard and mouse as a person does."""

from __future__ import annotations

from pathlib import Path

from arpm.generation.base import GenerationError
from tests.support import ScriptedBackend, reply
from tests.web.chromium import Page, chromium, needs_chromium
from tests.web.support import serving

HOSTILE = "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"
LOG = "(document.querySelector('#log')?.innerText ?? '')"
PANEL = "(document.querySelector('#panel')?.innerText ?? '')"


@needs_chromium
class TestAPersonAtThePage:
    def test_from_the_empty_page_to_an_explained_answer(self, logs: Path, tmp_path: Path) -> None:
        down = GenerationError("unreachable", "The model's server is not running.")
        script = [reply(f"In the boat house. {HOSTILE}", "E1", "knowledge", "E1 says so."), down, reply("我在。")]
        with serving(logs, ScriptedBackend(script, pause=0.005)) as site, chromium(tmp_path / "profile") as page:
            site.upload("harbour.md", b"# Boats\n\nAnn keeps her canoe in the boat house.")
            page.open(site.url)
            page.until("document.querySelector('#log button')")
            _create(page)
            _send(page, "Where is my canoe?")
            page.until(f"{LOG}.includes('In the boat house.')")
            _explained(page)
            _failed_and_retried(page)
            _cleared(page)
            page.run("window.before = true, location.reload()")
            page.until(f"!window.before && {LOG}.includes('我在。') && {LOG}.includes('In the boat house.')")
            assert page.run("document.title").startswith(f"Mo {HOSTILE[:10]}")
            # No error, no policy violation, no dialog, nothing asked of another place.
            assert page.problems == []
            (timeline,) = site.service.timelines()
            kinds = [turn.kind for turn in site.service.catalogue.turns(timeline.id)]
        assert kinds == ["turn", "turn_failed", "turn"]

    def test_stop_by_the_escape_key(self, logs: Path, tmp_path: Path) -> None:
        long = reply("word " * 2000)
        with serving(logs, ScriptedBackend([long], pause=0.01)) as site, chromium(tmp_path / "profile") as page:
            timeline = site.timeline()
            page.open(f"{site.url}#{timeline}")
            page.until("document.activeElement.id === 'message'")
            _send(page, "Tell me everything.")
            page.until("document.querySelector('#live').innerText.includes('word word')")
            page.key("Escape")
            page.until(f"{LOG}.includes('You stopped this reply.')")
            assert page.run("document.querySelector('#stop').hidden")
            assert page.problems == []

    def test_on_a_phone_nothing_is_wider_than_the_screen(self, logs: Path, tmp_path: Path) -> None:
        with serving(logs) as site, chromium(tmp_path / "profile") as page:
            timeline = site.timeline("Ann", "A" * 200)
            site.send(timeline, "w" * 500)
            page.open(f"{site.url}#{timeline}", 390, 844, dark=True)
            page.until(f"{LOG}.includes('Understood.')")
            assert page.run("document.documentElement.scrollWidth") <= 390
            page.run("document.querySelector('#show-why').click()")
            page.until(f"{PANEL}.includes('no evidence')")
            assert page.run("document.querySelector('#why').getBoundingClientRect().right") <= 390


def _create(page: Page) -> None:
    page.run("document.querySelector('#log button').click()")
    for name, value in (("user", "Ann"), ("character", f"Mo {HOSTILE}"), ("persona", HOSTILE)):
        page.run(f"document.querySelector('#creation [name={name}]').focus()")
        page.type(value)
    page.run("document.querySelector('#creation .primary').click()")
    page.until("document.activeElement.id === 'message'")


def _send(page: Page, message: str) -> None:
    page.run("document.activeElement.blur()")
    page.key("/", "/")
    assert page.run("document.activeElement.id") == "message"
    page.type(message)
    page.key("Enter", "\r")


def _explained(page: Page) -> None:
    page.until(f"{PANEL}.includes('Ann keeps her canoe')")
    assert page.run("document.querySelector('#panel .mark').innerText") == "cited and used"
    page.run("document.querySelector('#tab-candidates').click()")
    page.until("document.querySelectorAll('#panel tbody tr.kept').length === 1")
    assert page.run("document.querySelectorAll('#panel thead th').length") > 15
    page.run("document.querySelector('#panel thead button').click()")
    assert page.run("document.querySelector('#panel th[aria-sort]') !== null")
    for tab, words in (("analysis", "E1 says so."), ("prompt", "boat house"), ("record", "sha256:")):
        page.run(f"document.querySelector('#tab-{tab}').click()")
        page.until(f"{PANEL}.includes('{words}')")
    page.run("document.querySelector('#tab-instructions').click()")
    page.until("document.querySelector('#panel form input')")
    page.run("document.querySelector('#panel form input').focus()")
    page.type("Always answer briefly.")
    page.key("Enter", "\r")
    page.until("document.querySelector('#panel .instructions li')")
    page.run("document.querySelector('#panel .instructions button').click()")
    page.until("document.querySelector('#panel details .instructions')")


def _failed_and_retried(page: Page) -> None:
    _send(page, "你在吗？")
    page.until(f"{LOG}.includes('The model did not answer.')")
    page.run("document.querySelector('#log .failed button').click()")
    assert page.run("document.querySelector('#message').value") == "你在吗？"
    page.key("Enter", "\r")
    page.until(f"{LOG}.includes('我在。')")


def _cleared(page: Page) -> None:
    page.run("document.querySelector('#clear').click()")
    page.until(f"{LOG}.includes('Context cleared')")
