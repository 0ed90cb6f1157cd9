"""The entity index: names as decided, the memories that bear them, and what may be one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.engine.engine import entity_kind
from nacre.errors import InvalidInput, UndoBlocked
from nacre.model.graph import Entity, EntityPair
from nacre.text.names import INITIALS, SURNAME
from tests.prepared_stores import empty_store


@pytest.fixture(params=["sqlite", pytest.param("in_memory", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    path: Path | str = empty_store(tmp_path / "s.db") if request.param == "sqlite" else ":memory:"
    with MemoryStore(path, embedder="hashing") as opened:
        opened.remember("paints boats", id="paints", entities=["Sarah Chen"])
        opened.remember("sold a boat", id="sold", entities=["S. Chen", "Harbour Ltd"])
        opened.remember("was born in spring", id="born", entities=["sarah chen's"])
        opened.remember("repairs nets", id="nets", entities=["Olga Ek"])
        yield opened


def words(store: MemoryStore) -> dict[str, object]:
    return dict(store.backend.terms(entity_kind(store.space)))


def about(store: MemoryStore, name: str) -> list[str]:
    return sorted(memory.id for memory in store.memories_about(name))


def test_spellings_of_one_name_are_one_entity_and_the_most_mentioned_comes_first(store: MemoryStore) -> None:
    first, *others = store.entities()
    assert (first.name, first.aliases, first.count) == ("Sarah Chen", ("sarah chen's",), 2)
    assert [(each.name, each.count) for each in others] == [("Harbour Ltd", 1), ("Olga Ek", 1), ("S. Chen", 1)]
    assert store.entities(limit=1) == [first]
    assert words(store) == {}


def test_every_way_of_writing_recognises_names_and_keeps_those_that_are_given(store: MemoryStore) -> None:
    assert store.remember("Boris Volkov met Sarah Chen").entities == ("Boris Volkov", "Sarah Chen")
    (many,) = store.remember_many(["Ask Boris Volkov about PR #7"])
    assert many.entities == ("Boris Volkov", "PR #7")
    assert store.draft("the plan of Boris Volkov").entities == ("Boris Volkov",)
    given = store.remember("The boat of Sarah Chen is blue", entities=["the Gull", "sarah chen"])
    assert given.entities == ("the Gull", "sarah chen")
    assert store.remember("The car of Sarah Chen is red", entities=[]).entities == ()


def test_an_edit_of_the_text_changes_the_names_that_were_recognised_and_no_others(store: MemoryStore) -> None:
    kept = store.remember("The key is with Boris Volkov", entities=["the Gull"])
    assert store.edit(kept.id, text="The key is with Olga Ek").entities == ("the Gull", "Olga Ek")
    assert store.edit(kept.id, importance=0.3).entities == ("the Gull", "Olga Ek")
    assert store.edit(kept.id, text="The key is lost", entities=["nobody"]).entities == ("nobody",)


def test_merged_names_are_one_entity_and_the_memories_stay_as_written(store: MemoryStore) -> None:
    before = store.list_recent()
    assert store.merge_entities("Sarah Chen", "S. Chen", why="same berth")
    assert store.entities()[0] == Entity("Sarah Chen", ("S. Chen", "sarah chen's"), 3)
    assert about(store, "s. chen") == about(store, "SARAH CHEN") == ["born", "paints", "sold"]
    assert [store.resolve_entity(name) for name in ("s chen", "Sarah Chen", "Olga")] == [
        "Sarah Chen",
        "Sarah Chen",
        "Olga",
    ]
    assert store.list_recent() == before
    (told,) = store.journal(limit=1)
    assert (told.operation.name, told.operation.why, told.memory_id) == ("merge_entities", "same berth", "Sarah Chen")


def test_a_memory_that_has_two_of_the_names_counts_once(store: MemoryStore) -> None:
    store.remember("signs either way", entities=["Sarah Chen", "S. Chen", "SARAH CHEN"])
    store.merge_entities("Sarah Chen", "S. Chen")
    assert store.entities()[0].count == 4


def test_of_three_spellings_each_memory_counts_once_whichever_it_has(tmp_path: Path) -> None:
    names = ("Quay House", "quay house", "QUAY HOUSE")
    with MemoryStore(tmp_path / "other.db", embedder="hashing") as other:
        some = [chosen for size in (1, 2, 3) for chosen in combinations(names, size)]
        for number, chosen in enumerate([*some, ("quay house",)]):
            other.remember(f"painted {number} times", entities=chosen, on_conflict="ignore")
        (house,) = other.entities()
        assert house == Entity("quay house", ("QUAY HOUSE", "Quay House"), 8)
        assert len(other.memories_about("Quay House")) == 8


def test_what_is_not_live_is_not_counted(store: MemoryStore) -> None:
    store.forget("nets")
    assert "Olga Ek" not in [each.name for each in store.entities()]
    assert store.memories_about("Olga Ek") == []
    assert [m.id for m in store.memories_about("Olga Ek", include_trashed=True)] == ["nets"]


def test_a_merge_is_undone_whole(store: MemoryStore) -> None:
    store.merge_entities("Sarah Chen", "S. Chen", "Sara C")
    store.undo()
    assert words(store) == {}
    assert store.resolve_entity("S. Chen") == "S. Chen"
    assert about(store, "Sarah Chen") == ["born", "paints"]


def test_merging_again_adds_up_and_the_last_name_given_stays(store: MemoryStore) -> None:
    store.merge_entities("S. Chen", "Sara C")
    assert store.merge_entities("Sarah Chen", "S. Chen")
    assert {store.resolve_entity(name) for name in ("Sara C", "S. Chen", "sarah chen")} == {"Sarah Chen"}
    assert list(words(store)) == ["Sarah Chen"]
    assert not store.merge_entities("Sarah Chen", "Sara C", "S. Chen")
    with pytest.raises(UndoBlocked):
        store.undo(store.journal(operation="merge_entities", newest_first=False)[0])
    store.undo()
    assert words(store) == {"S. Chen": {"aliases": ["Sara C"]}}


def test_an_alias_can_be_taken_away_again(store: MemoryStore) -> None:
    store.merge_entities("Sarah Chen", "S. Chen", "Sara C")
    assert store.unalias("s chen", why="a cousin")
    assert store.resolve_entity("S. Chen") == "S. Chen"
    assert store.resolve_entity("Sara C") == "Sarah Chen"
    assert not store.unalias("S. Chen") and not store.unalias("Sarah Chen")
    store.unalias("Sara C")
    assert words(store) == {}
    store.undo(last=2)
    assert store.resolve_entity("S. Chen") == "Sarah Chen"


@pytest.mark.parametrize("name", ["", "   "])
def test_an_entity_needs_a_name(store: MemoryStore, name: str) -> None:
    with pytest.raises(InvalidInput, match="needs a name"):
        store.merge_entities(name, "S. Chen")
    with pytest.raises(InvalidInput, match="needs a name"):
        store.unalias(name)


def test_names_that_may_be_one_are_suggested_until_somebody_decides(store: MemoryStore) -> None:
    store.remember("owes us money", entities=["Ek"])
    expected = [EntityPair("Sarah Chen", "S. Chen", INITIALS), EntityPair("Olga Ek", "Ek", SURNAME)]
    assert store.entity_suggestions() == expected
    assert store.entity_suggestions(limit=1) == expected[:1]
    store.merge_entities("Sarah Chen", "S. Chen")
    assert store.entity_suggestions() == expected[1:]
    store.decide("entity:Olga Ek:Ek", "distinct")
    assert store.entity_suggestions() == []
    store.undo()
    assert store.entity_suggestions() == expected[1:]


def test_a_judgement_holds_for_what_a_name_is_merged_with_later(store: MemoryStore) -> None:
    store.decide("entity:Sarah Chen:S. Chen", "distinct")
    store.remember("a letter", entities=["Sarah Jo Chen"])
    store.merge_entities("Sarah Jo Chen", "Sarah Chen")
    assert store.entity_suggestions() == []
    store.merge_entities("Sarah Jo Chen", "S. Chen")  # whoever merges them after all knows better
    assert store.entities()[0].count == 4
    assert store.backend.terms(entity_kind(store.space))["Sarah Jo Chen"].get("distinct") is None


def test_the_review_queue_has_the_pairs_and_takes_the_decisions(store: MemoryStore) -> None:
    (item,) = store.review(kinds="entity")
    assert (item.names, item.decisions) == (("Sarah Chen", "S. Chen"), ("merge", "distinct", "skip"))
    assert item.why == f"'S. Chen' may be 'Sarah Chen': {INITIALS}"
    assert not store.decide(item, "skip")
    assert store.decide(item, "merge", into="S. Chen")
    assert store.resolve_entity("Sarah Chen") == "S. Chen"
    assert store.review(kinds="entity") == []
    with pytest.raises(InvalidInput, match="are one entity"):
        store.decide(item, "distinct")
    store.undo()
    assert store.review() == [item]


def test_names_belong_to_their_space(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    with (
        MemoryStore(path, space="one", embedder="hashing") as one,
        MemoryStore(path, space="two", embedder="hashing") as two,
    ):
        one.merge_entities("Sarah Chen", "S. Chen")
        two.remember("x", entities=["S. Chen"])
        assert two.resolve_entity("S. Chen") == "S. Chen"
        assert two.entities() == [Entity("S. Chen", (), 1)]
        assert one.entities() == []
        assert two.journal(operation="merge_entities") == []


def test_the_past_is_asked_by_the_names_of_today(store: MemoryStore) -> None:
    at = store.now()
    store.remember("new boat", entities=["Sarah Chen"])
    store.merge_entities("Sarah Chen", "S. Chen")
    assert len(store.memories_about("S. Chen")) == 4
    assert len(store.memories_about("S. Chen", as_of=at)) == 3


def test_a_man_and_his_wife_are_not_taken_for_one(store: MemoryStore) -> None:
    store.remember("locked the door", id="mr", entities=["Mr. Volkov"])
    store.remember("opened the door", id="mrs", entities=["Mrs. Volkov"])
    assert about(store, "Mr. Volkov") == ["mr"]
    assert not any("Volkov" in pair.a for pair in store.entity_suggestions())


@pytest.mark.parametrize("wrong", [{"limit": -1}, {"offset": -1}])
def test_fewer_than_no_suggestions_cannot_be_asked_for(store: MemoryStore, wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match=r"(limit|offset) is -1; give 0 or more"):
        store.entity_suggestions(**wrong)
