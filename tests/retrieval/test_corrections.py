"""Which message corrects which, in both languages, with the vectors of the product's embedder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from retrieval.candidates import Query
from retrieval.corrections import Earlier, corrected, correction_in, kinship, tokens_of
from retrieval.embedding import load_embedder
from retrieval.embedding.base import Embedder
from retrieval.experience import ExperienceIndex
from retrieval.text import has_cjk
from tests.retrieval.correction_cases import HELD_OUT, TUNED, Pair
from tests.retrieval.support import CONFIG, EMBEDDER, atom, search

REPLIES = {False: "All right, is there anything else to keep in mind?", True: "好的，还有什么要我记住的吗？"}


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return load_embedder("e5", tmp_path_factory.mktemp("e5"))


def recognised(pairs: Sequence[Pair], embedder: Embedder) -> list[bool]:
    """Whether an index that holds only the two messages takes the later for a correction of the earlier."""
    found = []
    for earlier, later, _ in pairs:
        index = ExperienceIndex(embedder)
        reply = REPLIES[has_cjk(earlier)]
        index.add([atom(1, earlier, reply), atom(2, later, reply, session="s2")])
        vector = embedder.encode_query([earlier])[0]
        by_memory = {c.memory: c for c in index.search(Query(earlier, "Mei", "Ada"), vector, CONFIG)}
        found.append(by_memory["m1"].superseded_by == "m2")
    return found


@pytest.mark.parametrize("chinese", [False, True], ids=["English", "Chinese"])
@pytest.mark.parametrize("pairs", [TUNED, HELD_OUT], ids=["tuned", "held out"])
def test_corrections_are_told_from_what_only_looks_like_one(
    pairs: Sequence[Pair], chinese: bool, embedder: Embedder
) -> None:
    spoken = [pair for pair in pairs if has_cjk(pair[0]) == chinese]
    found = recognised(spoken, embedder)
    right = [pair for pair, said in zip(spoken, found, strict=True) if said and pair[2]]
    wrong = [pair for pair, said in zip(spoken, found, strict=True) if said and not pair[2]]
    assert len(right) >= 0.9 * sum(pair[2] for pair in spoken)
    # One train of two is taken for the other as long as nothing was said of that one.
    assert len(wrong) <= 1, wrong


def test_there_are_enough_cases_and_half_of_each_kind() -> None:
    for pairs in (TUNED, HELD_OUT):
        assert len(pairs) >= 40
        assert sum(pair[2] for pair in pairs) == len(pairs) / 2
        assert sum(has_cjk(pair[0]) for pair in pairs) == len(pairs) / 2


class TestWords:
    @pytest.mark.parametrize("message", [
        "Was the ferry moved to pier 5?",
        "If the ferry was moved to pier 5, tell me.",
        "How often have I corrected you?",
        "Correction: I am the king of France. Just kidding!",
        "渡轮改到五号码头了吗？",
        "如果渡轮改到五号码头，请告诉我。",
        "更正：我是皇帝。开玩笑的。",
        "The ferry leaves from pier 3.",
        "渡轮从三号码头开。",
        "",
    ])  # fmt: skip
    def test_what_is_asked_supposed_or_a_joke_corrects_nothing(self, message: str) -> None:
        assert correction_in(message) is None

    def test_a_pasted_text_that_tells_of_changes_corrects_nothing(self) -> None:
        """A story of village life "corrected" whatever was said before it: with many words, some are always shared."""
        assert correction_in("The fair was moved to the meadow. " * 40) is None

    @pytest.mark.parametrize(("message", "denied"), [
        ("The ferry leaves from pier 5, not from pier 3.", "pier 3"),
        ("They gave us pier 5 instead of pier 3.", "pier 3"),
        ("The ferry is no longer at pier 3.", "pier 3"),
        ("渡轮不在三号码头，改在五号码头。", "三号码头"),
        ("渡轮不是三号码头，而是五号码头。", "三号码头"),
        ("是五号码头，而不是三号码头。", "三号码头"),
    ])  # fmt: skip
    def test_the_value_that_does_not_hold_is_read(self, message: str, denied: str) -> None:
        correction = correction_in(message)
        assert correction is not None and correction.denied
        assert tokens_of(denied) <= correction.denied[0]

    def test_only_what_states_the_denied_value_is_corrected(self) -> None:
        """A correction of a date held down what was said about the place of the same event."""
        correction = correction_in("The concert is not on 3 May, it is on 9 May.")
        assert correction is not None
        told = {
            1: Earlier(tokens_of("The concert is on 3 May."), 0.8),
            2: Earlier(tokens_of("The concert is in the boat hall."), 0.8),
        }
        assert set(corrected(correction, told, 0.9)) == {1}

    def test_of_two_things_of_a_kind_the_nearer_is_meant(self) -> None:
        correction = correction_in("The train to York was moved, it leaves at 8:15.")
        assert correction is not None
        told = {
            1: Earlier(tokens_of("The train to York leaves at 7:10."), 0.9),
            2: Earlier(tokens_of("The train to Leeds leaves at 7:40."), 0.85),
        }
        assert set(corrected(correction, told, 0.9)) == {1}

    def test_a_weak_word_needs_more(self) -> None:
        weak, strong = correction_in("Actually the cat is grey."), correction_in("Correction: the cat is grey.")
        assert weak is not None and strong is not None and weak.weak and not strong.weak
        told = {1: Earlier(tokens_of("The cat is white."), 0.6)}
        assert kinship(strong, told[1]) == pytest.approx(1.1)
        assert set(corrected(strong, told, 1.0)) == {1} and not corrected(weak, told, 1.0)


def test_the_reply_does_not_correct() -> None:
    """ "As you corrected it": the other side's words made every question about a correction a correction."""
    index = ExperienceIndex(EMBEDDER)
    index.add([atom(1, "The ferry leaves from pier 3."), atom(2, "Where is the ferry?", "It was moved to pier 5.")])
    assert {c.superseded_by for c in search(index, "ferry pier")} == {None}


def test_it_is_a_switch() -> None:
    index = ExperienceIndex(EMBEDDER)
    index.add([atom(1, "The ferry leaves from pier 3."), atom(2, "The ferry leaves from pier 5, not from pier 3.")])
    assert {c.memory: c.superseded_by for c in search(index, "ferry pier")} == {"m1": "m2", "m2": None}
    off = replace(CONFIG, corrections_enabled=False)
    assert {c.superseded_by for c in search(index, "ferry pier", off)} == {None}


def test_a_removed_correction_corrects_nothing() -> None:
    index = ExperienceIndex(EMBEDDER)
    index.add([atom(1, "The ferry leaves from pier 3."), atom(2, "The ferry leaves from pier 5, not from pier 3.")])
    vector = EMBEDDER.encode_query(["ferry"])[0]
    hidden = index.search(Query("ferry", "Mei", "Ada"), vector, CONFIG, without=["m2"])
    assert [(c.memory, c.superseded_by) for c in hidden] == [("m1", None)]
    index.remove("m2")
    assert {c.superseded_by for c in search(index, "ferry")} == {None}
