"""Any OpenAI-compatible endpoint as a model backend.

Keeps the promises that a call ends soon after it is cancelled whatever the endpoint does, that no key is ever in an
error, a log or a repr, and that nothing is sent anywhere but to the configured address: no redirect is followed, and
no proxy is taken from the environment. Reading the stream is `arpm.generation.openai_stream`'s; the protocol's tags
are left as they are.
"""

from __future__ import annotations

import asyncio
import email.utils
import functools
import json
import math
import os
import random
import ssl
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx

from arpm.generation.base import Generation, GenerationError, GenerationRequest, LabelledEvidence, OnText, PromptStyle
from arpm.generation.openai_stream import EndpointError, EventReader, Reply, decoded, error_message, shortened
from arpm.generation.token_estimate import estimated_tokens

# Seconds between two looks at the cancel event: unnoticeable to a person, and no load.
_CANCEL_POLL = 0.05
# Seconds to wait for the usage and [DONE] once the reply itself is complete.
_USAGE_GRACE = 2.0
_FIRST_BACKOFF = 0.5
_LONGEST_BACKOFF = 8.0
_LONGEST_ERROR_BODY = 65_536

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is and how to call it.

    `api_key_env` is the NAME of the environment variable with the key. Timeouts are in seconds: `connect_timeout` to
    reach the endpoint, `read_timeout` for the longest silence. `tries` counts all calls; `max_bytes` bounds a reply.
    """

    base_url: str
    model: str
    api_key_env: str | None = None
    connect_timeout: float = 10.0
    read_timeout: float = 60.0
    tries: int = 3
    max_bytes: int = 16 * 2**20
    # May hold the proxy's password.
    proxy: str | None = field(default=None, repr=False)


class OpenAIBackend:
    """A model behind `POST {base_url}/chat/completions`, streamed. Safe to call from several threads at once."""

    constrained = False
    exact_tokens = False

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        *,
        prompt_style: PromptStyle = "full",
        context_tokens: int = 8192,
        sleep: Sleep = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """`sleep` and `jitter` (from 0 to 1) time the pauses between tries; tests give their own."""
        self.name = name
        self.model = endpoint.model
        self.prompt_style = prompt_style
        self.context_tokens = context_tokens
        self._endpoint = endpoint
        self._sleep = sleep
        self._jitter = jitter

    def __repr__(self) -> str:
        return f"OpenAIBackend({self.name!r}, {self._endpoint!r})"

    def rank(self, question: str, evidence: Sequence[LabelledEvidence]) -> tuple[str, ...]:
        """Nothing: the model judges the evidence in its reply."""
        return ()

    def generate(self, request: GenerationRequest, on_text: OnText, cancel: threading.Event) -> Generation:
        """Generate a reply; see `Backend.generate`. The timeout covers every try and every pause."""
        reply = Reply(on_text)
        key = self._key()
        try:
            finished = _run(self._within_deadline(request, reply, key), cancel)
        except EndpointError as error:
            # The endpoint's words may repeat the key, so the chain of errors may not reach a log either.
            message = shortened(error.message.replace(key, "[key]") if key else error.message)
            raise GenerationError(error.kind, f"Model {self.name!r}: {message}", reply.text) from None
        return reply.generation(cancelled=not finished)

    def count_tokens(self, text: str) -> int:
        """An estimate, since the endpoint's tokenizer is not here; see `estimated_tokens`."""
        return estimated_tokens(text)

    def _key(self) -> str | None:
        name = self._endpoint.api_key_env
        if name is None:
            return None
        key = os.environ.get(name, "").strip()
        if not key:
            raise GenerationError(
                "unauthorised", f"Model {self.name!r}: the variable {name} is not set. Put the API key into it."
            )
        if not (key.isascii() and key.isprintable() and " " not in key):
            raise GenerationError(
                "unauthorised", f"Model {self.name!r}: the key in {name} has characters that no key has. Copy it again."
            )
        return key

    async def _within_deadline(self, request: GenerationRequest, reply: Reply, key: str | None) -> None:
        seconds = request.sampling.timeout
        try:
            async with asyncio.timeout(seconds):
                await self._with_retries(request, reply, key)
        except TimeoutError as error:
            raise EndpointError(
                "timeout", f"no complete reply within {seconds:g} s. Raise its timeout or shorten the reply."
            ) from error

    async def _with_retries(self, request: GenerationRequest, reply: Reply, key: str | None) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + request.sampling.timeout
        body = self._body(request)
        async with self._client(key) as client:
            for tried in range(1, self._endpoint.tries + 1):
                try:
                    await self._adapting(client, body, reply)
                    return
                except EndpointError as error:
                    pause = self._pause(error, tried)
                    if reply.started or pause is None or loop.time() + pause >= deadline:
                        raise
                await self._sleep(pause)

    def _pause(self, error: EndpointError, tried: int) -> float | None:
        """Seconds before the next try: exponential with jitter, and never less than the endpoint asked for."""
        if not error.retry or tried >= self._endpoint.tries:
            return None
        backoff = min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2.0 ** (tried - 1))
        return max(error.retry_after or 0.0, backoff * (0.5 + 0.5 * self._jitter()))

    async def _adapting(self, client: httpx.AsyncClient, body: dict[str, Any], reply: Reply) -> None:
        """One exchange, repeated once in the words the endpoint knows if it refuses one of ours."""
        try:
            await self._exchange(client, body, reply)
        except EndpointError as error:
            adapted = _adapted(body, error.complaint)
            if adapted is None:
                raise
            await self._exchange(client, adapted, reply)

    async def _exchange(self, client: httpx.AsyncClient, body: Mapping[str, Any], reply: Reply) -> None:
        # An unpaired surrogate in a prompt would otherwise raise here.
        content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        url = self._endpoint.base_url.rstrip("/") + "/chat/completions"
        try:
            async with client.stream("POST", url, content=content) as response:
                await self._check_answer(response)
                await self._read(response, reply)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise self._transport_error(error) from error
        reply.complete()

    def _client(self, key: str | None) -> httpx.AsyncClient:
        endpoint = self._endpoint
        headers = {"Accept": "text/event-stream", "Accept-Encoding": "identity", "Content-Type": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        return httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(endpoint.read_timeout, connect=endpoint.connect_timeout),
            follow_redirects=False,
            trust_env=False,
            proxy=endpoint.proxy,
            verify=_certificates() if endpoint.base_url.startswith("https:") or endpoint.proxy else False,
        )

    def _body(self, request: GenerationRequest) -> dict[str, Any]:
        sampling = request.sampling
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "temperature": sampling.temperature,
            "max_tokens": sampling.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        # 1 is every endpoint's default, and some models refuse the parameter as such.
        if sampling.top_p != 1.0:
            body["top_p"] = sampling.top_p
        if sampling.seed is not None:
            body["seed"] = sampling.seed
        return body

    async def _check_answer(self, response: httpx.Response) -> None:
        """Raise EndpointError unless the answer is a completion that can be read."""
        if response.status_code != 200:
            raise self._status_error(response, await _error_body(response))
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise EndpointError("bad_reply", "the endpoint compressed its reply though it was told not to.")
        if "html" in _media_type(response):
            raise EndpointError(
                "bad_reply", f"{self._endpoint.base_url} is a web page, not an API. Does base_url lack /v1?"
            )

    async def _read(self, response: httpx.Response, reply: Reply) -> None:
        if "application/json" in _media_type(response):
            # The endpoint does not stream; its whole answer has the shape of one event.
            reply.take(decoded(await self._all_of(response)))
            reply.done = True
            return
        try:
            await self._read_events(response, reply)
        except (TimeoutError, httpx.TransportError):
            # Only the usage is missing, which is a courtesy.
            if reply.finish is None:
                raise

    async def _read_events(self, response: httpx.Response, reply: Reply) -> None:
        reader, size = EventReader(), 0
        async with asyncio.timeout(None) as grace:
            async for piece in response.aiter_raw():
                size += len(piece)
                self._check_size(size)
                for event in reader.feed(piece):
                    reply.take(event)
                if reply.done:
                    return
                if reply.finish and grace.when() is None:
                    grace.reschedule(asyncio.get_running_loop().time() + _USAGE_GRACE)
        for event in reader.close():
            reply.take(event)

    async def _all_of(self, response: httpx.Response) -> bytes:
        body = b""
        async for piece in response.aiter_raw():
            body += piece
            self._check_size(len(body))
        return body

    def _check_size(self, size: int) -> None:
        if size > self._endpoint.max_bytes:
            raise EndpointError("bad_reply", f"the reply is longer than {self._endpoint.max_bytes} bytes.")

    def _status_error(self, response: httpx.Response, body: bytes) -> EndpointError:
        """What a status other than 200 means, and what to do about it."""
        status, complaint = response.status_code, _complaint(body)
        said = f" It says: {complaint}" if complaint else ""
        if status in (401, 403):
            # Its words are left out: they often repeat part of the key.
            key = self._endpoint.api_key_env
            remedy = f"Check the key in {key}." if key else "Set api_key_env to the variable that holds the key."
            return EndpointError("unauthorised", f"the endpoint refused access ({status}). {remedy}")
        if status in (404, 405, 410) or 300 <= status < 400:
            place = f"{self._endpoint.base_url} has no model {self.model!r} or is no API address ({status})."
            return EndpointError("not_found", f"{place} Check base_url and model; redirects are not followed.{said}")
        if status == 429:
            wait = _retry_after(response.headers.get("retry-after"), datetime.now(UTC))
            asked = f" It asks to wait {wait:g} s." if wait else ""
            return EndpointError(
                "rate_limited",
                f"the endpoint is busy or a quota is used up (429). Try again later.{asked}{said}",
                retry=b"insufficient_quota" not in body,
                retry_after=wait,
            )
        if status >= 500:
            wait = _retry_after(response.headers.get("retry-after"), datetime.now(UTC))
            message = f"the endpoint failed ({status}). Try again later.{said}"
            return EndpointError("server_error", message, retry=True, retry_after=wait)
        message = f"the endpoint refused the request ({status}).{said}"
        return EndpointError("bad_reply", message, complaint=complaint)

    def _transport_error(self, error: Exception) -> EndpointError:
        """What a failure of the connection means."""
        where = self._endpoint.base_url
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            message = f"cannot connect to {where} ({str(error) or 'no answer'}). Is it running, and is base_url right?"
            return EndpointError("unreachable", message, retry=True)
        if isinstance(error, httpx.TimeoutException):
            return EndpointError("timeout", f"{where} was silent for {self._endpoint.read_timeout:g} s. Try again.")
        if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError):
            return EndpointError(
                "dropped", f"the connection to {where} broke before the reply was complete. Try again."
            )
        return EndpointError(
            "unreachable", f"{where} cannot be called ({type(error).__name__}). Check base_url and proxy."
        )


