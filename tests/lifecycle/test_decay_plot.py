"""Curves of fading, and their plot in a file."""

from __future__ import annotations

import sys
from math import exp
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nacre import Memory
from nacre.errors import InvalidInput, UnknownName
from nacre.lifecycle.decay import POINTS, Curve, curve, write_plot
from tests.lifecycle.aged import NOW

SVG = "{http://www.w3.org/2000/svg}"


def fading(text: str = "x", **fields: object) -> Curve:
    memory = Memory("m", text, last_accessed=NOW, **{"importance": 1.0, **fields})  # type: ignore[arg-type]
    return curve(memory, NOW, days=90, model="simple", decay_rate=0.1)


def test_a_curve_tells_what_the_score_will_be_if_nobody_uses_it() -> None:
    found = fading("how it is called")
    assert found.label == "how it is called" and len(found.points) == POINTS
    assert found.points[0] == (0.0, 1.0)
    assert found.points[-1] == pytest.approx((90.0, exp(-9)))
    tied = curve(
        Memory("m", "x", last_accessed=NOW, importance=0.3), NOW, days=9, model="strength", decay_rate=0.1, support=4
    )
    assert tied.points[-1][1] == pytest.approx(0.3 * exp(-0.9 / 2))


def test_an_unknown_model_has_no_curve() -> None:
    with pytest.raises(UnknownName):
        curve(Memory("m", "x"), NOW, days=1, model="line", decay_rate=0.1)


def test_nothing_to_plot_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="nothing to plot"):
        write_plot([], Path("plot.svg"))


def test_the_ending_of_a_file_decides(tmp_path: Path) -> None:
    for name in ("plot.pdf", "plot"):
        with pytest.raises(InvalidInput, match=r"\.svg or \.png"):
            write_plot([fading()], tmp_path / name)
        assert not (tmp_path / name).exists()


def test_a_file_without_matplotlib_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InvalidInput, match=r'pip install "\.\[plot\]"'):
        write_plot([fading()], tmp_path / "plot.png")
    assert not (tmp_path / "plot.png").exists()


@pytest.mark.slow
def test_a_file_is_written_where_matplotlib_is(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    curves = [fading("costs $5 or $6, _maybe_"), fading("colour \x1b[31m red \x07"), fading("<script>é</script>")]
    write_plot(curves, tmp_path / "plot.png", floor=0.05)
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    write_plot(curves, tmp_path / "plot.svg", floor=0.05)
    root = ElementTree.fromstring((tmp_path / "plot.svg").read_text("utf-8"))
    assert root.tag == f"{SVG}svg" and not list(root.iter(f"{SVG}script"))
