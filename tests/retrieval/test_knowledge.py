"""The knowledge route: ids are never mixed up, what is removed is gone, scores are those of the paper."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from retrieval.candidates import Candidate
from retrieval.embedding.base import Vectors
from retrieval.knowledge import KnowledgeIndex
from retrieval.memories import KnowledgeChunk
from tests.retrieval.support import CONFIG, EMBEDDER, START, FailingEmbedder, dawdle, document, memories, search

CATS = "Cats sleep sixteen hours a day. A cat purrs when it is content. Kittens are born blind."
TEA = "Green tea is steeped at eighty degrees. Black tea takes boiling water. Oolong lies between them."
NIGHT = "图书馆的夜间开放时间是晚上十点。周末闭馆。借书证在前台办理。"


def index_of(*texts: str) -> KnowledgeIndex:
    index = KnowledgeIndex(EMBEDDER)
    for number, text in enumerate(texts):
        index.add(f"d{number}", document(f"d{number}", text))
    return index


class TestIdsNeverMix:
    def test_a_second_document_returns_its_own_chunks(self) -> None:
        """Trap 3: the child-to-vector map restarted at zero with every upload, so the second document returned the
        first one's parents."""
        index = index_of(CATS, TEA, NIGHT)
        assert search(index, "At how many degrees is green tea steeped?")[0].text == TEA
        assert search(index, "When does a cat purr?")[0].text == CATS
        assert search(index, "图书馆夜间几点开放？")[0].text == NIGHT

    def test_every_candidate_carries_its_own_text_and_best_child(self) -> None:
        long = [f"Topic {n}: the {word} is described here at some length. " * 12 for n, word in enumerate(WORDS)]
        index = index_of(*long)
        for number, word in enumerate(WORDS):
            best = search(index, f"Where is the {word} described?")[0]
            assert best.memory.startswith(f"d{number}-") and word in best.text

    def test_removing_one_document_leaves_the_others_right(self) -> None:
        index = index_of(CATS, TEA, NIGHT)
        index.remove("d0")
        index.add("d3", document("d3", "Dogs bark at night. A dog wags its tail."))
        assert search(index, "green tea degrees")[0].memory == "d1-0"
        assert search(index, "Why does a dog wag its tail?")[0].memory == "d3-0"

    def test_a_document_may_come_back_after_it_was_removed(self) -> None:
        index = index_of(CATS, TEA)
        index.remove("d0")
        index.add("d0", document("d0", CATS))
        assert search(index, "cat purrs")[0].memory == "d0-0"
        assert len(index) == 2

    def test_adding_and_removing_while_searching_never_mixes_ids(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Vector index and id map drift apart when a search falls between two halves of a change."""
        index = index_of(CATS, TEA)
        texts = {f"x{n}": f"The {word} of number {n} is stored in cellar {n}." for n, word in enumerate(WORDS)}
        stop, faults = threading.Event(), list[str]()
        dawdle(monkeypatch)

        def look(word: str) -> None:
            while not stop.is_set():
                for candidate in search(index, f"the {word} in the cellar"):
                    own = {"d0-0": CATS, "d1-0": TEA} | {f"{id}-0": text for id, text in texts.items()}
                    if candidate.text != own[candidate.memory]:
                        faults.append(candidate.memory)

        with ThreadPoolExecutor(3) as pool:
            looking = [pool.submit(look, word) for word in WORDS[:3]]
            for _ in range(5):
                for id, text in texts.items():
                    index.add(id, document(id, text))
                for id in texts:
                    index.remove(id)
            stop.set()
        assert [task.exception() for task in looking] == [None, None, None]
        assert not faults
        assert len(index) == 2


WORDS = ("zebra", "piano", "glacier", "violin", "harbour", "orchid")


class TestRemoval:
    def test_what_is_removed_is_gone_from_every_lane(self) -> None:
        """Deletes that do not delete: still returned by search, still counted in the statistics of words."""
        index = index_of(CATS, TEA)
        index.remove("d0")
        found = search(index, "When does a cat purr? Kittens are born blind.")
        assert memories(found) == ["d1-0"]
        assert found[0].bm25 is None
        assert "d0" not in index and "d1" in index
        index.remove("d1")
        assert search(index, "cat tea") == []

    def test_scores_after_a_removal_are_those_of_a_fresh_index(self) -> None:
        changed, fresh = index_of(NIGHT, CATS, TEA), KnowledgeIndex(EMBEDDER)
        changed.remove("d0")
        fresh.add("d1", document("d1", CATS))
        fresh.add("d2", document("d2", TEA))
        for question in ("cat tea water", "图书馆", "oolong"):
            assert search(changed, question) == search(fresh, question)

    def test_an_absent_document_is_an_error(self) -> None:
        with pytest.raises(KeyError):
            index_of(CATS).remove("d9")


class TestAdding:
    def test_a_document_is_added_once(self) -> None:
        index = index_of(CATS)
        with pytest.raises(ValueError, match="document d0 is already"):
            index.add("d0", document("d0", TEA))
        assert search(index, "cat")[0].text == CATS

    def test_a_failed_embedding_adds_nothing(self) -> None:
        """An id map grew without its vectors when embedding failed half-way."""
        embedder = FailingEmbedder()
        index = KnowledgeIndex(embedder)
        embedder.failing = True
        with pytest.raises(MemoryError):
            index.add("d0", document("d0", CATS))
        embedder.failing = False
        assert len(index) == 0 and "d0" not in index
        index.add("d0", document("d0", CATS))
        assert memories(search(index, "cat")) == ["d0-0"]

    def test_vectors_of_a_wrong_shape_add_nothing(self) -> None:
        class Short(FailingEmbedder):
            def encode_document(self, texts: Sequence[str]) -> Vectors:
                return EMBEDDER.encode_document(texts)[:, :5]

        index = KnowledgeIndex(Short())
        with pytest.raises(ValueError, match="expected vectors of shape"):
            index.add("d0", document("d0", CATS))
        assert len(index) == 0 and "d0" not in index

    def test_a_chunk_without_children_is_refused(self) -> None:
        chunk = KnowledgeChunk("c", "d0", "notes.md", (), "text", (), START)
        with pytest.raises(ValueError, match="chunk c has no child chunks"):
            KnowledgeIndex(EMBEDDER).add("d0", [chunk])

    def test_a_document_without_text_is_there_and_finds_nothing(self) -> None:
        index = index_of("")
        assert "d0" in index and search(index, "anything") == []
        index.remove("d0")
        assert "d0" not in index

    def test_a_time_without_a_zone_is_refused(self) -> None:
        """Trap 6: times of two kinds raised in the middle of scoring, where the error was swallowed."""
        with pytest.raises(ValueError, match="time of memory c needs a timezone"):
            KnowledgeChunk("c", "d", "notes.md", (), "text", ("text",), START.replace(tzinfo=None))


class TestScores:
    def test_lanes_are_fused_and_normalised_by_the_maximum(self) -> None:
        index = index_of(CATS, TEA, NIGHT)
        best, *rest = search(index, "cat purrs content", replace(CONFIG, knowledge_rrf_k=60.0))
        assert best.ranks == {"vector": 0, "bm25": 0}
        assert best.fused == pytest.approx(2 / 61)
        assert best.normalised == best.base == 1.0
        assert all(candidate.bm25 is None and candidate.coverage == 0 for candidate in rest)
        assert best.coverage == pytest.approx(1.0)

    def test_names_in_the_text_and_the_file_name_give_bonuses(self) -> None:
        index = KnowledgeIndex(EMBEDDER)
        index.add("a", document("a", "Mei likes tea. Ada pours it."))
        index.add("b", document("b", "Somebody likes tea. Somebody pours it.", name="about Ada.md"))
        found = {candidate.memory: candidate for candidate in search(index, "Who likes tea?")}
        assert found["a-0"].bonuses == {"user": 0.08, "character": 0.08}
        assert found["b-0"].bonuses == {"source": 0.05}

    def test_bonuses_never_raise_the_best_above_one(self) -> None:
        index = index_of("Mei likes tea. Ada pours it.", "Nobody likes coffee.")
        found = search(index, "Who likes tea?")
        assert found[0].base == 1.0
        assert found[1].base == pytest.approx(found[1].normalised / 1.16)

    @pytest.mark.parametrize(
        ("change", "lanes"),
        [({"bm25_enabled": False}, {"vector"}), ({"bm25_enabled": True}, {"vector", "bm25"})],
    )
    def test_lanes_are_switches(self, change: dict[str, Any], lanes: set[str]) -> None:
        found = search(index_of(CATS, TEA), "cat tea", replace(CONFIG, **change))
        assert set().union(*(candidate.ranks for candidate in found)) == lanes

    def test_the_route_is_a_switch(self) -> None:
        assert search(index_of(CATS), "cat", replace(CONFIG, knowledge_enabled=False)) == []

    def test_an_empty_index_finds_nothing(self) -> None:
        assert search(KnowledgeIndex(EMBEDDER), "cat") == []

    def test_headings_are_part_of_the_source(self) -> None:
        index = index_of("# Animals\n## Cats\n" + CATS)
        assert search(index, "cat")[0].source == "notes.md › Animals › Cats"


class TestHeadings:
    """A section seldom names what its document is about: "When does the ferry leave?" found any other timetable."""

    OPENING = "## Hours\nIt opens at nine and closes at six.\n\n## Prices\nGrown-ups pay two crowns."
    ZH_OPENING = "## 时间\n早上九点开，傍晚六点关。\n\n## 价格\n大人两元。"

    @pytest.mark.parametrize("lane", ["vector", "bm25"])
    @pytest.mark.parametrize(
        ("sections", "titles", "question"),
        [
            (OPENING, ("Harbour baths", "Steam museum", "Toy shop"), "What does the steam museum cost?"),
            (ZH_OPENING, ("港口浴场", "蒸汽博物馆", "玩具铺"), "蒸汽博物馆多少钱？"),
        ],
    )
    def test_a_section_is_found_by_the_title_it_stands_under(
        self, lane: str, sections: str, titles: tuple[str, ...], question: str
    ) -> None:
        """Both lanes, each alone: the sections are the same in all three documents."""
        index = index_of(*(f"# {title}\n\nA few words.\n\n{sections}" for title in titles))
        found = search(index, question)
        asked, others = _ranks(found, lane, "d1-"), _ranks(found, lane, "d0-", "d2-")
        assert asked and max(asked) < min(others, default=99)

    def test_a_chunk_is_shown_as_it_is_written(self) -> None:
        index = index_of("# Steam museum\n\nA few words.\n\n" + self.OPENING)
        assert search(index, "steam museum prices")[0].text in (
            "# Steam museum\n\nA few words.",
            "## Prices\nGrown-ups pay two crowns.",
            "## Hours\nIt opens at nine and closes at six.",
        )

    def test_what_was_recorded_without_headings_is_searched_without_them(self) -> None:
        """Older ledgers replay exactly: their chunks were searched by their own words alone."""
        chunks = [
            replace(chunk, above="", children=(chunk.text,))
            for chunk in document("d0", "# Steam museum\n\nA few words.\n\n" + self.OPENING)
        ]
        index = KnowledgeIndex(EMBEDDER)
        index.add("d0", chunks)
        (prices,) = [c for c in search(index, "steam museum") if "Prices" in c.text]
        assert prices.bm25 is None


def _ranks(found: Sequence[Candidate], lane: str, *documents: str) -> list[int]:
    return [c.ranks[lane] for c in found if c.memory.startswith(documents) and lane in c.ranks]
