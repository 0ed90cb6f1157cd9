"""Understands the times in a question («two weeks ago», «in May 2023») and weighs a memory's time against them."""

from __future__ import annotations

import math
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache

from nacre.model.instants import FIRST, LAST
from nacre.text import date_readings as readings
from nacre.text.date_readings import COUNTS, DAY_NAMES, FEASTS, HOURS, MONTHS, ORDINALS, SEASONS, UNITS

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST = 2000  # signs; a longer text is a document, and the times deep inside it are not what is asked for

# A window's edge is soft: people use the same words for what happened just outside. Beyond its edge the weight falls
# along a bell curve whose width is a share of the window's: a day is blurred by hours, a month by a week.
EDGE_SHARE = 0.25
EARLIEST_EDGE = 12 * 3600.0  # at least: the zone of who asks is not known, and the world lies within 12 hours of UTC
LATEST_EDGE = 2 * 86400.0  # at least, after the end: a message about an event is later than the event
WIDEST_EDGE = 30 * 86400.0  # «in 2022» does not reach far into 2023
OPEN_EDGE = 86400.0  # «before 5 May» has no width of its own; its one edge is a date

JOINING = frozenset(("and", "or", "to", "until", "till", "through", "-", "–"))
REACHING = JOINING - {"and", "or"}
SINCE_CLAUSE = re.compile(r"\bsince\s+\w+\s[^,.;:?!]*$", re.IGNORECASE)  # «since I began to run three weeks ago»


@dataclass(frozen=True, slots=True)
class Window:
    """UTC seconds, `start` < `end`. Where one side is open it lies at the end of the calendar."""

    start: float
    end: float
    words: str  # the expression that was read


def time_windows(question: str, asked_at: float) -> tuple[Window, ...]:
    """The times in an English question, in its order; relative ones count from `asked_at`.

    A word that may be something else than a time («may», «spring») is none.
    """
    question = question[:LONGEST]
    mentioned = mentions(question, EPOCH + timedelta(seconds=asked_at))
    return tuple(window for window in windows(question, mentioned) if window.start < window.end)


def when_weight(at: float, windows: Sequence[Window]) -> float:
    """1 inside a window, falling smoothly to 0 outside all of them."""
    return max((nearness(at, window) for window in windows), default=0.0)


def nearness(at: float, window: Window) -> float:
    if window.start <= at <= window.end:
        return 1.0
    if at < window.start:
        return bell((window.start - at) / edge(window, EARLIEST_EDGE))
    return bell((at - window.end) / edge(window, LATEST_EDGE))


def bell(distance: float) -> float:
    return math.exp(-0.5 * distance * distance)


def edge(window: Window, least: float) -> float:
    if window.start == FIRST or window.end == LAST:
        return OPEN_EDGE
    return min(max(EDGE_SHARE * (window.end - window.start), least), WIDEST_EDGE)


def windows(question: str, mentioned: Sequence[Mention]) -> Iterator[Window]:
    waiting = deque(mentioned)
    while waiting:
        first = waiting.popleft()
        if not waiting or not adjoin(question, first, waiting[0]):
            yield from alone(question, first)
            continue
        first, second = agreed(first, waiting.popleft())
        if first.said["lead"] == "between" or second.said["lead"] in REACHING:
            yield window(question[first.start : second.end], first.reading.span.start, second.reading.span.end)
        else:
            first, second = equally_sure(first, second)
            yield from alone(question, first)
            waiting.appendleft(second)


def adjoin(question: str, first: Mention, second: Mention) -> bool:
    return second.said["lead"] in JOINING and not question[first.end : second.start].strip(" ,")


def agreed(first: Mention, second: Mention) -> tuple[Mention, Mention]:
    """Gives the year of one to the other: «March and May 2023», «from November 2022 to February»."""
    if second.reading.yearless and not first.reading.yearless:
        return first, second.read_again(first.reading.span.start, "next")
    return first.read_again(second.reading.span.start) if first.reading.yearless else first, second


def equally_sure(first: Mention, second: Mention) -> tuple[Mention, Mention]:
    sure = first.reading.sure or second.reading.sure
    return (
        replace(first, reading=replace(first.reading, sure=sure)),
        replace(second, reading=replace(second.reading, sure=sure)),
    )


def alone(question: str, mention: Mention) -> Iterator[Window]:
    if mention.reading.sure:
        start, end = bounds(mention, question[: mention.start])
        yield window(question[mention.start : mention.end], start, end)


