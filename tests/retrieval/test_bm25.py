"""BM25 against rank-bm25 with the paper's idf as its oracle, and an index that is added to and removed from."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from benchmarks.bm25 import PaperBM25
from retrieval.bm25 import BM25Index, idf, term_weight, top

K1, B, DELTA = 1.5, 0.75, 0.5


def index_of(corpus: Sequence[Sequence[str]]) -> BM25Index:
    index = BM25Index()
    for key, tokens in enumerate(corpus):
        index.add(key, tokens)
    return index


def dense(index: BM25Index, query: Sequence[str], size: int) -> NDArray[np.float64]:
    hits = index.search(query, K1, B, DELTA)
    scores = np.zeros(size)
    scores[hits.keys] = hits.scores
    return scores


def random_corpus(seed: int, size: int = 300) -> list[list[str]]:
    generator = random.Random(seed)
    words = [f"w{n}" for n in range(80)] + list("春夏秋冬山水花鸟")
    return [generator.choices(words, k=generator.randint(1, 60)) for _ in range(size)]


class TestFormula:
    def test_idf_of_the_paper_is_floored_at_delta(self) -> None:
        assert idf(379, 1, 0.5) == pytest.approx(math.log(378.5 / 1.5) + 0.5)
        assert idf(10, 9, 0.5) == 0.5
        assert idf(10, 0, 0.5) == 0.0

    def test_term_weight_grows_with_frequency_and_falls_with_length(self) -> None:
        assert term_weight(1, 100, 100, K1, B) == pytest.approx(1.0)
        assert term_weight(2, 100, 100, K1, B) > term_weight(1, 100, 100, K1, B)
        assert term_weight(1, 200, 100, K1, B) < term_weight(1, 100, 100, K1, B)

    @pytest.mark.parametrize("seed", range(5))
    def test_scores_equal_those_of_rank_bm25(self, seed: int) -> None:
        corpus = random_corpus(seed)
        index, oracle = index_of(corpus), PaperBM25(corpus, K1, B, DELTA)
        generator = random.Random(seed + 100)
        for _ in range(20):
            query = [*generator.choices(generator.choice(corpus), k=6), "unknown"]
            assert_allclose(dense(index, query, len(corpus)), oracle.get_scores(query), rtol=0, atol=1e-9)

    def test_only_documents_with_a_query_token_are_hits(self) -> None:
        index = index_of([["a", "b"], ["c"], ["b"], []])
        assert index.search(["b", "zzz"], K1, B, DELTA).keys.tolist() == [0, 2]
        assert index.search(["zzz"], K1, B, DELTA).keys.tolist() == []
        assert index.search([], K1, B, DELTA).keys.tolist() == []

    def test_a_repeated_query_token_counts_again(self) -> None:
        index = index_of([["a", "b"], ["c"]])
        once, twice = (index.search(query, K1, B, DELTA).scores[0] for query in (["a"], ["a", "a"]))
        assert twice == pytest.approx(2 * once)

    @pytest.mark.parametrize("corpus", [[], [[]], [[], []]])
    def test_an_empty_corpus_finds_nothing(self, corpus: list[list[str]]) -> None:
        assert len(index_of(corpus).search(["a"], K1, B, DELTA).keys) == 0


class TestCoverage:
    """The gate's measure: which share of the question's weight a document holds."""

    def test_all_words_cover_the_question_and_none_cover_nothing(self) -> None:
        index = index_of([["cat", "sat"], ["cat"], ["dog"], ["hen"]])
        hits = index.search(["cat", "sat"], K1, B, DELTA)
        coverage = dict(zip(hits.keys.tolist(), hits.coverage.tolist(), strict=True))
        assert coverage[0] == pytest.approx(1.0)
        assert 0 < coverage[1] < 0.5

    def test_a_question_of_unknown_words_is_covered_by_a_common_word_only_a_little(self) -> None:
        index = index_of([["cat"], ["dog"], ["cat", "dog"], ["hen"]])
        hits = index.search(["cat", "quasar", "boson", "lepton"], K1, B, DELTA)
        assert max(hits.coverage) < 0.2

    def test_a_word_of_every_document_weighs_nothing_without_delta(self) -> None:
        """Its idf is 0, which was taken for "in no document" and weighed as the rarest word of all."""
        index = index_of([["the", "cat"], ["the", "dog"], ["the", "hen"]])
        hits = index.search(["the", "cat"], K1, B, delta=0.0)
        assert dict(zip(hits.keys.tolist(), hits.coverage.tolist(), strict=True))[0] == pytest.approx(1.0)


class TestAddingAndRemoving:
    @settings(max_examples=60, deadline=None)
    @given(
        corpus=st.lists(st.lists(st.sampled_from("abcdef春夏"), max_size=8), min_size=1, max_size=12),
        data=st.data(),
    )
    def test_any_mixture_equals_a_fresh_index(self, corpus: list[list[str]], data: st.DataObject) -> None:
        gone = data.draw(st.sets(st.integers(0, len(corpus) - 1)))
        index = index_of(corpus)
        for key in gone:
            index.remove(key)
        fresh = BM25Index()
        kept = [key for key in range(len(corpus)) if key not in gone]
        for key in kept:
            fresh.add(key, corpus[key])
        query = list("abcdef春夏xa")
        one, other = index.search(query, K1, B, DELTA), fresh.search(query, K1, B, DELTA)
        assert one.keys.tolist() == other.keys.tolist()
        assert one.scores.tolist() == other.scores.tolist()
        assert one.coverage.tolist() == other.coverage.tolist()
        assert (len(index), index.mean_length) == (len(fresh), fresh.mean_length)

    def test_a_removed_document_leaves_no_token_behind(self) -> None:
        index = index_of([["secret", "cat"], ["cat"]])
        index.remove(0)
        assert index.document_frequency("secret") == 0
        assert index.document_frequency("cat") == 1

    def test_a_key_is_given_once(self) -> None:
        index = index_of([["a"]])
        with pytest.raises(ValueError, match="key 0 is already"):
            index.add(0, ["b"])
        with pytest.raises(KeyError):
            index.remove(7)


class TestTop:
    @given(scores=st.lists(st.integers(-3, 3), min_size=1, max_size=60), depth=st.integers(1, 70))
    def test_equals_a_whole_sort_and_the_newer_wins_ties(self, scores: list[int], depth: int) -> None:
        keys = np.arange(len(scores), dtype=np.int64)
        expected = sorted(range(len(scores)), key=lambda key: (-scores[key], -key))[:depth]
        assert top(keys, np.array(scores, dtype=np.float64), depth) == expected

    def test_nothing_has_no_top(self) -> None:
        assert top(np.zeros(0, dtype=np.int64), np.zeros(0), 5) == []
