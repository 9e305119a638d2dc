"""Embedders by name, and models from folders."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from retrieval.embedding import EMBEDDERS, load_embedder
from retrieval.embedding.calibration import measure_c0
from retrieval.embedding.calibration_texts import ENGLISH
from retrieval.embedding.centred import CentredEmbedder
from retrieval.embedding.e5 import E5Embedder
from retrieval.embedding.errors import ModelFileError, UnknownEmbedderError
from retrieval.embedding.hashing import HashingEmbedder
from retrieval.embedding.sentence_transformer import SentenceTransformerEmbedder
from tests.patience import PATIENCE


@pytest.fixture(scope="module")
def minilm() -> SentenceTransformerEmbedder:
    embedder = load_embedder("minilm")
    assert isinstance(embedder, SentenceTransformerEmbedder)
    return embedder


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A folder with the smallest model that sentence-transformers can load: one vector a word."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding

    words = {word: number for number, word in enumerate(["[UNK]", "the", "is", "的", "吗"])}
    tokenizer = Tokenizer(models.WordLevel(words, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    folder = tmp_path / "tiny"
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=16)], device="cpu").save(str(folder))
    return folder


class TestNames:
    def test_the_default_is_centred_e5(self) -> None:
        embedder = load_embedder("e5")
        assert isinstance(embedder, CentredEmbedder) and isinstance(embedder.inner, E5Embedder)

    def test_hashing(self) -> None:
        assert isinstance(load_embedder("hashing"), HashingEmbedder)

    def test_an_unknown_name_gives_the_choices(self) -> None:
        with pytest.raises(ValueError, match="word2vec") as caught:
            load_embedder("word2vec")
        assert isinstance(caught.value, UnknownEmbedderError)
        assert all(name in str(caught.value) for name in EMBEDDERS)

    def test_hashing_imports_no_model_library(self) -> None:
        program = (
            "import sys; from retrieval.embedding import load_embedder; load_embedder('hashing')\n"
            "assert not {'torch', 'openvino', 'tokenizers', 'transformers'} & set(sys.modules)"
        )
        subprocess.run([sys.executable, "-c", program], check=True, timeout=PATIENCE)


class TestSentenceTransformers:
    def test_rows(self, minilm: SentenceTransformerEmbedder) -> None:
        rows = minilm.encode_document(["", " ", "a\ud800\0b", "中文", "word " * 2000])
        assert rows.dtype == np.float32 and rows.flags["C_CONTIGUOUS"] and rows.shape == (5, minilm.dimension)
        assert np.abs(np.linalg.norm(rows, axis=1) - 1).max() < 1e-6
        assert minilm.encode_query([]).shape == (0, minilm.dimension)

    def test_the_kept_c0_is_that_of_english(self, minilm: SentenceTransformerEmbedder) -> None:
        assert minilm.c0 == pytest.approx(measure_c0(minilm, [ENGLISH]), abs=1e-3)

    def test_a_folder_is_named_by_its_content(self, tiny: Path, tmp_path: Path) -> None:
        """A model retrained in place must not answer from the vectors of the old one."""
        store = tmp_path / "cache" / "calibration.json"
        first = load_embedder(str(tiny), store.parent)
        assert first.name.startswith("tiny-") and first.dimension == 16
        assert json.loads(store.read_text()) == {first.name: first.c0}
        (tiny / "README.md").write_text("changed")
        assert load_embedder(str(tiny), store.parent).name != first.name

    def test_an_empty_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ModelFileError, match=r"modules\.json"):
            load_embedder(str(tmp_path))

    def test_damaged_weights_are_refused(self, tiny: Path) -> None:
        next(tiny.rglob("*.safetensors")).write_bytes(b"not weights")
        with pytest.raises(ModelFileError, match="tiny"):
            load_embedder(str(tiny))

    def test_a_damaged_description_is_refused(self, tiny: Path) -> None:
        (tiny / "modules.json").write_text("[{")
        with pytest.raises(ModelFileError, match="tiny"):
            load_embedder(str(tiny))