def bounds(mention: Mention, before: str) -> tuple[datetime | None, datetime | None]:
    """None where a side is open."""
    span, said = mention.reading.span, mention.said
    if said["distance"]:
        return span.start, span.end  # «two weeks before» is in the span already
    match "since" if SINCE_CLAUSE.search(before) else said["lead"]:
        case "before" | "prior to":
            return None, span.start
        case "until" | "till" | "by" | "up to":
            return None, span.end
        case "after":
            return span.end, None
        case "since":
            return span.start, None
    return span.start, span.end


def window(words: str, start: datetime | None, end: datetime | None) -> Window:
    return Window(
        FIRST if start is None else (start - EPOCH).total_seconds(),
        LAST if end is None else (end - EPOCH).total_seconds(),
        words.strip(" -–"),
    )


def either(words: Iterable[str]) -> str:
    return "|".join(word.replace(" ", r"\s+") for word in sorted(words, key=len, reverse=True))


BARE_YEAR = r"(?:19|20)\d\d(?!\d|[.,/-]\d|s\b|%)"
YEAR = rf"(?P<year>{BARE_YEAR}|(?:last|this|next)\s+year\b)"
OF_YEAR = rf"(?:(?:,\s*|\s+)(?:of\s+|in\s+)?{YEAR})?"
# A number before one of these is not a year.
COUNTED = (
    r"(?!\s+(?:dollars|euros|pounds|bucks|steps|calories|words|people|users|miles|kilometers|km|meters|feet|times)\b)"
)
MONTH = (
    r"(?=(?P<capital>(?-i:[A-Z]))?)(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
ON_WEEKDAY = rf"(?:{WEEKDAY},?\s+(?:the\s+)?)?"
DATE_NUMBER = rf"(?:(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?(?!\d|[:.]\d|,\d{{3}}\b|%)|{either(ORDINALS)})\b"
DATE_NUMBERS = (
    rf"(?P<day>{DATE_NUMBER})(?:\s*(?:-|–|\bto\b|\band\b|\bthrough\b)\s*(?:the\s+)?(?P<until>{DATE_NUMBER}))?"
)
COUNT = rf"(?:\d{{1,3}}(?:\.5)?|(?:a\s+)?(?:{either(COUNTS)})(?:\s+of)?)"
AND_A_HALF = r"(?:\s+and\s+a\s+half)?"
STRETCH = rf"{COUNT}(?:(?:\s*[-–]\s*|\s+(?:or|to)\s+){COUNT})?{AND_A_HALF}\s+(?:{either(UNITS)})s?\b{AND_A_HALF}"
WHICH = r"(?P<which>this\s+past|last|past|previous|current|this|next)\s+"
PART_OF_DAY = rf"(?P<hours>{either(HOURS)})\b"
FEAST = either(re.sub(r"s\b", "['’]?s", name).replace("st ", "st\\.? ") for name in FEASTS)
NO_TITLE = r"(?!(?-i:[A-Z])\w+\s+(?-i:[A-Z][a-z]))"  # «the Spring Market»
NOT_OF = r"(?!\s+(?:of|before)\b)"  # «the last week of the course» is not before today

LEADS = (
    "in on at during over since before after until till by from between and or to through throughout of around about"
    " for within".split()
)
# What may stand before any time: «two weeks before», «since», «the», «early», «the end of», «the week of».
HEAD = (
    r"(?<!\bmy )(?<!\bour )(?<!\bhis )(?<!\bher )(?<!your )(?<!their )(?:\b|(?=[-–]))"
    rf"(?:(?:(?P<distance>{STRETCH}|(?:the\s+)?(?:day|week|month|year))\s+(?=before|after|prior))?"
    rf"(?P<lead>(?:{either([*LEADS, 'prior to', 'up to', 'back in'])})(?=\s)|[-–])\s*)?"
    r"(?:(?P<the>the|these)\s+)?"
    r"(?:(?P<part>early|earlier|mid|late|later|(?:beginning|start|middle|end|first\s+half|second\s+half|month|week"
    r"|weekend|(?:first|second|third|fourth|last)\s+week)(?=\s+of\b))[\s-]+(?:(?:in|of)\s+)?(?:the\s+)?)?"
)


@dataclass(frozen=True, slots=True)
class Rule:
    hints: tuple[str, ...]  # one of them is in every text that the rule can match; most questions have none
    body: str
    reader: readings.Reader


@cache  # a pattern takes milliseconds to build: only when a question hints at it, not at import
def pattern(body: str) -> re.Pattern[str]:
    # ASCII, or the long s and the Kelvin sign would pass for letters that no table holds.
    return re.compile(HEAD + body, re.IGNORECASE | re.ASCII)


CENTURIES = ("19", "20")
# In this order: what an earlier rule has read, a later one does not see.
RULES = (
    Rule(CENTURIES, r"(?<!\w-)(?P<year>(?:19|20)\d\d)(?P<sign>[-/])(?P<month>\d\d?)(?P=sign)(?P<day>\d\d?)(?!\d)",
        readings.read_numeric),
    Rule(CENTURIES, r"(?<![\w/]/)(?P<month>\d\d?)/(?P<day>\d\d?)/(?P<year>(?:19|20)\d\d)(?!\d)", readings.read_numeric),
    Rule(CENTURIES, r"(?<!\w-)(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![\d-])", readings.read_numeric),
    Rule((*MONTHS,), rf"{ON_WEEKDAY}{DATE_NUMBERS}\s+(?P<of>of\s+)?{MONTH}{OF_YEAR}", readings.read_date),
    Rule((*MONTHS,), rf"{ON_WEEKDAY}{MONTH}\s+(?:the\s+)?{DATE_NUMBERS}{OF_YEAR}", readings.read_date),
    Rule(("ago",), rf"(?P<stretch>{STRETCH})\s+ago\b", readings.read_ago),
    Rule(("last", "past", "previous"), rf"(?P<which>last|past|previous)\s+(?P<stretch>{STRETCH}){NOT_OF}",
        readings.read_lately),
    Rule(("christmas", "new year", "day", "halloween", "thanksgiving", "easter"),
        rf"(?:{WHICH})?(?P<feast>{FEAST})\b{OF_YEAR}", readings.read_feast),
    Rule(("q",), rf"{YEAR}\s+Q(?P<quarter>[1-4])\b", readings.read_quarter),
    Rule(("q",), rf"(?:{WHICH})?(?:Q(?P<quarter>[1-4])|(?P<nth>first|second|third|fourth)\s+quarter)\b{OF_YEAR}",
        readings.read_quarter),
    Rule((*SEASONS,), rf"(?:{WHICH})?{NO_TITLE}(?P<season>{either(SEASONS)})\b{OF_YEAR}", readings.read_season),
    Rule((*DAY_NAMES,), rf"(?P<name>{either(DAY_NAMES)})\b(?:\s+{PART_OF_DAY})?", readings.read_day),
    Rule((*HOURS,), rf"(?P<which>last|this)\s+{PART_OF_DAY}{NOT_OF}", readings.read_day),
    Rule(("day",),
        rf"(?:{WHICH})?(?P<weekday>{WEEKDAY})\b(?!\s+(?:{either(HOURS)})s)(?:\s+{PART_OF_DAY})?"
        r"(?:\s+(?:of\s+)?(?P<week>last|this|next)\s+week\b)?", readings.read_weekday),
    Rule(("before",), r"(?P<unit>week|weekend|month|year)\s+before\s+last\b(?!\s+\w)", readings.read_unit_before_last),
    Rule((*MONTHS,), rf"(?:{WHICH})?{MONTH}{OF_YEAR}", readings.read_month),
    Rule(("week", "month", "quarter", "year"), rf"{WHICH}(?P<unit>week|weekend|month|quarter|year)\b{NOT_OF}",
        readings.read_unit),
    Rule(("weekend",), r"(?P<unit>weekend)\b", readings.read_the_weekend),
    Rule(("beginning", "start"), r"(?<=the )(?P<unit>week|month|year)\b", readings.read_the_unit),
    Rule(CENTURIES, rf"(?P<number>{BARE_YEAR})\b{COUNTED}", readings.read_year),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mention:
    start: int
    end: int
    said: readings.Said
    reader: readings.Reader
    reading: readings.Reading

    def read_again(self, asked: datetime, which: str = "") -> Mention:
        reading = readings.read(self.reader, defaultdict(str, self.said, which=which), asked)
        return replace(self, reading=reading or self.reading)


def mentions(question: str, asked: datetime) -> list[Mention]:
    """In the order of the question; no two overlap."""
    result: list[Mention] = []
    lowered = question.lower()
    for rule in RULES:
        if not any(hint in lowered for hint in rule.hints):
            continue
        new = list(matching(rule, question, asked))
        for mention in new:
            question = question[: mention.start] + "\0" * (mention.end - mention.start) + question[mention.end :]
        result += new
    return sorted(result, key=lambda mention: mention.start)


def matching(rule: Rule, question: str, asked: datetime) -> Iterator[Mention]:
    for match in pattern(rule.body).finditer(question):
        groups = match.groupdict(default="")
        said = defaultdict(str, {name: " ".join(text.lower().split()) for name, text in groups.items()})
        reading = readings.read(rule.reader, said, asked)
        if reading is not None:
            yield Mention(match.start(), match.end(), said, rule.reader, reading)
