"""Real ids in the place of half of the made-up ones, for `tests.web.fuzz`. Loaded by schemathesis's own process."""

from __future__ import annotations

import json
import os
import zlib
from typing import Any

import schemathesis

REAL: dict[str, str] = json.loads(os.environ.get("ARPM_FUZZ_IDS", "{}"))


def _real(name: str, given: Any) -> Any:
    """The real id of that name for half of the values; which half depends on the value alone."""
    if name == "memories" and isinstance(given, list):
        return [_real("memory", item) for item in given]
    return REAL[name] if name in REAL and zlib.crc32(repr(given).encode()) % 2 else given


@schemathesis.hook
def map_path_parameters(_context: Any, path_parameters: Any) -> Any:
    return _with_real(path_parameters)


@schemathesis.hook
def map_body(_context: Any, body: Any) -> Any:
    return _with_real(body)


def _with_real(given: Any) -> Any:
    if not isinstance(given, dict):
        return given
    return {name: _real(name, value) for name, value in given.items()}
