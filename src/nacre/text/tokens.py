"""Cuts text of any script into the words that a search compares."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, combinations, pairwise

import Stemmer

from nacre.files import data_words

# Scripts written without spaces between words: each run is cut into overlapping pairs, which find any word in it.
UNSPACED = (
    "\u0e00-\u0e7f"  # Thai
    "\u0e80-\u0eff"  # Lao
    "\u1000-\u109f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\U00020000-\U0003ffff"  # Han, the later extensions
)
UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
# Signs that belong to the letter before them: accents, Hebrew and Arabic points, the vowels of the Indic scripts.
MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u0900-\u0963\u0966-\u0dff"  # without the danda, which ends a sentence
    "\u0e31-\u0e4e\u102b-\u103e\u17b4-\u17d3"
)
LETTERS = rf"(?:[^\W_]|[{MARKS}])++"
# A word, or an identifier held together by what programmers put inside names: a.b, a/b, a-b, a_b, a::b, a@b, v1.2.
# Possessive throughout: a thousand colons after a letter must not be tried in every combination.
WORD = re.compile(rf"{LETTERS}(?:(?:->|[._/\\:@'’-])*+{LETTERS})*+|[^\w\s]")
PART = re.compile(LETTERS)
CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
POSSESSIVE = re.compile(r"['’]s\b")
APOSTROPHE_SIGNS = "'’"
APOSTROPHES = re.compile(f"[{APOSTROPHE_SIGNS}]")
# Only from the first letter of a run on: a long one must not be tried at each of its letters.
APOSTROPHED = re.compile(rf"(?<![^\W_])(?<![{MARKS}]){LETTERS}(?:['’]{LETTERS})+")
CONTRACTION = re.compile(r"['’](?:t|m|d|re|ve|ll)\Z", re.IGNORECASE)  # of English: «don't» is one word
SHORTEST_PART = 3  # letters of a word beside an apostrophe; shorter ones are articles and endings
# The same signs in another width, as Japanese and Chinese texts have them.
OTHER_WIDTHS = re.compile("[\uff01-\uffee]+")
# Letters that Unicode does not decompose into a plain letter and an accent.
UNFOLDED = str.maketrans(
    {"ß": "ss", "ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
# Soft hyphens, joiners, places where a line may break, and marks of direction; not the non-joiner of Persian, which
# parts the words that it stands between.
INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200d-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+|(?<![\u0600-\u06ff])\u200c"
)
JOINTS = re.compile(rf"[^\w{MARKS}]+")
LONGEST = 64  # a longer "word" is data, not language; its head is enough to find it
AROUND_WORDS = '.,;:!?()"'  # signs that are no part of a word and no word themselves
# Words between two blanks whose stems are remembered: a hundred thousand memories have hardly more that repeat. What is
# behind it (`cut_once`, `folded`, `stem`) is only asked about the others.
CACHED, CACHED_BEHIND = 32768, 8192


def words(text: str) -> list[str]:
    """Lowercase words without accents; an identifier gives itself, whole, and its parts, and so does a word with an
    apostrophe («l'hôtel», «Ankara'da»)."""
    runs = WORD.findall(composed(text))
    # Some signs are a whole phrase taken apart, spaces and all; others nothing but a space.
    return [word for run in runs for piece in known(run) for word in piece.split()]


def composed(text: str) -> str:
    """As it is read: without the invisible signs inside words that web pages and word processors leave."""
    if text.isascii():
        return text
    text = OTHER_WIDTHS.sub(lambda match: unicodedata.normalize("NFKC", match.group()), without_invisible(text))
    return unicodedata.normalize("NFC", text)


def without_invisible(text: str) -> str:
    return text if text.isascii() else INVISIBLE.sub("", text)


def known(run: str) -> tuple[str, ...]:
    """Cached, because words repeat; not for long runs, which are data."""
    return cut_once(run) if len(run) <= LONGEST else tuple(pieces(run))


@lru_cache(maxsize=CACHED_BEHIND)
def cut_once(run: str) -> tuple[str, ...]:
    return tuple(pieces(run))


def pieces(run: str) -> Iterator[str]:
    if len(run) == 1 and not run.isalnum():
        if unicodedata.category(run) == "So":  # emoji and other pictures carry meaning, other signs do not
            yield run
        return
    run = POSSESSIVE.sub("", run)
    parts = PART.findall(APOSTROPHES.sub("", run))
    if len(parts) > 1:
        yield JOINTS.sub("_", folded(APOSTROPHES.sub("", run))).strip("_")[:LONGEST]
    plain = [piece for part in parts for piece in part_pieces(part)]
    yield from plain
    beside = (piece for _, words_in in apostrophed(run) for word in words_in for piece in part_pieces(word))
    yield from (piece for piece in beside if piece not in plain)


def apostrophed(text: str) -> Iterator[tuple[str, list[str]]]:
    """What is written with an apostrophe: whole, without it, and the words in it. The whole is also what the index has
    of texts that were stored before the words in it were."""
    for match in APOSTROPHED.finditer(text):
        run = POSSESSIVE.sub("", match.group())
        if not CONTRACTION.search(run):
            words_beside = [part for part in APOSTROPHES.split(run) if len(part) >= SHORTEST_PART]
            if words_beside and words_beside != [run]:
                yield APOSTROPHES.sub("", run), words_beside


def part_pieces(part: str) -> Iterator[str]:
    if UNSPACED_RUN.search(part):
        yield from unspaced(part)
        return
    yield folded(part)[:LONGEST]
    humps = CAMEL.findall(part) if not part.islower() and not part.isupper() and part.isascii() else ()
    if len(humps) > 1:
        yield from (hump.lower() for hump in humps if len(hump) > 1)


def unspaced(part: str) -> Iterator[str]:
    last = 0
    for run in UNSPACED_RUN.finditer(part):
        if run.start() > last:
            yield folded(part[last : run.start()])
        last = run.end()
        signs = run.group()
        yield from (signs[i : i + 2] for i in range(max(1, len(signs) - 1)))
    if last < len(part):
        yield folded(part[last:])


@lru_cache(maxsize=CACHED_BEHIND)
def folded(word: str) -> str:
    """Lowercase, accents removed from Latin, Greek and Cyrillic letters: «Café» is found by «cafe»."""
    return folded_but_letters(word).translate(UNFOLDED)


def folded_but_letters(word: str) -> str:
    """As `folded`, but for the letters that Unicode does not decompose: so the index has texts of earlier versions."""
    lowered = word.lower()
    if lowered.isascii():
        return lowered
    taken_apart = unicodedata.normalize("NFKD", lowered)
    bare = "".join(sign for sign in taken_apart if not "\u0300" <= sign <= "\u036f")
    return unicodedata.normalize("NFC", bare).lower()  # a mathematical 𝑨 is small only once it is an A


# Scripts whose main language has a good stemmer.
SCRIPTS = (("\u0400", "\u04ff", "russian"), ("\u0370", "\u03ff", "greek"), ("\u0600", "\u06ff", "arabic"))
DEFAULT = "english"

WORD_LISTS = data_words("text/words.txt")
STOP_WORDS = WORD_LISTS["stop words"]

_local = threading.local()


def stems(text: str) -> list[str]:
    return joined_stems([text]).split()


def content_stems(text: str) -> list[str]:
    """The stems of a question that are worth looking for, each once, in order.

    When nothing but common words is left, those are what was meant ("who am I"). Of «l'hôtel» the word in it is looked
    for; see `spellings`.
    """
    text = composed(text)
    runs = text.split()
    if not any(sign in text for sign in APOSTROPHE_SIGNS) and max(map(len, runs), default=0) <= LONGEST:
        known_stems = dict.fromkeys(chain.from_iterable(map(content_stems_once, runs)))
        if known_stems:
            return list(known_stems)
    joined = {folded(each) for each, _ in apostrophed(text)}
    all_words = [word for word in words(text) if word not in joined]
    wanted = [word for word in all_words if word not in STOP_WORDS]
    return list(dict.fromkeys(stem(word) for word in wanted or all_words))


@lru_cache(maxsize=CACHED)
def content_stems_once(run: str) -> tuple[str, ...]:
    """Of what stands between two blanks, without apostrophes."""
    return tuple(stem(word) for word in words(run) if word not in STOP_WORDS)


@lru_cache(maxsize=CACHED_BEHIND)
def stem(word: str) -> str:
    if has_digit(word) or "_" in word:
        return word  # an identifier, a version or a number stays as it is
    stemmed: str = stemmer(language(word)).stemWord(word)
    return stemmed


def language(word: str) -> str:
    for first, last, name in SCRIPTS:
        if first <= word[:1] <= last:
            return name
    return DEFAULT


def stemmer(name: str) -> Stemmer.Stemmer:
    # A stemmer keeps state while it works; each thread has its own.
    held: dict[str, Stemmer.Stemmer] = _local.__dict__.setdefault("stemmers", {})
    if name not in held:
        held[name] = Stemmer.Stemmer(name)
    return held[name]


def joined_stems(texts: Sequence[str]) -> str:
    """Piece by piece between blanks, since no word reaches over one: most of them were met before."""
    runs = " ".join(texts).split()
    if not runs:
        return ""
    short = max(map(len, runs)) <= LONGEST
    return " ".join(filter(None, map(stemmed_once if short else stems_between_blanks, runs)))


def stems_between_blanks(run: str) -> str:
    return stemmed_once(run) if len(run) <= LONGEST else " ".join(map(stem, words(run)))


@lru_cache(maxsize=CACHED)
def stemmed_once(run: str) -> str:
    """Of one word in plain letters, with marks around it, `words` would give that word in small letters, or the digits
    as they are: these are spared the regular expressions."""
    core = run.strip(AROUND_WORDS)
    if core.isascii() and core.isalnum() and len(core) <= LONGEST:
        if core.isdigit():
            return core
        if core.islower() or core.isupper() or (core.isalpha() and core[1:].islower()):
            return stem(core.lower())
    return " ".join(map(stem, words(run)))


# What people leave out of an identifier or put into it: TN-3430, TN 3430 and TN3430 are the same. A point is not among
# them, 2.5 is not 25.
BETWEEN_PIECES = frozenset(" \u00a0\u202f_-\u2010\u2011")
LETTERS_OR_DIGITS = re.compile(r"[^\W\d_]+|\d+")
# Signs inside one token, next to which no identifier begins or ends: «version 2.5» does not contain «version2».
HOLDS_TOGETHER = re.compile(r"(?<=\w)[.,/\\:@'’](?=\w)")
MOST_PIECES = 9  # of an IBAN in groups
# Numbers below have other meanings when they are joined or cut: 20-30 is not 2030.
FEWEST_DIGITS = 5
# The groups in which people write a number, and the most digits that are cut in every such way: 36 for a phone number
# of twelve digits. Of longer ones only the groups of four of an IBAN or a card are tried.
GROUPS, MOST_DIGITS, LONG_GROUP = (2, 3, 4), 12, 4
THOUSANDS = 3  # digits of a group
FEWEST_IN_THOUSANDS = 4  # 1,535
IN_THOUSANDS = re.compile(r"(?<![\w.,'’])\d{1,3}(?P<sign>[.,'’])\d{3}(?:(?P=sign)\d{3})*(?!\w|[.,'’]\d)")
YEAR = re.compile(r"(?:19|20)\d\d")  # seldom written as 2,026
MOST_BORDERS = 3  # between letters and digits: B204X7 has three


def spellings(text: str) -> dict[str, tuple[str, ...]]:
    """Other spellings of the identifiers and numbers in a text, by stem; each is one stem, or several in a row. TN3430
    gives {tn3430: "tn 3430"}, and 1535 gives {1535: "1 535"}; TN-3430 gives "tn3430" for tn, 3430 and tn_3430, and for
    the last also "tn 3430". «l'hôtel» gives {hotel: "lhotel"}, and «Straße» what the index of an earlier version has.
    """
    text = composed(text)
    forms_of: dict[str, dict[str, None]] = {}
    for pieces in (*filter(is_identifier, stretches(text)), *in_thousands(text)):
        joined = "".join(pieces)
        for each in map(stem, pieces):
            forms_of.setdefault(each, {})[joined] = None
        forms_of.setdefault("_".join(pieces), {}).update({joined: None, " ".join(map(stem, pieces)): None})
    for part in PART.findall(text):
        new, before = folded(part), folded_but_letters(part)
        if cut := tuple(cuts(new)):
            forms_of.setdefault(new, {}).update(dict.fromkeys(cut))
        if before != new:
            forms_of.setdefault(stem(new), {})[stem(before)] = None
    for joined, words_beside in apostrophed(text):
        for word in words_beside:
            forms_of.setdefault(stem(folded(word)), {})[stem(folded(joined))] = None
    return {each: tuple(forms) for each, forms in forms_of.items()}


# Words that are written as one, with a hyphen or apart: Kickoff, Kick-off, kick off.
HYPHENATED = re.compile(rf"(?<![^\W_])(?<![-\u2010\u2011]){LETTERS}(?:[-\u2010\u2011]{LETTERS})++")
MOST_JOINED = 3  # pieces between hyphens; of more, the pieces say enough
# The second words of what is also written as one; other common words are none: «the log» is not «thelog».
PARTICLES = frozenset("down in off on out over up".split())
SHORTEST_CUT, LONGEST_CUT = 5, 16  # letters of a word that may have had a hyphen; longer ones would be cut too often


def compounds(text: str) -> dict[str, tuple[str, ...]]:
    """Other ways to write the words of a text that may be one, hyphenated or apart, by stem, as `spellings`; those of
    hyphenated words first. Kick-off gives {kick_off: "kickoff" and "kick off", kick: "kickoff"}, Kickoff gives
    {kickoff: "kick_off", …}, and the same for every other place in it, of which none is in the index as a rule."""
    text = composed(text)
    forms_of: dict[str, dict[str, None]] = {}
    for match in HYPHENATED.finditer(text):
        pieces = [folded(part) for part in PART.findall(match.group())]
        if len(pieces) > MOST_JOINED or any(map(has_digit, pieces)) or UNSPACED_RUN.search(match.group()):
            continue
        joined = stem("".join(pieces))
        forms_of.setdefault("_".join(pieces), {}).update({joined: None, " ".join(map(stem, pieces)): None})
        for each in map(stem, pieces):
            forms_of.setdefault(each, {})[joined] = None
    parts = [(part, folded(part.group())) for part in PART.finditer(text)]
    for (before, one), (after, other) in pairwise(parts):
        if text[before.end() : after.start()] == " " and may_be_one(one, other):
            for each in (one, other):
                forms_of.setdefault(stem(each), {}).update({stem(one + other): None, f"{one}_{other}": None})
    for _, word in parts:
        if SHORTEST_CUT <= len(word) <= LONGEST_CUT and word.isalpha() and not UNSPACED_RUN.search(word):
            hyphenated = (f"{word[:at]}_{word[at:]}" for at in range(1, len(word) - 1))
            forms_of.setdefault(stem(word), {}).update(dict.fromkeys(hyphenated))
    return {each: tuple(forms) for each, forms in forms_of.items()}


def may_be_one(one: str, other: str) -> bool:
    known = (one, other)
    plain = all(each.isalpha() and not UNSPACED_RUN.search(each) for each in known)
    return plain and one not in STOP_WORDS and (other not in STOP_WORDS or other in PARTICLES)


def is_identifier(pieces: Sequence[str]) -> bool:
    joined = "".join(pieces)
    return has_digit(joined) and (not joined.isdigit() or len(joined) >= FEWEST_DIGITS)


def in_thousands(text: str) -> Iterator[tuple[str, ...]]:
    """The groups of three digits of each amount: 1,250,000."""
    for match in IN_THOUSANDS.finditer(text):
        yield tuple(re.split(r"\D", match.group()))


def stretches(text: str) -> Iterator[tuple[str, ...]]:
    """Neighbouring pieces of what may be one identifier. Across a blank at most the first and the last of them have no
    digit, and neither is a common word."""
    parts = list(PART.finditer(text))
    for first, start in enumerate(parts):
        pieces = [folded(start.group())]
        if HOLDS_TOGETHER.match(text, max(0, start.start() - 1)):
            continue
        for before, part in zip(parts[first:], parts[first + 1 : first + MOST_PIECES], strict=False):
            between, piece = text[before.end() : part.start()], folded(part.group())
            if between not in BETWEEN_PIECES or (between.isspace() and STOP_WORDS.intersection((pieces[0], piece))):
                break
            pieces.append(piece)
            if not HOLDS_TOGETHER.match(text, part.end()):
                yield tuple(pieces)
            if between.isspace() and not has_digit(piece):
                break


def cuts(part: str) -> Iterator[str]:
    """The ways to write an identifier in several pieces."""
    if part.isdigit():
        if FEWEST_DIGITS <= len(part) <= MOST_DIGITS:
            yield from (" ".join(groups) for groups in grouped(part) if len(groups) > 1)
        if FEWEST_IN_THOUSANDS <= len(part) <= MOST_DIGITS and len(part) % THOUSANDS == 1 and not YEAR.fullmatch(part):
            yield " ".join(cut_at(part, range(1, len(part), THOUSANDS)))
    else:
        runs = [run.end() for run in LETTERS_OR_DIGITS.finditer(part)][:-1]
        if len(runs) <= MOST_BORDERS:
            chosen = (at for n in range(len(runs)) for at in combinations(runs, n + 1))
            yield from (" ".join(map(stem, cut_at(part, at))) for at in chosen)
    if MOST_DIGITS < len(part) <= LONGEST and has_digit(part):
        yield " ".join(cut_at(part, range(LONG_GROUP, len(part), LONG_GROUP)))


def grouped(digits: str) -> Iterator[tuple[str, ...]]:
    if not digits:
        yield ()
    for size in GROUPS:
        if size <= len(digits):
            yield from ((digits[:size], *rest) for rest in grouped(digits[size:]))


def has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def cut_at(part: str, places: Iterable[int]) -> list[str]:
    ends = [*places, len(part)]
    return [part[start:end] for start, end in zip([0, *ends], ends, strict=False)]


# After a sentence's end mark (with its closing quotes) and space, after a full-width mark, or at a line's end.
BORDER = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？])|\n+")
WORD_BORDER = re.compile(r"\s+")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Spans that cover the text without a gap; each holds its trailing space."""
    return spans(text, 0, len(text), BORDER)


