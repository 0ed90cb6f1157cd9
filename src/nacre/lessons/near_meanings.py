"""Names that mean one thing though they are written otherwise, as far as an embedder knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from nacre.conflicts.frames import rival
from nacre.conflicts.opposites import opposed
from nacre.lessons.near_names import Pair, numbers, parts, singular, written
from nacre.text.grammar import base

if TYPE_CHECKING:
    from nacre.protocols import Embedder, Vectors

ONE = 0.83  # measured with MiniLM on the labelled pairs of the tests: frontend and backend have 0.81
APART = 0.7  # of the words that they do not share: leak and leaking have 0.9, client and framework 0.4
MOST = 4_000  # names that are compared, the most used first; 1 to 3 s of embedding
BLOCK = 1_024
SHORTEST = 3  # of shorter names no model knows the meaning: two of them are near because both are short
LETTERS_ONLY = "hashing"  # an embedder that knows no meaning


def one_in_meaning(names: Sequence[str], embedder: Embedder) -> Iterator[Pair]:
    """The nearest first. Raises `EmbeddingError`."""
    asked = [name for name in names if len(name) >= SHORTEST][:MOST]
    if len(asked) < 2 or embedder.identity.startswith(LETTERS_ONLY):
        return
    vectors = embedder.embed([" ".join(parts_as_written(name)) for name in asked])
    near = [each for each in sorted(near_rows(vectors), reverse=True) if not differ(asked[each[1]], asked[each[2]])]
    if not near:
        return
    pairs = [(asked[row], asked[column]) for _, row, column in near]
    mine, theirs = (embedder.embed([rest(*pair) for pair in each]) for each in (pairs, [(b, a) for a, b in pairs]))
    for (cosine, _, _), pair, apart in zip(near, pairs, (mine * theirs).sum(axis=1), strict=True):
        if apart >= APART:
            yield Pair(*pair, f"of one meaning ({cosine:.2f})")


def rest(one: str, other: str) -> str:
    """What it has besides the words of the other: two names are near for a rare word that they share, whatever else
    they say."""
    shared = set(parts(other))
    return " ".join(word for word in written(one) if singular(word) not in shared) or one


def near_rows(vectors: Vectors) -> Iterator[tuple[float, int, int]]:
    import numpy as np

    for start in range(0, len(vectors), BLOCK):
        cosines = vectors[start : start + BLOCK] @ vectors[start:].T
        for row, column in np.argwhere(cosines >= ONE).tolist():
            if row < column:
                yield round(float(cosines[row, column]), 4), start + row, start + column


def parts_as_written(name: str) -> list[str]:
    return name.replace("-", " ").replace("_", " ").replace(".", " ").split() or [name]


def differ(one: str, other: str) -> bool:
    """Two things that a model finds alike because they stand in like places: versions, opposites, rivals, or one and
    a part of it."""
    if numbers(one) != numbers(other):
        return True
    mine, theirs = set(parts(one)) - set(parts(other)), set(parts(other)) - set(parts(one))
    if not mine or not theirs:
        return True  # "testing" and "unit-testing": the one is narrower
    if all(len(part) == 1 for part in mine | theirs):
        return True  # team-a and team-b
    pairs = [(a, b) for a in mine for b in theirs]
    return any(opposed(base(a), base(b)) or rival(base(a), base(b)) or does(a, b) or does(b, a) for a, b in pairs)


def does(one: str, other: str) -> bool:
    """A parser parses, and https is not the many of http: what is made by an ending is mostly a thing of its own."""
    stem = other.removesuffix("ing").removesuffix("e")
    return one in (f"{other}s", f"{stem}er", f"{stem}or")
