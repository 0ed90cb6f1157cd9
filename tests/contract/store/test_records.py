"""Records go in and come out: get, ids_like, select, iterate, count, tally, touch."""

from __future__ import annotations

from typing import Any

import pytest

from nacre.model import Filter, JournalFilter, Link, Memory
from nacre.protocols import Backend, Committed, Expected, Listed, Order
from tests.samples import SPACE, derived, digest_of, ids, listed, memory, put, unit, writing

EVERYTHING = Filter()
WHOLE = Memory(
    id="whole", text="all of it\nin two lines", space=SPACE, agent="me", title="A title", type="episodic",
    tags=("b", "a"), contexts=("work",), anti_contexts=("home",), entities=("Ada",), source="book",
    source_notes="page 4", metadata={"n": 1.5, "deep": {"list": [1, None, "x", True]}}, importance=0.9, salience=0.1,
    confidence=0.3, polarity=-1, trust=0.7, pinned=True, valence=-0.5, arousal=0.25, session="s", position=0,
    role="user", created_at=1.25, updated_at=2.5, occurred_at=-3.0, valid_from=0.0, valid_until=9e9, expires_at=1e10,
    last_accessed=7.0, access_count=3, last_validated_at=8.0, status="trashed", trashed_from="long_term",
    superseded_by="x", superseded_at=9.0, links=(Link("y", "cites", 0.5, {"why": "so"}), Link("z")),
)  # fmt: skip


def test_a_record_comes_back_exactly_as_it_was_put(store: Backend) -> None:
    put(store, WHOLE)
    assert store.get_many(SPACE, ["whole"]) == [WHOLE]
    assert listed(store, SPACE, EVERYTHING) == [WHOLE]


def test_a_record_put_again_is_replaced_in_every_field(store: Backend) -> None:
    put(store, WHOLE)
    bare = Memory(id="whole", text="bare", space=SPACE)
    put(store, bare)
    assert store.get_many(SPACE, ["whole"]) == [bare]
    assert store.count(SPACE, Filter.where(tags="a")) == 0
    assert store.count(SPACE, Filter.where(links__to="y")) == 0
    assert store.count(SPACE, Filter.where(contexts="work")) == 0


def test_an_id_that_no_memory_can_have_is_unknown(store: Backend) -> None:
    put(store, memory("a"), memory("é"))
    impossible = ["\ud800", "a\0", "\0"]
    assert [each.id for each in store.get_many(SPACE, [*impossible, "é", "a"])] == ["é", "a"]
    assert store.get_many(SPACE, impossible) == [] and store.vectors(SPACE, impossible) == {}


@pytest.mark.parametrize("asked", ["a\0b", "\0"])
def test_a_string_that_nothing_stored_can_have_is_answered_with_nothing(store: Backend, asked: str) -> None:
    put(store, memory("a", tags=("t", "\ufdd0"), links=(Link("b"),)))
    assert store.count(SPACE, Filter.where(tags=asked)) == 0
    assert not store.edges(SPACE, out_of=[asked]) and not store.edges(SPACE, into=[asked])
    assert not store.edges(SPACE, rels=[asked]) and not store.replaced_by(SPACE, asked)
    assert not store.journal(SPACE, JournalFilter(batch=asked)) and not store.ids_like(SPACE, asked, 9)
    assert not store.journal(SPACE, JournalFilter(memory_id=asked)) and not store.operations_since(SPACE, asked, 0)
    assert store.terms(asked) == {} and store.term("type", asked) is None
    assert store.count(SPACE, Filter.where(id=asked)) == 0
    assert [each.id for each in store.page(SPACE, Filter.where(tags__none=(asked,)), limit=9).memories] == ["a"]
    unknown = Expected({(SPACE, asked): None}, {("type", asked): None})
    assert isinstance(store.commit([], unknown), Committed)


def test_get_keeps_the_order_asked_for_gives_each_once_and_leaves_out_the_unknown(store: Backend) -> None:
    put(store, memory("a"), memory("b"), memory("c"))
    assert ids(store.get_many(SPACE, ["c", "nobody", "a", "c"])) == ["c", "a"]
    assert store.get_many(SPACE, []) == []


def test_ids_like_gives_ids_that_begin_so_and_no_others(store: Backend) -> None:
    put(store, *(memory(id) for id in ("ab1", "ab2", "ab%", "AB3", "b_1", "bx1")))
    assert store.ids_like(SPACE, "ab", 10) == ["ab%", "ab1", "ab2"]
    assert store.ids_like(SPACE, "b_", 10) == ["b_1"]
    assert store.ids_like(SPACE, "%", 10) == []
    assert store.ids_like(SPACE, "ab", 2) == ["ab%", "ab1"]
    assert store.ids_like(SPACE, "ab1", 10) == ["ab1"]


