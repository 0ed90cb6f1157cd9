"""Proposes merges of tags that seem to mean the same: other spellings, typing errors, short forms, one meaning."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from nacre.errors import EmbeddingError
from nacre.files import data_sections
from nacre.lessons.lesson import AGENT_TAG
from nacre.lessons.vocabulary import Vocabulary
from nacre.protocols import Embedder, Vectors
from nacre.text.grammar import base

UNRESOLVED_ALIAS = "an alias that lessons still have"
MIN_COSINE = 0.83  # measured with MiniLM on the labelled pairs of the tests: frontend and backend have 0.81
MIN_REST_COSINE = 0.7  # of the words that they do not share: leak and leaking have 0.9, client and framework 0.4
MAX_NAMES = 4_000  # names that are compared, most used first; embedding takes 1 to 3 s
BLOCK = 1_024
MIN_LENGTH = 3  # models do not know shorter names: two of them are near only because both are short
NO_MEANING = "hashing"  # an embedder that knows letters only

SEPARATORS = re.compile(r"[\s._/-]+")
NUMBER = re.compile(r"\d+(?:[\s._/-]+\d+)*")
PARTS = re.compile(r"\d+(?:\.\d+)*|[^\W\d_]+|[^\w\s]+")
SHORTEST_PLURAL = 4  # letters: "apis" is a plural, "aws" and "ios" are not
# Names that look like a plural and are not.
NOT_PLURAL = frozenset("https news windows rails pandas jenkins kubernetes sales".split())
SINGULAR_ENDINGS = ("ss", "us", "sis", "xis", "dis", "js")  # class, status, analysis, redis, nodejs
# The fewest letters of the shorter word at which each kind of typing error is assumed: swapped letters, a missing
# letter, a wrong letter, two errors. Measured on the labelled pairs of the tests: "polling" and "pooling", "linter" and
# "linker" are two words, "kubernetes" and "kubernates" one.
MIN_SWAPPED, MIN_MISSING, MIN_WRONG, MIN_TWO_ERRORS = 6, 5, 8, 12
MAX_ERRORS = 2
COMMON = 5  # lessons; a typing error is not repeated so often...
RARER = 4  # ... unless the right name has this many times more lessons
MAX_CANDIDATES = 200_000  # pairs that are checked: where all names are near each other, nearness says nothing
VOWELS = frozenset("aeiouy")


@dataclass(frozen=True, slots=True)
class MergeProposal:
    """Carried out by `merge_tags(merge, keep)`; `counts` holds the number of lessons with each."""

    keep: str
    merge: str
    reason: str
    counts: Mapping[str, int]


def propose_merges(vocabulary: Vocabulary, embedder: Embedder) -> tuple[tuple[MergeProposal, ...], tuple[str, ...]]:
    """The proposals, surest first, and warnings."""
    counts = {name: count for name, count in vocabulary.counts().items() if not name.startswith(AGENT_TAG)}
    counts |= {name: 0 for name in vocabulary.terms if name not in counts}
    resolved = {name: count for name, count in counts.items() if vocabulary.resolve(name) == name}
    used = (name for name, count in counts.items() if count and name not in resolved)
    unresolved = (NamePair(vocabulary.resolve(name), name, UNRESOLVED_ALIAS) for name in used)
    pairs = [*unresolved, *similar_names(resolved)]
    by_spelling = proposals(vocabulary, pairs, counts)
    remaining = resolved.keys() - {each.merge for each in by_spelling}
    try:
        by_meaning = [*similar_meanings(sorted(remaining, key=lambda name: preference(name, resolved)), embedder)]
    except EmbeddingError as error:
        return by_spelling, (f"Compared by spelling alone: {error}",)
    return proposals(vocabulary, [*pairs, *by_meaning], counts), ()


def proposals(
    vocabulary: Vocabulary, pairs: Iterable[NamePair], counts: Mapping[str, int]
) -> tuple[MergeProposal, ...]:
    """Each tag is merged at most once, for the surest reason, and into one that stays."""
    by_merged: dict[str, MergeProposal] = {}
    for pair in pairs:
        is_alias = pair.reason == UNRESOLVED_ALIAS
        if not is_alias and vocabulary.is_decided(pair.one, pair.other):
            continue
        ends = [final_name(by_merged, pair.one), final_name(by_merged, pair.other)]
        keep, merge = ends if is_alias else sorted(ends, key=lambda name: preference(name, counts))
        if keep != merge and (is_alias or not vocabulary.is_decided(keep, merge)):
            both = {keep: counts.get(keep, 0), merge: counts.get(merge, 0)}
            by_merged[merge] = MergeProposal(keep, merge, f"{pair.reason}; {why_keep(keep, merge, both)}", both)
    return tuple(by_merged.values())


def final_name(by_merged: Mapping[str, MergeProposal], name: str) -> str:
    """The name after all proposals so far."""
    while name in by_merged:
        name = by_merged[name].keep
    return name


def why_keep(keep: str, merge: str, counts: Mapping[str, int]) -> str:
    if counts[keep] > counts[merge]:
        return f"{keep!r} is on more lessons ({counts[keep]} to {counts[merge]})"
    return f"{keep!r} is the simpler name" if counts[keep] == counts[merge] else f"{keep!r} is the alias's target"


def similar_meanings(names: Sequence[str], embedder: Embedder) -> Iterator[NamePair]:
    """Pairs with the same meaning and a different spelling, nearest first. Raises `EmbeddingError`."""
    compared = [name for name in names if len(name) >= MIN_LENGTH][:MAX_NAMES]
    if len(compared) < 2 or embedder.identity.startswith(NO_MEANING):
        return
    vectors = embedder.embed([" ".join(re.split(r"[-_.\s]+", name)).strip() or name for name in compared])
    near = [
        (cosine, compared[row], compared[column])
        for cosine, row, column in sorted(near_rows(vectors), reverse=True)
        if not are_different(compared[row], compared[column])
    ]
    if not near:
        return
    ones = embedder.embed([without_shared_words(one, other) for _, one, other in near])
    others = embedder.embed([without_shared_words(other, one) for _, one, other in near])
    for (cosine, one, other), rest_cosine in zip(near, (ones * others).sum(axis=1), strict=True):
        if rest_cosine >= MIN_REST_COSINE:
            yield NamePair(one, other, f"of one meaning ({cosine:.2f})")


def without_shared_words(one: str, other: str) -> str:
    """A rare word that both share makes two names near, whatever their other words say."""
    shared = set(words_singular(other))
    return " ".join(word for word in words(one) if singular(word) not in shared) or one


def near_rows(vectors: Vectors) -> Iterator[tuple[float, int, int]]:
    import numpy as np

    for start in range(0, len(vectors), BLOCK):
        cosines = vectors[start : start + BLOCK] @ vectors[start:].T
        for row, column in np.argwhere(cosines >= MIN_COSINE).tolist():
            if row < column:
                yield round(float(cosines[row, column]), 4), start + row, start + column


def are_different(one: str, other: str) -> bool:
    """Names that a model finds alike although they differ: versions, opposites, rivals, or a whole and its part."""
    if numbers(one) != numbers(other):
        return True
    all_ones, all_others = set(words_singular(one)), set(words_singular(other))
    ones, others = all_ones - all_others, all_others - all_ones
    if not ones or not others:
        return True  # "testing" and "unit-testing": one is narrower
    if all(len(word) == 1 for word in ones | others):
        return True  # team-a and team-b
    return any(
        kinds().get(base(a), set()) & kinds().get(base(b), set()) or is_derived(a, b) or is_derived(b, a)
        for a in ones
        for b in others
    )


@lru_cache(maxsize=1)
def known_names() -> Mapping[str, list[str]]:
    return dict(data_sections("lessons/tag_names.txt"))


@lru_cache(maxsize=1)
def kinds() -> Mapping[str, set[int]]:
    """The numbers of the kinds of each word, in its base form."""
    numbers: defaultdict[str, set[int]] = defaultdict(set)
    for number, kind in enumerate(known_names()["kinds"]):
        for word in kind.split():
            numbers[base(word)].add(number)
    return dict(numbers)


def is_derived(one: str, other: str) -> bool:
    """ "parser" from "parse", "https" from "http": an ending mostly makes a different thing."""
    stem = other.removesuffix("ing").removesuffix("e")
    return one in (f"{other}s", f"{stem}er", f"{stem}or")


@dataclass(frozen=True, slots=True)
class NamePair:
    """Two names that seem to mean the same, and why."""

    one: str
    other: str
    reason: str


def similar_names(counts: Mapping[str, int]) -> Iterator[NamePair]:
    """Surest first: other spellings, short forms, then typing errors. `counts` is the number of lessons by name."""
    spellings: defaultdict[str, list[str]] = defaultdict(list)
    for name in counts:
        spellings[folded(name)].append(name)
    for names in spellings.values():
        first, *others = sorted(names, key=lambda name: preference(name, counts))
        yield from (NamePair(first, other, spelling_reason(first, other)) for other in others)
    heads = {key: min(names, key=lambda name: preference(name, counts)) for key, names in spellings.items()}
    yield from short_names(heads)
    yield from mistyped_names(heads.values(), counts)


def preference(name: str, counts: Mapping[str, int]) -> tuple[object, ...]:
    """Sort key of the name to keep: the most used, then the one with fewer special characters, then the shortest."""
    odd = sum(not (letter.isascii() and letter.isalpha()) for letter in name)
    return -counts.get(name, 0), odd, len(name), name


def spelling_reason(one: str, other: str) -> str:
    letters, other_letters = (SEPARATORS.sub("", without_accents(name)) for name in (one, other))
    if letters != other_letters:
        return "singular and plural"
    same = without_accents(one) == without_accents(other)
    return "the same letters, with other accents or capitals" if same else "the same letters, with other separators"


@lru_cache(maxsize=20_000)
def without_accents(name: str) -> str:
    """In lower case."""
    plain = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


@lru_cache(maxsize=20_000)
def words_singular(name: str) -> tuple[str, ...]:
    """Words, numbers and signs, each word in the singular: "Python_3.11-tests" is python, 3.11 and test."""
    return tuple(map(singular, words(name)))


@lru_cache(maxsize=20_000)
def words(name: str) -> tuple[str, ...]:
    joined = NUMBER.sub(lambda match: SEPARATORS.sub(".", match[0]), without_accents(name))
    spaced = re.sub(r"(?<!\d)\.|\.(?!\d)|[\s_/-]+", " ", joined)
    return tuple(PARTS.findall(spaced))


def folded(name: str) -> str:
    return "".join(words_singular(name)) or name


def numbers(name: str) -> tuple[str, ...]:
    return tuple(word for word in words_singular(name) if word[0].isdigit())


def singular(word: str) -> str:
    """Equal for singular and plural; not always a real word."""
    if len(word) < SHORTEST_PLURAL or not word.endswith("s") or word.endswith(SINGULAR_ENDINGS) or word in NOT_PLURAL:
        return word.removesuffix("e") if word.endswith(("se", "xe", "ze", "che", "she")) else word
    if word.endswith("ies") and len(word) > SHORTEST_PLURAL + 1:
        return word[:-3] + "y"
    one = word[:-1]
    return one[:-1] if one.endswith(("se", "xe", "ze", "che", "she")) else one


def short_names(heads: Mapping[str, str]) -> Iterator[NamePair]:
    known = short_forms()
    for key, name in heads.items():
        long = known.get(key, key)
        if long in heads and long != key:
            yield NamePair(heads[long], name, "a usual short form")


@lru_cache(maxsize=1)
def short_forms() -> dict[str, str]:
    pairs = (each.split() for each in known_names()["short forms"])
    return {folded(short): folded(long) for short, long in pairs}


def mistyped_names(heads: Iterable[str], counts: Mapping[str, int]) -> Iterator[NamePair]:
    """Compares names as written and in the singular."""
    seen: set[tuple[str, str]] = set()
    for name, also in islice(near_pairs(heads), MAX_CANDIDATES):
        less, more = sorted(counts.get(each, 0) for each in (name, also))
        both_common = less >= COMMON and more < less * RARER
        if (name, also) not in seen and not both_common and is_typo(name, also):
            yield NamePair(name, also, "spelled almost alike")
        seen.add((name, also))


def near_pairs(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pairs with a small edit distance. Only names with the same numbers and the same first letter are compared: a
    thousand ticket numbers cost nothing."""
    import numpy as np
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    blocks: defaultdict[tuple[object, ...], list[tuple[str, str]]] = defaultdict(list)
    for name in sorted(names):
        for key in dict.fromkeys(("".join(words(name)), folded(name))):
            if len(key) >= MIN_MISSING:
                blocks[key[0], numbers(name)].append((key, name))
    for block in blocks.values():
        keys = [key for key, _ in block]
        for start in range(0, len(keys), BLOCK):
            some = keys[start : start + BLOCK]
            distances = process.cdist(some, keys, scorer=OSA.distance, score_cutoff=MAX_ERRORS, dtype=np.uint8)
            for row, column in np.argwhere(distances <= MAX_ERRORS).tolist():
                one, other = block[start + row][1], block[column][1]
                if one < other:
                    yield one, other


