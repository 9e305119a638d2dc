"""Numbers and codes of a question find what holds them, whatever its other words are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from retrieval.candidates import Query
from retrieval.experience import ExperienceIndex
from retrieval.identifiers import LANE, is_identifier
from retrieval.knowledge import KnowledgeIndex
from retrieval.tokens import tokenize
from tests.retrieval.support import CONFIG, EMBEDDER, atom, document, search

FILLER = [
    "The desk by the window checks orders and asks for a desk number before it opens. 办公室柜台查询订单。",
    "Whoever comes to the counter of the office with an order waits at the counter. 到柜台来的人在柜台等。",
    "The office keeps every order at the counter until the evening. 办公室的订单在柜台留到晚上。",
]


class TestIsIdentifier:
    @pytest.mark.parametrize(
        "text", ["4471930", "E-20417", "版本 2.3.1 有吗", "the flight cx8842", "订单４４７１９３０呢", "AB12-9934/7"]
    )
    def test_long_numbers_versions_and_codes_are(self, text: str) -> None:
        assert any(map(is_identifier, tokenize(text)))

    @pytest.mark.parametrize(
        "text", ["in 2023", "1984年", "30 days", "room 12", "三号码头", "identifier", "v2", "一九八四"]
    )
    def test_years_amounts_and_words_are_not(self, text: str) -> None:
        assert not any(map(is_identifier, tokenize(text)))


class TestLane:
    @pytest.mark.parametrize(
        "question",
        ["Which desk of the office at the counter asks for order 4471930?", "办公室柜台的订单4471930在哪个柜台？"],
    )
    def test_a_past_turn_with_the_number_has_a_first_place_more(self, question: str) -> None:
        index = ExperienceIndex(EMBEDDER)
        index.add([atom(n, text, "Yes.") for n, text in enumerate(FILLER, 1)])
        index.add([atom(4, "4471930 is blue. 蓝色。", "Noted.", session="s2")])
        index.add([atom(5, "4471390 is red. 红色。", "Noted.", session="s3")])
        found = {candidate.round: candidate for candidate in search(index, question)}
        without = {c.round: c for c in search(index, question, replace(CONFIG, exact_lane=False))}
        assert {n: c.ranks.get(LANE) for n, c in found.items()} == {1: None, 2: None, 3: None, 4: 0, 5: None}
        gained = {n: found[n].fused - without[n].fused for n in found}
        assert gained == pytest.approx({1: 0, 2: 0, 3: 0, 4: 1 / (CONFIG.history_rrf_k + 1), 5: 0})

    def test_a_passage_with_the_code_is_among_the_first(self) -> None:
        index = KnowledgeIndex(EMBEDDER)
        for n, text in enumerate(["E20417: the lamp is loose. 灯松了。", *FILLER * 4]):
            index.add(f"d{n}", document(f"d{n}", text))
        question = "The counter of the office shows E20417, which desk do I ask? 办公室柜台"
        assert [c.ranks[LANE] for c in search(index, question)[:3] if c.text.startswith("E20417")] == [0]
        without = search(index, question, replace(CONFIG, exact_lane=False))
        assert not any(c.text.startswith("E20417") for c in without[:3])

    def test_what_many_hold_names_none_of_them(self) -> None:
        index = ExperienceIndex(EMBEDDER)
        index.add([atom(n, f"Case {n} of folder 88120.", "Yes.") for n in range(1, 12)])
        assert not any(LANE in candidate.ranks for candidate in search(index, "folder 88120"))

    def test_it_is_part_of_bm25(self) -> None:
        """Preset E, without BM25, must not find by words after all."""
        index = ExperienceIndex(EMBEDDER)
        index.add([atom(1, "4471930 is blue.", "Noted.")])
        config = replace(CONFIG, history_bm25_enabled=False)
        assert LANE not in search(index, "4471930", config)[0].ranks

    def test_hidden_memories_take_no_place_in_it(self) -> None:
        index = ExperienceIndex(EMBEDDER)
        index.add([atom(1, "4471930 is blue.", "Noted."), atom(2, "4471930 is green.", "Noted.")])
        (hidden,) = [a.memory for a in index.atoms() if a.round == 1]
        query = Query("4471930", "Mei", "Ada")
        found = index.search(query, EMBEDDER.encode_query([query.text])[0], CONFIG, without=[hidden])
        assert [c.ranks.get(LANE) for c in found] == [0]
