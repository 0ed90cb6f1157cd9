"""Cuts a text into words, numbers, dates and borders, in order, each with what it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nacre.text.closed_classes import AUXILIARIES
from nacre.text.numbers import SUFFIXES
from nacre.text.pieces import Piece
from nacre.text.units import unit
from nacre.text.values import DAY_NUMBER, MONTH_NAMES, YEAR

WEEKDAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)days?\b"
SCAN = re.compile(
    "|".join(
        (
            r"(?P<link>https?://\S+)",
            rf"(?P<date>(?<![\w-]){YEAR}-\d\d(?:-\d\d)?(?![\w-])"
            rf"|\b{MONTH_NAMES}\s+{DAY_NUMBER}(?![\d:%]|\s*[ap]m\b)(?:,?\s+{YEAR})?"
            rf"|\b{DAY_NUMBER}\s+(?:of\s+)?{MONTH_NAMES}(?:,?\s+{YEAR})?"
            rf"|\b{MONTH_NAMES},?\s+{YEAR}|\b{WEEKDAY}"
            rf"|\b(?-i:January|February|March|April|May|June|July|August|September|October|November|December)\b)",
            r"(?P<clock>\b\d{1,2}:\d\d(?::\d\d)?(?:\s*[ap]\.?m\b\.?)?|\b\d{1,2}\s*[ap]\.?m\b\.?)",
            r"(?P<score>\b\d{1,3}\s?[-–:]\s?\d{1,3}\b(?![-–\d]))",
            r"(?P<version>\bv\d+(?:\.\d+)*\b|\b\d+(?:\.\d+){2,}[\w-]*)",
            r"(?P<label>#\d+|\b(?-i:[A-Z][A-Z0-9]{1,9})-\d+\b|\b[a-z]+-\d+\b|\b[A-Z]\d{1,4}\b"
            r"|(?-i:(?<=[a-z] )[A-HJ-Z]\b))",
            r"(?P<number>(?:[$€£¥]|(?<![\w.])[-−](?=\d)|(?<![\w.]))\d+(?:,\d{3})*(?:\.\d+)?"
            r"(?:-(?=[a-z])|\s?(?=%|°)|(?=[a-z]))?(?:%|°[cf]?|[a-z]+\b)?)",
            r"(?P<title>\b(?-i:Mr|Mrs|Ms|Dr|Prof|St)\.(?=\s))",
            r"(?P<word>[^\W\d_][\w]*(?:(?:[._'’/@]|::|->)\w+)*(?:\+\+|\#)?)",
            r"(?P<border>[.;:!?,()—–\n]|\s-\s)",
        )
    ),
    re.IGNORECASE,
)
GLUED = re.compile(r"([$€£¥−-]?)(\d[\d,]*(?:\.\d+)?)-?\s?(.*)")
CONTRACTED_NOT = re.compile(r"n['’]t$")
CONTRACTION = re.compile(r"['’](?:s|re|ve|ll|d|m)$|['’]$")
ORDINAL_SIGNS = frozenset(("st", "nd", "rd", "th"))
CURRENCIES = {"$": "usd", "€": "eur", "£": "gbp", "¥": "jpy"}
WHOLE_NOT = {"can't": ("can", "not"), "cannot": ("can", "not"), "won't": ("will", "not")}
PLAIN_NOT = frozenset(f"{auxiliary}nt" for auxiliary in AUXILIARIES) | {"cant", "wont", "aint"}


def scan(text: str) -> Iterator[Piece]:
    for found in SCAN.finditer(text):
        kind, given = found.lastgroup or "", found.group()
        if kind == "word":
            yield from word_pieces(given)
        elif kind == "title":
            yield Piece("word", given, given.rstrip(".").lower())  # its full stop ends no sentence
        elif kind == "number":
            yield number_piece(given)
        else:
            yield Piece("label" if kind == "link" else kind, given, given.lower())


def word_pieces(given: str) -> Iterator[Piece]:
    lower = given.lower().replace("’", "'")
    if lower in WHOLE_NOT or CONTRACTED_NOT.search(lower) or lower in PLAIN_NOT:
        first = WHOLE_NOT.get(lower, (CONTRACTED_NOT.sub("", lower).removesuffix("nt"),))[0]
        yield Piece("word", first, first)
        yield Piece("word", given, "not")
    elif "/" in given and not any(sign in given for sign in "._") and given.count("/") == 1:
        yield from (Piece("word", part, part.lower()) for part in given.split("/"))  # «and/or», «input/output»
    else:
        bare = CONTRACTION.sub("", lower)
        yield Piece("word", given[: len(bare)], bare)


def number_piece(given: str) -> Piece:
    found = GLUED.fullmatch(given)
    if not found:
        return Piece("word", given, given.lower())
    sign, digits, tail = found[1], found[2].replace(",", ""), found[3].strip().lower()
    amount, dimension = float(digits) * (-1 if sign in ("-", "−") else 1), CURRENCIES.get(sign, "")
    if tail in ORDINAL_SIGNS:
        return Piece("number", given, given.lower(), amount, "ordinal")
    measured = unit(tail) if tail else None
    if tail in SUFFIXES and (sign or not measured or tail in ("k", "m", "b")):
        return Piece("number", given, given.lower(), amount * SUFFIXES[tail], dimension)
    if measured:
        return Piece("number", given, given.lower(), measured.amount(amount), measured.dimension)
    if tail:
        return Piece("word", given, given.lower())  # 3x, 2fa: a name
    return Piece("number", given, given.lower(), amount, dimension)
