"""Neighbours, subgraphs and paths."""

from __future__ import annotations

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput, MemoryNotFound, UnknownName
from nacre.model import Link, Neighborhood


def tie(store: MemoryStore, *ties: str) -> None:
    """`a>b`, or `a>b needs 0.5`; every memory that is named comes to be, unless its name begins with an x."""
    parted = [(*each.split(" ")[0].split(">"), *each.split(" ")[1:]) for each in ties]
    for id in dict.fromkeys(id for each in parted for id in each[:2]):
        if not id.startswith("x") and store.get(id) is None:
            store.remember(f"text of {id}", id=id, on_conflict="ignore")
    for source, target, *more in parted:
        store.link(source, target, more[0] if more else "related", weight=float(more[1]) if len(more) > 1 else 1.0)


def near(found: Neighborhood) -> list[str]:
    return [each.memory.id for each in found]


def test_a_neighbour_names_the_link_that_led_to_it(store: MemoryStore) -> None:
    tie(store, "a>b needs 0.5", "c>a knows 0.25")
    found = store.neighbors("a")
    assert [(each.memory.id, each.rel, each.direction, each.depth, each.weight) for each in found] == [
        ("b", "needs", "out", 1, 0.5),
        ("c", "knows", "in", 1, 0.25),
    ]


def test_direction_says_which_end_is_looked_from(store: MemoryStore) -> None:
    tie(store, "a>b", "c>a")
    assert near(store.neighbors("a", direction="out")) == ["b"]
    assert near(store.neighbors("a", direction="in")) == ["c"]
    assert sorted(near(store.neighbors("a", direction="both"))) == ["b", "c"]
    with pytest.raises(UnknownName, match="direction"):
        store.neighbors("a", direction="up")  # type: ignore[arg-type]


def test_depth_says_how_many_ties_are_walked_and_the_nearest_come_first(store: MemoryStore) -> None:
    tie(store, "a>b", "b>c", "c>d", "d>e")
    assert near(store.neighbors("a", depth=0)) == []
    assert near(store.neighbors("a")) == ["b"]
    found = store.neighbors("a", depth=3)
    assert [(each.memory.id, each.depth) for each in found] == [("b", 1), ("c", 2), ("d", 3)]
    assert near(store.neighbors("a", depth=99)) == ["b", "c", "d", "e"]
    for nothing in (-1, 1.5, "2", True):
        with pytest.raises(InvalidInput):
            store.neighbors("a", depth=nothing)  # type: ignore[arg-type]


def test_only_the_relations_asked_for_are_walked(store: MemoryStore) -> None:
    tie(store, "a>b needs", "a>c knows", "b>d knows", "b>e needs")
    assert near(store.neighbors("a", rel="needs", depth=2)) == ["b", "e"]
    assert sorted(near(store.neighbors("a", rel=["needs", "knows"], depth=2))) == ["b", "c", "d", "e"]
    assert near(store.neighbors("a", rel=[])) == near(store.neighbors("a", rel="nothing")) == []


def test_cycles_end_and_each_memory_comes_once_and_never_the_start(store: MemoryStore) -> None:
    tie(store, "a>b", "b>c", "c>a", "a>c", "b>a", "a>b needs")
    assert sorted(near(store.neighbors("a", depth=99))) == ["b", "c"]


def test_stronger_ties_come_first(store: MemoryStore) -> None:
    tie(store, "a>b related 0.2", "a>c related 0.9", "d>a related 0.5", "a>d needs 0.1")
    assert near(store.neighbors("a")) == ["c", "d", "b"]


def test_targets_that_nobody_has_are_listed_and_not_walked(store: MemoryStore) -> None:
    tie(store, "a>b", "a>x1", "b>x2", "c>x1")
    assert store.neighbors("a").dangling == ("x1",)
    found = store.neighbors("a", depth=2)
    assert (near(found), found.dangling) == (["b"], ("x1", "x2"))
    with pytest.raises(MemoryNotFound):
        store.neighbors("x1")


def test_what_is_hidden_leads_nowhere_unless_it_is_asked_for(store: MemoryStore) -> None:
    tie(store, "a>b", "b>c", "a>d", "d>e")
    store.forget("b")
    store.supersede("d", "a")
    assert near(store.neighbors("a", depth=3)) == []
    assert sorted(near(store.neighbors("a", depth=3, include_hidden=True))) == ["b", "c", "d", "e"]
    assert store.neighbors("a", depth=3).dangling == ()


