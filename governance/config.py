"""The governance config: every switch and constant of one turn, and the named presets.

A frozen value, stored whole in every turn record, so that a turn can be replayed exactly and compared with another
config. Defaults are measured (docs/decisions); `paper` holds the published constants.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, Literal, get_args, get_type_hints

from retrieval.config import Group, RetrievalConfig, setting

Policy = Literal[
    "arpm",
    "afm",
    "afm_paper",
    "bm25",
    "summary",
    "recency_compressed",
    "truncated",
    "recent_k",
    "full",
    "stateless",
]
HistoryScope = Literal["session", "timeline"]
Compressing = Literal["rules", "model"]

# What a turn did before there was the setting, where that is not what the setting's default does.
_BEFORE: Mapping[str, Any] = {
    "exact_lane": False,
    "history_fusion": "rrf",
    "corrections_enabled": False,
    "dialogue_k": 0,
    "afm_whole_lines": False,
}

_RECOGNITION = Group("recognise", "Standing instructions")
_POLICY = Group("govern", "Policy")
_AFM = Group("govern", "Adaptive focus")
_GATE = Group("govern", "Relevance gate")
_TIME = Group("govern", "Weight of time")
_SELECTION = Group("govern", "Selection")
_EVIDENCE = Group("prompt", "Evidence")
_WINDOW = Group("prompt", "Context window")
_PREFIX = Group("prompt", "Standing instructions")
_FORMAT = Group("protocol", "Analysis and response")
_REPAIR = Group("protocol", "Repair")
_ADMISSION = Group("admit", "Admission to memory")


class ConfigError(ValueError):
    """A governance setting that does not exist, has the wrong type or is out of range; the text says which."""


@dataclass(frozen=True)
class GovernanceConfig(RetrievalConfig):
    """Retrieval's settings and everything that decides what enters the prompt and what becomes memory."""

    policy: Policy = setting("arpm", "The context policy: what of the conversation the prompt shows.", group=_POLICY)
    policy_rounds: int = setting(
        5,
        "Rounds that recent_k and bm25 show, and that recency_compressed and summary keep whole.",
        0,
        100,
        group=_POLICY,
    )
    history_scope: HistoryScope = setting(
        "session",
        "What full, recent_k, truncated, recency_compressed and summary look back on: 'session' or 'timeline'.",
        group=_POLICY,
    )
    history_budget: int = setting(
        1000,
        "Most tokens of earlier messages under truncated, recency_compressed, summary, afm and afm_paper.",
        0,
        1_000_000,
        group=_POLICY,
    )
    compressed_tokens: int = setting(
        40, "Most tokens of a compressed message, and four times that of a rolling summary.", 1, 10_000, group=_POLICY
    )
    compressor: Compressing = setting(
        "rules",
        "Who shortens messages: 'rules' keep sentences, 'model' asks the session's model (not the embedded one).",
        group=_POLICY,
    )
    afm_half_life: float = setting(
        12.0, "Rounds in which a message loses half its recency (AFM paper, section 3.2).", 0.1, 1e6, group=_AFM
    )
    afm_full: float = setting(
        0.45, "Score from which a message is shown whole (AFM paper, section 3.3).", 0.0, 1.0, group=_AFM
    )
    afm_compressed: float = setting(
        0.25, "Score from which a message is shown compressed (AFM paper, section 3.3).", 0.0, 1.0, group=_AFM
    )
    afm_whole_lines: bool = setting(
        True, "Count a message's label, date and cue in its budget, and not its words alone.", group=_AFM
    )
    afm_importance: bool = setting(
        True, "Judge importance; otherwise every message is TRIVIAL (AFM paper, section 4.9).", group=_AFM
    )
    afm_similarity: bool = setting(
        True, "Judge nearness to the question; otherwise all messages are equally near.", group=_AFM
    )
    afm_compression: bool = setting(
        True, "Shorten messages; otherwise they are whole or a stub (AFM paper, section 4.9).", group=_AFM
    )
    afm_stubs: bool = setting(
        True, "Show stubs; otherwise such messages are shortened or left out (AFM paper, section 4.9).", group=_AFM
    )
    gate_enabled: bool = setting(
        True, "Drop candidates that nothing in the question matches, before decay.", group=_GATE
    )
    gate_word_share: float = setting(
        0.5, "How much matched words add to similarity in the gate.", 0.0, 1.0, group=_GATE
    )
    gate_question: float = setting(
        0.37, "Relevance the best memory needs; else nothing matches.", 0.0, 2.0, group=_GATE
    )
    gate_item: float = setting(0.15, "Relevance each memory needs beside it.", 0.0, 2.0, group=_GATE)
    final_threshold: float = setting(
        0.0, "Drop candidates whose final score is below (published: 0.5).", 0.0, 2.0, group=_SELECTION
    )
    temporal_enabled: bool = setting(
        True, "Weigh candidates by age in rounds and in hours (equations 7-11).", group=_TIME
    )
    knowledge_lambda_round: float = setting(
        20.0, "Time constant of knowledge, in rounds (equation 7).", 0.1, 1e6, group=_TIME
    )
    knowledge_lambda_hours: float = setting(
        168.0, "Time constant of knowledge, in hours (equation 8).", 0.1, 1e6, group=_TIME
    )
    knowledge_floor: float = setting(
        0.95, "Weight a document keeps however old it is; 0 is the paper.", 0.0, 1.0, group=_TIME
    )
    history_lambda_round: float = setting(
        20.0, "Time constant of experience, in rounds (equation 7).", 0.1, 1e6, group=_TIME
    )
    history_lambda_hours: float = setting(
        168.0, "Time constant of experience, in hours (equation 8).", 0.1, 1e6, group=_TIME
    )
    history_floor: float = setting(
        0.6, "Weight an experience keeps however old it is; 0 is the paper.", 0.0, 1.0, group=_TIME
    )
    knowledge_k: int = setting(8, "Most documents' chunks in the prompt.", 0, 50, group=_SELECTION)
    history_k: int = setting(10, "Most experiences in the prompt.", 0, 50, group=_SELECTION)
    dialogue_k: int = setting(
        20,
        "Most of them for a question about the dialogue itself (sum it up, count); 0: no such exception.",
        0,
        50,
        group=_SELECTION,
    )
    dialogue_budget: float = setting(
        2.0, "How many times the token budget such a question may use.", 1.0, 10.0, group=_SELECTION
    )
    superseded_share: float = setting(
        0.95, "Most that a corrected turn keeps of its correction's final score.", 0.0, 1.0, group=_SELECTION
    )
    evidence_budget: int = setting(
        1500, "Most tokens of evidence in the prompt; the lowest scores yield.", 0, 100_000, group=_SELECTION
    )
    window_rounds: int = setting(4, "Rounds of the running session shown word for word.", 0, 100, group=_WINDOW)
    window_budget: int = setting(
        1000, "Most tokens of that window; the oldest rounds yield.", 0, 100_000, group=_WINDOW
    )
    chronological: bool = setting(True, "Show evidence oldest first; otherwise best first.", group=_EVIDENCE)
    time_cues: bool = setting(
        True, "Show dates, distances ('3 rounds ago') and when the last round was.", group=_EVIDENCE
    )
    instructions_enabled: bool = setting(
        True, "Recognise standing instructions and show them in every prompt.", group=_RECOGNITION
    )
    instructions_budget: int = setting(
        400, "Most tokens of the instruction prefix; the oldest yield.", 0, 100_000, group=_PREFIX
    )
    protocol_enabled: bool = setting(
        True, "Ask for analysis and response; otherwise take the reply as it is.", group=_FORMAT
    )
    repair_enabled: bool = setting(
        True, "Normalise and, if needed, ask the model once more when the protocol broke.", group=_REPAIR
    )
    repair_attempts: int = setting(1, "How often the model is asked to repair its own output.", 0, 3, group=_REPAIR)
    citation_required: bool = setting(
        False, "Treat an answer that cites none of the shown evidence as broken.", group=_FORMAT
    )
    admit_fallback: bool = setting(False, "Let a reply that could not be repaired become memory.", group=_ADMISSION)

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            _check(item, getattr(self, item.name))

    def as_dict(self) -> dict[str, Any]:
        """Every setting by name, for the turn record."""
        return dataclasses.asdict(self)

    def changed(self, changes: Mapping[str, Any]) -> GovernanceConfig:
        """A config with `changes` made. Raises ConfigError naming the key, what was given and what is allowed."""
        known = {item.name for item in dataclasses.fields(self)}
        for key in changes:
            if key not in known:
                near = get_close_matches(key, known, 1)
                raise ConfigError(f"unknown setting {key!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        return dataclasses.replace(self, **changes)

    @classmethod
    def of_record(cls, recorded: Mapping[str, Any]) -> GovernanceConfig:
        """The config of a record that an earlier version may have written.

        Unknown settings are left out; one that came later is what a turn did before there was the setting.
        """
        known = {item.name for item in dataclasses.fields(cls)}
        return cls(**{**_BEFORE, **{key: value for key, value in recorded.items() if key in known}})

    def differences(self, other: GovernanceConfig) -> dict[str, dict[str, Any]]:
        """What `other` changes, as {key: {"from": …, "to": …}}: an intervention."""
        mine, theirs = self.as_dict(), other.as_dict()
        return {key: {"from": mine[key], "to": theirs[key]} for key in mine if mine[key] != theirs[key]}


def parse_setting(text: str) -> tuple[str, Any]:
    """Read "KEY=VALUE" as given on a command line, in the type of the setting. Raises ConfigError."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"expected KEY=VALUE, got {text!r}")
    kind = _types().get(key.strip())
    if kind is None:
        GovernanceConfig().changed({key.strip(): None})
    return key.strip(), _read(key.strip(), value.strip(), kind)


def _read(key: str, value: str, kind: Any) -> Any:
    if kind is bool:
        if value.lower() not in _BOOLEANS:
            raise ConfigError(f"{key} is a switch: true or false, got {value!r}")
        return _BOOLEANS[value.lower()]
    if kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            raise ConfigError(f"{key} is a number, got {value!r}") from None
    return value


_BOOLEANS = {
    "true": True,
    "on": True,
    "yes": True,
    "1": True,
    "false": False,
    "off": False,
    "no": False,
    "0": False,
}


@cache
def _types() -> dict[str, Any]:
    return get_type_hints(GovernanceConfig)


def _check(item: dataclasses.Field[Any], value: Any) -> None:
    kind = _types()[item.name]
    if get_args(kind):
        if value not in get_args(kind):
            raise ConfigError(f"{item.name} must be one of {', '.join(get_args(kind))}; got {value!r}")
        return
    number = kind in (int, float) and isinstance(value, int | float) and not isinstance(value, bool)
    if not (isinstance(value, kind) or (kind is float and number)) or (kind is int and isinstance(value, bool)):
        raise ConfigError(f"{item.name} must be of type {kind.__name__}; got {value!r}")
    low, high = item.metadata["low"], item.metadata["high"]
    if number and not (low <= value <= high):
        raise ConfigError(f"{item.name} must be between {low} and {high}; got {value!r}")


@dataclass(frozen=True, slots=True)
class Preset:
    """A named governance config and one line on what it is for."""

    name: str
    help: str
    config: GovernanceConfig


_PAPER = GovernanceConfig(
    role_prefix=True,
    history_bm25_enabled=False,
    context_lane=False,
    exact_lane=False,
    experience_base="cosine",
    bm25_k1=1.5,
    bm25_b=0.75,
    knowledge_rrf_k=60.0,
    history_rrf_k=60.0,
    history_fusion="rrf",
    neighbour_share=0.0,
    corrections_enabled=False,
    dialogue_k=0,
    gate_enabled=False,
    final_threshold=0.5,
    knowledge_k=5,
    knowledge_floor=0.0,
    history_floor=0.0,
)

# The papers' baselines have neither documents nor standing instructions nor a protocol.
_BASELINE: dict[str, Any] = {"knowledge_enabled": False, "instructions_enabled": False, "protocol_enabled": False}
_BASELINES: dict[Policy, str] = {
    "stateless": "The message alone.",
    "full": "Every message of the session, as far as the model's window goes.",
    "recent_k": "The last five rounds of the session.",
    "truncated": "As many of the last rounds as the budget holds.",
    "recency_compressed": "The last rounds whole, older messages compressed.",
    "summary": "The last rounds behind a rolling summary of all before.",
    "bm25": "The five past rounds that BM25 finds.",
}

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("default", "What we ship: fused lanes, relevance gate, decay with a floor.", GovernanceConfig()),
        Preset("paper", "The published constants.", _PAPER),
        Preset("A", "Full system (also A2).", GovernanceConfig()),
        Preset("B", "Knowledge retrieval off.", GovernanceConfig(knowledge_enabled=False)),
        Preset("C", "Experience retrieval off.", GovernanceConfig(history_enabled=False)),
        Preset("D", "Dual-temporal weights off.", GovernanceConfig(temporal_enabled=False)),
        Preset("E", "BM25 off on both routes.", GovernanceConfig(bm25_enabled=False, history_bm25_enabled=False)),
        Preset("F", "Automatic repair off.", GovernanceConfig(repair_enabled=False)),
        Preset(
            "G",
            "Pure dialogue: no memory, no instructions, no protocol.",
            GovernanceConfig(
                knowledge_enabled=False,
                history_enabled=False,
                instructions_enabled=False,
                protocol_enabled=False,
            ),
        ),
        Preset(
            "H",
            "Strong consistency: citations required, two repairs.",
            GovernanceConfig(citation_required=True, repair_attempts=2),
        ),
        Preset(
            "afm", "Adaptive focus as we ship it, beside documents and instructions.", GovernanceConfig(policy="afm")
        ),
        Preset(
            "afm-paper",
            "Adaptive focus as published: no documents, no instructions, no protocol.",
            GovernanceConfig(policy="afm_paper", **_BASELINE),
        ),
        *(
            Preset(policy.replace("_", "-"), help, GovernanceConfig(policy=policy, **_BASELINE))
            for policy, help in _BASELINES.items()
        ),
    )
}


def preset(name: str) -> GovernanceConfig:
    """The config of a preset. Raises ConfigError naming the presets there are."""
    if name not in PRESETS:
        raise ConfigError(f"unknown preset {name!r}; there are {', '.join(PRESETS)}")
    return PRESETS[name].config
