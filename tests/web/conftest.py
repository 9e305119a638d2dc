"""One server for the tests that do not change what it is, and one browser for each module that looks at pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.support import ScriptedBackend
from tests.web.browser import Visit, launched, visiting
from tests.web.support import Site, serving

Opener = Callable[..., Visit]
Starter = Callable[..., Site]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server shared by a module; each test makes timelines of its own."""
    with serving(tmp_path_factory.mktemp("web") / "logs", upload_limit=200_000) as running:
        yield running


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """An empty logs folder."""
    return tmp_path / "logs"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The browser. Not for the whole session: Playwright leaves its event loop set in the thread while it runs."""
    with launched() as running:
        yield running


@pytest.fixture
def serve(logs: Path) -> Iterator[Starter]:
    """Starts servers as `serving` does, in the test's own folder, which outlive the pages that look at them."""
    with ExitStack() as stack:

        def started(backend: ScriptedBackend | None = None, **settings: Any) -> Site:
            return stack.enter_context(serving(logs, backend, **settings))

        yield started


@pytest.fixture
def visit(browser: Browser, serve: Starter) -> Iterator[Opener]:
    """Opens addresses as `visiting` does. At the end none of the pages may have complained or gone elsewhere."""
    visits: list[Visit] = []
    with ExitStack() as stack:

        def opened(*given: Any, **options: Any) -> Visit:
            visits.append(stack.enter_context(visiting(browser, *given, **options)))
            return visits[-1]

        yield opened
    for seen in visits:
        assert seen.unexpected() == []
        assert seen.strangers() == []
