"""Who may ask, from where, and what every answer carries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arpm.errors import ArpmError
from arpm.settings import Settings
from arpm.web.headers import HEADERS
from arpm.web.hosts import accepted_hosts
from tests.web.support import Site, error_in, error_of, serving

GIVEN = {"user": "Ann", "character": "Mo"}
TOKEN = "correct-horse-battery-staple"


class TestOnlyThisServersNameIsAnswered:
    """Bug class: a hostile page's name is pointed at 127.0.0.1 and its script reads every memory (DNS rebinding)."""

    @pytest.mark.parametrize(
        "host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "user@localhost", "local host", ""]
    )
    @pytest.mark.parametrize("path", ["/", "/api/v1/timelines", "/static/app.js", "/healthz", "/nowhere"])
    def test_a_wrong_host_is_400(self, site: Site, host: str, path: str) -> None:
        assert error_of(site.http.get(path, headers={"Host": host}), 400, "host")["detail"] == {"place": "Host"}

    @pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:9", "127.8.8.8", "[::1]:8787"])
    def test_a_name_of_this_machine_is_taken(self, site: Site, host: str) -> None:
        assert site.http.get("/healthz", headers={"Host": host}).status_code == 200

    def test_a_server_bound_beyond_loopback_takes_its_name_and_addresses(self) -> None:
        accepts = accepted_hosts("reading.example")
        assert all(accepts(name) for name in ("reading.example", "192.168.1.7", "fe80::1", "localhost"))
        assert not any(accepts(name) for name in ("evil.example", "reading.example.evil", "", None))


class TestOnlyItsOwnPageMayChangeThings:
    FOREIGN = (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "odd"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://{host}"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://["},
        {"Origin": "file://{host}"},
    )
    OWN = ({}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {"Origin": "http://{host}"})

    @pytest.mark.parametrize("headers", FOREIGN, ids=str)
    def test_another_site_is_refused(self, site: Site, headers: dict[str, str]) -> None:
        before = len(site.service.timelines())
        response = site.http.post("/api/v1/timelines", json=GIVEN, headers=self._with_host(site, headers))
        error_of(response, 403, "cross_site")
        assert len(site.service.timelines()) == before

    @pytest.mark.parametrize("headers", OWN, ids=str)
    def test_its_own_page_and_programs_are_not(self, site: Site, headers: dict[str, str]) -> None:
        response = site.http.post("/api/v1/timelines", json=GIVEN, headers=self._with_host(site, headers))
        assert response.status_code == 201

    def test_a_form_of_another_kind_is_not_json(self, site: Site) -> None:
        """A cross-site form can send text/plain without asking first."""
        response = site.http.post("/api/v1/timelines", content='{"user":"A","character":"B"}')
        error_of(response, 415, "media_type")

    def _with_host(self, site: Site, headers: dict[str, str]) -> dict[str, str]:
        return {name: value.format(host=f"127.0.0.1:{site.port}") for name, value in headers.items()}


class TestTheToken:
    def test_a_bind_beyond_loopback_without_one_is_refused(self, logs: Path) -> None:
        with pytest.raises(ArpmError, match="ARPM_TOKEN"):
            Settings(logs=logs, host="0.0.0.0")

    def test_nothing_is_answered_without_it(self, logs: Path) -> None:
        with serving(logs, token=TOKEN) as site:
            for path in ("/api/v1/timelines", "/api/v1/documents", "/nowhere"):
                response = site.http.get(path)
                error_of(response, 401, "unauthorised")
                assert response.headers["WWW-Authenticate"] == "Bearer"
            error_of(site.http.post("/api/v1/timelines", json={"user": "A", "character": "B"}), 401, "unauthorised")
            assert site.http.get("/").headers["Location"] == "/login"
            assert [site.http.get(path).status_code for path in ("/login", "/healthz", "/readyz")] == [200] * 3
            assert site.service.timelines() == []

    def test_a_program_sends_it_as_a_bearer(self, logs: Path) -> None:
        with serving(logs, token=TOKEN) as site:
            for given, status in ((f"Bearer {TOKEN}", 200), (f"Bearer {TOKEN}x", 401), (TOKEN, 401), ("Bearer é", 401)):
                headers = {"Authorization": given.encode()}
                assert site.http.get("/api/v1/timelines", headers=headers).status_code == status

    def test_a_browser_trades_it_for_a_cookie_that_is_not_the_token(self, logs: Path) -> None:
        with serving(logs, token=TOKEN) as site:
            wrong = site.http.post("/login", data={"token": "guess"})
            assert wrong.status_code == 401
            assert "Set-Cookie" not in wrong.headers
            right = site.http.post("/login", data={"token": TOKEN})
            cookie = right.headers["Set-Cookie"]
            assert right.status_code == 303
            assert "HttpOnly" in cookie
            assert "SameSite=Strict" in cookie
            assert TOKEN not in cookie
            assert site.http.get("/").status_code == 200
            assert site.http.get("/api/v1/timelines").status_code == 200

    def test_forwarded_identities_are_not_believed(self, logs: Path) -> None:
        with serving(logs, token=TOKEN) as site:
            headers = {"X-Forwarded-User": "root", "X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1"}
            assert site.http.get("/api/v1/timelines", headers=headers).status_code == 401


class TestEveryResponseCarriesThePolicy:
    def test_pages_data_files_refusals_and_streams(self, site: Site) -> None:
        timeline = site.timeline()
        responses = [
            site.http.get("/"),
            site.http.get("/login"),
            site.http.get("/static/app.js"),
            site.http.get("/static/none.js"),
            site.http.get("/healthz"),
            site.http.get("/api/v1/timelines"),
            site.http.get("/nowhere"),
            site.http.delete("/api/v1/timelines"),
            site.http.get("/", headers={"Host": "evil.example"}),
            site.http.post("/api/v1/timelines", json={}),
            site.http.post(f"/api/v1/timelines/{timeline}/messages", json={"message": "Hello."}),
        ]
        for response in responses:
            for name, value in HEADERS.items():
                assert response.headers.get_list(name) == [value], (response.request.url, name)
            assert "Access-Control-Allow-Origin" not in response.headers
            assert "Server" not in response.headers
            if not response.request.url.path.startswith("/static/"):
                assert response.headers["Cache-Control"] == "no-store"
        stream = responses[-1].headers
        assert stream["Content-Type"].startswith("text/event-stream")
        assert stream["X-Accel-Buffering"] == "no"

    @pytest.mark.parametrize(
        ("request_bytes", "status", "kind"),
        [
            (b"GET / HTTP/1.1\r\nHost: localhost\r\nBad Header\r\n\r\n", 400, "malformed"),
            (
                b"POST /api/v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
                413,
                "too_large",
            ),
            (b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "malformed"),
        ],
        ids=["header", "announced size", "encoding"],
    )
    def test_what_never_reaches_the_application(self, site: Site, request_bytes: bytes, status: int, kind: str) -> None:
        """Bug class: the server under the application answers in its own words, without any of the headers."""
        head, _, body = site.raw(request_bytes).partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        assert lines[0].split()[1] == str(status)
        assert {f"{name}: {value}" for name, value in HEADERS.items()} <= set(lines)
        error_in(json.loads(body), kind)
