"""Plots how memories fade: in the terminal, as SVG, or as PNG."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from nacre.errors import InvalidInput, MissingExtra
from nacre.files import atomic_write, create_private
from nacre.lifecycle.decay import DecayInput, model_named
from nacre.model import Memory
from nacre.model.instants import DAY

POINTS = 120
COLORS = ("#0b7285", "#c2255c", "#5f3dc4", "#e67700", "#2b8a3e", "#495057")
WIDTH, HEIGHT, MARGIN = 720, 400, 48
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of a braille character, row by row
BLANK = 0x2800
NOT_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


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


def svg(curves: Sequence[Curve], *, floor: float | None = None, title: str = "How memories fade") -> str:
    days = longest(curves)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT + 22 * len(curves)}"'
        ' font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{MARGIN}" y="24" font-size="15">{printed(title)}</text>',
        *grid(days),
    ]
    if floor is not None:
        at = place(0, floor, days)[1]
        parts.append(f'<path d="M{MARGIN} {at:.1f}H{WIDTH - 12}" stroke="#868e96" stroke-dasharray="4 4"/>')
    for number, each in enumerate(curves):
        color = COLORS[number % len(COLORS)]
        line = " ".join("{:.1f},{:.1f}".format(*place(day, score, days)) for day, score in each.points)
        parts.append(f'<polyline fill="none" stroke="{color}" stroke-width="2" points="{line}"/>')
        y = HEIGHT + 22 * number
        parts.append(f'<rect x="{MARGIN}" y="{y - 9}" width="18" height="4" fill="{color}"/>')
        parts.append(f'<text x="{MARGIN + 26}" y="{y}">{printed(each.label[:90])}</text>')
    return "\n".join([*parts, "</svg>\n"])


def printed(text: str) -> str:
    """Replaces characters that XML does not allow, such as terminal controls."""
    return escape(NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def grid(days: float) -> list[str]:
    bottom = HEIGHT - MARGIN
    marks = [f'<path d="M{MARGIN} {MARGIN}V{bottom}H{WIDTH - 12}" fill="none" stroke="#212529"/>']
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = place(share * days, share, days)
        marks.append(f'<text x="{MARGIN - 8}" y="{y + 4:.1f}" text-anchor="end">{share:g}</text>')
        marks.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{share * days:g} d</text>')
    return marks


def place(day: float, score: float, days: float) -> tuple[float, float]:
    x = MARGIN + day / days * (WIDTH - MARGIN - 12)
    return x, MARGIN + (1 - min(1.0, max(0.0, score))) * (HEIGHT - 2 * MARGIN)


def write(curves: Sequence[Curve], file: Path, *, floor: float | None = None) -> None:
    """By the file extension: .svg, or .png with the extra `plot`."""
    if file.suffix == ".svg":
        atomic_write(file, svg(curves, floor=floor))
    elif file.suffix == ".png":
        png(curves, file, floor)
    else:
        ending = file.suffix or "a file without an extension"
        raise InvalidInput(f"A plot is written as .svg or .png, not as {ending!r}.")


def png(curves: Sequence[Curve], file: Path, floor: float | None) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("A plot as PNG", "plot", "write an .svg file") from error
    create_private(file)
    figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100))
    axes = figure.subplots()
    for each in curves:
        label = each.label[:60].replace("$", r"\$")  # text between two dollar signs would be read as a formula
        axes.plot([day for day, _ in each.points], [score for _, score in each.points], label=label)
    if floor is not None:
        axes.axhline(floor, linestyle=":", color="gray")
    axes.set_xlabel("days")
    axes.set_ylim(0, 1)
    axes.legend(fontsize="small")
    figure.savefig(file, dpi=150)
