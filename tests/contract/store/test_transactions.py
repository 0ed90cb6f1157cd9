"""All or nothing, one after the other."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from nacre.model import Filter, Link, Operation
from nacre.protocols import (
    AnyChange,
    Backend,
    Change,
    Clock,
    Committed,
    EmbedderBound,
    EmbedderIdentity,
    JournalDropped,
    Scrubbed,
    TermSet,
)
from tests.samples import SPACE, derived, digest_of, entry, ids, listed, memory, put, unit, writing

EVERYTHING = Filter()
OPERATION = Operation("write", "tester", 0.0, "b2")


class Interrupted(Exception):
    pass


def snapshot(store: Backend) -> tuple[object, ...]:
    """All that a store can be asked, so that what must not change can be compared whole."""
    return (
        listed(store, SPACE, EVERYTHING, order="oldest"),
        store.by_words(SPACE, ["old", "new", "word"], EVERYTHING, 10),
        store.by_vector(SPACE, unit(1, 1, 1), EVERYTHING, 10),
        store.journal(SPACE),
        store.terms("type"),
        store.embedder(),
        store.tally(SPACE, "tags", EVERYTHING),
        store.count(SPACE, Filter.where(links__to="other")),
        ids(store.pending(10)),
        store.edges(SPACE),
        ids(store.replaced_by(SPACE, "heir")),
        store.journal_begins(SPACE),
        store.terms("relation"),
        store.seq_at(SPACE, 9.0),
        store.changes_since(SPACE, 0),
        [memory.version for memory in listed(store, SPACE)],
        listed(store.at(SPACE, 1), SPACE),
        sorted(store.vectors_for([digest_of(f"{text}/0") for text in ("old word", "new word")])[1]),
        store.spaces(),
        replace(store.health(), bytes_on_disk=0),
    )


def everything(store: Backend) -> list[AnyChange]:
    a, b = (store.get(SPACE, id) for id in "ab")
    return [
        Change(a, memory("a", "changed", tags=("fresh",)), derived("new word", unit(0, 0, 1))),
        Change(None, memory("c", superseded_by="heir"), derived("new word", unit(0, 1))),
        Change(b, None),
        Scrubbed(SPACE, "a"),
        JournalDropped(SPACE, 1),
        TermSet("type", "dream", {}),
        TermSet("relation", "needs", None),
        EmbedderBound(EmbedderIdentity("another", 8), anew=True),
    ]


def interrupt() -> float:
    """The clock is asked when all else is written."""
    raise Interrupted


def commit(store: Backend, *changes: AnyChange, clock: Clock = lambda: 2.0) -> None:
    assert isinstance(store.commit(changes, None, OPERATION, clock), Committed)


@pytest.fixture
def filled(store: Backend) -> Backend:
    with writing(store) as transaction:
        transaction.bind_embedder(EmbedderIdentity("first", 8))
        transaction.put(memory("a", tags=("kept",)), derived("old word", unit(1)))
        transaction.put(memory("b", links=(Link("other"),)), derived("old word", unit(0, 1)))
        transaction.append([entry("a", after={"text": "x"}, why="because")])
        transaction.put_term("type", "omen", {})
        transaction.put_term("relation", "needs", {"description": "cannot do without"})
    return store


def test_an_exception_inside_a_transaction_changes_nothing_at_all(filled: Backend) -> None:
    before = snapshot(filled)
    with pytest.raises(Interrupted):
        commit(filled, *everything(filled), clock=interrupt)
    assert snapshot(filled) == before


def test_the_same_writes_without_an_exception_change_all_of_it(filled: Backend) -> None:
    before = snapshot(filled)
    commit(filled, *everything(filled))
    assert all(was != now for was, now in zip(before[:14], snapshot(filled)[:14], strict=True))


def test_a_store_can_be_written_after_a_transaction_that_failed(filled: Backend) -> None:
    with pytest.raises(Interrupted):
        commit(filled, Change(None, memory("lost"), derived("lost", unit(1))), clock=interrupt)
    put(filled, (memory("kept"), derived("kept", unit(0, 0, 0, 1))))
    assert ids(filled.by_vector(SPACE, unit(0, 0, 0, 1), EVERYTHING, 1)) == ["kept"]
    assert ids(filled.by_words(SPACE, ["lost", "kept"], EVERYTHING, 5)) == ["kept"]


def test_vectors_looked_up_inside_a_failing_transaction_do_not_haunt_the_store(filled: Backend) -> None:
    def interrupted() -> float:
        filled.by_vector(SPACE, unit(0, 0, 1), EVERYTHING, 5)
        raise Interrupted

    with pytest.raises(Interrupted):
        commit(filled, Change(None, memory("ghost"), derived("ghost", unit(0, 0, 1))), clock=interrupted)
    put(filled, (memory("real"), derived("real", unit(0, 0, 1, 1))))
    best = filled.by_vector(SPACE, unit(0, 0, 1), EVERYTHING, 1)[0]
    assert (best.id, round(best.score, 2)) == ("real", 0.71)


def test_another_thread_sees_nothing_of_what_is_not_committed(filled: Backend) -> None:
    seen: list[tuple[object, ...]] = []
    before = snapshot(filled)

    def clock() -> float:
        reader = threading.Thread(target=lambda: seen.append(snapshot(filled)))
        reader.start()
        reader.join()
        return 2.0

    commit(filled, *everything(filled), clock=clock)
    assert seen == [before]


def test_commits_of_many_threads_come_one_after_the_other(store: Backend) -> None:
    put(store, memory("counter", importance=0.0))

    def count_up() -> None:
        done = 0
        while done < 10:
            found = store.get(SPACE, "counter")
            assert found is not None
            change = Change(found, replace(found, importance=found.importance + 1))
            done += isinstance(store.commit([change], None, OPERATION), Committed)

    threads = [threading.Thread(target=count_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(each.importance, each.version) for each in listed(store, SPACE)] == [(40.0, 40)]


def test_each_of_two_changes_of_a_memory_in_one_commit_has_its_entry_and_version(store: Backend) -> None:
    first, second = memory("a", "first", tags=("x",)), memory("a", "second", tags=("y",))
    commit(store, Change(None, first, derived("old", unit(1))), Change(first, second, derived("new", unit(0, 1))))
    assert [(each.text, each.version) for each in store.at(SPACE, 1).get_many(SPACE, ["a"])] == [("first", 1)]
    assert [(each.text, each.version) for each in store.get_many(SPACE, ["a"])] == [("second", 2)]
    assert [entry.after for entry in store.journal(SPACE)] == [{"tags": ["y"], "text": "second"}, first.to_dict()]
    assert ids(store.at(SPACE, 1).by_words(SPACE, ["old"], EVERYTHING, 5)) == ["a"]
    assert store.health(thorough=True).problems == ()


def test_putting_and_removing_in_one_commit_leaves_nothing(store: Backend) -> None:
    kept = memory("a", tags=("t",))
    store.commit([Change(None, kept, derived("word", unit(1))), Change(kept, None)])
    assert store.by_vector(SPACE, unit(1), EVERYTHING, 5) == []
    assert store.by_words(SPACE, ["word"], EVERYTHING, 5) == []
    assert (store.health().chunks, store.health().vectors, store.health().problems) == (0, 0, ())


def test_a_store_says_whose_vectors_it_has(store: Backend) -> None:
    assert store.embedder() == EmbedderIdentity()
    bound = EmbedderIdentity("first", 8, unit(1).astype("<f2").tobytes())
    store.commit([EmbedderBound(EmbedderIdentity("first", 8))])
    assert store.embedder() == EmbedderIdentity("first", 8)
    store.commit([EmbedderBound(bound)])
    assert store.embedder() == bound
    other = EmbedderIdentity("first", 4, bound.probe[:8])
    store.commit([EmbedderBound(other, anew=True)])
    assert store.embedder() == other


def test_changing_the_embedder_forgets_every_vector_and_makes_all_pending(filled: Backend) -> None:
    put(filled, (memory("elsewhere", space="there"), derived("old word", unit(1))))
    with writing(filled) as transaction:
        transaction.change_embedder(EmbedderIdentity("second", 4))
    assert filled.embedder().name == "second"
    assert filled.by_vector(SPACE, unit(1)[:4], EVERYTHING, 5) == []
    assert filled.vectors_for([digest_of("old word/0")])[1] == {}
    assert sorted(ids(filled.pending(10))) == ["a", "b", "elsewhere"]
    assert ids(filled.by_words(SPACE, ["old"], EVERYTHING, 5)) != []


def test_vectors_put_before_the_change_of_embedder_in_one_transaction_are_forgotten_too(store: Backend) -> None:
    anew = EmbedderBound(EmbedderIdentity("second", 8), anew=True)
    store.commit([Change(None, memory("a"), derived("word", unit(1))), anew])
    assert store.by_vector(SPACE, unit(1), EVERYTHING, 5) == []
    assert ids(store.pending(5)) == ["a"]
    assert store.health().problems == ()


def test_after_a_change_vectors_of_the_new_size_are_found(filled: Backend) -> None:
    assert filled.by_vector(SPACE, unit(1), EVERYTHING, 5)
    anew, before = EmbedderBound(EmbedderIdentity("second", 4), anew=True), filled.get(SPACE, "a")
    filled.commit([anew, Change(before, memory("a"), derived("old word", unit(0, 1)[:4]))])
    assert ids(filled.by_vector(SPACE, unit(0, 1)[:4], EVERYTHING, 5)) == ["a"]
    assert ids(filled.pending(5)) == ["b"]


def test_many_new_memories_have_the_words_and_counts_that_a_few_at_a_time_have(store: Backend) -> None:
    """As many as a backend may send to a server in parts, between changes of other kinds."""
    texts = [f"word stem{number % 7}" for number in range(140)]
    for space, others in ((SPACE, ["old"]), ("elsewhere", ["new word", "second", "word"])):
        put(store, *((memory(f"other {other}", space=space), derived(other)) for other in others))
    known, first = store.get(SPACE, "other old"), memory("m0")
    changes: list[AnyChange] = [
        Change(known, memory("other old", "changed"), derived("new word")),
        Change(None, first, derived("first")),
        *(Change(None, memory(f"m{number}"), derived(text)) for number, text in enumerate(texts[1:], start=1)),
        Change(None, memory("bare")),
        Change(first, replace(first, text="changed"), derived("second")),
        Change(None, memory("last"), derived("word")),
    ]
    assert isinstance(store.commit(changes, None, OPERATION), Committed)
    for part in (range(1, 70), range(70, 140)):
        put(store, *((memory(f"m{number}", space="elsewhere"), derived(texts[number])) for number in part))
    put(store, memory("bare", space="elsewhere"))
    for term, expected in (("old", 0), ("first", 0), ("second", 1), ("new", 1), ("stem0", 19), ("word", 141)):
        matches = store.by_words(SPACE, [term], EVERYTHING, 200)
        assert len(matches) == expected, term
        others_matches = store.by_words("elsewhere", [term], EVERYTHING, 200)
        assert sorted(each.score for each in matches) == pytest.approx(sorted(each.score for each in others_matches))
    assert store.count(SPACE, EVERYTHING) == store.count("elsewhere", EVERYTHING) == 143
    assert store.health(thorough=True).problems == ()
