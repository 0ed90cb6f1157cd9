"""Understands the times in a question («two weeks ago», «in May 2023») and weighs a memory's time against them."""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from nacre.errors import InvalidInput
from nacre.model.instants import FIRST, LAST, Instant, end_of_day, is_day, seconds
from nacre.text import date_readings as readings
from nacre.text.date_readings import COUNTS, DAY_NAMES, FEASTS, HOURS, ORDINALS, SEASONS, UNITS
from nacre.text.foreign_dates import ForeignPhrase, foreign_phrases

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LEAP_YEAR = timedelta(days=366)
LONGEST = 2000  # signs; a longer text is a document, and the times deep inside it are not what is asked for

# A window's edge is soft: people use the same words for what happened just outside. Beyond its edge the weight falls
# along a bell curve whose width is a share of the window's: a day is blurred by hours, a month by a week.
EDGE_SHARE = 0.25
EARLIEST_EDGE = 12 * 3600.0  # at least: the zone of who asks is not known, and the world lies within 12 hours of UTC
LATEST_EDGE = 2 * 86400.0  # at least, after the end: a message about an event is later than the event
WIDEST_EDGE = 30 * 86400.0  # «in 2022» does not reach far into 2023
OUTSIDE = 0.95  # at most: a note of 12 November, whose time is midnight, is not of the 11th
OPEN_EDGE = 86400.0  # «before 5 May» has no width of its own; its one edge is a date

# One of the first or two of the others make a text English, whose times the English rules read.
ASKS_IN_ENGLISH = frozenset("what which who did does were how when where".split())
QUESTION_MARKS = ("?", "？")
ENGLISH = ASKS_IN_ENGLISH | frozenset("the is of are and you had has with this".split())
PAST_TENSE = frozenset("did was were had happened went".split())
# In other languages: «was war am 24.12.?»
FOREIGN_PAST = frozenset(
    "war waren hatte hatten gab geschah geschahen passierte gemacht getan passiert geschehen fue fueron hubo pasó hice"
    " hicimos era eran était étaient avait avaient passé fait erano aveva avevano successo fatto było był była były"
    " deed deden gedaan gebeurde gebeurd foi foram houve aconteceu fiz fizemos был была было были".split()
)
# «Was the invoice paid?» has too few words to be taken for English, and «was» is German as well.
ASKS_OF_PAST = re.compile(
    r"\W*(?:(?:was|were)\s+(?:the|my|our|your|his|her|their|it|there|this|that|we|you|i|he|she|they)|has|have|did)\b",
    re.IGNORECASE,
)
# What makes a date without a year the next one: «what is planned for December?»
POINTS_AHEAD = re.compile(
    r"\b(?:planned|scheduled|coming|upcoming|(?:is|are|be)\s+(?:\S+\s+){0,2}booked|booked\s+for|geplant|fällig"
    r"|due(?!\s+(?:to|ore|giorni|settimane|mesi|anni)\b)"  # «due ore» is Italian for two hours
    r"|planeado|previst[oa]s?|prévue?s?|pianificat[oaie]|zaplanowan[eoay])\b|\b(?-i:will)\b|^\W*will\b"
    r"|\bmust\b|\b(?:do|does)\s[^?.!]{0,40}\b(?:have|need)\s+to\b",
    re.IGNORECASE,
)
WORD = re.compile(r"\w+")
LEADING_ARTICLE = re.compile(r"(?:(?:der|die|das|den|el|la|los|las|le|les|il|lo|gli|i)\s+|l['’])", re.IGNORECASE)
POSSESSIVES = ("'s", "’s")  # «last week's result»
JOINING = frozenset(("and", "or", "to", "until", "till", "through", "-", "–"))
REACHING = JOINING - {"and", "or"}
SINCE_CLAUSE = re.compile(r"\bsince\s+\w+\s[^,.;:?!]*$", re.IGNORECASE)  # «since I began to run three weeks ago»
BEFORE_CLAUSE = re.compile(
    r"\bbefore\s+(?:I|we|you|he|she|it|they)\s[^,.;:?!]*$", re.IGNORECASE
)  # «before I moved in June»


class Window(NamedTuple):
    """UTC seconds, `start` < `end`. Where one side is open it lies at the end of the calendar."""

    start: float
    end: float
    words: str  # the expression that was read
    place: tuple[int, int] = (0, 0)  # where it begins and ends in the text


def time_windows(question: str, asked_at: float, *, month_first: bool = False) -> tuple[Window, ...]:
    """The times in a question, in its order; relative ones count from `asked_at`. A date that may be two (3/10/2025) is
    both, or the one with the `month_first`, as beside 3/25/2025.

    A word that may be something else than a time («may», «spring») is none. Languages: `text/times.txt` and English.
    """
    question, asked = question[:LONGEST], EPOCH + timedelta(seconds=asked_at)
    foreign: list[Window] = []
    for phrase in () if is_english(question) else foreign_phrases(question):
        translated = windows_now(phrase.english, mentions(phrase.english, asked), asked)
        foreign += [each._replace(words=phrase.words, place=phrase.place) for each in translated]
    mentioned = mentions(without(question, foreign), asked)
    others = (
        []
        if month_first or SURELY_MONTH_FIRST.search(question)
        else list(filter(None, map(Mention.with_day_first, mentioned)))
    )
    english = [*windows_now(question, mentioned, asked), *windows_now(question, others, asked)]
    return tuple(each for each in sorted((*foreign, *english), key=lambda each: each.place) if each.start < each.end)


def coming_dates(question: str, asked_at: float) -> tuple[Window, ...]:
    """The next one of each date without a year and of each weekday, where the question may mean it («what is on 24
    November?», «what is on Friday?»).

    The last one is among `time_windows`.
    """
    question, asked = question[:LONGEST], EPOCH + timedelta(seconds=asked_at)
    if asks_of_past(question):
        return ()
    phrases = [] if is_english(question) else foreign_phrases(question)
    texts = (*(phrase.english for phrase in phrases), without(question, phrases))
    if points_ahead(question):
        coming = [each for text in texts for each in next_windows(text, asked_at, today=True)]
        coming += [each for text in texts for each in after_lengths(text, asked)]
    else:
        mentioned = {text: mentions(text, asked) for text in texts}
        coming = [each for text in mentioned for each in windows_ahead(text, mentioned[text], asked)]
        coming += [each for text in mentioned for each in next_weekdays(text, mentioned[text], asked)]
    # «before 24 December» begins now
    return tuple(
        Window(max(each.start, asked_at), each.end, "") for each in coming if each.end > max(each.start, asked_at)
    )


