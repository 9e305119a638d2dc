"""What kind of sentence the words of a person are: a standing instruction, one for this task only, a report, talk …

The second stage of `governance.instructions`, behind the rules. What an adapter leaves of the lower layers of the
default embedder's encoder, changed, reads the sentences of a message beside one another, since whether "keep it short"
is meant to last often stands in the sentence before; a linear layer tells of each sentence what kind it is. Of a long
message those sentences are read that at a glance look most like asking for something. Knows nothing about what is in
force.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from governance.softmax import Floats, Softmax
from retrieval.embedding.adapter import Adapter, Kept
from retrieval.embedding.base import Embedder

if TYPE_CHECKING:
    from retrieval.embedding.e5_adapted import AdaptedE5

WEIGHTS = "recogniser.safetensors"
# The kinds of example that are standing instructions, and what a record calls each kind.
STANDING = ("standing", "manner", "role", "address")
NAMES = {
    "standing": "a standing instruction",
    "manner": "how to talk with the person",
    "role": "a role to keep",
    "address": "how to address the person",
    "takeback": "taking an instruction back",
    "change": "changing an instruction",
    "task": "for this task only",
    "quoted": "quoted words",
    "hypothetical": "a supposition",
    "others": "for somebody else",
    "report": "a report",
    "question": "a question",
    "talk": "talk",
    "other": "something else",
    "override": "an attempt to switch the service's own rules off",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What kind of sentence it is taken for, with P(standing instruction) and P(each kind)."""

    kind: str
    standing: float
    probabilities: dict[str, float]

    @property
    def reason(self) -> str:
        """What it was taken for and what is next to that; no words of the sentence."""
        others = {kind: value for kind, value in self.probabilities.items() if kind != self.kind}
        second = max(others, key=others.__getitem__)
        return f"classifier: nearest to {NAMES[self.kind]}; next: {NAMES[second]}"

    @property
    def probability(self) -> float:
        """P of the kind; for a standing instruction of whichever sort P(standing)."""
        return self.standing if self.kind in STANDING else self.probabilities[self.kind]

    @property
    def asks(self) -> float:
        """P(it asks anything of the list of instructions): to add, to take back or to change."""
        return self.standing + self.probabilities["takeback"] + self.probabilities["change"]


@dataclass(frozen=True, slots=True)
class Weights:
    """The packaged weights: the linear layer over what the encoder says of a sentence, and the encoder's adapter.

    The layer's embedder is the one whose encoder is changed; it sees no cues. `glance` weighs `AdaptedE5.glances`,
    which tells what is worth reading.
    """

    layer: Softmax
    adapter: Adapter
    glance: Floats


@cache
def weights() -> Weights:
    """Read the packaged weights. Raises FileNotFoundError or SafetensorError when they are missing or damaged."""
    with as_file(files("governance") / "weights" / WEIGHTS) as path, safe_open(path, framework="numpy") as held:
        told = held.metadata()
        tensors = {name: held.get_tensor(name) for name in held.keys()}  # noqa: SIM118
    layer = Softmax(
        told["embedder"],
        tuple(json.loads(told["kinds"])),
        (),
        tensors["matrix"].astype(np.float32),
        tensors["bias"].astype(np.float32),
        float(told["threshold"]),
        told["examples"],
    )
    return Weights(layer, adapter_of(tensors, float(told["scale"])), tensors["glance"].astype(np.float32))


def adapter_of(tensors: Mapping[str, NDArray[Any]], scale: float) -> Adapter:
    """The adapter among the tensors of a weights file, by their names."""
    layers = sum(name.endswith(".heads") for name in tensors)
    kept = [
        Kept(*(tensors[f"l{layer}.{part}"].astype(np.int64) for part in ("heads", "neurons")))
        for layer in range(layers)
    ]
    floats = {name: tensor.astype(np.float32) for name, tensor in tensors.items()}
    changed = sorted(name.removesuffix(".A") for name in floats if name.endswith(".A"))
    factors = {name: (floats[f"{name}.A"], floats[f"{name}.B"]) for name in changed}
    biases = {name: tensor for name, tensor in floats.items() if name.endswith(".b")}
    return Adapter(tuple(kept), scale, factors, biases)


_opening = threading.Lock()


@cache
def _opened() -> AdaptedE5:
    # Here, since rules alone, with another embedder, need no tokenizer and no OpenVINO.
    from retrieval.embedding.e5_adapted import AdaptedE5

    # Two threads read a long message in two thirds of the time of one; more have too little to do.
    return AdaptedE5(weights().adapter, threads=2)


def _encoder() -> AdaptedE5:
    # Two first messages at once would open it twice.
    with _opening:
        return _opened()


def trained_on(embedder: Embedder | None) -> bool:
    """Whether the packaged weights belong to this embedder."""
    return embedder is not None and embedder.name == weights().layer.embedder


def read(texts: Sequence[str], embedder: Embedder) -> list[Reading | None]:
    """What kind each sentence of one message is; None for those of a long one that were passed over.

    Raises ValueError with an embedder the weights do not belong to. No vector of a person's words is kept that an
    erasure would have to find.
    """
    if not trained_on(embedder):
        raise ValueError(f"The recogniser was trained on {weights().layer.embedder}, not on {embedder.name}.")
    held, found = weights(), list[Reading | None]([None] * len(texts))
    if texts:
        places, said = probabilities(_encoder(), held, texts)
        for place, row in zip(places, said.tolist(), strict=True):
            found[place] = reading(dict(zip(held.layer.kinds, row, strict=True)), held.layer.threshold)
    return found


def probabilities(encoder: AdaptedE5, held: Weights, texts: Sequence[str]) -> tuple[list[int], Floats]:
    """The places of the sentences of one message that are read, and P(kind) of each: shape (places, kinds)."""
    tokens = encoder.tokens([shown(text) for text in texts])
    places = worth_reading(tokens, encoder.room, lambda seen: encoder.glances(seen) @ held.glance)
    return places, held.layer.probabilities(encoder.encode([tokens[place] for place in places]))


def worth_reading(tokens: Sequence[list[int]], room: int, likely: Callable[[Sequence[list[int]]], Floats]) -> list[int]:
    """The places of the sentences that go through the encoder: all that there is room for, likeliest to ask first."""
    if sum(map(len, tokens)) <= room:
        return list(range(len(tokens)))
    read = []
    for place in np.argsort(-likely(tokens), kind="stable").tolist():
        if len(tokens[place]) <= room:
            read.append(place)
            room -= len(tokens[place])
    return sorted(read)


def reading(said: dict[str, float], threshold: float) -> Reading:
    """What P(each kind) tells: first whether it stands, then as which kind."""
    standing = sum(said[kind] for kind in STANDING)
    among = [kind for kind in said if (kind in STANDING) == (standing >= threshold)]
    return Reading(max(among, key=said.__getitem__), standing, said)


# What a quotation was blanked out with.
_BLANK = re.compile("_{2,}")


def shown(text: str) -> str:
    """The text as the encoder sees it: a blank means nothing to it."""
    return _BLANK.sub("…", text)
