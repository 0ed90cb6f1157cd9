"""Ties from either end, how often they were walked, and what took the place of what."""

from __future__ import annotations

import pytest

from nacre.model import Edge, Filter, Link, Operation
from nacre.protocols import Backend, Change
from tests.samples import SPACE, derived, entry, ids, listed, memory, put, unit, writing, written


def ends(found: list[Edge]) -> list[tuple[str, str, str]]:
    return [edge[:3] for edge in found]


def walks(store: Backend) -> dict[tuple[str, str, str], int]:
    return {edge[:3]: edge.walks for edge in store.edges(SPACE)}


@pytest.fixture
def tied(store: Backend) -> Backend:
    put(
        store,
        memory("b", links=(Link("c", "needs", 0.5), Link("a"), Link("a", "needs"))),
        memory("a", links=(Link("b"), Link("nobody", "names"))),
        memory("c"),
        memory("a", space="there", links=(Link("c", "theirs"),)),
    )
    return store


def test_all_ties_come_in_the_order_of_their_sources_writing_then_target_then_relation(tied: Backend) -> None:
    assert tied.edges(SPACE) == [
        Edge("b", "a", "needs"),
        Edge("b", "a", "related"),
        Edge("b", "c", "needs", 0.5),
        Edge("a", "b", "related"),
        Edge("a", "nobody", "names"),
    ]


def test_ties_are_found_by_source_by_target_and_by_relation(tied: Backend) -> None:
    assert ends(tied.edges(SPACE, out_of=["a"])) == [("a", "b", "related"), ("a", "nobody", "names")]
    assert ends(tied.edges(SPACE, into=["a"])) == [("b", "a", "needs"), ("b", "a", "related")]
    assert ends(tied.edges(SPACE, into=["nobody"])) == [("a", "nobody", "names")]
    assert ends(tied.edges(SPACE, rels=["needs"])) == [("b", "a", "needs"), ("b", "c", "needs")]
    assert ends(tied.edges(SPACE, rels=["names", "related"], out_of=["b", "a"])) == [
        ("b", "a", "related"),
        ("a", "b", "related"),
        ("a", "nobody", "names"),
    ]
    assert ends(tied.edges(SPACE, into=["a", "c"], rels=["needs"])) == [("b", "a", "needs"), ("b", "c", "needs")]
    assert ends(tied.edges(SPACE, out_of=["a"], into=["b"], rels=["related"])) == [("a", "b", "related")]
    assert tied.edges(SPACE, out_of=["a"], into=["a"]) == []


def test_ties_of_one_kind_come_alone_and_the_first_of_them_alone(store: Backend) -> None:
    put(
        store,
        memory("b", links=(Link("c", "conflicts", data={"kind": "update"}), Link("a", "conflicts"))),
        memory("a", links=(Link("c", "conflicts", data={"kind": "update"}), Link("b", "conflicts"))),
        memory("c", links=(Link("d", "conflicts", data={"kind": "update"}), Link("a", "related"))),
    )
    updates = [("b", "c", "conflicts"), ("a", "c", "conflicts"), ("c", "d", "conflicts")]
    assert ends(store.edges(SPACE, rels=["conflicts"], kind="update")) == updates
    assert ends(store.edges(SPACE, rels=["conflicts"], kind="update", limit=2)) == updates[:2]
    assert ends(store.edges(SPACE, kind="", limit=2)) == [("b", "a", "conflicts"), ("a", "b", "conflicts")]
    assert ends(store.edges(SPACE, out_of=["a", "c"], kind="update", limit=1)) == updates[1:2]
    assert ends(store.edges(SPACE, limit=3)) == [
        ("b", "a", "conflicts"),
        ("b", "c", "conflicts"),
        ("a", "b", "conflicts"),
    ]
    assert store.edges(SPACE, kind="duplicate") == store.edges(SPACE, limit=0) == []


def test_an_empty_list_means_none_of_them(tied: Backend) -> None:
    assert tied.edges(SPACE, out_of=[]) == tied.edges(SPACE, into=[]) == tied.edges(SPACE, rels=[]) == []
    assert tied.edges(SPACE, out_of=["a"], rels=[]) == []


