"""The constants of ranking, searched on half of LoCoMo's conversations and reported on the other half.

First the fusion (of ranks alone or with the convex combination of scores, its weights, RRF constant, share lent to
neighbours) with decay as shipped, then the decay of experience (both time constants and the floor) on top of the best
fusion. The winner must let corrections win as often as the shipped
preset does: in written cases of both languages a correction of some rounds ago has to come before the old fact. A
second winner ignores that. Nothing is chosen on the half that is reported.

Seed 0 searches on the first half of the file, as docs/decisions/0004 did; further seeds split the conversations anew.
Constants of the knowledge route do not matter here: conversations hold no documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from arpm.audit.plots import BLUE, GREEN, GREY, ORANGE, PURPLE, styled
from arpm.experiments.base import Result, Run, Table, file_digest
from arpm.experiments.locomo import ABOUT, RETRIEVAL, Question, Talk, beginning, memory_of, read_talks
from arpm.experiments.memories import RANKED, VARIANTS, Laboratory, Memory, basis
from arpm.experiments.retrieval_metrics import (
    Estimate,
    Scores,
    as_numbers,
    measures_table,
    paired_difference,
    retrieval_scores,
)
from arpm.importers.atoms import Atom
from governance.config import GovernanceConfig, preset
from governance.decay import Moment
from governance.selection import decide
from retrieval.candidates import Candidate, Query
from retrieval.config import HistoryFusion, RetrievalConfig
from retrieval.embedding.base import Vectors

# What a setting is chosen by: the mean of these on the half that is searched.
CHOSEN_BY = ("recall@10", "hit@10", "mrr")
# Ranks alone, and ranks with scores: each kind of fusion has a grid of its own.
FUSIONS: dict[HistoryFusion, dict[str, tuple[float, ...]]] = {
    "rrf": {
        "history_rrf_k": (0.0, 1.0, 2.0, 4.0, 10.0, 20.0, 60.0),
        "neighbour_share": (0.0, 0.2, 0.3, 0.4, 0.5, 0.6),
    },
    "convex": {
        "history_rrf_k": (2.0,),
        "neighbour_share": (0.4,),
        "convex_weight": (0.5, 1.0, 2.0),
        "convex_context": (1.0, 1.5, 2.0),
        "convex_words": (0.6, 1.0, 1.4),
        "convex_width": (0.2, 0.3, 0.4),
    },
}
DECAY: dict[str, tuple[float, ...]] = {
    "history_lambda_round": (10.0, 20.0, 50.0, 100.0),
    "history_lambda_hours": (72.0, 168.0, 336.0, 720.0),
    "history_floor": (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
}
_QUICK_SESSIONS, _QUICK_QUESTIONS = 2, 12
_QUICK_FUSIONS: dict[HistoryFusion, dict[str, tuple[float, ...]]] = {
    "rrf": {"history_rrf_k": (2.0, 60.0), "neighbour_share": (0.0, 0.4)},
    "convex": {"convex_words": (0.0, 1.0), "neighbour_share": (0.4,)},
}
_QUICK_DECAY = {"history_lambda_round": (20.0,), "history_lambda_hours": (168.0,), "history_floor": (0.0, 0.6, 0.9)}

# Old fact, correction, question. Of our own; other cases than those of the tests.
CORRECTIONS = (
    (
        "My train to Ghent leaves at 7:40.",
        "The train was moved, it leaves at 8:15.",
        "When does my train to Ghent leave?",
    ),
    (
        "My violin lesson is on Tuesday.",
        "The violin lesson is on Thursday from now on.",
        "Which day is my violin lesson?",
    ),
    ("The cat's name is Pepper.", "Sorry, I mistyped: the cat's name is Pippa.", "What is the cat's name?"),
    ("We booked room 214.", "They gave us room 318 instead of 214.", "Which room did we book?"),
    (
        "The paint for the hall is grey.",
        "We changed our mind, the hall will be yellow.",
        "What colour will the hall be?",
    ),
    ("我的航班是早上九点。", "航班改了，是下午两点。", "我的航班是几点？"),
    ("我家的狗叫豆豆。", "我打错了，狗叫团团。", "我家的狗叫什么？"),
    ("钢琴课在星期二。", "钢琴课改到星期五了。", "钢琴课在星期几？"),
    ("包裹寄到北京路十二号。", "地址错了，包裹寄到南京路二十号。", "包裹寄到哪里？"),
    ("我们订了四个人的桌子。", "人数变了，订六个人的桌子。", "我们订了几个人的桌子？"),
)
_TALK = (
    *("It rained all morning.", "The bakery had fresh rolls.", "I watched a film about whales.", "My feet hurt a bit."),
    *("早上一直在下雨。", "面包店有新鲜的面包。", "我看了一部关于鲸鱼的电影。", "今天走了很多路。"),
)
# Where the old fact and its correction stand in this many rounds, and how long ago that may be.
_ROUNDS, _OLD, _AGO = 60, 8, (1, 3, 6, 10)

Setting = dict[str, float | str]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its vector, and the memory to ask."""

    talk: Talk
    question: Question
    memory: Memory
    vector: Vectors


