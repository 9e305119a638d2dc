"""Reading an uploaded document: from bytes of unknown encoding to usable text, or a clear error.

Pure functions. Knows nothing about chunks or ledgers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from charset_normalizer import from_bytes

from arpm.errors import InputError
from retrieval.text import usable

MARKDOWN = frozenset({".md", ".markdown"})
# Encodings a text file is guessed to have when it is not UTF-8: those in use for Chinese, Japanese, Korean and Latin.
_GUESSES = ["gb18030", "big5", "shift_jis", "euc_jp", "euc_kr", "cp1252"]
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_CONTROLS = frozenset(range(32)) - {9, 10, 12, 13}


@dataclass(frozen=True, slots=True)
class Document:
    """A readable document: its name, media type, text with \\n line ends, and the encoding it was read in."""

    name: str
    media_type: str
    text: str
    encoding: str
    bytes: int


def read_document(name: str, data: bytes, limit: int) -> Document:
    """Decode an uploaded text or Markdown file of at most `limit` bytes.

    Raises InputError for a file that is empty, too large (naming the limit), binary or in an unknown encoding.
    """
    name = usable(PurePath(name.replace("\\", "/")).name).strip() or "untitled.txt"
    if len(data) > limit:
        raise InputError(
            f"{name} has {len(data):,} bytes; the limit is {limit:,} bytes. "
            "Split it, or raise upload_limit in arpm.toml."
        )
    text, encoding = _decoded(name, data)
    text = usable(text.replace("\r\n", "\n").replace("\r", "\n"))
    if not text.strip():
        raise InputError(f"{name} holds no text.")
    media_type = "text/markdown" if PurePath(name).suffix.lower() in MARKDOWN else "text/plain"
    return Document(name, media_type, text, encoding, len(data))


def _decoded(name: str, data: bytes) -> tuple[str, str]:
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return _strictly(name, data, encoding), encoding
    if _binary(data):
        raise InputError(
            f"{name} is a binary file. Only plain text and Markdown can be added; export it as text first."
        )
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        best = from_bytes(data, cp_isolation=_GUESSES).best()
        if best is None:
            raise InputError(
                f"{name} is in an encoding that could not be told. Save it as UTF-8 and add it again."
            ) from None
        return str(best), best.encoding


def _strictly(name: str, data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(f"{name} says it is {encoding} and is damaged at byte {error.start:,}.") from None


def _binary(data: bytes) -> bool:
    """Whether the first part holds NUL, or more control characters than text ever does."""
    head = data[:65536]
    return b"\0" in head or sum(byte in _CONTROLS for byte in head) * 50 > len(head)
