"""Reads what an OpenAI-compatible endpoint sends: bytes to events, events to pieces of a reply, errors to faults.

Tolerates what real servers do (no usage, empty choices, reasoning beside the content, a JSON body where a stream was
asked for) and names what cannot be used. Knows nothing about connections, retries, keys or the protocol's tags.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from arpm.generation.base import Finish, Generation, GenerationErrorKind, OnText

DONE = "[DONE]"
_LONGEST_MESSAGE = 500


class EndpointError(Exception):
    """Why one exchange with an endpoint failed. `retry` says that the same request may succeed later.

    `retry_after` is the wait in seconds that the endpoint asked for; `complaint` its own words on a refused request.
    """

    def __init__(
        self,
        kind: GenerationErrorKind,
        message: str,
        *,
        retry: bool = False,
        retry_after: float | None = None,
        complaint: str = "",
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retry = retry
        self.retry_after = retry_after
        self.complaint = complaint


class EventReader:
    """Splits a byte stream into the data of its server-sent events.

    Works on bytes until a line is whole: a piece of the network may end inside a Chinese character, and
    `str.splitlines` would break lines at U+2028 and others that are legal inside JSON.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[str]:
        """Yield the data of each event that `piece` completes."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            yield from self._line(line.removesuffix(b"\r"))

    def close(self) -> Iterator[str]:
        """Yield the last event of a stream that ends without its empty line."""
        yield from self.feed(b"\n\n")

    def _line(self, line: bytes) -> Iterator[str]:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            event, self._data = b"\n".join(self._data), []
            yield decoded(event)


@dataclass(frozen=True, slots=True)
class Delta:
    """What one event adds to a reply; `finish` is the endpoint's own word for why it stopped."""

    text: str = ""
    reasoning: str = ""
    finish: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Reply:
    """A reply as it grows. Calls `on_text` with each piece, and never with half a character."""

    def __init__(self, on_text: OnText) -> None:
        self.text = ""
        self.reasoning = ""
        self.finish: str | None = None
        self.done = False
        self._on_text = on_text
        self._held = ""
        self._usage: tuple[int | None, int | None] = (None, None)
        self._began = time.perf_counter()
        self._first: float | None = None

    @property
    def started(self) -> bool:
        """Whether anything of the reply has arrived, after which no other try may be made."""
        return bool(self.text or self.reasoning or self._held)

    def take(self, event: str) -> None:
        """Add one event. Raises EndpointError if it reports an error or cannot be read."""
        if event.strip() == DONE:
            self.done = True
            return
        delta = parse_event(event)
        self._show(self._held + delta.text)
        self.reasoning += _mended(delta.reasoning)
        self.finish = delta.finish or self.finish
        if delta.prompt_tokens is not None or delta.completion_tokens is not None:
            self._usage = (delta.prompt_tokens, delta.completion_tokens)

    def complete(self) -> None:
        """Check that the reply has an end. Raises EndpointError."""
        self._show(self._held, last=True)
        if not (self.finish or self.done):
            raise EndpointError("dropped", "the connection closed before the reply was complete. Try again.")
        if not (self.finish or self.started):
            raise EndpointError("bad_reply", "the reply ended without any content. Try again.")
        if self.finish == "content_filter":
            raise EndpointError("bad_reply", "the endpoint's content filter stopped the reply.")

    def generation(self, cancelled: bool) -> Generation:
        """The reply as the backend returns it."""
        finish: Finish = "length" if self.finish in ("length", "max_tokens") else "stop"
        return Generation(
            text=self.text,
            finish="cancelled" if cancelled else finish,
            prompt_tokens=self._usage[0],
            completion_tokens=self._usage[1],
            seconds=time.perf_counter() - self._began,
            first_token_seconds=self._first,
            reasoning=self.reasoning or None,
        )

    def _show(self, text: str, last: bool = False) -> None:
        # Servers that escape everything send an emoji as two halves, at times in two events.
        self._held = text[-1:] if not last and "\ud800" <= text[-1:] <= "\udbff" else ""
        piece = _mended(text[: len(text) - len(self._held)])
        if piece:
            self._first = self._first or time.perf_counter() - self._began
            self.text += piece
            self._on_text(piece)


def parse_event(event: str) -> Delta:
    """Read one event: a chunk, a whole completion, or an error. Raises EndpointError."""
    try:
        body = json.loads(event)
    except (ValueError, RecursionError) as error:
        raise EndpointError("bad_reply", f"the endpoint sent no valid JSON: {event!r}") from error
    if not isinstance(body, dict):
        raise EndpointError("bad_reply", f"the endpoint sent JSON that is no chat completion: {event!r}")
    if body.get("error"):
        raise stream_error(body["error"])
    prompt, completion = _usage(body.get("usage"))
    choice = _first_choice(body.get("choices"))
    message = _table(choice.get("delta")) or _table(choice.get("message"))
    text, thought = _content(message.get("content"))
    beside = message.get("reasoning_content") or message.get("reasoning")
    finish = choice.get("finish_reason")
    return Delta(
        text=text,
        reasoning=beside if isinstance(beside, str) else thought,
        finish=finish if isinstance(finish, str) else None,
        prompt_tokens=prompt,
        completion_tokens=completion,
    )


def stream_error(error: object) -> EndpointError:
    """The fault for an error object that came inside the stream."""
    code = str(error.get("code") or error.get("type") or "") if isinstance(error, dict) else ""
    message = f"the endpoint reported an error: {error_message(error)}"
    if code == "429" or "rate_limit" in code:
        return EndpointError("rate_limited", message, retry=True)
    return EndpointError("server_error", message, retry=True)


def error_message(error: object) -> str:
    """The words of an error object, in whichever common shape."""
    for key in ("error", "message", "detail"):
        if isinstance(error, dict) and error.get(key):
            error = error[key]
    return error if isinstance(error, str) else "no reason given"


def shortened(text: str) -> str:
    """`text` on one line of at most 500 printable characters."""
    line = " ".join(text.split())
    line = "".join(character for character in line if character.isprintable())
    return line if len(line) <= _LONGEST_MESSAGE else line[: _LONGEST_MESSAGE - 1] + "…"


def decoded(data: bytes) -> str:
    """UTF-8 text. Raises EndpointError where it is not."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise EndpointError("bad_reply", f"the endpoint sent text that is not UTF-8 (byte {error.start})") from error


def _first_choice(choices: object) -> dict[str, Any]:
    if choices is None or choices == []:
        return {}
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise EndpointError("bad_reply", "the endpoint sent choices that are no list of objects.")
    return next((choice for choice in choices if choice.get("index", 0) == 0), {})


def _content(content: object) -> tuple[str, str]:
    """The text of a message, and the thoughts of servers that send both as a list of parts."""
    if content is None or isinstance(content, str):
        return content or "", ""
    if not isinstance(content, list):
        raise EndpointError("bad_reply", "the endpoint sent content that is no text.")
    return _joined(content), "".join(_joined(_table(part).get("thinking")) for part in content)


def _joined(parts: object) -> str:
    """The texts of a list of parts."""
    found = [_table(part).get("text") for part in parts] if isinstance(parts, list) else []
    return "".join(text for text in found if isinstance(text, str))


def _usage(usage: object) -> tuple[int | None, int | None]:
    table = _table(usage)
    return _count(table.get("prompt_tokens")), _count(table.get("completion_tokens"))


def _count(value: object) -> int | None:
    # The ledger's canonical JSON holds no larger whole number.
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _mended(text: str) -> str:
    """`text` with surrogate pairs joined and unpaired ones replaced, since no ledger can hold those."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
