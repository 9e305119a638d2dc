"""One server for the tests that do not change what it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.support import Site, serving


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server shared by a module; each test makes timelines of its own."""
    with serving(tmp_path_factory.mktemp("web") / "logs", upload_limit=200_000) as running:
        yield running


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """An empty logs folder."""
    return tmp_path / "logs"
