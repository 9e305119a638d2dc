"""The instruction recogniser and the importance classifier on sets that nothing was trained or chosen on.

Public inputs (IFEval, MT-Eval) are named by key, their labels were given by reading; the English and Chinese messages
of ours are in data/recogniser. docs/instructions.md says by which rule the labels were given.
"""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.examples import FOLDER
from benchmarks.report import data_folder, main, table, target
from governance.importance import classify
from governance.instructions import recognise
from retrieval.embedding import load_embedder
from retrieval.embedding.base import Embedder


@dataclass(frozen=True, slots=True)
class Input:
    """A message with its label (add, retire or none) and where it is from."""

    source: str
    key: str
    message: str
    label: str


def run(quick: bool) -> dict[str, Any]:
    """Recognise every input with the rules alone and with the classifier; time each; judge the importance set."""
    embedder = load_embedder("e5")
    inputs = list(all_inputs())[:: 20 if quick else 1]
    recognise("Warm up.", embedder)
    said, times, busy = [], [], []
    for item in inputs:
        start, used = time.perf_counter(), time.process_time()
        said.append(action_of(item.message, embedder))
        times.append(1000 * (time.perf_counter() - start))
        busy.append(1000 * (time.process_time() - used))
    rules = [action_of(item.message, None) for item in inputs]
    scores = _scores(inputs, said)
    columns = ("source", "inputs", "add", "found", "false", "recall", "precision")
    middle, late = statistics.median(times), sorted(times)[int(len(times) * 0.95)]
    pairs = zip(inputs, said, strict=True)
    return {
        "tables": [
            table("rules and classifier", columns, _rows(inputs, said)),
            table("rules alone", columns, _rows(inputs, rules)),
            table("what is what", ("label", "said", "inputs"), _confusion(inputs, said)),
            *_importance(embedder),
        ],
        "inputs": len(inputs),
        "wrong": [f"{item.source} {item.key}: {item.label}, said {got}" for item, got in pairs if item.label != got],
        "milliseconds": {
            "median": round(middle, 2),
            "p95": round(late, 2),
            "median processor time": round(statistics.median(busy), 2),
        },
        "targets": [
            target("recall of standing instructions", scores[0], 0.95, at_least=True),
            target("precision of standing instructions", scores[1], 0.85, at_least=True),
            target("median time of an input", middle, 10, unit="ms"),
        ],
    }


def action_of(message: str, embedder: Embedder | None) -> str:
    """What a message is taken for: to add anything, to take or change something back, or neither."""
    actions = {asked.action for asked in recognise(message, embedder)}
    if "add" in actions:
        return "add"
    return "retire" if actions & {"retire", "replace", "narrow"} else "none"


def all_inputs() -> Iterator[Input]:
    """The whole set. Raises DataMissingError without the public data."""
    yield from public_inputs()
    for place, line in enumerate((FOLDER / "test.tsv").read_text("utf-8").splitlines(), 1):
        if not line.startswith("#"):
            label, language, message = line.split("\t")
            yield Input(f"ours, {language}", str(place), message, label)


def public_inputs() -> Iterator[Input]:
    """The inputs whose text is in the data folder."""
    labels = json.loads((FOLDER / "test_public.json").read_text("utf-8"))
    texts = {
        "ifeval": {row["key"]: row["prompt"] for row in _lines("ifeval", "input_data.jsonl")},
        "mt-eval queries": {row["id"]: row["query"] for row in _lines("mt-eval", "global_inst.jsonl")},
        "mt-eval turns": {
            turn["id"]: turn["user"] for row in _lines("mt-eval", "cls_ablation_gold.jsonl") for turn in row["conv"]
        },
    }
    for source, known in texts.items():
        for label in ("add", "none"):
            for key in labels[source][label]:
                yield Input(source, str(key), known[key], label)


def _lines(folder: str, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (data_folder(folder) / name).read_text("utf-8").splitlines()]


def _scores(inputs: Sequence[Input], said: Sequence[str]) -> tuple[float, float, int, int, int]:
    pairs = Counter((item.label == "add", got == "add") for item, got in zip(inputs, said, strict=True))
    hits, missed, false = pairs[True, True], pairs[True, False], pairs[False, True]
    return hits / max(hits + missed, 1), hits / max(hits + false, 1), hits, missed, false


def _rows(inputs: Sequence[Input], said: Sequence[str]) -> list[list[Any]]:
    rows = []
    sources = list(dict.fromkeys(item.source for item in inputs))
    for source in [*sources, "all"]:
        places = [place for place, item in enumerate(inputs) if source in ("all", item.source)]
        recall, precision, hits, missed, false = _scores([inputs[p] for p in places], [said[p] for p in places])
        rows.append([source, len(places), hits + missed, hits, false, round(recall, 3), round(precision, 3)])
    return rows


def _confusion(inputs: Sequence[Input], said: Sequence[str]) -> list[list[Any]]:
    counted = Counter((item.label, got) for item, got in zip(inputs, said, strict=True))
    return [[*pair, count] for pair, count in sorted(counted.items())]


def _importance(embedder: Embedder) -> list[dict[str, Any]]:
    lines = (FOLDER / "importance_test.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    texts = [row[2] for row in rows]
    found = classify(texts, embedder.encode_document(texts), embedder=embedder.name)
    labels = ("CRITICAL", "RELEVANT", "TRIVIAL")
    tables = []
    for language in ("en", "zh"):
        counted = Counter((row[0], one.label) for row, one in zip(rows, found, strict=True) if row[1] == language)
        tables.append(
            table(
                f"importance, {language} (rows: label, columns: said)",
                ("label", *labels),
                [[label, *(counted[label, got] for got in labels)] for label in labels],
            )
        )
    return tables


if __name__ == "__main__":
    main("recogniser", run)
