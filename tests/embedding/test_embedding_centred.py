"""The centre of the default embedder: measured again, and worth what it promises."""

from __future__ import annotations

import numpy as np
import pytest

from retrieval.embedding.cache import CachedEmbedder
from retrieval.embedding.calibration import KNOWN_C0, measure_c0, measure_separation
from retrieval.embedding.calibration_texts import MIXED, TOPICS
from retrieval.embedding.centre_texts import PARALLEL
from retrieval.embedding.centred import Centre, CentredEmbedder, measure_centre
from retrieval.embedding.e5 import E5Embedder
from retrieval.embedding.e5_centre import KNOWN_CENTRES
from retrieval.embedding.hashing import HashingEmbedder


@pytest.fixture(scope="module")
def raw(e5: E5Embedder, tmp_path_factory: pytest.TempPathFactory) -> CachedEmbedder:
    """The model as published, behind a cache, since these tests embed the same texts again and again."""
    return CachedEmbedder(e5, tmp_path_factory.mktemp("cache") / "vectors.sqlite3")


@pytest.fixture(scope="module")
def centred(e5: E5Embedder, raw: CachedEmbedder) -> CentredEmbedder:
    return CentredEmbedder(raw, Centre.from_text(KNOWN_CENTRES[e5.weights]))


class TestConstants:
    """Constants that nobody measures again rot with the first change of the texts or the weights."""

    def test_the_kept_centre_is_the_measured_one(self, raw: CachedEmbedder, centred: CentredEmbedder) -> None:
        measured = measure_centre(raw)
        assert float(measured.axis @ centred.centre.axis) > 0.999
        assert np.abs(measured.mean - centred.centre.mean).max() < 2e-3

    def test_the_kept_c0_is_the_measured_one(self, raw: CachedEmbedder, centred: CentredEmbedder) -> None:
        for embedder in (raw, centred):
            assert KNOWN_C0[embedder.name] == embedder.c0 == pytest.approx(measure_c0(embedder), abs=1e-3)


class TestLanguagesAreEquals:
    """Raw e5 gave unrelated Chinese the similarity of related English, so no gate could serve both."""

    def test_one_threshold_serves_both_languages(self, centred: CentredEmbedder) -> None:
        separations = measure_separation(centred, centred.c0)
        assert [s.language for s in separations] == ["English", "Chinese", "across", "all"]
        for separation in separations:
            assert separation.unrelated.high < 0.2 < separation.related.mean
            assert separation.auc > 0.96

    def test_the_raw_model_fails_this(self, raw: CachedEmbedder) -> None:
        across, all_pairs = measure_separation(raw, raw.c0)[2:]
        assert across.auc < 0.8 and all_pairs.auc < 0.9

    def test_a_question_finds_its_answer_in_the_other_language(self, centred: CentredEmbedder) -> None:
        questions = centred.encode_query([topic.question for topic in MIXED])
        statements = centred.encode_document([topic.statement for topic in TOPICS])
        gold = [TOPICS.index(topic) for topic in MIXED]
        first = (questions @ statements.T).argmax(axis=1)
        assert np.mean(first == gold) > 0.7


class TestCentre:
    def test_it_reads_what_it_wrote(self) -> None:
        centre = measure_centre(HashingEmbedder(64))
        again = Centre.from_text(centre.to_text())
        assert np.array_equal(again.mean, centre.mean) and np.array_equal(again.axis, centre.axis)
        assert again.digest() == centre.digest()

    def test_neither_mean_nor_axis_is_left(self) -> None:
        inner = HashingEmbedder(64)
        centre = measure_centre(inner)
        rows = CentredEmbedder(inner, centre).encode_document([text for pair in PARALLEL for text in pair])
        assert np.abs(rows @ centre.axis).max() < 1e-3
        assert np.abs(np.linalg.norm(rows, axis=1) - 1).max() < 1e-6

    def test_another_centre_is_another_name(self) -> None:
        """Vectors of two centres must never meet in one cache or index."""
        inner = HashingEmbedder(64)
        one, other = measure_centre(inner), Centre(np.zeros(64, np.float32), np.eye(1, 64, dtype=np.float32)[0])
        assert CentredEmbedder(inner, one).name != CentredEmbedder(inner, other).name

    def test_no_texts_give_no_rows(self) -> None:
        inner = HashingEmbedder(64)
        assert CentredEmbedder(inner, measure_centre(inner)).encode_query([]).shape == (0, 64)
