"""By words and by vectors, over the whole space and with the filter in force."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.model import Filter
from nacre.protocols import Backend, Chunk, Derived, Words
from tests.samples import DIMENSIONS, SPACE, derived, digest_of, ids, memory, put, unit, writing

EVERYTHING = Filter()


def test_any_of_the_words_finds_and_more_of_them_ranks_higher(store: Backend) -> None:
    put(
        store,
        (memory("one"), derived("red house garden path")),
        (memory("both"), derived("red car garden path")),
        (memory("none"), derived("blue sky garden path")),
    )
    assert ids(store.by_words(SPACE, ["red", "car"], EVERYTHING, 10)) == ["both", "one"]
    assert store.by_words(SPACE, [], EVERYTHING, 10) == []
    assert store.by_words(SPACE, ["absent"], EVERYTHING, 10) == []


def test_scores_fall_from_the_best(store: Backend) -> None:
    put(store, *((memory(f"m{i}"), derived("rare " * i + "filler " * 20)) for i in range(1, 5)))
    scores = [match.score for match in store.by_words(SPACE, ["rare"], EVERYTHING, 10)]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)


def test_words_are_found_in_title_tags_and_entities_too(store: Backend) -> None:
    put(
        store,
        (memory("title"), Derived(Words(title="zebra"))),
        (memory("tags"), Derived(Words(tags="zebra"))),
        (memory("entities"), Derived(Words(entities="zebra"))),
    )
    assert sorted(ids(store.by_words(SPACE, ["zebra"], EVERYTHING, 10))) == ["entities", "tags", "title"]


def test_a_term_with_spaces_is_a_phrase_within_one_field(store: Backend) -> None:
    put(
        store,
        (memory("phrase"), derived("new york city")),
        (memory("apart"), derived("york is new")),
        (memory("across"), derived("york city", title="new")),
    )
    assert ids(store.by_words(SPACE, ["new york"], EVERYTHING, 10)) == ["phrase"]


def test_a_word_is_matched_whole(store: Backend) -> None:
    put(store, (memory("long"), derived("category concatenate")), (memory("short"), derived("cat")))
    assert ids(store.by_words(SPACE, ["cat"], EVERYTHING, 10)) == ["short"]


def test_every_memory_of_the_corpus_can_be_found_by_its_word(store: Backend) -> None:
    put(store, *((memory(f"m{i}"), derived(f"common needle{i}")) for i in range(300)))
    assert ids(store.by_words(SPACE, ["needle7"], EVERYTHING, 5)) == ["m7"]
    assert len(store.by_words(SPACE, ["common"], EVERYTHING, 1000)) == 300
    assert len(store.by_words(SPACE, ["common"], EVERYTHING, 12)) == 12
    assert store.by_words(SPACE, ["common"], EVERYTHING, 0) == []


@pytest.mark.parametrize("where", [Filter.where(tags="rare"), Filter.where(importance__gt=0.9)])
def test_a_very_selective_filter_holds_in_both_searches_and_loses_nobody(store: Backend, where: Filter) -> None:
    pairs = [(memory(f"m{i}"), derived("common", unit(1, i / 1000))) for i in range(600)]
    far = [
        (memory(f"far{i}", tags=("rare",), importance=0.95), derived("common pad pad", unit(0.1, 1, i)))
        for i in range(3)
    ]
    put(store, *pairs, *far)
    assert sorted(ids(store.by_words(SPACE, ["common"], where, 10))) == ["far0", "far1", "far2"]
    assert ids(store.by_vector(SPACE, unit(1), where, 10)) == ["far0", "far1", "far2"]
    assert ids(store.by_vector(SPACE, unit(1), where, 1)) == ["far0"]
    assert store.by_vector(SPACE, unit(1), Filter.where(tags="nobody"), 10) == []


@pytest.mark.parametrize(
    "term", ['"', "AND", "OR", "NOT", "NEAR(a b)", "*", "a*", "^a", "text:a", "(", "-", "", 'a"b', "😀", "\\"]
)
def test_a_term_is_never_an_operator(store: Backend, term: str) -> None:
    put(store, (memory("a"), derived("text word")))
    assert ids(store.by_words(SPACE, [term, "word"], EVERYTHING, 10)) == ["a"]


def test_a_question_of_thousands_of_words_is_answered(store: Backend) -> None:
    put(store, (memory("a"), derived("w17 w4000")))
    assert ids(store.by_words(SPACE, [f"w{i}" for i in range(6000)], EVERYTHING, 10)) == ["a"]


def test_what_is_not_put_anew_stays_found(store: Backend) -> None:
    put(store, (memory("a"), derived("word", unit(1))))
    put(store, memory("a", importance=0.9))
    assert ids(store.by_words(SPACE, ["word"], EVERYTHING, 10)) == ["a"]
    assert ids(store.by_vector(SPACE, unit(1), Filter.where(importance__gt=0.8), 10)) == ["a"]
    assert store.pending(5) == []


def test_a_memory_scores_as_its_best_chunk_and_names_it(store: Backend) -> None:
    put(store, (memory("a"), derived("a", unit(0, 1), unit(1), unit(0, 0, 1))), (memory("b"), derived("b", unit(1, 1))))
    first, second = store.by_vector(SPACE, unit(1), EVERYTHING, 10)
    assert (first.id, first.span) == ("a", (10, 20))
    assert first.score == pytest.approx(1.0, abs=2e-3)
    assert (second.id, second.span) == ("b", (0, 10))
    assert second.score == pytest.approx(0.7071, abs=2e-3)


def test_many_chunks_of_one_memory_do_not_crowd_out_the_others(store: Backend) -> None:
    rows = [unit(1, i / 5000) for i in range(900)]
    long = Derived(Words(), tuple(Chunk(i, i + 1, digest_of(str(i))) for i in range(900)), np.stack(rows))
    put(store, (memory("long"), long), *((memory(f"m{i}"), derived(f"m{i}", unit(1, 1, i))) for i in range(5)))
    assert ids(store.by_vector(SPACE, unit(1), EVERYTHING, 6)) == ["long", "m0", "m1", "m2", "m3", "m4"]


def test_the_limit_cuts_after_the_best(store: Backend) -> None:
    put(store, *((memory(f"m{i}"), derived(f"m{i}", unit(1, i))) for i in range(9)))
    assert ids(store.by_vector(SPACE, unit(1), EVERYTHING, 3)) == ["m0", "m1", "m2"]
    assert store.by_vector(SPACE, unit(1), EVERYTHING, 0) == []


def test_a_deleted_memory_is_no_longer_near(store: Backend) -> None:
    put(store, (memory("a"), derived("a", unit(1))), (memory("b"), derived("b", unit(1, 1))))
    assert ids(store.by_vector(SPACE, unit(1), EVERYTHING, 5)) == ["a", "b"]
    with writing(store) as transaction:
        transaction.remove(SPACE, "a")
    assert ids(store.by_vector(SPACE, unit(1), EVERYTHING, 5)) == ["b"]


def test_after_an_edit_the_new_vector_is_found_and_the_old_one_is_not(store: Backend) -> None:
    put(store, (memory("a"), derived("old", unit(1))), (memory("b"), derived("b", unit(0, 0, 1))))
    assert ids(store.by_vector(SPACE, unit(1), EVERYTHING, 1)) == ["a"]
    put(store, (memory("a"), derived("new", unit(0, 1))))
    assert store.by_vector(SPACE, unit(0, 1), EVERYTHING, 1)[0].score == pytest.approx(1.0, abs=2e-3)
    assert {m.id: round(m.score, 2) for m in store.by_vector(SPACE, unit(1), EVERYTHING, 5)} == {"a": 0.0, "b": 0.0}
    assert store.by_words(SPACE, ["old"], EVERYTHING, 5) == []


def test_losing_its_vectors_makes_a_memory_pending_and_unseen_by_vector(store: Backend) -> None:
    put(store, (memory("a"), derived("word", unit(1))))
    put(store, (memory("a"), derived("word")))
    assert store.by_vector(SPACE, unit(1), EVERYTHING, 5) == []
    assert ids(store.pending(5)) == ["a"]
    assert ids(store.by_words(SPACE, ["word"], EVERYTHING, 5)) == ["a"]


def test_pending_reaches_over_spaces_and_keeps_its_limit(store: Backend) -> None:
    put(store, memory("a"), memory("b", space="there"), (memory("c"), derived("c", unit(1))))
    assert sorted(ids(store.pending(5))) == ["a", "b"]
    assert len(store.pending(1)) == 1
    assert store.health().pending == 2


def test_vectors_are_known_again_by_the_exact_words(store: Backend) -> None:
    put(store, (memory("a"), derived("text", unit(1), unit(0, 1))), (memory("w"), derived("waits")))
    _, found = store.vectors_for([digest_of("text/1"), digest_of("unknown"), digest_of("text/0"), digest_of("waits/0")])
    assert set(found) == {digest_of("text/0"), digest_of("text/1")}
    assert np.allclose(found[digest_of("text/1")], unit(0, 1), atol=1e-3)
    assert found[digest_of("text/1")].shape == (DIMENSIONS,)
    assert store.vectors_for([])[1] == {}


def test_known_vectors_survive_the_gathering_of_many_small_writes(store: Backend) -> None:
    for i in range(150):
        put(store, (memory(f"m{i}"), derived(f"t{i}", unit(1, i))))
    with writing(store) as transaction:
        for i in range(0, 150, 3):
            transaction.remove(SPACE, f"m{i}")
    _, kept = store.vectors_for([digest_of(f"t{i}/0") for i in range(150)])
    assert kept.keys() == {digest_of(f"t{i}/0") for i in range(150) if i % 3}
    assert all(np.allclose(kept[digest_of(f"t{i}/0")], unit(1, i), atol=1e-3) for i in range(150) if i % 3)
    assert store.health(thorough=True).problems == ()
