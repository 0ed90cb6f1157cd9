"""Says which rules a text needs at all: ordinary text holds none of their keywords and costs next to nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from nacre.safety.rule import Rule, Where
from nacre.safety.rules import RULES

Row = tuple[int, Rule, re.Pattern[str]]  # rank, rule, its pattern
Entry = tuple[str, tuple[Row, ...]]  # a keyword and the rules that begin with it

# No token with a mark of its own is shorter. Written so that prose is read once, word by word.
HAS_LONG_WORD = re.compile(r"(?:\S{0,15}+\s++)*+\S{16}")
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
    for row in rows(where):
        for keyword in row[1].keywords:
            if keyword.isascii() or not ascii_only:
                entries = gates.setdefault(gate(row[1], keyword), {})
                entries[keyword] = (*entries.get(keyword, ()), row)
    return tuple((sign, tuple(entries.items())) for sign, entries in gates.items())


@cache
def rows(where: Where) -> tuple[Row, ...]:
    return tuple((rank, rule, re.compile(rule.pattern)) for rank, rule in enumerate(RULES) if rule.where == where)


def gate(rule: Rule, keyword: str) -> str:
    return rule.also or next((sign for sign in SIGNS if sign in keyword), keyword)


def places(lowered: str, keyword: str, follow: str) -> Iterator[int]:
    """Where the keyword stands and what it needs follows it, found without leaving the search of patterns."""
    return (match.start() for match in followed(keyword, follow).finditer(lowered))


@cache
def followed(keyword: str, follow: str) -> re.Pattern[str]:
    """Not overlapping, as no keyword overlaps itself."""
    return re.compile(re.escape(keyword) + follow)


@cache
def heads() -> tuple[re.Pattern[str], dict[str, tuple[Row, ...]]]:
    """One pattern for the beginnings of all tokens, and the rules for each beginning, the longer ones included."""
    prefixes = sorted({keyword for _, rule, _ in rows("head") for keyword in rule.keywords})
    table = {
        prefix: tuple(row for row in rows("head") if any(prefix.startswith(keyword) for keyword in row[1].keywords))
        for prefix in prefixes
    }
    return re.compile(rf"(?<![A-Za-z0-9])(?:{branches(prefixes)})(?=\S{{12}})"), table


def branches(words: list[str]) -> str:
    """The words as a tree of alternatives, so that a text is compared with all of them in one pass."""
    following: dict[str, list[str]] = {}
    for word in words:
        if word:
            following.setdefault(word[0], []).append(word[1:])
    alternatives = [re.escape(first) + branches(rest) for first, rest in following.items()]
    if not alternatives:
        return ""
    joined = alternatives[0] if len(alternatives) == 1 else f"(?:{'|'.join(alternatives)})"
    return f"(?:{joined})?" if "" in words else joined
