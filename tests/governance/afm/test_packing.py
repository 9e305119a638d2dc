"""Both packers: the published one with its faults, and ours, which keeps what matters and loses nothing silently."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Any

import pytest

from governance.afm.compress import Compressed, HeuristicCompressor, ModelCompressor, NoCompressor
from governance.afm.packing import (
    BRIEF,
    CRITICAL,
    CRITICAL_SHORT,
    EMPTY,
    NEWEST,
    NEWEST_SHORT,
    NO_ROOM,
    SCORE,
    SCORE_SHORT,
    Budget,
    BudgetTooSmallError,
    pack,
    pack_as_published,
)
from governance.history import Focus, Importance, Message, Placed
from tests.governance.afm.support import HARD, drawn, focus, shown, talk, words

ALLERGY = "I am severely allergic to peanuts."
LONG = " ".join(f"Sentence number {place} is about nothing at all." for place in range(12))
CRIT = focus("CRITICAL")
FULL, MIDDLE, LOW = focus("RELEVANT", 0.7), focus("RELEVANT", 0.3), focus("TRIVIAL", 0.1)


def ours(
    messages: Sequence[Message], focuses: Sequence[Focus], tokens: int, query: str = "peanuts", **more: int
) -> list[Placed]:
    placed = pack(messages, focuses, query, Budget(tokens, **more), words, HeuristicCompressor(words))
    assert [item.message for item in placed] == list(messages), "a line for each message, in order"
    assert [item.focus for item in placed] == list(focuses)
    assert sum(item.tokens for item in placed) <= tokens - more.get("reserved", 0)
    return placed


def published(messages: Sequence[Message], focuses: Sequence[Focus], tokens: int) -> list[Placed]:
    placed = pack_as_published(messages, focuses, "peanuts", Budget(tokens), words, HeuristicCompressor(words))
    assert [item.message for item in placed] == list(messages)
    assert sum(item.tokens for item in placed) <= tokens
    return placed


class TestAsPublished:
    def test_each_message_has_its_intended_form_while_there_is_room(self) -> None:
        messages = talk(ALLERGY, LONG, "Ok then, see you.")
        placed = published(messages, [FULL, MIDDLE, LOW], 500)
        assert [item.fidelity for item in placed] == ["FULL", "COMPRESSED", "PLACEHOLDER"]
        assert placed[0].text == ALLERGY
        assert words(placed[1].text) < words(LONG)
        assert placed[2].text.startswith("[round 2, user")
        assert {item.reason for item in placed} == {SCORE}

    def test_is_greedy_from_the_oldest_on(self) -> None:
        """Reproduced: the budget goes to the oldest, and the newest message, though CRITICAL, is dropped."""
        messages = talk(
            "A first long message about the weather and more of it.", "Second one, also long enough.", ALLERGY
        )
        placed = published(messages, [FULL, FULL, CRIT], 17)
        assert [item.fidelity for item in placed] == ["FULL", "FULL", None]
        assert placed[2] == Placed(messages[2], None, "", 0, NO_ROOM, CRIT)

    def test_downgrades_step_by_step(self) -> None:
        messages = talk(LONG)
        whole, short = words(LONG), 30
        assert published(messages, [FULL], whole)[0].fidelity == "FULL"
        compressed = published(messages, [FULL], whole - 1)[0]
        assert (compressed.fidelity, compressed.reason) == ("COMPRESSED", SCORE_SHORT)
        assert words(compressed.text) <= short
        stub = published(messages, [FULL], 20)[0]
        assert (stub.fidelity, stub.reason) == ("PLACEHOLDER", SCORE_SHORT)
        assert published(messages, [FULL], 2)[0].fidelity is None

    def test_an_intended_placeholder_is_never_more(self) -> None:
        assert published(talk("Hi there."), [LOW], 500)[0].fidelity == "PLACEHOLDER"

    def test_every_placeholder_stands_alone(self) -> None:
        placed = published(talk("Hello there.", "Good morning to you.", "Lovely weather."), [LOW] * 3, 100)
        assert all(item.text and item.tokens for item in placed)

    def test_an_empty_message_has_its_line(self) -> None:
        assert [item.reason for item in published(talk("  ", ALLERGY), [FULL, FULL], 50)] == [EMPTY, SCORE]


class TestOurs:
    def test_a_critical_message_and_the_newest_round_come_before_better_placed_ones(self) -> None:
        messages = talk(ALLERGY, LONG, LONG, LONG, "What shall we eat?", "Noodles perhaps.")
        placed = ours(messages, [CRIT, FULL, FULL, FULL, LOW, LOW], 30)
        assert (placed[0].fidelity, placed[0].reason) == ("FULL", CRITICAL)
        assert [(item.fidelity, item.reason) for item in placed[4:]] == [("FULL", NEWEST)] * 2

    def test_the_published_packer_loses_the_newest_where_ours_does_not(self) -> None:
        messages = talk(LONG, LONG, LONG, "The answer.", ALLERGY)
        focuses = [FULL, FULL, FULL, LOW, CRIT]
        tight = 2 * words(LONG) + 3
        assert published(messages, focuses, tight)[4].fidelity is None
        assert ours(messages, focuses, tight)[4].text == ALLERGY

    def test_the_rest_is_allotted_by_score_and_stays_in_order(self) -> None:
        messages = talk(*(f"Message {name} has exactly ten words in it all told." for name in "abcdef"), "Newest.")
        scores = [0.5, 0.9, 0.6, 0.8, 0.7, 0.46]
        focuses = [*(focus("RELEVANT", score) for score in scores), LOW]
        placed = ours(messages, focuses, 60)
        whole = [place for place, item in enumerate(placed) if item.fidelity == "FULL"]
        assert whole == [1, 2, 3, 4, 6]
        assert [item.message for item in placed] == messages

    def test_equal_scores_favour_the_newer(self) -> None:
        messages = talk(*(f"Message {name} has exactly ten words in it all told." for name in "abcd"), "Newest.")
        placed = ours(messages, [FULL, FULL, FULL, FULL, LOW], 20)
        assert [item.fidelity == "FULL" for item in placed] == [False, False, False, True, True]

    def test_a_message_too_long_for_the_rest_is_compressed_with_the_question_in_mind(self) -> None:
        text = LONG + " My sister must never eat peanuts. " + LONG
        messages = talk(text, "Fine.", "And now?")
        placed = ours(messages, [FULL, LOW, LOW], 120)
        assert (placed[0].fidelity, placed[0].reason) == ("COMPRESSED", SCORE_SHORT)
        assert "never eat peanuts" in placed[0].text

    def test_a_short_message_meant_to_be_compressed_is_shown_whole(self) -> None:
        placed = ours(talk("The museum opens at ten.", "Good.", "Now?"), [MIDDLE, LOW, LOW], 100)
        assert (placed[0].fidelity, placed[0].reason) == ("FULL", BRIEF)

    def test_neighbouring_placeholders_are_one_line(self) -> None:
        messages = talk("Trains to Ghent.", "Sure.", "A hotel there.", "Booked.", "Thanks.", "Welcome.", "Bye now.")
        placed = ours(messages, [LOW] * 7, 100)
        assert placed[0].text.startswith("[rounds 1–3, 6 messages: ")
        assert "Ghent" in placed[0].text
        assert shown(placed[1:6]) == [("PLACEHOLDER", "")] * 5
        assert {(item.reason, item.tokens) for item in placed[1:6]} == {("stands in the placeholder of round 1", 0)}

    def test_a_shown_message_divides_placeholders(self) -> None:
        messages = talk("Trains to Ghent.", "Sure.", ALLERGY, "Noted.", "A museum ticket.", "Done.", "Bye.")
        placed = ours(messages, [LOW, LOW, CRIT, LOW, LOW, LOW, LOW], 200)
        assert [bool(item.text) for item in placed] == [True, False, True, True, False, False, True]

    def test_runs_without_a_line_of_their_own_share_one(self) -> None:
        messages = talk(*(part for place in range(12) for part in (f"Subject{place} and so on.", ALLERGY)), "Bye.")
        focuses = [*(one for _ in range(12) for one in (LOW, CRIT)), LOW]
        least = 12 * words(ALLERGY) + words("Bye.")
        placed = ours(messages, focuses, least + 14)
        lines = [item.text for item in placed if item.fidelity == "PLACEHOLDER" and item.text]
        assert any(line.startswith("[others of rounds ") for line in lines)
        assert all(item.fidelity for item in placed)

    def test_many_runs_and_a_small_room_leave_no_message_without_a_line_in_the_prompt(self) -> None:
        """The line for all other runs was a little longer than the room kept for it, and thousands were dropped."""
        texts = [f"Message {place} about subject{place % 50} and some more of it." for place in range(2_000)]
        focuses = [FULL if place % 9 == 0 else LOW for place in range(2_000)]
        for tokens in range(200, 300, 7):
            assert all(item.fidelity for item in ours(talk(*texts), focuses, tokens, overhead=4))

    def test_nothing_is_dropped_without_a_line_even_when_no_placeholder_fits(self) -> None:
        messages = talk("Trains to Ghent.", "Sure.", "Bye.")
        placed = ours(messages, [LOW, LOW, LOW], 2)
        assert [(item.fidelity, item.reason) for item in placed] == [(None, NO_ROOM), (None, NO_ROOM), ("FULL", NEWEST)]

    def test_a_newest_message_over_the_budget_is_compressed(self) -> None:
        messages = talk("Hi.", "Yes?", LONG)
        placed = ours(messages, [LOW, LOW, LOW], 20)
        assert (placed[2].fidelity, placed[2].reason) == ("COMPRESSED", NEWEST_SHORT)
        assert all(item.fidelity in (None, "PLACEHOLDER") for item in placed[:2])

    def test_overhead_counts_for_every_shown_line(self) -> None:
        messages = talk(ALLERGY, "Noted.", "Hi.")
        placed = ours(messages, [CRIT, LOW, LOW], 100, overhead=5)
        assert [item.tokens - words(item.text) for item in placed if item.text] == [5] * sum(
            bool(item.text) for item in placed
        )

    def test_reserved_tokens_are_not_spent(self) -> None:
        messages = talk(ALLERGY, "Noted.", "Hi.")
        assert ours(messages, [CRIT, LOW, LOW], 100, reserved=94)[0].text == ALLERGY
        assert ours(messages, [CRIT, LOW, LOW], 100, reserved=96)[0].text == ""

    def test_no_messages_give_no_lines(self) -> None:
        assert ours([], [], 5) == []

    def test_empty_messages_have_their_line_and_do_not_divide_a_run(self) -> None:
        placed = ours(talk("Trains to Ghent.", " \n", "A hotel.", "Fine.", "Bye."), [LOW] * 5, 100)
        assert placed[1] == Placed(placed[1].message, None, "", 0, EMPTY, LOW)
        assert [bool(item.text) for item in placed] == [True, False, False, False, True]

    def test_focuses_must_belong_to_the_messages(self) -> None:
        with pytest.raises(ValueError, match="2 messages have 1 focuses"):
            ours(talk("a", "b"), [LOW], 5)

    def test_a_compressor_that_fails_leaves_its_note_in_the_line(self) -> None:
        def write(prompt: str, budget: int) -> str:
            return "word " * 500

        messages = talk(LONG, "Fine.", "Now?")
        placed = pack(messages, [FULL, LOW, LOW], "x", Budget(60), words, ModelCompressor(write, words))
        assert placed[0].fidelity == "COMPRESSED"
        assert placed[0].note and "for a budget of" in placed[0].note

    def test_a_compressor_that_lies_about_its_budget_is_not_believed(self) -> None:
        class Liar:
            def compress(self, text: str, query: str, budget: int) -> Compressed:
                return Compressed(text)

        messages = talk(LONG, "Fine.", "Now?")
        placed = pack(messages, [FULL, LOW, LOW], "x", Budget(40), words, Liar())
        assert placed[0].fidelity == "PLACEHOLDER"
        assert sum(item.tokens for item in placed) <= 40

    def test_texts_that_cost_more_together_are_shown_less_of(self) -> None:
        messages = talk(ALLERGY, "Noted.", LONG, "Fine.", "Now?")
        focuses = [CRIT, LOW, FULL, LOW, LOW]

        def joined(items: Sequence[Placed]) -> int:
            return sum(words(item.text) + 10 for item in items if item.text)

        alone = pack(messages, focuses, "x", Budget(150), words, HeuristicCompressor(words))
        placed = pack(messages, focuses, "x", Budget(150), words, HeuristicCompressor(words), joined=joined)
        assert joined(alone) > 150
        assert joined(placed) <= 150
        assert placed[0].text == ALLERGY

    def test_a_frame_that_costs_more_than_the_budget_is_an_error(self) -> None:
        with pytest.raises(BudgetTooSmallError) as error:
            pack(talk("Hi."), [LOW], "x", Budget(30), words, HeuristicCompressor(words), joined=lambda items: 50)
        assert error.value.least == 50


class TestTooManyCriticals:
    def share(self, texts: Sequence[str], tokens: int, *, similar: Sequence[float] = ()) -> list[Placed]:
        messages = [Message("user", place + 1, text) for place, text in enumerate(texts)]
        focuses = [focus("CRITICAL", similarity=similar[p] if similar else 0.5) for p in range(len(texts))]
        return ours(messages, focuses, tokens)

    def test_all_are_whole_when_they_fit_exactly(self) -> None:
        texts = [ALLERGY, LONG, "Never call after nine."]
        placed = self.share(texts, sum(map(words, texts)))
        assert [(item.fidelity, item.reason) for item in placed] == [("FULL", CRITICAL)] * 3

    def test_a_long_one_yields_and_the_short_ones_stay_whole_however_old(self) -> None:
        placed = self.share([ALLERGY, LONG, LONG, "Never call after nine."], 100)
        assert [item.fidelity for item in placed] == ["FULL", "COMPRESSED", "COMPRESSED", "FULL"]
        assert {item.reason for item in placed[1:3]} == {CRITICAL_SHORT}

    def test_shares_that_would_say_nothing_go_to_those_nearest_to_the_question(self) -> None:
        texts = [f"Rule {place} has exactly these eight words here." for place in range(100)]
        similar = [1.0 if place == 17 else 0.3 for place in range(100)]
        placed = self.share(texts, 60, similar=similar)
        assert placed[17].fidelity == "FULL"
        assert sum(item.fidelity == "FULL" for item in placed) >= 5

    def test_critical_replies_take_nobodys_place(self) -> None:
        """Replies were found CRITICAL by mistake and shared the room with the person's constraint."""
        messages = talk(ALLERGY, *("A reply found critical by mistake, of nine words." for _ in range(20)), "And now?")
        placed = ours(messages, [CRIT, *[CRIT, LOW] * 10, LOW], 30)
        assert placed[0].text == ALLERGY
        assert placed[-1].fidelity == "FULL"
        assert sum(item.fidelity == "FULL" and item.message.speaker == "assistant" for item in placed) >= 1

    @pytest.mark.parametrize("budget", range(1, 60, 3))
    def test_a_constraint_is_shown_at_every_budget_that_can_hold_it(self, budget: int) -> None:
        messages = talk(ALLERGY, *(LONG for _ in range(20)), "What now?")
        placed = ours(messages, [CRIT, *[FULL] * 20, LOW], budget)
        assert (placed[0].text == ALLERGY) == (budget >= words(ALLERGY))


