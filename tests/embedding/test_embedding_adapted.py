"""The encoder under an adapter, against transformers and peft; and which tokens stand for which sentence."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.examples import Example
from benchmarks.recogniser_training import Tagger, _kept, _Row, _tensors, judged
from retrieval.embedding.adapter import Adapter
from retrieval.embedding.base import Vectors
from retrieval.embedding.e5 import packaged_model
from retrieval.embedding.e5_adapted import AdaptedE5, AdaptedWeights, windows
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


class TestSameAsWhereItIsTrained:
    def test_vectors_of_sentences_agree(self, file: E5File, tagger: Tagger) -> None:
        """Names of matrices, scale and places of tokens go wrong in silence: the scores would only be worse."""
        inputs = E5Inputs(file)
        (window,) = windows(TEXTS, inputs)
        embedded, mask, pool = _tensors([_Row(window, (None,) * 3)], inputs)
        with torch.no_grad():
            states = tagger._states(embedded, mask)
        theirs = (pool @ states.reshape(-1, states.shape[-1])).numpy()
        ours = AdaptedE5(adapter_of(tagger)).encode_sentences(TEXTS)
        assert ours.shape == theirs.shape == (3, 384)
        assert cosines(ours, theirs).min() > 0.99
        # And the adapter does something that this would see.
        plain = AdaptedE5(Adapter(2.0, {})).encode_sentences(TEXTS)
        assert cosines(plain, theirs).max() < 0.97

    def test_a_matrix_is_changed_by_its_factors_alone(self, file: E5File) -> None:
        inner, outer = np.ones((1, 384), np.float32), np.full((384, 1), 0.5, np.float32)
        weights = AdaptedWeights(file, Adapter(2.0, {"l0.q.w": (inner, outer)}))
        assert np.allclose(weights.matrix("l0.q.w", 384), file.matrix("l0.q.w", 384) + 1)
        assert np.array_equal(weights.matrix("l0.k.w", 384), file.matrix("l0.k.w", 384))


class TestSentences:
    def test_every_sentence_has_its_own_tokens_in_order(self, file: E5File) -> None:
        inputs = E5Inputs(file)
        (window,) = windows(TEXTS, inputs)
        assert [window.ids[start:end] for start, end in window.spans] == inputs.token_ids(TEXTS)

    def test_what_does_not_fit_goes_into_a_window_of_its_own(self, file: E5File) -> None:
        inputs = E5Inputs(file)
        texts = ["The garden is small. " * 30] * 5 + ["好" * 499]
        found = list(windows(texts, inputs))
        assert sum(len(window.spans) for window in found) == 6 and len(found) > 1
        assert all(len(window.ids) <= inputs.window for window in found)

    def test_the_others_of_a_message_are_read_too(self) -> None:
        encoder = AdaptedE5(Adapter(2.0, {}))
        alone, beside = encoder.encode_sentences(TEXTS[1:2]), encoder.encode_sentences(TEXTS)
        assert cosines(alone, beside[1:2])[0] < 0.999

    def test_nothing_has_a_vector_of_zeros(self) -> None:
        encoder = AdaptedE5(Adapter(2.0, {}))
        assert encoder.encode_sentences([]).shape[0] == 0
        empty, some = encoder.encode_sentences(["", "Hello."])
        assert not empty.any() and some.any()


class TestExamples:
    def test_only_marked_sentences_are_of_the_kind(self) -> None:
        found = judged(Example("takeback", "en", "Thanks! <<You can use emojis again.>> See you.", False, 1))
        assert found.texts[1] == "You can use emojis again." and found.kinds == ("", "takeback", "")


def cosines(ours: Vectors, theirs: Vectors) -> Vectors:
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    found: Vectors = np.einsum("ij,ij->i", ours, theirs) / lengths
    return found
