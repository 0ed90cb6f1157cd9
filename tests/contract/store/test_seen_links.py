"""An agent sees the links to what it may see, on every backend, and an edit of it keeps those that it does not see."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nacre.access.capabilities import Access, AgentCapabilities, ScopeLevel
from nacre.access.view import RestrictedView
from nacre.model import Edge, Filter, JournalFilter, Link, Memory, Operation
from nacre.protocols import Backend, Change, Committed, Expected, Search
from tests.samples import SPACE, derived, memory, unit, written

SEEN, HIDDEN, NOWHERE = Link("a2", "needs"), Link("b1", "knows", 0.5), Link("nobody", "names")


def own(id: str, links: tuple[Link, ...] = ()) -> Memory:
    return memory(id, agent="ada", links=links)


@pytest.fixture
def ada(store: Backend) -> RestrictedView:
    """Of whose memories somebody who sees everything has linked the first one."""
    written(store, (own("a1"), derived("crane", unit(1))), own("a2"), memory("b1", agent="bob"))
    written(store, own("a1", (HIDDEN, SEEN, NOWHERE)), at=2.0)
    return RestrictedView(store, Access("ada", "", SPACE, AgentCapabilities(ScopeLevel.CROSS_SESSION_WRITE)))


def links_of(memories: list[Memory]) -> dict[str, tuple[Link, ...]]:
    return {each.id: each.links for each in memories}


def test_every_way_to_read_a_memory_shows_the_same_links(ada: RestrictedView) -> None:
    visible = {"a1": (SEEN,), "a2": ()}
    everything, space, seq = Filter(), SPACE, ada.seq_at(SPACE, float("inf"))
    assert links_of(ada.get_many(space, ["a1", "a2", "b1"])) == visible
    assert links_of(ada.page(space, everything, limit=9).memories) == visible
    assert links_of(list(ada.iterate(space, everything))) == visible
    assert links_of(ada.at(space, seq).get_many(space, ["a1", "a2"])) == visible
    assert links_of(ada.observed(Expected()).get_many(space, ["a1", "a2"])) == visible
    found = ada.gather(space, Search(terms=("crane",), vector=unit(1), records=True)).memories
    assert found["a1"].links == (SEEN,)


def test_edges_relations_and_the_journal_show_no_others(store: Backend, ada: RestrictedView) -> None:
    assert ada.edges(SPACE) == [Edge("a1", "a2", "needs")]
    assert ada.edges(SPACE, into=["b1"]) == ada.edges(SPACE, rels=["knows"]) == []
    shown = [entry.after for entry in ada.journal(SPACE, JournalFilter(memory_id="a1")) if entry.after]
    assert [image["links"] for image in shown if "links" in image] == [[SEEN.to_dict()]]
    full = [entry.after for entry in store.journal(SPACE, JournalFilter(memory_id="a1")) if entry.after]
    assert [len(image["links"]) for image in full if "links" in image] == [3]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("links", "kept"),
    [
        ((SEEN,), (HIDDEN, SEEN, NOWHERE)),  # not touched
        ((), (HIDDEN, NOWHERE)),
        ((SEEN, Link("a2", "likes")), (SEEN, Link("a2", "likes"), HIDDEN, NOWHERE)),
        ((Link("b1", "knows", 0.9),), (Link("b1", "knows", 0.9), NOWHERE)),  # a link has one weight
    ],
)
def test_an_edit_keeps_the_links_that_the_agent_does_not_see(
    store: Backend, ada: RestrictedView, links: tuple[Link, ...], kept: tuple[Link, ...]
) -> None:
    before = ada.get(SPACE, "a1")
    assert before is not None
    change = Change(before, replace(before, text="The crane lifts ten tons.", links=links), derived("crane"))
    assert isinstance(ada.commit([change], operation=Operation("edit", "ada", 0.0, "e1")), Committed)
    after = store.get(SPACE, "a1")
    assert after is not None
    assert (after.text, after.links) == ("The crane lifts ten tons.", kept)


def test_a_link_is_seen_once_its_target_is(store: Backend, ada: RestrictedView) -> None:
    written(store, own("nobody"), memory("b1", agent="ada"), at=3.0)
    assert links_of(ada.get_many(SPACE, ["a1"])) == {"a1": (HIDDEN, SEEN, NOWHERE)}
    assert {edge.target for edge in ada.edges(SPACE)} == {"a2", "b1", "nobody"}
