"""RealMem: sessions in the order they were lived, and nothing of the future in a ranking."""

from __future__ import annotations

from pathlib import Path

import pytest

from arpm.errors import InputError
from arpm.experiments import realmem
from arpm.experiments.memories import Memory
from tests.experiments import data_sets


def test_sessions_are_read_by_date_with_their_questions(tmp_path: Path) -> None:
    sessions = realmem.read_sessions(next(data_sets.realmem(tmp_path).glob("realmem/*.json")))
    assert [session.id for session in sessions] == ["s1", "s2", "s3", "s4", "s5", "s9"]
    assert [(atom.message[:14], atom.reply) for atom in sessions[0].rounds] == [("The lighthouse", "Noted.")]
    questions = [question for session in sessions for question in session.questions]
    # s9 is later than the session that is said to need it.
    assert [(question.id, question.gold) for question in questions] == [("s4:0", ("s1",)), ("s5:0", ("s2",))]


def test_a_question_sees_what_was_lived_before_its_session_and_nothing_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bug class: everything is indexed first, and a question finds its own session or what comes after it."""
    seen: dict[str, set[str]] = {}
    look = Memory.look

    def noting(memory: Memory, question: str, at: object, config: object) -> object:
        seen[question] = {name.rpartition(":")[0] for name in memory.names()}
        return look(memory, question, at, config)  # type: ignore[arg-type]

    monkeypatch.setattr(Memory, "look", noting)
    result = realmem.run(data_sets.a_run("realmem", data_sets.realmem(tmp_path / "data"), tmp_path / "out"))
    assert seen == {
        "Tell me about the lighthouse.": {"s1", "s2", "s3"},
        "And canary and violin?": {"s1", "s2", "s3", "s4"},
    }
    assert result.numbers["variants"]["default"]["recall@5"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "count": 2}


def test_a_second_run_lives_nothing_again(tmp_path: Path) -> None:
    data = data_sets.realmem(tmp_path / "data")
    first = realmem.run(data_sets.a_run("realmem", data, tmp_path / "out"))
    said: list[str] = []
    run = data_sets.a_run("realmem", data, tmp_path / "out", progress=lambda what, done, of: said.append(what))
    assert realmem.run(run).numbers == first.numbers
    assert not [what for what in said if "living" in what]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    data = data_sets.realmem(tmp_path / "data")
    file = next(data.glob("realmem/*.json"))
    file.write_text(file.read_text("utf-8").replace('"content"', '"words"', 1), "utf-8")
    with pytest.raises(InputError, match="session s9: KeyError: 'content'"):
        realmem.run(data_sets.a_run("realmem", data, tmp_path / "out"))


def test_on_the_public_data(tmp_path: Path) -> None:
    result = realmem.run(data_sets.a_run("realmem", data_sets.needs("realmem"), tmp_path / "out", quick=True))
    assert result.numbers["questions"] > 0


def test_every_user_of_the_public_data_can_be_read() -> None:
    files = sorted((data_sets.needs("realmem") / "realmem").glob("*.json"))
    sessions = [realmem.read_sessions(file) for file in files]
    # 728 queries; two of the last user need sessions that are dated later than they are.
    assert [sum(len(session.questions) for session in user) for user in sessions] == [124, 162, 153, 168, 119]
