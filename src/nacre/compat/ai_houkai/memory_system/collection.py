"""The part of a Chroma collection that AI-Houkai's callers reach for, over a space of the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nacre.memory_store import MemoryStore as NativeStore
from nacre.model import Filter
from nacre.model import Memory as NativeMemory

from .records import Memory

Where = Mapping[str, Any]
Rows = dict[str, Any]

COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, wanted: bool(value == wanted),
    "$ne": lambda value, wanted: bool(value != wanted),
    "$gt": lambda value, wanted: bool(value > wanted),
    "$gte": lambda value, wanted: bool(value >= wanted),
    "$lt": lambda value, wanted: bool(value < wanted),
    "$lte": lambda value, wanted: bool(value <= wanted),
    "$in": lambda value, wanted: value in wanted,
    "$nin": lambda value, wanted: value not in wanted,
}
JOINED: dict[str, Callable[..., bool]] = {"$and": all, "$or": any}
USUAL = ("metadatas", "documents")


@dataclass
class Client:
    """Closing frees the file."""

    native: NativeStore

    def close(self) -> None:
        self.native.close()


@dataclass
class Collection:
    native: NativeStore
    name: str

    def count(self) -> int:
        return self.native.count(include_superseded=True, include_archived=True, include_expired=True)

    def get(
        self,
        ids: Sequence[str] | str | None = None,
        where: Where | None = None,
        limit: int | None = None,
        offset: int = 0,
        include: Sequence[str] = USUAL,
    ) -> Rows:
        found = [memory for memory in self._chosen(ids) if admitted(memory.to_metadata(), where)]
        return self._rows(found[offset:][:limit], include)

    def add(
        self, ids: Sequence[str], documents: Sequence[str], metadatas: Sequence[Where] | None = None, **_: object
    ) -> None:
        """Vectors are computed from the texts, whatever is given."""
        whole = zip(ids, documents, metadatas or [{}] * len(ids), strict=True)
        drafts = [Memory.from_record(id, text, meta).native(self.native.space) for id, text, meta in whole]
        self.native.write("remember", new=drafts)

    def update(
        self,
        ids: Sequence[str],
        metadatas: Sequence[Where] | None = None,
        documents: Sequence[str] | None = None,
        **_: object,
    ) -> None:
        """Unknown ids are passed over."""
        known = {memory.id for memory in self.native.get_many(ids)}
        metas = metadatas or [{}] * len(ids)
        texts: Sequence[str | None] = documents or [None] * len(ids)
        given = zip(ids, metas, texts, strict=True)
        edits = {id: changing(meta, text) for id, meta, text in given if id in known}
        if edits:
            self.native.write("edit", edits=edits)

    def delete(self, ids: Sequence[str] | None = None, where: Where | None = None) -> None:
        if ids is not None or where:
            self.native.purge(*self.get(ids, where)["ids"])

    def query(
        self,
        query_texts: Sequence[str] = (),
        n_results: int = 10,
        where: Where | None = None,
        include: Sequence[str] = (*USUAL, "distances"),
        query_embeddings: Sequence[Any] | None = None,
    ) -> Rows:
        """The nearest of each question; a list for each, as Chroma gives it."""
        import numpy as np

        asked = query_embeddings if query_embeddings is not None else self.native.embedder.embed(list(query_texts))
        admits = set(self.get(where=where, include=())["ids"]) if where else None
        store, whole = self.native.acting_as("query").store, dict[str, list[Any]]()
        for vector in asked:
            near = store.by_vector(
                self.native.space,
                np.asarray(vector, np.float32),
                Filter.where(status__ne="trashed"),
                n_results if admits is None else self.count(),
            )
            best = [match for match in near if admits is None or match.id in admits][:n_results]
            row = self._rows(self._chosen([match.id for match in best]), include)
            row["distances"] = [1.0 - match.score for match in best] if "distances" in include else None
            for key, value in row.items():
                whole.setdefault(key, []).append(value)
        return {key: None if values[0] is None else values for key, values in whole.items()}

    def _chosen(self, ids: Sequence[str] | str | None) -> list[Memory]:
        if ids is not None:
            wanted = [ids] if isinstance(ids, str) else list(ids)
            return [
                Memory.of(self.native.shown(each)) for each in self.native.get_many(wanted) if each.status != "trashed"
            ]
        every = self.native.iterate(include_superseded=True, include_archived=True, include_expired=True)
        return [Memory.of(self.native.shown(each)) for each in every]

    def _rows(self, found: Sequence[Memory], include: Sequence[str]) -> Rows:
        ids = [memory.id for memory in found]
        vectors = self.native.vectors(ids) if "embeddings" in include else {}
        return {
            "ids": ids,
            "documents": [memory.text for memory in found] if "documents" in include else None,
            "metadatas": [memory.to_metadata() for memory in found] if "metadatas" in include else None,
            "embeddings": [vectors[id][0] if id in vectors else None for id in ids]
            if "embeddings" in include
            else None,
        }


def admitted(meta: Mapping[str, Any], where: Where | None) -> bool:
    """Chroma's filter over plain values: equality, comparisons, `$and` and `$or`."""
    for name, wanted in (where or {}).items():
        if name in JOINED:
            if not JOINED[name](admitted(meta, each) for each in wanted):
                return False
        else:
            tests = wanted.items() if isinstance(wanted, Mapping) else [("$eq", wanted)]
            if name not in meta or not all(COMPARED[test](meta[name], value) for test, value in tests):
                return False
    return True


def changing(meta: Where, text: str | None) -> Callable[[NativeMemory], NativeMemory]:
    def changed(memory: NativeMemory) -> NativeMemory:
        stands = Memory.of(memory)
        said = stands.text if text is None else text
        given = Memory.from_record(memory.id, said, {**stands.to_metadata(), **meta}).native(memory.space)
        kept = {name: getattr(given, name) for name in MUTABLE}
        return replace(memory, **kept)

    return changed


MUTABLE = (
    "text type tags importance created_at last_accessed access_count source links superseded_by superseded_at"
    " polarity".split()
)
