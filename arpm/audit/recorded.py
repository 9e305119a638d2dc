"""A backend that says again what a record says was said, so that a turn can be composed anew without its model.

Everything a turn asks a model for is in its record: the ranking of the evidence and every raw attempt. Only tokens are
counted afresh, by the model's own tokenizer where it is packaged, or by the estimate that was used.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from arpm.errors import ArpmError
from arpm.generation.base import Generation, GenerationRequest, LabelledEvidence, OnText, PromptStyle, Sampling
from arpm.recorded_count import LOCAL
from governance.history import Count


class RecordedBackend:
    """The model of one recorded turn."""

    def __init__(self, body: Mapping[str, Any], count: Count) -> None:
        backend = body["backend"]
        self.name: str = backend["name"]
        self.model: str = backend["model"]
        self.prompt_style: PromptStyle = backend["prompt_style"]
        # The embedded model is decoded under a grammar, and no other.
        self.constrained = self.name == LOCAL
        self.exact_tokens = not (body["prompt"] or {}).get("approximate", True)
        self.count_tokens = count
        # Earlier versions did not record it, and asked for it nowhere.
        self.context_tokens: int = body.get("context_tokens") or 2**31
        self._ranking = tuple(body.get("ranking", ()))
        self._attempts = list(body["attempts"])

    def rank(self, question: str, evidence: Sequence[LabelledEvidence]) -> tuple[str, ...]:
        """The recorded ranking; of other evidence than was recorded, what is left of it."""
        shown = {item.label for item in evidence}
        return tuple(label for label in self._ranking if label in shown)

    def generate(self, request: GenerationRequest, on_text: OnText, cancel: threading.Event) -> Generation:
        """The next recorded attempt. Raises RecordEndsError when another one would be made than were."""
        if not self._attempts:
            raise RecordEndsError("the record holds fewer attempts than would have been made")
        row = self._attempts.pop(0)
        return Generation(
            text=row["raw"],
            finish=row["finish"],
            prompt_tokens=row["prompt_tokens"],
            completion_tokens=row["completion_tokens"],
            seconds=row["seconds"],
            first_token_seconds=row["first_token_seconds"],
            reasoning=row["reasoning"],
        )

    @property
    def left(self) -> int:
        """How many recorded attempts were not asked for."""
        return len(self._attempts)


class RecordEndsError(ArpmError):
    """A turn composed anew asks the model more often than the recorded one did."""


def sampling_of(body: Mapping[str, Any]) -> Sampling:
    """The recorded sampling."""
    return Sampling(**body["sampling"])
