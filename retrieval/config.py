"""The switches and constants of retrieval, each with its help and its range.

A frozen value without behaviour; `governance.config.GovernanceConfig` extends it and is stored whole in every turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

ExperienceBase = Literal["fused", "cosine"]
HistoryFusion = Literal["convex", "rrf"]


# The stages in which settings act, in the order a turn runs through them.
SettingStage = Literal["recognise", "retrieve", "govern", "prompt", "protocol", "admit"]


@dataclass(frozen=True, slots=True)
class Group:
    """Settings that belong together: the stage in which they act, and a heading for people."""

    stage: SettingStage
    heading: str


def setting(default: Any, help: str, low: float | None = None, high: float | None = None, *, group: Group) -> Any:
    """A dataclass field that carries one line of help, for numbers the closed range allowed, and where it belongs."""
    metadata = {"help": help, "low": low, "high": high, "stage": group.stage, "group": group.heading}
    return field(default=default, metadata=metadata)


ROUTES = Group("retrieve", "Routes")
QUERY = Group("retrieve", "Query")
BM25 = Group("retrieve", "BM25")
FUSION = Group("retrieve", "Fusion of the lanes")
KNOWLEDGE_BONUSES = Group("retrieve", "Bonuses of documents")
EXPERIENCE_BONUSES = Group("retrieve", "Bonuses of past turns")
CORRECTIONS = Group("retrieve", "Corrections")


@dataclass(frozen=True)
class RetrievalConfig:
    """Everything that changes which candidates are found and what base score they get."""

    knowledge_enabled: bool = setting(True, "Search the knowledge memory (documents).", group=ROUTES)
    history_enabled: bool = setting(True, "Search the experience memory (past turns).", group=ROUTES)
    role_prefix: bool = setting(False, "Put [User u][Assistant a] before the query (paper, section 3.3).", group=QUERY)
    bm25_enabled: bool = setting(True, "Use BM25 beside vectors on the knowledge route.", group=BM25)
    history_bm25_enabled: bool = setting(True, "Use BM25 beside vectors on the experience route.", group=BM25)
    context_lane: bool = setting(True, "Also match each turn together with the turn before it.", group=FUSION)
    exact_lane: bool = setting(
        True,
        "Where BM25 is used, match the question's numbers and codes exactly; what holds one passes the gate.",
        group=FUSION,
    )
    experience_base: ExperienceBase = setting(
        "fused",
        "Base score of an experience: 'fused' (RRF of its lanes) or 'cosine' (paper, equation 5).",
        group=FUSION,
    )
    bm25_k1: float = setting(1.2, "BM25 term saturation (equation 2).", 0.0, 10.0, group=BM25)
    bm25_b: float = setting(0.4, "BM25 length normalisation (equation 2).", 0.0, 1.0, group=BM25)
    bm25_delta: float = setting(0.5, "Added to every BM25 idf (equation 2).", 0.0, 10.0, group=BM25)
    knowledge_rrf_k: float = setting(
        2.0, "RRF constant of the knowledge route (equation 3).", 0.0, 1000.0, group=FUSION
    )
    history_rrf_k: float = setting(2.0, "RRF constant of the experience route (equation 3).", 0.0, 1000.0, group=FUSION)
    history_fusion: HistoryFusion = setting(
        "convex",
        "Fusion of past turns: 'rrf' (equation 3) or 'convex' (RRF, and how near their scores are to the best).",
        group=FUSION,
    )
    convex_weight: float = setting(1.0, "How much that nearness adds to RRF.", 0.0, 10.0, group=FUSION)
    convex_context: float = setting(
        1.5, "Weight of a turn in its context among the scores; its own similarity has 1.", 0.0, 10.0, group=FUSION
    )
    convex_words: float = setting(
        1.0, "Weight of BM25 (divided by the best) among the scores.", 0.0, 10.0, group=FUSION
    )
    convex_width: float = setting(
        0.3, "How far below the best a score loses nearness by the factor e.", 0.01, 10.0, group=FUSION
    )
    lane_depth: int = setting(50, "How many hits of each lane take part in the fusion.", 1, 1000, group=FUSION)
    neighbour_share: float = setting(
        0.4, "Part of its score a turn lends to the turns beside it.", 0.0, 1.0, group=FUSION
    )
    corrections_enabled: bool = setting(
        True, "Notice when a later turn corrects an earlier one, and rank it first.", group=CORRECTIONS
    )
    correction_kinship: float = setting(
        1.0, "How near the two must be: similarity plus the share of words in common.", 0.0, 2.0, group=CORRECTIONS
    )
    knowledge_bonus_user: float = setting(
        0.08, "Bonus when the user's name is in the text.", 0.0, 1.0, group=KNOWLEDGE_BONUSES
    )
    knowledge_bonus_character: float = setting(
        0.08, "Bonus when the character's name is in the text.", 0.0, 1.0, group=KNOWLEDGE_BONUSES
    )
    knowledge_bonus_source: float = setting(
        0.05, "Bonus when the character's name is in the file name.", 0.0, 1.0, group=KNOWLEDGE_BONUSES
    )
    history_bonus_session: float = setting(
        0.15, "Bonus for a turn of the running session.", 0.0, 1.0, group=EXPERIENCE_BONUSES
    )
    history_bonus_user: float = setting(0.10, "Bonus for a turn of the same user.", 0.0, 1.0, group=EXPERIENCE_BONUSES)
    history_bonus_user_text: float = setting(
        0.04, "Bonus when only the text has the user's name.", 0.0, 1.0, group=EXPERIENCE_BONUSES
    )
    history_bonus_character: float = setting(
        0.10, "Bonus for a turn with the same character.", 0.0, 1.0, group=EXPERIENCE_BONUSES
    )
    history_bonus_character_text: float = setting(
        0.04, "Bonus when only the text has the character's name.", 0.0, 1.0, group=EXPERIENCE_BONUSES
    )
