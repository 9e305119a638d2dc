"""What a person does at the pages, with the embedded model: one life of a timeline in the order of these tests."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from arpm.clock import SystemClock
from arpm.settings import ModelSettings
from tests.support import ScriptedBackend, reply
from tests.web.browser import needs_chromium
from tests.web.conftest import Opener
from tests.web.support import Site, serving
from tests.web.test_browser import send

pytestmark = needs_chromium

DOCUMENT = "The ferry to the island leaves at nine in the morning. It returns at six in the evening."
SECRET = "My locker's code is tangerine-4711."

# Puts files into the page as a drop from a file manager does.
_DROP = """(view, [name, text]) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], name, { type: "text/plain" }));
  for (const kind of ["dragenter", "dragover", "drop"]) {
    view.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }
}"""


class Life:
    """The server and the timeline of all the tests."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.id = site.timeline("Ann", "Mo", persona="A harbour master who answers in one sentence.")

    def page(self, visit: Opener, path: str = "") -> Page:
        """A page of the timeline, when it is there."""
        page = visit(f"{self.site.url}{path}#{self.id}").page
        if path:
            expect(page.get_by_role("combobox", name="Timeline")).to_have_value(self.id)
        else:
            expect(page.locator("#message")).to_be_focused()
        return page

    @property
    def kinds(self) -> list[str]:
        return [turn["kind"] for turn in self.site.turns(self.id)]

    def memories(self, state: str = "active") -> int:
        """How many memories are in a state."""
        address = f"/api/v1/timelines/{self.id}/memories"
        return int(self.site.http.get(address, params={"state": state}).json()["count"])


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    local = ModelSettings(name="local", backend="local", max_tokens=48)
    other = ScriptedBackend([reply("The other model answers.")])
    logs = tmp_path_factory.mktemp("life") / "logs"
    with serving(logs, other, clock=SystemClock(), model="local", models=(local,)) as site:
        yield Life(site)


class TestChat:
    def test_a_document_and_a_question(self, life: Life, visit: Opener) -> None:
        page = life.page(visit)
        page.locator("#files").set_input_files(
            [{"name": "ferry.txt", "mimeType": "text/plain", "buffer": DOCUMENT.encode()}]
        )
        expect(page.locator("#library-status")).to_contain_text("ferry.txt can be searched now.")
        send(page, "When does the ferry to the island leave?")
        expect(page.locator("#log article")).to_have_count(1)
        (turn,) = life.site.turns(life.id)
        assert turn["kind"] == "turn"
        # What is on the page is what was recorded.
        words = re.sub(r"\W+", " ", page.locator("#log .said.character .words").inner_text()).strip()
        assert words == re.sub(r"\W+", " ", turn["response"]).strip()
        expect(page.locator("#panel")).to_contain_text("The ferry to the island leaves at nine")

    def test_stop_and_try_again(self, life: Life, visit: Opener) -> None:
        page = life.page(visit)
        send(page, "Tell me a long story about the sea, with many ships in it.")
        expect(page.locator("#live [aria-busy]")).to_be_visible()
        page.keyboard.press("Escape")
        failed = page.locator("#log article.failed")
        expect(failed).to_contain_text("You stopped this reply.")
        failed.get_by_role("button", name="Try again").click()
        expect(page.locator("#log article:not(.failed)")).to_have_count(2)
        assert life.kinds == ["turn", "turn_failed", "turn"]

    def test_answer_again(self, life: Life, visit: Opener) -> None:
        page = life.page(visit)
        newest = page.locator("#log article:not(.failed)").last
        before, remembered = newest.get_attribute("data-turn"), life.memories()
        newest.get_by_role("button", name="Answer again").click()
        newest = page.locator("#log article:not(.failed)").last
        expect(newest).to_contain_text("1 earlier reply")
        assert newest.get_attribute("data-turn") != before
        assert page.locator(f"#log [data-turn='{before}']").count() == 0
        newest.get_by_text("1 earlier reply").click()
        expect(newest).to_contain_text("no longer in memory")
        assert life.memories() <= remembered

    def test_edit_the_message(self, life: Life, visit: Opener) -> None:
        page = life.page(visit)
        page.locator("#log article:not(.failed)").last.get_by_role("button", name="Edit").click()
        expect(page.locator("#message")).to_have_value(re.compile("long story"))
        page.locator("#message").fill(SECRET)
        page.keyboard.press("Enter")
        newest = page.locator("#log article:not(.failed)").last
        expect(newest).to_contain_text("2 earlier replies")
        expect(newest).to_contain_text(SECRET)
        assert [turn["message"] for turn in life.site.turns(life.id) if turn["kind"] == "turn"][-1] == SECRET

    def test_clear_the_context_and_switch_the_model(self, life: Life, visit: Opener) -> None:
        page = life.page(visit)
        page.get_by_role("button", name="Clear context").click()
        expect(page.locator("#log")).to_contain_text("Context cleared")
        page.get_by_role("combobox", name="Model").select_option("scripted")
        expect(page.locator("#log")).to_contain_text("Model changed to scripted")
        send(page, "Who are you?")
        expect(page.locator("#log article").last).to_contain_text("The other model answers.")
        assert life.site.turns(life.id)[-1]["model"] == "scripted-1"

    def test_a_title_is_given_and_found(self, life: Life, visit: Opener) -> None:
        life.site.http.patch(f"/api/v1/timelines/{life.id}", json={"title": "Ferries and lockers"})
        page = life.page(visit)
        expect(page.locator("#timelines")).to_contain_text("Ferries and lockers")
        page.get_by_role("searchbox").fill("tangerine")
        expect(page.locator("#timelines")).to_contain_text("tangerine-4711")
        page.get_by_role("searchbox").fill("nothing of the kind")
        expect(page.locator("#timelines li a")).to_have_count(0)


