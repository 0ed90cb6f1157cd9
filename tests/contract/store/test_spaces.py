"""Another space's rows do not exist, whatever is asked."""

from __future__ import annotations

import pytest

from nacre.model import Filter, JournalFilter
from nacre.protocols import Backend, Search
from tests.samples import derived, entry, ids, listed, memory, put, unit, writing

EVERYTHING = Filter()


@pytest.fixture
def two(store: Backend) -> Backend:
    """The same id in two spaces, and a memory that only the second has."""
    put(
        store,
        (memory("same", "of one", space="one", tags=("mine",)), derived("shared", unit(1, 0.2))),
        (memory("same", "of two", space="two", tags=("theirs",)), derived("shared", unit(1))),
        (memory("other", "of two", space="two", tags=("theirs",)), derived("shared", unit(1, 0.1))),
    )
    with writing(store) as transaction:
        transaction.append([entry("same", space="one"), entry("same", space="two"), entry("other", space="two")])
    return store


def test_the_same_id_lives_apart_in_two_spaces(two: Backend) -> None:
    assert [m.text for m in two.get_many("one", ["same", "other"])] == ["of one"]
    assert [m.text for m in two.get_many("two", ["same"])] == ["of two"]
    assert two.get("one", "other") is None


def test_no_question_in_one_space_is_answered_from_another(two: Backend) -> None:
    assert ids(listed(two, "one", EVERYTHING)) == ["same"]
    assert [m.text for m in two.iterate("one", EVERYTHING)] == ["of one"]
    assert two.ids_like("one", "", 10) == ["same"]
    assert two.count("one", EVERYTHING) == 1
    assert two.tally("one", "tags", EVERYTHING) == {"mine": 1}
    assert ids(two.by_words("one", ["share", "shared"], EVERYTHING, 10)) == ["same"]
    assert ids(two.by_vector("one", unit(1), EVERYTHING, 10)) == ["same"]
    assert [e.memory_id for e in two.journal("one")] == ["same"]
    assert two.journal("one", JournalFilter(memory_id="other")) == []
    assert two.changes_since("one", 0) == ["same"]


def test_each_space_numbers_its_own_journal_without_a_gap(two: Backend) -> None:
    with writing(two) as transaction:
        transaction.append([entry("same", space=space, at=7.0) for space in ("two", "one", "two")])
    assert [e.seq for e in two.journal("one", newest_first=False)] == [1, 2]
    assert [e.seq for e in two.journal("two", newest_first=False)] == [1, 2, 3, 4]


def test_how_rare_a_word_is_does_not_depend_on_another_space(store: Backend) -> None:
    put(store, *((memory(f"m{i}", space="one"), derived("tea pad" if i else "tea coffee pad")) for i in range(5)))
    search = Search(terms=("tea", "coffee", "milk"))
    alone = store.gather("one", search)
    words = store.by_words("one", ["tea", "coffee"], EVERYTHING, 9)
    put(store, *((memory(f"o{i}", space="two"), derived("coffee milk " + "pad " * 40)) for i in range(30)))
    with_another = store.gather("one", search)
    assert with_another.terms == alone.terms
    assert with_another.rarity.tolist() == alone.rarity.tolist()
    assert with_another.shares.tolist() == alone.shares.tolist()
    assert store.by_words("one", ["tea", "coffee"], EVERYTHING, 9) == words


def test_a_filter_that_names_another_space_finds_nothing(two: Backend) -> None:
    where = Filter.where(space="two")
    assert listed(two, "one", where) == []
    assert two.by_words("one", ["shared"], where, 10) == []
    assert two.by_vector("one", unit(1), where, 10) == []


def test_a_space_nobody_wrote_to_is_empty(two: Backend) -> None:
    assert listed(two, "none", EVERYTHING) == []
    assert two.by_words("none", ["shared"], EVERYTHING, 10) == []
    assert two.by_vector("none", unit(1), EVERYTHING, 10) == []
    assert two.journal("none") == []


def test_touching_and_removing_reach_only_their_space(two: Backend) -> None:
    two.touch("one", ["same", "other"], 9.0)
    with writing(two) as transaction:
        transaction.remove("one", "same")
    assert listed(two, "one", EVERYTHING) == []
    assert [m.access_count for m in listed(two, "two", EVERYTHING)] == [0, 0]
    assert ids(two.by_vector("two", unit(1), EVERYTHING, 10)) == ["same", "other"]
    assert sorted(ids(two.by_words("two", ["shared"], EVERYTHING, 10))) == ["other", "same"]


def test_scrubbing_reaches_only_its_space(store: Backend) -> None:
    with writing(store) as transaction:
        transaction.append([entry("same", space=space, after={"text": "secret"}) for space in ("one", "two")])
        transaction.scrub_journal("one", "same")
    assert store.journal("one")[0].after is None
    assert store.journal("two")[0].after == {"text": "secret"}


def test_spaces_are_counted(two: Backend) -> None:
    assert two.spaces() == {"one": 1, "two": 2}