def after_lengths(text: str, asked: datetime) -> Iterator[Window]:
    """The time after each «in two weeks». Only for questions about what is to come: in others it may be how long
    something takes."""
    for match in in_a_length().finditer(text):
        said = defaultdict(str, stretch=" ".join(match["stretch"].lower().split()))
        if reading := readings.read(readings.read_hence, said, asked):
            yield window(text, reading.span.start, reading.span.end, match.span())


@cache
def in_a_length() -> re.Pattern[str]:
    return re.compile(rf"\bin\s+(?P<stretch>{STRETCH})", re.IGNORECASE | re.ASCII)


def asks_of_past(question: str) -> bool:
    """Whether its words say that what is asked for is over."""
    question = question[:LONGEST]
    past = PAST_TENSE if is_english(question) else FOREIGN_PAST
    return not past.isdisjoint(WORD.findall(question.lower())) or ASKS_OF_PAST.match(question) is not None


# «What happened at the bakery last month?», but neither «what did I tell you?» nor «what was the rent in May?».
WHAT_HAPPENED = re.compile(
    r"\b(?:what|anything|something)\s+(?:(?:has|have|had|all|else|new)\s+){0,2}"
    r"(?:happened|happens|changed|went\s+wrong|(?:was|were|been)\s+(?:decided|agreed(?!\s+as\b)))\b"
    r"|\bwhat\s+did\s+(?:\w+\s+){1,3}?(?:do|decide|agree|change)\b(?!\s+for\b)"
    r"|\bwhat\s+(?:has|have|had)\s+(?:\w+\s+){1,3}?(?:decided|agreed|changed|done)\b"
    r"|\bwas\s+(?:ist|war|wurde|haben|hat)\s[^?.!,]{0,60}\b(?:passiert|geschehen|geändert|entschieden|beschlossen|vereinbart)\W*$",
    re.IGNORECASE,
)


def asks_what_happened(question: str) -> bool:
    """Whether it asks for what took place, not for what held."""
    return WHAT_HAPPENED.search(question[:LONGEST]) is not None


def next_weekdays(text: str, mentioned: Sequence[Mention], asked: datetime) -> list[Window]:
    """Of the weekdays and weekends that may be the last or the next one: the next, which may be today. On a Sunday
    «this Thursday» is the next one, too."""
    either_way = [
        each.read_again(day_before(asked), "next")
        for each in mentioned
        if each.reading.sure and each.said["lead"] in ("", "on") and (is_bare_weekday(each) or is_this_weekday(each))
    ]
    either_way += [each.read_again(asked, "next") for each in mentioned if is_bare_weekend(each)]
    return list(windows(text, either_way))


def is_bare_weekday(mention: Mention) -> bool:
    said = mention.said
    return bool(said["weekday"]) and not (said["which"] or said["week"])


def is_bare_weekend(mention: Mention) -> bool:
    return mention.reader is readings.read_the_weekend and mention.said["lead"] != "since"


def is_this_weekday(mention: Mention) -> bool:
    return bool(mention.said["weekday"]) and mention.said["which"] == "this"


def points_ahead(question: str) -> bool:
    return POINTS_AHEAD.search(question[:LONGEST]) is not None


def windows_now(text: str, mentioned: Sequence[Mention], asked: datetime) -> list[Window]:
    """The last of each time, but of a stretch without a year the one that is going on: «from 10 to 20 November»."""
    now = (asked - EPOCH).total_seconds()
    last = list(windows(text, mentioned))
    stretches = any(adjoin(text, *pair) and is_stretch(*pair) for pair in pairwise(mentioned))
    ahead = windows_ahead(text, mentioned, asked) if stretches else []
    going_on = {each.place: each for each in ahead if FIRST < each.start <= now < each.end < LAST}
    return [going_on.get(each.place, each) for each in last]


def windows_ahead(text: str, mentioned: Sequence[Mention], asked: datetime) -> list[Window]:
    """Those of dates without a year, each read as the next one. Of a stretch only its end is: its beginning follows."""
    begins: set[int] = set()  # a stretch of two dates
    follows: set[int] = set()
    for first, second in pairwise(mentioned):
        if adjoin(text, first, second):
            begins |= {first.start} if is_stretch(first, second) else set()
            follows |= set() if first.reading.yearless else {second.start}
    going_on = {
        each.start
        for each in mentioned
        if (each.said["first"] or each.said["until"]) and each.reading.span.start <= asked < each.reading.span.end
    }
    last = {
        (each.start, each.end) for each in windows(text, [each for each in mentioned if each.start not in going_on])
    }
    again = [
        each.read_again(asked, "next")
        if each.reading.yearless and each.start not in begins | follows | going_on
        else each
        for each in mentioned
        if each.said["lead"] != "since" or each.start in begins
    ]
    return [each for each in windows(text, again) if (each.start, each.end) not in last]


def moment(value: Instant, now: float, side: str = "start") -> float:
    """A time that a caller gives, also in words («yesterday», «last week»). Of a date, which is its whole day, and of
    words `side` says what is meant: the `start`, the `middle` or the `end`. Raises `InvalidInput`."""
    start, end = given_span(value, now)
    if side == "middle":
        return (start + end) / 2
    # The last moment: what is dated to the next day, and so has its midnight, is not of this one.
    return start if side == "start" or start == end else math.nextafter(end, start)


def given_span(value: Instant, now: float) -> tuple[float, float]:
    try:
        start = seconds(value)
    except InvalidInput as error:
        span = named_span(value, now) if isinstance(value, str) else None
        if span is None:
            raise InvalidInput(
                f"{value!r} is not a time; write 30m, 2h, 7d, 4w, 2026-03-31, 2026-03-31T09:00:00Z, yesterday, "
                "'last week' or 'in 3 days'."
            ) from error
        return span
    return (start, end_of_day(value)) if is_day(value) else (start, start)  # type: ignore[arg-type]


def named_span(text: str, now: float, *, ahead: bool = False) -> tuple[float, float] | None:
    """The time that a text consists of; None where it is no time, or more than one. With `ahead`, what may be the last
    or the next one («friday», «2h», «24 December») is the next. Raises `InvalidInput` for a date that may be two."""
    refuse_ambiguous(text)
    return read_span(text, now, ahead=ahead)


