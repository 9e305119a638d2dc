"""A real OpenAI-compatible server in a process of its own, on loopback, for tests that must not mock a client.

    with openai_server() as server:
        ... server.base_url ...

The model's name chooses what it does, so that one server plays every endpoint, good and bad; see BEHAVIOURS. `echo`
repeats the last user message, `protocol` answers it in the protocol, `local` is the embedded model, `status-N` refuses
with that status (`status-N-then-ok` only the first time it sees a message), and `raw` or `malformed-ANYTHING` replies
with whatever follows `RAW:` in the last user message.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

READY = "ready "
CREATED = 1_700_000_000
# Seconds, far more than tests wait for anything: what takes so long has to be ended by what is tested.
FOR_EVER = 1000.0
KEY = "sk-test-0123456789abcdef"


@dataclass(frozen=True)
class Server:
    """A running server. `base_url` ends in /v1."""

    base_url: str

    def requests(self) -> list[dict[str, Any]]:
        """Every chat request so far: its `body`, its headers, in order."""
        with urllib.request.urlopen(self.base_url.removesuffix("/v1") + "/requests", timeout=FOR_EVER) as response:
            return json.load(response)


@contextlib.contextmanager
def openai_server() -> Iterator[Server]:
    """Start the server on a free port, wait until it answers, and stop it at the end."""
    process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        if not line.startswith(READY):
            raise RuntimeError(f"the test server did not start: {line!r}")
        yield Server(line.removeprefix(READY).strip())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@dataclass(frozen=True)
class Chat:
    """One chat request, checked."""

    body: dict[str, Any]
    key: str

    @property
    def model(self) -> str:
        return self.body["model"]

    @property
    def question(self) -> str:
        """The last user message."""
        return next((m["content"] for m in reversed(self.body["messages"]) if m["role"] == "user"), "")

    @property
    def raw(self) -> str:
        return self.question.partition("RAW:")[2]

    @property
    def streams(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def wants_usage(self) -> bool:
        return bool((self.body.get("stream_options") or {}).get("include_usage"))


class Handler(BaseHTTPRequestHandler):
    """Routes, and the few ways to write an answer that behaviours are made of."""

    protocol_version = "HTTP/1.1"
    seen: list[dict[str, Any]] = []  # noqa: RUF012  (one list for the one server of this process)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing: tests read what they need from /requests."""

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            names = [*BEHAVIOURS, "local", "raw"]
            data = [{"id": n, "object": "model", "created": CREATED, "owned_by": "tests"} for n in names]
            self.send_json({"object": "list", "data": data})
        elif self.path == "/requests":
            self.send_json(self.seen)
        else:
            self.send_error_body(404, "There is no such page.")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != "/v1/chat/completions":
            return self.send_error_body(404, "There is no such page.")
        try:
            chat = Chat(json.loads(body), self.headers.get("Authorization", "").removeprefix("Bearer "))
            behaviour = find_behaviour(chat.model)
        except (ValueError, TypeError, KeyError):
            return self.send_error_body(400, "A JSON object with 'model' and 'messages' is needed.")
        self.seen.append({"body": chat.body, "headers": {k.lower(): v for k, v in self.headers.items()}})
        if behaviour is None:
            return self.send_error_body(404, f"The model {chat.model!r} does not exist.", code="model_not_found")
        with contextlib.suppress(ConnectionError):
            behaviour(self, chat)
        return None

    def send_body(self, body: bytes, status: int = 200, media: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": media, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def send_json(self, value: Any) -> None:
        self.send_body(json.dumps(value).encode())

    def send_error_body(self, status: int, message: str, code: str | None = None, **headers: str) -> None:
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
        self.send_body(json.dumps({"error": error}).encode(), status, **headers)

    def start_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def write(self, data: bytes) -> None:
        """One piece of a stream, on the wire at once."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def event(self, value: Any) -> None:
        self.write(b"data: " + (value if isinstance(value, str) else json.dumps(value)).encode() + b"\n\n")

    def end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def drop(self) -> None:
        """Close the connection with the stream unfinished."""
        self.wfile.flush()
        self.close_connection = True

    def delta(self, chat: Chat, delta: dict[str, Any], finish: str | None = None) -> None:
        self.event(chunk(chat, [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]))

    def deliver(self, chat: Chat, pieces: Iterable[str], usage: bool = True, finish: str = "stop") -> None:
        """A complete, conforming answer, streamed or not as the request asks."""
        if not chat.streams:
            return self.send_json(completion(chat, "".join(pieces), finish))
        self.start_stream()
        self.delta(chat, {"role": "assistant", "content": ""})
        said = ""
        for piece in pieces:
            said += piece
            self.delta(chat, {"content": piece})
        self.delta(chat, {}, finish)
        if usage and chat.wants_usage:
            self.event({**chunk(chat, []), "usage": usage_of(chat, said)})
        self.event("[DONE]")
        return self.end_stream()


Behaviour = Callable[[Handler, Chat], None]


def chunk(chat: Chat, choices: list[Any]) -> dict[str, Any]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": CREATED, "model": chat.model}
    return {**head, "choices": choices}


def completion(chat: Chat, text: str, finish: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": None}
    choices = [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}]
    return {**chunk(chat, choices), "object": "chat.completion", "usage": usage_of(chat, text)}


def usage_of(chat: Chat, text: str) -> dict[str, int]:
    """Tokens are words here."""
    prompt = sum(len(m["content"].split()) for m in chat.body["messages"])
    said = len(text.split())
    return {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def words(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+$", text)


def echo(handler: Handler, chat: Chat) -> None:
    handler.deliver(chat, words(chat.question))


def protocol(handler: Handler, chat: Chat) -> None:
    """A well-behaved model: cites nothing and says what it heard."""
    analysis = "need: none\nevidence: none\ncheck: Nothing had to be remembered."
    reply = f"<analysis>\n{analysis}\n</analysis>\n<response>\nYou said: {chat.question}\n</response>"
    handler.deliver(chat, cut(reply, 7))


def raw(handler: Handler, chat: Chat) -> None:
    handler.deliver(chat, cut(chat.raw, 3))


def raw_events(handler: Handler, chat: Chat) -> None:
    """Whatever follows RAW: is the stream itself."""
    handler.start_stream()
    handler.write(chat.raw.encode())
    handler.end_stream()


def long_reply(handler: Handler, chat: Chat) -> None:
    handler.deliver(chat, ["The reply ", "is cut"], finish="length")


def slow_headers(handler: Handler, chat: Chat) -> None:
    time.sleep(FOR_EVER)
    echo(handler, chat)


def slow_stream(handler: Handler, chat: Chat) -> None:
    """A word every fifth of a second, for ever."""

    def pieces() -> Iterator[str]:
        for number in range(int(FOR_EVER * 5)):
            yield f"word{number} "
            time.sleep(0.2)

    handler.deliver(chat, pieces())


def silent_stream(handler: Handler, chat: Chat) -> None:
    begin(handler, chat)
    time.sleep(FOR_EVER)


def begin(handler: Handler, chat: Chat) -> None:
    """The first two words of a reply."""
    handler.start_stream()
    handler.delta(chat, {"role": "assistant", "content": ""})
    handler.delta(chat, {"content": "Half a "})
    handler.delta(chat, {"content": "reply"})


def drop_mid_stream(handler: Handler, chat: Chat) -> None:
    begin(handler, chat)
    handler.drop()


def drop_before_text(handler: Handler, chat: Chat) -> None:
    handler.start_stream()
    handler.drop()


def end_early(handler: Handler, chat: Chat) -> None:
    """The stream ends in good order, but neither finish_reason nor [DONE] was sent."""
    begin(handler, chat)
    handler.end_stream()


def error_mid_stream(handler: Handler, chat: Chat) -> None:
    begin(handler, chat)
    handler.event({"error": {"message": "The model crashed.", "type": "server_error", "code": None}})
    handler.end_stream()


def error_before_text(handler: Handler, chat: Chat) -> None:
    handler.start_stream()
    handler.event({"error": {"message": "Rate limit.", "type": "rate_limit_exceeded", "code": 429}})
    handler.end_stream()


def bare_done(handler: Handler, chat: Chat) -> None:
    handler.start_stream()
    handler.event("[DONE]")
    handler.end_stream()


def never_done(handler: Handler, chat: Chat) -> None:
    """The reply is complete, but the connection stays open without [DONE]."""
    begin(handler, chat)
    handler.delta(chat, {}, "stop")
    time.sleep(FOR_EVER)


def drop_after_finish(handler: Handler, chat: Chat) -> None:
    begin(handler, chat)
    handler.delta(chat, {}, "stop")
    handler.drop()


def garbage(handler: Handler, chat: Chat) -> None:
    begin(handler, chat)
    handler.event("{this is not JSON")
    handler.end_stream()


def web_page(handler: Handler, chat: Chat) -> None:
    handler.send_body(b"<html><body>Welcome</body></html>", media="text/html; charset=utf-8")


def no_usage(handler: Handler, chat: Chat) -> None:
    handler.deliver(chat, words(chat.question), usage=False)


def no_stream(handler: Handler, chat: Chat) -> None:
    """A server that answers with one JSON body whatever was asked."""
    handler.send_json(completion(chat, chat.question, "stop"))


def empty_choices(handler: Handler, chat: Chat) -> None:
    """A first chunk without choices, as content filters send it."""
    handler.start_stream()
    handler.event({**chunk(chat, []), "prompt_filter_results": []})
    handler.delta(chat, {"content": chat.question}, "stop")
    handler.event("[DONE]")
    handler.end_stream()


def reasoning(handler: Handler, chat: Chat, field: str = "reasoning_content") -> None:
    handler.start_stream()
    for thought in ("Let me ", "think."):
        handler.delta(chat, {"content": None, field: thought})
    handler.delta(chat, {"content": "The answer."})
    handler.delta(chat, {}, "stop")
    handler.event("[DONE]")
    handler.end_stream()


def think_tags(handler: Handler, chat: Chat) -> None:
    handler.deliver(chat, ["<think>", "Let me think.", "</think>", "The answer."])


def endless(handler: Handler, chat: Chat) -> None:
    handler.start_stream()
    while True:
        handler.delta(chat, {"content": "more and " * 1000})


def redirect(handler: Handler, chat: Chat) -> None:
    handler.send_body(b"", 307, Location="/v1/elsewhere")


def compressed(handler: Handler, chat: Chat) -> None:
    handler.send_body(b"\x1f\x8b", Content_Encoding="gzip")


def new_parameter(handler: Handler, chat: Chat) -> None:
    """A model that knows the length only under its newer name."""
    if "max_tokens" in chat.body:
        return handler.send_error_body(400, "Unsupported 'max_tokens'. Use 'max_completion_tokens' instead.")
    return echo(handler, chat)


def old_server(handler: Handler, chat: Chat) -> None:
    """A server from before stream_options."""
    if "stream_options" in chat.body:
        return handler.send_error_body(422, "Extra inputs are not permitted: stream_options")
    return echo(handler, chat)


def bad_request(handler: Handler, chat: Chat) -> None:
    """Repeats the key in its complaint, as real servers do."""
    handler.send_error_body(400, f"Bad request with key {chat.key}: temperature is out of range.")


def needs_key(handler: Handler, chat: Chat) -> None:
    if chat.key != KEY:
        return handler.send_error_body(401, f"Incorrect API key provided: {chat.key}.")
    return echo(handler, chat)


def quota_used_up(handler: Handler, chat: Chat) -> None:
    handler.send_error_body(429, "You exceeded your current quota.", code="insufficient_quota")


def refuse(status: int, once: bool, wait: int, handler: Handler, chat: Chat) -> None:
    """Refuse with `status`, asking to wait; if `once`, only the first time this message comes."""
    times = sum(entry["body"] == chat.body for entry in handler.seen)
    if once and times > 1:
        return echo(handler, chat)
    asked = {"Retry_After": str(wait)} if status in (429, 503) else {}
    return handler.send_error_body(status, f"Refused as asked, with key {chat.key}.", **asked)


@functools.cache
def embedded_model() -> Any:
    """The embedded model, loaded when it is first asked for."""
    from arpm.generation.local import LocalBackend

    return LocalBackend()


def local(handler: Handler, chat: Chat) -> None:
    from arpm.generation.base import ChatMessage, GenerationRequest, Sampling

    sampling = Sampling(float(chat.body.get("temperature", 0)), max_tokens=int(chat.body.get("max_tokens", 200)))
    messages = tuple(ChatMessage(m["role"], m["content"]) for m in chat.body["messages"])
    request = GenerationRequest(messages, sampling, chat.question)
    pieces: list[str] = []
    generation = embedded_model().generate(request, pieces.append, threading.Event())
    handler.deliver(chat, pieces, finish=generation.finish)


BEHAVIOURS: dict[str, Behaviour] = {
    function.__name__.replace("_", "-"): function
    for function in (
        *(echo, protocol, raw_events, long_reply, slow_headers, slow_stream, silent_stream),
        *(drop_mid_stream, drop_before_text, end_early, error_mid_stream, error_before_text, bare_done, never_done),
        *(drop_after_finish, garbage, web_page, no_usage, no_stream, empty_choices, reasoning, think_tags, endless),
        *(redirect, compressed, new_parameter, old_server, bad_request, needs_key, quota_used_up),
    )
}
BEHAVIOURS["reasoning-openrouter"] = functools.partial(reasoning, field="reasoning")


def find_behaviour(model: str) -> Behaviour | None:
    """What the model of that name does; None if there is no such model."""
    status = re.fullmatch(r"status-(\d{3})(-then-ok)?(?:-after-(\d+))?", model)
    if status:
        return functools.partial(refuse, int(status[1]), bool(status[2]), int(status[3] or 1))
    if model == "raw" or model.startswith("malformed-"):
        return raw
    return local if model == "local" else BEHAVIOURS.get(model)


def main() -> None:
    """Serve on a free port of loopback until killed, and say where on the first line of output."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(f"{READY}http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
