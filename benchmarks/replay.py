"""Replay of a timeline of 500 turns that the embedded model answered: how many come out the same, and how fast.

The messages are those of LoCoMo conversations, sent one after the other, every third a question. Arithmetic and
retrieval are replayed from the folder alone, as `arpm replay` does, with the recorded vectors.
"""

from __future__ import annotations

import json
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

from arpm.audit.folder import ReplayJob
from arpm.audit.replay import Depth
from arpm.service import Service
from arpm.settings import Settings
from benchmarks.report import data_folder, main, table, target

TURNS, QUICK = 500, 12
# Turns a second.
BARS: dict[Depth, float] = {"arithmetic": 100.0, "retrieval": 20.0}


def messages(count: int) -> list[str]:
    """Things said in LoCoMo, and after every two of them a question about them."""
    conversations = json.loads(next(data_folder("locomo").glob("locomo10*.json")).read_text("utf-8"))
    said = (
        " ".join(turn["text"].split())
        for talk in conversations
        for name, session in talk["conversation"].items()
        if name.startswith("session_") and isinstance(session, list)
        for turn in session
        if not turn["text"].rstrip().endswith("?")
    )
    asked = (item["question"] for talk in conversations for item in talk["qa"])
    mixed = (text for pair in zip(said, said, asked, strict=False) for text in pair)
    return list(islice(mixed, count))


def replayed(settings: Settings, timeline: str, depth: Depth) -> dict[str, Any]:
    """One depth over the whole timeline, in this process."""
    start = time.perf_counter()
    result = ReplayJob(settings, depth)(timeline)
    seconds = time.perf_counter() - start
    return {
        "depth": depth,
        "turns": len(result.turns),
        "same": sum(turn.same for turn in result.turns),
        "seconds": round(seconds, 2),
        "turns a second": round(len(result.turns) / seconds, 1),
        "error": result.error,
    }


def run(quick: bool = False) -> dict[str, Any]:
    """Live the turns with the embedded model, then replay them (quick: a few)."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(logs=Path(folder))
        start = time.perf_counter()
        with Service(settings) as service:
            timeline = service.create_timeline("Caroline", "Melanie").id
            for message in messages(QUICK if quick else TURNS):
                service.turn(timeline, message)
        lived = time.perf_counter() - start
        rows = [replayed(settings, timeline, depth) for depth in BARS]
    return {
        "lived_seconds": round(lived, 1),
        "rows": rows,
        "tables": [table("replay", list(rows[0]), [list(row.values()) for row in rows])],
        "targets": [
            *(target(f"same at depth {row['depth']}", row["same"] / row["turns"], 1.0, at_least=True) for row in rows),
            *(
                target(f"turns/s at depth {row['depth']}", row["turns a second"], BARS[row["depth"]], at_least=True)
                for row in rows
            ),
        ],
    }


if __name__ == "__main__":
    main("replay", run)
