"""Bar charts, sparklines and decay plots made of characters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import click

from nacre.cli.ui.output import shortened, writes_unicode

if TYPE_CHECKING:
    from nacre.lifecycle.decay_curves import Curve

WIDEST_BAR = 30
LONGEST_LABEL = 20
EIGHTHS = " ▏▎▍▌▋▊▉█"
STEPS, PLAIN_STEPS = "▁▂▃▄▅▆▇█", "_.:-=+*#"  # without Unicode


def bars(counts: Mapping[str, int]) -> Iterator[str]:
    """One line for each name: the name, its bar, its number."""
    most = max(counts.values(), default=0)
    names = {name: shortened(name, LONGEST_LABEL) for name in counts}
    wide = max(map(len, names.values()), default=0)
    for name, count in counts.items():
        yield f"  {click.style(names[name].ljust(wide), fg='cyan')}  {bar(count, most)} {count:,}"


def bar(count: int, most: int) -> str:
    eighths = round(8 * WIDEST_BAR * count / most) if most else 0
    if not writes_unicode():
        return "#" * max(1, round(eighths / 8)) if count else ""
    full, rest = divmod(max(1, eighths) if count else 0, 8)
    return EIGHTHS[8] * full + (EIGHTHS[rest] if rest else "")


def sparkline(counts: Sequence[int]) -> str:
    """One character a count; only zero has the lowest step."""
    steps, most = STEPS if writes_unicode() else PLAIN_STEPS, max(counts, default=0)
    last = len(steps) - 1
    return "".join(steps[max(1, round(last * count / most)) if count else 0] for count in counts)


COLORS = ("cyan", "magenta", "yellow", "green", "blue", "red")
WIDEST, NARROWEST = 120, 30
HIGHEST, LOWEST = 16, 6
OTHER_LINES = 6  # around the plot and its legend: the axis, the prompt, what was typed
BLANK_BRAILLE = 0x2800
BRAILLE = range(BLANK_BRAILLE + 1, BLANK_BRAILLE + 256)
PLAIN_PLOT = str.maketrans({
    "│": "|", "└": "+", "─": "-", chr(BLANK_BRAILLE): " ", **{chr(sign): "*" for sign in BRAILLE}
})  # fmt: skip


def plot_lines(curves: Sequence[Curve], floor: float, *, columns: int, rows: int) -> Iterator[str]:
    """Decay curves, each in its own colour, as large as the terminal allows."""
    from nacre.lifecycle.decay_curves import terminal

    width = max(NARROWEST, min(WIDEST, columns))
    height = max(LOWEST, min(HIGHEST, rows - len(curves) - OTHER_LINES))
    combined = terminal(curves, width=width, height=height, floor=floor).split("\n")
    separate = [terminal([each], width=width, height=height).split("\n") for each in curves]
    for row, line in enumerate(combined):
        owners = [owner(sign, [each[row][column] for each in separate]) for column, sign in enumerate(line)]
        runs = groupby(zip(line, owners, strict=True), key=lambda pair: pair[1])
        yield "".join(styled("".join(sign for sign, _ in run), number) for number, run in runs)


def owner(sign: str, separate: Sequence[str]) -> int | None:
    """The number of the curve at this place; -1 for the floor, which is drawn with the same dots."""
    if ord(sign) not in BRAILLE:
        return None
    return next((number for number, each in enumerate(separate) if ord(each) in BRAILLE), -1)


def styled(text: str, owner: int | None) -> str:
    if owner is None:
        return text
    return click.style(text, dim=True) if owner < 0 else click.style(text, fg=COLORS[owner % len(COLORS)])


def plot_legend(curves: Sequence[Curve], fates: Sequence[str], floor: float, *, columns: int) -> Iterator[str]:
    """`fates` say why a curve may fall below the floor; empty where it may not."""
    for number, (each, fate) in enumerate(zip(curves, fates, strict=True)):
        scores = f"{each.points[0][1]:.2f} → {each.points[-1][1]:.2f}"
        numbers = f"{scores}, {fate or falls(each, floor)}".rstrip(", ")
        label = shortened(each.label, max(16, columns - len(numbers) - 6))
        yield f"{styled('──', number)} {label}  {click.style(numbers, dim=True)}"
    yield f"{click.style('··', dim=True)} {floor:g}: `nacre prune` removes what falls below"


def falls(each: Curve, floor: float) -> str:
    if each.points[0][1] < floor:
        return "below already"
    for (before, high), (after, low) in pairwise(each.points):
        if low < floor:
            return f"below on day {math.ceil(before + (after - before) * (high - floor) / (high - low))}"
    return ""


def plain_plot(line: str) -> str:
    """For a terminal without Unicode."""
    return line.translate(PLAIN_PLOT).replace("··", "..").replace("…", "...").replace("→", "->")
