"""The record and whether it holds: /api/v1/audit, ledgers and runs, statistics, and what can be reviewed.

Everything here reads the logs folder without a lock and changes nothing. What takes long is streamed, can be stopped,
and goes on when the browser is closed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, get_args

from flask import Blueprint, Response, request

from arpm.audit.adherence_curves import MOST_CURVES, Curve, adherence_curves
from arpm.audit.counterfactual import Intervention
from arpm.audit.exports.guard import csv_text
from arpm.audit.reading import Readable, read_timelines
from arpm.audit.replay import Depth
from arpm.audit.reviews import replies, standing
from arpm.audit.statistics import (
    PUBLISHED,
    Observation,
    Observed,
    Row,
    Stage,
    columns,
    observed,
    published_rows,
    summarised,
)
from arpm.errors import NotFoundError
from arpm.web import strings
from arpm.web.audits import KINDS, Kind, Run, ledger_kind
from arpm.web.body import names_field, query_number, read_json
from arpm.web.context import audits, service
from arpm.web.downloads import attachment
from arpm.web.errors import RequestError
from arpm.web.ledgers import Outline
from arpm.web.sse import stream
from governance.config import ConfigError, GovernanceConfig, preset
from retrieval.text import usable

PAGE = 20
LONGEST_PAGE = 100
NEWEST = 2**53
DEPTHS: tuple[Depth, ...] = get_args(Depth)

blueprint = Blueprint("audit", __name__, url_prefix="/api/v1")

_ANY = "<any(verify, replay, counterfactual):kind>"


@blueprint.get("/audit/ledgers")
def ledgers() -> dict[str, Any]:
    """Every ledger in short, what the last verification said of it, and the runs there are."""
    rows = {row.id: row for row in service().timelines()}
    damages = {damage.name: damage.text for damage in service().damaged}
    return {
        "ledgers": [
            _ledger_view(name, audits().ledgers.outline(name), rows.get(name), damages.get(name))
            for name in audits().ledgers.names()
        ],
        "runs": {kind: _run_view(audits().last(kind)) for kind in KINDS},
    }


@blueprint.get("/audit/ledgers/<ledger:name>/events")
def events(name: str) -> dict[str, Any]:
    """A page of a ledger's events, newest first; ?kind= chooses, ?bodies=0 leaves out what they say."""
    before = query_number("before", NEWEST, 0, NEWEST)
    limit = query_number("limit", PAGE, 1, LONGEST_PAGE)
    bodies = query_number("bodies", 1, 0, 1)
    kind = usable(request.args["kind"]) if request.args.get("kind") else None
    page = audits().ledgers.page(name, before, limit, kind, bodies=bool(bodies))
    return {**asdict(page), "kinds": audits().ledgers.outline(name).kinds}


@blueprint.post("/audit/verify")
def verify() -> Response:
    """Check ledgers, all or those named; the response streams what is found."""
    return stream(audits().verify(names_field(read_json({}, {"ledgers": list})["ledgers"], "ledgers")))


@blueprint.post("/audit/replay")
def replay() -> Response:
    """Do recorded turns again; the response streams what differs from the records."""
    given = read_json({}, {"timelines": list, "depth": str, "model": str})
    depth = _depth(given["depth"] or "retrieval")
    if given["model"] and depth != "generation":
        raise RequestError(400, "input", strings.MODEL_NEEDS_DEPTH, "body.model")
    return stream(audits().replay(names_field(given["timelines"], "timelines"), depth, given["model"] or None))


@blueprint.post("/audit/counterfactual")
def counterfactual() -> Response:
    """What recorded turns would have been shown under another config; the response streams what changes."""
    given = read_json({}, {"timelines": list, "preset": str, "changes": dict, "model": str})
    if not (given["preset"] or given["changes"] or given["model"]):
        raise RequestError(400, "input", strings.NO_CHANGE, "body")
    try:
        base = preset(given["preset"]) if given["preset"] else None
        intervention = Intervention(base, given["changes"] or {}, given["model"] or None)
        intervention.of(GovernanceConfig())
    except ConfigError as error:
        raise RequestError(400, "input", str(error), "body.changes") from None
    return stream(audits().counterfactual(names_field(given["timelines"], "timelines"), intervention, given["preset"]))


@blueprint.get(f"/audit/{_ANY}")
def follow(kind: Kind) -> Response:
    """The last run of a kind, from its beginning, going on or done."""
    run = audits().last(kind)
    if run is None:
        raise NotFoundError(strings.NO_RUN.format(kind=kind))
    return stream(run.live)


@blueprint.post(f"/audit/{_ANY}/stop")
def stop(kind: Kind) -> dict[str, Any]:
    """Stop a run."""
    read_json({})
    return {"stopped": audits().stop(kind)}