def refuse_ambiguous(text: str) -> None:
    """Raises `InvalidInput` for a date that may be two days."""
    date = SLASHED_DATE.fullmatch(text.strip())
    if date and date[1].zfill(2) != date[2].zfill(2) and max(int(date[1]), int(date[2])) <= len(readings.MONTHS):
        first, second = date[1].zfill(2), date[2].zfill(2)
        raise InvalidInput(
            f"{text.strip()!r} may be two days; write {date[3]}-{first}-{second} or {date[3]}-{second}-{first}."
        )


def read_span(text: str, now: float, *, ahead: bool = False) -> tuple[float, float] | None:
    """As `named_span`, but a date that may be two has the month first."""
    text = text.strip()
    if text.casefold() == "now":
        return now, now
    if typed := typed_span(text.casefold(), now, ahead=ahead):
        return typed
    typed_text = text.casefold()
    if not is_english(text):
        article = LEADING_ARTICLE.match(text)
        text = in_english(text) or (article and in_english(text[article.end() :])) or text
    if length := re.fullmatch(rf"(in\s+)?({STRETCH})(\s+ago)?", text, re.IGNORECASE | re.ASCII):
        return stretch_span(length, now, ahead=ahead)
    for lead in ("", "in ", "on "):
        named = time_windows(lead + text, now, month_first=True)
        if len(named) == 1 and not without(lead + text, named).strip():
            again = next_windows(lead + text, now) if ahead and named[0].end <= now else ()
            return (again or named)[0][:2]
    return clock_of_day(typed_text, now, ahead=ahead)


def clock_of_day(text: str, now: float, *, ahead: bool) -> tuple[float, float] | None:
    """«last friday at 14:00», «16. November um 14 Uhr», UTC."""
    clock = DAY_AND_CLOCK.fullmatch(text)
    if clock is None or not (clock["minute"] or clock["half"] or clock["at"] == "um"):
        return None
    hour, minute = int(clock["hour"]), int(clock["minute"] or 0)
    if clock["half"] in ("am", "pm"):
        hour = hour % 12 + 12 * (clock["half"] == "pm")
    day = read_span(clock["day"], now, ahead=ahead)
    if day is None or day[1] - day[0] != DAY or hour > 23 or minute > 59:
        return None
    at = day[0] + hour * HOUR + minute * MINUTE
    return at, at


def in_english(text: str) -> str:
    """The time in another language that the text consists of, said in English; empty where it is none."""
    return next((phrase.english for phrase in foreign_phrases(text) if phrase.place == (0, len(text))), "")


def stretch_span(length: re.Match[str], now: float, *, ahead: bool) -> tuple[float, float] | None:
    """What is typed is meant as it is. A length alone is a time only where it lies `ahead`."""
    to_come, words, gone = length.groups()
    if (to_come and gone) or not (to_come or gone or ahead):
        return None
    stretch = readings.stretch(" ".join(words.lower().split()))
    sign, months = -1 if gone else 1, stretch.low / readings.UNITS["month"]
    if stretch.low == stretch.high and stretch.unit in ("month", "year") and months.is_integer():
        at = months_from(now, sign * int(months))
    else:
        at = now + sign * (stretch.low + stretch.high).total_seconds() / 2
    return (at, at) if at is not None and FIRST <= at <= LAST else None


def next_windows(text: str, now: float, *, today: bool = False) -> list[Window]:
    """With the next one of what comes every week or every year, which may be `today`."""
    asked = EPOCH + timedelta(seconds=now)
    seen_from = day_before(asked) if today else asked
    again = [
        each.read_again(asked if is_bare_weekend(each) else seen_from, "next")
        if each.reading.yearless or is_bare_weekday(each) or is_bare_weekend(each)
        else each
        for each in mentions(text, asked)
    ]
    return [each for each in windows(text, again) if each.end > now]


def day_before(time: datetime) -> datetime:
    """The same time of the day before; the time itself on the first day of the calendar."""
    return time - readings.DAY if time.toordinal() > 1 else time


MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
# The first letters of a unit decide. Those of the calendar are no lengths.
TYPED_UNITS = {"mi": MINUTE, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
TYPED_MONTHS = {"mo": 1, "y": 12}
TYPED_LENGTH = re.compile(
    r"(?P<ahead>in\s+)?(?P<count>\d{1,6}|(?:an?|one)\b)\s*"
    r"(?P<unit>m|min(?:ute)?s?|h|hrs?|hours?|d|days?|w|wks?|weeks?|mo|months?|y|yrs?|years?)"
    r"(?P<side>\s+(?:ago|from now))?",
    re.ASCII,
)
SLASHED_DATE = re.compile(r"(?:on\s+)?(\d{1,2})/(\d{1,2})/(\d{4})", re.ASCII | re.IGNORECASE)
TYPED_DATE = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", re.ASCII)  # as it is written in much of Europe
TYPED_CLOCK = re.compile(
    r"(?:(?P<day>today|yesterday|tomorrow)\s+)?(?:at\s+)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>am|pm)?",
    re.ASCII,
)
DAY_AND_CLOCK = re.compile(  # no date with slashes, which may be two days
    r"(?P<day>[^/]+?),?\s+(?:(?P<at>at|um)\s+)?(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>am|pm|uhr)?", re.ASCII
)
AWAY = {"yesterday": -1, "today": 0, "tomorrow": 1}


def typed_span(text: str, now: float, *, ahead: bool = False) -> tuple[float, float] | None:
    """Times as people type them and no question has them: `30 min`, `2mo`, `in 3 days`, `31.3.2026`, `yesterday 9:30`,
    `3pm`. A clock is UTC, as all times are. A length alone is in the past, or with `ahead` in the future."""
    if length := TYPED_LENGTH.fullmatch(text):
        side = (length["side"] or "").strip()
        forward = bool(length["ahead"]) or side == "from now" or (ahead and not side)
        at = moved(now, int(length["count"]) if length["count"].isdecimal() else 1, length["unit"], forward=forward)
        return None if at is None else (at, at)
    midnight = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if date := TYPED_DATE.fullmatch(text):
            start = datetime(int(date[3]), int(date[2]), int(date[1]), tzinfo=UTC).timestamp()
            return start, start + DAY
        clock = TYPED_CLOCK.fullmatch(text)
        if clock and (clock["minute"] or clock["half"]):
            hour = int(clock["hour"]) % 12 + 12 * (clock["half"] == "pm") if clock["half"] else int(clock["hour"])
            at = midnight.replace(hour=hour, minute=int(clock["minute"] or 0)).timestamp()
            at += AWAY[clock["day"] or "today"] * DAY
            at += DAY if ahead and not clock["day"] and at <= now else 0.0
            return at, at
    except ValueError:  # the 31st of February, 25 o'clock
        return None
    return None


def moved(now: float, count: int, unit: str, *, forward: bool) -> float | None:
    """So many units from now; None beyond all times."""
    steps = count if forward else -count
    months = next((each for name, each in TYPED_MONTHS.items() if unit.startswith(name)), None)
    if months is None:
        at = now + steps * next(each for name, each in TYPED_UNITS.items() if unit.startswith(name))
        return at if FIRST <= at <= LAST else None
    return months_from(now, steps * months)


def months_from(now: float, months: int) -> float | None:
    """The same day of another month, or its last one; None beyond all times."""
    start = datetime.fromtimestamp(now, UTC)
    years, month = divmod(start.month - 1 + months, MONTHS_OF_YEAR)
    year = start.year + years
    if not MINYEAR <= year <= MAXYEAR:
        return None
    day = min(start.day, monthrange(year, month + 1)[1])
    at = start.replace(year=year, month=month + 1, day=day).timestamp()
    return at if FIRST <= at <= LAST else None


def is_question(text: str) -> bool:
    """By its mark, or by an English word at its beginning."""
    first = WORD.search(text)
    return text.rstrip().endswith(QUESTION_MARKS) or (first is not None and first[0].lower() in ASKS_IN_ENGLISH)


def is_english(text: str) -> bool:
    words = frozenset(WORD.findall(text.lower()))
    return not words.isdisjoint(ASKS_IN_ENGLISH) or len(words & ENGLISH) > 1


def named_times(text: str, written_at: float) -> tuple[Window, ...]:
    """The times that a memory's own text names: «on 14 March», «due by 4 April», «from June to August».

    A date without a year is the nearest one, since a note tells what is to come as well. «By 4 April» is that day.
    """
    text, written = text[:LONGEST], EPOCH + timedelta(seconds=written_at)
    phrases = [] if is_english(text) else foreign_phrases(text)
    spans = [span for phrase in phrases for span in named_spans(phrase.english, written)]
    spans += named_spans(without(text, phrases), written)
    return tuple(window("", span.start, span.end, (0, 0)) for span in spans)


def named_spans(text: str, written: datetime) -> Iterator[readings.Span]:
    waiting = deque(mentions(text, written))
    while waiting:
        first = waiting.popleft()
        reaches = bool(waiting) and adjoin(text, first, waiting[0]) and is_stretch(first, waiting[0])
        if first.reading.yearless and not (reaches and not waiting[0].reading.yearless):
            first = first.read_again(written, "this")
        span, sure = first.reading.span, first.reading.sure
        if reaches:
            first, last = agreed(first, waiting.popleft())
            sure = sure or last.reading.sure
            span = readings.Span(first.reading.span.start, max(first.reading.span.end, last.reading.span.end))
        if sure:
            yield span


def without(text: str, times: Iterable[Window | ForeignPhrase | Order]) -> str:
    """The text with blanks in place of its times."""
    for each in times:
        start, end = each.place
        end += 2 if text[end : end + 2] in POSSESSIVES else 0
        text = text[:start] + " " * (end - start) + text[end:]
    return text


# What asks for a former state, though not for the first one. «It is used to deploy», «a previous life» and «the old
# harbour» do not.
FORMER = re.compile(
    r"\b(?:formerly|previously|in\s+the\s+past|back\s+then|used\s+to\s+be|did\s+(?:\S+\s+){1,4}use\s+to"
    r"|(?:who|what|which|where|i|you|he|she|it|we|they)\s+used\s+to|(?:was|were|did|had)\s[^?.!]{0,60}\b(?:my|your|his|her|our|their)\s+old"
    r"|(?:the|my|your|his|her|its|our|their)\s+(?:former|previous|prior)"
    r"|früher\w{0,2}|damals|vorher|zuvor|(?:vor|bis)herig\w{1,2}|ehemalig\w{1,2}"
    r"|(?:war|waren|hatte|hatten|hieß)\s[^?.!]{0,60}\b(?:mein|dein|sein|ihr|unser|euer)e?\w?\s+alte[nrms]?"
    r"|antes(?!\s+(?:de|que)\b)|anterior(?:es|mente)?(?!\s+a\b)|auparavant|autrefois|ancien(?:ne)?s?|précédente?s?"
    r"|in\s+passato|precedent[ei](?:mente)?|antig[oa]s?|dawniej|wcześniej|poprzedni\w*|vroeger|voorheen|раньше|ранее"
    r"|прежн\w+|бывш\w+|eskiden|önceki)\b|^\W*(?:old|former|previous)\b|以前|过去|之前的|原来的|原先|(?<!午)前の"
    r"|이전|예전|\bbefore(?:\s+(?:the|that|this)(?:\s+(?:change|move|switch))?)?\W*$",
    re.IGNORECASE,
)


# «What did I charge before I raised my rate?», but neither «what did she say before the meeting?» nor «how long did it
# take before it rang?».
BEFORE_A_CHANGE = re.compile(
    r"^\W*(?:what|which|who|where|how(?! long))\b[^?.!]*\b(?:did|was|were|had)\b[^?.!]*\bbefore\s+(?:the\s+\S+\s+ones?"
    r"|(?:I|we|you|he|she|they|(?:my|our|your|his|her|their|the)\s+\w+)\s+(?:\w+ly\s+)?(?:changed|moved|switched"
    r"|raised|lowered|replaced|upgraded|migrated|renamed|bought|got|hired|joined|left|began|started|stopped|took|became))\b",
    re.IGNORECASE,
)
# Who asks what had to be done asks for a rule: «what did I have to eat before we left?»
RULES_ASKED = re.compile(r"\b(?:must|should|required|(?:have|had|need|needed|supposed)\s+to)\b", re.IGNORECASE)


# Nor does this: «who gets the slides before Antwerp?», where «who led the team before Bruno?» does.
OF_NOW_OR_LATER = re.compile(rf"{RULES_ASKED.pattern}|\b(?:is|are|am|do|does|will|can|shall|gets)\b", re.IGNORECASE)
BEFORE_A_NAME = re.compile(r"\bbefore(?:\s+[A-Z\d][\w.-]*){1,2}\W*$")
# As people type it: «what did we use before opentofu», «what was our database before postgres», but not «what did we
# use before we cooked».
BEFORE_AT_END = re.compile(
    r"\bbefore\s+(?!(?:i|we|you|he|she|it|they|the|this|that|these|those|an?|my|our|your|his|her|their|\w+ing)\b)"
    r"[\w.-]+\W*$",
    re.IGNORECASE,
)
ASKED_WHAT = re.compile(r"\b(?:what|which|who|where)\b", re.IGNORECASE)
USED = re.compile(
    r"\b(?:did\s+\w+\s+(?:use|run\s+on)\s+(?:(?:for|in|on|as)\s+\S[^?.!,]*)?|(?:was|were)\s+\S[^?.!,]*)\Z",
    re.IGNORECASE,
)


# Who asks how to get something back asks for the way of today: «how do I restore the previous release?»
GETS_BACK = re.compile(
    r"\bhow\s+(?:do|can|should|to)\b[^?.!]*\b(?:restore|roll\s+back|rollback|revert|recover|(?:go|switch|change|return|get)"
    r"\s+(?:back\s+)?to|(?:get|bring)\b[^?.!]*\bback)\b",
    re.IGNORECASE,
)


def asks_for_former(question: str, times: Iterable[Window] = ()) -> bool:
    """`times` are those of the question, which say when themselves: «in the past week», «before Friday»."""
    asked = without(question, times)[:LONGEST]
    if GETS_BACK.search(asked):
        return False
    changed = BEFORE_A_CHANGE.search(asked)
    if changed is not None and not RULES_ASKED.search(changed[0]):
        return True
    if BEFORE_A_NAME.search(asked) and not OF_NOW_OR_LATER.search(asked):
        return True
    if used_before(asked) and not RULES_ASKED.search(asked):
        return True
    return FORMER.search(asked) is not None


def used_before(asked: str) -> bool:
    if (end := BEFORE_AT_END.search(asked)) is None:
        return False
    clause = re.split(r"[?.!,]", asked[: end.start()])[-1]
    what = ASKED_WHAT.search(clause)
    return what is not None and USED.search(clause, what.end()) is not None


class Order(NamedTuple):
    name: str  # "newest", "oldest" or ""
    place: tuple[int, int]  # where the words that say so begin and end


NO_ORDER = Order("", (0, 0))


def order_asked(question: str, times: Iterable[Window] = ()) -> Order:
    """Which of several is asked for by time; `times` are those of the question («last week»)."""
    asked = without(question, times)[:LONGEST]
    for name, words in (("newest", NEWEST), ("oldest", OLDEST)):
        if match := words.search(asked):
            return Order(name, match.span(match.lastgroup or 0))
    return NO_ORDER


def when_weight(at: float, windows: Sequence[Window]) -> float:
    """1 inside a window; outside of all of them less, falling smoothly to 0."""
    return max((nearness(at, window) for window in windows), default=0.0)


def nearness(at: float, window: Window) -> float:
    if window.start <= at < window.end:
        return 1.0
    if at < window.start:
        return OUTSIDE * bell((window.start - at) / edge(window, EARLIEST_EDGE))
    return OUTSIDE * bell((at - window.end) / edge(window, LATEST_EDGE))


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
        if is_stretch(first, second):
            start, end = first.reading.span.start, second.reading.span.end
            yield window(question, start, end, (first.start, second.end))
        else:
            first, second = equally_sure(first, second)
            yield from alone(question, first)
            waiting.appendleft(second)


def adjoin(question: str, first: Mention, second: Mention) -> bool:
    return second.said["lead"] in JOINING and not question[first.end : second.start].strip(" ,")


def is_stretch(first: Mention, second: Mention) -> bool:
    """Whether two times that adjoin are the beginning and the end of one."""
    return first.said["lead"] == "between" or second.said["lead"] in REACHING


def agreed(first: Mention, second: Mention) -> tuple[Mention, Mention]:
    """Gives the year of one to the other: «March and May 2023», «from November 2022 to February». To «the 3rd» the date
    before it gives its month."""
    if second.reader is readings.read_day_of_month and (second.reader is not first.reader or first.said["day_name"]):
        return first, second.read_again(first.reading.span.start, "next")
    if second.reading.yearless and not first.reading.yearless:
        return first, second.read_again(first.reading.span.start, "next")
    if not first.reading.yearless:
        return first, second
    before = first.read_again(second.reading.span.start)
    too_long = second.reading.span.start - before.reading.span.start > LEAP_YEAR  # 29 February is not in every year
    if too_long and second.said["month"] and not second.said["year"]:
        return before, second.read_again(before.reading.span.start, "next")
    return before, second


def equally_sure(first: Mention, second: Mention) -> tuple[Mention, Mention]:
    sure = first.reading.sure or second.reading.sure
    return (
        first._replace(reading=first.reading._replace(sure=sure)),
        second._replace(reading=second.reading._replace(sure=sure)),
    )


def alone(question: str, mention: Mention) -> Iterator[Window]:
    if mention.reading.sure:
        start, end = bounds(mention, question[: mention.start])
        yield window(question, start, end, (mention.start, mention.end))


def bounds(mention: Mention, before: str) -> tuple[datetime | None, datetime | None]:
    """None where a side is open."""
    span, said = mention.reading.span, mention.said
    if said["distance"]:
        return span.start, span.end  # «two weeks before» is in the span already
    lead = "since" if SINCE_CLAUSE.search(before) else "before" if BEFORE_CLAUSE.search(before) else said["lead"]
    match lead:
        case "before" | "prior to":
            return None, span.start
        case "until" | "till" | "by" | "up to":
            return None, span.end
        case "after":
            return span.end, None
        case "since":
            return span.start, None
    return span.start, span.end


def window(text: str, start: datetime | None, end: datetime | None, place: tuple[int, int]) -> Window:
    return Window(
        FIRST if start is None else (start - EPOCH).total_seconds(),
        LAST if end is None else (end - EPOCH).total_seconds(),
        text[slice(*place)].strip(" -–"),
        place,
    )


def either(words: Iterable[str]) -> str:
    return "|".join(word.replace(" ", r"\s+") for word in sorted(words, key=len, reverse=True))


# What orders by time: the newest first, or the oldest. «The first violin», «at the latest» and «my last boss» do not.
ASKED_OF = r"\b(?:did|have|has|had)\s+(?!(?:the|my|our|your|his|her|its|their)\b)\w+\s+"  # «when did I last see her»
POSSESSED = r"(?:the|my|our|your|his|her|its|their|\w+['’]s)"
# «The last incident» is the newest one, but the last boss or address is the one before, and the last page is a place.
NO_EVENT_WORDS = (
    "name boss job employer landlord tenant owner doctor teacher trainer coach partner flat apartment house home"
    " address school company car phone page line row column chapter section paragraph step item part piece word digit"
    " minute resort aid violin team class floor language thing half grade choice priority draft quarter weekend".split()
)
NO_EVENT = rf"(?!(?:{either((*UNITS, *SEASONS, *COUNTS, *HOURS, *NO_EVENT_WORDS))})s?\b|\w*day\b|\d)"
NEWEST = re.compile(
    r"\b(?P<words>most\s+recent(?:ly)?|(?<!at the )(?:latest|newest)|last\s+time|zuletzt|neueste[nrs]?|jüngste[nrs]?"
    r"|(?:das|beim|zum)\s+letzten?\s+Mal|más\s+recientes?|(?:la|por)\s+última\s+vez|plus\s+récente?s?"
    r"|la\s+dernière\s+fois|più\s+recent[ei]|l['’]ultima\s+volta|najnowsz\w+|ostatni(?:m\s+razem|\s+raz))\b"
    r"|(?P<chinese>最新|最近一次|上一?次)"
    rf"|{ASKED_OF}(?P<adverb>last)\b(?=\s+[a-z]+\b)(?!\s+(?:week|month|quarter|year|night|name|\w+day|{either(COUNTS)})\b)"
    rf"|\bwhen\s+(?:was|were)\b[^?.!]*\s(?P<when>last)\b(?=\W*$|\s+(?!name\b)\w)"
    rf"|\b{POSSESSED}\s+(?P<noun>last)\s+{NO_EVENT}\w"
    r"|\b(?:der|die|das|den|dem|beim|(?:mein|unser)e?[nrsm]?)\s+(?P<german>letzte[nrsm]?)\s+(?-i:[A-ZÄÖÜ])"
    r"|\b(?:el|la|mi|nuestr[oa])\s+(?P<spanish>últim[oa])\s+\w|\b(?:le|la|mon|ma|notre)\s+(?P<french>derni(?:er|ère))\s+\w"
    r"|\bl['’](?P<italian>ultim[oa])\s+\w",
    re.IGNORECASE,
)
OLDEST = re.compile(
    r"\b(?P<words>(?<!at the )earliest|originally|initially|(?<=the )(?:original|initial)|at\s+first"
    r"|(?:very\s+)?first\s+time|ursprünglich|anfangs"
    r"|zuerst|zum\s+ersten\s+Mal|al\s+principio|originalmente|por\s+primera\s+vez|au\s+début|à\s+l['’]origine"
    r"|pour\s+la\s+première\s+fois|all['’]inizio|originariamente|per\s+la\s+prima\s+volta|na\s+początku|pierwotnie"
    rf"|po\s+raz\s+pierwszy)\b|(?P<chinese>最初|一开始|第一次|最早)|{ASKED_OF}(?P<adverb>first)\b(?=\s+\w)"
    rf"|\b(?:was|were)\s+{POSSESSED}\s+(?:very\s+)?(?P<noun>first)\s+{NO_EVENT}\w",
    re.IGNORECASE,
)


BARE_YEAR = r"(?:19|20)\d\d(?!\d|[.,/-]\d|s\b|%)"
YEAR = rf"(?P<year>{BARE_YEAR}|(?:last|this|next)\s+year\b)"
OF_YEAR = rf"(?:(?:,\s*|\s+)(?:of\s+|in\s+)?{YEAR})?"
# A number before one of these is not a year.
COUNTED = (
    r"(?!\s+(?:dollars|euros|pounds|bucks|steps|calories|words|people|users|miles|kilometers|km|meters|feet|times)\b)"
)
# «calendar week 46», «CW 46/2026», German «KW 46»; «46 kW» is a power, in capitals too.
CALENDAR_WEEK = (
    r"(?<!\d)(?<!\d )(?:(?-i:[KC]W)\s?|(?:calendar\s+week|kalenderwoche)\s+)"
    r"(?P<number>5[0-3]|[1-4]\d|0?[1-9])(?![\d%]|[.,:]\d|\s?kW)"
)
OF_WEEKS_YEAR = rf"(?:(?:,\s*|\s+|\s?/\s?)(?:of\s+|in\s+)?{YEAR})?"
MONTH_NAMES = frozenset(
    "jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october nov"
    " november dec december".split()
)
MONTH = rf"(?=(?P<capital>(?-i:[A-Z]))?)(?P<month>{either(MONTH_NAMES)})\b\.?"
WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
ON_WEEKDAY = rf"(?:{WEEKDAY},?\s+(?:the\s+)?)?"
DATE_NUMBER = rf"(?:(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?(?!\d|[:.]\d|,\d{{3}}\b|%)|{either(ORDINALS)})\b"
DATE_NUMBERS = (
    rf"(?P<day>{DATE_NUMBER})(?:\s*(?:-|–|\bto\b|\band\b|\bthrough\b)\s*(?:the\s+)?(?P<until>{DATE_NUMBER}))?"
)
# «On the 5th», of some month; neither the 5th floor nor the 5th of every month.
DAY_ORDINALS = frozenset(f"{day}{'th' if day in (11, 12, 13) else readings.ENDINGS[day % 10]}" for day in range(1, 32))
DAY_ENDS = (
    r"(?=\W*$|\s*[?.!,;:)–-]|\s+(?:to|and|or|until|till|through)\s+the\s+\d|\s+(?:about|with|as|because|when|if|is|are"
    r"|was|were|did|do|does|has|have|had|will|we|i|you|he|she|it|they)\b)"
)
GERMAN_DAY = (  # «am 5.»; neither «am 5. Mai» nor «I am 5.»
    r"(?<!\bI\s)\b(?P<german>am)\s+(?P<day>3[01]|[12]\d|0?[1-9])\."
    r"(?=\W*$|\s*[?!,;:)]|\s+(?!und\b|oder\b|bis\b|jede)(?-i:[a-zäöüß]))"
)
COUNT = rf"(?:\d{{1,3}}(?:\.5)?|(?:a\s+)?(?:{either(COUNTS)})(?:\s+of)?)"
AND_A_HALF = r"(?:\s+and\s+a\s+half)?"
STRETCH = rf"{COUNT}(?:(?:\s*[-–]\s*|\s+(?:or|to)\s+){COUNT})?{AND_A_HALF}\s+(?:{either(UNITS)})s?\b{AND_A_HALF}"
WHICH = r"(?P<which>this\s+past|last|past|previous|current|this|next|coming|upcoming)\s+"
WHICH_ONE = r"(?P<which>last|next)\s+"
COMING = frozenset(("coming", "upcoming"))
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


class Rule(NamedTuple):
    # One of them is in every text that the rule can match: of a set, as a word by itself. Most questions have none.
    hints: tuple[str, ...] | frozenset[str]
    body: str
    reader: readings.Reader


@cache  # a pattern takes milliseconds to build: only when a question hints at it, not at import
def pattern(body: str) -> re.Pattern[str]:
    # ASCII, or the long s and the Kelvin sign would pass for letters that no table holds.
    return re.compile(HEAD + body, re.IGNORECASE | re.ASCII)


ASCII_WORD = re.compile(r"\w+", re.ASCII)
CENTURIES = ("19", "20")
ENDED_NUMBERS = tuple(f"{digit}." for digit in range(10))
# German, before a date in numbers («am 24.11.», where «Ubuntu 24.04.» is no date), and the lead that each stands for.
BEFORE_DATES = {
    "am": "on", "den": "on", "zum": "on", "vom": "from", "bis": "until", "bis zum": "until", "ab": "since",
    "ab dem": "since", "seit": "since", "seit dem": "since", "zwischen": "between", "zwischen dem": "between",
}  # fmt: skip
# Only beside another date: «von 24.04. auf 26.04.» may be versions.
BESIDE_DATES = {"von": "from", "und": "and", "und dem": "and"}
NUMBERS = r"(?P<day>\d\d?)\.\s?(?P<month>\d\d?)\."
REACHES = r"\s?(?:bis\s(?:zum\s)?|[-–]\s?)"
TWO_DATES = rf"(?=(?:\d\d?\.\s?)?\d\d?\.{REACHES}\d\d?\.\s?\d\d?\.)"
# Without a word before them: of two numbers with the same beginning («3.9. - 3.11.») the parts or versions are meant.
NUMBERED = "kapitel abschnitt abschnitte punkt punkte teil version versionen release releases chapter section".split()
TWO_BARE_DATES = (
    rf"(?<![\d.])(?=(?P<bare>\d\d?)\.\s?\d\d?\.{REACHES}(?!(?P=bare)\.)\d\d?\.\s?\d\d?\.)"
    rf"{''.join(f'(?<!{word} )' for word in NUMBERED)}(?!.*\b(?:{either(ENGLISH)})\b)"
)
SAME_MONTH = rf"(?:(?P<first>\d\d?)\.(?:{REACHES}|\s?(?P<joined>und)\s(?:dem\s)?))?"  # «vom 24. bis 31.12.»
# As words of their own, also beside letters that are not ASCII: neither «Team 24.04.» nor «Süden 24.04.» is a date.
WORD_BEFORE = (
    rf"(?u:\b)(?P<word>{either(BEFORE_DATES)}|von(?=\s+{TWO_DATES})|(?:(?<=\d\. )|(?<=\d ))und(?:\s+dem)?)\s+"
    rf"{SAME_MONTH}|{TWO_BARE_DATES}|(?<=\d\.[-–])|(?<=\d\. [-–] )"
)
NO_DATE = "none"
MONTHS_OF_YEAR = 12
# German, Spanish, French, Italian and Portuguese words before a date, where the day comes first: «el 3/10/2025».
DAY_FIRST = re.compile(
    r"(?:(?<!\d)(?<!\d )\bam|\b(?:den|dem|vom|zum|bis|ab|seit|el|del|al|desde|hasta|día|le|du|au|depuis|il|dal|em|dia))"
    r"\s+\Z",  # not behind «9 am»
    re.IGNORECASE,
)
SURELY_MONTH_FIRST = re.compile(r"(?<!\d)\d\d?/(?:1[3-9]|2\d|3[01])/(?:19|20)\d\d")  # beside it, others are so too
DATE_BEFORE = re.compile(r"(\d\d?)\.\s?\d\d?\.\s*$")
# At the very beginning («24.11. Zahnarzt»), but neither «3.11. is the oldest Python» nor the heading «1.2. Ziele».
BEGINNING = rf"^(?!\d\.\s?\d\.\s*\w)(?!.*\b(?:{either(ENGLISH)})\b)"
QUARTERS = frozenset(("q1", "q2", "q3", "q4"))
# In this order: what an earlier rule has read, a later one does not see.
RULES = (
    Rule(CENTURIES, rf"(?:{WORD_BEFORE})?"
        r"(?<!\w-)(?P<year>(?:19|20)\d\d)(?P<sign>[-/])(?P<month>\d\d?)(?P=sign)(?P<day>\d\d?)(?!\d)",
        readings.read_numeric),
    Rule(CENTURIES, r"(?<![\w/]/)(?P<month>\d\d?)/(?P<day>\d\d?)/(?P<year>(?:19|20)\d\d)(?!\d)", readings.read_numeric),
    Rule(CENTURIES, rf"(?:{WORD_BEFORE})?(?<![\d.]){NUMBERS}\s?(?P<year>(?:19|20)\d\d)(?!\d)",
        readings.read_numeric),
    Rule(ENDED_NUMBERS, rf"(?:{WORD_BEFORE}|{BEGINNING}){NUMBERS}(?!\s?\d)", readings.read_numeric),
    Rule(CENTURIES, r"(?<!\w-)(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![\d-])", readings.read_numeric),
    Rule(MONTH_NAMES, rf"{ON_WEEKDAY}{DATE_NUMBERS}\s+(?P<of>of\s+)?{MONTH}{OF_YEAR}", readings.read_date),
    Rule(MONTH_NAMES, rf"{ON_WEEKDAY}{MONTH}\s+(?:the\s+)?{DATE_NUMBERS}{OF_YEAR}", readings.read_date),
    Rule(DAY_ORDINALS,
        rf"(?:(?:{WHICH_ONE})?(?P<day_name>{WEEKDAY}),?\s+(?:the\s+)?)?(?P<day>{either(DAY_ORDINALS)})\b"
        rf"(?:\s+of\s+(?P<of_which>last|this|next)\s+month\b|{DAY_ENDS})",
        readings.read_day_of_month),
    Rule(ENDED_NUMBERS, GERMAN_DAY, readings.read_day_of_month),
    Rule(frozenset(("ago",)),
        rf"(?<![.,\d])(?P<count>[1-9]\d?|{either(readings.NUMBERS)})\s+(?P<weekday>{WEEKDAY})s?\s+ago\b",
        readings.read_weekdays_ago),
    Rule(frozenset(("ago",)), rf"(?P<stretch>{STRETCH})\s+ago\b", readings.read_ago),
    Rule(frozenset(("from",)), rf"(?P<stretch>{STRETCH})\s+from\s+(?:now|today)\b(?!\s+on\b)", readings.read_hence),
    Rule(frozenset(("last", "past", "previous")), rf"(?P<which>last|past|previous)\s+(?P<stretch>{STRETCH}){NOT_OF}",
        readings.read_lately),
    Rule(("next", "coming"), rf"(?P<which>next|coming)\s+(?P<stretch>{STRETCH})", readings.read_soon),
    Rule(("christmas", "new year", "day", "halloween", "thanksgiving", "easter"),
        rf"(?:{WHICH})?(?P<feast>{FEAST})\b{OF_YEAR}", readings.read_feast),
    Rule(QUARTERS, rf"{YEAR}\s+Q(?P<quarter>[1-4])\b", readings.read_quarter),
    Rule(QUARTERS | {"quarter"},
        rf"(?:{WHICH})?(?:Q(?P<quarter>[1-4])|(?P<nth>first|second|third|fourth)\s+quarter)\b{OF_YEAR}",
        readings.read_quarter),
    Rule(frozenset(SEASONS), rf"(?:{WHICH})?{NO_TITLE}(?P<season>{either(SEASONS)})\b{OF_YEAR}", readings.read_season),
    Rule(frozenset(DAY_NAMES), rf"(?P<name>{either(DAY_NAMES)})\b(?:\s+{PART_OF_DAY})?", readings.read_day),
    Rule(frozenset(HOURS), rf"(?P<which>last|this)\s+{PART_OF_DAY}{NOT_OF}", readings.read_day),
    Rule(("day",),
        rf"(?:{WHICH})?(?P<weekday>{WEEKDAY})\b(?!\s+(?:{either(HOURS)})s)(?:\s+{PART_OF_DAY})?"
        r"(?:\s+(?:of\s+)?(?P<week>last|this|next)\s+week\b)?", readings.read_weekday),
    Rule(("before",), r"(?P<unit>week|weekend|month|year)\s+before\s+last\b(?!\s+\w)", readings.read_unit_before_last),
    Rule(MONTH_NAMES, rf"(?:{WHICH})?{MONTH}{OF_YEAR}", readings.read_month),
    Rule(("week", "month", "quarter", "year"), rf"{WHICH}(?P<unit>week|weekend|month|quarter|year)\b{NOT_OF}",
        readings.read_unit),
    Rule(("kw", "cw", "calendar", "kalenderwoche"), rf"{CALENDAR_WEEK}{OF_WEEKS_YEAR}",
        readings.read_calendar_week),
    Rule(("weekend",), r"(?P<unit>weekend)\b", readings.read_the_weekend),
    Rule(("beginning", "start"), r"(?<=the )(?P<unit>week|month|year)\b", readings.read_the_unit),
    Rule(CENTURIES, rf"(?P<number>{BARE_YEAR})\b{COUNTED}", readings.read_year),
)  # fmt: skip


class Mention(NamedTuple):
    start: int
    end: int
    said: readings.Said
    reader: readings.Reader
    reading: readings.Reading

    def with_day_first(self) -> Mention | None:
        """The mention with the day first, where the order of month and day is not known: 3/10/2025."""
        if not self.said["either"]:
            return None
        said = defaultdict(str, self.said, month=self.said["day"], day=self.said["month"])
        reading = readings.read(self.reader, said, self.reading.span.start)
        return reading and self._replace(said=said, reading=reading)

    def read_again(self, asked: datetime, which: str = "") -> Mention:
        reading = readings.read(self.reader, defaultdict(str, self.said, which=which), asked)
        return self._replace(reading=reading or self.reading)


def mentions(question: str, asked: datetime) -> list[Mention]:
    """In the order of the question; no two overlap."""
    result: list[Mention] = []
    lowered = question.lower()
    words = ascii_words(question)
    for rule in RULES:
        hints = rule.hints
        if hints.isdisjoint(words) if isinstance(hints, frozenset) else not any(hint in lowered for hint in hints):
            continue
        new = list(matching(rule, question, asked))
        for mention in new:
            question = question[: mention.start] + "\0" * (mention.end - mention.start) + question[mention.end :]
            words = ascii_words(question)  # one may begin where this ended
        result += new
    return sorted(result, key=lambda mention: mention.start)


def ascii_words(text: str) -> list[str]:
    """As the patterns see words. Other letters end one; made small, a few of them would be ASCII."""
    return [word.lower() for word in ASCII_WORD.findall(text)]


def matching(rule: Rule, question: str, asked: datetime) -> Iterator[Mention]:
    ended = 0
    for match in pattern(rule.body).finditer(question):
        groups = match.groupdict(default="")
        said = defaultdict(str, {name: " ".join(text.lower().split()) for name, text in groups.items()})
        if said["which"] in COMING:
            said["which"] = "this" if said["unit"] == "weekend" else "next"
        if rule.reader is readings.read_numeric:
            said["lead"] = lead_in_numbers(said, question[ended : match.start()], follows=bool(ended))
            if "/" in match.group() and not said["sign"]:
                order_slashed(said, question[: match.start()])
        reading = None if said["lead"] == NO_DATE else readings.read(rule.reader, said, asked)
        if reading is not None:
            ended = match.end()
            yield Mention(match.start(), match.end(), said, rule.reader, reading)


def order_slashed(said: readings.Said, before: str) -> None:
    """Puts the day first behind a word of another language than English; elsewhere notes that it may be first."""
    if DAY_FIRST.search(before):
        said["month"], said["day"] = said["day"], said["month"]
    elif said["month"] != said["day"] and max(int(said["month"]), int(said["day"])) <= MONTHS_OF_YEAR:
        said["either"] = "either"


def lead_in_numbers(said: readings.Said, before: str, follows: bool) -> str:
    """What leads to a date in numbers: the word, as English has it. `before` is the text since the date that it
    `follows`, else all before it."""
    lead = BEFORE_DATES.get(said["word"]) or BESIDE_DATES.get(said["word"]) or said["lead"]
    if said["first"]:
        return NO_DATE if said["joined"] and lead != "between" else "from"  # «am 24. und 31.12.» are two days
    if follows and not before.strip():
        return lead
    numbers = DATE_BEFORE.search(before)
    beside = before.rstrip().endswith(ENDED_NUMBERS)
    if not said["year"] and (lead == "and" or (beside and lead in ("-", "–"))):
        return NO_DATE  # what stands before it was none
    if lead == "until" and said["word"] and numbers and numbers[1] == said["day"] and not said["year"]:
        return NO_DATE  # «Kapitel 2.3. bis 2.5.»
    return "on" if lead == "until" and said["word"] and beside and not numbers else lead  # «24. bis 31.12.»
