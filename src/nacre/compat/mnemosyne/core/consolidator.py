"""Mnemosyne's consolidation: of similar short-term memories, the most important goes to the long term."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import ArrayLike

from nacre.compat.mnemosyne.storage.chroma_store import SHORT_TERM, ChromaMemoryStore
from nacre.lifecycle import clustering, consolidation
from nacre.model.memory import Json

from .models import ConsolidationConfig, ConsolidationReport, Memory, MemoryCluster

log = logging.getLogger("mnemosyne")


def cosine_similarity(a: ArrayLike, b: ArrayLike) -> float:
    """0 when either has no length."""
    one, other = np.asarray(a, np.float32), np.asarray(b, np.float32)
    lengths = float(np.linalg.norm(one)) * float(np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else 0.0


class MemoryConsolidator:
    """Works on anything with the store's methods; on the store itself each cluster is one undoable operation."""

    def __init__(self, store: ChromaMemoryStore, config: ConsolidationConfig | None = None) -> None:
        self.store = store
        self.config = config or ConsolidationConfig()

    def should_consolidate(self) -> tuple[bool, str]:
        waiting, limit = self.store.get_short_term_count(), self.config.buffer_threshold
        state = "exceeds" if waiting >= limit else "below"
        return waiting >= limit, f"Buffer size ({waiting}) {state} threshold ({limit})"

    def get_consolidation_candidates(self) -> list[Memory]:
        wait = timedelta(hours=self.config.min_age_hours)
        waiting = self.store.get_all_short_term(limit=self.store.get_short_term_count())
        old = [each for each in waiting if each.created_at <= datetime.now(each.created_at.tzinfo) - wait]
        for memory in old:
            memory.importance_score = memory.compute_importance()
        return sorted(old, key=lambda memory: -memory.importance_score)[: self.config.max_batch_size]

    def cluster_memories(self, memories: Sequence[Memory]) -> list[MemoryCluster]:
        """Where some have an embedding, the others wait for theirs."""
        vectors = self.store.get_embeddings_batch([memory.id for memory in memories]) if memories else {}
        if not len(vectors):
            return [cluster([memory], []) for memory in memories]
        placed = [memory for memory in memories if memory.id in vectors]
        rows = np.asarray([vectors[memory.id] for memory in placed], np.float32)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        groups = clustering.by_centroid(rows, self.config.similarity_threshold)
        centroids = (clustering.mean_direction(rows[group]).tolist() for group in groups)
        return [cluster([placed[at] for at in group], centre) for group, centre in zip(groups, centroids, strict=True)]

    def consolidate(self) -> ConsolidationReport:
        started = time.perf_counter()
        candidates = self.get_consolidation_candidates()
        result = self.cluster_memories(candidates)
        report = ConsolidationReport(clusters_formed=len(result), total_processed=len(candidates))
        for each in result:
            if each.avg_importance >= self.config.importance_threshold:
                self._promote(each, report)
        report.memories_skipped = len(candidates) - report.memories_promoted - report.memories_archived
        report.duration_seconds = time.perf_counter() - started
        return report

    def _promote(self, each: MemoryCluster, report: ConsolidationReport) -> None:
        best = max(each.memories, key=lambda memory: memory.importance_score)
        others = [memory.id for memory in each.memories if memory.id != best.id]
        if issubclass(type(self.store), ChromaMemoryStore):  # a test's double may only claim to be one
            promoted, gone = promote_in_one_operation(self.store, best.id, others)
        else:
            promoted = bool(self.store.promote_memory(best.id))
            gone = sum(bool(self.store.delete_memory(id)) for id in others) if promoted else 0
        if not promoted:
            log.warning("%s could not be promoted; its cluster stays in the short term.", best.id)
            return
        report.memories_promoted += 1
        report.memories_archived += gone
        data: dict[str, Json] = {"promoted_id": best.id, "source_ids": [*others], "cluster_size": len(each.memories)}
        report.cluster_summaries.append({**data, "avg_importance": each.avg_importance})


def cluster(memories: list[Memory], centroid: list[float]) -> MemoryCluster:
    types = [memory.memory_type for memory in memories]
    mean = sum(memory.importance_score for memory in memories) / len(memories)
    return MemoryCluster(memories, centroid, mean, max(dict.fromkeys(types), key=types.count))


def promote_in_one_operation(store: ChromaMemoryStore, best: str, others: Sequence[str]) -> tuple[bool, int]:
    """Whether it was promoted, and how many were removed. Nothing changes when one of them is missing or long-term."""
    current = store.memories.get_many([best, *others])
    if len(current) <= len(others) or any(record.status not in SHORT_TERM for record in current):
        return False, 0
    store._bm25_dirty = True
    planned = consolidation.MemoryCluster(tuple(current), 0.0)
    done = consolidation.Consolidator(store.memories, hard=True).apply([planned])
    return bool(done), len(others) - len(store.memories.get_many(others))
