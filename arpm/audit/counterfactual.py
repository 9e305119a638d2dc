"""What would have been shown otherwise: every recorded turn under another config, on the memory it really had.

The past is kept as it was recorded: the question is what one turn would have been shown, not how a whole conversation
would have gone on. Reads only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arpm.audit.folder import recorded_vectors
from arpm.audit.past import OtherKnowledgeError, Past, Step
from arpm.audit.recorded import sampling_of
from arpm.audit.replay import Backends, other_embedder, prepared_again, searched_more
from arpm.errors import ArpmError, NotFoundError
from arpm.generation.base import GenerationError
from arpm.generation.registry import Models
from arpm.ledger import Checkpoint
from arpm.recorded_count import NoTokenizerError
from arpm.settings import Settings
from arpm.stages import Stopwatch
from arpm.turn import Asked, Tools, Watch, compose
from governance.config import GovernanceConfig
from retrieval.embedding.base import Embedder

CUTS = (1, 3, 5, 10)


@dataclass(frozen=True, slots=True)
class Intervention:
    """What is changed: a whole preset, single settings of each turn's own config, or both; and another model."""

    config: GovernanceConfig | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None

    def of(self, recorded: GovernanceConfig) -> GovernanceConfig:
        """The config of a turn under this intervention. Raises ConfigError."""
        return (self.config or recorded).changed(self.changes)


@dataclass(frozen=True, slots=True)
class Shift:
    """One turn under an intervention, against its record.

    `lost` and `gained` are memories of the evidence, `moved` those whose place in the prompt changed among what both
    hold. `overlap` is the share of the recorded best k evidence that is still among the best k (by final score), by k;
    `correlation` Spearman's rho of the candidates that both have, None below three. `skipped` says why a turn could not
    be done.
    """

    timeline: str
    event: str
    round: int
    message: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    overlap: Mapping[int, float] = field(default_factory=dict)
    correlation: float | None = None
    tokens_before: int = 0
    tokens_after: int = 0
    reply_before: str = ""
    reply_after: str | None = None
    skipped: str | None = None

    @property
    def changed(self) -> bool:
        """Whether other evidence, or the same in another order, would have been shown."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class TimelineShift:
    """A timeline under an intervention; `error` is the damage that ended it early."""

    timeline: str
    turns: tuple[Shift, ...]
    error: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class CounterfactualJob:
    """The counterfactual of one timeline after the other; can be sent to another process."""

    settings: Settings
    intervention: Intervention

    def __call__(self, timeline: str, on_turn: Callable[[], None] = lambda: None) -> TimelineShift:
        started, turns, error = time.perf_counter(), list[Shift](), None
        with recorded_vectors(self.settings, needed=True) as embedder:
            assert embedder is not None
            backends = Models(self.settings).get if self.intervention.model else None
            try:
                for turn in shifts(Past(self.settings.logs, timeline, embedder), self.intervention, embedder, backends):
                    turns.append(turn)
                    on_turn()
            except (ArpmError, OSError) as caught:
                error = str(caught)
        return TimelineShift(timeline, tuple(turns), error, time.perf_counter() - started)


def shifts(
    past: Past, intervention: Intervention, embedder: Embedder, backends: Backends | None = None
) -> Iterator[Shift]:
    """Every committed turn of a timeline under the intervention. Raises DamagedLedgerError at a damaged event."""
    for step in past.steps():
        event, body = step.event, step.event.body
        if event.kind != "turn" or body is None:
            continue
        skipped = other_embedder(body, embedder) or searched_more(past, step, body)
        try:
            if skipped is None:
                past.knowledge.at(Checkpoint(body["knowledge_tip"]["seq"], body["knowledge_tip"]["hash"], 0))
                yield _shift(past, step, body, intervention, embedder, backends)
                continue
        except (OtherKnowledgeError, NoTokenizerError, GenerationError, NotFoundError) as error:
            skipped = str(error)
        yield Shift(past.timeline, event.id, body["round"], body["message"], skipped=skipped)


def _shift(
    past: Past,
    step: Step,
    body: Mapping[str, Any],
    intervention: Intervention,
    embedder: Embedder,
    backends: Backends | None,
) -> Shift:
    config = intervention.of(GovernanceConfig.of_record(body["config"]))
    reply = None
    if backends is not None and intervention.model is not None:
        tools = Tools(past.knowledge, embedder, backends(intervention.model), sampling_of(body), past.clock)
        asked = Asked(body["message"], body["replaces"], body["request_key"])
        composed = compose(step.before, asked, config, body["preset"], tools, Watch(), Stopwatch())
        if composed.cause is not None:
            raise composed.cause
        context, row, reply = composed.body, composed.body["prompt"], composed.body["response"]
    else:
        prepared = prepared_again(past, step.before, body, embedder, config)
        context, row = prepared.context, prepared.row
    before, after = _shown(body), _shown(context)
    return Shift(
        timeline=past.timeline,
        event=step.event.id,
        round=body["round"],
        message=body["message"],
        before=before,
        after=after,
        lost=tuple(memory for memory in before if memory not in after),
        gained=tuple(memory for memory in after if memory not in before),
        moved=moved(before, after),
        overlap={k: overlap(_ranked(body), _ranked(context), k) for k in CUTS},
        correlation=rank_correlation(_finals(body), _finals(context)),
        tokens_before=body["prompt"]["tokens"],
        tokens_after=row["tokens"],
        reply_before=body["response"],
        reply_after=reply,
    )


def _shown(context: Mapping[str, Any]) -> tuple[str, ...]:
    """The memories of the evidence, each once, where the prompt first shows them."""
    return tuple(dict.fromkeys(item["memory"] for item in context["evidence"] if item["fidelity"] != "PLACEHOLDER"))


def _finals(context: Mapping[str, Any]) -> dict[str, float]:
    """Final scores of candidates; of messages that were placed by their focus, the better side's score."""
    focused: dict[str, float] = {}
    for row in context["history"]:
        if row["focus"] and row["memory"]:
            focused[row["memory"]] = max(row["focus"]["score"], focused.get(row["memory"], 0.0))
    return focused | {row["memory"]: row["final"] for rows in context["candidates"].values() for row in rows}


