"""What units measure, so that ninety minutes and one and a half hours are the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from nacre.text.date_readings import MONTHS, WEEKDAYS
from nacre.text.grammar import AUXILIARIES, Piece, irregular, lower
from nacre.text.similarity import SCALES, SPELLED, SUFFIXES, spelled_out
from nacre.text.tokens import stem

# dimension: unit words with their size
UNITS: dict[str, dict[float, str]] = {
    "duration": {
        1e-6: "us µs microsecond microseconds",
        1e-3: "ms msec millisecond milliseconds",
        1: "s sec secs second seconds",
        60: "min mins minute minutes",
        3600: "h hr hrs hour hours",
        86400: "day days",
        604800: "week weeks wk wks",
        2629800: "month months",
        31557600: "year years yr yrs",
        315576000: "decade decades",
    },
    "bytes": {
        1: "byte bytes b",
        2**10: "kb kib kilobyte kilobytes",
        2**20: "mb mib megabyte megabytes",
        2**30: "gb gib gigabyte gigabytes gigs gig",
        2**40: "tb tib terabyte terabytes",
    },
    "length": {
        1e-3: "mm millimeter millimeters millimetre millimetres",
        1e-2: "cm centimeter centimeters centimetre centimetres",
        1: "m meter meters metre metres",
        1e3: "km kilometer kilometers kilometre kilometres kms",
        0.0254: "inch inches",
        0.3048: "ft foot feet",
        1609.344: "mile miles mi",
    },
    "mass": {
        1e-3: "g gram grams",
        1: "kg kilo kilos kilogram kilograms kgs",
        0.45359237: "lb lbs pound-mass",
        1e3: "ton tons tonne tonnes",
    },
    "volume": {1e-3: "ml milliliter milliliters millilitre", 1: "l liter liters litre litres", 3.785: "gallon gallons"},
    "percent": {1: "% percent pct"},
    "usd": {1: "$ usd dollar dollars bucks", 0.01: "cent cents"},
    "eur": {1: "€ eur euro euros"},
    "gbp": {1: "£ gbp pound pounds quid"},
    "jpy": {1: "¥ jpy yen"},
    "temperature": {1: "° degree degrees °c celsius", 5 / 9: "°f fahrenheit"},
    "speed": {1: "mph kmh kph km/h"},
    "frequency": {1: "hz", 1e3: "khz", 1e6: "mhz", 1e9: "ghz", 1e-9: "rps"},
}


FREEZING = 32  # degrees Fahrenheit


@dataclass(frozen=True, slots=True)
class Unit:
    dimension: str
    size: float

    def amount(self, number: float) -> float:
        """In the dimension's own unit; degrees of temperature do not begin at the same nought."""
        return self.size * (number - FREEZING if self.dimension == "temperature" and self.size != 1 else number)


@cache
def table() -> dict[str, Unit]:
    return {
        word: Unit(dimension, size)
        for dimension, sizes in UNITS.items()
        for size, names in sizes.items()
        for word in names.split()
    }


def unit(word: str) -> Unit | None:
    return table().get(word)


ROUNDING = 1e-6  # a share; ninety minutes are 1.5 hours though neither is exact in binary
# People take a month for thirty days, and a gigabyte for a thousand megabytes or for 1,024.
LOOSE = {"duration": 0.02, "bytes": 0.05}
LOOSE_FROM = 28 * 86400.0  # seconds; shorter spans are meant exactly
HALF_DAY = 720  # minutes; without am or pm seven may be nineteen
MONTH_NAMES = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
YEAR = r"(?:19|20)\d\d"
DAY_NUMBER = r"(?:[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
ISO = re.compile(rf"({YEAR})-(\d\d)(?:-(\d\d))?")
CLOCK = re.compile(r"(\d{1,2})(?::(\d\d))?(?::\d\d)?\s*([ap])?", re.IGNORECASE)
LETTERS = re.compile(r"[a-z]{3,}", re.IGNORECASE)
DIGITS = re.compile(r"\d+")

Date = tuple[int | None, int | None, int | None, int | None]  # year, month, day, weekday; None where it is not said


