"""Episodic memory: what happened, one thing after the other, and the summaries that come to stand for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from nacre.engine.engine import Composed
from nacre.errors import InvalidInput
from nacre.minds.acting import Acting
from nacre.minds.numbering import first, highest, last, number, numbered
from nacre.minds.records import ARCHIVED, HIGHEST, ORIGINALS, ConsolidatedEpisode, EpisodicMemory
from nacre.model import Filter, Link, Memory
from nacre.model.memory import Json
from nacre.remember.validate import json_object, natural_number

EPISODIC, PREFIX, CONSOLIDATED = "episodic", "epi_", "con_"
CONSOLIDATES = "consolidates"
BETWEEN = " | "  # episodes, in a summary that nobody wrote

Summarizer: TypeAlias = Callable[[list[str]], str]


class Episodes(Acting):
    def store_episode(
        self,
        content: str,
        source_label: str,
        temporal_index: int | None = None,
        metadata: Mapping[str, Json] | None = None,
    ) -> str:
        """Without an index it gets the one after the highest, whichever process wrote that."""
        wanted = None if temporal_index is None else natural_number("temporal_index", temporal_index)
        draft = self._episode_draft(content, source_label, metadata)
        return self._act("store_episode", [draft], lambda: Composed(new=[self._next_episode(draft, wanted)]))[0].id

    def get_episodes(self, limit: int = 20, include_compressed: bool = False) -> list[EpisodicMemory]:
        """By index, highest first; those that a consolidation stands for only when asked for."""
        found = last(self.store, EPISODIC, limit, {"include_archived": include_compressed})
        return [EpisodicMemory.of(memory) for memory in found]

    def consolidate_episodes(self, batch_size: int = 10, summarizer: Summarizer | None = None) -> str | None:
        """Makes one memory of the oldest episodes, which go to the archive and stay tied to it; one act. None when
        there are fewer than `batch_size`."""
        if natural_number("batch_size", batch_size) < 1:
            raise InvalidInput("A batch of 0 episodes makes no summary; give a batch_size of 1 or more.")
        while True:
            episodes = self._oldest(batch_size)
            if len(episodes) < batch_size:
                return None
            summary = self._summary_draft(episodes, summarizer)
            if self._act("consolidate", [summary], lambda e=episodes, s=summary: self._consolidation(e, s)):  # type: ignore[misc]
                return summary.id
            # Another process was quicker; its summary holds what this one would have: look again.

    def get_consolidated(self, limit: int = 20) -> list[ConsolidatedEpisode]:
        """The summaries, newest first."""
        made = Filter.where(session="", links__rel=CONSOLIDATES)
        return [ConsolidatedEpisode.of(memory) for memory in self.store.list_recent(limit, type=EPISODIC, where=made)]

    def lineage(self, node_id: str) -> list[EpisodicMemory]:
        """The episodes that a summary was made of, oldest first. Raises `MemoryNotFound`."""
        ids = [edge.target for edge in self.store.edges(out_of=[self.store.resolve_id(node_id)], rel=CONSOLIDATES)]
        return [EpisodicMemory.of(memory) for memory in sorted(self.store.get_many(ids), key=number)]

    def _oldest(self, count: int) -> list[Memory]:
        return first(self.store, EPISODIC, count, {})

    def _episode_draft(self, content: str, source_label: str, metadata: Mapping[str, Json] | None = None) -> Memory:
        given = json_object("metadata", {} if metadata is None else metadata)
        if HIGHEST in given:
            raise InvalidInput(f"The metadata key {HIGHEST!r} belongs to the mind; give yours another name.")
        return self.store.draft(content, id_prefix=PREFIX, type=EPISODIC, source=source_label, metadata=given)

    def _next_episode(self, draft: Memory, wanted: int | None = None) -> Memory:
        return numbered(draft, highest(self.store, EPISODIC), self.store.now(), wanted)

    def _summary_draft(self, episodes: Sequence[Memory], summarizer: Summarizer | None) -> Memory:
        contents = [memory.text for memory in episodes]
        return self.store.draft(
            BETWEEN.join(contents) if summarizer is None else summarizer(contents),
            id_prefix=CONSOLIDATED,
            type=EPISODIC,
            source="consolidation",
            occurred_at=max(memory.happened_at for memory in episodes),
            importance=max(memory.importance for memory in episodes),
            tags=dict.fromkeys(tag for memory in episodes for tag in memory.tags),
            metadata={ORIGINALS: len(episodes)},
            links=[Link(memory.id, CONSOLIDATES) for memory in episodes],
        )

    def _consolidation(self, episodes: Sequence[Memory], summary: Memory) -> Composed | None:
        """None when one of the episodes has changed, gone or been consolidated since it was read."""
        ids = [memory.id for memory in episodes]
        live = Filter.live(self.store.now())
        now = {memory.id: memory.text for memory in self.store.get_many(ids) if live.admits(memory)}
        if any(now.get(memory.id) != memory.text for memory in episodes):
            return None
        return Composed(new=[summary], edits=dict.fromkeys(ids, compressed))


def compressed(memory: Memory) -> Memory:
    return replace(memory, status=ARCHIVED)
