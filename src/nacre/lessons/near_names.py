"""Names that were meant to be one: written otherwise, mistyped, or shortened as everybody does."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

SEPARATORS = re.compile(r"[\s._/-]+")
NUMBER = re.compile(r"\d+(?:[\s._/-]+\d+)*")
PARTS = re.compile(r"\d+(?:\.\d+)*|[^\W\d_]+|[^\w\s]+")
NUMERONYM = re.compile(r"([a-z])(\d{1,2})([a-z])")  # k8s, i18n, a11y
SHORTEST_PLURAL = 4  # "apis" is one, "aws" and "ios" are none
# What looks like the plural of the other and is a thing of its own.
NO_PLURALS = frozenset("https news windows rails pandas jenkins kubernetes sales".split())
ONLY_ONE = ("ss", "us", "sis", "xis", "dis", "js")  # class, status, analysis, redis, nodejs
# Abbreviations that mean the same to everybody who tags what they learned about software.
SHORT_FORMS = """
js javascript | ts typescript | py python | k8s kubernetes | db database | dbs databases | auth authentication
| authn authentication | authz authorization | config configuration | cfg configuration | conf configuration
| repo repository | docs documentation | env environment | dev development | prod production | infra infrastructure
| postgres postgresql | pg postgresql | perf performance | deps dependencies | dep dependency | proj project
| msg message | pkg package | perm permission | perms permissions | admin administration | async asynchronous
| ml machine-learning | ai artificial-intelligence | nlp natural-language-processing | ci continuous-integration
| cd continuous-delivery | ui user-interface | ux user-experience | os operating-system | vm virtual-machine
| pr pull-request | mr merge-request | tf terraform | gh github | gha github-actions | regex regular-expression
| regexp regular-expression | util utility | lib library | libs libraries | var variable | vars variables
| cert certificate | mongo mongodb | elastic elasticsearch | golang go | csharp c# | cpp c++
| oop object-oriented-programming | sre site-reliability-engineering
| tdd test-driven-development | rds relational-database-service | deploy deployment
| ops operations | i18n internationalization | l10n localization | a11y accessibility | o11y observability
"""
# How far two words may lie apart and still be one mistyped, by the letters of the shorter. Measured on the labelled
# pairs of the tests: "polling" and "pooling", "linter" and "linker" are two words, "kubernetes" and "kubernates" one.
SWAPPED, MISSING, OTHER, TWICE = 6, 5, 8, 12
FARTHEST = 2
OFTEN = 5  # a slip of the pen does not happen on so many lessons…
RARER = 4  # … unless the right word stands on so many times more
BLOCK = 1_000  # names that are compared with all of their length at once
MOST_CLOSE = 200_000  # pairs that are looked at: where all names are near each other, nearness says nothing
VOWELS = frozenset("aeiouy")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two names that seem to be one, and why."""

    one: str
    other: str
    reason: str


def alike(counts: Mapping[str, int]) -> Iterator[Pair]:
    """The surest first: other spellings, short forms, then slips of the pen."""
    spellings = same_spelled(counts)
    for names in spellings.values():
        first, *others = sorted(names, key=lambda name: rank(name, counts))
        yield from (Pair(first, other, spelling(first, other)) for other in others)
    heads = {key: min(names, key=lambda name: rank(name, counts)) for key, names in spellings.items()}
    yield from shortened(heads)
    yield from mistyped(heads.values(), counts)


def rank(name: str, counts: Mapping[str, int]) -> tuple[object, ...]:
    """Which of two is kept: the more used, then the one in plainer letters, then the shorter."""
    odd = sum(not (letter.isascii() and letter.isalpha()) for letter in name)
    return -counts.get(name, 0), odd, len(name), name


def same_spelled(names: Iterable[str]) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        found[folded(name)].append(name)
    return dict(found)


def spelling(one: str, other: str) -> str:
    plain, also = (SEPARATORS.sub("", bare(name)) for name in (one, other))
    if plain != also:
        return "singular and plural"
    return "the same letters, parted otherwise" if bare(one) != bare(other) else "the same letters, written otherwise"


@lru_cache(maxsize=20_000)
def bare(name: str) -> str:
    """In small letters without marks."""
    plain = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


@lru_cache(maxsize=20_000)
def parts(name: str) -> tuple[str, ...]:
    """Words, numbers and signs, each word in the singular: "Python_3.11-tests" is python, 3.11 and test."""
    return tuple(map(singular, written(name)))


@lru_cache(maxsize=20_000)
def written(name: str) -> tuple[str, ...]:
    joined = NUMBER.sub(lambda found: SEPARATORS.sub(".", found[0]), bare(name))
    spaced = re.sub(r"(?<!\d)\.|\.(?!\d)|[\s_/-]+", " ", joined)
    return tuple(PARTS.findall(spaced))


def folded(name: str) -> str:
    return "".join(parts(name)) or name


def numbers(name: str) -> tuple[str, ...]:
    return tuple(part for part in parts(name) if part[0].isdigit())