class TestPanel:
    def test_a_switch_and_a_constant(self, life: Life, visit: Opener) -> None:
        page = life.page(visit, "panel")
        switch = page.get_by_role("switch", name="temporal_enabled")
        expect(switch).to_be_checked()
        switch.press("Space")
        page.get_by_label("history_k", exact=True).fill("3")
        page.get_by_role("button", name="Apply 2 changes").click()
        expect(page.locator("#apply-result")).to_contain_text("2 changes are in force")
        held = life.site.http.get(f"/api/v1/timelines/{life.id}/config").json()["differences"]
        assert held == {"temporal_enabled": {"from": True, "to": False}, "history_k": {"from": 10, "to": 3}}
        page.reload()
        expect(page.get_by_role("switch", name="temporal_enabled")).not_to_be_checked()

    def test_compare_leaves_no_trace(self, life: Life, visit: Opener) -> None:
        before = (life.memories(), len(life.site.turns(life.id)))
        page = life.page(visit, "panel")
        page.get_by_role("tab", name="Compare").click()
        page.get_by_label("Message").fill("When does the ferry leave?")
        page.get_by_role("group", name="Column 2").get_by_label("Preset").select_option("B")
        page.get_by_role("button", name="Compare", exact=True).click()
        expect(page.get_by_text("Compared. Nothing was remembered or recorded.")).to_be_visible()
        expect(page.locator("#comparison")).to_contain_text("The other model answers.")
        expect(page.locator("#comparison")).to_contain_text("ferry.txt")
        expect(page.locator("#comparison")).to_contain_text("lost")
        assert (life.memories(), len(life.site.turns(life.id))) == before

    def test_a_clock_for_experiments(self, life: Life, visit: Opener) -> None:
        page = life.page(visit, "panel")
        page.get_by_role("tab", name="Clock").click()
        page.get_by_role("radio", name="This computer's clock, moved").check()
        page.get_by_role("textbox", name="Days", exact=True).fill("30")
        page.get_by_role("textbox", name="Hours", exact=True).fill("0")
        page.get_by_role("button", name="Set the clock").click()
        expect(page.locator("#band")).to_contain_text("experiment clock")
        expect(life.page(visit).locator(".band")).to_contain_text("experiment clock")
        page.get_by_role("radio", name="This computer's clock", exact=True).check()
        page.get_by_role("button", name="Set the clock").click()
        expect(page.locator("#band")).to_be_hidden()


