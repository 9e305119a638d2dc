"""From candidates to decisions: gate, weights, top-k and budget, each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.config import preset
from governance.selection import Gated, decide, evidence_budget, gate, relevance, within_budget
from tests.governance.support import DEFAULT, MOMENT, candidate, judged, reasons, round_of

UNRELATED: dict[str, Any] = {"similarity": 0.0, "coverage": 0.0, "bm25": None}


class TestGate:
    def test_trap_4_a_question_nothing_matches_keeps_nothing(self) -> None:
        """Trap 4: the fused score divided by its maximum made the best hit 1.0 however bad it was, and history always
        had +0.15, so that the threshold never rejected anything."""
        decisions = judged(candidate("a", 1.35, **UNRELATED), candidate("b", 1.0, **UNRELATED))
        assert reasons(decisions) == {"a": "nothing matches", "b": "nothing matches"}

    def test_relevance_adds_a_share_of_the_matched_words_to_meaning(self) -> None:
        config = DEFAULT.changed({"gate_word_share": 0.5})
        assert relevance(candidate("a", similarity=0.3, coverage=0.4), config) == pytest.approx(0.5)

    @pytest.mark.parametrize("scores", [{"similarity": 1.0, "coverage": 0.0}, {"similarity": 0.0, "coverage": 1.0}])
    def test_meaning_or_words_alone_suffice(self, scores: dict[str, Any]) -> None:
        assert reasons(judged(candidate("a", **scores))) == {"a": "kept"}

    def test_each_memory_needs_some_relevance_of_its_own(self) -> None:
        """Only the question was judged, so one good match let everything else in."""
        assert reasons(judged(candidate("a"), candidate("b", **UNRELATED))) == {"a": "kept", "b": "irrelevant"}

    def test_a_turn_beside_a_matching_turn_passes_with_it(self) -> None:
        beside = candidate("b", lent_by="a", **UNRELATED)
        assert reasons(judged(candidate("a"), beside)) == {"a": "kept", "b": "kept"}
        assert reasons(judged(candidate("c"), candidate("a", **UNRELATED), beside))["b"] == "irrelevant"
        assert reasons(judged(candidate("c"), beside))["b"] == "irrelevant"

    def test_relevance_is_not_passed_on_along_a_chain(self) -> None:
        chain = [candidate("a"), candidate("b", lent_by="a", **UNRELATED), candidate("c", lent_by="b", **UNRELATED)]
        assert reasons(judged(*chain))["c"] == "irrelevant"

    def test_the_gate_looks_before_decay_and_normalisation(self) -> None:
        assert reasons(judged(candidate("old", 0.01, ago=99, hours=50_000)))["old"] == "kept"

    def test_the_gate_is_a_switch_and_still_tells_what_it_saw(self) -> None:
        config = DEFAULT.changed({"gate_enabled": False})
        decision = judged(candidate("a", **UNRELATED), config=config)[0]
        assert decision.kept and decision.weighed.gated == Gated(0.0, "passed")

    def test_what_holds_the_number_asked_for_passes_whatever_else_was_asked(self) -> None:
        """Among many other words an order's number was a sixth of what was to be covered: "nothing matches"."""
        holds = candidate("a", 0.2, ranks={"exact": 0}, **UNRELATED)
        assert reasons(judged(holds, candidate("b", 1.0, **UNRELATED))) == {"b": "irrelevant", "a": "kept"}

    def test_no_candidates_have_no_verdicts(self) -> None:
        assert gate([], DEFAULT) == {}


class TestRecency:
    def test_recent_wins_ties(self) -> None:
        decisions = judged(candidate("old", ago=90, hours=900), candidate("new", ago=1, hours=1))
        assert [decision.weighed.candidate.memory for decision in decisions] == ["new", "old"]

    def test_of_equal_scores_the_later_round_then_the_later_time_wins(self) -> None:
        config = DEFAULT.changed({"temporal_enabled": False})
        found = [candidate("a", ago=5, hours=9), candidate("b", ago=5, hours=3), candidate("c", ago=2, hours=30)]
        assert list(reasons(judged(*found, config=config))) == ["c", "b", "a"]

    def test_an_old_fact_that_answers_much_better_stays_reachable(self) -> None:
        """An old value was unreachable when asked for: "where did I live before?"."""
        small_talk = [candidate(f"talk{n}", 0.5, ago=n, hours=n) for n in range(1, 11)]
        decisions = judged(*small_talk, candidate("allergy", 1.0, ago=99, hours=24 * 90))
        assert decisions[0].weighed.candidate.memory == "allergy"
        buried = judged(*small_talk, candidate("allergy", 1.0, ago=99, hours=24 * 90), config=preset("paper"))
        assert reasons(buried)["allergy"] != "kept"

    def test_trap_5_knowledge_does_not_fade_with_the_dialogue(self) -> None:
        """Trap 5: documents decayed by the round, so that after some twenty rounds all fell under the threshold."""
        document = candidate("d", ago=100, hours=24 * 365, route="knowledge")
        decision = judged(document)[0]
        assert decision.kept and decision.weighed.weight >= 0.9
        paper = judged(document, config=preset("paper"))[0]
        assert paper.reason == "below the threshold"

    def test_switched_off_every_weight_is_one(self) -> None:
        decision = judged(candidate("a", 0.7, ago=50), config=DEFAULT.changed({"temporal_enabled": False}))[0]
        assert (decision.weighed.weight, decision.weighed.final) == (1.0, 0.7)

    def test_each_route_has_its_own_constants(self) -> None:
        config = DEFAULT.changed({"history_floor": 0.0, "knowledge_floor": 0.0, "knowledge_lambda_round": 2000.0})
        one, other = candidate("a", ago=20, hours=0), candidate("b", ago=20, hours=0, route="knowledge")
        assert judged(one, config=config)[0].weighed.weight == pytest.approx(0.3679, abs=1e-4)
        assert judged(other, config=config)[0].weighed.weight == pytest.approx(0.99, abs=1e-3)

    def test_trap_7_scoring_reads_no_clock(self) -> None:
        """Trap 7: `now()` was read inside scoring and not logged, so that no ranking could be replayed."""
        found = [candidate(f"m{n}", 1 - n / 50, ago=n, hours=n) for n in range(20)]
        assert judged(*found) == judged(*found)


