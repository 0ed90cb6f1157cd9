"""Finds the secrets in a text, each of them once, and never keeps one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import log2
from typing import Literal

from nacre.safety.keywords import (
    HAS_LONG_WORD,
    RANDOM_LOOKING,
    Row,
    dense,
    lower,
    ordinary,
    places,
    present,
    random_looking,
    within_reach,
)
from nacre.safety.personal import personal_data
from nacre.safety.placeholders import speaks_about, stands_in
from nacre.safety.rules import RULES

Mode = Literal["redact", "refuse", "allow"]
Span = tuple[int, int, int, str]  # start, end, rank of the rule, kind

PLACEHOLDER = re.compile(r"\[REDACTED(?::[a-z0-9_]+)?\]")
PASSES = 8  # what a found secret had hidden is looked for again; two passes are the rule
LONGEST_LEAD = 80


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a secret stood, in the text as it was given; never the secret itself."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Policy:
    """What becomes of secrets. `allow` holds exact strings and patterns that fit a whole secret; they are let be."""

    mode: Mode = "redact"
    personal: bool = False  # also e-mail addresses, telephone, card and account numbers
    allow: tuple[str | re.Pattern[str], ...] = ()

    def allows(self, secret: str) -> bool:
        return any(secret == each if isinstance(each, str) else each.fullmatch(secret) for each in self.allow)


def findings(text: str, policy: Policy) -> list[Finding]:
    """In order and without overlap; what lies between two of them, read alone, holds no further one."""
    if not policy.personal and ordinary(text.lower()):
        return []
    found: list[Finding] = []
    pending = [(0, len(text))]
    if "[REDACTED" in text:
        pending = list(gaps(0, len(text), (match.span() for match in PLACEHOLDER.finditer(text))))
    for _ in range(PASSES):
        fresh: list[tuple[int, int]] = []
        for start, end in pending:
            here = [Finding(kind, start + a, start + b) for a, b, _, kind in merged(spans(text[start:end], policy))]
            found += here
            fresh += gaps(start, end, ((each.start, each.end) for each in here)) if here else ()
        if not fresh:
            break
        pending = fresh
    return sorted(found, key=lambda each: each.start)


def gaps(start: int, end: int, taken: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for a, b in taken:
        if start < a:
            yield start, a
        start = b
    if start < end:
        yield start, end


def merged(found: Iterable[Span]) -> list[Span]:
    """Overlapping spans become one, so that no end of a secret is left over; the surest rule names it."""
    result: list[Span] = []
    for start, end, rank, kind in sorted(found):
        if result and start < result[-1][1]:
            first, last, known, name = result[-1]
            result[-1] = (first, max(last, end), *min((known, name), (rank, kind)))
        else:
            result.append((start, end, rank, kind))
    return result


def spans(text: str, policy: Policy) -> Iterator[Span]:
    lowered = lower(text)
    for keyword, rows in present(lowered, "anywhere"):
        for at in places(lowered, keyword):
            yield from tried(text, at, rows, policy)
    if HAS_LONG_WORD.match(lowered):
        yield from in_long_words(text, lowered, policy)
    if policy.personal:
        for start, end, kind in personal_data(text):
            if not policy.allows(text[start:end]):
                yield start, end, len(RULES), kind


def in_long_words(text: str, lowered: str, policy: Policy) -> Iterator[Span]:
    words = dense(text)
    small = lower(words.text)
    for keyword, rows in present(small, "token"):
        for at in places(small, keyword):
            for start, end, rank, kind in tried(words.text, at, rows, policy):
                origin = words.origin(start)
                yield origin, origin + end - start, rank, kind
    if RANDOM_LOOKING.search(words.text):
        yield from near_values(text, lowered, policy)


def near_values(text: str, lowered: str, policy: Policy) -> Iterator[Span]:
    values = random_looking(text)
    for keyword, rows in present(lowered, "near"):
        for at in places(lowered, keyword):
            if within_reach(at, values):
                yield from tried(text, at, rows, policy)


def tried(text: str, at: int, rows: tuple[Row, ...], policy: Policy) -> Iterator[Span]:
    for rank, rule, pattern in rows:
        match = pattern.match(text, at)
        if match is None:
            continue
        start, end = match.span(rule.group if rule.group >= 0 else match.lastindex or 0)
        start = led(text, start, rule.lead)
        secret = text[start:end]
        if rule.loose and speaks_about(text[at:start]):
            continue
        if entropy(secret) >= rule.entropy and not stands_in(secret, rule) and not policy.allows(secret):
            yield start, end, rank, rule.kind


def led(text: str, start: int, lead: str) -> int:
    first = max(0, start - LONGEST_LEAD)
    while lead and start > first and text[start - 1] in lead:
        start -= 1
    return start


def entropy(secret: str) -> float:
    """Bits per character, as Shannon counts them."""
    if not secret:
        return 0.0
    counts = Counter(secret).values()
    return -sum(count / len(secret) * log2(count / len(secret)) for count in counts)
