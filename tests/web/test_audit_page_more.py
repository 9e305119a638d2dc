"""The audit page in a real browser: checkpoints and proofs, turns and runs side by side, lives of memories, exports."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from arpm.ledger import LEDGER_NAME
from tests.support import ScriptedBackend, reply
from tests.web.browser import needs_chromium
from tests.web.conftest import Opener, Starter
from tests.web.support import Site
from tests.web.test_accessibility import look
from tests.web.test_audit_page import HOSTILE, drawn, opened

pytestmark = needs_chromium


@pytest.fixture
def told(serve: Starter) -> tuple[Site, str, str]:
    """A server with a document and two timelines: one of three turns, one of two. What can be hostile is."""
    first = reply("In the boat house.", "E1", "knowledge", "E1 says so.")
    site = serve(
        ScriptedBackend(
            [first, reply(f"好的。{HOSTILE}"), reply("Blue."), reply("By the gate. 在门边。"), reply("好的。")]
        )
    )
    site.upload("harbour.md", "# Boats\n\nAnn keeps her canoe in the boat house. 安的独木舟在船屋里。".encode())
    one, two = site.timeline("Ann", f"Mo {HOSTILE}"), site.timeline("Bo", "小雨")
    for message in ("Where is my canoe?", f"它是蓝色的。{HOSTILE}", "Which canoe is mine?"):
        site.send(one, message)
    for message in ("Where is my canoe?", "它是绿色的。"):
        site.send(two, message)
    return site, one, two


def saved(page: Page, name: str) -> Path:
    """The file that a link or button of that name saves."""
    with page.expect_download() as saving:
        page.get_by_role("link", name=name).or_(page.get_by_role("button", name=name)).first.click()
    return Path(saving.value.path())


class TestCheckpoints:
    def test_signed_kept_and_held_against_a_ledger_that_was_cut_short(
        self, told: tuple[Site, str, str], visit: Opener, tmp_path: Path
    ) -> None:
        site, timeline, _ = told
        page = opened(visit, site, timeline, "checkpoints")
        expect(page.locator("#view")).to_contain_text("There is none yet; the first signature makes one.")
        page.get_by_role("button", name="Sign what it holds now").click()
        expect(page.locator(".verdict")).to_have_text("3 checkpoints were signed.")
        expect(page.locator("#view")).to_contain_text(re.compile("ed25519:[0-9a-f]{64}"))
        expect(page.locator("tbody tr")).to_have_count(3)
        row = page.locator("tbody tr").filter(has_text=timeline)
        kept = saved(page, str(row.get_by_role("link").get_attribute("aria-label")))
        file = tmp_path / "kept.json"
        file.write_bytes(kept.read_bytes())
        page.locator("#check-file").set_input_files(file)
        page.get_by_role("button", name="Check the file").click()
        expect(page.locator(".outcome .mark.strong")).to_have_text("holds")
        look(page, "a checkpoint that holds")
        path = site.service.logs / timeline / LEDGER_NAME
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
        page.get_by_role("button", name="Check the file").click()
        expect(page.locator(".outcome .mark.bad")).to_have_text("does not hold")
        expect(page.locator(".outcome li")).to_contain_text("it was cut short")
        look(page, "a checkpoint that does not hold")

    def test_one_ledger_and_the_row_of_its_checkpoint(self, told: tuple[Site, str, str], visit: Opener) -> None:
        site, timeline, _ = told
        page = opened(visit, site, timeline, "checkpoints")
        page.get_by_label("Which ledger").select_option(timeline)
        page.get_by_role("button", name="Sign what it holds now").click()
        expect(page.locator("tbody tr")).to_have_count(1)
        site.send(timeline, "And now?")
        page.get_by_role("button", name=re.compile("^Prove: ")).click()
        expect(page.locator(".verdict").nth(1)).to_contain_text("begins with all that the older checkpoint holds")
        proof = json.loads(saved(page, "Save the proof").read_text("utf-8"))
        assert proof["format"].startswith("urn:arpm:consistency-proof")

    def test_files_that_are_no_checkpoint_are_refused_in_words(
        self, told: tuple[Site, str, str], visit: Opener, tmp_path: Path
    ) -> None:
        site, timeline, _ = told
        seen = visit(f"{site.url}audit?tab=checkpoints#{timeline}")
        seen.expect("400")
        page = seen.page
        expect(page.locator("body[data-ready=checkpoints]")).to_be_visible()
        page.get_by_role("button", name="Check the file").click()
        alert = page.get_by_role("alert").filter(has_text=re.compile("."))
        expect(alert).to_have_text("Choose a file first.")
        for number, data in enumerate((b"", b"\xff\xfe\x00PNG", b"{}", b"{" + b" " * 1_100_000 + b"}")):
            file = tmp_path / f"{number}.json"
            file.write_bytes(data)
            page.locator("#check-file").set_input_files(file)
            page.get_by_role("button", name="Check the file").click()
            expect(alert).to_contain_text("The uploaded file is no checkpoint")
            page.get_by_role("button", name="Prove that its ledger still begins so").click()
            expect(alert).to_contain_text("The uploaded file is no checkpoint")

    def test_an_event_leads_to_its_proof(self, told: tuple[Site, str, str], visit: Opener, tmp_path: Path) -> None:
        site, timeline, _ = told
        page = opened(visit, site, timeline, "ledgers", more=f"&ledger={timeline}")
        page.locator(".event summary").first.click()
        page.get_by_role("link", name="Prove that it is there").click()
        event = site.turns(timeline)[-1]["id"]
        expect(page.get_by_label("Id of the event")).to_have_value(event)
        page.get_by_role("button", name="Prove", exact=True).click()
        expect(page.locator(".verdict")).to_contain_text("The proof shows that the event is in the ledger.")
        look(page, "a proof")
        file = tmp_path / "proof.json"
        file.write_bytes(saved(page, "Save the proof").read_bytes())
        page.reload()
        page.locator("#check-file").set_input_files(file)
        page.get_by_role("button", name="Check the file").click()
        expect(page.locator(".verdict")).to_contain_text("The proof shows that the event is in the ledger.")


class TestCompare:
    def test_two_turns_by_their_rounds(self, told: tuple[Site, str, str], visit: Opener) -> None:
        site, one, two = told
        page = opened(visit, site, one, "diff")
        page.locator("#first-round").fill("1")
        page.get_by_label("Timeline of the second").select_option(two)
        page.locator("#second-round").fill("1")
        page.get_by_role("button", name="Compare").click()
        expect(page).to_have_url(re.compile(rf"first={one}%3A1&second={two}%3A1#{one}$"))
        outcome = page.locator(".outcome")
        expect(outcome).to_contain_text("They differ.")
        expect(outcome.locator(".marked del").first).to_contain_text("In")
        expect(outcome.locator(".marked ins").last).to_contain_text("门边")
        expect(outcome.locator("table").last).to_contain_text("canoe in the boat house")
        look(page, "two turns")
        page.reload()
        expect(outcome).to_contain_text("They differ.")
        expect(page.get_by_label("Timeline of the second")).to_have_value(two)

    def test_two_timelines_and_from_there_to_a_round(self, told: tuple[Site, str, str], visit: Opener) -> None:
        site, one, two = told
        page = opened(visit, site, one, "diff", more=f"&first={one}&second={two}")
        expect(page.locator(".verdict")).to_contain_text("of 2 rounds that both have")
        expect(page.locator(".outcome")).to_contain_text("Only the first has the rounds 3.")
        look(page, "two timelines")
        page.get_by_role("link", name="Round 2 side by side").click()
        expect(page.locator("#first-round")).to_have_value("2")
        expect(page.locator(".outcome")).to_contain_text(HOSTILE)
        page.go_back()
        expect(page.locator(".outcome")).to_contain_text("Two timelines, round by round")

    def test_what_cannot_be_compared_is_said(self, told: tuple[Site, str, str], visit: Opener) -> None:
        site, one, _ = told
        seen = visit(f"{site.url}audit?tab=diff#{one}")
        seen.expect("404")
        page = seen.page
        alert = page.locator("form [role=alert]")
        page.locator("#first-round").fill("x")
        page.get_by_role("button", name="Compare").click()
        expect(alert).to_have_text("A round is a whole number.")
        page.locator("#first-round").fill("")
        page.get_by_role("button", name="Compare").click()
        expect(alert).to_have_text("Give two rounds, or none to compare two timelines.")
        page.locator("#first-round").fill("99")
        page.get_by_role("button", name="Compare").click()
        expect(page.get_by_role("alert").filter(has_text="This could not be read.")).to_be_visible()

    def test_an_event_leads_to_the_turn_before_it(self, told: tuple[Site, str, str], visit: Opener) -> None:
        site, one, _ = told
        page = opened(visit, site, one, "ledgers", more=f"&ledger={one}&kind=turn")
        page.locator(".event summary").first.click()
        page.get_by_role("link", name="Compare: round 3").click()
        expect(page.locator("#first-round")).to_have_value("2")
        expect(page.locator("#second-round")).to_have_value("3")


class TestLives:
    def test_all_in_short_then_one_turn_by_turn(self, told: tuple[Site, str, str], visit: Opener) -> None:
        site, timeline, _ = told
        page = opened(visit, site, timeline, "lives")
        expect(page.locator(".verdict")).to_contain_text(re.compile("memor(y was|ies were) shown"))
        expect(page.locator("tbody tr").first).to_contain_text("canoe in the boat house")
        drawn(page, 1)
        look(page, "lives")
        page.get_by_label("Over").select_option("hours")
        expect(page).to_have_url(re.compile("over=hours"))
        memory = page.locator("tbody tr code").first.inner_text()
        page.get_by_role("link", name=f"its life: {memory}").click()
        expect(page.get_by_role("heading", name=f"The life of {memory}")).to_be_visible()
        expect(page.locator("tbody")).to_contain_text("cited")
        drawn(page, 1)
        look(page, "a life")
        page.get_by_role("link", name=re.compile("^round 1 in the chat")).click()
        expect(page.locator("#log")).to_contain_text("In the boat house.")

    def test_a_memory_that_never_came_up_and_a_damaged_ledger(self, told: tuple[Site, str, str], visit: Opener) -> None:
        site, timeline, _ = told
        page = opened(visit, site, timeline, "lives", more="&memory=m-000000000000")
        expect(page.locator("#view")).to_contain_text("No turn of this timeline had it among its candidates.")
        path = site.service.logs / timeline / LEDGER_NAME
        path.write_bytes(path.read_bytes().replace(b"Which canoe is mine?", b"Which kanoe is mine?", 1))
        page = opened(visit, site, timeline, "lives")
        expect(page.locator("#view .warning")).to_contain_text("The ledger is damaged and read up to there")


class TestWaysToErasingAndQuarantine:
    def test_a_memory_is_put_in_quarantine(self, told: tuple[Site, str, str], visit: Opener) -> None:
        site, timeline, _ = told
        memory = site.http.get(f"/api/v1/timelines/{timeline}/memories").json()["memories"][-1]["id"]
        page = opened(visit, site, timeline, "lives", more=f"&memory={memory}")
        page.get_by_role("link", name=f"Quarantine: {memory}").click()
        sheet = page.locator("#sheet")
        expect(sheet).to_contain_text("1")
        # A link does nothing by itself, and what it asks for is asked once.
        assert site.http.get(f"/api/v1/timelines/{timeline}/memories?state=quarantined").json()["count"] == 0
        expect(page).to_have_url(re.compile(rf"/memory\?tab=experience&memory={memory}#{timeline}$"))
        sheet.locator("form button[type=submit], form button.primary").last.click()
        expect(page.locator("#notices")).to_contain_text("quarantine")
        assert site.http.get(f"/api/v1/timelines/{timeline}/memories?state=quarantined").json()["count"] == 1

    def test_a_turn_is_erased_after_its_reach_and_the_typed_words(
        self, told: tuple[Site, str, str], visit: Opener
    ) -> None:
        site, timeline, _ = told
        page = opened(visit, site, timeline, "ledgers", more=f"&ledger={timeline}&kind=turn")
        page.locator(".event summary").last.click()
        page.get_by_role("link", name="Erase: round 1").click()
        sheet = page.locator("#sheet")
        expect(sheet).to_contain_text("What it reaches")
        sheet.locator("input[name=confirm]").fill(sheet.locator("#confirm-words").inner_text())
        sheet.get_by_role("button", name="Erase for good").click()
        expect(sheet).to_contain_text("receipt", ignore_case=True)
        assert b"Where is my canoe?" not in (site.service.logs / timeline / LEDGER_NAME).read_bytes()

    def test_rounds_are_put_in_quarantine_from_a_turn(self, told: tuple[Site, str, str], visit: Opener) -> None:
        site, timeline, _ = told
        page = opened(visit, site, timeline, "ledgers", more=f"&ledger={timeline}&kind=turn")
        page.locator(".event summary").last.click()
        page.get_by_role("link", name="Quarantine: round 1").click()
        expect(page.locator("#sheet")).to_contain_text("round 1")
        page.reload()
        expect(page.locator("main")).to_contain_text("boat house")
        expect(page.locator("#sheet")).to_be_hidden()

    def test_a_link_with_nonsense_does_nothing(self, told: tuple[Site, str, str], visit: Opener) -> None:
        site, timeline, _ = told
        for query in ("act=erase", "act=quarantine&round=-1", "act=drop&round=1", "act=quarantine&round=1%3B2"):
            page = visit(f"{site.url}memory?tab=experience&{query}#{timeline}").page
            expect(page.locator("main")).to_contain_text("boat house")
            expect(page.locator("#sheet")).to_be_hidden()


class TestExports:
    def test_made_listed_and_saved(self, told: tuple[Site, str, str], visit: Opener) -> None:
        site, timeline, _ = told
        page = opened(visit, site, timeline, "exports")
        page.get_by_role("button", name="Export", exact=True).click()
        expect(page.locator(".verdict")).to_contain_text("files were written")
        expect(page.locator("tbody tr")).to_have_count(1)
        assert "它是蓝色的。" in saved(page, "turns.jsonl").read_text("utf-8")
        assert saved(page, "Save all (.zip)").read_bytes().startswith(b"PK")
        page.get_by_label("Format").select_option("croissant")
        page.get_by_label("Name of the data set").fill("boats 船")
        page.get_by_role("button", name="Export", exact=True).click()
        expect(page.locator("tbody tr")).to_have_count(2)
        metadata = json.loads(saved(page, "croissant.json").read_text("utf-8"))
        assert metadata["name"] == "boats 船"
        look(page, "exports")

    @pytest.mark.parametrize("format", ["csv", "inspect"])
    def test_the_other_formats(self, told: tuple[Site, str, str], visit: Opener, format: str) -> None:
        site, timeline, _ = told
        page = opened(visit, site, timeline, "exports")
        page.get_by_label("Which timelines").select_option("all")
        page.get_by_label("Format").select_option(format)
        page.get_by_role("button", name="Export", exact=True).click()
        expect(page.locator("tbody tr")).to_contain_text("小雨")
        name = "turns.csv" if format == "csv" else page.locator("tbody li a").first.inner_text()
        assert saved(page, name).stat().st_size > 100

    def test_a_refusal_is_said_where_the_person_is(self, told: tuple[Site, str, str], visit: Opener) -> None:
        site, timeline, _ = told
        seen = visit(f"{site.url}audit?tab=exports#{timeline}")
        seen.expect("400")
        # A file stands where the folder of exports should be.
        (site.service.logs.parent / "exports").write_text("in the way")
        page = seen.page
        page.get_by_role("button", name="Export", exact=True).click()
        expect(page.locator("form [role=alert]")).to_contain_text("cannot be written")
