"""Condenses what was lived into what is known: groups of similar episodes become one semantic memory each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias
from uuid import uuid4

from nacre.engine.changes import AnyChange, Change
from nacre.errors import UnknownName
from nacre.lifecycle.clustering import DERIVED_FROM, all_unchanged, by_seed, mean_direction, replaced
from nacre.lifecycle.summaries import Summarizer, summarizer_named
from nacre.memory_store import MemoryStore
from nacre.model import Link, Memory
from nacre.protocols import Derived, Progress, Transaction
from nacre.remember.validate import memory_text

Consolidate: TypeAlias = bool | Literal["hard", "soft"]

ACTOR = "reflection"
TAG = "reflection"
DECIMALS = 3


@dataclass(frozen=True, slots=True)
class Reflection:
    """A summary that is not yet kept, and the episodes that it was made from."""

    summary: Memory
    sources: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class ReflectionEngine:
    """`summarizer` is central, extractive, or any function from memories to a text. Episodes that a reflection was made
    from before are not looked at again, unless `again` is set."""

    store: MemoryStore
    similarity_threshold: float = 0.75
    min_cluster_size: int = 2
    summarizer: Summarizer | str | None = None
    again: bool = False

    def clusters(self, since: float | None = None) -> list[list[Memory]]:
        """Groups of episodes, each one's most important first. With `since`, only those that a later episode is in."""
        import numpy as np

        episodes = sorted(self._episodes(), key=lambda memory: -memory.importance)
        vectors = self.store.vectors([memory.id for memory in episodes])
        found = [memory for memory in episodes if memory.id in vectors]
        if not found:
            return []
        matrix = np.stack([mean_direction(vectors[memory.id]) for memory in found])
        fresh = None if since is None else [memory.created_at > since for memory in found]
        groups = by_seed(matrix, self.similarity_threshold, fresh)
        large = [sorted(group.rows) for group in groups if len(group.rows) >= self.min_cluster_size]
        return [[found[row] for row in rows] for rows in large]

    def plan(
        self, now: float | None = None, since: float | None = None, progress: Progress | None = None
    ) -> tuple[Reflection, ...]:
        """What would be written. Nothing is changed."""
        at = self.store.now() if now is None else now
        summarize = summarizer_named(self.summarizer)
        groups = self.clusters(since)
        planned = []
        for number, group in enumerate(groups):
            planned.append(Reflection(self._summary(group, summarize(group), at), tuple(group)))
            if progress is not None:
                progress(number + 1, len(groups), "condensing memories")
        return tuple(planned)

    def apply(self, plan: Sequence[Reflection], consolidate: Consolidate = False, *, why: str = "") -> list[Memory]:
        """Keeps the summaries in one act. `True` or "soft" lets each replace its sources, "hard" removes them.

        A pinned source stays. A group is left for the next time when one of its sources was changed, condensed or lost
        since the plan: its summary would tell what no longer stands.
        """
        if consolidate not in (False, True, "soft", "hard"):
            raise UnknownName("way to consolidate", str(consolidate), ("soft", "hard"))
        if not plan:
            return []
        engine = self.store.acting_as(ACTOR)
        derived, _ = engine.derived([each.summary for each in plan])
        kept: list[Memory] = []

        def carry_out(transaction: Transaction) -> list[AnyChange]:
            changes: list[AnyChange] = []
            condensed = set() if self.again else self._condensed()
            for each, found in zip(plan, derived, strict=True):
                known = transaction.get(each.summary.space, each.summary.id) is not None
                sources = None if known else all_unchanged(each.sources, transaction)
                if sources and condensed.isdisjoint(source.id for source in sources):
                    changes += reflected(each.summary, found, sources, consolidate, transaction, engine.clock())
                    kept.append(each.summary)
            return changes

        engine.commit("reflect", carry_out, why)
        return self.store.get_many([memory.id for memory in kept])

    def reflect(
        self, dry_run: bool = False, consolidate: Consolidate = False, *, now: float | None = None,
        since: float | None = None,
    ) -> list[Memory]:  # fmt: skip
        plan = self.plan(now, since)
        if dry_run:
            return [replace(each.summary, source=f"{TAG}/dry-run") for each in plan]
        return self.apply(plan, consolidate)

    def _episodes(self) -> list[Memory]:
        condensed = set() if self.again else self._condensed()
        return [memory for memory in self.store.iterate(type="episodic") if memory.id not in condensed]

    def _condensed(self) -> set[str]:
        edges = self.store.edges(rel=DERIVED_FROM)
        summaries = {m.id for m in self.store.get_many([edge.source for edge in edges]) if TAG in m.tags}
        return {edge.target for edge in edges if edge.source in summaries}

    def _summary(self, group: Sequence[Memory], text: str, now: float) -> Memory:
        tags = dict.fromkeys((TAG, *(tag for memory in group for tag in memory.tags)))
        return Memory(
            id=str(uuid4()),
            text=memory_text("summary", text if str(text).strip() else group[0].text),
            space=self.store.space,
            type="semantic",
            tags=tuple(tags),
            source=TAG,
            importance=round(sum(memory.importance for memory in group) / len(group), DECIMALS),
            created_at=now,
            updated_at=now,
            last_accessed=now,
            occurred_at=max(memory.happened_at for memory in group),
            links=tuple(Link(memory.id, DERIVED_FROM) for memory in group),
        )


def reflected(
    summary: Memory,
    derived: Derived,
    sources: Sequence[Memory],
    consolidate: Consolidate,
    transaction: Transaction,
    now: float,
) -> list[AnyChange]:
    if not consolidate:
        return [Change(None, summary, derived)]
    heir, changes = replaced(transaction, sources, summary, now, hard=consolidate == "hard")
    return [Change(None, heir, derived), *changes]
