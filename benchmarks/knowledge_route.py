"""The knowledge route on the development questions: how often the gold chunk is in the prompt, under other constants.

Documents and questions of arpm/experiments/data/noise_dev.jsonl in noise of their own language: for Chinese the novels,
for English the dialogues. Every question is asked of an empty timeline, so only documents compete. Constants are chosen
here (docs/decisions/0008); what is reported elsewhere is another set.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arpm.experiments.base import Run
from arpm.experiments.noise_set import DEVELOPMENT, LANGUAGES, QuestionSet, holding, read_set
from arpm.experiments.noise_substrate import Noise, Substrate, dialogues, novels
from arpm.experiments.stand_ins import StandIn
from arpm.service import Service
from arpm.settings import Settings
from benchmarks.report import data_folder, main, table
from governance.config import GovernanceConfig, preset

AMOUNTS = (0, 100_000)
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "RRF k = 60": {"knowledge_rrf_k": 60.0},
    "RRF k = 10": {"knowledge_rrf_k": 10.0},
    "5 chunks": {"knowledge_k": 5},
    "RRF k = 60, 5 chunks": {"knowledge_rrf_k": 60.0, "knowledge_k": 5},
    "gate off": {"gate_enabled": False},
    "BM25 off": {"bm25_enabled": False},
}


def run(quick: bool) -> dict[str, Any]:
    """Every variant at every amount of noise, both languages. Raises DataMissingError."""
    data = data_folder("chinese-novel").parent
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for language in LANGUAGES:
            laboratory = Run("knowledge_route", Settings(embedder="e5"), Path(folder), data)
            noise = novels(laboratory) if language == "zh" else dialogues(laboratory)
            if noise is not None:
                rows += _rows(laboratory, read_set(language, DEVELOPMENT), noise, AMOUNTS[:1] if quick else AMOUNTS)
    columns = (
        "questions",
        "noise",
        "characters",
        "variant",
        "gold in prompt",
        "gold first",
        "far: no document",
        "tokens",
    )
    return {"tables": [table("gold chunk in the prompt, development questions", columns, rows)]}


def _rows(laboratory: Run, questions: QuestionSet, noise: Noise, amounts: tuple[int, ...]) -> list[tuple[Any, ...]]:
    rows = []
    with Substrate(laboratory, noise, amounts, [StandIn("stand-in", lambda request: "")]) as substrate:
        for amount in amounts:
            substrate.grow(amount)
            added = {
                document.name: substrate.service.ingest(document.name, document.text.encode()).id
                for document in questions.documents
                if not document.after
            }
            for variant, changes in VARIANTS.items():
                found = _asked(substrate.service, questions, added, preset("default").changed(changes))
                rows.append((questions.language, noise.kind, amount, variant, *found))
            for id in added.values():
                substrate.service.library.remove(id, "measured")
    return rows


def _asked(
    service: Service, questions: QuestionSet, added: Mapping[str, str], config: GovernanceConfig
) -> tuple[float, float, float, int]:
    """Gold in the prompt, gold first of its route, questions about nothing there without a document; mean tokens."""
    timeline = service.create_timeline("Tamsin", "Ferrin", timezone="UTC", model="stand-in").id
    texts = {document.name: document.text for document in questions.documents}
    shown, first, empty, tokens = [], [], [], []
    for question in questions.questions:
        if any(item.source not in added for item in question.gold):
            continue
        governed = service.look(timeline, question.text, config=config).governed
        evidence = {item.memory for item in governed.evidence}
        if not question.gold:
            empty += [] if question.near else [not evidence]
            continue
        (item,) = question.gold
        gold = holding(service.catalogue.chunks(added[item.source]), texts[item.source], item.passage)
        shown.append(bool(gold & evidence))
        first.append(bool(governed.knowledge) and governed.knowledge[0].weighed.candidate.memory in gold)
        tokens.append(sum(item.tokens for item in governed.evidence))
    return (
        round(statistics.fmean(shown), 3),
        round(statistics.fmean(first), 3),
        round(statistics.fmean(empty), 2),
        round(statistics.fmean(tokens)),
    )


if __name__ == "__main__":
    main("knowledge_route", run)
