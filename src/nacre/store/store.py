"""MemoryStore: remembers, recalls, forgets, and can undo any of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack
from uuid import uuid4

from nacre.config import Settings
from nacre.config import settings as read_settings
from nacre.engine import Engine, indexing, undoing
from nacre.errors import (
    AmbiguousId,
    EmbeddingError,
    InvalidInput,
    MemoryNotFound,
    StoreBusy,
    StoreFull,
    StoreReadOnly,
)
from nacre.model import TYPES, Filter, JournalEntry, Memory, Pack, Recollection, RememberResult
from nacre.ports import Clock, Embedder, Health, Order, Progress, Reranker
from nacre.recall import recall
from nacre.recall.pack import HEADER, TokenCounter, pack
from nacre.remember.check import Editable, Fields, checked, label, named
from nacre.store.asking import Asking, parted, query_of
from nacre.store.scope import Scope, filter_of
from nacre.store.stats import Stats, gather_stats
from nacre.wiring import EmbedFunction, embedder_from, make_reranker, open_store

BATCH = 256  # memories per transaction in bulk: long enough to fill a block of vectors, short enough for other writers
LOOKED_BACK = (32, 1024, None)  # entries read to find the last act; hardly ever more than the first few
CATCH_UP = 32  # waiting memories that a call embeds on its way; some 50 ms


class MemoryStore:
    """A space of a store. Safe to use from any number of threads and processes at once.

    `path` is a file, a directory (which gets `nacre.db` inside) or `:memory:`; without one, and without a `space`,
    the settings decide. `embedder` is a name, an `Embedder`, or any function from texts to rows of numbers.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        space: str | None = None,
        embedder: Embedder | EmbedFunction | str | None = None,
        reranker: Reranker | None = None,
        actor: str = "lib",
        clock: Clock = time.time,
        settings: Settings | None = None,
    ) -> None:
        known = settings or read_settings()
        self.space = label("space", known.space if space is None else space) or "default"
        self._store = open_store(known.store if path is None else path)
        self._engine = Engine(self._store, embedder_from(embedder, known), clock, actor)
        self._reranker = make_reranker(known) if reranker is None else reranker
        self._clock = clock
        self._usual = {"type": known.default_type, "importance": known.default_importance}

    @property
    def embedder(self) -> Embedder:
        return self._engine.embedder

    # remembering

    def remember(self, text: str, **fields: Unpack[Fields]) -> Memory:
        return self.remember_result(text, **fields).memory

    def remember_result(self, text: str, **fields: Unpack[Fields]) -> RememberResult:
        """As `remember`, and tells which memories hold the same already."""
        self._catch_up()
        return self._engine.remember([self._draft({**fields, "text": text})])[0]

    def remember_many(
        self, items: Iterable[str | Mapping[str, object]], *, progress: Progress | None = None
    ) -> list[Memory]:
        """Texts, or mappings with `text` and any other field. One transaction a batch: after a fault, whole batches
        are kept and the rest is not."""
        drafts = [self._draft({"text": item} if isinstance(item, str) else item) for item in items]
        for start in range(0, len(drafts), BATCH):
            self._engine.remember(drafts[start : start + BATCH])
            if progress is not None:
                progress(min(start + BATCH, len(drafts)), len(drafts), "remembering")
        return drafts

    def edit(self, id: str, *, text: str | None = None, why: str = "", **fields: Unpack[Editable]) -> Memory:
        """Embeds again only when the text or title changed."""
        given: dict[str, object] = {**fields} if text is None else {**fields, "text": text}
        changes = checked(given, self.types())
        return self._engine.change(self.space, [id], "edit", lambda m: replace(m, **changes), why=why)[0]  # type: ignore[arg-type]

    # forgetting

    def forget(self, *ids: str, why: str = "") -> bool:
        """Moves to the trash, from which `restore` brings it back; False when nothing was moved."""
        present = [memory.id for memory in self._store.get(self.space, ids) if memory.status != "trashed"]
        return bool(present and self._engine.change(self.space, present, "forget", trashed, why=why))

    def purge(self, *ids: str, why: str = "") -> int:
        """Deletes for good, in the journal too; returns how many there were."""
        return self._engine.purge(self.space, ids, why=why)

    def supersede(self, old: str, new: str, *, why: str = "") -> None:
        """`new` replaces `old`, which stays but is no longer recalled."""
        self._engine.supersede(self.space, old, new, why=why)

    def restore(self, id: str, *, why: str = "") -> bool:
        """Undoes a `forget` or a `supersede`; False when there is neither."""
        return self._engine.restore(self.space, id, why=why)

    def undo(self, batch: str | None = None, *, why: str = "") -> list[JournalEntry]:
        """Takes back an act, by default the last one that is not itself an undo."""
        return self._engine.undo(self.space, batch or self._last_act(), why=why)

    # looking

    def get(self, id: str) -> Memory | None:
        return next(iter(self._store.get(self.space, [id])), None)

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
        return self._store.select(self.space, self._filter(scope), order=order, limit=max(0, limit), offset=offset)

    def iterate(self, **scope: Unpack[Scope]) -> Iterator[Memory]:
        """Oldest first, however many there are, in bounded memory."""
        return self._store.iterate(self.space, self._filter(scope))

    def count(self, **scope: Unpack[Scope]) -> int:
        return self._store.count(self.space, self._filter(scope))

    def stats(self) -> Stats:
        return gather_stats(self._store, self.space, self._clock())

    def journal(self, id: str | None = None, *, limit: int | None = 20) -> list[JournalEntry]:
        """Newest first."""
        return self._store.journal(self.space, memory_id=id, limit=limit)

    def recall(self, query: str, k: int = 5, *, touch: bool = True, **asking: Unpack[Asking]) -> Recollection:
        """The memories that answer best, each with why. A hit counts as a use unless `touch` is False."""
        own, scope = parted(asking)
        self._engine.check_embedder()
        self._catch_up()
        now = self._clock()
        asked = query_of(query, k, own, self._filter(scope), now)
        found = recall(asked, space=self.space, store=self._store, embedder=self.embedder, reranker=self._reranker)
        if touch and found:
            self._store.touch(self.space, [hit.memory.id for hit in found], now)
        return found

    def recall_pack(
        self,
        query: str,
        *,
        token_budget: int = 800,
        max_items: int = 50,
        header: str = HEADER,
        token_counter: TokenCounter | None = None,
        **asking: Unpack[Asking],
    ) -> Pack:
        """The best memories that fit the budget, as text for a model's context. Only what is packed counts as used."""
        found = self.recall(query, max_items, touch=False, **asking)
        packed = pack(found, token_budget, header=header, token_counter=token_counter)
        if packed.items:
            self._store.touch(self.space, packed.ids(), self._clock())
        return packed

    # keeping

    def types(self) -> tuple[str, ...]:
        return (*TYPES, *(name for name in self._store.words("type") if name not in TYPES))

    def register_type(self, name: str) -> None:
        """Opens this store, in all its spaces, to another memory type."""
        with self._store.transaction() as transaction:
            transaction.add_word("type", named("type", name).lower())

    def spaces(self) -> dict[str, int]:
        return self._store.spaces()

    def reindex(self, *, progress: Progress | None = None) -> int:
        """Computes everything derived again with the present embedder; returns how many memories."""
        return indexing.reindex(self._engine, progress=progress)

    def catch_up(self, *, progress: Progress | None = None) -> int:
        """Embeds what was kept while the model was away; returns how many memories."""
        return indexing.catch_up_all(self._engine, progress=progress)

    def health(self, *, thorough: bool = False) -> Health:
        return self._store.health(thorough=thorough)

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _draft(self, given: Mapping[str, object]) -> Memory:
        if not isinstance(given, Mapping) or "text" not in given:
            raise InvalidInput("A memory needs a text; give it under 'text'.")
        wanted = {**self._usual, **given}
        fields = checked(wanted, TYPES if wanted["type"] in TYPES else self.types())
        now = self._clock()
        times = {"created_at": now, "updated_at": fields.get("created_at", now), "last_accessed": now}
        draft = {"id": str(uuid4()), **times, **fields, "space": self.space}
        return Memory(**draft)  # type: ignore[arg-type]

    def _filter(self, scope: Scope) -> Filter:
        return filter_of(scope, now=self._clock(), types=self.types() if scope.get("type") else ())

    def _last_act(self) -> str:
        for limit in LOOKED_BACK:
            found = undoing.last_standing(self._store.journal(self.space, limit=limit))
            if found is not None:
                return found
        return ""

    def _catch_up(self) -> None:
        if self.embedder.ready and self._store.pending(1):
            try:
                indexing.catch_up(self._engine, CATCH_UP)
            except (EmbeddingError, StoreBusy, StoreFull, StoreReadOnly):
                return  # the call itself says what is wrong, if it is in its way


def trashed(memory: Memory) -> Memory:
    return memory if memory.status == "trashed" else replace(memory, status="trashed", trashed_from=memory.status)
