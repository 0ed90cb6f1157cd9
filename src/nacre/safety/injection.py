"""Marks text that tries to give orders to a model: it is still stored and recalled as data, but with a warning."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import prod

from nacre.safety.folding import folded, unleeted
from nacre.safety.hidden import hidden_signs
from nacre.safety.keywords import branches, lower
from nacre.safety.orders import SIGNS, Sign

SUSPICIOUS = 0.5  # from this score on a text should be shown to a person before it is trusted
BLOB = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{32,8192}+={0,2}")
BLOBS = 20  # of a text that are looked into
BEHIND, AHEAD = 16, 400  # of an anchor: all that decides whether a sign stands there
ONE_LINE = re.compile(r"[\s_]+")
JOINED = re.compile(r"[\"'] ?\+ ?[\"']")  # "ignore" + " all": words put together by a program


@dataclass(frozen=True, slots=True)
class Suspicion:
    """`score` in 0..1, nothing to certain; each reason names a sign once."""

    score: float = 0.0
    reasons: tuple[str, ...] = ()


Row = tuple[int, Sign]


@cache
def anchors() -> tuple[re.Pattern[str], dict[str, tuple[Row, ...]]]:
    """One pattern for all anchors, tried wherever a word or a sign begins, and the signs of each."""
    words = sorted({anchor for each in SIGNS for anchor in each.anchors})
    table = {
        word: tuple(
            (number, each) for number, each in enumerate(SIGNS) if any(word.startswith(a) for a in each.anchors)
        )
        for word in words
    }
    return re.compile(rf"(?<![a-z])(?=({branches(words)}))"), table


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """When an anchor is there for the first time: most texts have none, and all together cost a command 20 ms."""
    return re.compile(pattern)


def suspicion(text: str) -> Suspicion:
    """Looks also behind invisible characters, look-alike letters, letters set apart, and base64; a rule for work is no
    suspicion."""
    shown = folded(text)
    found = {**dict(hidden_signs(text)), **ordered(shown), **dict(encoded(shown))}
    return Suspicion(round(1 - prod(1 - weight for weight in found.values()), 3), tuple(found))


def ordered(shown: str) -> dict[str, float]:
    """The signs in the text line by line, as one line, and with digits read as letters; each reason at its most."""
    lowered = lower(shown)
    found: dict[str, float] = {}
    flat = JOINED.sub("", ONE_LINE.sub(" ", lowered))
    for variant in dict.fromkeys((lowered, flat, unleeted(flat))):
        for each in signs_in(variant):
            found[each.reason] = max(each.weight, found.get(each.reason, 0.0))
    return found


def signs_in(lowered: str) -> Iterator[Sign]:
    """Each sign once. Equal surroundings are tried once, which bounds the cost of a text made of anchors."""
    pattern, table = anchors()
    done: set[int] = set()
    tried: set[str] = set()
    for match in pattern.finditer(lowered):
        at = match.start()
        if at >= BEHIND:  # near the beginning, two places may see the same characters
            around = lowered[at - BEHIND : at + AHEAD]
            if around in tried:
                continue
            tried.add(around)
        for number, each in table[match[1]]:
            if number not in done and compiled(each.pattern).match(lowered, at, at + AHEAD):
                done.add(number)
                yield each


def encoded(text: str) -> Iterator[tuple[str, float]]:
    for number, blob in enumerate(BLOB.finditer(text)):
        if number >= BLOBS:
            return
        inside = decoded(blob[0])
        if inside and any(each.weight >= SUSPICIOUS for each in signs_in(lower(inside))):
            yield "hides orders in base64", 0.9


def decoded(blob: str) -> str:
    try:
        raw = base64.b64decode(blob.rstrip("=")[: len(blob.rstrip("=")) // 4 * 4], validate=True)
        return raw.decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return ""