def test_walking_counts_and_subgraphs_do_not(store: MemoryStore) -> None:
    tie(store, "a>b", "b>c", "a>d needs")
    told = store.journal(limit=None)
    store.neighbors("a", depth=2, rel="related")
    store.neighbors("c", direction="out")
    store.path("a", "b")
    store.subgraph(["a", "b", "c"])
    assert {edge[:3]: edge.walks for edge in store.backend.edges(store.space)} == {
        ("a", "b", "related"): 2, ("b", "c", "related"): 1, ("a", "d", "needs"): 0,
    }  # fmt: skip
    assert store.journal(limit=None) == told


def test_walking_is_no_use_and_no_change(store: MemoryStore) -> None:
    tie(store, "a>b")
    before = store.get("a"), store.get("b")
    store.neighbors("a")
    assert (store.get("a"), store.get("b")) == before


def test_a_subgraph_of_depth_none_is_the_seeds_and_the_ties_between_them(store: MemoryStore) -> None:
    tie(store, "a>b", "b>c", "c>d", "a>x1")
    found = store.subgraph(["a", "c"], depth=0)
    assert (list(found.nodes), found.edges, found.dangling) == (["a", "c"], (), ())
    pair = store.subgraph(["b", "a"], depth=0)
    assert [edge[:3] for edge in pair.edges] == [("a", "b", "related")]


def test_a_subgraph_holds_every_link_between_its_nodes_and_no_other(store: MemoryStore) -> None:
    tie(store, "a>b", "b>c", "c>a", "c>d", "d>e", "b>x1", "a>b needs")
    found = store.subgraph(["a", "a"])
    assert sorted(found.nodes) == ["a", "b", "c"]
    assert sorted(edge[:3] for edge in found.edges) == [
        ("a", "b", "needs"), ("a", "b", "related"), ("b", "c", "related"), ("c", "a", "related")
    ]  # fmt: skip
    assert sorted(store.subgraph(["a"], depth=2).nodes) == ["a", "b", "c", "d"]
    assert store.subgraph(["a"], depth=2).dangling == ("x1",)
    assert sorted(store.subgraph(["a"], rel="needs", depth=5).nodes) == ["a", "b"]
    assert sorted(store.subgraph(["c"], direction="out").nodes) == ["a", "c", "d"]


def test_a_subgraph_shows_what_is_hidden_unless_told_not_to(store: MemoryStore) -> None:
    tie(store, "a>b", "b>c")
    store.forget("b")
    assert sorted(store.subgraph(["a"], depth=2).nodes) == ["a", "b", "c"]
    assert sorted(store.subgraph(["a"], depth=2, include_hidden=False).nodes) == ["a"]


def test_an_unknown_seed_is_named(store: MemoryStore) -> None:
    tie(store, "a>b")
    with pytest.raises(MemoryNotFound, match="'nobody'"):
        store.subgraph(["a", "nobody"])
    for start, end in (("a", "nobody"), ("nobody", "a")):
        with pytest.raises(MemoryNotFound, match="'nobody'"):
            store.path(start, end)


def test_a_path_is_a_shortest_one_and_keeps_the_sense_of_its_ties(store: MemoryStore) -> None:
    tie(store, "a>b", "b>c", "c>d", "d>e", "f>a", "f>e needs")
    found = store.path("a", "e")
    assert found is not None
    assert [memory.id for memory in found.memories] == ["a", "f", "e"]
    assert [edge[:3] for edge in found.edges] == [("f", "a", "related"), ("f", "e", "needs")]
    along = store.path("a", "e", direction="out")
    assert along is not None
    assert [memory.id for memory in along.memories] == ["a", "b", "c", "d", "e"]


def test_where_no_path_leads_the_result_is_none(store: MemoryStore) -> None:
    tie(store, "a>b", "c>d", "b>x1")
    assert store.path("a", "d") is None
    assert store.path("b", "a", direction="out") is None
    assert store.path("a", "b", rel="needs") is None


def test_a_path_to_itself_has_no_ties(store: MemoryStore) -> None:
    tie(store, "a>b")
    found = store.path("a", "a")
    assert found is not None
    assert ([memory.id for memory in found.memories], found.edges) == (["a"], ())


def test_a_path_does_not_lead_through_what_is_hidden(store: MemoryStore) -> None:
    tie(store, "a>b", "b>c")
    store.forget("b")
    assert store.path("a", "c") is None
    assert store.path("a", "c", include_hidden=True) is not None


@pytest.mark.slow
def test_a_store_with_a_ring_of_a_thousand_is_walked_once_around(store: MemoryStore) -> None:
    ring = [{"text": f"number {n}", "id": f"m{n}", "links": [Link(f"m{(n + 1) % 1000}")]} for n in range(1000)]
    store.remember_many(ring)
    assert len(store.neighbors("m0", direction="out", depth=2000)) == 999
    assert len(store.subgraph(["m0"], depth=2000).edges) == 1000
