"""The plot of both rolling curves: a picture, the same one every time, with nothing taken from a screen."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from arpm.audit.plots import rolling_accuracy, save
from arpm.audit.review import Judged, report
from arpm.errors import InputError

CURVE = report([Judged(round, "yes", "yes", round % 2 == 0) for round in range(1, 51)]).curve


def test_png_and_svg_are_pictures_and_repeat(tmp_path: Path) -> None:
    for name in ("curve.png", "curve.svg"):
        save(rolling_accuracy(CURVE), tmp_path / name)
        first = (tmp_path / name).read_bytes()
        save(rolling_accuracy(CURVE), tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
        assert len(first) > 5000
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert ElementTree.parse(tmp_path / "curve.svg").getroot().tag.endswith("svg")


def test_axes_title_and_both_lines_are_labelled() -> None:
    (axes,) = rolling_accuracy(CURVE, "Both curves").axes
    assert axes.get_title(loc="left") == "Both curves"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Round", "Share of rounds right so far (%)")
    legend = axes.get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["After manual review (14): 100.0 %", "Automatic (13): 50.0 %"]
    assert len({line.get_linestyle() for line in axes.lines}) == 2


def test_without_automatic_judgements_there_is_one_line() -> None:
    (axes,) = rolling_accuracy(report([Judged(1, "yes", "no", None)]).curve).axes
    assert len(axes.lines) == 1


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a plot is a \.png or an \.svg"):
        save(rolling_accuracy(CURVE), tmp_path / "curve.pdf")
