"""A store as it would be with some of its memories otherwise: what was known at an earlier time, for reading only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from nacre.errors import StorageError
from nacre.model import Edge, Filter, JournalEntry, JournalFilter, Memory
from nacre.model.journal import EVERYTHING
from nacre.model.memory import Json
from nacre.protocols import (
    Backend,
    Derived,
    EmbedderIdentity,
    Health,
    Keys,
    Match,
    Order,
    Place,
    Posting,
    Tallied,
    Transaction,
    Vectors,
)
from nacre.storage.in_memory import ORDERS, InMemoryBackend

Other: TypeAlias = Mapping[str, Memory | None]

OWN = 1 << 40  # added to the keys of what stands otherwise; no backend numbers so many memories
FEW = 1_000  # up to so many hidden memories are simply left out of a longer list of the nearest


class OverlaidBackend:
    """`other` says how memories of `space` stand, None where one is not there; all else is as in the store below."""

    def __init__(self, below: Backend, space: str, other: Other, derived: Mapping[str, Derived]) -> None:
        self._below = below
        self._space = space
        self._changed = sorted(other)
        self._unchanged = Filter.where(id__not_in=self._changed) if self._changed else Filter()
        self._above = InMemoryBackend()
        with self._above.transaction() as transaction:
            for memory in filter(None, other.values()):
                transaction.put(memory, derived.get(memory.id))
        self._hidden: Keys = below.allowed(space, Filter.where(id__in=self._changed))

    def transaction(self) -> AbstractContextManager[Transaction]:
        raise StorageError("What was known earlier can be read, not changed; leave `as_of` away to change what is now.")

    def get(self, space: str, ids: Sequence[str]) -> list[Memory]:
        changed = set(self._changed) if space == self._space else set()
        memories = {m.id: m for m in self._below.get(space, [id for id in ids if id not in changed])}
        memories |= {memory.id: memory for memory in self._above.get(space, ids)}
        return [memories[id] for id in dict.fromkeys(ids) if id in memories]

    def ids_like(self, space: str, prefix: str, limit: int) -> list[str]:
        there = self._below.ids_like(space, prefix, limit + len(self._changed))
        unchanged = [id for id in there if space != self._space or id not in self._changed]
        return sorted({*unchanged, *self._above.ids_like(space, prefix, limit)})[:limit]

    def select(
        self, space: str, where: Filter, *, order: Order = "newest", limit: int | None = None, offset: int = 0
    ) -> list[Memory]:
        wanted = None if limit is None else limit + offset
        memories = self._below.select(space, self._narrowed(space, where), order=order, limit=wanted)
        memories += self._above.select(space, where, order=order, limit=wanted)
        memories.sort(key=lambda memory: ORDERS[order](0, memory))
        return memories[offset:wanted]

    def iterate(self, space: str, where: Filter) -> Iterator[Memory]:
        yield from self._below.iterate(space, self._narrowed(space, where))
        yield from self._above.iterate(space, where)

    def count(self, space: str, where: Filter) -> int:
        return self._below.count(space, self._narrowed(space, where)) + self._above.count(space, where)

    def tally(self, space: str, field: Tallied, where: Filter) -> dict[str, int]:
        counted = Counter(self._below.tally(space, field, self._narrowed(space, where)))
        counted.update(self._above.tally(space, field, where))
        return dict(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))

    def spaces(self) -> dict[str, int]:
        return self._below.spaces()

    def by_words(self, space: str, terms: Sequence[str], where: Filter, limit: int) -> list[Match]:
        matches = self._below.by_words(space, terms, self._narrowed(space, where), limit)
        placed = {place.key: place.id for place in self._above.places(space, self._above.allowed(space, where), where)}
        scores: Counter[str] = Counter()
        common, rare = self._below.postings(terms), self._above.postings(terms)
        for term, posting in rare.items():
            holders = len(common[term].keys) if term in common else 0
            rarity = math.log(1 + (self.size() - holders + 0.5) / (holders + 0.5))
            for key, weight in zip(posting.keys.tolist(), posting.weights.tolist(), strict=True):
                if key in placed:
                    scores[placed[key]] += rarity * weight
        return sorted([*matches, *(Match(id, s) for id, s in scores.items())], key=lambda m: -m.score)[: max(limit, 0)]

    def by_vector(self, space: str, vector: Vectors, where: Filter, limit: int) -> list[Match]:
        matches = self._below.by_vector(space, vector, self._narrowed(space, where), limit)
        matches += self._above.by_vector(space, vector, where, limit)
        return sorted(matches, key=lambda match: -match.score)[: max(limit, 0)]

    def postings(self, terms: Sequence[str]) -> dict[str, Posting]:
        below, above = self._below.postings(terms), self._above.postings(terms)
        return {
            term: merged(self._without_hidden(below.get(term)), above.get(term))
            for term in dict.fromkeys(terms)
            if term in below or term in above
        }

    def size(self) -> int:
        return self._below.size() - len(self._hidden) + self._above.size()

    def near(self, space: str, vector: Vectors, limit: int, only: Keys | None = None) -> tuple[Keys, Vectors]:
        keys, cosines = self._near_below(space, vector, limit, only)
        own = None if only is None else only[only >= OWN] - OWN
        mine, more = self._above.near(space, vector, limit, own)
        keys, cosines = np.concatenate([keys, mine + OWN]), np.concatenate([cosines, more])
        best = np.lexsort((keys, -cosines))[: max(limit, 0)]
        return keys[best], cosines[best]

    def _near_below(self, space: str, vector: Vectors, limit: int, only: Keys | None) -> tuple[Keys, Vectors]:
        if only is None and space == self._space and len(self._hidden) > FEW:
            only = self._below.allowed(space, Filter())
        if only is not None:
            return self._below.near(space, vector, limit, np.setdiff1d(only[only < OWN], self._hidden))
        keys, cosines = self._below.near(space, vector, limit + len(self._hidden))
        visible = ~np.isin(keys, self._hidden)
        return keys[visible], cosines[visible]

    def cosines(self, space: str, vector: Vectors, keys: Keys) -> Vectors:
        cosines = np.zeros(len(keys), np.float32)
        own = keys >= OWN
        cosines[~own] = self._below.cosines(space, vector, keys[~own])
        cosines[own] = self._above.cosines(space, vector, keys[own] - OWN)
        return cosines

    def places(self, space: str, keys: Keys, where: Filter) -> list[Place]:
        below = self._below.places(space, np.setdiff1d(keys[keys < OWN], self._hidden), where)
        return [*below, *moved(self._above.places(space, keys[keys >= OWN] - OWN, where))]

    def around(self, space: str, spots: Sequence[tuple[str, int]], reach: int, where: Filter) -> list[Place]:
        below = self._below.around(space, spots, reach, self._narrowed(space, where))
        return [*below, *moved(self._above.around(space, spots, reach, where))]

    def allowed(self, space: str, where: Filter) -> Keys:
        below = self._below.allowed(space, self._narrowed(space, where))
        return np.concatenate([below, self._above.allowed(space, where) + OWN])

    def touch(self, space: str, ids: Sequence[str], at: float) -> None:
        """A look at the past is no use of what is now."""

    def edges(
        self,
        space: str,
        *,
        out_of: Sequence[str] | None = None,
        into: Sequence[str] | None = None,
        rels: Sequence[str] | None = None,
    ) -> list[Edge]:
        changed = set(self._changed) if space == self._space else set()
        below = self._below.edges(space, out_of=out_of, into=into, rels=rels)
        above = self._above.edges(space, out_of=out_of, into=into, rels=rels)
        return [*(edge for edge in below if edge.source not in changed), *above]

    def walked(self, space: str, edges: Sequence[Edge]) -> None:
        """As `touch`."""

    def replaced_by(self, space: str, id: str) -> list[Memory]:
        changed = set(self._changed) if space == self._space else set()
        below = [memory for memory in self._below.replaced_by(space, id) if memory.id not in changed]
        return sorted([*below, *self._above.replaced_by(space, id)], key=lambda memory: memory.created_at)

    def vectors_for(self, digests: Sequence[bytes]) -> dict[bytes, Vectors]:
        return self._below.vectors_for(digests)

    def vectors(self, space: str, ids: Sequence[str]) -> dict[str, Vectors]:
        changed = set(self._changed) if space == self._space else set()
        below = self._below.vectors(space, [id for id in ids if id not in changed])
        return {**below, **self._above.vectors(space, ids)}

    def pending(self, limit: int) -> list[Memory]:  # noqa: ARG002
        return []

    def embedder(self) -> EmbedderIdentity:
        return self._below.embedder()

    def journal(
        self, space: str, where: JournalFilter = EVERYTHING, *, newest_first: bool = True, limit: int | None = None
    ) -> list[JournalEntry]:
        return self._below.journal(space, where, newest_first=newest_first, limit=limit)

    def written_by(self, space: str, at: float) -> int:
        return self._below.written_by(space, at)

    def journal_begins(self, space: str) -> tuple[int, float]:
        return self._below.journal_begins(space)

    def terms(self, kind: str) -> dict[str, Mapping[str, Json]]:
        return self._below.terms(kind)

    def health(self, *, thorough: bool = False) -> Health:
        return self._below.health(thorough=thorough)

    def check_records(self) -> None:
        self._below.check_records()

    def copy_to(self, path: Path) -> None:
        self._below.copy_to(path)

    def close(self) -> None:
        """The store below is its opener's to close."""

    def _narrowed(self, space: str, where: Filter) -> Filter:
        return where & self._unchanged if space == self._space else where

    def _without_hidden(self, posting: Posting | None) -> Posting | None:
        if posting is None:
            return None
        visible = ~np.isin(posting.keys, self._hidden)
        return Posting(posting.keys[visible], posting.weights[visible])


def merged(below: Posting | None, above: Posting | None) -> Posting:
    lifted = None if above is None else replace(above, keys=above.keys + OWN)
    postings = [each for each in (below, lifted) if each is not None]
    keys, weights = zip(*((each.keys, each.weights) for each in postings), strict=True)
    return Posting(np.concatenate(keys), np.concatenate(weights))


def moved(places: Sequence[Place]) -> list[Place]:
    return [place._replace(key=place.key + OWN) for place in places]