class TestMemory:
    def test_a_file_is_dropped(self, life: Life, visit: Opener) -> None:
        page = life.page(visit, "memory?tab=knowledge")
        view = page.get_by_role("tabpanel")
        expect(view).to_contain_text("ferry.txt")
        view.evaluate(_DROP, ["港口.txt", "港口的渡轮每天早上九点出发。"])
        expect(view).to_contain_text("港口.txt")
        expect(view).to_contain_text("can be searched now")
        names = [item["name"] for item in life.site.http.get("/api/v1/documents").json()["documents"]]
        assert names == ["ferry.txt", "港口.txt"]

    def test_quarantine_and_undo(self, life: Life, visit: Opener) -> None:
        before = life.memories()
        assert before >= 2
        page = life.page(visit, "memory?tab=experience")
        page.get_by_role("button", name="Quarantine …").first.click()
        sheet = page.get_by_role("dialog")
        sheet.get_by_label("Everything a model said").check()
        sheet.get_by_role("combobox", name="Model").select_option("scripted-1")
        sheet.get_by_role("button", name="See what it reaches").click()
        expect(sheet).to_contain_text("Reaches 1 memory")
        sheet.get_by_label("Reason").fill("said by the wrong model")
        sheet.get_by_role("button", name="Put 1 memory in quarantine").click()
        expect(page.get_by_text("1 memory is in quarantine now.")).to_be_visible()
        assert (life.memories(), life.memories("quarantined")) == (before - 1, 1)
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("1 memory is in memory again.")).to_be_visible()
        assert (life.memories(), life.memories("quarantined")) == (before, 0)

    def test_instructions_are_added_edited_and_retired(self, life: Life, visit: Opener) -> None:
        page = life.page(visit, "memory?tab=instructions")
        view = page.get_by_role("tabpanel")
        view.get_by_label("New instruction").fill("Always answer in rhyme.")
        view.get_by_role("button", name="Add").click()
        expect(view.get_by_role("button", name="Edit: Always answer in rhyme.")).to_be_visible()
        view.get_by_role("button", name="Edit: Always answer in rhyme.").click()
        page.get_by_label("New words of the instruction").fill("Never answer in rhyme.")
        page.get_by_role("button", name="Save").click()
        view.get_by_role("button", name="Retire: Never answer in rhyme.").click()
        _confirm(page, "Retire")
        expect(view).to_contain_text("Retired (2)")
        given = life.site.http.get(f"/api/v1/timelines/{life.id}/instructions").json()["instructions"]
        assert [item["active"] for item in given] == [False, False]

    def test_instructions_that_contradict_each_other_are_shown_side_by_side(self, life: Life, visit: Opener) -> None:
        path = f"/api/v1/timelines/{life.id}/instructions"
        for text in ("Always answer in French.", "Always answer in German."):
            life.site.http.post(path, json={"text": text})
        found = life.site.http.get(path).json()
        assert [pair["about"] for pair in found["contradictions"]] == ["the language of replies"]
        view = life.page(visit, "memory?tab=instructions").get_by_role("tabpanel")
        expect(view).to_contain_text("They differ about the language of replies.")
        expect(view.locator(".beside .card")).to_contain_text(["it is the older one", "it is the newer one"])
        # Both are in force all the same: each is listed, and can be retired in either place.
        for button in view.get_by_role("button", name="Retire: Always answer in").all()[:2]:
            expect(button).to_be_visible()
        for item in found["instructions"]:
            if item["active"]:
                life.site.http.post(f"{path}/{item['id']}/retire")

    def test_the_back_button_and_the_address(self, life: Life, visit: Opener) -> None:
        page = life.page(visit, "memory?tab=experience")
        page.get_by_role("tab", name="Knowledge").click()
        expect(page.get_by_role("tabpanel")).to_contain_text("ferry.txt")
        page.go_back()
        expect(page.get_by_role("tab", name="Experience")).to_have_attribute("aria-selected", "true")
        page.get_by_role("link", name="Chat").first.click()
        expect(page.locator("#log")).to_contain_text("The other model answers.")

    def test_erase_what_should_not_have_been_said(self, life: Life, visit: Opener) -> None:
        page = life.page(visit, "memory?tab=experience")
        _memory_with(page, SECRET).get_by_role("checkbox").check()
        page.get_by_role("group", name="What to do with the chosen memories").get_by_role(
            "button", name="Erase"
        ).click()
        sheet = page.get_by_role("dialog")
        # The words of a round stand in its earlier replies too, so they go with it.
        wanted = sheet.locator("#confirm-words").inner_text()
        assert wanted == "erase 3 memories"
        confirm = sheet.get_by_label("To erase, type")
        confirm.fill("yes")
        sheet.get_by_role("button", name="Erase for good").click()
        expect(sheet).to_contain_text("The words do not match yet.")
        confirm.fill(wanted)
        sheet.get_by_role("button", name="Erase for good").click()
        expect(sheet).to_contain_text("This receipt is in the ledger.")
        sheet.get_by_role("button", name="Close").click()
        expect(page.get_by_role("tabpanel")).not_to_contain_text(SECRET)
        folder = life.site.service.settings.logs
        held = [path for path in folder.rglob("*") if path.is_file() and b"tangerine-4711" in path.read_bytes()]
        assert held == []
        chat = life.page(visit)
        expect(chat.locator("#log")).to_contain_text("The record of this turn was erased.")
        expect(chat.locator("#log")).not_to_contain_text(SECRET)