@dataclass(frozen=True, slots=True)
class Value:
    kind: str  # number, version, score, date, clock
    text: str
    place: int  # among the pieces of its text
    amount: float = 0.0
    dimension: str = ""
    date: Date = (None, None, None, None)
    parts: tuple[str, ...] = ()  # of a version or a score

    @property
    def key(self) -> str:
        """The same for what is equal to the letter, so that values can stand among words."""
        return f"={self.amount:g}{self.dimension}{self.date if self.kind == 'date' else ''}{'.'.join(self.parts)}"

    def comparable(self, other: Value) -> bool:
        if self.kind != other.kind:
            return False
        if self.kind == "date":
            return any(
                mine is not None and theirs is not None for mine, theirs in zip(self.date, other.date, strict=True)
            )
        return self.dimension == other.dimension

    def same(self, other: Value) -> bool:
        """Of comparable values: whether both can be meant by one."""
        if self.kind == "date":
            return agree(self.date, other.date)
        if self.kind == "score":
            return self.parts == other.parts
        if self.kind == "version":
            return all(mine == theirs for mine, theirs in zip(self.parts, other.parts, strict=False))
        if self.kind == "clock":
            return self.amount % HALF_DAY == other.amount % HALF_DAY
        larger = max(abs(self.amount), abs(other.amount))
        loose = self.dimension in LOOSE and (self.dimension != "duration" or larger >= LOOSE_FROM)
        return abs(self.amount - other.amount) <= (LOOSE[self.dimension] if loose else ROUNDING) * larger


def agree(one: Date, other: Date) -> bool:
    return all(mine is None or theirs is None or mine == theirs for mine, theirs in zip(one, other, strict=True))


def read_date(text: str) -> Date:
    """Of a text that is known to be a date: «5 March», «March 5, 2024», «2024-03-05», «Friday»."""
    iso = ISO.fullmatch(text)
    if iso:
        return int(iso[1]), int(iso[2]), int(iso[3]) if iso[3] else None, None
    names = [name[:3].lower() for name in LETTERS.findall(text)]
    month = next((MONTHS.index(name) + 1 for name in names if name in MONTHS), None)
    weekday = next((WEEKDAYS.index(name) for name in names if name in WEEKDAYS), None)
    numbers = [int(digits) for digits in DIGITS.findall(text)]
    year = next((number for number in numbers if number > 31), None)
    return year, month, next((number for number in numbers if number <= 31), None), weekday


def read_clock(text: str) -> float:
    """Minutes after midnight. Without am or pm the hour is taken as it stands."""
    match = CLOCK.match(text)
    if not match:
        return -1.0
    hour = int(match[1])
    if match[3]:
        hour = hour % 12 + (12 if match[3].lower() == "p" else 0)
    return 60.0 * hour + int(match[2] or 0)


