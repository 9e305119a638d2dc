"""`python -m benchmarks.training [recogniser] [importance]`: train the packaged classifiers on the examples of ours.

Deterministic: the same examples, embedder, machine and libraries give the same weights. Of the importance classifier
the penalty is chosen by cross-validation over lines (never two fillings of one line on both sides), the threshold on
what is said of lines never seen.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from benchmarks.examples import FOLDER, digest, read_examples
from benchmarks.recogniser_training import train_recogniser
from benchmarks.thresholds import best_threshold, threshold_of
from governance import importance
from governance.softmax import Floats
from retrieval.embedding import load_embedder
from retrieval.embedding.base import Embedder

WEIGHTS = Path(__file__).parents[1] / "governance" / "weights"
PENALTIES = (0.1, 0.3)


def fit(features: Floats, kinds: Sequence[str], penalty: float) -> LogisticRegression:
    """The classifier, classes weighed so that rare kinds count as much as frequent ones' square root."""
    names, counts = np.unique(kinds, return_counts=True)
    weight = {name: float(np.sqrt(counts.mean() / count)) for name, count in zip(names, counts, strict=True)}
    return LogisticRegression(C=penalty, class_weight=weight, max_iter=300, tol=1e-3).fit(features, kinds)


def crossed(features: Floats, kinds: Floats, groups: Sequence[int], penalty: float) -> Floats:
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


def best_penalty(
    features: Floats,
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


TRAINERS: dict[str, Callable[[Embedder], None]] = {
    "recogniser": lambda embedder: train_recogniser(WEIGHTS, embedder.name),
    "importance": train_importance,
}


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
