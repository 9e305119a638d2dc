"""Checkpoints: what they find that the chain cannot, what they do not trip over, and proofs that need no log."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from arpm.audit import merkle
from arpm.audit.chain import Chain, read_bytes, read_chain
from arpm.audit.checkpoint import (
    SignedCheckpoint,
    against,
    consistency,
    from_document,
    inclusion,
    load,
    parse_public_key,
    proof_problems,
    public_key_text,
    sign,
    signing_key,
)
from arpm.errors import InputError, NotFoundError
from arpm.events import GENESIS
from benchmarks.bit_flips import turns
from tests.test_ledger import rehashed

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = KEY.public_key().public_bytes_raw()
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
AT = datetime(2026, 5, 2, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    return turns(20)


@pytest.fixture(scope="module")
def checkpoint(lines: list[bytes]) -> SignedCheckpoint:
    """Of the first twelve events, before the others came."""
    return sign(chain_of(lines[:12], erased_is_known=False), KEY, AT)


def chain_of(lines: list[bytes], *, erased_is_known: bool = True) -> Chain:
    """A chain in memory. A ledger cut before its receipt lacks the reason for its erased bodies, which is not meant."""
    found = read_bytes(b"".join(lines))
    kept = [finding for finding in found.findings if erased_is_known or finding.kind != "erasure"]
    return replace(found, findings=tuple(kept))


def rewritten(lines: list[bytes], place: int) -> list[bytes]:
    """The whole ledger re-chained by someone who changed one event and can compute hashes: a valid ledger."""
    prev, result = GENESIS, list[bytes]()
    for number, line in enumerate(lines, 1):
        event = json.loads(line)
        changes: dict[str, Any] = {"session": "s-forged"} if number == place else {}
        result.append(rehashed({**event, **changes, "prev": prev}))
        prev = json.loads(result[-1])["hash"]
    return result


def kinds(checkpoint: SignedCheckpoint, lines: list[bytes], key: bytes | None = PUBLIC) -> list[str]:
    return [finding.kind for finding in against(checkpoint, read_bytes(b"".join(lines)), key)]


class TestWhatACheckpointFinds:
    def test_nothing_when_the_ledger_went_on(self, checkpoint: SignedCheckpoint, lines: list[bytes]) -> None:
        assert kinds(checkpoint, lines) == kinds(checkpoint, lines[:12]) == []

    @pytest.mark.parametrize("left", [0, 1, 11])
    def test_truncation(self, checkpoint: SignedCheckpoint, lines: list[bytes], left: int) -> None:
        """A ledger cut after any whole line is a valid ledger."""
        found = against(checkpoint, read_bytes(b"".join(lines[:left])), PUBLIC)
        assert [(finding.kind, finding.line) for finding in found] == [("truncated", left + 1)]
        assert f"the ledger ends after event {left}" in str(found[0])

    @pytest.mark.parametrize("place", [1, 5, 12])
    def test_a_rewritten_and_re_chained_ledger(
        self, checkpoint: SignedCheckpoint, lines: list[bytes], place: int
    ) -> None:
        forged = rewritten(lines, place)
        assert read_bytes(b"".join(forged)).findings == ()
        assert kinds(checkpoint, forged) == ["rewritten"]

    def test_only_what_it_covers(self, checkpoint: SignedCheckpoint, lines: list[bytes]) -> None:
        assert kinds(checkpoint, rewritten(lines, 13)) == []

    def test_an_erasure_does_not_trip_it(self, lines: list[bytes], checkpoint: SignedCheckpoint) -> None:
        """Erasing moves every later byte: comparing sizes would call each erasure a forgery."""
        event = json.loads(lines[4])
        smaller = [*lines[:4], rfc8785.dumps({**event, "body": None}) + b"\n", *lines[5:]]
        assert len(smaller[4]) < len(lines[4])
        assert kinds(checkpoint, smaller) == []

    def test_damage_before_it_cannot_be_proved_away(self, checkpoint: SignedCheckpoint, lines: list[bytes]) -> None:
        for place in (3, 11):
            damaged = [*lines[:place], b"{}\n", *lines[place + 1 :]]
            assert kinds(checkpoint, damaged) == ["unprovable"]
        assert kinds(checkpoint, [*lines[:3], *lines[4:]]) == ["unprovable"]

    def test_hashes_stated_without_their_events(self, checkpoint: SignedCheckpoint, lines: list[bytes]) -> None:
        """The event is there, and what came before it was exchanged: only the root can tell."""
        forged = [*rewritten(lines[:11], 5), *lines[11:]]
        assert kinds(checkpoint, forged) == ["rewritten"]

    def test_another_timeline(self, checkpoint: SignedCheckpoint, lines: list[bytes]) -> None:
        other = [rehashed({**json.loads(line), "timeline": "t-ffffffffffff"}) for line in lines]
        assert kinds(checkpoint, other) == ["timeline"]


class TestSignatures:
    @pytest.mark.parametrize(
        "change",
        [{"seq": 11}, {"hash": GENESIS}, {"root": GENESIS}, {"size": 1}, {"at": "2026-01-01T00:00:00+00:00"},
         {"timeline": "t-ffffffffffff"}, {"key": GENESIS}, {"signature": bytes(64)}, {"seq": -1}, {"seq": 2**70},
         {"timeline": "\ud800"}, {"public_key": bytes(32)}, {"public_key": b"\xff" * 32}],
    )  # fmt: skip
    def test_cover_everything(self, checkpoint: SignedCheckpoint, lines: list[bytes], change: dict[str, Any]) -> None:
        assert kinds(replace(checkpoint, **change), lines, None) == ["signature"]

    def test_another_key(self, checkpoint: SignedCheckpoint, lines: list[bytes]) -> None:
        """Whoever rewrites the ledger can sign it too, but not with the key that the auditor knows."""
        forged = rewritten(lines, 5)
        resigned = sign(read_bytes(b"".join(forged)), OTHER, AT)
        assert kinds(resigned, forged, None) == []
        assert kinds(resigned, forged, PUBLIC) == ["signature"]

    def test_are_those_of_openssl(self, checkpoint: SignedCheckpoint) -> None:
        """What is signed is the canonical JSON of `checkpoint`, nothing of ours around it."""
        document = json.loads(checkpoint.encoded())
        KEY.public_key().verify(bytes.fromhex(document["signature"]), rfc8785.dumps(document["checkpoint"]))
        assert checkpoint.encoded() == rfc8785.dumps(document) + b"\n"


class TestFiles:
    def test_come_back_as_they_were(self, tmp_path: Path, checkpoint: SignedCheckpoint) -> None:
        (tmp_path / "c.json").write_bytes(checkpoint.encoded())
        assert load(tmp_path / "c.json") == checkpoint

    @pytest.mark.parametrize(
        "data",
        [b"", b"{}", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"checkpoint":{}}', b'{"checkpoint":[1]}',
         b" " * 2_000_000],
        ids=range(9),
    )  # fmt: skip
    def test_that_are_none(self, tmp_path: Path, data: bytes) -> None:
        (tmp_path / "c.json").write_bytes(data)
        with pytest.raises(InputError, match=r"c\.json is no checkpoint"):
            load(tmp_path / "c.json")

    @pytest.mark.parametrize(
        ("member", "value"),
        [("seq", "12"), ("seq", True), ("root", 1), ("at", None), ("format", "urn:arpm:checkpoint:2")],
    )
    def test_with_a_wrong_member(self, checkpoint: SignedCheckpoint, member: str, value: Any) -> None:
        document = checkpoint.document()
        document["checkpoint"][member] = value
        with pytest.raises(InputError, match=r"^it"):
            from_document(document, "it")

    @pytest.mark.parametrize("member", ["public_key", "signature"])
    @pytest.mark.parametrize("value", [None, 5, "", "zz" * 32, "ab" * 31])
    def test_with_a_wrong_key_or_signature(self, checkpoint: SignedCheckpoint, member: str, value: Any) -> None:
        with pytest.raises(InputError, match=f"{member} must be"):
            from_document({**checkpoint.document(), member: value}, "it")

    def test_missing_or_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(NotFoundError):
            load(tmp_path / "missing")
        with pytest.raises(InputError, match="cannot be read"):
            load(tmp_path)

    def test_only_whole_good_ledgers_are_signed(self, lines: list[bytes]) -> None:
        with pytest.raises(InputError, match="it is damaged: line 3"):
            sign(read_bytes(b"".join([*lines[:2], b"{}\n", *lines[3:]])), KEY, AT)
        with pytest.raises(InputError, match="no event yet"):
            sign(read_bytes(b""), KEY, AT)
        torn = sign(read_bytes(b"".join([*lines, b'{"at"'])), KEY, AT)
        assert (torn.seq, torn.size) == (len(lines), sum(map(len, lines)))

    def test_the_root_is_that_of_the_hashes(self, checkpoint: SignedCheckpoint, lines: list[bytes]) -> None:
        leaves = [bytes.fromhex(json.loads(line)["hash"].removeprefix("sha256:")) for line in lines[:12]]
        assert checkpoint.root == "sha256:" + merkle.root(leaves).hex()


class TestProofs:
    @pytest.fixture
    def written(self, tmp_path: Path, lines: list[bytes]) -> Chain:
        (tmp_path / "ledger.jsonl").write_bytes(b"".join(lines))
        return read_chain(tmp_path / "ledger.jsonl")

    def test_of_every_event_hold_without_the_log(self, written: Chain, lines: list[bytes]) -> None:
        signed = sign(written, KEY, AT)
        for line in lines:
            event = json.loads(line)
            proof = json.loads(json.dumps(inclusion(written, event["id"], signed)))
            assert proof_problems(proof, PUBLIC) == []
            assert proof["envelope"]["body_digest"] == event["body_digest"]
            assert "body" not in proof["envelope"]

    def test_of_an_event_show_nothing_else(self, written: Chain) -> None:
        signed = sign(written, KEY, AT)
        proof = inclusion(written, "e-3", signed)
        for name, value in (("id", "e-4"), ("seq", 5), ("at", "2026-01-01T00:00:00+00:00"), ("timeline", "t-1")):
            changed = {**proof, "envelope": {**proof["envelope"], name: value}}
            assert "the path does not lead from the event to the checkpoint's root" in proof_problems(changed, PUBLIC)
        assert proof_problems({**proof, "path": proof["path"][1:]}, PUBLIC) != []
        assert proof_problems(proof, bytes(32)) != []
        with pytest.raises(NotFoundError, match="no event 'e-none'"):
            inclusion(written, "e-none", signed)

    def test_that_a_ledger_only_grew(self, written: Chain, checkpoint: SignedCheckpoint) -> None:
        signed = sign(written, KEY, AT)
        proof = json.loads(json.dumps(consistency(checkpoint, written, signed)))
        assert proof_problems(proof, PUBLIC) == []
        assert proof_problems(consistency(signed, written, signed), PUBLIC) == []
        swapped = {**proof, "old": proof["new"], "new": proof["old"]}
        assert "the path does not lead from the old root to the new one" in proof_problems(swapped, PUBLIC)

    def test_there_is_none_for_a_rewritten_ledger(self, lines: list[bytes], checkpoint: SignedCheckpoint) -> None:
        forged = read_bytes(b"".join(rewritten(lines, 5)))
        with pytest.raises(InputError, match=r"There is no such proof: .* was rewritten"):
            consistency(checkpoint, forged, sign(forged, KEY, AT))

    @pytest.mark.parametrize(
        "change",
        [{"format": "x"}, {"path": None}, {"path": [1]}, {"path": ["sha256:00"]}, {"envelope": []}, {"envelope": {}},
         {"envelope": {"seq": 2**60}}, {"checkpoint": 5}],
        ids=str,
    )  # fmt: skip
    def test_documents_that_are_none(self, written: Chain, change: dict[str, Any]) -> None:
        proof = {**inclusion(written, "e-3", sign(written, KEY, AT)), **change}
        try:
            problems = proof_problems(proof, PUBLIC)
        except InputError as error:
            problems = [str(error)]
        assert problems
        for other in (None, [], "x"):
            with pytest.raises(InputError):
                proof_problems(other)


class TestKeys:
    def test_one_is_made_once_and_kept_private(self, tmp_path: Path) -> None:
        path = tmp_path / "new" / "folder" / "key.pem"
        key, made = signing_key(path)
        again, made_again = signing_key(path)
        assert (made, made_again) == (True, False)
        assert key.private_bytes_raw() == again.private_bytes_raw()
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert [file.name for file in path.parent.iterdir()] == ["key.pem"]

    def test_two_processes_agree_on_one(self, tmp_path: Path) -> None:
        """Both find no key and make one: only one of them may count."""
        program = (
            "import sys; from pathlib import Path; from arpm.audit.checkpoint import signing_key;"
            "print(signing_key(Path(sys.argv[1]))[0].public_key().public_bytes_raw().hex())"
        )
        command = [sys.executable, "-c", program, str(tmp_path / "key.pem")]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
        assert len({process.communicate()[0] for process in running}) == 1

    def test_one_that_others_can_read_is_refused(self, tmp_path: Path) -> None:
        signing_key(tmp_path / "key.pem")
        (tmp_path / "key.pem").chmod(0o640)
        with pytest.raises(InputError, match="others can read the key"):
            signing_key(tmp_path / "key.pem")

    @pytest.mark.parametrize("data", [b"", b"-----BEGIN PRIVATE KEY-----\n", b"\xff" * 100])
    def test_files_that_are_none(self, tmp_path: Path, data: bytes) -> None:
        (tmp_path / "key.pem").write_bytes(data)
        (tmp_path / "key.pem").chmod(0o600)
        with pytest.raises(InputError, match="no private key"):
            signing_key(tmp_path / "key.pem")

    def test_keys_of_another_kind_or_with_a_password(self, tmp_path: Path) -> None:
        path, pem, pkcs8 = tmp_path / "key.pem", serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        locked = serialization.BestAvailableEncryption(b"secret")
        for key, how, text in (
            (X25519PrivateKey.generate(), serialization.NoEncryption(), "another kind"),
            (KEY, locked, "without a password"),
        ):
            path.write_bytes(key.private_bytes(pem, pkcs8, how))
            path.chmod(0o600)
            with pytest.raises(InputError, match=text):
                signing_key(path)

    def test_a_place_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(InputError, match="no key can be made"):
            signing_key(tmp_path / "file" / "key.pem")

    def test_public_keys_as_text(self) -> None:
        assert parse_public_key(public_key_text(PUBLIC)) == parse_public_key(PUBLIC.hex()) == PUBLIC
        for text in ("", "ed25519:", "ed25519:" + "0" * 62, "ssh-ed25519 AAAA", None):
            with pytest.raises(InputError, match="64 hexadecimal digits"):
                parse_public_key(text)
