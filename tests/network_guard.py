"""Proves by the kernel's own account which addresses a program contacts.

A test that patches Python's sockets misses what native libraries do (telemetry, name lookups); strace does not.

    seen = contacted("import arpm.cli; ...")
    assert seen.beyond_loopback == []
"""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.patience import PATIENCE

STRACE = shutil.which("strace")
needs_strace = pytest.mark.skipif(STRACE is None, reason="strace is not installed: apt-get install strace")

# Name lookups use sendto or sendmmsg; everything else begins with connect.
_CALLS = "connect,sendto,sendmsg,sendmmsg"
_INET = re.compile(r'inet_addr\("([^"]+)"\)')
_INET6 = re.compile(r'inet_pton\(AF_INET6, "([^"]+)"')


@dataclass(frozen=True)
class Contacts:
    """What a traced program did: its exit code, its output (stdout), and every address it sent to."""

    returncode: int
    output: str
    addresses: tuple[str, ...]

    @property
    def beyond_loopback(self) -> list[str]:
        """The addresses that are not this machine's own, each once, in order."""
        return [address for address in dict.fromkeys(self.addresses) if not _is_loopback(address)]


def contacted(
    program: str | Sequence[str], env: Mapping[str, str] | None = None, timeout: float = 3 * PATIENCE
) -> Contacts:
    """Run Python code (a text) or a command (a list) with all its children, and return whom it contacted.

    `env` is added to the environment. Raises RuntimeError if tracing itself did not work, so that a guard that
    sees nothing is never taken for a program that does nothing.
    """
    command = [sys.executable, "-c", program] if isinstance(program, str) else list(program)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "trace")
        traced = [
            str(STRACE),
            "-f",
            "--seccomp-bpf",
            "-qq",
            "-e",
            f"trace={_CALLS},exit_group",
            "-o",
            str(log),
            *command,
        ]
        done = subprocess.run(
            traced, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=timeout, check=False
        )
        trace = log.read_text(errors="replace") if log.exists() else ""
    if "exit_group" not in trace and "killed by" not in trace:
        raise RuntimeError(f"strace saw nothing: {done.stderr.strip()}")
    return Contacts(done.returncode, done.stdout, tuple(_INET.findall(trace) + _INET6.findall(trace)))


def _is_loopback(address: str) -> bool:
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped:
        ip = ip.ipv4_mapped
    # Linux takes the unspecified address for loopback.
    return ip.is_loopback or ip.is_unspecified