def _ranked(context: Mapping[str, Any]) -> list[str]:
    """The evidence, best final score first."""
    finals = _finals(context)
    return sorted(_shown(context), key=lambda memory: (-finals[memory], memory))


# -- measures ------------------------------------------------------------------------------------------------------


def overlap(before: Sequence[str], after: Sequence[str], k: int) -> float:
    """The share of the first `k` of `before` that is among the first `k` of `after`; 1 where there was nothing."""
    wanted = set(before[:k])
    return len(wanted & set(after[:k])) / len(wanted) if wanted else 1.0


def moved(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """What both hold and stands in another order among them: the least that must be moved for one to become the other.

    That is what lies outside a longest common subsequence of the two orders.
    """
    ours = [memory for memory in before if memory in set(after)]
    place = {memory: number for number, memory in enumerate(m for m in after if m in set(before))}
    kept = set(_longest_rising([place[memory] for memory in ours]))
    return tuple(memory for memory in ours if place[memory] not in kept)


def _longest_rising(numbers: Sequence[int]) -> list[int]:
    """A longest rising subsequence of different numbers."""
    best: list[list[int]] = []
    for number in numbers:
        before = max((run for run in best if run[-1] < number), key=len, default=[])
        best.append([*before, number])
    return max(best, key=len, default=[])


def rank_correlation(before: Mapping[str, float], after: Mapping[str, float]) -> float | None:
    """Spearman's rho of two scorings over what both score; None below three items, or when all score the same."""
    # Imported here: scipy takes half a second that other audits need not wait for.
    from scipy.stats import spearmanr

    shared = sorted(before.keys() & after.keys())
    mine, theirs = [before[memory] for memory in shared], [after[memory] for memory in shared]
    if len(shared) < 3 or len(set(mine)) == 1 or len(set(theirs)) == 1:
        return None
    return float(spearmanr(mine, theirs).statistic)


@dataclass(frozen=True, slots=True)
class Summary:
    """All turns of an intervention in numbers; the means are over turns that could be done."""

    turns: int
    skipped: int
    changed: int
    lost: int
    gained: int
    moved: int
    overlap: Mapping[int, float]
    correlation: float | None
    tokens_before: float
    tokens_after: float


def summary(turns: Sequence[Shift]) -> Summary:
    """The counts and means over many turns."""
    done = [turn for turn in turns if turn.skipped is None]
    known = [turn.correlation for turn in done if turn.correlation is not None]
    return Summary(
        turns=len(turns),
        skipped=len(turns) - len(done),
        changed=sum(turn.changed for turn in done),
        lost=sum(len(turn.lost) for turn in done),
        gained=sum(len(turn.gained) for turn in done),
        moved=sum(len(turn.moved) for turn in done),
        overlap={k: _mean([turn.overlap[k] for turn in done]) for k in CUTS},
        correlation=_mean(known) if known else None,
        tokens_before=_mean([float(turn.tokens_before) for turn in done]),
        tokens_after=_mean([float(turn.tokens_after) for turn in done]),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
