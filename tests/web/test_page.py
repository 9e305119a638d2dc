"""The page and its files: no text that anybody wrote can run in it, and every word it shows is in one place."""

from __future__ import annotations

import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from arpm.web import strings
from tests.support import ScriptedBackend, reply
from tests.web.support import Site, last, serving

STATIC = Path(__file__).resolve().parents[2] / "static"
TEMPLATES = STATIC.parent / "templates"
SCRIPTS = sorted(STATIC.glob("*.js"))
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"


class _Page(HTMLParser):
    """What of a page could run, and the ids it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.active: list[str] = []
        self.ids: list[str] = []
        self.loaded: list[str] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._in_script = tag == "script"
        self.active += [name for name, _ in attributes if name.startswith("on") or name == "style"]
        self.active += [tag] if tag in ("style", "iframe", "object", "embed", "base") else []
        self.ids += [value for name, value in attributes if name == "id" and value]
        self.loaded += [value for name, value in attributes if name in ("src", "href") and value]

    def handle_data(self, data: str) -> None:
        if self._in_script and data.strip():
            self.active.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False


class TestNothingWrittenCanRun:
    @pytest.mark.parametrize("path", ["/", "/login"])
    def test_pages_hold_no_inline_code_and_load_only_from_here(self, logs: Path, path: str) -> None:
        with serving(logs, token="secret-token") as site:
            page = _Page(site.http.get(path, headers={"Authorization": "Bearer secret-token"}).text)
        assert page.active == []
        assert page.loaded
        # Besides files and places in the page only the way to the other pages.
        pages = {"/", "/memory", "/panel", "/audit"}
        assert all(address in pages or address.startswith(("/static/", "#")) for address in page.loaded)

    @pytest.mark.parametrize("script", SCRIPTS, ids=[path.name for path in SCRIPTS])
    def test_scripts_set_text_only(self, script: Path) -> None:
        """Bug class: one `innerHTML` with a character's name in it."""
        code = script.read_text("utf-8")
        forbidden = (
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|javascript:|https?://"
        )
        assert re.findall(forbidden, code) == []

    def test_hostile_words_come_back_as_data(self, logs: Path) -> None:
        with serving(logs, ScriptedBackend([reply(HOSTILE, "E1", "knowledge", HOSTILE)])) as site:
            timeline = site.timeline(HOSTILE, HOSTILE, persona=HOSTILE)
            site.upload(f"{HOSTILE}.md".replace("/", "_"), f"# {HOSTILE}\n\n{HOSTILE}".encode())
            site.http.post(f"/api/v1/timelines/{timeline}/instructions", json={"text": HOSTILE})
            view = last(site.send(timeline, HOSTILE), "turn")
            assert view["record"]["body"]["message"] == HOSTILE
            paths = [
                "",
                "/instructions",
                "/memories",
                f"/memories?q={HOSTILE}",
                "/config",
                "?before=0",
                f"?before={HOSTILE}",
            ]
            addresses = [f"/api/v1/timelines/{timeline}{path}" for path in paths]
            addresses += [f"/api/v1/turns/{timeline}:1", "/api/v1/timelines", "/api/v1/documents", f"/{HOSTILE}"]
            for address in addresses:
                response = site.http.get(address)
                assert response.headers["Content-Type"] == "application/json", address
                assert response.headers["X-Content-Type-Options"] == "nosniff"
            assert "<script>alert" not in site.http.get("/").text


class TestEveryWordIsInOnePlace:
    def test_the_words_of_the_templates_are_all_used(self) -> None:
        templates = "".join(path.read_text("utf-8") for path in TEMPLATES.glob("*.html"))
        assert set(re.findall(r"text\.(\w+)", templates)) == set(strings.PAGE)

    def test_the_words_of_the_scripts_are_there_and_used(self) -> None:
        words = (STATIC / "strings.js").read_text("utf-8")
        known = set(re.findall(r"^  (\w+):", words, re.MULTILINE))
        code = "".join(path.read_text("utf-8") for path in SCRIPTS if path.name != "strings.js")
        assert set(re.findall(r"\bstrings\.(\w+)", code)) - {"js"} == known

    def test_scripts_find_what_they_look_for(self, site: Site) -> None:
        code = "".join(path.read_text("utf-8") for path in SCRIPTS)
        ids = _Page(site.http.get("/").text).ids
        assert len(ids) == len(set(ids))
        assert set(re.findall(r'byId\("([\w-]+)"\)', code)) <= set(ids)

    def test_modules_import_what_there_is(self) -> None:
        for script in SCRIPTS:
            for names, source in re.findall(r'import \{([^}]+)\} from "\./([\w.]+)"', script.read_text("utf-8")):
                exported = (STATIC / source).read_text("utf-8")
                for name in filter(None, (name.strip() for name in names.split(","))):
                    assert re.search(rf"export (?:async )?(?:function\*? |const |class ){name}\b", exported), (
                        script.name,
                        name,
                    )


class TestVendoredFiles:
    """Code of others is what its makers published, byte for byte, with its licence beside it."""

    def test_files_are_those_of_the_manifest(self) -> None:
        folder = STATIC / "vendor"
        entries = json.loads((folder / "manifest.json").read_text("utf-8"))
        for entry in entries:
            assert hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest() == entry["sha256"], entry["name"]
            assert entry["version"] in entry["file"]
            assert f"@{entry['version']} " in entry["source"]
        named = {name for entry in entries for name in (entry["file"], entry["licence_file"])}
        assert {path.name for path in folder.iterdir()} == named | {"manifest.json"}

    def test_the_notice_names_each(self) -> None:
        notice = (STATIC.parent / "NOTICE").read_text("utf-8")
        for entry in json.loads((STATIC / "vendor" / "manifest.json").read_text("utf-8")):
            assert f"- {entry['name']}".lower() in notice.lower()


class TestHealth:
    def test_alive_and_ready(self, site: Site) -> None:
        assert site.http.get("/healthz").json() == {"status": "ok"}
        assert site.http.get("/readyz").json() == {"status": "ready", "damaged_ledgers": 0}


class TestTheApiIsDocumented:
    def test_every_address_and_no_other(self, site: Site) -> None:
        text = (STATIC.parent / "docs" / "http-api.md").read_text("utf-8")
        documented = set(re.findall(r"\*\*`([A-Z]+ /[^`]*)`\*\*", text))
        pages = {"pages.chat", "pages.memory", "pages.panel", "pages.audit", "login.page", "login.enter", "static"}
        served = {
            f"{method} {re.sub(r'<[^:>]*:', '<', rule.rule)}"
            for rule in site.app.url_map.iter_rules()
            if rule.endpoint not in pages
            for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        }
        assert documented == served
