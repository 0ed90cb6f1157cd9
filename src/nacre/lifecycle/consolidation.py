"""Promotes important short-term memories to the long term: groups similar ones and keeps one of each group."""

from __future__ import annotations

import time
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field, replace
from heapq import nlargest

from nacre.engine.engine import Engine, Lookup, PendingChanges
from nacre.engine.merge import all_united, redirected_links
from nacre.engine.supersede import START_SET
from nacre.lifecycle.clustering import (
    all_unchanged,
    by_centroid,
    grouped,
    notes_between,
    readers,
    replace_members,
    states_another,
)
from nacre.memory_store import MemoryStore
from nacre.model import Filter, Link, Memory
from nacre.model.instants import DAY
from nacre.model.journal import CONSOLIDATE
from nacre.model.memory import DERIVED_FROM, SUPERSEDES, Json
from nacre.protocols import Change, Reader
from nacre.text.emotion import salience

ACTOR = "consolidation"
SHORT_TERM = ("short_term", "consolidating")
YEAR_DAYS = 365.0
# The weights of Mnemosyne: emotion, recency and use.
FELT, NEW, USED = 0.4, 0.3, 0.3
MANY_USES = 10
NEUTRAL = 0.5  # the salience of a memory without emotion


@dataclass(frozen=True, slots=True)
class ConsolidationConfig:
    importance_threshold: float = 0.6
    min_age_hours: float = 1.0
    max_batch_size: int = 50
    buffer_threshold: int = 100
    similarity_threshold: float = 0.85
    min_cluster_size: int = 1  # a single memory can be promoted; Mnemosyne requires two


@dataclass(frozen=True, slots=True)
class MemoryCluster:
    memories: tuple[Memory, ...]
    avg_importance: float


@dataclass(slots=True)
class ConsolidationReport:
    clusters_formed: int = 0
    memories_promoted: int = 0
    memories_archived: int = 0
    memories_skipped: int = 0
    total_processed: int = 0
    duration_seconds: float = 0.0
    cluster_summaries: list[dict[str, Json]] = field(default_factory=list)


def worth(memory: Memory, now: float) -> float:
    """From 0 to 1, of emotion, recency and use."""
    felt = NEUTRAL if memory.valence is None else salience(memory.valence, memory.arousal or 0.0)
    new = max(0.0, 1 - max(0.0, now - memory.created_at) / DAY / YEAR_DAYS)
    return FELT * felt + NEW * new + USED * min(1.0, memory.access_count / MANY_USES)


@dataclass(frozen=True, slots=True)
class Consolidator:
    """`hard` removes the other members of a cluster; else the promoted one supersedes them. Pinned ones stay. Those
    `excluded` are no candidates. Members of a cluster say the same, to the same readers and for as long."""

    store: MemoryStore
    config: ConsolidationConfig = ConsolidationConfig()
    hard: bool = False
    excluded: Collection[str] = ()

    def should_consolidate(self) -> tuple[bool, str]:
        waiting, limit = self.store.count(status=SHORT_TERM), self.config.buffer_threshold
        state = "exceeds" if waiting >= limit else "below"
        return waiting >= limit, f"Buffer size ({waiting}) {state} threshold ({limit})"

    def candidates(self, now: float | None = None) -> list[Memory]:
        """Short-term memories that are old enough, the most valuable first, at most one batch."""
        at = self.store.now() if now is None else now
        old = Filter.where(created_at__le=at - self.config.min_age_hours * 3600)
        waiting = (
            memory for memory in self.store.iterate(status=SHORT_TERM, where=old) if memory.id not in self.excluded
        )
        scored = (replace(memory, salience=worth(memory, at)) for memory in waiting)
        return nlargest(self.config.max_batch_size, scored, key=lambda memory: memory.salience)

    def clusters(self, memories: Sequence[Memory]) -> list[MemoryCluster]:
        """Every memory is in one cluster; those without a vector are alone."""
        groups = grouped(
            self.store,
            memories,
            by_centroid,
            self.config.similarity_threshold,
            key=replacement_key,
            apart=states_another,
        )
        placed = {memory.id for members in groups for memory in members}
        alone = [cluster([memory]) for memory in memories if memory.id not in placed]
        return [*(cluster(members) for members in groups), *alone]

    def plan(self, now: float | None = None) -> list[MemoryCluster]:
        """The clusters to promote. Changes nothing."""
        return [each for each in self.clusters(self.candidates(now)) if self.earned(each)]

    def earned(self, each: MemoryCluster) -> bool:
        large = len(each.memories) >= self.config.min_cluster_size
        return large and each.avg_importance >= self.config.importance_threshold

    def consolidate(self, now: float | None = None, *, dry_run: bool = False) -> ConsolidationReport:
        started = time.perf_counter()
        clusters = self.clusters(self.candidates(now))
        earned = [each for each in clusters if self.earned(each)]
        report = report_of(earned if dry_run else self.apply(earned), clusters)
        report.duration_seconds = time.perf_counter() - started
        return report

    def apply(self, plan: Sequence[MemoryCluster], *, why: str = "") -> list[MemoryCluster]:
        """Promotes the most valuable member of each cluster in one operation; skips changed clusters."""
        engine = self.store.acting_as(ACTOR)
        done: list[MemoryCluster] = []

        def carry_out(reader: Reader) -> list[Change]:
            done.clear()
            reader.get_many(self.store.space, [memory.id for each in plan for memory in each.memories])
            pending, now = PendingChanges(reader), engine.clock()
            successors: dict[str, str] = {}
            for each in plan:
                current = all_unchanged(each.memories, pending)
                if current and still_one(each.memories, current):
                    pending.add(promote(each, current, pending, engine, hard=self.hard))
                    successors |= {memory.id: current[0].id for memory in current[1:] if not memory.pinned}
                    done.append(each)
            # Once all are promoted: what one cluster keeps may be linked to what another one replaces.
            pending.add(redirected_links(reader, pending, self.store.space, successors, now))
            return list(pending)

        if plan:
            engine.write_named(CONSOLIDATE, carry_out, why)
        return done


