"""The names in a text, of people, places, firms and things, as far as capitals and a few lists tell them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from nacre.text.closed_classes import AUXILIARIES
from nacre.text.name_words import (
    ACRONYMS_LIKE_WORDS,
    CAPITAL_ORDINARY,
    DATING,
    GIVEN_NAMES,
    INSTITUTIONS,
    MONTHS,
    NAME_LIKE_MONTHS,
    NAME_OPENERS,
    PARTICLES,
    TITLES,
    WEEKDAYS,
    is_closed,
    is_ordinary,
    is_plain_verb,
    starts_a_statement,
)

LONGEST = 20_000  # characters; whoever is not named in so many is not what the text is about
# Addresses, paths and code: their capitals mean nothing.
NO_PROSE = re.compile(r"`[^`\n]{0,200}`|(?<!\S)\S*(?:://|@|\\|[^\W_]/[^\W_]|[^\W_]_[^\W_]|[^\W_]\.[^\W\d_]{2}|\(\))\S*")
# Letters and digits, joined by an apostrophe, a hyphen or an ampersand: O'Brien, Al-Hassan, AT&T.
WORD = re.compile(r"[^\W_]++(?:['’&-][^\W_]++)*+")
CONTRACTION = re.compile(r"['’](?:s|ll|d|re|ve|m)\Z", re.IGNORECASE)
SENTENCE_ENDS = re.compile(r"[.!?…;\n\"“”«»•*#>|]")
SPACE = re.compile(r"[ \t]+(?:&[ \t]+)?")
FULL_STOP = re.compile(r"\.[ \t]*")
SIGNED = re.compile(r"['’-]")
LONGEST_ACRONYM = 6  # letters; «UNICEF» is one, «IMPORTANT» is loud
MOST_SHOUTED = 0.6  # of a sentence's words in capitals
SHORTEST = 3  # letters of a single name that stands for the whole fact


@dataclass(frozen=True, slots=True)
class Word:
    text: str  # without 's and its like
    gap: str  # what stands between the word before and this one
    begins: bool  # a sentence
    owns: bool  # had an 's
    shouted: bool = False

    @property
    def lower(self) -> str:
        return self.text.lower()

    @property
    def capital(self) -> bool:
        return self.text[0].isupper()

    @property
    def initial(self) -> bool:
        return len(self.text) == 1 and self.capital

    @property
    def all_capital(self) -> bool:
        return len(self.text) > 1 and self.text.isupper()

    @property
    def marked(self) -> bool:
        """Spelled as no ordinary word is: GitHub, NASA, O'Brien."""
        return any(sign.isupper() or sign.isdigit() for sign in self.text[1:])


def extract_entity_name(content: str, concept: str = "") -> str:
    """The name that a fact is about, in small letters; empty where there is none. The concept is asked first.

    The longest of several words (or with an apostrophe or a hyphen) wins; else the first single one that stands
    inside a sentence, where a capital tells.
    """
    for text in (concept, content):
        runs = [run for run, _ in capital_runs(prose(text))]
        long = [spelled(run) for run in runs if len(run) > 1 or (SIGNED.search(run[0].text) and run[0].marked)]
        single = (run[0].text for run in runs if not run[0].begins and len(run[0].text) >= SHORTEST)
        if found := max(long, key=len, default="") or next(single, ""):
            return found.replace("’", "'").lower()
    return ""


def entity_names(text: str) -> tuple[str, ...]:
    """Every name, as written and without 's, in the order in which they come, each once."""
    runs = list(capital_runs(prose(text)))
    inside = {word.lower for run, _ in runs for word in run if not word.begins and ":" not in word.gap}
    return tuple(dict.fromkeys(spelled(run) for run, after in runs if is_name(run, after, inside)))


def prose(text: str) -> list[Word]:
    words: list[Word] = []
    text, end = NO_PROSE.sub(" , ", text[:LONGEST]), 0
    for match in WORD.finditer(text):
        given, gap = match.group(), text[end : match.start()]
        bare = CONTRACTION.sub("", given)
        begins = not words or (SENTENCE_ENDS.search(gap) is not None and not abbreviated(words[-1], gap))
        words.append(Word(bare, gap, begins, owns=given[len(bare) :].lower() in ("'s", "’s")))
        end = match.end()
    return [word for sentence in sentences(words) for word in sentence]


def abbreviated(word: Word, gap: str) -> bool:
    """The full stop after an initial or a title ends no sentence."""
    return FULL_STOP.fullmatch(gap) is not None and (word.initial or word.lower in TITLES | {"st"})