def test_a_name_asked_for_twice_gives_its_ties_once(tied: Backend) -> None:
    assert ends(tied.edges(SPACE, out_of=["a", "a"], into=["b", "b"], rels=["related", "related"])) == [
        ("a", "b", "related")
    ]


def test_ties_of_another_space_do_not_exist(tied: Backend) -> None:
    assert ends(tied.edges("there")) == ends(tied.edges("there", into=["c"])) == [("a", "c", "theirs")]
    assert tied.edges("there", into=["a", "b"]) == tied.edges("none") == []
    assert tied.edges(SPACE, rels=["theirs"]) == []


def test_ties_follow_what_is_put_and_go_with_what_is_removed(tied: Backend) -> None:
    put(tied, memory("b", links=(Link("c", "needs", 0.9),)))
    assert tied.edges(SPACE, out_of=["b"]) == [Edge("b", "c", "needs", 0.9)]
    assert tied.edges(SPACE, into=["a"]) == []
    with writing(tied) as transaction:
        transaction.remove(SPACE, "b")
    assert tied.edges(SPACE, out_of=["b"]) == []
    assert ends(tied.edges(SPACE, into=["b"])) == [("a", "b", "related")]


def test_a_source_that_is_written_again_keeps_its_place(tied: Backend) -> None:
    put(tied, memory("b", "otherwise", links=(Link("a"),)))
    assert [edge.source for edge in tied.edges(SPACE)] == ["b", "a", "a"]


def test_words_of_any_characters_name_ties(store: Backend) -> None:
    awkward = ("'; DROP TABLE link; --", '"', "%", "_", "5", "é", "🙂", "a\nb", "\\")
    put(store, memory("x", links=tuple(Link(name, name) for name in awkward)))
    for name in awkward:
        assert ends(store.edges(SPACE, into=[name], rels=[name])) == [("x", name, name)]
        assert ends(store.edges(SPACE, out_of=["x"], into=[name])) == [("x", name, name)]


def test_each_walk_counts_once_for_each_link_it_took(tied: Backend) -> None:
    tied.walked(SPACE, [Edge("a", "b", "related"), Edge("b", "c", "needs"), Edge("a", "b", "related")])
    tied.walked(SPACE, [Edge("a", "b", "related", 0.2, 99)])
    tied.walked(SPACE, [])
    assert walks(tied) == {
        ("b", "a", "needs"): 0, ("b", "a", "related"): 0, ("b", "c", "needs"): 1, ("a", "b", "related"): 2,
        ("a", "nobody", "names"): 0,
    }  # fmt: skip


def test_a_walk_of_a_missing_link_is_not_counted(tied: Backend) -> None:
    before = tied.edges(SPACE), tied.edges("there")
    tied.walked(SPACE, [Edge("a", "b", "needs"), Edge("a", "c", "theirs"), Edge("nobody", "a", "related")])
    tied.walked("there", [Edge("b", "a", "needs")])
    assert (tied.edges(SPACE), tied.edges("there")) == before


def test_an_unchanged_link_keeps_its_walks_when_its_memory_is_written(tied: Backend) -> None:
    tied.walked(SPACE, tied.edges(SPACE, out_of=["b"]))
    put(
        tied,
        (memory("b", "new words", links=(Link("x"), Link("c", "needs", 0.1), Link("a"))), derived("new", unit(1))),
    )
    assert walks(tied)["b", "c", "needs"] == walks(tied)["b", "a", "related"] == 1
    assert walks(tied)["b", "x", "related"] == 0


def test_a_link_with_another_weight_keeps_its_walks_in_each_of_its_states(store: Backend) -> None:
    written(store, memory("a", links=(Link("b", weight=0.2),)))
    store.walked(SPACE, store.edges(SPACE))
    with writing(store) as transaction:
        for weight in (0.4, 0.9):  # the first has no state of its own
            transaction.put(memory("a", links=(Link("b", weight=weight),)))
        transaction.append([entry("a")])
    assert store.at(SPACE, 1).edges(SPACE) == [Edge("a", "b", "related", 0.2, 1)]
    assert store.edges(SPACE) == [Edge("a", "b", "related", 0.9, 1)]
    assert store.health(thorough=True).problems == ()


