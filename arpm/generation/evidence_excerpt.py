"""The part of an evidence text that bears on the question, where the whole would be too long to judge or to quote.

Pure functions over words. Knows nothing about models.
"""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.text import sentences
from retrieval.tokens import tokenize


def excerpt(text: str, question: str, limit: int) -> str:
    """At most `limit` characters of `text` on one line: the run of sentences that shares most words with `question`.

    Of equal runs the last wins: it has the least before the words that are shared. A
    sentence longer than `limit` is cut at its end.
    """
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    pieces = _pieces(text)
    asked = set(tokenize(question))
    best, most = flat[:limit], -1
    for first in range(len(pieces)):
        run = _run(pieces[first:], limit)
        shared = len(asked & set(tokenize(run)))
        if shared >= most:
            best, most = run, shared
    return best


def _pieces(text: str) -> list[str]:
    """The sentences of `text` on one line each, with a blank at the end where one stood behind them."""
    spans = list(sentences(text))
    starts = [*(span.start for span in spans[1:]), len(text)]
    return [
        " ".join(text[span.start : span.end].split()) + (" " if text[span.end : start].isspace() else "")
        for span, start in zip(spans, starts, strict=True)
    ]


def _run(pieces: Sequence[str], limit: int) -> str:
    """As many of `pieces` from the first on as fit; the first is cut where it alone is too long."""
    run = pieces[0]
    for piece in pieces[1:]:
        if len((run + piece).rstrip()) > limit:
            break
        run += piece
    return run.rstrip()[:limit]
