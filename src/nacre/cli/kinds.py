"""Kinds of values that options take, each with a sentence for what it is not."""

from __future__ import annotations

import math
import re
from typing import Any

import click

from nacre.errors import InvalidInput
from nacre.lifecycle.intervals import parse_duration
from nacre.model.instants import DAY
from nacre.model.levels import LEVELS

UNIT = re.compile(r"[a-z]", re.IGNORECASE)
END = rf"(\d*\.?\d+|{'|'.join(LEVELS)})?"
RANGE = re.compile(rf"{END}\s*-\s*{END}\Z", re.ASCII)


class Number(click.FloatRange):
    """Neither infinite nor `nan`, which lie in every range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is no number that can be counted with.", param, ctx)
        return number


def days(_ctx: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    """A length of time, as days. It needs a unit: a bare 30, meant as days, must not be taken for seconds."""
    if value is None:
        return None
    if not UNIT.search(value):
        raise click.BadParameter(f"{value!r} is no length of time; write 12h, 30d or 8w.")
    try:
        return parse_duration(value) / DAY
    except InvalidInput as error:
        raise click.BadParameter(str(error)) from error


def some_days(ctx: click.Context, option: click.Parameter, value: str) -> float:
    found = days(ctx, option, value)
    if not found:
        raise click.BadParameter(f"{value!r} is no time at all; write 12h, 30d or 8w.")
    return found


def shares(_ctx: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[float, ...]:
    """Numbers from 0 to 1, given one by one or with commas between them."""
    parts = [part for value in values for part in value.split(",")]
    found = tuple(number(part) for part in parts)
    if not all(0 <= each <= 1 for each in found):
        raise click.BadParameter(f"{','.join(parts)!r} cannot be plotted; write numbers from 0 to 1: 0.9,0.5,0.1.")
    return found


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def confidence_range(_ctx: click.Context, _option: click.Parameter, value: str) -> tuple[float, float]:
    """A level, or two numbers or levels; both ends belong to it."""
    given = value.strip().lower()
    found = (LEVELS[given].least, LEVELS[given].most) if given in LEVELS else between(given)
    if found is None or not 0 <= found[0] <= found[1] <= 1:
        raise click.BadParameter(
            f"{value!r} is no range; write very-low, low, medium, high, very-high, high-, 0.2-0.6, 0.8- or -0.3."
        )
    return found


def between(given: str) -> tuple[float, float] | None:
    found = RANGE.match(given)
    if not found or given == "-":
        return None
    least, most = found[1] or "0", found[2] or "1"
    return (
        LEVELS[least].least if least in LEVELS else float(least),
        LEVELS[most].most if most in LEVELS else float(most),
    )
