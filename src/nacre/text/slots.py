"""Finds the one place where two statements differ: «Use ___ for linting»."""

from __future__ import annotations

from itertools import pairwise, takewhile

from nacre.text.frames import Frame, nouns
from nacre.text.predicates import exclusive_words, multiple_words, verb_words
from nacre.text.statements import Word

Words = tuple[Word, ...]
COPULA = frozenset(("is", "are", "was", "were", "am", "be"))
SHORTEST_FRAME = 2  # words around a slot; fewer say nothing
SMALL_DIFFERENCE = 2  # words
WIDEST_SLOT = 4  # words that can be put in the place of others as one value: «the United Arab Emirates»
FURTHEST_APART = 2  # places; the words of one phrase have at most a small word between them
MOST_BESIDE_NAMES = 1  # words that the sparser text may have alone, besides the names that differ


def slot(given: Frame) -> tuple[str, str] | None:
    """What stands in the one place where two texts that are else alike, word for word, differ.

    None where values add up («speaks»), and where the place is the subject or the verb.
    """
    return difference(given, given.a.whole, given.b.whole) or difference(given, given.a.sequence, given.b.sequence)


def difference(given: Frame, a: Words, b: Words) -> tuple[str, str] | None:
    mine, theirs = unlike(a, b)
    framed = len(a) - len(mine) >= SHORTEST_FRAME and bool(given.shared)
    if not framed or not one_phrase(mine) or not one_phrase(theirs) or not is_value(given, mine + theirs):
        return None
    return " ".join(word.text for word in mine), " ".join(word.text for word in theirs)


def unlike(a: Words, b: Words) -> tuple[Words, Words]:
    """What is left of each when the words that both begin with, and those that both end with, are taken off."""
    head = agreeing(a, b)
    rest_a, rest_b = a[head:], b[head:]
    tail = agreeing(rest_a[::-1], rest_b[::-1])
    return rest_a[: len(rest_a) - tail], rest_b[: len(rest_b) - tail]


def agreeing(a: Words, b: Words) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0].key == pair[1].key, zip(a, b, strict=False)))


def one_place(given: Frame) -> bool:
    """Whether the texts are alike word for word but for a word or two."""
    mine, theirs = unlike(given.a.whole, given.b.whole)
    return bool(given.shared) and 0 < max(len(mine), len(theirs)) <= SMALL_DIFFERENCE


def one_phrase(words: Words) -> bool:
    together = all(second.place - first.place <= FURTHEST_APART for first, second in pairwise(words))
    return 0 < len(words) <= WIDEST_SLOT and together and not any(word.key.startswith("=") for word in words)


def is_value(given: Frame, words: Words) -> bool:
    keys = {word.key for word in words}
    elsewhere = given.a.subject | given.b.subject | verb_words()
    return keys <= given.a.keys | given.b.keys and not keys & elsewhere and not adds_up(given)


def adds_up(given: Frame) -> bool:
    """Whether a second value joins the first: who speaks French may speak German."""
    return bool(({given.a.verb, given.b.verb} | given.shared) & multiple_words())


def describes(given: Frame, slots: tuple[str, str]) -> bool:
    """Whether the differing words are qualities that can all be true of one thing: «is tall», «is kind»."""
    named = any(word[:1].isupper() or word[:1].isdigit() for text in slots for word in text.split())
    attribute = given.a.subject & given.b.subject & exclusive_words()
    return bool({given.a.verb, given.b.verb} & COPULA) and not named and not attribute


def parallel(given: Frame, *left_out: str) -> bool:
    """Whether, but for some words, one thing is said of two: «loves early flights», «hates early meetings»."""
    a = tuple(word for word in given.a.sequence if word.key not in left_out)
    b = tuple(word for word in given.b.sequence if word.key not in left_out)
    mine, theirs = unlike(a, b)
    reordered = any(word.key in given.shared for word in mine + theirs)
    return one_phrase(mine) and one_phrase(theirs) and bool(nouns(mine) and nouns(theirs)) and not reordered


def renamed(given: Frame) -> tuple[str, str] | None:
    """The names that stand in one text each, where nearly all else is said in both."""
    mine = [word for word in given.only_a if word.name]
    theirs = [word for word in given.only_b if word.name]
    others = min(len(given.only_a) - len(mine), len(given.only_b) - len(theirs))
    if not mine or not theirs or len(given.shared) < SHORTEST_FRAME or others > MOST_BESIDE_NAMES or adds_up(given):
        return None
    return " ".join(word.text for word in mine), " ".join(word.text for word in theirs)
