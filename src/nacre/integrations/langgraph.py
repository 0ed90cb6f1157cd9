"""LangGraph's `BaseStore`: a namespace is a space, an item is a memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from operator import eq, ge, gt, le, lt, ne
from pathlib import Path
from typing import Any, Self

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
    get_text_at_path,
)

from nacre.integrations import records
from nacre.memory_store import MemoryStore
from nacre.model import Filter, Memory

Namespace = tuple[str, ...]
UNINDEXED = "unindexed"  # the tag of items that a search by meaning leaves out
ROOT_PATH = "$"  # the path of a value as a whole
MINUTE = 60.0
RENEWED_AFTER = 0.05  # of a time to live; a shorter wait would make nearly every read a write
OPERATORS = {"$eq": eq, "$ne": ne, "$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


class NacreStore(BaseStore):
    """Give it to `graph.compile(store=…)`. Its operations, except `sweep_ttl`, are journaled and can be undone.

    The namespace ("users", "ann") is the space `users.ann`. Memories that others have stored in a space are items too,
    with the value {"text": …}. `index["fields"]` says which parts of a value are searched, by default all; `ttl` is
    LangGraph's `TTLConfig`. Expired items are never returned; `sweep_ttl` deletes them.
    """

    __slots__ = ("_fields", "store", "ttl_config")
    supports_ttl = True

    def __init__(self, store: MemoryStore, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None) -> None:
        self.store = store
        self.ttl_config = ttl
        self._fields = list((index or {}).get("fields") or [ROOT_PATH])

    @classmethod
    def open(cls, path: Path | str, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None) -> Self:
        """Opens the store of that path, with the embeddings of `index["embed"]` if there are some."""
        embed = (index or {}).get("embed")
        embedder = None if embed is None else ensure_embeddings(embed).embed_documents
        return cls(MemoryStore(path, embedder=embedder, actor="langgraph"), index=index, ttl=ttl)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Reads come before writes; of several writes to one key the last counts."""
        wanted = list(ops)
        results: list[Result] = [None if isinstance(op, PutOp) else self._read(op) for op in wanted]
        writes: dict[Namespace, dict[str, PutOp]] = {}
        for op in wanted:
            if isinstance(op, PutOp):
                writes.setdefault(op.namespace, {})[op.key] = op
        for namespace, by_key in writes.items():
            self._write(self._view(namespace), by_key)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Deletes expired items for good; returns how many."""
        count = 0
        for space in self.store.spaces():
            view = self.store.in_space(space)
            expired = Filter.where(expires_at__le=view.now())
            ids = [memory.id for memory in view.iterate(where=expired, include_expired=True, include_archived=True)]
            count += view.purge(*ids, why="its time to live has passed") if ids else 0
        return count

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._list_namespaces(op)
        raise ValueError(f"Unknown operation type: {type(op)}")

    def _get(self, op: GetOp) -> Item | None:
        if not op.namespace:
            return None
        view = self._view(op.namespace)
        memory = records.get(view, [op.key]).get(op.key)
        if memory is None:
            return None
        if op.refresh_ttl:
            self._renew(view, [memory])
        return Item(**item_fields(memory))

    def _write(self, view: MemoryStore, by_key: Mapping[str, PutOp]) -> None:
        stored = {key: self._fields_of(op) for key, op in by_key.items() if op.value is not None}
        records.put(view, stored)
        deleted = [key for key in by_key if key not in stored]
        if deleted:
            records.delete(view, deleted)

    def _fields_of(self, op: PutOp) -> dict[str, Any]:
        value = dict(op.value or {})
        paths = [] if op.index is False else self._fields if op.index is None else op.index
        texts = [text for path in paths for text in texts_at(value, path)]
        text = "\n".join(filter(str.strip, texts))
        expires = None if op.ttl is None else self.store.now() + op.ttl * MINUTE
        return {
            "text": text or op.key,
            "tags": [] if text else [UNINDEXED],
            "metadata": {"value": value} if op.ttl is None else {"value": value, "ttl": op.ttl},
            "expires_at": expires,
        }

    def _search(self, op: SearchOp) -> list[SearchItem]:
        wanted = op.offset + op.limit
        views = [self._view(namespace) for namespace in self._namespaces(op.namespace_prefix)]
        ranked = [each for view in views for each in self._ranked(view, op, wanted)]
        ranked.sort(key=lambda each: each[0] if each[0] is not None else -1.0, reverse=True)
        page = ranked[op.offset : wanted]
        if op.refresh_ttl:
            for view in views:
                self._renew(view, [memory for _, memory in page if memory.space == view.space])
        return [SearchItem(**item_fields(memory), score=score) for score, memory in page]

    def _ranked(self, view: MemoryStore, op: SearchOp, wanted: int) -> list[tuple[float | None, Memory]]:
        where = Filter()
        if op.filter:
            matching = [memory.id for memory in view.iterate() if matches(value_of(memory), op.filter)]
            where = Filter.where(id__in=matching)
        if not op.query:
            return [(None, memory) for memory in view.list_recent(max(0, wanted), where=where)]
        indexed = where & Filter.where(tags__none=[UNINDEXED])
        hits = records.ranked(view, op.query, wanted, indexed)
        rest = view.list_recent(max(0, wanted - len(hits)), where=where, tag=UNINDEXED)
        return [*((hit.relevance, hit.memory) for hit in hits), *((None, memory) for memory in rest)]

    def _renew(self, view: MemoryStore, memories: Iterable[Memory]) -> None:
        now = view.now()
        for memory in memories:
            minutes = memory.metadata.get("ttl")
            if isinstance(minutes, int | float) and memory.expires_at is not None:
                lifetime = minutes * MINUTE
                if now + lifetime - memory.expires_at > RENEWED_AFTER * lifetime:
                    view.edit(memory.id, expires_at=now + lifetime)

    def _list_namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        matched = (each for each in self._namespaces() if all(satisfies(each, condition) for condition in conditions))
        names = sorted({each[: op.max_depth] for each in matched})
        return names[op.offset : op.offset + op.limit]

    def _namespaces(self, prefix: Namespace = ()) -> list[Namespace]:
        """Those with something in them; a space whose name has an empty part is none."""
        split = (tuple(space.split(".")) for space in self.store.spaces())
        return [each for each in split if all(each) and starts_with(each, prefix) and self._view(each).count()]

    def _view(self, namespace: Namespace) -> MemoryStore:
        records.check_keys(namespace, "label")
        return self.store.in_space(".".join(namespace))


def texts_at(value: Mapping[str, Any], path: str) -> list[str]:
    if path == ROOT_PATH:
        return [readable(value)]
    texts: list[str] = get_text_at_path(dict(value), path)
    return texts


def readable(value: Any) -> str:
    """The words of a value, a line for each field; of a value with one field its content alone."""
    if isinstance(value, Mapping):
        if len(value) == 1:
            return readable(next(iter(value.values())))
        return "\n".join(f"{key}: {readable(each)}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(readable, value))
    return "" if value is None else str(value)


def value_of(memory: Memory) -> dict[str, Any]:
    value = memory.metadata.get("value")
    return value if isinstance(value, dict) else {"text": memory.text}


def item_fields(memory: Memory) -> dict[str, Any]:
    return {
        "value": value_of(memory),
        "key": memory.id,
        "namespace": tuple(memory.space.split(".")),
        "created_at": datetime.fromtimestamp(memory.created_at, UTC),
        "updated_at": datetime.fromtimestamp(memory.updated_at, UTC),
    }


def matches(value: Any, wanted: Any) -> bool:
    """Whether a value has what a filter names: equal parts, or parts for which the operators hold."""
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    if any(key.startswith("$") for key in wanted):
        return all(holds(value, name, operand) for name, operand in wanted.items())
    return isinstance(value, Mapping) and all(matches(value.get(key), each) for key, each in wanted.items())


def holds(value: Any, name: str, operand: Any) -> bool:
    if name not in OPERATORS:
        raise ValueError(f"There is no operator {name!r} in a filter; there are {', '.join(OPERATORS)}.")
    try:
        return bool(OPERATORS[name](value, operand))
    except TypeError:
        return False  # text and numbers have no order


def starts_with(namespace: Namespace, prefix: Namespace) -> bool:
    return namespace[: len(prefix)] == tuple(prefix)


def satisfies(namespace: Namespace, condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", name) for name, wanted in zip(part, path, strict=True))
