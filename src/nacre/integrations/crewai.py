"""CrewAI's `StorageBackend`: the records of its memory are memories of a space."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
from crewai.memory.types import MemoryRecord, ScopeInfo

from nacre.integrations import records as keyed
from nacre.memory_store import MemoryStore
from nacre.model import Memory
from nacre.model.memory import SUSPICION
from nacre.recall.pack import SUSPICIOUS

REST = "crewai"  # the key in the metadata for what a memory has no field for
WARNING = "warning"  # CrewAI writes a record's metadata into the prompt, and so this too
ROOT = "/"


class NacreStorage:
    """Give it to `Memory(storage=storage, embedder=storage.embed)`: CrewAI asks by vectors, which must come from the
    store's embedder.

    A scope is a path in the metadata, a category is a tag. A text that gives orders to a model has a warning in its
    metadata.
    """

    def __init__(self, store: MemoryStore) -> None:
        self.store = store

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        rows: list[list[float]] = np.asarray(self.store.embedder.embed(list(texts)), np.float32).tolist()
        return rows

    def save(self, records: list[MemoryRecord]) -> None:
        keyed.put(self.store, {record.id: as_fields(record) for record in records})

    def update(self, record: MemoryRecord) -> None:
        self.save([record])

    def get_record(self, record_id: str) -> MemoryRecord | None:
        memory = keyed.get(self.store, [record_id]).get(record_id)
        return None if memory is None else as_record(memory)

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Compares with all records that fit. Raises `EmbeddingDimensionMismatchError`."""
        memories = {memory.id: memory for memory in self._matching(scope_prefix, categories, metadata_filter)}
        asked = np.asarray(query_embedding, np.float32)
        scores = {}
        for id, rows in self.store.vectors(list(memories)).items() if asked.size else ():
            if rows.shape[1] != asked.size:
                raise EmbeddingDimensionMismatchError(rows.shape[1], asked.size)
            cosine = (np.asarray(rows, np.float32) @ asked).max() / (np.linalg.norm(asked) or 1.0)
            scores[id] = float(np.clip(cosine, 0.0, 1.0))
        best = sorted((id for id in scores if scores[id] >= min_score), key=lambda id: -scores[id])[:limit]
        return [(as_record(memories[id]), scores[id]) for id in best]

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Moves to the trash what fits all criteria, in one operation that `undo` takes back."""
        ids = [
            memory.id
            for memory in self._matching(scope_prefix, categories, metadata_filter)
            if (record_ids is None or memory.id in record_ids)
            and (older_than is None or memory.created_at < seconds(older_than))
        ]
        keyed.delete(self.store, ids)
        return len(ids)

    def reset(self, scope_prefix: str | None = None) -> None:
        self.delete(scope_prefix)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        newest = sorted(self._matching(scope_prefix), key=lambda memory: memory.created_at, reverse=True)
        return list(map(as_record, newest[offset : offset + limit]))

    def get_scope_info(self, scope: str) -> ScopeInfo:
        memories = list(self._matching(scope))
        times = [as_time(memory.created_at) for memory in memories]
        return ScopeInfo(
            path=clean(scope) or ROOT,
            record_count=len(memories),
            categories=sorted({tag for memory in memories for tag in memory.tags}),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = ROOT) -> list[str]:
        prefix = f"{clean(parent)}/"
        below = (clean(scope_of(memory)).removeprefix(prefix) for memory in self._matching(parent))
        return sorted({prefix + rest.split("/")[0] for rest in below if rest and not rest.startswith("/")})

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        return dict(Counter(tag for memory in self._matching(scope_prefix) for tag in memory.tags))

    def count(self, scope_prefix: str | None = None) -> int:
        return sum(1 for _ in self._matching(scope_prefix))

    def touch_records(self, record_ids: list[str]) -> None:
        self.store.touch(*record_ids)

    async def asave(self, records: list[MemoryRecord]) -> None:
        await asyncio.to_thread(self.save, records)

    async def asearch(self, query_embedding: list[float], **criteria: Any) -> list[tuple[MemoryRecord, float]]:
        return await asyncio.to_thread(partial(self.search, query_embedding, **criteria))

    async def adelete(self, **criteria: Any) -> int:
        return await asyncio.to_thread(partial(self.delete, **criteria))

    def _matching(
        self, scope: str | None, categories: list[str] | None = None, metadata: dict[str, Any] | None = None
    ) -> Iterator[Memory]:
        """Those of the scope and below it, with one of the categories and all of the metadata."""
        prefix = clean(scope or ROOT)
        for memory in self.store.iterate():
            place = clean(scope_of(memory))
            fits = not prefix or place == prefix or place.startswith(f"{prefix}/")
            if fits and (not categories or set(categories) & set(memory.tags)):
                stored = memory.metadata
                if all(stored.get(key) == value for key, value in (metadata or {}).items()):
                    yield memory


def clean(scope: str) -> str:
    """The path without a slash at its end; of the root nothing."""
    parts = "/".join(filter(None, scope.split("/")))
    return f"/{parts}" if parts else ""


def scope_of(memory: Memory) -> str:
    rest = memory.metadata.get(REST)
    return str(rest.get("scope", ROOT)) if isinstance(rest, dict) else ROOT


def as_fields(record: MemoryRecord) -> dict[str, Any]:
    own = {key: value for key, value in record.metadata.items() if key != WARNING}
    metadata = {**own, REST: {"scope": record.scope, "private": record.private}}
    return {
        **keyed.text_fields(record.content, record.id, metadata),
        "tags": record.categories,
        "importance": record.importance,
        "source": record.source,
        "created_at": seconds(record.created_at),
        "last_accessed": seconds(record.last_accessed),
    }


def as_record(memory: Memory) -> MemoryRecord:
    metadata = keyed.own_metadata(memory)
    rest: Any = metadata.pop(REST, {})
    if SUSPICION in memory.metadata:
        metadata[WARNING] = SUSPICIOUS
    return MemoryRecord(
        id=memory.id,
        content=keyed.content_of(memory),
        scope=scope_of(memory),
        categories=list(memory.tags),
        metadata=metadata,
        importance=memory.importance,
        created_at=as_time(memory.created_at),
        last_accessed=as_time(memory.last_accessed),
        source=memory.source or None,
        private=bool(rest.get("private", False)),
    )


def seconds(time: datetime) -> float:
    """CrewAI's times have no zone and mean UTC."""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def as_time(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC).replace(tzinfo=None)
