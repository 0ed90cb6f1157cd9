"""Proposes merges of tags that seem to mean the same, by spelling and by meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nacre.conflicts.frames import rival
from nacre.conflicts.opposites import opposed
from nacre.errors import EmbeddingError
from nacre.lessons.lesson import AGENT_TAG
from nacre.lessons.similar_names import NamePair, numbers, preference, similar_names, singular, words, words_singular
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
        opposed(base(a), base(b)) or rival(base(a), base(b)) or is_derived(a, b) or is_derived(b, a)
        for a in ones
        for b in others
    )


def is_derived(one: str, other: str) -> bool:
    """ "parser" from "parse", "https" from "http": an ending mostly makes a different thing."""
    stem = other.removesuffix("ing").removesuffix("e")
    return one in (f"{other}s", f"{stem}er", f"{stem}or")
