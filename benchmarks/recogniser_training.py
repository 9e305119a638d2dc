"""Train the recogniser: a LoRA adapter on the default embedder's lower layers, a linear layer over kinds of sentence.

First on these layers as they are, then on ever fewer of their heads and neurons, those that matter most for this
(`pruning`), each time from where the last training ended and also on what the whole says. Whole messages go through the
encoder as they do in use, long ones in parts. A sentence that the examples give a kind counts by that kind; one beside
it counts as asking nothing, of whichever kind. What is worth reading at a glance is a logistic regression on the same
sentences. Deterministic for one machine and its libraries: the same examples give the same weights. Writes what
`governance.recogniser` reads.

Sources: Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2022; Hinton et al., "Distilling the Knowledge
in a Neural Network", 2015.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peft import LoraConfig, inject_adapter_in_model
from peft.tuners.lora import LoraLayer
from safetensors.torch import save_file
from sklearn.linear_model import LogisticRegression
from torch import nn
from transformers import BertConfig, BertModel

from benchmarks.everyday import everyday_messages
from benchmarks.examples import Example, digest, marked, read_examples, recogniser_files
from benchmarks.pruning import Importance, left, multiplications, taylor
from benchmarks.recogniser import development_inputs
from benchmarks.thresholds import lowest_threshold
from governance import recogniser
from governance.instructions import by_rule, classified, sentences_of
from governance.rule_rates import RATES
from governance.softmax import Floats, Softmax
from retrieval.embedding.adapter import Adapter, Kept
from retrieval.embedding.e5 import packaged_model
from retrieval.embedding.e5_adapted import AdaptedE5, AdaptedWeights, Window, tokens_of, window_of
from retrieval.embedding.e5_inputs import E5Inputs, opened
from retrieval.embedding.e5s1 import E5File
from retrieval.embedding.openvino_runtime import openvino_installed
from retrieval.text import has_cjk

KINDS = tuple(recogniser.NAMES)
ASKING = (*recogniser.STANDING, "takeback", "change")
SEED = 20261201
# Of twelve: six take half the time, and no more goes wrong (docs/decisions/0013).
LAYERS = 6
# And of their heads and neurons those that matter for this, at such shares of the multiplications one after the other,
# behind each of which it is trained on for so many epochs (docs/decisions/0016, 0017).
SHARES = ((0.4, 4), (0.28, 3), (0.2, 2), (0.14, 8))
# So many batches tell which these are.
_LOOKED_AT = 220
RANK = 16
# Kinds shade into one another, and no writer is always right.
SMOOTHING = 0.05
# What a whole window loses counts so much beside what its sentences lose on the average: of many that ask nothing it is
# the one that looks most like asking that raises a false alarm.
WINDOWS = 0.5
# How much what the whole recogniser says is softened for those with fewer heads and neurons to learn from, and what
# their sentences' vectors count for beside.
HEAT = 2.0
VECTORS = 0.5
# A sentence alone has no variance, and few that are alike have little; among many it is 0.12.
_LEAST_VARIANCE = 0.05
# What peft multiplies the product of the factors by: its alpha over the rank.
SCALE = 2.0
EPOCHS = 4
BATCH = 16
RATE = 1e-3
_WARM_UP = 0.06
# Such a share of the messages is put into talk in an epoch, with so many sentences of it before and behind at most:
# otherwise the encoder learns that nobody asks for anything in a long message.
_IN_TALK = 0.25
_MOST_TALK = 4
# So many tokens of a message are trained on together, a little more than are read at once: more company teaches more.
_PART = 72
# Of a message that is longer by chance what is read at a glance, as in use, or all of it in parts.
_AT_A_GLANCE = 0.5
# The packaged matrices of a layer by the names they have in transformers.
_MATRICES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
# What reads heads and neurons.
_BEHIND = ("ao", "fo")
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


@dataclass(frozen=True, slots=True)
class Judged:
    """The sentences of a message that are classified; of each its kind, "" (asks nothing) or None (unknown).

    `source` is the file that it is from.
    """

    texts: tuple[str, ...]
    kinds: tuple[str | None, ...]
    source: str = ""


def judged(example: Example) -> Judged:
    """The sentences of an example: the marked ones are of its kind, and so are all where none is marked.

    Raises ValueError when a mark falls on no sentence that is classified.
    """
    message, marks = marked(example.message)
    parts = sentences_of(message)
    kinds = [example.kind if not marks or any(_same(span, mark) for mark in marks) else "" for span, _ in parts]
    places = classified([text for _, text in parts])
    found = Judged(tuple(parts[place][1] for place in places), tuple(kinds[place] for place in places))
    if marks and example.kind not in found.kinds:
        raise ValueError(f"No sentence that is classified stands between the marks: {example.message}")
    return found


def _same(span: tuple[int, int], mark: tuple[int, int]) -> bool:
    """Whether a mark is about this sentence: over half of it, or half of the mark lies in it."""
    shared = min(span[1], mark[1]) - max(span[0], mark[0])
    return shared > min(span[1] - span[0], mark[1] - mark[0]) / 2


# Every so manieth whole message is kept back for choosing the threshold.
_KEPT_BACK = 10


@dataclass(frozen=True, slots=True)
class Examples:
    """One filling of each line with slots; whole messages with everyday talk; and what nothing is trained on."""

    slotted: list[Judged]
    whole: list[Judged]
    kept_back: list[Judged]


def example_sets() -> Examples:
    """All that there is. Raises DataMissingError without the everyday talk."""
    first, *others = recogniser_files()
    slotted, whole, kept = list[Judged](), list[Judged](), list[Judged]()
    for example in read_examples(first, 1):
        (kept if example.dev else slotted).append(judged(example))
    for path in others:
        for place, example in enumerate(read_examples(path, 1)):
            part = kept if place % _KEPT_BACK == 0 else whole
            part.append(replace(judged(example), source=path.stem))
    for said in everyday_messages():
        places = classified(said.texts)
        kinds = tuple("" if said.nothing[place] else None for place in places)
        whole.append(Judged(tuple(said.texts[place] for place in places), kinds))
    return Examples(*([message for message in part if message.texts] for part in (slotted, whole, kept)))


# -- the model -------------------------------------------------------------------------------------------------------


class Tagger(nn.Module):
    """What is left of the encoder with an adapter on every matrix, and the linear layer.

    Of the packaged numbers the biases behind heads and neurons are trained too: what was left out had a mean. Dropout
    only while it is trained.
    """

    def __init__(self, file: E5File, layers: Sequence[Kept]) -> None:
        super().__init__()
        self.kept = tuple(layers)
        self.encoder = inject_adapter_in_model(
            LoraConfig(r=RANK, lora_alpha=int(SCALE * RANK), target_modules=r".*\.(query|key|value|dense)"),
            bert(file, self.kept),
        )
        for number in range(len(self.kept)):
            for part in _BEHIND:
                self.part(number, part).base_layer.bias.requires_grad_(True)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(file.shape.hidden, len(KINDS))

    def part(self, layer: int, part: str) -> Any:
        """The adapted matrix by its packaged name."""
        return self.encoder.encoder.layer[layer].get_submodule(_MATRICES[part])

    def forward(self, embedded: torch.Tensor, mask: torch.Tensor, pool: torch.Tensor) -> torch.Tensor:
        """Scores of shape (sentences, kinds); `pool` (sentences, rows * tokens) averages each sentence's tokens."""
        return self.scores(self.vectors(embedded, mask, pool))

    def vectors(self, embedded: torch.Tensor, mask: torch.Tensor, pool: torch.Tensor) -> torch.Tensor:
        """A vector for each sentence, of shape (sentences, hidden)."""
        # A processor that does not know bfloat16 takes twenty times as long with it.
        with torch.autocast("cpu", torch.bfloat16, enabled=torch.cpu.get_capabilities().get("avx512_bf16", False)):
            states = self._states(embedded, mask)
        return pool @ states.float().reshape(-1, states.shape[-1])

    def scores(self, vectors: torch.Tensor) -> torch.Tensor:
        """Scores of shape (sentences, kinds)."""
        return self.out(self.drop(vectors))  # type: ignore[no-any-return]

    def _states(self, embedded: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        # Token, place and type embeddings are summed already; behind them stands only their layer norm.
        hidden = self.encoder.embeddings.LayerNorm(embedded)
        for layer in self.encoder.encoder.layer:
            given = layer(hidden, ((mask - 1) * 10_000)[:, None, None, :])
            hidden = given[0] if isinstance(given, tuple) else given
        return hidden


def bert(file: E5File, layers: Sequence[Kept]) -> BertModel:
    """What is left of the packaged model's lowest layers in transformers, frozen; words come embedded."""
    shape, packaged = file.shape, AdaptedWeights(file, Adapter(tuple(layers)))
    config = BertConfig(
        vocab_size=1,
        hidden_size=shape.hidden,
        num_hidden_layers=len(layers),
        num_attention_heads=shape.heads,
        intermediate_size=shape.feed_forward,
        max_position_embeddings=1,
        type_vocab_size=1,
        layer_norm_eps=shape.epsilon,
        attention_probs_dropout_prob=0.0,
        # The fused attention takes far longer backwards on a processor.
        attn_implementation="eager",
    )
    model = BertModel(config, add_pooling_layer=False)
    tensors = {"embeddings.LayerNorm.weight": "emb.ln.w", "embeddings.LayerNorm.bias": "emb.ln.b"}
    for number, layer in enumerate(model.encoder.layer):
        heads, neurons = packaged.widths(number)
        _narrow(layer, shape.hidden, heads * shape.head_size, neurons)
        for short, long in {**_MATRICES, **_NORMS}.items():
            for end, part in (("w", "weight"), ("b", "bias")):
                tensors[f"encoder.layer.{number}.{long}.{part}"] = f"l{number}.{short}.{end}"
    own = model.state_dict()
    for name, packed in tensors.items():
        size = own[name].shape
        values = packaged.matrix(packed, size[0]) if len(size) == 2 else packaged.floats(packed)
        own[name].copy_(torch.from_numpy(np.array(values)).reshape(size))
    return model.requires_grad_(False)


def _narrow(layer: Any, hidden: int, attention: int, neurons: int) -> None:
    """Give a layer matrices for what is left of it; how many heads there are its attention tells by their size."""
    own = layer.attention.self
    own.query, own.key, own.value = (nn.Linear(hidden, attention) for _ in range(3))
    layer.attention.output.dense = nn.Linear(attention, hidden)
    layer.intermediate.dense, layer.output.dense = nn.Linear(hidden, neurons), nn.Linear(neurons, hidden)


def whole(file: E5File) -> tuple[Kept, ...]:
    """All of the lowest layers."""
    return (Kept.whole(file.shape.heads, file.shape.feed_forward),) * LAYERS


# -- training --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row:
    """One window of a message with the kinds of its sentences."""

    window: Window
    kinds: tuple[str | None, ...]


class Teacher:
    """What a tagger says of sentences, for one with fewer heads and neurons to learn. Reads each window once."""

    def __init__(self, tagger: Tagger, inputs: E5Inputs) -> None:
        self._tagger = tagger
        self._inputs = inputs
        self._known = dict[Window, torch.Tensor]()

    @torch.no_grad()
    def read(self, batches: Sequence[Sequence[_Row]]) -> None:
        """Read the windows of these batches that were not read yet. Vectors are kept in half precision."""
        adapted = [part for part in self._tagger.eval().modules() if isinstance(part, LoraLayer)]
        for part in adapted:
            part.merge()
        for batch in batches:
            rows = list({row.window: row for row in batch if row.window not in self._known}.values())
            if rows:
                vectors = self._tagger.vectors(*_tensors(rows, self._inputs)).half()
                parts = vectors.split([len(row.kinds) for row in rows])
                self._known.update((row.window, part.clone()) for row, part in zip(rows, parts, strict=True))
        for part in adapted:
            part.unmerge()

    @torch.no_grad()
    def said(self, batch: Sequence[_Row]) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores (sentences, kinds) and vectors (sentences, hidden) of windows that were read."""
        vectors = torch.cat([self._known[row.window] for row in batch]).float()
        return self._tagger.out(vectors), vectors


def train(
    tagger: Tagger,
    examples: Examples,
    inputs: E5Inputs,
    likely: Likely,
    number: int,
    seed: int,
    teacher: Teacher | None = None,
) -> None:
    """Train so many epochs on whole messages and, drawn anew for each, half of the slotted ones.

    With a teacher also on what that one says of each sentence.
    """
    torch.manual_seed(seed)
    epochs = list(_epochs(examples, inputs, likely, number, seed))
    if teacher:
        teacher.read([batch for batches in epochs for batch in batches])
    tagger.train()
    learnt = [parameter for parameter in tagger.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(learnt, lr=RATE, weight_decay=0.01)
    steps = sum(map(len, epochs))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _rate(step / steps))
    for epoch, batches in enumerate(epochs, 1):
        losses = []
        for batch in batches:
            vectors = tagger.vectors(*_tensors(batch, inputs))
            loss = loss_of(scores := tagger.scores(vectors), [row.kinds for row in batch])
            if teacher:
                loss = loss + taught_loss(scores, vectors, *teacher.said(batch))
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learnt, 1.0)
            optimiser.step()
            schedule.step()
            losses.append(loss.item())
        print(f"  epoch {epoch} of {number}: loss {np.mean(losses):.4f}", flush=True)
    tagger.eval()


def _epochs(examples: Examples, inputs: E5Inputs, likely: Likely, epochs: int, seed: int) -> Iterator[list[list[_Row]]]:
    chance, talk = random.Random(seed), everyday_talk()
    for _ in range(epochs):
        yield _batches(_drawn(examples, talk, inputs, likely, chance), chance)


def pruned(tagger: Tagger, examples: Examples, inputs: E5Inputs, likely: Likely, share: float) -> Tagger:
    """A tagger with those heads and neurons of another that matter most, as that one had learnt them.

    They take such a share of the multiplications of the whole. What is left out has its mean added to the bias behind.
    """
    shape = inputs.file.shape
    sizes = shape.hidden, shape.head_size
    (batches,) = _epochs(examples, inputs, likely, 1, SEED)
    importance, means = _importance(tagger, batches[:_LOOKED_AT], inputs)
    chosen = left(importance, *sizes, share * multiplications(whole(inputs.file), *sizes))
    layers = [had.among(kept) for had, kept in zip(tagger.kept, chosen, strict=True)]
    print(
        "  left of each layer (heads, neurons):", *((len(kept.heads), len(kept.neurons)) for kept in layers), flush=True
    )
    found = Tagger(inputs.file, layers)
    with torch.no_grad():
        found.out.load_state_dict(tagger.out.state_dict())
        for number, kept in enumerate(chosen):
            for part in _MATRICES:
                before, own = tagger.part(number, part), found.part(number, part)
                rows, columns = kept.rows(part, shape.head_size), kept.columns(part, shape.head_size)
                own.lora_A["default"].weight.copy_(before.lora_A["default"].weight[:, columns])
                own.lora_B["default"].weight.copy_(before.lora_B["default"].weight[rows])
                if part in _BEHIND:
                    without = means[number, part].clone()
                    without[columns] = 0
                    matrix = before.base_layer.weight + before.get_delta_weight("default")
                    own.base_layer.bias.copy_(before.base_layer.bias + matrix @ without)
    return found


def _importance(
    tagger: Tagger, batches: Sequence[Sequence[_Row]], inputs: E5Inputs
) -> tuple[Importance, dict[tuple[int, str], torch.Tensor]]:
    """What each head and neuron is worth for the loss on some batches, and the mean of what comes from them."""
    seen, hooks = dict[tuple[int, str], torch.Tensor](), []
    for number in range(len(tagger.kept)):
        for part in _BEHIND:

            def keep(_module: nn.Module, given: Any, place: tuple[int, str] = (number, part)) -> None:
                given[0].retain_grad()
                seen[place] = given[0]

            hooks.append(tagger.part(number, part).register_forward_pre_hook(keep))
    terms, slopes, sums = (defaultdict[tuple[int, str], list[torch.Tensor]](list) for _ in range(3))
    tokens = 0
    tagger.eval()
    for batch in batches:
        embedded, mask, pool = _tensors(batch, inputs)
        loss_of(tagger(embedded, mask, pool), [row.kinds for row in batch]).backward()
        tokens += int(mask.sum())
        for place, given in seen.items():
            assert given.grad is not None
            activation, gradient = given.detach().float(), given.grad.float()
            terms[place].append((activation * gradient).sum(1))
            slopes[place].append(gradient.sum(1))
            sums[place].append((activation * mask[..., None]).sum((0, 1)))
    for hook in hooks:
        hook.remove()
    tagger.zero_grad()
    means = {place: torch.stack(summed).sum(0) / tokens for place, summed in sums.items()}

    def worth(layer: int, part: str) -> Floats:
        place, kept = (layer, part), tagger.kept[layer]
        parts = len(kept.heads if part == "ao" else kept.neurons)
        found: Floats = taylor(torch.cat(terms[place]), torch.cat(slopes[place]), means[place], parts).numpy()
        return found

    heads, neurons = ([worth(layer, part) for layer in range(len(tagger.kept))] for part in _BEHIND)
    return Importance(heads, neurons), means


Talk = dict[bool, list[str]]
# How likely each sentence by its ids is to ask for something, at a glance.
Likely = Callable[[Sequence[list[int]]], Floats]


def everyday_talk() -> Talk:
    """Sentences that ask for nothing, neighbours as they were said, by whether they are Chinese."""
    found: Talk = {False: [], True: []}
    for said in everyday_messages():
        for text, sure in zip(said.texts, said.nothing, strict=True):
            if text and sure:
                found[has_cjk(text)].append(text)
    return found


def among_talk(message: Judged, talk: Talk, chance: random.Random) -> Judged:
    """The message within talk of its language, as who tells a story asks for something on the way."""
    said = talk[has_cjk(message.texts[0])]
    before, behind = chance.randrange(_MOST_TALK + 1), chance.randrange(_MOST_TALK + 1)
    start = chance.randrange(len(said) - before - behind)
    middle = start + before
    texts = (*said[start:middle], *message.texts, *said[middle : middle + behind])
    return Judged(texts, ("",) * before + message.kinds + ("",) * behind)


def _drawn(examples: Examples, talk: Talk, inputs: E5Inputs, likely: Likely, chance: random.Random) -> list[_Row]:
    """What an epoch is trained on: whole messages and half of the slotted ones, some of them within talk."""
    rows = list[_Row]()
    for message in [*examples.whole, *chance.sample(examples.slotted, len(examples.slotted) // 2)]:
        if any(message.kinds) and chance.random() < _IN_TALK:
            message = among_talk(message, talk, chance)
        rows += _rows(message, inputs, likely, at_a_glance=chance.random() < _AT_A_GLANCE)
    return rows


def _rows(message: Judged, inputs: E5Inputs, likely: Likely, *, at_a_glance: bool) -> Iterator[_Row]:
    tokens = tokens_of([recogniser.shown(text) for text in message.texts], inputs)
    if at_a_glance and sum(map(len, tokens)) > _PART:
        places = recogniser.worth_reading(tokens, _PART, likely)
        yield _Row(window_of([tokens[place] for place in places], inputs), tuple(message.kinds[p] for p in places))
        return
    place = 0
    for sentences in parts_of(tokens, _PART):
        yield _Row(window_of(sentences, inputs), message.kinds[place : place + len(sentences)])
        place += len(sentences)


def parts_of(sentences: Sequence[list[int]], room: int) -> Iterator[list[list[int]]]:
    """Neighbouring sentences, by their ids, that there is room for."""
    part = list[list[int]]()
    for tokens in sentences:
        if part and sum(map(len, part)) + len(tokens) > room:
            yield part
            part = []
        part.append(tokens)
    if part:
        yield part


def _rate(done: float) -> float:
    """Linear warm-up, then linear decay."""
    return done / _WARM_UP if done < _WARM_UP else max((1 - done) / (1 - _WARM_UP), 0.02)


def _batches(rows: Sequence[_Row], chance: random.Random) -> list[list[_Row]]:
    """Rows of like length together, so that padding is little; which of them and in which order is by chance."""
    order = list(rows)
    chance.shuffle(order)
    pools = [order[start : start + 50 * BATCH] for start in range(0, len(order), 50 * BATCH)]
    ordered = [sorted(pool, key=lambda row: len(row.window.ids)) for pool in pools]
    batches = [pool[start : start + BATCH] for pool in ordered for start in range(0, len(pool), BATCH)]
    chance.shuffle(batches)
    return batches


def _tensors(batch: Sequence[_Row], inputs: E5Inputs) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    embedded, mask = inputs.embedded([row.window.ids for row in batch])
    tokens = mask.shape[1]
    pool = torch.zeros(sum(len(row.kinds) for row in batch), len(batch) * tokens)
    place = 0
    for number, row in enumerate(batch):
        for start, end in row.window.spans:
            # The begin mark stands before the tokens.
            pool[place, number * tokens + start + 1 : number * tokens + end + 1] = 1 / max(end - start, 1)
            place += 1
    return torch.from_numpy(embedded), torch.from_numpy(mask), pool


_QUIET = torch.tensor([kind not in ASKING for kind in KINDS])
_STANDING = torch.tensor([kind in recogniser.STANDING for kind in KINDS])


def loss_of(scores: torch.Tensor, windows: Sequence[tuple[str | None, ...]]) -> torch.Tensor:
    """What the scores (sentences, kinds) of some windows lose on the kinds of their sentences, and on the windows."""
    logs = torch.log_softmax(scores, 1)
    return _sentence_loss(logs, [kind for kinds in windows for kind in kinds]) + WINDOWS * _window_loss(logs, windows)


def _sentence_loss(logs: torch.Tensor, kinds: Sequence[str | None]) -> torch.Tensor:
    """Mean cross-entropy: of the kind, a little smoothed, or of asking nothing where that is all that is known."""
    losses = []
    for row, kind in zip(logs, kinds, strict=True):
        if kind == "":
            losses.append(-torch.logsumexp(row[_QUIET], 0))
        elif kind is not None:
            losses.append(-(1 - SMOOTHING) * row[KINDS.index(kind)] - SMOOTHING * row.mean())
    return _mean(losses, logs)


def _window_loss(logs: torch.Tensor, windows: Sequence[tuple[str | None, ...]]) -> torch.Tensor:
    """Mean cross-entropy of "here stands an instruction", by the sentence that looks most like one, as it is used."""
    yes, no = (torch.logsumexp(logs[:, mask], 1) for mask in (_STANDING, ~_STANDING))
    losses, place = [], 0
    for kinds in windows:
        own = slice(place, place := place + len(kinds))
        if any(kind in recogniser.STANDING for kind in kinds):
            losses.append(-yes[own].max())
        elif None not in kinds:
            losses.append(-no[own].min())
    return _mean(losses, logs)


def taught_loss(
    scores: torch.Tensor, vectors: torch.Tensor, told: torch.Tensor, told_vectors: torch.Tensor
) -> torch.Tensor:
    """What scores (sentences, kinds) and vectors (sentences, hidden) lose on those of a teacher.

    The Kullback-Leibler divergence of both softened (Hinton et al., 2015, section 2), times the square of `HEAT` as
    there, and the mean squared distance in parts of the variance.
    """
    logs, told_logs = (torch.log_softmax(each / HEAT, 1) for each in (scores, told))
    apart = nn.functional.kl_div(logs, told_logs, reduction="batchmean", log_target=True)
    variance = told_vectors.var(0, correction=0).mean().clamp_min(_LEAST_VARIANCE)
    return HEAT**2 * apart + VECTORS * ((vectors - told_vectors) ** 2).mean() / variance


def _mean(losses: Sequence[torch.Tensor], logs: torch.Tensor) -> torch.Tensor:
    # Of nothing zero, with a gradient.
    return torch.stack(list(losses)).mean() if losses else logs.sum() * 0


# -- what is written -------------------------------------------------------------------------------------------------


def train_recogniser(folder: Path, embedder: str) -> None:
    """Train on all examples and write adapter, layer and the rates of the rules into `folder`."""
    if not openvino_installed():
        raise RuntimeError("The recogniser runs in OpenVINO, which is not installed: run `make install`.")
    examples, trained_on = example_sets(), digest(*recogniser_files())
    messages = [*examples.slotted, *examples.whole]
    print(f"recogniser: {len(messages)} messages, {sum(len(message.texts) for message in messages)} sentences")
    inputs = opened(packaged_model())
    looks = glance(messages, inputs)

    def likely(tokens: Sequence[list[int]]) -> Floats:
        return inputs.glances(tokens) @ looks

    train(tagger := Tagger(inputs.file, whole(inputs.file)), examples, inputs, likely, EPOCHS, SEED)
    teacher = Teacher(tagger, inputs)
    for stage, (share, epochs) in enumerate(SHARES, 1):
        tagger = pruned(tagger, examples, inputs, likely, share)
        train(tagger, examples, inputs, likely, epochs, SEED + stage, teacher)
    kept = {**_kept(tagger), "glance": torch.from_numpy(looks).half()}
    # As it is used: rounded factors, int8 matrices.
    held = _as_used(kept, embedder, trained_on)
    threshold = _threshold(held, examples.kept_back)
    told = {
        "embedder": embedder,
        "kinds": json.dumps(KINDS),
        "examples": trained_on,
        "scale": str(SCALE),
        "threshold": str(threshold),
    }
    path = folder / recogniser.WEIGHTS
    save_file(kept, path, told)
    _count_rules(messages, folder / RATES, trained_on)
    print(f"  written to {path}")


def _threshold(held: recogniser.Weights, kept_back: Sequence[Judged]) -> float:
    """Chosen as in use: one message in ten asks, one only sounds like it, and the others are everyday talk."""
    standing = np.isin(KINDS, recogniser.STANDING)
    # What takes back or changes is neither an instruction nor to be left alone.
    own = [
        (message.source, message.texts, any(kind in recogniser.STANDING for kind in message.kinds))
        for message in kept_back
        if not {"takeback", "change"} & set(message.kinds)
    ]
    inputs = [item for item in development_inputs() if item.label != "retire"]
    own += [(item.source, _texts(item.message), item.label == "add") for item in inputs]
    everyday = everyday_messages(kept_back=True)
    talk = [(said.speaker, said.texts, False) for said in everyday if said.texts and all(said.nothing)]
    groups, messages, asks = zip(*own, *talk, strict=True)
    encoder = AdaptedE5(held.adapter)
    read = [recogniser.probabilities(encoder, held, texts)[1] for texts in messages]
    said = np.array([probabilities[:, standing].sum(axis=1).max() for probabilities in read])
    true = np.array(asks)
    talks = np.arange(len(said)) >= len(own)
    weights = np.select([true, talks], [1 / true.sum(), 8 / talks.sum()], 1 / (~true & ~talks).sum())
    threshold = lowest_threshold(said, true, weights, groups)
    print(f"  chosen on {len(own)} messages kept back and of development, and {len(talk)} of everyday talk")
    return threshold


def _texts(message: str) -> tuple[str, ...]:
    texts = [text for _, text in sentences_of(message)]
    return tuple(texts[place] for place in classified(texts))


def _as_used(kept: dict[str, torch.Tensor], embedder: str, examples: str) -> recogniser.Weights:
    tensors = {name: tensor.numpy() for name, tensor in kept.items()}
    matrix, bias = (tensors[name].astype(np.float32) for name in ("matrix", "bias"))
    layer = Softmax(embedder, KINDS, (), matrix, bias, 0.5, examples)
    return recogniser.Weights(layer, recogniser.adapter_of(tensors, SCALE), tensors["glance"].astype(np.float32))


def glance(messages: Sequence[Judged], inputs: E5Inputs) -> Floats:
    """How `E5Inputs.glances` are weighed so that what asks comes first; only the order matters, so there is no bias."""
    known = [
        (text, kind in ASKING)
        for message in messages
        for text, kind in zip(message.texts, message.kinds, strict=True)
        if kind is not None
    ]
    seen = inputs.glances(tokens_of([recogniser.shown(text) for text, _ in known], inputs))
    middle, spread = seen.mean(axis=0), seen.std(axis=0) + 1e-6
    model = LogisticRegression(C=0.1, max_iter=300).fit((seen - middle) / spread, [asks for _, asks in known])
    weights: Floats = (model.coef_[0] / spread).astype(np.float32)
    return weights


def _kept(tagger: Tagger) -> dict[str, torch.Tensor]:
    """What was learnt and what is left, by the names of the packaged tensors, in half precision: it needs no more."""
    found: dict[str, Any] = {"matrix": tagger.out.weight, "bias": tagger.out.bias}
    for layer in range(len(tagger.kept)):
        for part in _MATRICES:
            adapted = tagger.part(layer, part)
            found[f"l{layer}.{part}.w.A"] = adapted.lora_A["default"].weight
            found[f"l{layer}.{part}.w.B"] = adapted.lora_B["default"].weight
            if part in _BEHIND:
                found[f"l{layer}.{part}.b"] = adapted.base_layer.bias
    tensors = {name: tensor.detach().to(torch.float16).contiguous() for name, tensor in found.items()}
    for layer, kept in enumerate(tagger.kept):
        tensors[f"l{layer}.heads"] = torch.from_numpy(kept.heads).to(torch.int16)
        tensors[f"l{layer}.neurons"] = torch.from_numpy(kept.neurons).to(torch.int16)
    return tensors


def _count_rules(messages: Sequence[Judged], path: Path, examples: str) -> None:
    """Write how often each rule decided a sentence of known kind, and how often rightly."""
    fired: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for message in messages:
        for text, kind in zip(message.texts, message.kinds, strict=True):
            decision = by_rule(text)
            if kind is None or decision is None or decision[1] is None:
                continue
            action, rule, _, _, or_add = decision
            asked = _asked_by(kind)
            fired[rule] += 1
            right[rule] += action in asked or (or_add and "add" in asked)
    print(f"  rules: {right.total()} of {fired.total()} decisions right")
    rules = {rule: [right[rule], fired[rule]] for rule in sorted(fired)}
    text = json.dumps({"examples": examples, "rules": rules}, ensure_ascii=False, indent=1)
    path.write_text(f"{text}\n", "utf-8")


def _asked_by(kind: str) -> tuple[str, ...]:
    """What a sentence of this kind asks of the list of instructions."""
    if kind in recogniser.STANDING:
        return ("add",)
    return {"takeback": ("retire",), "change": ("replace", "narrow", "retire"), "override": ("refuse",)}.get(kind, ())
