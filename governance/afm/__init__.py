"""Adaptive Focus Memory: every past message whole, compressed or as a placeholder, under a token budget.

Source: "Adaptive Focus Memory for Language Models". A library without global state: `FocusManager` needs no server, and
the parts (`scoring`, `compress`, `placeholders`, `packing`) can be used one by one.
"""

from __future__ import annotations

from governance.afm.compress import (
    Compressed,
    CompressionError,
    Compressor,
    HeuristicCompressor,
    ModelCompressor,
    NoCompressor,
    cached_count,
)
from governance.afm.manager import Context, FocusManager, Statistics, Turn
from governance.afm.packing import Budget, BudgetTooSmallError, pack, pack_as_published
from governance.afm.placeholders import placeholder
from governance.afm.scoring import focuses, similarities

__all__ = [
    "Budget",
    "BudgetTooSmallError",
    "Compressed",
    "CompressionError",
    "Compressor",
    "Context",
    "FocusManager",
    "HeuristicCompressor",
    "ModelCompressor",
    "NoCompressor",
    "Statistics",
    "Turn",
    "cached_count",
    "focuses",
    "pack",
    "pack_as_published",
    "placeholder",
    "similarities",
]
