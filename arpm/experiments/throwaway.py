"""A service on a folder that is thrown away, opened when a step of a run first needs it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from arpm.clock import Clock
from arpm.experiments.base import Run
from arpm.generation.base import Backend
from arpm.service import Service
from retrieval.embedding import load_embedder
from retrieval.embedding.cache import CachedEmbedder


class ThrowAway:
    """The service of a run; every embedding is kept in the run's folder. Use as a context manager."""

    def __init__(self, run: Run, *, clock: Clock | None = None, backends: Sequence[Backend] = ()) -> None:
        self._run = run
        self._clock = clock
        self._backends = backends
        self._stack = ExitStack()
        self._opened: tuple[Service, CachedEmbedder] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    @property
    def service(self) -> Service:
        """The service, opened now if it was not."""
        return self._open()[0]

    @property
    def embedder(self) -> CachedEmbedder:
        """The embedder of the service, opened now if it was not."""
        return self._open()[1]

    def _open(self) -> tuple[Service, CachedEmbedder]:
        if self._opened is None:
            run = self._run
            run.progress("loading the embedder", 0, 1)
            folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="arpm-experiment-")))
            inner = load_embedder(run.settings.embedder, folder / "embedder")
            embedder = CachedEmbedder(inner, run.vectors)
            self._stack.callback(embedder.close)
            settings = replace(run.settings, logs=folder / "logs")
            service = Service(settings, embedder=embedder, clock=self._clock, backends=self._backends)
            self._opened = self._stack.enter_context(service), embedder
        return self._opened
