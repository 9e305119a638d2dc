"""What the ablation comes to: measures, what each part is worth, tables and figures. Pure functions over rows.

Apart from `ablation`, on which the finished steps of a run depend: another table does not do them again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from arpm.audit.plots import styled
from arpm.experiments.ablation_measures import (
    LAST,
    MEASURES,
    NEWEST,
    OUTRANKS,
    PLACE,
    SHOWN,
    VERIFIED,
    PerScript,
    Row,
    differences,
    estimated,
    of_language,
    overall,
    per_script,
)
from arpm.experiments.ablation_parts import BASE, parts_table, worths
from arpm.experiments.base import Result, Table, Target
from arpm.experiments.grading import ANOMALIES
from arpm.experiments.retrieval_metrics import Estimate, bars
from arpm.experiments.scripts import LANGUAGES
from governance.config import PRESETS


def evidence_result(rows: Sequence[Row], names: Sequence[str], setting: str) -> Result:
    """The measures that need no model, of the rows of one setting."""
    measures = {title: {name: per_script(rows, name, value) for name in names} for title, value in MEASURES.items()}
    tables = [_measure_table(f"{title}, {setting}", values) for title, values in measures.items()]
    slug = setting.replace(" ", "-")
    parts = {spoken or "both": [worth.as_dict() for worth in worths(rows, setting, spoken)]
             for spoken in (*LANGUAGES, None)}  # fmt: skip
    return Result(
        numbers={
            setting: {key: _numbers(values) for key, values in measures.items()}
            | {"parts": parts, "missing": _missing(rows, BASE)}
        },
        tables=(
            parts_table(rows, setting),
            *tables,
            *(_by_round(rows, names, title, setting) for title in (SHOWN, PLACE, NEWEST, VERIFIED)),
            _fact_table(rows, names, setting),
            _missing_table(rows, setting),
        ),
        figures={
            f"evidence-{slug}": _bars(f"Needed evidence in the prompt, {setting}", measures[SHOWN]),
            f"places-{slug}": _bars(f"Reciprocal rank of the needed evidence, {setting}", measures[PLACE]),
            f"outranks-{slug}": _bars(f"Corrected fact outranks the stale one, {setting}", measures[OUTRANKS]),
            f"newest-{slug}": _bars(f"Newest statement outranks the older ones, {setting}", measures[NEWEST]),
            f"rounds-{slug}": _heat(rows, names, setting),
        },
        targets=tuple(
            Target(f"{title}, preset {BASE}", overall(measures[title][BASE]), 1.0) for title in (SHOWN, OUTRANKS, LAST)
        ),
    )


def answers_result(rows: Sequence[Row], names: Sequence[str]) -> Result:
    """What a model's graded replies come to."""
    right = {name: per_script(rows, name, lambda row: float(row["right"])) for name in names}
    shown = {name: per_script(rows, name, MEASURES[SHOWN]) for name in names}
    anomalies = {name: {kind: _anomaly_rate(rows, name, kind) for kind in ANOMALIES} for name in names}
    counts = {name: sum(row["preset"] == name for row in rows) for name in names}
    table = Table(
        "Anomaly rate by kind, with the model",
        ("preset", "rounds", *ANOMALIES),
        tuple((n, counts[n], *map(str, anomalies[n].values())) for n in names),
    )
    return Result(
        numbers={
            "strictly right": _numbers(right),
            "needed evidence in prompt, with the model": _numbers(shown),
            "anomalies": {n: {kind: rate.as_dict() for kind, rate in anomalies[n].items()} for n in names},
            "failed turns": {n: sum(bool(r["failed"]) for r in rows if r["preset"] == n) for n in names},
        },
        tables=(_measure_table("strictly right, with the model", right), table),
        figures={"right": _bars("Strictly right replies", right)},
    )


def _anomaly_rate(rows: Sequence[Row], name: str, kind: str) -> Estimate:
    """The share of rounds with an anomaly; the interval is over scripts."""
    found = estimated(of_language(per_script(rows, name, lambda row: float(row["anomaly"] == kind)), None))
    assert found is not None, f"no rounds under {name}"
    return found


def joined(one: Result, other: Result) -> Result:
    """Two results as one."""
    return Result(
        {**one.numbers, **other.numbers},
        (*one.tables, *other.tables),
        {**one.figures, **other.figures},
        (*one.targets, *other.targets),
    )


def _numbers(values: Mapping[str, PerScript]) -> dict[str, Any]:
    """Every preset's mean by language and over both, and its paired difference to A."""
    out: dict[str, Any] = {}
    for name, found in values.items():
        out[name] = {}
        for language in (*LANGUAGES, None):
            mean = estimated(of_language(found, language))
            difference = estimated(differences(found, values[BASE], language))
            if mean is None or difference is None:
                continue
            out[name][language or "both"] = mean.as_dict() | {
                "minus_A": difference.as_dict(),
                "differs": not difference.low <= 0 <= difference.high,
            }
    return out


