"""The noise experiment: a question set that holds together, noise that only grows, and whole runs on small noise."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from arpm.audit.gold import accepted
from arpm.errors import ArpmError
from arpm.experiments import noise
from arpm.experiments.base import MissingDataError, Run, write
from arpm.experiments.noise import STAND_IN, Conversation, Level
from arpm.experiments.noise_set import DEVELOPMENT, LANGUAGES, QuestionSet, abstains, holding, read_set, right_reply
from arpm.experiments.noise_substrate import NOVELS, Noise, Substrate, novels
from arpm.experiments.stand_ins import StandIn
from arpm.generation.base import GenerationError, GenerationRequest
from arpm.library import CHUNKING
from arpm.settings import Settings
from retrieval.chunking import split_document
from retrieval.memories import KnowledgeChunk
from retrieval.text import Language, language

SETS = {spoken: read_set(spoken) for spoken in LANGUAGES}
DEVELOPED_ON = {spoken: read_set(spoken, DEVELOPMENT) for spoken in LANGUAGES}


def chunks_of(text: str) -> list[KnowledgeChunk]:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    return [
        KnowledgeChunk(f"d/{number}", "d", "d.md", parent.headings, text[slice(*parent.span)], ("x",), at)
        for number, parent in enumerate(split_document(text, **CHUNKING))
    ]


def sources(questions: QuestionSet) -> dict[str, tuple[str, int]]:
    """Text and time of everything a passage can stand in, by name."""
    texts = {document.name: (document.text, document.after) for document in questions.documents}
    return texts | {told.name: (told.message, told.after) for told in questions.told}


# -- the question set ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spoken", LANGUAGES)
def test_there_are_fifty_questions_a_language_with_corrected_and_unanswerable_ones(spoken: Language) -> None:
    questions = SETS[spoken]
    sorts = [question.sort for question in questions.questions]
    assert [question.number for question in questions.questions] == list(range(1, 51))
    assert len({question.text for question in questions.questions}) == 50
    assert sorts.count("corrected") >= 6 and sorts.count("unanswerable") >= 6
    assert {question.near for question in questions.questions if question.sort == "unanswerable"} == {True, False}
    # At 5.1 million characters of noise the ratio is 1:200 or more.
    assert noise.FULL / questions.characters >= 200


@pytest.mark.parametrize("sets", [SETS, DEVELOPED_ON], ids=["reported", "development"])
@pytest.mark.parametrize("spoken", LANGUAGES)
def test_gold_and_answers_hold_together(spoken: Language, sets: dict[Language, QuestionSet]) -> None:
    texts = sources(sets[spoken])
    for question in sets[spoken].questions:
        assert language(question.text) == spoken
        assert bool(question.gold) == bool(question.answers) == (question.sort != "unanswerable")
        for item in (*question.gold, *question.stale):
            assert texts[item.source][0].count(item.passage) == 1, item
        if question.gold:
            assert any(accepted(answer, item.passage) for answer in question.answers for item in question.gold)
            assert any(accepted(answer, right_reply(question, spoken)) for answer in question.answers)
        else:
            assert abstains(right_reply(question, spoken))


@pytest.mark.parametrize("spoken", LANGUAGES)
def test_what_is_tuned_on_is_not_what_is_reported(spoken: Language) -> None:
    reported, developed = SETS[spoken], DEVELOPED_ON[spoken]
    assert len(developed.questions) >= 80
    assert not {document.name for document in reported.documents} & {document.name for document in developed.documents}
    assert not {document.text for document in reported.documents} & {document.text for document in developed.documents}
    far = {question.text for question in developed.questions if question.sort == "unanswerable"}
    assert not {question.text for question in reported.questions} & far


@pytest.mark.parametrize("spoken", LANGUAGES)
def test_a_corrected_fact_is_asked_after_its_correction_and_was_another_before(spoken: Language) -> None:
    questions = SETS[spoken]
    texts = sources(questions)
    corrected = [question for question in questions.questions if question.sort == "corrected"]
    assert {texts[item.source][1] for question in corrected for item in question.gold} == set(questions.late)
    assert any(item.source.startswith("told:") for question in corrected for item in question.gold)
    for question in corrected:
        assert all(0 < texts[item.source][1] < question.number for item in question.gold)
        assert question.stale and all(texts[item.source][1] == 0 for item in question.stale)
        stale = [item.passage for item in question.stale]
        assert not any(accepted(answer, passage) for answer in question.answers for passage in stale)
        before = [one for one in questions.questions if one.fact == question.fact and one.sort == "plain"]
        assert before and all(one.number <= min(questions.late) and one.gold == question.stale for one in before)


@pytest.mark.parametrize("sets", [SETS, DEVELOPED_ON], ids=["reported", "development"])
@pytest.mark.parametrize("spoken", LANGUAGES)
def test_questions_are_paraphrased(spoken: Language, sets: dict[Language, QuestionSet]) -> None:
    """No question repeats a run of its passage: six Chinese characters, or five English words."""
    size = 6 if spoken == "zh" else 5
    for question in sets[spoken].questions:
        asked = list(question.text) if spoken == "zh" else question.text.lower().rstrip("?").split()
        for item in question.gold:
            said = list(item.passage) if spoken == "zh" else item.passage.lower().split()
            runs = {tuple(said[start : start + size]) for start in range(len(said) - size + 1)}
            assert not any(tuple(asked[start : start + size]) in runs for start in range(len(asked))), question


@pytest.mark.parametrize("spoken", LANGUAGES)
def test_every_gold_passage_stands_whole_in_a_parent_chunk(spoken: Language) -> None:
    documents = {document.name: document.text for document in SETS[spoken].documents}
    for question in SETS[spoken].questions:
        for item in question.gold:
            if item.source in documents:
                chunks = chunks_of(documents[item.source])
                texts = {chunk.memory: chunk.text for chunk in chunks}
                found = holding(chunks, documents[item.source], item.passage)
                assert found and all(item.passage in texts[id] for id in found)


def test_nobody_in_the_set_is_named_as_who_talks() -> None:
    """A name in a document would give it a bonus that has nothing to do with the question."""
    for spoken, questions in SETS.items():
        text = " ".join(text for text, _ in sources(questions).values())
        assert not any(name in text for name in noise._NAMES[spoken][:2])


def test_a_seed_orders_questions_and_moves_none_across_a_correction() -> None:
    questions = SETS["en"]
    assert questions.ordered(0) == questions.questions
    assert questions.ordered(1) == questions.ordered(1) != questions.ordered(2)
    (border,) = questions.late
    assert set(questions.ordered(1)[:border]) == set(questions.questions[:border])
    assert set(questions.ordered(1)) == set(questions.questions)


def test_a_passage_that_no_chunk_holds_whole_is_held_by_all_that_have_a_part() -> None:
    text = "".join(f"This is sentence number {number}, and it goes on for a while. " for number in range(30))
    chunks = chunks_of(text)
    assert len(chunks) > 2
    assert holding(chunks, text, "sentence number 0,") == {"d/0"}
    assert holding(chunks, text, text[100:-100]) == {chunk.memory for chunk in chunks}
    with pytest.raises(ValueError, match="substring"):
        holding(chunks, text, "not there")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("I don't know.", True),
        ("The notes don’t mention a telephone number.", True),
        ("There is no information on that.", True),
        ("Nothing that I remember answers that.", True),
        ("资料里没有提到。", True),
        ("我的记忆里没有这件事。", True),
        ("我不知道。", True),
        ("It costs 9.10 now, not 8.40.", False),
        ("Nothing sails above force eight.", False),
        ("现在是十五元，不是十二元。", False),
    ],
)
def test_abstentions_are_told_from_answers(reply: str, expected: bool) -> None:
    assert abstains(reply) is expected


# -- noise -----------------------------------------------------------------------------------------------------------


def prose(characters: int, seed: int) -> str:
    """Chinese sentences of our own that are about nothing in the set."""
    words = "山风 石阶 旧伞 铜铃 夜雨 灯影 柳岸 茅屋 远钟 薄雾 归雁 残棋".split()
    lines: list[str] = []
    for number in range(seed, seed + characters // 10):
        picked = [words[(number * step + seed) % len(words)] for step in (1, 5, 7)]
        lines.append(f"{picked[0]}第{number}次经过{picked[1]}，{picked[2]}还在原处。\n")
    return "".join(lines)[:characters]


def data_with_novels(folder: Path, characters: int) -> Path:
    """A data folder with ten novels of our own, `characters` in all."""
    texts = folder / "chinese-novel" / "txt"
    texts.mkdir(parents=True)
    for number, name in enumerate(NOVELS):
        (texts / f"{name}.txt").write_text(prose(characters // len(NOVELS), number * 1000), "utf-8")
    return folder


def run_of(tmp_path: Path, data: Path, *, embedder: str = "hashing", **options: Any) -> Run:
    return Run("noise", Settings(embedder=embedder), tmp_path / "out", data, **options)


def test_pieces_are_the_text_whatever_the_borders() -> None:
    made = Noise("novels", (("one", prose(150_000, 1)), ("two", prose(120_000, 2))), ("", ""))
    whole = "".join(text for _, text in made.texts)
    assert made.characters == len(whole)
    assert "".join(text for _, text in made.pieces(0, len(whole))) == whole
    assert "".join(text for _, text in made.pieces(70_001, 200_003)) == whole[70_001:200_003]
    names = [name for name, _ in made.pieces(0, len(whole))]
    assert len(set(names)) == len(names) > 3
    assert max(len(text) for _, text in made.pieces(0, len(whole))) <= 100_000


def test_noise_only_grows_and_a_resumed_run_has_the_same_documents(tmp_path: Path) -> None:
    run = run_of(tmp_path, data_with_novels(tmp_path / "data", 6000))
    made = novels(run)
    held = []
    for steps in ([0, 1000, 2500, 5000], [5000]):
        with Substrate(run, made, [0, 1000, 2500, 5000], []) as substrate:
            costs = [substrate.grow(amount) for amount in steps]
            assert sum(cost.added for cost in costs) == 5000
            assert substrate.grow(5000).added == 0
            with pytest.raises(ValueError, match="already"):
                substrate.grow(4000)
            held.append([(row.name, row.digest) for row in substrate.service.library.documents()])
    assert held[0] == held[1]


def test_without_the_novels_the_error_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"chinese-novel.*--data DIR"):
        noise.run(run_of(tmp_path, tmp_path / "nowhere"))


# -- whole runs ------------------------------------------------------------------------------------------------------


def test_a_run_reports_every_level_and_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    low = noise.LOW * SETS["zh"].characters
    data = data_with_novels(tmp_path / "data", low + 10)
    run = run_of(tmp_path, data, model=STAND_IN, seeds=2)
    result = noise.run(run)
    path = write(result, run, {})
    numbers = json.loads(path.read_text("utf-8"))["numbers"]
    # There is not enough noise for more of the curve; for what there is not, nothing is said.
    assert [(row["language"], row["characters"]) for row in numbers["levels"]] == [
        ("en", 0),
        ("zh", 0),
        ("zh", low),
    ]
    assert numbers["seeds"] == [0, 1]
    for level in numbers["levels"]:
        assert level["evidence_in_prompt"]["count"] == 42
        assert level["evidence_in_prompt"]["mean"] == pytest.approx(
            sum(curve[-1] for curve in level["automatic_rolling"]) / 2
        )
        # The same stand-in, and so the same memory, at every level.
        assert [row["reply"] for row in level["rounds"][0]] == [
            right_reply(question, level["language"]) for question in SETS[level["language"]].questions
        ]
        assert {row["sort"]: row["outranks"] is None for row in level["rounds"][0]} == {
            "plain": True,
            "corrected": False,
            "unanswerable": True,
        }
    # A model that always says what is right is as good as what it was shown.
    for level in numbers["answered"]:
        for report, rounds in zip(level["reports"], level["rounds"], strict=True):
            assert report["rounds"] == 50 and report["judged"] == 42
            assert all(row["correct"] for row in rounds)
            assert report["manual_correct"] == report["automatic_correct"] + 8
            assert not report["zero_to_one"] and not report["one_to_zero"]
    assert [target.what for target in result.targets] == ["gold in prompt at 1:5, Chinese questions in novels"]
    assert (tmp_path / "out" / "evidence_in_prompt.svg").exists()

    def never(*_: object) -> None:
        raise AssertionError("a finished step was done again")

    monkeypatch.setattr(noise.Substrate, "grow", never)
    assert noise.run(run_of(tmp_path, data, model=STAND_IN, seeds=2)).numbers == result.numbers


def test_the_quick_form_with_the_real_embedder(tmp_path: Path) -> None:
    data = data_with_novels(tmp_path / "data", noise.LOW * SETS["zh"].characters + 10)
    result = noise.run(run_of(tmp_path, data, embedder="e5", quick=True))
    (level,) = result.numbers["levels"]
    assert level["language"] == "zh" and level["ratio"] == noise.LOW
    # What cannot be answered from anything is told from what can; far more is found than by chance.
    assert level["unanswerable, far: empty"]["mean"] == 1.0
    assert level["evidence_in_prompt"]["mean"] > 0.5
    (cost,) = [row for row in result.numbers["indexing"] if row["added"]]
    assert cost["embedded"] > 0 and cost["seconds"] > 0


@pytest.mark.parametrize("lost", [0, 2])
def test_turns_that_fail_are_counted_until_the_model_is_plainly_not_there(tmp_path: Path, lost: int) -> None:
    """Three failures are three wrong answers, with nothing shown; five in a row end the run, and nothing is kept."""

    def fails(request: GenerationRequest) -> str:
        raise GenerationError("timeout", "It took too long.")

    questions = SETS["en"]
    few = replace(questions, questions=questions.questions[: 3 + lost], told=(), documents=questions.documents[:6])
    run = run_of(tmp_path, data_with_novels(tmp_path / "data", 1000))
    made = novels(run)
    level = Level("en", "novels", 0, questions.characters, False)
    with Substrate(run, made, [0], [StandIn("broken", fails)]) as substrate:
        conversation = Conversation(run, made, level, few, substrate)
        if lost:
            with pytest.raises(ArpmError, match="'broken' failed 5 times in a row: It took too long"):
                conversation.rows(0, "broken")
        else:
            rows = conversation.rows(0, "broken")
            assert len(rows) == 3
            assert all(row["failed"] and row["correct"] is False and row["shown"] is False for row in rows)
            assert noise._report(rows).manual_correct == noise._report(rows).automatic_correct == 0
        assert substrate.service.library.documents() == []
    assert (tmp_path / "out" / "steps.jsonl").exists() is not bool(lost)


def test_a_corrected_fact_outranks_only_if_it_is_shown_and_nothing_old_scores_as_high() -> None:
    candidates = {"new": {"final": 0.9}, "old": {"final": 0.9}, "older": {"final": 0.5}}
    shown = {"older": 0, "new": 1, "old": 2}
    assert noise._outranks({"new"}, {"older"}, candidates, shown)
    assert noise._outranks({"new"}, set(), candidates, shown)
    assert not noise._outranks({"new"}, {"old", "older"}, candidates, shown)
    assert not noise._outranks({"unseen"}, set(), candidates, shown)
    assert noise._later({"new"}, {"older"}, shown)
    assert not noise._later({"new"}, {"old"}, shown)
    assert not noise._later({"unseen"}, set(), shown)
