"""A store as an agent with limited capabilities has it: what it may not see does not exist in any answer.

The engine, and with it every face, gets this instead of the store itself, so that there is no way around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from nacre.engine.change import SPACE
from nacre.engine.learning import FOR_REVIEW, RELATION
from nacre.engine.narrowed_acts import NarrowedTransaction, Quota
from nacre.engine.narrowed_words import common, postings_within, ranked, united
from nacre.engine.seen_journal import SeenJournal
from nacre.errors import QueryCostExceeded
from nacre.model import Edge, Filter, JournalEntry, Memory, Told
from nacre.model.journal import EVERYTHING
from nacre.model.memory import Json
from nacre.ports import Health, Keys, Match, Order, Place, Posting, Store, Tallied, Transaction, Vectors
from nacre.safety.access import Access
from nacre.safety.costs import BASE, FULL_SCAN, JOIN, NO_LIMIT, ORDERED


class NarrowedStore:
    def __init__(self, below: Store, access: Access) -> None:
        self._below = below
        self._access = access
        self._seen = SeenJournal(below, access)
        self._quota = Quota(below, access)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._below.transaction() as transaction:
            yield NarrowedTransaction(transaction, self._access, self._quota, self._below)

    def get(self, space: str, ids: Sequence[str]) -> list[Memory]:
        if space != self._access.space:
            return []
        return [memory for memory in self._below.get(space, ids) if self._access.readable.admits(memory)]

    def ids_like(self, space: str, prefix: str, limit: int) -> list[str]:
        begins = Filter.where(id__ge=prefix, id__lt=prefix + "\U0010ffff")
        if self._access.sees_all and space == self._access.space:
            return self._below.ids_like(space, prefix, limit)
        found = self._below.select(space, self._narrowed(space, begins), order="oldest")
        return sorted(memory.id for memory in found)[:limit]

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
        found = self.postings(terms)
        return ranked(found, self._below.places(space, united(found), narrowed), self.size(), limit)

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
        found = self._below.edges(space, out_of=out_of, into=into, rels=rels)
        seen = {memory.id for memory in self.get(space, list(dict.fromkeys(edge.source for edge in found)))}
        return [edge for edge in found if edge.source in seen]

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
        return [memory for memory in self._below.pending(limit) if self._own(memory)]

    def embedder(self) -> str:
        return self._below.embedder()

    def journal(
        self, space: str, told: Told = EVERYTHING, *, newest_first: bool = True, limit: int | None = None
    ) -> list[JournalEntry]:
        return [] if space != self._access.space else self._seen.read(told, newest_first=newest_first, limit=limit)

    def written_by(self, space: str, at: float) -> int:
        return self._below.written_by(space, at)

    def journal_begins(self, space: str) -> tuple[int, float]:
        return self._below.journal_begins(space)

    def words(self, kind: str) -> dict[str, Mapping[str, Json]]:
        """What was taught on purpose, and the relations that the agent itself came up with."""
        known = self._below.words(kind)
        if self._access.tells_words(kind):
            return known
        if kind != RELATION:
            own = self._access.space if kind == SPACE and self._access.sees_all else None
            return {name: data for name, data in known.items() if name == own}
        used = {edge.rel for edge in self.edges(self._access.space)} if known else set()
        return {name: data for name, data in known.items() if not data.get(FOR_REVIEW) or name in used}

    def health(self, *, thorough: bool = False) -> Health:
        """Of what it sees; a narrowed agent learns nothing of the file."""
        if self._access.unrestricted:
            return self._below.health(thorough=thorough)
        whole = self._below.health()
        space, seen = self._access.space, self._access.readable
        waiting = sum(map(self._own, self._below.pending(whole.pending)))
        return replace(
            whole, memories=self._below.count(space, seen), chunks=0, vectors=0, pending=waiting, bytes_on_disk=0,
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

    def _own(self, memory: Memory) -> bool:
        return memory.space == self._access.space and self._access.readable.admits(memory)

    def _pay(self, cost: float) -> None:
        limit = self._access.capabilities.max_query_cost
        if BASE + cost > limit:
            raise QueryCostExceeded(BASE + cost, limit)


NOTHING = Filter.where(id="")  # no memory has an empty id


def scan(where: Filter) -> int:
    """What is asked besides the standing that every question asks for narrows it down."""
    standing = ("status", "superseded_by", "expires_at")
    return 0 if any(each.field not in standing for each in where.conditions) else FULL_SCAN
