"""From a question to a part of the graph: what matches, what resembles that, and what each fact was before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nacre.errors import InvalidInput, UnknownName
from nacre.memory_store import MemoryStore
from nacre.minds.knowledge_storing import FACT, about, entity_in
from nacre.minds.subgraph import SIMILAR_TO, SUPERSEDES, TRANSITIONED_TO, source_of
from nacre.model import Filter, Memory
from nacre.text.similarity import content_words
from nacre.text.tokens import stem, stems

RETRIEVERS = ("keyword", "native")
SCANNED = 500  # of the newest facts, looked through for parts of words; whole words are found however old they are
WORD_HITS = 4  # for each fact that is wanted, from the word index
CHAINS = (SUPERSEDES, TRANSITIONED_TO)
LONGEST_CHAIN = 64  # steps; a value that changed more often is a series of measurements


@dataclass(frozen=True, slots=True)
class Retrieval:
    """`max_depth` counts ties of resemblance; chains of versions are followed to their ends. There are never more than
    `max_nodes`, and the chains come before what merely resembles."""

    store: MemoryStore
    query: str
    max_nodes: int
    max_depth: int
    similarity_threshold: float
    retriever: str

    def __post_init__(self) -> None:
        if self.retriever not in RETRIEVERS:
            raise UnknownName("retriever", self.retriever, RETRIEVERS)
        for name in ("max_nodes", "max_depth"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InvalidInput(f"{name} must be a whole number from 0 up, not {value!r}.")

    def facts(self) -> list[Memory]:
        if not self.query.strip() or not self.max_nodes:
            return []
        found = self.recalled() if self.retriever == "native" else self.matching()
        whole = {memory.id: memory for memory in found[: self.max_nodes]}
        self.follow_chains(whole, list(whole))
        frontier = list(whole)
        for _ in range(self.max_depth):
            frontier = self.add(whole, self.alike(frontier))
            self.follow_chains(whole, frontier)
        return list(whole.values())

    def recalled(self) -> list[Memory]:
        return [
            hit.memory
            for hit in self.store.recall(self.query, self.max_nodes, type=FACT, include_superseded=True, touch=False)
        ]

    def matching(self) -> list[Memory]:
        """By words and by the name that the question is about; the surest and best matching first."""
        wanted = keywords(self.query)
        entity = entity_in(self.store, self.query)
        found = {memory.id: memory for memory in containing(self.store, wanted, self.max_nodes)}
        if entity:
            named = about(self.store, entity, self.max_nodes, include_superseded=True)
            found |= {memory.id: memory for memory in named}
        return ranked(found.values(), wanted)

    def follow_chains(self, whole: dict[str, Memory], frontier: Sequence[str]) -> None:
        for _ in range(LONGEST_CHAIN):
            if not frontier:
                return
            frontier = self.add(whole, self.tied(frontier, CHAINS))

    def alike(self, frontier: Sequence[str]) -> list[str]:
        return self.tied(frontier, (SIMILAR_TO,), above=self.similarity_threshold)

    def tied(self, ids: Sequence[str], rels: Sequence[str], above: float = 0.0) -> list[str]:
        """The other ends, both ways, the stronger ties first."""
        if not ids:
            return []
        ends = [(edge.weight, edge.target) for edge in self.store.edges(out_of=ids, rel=rels)]
        ends += ((edge.weight, edge.source) for edge in self.store.edges(into=ids, rel=rels))
        return [id for weight, id in sorted(ends, key=lambda end: -end[0]) if weight > above]

    def add(self, whole: dict[str, Memory], ids: Iterable[str]) -> list[str]:
        """Those that there is room for, of what may be seen; returns their ids."""
        fresh = [id for id in dict.fromkeys(ids) if id not in whole]
        room = self.max_nodes - len(whole)
        if not fresh or room <= 0:
            return []
        seen = may_be_seen(self.store.now())
        found = [memory for memory in self.store.get_many(fresh) if seen.admits(memory)][:room]
        whole |= {memory.id: memory for memory in found}
        return [memory.id for memory in found]


def may_be_seen(now: float) -> Filter:
    """Superseded facts too: they tell what was."""
    return Filter.where(type=FACT, status__not_in=("trashed", "archived"), expires_at__gt_or_unset=now)


def keywords(query: str) -> list[str]:
    """Without common words and those of one or two letters."""
    return sorted(content_words(query))


def containing(store: MemoryStore, wanted: Sequence[str], limit: int) -> list[Memory]:
    """Facts whose concept or content has one of the words, in any case; the newest ones also by a part of a word."""
    if not wanted:
        return []
    by_word = store.recall(
        " ".join(wanted), WORD_HITS * limit, strategy="keyword", type=FACT, include_superseded=True, touch=False
    )
    newest = store.list_recent(SCANNED, type=FACT, include_superseded=True)
    parts = [memory for memory in newest if holds_part(memory, wanted)]
    copies = [id for hit in by_word for id in hit.collapsed]
    return [*(hit.memory for hit in by_word), *(store.get_many(copies) if copies else []), *parts]


def holds_part(memory: Memory, wanted: Sequence[str]) -> bool:
    lowered = f"{memory.title}\n{memory.text}".casefold()
    return any(word in lowered for word in wanted)


def ranked(memories: Iterable[Memory], wanted: Sequence[str]) -> list[Memory]:
    def worth(memory: Memory) -> float:
        share = hits(memory, wanted) / len(wanted) if wanted else 0.0
        return memory.confidence * (0.5 + 0.5 * share)

    return sorted(memories, key=lambda memory: (-worth(memory), -memory.created_at))


def hits(memory: Memory, wanted: Sequence[str], *, concept_only: bool = False) -> int:
    """How many of the words it has, as part of a word or in another form."""
    text = memory.title if concept_only else f"{memory.title}\n{memory.text}"
    lowered = text.casefold()
    missing = [word for word in wanted if word not in lowered]
    if not missing:
        return len(wanted)
    forms = set(stems(text))
    return len(wanted) - sum(stem(word) not in forms for word in missing)


def by_concept(store: MemoryStore, given: Sequence[str], limit: int) -> list[Memory]:
    wanted = sorted({word.casefold().strip() for word in given} - {""})
    found = {memory.id: memory for memory in containing(store, wanted, limit)}
    matching = [memory for memory in found.values() if hits(memory, wanted, concept_only=True)]
    matching.sort(key=lambda m: (-hits(m, wanted, concept_only=True) * m.confidence, -m.created_at))
    return matching[:limit]


def by_entity(store: MemoryStore, name: str, limit: int) -> list[Memory]:
    """Facts about it under any of its names, the newest first; then those that only mention it."""
    wanted = " ".join(name.casefold().split())
    if not wanted or limit <= 0:
        return []
    exact = store.memories_about(wanted, limit, type=FACT, include_superseded=True)
    whole = {memory.id: memory for memory in exact}
    if len(whole) < limit:
        near = store.recall(wanted, limit, strategy="keyword", type=FACT, include_superseded=True, touch=False)
        mentioning = (hit.memory for hit in near if wanted in f"{hit.memory.title}\n{hit.memory.text}".casefold())
        for memory in sorted(mentioning, key=lambda m: -m.created_at):
            whole.setdefault(memory.id, memory)
    return list(whole.values())[:limit]


def provenance(store: MemoryStore, memories: Sequence[Memory]) -> dict[str, str]:
    """The labels of the episodes that facts were taken from, by the episodes' ids."""
    sources = sorted({source_of(memory) for memory in memories} - {""})
    return {memory.id: memory.source for memory in store.get_many(sources) if memory.source} if sources else {}
