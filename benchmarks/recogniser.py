"""The instruction recogniser and the importance classifier on messages that nothing was trained on.

Sets are reported apart. Development: messages that were looked at and by which things were chosen, prompts in the
manner of benchmarks by another hand, and the half of IFEval whose errors were read. Held out: messages by another hand
and the other public inputs (IFEval, MT-Eval), named by key; their labels were given by reading, and which of them go
wrong is never told. Held out 7 and 8: messages of the same kind that earlier recognisers were measured on, and whose
totals were known when this one was made. docs/instructions.md says by which rule labels were given.
"""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.examples import FOLDER
from benchmarks.report import data_folder, main, table, target
from governance.importance import classify
from governance.instructions import Recognised, recognise
from retrieval.embedding import load_embedder
from retrieval.embedding.base import Embedder

DEVELOPMENT = {
    "development": FOLDER / "test.tsv",
    "development 2": FOLDER / "test_2.tsv",
    "development, prompts": FOLDER / "test_prompts.tsv",
}
HELD_OUT = FOLDER / "held_out_9.tsv"
BEFORE = {
    "held out 7": FOLDER / "held_out_7.tsv",
    "held out 8": FOLDER / "held_out_8.tsv",
}
# The half of IFEval that was read: what went wrong in it belongs to development.
READ = "ifeval, read"
# A message is timed so often, and the middle time counts: others use the processor too.
_TIMES = 7
_LIMIT = 10.0


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
    # A quick run shows that the benchmark works: for that it needs no data folder, and leaves the held-out set alone.
    development = list(development_inputs())[::20] if quick else [*development_inputs(), *_public(read=True)]
    said, _ = judged(development, embedder)
    pairs = zip(development, said, strict=True)
    result: dict[str, Any] = {
        "tables": tables("development", development, said),
        "inputs": {"development": len(development), "held out": 0},
        "wrong": [
            f"{item.source} {item.key}: {item.label}, said {got}"
            for item, got in pairs
            if item.label != counted_as(got, item.label)
        ],
    }
    if quick:
        result["tables"].append(table("held out", ("note",), [["left alone by a quick run"]]))
    else:
        for name, path in BEFORE.items():
            before = list(_own(path, name))
            result["tables"] += tables(name, before, judged(before, embedder)[0])
            result["inputs"][name] = len(before)
        held_out = [*held_out_inputs(), *_public(read=False)]
        said, times = judged(held_out, embedder)
        scores = _scores(held_out, said)
        result["tables"] += tables("held out", held_out, said)
        result["tables"].append(_timed(held_out, times))
        result["inputs"]["held out"] = len(held_out)
        result["targets"] = [
            target("recall of standing instructions", scores[0], 0.95, at_least=True),
            target("precision of standing instructions", scores[1], 0.85, at_least=True),
            target("share of inputs recognised in under 10 ms", _quick(times), 1.0, at_least=True),
        ]
    result["tables"] += _importance(embedder)
    return result


def judged(inputs: Sequence[Input], embedder: Embedder) -> tuple[list[str], list[float]]:
    """What is said of each input, and the time it took in milliseconds: the middle one of some."""
    recognise("From now on, a warm-up. Could you keep it short with me?", embedder)
    said, times = [], []
    for item in inputs:
        spent = []
        for _ in range(_TIMES):
            start = time.perf_counter()
            found = recognise(item.message, embedder)
            spent.append(1000 * (time.perf_counter() - start))
        times.append(statistics.median(spent))
        said.append(action_of(found))
    return said, times


def _quick(times: Sequence[float]) -> float:
    return sum(spent < _LIMIT for spent in times) / len(times)


def _timed(inputs: Sequence[Input], times: Sequence[float]) -> dict[str, Any]:
    rows = []
    for source in [*dict.fromkeys(item.source for item in inputs), "all"]:
        own = sorted(spent for item, spent in zip(inputs, times, strict=True) if source in ("all", item.source))
        high = [own[int(len(own) * share)] for share in (0.5, 0.95)]
        rows.append([source, len(own), *(round(spent, 2) for spent in (*high, own[-1])), round(_quick(own), 4)])
    return table("held out: milliseconds", ("source", "inputs", "median", "p95", "most", "under 10"), rows)


def tables(part: str, inputs: Sequence[Input], said: Sequence[str]) -> list[dict[str, Any]]:
    """The tables of one of the sets."""
    rules = [action_of(recognise(item.message)) for item in inputs]
    columns = ("source", "inputs", "add", "found", "false", "recall", "precision")
    return [
        table(f"{part}: rules and classifier", columns, _rows(inputs, said)),
        table(f"{part}: rules alone", columns, _rows(inputs, rules)),
        table(f"{part}: what is what", ("label", "said", "inputs"), _confusion(inputs, said)),
    ]


EITHER = "by what is in force"


def action_of(found: Sequence[Recognised]) -> str:
    """What a message is taken for: to add anything, to take or change something back, neither, or `EITHER`."""
    actions = {asked.action for asked in found}
    if "add" in actions:
        return "add"
    if any(asked.or_add for asked in found):
        return EITHER
    return "retire" if actions & {"retire", "replace", "narrow"} else "none"


def counted_as(said: str, label: str) -> str:
    """What counts as said: "stop using emojis" does the one or the other by what is in force (`or_add`).

    A message alone does not tell: it is right under both labels, and a false addition where nothing was asked for.
    """
    if said != EITHER:
        return said
    return label if label in ("add", "retire") else "add"


def development_inputs() -> Iterator[Input]:
    """Messages in the project that things were chosen by: ours, and those of two other hands."""
    for name, path in DEVELOPMENT.items():
        yield from _own(path, name)


def held_out_inputs() -> Iterator[Input]:
    """Messages by another hand, looked at by nobody who trains or chooses."""
    yield from _own(HELD_OUT, "held out")


def _own(path: Path, name: str) -> Iterator[Input]:
    for place, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line and not line.startswith("#"):
            label, language, message = line.split("\t")
            yield Input(f"{name}, {language}", str(place), message, label)


def _public(*, read: bool) -> list[Input]:
    return [item for item in public_inputs() if (item.source == READ) == read]


def public_inputs() -> Iterator[Input]:
    """The inputs whose text is in the data folder. Raises DataMissingError without it."""
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
                yield Input(READ if source == "ifeval" and key % 2 == 0 else source, str(key), known[key], label)


def _lines(folder: str, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (data_folder(folder) / name).read_text("utf-8").splitlines()]


def _scores(inputs: Sequence[Input], said: Sequence[str]) -> tuple[float, float, int, int, int]:
    counted = [(item.label, counted_as(got, item.label)) for item, got in zip(inputs, said, strict=True)]
    pairs = Counter((label == "add", got == "add") for label, got in counted)
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