# The one word, then the phrases that stand for it; in a phrase «give» is every form of the verb.
PHRASES = {
    "forbid": "off limits, out of bounds, not allowed, not permitted, not ok, not okay, not welcome,"
    " not acceptable, not an option, no place, no go",
    "allow": "feel free, free to, be fine, be ok, be okay, be welcome, up to you, as you see fit, as you like, be"
    " fine with",
    "exclude": "rule out, leave out, leave off",
    "required": "have to, be obliged to, be supposed to, not optional, can not sign in without",
    "outsourced": "by an outside, from an outside",
    "inhouse": "in house",
    "manual": "by hand",
    "dropout": "drop out",
    "keep": "leave in place, stay in, leave as it is, keep as it is",
    "untouched": "leave alone",
    "weakest": "weak spot, weak point",
    "relaxed": "at ease",
    "disable": "turn off, switch off, shut off, opt out, power off",
    "enable": "turn on, switch on, opt in, power on",
    "accept": "say yes",
    "reject": "turn down, say no, turn away, vote down",
    "postpone": "put off, push back, hold off",
    "cancel": "call off",
    "available": "in stock",
    "unavailable": "out of stock, sold out, no longer available",
    "hate": "can not stand, could not stand, can not bear, can not abide, have no time for",
    "fond": "be into, be keen on, be fond of, be a fan of, be big on",
    "punctual": "on time, in time, on schedule",
    "late": "behind schedule, overdue, past due",
    "always": "all year round, year round, all year, at all times, all the time, around the clock, without"
    " exception, every time, from day one, from the start, in every case, every single time",
    "never": "at no time, under no circumstances, in no case, on no account, not once, not ever",
    "maximum": "at most, no more than, not more than, not longer than, no longer than, up to, not exceed, no greater"
    " than",
    "minimum": "at least, no less than, no fewer than, not less than",
    "manage": "look after, take care of, in charge of, be responsible for, responsible for",
    "marry": "tie the knot, get married",
    "divorce": "split up, break up",
    "approve": "sign off, sign off on, give the green light, green light",
    "default": "out of the box, by default",
    "alone": "all alone, on my own, on your own, on his own, on her own, on our own, on their own, by myself,"
    " by himself, by herself, by yourself",
    "start": "set off, kick off, get going",
    "stop": "give up",
    "finish": "wrap up",
    "remove": "get rid of, take out, take off, strip out, rip out",
    "install": "set up",
    "forget": "lose track",
    "fail": "fall through, fall short, break down, go wrong",
    "succeed": "work out, go well, go fine",
    "visible": "in sight, in view",
    "daily": "every day, each day, a day, per day, once a day",
    "weekly": "every week, each week, a week, per week, once a week",
    "monthly": "every month, each month, a month, per month, once a month",
    "yearly": "every year, each year, a year, per year, once a year",
    "nightly": "every night, each night",
    "colored": "in color, in colour",
    "monochrome": "black and white",
    "happen": "take place",
    "walk": "on foot",
    "onsite": "in person, on site, in the office",
    "remote": "from home",
    "offline": "without internet, without network, without a connection",
    "quarterly": "every quarter, each quarter",
}
BEING = frozenset("be is are was were am been being".split())


@cache
def by_first_word() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """Each phrase under its first word, the longest first: «in the office» is not to be read as something shorter."""
    table: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for meaning, phrases in PHRASES.items():
        for phrase in phrases.split(","):
            words = tuple(map(plain, phrase.split()))
            table.setdefault(words[0], []).append((words, meaning))
    return {first: sorted(entries, key=lambda each: -len(each[0])) for first, entries in table.items()}


@lru_cache(maxsize=16384)
def plain(word: str) -> str:
    """Without its ending, so that «gave up» is «give up»; but still itself, and none of its synonyms."""
    return "be" if word in BEING else stem(irregular().get(word, word))


def phrase_at(words: Sequence[str]) -> tuple[str, int] | None:
    """What the phrase that the words begin with means, and how many of them it takes."""
    for phrase, meaning in by_first_word().get(plain(words[0]), ()):
        if len(words) >= len(phrase) and all(
            plain(word) == wanted for word, wanted in zip(words, phrase, strict=False)
        ):
            return meaning, len(phrase)
    return None


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
    for match in SCAN.finditer(text):
        kind, token = match.lastgroup or "", match.group()
        if kind == "word":
            yield from word_pieces(token)
        elif kind == "title":
            yield Piece("word", token, token.rstrip(".").lower())  # its full stop ends no sentence
        elif kind == "number":
            yield number_piece(token)
        else:
            yield Piece("label" if kind == "link" else kind, token, token.lower())


def word_pieces(token: str) -> Iterator[Piece]:
    lower = token.lower().replace("’", "'")
    if lower in WHOLE_NOT or CONTRACTED_NOT.search(lower) or lower in PLAIN_NOT:
        first = WHOLE_NOT.get(lower, (CONTRACTED_NOT.sub("", lower).removesuffix("nt"),))[0]
        yield Piece("word", first, first)
        yield Piece("word", token, "not")
    elif "/" in token and not any(sign in token for sign in "._") and token.count("/") == 1:
        yield from (Piece("word", part, part.lower()) for part in token.split("/"))  # «and/or», «input/output»
    else:
        bare = CONTRACTION.sub("", lower)
        yield Piece("word", token[: len(bare)], bare)


