"""What a question costs, in the published units: a full scan is ten times a look-up, an unbounded answer twenty."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from nacre.access.capabilities import Access, ScopeLevel
from nacre.access.transaction import Quota, RestrictedTransaction
from nacre.engine.difference import set_back
from nacre.engine.engine import FOR_REVIEW, RELATION, SPACE
from nacre.errors import QueryCostExceeded
from nacre.model import Edge, Filter, JournalEntry, JournalFilter, Memory
from nacre.model.journal import EVERYTHING, MEMORY
from nacre.model.memory import Json
from nacre.protocols import (
    Backend,
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
from nacre.remember.derive import indexed_words

BASE = 1
FULL_SCAN = 10
JOIN = 5
SUBQUERY = 3
ORDERED = 2
NO_LIMIT = 20


# As the whole store's index has it: a stem on more memories than this is not weighed in each, and past the last number
# reading on costs more than it tells.
WEIGHED = 300
READ = 2_000
USUAL_WEIGHT = 1.0


def postings_within(store: Backend, space: str, terms: Sequence[str], where: Filter) -> dict[str, Posting]:
    holders = {term: [m.id for m in store.by_words(space, [term], where, READ)] for term in dict.fromkeys(terms)}
    by_name: dict[str, Posting] = {}
    read = 0
    for term in sorted(holders, key=lambda term: len(holders[term])):
        read += len(holders[term])
        if by_name and read > READ:
            break
        if holders[term]:
            by_name[term] = posting_of(store, space, term, holders[term])
    return by_name


def posting_of(store: Backend, space: str, term: str, ids: Sequence[str]) -> Posting:
    from nacre.storage.in_memory import padded, posting, weights

    keys = store.allowed(space, Filter.where(id__in=ids))
    placed = {place.id: place.key for place in store.places(space, keys, Filter())}
    shares = dict.fromkeys(placed.values(), USUAL_WEIGHT)
    if len(ids) <= WEIGHED:
        texts = {placed[m.id]: padded(indexed_words(m)) for m in store.get(space, ids) if m.id in placed}
        shares |= weights(term, texts, {key: len(text.split()) for key, text in texts.items()})
    return posting(shares)


def ranked(postings: Mapping[str, Posting], places: Sequence[Place], total: int, limit: int) -> list[Match]:
    ids = {place.key: place.id for place in places}
    scores: defaultdict[int, float] = defaultdict(float)
    for posting in postings.values():
        rarity = math.log(1 + (total - len(posting.keys) + 0.5) / (len(posting.keys) + 0.5))
        for key, weight in zip(posting.keys.tolist(), posting.weights.tolist(), strict=True):
            if key in ids:
                scores[key] += rarity * weight
    best = sorted(scores, key=lambda key: (-scores[key], -key))[: max(limit, 0)]
    return [Match(ids[key], scores[key]) for key in best]


def united(postings: Mapping[str, Posting]) -> Keys:
    import numpy as np

    every = [posting.keys for posting in postings.values()]
    return np.unique(np.concatenate(every)) if every else np.empty(0, np.int64)


def common(one: Keys, other: Keys) -> Keys:
    import numpy as np

    return np.intersect1d(one, other, assume_unique=True)


PAGE = 500


class SeenJournal:
    def __init__(self, below: Backend, access: Access) -> None:
        self._below = below
        self._access = access

    def read(self, data: JournalFilter, *, newest_first: bool, limit: int | None) -> list[JournalEntry]:
        space = self._access.space
        if self._access.sees_all:
            return self._below.journal(space, data, newest_first=newest_first, limit=limit)
        if data.batch is not None and not self._is_complete(data):
            return []  # part of an operation cannot be told, or taken back, without the rest
        matches: list[JournalEntry] = []
        while limit is None or len(matches) < limit:
            page = self._below.journal(space, data, newest_first=newest_first, limit=PAGE)
            matches += self._seen(page)
            if len(page) < PAGE:
                break
            data = replace(data, upto=page[-1].seq - 1) if newest_first else replace(data, after=page[-1].seq)
        return matches[:limit]

    def _is_complete(self, data: JournalFilter) -> bool:
        entries = self._below.journal(self._access.space, JournalFilter(batch=data.batch))
        return len(self._seen(entries)) == len(entries)

    def _seen(self, entries: Sequence[JournalEntry]) -> list[JournalEntry]:
        """Of a memory that came into sight later, only what was done since."""
        ids = list(dict.fromkeys(entry.memory_id for entry in entries if entry.kind == MEMORY))
        there = [m for m in self._below.get(self._access.space, ids) if self._access.readable.admits(m)]
        since = {memory.id: self._seen_since(memory) for memory in there}
        return [entry for entry in entries if self._shows(entry, since)]

    def _shows(self, entry: JournalEntry, since: dict[str, int]) -> bool:
        if entry.kind != MEMORY:
            across = self._access.capabilities.scope.includes(ScopeLevel.CROSS_SESSION_READ)
            return across and entry.operation.actor == self._access.agent
        return entry.memory_id in since and entry.seq > since[entry.memory_id]

    def _seen_since(self, memory: Memory) -> int:
        """The number of the last entry before which it was not this agent's to see; 0 when it always was."""
        stood = memory
        for entry in newest_first(self._below.journal(self._access.space, JournalFilter(memory_id=memory.id))):
            if entry.damaged or entry.after is None:
                return entry.seq
            if entry.before is None:
                return 0
            stood = set_back(stood, entry.before, entry.after)
            if not self._access.readable.admits(stood):
                return entry.seq
        return 0


