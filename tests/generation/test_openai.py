"""The OpenAI backend against a real server in a process of its own, which misbehaves in every way seen in the wild."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import httpx
import openai
import pytest

from arpm.generation.base import ChatMessage, Generation, GenerationError, GenerationRequest, Sampling
from arpm.generation.openai import Endpoint, OpenAIBackend, _retry_after
from arpm.generation.openai_stream import EndpointError, EventReader, Reply, parse_event
from arpm.generation.token_estimate import estimated_tokens
from tests.generation.openai_server import FOR_EVER, KEY, Server, openai_server
from tests.network_guard import contacted, needs_strace
from tests.patience import PATIENCE

CHINESE = "你好，世界。记忆要能核查！🧠"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with openai_server() as running:
        yield running


@pytest.fixture
def pauses() -> list[float]:
    """The pauses between tries that a backend asked for; none is really waited."""
    return []


@pytest.fixture
def backend_for(server: Server, pauses: list[float]) -> Callable[..., OpenAIBackend]:
    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    def make(model: str, **endpoint: object) -> OpenAIBackend:
        where = Endpoint(**{"base_url": server.base_url, "model": model, **endpoint})
        return OpenAIBackend("remote", where, sleep=sleep, jitter=lambda: 1.0)

    return make


def request(text: str, **sampling: object) -> GenerationRequest:
    messages = (ChatMessage("system", "Be brief."), ChatMessage("user", text))
    return GenerationRequest(messages, Sampling(**sampling), question=text)


def ask(backend: OpenAIBackend, text: str = "hello there", **sampling: object) -> tuple[Generation, list[str]]:
    pieces: list[str] = []
    return backend.generate(request(text, **sampling), pieces.append, threading.Event()), pieces


@contextmanager
def quickly() -> Iterator[None]:
    """Fail if what is within takes nearly as long as the server would."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < PATIENCE < FOR_EVER / 2


# Seconds after which a call is ended: the shortest first, and longer ones where nothing had come by then.
LIMITS = (0.7, 5.0, 50.0)


def failure(backend: OpenAIBackend, text: str = "hello there", **sampling: object) -> GenerationError:
    with pytest.raises(GenerationError) as caught:
        ask(backend, text, **sampling)
    return caught.value