@pytest.fixture
def various(store: Backend) -> Backend:
    put(
        store,
        memory(
            "late", created_at=30.0, importance=0.2, confidence=0.3, updated_at=31.0, last_accessed=100.0, tags=("x",)
        ),
        memory("early", created_at=10.0, importance=0.9, updated_at=99.0, last_accessed=50.0, tags=("x", "y")),
        memory("middle", created_at=20.0, importance=0.2, updated_at=21.0, last_accessed=70.0, type="episodic"),
        memory("twin", created_at=20.0, importance=0.2, updated_at=21.0, last_accessed=70.0, status="long_term"),
    )
    return store


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("newest", ["late", "twin", "middle", "early"]),
        ("oldest", ["early", "middle", "twin", "late"]),
        ("importance", ["early", "late", "twin", "middle"]),
        ("confidence", ["twin", "middle", "early", "late"]),
        ("updated", ["early", "late", "twin", "middle"]),
        ("accessed", ["late", "twin", "middle", "early"]),
    ],
)
def test_select_orders_and_the_later_write_comes_first_among_equals(
    various: Backend, order: Order, expected: list[str]
) -> None:
    assert ids(listed(various, SPACE, EVERYTHING, order=order)) == expected
    assert ids(listed(various, SPACE, EVERYTHING, order=order, limit=2, offset=1)) == expected[1:3]


def test_select_pages_through_without_repeating_or_losing_any(various: Backend) -> None:
    pages = [ids(listed(various, SPACE, EVERYTHING, limit=1, offset=at)) for at in range(5)]
    assert pages == [["late"], ["twin"], ["middle"], ["early"], []]
    assert listed(various, SPACE, EVERYTHING, limit=0) == []
    assert ids(listed(various, SPACE, EVERYTHING, offset=3)) == ["early"]