def newest_first(entries: Iterable[JournalEntry]) -> list[JournalEntry]:
    return sorted((entry for entry in entries if entry.kind == MEMORY), key=lambda entry: -entry.seq)


class RestrictedView:
    def __init__(self, below: Backend, access: Access) -> None:
        self._below = below
        self._access = access
        self._seen = SeenJournal(below, access)
        self._quota = Quota(below, access)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._below.transaction() as transaction:
            yield RestrictedTransaction(transaction, self._access, self._quota, self._below)

    def get(self, space: str, ids: Sequence[str]) -> list[Memory]:
        if space != self._access.space:
            return []
        return [memory for memory in self._below.get(space, ids) if self._access.readable.admits(memory)]

    def ids_like(self, space: str, prefix: str, limit: int) -> list[str]:
        begins = Filter.where(id__ge=prefix, id__lt=prefix + "\U0010ffff")
        if self._access.sees_all and space == self._access.space:
            return self._below.ids_like(space, prefix, limit)
        result = self._below.select(space, self._narrowed(space, begins), order="oldest")
        return sorted(memory.id for memory in result)[:limit]

    def select(
        self, space: str, where: Filter, *, order: Order = "newest", limit: int | None = None, offset: int = 0
    ) -> list[Memory]:
        self._pay(ORDERED + scan(where) + (NO_LIMIT if limit is None else 0))
        return self._below.select(space, self._narrowed(space, where), order=order, limit=limit, offset=offset)

    def iterate(self, space: str, where: Filter) -> Iterator[Memory]:
        self._pay(ORDERED + scan(where) + NO_LIMIT)
        return self._below.iterate(space, self._narrowed(space, where))

    def count(self, space: str, where: Filter) -> int:
        self._pay(scan(where))
        return self._below.count(space, self._narrowed(space, where))

    def tally(self, space: str, field: Tallied, where: Filter) -> dict[str, int]:
        self._pay(scan(where))
        return self._below.tally(space, field, self._narrowed(space, where))

    def spaces(self) -> dict[str, int]:
        space = self._access.space
        held = self._below.count(space, self._narrowed(space, Filter()))
        return {space: held} if held else {}

    def by_words(self, space: str, terms: Sequence[str], where: Filter, limit: int) -> list[Match]:
        self._pay(ORDERED)
        narrowed = self._narrowed(space, where)
        if self._access.sees_all and space == self._access.space:
            return self._below.by_words(space, terms, narrowed, limit)
        result = self.postings(terms)
        return ranked(result, self._below.places(space, united(result), narrowed), self.size(), limit)

    def by_vector(self, space: str, vector: Vectors, where: Filter, limit: int) -> list[Match]:
        self._pay(ORDERED)
        return self._below.by_vector(space, vector, self._narrowed(space, where), limit)

    def postings(self, terms: Sequence[str]) -> dict[str, Posting]:
        """Counted among what the agent sees alone: how rare a word is would tell what others have written."""
        if self._access.sees_store:
            return self._below.postings(terms)
        return postings_within(self._below, self._access.space, terms, self._access.readable)

    def size(self) -> int:
        if self._access.sees_store:
            return self._below.size()
        return self._below.count(self._access.space, self._access.readable)

    def near(self, space: str, vector: Vectors, limit: int, only: Keys | None = None) -> tuple[Keys, Vectors]:
        self._pay(ORDERED)
        if self._access.sees_all and space == self._access.space:
            return self._below.near(space, vector, limit, only)
        seen = self._below.allowed(space, self._narrowed(space, Filter()))
        return self._below.near(space, vector, limit, seen if only is None else common(seen, only))

    def cosines(self, space: str, vector: Vectors, keys: Keys) -> Vectors:
        return self._below.cosines(space, vector, keys)

    def places(self, space: str, keys: Keys, where: Filter) -> list[Place]:
        return self._below.places(space, keys, self._narrowed(space, where))

    def around(self, space: str, spots: Sequence[tuple[str, int]], reach: int, where: Filter) -> list[Place]:
        return self._below.around(space, spots, reach, self._narrowed(space, where))

    def allowed(self, space: str, where: Filter) -> Keys:
        self._pay(scan(where))
        return self._below.allowed(space, self._narrowed(space, where))

    def touch(self, space: str, ids: Sequence[str], at: float) -> None:
        self._below.touch(space, [memory.id for memory in self.get(space, ids)], at)

    def edges(
        self,
        space: str,
        *,
        out_of: Sequence[str] | None = None,
        into: Sequence[str] | None = None,
        rels: Sequence[str] | None = None,
    ) -> list[Edge]:
        self._pay(JOIN + (FULL_SCAN if out_of is None and into is None else 0))
        result = self._below.edges(space, out_of=out_of, into=into, rels=rels)
        seen = {memory.id for memory in self.get(space, list(dict.fromkeys(edge.source for edge in result)))}
        return [edge for edge in result if edge.source in seen]

    def walked(self, space: str, edges: Sequence[Edge]) -> None:
        seen = {memory.id for memory in self.get(space, [edge.source for edge in edges])}
        self._below.walked(space, [edge for edge in edges if edge.source in seen])

    def replaced_by(self, space: str, id: str) -> list[Memory]:
        if space != self._access.space:
            return []
        return [memory for memory in self._below.replaced_by(space, id) if self._access.readable.admits(memory)]

    def vectors_for(self, digests: Sequence[bytes]) -> dict[bytes, Vectors]:
        # Kept ones are rounded: a vector that was not computed anew would tell that somebody wrote the same words.
        return self._below.vectors_for(digests) if self._access.sees_store else {}

    def vectors(self, space: str, ids: Sequence[str]) -> dict[str, Vectors]:
        return self._below.vectors(space, [memory.id for memory in self.get(space, ids)])

    def pending(self, limit: int) -> list[Memory]:
        """Those that the agent may write: it could not store the vectors of others."""
        return [memory for memory in self._below.pending(limit) if self._writes(memory)]

    def embedder(self) -> EmbedderIdentity:
        return self._below.embedder()

    def journal(
        self, space: str, data: JournalFilter = EVERYTHING, *, newest_first: bool = True, limit: int | None = None
    ) -> list[JournalEntry]:
        return [] if space != self._access.space else self._seen.read(data, newest_first=newest_first, limit=limit)

    def written_by(self, space: str, at: float) -> int:
        return self._below.written_by(space, at)

    def journal_begins(self, space: str) -> tuple[int, float]:
        return self._below.journal_begins(space)

    def terms(self, kind: str) -> dict[str, Mapping[str, Json]]:
        """Of relations, those that the links it sees have; what others wrote about them is not shown."""
        known = self._below.terms(kind)
        if self._access.sees_terms(kind):
            return known
        if kind != RELATION:
            own = self._access.space if kind == SPACE and self._access.sees_all else None
            return {name: data for name, data in known.items() if name == own}
        used = {edge.rel for edge in self.edges(self._access.space)} if known else set()
        return {name: {FOR_REVIEW: True} for name in known if name in used}

    def health(self, *, thorough: bool = False) -> Health:
        """Of what it sees; a narrowed agent learns nothing of the file."""
        if self._access.unrestricted:
            return self._below.health(thorough=thorough)
        full = self._below.health()
        space, seen = self._access.space, self._access.readable
        waiting = sum(map(self._writes, self._below.pending(full.pending)))
        return replace(
            full, memories=self._below.count(space, seen), chunks=0, vectors=0, pending=waiting, bytes_on_disk=0,
            problems=(),
        )  # fmt: skip

    def check_records(self) -> None:
        self._below.check_records()

    def copy_to(self, path: Path) -> None:
        self._access.demand("copy the store")
        self._below.copy_to(path)

    def close(self) -> None:
        self._below.close()

    def _narrowed(self, space: str, where: Filter) -> Filter:
        return where & self._access.readable if space == self._access.space else NOTHING

    def _writes(self, memory: Memory) -> bool:
        return memory.space == self._access.space and self._access.writable.admits(memory)

    def _pay(self, cost: float) -> None:
        limit = self._access.capabilities.max_query_cost
        if BASE + cost > limit:
            raise QueryCostExceeded(BASE + cost, limit)


NOTHING = Filter.where(id="")  # no memory has an empty id


def scan(where: Filter) -> int:
    """What is asked besides the standing that every question asks for narrows it down."""
    current = ("status", "superseded_by", "expires_at")
    return 0 if any(each.field not in current for each in where.conditions) else FULL_SCAN
