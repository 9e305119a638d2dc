"""The knowledge route: FAISS over child chunks and BM25 over parent chunks, fused by RRF.

Both read a chunk behind the headings above it (docs/decisions/0008). Physically apart from experience memory: its own
indexes, its own keys. Returns parent chunks as candidates with base scores; it decides nothing about time.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from retrieval.bm25 import BM25Index, top
from retrieval.candidates import Candidate, Query
from retrieval.config import RetrievalConfig
from retrieval.embedding.base import Embedder, Vectors
from retrieval.fusion import calibrated_similarity, lowered_to_one, normalised_by_maximum
from retrieval.identifiers import exact_lane
from retrieval.lanes import Lane, Lexical, best, fused, ranks_by_key
from retrieval.memories import KnowledgeChunk
from retrieval.tokens import tokenize
from retrieval.vectors import VectorIndex


@dataclass(frozen=True, slots=True)
class _Stages:
    """The scores of one search by parent key: lane ranks, RRF, the best child's cosine, BM25."""

    ranks: Mapping[int, Mapping[str, int]]
    scores: Mapping[int, float]
    cosines: Mapping[int, float]
    lexical: Lexical


class KnowledgeIndex:
    """Searchable parent chunks of every document. Safe to add to and search from several threads."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors = VectorIndex(embedder.dimension)
        self._words = BM25Index()
        self._chunks: dict[int, KnowledgeChunk] = {}
        self._documents: dict[str, list[int]] = {}
        # Child keys and parent keys are two number spaces that both only grow (bug: a map that restarted at zero
        # with every upload returned the first document's parents for the second).
        self._children: dict[int, list[int]] = {}
        self._parent_of: dict[int, int] = {}
        self._next_parent = 0
        self._next_child = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._chunks)

    def __contains__(self, document: str) -> bool:
        return document in self._documents

    def documents(self) -> list[str]:
        """The ids of the documents that are searched."""
        with self._lock:
            return list(self._documents)

    def add(self, document: str, chunks: Sequence[KnowledgeChunk]) -> None:
        """Index the chunks of one document. Raises ValueError for a document that is already there, or for a chunk
        without children. When embedding fails, nothing was added.
        """
        for chunk in chunks:
            if not chunk.children:
                raise ValueError(f"chunk {chunk.memory} has no child chunks; search could never match it by meaning")
        vectors = self._embedder.encode_document([child for chunk in chunks for child in chunk.children])
        with self._lock:
            if document in self._documents:
                raise ValueError(f"document {document} is already in the knowledge index")
            self._vectors.add(range(self._next_child, self._next_child + len(vectors)), vectors)
            self._documents[document] = [self._place(chunk) for chunk in chunks]

    def remove(self, document: str) -> None:
        """Take one document out. KeyError if absent."""
        with self._lock:
            parents = self._documents.pop(document)
            children = [child for parent in parents for child in self._children.pop(parent)]
            self._vectors.remove(children)
            for child in children:
                del self._parent_of[child]
            for parent in parents:
                del self._chunks[parent]
                self._words.remove(parent)

    def search(self, query: Query, vector: Vectors, config: RetrievalConfig) -> list[Candidate]:
        """Candidates for `query`, best base score first. `vector` is its embedding, of shape (dimension,)."""
        with self._lock:
            if not self._chunks or not config.knowledge_enabled:
                return []
            lanes = [Lane("vector", self._nearest_parents(vector, config.lane_depth))]
            tokens = tokenize(query.text) if config.bm25_enabled else []
            hits = self._words.search(tokens, config.bm25_k1, config.bm25_b, config.bm25_delta)
            if config.bm25_enabled:
                lanes.append(Lane("bm25", top(hits.keys, hits.scores, config.lane_depth)))
            if config.bm25_enabled and config.exact_lane:
                lanes.append(exact_lane(tokens, self._words, hits, config.lane_depth))
            ranks = ranks_by_key(lanes)
            scores = best(fused(ranks, config.knowledge_rrf_k))
            cosines = self._best_children(vector, list(scores))
            stages = _Stages(ranks, scores, cosines, Lexical.of(hits, list(scores)))
            bonuses = {parent: _bonuses(self._chunks[parent], query, config) for parent in scores}
            found = self._candidates(stages, bonuses)
        # Sorting is stable: of equal scores the newer stays first.
        return sorted(found, key=lambda c: -c.base)

    def _place(self, chunk: KnowledgeChunk) -> int:
        parent = self._next_parent
        self._next_parent += 1
        self._chunks[parent] = chunk
        self._words.add(parent, tokenize(chunk.searched))
        self._children[parent] = list(range(self._next_child, self._next_child + len(chunk.children)))
        self._parent_of.update(dict.fromkeys(self._children[parent], parent))
        self._next_child += len(chunk.children)
        return parent

    def _nearest_parents(self, vector: Vectors, depth: int) -> list[int]:
        """Parents by the cosine of their best child among the nearest children, each once."""
        return list(dict.fromkeys(self._parent_of[child] for child in self._vectors.nearest(vector, depth)))

    def _best_children(self, vector: Vectors, parents: Sequence[int]) -> dict[int, float]:
        """The cosine of each parent's best child."""
        children = [child for parent in parents for child in self._children[parent]]
        starts = np.cumsum([0, *(len(self._children[parent]) for parent in parents[:-1])])
        highest = np.maximum.reduceat(self._vectors.cosines(vector, children), starts)
        return dict(zip(parents, highest.tolist(), strict=True))

    def _candidates(self, stages: _Stages, bonuses: Mapping[int, Mapping[str, float]]) -> list[Candidate]:
        normalised = normalised_by_maximum(stages.scores)
        base = lowered_to_one({parent: normalised[parent] + sum(bonuses[parent].values()) for parent in normalised})
        return [self._candidate(parent, stages, bonuses[parent], normalised[parent], base[parent]) for parent in base]

    def _candidate(
        self, parent: int, stages: _Stages, bonuses: Mapping[str, float], normalised: float, base: float
    ) -> Candidate:
        chunk = self._chunks[parent]
        return Candidate(
            memory=chunk.memory,
            route="knowledge",
            text=chunk.text,
            round=None,
            at=chunk.at,
            source=chunk.source,
            cosine=stages.cosines[parent],
            similarity=calibrated_similarity(stages.cosines[parent], self._embedder.c0),
            bm25=stages.lexical.scores.get(parent),
            coverage=stages.lexical.coverage.get(parent, 0.0),
            ranks=stages.ranks[parent],
            fused=stages.scores[parent],
            lent_by=None,
            normalised=normalised,
            bonuses=bonuses,
            base=base,
        )


def _bonuses(chunk: KnowledgeChunk, query: Query, config: RetrievalConfig) -> dict[str, float]:
    """The bonuses of paper equation (4) that apply, by name."""
    checks = (
        ("user", query.user in chunk.text, config.knowledge_bonus_user),
        ("character", query.character in chunk.text, config.knowledge_bonus_character),
        ("source", query.character in chunk.name, config.knowledge_bonus_source),
    )
    return {name: value for name, applies, value in checks if applies and value}
