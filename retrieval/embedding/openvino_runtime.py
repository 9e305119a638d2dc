"""OpenVINO, imported with its usage reporting switched off.

Keeps the promise that nothing leaves the machine: a plain `import openvino` creates a client id in the home folder
and sends an "import" event, unless a consent file forbids it. Anything that uses openvino, openvino_genai or
openvino_tokenizers calls `forbid_telemetry` first. Knows nothing about models.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType


def forbid_telemetry() -> None:
    """Make the import of `openvino_telemetry` fail in this process, so that OpenVINO uses its own empty stub.

    Call it before the first import of any openvino package. Idempotent.
    """
    # None in sys.modules is Python's documented way to forbid an import.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]


def openvino_installed() -> bool:
    """Whether OpenVINO can be imported; looks without importing it."""
    return importlib.util.find_spec("openvino") is not None


def import_openvino() -> ModuleType:
    """The `openvino` module, silent."""
    forbid_telemetry()
    return importlib.import_module("openvino")