def _measure_table(title: str, values: Mapping[str, PerScript]) -> Table:
    rows = []
    for name, found in values.items():
        means = [estimated(of_language(found, language)) for language in (*LANGUAGES, None)]
        difference = estimated(differences(found, values[BASE]))
        surely = difference is not None and not difference.low <= 0 <= difference.high
        differs = "" if name == BASE or difference is None else "yes" if surely else "no"
        what = PRESETS[name].help if name in PRESETS else ""
        cells = [None if value is None else str(value) for value in (*means, difference)]
        rows.append((name, what, *cells, differs))
    heads = ("preset", "what", "English", "Chinese", "both", f"minus {BASE}", f"differs from {BASE}")
    return Table(title[0].upper() + title[1:], heads, tuple(rows))


def _needed(rows: Sequence[Row]) -> list[tuple[int, str]]:
    return sorted({(row["round"], row["kind"]) for row in rows if row["needs"]})


def _share(rows: Sequence[Row], name: str, number: int) -> float:
    found = [not row["missing"] for row in rows if row["preset"] == name and row["round"] == number]
    return sum(found) / len(found)


def _by_round(rows: Sequence[Row], names: Sequence[str], title: str, setting: str) -> Table:
    """A measure of every preset, round by round."""
    found: dict[tuple[int, str], dict[str, list[float]]] = {}
    for row in rows:
        if (value := MEASURES[title](row)) is not None:
            found.setdefault((row["round"], row["kind"]), {}).setdefault(row["preset"], []).append(value)
    lines = [(*key, *(sum(by[name]) / len(by[name]) if name in by else None for name in names))
             for key, by in sorted(found.items())]  # fmt: skip
    return Table(f"{title[0].upper()}{title[1:]}, by round, {setting}", ("round", "kind", *names), tuple(lines))


def _fact_table(rows: Sequence[Row], names: Sequence[str], setting: str) -> Table:
    found: dict[tuple[int, str, str], dict[str, list[bool]]] = {}
    for row in rows:
        for fact, outranks in zip(row["facts"], row["outranks"], strict=True):
            key = (row["round"], row["kind"], fact)
            found.setdefault(key, {}).setdefault(row["preset"], []).append(outranks)
    lines = [(*key, *(sum(by[name]) / len(by[name]) for name in names)) for key, by in sorted(found.items())]
    title = f"Corrected fact outranks the stale one by round, {setting}"
    return Table(title, ("round", "kind", "fact", *names), tuple(lines))


def _missing(rows: Sequence[Row], name: str) -> list[dict[str, Any]]:
    return [
        {"script": row["script"], "round": row["round"], "kind": row["kind"], "needs": group, "reason": reason}
        for row in rows
        if row["preset"] == name
        for group, reason in row["missing"]
    ]


def _missing_table(rows: Sequence[Row], setting: str) -> Table:
    lines = tuple(
        (item["script"], item["round"], item["kind"], ", ".join(map(str, item["needs"])), item["reason"])
        for item in _missing(rows, BASE)
    )
    title = f"What preset {BASE} did not show, and why, {setting}"
    return Table(title, ("script", "round", "kind", "needs one of", "why"), lines)


def _bars(title: str, values: Mapping[str, PerScript]) -> Figure:
    series = {
        words: {name: found for name, scripts in values.items() if (found := estimated(of_language(scripts, language)))}
        for language, words in (("en", "English"), ("zh", "Chinese"))
    }
    return bars(title, "Share of rounds", series)


def _heat(rows: Sequence[Row], names: Sequence[str], setting: str) -> Figure:
    needed = _needed(rows)
    shares = [[_share(rows, name, number) for number, _ in needed] for name in names]
    with styled(f"Needed evidence in the prompt, by preset and round, {setting}", "Round", "Preset") as (figure, axes):
        image = axes.imshow(shares, vmin=0, vmax=1, cmap="cividis", aspect="auto")
        axes.set_xticks(range(len(needed)), [str(number) for number, _ in needed])
        axes.set_yticks(range(len(names)), list(names))
        axes.grid(visible=False)
        for y, line in enumerate(shares):
            for x, value in enumerate(line):
                axes.text(x, y, f"{100 * value:.0f}", ha="center", va="center", size=8,
                          color="black" if value > 0.5 else "white")  # fmt: skip
        figure.colorbar(image, ax=axes, label="Share of scripts")
        return figure
