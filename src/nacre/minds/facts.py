"""Semantic memory: what is known, by concept, tied to what resembles it and to the episode that taught it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from nacre.engine.engine import Composed
from nacre.errors import UnknownName
from nacre.minds.acting import Acting
from nacre.minds.matching import matching
from nacre.minds.records import SemanticFact
from nacre.model import Filter, Link, Memory
from nacre.model.memory import Json
from nacre.remember.validate import fraction, json_object, label
from nacre.text.similarity import compute_similarity

SEMANTIC, PREFIX = "semantic", "sem_"
SIMILAR_TO, DERIVED_FROM = "similar_to", "derived_from"
SIMILAR = 0.3  # the published threshold: the same concept, or most of the words
RECENT, SHARING = 50, 50  # facts that a new one is compared with: the newest, and the best by words in common
COMPARED = 32  # words of a new fact that others are looked for by; a text with more is no single fact
TIES = 10  # the strongest; more would tell a walk nothing that these do not
RETRIEVERS = ("keyword", "native")


class Facts(Acting):
    def store_fact(
        self,
        concept: str,
        content: str,
        confidence: float = 1.0,
        source_id: str = "",
        tags: Iterable[str] | None = None,
        temporal_metadata: Mapping[str, Json] | None = None,
    ) -> str:
        """Ties it to the facts that it resembles, and to its source where that is a memory of this agent; one act."""
        draft = self.store.draft(
            content,
            id_prefix=PREFIX,
            type=SEMANTIC,
            title=concept,
            confidence=confidence,
            source=source_id,
            tags=() if tags is None else tags,
            metadata=json_object("temporal_metadata", {} if temporal_metadata is None else temporal_metadata),
        )
        learned = [Link(draft.source, DERIVED_FROM)] if draft.source and self.store.get(draft.source) else []
        fact = replace(draft, links=(*self._resembling(draft), *learned))
        self._act("store_fact", [fact], lambda: Composed(new=[fact]))
        return fact.id

    def search_facts(
        self, query: str, limit: int = 10, min_confidence: float = 0.0, *, retriever: str = "keyword"
    ) -> list[SemanticFact]:
        """The facts that have a word of the question, the surest first, then the newest; all for an empty question.

        `native` asks the store's own recall instead, which knows meaning and orders by how well a fact answers.
        """
        if retriever not in RETRIEVERS:
            raise UnknownName("retriever", retriever, RETRIEVERS)
        least = fraction("min_confidence", min_confidence)
        if not label("query", query):
            found = self.store.list_recent(limit, order="confidence", type=SEMANTIC, min_confidence=least)
        elif retriever == "native":
            found = [hit.memory for hit in self.store.recall(query, limit, type=SEMANTIC, min_confidence=least)]
        else:
            sure = Filter.where(type=SEMANTIC, confidence__ge=least)
            found = sorted(matching(self.store, query, sure), key=lambda memory: -memory.confidence)
        return [SemanticFact.of(memory) for memory in found[: max(0, limit)]]

    def get_all_facts(self, limit: int = 50) -> list[SemanticFact]:
        """Newest first."""
        return [SemanticFact.of(memory) for memory in self.store.list_recent(limit, type=SEMANTIC)]

    def _resembling(self, fact: Memory) -> list[Link]:
        """Compares with a bounded number of facts, however many are known."""
        told = f"{fact.title} {fact.text}"
        near = matching(self.store, told, Filter.where(type=SEMANTIC), SHARING, keywords=COMPARED)
        others = {memory.id: memory for memory in (*self.store.list_recent(RECENT, type=SEMANTIC), *near)}
        mine = SemanticFact.of(fact)
        scores = {id: compute_similarity(mine, SemanticFact.of(memory)) for id, memory in others.items()}
        best = sorted((id for id in scores if scores[id] > SIMILAR), key=lambda id: -scores[id])[:TIES]
        return [Link(id, SIMILAR_TO, weight=round(scores[id], 3)) for id in best]
