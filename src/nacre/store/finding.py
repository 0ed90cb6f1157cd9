"""Looking and recalling: the part of the face that reads memories, as they are or as they were known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Unpack

from nacre.engine.history import history
from nacre.engine.past import past
from nacre.errors import AmbiguousId, HistoryLost, MemoryNotFound
from nacre.model import Memory, Pack, Recollection
from nacre.model.instants import Instant, iso, seconds
from nacre.ports import Order, Tallied, Vectors
from nacre.recall.pack import HEADER, TokenCounter, pack
from nacre.recall.shown import shown
from nacre.store.asking import Asking, parted, query_of
from nacre.store.scope import Scope, held_at
from nacre.store.space import Space
from nacre.store.stats import Stats, gather_stats


class Finding(Space):
    def get(self, id: str, *, as_of: Instant | None = None, valid_at: Instant | None = None) -> Memory | None:
        """With `as_of`, as the store knew it then; with `valid_at`, the version of this truth that held then."""
        if valid_at is not None:
            return self._held(id, seconds(valid_at), as_of)
        if as_of is None:
            return next(iter(self._store.get(self.space, [id])), None)
        then = past(self._store, self.space, seconds(as_of), [id])
        if id in then.illegible:
            raise HistoryLost(f"What the journal tells of {id} since {iso(seconds(as_of))} is damaged.")
        return then.stood[id] if id in then.stood else self.get(id)

    def get_many(self, ids: Sequence[str]) -> list[Memory]:
        """In the order asked for, each once; unknown ids are left out."""
        return self._store.get(self.space, ids)

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """The stored vectors of each memory that has some, a row for each piece of its text."""
        return self._store.vectors(self.space, ids)

    def _held(self, id: str, at: float, as_of: Instant | None) -> Memory | None:
        known = self._known(as_of)
        if not known.get(self.space, [id]):
            return None
        versions = history(known, self.space, id).versions
        return next((each for each in reversed(versions) if held_at(at).admits(each)), None)

    def resolve_id(self, prefix: str) -> str:
        """The one id that begins so. Raises `MemoryNotFound` or `AmbiguousId`."""
        found = self._store.ids_like(self.space, prefix, limit=6) if prefix else []
        if not found:
            raise MemoryNotFound(prefix, self.space)
        if len(found) > 1 and prefix not in found:
            raise AmbiguousId(prefix, found)
        return found[0]

    def list_recent(
        self, limit: int = 20, *, order: Order = "newest", offset: int = 0, **scope: Unpack[Scope]
    ) -> list[Memory]:
        known = self._known(scope.get("as_of"))
        return known.select(self.space, self._filter(scope), order=order, limit=max(0, limit), offset=offset)

    def iterate(self, **scope: Unpack[Scope]) -> Iterator[Memory]:
        """Oldest first, however many there are, in bounded memory; with `as_of`, what changed since comes last."""
        return self._known(scope.get("as_of")).iterate(self.space, self._filter(scope))

    def count(self, **scope: Unpack[Scope]) -> int:
        return self._known(scope.get("as_of")).count(self.space, self._filter(scope))

    def tally(self, field: Tallied, **scope: Unpack[Scope]) -> dict[str, int]:
        """How many memories have each value of the field, the most frequent first, then by name."""
        return self._known(scope.get("as_of")).tally(self.space, field, self._filter(scope))

    def stats(self) -> Stats:
        return gather_stats(self._store, self.space, self._clock())

    def recall(
        self, query: str, k: int = 5, *, touch: bool = True, rerank: bool = True, **asking: Unpack[Asking]
    ) -> Recollection:
        """The memories that answer best, each with why. A hit counts as a use unless `touch` is False; the configured
        reranker, if any, reads the best ones unless `rerank` is.

        With `as_of` it answers as the store would have then, which never counts as a use; with `valid_at`, from what
        held at that time.
        """
        from nacre.recall.recall import recall  # a command that only lists need not wait for it

        own, scope = parted(asking)
        if self._settings.min_trust and scope.get("min_trust") is None:
            scope["min_trust"] = self._settings.min_trust
        self._engine.check_embedder()
        self._catch_up()
        now = self._clock()
        asked = query_of(query, k, own, self._filter(scope), now)
        known = self._known(scope.get("as_of"), searched=True)
        reranker = self._reranker if rerank else None
        found = recall(asked, space=self.space, store=known, embedder=self.embedder, reranker=reranker)
        if touch and found:
            ids = [hit.memory.id for hit in found]
            known.touch(self.space, ids, now)
            if asked.expand is not None:
                known.walked(self.space, known.edges(self.space, out_of=ids, into=ids, rels=asked.expand.rels))
        return shown(found, self._guard.shown)

    def touch(self, *ids: str) -> None:
        """Counts a use of each, as a recall does by itself. No act, and not journaled."""
        self._store.touch(self.space, ids, self._clock())

    def recall_pack(
        self,
        query: str,
        *,
        token_budget: int = 800,
        max_items: int = 50,
        header: str = HEADER,
        token_counter: TokenCounter | None = None,
        fence: bool = False,
        **asking: Unpack[Asking],
    ) -> Pack:
        """The best memories that fit the budget, as text for a model's context. Only what is packed counts as used.

        With `fence` the text says, around the memories, that they are data and no instructions.
        """
        found = self.recall(query, max_items, touch=False, **asking)
        packed = pack(found, token_budget, header=header, token_counter=token_counter, fence=fence)
        if packed.items and asking.get("as_of") is None:
            self._store.touch(self.space, packed.ids(), self._clock())
        return packed
