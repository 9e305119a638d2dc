"""The tokenizer of multilingual-e5-small: an XLM-R Unigram model run by the package `tokenizers`.

Keeps the promise that any string has tokens and none can forge a special one. Knows nothing about vectors.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence

from tokenizers import Tokenizer, models, pre_tokenizers

from retrieval.embedding.e5s1 import E5Vocabulary
from retrieval.text import usable

_SPACES = re.compile(" {2,}")
_METASPACE = "\u2581"


class E5Tokenizer:
    """Turns texts into token ids, without the begin and end marks. Safe to share between threads."""

    def __init__(self, vocabulary: E5Vocabulary) -> None:
        # Threads of its own make it no faster on few cores, and the encoder that comes next waits for them.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        self._character_map = vocabulary.character_map
        # What is nothing but ASCII that prints has nothing to compose, and usually nothing to map.
        self._ascii_stays = not any(code in self._character_map for code in range(ord(" "), ord("~") + 1))
        pieces = list(zip(_unforgeable(vocabulary), vocabulary.scores, strict=True))
        self._tokenizer = Tokenizer(models.Unigram(pieces, vocabulary.unknown, False))
        self._tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(_METASPACE, "always")

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, in order. Like the model's own tokenizer, a run of unknown characters is one id."""
        encodings = self._tokenizer.encode_batch_fast([self.normalize(t) for t in texts], add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def normalize(self, text: str) -> str:
        """Compose, map characters as SentencePiece's nmt_nfkc does, and collapse spaces.

        Composing first matters: the map goes by single code points, so a decomposed é (as file names on a Mac
        have) or decomposed Hangul would otherwise become pieces that the model never saw.
        """
        if self._ascii_stays and text.isascii() and text.isprintable():
            return _SPACES.sub(" ", text)
        composed = unicodedata.normalize("NFC", usable(text))
        return _SPACES.sub(" ", composed.translate(self._character_map))


def _unforgeable(vocabulary: E5Vocabulary) -> list[str]:
    """The pieces, with the special ones renamed so that a text containing "</s>" is only text.

    NUL never survives `usable`, so nothing matches a piece that starts with it. Special pieces have score 0,
    better than any real piece, so without this every "<s>" in a text would win.
    """
    pieces = list(vocabulary.pieces)
    for token, score in enumerate(vocabulary.scores):
        if score == 0.0:
            pieces[token] = f"\0{pieces[token]}"
    return pieces
