"""The part of an evidence text that bears on the question, where the whole would be too long to judge or to quote.

Pure functions over words. Knows nothing about models.
"""

from __future__ import annotations

from retrieval.text import sentences
from retrieval.tokens import tokenize


def excerpt(text: str, question: str, limit: int) -> str:
    """At most `limit` characters of `text` on one line: the run of sentences that shares most words with `question`.

    The first of equal runs wins. A sentence longer than `limit` is cut at its end.
    """
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    spans = list(sentences(flat))
    asked = set(tokenize(question))
    best, most = flat[:limit], -1
    for first, span in enumerate(spans):
        last = first
        while last + 1 < len(spans) and spans[last + 1].end - span.start <= limit:
            last += 1
        run = flat[span.start : min(spans[last].end, span.start + limit)]
        shared = len(asked & set(tokenize(run)))
        if shared > most:
            best, most = run, shared
    return best