def test_iterate_goes_from_the_oldest_however_many_there_are(store: Backend) -> None:
    put(store, *(memory(f"m{i:04}", created_at=float(2000 - i // 2)) for i in range(1203)))
    found = list(store.iterate(SPACE, EVERYTHING))
    assert found == listed(store, SPACE, EVERYTHING, order="oldest")
    assert len(found) == 1203


def test_iterate_survives_writes_between_its_steps(store: Backend) -> None:
    put(store, *(memory(f"m{i:03}", created_at=float(i)) for i in range(600)))
    seen = []
    for found in store.iterate(SPACE, EVERYTHING):
        seen.append(found.id)
        if len(seen) == 10:
            with writing(store) as transaction:
                transaction.remove(SPACE, "m005")
                transaction.put(memory("m002", "edited", created_at=2.0))
    assert seen == [f"m{i:03}" for i in range(600)]


FIELDS: tuple[Listed, ...] = (
    "id", "type", "title", "text", "importance", "pinned", "updated_at", "last_accessed", "access_count",
    "last_validated_at", "version",
)  # fmt: skip


def test_values_are_those_of_the_records_in_the_same_order(various: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    put(various, WHOLE)
    monkeypatch.setattr("nacre.storage.sqlite.store.VALUES_PAGE", 2)
    for where in (EVERYTHING, Filter.where(tags="x"), Filter.where(id="nobody")):
        records = list(various.iterate(SPACE, where))
        assert list(various.values(SPACE, where, FIELDS)) == [
            tuple(getattr(each, name) for name in FIELDS) for each in records
        ]
        assert list(various.values(SPACE, where, ("id",))) == [(each.id,) for each in records]


def test_filters_narrow_select_iterate_and_count_alike(various: Backend) -> None:
    where = Filter.where(tags="x", importance__lt=0.5)
    assert ids(listed(various, SPACE, where)) == ids(list(various.iterate(SPACE, where))) == ["late"]
    assert various.count(SPACE, where) == 1
    assert various.count(SPACE, EVERYTHING) == 4


def test_tally_counts_by_type_status_and_tag_most_frequent_first(various: Backend) -> None:
    assert list(various.tally(SPACE, "type", EVERYTHING).items()) == [("semantic", 3), ("episodic", 1)]
    assert list(various.tally(SPACE, "status", EVERYTHING).items()) == [("short_term", 3), ("long_term", 1)]
    assert list(various.tally(SPACE, "tags", EVERYTHING).items()) == [("x", 2), ("y", 1)]
    assert various.tally(SPACE, "tags", Filter.where(importance__lt=0.5)) == {"x": 1}


def test_tally_counts_the_memories_that_name_an_entity(store: Backend) -> None:
    put(
        store,
        memory("a", entities=("Zoë Ek", "Bo", "Bo"), importance=0.9),
        memory("b", entities=("Bo", "ann's")),
        memory("c", entities=("Ann",), importance=0.9),
        memory("d"),
    )
    counted = store.tally(SPACE, "entities", EVERYTHING)
    assert list(counted.items()) == [("Bo", 2), ("Ann", 1), ("Zoë Ek", 1), ("ann's", 1)]
    assert store.tally(SPACE, "entities", Filter.where(importance__ge=0.9)) == {"Ann": 1, "Bo": 1, "Zoë Ek": 1}
    assert store.tally("elsewhere", "entities", EVERYTHING) == {}


def test_tally_counts_sources_and_contexts_that_apply_or_do_not(store: Backend) -> None:
    put(
        store,
        memory("a", source="tested", contexts=("team", "ci"), anti_contexts=("alone",)),
        memory("b", source="tested", contexts=("ci",)),
        memory("c", anti_contexts=("ci",)),
    )
    assert store.tally(SPACE, "source", EVERYTHING) == {"tested": 2, "": 1}
    assert list(store.tally(SPACE, "contexts", EVERYTHING).items()) == [("ci", 2), ("team", 1)]
    assert store.tally(SPACE, "anti_contexts", EVERYTHING) == {"alone": 1, "ci": 1}


def test_touch_counts_each_use_and_never_turns_the_clock_back(store: Backend) -> None:
    put(store, memory("a", last_accessed=5.0), memory("b"))
    store.touch(SPACE, ["a", "nobody"], 9.0)
    store.touch(SPACE, ["a"], 7.0)
    a, b = store.get_many(SPACE, ["a", "b"])
    assert (a.last_accessed, a.access_count) == (9.0, 2)
    assert (b.last_accessed, b.access_count) == (0.0, 0)
    assert store.journal(SPACE) == []


def test_touching_leaves_words_and_vectors_alone(store: Backend) -> None:
    put(store, (memory("a"), derived("word", unit(1))))
    store.touch(SPACE, ["a"], 9.0)
    assert ids(store.by_words(SPACE, ["word"], EVERYTHING, 5)) == ["a"]
    assert ids(store.by_vector(SPACE, unit(1), EVERYTHING, 5)) == ["a"]
    assert store.pending(5) == []


def test_deleting_a_memory_takes_its_words_vector_and_links(store: Backend) -> None:
    put(store, (memory("a", tags=("t",), links=(Link("b"),)), derived("word", unit(1))))
    with writing(store) as transaction:
        transaction.remove(SPACE, "a")
    assert store.get_many(SPACE, ["a"]) == []
    assert store.ids_like(SPACE, "a", 5) == []
    assert store.by_words(SPACE, ["word"], EVERYTHING, 5) == []
    assert store.by_vector(SPACE, unit(1), EVERYTHING, 5) == []
    assert store.vectors_for([digest_of("word/0")])[1] == {}
    assert store.tally(SPACE, "tags", EVERYTHING) == {}
    assert (store.health().memories, store.health().chunks, store.health().vectors) == (0, 0, 0)
    assert store.health(thorough=True).problems == ()


def test_a_deleted_id_can_be_used_again_without_inheriting_anything(store: Backend) -> None:
    put(store, (memory("a", tags=("t",), links=(Link("b"),)), derived("word", unit(1))))
    with writing(store) as transaction:
        transaction.remove(SPACE, "a")
    put(store, memory("a", "new"))
    assert store.get_many(SPACE, ["a"]) == [memory("a", "new")]
    assert store.count(SPACE, Filter.where(links__to="b")) == 0
    assert ids(store.pending(5)) == ["a"]


def test_numbers_that_no_memory_can_have_are_named(store: Backend) -> None:
    assert store.health(thorough=True).notes == ()
    put(store, memory("sound", importance=1.0, trust=0.0, valence=-1.0, position=0, links=(Link("b", weight=2.5),)))
    assert store.health(thorough=True).notes == ()
    wrong: dict[str, Any] = {
        "importance": 1e300, "salience": -0.5, "confidence": 2.0, "trust": -1e9, "polarity": 7, "valence": -3.0,
        "arousal": 1.5, "position": -1, "access_count": -4,
    }  # fmt: skip
    for name, value in wrong.items():
        put(store, memory(name, **{name: value}))
        [note] = store.health(thorough=True).notes
        assert f"The memory {name} (space {SPACE}) has the {name} {value:g}, which must be from" in note
        assert store.health().notes == ()
        put(store, memory(name))
    put(store, memory("linked", links=(Link("b", weight=1e9),)))
    [note] = store.health(thorough=True).notes
    assert "The memory linked" in note and "a link with a weight that is not from 0 to 1,000,000" in note
    put(store, *(memory(f"more{n}", trust=9.0) for n in range(6)))
    assert len(store.health(thorough=True).notes) == 6 and store.health(thorough=True).notes[-1].startswith("2 more")
