"""What the stand-in of the ablation writes: the script's reply, in the form of the protocol or not, by fixed habits.

A model that never breaks the form would show nothing of what repair and strict consistency are for. The habits are a
form that is broken once, one that is broken again when asked (in the published logs 22 and 14 of 172 turns), and a
reply that cites nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from arpm.experiments.scripts import Round
from arpm.experiments.stand_ins import in_form
from arpm.generation.base import GenerationRequest

Habit = Literal["careless", "stubborn", "silent"]

# Of twenty rounds, in which the form is broken once, in which it is broken twice, and in which nothing is cited until
# it is asked for. No round has two habits.
HABITS: Mapping[int, Habit] = {
    **dict.fromkeys((4, 8, 12, 16, 20), "careless"),
    **dict.fromkeys((3, 13), "stubborn"),
    **dict.fromkeys((2, 7, 10, 17), "silent"),
}
# How often it must be asked again before it keeps the form.
_PATIENCE: Mapping[Habit | None, int] = {None: 0, "silent": 0, "careless": 1, "stubborn": 2}


class Actor:
    """The stand-in's part in one round after the other."""

    def __init__(self) -> None:
        self._reply = ""
        self._habit: Habit | None = None
        self._calls = 0

    def play(self, item: Round, *, habits: bool) -> None:
        """Get ready for a round; without `habits` the form is kept."""
        self._reply = item.reply
        self._habit = HABITS.get(item.number) if habits else None
        self._calls = 0

    def __call__(self, request: GenerationRequest) -> str:
        self._calls += 1
        if "<analysis>" not in request.messages[0].content:
            return self._reply
        if self._calls <= _PATIENCE[self._habit]:
            return f"<analysis>\nI should look at the evidence first.\n\n{self._reply}"
        silent = self._habit == "silent" and self._calls == 1
        return in_form(self._reply, [] if silent else [item.label for item in request.evidence[:1]])
