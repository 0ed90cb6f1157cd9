"""The values a text gives: amounts with their units, dates, hours, versions; equal however they are written."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nacre.text.calendar_words import MONTHS, WEEKDAYS

ROUNDING = 1e-6  # a share; ninety minutes are 1.5 hours though neither is exact in binary
# People take a month for thirty days, and a gigabyte for a thousand megabytes or for 1,024.
LOOSE = {"duration": 0.02, "bytes": 0.05}
LOOSE_FROM = 28 * 86400.0  # seconds; shorter spans are meant exactly
HALF_DAY = 720  # minutes; without am or pm seven may be nineteen
MONTH_NAMES = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
YEAR = r"(?:19|20)\d\d"
DAY_NUMBER = r"(?:[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
ISO = re.compile(rf"({YEAR})-(\d\d)(?:-(\d\d))?")
CLOCK = re.compile(r"(\d{1,2})(?::(\d\d))?(?::\d\d)?\s*([ap])?", re.IGNORECASE)
LETTERS = re.compile(r"[a-z]{3,}", re.IGNORECASE)
DIGITS = re.compile(r"\d+")

Date = tuple[int | None, int | None, int | None, int | None]  # year, month, day, weekday; None where it is not said


@dataclass(frozen=True, slots=True)
class Value:
    kind: str  # number, version, score, date, clock
    text: str
    place: int  # among the pieces of its text
    amount: float = 0.0
    dimension: str = ""
    date: Date = (None, None, None, None)
    parts: tuple[str, ...] = ()  # of a version or a score

    @property
    def key(self) -> str:
        """The same for what is equal to the letter, so that values can stand among words."""
        return f"={self.amount:g}{self.dimension}{self.date if self.kind == 'date' else ''}{'.'.join(self.parts)}"

    def comparable(self, other: Value) -> bool:
        if self.kind != other.kind:
            return False
        if self.kind == "date":
            return any(
                mine is not None and theirs is not None for mine, theirs in zip(self.date, other.date, strict=True)
            )
        return self.dimension == other.dimension

    def same(self, other: Value) -> bool:
        """Of comparable values: whether both can be meant by one."""
        if self.kind == "date":
            return agree(self.date, other.date)
        if self.kind == "score":
            return self.parts == other.parts
        if self.kind == "version":
            return all(mine == theirs for mine, theirs in zip(self.parts, other.parts, strict=False))
        if self.kind == "clock":
            return self.amount % HALF_DAY == other.amount % HALF_DAY
        larger = max(abs(self.amount), abs(other.amount))
        loose = self.dimension in LOOSE and (self.dimension != "duration" or larger >= LOOSE_FROM)
        return abs(self.amount - other.amount) <= (LOOSE[self.dimension] if loose else ROUNDING) * larger


def agree(one: Date, other: Date) -> bool:
    return all(mine is None or theirs is None or mine == theirs for mine, theirs in zip(one, other, strict=True))


def read_date(text: str) -> Date:
    """Of a text that is known to be a date: «5 March», «March 5, 2024», «2024-03-05», «Friday»."""
    iso = ISO.fullmatch(text)
    if iso:
        return int(iso[1]), int(iso[2]), int(iso[3]) if iso[3] else None, None
    names = [name[:3].lower() for name in LETTERS.findall(text)]
    month = next((MONTHS.index(name) + 1 for name in names if name in MONTHS), None)
    weekday = next((WEEKDAYS.index(name) for name in names if name in WEEKDAYS), None)
    numbers = [int(digits) for digits in DIGITS.findall(text)]
    year = next((number for number in numbers if number > 31), None)
    return year, month, next((number for number in numbers if number <= 31), None), weekday


def read_clock(text: str) -> float:
    """Minutes after midnight. Without am or pm the hour is taken as it stands."""
    found = CLOCK.match(text)
    if not found:
        return -1.0
    hour = int(found[1])
    if found[3]:
        hour = hour % 12 + (12 if found[3].lower() == "p" else 0)
    return 60.0 * hour + int(found[2] or 0)
