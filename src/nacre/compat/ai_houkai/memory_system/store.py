"""AI-Houkai's MemoryStore: its words, defaults and answers over one space of a Nacre store."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nacre.errors import MemoryNotFound, SupersedeCycle, UnknownName
from nacre.model import Direction, Hit, Recollection
from nacre.model import Memory as NativeMemory
from nacre.recall.pack import HEADER, estimated_tokens, pack
from nacre.recall.strategies import pool_words

from . import conflicts
from .carrying import Carrying
from .conflicts import negation_diff as _negation_diff
from .conflicts import tokenize as _tokenize
from .records import (
    Conflict,
    ConflictError,
    ConflictFn,
    ExpandSpec,
    Graph,
    HybridWeights,
    Memory,
    Neighbors,
    PackedMemory,
    PackResult,
    RememberResult,
)

__all__ = ["Memory", "MemoryStore", "_bm25_score_pool", "_estimate_tokens", "_negation_diff", "_tokenize"]

POLICIES = ("ignore", "warn", "supersede", "raise")
ACCESSED = "accessed"  # recency counts from the last use here, natively from the making
_estimate_tokens = estimated_tokens


class MemoryStore(Carrying):
    def remember(
        self,
        text: str,
        type: str = "semantic",
        tags: Iterable[str] = (),
        importance: float = 0.5,
        source: str | None = None,
        *,
        on_conflict: str | None = None,
        contradiction_fn: ConflictFn | None = None,
        polarity: int = 0,
    ) -> Memory:
        handling: dict[str, Any] = {"on_conflict": on_conflict, "contradiction_fn": contradiction_fn}
        return self.remember_result(text, type, tags, importance, source, polarity=polarity, **handling).memory

    def remember_result(
        self,
        text: str,
        type: str = "semantic",
        tags: Iterable[str] = (),
        importance: float = 0.5,
        source: str | None = None,
        *,
        on_conflict: str | None = None,
        contradiction_fn: ConflictFn | None = None,
        polarity: int = 0,
    ) -> RememberResult:
        """As `remember`, and tells what it conflicts with; `raise` is decided before anything is written."""
        policy = known_policy(on_conflict or self.conflict_policy)
        fields: dict[str, Any] = {"type": type, "tags": list(tags), "source": source or "", "polarity": polarity}
        draft = self.native.draft(text, importance=clamped(importance), **fields)
        contradicts = contradiction_fn or self.contradiction_fn
        found = [] if policy == "ignore" else self._conflicts(Memory.of(draft), None, contradicts)
        if found and policy == "raise":
            raise ConflictError(found)
        replaced = {each.b.id: draft.id for each in found} if policy == "supersede" else {}
        self.native.write("remember", new=[draft], heirs=replaced)
        kept = self._existing(draft.id)
        self._log("remember", kept.id, after=kept.to_dict())
        for old in replaced:
            self._log("supersede", old, meta={"old_id": old, "new_id": kept.id})
        if found and policy == "warn":
            told = "; ".join(f"{each.kind} of {each.b.id} ({each.reason})" for each in found)
            warnings.warn(f"Stored beside {len(found)} conflict(s): {told}.", UserWarning, stacklevel=3)
        return RememberResult(kept, found, "superseded" if replaced else "stored")

    def forget(self, memory_id: str) -> bool:
        before = self.get(memory_id)
        if before is None:
            return False
        self.native.purge(memory_id)
        self._log("forget", memory_id, before=before.to_dict())
        return True

    def edit(self, memory_id: str, **fields: Any) -> Memory:
        """Embeds again only when the text changed. Raises `KeyError`."""
        before = self._existing(memory_id)
        given = {name: value for name, value in fields.items() if value is not None}
        if "importance" in given:
            given["importance"] = clamped(given["importance"])
        self.native.edit(memory_id, **given)
        after = self._existing(memory_id)
        self._log("edit", memory_id, before=before.to_dict(), after=after.to_dict())
        return after

    def list_recent(self, limit: int = 20, include_superseded: bool = False) -> list[Memory]:
        return [Memory.of(each) for each in self.native.list_recent(limit, include_superseded=include_superseded)]

    def count(self) -> int:
        return self.collection.count()

    def recall(
        self,
        query: str,
        k: int = 5,
        type: str | None = None,
        tag: str | None = None,
        min_importance: float | None = None,
        *,
        mode: str = "semantic",
        weights: HybridWeights | None = None,
        overfetch: int = 4,
        expand: ExpandSpec | None = None,
        include_superseded: bool = False,
        touch: bool = True,
    ) -> list[tuple[Memory, float]]:
        if k <= 0:
            return []
        hits = self.native.recall(
            query,
            k,
            touch=touch,
            strategy=mode,
            weights=weights or self.hybrid_weights,
            overfetch=overfetch,
            expand=expand,
            recency_basis=ACCESSED,
            collapse=False,
            type=type,
            tag=tag,
            min_importance=min_importance,
            include_superseded=include_superseded,
        )
        used = {memory.id: memory for memory in self.native.get_many([hit.memory.id for hit in hits])}
        return [(seen(hit.memory, used), hit.score) for hit in hits]

    def recall_pack(
        self,
        query: str,
        *,
        token_budget: int = 800,
        type: str | None = None,
        tag: str | None = None,
        min_importance: float | None = None,
        mode: str = "hybrid",
        weights: HybridWeights | None = None,
        expand: ExpandSpec | None = None,
        include_superseded: bool = False,
        max_items: int = 50,
        token_counter: Callable[[str], int] | None = None,
        header: str = HEADER,
    ) -> PackResult:
        asked: dict[str, Any] = {"mode": mode, "weights": weights, "expand": expand}
        ranked = self.recall(
            query, max_items, type, tag, min_importance, include_superseded=include_superseded, **asked
        )
        # A line says nothing but the type and the text here, so only these are handed on.
        bare = [Hit(NativeMemory(id=memory.id, text=memory.text, type=memory.type), score) for memory, score in ranked]
        packed = pack(Recollection(tuple(bare)), token_budget, header=header, token_counter=token_counter)
        whole = {memory.id: memory for memory, _ in ranked}
        items = [PackedMemory(whole[item.memory.id], item.score, item.tokens) for item in packed.items]
        return PackResult(items, packed.text, packed.used_tokens, packed.budget, packed.truncated)

    def _touch(self, memory: Memory | str) -> None:
        self.native.touch(memory if isinstance(memory, str) else memory.id)
        if isinstance(memory, Memory):
            now = self._existing(memory.id)
            memory.last_accessed, memory.access_count = now.last_accessed, now.access_count

    def link(self, src_id: str, dst_id: str, rel: str = "related") -> None:
        """The target need not be there. Raises `KeyError` for an unknown source, `ValueError` for a tie to itself."""
        if self.native.link(src_id, dst_id, rel).new:
            self._log("link", src_id, meta={"src_id": src_id, "dst_id": dst_id, "rel": rel})

    def unlink(self, src_id: str, dst_id: str, rel: str | None = None) -> int:
        source = self.get(src_id)
        if source is None:
            return 0
        rels = [link.rel for link in source.links if link.to == dst_id and rel in (None, link.rel)]
        removed = self.native.unlink(src_id, dst_id, rel)
        if removed:
            told = {"src_id": src_id, "dst_id": dst_id, "rel": rel, "removed": removed, "removed_rels": rels}
            self._log("unlink", src_id, meta=told)
        return removed

    def neighbors(
        self, memory_id: str, rel: str | None = None, direction: Direction = "both", depth: int = 1
    ) -> Neighbors:
        if self.get(memory_id) is None:
            return Neighbors()
        found = self.native.neighbors(memory_id, rel=rel, direction=direction, depth=depth, include_hidden=True)
        return Neighbors([(Memory.of(each.memory), each.rel) for each in found.found], found.dangling)

    def subgraph(self, ids: Sequence[str], depth: int = 1) -> Graph:
        found = self.native.subgraph(ids, depth=depth)
        nodes = {id: Memory.of(memory) for id, memory in found.nodes.items()}
        return Graph(nodes, [(edge.source, edge.target, edge.rel) for edge in found.edges])

    def supersede(self, old_id: str, new_id: str) -> None:
        """Doing it again changes nothing. Raises `KeyError`, and `ValueError` where a cycle would close."""
        if self._existing(old_id).superseded_by == new_id:
            return
        if old_id == new_id:
            raise ValueError(f"{old_id} cannot supersede itself; give another memory.")
        try:
            self.native.supersede(old_id, new_id)
        except SupersedeCycle as error:
            raise ValueError(f"That would close a cycle of succession: {error}") from error
        self._log("supersede", old_id, meta={"old_id": old_id, "new_id": new_id})

    def restore(self, memory_id: str) -> bool:
        stands = self.get(memory_id)
        if stands is None or not stands.superseded_by:
            return False
        self.native.restore(memory_id)
        self._log("restore", memory_id, meta={"old_id": memory_id, "new_id": stands.superseded_by})
        return True

    def find_conflicts(self, memory_id: str | None = None, threshold: float | None = None) -> list[Conflict]:
        """Raises `KeyError` for an unknown id."""
        if memory_id is not None:
            return self._conflicts(self._existing(memory_id), threshold, self.contradiction_fn)
        least = self.conflict_threshold if threshold is None else threshold
        return conflicts.of_all(self.native, least, self.contradiction_fn)

    def _conflicts(self, memory: Memory, threshold: float | None, contradicts: ConflictFn | None) -> list[Conflict]:
        least = self.conflict_threshold if threshold is None else threshold
        return conflicts.of_one(self.native, memory, least, contradicts)

    def _existing(self, memory_id: str) -> Memory:
        found = self.get(memory_id)
        if found is None:
            raise MemoryNotFound(memory_id, self.native.space)
        return found


def known_policy(name: str) -> str:
    if name not in POLICIES:
        raise UnknownName("conflict policy", name, POLICIES)
    return name


def clamped(importance: float) -> float:
    return min(1.0, max(0.0, float(importance)))


def seen(memory: NativeMemory, used: dict[str, NativeMemory]) -> Memory:
    """With the use that the recall itself was."""
    shown, now = Memory.of(memory), used.get(memory.id, memory)
    shown.last_accessed, shown.access_count = now.last_accessed, now.access_count
    return shown


def _bm25_score_pool(query: str, docs: Sequence[str]) -> list[float]:
    scores = pool_words(query, [NativeMemory(id=str(at), text=text) for at, text in enumerate(docs)])
    return [scores[str(at)] for at in range(len(docs))]
