"""Plans and stores a new fact: which facts it resembles, and which it replaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nacre.engine.engine import Edit
from nacre.errors import InvalidInput, MemoryNotFound
from nacre.memory_store import MemoryStore
from nacre.minds.subgraph import Key, Rel
from nacre.model import Filter, Link, Memory
from nacre.model.instants import seconds
from nacre.model.memory import Json
from nacre.text.names import extract_entity_name
from nacre.text.similarity import compute_similarity, compute_word_similarity, number_conflict

FACT = "semantic"
RECENT = 50  # facts that a new one is compared with; what was learned together belongs together
RIVALS = 200  # current facts about one entity that are checked for a contradiction
ALIKE, MUCH_ALIKE = 0.3, 0.5  # linked above the first; above the second also checked for contradicting numbers
DOUBTED, LEAST_CONFIDENCE = 0.5, 0.1  # what is left of the confidence in a fact that was superseded
RESERVED = (Key.CATEGORY, Key.SOURCE_ID, Key.SOURCE_LABEL, Key.SUPERSEDED, Key.SUPERSEDED_BY)


class PlanOutdated(Exception):
    """Another writer superseded a fact between the plan and the write."""


@dataclass(frozen=True, slots=True)
class StorePlan:
    """One operation: the fact with its links, and the edits of other facts."""

    fact: Memory
    edits: dict[str, Edit] = field(default_factory=dict)
    successors: dict[str, str] = field(default_factory=dict)


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
    """One operation. A plan that is outdated is made again from the current facts."""
    while True:
        plan = plan_fact(store, fact)
        try:
            store.write("store_knowledge", new=[plan.fact], edits=plan.edits, successors=plan.successors)
            return
        except (PlanOutdated, MemoryNotFound):
            continue


def plan_fact(store: MemoryStore, fact: Memory) -> StorePlan:
    recent = store.list_recent(RECENT, type=FACT, include_superseded=True)
    passed = find_successions(fact, find_rivals(store, fact)) if temporal_index(fact.metadata) else []
    transitions = [each.link() for each in passed if each.newer is fact]
    plan = StorePlan(replace(fact, links=(*fact.links, *transitions, *similarity_links(fact, recent))))
    for each in passed:
        plan.successors[each.older.id] = each.newer.id
        if each.newer is fact:
            plan.edits[each.older.id] = if_current(lower_confidence)
        else:
            plan.edits[each.newer.id] = if_current(add_link(each.link()))
    outdated = fact.id in plan.successors
    return replace(plan, fact=lower_confidence(plan.fact)) if outdated else plan


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


def if_current(edit: Edit) -> Edit:
    def checked(memory: Memory) -> Memory:
        if memory.superseded_by or memory.status == "trashed":
            raise PlanOutdated
        return edit(memory)

    return checked


def lower_confidence(memory: Memory) -> Memory:
    return replace(memory, confidence=max(LEAST_CONFIDENCE, DOUBTED * memory.confidence))


def add_link(link: Link) -> Edit:
    return lambda memory: replace(
        memory, links=(*(each for each in memory.links if (each.to, each.rel) != (link.to, link.rel)), link)
    )


def temporal_index(metadata: Mapping[str, Json]) -> float:
    """The `temporal_index`; 0 without one."""
    index = metadata.get("temporal_index")
    return index if isinstance(index, int | float) and not isinstance(index, bool) and index > 0 else 0


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
