"""Confidence in words: five levels, each a fifth of the scale from 0 to 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nacre.errors import UnknownName


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


def level_named(name: str) -> Level:
    level = LEVELS.get(name.strip().lower().replace("_", "-").replace(" ", "-"))
    if level is None:
        raise UnknownName("confidence", name, NAMES)
    return level


def level_of(confidence: float) -> Level:
    return LEVELS[NAMES[min(int(confidence * len(NAMES)), len(NAMES) - 1)]]
