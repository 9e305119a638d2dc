"""The Merkle tree against RFC 6962: its recursive definitions written out naively, and roots known from elsewhere."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arpm.audit.merkle import (
    EMPTY_ROOT,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    node_hash,
    root,
    verify_consistency,
    verify_inclusion,
)

# The leaves that certificate-transparency implementations test with, and the root of the first n of them.
KNOWN = [bytes.fromhex(leaf) for leaf in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657",
                                          "606162636465666768696a6b6c6d6e6f")]  # fmt: skip
KNOWN_ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
SIZES = range(34)


def leaves_of(size: int) -> list[bytes]:
    return [hashlib.sha256(bytes([number])).digest() for number in range(size)]


# -- RFC 6962, section 2.1, as it is written --------------------------------------------------------------------------


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def k(n: int) -> int:
    power = 1
    while power * 2 < n:
        power *= 2
    return power


def mth(d: list[bytes]) -> bytes:
    if not d:
        return sha256(b"")
    if len(d) == 1:
        return sha256(b"\x00" + d[0])
    return sha256(b"\x01" + mth(d[: k(len(d))]) + mth(d[k(len(d)) :]))


def path(m: int, d: list[bytes]) -> list[bytes]:
    if len(d) == 1:
        return []
    split = k(len(d))
    if m < split:
        return [*path(m, d[:split]), mth(d[split:])]
    return [*path(m - split, d[split:]), mth(d[:split])]


def subproof(m: int, d: list[bytes], whole: bool) -> list[bytes]:
    if m == len(d):
        return [] if whole else [mth(d)]
    split = k(len(d))
    if m <= split:
        return [*subproof(m, d[:split], whole), mth(d[split:])]
    return [*subproof(m - split, d[split:], False), mth(d[:split])]


class TestAsTheRfcDefines:
    @pytest.mark.parametrize("size", range(len(KNOWN_ROOTS)))
    def test_known_roots(self, size: int) -> None:
        assert root(KNOWN[:size]).hex() == KNOWN_ROOTS[size]

    def test_three_leaves_by_hand(self) -> None:
        a, b, c = leaves_of(3)
        left, right = node_hash(leaf_hash(a), leaf_hash(b)), leaf_hash(c)
        assert root([a, b, c]) == node_hash(left, right)
        assert inclusion_proof([a, b, c], 0) == [leaf_hash(b), right]
        assert inclusion_proof([a, b, c], 2) == [left]
        assert consistency_proof([a, b, c], 1) == [leaf_hash(b), right]
        assert consistency_proof([a, b, c], 2) == [right]

    def test_the_proofs_of_the_rfc_s_example(self) -> None:
        """Section 2.1.3: seven leaves d0 to d6 with the hashes a to j and the subtrees k and l."""
        d = leaves_of(7)
        a, b, c, e, f, j = (leaf_hash(d[number]) for number in (0, 1, 2, 3, 4, 6))
        g, h, i = node_hash(a, b), node_hash(c, e), node_hash(f, leaf_hash(d[5]))
        k_, l_ = node_hash(g, h), node_hash(i, j)
        assert root(d) == node_hash(k_, l_)
        assert inclusion_proof(d, 0) == [b, h, l_]
        assert inclusion_proof(d, 3) == [c, g, l_]
        assert inclusion_proof(d, 4) == [leaf_hash(d[5]), j, k_]
        assert inclusion_proof(d, 6) == [i, k_]
        assert consistency_proof(d, 3) == [c, e, g, l_]
        assert consistency_proof(d, 4) == [l_]
        assert consistency_proof(d, 6) == [i, j, k_]

    @pytest.mark.parametrize("size", SIZES)
    def test_every_proof_of_small_trees(self, size: int) -> None:
        d = leaves_of(size)
        assert root(d) == mth(d)
        for m in range(size):
            assert inclusion_proof(d, m) == path(m, d)
        for m in range(1, size + 1):
            assert consistency_proof(d, m) == subproof(m, d, True)

    @given(st.lists(st.binary(max_size=40), min_size=1, max_size=150), st.data())
    @settings(max_examples=60, deadline=None)
    def test_any_leaves(self, d: list[bytes], data: st.DataObject) -> None:
        index, old = data.draw(st.integers(0, len(d) - 1)), data.draw(st.integers(1, len(d)))
        assert root(d) == mth(d)
        assert inclusion_proof(d, index) == path(index, d)
        assert consistency_proof(d, old) == subproof(old, d, True)
        assert verify_inclusion(d[index], index, len(d), inclusion_proof(d, index), root(d))
        assert verify_consistency(old, root(d[:old]), len(d), root(d), consistency_proof(d, old))

    def test_places_that_are_not_there(self) -> None:
        for index in (-1, 3):
            with pytest.raises(IndexError):
                inclusion_proof(leaves_of(3), index)
        for size in (-1, 4):
            with pytest.raises(IndexError):
                consistency_proof(leaves_of(3), size)


class TestVerifying:
    @pytest.mark.parametrize("size", SIZES)
    def test_every_proof_holds_and_proves_nothing_else(self, size: int) -> None:
        d = leaves_of(size)
        tree = root(d)
        for index in range(size):
            proof = inclusion_proof(d, index)
            assert verify_inclusion(d[index], index, size, proof, tree)
            others = [other for other in range(size) if other != index]
            assert not any(verify_inclusion(d[index], other, size, proof, tree) for other in others)
            assert not any(verify_inclusion(d[other], index, size, proof, tree) for other in others)
        for old in range(size + 1):
            proof = consistency_proof(d, old)
            assert verify_consistency(old, root(d[:old]), size, tree, proof)
            wrong = [root(d[:other]) for other in range(size + 1) if other != old]
            assert not any(verify_consistency(old, other, size, tree, proof) for other in wrong)

    @given(st.integers(1, 70), st.data())
    @settings(max_examples=100, deadline=None)
    def test_a_changed_proof_does_not_hold(self, size: int, data: st.DataObject) -> None:
        d, tree = leaves_of(size), root(leaves_of(size))
        index, old = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, size))
        proofs = [
            (inclusion_proof(d, index), lambda proof: verify_inclusion(d[index], index, size, proof, tree)),
            (consistency_proof(d, old), lambda proof: verify_consistency(old, root(d[:old]), size, tree, proof)),
        ]
        for proof, holds in proofs:
            assert not holds([*proof, tree])
            assert not holds([tree, *proof])
            if proof:
                place = data.draw(st.integers(0, len(proof) - 1))
                flipped = bytes([proof[place][0] ^ 1 << data.draw(st.integers(0, 7))]) + proof[place][1:]
                assert not holds([*proof[:place], flipped, *proof[place + 1 :]])
                assert not holds(proof[:place] + proof[place + 1 :])

    def test_sizes_that_cannot_be(self) -> None:
        """A proof file says its sizes itself: no number in it may end in an exception."""
        d, tree = leaves_of(5), root(leaves_of(5))
        proof = inclusion_proof(d, 2)
        for index, size in ((2, 0), (-1, 5), (5, 5), (2, 2), (2, 1 << 60)):
            assert not verify_inclusion(d[2], index, size, proof, tree)
        for old, size in ((-1, 5), (6, 5), (3, 1 << 60), (3, 3)):
            assert not verify_consistency(old, root(d[:3]), size, tree, consistency_proof(d, 3))
        assert not verify_consistency(3, root(d[:3]), 5, tree, [])

    def test_the_empty_tree(self) -> None:
        """Every tree begins with the empty one; nothing else may claim to."""
        assert root([]) == EMPTY_ROOT
        assert verify_consistency(0, EMPTY_ROOT, 3, root(leaves_of(3)), [])
        assert not verify_consistency(0, root(leaves_of(1)), 3, root(leaves_of(3)), [])
        assert not verify_consistency(0, EMPTY_ROOT, 0, root(leaves_of(1)), [])

    def test_a_leaf_cannot_pass_for_a_node(self) -> None:
        """The prefixes: a leaf of the 64 bytes of two hashes must not have the hash of the node above them."""
        a, b = leaves_of(2)
        assert root([leaf_hash(a) + leaf_hash(b)]) != root([a, b])
