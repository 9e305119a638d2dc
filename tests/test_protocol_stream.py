"""The stream keeps promise 4 while the reply is still being written, for every way of cutting it into pieces."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from arpm.protocol import ReplyStream, parse
from tests.protocol_cases import CANARY, CASES, GOOD, LANGUAGES, REPLY, WELL_FORMED, Case, Language, fill
from tests.test_protocol import TEMPLATES, mutate, shows_tag

EVERY = [pytest.param(case, language, id=f"{case.name}-{language}") for case in CASES for language in LANGUAGES]


def pieces(raw: str, size: int) -> list[str]:
    return [raw[at : at + size] for at in range(0, len(raw), size)]


def random_pieces(raw: str, rng: random.Random) -> list[str]:
    cuts = sorted(rng.choices(range(len(raw) + 1), k=rng.randint(1, 30)))
    return [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]


def chunkings(raw: str) -> Iterator[list[str]]:
    yield from (pieces(raw, size) for size in (1, 2, 3, 5, 8, 13, max(1, len(raw))))
    rng = random.Random(raw.encode("utf-8", "replace"))
    yield from (random_pieces(raw, rng) for _ in range(5))


def shown(chunks: list[str]) -> tuple[str, str]:
    """What the stream shows while it runs, and what it adds at the end."""
    stream = ReplyStream()
    return "".join(stream.feed(chunk) for chunk in chunks), stream.close()


class TestNothingUncertainIsShown:
    @pytest.mark.parametrize(("case", "language"), EVERY)
    def test_every_chunking_of_every_case(self, case: Case, language: Language) -> None:
        """Guards against half a tag, or the analysis behind it, flashing up before the parser has the last word."""
        raw = case.raw(language)
        response = parse(raw, ()).response
        endings = set()
        for chunks in chunkings(raw):
            live, rest = shown(chunks)
            assert response.startswith(live), chunks
            assert live + rest in ("", response), chunks
            assert CANARY[language] not in live + rest
            assert not shows_tag(live + rest)
            endings.add(live + rest)
        assert len(endings) == 1

    def test_every_single_cut_of_a_good_reply(self) -> None:
        raw = fill(GOOD, "zh")
        for cut in range(len(raw) + 1):
            live, rest = shown([raw[:cut], raw[cut:]])
            assert (live, rest) == (REPLY["zh"], "")

    def test_mutated_replies(self) -> None:
        rng = random.Random(7)
        for _ in range(3_000):
            raw = mutate(rng.choice(TEMPLATES), rng)
            response = parse(raw, ()).response
            live, rest = shown(random_pieces(raw, rng))
            assert response.startswith(live), raw
            assert not live or live + rest == response, raw

    def test_mutated_good_replies(self) -> None:
        """As above, near the shape that streams: the generator that finds most disagreements with the parser."""
        rng = random.Random(8)
        bases = [case.raw(language) for case in WELL_FORMED for language in LANGUAGES]
        streamed = 0
        for _ in range(3_000):
            base = rng.choice(bases)
            raw = mutate(base, rng, rng.randint(0, len(base)))
            response = parse(raw, ()).response
            live, rest = shown(random_pieces(raw, rng))
            assert response.startswith(live), raw
            assert not live or live + rest == response, raw
            streamed += bool(live)
        assert streamed > 800  # else the test would look at silence


class TestTheReplyIsShownEarly:
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_a_good_reply_streams_as_it_comes(self, language: Language) -> None:
        """Guards against a stream that is safe because it waits for the end."""
        reply = REPLY[language] * 20
        raw = fill(GOOD, language).replace(REPLY[language], reply)
        stream = ReplyStream()
        live, late = "", 0
        for at, sign in enumerate(raw):
            live += stream.feed(sign)
            begin = raw.index(reply)
            if begin <= at < begin + len(reply):
                late = max(late, at + 1 - begin - len(live))
        assert live == reply
        assert late <= 1

    @pytest.mark.parametrize(
        "text",
        [
            "1 < 2 and a <b> c",
            "a &lt;b and c & d",
            "x <y z> w",
            "C:\\new /usr/bin [x] [1, 2]",
            "<thing> 《书》 <p>",
            "F# <| g",
        ],
    )
    def test_what_only_looks_like_a_tag_is_not_held_back(self, text: str) -> None:
        head = "<analysis>x</analysis><response>"
        live, _ = shown([*(head + text + " and on it goes")])
        assert live == text + " and on it goes"

    def test_after_a_thought(self) -> None:
        live, _ = shown([*("<think>hm <think>x</think> </think>\n" + fill(GOOD, "en"))])
        assert live == REPLY["en"]

    def test_a_reply_without_analysis_waits_for_repair(self) -> None:
        assert shown(["<response>", "Hello", "</response>"]) == ("", "")
