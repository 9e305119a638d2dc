"""The Merkle tree of RFC 6962, section 2.1: one root over many leaves, and short proofs about it.

A leaf is any bytes; ARPM's leaves are the 32 raw bytes of the event hashes, in order. An inclusion proof shows that a
leaf is in the tree of a root, a consistency proof that the tree of one root begins with the whole tree of another.
Pure functions that know nothing about events, files or keys.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(leaf: bytes) -> bytes:
    """SHA-256(0x00 || leaf): the prefix keeps a leaf from being taken for a node."""
    return hashlib.sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256(0x01 || left || right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """MTH(D[n]): the hash of the whole tree; SHA-256 of nothing for no leaves."""
    return _root([leaf_hash(leaf) for leaf in leaves])


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """PATH(m, D[n]): the hashes that lead from leaf `index` (from 0) to the root, the lowest first.

    Raises IndexError for a leaf that is not there.
    """
    if not 0 <= index < len(leaves):
        raise IndexError(f"there is no leaf {index} in a tree of {len(leaves)}")
    hashes = [leaf_hash(leaf) for leaf in leaves]
    path: list[bytes] = []
    while len(hashes) > 1:
        split = _split(len(hashes))
        if index < split:
            path.append(_root(hashes[split:]))
            hashes = hashes[:split]
        else:
            path.append(_root(hashes[:split]))
            hashes, index = hashes[split:], index - split
    return path[::-1]


def consistency_proof(leaves: Sequence[bytes], size: int) -> list[bytes]:
    """PROOF(m, D[n]): the hashes that show that the tree of all leaves begins with that of the first `size`.

    Raises IndexError for a size that is not between 0 and the number of leaves. Empty for 0 and for all.
    """
    if not 0 <= size <= len(leaves):
        raise IndexError(f"a tree of {len(leaves)} does not begin with one of {size}")
    if size == 0:
        return []
    hashes = [leaf_hash(leaf) for leaf in leaves]
    path: list[bytes] = []
    known = True
    while size != len(hashes):
        split = _split(len(hashes))
        if size <= split:
            path.append(_root(hashes[split:]))
            hashes = hashes[:split]
        else:
            path.append(_root(hashes[:split]))
            hashes, size, known = hashes[split:], size - split, False
    # The verifier holds the old root already; any other subtree that the two trees share must be told.
    if not known:
        path.append(_root(hashes))
    return path[::-1]


def verify_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], tree: bytes) -> bool:
    """Whether `path` shows that `leaf` is number `index` (from 0) of the `size` leaves under the root `tree`.

    RFC 9162, section 2.1.3.2, which spells out the check that RFC 6962 leaves to the reader.
    """
    if not 0 <= index < size:
        return False
    place, last, computed = index, size - 1, leaf_hash(leaf)
    for sibling in path:
        if last == 0:
            return False
        if place & 1 or place == last:
            computed = node_hash(sibling, computed)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            computed = node_hash(computed, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and computed == tree


def verify_consistency(old_size: int, old: bytes, size: int, tree: bytes, path: Sequence[bytes]) -> bool:
    """Whether `path` shows that the tree of `size` leaves under `tree` begins with the `old_size` leaves under `old`.

    RFC 9162, section 2.1.4.2. Every tree begins with the empty one and with itself.
    """
    if not 0 <= old_size <= size:
        return False
    if old_size == 0:
        return not path and old == EMPTY_ROOT and (size > 0 or tree == EMPTY_ROOT)
    if old_size == size:
        return not path and old == tree
    # An old tree of a power of two is itself the first hash of the path.
    hashes = [old, *path] if old_size & (old_size - 1) == 0 else list(path)
    if not hashes:
        return False
    place, last = old_size - 1, size - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old_computed = computed = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            old_computed, computed = node_hash(sibling, old_computed), node_hash(sibling, computed)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            computed = node_hash(computed, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and (old_computed, computed) == (old, tree)


def _split(size: int) -> int:
    """The largest power of two smaller than `size`: how many leaves go to the left."""
    return 1 << (size - 1).bit_length() - 1


def _root(hashes: Sequence[bytes]) -> bytes:
    """The root over hashes of leaves, level by level: an odd one out moves up as it is."""
    if not hashes:
        return EMPTY_ROOT
    level = list(hashes)
    while len(level) > 1:
        paired = [node_hash(left, right) for left, right in zip(level[::2], level[1::2], strict=False)]
        level = paired + ([level[-1]] if len(level) % 2 else [])
    return level[0]
