"""`python -m benchmarks.training [recogniser] [importance]`: train the packaged classifiers on the examples of ours.

Deterministic: the same examples, embedder and libraries give the same weights. The penalty is chosen by
cross-validation over lines (never two fillings of one line on both sides), the threshold on the development sections.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from benchmarks.examples import FOLDER, Example, digest, marked, read_examples
from governance import importance, recogniser
from governance.instruction_rules import QUOTED
from governance.instructions import blank
from governance.softmax import Floats
from retrieval.embedding import load_embedder
from retrieval.embedding.base import Embedder
from retrieval.text import sentences

WEIGHTS = Path(__file__).parents[1] / "governance" / "weights"
PENALTIES = (0.1, 0.3)


def recogniser_sentences(example: Example) -> list[recogniser.Sentence]:
    """The sentences of an example that are of its kind, as the recogniser sees them."""
    message, target = marked(example.message)
    blanked = QUOTED.sub(blank, message)
    spans = list(sentences(blanked))
    inside = recogniser.in_context([blanked[start:end] for start, end in spans])
    if target is None:
        # A quotation is judged with its words: the blanks are what the rules see.
        return inside
    start = message.index(target)
    return [item for item, span in zip(inside, spans, strict=True) if start <= span.start < start + len(target)]


def fit(features: Floats, kinds: Sequence[str], penalty: float) -> LogisticRegression:
    """The classifier, classes weighed so that rare kinds count as much as frequent ones' square root."""
    names, counts = np.unique(kinds, return_counts=True)
    weight = {name: float(np.sqrt(counts.mean() / count)) for name, count in zip(names, counts, strict=True)}
    return LogisticRegression(C=penalty, class_weight=weight, max_iter=400, tol=1e-3).fit(features, kinds)


def crossed(features: Floats, kinds: Floats, groups: Sequence[int], positive: Sequence[str], penalty: float) -> Floats:
    """P(positive kind) of every example by a classifier that saw no filling of its line; shape (n,)."""
    said = np.zeros(len(kinds))
    for train, test in GroupKFold(3).split(features, kinds, groups):
        model = fit(features[train], kinds[train], penalty)
        said[test] = positive_share(model, features[test], positive)
    return said


def positive_share(model: LogisticRegression, features: Floats, positive: Sequence[str]) -> Floats:
    """P(positive kind), shape (n,)."""
    columns = [list(model.classes_).index(kind) for kind in positive]
    share: Floats = model.predict_proba(features)[:, columns].sum(axis=1)
    return share


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


def chosen(
    features: Floats, kinds: Floats, dev: Floats, groups: Sequence[int], positive: Sequence[str]
) -> tuple[LogisticRegression, float, Floats]:
    """The classifier, its threshold and what it says of the development examples."""
    results = []
    for penalty in PENALTIES:
        said = crossed(features[~dev], kinds[~dev], groups, positive, penalty)
        true = np.isin(kinds[~dev], positive)
        score, threshold = best_threshold(said, true)
        print(f"  C={penalty}: F1 {score:.4f} at {threshold:.2f}", flush=True)
        results.append((score, penalty, said))
    _, penalty, said = max(results, key=lambda row: row[0])
    model = fit(features[~dev], kinds[~dev], penalty)
    judged = positive_share(model, features[dev], positive)
    # Missing an instruction loses it, a false one can be retired (REA, section 4.5): so F2, over lines never seen.
    pooled = np.concatenate([said, judged])
    score, threshold = best_threshold(pooled, np.isin(np.concatenate([kinds[~dev], kinds[dev]]), positive), 2.0)
    print(f"  C={penalty}, threshold {threshold:.2f}: F2 {score:.4f}", flush=True)
    return model, threshold, judged


def train_recogniser(embedder: Embedder) -> None:
    """Train on the examples, choose the threshold on the development ones, write the weights."""
    path = FOLDER / "examples.txt"
    rows = [(item, example) for example in read_examples(path, 3) for item in recogniser_sentences(example)]
    features = recogniser.features([item for item, _ in rows], recogniser.vectors_of([r[0] for r in rows], embedder))
    kinds = np.array([example.kind for _, example in rows])
    dev = np.array([example.dev for _, example in rows])
    print(f"recogniser: {(~dev).sum()} training sentences, {dev.sum()} of development")
    groups = [example.line for _, example in rows if not example.dev]
    model, threshold, said = chosen(features, kinds, dev, groups, recogniser.STANDING)
    true = np.isin(kinds[dev], recogniser.STANDING)
    for (item, example), value, yes in zip([r for r, d in zip(rows, dev, strict=True) if d], said, true, strict=True):
        if (value >= threshold) != yes:
            print(f"    {example.kind:12} {value:.2f} {item.text}")
    save("recogniser", embedder, model, recogniser.CUES, threshold, digest(path))


def save(
    name: str, embedder: Embedder, model: LogisticRegression, cues: Sequence[str], threshold: float, examples: str
) -> None:
    """Write the weights as plain arrays, in half precision: they need no more."""
    WEIGHTS.mkdir(exist_ok=True)
    np.savez_compressed(
        WEIGHTS / f"{name}.npz",
        embedder=np.array(embedder.name),
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
    model, threshold, said = chosen(features, kinds, dev, groups, critical)
    for example, value in zip([e for e in examples if e.dev], said, strict=True):
        if (value >= threshold) != (example.kind in critical):
            print(f"    {example.kind:12} {value:.2f} {example.message}")
    save("importance", embedder, model, importance.CUES, threshold, digest(path))


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
