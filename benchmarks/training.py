"""`python -m benchmarks.training [recogniser] [importance]`: train the packaged classifiers on the examples of ours.

Deterministic: the same examples, embedder and libraries give the same weights. The penalty is chosen by
cross-validation over lines (never two fillings of one line on both sides), the threshold on what is said of lines never
seen. How often each rule is right on the examples is counted as well.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from benchmarks.everyday import KIND as EVERYDAY
from benchmarks.everyday import everyday_sentences
from benchmarks.examples import FOLDER, Example, digest, marked, read_examples
from governance import importance, recogniser
from governance.instruction_rules import QUOTED, plain
from governance.instructions import blank, by_rule
from governance.rule_rates import RATES
from governance.softmax import Floats, features_of, together
from retrieval.embedding import load_embedder
from retrieval.embedding.base import Embedder
from retrieval.text import sentences

WEIGHTS = Path(__file__).parents[1] / "governance" / "weights"
PENALTIES = (0.1, 0.3)
WORD_PENALTIES = (1.0,)
FILLINGS = 2


def recogniser_sentences(example: Example) -> list[recogniser.Sentence]:
    """The sentences of an example that are of its kind, as the recogniser sees them."""
    message, target = marked(example.message)
    blanked = QUOTED.sub(blank, message)
    spans = list(sentences(blanked))
    inside = recogniser.in_context([plain(blanked[start:end]) for start, end in spans])
    if target is None:
        # A quotation is judged with its words: the blanks are what the rules see.
        return [in_company(inside[0], example)] if len(inside) == 1 else inside
    start = message.index(target)
    return [item for item, span in zip(inside, spans, strict=True) if start <= span.start < start + len(target)]


def in_company(sentence: recogniser.Sentence, example: Example) -> recogniser.Sentence:
    """The only sentence of a message; of every third line as it would stand behind others, where most are said.

    What says that it lasts does so beside a question too.
    """
    if example.line % 3:
        return sentence
    asked = example.kind == "standing" and example.line % 2 == 0
    return replace(sentence, alone=False, first=False, question_elsewhere=asked, beside_a_task=asked)


def fit(features: Floats | csr_matrix, kinds: Sequence[str], penalty: float) -> LogisticRegression:
    """The classifier, classes weighed so that rare kinds count as much as frequent ones' square root."""
    names, counts = np.unique(kinds, return_counts=True)
    weight = {name: float(np.sqrt(counts.mean() / count)) for name, count in zip(names, counts, strict=True)}
    return LogisticRegression(C=penalty, class_weight=weight, max_iter=300, tol=1e-3).fit(features, kinds)


def crossed(features: Floats | csr_matrix, kinds: Floats, groups: Sequence[int], penalty: float) -> Floats:
    """P(each kind) of every example by a classifier that saw no filling of its line; shape (n, kinds)."""
    names = np.unique(kinds)
    said = np.zeros((len(kinds), len(names)))
    for train, test in GroupKFold(3).split(features, kinds, groups):
        model = fit(features[train], kinds[train], penalty)
        said[np.ix_(test, np.searchsorted(names, model.classes_))] = model.predict_proba(features[test])
    return said


def share(said: Floats, names: Sequence[str], positive: Sequence[str]) -> Floats:
    """P(positive kind) from P(each kind of `names`); shape (n,)."""
    summed: Floats = said[:, np.isin(names, positive)].sum(axis=1)
    return summed


def best_threshold(said: Floats, true: Floats, beta: float = 1.0) -> tuple[float, float]:
    """The best F_beta and its threshold, with what is not positive weighed up to nine tenths of all, as in use."""
    weight = 9 * true.sum() / (~true).sum()
    best = (-1.0, 0.5)
    for threshold in np.arange(0.2, 0.91, 0.05):
        hits = float(((said >= threshold) & true).sum())
        false = float(((said >= threshold) & ~true).sum()) * weight
        missed = float(((said < threshold) & true).sum())
        score = (1 + beta**2) * hits / ((1 + beta**2) * hits + beta**2 * missed + false)
        best = max(best, (score, float(round(threshold, 2))))
    return best


def best_penalty(
    features: Floats | csr_matrix,
    kinds: Floats,
    groups: Sequence[int],
    positive: Sequence[str],
    penalties: Sequence[float],
) -> tuple[float, Floats]:
    """The penalty with the best F1 over lines never seen, and P(each kind) of every example under it."""
    names, results = np.unique(kinds), []
    for penalty in penalties:
        said = crossed(features, kinds, groups, penalty)
        score, threshold = best_threshold(share(said, names, positive), np.isin(kinds, positive))
        print(f"  C={penalty}: F1 {score:.4f} at {threshold:.2f}", flush=True)
        results.append((score, penalty, said))
    _, penalty, said = max(results, key=lambda row: row[0])
    return penalty, said


def threshold_of(said: Floats, true: Floats) -> float:
    """Missing an instruction loses it, a false one can be retired (REA, section 4.5): so the best F2."""
    score, threshold = best_threshold(said, true, 2.0)
    print(f"  threshold {threshold:.2f}: F2 {score:.4f}", flush=True)
    return threshold


