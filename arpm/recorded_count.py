"""What counted the tokens of a recorded turn: the model's own tokenizer where it is packaged, or the estimate."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from arpm.errors import ArpmError
from arpm.generation.token_estimate import estimated_tokens
from governance.history import Count

LOCAL = "local"


class NoTokenizerError(ArpmError):
    """The tokens of a turn were counted with a tokenizer that is not at hand."""


def counter_of(body: Mapping[str, Any]) -> Count:
    """What counted the tokens of a recorded turn. Raises NoTokenizerError and GenerationError."""
    if body["prompt"] is None or body["prompt"]["approximate"]:
        return estimated_tokens
    if body["backend"]["name"] == LOCAL:
        return _local_counter()
    raise NoTokenizerError(
        f"the tokens were counted with the tokenizer of {body['backend']['model']!r}, which is not packaged"
    )


@lru_cache(maxsize=1)
def _local_counter() -> Count:
    # Imported here: openvino takes a second, and most checks need no tokenizer.
    from arpm.generation.local_model import load_tokenizer

    return lru_cache(maxsize=65536)(load_tokenizer().count)
