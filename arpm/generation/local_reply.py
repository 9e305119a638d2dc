"""What the embedded model is given to continue, the grammar it continues under, and the analysis around its words.

Keeps the promise that its reply always follows the protocol: the analysis states what was measured, the model writes
the response and nothing else, and the grammar has no sign in it that could open a tag or cite a label. The text of a
memory is copied neither into the analysis nor into the response, so erasing a memory leaves no copy in a reply.
Pure functions; knows nothing about models.
"""

from __future__ import annotations

from collections.abc import Sequence

from arpm.generation.base import LabelledEvidence

CLOSING = "\n</response>"

_TAGS_AND_LABELS = "<>＜＞[]【】()（）"
_ENDS = ".!?。！？；;"
_BLANKS = " \u00a0\u3000"


def _all_but(signs: str) -> str:
    """A character class of the grammar: everything printable but `signs`.

    Written as ranges, because xgrammar lets signs beyond ASCII through a negated class.
    """
    left_out = sorted({*map(ord, signs), *range(0x7F, 0xA0), *range(0xD800, 0xE000), 0xFFFD})
    borders = zip([0x1F, *left_out], [*left_out, 0x110000], strict=True)
    return "[" + "".join(f"\\U{low + 1:08x}-\\U{high - 1:08x}" for low, high in borders if low + 1 < high) + "]"


_FIRST = _all_but(_TAGS_AND_LABELS + _ENDS + _BLANKS)
_LATER = _all_but(_TAGS_AND_LABELS + _ENDS)


def response_grammar(sentences: int) -> str:
    """EBNF for a response of at most `sentences` sentences in one paragraph, never empty."""
    # The first sign of a sentence is no blank; a full stop before a digit ends nothing.
    return f"""
root ::= {"sentence (" * (sentences - 1)}sentence{")?" * (sentences - 1)}
sentence ::= " "? {_FIRST} piece* [{_ENDS}]
piece ::= {_LATER} | "." [0-9]
"""


def opening(evidence: Sequence[LabelledEvidence], ranking: Sequence[str]) -> str:
    """The analysis and the opening of the response. `ranking` holds the labels of `evidence`, best first."""
    if not evidence:
        return _analysis("none", "none", "nothing in memory matches this message.")
    order = ranking or [item.label for item in evidence]
    need = next(item.route for item in evidence if item.label == order[0])
    if len(order) == 1:
        return _analysis(need, order[0], f"{order[0]} is the only note there is.")
    return _analysis(need, order[0], f"{order[0]} makes the question most likely; {order[1]} comes second.")


def _analysis(need: str, labels: str, check: str) -> str:
    return f"<analysis>\nneed: {need}\nevidence: {labels}\ncheck: {check}\n</analysis>\n<response>\n"
