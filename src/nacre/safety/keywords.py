"""Says which rules a text needs at all: ordinary text holds none of their keywords and costs next to nothing."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from operator import itemgetter

from nacre.safety.rule import Rule, Where
from nacre.safety.rules import RULES

Row = tuple[int, Rule, re.Pattern[str]]  # rank, rule, its pattern
Entry = tuple[str, tuple[Row, ...]]  # a keyword and the rules that begin with it

# No token with a mark of its own is shorter. Written so that prose is read once, word by word.
HAS_LONG_WORD = re.compile(r"(?:\S{0,15}+\s++)*+\S{16}")
LONG_WORD = re.compile(r"\S{16,}+")
DIGIT = re.compile(r"\d")
RANDOM_LOOKING = re.compile(r"(?<![\w+/=~-])(?=[A-Za-z_+/=~-]*+\d)[\w+/=~-]{20,}+")
REACH = 140  # how far behind its keyword a random-looking value may begin
SIGNS = ("--", "_", "-", ".", "/")  # one look for a sign spares many for the keywords that hold it


def lower(text: str) -> str:
    """Every character stays in its place: İ, which is two in lower case, is left as it is."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := sign.lower()) == 1 else sign for sign in text)


def ordinary(lowered: str) -> bool:
    """Whether no rule can apply: the quick answer for nearly every text."""
    for sign in gates(lowered.isascii()):  # a plain loop: this is where the time of ordinary text goes
        if sign in lowered:
            return False
    return HAS_LONG_WORD.match(lowered) is None


@cache
def gates(ascii_only: bool) -> tuple[str, ...]:
    signs = [sign for sign, _ in gated("anywhere", ascii_only)]
    return tuple(sign for sign in signs if not any(other in sign for other in signs if other != sign))


def present(lowered: str, where: Where) -> Iterator[Entry]:
    for gate, entries in gated(where, lowered.isascii()):
        if gate in lowered:
            yield from (entry for entry in entries if entry[0] in lowered)


@cache
def gated(where: Where, ascii_only: bool) -> tuple[tuple[str, tuple[Entry, ...]], ...]:
    gates: dict[str, dict[str, tuple[Row, ...]]] = {}
    for rank, rule in enumerate(RULES):
        for keyword in rule.keywords if rule.where == where else ():
            if keyword.isascii() or not ascii_only:
                entries = gates.setdefault(gate(rule, keyword), {})
                entries[keyword] = (*entries.get(keyword, ()), (rank, rule, re.compile(rule.pattern)))
    return tuple((sign, tuple(entries.items())) for sign, entries in gates.items())


def gate(rule: Rule, keyword: str) -> str:
    return rule.also or next((sign for sign in SIGNS if sign in keyword), keyword)


def places(lowered: str, keyword: str) -> Iterator[int]:
    at = lowered.find(keyword)
    while at >= 0:
        yield at
        at = lowered.find(keyword, at + 1)


@dataclass(frozen=True, slots=True)
class Dense:
    """The long words of a text, with blanks between them, and where each of them stood."""

    text: str
    starts: tuple[tuple[int, int], ...]  # here, in the whole text

    def origin(self, at: int) -> int:
        here, there = self.starts[bisect_right(self.starts, at, key=itemgetter(0)) - 1]
        return there + at - here


def dense(text: str) -> Dense:
    words = [match for match in LONG_WORD.finditer(text) if DIGIT.search(match[0]) or not match[0].islower()]
    starts, here = [], 0
    for word in words:
        starts.append((here, word.start()))
        here += len(word[0]) + 1
    return Dense(" ".join([word[0] for word in words]), tuple(starts))


def random_looking(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in RANDOM_LOOKING.finditer(text)]


def within_reach(at: int, values: list[tuple[int, int]]) -> bool:
    following = bisect_right(values, at, key=itemgetter(1))
    return following < len(values) and values[following][0] - at <= REACH
