"""Identifiers: short, random, safe as a folder name, and telling what they name."""

from __future__ import annotations

import re
import secrets
from typing import Literal

from arpm.canonical import canonical, digest

Prefix = Literal["t", "s", "m", "i", "d"]

_ID = re.compile(r"[a-z]-[0-9a-f]{12}")


def new_id(prefix: Prefix) -> str:
    """A fresh id for a timeline (t), session (s), experience (m), instruction (i) or document (d)."""
    return f"{prefix}-{secrets.token_hex(6)}"


def source_digest(timeline: str, source: str) -> str:
    """What a receipt keeps of the external id of something that was imported and erased."""
    return digest(canonical([timeline, source]))


def is_id(text: str, prefix: Prefix) -> bool:
    """Whether `text` has the form of such an id. Nothing else may ever be used as part of a path."""
    return _ID.fullmatch(text) is not None and text.startswith(prefix)
