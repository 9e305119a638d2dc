"""A command line on a folder of its own, with a real model server behind it and the hashing embedder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from arpm.cli import main
from tests.generation.openai_server import openai_server

MODELS = {"scripted": "protocol", "second": "protocol", "large": "protocol", "raw": "raw", "slow": "slow-stream"}


@dataclass(frozen=True)
class Arpm:
    """`arpm` in a folder: called in this process, or started as a process of its own."""

    folder: Path

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def env(self) -> dict[str, str]:
        """Only what the test sets: variables of the machine must not reach a test, nor a test the person's files."""
        return {"ARPM_CONFIG": str(self.folder / "arpm.toml"), "XDG_CONFIG_HOME": str(self.folder / "config")}

    def __call__(self, *arguments: str, input: str | bytes | None = None, code: int = 0) -> Result:
        """Run a command and check its exit code; no command may ever end in a traceback."""
        result = CliRunner(env=self.env).invoke(main, list(arguments), input=input)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, f"arpm {' '.join(arguments)}: {result.exit_code}\n{result.output}"
        return result

    def json(self, *arguments: str, code: int = 0) -> Any:
        """What a command prints with --json, which must be one document and nothing else."""
        return json.loads(self(*arguments, "--json", code=code).stdout)

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """Start a command as a process of its own."""
        streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            [sys.executable, "-m", "arpm", *arguments],
            env={**os.environ, **self.env},
            text=True,
            encoding="utf-8",
            # A shell has what it starts in the background ignore Ctrl-C, and so would every test of it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            **{**streams, **options},
        )

    def ledger(self, timeline: str) -> bytes:
        return (self.logs / timeline / "ledger.jsonl").read_bytes()


@pytest.fixture(scope="session")
def model_server() -> Iterator[str]:
    """The base URL of a real OpenAI-compatible server."""
    with openai_server() as server:
        yield server.base_url


@pytest.fixture
def arpm(tmp_path: Path, model_server: str, monkeypatch: pytest.MonkeyPatch) -> Arpm:
    for name in [name for name in os.environ if name.startswith("ARPM_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    tables = [
        f'[models.{name}]\nbackend = "openai"\nbase_url = "{url}"\nmodel = "{model}"\ntries = 1\n'
        for name, model, url in [
            *((name, model, model_server) for name, model in MODELS.items()),
            # The discard port: nothing listens there.
            ("down", "none", "http://127.0.0.1:9/v1"),
        ]
    ]
    top = f'logs = "{tmp_path / "logs"}"\nmodel = "scripted"\nembedder = "hashing"\nupload_limit = 2000000\n'
    (tmp_path / "arpm.toml").write_text(top + "\n".join(tables), "utf-8")
    return Arpm(tmp_path)


@pytest.fixture
def timeline(arpm: Arpm) -> str:
    """A timeline of Lin with Mei on which two rounds were spoken, one in each language."""
    arpm("chat", "--user", "Lin", "--character", "Mei", "My grandmother grows purple tomatoes on her balcony.")
    id: str = arpm.json("timelines")[0]["id"]
    arpm("chat", id, "我的表哥在青岛修理旧钟表。")
    return id
