"""The paper's formulas by hand, and the arrays against them."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from governance.afm.scoring import focus_score, focuses, intended_fidelity, recency_weight, similarities
from governance.history import Importance
from retrieval.embedding.hashing import HashingEmbedder


class TestFormulas:
    def test_recency_halves_every_half_life(self) -> None:
        assert [recency_weight(k) for k in (0, 12, 24)] == [1.0, 0.5, 0.25]
        assert recency_weight(3, half_life=3) == 0.5
        assert recency_weight(-5) == 1.0

    @pytest.mark.parametrize(
        ("importance", "similarity", "recency", "score"),
        [
            ("CRITICAL", -1.0, 0.0, 1.0),
            ("RELEVANT", 0.5, 1.0, 0.4),
            ("RELEVANT", 0.5, 0.5, 0.3),
            ("RELEVANT", 0.5, 0.0, 0.2),
            ("TRIVIAL", 0.8, 1.0, 0.2),
            ("TRIVIAL", 0.8, 0.5, 0.1),
            ("RELEVANT", -0.3, 1.0, 0.0),
            ("TRIVIAL", -0.3, 1.0, 0.0),
        ],
    )
    def test_piecewise_score(self, importance: Importance, similarity: float, recency: float, score: float) -> None:
        assert focus_score(importance, similarity, recency) == pytest.approx(score)

    def test_thresholds_are_reached_from_themselves_on(self) -> None:
        asked = [intended_fidelity(score) for score in (1.0, 0.45, 0.4499, 0.25, 0.2499, 0.0)]
        assert asked == ["FULL", "FULL", "COMPRESSED", "COMPRESSED", "PLACEHOLDER", "PLACEHOLDER"]
        assert intended_fidelity(0.5, tau_high=0.6, tau_mid=0.55) == "PLACEHOLDER"

    def test_without_importance_nothing_is_shown_whole(self) -> None:
        """Table 2 of the paper: all TRIVIAL, no message reaches FULL, however similar and new."""
        assert intended_fidelity(focus_score("TRIVIAL", 1.0, 1.0)) == "COMPRESSED"


class TestArrays:
    def test_a_conversation_is_scored_as_its_messages_are(self) -> None:
        draw = np.random.default_rng(3)
        kinds: list[Importance] = [get_args(Importance)[place] for place in draw.integers(0, 3, 500)]
        related, ages = draw.uniform(-1, 1, 500), draw.integers(-2, 60, 500)
        found = focuses(kinds, related, ages, half_life=7, tau_high=0.5, tau_mid=0.2)
        for kind, similarity, age, item in zip(kinds, related, ages, found, strict=True):
            score = focus_score(kind, similarity, recency_weight(age, 7))
            assert item.score == pytest.approx(score)
            assert item.intended == intended_fidelity(item.score, 0.5, 0.2)
            assert item.recency == pytest.approx(recency_weight(age, 7))
            assert item.similarity == max(0.0, similarity)

    def test_an_empty_conversation_has_no_focus(self) -> None:
        assert focuses([], [], []) == []

    def test_similarity_is_the_cosine_above_zero(self) -> None:
        rows = np.array([[1, 0], [0, 1], [-1, 0], [0.6, 0.8]], np.float32)
        assert similarities(rows, rows[0]).tolist() == pytest.approx([1, 0, 0, 0.6])

    def test_a_calibrated_similarity_is_zero_at_the_mean_of_unrelated_texts(self) -> None:
        rows = np.array([[1, 0], [0.6, 0.8]], np.float32)
        assert similarities(rows, rows[0], c0=0.6).tolist() == pytest.approx([1, 0], abs=1e-6)

    def test_similar_texts_are_nearer_in_both_languages(self) -> None:
        embedder = HashingEmbedder()
        rows = embedder.encode_document(["I am allergic to peanuts", "the train is late", "我对花生过敏", "火车晚点了"])
        english, chinese = embedder.encode_query(["peanuts", "花生"])
        assert similarities(rows, english, embedder.c0)[0] > similarities(rows, english, embedder.c0)[1:].max()
        assert similarities(rows, chinese, embedder.c0)[2] > similarities(rows, chinese, embedder.c0)[[0, 1, 3]].max()