def sentences(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Each with its words marked where the whole of it is shouted: there a capital tells nothing."""
    number = 0
    numbered = [(number := number + word.begins, word) for word in words]
    for _, group in groupby(numbered, key=lambda each: each[0]):
        sentence = [word for _, word in group]
        loud = [word for word in sentence if word.all_capital]
        spoken = any(is_ordinary(word.lower) or len(word.text) > LONGEST_ACRONYM for word in loud)
        shouted = len(loud) > 1 and spoken and len(loud) >= MOST_SHOUTED * len(sentence)
        yield [replace(word, shouted=True) for word in sentence] if shouted else sentence


def capital_runs(words: Sequence[Word]) -> Iterator[tuple[list[Word], Word | None]]:
    """Capital words that stand together and may be one name, each run with the word after it."""
    run: list[Word] = []
    for place, word in enumerate(words):
        joined = bool(run) and not run[-1].owns and joins(run[-1], word)
        if joined and inner(run, words, place):
            run.append(word)
        elif may_name(words, place, run if joined else []):
            if run and not joined:
                yield from whole(run, word)
                run = []
            run.append(word)
        else:
            yield from whole(run, word)
            run = []
    yield from whole(run, None)


def joins(before: Word, word: Word) -> bool:
    if SPACE.fullmatch(word.gap):
        return True
    return FULL_STOP.fullmatch(word.gap) is not None and (before.initial or before.lower == "st")


def inner(run: Sequence[Word], words: Sequence[Word], place: int) -> bool:
    """The small words inside a name, with a capital one to come: Ludwig van Beethoven, the Bank of England."""
    word, rest = words[place], words[place + 1 : place + 3]
    ahead = bool(rest) and SPACE.fullmatch(rest[0].gap) is not None
    if word.lower in PARTICLES and not word.capital:
        small = ahead and rest[0].lower in PARTICLES
        return ahead and (rest[0].capital or (small and len(rest) > 1 and rest[1].capital))
    of = word.text == "of" and run[-1].lower in INSTITUTIONS
    article = word.text == "the" and run[-1].text == "of"
    return ahead and ((of and (rest[0].capital or rest[0].text == "the")) or (article and rest[0].capital))


def may_name(words: Sequence[Word], place: int, run: Sequence[Word]) -> bool:
    word = words[place]
    after = words[place + 1] if place + 1 < len(words) else None
    leads = after is not None and after.capital and not after.begins and joins(word, after)
    if not word.capital or word.shouted or word.lower in TITLES:
        return False
    if word.initial:
        return bool(run) or (leads and after is not None and after.gap.startswith("."))
    if word.lower in WEEKDAYS or word.lower in MONTHS:
        dated = place > 0 and not word.begins and words[place - 1].lower in DATING
        return leads and word.lower in NAME_LIKE_MONTHS and not dated
    if word.all_capital:
        return acronym(word.text) or (bool(run) and not is_closed(word.lower))
    if word.lower in NAME_OPENERS and leads:
        return True
    if word.lower in GIVEN_NAMES:
        return leads or not word.begins or not is_closed(word.lower)
    return not is_closed(word.lower) and not (word.begins and leads and is_ordinary(word.lower))


def acronym(text: str) -> bool:
    lower = text.lower()
    if lower in ACRONYMS_LIKE_WORDS:
        return True
    return len(text) <= LONGEST_ACRONYM and lower not in CAPITAL_ORDINARY and not is_ordinary(lower)


def whole(run: Sequence[Word], after: Word | None) -> Iterator[tuple[list[Word], Word | None]]:
    """«Will Sarah come» asks about Sarah, «Will Smith came» tells of Will Smith."""
    asks = len(run) > 1 and run[0].begins and run[0].lower in AUXILIARIES and after is not None
    named = list(run[1:] if asks and after is not None and is_plain_verb(after.lower) else run)
    if named and not (len(named) == 1 and named[0].initial):
        yield named, after


def is_name(run: Sequence[Word], after: Word | None, inside: set[str]) -> bool:
    """At a sentence's beginning every word has a capital: a single one there needs more to be a name."""
    first = run[0]
    if len(run) > 1 or first.marked or first.lower in inside:
        return True
    if not first.begins:
        return ":" not in first.gap or not is_ordinary(first.lower)  # «Status: Approved»
    if is_ordinary(first.lower):
        return False
    if first.owns:
        return True
    if after is None or after.begins:
        return False
    if not SPACE.fullmatch(after.gap):  # «Tom, Dick and Harry»
        return after.gap.strip() == "," and after.capital and not is_ordinary(after.lower)
    return starts_a_statement(first.lower, after.lower) or after.lower == "and"


def spelled(run: Sequence[Word]) -> str:
    return run[0].text + "".join(f"{' '.join(word.gap.split(' '))}{word.text}" for word in run[1:])
