"""Timelines as eval logs of inspect_ai (`.json`, version 2): one log a timeline, one sample a round.

A sample's input is the prompt as it was sent, rebuilt from the record where nothing of it was erased, else the message
alone; its output is the reply. Scores are what the record and reviewers say, 1 or 0. Failed turns are samples with an
error. Erased rounds have no sample; the log's metadata names them. Written after the published data model, without the
package, so that nothing has to be installed to export.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC
from functools import partial
from statistics import mean
from typing import Any

from arpm import __version__
from arpm.audit.exports.source import Source, TimelineSource
from arpm.audit.exports.write import Content, about, as_json, erased_in_words
from arpm.catalogue import ReviewRow
from arpm.events import Event
from arpm.replayed_prompt import PromptLostError, matches_record, prompt_of_record

Sample = dict[str, Any]

_STOP = {"stop": "stop", "length": "max_tokens"}
_VERDICTS = {"yes": 1, "no": 0}


def as_inspect(source: Source) -> dict[str, Content]:
    """File name → content: one log for each timeline."""
    return {_file_name(one): partial(_text, source, one) for one in source.timelines}


def _file_name(timeline: TimelineSource) -> str:
    """A name as inspect_ai lists logs by: time, task and id."""
    return f"{timeline.info.at.astimezone(UTC):%Y-%m-%dT%H-%M-%S+00-00}_arpm_{timeline.ledger.name}.json"


def _text(source: Source, timeline: TimelineSource) -> Iterator[str]:
    yield as_json(eval_log(source, timeline), indent=1) + "\n"


def eval_log(source: Source, timeline: TimelineSource) -> dict[str, Any]:
    """The log of one timeline as plain values."""
    samples = list(_samples(source, timeline))
    models = list(dict.fromkeys(sample["output"]["model"] for sample in samples if sample["output"]["model"]))
    times = [sample["started_at"] for sample in samples] or [timeline.info.at.isoformat()]
    name = timeline.ledger.name
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": name,
            "run_id": name,
            "created": times[0],
            "task": "arpm",
            "task_id": name,
            "task_version": 0,
            "dataset": {
                "name": name,
                "samples": len(samples),
                "sample_ids": [sample["id"] for sample in samples],
                "shuffled": False,
            },
            "model": models[0] if len(models) == 1 else "several" if models else "none",
            "config": {},
            "packages": {"arpm": __version__},
            "metadata": {"timeline": _about(source, timeline), "models": models, "erased": erased_in_words([timeline])},
        },
        "plan": {"name": "plan", "steps": []},
        "results": {
            "total_samples": len(samples),
            "completed_samples": sum("error" not in sample for sample in samples),
            "scores": _means(samples),
        },
        "stats": {"started_at": times[0], "completed_at": times[-1], "model_usage": _usage(samples)},
        "samples": samples,
    }


def _about(source: Source, timeline: TimelineSource) -> dict[str, Any]:
    return next(one for one in about(source) if one["id"] == timeline.ledger.name)


def _samples(source: Source, timeline: TimelineSource) -> Iterator[Sample]:
    for event in timeline.events():
        if event.body is None:
            continue
        if event.kind == "turn":
            row = source.catalogue.turn(event.id)
            # A reply that was asked for again is told of by its successor; its row is in the tables.
            if row is None or row.replaced_by is None:
                yield _turn(source, event, event.body)
        elif event.kind == "turn_failed":
            yield _failed(event, event.body)
        elif event.kind == "imported":
            yield _imported(event, event.body)


def _turn(source: Source, event: Event, body: Mapping[str, Any]) -> Sample:
    messages, prompt = _prompt(source, event, body)
    last = body["attempts"][-1] if body["attempts"] else {"finish": "unknown"}
    output = _output(body["backend"]["model"], body["response"], _STOP.get(last["finish"], "unknown"), body["attempts"])
    metadata = {
        **_metadata(event, body),
        "prompt": prompt,
        "preset": body["preset"],
        "config": body["config"],
        "analysis": body["analysis"],
        "evidence": body["evidence"],
        "cited": body["cited"],
        "bound": body["bound"],
        "violations": body["violations"],
        "repairs": body["repairs"],
        "admission": body["admission"],
        "raw": [attempt["raw"] for attempt in body["attempts"]],
    }
    scores = {
        "protocol": _score(int(not body["violations"]), ", ".join(one["kind"] for one in body["violations"])),
        "admitted": _score(int(body["admission"]["admitted"]), body["admission"]["reason"]),
    }
    if body["evidence"]:
        scores["cites_evidence"] = _score(int(bool(body["cited"])), ", ".join(body["cited"]))
    scores |= _reviewed(source.catalogue.reviews_of_turn(event.id))
    return _sample(event, body, messages, output, metadata, scores)


def _failed(event: Event, body: Mapping[str, Any]) -> Sample:
    output = _output(body["backend"]["model"], body["partial"] or "", "unknown", body["attempts"])
    text = f"{body['error']['kind']}: {body['error']['text']}"
    sample = _sample(event, body, [_said("user", body["message"])], output, _metadata(event, body), {})
    return {**sample, "error": {"message": text, "traceback": text, "traceback_ansi": text}}


def _imported(event: Event, body: Mapping[str, Any]) -> Sample:
    published = body.get("published") or {}
    output = _output(published.get("model") or "unknown", body["reply"], "stop", [])
    metadata = {**_metadata(event, body), "source": body["source"], "published": published or None}
    return _sample(event, body, [_said("user", body["message"])], output, metadata, {})


def _sample(
    event: Event,
    body: Mapping[str, Any],
    messages: list[dict[str, str]],
    output: Mapping[str, Any],
    metadata: Mapping[str, Any],
    scores: Mapping[str, Any],
) -> Sample:
    reply = output["choices"][0]["message"]
    usage = {output["model"]: output["usage"]} if output["usage"] else {}
    return {
        # A failed attempt and the reply that came in its place share a round.
        "id": f"{body['round']}" if event.kind != "turn_failed" else f"{body['round']}-failed-{event.seq}",
        "epoch": 1,
        "input": messages,
        "target": "",
        "messages": [*messages, reply],
        "output": output,
        "scores": dict(scores),
        "metadata": dict(metadata),
        "events": [],
        "model_usage": usage,
        "started_at": event.at.isoformat(),
        "total_time": output["time"],
        "uuid": event.id,
    }


def _metadata(event: Event, body: Mapping[str, Any]) -> dict[str, Any]:
    return {"timeline": event.timeline, "event": event.id, "session": event.session, "round": body["round"]}


def _prompt(source: Source, event: Event, body: Mapping[str, Any]) -> tuple[list[dict[str, str]], str]:
    """The messages that were sent, and whether they are what the record is sealed with."""
    try:
        messages = prompt_of_record(source.catalogue, event)
    except PromptLostError as error:
        return [_said("user", body["message"])], f"lost: {error}"
    same = matches_record(messages, event)
    return [_said(one.role, one.content) for one in messages], "as sent" if same else "rebuilt with another digest"


def _said(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _output(model: str, text: str, stop: str, attempts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    asked = sum(attempt["prompt_tokens"] or 0 for attempt in attempts)
    given = sum(attempt["completion_tokens"] or 0 for attempt in attempts)
    usage = {"input_tokens": asked, "output_tokens": given, "total_tokens": asked + given}
    return {
        "model": model,
        "choices": [{"message": {**_said("assistant", text), "model": model}, "stop_reason": stop}],
        "completion": text,
        "usage": usage if asked + given else None,
        "time": round(sum(attempt["seconds"] for attempt in attempts), 6) if attempts else None,
    }


def _reviewed(reviews: Sequence[ReviewRow]) -> dict[str, Any]:
    """The verdicts of each reviewer's last review: the mean of those that are no `unsure`."""
    replaced = {review.supersedes for review in reviews}
    last = [review for review in reviews if review.event not in replaced]
    scores = {}
    for name in ("support", "correct"):
        marks = [_VERDICTS[verdict] for review in last if (verdict := getattr(review, name)) in _VERDICTS]
        if marks:
            reasons = "; ".join(f"{review.reviewer}: {review.reason}" for review in last)
            scores[f"review_{name}"] = _score(mean(marks), reasons)
    return scores


def _score(value: float, explanation: str) -> dict[str, Any]:
    return {"value": value, "explanation": explanation or None}


def _means(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """The mean of every score over the samples that have it."""
    names = dict.fromkeys(name for sample in samples for name in sample["scores"])
    found = []
    for name in names:
        values = [sample["scores"][name]["value"] for sample in samples if name in sample["scores"]]
        found.append(
            {
                "name": name,
                "scorer": name,
                "scored_samples": len(values),
                "unscored_samples": len(samples) - len(values),
                "metrics": {"mean": {"name": "mean", "value": mean(values)}},
            }
        )
    return found


def _usage(samples: Sequence[Sample]) -> dict[str, Any]:
    total: dict[str, dict[str, int]] = {}
    for sample in samples:
        for model, usage in sample["model_usage"].items():
            before = total.setdefault(model, dict.fromkeys(usage, 0))
            for name, count in usage.items():
                before[name] += count
    return total
