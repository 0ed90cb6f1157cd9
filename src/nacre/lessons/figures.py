"""A book in figures, and its vectors computed again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nacre.engine import Engine
from nacre.lessons.answer import Answer
from nacre.lessons.shelf import Shelf
from nacre.lessons.vocabulary import LESSONS
from nacre.model import Filter, Memory
from nacre.model.levels import LEVELS
from nacre.protocols import Derived, Progress
from nacre.recall_options import Scope
from nacre.remember.derive import chunk_memory, indexed_words, same_derived_input


@dataclass(frozen=True, slots=True)
class LessonStats:
    """All lessons but those in the trash; `tags`, `contexts` and `links` are how many there are of each."""

    total: int
    archived: int
    by_confidence: Mapping[str, int]
    by_source: Mapping[str, int]
    tags: int
    contexts: int
    links: int
    embedder: str


class Figures(Shelf):
    def stats(self) -> Answer[LessonStats]:
        whole = all_of(LESSONS)
        sources = self.store.tally("source", **whole)
        contexts = self.store.tally("contexts", **whole).keys() | self.store.tally("anti_contexts", **whole).keys()
        levels = {
            name: Filter.where(confidence__ge=each.least, confidence__le=each.most) for name, each in LEVELS.items()
        }
        tying = self.store.iterate(**all_of(LESSONS & Filter.where(links__rel__unset=False)))
        return Answer(
            LessonStats(
                total=self.store.count(**whole),
                archived=self.store.count(**all_of(LESSONS & Filter.where(status="archived"))),
                by_confidence={name: self.store.count(**all_of(LESSONS & each)) for name, each in levels.items()},
                by_source={name: count for name, count in sources.items() if name},
                tags=len(self.store.tally("tags", **whole)),
                contexts=len(contexts),
                links=sum(len(memory.links) for memory in tying),
                embedder=self.store.embedder.identity,
            )
        )

    def reembed(self, id: str | None = None, *, progress: Progress | None = None) -> Answer[int]:
        """Computes vectors again with the present embedder and returns of how many memories: of one lesson, or of the
        whole store, whose vectors must all come from one model. Raises `MemoryNotFound`, `EmbeddingError` and, for one
        lesson, `EmbeddingMismatch` when the others come from another model."""
        if id is None:
            return Answer(self.store.reindex(progress=progress))
        memory = self._memory(id)
        embed_again(self.store.acting_as("lib"), memory)
        if progress is not None:
            progress(1, 1, "embedding lessons")
        return Answer(1)


def all_of(where: Filter) -> Scope:
    return {"where": where, "include_archived": True, "include_superseded": True, "include_expired": True}


def embed_again(engine: Engine, memory: Memory) -> None:
    """Not an act, since no record changes; the vector that is kept for the same words is not asked."""
    engine.check_embedder()
    chunks, pieces = chunk_memory(memory, engine.embedder)
    derived = Derived(indexed_words(memory), chunks, engine.embedder.embed(pieces))
    with engine.store.transaction() as transaction:
        transaction.claim_embedder(engine.embedder.identity, engine.embedder.dimensions)
        current = transaction.get(memory.space, memory.id)
        if current is not None and same_derived_input(current, memory):
            transaction.put(current, derived)
