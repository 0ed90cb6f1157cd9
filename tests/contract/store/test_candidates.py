"""What a ranking reads before any record, in one call: candidates by words, meaning, time and neighbourhood."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nacre.model import Filter, Memory
from nacre.protocols import ALL, Backend, Candidates, Chunk, Derived, Place, Reader, Search, Words
from nacre.storage.in_memory import InMemoryBackend
from tests.samples import SPACE, derived, digest_of, ids, memory, put, unit, writing, written

LIVE = Filter.live(1_000.0)
TAGGED = Filter.where(tags="a")


def gathered(store: Backend, *terms: str, space: str = SPACE, **search: object) -> Candidates:
    return store.gather(space, Search(terms=terms, **search))  # type: ignore[arg-type]


def named(candidates: Candidates) -> list[str]:
    return sorted(ids(candidates.places))


def shares(candidates: Candidates, term: str) -> dict[str, float]:
    row = candidates.shares[candidates.terms.index(term)].tolist()
    return {place.id: share for place, share in zip(candidates.places, row, strict=True) if share}


def cosines(candidates: Candidates) -> dict[str, float]:
    found = zip(candidates.places, candidates.cosines.tolist(), strict=True)
    return {place.id: round(cosine, 2) for place, cosine in found}


def turn(at: int, text: str = "word", **fields: object) -> tuple[Memory, Derived]:
    return memory(f"m{at}", f"said {at}", session="s", position=at, **fields), derived(text, unit(0, 1, at))


# by words


def test_every_memory_with_one_of_the_words_is_a_candidate(store: Backend) -> None:
    put(store, *((memory(f"m{i}"), derived("tea " * (i % 3) + f"pad pad{i}", unit(1, i))) for i in range(30)))
    found = gathered(store, "tea", "pad7", "absent", "pad7")
    assert set(found.terms) == {"tea", "pad7"}
    assert named(found) == sorted(f"m{i}" for i in range(30) if i % 3 or i == 7)
    assert set(shares(found, "pad7")) == {"m7"}
    assert found.shares.shape == (2, len(found.places))
    assert [place.key for place in found.places] == sorted(place.key for place in found.places)
    assert not found.cosines.any()


@pytest.fixture
def three_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nacre.storage.candidates.MOST_TERMS", 3)


@pytest.mark.usefixtures("three_terms")
def test_of_very_many_terms_the_rarest_that_occur_are_searched(store: Backend) -> None:
    put(store, *((memory(f"m{i}"), derived(f"tea {'milk' if i < 4 else 'water'} own{i} pair {i}")) for i in range(9)))
    asked = ("tea", "water", "absent", "own3", "nowhere", "milk", "pair 5")
    assert gathered(store, *asked).terms == ("own3", "milk", "pair 5")
    assert {each.id for each in store.by_words(SPACE, asked, ALL, 9)} == {"m0", "m1", "m2", "m3", "m5"}
    assert set(gathered(store, "tea", "tea", "water", "milk", "tea").terms) == {"tea", "water", "milk"}


@pytest.mark.usefixtures("three_terms")
def test_which_terms_are_searched_tells_nothing_of_what_the_asker_may_not_see(store: Backend) -> None:
    put(store, *((memory(f"a{i}", tags=("a",)), derived("tea milk water lemonade")) for i in range(2)))
    asked = ("tea", "milk", "water", "lemonade")
    before = gathered(store, *asked, visible=TAGGED).terms
    put(store, *((memory(f"b{i}"), derived("water lemonade")) for i in range(5)))
    assert gathered(store, *asked, visible=TAGGED).terms == before
    assert set(before) == {"milk", "water", "lemonade"}


def test_without_words_and_vector_nothing_is_found(store: Backend) -> None:
    put(store, (memory("a"), derived("tea", unit(1))))
    for search in (Search(), Search(terms=("absent",))):
        found = store.gather(SPACE, search)
        assert (found.places, found.terms, found.shares.shape) == ((), (), (0, 0))
    assert gathered(store, "tea", space="nowhere").places == ()


def test_shares_are_bm25_of_the_space_with_titles_and_tags_counting_more(store: Backend) -> None:
    put(
        store,
        (memory("often"), derived("tea tea tea pad")),
        (memory("once"), derived("tea pad pad pad")),
        (memory("long"), derived("tea " + "pad " * 30)),
        (memory("titled"), derived("pad pad pad", title="tea")),
        (memory("tagged"), derived("pad pad pad", tags="tea")),
        (memory("other"), derived("pad pad pad pad")),
    )
    found = gathered(store, "tea")
    rarity = math.log(1 + (6 - 5 + 0.5) / (5 + 0.5))
    average = (5 * 4 + 31) / 6

    def bm25(frequency: float, length: int) -> float:
        return rarity * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * length / average))

    assert found.rarity.tolist() == pytest.approx([rarity], rel=1e-5)
    assert shares(found, "tea") == pytest.approx(
        {
            "often": bm25(3, 4),
            "once": bm25(1, 4),
            "long": bm25(1, 31),
            "titled": bm25(2, 4),
            "tagged": bm25(1.5, 4),
        },
        rel=1e-5,
    )
    by_words = {match.id: match.score for match in store.by_words(SPACE, ["tea"], ALL, 9)}
    assert by_words == pytest.approx(shares(found, "tea"), rel=1e-5)


def test_a_phrase_is_a_term_of_its_own(store: Backend) -> None:
    put(
        store,
        (memory("phrase"), derived("new york city")),
        (memory("apart"), derived("york is new")),
        (memory("across"), derived("york city", title="new")),
    )
    found = gathered(store, "york", "new york", "new delhi")
    assert set(found.terms) == {"york", "new york"}
    assert set(shares(found, "new york")) == {"phrase"}
    assert set(shares(found, "york")) == {"phrase", "apart", "across"}


def test_words_follow_edits_and_removals(store: Backend) -> None:
    put(store, (memory("a"), derived("tea")), (memory("b"), derived("tea coffee")), (memory("c"), derived("milk")))
    put(store, (memory("a", "edited"), derived("water")))
    with writing(store) as transaction:
        transaction.remove(SPACE, "b")
    found = gathered(store, "tea", "coffee", "water")
    assert found.terms == ("water",)
    assert named(found) == ["a"]
    assert found.rarity[0] == pytest.approx(math.log(1 + 1.5 / 1.5))


@pytest.mark.parametrize("term", ['"', "AND", "NEAR(a b)", "*", "a*", "text:a", "(", "-", "", " ", 'a"b', "😀", "\\"])
def test_a_term_of_a_search_is_never_an_operator(store: Backend, term: str) -> None:
    put(store, (memory("a"), derived("text word")))
    assert gathered(store, term, "word").terms == ("word",)


# by meaning


def test_the_nearest_are_candidates_at_most_so_many(store: Backend) -> None:
    put(store, *((memory(f"m{i}"), derived(f"m{i}", unit(1, i))) for i in range(9)), (memory("w"), derived("waits")))
    found = gathered(store, vector=unit(1), pool=4)
    assert named(found) == ["m0", "m1", "m2", "m3"]
    assert cosines(found) == {f"m{i}": round(1 / math.hypot(1, i), 2) for i in range(4)}
    assert len(gathered(store, vector=unit(1), pool=99).places) == 9
    assert gathered(store, vector=unit(1), space="nowhere").places == ()


def test_words_and_meaning_bring_their_own_and_every_candidate_has_its_cosine(store: Backend) -> None:
    put(
        store,
        (memory("near"), derived("pad", unit(1))),
        (memory("two"), derived("tea", unit(0, 1), unit(1, 1))),
        (memory("against"), derived("tea", unit(-1))),
        (memory("waits"), derived("tea")),
        (memory("neither"), derived("pad", unit(0, 1))),
    )
    found = gathered(store, "tea", vector=unit(1), pool=3)
    assert cosines(found) == {"near": 1.0, "two": 0.71, "against": -1.0, "waits": 0.0, "neither": 0.0}
    assert set(shares(found, "tea")) == {"two", "against", "waits"}


def test_a_narrow_filter_does_not_cost_candidates(store: Backend) -> None:
    put(
        store,
        *((memory(f"m{i}"), derived("tea", unit(1, i / 1000))) for i in range(300)),
        *((memory(f"far{i}", tags=("a",)), derived("tea pad pad", unit(0.1, 1, i))) for i in range(3)),
    )
    for search in (Search(terms=("tea",), where=TAGGED, pool=10), Search(vector=unit(1), where=TAGGED, pool=10)):
        assert named(store.gather(SPACE, search)) == ["far0", "far1", "far2"]
    assert gathered(store, "tea", vector=unit(1), where=Filter.where(tags="nobody")).places == ()


def test_many_chunks_of_one_memory_do_not_crowd_out_candidates(store: Backend) -> None:
    rows = np.stack([unit(1, i / 5000) for i in range(900)])
    long = Derived(Words(), tuple(Chunk(i, i + 1, digest_of(str(i))) for i in range(900)), rows)
    put(store, (memory("long"), long), *((memory(f"m{i}"), derived(f"m{i}", unit(1, 1, i))) for i in range(5)))
    assert named(gathered(store, vector=unit(1), pool=4)) == ["long", "m0", "m1", "m2"]


def test_the_nearest_of_a_time_are_candidates_however_far(store: Backend) -> None:
    put(
        store,
        *((memory(f"m{i}", created_at=1.0), derived("pad", unit(1, i / 100))) for i in range(20)),
        (memory("dated", created_at=1.0, occurred_at=50.0), derived("pad", unit(0, 1))),
        (memory("written", created_at=55.0), derived("pad", unit(0, 0, 1))),
        (memory("moved", created_at=55.0, occurred_at=9.0), derived("pad", unit(0, 0, 1))),
        (memory("hidden", created_at=55.0, status="trashed"), derived("pad", unit(0, 0, 1))),
    )
    found = gathered(store, vector=unit(1), pool=5, windows=((49.0, 50.0), (50.0, 55.0)), where=LIVE)
    assert set(named(found)) - {f"m{i}" for i in range(5)} == {"dated", "written"}
    assert len(found.places) == len(set(named(found)))


# places and neighbours


def test_a_place_tells_what_a_ranking_must_know(store: Backend) -> None:
    put(
        store,
        (memory("turn", "Is it so?", session="s", position=4, role="Anna", created_at=7.0), derived("x")),
        (memory("note", "It is.", created_at=7.0, occurred_at=3.0), derived("x")),
        (memory("wide", "本当ですか？"), derived("x")),
    )
    found = {place.id: place for place in gathered(store, "x").places}
    assert found["turn"][2:] == ("s", 4, "Anna", 1, True, 7.0)
    assert found["note"][2:] == ("", None, "", 1, False, 3.0)
    assert (found["wide"].asks, found["wide"].length) == (True, 1)
    assert isinstance(found["turn"], Place)


def test_only_what_the_filter_admits_is_a_candidate(store: Backend) -> None:
    put(
        store,
        *((memory(f"m{i}", status="trashed" if i % 2 else "long_term"), derived("x", unit(1))) for i in range(10)),
        (memory("old", superseded_by="m0"), derived("x", unit(1))),
        (memory("over", expires_at=999.0), derived("x", unit(1))),
    )
    assert named(gathered(store, "x", vector=unit(1), where=LIVE)) == ["m0", "m2", "m4", "m6", "m8"]


def test_the_turns_around_a_candidate_are_candidates_too(store: Backend) -> None:
    put(
        store,
        *(turn(at, "needle" if at == 5 else "pad") for at in range(10)),
        (memory("elsewhere", session="t", position=5), derived("pad")),
        (memory("nowhere", session="s"), derived("pad")),
        (memory("loose", position=5), derived("pad")),
    )
    assert named(gathered(store, "needle")) == ["m5"]
    found = gathered(store, "needle", reach=2, vector=unit(0, 1), pool=1, where=Filter.where(id__ne="m4"))
    assert named(found) == ["m0", "m1", "m2", "m3", "m5", "m6", "m7"]  # the nearest is m0
    assert cosines(found) == {f"m{at}": round(1 / math.hypot(1, at), 2) for at in (0, 1, 2, 3, 5, 6, 7)}
    assert set(shares(found, "needle")) == {"m5"}


# what may be known


def test_statistics_count_only_what_is_visible(store: Backend) -> None:
    put(
        store,
        (memory("own", tags=("a",)), derived("tea pad", unit(1))),
        (memory("mine", tags=("a",)), derived("pad pad", unit(0, 1))),
    )
    before = gathered(store, "tea", "milk", vector=unit(1), visible=TAGGED)
    alone = gathered(store, "tea", "milk", vector=unit(1))
    put(store, *((memory(f"theirs{i}"), derived("tea milk " + "pad " * i, unit(1, i))) for i in range(20)))
    after = gathered(store, "tea", "milk", vector=unit(1), visible=TAGGED)
    for found in (before, after):
        assert found.places == alone.places
        assert found.terms == ("tea",)
        assert found.rarity.tolist() == alone.rarity.tolist()
        assert found.shares.tolist() == alone.shares.tolist()
    assert ids(store.by_words(SPACE, ["tea", "milk"], ALL, 9, TAGGED)) == ["own"]
    assert store.by_words(SPACE, ["tea"], ALL, 9, TAGGED)[0].score == pytest.approx(float(after.shares.sum()))


def test_words_weigh_in_every_store_as_in_the_reference(store: Backend) -> None:
    """In whichever field a word is, however often, in the present and in an earlier state."""
    reference = InMemoryBackend()
    for each in (store, reference):
        written(
            each,
            (memory("a", tags=("x",)), derived("tea milk tea", unit(1), tags="tea sugar")),
            (memory("b"), derived("milk", unit(1), tags="tea tea", title="sugar")),
            (memory("c"), derived("water and nothing else at all", unit(1), title="tea milk")),
        )
        written(each, (memory("d"), derived("tea", unit(1), tags="milk")))
    search = Search(("tea", "milk", "sugar", "tea milk"))
    for one, other in ((store, reference), (store.at(SPACE, 3), reference.at(SPACE, 3))):
        assert weights(one, search) == weights(other, search)


def weights(reader: Reader, search: Search) -> dict[tuple[str, str], float]:
    """By the term and the id of the memory."""
    found = reader.gather(SPACE, search)
    return {
        (term, place.id): round(float(share), 4)
        for term, row in zip(found.terms, found.shares, strict=True)
        for place, share in zip(found.places, row, strict=True)
    }
