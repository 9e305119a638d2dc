"""How sure a decision is that a rule took: how often that rule was right on the examples.

Counted by `python -m benchmarks.training` and kept in weights/rules.json: for each rule how often it decided and how
often rightly. A rule that fired seldom is taken for about as good as all together. Knows nothing about texts.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

RATES = "rules.json"
# A rule's own count weighs against this many sentences of the average rule.
_PRIOR = 5.0


@cache
def counts() -> dict[str, tuple[int, int]]:
    """Of each rule how often it was right and how often it decided. Raises FileNotFoundError without the file."""
    held = json.loads((files("governance") / "weights" / RATES).read_text("utf-8"))
    return {rule: (int(right), int(fired)) for rule, (right, fired) in held["rules"].items()}


def probability_of(rule: str) -> float:
    """P(a decision of this rule is right), over 0 and under 1."""
    held = counts().values()
    mean = (sum(right for right, _ in held) + 1) / (sum(fired for _, fired in held) + 2)
    own_right, own_fired = counts().get(rule, (0, 0))
    return round((own_right + _PRIOR * mean) / (own_fired + _PRIOR), 4)