class TestBudgets:
    @pytest.mark.parametrize("tokens", [0, -1, -500])
    def test_nothing_is_too_little(self, tokens: int) -> None:
        with pytest.raises(BudgetTooSmallError, match="set the budget to 1 or more") as error:
            Budget(tokens)
        assert error.value.least == 1

    def test_less_than_what_is_reserved_names_the_least(self) -> None:
        with pytest.raises(BudgetTooSmallError, match=r"budget of 40 tokens is too small.*need 41") as error:
            Budget(40, reserved=41)
        assert (error.value.budget, error.value.least) == (40, 41)
        assert Budget(41, reserved=41).tokens == 41

    def test_negative_parts_are_refused(self) -> None:
        with pytest.raises(ValueError, match="not negative"):
            Budget(10, overhead=-1)


def test_ten_thousand_messages_pack_and_each_has_its_line() -> None:
    kinds: list[Importance] = ["TRIVIAL"] * 9_000 + ["RELEVANT"] * 990 + ["CRITICAL"] * 10
    messages = talk(*(f"Message {place} about subject{place % 50} and more." for place in range(10_000)))
    focuses = [focus(kind, (place % 97) / 100) for place, kind in enumerate(kinds)]
    placed = ours(messages, focuses, 2_000)
    assert all(item.fidelity == "FULL" for item in placed[-10:])
    assert all(item.fidelity for item in placed)


