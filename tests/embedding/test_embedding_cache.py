"""The vector cache: never embeds twice, never forgets by accident, never keeps what was erased."""

from __future__ import annotations

import hashlib
import logging
import random
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest

from retrieval.embedding import cache as cache_module
from retrieval.embedding.base import Embedder, Vectors
from retrieval.embedding.cache import CachedEmbedder, CacheStats
from retrieval.embedding.hashing import HashingEmbedder
from tests.patience import PATIENCE, lines_run

TEXTS = ["The dog is called Rex.", "狗叫雷克斯。", "", "a\ud800b", "a\ud801b", "nul\0nul"]


class Recorder:
    """The hashing embedder, with a record of what it was asked to embed, and an error on a chosen text."""

    c0 = 0.25

    def __init__(self, dimension: int = 32, fail_on: str | None = None) -> None:
        self._inner = HashingEmbedder(dimension)
        self.name = self._inner.name
        self.dimension = dimension
        self.fail_on = fail_on
        self.asked: list[str] = []

    def encode_query(self, texts: Sequence[str]) -> Vectors:
        self.asked += [f"query {text}" for text in texts]
        return -self._inner.encode_query(texts)

    def encode_document(self, texts: Sequence[str]) -> Vectors:
        if self.fail_on in texts:
            raise KeyboardInterrupt
        self.asked += texts
        return self._inner.encode_document(texts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "vectors.sqlite3"


OpenCache = Callable[..., CachedEmbedder]


@pytest.fixture
def open_cache(path: Path) -> Iterator[OpenCache]:
    """Opens caches on `path`, several at once if need be, and closes them in the end."""
    with ExitStack() as stack:

        def open_one(inner: Embedder, where: Path = path) -> CachedEmbedder:
            return stack.enter_context(closing(CachedEmbedder(inner, where)))

        yield open_one


def moved_aside(path: Path) -> list[Path]:
    return sorted(path.parent.glob("*.damaged-*"))


class TestNeverTwice:
    def test_a_restart_embeds_nothing(self, open_cache: OpenCache) -> None:
        first = open_cache(Recorder())
        rows = first.encode_document(TEXTS)
        first.close()
        inner = Recorder()
        again = open_cache(inner)
        assert again.encode_document(TEXTS).tobytes() == rows.tobytes()
        assert inner.asked == [] and again.stats == CacheStats(hits=len(TEXTS), misses=0)

    def test_a_kill_loses_nothing_committed(self, open_cache: OpenCache) -> None:
        """The file is read while the writer still has it open and never closed it."""
        open_cache(Recorder()).encode_document(TEXTS)
        inner = Recorder()
        open_cache(inner).encode_document(TEXTS)
        assert inner.asked == []

    def test_repeats_in_one_call_are_embedded_once(self, open_cache: OpenCache) -> None:
        inner = Recorder()
        cached = open_cache(inner)
        rows = cached.encode_document(["one", "two", "one"])
        assert sorted(inner.asked) == ["one", "two"] and np.array_equal(rows[0], rows[2])
        assert cached.stats == CacheStats(hits=0, misses=2)

    def test_an_interrupt_keeps_the_batches_before_it(self, open_cache: OpenCache) -> None:
        texts = [f"text {number:04}" for number in range(700)]
        with pytest.raises(KeyboardInterrupt):
            open_cache(Recorder(fail_on="text 0699")).encode_document(texts)
        inner = Recorder()
        open_cache(inner).encode_document(texts)
        assert len(inner.asked) == 700 - 512


class TestNeverMixed:
    def test_query_and_document_are_apart(self, open_cache: OpenCache) -> None:
        cached = open_cache(Recorder())
        assert np.array_equal(cached.encode_query(TEXTS), -cached.encode_document(TEXTS))
        assert np.array_equal(cached.encode_query(TEXTS), -cached.encode_document(TEXTS))

    def test_embedders_are_apart(self, open_cache: OpenCache) -> None:
        small, large = open_cache(Recorder(32)), open_cache(Recorder(64))
        assert small.encode_document(TEXTS).shape == (len(TEXTS), 32)
        assert large.encode_document(TEXTS).shape == (len(TEXTS), 64)
        assert small.encode_document(TEXTS).shape == (len(TEXTS), 32)

    def test_rows_keep_the_order_of_the_texts(self, open_cache: OpenCache) -> None:
        cached, plain = open_cache(Recorder()), HashingEmbedder(32)
        cached.encode_document(TEXTS[::2])
        mixed = [*TEXTS, "longer than all of these", *TEXTS[:2]]
        rows = cached.encode_document(mixed)
        assert np.array_equal(rows, plain.encode_document(mixed))
        assert rows.dtype == np.float32 and rows.flags["C_CONTIGUOUS"] and rows.flags["WRITEABLE"]

    def test_it_is_the_embedder_it_wraps(self, open_cache: OpenCache) -> None:
        cached = open_cache(Recorder())
        assert (cached.name, cached.dimension, cached.c0) == ("hashing-1-32", 32, 0.25)
        assert cached.encode_query([]).shape == (0, 32)


class TestErasure:
    def test_an_erased_text_is_embedded_again(self, open_cache: OpenCache) -> None:
        inner = Recorder()
        cached = open_cache(inner)
        cached.encode_document(TEXTS)
        cached.encode_query(TEXTS)
        assert cached.forget([TEXTS[0], "never seen"]) == 2
        inner.asked.clear()
        cached.encode_document(TEXTS)
        assert inner.asked == [TEXTS[0]]

    def test_the_bytes_are_gone_from_disk(self, open_cache: OpenCache, path: Path) -> None:
        """SQLite only marks rows free; the vector, from which a text can be guessed, would stay in the file."""
        cached = open_cache(Recorder())
        rows = cached.encode_document([f"secret {number}" for number in range(50)])

        def on_disk() -> bytes:
            return b"".join(file.read_bytes() for file in sorted(path.parent.iterdir()))

        assert all(row.tobytes() in on_disk() for row in rows)
        cached.forget([f"secret {number}" for number in range(0, 50, 2)])
        left = on_disk()
        assert [row.tobytes() in left for row in rows] == [False, True] * 25

    def test_no_digest_is_left_between_pages(self, open_cache: OpenCache, path: Path) -> None:
        """Overwritten rows are not enough: rows that moved from page to page left copies, by which to check a guess."""
        cached, rng = open_cache(HashingEmbedder(32)), random.Random(0)
        kept = [f"text {rng.random()}" for _ in range(3000)]
        cached.encode_document(kept)
        gone: list[str] = []
        for _ in range(6):
            rng.shuffle(kept)
            gone += kept[:400]
            cached.forget(kept[:400])
            kept = kept[400:] + [f"more {rng.random()}" for _ in range(200)]
            cached.encode_document(kept)
        left = b"".join(file.read_bytes() for file in path.parent.iterdir())
        assert [text for text in gone if hashlib.sha256(text.encode()).digest() in left] == []

    def test_files_moved_aside_are_erased_too(self, open_cache: OpenCache, path: Path) -> None:
        path.parent.mkdir()
        path.write_bytes(b"SQLite format 3\0 and then rubbish" * 200)
        cached = open_cache(Recorder())
        assert len(moved_aside(path)) == 1
        cached.forget(["anything"])
        assert moved_aside(path) == []

    def test_an_erasure_that_cannot_be_done_is_told(
        self, open_cache: OpenCache, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cache_module, "_BUSY_SECONDS", 0.05)
        cached = open_cache(Recorder())
        cached.encode_document(TEXTS)
        reader = sqlite3.connect(path)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM vectors").fetchone()
        with pytest.raises(sqlite3.Error):
            cached.forget(TEXTS)
        reader.close()
        cached.forget(TEXTS)


class TestDamage:
    """It is only a cache: damage may cost time, never a result or a traceback."""

    @pytest.mark.parametrize("content", [b"rubbish", b"SQLite format 3\0" + b"\xff" * 5000, b"\0" * 4096])
    def test_rubbish_is_moved_aside(
        self, open_cache: OpenCache, path: Path, content: bytes, caplog: pytest.LogCaptureFixture
    ) -> None:
        path.parent.mkdir()
        path.write_bytes(content)
        with caplog.at_level(logging.WARNING):
            rows = open_cache(Recorder()).encode_document(TEXTS)
        assert np.array_equal(rows, HashingEmbedder(32).encode_document(TEXTS))
        assert [file.read_bytes() for file in moved_aside(path)] == [content]
        assert str(path) in caplog.text and "moved" in caplog.text
        inner = Recorder()
        open_cache(inner).encode_document(TEXTS)
        assert inner.asked == []

    def test_damage_found_later_costs_only_time(
        self, open_cache: OpenCache, path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        texts = [f"text {number}" for number in range(400)]
        first = open_cache(Recorder())
        rows = first.encode_document(texts)
        first.close()
        content = bytearray(path.read_bytes())
        content[4096:] = b"\xa5" * (len(content) - 4096)
        path.write_bytes(content)
        with caplog.at_level(logging.WARNING):
            cached = open_cache(Recorder())
            assert np.array_equal(cached.encode_document(texts), rows)
        assert len(moved_aside(path)) == 1
        assert np.array_equal(cached.encode_document(texts), rows)
        assert cached.stats.hits == 400

    def test_another_schema_is_moved_aside(self, open_cache: OpenCache, path: Path) -> None:
        path.parent.mkdir()
        foreign = sqlite3.connect(path)
        foreign.executescript("CREATE TABLE vectors (something TEXT); PRAGMA user_version = 7;")
        foreign.close()
        inner = Recorder()
        for _ in range(2):
            open_cache(inner).encode_document(TEXTS)
        assert len(inner.asked) == len(TEXTS) and len(moved_aside(path)) == 1

    def test_a_shortened_vector_is_embedded_again(self, open_cache: OpenCache, path: Path) -> None:
        cached = open_cache(Recorder())
        rows = cached.encode_document(TEXTS)
        with sqlite3.connect(path) as other:
            other.execute("UPDATE vectors SET vector = x'00' WHERE rowid = 1")
        other.close()
        assert np.array_equal(cached.encode_document(TEXTS), rows)

    def test_a_place_that_cannot_be_written_costs_only_time(
        self, open_cache: OpenCache, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "file").write_text("not a folder")
        with caplog.at_level(logging.WARNING):
            cached = open_cache(Recorder(), tmp_path / "file" / "vectors.sqlite3")
        assert cached.encode_document(TEXTS).shape == (len(TEXTS), 32)
        assert "not be kept" in caplog.text


class TestThreads:
    def test_all_threads_get_the_recorded_vector(self, open_cache: OpenCache) -> None:
        """Two threads that miss at once must agree, or a replay from the recorded vectors would differ."""

        class Wobbly(Recorder):
            """Like a model whose last bits depend on the batch: no two calls agree."""

            def encode_document(self, texts: Sequence[str]) -> Vectors:
                barrier.wait(timeout=PATIENCE)
                return np.random.default_rng().normal(size=(len(texts), 32)).astype(np.float32)

        barrier = threading.Barrier(4)
        cached = open_cache(Wobbly())
        with ThreadPoolExecutor(4) as pool:
            rows = list(pool.map(lambda _: cached.encode_document(["same"]).tobytes(), range(4)))
        assert len(set(rows)) == 1 and cached.stats.misses == 4

    def test_many_threads_lose_nothing(self, open_cache: OpenCache) -> None:
        texts = [f"text {number}" for number in range(200)]
        cached = open_cache(Recorder())
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda start: cached.encode_document(texts[start : start + 50]), range(0, 200, 10)))
        inner = Recorder()
        open_cache(inner).encode_document(texts)
        assert inner.asked == []


class TestSpeed:
    def test_ten_thousand_texts_are_found_by_a_few_questions(self, open_cache: OpenCache) -> None:
        texts = [f"text {number}" for number in range(10_000)]

        class Instant(Recorder):
            def encode_document(self, texts: Sequence[str]) -> Vectors:
                return np.ones((len(texts), 384), np.float32)

        cached = open_cache(Instant(384))
        cached.encode_document(texts)
        asked: list[str] = []
        cached._table._connection.set_trace_callback(asked.append)
        few, all = (lines_run(lambda some=some: cached.encode_document(texts[:some])) for some in (2_500, 10_000))
        assert 0 < len(asked) < 10_000 / 100
        assert all < 5 * few
        assert cached.stats == CacheStats(hits=12_500, misses=10_000)