@dataclass(frozen=True, slots=True)
class Split:
    """What one seed found: the settings tried on the searched half, and the scores of four configs on the other."""

    seed: int
    searched: tuple[str, ...]
    fusion: tuple[tuple[Setting, float], ...]
    decay: tuple[tuple[Setting, float, float], ...]
    chosen: Mapping[str, Setting]
    reported: Mapping[str, list[Scores]]


def run(run: Run) -> Result:
    """Search and report for every seed."""
    file = run.source("locomo", "locomo10.json", about=ABOUT)
    talks = _quick_talks(read_talks(file)) if run.quick else read_talks(file)
    data = file_digest(file)
    with Laboratory(run) as laboratory:
        bench = Bench(run, laboratory, talks, data)
        splits = [_split(bench, talks, seed) for seed in range(run.seeds)]
    return _result(splits)


def _quick_talks(talks: Sequence[Talk]) -> list[Talk]:
    """The beginnings of the first two conversations."""
    return [beginning(talk, _QUICK_SESSIONS, _QUICK_QUESTIONS) for talk in talks[:2]]


def halves(count: int, seed: int) -> tuple[list[int], list[int]]:
    """The places that are searched and those that are reported: halves of the file, or of a shuffle for other seeds."""
    order = list(range(count)) if seed == 0 else np.random.default_rng(seed).permutation(count).tolist()
    return sorted(order[: count // 2]), sorted(order[count // 2 :])


def grid(axes: Mapping[str, Sequence[float]]) -> list[Setting]:
    """Every combination of the values."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def fusions(axes: Mapping[HistoryFusion, Mapping[str, Sequence[float]]]) -> list[Setting]:
    """Every combination of every kind of fusion."""
    return [{"history_fusion": kind, **setting} for kind, own in axes.items() for setting in grid(own)]


class Bench:
    """Scores of a config on conversations, each a step of the run. The ranking is the one that `Service.look` gives."""

    def __init__(self, run: Run, laboratory: Laboratory, talks: Sequence[Talk], data: str) -> None:
        self.run = run
        self._laboratory = laboratory
        self._talks = talks
        self._data = data
        self._asked: dict[int, list[Asked]] = {}
        # Candidates depend on the fusion alone, so they are kept while only the decay changes.
        self._found: dict[int, list[list[Candidate]]] = {}
        self._found_with: tuple[Any, ...] = ()

    def rows(self, places: Sequence[int], config: GovernanceConfig) -> list[Scores]:
        """The scores of every question of those conversations."""
        return [scores for place in places for scores in self._of_talk(place, config)]

    def _of_talk(self, place: int, config: GovernanceConfig) -> list[Scores]:
        talk = self._talks[place]
        inputs = basis(self.run, config, data=self._data, questions=[q.id for q in talk.questions if q.evidence])
        rows: list[Scores] = self.run.step(
            ["scores", talk.conversation.id], inputs, lambda: self._measure(place, config)
        )
        return rows

    def objective(self, places: Sequence[int], config: GovernanceConfig) -> float:
        """The mean, over the questions of those conversations, of what a setting is chosen by."""
        parts = [self._part(place, config) for place in places]
        count = sum(part["count"] for part in parts)
        return sum(part["sum"] for part in parts) / count if count else 0.0

    def _part(self, place: int, config: GovernanceConfig) -> dict[str, float]:
        talk = self._talks[place]
        inputs = basis(self.run, config, data=self._data, questions=[q.id for q in talk.questions if q.evidence])

        def compute() -> dict[str, float]:
            rows = self._measure(place, config)
            # Not the rows: of all the settings that are tried they would fill a hundred megabytes.
            return {
                "sum": float(sum(row[measure] for row in rows for measure in CHOSEN_BY) / len(CHOSEN_BY)),
                "count": len(rows),
            }

        part: dict[str, float] = self.run.step(["objective", talk.conversation.id], inputs, compute)
        return part

    def _measure(self, place: int, config: GovernanceConfig) -> list[Scores]:
        asked = self.asked(place)
        with_fusion = tuple(getattr(config, field.name) for field in fields(RetrievalConfig))
        if with_fusion != self._found_with:
            self._found, self._found_with = {}, with_fusion
        if place not in self._found:
            self._found[place] = [self.candidates(one, config) for one in asked]
        return [
            retrieval_scores(ranked(one, found, config), one.question.evidence)
            for one, found in zip(asked, self._found[place], strict=True)
        ]

    def asked(self, place: int) -> list[Asked]:
        """The questions of a conversation with their vectors."""
        if place not in self._asked:
            talk = self._talks[place]
            memory = memory_of(self._laboratory, talk)
            questions = [question for question in talk.questions if question.evidence]
            vectors = self._laboratory.service.embedder.encode_query([question.text for question in questions])
            self._asked[place] = [
                Asked(talk, question, memory, vector) for question, vector in zip(questions, vectors, strict=True)
            ]
        return self._asked[place]

    def candidates(self, asked: Asked, config: GovernanceConfig) -> list[Candidate]:
        """What search finds for a question, as in steps 3 and 4 of a turn."""
        info, session = asked.memory.timeline.info, asked.memory.timeline.session().id
        query, vector = Query(asked.question.text, info.user, info.character, session), asked.vector
        if config.role_prefix:
            query = replace(query, text=query.augmented())
            vector = self._laboratory.service.embedder.encode_query([query.text])[0]
        return asked.memory.timeline.index.search(query, vector, config)

    def corrections(self, config: GovernanceConfig) -> float:
        """The share of written cases in which the correction comes before the old fact."""
        share: float = self.run.step(
            ["corrections"],
            basis(self.run, config, cases=[list(case) for case in CORRECTIONS], rounds=[_ROUNDS, _OLD, *_AGO]),
            lambda: float(np.mean([self._corrected(case, ago, config) for case in CORRECTIONS for ago in _AGO])),
        )
        return share

    def _corrected(self, case: tuple[str, str, str], ago: int, config: GovernanceConfig) -> bool:
        start = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
        facts = {_OLD: case[0], _ROUNDS - ago: case[1]}

        def fill() -> Memory:
            memory = self._laboratory.begin("Lin", "Mei")
            atoms = [
                Atom(str(n), f"s{n // 20}", start + timedelta(minutes=10 * n), facts.get(n, _TALK[n % len(_TALK)]), "")
                for n in range(1, _ROUNDS + 1)
            ]
            memory.add(atoms, "corrections")
            return memory

        memory = self._laboratory.kept(f"correction {case[0]} {ago}", fill)
        found = memory.look(case[2], start + timedelta(minutes=10 * (_ROUNDS + 1)), config).ranked
        old, new = str(_OLD), str(_ROUNDS - ago)
        return new in found and (old not in found or found.index(new) < found.index(old))


def ranked(asked: Asked, found: Sequence[Candidate], config: GovernanceConfig) -> list[str]:
    """The ids of the candidates in the order of governance, without those that it drops."""
    moment = Moment(asked.memory.timeline.info.rounds + 1, asked.talk.asked_at)
    decisions = decide(found, moment, config, round_of=lambda candidate: candidate.round)
    return [asked.memory.name(d.weighed.candidate.memory) for d in decisions if d.reason in RANKED]


def _split(bench: Bench, talks: Sequence[Talk], seed: int) -> Split:
    searched, reported = halves(len(talks), seed)
    shipped = preset("default")
    fusion = list(
        _searched(
            bench, f"seed {seed}: fusion", searched, shipped, fusions(_QUICK_FUSIONS if bench.run.quick else FUSIONS)
        )
    )
    best_fusion = max(fusion, key=lambda pair: pair[1])[0]
    base = shipped.changed(best_fusion)
    settings = grid(DECAY if not bench.run.quick else _QUICK_DECAY)
    decay = list(_searched(bench, f"seed {seed}: decay", searched, base, settings))
    judged = list(_judged(bench, f"seed {seed}: corrections", base, decay))
    free = max(judged, key=lambda row: row[1])[0]
    careful = _careful(judged, bench.corrections(shipped))
    chosen = {"found": best_fusion | careful, "found, corrections ignored": best_fusion | free}
    configs = {
        "shipped": shipped,
        **{name: shipped.changed(setting) for name, setting in chosen.items()},
        "shipped, decay off": VARIANTS["decay off"],
        "shipped, corrections not noticed": shipped.changed({"corrections_enabled": False}),
        "ranks alone, as shipped before": shipped.changed({"history_fusion": "rrf", "corrections_enabled": False}),
        "paper constants, decay and threshold off": VARIANTS["paper, decay off"].changed({"final_threshold": 0.0}),
    }
    rows = {}
    for number, (name, config) in enumerate(configs.items()):
        bench.run.progress(f"seed {seed}: reporting", number, len(configs))
        rows[name] = bench.rows(reported, config)
    names = tuple(talks[place].conversation.id for place in searched)
    return Split(seed, names, tuple(fusion), tuple(judged), chosen, rows)


def _searched(
    bench: Bench, what: str, places: Sequence[int], base: GovernanceConfig, settings: Sequence[Setting]
) -> Iterator[tuple[Setting, float]]:
    for number, setting in enumerate(settings):
        bench.run.progress(what, number, len(settings))
        yield setting, bench.objective(places, base.changed(setting))
    bench.run.progress(what, len(settings), len(settings))


def _careful(judged: Sequence[tuple[Setting, float, float]], bar: float) -> Setting:
    """The best ranking among settings that get as many corrections right as the shipped one does; else the most."""
    bar = min(bar, max(share for _, _, share in judged))
    return max((row for row in judged if row[2] >= bar), key=lambda row: row[1])[0]


def _judged(
    bench: Bench, what: str, base: GovernanceConfig, tried: Sequence[tuple[Setting, float]]
) -> Iterator[tuple[Setting, float, float]]:
    for number, (setting, value) in enumerate(tried):
        bench.run.progress(what, number, len(tried))
        yield setting, value, bench.corrections(base.changed(setting))
    bench.run.progress(what, len(tried), len(tried))


# -- the result --------------------------------------------------------------------------------------------------------


def _result(splits: Sequence[Split]) -> Result:
    tables = [table for split in splits for table in _tables(split)]
    numbers = {f"seed {split.seed}": _numbers(split) for split in splits}
    return Result(numbers, tuple(tables), {"fusion": _fusion_plot(splits[0]), "decay": _decay_plot(splits[0])})


def _numbers(split: Split) -> dict[str, Any]:
    return {
        "searched on": list(split.searched),
        "chosen": {name: dict(setting) for name, setting in split.chosen.items()},
        "fusion": [{**setting, "objective": value} for setting, value in split.fusion],
        "decay": [{**setting, "objective": value, "corrections": share} for setting, value, share in split.decay],
        "held out": as_numbers(split.reported, RETRIEVAL),
        "difference from shipped": {
            name: {measure: value.as_dict() for measure, value in differences.items()}
            for name, differences in _differences(split).items()
        },
    }


def _differences(split: Split) -> dict[str, dict[str, Estimate]]:
    shipped = split.reported["shipped"]
    return {
        name: {
            measure: value
            for measure in CHOSEN_BY
            if (value := paired_difference([r[measure] for r in rows], [r[measure] for r in shipped])) is not None
        }
        for name, rows in split.reported.items()
        if name != "shipped"
    }


def _tables(split: Split) -> Iterator[Table]:
    yield Table(
        f"Seed {split.seed}: constants chosen on {', '.join(split.searched)}",
        ("", *(key for key in split.chosen["found"])),
        tuple((name, *setting.values()) for name, setting in split.chosen.items()),
    )
    yield _best(f"Seed {split.seed}: best fusions on the searched half", [(s, v, None) for s, v in split.fusion])
    yield _best(f"Seed {split.seed}: best decays on the searched half", split.decay)
    yield measures_table(f"Seed {split.seed}: held-out half", split.reported, RETRIEVAL)
    yield Table(
        f"Seed {split.seed}: held-out half, difference from shipped (paired)",
        ("", *CHOSEN_BY),
        tuple(
            (name, *(f"{d.mean:+.3f} ({d.low:+.3f} to {d.high:+.3f})" for d in differences.values()))
            for name, differences in _differences(split).items()
        ),
    )


def _best(title: str, tried: Sequence[tuple[Setting, float, float | None]], most: int = 8) -> Table:
    rows = sorted(tried, key=lambda row: -row[1])[:most]
    # Kinds of fusion have constants of their own.
    names = tuple(dict.fromkeys(name for setting, _, _ in rows for name in setting))
    columns = (*names, "mean of " + ", ".join(CHOSEN_BY), "corrections right")
    return Table(
        title, columns, tuple((*(setting.get(name) for name in names), value, share) for setting, value, share in rows)
    )


_LINES = (
    (BLUE, "o", "-"),
    (ORANGE, "s", "--"),
    (GREEN, "^", "-."),
    (PURPLE, "v", ":"),
    (GREY, "D", "-"),
    (BLUE, "x", ":"),
)


def _fusion_plot(split: Split) -> Figure:
    tried = [(setting, value) for setting, value in split.fusion if setting["history_fusion"] == "rrf"]
    return _lines("Fusion of ranks alone, searched half", tried, "history_rrf_k", "neighbour_share", "RRF constant")


def _decay_plot(split: Split) -> Figure:
    """The best over the time constants for each floor, and how many corrections it gets right."""
    floors = sorted({setting["history_floor"] for setting, _, _ in split.decay})
    best = [
        max((row for row in split.decay if row[0]["history_floor"] == floor), key=lambda row: row[1])
        for floor in floors
    ]
    with styled("Decay, searched half", "Floor of experience", "Share") as (figure, axes):
        axes.plot(floors, [row[1] for row in best], color=BLUE, marker="o", label="ranking: " + ", ".join(CHOSEN_BY))
        axes.plot(floors, [row[2] for row in best], color=ORANGE, marker="s", linestyle="--", label="corrections right")
        axes.set_ylim(0, 1.04)
        axes.legend(loc="best")
        return figure


def _lines(title: str, tried: Sequence[tuple[Setting, float]], across: str, series: str, label: str) -> Figure:
    with styled(title, label, "Mean of " + ", ".join(CHOSEN_BY)) as (figure, axes):
        for number, value in enumerate(sorted({setting[series] for setting, _ in tried})):
            points = sorted((setting[across], found) for setting, found in tried if setting[series] == value)
            colour, marker, dash = _LINES[number % len(_LINES)]
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                color=colour,
                marker=marker,
                linestyle=dash,
                label=f"neighbours lend {value:g}",
            )
        axes.set_xscale("symlog")
        axes.legend(loc="best")
        return figure
