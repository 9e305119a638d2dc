"""docs/verify_ledger.py, written from the documentation alone, finds what the project's own check finds."""

from __future__ import annotations

import ast
import importlib.util
import json
import random
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from arpm.audit import merkle
from arpm.audit.chain import read_chain
from arpm.audit.checkpoint import against, consistency, inclusion, public_key_text, sign
from benchmarks.bit_flips import clean, rearranged, turns
from tests.test_ledger import rehashed

SCRIPT = Path(__file__).parents[2] / "docs" / "verify_ledger.py"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = public_key_text(KEY.public_key().public_bytes_raw())
AT = datetime(2026, 5, 2, 12, tzinfo=UTC)


def _loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verify_ledger", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


verifier = _loaded()


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    return turns(12)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "t-0123456789ab").mkdir()
    return tmp_path / "t-0123456789ab" / "ledger.jsonl"


def run(*arguments: object) -> tuple[int, str]:
    """Run the script as a stranger would: a Python without any package."""
    command = [sys.executable, "-I", "-S", str(SCRIPT), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def both(path: Path) -> list[tuple[int, str]]:
    """What both find, which must be the same: lines, kinds, places, names and hashes."""
    ours, theirs = read_chain(path, limit=10_000), verifier.Ledger(path)
    found = [(finding.line, finding.offset, finding.kind) for finding in ours.findings]
    assert sorted(found) == sorted((line, offset, kind) for line, offset, _, kind, _ in theirs.findings)
    assert [finding.line for finding in ours.findings] == [finding[0] for finding in theirs.findings]
    assert (list(ours.hashes), ours.timeline) == (theirs.hashes, theirs.timeline)
    return [(line, kind) for line, _, kind in found]


class TestStandsAlone:
    def test_imports_nothing_but_the_standard_library(self) -> None:
        imported = set[str]()
        for node in ast.walk(ast.parse(SCRIPT.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).partition(".")[0])
        assert imported - set(sys.stdlib_module_names) == {"cryptography"}

    @given(st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text()
        | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
        max_leaves=12,
    ))  # fmt: skip
    @settings(max_examples=300, deadline=None)
    def test_writes_canonical_json_as_rfc8785_does(self, value: Any) -> None:
        assert verifier.canonical(value) == rfc8785.dumps(value)

    @pytest.mark.parametrize(
        "number",
        [0.0, -0.0, 1.0, 1e20, 1e21, 123e20, 1e-6, 1e-7, 1.5e-7, 5e-324, 1.7976931348623157e308, 0.1, 123.456, -1e-10,
         333333333.3333332, 1e23, 4.35, 2.2250738585072014e-308],
    )  # fmt: skip
    def test_numbers_as_ecmascript(self, number: float) -> None:
        assert verifier.canonical(number) == rfc8785.dumps(number)

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, "\ud800", {"\ud800": 1}])
    def test_what_has_no_spelling(self, value: Any) -> None:
        with pytest.raises(ValueError):
            verifier.canonical(value)

    @pytest.mark.parametrize("size", range(20))
    def test_the_merkle_tree_is_the_same(self, size: int) -> None:
        """Two ways of checking proofs, one by recursion and one by the bits of the place."""
        leaves = [bytes([number]) * 32 for number in range(size)]
        tree = merkle.root(leaves)
        assert verifier.root(leaves) == tree
        for index in range(size):
            path = merkle.inclusion_proof(leaves, index)
            assert verifier.root_by_path(leaves[index], index, size, path) == tree
            with pytest.raises(ValueError):
                verifier.root_by_path(leaves[index], index, size, [*path, tree])
        for old in range(1, size + 1):
            path, before = merkle.consistency_proof(leaves, old), merkle.root(leaves[:old])
            assert verifier.roots_by_path(before, old, size, path) == (before, tree)
            with pytest.raises(ValueError):
                verifier.roots_by_path(before, old, size, [*path, tree])


