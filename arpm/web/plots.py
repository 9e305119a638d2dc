"""The figures of the command line as pictures for the pages: /api/v1/audit/plots/….svg and .png.

Each is drawn anew from the ledgers, or from the last counterfactual. A page shows the numbers beside its picture. There
is no script in them, and they are shown as images only.
"""

from __future__ import annotations

from typing import Literal, cast

from flask import Blueprint, Response, request
from matplotlib.figure import Figure

from arpm.audit.plots import drawn
from arpm.audit.plots_audit import Axis, evidence_changes, weights
from arpm.audit.plots_statistics import analysis_lengths, protocol_shares, rolling_adherence
from arpm.errors import NotFoundError
from arpm.web import strings
from arpm.web.audit import counted
from arpm.web.body import query_choice, query_text
from arpm.web.context import audits
from arpm.web.downloads import attachment
from arpm.web.lives import lives_of
from retrieval.text import usable

# Rows of a picture of statistics: more cannot be read, and a picture has its limits.
MOST_ROWS = 40
# Memories that can be asked for at once.
MOST_MEMORIES = 8

Kind = Literal["svg", "png"]
_TYPES = {"svg": "image/svg+xml", "png": "image/png"}

blueprint = Blueprint("plots", __name__, url_prefix="/api/v1/audit/plots")


@blueprint.get("/statistics.<any(svg, png):kind>")
def statistics(kind: Kind) -> Response:
    """Of the statistics of ?timeline=, ?stage= and ?every=: ?of=shares of broken protocol, lengths of analyses, or
    adherence, the standing instructions kept along the rounds (whatever the stages)."""
    of = query_choice("of", "shares", ("shares", "lengths", "adherence"))
    found = counted()
    if not found.rows:
        raise NotFoundError(strings.NOTHING_TO_DRAW.format(why=strings.NO_ROWS))
    if of == "adherence":
        if not found.curves:
            raise NotFoundError(strings.NOTHING_TO_DRAW.format(why=strings.NOTHING_CHECKED))
        return _picture(rolling_adherence(found.observations), kind, "adherence")
    draw = {"shares": protocol_shares, "lengths": analysis_lengths}[of]
    return _picture(draw(found.rows[:MOST_ROWS]), kind, "statistics")


@blueprint.get("/weights.<any(svg, png):kind>")
def lives(kind: Kind) -> Response:
    """How the weight of memories of ?timeline= fell over=rounds or hours: of ?memory= (again for more), or of those
    that were shown most often."""
    over = cast(Axis, query_choice("over", "rounds", ("rounds", "hours")))
    timeline = query_text("timeline")
    memories = [usable(name) for name in request.args.getlist("memory")][:MOST_MEMORIES]
    _, found = lives_of(timeline, memories)
    if not any(found.values()):
        raise NotFoundError(strings.NOTHING_TO_DRAW.format(why=strings.NO_SIGHTINGS))
    return _picture(weights(found, over), kind, "weights")


@blueprint.get("/counterfactual.<any(svg, png):kind>")
def counterfactual(kind: Kind) -> Response:
    """Evidence gained and lost in every turn of the last counterfactual."""
    found = audits().shifts()
    if not any(shift.skipped is None for shift in found):
        raise NotFoundError(strings.NOTHING_TO_DRAW.format(why=strings.NO_SHIFTS))
    return _picture(evidence_changes(found), kind, "counterfactual")


def _picture(figure: Figure, kind: Kind, name: str) -> Response:
    """A figure; with ?download=1 as a file to be saved."""
    data = drawn(figure, kind)
    if query_choice("download", "0", ("0", "1")) == "1":
        return attachment(data, f"{name}.{kind}", _TYPES[kind])
    return Response(data, mimetype=_TYPES[kind])
