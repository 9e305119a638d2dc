"""Runs functions in processes of their own under strace, without starting Python anew for each.

    with Mother("tests.test_turn_crash") as mother:
        done = mother.run("take_turn", str(logs), trace=["-e", "inject=fsync:signal=SIGKILL:when=2"])

A mother process imports the module once; each run is a fork of it, to which strace is attached before the function
begins. A child that is killed at the hundredth system call costs what these calls cost and not a start of Python.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.patience import PATIENCE

# Libraries that start threads when they are imported must not: a fork has no threads, but the locks they held.
_SINGLE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY): where only parents may trace, this child may be traced by anyone.
_PR_SET_PTRACER = 0x59616D61


@dataclass(frozen=True)
class Done:
    """How a run ended (a negative status is the signal that killed it) and what it printed."""

    status: int
    output: str
    errors: str


class Mother:
    """The process of which runs are forks."""

    def __init__(self, module: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_SINGLE},
            cwd=Path(__file__).parents[1],
        )

    def __enter__(self) -> Mother:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def run(self, function: str, *arguments: str, trace: Sequence[str]) -> Done:
        """Call a function of the module in a fork, with these options for strace (which are to say where it writes)."""
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder, name) for name in ("out", "err")]
            asked = {"function": function, "arguments": arguments, "files": [str(file) for file in files]}
            pid = int(self._ask(asked)["pid"])
            with _attached(pid, trace) as tracer:
                # A child that hangs is killed, which is a status that no test expects.
                hangs = threading.Timer(3 * PATIENCE, os.kill, (pid, signal.SIGTERM))
                hangs.start()
                status = int(self._ask({"go": pid})["status"])
                hangs.cancel()
                tracer.communicate()
            output, errors = (file.read_text("utf-8", "replace") for file in files)
        return Done(status, output, errors)

    def _ask(self, what: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        self._process.stdin.flush()
        said = self._process.stdout.readline()
        if not said:
            raise RuntimeError("the process that is to be forked has ended; see what it wrote above")
        return dict(json.loads(said))


def _attached(pid: int, options: Sequence[str]) -> subprocess.Popen[str]:
    """strace, once it is there."""
    tracer = subprocess.Popen(["strace", "-f", *options, "-p", str(pid)], stderr=subprocess.PIPE, text=True)
    assert tracer.stderr is not None
    said = tracer.stderr.readline()
    if "attached" not in said:
        tracer.kill()
        raise RuntimeError(f"strace did not attach: {said}{tracer.communicate()[1]}")
    return tracer


def _mother(module: str) -> None:
    """Fork as asked on standard input, until nobody asks any more."""
    sys.path.insert(0, str(Path.cwd()))
    functions = vars(importlib.import_module(module))
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise RuntimeError(f"importing {module} starts threads, so it cannot be forked")
    gc.collect()
    gc.freeze()
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        held, go = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(go)
            _child(functions[asked["function"]], asked["arguments"], asked["files"], held)
        os.close(held)
        answers.write(json.dumps({"pid": pid}).encode() + b"\n")
        # The one who asked says when strace is there.
        sys.stdin.buffer.readline()
        os.close(go)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        answers.write(json.dumps({"status": status}).encode() + b"\n")


def _child(function: Any, arguments: list[str], files: list[str], held: int) -> None:
    """What a fork does: wait until it is traced, call the function, and end at once."""
    status = 1
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)
        for number, file in enumerate(files, 1):
            os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.read(held, 1)
        function(*arguments)
        status = 0
    except BaseException:  # noqa: BLE001  (told to the one who asked)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    _mother(sys.argv[1])
