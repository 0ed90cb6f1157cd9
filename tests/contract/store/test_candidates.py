"""What a ranking reads before any record: postings, the nearest, their places and their neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from nacre.model import Filter
from nacre.protocols import Backend, Chunk, Derived, Keys, Place, Words
from tests.samples import SPACE, derived, digest_of, ids, memory, put, unit

EVERYTHING = Filter()
LIVE = Filter.live(1_000.0)
NOBODY: Keys = np.empty(0, np.int64)


def everyone(store: Backend, space: str = SPACE) -> dict[str, int]:
    return {place.id: place.key for place in store.places(space, store.allowed(space, EVERYTHING), EVERYTHING)}


def keys(store: Backend, *wanted: str) -> Keys:
    known = everyone(store)
    return np.array([known[id] for id in wanted], np.int64)


def owners(store: Backend, found: Keys, space: str = SPACE) -> list[str]:
    known = {key: id for id, key in everyone(store, space).items()}
    return [known[key] for key in found.tolist()]


def standing(at: int, **fields: object) -> tuple[object, Derived]:
    return memory(f"m{at}", f"said {at}", session="s", position=at, **fields), derived("word", unit(1, at))


# postings


def test_a_posting_names_every_memory_that_holds_the_stem_and_rises(store: Backend) -> None:
    put(store, *((memory(f"m{i}"), derived("tea " * (i % 3) + f"pad pad{i}", unit(1, i))) for i in range(30)))
    found = store.postings(["tea", "pad7", "absent"])
    assert set(found) == {"tea", "pad7"}
    assert sorted(owners(store, found["tea"].keys)) == sorted(f"m{i}" for i in range(30) if i % 3)
    assert owners(store, found["pad7"].keys) == ["m7"]
    for posting in found.values():
        assert (np.diff(posting.keys) > 0).all()
        assert len(posting.keys) == len(posting.weights)
        assert (posting.weights > 0).all()
    assert store.postings([]) == {}


@pytest.mark.parametrize("others", [0, 1, 2, 3, 4, 40])
def test_a_posting_s_weight_grows_with_the_count_and_shrinks_with_the_length_not_with_rarity(
    store: Backend, others: int
) -> None:
    put(
        store,
        (memory("often"), derived("tea tea tea pad")),
        (memory("once"), derived("tea pad pad pad")),
        (memory("long"), derived("tea " + "pad " * 30)),
        *((memory(f"o{i}"), derived(f"other{i} pad pad pad")) for i in range(others)),
    )
    found = store.postings(["tea"])["tea"]
    weight = dict(zip(owners(store, found.keys), found.weights.tolist(), strict=True))
    assert 2.2 > weight["often"] > weight["once"] > weight["long"] > 0.2


def test_a_posting_is_told_once_and_a_phrase_has_its_own(store: Backend) -> None:
    put(
        store,
        (memory("phrase"), derived("new york city")),
        (memory("apart"), derived("york is new")),
        (memory("across"), derived("york city", title="new")),
    )
    found = store.postings(["york", "york", "new york", "new delhi"])
    assert set(found) == {"york", "new york"}
    assert owners(store, found["new york"].keys) == ["phrase"]


def test_postings_follow_edits_and_removals(store: Backend) -> None:
    put(store, (memory("a"), derived("tea")), (memory("b"), derived("tea coffee")), (memory("c"), derived("milk")))
    put(store, (memory("a"), derived("water")))
    with store.transaction() as transaction:
        transaction.remove(SPACE, "b")
    assert store.postings(["tea", "coffee"]) == {}
    assert owners(store, store.postings(["water"])["water"].keys) == ["a"]
    assert 0.2 < store.postings(["water"])["water"].weights[0] < 2.2


@pytest.mark.parametrize("term", ['"', "AND", "NEAR(a b)", "*", "a*", "text:a", "(", "-", "", " ", 'a"b', "😀", "\\"])
def test_a_posting_s_term_is_never_an_operator(store: Backend, term: str) -> None:
    put(store, (memory("a"), derived("text word")))
    assert set(store.postings([term, "word"])) == {"word"}


# near, cosines


def test_the_nearest_come_best_first_with_their_cosines_and_at_most_so_many(store: Backend) -> None:
    put(store, *((memory(f"m{i}"), derived(f"m{i}", unit(1, i))) for i in range(9)), (memory("w"), derived("waits")))
    found, cosines = store.near(SPACE, unit(1), 4)
    assert owners(store, found) == ["m0", "m1", "m2", "m3"]
    assert np.allclose(cosines, [1 / np.hypot(1, i) for i in range(4)], atol=2e-3)
    assert len(store.near(SPACE, unit(1), 99)[0]) == 9
    assert [len(part) for part in store.near(SPACE, unit(1), 0)] == [0, 0]
    assert [len(part) for part in store.near("nowhere", unit(1), 5)] == [0, 0]


def test_the_nearest_are_narrowed_before_they_are_cut(store: Backend) -> None:
    put(store, *((memory(f"m{i}"), derived(f"m{i}", unit(1, i / 100))) for i in range(500)))
    only = np.sort(keys(store, "m480", "m3", "m490"))
    assert owners(store, store.near(SPACE, unit(1), 2, only)[0]) == ["m3", "m480"]
    assert len(store.near(SPACE, unit(1), 5, NOBODY)[0]) == 0


def test_many_chunks_of_one_memory_do_not_crowd_the_nearest(store: Backend) -> None:
    rows = np.stack([unit(1, i / 5000) for i in range(900)])
    long = Derived(Words(), tuple(Chunk(i, i + 1, digest_of(str(i))) for i in range(900)), rows)
    put(store, (memory("long"), long), *((memory(f"m{i}"), derived(f"m{i}", unit(1, 1, i))) for i in range(5)))
    found, cosines = store.near(SPACE, unit(1), 4)
    assert owners(store, found) == ["long", "m0", "m1", "m2"]
    assert cosines[0] == pytest.approx(1.0, abs=2e-3)


def test_cosines_are_of_the_best_chunk_in_the_order_asked_for_and_0_without_one(store: Backend) -> None:
    put(
        store,
        (memory("two"), derived("two", unit(0, 1), unit(1, 1))),
        (memory("against"), derived("against", unit(-1))),
        (memory("waits"), derived("waits")),
    )
    asked = np.append(keys(store, "waits", "against", "two", "against"), 10**9)
    found = store.cosines(SPACE, unit(1), asked)
    assert np.allclose(found, [0, -1, 0.7071, -1, 0], atol=2e-3)
    assert len(store.cosines(SPACE, unit(1), NOBODY)) == 0


def test_a_removed_memory_has_no_cosine_and_an_edited_one_its_new_one(store: Backend) -> None:
    put(store, (memory("a"), derived("a", unit(1))), (memory("b"), derived("b", unit(1))))
    asked = keys(store, "a", "b")
    put(store, (memory("a"), derived("new", unit(0, 1))))
    with store.transaction() as transaction:
        transaction.remove(SPACE, "b")
    assert np.allclose(store.cosines(SPACE, unit(0, 1), asked), [1, 0], atol=2e-3)
    assert owners(store, store.near(SPACE, unit(1), 5)[0]) == ["a"]


# places, around, allowed


def test_a_place_tells_what_a_ranking_must_know(store: Backend) -> None:
    put(
        store,
        (memory("turn", "Is it so?", session="s", position=4, role="Anna", created_at=7.0), derived("x")),
        (memory("note", "It is.", created_at=7.0, occurred_at=3.0), derived("y")),
        (memory("wide", "本当ですか？"), derived("z")),
    )
    found = {place.id: place for place in store.places(SPACE, keys(store, "wide", "note", "turn"), EVERYTHING)}
    assert found["turn"][2:] == ("s", 4, "Anna", 9, True, 7.0)
    assert found["note"][2:] == ("", None, "", 6, False, 3.0)
    assert found["wide"].asks
    assert found["wide"].characters == 6
    assert isinstance(found["turn"], Place)


def test_places_rise_by_key_and_only_the_admitted_are_told(store: Backend) -> None:
    put(
        store,
        *((memory(f"m{i}", status="trashed" if i % 2 else "long_term"), derived("x")) for i in range(10)),
        (memory("old", superseded_by="m0"), derived("x")),
        (memory("over", expires_at=999.0), derived("x")),
    )
    whole = np.array(list(everyone(store).values())[::-1], np.int64)
    found = store.places(SPACE, whole, LIVE)
    assert sorted(ids(found)) == ["m0", "m2", "m4", "m6", "m8"]
    assert [place.key for place in found] == sorted(place.key for place in found)
    assert store.allowed(SPACE, LIVE).tolist() == [place.key for place in found]
    assert store.places(SPACE, NOBODY, LIVE) == []
    assert store.places(SPACE, np.array([10**9]), LIVE) == []
    assert store.allowed(SPACE, Filter.where(tags="none")).tolist() == []


def test_around_finds_those_within_reach_of_each_spot_once(store: Backend) -> None:
    put(
        store,
        *(standing(at) for at in range(10)),  # type: ignore[arg-type]
        (memory("elsewhere", session="t", position=5), derived("x")),
        (memory("nowhere", session="s"), derived("x")),
        (memory("loose", position=5), derived("x")),
    )
    found = store.around(SPACE, [("s", 5), ("s", 6), ("t", 4)], 1, EVERYTHING)
    assert sorted(ids(found)) == ["elsewhere", "m4", "m5", "m6", "m7"]
    assert [place.key for place in found] == sorted(place.key for place in found)
    assert ids(store.around(SPACE, [("s", 0)], 0, EVERYTHING)) == ["m0"]
    assert store.around(SPACE, [], 2, EVERYTHING) == []
    assert store.around(SPACE, [("", 5), ("s", 99), ("s'", 5)], 2, EVERYTHING) == []


def test_around_admits_whom_the_filter_admits(store: Backend) -> None:
    put(
        store,
        standing(1, status="trashed"),  # type: ignore[arg-type]
        standing(2, tags=("a",)),  # type: ignore[arg-type]
        standing(3, superseded_by="m2"),  # type: ignore[arg-type]
        standing(4),  # type: ignore[arg-type]
    )
    assert ids(store.around(SPACE, [("s", 2)], 2, LIVE)) == ["m2", "m4"]
    assert ids(store.around(SPACE, [("s", 4)], 2, LIVE & Filter.where(tags="a"))) == ["m2"]


def test_a_key_stays_while_others_come_and_go(store: Backend) -> None:
    put(store, *((memory(id), derived(id, unit(1))) for id in "abc"))
    before = everyone(store)
    with store.transaction() as transaction:
        transaction.remove(SPACE, "a")
    put(store, (memory("d"), derived("d", unit(1))), memory("b", importance=0.9))
    after = everyone(store)
    assert {id: after[id] for id in "bc"} == {id: before[id] for id in "bc"}
    assert after["d"] not in before.values()


def spread_over(spaces: Sequence[str]) -> list[tuple[object, Derived]]:
    return [
        (memory("same", f"of {space}", space=space, session="s", position=1), derived("word", unit(1)))
        for space in spaces
    ]


def test_another_space_lends_nothing_but_its_postings(store: Backend) -> None:
    put(store, *spread_over(["here", "there"]))  # type: ignore[arg-type]
    both = store.postings(["word"])["word"].keys
    assert len(both) == 2
    for space in ("here", "there"):
        own = everyone(store, space)["same"]
        assert own in both.tolist()
        assert store.near(space, unit(1), 5)[0].tolist() == [own]
        assert store.near(space, unit(1), 5, both)[0].tolist() == [own]
        assert sorted(store.cosines(space, unit(1), both).round(1).tolist()) == [0.0, 1.0]
        assert [place.key for place in store.places(space, both, EVERYTHING)] == [own]
        assert [place.key for place in store.around(space, [("s", 1)], 1, EVERYTHING)] == [own]
        assert store.allowed(space, EVERYTHING).tolist() == [own]
