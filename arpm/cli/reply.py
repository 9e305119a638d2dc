"""One turn at the terminal: the reply as it comes, Ctrl-C that stops it, and in a few lines what it rests on."""

from __future__ import annotations

import sys
import threading
from typing import Any

from arpm.cli.interrupts import stoppable
from arpm.cli.output import note, say
from arpm.events import Event
from arpm.protocol import Violation, describe
from arpm.service import Service
from arpm.story import snippet, text_of
from arpm.turn import Watch
from retrieval.text import language


class Screen:
    """Shows a reply while it is made, on a terminal only: what is withdrawn cannot be taken out of a pipe."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
        self._shown = ""

    def text(self, piece: str) -> None:
        if self._live:
            say(piece, newline=False)
            self._shown += piece

    def restart(self) -> None:
        if self._shown:
            note("\n(The reply broke the protocol; the model is asked again.)")
        self._shown = ""

    def finish(self, response: str) -> None:
        """End the reply; print it whole where that is not what was shown."""
        if self._shown.strip() == response.strip():
            say()
        else:
            if self._shown:
                note("\n(This is the reply that is kept.)")
            say(response)


def answered(service: Service, timeline: str, message: str, screen: Screen | None) -> Event:
    """Take a turn; the first Ctrl-C stops the reply. Raises what `arpm.turn.take_turn` raises."""
    with stoppable(lambda: note("\nStopping the reply…")) as stop:
        watch = Watch(text=screen.text, restart=screen.restart, cancel=stop) if screen else Watch(cancel=stop)
        return _in_thread(service, timeline, message, watch)


def _in_thread(service: Service, timeline: str, message: str, watch: Watch) -> Event:
    """The turn in a thread of its own: while a model computes in native code, only the main thread can take Ctrl-C."""
    events, errors = list[Event](), list[BaseException]()

    def work() -> None:
        try:
            events.append(service.turn(timeline, message, watch))
        except BaseException as error:  # noqa: BLE001  (raised again below, in the caller's thread)
            errors.append(error)

    thread = threading.Thread(target=work, name="turn", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if errors:
        raise errors[0]
    return events[0]


def summarise(event: Event, service: Service) -> None:
    """What the reply rests on, on stderr."""
    body = event.body
    assert body is not None
    admission = body["admission"]
    found = sum(len(rows) for rows in body["candidates"].values())
    note(
        f"── round {body['round']} · {len(body['evidence'])} of {found} candidates shown · "
        f"{'remembered' if admission['admitted'] else 'not remembered'} ({admission['reason']}) · "
        f"{sum(body['timings'].values()):.1f} s · arpm show {event.timeline}:{body['round']}"
    )
    for row in body["evidence"]:
        marks = {(True, True): "cited, repeated", (True, False): "cited"}
        mark = marks.get((row["label"] in body["cited"], row["label"] in body["bound"]), "")
        words = snippet(text_of(service.catalogue, row["memory"]), 72)
        note(f"   {row['label']:<3} {mark:<15} {row['cue'] or row['route']}: {words}")
    for violation in body["violations"]:
        note(f"   ! {describe(Violation(**violation), language(body['message']))}")
    for repair in body["repairs"]:
        note(f"   repair: {repair['rung']} ({', '.join(repair['steps'])})")


def turn_data(event: Event, service: Service) -> dict[str, Any]:
    """A turn as the JSON output shows it: the reply and what it rests on."""
    body = event.body
    assert body is not None
    evidence = [{**row, "text": text_of(service.catalogue, row["memory"])} for row in body["evidence"]]
    kept = ("round", "message", "response", "analysis", "cited", "bound", "violations", "repairs", "admission")
    return {
        "event": event.id,
        "timeline": event.timeline,
        "session": event.session,
        "at": event.at,
        **{key: body[key] for key in kept},
        "model": body["backend"]["name"],
        "preset": body["preset"],
        "evidence": evidence,
        "timings": body["timings"],
    }
