"""Confidence in words: five levels, each a fifth of the scale from 0 to 1."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from nacre.errors import InvalidInput, UnknownName


@dataclass(frozen=True, slots=True)
class Level:
    """`value` is what is kept for it, `least` the lowest confidence that is still called so."""

    name: str
    ordinal: int

    @property
    def least(self) -> float:
        return (self.ordinal - 1) / len(NAMES)

    @property
    def most(self) -> float:
        """The next one begins where it ends."""
        return 1.0 if self.ordinal == len(NAMES) else math.nextafter(self.ordinal / len(NAMES), 0)

    @property
    def value(self) -> float:
        return round((self.ordinal - 0.5) / len(NAMES), 2)


NAMES = ("very-low", "low", "medium", "high", "very-high")
LEVELS = {name: Level(name, ordinal) for ordinal, name in enumerate(NAMES, 1)}
RANGE_END = rf"(\d*\.?\d+|{'|'.join(LEVELS)})?"
RANGE = re.compile(rf"(?=.*\w){RANGE_END}\s*-\s*{RANGE_END}", re.ASCII)


def level_named(name: str) -> Level:
    return UnknownName.get("confidence", name.strip().lower().replace("_", "-").replace(" ", "-"), LEVELS)


def level_of(confidence: float) -> Level:
    return LEVELS[NAMES[min(int(confidence * len(NAMES)), len(NAMES) - 1)]]


def confidence_range(text: str) -> tuple[float, float]:
    """The least and the greatest confidence of a level, or of a range such as high-, -0.3, low-high or 0.2-0.6; both
    ends belong to it. Raises `InvalidInput`."""
    value = text.strip().lower()
    if value in LEVELS:
        return LEVELS[value].least, LEVELS[value].most
    if match := RANGE.fullmatch(value):
        low, high = match[1] or "0", match[2] or "1"
        least = LEVELS[low].least if low in LEVELS else float(low)
        most = LEVELS[high].most if high in LEVELS else float(high)
        if least <= most <= 1:
            return least, most
    examples = "very-low, low, medium, high, very-high, high-, 0.2-0.6, 0.8- or -0.3"
    raise InvalidInput(f"{text!r} is not a range of confidence; write {examples}.")
