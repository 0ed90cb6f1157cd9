"""Weighs what a text says to come again («every Thursday», «on 1 May each year») against the times asked for."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from nacre.model.instants import DAY, FIRST, LAST
from nacre.text.date_readings import WEEKDAYS, read_day_of_month
from nacre.text.dates import EPOCH, LONGEST, WEEKDAY, Mention, Window, is_english, mentions, without
from nacre.text.foreign_dates import foreign_phrases

SENTENCE_END = re.compile(r"(?<!\d)[.!?;]\s+|\n+")  # the point of «am 3. April» ends none
RECURS = re.compile(
    r"\b(?:every|each|always|weekly|monthly|quarterly|yearly|annual(?:ly)?|birthdays?|anniversary"
    r"|jede[mnrs]?|immer|wöchentlich\w{0,2}|monatlich\w{0,2}|jährlich\w{0,2}|geburtstag\w{0,2}|jahrestag"
    r"|cada|siempre|cumpleaños|aniversario|chaque|toujours|anniversaire|ogni|sempre|compleanno|anniversario"
    r"|każd\w{1,3}|zawsze|urodziny|rocznica)\b|每",
    re.IGNORECASE,
)
# «Thursdays», «Thursday mornings», «donnerstags»
PLURAL_WEEKDAY = re.compile(
    rf"\b({WEEKDAY})(?:s\b|(?=\s+(?:morning|afternoon|evening|night)s\b))"
    r"|\b((?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|sonnabend)s\b",
    re.IGNORECASE,
)
# Only one of several such days: «the last Thursday of each month», «every other Friday»
ONE_OF_SEVERAL = re.compile(rf"\b(?:first|second|third|fourth|1st|2nd|3rd|4th|last|other)\s+{WEEKDAY}\b", re.IGNORECASE)
NAMED_WEEKDAY = re.compile(
    rf"\b(?P<once>(?:(?:last|next)(?!\s+{WEEKDAY}\s+(?:of|in)\b)|past|previous|this|since|until|till|by|before|after)\s+)?"
    rf"(?P<day>{WEEKDAY})\b",
    re.IGNORECASE,
)
# «every Friday until 2023» has an end; «every Friday until 18:00» has none
ENDS = re.compile(
    r"\b(?:until|till|bis|jusqu\S*|hasta|fino)\b(?!\s+(?:um\s+)?(?:\d{1,2}\s*(?:[:.h]\d\d|h\b|[ap]m\b|uhr\b)|noon|midnight|late))",
    re.IGNORECASE,
)
EXCEPT = re.compile(r"\b(?:except|but not|außer|sauf|excepto|salvo|tranne)\b.*", re.IGNORECASE | re.DOTALL)
MONTHLY = re.compile(
    r"\b(?:(?:every|each)\s+month|monthly|jede[ns]\s+monats?|monatlich|cada\s+mes|chaque\s+mois|ogni\s+mese)\b|每月|毎月",
    re.IGNORECASE,
)
# «on the 31st», «am 15.», «el día 5», «le 1er»; not a time of day, nor «the 2nd Tuesday», «the 19th-century club»
COUNTED = rf"(?:{WEEKDAY}s?|weeks?|weekends?|(?:work(?:ing)?|business)\s*days?)\b"
DAY_OF_MONTH = re.compile(
    r"\b(?P<last>last\s+day|(?:end\s+of|ende)(?=\s+(?:\w+\s+)?mon(?:th|at))|letzten?\s+tag|último\s+día|dernier\s+jour"
    r"|ultimo\s+giorno)\b"
    rf"|(?<![\w.:/-])(?:(?P<english>\d{{1,2}})(?:st|nd|rd|th)\b(?!-\w|\s+{COUNTED})"
    r"|(?P<german>\d{1,2})\.(?=\s+(?:jede|monat|tag|und\b|oder\b))"
    r"|(?:el(?:\s+día)?|le|il)\s+(?P<romance>\d{1,2})(?:er|º|°)?(?=\s+(?:(?:de|di)\s+|d['’])))"
    r"|(?P<chinese>\d{1,2})\s*[日号號]",
    re.IGNORECASE,
)
LAST_DAY = 31
NO_DAYS = frozenset(range(LAST_DAY + 1, 100))  # «on the 45th floor»
LONGEST_WITH_DAY_OF_MONTH = 14 * DAY  # half a month; a longer time has most such days
LONGEST_WITH_WEEKDAYS = 2 * DAY  # a weekend; a longer time has most weekdays, and asks for none of them
# The weight of a weekday that a text names without saying that it comes again («Choir: Friday 19:00»), and of a time
# longer than the one asked for («reports in May», «closed from May to July»): it touches that time, and is not
# certainly of it.
PERHAPS_THEN = 0.45


def recurrence_weight(text: str, asked: Sequence[Window]) -> float:
    """1 where the text says that something comes again and one of these times is such a time, less for a weekday that
    is only named, else 0."""
    sentences = SENTENCE_END.split(text[:LONGEST]) if asked else ()
    return max((weight for sentence in sentences for weight in sentence_weights(sentence, asked)), default=0.0)


def sentence_weights(sentence: str, asked: Sequence[Window]) -> Iterator[float]:
    if ENDS.search(sentence):
        return
    sentence = EXCEPT.sub("", sentence)
    if MONTHLY.search(sentence):
        yield from (1.0 for window in asked if names_day_of_month(sentence, window))
    singular = PLURAL_WEEKDAY.sub(lambda match: match[1] or match[2], sentence)
    recurs = RECURS.search(sentence) is not None
    weekly = (recurs or PLURAL_WEEKDAY.search(sentence)) and not ONE_OF_SEVERAL.search(sentence)
    phrases = [] if is_english(singular) else foreign_phrases(singular)
    for text in (*(phrase.english for phrase in phrases), without(singular, phrases)):
        for window in asked:
            if window.start == FIRST or window.end == LAST:
                continue
            near = EPOCH + timedelta(seconds=(window.start + window.end) / 2)
            mentioned = mentions(text, near)
            if recurs:
                yield from (weight_of_return(mention, near, window) for mention in mentioned)
            if window.end - window.start <= LONGEST_WITH_WEEKDAYS and names_weekday(text, mentioned, window):
                yield 1.0 if weekly else PERHAPS_THEN


def names_day_of_month(sentence: str, window: Window) -> bool:
    """Whether it names a day of the month that lies in the window. The 31st is the last day of a shorter month."""
    if window.start == FIRST or window.end - window.start > LONGEST_WITH_DAY_OF_MONTH:
        return False
    matches = DAY_OF_MONTH.finditer(sentence)
    named = {LAST_DAY if match["last"] else int(match[match.lastgroup or 0]) for match in matches} - NO_DAYS
    first, last = (datetime.fromtimestamp(at, UTC).date() for at in (window.start, window.end - 1))
    days = (first + timedelta(days=n) for n in range((last - first).days + 1))
    return any(min(day, monthrange(each.year, each.month)[1]) == each.day for each in days for day in named)


def weight_of_return(mention: Mention, near: datetime, window: Window) -> float:
    """Of a date without a year, as the one nearest to the window: 1 where it lies in it, less where it is longer. A day
    without a month comes every month: `names_day_of_month` reads it."""
    if mention.reader is read_day_of_month:
        return 0.0
    span = mention.read_again(near, "this").reading.span
    start, end = span.start.timestamp(), span.end.timestamp()
    if not mention.reading.yearless or start >= window.end or end <= window.start:
        return 0.0
    return 1.0 if window.start <= start and end <= window.end else PERHAPS_THEN


def names_weekday(text: str, mentioned: Sequence[Mention], window: Window) -> bool:
    """Whether it names a weekday on which some of the window lies, and not as that of a date («Friday, 13 March»)."""
    dates = [Window(0, 1, "", (each.start, each.end)) for each in mentioned if not each.said["weekday"]]
    first, last = (datetime.fromtimestamp(at, UTC).date() for at in (window.start, window.end - 1))
    days = {(first + timedelta(days=n)).weekday() for n in range((last - first).days + 1)}
    named = (match["day"] for match in NAMED_WEEKDAY.finditer(without(text, dates)) if not match["once"])
    return any(WEEKDAYS.index(day[:3].lower()) in days for day in named)
