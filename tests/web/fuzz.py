"""Requests made up from docs/openapi.json by schemathesis, against a real server on a temporary folder: never a 5xx.

    python -m tests.web.fuzz --examples 500 --seed 7

Half of the ids in the requests are real ones (`tests.web.fuzz_hooks`), so that requests come as far as the service.
`make test` runs a short round of it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from arpm.clock import SystemClock
from arpm.web.openapi import FILE
from tests.patience import PATIENCE
from tests.support import ScriptedBackend, reply
from tests.web.support import Site, last, serving

ROOT = Path(__file__).resolve().parents[2]
IDS = "ARPM_FUZZ_IDS"


def run(folder: Path, examples: int, seed: int, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """Fuzz a server in `folder` with at most `examples` generated requests for each operation."""
    with serving(folder / "logs", ScriptedBackend([reply("In the boat house.", "E1")]), clock=SystemClock()) as site:
        command = [
            str(Path(sys.executable).with_name("schemathesis")),
            "run",
            str(FILE),
            f"--url={site.url}",
            "--checks=not_a_server_error",
            "--phases=coverage,fuzzing",
            f"--max-examples={examples}",
            f"--seed={seed}",
            "--generation-database=none",
            "--suppress-health-check=all",
            "--continue-on-failure",
            "--warnings=off",
            f"--request-timeout={PATIENCE:g}",
            "--no-color",
        ]
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SCHEMATHESIS_HOOKS": "tests.web.fuzz_hooks",
            IDS: json.dumps(_real(site)),
        }
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout, check=False
        )


def _real(site: Site) -> dict[str, str]:
    """Ids of things that are there, by the name that requests give them."""
    document = site.upload("harbour.md", b"# Boats\n\nAnn keeps her canoe in the boat house.").json()["document"]["id"]
    timeline = site.timeline(persona="A harbour master.")
    view = last(site.send(timeline, "Where is my canoe?"), "turn")
    path = f"/api/v1/timelines/{timeline}"
    added = site.http.post(f"{path}/instructions", json={"text": "Always rhyme."}).json()["id"]
    (memory,) = (item["id"] for item in site.http.get(f"{path}/memories").json()["memories"])
    return {
        "timeline": timeline,
        "name": timeline,
        "instruction": added,
        "memory": memory,
        "document": document,
        "reference": view["turn"]["id"],
        "session": view["turn"]["session"],
        "replaces": view["turn"]["id"],
        "model": "scripted",
        "preset": "paper",
        "first": timeline,
        "second": timeline,
        "event": view["turn"]["id"],
    }


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.web.fuzz", description=__doc__)
    parser.add_argument("--examples", type=int, default=300, help="most requests for each operation (default 300)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the requests (default 1)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(Path(folder), options.examples, options.seed)
    print(outcome.stdout, outcome.stderr)
    return outcome.returncode


if __name__ == "__main__":
    sys.exit(main())
