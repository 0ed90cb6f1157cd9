"""Puts together what a text spreads over several words: «two hundred», «an hour and a half», «off limits»."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nacre.text.numbers import SCALES, SPELLED, spelled_out
from nacre.text.phrases import phrase_at
from nacre.text.pieces import Piece, lower
from nacre.text.scanning import scan
from nacre.text.units import unit

Made = tuple[Piece, int]  # the piece, and where the next one begins
NUMBER_WORDS = frozenset(SPELLED) | frozenset(SCALES)
PARTS = {"half": 0.5, "quarter": 0.25}
HOURS = {"noon": 720.0, "midday": 720.0, "midnight": 0.0}
STARTS = NUMBER_WORDS | frozenset(PARTS) | frozenset(HOURS) | {"a", "an"}  # of an amount in words
BEFORE_HOURS = frozenset("at until till by from around about".split())
AFTER_HOURS = frozenset("in on sharp every and to until oclock o'clock or".split())
HOUR, MINUTE = 3600.0, 60.0  # seconds
BEFORE_ONE = frozenset(("at", "to", "is", "of"))
SHORT_UNITS = frozenset(("h", "s"))  # of one letter; the others are too often something else
SHORTEST_UNIT = 3  # letters after an article; «a mi» is no mile
NAME_STARTS = frozenset("New San Santa Los Las Saint South North West East Mount Lake".split())
LAST_HOUR = 24
LONGEST_PHRASE = 4  # words


def cut(text: str) -> list[Piece]:
    return list(assembled(list(scan(text))))


def assembled(given: Sequence[Piece]) -> Iterator[Piece]:
    place = 0
    while place < len(given):
        makers = MAKERS if given[place].kind == "number" or given[place].lower in STARTS else (place_name, phrase)
        piece, place = next((made for maker in makers if (made := maker(given, place))), (given[place], place + 1))
        yield piece


def phrase(given: Sequence[Piece], place: int) -> Made | None:
    """Several words that mean what one means: «off limits»."""
    near = given[place : place + LONGEST_PHRASE]
    found = phrase_at([piece.lower for piece in near]) if given[place].kind == "word" else None
    if not found:
        return None
    meaning, length = found
    return Piece("word", texts(given, place, place + length), meaning), place + length


def past_the_hour(given: Sequence[Piece], place: int) -> Made | None:
    """«half past nine», «quarter to seven», «noon»."""
    first, second, hour = (lower(given, place + step) for step in range(3))
    if first in HOURS:
        return Piece("clock", given[place].text, first, HOURS[first]), place + 1
    number = SPELLED.get(hour, float(hour) if hour.isdecimal() else 0.0)
    if first not in PARTS or second not in ("past", "to") or not number:
        return None
    minutes = 60 * number + (60 * PARTS[first] if second == "past" else -60 * PARTS[first])
    return Piece("clock", texts(given, place, place + 3), "", minutes), place + 3


def half_a_unit(given: Sequence[Piece], place: int) -> Made | None:
    """«half an hour», «a quarter of a year», «half a dozen»."""
    share = PARTS.get(lower(given, place))
    after = place + 1
    while lower(given, after) in ("a", "an", "of"):
        after += 1
    measured = unit(lower(given, after))
    if share is None or not measured:
        return None
    return Piece("number", texts(given, place, after + 1), "", measured.amount(share), measured.dimension), after + 1


def a_unit(given: Sequence[Piece], place: int) -> Made | None:
    """«an hour», «a year and a half»; «a day» has been read as «daily» before."""
    found = unit(lower(given, place + 1))
    written_out = len(lower(given, place + 1)) >= SHORTEST_UNIT
    if lower(given, place) not in ("a", "an") or not written_out or not found or found.dimension != "duration":
        return None
    piece = Piece("number", texts(given, place, place + 2), "", found.size, found.dimension)
    return with_half(piece, found.size, given, place + 2)


def number(given: Sequence[Piece], place: int) -> Made | None:
    """A number in digits or words, with its scale, its unit and what is added in a smaller unit."""
    found = digits(given, place) or number_in_words(given, place)
    if not found:
        return None
    piece, after = found
    if lower(given, place - 1) == "minus":
        piece = replace(piece, amount=-piece.amount)
    scale = SCALES.get(lower(given, after))
    if scale:
        piece, after = replace(piece, text=texts(given, place, after + 1), amount=piece.amount * scale), after + 1
    return added(piece, given, after) if piece.dimension else measured(piece, given, after)


def digits(given: Sequence[Piece], place: int) -> Made | None:
    return (given[place], place + 1) if given[place].kind == "number" else None


def number_in_words(given: Sequence[Piece], place: int) -> Made | None:
    end = place
    while lower(given, end) in NUMBER_WORDS and not (end > place and begins_anew(given, end)):
        end += 1
    words = [lower(given, at) for at in range(place, end)]
    amount = spelled_out(words)
    if amount is None or (words[0] in SCALES and words[0] != "dozen" and lower(given, place - 1) != "a"):
        return None
    if words == ["one"] and not (unit(lower(given, end)) or lower(given, place - 1) in BEFORE_ONE):
        return None  # «one of us», «the one»
    return Piece("number", texts(given, place, end), " ".join(words), amount), end


def begins_anew(given: Sequence[Piece], place: int) -> bool:
    """«three four» are two numbers; «twenty four» is one."""
    before, here = SPELLED.get(lower(given, place - 1)), SPELLED.get(lower(given, place))
    return before is not None and here is not None and (before < SPELLED["twenty"] or here >= SPELLED["ten"])


def measured(piece: Piece, given: Sequence[Piece], after: int) -> Made:
    word = lower(given, after)
    found = unit(word) if word in SHORT_UNITS or len(word) > 1 else None
    if not found or given[after].kind != "word":
        return as_clock(piece, given, after)
    finer = unit(lower(given, after + 1)) if found.dimension == "temperature" else None  # «degrees Fahrenheit»
    amount = (finer or found).amount(piece.amount)
    sized = replace(piece, text=f"{piece.text} {given[after].text}", amount=amount, dimension=found.dimension)
    return with_half(sized, found.size, given, after + (2 if finer else 1))


def with_half(piece: Piece, size: float, given: Sequence[Piece], after: int) -> Made:
    if [lower(given, after + step) for step in range(3)] == ["and", "a", "half"]:
        return replace(piece, text=f"{piece.text} and a half", amount=piece.amount + size / 2), after + 3
    return added(piece, given, after)


def added(piece: Piece, given: Sequence[Piece], after: int) -> Made:
    """«3 hours 15», «1 h 30 min»."""
    if piece.dimension != "duration" or after >= len(given) or given[after].kind != "number" or piece.amount < HOUR:
        return piece, after
    rest = given[after]
    more = rest.amount if rest.dimension else rest.amount * MINUTE
    whole = replace(piece, text=f"{piece.text} {rest.text}", amount=piece.amount + more)
    return whole, after + (2 if unit(lower(given, after + 1)) else 1)


def as_clock(piece: Piece, given: Sequence[Piece], after: int) -> Made:
    """«at four», «until 22»: an hour, where nothing is counted."""
    ends = after >= len(given) or given[after].kind in ("border", "date") or lower(given, after) in AFTER_HOURS
    whole = piece.amount == int(piece.amount) and 0 < piece.amount <= LAST_HOUR and not piece.dimension
    before = after - len(piece.text.split()) - 1
    if whole and ends and lower(given, before) in BEFORE_HOURS:
        return Piece("clock", piece.text, "", 60 * piece.amount), after
    return piece, after


def texts(given: Sequence[Piece], start: int, end: int) -> str:
    return " ".join(given[place].text for place in range(start, end) if not contracted(given, place))


def contracted(given: Sequence[Piece], place: int) -> bool:
    """«can't» has been cut into «can» and «can't», which stands for «not»."""
    follows = given[place + 1] if place + 1 < len(given) else None
    return follows is not None and follows.lower == "not" and follows.text.lower().startswith(given[place].lower)


def place_name(given: Sequence[Piece], place: int) -> Made | None:
    """«New York» is one name, and not a York that is new."""
    follows = given[place + 1] if place + 1 < len(given) else None
    if given[place].text not in NAME_STARTS or follows is None or follows.kind != "word":
        return None
    whole = texts(given, place, place + 2)
    return (Piece("word", whole, whole.lower()), place + 2) if follows.text[:1].isupper() else None


MAKERS = (phrase, past_the_hour, half_a_unit, a_unit, number)
