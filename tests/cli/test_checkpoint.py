"""`arpm checkpoint`: what is written, what is proved, and where the key is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arpm.audit.chain import read_chain
from arpm.audit.checkpoint import against, load, parse_public_key, proof_problems
from tests.cli.conftest import Arpm
from tests.patience import PATIENCE


@pytest.fixture
def key(arpm: Arpm, tmp_path: Path) -> str:
    return str(tmp_path / "keys" / "key.pem")


def test_one_file_for_each_ledger(arpm: Arpm, timeline: str, key: str, tmp_path: Path) -> None:
    told = arpm.json("checkpoint", "--all", "--key", key, "--out", str(tmp_path / "out"))
    assert [row["timeline"] for row in told["checkpoints"]] == [timeline]
    saved = load(Path(told["checkpoints"][0]["file"]))
    chain = read_chain(arpm.logs / timeline / "ledger.jsonl", timeline)
    assert against(saved, chain, parse_public_key(told["public_key"])) == ()
    # A second one at the same place never replaces the first.
    again = arpm("checkpoint", timeline, "--key", key, "--out", str(tmp_path / "out"))
    assert told["public_key"] in again.stderr
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_the_key_is_kept_outside_the_logs(
    arpm: Arpm,
    timeline: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "Made the key" in arpm("checkpoint", timeline).stderr
    assert (tmp_path / "config" / "arpm" / "checkpoint-key.pem").stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("ARPM_KEY", str(tmp_path / "named.pem"))
    arpm("checkpoint", timeline)
    assert (tmp_path / "named.pem").exists()
    assert "Keep them elsewhere" in arpm("checkpoint", timeline, "--out", str(arpm.logs / "checkpoints")).stderr


def test_proofs(arpm: Arpm, timeline: str, key: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    told = arpm.json("checkpoint", timeline, "--key", key, "--out", out)
    arpm("chat", timeline, "今天天气真好。")
    public = parse_public_key(told["public_key"])
    grown = arpm.json("checkpoint", "--consistency", told["checkpoints"][0]["file"], "--key", key)
    assert proof_problems(grown, public) == []
    event = json.loads(arpm.ledger(timeline).splitlines()[-1])["id"]
    for names in ((), (timeline,)):
        proof = arpm.json("checkpoint", *names, "--proof", event, "--key", key)
        assert proof_problems(proof, public) == []
    assert "No ledger has an event" in arpm("checkpoint", "--proof", "none", "--key", key, code=1).stderr


def test_a_damaged_ledger_does_not_keep_the_others_from_it(
    arpm: Arpm,
    timeline: str,
    key: str,
    tmp_path: Path,
) -> None:
    arpm("chat", "--user", "Ann", "--character", "Mei", "Hello.")
    path = arpm.logs / timeline / "ledger.jsonl"
    path.write_bytes(path.read_bytes().replace("钟表".encode(), "钟錶".encode(), 1))
    result = arpm("checkpoint", "--all", "--key", key, "--out", str(tmp_path / "out"), "--json", code=1)
    told = json.loads(result.stdout)
    assert len(told["checkpoints"]) == 1
    assert [row["timeline"] for row in told["errors"]] == [timeline]
    assert "is not signed, since it is damaged: line" in result.stderr


def test_while_the_service_runs(arpm: Arpm, timeline: str, key: str, tmp_path: Path) -> None:
    holder = arpm.start("chat", timeline)
    try:
        assert holder.stdin is not None and holder.stdout is not None
        holder.stdin.write("Are you there?\n")
        holder.stdin.flush()
        holder.stdout.readline()
        arpm("checkpoint", timeline, "--key", key, "--out", str(tmp_path / "out"))
    finally:
        holder.communicate("/quit\n", timeout=PATIENCE)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ([], 2, "Name one or more timelines"),
        (["--all", "t-0123456789ab"], 2, "not both"),
        (["--proof", "e", "--consistency", "c"], 2, "two commands"),
        (["t-0123456789ab"], 1, "there is no ledger 't-0123456789ab'"),
        (["../elsewhere"], 1, "there is no ledger '../elsewhere'"),
        (["--consistency", "missing.json"], 1, "there is no file missing.json"),
        (["--all"], 1, "There is no logs folder"),
    ],
)
def test_wrong_use(arpm: Arpm, key: str, arguments: list[str], code: int, text: str) -> None:
    assert text in arpm("checkpoint", *arguments, "--key", key, code=code).stderr
