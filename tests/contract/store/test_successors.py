"""Superseded memories count for their successors, and linked memories come along, in the same call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nacre.model import Filter, Link, Memory
from nacre.protocols import Backend, Candidates, Change, Committed, Derived, Reader, Search
from tests.samples import SPACE, derived, ids, memory, put, unit, written

LIVE = Filter.live(1_000.0)
NOT_TRASHED = Filter.where(status__ne="trashed")


def gathered(store: Reader, *terms: str, **search: object) -> Candidates:
    asked = {"where": LIVE, "replaced": NOT_TRASHED, **search}
    return store.gather(SPACE, Search(terms, **asked))  # type: ignore[arg-type]


def shares(found: Candidates, term: str) -> dict[str, float]:
    row = found.shares[found.terms.index(term)].tolist()
    return {place.id: share for place, share in zip(found.places, row, strict=True) if share}


def chain(*ids: str, **fields: Any) -> list[tuple[Memory, Derived]]:
    """The first has the words "mail sendgrid", the others have their own id as their only word."""
    successors = (*ids[1:], "")
    texts = ("mail sendgrid", *ids[1:])
    return [
        (memory(id, superseded_by=successor, **fields), derived(text, unit(1, at)))
        for at, (id, successor, text) in enumerate(zip(ids, successors, texts, strict=True))
    ]


def test_the_words_and_the_vector_of_a_superseded_memory_count_for_the_end_of_its_chain(store: Backend) -> None:
    put(store, *chain("old", "middle", "new"), (memory("other"), derived("mail tea", unit(0, 0, 1))))
    found = gathered(store, "mail", "sendgrid", vector=unit(1))
    assert ids(found.places) == ["new", "other"]
    assert set(shares(found, "sendgrid")) == {"new"}
    assert set(shares(found, "mail")) == {"new", "other"}
    assert found.cosines.round(2).tolist() == [1.0, 0.0]
    assert found.replaced == {"new": ("old", "middle")}


def test_the_best_matching_of_several_superseded_memories_is_named(store: Backend) -> None:
    put(
        store,
        (memory("far", superseded_by="new"), derived("tea", unit(0, 1))),
        (memory("near", superseded_by="new"), derived("mail", unit(1))),
        (memory("new"), derived("milk", unit(0, 0, 1))),
    )
    assert gathered(store, "mail", "tea", vector=unit(1)).replaced == {"new": ("near", "far")}
    assert gathered(store, "tea").replaced == {"new": ("far",)}


def test_a_successor_keeps_what_it_matches_better_itself(store: Backend) -> None:
    put(
        store,
        (memory("old", superseded_by="new"), derived("mail", unit(0, 1))),
        (memory("new"), derived("mail mail tea", unit(1))),
    )
    alone = gathered(store, "mail", "tea", vector=unit(1), replaced=None)
    found = gathered(store, "mail", "tea", vector=unit(1))
    assert ids(found.places) == ids(alone.places) == ["new"]
    assert found.cosines.tolist() == alone.cosines.tolist()
    assert shares(found, "tea") == shares(alone, "tea")
    assert shares(found, "mail")["new"] >= shares(alone, "mail")["new"]


def test_without_being_asked_for_superseded_memories_count_for_nobody(store: Backend) -> None:
    put(store, *chain("old", "new"))
    found = gathered(store, "sendgrid", replaced=None)
    assert (found.places, found.replaced) == ((), {})


def test_the_filter_is_for_the_successor_alone(store: Backend) -> None:
    put(store, *chain("old", "new"), *chain("before", "after"))
    old, new = store.get_many(SPACE, ["old", "new"])
    written = store.commit([Change(new, replace(new, tags=("a",))), Change(old, replace(old, tags=("b",)))])
    assert isinstance(written, Committed)
    assert ids(gathered(store, "sendgrid", where=LIVE & Filter.where(tags="a")).places) == ["new"]
    assert ids(gathered(store, "sendgrid", where=LIVE & Filter.where(tags="b")).places) == []


def test_a_narrow_filter_does_not_cost_what_counts_for_a_successor(store: Backend) -> None:
    put(store, *((memory(f"m{i}"), derived("mail sendgrid", unit(1, 0, i))) for i in range(20)))
    put(store, *chain("old", "middle", "new", type="episodic"))
    found = gathered(store, "sendgrid", vector=unit(1), where=LIVE & Filter.where(type="episodic"), pool=4)
    assert ids(found.places) == ["new"]
    assert found.replaced == {"new": ("old", "middle")}
    assert found.cosines.round(2).tolist() == [1.0]


def test_a_chain_counts_only_as_far_as_every_member_is_admitted(store: Backend) -> None:
    put(
        store,
        (memory("old", superseded_by="hidden"), derived("sendgrid", unit(1))),
        (memory("hidden", superseded_by="new", agent="other"), derived("postmark", unit(0, 1))),
        (memory("new"), derived("milk", unit(0, 0, 1))),
        (memory("gone", superseded_by="new", status="trashed"), derived("sendgrid", unit(1))),
        (memory("lost", superseded_by="nobody"), derived("sendgrid", unit(1))),
    )
    found = gathered(store, "sendgrid", "postmark", replaced=NOT_TRASHED & Filter.where(agent=""))
    assert ids(found.places) == []
    assert ids(gathered(store, "sendgrid", visible=Filter.where(agent="")).places) == []
    found = gathered(store, "sendgrid")
    assert (ids(found.places), found.replaced) == (["new"], {"new": ("old",)})


def test_a_ring_that_a_damaged_store_may_have_ends_the_walk(store: Backend) -> None:
    put(store, (memory("a", superseded_by="b"), derived("tea")), (memory("b", superseded_by="a"), derived("milk")))
    assert gathered(store, "tea").places == ()


def test_earlier_states_have_their_own_chains(store: Backend) -> None:
    first = written(store, (memory("old"), derived("mail", unit(1))), (memory("new"), derived("milk", unit(0, 1))))
    second = written(store, memory("old", superseded_by="new"), (memory("newest"), derived("tea", unit(0, 1))))
    written(store, memory("new", superseded_by="newest"))
    assert ids(gathered(store.at(SPACE, first), "mail").places) == ["old"]
    assert ids(gathered(store.at(SPACE, second), "mail").places) == ["new"]
    assert ids(gathered(store, "mail").places) == ["newest"]


def linked(store: Backend) -> None:
    put(
        store,
        (memory("old"), derived("sendgrid", unit(1))),
        (memory("new", links=(Link("old", "conflicts", data={"kind": "update"}),)), derived("milk", unit(0, 1))),
        (memory("apart", links=(Link("old", "refines"),)), derived("tea", unit(0, 0, 1))),
    )


def test_what_a_link_of_the_relations_connects_with_a_candidate_is_one_too(store: Backend) -> None:
    linked(store)
    for term in ("sendgrid", "milk"):
        found = gathered(store, term, linked_by=("conflicts",))
        assert ids(found.places) == ["old", "new"]
        assert found.links == (("new", "old", "update"),)
    found = gathered(store, "sendgrid", linked_by=("refines", "conflicts"))
    assert ids(found.places) == ["old", "new", "apart"]
    assert set(found.links) == {("new", "old", "update"), ("apart", "old", "")}
    assert gathered(store, "sendgrid").links == ()
    assert ids(gathered(store, "sendgrid").places) == ["old"]


def test_what_the_filter_hides_is_not_brought_along(store: Backend) -> None:
    linked(store)
    found = gathered(store, "sendgrid", linked_by=("conflicts",), where=LIVE & Filter.where(id__ne="new"))
    assert (ids(found.places), found.links) == (["old"], ())
    found = gathered(store, "sendgrid", linked_by=("conflicts",), where=LIVE & Filter.where(id__ne="old"))
    assert (ids(found.places), found.links) == ([], ())
