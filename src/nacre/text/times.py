"""Understands the times in a question («two weeks ago», «in May 2023») and weighs a memory's time against them."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from nacre.model.instants import FIRST, LAST
from nacre.text.time_phrases import Mention, mentions

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST = 2000  # signs; a longer text is a document, and the times deep inside it are not what is asked for

# A window's edge is soft: what happened just outside is told in the same words. Beyond its edge the weight falls as a
# bell whose width is a share of the window's own: a day is blurred by hours, a month by a week.
EDGE_SHARE = 0.25
EARLIEST_EDGE = 12 * 3600.0  # at least: the zone of who asks is not known, and the world lies within 12 hours of UTC
LATEST_EDGE = 2 * 86400.0  # at least, after the end: a memory is dated by its telling, which follows what is told
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
    """The times that an English question speaks of, in its order; relative ones are seen from `asked_at`.

    A word that may be something else than a time («may», «spring») is none.
    """
    question = question[:LONGEST]
    found = mentions(question, EPOCH + timedelta(seconds=asked_at))
    return tuple(window for window in windows(question, found) if window.start < window.end)


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


def windows(question: str, found: Sequence[Mention]) -> Iterator[Window]:
    waiting = deque(found)
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
        return span.start, span.end  # «two weeks before», told already
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
