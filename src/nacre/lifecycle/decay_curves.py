"""How memories will fade, as curves and as a plot in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nacre.errors import InvalidInput, MissingExtra
from nacre.files import create_private
from nacre.lifecycle.decay import DecayInput, model_named
from nacre.model import Memory
from nacre.model.instants import DAY

POINTS = 120
FORMATS = (".svg", ".png")
SIZE, DOTS_PER_INCH = (7.2, 4.0), 150  # inches
LONGEST_LABEL = 60  # characters


@dataclass(frozen=True, slots=True)
class Curve:
    label: str
    points: tuple[tuple[float, float], ...]  # days from now, score


def curve(
    memory: Memory, now: float, *, days: float, model: str, decay_rate: float, support: int = 0, label: str = ""
) -> Curve:
    """The future score of the memory if nobody uses it."""
    scored = model_named(model)
    at = [days * step / (POINTS - 1) for step in range(POINTS)]
    points = tuple((day, scored(DecayInput(memory, now + day * DAY, decay_rate, support))) for day in at)
    return Curve(label or memory.text, points)


def write(curves: Sequence[Curve], file: Path, *, floor: float | None = None) -> None:
    """As .svg or .png, with the extra `plot`."""
    if file.suffix not in FORMATS:
        ending = file.suffix or "a file without an extension"
        raise InvalidInput(f"A plot is written as .svg or .png, not as {ending!r}.")
    if not curves:
        raise InvalidInput("There is nothing to plot; name a memory.")
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("A plot in a file", "plot", "leave out the file to see it as a table") from error
    create_private(file)
    figure = Figure(figsize=SIZE)
    axes = figure.subplots()
    for each in curves:
        axes.plot([day for day, _ in each.points], [score for _, score in each.points], label=legend(each.label))
    if floor is not None:
        axes.axhline(floor, linestyle=":", color="gray")
    axes.set_xlabel("days")
    axes.set_ylim(0, 1)
    axes.legend(fontsize="small")
    with rc_context({"svg.fonttype": "none"}):  # text that can be searched, not its outlines
        figure.savefig(file, dpi=DOTS_PER_INCH)


def legend(label: str) -> str:
    """Without terminal controls; text between two dollar signs would be read as a formula."""
    printed = (sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in label[:LONGEST_LABEL])
    return "".join(printed).replace("$", r"\$")
