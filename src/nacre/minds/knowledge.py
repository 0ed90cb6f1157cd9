"""HierarchicalMemory: a knowledge graph of facts and episodes, how a fact finds its place in it, and its retrieval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from nacre.engine.engine import retry_while_changed
from nacre.errors import InvalidInput, MemoryNotFound, UnknownName
from nacre.memory_store import MemoryStore
from nacre.minds import graph_json
from nacre.minds.classify import classify
from nacre.minds.mind import Mind
from nacre.minds.subgraph import (
    Key,
    KnowledgeCategory,
    KnowledgeNode,
    KnowledgeSubgraph,
    Rel,
    add_link,
    as_edges,
    as_node,
    lower_confidence,
    source_of,
    temporal_index,
)
from nacre.model import Filter, Link, Memory
from nacre.model.instants import seconds
from nacre.model.memory import ARCHIVED, TRASHED, Json
from nacre.model.validate import checks_arguments, label
from nacre.recall_options import Scope
from nacre.text.names import extract_entity_name
from nacre.text.similarity import compute_similarity, compute_word_similarity, content_words, number_conflict
from nacre.text.tokens import stem, stems

FACT = "semantic"
RECENT = 50  # facts that a new one is compared with; what was learned together belongs together
RIVALS = 200  # current facts about one entity that are checked for a contradiction
ALIKE, MUCH_ALIKE = 0.3, 0.5  # linked above the first; above the second also checked for contradicting numbers
RESERVED = (Key.CATEGORY, Key.SOURCE_ID, Key.SOURCE_LABEL, Key.SUPERSEDED, Key.SUPERSEDED_BY)


@dataclass(frozen=True, slots=True)
class Succession:
    newer: Memory
    older: Memory
    values: tuple[str, str]  # the newer first

    def link(self) -> Link:
        (newer, older), turn = self.values, temporal_index(self.newer.metadata)
        said: dict[str, Json] = {"from_value": newer, "to_value": older, "turn": turn, "transition_type": "update"}
        return Link(self.older.id, Rel.TRANSITIONED_TO, data=said)


def store_fact(store: MemoryStore, fact: Memory) -> None:
    """One operation. A search finds the facts that it changes: where one of them changed since, all is done again."""

    retry_while_changed(lambda: write_fact(store, fact), MemoryNotFound)


def write_fact(store: MemoryStore, fact: Memory) -> None:
    """Writes the fact with its links, and the edits of other facts. Raises `VersionMismatch` and `MemoryNotFound` where
    one of these was changed or removed meanwhile."""
    recent = store.list_recent(RECENT, type=FACT, include_superseded=True)
    passed = find_successions(fact, find_rivals(store, fact)) if temporal_index(fact.metadata) else []
    transitions = [each.link() for each in passed if each.newer is fact]
    linked = replace(fact, links=(*fact.links, *transitions, *similarity_links(fact, recent)))
    replaced = {each.older.id: lower_confidence for each in passed if each.newer is fact}
    replacing = {each.newer.id: add_link(each.link()) for each in passed if each.newer is not fact}
    rivals = (each.older if each.newer is fact else each.newer for each in passed)
    store.expecting({rival.id: rival.version for rival in rivals}, check=False).write(
        "store_knowledge",
        new=[lower_confidence(linked) if replacing else linked],
        edits=replaced | replacing,
        successors={each.older.id: each.newer.id for each in passed},
    )


def find_rivals(store: MemoryStore, fact: Memory) -> list[Memory]:
    """Facts about the same entity or, where the text names none, with the same concept."""
    if fact.entities:
        return facts_about_entity(store, fact.entities[0], RIVALS)
    same = facts_with_words(store, fact.title, RIVALS, Filter.where(title=fact.title)) if fact.title else []
    # A concept may be as wide as «settings»: only what is said of it in much the same words has a place to take.
    return [other for other in same if compute_word_similarity(fact.text, other.text) > ALIKE]


def entity_in(store: MemoryStore, text: str, concept: str = "") -> str:
    """What the text is about, in small letters, by the name that its aliases were merged into."""
    name = extract_entity_name(text, concept)
    return store.resolve_entity(name).casefold() if name else ""


def facts_about_entity(
    store: MemoryStore, entity: str, limit: int, *, include_superseded: bool = False
) -> list[Memory]:
    """Facts about an entity, through the word index."""
    named = Filter.where(entities__any=(entity,))
    return facts_with_words(store, entity, limit, named, include_superseded=include_superseded)


def facts_with_words(
    store: MemoryStore, words: str, limit: int, where: Filter, *, include_superseded: bool = False
) -> list[Memory]:
    hits = store.recall(
        words, limit, strategy="keyword", type=FACT, where=where, include_superseded=include_superseded, touch=False
    )
    copies = [id for hit in hits for id in hit.collapsed]
    return [hit.memory for hit in hits] + (store.get_many(copies) if copies else [])


def find_successions(fact: Memory, current: Sequence[Memory]) -> list[Succession]:
    """The fact takes the place of those before it that it contradicts. A fact that is added late has been
    superseded already, by the next of those that came after it."""
    at = temporal_index(fact.metadata)
    conflicts: list[tuple[Memory, tuple[str, str]]] = []
    for rival in current:
        mine, _, theirs = number_conflict(fact.text, rival.text, fact.title, rival.title).partition(" vs ")
        conflicts += [(rival, (mine, theirs))] if mine else []
    before = [Succession(fact, rival, values) for rival, values in conflicts if 0 < temporal_index(rival.metadata) < at]
    later = (each for each in conflicts if temporal_index(each[0].metadata) > at)
    after = sorted(later, key=lambda each: temporal_index(each[0].metadata))[:1]
    return before + [Succession(rival, fact, values[::-1]) for rival, values in after]


def similarity_links(fact: Memory, others: Sequence[Memory]) -> Iterator[Link]:
    mine = comparable(fact)
    for other in others:
        score = compute_similarity(mine, comparable(other))
        if score > ALIKE:
            clash = number_conflict(fact.text, other.text, fact.title, other.title) if score > MUCH_ALIKE else ""
            said: dict[str, Json] = {"contradiction": True, "conflicting_values": clash} if clash else {}
            yield Link(other.id, Rel.SIMILAR_TO, round(score, 4), said)


def comparable(memory: Memory) -> dict[str, object]:
    return {"content": memory.text, "concept": memory.title, "tags": memory.tags}


def check_temporal_metadata(metadata: Mapping[str, Json] | None) -> dict[str, Json]:
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidInput("temporal_metadata must be a mapping such as {'temporal_index': 1}; give that, or nothing.")
    index = metadata.get("temporal_index", 0)
    if isinstance(index, bool) or not isinstance(index, int | float):
        raise InvalidInput(f"temporal_index must be a number, not {index!r}; give 1 for the first of a series.")
    for name in RESERVED:
        if name in metadata:
            raise InvalidInput(f"The key {name!r} of temporal_metadata is set by the graph itself; choose another.")
    return dict(metadata)


def parse_date(value: Json) -> float | None:
    """None for a text such as «Day 1», which stays in the metadata only."""
    try:
        return seconds(value) if isinstance(value, str) else None
    except InvalidInput:
        return None


def check_text(name: str, value: str, *, empty: bool = False) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"The {name} must be text, not {type(value).__name__}; give a sentence.")
    if not empty and not value.strip():
        raise InvalidInput(f"The {name} cannot be empty; give some words to remember.")
    return value.strip()


NEWEST_SCANNED = 500  # facts that are searched for parts of words; whole words are found however old the fact is
WORD_HITS = 4  # for each fact that is wanted, from the word index
CHAINS = (Rel.SUPERSEDES, Rel.TRANSITIONED_TO)
LONGEST_CHAIN = 64  # steps; a value that changed more often is a series of measurements


@dataclass(frozen=True, slots=True)
class Retrieval:
    """`max_depth` counts similarity links; chains of versions are followed to their ends. There are never more than
    `max_nodes`, and the chains come before what merely resembles."""

    store: MemoryStore
    query: str
    max_nodes: int
    max_depth: int
    similarity_threshold: float

    def __post_init__(self) -> None:
        for name in ("max_nodes", "max_depth"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InvalidInput(f"{name} must be a whole number from 0 up, not {value!r}.")

    def facts(self) -> list[Memory]:
        if not self.query.strip() or not self.max_nodes:
            return []
        facts_by_id = {memory.id: memory for memory in self.matching()[: self.max_nodes]}
        self.follow_chains(facts_by_id, list(facts_by_id))
        frontier = list(facts_by_id)
        for _ in range(self.max_depth):
            alike = self.linked(frontier, (Rel.SIMILAR_TO,), above=self.similarity_threshold)
            frontier = self.add(facts_by_id, alike)
            self.follow_chains(facts_by_id, frontier)
        return list(facts_by_id.values())

    def matching(self) -> list[Memory]:
        """By words and by the name that the question is about; the surest and best matching first."""
        wanted = sorted(content_words(self.query))
        entity = entity_in(self.store, self.query)
        matches = {memory.id: memory for memory in facts_containing(self.store, wanted, self.max_nodes)}
        if entity:
            named = facts_about_entity(self.store, entity, self.max_nodes, include_superseded=True)
            matches |= {memory.id: memory for memory in named}
        return rank(matches.values(), wanted)

    def follow_chains(self, facts_by_id: dict[str, Memory], frontier: Sequence[str]) -> None:
        for _ in range(LONGEST_CHAIN):
            if not frontier:
                return
            frontier = self.add(facts_by_id, self.linked(frontier, CHAINS))

    def linked(self, ids: Sequence[str], rels: Sequence[str], above: float = 0.0) -> list[str]:
        """The other ends, in both directions, the stronger links first."""
        if not ids:
            return []
        ends = [(edge.weight, edge.target) for edge in self.store.edges(out_of=ids, rel=rels)]
        ends += ((edge.weight, edge.source) for edge in self.store.edges(into=ids, rel=rels))
        return [id for weight, id in sorted(ends, key=lambda end: -end[0]) if weight > above]

    def add(self, facts_by_id: dict[str, Memory], ids: Iterable[str]) -> list[str]:
        """Those that there is room for, of what may be seen; returns their ids."""
        fresh = [id for id in dict.fromkeys(ids) if id not in facts_by_id]
        room = self.max_nodes - len(facts_by_id)
        if not fresh or room <= 0:
            return []
        # Superseded facts are the history and stay visible.
        now, hidden = self.store.now(), (TRASHED, ARCHIVED)
        visible = Filter.where(type=FACT, status__not_in=hidden, expires_at__gt_or_unset=now)
        matches = [memory for memory in self.store.get_many(fresh) if visible.admits(memory)][:room]
        facts_by_id |= {memory.id: memory for memory in matches}
        return [memory.id for memory in matches]


def facts_containing(store: MemoryStore, wanted: Sequence[str], limit: int) -> list[Memory]:
    """Facts whose concept or content has one of the words, in any case; the newest ones also by a part of a word."""
    if not wanted:
        return []
    by_word = store.recall(
        " ".join(wanted), WORD_HITS * limit, strategy="keyword", type=FACT, include_superseded=True, touch=False
    )
    newest = store.list_recent(NEWEST_SCANNED, type=FACT, include_superseded=True)
    parts = [memory for memory in newest if any(word in f"{memory.title}\n{memory.text}".casefold() for word in wanted)]
    copies = [id for hit in by_word for id in hit.collapsed]
    return [*(hit.memory for hit in by_word), *(store.get_many(copies) if copies else []), *parts]


def rank(memories: Iterable[Memory], wanted: Sequence[str]) -> list[Memory]:
    def worth(memory: Memory) -> float:
        share = count_hits(memory, wanted) / len(wanted) if wanted else 0.0
        return memory.confidence * (0.5 + 0.5 * share)

    return sorted(memories, key=lambda memory: (-worth(memory), -memory.created_at))


def count_hits(memory: Memory, wanted: Sequence[str], *, concept_only: bool = False) -> int:
    """How many of the words it has, as part of a word or in another form."""
    text = memory.title if concept_only else f"{memory.title}\n{memory.text}"
    lowered = text.casefold()
    missing = [word for word in wanted if word not in lowered]
    if not missing:
        return len(wanted)
    forms = set(stems(text))
    return len(wanted) - sum(stem(word) not in forms for word in missing)


AGGREGATIONS = ("count_total", "count_entities", "list_entities", "count_concepts", "list_concepts", "count_by_concept")
COUNTED_LINKS = {rel: name for name, rel in graph_json.EDGE_LISTS.items() if rel}


@checks_arguments
class HierarchicalMemory(Mind):
    """Facts are memories of the type `semantic`, episodes of the type `episodic`: every other API sees them too."""

    def store_knowledge(
        self, content: str, concept: str = "", confidence: float = 0.8,
        category: KnowledgeCategory | str | None = None, source_id: str = "", tags: Sequence[str] | None = None,
        temporal_metadata: Mapping[str, Json] | None = None,
    ) -> str:  # fmt: skip
        """Stores a fact with its links, in one operation, and returns its id. Without a `category` its words decide.

        With a `temporal_index` above 0 it takes the place of facts about the same entity that have a lower one and
        give other numbers; those stay as history, with a lower confidence.
        """
        text, about = check_text("content", content), check_text("concept", concept, empty=True)
        if category is not None and category not in list(KnowledgeCategory):
            raise UnknownName("category", str(category), [each.value for each in KnowledgeCategory])
        known = classify(text, about) if category is None else KnowledgeCategory(category)
        name = entity_in(self.store, text, about)
        metadata = check_temporal_metadata(temporal_metadata)
        source = label("source_id", source_id)
        is_memory = bool(source) and self.store.get(source) is not None
        metadata |= {Key.CATEGORY: str(known), **({Key.SOURCE_ID: source} if source and not is_memory else {})}
        fact = self.store.draft(
            text, id_prefix="sem_", type=FACT, title=about, confidence=confidence, tags=tags or (),
            entities=[name] if name else [], occurred_at=parse_date(metadata.get("source_date")),
            metadata=metadata,
            links=[Link(source, Rel.DERIVED_FROM)] if is_memory else [],
        )  # fmt: skip
        store_fact(self.store, fact)
        return fact.id

    store_fact = store_knowledge

    def store_episode(self, content: str, source_label: str = "") -> str:
        """Keeps what facts are taken from; `source_label` is shown with each of them."""
        text = check_text("content", content)
        episode = self.store.draft(text, id_prefix="epi_", type="episodic", source=source_label)
        self.store.write("store_episode", new=[episode])
        return episode.id

    def retrieve_subgraph(
        self, query: str, max_nodes: int = 20, max_depth: int = 1, similarity_threshold: float = ALIKE
    ) -> KnowledgeSubgraph:
        """What matches by words or by name, what resembles that, what each was before, and every link between these."""
        facts = Retrieval(self.store, query, max_nodes, max_depth, similarity_threshold).facts()
        self.store.touch(*(fact.id for fact in facts))
        return KnowledgeSubgraph(self._nodes(facts), as_edges(facts), query)

    def get_all_knowledge(self, limit: int = 50) -> list[KnowledgeNode]:
        """Newest first."""
        return self._nodes(self.store.list_recent(limit, type=FACT, include_superseded=True))

    def retrieve_by_entity(self, entity_name: str, limit: int = 50) -> list[KnowledgeNode]:
        """What is about it under any of its names, newest first; then what only mentions it."""
        wanted = " ".join(entity_name.casefold().split())
        if not wanted or limit <= 0:
            return []
        scope: Scope = {"type": FACT, "include_superseded": True}
        facts_by_id = {memory.id: memory for memory in self.store.memories_about(wanted, limit, **scope)}
        if len(facts_by_id) < limit:
            near = self.store.recall(wanted, limit, strategy="keyword", touch=False, **scope)
            mentioning = (hit.memory for hit in near if wanted in f"{hit.memory.title}\n{hit.memory.text}".casefold())
            for memory in sorted(mentioning, key=lambda m: -m.created_at):
                facts_by_id.setdefault(memory.id, memory)
        return self._nodes(list(facts_by_id.values())[:limit])

    def search_by_concept(self, keywords: Sequence[str], limit: int = 30) -> list[KnowledgeNode]:
        wanted = sorted({word.casefold().strip() for word in keywords} - {""})
        facts_by_id = {memory.id: memory for memory in facts_containing(self.store, wanted, limit)}
        hits = {id: count_hits(memory, wanted, concept_only=True) for id, memory in facts_by_id.items()}
        matching = [memory for id, memory in facts_by_id.items() if hits[id]]
        matching.sort(key=lambda memory: (-hits[memory.id] * memory.confidence, -memory.created_at))
        return self._nodes(matching[:limit])

    def search_facts(self, query: str, max_nodes: int = 20) -> list[dict[str, object]]:
        return [as_dict(node) for node in self.retrieve_subgraph(query, max_nodes).nodes]

    def get_all_facts(self, limit: int = 50) -> list[dict[str, object]]:
        return [as_dict(node) for node in self.get_all_knowledge(limit)]

    def execute_aggregation(self, query_type: str, entity_filter: str = "") -> dict[str, object]:
        """`count` is always there; a list has its `items` too, and `count_by_concept` a count for each.

        `entity_filter` leaves out what is about others. All but the plain count of everything read each fact once.
        """
        UnknownName.check("aggregation", query_type, AGGREGATIONS)
        if query_type == "count_total" and not entity_filter:
            return {"query_type": query_type, "count": self.store.count(type=FACT, include_superseded=True)}
        about = entity_filter.casefold().strip()
        every = self.store.iterate(type=FACT, include_superseded=True)
        facts = (fact for fact in every if not about or any(about in name.casefold() for name in fact.entities))
        if query_type == "count_total":
            return {"query_type": query_type, "count": sum(1 for _ in facts)}
        if query_type == "count_by_concept":
            tally = Counter(fact.title for fact in facts if fact.title)
            return {"query_type": query_type, "count": len(tally), "items": dict(tally.most_common())}
        of_entities = "entities" in query_type
        names = {name for fact in facts for name in (fact.entities[:1] if of_entities else (fact.title,)) if name}
        items = {} if query_type.startswith("count") else {"items": sorted(names)}
        return {"query_type": query_type, "count": len(names), **items}

    def get_statistics(self) -> dict[str, object]:
        facts = self.store.count(type=FACT, include_superseded=True)
        episodes = self.store.count(type="episodic", include_superseded=True, include_archived=True)
        counted = {"semantic_nodes": facts, "episodic_nodes": episodes, "total_nodes": facts + episodes}
        links = Counter(edge.rel for edge in self.store.edges(rel=list(COUNTED_LINKS)))
        by_relation = {name: links[rel] for rel, name in COUNTED_LINKS.items()}
        return {"agent_name": self.agent_name, **counted, **by_relation}

    def export_to_json(self) -> dict[str, Json]:
        """The whole graph in plain JSON values; `import_from_json` restores it exactly, here or elsewhere."""
        return graph_json.export_graph(self.store)

    def import_from_json(self, data: Mapping[str, Json], merge: bool = False) -> dict[str, int]:
        """Replaces the agent's graph, whose facts and episodes go to the trash; with `merge` it adds to them, and what
        has the same id stays as it is. One operation; incomplete data is refused, and nothing changes."""
        return graph_json.import_graph(self.store, data, merge=merge)

    export_graph = export_to_json
    import_graph = import_from_json

    def _nodes(self, memories: Sequence[Memory]) -> list[KnowledgeNode]:
        sources = self.store.get_many(sorted({source_of(memory) for memory in memories} - {""}))
        labels = {episode.id: episode.source for episode in sources if episode.source}
        return [as_node(memory, labels) for memory in memories]


def as_dict(node: KnowledgeNode) -> dict[str, object]:
    """The node, and the same again under the names that readers of experiences know."""
    said = {"experience_id": node.node_id, "context": node.concept, "outcome": node.content}
    return {**asdict(node), **said, "timestamp": node.created_at}
