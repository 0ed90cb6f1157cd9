"""Reads the words of the calendar as spans of UTC time: months, seasons, feasts, counts, units."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypeAlias

DAY = timedelta(days=1)
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
WEEKDAYS = "mon tue wed thu fri sat sun".split()
SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}  # northern; the month each begins with
ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third twenty-fourth"
    " twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first".split()
)
ENDINGS = "th st nd rd th th th th th th".split()  # of ordinals in digits, by their last one
NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
# What people mean by a count: from, to. Vague ones are wide.
COUNTS: dict[str, tuple[float, float]] = {word: (count, count) for count, word in enumerate(NUMBERS, 1)} | {
    "a": (1, 1), "an": (1, 1), "half a": (0.5, 0.5), "couple": (2, 3), "few": (2, 5), "several": (3, 8),
    "dozen": (12, 12), "fifteen": (15, 15), "twenty": (20, 20),
}  # fmt: skip
UNITS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": DAY,
    "night": DAY,
    "week": 7 * DAY,
    "fortnight": 14 * DAY,
    "month": timedelta(days=30.4375),  # a twelfth of a year; people who say months do not mean exact days
    "year": timedelta(days=365.25),
}
# The hours of a day by name; a night runs into the next morning. Wide, since the zone of who asks is not known.
HOURS = {"morning": (4, 12), "afternoon": (12, 18), "evening": (16, 24), "night": (18, 30)}
EASTER = (0, 0)
# (month, day), or (month, weekday, which one of the month), as in the United States.
FEASTS: dict[str, tuple[int, ...]] = {
    "christmas eve": (12, 24), "christmas day": (12, 25), "christmas": (12, 25), "halloween": (10, 31),
    "new years eve": (12, 31), "new years day": (1, 1), "new years": (1, 1), "valentines day": (2, 14),
    "st patricks day": (3, 17), "independence day": (7, 4), "thanksgiving": (11, 3, 4), "labor day": (9, 0, 1),
    "mothers day": (5, 6, 2), "fathers day": (6, 6, 3), "easter": EASTER,
}  # fmt: skip
MONTHS_AROUND = 14  # in so many months each day up to the 28th falls on every weekday at least once
YEARS_AROUND = 8  # 29 February can be eight years away (1896 to 1904)
JOINED_COUNTS = re.compile(r"\s*[-–]\s*|\s+(?:or|to)\s+")
AND_A_HALF = re.compile(r"\s+and\s+a\s+half\b")


class Span(NamedTuple):
    start: datetime
    end: datetime  # the first moment after it

    def part(self, first: float, last: float) -> Span:
        width = self.end - self.start
        return Span(self.start + first * width, self.start + last * width)


class Stretch(NamedTuple):
    """A length of time as people give it: «a few weeks»."""

    low: timedelta
    high: timedelta
    unit: str


def midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def days(start: datetime, count: int = 1) -> Span:
    return Span(start, start + count * DAY)


def months(year: int, month: int, count: int = 1) -> Span:
    after = month - 1 + count
    start, end = datetime(year, month, 1, tzinfo=UTC), datetime(year + after // 12, after % 12 + 1, 1, tzinfo=UTC)
    return Span(start, end)


def hours(day: datetime, name: str) -> Span:
    first, last = HOURS.get(name, (0, 24))
    return Span(day + timedelta(hours=first), day + timedelta(hours=last))


def calendar(unit: str, steps: int, asked: datetime) -> Span:
    """The week, weekend, month, quarter or year that lies `steps` away from the one in which it is asked."""
    today = midnight(asked)
    monday = today + (7 * steps - today.weekday()) * DAY
    if unit in ("week", "weekend"):
        return days(monday, 7) if unit == "week" else days(monday + 5 * DAY, 2)
    width = {"month": 1, "quarter": 3, "year": 12}[unit]
    years, month = divmod(((today.month - 1) // width + steps) * width, 12)
    return months(today.year + years, month + 1, width)


def feast(name: str, year: int) -> Span:
    rule = FEASTS[name]
    month, day = easter(year) if rule == EASTER else rule[:2]
    if len(rule) == 3:
        first = datetime(year, month, 1, tzinfo=UTC).weekday()
        day = 1 + (rule[1] - first) % 7 + 7 * (rule[2] - 1)
    return days(datetime(year, month, day, tzinfo=UTC))


def easter(year: int) -> tuple[int, int]:
    """Month and day, after the anonymous Gregorian rule (Nature, 20 April 1876)."""
    century, within = divmod(year, 100)
    moon = year % 19
    correction = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * moon + century - century // 4 - correction + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (within // 4) - epact - within % 4) % 7
    late = (moon + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * late + 114, 31)
    return month, day + 1


def recurring(make: Callable[[int], Span], which: str, asked: datetime) -> Span | None:
    """Of what comes every year the `last`, `this` (the nearest), the `next`, or else the latest that has begun."""
    known = [span for year in range(asked.year - YEARS_AROUND, asked.year + YEARS_AROUND) if (span := made(make, year))]
    return chosen(known, which, asked)


def chosen(known: Sequence[Span], which: str, asked: datetime) -> Span | None:
    """One of these spans, which are in the order of time, chosen as in `recurring`."""
    if which == "next":
        return next((span for span in known if span.start > asked), None)
    if which == "this":
        return min(known, key=lambda span: abs(span.part(0.5, 1).start - asked), default=None)
    over = [span for span in known if (span.end if which == "last" else span.start) <= asked]
    return over[-1] if over else None


def made(make: Callable[[int], Span], year: int) -> Span | None:
    try:
        return make(year)
    except (ValueError, OverflowError):  # 29 February of a common year, or a year that no calendar shows
        return None


def stretch(text: str) -> Stretch:
    """Reads «two weeks», «2-3 days», «a year and a half»."""
    half = 0.5 if AND_A_HALF.search(text) else 0.0
    words, unit = AND_A_HALF.sub("", text).rsplit(None, 1)
    unit = unit.removesuffix("s")
    counts = []
    for word in JOINED_COUNTS.split(words):
        known = COUNTS.get(word.removeprefix("a ").removesuffix(" of"))
        counts.append(known or (float(word), float(word)))
    low, high = min(low for low, _ in counts) + half, max(high for _, high in counts) + half
    return Stretch(low * UNITS[unit], high * UNITS[unit], unit)


# How far from the named time an «ago» may have been: about half of its unit, since people round to it.
AGO_MARGIN = {
    "minute": timedelta(minutes=5),  # a conversation takes some minutes itself
    "hour": timedelta(minutes=30),
    "day": DAY / 2,
    "night": DAY / 2,
    "week": 3 * DAY,
    "fortnight": 4 * DAY,
    "month": 14 * DAY,
    "year": 61 * DAY,  # people remember the season, so less than half
}
FEAST_MARGIN = DAY  # people celebrate on the evening before and talk about it on the day after
FAR_MARGIN = 0.05  # of the distance: the farther back, the rounder the number («ten years ago», «100 days ago»)
WITHIN_A_DAY = frozenset(("minute", "hour"))

DAY_NAMES = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
STEPS = {"last": -1, "previous": -1, "past": -1, "this past": -1, "this": 0, "current": 0, "next": 1}

FIRST_THIRD, MIDDLE_THIRD, LAST_THIRD, FULL = (0.0, 1 / 3), (1 / 3, 2 / 3), (2 / 3, 1.0), (0.0, 1.0)
BEGINNING, ENDING = (0.0, 0.25), (0.75, 1.0)  # «the end of March» is narrower than «late March»
PARTS = {
    "early": FIRST_THIRD, "mid": MIDDLE_THIRD, "middle": MIDDLE_THIRD, "late": LAST_THIRD, "beginning": BEGINNING,
    "start": BEGINNING, "end": ENDING, "first half": (0.0, 0.5), "second half": (0.5, 1.0), "month": FULL,
    "earlier": FULL, "later": FULL,
}  # fmt: skip
WEEKS = {"first week": 0, "second week": 7, "third week": 14, "fourth week": 21}

# Words that make a time of a name that has other meanings: «in May», «since spring», but not «may I», «with April».
SURE_LEADS = frozenset(("in", "back in", "during", "since", "throughout"))
TIME_LEADS = SURE_LEADS | {"before", "prior to", "after", "until", "till", "up to", "around", "over", "on", "by", "at"}
DATE_LEADS = frozenset("on by since until till before after from between".split())
WEEKEND_LEADS = frozenset(("over", "at", "on", "in", "during", "since"))
LENGTH_LEADS = frozenset(("in", "over", "during", "for", "within", "throughout"))
UNMISTAKABLE = frozenset("january february july september october november december".split())
VERBS = frozenset(("may", "march"))

Said: TypeAlias = defaultdict[str, str]  # the parts of a phrase by name, lowercase; "" for what was not said


class Reading(NamedTuple):
    span: Span
    sure: bool = True  # else a time only beside another: «from April to June»
    yearless: bool = False  # the year was inferred, and a neighbour may know better


Reader: TypeAlias = Callable[[Said, datetime], Reading | None]


def read(reader: Reader, said: Said, asked: datetime) -> Reading | None:
    try:
        reading = reader(said, asked)
        return reading and reading._replace(span=placed(reading.span, said))
    except (ValueError, OverflowError):  # 31 June, or a time that no calendar shows
        return None


def placed(span: Span, said: Said) -> Span:
    span = narrowed(span, said["part"])
    return beside(said["distance"], 1 if said["lead"] == "after" else -1, span) if said["distance"] else span


def narrowed(span: Span, part: str) -> Span:
    if part in ("week", "weekend"):
        return calendar(part, 0, span.part(0.5, 1.0).start)
    if part == "last week":
        return Span(max(span.start, span.end - 7 * DAY), span.end)
    if part in WEEKS:
        return days(span.start + WEEKS[part] * DAY, 7)
    return span.part(*PARTS[part]) if part else span


def yearly(make: Callable[[int], Span], said: Said, asked: datetime, sure: bool) -> Reading | None:
    if said["year"]:
        year = said["year"]
        return Reading(make(int(year) if year.isdigit() else asked.year + STEPS[year.split()[0]]))
    which = "last" if STEPS.get(said["which"]) == -1 else said["which"]
    span = recurring(make, which, asked)
    return None if span is None else Reading(span, sure or bool(which or said["part"]), yearless=not which)


def read_numeric(said: Said, asked: datetime) -> Reading | None:
    month, day = int(said["month"]), int(said["day"] or 0)
    if not said["year"]:
        return yearly(lambda year: last_days(year, month, day, said["first"]), said, asked, sure=True)
    year = int(said["year"])
    if not day:
        return Reading(months(year, month), said["lead"] in TIME_LEADS)
    if month > 12 and said["sign"] != "-":  # 25/12/2023; where both readings are possible the American one is taken
        month, day = day, month
    return Reading(last_days(year, month, day, said["first"]))


def last_days(year: int, month: int, day: int, first: str) -> Span:
    """That day, or those since the `first`: of its month, or of the one before where that number is the larger."""
    last = datetime(year, month, day, tzinfo=UTC)
    if not first:
        return days(last)
    start = last if int(first) <= day else last.replace(day=1) - DAY
    return Span(start.replace(day=int(first)), last + DAY)


def read_date(said: Said, asked: datetime) -> Reading | None:
    month, first = MONTHS.index(said["month"][:3]) + 1, date_number(said["day"])
    count = (date_number(said["until"]) if said["until"] else first) - first + 1
    ordinal = said["of"] or (said["day"][0].isdigit() and not said["day"].isdigit())
    marked = said["capital"] or ordinal or said["lead"] in TIME_LEADS | {"from", "between"}
    sure = said["month"] not in VERBS or bool(marked)  # «march 5 miles», «the second may be»
    return yearly(lambda year: days(datetime(year, month, first, tzinfo=UTC), count), said, asked, sure)


def date_number(text: str) -> int:
    return ORDINALS.index(text) + 1 if text in ORDINALS else int(text.rstrip("stndrh"))


def read_day_of_month(said: Said, asked: datetime) -> Reading | None:
    """«On the 5th», «Monday the 9th», «the 15th of last month»; not the 5th floor. A note that is «due by the 5th» may
    mean every month, so that the nearest one is not surely meant."""
    number, which = date_number(said["day"]), said["of_which"]
    if which:
        return Reading(days(calendar("month", STEPS[which], asked).start.replace(day=number)))
    wanted = WEEKDAYS.index(said["day_name"][:3]) if said["day_name"] else None
    first_days = (calendar("month", steps, asked).start for steps in range(-MONTHS_AROUND, MONTHS_AROUND + 1))
    known = [days(first + (number - 1) * DAY) for first in first_days]
    fitting = [span for span in known if span.start.day == number and wanted in (None, span.start.weekday())]
    span = chosen(fitting, said["which"], asked)
    if span is None:
        return None
    sure = bool(said["day_name"] or said["german"] or (said["the"] and said["lead"] in DATE_LEADS))
    nearest = said["which"] == "this"
    return Reading(span, sure and (bool(said["day_name"]) or not nearest), yearless=not said["which"])


def read_month(said: Said, asked: datetime) -> Reading | None:
    name, lead, proper = said["month"], said["lead"], bool(said["capital"])
    month = MONTHS.index(name[:3]) + 1
    if said["which"] == "this" and not proper:
        return None  # «this may help»
    sure = lead in SURE_LEADS or (proper and (lead in TIME_LEADS - {"on", "by", "at"} or name in UNMISTAKABLE))
    return yearly(lambda year: months(year, month), said, asked, sure)


def read_season(said: Said, asked: datetime) -> Reading | None:
    name, lead = said["season"], said["lead"]
    sure = lead == "in" if name == "fall" else lead in SURE_LEADS | {"over"}  # «during the fall» may be an accident
    return yearly(lambda year: months(year, SEASONS[name], 3), said, asked, sure)


def read_feast(said: Said, asked: datetime) -> Reading | None:
    name = re.sub(r"['’.]", "", said["feast"])
    reading = yearly(lambda year: feast(name, year), said, asked, said["lead"] in TIME_LEADS)
    if reading is None or said["distance"]:  # «the day after Christmas» counts from the feast itself
        return reading
    return reading._replace(span=Span(reading.span.start - FEAST_MARGIN, reading.span.end + FEAST_MARGIN))


def read_quarter(said: Said, asked: datetime) -> Reading | None:
    if said["nth"] and not said["year"]:
        return None  # of a game, of a mile
    number = int(said["quarter"]) if said["quarter"] else ORDINALS.index(said["nth"]) + 1
    return yearly(lambda year: months(year, 3 * number - 2, 3), said, asked, said["lead"] in TIME_LEADS)


def read_year(said: Said, _: datetime) -> Reading | None:
    sure = bool(said["part"]) or said["lead"] in TIME_LEADS - {"over", "on", "at"} | {"of"}
    return Reading(months(int(said["number"]), 1, 12), sure)


def read_day(said: Said, asked: datetime) -> Reading | None:
    named = said["name"]
    if not named and said["the"]:
        return None  # «the last night»: of something
    steps = DAY_NAMES[named] if named else STEPS[said["which"]]
    return Reading(hours(midnight(asked) + steps * DAY, "night" if named == "tonight" else said["hours"]))


def read_weekday(said: Said, asked: datetime) -> Reading | None:
    today, which = midnight(asked), said["which"]
    wanted = WEEKDAYS.index(said["weekday"][:3])
    if said["week"] or which == "this":
        day = calendar("week", STEPS[said["week"] or which], asked).start + wanted * DAY
    elif which == "next":
        day = today + ((wanted - today.weekday() - 1) % 7 + 1) * DAY
    else:
        day = today - ((today.weekday() - wanted - 1) % 7 + 1) * DAY
    return Reading(hours(day, said["hours"]), bool(which or said["week"]) or said["lead"] in TIME_LEADS)


def read_unit(said: Said, asked: datetime) -> Reading | None:
    which, unit = said["which"], said["unit"]
    # «The last week», but «last week»; the article of «the end of last week» belongs to the end.
    rolling = which.endswith("past") or (which == "last" and said["the"] and not said["part"])
    if rolling and unit in UNITS:
        return Reading(lately(stretch(f"a {unit}"), asked))
    return Reading(calendar(unit, STEPS[which], asked))


def read_unit_before_last(said: Said, asked: datetime) -> Reading | None:
    return Reading(calendar(said["unit"], -2, asked))


def read_calendar_week(said: Said, asked: datetime) -> Reading | None:
    """By ISO 8601, where a week begins on Monday and the first one of a year has its 4 January."""
    number = int(said["number"])
    return yearly(
        lambda year: days(datetime.fromisocalendar(year, number, 1).replace(tzinfo=UTC), 7), said, asked, True
    )


def read_the_weekend(said: Said, asked: datetime) -> Reading | None:
    """Not «at weekend rates»."""
    if said["lead"] not in WEEKEND_LEADS or not (said["the"] or said["lead"] == "over"):
        return None
    this_one = said["which"] == "next" or asked.weekday() >= WEEKDAYS.index("sat")
    return Reading(calendar("weekend", 0 if this_one else -1, asked))


def read_the_unit(said: Said, asked: datetime) -> Reading | None:
    begun = said["part"] in ("beginning", "start")  # «the start of the year»; the end of the year may be any year's
    return Reading(calendar(said["unit"], 0, asked)) if begun else None


def read_lately(said: Said, asked: datetime) -> Reading | None:
    if said["which"] == "last" and not (said["the"] or said["lead"] in LENGTH_LEADS):
        return None  # «did it last two weeks»
    return Reading(lately(stretch(said["stretch"]), asked))


def read_soon(said: Said, asked: datetime) -> Reading | None:
    if not (said["the"] or said["lead"] in LENGTH_LEADS):
        return None
    return Reading(Span(asked, moment(stretch(said["stretch"]), asked).end + stretch(said["stretch"]).high))


def lately(length: Stretch, asked: datetime) -> Span:
    here = moment(length, asked)
    return Span(here.start - length.high, here.end)


def read_weekdays_ago(said: Said, asked: datetime) -> Reading | None:
    """«Two Fridays ago»."""
    count = int(said["count"]) if said["count"].isdigit() else 1 + NUMBERS.index(said["count"])
    last = read_weekday(said, asked)
    return last and Reading(days(last.span.start - 7 * (count - 1) * DAY))


def read_hence(said: Said, asked: datetime) -> Reading | None:
    length = stretch(said["stretch"])
    return Reading(away(length, 1, moment(length, asked)))


def read_ago(said: Said, asked: datetime) -> Reading | None:
    length = stretch(said["stretch"])
    return Reading(away(length, -1, moment(length, asked)))


def moment(length: Stretch, asked: datetime) -> Span:
    return Span(asked, asked) if length.unit in WITHIN_A_DAY else days(midnight(asked))


def away(length: Stretch, sign: int, here: Span) -> Span:
    """What lies about that far before (-1) or after (1)."""
    near, far = sorted((sign * length.low, sign * length.high))
    margin = max(AGO_MARGIN[length.unit], FAR_MARGIN * length.high)
    return Span(here.start + near - margin, here.end + far + margin)


def beside(distance: str, sign: int, span: Span) -> Span:
    """«Two weeks» or «the week» before (-1) or after (1) a span."""
    unit = distance.removeprefix("the ")
    if unit in UNITS:
        return Span(span.start - UNITS[unit], span.start) if sign < 0 else Span(span.end, span.end + UNITS[unit])
    return away(stretch(distance), sign, days(span.start) if sign < 0 else days(span.end - DAY))
