"""Conformance: every number of the published calculation log that follows from its printed parts, by our functions.

The log (50 rounds of ARPM's 1:5 experiment) prints six decimals, so a row follows when our result differs by at most
1e-5. Not printed, and so not an error of ours, are the lengths of documents (taken from one token's weight; all others
must agree with it) and which of two printed ranks took part in a fusion. What does not follow is listed.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import data_folder, main, table, target
from governance.decay import clock_decay, round_decay, temporal_weight
from retrieval.bm25 import idf, term_weight
from retrieval.config import RetrievalConfig
from retrieval.fusion import calibrated_similarity, lowered_to_one, reciprocal_rank_fusion

TOLERANCE = 1e-5
# Rows of each kind known not to follow from what is printed beside them.
KNOWN = {"BM25 sum": 2, "RRF": 33}

Round = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One published number beside what our functions make of its printed parts."""

    kind: str
    round: int
    item: str
    printed: float
    recomputed: float

    @property
    def follows(self) -> bool:
        return abs(self.printed - self.recomputed) <= TOLERANCE


def rows(entry: Round) -> Iterator[Row]:
    """Every number of one round that can be recomputed."""
    for kind, item, printed, recomputed in (
        *_bm25(entry),
        *_fusion(entry),
        *_knowledge(entry),
        *_history(entry),
    ):
        yield Row(kind, entry["round"], item, printed, recomputed)


_Figure = tuple[str, str, float, float]


def _bm25(entry: Round) -> Iterator[_Figure]:
    """Idf, term weight and contribution of every token, and their sums (equation 2)."""
    constants = entry["bm25_params"]
    for document in entry["bm25"]:
        name, tokens = document["parent_id"], document["tokens"]
        length = _length(tokens, constants)
        for token in tokens:
            item = f"{name} {token['token']}"
            containing = _containing(token["idf"], constants)
            yield "idf", item, token["idf"], idf(constants["total_docs"], containing, constants["delta"])
            weight = term_weight(token["tf"], length, constants["avgdl"], constants["k1"], constants["b"])
            yield "term weight", item, token["tf_weight"], weight
            yield "token contribution", item, token["contribution"], token["idf"] * token["tf_weight"]
        yield "BM25 sum", name, document["score"], sum(token["contribution"] for token in tokens)


def _length(tokens: list[Mapping[str, Any]], constants: Mapping[str, float]) -> int:
    """The document length that the first matching token's weight implies: equation (2) solved for |d|."""
    token = next((token for token in tokens if token["tf"]), None)
    if token is None:
        return 0
    norm: float = token["tf"] * ((constants["k1"] + 1) / token["tf_weight"] - 1) / constants["k1"]
    return round((norm - 1 + constants["b"]) / constants["b"] * constants["avgdl"])


def _containing(printed: float, constants: Mapping[str, float]) -> int:
    """The document frequency that a printed idf implies; any above half of the documents gives the same idf."""
    if printed == 0:
        return 0
    odds, total = math.exp(printed - constants["delta"]), constants["total_docs"]
    return round((total + 0.5 - 0.5 * odds) / (1 + odds))


def _fusion(entry: Round) -> Iterator[_Figure]:
    """RRF of the printed ranks, which count from one (equation 3)."""
    for row in entry["rrf"]:
        ranks = [rank - 1 for rank in (row["rank_vector"], row["rank_bm25"]) if rank]
        yield "RRF", row["parent_id"], row["score"], reciprocal_rank_fusion(ranks, entry["config"]["rrf_k"])


def _knowledge(entry: Round) -> Iterator[_Figure]:
    """Base and bonuses, lowered to one, times the printed temporal weight (equations 4 and 10)."""
    base = lowered_to_one({row["parent_id"]: row["base"] + row["boost"] for row in entry["knowledge_boost"]})
    for row in entry["knowledge_final"]:
        name = row["parent_id"]
        yield "knowledge final", name, row["final"], base[name] * row["temporal_weight"]


def _history(entry: Round) -> Iterator[_Figure]:
    """Bonuses, decays, their product and the final score (equations 5 to 9 and 11)."""
    config = entry["config"]
    found = {row["memory_id"]: row for row in entry["history_boost"]}
    for row in entry["history_final"]:
        name = row["memory_id"]
        by_round = round_decay(row["delta_round"], config["lambda_round"])
        by_clock = clock_decay(row["delta_hours"], config["lambda_hours"])
        weight, bonus = temporal_weight(by_round, by_clock), _history_bonus(found[name])
        yield "history bonus", name, found[name]["boost"], bonus
        yield "round decay", name, row["round_decay"], by_round
        yield "clock decay", name, row["clock_decay"], by_clock
        yield "temporal weight", name, row["temporal_weight"], weight
        base = calibrated_similarity(found[name]["cosine"], 0.0) + bonus
        yield "history final", name, row["final"], base * weight


def _history_bonus(row: Mapping[str, Any]) -> float:
    """The bonuses of equation (6); a name in the text counts only where the exact match does not."""
    config = RetrievalConfig()
    return (
        (config.history_bonus_session if row["same_session"] else 0.0)
        + (config.history_bonus_user if row["exact_user"] else config.history_bonus_user_text * row["text_user"])
        + (
            config.history_bonus_character
            if row["exact_character"]
            else config.history_bonus_character_text * row["text_character"]
        )
    )


def read(path: Path) -> list[Round]:
    """The rounds of a calculation log, one JSON object a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def run(quick: bool = False) -> dict[str, Any]:
    """Recompute the whole log; there is nothing to shorten. Raises DataMissingError without the data."""
    log = read(data_folder("arpm_published") / "calculation_log_snr5.jsonl")
    found = [row for entry in log for row in rows(entry)]
    odd = [row for row in found if not row.follows]
    kinds, strays = Counter(row.kind for row in found), Counter(row.kind for row in odd)
    return {
        "rounds": len(log),
        "tolerance": TOLERANCE,
        "tables": [
            table(
                "published numbers recomputed",
                ("number", "rows", "follow", "do not", "largest difference of those that follow"),
                [(kind, all, all - strays[kind], strays[kind], _worst(kind, found)) for kind, all in kinds.items()],
            ),
            table(
                "rows that do not follow from their printed parts",
                ("number", "round", "item", "printed", "recomputed"),
                [(row.kind, row.round, row.item, f"{row.printed:.6f}", f"{row.recomputed:.6f}") for row in odd],
            ),
        ],
        "targets": [target(f"{kind} rows that do not follow", strays[kind], KNOWN.get(kind, 0)) for kind in kinds],
    }


def _worst(kind: str, found: list[Row]) -> str:
    off = (abs(row.printed - row.recomputed) for row in found if row.kind == kind and row.follows)
    return f"{max(off, default=0.0):.1e}"


if __name__ == "__main__":
    main("published", run)
