"""The story of a turn as text a person can read: what was asked, found, decided, shown, answered and remembered.

Keeps the promise that nothing that shaped an answer is hidden: everything comes from the record, in the order of
`arpm.turn`, and the prompt is rebuilt and compared with the recorded digest. Writes nothing and searches nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from arpm.catalogue import Catalogue
from arpm.events import Event
from arpm.prompt import compact_evidence_line, evidence_line
from arpm.protocol import STEPS, Violation, describe
from arpm.replayed_prompt import PromptLostError, matches_record, parts_of_record, prompt_of_record
from arpm.stages import STAGES
from governance.config import PRESETS
from retrieval.text import language

Row = Mapping[str, Any]

# Dropped candidates that are shown unless all are asked for.
DROPPED_SHOWN = 10
_SNIPPET = 150
_ERASED = "(erased)"


def tell(event: Event, catalogue: Catalogue, *, every_candidate: bool = False) -> str:
    """The story of a turn or failed turn. With `every_candidate` none of the dropped candidates is left out."""
    body = event.body
    if body is None:
        return f"Turn {event.id} of {event.timeline}: its record was erased; the chain still holds its digest."
    sections = [_head(event, body, catalogue), _section("Message", body["message"].splitlines())]
    if event.kind == "turn":
        sections += _remembered(event.timeline, body, catalogue, None if every_candidate else DROPPED_SHOWN)
        sections += [*_messages(body), _evidence(event, body, catalogue), _prompt(event, body, catalogue)]
        sections += [_attempts(body), *_verdict(body), _kept(event.timeline, body, catalogue)]
    else:
        sections += [_failure(body), _attempts(body)]
    return "\n\n".join([*sections, _timings(body)])


def as_data(event: Event, catalogue: Catalogue) -> dict[str, Any]:
    """The same story as plain values: the event, the texts of its memories, and the rebuilt prompt."""
    data = {
        "event": event.id,
        "kind": event.kind,
        "timeline": event.timeline,
        "session": event.session,
        "seq": event.seq,
        "at": event.at,
        "body": event.body,
    }
    if event.kind != "turn" or event.body is None:
        return data
    rows = [*event.body["candidates"]["knowledge"], *event.body["candidates"]["experience"]]
    return data | {
        "memories": {row["memory"]: text_of(catalogue, row["memory"]) for row in rows},
        "prompt": _prompt_data(event, catalogue),
    }


def text_of(catalogue: Catalogue, memory: str) -> str:
    """The words of a memory, or a remark that they were erased."""
    found = catalogue.memory(memory)
    return found.text if found else _ERASED


def candidate_lines(rows: Sequence[Row], catalogue: Catalogue, dropped: int | None) -> Iterator[str]:
    """Candidates with all their scores, by rank: every kept one and at most `dropped` others (None: all)."""
    if not rows:
        yield "none"
        return
    yield _COLUMNS
    left = 0
    for row in sorted(rows, key=lambda row: row["rank"]):
        if not row["kept"] and dropped is not None:
            if dropped == 0:
                left += 1
                continue
            dropped -= 1
        yield _scores(row)
        yield f"      {_origin(row)}"
        yield f"      {snippet(text_of(catalogue, row['memory']))}"
    if left:
        yield f"… and {left} more that were dropped; --all shows them"


def snippet(text: str, length: int = _SNIPPET) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


_COLUMNS = "rank  final   base weight rounds  hours  norm.   fused cosine simil.   bm25 cover.  became"


def _scores(row: Row) -> str:
    bm25 = "     –" if row["bm25"] is None else f"{row['bm25']:6.2f}"
    return (
        f"{row['rank']:>4} {row['final']:6.3f} {row['base']:6.3f} {row['weight']:6.3f} {row['round_weight']:6.3f} "
        f"{row['clock_weight']:6.3f} {row['normalised']:6.3f} {row['fused']:7.5f} {row['cosine']:6.3f} "
        f"{row['similarity']:6.3f} {bm25} {row['coverage']:6.3f}  {row['reason']}"
    )


def _origin(row: Row) -> str:
    """Where a candidate comes from and what its scores are made of."""
    parts = [row["memory"]]
    if row["round"] is not None:
        parts.append(f"round {row['round']} ({row['rounds_ago']} ago)")
    if row["at"] is not None:
        parts.append(f"{row['at'][:16]} ({row['hours_ago']:.1f} h ago)")
    parts += [f"{lane} rank {rank}" for lane, rank in row["ranks"].items()]
    parts += [f"bonus {name} {value:g}" for name, value in row["bonuses"].items()]
    if row["lent_by"] is not None:
        parts.append(f"lent by {row['lent_by']}")
    if row.get("superseded_by") is not None:
        parts.append(f"corrected by {row['superseded_by']}")
    return " · ".join(parts)


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([title.upper(), *(f"  {line}".rstrip() for line in lines)])


def _head(event: Event, body: Row, catalogue: Catalogue) -> str:
    timeline = catalogue.timeline(event.timeline)
    at = event.at.astimezone(ZoneInfo(timeline.timezone))
    failed = " (failed)" if event.kind == "turn_failed" else ""
    return "\n".join(
        [
            f"Round {body['round']}{failed} of {timeline.user} with {timeline.character}, "
            f"{at:%Y-%m-%d %H:%M} {timeline.timezone}",
            f"event {event.id} · timeline {event.timeline} · session {event.session}",
            f"model {body['backend']['name']} ({body['backend']['model']}) · preset {body['preset']}"
            + (" (changed by hand)" if _changed(body) else ""),
        ]
    )


def _changed(body: Row) -> bool:
    named = PRESETS.get(body["preset"])
    return named is None or named.config.as_dict() != body["config"]


def _remembered(timeline: str, body: Row, catalogue: Catalogue, dropped: int | None) -> list[str]:
    """Instructions, query and the candidates of both routes."""
    shown, omitted = body["instructions_shown"], body["instructions_omitted"]
    rows = body["candidates"]
    return [
        _section("Instructions", _instructions(catalogue, timeline, shown) if shown else ["none in force"]),
        *(
            [_section("Instructions left out: over the token cap", _instructions(catalogue, timeline, omitted))]
            if omitted
            else []
        ),
        _section("Query as searched", body["augmented_query"].splitlines()),
        *(
            _section(
                f"Candidates: {route} ({sum(row['kept'] for row in rows[route])} of {len(rows[route])} kept)",
                candidate_lines(rows[route], catalogue, dropped),
            )
            for route in ("knowledge", "experience")
        ),
    ]


def _instructions(catalogue: Catalogue, timeline: str, ids: Sequence[str]) -> Iterator[str]:
    words = {item.id: item.text for item in catalogue.instructions(timeline)}
    return (f"{id}  {words.get(id, _ERASED)}" for id in ids)


def _messages(body: Row) -> list[str]:
    """What the context policy made of earlier messages; neighbours left out for one reason are one line."""
    if not body["history"]:
        return []
    lines = []
    for (out, reason), group in groupby(body["history"], key=lambda row: (row["fidelity"] is None, row["reason"])):
        rows = list(group)
        if out:
            lines.append(f"rounds {rows[0]['round']}-{rows[-1]['round']}: {len(rows)} messages left out, {reason}")
            continue
        for row in rows:
            focus = row["focus"]
            scored = (
                f" ({_importance(focus)}, similarity {focus['similarity']:.3f}, recency {focus['recency']:.3f},"
                f" score {focus['score']:.3f})"
                if focus
                else ""
            )
            note = f"; {row['note']}" if row["note"] else ""
            lines.append(
                f"round {row['round']} {row['part']}: {row['fidelity']}, {row['tokens']} tokens, {reason}{scored}{note}"
            )
    return [_section(f"Earlier messages ({body['config']['policy']})", lines)]


def _importance(focus: Row) -> str:
    """How important a message was judged, with how surely and why where the record says so."""
    if not focus.get("reason"):
        return str(focus["importance"])
    return f"{focus['importance']}, {focus['probability']:.0%} sure ({focus['reason']})"


def _evidence(event: Event, body: Row, catalogue: Catalogue) -> str:
    rows = body["evidence"]
    if not rows:
        return _section("Evidence as shown", ["none: nothing that is remembered matched"])
    try:
        parts = parts_of_record(catalogue, event)
    except PromptLostError as error:
        return _section("Evidence as shown", [str(error)])
    line = compact_evidence_line if parts.style == "compact" else evidence_line
    lines = []
    for item in parts.evidence:
        marks = [word for word in ("cited", "bound") if item.label in body[word]]
        lines.append(f"{item.label}: {item.memory}, {item.fidelity}, {item.tokens} tokens{_in_brackets(marks)}")
        lines += [f"  {text}" for text in line(item).splitlines()]
    return _section("Evidence as shown", lines)


def _in_brackets(words: Sequence[str]) -> str:
    return f" ({', '.join(words)})" if words else ""


def _prompt(event: Event, body: Row, catalogue: Catalogue) -> str:
    about = "about " if body["prompt"]["approximate"] else ""
    lines = [f"{about}{body['prompt']['tokens']} tokens · {body['prompt']['digest']}"]
    try:
        messages = prompt_of_record(catalogue, event)
    except PromptLostError as error:
        return _section("Prompt", [*lines, f"cannot be rebuilt: {error}"])
    same = matches_record(messages, event)
    lines.append("rebuilt from the record: " + ("the digests agree" if same else "THE DIGESTS DO NOT AGREE"))
    for message in messages:
        lines += [f"[{message.role}]", *(f"  {line}" for line in message.content.splitlines())]
    return _section("Prompt", lines)


def _prompt_data(event: Event, catalogue: Catalogue) -> dict[str, Any]:
    try:
        messages = prompt_of_record(catalogue, event)
    except PromptLostError as error:
        return {"rebuilt": False, "matches": False, "reason": str(error), "messages": []}
    same = matches_record(messages, event)
    reason = None if same else "the rebuilt prompt has another digest than the record"
    listed = [{"role": message.role, "content": message.content} for message in messages]
    return {"rebuilt": True, "matches": same, "reason": reason, "messages": listed}


def _attempts(body: Row) -> str:
    lines = []
    for number, attempt in enumerate(body["attempts"], 1):
        counts = f"{_count(attempt['prompt_tokens'])} prompt + {_count(attempt['completion_tokens'])} reply tokens"
        lines.append(f"{number}. {attempt['purpose']}: {attempt['finish']}, {attempt['seconds']:.2f} s, {counts}")
        lines += [f"     reasoning | {line}" for line in (attempt["reasoning"] or "").splitlines()]
        lines += [f"   | {line}" for line in attempt["raw"].splitlines()]
    return _section("Attempts, raw", lines or ["none ended"])


def _count(tokens: int | None) -> str:
    return "?" if tokens is None else str(tokens)


def _verdict(body: Row) -> list[str]:
    """Analysis, violations, repairs, the reply, and whether it became memory."""
    analysis, admission = body["analysis"] or {}, body["admission"]
    cited = ", ".join(body["cited"]) or "none"
    bound = ", ".join(body["bound"]) or "none"
    faults = [describe(Violation(**row), language(body["message"])) for row in body["violations"]]
    kept = f"remembered as {admission['memory']}" if admission["admitted"] else "not remembered"
    return [
        _section(
            "Analysis",
            [
                f"need: {analysis.get('need') or 'not said'}",
                f"cited: {cited} · repeated in the reply: {bound}",
                *(analysis.get("check") or analysis.get("text") or "no check").splitlines(),
            ],
        ),
        _section("Violations", faults or ["none"]),
        _section("Repairs", [_repair(row) for row in body["repairs"]] or ["none"]),
        _section("Reply", body["response"].splitlines()),
        _section("Admission", [f"{kept} ({admission['reason']})"]),
    ]


def _kept(timeline: str, body: Row, catalogue: Catalogue) -> str:
    """Which instructions the reply kept, and what was found."""
    rows = body["adherence"]
    if rows is None:
        return _section("Instructions kept", ["not checked: the record is older than the check"])
    words = {item.id: item.text for item in catalogue.instructions(timeline)}
    lines = []
    for row in rows:
        lines.append(f"{row['verdict']}: {words.get(row['instruction'], _ERASED)}")
        lines += [f"  {_found(check)}" for check in row["checks"]]
    return _section("Instructions kept", lines or ["none in force"])


def _found(check: Row) -> str:
    """A check in words: its kind, its verdict, and what was found where."""
    found, said = check["found"], f"{check['kind'].replace('_', ' ')}: {check['verdict']}"
    if found["count"] is not None:
        said += f", found {found['count']}"
    if found["text"] is not None:
        said += f"{':' if found['count'] is not None else ', found'} “{found['text']}”"
    return said if found["at"] is None else f"{said} at character {found['at']}"


def _repair(row: Row) -> str:
    steps = "; ".join(STEPS.get(step, step.replace("_", " ")) for step in row["steps"])
    return f"{row['rung']}: {steps} → {'follows the protocol' if row['fixed'] else 'still broken'}"


def _failure(body: Row) -> str:
    lines = [f"{body['error']['kind']}: {body['error']['text']}", "Nothing became memory; the message is kept."]
    return _section("Failed", [*lines, *(f"arrived | {line}" for line in (body["partial"] or "").splitlines())])


def _timings(body: Row) -> str:
    # The ledger sorts names; a person reads them in the order of the turn.
    seconds = body["timings"]
    return _section("Seconds", [f"{stage} {seconds[stage]:.4f}" for stage in STAGES if stage in seconds])
