"""Embedders by name. Importing this package loads no model and no heavy library."""

from __future__ import annotations

from pathlib import Path

from retrieval.embedding.base import Embedder
from retrieval.embedding.errors import UnknownEmbedderError

EMBEDDERS = {
    "e5": "multilingual-e5-small, centred; English, Chinese and many more (the default)",
    "e5-raw": "multilingual-e5-small as published",
    "minilm": "all-MiniLM-L6-v2, English",
    "hashing": "shared words only, no model; for tests and the offline mode",
}


def load_embedder(spec: str, cache_dir: Path | None = None) -> Embedder:
    """Open the embedder `spec`: a key of `EMBEDDERS`, or the path of a folder with a sentence-transformers model.

    `cache_dir` keeps what has to be measured once per model (c0) between starts; vectors are kept by
    `retrieval.embedding.cache.CachedEmbedder`. Raises UnknownEmbedderError with the choices, ModelFileError when a
    model is damaged, MissingPackageError when its package is not installed.
    """
    # Each branch imports what it needs: choosing "hashing" must not cost the import of torch.
    if spec == "hashing":
        from retrieval.embedding.hashing import HashingEmbedder

        return HashingEmbedder()
    if spec in ("e5", "e5-raw"):
        from retrieval.embedding.e5 import open_e5, open_raw_e5

        return open_e5() if spec == "e5" else open_raw_e5()
    from retrieval.embedding.sentence_transformer import SentenceTransformerEmbedder, open_minilm

    if spec == "minilm":
        return open_minilm()
    folder = Path(spec).expanduser()
    if not folder.is_dir():
        choices = ", ".join(EMBEDDERS)
        raise UnknownEmbedderError(f"Unknown embedder {spec!r}: choose {choices}, or the path of a model's folder.")
    return SentenceTransformerEmbedder(folder, cache_dir / "calibration.json" if cache_dir else None)