class TestSupersession:
    """A first statement repeats the question's words and is confirmed by its neighbours, so it outranked the correction
    in four of ten questions."""

    def test_a_correction_takes_the_better_score_and_what_it_corrects_stays_below(self) -> None:
        old, new = candidate("old", 1.0, superseded_by="new", kinship=1.3), candidate("new", 0.3)
        off = DEFAULT.changed({"temporal_enabled": False, "superseded_share": 0.9})
        decisions = judged(old, new, candidate("other", 0.95), config=off)
        finals = {d.weighed.candidate.memory: d.weighed.final for d in decisions}
        assert finals == {"new": 1.0, "old": 0.9, "other": 0.95}
        assert [d.weighed.candidate.memory for d in decisions] == ["new", "other", "old"]

    def test_a_correction_that_is_first_anyway_gains_nothing(self) -> None:
        off = DEFAULT.changed({"temporal_enabled": False})
        decisions = judged(candidate("old", 0.4, superseded_by="new", kinship=1.3), candidate("new", 0.9), config=off)
        assert [(d.weighed.candidate.memory, d.weighed.final) for d in decisions] == [("new", 0.9), ("old", 0.4)]

    @given(
        bases=st.lists(st.floats(0.01, 2.0), min_size=2, max_size=8),
        data=st.data(),
        share=st.floats(0.5, 1.0),
    )
    def test_the_last_correction_is_before_all_that_was_corrected(
        self, bases: list[float], data: st.DataObject, share: float
    ) -> None:
        """Corrections of corrections, several of one statement: the later one is never below what it corrects."""
        later = {
            place: data.draw(st.one_of(st.none(), st.integers(place + 1, len(bases) - 1)))
            for place in range(len(bases) - 1)
        }
        found = [
            candidate(
                f"m{place}",
                base,
                ago=len(bases) - place,
                superseded_by=None if later.get(place) is None else f"m{later[place]}",
            )
            for place, base in enumerate(bases)
        ]
        decisions = judged(*found, config=DEFAULT.changed({"superseded_share": share}))
        places = {decision.weighed.candidate.memory: decision.rank for decision in decisions}
        for item in found:
            assert item.superseded_by is None or places[item.superseded_by] < places[item.memory]

    def test_a_correction_of_what_passes_the_gate_passes_with_it(self) -> None:
        """ "No wait, Friday" matches no question: the old fact was shown without it."""
        old, new = candidate("old", superseded_by="new", kinship=1.1), candidate("new", 0.2, **UNRELATED)
        assert reasons(judged(old, new)) == {"new": "kept", "old": "kept"}
        assert reasons(judged(candidate("old"), new))["new"] == "irrelevant"

    def test_a_correction_that_is_no_candidate_changes_nothing(self) -> None:
        alone = candidate("old", superseded_by="gone", kinship=1.3)
        assert judged(alone)[0].weighed.final == judged(candidate("old"))[0].weighed.final

    def test_a_record_that_was_made_up_never_hangs(self) -> None:
        circle = [
            candidate("a", superseded_by="b"),
            candidate("b", superseded_by="a"),
            candidate("c", superseded_by="c"),
        ]
        assert len(judged(*circle)) == 3

    def test_what_is_corrected_is_not_shown_where_its_correction_does_not_fit(self) -> None:
        old = candidate("old", 0.9, text="x" * 10, superseded_by="new", kinship=1.3)
        fitted = within_budget(judged(old, candidate("new", 0.5, text="x" * 90)), 50, len)
        assert reasons(fitted) == {"new": "over the token budget", "old": "over the token budget"}


