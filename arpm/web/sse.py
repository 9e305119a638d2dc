"""What happens at the server, as a stream of server-sent events."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

from flask import Response

from arpm.web import strings
from arpm.web.errors import RequestError
from arpm.web.live import Live

# A comment now and then finds out whether the browser is still there, and keeps proxies from closing the line.
HEARTBEAT = 5.0
# Each stream holds one of the server's threads; some must stay free for everything else.
STREAMS = 12

_free = threading.BoundedSemaphore(STREAMS)


def stream(turn: Live) -> Response:
    """A response that tells everything from its beginning. Raises RequestError (503) when too many are open."""
    if not _free.acquire(blocking=False):
        raise RequestError(503, "busy", strings.TOO_MANY_STREAMS.format(limit=STREAMS))
    response = Response(_lines(turn), mimetype="text/event-stream", headers={"X-Accel-Buffering": "no"})
    # Not a `finally` in the generator: one that was never begun would not run it.
    response.call_on_close(_free.release)
    return response


def _lines(turn: Live) -> Iterator[str]:
    yield ": begins\n\n"
    for happening in turn.follow(HEARTBEAT):
        if happening is None:
            yield ": still there\n\n"
        else:
            # ASCII JSON has no line breaks of its own.
            yield f"event: {happening.name}\ndata: {json.dumps(happening.data)}\n\n"