class TestTheKeyboardAlone:
    def test_through_the_whole_chat_page(self, life: Life, visit: Opener) -> None:
        page = life.page(visit)
        # The first stop is the way past everything.
        page.reload()
        expect(page.locator("#message")).to_be_focused()
        # Before the turns are there the arrows have nowhere to go.
        expect(page.locator("#log article")).not_to_have_count(0)
        page.evaluate("document.activeElement.blur(), window.scrollTo(0, 0)")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_contain_text("stop the reply")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.keyboard.press("ArrowUp")
        articles = page.locator("#log article")
        expect(articles.last).to_be_focused()
        page.keyboard.press("ArrowUp")
        expect(articles.nth(articles.count() - 2)).to_be_focused()
        expect(articles.nth(articles.count() - 2)).to_have_attribute("aria-current", "true")
        page.get_by_role("tab", selected=True).focus()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="Candidates")).to_have_attribute("aria-selected", "true")
        page.evaluate("document.activeElement.blur()")
        rounds = articles.count()
        page.keyboard.press("/")
        page.keyboard.type("Are you still there?")
        page.keyboard.press("Shift+Enter")
        page.keyboard.type("I am.")
        page.keyboard.press("Enter")
        expect(articles).to_have_count(rounds + 1)
        page.keyboard.press("Escape")
        page.keyboard.press("r")
        expect(articles.last).to_contain_text("1 earlier reply")

    def test_the_arrows_work_at_once_when_the_list_of_keys_closes(self, life: Life, visit: Opener) -> None:
        page = life.page(visit)
        expect(page.locator("#log article")).not_to_have_count(0)
        # In one go: no frame is drawn in between, so the closed dialog still has the focus.
        page.evaluate(
            """() => {
                const press = (key) =>
                    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
                document.activeElement.blur();
                press("?");
                document.querySelector("dialog[open]").close();
                press("ArrowUp");
            }"""
        )
        expect(page.locator("#log article").last).to_be_focused()

    @pytest.mark.parametrize("path", ["", "memory?tab=experience", "memory?tab=knowledge", "panel"])
    def test_every_control_is_reached_and_the_focus_is_seen(self, life: Life, visit: Opener, path: str) -> None:
        page = life.page(visit, path)
        page.wait_for_load_state("networkidle")
        page.evaluate("document.activeElement.blur()")
        wanted = page.evaluate(_TABBABLE)
        reached: set[str] = set()
        for _ in range(len(wanted) + 60):
            page.keyboard.press("Tab")
            at = page.evaluate(_FOCUSED)
            if at is None:
                if reached >= set(wanted):
                    break
                continue
            assert at["seen"], f"nothing shows that the focus is on {at['name']}"
            reached.add(at["key"])
        assert set(wanted) - reached == set()


# Everything that the keyboard must reach, each with a name of its own; of a group of radios and of tabs only one stop.
_TABBABLE = """() => {
  let count = 0;
  const stops = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")];
  return stops
    .filter((node) => node.checkVisibility({ visibilityProperty: true }) && !node.disabled && node.tabIndex >= 0)
    .filter((node) => node.type !== "radio" || node.checked)
    .filter((node) => !node.closest("dialog:not([open])"))
    .slice(0, 40)
    .map((node) => (node.dataset.stop = `${(count += 1)} ${node.localName} ${node.id} ${node.innerText.slice(0, 20)}`));
}"""
_FOCUSED = """() => {
  const node = document.activeElement;
  if (!node || node === document.body) return null;
  const shown = node.matches("input.unseen") ? node.closest("label") : node;
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(shown);
  const seen = (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || boxShadow !== "none";
  return { key: node.dataset.stop ?? "", name: node.outerHTML.slice(0, 120), seen };
}"""


def _confirm(page: Page, name: str) -> None:
    """Press a button of the sheet that asks, if one does."""
    sheet = page.get_by_role("dialog")
    if sheet.count():
        sheet.get_by_role("button", name=name).click()
    else:
        page.get_by_role("button", name=name, exact=True).click()


def _memory_with(page: Page, words: str) -> Locator:
    return page.locator(".memories > li").filter(has_text=words).first