def train_recogniser(embedder: Embedder) -> None:
    """Train both classifiers on the examples, choose penalties and threshold, count the rules; write it all."""
    path = FOLDER / "examples.txt"
    rows = [(item, example) for example in read_examples(path, FILLINGS) for item in recogniser_sentences(example)]
    count_rules(rows, digest(path))
    # A line of its own for each, behind the lines of the file.
    everyday = [
        (item, Example(EVERYDAY, "", item.text, False, 1_000_000 + place))
        for place, item in enumerate(everyday_sentences())
    ]
    rows += everyday
    items = [item for item, _ in rows]
    found = recogniser.cue_rows(items)
    by_vector = features_of(recogniser.vectors_of(items, embedder), found)
    by_words = csr_matrix(recogniser.word_features(items, found))
    kinds = np.array([example.kind for _, example in rows])
    dev = np.array([example.dev for _, example in rows])
    groups = [example.line for _, example in rows if not example.dev]
    print(f"recogniser: {(~dev).sum()} training sentences ({len(everyday)} everyday), {dev.sum()} of development")
    names = np.unique(kinds)
    models, unseen = [], []
    for features, penalties in ((by_vector, PENALTIES), (by_words, WORD_PENALTIES)):
        penalty, said = best_penalty(features[~dev], kinds[~dev], groups, recogniser.STANDING, penalties)
        model = fit(features[~dev], kinds[~dev], penalty)
        models.append(model)
        unseen.append(np.concatenate([said, model.predict_proba(features[dev])]))
    said = share(together(*unseen), names, recogniser.STANDING)
    true = np.isin(np.concatenate([kinds[~dev], kinds[dev]]), recogniser.STANDING)
    threshold = threshold_of(said, true)
    judged = [row for row, kept in zip(rows, dev, strict=True) if kept]
    for (item, example), value, yes in zip(judged, said[(~dev).sum() :], true[(~dev).sum() :], strict=True):
        if (value >= threshold) != yes:
            print(f"    {example.kind:12} {value:.2f} {item.text}")
    save(recogniser.WEIGHTS, embedder.name, models[0], recogniser.CUES, threshold, digest(path))
    save(recogniser.WORDS, "", models[1], recogniser.CUES, threshold, digest(path))


def count_rules(rows: Sequence[tuple[recogniser.Sentence, Example]], examples: str) -> None:
    """Write how often each rule decided an example, and how often rightly."""
    fired: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for item, example in rows:
        decision = by_rule(item.text)
        if decision is None:
            continue
        action, rule, _, _, or_add = decision
        if rule is not None:
            fired[rule] += 1
            right[rule] += action in asked_by(example.kind) or (or_add and "add" in asked_by(example.kind))
    print(f"  rules: {right.total()} of {fired.total()} decisions right")
    rules = {rule: [right[rule], fired[rule]] for rule in sorted(fired)}
    text = json.dumps({"examples": examples, "rules": rules}, ensure_ascii=False, indent=1)
    (WEIGHTS / RATES).write_text(f"{text}\n", "utf-8")


def asked_by(kind: str) -> tuple[str, ...]:
    """What a sentence of this kind asks of the list of instructions."""
    if kind in recogniser.STANDING:
        return ("add",)
    return {"takeback": ("retire",), "change": ("replace", "narrow", "retire"), "override": ("refuse",)}.get(kind, ())


def save(
    name: str, embedder: str, model: LogisticRegression, cues: Sequence[str], threshold: float, examples: str
) -> None:
    """Write the weights as plain arrays, in half precision: they need no more."""
    WEIGHTS.mkdir(exist_ok=True)
    np.savez_compressed(
        WEIGHTS / f"{name}.npz",
        embedder=np.array(embedder),
        kinds=np.array(model.classes_, dtype=np.str_),
        cues=np.array(cues, dtype=np.str_),
        weights=model.coef_.astype(np.float16),
        bias=model.intercept_.astype(np.float32),
        threshold=np.array(threshold),
        examples=np.array(examples),
    )
    print(f"  written to {WEIGHTS / name}.npz")


def train_importance(embedder: Embedder) -> None:
    """Train on the examples; the threshold of CRITICAL is chosen on the development ones. Write the weights."""
    path = FOLDER / "importance.txt"
    examples = read_examples(path)
    texts = [example.message for example in examples]
    features = importance.features(texts, embedder.encode_document(texts))
    kinds = np.array([example.kind for example in examples])
    dev = np.array([example.dev for example in examples])
    critical = [kind for kind, label in importance.KINDS.items() if label == "CRITICAL"]
    print(f"importance: {(~dev).sum()} training messages, {dev.sum()} of development")
    groups = [example.line for example in examples if not example.dev]
    penalty, said = best_penalty(features[~dev], kinds[~dev], groups, critical, PENALTIES)
    model = fit(features[~dev], kinds[~dev], penalty)
    judged = share(model.predict_proba(features[dev]), model.classes_, critical)
    pooled = np.concatenate([share(said, model.classes_, critical), judged])
    threshold = threshold_of(pooled, np.isin(np.concatenate([kinds[~dev], kinds[dev]]), critical))
    for example, value in zip([e for e in examples if e.dev], judged, strict=True):
        if (value >= threshold) != (example.kind in critical):
            print(f"    {example.kind:12} {value:.2f} {example.message}")
    save("importance", embedder.name, model, importance.CUES, threshold, digest(path))


TRAINERS = {"recogniser": train_recogniser, "importance": train_importance}


def main(arguments: list[str] | None = None) -> int:
    """Train what was named, or everything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*TRAINERS, []])
    embedder = load_embedder("e5")
    for name in parser.parse_args(arguments).names or TRAINERS:
        TRAINERS[name](embedder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
