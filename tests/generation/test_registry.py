"""The models a person can choose from."""

from __future__ import annotations

import threading

import pytest

from arpm.errors import NotFoundError
from arpm.generation.base import Backend, Sampling
from arpm.generation.openai import Endpoint, OpenAIBackend
from arpm.generation.registry import LOCAL_SAMPLING, Models
from arpm.generation.transformers_backend import TransformersBackend
from arpm.settings import ModelSettings, Settings

BIG = ModelSettings(
    name="big", backend="openai", base_url="http://127.0.0.1:9/v1", model="big-1", temperature=0.2, seed=3, timeout=9.0
)
SMALL = ModelSettings(name="small", backend="transformers", context_tokens=2048)


@pytest.fixture
def models() -> Models:
    return Models(Settings(model="big", models=(SMALL, BIG)))


class TestChoice:
    def test_names_begin_with_the_default(self, models: Models) -> None:
        assert models.default == "big"
        assert models.names() == ("big", "local", "small")

    def test_the_embedded_model_is_always_there(self) -> None:
        models = Models(Settings())
        assert (models.default, models.names()) == ("local", ("local",))

    def test_an_unknown_name_lists_the_known_ones(self, models: Models) -> None:
        for call in (models.get, models.sampling):
            with pytest.raises(NotFoundError, match=r"'gpt'.*big, local, small"):
                call("gpt")

    def test_a_ready_made_backend_is_taken_as_it_is(self) -> None:
        given = OpenAIBackend("given", Endpoint("http://127.0.0.1:9/v1", "x"))
        models = Models(Settings(model="given"), extra=[given])
        assert models.get("given") is given
        assert models.names() == ("given", "local")
        assert models.sampling("given") == Sampling()


class TestBackends:
    def test_each_table_becomes_its_backend(self, models: Models) -> None:
        big, small = models.get("big"), models.get("small")
        assert isinstance(big, OpenAIBackend)
        assert (big.name, big.model, big.prompt_style, big.context_tokens) == ("big", "big-1", "full", 8192)
        assert isinstance(small, TransformersBackend)
        assert (small.name, small.prompt_style, small.context_tokens) == ("small", "compact", 2048)

    def test_one_instance_each_for_all_threads(self, models: Models) -> None:
        """Two threads that asked at once each loaded the weights."""
        start, found = threading.Barrier(8), list[Backend]()

        def ask() -> None:
            start.wait()
            found.append(models.get("small"))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8
        assert len({id(backend) for backend in found}) == 1


class TestSampling:
    def test_a_table_changes_only_what_it_names(self, models: Models) -> None:
        assert models.sampling("big") == Sampling(temperature=0.2, seed=3, timeout=9.0)
        assert models.sampling("small") == Sampling()

    def test_the_embedded_model_has_its_own_and_takes_a_table(self) -> None:
        assert Models(Settings()).sampling("local") == LOCAL_SAMPLING
        table = ModelSettings(name="local", backend="local", max_tokens=50)
        changed = Models(Settings(models=(table,))).sampling("local")
        assert (changed.max_tokens, changed.temperature) == (50, LOCAL_SAMPLING.temperature)
