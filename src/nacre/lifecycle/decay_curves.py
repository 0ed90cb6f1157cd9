"""Plots how memories fade: in the terminal, or to a file."""

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
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of a braille character, row by row
BLANK = 0x2800


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


def terminal(curves: Sequence[Curve], *, width: int = 72, height: int = 16, floor: float | None = None) -> str:
    """Braille dots: eight to a character. `floor` is drawn as a dotted line."""
    columns, rows = 2 * (width - 7), 4 * height
    days = longest(curves)
    cells = [[BLANK] * (width - 7) for _ in range(height)]
    for each in curves:
        for day, score in finely(each, columns):
            mark(cells, round(day / days * (columns - 1)), score, rows)
    if floor is not None:
        for column in range(0, columns, 4):
            mark(cells, column, floor, rows)
    labels = {0: "1.00", height // 2: "0.50", height - 1: "0.00"}
    lines = [f"{labels.get(row, ''):>4} │{''.join(map(chr, cells[row]))}" for row in range(height)]
    axis = f"     └{'─' * (width - 7)}"
    ends = f"      0 days{f'{days:g}'.rjust(width - 14)}"
    return "\n".join([*lines, axis, ends])


def finely(each: Curve, columns: int) -> list[tuple[float, float]]:
    """A point for every column of dots, so that a steep line has no gaps."""
    points = []
    for (d0, s0), (d1, s1) in zip(each.points, each.points[1:], strict=False):
        steps = max(1, columns // (len(each.points) - 1) + 1)
        points += [(d0 + (d1 - d0) * k / steps, s0 + (s1 - s0) * k / steps) for k in range(steps)]
    return [*points, each.points[-1]]


def mark(cells: list[list[int]], column: int, score: float, rows: int) -> None:
    row = round((1 - min(1.0, max(0.0, score))) * (rows - 1))
    cells[row // 4][column // 2] |= DOTS[row % 4][column % 2]


def longest(curves: Sequence[Curve]) -> float:
    if not curves:
        raise InvalidInput("There is nothing to plot; name a memory, or give no ids to plot all.")
    return max(each.points[-1][0] for each in curves) or 1.0


def write(curves: Sequence[Curve], file: Path, *, floor: float | None = None) -> None:
    """As .svg or .png, with the extra `plot`."""
    if file.suffix not in FORMATS:
        ending = file.suffix or "a file without an extension"
        raise InvalidInput(f"A plot is written as .svg or .png, not as {ending!r}.")
    longest(curves)
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("A plot in a file", "plot", "leave out the file to see it in the terminal") from error
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
