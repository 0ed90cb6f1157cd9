"""Counts over a graph of knowledge."""

from __future__ import annotations

import pytest

from nacre.errors import UnknownName
from nacre.minds.knowledge import HierarchicalMemory
from tests.minds.knowing import fleet, mind

__all__ = ["mind"]


@pytest.fixture
def known(mind: HierarchicalMemory) -> HierarchicalMemory:
    fleet(mind, 7, 1)
    fleet(mind, 9, 2)
    mind.store_knowledge("Tea at four", "Sarah Chen")
    mind.store_knowledge("Bread needs salt")
    mind.store_episode("The log", "log")
    return mind


@pytest.mark.accepts("A2.16")
@pytest.mark.parametrize(
    ("kind", "count", "items"),
    [
        ("count_total", 4, None),
        ("count_entities", 2, None),
        ("list_entities", 2, ["marta ruiz", "sarah chen"]),
        ("count_concepts", 2, None),
        ("list_concepts", 2, ["Marta Ruiz fleet", "Sarah Chen"]),
        ("count_by_concept", 2, {"Marta Ruiz fleet": 2, "Sarah Chen": 1}),
    ],
)
def test_each_aggregation_answers(known: HierarchicalMemory, kind: str, count: int, items: object) -> None:
    found = known.execute_aggregation(kind)
    assert (found["count"], found.get("items")) == (count, items)


def test_an_entity_narrows_it_down(known: HierarchicalMemory) -> None:
    assert known.execute_aggregation("count_total", entity_filter="Marta")["count"] == 2
    assert known.execute_aggregation("list_concepts", entity_filter="chen")["items"] == ["Sarah Chen"]


def test_an_unknown_aggregation_is_refused(known: HierarchicalMemory) -> None:
    with pytest.raises(UnknownName, match="count_total"):
        known.execute_aggregation("count_totals")


def test_statistics_count_nodes_and_ties(known: HierarchicalMemory) -> None:
    assert known.get_statistics() == {
        "agent_name": known.agent_name, "semantic_nodes": 4, "episodic_nodes": 1, "total_nodes": 5,
        "similar_to_edges": 1, "derives_from_edges": 0, "supersedes_edges": 1, "transitioned_to_edges": 1,
    }  # fmt: skip