class TestReplies:
    @pytest.mark.parametrize("text", ["What did I say about tea?", CHINESE, "前 天 我们 说 了 什么"])
    def test_a_reply_is_streamed_and_whole(self, backend_for: Callable[..., OpenAIBackend], text: str) -> None:
        generation, pieces = ask(backend_for("echo"), text)
        assert generation.text == text == "".join(pieces)
        assert generation.finish == "stop"
        assert generation.completion_tokens == len(text.split())
        assert 0 < generation.first_token_seconds <= generation.seconds

    def test_pieces_arrive_before_the_reply_is_complete(self, backend_for: Callable[..., OpenAIBackend]) -> None:
        """The reply takes a thousand seconds."""
        cancel, arrived = threading.Event(), []

        def on_text(piece: str) -> None:
            arrived.append(piece)
            if len(arrived) == 3:
                cancel.set()

        with quickly():
            backend_for("slow-stream").generate(request("go", timeout=FOR_EVER), on_text, cancel)
        assert arrived[:3] == ["word0 ", "word1 ", "word2 "]

    def test_everything_that_shapes_the_reply_is_sent(
        self, backend_for: Callable[..., OpenAIBackend], server: Server
    ) -> None:
        ask(backend_for("echo"), "sampling 采样", temperature=0.3, top_p=0.9, max_tokens=77, seed=5)
        sent = server.requests()[-1]
        assert sent["body"] == {
            "model": "echo",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "sampling 采样"},
            ],
            "temperature": 0.3,
            "top_p": 0.9,
            "max_tokens": 77,
            "seed": 5,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        assert "authorization" not in sent["headers"]

    def test_a_reply_cut_by_length_says_so(self, backend_for: Callable[..., OpenAIBackend]) -> None:
        assert ask(backend_for("long-reply"))[0].finish == "length"

    @pytest.mark.parametrize("model", ["no-usage", "no-stream", "empty-choices"])
    def test_unusual_servers_are_understood(self, backend_for: Callable[..., OpenAIBackend], model: str) -> None:
        assert ask(backend_for(model), "good day 日安")[0].text == "good day 日安"

    def test_missing_usage_is_none_and_not_zero(self, backend_for: Callable[..., OpenAIBackend]) -> None:
        generation, _ = ask(backend_for("no-usage"))
        assert (generation.prompt_tokens, generation.completion_tokens) == (None, None)

    @pytest.mark.parametrize("model", ["reasoning", "reasoning-openrouter"])
    def test_reasoning_is_kept_apart(self, backend_for: Callable[..., OpenAIBackend], model: str) -> None:
        generation, pieces = ask(backend_for(model))
        assert generation.reasoning == "Let me think."
        assert generation.text == "The answer." == "".join(pieces)

    def test_think_tags_are_left_to_the_protocol(self, backend_for: Callable[..., OpenAIBackend]) -> None:
        assert ask(backend_for("think-tags"))[0].text == "<think>Let me think.</think>The answer."

    def test_malformed_text_comes_back_unchanged(self, backend_for: Callable[..., OpenAIBackend]) -> None:
        bad = "＜分析＞need: <anaylsis\n\n</response"
        assert ask(backend_for("malformed-tags"), f"RAW:{bad}")[0].text == bad

    @pytest.mark.parametrize("model", ["never-done", "drop-after-finish"])
    def test_a_reply_that_is_complete_but_for_done_is_kept(
        self, backend_for: Callable[..., OpenAIBackend], model: str
    ) -> None:
        with quickly():
            assert ask(backend_for(model), timeout=FOR_EVER)[0].text == "Half a reply"

    @pytest.mark.parametrize(
        ("model", "field"), [("new-parameter", "max_completion_tokens"), ("old-server", "max_tokens")]
    )
    def test_a_refused_parameter_is_reworded_once(
        self, backend_for: Callable[..., OpenAIBackend], server: Server, model: str, field: str
    ) -> None:
        assert ask(backend_for(model, tries=1), "reworded")[0].text == "reworded"
        assert server.requests()[-1]["body"][field] == 2000

    def test_an_unpaired_surrogate_in_the_prompt_does_not_raise(
        self, backend_for: Callable[..., OpenAIBackend]
    ) -> None:
        assert ask(backend_for("echo"), "a\ud800b")[0].text == "a?b"

    def test_a_notebook_with_a_running_loop_can_call_it(self, backend_for: Callable[..., OpenAIBackend]) -> None:
        async def cell() -> Generation:
            return ask(backend_for("echo"), "from a notebook")[0]

        assert asyncio.run(cell()).text == "from a notebook"

    def test_two_threads_do_not_mix_their_replies(self, backend_for: Callable[..., OpenAIBackend]) -> None:
        backend, texts = backend_for("echo"), [f"thread {n} " * 50 for n in range(6)]
        replies: dict[str, str] = {}

        def work(text: str) -> None:
            replies[text] = ask(backend, text)[0].text

        threads = [threading.Thread(target=work, args=(text,)) for text in texts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert replies == {text: text for text in texts}


class TestErrors:
    @pytest.mark.parametrize(
        ("model", "kind", "words"),
        [
            ("status-401", "unauthorised", "Set api_key_env"),
            ("status-403", "unauthorised", "refused access"),
            ("status-404", "not_found", "Check base_url and model"),
            ("no-such-model", "not_found", "no-such-model"),
            ("redirect", "not_found", "(307). Check base_url and model; redirects are not followed"),
            ("status-429", "rate_limited", "Try again later"),
            ("status-500", "server_error", "Try again later"),
            ("status-503", "server_error", "503"),
            ("status-400", "bad_reply", "Refused as asked"),
            ("drop-mid-stream", "dropped", "Try again"),
            ("drop-before-text", "dropped", "Try again"),
            ("end-early", "dropped", "before the reply was complete"),
            ("error-mid-stream", "server_error", "The model crashed"),
            ("error-before-text", "rate_limited", "Rate limit"),
            ("bare-done", "bad_reply", "without any content"),
            ("garbage", "bad_reply", "{this is not JSON"),
            ("web-page", "bad_reply", "/v1"),
            ("compressed", "bad_reply", "compressed"),
        ],
    )
    def test_each_failure_has_its_kind_and_a_remedy(
        self, backend_for: Callable[..., OpenAIBackend], model: str, kind: str, words: str
    ) -> None:
        error = failure(backend_for(model))
        assert error.kind == kind
        assert words in str(error)
        assert str(error).startswith("Model 'remote': ")

    @pytest.mark.parametrize("model", ["drop-mid-stream", "end-early", "error-mid-stream", "garbage"])
    def test_what_had_arrived_is_kept_with_the_error(
        self, backend_for: Callable[..., OpenAIBackend], model: str, pauses: list[float]
    ) -> None:
        assert failure(backend_for(model)).partial == "Half a reply"
        assert pauses == []

    def test_an_endpoint_that_is_down(self, backend_for: Callable[..., OpenAIBackend], pauses: list[float]) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            port = unused.getsockname()[1]
            error = failure(backend_for("echo", base_url=f"http://127.0.0.1:{port}/v1"))
        assert error.kind == "unreachable"
        assert "Is it running" in str(error)
        assert len(pauses) == 2

    @pytest.mark.parametrize("url", ["http://[::1", "http://" + "a" * 70 + "/v1", "ftp://127.0.0.1/v1", "nonsense"])
    def test_an_address_that_is_none(self, backend_for: Callable[..., OpenAIBackend], url: str) -> None:
        assert failure(backend_for("echo", base_url=url, tries=1)).kind == "unreachable"

    def test_silence_is_a_timeout(self, backend_for: Callable[..., OpenAIBackend]) -> None:
        for limit in LIMITS:
            with quickly():
                error = failure(backend_for("silent-stream", read_timeout=limit), timeout=FOR_EVER)
            assert error.kind == "timeout"
            if error.partial:
                break
        assert error.partial == "Half a reply"

    def test_a_trickle_cannot_outlast_the_deadline(self, backend_for: Callable[..., OpenAIBackend]) -> None:
        """A read timeout alone never fires on a server that sends a word now and then."""
        for limit in LIMITS:
            with quickly():
                error = failure(backend_for("slow-stream"), timeout=limit)
            assert (error.kind, f"{limit:g} s" in str(error)) == ("timeout", True)
            if error.partial:
                break
        assert error.partial.startswith("word0 ")

    def test_an_endless_reply_is_stopped(self, backend_for: Callable[..., OpenAIBackend]) -> None:
        error = failure(backend_for("endless", max_bytes=200_000))
        assert (error.kind, "200000 bytes" in str(error)) == ("bad_reply", True)
        assert len(error.partial) < 200_000

    def test_what_the_listener_raises_is_the_listeners(self, backend_for: Callable[..., OpenAIBackend]) -> None:
        def gone(piece: str) -> None:
            raise BrokenPipeError("the browser went away")

        with pytest.raises(BrokenPipeError):
            backend_for("echo").generate(request("hello"), gone, threading.Event())


class TestRetries:
    def test_busy_then_ok_succeeds_after_the_wait_asked_for(
        self, backend_for: Callable[..., OpenAIBackend], pauses: list[float]
    ) -> None:
        generation, pieces = ask(backend_for("status-429-then-ok"), "busy then ok")
        assert generation.text == "busy then ok" == "".join(pieces)
        assert pauses == [1.0]

    def test_tries_are_bounded_and_back_off(
        self, backend_for: Callable[..., OpenAIBackend], server: Server, pauses: list[float]
    ) -> None:
        before = len(server.requests())
        failure(backend_for("status-500", tries=4))
        assert len(server.requests()) - before == 4
        assert pauses == [0.5, 1.0, 2.0]

    @pytest.mark.parametrize("model", ["status-401", "status-404", "status-400", "quota-used-up"])
    def test_what_cannot_succeed_is_not_tried_again(
        self, backend_for: Callable[..., OpenAIBackend], pauses: list[float], model: str
    ) -> None:
        failure(backend_for(model))
        assert pauses == []

    def test_no_pause_goes_past_the_deadline(
        self, backend_for: Callable[..., OpenAIBackend], pauses: list[float]
    ) -> None:
        """The last real error is shown at once, not a timeout after a useless wait."""
        error = failure(backend_for("status-429-after-500"), timeout=400)
        assert (error.kind, "asks to wait 500 s" in str(error)) == ("rate_limited", True)
        assert pauses == []

    def test_retry_after_is_a_number_or_a_date(self) -> None:
        now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        assert _retry_after("7", now) == 7.0
        assert _retry_after("Fri, 02 Jan 2026 03:04:35 GMT", now) == 30.0
        assert _retry_after("Fri, 02 Jan 2026 03:00:00 GMT", now) == 0.0
        for nothing in (None, "", "soon", "nan", "inf", "2026-01-02"):
            assert _retry_after(nothing, now) is None


class TestCancellation:
    """A cancelled call returns, whatever the endpoint is doing; each of these would do it for a thousand seconds."""

    def cancelled(self, backend: OpenAIBackend) -> Generation:
        cancel = threading.Event()
        timer = threading.Timer(0.4, cancel.set)
        with quickly():
            timer.start()
            generation = backend.generate(request("hello", timeout=FOR_EVER), lambda piece: None, cancel)
            assert cancel.is_set()
        timer.join()
        return generation

    def test_while_waiting_for_headers(self, backend_for: Callable[..., OpenAIBackend]) -> None:
        generation = self.cancelled(backend_for("slow-headers"))
        assert (generation.finish, generation.text) == ("cancelled", "")

    def test_in_mid_stream_keeps_what_had_arrived(self, backend_for: Callable[..., OpenAIBackend]) -> None:
        cancel = threading.Event()
        with quickly():
            asked = request("hello", timeout=FOR_EVER)
            generation = backend_for("slow-stream").generate(asked, lambda piece: cancel.set(), cancel)
        assert generation.finish == "cancelled"
        assert generation.text.startswith("word0 ")

    def test_during_a_pause_between_tries(self, server: Server) -> None:
        """With the real sleep: a wait must end early."""
        backend = OpenAIBackend("remote", Endpoint(server.base_url, "status-429-after-500"))
        assert self.cancelled(backend).finish == "cancelled"

    def test_during_a_name_lookup_that_hangs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """asyncio.run waits for its threads, so a dead name server held up the return."""
        answered = threading.Event()

        def hang(*arguments: object, **named: object) -> list[object]:
            answered.wait(FOR_EVER)
            raise socket.gaierror("no answer")

        monkeypatch.setattr(socket, "getaddrinfo", hang)
        try:
            backend = OpenAIBackend("remote", Endpoint("http://model.invalid/v1", "echo"))
            assert self.cancelled(backend).finish == "cancelled"
        finally:
            answered.set()

    def test_before_the_start_nothing_is_sent(self, backend_for: Callable[..., OpenAIBackend], server: Server) -> None:
        before, cancel = len(server.requests()), threading.Event()
        cancel.set()
        assert backend_for("echo").generate(request("hello"), print, cancel).finish == "cancelled"
        assert len(server.requests()) == before

    def test_an_interrupt_leaves_nothing_open(self, backend_for: Callable[..., OpenAIBackend]) -> None:
        """Ctrl-C in the command line's chat; a connection left open fails the test run by its warning."""

        def interrupt(piece: str) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            backend_for("slow-stream").generate(request("hello"), interrupt, threading.Event())


class TestKeys:
    """No key is ever in an error, a log or a repr."""

    @pytest.fixture(autouse=True)
    def key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TEST_MODEL_KEY", KEY + "\n")

    def test_the_key_of_the_named_variable_is_sent(self, backend_for: Callable[..., OpenAIBackend]) -> None:
        assert ask(backend_for("needs-key", api_key_env="TEST_MODEL_KEY"), "let me in")[0].text == "let me in"

    @pytest.mark.parametrize("model", ["status-401", "bad-request", "status-500", "status-404", "garbage"])
    def test_an_endpoint_that_repeats_the_key(
        self, backend_for: Callable[..., OpenAIBackend], model: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        backend = backend_for(model, api_key_env="TEST_MODEL_KEY")
        error = failure(backend)
        logging.getLogger("arpm").error("turn failed", exc_info=error)
        shown = "".join(traceback.format_exception(error)) + repr(backend) + repr(error) + caplog.text
        assert "TEST_MODEL_KEY" in shown
        assert KEY not in shown

    def test_the_key_is_removed_before_the_message_is_shortened(
        self, backend_for: Callable[..., OpenAIBackend]
    ) -> None:
        """Shortening first left half a key at the cut."""
        long = "x" * 450
        event = f'RAW:data: {{"error": {{"message": "{long} {KEY}{KEY}{KEY}"}}}}\n\n'
        error = failure(backend_for("raw-events", api_key_env="TEST_MODEL_KEY", tries=1), event)
        assert "[key]" in str(error)
        assert KEY[:6] not in str(error)

    @pytest.mark.parametrize("value", ["", "   ", "two words", "ключ", "a\nb"])
    def test_an_unusable_key_is_refused_without_showing_it(
        self, backend_for: Callable[..., OpenAIBackend], monkeypatch: pytest.MonkeyPatch, value: str
    ) -> None:
        monkeypatch.setenv("TEST_MODEL_KEY", value)
        error = failure(backend_for("echo", api_key_env="TEST_MODEL_KEY"))
        assert (error.kind, "TEST_MODEL_KEY" in str(error)) == ("unauthorised", True)
        assert not value.strip() or value not in str(error)


class TestNothingElseIsContacted:
    def test_no_proxy_is_taken_from_the_environment(
        self, backend_for: Callable[..., OpenAIBackend], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert ask(backend_for("echo"), "direct")[0].text == "direct"

    def test_a_configured_proxy_is_used(self, backend_for: Callable[..., OpenAIBackend]) -> None:
        assert failure(backend_for("echo", proxy="http://127.0.0.1:9", tries=1)).kind == "unreachable"

    @needs_strace
    def test_a_call_opens_only_the_configured_address(self, server: Server) -> None:
        code = f"""
import threading
from arpm.generation.base import ChatMessage, GenerationRequest, Sampling
from arpm.generation.openai import Endpoint, OpenAIBackend
request = GenerationRequest((ChatMessage("user", "hello"),), Sampling())
backend = OpenAIBackend("remote", Endpoint({server.base_url!r}, "echo"))
print(backend.generate(request, lambda piece: None, threading.Event()).text)
"""
        seen = contacted(code)
        assert seen.output.strip() == "hello"
        assert seen.beyond_loopback == []


class TestReadingTheStream:
    def test_events_survive_any_cut_of_the_network(self) -> None:
        """A cut inside a Chinese character, or between CR and LF, must change nothing."""
        stream = (
            f': comment\r\nevent: x\r\ndata: {{"a": "{CHINESE}\u2028\x85"}}\r\n\r\ndata: one\ndata: two\n\ndata: [DONE]'
        )
        expected = [f'{{"a": "{CHINESE}\u2028\x85"}}', "one\ntwo", "[DONE]"]
        data = stream.encode()
        for size in (1, 2, 3, 5, len(data)):
            reader = EventReader()
            events = [e for at in range(0, len(data), size) for e in reader.feed(data[at : at + size])]
            assert events + list(reader.close()) == expected

    def test_an_emoji_sent_in_two_halves_is_whole(self) -> None:
        pieces: list[str] = []
        reply = Reply(pieces.append)
        for half in ("\\ud83e", "\\udde0 ok", "\\ud83e"):
            reply.take(f'{{"choices": [{{"delta": {{"content": "{half}"}}, "finish_reason": "stop"}}]}}')
        reply.complete()
        assert pieces == ["🧠 ok", "\ufffd"]
        assert reply.text == "🧠 ok\ufffd"

    @pytest.mark.parametrize(
        "event",
        [
            '{"choices": null}',
            '{"choices": [], "usage": null}',
            '{"choices": [{"delta": null}]}',
            '{"choices": [{"delta": {"content": null, "tool_calls": []}, "finish_reason": null}]}',
            '{"choices": [{"index": 1, "delta": {"content": "of another choice"}}]}',
            '{"choices": [], "usage": {"prompt_tokens": "many", "completion_tokens": -1}}',
            '{"choices": [], "usage": {"prompt_tokens": true, "completion_tokens": 1e400}}',
            '{"unknown": [NaN]}',
        ],
    )
    def test_events_without_news_change_nothing(self, event: str) -> None:
        delta = parse_event(event)
        assert (delta.text, delta.reasoning, delta.finish) == ("", "", None)
        assert (delta.prompt_tokens, delta.completion_tokens) == (None, None)

    def test_content_in_parts_keeps_thoughts_apart(self) -> None:
        delta = parse_event(
            '{"choices": [{"delta": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},'
            ' {"type": "text", "text": "答案"}]}}]}'
        )
        assert (delta.reasoning, delta.text) == ("hm", "答案")

    @pytest.mark.parametrize(
        "event",
        [
            "",
            "[]",
            "null",
            '"text"',
            '{"choices": "none"}',
            '{"choices": [1]}',
            '{"choices": [{"delta": {"content": 5}}]}',
            "[" * 100_000,
            '{"error": ' * 400 + '"deep"' + "}" * 400,
            '{"error": {"code": []}}',
        ],
    )
    def test_unreadable_events_are_errors_of_one_kind(self, event: str) -> None:
        with pytest.raises(EndpointError):
            parse_event(event)


class TestTokenEstimate:
    @pytest.mark.parametrize(
        ("text", "tokens"),
        [
            ("", 0),
            ("a", 1),
            ("four", 1),
            ("hello world!", 3),
            ("你好，世界", 5),
            ("记忆 memory", 4),
            ("こんにちは", 5),
            ("한국어", 3),
        ],
    )
    def test_wide_characters_count_one_and_others_a_quarter(self, text: str, tokens: int) -> None:
        """Without spaces a Chinese paragraph once counted as one token."""
        assert estimated_tokens(text) == tokens

    def test_the_backend_uses_it(self, backend_for: Callable[..., OpenAIBackend]) -> None:
        assert backend_for("echo").count_tokens("你好 hello") == 4


class TestServerIsCompatible:
    """The official client library works against the test server, so the server is no mock of our own making."""

    @pytest.fixture
    def client(self, server: Server) -> Iterator[openai.OpenAI]:
        with openai.OpenAI(base_url=server.base_url, api_key=KEY, max_retries=0) as client:
            yield client

    def test_models_and_plain_completion(self, client: openai.OpenAI) -> None:
        assert {"echo", "protocol", "local"} <= {model.id for model in client.models.list()}
        answer = client.chat.completions.create(model="echo", messages=[{"role": "user", "content": "你好 there"}])
        assert answer.choices[0].message.content == "你好 there"
        assert answer.choices[0].finish_reason == "stop"
        assert answer.usage.completion_tokens == 2

    def test_streamed_completion(self, client: openai.OpenAI) -> None:
        stream = client.chat.completions.create(
            model="protocol",
            messages=[{"role": "user", "content": "你好"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = list(stream)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert text.endswith("<response>\nYou said: 你好\n</response>")
        assert chunks[-1].choices == []
        assert chunks[-1].usage.total_tokens > 0

    def test_errors(self, client: openai.OpenAI) -> None:
        messages = [{"role": "user", "content": "hello"}]
        with pytest.raises(openai.AuthenticationError):
            client.with_options(api_key="wrong").chat.completions.create(model="needs-key", messages=messages)
        with pytest.raises(openai.NotFoundError) as caught:
            client.chat.completions.create(model="nobody", messages=messages)
        assert caught.value.code == "model_not_found"
        with pytest.raises(openai.APIError, match="crashed"):
            list(client.chat.completions.create(model="error-mid-stream", messages=messages, stream=True))

    def test_bad_requests_do_not_stop_the_server(self, server: Server) -> None:
        for body in (b"", b"[]", b"{", b'{"model": 5}'):
            assert httpx.post(f"{server.base_url}/chat/completions", content=body).status_code == 400
        assert httpx.get(f"{server.base_url}/models").status_code == 200