def number_piece(token: str) -> Piece:
    match = GLUED.fullmatch(token)
    if not match:
        return Piece("word", token, token.lower())
    sign, digits, tail = match[1], match[2].replace(",", ""), match[3].strip().lower()
    amount, dimension = float(digits) * (-1 if sign in ("-", "−") else 1), CURRENCIES.get(sign, "")
    if tail in ORDINAL_SIGNS:
        return Piece("number", token, token.lower(), amount, "ordinal")
    measured = unit(tail) if tail else None
    if tail in SUFFIXES and (sign or not measured or tail in ("k", "m", "b")):
        return Piece("number", token, token.lower(), amount * SUFFIXES[tail], dimension)
    if measured:
        return Piece("number", token, token.lower(), measured.amount(amount), measured.dimension)
    if tail:
        return Piece("word", token, token.lower())  # 3x, 2fa: a name
    return Piece("number", token, token.lower(), amount, dimension)


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


def assembled(pieces: Sequence[Piece]) -> Iterator[Piece]:
    place = 0
    while place < len(pieces):
        makers = MAKERS if pieces[place].kind == "number" or pieces[place].lower in STARTS else (place_name, phrase)
        piece, place = next((made for maker in makers if (made := maker(pieces, place))), (pieces[place], place + 1))
        yield piece


def phrase(pieces: Sequence[Piece], place: int) -> Made | None:
    """Several words that mean what one means: «off limits»."""
    near = pieces[place : place + LONGEST_PHRASE]
    match = phrase_at([piece.lower for piece in near]) if pieces[place].kind == "word" else None
    if not match:
        return None
    meaning, length = match
    return Piece("word", texts(pieces, place, place + length), meaning), place + length


def past_the_hour(pieces: Sequence[Piece], place: int) -> Made | None:
    """«half past nine», «quarter to seven», «noon»."""
    first, second, hour = (lower(pieces, place + step) for step in range(3))
    if first in HOURS:
        return Piece("clock", pieces[place].text, first, HOURS[first]), place + 1
    number = SPELLED.get(hour, float(hour) if hour.isdecimal() else 0.0)
    if first not in PARTS or second not in ("past", "to") or not number:
        return None
    minutes = 60 * number + (60 * PARTS[first] if second == "past" else -60 * PARTS[first])
    return Piece("clock", texts(pieces, place, place + 3), "", minutes), place + 3


def half_a_unit(pieces: Sequence[Piece], place: int) -> Made | None:
    """«half an hour», «a quarter of a year», «half a dozen»."""
    share = PARTS.get(lower(pieces, place))
    after = place + 1
    while lower(pieces, after) in ("a", "an", "of"):
        after += 1
    measured = unit(lower(pieces, after))
    if share is None or not measured:
        return None
    return Piece("number", texts(pieces, place, after + 1), "", measured.amount(share), measured.dimension), after + 1


def a_unit(pieces: Sequence[Piece], place: int) -> Made | None:
    """«an hour», «a year and a half»; «a day» has been read as «daily» before."""
    measure = unit(lower(pieces, place + 1))
    written_out = len(lower(pieces, place + 1)) >= SHORTEST_UNIT
    if lower(pieces, place) not in ("a", "an") or not written_out or not measure or measure.dimension != "duration":
        return None
    piece = Piece("number", texts(pieces, place, place + 2), "", measure.size, measure.dimension)
    return with_half(piece, measure.size, pieces, place + 2)


def number(pieces: Sequence[Piece], place: int) -> Made | None:
    """A number in digits or words, with its scale, its unit and what is added in a smaller unit."""
    result = digits(pieces, place) or number_in_words(pieces, place)
    if not result:
        return None
    piece, after = result
    if lower(pieces, place - 1) == "minus":
        piece = replace(piece, amount=-piece.amount)
    scale = SCALES.get(lower(pieces, after))
    if scale:
        piece, after = replace(piece, text=texts(pieces, place, after + 1), amount=piece.amount * scale), after + 1
    return added(piece, pieces, after) if piece.dimension else measured(piece, pieces, after)


def digits(pieces: Sequence[Piece], place: int) -> Made | None:
    return (pieces[place], place + 1) if pieces[place].kind == "number" else None


