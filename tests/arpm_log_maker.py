"""Logs in the shapes of the published ARPM, made by rule: ten stages of models, rounds that begin again with each.

Of our own writing, in both languages. Has what the published run has: a regenerated reply, failed calls and leaked tags
stored as replies, an analysis that is missing, recalled items cut short that quote earlier rounds and documents.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import datetime, timedelta

# Rounds of each stage; with the two regenerations 172 dialogue events.
STAGES = (20, 20, 20, 20, 20, 20, 15, 5, 20, 10)
SESSION = "session-1700000000000-0f0f0f0f"
USER, CHARACTER = "阿澄", "白露"
_BEGAN = datetime(2026, 2, 3, 20)

_ASKED = (
    "我第{n}次问你，茶园北坡第{n}排种的是什么？",
    "第{n}天的雨量是{m}毫米，请记住。",
    "Please note that box {m} holds the seeds of row {n}.",
    "那第{n}排要等多久才能采？",
    "What did I tell you about box {m}?",
)
_ANSWERED = (
    "北坡第{n}排种的是白茶，三年后可以采。",
    "记下了：第{n}天下了{m}毫米。",
    "Noted: box {m} holds the seeds of row {n}.",
    "手册没有写，一般要三年左右，先记下种下的日子。",
    "You told me that box {m} holds the seeds of row {n}.",
)
_BAD = (
    "抱歉，上一条输出未形成可见回复，请重新生成。",
    "Error: HTTPSConnectionPool: Max retries exceeded",
    "<analysis>>\n他问的是茶树。\n</>\n\n<response>\n你种了茶树。",
)


@dataclass(frozen=True, slots=True)
class Logs:
    """The files of one run, and how many rounds they hold."""

    dialogue: bytes
    recall: bytes
    analysis: bytes
    chunks: bytes
    stages: bytes
    rounds: int
    events: int
    suspects: int


def made(stages: tuple[int, ...] = STAGES, seed: int = 0) -> Logs:
    """The logs of a run."""
    chance = random.Random(seed)
    dialogue: list[dict[str, object]] = []
    recall: list[dict[str, object]] = []
    analysis: list[dict[str, object]] = []
    said: list[tuple[int, str, str, str]] = []
    at, number, suspects = _BEGAN, 0, 0
    for stage, rounds in enumerate(stages):
        for round in range(1, rounds + 1):
            number += 1
            at += timedelta(minutes=2)
            kind = chance.randrange(len(_ASKED))
            values = {"n": number, "m": 100 + number * 7}
            asked, answered = _ASKED[kind].format(**values), _ANSWERED[kind].format(**values)
            if stage in (6, 9) and round % 5 == 0:
                answered, suspects = _BAD[number % len(_BAD)], suspects + 1
            names = {"user_name": USER, "character_name": CHARACTER}
            recall.append(
                {"logged_at": _time(at, -8), "event": "recall_context_injected", "current_round": round}
                | {"user_input": asked, **names, "context": _context(said, chance)}
            )
            both = {"session_id": SESSION, "round": round, "physical_time": _time(at)}
            if stage != 8 or round != 3:
                analysis.append(_analysis(both, at, number))
            event = {"logged_at": _time(at, 1), "event": "dialog_turn", **both, **names, "user_input": asked}
            dialogue.append(event | {"assistant_reply": answered})
            if stage in (1, 4) and round == 7:
                at += timedelta(seconds=50)
                again = {"logged_at": _time(at, 1), "event": "dialog_regenerate", "physical_time": _time(at)}
                answered = f"换个说法：{answered}"
                dialogue.append(event | again | {"assistant_reply": answered})
            said.append((round, str(dialogue[-1]["physical_time"]), asked, answered))
    chunks = [
        {"chunk_id": f"c-{place}", "text": f"{asked}\n{answered}", "user_name": USER, "character_name": CHARACTER}
        | {"user_input": asked, "assistant_reply": answered, "session_id": SESSION, "timestamp": time}
        | {"source_type": "chat_history"}
        for place, (_, time, asked, answered) in enumerate(said)
    ]
    chunks.insert(3, {"chunk_id": "k-1", "text": "茶树喜欢酸性土壤。", "source_type": "knowledge"})
    return Logs(
        _lines(dialogue),
        _lines(recall),
        _lines(analysis),
        json.dumps(chunks, ensure_ascii=False, indent=1).encode(),
        _table(stages),
        len(said),
        len(dialogue),
        suspects,
    )


def _context(said: list[tuple[int, str, str, str]], chance: random.Random) -> str:
    items = ["[1] [source_type=knowledge|source=种茶手册.txt|round_num=1|physical_time=2026-01-02T08:00:00"]
    items[0] += "|formatted_time=2026年01月02日 08:00] 茶树喜欢酸性土壤，雨后三天再施肥。..."
    for n, (round, time, asked, answered) in enumerate(chance.sample(said, min(4, len(said))), 2):
        quote = f'历史对话 {USER}: "{asked[:12]}..." -> {CHARACTER}: "{answered[:16]}..."...'
        head = f"[{n}] [source_type=chat_history|source={SESSION}|round_num={round}|physical_time={time}"
        items.append(f"{head}|formatted_time={time[:10]}] {quote}")
    return "\n".join(["=== recalled_context_chronological ===", *items])


def _analysis(both: dict[str, object], at: datetime, number: int) -> dict[str, object]:
    regeneration = {"enabled": True, "attempts": number % 2, "max_attempts": 1, "final_layer": "all", "history": []}
    protocol = {"has_analysis_tag": number % 9 > 0, "has_response_tag": True, "visible_reply": True}
    protocol |= {"looks_thinking_only": False, "resolved_model_mode": "standard", "needs_repair": number % 9 == 0}
    protocol |= {
        "was_repaired": number % 9 == 0,
        "original_analysis": "原先的分析",
        "original_raw_output": "原先的输出",
    }
    return {
        "logged_at": _time(at, 1),
        "event": "cot_analysis",
        **both,
        "analysis": "" if number % 13 == 0 else f"<analysis>[{number % 4}] 支撑第{number}轮的说法。</analysis>",
        "regeneration_info": {**regeneration, "success": True},
        "protocol_info": protocol,
    }


def _table(stages: tuple[int, ...]) -> bytes:
    rows, first = ["first_round,last_round,model"], 1
    for place, rounds in enumerate(stages):
        rows.append(f"{first},{first + rounds - 1},Model {place}")
        first += rounds
    return "\n".join(rows).encode()


def _time(at: datetime, seconds: int = 0) -> str:
    return (at + timedelta(seconds=seconds)).isoformat(timespec="microseconds")


def _lines(rows: list[dict[str, object]]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
