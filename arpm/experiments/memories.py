"""A laboratory: the product's service on a folder that is thrown away, filled with memories of a data set.

Retrieval, governance and prompt of an experiment are those of a turn (`Service.look`), and ids are the data set's.
Opened when first needed, so that a run whose steps are all done embeds nothing. Knows nothing about questions and
their gold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import arpm
import governance
import retrieval
from arpm.canonical import canonical, digest
from arpm.clock import FixedClock
from arpm.experiments.base import Run
from arpm.experiments.throwaway import ThrowAway
from arpm.importers.atoms import Atom, write_atoms
from arpm.service import Service
from arpm.timeline import Timeline
from governance.config import GovernanceConfig, preset
from governance.selection import Decision

# The reasons of candidates that have a place in the ranking; the others were dropped by the gate or a threshold.
RANKED = ("kept", "beyond top-k", "over the token budget")

# What each part is worth: the shipped preset, the same with one part off, and the published constants.
VARIANTS: dict[str, GovernanceConfig] = {
    "default": preset("default"),
    "decay off": preset("default").changed({"temporal_enabled": False}),
    "gate off": preset("default").changed({"gate_enabled": False}),
    "BM25 off": preset("E"),
    "paper constants": preset("paper"),
    "paper, decay off": preset("paper").changed({"temporal_enabled": False}),
}


@dataclass(frozen=True, slots=True)
class Found:
    """What a question brought back, by the data set's ids: the ranking, best first, and what the prompt shows."""

    ranked: tuple[str, ...]
    shown: tuple[str, ...]

    def as_dict(self) -> dict[str, list[str]]:
        return {"ranked": list(self.ranked), "shown": list(self.shown)}


class Memory:
    """One timeline whose memories have names of a data set."""

    def __init__(self, service: Service, timeline: Timeline) -> None:
        self._service = service
        self.timeline = timeline
        self._names: dict[str, str] = {}

    def add(self, atoms: Sequence[Atom], file: str) -> None:
        """Remember more, as the next rounds."""
        write_atoms(self.timeline, file, atoms)
        self._names = {memory: source for source, memory in self.timeline.imported().items()}

    def name(self, memory: str) -> str:
        """The data set's id of a memory."""
        return self._names[memory]

    def names(self) -> tuple[str, ...]:
        """Every id, in the order in which they were remembered."""
        return tuple(self._names.values())

    def memory(self, name: str) -> str:
        """The memory of a data set's id. Raises KeyError."""
        return next(memory for memory, known in self._names.items() if known == name)

    def look(self, question: str, at: datetime, config: GovernanceConfig) -> Found:
        """What the question brings back at a time, as the round after the last one."""
        governed = self._service.look(self.timeline.id, question, at=at, config=config).governed
        return Found(self.ranking(governed.experience), tuple(self.name(item.memory) for item in governed.evidence))

    def ranking(self, decisions: Sequence[Decision]) -> tuple[str, ...]:
        """The ids of the candidates that have a place in the ranking, best first."""
        return tuple(self.name(item.weighed.candidate.memory) for item in decisions if item.reason in RANKED)


class Laboratory(ThrowAway):
    """The service of a run on a folder of its own. Use as a context manager; nothing is opened before it is asked."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._memories: dict[str, Memory] = {}

    def set_clock(self, at: datetime) -> None:
        """Stop the clock at a time."""
        self.service.clock.inner = FixedClock(at)

    def begin(self, user: str, character: str, persona: str = "") -> Memory:
        """An empty memory of that pair, counting tokens as the run's model does."""
        model = self._run.model or self._run.settings.model
        return Memory(self.service, self.service.create_timeline(user, character, persona, timezone="UTC", model=model))

    def kept(self, key: str, fill: Callable[[], Memory]) -> Memory:
        """The memory of that key, filled when it is first asked for."""
        if key not in self._memories:
            self._memories[key] = fill()
        return self._memories[key]


def basis(run: Run, config: GovernanceConfig | None = None, **more: Any) -> dict[str, Any]:
    """What every retrieval step depends on: embedder, how tokens are counted, constants and code; and `more`."""
    return {
        "embedder": run.settings.embedder,
        "model": run.model or run.settings.model,
        "config": None if config is None else config.as_dict(),
        "code": code_digest(),
        **more,
    }


@cache
def code_digest() -> str:
    """The digest of the code that ranks and prompts: a step that an earlier version did is done again."""
    folders = [(Path(package.__path__[0]), "**/*.py") for package in (retrieval, governance)]
    names = ("recall", "prompt", "turn", "answer", "binding", "conversation", "history_lines")
    folders += [(Path(arpm.__path__[0]), f"{name}.py") for name in names]
    files = sorted(path for folder, pattern in folders for path in folder.glob(pattern))
    return digest(canonical([[path.name, digest(path.read_bytes())] for path in files]))
