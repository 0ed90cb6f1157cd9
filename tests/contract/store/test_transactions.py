"""All or nothing, one after the other."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from nacre.model import Filter, Link
from nacre.protocols import Backend, EmbedderIdentity
from nacre.storage.commit import Transaction
from tests.samples import SPACE, derived, digest_of, entry, ids, listed, memory, present, put, unit, writing

EVERYTHING = Filter()


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
        sorted(store.vectors_for([digest_of(f"{text}/0") for text in ("old word", "new word")])),
        store.spaces(),
        replace(store.health(), bytes_on_disk=0),
    )


def write_everything(transaction: Transaction) -> None:
    transaction.put(memory("a", "changed", tags=("fresh",)), derived("new word", unit(0, 0, 1)))
    transaction.put(memory("c", superseded_by="heir"), derived("new word", unit(0, 1)))
    transaction.remove(SPACE, "b")
    transaction.append([entry("a", batch="b2")])
    transaction.scrub_journal(SPACE, "a")
    transaction.forget_journal(SPACE, 1)
    transaction.put_term("type", "dream", {})
    transaction.put_term("relation", "needs", None)
    transaction.change_embedder(EmbedderIdentity("another", 8))


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
    with pytest.raises(Interrupted), writing(filled) as transaction:
        write_everything(transaction)
        raise Interrupted
    assert snapshot(filled) == before


def test_the_same_writes_without_an_exception_change_all_of_it(filled: Backend) -> None:
    before = snapshot(filled)
    with writing(filled) as transaction:
        write_everything(transaction)
    assert all(was != now for was, now in zip(before[:14], snapshot(filled)[:14], strict=True))


def test_a_store_can_be_written_after_a_transaction_that_failed(filled: Backend) -> None:
    with pytest.raises(Interrupted), writing(filled) as transaction:
        transaction.put(memory("lost"), derived("lost", unit(1)))
        raise Interrupted
    put(filled, (memory("kept"), derived("kept", unit(0, 0, 0, 1))))
    assert ids(filled.by_vector(SPACE, unit(0, 0, 0, 1), EVERYTHING, 1)) == ["kept"]
    assert ids(filled.by_words(SPACE, ["lost", "kept"], EVERYTHING, 5)) == ["kept"]


def test_vectors_looked_up_inside_a_failing_transaction_do_not_haunt_the_store(filled: Backend) -> None:
    with pytest.raises(Interrupted), writing(filled) as transaction:
        for _ in range(2):  # the second writes the first one's vectors out
            transaction.put(memory("ghost"), derived("ghost", unit(0, 0, 1)))
        filled.by_vector(SPACE, unit(0, 0, 1), EVERYTHING, 5)
        raise Interrupted
    put(filled, (memory("real"), derived("real", unit(0, 0, 1, 1))))
    best = filled.by_vector(SPACE, unit(0, 0, 1), EVERYTHING, 1)[0]
    assert (best.id, round(best.score, 2)) == ("real", 0.71)


def test_a_transaction_reads_its_own_writes(store: Backend) -> None:
    with writing(store) as transaction:
        transaction.put(memory("a", "first"))
        assert present(transaction, SPACE, "a") == memory("a", "first")
        transaction.put(memory("a", "second"))
        assert present(transaction, SPACE, "a") == memory("a", "second")
        assert transaction.remove(SPACE, "a")
        assert present(transaction, SPACE, "a") is None


def test_another_thread_sees_nothing_of_an_open_transaction(filled: Backend) -> None:
    seen: list[tuple[object, ...]] = []
    before = snapshot(filled)
    with writing(filled) as transaction:
        write_everything(transaction)
        reader = threading.Thread(target=lambda: seen.append(snapshot(filled)))
        reader.start()
        reader.join()
    assert seen == [before]


def test_transactions_of_many_threads_come_one_after_the_other(store: Backend) -> None:
    put(store, memory("counter", access_count=0))

    def count_up() -> None:
        for _ in range(10):
            with writing(store) as transaction:
                found = present(transaction, SPACE, "counter")
                assert found is not None
                transaction.put(replace(found, access_count=found.access_count + 1))

    threads = [threading.Thread(target=count_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.get_many(SPACE, ["counter"])[0].access_count == 40


def test_putting_a_memory_twice_in_one_transaction_keeps_the_second(store: Backend) -> None:
    put(store, (memory("a"), derived("first", unit(1))), (memory("a", "later"), derived("second", unit(0, 1))))
    assert store.get_many(SPACE, ["a"])[0].text == "later"
    assert store.by_words(SPACE, ["first"], EVERYTHING, 5) == []
    assert [round(m.score, 2) for m in store.by_vector(SPACE, unit(0, 1), EVERYTHING, 5)] == [1.0]
    assert store.health().problems == ()


def test_putting_and_removing_in_one_transaction_leaves_nothing(store: Backend) -> None:
    with writing(store) as transaction:
        transaction.put(memory("a", tags=("t",)), derived("word", unit(1)))
        transaction.remove(SPACE, "a")
    assert store.by_vector(SPACE, unit(1), EVERYTHING, 5) == []
    assert store.by_words(SPACE, ["word"], EVERYTHING, 5) == []
    assert (store.health().chunks, store.health().vectors, store.health().problems) == (0, 0, ())


def test_a_transaction_reads_and_writes_whose_vectors_the_store_has(store: Backend) -> None:
    assert store.embedder() == EmbedderIdentity()
    bound = EmbedderIdentity("first", 8, unit(1).astype("<f2").tobytes())
    with writing(store) as transaction:
        transaction.bind_embedder(EmbedderIdentity("first", 8))
        assert transaction.embedder() == EmbedderIdentity("first", 8)
        transaction.bind_embedder(bound)
    assert store.embedder() == bound
    put(store, memory("a"))
    with writing(store) as transaction:
        assert (transaction.last_at(SPACE), transaction.embedder()) == (0.0, bound)
        transaction.change_embedder(EmbedderIdentity("first", 4, bound.probe[:8]))
        assert transaction.embedder() == EmbedderIdentity("first", 4, bound.probe[:8])
    assert store.embedder() == EmbedderIdentity("first", 4, bound.probe[:8])


def test_changing_the_embedder_forgets_every_vector_and_makes_all_pending(filled: Backend) -> None:
    put(filled, (memory("elsewhere", space="there"), derived("old word", unit(1))))
    with writing(filled) as transaction:
        transaction.change_embedder(EmbedderIdentity("second", 4))
    assert filled.embedder().name == "second"
    assert filled.by_vector(SPACE, unit(1)[:4], EVERYTHING, 5) == []
    assert filled.vectors_for([digest_of("old word/0")]) == {}
    assert sorted(ids(filled.pending(10))) == ["a", "b", "elsewhere"]
    assert ids(filled.by_words(SPACE, ["old"], EVERYTHING, 5)) != []


def test_vectors_put_before_the_change_of_embedder_in_one_transaction_are_forgotten_too(store: Backend) -> None:
    with writing(store) as transaction:
        transaction.put(memory("a"), derived("word", unit(1)))
        transaction.change_embedder(EmbedderIdentity("second", 8))
    assert store.by_vector(SPACE, unit(1), EVERYTHING, 5) == []
    assert ids(store.pending(5)) == ["a"]
    assert store.health().problems == ()


def test_after_a_change_vectors_of_the_new_size_are_found(filled: Backend) -> None:
    assert filled.by_vector(SPACE, unit(1), EVERYTHING, 5)
    with writing(filled) as transaction:
        transaction.change_embedder(EmbedderIdentity("second", 4))
        transaction.put(memory("a"), derived("old word", unit(0, 1)[:4]))
    assert ids(filled.by_vector(SPACE, unit(0, 1)[:4], EVERYTHING, 5)) == ["a"]
    assert ids(filled.pending(5)) == ["b"]
