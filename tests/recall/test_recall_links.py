"""Along the links, hop by hop."""

from __future__ import annotations

from typing import Any

import pytest

from nacre import MemoryStore
from nacre.model import Edge, ExpandSpec, Hit, Link, Recollection
from tests.recall.factories import NOW, found
from tests.samples import memory


def tied(*targets: str, rel: str = "refines") -> list[Link]:
    return [Link(target, rel) for target in targets]


@pytest.fixture
def chain(store: MemoryStore) -> MemoryStore:
    """tea -> cup -> shelf -> wall -> tea, which share no word with the question."""
    for id, text, to in (
        ("tea", "green tea", "cup"), ("cup", "a blue vessel", "shelf"), ("shelf", "oak board", "wall"),
        ("wall", "white plaster", "tea"),
    ):  # fmt: skip
        store.remember(text, id=id, links=tied(to))
    return store


def walked(store: MemoryStore, **spec: Any) -> list[str]:
    return found(store, "green tea", k=1, expand=ExpandSpec(**spec))


def test_every_hop_up_to_the_depth_is_walked_and_a_circle_ends(chain: MemoryStore) -> None:
    assert walked(chain, depth=0) == ["tea"]
    assert walked(chain, depth=1) == ["tea", "cup"]
    assert walked(chain, depth=2) == ["tea", "cup", "shelf"]
    assert walked(chain, depth=3) == walked(chain, depth=10**9) == ["tea", "cup", "shelf", "wall"]


def test_at_most_cap_are_added_and_the_hits_stay(chain: MemoryStore) -> None:
    assert walked(chain, depth=9, cap=2) == ["tea", "cup", "shelf"]
    assert walked(chain, depth=9, cap=0) == walked(chain, depth=9, cap=-3) == ["tea"]


def test_they_have_the_score_they_are_given_and_say_where_they_come_from(chain: MemoryStore) -> None:
    hits = chain.recall("green tea", k=1, expand=ExpandSpec(depth=2, score=0.42))
    assert [hit.score for hit in hits[1:]] == [0.42, 0.42]
    assert [str(hit.why[0]) for hit in hits[1:]] == ["link 0.42 (refines, 1 away)", "link 0.42 (refines, 2 away)"]
    assert ExpandSpec() == ExpandSpec(("refines", "example_of"), depth=1, cap=5, score=0.70)


def test_only_the_named_links_are_followed(store: MemoryStore) -> None:
    store.remember("oak board", id="shelf")
    store.remember("a blue vessel", id="cup")
    store.remember("green tea", id="tea", links=tied("shelf", rel="related") + tied("cup", "nowhere"))
    assert walked(store) == ["tea", "cup"]
    assert walked(store, rels=("related",)) == ["tea", "shelf"]
    assert walked(store, rels=("related", "refines")) == ["tea", "shelf", "cup"]
    assert walked(store, rels=()) == ["tea"]


def test_only_the_unseen_are_added_each_once(store: MemoryStore) -> None:
    store.remember("green tea of spring", id="spring", links=tied("cup"))
    store.remember("green tea", id="tea", links=tied("spring", "cup") + tied("cup", rel="example_of"))
    store.remember("a blue vessel", id="cup")
    assert found(store, "green tea", k=2, strategy="keyword", expand=ExpandSpec()) == ["tea", "spring", "cup"]


def test_what_the_filter_hides_is_neither_added_nor_walked_through(chain: MemoryStore) -> None:
    chain.supersede("cup", "wall")
    assert walked(chain, depth=3) == ["tea"]
    spec = ExpandSpec(depth=2)
    assert found(chain, "green tea", k=1, expand=spec, include_superseded=True) == ["tea", "cup", "shelf"]


@pytest.mark.parametrize(
    "fields", [{"status": "archived"}, {"expires_at": NOW - 1}, {"anti_contexts": ["work"]}, {"type": "episodic"}]
)
def test_filters_and_anti_contexts_hold_along_links(store: MemoryStore, fields: dict[str, Any]) -> None:
    store.remember("a blue vessel", id="cup", **fields)
    store.remember("green tea", id="tea", links=tied("cup"))
    narrowed: dict[str, Any] = {"status": "short_term", "type": "semantic", "contexts": ["work"]}
    assert found(store, "green tea", k=1, expand=ExpandSpec(), **narrowed) == ["tea"]


def test_the_trashed_are_not_reached(store: MemoryStore) -> None:
    store.remember("a blue vessel", id="cup")
    store.remember("green tea", id="tea", links=tied("cup"))
    assert walked(store) == ["tea", "cup"]
    store.forget("cup")
    assert walked(store) == ["tea"]


def test_what_the_links_brought_counts_as_used(chain: MemoryStore) -> None:
    walked(chain)
    assert {memory.id for memory in chain.list_recent() if memory.access_count} == {"tea", "cup"}


def walks(store: MemoryStore) -> dict[tuple[str, str], int]:
    return {edge[:2]: edge.walks for edge in store.edges() if edge.walks}


def test_links_that_led_to_something_are_counted_as_followed(chain: MemoryStore) -> None:
    walked(chain, depth=2)
    assert walks(chain) == {("tea", "cup"): 1, ("cup", "shelf"): 1}
    chain.recall_pack("green tea", max_items=1, expand=ExpandSpec())
    assert walks(chain) == {("tea", "cup"): 2, ("cup", "shelf"): 1}
    chain.recall("green tea", k=1, expand=ExpandSpec(), touch=False)
    assert walks(chain) == {("tea", "cup"): 2, ("cup", "shelf"): 1}


def test_what_the_links_of_a_likely_hit_lead_to_is_packed_and_used_where_relevance_is_known() -> None:
    with MemoryStore(":memory:") as store:
        store.remember("Always run the linter before every commit.", id="linter", links=tied("oranges"))
        store.remember("Oranges grow on trees in Valencia.", id="oranges")
        question = "What to run before a commit?"
        recalled = store.recall(question, expand=ExpandSpec(), touch=False)
        assert [(hit.memory.id, hit.strength) for hit in recalled] == [("linter", "strong"), ("oranges", "weak")]
        assert recalled.calibrated and len(recalled.likely) == 2
        assert store.recall_pack(question, expand=ExpandSpec()).ids() == ["linter", "oranges"]
        assert {memory.id for memory in store.iterate() if memory.access_count} == {"linter", "oranges"}
        assert walks(store) == {("linter", "oranges"): 1}


def test_what_the_links_of_a_weak_hit_lead_to_is_as_unlikely() -> None:
    linked = [Edge("fair", "one", "refines"), Edge("weak", "two", "refines"), Edge("one", "three", "refines")]
    searched = Hit(memory("fair", "a"), 0.9, relevance=0.3), Hit(memory("weak", "b"), 0.8)
    hits = (*searched, *(Hit(memory(edge.target, edge.target), 0.7, via=edge) for edge in linked))
    assert [hit.memory.id for hit in Recollection(hits).likely] == ["fair", "one", "three"]
    assert Recollection(hits, calibrated=False).likely == hits


def test_packing_expands_too(chain: MemoryStore) -> None:
    assert chain.recall_pack("green tea", max_items=1, expand=ExpandSpec()).ids() == ["tea", "cup"]
