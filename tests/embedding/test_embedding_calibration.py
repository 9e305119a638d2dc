"""The calibration itself, on vectors whose cosines are known."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from retrieval.embedding.base import Vectors
from retrieval.embedding.calibration import KNOWN_C0, c0_of, calibrate, measure_c0, measure_separation
from retrieval.embedding.calibration_texts import CHINESE, ENGLISH, MIXED, TOPICS
from retrieval.embedding.centre_texts import PARALLEL
from retrieval.embedding.hashing import HashingEmbedder
from retrieval.fusion import calibrated_similarity


class Anisotropic:
    """Every text shares one axis with weight `share`; a topic's two texts share one more. Cosines are exact."""

    name = "anisotropic"

    def __init__(self, share: float) -> None:
        self.share = share
        self.calls = 0

    def encode_query(self, texts: Sequence[str]) -> Vectors:
        self.calls += 1
        return self._rows([TOPICS.index(next(t for t in TOPICS if t.question == text)) for text in texts])

    def encode_document(self, texts: Sequence[str]) -> Vectors:
        return self._rows([TOPICS.index(next(t for t in TOPICS if t.statement == text)) for text in texts])

    def _rows(self, topics: list[int]) -> Vectors:
        rows = np.zeros((len(topics), len(TOPICS) + 1), np.float32)
        rows[:, 0] = self.share**0.5
        rows[np.arange(len(topics)), np.array(topics) + 1] = (1 - self.share) ** 0.5
        return rows


class TestMeasure:
    def test_c0_is_the_mean_cosine_of_unrelated_texts(self) -> None:
        assert measure_c0(Anisotropic(0.75)) == pytest.approx(0.75, abs=1e-6)

    def test_related_pairs_do_not_count(self) -> None:
        """Leaving the diagonal in would raise c0 by a related pair's share, 1 in 24."""
        assert measure_c0(Anisotropic(0.0)) == pytest.approx(0, abs=1e-7)

    def test_calibration_undoes_the_shared_axis(self) -> None:
        for separation in measure_separation(Anisotropic(0.75), 0.75):
            assert separation.related.mean == pytest.approx(1, abs=1e-5)
            assert separation.unrelated.high == pytest.approx(0, abs=1e-5)
            assert separation.auc == 1

    def test_the_formula_is_that_of_retrieval(self) -> None:
        cosines = [0.5, 0.75, 1.0, -1.0]
        assert calibrate(np.array(cosines), 0.5).tolist() == [0, 0.5, 1, 0]
        assert [calibrated_similarity(cosine, 0.5) for cosine in cosines] == [0, 0.5, 1, 0]


class TestStore:
    def test_a_model_is_measured_once(self, tmp_path: Path) -> None:
        store = tmp_path / "deep" / "calibration.json"
        encoder = Anisotropic(0.5)
        first = c0_of(encoder, store)
        calls = encoder.calls
        assert c0_of(encoder, store) == first and encoder.calls == calls > 0
        assert list(store.parent.iterdir()) == [store]

    def test_other_models_are_kept(self, tmp_path: Path) -> None:
        store = tmp_path / "calibration.json"
        store.write_text('{"other": 0.25}')
        c0_of(Anisotropic(0.5), store)
        assert json.loads(store.read_text())["other"] == 0.25

    @pytest.mark.parametrize(
        "damage", [b"", b"{", b"[1]", b'{"anisotropic": "much"}', b'{"anisotropic": null}', b"\xff"]
    )
    def test_a_damaged_store_is_measured_again(
        self, tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
    ) -> None:
        store = tmp_path / "calibration.json"
        store.write_bytes(damage)
        with caplog.at_level(logging.WARNING):
            assert c0_of(Anisotropic(0.5), store) == pytest.approx(0.5)
        assert str(store) in caplog.text
        assert json.loads(store.read_text())["anisotropic"] == pytest.approx(0.5)

    def test_a_store_that_cannot_be_written_costs_no_result(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "file").write_text("not a folder")
        with caplog.at_level(logging.WARNING):
            assert c0_of(Anisotropic(0.5), tmp_path / "file" / "calibration.json") == pytest.approx(0.5)
        assert "not kept" in caplog.text

    def test_known_models_are_not_measured(self) -> None:
        assert (
            HashingEmbedder().c0 == KNOWN_C0["hashing-1-384"] == pytest.approx(measure_c0(HashingEmbedder()), abs=1e-4)
        )


class TestTexts:
    """A doubled topic would count a related pair as unrelated."""

    def test_sixty_topics_and_no_text_twice(self) -> None:
        texts = [text for topic in TOPICS for text in (topic.question, topic.statement)]
        assert len(TOPICS) == 60 and len(set(texts)) == 120
        assert len(ENGLISH) == len(CHINESE) and len(MIXED) == 12

    def test_the_languages_are_what_they_say(self) -> None:
        def chinese(text: str) -> bool:
            return any("\u4e00" <= character <= "\u9fff" for character in text)

        assert not any(chinese(t.question) or chinese(t.statement) for t in ENGLISH)
        assert all(chinese(t.question) and chinese(t.statement) for t in CHINESE)
        assert all(chinese(t.question) != chinese(t.statement) for t in MIXED)
        assert all(not chinese(one) and chinese(other) for one, other in PARALLEL)
