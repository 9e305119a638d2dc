"""MADial: both languages alike, each child's memories apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from arpm.errors import InputError
from arpm.experiments import madial
from tests.experiments import data_sets


@pytest.mark.parametrize("language", ["zh", "en"])
def test_reads_both_languages_alike(tmp_path: Path, language: str) -> None:
    folder = data_sets.madial(tmp_path) / "madial-bench" / ("ch" if language == "zh" else "en")
    memories = madial.read_memories(folder / f"MADial-Bench-{language}-memory.json")
    # The English file does not say whose memory it is; its words do.
    assert {user: [atom.source for atom in atoms] for user, atoms in memories.items()} == {1: ["1", "2"], 2: ["3"]}
    dialogues = madial.read_dialogues(folder / f"MADial-Bench-{language}-dialogue.json")
    assert [(dialogue.user, dialogue.gold) for dialogue in dialogues] == [(1, ("2",)), (2, ("3",))]
    assert dialogues[0].query("last words") in ("我想再去海边放风筝。", "I want to fly a kite at the beach.")
    assert dialogues[0].query("dialogue so far").startswith("Bart: ")


def test_reports_the_languages_apart_and_their_difference(tmp_path: Path) -> None:
    result = madial.run(data_sets.a_run("madial", data_sets.madial(tmp_path / "data"), tmp_path / "out"))
    groups = result.numbers["groups"]
    for language in ("zh", "en"):
        assert groups[f"{language}, default, last words"]["recall@10"]["count"] == 2
        assert groups[f"{language}, gate off, last words"]["recall@10"]["mean"] == 1
    assert result.numbers["recall@10, zh minus en"]["count"] == 2
    assert [table.title for table in result.tables] == ["MADial, Chinese", "MADial, English"]


def test_damaged_and_missing_files_are_named(tmp_path: Path) -> None:
    data = data_sets.madial(tmp_path / "data")
    file = data / "madial-bench" / "en" / "MADial-Bench-en-memory.json"
    file.write_text(file.read_text("utf-8").replace("Lisa", "Nobody"), "utf-8")
    with pytest.raises(InputError, match=r"MADial-Bench-en-memory\.json, line 3"):
        madial.run(data_sets.a_run("madial", data, tmp_path / "out"))
    file.unlink()
    with pytest.raises(InputError, match="is not there: MADial-Bench"):
        madial.run(data_sets.a_run("madial", data, tmp_path / "out"))


def test_on_the_public_data(tmp_path: Path) -> None:
    result = madial.run(data_sets.a_run("madial", data_sets.needs("madial-bench"), tmp_path / "out", quick=True))
    assert result.numbers["recall@10, zh minus en"]["count"] == 12


def test_all_of_the_public_data_can_be_read() -> None:
    for language, place in madial.FOLDERS.items():
        folder = data_sets.needs("madial-bench") / "madial-bench" / place
        memories = madial.read_memories(folder / f"MADial-Bench-{language}-memory.json")
        dialogues = madial.read_dialogues(folder / f"MADial-Bench-{language}-dialogue.json")
        assert len(dialogues) == 160
        for dialogue in dialogues:
            assert set(dialogue.gold) <= {atom.source for atom in memories[dialogue.user]}
            assert "<" not in dialogue.query("last words")