@blueprint.get("/audit/statistics")
def statistics() -> dict[str, Any]:
    """How models behaved, by model and stage: ?timeline= (again for more), ?stage=session, all or so many rounds."""
    found = counted()
    curves = found.curves
    return {
        "stage": str(found.stage),
        "rows": [asdict(row) for row in found.rows],
        # As many as are drawn, so that picture and numbers are of the same.
        "adherence": [asdict(curve) for curve in curves[:MOST_CURVES]],
        "adherence_curves": len(curves),
        "erased": sum(one.erased for one in found.seen),
        "other_imports": sum(one.other for one in found.seen),
        "damaged": [{"name": ledger.name, "message": ledger.damage} for ledger in found.read if ledger.damage],
    }


@blueprint.get("/audit/statistics.csv")
def statistics_csv() -> Response:
    """The same as a CSV file, as `arpm stats --csv` prints it; ?published=1 in the columns of the published table."""
    published = query_number("published", 0, 0, 1)
    rows = counted().rows
    if published:
        text = csv_text(PUBLISHED, published_rows(rows))
    else:
        lines = [dict(columns(row)) for row in rows]
        text = csv_text(list(lines[0]) if lines else ["stage", "model"], (line.values() for line in lines))
    return attachment(text.encode(), "statistics.csv", "text/csv")


@dataclass(frozen=True, slots=True)
class Counted:
    """The statistics that a request's query asks for, and what they were counted from."""

    stage: Stage
    read: list[Readable]
    seen: list[Observed]
    rows: list[Row]

    @property
    def observations(self) -> list[Observation]:
        """Every reply of the ledgers that were read, in their order."""
        return [one for timeline in self.seen for one in timeline.observations]

    @property
    def curves(self) -> list[Curve]:
        """How many standing instructions were kept, along the rounds."""
        return adherence_curves(self.observations)


def counted() -> Counted:
    """The statistics that the present request's query asks for. Raises RequestError and NotFoundError."""
    stage = _stage(request.args.get("stage", "session"))
    every = query_number("every", 0, 0, 1)
    read = read_timelines(service().logs, [usable(name) for name in request.args.getlist("timeline")])
    seen = [observed(ledger.events()) for ledger in read]
    rows = summarised((one for timeline in seen for one in timeline.observations), stage, every=bool(every))
    return Counted(stage, read, seen, rows)


@blueprint.get("/timelines/<id('t'):timeline>/replies")
def reviewable(timeline: str) -> dict[str, Any]:
    """Every reply that can be reviewed, by round, each with the verdicts of ?reviewer= where that person gave any."""
    reviewer = usable(request.args.get("reviewer", ""))
    service().timeline(timeline)
    catalogue = service().catalogue
    mine = {row.turn: row for row in standing(catalogue.reviews(timeline), reviewer)} if reviewer else {}
    return {
        "replies": [
            {
                "turn": turn.event,
                "round": turn.round,
                "support": mine[turn.event].support if turn.event in mine else None,
                "correct": mine[turn.event].correct if turn.event in mine else None,
            }
            for turn in replies(catalogue, timeline)
        ]
    }


def _ledger_view(name: str, outline: Outline, row: Any, damage: str | None) -> dict[str, Any]:
    known, verified, last = audits().checkpoint(name), audits().verified(name), outline.last
    return {
        "name": name,
        "kind": ledger_kind(name),
        "title": row.title if row else "",
        "user": row.user if row else "",
        "character": row.character if row else "",
        "events": outline.events,
        "erased": outline.erased,
        "torn_bytes": outline.torn_bytes,
        "tip": last["hash"] if last else None,
        "at": last["at"] if last else None,
        "checkpoint": {"file": known[0], "seq": known[1].seq, "at": known[1].at} if known else None,
        "verified": {**asdict(verified), "at": verified.at.isoformat()} if verified else None,
        "damage": damage,
    }


def _run_view(run: Run | None) -> dict[str, Any] | None:
    return {"at": run.at.isoformat(), "running": not run.live.ended, "asked": dict(run.asked)} if run else None


def _depth(given: str) -> Depth:
    for depth in DEPTHS:
        if given == depth:
            return depth
    raise RequestError(400, "input", strings.BAD_DEPTH.format(given=given[:40]), "body.depth")


def _stage(given: str) -> Stage:
    if given == "session":
        return "session"
    if given == "all":
        return "all"
    if given.isascii() and given.isdigit() and 0 < int(given[:10]) < 10**9 and len(given) < 10:
        return int(given)
    raise RequestError(400, "input", strings.BAD_STAGE.format(given=given[:40]), "?stage")
