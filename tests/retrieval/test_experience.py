"""The experience route: one timeline's memories and nobody else's, in their context, gone when removed."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from retrieval.embedding.base import Vectors
from retrieval.experience import ExperienceIndex
from retrieval.lanes import POOL
from retrieval.memories import Experience
from tests.patience import PATIENCE
from tests.retrieval.support import CONFIG, EMBEDDER, FailingEmbedder, atom, dawdle, memories, search

TALK = [
    atom(1, "I adopted a cat called Miso.", "What a lovely name."),
    atom(2, "She is three years old.", "Still young."),
    atom(3, "我在北京学习建筑。", "听起来很有意思。"),
    atom(4, "My sister plays the violin.", "How long has she played?"),
    atom(5, "Since she was six.", "That is a long time."),
    atom(6, "猫最喜欢吃金枪鱼。", "记住了。", session="s2"),
    atom(7, "I moved to Lisbon in May.", "Welcome to Lisbon.", session="s2"),
]


def index_of(atoms: Sequence[Experience]) -> ExperienceIndex:
    index = ExperienceIndex(EMBEDDER)
    index.add(atoms)
    return index


class RecordingEmbedder(FailingEmbedder):
    """Keeps every text it embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def encode_document(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return super().encode_document(texts)


class TestIsolation:
    def test_an_index_holds_one_timeline_and_finds_nothing_of_another(self) -> None:
        """Isolation as a bonus of 0.1 let a close memory of another user through."""
        mine, other = index_of(TALK[:3]), index_of([replace(TALK[3], user="Tom", memory="t1")])
        assert "t1" not in memories(search(mine, "My sister plays the violin."))
        assert memories(search(other, "I adopted a cat called Miso.")) == ["t1"]

    def test_routes_share_nothing(self) -> None:
        index = index_of(TALK)
        assert {candidate.route for candidate in search(index, "cat")} == {"experience"}


class TestFinding:
    @pytest.mark.parametrize(
        ("question", "memory"),
        [
            ("What is the cat called?", "m1"),
            ("Who plays the violin?", "m4"),
            ("猫喜欢吃什么？", "m6"),
            ("我在哪里学习建筑？", "m3"),
            ("猫", "m6"),
        ],
    )
    def test_the_memory_that_answers_comes_first(self, question: str, memory: str) -> None:
        assert search(index_of(TALK), question)[0].memory == memory

    def test_there_is_a_lexical_lane(self) -> None:
        """Trap 10: history had no lexical search at all."""
        best = search(index_of(TALK), "Lisbon")[0]
        assert best.memory == "m7" and best.bm25 and best.ranks["bm25"] == 0

    def test_the_turn_beside_a_match_is_lent_a_share(self) -> None:
        found = {candidate.memory: candidate for candidate in search(index_of(TALK), "How old is the cat Miso?")}
        assert found["m2"].lent_by == "m1"
        alone = search(index_of(TALK), "How old is the cat Miso?", replace(CONFIG, neighbour_share=0.0))
        assert all(candidate.lent_by is None for candidate in alone)
        assert found["m2"].fused > next(c.fused for c in alone if c.memory == "m2")

    def test_neighbours_end_with_the_session(self) -> None:
        found = {candidate.memory: candidate for candidate in search(index_of(TALK), "Since she was six")}
        assert found["m6"].lent_by in (None, "m7")

    def test_a_turn_is_also_matched_in_its_context(self) -> None:
        config = replace(CONFIG, neighbour_share=0.0, history_bm25_enabled=False)
        found = {c.memory: c for c in search(index_of(TALK), "cat Miso three years old", config)}
        assert found["m2"].ranks["context"] == 0
        found = {c.memory: c for c in search(index_of(TALK), "cat Miso", replace(config, context_lane=False))}
        assert set().union(*(candidate.ranks for candidate in found.values())) == {"vector"}

    def test_imported_turns_may_leave_one_side_empty(self) -> None:
        index = index_of([atom(1, "", "Only the reply is here.")])
        assert search(index, "reply")[0].text == "Ada: Only the reply is here."

    def test_empty_and_switched_off_indexes_find_nothing(self) -> None:
        assert search(ExperienceIndex(EMBEDDER), "cat") == []
        assert search(index_of(TALK), "cat", replace(CONFIG, history_enabled=False)) == []


class TestScores:
    def test_bonuses_are_those_of_the_published_log(self) -> None:
        """The log gives 0.35 where session, user and character all match: a name in the text adds nothing then."""
        best = search(index_of(TALK), "cat Miso", session="s1")[0]
        assert best.bonuses == {"session": 0.15, "user": 0.10, "character": 0.10}
        assert best.base == pytest.approx(best.normalised + 0.35)

    def test_a_name_in_the_text_counts_where_the_person_is_another(self) -> None:
        told = replace(atom(1, "Mei asked Ada for tea."), user="Tom", character="Eve")
        assert search(index_of([told]), "tea")[0].bonuses == {"user_text": 0.04, "character_text": 0.04}

    def test_the_paper_takes_the_clipped_cosine_as_base(self) -> None:
        config = replace(CONFIG, experience_base="cosine")
        for candidate in search(index_of(TALK), "cat Miso", config):
            assert candidate.normalised == candidate.similarity
            assert 0 <= candidate.similarity <= 1

    def test_of_two_equal_memories_the_newer_comes_first(self) -> None:
        """Lanes gave the older of two equal texts the better rank, which decay had to make up for."""
        twice = [atom(1, "I like tea."), atom(9, "I like tea.", session="s2")]
        config = replace(CONFIG, neighbour_share=0.0, context_lane=False)
        assert memories(search(index_of(twice), "tea", config)) == ["m9", "m1"]


class TestConvexFusion:
    def test_scores_decide_where_ranks_cannot_tell(self) -> None:
        """A first place by a hair counted as much as one by far."""
        config = replace(CONFIG, neighbour_share=0.0)
        by_score = {c.memory: c for c in search(index_of(TALK), "Who plays the violin, my sister?", config)}
        assert by_score["m4"].nearness == 1.0
        assert all(0 <= (c.nearness or 0) < 0.5 for memory, c in by_score.items() if memory != "m4")
        by_rank = search(index_of(TALK), "Who plays the violin, my sister?", replace(config, history_fusion="rrf"))
        assert {(c.nearness, c.context_cosine) for c in by_rank} == {(None, None)}
        gap = by_rank[0].normalised - by_rank[1].normalised
        assert by_score["m4"].normalised - sorted(c.normalised for c in by_score.values())[-2] > gap

    def test_a_turn_that_only_neighbours_lifted_has_no_nearness(self) -> None:
        found = search(index_of(TALK), "violin", replace(CONFIG, lane_depth=1))
        assert {c.memory: c.nearness is None for c in found if not c.ranks} == {
            c.memory: True for c in found if not c.ranks
        }
        assert any(not c.ranks for c in found)

    def test_the_measures_of_all_are_among_the_candidates(self) -> None:
        """A record can be checked only if it holds what the others are measured by, whatever the pool leaves out."""
        generator = random.Random(3)
        words = "cat tea violin Lisbon water night garden bread stone river".split()
        atoms = [atom(n, " ".join(generator.choices(words, k=6)), session=f"s{n // 5}") for n in range(1, 400)]
        index = index_of(atoms)
        config = replace(CONFIG, lane_depth=200, neighbour_share=1.0, convex_weight=0.0, history_rrf_k=1000.0)
        for word in words:
            found = search(index, f"{word} {word} river", config)
            assert max(c.nearness or 0 for c in found) == 1.0
            assert any(c.ranks.get("bm25") == 0 for c in found)
            assert len(found) == POOL


class TestRemoval:
    def test_what_is_removed_is_gone_from_every_lane(self) -> None:
        index = index_of(TALK)
        index.remove("m4")
        assert "m4" not in index and len(index) == len(TALK) - 1
        assert all("violin" not in candidate.text for candidate in search(index, "Who plays the violin?"))
        assert all(candidate.bm25 is None for candidate in search(index, "violin"))
        assert "m4" not in [item.memory for item in index.atoms()]

    def test_the_turn_after_it_is_embedded_anew(self) -> None:
        """The next turn's context vector still held the removed words, and matched them."""
        embedder = RecordingEmbedder()
        index = ExperienceIndex(embedder)
        index.add(TALK)
        embedder.texts.clear()
        index.remove("m1")
        assert embedder.texts == [TALK[1].text]
        config = replace(CONFIG, neighbour_share=0.0)
        assert search(index, "cat called Miso", config) == search(index_of(TALK[1:]), "cat called Miso", config)

    def test_the_last_of_a_session_leaves_no_session(self) -> None:
        index = index_of(TALK[5:])
        index.remove("m7")
        index.remove("m6")
        assert len(index) == 0 and search(index, "Lisbon") == []
        index.add([atom(8, "Back again.", session="s2")])
        assert memories(search(index, "again")) == ["m8"]

    def test_an_absent_memory_is_an_error(self) -> None:
        with pytest.raises(KeyError):
            index_of(TALK).remove("m99")

    def test_a_failed_embedding_removes_nothing(self) -> None:
        embedder = FailingEmbedder()
        index = ExperienceIndex(embedder)
        index.add(TALK)
        before = search(index, "cat Miso")
        embedder.failing = True
        with pytest.raises(MemoryError):
            index.remove("m1")
        embedder.failing = False
        assert search(index, "cat Miso") == before


class TestDeterminism:
    def test_any_order_of_work_gives_the_scores_of_a_rebuild(self) -> None:
        """Replay needs the same scores from an index that grew turn by turn and one rebuilt from the ledger."""
        generator = random.Random(7)
        grown, kept = ExperienceIndex(EMBEDDER), list[Experience]()
        words = "cat tea violin Lisbon 猫 北京 建筑 water night garden".split()
        for number in range(1, 80):
            session = f"s{number // 9}"
            kept.append(atom(number, " ".join(generator.choices(words, k=5)), session=session))
            grown.add([kept[-1]])
            if number % 4 == 0:
                gone = kept.pop(generator.randrange(len(kept)))
                grown.remove(gone.memory)
        rebuilt = index_of(kept)
        assert grown.atoms() == rebuilt.atoms() == kept
        for question in (*words, "the cat in the garden at night", "北京的猫"):
            assert search(grown, question, session="s3") == search(rebuilt, question, session="s3")


class TestAdding:
    @pytest.mark.parametrize("atoms", [[TALK[0]], [atom(8, "new"), atom(8, "new")], [atom(9, "x"), TALK[0]]])
    def test_a_memory_is_added_once_and_a_refused_batch_adds_nothing(self, atoms: list[Experience]) -> None:
        index = index_of(TALK)
        with pytest.raises(ValueError, match="is already in the experience index"):
            index.add(atoms)
        assert index.atoms() == TALK

    def test_a_failed_embedding_adds_nothing(self) -> None:
        """Words and ids were in, vectors were not: every later search failed."""
        embedder = FailingEmbedder()
        index = ExperienceIndex(embedder)
        index.add(TALK[:2])
        embedder.failing = True
        with pytest.raises(MemoryError):
            index.add(TALK[2:])
        embedder.failing = False
        assert index.atoms() == TALK[:2]
        index.add(TALK[2:])
        assert search(index, "Who plays the violin?") == search(index_of(TALK), "Who plays the violin?")

    def test_nothing_to_add_is_fine(self) -> None:
        assert len(index_of([])) == 0

    def test_a_time_without_a_zone_is_refused(self) -> None:
        """Trap 6: times of two kinds raised in the middle of scoring, where the error was swallowed."""
        assert TALK[0].at is not None
        with pytest.raises(ValueError, match="time of memory m1 needs a timezone"):
            replace(TALK[0], at=TALK[0].at.replace(tzinfo=None))

    def test_a_search_is_not_held_up_while_another_thread_embeds(self) -> None:
        """An import of ten thousand turns stopped every chat on its timeline until it was embedded."""
        entered, go_on = threading.Event(), threading.Event()

        class Slow(FailingEmbedder):
            def encode_document(self, texts: Sequence[str]) -> Vectors:
                if self.failing:
                    entered.set()
                    assert go_on.wait(PATIENCE)
                return EMBEDDER.encode_document(texts)

        embedder = Slow()
        index = ExperienceIndex(embedder)
        index.add(TALK[:3])
        embedder.failing = True
        thread = threading.Thread(target=index.add, args=(TALK[3:],))
        thread.start()
        assert entered.wait(PATIENCE)
        assert search(index, "cat Miso")[0].memory == "m1"
        go_on.set()
        thread.join()
        assert len(index) == len(TALK)

    def test_adding_and_removing_while_searching_never_mixes_ids(self, monkeypatch: pytest.MonkeyPatch) -> None:
        index = index_of(TALK)
        own = {item.memory: item.text for item in TALK}
        own |= {f"n{n}": atom(n, f"Number {n} is a word.", memory=f"n{n}").text for n in range(40)}
        stop, faults = threading.Event(), list[str]()
        dawdle(monkeypatch)

        def look() -> None:
            while not stop.is_set():
                faults.extend(c.memory for c in search(index, "number word cat") if c.text != own[c.memory])

        with ThreadPoolExecutor(3) as pool:
            looking = [pool.submit(look) for _ in range(3)]
            for n in range(40):
                index.add([atom(n, f"Number {n} is a word.", memory=f"n{n}", session=f"s{n % 3}")])
                if n >= 3:
                    index.remove(f"n{n - 3}")
            stop.set()
        assert [task.exception() for task in looking] == [None, None, None]
        assert not faults
        assert len(index) == len(TALK) + 3
