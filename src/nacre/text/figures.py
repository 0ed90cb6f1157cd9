"""Finds in a text the values it gives, and the labels by which it names things: ticket 12, web-01."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.text.pieces import Piece, lower
from nacre.text.values import DIGITS, Value, read_clock, read_date

BEFORE_YEARS = frozenset("in since until till by from of before after during through".split())
YEARS = range(1800, 2100)  # a bare number between them, after one of those words, is a year
# What a number after it names, rather than counts.
LABEL_NOUNS = frozenset(
    "pr issue ticket step chapter section line page figure table rfc adr sprint phase part clause article"
    " paragraph task case exercise run order invoice question lesson track pitch milestone story request rule"
    " item row column appendix schedule exhibit experiment sample test batch lot flight bus train tram route"
    " court lane house building block apartment suite box locker".split()
)
VALUE_KINDS = frozenset(("number", "version", "date", "clock", "score"))


def values(pieces: Sequence[Piece], verb: int) -> tuple[Value, ...]:
    return tuple(
        value(pieces, place)
        for place, piece in enumerate(pieces)
        if piece.kind in VALUE_KINDS and not names_something(pieces, place, verb)
    )


def labels(pieces: Sequence[Piece], verb: int) -> frozenset[str]:
    return frozenset(
        f"{lower(pieces, place - 1)} {piece.amount:g}" if piece.kind == "number" else piece.lower
        for place, piece in enumerate(pieces)
        if names_something(pieces, place, verb)
    )


def names_something(pieces: Sequence[Piece], place: int, verb: int) -> bool:
    """A label after its noun, anywhere; and in what is spoken of, before the verb, any noun's number: «Room 12 has»."""
    piece, before = pieces[place], lower(pieces, place - 1)
    noun = before in LABEL_NOUNS or before.removesuffix("s") in LABEL_NOUNS
    if piece.kind == "label":
        return noun or place < verb or piece.lower.startswith("#")
    counted = piece.kind != "number" or bool(piece.dimension)
    return not counted and (
        noun or (0 < place < verb and pieces[place - 1].kind == "word" and pieces[place - 1].has_content)
    )


def is_version(pieces: Sequence[Piece], place: int) -> bool:
    """«version 3», «uses Python 3.12»; but not «Anna 12 apples»."""
    named = (
        place > (0 if "." in pieces[place].text else 1)
        and pieces[place - 1].kind == "word"
        and pieces[place - 1].text[:1].isupper()
    )
    counts = place + 1 < len(pieces) and pieces[place + 1].has_content
    return lower(pieces, place - 1) == "version" or (named and not counts and not pieces[place].dimension)


def value(pieces: Sequence[Piece], place: int) -> Value:
    piece, before = pieces[place], lower(pieces, place - 1)
    if piece.kind == "date":
        return Value("date", piece.text, place, date=read_date(piece.text))
    if piece.kind == "clock":
        return Value("clock", piece.text, place, amount=piece.amount or read_clock(piece.text))
    if piece.kind == "score":
        return Value("score", piece.text, place, parts=tuple(DIGITS.findall(piece.text)))
    if piece.kind == "version" or is_version(pieces, place):
        return Value("version", piece.text, place, parts=tuple(piece.lower.lstrip("v").split(".")))
    dated = before in BEFORE_YEARS or (before in ("is", "was") and any(each.lower == "year" for each in pieces[:place]))
    if dated and not piece.dimension and piece.amount in YEARS:
        return Value("date", piece.text, place, date=(int(piece.amount), None, None, None))
    return Value("number", piece.text, place, piece.amount, piece.dimension)
