"""The models a person can choose from, by name, each made when it is first asked for.

Keeps the promise that the embedded model is always there. Knows how settings become a backend, and nothing about what
a backend does.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import cast

from arpm.errors import NotFoundError
from arpm.generation.base import Backend, GenerationError, Sampling
from arpm.generation.openai import Endpoint, OpenAIBackend
from arpm.generation.transformers_backend import TransformersBackend
from arpm.settings import LOCAL_MODEL, ModelSettings, Settings

# The embedded model is greedy, since a model of its size drifts when it is not; a long reply of it is a loop.
LOCAL_SAMPLING = Sampling(temperature=0.0, max_tokens=400)


class Models:
    """The models of `settings` and, before them, the ready-made backends of `extra`. Safe to share between threads."""

    def __init__(self, settings: Settings, extra: Iterable[Backend] = ()) -> None:
        local = ModelSettings(name=LOCAL_MODEL, backend="local")
        self._tables = {table.name: table for table in (local, *settings.models)}
        self._made: dict[str, Backend] = {backend.name: backend for backend in extra}
        self._making = threading.Lock()
        self.default = settings.model
        self._cache = settings.cache

    def names(self) -> tuple[str, ...]:
        """Every name, the default first, then in order of the alphabet."""
        names = {*self._tables, *self._made}
        return tuple(sorted(names, key=lambda name: (name != self.default, name)))

    def get(self, name: str) -> Backend:
        """The backend of that name, the same one at every call; its weights are loaded when it is first used.

        Raises NotFoundError for an unknown name.
        """
        self._check(name)
        with self._making:
            if name not in self._made:
                self._made[name] = _backend(self._tables[name], self._cache)
            return self._made[name]

    def sampling(self, name: str) -> Sampling:
        """How replies of that model are sampled unless a request says otherwise. Raises NotFoundError."""
        self._check(name)
        table = self._tables.get(name)
        if table is None:
            return Sampling()
        base = LOCAL_SAMPLING if table.backend == "local" else Sampling()
        given = {key: getattr(table, key) for key in ("temperature", "top_p", "max_tokens", "seed", "timeout")}
        return replace(base, **{key: value for key, value in given.items() if value is not None})

    def _check(self, name: str) -> None:
        if name not in self._tables and name not in self._made:
            raise NotFoundError(f"There is no model {name!r}. Known models: {', '.join(self.names())}.")


def _backend(table: ModelSettings, cache: Path | None) -> Backend:
    if table.backend == "openai":
        return _remote(table)
    if table.backend == "transformers":
        style = table.prompt_style or ("full" if table.path else "compact")
        return TransformersBackend(table.name, table.path, prompt_style=style, context_tokens=table.context_tokens)
    return _local(cache)


def _remote(table: ModelSettings) -> Backend:
    # Settings refuses a table of this kind without the two.
    endpoint = Endpoint(
        base_url=cast(str, table.base_url),
        model=cast(str, table.model),
        api_key_env=table.api_key_env,
        connect_timeout=table.connect_timeout,
        read_timeout=table.read_timeout,
        tries=table.tries,
        proxy=table.proxy,
    )
    style = table.prompt_style or "full"
    return OpenAIBackend(table.name, endpoint, prompt_style=style, context_tokens=table.context_tokens or 8192)


def _local(cache: Path | None) -> Backend:
    # Imported here: openvino takes a second, which a service with another model never pays.
    try:
        local = importlib.import_module("arpm.generation.local")
    except ImportError as error:
        raise GenerationError(
            "load", f"Model {LOCAL_MODEL!r}: a package is missing ({error}). Run `make install`."
        ) from error
    return cast(Backend, local.LocalBackend(cache))