def number_in_words(pieces: Sequence[Piece], place: int) -> Made | None:
    end = place
    while lower(pieces, end) in NUMBER_WORDS and not (end > place and begins_anew(pieces, end)):
        end += 1
    words = [lower(pieces, at) for at in range(place, end)]
    amount = spelled_out(words)
    if amount is None or (words[0] in SCALES and words[0] != "dozen" and lower(pieces, place - 1) != "a"):
        return None
    if words == ["one"] and not (unit(lower(pieces, end)) or lower(pieces, place - 1) in BEFORE_ONE):
        return None  # «one of us», «the one»
    return Piece("number", texts(pieces, place, end), " ".join(words), amount), end


def begins_anew(pieces: Sequence[Piece], place: int) -> bool:
    """«three four» are two numbers; «twenty four» is one."""
    before, here = SPELLED.get(lower(pieces, place - 1)), SPELLED.get(lower(pieces, place))
    return before is not None and here is not None and (before < SPELLED["twenty"] or here >= SPELLED["ten"])


def measured(piece: Piece, pieces: Sequence[Piece], after: int) -> Made:
    word = lower(pieces, after)
    measure = unit(word) if word in SHORT_UNITS or len(word) > 1 else None
    if not measure or pieces[after].kind != "word":
        return as_clock(piece, pieces, after)
    finer = unit(lower(pieces, after + 1)) if measure.dimension == "temperature" else None  # «degrees Fahrenheit»
    amount = (finer or measure).amount(piece.amount)
    sized = replace(piece, text=f"{piece.text} {pieces[after].text}", amount=amount, dimension=measure.dimension)
    return with_half(sized, measure.size, pieces, after + (2 if finer else 1))


def with_half(piece: Piece, size: float, pieces: Sequence[Piece], after: int) -> Made:
    if [lower(pieces, after + step) for step in range(3)] == ["and", "a", "half"]:
        return replace(piece, text=f"{piece.text} and a half", amount=piece.amount + size / 2), after + 3
    return added(piece, pieces, after)


def added(piece: Piece, pieces: Sequence[Piece], after: int) -> Made:
    """«3 hours 15», «1 h 30 min»."""
    if piece.dimension != "duration" or after >= len(pieces) or pieces[after].kind != "number" or piece.amount < HOUR:
        return piece, after
    rest = pieces[after]
    more = rest.amount if rest.dimension else rest.amount * MINUTE
    total = replace(piece, text=f"{piece.text} {rest.text}", amount=piece.amount + more)
    return total, after + (2 if unit(lower(pieces, after + 1)) else 1)


def as_clock(piece: Piece, pieces: Sequence[Piece], after: int) -> Made:
    """«at four», «until 22»: an hour, where nothing is counted."""
    ends = after >= len(pieces) or pieces[after].kind in ("border", "date") or lower(pieces, after) in AFTER_HOURS
    full_hour = piece.amount == int(piece.amount) and 0 < piece.amount <= LAST_HOUR and not piece.dimension
    before = after - len(piece.text.split()) - 1
    if full_hour and ends and lower(pieces, before) in BEFORE_HOURS:
        return Piece("clock", piece.text, "", 60 * piece.amount), after
    return piece, after


def texts(pieces: Sequence[Piece], start: int, end: int) -> str:
    return " ".join(pieces[place].text for place in range(start, end) if not contracted(pieces, place))


def contracted(pieces: Sequence[Piece], place: int) -> bool:
    """«can't» has been cut into «can» and «can't», which stands for «not»."""
    follows = pieces[place + 1] if place + 1 < len(pieces) else None
    return follows is not None and follows.lower == "not" and follows.text.lower().startswith(pieces[place].lower)


def place_name(pieces: Sequence[Piece], place: int) -> Made | None:
    """«New York» is one name, and not a York that is new."""
    follows = pieces[place + 1] if place + 1 < len(pieces) else None
    if pieces[place].text not in NAME_STARTS or follows is None or follows.kind != "word":
        return None
    name = texts(pieces, place, place + 2)
    return (Piece("word", name, name.lower()), place + 2) if follows.text[:1].isupper() else None


MAKERS = (phrase, past_the_hour, half_a_unit, a_unit, number)
