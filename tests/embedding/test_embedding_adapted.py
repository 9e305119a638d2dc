"""The encoder under an adapter, against transformers and peft; and which tokens stand for which sentence."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from benchmarks.examples import Example
from benchmarks.recogniser_training import (
    KINDS,
    LAYERS,
    WINDOWS,
    Judged,
    Tagger,
    _kept,
    _Row,
    _rows,
    _tensors,
    among_talk,
    judged,
    loss_of,
    parts_of,
)
from retrieval.embedding.adapter import Adapter
from retrieval.embedding.base import Vectors
from retrieval.embedding.e5 import packaged_model
from retrieval.embedding.e5_adapted import AdaptedE5, AdaptedWeights, tokens_of, window_of
from retrieval.embedding.e5_inputs import E5Inputs
from retrieval.embedding.e5s1 import E5File

TEXTS = ("We moved to Ghent in May.", "Please answer me in French from now on.", "谢谢，以后都叫我小满。")


@pytest.fixture(scope="module")
def file() -> E5File:
    return E5File(packaged_model())


@pytest.fixture(scope="module")
def tagger(file: E5File) -> Tagger:
    """With an adapter that changes a good deal: as peft makes one, it changes nothing."""
    torch.manual_seed(1)
    made = Tagger(file).eval()
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1)
    return made


def adapter_of(tagger: Tagger) -> Adapter:
    kept = {name: tensor.float().numpy() for name, tensor in _kept(tagger).items()}
    names = {name[:-2] for name in kept if name.endswith(".A")}
    return Adapter(2.0, {name: (kept[f"{name}.A"], kept[f"{name}.B"]) for name in names})


@pytest.fixture(scope="module")
def plain() -> AdaptedE5:
    return AdaptedE5(Adapter(2.0, {}), LAYERS)


class TestSameAsWhereItIsTrained:
    def test_vectors_of_sentences_agree(self, file: E5File, tagger: Tagger, plain: AdaptedE5) -> None:
        """Names of matrices, scale and places of tokens go wrong in silence: the scores would only be worse."""
        inputs = E5Inputs(file)
        tokens = tokens_of(TEXTS, inputs)
        embedded, mask, pool = _tensors([_Row(window_of(tokens, inputs), (None,) * 3)], inputs)
        with torch.no_grad():
            states = tagger._states(embedded, mask)
        theirs = (pool @ states.reshape(-1, states.shape[-1])).numpy()
        ours = AdaptedE5(adapter_of(tagger), LAYERS).encode(tokens)
        assert ours.shape == theirs.shape == (3, 384)
        assert cosines(ours, theirs).min() > 0.99
        # And the adapter does something that this would see.
        assert cosines(plain.encode(tokens), theirs).max() < 0.97

    def test_a_matrix_is_changed_by_its_factors_alone(self, file: E5File) -> None:
        inner, outer = np.ones((1, 384), np.float32), np.full((384, 1), 0.5, np.float32)
        weights = AdaptedWeights(file, Adapter(2.0, {"l0.q.w": (inner, outer)}), LAYERS)
        assert np.allclose(weights.matrix("l0.q.w", 384), file.matrix("l0.q.w", 384) + 1)
        assert np.array_equal(weights.matrix("l0.k.w", 384), file.matrix("l0.k.w", 384))

    def test_more_layers_say_something_else(self, plain: AdaptedE5) -> None:
        tokens = plain.tokens(TEXTS)
        more = AdaptedE5(Adapter(2.0, {}), LAYERS + 1).encode(tokens)
        assert cosines(plain.encode(tokens), more).max() < 0.999


class TestSentences:
    def test_every_sentence_has_its_own_tokens_in_order(self, file: E5File) -> None:
        inputs = E5Inputs(file)
        window = window_of(tokens_of(TEXTS, inputs), inputs)
        assert [window.ids[start:end] for start, end in window.spans] == inputs.token_ids(TEXTS)

    def test_there_is_room_for_so_much_and_a_sentence_is_cut(self, file: E5File, plain: AdaptedE5) -> None:
        tokens = plain.tokens(["The garden is small. " * 30] * 3)
        assert [len(ids) for ids in tokens] == [58, 58, 58] and 58 < plain.room < 62
        assert plain.encode([tokens[0], tokens[1][:1]]).shape == (2, 384)
        with pytest.raises(ValueError, match="do not fit into a window"):
            plain.encode(tokens)

    def test_what_is_trained_on_is_read_in_parts(self, file: E5File) -> None:
        inputs = E5Inputs(file)
        tokens = tokens_of([*["The garden is small. " * 30] * 3, *TEXTS, "好" * 499], inputs)
        parts = list(parts_of(tokens, 90))
        assert [ids for part in parts for ids in part] == tokens and len(parts) > 2
        assert all(sum(map(len, part)) <= 90 for part in parts)

    def test_or_what_is_likeliest_to_ask_as_in_use(self, file: E5File) -> None:
        inputs = E5Inputs(file)
        message = Judged((*["The garden is small. " * 5] * 8, TEXTS[1]), (*[""] * 8, "standing"))

        def longest_last(tokens: Sequence[list[int]]) -> Vectors:
            return -np.array([len(ids) for ids in tokens], np.float32)

        (row,) = _rows(message, inputs, longest_last, at_a_glance=True)
        assert row.kinds[-1] == "standing" and 1 < len(row.kinds) < 9 and len(row.window.ids) < 100
        assert sum(len(part.kinds) for part in _rows(message, inputs, longest_last, at_a_glance=False)) == 9

    def test_the_others_of_a_message_are_read_too(self, plain: AdaptedE5) -> None:
        tokens = plain.tokens(TEXTS)
        assert cosines(plain.encode(tokens[1:2]), plain.encode(tokens)[1:2])[0] < 0.999

    def test_nothing_has_a_vector_of_zeros(self, plain: AdaptedE5) -> None:
        assert plain.encode([]).shape[0] == 0
        for vectors in (plain.encode(plain.tokens(["", "Hello."])), plain.glances(plain.tokens(["", "Hello."]))):
            assert not vectors[0].any() and vectors[1].any()

    def test_a_glance_is_mean_and_maximum_of_the_words(self, file: E5File) -> None:
        inputs = E5Inputs(file)
        tokens = inputs.token_ids(TEXTS)
        for ids, seen in zip(tokens, inputs.glances(tokens), strict=True):
            words = inputs.words(np.array(ids))
            assert np.allclose(seen, np.concatenate([words.mean(axis=0), words.max(axis=0)]), atol=1e-6)


class TestExamples:
    def test_only_marked_sentences_are_of_the_kind(self) -> None:
        found = judged(Example("takeback", "en", "Thanks! <<You can use emojis again.>> See you.", False, 1))
        assert found.texts[1] == "You can use emojis again." and found.kinds == ("", "takeback", "")

    def test_within_talk_a_message_keeps_its_kinds(self) -> None:
        """Bug class: nobody asked for anything in a long message of the examples, so nobody was heard in one."""
        message = judged(Example("manner", "zh", "我看字多头晕。<<挑重点说。>>", False, 1))
        talk = {False: ["It rained."], True: [f"第{day}天下雨了。" for day in range(20)]}
        lengths = set()
        for seed in range(30):
            mixed = among_talk(message, talk, random.Random(seed))
            at = mixed.texts.index(message.texts[0])
            assert mixed.texts[at : at + 2] == message.texts and mixed.kinds[at : at + 2] == ("", "manner")
            assert set(mixed.kinds[:at] + mixed.kinds[at + 2 :]) <= {""} and len(mixed.texts) == len(mixed.kinds)
            lengths.add(len(mixed.texts))
        assert len(lengths) > 3


class TestLoss:
    def test_of_a_window_it_is_the_worst_sentence_that_counts(self) -> None:
        """Bug class: of five constraints beside a task each lost a little, and one of them raised a false alarm."""
        logs = said({"talk": 0.9, "manner": 0.1}, {"task": 0.2, "manner": 0.8}, {"task": 1.0})
        expected = -np.log([0.9, 0.2, 1.0]).mean() - WINDOWS * np.log(0.2)
        assert WINDOWS > 0 and loss_of(logs, [("", "", "")]).item() == pytest.approx(expected, abs=1e-4)

    def test_what_asks_is_found_by_one_sentence(self) -> None:
        logs = said({"manner": 0.9, "talk": 0.1}, {"standing": 0.2, "task": 0.8})
        apart = loss_of(logs, [("manner",), ("standing",)]) - loss_of(logs, [("manner", "standing")])
        assert apart.item() == pytest.approx(WINDOWS * (-np.log([0.9, 0.2]).mean() + np.log(0.9)), abs=1e-4)

    def test_of_what_nothing_is_known_nothing_is_learnt(self) -> None:
        logs = said({"talk": 1.0}).requires_grad_()
        (loss := loss_of(logs, [(None,)])).backward()
        assert loss == 0 and logs.grad is not None and not logs.grad.any()


def said(*sentences: dict[str, float]) -> torch.Tensor:
    """The scores of sentences with these probabilities of kinds."""
    rows = [[given.get(kind, 0.0) for kind in KINDS] for given in sentences]
    return torch.log(torch.tensor(rows) + 1e-9)


def cosines(ours: Vectors, theirs: Vectors) -> Vectors:
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    found: Vectors = np.einsum("ij,ij->i", ours, theirs) / lengths
    return found