def is_typo(one: str, other: str) -> bool:
    """Whether the names differ by a typing error in one word; numbers and signs must be equal."""
    if numbers(one) != numbers(other):
        return False
    return differ_by_typo(words(one), words(other)) or differ_by_typo(words_singular(one), words_singular(other))


def differ_by_typo(ones: Sequence[str], others: Sequence[str]) -> bool:
    if len(ones) != len(others):
        ones, others = ("".join(ones),), ("".join(others),)
    differing = [(one, other) for one, other in zip(ones, others, strict=True) if one != other]
    return len(differing) == 1 and is_word_typo(*differing[0])


def is_word_typo(one: str, other: str) -> bool:
    """Depends on the kind of error and the length of the word. First and last letters are seldom mistyped: where they
    differ it is mostly another word, such as rest and test, parse and parser."""
    from rapidfuzz.distance import OSA, Levenshtein

    if one[0] != other[0] or not (one + other).isalpha():
        return False
    shorter, distance = min(len(one), len(other)), OSA.distance(one, other)
    if distance == 1 and len(one) == len(other) and Levenshtein.distance(one, other) > 1:
        return shorter >= MIN_SWAPPED
    if one[-1] != other[-1]:
        return False
    if distance == 1 and len(one) != len(other):
        return shorter >= MIN_MISSING
    if distance == 1:
        differing = next({a, b} for a, b in zip(one, other, strict=True) if a != b)
        return shorter >= MIN_WRONG - (differing <= VOWELS)
    return distance <= MAX_ERRORS and shorter >= MIN_TWO_ERRORS
