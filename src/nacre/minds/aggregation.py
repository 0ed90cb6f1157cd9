"""Counts over a graph of knowledge: how many facts, which entities, which concepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from nacre.errors import UnknownName
from nacre.memory_store import MemoryStore
from nacre.minds.knowledge_storing import FACT
from nacre.minds.subgraph import DERIVED_FROM, SIMILAR_TO, SUPERSEDES, TRANSITIONED_TO
from nacre.model import Memory

AGGREGATIONS = (
    "count_total",
    "count_entities",
    "list_entities",
    "count_concepts",
    "list_concepts",
    "count_by_concept",
)
COUNTED_TIES = {
    SIMILAR_TO: "similar_to_edges",
    DERIVED_FROM: "derives_from_edges",
    SUPERSEDES: "supersedes_edges",
    TRANSITIONED_TO: "transitioned_to_edges",
}


def aggregated(store: MemoryStore, kind: str, entity: str = "") -> dict[str, object]:
    """`count` is always there; a list has its `items` too, and `count_by_concept` a count for each.

    `entity` leaves out what is about others. All but the plain count of everything read each fact once.
    """
    if kind not in AGGREGATIONS:
        raise UnknownName("aggregation", kind, AGGREGATIONS)
    if kind == "count_total" and not entity:
        return {"query_type": kind, "count": store.count(type=FACT, include_superseded=True)}
    facts = about_one(store.iterate(type=FACT, include_superseded=True), entity.casefold().strip())
    if kind == "count_total":
        return {"query_type": kind, "count": sum(1 for _ in facts)}
    if kind == "count_by_concept":
        tally = Counter(fact.title for fact in facts if fact.title)
        return {"query_type": kind, "count": len(tally), "items": dict(tally.most_common())}
    names = {name for fact in facts for name in (fact.entities[:1] if "entities" in kind else (fact.title,)) if name}
    items = {} if kind.startswith("count") else {"items": sorted(names)}
    return {"query_type": kind, "count": len(names), **items}


def about_one(facts: Iterator[Memory], entity: str) -> Iterator[Memory]:
    return (fact for fact in facts if not entity or any(entity in name.casefold() for name in fact.entities))


def statistics(store: MemoryStore) -> dict[str, int]:
    ties = Counter(edge.rel for edge in store.edges(rel=list(COUNTED_TIES)))
    nodes = {
        "semantic_nodes": store.count(type=FACT, include_superseded=True),
        "episodic_nodes": store.count(type="episodic", include_superseded=True, include_archived=True),
    }
    return {**nodes, "total_nodes": sum(nodes.values()), **{name: ties[rel] for rel, name in COUNTED_TIES.items()}}
