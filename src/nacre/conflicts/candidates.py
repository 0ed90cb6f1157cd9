"""Finds stored memories that a new one may contradict, update or duplicate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nacre.conflicts.judge import MOST_READ, PairJudge
from nacre.model import Conflict, Filter, Memory
from nacre.model.review import newer_first, severity_order
from nacre.protocols import Reader, Search, Vectors

NEAREST = 12  # by meaning, as AI-Houkai does
NEAREST_BY_WORDS = 12  # by words: "Use ruff for linting" is far from "Use flake8 for linting" in meaning (0.43)
# The longest stems are searched: they are the rarest, and texts that differ in one word share most of them.
ASKED = 6
SHORT = 10  # stems of a text that one other word can turn round; a longer one keeps its meaning, and is found by that
DENSE_COSINE = 0.6  # if even the last of the nearest is this near, candidates by words are not looked for
# Of pairs below both, most verdicts that they conflict are wrong. Of those above, 20 wait for review in a store of 242
# notes.
LEAST_COSINE, LEAST_SHARED_WORDS = 0.4, 0.5
# What is less alike than this is not looked at as another version, and less likely ones are not linked. At 0.15 every
# fourth of the development notes gets a link, and a third of these lead to a version; the recall of changed facts needs
# the unlikely ones, too.
LEAST_ALIKE, POSSIBLE = 0.3, 0.15
FITTED_TO = ("nacre-multilingual-3", "nacre-english-3")  # what the cosines of others mean for versions is not known


class Compared(NamedTuple):
    """The conflicts, worst first, and sentences about how they were found."""

    conflicts: list[Conflict]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares with what `where` admits; `embedder` is the identity of what made the vectors."""

    store: Reader
    where: Filter
    judge: PairJudge
    embedder: str = ""

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
        """`near` is what `similar` gave, where that was asked before."""
        others = [each for each in self.candidates(memory, vector, near) if only is None or only(each[0])]
        verdicts, notes = self.judge.verdicts(memory, others) if others else ([], ())
        conflicts = [
            Conflict(*newer_first(memory, other), similarity, verdict.kind, verdict.reason, verdict.words, verdict.sure)
            for (other, similarity), verdict in zip(others, verdicts, strict=True)
            if verdict is not None
        ]
        return Compared(sorted(conflicts, key=severity_order), notes)

    def echoes(self, memory: Memory, vector: Vectors | None) -> list[tuple[Memory, float]]:
        """What says about the same, in other words; only the most alike are read."""
        near = sorted(self.candidates(memory, vector), key=lambda pair: -pair[1])[:MOST_READ]
        return [pair for pair, same in zip(near, self.judge.say_the_same(memory, near), strict=True) if same]

    def older_version(self, memory: Memory, near: Sequence[tuple[Memory, float]]) -> tuple[Memory, float] | None:
        """What the memory may be a newer version of, and how likely that is. `near` is what `similar` gave; of what it
        can be, only the most alike is read, since the others are seldom one."""
        if self.embedder not in FITTED_TO:
            return None
        older = [each for each in near if each[1] >= LEAST_ALIKE and can_be_version(memory, each[0])]
        other, cosine = max(older, key=lambda pair: pair[1], default=(memory, 0.0))
        probability = self.judge.version_probability(memory, other, cosine) if older else 0.0
        return (other, probability) if probability >= POSSIBLE else None

    def candidates(
        self, memory: Memory, vector: Vectors | None, near: Sequence[tuple[Memory, float]] | None = None
    ) -> list[tuple[Memory, float]]:
        """Those whose verdicts are worth a note, each with its likeness."""
        from nacre.text.tokens import content_stems

        known = set(content_stems(memory.text))
        others = [
            pair for pair in (self.similar(memory, vector) if near is None else near) if comparable(memory, pair[0])
        ]
        candidates = []
        for other, cosine in others:
            likeness = cosine if vector is not None else 0.0
            if likeness >= LEAST_COSINE:
                candidates.append((other, likeness))
                continue
            shared = overlap(known, set(content_stems(other.text)))
            if shared >= LEAST_SHARED_WORDS:
                candidates.append((other, likeness if vector is not None else shared))
        return candidates

    def similar(self, memory: Memory, vector: Vectors | None) -> list[tuple[Memory, float]]:
        """Candidates by meaning and by words, each with its cosine as far as there is one."""
        from nacre.text.tokens import content_stems

        known = content_stems(memory.text)
        by_words = vector is None or len(known) <= SHORT
        terms = sorted(known, key=len, reverse=True)[:ASKED] if by_words else ()
        # Twice as many as are wanted: the filter may leave half of them.
        where, pool = self.where & Filter.where(id__ne=memory.id), 2 * max(NEAREST, NEAREST_BY_WORDS)
        candidates = self.store.gather(memory.space, Search(tuple(terms), vector, where, pool, records=True))
        cosines = dict(zip((place.id for place in candidates.places), candidates.cosines.tolist(), strict=True))
        near = sorted(cosines, key=lambda id: -cosines[id])[:NEAREST] if vector is not None else []
        framed: list[str] = []
        if len(near) < NEAREST or cosines[near[-1]] < DENSE_COSINE:
            worded = dict(zip(cosines, candidates.shares.sum(axis=0).tolist(), strict=True))
            framed = [id for id in sorted(worded, key=lambda id: -worded[id])[:NEAREST_BY_WORDS] if worded[id]]
        # Stored vectors are rounded, so that the cosine of a copy may be 1.001.
        return [(candidates.memories[id], min(1.0, cosines[id])) for id in dict.fromkeys([*near, *framed])]


def can_be_version(newer: Memory, older: Memory) -> bool:
    follows = newer_first(newer, older)[0] is newer
    return follows and not older.is_turn and not newer.is_settled_with(older)


def comparable(a: Memory, b: Memory) -> bool:
    """Whether two memories can conflict: they share a tag if both have tags, and nothing was decided."""
    return not a.is_settled_with(b) and (not a.tags or not b.tags or not set(a.tags).isdisjoint(b.tags))


def overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(1, min(len(one), len(other)))