@functools.cache
def _certificates() -> ssl.SSLContext:
    """The authorities an HTTPS endpoint is checked against; kept, since reading them takes 50 ms."""
    return httpx.create_ssl_context(trust_env=False)


def _adapted(body: Mapping[str, Any], complaint: str) -> dict[str, Any] | None:
    """`body` in the words of an endpoint that refused it, where that changes nothing in what is sampled.

    Newer models know max_tokens only as max_completion_tokens; older servers do not know stream_options.
    """
    if "max_completion_tokens" in complaint:
        return {**{k: v for k, v in body.items() if k != "max_tokens"}, "max_completion_tokens": body["max_tokens"]}
    if "stream_options" in complaint:
        return {k: v for k, v in body.items() if k != "stream_options"}
    return None


def _retry_after(value: str | None, now: datetime) -> float | None:
    """Seconds of a Retry-After header, which is a number or a date (RFC 9110, 10.2.3); None if it is neither."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = (email.utils.parsedate_to_datetime(value) - now).total_seconds()
        except (ValueError, TypeError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _media_type(response: httpx.Response) -> str:
    return str(response.headers.get("content-type", "")).lower()


async def _error_body(response: httpx.Response) -> bytes:
    body = b""
    async for piece in response.aiter_raw():
        body += piece
        if len(body) >= _LONGEST_ERROR_BODY:
            break
    return body


def _complaint(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    try:
        return error_message(json.loads(text))
    except (ValueError, RecursionError):
        # A page of HTML says nothing to a person.
        return "" if "<" in text else error_message(text)


def _run(work: Coroutine[Any, Any, None], cancel: threading.Event) -> bool:
    """Run `work` to its end or until `cancel` is set, whichever is first; True means to its end."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run_here(work, cancel)
    # A notebook's thread has a loop of its own, and a thread can only run one.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_run_here, work, cancel).result()


def _run_here(work: Coroutine[Any, Any, None], cancel: threading.Event) -> bool:
    # Not asyncio.run, which at its end waits for name lookups: one that hangs would hold up a cancelled call.
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(_until_cancelled(work, cancel))
    finally:
        loop.run_until_complete(_end_tasks())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _until_cancelled(work: Coroutine[Any, Any, None], cancel: threading.Event) -> bool:
    task = asyncio.ensure_future(work)
    while not task.done():
        if cancel.is_set():
            task.cancel()
        await asyncio.wait({task}, timeout=_CANCEL_POLL)
    if task.cancelled():
        return False
    await task
    return True


async def _end_tasks() -> None:
    """Close what an interrupt (Ctrl-C) left open."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
