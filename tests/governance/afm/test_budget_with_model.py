"""No budget is exceeded, by the embedded model's own count of what the prompt holds, in random cases of hard texts.

Ten thousand cases are run by `python -m benchmarks afm_packing`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from arpm.generation.local_model import LoadedTokenizer, load_tokenizer
from governance.afm import Budget, HeuristicCompressor, cached_count, pack, pack_as_published
from governance.afm.packing import BudgetTooSmallError
from governance.history import Count, Placed
from tests.governance.afm.support import drawn

CASES = 400
QUERIES = ("Which dishes can I eat?", "我可以吃什么？", "火车 train", "")
OPEN, CLOSE = "<|im_start|>user\n", "<|im_end|>\n"


@pytest.fixture(scope="module")
def tokenizer() -> LoadedTokenizer:
    return load_tokenizer()


@pytest.fixture(scope="module")
def count(tokenizer: LoadedTokenizer) -> Count:
    return cached_count(tokenizer.count)


def as_chat(texts: Sequence[str]) -> str:
    return "".join(f"{OPEN}{text}{CLOSE}" for text in texts)


@pytest.mark.parametrize("packer", ["ours", "published"])
def test_the_prompt_of_a_random_case_is_within_its_budget(
    tokenizer: LoadedTokenizer, count: Count, packer: str
) -> None:
    chance = random.Random(f"afm budgets {packer}")
    compressor = HeuristicCompressor(count)
    overhead = tokenizer.count(OPEN + CLOSE)
    for case in range(CASES):
        messages, focuses = drawn(chance)
        query = chance.choice(QUERIES)
        budget = Budget(chance.choice((chance.randrange(1, 60), chance.randrange(1, 2500))), overhead)
        pack_it = pack if packer == "ours" else pack_as_published
        placed = pack_it(messages, focuses, query, budget, count, compressor)
        texts = [item.text for item in placed if item.text]
        assert len(placed) == len(messages), case
        assert sum(item.tokens for item in placed) <= budget.tokens, case
        assert tokenizer.count(as_chat(texts)) <= budget.tokens, (case, texts)


def test_texts_joined_otherwise_are_within_it_too_when_their_count_is_given(
    tokenizer: LoadedTokenizer, count: Count
) -> None:
    """Joined without anything between, tokens of two texts can be more than theirs alone."""
    chance = random.Random("afm joined")
    compressor = HeuristicCompressor(count)
    for case in range(CASES // 4):
        messages, focuses = drawn(chance)
        budget = Budget(chance.randrange(20, 800))

        def joined(items: Sequence[Placed]) -> int:
            return tokenizer.count("Notes:\n" + " / ".join(item.text for item in items))

        try:
            placed = pack(messages, focuses, "花生", budget, count, compressor, joined=joined)
        except BudgetTooSmallError:
            assert joined([]) > budget.tokens, case
            continue
        assert joined([item for item in placed if item.text]) <= budget.tokens, case
