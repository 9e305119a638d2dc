"""The hashing embedder: the same everywhere, and near for shared words in any script."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.embedding import hashing
from retrieval.embedding.hashing import HashingEmbedder
from tests.patience import PATIENCE

TEXTS = ["The red bicycle is in the garage.", "红色的自行车在车库里。", "自転車はガレージにあります。", "", "a\ud800"]


class TestDeterminism:
    def test_another_process_gives_the_same_bytes(self) -> None:
        """Python's own `hash` is salted per process: vectors from before a restart would match nothing."""
        program = (
            "import hashlib; from retrieval.embedding.hashing import HashingEmbedder\n"
            f"print(hashlib.sha256(HashingEmbedder().encode_document({TEXTS!r}).tobytes()).hexdigest())"
        )
        root = Path(hashing.__file__).parents[2]
        digests = {
            subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, "PYTHONHASHSEED": seed},
                cwd=root,
                check=True,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
            ).stdout.strip()
            for seed in ("1", "2")
        }
        assert digests == {hashlib.sha256(HashingEmbedder().encode_document(TEXTS).tobytes()).hexdigest()}

    def test_it_never_changes_under_one_name(self) -> None:
        """Whoever changes the features has to change the name too, or caches mix old and new vectors."""
        embedder = HashingEmbedder()
        assert embedder.name == "hashing-1-384"
        row = embedder.encode_document(["red bike 红车"])[0]
        assert hashlib.sha256(np.rint(row * 1000).astype("<i2").tobytes()).hexdigest()[:16] == "311f4d1986a419ae"


class TestMeaning:
    @pytest.mark.parametrize(
        ("question", "related", "unrelated"),
        [
            ("Where is the red bicycle?", "The red bicycle is in the garage.", "We had soup for lunch."),
            ("红色的自行车在哪里？", "红色的自行车在车库里。", "我们中午喝了汤。"),
            ("自転車はどこ？", "自転車はガレージにあります。", "昼にスープを飲みました。"),
            ("자전거는 어디에 있어?", "자전거는 차고에 있습니다.", "점심에 수프를 먹었어요."),
        ],
    )
    def test_shared_words_are_near(self, question: str, related: str, unrelated: str) -> None:
        embedder = HashingEmbedder()
        near, far = embedder.encode_document([related, unrelated]) @ embedder.encode_query([question])[0]
        assert near > far + 0.2

    def test_width_and_case_do_not_matter(self) -> None:
        one, other = HashingEmbedder().encode_document(["ＡＢＣ bike", "abc BIKE"])
        assert np.array_equal(one, other)


class TestAnyText:
    @settings(max_examples=200, deadline=None)
    @given(st.text(alphabet=st.characters(), max_size=60))
    def test_every_text_is_a_unit_row(self, text: str) -> None:
        rows = HashingEmbedder(64).encode_query([text])
        assert rows.dtype == np.float32 and rows.shape == (1, 64)
        assert abs(float(np.linalg.norm(rows[0])) - 1) < 1e-6

    def test_no_texts_give_no_rows(self) -> None:
        assert HashingEmbedder(64).encode_query([]).shape == (0, 64)
