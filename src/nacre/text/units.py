"""What units measure, so that ninety minutes and one and a half hours are the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

# dimension: unit words with their size
UNITS: dict[str, dict[float, str]] = {
    "duration": {
        1e-6: "us µs microsecond microseconds",
        1e-3: "ms msec millisecond milliseconds",
        1: "s sec secs second seconds",
        60: "min mins minute minutes",
        3600: "h hr hrs hour hours",
        86400: "day days",
        604800: "week weeks wk wks",
        2629800: "month months",
        31557600: "year years yr yrs",
        315576000: "decade decades",
    },
    "bytes": {
        1: "byte bytes b",
        2**10: "kb kib kilobyte kilobytes",
        2**20: "mb mib megabyte megabytes",
        2**30: "gb gib gigabyte gigabytes gigs gig",
        2**40: "tb tib terabyte terabytes",
    },
    "length": {
        1e-3: "mm millimeter millimeters millimetre millimetres",
        1e-2: "cm centimeter centimeters centimetre centimetres",
        1: "m meter meters metre metres",
        1e3: "km kilometer kilometers kilometre kilometres kms",
        0.0254: "inch inches",
        0.3048: "ft foot feet",
        1609.344: "mile miles mi",
    },
    "mass": {
        1e-3: "g gram grams",
        1: "kg kilo kilos kilogram kilograms kgs",
        0.45359237: "lb lbs pound-mass",
        1e3: "ton tons tonne tonnes",
    },
    "volume": {1e-3: "ml milliliter milliliters millilitre", 1: "l liter liters litre litres", 3.785: "gallon gallons"},
    "percent": {1: "% percent pct"},
    "usd": {1: "$ usd dollar dollars bucks", 0.01: "cent cents"},
    "eur": {1: "€ eur euro euros"},
    "gbp": {1: "£ gbp pound pounds quid"},
    "jpy": {1: "¥ jpy yen"},
    "temperature": {1: "° degree degrees °c celsius", 5 / 9: "°f fahrenheit"},
    "speed": {1: "mph kmh kph km/h"},
    "frequency": {1: "hz", 1e3: "khz", 1e6: "mhz", 1e9: "ghz", 1e-9: "rps"},
}


FREEZING = 32  # degrees Fahrenheit


@dataclass(frozen=True, slots=True)
class Unit:
    dimension: str
    size: float

    def amount(self, number: float) -> float:
        """In the dimension's own unit; degrees of temperature do not begin at the same nought."""
        return self.size * (number - FREEZING if self.dimension == "temperature" and self.size != 1 else number)


@cache
def table() -> dict[str, Unit]:
    return {
        word: Unit(dimension, size)
        for dimension, sizes in UNITS.items()
        for size, names in sizes.items()
        for word in names.split()
    }


def unit(word: str) -> Unit | None:
    return table().get(word)