def still_one(planned: Sequence[Memory], current: Sequence[Memory]) -> bool:
    """False where one of them has got other times or readers since the plan, or two were found to conflict."""
    return len(set(map(replacement_key, current))) == 1 and notes_between(current) <= notes_between(planned)


def replacement_key(memory: Memory) -> tuple[Hashable, ...]:
    """What a memory must share with the one that replaces it, so that nobody loses it before its time."""
    replaced = any(link.rel == SUPERSEDES and link.data.get(START_SET) for link in memory.links)
    start = None if replaced else memory.valid_from  # what began when it replaced another is still true
    return *readers(memory), memory.trust, memory.expires_at, start, memory.valid_until


def cluster(memories: Sequence[Memory]) -> MemoryCluster:
    ordered = sorted(memories, key=lambda memory: -memory.salience)
    return MemoryCluster(tuple(ordered), sum(memory.salience for memory in ordered) / len(ordered))


def promote(
    each: MemoryCluster, current: Sequence[Memory], lookup: Lookup, engine: Engine, *, hard: bool
) -> list[Change]:
    """The first member gets what those had that it replaces. `current`: the members as they are now."""
    (first, *others), now = current, engine.clock()
    leaving = [memory for memory in others if not memory.pinned]
    successor = all_united(first, leaving)
    successor = replace(successor, status="long_term", salience=each.memories[0].salience, updated_at=now)
    # A reflection may be promoted together with its own sources, to which it is linked already.
    named = {link.to for link in successor.links if link.rel == DERIVED_FROM}
    links = (Link(memory.id, DERIVED_FROM) for memory in others if memory.id not in named)
    successor = replace(successor, links=(*successor.links, *links))
    successor, changes = replace_members(lookup, others, successor, now, hard=hard)
    derived = engine.prepare([(first, successor)]).get(first.id)
    return [Change(first, successor, derived), *changes]


def report_of(done: Sequence[MemoryCluster], clusters: Sequence[MemoryCluster]) -> ConsolidationReport:
    processed = sum(len(each.memories) for each in clusters)
    behind = sum(not member.pinned for each in done for member in each.memories[1:])
    summaries: list[dict[str, Json]] = [
        {"promoted_id": each.memories[0].id, "source_ids": [memory.id for memory in each.memories],
         "cluster_size": len(each.memories), "avg_importance": each.avg_importance}
        for each in done
    ]  # fmt: skip
    return ConsolidationReport(
        clusters_formed=len(clusters), memories_promoted=len(done), memories_archived=behind,
        memories_skipped=processed - len(done) - behind, total_processed=processed, cluster_summaries=summaries,
    )  # fmt: skip