class TestAgreesWithTheProject:
    def test_on_good_ledgers(self, path: Path, lines: list[bytes]) -> None:
        """With an erasure and its receipt."""
        path.write_bytes(b"".join(lines))
        assert both(path) == []
        assert run(path) == (0, f"{path}: good\n")
        for number in range(150):
            path.write_bytes(b"".join(clean(number)))
            assert both(path) == []

    def test_on_flipped_bits(self, path: Path, lines: list[bytes]) -> None:
        data, rng = b"".join(lines), random.Random(11)
        for bit in rng.sample(range(len(data) * 8), 250):
            changed = bytearray(data)
            changed[bit // 8] ^= 1 << bit % 8
            path.write_bytes(changed)
            assert both(path)[0][0] == data.count(b"\n", 0, bit // 8) + 1

    def test_on_several_flipped_bits_at_once(self, path: Path, lines: list[bytes]) -> None:
        data, rng = b"".join(lines), random.Random(12)
        for _ in range(120):
            changed = bytearray(data)
            for _ in range(rng.randrange(2, 6)):
                changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            path.write_bytes(changed)
            assert both(path) or bytes(changed) == data

    def test_on_deleted_swapped_duplicated_and_inserted_events(self, path: Path, lines: list[bytes]) -> None:
        for _, changed in rearranged(lines[:9], turns(3, seed=1)):
            path.write_bytes(b"".join(changed))
            assert both(path)

    def test_on_every_torn_end(self, path: Path, lines: list[bytes]) -> None:
        data = b"".join(lines[:4])
        for size in range(len(data) - len(lines[3]) + 1, len(data), 7):
            path.write_bytes(data[:size])
            assert both(path) == [(4, "torn")]
        code, told = run(path)
        assert (code, "line 4" in told and "unfinished line" in told) == (1, True)

    @pytest.mark.parametrize(
        ("change", "kind"),
        [
            ({"session": "s-other"}, None),
            ({"session": 5}, "schema"),
            ({"id": "a/b"}, "schema"),
            ({"id": 5}, "schema"),
            ({"timeline": "长" * 201}, "schema"),
            ({"prev": "sha256:0"}, "schema"),
            ({"seq": "2"}, "schema"),
            ({"seq": 0}, "sequence"),
            ({"at": "2026-02-30T00:00:00+00:00"}, "schema"),
            ({"at": "yesterday"}, "schema"),
            ({"kind": "dream", "schema": "urn:arpm:schema:dream:1"}, "unknown"),
            ({"schema": "urn:arpm:schema:turn:9", "new": 1}, "unknown"),
            ({"new": 1}, "schema"),
            ({"id": "e-0"}, "duplicate"),
            ({"timeline": "t-1"}, "timeline"),
            ({"body": None}, "erasure"),
        ],
        ids=str,
    )
    def test_on_envelopes_with_a_hash_to_match(
        self, path: Path, lines: list[bytes], change: dict[str, Any], kind: str | None
    ) -> None:
        path.write_bytes(b"".join([*lines[:2], rehashed({**json.loads(lines[2]), **change}), *lines[3:]]))
        found = both(path)
        assert kind is None or (3, kind) in found

    @pytest.mark.parametrize("data", [b"", b"\n", b"\0\n\0", b"{}\n", b"[" * 50_000 + b"\n", b"\xff\xfe\n" * 3])
    def test_on_files_that_are_no_ledger(self, path: Path, data: bytes) -> None:
        path.write_bytes(data)
        both(path)
        run(path)


class TestTheCommand:
    def test_the_first_wrong_event_and_the_rest(self, path: Path, lines: list[bytes]) -> None:
        path.write_bytes(b"".join([*lines[:3], b"{}\n", *lines[4:6], *lines[7:]]))
        code, told = run(path.parent.parent)
        assert code == 1
        assert [line.split(": ")[1].split(" (")[0] for line in told.splitlines()] == ["line 4", "line 7", "line 7"]

    def test_a_folder_with_good_and_bad_ledgers(self, path: Path, lines: list[bytes], tmp_path: Path) -> None:
        path.write_bytes(b"".join(lines))
        copy = tmp_path / "t-copy"
        copy.mkdir()
        (copy / "ledger.jsonl").write_bytes(b"".join(lines[:3]))
        code, told = run(tmp_path)
        assert code == 1
        assert f"{copy / 'ledger.jsonl'}: {path} claims the same timeline" in told

    def test_what_cannot_be_read_is_code_2(self, tmp_path: Path) -> None:
        assert run(tmp_path / "missing")[0] == 2
        assert run(tmp_path)[0] == 2
        assert run()[0] == 2
        (tmp_path / "c.json").write_text("{}")
        assert run("--proof", tmp_path / "c.json")[0] == 2

    def test_without_cryptography_a_signature_is_not_called_good(
        self, path: Path, lines: list[bytes], tmp_path: Path
    ) -> None:
        path.write_bytes(b"".join(lines))
        (tmp_path / "c.json").write_bytes(sign(read_chain(path), KEY, AT).encoded())
        code, told = run(path, "--checkpoint", tmp_path / "c.json")
        assert (code, "no signature was checked" in told) == (2, True)

    def test_checkpoints(
        self, path: Path, lines: list[bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Truncation and rewriting are found, later events and erased bodies are not taken for them."""
        path.write_bytes(b"".join(lines))
        saved = sign(read_chain(path), KEY, AT)
        (tmp_path / "c.json").write_bytes(saved.encoded())
        arguments = [str(path), "--checkpoint", str(tmp_path / "c.json"), "--public-key"]
        assert verifier.main([*arguments, PUBLIC]) == 0
        assert verifier.main([*arguments, "ed25519:" + "0" * 64]) == 1
        document = saved.document()
        document["checkpoint"]["seq"] -= 1
        (tmp_path / "c.json").write_text(json.dumps(document))
        assert verifier.main([*arguments, PUBLIC]) == 1
        (tmp_path / "c.json").write_bytes(saved.encoded())
        event = json.loads(lines[4])
        for changed, problem in (
            (lines[:5], "it was cut short"),
            ([*lines[:4], b"{}\n", *lines[5:]], "line 5 cannot be relied on"),
            ([*lines[:-1], rehashed({**json.loads(lines[-1]), "session": "s-forged"})], "was rewritten"),
            ([*lines[:4], rfc8785.dumps({**event, "body": None}) + b"\n", *lines[5:]], None),
        ):
            path.write_bytes(b"".join(changed))
            found = verifier.against(saved.document(), verifier.Ledger(path), PUBLIC)
            assert bool(found) == bool(against(saved, read_chain(path))) == (problem is not None)
            assert problem is None or problem in found[0]
        assert "signed with another key" in capsys.readouterr().out

    def test_proofs(self, path: Path, lines: list[bytes], tmp_path: Path) -> None:
        path.write_bytes(b"".join(lines[:6]))
        old = sign(read_chain(path), KEY, AT)
        path.write_bytes(b"".join(lines))
        chain = read_chain(path)
        new = sign(chain, KEY, AT)
        proofs = [
            inclusion(chain, "e-2", new),
            inclusion(chain, f"e-{len(lines) - 1}", new),
            consistency(old, chain, new),
        ]
        for number, proof in enumerate(proofs):
            file = tmp_path / f"{number}.json"
            file.write_text(json.dumps(proof))
            assert verifier.main(["--proof", str(file), "--public-key", PUBLIC]) == 0
            file.write_text(json.dumps({**proof, "path": proof["path"][:-1]}))
            assert verifier.main(["--proof", str(file), "--public-key", PUBLIC]) == 1
        other = {**proofs[0], "envelope": {**proofs[0]["envelope"], "id": "e-3"}}
        (tmp_path / "0.json").write_text(json.dumps(other))
        assert verifier.main(["--proof", str(tmp_path / "0.json"), "--public-key", PUBLIC]) == 1
