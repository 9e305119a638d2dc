"""The experience route: turn vectors, turn-in-context vectors and BM25 over one timeline's atoms.

One index holds one timeline's atoms and nothing else, so that no other user's memory can be found: isolation is a
filter by construction, not a bonus. Returns candidates with base scores; it decides nothing about time.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from retrieval.bm25 import BM25Hits, BM25Index, top
from retrieval.candidates import Candidate, Query
from retrieval.config import RetrievalConfig
from retrieval.corrections import Correction, Earlier, corrected, correction_in, tokens_of
from retrieval.embedding.base import Embedder, Vectors
from retrieval.fusion import calibrated_similarity, convex_score, lent_by_neighbours, nearness_to_best
from retrieval.identifiers import exact_lane
from retrieval.lanes import Lane, Lexical, best, fused, ranks_by_key
from retrieval.memories import Experience
from retrieval.tokens import tokenize
from retrieval.vectors import VectorIndex, nearest_in_each


@dataclass(frozen=True, slots=True)
class _Measured:
    """What a search measured of memories, by key: cosines, cosines in context, and BM25."""

    cosines: Mapping[int, float]
    contexts: Mapping[int, float]
    lexical: Lexical


@dataclass(frozen=True, slots=True)
class _Stages:
    """The scores of one search by key: lane ranks, own fused score, that with what neighbours lent, and its highest."""

    ranks: Mapping[int, Mapping[str, int]]
    nearness: Mapping[int, float]
    own: Mapping[int, float]
    scores: Mapping[int, float]
    highest: float
    measured: _Measured
    superseded: Mapping[int, _Superseded]


@dataclass(frozen=True, slots=True)
class _Superseded:
    """The key of the memory that corrects another one, and how near the two are."""

    by: int
    kinship: float


class ExperienceIndex:
    """Searchable atoms of one timeline. Safe to add to and search from several threads."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors = VectorIndex(embedder.dimension)
        self._contexts = VectorIndex(embedder.dimension)
        self._words = BM25Index()
        self._atoms: dict[int, Experience] = {}
        self._keys: dict[str, int] = {}
        self._corrections: dict[int, Correction] = {}  # what those turns say that correct something
        self._sessions: dict[str, list[int]] = {}
        self._beside: dict[int, tuple[int, ...]] = {}  # the turns before and after a turn in its session
        self._next_key = 0
        # Writers wait for each other while they embed; searches only while a finished change is put in place.
        self._writing = threading.Lock()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._atoms)

    def __contains__(self, memory: str) -> bool:
        return memory in self._keys

    def add(self, atoms: Sequence[Experience]) -> None:
        """Index atoms, given in the order they were lived. Raises ValueError for a memory that is already there.

        When embedding fails, nothing was added.
        """
        with self._writing:
            self._check_new(atoms)
            if not atoms:
                return
            vectors = self._embedder.encode_document([atom.text for atom in atoms])
            contexts = self._embedder.encode_document(self._texts_in_context(atoms))
            with self._lock:
                keys = range(self._next_key, self._next_key + len(atoms))
                self._vectors.add(keys, vectors)
                self._contexts.add(keys, contexts)
                for key, atom in zip(keys, atoms, strict=True):
                    self._place(key, atom)

    def remove(self, memory: str) -> None:
        """Take one atom out; the turn after it is embedded anew, so that nothing of it stays. KeyError if absent."""
        with self._writing:
            key = self._keys[memory]
            beside = self._beside[key]
            before = next((self._atoms[k] for k in beside if k < key), None)
            after = [k for k in beside if k > key]
            contexts = [self._embedder.encode_document([text_in_context(before, self._atoms[k])])[0] for k in after]
            with self._lock:
                self._take_out(key)
                for k, context in zip(after, contexts, strict=True):
                    self._contexts.replace(k, context)

    def search(
        self, query: Query, vector: Vectors, config: RetrievalConfig, without: Collection[str] = ()
    ) -> list[Candidate]:
        """Candidates for `query`, best base score first. `vector` is its embedding, of shape (dimension,).

        Memories in `without` take no place in any lane and lend nothing.
        """
        with self._lock:
            if not self._atoms or not config.history_enabled:
                return []
            hidden = {self._keys[memory] for memory in without if memory in self._keys}
            tokens = tokenize(query.text) if config.history_bm25_enabled else []
            hits = self._words.search(tokens, config.bm25_k1, config.bm25_b, config.bm25_delta)
            ranks = ranks_by_key(self._lanes(vector, tokens, hits, config, hidden))
            nearness = {} if config.history_fusion == "rrf" else self._nearness(vector, hits, ranks, config)
            own = fused(ranks, config.history_rrf_k)
            own = {key: score + config.convex_weight * nearness.get(key, 0.0) for key, score in own.items()}
            lent = lent_by_neighbours(own, self._beside, config.neighbour_share)
            scores = _pool({key: score for key, score in lent.items() if key not in hidden}, nearness, ranks)
            if not scores:
                return []
            superseded = self._superseded(scores, config)
            measured = self._measured(vector, hits, list(scores), config)
            stages = _Stages(ranks, nearness, own, scores, max(scores.values()), measured, superseded)
            found = [self._candidate(key, query, config, stages) for key in scores]
        # Sorting is stable: of equal scores the newer stays first.
        return sorted(found, key=lambda c: -c.base)

    def atoms(self) -> list[Experience]:
        """Every atom, in the order they were added."""
        with self._lock:
            return list(self._atoms.values())

    def _lanes(
        self,
        vector: Vectors,
        tokens: Sequence[str],
        hits: BM25Hits,
        config: RetrievalConfig,
        hidden: Collection[int],
    ) -> list[Lane]:
        by_meaning = {"vector": self._vectors} | ({"context": self._contexts} if config.context_lane else {})
        nearest = nearest_in_each(list(by_meaning.values()), vector, config.lane_depth)
        lanes = [Lane(name, keys) for name, keys in zip(by_meaning, nearest, strict=True)]
        if config.history_bm25_enabled:
            lanes.append(Lane("bm25", top(hits.keys, hits.scores, config.lane_depth)))
        if config.history_bm25_enabled and config.exact_lane:
            lanes.append(exact_lane(tokens, self._words, hits, config.lane_depth))
        if not hidden:
            return lanes
        return [Lane(lane.name, [key for key in lane.keys if key not in hidden]) for lane in lanes]

    def _measured(self, vector: Vectors, hits: BM25Hits, keys: Sequence[int], config: RetrievalConfig) -> _Measured:
        in_context = config.context_lane and config.history_fusion == "convex"
        contexts = self._contexts.cosines(vector, keys).tolist() if in_context else []
        return _Measured(
            dict(zip(keys, self._vectors.cosines(vector, keys).tolist(), strict=True)),
            dict(zip(keys, contexts, strict=in_context)),
            Lexical.of(hits, keys),
        )

    def _nearness(
        self, vector: Vectors, hits: BM25Hits, ranks: Mapping[int, Mapping[str, int]], config: RetrievalConfig
    ) -> dict[int, float]:
        """How near the convex scores of what the lanes found are to the best of them."""
        measured = self._measured(vector, hits, list(ranks), config)
        most = max((measured.lexical.scores.get(key, 0.0) for key in ranks), default=0.0)
        scores = {
            key: convex_score(
                calibrated_similarity(measured.cosines[key], self._embedder.c0),
                calibrated_similarity(measured.contexts.get(key, 0.0), self._embedder.c0),
                measured.lexical.scores.get(key, 0.0) / most if most > 0 else 0.0,
                config.convex_context,
                config.convex_words,
            )
            for key in ranks
        }
        return nearness_to_best(scores, config.convex_width)

    def _superseded(self, keys: Collection[int], config: RetrievalConfig) -> dict[int, _Superseded]:
        """Which of the memories found a later one of them corrects: the latest, where several do."""
        found: dict[int, _Superseded] = {}
        if not config.corrections_enabled:
            return found
        for later in sorted(self._corrections.keys() & keys):
            before = [key for key in keys if key < later]
            cosines = self._vectors.cosines(self._vectors.vector(later), before).tolist()
            memories = {
                key: Earlier(_words(self._atoms[key]), calibrated_similarity(cosine, self._embedder.c0))
                for key, cosine in zip(before, cosines, strict=True)
            }
            about = corrected(self._corrections[later], memories, config.correction_kinship)
            found |= {key: _Superseded(later, kinship) for key, kinship in about.items()}
        return found

    def _check_new(self, atoms: Sequence[Experience]) -> None:
        seen: set[str] = set()
        for atom in atoms:
            if atom.memory in self._keys or atom.memory in seen:
                raise ValueError(f"memory {atom.memory} is already in the experience index")
            seen.add(atom.memory)

    def _texts_in_context(self, atoms: Sequence[Experience]) -> list[str]:
        """The text of each new atom behind that of the turn before it in its session."""
        before = {id: self._atoms[keys[-1]] for id, keys in self._sessions.items()}
        texts = []
        for atom in atoms:
            texts.append(text_in_context(before.get(atom.session), atom))
            before[atom.session] = atom
        return texts

    def _place(self, key: int, atom: Experience) -> None:
        self._next_key = key + 1
        self._atoms[key] = atom
        self._keys[atom.memory] = key
        session = self._sessions.setdefault(atom.session, [])
        session.append(key)
        self._link(session, len(session) - 1)
        self._words.add(key, tokenize(atom.text))
        # What the other side says of a correction ("as you corrected it") is none.
        if (correction := correction_in(atom.message or atom.reply)) is not None:
            self._corrections[key] = correction

    def _take_out(self, key: int) -> None:
        self._vectors.remove([key])
        self._contexts.remove([key])
        self._words.remove(key)
        atom = self._atoms.pop(key)
        self._corrections.pop(key, None)
        del self._keys[atom.memory]
        session = self._sessions[atom.session]
        place = session.index(key)
        del session[place], self._beside[key]
        self._link(session, place)
        if not session:
            del self._sessions[atom.session]

    def _link(self, session: Sequence[int], place: int) -> None:
        """Note who stands beside whom around a place where a session changed."""
        for p in range(max(place - 1, 0), min(place + 2, len(session))):
            self._beside[session[p]] = tuple(session[q] for q in (p - 1, p + 1) if 0 <= q < len(session))

    def _candidate(
        self,
        key: int,
        query: Query,
        config: RetrievalConfig,
        stages: _Stages,
    ) -> Candidate:
        atom = self._atoms[key]
        score = stages.scores[key]
        measured, superseded = stages.measured, stages.superseded.get(key)
        similarity = calibrated_similarity(measured.cosines[key], self._embedder.c0)
        normalised = score / stages.highest if config.experience_base == "fused" else similarity
        text = atom.text
        bonuses = _bonuses(atom, text, query, config)
        lenders = [k for k in self._beside[key] if k in stages.own] if config.neighbour_share else []
        lender = max(lenders, key=lambda k: stages.own[k], default=None)
        return Candidate(
            memory=atom.memory,
            route="experience",
            text=text,
            round=atom.round,
            at=atom.at,
            source=atom.session,
            cosine=measured.cosines[key],
            similarity=similarity,
            bm25=measured.lexical.scores.get(key),
            coverage=measured.lexical.coverage.get(key, 0.0),
            ranks=stages.ranks.get(key, {}),
            fused=score,
            lent_by=self._atoms[lender].memory if lender is not None else None,
            normalised=normalised,
            bonuses=bonuses,
            base=normalised + sum(bonuses.values()),
            context_cosine=measured.contexts.get(key),
            nearness=stages.nearness.get(key),
            superseded_by=self._atoms[superseded.by].memory if superseded else None,
            kinship=superseded.kinship if superseded else None,
        )


