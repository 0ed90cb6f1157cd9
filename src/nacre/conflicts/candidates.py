"""Finds stored memories that a new one may contradict, update or duplicate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nacre.conflicts.judge import BY_MODEL, POSSIBLE, PairJudge
from nacre.model import Conflict, Filter, Memory
from nacre.protocols import Reader, Search, Vectors

NEAREST = 12  # by meaning, as AI-Houkai does
FRAMED = 12  # by words: "Use ruff for linting" is far from "Use flake8 for linting" in meaning (0.43)
ASKED = 6  # stems that are looked for, the longest: they are the rarest, and a frame with another word in it has most
SHORT = 10  # stems of a text that one other word can turn round; a longer one keeps its meaning, and is found by that
CROWDED = 0.6  # where even the last of the nearest is so near, what is farther has too many before it
# Of pairs below both, most verdicts that they conflict are wrong. Of those above, 20 wait for review in a store of 242
# notes.
PROMISING, FRAME_SHARED = 0.4, 0.5
# What changed is often said in other words: of 64 such pairs among 242 notes, the older is the nearest memory in 33.
# Reading two more costs a remember 28 ms, and most verdicts on them are wrong.
LEAST_NEAR = 0.3
# A pair with one of these links has been decided already.
SETTLED = frozenset(("supersedes", "contradicts", "distinct_from"))


@dataclass(frozen=True, slots=True)
class Compared:
    """The conflicts, worst first, and sentences about how they were found. `possible` are pairs that may be updates:
    good enough to put the newer one first, and not to ask anybody. Their kind is empty where little speaks for it."""

    conflicts: list[Conflict]
    notes: tuple[str, ...] = ()
    possible: tuple[Conflict, ...] = ()


class Candidate(NamedTuple):
    """`promising` are those whose verdicts are worth a note; `nearest` those that no other is clearly nearer than."""

    memory: Memory
    similarity: float
    promising: bool
    nearest: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares with what `where` admits."""

    store: Reader
    where: Filter
    judge: PairJudge

    def conflicts(
        self, memory: Memory, vector: Vectors | None, only: Callable[[Memory], bool] | None = None
    ) -> list[Conflict]:
        """Worst first: contradictions, then updates, then duplicates; the more similar before the less."""
        return self.compare(memory, vector, only).conflicts

    def compare(
        self,
        memory: Memory,
        vector: Vectors | None,
        only: Callable[[Memory], bool] | None = None,
        near: Sequence[tuple[Memory, float]] | None = None,
    ) -> Compared:
        """`near` is what `likeness` gave, where that was asked before."""
        others = [each for each in self.candidates(memory, vector, near) if only is None or only(each.memory)]
        pairs = [(each.memory, each.similarity) for each in others]
        verdicts, notes = self.judge.verdicts(memory, pairs) if pairs else ([], ())
        conflicts, possible = [], []
        for other, verdict in zip(others, verdicts, strict=True):
            if verdict is None:
                continue
            only_possible = verdict.kind == POSSIBLE
            kind = "" if only_possible else verdict.kind
            conflict = Conflict(
                memory, other.memory, other.similarity, kind, verdict.reason, verdict.words, verdict.sure
            )
            if not only_possible and (other.promising or verdict.reason != BY_MODEL):
                conflicts.append(conflict)
            elif other.nearest and kind != "duplicate":
                possible.append(conflict)
        return Compared(sorted(conflicts, key=gravity), notes, tuple(possible))

    def candidates(
        self, memory: Memory, vector: Vectors | None, near: Sequence[tuple[Memory, float]] | None = None
    ) -> list[Candidate]:
        from nacre.text.tokens import content_stems

        known = set(content_stems(memory.text))
        others = [
            pair for pair in (self.likeness(memory, vector) if near is None else near) if comparable(memory, pair[0])
        ]
        best = max([LEAST_NEAR, *(cosine for _, cosine in others)])
        candidates = []
        for other, cosine in others:
            likeness = cosine if vector is not None else 0.0
            promising, nearest = likeness >= PROMISING, likeness >= best
            if not promising:
                shared = overlap(known, set(content_stems(other.text)))
                promising = shared >= FRAME_SHARED
                likeness = likeness if vector is not None else shared
            if promising or nearest:
                candidates.append(Candidate(other, likeness, promising, nearest))
        return candidates

    def likeness(self, memory: Memory, vector: Vectors | None) -> list[tuple[Memory, float]]:
        """Candidates by meaning and by words, each with its cosine as far as there is one."""
        from nacre.text.tokens import content_stems

        known = content_stems(memory.text)
        by_words = vector is None or len(known) <= SHORT
        terms = sorted(known, key=len, reverse=True)[:ASKED] if by_words else ()
        # Twice as many as are wanted: the filter may leave half of them.
        where, pool = self.where & Filter.where(id__ne=memory.id), 2 * max(NEAREST, FRAMED)
        candidates = self.store.gather(memory.space, Search(tuple(terms), vector, where, pool, records=True))
        cosines = dict(zip((place.id for place in candidates.places), candidates.cosines.tolist(), strict=True))
        near = sorted(cosines, key=lambda id: -cosines[id])[:NEAREST] if vector is not None else []
        framed: list[str] = []
        if len(near) < NEAREST or cosines[near[-1]] < CROWDED:
            worded = dict(zip(cosines, candidates.shares.sum(axis=0).tolist(), strict=True))
            framed = [id for id in sorted(worded, key=lambda id: -worded[id])[:FRAMED] if worded[id]]
        return [(candidates.memories[id], cosines[id]) for id in dict.fromkeys([*near, *framed])]


def comparable(a: Memory, b: Memory) -> bool:
    """Whether two memories can conflict: they share a tag if both have tags, none ended before the other began, and no
    link says that it was decided."""
    if a.ends_before(b) or b.ends_before(a):
        return False
    if a.tags and b.tags and not set(a.tags) & set(b.tags):
        return False
    rels = {link.rel for link in a.links if link.to == b.id} | {link.rel for link in b.links if link.to == a.id}
    return not rels & SETTLED and a.superseded_by != b.id and b.superseded_by != a.id


def overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(1, min(len(one), len(other)))


def gravity(conflict: Conflict) -> tuple[int, float]:
    return ("contradiction", "update", "duplicate").index(conflict.kind), -conflict.similarity