class TestAboutTheDialogue:
    """ "How often did I correct you?" matched no correction, and a summary no round: the gate let nothing through."""

    def test_every_past_turn_passes_and_there_are_more_places(self) -> None:
        found = [candidate(f"m{n}", 1 - n / 50, **UNRELATED) for n in range(30)]
        config = DEFAULT.changed({"history_k": 3, "dialogue_k": 12})
        decisions = decide(found, MOMENT, config, round_of=round_of, about_dialogue=True)
        assert sum(decision.kept for decision in decisions) == 12
        assert {decision.weighed.gated.verdict for decision in decisions} == {"passed"}
        assert not any(decision.kept for decision in judged(*found, config=config))

    def test_fewer_places_than_usual_are_never_given(self) -> None:
        found = [candidate(f"m{n}", 1 - n / 50) for n in range(30)]
        config = DEFAULT.changed({"history_k": 15, "dialogue_k": 2})
        assert sum(d.kept for d in decide(found, MOMENT, config, round_of=round_of, about_dialogue=True)) == 15

    def test_documents_are_none_of_the_dialogue(self) -> None:
        found = [candidate(f"d{n}", route="knowledge", **UNRELATED) for n in range(3)]
        decisions = decide(found, MOMENT, DEFAULT, round_of=round_of, about_dialogue=True)
        assert not any(decision.kept for decision in decisions)

    def test_the_budget_grows_with_it(self) -> None:
        config = DEFAULT.changed({"evidence_budget": 1000, "dialogue_budget": 1.5})
        assert evidence_budget(config, about_dialogue=True) == 1500
        assert evidence_budget(config, about_dialogue=False) == 1000


class TestTopK:
    def test_every_candidate_comes_out_with_a_rank_and_a_reason(self) -> None:
        found = [candidate(f"m{n}", 1 - n / 50) for n in range(14)]
        decisions = judged(*found, config=DEFAULT.changed({"history_k": 3}), window=("m1",))
        assert [decision.rank for decision in decisions] == list(range(14))
        assert [d.weighed.candidate.memory for d in decisions if d.kept] == ["m0", "m2", "m3"]
        assert reasons(decisions)["m1"] == "in the window"
        assert set(list(reasons(decisions).values())[4:]) == {"beyond top-k"}

    def test_knowledge_and_experience_have_places_of_their_own(self) -> None:
        config = DEFAULT.changed({"history_k": 1, "knowledge_k": 2})
        found = [candidate(f"d{n}", route="knowledge") for n in range(4)]
        assert sum(decision.kept for decision in judged(*found, config=config)) == 2

    def test_no_places_and_no_candidates(self) -> None:
        assert judged() == []
        assert reasons(judged(candidate("a"), config=DEFAULT.changed({"history_k": 0}))) == {"a": "beyond top-k"}

    def test_the_published_threshold_applies_to_final_scores(self) -> None:
        config = DEFAULT.changed({"final_threshold": 0.5})
        decisions = judged(candidate("a", 0.9, ago=0, hours=0), candidate("b", 0.4), config=config)
        assert reasons(decisions) == {"a": "kept", "b": "below the threshold"}


COUNTERS: list[Callable[[str], int]] = [len, lambda text: len(text.encode()), lambda text: len(text) // 4 + 1]


class TestBudget:
    @given(
        texts=st.lists(st.text(alphabet="ab 的一是，。🙂", max_size=60), max_size=12),
        budget=st.integers(0, 200),
        count=st.sampled_from(COUNTERS),
    )
    def test_evidence_never_exceeds_the_budget(
        self, texts: list[str], budget: int, count: Callable[[str], int]
    ) -> None:
        """Without spaces a Chinese paragraph counted as one token: the count is the model's, for every language."""
        found = [candidate(f"m{n}", 1 - n / 50, text=text) for n, text in enumerate(texts)]
        decisions = judged(*found, config=DEFAULT.changed({"history_k": 50}))
        fitted = within_budget(decisions, budget, count)
        spent = [count(decision.weighed.candidate.text) for decision in fitted if decision.kept]
        assert sum(spent) <= budget
        assert [replace(d, reason="kept", tokens=None) for d in fitted] == decisions
        for decision in fitted:
            if not decision.kept:
                assert decision.reason == "over the token budget"

    def test_the_lowest_scores_yield(self) -> None:
        """Packing oldest-first dropped the newest message silently."""
        found = [candidate(name, base, text="x" * 40) for name, base in (("a", 0.9), ("b", 0.5), ("c", 0.7))]
        assert reasons(within_budget(judged(*found), 80, len)) == {
            "a": "kept",
            "c": "kept",
            "b": "over the token budget",
        }

    def test_an_item_too_long_lets_the_next_one_in(self) -> None:
        found = [candidate("a", 0.9, text="x" * 90), candidate("b", 0.5, text="x" * 10)]
        decisions = within_budget(judged(*found), 50, len)
        assert reasons(decisions) == {"a": "over the token budget", "b": "kept"}
        assert [decision.tokens for decision in decisions] == [90, 10]

    def test_what_was_dropped_before_is_neither_counted_nor_changed(self) -> None:
        decisions = judged(candidate("b", 0.5, text="four"), candidate("a", 0.6, **UNRELATED))
        fitted = within_budget(decisions, 4, len)
        assert reasons(fitted) == {"a": "irrelevant", "b": "kept"}
        assert fitted[0] == decisions[0] and fitted[0].tokens is None