def _pool(
    scores: Mapping[int, float], nearness: Mapping[int, float], ranks: Mapping[int, Mapping[str, int]]
) -> dict[int, float]:
    """The best fused scores, best first, and always those that the others were measured by.

    A record can only be checked if it holds the nearest and the best of BM25; they are hardly ever not among the best.
    """
    pool = best(scores)
    if not nearness:
        return pool
    first = {key for key, lanes in ranks.items() if lanes.get("bm25") == 0}
    nearest = {key for key, value in nearness.items() if value == 1.0}
    missing = {max(held) for held in (first, nearest) if held and not held & pool.keys()}
    for key, last in zip(sorted(missing), [key for key in reversed(pool) if key not in first | nearest], strict=False):
        del pool[last]
        pool[key] = scores[key]
    return best(pool)


def _words(atom: Experience) -> frozenset[str]:
    """What an atom says, without the names of who says it."""
    return tokens_of(f"{atom.message}\n{atom.reply}")


def text_in_context(before: Experience | None, atom: Experience) -> str:
    """The atom's text behind the text of the turn before it, if there is one."""
    return f"{before.text}\n{atom.text}" if before else atom.text


def _bonuses(atom: Experience, text: str, query: Query, config: RetrievalConfig) -> dict[str, float]:
    """The bonuses of paper equation (6) that apply, by name."""
    same_user, same_character = atom.user == query.user, atom.character == query.character
    checks = (
        ("session", atom.session == query.session, config.history_bonus_session),
        ("user", same_user, config.history_bonus_user),
        # A name in the text counts only where the other bonus does not (published logs: 0.35 for all of them).
        ("user_text", not same_user and query.user in text, config.history_bonus_user_text),
        ("character", same_character, config.history_bonus_character),
        ("character_text", not same_character and query.character in text, config.history_bonus_character_text),
    )
    return {name: value for name, applies, value in checks if applies and value}