def test_packings_are_what_they_always_were() -> None:
    """Replay packs recorded conversations again: neither packer may come to another result for the same numbers."""
    chance = random.Random("golden packings")
    found = hashlib.sha256()
    for case in range(200):
        messages, focuses = drawn(chance)
        if case % 20 == 0:
            messages = talk(*(f"{chance.choice(HARD)} {number}" for number in range(600)))
            focuses = [focus("TRIVIAL", chance.random() ** 6, chance.random()) for _ in messages]
        budget = Budget(chance.randrange(20, 900), 3)
        for packer in (pack, pack_as_published):
            for item in packer(messages, focuses, "火车 train", budget, words, HeuristicCompressor(words)):
                found.update(repr((item.fidelity, item.text, item.tokens, item.reason, item.note)).encode())
    # From the version before packing was made faster.
    assert found.hexdigest() == "10354b2359d05524b4dcc3c1988a531e7d177753fba64156af8c20cdf96c3686"


class TestPartsSwitchedOff:
    """The ablations of the paper (section 4.9), as the policy switches them off."""

    MESSAGES = talk(ALLERGY, "Noted.", LONG, "Fine.", LONG + " Really.", "So.", "Now?", "Yes.")
    FOCUSES = (CRIT, LOW, MIDDLE, LOW, LOW, LOW, LOW, LOW)

    @pytest.mark.parametrize("packer", [pack, pack_as_published])
    def test_nothing_is_compressed_without_a_compressor(self, packer: Any) -> None:
        for tokens in (30, 60, 120, 400):
            placed = packer(self.MESSAGES, self.FOCUSES, "x", Budget(tokens), words, NoCompressor())
            assert {item.fidelity for item in placed} <= {"FULL", "PLACEHOLDER", None}
            assert sum(item.tokens for item in placed) <= tokens

    @pytest.mark.parametrize("packer", [pack, pack_as_published])
    def test_without_stubs_what_is_not_shown_is_dropped_and_has_its_line(self, packer: Any) -> None:
        for tokens in (30, 60, 120, 400):
            compressor = HeuristicCompressor(words)
            placed = packer(self.MESSAGES, self.FOCUSES, "x", Budget(tokens), words, compressor, stubs=False)
            assert len(placed) == len(self.MESSAGES)
            assert {item.fidelity for item in placed} <= {"FULL", "COMPRESSED", None}
            assert sum(item.tokens for item in placed) <= tokens
            assert all(item.reason for item in placed)
            assert placed[0].fidelity == "FULL"

    def test_a_stub_s_own_overhead_is_what_it_costs(self) -> None:
        budget = Budget(400, overhead=20, stub_overhead=1)
        placed = pack(self.MESSAGES, self.FOCUSES, "x", budget, words, HeuristicCompressor(words))
        for item in placed:
            if item.text:
                assert item.tokens == words(item.text) + (1 if item.fidelity == "PLACEHOLDER" else 20)