def singular(word: str) -> str:
    """Not always a word: only equal for the one and the many."""
    if len(word) < SHORTEST_PLURAL or not word.endswith("s") or word.endswith(ONLY_ONE) or word in NO_PLURALS:
        return word.removesuffix("e") if word.endswith(("se", "xe", "ze", "che", "she")) else word
    if word.endswith("ies") and len(word) > SHORTEST_PLURAL + 1:
        return word[:-3] + "y"
    one = word[:-1]
    return one[:-1] if one.endswith(("se", "xe", "ze", "che", "she")) else one


def shortened(heads: Mapping[str, str]) -> Iterator[Pair]:
    known = short_forms()
    for key, name in heads.items():
        long = known.get(key, key)
        if long in heads and long != key:
            yield Pair(heads[long], name, "a usual short form")
    by_ends: defaultdict[tuple[str, str, int], list[str]] = defaultdict(list)
    for key in heads:
        if key.isalpha():
            by_ends[key[0], key[-1], len(key) - 2].append(key)
    for key, name in heads.items():
        if (found := NUMERONYM.fullmatch(key)) and key not in known:
            longs = by_ends[found[1], found[3], int(found[2])]
            if len(longs) == 1:  # of several, nobody knows which
                yield Pair(heads[longs[0]], name, "a short form that counts the letters between")


@lru_cache(maxsize=1)
def short_forms() -> dict[str, str]:
    pairs = (each.split() for each in SHORT_FORMS.split("|"))
    return {folded(short): folded(long) for short, long in pairs}


def mistyped(heads: Iterable[str], counts: Mapping[str, int]) -> Iterator[Pair]:
    """Of names as they are written and in the singular: whoever slips at `kubernetes` slips at its last letter too."""
    seen: set[tuple[str, str]] = set()
    for name, also in islice(close(heads), MOST_CLOSE):
        pair = (min(name, also), max(name, also))
        if pair not in seen and slipped(*pair) and not both_usual(*(counts.get(each, 0) for each in pair)):
            yield Pair(*pair, "spelled almost alike")
        seen.add(pair)


def both_usual(one: int, other: int) -> bool:
    less, more = sorted((one, other))
    return less >= OFTEN and more < less * RARER


def close(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pairs that few strokes part. Only what has the same numbers, the same first letter and about one length is
    compared, all at once: a thousand tickets by number cost nothing."""
    blocks: defaultdict[tuple[object, ...], defaultdict[int, list[tuple[str, str]]]]
    blocks = defaultdict(lambda: defaultdict(list))
    for name in sorted(names):
        for key in dict.fromkeys(("".join(written(name)), folded(name))):
            if len(key) >= MISSING:
                blocks[key[0], numbers(name)][len(key)].append((key, name))
    for by_length in blocks.values():
        for length, shorter in by_length.items():
            for more in range(strokes(length) + 1):
                for one, other in near(shorter, by_length.get(length + more, []), strokes(length)):
                    if one != other:
                        yield one, other


def strokes(length: int) -> int:
    return FARTHEST if length >= TWICE else 1


def near(shorter: Sequence[tuple[str, str]], longer: Sequence[tuple[str, str]], most: int) -> Iterator[tuple[str, str]]:
    import numpy as np
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    if not longer or (shorter is longer and len(shorter) == 1):
        return
    keys = [key for key, _ in longer]
    for start in range(0, len(shorter), BLOCK):
        block = shorter[start : start + BLOCK]
        far = process.cdist([key for key, _ in block], keys, scorer=OSA.distance, score_cutoff=most, dtype=np.uint8)
        for row, column in np.argwhere(far <= most).tolist():
            yield block[row][1], longer[column][1]


def slipped(one: str, other: str) -> bool:
    """Whether the one may be the other mistyped: in one word only, and never in a number or a sign."""
    if numbers(one) != numbers(other):
        return False
    return in_one_word(written(one), written(other)) or in_one_word(parts(one), parts(other))


def in_one_word(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    if len(mine) != len(theirs):
        mine, theirs = ("".join(mine),), ("".join(theirs),)
    differing = [(one, other) for one, other in zip(mine, theirs, strict=True) if one != other]
    return len(differing) == 1 and mistaken(*differing[0])


def mistaken(one: str, other: str) -> bool:
    """Of two words: by what kind of slip, in how long a word. First and last letters are seldom mistyped, and where
    they differ it is mostly another word: rest and test, parse and parser."""
    from rapidfuzz.distance import OSA, Levenshtein

    if one[0] != other[0] or not (one + other).isalpha():
        return False
    shorter, far = min(len(one), len(other)), OSA.distance(one, other)
    if far == 1 and len(one) == len(other) and Levenshtein.distance(one, other) > 1:
        return shorter >= SWAPPED
    if one[-1] != other[-1]:
        return False
    if far == 1 and len(one) != len(other):
        return shorter >= MISSING
    if far == 1:
        differing = next({a, b} for a, b in zip(one, other, strict=True) if a != b)
        return shorter >= OTHER - (differing <= VOWELS)
    return far <= FARTHEST and shorter >= TWICE
