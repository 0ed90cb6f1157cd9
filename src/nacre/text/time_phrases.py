"""Finds the phrases of a question that name a time; a table of patterns, each with its reader."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

from nacre.text.calendar_words import COUNTS, FEASTS, HOURS, MONTHS, ORDINALS, SEASONS, UNITS
from nacre.text.time_readings import (
    DAY_NAMES,
    Reader,
    Reading,
    Said,
    read,
    read_ago,
    read_date,
    read_day,
    read_feast,
    read_lately,
    read_month,
    read_numeric,
    read_quarter,
    read_season,
    read_the_unit,
    read_the_weekend,
    read_unit,
    read_unit_before_last,
    read_weekday,
    read_year,
)


def either(words: Iterable[str]) -> str:
    return "|".join(word.replace(" ", r"\s+") for word in sorted(words, key=len, reverse=True))


BARE_YEAR = r"(?:19|20)\d\d(?!\d|[.,/-]\d|s\b|%)"
YEAR = rf"(?P<year>{BARE_YEAR}|(?:last|this|next)\s+year\b)"
OF_YEAR = rf"(?:(?:,\s*|\s+)(?:of\s+|in\s+)?{YEAR})?"
# A number before one of these is no year.
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
    hints: tuple[str, ...]  # one of them is in every text that the rule can match; most questions hold none of any rule
    body: str
    reader: Reader


@cache  # a pattern takes milliseconds to build: only when a question hints at it, not at import
def pattern(body: str) -> re.Pattern[str]:
    # ASCII, or the long s and the Kelvin sign would pass for letters that no table holds.
    return re.compile(HEAD + body, re.IGNORECASE | re.ASCII)


CENTURIES = ("19", "20")
# In this order: what an earlier rule has read, a later one does not see.
RULES = (
    Rule(
        CENTURIES,
        r"(?<!\w-)(?P<year>(?:19|20)\d\d)(?P<sign>[-/])(?P<month>\d\d?)(?P=sign)(?P<day>\d\d?)(?!\d)",
        read_numeric,
    ),
    Rule(CENTURIES, r"(?<![\w/]/)(?P<month>\d\d?)/(?P<day>\d\d?)/(?P<year>(?:19|20)\d\d)(?!\d)", read_numeric),
    Rule(CENTURIES, r"(?<!\w-)(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![\d-])", read_numeric),
    Rule((*MONTHS,), rf"{ON_WEEKDAY}{DATE_NUMBERS}\s+(?P<of>of\s+)?{MONTH}{OF_YEAR}", read_date),
    Rule((*MONTHS,), rf"{ON_WEEKDAY}{MONTH}\s+(?:the\s+)?{DATE_NUMBERS}{OF_YEAR}", read_date),
    Rule(("ago",), rf"(?P<stretch>{STRETCH})\s+ago\b", read_ago),
    Rule(("last", "past", "previous"), rf"(?P<which>last|past|previous)\s+(?P<stretch>{STRETCH}){NOT_OF}", read_lately),
    Rule(
        ("christmas", "new year", "day", "halloween", "thanksgiving", "easter"),
        rf"(?:{WHICH})?(?P<feast>{FEAST})\b{OF_YEAR}",
        read_feast,
    ),
    Rule(("q",), rf"{YEAR}\s+Q(?P<quarter>[1-4])\b", read_quarter),
    Rule(
        ("q",),
        rf"(?:{WHICH})?(?:Q(?P<quarter>[1-4])|(?P<nth>first|second|third|fourth)\s+quarter)\b{OF_YEAR}",
        read_quarter,
    ),
    Rule((*SEASONS,), rf"(?:{WHICH})?{NO_TITLE}(?P<season>{either(SEASONS)})\b{OF_YEAR}", read_season),
    Rule((*DAY_NAMES,), rf"(?P<name>{either(DAY_NAMES)})\b(?:\s+{PART_OF_DAY})?", read_day),
    Rule((*HOURS,), rf"(?P<which>last|this)\s+{PART_OF_DAY}{NOT_OF}", read_day),
    Rule(
        ("day",),
        rf"(?:{WHICH})?(?P<weekday>{WEEKDAY})\b(?!\s+(?:{either(HOURS)})s)(?:\s+{PART_OF_DAY})?"
        r"(?:\s+(?:of\s+)?(?P<week>last|this|next)\s+week\b)?",
        read_weekday,
    ),
    Rule(("before",), r"(?P<unit>week|weekend|month|year)\s+before\s+last\b(?!\s+\w)", read_unit_before_last),
    Rule((*MONTHS,), rf"(?:{WHICH})?{MONTH}{OF_YEAR}", read_month),
    Rule(
        ("week", "month", "quarter", "year"), rf"{WHICH}(?P<unit>week|weekend|month|quarter|year)\b{NOT_OF}", read_unit
    ),
    Rule(("weekend",), r"(?P<unit>weekend)\b", read_the_weekend),
    Rule(("beginning", "start"), r"(?<=the )(?P<unit>week|month|year)\b", read_the_unit),
    Rule(CENTURIES, rf"(?P<number>{BARE_YEAR})\b{COUNTED}", read_year),
)


@dataclass(frozen=True, slots=True)
class Mention:
    start: int
    end: int
    said: Said
    reader: Reader
    reading: Reading

    def read_again(self, asked: datetime, which: str = "") -> Mention:
        reading = read(self.reader, defaultdict(str, self.said, which=which), asked)
        return replace(self, reading=reading or self.reading)


def mentions(question: str, asked: datetime) -> list[Mention]:
    """In the order of the question; no two overlap."""
    found: list[Mention] = []
    lowered = question.lower()
    for rule in RULES:
        if not any(hint in lowered for hint in rule.hints):
            continue
        new = list(matching(rule, question, asked))
        for mention in new:
            question = question[: mention.start] + "\0" * (mention.end - mention.start) + question[mention.end :]
        found += new
    return sorted(found, key=lambda mention: mention.start)


def matching(rule: Rule, question: str, asked: datetime) -> Iterator[Mention]:
    for match in pattern(rule.body).finditer(question):
        given = match.groupdict(default="")
        said = defaultdict(str, {name: " ".join(text.lower().split()) for name, text in given.items()})
        reading = read(rule.reader, said, asked)
        if reading is not None:
            yield Mention(match.start(), match.end(), said, rule.reader, reading)
