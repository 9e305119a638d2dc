"""An export and an erasure at the same time: whatever has been read by then, no file keeps erased words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from arpm import exported as record
from arpm.audit.exports import formats, write
from arpm.audit.exports.formats import FORMATS, Format, export
from arpm.erasure import erase, of_memories, reach
from arpm.errors import InputError
from arpm.exported import ErasedMeanwhileError, partial
from arpm.service import Service
from tests.cli.conftest import Arpm, arpm, model_server
from tests.patience import PATIENCE
from tests.support import START
from tests.test_erasure import ENGLISH, Open, backend, holding, logs, memory_of, opened, service, timeline

__all__ = ["arpm", "backend", "logs", "model_server", "opened", "service", "timeline"]

AT = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture
def forget(service: Service, timeline: str) -> Callable[[], None]:
    """Erases the secret that was said."""
    told = memory_of(service.turn(timeline, ENGLISH))
    service.turn(timeline, "The kettle is red.")
    done: list[bool] = []

    def now() -> None:
        if not done:
            done.append(True)
            what = of_memories(service.catalogue, [told])
            erase(service, what, reach(service, what).confirm)

    return now


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("place", ["read", "first file", "last file", "names"])
def test_an_erasure_meanwhile_ends_the_export(
    logs: Path,
    tmp_path: Path,
    forget: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    format: Format,
    place: str,
) -> None:
    """The export had read the words before, and wrote them after the erasure had deleted every export it knew of."""
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        _erasing_at(place, forget, patch)
        with pytest.raises((ErasedMeanwhileError, InputError), match=r"(Export|Read it) again"):
            export(logs, out, format, (), AT)
    assert holding(tmp_path, "Zanzibar") == []
    assert not out.exists() or list(out.iterdir()) == []
    assert record.exported_files(logs) == []
    done = export(logs, out, format, (), AT)
    assert done.files and holding(tmp_path, "Zanzibar") == []
    assert holding(out, "kettle")


def _erasing_at(place: str, forget: Callable[[], None], patch: pytest.MonkeyPatch) -> None:
    """Let the erasure happen right after the export has read, when it opens a file, or before files get their names."""
    read, opening, finish = formats.read_source, record.Noted.open, record.Noted.finish
    count = [0]

    def read_then_erase(*arguments: object) -> object:
        source = read(*arguments)  # type: ignore[arg-type]
        forget()
        return source

    def open_then_erase(self: record.Noted, path: Path) -> object:
        count[0] += 1
        if place == "first file" or path.name == write.MANIFEST:
            file = opening(self, path)
            forget()
            return file
        return opening(self, path)

    def erase_then_finish(self: record.Noted, digests: dict[Path, str]) -> None:
        forget()
        finish(self, digests)

    if place == "read":
        patch.setattr(formats, "read_source", read_then_erase)
    elif place == "names":
        patch.setattr(record.Noted, "finish", erase_then_finish)
    else:
        patch.setattr(record.Noted, "open", open_then_erase)


@pytest.mark.parametrize("format", FORMATS)
def test_an_erasure_reaches_an_export_that_was_killed(
    logs: Path, tmp_path: Path, forget: Callable[[], None], format: Format
) -> None:
    """Parts of files lay about that nobody knew of."""
    out = tmp_path / "out"
    code = f"""
import os, signal
from pathlib import Path
from arpm import exported
from arpm.audit.exports.formats import export
from datetime import datetime, UTC
def killed(self, digests):
    os.kill(os.getpid(), signal.SIGKILL)
exported.Noted.finish = killed
export(Path({str(logs)!r}), Path({str(out)!r}), {format!r}, (), datetime(2026, 3, 2, tzinfo=UTC))
"""
    done = subprocess.run([sys.executable, "-c", code], timeout=PATIENCE, check=False, env={**os.environ})
    assert done.returncode == -signal.SIGKILL
    assert holding(out, "Zanzibar")
    forget()
    assert list(out.iterdir()) == []
    assert holding(tmp_path, "Zanzibar") == []
    assert record.exported_files(logs) == []


def test_what_a_person_changed_is_left_even_when_an_export_over_it_broke_off(
    logs: Path, tmp_path: Path, timeline: str, forget: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    export(logs, out, "csv", (), AT)
    (out / "turns.csv").write_text("mine now", "utf-8")

    def broken(*_: object) -> Iterator[str]:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(write, "_manifest", broken)
        export(logs, out, "csv", (), AT, force=True)
    assert len(record.exported_files(logs, [timeline])) == 4
    forget()
    assert [path.name for path in out.iterdir()] == ["turns.csv"]


def test_an_export_to_the_same_place_is_noted_once(logs: Path, tmp_path: Path, timeline: str, service: Service) -> None:
    service.turn(timeline, ENGLISH)
    out = tmp_path / "out"
    for _ in range(3):
        export(logs, out, "jsonl", (), AT, force=True)
    found = record.exported_files(logs)
    assert sorted(file.path.name for file in found) == [
        "evidence.jsonl",
        "export.json",
        "memories.jsonl",
        "turns.jsonl",
    ]
    assert {file.state for file in found} == {"unchanged"}


def test_killed_between_the_names_and_the_note_every_file_is_known(
    logs: Path, tmp_path: Path, timeline: str, forget: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, replaced = tmp_path / "out", list[Path]()
    put = Path.replace

    def once(self: Path, target: Path) -> Path:
        if target.parent == out:
            if replaced:
                raise KeyboardInterrupt
            replaced.append(target)
        return put(self, target)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "replace", once)
        export(logs, out, "jsonl", (), AT)
    assert [path.name for path in out.iterdir()] == [replaced[0].name]
    assert holding(out, "Zanzibar")
    forget()
    assert list(out.iterdir()) == []


def test_reviews_written_to_a_file_are_reached(arpm: Arpm, tmp_path: Path) -> None:
    """`arpm review export` writes questions, answers and evidence, and was not noted."""
    arpm("chat", "--user", "Lin", "--character", "Mei", ENGLISH)
    (row,) = arpm.json("timelines")
    arpm(
        "review",
        "add",
        f"{row['id']}:1",
        "--reviewer",
        "Ada",
        "--support",
        "unsure",
        "--correct",
        "yes",
        "--reason",
        "so",
    )
    file = tmp_path / "reviews.csv"
    arpm("review", "export", row["id"], str(file))
    assert holding(tmp_path, "Zanzibar") and [one.path for one in record.exported_files(arpm.logs)] == [file]
    found = arpm.json("erase", f"{row['id']}:1", "--dry-run")["reach"]
    assert str(file) in found["files"]
    arpm("erase", f"{row['id']}:1", "--yes")
    assert not file.exists() and not partial(file).exists()


def test_restarted_after_an_erasure_an_old_note_is_no_hindrance(
    service: Service, opened: Open, logs: Path, timeline: str, tmp_path: Path
) -> None:
    service.turn(timeline, ENGLISH)
    with pytest.raises(KeyboardInterrupt), record.noted(logs, "csv", [timeline], tmp_path / "x.csv", START):
        raise KeyboardInterrupt
    assert record.exported_files(logs) == []
    assert opened().timelines()
