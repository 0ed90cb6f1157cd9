"""Ties: the part of the face that makes them and walks them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nacre.engine import linking
from nacre.engine.linking import WEAK
from nacre.model import Direction, Edge, Filter, Graph, Link, Linked, Neighborhood, Path
from nacre.model.instants import Instant, seconds
from nacre.model.memory import Json
from nacre.recall import walk
from nacre.recall.walk import Walk, relations_asked
from nacre.remember.check import named, natural, written
from nacre.store.scope import held_at
from nacre.store.space import Space

Relations = str | Iterable[str] | None


class Linking(Space):
    def link(
        self,
        source: str,
        target: str,
        rel: str = "related",
        *,
        weight: float = 1.0,
        data: Mapping[str, Json] | None = None,
        why: str = "",
    ) -> Linked:
        """Ties one memory to another. Repeating it changes nothing; the target need not be there, unless the store has
        `strict_links`. Raises `MemoryNotFound` and `LinkRefused`."""
        tie = Link(target, rel, weight, self._guard.data(data) if data else {})
        return linking.link(self._engine, self.space, source, tie, strict=self._strict_links, why=why)

    def unlink(self, source: str, target: str, rel: str | None = None, *, why: str = "") -> int:
        """Takes the tie of this relation away, or all between the two; returns how many."""
        return linking.unlink(self._engine, self.space, source, target, rel, why=why)

    def neighbors(
        self,
        id: str,
        *,
        rel: Relations = None,
        direction: Direction = "both",
        depth: int = 1,
        include_hidden: bool = False,
        as_of: Instant | None = None,
        valid_at: Instant | None = None,
    ) -> Neighborhood:
        """What ties lead to, each memory once, nearest first; what is trashed, superseded or expired stays hidden and
        leads nowhere unless it is asked for. With `valid_at` only what held then is walked, whatever replaced it since.
        The ties that are walked are counted."""
        going = self._walk(rel, direction, include_hidden, as_of, valid_at)
        found, led = walk.neighbors(going, id, natural("depth", depth))
        if led:
            going.store.walked(self.space, led)
        return found

    def subgraph(
        self,
        ids: Iterable[str],
        *,
        depth: int = 1,
        rel: Relations = None,
        direction: Direction = "both",
        include_hidden: bool = True,
        as_of: Instant | None = None,
        valid_at: Instant | None = None,
    ) -> Graph:
        """The seeds, what lies within `depth` of them, and every tie between these; at depth 0 the seeds alone."""
        going = self._walk(rel, direction, include_hidden, as_of, valid_at)
        return walk.subgraph(going, list(dict.fromkeys(ids)), natural("depth", depth))

    def path(
        self,
        start: str,
        end: str,
        *,
        rel: Relations = None,
        direction: Direction = "both",
        include_hidden: bool = False,
        as_of: Instant | None = None,
        valid_at: Instant | None = None,
    ) -> Path | None:
        """A shortest way along ties from one memory to another; None when there is none."""
        going = self._walk(rel, direction, include_hidden, as_of, valid_at)
        found = walk.path(going, start, end)
        if found is not None and found.edges:
            going.store.walked(self.space, found.edges)
        return found

    def edges(
        self, *, out_of: Sequence[str] | None = None, into: Sequence[str] | None = None, rel: Relations = None
    ) -> list[Edge]:
        """The ties themselves, from or to these memories; all of the space when neither is given."""
        return self._store.edges(self.space, out_of=out_of, into=into, rels=relations_asked(rel))

    def relations(self) -> dict[str, str]:
        """Every relation that the store knows, with what it means."""
        return linking.relations(self._store)

    def register_relation(self, name: str, description: str = "") -> None:
        """Teaches the store a relation, or confirms one that it learned by itself."""
        told = written("description", description).strip()
        linking.register(self._engine, self.space, named("relation", name), told)

    def weak_links(self, *, below: float = WEAK, walks: int = 0) -> list[Edge]:
        """The plan of `prune_links`: ties lighter than `below` that were walked at most so often."""
        return linking.prunable(self._store, self.space, below=below, walks=walks)

    def prune_links(self, edges: Iterable[Edge], *, why: str = "") -> int:
        """Takes these ties away in one act; one that was walked since it was planned stays. Returns how many went."""
        return linking.prune(self._engine, self.space, edges, why=why)

    def _walk(
        self,
        rel: Relations,
        direction: Direction,
        include_hidden: bool,
        as_of: Instant | None,
        valid_at: Instant | None,
    ) -> Walk:
        where = Filter() if include_hidden else self._filter({"as_of": as_of, "valid_at": valid_at})
        if valid_at is not None:
            where &= held_at(seconds(valid_at))
        return Walk(self._known(as_of), self.space, direction, relations_asked(rel), where)