def test_a_link_has_the_kind_that_its_data_gives_it_in_each_of_its_states(store: Backend) -> None:
    written(store, memory("a", links=(Link("b", data={"kind": "update", "reason": "newer"}),)))
    store.walked(SPACE, store.edges(SPACE))
    written(store, memory("a", links=(Link("b", data={"kind": "duplicate", "reason": "newer"}),)))
    written(store, memory("a", links=(Link("b", data={"reason": "another"}),)))
    states = [store.at(SPACE, seq).edges(SPACE) for seq in (1, 2, 3)]
    assert states == [[Edge("a", "b", "related", 1.0, 1, kind)] for kind in ("update", "duplicate", "")]
    assert store.edges(SPACE) == states[-1]


def test_a_link_that_was_removed_and_made_again_counts_from_zero(tied: Backend) -> None:
    tied.walked(SPACE, tied.edges(SPACE))
    put(tied, memory("a"))
    put(tied, memory("a", links=(Link("b"),)))
    assert walks(tied)["a", "b", "related"] == 0
    with writing(tied) as transaction:
        transaction.remove(SPACE, "b")
    put(tied, memory("b", links=(Link("a"),)))
    assert walks(tied)["b", "a", "related"] == 0


def test_walks_stay_when_a_commit_fails(tied: Backend) -> None:
    tied.walked(SPACE, tied.edges(SPACE, out_of=["a"]))
    before, known = tied.edges(SPACE), tied.get(SPACE, "a")
    again = memory("a", links=(Link("b"), Link("nobody", "names")))
    changes, operation = [Change(known, memory("a")), Change(known, again)], Operation("edit", "tester", 0.0, "b")
    with pytest.raises(RuntimeError):
        tied.commit(changes, None, operation, fail)
    assert tied.edges(SPACE) == before


def fail() -> float:
    """A clock that breaks a commit off."""
    raise RuntimeError


def test_what_a_memory_replaced_is_listed_oldest_first(store: Backend) -> None:
    put(
        store,
        memory("late", superseded_by="heir", created_at=3.0),
        memory("early", superseded_by="heir", created_at=1.0),
        memory("middle", superseded_by="heir", created_at=2.0),
        memory("another", superseded_by="other"),
        memory("heir"),
        memory("theirs", space="there", superseded_by="heir"),
    )
    assert ids(store.replaced_by(SPACE, "heir")) == ["early", "middle", "late"]
    assert ids(store.replaced_by("there", "heir")) == ["theirs"]
    assert store.replaced_by(SPACE, "late") == store.replaced_by(SPACE, "nobody") == []
    put(store, memory("middle", created_at=2.0), memory("late", superseded_by="early", created_at=3.0))
    assert ids(store.replaced_by(SPACE, "heir")) == ["early"]
    assert ids(store.replaced_by(SPACE, "early")) == ["late"]
    assert store.replaced_by("there", "early") == []


def test_nothing_was_replaced_by_nobody(store: Backend) -> None:
    put(store, memory("a"), memory("b"))
    assert store.replaced_by(SPACE, "") == []


@pytest.mark.slow
def test_lists_of_thousands_of_ids_are_answered_whole(store: Backend) -> None:
    names = [f"m{number}" for number in range(1500)]
    put(
        store,
        *(memory(name, links=(Link(f"m{number + 1}", f"r{number % 1200}"),)) for number, name in enumerate(names)),
    )
    asked = [*names, *(f"nobody{number}" for number in range(2_000))]
    assert ids(store.get_many(SPACE, asked)) == names
    assert len(store.edges(SPACE, out_of=asked)) == 1500
    assert len(store.edges(SPACE, into=asked)) == 1499
    assert len(store.edges(SPACE, rels=[f"r{number}" for number in range(1100)])) == 1400
    assert len(store.edges(SPACE, out_of=asked, into=asked, rels=["r0", "r7"])) == 4
    assert store.count(SPACE, Filter.where(id__in=asked)) == 1500
    assert store.count(SPACE, Filter.where(id__not_in=asked[1:])) == 1
    assert ids(listed(store, SPACE, Filter.where(id__in=asked[1499:]))) == ["m1499"]
    store.walked(SPACE, store.edges(SPACE))
    assert all(edge.walks == 1 for edge in store.edges(SPACE))
    store.touch(SPACE, asked, 5.0)
    assert store.count(SPACE, Filter.where(access_count=1)) == 1500
