"""Links: made, taken away, pruned, and the words that name them."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre import Memory, MemoryStore
from nacre.errors import InvalidInput, LinkRefused, MemoryNotFound, UnknownName
from nacre.model import Edge, Link
from nacre.model.graph import RELATIONS
from nacre.storage.tables import pack_lists
from tests.embedders import Moody
from tests.prepared_stores import empty_store


@pytest.fixture
def three(store: MemoryStore) -> MemoryStore:
    for id in ("a", "b", "c"):
        store.remember(f"text of {id}", id=id, on_conflict="ignore")
    return store


@pytest.fixture(params=["sqlite", pytest.param("in_memory", marks=pytest.mark.slow)])
def strict(request: pytest.FixtureRequest, tmp_path: Path) -> MemoryStore:
    place = empty_store(tmp_path / "strict.db") if request.param == "sqlite" else ":memory:"
    opened = MemoryStore(place, embedder=Moody(), strict_links=True)
    for id in ("a", "b"):
        opened.remember(f"text of {id}", id=id, on_conflict="ignore")
    return opened


def links(store: MemoryStore, id: str) -> tuple[Link, ...]:
    found = store.get(id)
    assert found is not None
    return found.links


def stood(store: MemoryStore) -> list[Memory]:
    return list(store.iterate(include_trashed=True, include_superseded=True))


def acts(store: MemoryStore) -> int:
    return len({entry.operation.batch for entry in store.journal(limit=None)})


def test_a_link_is_kept_on_its_source_alone(three: MemoryStore) -> None:
    made = three.link("a", "b", "refines", weight=0.7, data={"by": "hand"}, why="so it is")
    assert made.new
    assert made.link == Link("b", "refines", 0.7, {"by": "hand"})
    assert (links(three, "a"), links(three, "b")) == ((made.link,), ())
    entry = three.journal()[0]
    assert (entry.operation.name, entry.operation.why, entry.memory_id) == ("link", "so it is", "a")


def test_repeating_a_link_changes_nothing_and_is_no_operation(three: MemoryStore) -> None:
    assert three.link("a", "b").new
    before, count = three.get("a"), acts(three)
    again = three.link("a", "b")
    assert (again.new, again.notes) == (False, ())
    assert (three.get("a"), acts(three)) == (before, count)


def test_another_weight_or_other_data_replace_what_was_there(three: MemoryStore) -> None:
    three.link("a", "b")
    three.link("a", "c")
    made = three.link("a", "b", weight=0.2, data={"x": 1})
    assert not made.new
    assert links(three, "a") == (Link("b", weight=0.2, data={"x": 1}), Link("c"))
    three.undo()
    assert links(three, "a") == (Link("b"), Link("c"))


def test_several_relations_may_join_the_same_two(three: MemoryStore) -> None:
    three.link("a", "b")
    three.link("a", "b", "refines")
    three.link("b", "a")
    assert [link.rel for link in links(three, "a")] == ["related", "refines"]
    assert links(three, "b") == (Link("a"),)


def test_a_link_to_itself_is_refused(three: MemoryStore) -> None:
    before = stood(three), acts(three)
    with pytest.raises(LinkRefused, match="itself"):
        three.link("a", "a")
    with pytest.raises(ValueError, match="itself"):
        three.link("nobody", "nobody")
    assert (stood(three), acts(three)) == before


def test_an_unknown_source_is_named_and_no_word_is_learned(three: MemoryStore) -> None:
    with pytest.raises(MemoryNotFound, match="'nobody'"):
        three.link("nobody", "a", "foretells")
    with pytest.raises(KeyError):
        three.unlink("nobody", "a")
    assert "foretells" not in three.relations()


def test_a_target_that_is_not_there_is_tolerated_and_listed(three: MemoryStore) -> None:
    assert three.link("a", "not yet").new
    found = three.neighbors("a")
    assert (list(found), found.dangling) == ([], ("not yet",))
    three.remember("now it is there", id="not yet")
    assert [each.memory.id for each in three.neighbors("a")] == ["not yet"]


@pytest.mark.parametrize(
    "given",
    [{"rel": ""}, {"rel": "  "}, {"target": ""}, {"weight": -0.1}, {"weight": float("nan")}, {"weight": "much"},
     {"data": {"x": float("inf")}}, {"rel": "\ud800"}],
)  # fmt: skip
def test_a_link_that_cannot_be_written_is_refused(three: MemoryStore, given: dict[str, object]) -> None:
    before = stood(three)
    with pytest.raises(InvalidInput):
        three.link("a", **{"target": "b", **given})  # type: ignore[arg-type]
    assert stood(three) == before


@pytest.mark.accepts("H2.4", "H9.3")
def test_strict_links_refuse_unknown_relations_and_targets(strict: MemoryStore) -> None:
    assert strict.link("a", "b").new
    with pytest.raises(MemoryNotFound, match="'nobody'"):
        strict.link("a", "nobody")
    with pytest.raises(UnknownName, match="'refines'"):
        strict.link("a", "b", "refine")
    assert [link.rel for link in links(strict, "a")] == ["related"]
    strict.register_relation("foretells", "says what will be")
    assert strict.link("a", "b", "foretells").new
    strict.close()


def test_a_new_relation_is_learned_and_waits_for_review(three: MemoryStore) -> None:
    three.link("a", "b", "foretells")
    assert three.relations()["foretells"] == ""
    assert [item.id for item in three.review(kinds="word")] == ["relation:foretells"]
    three.undo()
    assert "foretells" not in three.relations()
    assert three.review(kinds="word") == []


def test_a_near_miss_is_told_and_kept_as_written(three: MemoryStore) -> None:
    for given, meant in (("refine", "refines"), ("Depends-On", "depends_on"), ("part of", "part_of")):
        made = three.link("a", "b", given)
        assert made.link.rel == given
        assert len(made.notes) == 1
        assert repr(meant) in made.notes[0]
    assert three.link("a", "b", "foretells").notes == ()
    assert three.link("a", "b", "refine").notes == ()  # known by now


def test_new_relations_are_journaled_in_the_order_of_the_links(three: MemoryStore) -> None:
    names = ["foretells", "echoes", "answers", "doubts", "repeats", "hides"]
    three.remember("text of d", links=[Link("a", name) for name in names], on_conflict="ignore")
    learned = [entry.memory_id for entry in reversed(three.journal()) if entry.kind == "relation"]
    assert learned == names


def test_the_relations_that_every_store_knows_are_listed_with_their_meaning(store: MemoryStore) -> None:
    assert store.relations() == dict(RELATIONS)
    store.register_relation(" foretells ", " says what will be ")
    assert store.relations()["foretells"] == "says what will be"
    before = acts(store)
    store.register_relation("foretells", "says what will be")
    assert acts(store) == before
    store.undo()
    assert "foretells" not in store.relations()
    with pytest.raises(InvalidInput):
        store.register_relation("  ")


def test_registering_confirms_a_word_that_was_learned(three: MemoryStore) -> None:
    three.link("a", "b", "foretells")
    three.register_relation("foretells")
    assert three.review(kinds="word") == []
    three.undo()
    assert [item.word for item in three.review(kinds="word")] == ["foretells"]


def test_unlinking_counts_what_went(three: MemoryStore) -> None:
    for rel in ("related", "refines", "mentions"):
        three.link("a", "b", rel)
    three.link("a", "c")
    assert three.unlink("a", "b", "refines") == 1
    assert three.unlink("a", "b", "refines") == 0
    assert three.unlink("a", "b") == 2
    assert three.unlink("a", "nobody") == three.unlink("b", "a") == 0
    assert links(three, "a") == (Link("c"),)
    assert acts(three) == 3 + 4 + 2
    three.undo(last=2)
    assert [(link.to, link.rel) for link in links(three, "a")] == [
        ("b", "related"), ("b", "refines"), ("b", "mentions"), ("c", "related")
    ]  # fmt: skip


@pytest.mark.slow
def test_a_new_link_among_many_is_journaled_by_itself(three: MemoryStore) -> None:
    for number in range(50):
        three.link("a", f"x{number}")
    told = three.journal("a")[0]
    assert told.after is not None
    assert told.after["links"] == [{"to": "x49", "rel": "related", "at": 49}]
    assert len(links(three, "a")) == 50


def test_ten_links_take_less_than_a_kilobyte() -> None:
    memory = Memory("a", "x", links=tuple(Link(f"{number:036}") for number in range(10)))
    assert len(pack_lists(memory).encode()) < 1024


def test_pruning_is_planned_first_and_takes_only_weak_ties_that_nobody_walked(three: MemoryStore) -> None:
    three.link("a", "b", weight=0.1)
    three.link("a", "c", weight=0.2)
    three.link("b", "c", weight=0.3)
    three.link("c", "a", "contradicts", weight=0.0)
    before = stood(three)
    three.neighbors("a", rel="related", direction="out")
    three.link("a", "x1", weight=0.1)
    plan = three.weak_links()
    assert plan == [Edge("a", "x1", "related", 0.1)]
    assert [edge[:2] for edge in three.weak_links(below=0.5, walks=1)] == [
        ("a", "b"),
        ("a", "c"),
        ("a", "x1"),
        ("b", "c"),
    ]
    assert [memory.links for memory in stood(three)][1:] == [memory.links for memory in before][1:]
    assert three.prune_links(plan) == 1
    assert three.weak_links() == []
    assert three.prune_links(plan) == three.prune_links([]) == 0


def test_a_link_that_was_walked_or_strengthened_since_the_plan_is_not_pruned(three: MemoryStore) -> None:
    three.link("a", "b", weight=0.1)
    three.link("b", "c", weight=0.1)
    three.link("c", "a", weight=0.1)
    plan = three.weak_links()
    three.path("a", "b", direction="out")
    three.link("b", "c", weight=0.2)
    assert three.prune_links(plan) == 1
    assert [len(links(three, id)) for id in ("a", "b", "c")] == [1, 1, 0]


def test_pruning_is_one_act_and_is_undone_as_one(three: MemoryStore) -> None:
    for source, target in (("a", "b"), ("b", "c"), ("c", "a"), ("a", "x1")):
        three.link(source, target, weight=0.1)
    before, count = stood(three), acts(three)
    assert three.prune_links(three.weak_links(), why="spring") == 4
    assert acts(three) == count + 1
    three.undo()
    assert stood(three) == before
