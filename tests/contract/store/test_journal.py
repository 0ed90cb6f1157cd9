"""The journal and the vocabulary."""

from __future__ import annotations

from nacre.ports import Store
from tests.samples import SPACE, entry


def test_entries_come_back_as_they_were_written_newest_first_and_numbered_by_the_store(store: Store) -> None:
    first = entry("a", batch="b1", at=1.5, after={"text": "x", "tags": ["t"], "links": [{"to": "y"}]}, seq=99)
    second = entry(
        "b", batch="b2", act="edit", at=2.5, before={"importance": 0.5}, after={"importance": 0.75}, why="so"
    )
    with store.transaction() as transaction:
        transaction.append([first, second])
    found = store.journal(SPACE)
    assert [e.memory_id for e in found] == ["b", "a"]
    assert found[0].seq > found[1].seq
    assert (found[0].act, found[0].before, found[0].after) == (second.act, second.before, second.after)
    assert (found[1].act, found[1].before, found[1].after) == (first.act, None, first.after)


def test_the_journal_is_narrowed_by_memory_and_batch_and_cut_by_limit(store: Store) -> None:
    with store.transaction() as transaction:
        transaction.append([entry("a", batch="b1"), entry("b", batch="b1"), entry("a", batch="b2")])
    assert [e.act.batch for e in store.journal(SPACE, memory_id="a")] == ["b2", "b1"]
    assert [e.memory_id for e in store.journal(SPACE, batch="b1", newest_first=False)] == ["a", "b"]
    assert [e.act.batch for e in store.journal(SPACE, memory_id="a", batch="b1")] == ["b1"]
    assert [e.act.batch for e in store.journal(SPACE, limit=1)] == ["b2"]
    assert store.journal(SPACE, batch="nothing") == []


def test_numbers_rise_over_transactions(store: Store) -> None:
    for batch in ("b1", "b2", "b3"):
        with store.transaction() as transaction:
            transaction.append([entry("a", batch=batch)])
    numbers = [e.seq for e in store.journal(SPACE, newest_first=False)]
    assert numbers == sorted(set(numbers))


def test_scrubbing_takes_the_content_and_the_reason_but_keeps_that_something_was_done(store: Store) -> None:
    with store.transaction() as transaction:
        transaction.append([entry("a", after={"text": "secret"}, why="secret too", at=4.0), entry("b", after={"x": 1})])
        assert transaction.scrub_journal(SPACE, "a") == 1
        assert transaction.scrub_journal(SPACE, "nobody") == 0
    a, b = store.journal(SPACE, newest_first=False)
    assert (a.before, a.after, a.act.why, a.act.at, a.act.name) == (None, None, "", 4.0, "remember")
    assert b.after == {"x": 1}


def test_an_empty_difference_is_not_a_missing_one(store: Store) -> None:
    with store.transaction() as transaction:
        transaction.append([entry("a", before={}, after={})])
    assert (store.journal(SPACE)[0].before, store.journal(SPACE)[0].after) == ({}, {})


def test_the_vocabulary_keeps_each_word_once_by_kind(store: Store) -> None:
    with store.transaction() as transaction:
        for kind, name in (("type", "omen"), ("type", "dream"), ("type", "omen"), ("relation", "omen")):
            transaction.add_word(kind, name)
    assert store.words("type") == ["dream", "omen"]
    assert store.words("relation") == ["omen"]
    assert store.words("nothing") == []