def sentences(text: str) -> list[str]:
    return [each for start, end in sentence_spans(text) if (each := text[start:end].strip())]


# «We deploy on Fridays now, can you change the plan?» tells something before it asks.
TELLS_FIRST = re.compile(
    r"(?:i|i['’](?:m|ve|d)|we|we['’](?:re|ve)|my|our|since|because|given|ich|wir|mein|unser|je|j['’]|nous|mon|notre|tengo"
    r"|estoy|mi|nuestr[oa])\b[^?]{15,}?[,;:]\s",
    re.IGNORECASE,
)


QUESTION_ENDS = ("?", "？")


def only_asks(text: str) -> bool:
    """Whether every sentence is a question and nothing else; a fact may come with one, or stand before it."""
    end = text.rstrip()
    if end and not end.endswith(QUESTION_ENDS):  # most texts: what ends like this need not be cut into sentences
        return False
    return all(each.endswith(QUESTION_ENDS) and not TELLS_FIRST.match(each) for each in sentences(text))


def excerpt(text: str, wanted: frozenset[str], longest: int) -> str:
    """The sentences around the one that has most of the wanted stems, in at most so many characters; an ellipsis stands
    where something was left out. A stem counts the less, the more sentences have it: what a note is about stands in
    many. A text that is short enough stays whole."""
    if len(text) <= longest:
        return text
    parts = [text[start:end] for start, end in sentence_spans(text)]
    stems_of_parts = [wanted.intersection(stems(part)) for part in parts]
    holding = Counter(each for some in stems_of_parts for each in some)
    best = max(range(len(parts)), key=lambda at: sum(1 / holding[each] for each in stems_of_parts[at]))
    first, last = best, best + 1
    while last < len(parts) and sum(map(len, parts[first : last + 1])) <= longest:
        last += 1
    while first > 0 and sum(map(len, parts[first - 1 : last])) <= longest:
        first -= 1
    kept = " ".join(part.strip() for part in parts[first:last])[:longest]
    return f"{'… ' if first else ''}{kept}{' …' if last < len(parts) or len(kept) == longest else ''}"


def word_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return spans(text, start, end, WORD_BORDER)


def spans(text: str, start: int, end: int, border: re.Pattern[str]) -> list[tuple[int, int]]:
    cuts = [cut.end() for cut in border.finditer(text, start, end) if start < cut.end() < end]
    return list(zip([start, *cuts], [*cuts, end], strict=True))
