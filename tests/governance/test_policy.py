"""A question governed end to end with the default config: real indexes, real scores, a long conversation."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from governance.config import GovernanceConfig
from governance.decay import Moment
from governance.policy import Governed, Situation, govern, searched_with
from retrieval.candidates import Candidate
from retrieval.experience import ExperienceIndex
from retrieval.knowledge import KnowledgeIndex
from retrieval.text import language
from tests.retrieval.support import EMBEDDER, START, atom, document, search

ROUNDS = 200
SMALL_TALK = (
    "The weather is nice today.",
    "I read a novel about sailors.",
    "We had soup for lunch.",
    "My neighbour bought a red bike.",
    "The train was late again.",
    "今天天气很好。",
    "我们中午喝了汤。",
    "邻居买了一辆红色的自行车。",
    "火车又晚点了。",
)
DEFAULT = GovernanceConfig()
NOW = Moment(ROUNDS + 1, START + timedelta(minutes=10 * (ROUNDS + 1)))


def lived(facts: Mapping[int, str]) -> ExperienceIndex:
    """Two hundred rounds of small talk with the facts told in the rounds given."""
    atoms = [
        atom(number, facts.get(number, SMALL_TALK[number % len(SMALL_TALK)]), session=f"s{number // 20}")
        for number in range(1, ROUNDS + 1)
    ]
    index = ExperienceIndex(EMBEDDER)
    index.add(atoms)
    return index


def governed(
    question: str,
    experience: ExperienceIndex,
    knowledge: KnowledgeIndex | None = None,
    config: GovernanceConfig = DEFAULT,
    window: tuple[str, ...] = (),
) -> Governed:
    def round_of(candidate: Candidate) -> int | None:
        return candidate.round if candidate.route == "experience" else 0

    return govern(
        search(knowledge, question, config) if knowledge else [],
        search(experience, question, config, session=f"s{ROUNDS // 20}"),
        config,
        Situation(NOW, ZoneInfo("Asia/Shanghai"), language(question), frozenset(window), round_of, len),
    )


def ranking(result: Governed) -> list[str]:
    return [d.weighed.candidate.memory for d in result.experience if d.kept]


CORRECTIONS = [
    (
        "My dentist appointment is on 12 March.",
        "Correction: my dentist appointment was moved to 19 March.",
        "When is my dentist appointment?",
    ),
    ("My favourite colour is green.", "Actually my favourite colour is blue now.", "What is my favourite colour?"),
    ("The project deadline is Friday.", "The project deadline changed: it is Monday.", "When is the project deadline?"),
    ("My sister Lena lives in Oslo.", "I was wrong, Lena lives in Bergen.", "Where does my sister Lena live?"),
    ("We meet at the north gate.", "No, let us meet at the south gate instead.", "Which gate do we meet at?"),
    ("我的生日是五月三日。", "更正一下，我的生日是五月八日。", "我的生日是哪天？"),
    ("会议在三号会议室。", "会议改到五号会议室了。", "会议在哪个会议室？"),
    ("我最喜欢的颜色是绿色。", "其实我现在最喜欢的颜色是蓝色。", "我最喜欢的颜色是什么？"),
    ("版本号是 4.1.0。", "我说错了，版本号是 4.2.0。", "版本号是多少？"),
    ("我们约在北门见面。", "改了，我们约在南门见面。", "我们在哪个门见面？"),
]


class TestRecency:
    @pytest.mark.parametrize("ago", [1, 3, 6, 10])
    @pytest.mark.parametrize(("old", "new", "question"), CORRECTIONS)
    def test_recent_corrections_beat_old_facts(self, old: str, new: str, question: str, ago: int) -> None:
        """Old facts won over newer ones: one rank in the fusion outweighed all of recency at a floor of 0.8."""
        ranked = ranking(governed(question, lived({10: old, ROUNDS - ago: new})))
        assert ranked[0] == f"m{ROUNDS - ago}"
        assert "m10" in ranked

    @pytest.mark.parametrize(("old", "new", "question"), CORRECTIONS)
    def test_both_are_shown_with_the_later_one_last(self, old: str, new: str, question: str) -> None:
        """Where two memories disagree the later one holds, so the model has to see which that is."""
        shown = [item.memory for item in governed(question, lived({10: old, 150: new})).evidence]
        assert {"m10", "m150"} <= set(shown)
        assert shown.index("m10") < shown.index("m150")

    @pytest.mark.parametrize(
        ("fact", "question"),
        [
            ("I lived in Porto before I moved.", "Where did I live before I moved?"),
            ("I am allergic to penicillin.", "Am I allergic to anything, penicillin perhaps?"),
            ("我对青霉素过敏。", "我对什么过敏？"),
            ("我小时候住在大连。", "我小时候住在哪里？"),
        ],
    )
    def test_an_old_fact_stays_reachable(self, fact: str, question: str) -> None:
        """With the paper's floor of 0 everything older than about fifty rounds was unreachable; only the newest
        memories reached the prompt."""
        assert ranking(governed(question, lived({2: fact})))[0] == "m2"


class TestNothingMatches:
    @pytest.mark.parametrize(
        "question",
        ["Xylophone quasar zymurgy?", "量子纠缠的原理？", "How do I configure an nginx proxy?", "?!", "的了吗"],
    )
    def test_a_question_nothing_matches_gets_no_evidence(self, question: str) -> None:
        """Trap 4, and fusion that returned the top N for a nonsense phrase."""
        index, knowledge = lived({}), KnowledgeIndex(EMBEDDER)
        knowledge.add("d", document("d", "Bees make honey. 蜜蜂酿蜜。"))
        result = governed(question, index, knowledge)
        assert result.evidence == ()
        assert {d.reason for d in (*result.knowledge, *result.experience)} == {"nothing matches"}

    def test_ten_different_questions_do_not_get_the_same_memories(self) -> None:
        facts = ["猫叫米粒", "住在苏州", "对花生过敏", "妹妹学小提琴", "喜欢爬山", "在银行上班", "怕打雷", "养了金鱼"]
        index = lived({10 * (n + 1): f"我{fact}。" for n, fact in enumerate(facts)})
        asked = "猫叫什么？ 我住在哪里？ 花生过敏吗？ 妹妹学什么？ 喜欢爬山吗？ 在银行上班吗？ 怕打雷吗？ 养了金鱼吗？"
        questions = asked.split()
        firsts = [ranking(governed(question, index))[0] for question in questions]
        assert firsts == [f"m{10 * (n + 1)}" for n in range(len(questions))]


class TestBothRoutes:
    def test_knowledge_and_experience_meet_in_one_order_under_one_budget(self) -> None:
        knowledge = KnowledgeIndex(EMBEDDER)
        knowledge.add("d", document("d", "The dentist works on Mondays. 牙医周一上班。"))
        index = lived({50: "My dentist is called Dr. Lopez."})
        whole = governed("Who is my dentist and when does the dentist work?", index, knowledge)
        assert {d.weighed.candidate.route for d in whole.knowledge} == {"knowledge"}
        assert {d.weighed.candidate.route for d in whole.experience} == {"experience"}
        assert [(item.label, item.route) for item in whole.evidence][:2] == [("E1", "knowledge"), ("E2", "experience")]
        spent = sum(item.tokens for item in whole.evidence)
        tight = DEFAULT.changed({"evidence_budget": spent - 1})
        fewer = governed("Who is my dentist and when does the dentist work?", index, knowledge, tight)
        assert len(fewer.evidence) == len(whole.evidence) - 1
        assert sum(item.tokens for item in fewer.evidence) < spent

    def test_what_the_window_shows_is_not_shown_twice(self) -> None:
        index = lived({199: "My dentist is called Dr. Lopez."})
        result = governed("Who is my dentist?", index, window=("m199",))
        assert "m199" not in [item.memory for item in result.evidence]
        assert next(d for d in result.experience if d.weighed.candidate.memory == "m199").reason == "in the window"

    def test_every_candidate_has_its_decision(self) -> None:
        index = lived({50: "My dentist is called Dr. Lopez."})
        result = governed("Who is my dentist?", index)
        found = search(index, "Who is my dentist?", DEFAULT, session=f"s{ROUNDS // 20}")
        assert {d.weighed.candidate.memory for d in result.experience} == {c.memory for c in found}
        assert result.knowledge == ()

    def test_the_same_moment_gives_the_same_decisions(self) -> None:
        """Trap 7: nothing but the moment given may enter, or a turn cannot be replayed."""
        index = lived({50: "My dentist is called Dr. Lopez."})
        assert governed("Who is my dentist?", index) == governed("Who is my dentist?", index)

    def test_cues_are_in_the_persons_days_and_the_questions_language(self) -> None:
        index = lived({190: "My dentist is called Dr. Lopez."})
        cues = {item.memory: item.cue for item in governed("Who is my dentist?", index).evidence}
        assert cues["m190"] == "2026-03-03 00:40, 11 rounds ago, today"
        chinese = {item.memory: item.cue for item in governed("我的 dentist 是谁？", index).evidence}
        assert chinese["m190"] == "2026-03-03 00:40，11轮之前，今天"


def test_the_bm25_baseline_has_no_lane_of_ours() -> None:
    searched = searched_with(GovernanceConfig(policy="bm25"))
    assert searched.history_bm25_enabled and not searched.exact_lane and not searched.corrections_enabled
