"""How much a past message matters: rules, the classifier, and both languages."""

from __future__ import annotations

import numpy as np
import pytest

from governance import importance
from governance.importance import KINDS, Decision, RememberingClassifier, by_rule, classify, concerns_safety
from governance.softmax import load_softmax
from retrieval.embedding import load_embedder
from retrieval.embedding.base import Embedder


@pytest.fixture(scope="module")
def e5() -> Embedder:
    return load_embedder("e5")


def judged(embedder: Embedder, *texts: str) -> list[Decision]:
    return classify(texts, embedder.encode_document(texts), embedder=embedder.name)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("I'm allergic to peanuts.", "CRITICAL"),
        ("我对青霉素过敏。", "CRITICAL"),
        ("My son was diagnosed with epilepsy.", "CRITICAL"),
        ("From now on, answer in French.", "CRITICAL"),
        ("以后都用中文回答我。", "CRITICAL"),
        ("We have to leave the country before the visa ends.", "CRITICAL"),
        ("I work as a nurse in Oslo.", "RELEVANT"),
        ("我在杭州当老师。", "RELEVANT"),
        ("How do I prune a rose?", "RELEVANT"),
        ("We decided to take the train.", "RELEVANT"),
        ("ok thanks!", "TRIVIAL"),
        ("好的，谢谢！", "TRIVIAL"),
        ("哈哈哈", "TRIVIAL"),
        ("", "TRIVIAL"),
        ("Nice weather again today.", "TRIVIAL"),
    ],
)
def test_a_message_gets_its_label_with_a_probability_and_a_reason(e5: Embedder, text: str, label: str) -> None:
    (found,) = judged(e5, text)
    assert found.label == label
    assert 0 < found.probability <= 1 and found.reason.startswith(("rule: ", "classifier: "))


@pytest.mark.parametrize("text", ["What is an allergy?", "什么是花粉过敏？", 'She wrote "I am allergic to dust".'])
def test_a_question_about_illness_or_a_quotation_is_no_rule_for_critical(text: str) -> None:
    """An encyclopaedia question would have been kept word for word for ever."""
    assert by_rule(text) is None


@pytest.mark.parametrize(
    "text",
    ["Are ducks allowed in the fountain?", "上山能不能坐缆车？", "Must the rice soak first?", "这家店让不让外带？"],
)
def test_a_question_about_what_may_or_must_be_done_is_no_hard_limit(e5: Embedder, text: str) -> None:
    """Such questions took the place of an allergy in a budget of 100 tokens."""
    (found,) = judged(e5, text)
    assert found.label != "CRITICAL"


def test_a_message_is_judged_once_and_as_ever(e5: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under adaptive focus every turn ran a dozen patterns over every earlier message: seconds after 10,000 of them."""
    texts = ["I'm allergic to peanuts.", "我在杭州当老师。", "ok thanks!", "How do I prune a rose?"]
    vectors = e5.encode_document(texts)
    judge = RememberingClassifier(e5.name)
    assert judge(texts[:2], vectors[:2]) == judged(e5, *texts[:2])
    seen: list[str] = []
    monkeypatch.setattr(importance, "by_rule", lambda text: seen.append(text) or by_rule(text))  # type: ignore[func-returns-value]
    assert judge(texts[::-1], vectors[::-1]) == judged(e5, *texts)[::-1]
    assert seen[:2] == texts[:1:-1] and len(seen) == 2 + len(texts)


def test_what_is_remembered_has_an_end(e5: Embedder) -> None:
    texts = [f"Note {number}." for number in range(5)]
    vectors = e5.encode_document(texts)
    judge = RememberingClassifier(e5.name, most=3)
    assert judge(texts, vectors) == judge(texts[::-1], vectors[::-1])[::-1]
    assert len(judge._decided) == 3


def test_another_embedder_leaves_it_to_the_rules() -> None:
    texts = ["I'm allergic to peanuts.", "I live in Oslo.", "ok"]
    hashing = load_embedder("hashing")
    found = classify(texts, hashing.encode_document(texts), embedder=hashing.name)
    assert [one.label for one in found] == ["CRITICAL", "RELEVANT", "TRIVIAL"]
    assert "knows another embedder" in found[1].reason
    assert found == classify(texts)


def test_vectors_must_be_one_for_each_text() -> None:
    with pytest.raises(ValueError, match="2 texts come with 1 vectors"):
        classify(["a", "b"], np.zeros((1, 384), np.float32), embedder="any")


def test_order_and_company_do_not_matter(e5: Embedder) -> None:
    texts = ["I live in Oslo.", "ok", "My visa ends on Friday.", "我喜欢爬山。"]
    vectors = e5.encode_document(texts)
    whole = classify(texts, vectors, embedder=e5.name)
    single = [classify([text], vectors[place : place + 1], embedder=e5.name)[0] for place, text in enumerate(texts)]
    assert [one.label for one in whole] == [one.label for one in single]
    assert classify([], vectors[:0], embedder=e5.name) == []


def test_safety_is_told_by_words_alone() -> None:
    assert concerns_safety("Never suggest peanuts, I'm allergic.") and concerns_safety("我对花生过敏")
    assert not concerns_safety("Always rhyme.")


def test_every_kind_has_a_label() -> None:
    assert set(load_softmax("importance").kinds) == set(KINDS)
