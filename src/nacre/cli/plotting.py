"""Curves for a terminal: each in its own colour, with a line below that says what it shows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

import click

from nacre.cli.printable import shortened
from nacre.lifecycle.decay_curves import BLANK, Curve, terminal

COLORS = ("cyan", "magenta", "yellow", "green", "blue", "red")
WIDEST, NARROWEST = 120, 30
HIGHEST, LOWEST = 16, 6
APART = 6  # lines around the plot and its legend: the axis, the prompt, what was typed
BRAILLE = range(BLANK + 1, BLANK + 256)
PLAIN = str.maketrans({"│": "|", "└": "+", "─": "-", chr(BLANK): " ", **{chr(sign): "*" for sign in BRAILLE}})


def drawn(curves: Sequence[Curve], floor: float, *, columns: int, rows: int) -> Iterator[str]:
    """As large as the terminal allows."""
    width = max(NARROWEST, min(WIDEST, columns))
    height = max(LOWEST, min(HIGHEST, rows - len(curves) - APART))
    whole = terminal(curves, width=width, height=height, floor=floor).split("\n")
    alone = [terminal([each], width=width, height=height).split("\n") for each in curves]
    for row, line in enumerate(whole):
        owners = [owner(sign, [each[row][column] for each in alone]) for column, sign in enumerate(line)]
        runs = groupby(zip(line, owners, strict=True), key=lambda pair: pair[1])
        yield "".join(styled("".join(sign for sign, _ in run), mine) for mine, run in runs)


def owner(sign: str, alone: Sequence[str]) -> int | None:
    """Which curve passes here; -1 for the floor, which is drawn with the same dots."""
    if ord(sign) not in BRAILLE:
        return None
    return next((number for number, each in enumerate(alone) if ord(each) in BRAILLE), -1)


def styled(text: str, owner: int | None) -> str:
    if owner is None:
        return text
    return click.style(text, dim=True) if owner < 0 else click.style(text, fg=COLORS[owner % len(COLORS)])


def legend(curves: Sequence[Curve], fates: Sequence[str], floor: float, *, columns: int) -> Iterator[str]:
    """`fates` say of each curve why falling below the floor does not matter; empty where it does."""
    for number, (each, fate) in enumerate(zip(curves, fates, strict=True)):
        told = figures(each, fate, floor)
        label = shortened(each.label, max(16, columns - len(told) - 6))
        yield f"{styled('──', number)} {label}  {click.style(told, dim=True)}"
    yield f"{click.style('··', dim=True)} {floor:g}: `nacre prune` lets go of what falls below"


def figures(each: Curve, fate: str, floor: float) -> str:
    told = f"{each.points[0][1]:.2f} → {each.points[-1][1]:.2f}"
    return f"{told}, {fate or falls(each, floor)}".rstrip(", ")


def falls(each: Curve, floor: float) -> str:
    if each.points[0][1] < floor:
        return "below already"
    for (before, high), (after, low) in pairwise(each.points):
        if low < floor:
            return f"below on day {math.ceil(before + (after - before) * (high - floor) / (high - low))}"
    return ""


def plainly(line: str) -> str:
    """For a terminal that has neither fine strokes nor dots."""
    return line.translate(PLAIN).replace("··", "..").replace("…", "...").replace("→", "->")
