"""Canonical JSON: equal values have equal bytes, those of RFC 8785, and what JSON cannot say is refused by place."""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy as np
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from arpm.canonical import NotCanonicalError, canonical, digest

# Characters that encoders disagree about: astral and private-use keys (UTF-16 order differs from code points),
# controls, the two separators that JavaScript used to forbid, quotes, and both languages.
_AWKWARD = '\U0001f600\ue000\uffff\x00\x1f\x7f\u2028\u2029"\\/\b\f\n\r\té中'
_TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from(_AWKWARD), max_size=12)
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_LEAVES = st.none() | st.booleans() | st.integers(1 - 2**53, 2**53 - 1) | _FLOATS | _TEXT
_VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner) | st.dictionaries(_TEXT, inner), max_leaves=25)

# RFC 8785, appendix B: bits of a double and how it must be written.
_RFC_NUMBERS = {
    0x0000000000000000: b"0",
    0x8000000000000000: b"0",
    0x0000000000000001: b"5e-324",
    0x8000000000000001: b"-5e-324",
    0x7FEFFFFFFFFFFFFF: b"1.7976931348623157e+308",
    0x4340000000000000: b"9007199254740992",
    0x4430000000000000: b"295147905179352830000",
    0x44B52D02C7E14AF5: b"9.999999999999997e+22",
    0x44B52D02C7E14AF6: b"1e+23",
    0x444B1AE4D6E2EF4E: b"999999999999999700000",
    0x444B1AE4D6E2EF50: b"1e+21",
    0x3EB0C6F7A0B5ED8C: b"9.999999999999997e-7",
    0x3EB0C6F7A0B5ED8D: b"0.000001",
    0x41B3DE4355555556: b"333333333.3333334",
    0xBECBF647612F3696: b"-0.0000033333333333333333",
    0x43143FF3C1CB0959: b"1424953923781206.2",
}


def _double(bits: int) -> float:
    value: float = struct.unpack(">d", bits.to_bytes(8, "big"))[0]
    return value


class TestAgreesWithTheStandard:
    @settings(max_examples=400, deadline=None)
    @given(_VALUES)
    def test_any_value_has_the_bytes_of_the_reference_implementation(self, value: Any) -> None:
        assert canonical(value) == rfc8785.dumps(value)

    def test_numbers_of_the_standard(self) -> None:
        """orjson writes 1.0, 1e-6 and 1e23 differently from ECMAScript: digests would differ between programs."""
        for bits, written in _RFC_NUMBERS.items():
            assert canonical({"n": _double(bits)}) == b'{"n":' + written + b"}", hex(bits)

    def test_doubles_of_every_size(self) -> None:
        """The border between plain and exponent form is decided here, not by the encoder: sweep across it."""
        rng = random.Random(8785)
        doubles = [_double(rng.getrandbits(64)) for _ in range(1500)]
        for power in range(-9, 24):
            doubles += [sign * 10.0**power * (1 + rng.random()) for sign in (1, -1, 1, -1)]
        doubles += [float(10**power) for power in range(23)] + [10.0**-power for power in range(10)]
        for value in doubles:
            if abs(value) < float("inf"):
                assert canonical([value, {"n": value}]) == rfc8785.dumps([value, {"n": value}]), value

    def test_keys_are_sorted_by_utf16_code_units(self) -> None:
        """The example of RFC 8785, section 3.2.3; a sort by code points puts the emoji last."""
        keys = ["€", "\r", "\ufb33", "1", "\U0001f600", "\x80", "ö"]
        expected = ["\r", "1", "\x80", "ö", "€", "\U0001f600", "\ufb33"]
        written = canonical({"outer": dict.fromkeys(keys, 1.0)})
        assert written == b'{"outer":{' + b",".join(canonical(key) + b":1" for key in expected) + b"}}"

    def test_equal_numbers_have_equal_bytes(self) -> None:
        assert canonical({"w": 1.0, "z": -0.0}) == canonical({"w": 1, "z": 0}) == b'{"w":1,"z":0}'

    def test_the_value_is_left_as_it_was(self) -> None:
        value = {"a": [1.0, {"b": 2.0}], "中": 3.0}
        canonical(value)
        assert [type(value["a"][0]), type(value["a"][1]["b"]), type(value["中"])] == [float, float, float]  # type: ignore[index]


class TestRefusesWhatJsonCannotSay:
    @pytest.mark.parametrize(
        ("value", "place"),
        [
            ({"body": {"score": float("nan")}}, "$.body.score is nan"),
            ({"rows": [1, {"final": float("inf")}]}, "$.rows[1].final is inf"),
            ([0.5, -float("inf")], "$[1] is -inf"),
            ({"body": {"message": "half \ud83d"}}, "$.body.message holds half a character (lone surrogate U+D83D at 5"),
            ({"好": "\udc00"}, "$.好 holds half a character"),
            ({"a": {"\ud800": 1}}, "$.a has a key that holds half a character"),
            ({"a": {1: 2}}, "$.a has the key 1, which is not text"),
            ({"n": 2**53}, "$.n is 9007199254740992, beyond"),
            ({"n": -(2**70)}, "$.n is -1180591620717411303424, beyond"),
            ({"t": (1, 2)}, "$.t is a builtins.tuple"),
            ({"x": np.float64(0.5)}, "$.x is a numpy.float64"),
            ({"x": [b"bytes"]}, "$.x[0] is a builtins.bytes"),
        ],
    )
    def test_the_place_is_named(self, value: Any, place: str) -> None:
        """orjson turns NaN into null without a word; a score would silently vanish from the record."""
        with pytest.raises(NotCanonicalError) as caught:
            canonical(value)
        assert place in str(caught.value)

    def test_the_path_can_begin_elsewhere(self) -> None:
        with pytest.raises(NotCanonicalError, match=r"^\$\.body\.message holds"):
            canonical({"message": "\ud800"}, "$.body")

    def test_endless_nesting(self) -> None:
        value: Any = 1
        for _ in range(300):
            value = [value]
        with pytest.raises(NotCanonicalError, match="nested more than 200 deep"):
            canonical(value)
        with pytest.raises(NotCanonicalError, match="nested more than 200 deep"):
            canonical({"a": {"b": value}})


class TestDigest:
    def test_says_its_algorithm(self) -> None:
        """The known SHA-256 of "abc" (FIPS 180-2)."""
        assert digest(b"abc") == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
